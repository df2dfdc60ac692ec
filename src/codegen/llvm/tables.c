/* The constant tables of tenon/abi.h as LLVM constants, in the order and with the layout of the C structs. */
#include "codegen/llvm/llvmgen.h"

#include <string.h>

typedef struct {
    tn_lgen *g;
    LLVMTypeRef size;
} tab;

static LLVMValueRef u32(tn_lgen *g, uint64_t v) { return LLVMConstInt(g->i32, v, 0); }

static LLVMValueRef null(tn_lgen *g) { return LLVMConstNull(g->ptr); }

static LLVMValueRef constant(tn_lgen *g, LLVMValueRef v, const char *name)
{
    LLVMValueRef global = LLVMAddGlobal(g->m, LLVMTypeOf(v), name);
    LLVMSetInitializer(global, v);
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    return global;
}

static LLVMValueRef text(tn_lgen *g, const char *s)
{
    LLVMValueRef v =
        constant(g, LLVMConstStringInContext(g->c, s ? s : "", (unsigned)strlen(s ? s : ""), 0), "text");
    LLVMSetUnnamedAddress(v, LLVMGlobalUnnamedAddr);
    return v;
}

/* An array of n values of one type; NULL pointer if empty. */
static LLVMValueRef array(tn_lgen *g, LLVMTypeRef t, LLVMValueRef *v, uint32_t n, const char *name)
{
    return n ? constant(g, LLVMConstArray2(t, v, n), name) : null(g);
}

static LLVMValueRef record(tn_lgen *g, LLVMValueRef *v, unsigned n)
{
    return LLVMConstStructInContext(g->c, v, n, 0);
}

static LLVMValueRef size(tab *t, const tn_expr *e, int64_t absent, uint32_t n_symbol,
                         const char *const *symbol)
{
    tn_lgen *g = t->g;
    int64_t v = absent;
    LLVMValueRef part[2] = {NULL, null(g)};
    if (e && !tn_is_int(e, &v)) {
        LLVMTypeRef ft = LLVMFunctionType(g->i64, &g->ptr, 1, 0);
        g->fn = LLVMAddFunction(g->m, tn_arena_printf(&g->arena, "size_%u", g->n_size++), ft);
        LLVMSetLinkage(g->fn, LLVMInternalLinkage);
        tn_l_function_attributes(g, g->fn);
        LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->c, g->fn, "entry"));
        tn_l_forget(g);
        g->symbol_name = symbol;
        g->n_symbol = n_symbol;
        g->symbol = TN_NEW_N(&g->arena, LLVMValueRef, n_symbol);
        for (uint32_t i = 0; i < n_symbol; i++) {
            LLVMValueRef k = tn_l_int(g, i),
                         p = LLVMBuildInBoundsGEP2(g->b, g->i64, LLVMGetParam(g->fn, 0), &k, 1, "");
            g->symbol[i] = LLVMBuildLoad2(g->b, g->i64, p, symbol[i]);
        }
        g->any_symbols = true;
        LLVMBuildRet(g->b, tn_l_expr(g, e));
        g->any_symbols = false;
        part[1] = g->fn;
    }
    part[0] = tn_l_int(g, part[1] == null(g) ? v : 0);
    return LLVMConstNamedStruct(t->size, part, 2);
}

