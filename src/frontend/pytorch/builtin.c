/* Functions of lists, dicts and texts, and questions about tensors: what TorchScript calls without an operator of
 * tensors. Those of numbers are in builtin_number.c. */
#include "frontend/pytorch/builtin.h"

#include "base/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST = 1 << 20 };

static void refuse(pt_import *p, const char *why) { pt_fail(p, "pytorch-E013", "%s", why); }

/* ---- lists ---- */

/* A list may change only where it was made: a branch or loop that the run decides on would change it otherwise. */
static bool may_change(pt_import *p, pt_value list)
{
    if (!list.list->owner && pt_keep_list(p, list.list)) { /* of the file: read again, with one of the run */
        p->stop = true;
        return false;
    }
    if (p->logging && list.list->owner != p->im.r) {
        refuse(p, "a list or dict changes in a branch or loop that only the run decides on");
        return false;
    }
    if (list.list->n >= MAX_LIST)
        pt_fail(p, "pytorch-E012", "a list has more than %d elements", MAX_LIST);
    return !p->stop;
}

static pt_value new_list(pt_import *p, enum pt_kind kind)
{
    pt_value v = pt_make(&p->im.scratch, kind, 0, NULL);
    v.list->owner = p->im.r;
    return v;
}

static pt_value extent(pt_import *p, tn_value x, int d)
{
    int64_t n;
    imp_node *c = pt_ctx(p);
    if (tn_is_int(imp_type(x)->dim[d], &n))
        return pt_int(n);
    return pt_number_of(p, PT_INT, imp_extent_of(c, x, d));
}

/* A tensor that has the shape of v. */
static pt_value shaped_as(pt_value v) { return v.kind == PT_COMPLEX ? pt_at(v, 0) : v; }

static bool len(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    pt_value of = shaped_as(a[0]);
    if (of.kind == PT_TENSOR) {
        tn_value x = pt_tensor_value(p, of.tensor);
        *out = x.def && imp_rank(x) ? extent(p, x, 0) : pt_bad();
        if (pt_is_bad(*out) && !p->stop)
            refuse(p, "the length of a scalar is asked for");
        return true;
    }
    if (a[0].kind == PT_TEXT)
        *out = pt_int((int64_t)a[0].text.n);
    else if (a[0].kind == PT_OBJECT)
        *out = pt_int((int64_t)a[0].object->n);
    else if (pt_is_sequence(a[0]) || a[0].kind == PT_DICT)
        *out = pt_int((int64_t)(a[0].kind == PT_DICT ? a[0].list->n / 2 : a[0].list->n));
    else
        return false;
    return true;
}

static bool append(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LIST)
        return false;
    if (may_change(p, a[0]))
        pt_push(&p->im.scratch, a[0].list, a[1]);
    *out = a[0];
    return true;
}

static bool extend(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LIST || !pt_is_sequence(a[1]))
        return false;
    for (size_t i = 0, k = a[1].list->n; i < k && may_change(p, a[0]); i++)
        pt_push(&p->im.scratch, a[0].list, pt_at(a[1], i));
    *out = a[0];
    return true;
}

/* Position of a known index; -1: there is none, which is reported. */
static int64_t position(pt_import *p, pt_value at, size_t n)
{
    int64_t i = at.kind == PT_INT ? at.i : at.kind == PT_BOOL ? at.b : INT64_MAX;
    if (at.kind == PT_NUMBER)
        refuse(p, "an element of a list is chosen by a number that only the run knows");
    i = i < 0 ? i + (int64_t)n : i;
    if (!p->stop && (i < 0 || i >= (int64_t)n))
        pt_fail(p, "pytorch-E013", "a list of %zu elements has no element at this position", n);
    return p->stop ? -1 : i;
}

static bool insert(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_LIST || a[1].kind != PT_INT)
        return false;
    pt_list *l = a[0].list;
    int64_t k = (int64_t)l->n, at = a[1].i < 0 ? a[1].i + k : a[1].i;
    if (at > k)
        at = k;
    if (at < 0)
        at = 0;
    *out = pt_none();
    if (!may_change(p, a[0]))
        return true;
    pt_push(&p->im.scratch, l, a[2]);
    memmove(l->at + at + 1, l->at + at, (l->n - 1 - (size_t)at) * sizeof *l->at);
    l->at[at] = a[2];
    return true;
}

