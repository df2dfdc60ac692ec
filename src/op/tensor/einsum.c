/* einsum: sums of products by labels, "bij,bjk->bik".
 *
 * An expansion into what is fast: diagonals are slices, labels of one operand alone are summed, then operands are
 * joined from the left. Joining two sorts their labels into those of both that stay (batch), those of both that go
 * (contracted) and those of one; with anything contracted it is a batched matrix product, else a product of
 * broadcast tensors. An ellipsis stands for dimensions that broadcast, labelled from the right.
 */
#include "op/rule.h"

#include "op/nn/nn.h"
#include "op/tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 16, N_LETTERS = 52, MAX_LABELS = N_LETTERS + TN_RULE_MAX_RANK };

typedef struct term {
    int n;
    int label[TN_RULE_MAX_RANK];
} term;
typedef struct equation {
    int n_in;
    term in[MAX_TERMS], out;
    const tn_expr *extent[MAX_LABELS]; /* of each label; NULL: not used */
} equation;

/* ---- reading ---- */

static const char *label_name(tn_graph *g, int label)
{
    if (label >= N_LETTERS)
        return "...";
    return tn_arena_printf(g->arena, "%c", label < 26 ? 'a' + label : 'A' + label - 26);
}

static int letter(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1;
}

/* One term up to `end`; the ellipsis is `dots` dimensions (< 0: as many as the rank leaves). */
static tn_status read_term(tn_graph *g, const tn_node *n, const char *at, const char *end, int rank, int dots,
                           term *t)
{
    int letters = 0, first = -1; /* where the ellipsis stands */
    bool full = false;
    for (t->n = 0; at < end; at++) {
        if (*at == ' ')
            continue;
        if (end - at >= 3 && memcmp(at, "...", 3) == 0 && first < 0) {
            first = t->n;
            at += 2;
            continue;
        }
        if (letter(*at) < 0)
            return tn_rule_fail(g, n, "op-E007", "equation \"%s\": '%c' is not allowed",
                                ((const tn_einsum_attr *)n->attr)->equation, *at);
        full = letters++ >= TN_RULE_MAX_RANK;
        if (!full)
            t->label[t->n++] = letter(*at);
        if (full)
            break;
    }
    int more = first < 0 ? 0 : dots >= 0 ? dots : rank - t->n;
    if (full || more < 0 || t->n + more > TN_RULE_MAX_RANK || (rank >= 0 && t->n + more != rank))
        return tn_rule_fail(g, n, "op-E007",
                            "equation \"%s\": a term has %d labels, but its operand has %d dimensions",
                            ((const tn_einsum_attr *)n->attr)->equation, letters, rank);
    if (more)
        memmove(t->label + first + more, t->label + first, (size_t)(t->n - first) * sizeof *t->label);
    for (int k = 0; k < more; k++)
        t->label[first + k] = N_LETTERS + more - 1 - k;
    t->n += more;
    return TN_OK;
}

/* Extents of the labels of operand i; 1 gives way to others where the label is of an ellipsis. */
static tn_status note_extents(tn_graph *g, const tn_node *n, equation *e, int i)
{
    const tn_type *t = tn_in_type(n, i);
    for (int k = 0; k < t->n; k++) {
        const tn_expr **have = &e->extent[e->in[i].label[k]], *d = t->dim[k];
        if (!*have || tn_is_value(*have, 1))
            *have = d;
        else if (!tn_is_value(d, 1) && !tn_rule_agree(g, n, *have, d))
            return tn_rule_fail(g, n, "op-E008", "label %s stands for different extents, %s and %s",
                                label_name(g, e->in[i].label[k]), tn_rule_dim_text(g, *have),
                                tn_rule_dim_text(g, d));
    }
    return TN_OK;
}

static bool has_label(const term *t, int label)
{
    for (int i = 0; i < t->n; i++)
        if (t->label[i] == label)
            return true;
    return false;
}

