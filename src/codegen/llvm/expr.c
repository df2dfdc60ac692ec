/* Expressions in LLVM IR. No fast-math flag is ever set: the bits are those of docs/tir.md. Lanes follow the
 * operands, so one path serves scalars and vectors. */
#include "codegen/llvm/llvmgen.h"
#include "ir/eval.h"

#include <math.h>
#include <string.h>

void tn_l_fail(tn_lgen *g, const char *id, const char *text)
{
    if (g->status != TN_OK)
        return;
    g->status = TN_FAIL;
    g->fail_id = id;
    g->fail_text = tn_arena_printf(&g->arena, "%s: %s", g->func ? g->func->name : g->unit->name, text);
}

LLVMValueRef tn_l_int(tn_lgen *g, int64_t v) { return LLVMConstInt(g->i64, (unsigned long long)v, 1); }

static LLVMTypeRef scalar_type(tn_lgen *g, tn_dtype t)
{
    if (tn_dtype_is_bool(t))
        return g->i1;
    if (tn_dtype_is_index(t))
        return g->i64;
    if (tn_dtype_is_int(t))
        return LLVMIntTypeInContext(g->c, t.bits);
    return t.bits == 32 ? g->f32 : t.bits == 64 ? g->f64 : g->i16; /* 16-bit floats are their bits */
}

LLVMTypeRef tn_l_type(tn_lgen *g, tn_dtype t)
{
    LLVMTypeRef s = scalar_type(g, t);
    return t.lanes == 1 ? s : LLVMVectorType(s, t.lanes);
}

LLVMTypeRef tn_l_memory_type(tn_lgen *g, tn_dtype t)
{
    LLVMTypeRef s = tn_dtype_is_bool(t) ? g->i8 : scalar_type(g, t);
    return t.lanes == 1 ? s : LLVMVectorType(s, t.lanes);
}

LLVMValueRef tn_l_intrinsic(tn_lgen *g, const char *name, int n_type, LLVMTypeRef type[], int n,
                            LLVMValueRef arg[])
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->m, id, type, (size_t)n_type);
    LLVMTypeRef ft = LLVMIntrinsicGetType(g->c, id, type, (size_t)n_type);
    return LLVMBuildCall2(g->b, ft, fn, arg, (unsigned)n, "");
}

static LLVMValueRef splat(tn_lgen *g, LLVMValueRef v, uint16_t lanes)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(v), lanes);
    LLVMValueRef one = LLVMBuildInsertElement(g->b, LLVMGetPoison(t), v, LLVMConstInt(g->i32, 0, 0), "");
    return LLVMBuildShuffleVector(g->b, one, LLVMGetPoison(t), LLVMConstNull(LLVMVectorType(g->i32, lanes)),
                                  "");
}

LLVMValueRef tn_l_constant(tn_lgen *g, tn_dtype t, int64_t i, double f)
{
    tn_dtype one = tn_dtype_lanes(t, 1);
    LLVMTypeRef s = tn_l_type(g, one);
    LLVMValueRef v;
    if (tn_dtype_is_float(t) && t.bits == 16) {
        uint16_t bits;
        tn_scalar_write(one, &bits, (tn_scalar){.f = f});
        v = LLVMConstInt(s, bits, 0);
    } else {
        v = tn_dtype_is_float(t) ? LLVMConstReal(s, f) : LLVMConstInt(s, (unsigned long long)i, 1);
    }
    return t.lanes == 1 ? v : splat(g, v, t.lanes);
}

static LLVMValueRef from_memory(tn_lgen *g, tn_dtype t, LLVMValueRef v)
{
    return tn_dtype_is_bool(t) ? LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "") : v;
}

LLVMValueRef tn_l_to_memory(tn_lgen *g, tn_dtype t, LLVMValueRef v)
{
    return tn_dtype_is_bool(t) ? LLVMBuildZExt(g->b, v, tn_l_memory_type(g, t), "") : v;
}

/* A division that traps nowhere: 1 stands for a divisor of 0 or -1, `zero` and `neg` say where (NULL: nowhere). Index
 * divisors are neither, and most constants are not. */
typedef struct {
    LLVMValueRef a, b, safe, zero, neg;
    bool is_signed;
} division;