static bool pop(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    if (a[0].kind != PT_LIST)
        return false;
    pt_list *l = a[0].list;
    int64_t at = position(p, n > 1 ? a[1] : pt_int(-1), l->n);
    *out = pt_bad();
    if (at < 0 || !may_change(p, a[0]))
        return true;
    *out = l->at[at];
    memmove(l->at + at, l->at + at + 1, (l->n - 1 - (size_t)at) * sizeof *l->at);
    l->n--;
    return true;
}

pt_value pt_item(pt_import *p, pt_value of, pt_value at)
{
    if (of.kind == PT_DICT) {
        pt_value *v = pt_dict_find(of, at);
        if (!v)
            refuse(p, "a dict has no such key");
        return v ? *v : pt_bad();
    }
    if (!pt_is_sequence(of) || pt_is_bad(at)) {
        if (!pt_is_bad(of) && !pt_is_bad(at))
            pt_fail(p, "pytorch-E013", "%s has no elements", pt_kind_name(of.kind));
        return pt_bad();
    }
    int64_t i = position(p, at, of.list->n);
    return i < 0 ? pt_bad() : of.list->at[i];
}

static bool get_item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (pt_is_tensor(a[0]))
        return false;
    *out = pt_item(p, a[0], a[1]);
    return true;
}

static bool set_item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_none();
    if (a[0].kind == PT_DICT && may_change(p, a[0])) {
        pt_value *v = pt_dict_find(a[0], a[1]);
        if (v) {
            *v = a[2];
        } else {
            pt_push(&p->im.scratch, a[0].list, a[1]);
            pt_push(&p->im.scratch, a[0].list, a[2]);
        }
    } else if (a[0].kind == PT_LIST) {
        int64_t at = position(p, a[1], a[0].list->n);
        if (at >= 0 && may_change(p, a[0]))
            a[0].list->at[at] = a[2];
    }
    return a[0].kind == PT_DICT || a[0].kind == PT_LIST;
}

/* A dict updated by itself stays as it is: its keys are all there. */
static bool update(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    bool done = a[0].kind == PT_DICT && a[1].kind == PT_DICT;
    for (size_t i = 0; done && i + 1 < a[1].list->n && !p->stop; i += 2)
        done = set_item(p, (const pt_value[]){a[0], pt_at(a[1], i), pt_at(a[1], i + 1)}, 3, out);
    (void)n;
    *out = pt_none();
    return done;
}

static bool contains(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_DICT) {
        *out = pt_bool(pt_dict_find(a[0], a[1]) != NULL);
        return true;
    }
    if (!pt_is_sequence(a[0]))
        return false;
    *out = pt_bool(false);
    for (size_t i = 0; i < a[0].list->n && !p->stop; i++)
        *out = pt_binary(p, "__or__", *out, pt_binary(p, "eq", pt_at(a[0], i), a[1]));
    return true;
}

static bool copy(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (!pt_is_sequence(a[0]) && a[0].kind != PT_DICT)
        return false;
    *out = pt_make(&p->im.scratch, a[0].kind == PT_DICT ? PT_DICT : PT_LIST, a[0].list->n, a[0].list->at);
    out->list->owner = p->im.r;
    return true;
}

static bool slice(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    if (!pt_is_sequence(a[0]))
        return false;
    int64_t k = (int64_t)a[0].list->n, v[3] = {0, k, 1};
    for (size_t i = 1; i < n; i++) {
        if (a[i].kind != PT_INT && a[i].kind != PT_NONE)
            return false;
        v[i - 1] = a[i].kind == PT_INT ? a[i].i : v[i - 1];
    }
    *out = new_list(p, PT_LIST);
    for (int i = 0; i < 2; i++) {
        v[i] = v[i] < 0 ? v[i] + k : v[i];
        v[i] = v[i] < 0 ? 0 : v[i] > k ? k : v[i];
    }
    for (int64_t i = v[0]; v[2] > 0 && i < v[1]; i += v[2])
        pt_push(&p->im.scratch, out->list, pt_at(a[0], (size_t)i));
    return v[2] > 0;
}

/* ---- dicts ---- */

