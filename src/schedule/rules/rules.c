/* The table of built-in rules, and the generator that they make together: the pick `rule` is the first that matches and
 * is not refused, or another that matches. Each attempt works on a fresh schedule, so a refused one leaves nothing
 * behind. */
#include "schedule/rules/rest.h"
#include "schedule/space.h"

#include <string.h>

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
    {"recurrence",  "steps that multiply what the step before left: rows or units as tasks, tiles in registers",
     rule_recurrence_matches, rule_recurrence, 0},
    {"gemm",        "matrix products: tiles of rows x vectors in registers", rule_gemm_matches, rule_gemm, 0},
    {"conv",        "convolutions: tiles of pixels x vectors in registers", rule_conv_matches, rule_conv, 0},
    {"window",      "depthwise convolutions, pooling: tiles of pixels in registers",
     rule_window_matches, rule_window, 0},
    {"contract",    "sums of products, and what else reads the same several times: tiles in registers",
     rule_contract_matches, rule_contract, 0},
    {"sums",        "sums over blocks of products: the product of a block in registers, where it is scaled",
     rule_sums_matches, rule_sums, 0},
    {"elementwise", "no reduction: tasks of vectors along contiguous memory",
     rule_elementwise_matches, rule_elementwise, 0},
    {"jam",         "reductions over what lists of statements find: some lists side by side",
     rule_jam_matches, rule_jam, 0},
    {"reduce",      "any reduction: rows as tasks; what follows a row is computed while the row is in cache",
     rule_reduce_matches, rule_reduce, 0},
    {"scan",        "running sums and the like: what is beside the axis as tasks, steps along it in order",
     rule_scan_matches, rule_scan, 0},
    {"irregular",   "lists of statements: their iterations in tasks", rule_irregular_matches, rule_irregular, 0},
    {"serial",      "the function as it is", always, serial, 0},
};
/* clang-format on */
const size_t tn_n_rule_infos = sizeof tn_rule_infos / sizeof *tn_rule_infos;

/* clang-format off */
static const tn_rule_info sketches[] = {
    {"steps",     "steps that multiply what the step before left: rows or units as tasks",
     rule_recurrence_matches, rule_recurrence, 0},
    {"jam",       "reductions over what lists of statements find: some lists side by side",
     rule_jam_matches, rule_jam, 0},
    {"tiles",     "a reduction that reads the same several times, or is over a window: levels of tiles",
     rule_sketch_shares, rule_sketch, 1u << TN_PART_TILE},
    {"rows",      "reductions: rows as tasks; what follows a row is computed while the row is in cache",
     rule_reduce_matches, rule_reduce, 0},
    {"others",    "any other reduction: levels of tiles", rule_sketch_others, rule_sketch, 1u << TN_PART_TILE},
    {"nests",     "no reduction: tasks of vectors", rule_elementwise_matches, rule_elementwise, 0},
    {"scan",      "running sums and the like: steps along an axis in order", rule_scan_matches, rule_scan, 0},
    {"irregular", "lists of statements: their iterations in tasks", rule_irregular_matches, rule_irregular, 0},
    {"serial",    "the function as it is", always, serial, 0},
};
/* clang-format on */

/* What a generator chooses from by its first pick: the default is the first row that is not refused. */
typedef struct {
    const char *pick;
    size_t n;
    const tn_rule_info *rule;
    const tn_more_sketches *more; /* NULL: none */
    bool last_resort;             /* the last row is a candidate only where the others are refused */
} table;

typedef struct { /* one of the two */
    const tn_rule_info *own;
    const tn_more_sketch *more;
    bool alone; /* of more: it makes the whole schedule */
} row;

enum { MAX_RULES = 16 };
typedef struct {
    const char *pick;
    uint32_t n;
    row rule[MAX_RULES];
} rules;

static const char *name_of(const row *r) { return r->own ? r->own->name : r->more->name; }

static tn_verdict derive_row(const row *r, tn_sched *s, const tn_machine *m)
{
    tn_verdict v = r->own ? r->own->derive(s, m) : r->more->derive(r->more->user, s);
    return r->more && !r->alone && v == TN_DONE ? rule_rest(s, m) : v;
}

