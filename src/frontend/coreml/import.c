/* Core ML -> Relay: a Model message (.mlmodel, or the one inside of a .mlpackage). Its description gives the types of
 * inputs and outputs; what computes them is a neural network or an ML program. Class labels are not results: the
 * probabilities are. */
#include "frontend/coreml/coreml.h"

#include "base/wire/pb.h"

#include <string.h>

static const tn_loc *here(imp_model *im) { return imp_make_loc(im, NULL, NULL); }

tn_status cm_damaged(imp_model *im, const char *what)
{
    return tn_error(im->g->ctx, "coreml-E001", here(im), "the model is damaged: %s%s", what, imp_again(what));
}

/* ---- description ---- */

enum { MAX_FEATURES = 256 };

typedef struct model {
    cm_feature in[MAX_FEATURES], out[MAX_FEATURES];
    size_t n_in, n_out;
    tn_bytes label, probabilities; /* names of a classifier's outputs */
    tn_bytes network, program;
    uint32_t kind; /* field of the message that computes; 0: none was found */
    bool classifier;
} model;

static void read_array(imp_model *im, tn_bytes type, cm_feature *f)
{
    tn_ints shape = cm_read_ints(&im->scratch, type, 1);
    int64_t dtype = 0;
    tn_pb r = tn_pb_open(type.at, type.n);
    while (tn_pb_next(&r)) {
        if (r.field == 2 && r.wire == TN_PB_VARINT)
            dtype = tn_pb_int(&r);
        if (r.field != 31 || r.wire != TN_PB_LEN)
            continue;
        tn_pb range = tn_pb_sub(&r); /* extents between bounds are not fixed */
        for (size_t i = 0; i < shape.n && tn_pb_next(&range); i++) {
            tn_ints low = cm_read_ints(&im->scratch, range.bytes, 1),
                    high = cm_read_ints(&im->scratch, range.bytes, 2);
            int64_t least = low.n ? low.at[0] : 0, most = high.n ? high.at[0] : 0;
            if (least != most)
                ((int64_t *)(uintptr_t)shape.at)[i] = -1;
        }
    }
    f->kind = CM_ARRAY;
    f->dtype = dtype == 131104 ? TN_I32 : dtype == 65552 ? TN_F16 : dtype == 131080 ? TN_I8 : TN_F32;
    f->n = 0;
    for (size_t i = 0; i < shape.n && i < IMP_MAX_RANK; i++)
        f->dim[f->n++] = (imp_dim){.extent = shape.at[i]};
}

static void read_image(tn_bytes type, cm_feature *f)
{
    int64_t width = -1, height = -1, space = 20;
    bool ranged = false;
    tn_pb r = tn_pb_open(type.at, type.n);
    while (tn_pb_next(&r)) {
        ranged = ranged || r.field == 31;
        if (r.wire == TN_PB_VARINT && r.field <= 3)
            *(r.field == 1 ? &width : r.field == 2 ? &height : &space) = tn_pb_int(&r);
    }
    f->kind = CM_IMAGE;
    f->dtype = TN_F32;
    f->bgr = space == 30;
    f->n = 4;
    f->dim[0].extent = 1;
    f->dim[1].extent = space == 20 || space == 30 ? 3 : 1;
    f->dim[2].extent = ranged ? -1 : height;
    f->dim[3].extent = ranged ? -1 : width;
}

static void read_type(imp_model *im, tn_pb r, cm_feature *f)
{
    while (tn_pb_next(&r)) {
        if (r.wire != TN_PB_LEN)
            continue;
        if (r.field == 5)
            read_array(im, r.bytes, f);
        else if (r.field == 4)
            read_image(r.bytes, f);
        else if (r.field == 8) {
            tn_pb state = tn_pb_sub(&r);
            if (tn_pb_next(&state) && state.wire == TN_PB_LEN)
                read_array(im, state.bytes, f);
            f->kind = CM_STATE;
        } else if (r.field <= 2) {
            f->kind = CM_NUMBER;
            f->dtype = r.field == 1 ? TN_I32 : TN_F32;
        } else {
            f->dictionary = r.field == 6;
        }
    }
}