static pt_value half(pt_import *p, pt_value dict, size_t from)
{
    pt_value v = new_list(p, PT_LIST);
    for (size_t i = from; i < dict.list->n; i += 2)
        pt_push(&p->im.scratch, v.list, pt_at(dict, i));
    return v;
}

static bool keys(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_DICT)
        *out = half(p, a[0], 0);
    return a[0].kind == PT_DICT;
}

static bool values(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_DICT)
        *out = half(p, a[0], 1);
    return a[0].kind == PT_DICT;
}

static bool dict_items(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_DICT)
        return false;
    *out = new_list(p, PT_LIST);
    for (size_t i = 0; i + 1 < a[0].list->n; i += 2)
        pt_push(&p->im.scratch, out->list, pt_make(&p->im.scratch, PT_TUPLE, 2, a[0].list->at + i));
    return true;
}

static bool get(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p;
    pt_value *v = pt_dict_find(a[0], a[1]);
    *out = v ? *v : n > 2 ? a[2] : pt_none();
    return a[0].kind == PT_DICT;
}

static bool make_dict(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    *out = new_list(p, PT_DICT);
    for (size_t i = 0; n && pt_is_sequence(a[0]) && i < a[0].list->n; i++)
        for (size_t k = 0; k < 2; k++)
            pt_push(&p->im.scratch, out->list,
                    pt_is_sequence(pt_at(a[0], i)) ? pt_at(pt_at(a[0], i), k) : pt_none());
    return true;
}

/* ---- texts ---- */

/* What is longer than any message or name is left out. */
static void show(tn_buf *b, pt_value v, int depth)
{
    enum { LONGEST = 1 << 20 };
    if (b->n > LONGEST)
        return;
    if (v.kind == PT_TEXT)
        tn_buf_add(b, v.text.at, v.text.n);
    else if (v.kind == PT_INT)
        tn_buf_printf(b, "%lld", (long long)v.i);
    else if (v.kind == PT_FLOAT)
        tn_buf_real(b, v.f, 0);
    else if (v.kind == PT_BOOL)
        tn_buf_str(b, v.b ? "True" : "False");
    else if (pt_is_sequence(v) && depth < 4) {
        tn_buf_char(b, '[');
        for (size_t i = 0; i < v.list->n && i < 16; i++) {
            tn_buf_str(b, i ? ", " : "");
            show(b, pt_at(v, i), depth + 1);
        }
        tn_buf_char(b, ']');
    } else
        tn_buf_str(b, v.kind == PT_NONE ? "None" : "?");
}

static bool format(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    tn_buf b = {0};
    size_t next = 1;
    if (a[0].kind != PT_TEXT)
        return false;
    for (size_t i = 0; i < a[0].text.n; i++) {
        const uint8_t *s = a[0].text.at + i;
        if (*s == '{' && i + 1 < a[0].text.n && s[1] == '}') {
            show(&b, next < n ? a[next] : pt_none(), 0);
            next++;
            i++;
        } else {
            tn_buf_char(&b, (char)*s);
        }
    }
    *out = pt_words(tn_arena_strdup(&p->im.scratch, tn_buf_cstr(&b)));
    tn_buf_deinit(&b);
    return true;
}

static bool str(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    tn_buf b = {0};
    show(&b, a[0], 0);
    *out = pt_words(tn_arena_strdup(&p->im.scratch, tn_buf_cstr(&b)));
    tn_buf_deinit(&b);
    return true;
}

static bool starts_with(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    if (a[0].kind != PT_TEXT || a[1].kind != PT_TEXT)
        return false;
    *out = pt_bool(a[0].text.n >= a[1].text.n &&
                   (!a[1].text.n || !memcmp(a[0].text.at, a[1].text.at, a[1].text.n)));
    return true;
}

/* ---- questions about tensors ---- */

static bool size(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value of = shaped_as(a[0]);
    if (of.kind != PT_TENSOR)
        return false;
    tn_value x = pt_tensor_value(p, of.tensor);
    *out = pt_bad();
    if (!x.def || p->stop)
        return true;
    if (n == 1) {
        *out = new_list(p, PT_LIST);
        for (int d = 0; d < imp_rank(x); d++)
            pt_push(&p->im.scratch, out->list, extent(p, x, d));
        return true;
    }
    int64_t d = a[1].kind == PT_INT ? a[1].i : INT64_MAX;
    d = d < 0 ? d + imp_rank(x) : d;
    if (d < 0 || d >= imp_rank(x))
        refuse(p, "the size of a dimension is asked for that the tensor does not have");
    else
        *out = extent(p, x, (int)d);
    return true;
}

