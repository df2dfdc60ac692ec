/* Spaces of schedules at the doors of the command: `dump --stage space` lists tasks, `opt
 * --pass=Explore=FILE` and `Sketch=FILE` go to a point. */
#include "driver/driver.h"
#include "schedule/space.h"

#include <string.h>

/* ---- a point ---- */

tn_status tn_picks_read(tn_ctx *ctx, const tn_loc *at, const char *text, size_t n, tn_arena *arena,
                        tn_picks *out)
{
    uint32_t line = 0;
    bool ok = tn_picks_parse(text, n, arena, out, &line);
    const tn_loc loc = {.file = at->file, .line = at->line + line - 1, .col = 1};
    return ok ? TN_OK
              : tn_error(ctx, "driver-E150", &loc,
                         "a pick and its value are expected, as in `dense.rows = 14`, each pick once");
}

tn_status tn_explore_read(tn_build *b, const char *path, tn_picks *out)
{
    tn_file file;
    const tn_loc at = {.file = path, .line = 1};
    TN_TRY(tn_file_map(b->ctx, path, &file));
    tn_status status = tn_picks_read(b->ctx, &at, (const char *)file.at, file.n, &b->arena, out);
    tn_file_unmap(&file);
    return status;
}

/* What the picks of a schedule are. */
static const char *list_picks(tn_build *b, const tn_sched *s)
{
    const char *all = "";
    for (uint32_t i = 0; i < s->picked.n; i++)
        all = tn_arena_printf(&b->arena, "%s%s%s", all, i ? ", " : "", s->picked.at[i].name);
    return *all ? all : "none";
}

tn_status tn_explore_func(tn_build *b, const tn_sched_generator *by, const tn_func *f, const tn_picks *given,
                          const char *path, tn_sched *s)
{
    const tn_space x = {by, f, &b->machine, 0};
    const tn_loc loc = {.file = path};
    tn_verdict v = tn_explore(&x, given, &b->arena, &b->pool, s);
    if (v != TN_DONE)
        return tn_error(b->ctx, "driver-E151", &loc, "@%s has no schedule with these picks: %s (asked: %s)",
                        f->name, tn_verdict_texts[v], list_picks(b, s));
    const char *unused = tn_picks_unused(given, &s->picked);
    return unused ? tn_error(b->ctx, "driver-E152", &loc,
                             "@%s has no pick %s with the others that are given; its picks are %s", f->name,
                             unused, list_picks(b, s))
                  : TN_OK;
}

/* ---- tasks ---- */

enum { MOST_POINTS = 32 }; /* that are counted one by one */

static void print_task(const tn_space *x, uint64_t workload, uint32_t calls, tn_buf *out)
{
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    bool exact;
    const tn_sched_generator *by = x->generator;
    tn_arena_init(&arena);
    tn_pool_init(&pool, x->func->ctx, &arena, x->func->pool);
    (void)tn_explore(x, NULL, &arena, &pool, &s);
    double size = tn_space_size(x, MOST_POINTS, &exact);
    tn_buf_printf(out, "# workload %016llx, %u call%s, generator %s %u, %s%.4g point%s\n",
                  (unsigned long long)workload, (unsigned)calls, calls == 1 ? "" : "s", by->name,
                  (unsigned)by->version, exact ? "" : "about ", size, size == 1 ? "" : "s");
    if (s.comment)
        tn_buf_printf(out, "# %s\n", s.comment);
    for (uint32_t i = 0; i < s.picked.n; i++)
        tn_pick_print(&s.picked.at[i], out);
    tn_arena_deinit(&arena);
}

static void print_graph(const tn_graph_picks *g, uint64_t workload, tn_buf *out)
{
    if (g->asked.n)
        tn_buf_printf(out, "# graph, workload %016llx, %u pick%s\n", (unsigned long long)workload,
                      (unsigned)g->asked.n, g->asked.n == 1 ? "" : "s");
    for (uint32_t i = 0; i < g->asked.n; i++) {
        const tn_pick_place *at = &g->place[i];
        tn_buf_printf(out, "# %s", at->first);
        if (at->n > 1)
            tn_buf_printf(out, " and %u more", (unsigned)at->n - 1);
        tn_buf_char(out, '\n');
        tn_pick_print(&g->asked.at[i], out);
    }
    if (g->asked.n)
        tn_buf_char(out, '\n');
}

void tn_space_print(tn_build *b, tn_buf *out)
{
    tn_build_task *all;
    size_t n = tn_tasks_find(b, &all);
    print_graph(&b->picks, b->graph_workload, out);
    for (size_t i = 0; i < n; i++) {
        const tn_space x = {&tn_rules_generator, all[i].group->base[all[i].variant], &b->machine, 0};
        tn_buf_str(out, i ? "\n" : "");
        tn_group_heading(all[i].group, all[i].variant, out);
        print_task(&x, all[i].workload, all[i].calls, out);
    }
}