static division divide(tn_lgen *g, const tn_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    const tn_expr *d = e->src[1]->kind == TN_E_SPLAT ? e->src[1]->src[0] : e->src[1];
    division v = {a, b, b, NULL, NULL, e->dtype.code != TN_UINT};
    LLVMValueRef one = tn_l_constant(g, e->dtype, 1, 0);
    if ((tn_dtype_is_index(e->dtype) && !g->any_symbols) ||
        (d->kind == TN_E_INT && d->u.i != -1 && d->u.i != 0))
        return v;
    v.zero = LLVMBuildICmp(g->b, LLVMIntEQ, b, LLVMConstNull(LLVMTypeOf(b)), "");
    v.safe = LLVMBuildSelect(g->b, v.zero, one, v.safe, "");
    if (v.is_signed) {
        v.neg = LLVMBuildICmp(g->b, LLVMIntEQ, b, tn_l_constant(g, e->dtype, -1, 0), "");
        v.safe = LLVMBuildSelect(g->b, v.neg, one, v.safe, "");
    }
    return v;
}

/* Vectors of narrow integers are divided as floats, which have the bits to be exact: |a / b| differs from the
 * next integer by 1 / |b| at least, more than half a unit in the last place of the quotient. */
static LLVMValueRef divide_as_floats(tn_lgen *g, tn_dtype t, const division *v)
{
    LLVMTypeRef f = tn_l_type(g, tn_dtype_lanes(t.bits <= 16 ? TN_F32 : TN_F64, t.lanes)),
                i = LLVMTypeOf(v->a);
    LLVMValueRef a = v->is_signed ? LLVMBuildSIToFP(g->b, v->a, f, "") : LLVMBuildUIToFP(g->b, v->a, f, "");
    LLVMValueRef b =
        v->is_signed ? LLVMBuildSIToFP(g->b, v->safe, f, "") : LLVMBuildUIToFP(g->b, v->safe, f, "");
    LLVMValueRef q = LLVMBuildFDiv(g->b, a, b, "");
    return v->is_signed ? LLVMBuildFPToSI(g->b, q, i, "") : LLVMBuildFPToUI(g->b, q, i, "");
}

/* a / safe, towards zero. */
static LLVMValueRef raw_quotient(tn_lgen *g, const tn_expr *e, const division *v)
{
    bool constant_divisor = LLVMIsConstant(v->safe);
    if (e->dtype.lanes > 1 && e->dtype.bits <= 32 && !constant_divisor)
        return divide_as_floats(g, e->dtype, v);
    return v->is_signed ? LLVMBuildSDiv(g->b, v->a, v->safe, "") : LLVMBuildUDiv(g->b, v->a, v->safe, "");
}

static LLVMValueRef raw_remainder(tn_lgen *g, const tn_expr *e, const division *v)
{
    if (e->dtype.lanes > 1 && e->dtype.bits <= 32 && !LLVMIsConstant(v->safe))
        return LLVMBuildSub(g->b, v->a, LLVMBuildMul(g->b, raw_quotient(g, e, v), v->safe, ""), "");
    return v->is_signed ? LLVMBuildSRem(g->b, v->a, v->safe, "") : LLVMBuildURem(g->b, v->a, v->safe, "");
}

static LLVMValueRef quotient(tn_lgen *g, const tn_expr *e, const division *v)
{
    LLVMValueRef q = raw_quotient(g, e, v);
    if (v->neg)
        q = LLVMBuildSelect(g->b, v->neg, LLVMBuildNeg(g->b, v->a, ""), q, "");
    return v->zero ? LLVMBuildSelect(g->b, v->zero, LLVMConstNull(LLVMTypeOf(q)), q, "") : q;
}

