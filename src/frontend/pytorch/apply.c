/* Calls of operators: the row of a name that fits the arguments, its parameters, the conversion; operators that change
 * their first operand (names that end in _); views. */
#include "frontend/pytorch/pytorch.h"

#include <stdlib.h>
#include <string.h>

static const pt_row *const tables[] = {
    pt_rows_math,      pt_rows_nn,     pt_rows_norm,  pt_rows_move,      pt_rows_split,
    pt_rows_index,     pt_rows_reduce, pt_rows_make,  pt_rows_matrix,    pt_rows_activation,
    pt_rows_recurrent, pt_rows_loss,   pt_rows_image, pt_rows_quantised, pt_rows_complex,
};

bool pt_is_bad(pt_value v) { return v.kind == PT_UNKNOWN && v.i == -1; }

/* ---- rows ---- */

static bool row_is(const pt_row *r, tn_bytes name)
{
    return strncmp(r->schema, (const char *)name.at, name.n) == 0 && r->schema[name.n] == '(';
}

static const pt_row *first_row(tn_bytes name)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const pt_row *r = tables[i]; r->schema; r++)
            if (row_is(r, name))
                return r;
    return NULL;
}

/* ---- parameters ---- */

typedef struct param {
    tn_bytes type, name, value; /* value.n 0: must be given */
    bool by_name;               /* behind a *: never by position */
} param;

/* The next parameter of a schema; false: there is none. */
static bool next_param(const char **at, param *out)
{
    const char *s = *at;
    for (; *s == ' ' || *s == ',' || *s == '*'; s++)
        out->by_name = out->by_name || *s == '*';
    if (*s == ')' || !*s)
        return false;
    const char *type = s;
    while (*s != ' ')
        s++;
    out->type = (tn_bytes){(const uint8_t *)type, (size_t)(s - type)};
    const char *name = ++s;
    while (*s != ',' && *s != ')' && *s != '=')
        s++;
    out->name = (tn_bytes){(const uint8_t *)name, (size_t)(s - name)};
    const char *value = *s == '=' ? ++s : s;
    int brackets = 0;
    while (brackets || (*s != ',' && *s != ')')) {
        brackets += (*s == '[') - (*s == ']');
        s++;
    }
    out->value = (tn_bytes){(const uint8_t *)value, (size_t)(s - value)};
    *at = s;
    return true;
}

void pt_parameter(const pt_row *r, size_t i, tn_bytes *type, tn_bytes *name)
{
    const char *at = strchr(r->schema, '(') + 1;
    param q = {.by_name = false};
    bool has = true;
    for (size_t k = 0; k <= i && has; k++)
        has = next_param(&at, &q);
    TN_ASSERT(has);
    *type = q.type;
    *name = q.name;
}

static pt_value default_of(pt_import *p, tn_bytes s)
{
    char text[32] = "", *end;
    if (imp_is(s, "None"))
        return pt_none();
    if (imp_is(s, "True") || imp_is(s, "False"))
        return pt_bool(imp_is(s, "True"));
    if (imp_is(s, "[]"))
        return pt_make(&p->im.scratch, PT_LIST, 0, NULL);
    memcpy(text, s.at, s.n < 31 ? s.n : 31);
    int64_t i = strtoll(text, &end, 10);
    if (!*end)
        return pt_int(i);
    double f = strtod(text, &end);
    return *end ? pt_text(s) : pt_float(f);
}

static bool is_number(pt_value v)
{
    return v.kind == PT_INT || v.kind == PT_FLOAT || v.kind == PT_BOOL || v.kind == PT_NUMBER;
}

static bool is_integer(pt_value v)
{
    return v.kind == PT_INT || v.kind == PT_BOOL || (v.kind == PT_NUMBER && v.number->kind != PT_FLOAT);
}

static bool all_are(pt_value v, bool tensors)
{
    bool all = pt_is_sequence(v);
    for (size_t i = 0; all && i < v.list->n; i++) {
        pt_value e = pt_at(v, i);
        all = tensors ? pt_is_tensor(e) || e.kind == PT_NONE : is_integer(e) || e.kind == PT_TENSOR;
    }
    return all;
}

