/* Types of Relay text: Tensor[(n, 3, 4*h), float32, NCHW16c], Tensor[?, float32], scalars by dtype, tuples, functions,
 * references, Seq[A], Optional[A], Map[A, B]. */
#include "relay/parse.h"

#include <stdio.h>
#include <string.h>

enum { MAX_RANK = 64, MAX_FIELDS = 4096 };

static const tn_expr *dim_name(void *user, const char *name)
{
    parser *p = user;
    uint64_t at;
    if (tn_lex_reserved(name))
        return NULL;
    if (!tn_strmap_get(&p->bound, name, strlen(name), &at) || at == 2) {
        if (p->dims == DIM_CHECK && tn_graph_find_symbol(p->g, name))
            return tn_sym(p->g->pool, name); /* the body may bind it during the run */
        if (p->dims != DIM_PARAM && p->dims != DIM_ANY)
            return NULL;
        const char *kept = tn_intern(p->g->ctx, name);
        tn_strmap_put(&p->bound, kept, strlen(kept), 0);
        tn_graph_symbol(p->g, kept);
    }
    return tn_sym(p->g->pool, name);
}

tn_scope_fns parse_dims_scope(parser *p) { return (tn_scope_fns){.name = dim_name, .user = p}; }

/* The first number k so that no identifier d<k> or above is in the text. */
static int64_t count_fresh(const parser *p)
{
    int64_t next = 0;
    for (const char *c = p->text; c < p->text_end; c++) {
        if (*c != 'd')
            continue;
        int64_t k = 0;
        int digits = 0;
        while (c + 1 < p->text_end && c[1] >= '0' && c[1] <= '9' && digits < 9) {
            k = k * 10 + (*++c - '0');
            digits++;
        }
        next = digits && k >= next ? k + 1 : next;
    }
    return next;
}

static const tn_expr *fresh_dim(parser *p)
{
    if (p->dims == DIM_CHECK || p->dims == DIM_ANY)
        return tn_any_dim(p->g->pool);
    if (p->fresh < 0)
        p->fresh = count_fresh(p);
    char name[32];
    do {
        snprintf(name, sizeof name, "d%lld", (long long)p->fresh++);
    } while (tn_graph_find_symbol(p->g, name));
    const char *kept = tn_intern(p->g->ctx, name);
    tn_graph_symbol(p->g, kept);
    tn_strmap_put(&p->bound, kept, strlen(kept), 1);
    return tn_sym(p->g->pool, kept);
}

const tn_type *parse_bound(parser *p, const tn_type *t)
{
    if (t->kind != TN_T_TENSOR || tn_dtype_is_string(t->dtype) || !tn_type_is_handle(t))
        return t;
    const tn_expr **dim = TN_NEW_N(&p->scratch, const tn_expr *, t->n);
    enum dim_mode dims = p->dims;
    p->dims = DIM_PARAM;
    for (int d = 0; d < t->n; d++)
        dim[d] = tn_dim_is_any(t->dim[d]) ? fresh_dim(p) : t->dim[d];
    p->dims = dims;
    return tn_type_tensor(p->g->pool, t->dtype, t->n, dim, t->layout);
}

static tn_status parse_dim(parser *p, const tn_expr **out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    if (parse_accept(p, "?")) {
        *out = fresh_dim(p);
        return TN_OK;
    }
    tn_scope_fns scope = parse_dims_scope(p);
    TN_TRY(tn_expr_parse(&p->l, p->g->pool, &scope, TN_IDX, out));
    const tn_expr *e = *out;
    if (!tn_dtype_eq(e->dtype, TN_IDX) || e->has_load) {
        return parse_error(p, line, col, "relay-E010",
                           "a dimension must be an index expression of integers and symbols");
    }
    if (e->kind == TN_E_INT && e->u.i < 0) {
        return parse_error(p, line, col, "relay-E010", "a dimension must be at least 0, but this is %lld",
                           (long long)e->u.i);
    }
    if (e->kind == TN_E_SYM && (p->dims == DIM_PARAM || p->dims == DIM_ANY))
        tn_strmap_put(&p->bound, e->u.s, strlen(e->u.s), 1);
    return TN_OK;
}