/* Without an arrow: the ellipsis, then the letters that stand once, sorted. */
static void implicit_output(equation *e)
{
    int count[N_LETTERS] = {0}, dots = 0;
    for (int i = 0; i < e->n_in; i++)
        for (int k = 0; k < e->in[i].n; k++)
            if (e->in[i].label[k] < N_LETTERS)
                count[e->in[i].label[k]]++;
            else if (e->in[i].label[k] - N_LETTERS >= dots)
                dots = e->in[i].label[k] - N_LETTERS + 1;
    e->out.n = 0;
    for (int k = dots - 1; k >= 0; k--)
        e->out.label[e->out.n++] = N_LETTERS + k;
    for (int upper = 1; upper >= 0; upper--) /* capitals sort first */
        for (int c = upper ? 26 : 0; c < (upper ? N_LETTERS : 26); c++)
            if (count[c] == 1 && e->out.n < TN_RULE_MAX_RANK)
                e->out.label[e->out.n++] = c;
}

static tn_status read_output(tn_graph *g, const tn_node *n, equation *e, const char *arrow)
{
    int dots = 0;
    if (!arrow) {
        implicit_output(e);
        return TN_OK;
    }
    for (int l = N_LETTERS; l < MAX_LABELS; l++)
        dots += e->extent[l] != NULL;
    TN_TRY(read_term(g, n, arrow + 2, arrow + strlen(arrow), -1, dots, &e->out));
    for (int i = 0; i < e->out.n; i++)
        for (int k = 0; k <= i; k++)
            if (!e->extent[e->out.label[i]] || (k < i && e->out.label[k] == e->out.label[i]))
                return tn_rule_fail(g, n, "op-E007", "label %s appears twice in the result, or in no operand",
                                    label_name(g, e->out.label[i]));
    return TN_OK;
}

static tn_status read_equation(tn_graph *g, const tn_node *n, equation *e)
{
    const char *text = ((const tn_einsum_attr *)n->attr)->equation, *at = text ? text : "";
    const char *arrow = strstr(at, "->"), *end = arrow ? arrow : at + strlen(at);
    const tn_type *t;
    memset(e, 0, sizeof *e);
    for (e->n_in = 0; at; e->n_in++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if (e->n_in < n->nin && e->n_in < MAX_TERMS) {
            TN_TRY(tn_rule_tensor(g, n, e->n_in, -1, &t));
            TN_TRY(read_term(g, n, at, stop, t->n, -1, &e->in[e->n_in]));
            TN_TRY(note_extents(g, n, e, e->n_in));
        }
        at = comma ? comma + 1 : NULL;
    }
    if (e->n_in != n->nin || e->n_in > MAX_TERMS)
        return tn_rule_fail(g, n, "op-E007",
                            "equation \"%s\" is for %d operands, but %d are given (at most %d)", text,
                            e->n_in, n->nin, MAX_TERMS);
    return read_output(g, n, e, arrow);
}

static tn_status einsum_infer(tn_graph *g, tn_node *n)
{
    equation *e = TN_NEW(g->arena, equation);
    const tn_expr *dim[TN_RULE_MAX_RANK];
    TN_TRY(read_equation(g, n, e));
    TN_TRY(tn_rule_number(g, n, 0));
    for (int i = 1; i < n->nin; i++)
        TN_TRY(tn_rule_same_dtype(g, n, i));
    for (int i = 0; i < n->nin; i++)
        for (int k = 0; k < e->in[i].n; k++)
            for (int j = 0; j < k; j++)
                if (e->in[i].label[k] == e->in[i].label[j] &&
                    !tn_rule_agree(g, n, tn_in_type(n, i)->dim[k], tn_in_type(n, i)->dim[j]))
                    return tn_rule_fail(
                        g, n, "op-E008",
                        "label %s appears twice for one operand, so these dimensions must be equal",
                        label_name(g, e->in[i].label[k]));
    for (int i = 0; i < e->out.n; i++)
        dim[i] = e->extent[e->out.label[i]];
    return tn_rule_result(g, n, 0, tn_in_type(n, 0)->dtype, e->out.n, dim);
}

