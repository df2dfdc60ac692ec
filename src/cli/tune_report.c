/* The page of a search: what each task gained, and how the fastest schedule came down, once over trials and once over
 * time. The two stand beside each other, so that paper and browsers without scripts show all that there is. One file
 * without scripts, which needs no other. */
#include "cli/tune_report.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 520, HEIGHT = 150, LEFT = 64, BOTTOM = 22, TOP = 10, MAX_DOTS = 3000 };

static const char style[] =
    "<style>body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 "
    "1em;color:#1b1f24}"
    "h1{font-size:1.5em}h2{font-size:1em;margin:0}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:right;padding:.2em .6em;border-bottom:1px solid #d8dee4;white-space:nowrap}"
    "th:last-child,td:last-child{text-align:left;white-space:normal;word-break:break-all;min-width:16em}"
    "section{margin:1.5em 0 0;break-inside:avoid}.curves{display:flex;flex-wrap:wrap;gap:0 1em}"
    "svg{flex:1 1 24em;min-width:0;max-width:38em;height:auto}"
    "text{font:10px system-ui,sans-serif;fill:#57606a}"
    ".axis{stroke:#afb8c1;stroke-width:1;fill:none}.best{stroke:#0969da;stroke-width:1.6;fill:none}"
    ".built{stroke:#bc4c00;stroke-width:1;stroke-dasharray:4 "
    "3;fill:none}.trial{fill:#8c959f;fill-opacity:.55}"
    ".kept{fill:#0969da}pre{background:#f6f8fa;padding:.5em;overflow:auto;font-size:12px}"
    "@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}"
    "pre{background:#161b22}text{fill:#8b949e}}</style>\n";

/* ---- what happened ---- */

void tn_tune_history_add(tn_tune_history *h, const tenon_tune_progress *p, double total)
{
    if (h->lost)
        return;
    if (h->n == h->room) {
        size_t room = h->room ? 2 * h->room : 256;
        tn_tune_event *at = realloc(h->at, room * sizeof *at);
        if (!at) {
            h->lost = true;
            return;
        }
        h->at = at;
        h->room = room;
    }
    const tenon_tune_task *k = &p->tasks[p->task];
    h->at[h->n++] = (tn_tune_event){p->task, k->trials, p->elapsed, p->seconds, k->seconds, total};
}

void tn_tune_history_deinit(tn_tune_history *h) { free(h->at); }

/* ---- text ---- */

static void put_text(FILE *to, const char *s)
{
    for (; *s; s++)
        if (*s == '<' || *s == '>' || *s == '&' || *s == '"')
            fprintf(to, "&#%d;", *s);
        else
            fputc(*s, to);
}

/* 12.3 us, 4.56 ms */
static void put_time(FILE *to, double seconds)
{
    if (seconds < 1e-3)
        fprintf(to, "%.2f &micro;s", seconds * 1e6);
    else
        fprintf(to, "%.3f ms", seconds * 1e3);
}

/* ---- curves ---- */

typedef struct plot {
    FILE *to;
    double most_x, most_y;
} plot;

static double at_x(const plot *p, double x) { return LEFT + x / p->most_x * (WIDTH - LEFT - 8); }
static double at_y(const plot *p, double y)
{
    return HEIGHT - BOTTOM - (y < p->most_y ? y : p->most_y) / p->most_y * (HEIGHT - BOTTOM - TOP);
}

static void begin_plot(const plot *p, const char *x_unit, const char *title)
{
    FILE *to = p->to;
    fprintf(to, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
    put_text(to, title);
    fprintf(to, "</title>\n<path class=\"axis\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - 8);
    for (int i = 0; i <= 2; i++) {
        double y = p->most_y * i / 2;
        fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 4, at_y(p, y) + 3);
        fprintf(to, p->most_y < 1e-3 ? "%.4g" : "%.4g m", y * (p->most_y < 1e-3 ? 1e6 : 1e3));
        fprintf(to, p->most_y < 1e-3 ? "&micro;s</text>" : "s</text>");
        double x = p->most_x * i / 2;
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.4g%s</text>\n", at_x(p, x), HEIGHT - 8,
                i == 2 ? "end" : "middle", x, i == 2 ? x_unit : "");
    }
}

