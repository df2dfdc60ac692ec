/* Operators of ai.onnx.ml that make and read maps: ZipMap, CastMap, DictVectorizer. */
#include "frontend/onnx/onnx.h"

#include "op/host/host.h"

#include <string.h>

/* A list from one of two attributes. */
static tn_value keys_of(imp_node *c, const char *texts, const char *ints)
{
    int64_t n;
    tn_ints list;
    if (imp_has_attr(c, texts) && imp_has_attr(c, ints))
        imp_fail(c, "onnx-E009", "attributes %s and %s are both given", texts, ints);
    if (imp_has_attr(c, texts))
        return onnx_texts_attr(c, texts, &n);
    if (imp_attr_ints(c, ints, &list))
        return imp_const_ints(c, TN_I64, 1, list.n, list.at);
    imp_attr_need(c, ints);
    return (tn_value){0};
}

static void zip_map(imp_node *c)
{
    tn_value keys = keys_of(c, "classlabels_strings", "classlabels_int64s"), x = imp_in(c, 0);
    imp_out(c, 0, imp_binary(c, &tn_op_map_zip, keys, x));
}

/* A list as a matrix of one row. */
static tn_value as_row(imp_node *c, tn_value list)
{
    if (!imp_is_text(list))
        return imp_unsqueeze(c, list, 0);
    tn_value at = imp_unsqueeze(c, imp_text_numbers(c, list, 0), 0);
    return imp_binary(c, &tn_op_string_take, list, at);
}

static tn_value absent_of(imp_node *c, tn_dtype t, const char *text)
{
    return tn_dtype_is_string(t) ? imp_const_text(c, text) : imp_const(c, t, 0);
}

/* The type of the map that operand 0 is; `whole`: its keys must be int64. NULL: reported. */
static const tn_type *map_in(imp_node *c, bool whole)
{
    const tn_type *t = imp_type(imp_in(c, 0));
    bool ok = t->kind == TN_T_MAP && t->field[1]->kind == TN_T_TENSOR &&
              (!whole || tn_dtype_eq(t->field[0]->dtype, TN_I64));
    if (!ok && !c->bad)
        imp_fail(c, "onnx-E110", "operand 0 is %s, but must be a map %sto numbers or strings",
                 imp_type_text(c, t), whole ? "from int64 " : "");
    return ok && !c->bad ? t : NULL;
}

static void dict_vectorizer(imp_node *c)
{
    tn_value keys = keys_of(c, "string_vocabulary", "int64_vocabulary"), in[3] = {imp_in(c, 0), keys};
    const tn_type *t = map_in(c, false);
    if (!t)
        return;
    in[2] = absent_of(c, t->field[1]->dtype, "");
    imp_out(c, 0, as_row(c, onnx_opened(c, imp_call(c, &tn_op_map_get, NULL, 3, in))));
}

/* The values in the order of their keys, or, in a sparse map, each at the position that its key is. A key below 0
 * is refused, and one from max_map on left out, as ONNX Runtime does. */
static tn_value values_of(imp_node *c, tn_value map, tn_dtype t)
{
    const char *form = imp_attr_string(c, "map_form", "DENSE");
    int64_t size = imp_attr_int(c, "max_map", 1);
    if (strcmp(form, "DENSE") == 0)
        return onnx_opened(c, imp_unary(c, &tn_op_map_values, map));
    if (strcmp(form, "SPARSE") != 0)
        imp_fail(c, "onnx-E009", "map_form is \"%s\"; DENSE and SPARSE are known", form);
    if (size < 1 || size > 1 << 24)
        imp_fail(c, "onnx-E009", "max_map is %lld; 1 to %d are supported", (long long)size, 1 << 24);
    if (c->bad)
        return (tn_value){0};
    tn_value keys = onnx_opened(c, imp_unary(c, &tn_op_map_keys, map));
    tn_value negative = imp_cast(c, imp_with(c, &tn_op_less, keys, 0), TN_I64);
    imp_demand(c, imp_reduce(c, &tn_op_sum, negative, 0), 0, "a key of a sparse map is negative");
    tn_value in[3] = {map, imp_count_up(c, tn_idx(c->pool, size)), absent_of(c, t, "0")};
    return onnx_opened(c, imp_call(c, &tn_op_map_get, NULL, 3, in));
}

static void cast_map(imp_node *c)
{
    const struct {
        const char *name;
        tn_dtype t;
    } kinds[] = {{"TO_FLOAT", TN_F32}, {"TO_INT64", TN_I64}, {"TO_STRING", TN_STR}};
    const char *name = imp_attr_string(c, "cast_to", "TO_FLOAT");
    size_t k = 0;
    while (k < 3 && strcmp(name, kinds[k].name) != 0)
        k++;
    if (k == 3)
        imp_fail(c, "onnx-E009", "cast_to is \"%s\"; TO_FLOAT, TO_INT64 and TO_STRING are known", name);
    const tn_type *t = map_in(c, true);
    if (!t || c->bad)
        return;
    tn_value v = as_row(c, values_of(c, imp_in(c, 0), t->field[1]->dtype));
    if (tn_dtype_is_string(kinds[k].t))
        v = onnx_text_of(c, v);
    else
        v = imp_is_text(v) ? onnx_number_of(c, v, kinds[k].t) : imp_cast(c, v, kinds[k].t);
    imp_out(c, 0, v);
}

// clang-format off
const imp_row onnx_rows_map[] = {
    {"ZipMap",         1, 0, 1, 1, zip_map,         NULL},
    {"CastMap",        1, 0, 1, 1, cast_map,        NULL},
    {"DictVectorizer", 1, 0, 1, 1, dict_vectorizer, NULL},
    {0},
};
// clang-format on