static void read_feature(imp_model *im, tn_pb r, cm_feature *f)
{
    *f = (cm_feature){.dtype = TN_F32};
    while (tn_pb_next(&r))
        if (r.field == 1 && r.wire == TN_PB_LEN)
            f->name = r.bytes;
        else if (r.field == 3 && r.wire == TN_PB_LEN)
            read_type(im, tn_pb_sub(&r), f);
}

/* The model's own inputs and outputs, or those of its first function (20), which has them at other places. */
static void read_description(imp_model *im, tn_pb r, uint32_t in, uint32_t out, uint32_t state,
                             uint32_t label, model *m)
{
    while (tn_pb_next(&r)) {
        if (r.wire != TN_PB_LEN)
            continue;
        if ((r.field == in || r.field == state) && m->n_in < MAX_FEATURES)
            read_feature(im, tn_pb_sub(&r), &m->in[m->n_in++]);
        else if (r.field == out && m->n_out < MAX_FEATURES)
            read_feature(im, tn_pb_sub(&r), &m->out[m->n_out++]);
        else if (r.field == label)
            m->label = r.bytes;
        else if (r.field == label + 1)
            m->probabilities = r.bytes;
        else if (r.field == 20 && in == 1 && !m->n_in && !m->n_out)
            read_description(im, tn_pb_sub(&r), 2, 3, 6, 4, m);
    }
}

/* What a model is that has neither layers nor a program. */
static const char *kind_name(uint32_t field)
{
    static const struct {
        uint32_t field;
        const char *name;
    } names[] = {{200, "a pipeline of models"},
                 {201, "a pipeline of models"},
                 {202, "a pipeline of models"},
                 {300, "a linear model"},
                 {400, "a linear model"},
                 {301, "a support vector machine"},
                 {401, "a support vector machine"},
                 {302, "a tree ensemble"},
                 {402, "a tree ensemble"},
                 {404, "a nearest neighbour classifier"},
                 {555, "a model with code of its own"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].field == field)
            return names[i].name;
    return "a model of another kind";
}

static const char *read_model(imp_model *im, tn_bytes file, model *m)
{
    tn_pb r = tn_pb_open(file.at, file.n);
    while (tn_pb_next(&r)) {
        if (r.field == 2 && r.wire == TN_PB_LEN)
            read_description(im, tn_pb_sub(&r), 1, 10, 13, 11, m);
        m->kind = r.field >= 200 && r.wire == TN_PB_LEN ? r.field : m->kind;
        if ((r.field == 303 || r.field == 403 || r.field == 500) && r.wire == TN_PB_LEN)
            m->network = r.bytes;
        else if (r.field == 502 && r.wire == TN_PB_LEN)
            m->program = r.bytes;
    }
    m->classifier = m->kind == 403;
    return r.error;
}

/* ---- inputs ---- */

/* Of networks whose values have five dimensions: a list is [1, channels, 1, 1], and an image of three dimensions
 * [1, channels, rows, columns]. A shape that a user gives may have the sequence in front, and the batch of 1. */
static void take_given_rank(cm_import *m, cm_feature *f)
{
    const tn_import_options *o = m->im.options;
    for (size_t i = 0; m->five && o && i < o->n_shape; i++) {
        size_t n = o->shape[i].ndim;
        if (!imp_is(f->name, o->shape[i].name) || f->kind != CM_ARRAY || n <= f->n || n > 5 || f->n == 2)
            continue;
        for (size_t k = 0; k < 5; k++)
            f->dim[k] = (imp_dim){.extent = -1};
        f->steps = f->n == 1 && n == 3;
        f->n = n;
    }
}

static tn_value mapped(imp_node *c, tn_value x, bool steps)
{
    const tn_type *t = imp_type(x);
    const tn_expr *one = tn_idx(c->pool, 1), *const *d = t->dim;
    switch (t->n) {
    case 1: return imp_reshape(c, x, 4, (const tn_expr *[]){one, d[0], one, one});
    case 2: return imp_reshape(c, x, 4, (const tn_expr *[]){d[0], d[1], one, one});
    case 3:
        if (steps)
            return imp_reshape(c, x, 4, (const tn_expr *[]){d[0], d[2], one, one});
        return imp_reshape(c, x, 4, (const tn_expr *[]){one, d[0], d[1], d[2]});
    case 5: return imp_reshape(c, x, 4, (const tn_expr *[]){d[0], d[2], d[3], d[4]});
    default: return x;
    }
}

