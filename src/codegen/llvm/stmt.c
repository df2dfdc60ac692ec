/* Statements in LLVM IR. A phase is two functions: a wrapper with the ABI's signature, and a body whose
 * buffer pointers are noalias parameters, which is how LLVM learns that buffers do not overlap. Register
 * elements are allocas that mem2reg turns into values. */
#include "codegen/llvm/llvmgen.h"

#include <string.h>

static void list(tn_lgen *g, const tn_body *b);

static void enter(tn_lgen *g, LLVMBasicBlockRef bb)
{
    LLVMPositionBuilderAtEnd(g->b, bb);
    tn_map_clear(&g->memo);
    tn_l_tiles_forget(g);
}

static LLVMBasicBlockRef block(tn_lgen *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->c, g->fn, name);
}

LLVMValueRef tn_l_local(tn_lgen *g, LLVMTypeRef t, const char *name)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b), entry = LLVMGetEntryBasicBlock(g->fn);
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(entry));
    LLVMValueRef v = LLVMBuildAlloca(g->b, t, name);
    LLVMPositionBuilderAtEnd(g->b, here);
    return v;
}

static LLVMValueRef all_lanes(tn_lgen *g, uint16_t lanes)
{
    LLVMValueRef one[64];
    for (int i = 0; i < lanes; i++)
        one[i] = LLVMConstInt(g->i1, 1, 0);
    return LLVMConstVector(one, lanes);
}

static void vector_store(tn_lgen *g, const tn_stmt *s, LLVMValueRef v)
{
    const tn_expr *at = s->u.store.index[0], *mask = s->u.store.mask;
    tn_dtype t = s->u.store.value->dtype;
    uint32_t b = s->u.store.buffer;
    bool scatter = at->dtype.lanes > 1;
    unsigned bytes = tn_dtype_bytes(tn_dtype_lanes(t, 1));
    LLVMValueRef i = scatter ? tn_l_expr(g, at) : NULL;
    LLVMValueRef p =
        scatter ? LLVMBuildGEP2(g->b, tn_l_memory_type(g, tn_dtype_lanes(t, 1)), g->buffer[b], &i, 1, "")
                : tn_l_address(g, t, b, at);
    if (!mask && !scatter) {
        LLVMSetAlignment(LLVMBuildStore(g->b, v, p), bytes);
        return;
    }
    LLVMTypeRef types[2] = {tn_l_memory_type(g, t), scatter ? LLVMVectorType(g->ptr, t.lanes) : g->ptr};
    LLVMValueRef arg[4] = {v, p, LLVMConstInt(g->i32, bytes, 0),
                           mask ? tn_l_expr(g, mask) : all_lanes(g, t.lanes)};
    tn_l_intrinsic(g, scatter ? "llvm.masked.scatter" : "llvm.masked.store", 2, types, 4, arg);
}

static void scalar_store(tn_lgen *g, const tn_stmt *s, LLVMValueRef v)
{
    tn_dtype t = s->u.store.value->dtype;
    LLVMValueRef p = tn_l_address(g, t, s->u.store.buffer, s->u.store.index[0]);
    LLVMSetAlignment(LLVMBuildStore(g->b, v, p), tn_dtype_bytes(t));
}

static void store(tn_lgen *g, const tn_stmt *s)
{
    const tn_expr *mask = s->u.store.mask;
    tn_dtype t = s->u.store.value->dtype;
    uint32_t b = s->u.store.buffer;
    tn_map_clear(&g->memo); /* loads must not pass this store's predecessors */
    tn_l_tiles_forget(g);
    if (g->func->buffer[b].scope == TN_SCOPE_REGISTER) {
        LLVMValueRef p = g->element[b][s->u.store.index[0]->u.i], v = tn_l_expr(g, s->u.store.value);
        if (mask)
            v = LLVMBuildSelect(g->b, tn_l_expr(g, mask), v, LLVMBuildLoad2(g->b, tn_l_type(g, t), p, ""),
                                "");
        LLVMBuildStore(g->b, v, p);
        return;
    }
    if (t.lanes > 1) {
        vector_store(g, s, tn_l_to_memory(g, t, tn_l_expr(g, s->u.store.value)));
        return;
    }
    LLVMBasicBlockRef after = NULL;
    uint32_t back = 0;
    if (mask) {
        LLVMBasicBlockRef then = block(g, "store");
        after = block(g, "stored");
        LLVMBuildCondBr(g->b, tn_l_expr(g, mask), then, after);
        enter(g, then);
        back = tn_l_region_enter(g);
    }
    scalar_store(g, s, tn_l_to_memory(g, t, tn_l_expr(g, s->u.store.value)));
    if (mask) {
        tn_l_region_leave(g, back);
        LLVMBuildBr(g->b, after);
        enter(g, after);
    }
}

