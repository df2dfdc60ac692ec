/* Sessions in two threads at once, each with eight threads of its own: packages of the same bytes, progress reported by
 * one thread at a time, in order. */
#include "tenon/tenon.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SESSIONS = 2 };

typedef struct job {
    pthread_t thread;
    char path[64];
    int threads, failed;
    atomic_int inside; /* calls of `seen` at work */
    char stage[16];
    uint32_t done;
    int faults, calls;
} job;

static void seen(void *user, const char *stage, uint32_t done, uint32_t of)
{
    job *j = user;
    j->faults += atomic_fetch_add(&j->inside, 1) != 0;
    if (strcmp(j->stage, stage) != 0)
        snprintf(j->stage, sizeof j->stage, "%s", stage);
    else if (done < j->done || (of && done > of))
        j->faults++;
    j->done = done;
    j->calls++;
    atomic_fetch_sub(&j->inside, 1);
}

static void *compile(void *at)
{
    job *j = at;
    char model[512];
    snprintf(model, sizeof model, "%s/examples/models/mnist_cntk.onnx", getenv("TENON_SOURCE_DIR"));
    tenon_options o = {
        .size = sizeof o, .threads = j->threads, .progress = seen, .progress_user = j, .opt_level = 3};
    tenon *t = tenon_new();
    j->failed = !t || tenon_build(tenon_module_read(t, model, &o), &o, j->path, NULL);
    if (j->failed)
        print_error("%s", t ? tenon_messages(t) : "");
    tenon_free(t);
    return NULL;
}

static size_t read_file(const char *path, char **out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size_t n = (size_t)ftell(f);
    rewind(f);
    *out = malloc(n);
    assert_int_equal(fread(*out, 1, n, f), n);
    fclose(f);
    return n;
}

static void two_at_once(void **state)
{
    char dir[] = "tn-sessions-XXXXXX", *one, *other;
    job j[SESSIONS + 1] = {0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    setenv("TENON_CACHE", "off", 1);
    for (int i = 0; i <= SESSIONS; i++) {
        snprintf(j[i].path, sizeof j[i].path, "%s/%d.tar", dir, i);
        j[i].threads = i < SESSIONS ? 8 : 1;
        if (i < SESSIONS)
            assert_int_equal(pthread_create(&j[i].thread, NULL, compile, &j[i]), 0);
    }
    for (int i = 0; i < SESSIONS; i++)
        assert_int_equal(pthread_join(j[i].thread, NULL), 0);
    (void)compile(&j[SESSIONS]);
    size_t n = read_file(j[SESSIONS].path, &one);
    for (int i = 0; i <= SESSIONS; i++) {
        assert_int_equal(j[i].failed, 0);
        assert_int_equal(j[i].faults, 0);
        assert_true(j[i].calls > 10);
        assert_int_equal(read_file(j[i].path, &other), n);
        assert_memory_equal(one, other, n);
        free(other);
        unlink(j[i].path);
    }
    free(one);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
