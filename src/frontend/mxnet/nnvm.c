/* NNVM, the compiler that came before Relay: its graphs are written as MXNet's symbols are, with operators of its own.
 * Each is one of MXNet's in other words (nnvm.def), or has a row here. */
#include "frontend/mxnet/mxnet.h"

#include "op/image/image.h"

#include <string.h>

typedef struct spelling {
    const char *nnvm, *mxnet, *attrs, *added;
} spelling;

#define WINDOW "strides=stride padding=pad "
#define CONVOLUTION \
    WINDOW "channels=num_filter kernel_size=kernel dilation=dilate groups=num_group !use_bias=no_bias"
#define POOLING WINDOW "pool_size=kernel ^ceil_mode=pooling_convention"
static const spelling spellings[] = {
#define NNVM(nnvm, mxnet, attrs, added) {nnvm, mxnet, attrs, added},
#include "frontend/mxnet/nnvm.def"
#undef NNVM
};

static const spelling *find(tn_bytes op)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (imp_is(op, spellings[i].nnvm))
            return &spellings[i];
    return NULL;
}

/* MXNet says its version in the file from 0.9 on; NNVM says none. What both dialects may mean is NNVM's unless a
 * variable has an attribute of MXNet's. */
bool mx_is_nnvm(const mx_import *m, const mx_graph *g)
{
    size_t n = 0, known = 0, own = 0;
    for (uint32_t i = 0; i < g->n && !m->version; i++) {
        tn_bytes op = g->node[i].op;
        bool is = !imp_is(op, "null") && find(op);
        if (mx_attr_text(&g->node[i], "__shape__").n)
            return false;
        n += !imp_is(op, "null");
        known += is;
        own += is && !imp_row_of((imp_model *)&m->im, (tn_bytes){0}, op, 0, NULL, false);
    }
    return own > 0 || (n > 0 && known == n);
}

/* ---- attributes ---- */

/* The next word of a list, up to a blank; its end. */
static const char *next_word(const char *s, tn_bytes *out)
{
    s += strspn(s, " ");
    size_t n = strcspn(s, " ");
    *out = (tn_bytes){(const uint8_t *)s, n};
    return s + n;
}

/* The part of a word before `mark`, and behind it. */
static tn_bytes part(tn_bytes word, char mark, tn_bytes *rest)
{
    const uint8_t *at = memchr(word.at, mark, word.n);
    size_t n = at ? (size_t)(at - word.at) : word.n;
    *rest = at ? (tn_bytes){at + 1, word.n - n - 1} : (tn_bytes){0};
    return (tn_bytes){word.at, n};
}

static bool is_true(tn_bytes v) { return imp_is(v, "True") || imp_is(v, "true") || imp_is(v, "1"); }

/* "((0, 0), (1, 2))" as "(0, 0, 1, 2)" */
static tn_bytes joined(tn_arena *a, tn_bytes v)
{
    char *s = tn_arena_strndup(a, (const char *)v.at, v.n);
    for (size_t i = 1; i + 1 < v.n; i++)
        if (s[i] == '(' || s[i] == ')' || s[i] == '[' || s[i] == ']')
            s[i] = ' ';
    return (tn_bytes){(const uint8_t *)s, v.n};
}

