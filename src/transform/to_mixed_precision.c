/* ToMixedPrecision: operators that gain from 16-bit floats compute in them.
 *
 *   LOW     casts its operands to the calculation type; sums are of the accumulation type where it has an out_dtype
 *   FOLLOW  is computed in 16 bits if all its float operands (constants aside) have a 16-bit form already
 *   KEEP    reads the original types
 *
 * Where only elementwise operators read a sum, they go on in the accumulation type, so that a chain such as bias and
 * activation is rounded once, at its end.
 *
 * Which is which the records say (tn_precision); the user's list of operators takes the place of their LOW. One walk in
 * execution order: each lowered node leaves its low value and a cast back, which all old readers get and
 * nobody may need in the end. An operator stays as it is if one of its constants leaves the range of 16 bits.
 * Results of the module stay low unless relay.ToMixedPrecision.keep_orig_output_dtype is set.
 */
#include "base/words.h"
#include "ir/eval.h"
#include "op/tensor/tensor.h"
#include "transform/pass.h"

#include <string.h>

enum { MAX_IN = 256, MAX_ATTR = 256, MAX_DEPTH = 8 };

typedef struct mixer {
    tn_pass *p;
    tn_graph *g;
    tn_map low; /* value -> index in made */
    tn_vec(tn_value) made;
    tn_map sum; /* low value -> index in sums: the value of the accumulation type that it is cast from */
    tn_vec(tn_value) sums;
    tn_dtype calc, acc;
} mixer;

static uint64_t key(tn_value v) { return (uint64_t)v.def->id << 16 | v.out; }

static tn_value low_of(const mixer *m, tn_value v)
{
    uint64_t at;
    return v.def && tn_map_get(&m->low, key(v), &at) ? m->made.at[at] : (tn_value){0};
}

static void set_low(mixer *m, tn_value v, tn_value low)
{
    tn_vec_push(&m->made, low);
    tn_map_put(&m->low, key(v), m->made.n - 1);
}

/* What the low value is cast from, if that is a sum or goes on from one. */
static tn_value sum_of(const mixer *m, tn_value low)
{
    uint64_t at;
    return low.def && tn_map_get(&m->sum, key(low), &at) ? m->sums.at[at] : (tn_value){0};
}

static void set_sum(mixer *m, tn_value low, tn_value sum)
{
    tn_vec_push(&m->sums, sum);
    tn_map_put(&m->sum, key(low), m->sums.n - 1);
}

static bool is_float(const tn_type *t)
{
    return t && t->kind == TN_T_TENSOR && tn_dtype_eq(t->dtype, TN_F32);
}

/* ---- what the records say ---- */

static enum tn_precision wanted(const mixer *m, const tn_node *n)
{
    const char *list = m->p->options->mixed_precision_ops;
    enum tn_precision said = tn_precision_of(m->g, n);
    if (!list)
        return said;
    return tn_words_find(list, n->op->name) >= 0 ? TN_PRECISION_LOW
           : said == TN_PRECISION_LOW            ? TN_PRECISION_FOLLOW
                                                 : said;
}

static tn_status check_names(const mixer *m)
{
    const char *at = m->p->options->mixed_precision_ops, *s;
    size_t n;
    while (tn_words_next(&at, &s, &n))
        if (!tn_ops_find(tn_intern_n(m->g->ctx, s, n)))
            return tn_error(m->g->ctx, "driver-E065", NULL,
                            "--mixed-precision-ops: unknown operator %.*s; write names such as nn.conv2d",
                            (int)n, s);
    return TN_OK;
}

/* ---- constants ---- */

static bool is_moved(tn_value v, int depth)
{
    return depth > 0 && v.def->op != &tn_op_constant && (v.def->op->flags & TN_OP_INDEX_MAP) &&
           v.def->nin > 0;
}

