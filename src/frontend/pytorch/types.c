/* Types of elements, and which one an operator computes in (torch.result_type). */
#include "frontend/pytorch/pytorch.h"

#include <string.h>

static const tn_dtype codes[] = {{TN_UINT, 8, 1}, {TN_INT, 8, 1},    {TN_INT, 16, 1},   {TN_INT, 32, 1},
                                 {TN_INT, 64, 1}, {TN_FLOAT, 16, 1}, {TN_FLOAT, 32, 1}, {TN_FLOAT, 64, 1},
                                 {0, 0, 0},       {0, 0, 0},         {0, 0, 0},         {TN_BOOL, 8, 1},
                                 {TN_INT, 8, 1},  {TN_UINT, 8, 1},   {TN_INT, 32, 1},   {TN_BFLOAT, 16, 1}};

bool pt_dtype_of(int64_t code, tn_dtype *out)
{
    bool known = code >= 0 && code < (int64_t)(sizeof codes / sizeof *codes) && codes[code].bits;
    if (known)
        *out = codes[code];
    return known;
}

int64_t pt_code_of(tn_dtype t)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].bits && tn_dtype_eq(codes[i], t))
            return (int64_t)i;
    return -1;
}

static const tn_dtype parts[] = {
    {TN_FLOAT, 16, 1}, {TN_FLOAT, 32, 1}, {TN_FLOAT, 64, 1}}; /* of codes from 8 */

bool pt_complex_of(int64_t code, tn_dtype *part)
{
    bool is = code >= 8 && code < 11;
    if (is)
        *part = parts[code - 8];
    return is;
}

int64_t pt_complex_code(tn_dtype part)
{
    for (int i = 0; i < 3; i++)
        if (tn_dtype_eq(parts[i], part))
            return 8 + i;
    return -1;
}

tn_dtype pt_float_type(tn_dtype t) { return tn_dtype_is_float(t) ? t : TN_F32; }

static int category(tn_dtype t) { return tn_dtype_is_float(t) ? 2 : tn_dtype_is_bool(t) ? 0 : 1; }

tn_dtype pt_promote(tn_dtype a, tn_dtype b)
{
    if (tn_dtype_eq(a, b) || category(a) > category(b))
        return a;
    if (category(b) > category(a))
        return b;
    if (category(a) == 2 && a.bits == b.bits)
        return TN_F32;                          /* float16 and bfloat16 */
    if (category(a) == 1 && a.code != b.code) { /* one that holds both */
        tn_dtype u = a.code == TN_UINT ? a : b, s = a.code == TN_UINT ? b : a;
        return s.bits > u.bits ? s : TN_DT(TN_INT, u.bits < 64 ? u.bits * 2 : 64);
    }
    return a.bits > b.bits ? a : b;
}

/* `low` counts only where it is of a higher kind. bits 0: nothing. */
static tn_dtype combine(tn_dtype high, tn_dtype low)
{
    if (!high.bits || !low.bits)
        return high.bits ? high : low;
    if (category(high) == 2)
        return high;
    return category(high) == 0 || category(low) == 2 ? pt_promote(high, low) : high;
}

tn_dtype pt_result_type(imp_node *c, int n, const pt_value v[])
{
    tn_dtype kind[3] = {{0}}; /* of tensors, of tensors of rank 0, of numbers */
    for (int i = 0; i < n; i++) {
        enum pt_kind k = v[i].kind == PT_NUMBER ? v[i].number->kind : v[i].kind;
        tn_dtype t = k == PT_FLOAT ? TN_F32 : k == PT_INT ? TN_I64 : TN_BOOL1;
        int at = 2;
        if (v[i].kind == PT_NONE)
            continue;
        if (v[i].kind == PT_TENSOR) {
            tn_value x = pt_as_tensor(c, v[i]);
            bool number = v[i].tensor->number;
            t = number ? TN_F32 : imp_type(x)->dtype;
            at = number ? 2 : imp_rank(x) ? 0 : 1;
        }
        kind[at] = kind[at].bits ? pt_promote(kind[at], t) : t;
    }
    tn_dtype t = combine(kind[0], combine(kind[1], kind[2]));
    return t.bits ? t : TN_F32;
}