/* Floor division and modulo from the truncating ones; shifts and masks for powers of two. */
static LLVMValueRef floor_div(tn_lgen *g, const tn_expr *e, LLVMValueRef a, LLVMValueRef b, bool mod)
{
    const tn_expr *d = e->src[1]->kind == TN_E_SPLAT ? e->src[1]->src[0] : e->src[1];
    LLVMTypeRef t = LLVMTypeOf(a);
    if (d->kind == TN_E_INT && d->u.i > 0 && (d->u.i & (d->u.i - 1)) == 0) {
        if (mod)
            return LLVMBuildAnd(g->b, a, tn_l_constant(g, e->dtype, d->u.i - 1, 0), "");
        LLVMValueRef k = tn_l_constant(g, e->dtype, __builtin_ctzll((unsigned long long)d->u.i), 0);
        return e->dtype.code == TN_UINT ? LLVMBuildLShr(g->b, a, k, "") : LLVMBuildAShr(g->b, a, k, "");
    }
    division v = divide(g, e, a, b);
    if (!v.is_signed)
        return mod ? raw_remainder(g, e, &v) : quotient(g, e, &v);
    LLVMValueRef r = raw_remainder(g, e, &v), zero = LLVMConstNull(t);
    LLVMValueRef odd =
        LLVMBuildAnd(g->b, LLVMBuildICmp(g->b, LLVMIntNE, r, zero, ""),
                     LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildXor(g->b, r, b, ""), zero, ""), "");
    if (mod)
        return LLVMBuildSelect(g->b, odd, LLVMBuildAdd(g->b, r, b, ""), r, "");
    return LLVMBuildAdd(g->b, quotient(g, e, &v), LLVMBuildSExt(g->b, odd, t, ""), "");
}

static LLVMValueRef trunc_div(tn_lgen *g, const tn_expr *e, LLVMValueRef a, LLVMValueRef b, bool mod)
{
    division v = divide(g, e, a, b);
    return mod ? raw_remainder(g, e, &v) : quotient(g, e, &v);
}

static LLVMValueRef compare(tn_lgen *g, const tn_expr *e, enum tn_ek k, LLVMValueRef a, LLVMValueRef b)
{
    tn_dtype t = e->src[0]->dtype;
    if (tn_dtype_is_float(t)) {
        LLVMRealPredicate p = k == TN_E_EQ   ? LLVMRealOEQ
                              : k == TN_E_NE ? LLVMRealUNE
                              : k == TN_E_LT ? LLVMRealOLT
                                             : LLVMRealOLE;
        return LLVMBuildFCmp(g->b, p, a, b, "");
    }
    bool u = t.code == TN_UINT || t.code == TN_BOOL;
    LLVMIntPredicate p = k == TN_E_EQ   ? LLVMIntEQ
                         : k == TN_E_NE ? LLVMIntNE
                         : k == TN_E_LT ? (u ? LLVMIntULT : LLVMIntSLT)
                                        : (u ? LLVMIntULE : LLVMIntSLE);
    return LLVMBuildICmp(g->b, p, a, b, "");
}

/* One instruction (x86: vmaxps b, a) and, of floats where b may be NaN, a blend that only waits for b. */
static LLVMValueRef min_or_max(tn_lgen *g, const tn_expr *e, LLVMValueRef second, LLVMValueRef a,
                               LLVMValueRef b)
{
    LLVMValueRef r = LLVMBuildSelect(g->b, second, b, a, "");
    if (!tn_dtype_is_float(e->dtype) || tn_never_nan(e->src[1]))
        return r;
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, b, b, ""), b, r, "");
}

static LLVMValueRef binary(tn_lgen *g, const tn_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    bool f = tn_dtype_is_float(e->dtype);
    LLVMBuilderRef bd = g->b;
    switch (e->kind) {
    case TN_E_ADD: return f ? LLVMBuildFAdd(bd, a, b, "") : LLVMBuildAdd(bd, a, b, "");
    case TN_E_SUB: return f ? LLVMBuildFSub(bd, a, b, "") : LLVMBuildSub(bd, a, b, "");
    case TN_E_MUL: return f ? LLVMBuildFMul(bd, a, b, "") : LLVMBuildMul(bd, a, b, "");
    case TN_E_DIV: return LLVMBuildFDiv(bd, a, b, "");
    case TN_E_FLOORDIV: return floor_div(g, e, a, b, false);
    case TN_E_FLOORMOD: return floor_div(g, e, a, b, true);
    case TN_E_TRUNCDIV: return trunc_div(g, e, a, b, false);
    case TN_E_TRUNCMOD: return trunc_div(g, e, a, b, true);
    case TN_E_MIN: return min_or_max(g, e, compare(g, e, TN_E_LT, b, a), a, b);
    case TN_E_MAX: return min_or_max(g, e, compare(g, e, TN_E_LT, a, b), a, b);
    case TN_E_EQ:
    case TN_E_NE:
    case TN_E_LT:
    case TN_E_LE: return compare(g, e, (enum tn_ek)e->kind, a, b);
    case TN_E_AND:
    case TN_E_BITAND: return LLVMBuildAnd(bd, a, b, "");
    case TN_E_OR:
    case TN_E_BITOR: return LLVMBuildOr(bd, a, b, "");
    case TN_E_BITXOR: return LLVMBuildXor(bd, a, b, "");
    case TN_E_SHL: return LLVMBuildShl(bd, a, b, "");
    case TN_E_SHR:
        return e->dtype.code == TN_UINT ? LLVMBuildLShr(bd, a, b, "") : LLVMBuildAShr(bd, a, b, "");
    default: return NULL;
    }
}