static rules find_matching(const table *t, const tn_space *x)
{
    rules r = {.pick = t->pick};
    const uint32_t n_more = t->more ? t->more->n : 0;
    TN_ASSERT(t->n + n_more <= MAX_RULES);
    for (size_t i = 0; i < t->n; i++) {
        bool last = i + 1 == t->n, left_out = t->more && t->more->alone && !last;
        left_out |= (t->rule[i].parts & x->fixed) != 0;
        for (uint32_t k = 0; last && k < n_more; k++)
            r.rule[r.n++] = (row){.more = &t->more->at[k], .alone = t->more->alone};
        if (!left_out && t->rule[i].matches(x->func, x->machine))
            r.rule[r.n++] = (row){.own = &t->rule[i]};
    }
    return r;
}

/* Rule number k comes first. */
static void put_first(rules *r, uint32_t k)
{
    const row first = r->rule[k];
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
    s->fixed = x->fixed;
    for (uint32_t i = 0; i < r->n; i++)
        name[i] = (tn_choice){name_of(&r->rule[i]), 0};
    tn_verdict v = tn_pick_do(s, r->pick, r->n, name, &which);
    v = v == TN_DONE ? derive_row(&r->rule[which], s, x->machine) : v;
    s->given = NULL;
    s->fixed = 0;
    return v;
}

/* The default is the first rule that is not refused; those that are stand behind it, but a last resort that is not
 * needed. */
static tn_verdict derive_default(const tn_space *x, bool last_resort, rules *r, tn_arena *arena,
                                 tn_pool *pool, tn_sched *s)
{
    for (uint32_t i = 0; i < r->n; i++) {
        rules order = *r;
        if (last_resort && i + 1 < r->n)
            order.n--;
        put_first(&order, i);
        if (derive_by(x, &order, NULL, arena, pool, s) != TN_DONE)
            continue;
        *r = order;
        return TN_DONE;
    }
    TN_ASSERT(!"the last rule is never refused");
    return TN_REJECT_NEST;
}

static tn_verdict derive_from(const table *t, const tn_space *x, const tn_picks *given, tn_arena *arena,
                              tn_pool *pool, tn_sched *out)
{
    rules r = find_matching(t, x);
    bool plain = !given || (given->n == 0 && !given->random);
    tn_verdict v = plain || r.n > 1 ? derive_default(x, t->last_resort, &r, arena, pool, out) : TN_DONE;
    return plain ? v : derive_by(x, &r, given, arena, pool, out);
}

static tn_verdict derive_rules(const tn_space *x, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                               tn_sched *out)
{
    const table t = {"rule", tn_n_rule_infos, tn_rule_infos, NULL, false};
    return derive_from(&t, x, given, arena, pool, out);
}

enum { SKETCHES = sizeof sketches / sizeof *sketches };

tn_verdict tn_sketch_derive(const tn_space *x, const tn_more_sketches *more, const tn_picks *given,
                            tn_arena *arena, tn_pool *pool, tn_sched *out)
{
    const table t = {"sketch", SKETCHES, sketches, more, true};
    return derive_from(&t, x, given, arena, pool, out);
}

const char *tn_sketch_name(size_t i) { return i < SKETCHES ? sketches[i].name : NULL; }

static tn_verdict derive_sketch(const tn_space *x, const tn_picks *given, tn_arena *arena, tn_pool *pool,
                                tn_sched *out)
{
    return tn_sketch_derive(x, NULL, given, arena, pool, out);
}

const tn_sched_generator tn_rules_generator = {.name = "rules", .version = 13, .derive = derive_rules};
const tn_sched_generator tn_sketch_generator = {.name = "sketch", .version = 8, .derive = derive_sketch};

const tn_sched_generator *tn_sched_generator_find(const char *name)
{
    static const tn_sched_generator *const all[] = {&tn_rules_generator, &tn_sketch_generator};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

void tn_rule_apply(tn_sched *s, const tn_func *f, const struct tn_machine *m, const tn_picks *given,
                   tn_arena *arena, tn_pool *pool)
{
    const tn_space x = {&tn_rules_generator, f, m, 0};
    if (!given || tn_explore(&x, given, arena, pool, s) != TN_DONE)
        (void)tn_explore(&x, NULL, arena, pool, s);
}

void tn_rule_serial(tn_sched *s, const tn_func *f, const struct tn_machine *m, tn_arena *arena, tn_pool *pool)
{
    tn_sched_init(s, f, arena, pool);
    (void)serial(s, m);
}