static void draw_line(const plot *p, double y, const char *name)
{
    fprintf(p->to, "<path class=\"%s\" d=\"M%d %.1fH%d\"/>\n", name, LEFT, at_y(p, y), WIDTH - 8);
}

/* The time of the kernels, as far as tasks have been timed, over the seconds of the search. */
static void draw_total(FILE *to, const tn_tune_history *h)
{
    plot p = {.to = to};
    for (size_t i = 0; i < h->n; i++) {
        p.most_y = h->at[i].total > p.most_y ? h->at[i].total : p.most_y;
        p.most_x = h->at[i].elapsed;
    }
    if (p.most_x <= 0 || p.most_y <= 0)
        return;
    begin_plot(&p, " s", "time of all kernels");
    fprintf(to, "<path class=\"best\" d=\"");
    double last = -1;
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].total != last || i + 1 == h->n) {
            last = h->at[i].total;
            fprintf(to, i ? "H%.1fV%.1f" : "M%.1f %.1f", at_x(&p, h->at[i].elapsed), at_y(&p, last));
        }
    fprintf(to, "\"/>\n</svg>\n");
}

/* What a curve of a task goes over. Seconds are those of the search, the same for all tasks: the line of a task that
 * waits for others is flat. */
typedef struct axis {
    const char *unit, *name;
    double (*of)(const tn_tune_event *e);
} axis;

static double trial_of(const tn_tune_event *e) { return e->trial; }
static double elapsed_of(const tn_tune_event *e) { return e->elapsed; }

static const axis axes[] = {{" trials", "trials", trial_of}, {" s", "seconds", elapsed_of}};

static void draw_dots(const plot *p, const axis *x, const tn_tune_history *h, uint32_t task)
{
    uint32_t dots = 0;
    for (size_t i = 0; i < h->n && dots < MAX_DOTS; i++)
        if (h->at[i].task == task && h->at[i].trial > 0 && h->at[i].seconds > 0) {
            dots++;
            fprintf(p->to, "<circle class=\"trial\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.6\"/>",
                    at_x(p, x->of(&h->at[i])), at_y(p, h->at[i].seconds));
        }
}

/* What the task's schedule took when it was timed first: the least of all times of the built-in one may come later. */
static double first_best(const tn_tune_history *h, uint32_t task, const tenon_tune_task *k)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].task == task && h->at[i].best > 0)
            return h->at[i].best;
    return k->built_in_seconds;
}

static void draw_best(const plot *p, const axis *x, const tn_tune_history *h, uint32_t task,
                      const tenon_tune_task *k)
{
    double best = first_best(h, task, k);
    fprintf(p->to, "\n<path class=\"best\" d=\"M%d %.1f", LEFT, at_y(p, best));
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].task == task && h->at[i].best > 0 && h->at[i].best != best) {
            best = h->at[i].best;
            fprintf(p->to, "H%.1fV%.1f", at_x(p, x->of(&h->at[i])), at_y(p, best));
        }
    fprintf(p->to, "V%.1fH%d\"/>\n", at_y(p, k->seconds), WIDTH - 8);
}

static void draw_task(FILE *to, const axis *x, const tn_tune_history *h, uint32_t task,
                      const tenon_tune_task *k)
{
    const tn_tune_event end = {.trial = k->trials, .elapsed = h->at[h->n - 1].elapsed};
    plot p = {.to = to, .most_x = x->of(&end), .most_y = 1.5 * k->built_in_seconds};
    char title[64];
    snprintf(title, sizeof title, "time of a call over %s", x->name);
    begin_plot(&p, x->unit, title);
    draw_line(&p, k->built_in_seconds, "built");
    draw_dots(&p, x, h, task);
    draw_best(&p, x, h, task, k);
    fprintf(to, "</svg>\n");
}

