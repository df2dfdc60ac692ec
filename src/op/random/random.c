/* random: numbers that look drawn, but follow from a seed and their positions, so that every run, thread number and
 * machine gives the same.
 *
 * splitmix64 (Steele, Lea, Flood 2014) of the position in the result; its leading bits are a uniform number, and
 * Box and Muller's transform of two makes a normal one. 16-bit floats are computed in float32.
 */
#include "op/code.h"

#include "op/random/random.h"

#include <string.h>

static const double turn = 6.283185307179586; /* 2 pi */

static tn_status random_infer(tn_graph *g, tn_node *n)
{
    const tn_random_attr *a = n->attr;
    if (!tn_dtype_is_float(a->dtype))
        return tn_rule_fail(g, n, "op-E011", "dtype must be a float type, but is %s",
                            tn_rule_dtype_text(g, a->dtype));
    if (!a->distribution ||
        (strcmp(a->distribution, "uniform") != 0 && strcmp(a->distribution, "normal") != 0))
        return tn_rule_fail(g, n, "op-E007", "unknown distribution \"%s\"; use \"uniform\" or \"normal\"",
                            a->distribution ? a->distribution : "None");
    if (a->shape.n > TN_RULE_MAX_RANK)
        return tn_rule_fail(g, n, "op-E003", "shape has %u dimensions; at most %d are supported",
                            (unsigned)a->shape.n, TN_RULE_MAX_RANK);
    return tn_rule_result(g, n, 0, a->dtype, (int)a->shape.n, a->shape.at);
}

static const tn_expr *word(tn_pool *p, uint64_t v) { return tn_int(p, TN_DT(TN_UINT, 64), (int64_t)v); }

static const tn_expr *mixed(tn_pool *p, const tn_expr *z)
{
    static const struct {
        int shift;
        uint64_t factor;
    } step[] = {{30, UINT64_C(0xbf58476d1ce4e5b9)}, {27, UINT64_C(0x94d049bb133111eb)}, {31, 0}};
    for (int i = 0; i < 3; i++) {
        z = tn_bin(p, TN_E_BITXOR, z, tn_bin(p, TN_E_SHR, z, word(p, (uint64_t)step[i].shift)));
        z = step[i].factor ? tn_mul(p, z, word(p, step[i].factor)) : z;
    }
    return z;
}

/* The leading bits of z as a number of [0, 1); with half: of (0, 1). */
static const tn_expr *fraction(tn_pool *p, tn_dtype t, const tn_expr *z, bool half)
{
    int bits = t.bits == 64 ? 52 : 23;
    const tn_expr *k =
        tn_cast(p, t, tn_cast(p, TN_I64, tn_bin(p, TN_E_SHR, z, word(p, (uint64_t)(64 - bits)))));
    k = half ? tn_add(p, k, tn_flt(p, t, 0.5)) : k;
    return tn_mul(p, k, tn_flt(p, t, 1.0 / (double)(INT64_C(1) << bits)));
}

static void random_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    (void)in;
    const tn_random_attr *a = n->attr;
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "random", "elementwise", NULL);
    tn_dtype wide = t->dtype.bits == 64 ? TN_F64 : TN_F32;
    const tn_expr *flat = tn_idx(p, 0);
    for (int i = 0; i < t->ndim; i++)
        flat = tn_add(p, tn_mul(p, flat, t->dim[i]), t->axis[i]);
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15),
                   seed = (uint64_t)a->seed * UINT64_C(0xd1342543de82ef95) + golden;
    const tn_expr *position = tn_cast(p, TN_DT(TN_UINT, 64), tn_cast(p, TN_I64, flat));
    const tn_expr *z = mixed(p, tn_add(p, tn_mul(p, position, word(p, golden)), word(p, seed)));
    const tn_expr *low = tn_flt(p, wide, a->low), *width = tn_flt(p, wide, a->high - a->low), *v;
    if (a->distribution[0] == 'u') {
        v = tn_add(p, low, tn_mul(p, width, fraction(p, wide, z, false)));
    } else {
        const tn_expr *log = tn_intrinsic1(p, TN_F_log, fraction(p, wide, z, true));
        const tn_expr *radius = tn_intrinsic1(p, TN_F_sqrt, tn_mul(p, tn_flt(p, wide, -2), log));
        const tn_expr *angle = tn_mul(p, tn_flt(p, wide, turn),
                                      fraction(p, wide, mixed(p, tn_add(p, z, word(p, golden))), false));
        v = tn_mul(p, radius, tn_intrinsic1(p, TN_F_cos, angle));
        v = tn_add(p, low, tn_mul(p, tn_flt(p, wide, a->high), v)); /* low: mean, high: deviation */
    }
    tn_te_define(te, t, tn_cast(p, t->dtype, v));
}

/* clang-format off */
static const tn_attr_field random_fields[] = TN_ATTR_TABLE(tn_random_attr, TN_RANDOM_ATTRS);

const tn_op tn_op_random = {
    .name = "random", .doc = "Pseudo-random numbers that follow from a seed and their positions.",
    .attr_size = sizeof(tn_random_attr), .attr = random_fields,
    .nin = 0, .min_in = 0, .nout = 1, .fuse = TN_FUSE_INJECTIVE, .infer = random_infer, .compute = random_compute,
};
/* clang-format on */
