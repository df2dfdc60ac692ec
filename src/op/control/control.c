/* Control flow: `if` with two regions, `fail`, extents that are known only during the run, tensors of any extent.
 *
 * The branches of an `if` take no parameters: they use outer values. Results must agree in dtype and rank; where
 * extents differ the result has a symbol, which the branch that runs binds. These symbols are kept in the attribute
 * `join`, so that inference gives the same ones again. A branch that ends in `fail` yields nothing.
 */
#include "op/rule.h"

#include "op/control/control.h"

#include <stdio.h>
#include <string.h>

enum { MAX_EXTENTS = 64 };

const tn_expr *tn_fresh_symbol(tn_graph *g, const char *prefix, int64_t min, int64_t max)
{
    char name[32];
    uint64_t k = 0;
    prefix = tn_intern(g->ctx, prefix); /* the map does not copy it */
    (void)tn_strmap_get(&g->fresh, prefix, strlen(prefix), &k);
    do
        snprintf(name, sizeof name, "%.16s%u", prefix, (unsigned)k++);
    while (tn_graph_find_symbol(g, name)); /* a model may have a name of this form */
    tn_strmap_put(&g->fresh, prefix, strlen(prefix), k);
    tn_symbol_info *s = tn_graph_symbol(g, name);
    s->min = min;
    s->max = max;
    return tn_sym(g->pool, s->name);
}

bool tn_region_fails(const tn_region *r)
{
    return r->n_result == 1 && r->result[0].def && r->result[0].def->op == &tn_op_fail;
}

/* ---- if ---- */

static const tn_type *result_type(const tn_region *r, uint32_t k)
{
    return tn_value_type((tn_value){r->result[k].def, r->result[k].out});
}

static tn_status check_condition(tn_graph *g, const tn_node *n)
{
    const tn_type *c = tn_in_type(n, 0);
    if (c->kind == TN_T_TENSOR && c->n == 0 && tn_dtype_is_bool(c->dtype))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E018", "the condition must be one bool, but is %s",
                        tn_rule_type_text(g, c));
}

/* Is a result one whose extents the `if` knows? Else it is a handle. */
static bool is_tensor(const tn_type *t) { return t->kind == TN_T_TENSOR && !tn_type_is_handle(t); }

static tn_status check_agree(tn_graph *g, const tn_node *n, uint32_t k, const tn_type *a, const tn_type *b)
{
    if (tn_type_join(g->pool, a, b))
        return TN_OK;
    return tn_rule_fail(g, n, "op-E019",
                        "result %u is %s if the condition holds, else %s, but both must have the same type",
                        (unsigned)k, tn_rule_type_text(g, a), tn_rule_type_text(g, b));
}

/* The extent of a result that is a or b. */
static const tn_expr *join_dim(tn_graph *g, const tn_expr *a, const tn_expr *b)
{
    int64_t x, y;
    if (tn_rule_dim_eq(g, a, b))
        return a;
    if (!tn_is_int(a, &x) || !tn_is_int(b, &y))
        return tn_fresh_symbol(g, "j", 0, INT32_MAX);
    return tn_fresh_symbol(g, "j", x < y ? x : y, x < y ? y : x);
}

/* A result one of whose branches yields a handle, or whose rank differs: any extent where they differ. */
static const tn_type *join_handles(tn_graph *g, const tn_type *a, const tn_type *b)
{
    if (a->kind != TN_T_TENSOR || b->kind != TN_T_TENSOR || a->n != b->n)
        return tn_type_join(g->pool, a, b);
    const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, a->n);
    for (int d = 0; d < a->n; d++)
        dim[d] = tn_rule_dim_eq(g, a->dim[d], b->dim[d]) ? a->dim[d] : tn_any_dim(g->pool);
    return tn_type_tensor(g->pool, a->dtype, a->n, dim, NULL);
}

/* Types of the results where both branches yield some. join: dims of all tensors one after the other; from the
 * attribute if it has any, else new, and then *out_differs tells whether a symbol was needed. */
