/* Lists whose elements only the run counts, since branches or loops that it decides on change them: sequences of the
 * graph. The elements are tensors, or numbers of one kind. Which lists these are is found out while the model is read:
 * then it is read again, and what the code writes there is such a list from its beginning. */
#include "frontend/pytorch/builtin.h"

#include "op/host/host.h"

enum { MAX_LATE = 64 };

/* NONE: it cannot be an element. */
static enum pt_kind kind_of(pt_value v)
{
    switch (v.kind) {
    case PT_NUMBER: return v.number->kind;
    case PT_TENSOR:
    case PT_INT:
    case PT_FLOAT:
    case PT_BOOL: return v.kind;
    default: return PT_NONE;
    }
}

bool pt_make_late(pt_import *p, pt_list *l)
{
    bool can = l->made && p->late.n < MAX_LATE;
    for (size_t i = 0; i < l->n && can; i++)
        can = kind_of(l->at[i]) != PT_NONE && kind_of(l->at[i]) == kind_of(l->at[0]);
    if (can) {
        tn_vec_push(&p->late, l->made);
        p->again = p->stop = true;
        p->n_run--; /* it is bounded by MAX_LATE */
    }
    return can;
}

void pt_may_take(pt_list *l, pt_value v)
{
    if (kind_of(v) == PT_NONE)
        l->made = NULL;
}

/* ---- changes ---- */

static tn_value on_list(pt_import *p, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    imp_node *c = pt_ctx(p);
    bool known = true;
    for (int i = 0; i < n; i++)
        known = known && in[i].def;
    if (p->stop || !known)
        return (tn_value){0};
    tn_value v = imp_call(c, op, attr, n, in);
    pt_stop_if_bad(p, c);
    return p->stop ? (tn_value){0} : tn_unboxed(p->im.g, v);
}

/* The value of an element, which may not change in place any more: the list has a copy. */
static tn_value element(pt_import *p, pt_tensor *t, pt_value v)
{
    enum pt_kind kind = kind_of(v);
    if (v.kind == PT_TENSOR && v.tensor->quantised)
        kind = PT_NONE;
    if (kind == PT_NONE || (t->elements != PT_NONE && t->elements != kind)) {
        pt_fail(p, "pytorch-E013",
                "a list that a branch or loop changes which only the run decides on is given %s; it may have "
                "tensors, or numbers of one kind",
                pt_kind_name(v.kind));
        return (tn_value){0};
    }
    t->elements = kind;
    tn_value x = pt_as_tensor(pt_ctx(p), v);
    if (v.kind == PT_TENSOR)
        pt_tensor_fix(v.tensor, "aten::append");
    return x;
}

static void insert(pt_import *p, pt_tensor *t, pt_value v, size_t at)
{
    tn_value in[3] = {pt_tensor_value(p, t), element(p, t, v), pt_number_value(p, pt_int((int64_t)at))};
    pt_late_set(p, t, on_list(p, &tn_op_seq_insert, NULL, 3, in));
}

static void add(pt_import *p, pt_tensor *t, pt_value v)
{
    tn_value in[2] = {pt_tensor_value(p, t), element(p, t, v)};
    pt_late_set(p, t, on_list(p, &tn_op_seq_insert, NULL, 2, in));
}

pt_value pt_late_list(pt_import *p, const pt_list *l)
{
    pt_value list = pt_tensor_new(p, on_list(p, &tn_op_seq_of, NULL, 0, NULL));
    list.kind = PT_LATE_LIST;
    for (size_t i = 0; i < l->n && !p->stop; i++)
        add(p, list.tensor, l->at[i]);
    return list;
}

pt_value pt_late_sum(pt_import *p, pt_value a, const pt_list *b, bool first)
{
    pt_value list = pt_tensor_like(p, a, pt_tensor_value(p, a.tensor));
    for (size_t i = 0; i < b->n && !p->stop; i++)
        if (first)
            insert(p, list.tensor, b->at[i], i);
        else
            add(p, list.tensor, b->at[i]);
    return list;
}

pt_value pt_late_item(pt_import *p, pt_value list, pt_value at)
{
    pt_tensor *t = list.tensor;
    tn_value in[2] = {pt_tensor_value(p, t), pt_number_value(p, at)};
    if (t->elements == PT_NONE && !p->stop)
        pt_fail(p, "pytorch-E013", "an element of an empty list is read");
    tn_value x = on_list(p, &tn_op_seq_at, NULL, 2, in);
    if (!x.def)
        return pt_bad();
    if (t->elements != PT_TENSOR)
        return pt_number_of(p, t->elements, x);
    pt_value v = pt_tensor_new(p, x);
    pt_tensor_fix(v.tensor, "aten::__getitem__");
    return v;
}

