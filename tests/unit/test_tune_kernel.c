/* Searches over a kernel by itself (tenon/tune.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "driver/kernel_api.h"
#include "tenon/te.h"
#include "tenon/tune.h"
#include "tune/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char by_hand[] = "i j r = loops \"out\"\nreorder i r j\n";

/* c[i, j] = sum of a[i, r] * b[r, j] */
static tenon_kernel *product_kernel(tenon *t)
{
    tenon_kernel *k = tenon_kernel_new(t, "product");
    tenon_te_input(k, "a", "Tensor[(24, 48), float32]");
    tenon_te_input(k, "b", "Tensor[(48, 64), float32]");
    tenon_te *x = tenon_te_new(k, "c", "Tensor[(24, 64), float32]", "i j");
    tenon_te_over(x, "r", "48");
    tenon_te_reduce(x, "sum", tenon_te_expr(x, "a[i, r] * b[r, j]", 0, NULL));
    assert_int_equal(tenon_kernel_end(k, 1, &x), 0);
    return k;
}

static void a_kernel_is_searched(void **state)
{
    (void)state;
    char path[] = "kernel.XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (int i = 0; i < 2; i++) {
        tenon *t = tenon_new();
        tenon_kernel *k = product_kernel(t);
        const tenon_tune_task *task;
        const tenon_tune_options o = {.size = sizeof o,
                                      .records = path,
                                      .generator = i ? "sketch" : NULL,
                                      .trials = 12,
                                      .repeat_seconds = 0.001};
        assert_int_equal(tenon_step(k, by_hand), 0);
        assert_int_equal(tenon_tune_kernel(k, NULL, &o, &task), 0);
        assert_string_equal(task->name, "product");
        assert_int_equal(task->trials, 12);
        assert_int_equal(task->calls, 1);
        assert_true(task->operations >= 2.0 * 24 * 64 * 48);
        assert_true(task->seconds > 0 && task->seconds <= task->built_in_seconds);
        assert_non_null(strstr(task->built_in, "rule gemm"));
        assert_string_equal(tenon_kernel_trace(k), by_hand); /* its steps stay */
        tenon_free(t);
    }
    unlink(path);
}

/* A record of a workload, for this machine, with steps that nothing makes by itself. */
static void write_record(const char *path, uint64_t workload)
{
    tn_ctx ctx;
    tn_machine m;
    tn_buf line = {0};
    tn_ctx_init(&ctx);
    assert_int_equal(tn_machine_detect(&ctx, &m), TN_OK);
    const tn_record r = {.workload = workload,
                         .machine = tn_record_machine(&m, &ctx.arena),
                         .threads = 1,
                         .seconds = 1e-6,
                         .built_in = 2e-6,
                         .name = "by_hand",
                         .generator = "rules",
                         .picks = "",
                         .trace = by_hand};
    tn_record_print(&r, &line);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(tn_buf_cstr(&line), f);
    fclose(f);
    tn_buf_deinit(&line);
    tn_ctx_deinit(&ctx);
}

/* A record of the kernel's workload schedules it, as it does a model's kernel. */
static void records_schedule_kernels(void **state)
{
    (void)state;
    char path[] = "kernel.XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tenon *t = tenon_new();
    tenon_kernel *k = product_kernel(t);
    const tenon_tune_task *task;
    const tenon_tune_options o = {.size = sizeof o, .trials = 1, .repeat_seconds = 0.001};
    const tenon_options with = {.size = sizeof with, .tuning_records = path};
    assert_int_equal(tenon_tune_kernel(k, NULL, &o, &task), 0);
    uint64_t workload = task->workload;
    assert_int_equal(tenon_kernel_rule(k, &with), 0); /* there are none */
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm"));
    write_record(path, workload + 1);
    assert_int_equal(tenon_kernel_rule(k, &with), 0); /* of another one */
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm"));
    write_record(path, workload);
    assert_int_equal(tenon_kernel_rule(k, &with), 0);
    assert_non_null(strstr(tenon_kernel_trace(k), "# record by_hand: 1 us, the built-in schedule 2 us"));
    assert_non_null(strstr(tenon_kernel_trace(k), by_hand));
    assert_int_equal(tenon_kernel_rule(k, NULL), 0);
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm"));
    FILE *f = fopen(path, "a");
    fputs("words\n", f);
    fclose(f);
    assert_int_equal(tenon_kernel_rule(k, &with), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E160]"));
    assert_non_null(strstr(tenon_kernel_trace(k), "# rule gemm")); /* it is as it was */
    tenon_free(t);
    unlink(path);
}