static void declare(tn_lgen *g, const tn_stmt *s)
{
    uint32_t n = s->u.decl.buffer;
    const tn_buffer *b = &g->func->buffer[n];
    if (b->scope != TN_SCOPE_REGISTER) {
        LLVMValueRef at = tn_l_int(g, (int64_t)b->scratch_offset);
        g->buffer[n] = LLVMBuildInBoundsGEP2(g->b, g->i8, LLVMGetParam(g->fn, LLVMCountParams(g->fn) - 1),
                                             &at, 1, b->name);
        return;
    }
    int64_t count = 0;
    (void)tn_is_int(b->dim[0], &count);
    g->element[n] = TN_NEW_N(&g->arena, LLVMValueRef, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        g->element[n][i] = tn_l_local(g, tn_l_type(g, b->dtype), b->name);
}

static void loop(tn_lgen *g, const tn_stmt *s)
{
    LLVMValueRef extent = tn_l_expr(g, s->u.loop.extent), zero = tn_l_int(g, 0);
    int64_t n;
    bool runs = tn_is_int(s->u.loop.extent, &n) && n > 0;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), in = block(g, "loop"), out = block(g, "done");
    if (runs)
        LLVMBuildBr(g->b, in);
    else
        LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, extent, zero, ""), in, out);
    enter(g, in);
    LLVMValueRef i = LLVMBuildPhi(g->b, g->i64, g->func->var[s->u.loop.var->u.i].name);
    g->var[s->u.loop.var->u.i] = i;
    list(g, &s->u.loop.body);
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, tn_l_int(g, 1), "");
    LLVMBasicBlockRef back = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, next, extent, ""), in, out); /* 0 < extent here */
    LLVMAddIncoming(i, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){before, back}, 2);
    enter(g, out);
}

static void branch(tn_lgen *g, const tn_stmt *s)
{
    LLVMBasicBlockRef then = block(g, "then"), other = s->u.cond.other.first ? block(g, "else") : NULL,
                      after = block(g, "endif");
    tn_map_clear(&g->memo);
    LLVMBuildCondBr(g->b, tn_l_expr(g, s->u.cond.cond), then, other ? other : after);
    enter(g, then);
    list(g, &s->u.cond.then);
    LLVMBuildBr(g->b, after);
    if (other) {
        enter(g, other);
        list(g, &s->u.cond.other);
        LLVMBuildBr(g->b, after);
    }
    enter(g, after);
}

static void check(tn_lgen *g, const tn_stmt *s)
{
    LLVMBasicBlockRef bad = block(g, "failed"), ok = block(g, "ok");
    LLVMBuildCondBr(g->b, tn_l_expr(g, s->u.check.cond), ok, bad);
    LLVMPositionBuilderAtEnd(g->b, bad);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, g->n_check + tn_flat_check_number(g->func, s), 0));
    enter(g, ok);
}

/* Into the second-level cache: a panel of weights does not fit the first beside what is at work. */
static void prefetch(tn_lgen *g, const tn_stmt *s)
{
    enum { READ = 0, NEAR_L2 = 2, DATA = 1 };
    LLVMTypeRef overload = g->ptr, element = tn_l_memory_type(g, g->func->buffer[s->u.prefetch.buffer].dtype);
    LLVMValueRef at = tn_l_expr(g, s->u.prefetch.index[0]);
    LLVMValueRef p = LLVMBuildGEP2(g->b, element, g->buffer[s->u.prefetch.buffer], &at, 1, "");
    unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", strlen("llvm.prefetch"));
    LLVMValueRef arg[] = {p, LLVMConstInt(g->i32, READ, 0), LLVMConstInt(g->i32, NEAR_L2, 0),
                          LLVMConstInt(g->i32, DATA, 0)};
    LLVMBuildCall2(g->b, LLVMIntrinsicGetType(g->c, id, &overload, 1),
                   LLVMGetIntrinsicDeclaration(g->m, id, &overload, 1), arg, 4, "");
}

