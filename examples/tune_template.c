/* A product of matrices whose tiles, order of loops, vectors and tasks are left open, and a search for the fastest
 * (AutoTVM's way).
 *
 *     cc tune_template.c $(pkg-config --cflags --libs tenon) -o tune_template && ./tune_template */
#include <tenon/te.h>
#include <tenon/tune.h>

#include <stdio.h>

static const char type[] = "Tensor[(256, 256), float32]";

static tenon_kernel *matmul(tenon *t)
{
    tenon_kernel *k = tenon_kernel_new(t, "matmul");
    tenon_te_input(k, "a", type);
    tenon_te_input(k, "b", type);
    tenon_te *c = tenon_te_new(k, "c", type, "i j");
    tenon_te_over(c, "r", "256");
    tenon_te_reduce(c, "sum", tenon_te_expr(c, "a[i, r] * b[r, j]", 0, NULL));
    return tenon_kernel_end(k, 1, &c) ? NULL : k;
}

/* The template: what it asks for is the space, and its steps make a point of it. */
static int tiles(void *user, tenon *t, tenon_config *c)
{
    static const char *const outer[] = {"io", "jo", "r"}, *const inner[] = {"ii", "ji"},
                             *const mark[] = {NULL, "unroll", "vectorize"}, *const word[] = {"no", "yes"};
    const tenon_knob powers = {.size = sizeof powers, .policy = "power2", .max_factor = 64};
    int64_t row[2], column[2];
    uint32_t order[3], what[2], tasks;
    char steps[300];
    tenon_kernel *k = matmul(t);
    (void)user;
    int failed = !k || tenon_config_split(c, "rows", 256, 2, 16, row) ||
                 tenon_config_split_by(c, "columns", 256, 2, &powers, column) ||
                 tenon_config_reorder(c, "outer", 3, NULL, order) ||
                 tenon_config_annotate(c, "inner", 2, NULL, what) ||
                 tenon_config_choose(c, "tasks", 2, word, &tasks);
    if (!failed) {
        int n = snprintf(steps, sizeof steps,
                         "i j r = loops \"out\"\nio ii = split i %d\njo ji = split j %d\n"
                         "reorder %s %s %s ii ji\n",
                         (int)row[1], (int)column[1], outer[order[0]], outer[order[1]], outer[order[2]]);
        if (tasks) /* refused where the sum's loop is outermost: a trial without a time */
            n += snprintf(steps + n, sizeof steps - (size_t)n, "parallel %s\n", outer[order[0]]);
        for (int i = 0; i < 2; i++)
            if (mark[what[i]])
                n += snprintf(steps + n, sizeof steps - (size_t)n, "%s %s\n", mark[what[i]], inner[i]);
        failed = tenon_step(k, steps) || tenon_config_end(c, k);
    }
    tenon_kernel_free(k);
    return failed;
}

int main(void)
{
    const tenon_tune_options o = {.size = sizeof o, .trials = 40};
    const tenon_tune_task *found;
    tenon *t = tenon_new();
    int failed = tenon_tune_template(t, "matmul", tiles, NULL, NULL, &o, &found);
    if (!failed)
        printf("%u trials, %u without a time: %.1f times as fast as the first, with\n%s",
               (unsigned)found->trials, (unsigned)found->failed, found->built_in_seconds / found->seconds,
               found->picks ? found->picks : "its choices\n");
    printf("%s%s\n", tenon_messages(t), failed ? "wrong" : "right");
    tenon_free(t);
    return failed;
}
