/* Expressions in C. One table says how each scalar operation is written; vector operations are the same text in a loop over
 * lanes, in a helper written once per type. Vectors of bool are vectors of signed char, 0 or 1. */
#include "codegen/source/source.h"

#include <math.h>
#include <string.h>

tn_status tn_c_unsupported(tn_cgen *g, tn_dtype t)
{
    tn_buf b = {0};
    tn_dtype_print(t, false, &b);
    if (g->status == TN_OK)
        g->status = tn_error(g->unit->ctx, "codegen-E002", NULL, "%s: the C code generator cannot compute with %s yet; use --target llvm or cast to float32",
                             g->func ? g->func->name : "", tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return TN_FAIL;
}

/* Element type in C, or NULL. */
static const char *scalar_type(tn_dtype t)
{
    static const char *const ints[] = {"int8_t", "int16_t", "int32_t", "int64_t"}, *const uints[] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"};
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
    return t.code == TN_FLOAT && t.bits == 64 ? "double" : NULL;
}

static const char *short_name(tn_cgen *g, tn_dtype t)
{
    tn_buf b = {0};
    if (tn_dtype_is_index(t))
        t = tn_dtype_lanes(TN_I64, t.lanes);
    tn_dtype_print(t, true, &b);
    const char *s = tn_arena_strdup(&g->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static bool first_use(tn_cgen *g, const char *name)
{
    uint64_t x;
    if (tn_strmap_get(&g->have, name, strlen(name), &x))
        return false;
    tn_strmap_put(&g->have, name, strlen(name), 1);
    return true;
}

const char *tn_c_type(tn_cgen *g, tn_dtype t)
{
    const char *s = scalar_type(t);
    if (!s) {
        tn_c_unsupported(g, t);
        return "float";
    }
    if (t.lanes == 1)
        return s;
    const char *name = short_name(g, t);
    if (first_use(g, name))
        tn_buf_printf(&g->types, "typedef %s %s __attribute__((vector_size(%u)));\n", s, name, tn_dtype_bytes(t));
    return name;
}

const char *tn_c_register(tn_cgen *g, uint32_t buffer, int64_t element)
{
    return tn_arena_printf(&g->arena, "%s_%lld", g->buffer[buffer], (long long)element);
}

/* How a scalar operation is written, with A B C for the operands and T U for its type and the unsigned one of its width.
 * f: floats, i: wrapping integers, x: index, b: bool. */
typedef struct { const char *f, *i, *x, *b; } spelling;
static const spelling spell[TN_E_COUNT] = {
    [TN_E_ADD] = {"A + B", "(T)((U)A + (U)B)", "A + B", NULL},
    [TN_E_SUB] = {"A - B", "(T)((U)A - (U)B)", "A - B", NULL},
    [TN_E_MUL] = {"A * B", "(T)((U)A * (U)B)", "A * B", NULL},
    [TN_E_DIV] = {"A / B", NULL, NULL, NULL},
    [TN_E_FLOORDIV] = {NULL, "(T)tn_floordiv(A, B)", "tn_floordiv(A, B)", NULL},
    [TN_E_FLOORMOD] = {NULL, "(T)tn_floormod(A, B)", "tn_floormod(A, B)", NULL},
    [TN_E_TRUNCDIV] = {NULL, "(T)tn_truncdiv(A, B)", "A / B", NULL},
    [TN_E_TRUNCMOD] = {NULL, "(T)tn_truncmod(A, B)", "A % B", NULL},
    [TN_E_MIN] = {"(B < A ? B : A)", "(B < A ? B : A)", "(B < A ? B : A)", "(A & B)"},
    [TN_E_MAX] = {"(B > A ? B : A)", "(B > A ? B : A)", "(B > A ? B : A)", "(A | B)"},
    [TN_E_EQ] = {"A == B", "A == B", "A == B", "A == B"},
    [TN_E_NE] = {"A != B", "A != B", "A != B", "A != B"},
    [TN_E_LT] = {"A < B", "A < B", "A < B", "A < B"},
    [TN_E_LE] = {"A <= B", "A <= B", "A <= B", "A <= B"},
    [TN_E_AND] = {NULL, NULL, NULL, "(A & B)"},
    [TN_E_OR] = {NULL, NULL, NULL, "(A | B)"},
    [TN_E_NOT] = {NULL, NULL, NULL, "!A"},
    [TN_E_SELECT] = {"(A ? B : C)", "(A ? B : C)", "(A ? B : C)", "(A ? B : C)"},
    [TN_E_BITAND] = {NULL, "(T)(A & B)", NULL, "(A & B)"},
    [TN_E_BITOR] = {NULL, "(T)(A | B)", NULL, "(A | B)"},
    [TN_E_BITXOR] = {NULL, "(T)(A ^ B)", NULL, "(A ^ B)"},
    [TN_E_SHL] = {NULL, "(T)((U)A << B)", NULL, NULL},
    [TN_E_SHR] = {NULL, "(T)(A >> B)", NULL, NULL},
    [TN_E_FMA] = {"F(A, B, C)", NULL, NULL, NULL},
};
_Static_assert(sizeof spell / sizeof *spell == TN_E_COUNT, "one row an expression kind");

/* Intrinsics that are left in flat TIR. */
static const char *const intrin_f32[TN_F_COUNT] = {
    [TN_F_sqrt] = "tn_sqrtf(A)", [TN_F_abs] = "__builtin_fabsf(A)", [TN_F_floor] = "tn_floorf(A)", [TN_F_ceil] = "(-tn_floorf(-A))",
    [TN_F_trunc] = "tn_truncf(A)", [TN_F_round] = "tn_roundf(A)", [TN_F_isnan] = "A != A"};
static const char *const intrin_f64[TN_F_COUNT] = {
    [TN_F_sqrt] = "tn_sqrt(A)", [TN_F_abs] = "__builtin_fabs(A)", [TN_F_floor] = "tn_floor(A)", [TN_F_ceil] = "(-tn_floor(-A))",
    [TN_F_trunc] = "tn_trunc(A)", [TN_F_round] = "tn_round(A)", [TN_F_isnan] = "A != A"};

static const char *unsigned_type(tn_dtype t)
{
    return scalar_type(TN_DT(TN_UINT, t.bits));
}

/* The template for e over scalars of its operand type; NULL: none. */
static const char *template_of(const tn_expr *e)
{
    tn_dtype t = e->nsrc > 1 && e->kind == TN_E_SELECT ? e->src[1]->dtype : e->nsrc ? e->src[0]->dtype : e->dtype;
    if (e->kind == TN_E_CALL) {
        if (t.code == TN_INT && e->u.call.id == TN_F_abs)
            return "(T)(A < 0 ? 0 - (U)A : (U)A)";
        return t.code != TN_FLOAT ? NULL : t.bits == 64 ? intrin_f64[e->u.call.id] : intrin_f32[e->u.call.id];
    }
    const spelling *s = &spell[e->kind];
    return tn_dtype_is_float(t) ? s->f : tn_dtype_is_index(t) ? s->x : tn_dtype_is_bool(t) ? s->b : s->i;
}

/* Writes the template with operand texts put in. */
static void fill(tn_cgen *g, const char *text, tn_dtype t, const char *const arg[], tn_buf *out)
{
    (void)g;
    for (const char *c = text; *c; c++) {
        bool word = (c > text && (c[-1] == '_' || (c[-1] >= 'a' && c[-1] <= 'z'))) || (c[1] >= 'a' && c[1] <= 'z');
        if (!word && *c >= 'A' && *c <= 'C')
            tn_buf_str(out, arg[*c - 'A']);
        else if (!word && *c == 'T')
            tn_buf_str(out, scalar_type(t));
        else if (!word && *c == 'U')
            tn_buf_str(out, t.bits < 32 ? "uint32_t" : unsigned_type(t));
        else if (!word && *c == 'F')
            tn_buf_str(out, t.bits == 64 ? "__builtin_fma" : "__builtin_fmaf");
        else
            tn_buf_char(out, *c);
    }
}

/* Name of the lane-wise helper for e's operation, written on first use. */
static const char *lane_helper(tn_cgen *g, const tn_expr *e, const char *text)
{
    const char *op = e->kind == TN_E_CALL ? tn_intrins[e->u.call.id].name : tn_eks[e->kind].name;
    tn_dtype in = e->src[e->nsrc - 1]->dtype;
    const char *name = tn_arena_printf(&g->arena, "tn_%s_%s", op, short_name(g, in));
    if (!first_use(g, name))
        return name;
    static const char *const lane[] = {"a[l]", "b[l]", "c[l]"}, *const param[] = {"a", "b", "c"};
    const char *result = tn_c_type(g, e->dtype);
    tn_buf sig = {0};
    for (int i = 0; i < e->nsrc; i++)
        tn_buf_printf(&sig, "%s%s %s", i ? ", " : "", tn_c_type(g, e->src[i]->dtype), param[i]);
    tn_buf_printf(&g->helpers, "TN_INLINE %s %s(%s)\n{\n    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = ", result, name,
                  tn_buf_cstr(&sig), result, e->dtype.lanes);
    fill(g, text, tn_dtype_is_bool(e->dtype) ? in : e->dtype, lane, &g->helpers);
    tn_buf_str(&g->helpers, ";\n    return r;\n}\n");
    tn_buf_deinit(&sig);
    return name;
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

/* min, max and integer division mention operands twice: scalars go through helpers too, so that each is evaluated once. */
static const char *scalar_helper(tn_cgen *g, const tn_expr *e, const char *text)
{
    const char *name = tn_arena_printf(&g->arena, "tn_%s_%s", tn_eks[e->kind].name, short_name(g, e->dtype));
    if (first_use(g, name)) {
        static const char *const param[] = {"a", "b", "c"};
        const char *t = tn_c_type(g, e->dtype);
        tn_buf_printf(&g->helpers, "TN_INLINE %s %s(%s a, %s b)\n{\n    return ", t, name, t, t);
        fill(g, text, e->dtype, param, &g->helpers);
        tn_buf_str(&g->helpers, ";\n}\n");
    }
    return name;
}

static void print_op(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    const char *text = template_of(e), *arg[3] = {"", "", ""};
    if (!text || e->nsrc > 3) {
        if (g->status == TN_OK)
            g->status = tn_error(g->unit->ctx, "codegen-E003", NULL, "%s: %s of this type has no form in C", g->func->name,
                                 e->kind == TN_E_CALL ? tn_intrins[e->u.call.id].name : tn_eks[e->kind].name);
        return;
    }
    bool infix = tn_dtype_is_float(e->dtype) && e->kind >= TN_E_ADD && e->kind <= TN_E_DIV;
    for (int i = 0; i < e->nsrc; i++)
        arg[i] = operand(g, e->src[i]);
    const char *name = NULL;
    if (e->dtype.lanes > 1 && !infix)
        name = lane_helper(g, e, text);
    else if (e->dtype.lanes == 1 && (e->kind == TN_E_MIN || e->kind == TN_E_MAX))
        name = scalar_helper(g, e, text);
    if (name)
        tn_buf_printf(out, "%s(%s%s%s%s%s)", name, arg[0], e->nsrc > 1 ? ", " : "", arg[1], e->nsrc > 2 ? ", " : "", arg[2]);
    else
        fill(g, text, tn_dtype_is_bool(e->dtype) ? e->src[0]->dtype : e->dtype, arg, out);
}

static void print_float(const tn_expr *e, tn_buf *out)
{
    const char *f = e->dtype.bits == 64 ? "" : "f";
    if (isnan(e->u.f))
        tn_buf_printf(out, "__builtin_nan%s(\"\")", f);
    else if (isinf(e->u.f))
        tn_buf_printf(out, "%s__builtin_inf%s()", e->u.f < 0 ? "-" : "", f);
    else if (e->u.f == (double)(int)e->u.f && fabs(e->u.f) < 1e6 && !(e->u.f == 0 && signbit(e->u.f)))
        tn_buf_printf(out, "%.1f%s", e->u.f, f);
    else
        tn_buf_printf(out, "%a%s", e->u.f, f);
}

const char *tn_c_helper_load(tn_cgen *g, tn_dtype t, bool gather, bool masked)
{
    const char *type = tn_c_type(g, t), *elem = scalar_type(t);
    const char *name = tn_arena_printf(&g->arena, "tn_%s%s_%s", gather ? "gather" : "load", masked ? "_mask" : "", short_name(g, t));
    if (!first_use(g, name))
        return name;
    tn_buf_printf(&g->helpers, "TN_INLINE %s %s(const %s *p", type, name, elem);
    if (gather)
        tn_buf_printf(&g->helpers, ", %s i", tn_c_type(g, tn_dtype_lanes(TN_IDX, t.lanes)));
    if (masked)
        tn_buf_printf(&g->helpers, ", %s m, %s o", tn_c_type(g, tn_dtype_lanes(TN_BOOL1, t.lanes)), type);
    tn_buf_printf(&g->helpers, ")\n{\n    %s r;\n", type);
    if (!gather && !masked)
        tn_buf_str(&g->helpers, "    __builtin_memcpy(&r, p, sizeof r);\n");
    else
        tn_buf_printf(&g->helpers, "    for (int l = 0; l < %d; l++)\n        r[l] = %sp[%s]%s;\n", t.lanes, masked ? "m[l] ? " : "",
                      gather ? "i[l]" : "l", masked ? " : o[l]" : "");
    tn_buf_str(&g->helpers, "    return r;\n}\n");
    return name;
}

const char *tn_c_helper_store(tn_cgen *g, tn_dtype t, bool scatter, bool masked)
{
    const char *type = tn_c_type(g, t), *elem = scalar_type(t);
    const char *name = tn_arena_printf(&g->arena, "tn_%s%s_%s", scatter ? "scatter" : "store", masked ? "_mask" : "", short_name(g, t));
    if (!first_use(g, name))
        return name;
    tn_buf_printf(&g->helpers, "TN_INLINE void %s(%s *p", name, elem);
    if (scatter)
        tn_buf_printf(&g->helpers, ", %s i", tn_c_type(g, tn_dtype_lanes(TN_IDX, t.lanes)));
    tn_buf_printf(&g->helpers, ", %s v", type);
    if (masked)
        tn_buf_printf(&g->helpers, ", %s m", tn_c_type(g, tn_dtype_lanes(TN_BOOL1, t.lanes)));
    tn_buf_str(&g->helpers, ")\n{\n");
    if (!scatter && !masked)
        tn_buf_str(&g->helpers, "    __builtin_memcpy(p, &v, sizeof v);\n");
    else
        tn_buf_printf(&g->helpers, "    for (int l = 0; l < %d; l++)\n        %sp[%s] = v[l];\n", t.lanes, masked ? "if (m[l]) " : "", scatter ? "i[l]" : "l");
    tn_buf_str(&g->helpers, "}\n");
    return name;
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
        tn_buf_char(out, ']');
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
    const char *type = tn_c_type(g, e->dtype), *name = tn_arena_printf(&g->arena, "tn_splat_%s", short_name(g, e->dtype));
    if (first_use(g, name))
        tn_buf_printf(&g->helpers, "TN_INLINE %s %s(%s a)\n{\n    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = a;\n    return r;\n}\n",
                      type, name, scalar_type(e->dtype), type, e->dtype.lanes);
    tn_buf_printf(out, "%s(", name);
    tn_c_expr(g, e->src[0], out);
    tn_buf_char(out, ')');
}

static void print_ramp(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    const char *type = tn_c_type(g, e->dtype), *elem = scalar_type(e->dtype), *name = tn_arena_printf(&g->arena, "tn_ramp_%s", short_name(g, e->dtype));
    if (first_use(g, name))
        tn_buf_printf(&g->helpers, "TN_INLINE %s %s(%s a, %s b)\n{\n    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = (%s)(a + l * b);\n    return r;\n}\n",
                      type, name, elem, elem, type, e->dtype.lanes, elem);
    tn_buf_printf(out, "%s(", name);
    tn_c_expr(g, e->src[0], out);
    tn_buf_str(out, ", ");
    tn_c_expr(g, e->src[1], out);
    tn_buf_char(out, ')');
}

/* Casts: float to int truncates and saturates, NaN gives 0; the rest is C's conversion. */
static void print_cast(tn_cgen *g, const tn_expr *e, tn_buf *out)
{
    tn_dtype from = e->src[0]->dtype, to = e->dtype;
    const char *ft = tn_c_type(g, from), *tt = tn_c_type(g, to);
    const char *name = tn_arena_printf(&g->arena, "tn_%s_%s_%s", e->kind == TN_E_BITCAST ? "bits" : "cast", short_name(g, from), short_name(g, to));
    if (first_use(g, name)) {
        tn_buf_printf(&g->helpers, "TN_INLINE %s %s(%s a)\n{\n    %s r;\n", tt, name, ft, tt);
        if (e->kind == TN_E_BITCAST) {
            tn_buf_str(&g->helpers, "    __builtin_memcpy(&r, &a, sizeof r);\n");
        } else {
            const char *x = from.lanes > 1 ? "a[l]" : "a";
            if (from.lanes > 1)
                tn_buf_printf(&g->helpers, "    for (int l = 0; l < %d; l++)\n        r[l] = ", from.lanes);
            else
                tn_buf_str(&g->helpers, "    r = ");
            if (tn_dtype_is_bool(to)) {
                tn_buf_printf(&g->helpers, "%s != 0;\n", x);
            } else if (tn_dtype_is_float(from) && !tn_dtype_is_float(to)) {
                bool u = to.code == TN_UINT;
                int bits = tn_dtype_is_index(to) ? 64 : to.bits;
                double hi = ldexp(1, u ? bits : bits - 1), lo = u ? 0 : -hi;
                const char *max = u ? tn_arena_printf(&g->arena, "(%s)-1", scalar_type(to))
                                    : tn_arena_printf(&g->arena, "(%s)%lld", scalar_type(to), (long long)(((uint64_t)1 << (bits - 1)) - 1));
                const char *min = u ? "0" : tn_arena_printf(&g->arena, "(-%s - 1)", max);
                tn_buf_printf(&g->helpers, "%s != %s ? 0 : %s >= %a ? %s : %s <= %a ? %s : (%s)%s;\n", x, x, x, hi, max, x, lo, min, scalar_type(to), x);
            } else {
                tn_buf_printf(&g->helpers, "(%s)%s;\n", scalar_type(to), x);
            }
        }
        tn_buf_str(&g->helpers, "    return r;\n}\n");
    }
    tn_buf_printf(out, "%s(", name);
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
            tn_buf_printf(out, e->dtype.bits == 64 && (e->u.i > INT32_MAX || e->u.i < INT32_MIN) ? "INT64_C(%lld)" : "%lld", (long long)e->u.i);
        return;
    case TN_E_FLOAT:
        print_float(e, out);
        return;
    case TN_E_SYM:
        tn_buf_printf(out, "sym_%s", e->u.s);
        return;
    case TN_E_VAR:
        tn_buf_str(out, g->var[e->u.i]);
        return;
    case TN_E_LOAD:
        print_load(g, e, out);
        return;
    case TN_E_SPLAT:
        print_splat(g, e, out);
        return;
    case TN_E_RAMP:
        print_ramp(g, e, out);
        return;
    case TN_E_CAST:
    case TN_E_BITCAST:
        print_cast(g, e, out);
        return;
    default:
        print_op(g, e, out);
    }
}
