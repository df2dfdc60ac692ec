/* Attribute tables at work: one switch over kinds for each of read, print, compare and hash. */
#include "ir/attr.h"

#include "base/vec.h"

#include <math.h>
#include <string.h>

typedef union any { /* a field, seen through its table row */
    int64_t i;
    double f;
    bool b;
    const char *s;
    const tn_expr *e; /* element of DIMS */
    tn_dtype t;
    tn_ints ints;
    tn_dims dims;
    tn_strs strs;
    tn_reals reals;
} any;

static size_t size_of(enum tn_attr_kind k)
{
    static const size_t sizes[] = {
        [TN_A_I64] = sizeof(int64_t),  [TN_A_F64] = sizeof(double),     [TN_A_BOOL] = sizeof(bool),
        [TN_A_STR] = sizeof(char *),   [TN_A_DTYPE] = sizeof(tn_dtype), [TN_A_INTS] = sizeof(tn_ints),
        [TN_A_DIMS] = sizeof(tn_dims), [TN_A_STRS] = sizeof(tn_strs),   [TN_A_REALS] = sizeof(tn_reals),
    };
    return sizes[k];
}

static any get(const tn_attr_field *f, const void *attr)
{
    any v = {0};
    memcpy(&v, (const char *)attr + f->offset, size_of((enum tn_attr_kind)f->kind));
    return v;
}

static void set(const tn_attr_field *f, void *attr, const any *v)
{
    memcpy((char *)attr + f->offset, v, size_of((enum tn_attr_kind)f->kind));
}

tn_ints tn_ints_make(tn_arena *a, uint32_t n, const int64_t *at)
{
    return (tn_ints){n, tn_arena_copy(a, at, n * sizeof *at, _Alignof(int64_t))};
}

tn_dims tn_dims_make(tn_arena *a, uint32_t n, const tn_expr *const *at)
{
    return (tn_dims){n, tn_arena_copy(a, at, n * sizeof *at, _Alignof(tn_expr *))};
}

/* ---- reading ---- */

static tn_status read_real(tn_lexer *l, double *out)
{
    double sign = tn_lex_accept(l, "-") ? -1 : 1, v;
    if (tn_lex_is(l, "inf") || tn_lex_is(l, "nan"))
        v = tn_lex_is(l, "inf") ? (double)INFINITY : (double)NAN;
    else if ((l->tok == TN_TOK_INT || l->tok == TN_TOK_REAL) && l->n_suffix <= 1 &&
             (l->n_suffix == 0 || *l->suffix == 'f'))
        v = tn_lex_real(l, l->n_suffix ? TN_F32 : TN_F64);
    else
        return tn_lex_expected(l, "a number");
    *out = sign * v;
    tn_lex_next(l);
    return TN_OK;
}

static tn_status read_bool(tn_lexer *l, bool *out)
{
    int64_t v = 0;
    *out = tn_lex_is(l, "True") || tn_lex_is(l, "true");
    if (*out || tn_lex_is(l, "False") || tn_lex_is(l, "false")) {
        tn_lex_next(l);
        return TN_OK;
    }
    if (l->tok != TN_TOK_INT)
        return tn_lex_expected(l, "True or False");
    TN_TRY(tn_lex_int(l, 0, 1, &v));
    *out = v != 0;
    return TN_OK;
}

/* float32, "float32", "" for None. */
static tn_status read_dtype(tn_lexer *l, tn_dtype *out)
{
    if (l->tok != TN_TOK_IDENT && l->tok != TN_TOK_STRING)
        return tn_lex_expected(l, "a type name such as \"float32\"");
    if (l->n > 0 && !tn_dtype_parse(l->text, l->n, out))
        return tn_lex_fail(l, "ir-E021", "`%.*s` is not a type; write float32, int64 or the like",
                           (int)(l->n < 40 ? l->n : 40), l->text);
    tn_lex_next(l);
    return TN_OK;
}

