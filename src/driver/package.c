/* The package: an uncompressed tar with exactly mod.so, mod.json (where the graph is static) and mod.params;
 * the bytes depend on the model and the options alone (SOURCE_DATE_EPOCH is honoured). */
#include "base/wire/tar.h"
#include "driver/driver.h"

#include <stdlib.h>

static uint64_t mtime(void)
{
    const char *s = getenv("SOURCE_DATE_EPOCH");
    return s ? strtoull(s, NULL, 10) : 0;
}

tn_status tn_code_make(tn_build *b, tn_buf code[TN_OBJECTS], uint32_t *out_n)
{
    *out_n = 1;
    if (b->target.kind == TN_TARGET_C)
        return b->unit.private ? tn_emit_c(&b->unit, code) : tn_emit_c_parts(&b->unit, TN_OBJECTS, code, out_n);
    const tn_llvm_api *llvm;
    tn_code_cache cache = tn_code_cache_open(&b->objects);
    tn_llvm_options o = {.triple = b->target.triple, .opt_level = b->opt.opt_level, .cache = &cache};
    TN_TRY(tn_llvm_open(b->ctx, &llvm));
    return llvm->objects(&b->unit, &o, TN_OBJECTS, code, out_n);
}

void tn_params_make(tn_build *b, tn_buf *out)
{
    const char **name = TN_NEW_N(&b->arena, const char *, b->n_constant);
    for (uint32_t i = 0; i < b->n_constant; i++)
        name[i] = tn_arena_printf(&b->arena, "p%u", i);
    tn_params_write(b->n_constant, name, b->constant, out);
}

static tn_status write_tar(tn_build *b, uint32_t n, const tn_buf code[], const char *output, size_t *out_bytes)
{
    tn_buf so = {0}, json = {0}, blob = {0}, tar = {0};
    bool is_static = false;
    tn_status st = tn_link(b, n, code, &so);
    if (st == TN_OK)
        st = tn_target_check_library(b, &so);
    if (st == TN_OK)
        st = tn_json_write(b, &json, &is_static);
    if (st == TN_OK) {
        tn_params_make(b, &blob);
        tn_tar_add(&tar, "mod.so", so.at, so.n, mtime());
        if (is_static)
            tn_tar_add(&tar, "mod.json", json.at, json.n, mtime());
        tn_tar_add(&tar, "mod.params", blob.at, blob.n, mtime());
        tn_tar_end(&tar);
        *out_bytes = tar.n;
        st = tn_file_write(b->ctx, output, tar.at, tar.n);
    }
    tn_buf_deinit(&so);
    tn_buf_deinit(&json);
    tn_buf_deinit(&blob);
    tn_buf_deinit(&tar);
    return st;
}

tn_status tn_package_write(tn_build *b, const char *output, size_t *out_bytes)
{
    enum tn_bundle_form form = tn_bundle_form_of(output);
    tn_buf code[TN_OBJECTS] = {{0}};
    uint32_t n = 0;
    double start = tn_now();
    b->unit.private = form == TN_BUNDLE_C;
    tn_status st = tn_code_make(b, code, &n);
    b->seconds.codegen = tn_now() - start;
    start = tn_now();
    if (st == TN_OK)
        st = form == TN_BUNDLE_NONE ? write_tar(b, n, code, output, out_bytes)
                                    : tn_bundle_write(b, form, n, code, output, out_bytes);
    b->seconds.package = tn_now() - start - b->seconds.cc;
    for (int i = 0; i < TN_OBJECTS; i++)
        tn_buf_deinit(&code[i]);
    return st;
}
