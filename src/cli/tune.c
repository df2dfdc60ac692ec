/* tenon tune: a model's tasks, a search for faster schedules, and a table of what it found. */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/tune_live.h"
#include "cli/tune_report.h"
#include "tenon/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// clang-format off
const tn_flag tn_tune_flags[] = {
    TN_ROW_TEXT("output", 'o', "FILE", NULL, "file that receives the records, besides the user's own (`records list`)"),
    TN_ROW_TEXT("work-dir", 0, "DIR", NULL, "folder for the records instead, as MetaSchedule's pair of files"),
    TN_ROW_TEXT("report", 0, "FILE", NULL, "also write a page: curves of each task, before and after"),
    TN_ROW_TEXT("tasks", 0, "TASKS", "all",
                "which: all, or numbers, ranges and parts of names: 0,3-5,dense; list: print them and stop"),
    TN_ROW_INT("trials", 0, 1, 100000000, "1000", "schedules to try, of all tasks together"),
    TN_ROW_TEXT("budget", 0, "TIME", NULL, "try for so long instead: 60s, 5m, 1h"),
    TN_ROW_CHOICE("tuner", 0,
                  "xgb|ga|random|gridsearch|xgb_itervar|xgb_knob|xgb_curve|xgb_rank|xgb_rank_itervar|xgb_rank_knob|"
                  "xgb_rank_curve|xgb_rank_binary|xgb_rank_binary_itervar|xgb_rank_binary_knob|xgb_rank_binary_curve|"
                  "xgb-rank",
                  NULL,
                  "who proposes schedules, with as many trials for each task; by default xgb, and the trials go "
                  "where most is to be gained"),
    TN_ROW_CHOICE("cost-model", 0, "trees|xgboost", "trees",
                  "what tuners xgb and its kin learn by; xgboost needs libxgboost, whose path TENON_XGBOOST may name"),
    TN_ROW_SWITCH("graph", 0,
                  "first try other algorithms, layouts and groups for the model as a whole: up to 64, or for a "
                  "third of --budget"),
    TN_ROW_CHOICE("generator", 0, "rules|sketch", NULL,
                  "whose schedules are searched: those of the built-in rules, the default, or sketches from what "
                  "is computed alone"),
    TN_ROW_TEXT("fixed", 0, "PARTS", NULL, "parts of schedules that keep their defaults: location,unroll"),
    TN_ROW_TEXT("odds", 0, "PARTS", NULL,
                "how often a change of a schedule is one of these parts, and of no other: tile=0.9,parallel=0.1"),
    TN_ROW_TEXT("near", 0, "NUMBERS", NULL,
                "numbers of choices, as of another search, whose nearest schedule is tried early: rows=14,vectors=2"),
    TN_ROW_INT("early-stopping", 0, 1, 100000000, NULL, "end a task after so many trials without a gain"),
    TN_ROW_INT("min-repeat-ms", 0, 0, 100000, NULL, "time each schedule for so many milliseconds; by default 4"),
    TN_ROW_INT("timeout", 0, 1, 100000, "10", "seconds after which a schedule is given up"),
    TN_ROW_INT("run-threads", 0, 1, 256, "1", "threads that a kernel is timed on"),
    TN_ROW_INT("seed", 0, 0, 2147483647, "0", "the same seed proposes the same where the same is measured"),
    TN_ROW_SWITCH("enable-autoscheduler", 0, "search sketches (--generator sketch); trials go where they gain most"),
    TN_ROW_SWITCH("include-simple-tasks", 0, "accepted; they are tasks anyway"),
    TN_ROW_SWITCH("log-estimated-latency", 0, "also write total_latency.tsv: seconds, trials and the model's time"),
    TN_ROW_INT("number", 0, 1, 1000000, "10", "accepted; a schedule is run until --min-repeat-ms have passed"),
    TN_ROW_INT("repeat", 0, 1, 1000000, "1", "accepted"),
    TN_ROW_INT("parallel", 0, 1, 1024, "4", "accepted; one schedule is compiled while another one is timed"),
    TN_ROW_TEXT("target-host", 0, "TEXT", NULL, "accepted; schedules are timed on this machine"),
    TN_ROW_INT("cache-line-bytes", 0, 1, 65536, NULL, "accepted; the machine description says it (--machine)"),
    TN_ROW_INT("num-cores", 0, 1, 4096, NULL, "accepted; the machine description says it"),
    TN_ROW_INT("vector-unit-bytes", 0, 1, 4096, NULL, "accepted; the machine description says it"),
    TN_ROW_REFUSED("rpc-key"),
    TN_ROW_REFUSED("rpc-tracker"),
    TN_ROW_INT("max-shared-memory-per-block", 0, 0, 1073741824, NULL, "accepted; no target has blocks of threads"),
    TN_ROW_INT("max-local-memory-per-block", 0, 0, 1073741824, NULL, "accepted; no target has blocks of threads"),
    TN_ROW_INT("max-threads-per-block", 0, 0, 65536, NULL, "accepted; no target has blocks of threads"),
    TN_ROW_INT("max-vthread-extent", 0, 0, 65536, NULL, "accepted; no target has blocks of threads"),
    TN_ROW_INT("warp-size", 0, 0, 65536, NULL, "accepted; no target has blocks of threads"),
    {0},
};
// clang-format on