static void list(tn_lgen *g, const tn_body *b)
{
    uint32_t back = tn_l_region_enter(g);
    for (const tn_stmt *s = b->first; s; s = s->next) {
        tn_l_tiles_before(g, s);
        switch (s->kind) {
        case TN_S_STORE: store(g, s); break;
        case TN_S_BUFFER: declare(g, s); break;
        case TN_S_LET:
            tn_map_clear(&g->memo);
            g->var[s->u.let.var->u.i] = tn_l_expr(g, s->u.let.value);
            break;
        case TN_S_FOR:
            tn_map_clear(&g->memo);
            if (!tn_l_tile(g, s))
                loop(g, s);
            break;
        case TN_S_IF: branch(g, s); break;
        case TN_S_CHECK: check(g, s); break;
        case TN_S_PREFETCH: prefetch(g, s); break;
        default: TN_ASSERT(!"a block in flat code");
        }
        tn_l_tiles_after(g, s);
    }
    tn_l_region_leave(g, back);
}

static void attribute(tn_lgen *g, LLVMValueRef fn, LLVMAttributeIndex at, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->c, kind, 0));
}

static void text_attribute(tn_lgen *g, LLVMValueRef fn, const char *name, const char *value)
{
    LLVMAddAttributeAtIndex(
        fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(g->c, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void tn_l_function_attributes(tn_lgen *g, LLVMValueRef fn)
{
    attribute(g, fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "nounwind");
    text_attribute(g, fn, "target-features", g->features);
    text_attribute(g, fn, "prefer-vector-width", "512");
    text_attribute(g, fn, "min-legal-vector-width", "512");
    text_attribute(g, fn, "no-builtins", "");
}

/* Buffers of the phase that are passed as pointers: parameters, then work memory. */
static uint32_t pointers(const tn_func *f, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_param; i++)
        out[n++] = f->param[i];
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        if (s->kind == TN_S_BUFFER)
            out[n++] = s->u.decl.buffer;
    return n;
}

static void load_symbols(tn_lgen *g, LLVMValueRef sym)
{
    g->symbol = TN_NEW_N(&g->arena, LLVMValueRef, g->n_symbol);
    for (uint32_t i = 0; i < g->n_symbol; i++) {
        LLVMValueRef k = tn_l_int(g, i), p = LLVMBuildInBoundsGEP2(g->b, g->i64, sym, &k, 1, "");
        g->symbol[i] = LLVMBuildLoad2(g->b, g->i64, p, g->symbol_name[i]);
    }
}

/* body(pointers noalias..., sym, task, step, scratch) -> status */
static LLVMValueRef emit_body(tn_lgen *g, const tn_flat *v, const tn_stmt *at, const char *name, uint32_t n,
                              const uint32_t *number)
{
    LLVMTypeRef *type = TN_NEW_N(&g->arena, LLVMTypeRef, n + 4);
    for (uint32_t i = 0; i < n + 4; i++)
        type[i] = i == n + 1 || i == n + 2 ? g->i64 : g->ptr;
    LLVMTypeRef ft = LLVMFunctionType(g->i32, type, n + 4, 0);
    g->fn = LLVMAddFunction(g->m, tn_arena_printf(&g->arena, "%s_body", name), ft);
    LLVMSetLinkage(g->fn, LLVMInternalLinkage);
    tn_l_function_attributes(g, g->fn);
    attribute(g, g->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "noinline");
    const tn_func *f = v->func;
    g->buffer = TN_NEW_N(&g->arena, LLVMValueRef, f->n_buffer);
    g->element = TN_NEW_N(&g->arena, LLVMValueRef *, f->n_buffer);
    g->var = TN_NEW_N(&g->arena, LLVMValueRef, f->n_var);
    for (uint32_t i = 0; i < n; i++) {
        g->buffer[number[i]] = LLVMGetParam(g->fn, i);
        LLVMSetValueName2(LLVMGetParam(g->fn, i), f->buffer[number[i]].name,
                          strlen(f->buffer[number[i]].name));
        if (i >= f->n_param || tn_flat_apart(v, i))
            attribute(g, g->fn, i + 1, "noalias");
        if (!f->buffer[number[i]].written && f->buffer[number[i]].param >= 0)
            attribute(g, g->fn, i + 1, "readonly");
    }
    attribute(g, g->fn, n + 4, "noalias");
    LLVMBasicBlockRef entry = block(g, "entry"), start = block(g, "start");
    LLVMPositionBuilderAtEnd(g->b, entry);
    LLVMBuildBr(g->b, start);
    tn_l_forget(g);
    enter(g, start);
    load_symbols(g, LLVMGetParam(g->fn, n));
    g->var[at->u.loop.var->u.i] = LLVMGetParam(g->fn, n + 1);
    if (tn_flat_steps(f))
        g->var[tn_flat_steps(f)->u.loop.var->u.i] = LLVMGetParam(g->fn, n + 2);
    for (const tn_stmt *s = tn_flat_first_check(at); s != at; s = s->next)
        if (s->kind == TN_S_CHECK)
            check(g, s);
    list(g, &at->u.loop.body);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, 0));
    return g->fn;
}