/* ---- rules of sketches ---- */

typedef struct rule_user {
    int answer, n_condition, n_apply, n_block, fails;
    const char *steps; /* of rules whose steps are given; NULL: tiles by choice */
} rule_user;

/* Applies to what has one block, which reduces along one of three axes. */
static int condition(void *user, tenon *t, struct tenon_kernel *k)
{
    rule_user *u = user;
    const tenon_kernel_info *info = tenon_kernel_inspect(k);
    (void)t;
    u->n_condition++;
    assert_non_null(info);
    u->n_block = (int)info->n_block;
    bool product = info->n_block == 1 && info->block[0].n_axis == 3 && info->block[0].axis[2].reduces;
    assert_string_equal(tenon_kernel_trace(k), "");
    return product ? u->answer : TENON_SKETCH_PASS;
}

static int apply(void *user, tenon *t, struct tenon_kernel *k, tenon_config *c)
{
    rule_user *u = user;
    char steps[300];
    int64_t part[2];
    uint32_t unrolled;
    static const char *const words[] = {"no", "yes"};
    (void)t;
    u->n_apply++;
    if (u->steps)
        return tenon_step(k, u->steps);
    if (u->fails || tenon_config_split(c, "tile", 64, 2, 16, part) ||
        tenon_config_choose(c, "unrolled", 2, words, &unrolled))
        return 1;
    snprintf(steps, sizeof steps,
             "i j r = loops \"out\"\njo ji = split j %d\nreorder i jo r ji\n%s%sparallel i\n", (int)part[1],
             part[1] > 1 ? "vectorize ji\n" : "", unrolled ? "unroll r\n" : "");
    return tenon_step(k, steps);
}

typedef struct {
    int trials, mine, failed;
    char picks[200];
} tally;

static void count(void *user, const tenon_tune_progress *p)
{
    tally *n = user;
    if (!p->picks || !*p->picks) /* a gain, or the built-in schedule */
        return;
    bool mine = strstr(p->picks, "unrolled = ") != NULL;
    n->trials++;
    n->mine += mine;
    n->failed += mine && p->fate != TENON_TRIAL_TIMED;
    if (mine)
        snprintf(n->picks, sizeof n->picks, "%s", p->picks);
}

static int search(tenon *t, tenon_tune_options o, uint32_t n, const tenon_sketch_rule *rule, tally *out)
{
    const tenon_tune_task *task;
    *out = (tally){0};
    o.size = sizeof o;
    o.generator = o.generator ? o.generator : "sketch";
    o.trials = 40;
    o.repeat_seconds = 1e-4;
    o.n_rule = n;
    o.rule = rule;
    o.progress = count;
    o.progress_user = out;
    return tenon_tune_kernel(product_kernel(t), NULL, &o, &task);
}