static bool fits(const pt_row *r, tn_bytes type, pt_value v)
{
    if (pt_holds_complex(v) && !(r->flags & (PT_PARTS | PT_SUM | PT_PRODUCT)) && !imp_is(type, "Complex"))
        return false;
    if (type.n && type.at[type.n - 1] == '?') {
        type.n--;
        if (v.kind == PT_NONE)
            return true;
    }
    if (imp_is(type, "Tensor"))
        return pt_is_tensor(v) || is_number(v);
    if (imp_is(type, "Complex"))
        return v.kind == PT_COMPLEX;
    if (imp_is(type, "Tensor[]"))
        return all_are(v, true);
    if (imp_is(type, "int[]"))
        return all_are(v, false) || is_integer(v);
    if (imp_is(type, "float[]"))
        return pt_is_sequence(v);
    if (imp_is(type, "int") || imp_is(type, "bool") || imp_is(type, "ScalarType"))
        return is_integer(v);
    if (imp_is(type, "Scalar") || imp_is(type, "float"))
        return is_number(v);
    if (imp_is(type, "str"))
        return v.kind == PT_TEXT;
    return !pt_holds_complex(v); /* any */
}

/* What has no bearing on a result. */
bool pt_is_ignored(tn_bytes name)
{
    static const char *const names[] = {"layout",       "device",    "pin_memory", "memory_format",
                                        "non_blocking", "generator", "implicit",   "requires_grad"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (imp_is(name, names[i]))
            return true;
    return false;
}

static bool bind(pt_import *p, const pt_row *r, const pt_args *a, pt_call *k)
{
    const char *at = strchr(r->schema, '(') + 1;
    size_t used = 0, n_position = 0, i = 0;
    param q = {.by_name = false};
    while (n_position < a->n && !a->keyword[n_position].n)
        n_position++;
    for (; next_param(&at, &q); i++) {
        pt_value v = {.kind = PT_UNSET};
        if (i < n_position && !q.by_name) {
            v = a->at[i];
            used++;
        }
        for (size_t j = n_position; j < a->n; j++)
            if (imp_same(a->keyword[j], q.name)) {
                v = a->at[j];
                used++;
            }
        if (v.kind == PT_UNSET && !q.value.n)
            return false;
        if (v.kind == PT_UNSET)
            v = default_of(p, q.value);
        else if (!fits(r, q.type, v))
            return false;
        if (imp_is(q.name, "rounding_mode") && v.kind == PT_UNSET)
            v = pt_none();
        k->arg[i] = v;
    }
    k->n.n_in = i;
    for (size_t j = n_position; j < a->n; j++)
        used += pt_is_ignored(a->keyword[j]) && !imp_is(a->keyword[j], "out");
    return used >= a->n;
}

/* Names that the parameters of a row begin with, up to those that are given by name only. */
static size_t in_order(const pt_row *r, size_t n, const tn_bytes name[])
{
    const char *at = strchr(r->schema, '(') + 1;
    param q = {.by_name = false};
    size_t i = 0;
    while (i < n && next_param(&at, &q) && !q.by_name && imp_same(q.name, name[i]))
        i++;
    return i;
}

void pt_place_named(pt_import *p, tn_bytes name, size_t n, tn_bytes keyword[])
{
    size_t most = 0;
    if (name.n > 1 && name.at[name.n - 1] == '_' && !first_row(name))
        name.n--;
    const pt_row *r = first_row(name);
    const pt_def *d = r ? NULL : pt_find_def(pt_library(p), name);
    for (; r && r->schema && row_is(r, name); r++) {
        size_t k = in_order(r, n, keyword);
        most = k > most ? k : most;
    }
    while (d && most < n && most < d->n && imp_same(d->param[most].name, keyword[most]))
        most++;
    if (!first_row(name) && !d)
        most = n; /* a function of numbers, or an operator that is not known */
    for (size_t i = 0; i < most; i++)
        keyword[i] = (tn_bytes){0};
}

/* ---- calls ---- */

static pt_call *new_call(pt_import *p, const char *name)
{
    pt_call *k = TN_NEW(&p->im.scratch, pt_call);
    k->p = p;
    k->name = name;
    k->wanted = p->wanted;
    p->wanted = 0;
    k->n = (imp_node){.im = &p->im,
                      .g = p->im.g,
                      .pool = p->im.g->pool,
                      .arena = p->im.g->arena,
                      .loc = pt_place(p, name),
                      .out = TN_NEW_N(&p->im.scratch, tn_value, 1),
                      .n_out = 1};
    k->out = pt_bad();
    return k;
}

imp_node *pt_ctx(pt_import *p) { return &new_call(p, p->loc_op)->n; }

enum { MAX_VIEWS = 250 };

/* Of views of views: reading one may convert all that it shows again. Beyond that it is a copy, and none may change. */
static bool is_deep(pt_call *k, pt_tensor *t, pt_tensor *base)
{
    t->depth = base->depth + 1;
    if (t->depth <= MAX_VIEWS)
        return false;
    t->depth = 0;
    t->fixed = k->name;
    pt_tensor_fix(base, k->name);
    return true;
}

/* An integer argument is absent, or n. */
static bool may_be_of(const pt_call *k, const char *name, int64_t n)
{
    tn_bytes type, of = {0};
    for (size_t i = 1; i < k->n.n_in; i++) {
        pt_parameter(k->row, i, &type, &of);
        if (imp_is(of, name))
            return k->arg[i].kind == PT_NONE || (k->arg[i].kind == PT_INT && k->arg[i].i == n);
    }
    return true;
}

/* Parts of the first dimension do, too. */
bool pt_is_ordered(const pt_tensor *t)
{
    for (; t->base; t = t->base) {
        const pt_call *k = t->made;
        bool part = strstr(k->row->schema, " dim=0") || strstr(k->row->schema, "int dim,");
        if (!(k->row->flags & PT_ORDERED) && !(part && may_be_of(k, "dim", 0) && may_be_of(k, "step", 1)))
            return false;
    }
    return !t->strided && !t->either[0] && (!t->storage || pt_is_contiguous(t));
}

/* Dimension d of the operand of "transpose", "t" or "permute", for dimension i of the result; -1: it is
 * another operator. */
static int64_t moved_from(const pt_call *k, int64_t i, int64_t n)
{
    const char *name = k->row->schema;
    if (strncmp(name, "t(", 2) == 0)
        return n - 1 - i;
    if (strncmp(name, "permute(", 8) == 0 && pt_is_sequence(k->arg[1]) && (int64_t)k->arg[1].list->n == n) {
        pt_value d = pt_at(k->arg[1], (size_t)i);
        return d.kind != PT_INT ? -1 : d.i < 0 ? d.i + n : d.i;
    }
    if (strncmp(name, "transpose(", 10) != 0 || k->arg[1].kind != PT_INT || k->arg[2].kind != PT_INT)
        return -1;
    int64_t a = k->arg[1].i, b = k->arg[2].i;
    a = a < 0 ? a + n : a;
    b = b < 0 ? b + n : b;
    return i == a ? b : i == b ? a : i;
}

/* A transposed tensor of ordered elements, in which dimensions of several elements have changed places. */
static bool is_turned(const pt_tensor *t)
{
    if (!t->base || !pt_is_ordered(t->base) || t->base->now.v.kind != PT_VALUE)
        return false;
    const tn_type *type = imp_type(t->base->now.v.value);
    int64_t last = -1, extent;
    for (int64_t i = 0; i < (int64_t)type->n; i++) {
        int64_t d = moved_from(t->made, i, (int64_t)type->n);
        if (d < 0 || d >= (int64_t)type->n)
            return false;
        if (!tn_is_int(type->dim[d], &extent) || extent < 2)
            continue;
        if (d < last)
            return true;
        last = d;
    }
    return false;
}

/* Elementwise operators keep the order of their operands' elements; products make one of their own. */
static void note_order(const pt_call *k)
{
    static const char *const dense[] = {"matmul(", "mm(", "bmm(", "addmm(", "linear("};
    bool strided = false, makes = k->row->flags & PT_IF_ORDERED && may_be_of(k, "memory_format", 0);
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        makes = makes || strncmp(k->row->schema, dense[i], strlen(dense[i])) == 0;
    for (size_t i = 0; i < k->n.n_in && !makes; i++)
        for (size_t j = 0; j < (pt_is_sequence(k->arg[i]) ? k->arg[i].list->n : 1); j++) {
            pt_value v = pt_is_sequence(k->arg[i]) ? pt_at(k->arg[i], j) : k->arg[i];
            strided = strided || (v.kind == PT_TENSOR && !pt_is_ordered(v.tensor));
        }
    for (size_t j = 0; j < (pt_is_sequence(k->out) ? k->out.list->n : 1) && strided; j++) {
        pt_value v = pt_is_sequence(k->out) ? pt_at(k->out, j) : k->out;
        if (v.kind == PT_TENSOR && !v.tensor->base && !v.tensor->storage)
            v.tensor->strided = true;
    }
}

/* Is the result of such an operator a copy, or may it be? What may be of one memory is not read after a change. */
static bool is_copy(pt_call *k)
{
    if (!(k->row->flags & PT_IF_ORDERED))
        return false;
    if (pt_is_ordered(k->arg[0].tensor))
        return !may_be_of(k, "memory_format", 0);
    bool contiguous = strncmp(k->row->schema, "contiguous", 10) == 0;
    if (k->out.kind == PT_TENSOR && !(contiguous && is_turned(k->arg[0].tensor)))
        pt_may_be(k->p, k->arg[0].tensor, k->out.tensor);
    return true;
}

/* Windows of which none has an element of another. */
static bool is_apart(const pt_call *k)
{
    const pt_value size = k->arg[2], step = k->arg[3];
    return size.kind == PT_INT && step.kind == PT_INT && size.i <= step.i;
}

/* Results that show the memory of the first operand. */
static void link_views(pt_call *k)
{
    if (!(k->row->flags & PT_VIEW) || k->arg[0].kind != PT_TENSOR || is_copy(k))
        return;
    if (k->out.kind == PT_LATE_LIST) { /* its elements are copies */
        pt_tensor_fix(k->arg[0].tensor, k->name);
        return;
    }
    size_t n = pt_is_sequence(k->out) ? k->out.list->n : 1;
    for (size_t i = 0; i < n; i++) {
        pt_value v = pt_is_sequence(k->out) ? pt_at(k->out, i) : k->out;
        if (v.kind != PT_TENSOR || v.tensor == k->arg[0].tensor || v.tensor->base)
            continue;
        if (is_deep(k, v.tensor, k->arg[0].tensor))
            continue;
        v.tensor->base = k->arg[0].tensor;
        v.tensor->made = k;
        v.tensor->part = (uint32_t)i;
        v.tensor->seen = pt_changes_of(k->arg[0].tensor);
        if (strncmp(k->row->schema, "unfold(", 7) == 0 && !is_apart(k))
            v.tensor->fixed = k->name;
    }
}

/* Did it, or a part of it, fail? */
static bool has_failed(pt_value v)
{
    bool failed = pt_is_bad(v);
    for (size_t i = 0; pt_has_parts(v) && i < v.list->n && !failed; i++)
        failed = pt_is_bad(pt_at(v, i));
    return failed;
}

static const char *what_is(pt_import *p, const pt_args *a)
{
    tn_buf b = {0};
    for (size_t i = 0; i < a->n; i++) {
        pt_value v = a->at[i];
        tn_buf_printf(&b, "%s%s%s%s", i ? ", " : "", a->keyword[i].n ? imp_text(&p->im, a->keyword[i]) : "",
                      a->keyword[i].n ? "=" : "", pt_kind_name(v.kind));
    }
    const char *s = tn_arena_strdup(&p->im.scratch, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* Converters leave without a result where they know no better: that is said here, unless what failed before
 * was said. */
static void require_result(pt_call *k)
{
    static const tn_bytes none[PT_MAX_ARG] = {{0}};
    pt_import *p = k->p;
    if (k->n.bad || p->stop || !pt_is_bad(k->out) || p->im.g->ctx->n_error)
        return;
    imp_refuse(&k->n, IMP_OPERANDS,
               "operator %s is not supported with the values or shapes of these arguments (%s)", k->name,
               what_is(p, &(pt_args){k->n.n_in, k->arg, none}));
}

static pt_value convert(pt_call *k)
{
    pt_import *p = k->p;
    bool inherited = false; /* an operand failed, which has been said */
    for (size_t i = 0; i < k->n.n_in; i++)
        inherited = inherited || has_failed(k->arg[i]);
    if (inherited || imp_too_much(&p->im, k->n.loc))
        return pt_bad();
    const size_t said = p->im.g->ctx->n_diag;
    k->row->convert(&k->n);
    pt_keep_steps(&k->n);
    require_result(k);
    tn_diag_place(p->im.g->ctx, said, k->n.loc);
    TN_ASSERT(!k->n.bad || p->im.g->ctx->n_error > 0 || p->stop);
    if (k->n.bad)
        return pt_bad();
    if (k->to == PT_TO_COMPLEX && !k->part && k->out.kind == PT_TENSOR)
        return pt_complex(p, k->out, pt_none());
    return k->out;
}

pt_call *pt_call_again(const pt_call *k)
{
    pt_call *again = new_call(k->p, k->name);
    again->row = k->row;
    again->wanted = k->wanted;
    again->n.n_in = k->n.n_in;
    memcpy(again->arg, k->arg, sizeof k->arg);
    return again;
}

pt_value pt_perform(pt_call *k)
{
    pt_value v = convert(k);
    if (!pt_is_bad(v)) {
        link_views(k);
        note_order(k);
    }
    return v;
}

pt_value pt_replay(const pt_call *call, pt_value first)
{
    pt_call *k = pt_call_again(call);
    k->arg[0] = first;
    return convert(k);
}

/* Said once for each operator. */
static pt_value unknown(pt_import *p, tn_bytes name)
{
    uint64_t seen;
    if (tn_strmap_get(&p->reported, (const char *)name.at, name.n, &seen))
        return pt_bad();
    tn_strmap_put(&p->reported, tn_arena_strndup(&p->im.scratch, (const char *)name.at, name.n), name.n, 1);
    (void)imp_error(
        &p->im, IMP_UNKNOWN_OPERATOR, pt_place(p, imp_text(&p->im, name)),
        "operator %s is not supported; write that part of the model with other operators, or export it "
        "to ONNX",
        imp_text(&p->im, name));
    return pt_bad();
}

/* Said unless an argument failed, which has been said. */
static pt_value not_of_these(pt_import *p, const char *shown, const pt_args *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (has_failed(a->at[i]))
            return pt_bad();
    (void)imp_error(&p->im, IMP_OPERANDS, pt_place(p, shown),
                    "operator %s is not supported with the arguments (%s)", shown, what_is(p, a));
    return pt_bad();
}

static pt_value apply(pt_import *p, tn_bytes name, const char *shown, const pt_args *a)
{
    const pt_row *r = first_row(name);
    pt_args with = pt_with_numbers(p, r, a), plain = pt_without_constants(p, &with);
    const pt_def *made = r ? NULL : pt_find_def(pt_library(p), name);
    pt_call *k = new_call(p, shown);
    if (!r)
        return made ? pt_run_def(p, made, NULL, &plain) : unknown(p, name);
    a = &with;
    bool complex = pt_any_complex(a->n, a->at);
    for (; r->schema && row_is(r, name); r++)
        if (bind(p, r, a, k)) {
            k->row = r;
            return complex && (r->flags & (PT_PARTS | PT_SUM | PT_PRODUCT)) ? pt_perform_complex(k)
                                                                            : pt_perform(k);
        }
    if (complex) {
        const char *own = tn_arena_printf(&p->im.scratch, "complex_%s", imp_text(&p->im, name));
        made = pt_find_def(pt_library(p), pt_words(own).text);
        if (made)
            return pt_run_def(p, made, NULL, &plain);
    }
    return not_of_these(p, shown, a);
}

/* Operators whose form in place gives a tensor other dimensions, and leaves its elements. */
static bool changes_shape(tn_bytes name)
{
    static const char *const names[] = {"squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (imp_is(name, names[i]))
            return true;
    return false;
}

/* The tensor has the value from here on. Views of it, and what it is a view of, know it by its former dimensions, so
 * its elements must not change any more. */
static void set_shape(pt_import *p, const char *shown, pt_tensor *t, tn_value now)
{
    if (t->storage) {
        pt_fail(p, "pytorch-E013", "%s changes the dimensions of a tensor of the file", shown);
        return;
    }
    pt_tensor_fix(t, shown);
    if (now.def && !p->stop)
        pt_set(p, &t->now, (pt_value){.kind = PT_VALUE, .value = now});
}

/* add_(x, y) gives x the value of add(x, y). */
static pt_value apply_in_place(pt_import *p, tn_bytes name, const char *shown, const pt_args *a)
{
    name.n--;
    pt_value to = a->n ? a->at[0] : pt_bad();
    if (!pt_is_tensor(to))
        return not_of_these(p, shown, a);
    pt_value v = apply(p, name, shown, a);
    if (v.kind == PT_TENSOR && to.kind == PT_COMPLEX)
        v = pt_complex(p, v, pt_none());
    if (v.kind != to.kind) {
        if (v.kind == PT_COMPLEX)
            pt_fail(p, "pytorch-E070", "%s gives a tensor of real numbers complex ones", shown);
        return pt_is_bad(v) ? v : not_of_these(p, shown, a);
    }
    tn_value now[2];
    for (size_t i = 0; i < pt_tensors_in(v); i++)
        now[i] = pt_tensor_value(p, pt_tensor_at(v, i));
    for (size_t i = 0; i < pt_tensors_in(v); i++)
        if (changes_shape(name))
            set_shape(p, shown, pt_tensor_at(to, i), now[i]);
        else
            pt_tensor_set(p, pt_tensor_at(to, i), now[i]);
    return to;
}

/* __ior__ of Python is bitwise_or_. */
static tn_bytes of_python(tn_bytes name)
{
    static const char *const names[][2] = {{"__iand__", "bitwise_and_"},
                                           {"__ior__", "bitwise_or_"},
                                           {"__ixor__", "bitwise_xor_"},
                                           {"__ilshift__", "bitwise_left_shift_"},
                                           {"__irshift__", "bitwise_right_shift_"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (imp_is(name, names[i][0]))
            return pt_words(names[i][1]).text;
    return name;
}

pt_value pt_apply(pt_import *p, tn_bytes name, const pt_args *a)
{
    bool other = memchr(name.at, ':', name.n) != NULL;
    const char *shown =
        tn_arena_printf(&p->im.scratch, "%s%s", other ? "" : "aten::", imp_text(&p->im, name));
    for (size_t i = 0; i < a->n; i++)
        if (!pt_usable(p, a->at[i]))
            return pt_bad();
    p->loc_op = shown;
    name = of_python(name);
    if (name.n > 1 && name.at[name.n - 1] == '_' && name.at[name.n - 2] != '_' && !first_row(name))
        return apply_in_place(p, name, shown, a);
    return apply(p, name, shown, a);
}

pt_value pt_call_named(pt_import *p, const char *name, size_t n, const pt_value at[])
{
    static const tn_bytes none[PT_MAX_ARG] = {{0}};
    pt_value v;
    pt_args a = {n, at, none};
    tn_bytes text = pt_words(name).text;
    TN_ASSERT(n <= PT_MAX_ARG);
    return pt_python(p, text, &a, &v) ? v : pt_apply(p, text, &a);
}
