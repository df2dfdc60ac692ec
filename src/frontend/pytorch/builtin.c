/* Functions of texts, and questions about tensors: what TorchScript calls without an operator of tensors. Those of
 * lists and dicts are in builtin_list.c, those of numbers in builtin_number.c. */
#include "frontend/pytorch/builtin.h"

#include "base/size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void refuse(pt_import *p, const char *why) { pt_fail(p, "pytorch-E013", "%s", why); }

/* ---- extents ---- */

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

/* ---- texts ---- */

/* Whole floats end with a point, others have 17 digits. */
static void show_float(tn_buf *b, double f)
{
    if (fabs(f) < 0x1p63 && f == trunc(f))
        tn_buf_printf(b, "%lld.", (long long)f);
    else
        tn_buf_printf(b, "%.17g", f);
}

/* As TorchScript writes it. false: it writes more than is known here, or more than any message or name has. */
static bool show(tn_buf *b, pt_value v, int depth)
{
    enum { LONGEST = 1 << 20, DEEPEST = 16 };
    bool is_tuple = v.kind == PT_TUPLE, whole = true;
    if (b->n > LONGEST || depth > DEEPEST)
        return false;
    if (v.kind == PT_TEXT || v.kind == PT_MESSAGE)
        tn_buf_add(b, v.text.at, v.text.n);
    else if (v.kind == PT_INT)
        tn_buf_printf(b, "%lld", (long long)v.i);
    else if (v.kind == PT_FLOAT)
        show_float(b, v.f);
    else if (v.kind == PT_BOOL)
        tn_buf_str(b, v.b ? "True" : "False");
    else if (pt_is_sequence(v)) {
        tn_buf_char(b, is_tuple ? '(' : '[');
        for (size_t i = 0; i < v.list->n && whole; i++) {
            tn_buf_str(b, i ? ", " : "");
            whole = show(b, pt_at(v, i), depth + 1);
        }
        tn_buf_str(b, !is_tuple ? "]" : v.list->n == 1 ? ",)" : ")");
    } else
        tn_buf_str(b, v.kind == PT_NONE ? "None" : "?");
    return whole && (v.kind <= PT_TEXT || pt_is_sequence(v));
}

/* What was shown, as a value; the buffer is given back. */
static pt_value shown(pt_import *p, tn_buf *b, bool whole)
{
    tn_bytes s = {(const uint8_t *)tn_arena_strndup(&p->im.scratch, tn_buf_cstr(b), b->n), b->n};
    tn_buf_deinit(b);
    return (pt_value){.kind = whole ? PT_TEXT : PT_MESSAGE, .text = s};
}

static bool format(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    tn_buf b = {0};
    size_t next = 1;
    bool whole = true;
    if (a[0].kind != PT_TEXT)
        return false;
    for (size_t i = 0; i < a[0].text.n; i++) {
        const uint8_t *s = a[0].text.at + i;
        if (*s == '{' && i + 1 < a[0].text.n && s[1] == '}') {
            whole = show(&b, next < n ? a[next] : pt_none(), 0) && whole;
            next++;
            i++;
        } else {
            tn_buf_char(&b, (char)*s);
        }
    }
    *out = shown(p, &b, whole);
    return true;
}

/* Texts of a list with this one between them. */
static bool join(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    tn_buf b = {0};
    bool good = a[0].kind == PT_TEXT && pt_is_sequence(a[1]), whole = true;
    for (size_t i = 0; good && i < a[1].list->n; i++) {
        pt_value v = pt_at(a[1], i);
        good = (v.kind == PT_TEXT || v.kind == PT_MESSAGE) && b.n < 1 << 20;
        whole = whole && v.kind == PT_TEXT;
        if (good && i)
            tn_buf_add(&b, a[0].text.at, a[0].text.n);
        if (good)
            tn_buf_add(&b, v.text.at, v.text.n);
    }
    (void)n;
    if (good)
        *out = shown(p, &b, whole);
    else
        tn_buf_deinit(&b);
    return good;
}

/* What is between a text that is not empty. */
static bool split(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    if (a[0].kind != PT_TEXT || a[1].kind != PT_TEXT || !a[1].text.n)
        return false;
    tn_bytes rest = a[0].text, by = a[1].text;
    const uint8_t *at;
    *out = pt_list_new(p, PT_LIST);
    while ((at = memmem(rest.at, rest.n, by.at, by.n))) {
        size_t k = (size_t)(at - rest.at);
        pt_push(&p->im.scratch, out->list, pt_text((tn_bytes){rest.at, k}));
        rest = (tn_bytes){at + by.n, rest.n - k - by.n};
    }
    pt_push(&p->im.scratch, out->list, pt_text(rest));
    (void)n;
    return true;
}