/* ---- dot products of bytes ---- */

bool tn_l_has_feature(const tn_lgen *g, const char *name)
{
    for (uint32_t i = 0; i < g->unit->n_feature; i++)
        if (strcmp(g->unit->feature[i], name) == 0)
            return true;
    return false;
}

typedef struct {
    enum tn_intrin function;
    uint16_t lanes;
    bool bytes;
    const char *call, *feature, *other; /* one of the features */
} vendor;

static const vendor *vendor_of(const tn_lgen *g, const vendor *v, size_t n, enum tn_intrin f, uint16_t lanes)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].function == f && v[i].lanes == lanes &&
            (tn_l_has_feature(g, v[i].feature) || tn_l_has_feature(g, v[i].other)))
            return &v[i];
    return NULL;
}

static bool is_signed(enum tn_intrin f, int operand)
{
    return f == TN_F_dot4ss || (operand == 2 && f == TN_F_dot4us);
}

static LLVMValueRef call_vendor(tn_lgen *g, const vendor *v, LLVMValueRef a[3])
{
    LLVMTypeRef types[2] = {LLVMTypeOf(a[0]), LLVMVectorType(g->i8, 4u * v->lanes)};
    LLVMValueRef arg[3] = {a[0], a[1], a[2]};
    for (int i = 1; v->bytes && i < 3; i++)
        arg[i] = LLVMBuildBitCast(g->b, a[i], types[1], "");
    return tn_l_intrinsic(g, v->call, v->bytes ? 2 : 0, types, 3, arg);
}

/* By an instruction that takes the bytes of one operand for the other sign: they are moved by 128, by their upper bit,
 * and so are the products, by what as many 128 give. NULL: there is none. */
static LLVMValueRef dot_moved(tn_lgen *g, const vendor *v, size_t n, const tn_expr *e, LLVMValueRef a[3])
{
    enum tn_intrin f = (enum tn_intrin)e->u.call.id;
    for (uint32_t other = TN_F_dot4us; other < TN_F_COUNT; other++) {
        const vendor *by = vendor_of(g, v, n, (enum tn_intrin)other, e->dtype.lanes);
        bool moved[3] = {false, is_signed(f, 1) != is_signed((enum tn_intrin)other, 1),
                         is_signed(f, 2) != is_signed((enum tn_intrin)other, 2)};
        if (!by || moved[1] == moved[2])
            continue;
        int i = moved[1] ? 1 : 2;
        LLVMValueRef top = tn_l_constant(g, e->dtype, (int64_t)(int32_t)UINT32_C(0x80808080), 0), arg[3],
                     off[3];
        for (int k = 0; k < 3; k++)
            arg[k] = off[k] = a[k];
        arg[i] = LLVMBuildXor(g->b, a[i], top, "");
        off[0] = tn_l_constant(g, e->dtype, 0, 0);
        off[i] = top;
        return LLVMBuildSub(g->b, call_vendor(g, by, arg), call_vendor(g, by, off), "");
    }
    return NULL;
}