static bool dim(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    pt_value of = shaped_as(a[0]);
    if (of.kind != PT_TENSOR)
        return false;
    tn_value x = pt_tensor_value(p, of.tensor);
    *out = x.def ? pt_int(imp_rank(x)) : pt_bad();
    return true;
}

static bool numel(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    pt_value shape;
    if (!size(p, a, 1, &shape))
        return false;
    *out = pt_int(1);
    for (size_t i = 0; pt_is_sequence(shape) && i < shape.list->n; i++)
        *out = pt_binary(p, "mul", *out, pt_at(shape, i));
    return true;
}

static bool dtype(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    pt_value of = shaped_as(a[0]);
    if (of.kind != PT_TENSOR)
        return false;
    tn_value x = pt_tensor_value(p, of.tensor);
    if (!x.def)
        *out = pt_bad();
    else
        *out = pt_int(a[0].kind == PT_COMPLEX ? pt_complex_code(imp_type(x)->dtype)
                                              : pt_code_of(imp_type(x)->dtype));
    return true;
}

static bool complex(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    *out = pt_bool(a[0].kind == PT_COMPLEX);
    return true;
}

static bool floating(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_bool(false);
    if (a[0].kind == PT_COMPLEX)
        return true;
    if (a[0].kind != PT_TENSOR)
        return false;
    tn_value x = pt_tensor_value(p, a[0].tensor);
    *out = x.def ? pt_bool(tn_dtype_is_float(imp_type(x)->dtype)) : pt_bad();
    return true;
}

static bool item(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind != PT_TENSOR) {
        *out = a[0];
        return true;
    }
    tn_value x = pt_tensor_value(p, a[0].tensor);
    tn_dtype t = x.def ? imp_type(x)->dtype : TN_F32;
    *out = pt_convert(p, tn_dtype_is_float(t) ? PT_FLOAT : tn_dtype_is_bool(t) ? PT_BOOL : PT_INT, a[0]);
    return true;
}

static bool to_int(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_convert(p, PT_INT, a[0]);
    return true;
}

static bool to_float(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_convert(p, PT_FLOAT, a[0]);
    return true;
}

static bool to_bool(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_convert(p, PT_BOOL, a[0]);
    return true;
}

static bool to_tensor(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    imp_node *c = pt_ctx(p);
    tn_value v = pt_as_tensor(c, a[0]);
    if (a[0].kind == PT_FLOAT || (a[0].kind == PT_NUMBER && a[0].number->kind == PT_FLOAT))
        v = imp_cast(c, v, TN_F32);
    pt_stop_if_bad(p, c);
    *out = p->stop ? pt_bad() : pt_tensor_new(p, v);
    return true;
}

static bool same(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    *out = a[0];
    return true;
}

/* ---- the rest ---- */

static bool raise(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    p->raised = a[0].kind == PT_TEXT ? imp_text(&p->im, a[0].text) : "an exception";
    p->raised = *p->raised ? p->raised : "an exception";
    *out = pt_none();
    return true;
}

static bool nothing(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)a, (void)n;
    *out = pt_none();
    return true;
}

static bool no(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)a, (void)n;
    *out = pt_bool(false);
    return true;
}

static bool cpu(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n, (void)a;
    *out = pt_words("cpu");
    return true;
}

static bool as_it_is(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    *out = a[0];
    return pt_is_tensor(a[0]);
}

