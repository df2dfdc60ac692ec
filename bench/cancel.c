/* bench_cancel: how soon a call ends after it is cancelled.
 *
 *   bench_cancel MODEL [CANCELS [THREADS [build | here | check | STAGE of interpret [SECONDS]]]]
 *
 * Reads the model and does the work again and again (100 times), each time cancelled at a random moment of
 * what it takes (of SECONDS where that is given, as interpreters of large models take long). Prints for each
 * stage that was at work at that moment how often it was met, and the time from the cancel to the end of the
 * call: median and most. The kernel cache is off; inputs are zeros, symbols 1. Fails if a call says anything
 * else than that it was cancelled, or leaves a child process. */
#include "base/guard.h"
#include "tenon/tenon.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAGES = 32, MOST = 10000 };

static _Atomic(const char *) at_work;

static void on_progress(void *user, const char *stage, uint32_t done, uint32_t of)
{
    (void)user, (void)done, (void)of;
    atomic_store(&at_work, stage);
}

typedef struct canceller {
    double after, at; /* seconds from the start; when it was done */
    const char *stage;
    int flag;
    pthread_t thread;
} canceller;

static void *cancel(void *arg)
{
    canceller *c = arg;
    usleep((useconds_t)(c->after * 1e6));
    c->stage = atomic_load(&at_work);
    c->at = tn_now();
    __atomic_store_n(&c->flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "bench_cancel: %s\n", what);
    exit(1);
}

/* ---- the work ---- */

static int interpret(tenon_module *m, const tenon_options *o, const char *stage)
{
    const tenon_module_info *info = tenon_module_inspect(m);
    const tenon_tensor *out;
    int n;
    if (!info)
        return 1;
    tenon_tensor *in = calloc(info->n_input + 1, sizeof *in);
    for (uint32_t i = 0; in && i < info->n_input; i++) {
        const tenon_value_info *x = &info->input[i];
        size_t bytes = (size_t)(x->dtype.bits + 7) / 8;
        in[i] =
            (tenon_tensor){.name = x->name, .code = x->dtype.code, .bits = x->dtype.bits, .ndim = x->ndim};
        for (int d = 0; d < x->ndim; d++) {
            in[i].shape[d] = x->shape[d] < 0 ? 1 : x->shape[d];
            bytes *= (size_t)in[i].shape[d];
        }
        in[i].bytes = bytes;
        in[i].data = calloc(bytes, 1);
    }
    atomic_store(&at_work, "interpret");
    int failed = tenon_interpret(m, o, stage, (int)info->n_input, in, &n, &out);
    for (uint32_t i = 0; in && i < info->n_input; i++)
        free(in[i].data);
    free(in);
    return failed;
}

static int work_on(tenon *t, const char *model, const char *what, const tenon_options *o)
{
    char output[64];
    tnr_module *code;
    atomic_store(&at_work, "read");
    tenon_module *m = tenon_module_read(t, model, o);
    if (!m)
        return 1;
    atomic_store(&at_work, what);
    int failed;
    snprintf(output, sizeof output, "/tmp/bench-cancel-%d.tar", (int)getpid());
    if (strcmp(what, "build") == 0)
        failed = tenon_build(m, o, output, NULL);
    else if (strcmp(what, "check") == 0)
        failed = tenon_check(m, o);
    else if (strcmp(what, "here") == 0)
        failed = tenon_build_here(m, o, &code, NULL);
    else
        failed = interpret(m, o, what);
    if (!failed && strcmp(what, "here") == 0)
        tnr_module_release(code);
    (void)!unlink(output);
    return failed;
}

/* ---- the figures ---- */

typedef struct met {
    const char *stage;
    double *seconds;
    int n;
} met;

static void note(met all[STAGES], const char *stage, double seconds)
{
    int i = 0;
    while (i < STAGES - 1 && all[i].stage && strcmp(all[i].stage, stage) != 0)
        i++;
    all[i].stage = stage;
    if (!all[i].seconds)
        all[i].seconds = calloc(MOST, sizeof *all[i].seconds);
    if (!all[i].seconds || all[i].n == MOST)
        give_up("there are too many figures");
    all[i].seconds[all[i].n++] = seconds;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print(met all[STAGES])
{
    printf("%-10s %6s %10s %10s\n", "stage", "n", "median ms", "most ms");
    for (int i = 0; i < STAGES && all[i].stage; i++) {
        qsort(all[i].seconds, (size_t)all[i].n, sizeof(double), by_size);
        printf("%-10s %6d %10.1f %10.1f\n", all[i].stage, all[i].n, all[i].seconds[all[i].n / 2] * 1e3,
               all[i].seconds[all[i].n - 1] * 1e3);
        free(all[i].seconds);
    }
}

/* Cancels one; false: it ended before. */
static bool cancel_one(tenon *t, char **argv, const char *what, tenon_options *o, double after,
                       met all[STAGES])
{
    canceller c = {.after = after};
    o->cancel = &c.flag;
    if (pthread_create(&c.thread, NULL, cancel, &c))
        give_up("no thread can be started");
    int failed = work_on(t, argv[1], what, o);
    double end = tn_now();
    bool cancelled = failed && strstr(tenon_messages(t), "[base-E008]");
    if (failed && !cancelled)
        give_up(tenon_messages(t));
    pthread_join(c.thread, NULL);
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        give_up("a child process is left");
    if (cancelled)
        note(all, c.stage, end - c.at);
    tenon_free(t);
    return cancelled;
}

int main(int argc, char **argv)
{
    static met all[STAGES];
    int n = argc > 2 ? atoi(argv[2]) : 100, done = 0;
    const char *what = argc > 4 ? argv[4] : "build";
    tenon_options o = {.size = sizeof o, .threads = argc > 3 ? atoi(argv[3]) : 0, .progress = on_progress};
    if (argc < 2 || n < 1 || n > MOST)
        give_up("give a model, and at most 10000 cancels");
    (void)setenv("TENON_CACHE", "off", 1);
    double whole = argc > 5 ? atof(argv[5]) : tn_now();
    if (argc <= 5) {
        tenon *t = tenon_new();
        if (work_on(t, argv[1], what, &o))
            give_up(tenon_messages(t));
        tenon_free(t);
        whole = tn_now() - whole;
    }
    unsigned seed = (unsigned)getpid();
    for (int i = 0; i < n; i++)
        done += cancel_one(tenon_new(), argv, what, &o, whole * (rand_r(&seed) % 10000) / 1e4, all);
    printf("%s: %s with %d threads takes %.2f s; %d of %d cancelled\n", argv[1], what, o.threads, whole, done,
           n);
    print(all);
    return 0;
}
