/* Python values. */
#include "frontend/pytorch/value.h"

#include <string.h>

pt_value pt_words(const char *text) { return pt_text((tn_bytes){(const uint8_t *)text, strlen(text)}); }

bool pt_is_text(pt_value v, const char *text) { return v.kind == PT_TEXT && imp_is(v.text, text); }

void pt_push(tn_arena *a, pt_list *l, pt_value v)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 4;
        pt_value *at = TN_NEW_N(a, pt_value, l->cap);
        if (l->n)
            memcpy(at, l->at, l->n * sizeof *at);
        l->at = at;
    }
    l->at[l->n++] = v;
}

pt_value pt_make(tn_arena *a, enum pt_kind kind, size_t n, const pt_value at[])
{
    pt_list *l = TN_NEW(a, pt_list);
    l->at = TN_NEW_N(a, pt_value, n);
    l->n = l->cap = n;
    if (n && at)
        memcpy(l->at, at, n * sizeof *at);
    return (pt_value){.kind = kind, .list = l};
}

static bool number_of(pt_value v, double *out)
{
    *out = v.kind == PT_FLOAT ? v.f : v.kind == PT_INT ? (double)v.i : v.kind == PT_BOOL && v.b;
    return v.kind == PT_FLOAT || v.kind == PT_INT || v.kind == PT_BOOL;
}

bool pt_same(pt_value a, pt_value b)
{
    double x, y;
    if (a.kind == PT_INT && b.kind == PT_INT)
        return a.i == b.i;
    if (number_of(a, &x) && number_of(b, &y))
        return x == y;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case PT_NONE:
    case PT_UNSET:
    case PT_UNINITIALIZED: return true;
    case PT_UNKNOWN: return a.i == b.i;
    case PT_TEXT:
    case PT_GLOBAL: return imp_same(a.text, b.text);
    case PT_VALUE: return tn_value_eq(a.value, b.value);
    default: return a.list == b.list;
    }
}

pt_value *pt_dict_find(pt_value dict, pt_value key)
{
    for (size_t i = dict.kind == PT_DICT ? dict.list->n / 2 : 0; i-- > 0;)
        if (pt_same(dict.list->at[2 * i], key))
            return &dict.list->at[2 * i + 1];
    return NULL;
}

pt_cell *pt_attr_find(pt_object *o, tn_bytes name)
{
    for (size_t i = 0; i < o->n; i++)
        if (imp_same(o->at[i].name, name))
            return &o->at[i].cell;
    return NULL;
}

/* Cells stay where they are: an object gets its attributes when it is made, so moving them then is safe. */
pt_cell *pt_attr_add(tn_arena *a, pt_object *o, tn_bytes name)
{
    if (o->n == o->cap) {
        o->cap = o->cap ? 2 * o->cap : 8;
        pt_attr *at = TN_NEW_N(a, pt_attr, o->cap);
        if (o->n)
            memcpy(at, o->at, o->n * sizeof *at);
        o->at = at;
    }
    o->at[o->n] = (pt_attr){name, {{.kind = PT_UNSET}}};
    return &o->at[o->n++].cell;
}

const char *pt_kind_name(enum pt_kind kind)
{
    static const char *const name[] = {"None",
                                       "a bool",
                                       "an int",
                                       "a float",
                                       "a str",
                                       "a str that the run makes",
                                       "a list",
                                       "a tuple",
                                       "a dict",
                                       "a tensor",
                                       "a tensor of complex numbers",
                                       "a list of the run",
                                       "a number",
                                       "an object",
                                       "a name",
                                       "a storage",
                                       "a value",
                                       "an unknown value",
                                       "nothing",
                                       "an uninitialized value"};
    return name[kind];
}

const char *pt_part_name(tn_arena *a, pt_value v, size_t i, const char *name)
{
    return v.kind == PT_COMPLEX && *name ? tn_arena_printf(a, "%s.%s", name, i ? "imag" : "real") : name;
}

pt_value pt_complex_stored(tn_arena *a, const pt_tensor *t)
{
    const int64_t most = INT64_MAX / 4;
    pt_value part[2];
    bool fits = t->offset >= 0 && t->offset < most;
    int64_t *stride = TN_NEW_N(a, int64_t, t->n);
    for (int i = 0; i < t->n && fits; i++) {
        fits = t->stride[i] >= 0 && t->stride[i] < most;
        stride[i] = fits ? 2 * t->stride[i] : 0;
    }
    if (!fits)
        return pt_none();
    for (int i = 0; i < 2; i++) {
        pt_tensor *of = TN_NEW(a, pt_tensor);
        *of = *t;
        of->offset = 2 * t->offset + i;
        of->stride = stride;
        part[i] = (pt_value){.kind = PT_TENSOR, .tensor = of};
    }
    return pt_make(a, PT_COMPLEX, 2, part);
}

pt_value pt_complex_number(tn_arena *a, double re, double im)
{
    const double v[2] = {re, im};
    pt_value part[2];
    for (int i = 0; i < 2; i++) {
        pt_storage *s = TN_NEW(a, pt_storage);
        pt_tensor *t = TN_NEW(a, pt_tensor);
        *s = (pt_storage){.dtype = TN_F64,
                          .key = pt_words("number").text,
                          .has_data = true,
                          .data = {tn_arena_copy(a, &v[i], sizeof v[i], 8), sizeof v[i]}};
        *t = (pt_tensor){.storage = s, .number = true};
        part[i] = (pt_value){.kind = PT_TENSOR, .tensor = t};
    }
    return pt_make(a, PT_COMPLEX, 2, part);
}
