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
    case PT_UNSET: return true;
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
    static const char *const name[] = {"None",      "a bool",   "an int",           "a float",
                                       "a str",     "a list",   "a tuple",          "a dict",
                                       "a tensor",  "a number", "an object",        "a name",
                                       "a storage", "a value",  "an unknown value", "nothing"};
    return name[kind];
}