static tn_bytes literal(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

/* The attribute as MXNet has it; false: it is left out. */
static bool respell(tn_arena *a, const spelling *sp, imp_attr *attr)
{
    tn_bytes word, to;
    for (const char *s = next_word(sp->attrs, &word); word.n; s = next_word(s, &word)) {
        char how = (char)word.at[0];
        bool marked = strchr("!^~-", how) != NULL;
        tn_bytes rest = marked ? (tn_bytes){word.at + 1, word.n - 1} : word;
        if (!imp_same(part(rest, how == '-' ? ':' : '=', &to), attr->name))
            continue;
        if (how == '-')
            return to.n > 0 && !imp_same(to, attr->text);
        attr->name = to;
        if (how == '!')
            attr->text = literal(is_true(attr->text) ? "False" : "True");
        else if (how == '^')
            attr->text = literal(is_true(attr->text) ? "full" : "valid");
        else if (how == '~')
            attr->text = joined(a, attr->text);
        return true;
    }
    return true;
}

static bool has(const imp_node *c, tn_bytes name)
{
    for (size_t i = 0; i < c->n_attr; i++)
        if (imp_same(c->attr[i].name, name))
            return true;
    return false;
}

tn_bytes mx_respell(mx_import *m, tn_bytes op, imp_node *c)
{
    enum { MOST_ADDED = 4 };
    const spelling *sp = find(op);
    imp_attr *attr = sp ? TN_NEW_N(&m->im.scratch, imp_attr, c->n_attr + MOST_ADDED) : NULL;
    size_t n = 0;
    tn_bytes word, value;
    if (!sp)
        return op;
    for (size_t i = 0; i < c->n_attr; i++) {
        attr[n] = c->attr[i];
        n += respell(&m->im.scratch, sp, &attr[n]);
    }
    c->attr = attr;
    c->n_attr = n;
    for (const char *s = next_word(sp->added, &word); word.n; s = next_word(s, &word)) {
        tn_bytes name = part(word, '=', &value);
        if (!has(c, name))
            attr[c->n_attr++] = (imp_attr){.name = name, .kind = IMP_A_TEXT, .text = value};
    }
    return literal(sp->mxnet);
}

/* ---- operators that MXNet does not have ---- */

/* x / sqrt(max(sum of squares, eps)) */
static void l2_normalize(imp_node *c)
{
    tn_axes_attr a = {.keepdims = true};
    tn_value x = imp_in(c, 0);
    imp_attr_need(c, "axis");
    (void)mx_ints(c, "axis", &a.axis);
    tn_value sum = imp_call1(c, &tn_op_sum, &a, imp_binary(c, &tn_op_multiply, x, x));
    sum = imp_with(c, &tn_op_maximum, sum, mx_float(c, "eps", 0));
    imp_out(c, 0, imp_binary(c, &tn_op_divide, x, imp_unary(c, &tn_op_sqrt, sum)));
}

/* Rows and columns of the result: `size`, or `scale` times as many. */
static bool read_size(imp_node *c, tn_value x, int first, const tn_expr *out[2])
{
    tn_ints size;
    bool given = mx_ints(c, "size", &size);
    int64_t scale = given ? 1 : mx_int(c, "scale", 1);
    if ((given && size.n != 2) || scale < 1 || scale > 1 << 16)
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s must be %s", given ? "size" : "scale",
                   given ? "two numbers" : "at least 1");
    if (!c->bad && imp_rank(x) != 4)
        imp_refuse(c, IMP_OPERANDS, "data %s must have four dimensions", imp_type_text(c, imp_type(x)));
    for (int i = 0; i < 2 && !c->bad; i++)
        out[i] = given
                     ? tn_idx(c->pool, size.at[i])
                     : imp_simplify(c, tn_mul(c->pool, imp_type(x)->dim[first + i], tn_idx(c->pool, scale)));
    return !c->bad;
}

static void resize(imp_node *c)
{
    static const char *const methods[] = {"NEAREST_NEIGHBOR", "BILINEAR", NULL}, *const layouts[] = {
                                                                                     "NCHW", "NHWC", NULL};
    static const int64_t to_first[] = {0, 3, 1, 2}, back[] = {0, 2, 3, 1};
    tn_value x = imp_in(c, 0);
    const tn_expr *to[2];
    bool linear = mx_choice(c, "method", 0, methods) == 1, last = mx_choice(c, "layout", 0, layouts) == 1,
         corners = mx_bool(c, "align_corners", false);
    if (!read_size(c, x, last ? 1 : 2, to))
        return;
    x = last ? imp_transpose(c, x, 4, to_first) : x;
    x = imp_resize2d(c, x, to[0], to[1], linear ? "linear" : "nearest_neighbor",
                     linear && corners ? "align_corners" : "asymmetric");
    imp_out(c, 0, last ? imp_transpose(c, x, 4, back) : x);
}

/* x with new dimensions at `axis` (or at all others), as large as those of the second operand. */
static void expand_like(imp_node *c)
{
    tn_ints axis;
    tn_value x = imp_in(c, 0), like = imp_in(c, 1);
    bool exclude = mx_bool(c, "exclude", false), added[IMP_MAX_RANK] = {0};
    (void)mx_ints(c, "axis", &axis);
    for (uint32_t i = 0; i < axis.n && !c->bad; i++)
        added[imp_axis(c, axis.at[i], imp_rank(like))] = true;
    for (int i = 0; i < imp_rank(like) && !c->bad && imp_rank(x) < imp_rank(like); i++)
        if (added[i] != exclude)
            x = imp_unsqueeze(c, x, i);
    tn_broadcast_to_attr a = {{(uint32_t)imp_rank(like), imp_type(like)->dim}};
    imp_out(c, 0, imp_call1(c, &tn_op_broadcast_to, &a, x));
}