static const char *const *symbols_of(tn_lgen *g, const tn_func *f)
{
    const char **s = TN_NEW_N(&g->arena, const char *, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        s[i] = f->symbol[i].name;
    return s;
}

static LLVMValueRef variant(tab *t, const tn_flat *v, LLVMValueRef **phase)
{
    tn_lgen *g = t->g;
    const char *const *sym = symbols_of(g, v->func);
    uint32_t n = 0, ns = v->func->n_symbol, count = tn_flat_phases(v->func, 0, NULL);
    LLVMValueRef *row = TN_NEW_N(&g->arena, LLVMValueRef, count);
    g->func = v->func;
    for (const tn_stmt *s = tn_flat_phase_list(v->func)->first; s; s = s->next) {
        if (s->kind != TN_S_FOR)
            continue;
        LLVMValueRef f[5] = {*(*phase)++, size(t, s->u.loop.extent, 0, ns, sym), u32(g, 0), u32(g, 0),
                             null(g)};
        row[n++] = record(g, f, 5);
    }
    LLVMValueRef list = n ? array(g, LLVMTypeOf(row[0]), row, n, "phases") : null(g);
    const tn_stmt *steps = tn_flat_steps(v->func);
    LLVMValueRef f[6] = {size(t, v->guard, 1, ns, sym),
                         size(t, steps ? steps->u.loop.extent : NULL, 1, ns, sym),
                         size(t, v->work_bytes, 0, ns, sym),
                         tn_l_int(g, (int64_t)v->scratch_bytes),
                         list,
                         tn_l_int(g, n)};
    return record(g, f, 6);
}

static LLVMValueRef overlaps(tn_lgen *g, const tn_kernel_ir *k, uint32_t *out_n)
{
    const tn_overlap *pair = k->variant[0].overlap;
    *out_n = k->variant[0].n_overlap;
    LLVMValueRef *row = TN_NEW_N(&g->arena, LLVMValueRef, *out_n);
    for (uint32_t i = 0; i < *out_n; i++) {
        LLVMValueRef f[3] = {LLVMConstInt(g->i16, pair[i].in, 0), LLVMConstInt(g->i16, pair[i].out, 0),
                             u32(g, pair[i].kind)};
        row[i] = record(g, f, 3);
    }
    return *out_n ? array(g, LLVMTypeOf(row[0]), row, *out_n, "overlaps") : null(g);
}

static LLVMValueRef kernel(tab *t, const tn_kernel_ir *k, LLVMValueRef **phase)
{
    tn_lgen *g = t->g;
    LLVMValueRef *row = TN_NEW_N(&g->arena, LLVMValueRef, k->n_variant), check_text[256];
    const char *check[256];
    for (uint32_t v = 0; v < k->n_variant; v++)
        row[v] = variant(t, &k->variant[v], phase);
    uint32_t nc = tn_flat_checks(k, 256, check);
    nc = nc > 256 ? 256 : nc;
    for (uint32_t i = 0; i < nc; i++)
        check_text[i] = text(g, check[i]);
    uint32_t n_overlap;
    LLVMValueRef overlap = overlaps(g, k, &n_overlap);
    LLVMValueRef f[14] = {text(g, k->name),
                          text(g, k->source),
                          array(g, LLVMTypeOf(row[0]), row, k->n_variant, "variants"),
                          array(g, g->ptr, check_text, nc, "checks"),
                          u32(g, k->n_variant),
                          u32(g, nc),
                          u32(g, k->n_in),
                          u32(g, k->n_out),
                          u32(g, k->variant[0].func->n_symbol),
                          u32(g, n_overlap),
                          overlap,
                          null(g),
                          u32(g, 0),
                          u32(g, 0)};
    return record(g, f, 14);
}

static LLVMValueRef operations(tab *t, const tn_kernel_ir *k)
{
    const tn_func *f = k->variant[0].func;
    const char *const *sym = symbols_of(t->g, f);
    LLVMValueRef row[TN_N_OPERATIONS];
    for (int i = 0; i < TN_N_OPERATIONS; i++)
        row[i] = size(t, k->operations[i], 0, f->n_symbol, sym);
    return record(t->g, row, TN_N_OPERATIONS);
}

static LLVMValueRef slot(tab *t, const tn_slot_ir *s, uint32_t ns, const char *const *sym)
{
    tn_lgen *g = t->g;
    LLVMValueRef *dim = TN_NEW_N(&g->arena, LLVMValueRef, s->ndim),
                 *bind = TN_NEW_N(&g->arena, LLVMValueRef, s->ndim);
    for (int d = 0; d < s->ndim; d++) {
        dim[d] = size(t, s->dim[d], 0, ns, sym);
        bind[d] = s->bind ? u32(g, (uint32_t)s->bind[d]) : NULL;
    }
    LLVMValueRef f[14] = {text(g, s->name),
                          LLVMConstInt(g->i8, s->kind, 0),
                          LLVMConstInt(g->i8, s->storage, 0),
                          LLVMConstInt(g->i8, s->dtype.code, 0),
                          LLVMConstInt(g->i8, s->dtype.bits, 0),
                          LLVMConstInt(g->i16, s->ndim, 0),
                          LLVMConstInt(g->i16, 0, 0),
                          array(g, t->size, dim, s->ndim, "dims"),
                          s->bind ? array(g, g->i32, bind, s->ndim, "binds") : null(g),
                          size(t, s->bytes, 0, ns, sym),
                          size(t, s->offset, -1, ns, sym),
                          tn_l_int(g, s->alias),
                          u32(g, s->segment),
                          u32(g, 0)};
    return record(g, f, 14);
}

static LLVMValueRef sizes(tab *t, uint32_t n, const tn_expr *const *e, uint32_t ns, const char *const *sym,
                          const char *name)
{
    LLVMValueRef *row = TN_NEW_N(&t->g->arena, LLVMValueRef, n);
    for (uint32_t i = 0; i < n; i++)
        row[i] = size(t, e[i], 0, ns, sym);
    return array(t->g, t->size, row, n, name);
}

/* The instructions, and their operands, of which there are *out_n. */
static void instructions(tn_lgen *g, const tn_program_function_ir *p, LLVMValueRef out[2], uint32_t *out_n)
{
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < p->n_inst; i++)
        n += p->inst[i].n_operand;
    LLVMValueRef *insts = TN_NEW_N(&g->arena, LLVMValueRef, p->n_inst),
                 *operands = TN_NEW_N(&g->arena, LLVMValueRef, n);
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const tn_inst_ir *x = &p->inst[i];
        LLVMValueRef f[5] = {u32(g, x->op), u32(g, x->a), u32(g, k), u32(g, x->n_operand), text(g, x->node)};
        insts[i] = record(g, f, 5);
        for (uint32_t j = 0; j < x->n_operand; j++)
            operands[k++] = u32(g, x->operand[j]);
    }
    out[0] = p->n_inst ? array(g, LLVMTypeOf(insts[0]), insts, p->n_inst, "insts") : null(g);
    out[1] = array(g, g->i32, operands, n, "operands");
    *out_n = n;
}