static void set_value(imp_model *im, tn_bytes name, tn_value v)
{
    imp_value *at = (imp_value *)(uintptr_t)imp_lookup(im, name);
    if (at && v.def)
        at->v = v;
}

static imp_node node_for(cm_import *m, tn_bytes name)
{
    imp_node c = {.im = &m->im, .g = m->im.g, .pool = m->im.g->pool, .arena = m->im.g->arena};
    c.loc = imp_make_loc(&m->im, imp_text(&m->im, name), "input");
    return c;
}

/* What the model keeps from one run to the next; it begins with zeros. */
static tn_status add_state(cm_import *m, const cm_feature *f)
{
    imp_model *im = &m->im;
    const tn_expr *dim[IMP_MAX_RANK];
    for (size_t i = 0; i < f->n; i++)
        dim[i] = f->dim[i].extent < 0 ? tn_any_dim(im->g->pool) : tn_idx(im->g->pool, f->dim[i].extent);
    const tn_type *t = tn_type_tensor(im->g->pool, f->dtype, (int)f->n, dim, NULL);
    tn_value v = imp_state(im, imp_text(im, f->name), t, NULL, here(im));
    return v.def ? imp_define(im, f->name, (imp_value){.v = v}, here(im)) : TN_FAIL;
}

static tn_status add_input(cm_import *m, cm_feature *f)
{
    imp_model *im = &m->im;
    if (f->kind == CM_STATE)
        return add_state(m, f);
    tn_loc *loc = (tn_loc *)(uintptr_t)here(im);
    imp_input in = {.name = f->name,
                    .dtype = f->dtype,
                    .has_shape = f->n || f->kind == CM_NUMBER,
                    .n = f->n,
                    .dim = f->dim};
    if (f->kind == CM_OTHER)
        return imp_error(im, IMP_NO_TENSOR, loc, "input \"%s\" is neither an array nor an image nor a number",
                         imp_text(im, f->name));
    TN_TRY(imp_define(im, f->name, (imp_value){.state = IMP_BAD}, loc));
    TN_TRY(imp_add_input(im, &in, loc));
    imp_node c = node_for(m, f->name);
    tn_value v = imp_lookup(im, f->name)->v;
    if (f->dtype.bits != 32 && !m->program)
        v = imp_cast(&c, v, TN_F32);
    if (m->five)
        v = mapped(&c, v, f->steps);
    else if (m->image_five && f->kind == CM_IMAGE)
        v = imp_unsqueeze(&c, v, 0);
    else if (!m->program && f->kind == CM_NUMBER)
        v = imp_reshape(&c, v, 1, (const tn_expr *[]){tn_idx(c.pool, 1)});
    if (c.bad)
        return TN_FAIL;
    set_value(im, f->name, v);
    return TN_OK;
}

static tn_status add_inputs(cm_import *m, model *d)
{
    imp_input *all = TN_NEW_N(&m->im.scratch, imp_input, d->n_in);
    size_t n = 0;
    for (size_t i = 0; i < d->n_in; i++) {
        take_given_rank(m, &d->in[i]);
        if (d->in[i].kind != CM_STATE)
            all[n++] = (imp_input){.name = d->in[i].name, .n = d->in[i].n, .dim = d->in[i].dim};
    }
    TN_TRY(imp_check_shapes(&m->im, n, all));
    for (size_t i = 0; i < d->n_in; i++)
        TN_TRY(add_input(m, &d->in[i]));
    return TN_OK;
}

/* ---- preprocessing of images ---- */

