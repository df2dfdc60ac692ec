/* What the command line says to passes: levels, disabled ones, configuration; and what it wants to see of them: their
 * input, their output, their times. */
#include "base/words.h"
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

/* Without types nothing can be asked, without expansion operators have no kernel. FuseOps may be disabled: each
 * operator is a kernel then. */
static const char *const needed[] = {"InferType", "SimplifyInference", NULL};

/* ---- lists of names ---- */

/* Is the name in a list separated by commas? "all" names everything. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    while (list && *list) {
        size_t k = strcspn(list, ",");
        if ((k == n && memcmp(list, name, n) == 0) || (k == 3 && memcmp(list, "all", 3) == 0))
            return true;
        list += k + (list[k] == ',');
    }
    return false;
}

const char *tn_pass_advice(tn_build *b, const char *name)
{
    tn_nearest s = {.word = name, .n = strlen(name)};
    const char *known, *doc;
    for (size_t i = 0; (known = tenon_pass_name(i, &doc)); i++)
        tn_nearest_offer(&s, known);
    return s.best ? tn_arena_printf(&b->arena, "did you mean %s?", s.best) : "`tenon opt --list` names them";
}

static tn_status check_list(tn_build *b, const char *flag, const char *list, bool printing)
{
    for (size_t n; list && *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        const char *name = tn_intern_n(b->ctx, list, n);
        if (printing && (strcmp(name, "all") == 0 || tn_lower_pass_find(name)))
            continue;
        if (!tn_pass_find(name))
            return tn_error(b->ctx, "driver-E006", NULL, "%s: unknown pass %s; %s", flag, name,
                            tn_pass_advice(b, name));
        for (int i = 0; !printing && needed[i]; i++)
            if (strcmp(name, needed[i]) == 0)
                return tn_error(b->ctx, "driver-E008", NULL,
                                "%s: a program cannot be made without %s; remove it from the list", flag,
                                name);
    }
    return TN_OK;
}

static tn_status read_dtype(tn_build *b, const char *flag, const char *text, tn_dtype def, tn_dtype *out)
{
    const struct {
        const char *name;
        tn_dtype t;
    } row[] = {{"float16", TN_F16}, {"bfloat16", TN_DT(TN_BFLOAT, 16)}, {"float32", TN_F32}};
    *out = def;
    for (size_t i = 0; text && i < sizeof row / sizeof *row; i++)
        if (strcmp(text, row[i].name) == 0) {
            *out = row[i].t;
            return TN_OK;
        }
    return !text ? TN_OK
                 : tn_error(b->ctx, "driver-E063", NULL, "%s %s: float16, bfloat16 or float32 is expected",
                            flag, text);
}

/* tenon.picks: a file, or `random:SEED`. */
static tn_status take_picks(tn_build *b, const char *from)
{
    static const char random[] = "random:";
    const size_t n = sizeof random - 1;
    tn_graph_picks_deinit(&b->picks);
    b->picks = (tn_graph_picks){.arena = &b->arena, .given = &b->given_picks};
    b->given_picks = (tn_picks){0};
    b->graph_recorded = false;
    if (b->found_picks)
        b->picks.given = b->found_picks;
    if (!from || !*from)
        return TN_OK;
    if (strncmp(from, random, n) != 0 || !from[n] || from[n + strspn(from + n, "0123456789")])
        return tn_explore_read(b, from, &b->given_picks);
    b->pick_rng = (tn_rng){strtoull(from + n, NULL, 10)};
    b->given_picks.random = &b->pick_rng;
    return TN_OK;
}

tn_status tn_passes_init(tn_build *b)
{
    const tenon_options *o = &b->opt;
    tn_pass_options *to = &b->pass_options;
    memset(to, 0, sizeof *to);
    TN_TRY(check_list(b, "--disabled-pass", o->disabled_pass, false));
    if (o->memory && strcmp(o->memory, "plan") != 0 && strcmp(o->memory, "pool") != 0)
        return tn_error(b->ctx, "driver-E170", NULL, "--memory %s: plan or pool is expected", o->memory);
    TN_TRY(check_list(b, "--print-ir-before", o->print_ir_before, true));
    TN_TRY(check_list(b, "--print-ir-after", o->print_ir_after, true));
    for (const char *const *c = o->pass_config; c && *c; c++)
        TN_TRY(tn_pass_configure(b->ctx, to, *c));
    TN_TRY(take_picks(b, to->config[TN_CONFIG_PICKS]));
    to->desired_layout = o->desired_layout;
    to->desired_layout_ops = o->desired_layout_ops;
    to->mixed_precision = o->mixed_precision != 0;
    to->mixed_precision_ops = o->mixed_precision_ops;
    TN_TRY(read_dtype(b, "--mixed-precision-calculation-type", o->mixed_precision_calculation_type, TN_F16,
                      &to->calculation_type));
    TN_TRY(read_dtype(b, "--mixed-precision-acc-type", o->mixed_precision_acc_type, TN_F32, &to->acc_type));
    bool small = tn_dtype_is_small(to->acc_type) && tn_dtype_is_small(to->calculation_type);
    if (small && !tn_dtype_eq(to->acc_type, to->calculation_type))
        return tn_error(
            b->ctx, "driver-E210", NULL,
            "--mixed-precision-acc-type %s: sums are of the type in which operators compute, or float32",
            o->mixed_precision_acc_type);
    return TN_OK;
}