enum { MOST_GRAPH_TRIALS = 64, TASK_WIDTH = 100, NAME_WIDTH = 48, PATH_ROOM = 4096 };

/* ---- options ---- */

/* "60s", "5m", "1.5h", "90"; 0: it is no time. */
static double read_time(const char *text)
{
    char *end;
    double v = strtod(text, &end), unit = 1;
    if (*end && strchr("smh", *end)) {
        unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
        end++;
    }
    return *end == 0 && end != text && v > 0 && v < 1e9 ? v * unit : 0;
}

static bool lists(const tn_args *args)
{
    const char *tasks = tn_args_text(args, "tasks");
    return strcmp(tasks, "list") == 0 || strcmp(tasks, "help") == 0;
}

/* --work-dir DIR is --output DIR/. */
static int take_folder(const tn_args *args, tenon_tune_options *o, char path[PATH_ROOM])
{
    const char *folder = tn_args_text(args, "work-dir");
    if (!folder)
        return TN_EXIT_OK;
    if (o->records)
        return tn_usage_error(args->command, "either --output or --work-dir says where records go");
    size_t n = strlen(folder);
    if (n == 0 ||
        (size_t)snprintf(path, PATH_ROOM, "%s%s", folder, folder[n - 1] == '/' ? "" : "/") >= PATH_ROOM)
        return tn_usage_error(args->command, "--work-dir %.40s: the path of a folder is expected", folder);
    o->records = path;
    return TN_EXIT_OK;
}

static int take_options(const tn_args *args, tenon_tune_options *o)
{
    const char *budget = tn_args_text(args, "budget"), *tuner = tn_args_text(args, "tuner");
    bool sketches = tn_args_count(args, "enable-autoscheduler"), evenly = tuner && !sketches;
    const char *generator = tn_args_text(args, "generator");
    *o = (tenon_tune_options){.size = sizeof *o,
                              .records = tn_args_text(args, "output"),
                              .tasks = lists(args) ? "all" : tn_args_text(args, "tasks"),
                              .tuner = tuner,
                              .cost_model = tn_args_text(args, "cost-model"),
                              .generator = generator  ? generator
                                           : sketches ? "sketch"
                                                      : NULL,
                              .evenly = evenly,
                              .fixed = tn_args_text(args, "fixed"),
                              .odds = tn_args_text(args, "odds"),
                              .near = tn_args_text(args, "near"),
                              .timeout = tn_args_int(args, "timeout"),
                              .threads = tn_args_int(args, "run-threads"),
                              .seed = (uint64_t)tn_args_int(args, "seed")};
    if (!budget || tn_args_count(args, "trials"))
        o->trials = (uint32_t)tn_args_int(args, "trials");
    if (tn_args_text(args, "early-stopping"))
        o->early_stopping = (uint32_t)tn_args_int(args, "early-stopping");
    if (tn_args_text(args, "min-repeat-ms"))
        o->repeat_seconds = tn_args_int(args, "min-repeat-ms") * 1e-3;
    if (budget && (o->seconds = read_time(budget)) == 0)
        return tn_usage_error(args->command, "--budget %s: a time is expected, as 60s, 5m or 1h", budget);
    if (tuner && strcmp(tuner, "xgb-rank") == 0) /* as tvmc has it, too */
        o->tuner = "xgb_rank";
    return TN_EXIT_OK;
}

/* ---- tasks ---- */

static void print_tasks(uint32_t n, const tenon_tune_task *task)
{
    printf("Available Tasks for tuning:\n");
    for (uint32_t i = 0; i < n; i++) {
        char line[1024];
        int k = snprintf(line, sizeof line, "  %u. %s (len=%s%.0f)", (unsigned)i, task[i].name,
                         task[i].exact ? "" : "~", task[i].points);
        if (k > TASK_WIDTH)
            memcpy(line + TASK_WIDTH - 3, "...", 4);
        puts(line);
    }
}

/* ---- while it works ---- */