/* ---- expanding: a part is a value whose dimensions have labels ---- */

typedef struct part {
    tn_value v;
    term t;
} part;
typedef struct maker {
    tn_graph *g;
    tn_node *n;
    bool bad;
} maker;

static tn_value call(maker *m, const tn_op *op, const void *attr, int nin, const tn_value in[])
{
    tn_node *made = m->bad ? NULL : tn_make_call(m->g, m->n->owner, m->n, op, nin, in, attr, m->n->loc);
    m->bad |= !made;
    return made ? tn_val(made) : m->n->in[0].def ? tn_in(m->n, 0) : (tn_value){0};
}

static void reshape(maker *m, part *x, int n, const tn_expr *const dim[])
{
    tn_reshape_attr a = {tn_dims_make(m->g->arena, (uint32_t)n, dim), true};
    x->v = call(m, &tn_op_reshape, &a, 1, &x->v);
}

/* The dimensions of x in the order of `order` (a permutation of x's labels). */
static void permute(maker *m, part *x, const term *order)
{
    int64_t axes[TN_RULE_MAX_RANK] = {0};
    bool same = true;
    for (int i = 0; i < order->n; i++)
        for (int k = 0; k < x->t.n; k++)
            if (x->t.label[k] == order->label[i]) {
                axes[i] = k;
                same = same && k == i;
            }
    tn_transpose_attr a = {tn_ints_make(m->g->arena, (uint32_t)order->n, axes)};
    if (!same)
        x->v = call(m, &tn_op_transpose, &a, 1, &x->v);
    x->t = *order;
}

/* x[.., n * n] -> x[.., n], every (n + 1)-th one: n more at the end make rows of n + 1, whose first stays. */
static void every_next(maker *m, part *x, int rank, const tn_expr *dim[], const tn_expr *n)
{
    tn_pool *p = m->g->pool;
    const tn_expr *one = tn_idx(p, 1), *zero = tn_idx(p, 0), *width[2 * TN_RULE_MAX_RANK + 2];
    for (int i = 0; i < 2 * rank; i++)
        width[i] = i == 2 * rank - 1 ? n : zero;
    int64_t row = rank;
    tn_pad_attr pad = {.pad_width = tn_dims_make(m->g->arena, 2 * (uint32_t)rank, width),
                       .pad_mode = "constant"};
    tn_slice_attr first = {tn_dims_make(m->g->arena, 1, &zero), tn_dims_make(m->g->arena, 1, &one),
                           tn_ints_make(m->g->arena, 1, (int64_t[]){1}), tn_ints_make(m->g->arena, 1, &row)};
    x->v = call(m, &tn_op_nn_pad, &pad, 1, &x->v);
    dim[rank - 1] = n;
    dim[rank] = tn_add(p, n, one);
    reshape(m, x, rank + 1, dim);
    x->v = call(m, &tn_op_strided_slice, &first, 1, &x->v);
    reshape(m, x, rank, dim);
}

/* A label that stands twice: both dimensions go last and become one, of which the diagonal's elements stay. */
static void diagonal(maker *m, part *x, int i, int j)
{
    const tn_expr *dim[TN_RULE_MAX_RANK + 1];
    const tn_expr *n = tn_value_type(x->v)->dim[i];
    int64_t axes[TN_RULE_MAX_RANK], extent = 1, begin = 0, end, step, last = x->t.n - 2;
    term t = {0};
    for (int k = 0; k < x->t.n; k++)
        if (k != i && k != j) {
            axes[t.n] = k;
            dim[t.n] = tn_value_type(x->v)->dim[k];
            t.label[t.n++] = x->t.label[k];
        }
    axes[t.n] = i;
    axes[t.n + 1] = j;
    tn_transpose_attr turn = {tn_ints_make(m->g->arena, (uint32_t)x->t.n, axes)};
    bool known = tn_is_int(n, &extent);
    t.label[t.n] = x->t.label[i];
    dim[t.n++] = tn_mul(m->g->pool, n, n);
    end = extent * extent;
    step = extent + 1;
    tn_slice_attr every = {tn_make_dims(m->g, 1, &begin), tn_make_dims(m->g, 1, &end),
                           tn_ints_make(m->g->arena, 1, &step), tn_ints_make(m->g->arena, 1, &last)};
    x->v = call(m, &tn_op_transpose, &turn, 1, &x->v);
    reshape(m, x, t.n, dim);
    if (known)
        x->v = call(m, &tn_op_strided_slice, &every, 1, &x->v);
    else
        every_next(m, x, t.n, dim, n);
    x->t = t;
}