static tn_value mean_image(imp_node *c, tn_pb r, tn_value x)
{
    const tn_type *t = imp_type(x);
    int64_t dim[4] = {1, 0, 0, 0}, n = 1;
    while (tn_pb_next(&r)) {
        if (r.field != 1 || r.wire != TN_PB_LEN)
            continue;
        for (int i = 1; i < 4; i++)
            n = t->n >= 4 && tn_is_int(t->dim[t->n - 4 + i], &dim[i]) && dim[i] > 0 && dim[i] < INT32_MAX &&
                        n > 0 && n < INT32_MAX
                    ? n * dim[i]
                    : -1;
        if (n < 0 || (size_t)n * 4 != r.bytes.n) {
            imp_refuse(c, IMP_BAD_TENSOR, "the mean image does not fit the image; the model is damaged");
            return x;
        }
        const tn_blob *b = imp_blob(c->im, r.bytes, TN_F32);
        return imp_binary(c, &tn_op_subtract, x, tn_val(imp_constant(c->im, TN_F32, 4, dim, b, "mean")));
    }
    return x;
}

/* channelScale x + bias, of which there is one for each colour. */
static tn_value scaler(imp_node *c, tn_pb r, tn_value x, bool bgr)
{
    float scale = 0, bias[4] = {0}; /* blue green red grey */
    while (tn_pb_next(&r)) {
        int at = r.field == 20 ? 0 : r.field == 21 ? 1 : r.field == 22 ? 2 : 3;
        if (r.wire == TN_PB_I32)
            *(r.field == 10 ? &scale : &bias[at]) = tn_pb_float(&r);
    }
    int64_t n = 0, dim[4] = {1, 0, 1, 1};
    void *to;
    int rank = imp_rank(x);
    if (c->bad || rank < 4 || !tn_is_int(imp_type(x)->dim[rank - 3], &n) || (n != 1 && n != 3)) {
        imp_refuse(c, IMP_OPERANDS, "preprocessing needs an image, but the input is %s",
                   imp_type_text(c, imp_type(x)));
        return x;
    }
    dim[1] = n;
    const tn_blob *b = tn_graph_blob(c->g, 4 * (size_t)n, &to);
    for (int i = 0; i < n; i++)
        ((float *)to)[i] = n == 1 ? bias[3] : bias[bgr ? i : 2 - i];
    x = scale == 1 || scale == 0 ? x : imp_with(c, &tn_op_multiply, x, (double)scale);
    return imp_binary(c, &tn_op_add, x, tn_val(imp_constant(c->im, TN_F32, 4, dim, b, "bias")));
}

static tn_status preprocess(cm_import *m, const model *d, tn_pb r)
{
    const cm_feature *f = NULL;
    tn_pb how = {0};
    uint32_t which = 0;
    while (tn_pb_next(&r)) {
        for (size_t i = 0; i < d->n_in && r.field == 1; i++)
            f = imp_same(d->in[i].name, r.bytes) ? &d->in[i] : f;
        if ((r.field == 10 || r.field == 11) && r.wire == TN_PB_LEN) {
            which = r.field;
            how = tn_pb_sub(&r);
        }
    }
    for (size_t i = 0; i < d->n_in && !f; i++) /* no name: the image */
        f = d->in[i].kind == CM_IMAGE ? &d->in[i] : NULL;
    if (!f || !which)
        return which ? cm_damaged(&m->im, "an input that is preprocessed does not exist") : TN_OK;
    imp_node c = node_for(m, f->name);
    tn_value x = imp_lookup(&m->im, f->name)->v;
    set_value(&m->im, f->name, which == 10 ? scaler(&c, how, x, f->bgr) : mean_image(&c, how, x));
    return c.bad ? TN_FAIL : TN_OK;
}

/* ---- results ---- */

/* The result of a layer as the description has it: without the sequence of 1, and channels alone as a list. */
static tn_value described(imp_node *c, const cm_feature *f, tn_value v)
{
    const tn_type *t = imp_type(v);
    size_t n = f->dictionary ? 1 : f->n;
    int first = 0, last = t->n;
    while (n && (size_t)(last - first) > n && first < last && tn_is_value(t->dim[first], 1))
        first++;
    while (n && (size_t)(last - first) > n && first < last && tn_is_value(t->dim[last - 1], 1))
        last--;
    return (f->kind == CM_ARRAY || f->dictionary) && n && (size_t)(last - first) == n && last - first < t->n
               ? imp_reshape(c, v, last - first, t->dim + first)
               : v;
}

