/* Reverse-mode automatic differentiation of the nodes of a region.
 *
 * Forward, values that depend on an x are marked. Backward from y, each node's rule makes of the gradients of its
 * results those of its marked operands; what several readers contribute to a value is added up. A rule is the record's
 * `gradient`; without one, the derivative of its formula, or what follows from its expansion, which is made once more
 * behind the nodes that are there (later passes merge what is equal). The work is linear in the nodes on the way. */
#include "op/gradient.h"

#include "op/rule.h"
#include "op/tensor/tensor.h"

typedef struct walk {
    tn_graph *g;
    tn_region *r;
    tn_map marked; /* value -> is it an x? */
    tn_map of;     /* value -> its gradient: the node; results of rules are all output 0 */
} walk;

static uint64_t key(tn_value v) { return (uint64_t)v.def->id << 16 | v.out; }

static bool is_marked(const walk *w, tn_value v)
{
    uint64_t x;
    return v.def && tn_map_get(&w->marked, key(v), &x);
}

static bool is_x(const walk *w, tn_value v)
{
    uint64_t x = 0;
    return tn_map_get(&w->marked, key(v), &x) && x;
}

static bool is_float(const tn_type *t)
{
    return t && t->kind == TN_T_TENSOR && tn_dtype_is_float(t->dtype) && !tn_dtype_is_minifloat(t->dtype);
}

static tn_value gradient_at(const walk *w, tn_value v)
{
    uint64_t n = 0;
    return tn_map_get(&w->of, key(v), &n) ? tn_val((tn_node *)(uintptr_t)n) : (tn_value){0};
}

/* Does n, or a node of its regions, read a marked value? */
static bool reads_marked(const walk *w, const tn_node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (is_marked(w, tn_in(n, i)))
            return true;
    for (int k = 0; k < n->nregion; k++) {
        const tn_region *r = n->region[k];
        for (const tn_node *in = r->first; in; in = in->next)
            if (reads_marked(w, in))
                return true;
        for (uint32_t i = 0; i < r->n_result; i++)
            if (is_marked(w, (tn_value){r->result[i].def, r->result[i].out}))
                return true;
    }
    return false;
}

static void mark(walk *w, tn_node *first, const tn_node *end)
{
    for (tn_node *n = first; n != end; n = n->next)
        for (uint32_t k = 0; k < n->nout && reads_marked(w, n); k++)
            if (!is_marked(w, (tn_value){n, k}))
                tn_map_put(&w->marked, key((tn_value){n, k}), false);
}

static tn_status add(walk *w, tn_value to, tn_value more, const tn_loc *loc)
{
    tn_value had = gradient_at(w, to);
    if (had.def) {
        const tn_value in[2] = {had, more};
        more = tn_val(tn_make_call(w->g, w->r, NULL, &tn_op_add, 2, in, NULL, loc));
        if (!more.def)
            return TN_FAIL;
    }
    tn_map_put(&w->of, key(to), tn_map_key(more.def));
    return TN_OK;
}

tn_status tn_gradient_refuse(tn_gradient *q, const char *why)
{
    q->failed = true;
    return tn_rule_fail(q->g, q->node, "op-E065", "its gradient is not supported%s%s", *why ? ": " : "", why);
}

static tn_status back(walk *w, tn_node *last, const tn_node *before);

/* The expansion of the node, behind all nodes. */
static tn_status through_expansion(walk *w, const tn_gradient *q)
{
    const tn_node *n = q->node;
    tn_value *in = TN_NEW_N(w->g->arena, tn_value, n->nin), *out = TN_NEW_N(w->g->arena, tn_value, n->nout);
    for (int i = 0; i < n->nin; i++)
        in[i] = tn_in(n, i);
    tn_node *start = w->r->last, *copy = tn_make_call(w->g, w->r, NULL, n->op, n->nin, in, n->attr, n->loc);
    if (!copy)
        return TN_FAIL;
    TN_TRY(n->op->expand(w->g, copy, out));
    tn_node *last = copy->prev;
    tn_node_remove(w->g, copy);
    mark(w, start->next, NULL);
    for (uint32_t k = 0; k < n->nout; k++)
        if (q->of[k].def && is_marked(w, out[k]))
            TN_TRY(add(w, out[k], q->of[k], n->loc));
    return last == start ? TN_OK : back(w, last, start);
}

static tn_status through(walk *w, const tn_node *n)
{
    tn_value *of = TN_NEW_N(w->g->arena, tn_value, n->nout), *in = TN_NEW_N(w->g->arena, tn_value, n->nin);
    bool *wanted = TN_NEW_N(w->g->arena, bool, n->nin), reached = false;
    for (uint32_t k = 0; k < n->nout; k++)
        if (!is_x(w, (tn_value){(tn_node *)n, k})) {
            of[k] = gradient_at(w, (tn_value){(tn_node *)n, k});
            reached = reached || of[k].def;
        }
    if (!reached)
        return TN_OK;
    for (int i = 0; i < n->nin; i++)
        wanted[i] = is_marked(w, tn_in(n, i)) && is_float(tn_in_type(n, i));
    tn_gradient q = {w->g, n, w->r, of, wanted, in, false};
    if (n->op->gradient)
        TN_TRY(n->op->gradient(&q));
    else if (n->op->formula)
        TN_TRY(tn_gradient_of_elements(&q, NULL));
    else if (n->op->expand)
        return through_expansion(w, &q);
    else
        return tn_gradient_refuse(&q, "");
    for (int i = 0; i < n->nin && !q.failed; i++)
        if (wanted[i] && in[i].def)
            TN_TRY(add(w, tn_in(n, i), in[i], n->loc));
    return q.failed ? TN_FAIL : TN_OK;
}

