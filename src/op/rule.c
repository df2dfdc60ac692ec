/* What type relations are written with: messages, operands, results, attributes. */
#include "op/rule.h"

#include "base/size.h"

#include <string.h>

/* ---- messages ---- */

tn_status tn_rule_fail(tn_graph *g, const tn_node *n, const char *id, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = tn_arena_vprintf(g->arena, fmt, ap);
    va_end(ap);
    return tn_error(g->ctx, id, n->loc, "%s: %s", n->op->name, text);
}

static const char *keep_text(tn_graph *g, tn_buf *b)
{
    const char *s = tn_arena_strdup(g->arena, tn_buf_cstr(b));
    tn_buf_deinit(b);
    return s;
}

const char *tn_rule_type_text(tn_graph *g, const tn_type *t)
{
    tn_buf b = {0};
    tn_type_print(t, &b);
    return keep_text(g, &b);
}

const char *tn_rule_dim_text(tn_graph *g, const tn_expr *e)
{
    tn_buf b = {0};
    tn_expr_print(e, NULL, &b);
    return keep_text(g, &b);
}

const char *tn_rule_dtype_text(tn_graph *g, tn_dtype t)
{
    tn_buf b = {0};
    tn_dtype_print(t, false, &b);
    return keep_text(g, &b);
}

/* ---- operands ---- */

const char *tn_rule_in_name(tn_graph *g, const tn_node *n, int i)
{
    return n->op->in_name ? n->op->in_name[i] : tn_arena_printf(g->arena, "operand %d", i);
}

tn_status tn_rule_tensor(tn_graph *g, const tn_node *n, int i, int rank, const tn_type **out)
{
    if (!tn_in(n, i).def) /* of an operator that takes any number */
        return tn_rule_fail(g, n, "op-E001", "%s is None, but it is required", tn_rule_in_name(g, n, i));
    const tn_type *t = *out = tn_in_type(n, i);
    if (t->kind == TN_T_ANY)
        return tn_rule_fail(g, n, "op-E002", "the rank of %s is not known: it is %s; say it with unbox",
                            tn_rule_in_name(g, n, i), tn_rule_type_text(g, t));
    if (t->kind == TN_T_TENSOR && tn_dtype_is_string(t->dtype) && !n->op->host)
        return tn_rule_fail(g, n, "op-E080", "%s is a tensor of texts, but it takes numbers",
                            tn_rule_in_name(g, n, i));
    if (t->kind == TN_T_TENSOR && tn_dtype_is_complex(t->dtype) && n->op->fuse != TN_FUSE_NONE)
        return tn_rule_fail(g, n, "op-E083",
                            "%s is a tensor of complex numbers; give it their parts (complex.parts)",
                            tn_rule_in_name(g, n, i));
    if (t->kind != TN_T_TENSOR)
        return tn_rule_fail(g, n, "op-E002", "%s must be a tensor, but is %s; take its fields apart first",
                            tn_rule_in_name(g, n, i), tn_rule_type_text(g, t));
    if (rank >= 0 && t->n != rank)
        return tn_rule_fail(g, n, "op-E003", "%s must have %d dimensions, but is %s",
                            tn_rule_in_name(g, n, i), rank, tn_rule_type_text(g, t));
    if (t->n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "%s has %d dimensions; at most %d are supported",
                            tn_rule_in_name(g, n, i), t->n, TN_RULE_MAX_RANK);
    return TN_OK;
}

tn_status tn_rule_same_dtype(tn_graph *g, const tn_node *n, int i)
{
    const tn_type *a = tn_in_type(n, 0), *b = tn_in_type(n, i);
    if (tn_dtype_eq(a->dtype, b->dtype))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E004", "%s is %s but %s is %s; cast one of them", tn_rule_in_name(g, n, 0),
                        tn_rule_dtype_text(g, a->dtype), tn_rule_in_name(g, n, i),
                        tn_rule_dtype_text(g, b->dtype));
}

static tn_status refuse_dtype(tn_graph *g, const tn_node *n, int i, const char *wanted)
{
    return tn_rule_fail(g, n, "op-E011", "%s must be %s, but is %s; cast it", tn_rule_in_name(g, n, i),
                        wanted, tn_rule_dtype_text(g, tn_in_type(n, i)->dtype));
}