static bool str(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    tn_buf b = {0};
    bool whole = show(&b, a[0], 0);
    *out = shown(p, &b, whole);
    return true;
}

static bool both_texts(const pt_value *a) { return a[0].kind == PT_TEXT && a[1].kind == PT_TEXT; }

static bool starts_with(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    if (!both_texts(a))
        return false;
    *out = pt_bool(a[0].text.n >= a[1].text.n &&
                   (!a[1].text.n || !memcmp(a[0].text.at, a[1].text.at, a[1].text.n)));
    return true;
}

static bool ends_with(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    if (!both_texts(a))
        return false;
    size_t k = a[1].text.n;
    *out = pt_bool(a[0].text.n >= k && (!k || !memcmp(a[0].text.at + a[0].text.n - k, a[1].text.at, k)));
    return true;
}

/* Its letters of ASCII from `first` on in the other case; TorchScript changes no others. */
static bool cased(pt_import *p, const pt_value *a, char first, pt_value *out)
{
    if (a[0].kind != PT_TEXT)
        return false;
    uint8_t *s = tn_arena_alloc(&p->im.scratch, a[0].text.n + 1, 1);
    for (size_t i = 0; i < a[0].text.n; i++) {
        s[i] = a[0].text.at[i];
        s[i] = s[i] >= first && s[i] < first + 26 ? s[i] ^ 0x20 : s[i];
    }
    *out = pt_text((tn_bytes){s, a[0].text.n});
    return true;
}

static bool upper(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    return cased(p, a, 'a', out);
}

static bool lower(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    return cased(p, a, 'A', out);
}

/* Without the characters of a[1], by default white space, at both ends. */
static bool strip(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p;
    tn_bytes s = a[0].text, cut = n > 1 ? a[1].text : pt_words(" \n\t\f\v\r").text;
    if (a[0].kind != PT_TEXT || (n > 1 && a[1].kind != PT_TEXT))
        return false;
    while (s.n && cut.n && memchr(cut.at, s.at[0], cut.n))
        s = (tn_bytes){s.at + 1, s.n - 1};
    while (s.n && cut.n && memchr(cut.at, s.at[s.n - 1], cut.n))
        s.n--;
    *out = pt_text(s);
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
        *out = pt_list_new(p, PT_LIST);
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
    p->raised =
        a[0].kind == PT_TEXT || a[0].kind == PT_MESSAGE ? imp_text(&p->im, a[0].text) : "an exception";
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
    {"format", 1, 23, format},
    {"str", 1, 1, str},
    {"startswith", 2, 2, starts_with},
    {"endswith", 2, 2, ends_with},
    {"upper", 1, 1, upper},
    {"lower", 1, 1, lower},
    {"strip", 1, 2, strip},
    {"join", 2, 2, join},
    {"split", 2, 2, split},
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

static const pt_builtin *const tables[] = {pt_builtins_late, builtins, pt_builtins_list, pt_builtins_number};

/* Arguments by keyword that have a bearing on the result: an operator with a row, then. */
static bool has_keywords(const pt_args *a, size_t from)
{
    for (size_t i = from; i < a->n; i++)
        if (a->at[i].kind != PT_NONE && !pt_is_ignored(a->keyword[i]))
            return true;
    return false;
}

void pt_refuse_late(pt_import *p, const char *what)
{
    pt_fail(p, "pytorch-E073",
            "%s depends on numbers that only the run knows; that is not supported: compare the numbers, or "
            "keep values in a list",
            what);
}

bool pt_python(pt_import *p, tn_bytes name, const pt_args *a, pt_value *out)
{
    size_t n = 0;
    while (n < a->n && (!a->keyword[n].n || imp_is(a->keyword[n], "min") || imp_is(a->keyword[n], "max") ||
                        imp_is(a->keyword[n], "reverse")))
        n++;
    *out = pt_bad();
    bool done = false;
    for (size_t t = 0; t < sizeof tables / sizeof *tables && !done; t++)
        for (const pt_builtin *b = tables[t]; b->name && !done; b++) {
            if (!imp_is(name, b->name) || n < b->min || n > b->max ||
                (b->run != nothing && has_keywords(a, n)))
                continue;
            for (size_t k = 0; k < n && !done; k++)
                done = !pt_usable(p, a->at[k]);
            done = done || b->run(p, a->at, n, out);
        }
    for (size_t k = 0; k < a->n && !done; k++)
        if (a->at[k].kind == PT_MESSAGE) {
            pt_refuse_late(p, "a text");
            done = true;
        }
    return done;
}
