/* Products of matrices, attention. */
#include "frontend/pytorch/ops.h"

#include <math.h>
#include <string.h>

/* Leading dimensions broadcast against each other. */
static tn_value batch_to(imp_node *c, tn_value v, const tn_value other)
{
    const tn_expr *dim[IMP_MAX_RANK];
    int rank = imp_rank(v) > imp_rank(other) ? imp_rank(v) : imp_rank(other);
    v = pt_broadcast_rank(c, v, rank);
    tn_value o = pt_broadcast_rank(c, other, rank);
    bool same = true;
    for (int d = 0; d < rank - 2 && !c->bad; d++) {
        const tn_expr *a = imp_type(v)->dim[d], *b = imp_type(o)->dim[d];
        dim[d] = tn_is_value(a, 1) ? b : a;
        same = same && dim[d] == a;
    }
    for (int d = rank - 2; d < rank && !c->bad; d++)
        dim[d] = imp_type(v)->dim[d];
    return same || c->bad ? v : pt_expand(c, v, tn_dims_make(c->arena, (uint32_t)rank, dim));
}

static tn_value three(imp_node *c, tn_value v)
{
    int rank = imp_rank(v);
    const tn_expr *dim[3] = {imp_product(c, imp_type(v), 0, rank - 2), imp_type(v)->dim[rank - 2],
                             imp_type(v)->dim[rank - 1]};
    return rank == 3 ? v : imp_reshape(c, v, 3, dim);
}

static tn_value product(imp_node *c, tn_value a, tn_value b)
{
    tn_matmul_attr plain;
    (void)tn_attr_init(c->pool, tn_op_nn_batch_matmul.attr, sizeof plain, &plain);
    plain.transpose_b = false;
    int rank = imp_rank(a) > imp_rank(b) ? imp_rank(a) : imp_rank(b);
    if (imp_rank(b) == 2) /* one matrix for all: a layer */
        return pt_linear(c, a, pt_swap(c, b, 0, 1), (tn_value){0});
    const tn_expr *dim[IMP_MAX_RANK];
    tn_value x = batch_to(c, a, b), y = batch_to(c, b, a);
    if (c->bad)
        return x;
    for (int d = 0; d < rank - 1; d++)
        dim[d] = imp_type(x)->dim[d];
    dim[rank - 1] = imp_type(y)->dim[rank - 1];
    tn_value first = three(c, x);
    tn_value z = imp_call2(c, &tn_op_nn_batch_matmul, &plain, first, three(c, y));
    return rank == 3 ? z : imp_reshape(c, z, rank, dim);
}

tn_value pt_matmul(imp_node *c, tn_value a, tn_value b)
{
    int ra = imp_rank(a), rb = imp_rank(b);
    if (ra == 0 || rb == 0) {
        imp_refuse(c, IMP_OPERANDS, "a scalar is multiplied as a matrix");
        return a;
    }
    tn_value x = ra == 1 ? imp_unsqueeze(c, a, 0) : a, y = rb == 1 ? imp_unsqueeze(c, b, 1) : b;
    tn_value z = product(c, x, y);
    if (rb == 1)
        z = imp_squeeze(c, z, imp_rank(z) - 1);
    return ra == 1 ? imp_squeeze(c, z, imp_rank(z) - (rb == 1 ? 1 : 2)) : z;
}

static tn_value whole(imp_node *c, tn_value z, tn_dtype t) { return imp_cast(c, z, t); }

/* Integers are multiplied as they are. */
static void matmul(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    pt_out(c, whole(c, pt_matmul(c, v[0], v[1]), imp_type(v[0])->dtype));
}

/* self * beta + product * alpha */
static void plus_product(imp_node *c)
{
    tn_value second = pt_in(c, 1);
    tn_value x = pt_in(c, 0), z = pt_matmul(c, second, pt_in(c, 2));
    pt_value beta = pt_arg(c, 3), alpha = pt_arg(c, 4);
    bool sums = strncmp(pt_of(c)->row->schema, "addbmm", 6) == 0;
    int64_t first = 0;
    if (sums)
        z = pt_sum(c, &tn_op_sum, z, tn_ints_make(c->arena, 1, &first), false);
    tn_dtype t = imp_type(z)->dtype;
    if (pt_real(c, 4) != 1)
        z = pt_mul(c, z, pt_as(c, alpha, t));
    if (pt_real(c, 3) == 0) { /* even where self is NaN */
        pt_out(c, z);
        return;
    }
    if (pt_real(c, 3) != 1)
        x = pt_mul(c, x, pt_as(c, beta, t));
    pt_out(c, pt_add(c, x, z));
}