/* Floats to compute with. */
static bool is_real(tn_dtype t) { return tn_dtype_is_float(t) && !tn_dtype_is_minifloat(t); }

tn_status tn_rule_float(tn_graph *g, const tn_node *n, int i)
{
    return is_real(tn_in_type(n, i)->dtype) ? TN_OK : refuse_dtype(g, n, i, "a float tensor");
}

tn_status tn_rule_number(tn_graph *g, const tn_node *n, int i)
{
    tn_dtype t = tn_in_type(n, i)->dtype;
    return is_real(t) || tn_dtype_is_int(t) ? TN_OK : refuse_dtype(g, n, i, "a tensor of floats or integers");
}

tn_status tn_rule_countable(tn_graph *g, const tn_node *n, int i)
{
    tn_dtype t = tn_in_type(n, i)->dtype;
    if (is_real(t) || (tn_dtype_is_int(t) && t.bits >= 32))
        return TN_OK;
    return refuse_dtype(g, n, i, "a tensor of floats, or of integers of 32 bits or more");
}

static bool holds(tn_dtype t, tn_dtype from)
{
    if (tn_dtype_is_float(t) != tn_dtype_is_float(from))
        return false;
    return tn_dtype_eq(t, from) || t.bits > from.bits;
}

tn_status tn_rule_product(tn_graph *g, const tn_node *n, tn_dtype asked, tn_dtype *out)
{
    tn_dtype a = tn_in_type(n, 0)->dtype, b = tn_in_type(n, 1)->dtype;
    TN_TRY(tn_rule_number(g, n, 0));
    TN_TRY(tn_rule_number(g, n, 1));
    *out = asked.bits ? asked : a;
    if (!asked.bits)
        return tn_rule_same_dtype(g, n, 1);
    if (holds(asked, a) && holds(asked, b))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E004", "out_dtype %s does not hold products of %s and %s",
                        tn_rule_dtype_text(g, asked), tn_rule_dtype_text(g, a), tn_rule_dtype_text(g, b));
}

const tn_expr *tn_rule_times(tn_pool *p, tn_dtype t, const tn_expr *x, const tn_expr *y)
{
    return tn_mul(p, tn_cast(p, t, x), tn_cast(p, t, y));
}

/* ---- dimensions ---- */

int64_t tn_rule_least(const tn_expr *const dim[], int n)
{
    int64_t r = 1, x;
    for (int i = 0; i < n; i++)
        if (tn_is_int(dim[i], &x))
            r = x < INT32_MAX && r * x < INT32_MAX ? r * x : INT32_MAX;
    return r;
}

static bool is_symbol(const tn_expr *e, void *user)
{
    (void)user;
    return e->kind != TN_E_SYM; /* false stops the walk */
}

tn_status tn_rule_result(tn_graph *g, tn_node *n, int out, tn_dtype t, int ndim, const tn_expr *const dim[])
{
    const tn_expr *d[TN_RULE_MAX_RANK];
    if (tn_dtype_is_string(t) && !n->op->host)
        return tn_rule_fail(g, n, "op-E080", "the result would be a tensor of texts, but it gives numbers");
    if (tn_dtype_is_complex(t) && n->op->fuse != TN_FUSE_NONE)
        return tn_rule_fail(
            g, n, "op-E083",
            "the result would be a tensor of complex numbers; make it of its parts (complex.of)");
    if (ndim > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "the result would have %d dimensions; at most %d are supported",
                            ndim, TN_RULE_MAX_RANK);
    for (int i = 0; i < ndim; i++) {
        d[i] = tn_simplify_extent(g, dim[i]);
        if (d[i]->kind == TN_E_INT && d[i]->u.i < 0)
            return tn_rule_fail(g, n, "op-E009", "dimension %d of the result would be %lld", i,
                                (long long)d[i]->u.i);
        if (d[i]->kind != TN_E_INT && tn_each(d[i], is_symbol, NULL)) /* constant, but it did not fold */
            return tn_rule_fail(g, n, "op-E015", "dimension %d of the result, %s, is too large or undefined",
                                i, tn_rule_dim_text(g, d[i]));
    }
    const tn_type *type = tn_type_tensor(g->pool, t, ndim, d, NULL);
    if (!tn_type_bytes(g->pool, type))
        return tn_rule_fail(g, n, "op-E015", "the result %s would be larger than 2^63 bytes",
                            tn_rule_type_text(g, type));
    n->type[out] = type;
    return TN_OK;
}

