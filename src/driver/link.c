/* From code to mod.so: the linker is spawned without a shell; temporaries live in a private folder that is
 * always removed. */
#include "driver/driver.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_FILES = 16 };
typedef struct { char dir[256]; uint32_t n; const char *in[MAX_FILES], *out; } workspace;

static tn_status open_workspace(tn_build *b, uint32_t files, const char *suffix, workspace *w)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(w->dir, sizeof w->dir, "%s/tenon-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof w->dir || !mkdtemp(w->dir))
        return tn_error(b->ctx, "driver-E020", NULL, "cannot make a temporary folder in %s: %s",
                        tmp && *tmp ? tmp : "/tmp", strerror(errno));
    TN_ASSERT(files <= MAX_FILES);
    w->n = files;
    for (uint32_t i = 0; i < files; i++)
        w->in[i] = tn_arena_printf(&b->arena, "%s/mod%u%s", w->dir, i, suffix);
    w->out = tn_arena_printf(&b->arena, "%s/mod.so", w->dir);
    return TN_OK;
}

static void close_workspace(const workspace *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        unlink(w->in[i]);
    unlink(w->out);
    rmdir(w->dir);
}

static tn_status run(tn_build *b, const char *const argv[])
{
    pid_t pid;
    int status = 0;
    int e = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
    if (e)
        return tn_error(
            b->ctx, "driver-E021", NULL,
            "cannot run %s: %s; install it (binutils or gcc) or name another with --cross-compiler", argv[0],
            strerror(e));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return tn_error(b->ctx, "driver-E022", NULL,
                        "%s failed on the generated code (status %d); its own message stands above", argv[0],
                        status);
    return TN_OK;
}

typedef struct { const char *at[96]; int n; } command;

static void add(command *c, const char *word)
{
    TN_ASSERT(c->n < 95);
    c->at[c->n++] = word;
    c->at[c->n] = NULL;
}

static void add_options(tn_build *b, command *c, const char *text)
{
    while (text && *(text += strspn(text, " ")) && c->n < 60) {
        size_t n = strcspn(text, " ");
        add(c, tn_arena_strndup(&b->arena, text, n));
        text += n;
    }
}

static void source_command(tn_build *b, command *c, const workspace *w)
{
    add(c, b->opt.cross_compiler ? b->opt.cross_compiler : "cc");
    static const char *const flags[] = {"-std=gnu17",
                                        "-O3",
                                        "-w",
                                        "-Wno-psabi",
                                        "-shared",
                                        "-fPIC",
                                        "-nostdlib",
                                        "-ffreestanding",
                                        "-fno-math-errno",
                                        "-ffp-contract=off",
                                        "-Wl,--build-id=none"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add(c, flags[i]);
    for (uint32_t i = 0; i < b->n_feature; i++)
        add(c, tn_arena_printf(&b->arena, "-m%s", b->feature[i]));
    add_options(b, c, b->opt.cross_compiler_options);
    add(c, "-o");
    add(c, w->out);
    for (uint32_t i = 0; i < w->n; i++)
        add(c, w->in[i]);
}

static void object_command(tn_build *b, command *c, const workspace *w)
{
    add(c, b->opt.cross_compiler ? b->opt.cross_compiler : "ld");
    add(c, "-shared");
    if (!b->opt.cross_compiler) {
        add(c, "--build-id=none");
        add(c, "-z");
        add(c, "noexecstack");
    } else {
        add(c, "-nostdlib");
    }
    add_options(b, c, b->opt.cross_compiler_options);
    add(c, "-o");
    add(c, w->out);
    for (uint32_t i = 0; i < w->n; i++)
        add(c, w->in[i]);
}

tn_status tn_link(tn_build *b, uint32_t n, const tn_buf code[], bool is_source, tn_buf *out_so)
{
    workspace w;
    command c = {0};
    TN_TRY(open_workspace(b, n, is_source ? ".c" : ".o", &w));
    tn_file so = {0};
    tn_status st = TN_OK;
    for (uint32_t i = 0; i < n && st == TN_OK; i++)
        st = tn_file_write(b->ctx, w.in[i], code[i].at, code[i].n);
    if (st == TN_OK) {
        if (is_source)
            source_command(b, &c, &w);
        else
            object_command(b, &c, &w);
        st = run(b, c.at);
    }
    if (st == TN_OK)
        st = tn_file_map(b->ctx, w.out, &so);
    if (st == TN_OK) {
        tn_buf_add(out_so, so.at, so.n);
        tn_file_unmap(&so);
    }
    close_workspace(&w);
    return st;
}
