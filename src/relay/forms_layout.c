/* Layers of TVM's texts whose data or weights lie in another order of dimensions than ours ("NHWC", "HWIO"): the
 * operands are transposed before the call and the result after it. Transforms move such transposes out of the way. */
#include "relay/parse.h"

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

static const tn_attr_field *find_field(const tn_op *op, const char *name)
{
    for (const tn_attr_field *f = op->attr; f && f->name; f++)
        if (strcmp(f->name, name) == 0 && f->kind == TN_A_STR && f->def)
            return f;
    return NULL;
}

/* The order that an attribute asks for, against its default; the attribute becomes the default. */
static bool take_order(parser *p, const tn_attr_field *f, void *attr, order *out)
{
    const char **at = (const char **)(void *)((char *)attr + f->offset), *given = *at;
    char ours[MOST + 1];
    size_t n = strlen(f->def);
    *out = (order){0};
    if (!given || !*given || n < 3 || n > MOST + 2 || f->def[0] != '"')
        return true;
    memcpy(ours, f->def + 1, n - 2);
    ours[n - 2] = 0;
    if (!find_order(given, ours, out))
        return false;
    *at = tn_intern(p->g->ctx, ours);
    return true;
}

static bool transpose(parser *p, tn_value *v, const order *o, uint32_t line, uint32_t col)
{
    const tn_type *t = v->def ? tn_value_type(*v) : NULL;
    tn_transpose_attr a = {tn_ints_make(p->g->arena, o->n, o->axes)};
    if (!o->n || !t || t->kind != TN_T_TENSOR ||
        (uint32_t)t->n != o->n) /* what does not fit, the operator refuses */
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

pval parse_laid_out(parser *p, const tn_op *op, size_t n, tn_value in[], void *attr, uint32_t line,
                    uint32_t col)
{
    const tn_attr_field *data = attr ? find_field(op, "data_layout") : NULL;
    const tn_attr_field *kernel = attr ? find_field(op, "kernel_layout") : NULL;
    const tn_attr_field *result = attr ? find_field(op, "out_layout") : NULL;
    order to = {0}, back = {0}, weight = {0};
    data = data ? data : attr ? find_field(op, "layout") : NULL;
    if (!data || !is_layer(op))
        return parse_node(p, op, (int)n, in, attr, line, col);
    const char *given = *(const char **)(void *)((char *)attr + data->offset);
    const char **out = result ? (const char **)(void *)((char *)attr + result->offset) : NULL;
    bool same = !out || !*out || !**out || (given && strcmp(*out, given) == 0);
    bool known = same && given && take_order(p, data, attr, &to);
    if (known && kernel)
        (void)take_order(p, kernel, attr, &weight);
    for (uint32_t i = 0; i < to.n; i++)
        back.axes[to.axes[i]] = i;
    back.n = to.n;
    if (known && to.n && out)
        *out = "";
    if (n > 0 &&
        !(transpose(p, &in[0], &to, line, col) && (n < 2 || transpose(p, &in[1], &weight, line, col))))
        return pval_bad(line, col);
    pval v = parse_node(p, op, (int)n, in, attr, line, col);
    if (v.kind == PVAL_ONE && !transpose(p, &v.v, &back, line, col))
        return pval_bad(line, col);
    return v;
}