static void outer(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_value first = imp_unsqueeze(c, v[0], 1);
    pt_out(c, pt_mul(c, first, imp_unsqueeze(c, v[1], 0)));
}

static void addr(imp_node *c)
{
    tn_value first = imp_unsqueeze(c, pt_in(c, 1), 1);
    tn_value z = pt_mul(c, first, imp_unsqueeze(c, pt_in(c, 2), 0));
    tn_dtype t = imp_type(z)->dtype;
    z = pt_mul(c, z, pt_as(c, pt_arg(c, 4), t));
    tn_value x = pt_in(c, 0);
    x = pt_mul(c, x, pt_as(c, pt_arg(c, 3), t));
    pt_out(c, pt_real(c, 3) == 0 ? z : pt_add(c, x, z));
}

static void vecdot(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_value z = pt_mul(c, v[0], v[1]);
    int64_t axis = c->n_in > 2 ? pt_axis(c, 2, imp_rank(z)) : imp_rank(z) - 1;
    pt_out(c, pt_sum(c, &tn_op_sum, z, tn_ints_make(c->arena, 1, &axis), false));
}

/* Sums over the last dimension of both. */
static void inner(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    if (!imp_rank(v[0]) || !imp_rank(v[1])) {
        pt_out(c, pt_mul(c, v[0], v[1]));
        return;
    }
    int a = imp_rank(v[0]), b = imp_rank(v[1]);
    const tn_expr *dim[2 * IMP_MAX_RANK],
        *flat[2] = {imp_product(c, imp_type(v[1]), 0, b - 1), imp_type(v[1])->dim[b - 1]};
    if (a + b - 2 > IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "the result would have %d dimensions", a + b - 2);
        return;
    }
    for (int d = 0; d < a - 1; d++)
        dim[d] = imp_type(v[0])->dim[d];
    for (int d = 0; d < b - 1; d++)
        dim[a - 1 + d] = imp_type(v[1])->dim[d];
    tn_value w = imp_reshape(c, v[1], 2, flat);
    pt_out(c, imp_reshape(c, pt_linear(c, v[0], w, (tn_value){0}), a + b - 2, dim));
}

static void cross(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    int rank = imp_rank(v[0]), axis = -1;
    int64_t n;
    for (int d = 0; d < rank && axis < 0 && !pt_given(c, 2); d++)
        if (tn_is_int(imp_type(v[0])->dim[d], &n) && n == 3)
            axis = d;
    axis = axis < 0 ? pt_axis(c, 2, rank) : axis;
    tn_value part[3];
    for (int i = 0; i < 3; i++) {
        int64_t j = (i + 1) % 3, k = (i + 2) % 3;
        tn_value second = imp_slice(c, v[0], axis, j, j + 1);
        tn_value first = pt_mul(c, second, imp_slice(c, v[1], axis, k, k + 1));
        tn_value third = imp_slice(c, v[0], axis, k, k + 1);
        part[i] = pt_sub(c, first, pt_mul(c, third, imp_slice(c, v[1], axis, j, j + 1)));
    }
    pt_out(c, imp_concat(c, 3, part, axis));
}

static void kron(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    int rank = imp_rank(v[0]) > imp_rank(v[1]) ? imp_rank(v[0]) : imp_rank(v[1]);
    const tn_expr *a[IMP_MAX_RANK], *b[IMP_MAX_RANK], *to[IMP_MAX_RANK];
    if (2 * rank > IMP_MAX_RANK) {
        imp_refuse(c, IMP_TOO_LARGE, "kron of %d dimensions is not supported", rank);
        return;
    }
    for (int i = 0; i < 2; i++)
        v[i] = pt_broadcast_rank(c, v[i], rank);
    for (int d = 0; d < rank; d++) {
        a[2 * d] = imp_type(v[0])->dim[d];
        a[2 * d + 1] = b[2 * d] = tn_idx(c->pool, 1);
        b[2 * d + 1] = imp_type(v[1])->dim[d];
        to[d] = imp_simplify(c, tn_mul(c->pool, a[2 * d], b[2 * d + 1]));
    }
    tn_value first = imp_reshape(c, v[0], 2 * rank, a);
    pt_out(c, imp_reshape(c, pt_mul(c, first, imp_reshape(c, v[1], 2 * rank, b)), rank, to));
}

/* ---- einsum ---- */

