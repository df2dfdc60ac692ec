/* Tensors of complex numbers: two tensors, of their real and of their imaginary parts. What operators give of them is
 * made of what they give of real tensors, as the flags of their rows say; architectures/complex.py has the others. */
#include "frontend/pytorch/pytorch.h"

#include "op/core/core.h"

#include <string.h>

enum { MAX_FACTORS = 4 };

bool pt_holds_complex(pt_value v)
{
    bool any = v.kind == PT_COMPLEX;
    for (size_t i = 0; pt_is_sequence(v) && i < v.list->n && !any; i++)
        any = pt_at(v, i).kind == PT_COMPLEX;
    return any;
}

bool pt_any_complex(size_t n, const pt_value at[])
{
    for (size_t i = 0; i < n; i++)
        if (pt_holds_complex(at[i]))
            return true;
    return false;
}

static pt_value zeros_like(pt_import *p, pt_value v) { return pt_call_named(p, "zeros_like", 1, &v); }

pt_value pt_complex(pt_import *p, pt_value re, pt_value im)
{
    if (im.kind == PT_NONE)
        im = zeros_like(p, re);
    if (pt_is_bad(re) || pt_is_bad(im))
        return pt_bad();
    TN_ASSERT(re.kind == PT_TENSOR && im.kind == PT_TENSOR);
    return pt_make(&p->im.scratch, PT_COMPLEX, 2, (const pt_value[]){re, im});
}

/* ---- as pairs in a last dimension ---- */

tn_value pt_joined(imp_node *c, pt_value z)
{
    tn_value part[2];
    for (int i = 0; i < 2; i++) {
        tn_value v = pt_as_tensor(c, pt_at(z, (size_t)i));
        part[i] = c->bad ? v : imp_unsqueeze(c, v, imp_rank(v));
    }
    return c->bad ? part[0] : imp_concat(c, 2, part, imp_rank(part[0]) - 1);
}

pt_value pt_taken_apart(imp_node *c, tn_value v)
{
    pt_import *p = pt_of(c)->p;
    pt_value part[2];
    int last = imp_rank(v) - 1;
    for (int i = 0; i < 2 && !c->bad; i++)
        part[i] = pt_tensor_new(p, imp_squeeze(c, imp_slice(c, v, last, i, i + 1), last));
    return c->bad ? pt_bad() : pt_complex(p, part[0], part[1]);
}

/* ---- operators by their parts ---- */

/* Are tensors for this parameter added to one another, moved or chosen, and not positions or conditions? */
static bool is_data(const pt_row *r, size_t i)
{
    static const char *const others[] = {"condition", "mask", "index"};
    tn_bytes type, name;
    pt_parameter(r, i, &type, &name);
    bool is = (r->flags & PT_SUM) && type.n >= 6 && memcmp(type.at, "Tensor", 6) == 0;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        is = is && !imp_is(name, others[k]);
    return is;
}

/* The real (0) or imaginary (1) part. data: what is real has one, too. */
static pt_value part_of(pt_import *p, pt_value v, size_t part, bool data)
{
    if (v.kind == PT_COMPLEX)
        return pt_at(v, part);
    if (pt_is_sequence(v) && (pt_holds_complex(v) || data)) {
        pt_value list = pt_make(&p->im.scratch, v.kind, v.list->n, NULL);
        list.list->owner = v.list->owner;
        for (size_t i = 0; i < v.list->n; i++)
            list.list->at[i] = part_of(p, pt_at(v, i), part, data);
        return list;
    }
    if (!data || part == 0)
        return v;
    enum pt_kind kind = v.kind == PT_NUMBER ? v.number->kind : v.kind;
    switch (kind) {
    case PT_TENSOR: return zeros_like(p, v);
    case PT_BOOL: return pt_bool(false);
    case PT_INT: return pt_int(0);
    case PT_FLOAT: return pt_float(0);
    default: return v;
    }
}

/* Tensors of real and of imaginary parts, or lists of them, as complex ones. */
static pt_value paired(pt_import *p, pt_value re, pt_value im)
{
    if (re.kind == PT_TENSOR && im.kind == PT_TENSOR)
        return pt_complex(p, re, im);
    if (!pt_is_sequence(re) || re.kind != im.kind || re.list->n != im.list->n)
        return re;
    pt_value list = pt_make(&p->im.scratch, re.kind, re.list->n, NULL);
    list.list->owner = re.list->owner;
    for (size_t i = 0; i < re.list->n; i++)
        list.list->at[i] = paired(p, pt_at(re, i), pt_at(im, i));
    return list;
}

static pt_value by_parts(pt_call *k)
{
    bool real = (k->row->flags & PT_PARTS) && !pt_holds_complex(k->arg[0]);
    pt_value part[2];
    for (size_t i = 0; i < 2; i++) {
        pt_call *one = pt_call_again(k);
        one->part = true;
        for (size_t j = 0; j < k->n.n_in; j++)
            one->arg[j] = part_of(k->p, k->arg[j], i, is_data(k->row, j));
        part[i] = pt_perform(one);
        if (pt_is_bad(part[i]))
            return pt_bad();
        if (real || one->to == PT_TO_REAL)
            return part[0];
    }
    return paired(k->p, part[0], part[1]);
}

/* ---- products ---- */

static void add_term(pt_import *p, pt_value *sum, pt_value v, bool negative)
{
    pt_value two[2] = {*sum, v};
    if (sum->kind == PT_NONE)
        *sum = v;
    else
        *sum = pt_call_named(p, negative ? "sub" : "add", 2, two);
}

/* v, whose factors are replaced by their parts that the bits of `choice` name; *at counts factors. */
static pt_value with_parts(pt_import *p, pt_value v, uint32_t choice, int *at)
{
    if (v.kind == PT_COMPLEX)
        return pt_at(v, choice >> (*at)++ & 1);
    if (!pt_holds_complex(v))
        return v;
    pt_value list = pt_make(&p->im.scratch, v.kind, v.list->n, NULL);
    for (size_t i = 0; i < v.list->n; i++)
        list.list->at[i] = with_parts(p, pt_at(v, i), choice, at);
    return list;
}

static pt_value by_products(pt_call *k)
{
    pt_import *p = k->p;
    pt_value sum[2] = {pt_none(), pt_none()};
    int n = 1;
    for (uint32_t choice = 0; choice < 1u << n; choice++) {
        pt_call *one = pt_call_again(k);
        one->part = true;
        n = 0;
        for (size_t j = 0; j < k->n.n_in; j++)
            one->arg[j] = with_parts(p, k->arg[j], choice, &n);
        if (n > MAX_FACTORS) {
            imp_refuse(&k->n, IMP_OPERANDS, "a product of more than %d tensors of complex numbers",
                       MAX_FACTORS);
            return pt_bad();
        }
        pt_value v = pt_perform(one);
        int power = __builtin_popcount(choice); /* of i */
        if (!pt_is_bad(v))
            add_term(p, &sum[power & 1], v, power & 2);
        if (pt_is_bad(v) || pt_is_bad(sum[power & 1]))
            return pt_bad();
    }
    return paired(p, sum[0], sum[1]);
}

pt_value pt_perform_complex(pt_call *k) { return k->row->flags & PT_PRODUCT ? by_products(k) : by_parts(k); }