/* Pairs of int16 products: the bytes at even and at odd places, each widened in its half of an int16. */
static LLVMValueRef dot_by_pairs(tn_lgen *g, const vendor *v, enum tn_intrin f, LLVMValueRef a[3])
{
    uint16_t halves_n = (uint16_t)(2 * v->lanes);
    LLVMTypeRef halves = LLVMVectorType(g->i16, halves_n);
    LLVMValueRef low = splat(g, LLVMConstInt(g->i16, 255, 0), halves_n);
    LLVMValueRef eight = splat(g, LLVMConstInt(g->i16, 8, 0), halves_n), even[2], odd[2];
    for (int i = 0; i < 2; i++) {
        LLVMValueRef x = LLVMBuildBitCast(g->b, a[1 + i], halves, "");
        bool sign = is_signed(f, 1 + i);
        even[i] = sign ? LLVMBuildAShr(g->b, LLVMBuildShl(g->b, x, eight, ""), eight, "")
                       : LLVMBuildAnd(g->b, x, low, "");
        odd[i] = sign ? LLVMBuildAShr(g->b, x, eight, "") : LLVMBuildLShr(g->b, x, eight, "");
    }
    LLVMValueRef sum = LLVMBuildAdd(g->b, a[0], tn_l_intrinsic(g, v->call, 0, NULL, 2, even), "");
    return LLVMBuildAdd(g->b, sum, tn_l_intrinsic(g, v->call, 0, NULL, 2, odd), "");
}

/* Byte k of an operand as int32. */
static LLVMValueRef byte_of(tn_lgen *g, const tn_expr *e, LLVMValueRef v, int k, bool sign)
{
    LLVMValueRef top = tn_l_constant(g, e->dtype, 24, 0);
    v = LLVMBuildShl(g->b, v, tn_l_constant(g, e->dtype, 24 - 8 * k, 0), "");
    return sign ? LLVMBuildAShr(g->b, v, top, "") : LLVMBuildLShr(g->b, v, top, "");
}

