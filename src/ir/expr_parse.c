/* Reads expressions: a Pratt parser (Pratt 1973) over the lexer.
 *
 * Nothing is folded: each operator in the text is one node. A literal without suffix is *bare* until it meets something
 * with a dtype: the other operand, or what the context wants. Operators and parentheses wait on a stack of their own;
 * calls, indices and unary operators recurse, bounded by tn_lex_enter.
 */
#include "ir/lex.h"

#include "base/vec.h"
#include "ir/eval.h"

#include <math.h>
#include <string.h>

/* Binding strength, as in print.c. */
enum { P_ANY, P_OR, P_AND, P_COMPARE, P_ADD, P_MUL, P_PRIMARY };

/* A parsed operand. Bare literals have e == NULL: an integer, or a real with its value in both precisions. */
typedef struct value {
    const tn_expr *e;
    bool real;
    int64_t i;
    double r64, r32;
    uint32_t line, col; /* where it begins */
} value;

typedef struct binary {
    const char *text;
    int prec;
    enum tn_ek k;
    bool swap;
} binary;

/* What stands left of the operand that is being read, and how what surrounds it goes on. */
typedef struct pending {
    const binary *op; /* NULL: a parenthesis */
    value left;
    int prec;
    tn_dtype want;
} pending;

typedef struct parser {
    tn_lexer *l;
    tn_pool *p;
    const tn_scope_fns *scope;
    tn_vec(pending) open;
} parser;

static const binary binaries[] = {
    {"or", P_OR, TN_E_OR, false},       {"and", P_AND, TN_E_AND, false},  {"==", P_COMPARE, TN_E_EQ, false},
    {"!=", P_COMPARE, TN_E_NE, false},  {"<", P_COMPARE, TN_E_LT, false}, {"<=", P_COMPARE, TN_E_LE, false},
    {">", P_COMPARE, TN_E_LT, true},    {">=", P_COMPARE, TN_E_LE, true}, {"+", P_ADD, TN_E_ADD, false},
    {"-", P_ADD, TN_E_SUB, false},      {"*", P_MUL, TN_E_MUL, false},    {"/", P_MUL, TN_E_FLOORDIV, false},
    {"%", P_MUL, TN_E_FLOORMOD, false},
};

static const tn_payload no_payload = {.bits = 0};

static tn_status parse_prec(parser *ps, int prec, tn_dtype want, value *out);
static tn_status parse_primary(parser *ps, tn_dtype want, value *out);