static LLVMValueRef function(tab *t, const tn_program_function_ir *p)
{
    tn_lgen *g = t->g;
    const char **sym = TN_NEW_N(&g->arena, const char *, p->n_symbol);
    uint32_t n_operand;
    LLVMValueRef *slots = TN_NEW_N(&g->arena, LLVMValueRef, p->n_slot),
                 *symbols = TN_NEW_N(&g->arena, LLVMValueRef, p->n_symbol), code[2];
    for (uint32_t i = 0; i < p->n_symbol; i++) {
        sym[i] = p->symbol[i].name;
        LLVMValueRef f[3] = {text(g, p->symbol[i].name), tn_l_int(g, p->symbol[i].min),
                             tn_l_int(g, p->symbol[i].max)};
        symbols[i] = record(g, f, 3);
    }
    for (uint32_t i = 0; i < p->n_slot; i++)
        slots[i] = slot(t, &p->slot[i], p->n_symbol, sym);
    instructions(g, p, code, &n_operand);
    LLVMValueRef f[17] = {text(g, p->name),
                          p->n_slot ? array(g, LLVMTypeOf(slots[0]), slots, p->n_slot, "slots") : null(g),
                          p->n_symbol ? array(g, LLVMTypeOf(symbols[0]), symbols, p->n_symbol, "symbols")
                                      : null(g),
                          code[0],
                          code[1],
                          u32(g, p->n_slot),
                          u32(g, p->n_symbol),
                          u32(g, p->n_inst),
                          u32(g, n_operand),
                          u32(g, p->n_late),
                          u32(g, p->n_size),
                          u32(g, p->n_segment),
                          u32(g, 0),
                          size(t, p->arena_bytes, 0, p->n_symbol, sym),
                          size(t, p->work_offset, 0, p->n_symbol, sym),
                          sizes(t, p->n_size, p->size, p->n_symbol, sym, "sizes"),
                          sizes(t, p->n_segment, p->segment_bytes, p->n_symbol, sym, "segments")};
    return record(g, f, 17);
}

static LLVMValueRef state(tab *t, const tn_state *s)
{
    tn_lgen *g = t->g;
    LLVMValueRef *dim = TN_NEW_N(&g->arena, LLVMValueRef, s->ndim);
    for (uint32_t d = 0; d < s->ndim; d++)
        dim[d] = LLVMConstNamedStruct(t->size, (LLVMValueRef[]){tn_l_int(g, s->dim[d].value), null(g)}, 2);
    LLVMValueRef f[12] = {text(g, s->name),
                          s->initial ? text(g, s->initial) : null(g),
                          array(g, t->size, dim, s->ndim, "capacity"),
                          tn_l_int(g, (int64_t)s->bytes),
                          tn_l_int(g, (int64_t)s->extent),
                          LLVMConstInt(g->i8, s->code, 0),
                          LLVMConstInt(g->i8, s->bits, 0),
                          LLVMConstInt(g->i16, s->ndim, 0),
                          LLVMConstInt(g->i16, (uint16_t)s->axis, 0),
                          LLVMConstInt(g->i16, s->device, 0),
                          u32(g, (uint32_t)s->init),
                          u32(g, 0)};
    return record(g, f, 12);
}

static LLVMValueRef program(tab *t, const tn_program_ir *p)
{
    tn_lgen *g = t->g;
    LLVMValueRef none[2] = {null(g), null(g)}, *texts = TN_NEW_N(&g->arena, LLVMValueRef, p->n_text),
                 *functions = TN_NEW_N(&g->arena, LLVMValueRef, p->n_function),
                 *states = TN_NEW_N(&g->arena, LLVMValueRef, p->n_state);
    for (uint32_t i = 0; i < p->n_text; i++)
        texts[i] = text(g, p->text[i]);
    for (uint32_t i = 0; i < p->n_function; i++)
        functions[i] = function(t, &p->function[i]);
    for (uint32_t i = 0; i < p->n_state; i++)
        states[i] = state(t, &p->state[i]);
    LLVMValueRef f[8] = {array(g, LLVMTypeOf(functions[0]), functions, p->n_function, "functions"),
                         p->n_state ? array(g, LLVMTypeOf(states[0]), states, p->n_state, "states") : null(g),
                         array(g, g->ptr, texts, p->n_text, "texts"),
                         u32(g, p->n_function),
                         u32(g, p->n_state),
                         u32(g, p->n_text),
                         u32(g, p->depth),
                         LLVMConstArray2(g->ptr, none, 2)};
    return constant(g, record(g, f, 8), "program");
}