static void rules_of_the_user_make_sketches(void **state)
{
    (void)state;
    static const int answers[] = {TENON_SKETCH_PASS, TENON_SKETCH_APPLY, TENON_SKETCH_APPLY_ALONE, 7};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        rule_user u = {.answer = answers[i]};
        const tenon_sketch_rule rule = {"mine", condition, apply, &u};
        tenon *t = tenon_new();
        tally n;
        assert_int_equal(search(t, (tenon_tune_options){.tuner = "random"}, 1, &rule, &n), 0);
        assert_string_equal(tenon_messages(t), "");
        assert_int_equal(u.n_condition, 1);
        assert_int_equal(u.n_block, 1);
        bool applies = answers[i] == TENON_SKETCH_APPLY || answers[i] == TENON_SKETCH_APPLY_ALONE;
        assert_int_equal(n.mine > 0, applies);
        assert_int_equal(u.n_apply > 0, applies);
        assert_int_equal(n.failed, 0);
        if (answers[i] == TENON_SKETCH_APPLY)
            assert_true(n.mine < n.trials);
        if (answers[i] == TENON_SKETCH_APPLY_ALONE)
            assert_int_equal(n.mine, n.trials);
        if (applies) { /* its choices stand behind the one that says which sketch it is, where there are others */
            assert_int_equal(strncmp(n.picks, "sketch = mine\ntile = ", 21) == 0,
                             answers[i] == TENON_SKETCH_APPLY);
        }
        tenon_free(t);
    }
}

/* All points of five tiles and two choices come by, once each: 1, 2, 4, 8 and 16 lanes. */
static void choices_of_a_rule_are_points(void **state)
{
    (void)state;
    rule_user u = {.answer = TENON_SKETCH_APPLY_ALONE};
    const tenon_sketch_rule rule = {"mine", condition, apply, &u};
    tenon *t = tenon_new();
    tally n;
    assert_int_equal(search(t, (tenon_tune_options){.tuner = "gridsearch"}, 1, &rule, &n), 0);
    assert_int_equal(n.trials, 10);
    assert_int_equal(n.mine, 10);
    tenon_free(t);
}

/* The first that wants to be alone ends the list. */
static void rules_are_asked_in_order(void **state)
{
    (void)state;
    rule_user first = {.answer = TENON_SKETCH_APPLY, .steps = by_hand},
              second = {.answer = TENON_SKETCH_APPLY_ALONE}, third = first;
    const tenon_sketch_rule rule[] = {{"first", condition, apply, &first},
                                      {"mine", condition, apply, &second},
                                      {"third", NULL, apply, &third}};
    tenon *t = tenon_new();
    tally n;
    assert_int_equal(search(t, (tenon_tune_options){.tuner = "random"}, 3, rule, &n), 0);
    assert_true(first.n_apply > 0 && second.n_apply > 0);
    assert_int_equal(third.n_apply, 0);
    assert_true(n.mine > 0 && n.mine < n.trials);
    tenon_free(t);
}

static void rules_that_fail_are_told(void **state)
{
    (void)state;
    static const struct {
        rule_user u;
        const char *says;
    } all[] = {
        {{.fails = 1},
         "rule mine of sketches makes no schedule of product by its first candidates: the template, or the "
         "rule of sketches, makes no kernel"},
        {{.steps = "i j = loops \"out\"\n"}, "first candidates: the step is refused: "},
        {{.steps = "i j r = loops \"out\"\nvectorize r\n"}, "[driver-W004]"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rule_user u = all[i].u;
        const tenon_sketch_rule rule = {"mine", NULL, apply, &u};
        tenon *t = tenon_new();
        tally n;
        assert_int_equal(search(t, (tenon_tune_options){.tuner = "random"}, 1, &rule, &n), 0);
        assert_non_null(strstr(tenon_messages(t), all[i].says));
        assert_true(n.trials > n.mine);
        tenon_free(t);
    }
}

static void rules_that_are_none_are_refused(void **state)
{
    (void)state;
    rule_user u = {0};
    const tenon_sketch_rule same[] = {{"mine", NULL, apply, &u}, {"mine", NULL, apply, &u}};
    tenon_sketch_rule rule = same[0], many[9];
    static const char *const bad[] = {"tiles", "serial", "a b", "", "3", "a=b", NULL};
    tenon *t = tenon_new();
    tally n;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rule.name = bad[i];
        assert_int_equal(search(t, (tenon_tune_options){0}, 1, &rule, &n), 1);
        assert_non_null(strstr(tenon_messages(t), "[driver-E188]"));
    }
    assert_int_equal(search(t, (tenon_tune_options){0}, 2, same, &n), 1);
    assert_non_null(
        strstr(tenon_messages(t), "rule 1 of sketches, \"mine\", cannot be added; give up to 8 rules"));
    char name[9][4];
    for (int i = 0; i < 9; i++) {
        snprintf(name[i], sizeof name[i], "r%d", i);
        many[i] = (tenon_sketch_rule){name[i], NULL, apply, &u};
    }
    assert_int_equal(search(t, (tenon_tune_options){0}, 9, many, &n), 1);
    assert_non_null(strstr(tenon_messages(t), "rule 8 of sketches, \"r8\""));
    rule = (tenon_sketch_rule){"mine", NULL, NULL, NULL};
    assert_int_equal(search(t, (tenon_tune_options){0}, 1, &rule, &n), 1);
    assert_int_equal(search(t, (tenon_tune_options){.generator = "rules"}, 1, same, &n), 1);
    assert_non_null(strstr(tenon_messages(t),
                           "rules of sketches or postprocessors are given, but rules makes the schedules; "
                           "choose generator sketch [driver-E187]"));
    tenon_free(t);
}