/* A constant, or one that is only moved about. */
static bool is_fixed(tn_value v, int depth)
{
    bool all = is_moved(v, depth);
    for (int i = 0; i < v.def->nin && all; i++)
        all = !v.def->in[i].def || is_fixed(tn_in(v.def, i), depth - 1);
    return all || v.def->op == &tn_op_constant;
}

/* Is v, if it is constant, in the range of the calculation type? Its largest finite value must neither become infinite
 * (a mask of -1e9 would make NaN of a row that is masked as a whole) nor vanish (as what keeps a divisor from
 * 0 would). */
static bool in_range(const mixer *m, tn_value v, int depth)
{
    const tn_type *t = v.def ? tn_value_type(v) : NULL;
    tn_magnitude c = TN_MAGNITUDE;
    if (!is_float(t))
        return true;
    if (v.def->op == &tn_op_constant && v.def->blob && v.def->blob->at)
        tn_magnitude_add(&c, t->dtype, v.def->blob->at, (int64_t)(v.def->blob->n / tn_dtype_bytes(t->dtype)));
    for (int i = 0; is_moved(v, depth) && i < v.def->nin; i++)
        if (!in_range(m, tn_in(v.def, i), depth - 1))
            return false;
    return c.most <= 0 || (c.most <= tn_dtype_largest(m->calc) && c.most >= tn_dtype_smallest(m->calc));
}

static bool all_in_range(const mixer *m, const tn_node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (!in_range(m, tn_in(n, i), MAX_DEPTH))
            return false;
    return true;
}

/* ---- lowering ---- */

static tn_value cast(mixer *m, tn_node *before, tn_value v, tn_dtype to)
{
    tn_cast_attr a = {to};
    if (tn_dtype_eq(tn_value_type(v)->dtype, to))
        return v;
    return tn_val(tn_make_call(m->g, before->owner, before, &tn_op_cast, 1, &v, &a, before->loc));
}

/* May n follow? All float operands but constants have a low form, and there is one. */
static bool may_follow(const mixer *m, const tn_node *n)
{
    bool any = false;
    for (int i = 0; i < n->nin; i++) {
        tn_value v = tn_in(n, i);
        if (!v.def || !is_float(tn_value_type(v)) || is_fixed(v, MAX_DEPTH))
            continue;
        if (!low_of(m, v).def)
            return false;
        any = true;
    }
    return any;
}

static bool can_be_lowered(const tn_node *n)
{
    bool any = false;
    for (int i = 0; i < n->nin; i++)
        any |= n->in[i].def && is_float(tn_in_type(n, i));
    return any && n->op->fuse != TN_FUSE_NONE && n->nout == 1 && !n->nregion && n->nin <= MAX_IN &&
           n->op->attr_size <= MAX_ATTR && is_float(n->type[0]) && !n->type[0]->layout;
}

static bool is_elementwise(const tn_node *n)
{
    return n->op->fuse == TN_FUSE_ELEMWISE || n->op->fuse == TN_FUSE_BROADCAST;
}

/* Do only elementwise operators read n, which gives a sum or goes on from one? */
static bool leads_on(const tn_node *n)
{
    for (const tn_use *u = n->users[0]; u; u = u->next)
        if (!u->user || u->user->owner != n->owner || !is_elementwise(u->user) || !can_be_lowered(u->user))
            return false;
    return n->users[0] != NULL;
}

static bool goes_on(const mixer *m, const tn_node *n)
{
    bool any = false;
    for (int i = 0; i < n->nin && is_elementwise(n); i++)
        any |= sum_of(m, low_of(m, tn_in(n, i))).def != NULL;
    return any;
}

/* Operand v of n, low, or in the accumulation type. A constant there keeps its digits. */
static tn_value operand(mixer *m, tn_node *n, tn_value v, bool on)
{
    tn_value low = low_of(m, v), sum = sum_of(m, low);
    if (on && sum.def)
        return sum;
    if (on && is_fixed(v, MAX_DEPTH))
        return cast(m, n, v, m->acc);
    if (!low.def) {
        low = cast(m, n, v, m->calc);
        if (low.def && v.def->owner == n->owner)
            set_low(m, v, low);
    }
    return on && low.def ? cast(m, n, low, m->acc) : low;
}

