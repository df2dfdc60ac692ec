/* The table of built-in rules and their choice: the first that matches and is not refused. Each attempt works
 * on a fresh schedule, so a refused one leaves nothing behind. */
#include "schedule/rules/derive.h"

static bool always(const tn_func *f, const tn_machine *m)
{
    (void)f;
    (void)m;
    return true;
}

static tn_verdict serial(tn_sched *s, const tn_machine *m)
{
    (void)m;
    s->comment = "rule serial: loops as they are";
    return TN_DONE;
}

/* clang-format off */
const tn_rule_info tn_rule_infos[] = {
    {"gemm",        "matrix products: tiles of rows x vectors in registers", rule_gemm_matches, rule_gemm},
    {"conv",        "convolutions: tiles of pixels x vectors in registers", rule_conv_matches, rule_conv},
    {"window",      "depthwise convolutions, pooling: tiles of pixels in registers",
     rule_window_matches, rule_window},
    {"contract",    "sums of products over any axes: tiles of rows x vectors in registers",
     rule_contract_matches, rule_contract},
    {"elementwise", "no reduction: tasks of vectors along contiguous memory",
     rule_elementwise_matches, rule_elementwise},
    {"reduce",      "any reduction: rows as tasks; what follows a row is computed while the row is in cache",
     rule_reduce_matches, rule_reduce},
    {"serial",      "the function as it is", always, serial},
};
/* clang-format on */
const size_t tn_n_rule_infos = sizeof tn_rule_infos / sizeof *tn_rule_infos;

void tn_rule_apply(tn_sched *s, const tn_func *f, const struct tn_machine *m, const tn_picks *pick,
                   tn_arena *arena, tn_pool *pool)
{
    for (size_t i = 0; i < tn_n_rule_infos; i++) {
        const tn_rule_info *r = &tn_rule_infos[i];
        if (!r->matches(f, m))
            continue;
        tn_sched_init(s, f, arena, pool);
        s->pick = pick ? *pick : (tn_picks){0};
        if (r->derive(s, m) == TN_DONE)
            return;
    }
    TN_ASSERT(!"the last rule is never refused");
}

void tn_rule_serial(tn_sched *s, const tn_func *f, const struct tn_machine *m, tn_arena *arena, tn_pool *pool)
{
    tn_sched_init(s, f, arena, pool);
    (void)serial(s, m);
}