/* One element of a list. */
static tn_status read_element(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, enum tn_attr_kind k,
                              any *out)
{
    if (k == TN_A_INTS)
        return tn_lex_int(l, INT64_MIN, INT64_MAX, &out->i);
    if (k == TN_A_STRS)
        return (out->s = tn_lex_string(l)) ? TN_OK : TN_FAIL;
    if (k == TN_A_REALS)
        return read_real(l, &out->f);
    TN_TRY(tn_expr_parse(l, p, scope, TN_IDX, &out->e));
    if (out->e->kind == TN_E_INT) /* TVM writes the types of numbers, as in 3i64 */
        out->e = tn_idx(p, out->e->u.i);
    return tn_dtype_eq(out->e->dtype, TN_IDX)
               ? TN_OK
               : tn_lex_fail(l, "ir-E021", "a dimension must be of type index");
}

static void finish_list(tn_pool *p, enum tn_attr_kind k, uint32_t n, const any *at, any *out)
{
    int64_t *ints = k == TN_A_INTS ? TN_NEW_N(p->arena, int64_t, n) : NULL;
    const tn_expr **dims = k == TN_A_DIMS ? TN_NEW_N(p->arena, const tn_expr *, n) : NULL;
    const char **strs = k == TN_A_STRS ? TN_NEW_N(p->arena, const char *, n) : NULL;
    double *reals = k == TN_A_REALS ? TN_NEW_N(p->arena, double, n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        if (ints)
            ints[i] = at[i].i;
        else if (dims)
            dims[i] = at[i].e;
        else if (reals)
            reals[i] = at[i].f;
        else
            strs[i] = at[i].s;
    if (ints)
        out->ints = (tn_ints){n, ints};
    else if (dims)
        out->dims = (tn_dims){n, dims};
    else if (reals)
        out->reals = (tn_reals){n, reals};
    else
        out->strs = (tn_strs){n, strs};
}

typedef tn_vec(any) anys;

/* Elements up to the bracket that closes them, behind those that the list has. */
static tn_status read_row(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, enum tn_attr_kind k,
                          const char *close, anys *list)
{
    tn_status s = TN_OK;
    while (s == TN_OK && !tn_lex_is(l, close)) {
        any v = {0};
        s = read_element(l, p, scope, k, &v);
        tn_vec_push(list, v);
        if (!tn_lex_accept(l, ","))
            break;
    }
    return s == TN_OK ? tn_lex_expect(l, close) : s;
}

/* [[1, 2], [3, 4]], after the first bracket: rows of one length. */
static tn_status read_rows(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, enum tn_attr_kind k,
                           anys *list)
{
    size_t first = 0;
    do {
        const size_t n = list->n;
        TN_TRY(tn_lex_expect(l, "["));
        TN_TRY(read_row(l, p, scope, k, "]", list));
        first = n ? first : list->n;
        if (list->n - n != first)
            return tn_lex_fail(l, "ir-E021", "the rows of a list of lists must be of one length");
    } while (tn_lex_accept(l, ",") && !tn_lex_is(l, "]"));
    return tn_lex_expect(l, "]");
}

/* [1, 2], (1, 2), or one element without brackets; [[1, 2], [3, 4]] is [1, 2, 3, 4]. */
static tn_status read_list(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, enum tn_attr_kind k, any *out)
{
    anys list = {0};
    any one = {0};
    const char *close = tn_lex_accept(l, "[") ? "]" : k != TN_A_DIMS && tn_lex_accept(l, "(") ? ")" : NULL;
    tn_status s = !close                                 ? read_element(l, p, scope, k, &one)
                  : close[0] == ']' && tn_lex_is(l, "[") ? read_rows(l, p, scope, k, &list)
                                                         : read_row(l, p, scope, k, close, &list);
    if (!close)
        tn_vec_push(&list, one);
    if (s == TN_OK)
        finish_list(p, k, (uint32_t)list.n, list.at, out);
    tn_vec_deinit(&list);
    return s;
}

/* A number, or a list of one, as TVM writes the axis of some operators. */
static tn_status read_one(tn_lexer *l, int64_t *out)
{
    bool list = tn_lex_accept(l, "[");
    TN_TRY(tn_lex_int(l, INT64_MIN, INT64_MAX, out));
    return list ? tn_lex_expect(l, "]") : TN_OK;
}

static bool may_be_none(enum tn_attr_kind k)
{
    return k != TN_A_F64 && k != TN_A_BOOL; /* an absent integer is 0 */
}

static tn_status read_value(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, enum tn_attr_kind k, any *out)
{
    if (may_be_none(k) && tn_lex_accept(l, "None"))
        return TN_OK;
    switch (k) {
    case TN_A_I64: return read_one(l, &out->i);
    case TN_A_F64: return read_real(l, &out->f);
    case TN_A_BOOL: return read_bool(l, &out->b);
    case TN_A_STR: return (out->s = tn_lex_string(l)) ? TN_OK : TN_FAIL;
    case TN_A_DTYPE: return read_dtype(l, &out->t);
    case TN_A_INTS:
    case TN_A_DIMS:
    case TN_A_STRS:
    case TN_A_REALS: return read_list(l, p, scope, k, out);
    }
    return TN_FAIL;
}

static any default_of(tn_pool *p, const tn_attr_field *f)
{
    tn_lexer l;
    any v = {0};
    tn_lex_init(&l, p->ctx, "default", f->def, strlen(f->def), false);
    tn_status s = read_value(&l, p, NULL, (enum tn_attr_kind)f->kind, &v);
    TN_ASSERT(s == TN_OK && l.tok == TN_TOK_END); /* the table is ours */
    return v;
}

tn_status tn_attr_init(tn_pool *p, const tn_attr_field *f, uint32_t size, void *out)
{
    memset(out, 0, size);
    for (; f && f->name; f++) {
        TN_ASSERT(f->offset + size_of((enum tn_attr_kind)f->kind) <= size);
        if (f->def) {
            any v = default_of(p, f);
            set(f, out, &v);
        }
    }
    return TN_OK;
}

static tn_status unknown(tn_lexer *l, const tn_attr_field *table, const char *name)
{
    tn_buf b = {0};
    for (const tn_attr_field *f = table; f && f->name; f++)
        tn_buf_printf(&b, "%s%s", f == table ? "" : ", ", f->name);
    tn_status s = tn_lex_fail(l, "ir-E020", "unknown attribute `%s`; known are: %s", name,
                              b.n ? tn_buf_cstr(&b) : "none");
    tn_buf_deinit(&b);
    return s;
}

tn_status tn_attr_parse(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, const tn_attr_field *table,
                        const char *name, void *attr)
{
    any v = {0};
    const tn_attr_field *f = table;
    while (f && f->name && strcmp(f->name, name) != 0)
        f++;
    if (!f || !f->name)
        return unknown(l, table, name);
    bool plain = f->kind == TN_A_BOOL || f->kind == TN_A_I64 || f->kind == TN_A_F64 || f->kind == TN_A_DTYPE;
    if (plain && f->def && tn_lex_is(l, "None")) { /* as TVM says that it is not given */
        tn_lex_next(l);
        return TN_OK;
    }
    TN_TRY(read_value(l, p, scope, (enum tn_attr_kind)f->kind, &v));
    set(f, attr, &v);
    return TN_OK;
}

/* ---- printing ---- */

static void print_string(const char *s, tn_buf *out)
{
    if (s)
        tn_text_quote(s, out);
    else
        tn_buf_str(out, "None");
}

static bool is_none(enum tn_attr_kind k, const any *v)
{
    return k == TN_A_INTS    ? !v->ints.at
           : k == TN_A_DIMS  ? !v->dims.at
           : k == TN_A_STRS  ? !v->strs.at
           : k == TN_A_REALS ? !v->reals.at
           : k == TN_A_DTYPE ? v->t.bits == 0
                             : false;
}

static uint32_t list_count(enum tn_attr_kind k, const any *v)
{
    return k == TN_A_INTS    ? v->ints.n
           : k == TN_A_DIMS  ? v->dims.n
           : k == TN_A_STRS  ? v->strs.n
           : k == TN_A_REALS ? v->reals.n
                             : 0;
}

static void print_list(enum tn_attr_kind k, const any *v, tn_buf *out)
{
    tn_buf_char(out, '[');
    for (uint32_t i = 0; i < list_count(k, v); i++) {
        if (i > 0)
            tn_buf_str(out, ", ");
        if (k == TN_A_INTS)
            tn_buf_printf(out, "%lld", (long long)v->ints.at[i]);
        else if (k == TN_A_DIMS)
            tn_expr_print(v->dims.at[i], NULL, out);
        else if (k == TN_A_REALS)
            tn_buf_real(out, v->reals.at[i], 0);
        else
            print_string(v->strs.at[i], out);
    }
    tn_buf_char(out, ']');
}

static void print_value(enum tn_attr_kind k, const any *v, tn_buf *out)
{
    if (is_none(k, v)) {
        tn_buf_str(out, "None");
        return;
    }
    switch (k) {
    case TN_A_I64: tn_buf_printf(out, "%lld", (long long)v->i); break;
    case TN_A_F64: tn_buf_real(out, v->f, 0); break;
    case TN_A_BOOL: tn_buf_str(out, v->b ? "True" : "False"); break;
    case TN_A_STR: print_string(v->s, out); break;
    case TN_A_DTYPE:
        tn_buf_char(out, '"');
        tn_dtype_print(v->t, false, out);
        tn_buf_char(out, '"');
        break;
    case TN_A_INTS:
    case TN_A_DIMS:
    case TN_A_STRS:
    case TN_A_REALS: print_list(k, v, out); break;
    }
}

/* ---- JSON ---- */

static void json_real(double v, tn_buf *out)
{
    if (isfinite(v))
        tn_buf_real(out, v, 0);
    else
        tn_buf_str(out, isnan(v) ? "\"nan\"" : v > 0 ? "\"inf\"" : "\"-inf\"");
}

static void json_list(enum tn_attr_kind k, const any *v, tn_buf *out)
{
    tn_buf_char(out, '[');
    for (uint32_t i = 0; i < list_count(k, v); i++) {
        if (i > 0)
            tn_buf_str(out, ", ");
        if (k == TN_A_STRS)
            tn_buf_json(out, v->strs.at[i]);
        else if (k == TN_A_REALS)
            json_real(v->reals.at[i], out);
        else if (k == TN_A_INTS)
            tn_buf_printf(out, "%lld", (long long)v->ints.at[i]);
        else if (v->dims.at[i]->kind == TN_E_INT)
            tn_buf_printf(out, "%lld", (long long)v->dims.at[i]->u.i);
        else
            tn_buf_str(out, "null"); /* a symbol, which host functions know nothing of */
    }
    tn_buf_char(out, ']');
}

static void json_value(enum tn_attr_kind k, const any *v, tn_buf *out)
{
    if (is_none(k, v) || (k == TN_A_STR && !v->s))
        tn_buf_str(out, "null");
    else if (k == TN_A_STR)
        tn_buf_json(out, v->s);
    else if (k == TN_A_BOOL)
        tn_buf_str(out, v->b ? "true" : "false");
    else if (k == TN_A_F64)
        json_real(v->f, out);
    else if (k == TN_A_I64 || k == TN_A_DTYPE)
        print_value(k, v, out);
    else
        json_list(k, v, out);
}

void tn_attr_print_json(const tn_attr_field *table, const void *attr, tn_buf *out)
{
    tn_buf_char(out, '{');
    for (const tn_attr_field *f = table; f && f->name; f++) {
        any v = get(f, attr);
        tn_buf_printf(out, "%s\"%s\": ", f == table ? "" : ", ", f->name);
        json_value((enum tn_attr_kind)f->kind, &v, out);
    }
    tn_buf_char(out, '}');
}

/* ---- comparing ---- */

static bool str_eq(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool element_eq(enum tn_attr_kind k, const any *a, const any *b, uint32_t i)
{
    return k == TN_A_INTS    ? a->ints.at[i] == b->ints.at[i]
           : k == TN_A_DIMS  ? a->dims.at[i] == b->dims.at[i]
           : k == TN_A_REALS ? memcmp(&a->reals.at[i], &b->reals.at[i], sizeof(double)) == 0
                             : str_eq(a->strs.at[i], b->strs.at[i]);
}

static bool value_eq(enum tn_attr_kind k, const any *a, const any *b)
{
    uint32_t n = list_count(k, a);
    switch (k) {
    case TN_A_I64:
    case TN_A_F64: return a->i == b->i; /* bits: NaN equals itself, -0 is not 0 */
    case TN_A_BOOL: return a->b == b->b;
    case TN_A_STR: return str_eq(a->s, b->s);
    case TN_A_DTYPE: return tn_dtype_eq(a->t, b->t);
    default: break;
    }
    if (n != list_count(k, b) || is_none(k, a) != is_none(k, b))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!element_eq(k, a, b, i))
            return false;
    return true;
}

void tn_attr_print(tn_pool *p, const tn_attr_field *table, const void *attr, tn_buf *out)
{
    for (const tn_attr_field *f = table; f && f->name; f++) {
        any v = get(f, attr), d = {0};
        if (f->def)
            d = default_of(p, f);
        if (f->def && value_eq((enum tn_attr_kind)f->kind, &v, &d))
            continue;
        tn_buf_printf(out, ", %s=", f->name);
        print_value((enum tn_attr_kind)f->kind, &v, out);
    }
}

bool tn_attr_eq(const tn_attr_field *table, const void *a, const void *b)
{
    for (const tn_attr_field *f = table; f && f->name && a != b; f++) {
        any x = get(f, a), y = get(f, b);
        if (!value_eq((enum tn_attr_kind)f->kind, &x, &y))
            return false;
    }
    return true;
}

bool tn_attr_fixed(const tn_attr_field *table, const void *attr)
{
    for (const tn_attr_field *f = table; f && f->name; f++) {
        any x = get(f, attr);
        for (uint32_t i = 0; f->kind == TN_A_DIMS && i < x.dims.n; i++)
            if (x.dims.at[i]->kind != TN_E_INT)
                return false;
    }
    return true;
}

static uint64_t hash_string(const char *s) { return s ? tn_hash_bytes(s, strlen(s), 1) : 0; }

static uint64_t hash_value(enum tn_attr_kind k, const any *v)
{
    uint64_t h = (uint64_t)list_count(k, v) << 1 | is_none(k, v);
    switch (k) {
    case TN_A_I64:
    case TN_A_F64: return (uint64_t)v->i;
    case TN_A_BOOL: return v->b;
    case TN_A_STR: return hash_string(v->s);
    case TN_A_DTYPE: return (uint64_t)v->t.code | (uint64_t)v->t.bits << 8 | (uint64_t)v->t.lanes << 16;
    default: break;
    }
    for (uint32_t i = 0; i < list_count(k, v); i++)
        h = tn_hash_u64(h, k == TN_A_INTS    ? (uint64_t)v->ints.at[i]
                           : k == TN_A_DIMS  ? v->dims.at[i]->hash
                           : k == TN_A_REALS ? tn_hash_bytes(&v->reals.at[i], sizeof(double), 1)
                                             : hash_string(v->strs.at[i]));
    return h;
}

uint64_t tn_attr_hash(const tn_attr_field *table, const void *attr)
{
    uint64_t h = 0;
    for (const tn_attr_field *f = table; f && f->name; f++) {
        any v = get(f, attr);
        h = tn_hash_u64(h, hash_value((enum tn_attr_kind)f->kind, &v));
    }
    return h;
}
