/* Conversions between types in LLVM IR. Floats out of an integer's range give its limits, and NaN 0 (docs/tir.md). */
#include "codegen/llvm/llvmgen.h"

#include <math.h>

/* What an integer of at most 16 bits holds. */
static int64_t lowest(tn_dtype t) { return t.code == TN_UINT ? 0 : -(INT64_C(1) << (t.bits - 1)); }
static int64_t highest(tn_dtype t) { return (INT64_C(1) << (t.code == TN_UINT ? t.bits : t.bits - 1)) - 1; }

/* v, limited to what `to` holds less c, a whole number: floats have these limits exactly. A NaN gives 0 less c. */
static LLVMValueRef limit(tn_lgen *g, tn_dtype from, tn_dtype to, LLVMValueRef v, double c)
{
    LLVMValueRef lo = tn_l_constant(g, from, 0, (double)lowest(to) - c),
                 hi = tn_l_constant(g, from, 0, (double)highest(to) - c);
    LLVMValueRef x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, v, lo, ""), v, lo, "");
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, hi, ""), x, hi, "");
    if (to.code != TN_UINT) /* unsigned: the lower limit is what a NaN gives */
        x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, ""), tn_l_constant(g, from, 0, -c),
                            x, "");
    return x;
}

/* Floats to integers of at most 16 bits: limited as floats, then converted by int32. (LLVM's saturating conversion to
 * narrow integers takes vectors apart.) */
static LLVMValueRef narrow_cast(tn_lgen *g, tn_dtype from, tn_dtype to, LLVMValueRef v)
{
    LLVMValueRef x = limit(g, from, to, v, 0);
    LLVMValueRef i = LLVMBuildFPToSI(g->b, x, tn_l_type(g, tn_dtype_lanes(TN_I32, to.lanes)), "");
    return LLVMBuildTrunc(g->b, i, tn_l_type(g, to), "");
}

static bool is_narrowed(tn_dtype from, tn_dtype to)
{
    return tn_dtype_is_float(from) && from.bits >= 32 && !tn_dtype_is_float(to) && !tn_dtype_is_bool(to) &&
           !tn_dtype_is_index(to) && to.bits <= 16;
}

/* x where e is round(x), or round(x) + c and c a whole number. NULL: another expression. */
static const tn_expr *rounded(const tn_expr *e, double *c)
{
    static const double MOST = 1 << 20; /* beyond, float32 would round what is near the limits again */
    const tn_expr *k = e->kind == TN_E_ADD ? e->src[1] : NULL;
    *c = 0;
    if (k && k->kind == TN_E_SPLAT)
        k = k->src[0];
    if (k && (k->kind != TN_E_FLOAT || !(fabs(k->u.f) <= MOST) || k->u.f != floor(k->u.f)))
        return NULL;
    if (k) {
        *c = k->u.f;
        e = e->src[0];
    }
    return e->kind == TN_E_CALL && e->u.call.id == TN_F_round ? e->src[0] : NULL;
}

/* n lanes of a and b, one behind the other, from this one. */
static LLVMValueRef lanes_of(tn_lgen *g, LLVMValueRef a, LLVMValueRef b, unsigned from, unsigned n)
{
    LLVMValueRef lane[TN_L_MOST_LANES];
    for (unsigned i = 0; i < n; i++)
        lane[i] = LLVMConstInt(g->i32, from + i, 0);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(lane, n), "");
}

typedef struct {
    uint16_t lanes;
    bool masked;
    const char *name, *feature;
} rounder;

static LLVMValueRef round_by(tn_lgen *g, const rounder *by, LLVMValueRef v)
{
    LLVMValueRef arg[4] = {v, tn_l_constant(g, tn_dtype_lanes(TN_I32, by->lanes), 0, 0),
                           LLVMConstAllOnes(LLVMInt16TypeInContext(g->c)), /* all lanes */
                           LLVMConstInt(g->i32, 4, 0)};                    /* as the mode says: to even */
    return tn_l_intrinsic(g, by->name, 0, NULL, by->masked ? 4 : 1, arg);
}

/* The widest that makes a vector of so many lanes, or two, four of them. */
static const rounder *rounder_of(const tn_lgen *g, uint16_t lanes)
{
    static const rounder by[] = {
#define LLVM_ROUND(lanes, masked, name, feature) {lanes, masked, name, feature},
#include "codegen/intrinsics.def"
    };
    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        unsigned n = lanes / by[k].lanes;
        if (lanes <= TN_L_MOST_LANES && lanes % by[k].lanes == 0 && (n & (n - 1)) == 0 &&
            tn_l_has_feature(g, by[k].feature))
            return &by[k];
    }
    return NULL;
}

/* v, of float32 in the range of int32, rounded to even. */
static LLVMValueRef round_lanes(tn_lgen *g, const rounder *by, uint16_t lanes, LLVMValueRef v)
{
    LLVMValueRef part[TN_L_MOST_LANES];
    unsigned each = by->lanes, n = lanes / each;
    for (unsigned i = 0; i < n; i++)
        part[i] = round_by(g, by, n > 1 ? lanes_of(g, v, v, i * each, each) : v);
    for (; n > 1; n /= 2, each *= 2)
        for (unsigned i = 0; i < n / 2; i++)
            part[i] = lanes_of(g, part[2 * i], part[2 * i + 1], 0, 2 * each);
    return part[0];
}