/* "(n, 3)" or a single dimension. */
static tn_status parse_shape(parser *p, int *out_n, const tn_expr **dim)
{
    int n = 0;
    TN_TRY(parse_expect(p, "("));
    while (!tn_lex_is(&p->l, ")")) {
        if (n == MAX_RANK)
            return tn_lex_fail(&p->l, "relay-E010", "a tensor has at most %d dimensions", MAX_RANK);
        TN_TRY(parse_dim(p, &dim[n]));
        n++;
        if (!parse_accept(p, ","))
            break;
    }
    *out_n = n;
    return parse_expect(p, ")");
}

static tn_status parse_dtype(parser *p, tn_dtype *out)
{
    tn_lexer *l = &p->l;
    if (l->tok != TN_TOK_IDENT || !tn_dtype_parse(l->text, l->n, out) || out->lanes != 1 ||
        tn_dtype_is_index(*out) || out->code == TN_HANDLE) {
        return tn_lex_fail(l, "relay-E011",
                           "expected the dtype of a tensor (float32, int8, bool, ...), found '%.*s'",
                           (int)(l->n < 64 ? l->n : 64), l->text ? l->text : "");
    }
    parse_next(p);
    return TN_OK;
}

/* The layout is the raw text up to the closing bracket: NHWC:NCHW16c, options in braces. */
static tn_status parse_layout(parser *p, int ndim, const tn_layout **out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    const char *from = p->l.text, *to = from;
    while (p->l.tok != TN_TOK_END && !tn_lex_is(&p->l, "]")) {
        to = p->l.at;
        parse_next(p);
    }
    const char *text = from && to > from ? tn_intern_n(p->g->ctx, from, (size_t)(to - from)) : "";
    TN_TRY(tn_layout_parse(p->g->ctx, text, parse_loc(p, line, col, NULL), out));
    if (*out && (*out)->ndim != ndim) {
        return parse_error(p, line, col, "relay-E012", "layout %s has %d dimensions, but the tensor has %d",
                           text, (*out)->ndim, ndim);
    }
    return TN_OK;
}

/* What is inside of a sequence, say: `?` is any extent there. */
static enum dim_mode enter_inner(parser *p)
{
    enum dim_mode had = p->dims;
    p->dims = had == DIM_PARAM ? DIM_ANY : had;
    p->inner++;
    return had;
}

static void leave_inner(parser *p, enum dim_mode had)
{
    p->dims = had;
    p->inner--;
}

/* Is the tensor at whose shape the text stands one of texts? */
static bool is_of_texts(const parser *p)
{
    tn_lexer l = p->l;
    int depth = 0;
    do {
        depth += tn_lex_is(&l, "(") ? 1 : tn_lex_is(&l, ")") ? -1 : 0;
        tn_lex_next(&l);
    } while (depth > 0 && l.tok != TN_TOK_END);
    return tn_lex_accept(&l, ",") && tn_lex_is(&l, "string");
}

/* Symbols mean nothing in there, as a value that is a handle binds none. */
static tn_status check_unbound(parser *p, uint32_t line, uint32_t col, const tn_type *t)
{
    if (!t || tn_type_eq_logical(t, tn_type_unbound(p->g->pool, t)))
        return TN_OK;
    return parse_error(p, line, col, "relay-E080",
                       "extents of texts, and inside of Seq, Optional and Map, are numbers or `?`");
}

static tn_status parse_tensor(parser *p, const tn_type **out)
{
    const tn_expr *dim[MAX_RANK];
    const tn_layout *layout = NULL;
    tn_dtype t = TN_F32;
    int n = 0;
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    TN_TRY(parse_expect(p, "["));
    bool any = parse_accept(p, "?"), texts = !any && is_of_texts(p);
    enum dim_mode dims = p->dims;
    p->dims = texts && dims == DIM_PARAM ? DIM_ANY : dims;
    tn_status s = any ? TN_OK : parse_shape(p, &n, dim);
    p->dims = dims;
    TN_TRY(s);
    TN_TRY(parse_expect(p, ","));
    TN_TRY(parse_dtype(p, &t));
    if (any) {
        *out = tn_type_any(p->g->pool, t);
        return parse_expect(p, "]");
    }
    if (parse_accept(p, ","))
        TN_TRY(parse_layout(p, n, &layout));
    TN_TRY(parse_expect(p, "]"));
    *out = tn_type_tensor(p->g->pool, t, n, dim, layout);
    return texts ? check_unbound(p, line, col, *out) : TN_OK;
}