static void diagonals(maker *m, part *x)
{
    for (int j = 1; j < x->t.n; j++)
        for (int i = 0; i < j; i++)
            if (x->t.label[i] == x->t.label[j]) {
                diagonal(m, x, i, j);
                i = j = 0; /* the dimensions stand elsewhere now */
                break;
            }
}

/* Sums the dimensions whose labels are not wanted. */
static void sum_rest(maker *m, part *x, const bool want[MAX_LABELS])
{
    int64_t axes[TN_RULE_MAX_RANK] = {0};
    uint32_t n = 0;
    term t = {0};
    for (int i = 0; i < x->t.n; i++)
        if (want[x->t.label[i]])
            t.label[t.n++] = x->t.label[i];
        else
            axes[n++] = i;
    tn_axes_attr a = {tn_ints_make(m->g->arena, n, axes), false, false};
    if (n)
        x->v = call(m, &tn_op_sum, &a, 1, &x->v);
    x->t = t;
}

/* Drops dimensions of extent 1 that the other part has longer: it is broadcast along them. */
static void drop_ones(maker *m, part *x, const part *other)
{
    const tn_expr *dim[TN_RULE_MAX_RANK];
    term t = {0};
    for (int i = 0; i < x->t.n; i++) {
        const tn_expr *d = tn_value_type(x->v)->dim[i];
        bool longer = false;
        for (int k = 0; k < other->t.n && tn_is_value(d, 1); k++)
            longer |= other->t.label[k] == x->t.label[i] && !tn_is_value(tn_value_type(other->v)->dim[k], 1);
        if (longer)
            continue;
        dim[t.n] = d;
        t.label[t.n++] = x->t.label[i];
    }
    if (t.n < x->t.n)
        reshape(m, x, t.n, dim);
    x->t = t;
}

static void append(term *t, const term *more)
{
    for (int i = 0; i < more->n && t->n < TN_RULE_MAX_RANK; i++)
        t->label[t->n++] = more->label[i];
}

static const tn_expr *extent_of(maker *m, const part *x, const term *t)
{
    const tn_expr *e = tn_idx(m->g->pool, 1);
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < x->t.n; k++)
            if (x->t.label[k] == t->label[i])
                e = tn_mul(m->g->pool, e, tn_value_type(x->v)->dim[k]);
    return tn_simplify_extent(m->g, e);
}

/* x as (batch, rows, depth). */
static void as_matrices(maker *m, part *x, const term *batch, const term *rows, const term *depth)
{
    const tn_expr *dim[3] = {extent_of(m, x, batch), extent_of(m, x, rows), extent_of(m, x, depth)};
    term order = *batch;
    append(&order, rows);
    append(&order, depth);
    permute(m, x, &order);
    reshape(m, x, 3, dim);
}

/* Extents of t's labels, of a where it has them, else of b. */
static void dims_of(const part *a, const part *b, const term *t, const tn_expr *dim[])
{
    const part *x[2] = {b, a};
    for (int i = 0; i < t->n; i++)
        for (int p = 0; p < 2; p++)
            for (int k = 0; k < x[p]->t.n; k++)
                if (x[p]->t.label[k] == t->label[i])
                    dim[i] = tn_value_type(x[p]->v)->dim[k];
}