typedef struct watch {
    tn_tune_live live;
    const char **picks; /* by task, as said last; NULL: nothing yet */
    FILE *latency;      /* total_latency.tsv; NULL: none */
    double best;
    tn_tune_history history;
} watch;

static double total(uint32_t n, const tenon_tune_task *task, bool built_in)
{
    double s = 0;
    for (uint32_t i = 0; i < n; i++)
        s += task[i].calls * (built_in ? task[i].built_in_seconds : task[i].seconds);
    return s;
}

static void say_gain(const tenon_tune_progress *p, uint32_t i)
{
    const tenon_tune_task *k = &p->tasks[i];
    printf("%7.1f s, trial %u: task %u: %.2f us, the built-in schedule %.2f us (%.2fx)\n", p->elapsed,
           (unsigned)p->trials, (unsigned)i, k->seconds * 1e6, k->built_in_seconds * 1e6,
           k->built_in_seconds / k->seconds);
    fflush(stdout);
}

static void on_progress(void *user, const tenon_tune_progress *p)
{
    watch *w = user;
    w->picks = w->picks ? w->picks : calloc(p->n_task, sizeof *w->picks);
    for (uint32_t i = 0; i < p->n_task && w->picks; i++)
        if (p->tasks[i].picks != w->picks[i]) {
            w->picks[i] = p->tasks[i].picks;
            if (!w->live.to)
                say_gain(p, i);
        }
    double now = total(p->n_task, p->tasks, false);
    bool opened = p->trials > 0; /* before the first trial, not all tasks have a time */
    if (opened)
        tn_tune_history_add(&w->history, p, now);
    if (opened && w->latency && now != w->best)
        fprintf(w->latency, "ElapsedTime(s)\t%.0f\tEstimatedLatency(ms)\t%.3f\tTrials\t%u\n", p->elapsed,
                now * 1e3, (unsigned)p->trials);
    w->best = opened ? now : w->best;
    tn_tune_live_show(&w->live, p);
}

/* ---- the end ---- */

static void print_share(double part, double whole)
{
    if (whole > 0 && part > 0)
        printf(" %8.0f %%", 100 * part / whole);
    else
        printf(" %10s", "-");
}

static void print_task(uint32_t i, const tenon_tune_task *k)
{
    printf("%4u %6u %6u %11.2f %11.2f", (unsigned)i, (unsigned)k->calls, (unsigned)k->trials,
           k->built_in_seconds * 1e6, k->seconds * 1e6);
    if (k->operations > 0 && k->seconds > 0)
        printf(" %8.1f", k->operations / k->seconds * 1e-9);
    else
        printf(" %8s", "-");
    print_share(k->peak_seconds, k->seconds);
    printf(" %6.2fx  %.*s\n", k->seconds > 0 ? k->built_in_seconds / k->seconds : 1.0, NAME_WIDTH, k->name);
}

/* where: the records are. */
static void print_table(uint32_t n, const tenon_tune_task *task, const char *where, bool verbose)
{
    uint32_t gained = 0, trials = 0, failed = 0;
    double compiling = 0, timing = 0;
    double before = total(n, task, true), after = total(n, task, false);
    printf("task  calls trials built-in us     best us  GFLOP/s   roofline   gain  kernel\n");
    for (uint32_t i = 0; i < n; i++) {
        if (!task[i].chosen)
            continue;
        gained += task[i].picks != NULL;
        trials += task[i].trials;
        failed += task[i].failed;
        compiling += task[i].compiling;
        timing += task[i].timing;
        if (task[i].built_in_seconds > 0)
            print_task(i, &task[i]);
        else
            printf("%4u: not tuned: %s\n", (unsigned)i, task[i].why ? task[i].why : "no time was left");
    }
    printf("%u trials (%u without a time); %u task%s gained", (unsigned)trials, (unsigned)failed,
           (unsigned)gained, gained == 1 ? "" : "s");
    if (after > 0)
        printf("; kernels %.3f ms, by the built-in schedules %.3f ms (%.3fx)", after * 1e3, before * 1e3,
               before / after);
    printf("\n");
    if (verbose && trials)
        printf("a trial: %.1f ms of compiling, %.1f ms of timing\n", compiling / trials * 1e3,
               timing / trials * 1e3);
    if (gained && where)
        printf("%s: %u record%s\n", where, (unsigned)gained, gained == 1 ? "" : "s");
}

