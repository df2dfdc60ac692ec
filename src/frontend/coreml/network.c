/* The layers of a network, and what converters of layers and operations read their operands with. */
#include "frontend/coreml/coreml.h"

#include "base/wire/pb.h"

#include <string.h>

/* ---- operands and attributes ---- */

static uint32_t find_key(const imp_node *c, const char *name)
{
    const cm_operation *o = c->origin;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (imp_is(o->key[i].name, name)) {
            o->key[i].asked = true;
            return i;
        }
    return UINT32_MAX;
}

bool cm_has(imp_node *c, uint32_t i, const char *name)
{
    return cm_is_layer(c) ? imp_has(c, i) : find_key(c, name) != UINT32_MAX;
}

tn_value cm_opt(imp_node *c, uint32_t i, const char *name)
{
    if (cm_is_layer(c))
        return imp_opt(c, i);
    i = find_key(c, name);
    imp_attr_ignore(c, name);
    return i == UINT32_MAX ? (tn_value){0} : imp_opt(c, i);
}

tn_value cm_in(imp_node *c, uint32_t i, const char *name)
{
    if (!cm_has(c, i, name))
        imp_refuse(c, IMP_OPERANDS, "operand %s is missing; the model is damaged", name);
    return cm_opt(c, i, name);
}

bool cm_flag(imp_node *c, const char *name) { return imp_attr_int(c, name, 0) != 0; }

tn_ints cm_ints(imp_node *c, const char *name)
{
    tn_ints list;
    (void)imp_attr_ints(c, name, &list);
    return list;
}

/* ---- arithmetic ---- */

/* Integers and floats: floats. Two of a kind: the one with more bits. */
static tn_dtype wider(tn_dtype a, tn_dtype b)
{
    bool x = tn_dtype_is_float(a), y = tn_dtype_is_float(b);
    return x != y ? (x ? a : b) : a.bits >= b.bits && !tn_dtype_is_bool(a) ? a : b;
}

tn_value cm_bin(imp_node *c, const tn_op *op, tn_value a, tn_value b)
{
    if (c->bad || !a.def || !b.def)
        return (tn_value){0};
    tn_dtype t = wider(imp_type(a)->dtype, imp_type(b)->dtype);
    a = imp_cast(c, a, t);
    return imp_binary(c, op, a, imp_cast(c, b, t));
}

tn_value cm_axes(imp_node *c, const tn_op *op, tn_value x, tn_ints axes, bool keep)
{
    tn_axes_attr a = {axes, keep, false};
    return imp_call1(c, op, &a, x);
}

tn_value cm_affine(imp_node *c, tn_value x, double scale, double shift)
{
    x = scale == 1 ? x : imp_with(c, &tn_op_multiply, x, scale);
    return shift == 0 ? x : imp_with(c, &tn_op_add, x, shift);
}

tn_value cm_flip(imp_node *c, tn_value x, int axis)
{
    static const int64_t from = -1, to = INT64_MIN, step = -1;
    int64_t at = axis;
    tn_slice_attr a = {tn_make_dims(c->g, 1, &from), tn_make_dims(c->g, 1, &to),
                       tn_ints_make(c->arena, 1, &step), tn_ints_make(c->arena, 1, &at)};
    return imp_call1(c, &tn_op_strided_slice, &a, x);
}

/* ---- layers ---- */

static size_t count(tn_bytes layer, uint32_t field)
{
    size_t n = 0;
    tn_pb r = tn_pb_open(layer.at, layer.n);
    while (tn_pb_next(&r))
        n += r.field == field && r.wire == TN_PB_LEN;
    return n;
}

void cm_refuse_custom(imp_model *im, tn_bytes class, const tn_loc *loc)
{
    (void)imp_error(
        im, IMP_UNKNOWN_OPERATOR, loc,
        "the layer is code of an app, class \"%s\", which the file does not have; replace it by layers of "
        "Core ML, or export the model that it was converted from",
        imp_text(im, class));
}

/* The name of a custom layer's class. */
static tn_bytes class_of(tn_bytes custom)
{
    tn_bytes name = {0};
    tn_pb r = tn_pb_open(custom.at, custom.n);
    while (tn_pb_next(&r))
        name = r.field == 10 && r.wire == TN_PB_LEN ? r.bytes : name;
    return name;
}

static tn_status convert(cm_import *m, tn_bytes layer)
{
    imp_model *im = &m->im;
    const char *kind = "unknown", *why;
    enum cm_message message;
    tn_bytes params, name = {0}, custom = {0}, *in = TN_NEW_N(&im->scratch, tn_bytes, count(layer, 2)),
                     *out = TN_NEW_N(&im->scratch, tn_bytes, count(layer, 3));
    imp_node c = {.version = 1, .in_name = in, .out_name = out};
    cm_attrs attrs = {0};
    tn_pb r = tn_pb_open(layer.at, layer.n);
    while (tn_pb_next(&r)) {
        name = r.field == 1 && r.wire == TN_PB_LEN ? r.bytes : name;
        if (r.field == 2 && r.wire == TN_PB_LEN)
            in[c.n_in++] = r.bytes;
        else if (r.field == 3 && r.wire == TN_PB_LEN)
            out[c.n_out++] = r.bytes;
        else if (r.field == 500 && r.wire == TN_PB_LEN) {
            kind = "custom";
            custom = r.bytes;
        }
    }
    if (r.error)
        return cm_damaged(im, r.error);
    if (!cm_find_layer(layer, &kind, &message, &params)) {
        message = CM_EMPTY;
        params = (tn_bytes){0};
    }
    c.loc = imp_make_loc(im, imp_text(im, name), kind);
    why = cm_read_params(im, message, params, "", &attrs);
    if (why) {
        tn_vec_deinit(&attrs);
        return tn_error(im->g->ctx, "coreml-E001", c.loc, "the layer is damaged: %s%s", why, imp_again(why));
    }
    c.attr = attrs.at;
    c.n_attr = attrs.n;
    if (strcmp(kind, "copy") == 0) {
        cm_copy(im, &c);
    } else {
        if (strcmp(kind, "custom") == 0)
            cm_refuse_custom(im, class_of(custom), c.loc);
        else
            c.row = imp_row_of(im, (tn_bytes){0}, (tn_bytes){(const uint8_t *)kind, strlen(kind)}, 1, c.loc,
                               true);
        imp_convert(im, &c);
    }
    tn_vec_deinit(&attrs);
    return TN_OK;
}

tn_status cm_read_network(cm_import *m, tn_bytes network)
{
    tn_pb r = tn_pb_open(network.at, network.n);
    while (tn_pb_next(&r) && !imp_too_much(&m->im, NULL))
        if (r.field == 1 && r.wire == TN_PB_LEN)
            TN_TRY(convert(m, r.bytes));
    if (r.error)
        return cm_damaged(&m->im, r.error);
    return m->im.g->ctx->n_error > m->im.had_errors ? TN_FAIL : TN_OK;
}