/* ---- postprocessors, parts ---- */

typedef struct passage {
    int n_apply, n_left_out;
    const char *without; /* schedules with that step are left out; NULL: none */
    const char *more;    /* a step that is done besides; NULL: none */
    char last[4000];     /* what passed last */
} passage;

static int pass(void *user, tenon *t, struct tenon_kernel *k, const char *steps)
{
    passage *p = user;
    (void)t;
    assert_string_equal(tenon_kernel_trace(k), "");
    p->n_apply++;
    if (p->without && strstr(steps, p->without)) {
        p->n_left_out++;
        return 1;
    }
    if (tenon_step(k, steps) || (p->more && tenon_step(k, p->more)))
        return 1;
    snprintf(p->last, sizeof p->last, "%s", tenon_kernel_trace(k));
    return 0;
}

/* What the picks of trials say: tally.picks is of no use here, as there is no rule. */
typedef struct seen {
    int trials, failed, tiles, unrolls, sketches;
} seen;

static void see(void *user, const tenon_tune_progress *p)
{
    seen *s = user;
    if (!p->picks || p->record)
        return;
    s->trials += *p->picks != 0;
    s->failed += *p->picks && p->fate != TENON_TRIAL_TIMED;
    s->tiles += strstr(p->picks, ".inner") != NULL;
    s->unrolls += strstr(p->picks, ".unroll = ") != NULL;
    s->sketches += strstr(p->picks, "sketch = ") != NULL;
}

static int search_by(tenon *t, tenon_tune_options o, seen *out)
{
    const tenon_tune_task *task;
    *out = (seen){0};
    o.size = sizeof o;
    o.generator = o.generator ? o.generator : "sketch";
    o.tuner = "ga";
    o.trials = 24;
    o.repeat_seconds = 1e-4;
    o.progress = see;
    o.progress_user = out;
    return tenon_tune_kernel(product_kernel(t), NULL, &o, &task);
}

static void candidates_pass_postprocessors(void **state)
{
    (void)state;
    passage first = {.without = "auto_unroll_max_step"}, second = {.more = "squeeze"};
    const tenon_postproc procs[] = {{pass, &first}, {pass, &second}};
    tenon *t = tenon_new();
    seen n;
    assert_int_equal(search_by(t, (tenon_tune_options){.n_postproc = 1, .postproc = procs}, &n), 0);
    assert_string_equal(tenon_messages(t), "");
    assert_true(first.n_left_out > 0 && first.n_apply > first.n_left_out);
    assert_int_equal(n.failed, 0);
    assert_int_equal(n.trials, 24);
    /* there is nothing to squeeze: the second lets no candidate through, so the built-in schedule stays */
    first.n_apply = first.n_left_out = 0;
    assert_int_equal(search_by(t, (tenon_tune_options){.n_postproc = 2, .postproc = procs}, &n), 0);
    assert_int_equal(second.n_apply, first.n_apply - first.n_left_out);
    assert_int_equal(n.trials, 0);
    assert_non_null(strstr(tenon_messages(t), "no sketch of product was tried: postprocessors left out "));
    assert_non_null(strstr(tenon_messages(t), "[driver-W005]"));
    tenon_free(t);
}

