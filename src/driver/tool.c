/* Programs the driver runs (the linker, a C compiler, objcopy, ar): spawned without a shell, in a private temporary
 * folder that is always removed. */
#include "driver/tool.h"

#include "base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void remove_workdir(tn_resource *r)
{
    tn_workdir *w = r->at;
    for (size_t i = 0; i < w->files.n; i++)
        unlink(w->files.at[i]);
    rmdir(w->dir);
}

tn_status tn_workdir_open(tn_build *b, tn_workdir **out)
{
    const char *tmp = getenv("TMPDIR");
    tn_resource *held = tn_resource_new(remove_workdir);
    tn_workdir *w = *out = TN_NEW(&b->arena, tn_workdir);
    *w = (tn_workdir){.b = b, .held = held};
    int n = snprintf(w->dir, sizeof w->dir, "%s/tenon-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof w->dir || !mkdtemp(w->dir))
        return tn_error(b->ctx, "driver-E020", NULL,
                        "cannot make a temporary folder in %s (TMPDIR names another): %s",
                        tmp && *tmp ? tmp : "/tmp", strerror(errno));
    held->at = w;
    return TN_OK;
}

void tn_workdir_close(tn_workdir *w)
{
    tn_resource_end(w->held);
    tn_vec_deinit(&w->files);
}

const char *tn_workdir_file(tn_workdir *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *name = tn_arena_vprintf(&w->b->arena, fmt, ap);
    va_end(ap);
    const char *path = tn_arena_printf(&w->b->arena, "%s/%s", w->dir, name);
    tn_vec_push(&w->files, path);
    return path;
}

void tn_command_add(tn_tool_command *c, const char *word)
{
    TN_ASSERT(c->n < TN_TOOL_WORDS - 1);
    c->at[c->n++] = word;
    c->at[c->n] = NULL;
}

void tn_command_split(tn_build *b, tn_tool_command *c, const char *text)
{
    while (text && *(text += strspn(text, " ")) && c->n < TN_TOOL_WORDS - 48) {
        size_t n = strcspn(text, " ");
        tn_command_add(c, tn_arena_strndup(&b->arena, text, n));
        text += n;
    }
}

/* output: the file that becomes its standard output, or NULL: ours. */
static tn_tool_end run(const tn_tool_command *c, const char *output)
{
    tn_tool_end end = {0};
    end.error = tn_process_run(c->at, output, &end.status);
    return end;
}

tn_tool_end tn_command_wait(const tn_tool_command *c) { return run(c, NULL); }

tn_status tn_command_judge(tn_build *b, const tn_tool_command *c, tn_tool_end end)
{
    if (end.error)
        return tn_error(
            b->ctx, "driver-E021", NULL,
            "cannot run %s: %s; install it (binutils or gcc) or name another with --cross-compiler", c->at[0],
            strerror(end.error));
    int number = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0;
    if (number == SIGINT || number == SIGTERM ||
        number == SIGHUP) /* sent to all of us: let it end this process, too */
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    if (number)
        return tn_error(b->ctx, "driver-E022", NULL,
                        "%s was killed by signal %d while it compiled the generated code", c->at[0], number);
    if (!WIFEXITED(end.status) || WEXITSTATUS(end.status))
        return tn_error(b->ctx, "driver-E022", NULL,
                        "%s failed on the generated code (exit status %d); see its message above", c->at[0],
                        WEXITSTATUS(end.status));
    return TN_OK;
}

tn_status tn_command_run(tn_build *b, const tn_tool_command *c)
{
    return tn_command_judge(b, c, tn_command_wait(c));
}

/* What the cross compiler would call for a tool of that name. */
static tn_status ask(tn_workdir *w, const char *name, const char **out)
{
    tn_build *b = w->b;
    tn_tool_command c = {0};
    tn_buf said = {0};
    const char *file = tn_workdir_file(w, "%s.txt", name);
    tn_command_add(&c, b->opt.cross_compiler);
    tn_command_split(b, &c, b->opt.cross_compiler_options);
    tn_command_add(&c, tn_arena_printf(&b->arena, "-print-prog-name=%s", name));
    TN_TRY(tn_command_judge(b, &c, run(&c, file)));
    tn_status st = tn_file_take(b, file, &said);
    size_t n = strcspn(tn_buf_cstr(&said), "\n");
    *out = n ? tn_arena_strndup(&b->arena, said.at, n) : name;
    tn_buf_deinit(&said);
    return st;
}

tn_status tn_command_begin(tn_workdir *w, tn_tool_command *c, enum tn_tool tool)
{
    static const char *const native[] = {"cc", "ld", "ar", "objcopy"};
    tn_build *b = w->b;
    const char *program = native[tool];
    *c = (tn_tool_command){0};
    if (b->opt.cross_compiler && tool <= TN_TOOL_LD)
        program = b->opt.cross_compiler;
    else if (b->opt.cross_compiler)
        TN_TRY(ask(w, native[tool], &program));
    tn_command_add(c, program);
    if (b->opt.cross_compiler && tool == TN_TOOL_LD)
        tn_command_split(b, c, b->opt.cross_compiler_options);
    return TN_OK;
}

tn_status tn_file_take(tn_build *b, const char *path, tn_buf *out)
{
    tn_file f = {0};
    TN_TRY(tn_file_map(b->ctx, path, &f));
    tn_buf_add(out, f.at, f.n);
    tn_file_unmap(&f);
    return TN_OK;
}
