/* From code to mod.so. */
#include "base/thread.h"
#include "driver/elf_link.h"
#include "driver/tool.h"

/* cc (or --cross-compiler) on generated C: flags that keep its results those of the interpreter. */
static tn_status source_command(tn_workdir *w, tn_tool_command *c)
{
    tn_build *b = w->b;
    static const char *const flags[] = {
        "-std=gnu17", "-O3", "-w", "-fPIC", "-ffreestanding", "-fno-math-errno", "-ffp-contract=off"};
    TN_TRY(tn_command_begin(w, c, TN_TOOL_CC));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        tn_command_add(c, flags[i]);
    bool named = tn_machine_has_flags(&b->machine); /* others: -march, with the cross compiler */
    for (uint32_t i = 0; named && i < b->n_feature; i++)
        tn_command_add(c, tn_arena_printf(&b->arena, "-m%s", b->feature[i]));
    tn_command_split(b, c, b->opt.cross_compiler_options);
    return TN_OK;
}

/* ---- C to objects: what is not in the cache, by as many compilers at once as threads may compile ---- */

typedef struct {
    tn_tool_command command;
    tn_tool_end end;
    uint8_t key[32];
    bool cached;
} job;

static void compile(void *user, size_t i, unsigned worker)
{
    (void)worker;
    job *j = *((job **)user + i);
    j->end = tn_command_wait(&j->command);
}

/* A compiler that the user names may be a script, whose file says nothing about what it runs: not cached. */
static tn_status prepare(tn_workdir *w, const tn_code_cache *cache, const tn_buf *code, uint32_t i,
                         const char *object, job *j)
{
    tn_build *b = w->b;
    tn_buf had = {0};
    tn_status st = TN_OK;
    TN_TRY(source_command(w, &j->command));
    if (!b->opt.cross_compiler) {
        tn_code_cache_key(code, j->command.n, j->command.at, j->key);
        j->cached = cache->load(cache->user, j->key, &had);
    }
    if (j->cached) {
        st = tn_file_write_temporary(b->ctx, object, had.at, had.n);
    } else {
        const char *source = tn_workdir_file(w, "mod%u.c", i);
        tn_command_add(&j->command, "-c");
        tn_command_add(&j->command, "-o");
        tn_command_add(&j->command, object);
        tn_command_add(&j->command, source);
        st = tn_file_write_temporary(b->ctx, source, code->at, code->n);
    }
    tn_buf_deinit(&had);
    return st;
}

static tn_status finish(tn_build *b, const tn_code_cache *cache, const char *object, const job *j)
{
    tn_buf made = {0};
    if (j->cached)
        return TN_OK;
    TN_TRY(tn_command_judge(b, &j->command, j->end));
    if (b->opt.cross_compiler)
        return TN_OK;
    tn_status st = tn_file_take(b, object, &made);
    if (st == TN_OK)
        cache->save(cache->user, j->key, &made);
    tn_buf_deinit(&made);
    return st;
}

static tn_status compile_all(tn_workdir *w, uint32_t n, const tn_buf code[], const char *const object[])
{
    tn_build *b = w->b;
    tn_code_cache cache = tn_code_cache_open(&b->objects);
    job *all = TN_NEW_N(&b->arena, job, n), *open[TN_OBJECTS];
    size_t n_open = 0;
    for (uint32_t i = 0; i < n; i++) {
        TN_TRY(prepare(w, &cache, &code[i], i, object[i], &all[i]));
        if (!all[i].cached)
            open[n_open++] = &all[i];
    }
    tn_parallel_for(n_open, tn_build_threads(b), compile, open);
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(finish(b, &cache, object[i], &all[i]));
    return TN_OK;
}

tn_status tn_objects_write(tn_workdir *w, uint32_t n, const tn_buf code[], const char *out_path[])
{
    tn_build *b = w->b;
    for (uint32_t i = 0; i < n; i++)
        out_path[i] = tn_workdir_file(w, "mod%u.o", i);
    if (b->target.row->generator->gives_text) {
        double start = tn_now();
        tn_status st = compile_all(w, n, code, out_path);
        b->seconds.cc = tn_now() - start;
        return st;
    }
    for (uint32_t i = 0; i < n; i++)
        TN_TRY(tn_file_write_temporary(b->ctx, out_path[i], code[i].at, code[i].n));
    return TN_OK;
}

static tn_status link_objects(tn_workdir *w, uint32_t n, const char *const object[], const char *so)
{
    tn_tool_command c;
    TN_TRY(tn_command_begin(w, &c, TN_TOOL_LD));
    tn_command_add(&c, "-shared");
    if (w->b->opt.cross_compiler) {
        tn_command_add(&c, "-nostdlib");
        tn_command_add(&c, "-Wl,--build-id=none");
    } else {
        tn_command_add(&c, "--build-id=none");
        tn_command_add(&c, "-z");
        tn_command_add(&c, "noexecstack");
    }
    tn_command_add(&c, "-o");
    tn_command_add(&c, so);
    for (uint32_t i = 0; i < n; i++)
        tn_command_add(&c, object[i]);
    return tn_command_run(w->b, &c);
}

static tn_bytes bytes_of(const tn_buf *b) { return (tn_bytes){(const uint8_t *)b->at, b->n}; }

static tn_status link_here(tn_build *b, uint32_t n, const tn_buf code[], tn_buf *out_so)
{
    tn_bytes object[TN_OBJECTS];
    for (uint32_t i = 0; i < n; i++)
        object[i] = bytes_of(&code[i]);
    return tn_elf_link(b->ctx, &(tn_elf_job){.n_object = n, .object = object}, &(tn_sink){.buf = out_so});
}

tn_status tn_link(tn_build *b, uint32_t n, const tn_buf code[], tn_buf *out_so)
{
    tn_workdir *w;
    const char *object[TN_OBJECTS];
    if (!b->target.row->generator->gives_text && !b->opt.cross_compiler &&
        tn_elf_link_can(bytes_of(&code[0])))
        return link_here(b, n, code, out_so);
    TN_TRY(tn_workdir_open(b, &w));
    const char *so = tn_workdir_file(w, "mod.so");
    tn_status st = tn_objects_write(w, n, code, object);
    if (st == TN_OK)
        st = link_objects(w, n, object, so);
    if (st == TN_OK)
        st = tn_file_take(b, so, out_so);
    tn_workdir_close(w);
    return st;
}