static LLVMValueRef dot4(tn_lgen *g, const tn_expr *e, LLVMValueRef a[3])
{
    static const vendor dots[] = {
#define LLVM_DOT4(function, lanes, bytes, call, feature, other) \
    {TN_F_##function, lanes, bytes, call, feature, other},
#include "codegen/intrinsics.def"
    };
    static const vendor pairs[] = {
#define LLVM_PAIRS(lanes, call, feature) {TN_F_COUNT, lanes, false, call, feature, feature},
#include "codegen/intrinsics.def"
    };
    enum { DOTS = sizeof dots / sizeof *dots, PAIRS = sizeof pairs / sizeof *pairs };
    enum tn_intrin f = (enum tn_intrin)e->u.call.id;
    const vendor *by = vendor_of(g, dots, DOTS, f, e->dtype.lanes);
    if (by)
        return call_vendor(g, by, a);
    LLVMValueRef moved = dot_moved(g, dots, DOTS, e, a), sum = a[0];
    if (moved)
        return moved;
    by = vendor_of(g, pairs, PAIRS, TN_F_COUNT, e->dtype.lanes);
    if (by)
        return dot_by_pairs(g, by, f, a);
    for (int k = 0; k < 4; k++) {
        LLVMValueRef x = byte_of(g, e, a[1], k, is_signed(f, 1)), w = byte_of(g, e, a[2], k, is_signed(f, 2));
        sum = LLVMBuildAdd(g->b, sum, LLVMBuildMul(g->b, x, w, ""), "");
    }
    return sum;
}

/* The bfloat16 in the upper or lower half of each int32, as float32. */
static LLVMValueRef half_of(tn_lgen *g, const tn_expr *e, LLVMValueRef v, bool upper)
{
    tn_dtype t = tn_dtype_lanes(TN_I32, e->dtype.lanes);
    v = upper ? LLVMBuildAnd(g->b, v, tn_l_constant(g, t, (int64_t)(int32_t)UINT32_C(0xffff0000), 0), "")
              : LLVMBuildShl(g->b, v, tn_l_constant(g, t, 16, 0), "");
    return LLVMBuildBitCast(g->b, v, tn_l_type(g, e->dtype), "");
}

static const char *dot2bf_here(const tn_lgen *g, uint16_t lanes)
{
    static const struct {
        uint16_t lanes;
        const char *call, *feature, *also;
    } rows[] = {
#define LLVM_DOT2BF(lanes, call, feature, also) {lanes, call, feature, also},
#include "codegen/intrinsics.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].lanes == lanes && tn_l_has_feature(g, rows[i].feature) &&
            tn_l_has_feature(g, rows[i].also))
            return rows[i].call;
    return NULL;
}

static LLVMValueRef dot2bf(tn_lgen *g, const tn_expr *e, LLVMValueRef a[3])
{
    LLVMTypeRef type = tn_l_type(g, e->dtype),
                pairs = LLVMVectorType(LLVMBFloatTypeInContext(g->c), 2u * e->dtype.lanes);
    const char *by = dot2bf_here(g, e->dtype.lanes);
    if (by) {
        LLVMValueRef arg[3] = {a[0], LLVMBuildBitCast(g->b, a[1], pairs, ""),
                               LLVMBuildBitCast(g->b, a[2], pairs, "")};
        return tn_l_intrinsic(g, by, 0, NULL, 3, arg);
    }
    LLVMValueRef sum = a[0];
    for (int upper = 1; upper >= 0; upper--) {
        LLVMValueRef arg[3] = {half_of(g, e, a[1], upper), half_of(g, e, a[2], upper), sum};
        sum = tn_l_intrinsic(g, "llvm.fma", 1, &type, 3, arg);
    }
    return sum;
}

static LLVMValueRef dot(tn_lgen *g, const tn_expr *e, LLVMValueRef a[3])
{
    return tn_intrin_is_dot4(e->u.call.id) ? dot4(g, e, a) : dot2bf(g, e, a);
}

static LLVMValueRef call(tn_lgen *g, const tn_expr *e, LLVMValueRef a)
{
    static const char *const name[TN_F_COUNT] = {
        [TN_F_sqrt] = "llvm.sqrt", [TN_F_abs] = "llvm.fabs",    [TN_F_floor] = "llvm.floor",
        [TN_F_ceil] = "llvm.ceil", [TN_F_trunc] = "llvm.trunc", [TN_F_round] = "llvm.roundeven"};
    tn_dtype t = e->src[0]->dtype;
    LLVMTypeRef type = tn_l_type(g, t);
    if (e->u.call.id == TN_F_isnan)
        return LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, "");
    if (e->u.call.id == TN_F_abs && !tn_dtype_is_float(t)) {
        LLVMValueRef arg[2] = {a, LLVMConstInt(g->i1, 0, 0)};
        return t.code == TN_UINT ? a : tn_l_intrinsic(g, "llvm.abs", 1, &type, 2, arg);
    }
    if (!name[e->u.call.id]) {
        tn_l_fail(g, "codegen-E004",
                  tn_arena_printf(&g->arena, "%s of this type has no form in LLVM; lower the function first",
                                  tn_intrins[e->u.call.id].name));
        return LLVMGetPoison(type);
    }
    return tn_l_intrinsic(g, name[e->u.call.id], 1, &type, 1, &a);
}

static void align(LLVMValueRef access, const tn_lgen *g, tn_dtype t)
{
    (void)g;
    LLVMSetAlignment(access, tn_dtype_bytes(tn_dtype_lanes(t, 1)));
}

/* ---- values kept ---- */

uint32_t tn_l_region_enter(tn_lgen *g)
{
    uint32_t back = g->region;
    g->region = (uint32_t)g->alive.n;
    tn_vec_push(&g->alive, true);
    return back;
}

void tn_l_region_leave(tn_lgen *g, uint32_t back)
{
    g->alive.at[g->region] = false;
    g->region = back;
}

void tn_l_forget(tn_lgen *g)
{
    tn_map_clear(&g->memo);
    tn_map_clear(&g->pure);
    g->known.n = g->alive.n = 0;
    tn_l_region_enter(g);
}

static LLVMValueRef recall(const tn_lgen *g, uint64_t key)
{
    uint64_t i;
    if (!tn_map_get(&g->pure, key, &i) || !g->alive.at[g->known.at[i - 1].region])
        return NULL;
    return g->known.at[i - 1].v;
}

static LLVMValueRef keep(tn_lgen *g, uint64_t key, LLVMValueRef v)
{
    tn_vec_push(&g->known, ((tn_lvalue){v, g->region}));
    tn_map_put(&g->pure, key, g->known.n);
    return v;
}

/* ---- memory ---- */

