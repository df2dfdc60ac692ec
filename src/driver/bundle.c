/* Self-contained outputs: kernels, weights and the runtime core in one relocatable object, then as asked
 *
 *   .o   that object: its only global names are the functions of the header
 *   .a   an archive of it
 *   .so  it, linked against libc and libm; it exports one name more, by which the runtime opens it
 *   .c   no object: the kernels' C source with the weights as an array, for the user's compiler and libtenon_bundle.a
 *
 * The header (header.c) lies beside the file under the same name. */
#include "base/wire/sum.h"
#include "driver/elf_link.h"
#include "driver/elf_model.h"
#include "driver/tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 1 << 30 };         /* weights apart from code */
enum { LARGEST_TEXT = 32 << 20 }; /* weights as C text: six characters a byte */

/* The functions of the header: tenon_bundle_<name> in the archive, tvmgen_<module>_<name> for users. Only those that
 * the header declares for this model and form are kept (is_seen). */
static const struct {
    const char *name, *result, *params, *call;
} entry[] = {
    {"run", "int32_t", "const void *inputs, const void *outputs", "run(&tn_model, inputs, outputs, 0)"},
    {"run_symbolic", "int32_t", "const void *inputs, const void *outputs, int64_t *symbols",
     "run(&tn_model, inputs, outputs, symbols)"},
    {"reset", "int32_t", "void", "reset(&tn_model)"},
    {"threads", "int32_t", "int32_t n", "threads(&tn_model, n)"},
    {"error", "const char *", "void", "error(&tn_model)"},
    {"free", "void", "void", "free(&tn_model)"},
    {"library", NULL, NULL, NULL}, /* the runtime opens a .so by it */
};
enum { N_ENTRY = sizeof entry / sizeof *entry };

static bool is_seen(const tn_build *b, int i, enum tn_bundle_form form)
{
    if (strcmp(entry[i].name, "library") == 0)
        return form == TN_BUNDLE_SO;
    if (strcmp(entry[i].name, "reset") == 0)
        return b->program.n_state > 0;
    return strcmp(entry[i].name, b->main->n_symbol ? "run" : "run_symbolic") != 0;
}

static const char *seen_name(tn_build *b, int i)
{
    return tn_arena_printf(&b->arena, "tvmgen_%s_%s", b->unit.name, entry[i].name);
}

enum tn_bundle_form tn_bundle_form_of(const char *output)
{
    static const struct {
        const char *suffix;
        enum tn_bundle_form form;
    } row[] = {{".so", TN_BUNDLE_SO}, {".o", TN_BUNDLE_O}, {".a", TN_BUNDLE_A}, {".c", TN_BUNDLE_C}};
    size_t n = strlen(output);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t k = strlen(row[i].suffix);
        if (n > k && strcmp(output + n - k, row[i].suffix) == 0 && output[n - k - 1] != '/')
            return row[i].form;
    }
    return TN_BUNDLE_NONE;
}

/* <libraries>/libtenon_bundle.a; for another machine <libraries>/<triple>/libtenon_bundle.a. */
static tn_status find_runtime(tn_build *b, const char **out)
{
    tn_buf dir = {0};
    tn_library_folder(&dir);
    *out = tn_arena_printf(&b->arena, "%s%s%s/libtenon_bundle.a", tn_buf_cstr(&dir),
                           b->target.triple ? "/" : "", b->target.triple ? b->target.triple : "");
    tn_buf_deinit(&dir);
    if (access(*out, R_OK) == 0)
        return TN_OK;
    return tn_error(b->ctx, "driver-E053", NULL,
                    "%s: %s; a self-contained library needs the runtime for its machine; install Tenon's "
                    "libraries (TENON_LIBDIR names their folder), or write a .tar or .c",
                    *out, strerror(errno));
}

static void words(tn_tool_command *c, int n, const char *const word[])
{
    for (int i = 0; i < n; i++)
        tn_command_add(c, word[i]);
}
#define WORDS(c, ...) \
    words(c, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
          (const char *const[]){__VA_ARGS__})

/* ---- the model as an object: weights, and how a library is opened ---- */

