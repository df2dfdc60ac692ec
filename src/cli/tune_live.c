/* The table that `tune` shows on a terminal while it searches. */
#include "cli/tune_live.h"

#include "cli/terminal.h"

#include <stdarg.h>
#include <string.h>

enum { MOST_ROWS = 20, AROUND = 4, LINE = 512 };
static const double PAUSE = 0.1;

static const char head[] = "   task  trials      best us  GFLOP/s roofline    gain  kernel";

/* A line no wider than the terminal, so that it takes one row. */
static void put(tn_tune_live *l, int columns, const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(l->to, "%.*s\x1b[K\n", columns, line);
    l->lines++;
}

static double weight(const tenon_tune_task *k)
{
    return k->calls * (k->seconds > 0 ? k->seconds : k->peak_seconds);
}

/* Without what all kernels begin with. */
static const char *short_name(const char *name)
{
    static const char prefix[] = "tvmgen_default_fused_";
    size_t n = sizeof prefix - 1;
    return strncmp(name, prefix, n) == 0 && name[n] ? name + n : name;
}

/* The tasks that take most of the time, in order of their numbers. */
static uint32_t choose_rows(const tenon_tune_progress *p, uint32_t room, uint32_t row[])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_task; i++) {
        if (!p->tasks[i].chosen)
            continue;
        if (n < room) {
            row[n++] = i;
            continue;
        }
        uint32_t least = 0;
        for (uint32_t k = 1; k < n; k++)
            least = weight(&p->tasks[row[k]]) < weight(&p->tasks[row[least]]) ? k : least;
        if (weight(&p->tasks[i]) <= weight(&p->tasks[row[least]]))
            continue;
        memmove(&row[least], &row[least + 1], (n - least - 1) * sizeof *row);
        row[n - 1] = i;
    }
    return n;
}

static void put_task(tn_tune_live *l, int columns, const tenon_tune_progress *p, uint32_t i)
{
    const tenon_tune_task *k = &p->tasks[i];
    char rate[16] = "-", share[16] = "-", gain[16] = "-", time[24] = "-";
    if (k->seconds > 0) {
        snprintf(time, sizeof time, "%.2f", k->seconds * 1e6);
        snprintf(gain, sizeof gain, "%.2fx", k->built_in_seconds / k->seconds);
        if (k->operations > 0)
            snprintf(rate, sizeof rate, "%.1f", k->operations / k->seconds * 1e-9);
        if (k->peak_seconds > 0)
            snprintf(share, sizeof share, "%.0f %%", 100 * k->peak_seconds / k->seconds);
    }
    put(l, columns, "%c%6u %7u %12s %8s %8s %7s  %s", i == p->task ? '>' : ' ', (unsigned)i,
        (unsigned)k->trials, time, rate, share, gain, short_name(k->name));
}

/* Seconds until the end, as far as it can be known; below 0: it cannot. */
static double time_left(const tn_tune_live *l, const tenon_tune_progress *p)
{
    double by_trials =
        l->trials && p->trials ? p->elapsed / p->trials * ((double)l->trials - (double)p->trials) : -1;
    double by_time = l->seconds > 0 ? l->seconds - p->elapsed : -1;
    double left = by_trials < 0 || (by_time >= 0 && by_time < by_trials) ? by_time : by_trials;
    return left > 0 || (by_trials < 0 && by_time < 0 && l->seconds <= 0) ? left : 0;
}

static void put_total(tn_tune_live *l, int columns, const tenon_tune_progress *p)
{
    double before = 0, after = 0, left = time_left(l, p);
    char rest[64] = "";
    for (uint32_t i = 0; i < p->n_task; i++) {
        before += p->tasks[i].calls * p->tasks[i].built_in_seconds;
        after += p->tasks[i].calls * p->tasks[i].seconds;
    }
    if (left >= 0)
        snprintf(rest, sizeof rest, ", %.0f s left", left);
    put(l, columns, "%.40s: %u trials in %.0f s%s, kernels %.3f ms, %.3f times as fast", l->model,
        (unsigned)p->trials, p->elapsed, rest, after * 1e3, after > 0 ? before / after : 1);
}

void tn_tune_live_show(tn_tune_live *l, const tenon_tune_progress *p)
{
    uint32_t row[MOST_ROWS];
    if (!l->to || (l->lines && p->elapsed - l->shown < PAUSE))
        return;
    l->shown = p->elapsed;
    int columns = tn_terminal_width(l->to, 80) - 1, rows = tn_terminal_height(l->to, 24) - AROUND;
    uint32_t n = choose_rows(p,
                             rows < 1           ? 1
                             : rows < MOST_ROWS ? (uint32_t)rows
                                                : MOST_ROWS,
                             row),
             others = 0;
    if (l->lines)
        fprintf(l->to, "\x1b[%dA\r", l->lines);
    l->lines = 0;
    put(l, columns, "%s", head);
    for (uint32_t i = 0; i < n; i++)
        put_task(l, columns, p, row[i]);
    for (uint32_t i = 0; i < p->n_task; i++)
        others += p->tasks[i].chosen;
    if (others > n)
        put(l, columns, "        and %u tasks that take less time", (unsigned)(others - n));
    put_total(l, columns, p);
    fprintf(l->to, "\x1b[J");
    fflush(l->to);
}

void tn_tune_live_clear(tn_tune_live *l)
{
    if (!l->to || !l->lines)
        return;
    fprintf(l->to, "\x1b[%dA\r\x1b[J", l->lines);
    fflush(l->to);
    l->lines = 0;
}