/* A number of equal parts, or, in brackets, where all but the first begin. */
static void split(imp_node *c)
{
    tn_ints at;
    tn_value x = imp_in(c, 0);
    const char *text = mx_text(c, "indices_or_sections", "");
    int axis = imp_axis(c, mx_int(c, "axis", 1), imp_rank(x));
    bool equal = *text != '(' && *text != '[';
    int64_t extent = 0, begin = 0;
    (void)mx_ints(c, "indices_or_sections", &at);
    if (!c->bad && (!at.n || (equal && at.at[0] < 1)))
        imp_refuse(c, IMP_BAD_VALUE, "attribute indices_or_sections must be a number of parts or a list");
    if (!c->bad && equal && (!tn_is_int(imp_type(x)->dim[axis], &extent) || extent % at.at[0]))
        imp_refuse(c, IMP_BAD_VALUE, "axis %d of %s cannot be split into %lld equal parts", axis,
                   imp_type_text(c, imp_type(x)), (long long)at.at[0]);
    if (c->bad)
        return;
    int64_t n = equal ? at.at[0] : (int64_t)at.n + 1;
    if ((int64_t)c->n_out > n)
        imp_refuse(c, IMP_OPERANDS, "result %zu is used, but there are %lld", (size_t)c->n_out - 1,
                   (long long)n);
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++) {
        int64_t end = i + 1 == n ? INT64_MAX : equal ? (i + 1) * (extent / n) : at.at[i];
        imp_out(c, i, imp_slice(c, x, axis, begin, end));
        begin = end;
    }
}

/* Along `axis`, else of all elements in a row; positions outside are those at the ends. */
static void take(imp_node *c)
{
    tn_value x = imp_in(c, 0), at = imp_cast(c, imp_in(c, 1), TN_I64);
    bool given = strcmp(mx_text(c, "axis", "None"), "None") != 0;
    int axis = given ? imp_axis(c, mx_int(c, "axis", 0), imp_rank(x)) : 0;
    tn_take_attr a = {axis, "clip"};
    imp_out(c, 0, imp_call2(c, &tn_op_take, &a, given || c->bad ? x : imp_flat(c, x), at));
}

/* A position as int32, of one axis or of all elements in a row; no result has no dimensions. */
static void arg(imp_node *c)
{
    tn_ints axis;
    tn_value x = imp_in(c, 0);
    bool given = mx_ints(c, "axis", &axis) && axis.n, keep = mx_bool(c, "keepdims", false);
    if (given && !c->bad && axis.n != 1)
        imp_refuse(c, IMP_BAD_VALUE, "attribute axis has %u entries, but one is supported", (unsigned)axis.n);
    if (mx_bool(c, "exclude", false) || (keep && !given))
        imp_refuse(c, IMP_BAD_VALUE, "attributes exclude, and keepdims without an axis, are not supported");
    tn_arg_attr a = {.axis = given && !c->bad ? imp_axis(c, axis.at[0], imp_rank(x)) : 0,
                     .keepdims = keep,
                     .dtype = mx_dtype(c, "dtype", TN_I32)};
    tn_value y = imp_call1(c, c->row->relay, &a, given || c->bad ? x : imp_flat(c, x));
    imp_out(c, 0, !c->bad && imp_rank(y) == 0 ? imp_unsqueeze(c, y, 0) : y);
}

// clang-format off
const imp_row mx_rows_nnvm[] = {
    {"_nnvm_l2_normalize", 0, 0, 1, 1,  l2_normalize, NULL},
    {"_nnvm_resize",       0, 0, 1, 1,  resize,       NULL},
    {"_nnvm_expand_like",  0, 0, 2, 1,  expand_like,  NULL},
    {"_nnvm_split",        0, 0, 1, -1, split,        NULL},
    {"_nnvm_take",         0, 0, 2, 1,  take,         NULL},
    {"_nnvm_argmax",       0, 0, 1, 1,  arg,          &tn_op_argmax},
    {"_nnvm_argmin",       0, 0, 1, 1,  arg,          &tn_op_argmin},
    {0},
};
// clang-format on