static tn_status join_types(tn_graph *g, tn_node *n, tn_dims had, const tn_expr **join, uint32_t *out_n,
                            bool *out_differs)
{
    const tn_region *a = n->region[0], *b = n->region[1];
    uint32_t at = 0;
    for (uint32_t k = 0; k < n->nout; k++) {
        const tn_type *x = result_type(a, k), *y = result_type(b, k);
        TN_TRY(check_agree(g, n, k, x, y));
        if (!is_tensor(x) || !is_tensor(y) || x->n != y->n) {
            n->type[k] = join_handles(g, x, y);
            continue;
        }
        const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, x->n);
        for (int d = 0; d < x->n; d++, at++) {
            dim[d] = at < had.n ? had.at[at] : join_dim(g, x->dim[d], y->dim[d]);
            *out_differs |= dim[d] != x->dim[d] && !tn_rule_dim_eq(g, dim[d], x->dim[d]);
            *out_differs |= dim[d] != y->dim[d] && !tn_rule_dim_eq(g, dim[d], y->dim[d]);
            join[at] = dim[d];
        }
        n->type[k] = tn_type_tensor(g->pool, x->dtype, x->n, dim, NULL);
    }
    *out_n = at;
    return TN_OK;
}

static tn_status one_branch(tn_graph *g, tn_node *n, const tn_region *r)
{
    if (r->n_result != n->nout)
        return tn_rule_fail(g, n, "op-E019", "the branch has %u results, but %u are used",
                            (unsigned)r->n_result, (unsigned)n->nout);
    for (uint32_t k = 0; k < n->nout; k++)
        n->type[k] = result_type(r, k);
    return TN_OK;
}

static tn_status if_infer(tn_graph *g, tn_node *n)
{
    const tn_if_attr *a = n->attr;
    TN_ASSERT(n->nregion == 2);
    TN_TRY(check_condition(g, n));
    bool no_then = tn_region_fails(n->region[0]), no_else = tn_region_fails(n->region[1]);
    if (no_then || no_else)
        return one_branch(g, n, n->region[no_then && !no_else]);
    if (n->region[0]->n_result != n->nout || n->region[1]->n_result != n->nout)
        return tn_rule_fail(g, n, "op-E019",
                            "the branches have %u and %u results, but must have the same number",
                            (unsigned)n->region[0]->n_result, (unsigned)n->region[1]->n_result);
    uint32_t n_join = 0;
    for (uint32_t k = 0; k < n->nout; k++) /* at most */
        n_join += result_type(n->region[0], k)->n;
    const tn_expr **join = TN_NEW_N(g->arena, const tn_expr *, n_join);
    bool differs = false;
    TN_TRY(join_types(g, n, a->join, join, &n_join, &differs));
    if (a->join.n ? a->join.n != n_join : differs) {
        if (a->join.n)
            return tn_rule_fail(g, n, "op-E007", "join has %u entries, but the results have %u dimensions",
                                (unsigned)a->join.n, (unsigned)n_join);
        tn_if_attr made = {{n_join, join}};
        tn_rule_set_attr(g, n, &made);
    }
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field if_fields[] = TN_ATTR_TABLE(tn_if_attr, TN_IF_ATTRS);

const tn_op tn_op_if = {
    .name = "if", .doc = "The results of its first region where the condition holds, else of its second.",
    .attr_size = sizeof(tn_if_attr), .attr = if_fields,
    .nin = 1, .min_in = 1, .nout = -1, .flags = TN_OP_BINDS, .nregion = 2, .fuse = TN_FUSE_NONE,
    .infer = if_infer,
};
/* clang-format on */

/* ---- loop: at most operand 0 iterations, as long as a condition holds (operand 1, then the body's first result). The
 * body takes the number of the iteration and the carried values; its other results are these again, and values that are
 * collected along a new first dimension. ---- */

static tn_status loop_carried(tn_graph *g, tn_node *n, const tn_region *r)
{
    for (uint32_t k = 1; k < r->n_param; k++) {
        const tn_type *t = r->param[k]->type[0], *from = tn_in_type(n, (int)k + 1), *to = result_type(r, k);
        if (!from || !to || !tn_type_fits(t, from) || !tn_type_fits(t, to))
            return tn_rule_fail(g, n, "op-E020",
                                "carried value %u starts as %s and becomes %s, but its parameter is %s; an "
                                "extent that changes is written ?, and nothing else can change",
                                (unsigned)k - 1, from ? tn_rule_type_text(g, from) : "None",
                                to ? tn_rule_type_text(g, to) : "None", tn_rule_type_text(g, t));
        n->type[k - 1] = t;
    }
    return TN_OK;
}

/* Does an if give a result an extent of its own that e mentions? */
static bool joins(const tn_node *n, const tn_expr *e)
{
    for (uint32_t k = 0; k < n->nout; k++) {
        const tn_type *t = n->type[k];
        for (int i = 0; i < 2; i++) {
            const tn_type *b = tn_region_fails(n->region[i]) ? t : result_type(n->region[i], k);
            for (int d = 0; t && is_tensor(t) && d < t->n; d++)
                if (t->dim[d]->kind == TN_E_SYM && t->dim[d] != b->dim[d] && tn_uses(e, t->dim[d]))
                    return true;
        }
    }
    return false;
}

/* Depth: that of regions, bounded by the readers. */
bool tn_region_binds(const tn_region *r, const tn_expr *e)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        for (int i = 0; i < n->nregion; i++)
            if (tn_region_binds(n->region[i], e))
                return true;
        if (n->op == &tn_op_if && joins(n, e))
            return true;
        bool own = (n->op->flags & TN_OP_BINDS) && n->op != &tn_op_if;
        for (const tn_attr_field *f = own ? n->op->attr : NULL; f && f->name; f++) {
            const tn_dims *d = (const tn_dims *)(const void *)((const char *)n->attr + f->offset);
            for (uint32_t i = 0; f->kind == TN_A_DIMS && i < d->n; i++)
                if (d->at[i]->kind == TN_E_SYM && tn_uses(e, d->at[i]))
                    return true;
        }
    }
    return false;
}

