/* The rows of code generators. */
#include "codegen/codegen.h"

static tn_status llvm_parts(const tn_unit *u, const tn_code_options *o, uint32_t max, tn_buf out[],
                            uint32_t *out_n)
{
    const tn_llvm_api *llvm;
    TN_TRY(tn_llvm_open(u->ctx, &llvm));
    return llvm->objects(u, o, max, out, out_n);
}

static tn_status llvm_here(const tn_unit *u, const tn_code_options *o, void **out_code,
                           const tn_library **out_library)
{
    const tn_llvm_api *llvm;
    tn_jit *jit;
    TN_TRY(tn_llvm_open(u->ctx, &llvm));
    TN_TRY(llvm->jit(u, o, &jit, out_library));
    llvm->jit_keep(jit);
    *out_code = jit;
    return TN_OK;
}

static void llvm_free(tn_resource *code)
{
    const tn_llvm_api *llvm;
    if (tn_llvm_open(NULL, &llvm) == TN_OK)
        llvm->jit_free(code->at);
}

static tn_status c_parts(const tn_unit *u, const tn_code_options *o, uint32_t max, tn_buf out[],
                         uint32_t *out_n)
{
    (void)o;
    return tn_emit_c_parts(u, max, out, out_n);
}

const tn_generator tn_generator_llvm = {
    .name = "llvm",
    .multiplies_tiles = true,
    .caches_kernels = true,
    .open_early = tn_llvm_open_early,
    .parts = llvm_parts,
    .here = llvm_here,
    .here_free = llvm_free,
};

const tn_generator tn_generator_c = {
    .name = "c",
    .gives_text = true,
    .parts = c_parts,
    .text = tn_emit_c,
};