/* ---- constants that count as numbers ----
 *
 * torch.jit.trace writes x * 0.5 as torch.mul(x, CONSTANTS.c0), a float64 tensor of rank 0. PyTorch turns that tensor
 * back into a number, of whichever type it is, where it is the second operand of add, sub, mul or div (without
 * rounding_mode). Elsewhere, and once an operator has made another tensor of it, it is a tensor like others. */

void pt_mark_constant(pt_value v)
{
    for (size_t i = 0; pt_is_tensor(v) && i < pt_tensors_in(v); i++) {
        pt_tensor *t = pt_tensor_at(v, i);
        t->constant = t->n == 0 && !t->quantised;
    }
}

static bool is_constant(pt_value v)
{
    return pt_is_tensor(v) && pt_tensor_at(v, 0)->constant && !pt_tensor_at(v, 0)->stamp;
}

static bool is_double(pt_import *p, pt_value v)
{
    tn_value x = pt_is_tensor(v) ? pt_tensor_value(p, pt_tensor_at(v, 0)) : (tn_value){0};
    return x.def && tn_dtype_eq(imp_type(x)->dtype, TN_F64);
}

/* Numbers of Python are computed in float32 unless the tensor beside them is of float64. */
static pt_value complex_number(pt_import *p, pt_value v, bool wide)
{
    pt_value part[2];
    for (size_t i = 0; i < 2; i++) {
        tn_value x = pt_tensor_value(p, pt_tensor_at(v, i));
        part[i] = x.def ? pt_tensor_new(p, imp_cast(pt_ctx(p), x, wide ? TN_F64 : TN_F32)) : pt_bad();
        if (pt_is_bad(part[i]))
            return pt_bad();
        part[i].tensor->number = true;
    }
    return pt_make(&p->im.scratch, PT_COMPLEX, 2, part);
}

static pt_value number_from(pt_import *p, pt_value v, bool wide)
{
    if (v.kind == PT_COMPLEX)
        return complex_number(p, v, wide);
    tn_value x = pt_tensor_value(p, v.tensor);
    if (!x.def)
        return pt_bad();
    int c = category(imp_type(x)->dtype);
    tn_dtype t = c == 2 ? TN_F64 : c == 1 ? TN_I64 : TN_BOOL1;
    return pt_number_of(p, c == 2 ? PT_FLOAT : c == 1 ? PT_INT : PT_BOOL, imp_cast(pt_ctx(p), x, t));
}

static pt_value *copied(pt_import *p, const pt_args *a)
{
    pt_value *at = TN_NEW_N(&p->im.scratch, pt_value, a->n);
    memcpy(at, a->at, a->n * sizeof *at);
    return at;
}

pt_args pt_with_numbers(pt_import *p, const pt_row *row, const pt_args *a)
{
    bool takes = row && (row->flags & PT_OF_NUMBER) && a->n > 1 && is_constant(a->at[1]);
    for (size_t i = 0; i < a->n; i++)
        takes = takes && !imp_is(a->keyword[i], "rounding_mode");
    if (!takes)
        return *a;
    pt_value *at = copied(p, a);
    at[1] = number_from(p, at[1], is_double(p, at[0]));
    return (pt_args){a->n, at, a->keyword};
}

pt_args pt_without_constants(pt_import *p, const pt_args *a)
{
    pt_value *at = NULL;
    for (size_t i = 0; i < a->n; i++) {
        if (!is_constant(a->at[i]) || a->at[i].kind != PT_TENSOR)
            continue;
        at = at ? at : copied(p, a);
        tn_value x = pt_tensor_value(p, a->at[i].tensor);
        at[i] = x.def ? pt_tensor_new(p, x) : pt_bad();
    }
    return (pt_args){a->n, at ? at : a->at, a->keyword};
}
