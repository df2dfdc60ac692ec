/* Expressions in C. One table says how each scalar operation is written; vector operations are the same text
 * in a loop over lanes, in a helper written once per type. Vectors of bool are vectors of signed char, 0 or
 * 1. */
#include "codegen/source/source.h"
#include "ir/eval.h"

#include <math.h>
#include <string.h>

/* Element type in C, or NULL. */
const char *tn_c_scalar_type(tn_dtype t)
{
    static const char *const ints[] = {"int8_t", "int16_t", "int32_t", "int64_t"}, *const uints[] = {
                                                                                       "uint8_t", "uint16_t",
                                                                                       "uint32_t",
                                                                                       "uint64_t"};
    int w = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : -1;
    if (tn_dtype_is_bool(t))
        return "tn_bool";
    if (tn_dtype_is_index(t))
        return "int64_t";
    if (t.code == TN_INT && w >= 0)
        return ints[w];
    if (t.code == TN_UINT && w >= 0)
        return uints[w];
    if (t.code == TN_FLOAT && t.bits == 32)
        return "float";
    if (tn_dtype_is_float(t) && t.bits == 16)
        return "uint16_t"; /* its bits */
    return t.code == TN_FLOAT && t.bits == 64 ? "double" : NULL;
}

const char *tn_c_short_name(tn_cgen *g, tn_dtype t)
{
    tn_buf b = {0};
    if (tn_dtype_is_index(t))
        t = tn_dtype_lanes(TN_I64, t.lanes);
    tn_dtype_print(t, true, &b);
    const char *s = tn_arena_strdup(&g->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

bool tn_c_first_use(tn_cgen *g, const char *name)
{
    uint64_t x;
    if (tn_strmap_get(&g->have, name, strlen(name), &x))
        return false;
    tn_strmap_put(&g->have, name, strlen(name), 1);
    return true;
}

const char *tn_c_type(tn_cgen *g, tn_dtype t)
{
    const char *s = tn_c_scalar_type(t);
    TN_ASSERT(s); /* handles are no values, and every other type has one */
    if (t.lanes == 1)
        return s;
    const char *name = tn_c_short_name(g, t);
    if (tn_c_first_use(g, name))
        tn_buf_printf(&g->types, "typedef %s %s __attribute__((vector_size(%u)));\n", s, name,
                      tn_dtype_bytes(t));
    return name;
}

const char *tn_c_register(tn_cgen *g, uint32_t buffer, int64_t element)
{
    return tn_arena_printf(&g->arena, "%s__%lld", g->buffer[buffer], (long long)element);
}

/* How a scalar operation is written, with A B C for the operands and T U for its type and the unsigned one of
 * its width. f: floats, i: wrapping integers, x: index, b: bool. Lanes have a table of their own (lanes.c).
 * */
typedef struct {
    const char *f, *i, *x, *b;
} spelling;
static const spelling spell[TN_E_COUNT] = {
    [TN_E_ADD] = {"A + B", "(T)((U)A + (U)B)", "A + B", NULL},
    [TN_E_SUB] = {"A - B", "(T)((U)A - (U)B)", "A - B", NULL},
    [TN_E_MUL] = {"A * B", "(T)((U)A * (U)B)", "A * B", NULL},
    [TN_E_DIV] = {"A / B", NULL, NULL, NULL},
    [TN_E_FLOORDIV] = {NULL, "(T)tn_floordiv(A, B)", "tn_floordiv(A, B)", NULL},
    [TN_E_FLOORMOD] = {NULL, "(T)tn_floormod(A, B)", "tn_floormod(A, B)", NULL},
    [TN_E_TRUNCDIV] = {NULL, "(T)tn_truncdiv(A, B)", "tn_truncdiv(A, B)", NULL},
    [TN_E_TRUNCMOD] = {NULL, "(T)tn_truncmod(A, B)", "tn_truncmod(A, B)", NULL},
    [TN_E_MIN] = {"(B < A || B != B ? B : A)", "(B < A ? B : A)", "(B < A ? B : A)", "(A && B)"},
    [TN_E_MAX] = {"(B > A || B != B ? B : A)", "(B > A ? B : A)", "(B > A ? B : A)", "(A || B)"},
    [TN_E_EQ] = {"A == B", "A == B", "A == B", "A == B"},
    [TN_E_NE] = {"A != B", "A != B", "A != B", "A != B"},
    [TN_E_LT] = {"A < B", "A < B", "A < B", "A < B"},
    [TN_E_LE] = {"A <= B", "A <= B", "A <= B", "A <= B"},
    [TN_E_AND] = {NULL, NULL, NULL, "(A && B)"},
    [TN_E_OR] = {NULL, NULL, NULL, "(A || B)"},
    [TN_E_NOT] = {NULL, NULL, NULL, "!A"},
    [TN_E_SELECT] = {"(A ? B : C)", "(A ? B : C)", "(A ? B : C)", "(A ? B : C)"},
    [TN_E_BITAND] = {NULL, "(T)(A & B)", NULL, "(A && B)"},
    [TN_E_BITOR] = {NULL, "(T)(A | B)", NULL, "(A || B)"},
    [TN_E_BITXOR] = {NULL, "(T)(A ^ B)", NULL, "(A ^ B)"},
    [TN_E_SHL] = {NULL, "(T)((U)A << B)", NULL, NULL},
    [TN_E_SHR] = {NULL, "(T)(A >> B)", NULL, NULL},
    [TN_E_FMA] = {"F(A, B, C)", NULL, NULL, NULL},
};
_Static_assert(sizeof spell / sizeof *spell == TN_E_COUNT, "one row an expression kind");

/* Intrinsics that are left in flat TIR. */
static const char *const intrin_f32[TN_F_COUNT] = {
    [TN_F_sqrt] = "tn_sqrtf(A)",      [TN_F_abs] = "__builtin_fabsf(A)", [TN_F_floor] = "tn_floorf(A)",
    [TN_F_ceil] = "(-tn_floorf(-A))", [TN_F_trunc] = "tn_truncf(A)",     [TN_F_round] = "tn_roundf(A)",
    [TN_F_isnan] = "A != A"};
static const char *const intrin_f64[TN_F_COUNT] = {
    [TN_F_sqrt] = "tn_sqrt(A)",      [TN_F_abs] = "__builtin_fabs(A)", [TN_F_floor] = "tn_floor(A)",
    [TN_F_ceil] = "(-tn_floor(-A))", [TN_F_trunc] = "tn_trunc(A)",     [TN_F_round] = "tn_round(A)",
    [TN_F_isnan] = "A != A"};

static const char *unsigned_type(tn_dtype t) { return tn_c_scalar_type(TN_DT(TN_UINT, t.bits)); }

/* The sum is added up as uint32, so that it wraps. */
#define PRODUCT(x, w, shift) "(U)((" x ")((U)B >> " shift ") * (" w ")((U)C >> " shift "))"
#define DOT4(x, w) \
    "(T)((U)A + " PRODUCT(x, w, "0") " + " PRODUCT(x, w, "8") " + " PRODUCT(x, w, "16") " + " PRODUCT( \
        x, w, "24") ")"

/* The template for e over scalars of its operand type; NULL: none. */
static const char *template_of(const tn_expr *e)
{
    tn_dtype t = e->nsrc > 1 && e->kind == TN_E_SELECT ? e->src[1]->dtype
                 : e->nsrc                             ? e->src[0]->dtype
                                                       : e->dtype;
    if ((e->kind == TN_E_MIN || e->kind == TN_E_MAX) && tn_never_nan(e->src[1]))
        return spell[e->kind].x;
    if (e->kind == TN_E_CALL) {
        if (tn_intrin_is_dot4(e->u.call.id))
            return e->u.call.id == TN_F_dot4us   ? DOT4("uint8_t", "int8_t")
                   : e->u.call.id == TN_F_dot4uu ? DOT4("uint8_t", "uint8_t")
                                                 : DOT4("int8_t", "int8_t");
        if (t.code == TN_INT && e->u.call.id == TN_F_abs)
            return "(T)(A < 0 ? 0 - (U)A : (U)A)";
        if (t.code == TN_UINT && e->u.call.id == TN_F_abs)
            return "A";
        return t.code != TN_FLOAT ? NULL : t.bits == 64 ? intrin_f64[e->u.call.id] : intrin_f32[e->u.call.id];
    }
    if (t.code == TN_UINT && e->kind >= TN_E_FLOORDIV && e->kind <= TN_E_TRUNCMOD)
        return e->kind == TN_E_FLOORDIV || e->kind == TN_E_TRUNCDIV ? "(T)tn_udiv(A, B)" : "(T)tn_umod(A, B)";
    const spelling *s = &spell[e->kind];
    return tn_dtype_is_float(t) ? s->f : tn_dtype_is_index(t) ? s->x : tn_dtype_is_bool(t) ? s->b : s->i;
}

void tn_c_fill(const char *text, tn_dtype t, const char *const arg[], tn_buf *out)
{
    for (const char *c = text; *c; c++) {
        bool word =
            (c > text && (c[-1] == '_' || (c[-1] >= 'a' && c[-1] <= 'z'))) || (c[1] >= 'a' && c[1] <= 'z');
        if (!word && *c >= 'A' && *c <= 'C')
            tn_buf_str(out, arg[*c - 'A']);
        else if (!word && *c == 'T')
            tn_buf_str(out, tn_c_scalar_type(t));
        else if (!word && *c == 'U')
            tn_buf_str(out, t.bits < 32 ? "uint32_t" : unsigned_type(t));
        else if (!word && *c == 'F')
            tn_buf_str(out, t.bits == 64 ? "__builtin_fma" : "__builtin_fmaf");
        else
            tn_buf_char(out, *c);
    }
}

static bool is_simple(const tn_expr *e)
{
    return e->kind == TN_E_VAR || e->kind == TN_E_INT || e->kind == TN_E_SYM || e->kind == TN_E_FLOAT;
}

static const char *operand(tn_cgen *g, const tn_expr *e)
{
    tn_buf b = {0};
    if (!is_simple(e) || (e->kind == TN_E_INT && e->u.i < 0)) {
        tn_buf_char(&b, '(');
        tn_c_expr(g, e, &b);
        tn_buf_char(&b, ')');
    } else {
        tn_c_expr(g, e, &b);
    }
    const char *s = tn_arena_strdup(&g->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* min, max and integer division mention operands twice: scalars go through helpers too, so that each is
 * evaluated once. */
static const char *scalar_helper(tn_cgen *g, const tn_expr *e, const char *text)
{
    bool number = tn_dtype_is_float(e->dtype) && tn_never_nan(e->src[1]); /* its text is another */
    const char *name = tn_arena_printf(&g->arena, "tn_%s%s_%s", tn_eks[e->kind].name, number ? "num" : "",
                                       tn_c_short_name(g, e->dtype));
    if (tn_c_first_use(g, name)) {
        static const char *const param[] = {"a", "b", "c"};
        const char *t = tn_c_type(g, e->dtype);
        tn_buf_printf(&g->helpers, "TN_INLINE %s %s(%s a, %s b)\n{\n    return ", t, name, t, t);
        tn_c_fill(text, e->dtype, param, &g->helpers);
        tn_buf_str(&g->helpers, ";\n}\n");
    }
    return name;
}

/* The upper or lower bfloat16 of each int32, as float32. */
static const tn_expr *half_of(tn_pool *p, const tn_expr *e, bool upper)
{
    tn_dtype u = tn_dtype_lanes(TN_DT(TN_UINT, 32), e->dtype.lanes);
    e = tn_bitcast(p, u, e);
    e = upper ? tn_bin(p, TN_E_BITAND, e, tn_int(p, u, 0xffff0000))
              : tn_bin(p, TN_E_SHL, e, tn_int(p, u, 16));
    return tn_bitcast(p, tn_dtype_lanes(TN_F32, u.lanes), e);
}

/* dot2bf by what C has. */
static const tn_expr *dot2bf(tn_pool *p, const tn_expr *e)
{
    const tn_expr *sum = e->src[0];
    for (int upper = 1; upper >= 0; upper--) {
        const tn_expr *src[] = {half_of(p, e->src[1], upper), half_of(p, e->src[2], upper), sum};
        sum = tn_expr_make(p, TN_E_FMA, e->dtype, (tn_payload){0}, 3, src);
    }
    return sum;
}

static void print_op(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    if (e->kind == TN_E_CALL && e->u.call.id == TN_F_dot2bf) {
        tn_c_expr(g, dot2bf(g->func->pool, e), out);
        return;
    }
    const char *text = template_of(e), *arg[3] = {"", "", ""};
    if (!text || e->nsrc > 3) {
        if (g->status == TN_OK)
            g->status =
                tn_error(g->unit->ctx, "codegen-E003", NULL,
                         "%s: %s of this type has no form in C; lower the function first", g->func->name,
                         e->kind == TN_E_CALL ? tn_intrins[e->u.call.id].name : tn_eks[e->kind].name);
        return;
    }
    bool infix = tn_dtype_is_float(e->dtype) && e->kind >= TN_E_ADD && e->kind <= TN_E_DIV;
    for (int i = 0; i < e->nsrc; i++)
        arg[i] = operand(g, e->src[i]);
    const char *name = NULL;
    if (e->dtype.lanes > 1 && !infix)
        name = tn_c_lane_helper(g, e, text);
    else if (e->dtype.lanes == 1 && (e->kind == TN_E_MIN || e->kind == TN_E_MAX))
        name = scalar_helper(g, e, text);
    if (name)
        tn_buf_printf(out, "%s(%s%s%s%s%s)", name, arg[0], e->nsrc > 1 ? ", " : "", arg[1],
                      e->nsrc > 2 ? ", " : "", arg[2]);
    else
        tn_c_fill(text, tn_dtype_is_bool(e->dtype) ? e->src[0]->dtype : e->dtype, arg, out);
}

static void print_float(const tn_expr *e, tn_buf *out)
{
    const char *f = e->dtype.bits == 64 ? "" : "f";
    if (e->dtype.bits == 16) {
        uint16_t bits;
        tn_scalar_write(e->dtype, &bits, (tn_scalar){.f = e->u.f});
        tn_buf_printf(out, "0x%04x", bits);
        return;
    }
    if (isnan(e->u.f))
        tn_buf_printf(out, "__builtin_nan%s(\"\")", f);
    else if (isinf(e->u.f))
        tn_buf_printf(out, "%s__builtin_inf%s()", e->u.f < 0 ? "-" : "", f);
    else if (fabs(e->u.f) < 1e6 && e->u.f == (double)(int)e->u.f && !(e->u.f == 0 && signbit(e->u.f)))
        tn_buf_printf(out, "%.1f%s", e->u.f, f);
    else
        tn_buf_printf(out, "%a%s", e->u.f, f);
}

static void print_load(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    uint32_t b = e->u.load.buffer;
    const tn_expr *at = e->src[0], *mask = tn_load_mask(e);
    if (g->func->buffer[b].scope == TN_SCOPE_REGISTER) {
        tn_buf_str(out, tn_c_register(g, b, at->u.i));
        return;
    }
    if (e->dtype.lanes == 1) {
        if (mask)
            tn_buf_printf(out, "%s ? ", operand(g, mask));
        tn_buf_printf(out, "%s[", g->buffer[b]);
        tn_c_expr(g, at, out);
        tn_buf_str(out, tn_dtype_is_bool(e->dtype) ? "] != 0" : "]");
        if (mask)
            tn_buf_printf(out, " : %s", operand(g, tn_load_other(e)));
        return;
    }
    bool gather = at->dtype.lanes > 1;
    tn_buf_printf(out, "%s(%s", tn_c_helper_load(g, e->dtype, gather, mask != NULL), g->buffer[b]);
    tn_buf_str(out, gather ? ", " : " + ");
    tn_buf_str(out, operand(g, at));
    if (mask)
        tn_buf_printf(out, ", %s, %s", operand(g, mask), operand(g, tn_load_other(e)));
    tn_buf_char(out, ')');
}

static void print_splat(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    tn_buf_printf(out, "%s(", tn_c_helper_splat(g, e->dtype));
    tn_c_expr(g, e->src[0], out);
    tn_buf_char(out, ')');
}

static void print_shuffle(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    tn_buf_printf(out, "%s(", tn_c_helper_shuffle(g, e));
    tn_c_expr(g, e->src[0], out);
    if (e->nsrc > 1) {
        tn_buf_str(out, ", ");
        tn_c_expr(g, e->src[1], out);
    }
    tn_buf_char(out, ')');
}

static void print_ramp(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    tn_buf_printf(out, "%s(", tn_c_helper_ramp(g, e->dtype));
    tn_c_expr(g, e->src[0], out);
    tn_buf_str(out, ", ");
    tn_c_expr(g, e->src[1], out);
    tn_buf_char(out, ')');
}

static void print_cast(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    tn_buf_printf(out, "%s(", tn_c_helper_cast(g, (enum tn_ek)e->kind, e->src[0]->dtype, e->dtype));
    tn_c_expr(g, e->src[0], out);
    tn_buf_char(out, ')');
}

void tn_c_expr(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    switch (e->kind) {
    case TN_E_INT:
        if (e->u.i == INT64_MIN)
            tn_buf_str(out, "(-INT64_C(9223372036854775807) - 1)");
        else
            tn_buf_printf(out,
                          e->dtype.bits == 64 && (e->u.i > INT32_MAX || e->u.i < INT32_MIN) ? "INT64_C(%lld)"
                                                                                            : "%lld",
                          (long long)e->u.i);
        return;
    case TN_E_FLOAT: print_float(e, out); return;
    case TN_E_SYM: tn_buf_printf(out, "sym_%s", e->u.s); return;
    case TN_E_VAR: tn_buf_str(out, g->var[e->u.i]); return;
    case TN_E_LOAD: print_load(g, e, out); return;
    case TN_E_SPLAT: print_splat(g, e, out); return;
    case TN_E_RAMP: print_ramp(g, e, out); return;
    case TN_E_SHUFFLE: print_shuffle(g, e, out); return;
    case TN_E_CAST:
    case TN_E_BITCAST: print_cast(g, e, out); return;
    default: print_op(g, e, out);
    }
}