/* What a postprocessor does besides is a part of the candidate. */
static void postprocessors_do_steps(void **state)
{
    (void)state;
    rule_user u = {.answer = TENON_SKETCH_APPLY_ALONE, .steps = "i j r = loops \"out\"\n"};
    passage p = {.more = "reorder i r j"};
    const tenon_sketch_rule rule = {"mine", condition, apply, &u};
    const tenon_postproc proc = {pass, &p};
    tenon *t = tenon_new();
    tally n;
    assert_int_equal(search(t,
                            (tenon_tune_options){.tuner = "gridsearch", .n_postproc = 1, .postproc = &proc},
                            1, &rule, &n),
                     0);
    assert_int_equal(n.failed, 0);
    assert_true(p.n_apply > 0);
    assert_string_equal(p.last, "i j r = loops \"out\"\nreorder i r j\n");
    tenon_free(t);
}

static void parts_are_left_alone(void **state)
{
    (void)state;
    tenon *t = tenon_new();
    const char *doc;
    seen n;
    int parts = 0;
    assert_int_equal(search_by(t, (tenon_tune_options){.odds = "tile=0.8,parallel=0.2"}, &n), 0);
    assert_true(n.tiles > 0 && n.unrolls > 0 && n.sketches > 0);
    assert_int_equal(search_by(t, (tenon_tune_options){.fixed = "unroll"}, &n), 0);
    assert_true(n.tiles > 0 && n.unrolls == 0);
    assert_int_equal(search_by(t, (tenon_tune_options){.fixed = "tile,unroll"}, &n), 0);
    assert_int_equal(n.tiles + n.unrolls, 0);
    assert_string_equal(tenon_messages(t), "");
    while (tenon_part_name((size_t)parts, &doc))
        parts += *doc != 0;
    assert_int_equal(parts, 9);
    tenon_free(t);
}

/* ---- mutators ---- */

typedef struct change {
    int n_apply, n_made;
    uint32_t wrong;  /* is added to the numbers */
    uint64_t last;   /* seed */
    char before[64]; /* the value of the choice that was changed last, */
    char after[64];  /* and what it was changed to */
} change;

/* The next candidate of the first size of an inner tile. */
static int next_tile(void *user, uint64_t seed, uint32_t n, const tenon_pick pick[], uint32_t index[])
{
    change *c = user;
    c->n_apply++;
    c->last = seed;
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(index[i], pick[i].index);
        assert_true(pick[i].index < pick[i].n);
        if (!strstr(pick[i].name, ".inner"))
            continue;
        index[i] = (index[i] + 1) % pick[i].n + c->wrong;
        snprintf(c->before, sizeof c->before, "%s = %s\n", pick[i].name, pick[i].candidate[pick[i].index]);
        snprintf(c->after, sizeof c->after, "%s = %s\n", pick[i].name,
                 pick[i].candidate[c->wrong ? pick[i].index : index[i]]);
        c->n_made++;
        return 0;
    }
    return 1;
}

typedef struct changed_trials {
    change *c;
    int n, made; /* those that have what the mutator chose last */
} changed_trials;

static void see_change(void *user, const tenon_tune_progress *p)
{
    changed_trials *s = user;
    s->n += p->picks && !p->record;
    s->made += p->picks && *s->c->after && strstr(p->picks, s->c->after);
}

static int search_changing(tenon *t, tenon_tune_options o, change *c, changed_trials *out)
{
    const tenon_tune_task *task;
    *out = (changed_trials){.c = c};
    o.size = sizeof o;
    o.tuner = "ga";
    o.trials = 80; /* about half of those behind the first batches are changed ones */
    o.repeat_seconds = 1e-4;
    o.progress = see_change;
    o.progress_user = out;
    return tenon_tune_kernel(product_kernel(t), NULL, &o, &task);
}

