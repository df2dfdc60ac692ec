/* Conversions between types in LLVM IR. Floats out of an integer's range give its limits, and NaN 0 (docs/tir.md). */
#include "codegen/llvm/llvmgen.h"

/* Floats to integers of at most 16 bits: limited as floats, which hold the limits exactly, then converted by int32.
 * (LLVM's saturating conversion to narrow integers takes vectors apart.) */
static LLVMValueRef narrow_cast(tn_lgen *g, tn_dtype from, tn_dtype to, LLVMValueRef v)
{
    bool u = to.code == TN_UINT;
    double high = (double)((INT64_C(1) << (u ? to.bits : to.bits - 1)) - 1), low = u ? 0 : -high - 1;
    LLVMValueRef lo = tn_l_constant(g, from, 0, low), hi = tn_l_constant(g, from, 0, high);
    LLVMValueRef c = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, v, lo, ""), v, lo, "");
    c = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, c, hi, ""), c, hi, "");
    if (!u) /* unsigned: the lower limit is what a NaN gives */
        c = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, ""), tn_l_constant(g, from, 0, 0), c,
                            "");
    LLVMValueRef i = LLVMBuildFPToSI(g->b, c, tn_l_type(g, tn_dtype_lanes(TN_I32, to.lanes)), "");
    return LLVMBuildTrunc(g->b, i, tn_l_type(g, to), "");
}

static bool is_narrowed(tn_dtype from, tn_dtype to)
{
    return tn_dtype_is_float(from) && from.bits >= 32 && !tn_dtype_is_float(to) && !tn_dtype_is_bool(to) &&
           !tn_dtype_is_index(to) && to.bits <= 16;
}

LLVMValueRef tn_l_cast(tn_lgen *g, const tn_expr *e)
{
    LLVMValueRef v = tn_l_expr(g, e->src[0]);
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