/* Takes the constant summands off e. */
static const tn_expr *without_constant(const tn_expr *e, int64_t *c)
{
    *c = 0;
    while ((e->kind == TN_E_ADD || e->kind == TN_E_SUB) && e->src[1]->kind == TN_E_INT) {
        *c += e->kind == TN_E_ADD ? e->src[1]->u.i : -e->src[1]->u.i;
        e = e->src[0];
    }
    return e;
}

/* The base may lie outside the buffer, so neither step claims to be inside. */
LLVMValueRef tn_l_address(tn_lgen *g, tn_dtype t, uint32_t buffer, const tn_expr *at)
{
    LLVMTypeRef element = tn_l_memory_type(g, tn_dtype_lanes(t, 1));
    int64_t c;
    const tn_expr *rest = without_constant(at, &c);
    LLVMValueRef base, i;
    if (rest->has_load || rest->kind == TN_E_INT || buffer >= 1u << 15) {
        i = tn_l_expr(g, at);
        return LLVMBuildGEP2(g->b, element, g->buffer[buffer], &i, 1, "");
    }
    uint64_t key = tn_map_key(rest) | (uint64_t)(buffer + 1) << 48;
    base = recall(g, key);
    if (!base) {
        i = tn_l_expr(g, rest);
        base = keep(g, key, LLVMBuildGEP2(g->b, element, g->buffer[buffer], &i, 1, ""));
    }
    i = tn_l_int(g, c);
    return c == 0 ? base : LLVMBuildGEP2(g->b, element, base, &i, 1, "");
}

static LLVMValueRef vector_load(tn_lgen *g, const tn_expr *e, LLVMTypeRef mt)
{
    const tn_expr *mask = tn_load_mask(e), *at = e->src[0];
    uint32_t b = e->u.load.buffer;
    unsigned bytes = tn_dtype_bytes(tn_dtype_lanes(e->dtype, 1));
    bool gather = at->dtype.lanes > 1;
    if (!mask && !gather) {
        LLVMValueRef v = LLVMBuildLoad2(g->b, mt, tn_l_address(g, e->dtype, b, at), "");
        align(v, g, e->dtype);
        return from_memory(g, e->dtype, v);
    }
    LLVMValueRef i = gather ? tn_l_expr(g, at) : NULL;
    LLVMValueRef p = gather ? LLVMBuildGEP2(g->b, tn_l_memory_type(g, tn_dtype_lanes(e->dtype, 1)),
                                            g->buffer[b], &i, 1, "")
                            : tn_l_address(g, e->dtype, b, at);
    LLVMValueRef m = mask ? tn_l_expr(g, mask) : splat(g, LLVMConstInt(g->i1, 1, 0), e->dtype.lanes);
    LLVMValueRef other =
        mask ? tn_l_to_memory(g, e->dtype, tn_l_expr(g, tn_load_other(e))) : LLVMGetPoison(mt);
    LLVMTypeRef types[2] = {mt, gather ? LLVMVectorType(g->ptr, e->dtype.lanes) : g->ptr};
    LLVMValueRef arg[4] = {p, LLVMConstInt(g->i32, bytes, 0), m, other};
    return from_memory(
        g, e->dtype, tn_l_intrinsic(g, gather ? "llvm.masked.gather" : "llvm.masked.load", 2, types, 4, arg));
}

static LLVMValueRef load(tn_lgen *g, const tn_expr *e)
{
    const tn_expr *mask = tn_load_mask(e);
    uint32_t b = e->u.load.buffer;
    LLVMTypeRef mt = tn_l_memory_type(g, e->dtype);
    if (g->func->buffer[b].scope == TN_SCOPE_REGISTER)
        return LLVMBuildLoad2(g->b, tn_l_type(g, e->dtype), g->element[b][e->src[0]->u.i], "");
    if (e->dtype.lanes > 1)
        return vector_load(g, e, mt);
    LLVMValueRef m = mask ? tn_l_expr(g, mask) : NULL, p = tn_l_address(g, e->dtype, b, e->src[0]);
    if (m) /* a scalar under a mask reads element 0 instead, which every buffer has */
        p = LLVMBuildSelect(g->b, m, p, g->buffer[b], "");
    LLVMValueRef v = LLVMBuildLoad2(g->b, mt, p, "");
    align(v, g, e->dtype);
    v = from_memory(g, e->dtype, v);
    return m ? LLVMBuildSelect(g->b, m, v, tn_l_expr(g, tn_load_other(e)), "") : v;
}