static uint64_t weights_bytes(tn_build *b)
{
    tn_sink size = {0};
    tn_params_make(b, &size);
    return size.n;
}

static void add_weights(void *b, tn_sink *out) { tn_params_make(b, out); }

static tn_status write_model(tn_ctx *ctx, const void *model, tn_sink *out)
{
    return tn_elf_model_write(ctx, model, out);
}

/* A file of the folder, piece by piece. */
static tn_status write_file(tn_build *b, const char *path,
                            tn_status (*write)(tn_ctx *ctx, const void *user, tn_sink *out), const void *user)
{
    tn_output *file = TN_NEW(&b->arena, tn_output);
    tn_sink to = {.output = file};
    tn_resource *held = tn_resource_new(tn_output_abandon);
    tn_status st = tn_file_report(b->ctx, path, tn_output_open_temporary(file, path));
    if (st == TN_OK) {
        held->at = file;
        st = write(b->ctx, user, &to);
        held->at = NULL;
        int error = tn_outputs_close(1, &file, st == TN_OK);
        st = st == TN_OK ? tn_file_report(b->ctx, path, error) : st;
    }
    tn_resource_drop(held);
    return st;
}

/* `code`: one of the objects of the kernels. The weights go straight from the constants to the file. */
static tn_status model_object(tn_workdir *w, enum tn_bundle_form form, const char *code, const char **out)
{
    tn_build *b = w->b;
    tn_file made = {0};
    uint64_t size = weights_bytes(b);
    *out = tn_workdir_file(w, "weights.o");
    TN_TRY(tn_file_map(b->ctx, code, &made));
    const tn_elf_model model = {.code = {made.at, made.n},
                                .entry = form == TN_BUNDLE_SO ? seen_name(b, N_ENTRY - 1) : NULL,
                                .large = size > LARGE, /* code reaches 2 GiB far */
                                .bytes = size,
                                .write = add_weights,
                                .user = b};
    tn_status st = write_file(b, *out, write_model, &model);
    tn_file_unmap(&made);
    return st;
}

/* ---- families of instructions that the runtime has in objects of their own (runtime/family.h) ---- */

enum { FLAT, FRAME, HOST, STATE, VALUE, N_FAMILY };
static const char *const family_symbol[N_FAMILY] = {NULL, "tnr_family_frame", "tnr_family_host",
                                                    "tnr_family_state", "tnr_family_value"};

/* Does the program need it? */
static bool needs(const tn_program_ir *p, int family)
{
    static const uint8_t of[] = {
#define INST(name, number, family, a, operands, doc) [number] = family,
#include "tenon/inst.def"
#undef INST
    };
    bool found = family == STATE && p->n_state > 0;
    for (uint32_t f = 0; f < p->n_function; f++)
        for (uint32_t i = 0; i < p->function[f].n_inst; i++)
            found |= of[p->function[f].inst[i].op] == family;
    return found;
}

/* Its header declares functions that take and give pointers to elements, and none to register others. */
static tn_status check_program(tn_build *b, const char *output)
{
    bool value = false;
    for (uint32_t i = 0; i < b->main->n_slot; i++)
        value |= b->main->slot[i].kind <= TN_SLOT_OUTPUT && b->main->slot[i].storage == TN_STORAGE_HANDLE;
    return value || needs(&b->program, HOST)
               ? tn_error(b->ctx, "driver-E096", NULL,
                          "%s: a self-contained library cannot %s; write a .tar, which the runtime opens",
                          output,
                          value ? "take or give values other than tensors" : "call functions of the host")
               : TN_OK;
}

/* ---- one object ---- */

static tn_status join(tn_workdir *w, uint32_t n, const char *const object[], const char *model,
                      const char *out)
{
    tn_build *b = w->b;
    const char *runtime;
    TN_TRY(find_runtime(b, &runtime));
    tn_tool_command c;
    TN_TRY(tn_command_begin(w, &c, TN_TOOL_LD));
    if (b->opt.cross_compiler)
        WORDS(&c, "-nostdlib", "-r", "-o", out);
    else
        WORDS(&c, "-r", "-o", out);
    WORDS(&c, "-u", "tenon_bundle_run"); /* all of entry.c */
    for (int f = FRAME; f < N_FAMILY; f++)
        if (needs(&b->program, f))
            WORDS(&c, "-u", family_symbol[f]);
    for (uint32_t i = 0; i < n; i++)
        tn_command_add(&c, object[i]);
    WORDS(&c, model, runtime);
    return tn_command_run(b, &c);
}