static void mutators_change_points(void **state)
{
    (void)state;
    change c = {0};
    const tenon_mutator m = {1000, next_tile, &c}; /* is asked wherever one pick is changed */
    tenon *t = tenon_new();
    changed_trials n;
    tenon_tune_options o = {.generator = "sketch", .odds = "tile=0", .n_mutator = 1, .mutator = &m};
    assert_int_equal(search_changing(t, o, &c, &n), 0);
    assert_string_equal(tenon_messages(t), "");
    assert_true(c.n_made > 0 && n.made > 0);
    assert_string_not_equal(c.before, c.after);
    /* without odds beside those of the parts it is not asked */
    const tenon_mutator never = {0, next_tile, &c};
    c = (change){0};
    o = (tenon_tune_options){.generator = "sketch", .n_mutator = 1, .mutator = &never};
    assert_int_equal(search_changing(t, o, &c, &n), 0);
    assert_int_equal(c.n_apply, 0);
    /* numbers of no candidate are told, and are no trials */
    c = (change){.wrong = 1000};
    o.mutator = &m;
    assert_int_equal(search_changing(t, o, &c, &n), 0);
    assert_true(c.n_made > 0 && n.n > 0);
    assert_non_null(strstr(tenon_messages(t), "mutator 0 gave candidate 10"));
    assert_non_null(strstr(tenon_messages(t), "[driver-W007]"));
    tenon_free(t);
}

static void mutators_that_are_none_are_refused(void **state)
{
    (void)state;
    const tenon_mutator bad[] = {{1, NULL, NULL}, {-1, next_tile, NULL}, {NAN, next_tile, NULL}};
    const tenon_mutator idle = {0, next_tile, NULL}, many[9] = {{1, next_tile, NULL}};
    tenon *t = tenon_new();
    seen n;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(search_by(t, (tenon_tune_options){.n_mutator = 1, .mutator = &bad[i]}, &n), 1);
    assert_int_equal(search_by(t, (tenon_tune_options){.n_mutator = 9, .mutator = many}, &n), 1);
    assert_non_null(strstr(tenon_messages(t), "mutator 1 cannot be used; give up to 8"));
    assert_non_null(strstr(tenon_messages(t), "[driver-E197]"));
    assert_int_equal(
        search_by(t, (tenon_tune_options){.odds = "tile=0", .n_mutator = 1, .mutator = &idle}, &n), 1);
    assert_non_null(strstr(tenon_messages(t), "all odds are 0"));
    assert_non_null(strstr(tenon_messages(t), "[driver-E198]"));
    tenon_free(t);
}

typedef struct first_trials {
    int trials, at; /* of the first trial with such a tile: 1, 2, ...; 0: none */
} first_trials;

static void see_tile(void *user, const tenon_tune_progress *p)
{
    first_trials *f = user;
    if (!p->picks || p->record || p->trials == 0)
        return;
    f->trials++;
    if (!f->at && strstr(p->picks, ".rows = 3\n"))
        f->at = f->trials;
}

/* It is among the first trials, whatever is proposed. */
static void numbers_of_others_are_tried_early(void **state)
{
    (void)state;
    static const char *const bad[] = {"rows",
                                      "rows=",
                                      "=3",
                                      "rows=many",
                                      "rows=0",
                                      "rows=99999999999",
                                      "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"};
    const tenon_tune_task *task;
    first_trials f = {0};
    tenon_tune_options o = {.size = sizeof o,
                            .near = "rows=3,vectors=1",
                            .trials = 8,
                            .repeat_seconds = 1e-4,
                            .progress = see_tile,
                            .progress_user = &f};
    tenon *t = tenon_new();
    assert_int_equal(tenon_tune_kernel(product_kernel(t), NULL, &o, &task), 0);
    assert_int_equal(f.at, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.near = bad[i];
        assert_int_equal(tenon_tune_kernel(product_kernel(t), NULL, &o, &task), 1);
        assert_non_null(strstr(tenon_messages(t), "[driver-E192]"));
    }
    tenon_free(t);
}

