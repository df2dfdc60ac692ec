/* Parameters of functions that are called like layers: in the configuration, or among the arguments. */
#include "frontend/keras/keras.h"

#include "base/words.h"

#include <math.h>
#include <string.h>

const tn_json *keras_param(imp_node *c, int position, const char *names)
{
    const char *word;
    size_t n;
    while (tn_words_next(&names, &word, &n)) {
        const char *key = tn_arena_strndup(c->arena, word, n);
        const tn_json *v = keras_config(c, key);
        v = v ? v : keras_constant_of(c, -1, key);
        if (v && v->kind != TN_JSON_NULL)
            return v;
    }
    const tn_json *v = position < 0 ? NULL : keras_constant_of(c, position, "");
    return v && v->kind != TN_JSON_NULL ? v : NULL;
}

int64_t keras_param_whole(imp_node *c, int position, const char *names, int64_t def)
{
    const tn_json *v = keras_param(c, position, names);
    if (v && !keras_whole(v, &def))
        imp_refuse(c, IMP_BAD_VALUE, "argument %s must be an integer that is known", names);
    return def;
}

double keras_param_real(imp_node *c, int position, const char *names, double def)
{
    const tn_json *v = keras_param(c, position, names);
    if (v && !keras_number(v, &def))
        imp_refuse(c, IMP_BAD_VALUE, "argument %s must be a number that is known", names);
    return def;
}

bool keras_param_truth(imp_node *c, int position, const char *names)
{
    return keras_param_real(c, position, names, 0) != 0;
}

tn_dtype keras_param_dtype(imp_node *c, int position, tn_dtype def)
{
    const tn_json *v = keras_param(c, position, "dtype");
    if (v && c->version >= 3 && (!keras_dtype(keras_bytes(v), &def) || tn_dtype_is_string(def)))
        imp_refuse(c, IMP_BAD_VALUE, "the type of the result is not known");
    return def;
}

int keras_param_list(imp_node *c, int position, const char *names, int64_t out[])
{
    const tn_json *v = keras_param(c, position, names), *inside = tn_json_find(v, "items");
    v = inside ? inside : v;
    if (!v)
        return -1;
    if (keras_whole(v, &out[0]))
        return 1;
    bool ok = v->kind == TN_JSON_ARRAY && v->n <= IMP_MAX_RANK;
    for (uint32_t i = 0; ok && i < v->n; i++)
        ok = keras_whole(&v->u.at[i], &out[i]);
    if (!ok)
        imp_refuse(c, IMP_BAD_VALUE, "argument %s must be a list of integers that are known", names);
    return ok ? (int)v->n : -1;
}

int keras_param_axis(imp_node *c, int position, const char *names, int64_t def, int rank)
{
    int64_t axis = keras_param_whole(c, position, names, def);
    return c->bad ? 0 : imp_axis(c, axis, rank);
}

tn_value keras_operand(imp_node *c, int position, const char *names)
{
    const char *word;
    size_t n;
    tn_value v = position < 0 ? (tn_value){0} : keras_tensor_of(c, position, "");
    while (!v.def && tn_words_next(&names, &word, &n))
        v = keras_tensor_of(c, -1, tn_arena_strndup(c->arena, word, n));
    return v;
}

/* Of numbers in lists: is one of them no integer? */
static bool has_fraction(const tn_json *v)
{
    bool is = v->kind == TN_JSON_REAL;
    for (uint32_t i = 0; v->kind == TN_JSON_ARRAY && i < v->n && !is; i++)
        is = has_fraction(&v->u.at[i]);
    return is;
}

bool keras_json_dtype(const tn_json *v, tn_dtype *out)
{
    tn_bytes name = keras_bytes(tn_json_find(tn_json_find(v, "config"), "dtype"));
    if (name.n)
        return keras_dtype(name, out);
    *out = v->kind == TN_JSON_ARRAY && has_fraction(v) ? TN_F32 : TN_I32;
    return v->kind == TN_JSON_ARRAY;
}

tn_value keras_any_operand(imp_node *c, int position, const char *names)
{
    tn_value v = keras_operand(c, position, names);
    const tn_json *json = v.def ? NULL : keras_param(c, position, names);
    tn_dtype t = TN_I32;
    if (v.def || c->bad)
        return v;
    if (json && !keras_json_dtype(json, &t) && has_fraction(json))
        t = TN_F32;
    if (json)
        return keras_json_tensor(c, json, t);
    imp_refuse(c, IMP_OPERANDS, "operand %s is missing, or is of a kind that is not supported", names);
    return v;
}

tn_value keras_optional_operand(imp_node *c, int position, const char *names)
{
    tn_value v = keras_operand(c, position, names);
    const tn_json *given = v.def ? NULL : keras_param(c, position, names);
    return !given || given->kind == TN_JSON_NULL ? v : keras_any_operand(c, position, names);
}

tn_value keras_without_axis(imp_node *c, tn_value x, int position)
{
    bool all = *c->row->op >= 'A' && *c->row->op <= 'Z' && !keras_param(c, position, "axis");
    return all && !c->bad ? imp_flat(c, x) : x;
}

tn_dtype keras_float_of(tn_dtype t) { return tn_dtype_is_float(t) ? t : TN_F32; }

tn_dtype keras_type_with(imp_node *c, tn_dtype t, const tn_json *number)
{
    double r;
    tn_dtype own;
    bool whole = tn_json_is(number, TN_JSON_INT) || tn_json_is(number, TN_JSON_BOOL),
         keras3 = c->version >= 3;
    if (number && keras3 && keras_json_dtype(number, &own))
        return keras_result_type(t, own);
    if (!number || !keras_number(number, &r))
        return t;
    if (keras3 && strcmp(c->row->op, "Mod") == 0) /* whose numbers are tensors */
        return keras_result_type(t, number->kind == TN_JSON_REAL ? TN_F32 : TN_I32);
    if (whole)
        return tn_dtype_is_bool(t) && number->kind == TN_JSON_INT ? TN_I32 : t;
    return keras3 || r != trunc(r) ? keras_float_of(t) : t;
}

bool keras_two(imp_node *c, tn_value *a, tn_value *b)
{
    static const char *const first = "x x1 a x_or_y", *const second = "y x2 b";
    const keras_argument *head = keras_argument_of(c, 0, "");
    *a = keras_operand(c, 0, first);
    *b = keras_operand(c, 1, second);
    const tn_json *left = a->def ? NULL : head && head->n ? head->at[0].json : keras_param(c, 0, first);
    const tn_json *right = b->def ? NULL : keras_param(c, 1, second);
    if ((!a->def && !b->def) || (!a->def && !left) || (!b->def && !right)) {
        imp_refuse(c, IMP_OPERANDS, "an operand is missing, or is of a kind that is not supported");
        return false;
    }
    tn_dtype t = imp_type(a->def ? *a : *b)->dtype;
    t = left || right ? keras_type_with(c, t, left ? left : right)
                      : keras_result_type(t, imp_type(*b)->dtype);
    *a = left ? keras_json_tensor(c, left, t) : imp_cast(c, *a, t);
    *b = right ? keras_json_tensor(c, right, t) : imp_cast(c, *b, t);
    return !c->bad;
}
