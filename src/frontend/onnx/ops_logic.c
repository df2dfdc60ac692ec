/* Comparisons, logic and choice. Where shape arithmetic goes through them (Equal, Where), known elements stay known. */
#include "frontend/onnx/onnx.h"

#include "arith/arith.h"
#include "op/tensor/tensor.h"

static void binary(imp_node *c)
{
    tn_value a = imp_in(c, 0), b = onnx_second(c, a);
    imp_out(c, 0, imp_binary(c, c->row->relay, a, b));
}

static void unary(imp_node *c) { imp_out(c, 0, imp_unary(c, c->row->relay, imp_in(c, 0))); }

/* Element i of n known ones, or of a single one that stands for all. */
static const tn_expr *pick(tn_dims d, uint32_t i) { return d.at[d.n == 1 ? 0 : i]; }

static bool fits(tn_dims d, uint32_t n) { return d.n == n || d.n == 1; }

/* Is a == b for every value of the symbols (1), for none (0), or does it depend (-1)? */
static int always_equal(imp_node *c, const tn_expr *a, const tn_expr *b)
{
    return a == b ? 1 : tn_prove(c->pool, NULL, tn_eq(c->pool, a, b));
}

static void equal(imp_node *c)
{
    tn_dims x, y, known;
    tn_value a = imp_in(c, 0), b = onnx_second(c, a), v = imp_binary(c, &tn_op_equal, a, b);
    imp_out(c, 0, v);
    if (c->bad || imp_rank(v) > 1 || imp_host(c, v, &known) || !imp_host(c, a, &x) || !imp_host(c, b, &y))
        return;
    uint32_t n = x.n > y.n ? x.n : y.n;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, n);
    for (uint32_t i = 0; i < n && fits(x, n) && fits(y, n); i++) {
        int is = always_equal(c, pick(x, i), pick(y, i));
        if (is < 0)
            return;
        e[i] = tn_idx(c->pool, is);
    }
    if (fits(x, n) && fits(y, n))
        imp_set_host(c, v, (tn_dims){n, e});
}

static void where(imp_node *c)
{
    tn_dims k, x, y, known;
    tn_value in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = imp_in(c, i);
    tn_value v = imp_call(c, &tn_op_where, NULL, 3, in);
    imp_out(c, 0, v);
    if (c->bad || imp_rank(v) > 1 || imp_host(c, v, &known) || !imp_host(c, in[0], &k) ||
        !imp_host(c, in[1], &x) || !imp_host(c, in[2], &y))
        return;
    uint32_t n = k.n > x.n ? k.n : x.n;
    n = n > y.n ? n : y.n;
    const tn_expr **e = TN_NEW_N(c->arena, const tn_expr *, n);
    if (!fits(k, n) || !fits(x, n) || !fits(y, n))
        return;
    for (uint32_t i = 0; i < n; i++)
        e[i] = tn_is_value(pick(k, i), 0) ? pick(y, i) : pick(x, i);
    imp_set_host(c, v, (tn_dims){n, e});
}

// clang-format off
const imp_row onnx_rows_logic[] = {
    {"Equal",           1,  0, 2, 1, equal,  NULL},
    {"Less",            1,  0, 2, 1, binary, &tn_op_less},
    {"LessOrEqual",    12,  0, 2, 1, binary, &tn_op_less_equal},
    {"Greater",         1,  0, 2, 1, binary, &tn_op_greater},
    {"GreaterOrEqual", 12,  0, 2, 1, binary, &tn_op_greater_equal},
    {"And",             1,  0, 2, 1, binary, &tn_op_logical_and},
    {"Or",              1,  0, 2, 1, binary, &tn_op_logical_or},
    {"Xor",             1,  0, 2, 1, binary, &tn_op_not_equal},
    {"Not",             1,  0, 1, 1, unary,  &tn_op_logical_not},
    {"Where",           9,  0, 3, 1, where,  NULL},
    {0},
};
// clang-format on
