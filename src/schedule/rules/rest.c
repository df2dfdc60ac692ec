/* What a rule of a user's leaves as it was: nests without a step, which the rules reduce and elementwise schedule then.
 * So do Ansor's rules, which go on with the other stages (Zheng et al. 2020, section 4.1). */
#include "schedule/rules/rest.h"
#include "schedule/space.h"

/* Blocks that stand in loops as they were made, and in memory that nobody chose. */
static bool is_left(const tn_sched *s, tn_stmt *block)
{
    return rule_plain_nest(block) && rule_target(s->func, block)->scope == TN_SCOPE_GLOBAL;
}

static void schedule_left(derive *d, int n, const char *const name[], const bool left[])
{
    const char *comment = NULL;
    for (int at = 0, end; at < n && dv_ok(d); at = end) {
        for (end = at; end < n && left[end];)
            end++;
        for (int i = at; i < end && dv_ok(d);)
            i = rule_reduce_block(d, i, end, name, &comment);
        end += end == at;
    }
    if (dv_ok(d))
        dv_comment(d, "%s, the rest by rule%s%s", d->s->comment, comment ? " reduce: " : "s of nests",
                   comment ? comment : "");
}

tn_verdict rule_rest(tn_sched *s, const tn_machine *m)
{
    static const tn_choice answers[] = {{"yes", 0}, {"no", 0}};
    tn_stmt *b[RULE_MAX_BLOCKS];
    const char *name[RULE_MAX_BLOCKS];
    bool left[RULE_MAX_BLOCKS], any = false;
    tn_sched after;
    uint32_t answer = 0;
    int n = rule_blocks(s->func, b);
    for (int i = 0; i < n; i++) {
        name[i] = b[i]->u.block.name;
        any |= left[i] = is_left(s, b[i]);
    }
    if (!any)
        return TN_DONE;
    tn_verdict v = tn_pick_do(s, "rest", 2, answers, &answer);
    if (v != TN_DONE || answer == 1)
        return v;
    tn_sched_fork(s, &after);
    derive d = {&after, m, TN_DONE};
    schedule_left(&d, n, name, left);
    if (dv_ok(&d))
        *s = after;
    else
        s->picked = after.picked;
    return d.v == TN_REJECT_PICK ? d.v : TN_DONE;
}
