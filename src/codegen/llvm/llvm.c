/* The LLVM code generator's entry points: IR, assembly and objects through a target machine, code in this
 * process through ORC. Features come from the detected feature string, never from the CPU's name. */
#include "codegen/llvm/llvmgen.h"

#include "base/cpu.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>
#include <string.h>

/* Enough to turn allocas into values, share and hoist addresses; everything else was decided before. */
static const char passes[] = "mem2reg,early-cse,instsimplify,simplifycfg,loop-simplify,lcssa,loop-mssa(licm),"
                             "loop(indvars),early-cse,dse";

static const tn_llvm_options defaults = {.opt_level = 3};

static char *feature_text(const tn_unit *u, const tn_llvm_options *o)
{
    tn_buf b = {0};
    if (o->features)
        tn_buf_str(&b, o->features);
    for (uint32_t i = 0; !o->features && i < u->n_feature; i++)
        tn_buf_printf(&b, "%s+%s", i ? "," : "", u->feature[i]);
    char *s = strdup(tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static void init_types(tn_lgen *g)
{
    g->i1 = LLVMInt1TypeInContext(g->c);
    g->i8 = LLVMInt8TypeInContext(g->c);
    g->i16 = LLVMInt16TypeInContext(g->c);
    g->i32 = LLVMInt32TypeInContext(g->c);
    g->i64 = LLVMInt64TypeInContext(g->c);
    g->f32 = LLVMFloatTypeInContext(g->c);
    g->f64 = LLVMDoubleTypeInContext(g->c);
    g->ptr = LLVMPointerTypeInContext(g->c, 0);
    g->tvoid = LLVMVoidTypeInContext(g->c);
}

static void emit_unit(tn_lgen *g)
{
    const tn_unit *u = g->unit;
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < u->n_kernel; i++)
        for (uint32_t v = 0; v < u->kernel[i].n_variant; v++)
            n += tn_flat_phases(u->kernel[i].variant[v].func, 0, NULL);
    LLVMValueRef *phase = TN_NEW_N(&g->arena, LLVMValueRef, n);
    for (uint32_t i = 0; i < u->n_kernel && g->status == TN_OK; i++) {
        g->n_check = 0;
        for (uint32_t v = 0; v < u->kernel[i].n_variant; v++) {
            uint32_t p = 0;
            const tn_flat *flat = &u->kernel[i].variant[v];
            for (const tn_stmt *s = flat->func->body.first; s; s = s->next)
                if (s->kind == TN_S_FOR)
                    phase[k++] = tn_l_phase(
                        g, flat, s, tn_arena_printf(&g->arena, "%s_v%u_p%u", u->kernel[i].name, v, p++));
        }
    }
    if (g->status == TN_OK)
        tn_l_tables(g, phase);
    char *message = NULL;
    if (g->status == TN_OK && LLVMVerifyModule(g->m, LLVMReturnStatusAction, &message))
        tn_l_fail(g, "codegen-E006", tn_arena_printf(&g->arena, "the LLVM module is malformed: %.300s", message));
    LLVMDisposeMessage(message);
}

static tn_status machine_for(tn_ctx *ctx, const tn_llvm_options *o, const char *features, LLVMTargetMachineRef *out)
{
    char *host = LLVMGetDefaultTargetTriple(), *message = NULL;
    const char *triple = o->triple ? o->triple : host;
    LLVMTargetRef target;
    tn_status st = TN_OK;
    LLVMInitializeAllTargetInfos();
    LLVMInitializeAllTargets();
    LLVMInitializeAllTargetMCs();
    LLVMInitializeAllAsmPrinters();
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        st = tn_error(ctx, "codegen-E007", NULL, "LLVM has no target for %s: %s", triple, message);
    } else {
        LLVMCodeGenOptLevel level = o->opt_level >= 3   ? LLVMCodeGenLevelAggressive
                                    : o->opt_level == 2 ? LLVMCodeGenLevelDefault
                                                        : LLVMCodeGenLevelLess;
        *out = LLVMCreateTargetMachine(target, triple, strncmp(triple, "x86_64", 6) == 0 ? "x86-64" : "",
                                       features, level, LLVMRelocPIC, LLVMCodeModelDefault);
    }
    LLVMDisposeMessage(message);
    LLVMDisposeMessage(host);
    return st;
}

/* Builds and optimises the module of a unit. On success the caller owns g->m, g->c and *out_tm. */
static tn_status build(tn_lgen *g, const tn_unit *u, const tn_llvm_options *o, char *features,
                       LLVMTargetMachineRef *out_tm)
{
    memset(g, 0, sizeof *g);
    g->unit = u;
    g->features = features;
    tn_arena_init(&g->arena, NULL, NULL);
    TN_TRY(machine_for(u->ctx, o, features, out_tm));
    g->c = LLVMContextCreate();
    g->m = LLVMModuleCreateWithNameInContext(u->name, g->c);
    g->b = LLVMCreateBuilderInContext(g->c);
    init_types(g);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(*out_tm);
    char *triple = LLVMGetTargetMachineTriple(*out_tm);
    LLVMSetModuleDataLayout(g->m, layout);
    LLVMSetTarget(g->m, triple);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    emit_unit(g);
    if (g->status == TN_OK && o->opt_level > 0) {
        LLVMPassBuilderOptionsRef po = LLVMCreatePassBuilderOptions();
        LLVMErrorRef e = LLVMRunPasses(g->m, passes, *out_tm, po);
        LLVMDisposePassBuilderOptions(po);
        if (e) {
            char *m = LLVMGetErrorMessage(e);
            tn_l_fail(g, "codegen-E008", tn_arena_printf(&g->arena, "LLVM refused the pass list: %.200s", m));
            LLVMDisposeErrorMessage(m);
        }
    }
    return g->status;
}