/* From `last` to the node behind `before`. */
static tn_status back(walk *w, tn_node *last, const tn_node *before)
{
    for (tn_node *n = last; n != before; n = n->prev)
        if (reads_marked(w, n))
            TN_TRY(through(w, n));
    return TN_OK;
}

static tn_status check_float(tn_graph *g, tn_value v, const char *what)
{
    if (is_float(tn_value_type(v)))
        return TN_OK;
    return tn_error(g->ctx, "op-E066", v.def->loc, "%s of a gradient is %s, but must be a tensor of floats",
                    what, tn_rule_type_text(g, tn_value_type(v)));
}

tn_status tn_gradient_of(tn_graph *g, tn_region *r, tn_value y, int n, const tn_value x[], tn_value out[])
{
    walk w = {.g = g, .r = r};
    tn_gradient at = {.g = g, .node = y.def, .r = r};
    tn_status st = check_float(g, y, "the result");
    for (int i = 0; i < n && st == TN_OK; i++) {
        st = check_float(g, x[i], "an operand");
        tn_map_put(&w.marked, key(x[i]), true);
    }
    tn_node *last = r->last;
    if (st == TN_OK) {
        mark(&w, r->first, NULL);
        st = add(&w, y, tn_gradient_filled(&at, tn_value_type(y), 1), y.def->loc);
    }
    if (st == TN_OK && !is_x(&w, y))
        st = back(&w, last, NULL);
    for (int i = 0; i < n && st == TN_OK; i++) {
        out[i] = gradient_at(&w, x[i]);
        if (!out[i].def)
            out[i] = tn_gradient_filled(&at, tn_value_type(x[i]), 0);
        st = out[i].def ? TN_OK : TN_FAIL;
    }
    tn_map_deinit(&w.marked);
    tn_map_deinit(&w.of);
    return st;
}

/* ---- what rules are written with ---- */

tn_value tn_gradient_call(tn_gradient *q, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    for (int i = 0; i < n; i++)
        q->failed = q->failed || !in[i].def;
    tn_node *made = q->failed ? NULL : tn_make_call(q->g, q->r, NULL, op, n, in, attr, q->node->loc);
    q->failed = !made;
    return tn_val(made);
}

tn_value tn_gradient_call1(tn_gradient *q, const tn_op *op, const void *attr, tn_value a)
{
    return tn_gradient_call(q, op, attr, 1, &a);
}

tn_value tn_gradient_call2(tn_gradient *q, const tn_op *op, const void *attr, tn_value a, tn_value b)
{
    return tn_gradient_call(q, op, attr, 2, (const tn_value[]){a, b});
}

tn_value tn_gradient_filled(tn_gradient *q, const tn_type *t, double v)
{
    tn_value one = tn_val(tn_make_scalar(q->g, q->r, NULL, t->dtype, v));
    tn_broadcast_to_attr a = {{t->n, t->dim}};
    return t->n ? tn_gradient_call1(q, &tn_op_broadcast_to, &a, one) : one;
}

tn_value tn_gradient_reshaped(tn_gradient *q, tn_value v, const tn_type *t)
{
    tn_reshape_attr a = {{t->n, t->dim}, true};
    return v.def && tn_type_eq_logical(tn_value_type(v), t) ? v : tn_gradient_call1(q, &tn_op_reshape, &a, v);
}

tn_value tn_gradient_gathered(tn_gradient *q, tn_value v, const tn_type *t)
{
    const tn_type *from = tn_value_type(v);
    int64_t axis[TN_RULE_MAX_RANK] = {0};
    uint32_t n = 0;
    if (!v.def)
        return v;
    int lead = from->n - t->n;
    for (int d = 0; d < from->n; d++) {
        bool one = d >= lead && tn_is_value(t->dim[d - lead], 1);
        if (d < lead || (one && !tn_is_value(from->dim[d], 1))) {
            axis[n++] = d;
        } else if (!tn_rule_dim_eq(q->g, from->dim[d], t->dim[d - lead])) {
            tn_gradient_refuse(q, "an operand's extent that may turn out to be 1 is broadcast");
            return (tn_value){0};
        }
    }
    tn_axes_attr a = {tn_ints_make(q->g->arena, n, axis), false, false};
    return tn_gradient_reshaped(q, n ? tn_gradient_call1(q, &tn_op_sum, &a, v) : v, t);
}
