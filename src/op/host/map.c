/* Maps: values by keys, which are int64 or texts. */
#include "op/rule.h"

#include "op/host/host.h"

/* A list of keys. */
static tn_status keys_in(tn_graph *g, const tn_node *n, int i, const tn_type **out)
{
    TN_TRY(tn_rule_tensor(g, n, i, 1, out));
    return tn_dtype_is_string((*out)->dtype) || tn_dtype_eq((*out)->dtype, TN_I64)
               ? TN_OK
               : tn_rule_fail(g, n, "op-E082", "%s must be int64 or texts, but is %s",
                              tn_rule_in_name(g, n, i), tn_rule_type_text(g, *out));
}

/* The types of one key and one value. */
static tn_status map_in(tn_graph *g, const tn_node *n, const tn_type **out_key, const tn_type **out_value)
{
    const tn_type *t = tn_in_type(n, 0);
    bool ok = t->kind == TN_T_MAP;
    for (int i = 0; i < 2 && ok; i++)
        ok = t->field[i]->kind == TN_T_TENSOR && t->field[i]->n == 0;
    if (!ok)
        return tn_rule_fail(g, n, "op-E082", "%s must be a map to numbers or texts, but is %s",
                            tn_rule_in_name(g, n, 0), tn_rule_type_text(g, t));
    *out_key = t->field[0];
    *out_value = t->field[1];
    return TN_OK;
}

static tn_status zip_infer(tn_graph *g, tn_node *n)
{
    const tn_type *keys, *rows;
    int64_t n_keys, n_values;
    TN_TRY(keys_in(g, n, 0, &keys));
    TN_TRY(tn_rule_tensor(g, n, 1, -1, &rows));
    if (rows->n < 1 || rows->n > 2)
        return tn_rule_fail(g, n, "op-E003", "the values must have 1 or 2 dimensions, but are %s",
                            tn_rule_type_text(g, rows));
    if (tn_is_int(keys->dim[0], &n_keys) && tn_is_int(rows->dim[rows->n - 1], &n_values) &&
        n_keys != n_values)
        return tn_rule_fail(g, n, "op-E008", "there are %lld keys, but rows of %lld values",
                            (long long)n_keys, (long long)n_values);
    const tn_type *key = tn_type_tensor(g->pool, keys->dtype, 0, NULL, NULL),
                  *value = tn_type_tensor(g->pool, rows->dtype, 0, NULL, NULL);
    n->type[0] = tn_type_seq(g->pool, tn_type_map(g->pool, key, value));
    return TN_OK;
}

static tn_status list(tn_graph *g, tn_node *n, const tn_type *element, const tn_expr *extent)
{
    int64_t size;
    extent = tn_is_int(extent, &size) ? extent : tn_any_dim(g->pool);
    n->type[0] = tn_type_tensor(g->pool, element->dtype, 1, &extent, NULL);
    return TN_OK;
}

static tn_status keys_infer(tn_graph *g, tn_node *n)
{
    const tn_type *key, *value;
    TN_TRY(map_in(g, n, &key, &value));
    return list(g, n, key, tn_any_dim(g->pool));
}

static tn_status values_infer(tn_graph *g, tn_node *n)
{
    const tn_type *key, *value;
    TN_TRY(map_in(g, n, &key, &value));
    return list(g, n, value, tn_any_dim(g->pool));
}

static tn_status get_infer(tn_graph *g, tn_node *n)
{
    const tn_type *key, *value, *keys, *absent;
    TN_TRY(map_in(g, n, &key, &value));
    TN_TRY(keys_in(g, n, 1, &keys));
    TN_TRY(tn_rule_tensor(g, n, 2, 0, &absent));
    if (!tn_dtype_eq(keys->dtype, key->dtype) || !tn_dtype_eq(absent->dtype, value->dtype))
        return tn_rule_fail(g, n, "op-E082", "%s and %s do not fit %s", tn_rule_type_text(g, keys),
                            tn_rule_type_text(g, absent), tn_rule_type_text(g, tn_in_type(n, 0)));
    return list(g, n, value, keys->dim[0]);
}

/* clang-format off */
static const char *const zip_in[] = {"keys", "values"};
static const char *const map_names[] = {"map", "keys", "absent"};

const tn_op tn_op_map_zip = {
    .name = "map.zip", .doc = "A sequence of maps from the keys to each row of values.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = zip_in, .infer = zip_infer, .host = "map.zip",
};

const tn_op tn_op_map_keys = {
    .name = "map.keys", .doc = "The keys of a map, ascending.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = map_names, .infer = keys_infer,
    .host = "map.keys",
};

const tn_op tn_op_map_values = {
    .name = "map.values", .doc = "The values of a map in the ascending order of their keys.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = map_names, .infer = values_infer,
    .host = "map.values",
};

const tn_op tn_op_map_get = {
    .name = "map.get", .doc = "The values at given keys, and `absent` at those that the map does not have.",
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = map_names, .infer = get_infer,
    .host = "map.get",
};
/* clang-format on */