bool tn_lex_reserved(const char *word)
{
    static const char *const words[] = {
        "and",    "or",       "not",    "true",     "false", "inf",  "nan",     "mask", /* of expressions */
        "for",    "parallel", "vector", "unrolled", "block", "init", /* begin a statement */
        "buffer", "if",       "else",   "let",      "check", "pass", "symbols", "prefetch", "tensor"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static tn_status fail_at(parser *ps, const value *v, const char *id, const char *message)
{
    ps->l->tok_line = v->line;
    ps->l->tok_col = v->col;
    return tn_lex_fail(ps->l, id, "%s", message);
}

/* ---- dtypes of operands ---- */

static bool is_numeric(tn_dtype t)
{
    return tn_dtype_is_float(t) || tn_dtype_is_int(t) || tn_dtype_is_index(t);
}

static bool is_whole(tn_dtype t) { return tn_dtype_is_int(t) || tn_dtype_is_index(t); }

/* Gives a bare literal the (scalar) dtype t; anything else stays. */
static tn_status settle(parser *ps, value *v, tn_dtype t)
{
    t.lanes = 1;
    if (v->e)
        return TN_OK;
    if (tn_dtype_is_float(t)) {
        double r = v->real ? (t.bits == 32 ? v->r32 : v->r64) : 0;
        v->e = v->real ? tn_flt(ps->p, t, r)
                       : tn_flt(ps->p, t, tn_eval_cast(TN_I64, t, (tn_scalar){.i = v->i}).f);
        return TN_OK;
    }
    if (v->real)
        return fail_at(ps, v, "ir-E005",
                       "expected an integer, found a real number; write an integer or add the suffix f");
    if (!is_whole(t))
        return fail_at(ps, v, "ir-E005",
                       "expected a bool, found a number; write true, false or a comparison");
    v->e = tn_int(ps->p, t, v->i);
    if (v->e->u.i != v->i)
        return fail_at(ps, v, "ir-E005",
                       "this number is too large for the type of the other operand; write a smaller one");
    return TN_OK;
}

/* Settles n operands to one dtype, the first that is not bare, else `want`; splats scalars to the widest. */
static tn_status unify(parser *ps, int n, value v[], tn_dtype want)
{
    uint16_t lanes = 1;
    tn_dtype t = is_numeric(want) ? want : TN_IDX;
    for (int i = n - 1; i >= 0; i--)
        t = v[i].e ? v[i].e->dtype : t;
    for (int i = 0; i < n; i++) {
        TN_TRY(settle(ps, &v[i], t));
        if (v[i].e->dtype.lanes > 1)
            lanes = v[i].e->dtype.lanes;
    }
    for (int i = 0; i < n; i++) {
        if (v[i].e->dtype.lanes == 1)
            v[i].e = tn_splat(ps->p, v[i].e, lanes);
        if (!tn_dtype_eq(v[i].e->dtype, tn_dtype_lanes(t, lanes)))
            return fail_at(ps, &v[i], "ir-E005",
                           "the operands have different types; convert one, as in f32(x)");
    }
    return TN_OK;
}

/* What kind k takes: NULL if t is right, else the complaint. */
static const char *complaint(enum tn_ek k, tn_dtype t)
{
    switch (k) {
    case TN_E_AND:
    case TN_E_OR:
    case TN_E_NOT: return tn_dtype_is_bool(t) ? NULL : "this operator takes bool operands; compare first";
    case TN_E_EQ:
    case TN_E_NE: return is_numeric(t) || tn_dtype_is_bool(t) ? NULL : "handles cannot be compared";
    case TN_E_DIV:
    case TN_E_FMA: return tn_dtype_is_float(t) ? NULL : "this operator takes floats; convert, as in f32(x)";
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD:
        return is_whole(t)
                   ? NULL
                   : "this operator takes integers or index; divide floats with / and reduce them with floor";
    case TN_E_BITAND:
    case TN_E_BITOR:
    case TN_E_BITXOR:
    case TN_E_SHL:
    case TN_E_SHR:
        return tn_dtype_is_int(t) ? NULL : "this operator takes data integers; convert, as in i32(x)";
    default: return is_numeric(t) ? NULL : "this operator takes numbers, not bool; convert, as in i32(x)";
    }
}

static bool compares(enum tn_ek k) { return k == TN_E_EQ || k == TN_E_NE || k == TN_E_LT || k == TN_E_LE; }

/* A node of an operator kind over n operands of one dtype. */
static tn_status make_op(parser *ps, enum tn_ek k, int n, value v[], tn_dtype want, value *out)
{
    const tn_expr *src[3];
    TN_TRY(unify(ps, n, v, want));
    tn_dtype t = v[0].e->dtype;
    if (k == TN_E_FLOORDIV && tn_dtype_is_float(t))
        k = TN_E_DIV;
    const char *wrong = complaint(k, t);
    if (wrong)
        return fail_at(ps, &v[0], "ir-E005", wrong);
    for (int i = 0; i < n; i++)
        src[i] = v[i].e;
    out->e = tn_expr_make(ps->p, k, compares(k) ? tn_dtype_lanes(TN_BOOL1, t.lanes) : t, no_payload, n, src);
    return TN_OK;
}

/* ---- literals and names ---- */

static value value_here(const parser *ps) { return (value){.line = ps->l->tok_line, .col = ps->l->tok_col}; }

static tn_status parse_number(parser *ps, bool minus, value *out)
{
    tn_lexer *l = ps->l;
    tn_dtype t;
    out->real = l->tok == TN_TOK_REAL;
    out->i = minus ? (int64_t)(0 - (uint64_t)l->i) : l->i;
    out->r64 = tn_lex_real(l, TN_F64);
    out->r32 = tn_lex_real(l, TN_F32);
    if (minus) {
        out->r64 = -out->r64;
        out->r32 = -out->r32;
    }
    if (l->n_suffix == 1 && *l->suffix == 'f')
        t = TN_F32;
    else if (l->n_suffix > 0 &&
             (!tn_dtype_parse(l->suffix, l->n_suffix, &t) || t.lanes != 1 || !is_numeric(t)))
        return tn_lex_fail(l, "ir-E002", "the suffix `%.*s` is not a type; write f, f64, i32 or the like",
                           (int)(l->n_suffix < 40 ? l->n_suffix : 40), l->suffix);
    if (l->n_suffix > 0) {
        out->real |= tn_dtype_is_float(t); /* -0f is not the integer 0 */
        TN_TRY(settle(ps, out, t));
    }
    tn_lex_next(l);
    return TN_OK;
}

/* true, false, inf, nan. */
static bool parse_word(parser *ps, value *out)
{
    bool inf = tn_lex_is(ps->l, "inf"), yes = tn_lex_is(ps->l, "true");
    if (inf || tn_lex_is(ps->l, "nan")) {
        out->real = true;
        out->r64 = out->r32 = inf ? (double)INFINITY : (double)NAN;
    } else if (yes || tn_lex_is(ps->l, "false")) {
        out->e = tn_bool(ps->p, yes);
    } else {
        return false;
    }
    tn_lex_next(ps->l);
    return true;
}

/* Unary minus: of a literal its negative, else 0 - x (floats: -0 - x, which is -x for every x). */
static tn_status parse_minus(parser *ps, tn_dtype want, value *out)
{
    tn_lexer *l = ps->l;
    tn_lex_next(l);
    if (l->tok == TN_TOK_INT || l->tok == TN_TOK_REAL)
        return parse_number(ps, true, out);
    value v[2] = {value_here(ps), value_here(ps)};
    TN_TRY(parse_primary(ps, want, &v[1]));
    if (!v[1].e) {
        v[1].i = (int64_t)(0 - (uint64_t)v[1].i);
        v[1].r64 = -v[1].r64;
        v[1].r32 = -v[1].r32;
        *out = v[1];
        return TN_OK;
    }
    if (!is_numeric(v[1].e->dtype))
        return fail_at(ps, &v[1], "ir-E005", complaint(TN_E_SUB, v[1].e->dtype));
    v[0].e = tn_const(ps->p, v[1].e->dtype, -0.0);
    return make_op(ps, TN_E_SUB, 2, v, want, out);
}

/* ---- loads ---- */

static tn_status parse_lanes(parser *ps, uint16_t *out)
{
    int64_t lanes = 1;
    TN_TRY(tn_lex_int(ps->l, 2, UINT16_MAX, &lanes));
    *out = (uint16_t)lanes;
    return TN_OK;
}

/* One index: index by default; integers too. */
static tn_status parse_index(parser *ps, value *out)
{
    *out = value_here(ps);
    TN_TRY(parse_prec(ps, P_ANY, TN_IDX, out));
    TN_TRY(settle(ps, out, TN_IDX));
    return is_whole(out->e->dtype)
               ? TN_OK
               : fail_at(ps, out, "ir-E005", "an index must be of type index or an integer");
}

/* After `name`, at [ : indices and lanes. */
static tn_status parse_load(parser *ps, uint32_t buffer, tn_dtype t, value *out)
{
    enum { MAX_INDEX = 32 };
    tn_lexer *l = ps->l;
    const tn_expr *index[MAX_INDEX];
    uint16_t lanes = 1;
    int n = 0;
    TN_TRY(tn_lex_expect(l, "["));
    while (!tn_lex_is(l, "]") && !tn_lex_is(l, ":")) {
        value v;
        if (n == MAX_INDEX)
            return tn_lex_fail(l, "ir-E006", "a load has at most %d indices", MAX_INDEX);
        TN_TRY(parse_index(ps, &v));
        index[n++] = v.e;
        if (v.e->dtype.lanes > 1 && lanes > 1 && v.e->dtype.lanes != lanes)
            return fail_at(ps, &v, "ir-E005",
                           "this index and the one before have different numbers of lanes");
        lanes = v.e->dtype.lanes > 1 ? v.e->dtype.lanes : lanes;
        if (!tn_lex_accept(l, ","))
            break;
    }
    if (lanes > 1 && t.lanes > 1)
        return fail_at(ps, out, "ir-E005", "a buffer of vectors takes scalar indices only");
    if (lanes == 1 && tn_lex_accept(l, ":"))
        TN_TRY(parse_lanes(ps, &t.lanes));
    TN_TRY(tn_lex_expect(l, "]"));
    out->e = tn_load(ps->p, t, buffer, n, index, NULL, NULL);
    return TN_OK;
}

/* After (load, at mask: adds mask and alternative. */
static tn_status parse_mask(parser *ps, value *out)
{
    const tn_expr *e = out->e;
    tn_dtype t = e->dtype;
    value mask = value_here(ps), other = {.line = ps->l->tok_line, .col = ps->l->tok_col};
    tn_lex_next(ps->l);
    TN_TRY(parse_prec(ps, P_ANY, TN_BOOL1, &mask));
    TN_TRY(settle(ps, &mask, TN_BOOL1));
    if (tn_lex_accept(ps->l, "else"))
        TN_TRY(parse_prec(ps, P_ANY, t, &other));
    if (tn_dtype_is_bool(t) && !other.e)
        other.e = tn_bool(ps->p, false);
    TN_TRY(settle(ps, &other, t));
    if (!tn_dtype_is_bool(mask.e->dtype) || (mask.e->dtype.lanes != 1 && mask.e->dtype.lanes != t.lanes))
        return fail_at(ps, &mask, "ir-E005", "a mask must be a bool with the lanes of the load");
    if (!tn_dtype_eq(tn_dtype_lanes(other.e->dtype, 1), tn_dtype_lanes(t, 1)) ||
        (other.e->dtype.lanes != 1 && other.e->dtype.lanes != t.lanes))
        return fail_at(ps, &other, "ir-E005", "the value after `else` must have the type of the load");
    out->e = tn_load(ps->p, t, e->u.load.buffer, (int)e->u.load.n_index, e->src, mask.e, other.e);
    return TN_OK;
}

/* ---- functions ---- */

static bool word_is(const char *name, const char *word) { return strcmp(name, word) == 0; }

static tn_status comma(parser *ps) { return tn_lex_expect(ps->l, ","); }

/* n arguments separated by commas, up to `)`, which stays. */
static tn_status parse_args(parser *ps, int n, tn_dtype want, value v[])
{
    for (int i = 0; i < n; i++) {
        if (i > 0)
            TN_TRY(comma(ps));
        v[i] = value_here(ps);
        TN_TRY(parse_prec(ps, P_ANY, want, &v[i]));
        if (v[i].e && is_numeric(v[i].e->dtype))
            want = v[i].e->dtype;
    }
    return TN_OK;
}

static tn_status parse_cast(parser *ps, tn_dtype t, value *out)
{
    value v;
    TN_TRY(parse_args(ps, 1, TN_IDX, &v));
    TN_TRY(settle(ps, &v, !v.real ? TN_IDX : tn_dtype_is_float(t) ? t : TN_F64));
    tn_dtype in = v.e->dtype;
    if (t.lanes == 1)
        t.lanes = in.lanes;
    if (in.code == TN_HANDLE || t.code == TN_HANDLE || (in.lanes != 1 && in.lanes != t.lanes))
        return fail_at(
            ps, &v, "ir-E005",
            "this value cannot be converted to that type; lanes must agree, and handles stay handles");
    v.e = in.lanes == 1 ? tn_splat(ps->p, v.e, t.lanes) : v.e;
    out->e = tn_dtype_eq(v.e->dtype, t) ? v.e : tn_expr_make(ps->p, TN_E_CAST, t, no_payload, 1, &v.e);
    return TN_OK;
}

static tn_status parse_bitcast(parser *ps, value *out)
{
    tn_lexer *l = ps->l;
    tn_dtype t;
    value v;
    if (l->tok != TN_TOK_IDENT || !tn_dtype_parse(l->text, l->n, &t) || tn_dtype_is_complex(t))
        return tn_lex_fail(l, "ir-E006",
                           "the first argument of bitcast must be a type, as in bitcast(i32, x)");
    tn_lex_next(l);
    TN_TRY(comma(ps));
    TN_TRY(parse_args(ps, 1, TN_IDX, &v));
    if (!v.e)
        return fail_at(ps, &v, "ir-E005",
                       "bitcast needs to know the type of this number; add a suffix, as in 1f or 1i32");
    tn_dtype in = v.e->dtype;
    bool data =
        (tn_dtype_is_int(in) || tn_dtype_is_float(in)) && (tn_dtype_is_int(t) || tn_dtype_is_float(t));
    if (!data || (uint32_t)in.bits * in.lanes != (uint32_t)t.bits * t.lanes)
        return fail_at(ps, &v, "ir-E005",
                       "bitcast converts between integers and floats of the same total size");
    out->e = tn_dtype_eq(in, t) ? v.e : tn_expr_make(ps->p, TN_E_BITCAST, t, no_payload, 1, &v.e);
    return TN_OK;
}

static tn_status parse_select(parser *ps, tn_dtype want, value *out)
{
    value v[3];
    TN_TRY(parse_args(ps, 1, TN_BOOL1, &v[0]));
    TN_TRY(settle(ps, &v[0], TN_BOOL1));
    TN_TRY(comma(ps));
    TN_TRY(parse_args(ps, 2, want, &v[1]));
    bool flags = (v[1].e && tn_dtype_is_bool(v[1].e->dtype)) || (v[2].e && tn_dtype_is_bool(v[2].e->dtype));
    TN_TRY(unify(ps, 2, v + 1, flags ? TN_IDX : want));
    uint16_t lanes = v[0].e->dtype.lanes > 1 ? v[0].e->dtype.lanes : v[1].e->dtype.lanes;
    for (int i = 0; i < 3; i++) {
        if (v[i].e->dtype.lanes == 1)
            v[i].e = tn_splat(ps->p, v[i].e, lanes);
        if (v[i].e->dtype.lanes != lanes)
            return fail_at(ps, &v[i], "ir-E005", "the operands of select have different numbers of lanes");
    }
    if (!tn_dtype_is_bool(v[0].e->dtype))
        return fail_at(ps, &v[0], "ir-E005", "the condition of select must be a bool; compare first");
    out->e = tn_expr_make(ps->p, TN_E_SELECT, v[1].e->dtype, no_payload, 3,
                          (const tn_expr *const[]){v[0].e, v[1].e, v[2].e});
    return TN_OK;
}

/* ramp(base, stride, lanes), splat(x, lanes) */
static tn_status parse_vector(parser *ps, enum tn_ek k, tn_dtype want, value *out)
{
    int n = tn_eks[k].nsrc;
    value v[2];
    uint16_t lanes = 1;
    TN_TRY(parse_args(ps, n, tn_dtype_lanes(want, 1), v));
    TN_TRY(unify(ps, n, v, want));
    TN_TRY(comma(ps));
    TN_TRY(parse_lanes(ps, &lanes));
    if (v[0].e->dtype.lanes != 1)
        return fail_at(ps, &v[0], "ir-E005", "ramp and splat take scalars");
    if (k == TN_E_RAMP && !is_whole(v[0].e->dtype))
        return fail_at(ps, &v[0], "ir-E005", "ramp takes index or integers");
    const tn_expr *src[2] = {v[0].e, n > 1 ? v[1].e : NULL};
    out->e = tn_expr_make(ps->p, k, tn_dtype_lanes(v[0].e->dtype, lanes), no_payload, n, src);
    return TN_OK;
}

/* Numbers of lanes: `3`, `0:8` (8 from 0 on), `1:8:2` (every other one), separated by commas. */
static tn_status parse_pattern(parser *ps, int all, uint8_t lane[], int *n)
{
    tn_lexer *l = ps->l;
    *n = 0;
    do {
        int64_t from, count = 1, step = 1;
        TN_TRY(tn_lex_int(l, 0, all - 1, &from));
        if (tn_lex_accept(l, ":"))
            TN_TRY(tn_lex_int(l, 1, TN_MAX_SHUFFLED - *n, &count));
        if (count > 1 && tn_lex_accept(l, ":"))
            TN_TRY(tn_lex_int(l, 0, all, &step));
        if (from + (count - 1) * step >= all || *n + count > TN_MAX_SHUFFLED)
            return tn_lex_fail(l, "ir-E006", "shuffle selects more lanes than its operands have");
        for (int64_t i = 0; i < count; i++)
            lane[(*n)++] = (uint8_t)(from + i * step);
    } while (tn_lex_accept(l, ","));
    return TN_OK;
}

/* shuffle(a, lanes), shuffle(a, b, lanes) */
static tn_status parse_shuffle(parser *ps, tn_dtype want, value *out)
{
    value v[2];
    uint8_t lane[TN_MAX_SHUFFLED];
    char text[TN_MAX_SHUFFLED];
    int n = 0, count = 0;
    do {
        v[n] = value_here(ps);
        TN_TRY(parse_prec(ps, P_ANY, want, &v[n]));
        if (!v[n].e || v[n].e->dtype.lanes < 2 || (n && !tn_dtype_eq(v[0].e->dtype, v[n].e->dtype)))
            return fail_at(ps, &v[n], "ir-E005",
                           "shuffle takes one vector or two of the same type, then lanes");
        TN_TRY(comma(ps));
    } while (++n < 2 && ps->l->tok != TN_TOK_INT);
    tn_dtype t = v[0].e->dtype;
    if (n * t.lanes > TN_MAX_SHUFFLED)
        return fail_at(ps, &v[0], "ir-E006", "the operands of shuffle have more than 128 lanes");
    TN_TRY(parse_pattern(ps, n * t.lanes, lane, &count));
    for (int i = 0; i < count; i++)
        text[i] = (char)(lane[i] + 1);
    const tn_expr *src[2] = {v[0].e, n > 1 ? v[1].e : NULL};
    tn_payload u = {.lanes = tn_intern_n(ps->p->ctx, text, (size_t)count)};
    out->e = tn_expr_make(ps->p, TN_E_SHUFFLE, tn_dtype_lanes(t, (uint16_t)count), u, n, src);
    return TN_OK;
}

/* floordiv(a + (b - 1), b) */
static tn_status parse_ceildiv(parser *ps, tn_dtype want, value *out)
{
    value v[2], sum = value_here(ps);
    TN_TRY(parse_args(ps, 2, want, v));
    TN_TRY(unify(ps, 2, v, want));
    tn_dtype t = v[0].e->dtype;
    if (!is_whole(t))
        return fail_at(ps, &v[0], "ir-E005", complaint(TN_E_FLOORDIV, t));
    if (v[1].e->kind == TN_E_INT && v[1].e->u.i < 1)
        return fail_at(ps, &v[1], "ir-E006", "the divisor of ceildiv must be positive");
    value round[2] = {v[1], {.e = tn_int(ps->p, t, 1)}};
    if (v[1].e->kind == TN_E_INT)
        round[0].e = tn_int(ps->p, t, v[1].e->u.i - 1);
    else
        TN_TRY(make_op(ps, TN_E_SUB, 2, round, want, &round[0]));
    value parts[2] = {v[0], round[0]};
    TN_TRY(make_op(ps, TN_E_ADD, 2, parts, want, &sum));
    parts[0] = sum;
    parts[1] = v[1];
    return make_op(ps, TN_E_FLOORDIV, 2, parts, want, out);
}

/* The sum has a type of its own. */
static tn_status unify_dot(parser *ps, enum tn_intrin f, tn_dtype want, value v[3])
{
    tn_dtype sum = tn_intrin_is_dot4(f) ? TN_I32 : TN_F32;
    TN_TRY(unify(ps, 1, v, want));
    tn_dtype t = v[0].e->dtype, in = tn_dtype_lanes(TN_I32, t.lanes);
    if (!tn_dtype_eq(tn_dtype_lanes(t, 1), sum))
        return fail_at(ps, &v[0], "ir-E005",
                       tn_dtype_is_float(sum) ? "the sum of this function is float32; convert, as in f32(x)"
                                              : "this function takes int32; convert, as in i32(x)");
    TN_TRY(unify(ps, 2, v + 1, in));
    for (int i = 1; i < 3; i++)
        if (!tn_dtype_eq(v[i].e->dtype, in))
            return fail_at(ps, &v[i], "ir-E005",
                           "this function takes int32, as many as sums; convert, as in i32(x)");
    return TN_OK;
}

static tn_status parse_intrin(parser *ps, enum tn_intrin f, tn_dtype want, value *out)
{
    const tn_expr *src[3];
    value v[3];
    int n = tn_intrins[f].nargs;
    bool dot = tn_intrin_is_dot(f);
    TN_TRY(parse_args(ps, n, want, v));
    TN_TRY(dot ? unify_dot(ps, f, want, v) : unify(ps, n, v, want));
    tn_dtype t = v[0].e->dtype;
    if (!dot && !tn_dtype_is_float(t) && !(f == TN_F_abs && is_whole(t)))
        return fail_at(ps, &v[0], "ir-E005", "this function takes floats; convert, as in f32(x)");
    for (int i = 0; i < n; i++)
        src[i] = v[i].e;
    t = tn_intrins[f].to_bool ? tn_dtype_lanes(TN_BOOL1, t.lanes) : t;
    out->e = tn_expr_make(ps->p, TN_E_CALL, t, (tn_payload){.call = {.id = f}}, n, src);
    return TN_OK;
}

/* Operator kinds that may be called by their mnemonic; TN_E_COUNT if `name` is none. */
static enum tn_ek kind_named(const char *name)
{
    for (int k = TN_E_ADD; k <= TN_E_FMA; k++)
        if (word_is(name, tn_eks[k].name) && k != TN_E_CAST)
            return (enum tn_ek)k;
    return TN_E_COUNT;
}

static tn_status parse_function(parser *ps, const char *name, tn_dtype want, value *out)
{
    tn_dtype t;
    value v[3];
    enum tn_ek k = kind_named(name);
    if (tn_dtype_parse(name, strlen(name), &t) && !tn_dtype_is_complex(t))
        return parse_cast(ps, t, out);
    if (k == TN_E_SELECT)
        return parse_select(ps, want, out);
    if (k == TN_E_BITCAST)
        return parse_bitcast(ps, out);
    if (k != TN_E_COUNT) {
        TN_TRY(parse_args(ps, tn_eks[k].nsrc, want, v));
        return make_op(ps, k, tn_eks[k].nsrc, v, want, out);
    }
    if (word_is(name, "ramp") || word_is(name, "splat"))
        return parse_vector(ps, word_is(name, "ramp") ? TN_E_RAMP : TN_E_SPLAT, want, out);
    if (word_is(name, "shuffle"))
        return parse_shuffle(ps, want, out);
    if (word_is(name, "ceildiv"))
        return parse_ceildiv(ps, want, out);
    for (int f = 0; f < TN_F_COUNT; f++)
        if (word_is(name, tn_intrins[f].name))
            return parse_intrin(ps, (enum tn_intrin)f, want, out);
    return tn_lex_fail(ps->l, "ir-E003", "unknown function `%s`; docs/tir.md lists the known ones", name);
}

/* ---- the ladder ---- */

static tn_status unknown_name(parser *ps, const value *at, const char *name)
{
    ps->l->tok_line = at->line;
    ps->l->tok_col = at->col;
    return tn_lex_fail(ps->l, "ir-E003", "`%s` is unknown here; declare it before its use", name);
}

/* An identifier, or the rest of %name (sigil): function call, load or name. */
static tn_status parse_name(parser *ps, bool sigil, tn_dtype want, value *out)
{
    tn_lexer *l = ps->l;
    uint32_t buffer;
    tn_dtype t;
    if (sigil && l->tok != TN_TOK_IDENT && l->tok != TN_TOK_INT)
        return tn_lex_expected(l, "a name after `%`");
    tn_buf b = {0};
    tn_buf_printf(&b, "%s%.*s", sigil ? "%" : "", (int)l->n, l->text);
    const char *name = tn_intern_n(l->ctx, b.at, b.n);
    tn_buf_deinit(&b);
    tn_lex_next(l);
    if (!sigil && tn_lex_accept(l, "(")) {
        TN_TRY(parse_function(ps, name, want, out));
        return tn_lex_expect(l, ")");
    }
    if (tn_lex_is(l, "[") && ps->scope && ps->scope->buffer &&
        ps->scope->buffer(ps->scope->user, name, &buffer, &t))
        return parse_load(ps, buffer, t, out);
    out->e = ps->scope && ps->scope->name ? ps->scope->name(ps->scope->user, name) : NULL;
    return out->e ? TN_OK : unknown_name(ps, out, name);
}

/* After what stands in parentheses: a load may have a mask there. */
static tn_status close_parens(parser *ps, value *v)
{
    if (tn_lex_is(ps->l, "mask") && v->e && v->e->kind == TN_E_LOAD && !tn_load_mask(v->e))
        TN_TRY(parse_mask(ps, v));
    return tn_lex_expect(ps->l, ")");
}

static tn_status parse_unchecked(parser *ps, tn_dtype want, value *out)
{
    tn_lexer *l = ps->l;
    if (l->tok == TN_TOK_INT || l->tok == TN_TOK_REAL)
        return parse_number(ps, false, out);
    if (tn_lex_is(l, "-"))
        return parse_minus(ps, want, out);
    if (tn_lex_accept(l, "not")) {
        value v = value_here(ps);
        TN_TRY(parse_primary(ps, TN_BOOL1, &v));
        return make_op(ps, TN_E_NOT, 1, &v, want, out);
    }
    if (tn_lex_accept(l, "(")) {
        TN_TRY(parse_prec(ps, P_ANY, want, out));
        return close_parens(ps, out);
    }
    if (tn_lex_accept(l, "%"))
        return parse_name(ps, true, want, out);
    if (parse_word(ps, out))
        return TN_OK;
    if (l->tok == TN_TOK_IDENT)
        return parse_name(ps, false, want, out);
    return tn_lex_expected(l, "an expression");
}

static tn_status parse_primary(parser *ps, tn_dtype want, value *out)
{
    TN_TRY(tn_lex_enter(ps->l));
    TN_TRY(parse_unchecked(ps, want, out));
    tn_lex_leave(ps->l);
    return TN_OK;
}

static const binary *binary_here(const tn_lexer *l)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (tn_lex_is(l, binaries[i].text))
            return &binaries[i];
    return NULL;
}

/* Puts aside what stands left of an operator (op) or of a parenthesis (NULL). What follows it binds at least
 * as strongly as prec, and should have type want. */
static void put_aside(parser *ps, const binary *op, const value *left, int prec, tn_dtype want)
{
    tn_vec_push(&ps->open, ((pending){.op = op, .prec = prec, .want = want}));
    if (left)
        ps->open.at[ps->open.n - 1].left = *left;
    tn_lex_next(ps->l);
}

/* What an operator wants as its right operand, after the left one. */
static tn_dtype context_of(const binary *op, const value *left, tn_dtype want)
{
    if (left->e && is_numeric(left->e->dtype))
        return left->e->dtype;
    return op->prec < P_COMPARE ? TN_BOOL1 : is_numeric(want) ? want : TN_IDX;
}

/* v: the operand right of what was put aside last; becomes the whole. */
static tn_status take_up(parser *ps, const pending *f, value *v)
{
    if (!f->op)
        return close_parens(ps, v);
    const binary *after = binary_here(ps->l);
    if (f->op->prec == P_COMPARE && after && after->prec == P_COMPARE)
        return tn_lex_fail(ps->l, "ir-E001", "comparisons do not chain; join them with `and`");
    value operand[2] = {f->op->swap ? *v : f->left, f->op->swap ? f->left : *v};
    TN_TRY(make_op(ps, f->op->k, 2, operand, context_of(f->op, &f->left, f->want), v));
    v->line = f->left.line;
    v->col = f->left.col;
    return TN_OK;
}

/* Operators and parentheses may be nested without limit: a long sum, whose operands are printed in an order
 * of their own, ends in as many parentheses. */
static tn_status parse_prec(parser *ps, int prec, tn_dtype want, value *out)
{
    size_t base = ps->open.n;
    TN_TRY(tn_lex_enter(ps->l));
    for (;;) {
        value v = value_here(ps);
        if (tn_lex_is(ps->l, "(")) {
            put_aside(ps, NULL, NULL, prec, want);
            prec = P_ANY;
            continue;
        }
        TN_TRY(parse_primary(ps, want, &v));
        const binary *op;
        while (!(op = binary_here(ps->l)) || op->prec < prec) {
            if (ps->open.n == base) {
                *out = v;
                tn_lex_leave(ps->l);
                return TN_OK;
            }
            pending f = ps->open.at[--ps->open.n];
            TN_TRY(take_up(ps, &f, &v));
            prec = f.prec;
            want = f.want;
        }
        put_aside(ps, op, &v, prec, want);
        want = context_of(op, &v, want);
        prec = op->prec + 1;
    }
}

tn_status tn_expr_parse(tn_lexer *l, tn_pool *p, const tn_scope_fns *scope, tn_dtype want,
                        const tn_expr **out)
{
    parser ps = {.l = l, .p = p, .scope = scope};
    uint32_t depth = l->depth;
    value v;
    tn_status s = parse_prec(&ps, P_ANY, want, &v);
    l->depth = depth;
    tn_vec_deinit(&ps.open);
    if (s == TN_OK)
        s = settle(&ps, &v, want);
    if (s == TN_OK)
        *out = v.e;
    return s;
}