static LLVMValueRef symbol(tn_lgen *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_symbol; i++)
        if (strcmp(g->symbol_name[i], name) == 0)
            return g->symbol[i];
    TN_ASSERT(!"a symbol that is none of the kernel's");
    return NULL;
}

static LLVMValueRef ramp(tn_lgen *g, const tn_expr *e)
{
    uint16_t n = e->dtype.lanes;
    LLVMTypeRef s = tn_l_type(g, tn_dtype_lanes(e->dtype, 1));
    LLVMValueRef lane[TN_L_MOST_LANES];
    TN_ASSERT(n <= TN_L_MOST_LANES);
    for (int i = 0; i < n; i++)
        lane[i] = LLVMConstInt(s, (unsigned)i, 0);
    LLVMValueRef step =
        LLVMBuildMul(g->b, LLVMConstVector(lane, n), splat(g, tn_l_expr(g, e->src[1]), n), "");
    return LLVMBuildAdd(g->b, splat(g, tn_l_expr(g, e->src[0]), n), step, "");
}

static LLVMValueRef shuffle(tn_lgen *g, const tn_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef lane[TN_MAX_SHUFFLED];
    uint16_t n = e->dtype.lanes, each = e->src[0]->dtype.lanes;
    for (int i = 0; i < n; i++)
        lane[i] = LLVMConstInt(g->i32, (uint8_t)e->u.lanes[i] - 1u, 0);
    if (n > 1)
        return LLVMBuildShuffleVector(g->b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)), LLVMConstVector(lane, n),
                                      "");
    unsigned at = (uint8_t)e->u.lanes[0] - 1u;
    return LLVMBuildExtractElement(g->b, at < each ? a : b, LLVMConstInt(g->i32, at % each, 0), "");
}

static LLVMValueRef build(tn_lgen *g, const tn_expr *e)
{
    LLVMValueRef a[3] = {0};
    switch (e->kind) {
    case TN_E_INT: return tn_l_constant(g, e->dtype, e->u.i, 0);
    case TN_E_FLOAT: return tn_l_constant(g, e->dtype, 0, e->u.f);
    case TN_E_SYM: return symbol(g, e->u.s);
    case TN_E_LOAD: return load(g, e);
    case TN_E_RAMP: return ramp(g, e);
    case TN_E_CAST: return tn_l_cast(g, e);
    default: break;
    }
    TN_ASSERT(e->nsrc <= 3);
    for (int i = 0; i < e->nsrc; i++)
        a[i] = tn_l_expr(g, e->src[i]);
    switch (e->kind) {
    case TN_E_SPLAT: return splat(g, a[0], e->dtype.lanes);
    case TN_E_SHUFFLE: return shuffle(g, e, a[0], a[1]);
    case TN_E_NOT: return LLVMBuildNot(g->b, a[0], "");
    case TN_E_SELECT: return LLVMBuildSelect(g->b, a[0], a[1], a[2], "");
    case TN_E_BITCAST: return LLVMBuildBitCast(g->b, a[0], tn_l_type(g, e->dtype), "");
    case TN_E_CALL: return tn_intrin_is_dot(e->u.call.id) ? dot(g, e, a) : call(g, e, a[0]);
    case TN_E_FMA: {
        LLVMTypeRef t = tn_l_type(g, e->dtype);
        return tn_l_intrinsic(g, "llvm.fma", 1, &t, 3, a);
    }
    default: return binary(g, e, a[0], a[1]);
    }
}

LLVMValueRef tn_l_expr(tn_lgen *g, const tn_expr *e)
{
    uint64_t known;
    if (e->kind == TN_E_VAR)
        return g->var[e->u.i];
    LLVMValueRef v = e->has_load ? NULL : recall(g, tn_map_key(e));
    if (v)
        return v;
    if (!e->has_load)
        return keep(g, tn_map_key(e), build(g, e));
    if (tn_map_get(&g->memo, tn_map_key(e), &known))
        return (LLVMValueRef)(uintptr_t)known;
    v = build(g, e);
    tn_map_put(&g->memo, tn_map_key(e), (uint64_t)(uintptr_t)v);
    return v;
}