/* What is collected: a dimension for the iterations, then those of the rows. Symbols for those that are not known
 * outside. */
static tn_status loop_name_rows(tn_graph *g, tn_node *n, uint32_t n_dim)
{
    const tn_region *r = n->region[0];
    const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, n_dim),
                  *count = tn_fresh_symbol(g, "u", 0, INT32_MAX);
    uint32_t at = 0;
    for (uint32_t k = r->n_param; k < r->n_result; k++) {
        const tn_type *t = result_type(r, k);
        dim[at++] = count;
        for (int d = 0; d < t->n; d++) {
            bool inside =
                tn_dim_is_any(t->dim[d]) || (t->dim[d]->kind != TN_E_INT && tn_region_binds(r, t->dim[d]));
            dim[at++] = inside ? tn_fresh_symbol(g, "u", 0, INT32_MAX) : t->dim[d];
        }
    }
    tn_loop_attr made = {{n_dim, dim}};
    tn_rule_set_attr(g, n, &made);
    return TN_OK;
}

static tn_status loop_collected(tn_graph *g, tn_node *n, const tn_region *r)
{
    uint32_t n_dim = 0, at = 0;
    for (uint32_t k = r->n_param; k < r->n_result; k++) {
        const tn_type *t = result_type(r, k);
        if (t->kind != TN_T_TENSOR || t->n >= TN_RULE_MAX_RANK)
            return tn_rule_fail(g, n, "op-E003", "a collected value has too many dimensions: %s",
                                tn_rule_type_text(g, t));
        n_dim += t->n + 1u;
    }
    if (n_dim && !((const tn_loop_attr *)n->attr)->collect.n)
        TN_TRY(loop_name_rows(g, n, n_dim));
    tn_dims dims = ((const tn_loop_attr *)n->attr)->collect;
    if (dims.n != n_dim)
        return tn_rule_fail(g, n, "op-E007",
                            "collect has %u entries, but what is collected has %u dimensions",
                            (unsigned)dims.n, (unsigned)n_dim);
    for (uint32_t k = r->n_param; k < r->n_result; k++) {
        const tn_type *t = result_type(r, k);
        const tn_expr *const *dim = dims.at + at;
        bool fits = tn_rule_dim_eq(g, dim[0], dims.at[0]);
        for (int d = 0; d < t->n; d++)
            fits = fits &&
                   (dim[d + 1] == t->dim[d] || dim[d + 1]->kind != TN_E_INT || t->dim[d]->kind != TN_E_INT);
        if (!fits)
            return tn_rule_fail(g, n, "op-E020",
                                "collected value %u is %s, which its extents in collect do not fit",
                                (unsigned)(k - r->n_param), tn_rule_type_text(g, t));
        TN_TRY(tn_rule_result(g, n, (int)k - 1, t->dtype, t->n + 1, dim));
        at += t->n + 1u;
    }
    return TN_OK;
}

