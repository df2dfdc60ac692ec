/* The table of built-in rules, and the generator that they make together: the pick `rule` is the first that matches and
 * is not refused, or another that matches. Each attempt works on a fresh schedule, so a refused one leaves nothing
 * behind. */
#include "schedule/rules/derive.h"
#include "schedule/space.h"

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
    {"irregular",   "lists of statements: their iterations in tasks", rule_irregular_matches, rule_irregular},
    {"serial",      "the function as it is", always, serial},
};
/* clang-format on */
const size_t tn_n_rule_infos = sizeof tn_rule_infos / sizeof *tn_rule_infos;

enum { MAX_RULES = 16 };
typedef struct {
    uint32_t n;
    const tn_rule_info *rule[MAX_RULES];
} rules;

static rules find_matching(const tn_space *x)
{
    rules r = {0};
    TN_ASSERT(tn_n_rule_infos <= MAX_RULES);
    for (size_t i = 0; i < tn_n_rule_infos; i++)
        if (tn_rule_infos[i].matches(x->func, x->machine))
            r.rule[r.n++] = &tn_rule_infos[i];
    return r;
}

/* Rule number k comes first. */
static void put_first(rules *r, uint32_t k)
{
    const tn_rule_info *first = r->rule[k];
    for (; k > 0; k--)
        r->rule[k] = r->rule[k - 1];
    r->rule[0] = first;
}

static tn_verdict derive_by(const tn_space *x, const rules *r, const tn_picks *given, tn_arena *arena,
                            tn_pool *pool, tn_sched *s)
{
    tn_choice name[MAX_RULES];
    uint32_t which;
    tn_sched_init(s, x->func, arena, pool);
    s->given = given;
    for (uint32_t i = 0; i < r->n; i++)
        name[i] = (tn_choice){r->rule[i]->name, 0};
    tn_verdict v = tn_pick_do(s, "rule", r->n, name, &which);
    v = v == TN_DONE ? r->rule[which]->derive(s, x->machine) : v;
    s->given = NULL;
    return v;
}

/* The default is the first rule that is not refused; those that are stand behind it. */
static tn_verdict derive_default(const tn_space *x, rules *r, tn_arena *arena, tn_pool *pool, tn_sched *s)
{
    for (uint32_t i = 0; i < r->n; i++) {
        rules order = *r;
        put_first(&order, i);
        if (derive_by(x, &order, NULL, arena, pool, s) != TN_DONE)
            continue;
        *r = order;
        return TN_DONE;
    }
    TN_ASSERT(!"the last rule is never refused");
    return TN_REJECT_NEST;
}

static tn_verdict derive_rules(const tn_space *x, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                               tn_sched *out)
{
    rules r = find_matching(x);
    bool plain = !given || (given->n == 0 && !given->random);
    tn_verdict v = plain || r.n > 1 ? derive_default(x, &r, arena, pool, out) : TN_DONE;
    return plain ? v : derive_by(x, &r, given, arena, pool, out);
}

const tn_sched_generator tn_rules_generator = {.name = "rules", .version = 2, .derive = derive_rules};

void tn_rule_apply(tn_sched *s, const tn_func *f, const struct tn_machine *m, const tn_picks *given,
                   tn_arena *arena, tn_pool *pool)
{
    const tn_space x = {&tn_rules_generator, f, m};
    if (!given || tn_explore(&x, given, arena, pool, s) != TN_DONE)
        (void)tn_explore(&x, NULL, arena, pool, s);
}

void tn_rule_serial(tn_sched *s, const tn_func *f, const struct tn_machine *m, tn_arena *arena, tn_pool *pool)
{
    tn_sched_init(s, f, arena, pool);
    (void)serial(s, m);
}
