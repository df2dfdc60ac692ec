/* Layers of TVM's texts whose data or weights lie in another order of dimensions than ours ("NHWC", "HWIO"): the
 * operands are transposed before the call and the result after it. Transforms move such transposes out of the way. */
#include "relay/parse.h"

#include "ir/eval.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <string.h>

enum { MOST = 8 };

typedef struct order { /* dimension i of one is axes[i] of the other; n 0: the same */
    uint32_t n;
    int64_t axes[MOST];
} order;

/* from "NHWC" to "NCHW"; false: they do not have the same letters. */
static bool find_order(const char *from, const char *to, order *out)
{
    size_t n = strlen(from);
    *out = (order){0};
    if (n != strlen(to) || n > MOST)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(from, to[i]);
        if (!at || strchr(to, to[i]) != to + i)
            return false;
        out->axes[i] = at - from;
    }
    out->n = strcmp(from, to) == 0 ? 0 : (uint32_t)n;
    return true;
}

static const tn_attr_field *find_field(const tn_op *op, const char *name, enum tn_attr_kind kind)
{
    const tn_attr_field *f = parse_find_field(op->attr, name);
    return f && f->kind == kind && f->def ? f : NULL;
}

static const tn_attr_field *find_layout(const tn_op *op, const char *name)
{
    return find_field(op, name, TN_A_STR);
}

static void *field_of(void *attr, const tn_attr_field *f) { return (char *)attr + f->offset; }

/* The order that the operator has without the attribute. false: none. */
static bool own_order(const tn_attr_field *f, char out[])
{
    size_t n = strlen(f->def);
    if (n < 3 || n > MOST + 2 || f->def[0] != '"')
        return false;
    memcpy(out, f->def + 1, n - 2);
    out[n - 2] = 0;
    return true;
}

/* The order that an attribute asks for, against its default; the attribute becomes the default. */
static bool take_order(parser *p, const tn_attr_field *f, void *attr, order *out)
{
    const char **at = field_of(attr, f), *given = *at;
    char ours[MOST + 1];
    *out = (order){0};
    if (!given || !*given || !own_order(f, ours))
        return true;
    if (!find_order(given, ours, out))
        return false;
    *at = tn_intern(p->g->ctx, ours);
    return true;
}

static const tn_type *type_of_rank(const tn_value *v, int rank)
{
    const tn_type *t = v->def ? tn_value_type(*v) : NULL;
    return t && t->kind == TN_T_TENSOR && (!rank || t->n == rank) ? t : NULL;
}

static bool transpose(parser *p, tn_value *v, const order *o, uint32_t line, uint32_t col)
{
    tn_transpose_attr a = {tn_ints_make(p->g->arena, o->n, o->axes)};
    if (!o->n || !type_of_rank(v, (int)o->n)) /* what does not fit, the operator refuses */
        return true;
    pval r = parse_node(p, &tn_op_transpose, 1, v, &a, line, col);
    *v = r.v;
    return r.kind == PVAL_ONE;
}

/* nn.conv1d, nn.max_pool2d, ...; the tables of others are for what their operators do with layouts. */
static bool is_layer(const tn_op *op)
{
    return strncmp(op->name, "nn.", 3) == 0 || strncmp(op->name, "qnn.", 4) == 0 ||
           strncmp(op->name, "image.resize", 12) == 0;
}

static pval reshaped(parser *p, tn_value v, int n, const tn_expr *const dim[], uint32_t line, uint32_t col)
{
    const tn_reshape_attr a = {.newshape = tn_dims_make(p->g->arena, (uint32_t)n, dim), .allowzero = true};
    return parse_node(p, &tn_op_reshape, 1, &v, &a, line, col);
}

/* A weight whose groups are as many as the data's channels may have I results for each, which are its channels here. */
static bool join_depthwise(parser *p, const tn_op *op, void *attr, tn_value in[], uint32_t line, uint32_t col)
{
    const tn_attr_field *f = find_field(op, "groups", TN_A_I64);
    const tn_type *x = type_of_rank(&in[0], 4), *w = type_of_rank(&in[1], 4);
    int64_t groups = f ? *(int64_t *)field_of(attr, f) : 1, times;
    if (groups < 2 || !x || !w || !tn_is_value(x->dim[1], groups) || !tn_is_value(w->dim[0], groups) ||
        !tn_is_int(w->dim[1], &times) || times < 2 || times > INT32_MAX)
        return true;
    const tn_expr *dim[4] = {tn_idx(p->g->pool, groups * times), tn_idx(p->g->pool, 1), w->dim[2], w->dim[3]};
    pval r = reshaped(p, in[1], 4, dim, line, col);
    in[1] = r.v;
    return r.kind == PVAL_ONE;
}

/* The axis of the channels of a normalisation, if it is behind 1; 0: it is not. */
static int channel_axis(const tn_op *op, void *attr, const tn_type *t)
{
    const tn_attr_field *f = t ? find_field(op, "axis", TN_A_I64) : NULL;
    const int64_t axis = f ? *(const int64_t *)field_of(attr, f) : 0, at = axis < 0 ? axis + t->n : axis;
    return f && t->n <= MOST && at > 1 && at < t->n ? (int)at : 0;
}

