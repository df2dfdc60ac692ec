/* Checkpoints of the first form (Saver's write_version 1): a table in one file, or in each of several, whose values are
 * SavedTensorSlices. The one under the empty key has names, shapes and types, each other one the numbers of a variable,
 * as lists of values. Floats stay where they lie. */
#include "frontend/tensorflow/tf.h"

#include "base/size.h"
#include "base/wire/pb.h"

#include <string.h>

static tf_bundle_entry *entry_of(imp_model *im, tn_strmap *entries, tn_bytes name)
{
    uint64_t at;
    if (tn_strmap_get(entries, (const char *)name.at, name.n, &at))
        return (tf_bundle_entry *)(uintptr_t)at;
    tf_bundle_entry *e = TN_NEW(&im->scratch, tf_bundle_entry);
    e->old = true;
    tn_strmap_put(entries, (const char *)name.at, name.n, (uint64_t)(uintptr_t)e);
    return e;
}

/* A slice of all: no dimension of it has a length. */
static bool is_whole(tn_bytes slice)
{
    tn_pb r = tn_pb_open(slice.at, slice.n);
    while (tn_pb_next(&r)) {
        tn_pb extent = r.field == 1 && r.wire == TN_PB_LEN ? tn_pb_sub(&r) : (tn_pb){0};
        while (tn_pb_next(&extent))
            if (extent.field == 2)
                return false;
    }
    return true;
}

bool tf_slices_add(tf_import *t, tn_strmap *entries, tn_bytes value, const char *where_it_is,
                   const tn_file *file)
{
    const char *where;
    tf_saved_slices s = {0};
    if (tn_pb_read(&t->im.scratch, &tf_saved_slices_msg, value.at, value.n, NULL, &s, &where))
        return false;
    const tf_saved_meta *m = s.meta ? s.meta->tensor.at : NULL;
    for (size_t i = 0; m && i < s.meta->tensor.n; i++) {
        tf_bundle_entry *e = entry_of(&t->im, entries, m[i].name);
        e->dtype = m[i].type;
        e->shape = m[i].shape;
    }
    if (!s.data)
        return true;
    tf_bundle_entry *e = entry_of(&t->im, entries, s.data->name);
    e->sliced = e->sliced || e->data.at || !is_whole(s.data->slice);
    e->data = s.data->data;
    e->where = where_it_is;
    e->begin = file->at;
    return true;
}

/* The packed list of a TensorProto that holds floats as they are used; at NULL: there is none, or several. */
static tn_bytes packed(tn_bytes tensor, uint32_t field)
{
    tn_bytes found = {0};
    int n = 0;
    tn_pb r = tn_pb_open(tensor.at, tensor.n);
    while (tn_pb_next(&r))
        if (r.field == field) {
            found = r.wire == TN_PB_LEN ? r.bytes : (tn_bytes){0};
            n++;
        }
    return n == 1 && !r.error ? found : (tn_bytes){0};
}

tn_value tf_slices_load(imp_node *c, const tf_bundle_entry *e, const char *name, const tf_stored *s)
{
    enum { FLOATS = 5, DOUBLES = 6 };
    const char *where;
    tf_tensor tensor = {0};
    bool real = tn_dtype_is_float(s->dtype) && s->dtype.code == TN_FLOAT && s->dtype.bits >= 32;
    tn_bytes floats = real ? packed(e->data, s->dtype.bits == 32 ? FLOATS : DOUBLES) : (tn_bytes){0};
    if (floats.at && floats.n == s->bytes) {
        imp_external x = {e->where, (uint64_t)(floats.at - e->begin), floats.n};
        const tn_blob *b = imp_external_data(c->im, &x, s->bytes, name, c->loc);
        c->bad = c->bad || !b;
        return b ? tn_val(imp_constant(c->im, s->dtype, s->n, s->dim, b, name)) : (tn_value){0};
    }
    const char *why =
        tn_pb_read(&c->im->scratch, &tf_tensor_msg, e->data.at, e->data.n, NULL, &tensor, &where);
    tensor.dtype = e->dtype;
    tensor.tensor_shape = e->shape;
    if (why || !tf_has_values(&tensor, s->count)) {
        (void)imp_refuse_file(c->im, c->loc, name, "%s",
                              why ? "its numbers are damaged"
                                  : "its dimensions need another number of elements");
        c->bad = true;
        return (tn_value){0};
    }
    const tn_loc *here = c->loc;
    c->loc = imp_make_loc(c->im, name, here->op); /* the constant has the variable's name */
    tn_value v = tf_constant(c, &tensor);
    c->loc = here;
    return v;
}
