/* Helpers of generated C: operations on vectors of lanes, conversions, vector loads and stores. Each is a
 * small function, written once on first use. What GNU C can say of vectors is said so; the rest is a loop
 * over lanes. Vectors of bool are vectors of signed char, 0 or 1; comparisons of vectors give masks, 0 or -1,
 * which are turned over. */
#include "codegen/source/source.h"

#include <math.h>
#include <string.h>

typedef enum { CLASS_F, CLASS_I, CLASS_B } scalar_class; /* floats; integers and index; bool */

static scalar_class class_of(tn_dtype t)
{
    return tn_dtype_is_float(t) ? CLASS_F : tn_dtype_is_bool(t) ? CLASS_B : CLASS_I;
}

/* A B C: operands. T: type of the operands (select: of the chosen), U and M: unsigned and signed integers of its shape,
 * R: type of the result. */
static const char *const forms[TN_E_COUNT][3] = {
    [TN_E_ADD] = {NULL, "(T)((U)A + (U)B)", NULL},
    [TN_E_SUB] = {NULL, "(T)((U)A - (U)B)", NULL},
    [TN_E_MUL] = {NULL, "(T)((U)A * (U)B)", NULL},
    [TN_E_MIN] = {"(T)(((M)B & ((M)(B < A) | (M)(B != B))) | ((M)A & ~((M)(B < A) | (M)(B != B))))",
                  "(T)(((M)B & (M)(B < A)) | ((M)A & ~(M)(B < A)))", "A & B"},
    [TN_E_MAX] = {"(T)(((M)B & ((M)(B > A) | (M)(B != B))) | ((M)A & ~((M)(B > A) | (M)(B != B))))",
                  "(T)(((M)B & (M)(B > A)) | ((M)A & ~(M)(B > A)))", "A | B"},
    [TN_E_EQ] = {"-__builtin_convertvector(A == B, R)", "-__builtin_convertvector(A == B, R)", "-(A == B)"},
    [TN_E_NE] = {"-__builtin_convertvector(A != B, R)", "-__builtin_convertvector(A != B, R)", "-(A != B)"},
    [TN_E_LT] = {"-__builtin_convertvector(A < B, R)", "-__builtin_convertvector(A < B, R)", "-(A < B)"},
    [TN_E_LE] = {"-__builtin_convertvector(A <= B, R)", "-__builtin_convertvector(A <= B, R)", "-(A <= B)"},
    [TN_E_AND] = {NULL, NULL, "A & B"},
    [TN_E_OR] = {NULL, NULL, "A | B"},
    [TN_E_NOT] = {NULL, NULL, "A ^ 1"},
    [TN_E_BITAND] = {NULL, "A & B", NULL},
    [TN_E_BITOR] = {NULL, "A | B", NULL},
    [TN_E_BITXOR] = {NULL, "A ^ B", NULL},
    [TN_E_SHL] = {NULL, "(T)((U)A << (U)B)", NULL},
    [TN_E_SHR] = {NULL, "A >> B", NULL},
    [TN_E_SELECT] =
        {"(T)(((M)B & -__builtin_convertvector(A, M)) | ((M)C & ~-__builtin_convertvector(A, M)))",
         "(T)(((M)B & -__builtin_convertvector(A, M)) | ((M)C & ~-__builtin_convertvector(A, M)))",
         "(B & -A) | (C & ~-A)"},
};
_Static_assert(sizeof forms / sizeof *forms == TN_E_COUNT, "one row an expression kind");

static const char *form_of(const tn_expr *e, tn_dtype t)
{
    if (e->kind != TN_E_CALL)
        return forms[e->kind][class_of(t)];
    if (e->u.call.id == TN_F_isnan)
        return "-__builtin_convertvector(A != A, R)";
    if (e->u.call.id == TN_F_abs && tn_dtype_is_float(t))
        return "(T)((U)A & (((U){0} - 1) >> 1))";
    return NULL;
}