/* The names of the header, and no other global one. */
static tn_status rename_entries(tn_workdir *w, enum tn_bundle_form form, const char *in, const char *out)
{
    tn_build *b = w->b;
    tn_tool_command c;
    TN_TRY(tn_command_begin(w, &c, TN_TOOL_OBJCOPY));
    for (int i = 0; i < N_ENTRY; i++) {
        const char *seen = seen_name(b, i);
        if (is_seen(b, i, form))
            WORDS(&c, "--redefine-sym", tn_arena_printf(&b->arena, "tenon_bundle_%s=%s", entry[i].name, seen),
                  "--keep-global-symbol", seen);
    }
    WORDS(&c, in, out);
    return tn_command_run(b, &c);
}

static tn_status link_library(tn_workdir *w, const char *in, const char *out)
{
    tn_tool_command c;
    TN_TRY(tn_command_begin(w, &c, TN_TOOL_LD));
    if (w->b->opt.cross_compiler)
        WORDS(&c, "-shared", "-Wl,--build-id=none", "-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,-z,nodelete",
              "-o", out, in, "-lm");
    else
        WORDS(&c, "-shared", "--build-id=none", "--gc-sections", "-Bsymbolic", "-z", "noexecstack", "-z",
              "now", "-z", "nodelete", "-o", out, in, "--as-needed", "-l:libm.so.6", "-l:libc.so.6");
    return tn_command_run(w->b, &c);
}

/* ---- a library of this machine, without any program's help ---- */

static bool links_here(const tn_build *b, enum tn_bundle_form form, const tn_buf code[])
{
    return form == TN_BUNDLE_SO && !b->target.row->generator->gives_text && !b->target.triple &&
           !b->opt.cross_compiler && tn_elf_link_can((tn_bytes){(const uint8_t *)code[0].at, code[0].n});
}

static tn_status write_linked(tn_ctx *ctx, const void *job, tn_sink *out)
{
    return tn_elf_link(ctx, job, out);
}

/* The C library of this process. */
static tn_status map_library(tn_build *b, tn_file *out)
{
    Dl_info self = {0};
    (void)dladdr(dlsym(RTLD_DEFAULT, "sysconf"), &self);
    return tn_file_map(b->ctx, self.dli_fname ? self.dli_fname : "libc.so.6", out);
}

static tn_status link_objects(tn_workdir *w, const char *runtime, uint32_t n, const tn_buf code[],
                              const char *model, const char *out)
{
    tn_build *b = w->b;
    tn_file archive = {0}, library = {0}, weights = {0};
    tn_elf_export exported[N_ENTRY];
    tn_bytes object[TN_OBJECTS + 1];
    const char *root[N_FAMILY];
    tn_elf_job job = {.n_object = n + 1, .object = object, .root = root, .exported = exported, .stays = true};
    for (uint32_t i = 0; i < n; i++)
        object[i] = (tn_bytes){(const uint8_t *)code[i].at, code[i].n};
    for (int f = FRAME; f < N_FAMILY; f++)
        if (needs(&b->program, f))
            root[job.n_root++] = family_symbol[f];
    for (int i = 0; i < N_ENTRY; i++)
        if (is_seen(b, i, TN_BUNDLE_SO))
            exported[job.n_export++] = (tn_elf_export){
                tn_arena_printf(&b->arena, "tenon_bundle_%s", entry[i].name), seen_name(b, i)};
    tn_status st = tn_file_map(b->ctx, runtime, &archive);
    st = st == TN_OK ? tn_file_map(b->ctx, model, &weights) : st;
    st = st == TN_OK ? map_library(b, &library) : st;
    object[n] = (tn_bytes){weights.at, weights.n};
    job.archive = (tn_bytes){archive.at, archive.n};
    job.library = (tn_bytes){library.at, library.n};
    st = st == TN_OK ? write_file(b, out, write_linked, &job) : st;
    tn_file_unmap(&library);
    tn_file_unmap(&weights);
    tn_file_unmap(&archive);
    return st;
}