tn_pass tn_pass_context(tn_build *b)
{
    return (tn_pass){.ctx = b->ctx,
                     .scratch = &b->scratch,
                     .machine = &b->machine,
                     .opt_level = b->opt.opt_level,
                     .options = &b->pass_options,
                     .picks = &b->picks,
                     .no_grouping = listed(b->opt.disabled_pass, "FuseOps"),
                     .eval = tn_eval_constant,
                     .eval_user = b};
}

/* ---- looking at passes ---- */

static void say(tn_build *b, const tn_buf *text)
{
    if (b->opt.print)
        b->opt.print(b->opt.print_user, tn_buf_cstr((tn_buf *)text));
}

static void print_graph(tn_build *b, const char *when, const char *pass)
{
    tn_buf out = {0};
    tn_buf_printf(&out, "// %s %s\n", when, pass);
    tn_relay_print(&b->graph, &out);
    tn_buf_char(&out, '\n');
    say(b, &out);
    tn_buf_deinit(&out);
}

static void print_func(tn_build *b, const char *when, const char *pass, const tn_func *f)
{
    tn_buf out = {0};
    tn_buf_printf(&out, "# %s %s\n", when, pass);
    tn_func_print(f, &out);
    tn_buf_char(&out, '\n');
    say(b, &out);
    tn_buf_deinit(&out);
}

static void add_time(tn_build *b, const char *name, double seconds)
{
    uint32_t i = 0;
    if (!b->pass_time)
        b->pass_time = TN_NEW_N(&b->arena, tn_pass_time, tn_n_passes + TN_N_LOWER_PASSES);
    while (i < b->n_pass_time && strcmp(b->pass_time[i].name, name) != 0)
        i++;
    if (i == b->n_pass_time)
        b->pass_time[b->n_pass_time++] = (tn_pass_time){name, 0, 0};
    b->pass_time[i].runs++;
    b->pass_time[i].seconds += seconds;
}

void tn_passes_report(tn_build *b)
{
    tn_buf out = {0};
    double all = 0;
    if (!b->opt.print_pass_times)
        return;
    for (uint32_t i = 0; i < b->n_pass_time; i++)
        all += b->pass_time[i].seconds;
    tn_buf_printf(&out, "%-28s %6s %12s %7s\n", "pass", "runs", "ms", "share");
    for (uint32_t i = 0; i < b->n_pass_time; i++) {
        const tn_pass_time *t = &b->pass_time[i];
        tn_buf_printf(&out, "%-28s %6u %12.3f %6.1f%%\n", t->name, (unsigned)t->runs, 1e3 * t->seconds,
                      all > 0 ? 100 * t->seconds / all : 0);
    }
    say(b, &out);
    tn_buf_deinit(&out);
}

/* ---- running ---- */

tn_status tn_pass_step(tn_build *b, tn_pass *p, const char *name)
{
    const tn_pass_info *pass = tn_pass_find(name);
    TN_ASSERT(pass);
    bool off = listed(b->opt.disabled_pass, name) && pass->run != tn_pass_FuseOps;
    if (pass->opt_level > b->opt.opt_level || off)
        return TN_OK;
    if (listed(b->opt.print_ir_before, name))
        print_graph(b, "before", name);
    tn_poll_now();
    double start = tn_now();
    TN_TRY(tn_pass_run(p, pass, &b->graph));
    add_time(b, name, tn_now() - start);
    if (listed(b->opt.print_ir_after, name))
        print_graph(b, "after", name);
    return TN_OK;
}

typedef struct {
    tn_build *b;
    double start;
} watcher;

static void watch(void *user, const tn_lower_pass *pass, const tn_func *f, bool after)
{
    watcher *w = user;
    if (after)
        add_time(w->b, pass->name, tn_now() - w->start);
    if (listed(after ? w->b->opt.print_ir_after : w->b->opt.print_ir_before, pass->name))
        print_func(w->b, after ? "after" : "before", pass->name, f);
    w->start = tn_now();
}

tn_status tn_lower_step(tn_build *b, tn_func *f, tn_flat *out)
{
    watcher w = {b, 0};
    bool wanted = b->opt.print_ir_before || b->opt.print_ir_after || b->opt.print_pass_times;
    return tn_lower_watched(f, &b->machine, b->target.row->pipeline,
                            wanted ? &(tn_lower_watch){watch, &w} : NULL, out);
}

/* ---- by name, whatever the level ---- */

const char *tn_passes_next(tn_build *b, const char **at)
{
    size_t n = strcspn(*at, ",");
    if (!n)
        return NULL;
    const char *s = tn_intern_n(b->ctx, *at, n);
    *at += n + ((*at)[n] == ',');
    return s;
}

tn_status tn_passes_run(tn_build *b, const char *passes)
{
    TN_TRY(tn_passes_init(b));
    tn_pass p = tn_pass_context(b);
    for (const char *name; (name = tn_passes_next(b, &passes));) {
        if (strncmp(name, "Explore=", 8) == 0) {
            TN_TRY(tn_explore_read(b, name + 8, &b->given_picks));
            continue;
        }
        const tn_pass_info *pass = tn_pass_find(name);
        if (!pass && tn_lower_pass_find(name))
            return tn_error(b->ctx, "driver-E031", NULL, "%s works on loops; this is a graph", name);
        if (!pass && strcmp(name, "Verify") != 0)
            return tn_error(b->ctx, "driver-E031", NULL, "unknown graph pass %s; %s", name,
                            tn_pass_advice(b, name));
        if (pass)
            TN_TRY(tn_pass_run(&p, pass, &b->graph));
        TN_TRY(tn_relay_verify(&b->graph));
    }
    return tn_graph_picks_check(b->ctx, &b->picks);
}