static tn_dtype shape_of(tn_dtype t, uint8_t code)
{
    return (tn_dtype){code, tn_dtype_is_index(t) ? 64 : t.bits, t.lanes};
}

static uint32_t bytes_of(tn_dtype t)
{
    return (uint32_t)t.lanes * (tn_dtype_is_index(t) ? 8 : tn_dtype_is_bool(t) ? 1 : t.bits / 8u);
}

static uint32_t register_bytes(const tn_unit *u)
{
    return tn_features_vector_bytes(u->n_feature, u->feature);
}

/* How a helper is declared. One that the compiler breaks into scalars, lane by lane, is a function of its own: inlined
 * at each use (masks and addresses, hundreds of times in a kernel) it made compiling take ten times as long, and the
 * code no faster. loops: it is a loop over lanes; widest: the widest of its vectors. */
static const char *linkage(const tn_cgen *g, bool loops, tn_dtype widest)
{
    return widest.lanes > 4 && (loops || bytes_of(widest) > register_bytes(g->unit)) ? "TN_APART"
                                                                                     : "TN_INLINE";
}

typedef struct {
    const char *type;
    tn_dtype of;
    char letter;
} operand; /* of: {0} for what is no vector */

static bool goes_by_reference(const tn_cgen *g, tn_dtype t)
{
    return t.lanes > 1 && bytes_of(t) > register_bytes(g->unit);
}

/* Lets the helper's name be a macro that passes wide vectors by reference, in and out. */
static void refer(tn_cgen *g, const operand *result, const char *name, int n, const operand arg[], tn_buf *o)
{
    tn_buf_printf(o, "#define %s(", name);
    for (int i = 0; i < n; i++)
        tn_buf_printf(o, "%s%c", i ? ", " : "", arg[i].letter);
    bool out = goes_by_reference(g, result->of);
    if (out)
        tn_buf_printf(o, ") __extension__({ %s r_; %s_of(&r_, ", result->type, name);
    else
        tn_buf_printf(o, ") %s_of(", name);
    for (int i = 0; i < n; i++)
        if (goes_by_reference(g, arg[i].of))
            tn_buf_printf(o, "%s(%s[]){%c}", i ? ", " : "", arg[i].type, arg[i].letter);
        else
            tn_buf_printf(o, "%s%c", i ? ", " : "", arg[i].letter);
    tn_buf_str(o, out ? "); r_; })\n" : ")\n");
}

/* The beginning of a helper, up to the first line of its body; g->give is how the body gives its result. Vectors wider
 * than the machine's registers go by reference: by value, gcc and clang say that this has changed, or depends on flags,
 * and not all of that can be silenced by pragma. */
static void declare(tn_cgen *g, const char *link, operand result, const char *name, int n,
                    const operand arg[], tn_buf *o)
{
    bool out = goes_by_reference(g, result.of), any = out;
    for (int i = 0; i < n; i++)
        any |= goes_by_reference(g, arg[i].of);
    if (any)
        refer(g, &result, name, n, arg, o);
    tn_buf_printf(o, "%s %s %s%s(", link, out ? "void" : result.type, name, any ? "_of" : "");
    if (out)
        tn_buf_printf(o, "%s *r_, ", result.type);
    for (int i = 0; i < n; i++)
        tn_buf_printf(o, goes_by_reference(g, arg[i].of) ? "%sconst %s *%c_" : "%s%s %c", i ? ", " : "",
                      arg[i].type, arg[i].letter);
    tn_buf_str(o, ")\n{\n");
    for (int i = 0; i < n; i++)
        if (goes_by_reference(g, arg[i].of))
            tn_buf_printf(o, "    const %s %c = *%c_;\n", arg[i].type, arg[i].letter, arg[i].letter);
    g->give = out ? "*r_ =" : "return";
}