static tn_status loop_infer(tn_graph *g, tn_node *n)
{
    const tn_region *r = n->region[0];
    const tn_type *trip, *go;
    TN_TRY(tn_rule_tensor(g, n, 0, 0, &trip));
    TN_TRY(tn_rule_tensor(g, n, 1, 0, &go));
    const tn_type *next = r->n_result ? result_type(r, 0) : NULL;
    bool flags = tn_dtype_is_bool(go->dtype) && next && next->kind == TN_T_TENSOR && next->n == 0 &&
                 tn_dtype_is_bool(next->dtype);
    if (!flags || !tn_dtype_eq(trip->dtype, TN_I64) || r->n_param != (uint32_t)n->nin - 1 ||
        r->n_result != n->nout + 1u || r->n_result < r->n_param)
        return tn_rule_fail(g, n, "op-E020", "its operands do not match its body");
    TN_TRY(loop_carried(g, n, r));
    return loop_collected(g, n, r);
}

/* clang-format off */
static const tn_attr_field loop_fields[] = TN_ATTR_TABLE(tn_loop_attr, TN_LOOP_ATTRS);

const tn_op tn_op_loop = {
    .name = "loop", .doc = "Its body again and again, on values that it carries from one iteration to the next.",
    .attr_size = sizeof(tn_loop_attr), .attr = loop_fields,
    .nin = -1, .min_in = 2, .nout = -1, .flags = TN_OP_BINDS, .nregion = 1, .fuse = TN_FUSE_NONE,
    .infer = loop_infer,
};
/* clang-format on */

/* ---- fail ---- */

