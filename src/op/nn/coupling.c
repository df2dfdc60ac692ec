/* nn.pairwise_coupling: probabilities of classes from those of each class against each other, the second method of
 * Wu, Lin and Weng (2004), which LIBSVM uses: Newton steps on one class after the other until no gradient differs by
 * 0.005 / k from the mean. One row a task, O(k^2) a round, at most max(100, k) rounds. */
#include "op/code.h"

#include "op/nn/nn.h"

static tn_status coupling_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t;
    int64_t k;
    TN_TRY(tn_rule_tensor(g, n, 0, 3, &t));
    TN_TRY(tn_rule_float(g, n, 0));
    if (!tn_is_int(t->dim[1], &k) || k < 2 || !tn_is_value(t->dim[2], k))
        return tn_rule_fail(g, n, "op-E008",
                            "the last two dimensions of %s must be one number of classes, 2 or more",
                            tn_rule_type_text(g, t));
    return tn_rule_result(g, n, 0, t->dtype, 2, t->dim);
}

typedef struct coupling {
    tn_code c;
    tn_tensor *in;
    tn_dtype t;
    const tn_expr *row, *k, *zero;
    uint32_t q, qp, p;       /* of each row: [k, k]; the product Q p, the probabilities: [k] */
    uint32_t sum, mean, end; /* registers */
} coupling;

static const tn_expr *number(coupling *x, double v) { return tn_flt(x->c.p, x->t, v); }

static const tn_expr *get(coupling *x, uint32_t buffer) { return tn_code_load(&x->c, buffer, 1, &x->zero); }

static void set(coupling *x, uint32_t buffer, const tn_expr *v)
{
    tn_code_store(&x->c, buffer, 1, &x->zero, v);
}

static const tn_expr *of(coupling *x, uint32_t buffer, const tn_expr *i)
{
    const tn_expr *at[2] = {x->row, i};
    return tn_code_load(&x->c, buffer, 2, at);
}

static void put(coupling *x, uint32_t buffer, const tn_expr *i, const tn_expr *v)
{
    const tn_expr *at[2] = {x->row, i};
    tn_code_store(&x->c, buffer, 2, at, v);
}

static const tn_expr *q(coupling *x, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *at[3] = {x->row, i, j};
    return tn_code_load(&x->c, x->q, 3, at);
}

static const tn_expr *against(coupling *x, const tn_expr *i, const tn_expr *j)
{
    const tn_expr *at[3] = {x->row, i, j};
    return tn_cast(x->c.p, x->t, tn_at(x->c.te, x->in, 3, at));
}

/* Q: -r[j][i] r[i][j], and on the diagonal the sum of the squares of the others' r[j][i]; p: 1 / k each. */
static void begin(coupling *x)
{
    tn_pool *p = x->c.p;
    tn_body *back = x->c.at;
    const tn_expr *i = tn_code_for(&x->c, "i", x->k);
    set(x, x->sum, number(x, 0));
    put(x, x->p, i, tn_bin(p, TN_E_DIV, number(x, 1), tn_cast(p, x->t, x->k)));
    tn_body *row = x->c.at;
    const tn_expr *j = tn_code_for(&x->c, "j", x->k), *at[3] = {x->row, i, j};
    const tn_expr *a = tn_code_let(&x->c, "a", against(x, j, i)),
                  *b = tn_code_let(&x->c, "b", against(x, i, j));
    tn_code_store(&x->c, x->q, 3, at, tn_mul(p, number(x, -1), tn_mul(p, a, b)));
    const tn_expr *square = tn_select(p, tn_eq(p, i, j), number(x, 0), tn_mul(p, a, a));
    set(x, x->sum, tn_add(p, get(x, x->sum), square));
    x->c.at = row;
    const tn_expr *diagonal[3] = {x->row, i, i};
    tn_code_store(&x->c, x->q, 3, diagonal, get(x, x->sum));
    x->c.at = back;
    set(x, x->end, number(x, 0));
}