static tn_status set_results(cm_import *m, const model *d, tn_bytes probabilities)
{
    tn_bytes *name = TN_NEW_N(&m->im.scratch, tn_bytes, d->n_out);
    size_t n = 0;
    for (size_t i = 0; i < d->n_out; i++) {
        const cm_feature *f = &d->out[i];
        tn_bytes at = f->name;
        if (f->kind == CM_OTHER && !f->dictionary)
            continue; /* a label */
        if (f->kind == CM_NUMBER && d->label.n && imp_same(at, d->label))
            continue;
        if (f->dictionary && probabilities.n && imp_lookup(&m->im, probabilities))
            at = probabilities;
        const imp_value *v = imp_lookup(&m->im, at);
        imp_node c = node_for(m, at);
        if (v && v->state == IMP_OK && v->v.def)
            set_value(&m->im, at, described(&c, f, v->v));
        if (c.bad)
            return TN_FAIL;
        name[n++] = at;
    }
    return imp_set_results(&m->im, n, name);
}

/* ---- the model ---- */

/* Preprocessing, the name of the layer with the probabilities, and how inputs become values. */
static tn_status read_network_model(cm_import *m, model *d)
{
    tn_bytes probabilities = {0};
    tn_ints arrays = cm_read_ints(&m->im.scratch, d->network, 5),
            images = cm_read_ints(&m->im.scratch, d->network, 6);
    m->five = !(arrays.n && arrays.at[0] == 1);
    m->image_five = !(images.n && images.at[0] == 1);
    TN_TRY(add_inputs(m, d));
    tn_pb r = tn_pb_open(d->network.at, d->network.n);
    while (tn_pb_next(&r)) {
        if (r.field == 2 && r.wire == TN_PB_LEN)
            TN_TRY(preprocess(m, d, tn_pb_sub(&r)));
        if (r.field == 200 && r.wire == TN_PB_LEN)
            probabilities = r.bytes;
    }
    if (r.error)
        return cm_damaged(&m->im, r.error);
    TN_TRY(cm_read_network(m, d->network));
    return set_results(m, d, probabilities);
}

static tn_status import(cm_import *m, tn_bytes file)
{
    imp_model *im = &m->im;
    model *d = TN_NEW(&im->scratch, model);
    *d = (model){0};
    const char *why = read_model(im, file, d);
    if (why)
        return cm_damaged(im, why);
    if (!d->network.at && !d->program.at)
        return d->kind
                   ? tn_error(
                         im->g->ctx, "coreml-E002", here(im),
                         "this is %s; only neural networks and ML programs are supported. Give the models "
                         "inside one by one, or the model that it was converted from",
                         kind_name(d->kind))
                   : cm_damaged(im, "it has neither layers nor a program");
    imp_start(im);
    m->program = d->program.at != NULL;
    if (!m->program)
        return read_network_model(m, d);
    tn_bytes function = cm_find_function(d->program);
    if (!function.at)
        return cm_damaged(im, "its program has no function");
    for (size_t i = 0; i < d->n_in; i++)
        cm_input_type(function, &d->in[i]);
    TN_TRY(add_inputs(m, d));
    TN_TRY(cm_read_function(m, function));
    return set_results(m, d, d->probabilities);
}

tn_status tn_import_coreml(tn_graph *g, const char *path, const tn_file *file,
                           const tn_import_options *options)
{
    cm_import m = {0};
    imp_open(&m.im, &cm_format, g, path, file, options);
    tn_status s = import(&m, (tn_bytes){file->at, file->n});
    tn_strmap_deinit(&m.constant);
    imp_close(&m.im);
    return s;
}

/* A version, a description, and what computes: one message with a number of 200 or more. */
bool tn_sniff_coreml(const uint8_t *at, size_t n)
{
    bool version = false, description = false, kind = false;
    tn_pb r = tn_pb_open(at, n);
    for (int i = 0; i < 16 && tn_pb_next(&r); i++) {
        version = version || (r.field == 1 && r.wire == TN_PB_VARINT);
        description = description || (r.field == 2 && r.wire == TN_PB_LEN);
        kind = kind || (r.field >= 200 && r.field <= 3000 && r.wire == TN_PB_LEN);
        if (r.field > 3000)
            return false;
    }
    return version && description && kind && !r.error;
}