static bool is_address(tn_dtype t) /* 64-bit integers: what indices and masks are made of */
{
    return tn_dtype_is_index(t) || (class_of(t) == CLASS_I && t.bits == 64);
}

/* Writes a vector form for operands a b c. */
static void fill_vector(tn_cgen *g, const char *text, tn_dtype t, tn_dtype result, tn_buf *out)
{
    static const char *const param[] = {"a", "b", "c"};
    for (const char *c = text; *c; c++) {
        bool word = (c > text && c[-1] == '_') || (c[1] >= 'a' && c[1] <= 'z') || (c[1] == '_');
        if (!word && *c >= 'A' && *c <= 'C')
            tn_buf_str(out, param[*c - 'A']);
        else if (!word && *c == 'T')
            tn_buf_str(out, tn_c_type(g, t));
        else if (!word && *c == 'U')
            tn_buf_str(out, tn_c_type(g, shape_of(t, TN_UINT)));
        else if (!word && *c == 'M')
            tn_buf_str(out, tn_c_type(g, shape_of(t, TN_INT)));
        else if (!word && *c == 'R')
            tn_buf_str(out, tn_c_type(g, result));
        else
            tn_buf_char(out, *c);
    }
}

static void lane_loop(tn_cgen *g, const char *type, uint16_t lanes, tn_buf *out)
{
    (void)g;
    tn_buf_printf(out, "    %s r = {0};\n    for (int l = 0; l < %d; l++)\n        r[l] = ", type, lanes);
}

/* fma and square root of whole vectors, where the compiler has a name for them; gcc's own sqrt may call libm. */
static const struct {
    bool root;
    uint8_t bits;
    uint16_t lanes;
    const char *macro, *call;
} vendor[] = {
#define C_FMA(bits, lanes, macro, call) {false, bits, lanes, macro, call},
#define C_SQRT(bits, lanes, macro, call) {true, bits, lanes, macro, call},
#include "codegen/intrinsics.def"
};

static void vendor_forms(const tn_cgen *g, bool root, tn_dtype t, tn_buf *out)
{
    tn_buf_printf(out, "#if defined(%s)\n    %s %s;\n", root ? "TN_SQRT" : "TN_FMA", g->give,
                  root ? "TN_SQRT(a)" : "TN_FMA(a, b, c)");
    for (size_t i = 0; i < sizeof vendor / sizeof *vendor; i++)
        if (vendor[i].root == root && vendor[i].bits == t.bits && vendor[i].lanes == t.lanes)
            tn_buf_printf(out, "#elif defined(%s)\n    %s %s;\n", vendor[i].macro, g->give, vendor[i].call);
    tn_buf_str(out, "#else\n");
}

const char *tn_c_lane_helper(tn_cgen *g, const tn_expr *e, const char *text)
{
    const char *op = e->kind == TN_E_CALL ? tn_intrins[e->u.call.id].name : tn_eks[e->kind].name;
    tn_dtype in = e->src[e->nsrc - 1]->dtype;
    const char *name = tn_arena_printf(&g->arena, "tn_%s_%s", op, tn_c_short_name(g, in)),
               *form = form_of(e, in);
    if (!tn_c_first_use(g, name))
        return name;
    static const char *const lane[] = {"a[l]", "b[l]", "c[l]"};
    const char *result = tn_c_type(g, e->dtype);
    tn_buf o = {0};
    bool root = e->kind == TN_E_CALL && e->u.call.id == TN_F_sqrt, named = root || e->kind == TN_E_FMA;
    bool compares = tn_dtype_is_bool(e->dtype) && !tn_dtype_is_bool(in);
    bool piecewise = compares || is_address(in) || e->kind == TN_E_SELECT;
    operand arg[3];
    TN_ASSERT(e->nsrc <= 3);
    for (int i = 0; i < e->nsrc; i++)
        arg[i] = (operand){tn_c_type(g, e->src[i]->dtype), e->src[i]->dtype, (char)('a' + i)};
    declare(g, piecewise || !form ? linkage(g, !form && !named, in) : "TN_INLINE",
            (operand){result, e->dtype, 'r'}, name, e->nsrc, arg, &o);
    if (form) {
        tn_buf_printf(&o, "    %s ", g->give);
        fill_vector(g, form, in, e->dtype, &o);
        tn_buf_str(&o, ";\n}\n");
    } else {
        if (named)
            vendor_forms(g, root, e->dtype, &o);
        lane_loop(g, result, e->dtype.lanes, &o);
        tn_c_fill(text, tn_dtype_lanes(tn_dtype_is_bool(e->dtype) ? in : e->dtype, 1), lane, &o);
        tn_buf_printf(&o, ";\n    %s r;\n%s}\n", g->give, named ? "#endif\n" : "");
    }
    tn_buf_str(&g->helpers, tn_buf_cstr(&o));
    tn_buf_deinit(&o);
    return name;
}