/* x with dimensions of 1 where it lacks labels of `all`. */
static void spread(maker *m, part *x, const term *all)
{
    const tn_expr *dim[TN_RULE_MAX_RANK];
    term have = {0};
    for (int i = 0; i < all->n; i++)
        if (has_label(&x->t, all->label[i]))
            have.label[have.n++] = all->label[i];
    permute(m, x, &have);
    for (int i = 0, k = 0; i < all->n; i++)
        dim[i] = has_label(&x->t, all->label[i]) ? tn_value_type(x->v)->dim[k++] : tn_idx(m->g->pool, 1);
    if (have.n < all->n)
        reshape(m, x, all->n, dim);
    x->t = *all;
}

static part join(maker *m, part a, part b, const bool later[MAX_LABELS])
{
    term batch = {0}, left = {0}, right = {0}, depth = {0}, all = {0};
    const tn_expr *dim[TN_RULE_MAX_RANK];
    bool want[MAX_LABELS];
    drop_ones(m, &a, &b);
    drop_ones(m, &b, &a);
    for (int l = 0; l < MAX_LABELS; l++)
        want[l] = later[l] || (has_label(&a.t, l) && has_label(&b.t, l));
    sum_rest(m, &a, want);
    sum_rest(m, &b, want);
    for (int i = 0; i < a.t.n; i++) {
        int l = a.t.label[i];
        term *to = !has_label(&b.t, l) ? &left : later[l] ? &batch : &depth;
        to->label[to->n++] = l;
    }
    for (int i = 0; i < b.t.n; i++)
        if (!has_label(&a.t, b.t.label[i]))
            right.label[right.n++] = b.t.label[i];
    if (batch.n + left.n + right.n > TN_RULE_MAX_RANK) {
        m->bad = tn_rule_fail(m->g, m->n, "op-E003",
                              "two operands together have %d dimensions; at most %d are supported",
                              batch.n + left.n + right.n, TN_RULE_MAX_RANK) != TN_OK;
        return a;
    }
    all = batch;
    append(&all, &left);
    append(&all, &right);
    dims_of(&a, &b, &all, dim);
    if (depth.n == 0) {
        spread(m, &a, &all);
        spread(m, &b, &all);
        a.v = call(m, &tn_op_multiply, NULL, 2, (tn_value[]){a.v, b.v});
        return a;
    }
    as_matrices(m, &a, &batch, &left, &depth);
    as_matrices(m, &b, &batch, &right, &depth);
    tn_matmul_attr rows_by_rows = {.transpose_b = true};
    a.v = call(m, &tn_op_nn_batch_matmul, &rows_by_rows, 2, (tn_value[]){a.v, b.v});
    reshape(m, &a, all.n, dim);
    a.t = all;
    return a;
}

static tn_status einsum_expand(tn_graph *g, tn_node *n, tn_value out[])
{
    equation *e = TN_NEW(g->arena, equation);
    maker m = {g, n, false};
    part acc = {0};
    TN_TRY(read_equation(g, n, e));
    for (int i = 0; i < n->nin && !m.bad; i++) {
        part x = {tn_in(n, i), e->in[i]};
        bool later[MAX_LABELS] = {false};
        for (int l = 0; l < MAX_LABELS; l++) {
            later[l] = has_label(&e->out, l);
            for (int k = i + 1; k < n->nin; k++)
                later[l] = later[l] || has_label(&e->in[k], l);
        }
        diagonals(&m, &x);
        if (i == 0)
            sum_rest(&m, &x, later);
        acc = i == 0 ? x : join(&m, acc, x, later);
    }
    if (!m.bad)
        permute(&m, &acc, &e->out);
    out[0] = acc.v;
    return m.bad ? TN_FAIL : TN_OK;
}

/* clang-format off */
static const tn_attr_field einsum_fields[] = TN_ATTR_TABLE(tn_einsum_attr, TN_EINSUM_ATTRS);

const tn_op tn_op_einsum = {
    .name = "einsum", .doc = "Sums of products by labels of dimensions.",
    .attr_size = sizeof(tn_einsum_attr), .attr = einsum_fields,
    .nin = -1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .infer = einsum_infer, .expand = einsum_expand,
};
/* clang-format on */