/* A share of the time, and what is left of it for the kernels. */
static int search_graph(tn_model_options *m, const tn_args *args, tenon_tune_options *o, const char *where)
{
    const tenon_tune_task *graph = NULL;
    const char *slash = strrchr(args->operand, '/');
    tenon_tune_options given = *o;
    given.trials = 0;
    given.seconds = o->seconds / 3;
    watch w = {.live = {.to = tn_terminal_coloured(stderr) ? stderr : NULL,
                        .model = slash ? slash + 1 : args->operand,
                        .seconds = given.seconds,
                        .trials = MOST_GRAPH_TRIALS}};
    given.progress = on_progress;
    given.progress_user = &w;
    struct timespec begin, done;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int failed = tenon_tune_graph(m->module, &m->options, &given, &graph);
    clock_gettime(CLOCK_MONOTONIC, &done);
    if (o->seconds > 0) {
        const double left = o->seconds - (double)(done.tv_sec - begin.tv_sec);
        o->seconds = left > 1 ? left : 1;
    }
    tn_tune_live_clear(&w.live);
    int status = tn_model_messages(m, failed);
    if (!failed) {
        printf(
            "graph: %u trials (%u without a time); a run %.3f ms, by the built-in choices %.3f ms (%.3fx)\n",
            (unsigned)graph->trials, (unsigned)graph->failed, graph->seconds * 1e3,
            graph->built_in_seconds * 1e3, graph->built_in_seconds / graph->seconds);
        if (graph->picks && args->verbose)
            printf("%s", graph->picks);
        if (graph->picks && where)
            printf("%s: 1 record\n", where);
    }
    free(w.picks);
    tn_tune_history_deinit(&w.history);
    return status;
}

static int search(tn_model_options *m, const tn_args *args, tenon_tune_options *o)
{
    uint32_t n = 0;
    const tenon_tune_task *task = NULL;
    char path[4096];
    const char *home = !m->options.no_records && tenon_records_path(path, sizeof path) ? path : NULL;
    const char *slash = strrchr(args->operand, '/');
    if (tn_args_count(args, "graph")) {
        int failed = search_graph(m, args, o, o->records ? o->records : home);
        if (failed != TN_EXIT_OK)
            return failed;
    }
    watch w = {.live = {.to = tn_terminal_coloured(stderr) ? stderr : NULL,
                        .model = slash ? slash + 1 : args->operand,
                        .seconds = o->seconds,
                        .trials = o->trials}};
    if (tn_args_count(args, "log-estimated-latency") && !(w.latency = fopen("total_latency.tsv", "w")))
        return tn_error_print("total_latency.tsv: cannot be written");
    o->progress = on_progress;
    o->progress_user = &w;
    int failed = tenon_tune(m->module, &m->options, o, &n, &task);
    tn_tune_live_clear(&w.live);
    int status = tn_model_messages(m, failed);
    if (!failed)
        print_table(n, task, o->records ? o->records : home, args->verbose);
    free(w.picks);
    if (w.latency && fclose(w.latency))
        status = tn_error_print("total_latency.tsv: cannot be written");
    const char *page = tn_args_text(args, "report");
    if (status == TN_EXIT_OK && page)
        status = tn_tune_report_write(page, w.live.model, &w.history, n, task);
    tn_tune_history_deinit(&w.history);
    return status;
}

static int tune(tn_model_options *m, const tn_args *args, tenon_tune_options *o)
{
    uint32_t n;
    const tenon_tune_task *task;
    o->prior = m->options.tuning_records;
    m->options.tuning_records = NULL; /* tasks begin with the built-in schedules */
    int status = tn_model_read(m, args->operand, NULL);
    if (status != TN_EXIT_OK)
        return status;
    char home[4096];
    const char *page = tn_args_text(args, "report");
    if (page && (status = tn_output_try(page)) != TN_EXIT_OK)
        return status;
    bool kept = o->records || (!m->options.no_records && tenon_records_path(home, sizeof home));
    if (!lists(args) && !kept)
        return tn_usage_error(args->command, "--output FILE is required: the records are kept nowhere else");
    if (lists(args) && tn_args_count(args, "graph"))
        return tn_usage_error(args->command, "--graph is no list; leave one of --graph and --tasks list out");
    if (!lists(args))
        return search(m, args, o);
    int failed = tenon_tune_list(m->module, &m->options, o, &n, &task);
    status = tn_model_messages(m, failed);
    if (!failed)
        print_tasks(n, task);
    return status;
}

int tn_tune_command(const tn_args *args)
{
    tn_model_options m;
    tenon_tune_options o;
    char folder[PATH_ROOM];
    int status = take_options(args, &o);
    status = status == TN_EXIT_OK ? take_folder(args, &o, folder) : status;
    if (status != TN_EXIT_OK)
        return status;
    status = tn_model_options_init(&m, args);
    if (status == TN_EXIT_OK) {
        tn_cleanup_begin(true);
        status = tune(&m, args, &o);
        tn_cleanup_end();
    }
    tn_model_options_deinit(&m);
    return status;
}