static void einsum(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 1, &n);
    const char *s = pt_string(c, 0);
    char *to = tn_arena_alloc(c->arena, strlen(s) + 1, 1), *at = to;
    for (; *s; s++)
        if (*s != ' ')
            *at++ = *s;
    tn_einsum_attr a = {to};
    for (uint32_t i = 1; i < n; i++)
        v[i] = imp_cast(c, v[i], imp_type(v[0])->dtype);
    pt_out(c, imp_call(c, &tn_op_einsum, &a, (int)n, v));
}

/* Contracts the dimensions of a and b that are listed. */
static void tensordot(imp_node *c)
{
    tn_value a = pt_in(c, 0), b = pt_in(c, 1);
    tn_ints x = pt_ints(c, 2), y = pt_ints(c, 3);
    char eq[64];
    size_t n = 0;
    int ra = imp_rank(a), rb = imp_rank(b);
    char lb[IMP_MAX_RANK + 1] = {0};
    if (x.n != y.n)
        imp_refuse(c, IMP_BAD_VALUE, "%u axes of the first operand are summed with %u of the second",
                   (unsigned)x.n, (unsigned)y.n);
    if (c->bad)
        return;
    for (int d = 0; d < rb; d++)
        lb[d] = (char)('m' + d);
    for (uint32_t i = 0; i < x.n && !c->bad; i++)
        lb[imp_axis(c, y.at[i], rb)] = (char)('a' + imp_axis(c, x.at[i], ra));
    for (int d = 0; d < ra; d++)
        eq[n++] = (char)('a' + d);
    eq[n++] = ',';
    for (int d = 0; d < rb; d++)
        eq[n++] = lb[d];
    eq[n++] = '-';
    eq[n++] = '>';
    for (int d = 0; d < ra; d++)
        if (!memchr(lb, 'a' + d, (size_t)rb))
            eq[n++] = (char)('a' + d);
    for (int d = 0; d < rb; d++)
        if (lb[d] >= 'm')
            eq[n++] = lb[d];
    eq[n] = 0;
    tn_einsum_attr e = {tn_arena_strdup(c->arena, eq)};
    pt_out(c, c->bad ? a : imp_call2(c, &tn_op_einsum, &e, a, b));
}

static void chain(imp_node *c)
{
    uint32_t n;
    tn_value *v = pt_list_in(c, 0, &n);
    if (!n) {
        imp_refuse(c, IMP_OPERANDS, "the list has no matrices");
        return;
    }
    tn_value z = v[0];
    for (uint32_t i = 1; i < n; i++)
        z = pt_matmul(c, z, v[i]);
    pt_out(c, z);
}

static void matrix_power(imp_node *c)
{
    tn_value x = pt_in(c, 0), z = x;
    int64_t n = pt_integer(c, 1);
    if (n < 1 || n > 64) {
        imp_refuse(c, IMP_BAD_VALUE, "the power %lld of a matrix is not supported", (long long)n);
        return;
    }
    for (int64_t i = 1; i < n; i++)
        z = pt_matmul(c, z, x);
    pt_out(c, z);
}

/* ---- attention ---- */

/* scaled_dot_product_attention(q, k, v, mask, dropout, causal, scale, enable_gqa) */
static tn_value attention(imp_node *c, tn_value q, tn_value k, tn_value v, tn_value mask, pt_value causal,
                          double scale)
{
    tn_value first = pt_mul(c, q, pt_num(c, q, scale));
    tn_value s = pt_matmul(c, first, pt_swap(c, k, imp_rank(k) - 2, imp_rank(k) - 1));
    int rank = imp_rank(s);
    if (!c->bad && rank < 2)
        imp_refuse(c, IMP_OPERANDS, "queries %s and keys %s must have two dimensions or more",
                   imp_type_text(c, imp_type(q)), imp_type_text(c, imp_type(k)));
    if (!(causal.kind == PT_BOOL && !causal.b) && !c->bad) {
        const tn_expr *dim[2] = {imp_type(s)->dim[rank - 2], imp_type(s)->dim[rank - 1]};
        tn_trilu_attr low = {false};
        tn_value ones = pt_expand(c, imp_const(c, TN_I32, 1), tn_dims_make(c->arena, 2, dim));
        tn_value in = imp_call2(c, &tn_op_trilu, &low, ones, imp_i64(c, 0));
        tn_value second = imp_cast(c, in, TN_BOOL1);
        if (causal.kind == PT_NUMBER)
            second = imp_binary(c, &tn_op_logical_or, second,
                                imp_unary(c, &tn_op_logical_not, imp_cast(c, causal.number->v, TN_BOOL1)));
        s = imp_choose(c, second, s, pt_num(c, s, -INFINITY));
    }
    if (mask.def && tn_dtype_is_bool(imp_type(mask)->dtype))
        s = imp_choose(c, mask, s, pt_num(c, s, -INFINITY));
    else if (mask.def)
        s = pt_add(c, s, mask);
    return pt_matmul(c, pt_softmax_of(c, &tn_op_nn_softmax, s, imp_rank(s) - 1), v);
}