static LLVMValueRef field(tn_lgen *g, LLVMValueRef p, int64_t word, const char *name)
{
    LLVMValueRef k = tn_l_int(g, word), at = LLVMBuildInBoundsGEP2(g->b, g->ptr, p, &k, 1, "");
    return LLVMBuildLoad2(g->b, g->ptr, at, name);
}

LLVMValueRef tn_l_phase(tn_lgen *g, const tn_flat *v, const tn_stmt *at, const char *name)
{
    const tn_func *f = v->func;
    uint32_t *number = TN_NEW_N(&g->arena, uint32_t, f->n_buffer + 1), n = pointers(f, number);
    const char **names = TN_NEW_N(&g->arena, const char *, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        names[i] = f->symbol[i].name;
    g->func = f;
    g->symbol_name = names;
    g->n_symbol = f->n_symbol;
    g->tiles = (tn_l_tiles){0};
    LLVMValueRef inner = emit_body(g, v, at, name, n, number);

    LLVMTypeRef type[4] = {g->ptr, g->i32, g->i32, g->ptr};
    g->fn = LLVMAddFunction(g->m, name, LLVMFunctionType(g->i32, type, 4, 0));
    LLVMSetLinkage(g->fn, LLVMInternalLinkage);
    tn_l_function_attributes(g, g->fn);
    LLVMPositionBuilderAtEnd(g->b, block(g, "entry"));
    tn_l_forget(g);
    LLVMValueRef call = LLVMGetParam(g->fn, 0), args = field(g, call, 0, "args"),
                 sym = field(g, call, 1, "sym"), work = field(g, call, 2, "work");
    load_symbols(g, sym); /* work offsets may depend on them */
    LLVMValueRef *arg = TN_NEW_N(&g->arena, LLVMValueRef, n + 4);
    for (uint32_t i = 0; i < n; i++) {
        const tn_buffer *b = &f->buffer[number[i]];
        if (i < f->n_param) {
            arg[i] = field(g, args, i, b->name);
        } else {
            LLVMValueRef off = tn_l_expr(g, b->work_offset);
            arg[i] = LLVMBuildInBoundsGEP2(g->b, g->i8, work, &off, 1, b->name);
        }
    }
    arg[n] = sym;
    arg[n + 1] = LLVMBuildZExt(g->b, LLVMGetParam(g->fn, 2), g->i64, "task");
    arg[n + 2] = LLVMBuildZExt(g->b, LLVMGetParam(g->fn, 1), g->i64, "step");
    arg[n + 3] = LLVMGetParam(g->fn, 3);
    tn_l_tiles_on(g);
    LLVMValueRef r = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(inner), inner, arg, n + 4, "");
    LLVMSetTailCall(r, !tn_l_tiles_have_state(g));
    tn_l_tiles_off(g);
    LLVMBuildRet(g->b, r);
    return g->fn;
}
