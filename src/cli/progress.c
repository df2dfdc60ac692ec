/* The line of a compilation at work:
 *
 *   net.onnx: code [##########----------] 31 of 64 objects  4 s
 *
 * The bar is of one stage; where it cannot be known how much is to be done there is none. Written at most every 50 ms
 * but for new stages, and erased by blanks, so that NO_COLOR leaves no escape sequence at all. */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 20, LINE_BYTES = 256, PAUSE = 50000000 };

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Puts the line in place of the last one; it must not reach the last column, where terminals begin a new line. */
static void put(tn_progress *p, const char *line)
{
    int n = (int)strlen(line), most = p->columns - 1;
    n = n > most ? most : n;
    fprintf(stderr, "\r%s%.*s%s", p->colour ? "\033[36m" : "", n, line, p->colour ? "\033[0m" : "");
    fprintf(stderr, "%*s\r", p->width > n ? p->width - n : 0, "");
    fflush(stderr);
    p->width = n;
}

/* What is counted in a stage. */
static const char *unit(const char *stage)
{
    static const char *const row[][2] = {{"graph", " passes"},
                                         {"tir", " kernels"},
                                         {"schedule", " kernels"},
                                         {"lower", " kernels"},
                                         {"code", " objects"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(row[i][0], stage) == 0)
            return row[i][1];
    return "";
}

static void show(tn_progress *p)
{
    char line[LINE_BYTES], bar[BAR + 1] = "", count[48] = "";
    uint32_t of = p->of, done = of && p->done > of ? of : p->done;
    if (of) {
        uint32_t full = (uint32_t)((uint64_t)BAR * done / of);
        memset(bar, '-', BAR);
        memset(bar, '#', full);
        bar[BAR] = 0;
        snprintf(count, sizeof count, " [%s] %u of %u", bar, (unsigned)done, (unsigned)of);
    } else if (done) {
        snprintf(count, sizeof count, " %u", (unsigned)done);
    }
    unsigned seconds = (unsigned)((p->shown - p->start) / 1000000000u);
    int n =
        snprintf(line, sizeof line, "%.60s: %s%s%s", p->model, p->stage, count, *count ? unit(p->stage) : "");
    if (seconds)
        snprintf(line + n, sizeof line - (size_t)n, "  %u s", seconds);
    put(p, line);
}

static void report(void *user, const char *stage, uint32_t done, uint32_t of)
{
    tn_progress *p = user;
    uint64_t at = now();
    pthread_mutex_lock(&p->lock);
    bool fresh = !p->stage || strcmp(p->stage, stage) != 0;
    p->stage = stage;
    p->done = done;
    p->of = of;
    if (fresh || at - p->shown >= PAUSE) {
        p->shown = at;
        show(p);
    }
    pthread_mutex_unlock(&p->lock);
}

static void *tick(void *user)
{
    tn_progress *p = user;
    pthread_mutex_lock(&p->lock);
    while (!p->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&p->over, &p->lock, &until);
        if (p->stage && !p->ended) {
            p->shown = now();
            show(p);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void tn_progress_begin(tn_progress *p, const char *model, tenon_options *o)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR"), *slash = strrchr(model, '/');
    struct winsize size = {0};
    bool prints = o->print_ir_before || o->print_ir_after;
    *p = (tn_progress){.model = slash ? slash + 1 : model, .start = now(), .columns = 80};
    if (!isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0 || prints)
        return;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        p->columns = size.ws_col;
    p->colour = !(no && *no);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->over, NULL);
    p->on = pthread_create(&p->clock, NULL, tick, p) == 0;
    if (!p->on)
        return;
    p->options = o;
    o->progress = report;
    o->progress_user = p;
}

void tn_progress_end(tn_progress *p)
{
    if (!p->on)
        return;
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    p->options->progress = NULL;
    pthread_cond_signal(&p->over);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->clock, NULL);
    pthread_cond_destroy(&p->over);
    pthread_mutex_destroy(&p->lock);
    p->colour = false;
    if (p->stage)
        put(p, "");
}