/* Heads of keys repeated for the queries' heads. */
static tn_value heads(imp_node *c, tn_value k, tn_value q)
{
    int64_t nk, nq;
    int rank = imp_rank(k), axis = rank - 3;
    if (axis < 0 || axis >= imp_rank(q) || !tn_is_int(imp_type(k)->dim[axis], &nk) ||
        !tn_is_int(imp_type(q)->dim[axis], &nq) || nk == nq || !nk)
        return k;
    const tn_expr *dim[IMP_MAX_RANK + 1], *to[IMP_MAX_RANK];
    for (int d = 0; d <= rank; d++)
        dim[d] = d <= axis       ? imp_type(k)->dim[d]
                 : d == axis + 1 ? tn_idx(c->pool, nq / nk)
                                 : imp_type(k)->dim[d - 1];
    for (int d = 0; d < rank; d++)
        to[d] = d == axis ? tn_idx(c->pool, nq) : imp_type(k)->dim[d];
    return imp_reshape(
        c, pt_expand(c, imp_unsqueeze(c, k, axis + 1), tn_dims_make(c->arena, (uint32_t)rank + 1, dim)), rank,
        to);
}

static void sdpa(imp_node *c)
{
    tn_value q = pt_in(c, 0), k = pt_in(c, 1), v = pt_in(c, 2);
    int64_t width = 1;
    if (pt_real(c, 4) != 0)
        imp_refuse(c, IMP_BAD_VALUE,
                   "dropout in attention is not supported; call model.eval() before saving it");
    if (!pt_given(c, 6) && (!imp_rank(q) || !tn_is_int(imp_type(q)->dim[imp_rank(q) - 1], &width)))
        imp_refuse(c, IMP_NOT_CONSTANT, "the width of a head must be known");
    double scale = pt_given(c, 6) ? pt_real(c, 6) : 1 / sqrt((double)width);
    if (pt_truth(c, 7)) {
        k = heads(c, k, q);
        v = heads(c, v, q);
    }
    tn_dtype t = imp_type(q)->dtype;
    tn_value mask = pt_in(c, 3);
    q = pt_wide(c, q);
    k = pt_wide(c, k);
    v = pt_wide(c, v);
    if (mask.def && !pt_is_bool(mask))
        mask = imp_cast(c, mask, imp_type(q)->dtype);
    pt_value causal = pt_arg(c, 5).kind == PT_NUMBER ? pt_arg(c, 5) : pt_bool(pt_truth(c, 5));
    pt_out(c, imp_cast(c, attention(c, q, k, v, mask, causal, scale), t));
}

static void det(imp_node *c) { pt_out(c, imp_unary(c, &tn_op_det, pt_float_in(c, 0))); }

/* ---- distances ---- */

/* cdist(x1, x2, p) */
static void cdist(imp_node *c)
{
    tn_value a = pt_in(c, 0), b = pt_in(c, 1);
    double p = pt_real(c, 2);
    int ra = imp_rank(a), rb = imp_rank(b);
    tn_value first = imp_unsqueeze(c, a, ra - 1);
    tn_value d = pt_sub(c, first, imp_unsqueeze(c, b, rb - 2));
    int64_t last = imp_rank(d) - 1;
    tn_ints axis = tn_ints_make(c->arena, 1, &last);
    pt_out(c, pt_norm(c, d, p, axis, false));
}

static void pairwise(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    double p = pt_real(c, 2), eps = pt_real(c, 3);
    for (int i = 0; i < 2; i++)
        v[i] = imp_cast(c, v[i], pt_float_type(imp_type(v[i])->dtype));
    tn_value first = pt_sub(c, v[0], v[1]);
    tn_value d = imp_unary(c, &tn_op_abs, pt_add(c, first, pt_num(c, v[0], eps)));
    int64_t last = imp_rank(d) - 1;
    tn_ints axis = tn_ints_make(c->arena, 1, &last);
    pt_out(c, pt_norm(c, d, p, axis, pt_truth(c, 4)));
}

