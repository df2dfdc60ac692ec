/* Layers of several operands. */
#include "frontend/keras/rows.h"

#include <string.h>

/* Operands of fewer dimensions get new ones after the first. */
static tn_value aligned(imp_node *c, size_t i, int rank)
{
    tn_value v = keras_in(c, i);
    while (!c->bad && imp_rank(v) < rank)
        v = imp_unsqueeze(c, v, imp_rank(v) < 1 ? 0 : 1);
    return v;
}

static int largest_rank(imp_node *c)
{
    int rank = 0;
    for (size_t i = 0; i < keras_n_in(c); i++) {
        int r = imp_rank(keras_in(c, i));
        rank = r > rank ? r : rank;
    }
    return rank;
}

/* What counts of either counts; one that has no mask takes all of them away. */
static tn_value joined_mask(imp_node *c)
{
    tn_value mask = keras_mask(c, 0);
    for (size_t i = 1; i < keras_n_in(c) && mask.def; i++) {
        tn_value next = keras_mask(c, i);
        const tn_op *op = c->version >= 3 ? &tn_op_logical_or : &tn_op_logical_and;
        mask = next.def ? imp_binary(c, op, mask, next) : next;
    }
    return mask;
}

/* A sum as what TensorFlow divides: of integers, floats. */
static tn_value divisible(imp_node *c, tn_value sum)
{
    tn_dtype t = imp_type(sum)->dtype;
    return tn_dtype_is_int(t) ? imp_cast(c, sum, t.bits < 32 ? TN_F32 : TN_F64) : sum;
}

/* A mask as long as the data, repeated along the further dimensions; none: all ones. */
static tn_value whole_mask(imp_node *c, size_t i)
{
    tn_value x = keras_in(c, i), mask = keras_mask(c, i);
    if (c->bad)
        return x;
    tn_broadcast_to_attr a = {{imp_type(x)->n, imp_type(x)->dim}};
    if (!mask.def)
        mask = imp_const(c, TN_BOOL1, 1);
    for (int r = imp_rank(mask); r && r < imp_rank(x); r++)
        mask = imp_unsqueeze(c, mask, r);
    return imp_call1(c, &tn_op_broadcast_to, &a, mask);
}

/* What counts of an operand's elements; absent: all of them. From Keras 3.4 on, products, maxima and minima heed it. */
static tn_value elements_mask(imp_node *c, const tn_op *op, size_t i, int rank)
{
    bool heeded = op == &tn_op_multiply || op == &tn_op_maximum || op == &tn_op_minimum;
    bool there =
        heeded && keras_of(c)->merges_masked && keras_mask(c, i).def && imp_rank(keras_in(c, i)) == rank;
    return there ? whole_mask(c, i) : (tn_value){0};
}

static tn_value where_masked(imp_node *c, tn_value mask, tn_value v, tn_value other)
{
    return mask.def ? imp_choose(c, mask, v, other) : v;
}

/* All operands by op. What does not count is 1 in a product, and the other operand in a maximum; where nothing counts,
 * a product is 0. */
static tn_value merged(imp_node *c, const tn_op *op, int rank)
{
    const bool product = op == &tn_op_multiply;
    tn_value y = aligned(c, 0, rank), counts = elements_mask(c, op, 0, rank);
    y = product ? where_masked(c, counts, y, keras_like(c, y, 1)) : y;
    for (size_t i = 1; i < keras_n_in(c) && !c->bad; i++) {
        tn_value two[] = {y, aligned(c, i, rank)}, mask = elements_mask(c, op, i, rank);
        keras_promote(c, 2, two);
        two[1] = where_masked(c, mask, two[1], product ? keras_like(c, two[1], 1) : two[0]);
        two[0] = product ? two[0] : where_masked(c, counts, two[0], two[1]);
        counts = mask.def && counts.def ? imp_binary(c, &tn_op_logical_or, counts, mask) : (tn_value){0};
        y = imp_binary(c, op, two[0], two[1]);
    }
    return product ? where_masked(c, counts, y, keras_like(c, y, 0)) : y;
}

static void merge_by(imp_node *c, const tn_op *op, bool average)
{
    tn_value y = merged(c, op, largest_rank(c));
    y = average ? divisible(c, y) : y;
    if (average)
        y = imp_binary(c, &tn_op_divide, y, keras_like(c, y, (double)keras_n_in(c)));
    keras_out_masked(c, y, joined_mask(c));
}

static void merge(imp_node *c) { merge_by(c, c->row->relay, strcmp(c->row->op, "Average") == 0); }

static tn_value concatenated_mask(imp_node *c, int axis)
{
    static const int64_t last[] = {-1};
    size_t n = keras_n_in(c), masked = 0;
    tn_value *part = TN_NEW_N(c->arena, tn_value, n);
    for (size_t i = 0; i < n; i++)
        masked += keras_mask(c, i).def != NULL;
    if (!masked || c->bad)
        return (tn_value){0};
    for (size_t i = 0; i < n; i++)
        part[i] = imp_cast(c, whole_mask(c, i), TN_DT(TN_INT, 32));
    tn_value all = imp_concat(c, (uint32_t)n, part, axis);
    tn_value any = keras_reduce(c, c->version >= 3 ? &tn_op_max : &tn_op_min, all, 1, last, false);
    return imp_cast(c, any, TN_BOOL1);
}

