/* Shapes: flattening, reshaping, padding, cropping. */
#include "frontend/keras/rows.h"

#include <string.h>

/* With the channels first, elements are taken in the order of channels last. */
static void flatten(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    bool last = keras_channels_last(c);
    if (!last && imp_rank(x) > 2)
        x = imp_channels_last(c, x);
    if (c->bad || imp_rank(x) < 1)
        return;
    const tn_type *t = imp_type(x);
    const tn_expr *dim[] = {t->dim[0], imp_product(c, t, 1, t->n)};
    keras_out(c, imp_reshape(c, x, 2, dim));
}

/* One entry may be -1: what is left. */
static void reshape(imp_node *c)
{
    int64_t to[IMP_MAX_RANK];
    tn_value x = keras_in(c, 0);
    int n = keras_list(c, "target_shape", IMP_MAX_RANK - 1, to);
    if (c->bad)
        return;
    const tn_expr *dim[IMP_MAX_RANK] = {imp_rank(x) ? imp_type(x)->dim[0] : tn_idx(c->pool, 1)};
    for (int i = 0; i < n; i++)
        dim[1 + i] = tn_idx(c->pool, to[i]);
    tn_reshape_attr a = {tn_dims_make(c->arena, (uint32_t)(n < 0 ? 0 : n) + 1, dim), true};
    keras_out(c, imp_reshape_to(c, x, &a));
}

static void permute(imp_node *c)
{
    int64_t perm[IMP_MAX_RANK] = {0};
    tn_value x = keras_in(c, 0);
    int n = keras_list(c, "dims", IMP_MAX_RANK - 1, perm + 1);
    if (!c->bad && n + 1 != imp_rank(x))
        imp_refuse(c, IMP_BAD_VALUE, "dims has %d entries for %s; the model is damaged", n,
                   imp_type_text(c, imp_type(x)));
    if (!c->bad)
        keras_out(c, imp_transpose(c, x, n + 1, perm));
}

static void repeat_vector(imp_node *c)
{
    tn_value x = keras_in(c, 0);
    int64_t n = keras_int(c, "n", 1);
    if (!c->bad && (imp_rank(x) != 2 || n < 1))
        imp_refuse(c, IMP_BAD_VALUE, "%s cannot be repeated %lld times; the model is damaged",
                   imp_type_text(c, imp_type(x)), (long long)n);
    if (c->bad)
        return;
    const tn_expr *dim[] = {imp_type(x)->dim[0], tn_idx(c->pool, n), imp_type(x)->dim[1]};
    tn_broadcast_to_attr a = {tn_dims_make(c->arena, 3, dim)};
    keras_out(c, imp_call1(c, &tn_op_broadcast_to, &a, imp_unsqueeze(c, x, 1)));
}

/* ---- padding and cropping: one number, one for each dimension, or two for each ---- */

static bool read_pair(imp_node *c, const tn_json *v, int64_t out[2])
{
    const tn_json *inside = tn_json_find(v, "items");
    v = inside ? inside : v;
    bool one = keras_whole(v, &out[0]), ok = one;
    if (one)
        out[1] = out[0];
    else
        ok = tn_json_is(v, TN_JSON_ARRAY) && v->n == 2 && keras_whole(&v->u.at[0], &out[0]) &&
             keras_whole(&v->u.at[1], &out[1]);
    ok = ok && out[0] >= 0 && out[1] >= 0 && out[0] <= INT32_MAX && out[1] <= INT32_MAX;
    if (!ok)
        imp_refuse(c, IMP_BAD_VALUE, "numbers to pad or crop by must be pairs of integers from 0 on");
    return ok;
}

static void read_sides(imp_node *c, const char *key, int dims, int64_t out[][2])
{
    const tn_json *v = keras_config(c, key), *inside = tn_json_find(v, "items");
    int64_t one;
    v = inside ? inside : v;
    if (!v || c->bad)
        return;
    bool whole = keras_whole(v, &one) || dims == 1;
    if (!whole && (v->kind != TN_JSON_ARRAY || v->n != (uint32_t)dims))
        imp_refuse(c, IMP_BAD_VALUE, "%s must have one entry for each dimension", key);
    for (int i = 0; i < dims && !c->bad; i++)
        (void)read_pair(c, whole ? v : &v->u.at[i], out[i]);
}

static void sides(imp_node *c)
{
    bool crop = c->row->op[0] == 'C';
    tn_value x = keras_in(c, 0);
    int dims = imp_rank(x) - 2;
    int64_t side[IMP_MAX_SPATIAL][2], width[2 * IMP_MAX_RANK] = {0};
    bool last = keras_channels_last(c);
    if (!c->bad && (dims < 1 || dims > IMP_MAX_SPATIAL))
        imp_refuse(c, IMP_TOO_LARGE, "data %s must have three to five dimensions",
                   imp_type_text(c, imp_type(x)));
    for (int i = 0; i < IMP_MAX_SPATIAL; i++)
        side[i][0] = side[i][1] = 1;
    if (!c->bad)
        read_sides(c, crop ? "cropping" : "padding", dims, side);
    for (int i = 0; i < dims && !c->bad; i++)
        for (int k = 0; k < 2; k++)
            width[2 * ((last ? 1 : 2) + i) + k] = crop ? -side[i][k] : side[i][k];
    tn_pad_attr a = {.pad_width = tn_make_dims(c->g, 2 * (uint32_t)(c->bad ? 1 : imp_rank(x)), width),
                     .pad_mode = tn_intern(c->g->ctx, "constant")};
    keras_out(c, imp_call1(c, &tn_op_nn_pad, &a, x));
}

#define NO_MASK KERAS_DROPS_MASK
// clang-format off
const keras_row keras_rows_shape[] = {
    LAYER("Flatten",       flatten,       NULL, NULL, NO_MASK | KERAS_ANY_TYPE, NULL),
    LAYER("Reshape",       reshape,       NULL, NULL, NO_MASK | KERAS_ANY_TYPE, NULL),
    LAYER("Permute",       permute,       NULL, NULL, NO_MASK | KERAS_ANY_TYPE, NULL),
    LAYER("RepeatVector",  repeat_vector, NULL, NULL, NO_MASK | KERAS_ANY_TYPE, NULL),
    LAYER("ZeroPadding1D", sides,         NULL, NULL, NO_MASK, NULL),
    LAYER("ZeroPadding2D", sides,         NULL, NULL, NO_MASK, NULL),
    LAYER("ZeroPadding3D", sides,         NULL, NULL, NO_MASK, NULL),
    LAYER("Cropping1D",    sides,         NULL, NULL, NO_MASK, NULL),
    LAYER("Cropping2D",    sides,         NULL, NULL, NO_MASK, NULL),
    LAYER("Cropping3D",    sides,         NULL, NULL, NO_MASK, NULL),
    END_OF_ROWS,
};
// clang-format on