static const pt_builtin builtins[] = {
    {"len", 1, 1, len},
    {"append", 2, 2, append},
    {"extend", 2, 2, extend},
    {"insert", 3, 3, insert},
    {"pop", 1, 2, pop},
    {"__getitem__", 2, 2, get_item},
    {"_set_item", 3, 3, set_item},
    {"update", 2, 2, update},
    {"__contains__", 2, 2, contains},
    {"list", 1, 1, copy},
    {"copy", 1, 1, copy},
    {"slice", 1, 4, slice},
    {"keys", 1, 1, keys},
    {"values", 1, 1, values},
    {"items", 1, 1, dict_items},
    {"get", 2, 3, get},
    {"dict", 0, 1, make_dict},
    {"format", 1, 23, format},
    {"str", 1, 1, str},
    {"startswith", 2, 2, starts_with},
    {"size", 1, 2, size},
    {"sym_size", 1, 2, size},
    {"prim::shape", 1, 1, size},
    {"dim", 1, 1, dim},
    {"numel", 1, 1, numel},
    {"sym_numel", 1, 1, numel},
    {"prim::dtype", 1, 1, dtype},
    {"is_floating_point", 1, 1, floating},
    {"item", 1, 1, item},
    {"_local_scalar_dense", 1, 1, item},
    {"IntImplicit", 1, 1, to_int},
    {"Int", 1, 1, to_int},
    {"FloatImplicit", 1, 1, to_float},
    {"Float", 1, 1, to_float},
    {"Bool", 1, 1, to_bool},
    {"ScalarImplicit", 1, 1, item},
    {"prim::NumToTensor", 1, 1, to_tensor},
    {"scalar_tensor", 1, 1, to_tensor},
    {"prim::type", 1, 1, cpu},
    {"prim::RaiseException", 1, 2, raise},
    {"warn", 1, 2, nothing},
    {"prim::device", 1, 1, cpu},
    {"prim::data", 1, 1, as_it_is},
    {"device", 1, 2, cpu},
    {"prim::is_cuda", 1, 1, no},
    {"prim::is_quantized", 1, 1, no},
    {"prim::requires_grad", 1, 1, no},
    {"prim::is_nested", 1, 1, no},
    {"prim::is_sparse", 1, 1, no},
    {"prim::is_mkldnn", 1, 1, no},
    {"prim::is_mps", 1, 1, no},
    {"prim::is_meta", 1, 1, no},
    {"is_complex", 1, 1, complex},
    {"is_conj", 1, 1, no},
    {"is_neg", 1, 1, no},
    {"is_grad_enabled", 0, 0, no},
    {"prim::layout", 1, 1, nothing},
    {"is_autocast_enabled", 0, 1, no},
    {"is_autocast_cpu_enabled", 0, 0, no},
    {"requires_grad_", 1, 2, as_it_is},
    {"prim::unchecked_cast", 1, 1, same},
    {"_assert_async", 1, 2, nothing},
    {"_assert_scalar", 1, 2, nothing},
    {"_assert_tensor_metadata", 1, 9, nothing},
    {"sym_constrain_range_for_size", 1, 3, nothing},
    {"sym_constrain_range", 1, 3, nothing},
    {"set_grad_enabled", 1, 1, nothing},
    {"manual_seed", 1, 1, nothing},
    {"prim::Print", 0, 23, nothing},
    {"backends_mkldnn_is_available", 0, 0, no},
    {0},
};

/* The one behind it, in both tables; NULL: it is the last. */
static const pt_builtin *next(const pt_builtin *b)
{
    b++;
    return b->name ? b : b == &builtins[sizeof builtins / sizeof *builtins - 1] ? pt_builtins_number : NULL;
}

/* Arguments by keyword that have a bearing on the result: an operator with a row, then. */
static bool has_keywords(const pt_args *a, size_t from)
{
    for (size_t i = from; i < a->n; i++)
        if (a->at[i].kind != PT_NONE && !pt_is_ignored(a->keyword[i]))
            return true;
    return false;
}

bool pt_python(pt_import *p, tn_bytes name, const pt_args *a, pt_value *out)
{
    size_t n = 0;
    while (n < a->n && (!a->keyword[n].n || imp_is(a->keyword[n], "min") || imp_is(a->keyword[n], "max")))
        n++;
    *out = pt_bad();
    for (const pt_builtin *b = builtins; b; b = next(b)) {
        if (!imp_is(name, b->name) || n < b->min || n > b->max || (b->run != nothing && has_keywords(a, n)))
            continue;
        for (size_t k = 0; k < n; k++)
            if (!pt_usable(p, a->at[k]))
                return true;
        if (b->run(p, a->at, n, out))
            return true;
    }
    return false;
}