const char *tn_c_helper_splat(tn_cgen *g, tn_dtype t)
{
    const char *type = tn_c_type(g, t),
               *name = tn_arena_printf(&g->arena, "tn_splat_%s", tn_c_short_name(g, t));
    if (!tn_c_first_use(g, name))
        return name;
    tn_buf *o = &g->helpers;
    declare(g, is_address(t) ? linkage(g, false, t) : "TN_INLINE", (operand){type, t, 'r'}, name, 1,
            (operand[]){{tn_c_scalar_type(t), {0}, 'a'}}, o);
    tn_buf_printf(o, "    %s (%s){", g->give, type);
    for (int l = 0; l < t.lanes; l++)
        tn_buf_str(o, l ? ", a" : "a");
    tn_buf_str(o, "};\n}\n");
    return name;
}

const char *tn_c_helper_ramp(tn_cgen *g, tn_dtype t)
{
    const char *type = tn_c_type(g, t), *elem = tn_c_scalar_type(t), *splat = tn_c_helper_splat(g, t);
    const char *name = tn_arena_printf(&g->arena, "tn_ramp_%s", tn_c_short_name(g, t));
    const char *wide = tn_c_type(g, shape_of(t, TN_UINT));
    if (!tn_c_first_use(g, name))
        return name;
    tn_buf *o = &g->helpers;
    declare(g, linkage(g, false, t), (operand){type, t, 'r'}, name, 2,
            (operand[]){{elem, {0}, 'a'}, {elem, {0}, 'b'}}, o);
    tn_buf_printf(o, "    %s (%s)((%s)%s(a) + (%s)%s(b) * (%s){", g->give, type, wide, splat, wide, splat,
                  wide);
    for (int l = 0; l < t.lanes; l++)
        tn_buf_printf(o, l ? ", %d" : "%d", l);
    tn_buf_str(o, "});\n}\n");
    return name;
}

/* Named after its lanes: each pattern is a function of its own. */
const char *tn_c_helper_shuffle(tn_cgen *g, const tn_expr *e)
{
    tn_dtype in = e->src[0]->dtype;
    const char *type = tn_c_type(g, e->dtype), *from = tn_c_type(g, in), *other = e->nsrc > 1 ? "b" : "a";
    tn_buf lanes = {0}, key = {0};
    for (int l = 0; l < e->dtype.lanes; l++) {
        tn_buf_printf(&lanes, ", %d", (uint8_t)e->u.lanes[l] - 1);
        tn_buf_printf(&key, "%02x", (uint8_t)e->u.lanes[l] - 1u);
    }
    const char *name =
        tn_arena_printf(&g->arena, "tn_shuffle%d_%s_%s", e->nsrc, tn_c_short_name(g, in), tn_buf_cstr(&key));
    if (tn_c_first_use(g, name)) {
        tn_buf *o = &g->helpers;
        declare(g, "TN_INLINE", (operand){type, e->dtype, 'r'}, name, e->nsrc > 1 ? 2 : 1,
                (operand[]){{from, in, 'a'}, {from, in, 'b'}}, o);
        int at = (uint8_t)e->u.lanes[0] - 1;
        if (e->dtype.lanes == 1)
            tn_buf_printf(o, "    %s %s[%d];\n}\n", g->give, at < in.lanes ? "a" : other, at % in.lanes);
        else
            tn_buf_printf(o, "    %s __builtin_shufflevector(a, %s%s);\n}\n", g->give, other,
                          tn_buf_cstr(&lanes));
    }
    tn_buf_deinit(&lanes);
    tn_buf_deinit(&key);
    return name;
}