/* Q p, its mean by p, and 1 to `end` if the gradients are near enough to it. */
static void look(coupling *x)
{
    tn_pool *p = x->c.p;
    tn_body *back = x->c.at;
    set(x, x->mean, number(x, 0));
    const tn_expr *i = tn_code_for(&x->c, "i", x->k);
    tn_body *row = x->c.at;
    set(x, x->sum, number(x, 0));
    const tn_expr *j = tn_code_for(&x->c, "j", x->k);
    set(x, x->sum, tn_add(p, get(x, x->sum), tn_mul(p, q(x, i, j), of(x, x->p, j))));
    x->c.at = row;
    put(x, x->qp, i, get(x, x->sum));
    set(x, x->mean, tn_add(p, get(x, x->mean), tn_mul(p, of(x, x->p, i), get(x, x->sum))));
    x->c.at = back;
    set(x, x->sum, number(x, 0));
    const tn_expr *m = tn_code_for(&x->c, "i", x->k);
    const tn_expr *apart = tn_intrinsic1(p, TN_F_abs, tn_sub(p, of(x, x->qp, m), get(x, x->mean)));
    set(x, x->sum, tn_max(p, get(x, x->sum), apart));
    x->c.at = back;
    const tn_expr *enough = tn_bin(p, TN_E_DIV, number(x, 0.005), tn_cast(p, x->t, x->k));
    set(x, x->end, tn_select(p, tn_lt(p, get(x, x->sum), enough), number(x, 1), number(x, 0)));
}

/* The best p[i] for the others as they are; then all are made to add up to 1 again. */
static void step(coupling *x)
{
    tn_pool *p = x->c.p;
    const tn_expr *i = tn_code_for(&x->c, "i", x->k), *mean = get(x, x->mean);
    const tn_expr *own = tn_code_let(&x->c, "own", q(x, i, i)),
                  *qp = tn_code_let(&x->c, "qp", of(x, x->qp, i));
    const tn_expr *d = tn_code_let(&x->c, "d", tn_bin(p, TN_E_DIV, tn_sub(p, mean, qp), own));
    const tn_expr *all = tn_code_let(&x->c, "all", tn_add(p, number(x, 1), d));
    const tn_expr *twice = tn_mul(p, number(x, 2), qp),
                  *more = tn_mul(p, d, tn_add(p, tn_mul(p, d, own), twice));
    put(x, x->p, i, tn_add(p, of(x, x->p, i), d));
    set(x, x->mean, tn_bin(p, TN_E_DIV, tn_bin(p, TN_E_DIV, tn_add(p, mean, more), all), all));
    const tn_expr *j = tn_code_for(&x->c, "j", x->k);
    const tn_expr *moved = tn_add(p, of(x, x->qp, j), tn_mul(p, d, q(x, i, j)));
    put(x, x->qp, j, tn_bin(p, TN_E_DIV, moved, all));
    put(x, x->p, j, tn_bin(p, TN_E_DIV, of(x, x->p, j), all));
}

static void coupling_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t;
    coupling x = {
        .c = tn_code_open(te, n, 0, "coupling", &t), .in = in[0], .k = in[0]->dim[1], .zero = tn_idx(p, 0)};
    const tn_expr *one = tn_idx(p, 1);
    int64_t k = 0, rounds = 100;
    out[0] = t;
    x.t = tn_dtype_is_small(t->dtype) ? TN_F32 : t->dtype;
    rounds = tn_is_int(x.k, &k) && k > rounds ? k : rounds;
    x.q = tn_code_buffer(&x.c, "q", x.t, 3, in[0]->dim, TN_SCOPE_GLOBAL);
    x.qp = tn_code_buffer(&x.c, "qp", x.t, 2, in[0]->dim, TN_SCOPE_GLOBAL);
    x.p = tn_code_buffer(&x.c, "p", x.t, 2, in[0]->dim, TN_SCOPE_GLOBAL);
    tn_code_each(&x.c, 1, in[0]->dim, &x.row);
    uint32_t *const registers[] = {&x.sum, &x.mean, &x.end};
    for (int i = 0; i < 3; i++)
        *registers[i] = tn_code_buffer(&x.c,
                                       i == 0   ? "sum"
                                       : i == 1 ? "mean"
                                                : "end",
                                       x.t, 1, &one, TN_SCOPE_REGISTER);
    tn_body *back = x.c.at;
    begin(&x);
    (void)tn_code_for(&x.c, "round", tn_idx(p, rounds));
    tn_code_if(&x.c, tn_eq(p, get(&x, x.end), number(&x, 0)));
    look(&x);
    tn_code_if(&x.c, tn_eq(p, get(&x, x.end), number(&x, 0)));
    step(&x);
    x.c.at = back;
    const tn_expr *i = tn_code_for(&x.c, "i", x.k), *at[2] = {x.row, i};
    tn_code_store(&x.c, t->buffer, 2, at, tn_cast(p, t->dtype, of(&x, x.p, i)));
}

/* clang-format off */
static const char *const data_in[] = {"data"};

const tn_op tn_op_nn_pairwise_coupling = {
    .name = "nn.pairwise_coupling",
    .doc = "Probabilities of k classes [n, k] from those of class i, not j, [n, k, k]; the diagonal is not read.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_OPAQUE, .in_name = data_in,
    .infer = coupling_infer, .body = coupling_body,
};
/* clang-format on */