static void concatenate_along(imp_node *c, int64_t along)
{
    size_t n = keras_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    for (size_t i = 0; i < n; i++)
        in[i] = keras_in(c, i);
    keras_promote(c, n, in);
    int axis = c->bad ? 0 : imp_axis(c, along, imp_rank(in[0]));
    if (!c->bad)
        in[0] = imp_concat(c, (uint32_t)n, in, axis);
    if (!c->bad)
        keras_out_masked(c, in[0], concatenated_mask(c, axis));
}

static void concatenate(imp_node *c) { concatenate_along(c, keras_int(c, "axis", -1)); }

/* Keras 1 had one layer for all of these. */
static void merge_layer(imp_node *c)
{
    static const struct {
        const char *mode;
        const tn_op *op;
    } modes[] = {{"sum", &tn_op_add}, {"ave", &tn_op_add}, {"mul", &tn_op_multiply}, {"max", &tn_op_maximum}};
    const char *mode = keras_text(c, "mode", "sum");
    int64_t axis = keras_int(c, "concat_axis", -1);
    keras_ignore(c, "mode_type");
    keras_ignore(c, "dot_axes");
    keras_ignore(c, "output_shape_type");
    keras_ignore(c, "output_mask_type");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(mode, modes[i].mode) == 0) {
            merge_by(c, modes[i].op, i == 1);
            return;
        }
    if (strcmp(mode, "concat") == 0)
        concatenate_along(c, axis);
    else
        imp_refuse(c, IMP_BAD_VALUE, "mode \"%s\" is not supported, only sum, ave, mul, max and concat are",
                   mode);
}

/* x / sqrt(max(sum of squares, 1e-12)) */
static tn_value normalized(imp_node *c, tn_value x, int64_t axis)
{
    tn_value squares = keras_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, x), 1, &axis, true);
    squares = imp_binary(c, &tn_op_maximum, squares, keras_like(c, squares, 1e-12));
    return imp_binary(c, &tn_op_multiply, x, imp_unary(c, &tn_op_rsqrt, squares));
}

/* Sums of products along one axis of each: the other dimensions of the first operand, then those of the second. */
static void dot(imp_node *c)
{
    int64_t axes[2] = {-1, -1};
    tn_value a = keras_in(c, 0), b = keras_in(c, 1);
    (void)keras_ints(c, "axes", 2, axes);
    bool cosine = keras_bool(c, "normalize", false);
    if (c->bad)
        return;
    int n = imp_rank(a), m = imp_rank(b), at = imp_axis(c, axes[0], n), bt = imp_axis(c, axes[1], m);
    char equation[64], *e = equation;
    if (c->bad || at == 0 || bt == 0) {
        imp_refuse(c, IMP_BAD_VALUE, "axes must not name the first dimension");
        return;
    }
    if (cosine) {
        a = normalized(c, a, at);
        b = normalized(c, b, bt);
    }
    for (int i = 0; i < n; i++)
        *e++ = (char)(i == at ? 'z' : 'a' + i);
    *e++ = ',';
    for (int i = 0; i < m; i++)
        *e++ = (char)(i == 0 ? 'a' : i == bt ? 'z' : 'k' + i);
    e = stpcpy(e, "->a");
    for (int i = 1; i < n; i++)
        if (i != at)
            *e++ = (char)('a' + i);
    for (int i = 1; i < m; i++)
        if (i != bt)
            *e++ = (char)('k' + i);
    *e = 0;
    tn_value y = keras_einsum(c, equation, a, b);
    keras_out_masked(c, n == 2 && m == 2 ? imp_unsqueeze(c, y, 1) : y, (tn_value){0});
}

// clang-format off
const keras_row keras_rows_merge[] = {
    LAYER("Merge",       merge_layer, NULL,            NULL, 0, NULL),
    LAYER("Add",         merge,       &tn_op_add,      NULL, 0, NULL),
    LAYER("Subtract",    merge,       &tn_op_subtract, NULL, 0, NULL),
    LAYER("Multiply",    merge,       &tn_op_multiply, NULL, 0, NULL),
    LAYER("Average",     merge,       &tn_op_add,      NULL, 0, NULL),
    LAYER("Maximum",     merge,       &tn_op_maximum,  NULL, 0, NULL),
    LAYER("Minimum",     merge,       &tn_op_minimum,  NULL, 0, NULL),
    LAYER("Concatenate", concatenate, NULL,            NULL, 0, NULL),
    LAYER("TFDConcat",   concatenate, NULL,            NULL, 0, NULL), /* of FeatureSpace */
    LAYER("Dot",         dot,         NULL,            NULL, 0, NULL),
    END_OF_ROWS,
};
// clang-format on