static tn_status fail_infer(tn_graph *g, tn_node *n)
{
    n->type[0] = tn_type_tuple(g->pool, 0, NULL);
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field fail_fields[] = TN_ATTR_TABLE(tn_fail_attr, TN_FAIL_ATTRS);

const tn_op tn_op_fail = {
    .name = "fail", .doc = "Ends the run with a message; the only result of a branch that cannot run.",
    .attr_size = sizeof(tn_fail_attr), .attr = fail_fields,
    .nin = 0, .nout = 1, .flags = TN_OP_EFFECT, .fuse = TN_FUSE_NONE, .infer = fail_infer,
};
/* clang-format on */

/* ---- bind_extent ---- */

static tn_status bind_extent_infer(tn_graph *g, tn_node *n)
{
    const tn_bind_extent_attr *a = n->attr;
    const tn_type *t;
    int64_t count;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    const tn_expr *e = tn_type_count(g->pool, t);
    if (!tn_dtype_is_int(t->dtype) || t->n > 1 || !e || !tn_is_int(e, &count) || count > MAX_EXTENTS)
        return tn_rule_fail(g, n, "op-E011",
                            "the operand must be a list of integers of known length, but is %s",
                            tn_rule_type_text(g, t));
    if (a->extent.n && a->extent.n != (uint64_t)count)
        return tn_rule_fail(g, n, "op-E007", "extent has %u entries, but the operand has %lld elements",
                            (unsigned)a->extent.n, (long long)count);
    n->type[0] = t;
    if (a->extent.n)
        return TN_OK;
    const tn_expr **made = TN_NEW_N(g->arena, const tn_expr *, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        made[i] = tn_fresh_symbol(g, "u", 0, INT32_MAX);
    tn_bind_extent_attr named = {{(uint32_t)count, made}, a->says};
    tn_rule_set_attr(g, n, &named);
    return TN_OK;
}

static bool bind_extent_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    (void)g;
    (void)in;
    out[0] = ((const tn_bind_extent_attr *)n->attr)->extent;
    return out[0].n > 0;
}

/* clang-format off */
static const tn_attr_field bind_extent_fields[] = TN_ATTR_TABLE(tn_bind_extent_attr, TN_BIND_EXTENT_ATTRS);

const tn_op tn_op_bind_extent = {
    .name = "bind_extent", .doc = "Its operand; from here on symbols stand for the elements.",
    .attr_size = sizeof(tn_bind_extent_attr), .attr = bind_extent_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_EFFECT | TN_OP_BINDS, .fuse = TN_FUSE_NONE,
    .infer = bind_extent_infer, .shape_value = bind_extent_value,
};
/* clang-format on */

/* ---- match_shape ---- */

static tn_status match_shape_infer(tn_graph *g, tn_node *n)
{
    const tn_match_shape_attr *a = n->attr;
    const tn_type *t;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->extents.n != t->n)
        return tn_rule_fail(g, n, "op-E007", "extents has %u entries, but the operand is %s",
                            (unsigned)a->extents.n, tn_rule_type_text(g, t));
    for (int d = 0; d < t->n; d++)
        if (tn_is_value(tn_simplify_extent(g, tn_eq(g->pool, t->dim[d], a->extents.at[d])), 0))
            return tn_rule_fail(g, n, "op-E060", "dimension %d of %s can never be %s", d,
                                tn_rule_type_text(g, t), tn_rule_dim_text(g, a->extents.at[d]));
    return tn_rule_result(g, n, 0, t->dtype, t->n, a->extents.at);
}

/* clang-format off */
static const tn_attr_field match_shape_fields[] = TN_ATTR_TABLE(tn_match_shape_attr, TN_MATCH_SHAPE_ATTRS);

const tn_op tn_op_match_shape = {
    .name = "match_shape", .doc = "Its operand, whose extents must be as given; the run checks that.",
    .attr_size = sizeof(tn_match_shape_attr), .attr = match_shape_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = match_shape_infer,
};
/* clang-format on */

/* ---- unbox: a tensor of any extent as one whose extents have names ---- */

static tn_status unbox_infer(tn_graph *g, tn_node *n)
{
    const tn_unbox_attr *a = n->attr;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    const tn_type *t = tn_in_type(n, 0);
    int64_t extent;
    for (uint32_t i = 0; i < a->extent.n; i++)
        if (tn_is_int(a->extent.at[i], &extent) && extent < 0)
            return tn_rule_fail(g, n, "op-E007", "extent has %lld, but must be at least 0",
                                (long long)extent);
    if (t->kind == TN_T_ANY && a->extent.at) {
        n->type[0] = tn_type_tensor(g->pool, t->dtype, (int)a->extent.n, a->extent.at, NULL);
        return a->extent.n <= TN_RULE_MAX_RANK
                   ? TN_OK
                   : tn_rule_fail(g, n, "op-E003", "at most %d dimensions are supported", TN_RULE_MAX_RANK);
    }
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &t));
    if (a->extent.n && a->extent.n != t->n)
        return tn_rule_fail(g, n, "op-E007", "extent has %u entries, but the operand has %d dimensions",
                            (unsigned)a->extent.n, (int)t->n);
    for (int d = 0; d < t->n; d++)
        dim[d] = a->extent.n                ? a->extent.at[d]
                 : tn_dim_is_any(t->dim[d]) ? tn_fresh_symbol(g, "u", 0, INT32_MAX)
                                            : t->dim[d];
    n->type[0] = tn_type_tensor(g->pool, t->dtype, t->n, dim, NULL);
    if (!a->extent.n && t->n) {
        tn_unbox_attr made = {tn_dims_make(g->arena, t->n, dim)};
        tn_rule_set_attr(g, n, &made);
    }
    return TN_OK;
}