static tn_status lower(mixer *m, tn_node *n, bool sums)
{
    _Alignas(16) char attr[MAX_ATTR] = {0};
    tn_value in[MAX_IN];
    bool on = !sums && goes_on(m, n);
    for (int i = 0; i < n->nin; i++) {
        in[i] = tn_in(n, i);
        if (in[i].def && is_float(tn_value_type(in[i])) && !(in[i] = operand(m, n, in[i], on)).def)
            return TN_FAIL;
    }
    if (n->op->attr_size)
        memcpy(attr, n->attr, n->op->attr_size);
    if (sums && !tn_dtype_eq(m->acc, m->calc))
        tn_pass_out_dtype(n->op, attr, m->acc);
    tn_node *y = tn_make_call(m->g, n->owner, n, n->op, n->nin, in, n->op->attr_size ? attr : NULL, n->loc);
    if (!y)
        return TN_FAIL;
    tn_value wide = tn_val(y), low = cast(m, n, wide, m->calc), back = low;
    bool leads = (sums || on) && low.def != y && leads_on(n);
    if (leads && low.def)
        set_sum(m, low, wide);
    if (low.def)
        back = cast(m, n, leads ? wide : low, n->type[0]->dtype);
    if (!back.def)
        return TN_FAIL;
    set_low(m, back, low);
    tn_pass_replace(m->p, m->g, n, &back);
    return TN_OK;
}

static tn_status region(mixer *m, tn_region *r)
{
    tn_node *next;
    for (tn_node *n = r->first; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregion; i++)
            TN_TRY(region(m, n->region[i]));
        enum tn_precision want = can_be_lowered(n) ? wanted(m, n) : TN_PRECISION_KEEP;
        bool lowered = want == TN_PRECISION_LOW || (want == TN_PRECISION_FOLLOW && may_follow(m, n));
        if (lowered && all_in_range(m, n))
            TN_TRY(lower(m, n, want == TN_PRECISION_LOW));
    }
    return TN_OK;
}

/* Is v the low value cast back, or that value itself? Then the low one can be the result; that of a parameter is made
 * for those who read it, and stays theirs. */
static bool is_copy(const tn_node *v, const tn_node *low) { return v->op == &tn_op_cast || v->op == low->op; }

static tn_status function(mixer *m, tn_function *f)
{
    TN_TRY(region(m, f->body));
    for (uint32_t i = 0; i < f->body->n_result && m->made.n; i++) {
        tn_use *u = &f->body->result[i];
        tn_value low = u->def ? low_of(m, (tn_value){u->def, u->out}) : (tn_value){0};
        if (low.def && is_copy(u->def, low.def))
            tn_use_set(m->g, u, low);
    }
    return TN_OK;
}

tn_status tn_pass_ToMixedPrecision(tn_pass *p, tn_graph *g)
{
    mixer m = {.p = p, .g = g};
    tn_status s = TN_OK;
    if (!p->options || !p->options->mixed_precision)
        return TN_OK;
    m.calc = p->options->calculation_type;
    m.acc = p->options->acc_type;
    if (tn_dtype_eq(m.calc, TN_F32))
        return TN_OK; /* what is float32 is computed in it */
    s = check_names(&m);
    bool keep = tn_pass_config_int(p->options, TN_CONFIG_KEEP_OUTPUT) != 0;
    for (tn_function *f = g->func; f && s == TN_OK; f = f->next)
        s = keep ? region(&m, f->body) : function(&m, f);
    tn_map_deinit(&m.low);
    tn_vec_deinit(&m.made);
    tn_map_deinit(&m.sum);
    tn_vec_deinit(&m.sums);
    return s == TN_OK ? tn_pass_DeadCodeElimination(p, g) : s;
}