static void query(tn_lgen *g, LLVMValueRef library)
{
    LLVMValueRef fn = LLVMAddFunction(g->m, TENON_QUERY_SYMBOL, LLVMFunctionType(g->ptr, &g->i32, 1, 0));
    tn_l_function_attributes(g, fn);
    LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->c, fn, "entry"));
    LLVMValueRef ok = LLVMBuildICmp(g->b, LLVMIntUGE, LLVMGetParam(fn, 0), u32(g, TENON_ABI_VERSION), "");
    LLVMBuildRet(g->b, LLVMBuildSelect(g->b, ok, library, null(g), ""));
}

/* Whether object files of the module are Mach-O, which has no sections of that name. */
static bool is_macho(LLVMModuleRef m)
{
    static const char *const word[] = {"-apple", "-darwin", "-macos", "-ios", "macho"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (strstr(LLVMGetTarget(m), word[i]))
            return true;
    return false;
}

/* What is inside, where readers of ELF files find it; kept although nothing refers to it. */
static void note(tn_lgen *g)
{
    tn_buf bytes = {0};
    tn_unit_note(g->unit, &bytes);
    if (bytes.n && !is_macho(g->m)) {
        LLVMValueRef v = constant(g, LLVMConstStringInContext(g->c, bytes.at, (unsigned)bytes.n, 1), "note");
        LLVMSetLinkage(v, LLVMInternalLinkage);
        LLVMSetSection(v, ".note.tenon");
        LLVMSetAlignment(v, 4);
        LLVMValueRef used = LLVMAddGlobal(g->m, LLVMArrayType2(g->ptr, 1), "llvm.used");
        LLVMSetInitializer(used, LLVMConstArray2(g->ptr, &v, 1));
        LLVMSetLinkage(used, LLVMAppendingLinkage);
        LLVMSetSection(used, "llvm.metadata");
    }
    tn_buf_deinit(&bytes);
}

void tn_l_tables(tn_lgen *g, LLVMValueRef *phase)
{
    note(g);
    const tn_unit *u = g->unit;
    tab t = {g, LLVMStructCreateNamed(g->c, "tn_size")};
    LLVMStructSetBody(t.size, (LLVMTypeRef[]){g->i64, g->ptr}, 2, 0);
    LLVMValueRef *kernels = TN_NEW_N(&g->arena, LLVMValueRef, u->n_kernel),
                 *work = TN_NEW_N(&g->arena, LLVMValueRef, u->n_kernel),
                 *features = TN_NEW_N(&g->arena, LLVMValueRef, u->n_feature),
                 *metadata = TN_NEW_N(&g->arena, LLVMValueRef, 2 * (size_t)u->n_metadata);
    for (uint32_t i = 0; i < u->n_kernel; i++)
        kernels[i] = kernel(&t, &u->kernel[i], &phase);
    for (uint32_t i = 0; i < u->n_feature; i++)
        features[i] = text(g, u->feature[i]);
    for (uint32_t i = 0; i < u->n_metadata; i++) {
        metadata[2 * i] = text(g, u->metadata[i].key);
        metadata[2 * i + 1] = text(g, u->metadata[i].value);
    }
    g->func = NULL;
    for (uint32_t i = 0; i < u->n_kernel; i++)
        work[i] = operations(&t, &u->kernel[i]);
    LLVMValueRef none[4] = {null(g), null(g), null(g), null(g)};
    LLVMValueRef f[16] = {
        u32(g, TENON_ABI_VERSION),
        u32(g, u->n_kernel),
        u->n_kernel ? array(g, LLVMTypeOf(kernels[0]), kernels, u->n_kernel, "kernels") : null(g),
        u->program ? program(&t, u->program) : null(g),
        text(g, u->producer),
        text(g, u->target),
        array(g, g->ptr, features, u->n_feature, "features"),
        u32(g, u->n_feature),
        u32(g, u->n_metadata),
        array(g, g->ptr, metadata, 2 * u->n_metadata, "metadata"),
        u->n_kernel ? array(g, LLVMTypeOf(work[0]), work, u->n_kernel, "operations") : null(g),
        null(g),
        null(g),
        u32(g, 0),
        u32(g, 0),
        LLVMConstArray2(g->ptr, none, 4)};
    query(g, constant(g, record(g, f, 16), "library"));
}
