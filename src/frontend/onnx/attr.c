/* Attributes of a node, with their types checked; what was asked for is remembered, so that the rest can be refused. */
#include "frontend/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
    "nothing", "a float", "an integer", "a text",          "a tensor",       "a graph", "floats", "integers",
    "texts",   "tensors", "graphs",     "a sparse tensor", "sparse tensors", "a type",  "types",
};
enum { N_TYPE_NAMES = sizeof type_names / sizeof *type_names };

static const onnx_attr *find_attr(const onnx_conv *c, const char *name, size_t *out_at)
{
    const onnx_attr *a = c->node->attribute.at;
    for (size_t i = 0; i < c->node->attribute.n; i++)
        if (a[i].name.n == strlen(name) && memcmp(a[i].name.at, name, a[i].name.n) == 0)
            return *out_at = i, &a[i];
    return NULL;
}

bool onnx_has_attr(const onnx_conv *c, const char *name)
{
    size_t at;
    return find_attr(c, name, &at) != NULL;
}

void onnx_attr_ignore(onnx_conv *c, const char *name)
{
    size_t at;
    if (find_attr(c, name, &at) && at < 64)
        c->asked |= UINT64_C(1) << at;
}

void onnx_attr_need(onnx_conv *c, const char *name)
{
    if (!onnx_has_attr(c, name))
        onnx_fail(c, "onnx-E007", "attribute %s is missing; the model is damaged", name);
}

const onnx_attr *onnx_attr_find(onnx_conv *c, const char *name, enum onnx_attr_type type)
{
    size_t at;
    const onnx_attr *a = find_attr(c, name, &at);
    if (!a)
        return NULL;
    onnx_attr_ignore(c, name);
    if (a->type == (int64_t)type || a->type == ONNX_A_ANY)
        return a;
    onnx_fail(c, "onnx-E006", "attribute %s is %s, but must be %s; the model is damaged", name,
              a->type > 0 && a->type < N_TYPE_NAMES ? type_names[a->type] : "of an unknown type",
              type_names[type]);
    return NULL;
}

int64_t onnx_attr_int(onnx_conv *c, const char *name, int64_t def)
{
    const onnx_attr *a = onnx_attr_find(c, name, ONNX_A_INT);
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

double onnx_attr_float(onnx_conv *c, const char *name, float def)
{
    const onnx_attr *a = onnx_attr_find(c, name, ONNX_A_FLOAT);
    float f = a ? a->f : def;
    return onnx_type(onnx_opt(c, 0))->dtype.bits <= 32 ? as_written(f) : (double)f;
}

const char *onnx_attr_string(onnx_conv *c, const char *name, const char *def)
{
    const onnx_attr *a = onnx_attr_find(c, name, ONNX_A_STRING);
    return a ? onnx_text(c->im, a->s) : def;
}

bool onnx_attr_ints(onnx_conv *c, const char *name, tn_ints *out)
{
    const onnx_attr *a = onnx_attr_find(c, name, ONNX_A_INTS);
    if (a && a->ints.n > 65536)
        onnx_fail(c, "onnx-E009", "attribute %s has %zu entries; the model is damaged", name, a->ints.n);
    *out = a && !c->bad ? tn_ints_make(c->arena, (uint32_t)a->ints.n, a->ints.at) : (tn_ints){0};
    return a != NULL;
}

const onnx_tensor *onnx_attr_tensor(onnx_conv *c, const char *name)
{
    const onnx_attr *a = onnx_attr_find(c, name, ONNX_A_TENSOR);
    if (a && !a->t)
        onnx_fail(c, "onnx-E006", "attribute %s does not hold a tensor; the model is damaged", name);
    return a ? a->t : NULL;
}

bool onnx_ints_arg(onnx_conv *c, const char *name, int since, uint32_t i, tn_ints *out)
{
    *out = (tn_ints){0};
    if (c->opset < since)
        return onnx_attr_ints(c, name, out);
    if (!onnx_has(c, i))
        return false;
    *out = onnx_ints_in(c, onnx_in(c, i), name);
    return true;
}