tn_status tn_rule_extent(tn_graph *g, const tn_node *n, const char *name, tn_dims at, const tn_expr **out)
{
    int64_t v;
    if (at.n != 1)
        return tn_rule_fail(g, n, "op-E007", "%s has %u entries; one is expected", name, (unsigned)at.n);
    *out = tn_simplify_extent(g, at.at[0]);
    if (tn_is_int(*out, &v) && (v < 0 || v > INT32_MAX))
        return tn_rule_fail(g, n, "op-E007", "%s is %lld, but must be in [0, 2^31)", name, (long long)v);
    return TN_OK;
}

tn_status tn_rule_elements(tn_graph *g, const tn_node *n, const tn_type *t, int axis)
{
    const tn_type *result = n->type[0];
    bool wanted = tn_is_value(t->dim[axis], 0);
    for (int i = 0; i < result->n && wanted; i++)
        wanted = !tn_is_value(result->dim[i], 0);
    return wanted
               ? tn_rule_fail(g, n, "op-E009", "%s has no elements along axis %d, but the result %s has some",
                              tn_rule_type_text(g, t), axis, tn_rule_type_text(g, result))
               : TN_OK;
}

void tn_rule_require_elements(tn_te *te, const tn_tensor *in, int axis, const tn_tensor *out)
{
    tn_pool *p = te->pool;
    const tn_expr *some = tn_le(p, tn_idx(p, 1), in->dim[axis]);
    for (int i = 0; i < out->ndim; i++)
        some = tn_bin(p, TN_E_OR, some, tn_eq(p, out->dim[i], tn_idx(p, 0)));
    tn_te_require(te, some,
                  tn_intern(te->func->ctx, tn_arena_printf(te->arena,
                                                           "dimension %d of an operand has no elements, but "
                                                           "the result, which is made of them, has some",
                                                           axis)));
}

tn_status tn_rule_axis(tn_graph *g, const tn_node *n, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return tn_rule_fail(g, n, "op-E007", "axis %lld is outside [%d, %d) for %s", (long long)axis, -rank,
                            rank, tn_rule_type_text(g, tn_in_type(n, 0)));
    *out = (int)(axis < 0 ? axis + rank : axis);
    return TN_OK;
}

tn_status tn_rule_axes(tn_graph *g, const tn_node *n, tn_ints axes, int rank, bool out[TN_RULE_MAX_RANK])
{
    memset(out, 0, TN_RULE_MAX_RANK * sizeof *out);
    for (uint32_t i = 0; i < axes.n; i++) {
        int a = 0;
        TN_TRY(tn_rule_axis(g, n, axes.at[i], rank, &a));
        if (out[a])
            return tn_rule_fail(g, n, "op-E007", "axis %d appears twice in the list of axes", a);
        out[a] = true;
    }
    return TN_OK;
}

/* ---- shape arithmetic ---- */

static bool divides(const tn_expr *e)
{
    return e->kind == TN_E_FLOORDIV || e->kind == TN_E_FLOORMOD || e->kind == TN_E_TRUNCDIV ||
           e->kind == TN_E_TRUNCMOD;
}

bool tn_rule_pair_value(tn_graph *g, const tn_node *n, const tn_dims in[], const tn_expr *value,
                        const tn_expr *const operand[2], tn_dims *out)
{
    uint32_t count = in[0].n > in[1].n ? in[0].n : in[1].n;
    if (!tn_dtype_is_int(tn_in_type(n, 0)->dtype) || !in[0].at || !in[1].at ||
        (in[0].n != count && in[0].n != 1) || (in[1].n != count && in[1].n != 1))
        return false;
    const tn_expr **v = TN_NEW_N(g->arena, const tn_expr *, count);
    for (uint32_t i = 0; i < count; i++) {
        const tn_expr *e[] = {in[0].at[in[0].n == 1 ? 0 : i], in[1].at[in[1].n == 1 ? 0 : i]};
        if (divides(value) && tn_prove(g->pool, NULL, tn_lt(g->pool, tn_idx(g->pool, 0), e[1])) != 1)
            return false;
        v[i] = tn_simplify_extent(g, tn_subst(g->pool, value, 2, operand, e));
    }
    *out = (tn_dims){count, v};
    return true;
}

