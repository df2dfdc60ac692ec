/* The package: an uncompressed tar with exactly mod.so, mod.json (where the graph is static), mod.params and mod.sum;
 * the bytes depend on the model and the options alone (SOURCE_DATE_EPOCH is honoured). */
#include "base/sha256.h"
#include "base/wire/sum.h"
#include "base/wire/tar.h"
#include "driver/driver.h"

#include <stdlib.h>

static uint64_t mtime(void)
{
    const char *s = getenv("SOURCE_DATE_EPOCH");
    return s ? strtoull(s, NULL, 10) : 0;
}

tn_code_options tn_code_begin(tn_build *b, tn_code_cache *cache)
{
    uint32_t n = b->unit.n_kernel < TN_OBJECTS ? b->unit.n_kernel : TN_OBJECTS - 1;
    b->objects.most = b->target.row->generator->caches_kernels ? n : 0;
    b->objects.watched = b;
    tn_progress_say(b, "code", 0, b->objects.most);
    *cache = tn_code_cache_open(&b->objects);
    return (tn_code_options){.triple = b->target.triple,
                             .opt_level = b->opt.opt_level,
                             .cache = cache,
                             .threads = tn_build_threads(b)};
}

static tn_status make_code(tn_build *b, tn_buf code[TN_OBJECTS], uint32_t *out_n)
{
    const tn_generator *g = b->target.row->generator;
    tn_code_cache cache;
    const tn_code_options o = tn_code_begin(b, &cache);
    *out_n = 1;
    return b->unit.private && g->text ? g->text(&b->unit, code)
                                      : g->parts(&b->unit, &o, TN_OBJECTS, code, out_n);
}

void tn_params_make(tn_build *b, tn_sink *out)
{
    tn_params_write(b->n_constant, b->constant_name, b->constant, true, out);
}

static void add_sum(tn_buf *sums, const char *name, tn_sha256 *sum)
{
    uint8_t digest[32];
    char text[65];
    tn_sha256_end(sum, digest);
    tn_sum_text(digest, text);
    tn_buf_printf(sums, "%s  %s\n", text, name);
}

static void add_file(tn_buf *tar, tn_buf *sums, const char *name, const tn_buf *file)
{
    tn_sha256 sum;
    tn_sha256_init(&sum);
    tn_sha256_add(&sum, file->at, file->n);
    add_sum(sums, name, &sum);
    tn_tar_add(tar, name, file->at, file->n, mtime());
}

/* The weights are most of a package: they go from where they are to where it goes. */
static void add_weights(tn_build *b, tn_buf *tar, tn_buf *sums, tn_sink *to)
{
    tn_sha256 sum;
    tn_sink size = {0};
    tn_params_make(b, &size);
    tn_tar_begin(tar, "mod.params", size.n, mtime());
    tn_sink_add(to, tar->at, tar->n);
    tn_sha256_init(&sum);
    to->sum = &sum;
    tn_params_make(b, to);
    to->sum = NULL;
    add_sum(sums, "mod.params", &sum);
    tn_buf_clear(tar);
    tn_tar_fill(tar, size.n);
    tn_tar_add(tar, "mod.sum", sums->at, sums->n, mtime());
    tn_tar_end(tar);
    tn_sink_add(to, tar->at, tar->n);
}

typedef struct {
    tn_build *b;
    tn_buf *tar, *sums;
    uint64_t bytes; /* once written */
} package_file;

static void write_package(void *user, tn_sink *out)
{
    package_file *f = user;
    add_weights(f->b, f->tar, f->sums, out);
    f->bytes = out->n;
}

/* To the file `output`, or into *memory. */
static tn_status write_tar(tn_build *b, uint32_t n, const tn_buf code[], const char *output, tn_buf *memory,
                           size_t *out_bytes)
{
    tn_buf so = {0}, json = {0}, tar = {0}, sums = {0};
    tn_status st = tn_link(b, n, code, &so);
    if (st == TN_OK)
        st = tn_target_check_library(b, &so);
    if (st == TN_OK) {
        add_file(&tar, &sums, "mod.so", &so);
        if (tn_program_json(&b->pool, &b->arena, &b->program, b->signature, &json))
            add_file(&tar, &sums, "mod.json", &json);
        if (output) {
            package_file f = {b, &tar, &sums, 0};
            st = tn_files_write(b->ctx, 1,
                                &(tn_file_part){.path = output, .write = write_package, .user = &f});
            *out_bytes = (size_t)f.bytes;
        } else {
            add_weights(b, &tar, &sums, &(tn_sink){.buf = memory});
            *out_bytes = memory->n;
        }
    }
    tn_buf_deinit(&so);
    tn_buf_deinit(&json);
    tn_buf_deinit(&tar);
    tn_buf_deinit(&sums);
    return st;
}

tn_status tn_package_write(tn_build *b, const char *output, tn_buf *memory, size_t *out_bytes)
{
    enum tn_bundle_form form = output ? tn_bundle_form_of(output) : TN_BUNDLE_NONE;
    tn_buf code[TN_OBJECTS] = {{0}};
    uint32_t n = 0;
    double start = tn_now();
    b->unit.private = form == TN_BUNDLE_C;
    tn_status st = make_code(b, code, &n);
    b->seconds.codegen = tn_now() - start;
    start = tn_now();
    if (b->target.row->generator->gives_text && form != TN_BUNDLE_C)
        b->objects.most = n; /* still to be compiled */
    else
        tn_progress_say(b, "package", 0, 0);
    if (st == TN_OK)
        st = form == TN_BUNDLE_NONE ? write_tar(b, n, code, output, memory, out_bytes)
                                    : tn_bundle_write(b, form, n, code, output, out_bytes);
    b->seconds.package = tn_now() - start - b->seconds.cc;
    for (int i = 0; i < TN_OBJECTS; i++)
        tn_buf_deinit(&code[i]);
    return st;
}
