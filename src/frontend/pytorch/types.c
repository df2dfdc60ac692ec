/* Types of elements, and which one an operator computes in (torch.result_type). */
#include "frontend/pytorch/pytorch.h"

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