/* ---- attributes ---- */

void tn_rule_set_attr(tn_graph *g, tn_node *n, const void *attr)
{
    if (!n->attr || !tn_attr_eq(n->op->attr, n->attr, attr))
        n->attr = tn_arena_copy(g->arena, attr, n->op->attr_size, 16);
}

static tn_status check_range(tn_graph *g, const tn_node *n, const char *name, tn_ints at, int64_t min)
{
    for (uint32_t i = 0; i < at.n; i++)
        if (at.at[i] < min || at.at[i] > INT32_MAX)
            return tn_rule_fail(g, n, "op-E007", "%s[%u] is %lld, but must be in [%lld, 2^31)", name,
                                (unsigned)i, (long long)at.at[i], (long long)min);
    return TN_OK;
}

tn_status tn_rule_ints(tn_graph *g, const tn_node *n, const char *name, tn_ints *at, uint32_t count,
                       int64_t min, int64_t def)
{
    int64_t all[TN_RULE_MAX_RANK];
    TN_ASSERT(count <= TN_RULE_MAX_RANK);
    TN_TRY(check_range(g, n, name, *at, min));
    if (at->n == count)
        return TN_OK;
    if (at->n > 1)
        return tn_rule_fail(g, n, "op-E007", "%s has %u values; %u are expected", name, (unsigned)at->n,
                            (unsigned)count);
    for (uint32_t i = 0; i < count; i++)
        all[i] = at->n ? at->at[0] : def;
    *at = tn_ints_make(g->arena, count, all);
    return TN_OK;
}

tn_status tn_rule_padding(tn_graph *g, const tn_node *n, tn_dims *at, uint32_t dims)
{
    const tn_expr *all[2 * TN_RULE_MAX_RANK];
    TN_ASSERT(dims <= TN_RULE_MAX_RANK);
    if (at->n > 1 && at->n != dims && at->n != 2 * dims)
        return tn_rule_fail(
            g, n, "op-E007",
            "padding has %u values; 1, %u (each dimension) or %u (before, then after) are expected",
            (unsigned)at->n, (unsigned)dims, (unsigned)(2 * dims));
    for (uint32_t i = 0; i < 2 * dims; i++) {
        int64_t v;
        all[i] = at->n == 0 ? tn_idx(g->pool, 0) : tn_simplify_extent(g, at->at[i % at->n]);
        if (tn_is_int(all[i], &v) && (v < 0 || v > INT32_MAX))
            return tn_rule_fail(g, n, "op-E007", "padding[%u] is %lld, but must be in [0, 2^31)", (unsigned)i,
                                (long long)v);
    }
    *at = tn_dims_make(g->arena, 2 * dims, all);
    return TN_OK;
}

tn_status tn_rule_steps(tn_graph *g, const tn_node *n, tn_ints *strides, tn_ints *dilation, tn_dims *padding,
                        uint32_t dims)
{
    TN_TRY(tn_rule_ints(g, n, "strides", strides, dims, 1, 1));
    TN_TRY(tn_rule_ints(g, n, "dilation", dilation, dims, 1, 1));
    return tn_rule_padding(g, n, padding, dims);
}

tn_status tn_rule_groups(tn_graph *g, const tn_node *n, const char *name, int64_t groups)
{
    return groups >= 1 && groups <= INT32_MAX
               ? TN_OK
               : tn_rule_fail(g, n, "op-E007", "%s is %lld, but must be in [1, 2^31)", name,
                              (long long)groups);
}

tn_status tn_rule_layout_is(tn_graph *g, const tn_node *n, const char *name, const char *given,
                            const char *want, const char *what)
{
    return !given || !given[0] || strcmp(given, want) == 0
               ? TN_OK
               : tn_rule_fail(g, n, "op-E010", "%s \"%s\" is not supported, only \"%s\"; transpose the %s",
                              name, given, want, what);
}

const char *tn_rule_channels_first(int dims)
{
    return dims == 1 ? "NCW" : dims == 2 ? "NCHW" : dims == 3 ? "NCDHW" : "";
}