/* ---- functions ---- */

static bool len(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LATE_LIST)
        return false;
    tn_value v = pt_tensor_value(p, a[0].tensor), x = on_list(p, &tn_op_seq_length, NULL, 1, &v);
    if (x.def)
        *out = pt_number_of(p, PT_INT, x);
    return true;
}

static bool append(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LATE_LIST)
        return false;
    add(p, a[0].tensor, a[1]);
    *out = a[0];
    return true;
}

static bool extend(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LATE_LIST || !pt_is_sequence(a[1]))
        return false;
    for (size_t i = 0; i < a[1].list->n && !p->stop; i++)
        add(p, a[0].tensor, pt_at(a[1], i));
    *out = a[0];
    return true;
}

static bool pop(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    if (a[0].kind != PT_LATE_LIST)
        return false;
    pt_value at = n > 1 ? a[1] : pt_int(-1);
    *out = pt_late_item(p, a[0], at);
    tn_value in[2] = {pt_tensor_value(p, a[0].tensor), pt_number_value(p, at)};
    pt_late_set(p, a[0].tensor, on_list(p, &tn_op_seq_erase, NULL, 2, in));
    return true;
}

static bool clear(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_none();
    if (a[0].kind == PT_LATE_LIST)
        pt_late_set(p, a[0].tensor, on_list(p, &tn_op_seq_of, NULL, 0, NULL));
    return a[0].kind == PT_LATE_LIST;
}

static bool set_item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_none();
    if (a[0].kind != PT_LATE_LIST)
        return false;
    tn_value in[3] = {pt_tensor_value(p, a[0].tensor), element(p, a[0].tensor, a[2]),
                      pt_number_value(p, a[1])};
    pt_late_set(p, a[0].tensor, on_list(p, &tn_op_seq_set, NULL, 3, in));
    return true;
}

static bool get_item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_LATE_LIST)
        *out = pt_late_item(p, a[0], a[1]);
    return a[0].kind == PT_LATE_LIST;
}

static bool copy(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_LATE_LIST)
        *out = pt_tensor_like(p, a[0], pt_tensor_value(p, a[0].tensor));
    return a[0].kind == PT_LATE_LIST;
}

/* Its tensors joined along an axis that they have, or along a new one. */
static bool join(pt_import *p, const pt_value *a, size_t n, bool new_axis, pt_value *out)
{
    if (a[0].kind != PT_LATE_LIST || a[0].tensor->elements != PT_TENSOR || (n > 1 && a[1].kind != PT_INT))
        return false;
    tn_seq_concat_attr attr = {n > 1 ? a[1].i : 0, new_axis, false};
    tn_value v = pt_tensor_value(p, a[0].tensor), x = on_list(p, &tn_op_seq_concat, &attr, 1, &v);
    if (x.def)
        *out = pt_tensor_new(p, x);
    return true;
}

static bool cat(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    return join(p, a, n, false, out);
}

static bool stack(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    return join(p, a, n, true, out);
}

pt_value pt_late_tensor(pt_import *p, pt_value list)
{
    static const tn_seq_concat_attr attr = {0, true, false};
    const pt_tensor *t = list.tensor;
    if (t->elements == PT_TENSOR || t->elements == PT_NONE) {
        pt_fail(p, "pytorch-E013", "a tensor is made of a list of the run that has no numbers");
        return pt_bad();
    }
    tn_value v = pt_tensor_value(p, list.tensor), x = on_list(p, &tn_op_seq_concat, &attr, 1, &v);
    if (!x.def)
        return pt_bad();
    return pt_tensor_new(p, t->elements == PT_FLOAT ? imp_cast(pt_ctx(p), x, TN_F32) : x);
}

const pt_builtin pt_builtins_late[] = {
    {"len", 1, 1, len},
    {"append", 2, 2, append},
    {"extend", 2, 2, extend},
    {"add_", 2, 2, extend},
    {"pop", 1, 2, pop},
    {"clear", 1, 1, clear},
    {"_set_item", 3, 3, set_item},
    {"__getitem__", 2, 2, get_item},
    {"copy", 1, 1, copy},
    {"list", 1, 1, copy},
    {"cat", 1, 2, cat},
    {"concat", 1, 2, cat},
    {"stack", 1, 2, stack},
    {0},
};