static tn_status make(tn_workdir *w, enum tn_bundle_form form, uint32_t n, const tn_buf code[],
                      const char **out)
{
    tn_build *b = w->b;
    const char *object[TN_OBJECTS], *model, *runtime, *joined = tn_workdir_file(w, "joined.o");
    const char *one = tn_workdir_file(w, "model.o");
    TN_TRY(tn_objects_write(w, n, code, object));
    TN_TRY(model_object(w, form, object[0], &model));
    if (links_here(b, form, code)) {
        *out = tn_workdir_file(w, "model.so");
        TN_TRY(find_runtime(b, &runtime));
        return link_objects(w, runtime, n, code, model, *out);
    }
    TN_TRY(join(w, n, object, model, joined));
    TN_TRY(rename_entries(w, form, joined, one));
    *out = one;
    if (form == TN_BUNDLE_SO) {
        *out = tn_workdir_file(w, "model.so");
        return link_library(w, one, *out);
    }
    if (form == TN_BUNDLE_A) {
        tn_tool_command c;
        *out = tn_workdir_file(w, "model.a");
        TN_TRY(tn_command_begin(w, &c, TN_TOOL_AR));
        WORDS(&c, "rcsD", *out, one);
        return tn_command_run(w->b, &c);
    }
    return TN_OK;
}

/* ---- C source ---- */

/* tn_bundle of tenon/abi.h and runtime/bundle/bundle.h. */
static const char bundle_types[] =
    "typedef struct { const tn_library *(*query)(uint32_t); const void *params; uint64_t params_bytes; void "
    "*state; } "
    "tn_bundle;\n"
    "int32_t tnr_bundle_run(tn_bundle *b, const void *inputs, const void *outputs, int64_t *symbols);\n"
    "int32_t tnr_bundle_reset(tn_bundle *b);\n"
    "int32_t tnr_bundle_threads(tn_bundle *b, int32_t n);\n"
    "const char *tnr_bundle_error(const tn_bundle *b);\n"
    "void tnr_bundle_free(tn_bundle *b);\n";

static tn_status make_source(tn_build *b, const tn_buf *code, tn_buf *out)
{
    tn_buf blob = {0};
    tn_params_make(b, &(tn_sink){.buf = &blob});
    if (blob.n > LARGEST_TEXT) {
        tn_buf_deinit(&blob);
        return tn_error(b->ctx, "driver-E054", NULL,
                        "the weights are too large for C text (more than %d MiB); write a .so, .a or .o",
                        LARGEST_TEXT >> 20);
    }
    tn_buf_add(out, code->at, code->n);
    tn_buf_printf(
        out,
        "\n/* The weights (mod.params) and the functions of the header, all other names being local; link "
        "libtenon_bundle.a,\n * libm and pthreads. */\n"
        "static const unsigned char tn_weights[%zu] __attribute__((aligned(64))) = {",
        blob.n ? blob.n : 1);
    for (size_t i = 0; i < blob.n; i++)
        tn_buf_printf(out, "%s%u,", i % 32 ? "" : "\n    ", (unsigned char)blob.at[i]);
    tn_buf_printf(out, "%s};\n%sstatic tn_bundle tn_model = {" TENON_QUERY_SYMBOL ", tn_weights, %zu, 0};\n",
                  blob.n ? "\n" : "0", bundle_types, blob.n);
    for (int f = FRAME; f < N_FAMILY; f++)
        if (needs(&b->program, f))
            tn_buf_printf(
                out,
                "extern const char %s;\n__attribute__((used)) static const void *const needs_%s = &%s;\n",
                family_symbol[f], family_symbol[f], family_symbol[f]);
    for (int i = 0; i < N_ENTRY; i++)
        if (is_seen(b, i, TN_BUNDLE_C)) {
            const char *name = seen_name(b, i);
            tn_buf_printf(out, "\n%s %s(%s);\n%s %s(%s)\n{\n    %stnr_bundle_%s;\n}\n", entry[i].result, name,
                          entry[i].params, entry[i].result, name, entry[i].params,
                          strcmp(entry[i].result, "void") == 0 ? "" : "return ", entry[i].call);
        }
    tn_buf_deinit(&blob);
    return TN_OK;
}