/* ---- the page ---- */

static void put_row(FILE *to, uint32_t i, const tenon_tune_task *k)
{
    if (k->trials)
        fprintf(to, "<tr><td><a href=\"#task%u\">%u</a>", (unsigned)i, (unsigned)i);
    else
        fprintf(to, "<tr><td>%u", (unsigned)i);
    fprintf(to, "</td><td>%u</td><td>%u</td><td>", (unsigned)k->calls, (unsigned)k->trials);
    put_time(to, k->built_in_seconds);
    fprintf(to, "</td><td>");
    put_time(to, k->seconds);
    fprintf(to, "</td><td>%.2f&times;</td>", k->built_in_seconds / k->seconds);
    if (k->operations > 0)
        fprintf(to, "<td>%.1f</td>", k->operations / k->seconds * 1e-9);
    else
        fprintf(to, "<td></td>");
    fprintf(to, "<td>%.0f %%</td>", 100 * k->peak_seconds / k->seconds);
    fprintf(to, "<td>");
    put_text(to, k->name);
    fprintf(to, "</td></tr>\n");
}

static void put_task(FILE *to, const tn_tune_history *h, uint32_t i, const tenon_tune_task *k)
{
    fprintf(to, "<section id=\"task%u\"><h2>%u. ", (unsigned)i, (unsigned)i);
    put_text(to, k->name);
    fprintf(to, "</h2>\n<div class=\"curves\">");
    for (size_t x = 0; x < sizeof axes / sizeof *axes; x++)
        draw_task(to, &axes[x], h, i, k);
    fprintf(to, "</div>\n<pre>");
    put_text(to, k->picks ? k->picks : k->built_in);
    fprintf(to, "</pre></section>\n");
}

static void put_page(FILE *to, const char *model, const tn_tune_history *h, uint32_t n,
                     const tenon_tune_task *task)
{
    double before = 0, after = 0;
    uint32_t trials = 0;
    fprintf(to, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tuning ");
    put_text(to, model);
    fprintf(to, "</title>\n%s</head><body>\n<h1>Tuning ", style);
    put_text(to, model);
    for (uint32_t i = 0; i < n; i++) {
        before += task[i].calls * task[i].built_in_seconds;
        after += task[i].calls * task[i].seconds;
        trials += task[i].trials;
    }
    fprintf(to, "</h1>\n<p>%u trials. Kernels that were timed take ", (unsigned)trials);
    put_time(to, after);
    fprintf(to, " in a run of the model; by the built-in schedules ");
    put_time(to, before);
    fprintf(to, " (%.3f&times;).</p>\n", after > 0 ? before / after : 1.0);
    fprintf(to, "<div class=\"curves\">");
    draw_total(to, h);
    fprintf(to, "</div>\n<table><tr><th>task<th>calls<th>trials<th>built-in<th>best<th>gain<th>GFLOP/s<th>"
                "roofline<th>kernel</tr>\n");
    for (uint32_t i = 0; i < n; i++)
        if (task[i].built_in_seconds > 0)
            put_row(to, i, &task[i]);
    fprintf(to, "</table>\n<p>Below, each dot is a trial, the line the schedule that is kept, and the broken "
                "line the built-in one: once over the trials of the task, and once over the seconds of "
                "the search, in which other tasks have their turns.</p>\n");
    for (uint32_t i = 0; i < n; i++)
        if (task[i].built_in_seconds > 0 && task[i].trials > 0)
            put_task(to, h, i, &task[i]);
    fprintf(to, "</body></html>\n");
}

int tn_tune_report_write(const char *path, const char *model, const tn_tune_history *h, uint32_t n,
                         const tenon_tune_task *task)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (to)
        put_page(to, model, h, n, task);
    bool whole = to && !ferror(to);
    if (to && fclose(to))
        whole = false;
    int status = whole && !h->lost ? tn_output_write(path, text, bytes) : tn_error_print("out of memory");
    free(text);
    return status;
}