/* A record of another machine and of another number of columns is the first trial. */
static void records_of_others_are_tried_first(void **state)
{
    (void)state;
    char path[] = "others.XXXXXX";
    int file = mkstemp(path);
    FILE *out = fdopen(file, "w");
    assert_non_null(out);
    tenon *t = tenon_new();
    tenon_kernel *k = product_kernel(t);
    const tn_record r = {.workload = 1,
                         .machine = "another machine",
                         .threads = 1,
                         .seconds = 1,
                         .name = "product",
                         .generator = "rules",
                         .picks = "out.rows = 3\nout.vectors = 70\n",
                         .trace = "",
                         .form = tn_func_form(k->func),
                         .sizes = "24 48 48 640 24 640"};
    tn_buf line = {0};
    tn_record_print(&r, &line);
    assert_true(fputs(tn_buf_cstr(&line), out) >= 0);
    assert_int_equal(fclose(out), 0);
    tn_buf_deinit(&line);
    const tenon_tune_task *task;
    first_trials f = {0};
    const tenon_tune_options o = {.size = sizeof o,
                                  .prior = path,
                                  .trials = 8,
                                  .repeat_seconds = 1e-4,
                                  .progress = see_tile,
                                  .progress_user = &f};
    assert_int_equal(tenon_tune_kernel(k, NULL, &o, &task), 0);
    assert_string_equal(tenon_messages(t), "");
    assert_int_equal(f.at, 1);
    tenon_free(t);
    unlink(path);
}

static void words_that_are_no_parts_are_refused(void **state)
{
    (void)state;
    static const tenon_tune_options bad[] = {
        {.fixed = "tiles"},  {.fixed = "tile,,unroll"}, {.odds = "tile"},   {.odds = "tile=much"},
        {.odds = "tile=-1"}, {.odds = "tile=nan"},      {.odds = "rows=1"}, {.odds = "tile=0"}};
    const tenon_postproc none = {NULL, NULL};
    seen n;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tenon *t = tenon_new();
        assert_int_equal(search_by(t, bad[i], &n), 1);
        assert_non_null(
            strstr(tenon_messages(t), "way, inline, tile, layout, rfactor, location, parallel, unroll, own"));
        assert_non_null(strstr(tenon_messages(t), "[driver-E190]"));
        tenon_free(t);
    }
    tenon *t = tenon_new();
    assert_int_equal(search_by(t, (tenon_tune_options){.n_postproc = 1, .postproc = &none}, &n), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E191]"));
    assert_int_equal(
        search_by(t, (tenon_tune_options){.generator = "rules", .n_postproc = 1, .postproc = &none}, &n), 1);
    assert_non_null(strstr(tenon_messages(t), "[driver-E187]"));
    tenon_free(t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_is_searched),
        cmocka_unit_test(records_schedule_kernels),
        cmocka_unit_test(rules_of_the_user_make_sketches),
        cmocka_unit_test(choices_of_a_rule_are_points),
        cmocka_unit_test(rules_are_asked_in_order),
        cmocka_unit_test(rules_that_fail_are_told),
        cmocka_unit_test(rules_that_are_none_are_refused),
        cmocka_unit_test(candidates_pass_postprocessors),
        cmocka_unit_test(postprocessors_do_steps),
        cmocka_unit_test(parts_are_left_alone),
        cmocka_unit_test(mutators_change_points),
        cmocka_unit_test(mutators_that_are_none_are_refused),
        cmocka_unit_test(numbers_of_others_are_tried_early),
        cmocka_unit_test(records_of_others_are_tried_first),
        cmocka_unit_test(words_that_are_no_parts_are_refused),
    };
    setenv("TENON_RECORDS", "off", 1); /* a record of another run would schedule the kernels here */
    return cmocka_run_group_tests_name("tune_kernel", tests, NULL, NULL);
}