static void cosine(imp_node *c)
{
    tn_value v[2];
    pt_pair(c, 0, 1, v);
    tn_dtype t = pt_float_type(imp_type(v[0])->dtype);
    tn_value a = imp_cast(c, v[0], t), b = imp_cast(c, v[1], t), ab = pt_mul(c, a, b);
    int64_t axis = pt_axis(c, 2, imp_rank(ab));
    tn_ints along = tn_ints_make(c->arena, 1, &axis);
    tn_value eps = imp_const(c, t, pt_real(c, 3)), n[2] = {a, b};
    along.n = imp_rank(ab) ? along.n : 0; /* of scalars there is nothing to add up */
    for (int i = 0; i < 2; i++) {
        n[i] = imp_rank(ab) ? pt_expand(c, n[i], pt_shape(c, ab)) : n[i];
        n[i] = imp_unary(c, &tn_op_sqrt, pt_sum(c, &tn_op_sum, pt_mul(c, n[i], n[i]), along, false));
        n[i] = imp_binary(c, &tn_op_maximum, n[i], eps);
    }
    tn_value first = pt_sum(c, &tn_op_sum, ab, along, false);
    pt_out(c, pt_div(c, first, pt_mul(c, n[0], n[1])));
}

#define PLUS(name, a, b) \
    {name "(Tensor self, Tensor " a ", Tensor " b ", *, Scalar beta=1, Scalar alpha=1)", plus_product, NULL, \
     0}
const pt_row pt_rows_matrix[] = {
    {"matmul(Tensor self, Tensor other)", matmul, NULL, PT_PRODUCT},
    {"linalg_matmul(Tensor self, Tensor other)", matmul, NULL, PT_PRODUCT},
    {"__matmul__(Tensor self, Tensor other)", matmul, NULL, PT_PRODUCT},
    {"mm(Tensor self, Tensor mat2)", matmul, NULL, PT_PRODUCT},
    {"bmm(Tensor self, Tensor mat2)", matmul, NULL, PT_PRODUCT},
    {"mv(Tensor self, Tensor vec)", matmul, NULL, PT_PRODUCT},
    {"dot(Tensor self, Tensor tensor)", vecdot, NULL, PT_PRODUCT},
    {"vdot(Tensor self, Tensor other)", vecdot, NULL, 0},
    {"linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)", vecdot, NULL, 0},
    {"inner(Tensor self, Tensor other)", inner, NULL, PT_PRODUCT},
    PLUS("addmm", "mat1", "mat2"),
    PLUS("addbmm", "batch1", "batch2"),
    PLUS("baddbmm", "batch1", "batch2"),
    PLUS("addmv", "mat", "vec"),
    {"addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", addr, NULL, 0},
    {"outer(Tensor self, Tensor vec2)", outer, NULL, PT_PRODUCT},
    {"ger(Tensor self, Tensor vec2)", outer, NULL, PT_PRODUCT},
    {"cross(Tensor self, Tensor other, int? dim=None)", cross, NULL, PT_PRODUCT},
    {"linalg_cross(Tensor self, Tensor other, *, int? dim=-1)", cross, NULL, 0},
    {"kron(Tensor self, Tensor other)", kron, NULL, PT_PRODUCT},
    {"einsum(str equation, Tensor[] tensors, any path=None)", einsum, NULL, PT_PRODUCT},
    {"tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)", tensordot, NULL, PT_PRODUCT},
    {"linalg_multi_dot(Tensor[] tensors)", chain, NULL, PT_PRODUCT},
    {"chain_matmul(Tensor[] matrices)", chain, NULL, PT_PRODUCT},
    {"matrix_power(Tensor self, int n)", matrix_power, NULL, 0},
    {"linalg_matrix_power(Tensor self, int n)", matrix_power, NULL, 0},
    {"scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
     "dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
     sdpa, NULL, 0},
    {"det(Tensor self)", det, NULL, 0},
    {"linalg_det(Tensor A)", det, NULL, 0},
    {"cdist(Tensor x1, Tensor x2, float p=2, any compute_mode=None)", cdist, NULL, 0},
    {"_cdist_forward(Tensor x1, Tensor x2, float p, any compute_mode=None)", cdist, NULL, 0},
    {"pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False)", pairwise,
     NULL, 0},
    {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", cosine, NULL, 0},
    {0},
};
