/* Categories: the rows that are made of their numbers; bins, hashes. */
#include "frontend/keras/category.h"
#include "frontend/keras/rows.h"

#include <string.h>

tn_dtype keras_encoded_type(imp_node *c)
{
    tn_dtype t = keras_layer_of(c)->dtype;
    return t.bits && tn_dtype_is_float(t) ? t : TN_F32;
}

tn_value keras_shaped_like(imp_node *c, tn_value v, tn_value x)
{
    keras_import *k = keras_of(c);
    const tn_expr *any = tn_any_dim(c->pool);
    for (int i = 0; !c->bad && i < imp_rank(x); i++)
        if (imp_type(x)->dim[i] != any)
            (void)imp_with_extent(c, &v, i, imp_type(x)->dim[i]);
    if (c->bad || !imp_rank(x))
        return v;
    if (imp_type(x)->dim[0] == any && k->batch)
        (void)imp_with_extent(c, &v, 0, k->batch);
    v = tn_unboxed(c->g, v);
    if (imp_type(x)->dim[0] == any && c->im->r == tn_graph_function(c->g, "main")->body)
        k->batch = imp_type(v)->dim[0];
    return v;
}

void keras_encode(imp_node *c, tn_value at, int64_t depth, const char *mode, tn_dtype t, tn_value weights)
{
    static const int64_t before_last[] = {-2};
    const tn_expr *d = tn_idx(c->pool, depth);
    if (c->bad)
        return;
    if (strcmp(mode, "int") == 0) {
        keras_out(c, at);
        return;
    }
    bool one_hot = strcmp(mode, "one_hot") == 0, multi = strcmp(mode, "multi_hot") == 0;
    if (one_hot && imp_rank(at) > 1 && tn_is_value(imp_type(at)->dim[imp_rank(at) - 1], 1))
        at = imp_squeeze(c, at, imp_rank(at) - 1);
    tn_value each = imp_unsqueeze(c, imp_cast(c, at, TN_I64), imp_rank(at));
    tn_value hits = imp_cast(c, imp_binary(c, &tn_op_equal, each, imp_count_up(c, d)), t);
    if (!one_hot && !multi && strcmp(mode, "count") != 0 && !weights.def)
        imp_refuse(
            c, IMP_BAD_VALUE,
            "output_mode \"%s\" is not supported; int, one_hot, multi_hot, count and tf_idf (of lookups) are",
            mode);
    if (!one_hot && !c->bad && imp_rank(hits) > 1) {
        hits = keras_reduce(c, multi ? &tn_op_max : &tn_op_sum, hits, 1, before_last, false);
        if (multi) /* of no numbers at all, as of texts without words */
            hits = imp_binary(c, &tn_op_maximum, hits, keras_like(c, hits, 0));
    }
    if (weights.def)
        hits = imp_binary(c, &tn_op_multiply, imp_cast(c, hits, imp_type(weights)->dtype), weights);
    keras_out(c, hits);
}

static void refuse_sparse(imp_node *c)
{
    if (keras_bool(c, "sparse", false))
        imp_refuse(c, IMP_BAD_VALUE, "sparse results are not supported; save the model with sparse=False");
}

/* How many boundaries lie at or below x. */
static void discretization(imp_node *c)
{
    static const int64_t last[] = {-1};
    tn_value x = keras_in(c, 0);
    const tn_json *v = keras_config(c, "bin_boundaries");
    const char *mode = keras_text(c, "output_mode", "int");
    keras_ignore(c, "num_bins");
    keras_ignore(c, "epsilon");
    refuse_sparse(c);
    if (!tn_json_is(v, TN_JSON_ARRAY)) {
        imp_refuse(c, IMP_BAD_VALUE, "bin_boundaries must be a list of numbers");
        return;
    }
    x = imp_cast(c, x, TN_F32);
    tn_value bins = keras_json_tensor(c, v, TN_F32), each = imp_unsqueeze(c, x, imp_rank(x));
    tn_value below = imp_binary(c, &tn_op_less, each, bins); /* of a NaN: never */
    tn_value above = imp_cast(c, imp_unary(c, &tn_op_logical_not, below), TN_I32);
    tn_value at = keras_reduce(c, &tn_op_sum, above, 1, last, false);
    at = imp_cast(c, at, c->version >= 3 ? TN_I32 : TN_I64);
    keras_encode(c, at, (int64_t)v->n + 1, mode, keras_encoded_type(c), (tn_value){0});
}

static void category_encoding(imp_node *c)
{
    tn_value x = keras_in(c, 0), weights = keras_tensor_of(c, 1, "count_weights");
    int64_t n = keras_int(c, "num_tokens", 0);
    const char *mode = keras_text(c, "output_mode", "multi_hot");
    refuse_sparse(c);
    if (n < 1 || n > INT32_MAX || strcmp(mode, "int") == 0 || weights.def)
        imp_refuse(c, IMP_BAD_VALUE, "num_tokens must be given, and count_weights are not supported");
    keras_encode(c, x, n, mode, keras_encoded_type(c), (tn_value){0});
}

/* ---- hashes ---- */