static void drop(tn_lgen *g)
{
    if (g->b)
        LLVMDisposeBuilder(g->b);
    if (g->m)
        LLVMDisposeModule(g->m);
    if (g->c)
        LLVMContextDispose(g->c);
    tn_map_deinit(&g->memo);
    tn_arena_deinit(&g->arena);
}

static tn_status emit(const tn_unit *u, const tn_llvm_options *o, enum tn_llvm_form form, tn_buf *out)
{
    tn_lgen g;
    LLVMTargetMachineRef tm = NULL;
    o = o ? o : &defaults;
    char *features = feature_text(u, o), *message = NULL;
    tn_status st = build(&g, u, o, features, &tm);
    if (st == TN_OK && form == TN_LLVM_LL) {
        char *text = LLVMPrintModuleToString(g.m);
        tn_buf_str(out, text);
        LLVMDisposeMessage(text);
    } else if (st == TN_OK) {
        LLVMMemoryBufferRef mb = NULL;
        if (LLVMTargetMachineEmitToMemoryBuffer(
                tm, g.m, form == TN_LLVM_ASM ? LLVMAssemblyFile : LLVMObjectFile, &message, &mb))
            st = tn_error(u->ctx, "codegen-E009", NULL, "LLVM could not emit code: %s", message);
        else
            tn_buf_add(out, LLVMGetBufferStart(mb), LLVMGetBufferSize(mb));
        if (mb)
            LLVMDisposeMemoryBuffer(mb);
        LLVMDisposeMessage(message);
    }
    drop(&g);
    if (tm)
        LLVMDisposeTargetMachine(tm);
    free(features);
    return st;
}

/* ---- JIT ---- */

struct tn_jit { LLVMOrcLLJITRef jit; };

static tn_status orc_error(tn_ctx *ctx, LLVMErrorRef e)
{
    char *m = LLVMGetErrorMessage(e);
    tn_status st = tn_error(ctx, "codegen-E010", NULL, "the JIT failed: %s", m);
    LLVMDisposeErrorMessage(m);
    return st;
}

static void jit_free(tn_jit *j)
{
    if (!j)
        return;
    LLVMErrorRef e = LLVMOrcDisposeLLJIT(j->jit);
    if (e)
        LLVMConsumeError(e);
    free(j);
}

static LLVMErrorRef add_object(LLVMOrcLLJITRef jit, const tn_buf *object)
{
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef gen;
    LLVMErrorRef e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &gen, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
    if (e)
        return e;
    LLVMOrcJITDylibAddGenerator(lib, gen);
    return LLVMOrcLLJITAddObjectFile(
        jit, lib, LLVMCreateMemoryBufferWithMemoryRangeCopy(object->at, object->n, "unit"));
}

static tn_status jit(const tn_unit *u, const tn_llvm_options *o, tn_jit **out_jit, const tn_library **out_library)
{
    tn_buf object = {0};
    LLVMOrcLLJITRef lljit = NULL;
    LLVMOrcExecutorAddress at = 0;
    tn_status st = emit(u, o, TN_LLVM_OBJECT, &object);
    if (st != TN_OK) {
        tn_buf_deinit(&object);
        return st;
    }
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMErrorRef e = LLVMOrcCreateLLJIT(&lljit, NULL);
    if (!e)
        e = add_object(lljit, &object);
    if (!e)
        e = LLVMOrcLLJITLookup(lljit, &at, TENON_QUERY_SYMBOL);
    tn_buf_deinit(&object);
    if (e) {
        st = orc_error(u->ctx, e);
        if (lljit)
            LLVMConsumeError(LLVMOrcDisposeLLJIT(lljit));
        return st;
    }
    tn_jit *j = malloc(sizeof *j);
    if (!j)
        return tn_error(u->ctx, "codegen-E011", NULL, "out of memory");
    j->jit = lljit;
    *out_jit = j;
    *out_library = ((tn_library_query_fn *)(uintptr_t)at)(TENON_ABI_VERSION);
    return *out_library ? TN_OK : tn_error(u->ctx, "codegen-E012", NULL, "the compiled unit refuses this ABI version");
}

const tn_llvm_api *tenon_llvm(void);
const tn_llvm_api *tenon_llvm(void)
{
    static const tn_llvm_api api = {1, emit, jit, jit_free};
    return &api;
}