/* ---- conversions ---- */

/* Float to integer: towards 0, saturating, NaN gives 0. */
static void saturate(tn_cgen *g, tn_dtype to, const char *x, tn_buf *o)
{
    bool u = to.code == TN_UINT;
    int bits = tn_dtype_is_index(to) ? 64 : to.bits;
    const char *type = tn_c_scalar_type(to);
    double hi = ldexp(1, u ? bits : bits - 1), lo = u ? 0 : -hi;
    const char *max =
        u ? tn_arena_printf(&g->arena, "(%s)-1", type)
          : tn_arena_printf(&g->arena, "(%s)%lld", type, (long long)(((uint64_t)1 << (bits - 1)) - 1));
    const char *min = u ? "0" : tn_arena_printf(&g->arena, "(%s)(-%s - 1)", type, max);
    tn_buf_printf(o, "%s != %s ? 0 : %s >= %a ? %s : %s <= %a ? %s : (%s)%s;\n", x, x, x, hi, max, x, lo, min,
                  type, x);
}

static bool is_half_cast(tn_dtype from, tn_dtype to)
{
    return tn_dtype_is_float(from) && tn_dtype_is_float(to) && from.bits + to.bits == 48;
}

/* float16 to float32 or back, by the machine's instruction, in functions of one lane. */
static const char half_text[] =
#define C_HALF(macro, from, to) \
    "#if !defined(__clang__) && defined(" macro ")\n" \
    "typedef short tn_half_bits __attribute__((vector_size(16)));\n" \
    "TN_INLINE float tn_from_half(uint16_t u)\n{\n" \
    "    return " from ";\n}\n" \
    "TN_INLINE uint16_t tn_to_half(float a)\n{\n" \
    "    return " to ";\n}\n"
#include "codegen/intrinsics.def"
    "#elif defined(__FLT16_MAX__)\n"
    "TN_INLINE float tn_from_half(uint16_t u)\n{\n"
    "    _Float16 h;\n    __builtin_memcpy(&h, &u, 2);\n    return (float)h;\n}\n"
    "TN_INLINE uint16_t tn_to_half(float a)\n{\n"
    "    _Float16 h = (_Float16)a;\n    uint16_t u;\n    __builtin_memcpy(&u, "
    "&h, 2);\n    return u;\n}\n"
    "#else /* by hand; to nearest even by an addition of floats at the right scale */\n"
    "TN_INLINE float tn_from_half(uint16_t u)\n{\n"
    "    uint32_t m = u & 0x7fff, f = m << 13;\n    float r;\n"
    "    if (m >= 0x7c00)\n        f |= m > 0x7c00 ? 0x7fc00000 : 0x7f800000;\n"
    "    __builtin_memcpy(&r, &f, 4);\n"
    "    r = m >= 0x7c00 ? r : r * 0x1p112f;\n"
    "    return u >> 15 ? -r : r;\n}\n"
    "TN_INLINE uint16_t tn_to_half(float a)\n{\n"
    "    uint32_t f, s;\n    __builtin_memcpy(&f, &a, 4);\n"
    "    s = f >> 16 & 0x8000;\n    f &= 0x7fffffff;\n"
    "    if (f > 0x7f800000)\n        return (uint16_t)(s | 0x7e00 | (f >> 13 & 0x3ff));\n"
    "    if (f >= 0x477ff000)\n        return (uint16_t)(s | 0x7c00);\n"
    "    if (f < 0x38800000) { /* subnormal: units of 2^-24 lie at the end of 0.5's fraction */\n"
    "        float x;\n        __builtin_memcpy(&x, &f, 4);\n        x += 0.5f;\n"
    "        __builtin_memcpy(&f, &x, 4);\n        return (uint16_t)(s | (f - 0x3f000000));\n"
    "    }\n    f += 0xfff + (f >> 13 & 1);\n"
    "    return (uint16_t)(s | (f - 0x38000000) >> 13);\n}\n"
    "#endif\n";