/* "(A, B)" after its bracket; fields are collected into a scratch array. */
static tn_status parse_fields(parser *p, const char *close, uint32_t *out_n, const tn_type ***out)
{
    tn_vec(const tn_type *) v = {0};
    tn_status s = TN_OK;
    while (s == TN_OK && !tn_lex_is(&p->l, close)) {
        const tn_type *t = NULL;
        s = v.n == MAX_FIELDS
                ? tn_lex_fail(&p->l, "relay-E013", "more than %d fields in one type", MAX_FIELDS)
                : parse_type(p, &t);
        if (s == TN_OK) {
            tn_vec_push(&v, t);
            if (!parse_accept(p, ","))
                break;
        }
    }
    s = s == TN_OK ? parse_expect(p, close) : s;
    *out_n = (uint32_t)v.n;
    *out = tn_arena_copy(&p->scratch, v.n ? (const void *)v.at : "", v.n * sizeof *v.at,
                         _Alignof(const tn_type *));
    tn_vec_deinit(&v);
    return s;
}

static tn_status parse_tuple_type(parser *p, const tn_type **out)
{
    uint32_t n;
    const tn_type **field;
    enum dim_mode dims = enter_inner(p);
    tn_status s = parse_expect(p, "(");
    s = s == TN_OK ? parse_fields(p, ")", &n, &field) : s;
    leave_inner(p, dims);
    TN_TRY(s);
    *out = tn_type_tuple(p->g->pool, (int)n, field);
    return TN_OK;
}

/* "fn(A) -> B" after its word */
static tn_status parse_func_type(parser *p, const tn_type **out)
{
    if (tn_lex_is(&p->l, "[")) {
        return tn_lex_fail(
            &p->l, "relay-E021",
            "only the type of a `let` has type parameters: a function that is passed on has one type; "
            "write plain types, and pass on one function for each of them");
    }
    return parse_signature(p, out);
}

tn_status parse_signature(parser *p, const tn_type **out)
{
    uint32_t n;
    const tn_type **param, *result = NULL;
    enum dim_mode dims = enter_inner(p);
    tn_status s = parse_expect(p, "(");
    s = s == TN_OK ? parse_fields(p, ")", &n, &param) : s;
    s = s == TN_OK ? parse_expect(p, "->") : s;
    s = s == TN_OK ? parse_type(p, &result) : s;
    leave_inner(p, dims);
    TN_TRY(s);
    *out = tn_type_func(p->g->pool, (int)n, param, result);
    return TN_OK;
}

/* "ref(A)" after its word */
static tn_status parse_ref_type(parser *p, const tn_type **out)
{
    const tn_type *to = NULL;
    enum dim_mode dims = enter_inner(p);
    tn_status s = parse_expect(p, "(");
    s = s == TN_OK ? parse_type(p, &to) : s;
    s = s == TN_OK ? parse_expect(p, ")") : s;
    leave_inner(p, dims);
    TN_TRY(s);
    *out = tn_type_ref(p->g->pool, to);
    return TN_OK;
}

/* "Seq[A]", "Optional[A]" or "Map[A, B]"; the first two may be of nothing. */
static tn_status parse_holder(parser *p, enum tn_type_kind kind, const tn_type **out)
{
    uint32_t n = 0, line = p->l.tok_line, col = p->l.tok_col, most = kind == TN_T_MAP ? 2 : 1;
    const tn_type **field = NULL;
    parse_next(p);
    enum dim_mode dims = enter_inner(p);
    tn_status s = parse_expect(p, "[");
    s = s == TN_OK ? parse_fields(p, "]", &n, &field) : s;
    leave_inner(p, dims);
    TN_TRY(s);
    if (n > most || (kind == TN_T_MAP && n < most))
        return parse_error(p, line, col, "relay-E081", "%u types are given, but it takes %u", (unsigned)n,
                           (unsigned)most);
    const tn_type *first = n ? field[0] : NULL;
    *out = kind == TN_T_SEQ        ? tn_type_seq(p->g->pool, first)
           : kind == TN_T_OPTIONAL ? tn_type_optional(p->g->pool, first)
                                   : tn_type_map(p->g->pool, first, field[1]);
    return check_unbound(p, line, col, *out);
}