/* Is x an integer times a constant below 1, so that neither round(x) nor that and a `rounded` constant leaves int32? */
static bool is_scaled_down(const tn_expr *x)
{
    const tn_expr *k = x->kind == TN_E_MUL ? x->src[1] : NULL, *i = x->kind == TN_E_MUL ? x->src[0] : NULL;
    if (k && k->kind == TN_E_SPLAT)
        k = k->src[0];
    if (!k || k->kind != TN_E_FLOAT || !(fabs(k->u.f) <= 0.99) || i->kind != TN_E_CAST)
        return false;
    tn_dtype t = i->src[0]->dtype;
    return !tn_dtype_is_index(t) && (t.code == TN_INT || t.code == TN_UINT) &&
           t.bits <= (t.code == TN_INT ? 32 : 16);
}

/* v of int32 to an integer of at most 16 bits, limited. */
static LLVMValueRef saturate(tn_lgen *g, tn_dtype to, LLVMValueRef v)
{
    tn_dtype wide = tn_dtype_lanes(TN_I32, to.lanes);
    LLVMTypeRef t = tn_l_type(g, wide);
    LLVMValueRef top[2] = {v, tn_l_constant(g, wide, highest(to), 0)},
                 low[2] = {NULL, tn_l_constant(g, wide, lowest(to), 0)};
    low[0] = tn_l_intrinsic(g, "llvm.smin", 1, &t, 2, top);
    return LLVMBuildTrunc(g->b, tn_l_intrinsic(g, "llvm.smax", 1, &t, 2, low), tn_l_type(g, to), "");
}

/* How quantised values end: one instruction rounds and converts what was limited before, instead of three. The bits
 * are the same, as the limits are whole numbers. NULL: another expression, or no such instruction. */
static LLVMValueRef rounding_cast(tn_lgen *g, const tn_expr *e)
{
    tn_dtype from = e->src[0]->dtype, to = e->dtype;
    double c;
    const tn_expr *x = is_narrowed(from, to) && from.bits == 32 ? rounded(e->src[0], &c) : NULL;
    const rounder *by = x ? rounder_of(g, to.lanes) : NULL;
    if (!by)
        return NULL;
    bool fits = is_scaled_down(x);
    LLVMValueRef v = tn_l_expr(g, x);
    v = round_lanes(g, by, to.lanes, fits ? v : limit(g, from, to, v, c));
    v = LLVMBuildAdd(g->b, v, tn_l_constant(g, tn_dtype_lanes(TN_I32, to.lanes), (int64_t)c, 0), "");
    return fits ? saturate(g, to, v) : LLVMBuildTrunc(g->b, v, tn_l_type(g, to), "");
}

LLVMValueRef tn_l_cast(tn_lgen *g, const tn_expr *e)
{
    LLVMValueRef v = rounding_cast(g, e);
    if (v)
        return v;
    v = tn_l_expr(g, e->src[0]);
    tn_dtype from = e->src[0]->dtype, to = e->dtype;
    LLVMTypeRef t = tn_l_type(g, to), ft = tn_l_type(g, from);
    bool ff = tn_dtype_is_float(from), tf = tn_dtype_is_float(to),
         uf = from.code == TN_UINT || from.code == TN_BOOL;
    if (tn_dtype_is_bool(to))
        return ff ? LLVMBuildFCmp(g->b, LLVMRealUNE, v, LLVMConstNull(ft), "")
                  : LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(ft), "");
    if (ff && tf && from.bits + to.bits == 48) { /* float16 and float32 */
        LLVMTypeRef h = LLVMHalfTypeInContext(g->c);
        h = to.lanes == 1 ? h : LLVMVectorType(h, to.lanes);
        return from.bits == 16 ? LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, v, h, ""), t, "")
                               : LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, v, h, ""), t, "");
    }
    if (ff && tf)
        return from.bits < to.bits   ? LLVMBuildFPExt(g->b, v, t, "")
               : from.bits > to.bits ? LLVMBuildFPTrunc(g->b, v, t, "")
                                     : v;
    if (is_narrowed(from, to))
        return narrow_cast(g, from, to, v);
    if (ff) {
        LLVMTypeRef types[2] = {t, ft};
        return tn_l_intrinsic(g, to.code == TN_UINT ? "llvm.fptoui.sat" : "llvm.fptosi.sat", 2, types, 1, &v);
    }
    if (tf)
        return uf ? LLVMBuildUIToFP(g->b, v, t, "") : LLVMBuildSIToFP(g->b, v, t, "");
    unsigned fb = tn_dtype_is_bool(from)    ? 1
                  : tn_dtype_is_index(from) ? 64
                                            : from.bits,
             tb = tn_dtype_is_index(to) ? 64 : to.bits;
    if (fb == tb)
        return v;
    return fb > tb ? LLVMBuildTrunc(g->b, v, t, "")
           : uf    ? LLVMBuildZExt(g->b, v, t, "")
                   : LLVMBuildSExt(g->b, v, t, "");
}