static void half_helpers(tn_cgen *g)
{
    if (tn_c_first_use(g, "tn_half"))
        tn_buf_str(&g->helpers, half_text);
}

static void half_body(tn_cgen *g, tn_dtype from, const char *type, tn_buf *o)
{
    const char *call = from.bits == 16 ? "tn_from_half" : "tn_to_half";
    if (from.lanes == 1) {
        tn_buf_printf(o, "    %s %s(a);\n", g->give, call);
        return;
    }
    lane_loop(g, type, from.lanes, o);
    tn_buf_printf(o, "%s(a[l]);\n    %s r;\n", call, g->give);
}

static void cast_body(tn_cgen *g, tn_dtype from, tn_dtype to, const char *type, tn_buf *o)
{
    bool wide = from.lanes > 1,
         down = tn_dtype_is_float(from) && !tn_dtype_is_float(to) && !tn_dtype_is_bool(to);
    if (is_half_cast(from, to)) {
        half_body(g, from, type, o);
        return;
    }
    if (down && wide) { /* through an array: gcc 12 breaks on a vector of 64-bit integers made lane by lane */
        tn_buf_printf(o, "    %s e[%u];\n    %s r;\n    for (int l = 0; l < %u; l++)\n        e[l] = ",
                      tn_c_scalar_type(to), to.lanes, type, to.lanes);
        saturate(g, to, "a[l]", o);
        tn_buf_printf(o, "    __builtin_memcpy(&r, e, sizeof r);\n    %s r;\n", g->give);
        return;
    }
    tn_buf_printf(o, "    %s ", g->give);
    if (down)
        saturate(g, to, "a", o);
    else if (tn_dtype_is_bool(to))
        tn_buf_printf(o, wide ? "-__builtin_convertvector(a != 0, %s);\n" : "(%s)(a != 0);\n", type);
    else
        tn_buf_printf(o, wide ? "__builtin_convertvector(a, %s);\n" : "(%s)a;\n", type);
}

const char *tn_c_helper_cast(tn_cgen *g, enum tn_ek kind, tn_dtype from, tn_dtype to)
{
    const char *ft = tn_c_type(g, from), *tt = tn_c_type(g, to);
    const char *name = tn_arena_printf(&g->arena, "tn_%s_%s_%s", kind == TN_E_BITCAST ? "bits" : "cast",
                                       tn_c_short_name(g, from), tn_c_short_name(g, to));
    if (!tn_c_first_use(g, name))
        return name;
    if (kind == TN_E_CAST && is_half_cast(from, to))
        half_helpers(g);
    bool down =
        kind == TN_E_CAST && tn_dtype_is_float(from) && !tn_dtype_is_float(to) && !tn_dtype_is_bool(to);
    bool loops = from.lanes > 1 && (down || (kind == TN_E_CAST && is_half_cast(from, to)));
    declare(g, loops ? linkage(g, true, from) : "TN_INLINE", (operand){tt, to, 'r'}, name, 1,
            (operand[]){{ft, from, 'a'}}, &g->helpers);
    if (kind == TN_E_BITCAST)
        tn_buf_printf(&g->helpers, "    %s r;\n    __builtin_memcpy(&r, &a, sizeof r);\n    %s r;\n", tt,
                      g->give);
    else
        cast_body(g, from, to, tt, &g->helpers);
    tn_buf_str(&g->helpers, "}\n");
    return name;
}