static void set_channel_axis(const tn_op *op, void *attr)
{
    *(int64_t *)field_of(attr, find_field(op, "axis", TN_A_I64)) = 1;
}

/* nn.instance_norm, whose channels lie along an axis. */
static pval norm_of_images(parser *p, const tn_op *op, size_t n, tn_value in[], void *attr, uint32_t line,
                           uint32_t col)
{
    const tn_type *t = n ? type_of_rank(&in[0], 0) : NULL;
    const int at = channel_axis(op, attr, t);
    order to = {0}, back = {0};
    if (!at)
        return parse_node(p, op, (int)n, in, attr, line, col);
    to.n = back.n = (uint32_t)t->n;
    for (int d = 0; d < t->n; d++) {
        to.axes[d] = d == 0 || d > at ? d : d == 1 ? at : d - 1;
        back.axes[to.axes[d]] = d;
    }
    set_channel_axis(op, attr);
    if (!transpose(p, &in[0], &to, line, col))
        return pval_bad(line, col);
    pval v = parse_node(p, op, (int)n, in, attr, line, col);
    return v.kind != PVAL_ONE || transpose(p, &v.v, &back, line, col) ? v : pval_bad(line, col);
}

/* nn.group_norm: TVM sums over the group and what lies behind the channels' axis; each element of the dimensions
 * in front of it has moments of its own. */
static pval norm_of_groups(parser *p, const tn_op *op, size_t n, tn_value in[], void *attr, uint32_t line,
                           uint32_t col)
{
    const tn_type *t = n ? type_of_rank(&in[0], 0) : NULL;
    const int at = channel_axis(op, attr, t);
    const tn_expr *dim[MOST + 1], *front = tn_idx(p->g->pool, 1);
    int k = 1;
    if (!at)
        return parse_node(p, op, (int)n, in, attr, line, col);
    for (int d = 0; d < t->n; d++)
        if (d < at)
            front = tn_mul(p->g->pool, front, t->dim[d]);
        else
            dim[k++] = t->dim[d];
    dim[0] = tn_simplify(p->g->pool, NULL, front);
    if (k < 3)
        dim[k++] = tn_idx(p->g->pool, 1);
    set_channel_axis(op, attr);
    pval v = reshaped(p, in[0], k, dim, line, col);
    if (v.kind != PVAL_ONE)
        return v;
    in[0] = v.v;
    v = parse_node(p, op, (int)n, in, attr, line, col);
    return v.kind == PVAL_ONE ? reshaped(p, v.v, t->n, t->dim, line, col) : v;
}

/* The order of the result against that which the operator gives: as asked for, else as the data's. false: none. */
static bool result_order(const tn_attr_field *data, const char *given, const char *wanted, order *out)
{
    char ours[MOST + 1];
    *out = (order){0};
    const char *want = wanted && *wanted ? wanted : given;
    return !want || !*want || !own_order(data, ours) || find_order(ours, want, out);
}

pval parse_laid_out(parser *p, const tn_op *op, size_t n, tn_value in[], void *attr, uint32_t line,
                    uint32_t col)
{
    if (op == &tn_op_nn_instance_norm)
        return norm_of_images(p, op, n, in, attr, line, col);
    if (op == &tn_op_nn_group_norm)
        return norm_of_groups(p, op, n, in, attr, line, col);
    const tn_attr_field *data = attr ? find_layout(op, "data_layout") : NULL;
    const tn_attr_field *kernel = attr ? find_layout(op, "kernel_layout") : NULL;
    const tn_attr_field *result = attr ? find_layout(op, "out_layout") : NULL;
    order to = {0}, back = {0}, weight = {0};
    data = data ? data : attr ? find_layout(op, "layout") : NULL;
    if (!data || !is_layer(op))
        return parse_node(p, op, (int)n, in, attr, line, col);
    const char **out = result ? field_of(attr, result) : NULL;
    bool known = result_order(data, *(const char **)field_of(attr, data), out ? *out : NULL, &back);
    known = known && take_order(p, data, attr, &to);
    if (known && kernel)
        (void)take_order(p, kernel, attr, &weight);
    if (known && out)
        *out = "";
    if (!known)
        back.n = 0;
    if (n > 0 &&
        !(transpose(p, &in[0], &to, line, col) && (n < 2 || transpose(p, &in[1], &weight, line, col))))
        return pval_bad(line, col);
    if (n > 1 && op == &tn_op_nn_conv2d && !join_depthwise(p, op, attr, in, line, col))
        return pval_bad(line, col);
    pval v = parse_node(p, op, (int)n, in, attr, line, col);
    if (v.kind == PVAL_ONE && !transpose(p, &v.v, &back, line, col))
        return pval_bad(line, col);
    return v;
}
