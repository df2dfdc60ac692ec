/* qnn.rescale: integers times a fixed-point number, as gemmlowp and the reference kernels of TFLite define it.
 *
 *   h = floor((data * multiplier + 2^30) / 2^31)            the high half of the product, rounded
 *   y = h / 2^shift, rounded to nearest, ties away from 0
 *
 * Rounding twice is what makes these bits: a single rounding of the whole differs in one case in some thousands. Other
 * kernels, of fully connected layers, round once: y = floor((data * multiplier + 2^(30 + shift)) / 2^(31 + shift)). */
#include "op/rule.h"

#include "op/qnn/qnn.h"

static tn_status rescale_infer(tn_graph *g, tn_node *n)
{
    const tn_type *t[3], *both;
    bool once = ((const tn_rescale_attr *)n->attr)->once;
    for (int i = 0; i < 3; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, -1, &t[i]));
        bool wide = i == 0 && once && tn_dtype_eq(t[0]->dtype, TN_I64);
        if (!wide && !tn_dtype_eq(t[i]->dtype, TN_I32))
            return tn_rule_fail(g, n, "op-E011", "%s must be int32, but is %s", tn_rule_in_name(g, n, i),
                                tn_rule_type_text(g, t[i]));
    }
    TN_TRY(tn_infer_broadcast(g, n, t[0], t[1], TN_I32, &both));
    TN_TRY(tn_infer_broadcast(g, n, both, t[2], TN_I32, &both));
    return tn_rule_result(g, n, 0, TN_I32, both->n, both->dim);
}

static const tn_expr *high_half(tn_pool *p, const tn_expr *x, const tn_expr *multiplier)
{
    const tn_expr *wide = tn_mul(p, tn_cast(p, TN_I64, x), tn_cast(p, TN_I64, multiplier));
    wide = tn_add(p, wide, tn_int(p, TN_I64, INT64_C(1) << 30));
    return tn_cast(p, TN_I32, tn_bin(p, TN_E_SHR, wide, tn_int(p, TN_I64, 31)));
}

/* x / 2^shift for shifts in [0, 31]: half of 2^shift is added, and of negative numbers 1 less; for shift 0 that half is
 * 0, and so is what is taken off. */
static const tn_expr *divided(tn_pool *p, const tn_expr *x, const tn_expr *shift)
{
    const tn_dtype bits = TN_DT(TN_UINT, 32);
    const tn_expr *last = tn_int(p, TN_I32, 31), *zero = tn_int(p, TN_I32, 0);
    const tn_expr *by = tn_bin(p, TN_E_BITAND, shift, last);
    const tn_expr *unit = tn_bin(p, TN_E_SHL, tn_int(p, bits, 1), tn_cast(p, bits, by));
    const tn_expr *half = tn_cast(p, TN_I32, tn_bin(p, TN_E_SHR, unit, tn_int(p, bits, 1)));
    const tn_expr *below = tn_max(p, tn_bin(p, TN_E_SHR, x, last), tn_sub(p, zero, half));
    return tn_bin(p, TN_E_SHR, tn_add(p, tn_add(p, x, half), below), by);
}

static const tn_expr *rounded_once(tn_pool *p, const tn_expr *x, const tn_expr *multiplier,
                                   const tn_expr *shift)
{
    const tn_expr *last = tn_int(p, TN_I64, 31);
    const tn_expr *by = tn_bin(p, TN_E_BITAND, tn_cast(p, TN_I64, shift), last);
    const tn_expr *half = tn_bin(p, TN_E_SHL, tn_int(p, TN_I64, INT64_C(1) << 30), by);
    const tn_expr *wide = tn_mul(p, tn_cast(p, TN_I64, x), tn_cast(p, TN_I64, multiplier));
    return tn_cast(p, TN_I32, tn_bin(p, TN_E_SHR, tn_add(p, wide, half), tn_add(p, by, last)));
}

static void rescale_compute(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    tn_pool *p = te->pool;
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, "rescale", "elementwise", NULL);
    const tn_expr *x = tn_rule_at_broadcast(te, in[0], t), *multiplier = tn_rule_at_broadcast(te, in[1], t);
    const tn_expr *shift = tn_rule_at_broadcast(te, in[2], t);
    bool once = ((const tn_rescale_attr *)n->attr)->once;
    tn_te_define(
        te, t, once ? rounded_once(p, x, multiplier, shift) : divided(p, high_half(p, x, multiplier), shift));
}

/* clang-format off */
static const tn_attr_field rescale_fields[] = TN_ATTR_TABLE(tn_rescale_attr, TN_RESCALE_ATTRS);
static const char *const rescale_in[] = {"data", "multiplier", "shift"};

const tn_op tn_op_qnn_rescale = {
    .name = "qnn.rescale",
        .doc = "data * multiplier / 2^(31 + shift), rounded twice as fixed-point kernels do; shift in [0, 31].",
    .attr_size = sizeof(tn_rescale_attr), .attr = rescale_fields,
    .nin = 3, .min_in = 3, .nout = 1, .flags = TN_OP_BROADCASTS, .fuse = TN_FUSE_BROADCAST, .in_name = rescale_in,
    .infer = rescale_infer, .layout = tn_layout_same, .compute = rescale_compute,
    .simplify = tn_sink_transpose, .permute = tn_permute_elementwise,
};
/* clang-format on */
