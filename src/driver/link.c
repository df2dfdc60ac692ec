/* From code to mod.so. */
#include "driver/tool.h"

/* cc (or --cross-compiler) on generated C: flags that keep its results those of the interpreter. */
static void source_flags(tn_build *b, tn_tool_command *c)
{
    static const char *const flags[] = {"-std=gnu17", "-O3", "-w", "-Wno-psabi", "-fPIC", "-ffreestanding",
                                        "-fno-math-errno", "-ffp-contract=off"};
    tn_command_add(c, b->opt.cross_compiler ? b->opt.cross_compiler : "cc");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        tn_command_add(c, flags[i]);
    for (uint32_t i = 0; i < b->n_feature; i++)
        tn_command_add(c, tn_arena_printf(&b->arena, "-m%s", b->feature[i]));
    tn_command_split(b, c, b->opt.cross_compiler_options);
}

static tn_status compile(tn_build *b, const char *in, const char *out)
{
    tn_tool_command c = {0};
    source_flags(b, &c);
    tn_command_add(&c, "-c");
    tn_command_add(&c, "-o");
    tn_command_add(&c, out);
    tn_command_add(&c, in);
    return tn_command_run(b, &c);
}

tn_status tn_objects_write(tn_workshop *w, uint32_t n, const tn_buf code[], const char *out_path[])
{
    tn_build *b = w->b;
    bool is_source = b->target.kind == TN_TARGET_C;
    for (uint32_t i = 0; i < n; i++) {
        const char *source = is_source ? tn_workshop_file(w, "mod%u.c", i) : NULL;
        out_path[i] = tn_workshop_file(w, "mod%u.o", i);
        TN_TRY(tn_file_write_temporary(b->ctx, is_source ? source : out_path[i], code[i].at, code[i].n));
        if (is_source)
            TN_TRY(compile(b, source, out_path[i]));
    }
    return TN_OK;
}

tn_status tn_link(tn_build *b, uint32_t n, const tn_buf code[], tn_buf *out_so)
{
    tn_workshop w;
    tn_tool_command c = {0};
    const char *object[TN_OBJECTS];
    TN_TRY(tn_workshop_open(b, &w));
    const char *so = tn_workshop_file(&w, "mod.so");
    tn_status st = tn_objects_write(&w, n, code, object);
    tn_command_add(&c, b->opt.cross_compiler ? b->opt.cross_compiler : "ld");
    tn_command_add(&c, "-shared");
    if (b->opt.cross_compiler) {
        tn_command_add(&c, "-nostdlib");
        tn_command_add(&c, "-Wl,--build-id=none");
        tn_command_split(b, &c, b->opt.cross_compiler_options);
    } else {
        tn_command_add(&c, "--build-id=none");
        tn_command_add(&c, "-z");
        tn_command_add(&c, "noexecstack");
    }
    tn_command_add(&c, "-o");
    tn_command_add(&c, so);
    for (uint32_t i = 0; st == TN_OK && i < n; i++)
        tn_command_add(&c, object[i]);
    if (st == TN_OK)
        st = tn_command_run(b, &c);
    if (st == TN_OK)
        st = tn_file_take(b, so, out_so);
    tn_workshop_close(&w);
    return st;
}