static int64_t read_bins(imp_node *c)
{
    int64_t n = keras_int(c, "num_bins", 0);
    refuse_sparse(c);
    if (n < 1)
        imp_refuse(c, IMP_BAD_VALUE, "num_bins must be at least 1; the model is damaged");
    return n;
}

static tn_value as_text(imp_node *c, tn_value x)
{
    return c->bad || imp_is_text(x) ? x : imp_unary(c, &tn_op_string_of_number, imp_cast(c, x, TN_I64));
}

/* bool: where x is the mask */
static tn_value where_masked(imp_node *c, tn_value x, const tn_json *mask)
{
    int64_t number = 0;
    if (c->bad)
        return x;
    if (imp_is_text(x))
        return imp_binary(c, &tn_op_string_equal, x, imp_const_text(c, imp_text(c->im, keras_bytes(mask))));
    if (!keras_whole(mask, &number))
        imp_refuse(c, IMP_BAD_VALUE, "mask_value must be an integer for data %s",
                   imp_type_text(c, imp_type(x)));
    return imp_binary(c, &tn_op_equal, x, keras_like(c, x, (double)number));
}

/* With a mask, its number is 0 and those of hashes begin at 1. */
static void hashing(imp_node *c)
{
    int64_t bins = read_bins(c), key[IMP_MAX_RANK] = {0};
    const char *mode = keras_text(c, "output_mode", "int");
    tn_value x = keras_in(c, 0), all = {0};
    const tn_json *mask = keras_config(c, "mask_value");
    int n_key = keras_list(c, "salt", 2, key);
    bool masked = mask && bins > 1;
    tn_string_hash_attr a = {
        .buckets = bins - masked, .strong = n_key > 0, .key0 = key[0], .key1 = key[n_key > 1]};
    if (c->bad)
        return;
    if (!imp_is_text(x))
        x = imp_cast(c, x, TN_I64);
    tn_value at = keras_shaped_like(c, imp_call1(c, &tn_op_string_hash, &a, as_text(c, x)), x);
    if (masked) {
        all = keras_shaped_like(c, where_masked(c, x, mask), at);
        at = imp_with(c, &tn_op_add, at, 1);
        at = imp_choose(c, all, imp_i64(c, 0), at);
    }
    keras_encode(c, at, bins, mode, keras_encoded_type(c), (tn_value){0});
}

static tn_value unsigned_of(imp_node *c, uint64_t v)
{
    uint64_t *at = tn_arena_copy(c->arena, &v, sizeof v, sizeof v);
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_DT(TN_UINT, 64), 0, NULL, at, NULL));
}

static tn_value mixed(imp_node *c, tn_value v)
{
    tn_value high = imp_binary(c, &tn_op_divide, v, unsigned_of(c, UINT64_C(1) << 47));
    return imp_binary(c, &tn_op_bitwise_xor, v, high);
}

/* TensorFlow's FingerprintCat64. */
static tn_value joined(imp_node *c, tn_value a, tn_value b)
{
    tn_value mul = unsigned_of(c, 0xc6a4a7935bd1e995u);
    b = imp_binary(c, &tn_op_multiply, mixed(c, imp_binary(c, &tn_op_multiply, b, mul)), mul);
    a = imp_binary(c, &tn_op_bitwise_xor, imp_binary(c, &tn_op_bitwise_xor, a, mul), b);
    a = mixed(c, imp_binary(c, &tn_op_multiply, a, mul));
    return mixed(c, imp_binary(c, &tn_op_multiply, a, mul));
}

static void hashed_crossing(imp_node *c)
{
    const tn_string_hash_attr whole = {0};
    int64_t bins = read_bins(c);
    const char *mode = keras_text(c, "output_mode", "int");
    tn_value all = unsigned_of(c, 0xdecafcaffe); /* the key, as TensorFlow's sparse.cross_hashed has it */
    for (size_t i = 0; i < keras_n_in(c) && !c->bad; i++) {
        tn_value x = keras_in(c, i), v = x;
        if (!c->bad && imp_is_text(x))
            v = keras_shaped_like(c, imp_call1(c, &tn_op_string_hash, &whole, x), x);
        v = imp_cast(c, imp_cast(c, v, TN_I64), TN_DT(TN_UINT, 64));
        all = joined(c, all, v);
    }
    if (c->bad)
        return;
    tn_value n = unsigned_of(c, (uint64_t)bins), times = imp_binary(c, &tn_op_divide, all, n);
    tn_value at = imp_binary(c, &tn_op_subtract, all, imp_binary(c, &tn_op_multiply, times, n));
    keras_encode(c, imp_cast(c, at, TN_I64), bins, mode, keras_encoded_type(c), (tn_value){0});
}

// clang-format off
const keras_row keras_rows_category[] = {
    LAYER("Discretization",   discretization,    NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    LAYER("CategoryEncoding", category_encoding, NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    LAYER("Hashing",          hashing,           NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    LAYER("HashedCrossing",   hashed_crossing,   NULL, NULL, KERAS_ANY_TYPE | KERAS_DROPS_MASK, NULL),
    END_OF_ROWS,
};
// clang-format on