static tn_status parse_type_inner(parser *p, const tn_type **out)
{
    static const struct {
        const char *name;
        enum tn_type_kind kind;
    } holder[] = {{"Seq", TN_T_SEQ}, {"Optional", TN_T_OPTIONAL}, {"Map", TN_T_MAP}};
    tn_dtype t;
    for (size_t i = 0; i < sizeof holder / sizeof *holder; i++)
        if (tn_lex_is(&p->l, holder[i].name))
            return parse_holder(p, holder[i].kind, out);
    if (tn_lex_is(&p->l, "("))
        return parse_tuple_type(p, out);
    if (parse_accept(p, "fn"))
        return parse_func_type(p, out);
    if (parse_accept(p, "Tensor"))
        return parse_tensor(p, out);
    if (parse_accept(p, "_")) {
        *out = p->inner ? tn_type_none(p->g->pool) : NULL;
        return TN_OK;
    }
    if (parse_accept(p, "ref"))
        return parse_ref_type(p, out);
    tn_lexer *l = &p->l;
    bool found = false;
    if (l->tok == TN_TOK_IDENT && !tn_dtype_parse(l->text, l->n, &t))
        TN_TRY(parse_data_type(p, out, &found));
    if (found)
        return TN_OK;
    if (l->tok == TN_TOK_IDENT && !tn_dtype_parse(l->text, l->n, &t)) {
        return tn_lex_fail(l, "relay-E014",
                           "unknown type '%.*s'; write a tensor (Tensor[(2, 3), float32]), a scalar "
                           "(float32), a tuple, an fn type, or a type that the text defines",
                           (int)(l->n < 64 ? l->n : 64), l->text);
    }
    TN_TRY(parse_dtype(p, &t));
    *out = tn_type_tensor(p->g->pool, t, 0, NULL, NULL);
    return TN_OK;
}

tn_status parse_type(parser *p, const tn_type **out)
{
    *out = NULL;
    TN_TRY(parse_enter(p));
    tn_status s = parse_type_inner(p, out);
    p->nest--;
    return s;
}

static bool dim_fits(const tn_expr *declared, const tn_expr *actual)
{
    return declared == actual || tn_dim_is_any(declared);
}

bool parse_type_fits(const tn_type *declared, const tn_type *actual)
{
    if (!declared || declared == actual)
        return true;
    if (actual && declared->kind >= TN_T_ANY)
        return tn_type_fits(declared, actual);
    if (actual && actual->kind == TN_T_NONE)
        return true;
    if (!actual || declared->kind != actual->kind || declared->n != actual->n)
        return false;
    if (declared->kind == TN_T_TENSOR) {
        bool fits = tn_dtype_eq(declared->dtype, actual->dtype) && declared->layout == actual->layout;
        for (int d = 0; d < declared->n && fits; d++)
            fits = dim_fits(declared->dim[d], actual->dim[d]);
        return fits;
    }
    for (int i = 0; i < declared->n; i++) /* depth: bounded by what the parser accepts */
        if (!parse_type_fits(declared->field[i], actual->field[i]))
            return false;
    return true;
}

/* Reads a type from other text than the module's: the annotation of what stands at line and col. */
static tn_status parse_type_of(parser *p, const char *text, size_t n, uint32_t line, uint32_t col,
                               const tn_type **out)
{
    tn_lexer saved = p->l;
    const char *saved_end = p->prev_end;
    size_t errors = p->g->ctx->n_error;
    tn_lex_init(&p->l, p->g->ctx, p->file, text, n, false);
    p->l.line = p->l.tok_line = line;
    p->l.col = p->l.tok_col = col;
    enum dim_mode mode = p->dims;
    p->dims = DIM_USE;
    tn_status s = parse_type(p, out);
    p->dims = mode;
    p->l = saved;
    p->prev_end = saved_end;
    return p->g->ctx->n_error > errors ? TN_FAIL : s; /* the lexer may have met a bad byte behind the type */
}

tn_status parse_constant_type(parser *p, const tn_annot_const *a, uint32_t line, uint32_t col,
                              const tn_type **out)
{
    const tn_type *t = NULL;
    *out = NULL;
    if (a->type) {
        TN_TRY(parse_type_of(p, a->type, a->n_type, line, col, &t));
    } else {
        char *text = tn_arena_printf(&p->scratch, "Tensor[%.*s, %.*s%s%.*s]", (int)a->n_dims, a->dims,
                                     a->n_dtype ? (int)a->n_dtype : 7, a->n_dtype ? a->dtype : "float32",
                                     a->n_layout ? ", " : "", (int)a->n_layout, a->n_layout ? a->layout : "");
        TN_TRY(parse_type_of(p, text, strlen(text), line, col, &t));
    }
    if (!t || t->kind != TN_T_TENSOR || !tn_type_dims_const(t, NULL))
        return parse_error(p, line, col, "relay-E015",
                           "the type of a constant must be a tensor with constant dimensions");
    *out = t;
    return TN_OK;
}