/* ---- memory ---- */

const char *tn_c_helper_load(tn_cgen *g, tn_dtype t, bool gather, bool masked)
{
    const char *type = tn_c_type(g, t), *truth = tn_dtype_is_bool(t) ? " != 0" : "";
    const char *name = tn_arena_printf(&g->arena, "tn_%s%s_%s", gather ? "gather" : "load",
                                       masked ? "_mask" : "", tn_c_short_name(g, t));
    const char *at = tn_c_type(g, tn_dtype_lanes(TN_IDX, t.lanes)),
               *mask = tn_c_type(g, tn_dtype_lanes(TN_BOOL1, t.lanes));
    if (!tn_c_first_use(g, name))
        return name;
    tn_buf *o = &g->helpers;
    operand arg[4] = {{tn_arena_printf(&g->arena, "const %s *", tn_c_scalar_type(t)), {0}, 'p'}};
    int n = 1;
    if (gather)
        arg[n++] = (operand){at, tn_dtype_lanes(TN_IDX, t.lanes), 'i'};
    if (masked) {
        arg[n++] = (operand){mask, tn_dtype_lanes(TN_BOOL1, t.lanes), 'm'};
        arg[n++] = (operand){type, t, 'o'};
    }
    declare(g, gather || masked ? linkage(g, true, t) : "TN_INLINE", (operand){type, t, 'r'}, name, n, arg,
            o);
    if (!gather && !masked) {
        tn_buf_printf(o, "    %s r;\n    __builtin_memcpy(&r, p, sizeof r);\n    %s %s;\n}\n", type, g->give,
                      *truth ? "-(r != 0)" : "r");
        return name;
    }
    lane_loop(g, type, t.lanes, o);
    tn_buf_printf(o, "%sp[%s]%s%s;\n    %s r;\n}\n", masked ? "m[l] ? " : "", gather ? "i[l]" : "l", truth,
                  masked ? " : o[l]" : "", g->give);
    return name;
}

const char *tn_c_helper_store(tn_cgen *g, tn_dtype t, bool scatter, bool masked)
{
    const char *type = tn_c_type(g, t), *elem = tn_c_scalar_type(t);
    const char *name = tn_arena_printf(&g->arena, "tn_%s%s_%s", scatter ? "scatter" : "store",
                                       masked ? "_mask" : "", tn_c_short_name(g, t));
    const char *at = tn_c_type(g, tn_dtype_lanes(TN_IDX, t.lanes)),
               *mask = tn_c_type(g, tn_dtype_lanes(TN_BOOL1, t.lanes));
    if (!tn_c_first_use(g, name))
        return name;
    tn_buf *o = &g->helpers;
    operand arg[4] = {{tn_arena_printf(&g->arena, "%s *", elem), {0}, 'p'}};
    int n = 1;
    if (scatter)
        arg[n++] = (operand){at, tn_dtype_lanes(TN_IDX, t.lanes), 'i'};
    arg[n++] = (operand){type, t, 'v'};
    if (masked)
        arg[n++] = (operand){mask, tn_dtype_lanes(TN_BOOL1, t.lanes), 'm'};
    declare(g, scatter || masked ? linkage(g, true, t) : "TN_INLINE", (operand){"void", {0}, 0}, name, n, arg,
            o);
    if (!scatter && !masked)
        tn_buf_str(o, "    __builtin_memcpy(p, &v, sizeof v);\n");
    else
        tn_buf_printf(o, "    for (int l = 0; l < %d; l++)\n        %sp[%s] = v[l];\n", t.lanes,
                      masked ? "if (m[l]) " : "", scatter ? "i[l]" : "l");
    tn_buf_str(o, "}\n");
    return name;
}
