/* WeightParams to constants: float32 and float16 stay in the file; packed numbers of 1 to 8 bits with a scale and an
 * offset, or with a table, are unpacked. */
#include "frontend/coreml/coreml.h"

#include "base/wire/pb.h"

#include <string.h>

typedef struct weights {
    tn_bytes f32, f16, raw, i8;
    bool spread; /* float32 numbers that do not lie together */
    uint64_t bits;
    tn_bytes scale, bias, table; /* float32 */
} weights;

static void read_linear(tn_pb r, weights *w)
{
    while (tn_pb_next(&r))
        if (r.wire == TN_PB_LEN)
            *(r.field == 1 ? &w->scale : &w->bias) = r.bytes;
}

static void read_quantisation(tn_pb r, weights *w)
{
    while (tn_pb_next(&r)) {
        tn_pb in = r.wire == TN_PB_LEN ? tn_pb_sub(&r) : (tn_pb){0};
        if (r.field == 1 && r.wire == TN_PB_VARINT)
            w->bits = r.value;
        else if (r.field == 101)
            read_linear(in, w);
        else if (r.field == 102 && r.wire == TN_PB_LEN && tn_pb_next(&in) && in.wire == TN_PB_LEN)
            w->table = in.bytes;
    }
}

static const char *read_weights(tn_bytes message, weights *w)
{
    tn_pb r = tn_pb_open(message.at, message.n);
    *w = (weights){0};
    while (tn_pb_next(&r)) {
        w->spread = w->spread || (r.field == 1 && (r.wire == TN_PB_I32 || w->f32.n));
        if (r.wire == TN_PB_LEN && r.field == 1)
            w->f32 = r.bytes;
        else if (r.wire == TN_PB_LEN && r.field == 2)
            w->f16 = r.bytes;
        else if (r.wire == TN_PB_LEN && r.field == 30)
            w->raw = r.bytes;
        else if (r.wire == TN_PB_LEN && r.field == 31)
            w->i8 = r.bytes;
        else if (r.wire == TN_PB_LEN && r.field == 40)
            read_quantisation(tn_pb_sub(&r), w);
    }
    return r.error;
}

/* Number i of a list of float32, whose last one serves all that follow. */
static float number(tn_bytes list, size_t i, float none)
{
    float v;
    size_t n = list.n / 4;
    if (!n)
        return none;
    memcpy(&v, list.at + 4 * (n == 1 ? 0 : i), 4);
    return v;
}

/* Bits [at, at + n) of a string of bits that begins with the highest of the first byte. */
static unsigned take_bits(tn_bytes b, size_t at, unsigned n)
{
    unsigned v = 0;
    for (size_t i = at; i < at + n; i++)
        v = v << 1 | (b.at[i / 8] >> (7 - i % 8) & 1u);
    return v;
}

static const char *check_packed(const weights *w, size_t count, size_t channels)
{
    size_t n_scale = w->scale.n / 4, n_bias = w->bias.n / 4;
    bool bytes = w->i8.n != 0;
    if (bytes && (w->i8.n != count || w->table.n))
        return "they have another number of bytes than their dimensions need, or a table";
    if (!bytes && (w->bits < 1 || w->bits > 8))
        return "quantised weights have 1 to 8 bits";
    if (!bytes && w->raw.n < (count * w->bits + 7) / 8)
        return "they have fewer bytes than their dimensions need";
    if (w->table.n)
        return w->table.n / 4 < (size_t)1 << w->bits ? "their table is too short" : NULL;
    if ((!n_scale && !bytes) || (n_scale > 1 && n_scale != channels) || (n_bias > 1 && n_bias != channels))
        return "they have neither one scale nor one for each channel";
    return NULL;
}

static tn_value unpack(imp_node *c, const weights *w, uint32_t n, const int64_t dim[], size_t count)
{
    size_t channels = n && dim[0] > 0 ? (size_t)dim[0] : 1, each = count / channels;
    void *to;
    const char *why = check_packed(w, count, channels);
    if (why) {
        imp_refuse(c, IMP_BAD_TENSOR, "weights cannot be unpacked: %s; the model is damaged", why);
        return (tn_value){0};
    }
    const tn_blob *b = tn_graph_blob(c->g, 4 * count, &to);
    for (size_t i = 0; i < count; i++) {
        unsigned q = w->i8.n ? 0 : take_bits(w->raw, i * w->bits, (unsigned)w->bits);
        float x = w->i8.n ? (float)(int8_t)w->i8.at[i] : (float)q;
        x = w->table.n ? number(w->table, q, 0)
                       : x * number(w->scale, i / each, 1) + number(w->bias, i / each, 0);
        memcpy((char *)to + 4 * i, &x, 4);
    }
    return tn_val(imp_constant(c->im, TN_F32, n, dim, b, c->loc->node));
}

tn_value cm_as_floats(imp_node *c, tn_value v) { return imp_cast(c, v, TN_F32); }

tn_value cm_weights(imp_node *c, const char *name, uint32_t n, const int64_t dim[])
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TENSOR);
    weights w;
    size_t count, bytes;
    if (c->bad || !a || !a->tensor) {
        imp_refuse(c, IMP_ATTR_MISSING, "the layer has no %s; the model is damaged", name);
        return (tn_value){0};
    }
    const char *why = read_weights(*(const tn_bytes *)a->tensor, &w);
    if (why)
        imp_refuse(c, IMP_BAD_TENSOR, "%s cannot be read: %s; the model is damaged", name, why);
    if (c->bad || !imp_measure(c->im, c->loc->node, n, dim, TN_F32, c->loc, &count, &bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    if (count && (w.raw.n || w.i8.n))
        return unpack(c, &w, n, dim, count);
    if (w.f16.n == bytes / 2 && !w.f32.n)
        return cm_as_floats(
            c, tn_val(imp_constant(c->im, TN_F16, n, dim, imp_blob(c->im, w.f16, TN_F16), c->loc->node)));
    if (w.spread || w.f32.n != bytes)
        imp_refuse(c, IMP_BAD_TENSOR, "%s has %zu bytes, but its dimensions need %zu; the model is damaged",
                   name, w.f32.n + w.f16.n, bytes);
    return c->bad ? (tn_value){0}
                  : tn_val(imp_constant(c->im, TN_F32, n, dim, imp_blob(c->im, w.f32, TN_F32), c->loc->node));
}

bool cm_is_one_weight(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TENSOR);
    weights w;
    return a && a->tensor && !read_weights(*(const tn_bytes *)a->tensor, &w) &&
           w.f32.n / 4 + w.f16.n / 2 == 1;
}

tn_value cm_weights_if(imp_node *c, const char *has, const char *name, uint32_t n, const int64_t dim[])
{
    imp_attr_ignore(c, name);
    return cm_flag(c, has) ? cm_weights(c, name, n, dim) : (tn_value){0};
}
