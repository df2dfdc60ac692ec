/* Attributes of an operator, with their types checked; what was asked for is remembered, so that the rest can
 * be refused. */
#include "frontend/import/convert.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    "nothing", "a float", "an integer", "a text",          "a tensor",       "a graph", "floats", "integers",
    "texts",   "tensors", "graphs",     "a sparse tensor", "sparse tensors", "a type",  "types",
};

static const imp_attr *find_attr(const imp_node *c, const char *name, size_t *out_at)
{
    for (size_t i = 0; i < c->n_attr; i++)
        if (imp_is(c->attr[i].name, name))
            return *out_at = i, &c->attr[i];
    return NULL;
}

bool imp_has_attr(const imp_node *c, const char *name)
{
    size_t at;
    return find_attr(c, name, &at) != NULL;
}

void imp_attr_ignore(imp_node *c, const char *name)
{
    size_t at;
    if (find_attr(c, name, &at) && at < 64)
        c->asked |= UINT64_C(1) << at;
}

void imp_attr_need(imp_node *c, const char *name)
{
    if (!imp_has_attr(c, name))
        imp_refuse(c, IMP_ATTR_MISSING, "attribute %s is missing; the model is damaged", name);
}

const imp_attr *imp_attr_find(imp_node *c, const char *name, enum imp_attr_kind kind)
{
    size_t at;
    const imp_attr *a = find_attr(c, name, &at);
    if (!a)
        return NULL;
    imp_attr_ignore(c, name);
    if (a->kind == kind || a->kind == IMP_A_ANY)
        return a;
    imp_refuse(c, IMP_ATTR_TYPE, "attribute %s is %s, but must be %s; the model is damaged", name,
               a->kind > 0 ? kind_names[a->kind] : "of an unknown type", kind_names[kind]);
    return NULL;
}

int64_t imp_attr_int(imp_node *c, const char *name, int64_t def)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_INT);
    return a ? a->i : def;
}

/* Where the data has no more digits than the attribute, the number somebody wrote: 0.01, not 0.009999999776482582; it
 * rounds to the same float. */
static double as_written(float f)
{
    tn_buf b = {0};
    tn_buf_real(&b, (double)f, 1);
    double v = strtod(tn_buf_cstr(&b), NULL);
    tn_buf_deinit(&b);
    return (float)v == f ? v : (double)f;
}

double imp_attr_float(imp_node *c, const char *name, float def)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_FLOAT);
    double f = a ? a->f : (double)def;
    return imp_type(imp_opt(c, 0))->dtype.bits <= 32 && (double)(float)f == f ? as_written((float)f) : f;
}

const char *imp_attr_string(imp_node *c, const char *name, const char *def)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TEXT);
    return a ? imp_text(c->im, a->text) : def;
}

bool imp_attr_ints(imp_node *c, const char *name, tn_ints *out)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_INTS);
    if (a && a->ints.n > UINT32_MAX)
        imp_refuse(c, IMP_TOO_LARGE, "attribute %s has %zu entries; at most 4,294,967,295 are read", name,
                   a->ints.n);
    *out = a && !c->bad ? tn_ints_make(c->arena, (uint32_t)a->ints.n, a->ints.at) : (tn_ints){0};
    return a != NULL;
}

bool imp_ints_arg(imp_node *c, const char *name, int since, uint32_t i, tn_ints *out)
{
    *out = (tn_ints){0};
    if (c->version < since)
        return imp_attr_ints(c, name, out);
    if (!imp_has(c, i))
        return false;
    *out = imp_ints_in(c, imp_in(c, i), name);
    return true;
}
