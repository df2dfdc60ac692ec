/* Tasks of tuning: workloads of the scheduled kernels, each once for all kernels and variants that share it. Variants
 * whose register tile is given, which are made for products with rows that only the run knows, are none. */
#include "driver/driver.h"
#include "base/map.h"

static uint32_t calls_of(const tn_build *b, size_t group)
{
    uint32_t n = 0;
    for (size_t i = 0; i < b->calls.n; i++)
        n += b->calls.at[i].group == group;
    return n;
}

size_t tn_tasks_find(tn_build *b, tn_build_task **out)
{
    tn_vec(tn_build_task) tasks = {0};
    tn_map known = {0};
    for (size_t i = 0; i < b->groups.n; i++) {
        const tn_group *g = &b->groups.at[i];
        for (uint32_t v = 0; v < g->n_variant && g->form == TN_FORM_SCHEDULED; v++) {
            if (g->is_tile[v])
                continue;
            uint64_t workload = tn_func_workload(g->base[v]), at;
            if (!tn_map_get(&known, workload, &at)) {
                tn_map_put(&known, workload, at = tasks.n);
                tn_vec_push(&tasks, ((tn_build_task){g, v, 0, workload}));
            }
            bool counted = v > 0 && tn_func_workload(g->base[v - 1]) == workload;
            tasks.at[at].calls += counted ? 0 : calls_of(b, i);
        }
    }
    *out = tn_arena_copy(&b->arena, tasks.at, tasks.n * sizeof *tasks.at, 8);
    size_t n = tasks.n;
    tn_vec_deinit(&tasks);
    tn_map_deinit(&known);
    return n;
}