/* clang-format off */
static const tn_attr_field unbox_fields[] = TN_ATTR_TABLE(tn_unbox_attr, TN_UNBOX_ATTRS);

const tn_op tn_op_unbox = {
    .name = "unbox", .doc = "Its operand, a tensor of any extent; from here on symbols stand for the extents.",
    .attr_size = sizeof(tn_unbox_attr), .attr = unbox_fields,
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_BINDS, .fuse = TN_FUSE_NONE, .infer = unbox_infer,
};
/* clang-format on */

tn_value tn_unboxed(tn_graph *g, tn_value v)
{
    const tn_type *t = tn_value_type(v);
    if (!t || t->kind != TN_T_TENSOR || !tn_type_is_handle(t) || tn_dtype_is_string(t->dtype))
        return v;
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next)
        if (u->user && u->user->op == &tn_op_unbox && u->user->owner == v.def->owner)
            return tn_val(u->user);
    tn_node *at = v.def->next;
    while (at && v.def->op == &tn_op_var && at->op == &tn_op_var)
        at = at->next;
    return tn_val(tn_make_call(g, v.def->owner, at, &tn_op_unbox, 1, &v, NULL, v.def->loc));
}

/* ---- references ---- */

/* A type that somebody has said stays: other values that fit it may be written. */
static tn_status ref_infer(tn_graph *g, tn_node *n)
{
    const tn_type *said = n->type[0], *holds = tn_type_unbound(g->pool, tn_in_type(n, 0));
    if (!said || said->kind != TN_T_REF || !tn_type_fits(said->field[0], holds))
        n->type[0] = tn_type_ref(g->pool, holds);
    return TN_OK;
}

bool tn_ref_take(tn_graph *g, tn_node *n, const tn_type *t)
{
    bool takes = tn_op_is(n, &tn_op_ref) && t && t->kind == TN_T_REF &&
                 tn_type_fits(t->field[0], tn_type_unbound(g->pool, tn_in_type(n, 0)));
    if (takes)
        n->type[0] = tn_type_unbound(g->pool, t);
    return takes;
}

bool tn_ref_is_wider(tn_pool *p, const tn_node *n)
{
    return tn_op_is(n, &tn_op_ref) && n->type[0] &&
           !tn_type_eq_logical(n->type[0]->field[0], tn_type_unbound(p, tn_in_type(n, 0)));
}

static tn_status check_ref(tn_graph *g, const tn_node *n)
{
    const tn_type *t = tn_in_type(n, 0);
    return t->kind == TN_T_REF ? TN_OK
                               : tn_rule_fail(g, n, "op-E050", "the operand must be a reference, but is %s",
                                              tn_rule_type_text(g, t));
}

static tn_status ref_read_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(check_ref(g, n));
    n->type[0] = tn_in_type(n, 0)->field[0];
    return TN_OK;
}

static tn_status ref_write_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(check_ref(g, n));
    if (!tn_type_fits(tn_in_type(n, 0)->field[0], tn_in_type(n, 1)))
        return tn_rule_fail(g, n, "op-E051", "%s is written to %s", tn_rule_type_text(g, tn_in_type(n, 1)),
                            tn_rule_type_text(g, tn_in_type(n, 0)));
    n->type[0] = tn_type_tuple(g->pool, 0, NULL);
    return TN_OK;
}

/* clang-format off */
const tn_op tn_op_ref = {
    .name = "ref", .doc = "A new reference, which holds its operand.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = ref_infer,
};

const tn_op tn_op_ref_read = {
    .name = "ref_read", .doc = "What a reference holds.",
    .nin = 1, .min_in = 1, .nout = 1, .flags = TN_OP_EFFECT, .fuse = TN_FUSE_NONE, .infer = ref_read_infer,
};

const tn_op tn_op_ref_write = {
    .name = "ref_write", .doc = "Makes a reference hold its second operand; the result is ().",
    .nin = 2, .min_in = 2, .nout = 1, .flags = TN_OP_EFFECT, .fuse = TN_FUSE_NONE, .infer = ref_write_infer,
};
/* clang-format on */