/* ---- files ---- */

static const char *header_path(tn_build *b, const char *output)
{
    return tn_arena_printf(&b->arena, "%.*s.h", (int)(strrchr(output, '.') - output), output);
}

static tn_status write_both(tn_build *b, enum tn_bundle_form form, const char *output, const void *data,
                            size_t n)
{
    tn_buf header = {0};
    tn_bundle_header(b, form, &header);
    tn_status s =
        tn_files_write(b->ctx, 2,
                       (tn_file_part[]){{.path = output, .data = data, .n = n},
                                        {.path = header_path(b, output), .data = header.at, .n = header.n}});
    tn_buf_deinit(&header);
    return s;
}

static tn_status write_source(tn_build *b, uint32_t n, const tn_buf code[], const char *output,
                              size_t *out_bytes)
{
    tn_buf text = {0};
    if (!b->target.row->generator->text)
        return tn_error(b->ctx, "driver-E055", NULL, "%s: C source needs --target c; add it", output);
    TN_ASSERT(n == 1); /* all of the unit is one text */
    tn_status st = make_source(b, &code[0], &text);
    if (st == TN_OK)
        st = write_both(b, TN_BUNDLE_C, output, text.at, *out_bytes = text.n);
    tn_buf_deinit(&text);
    return st;
}

/* The linked library gets its checksums. */
static tn_status seal(tn_workdir *w, const char *path)
{
    tn_file model = {0};
    tn_elf e;
    uint64_t bytes = weights_bytes(w->b);
    tn_status mapped = tn_file_map(w->b->ctx, tn_workdir_file(w, "weights.o"), &model);
    int fd = open(path, O_RDWR | O_CLOEXEC); /* nothing is allocated until it is closed */
    struct stat st = {0};
    bool known = fd >= 0 && fstat(fd, &st) == 0;
    size_t n = (size_t)st.st_size;
    void *at = known ? mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    bool ok = at != MAP_FAILED && mapped == TN_OK && !tn_elf_read(at, n, &e);
    const uint8_t *weights = ok ? memmem(at, n, model.at + TN_ELF_MODEL_WEIGHTS, bytes) : NULL;
    ok = weights && tn_sum_write(at, n, &e, (uint64_t)(weights - (const uint8_t *)at), bytes);
    if (at != MAP_FAILED)
        munmap(at, n);
    if (fd >= 0)
        close(fd);
    tn_file_unmap(&model);
    return ok ? TN_OK
              : tn_error(w->b->ctx, "driver-E095", NULL,
                         "the linked library has no room for its checksums; is it made by another linker?");
}

static tn_status write_object(tn_workdir *w, enum tn_bundle_form form, uint32_t n, const tn_buf code[],
                              const char *output, size_t *out_bytes)
{
    const char *path;
    tn_file made = {0};
    TN_TRY(make(w, form, n, code, &path));
    if (form == TN_BUNDLE_SO)
        TN_TRY(seal(w, path));
    TN_TRY(tn_file_map(w->b->ctx, path, &made));
    tn_status st = write_both(w->b, form, output, made.at, *out_bytes = made.n);
    tn_file_unmap(&made);
    return st;
}

tn_status tn_bundle_write(tn_build *b, enum tn_bundle_form form, uint32_t n, const tn_buf code[],
                          const char *output, size_t *out_bytes)
{
    tn_workdir *w;
    TN_TRY(check_program(b, output));
    if (form == TN_BUNDLE_C)
        return write_source(b, n, code, output, out_bytes);
    TN_TRY(tn_workdir_open(b, &w));
    tn_status st = write_object(w, form, n, code, output, out_bytes);
    tn_workdir_close(w);
    return st;
}
