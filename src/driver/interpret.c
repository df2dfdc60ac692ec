/* Interpreters behind one door: Relay's (operator by operator) and TIR's (kernel by kernel, at any stage). */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

/* ---- evaluating one function: interpreted, or compiled where that would take seconds ---- */

typedef struct { double count, scale; } work;

static bool enter(tn_stmt *s, void *user)
{
    work *w = user;
    int64_t n;
    if (s->kind == TN_S_FOR)
        w->scale *= tn_is_int(s->u.loop.extent, &n) ? (double)n : 64.0;
    if (s->kind == TN_S_STORE)
        w->count += w->scale;
    return true;
}

static void leave(tn_stmt *s, void *user)
{
    work *w = user;
    int64_t n;
    if (s->kind == TN_S_FOR)
        w->scale /= tn_is_int(s->u.loop.extent, &n) ? (n ? (double)n : 1.0) : 64.0;
}

static bool is_long(const tn_func *f)
{
    work w = {0, 1};
    tn_stmt_walk((tn_body *)&f->body, enter, leave, &w);
    return w.count > 3e7;
}

static tn_status run_compiled(tn_build *b, const tn_llvm_api *llvm, const tn_func *f, void *const arg[],
                              const int64_t sym[])
{
    tn_func *flat = tn_func_clone(f, &b->arena, f->pool);
    tn_flat variant;
    tn_jit *jit;
    const tn_library *lib;
    flat->strict = true;
    TN_TRY(tn_lower(flat, &b->machine, &variant));
    tn_kernel_ir kernel = {"reference", f->source, f->n_param - 1, 1, 1, &variant};
    tn_unit unit = {.ctx = b->ctx,
                    .name = "reference",
                    .producer = "tenon",
                    .target = "llvm",
                    .feature = b->feature,
                    .n_feature = b->n_feature,
                    .n_kernel = 1,
                    .kernel = &kernel};
    TN_TRY(llvm->jit(&unit, &(tn_llvm_options){.opt_level = 2}, &jit, &lib));
    const tn_variant *v = &lib->kernel[0].variant[0];
    static const tn_host host;
    int64_t work_bytes = v->work_bytes.fn ? v->work_bytes.fn(sym) : v->work_bytes.value;
    void *mem = aligned_alloc(64, ((size_t)work_bytes + 127) / 64 * 64),
         *scratch = aligned_alloc(64, (v->scratch_bytes + 127) / 64 * 64);
    tn_call call = {.arg = arg, .sym = sym, .work = mem, .host = &host};
    const char *check[256];
    uint32_t n_check = tn_flat_checks(&kernel, 256, check), failed = 0;
    tn_status st = mem && scratch ? TN_OK
                                  : tn_error(b->ctx, "relay-E208", &(tn_loc){.op = f->source},
                                             "there is not enough memory for a value");
    for (uint64_t p = 0; p < v->n_phase && st == TN_OK; p++) {
        int64_t n = v->phase[p].tasks.fn ? v->phase[p].tasks.fn(sym) : v->phase[p].tasks.value;
        for (int64_t t = 0; t < n && !failed; t++)
            failed = (uint32_t)v->phase[p].run(&call, 0, (uint32_t)t, scratch);
        if (failed)
            st = tn_error(b->ctx, "tir-E203", NULL, "@%s: %s", f->name,
                          failed <= n_check && failed <= 256 ? check[failed - 1] : "a check failed");
    }
    free(mem);
    free(scratch);
    llvm->jit_free(jit);
    return st;
}

tn_status tn_eval_auto(const tn_func *f, void *const arg[], const int64_t sym[], void *user)
{
    tn_build *b = user;
    const tn_llvm_api *llvm;
    if (!is_long(f) || tn_llvm_open(NULL, &llvm) != TN_OK)
        return tn_eval_interp(f, arg, sym, NULL);
    return run_compiled(b, llvm, f, arg, sym);
}

/* ---- the model's inputs ---- */

static tn_status wrong_type(tn_build *b, const tn_node *param, const tenon_tensor *x)
{
    tn_buf want = {0}, have = {0};
    tn_type_print(param->type[0], &want);
    tn_dtype_print((tn_dtype){x->code, x->bits, 1}, false, &have);
    tn_status st = tn_error(b->ctx, "driver-E042", param->loc,
                            "input %s must be %s, but %d dimensions of %s are given", param->name, tn_buf_cstr(&want),
                            (int)x->ndim, tn_buf_cstr(&have));
    tn_buf_deinit(&want);
    tn_buf_deinit(&have);
    return st;
}

static tn_status find_input(tn_build *b, const tn_node *param, int n_in, const tenon_tensor in[],
                            const tenon_tensor **out)
{
    const tn_type *t = param->type[0];
    for (int i = 0; i < n_in; i++) {
        if (strcmp(in[i].name, param->name) != 0)
            continue;
        *out = &in[i];
        if (in[i].ndim != t->n || in[i].code != t->dtype.code || in[i].bits != t->dtype.bits)
            return wrong_type(b, param, &in[i]);
        return TN_OK;
    }
    return tn_error(b->ctx, "driver-E043", param->loc, "input %s is missing; give it a value", param->name);
}

static void give(tenon_tensor *o, const char *name, tn_dtype t, int ndim, const int64_t dim[], void *data, size_t n)
{
    *o = (tenon_tensor){.name = name, .code = t.code, .bits = t.bits, .ndim = ndim, .data = data, .bytes = n};
    memcpy(o->shape, dim, (size_t)ndim * sizeof *dim);
}

static tn_status by_relay(tn_build *b, int n_in, const tenon_tensor in[], int *n_out, tenon_tensor **out)
{
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    tn_tensor_value *value = TN_NEW_N(&b->arena, tn_tensor_value, r->n_param),
                    *result = TN_NEW_N(&b->arena, tn_tensor_value, r->n_result);
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tenon_tensor *x;
        TN_TRY(find_input(b, r->param[i], n_in, in, &x));
        value[i] = (tn_tensor_value){.dtype = r->param[i]->type[0]->dtype,
                                     .ndim = (uint16_t)x->ndim,
                                     .at = x->data,
                                     .n = x->bytes,
                                     .borrowed = true};
        memcpy(value[i].dim, x->shape, sizeof value[i].dim);
    }
    TN_TRY(tn_relay_run(&b->graph, (int)r->n_param, value, (int)r->n_result, result, tn_eval_auto, b));
    *n_out = (int)r->n_result;
    *out = TN_NEW_N(&b->arena, tenon_tensor, r->n_result);
    for (uint32_t i = 0; i < r->n_result; i++) {
        void *copy = tn_arena_copy(&b->arena, result[i].at, result[i].n, 64);
        give(&(*out)[i], tn_arena_printf(&b->arena, "output_%u", i), result[i].dtype, result[i].ndim,
             result[i].dim, copy, result[i].n);
        tn_tensor_value_deinit(&result[i]);
    }
    return TN_OK;
}

/* ---- the program by the TIR interpreter ---- */

typedef struct { tn_build *b; const char *stage; int64_t *sym; void **at; } machine;

static int64_t value(machine *m, const tn_expr *e)
{
    const tn_program_ir *p = &m->b->program;
    uint32_t n = p->n_symbol;
    const tn_expr **from = TN_NEW_N(&m->b->scratch, const tn_expr *, n),
                  **to = TN_NEW_N(&m->b->scratch, const tn_expr *, n);
    for (uint32_t i = 0; i < n; i++) {
        from[i] = tn_sym(&m->b->pool, p->symbol[i].name);
        to[i] = tn_idx(&m->b->pool, m->sym[i]);
    }
    e = tn_simplify(&m->b->pool, NULL, tn_subst(&m->b->pool, e, (int)n, from, to));
    tn_arena_reset(&m->b->scratch);
    return e->kind == TN_E_INT ? e->u.i : -1;
}

/* Memory for what is computed; an extent less than 0 says that an input is too small. */
static tn_status place(machine *m, uint32_t slot)
{
    const tn_program_ir *p = &m->b->program;
    const tn_slot_ir *s = &p->slot[slot];
    uint32_t at = s->alias >= 0 ? (uint32_t)s->alias : slot;
    const char *node = s->name;
    for (uint32_t i = p->n_inst; i-- > 0;) {
        const tn_group *g = p->inst[i].op == TN_INST_CALL ? &m->b->groups.at[p->inst[i].a] : NULL;
        for (uint32_t k = 0; g && k < g->n_in + g->n_out; k++)
            node = p->inst[i].operand[k] == at ? p->inst[i].node : node;
    }
    for (int d = 0; d < s->ndim; d++) {
        int64_t extent = value(m, s->dim[d]);
        if (extent < 0)
            return tn_error(m->b->ctx, "driver-E046", NULL,
                            "an input is too small for %s: dimension %d of its result would be %lld, at least 0 is "
                            "needed",
                            node, d, (long long)extent);
    }
    m->at[slot] = tn_arena_alloc(&m->b->arena, (size_t)value(m, s->bytes) + 1, 64);
    return TN_OK;
}

static tn_status call(machine *m, const tn_inst_ir *x)
{
    const tn_group *g = &m->b->groups.at[x->a];
    uint32_t n = g->n_in + g->n_out, v = 0;
    void **arg = TN_NEW_N(&m->b->arena, void *, n);
    int64_t *sym = TN_NEW_N(&m->b->arena, int64_t, x->n_operand);
    for (uint32_t i = 0; i < n; i++)
        arg[i] = m->at[x->operand[i]];
    for (uint32_t i = 0; i < g->te->n_symbol; i++)
        sym[i] = m->sym[x->operand[n + i]];
    while (g->guard[v] && v + 1 < g->n_variant && !value(m, g->guard[v]))
        v++;
    if (strcmp(m->stage, "tir") == 0)
        return tn_func_run(g->te, arg, sym);
    return tn_func_run(strcmp(m->stage, "flat") == 0 ? g->flat[v].func : g->sched[v].func, arg, sym);
}

static tn_status bind_inputs(machine *m, int n_in, const tenon_tensor in[])
{
    const tn_program_ir *p = &m->b->program;
    const tn_region *r = tn_graph_function(&m->b->graph, "main")->body;
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tenon_tensor *x;
        TN_TRY(find_input(m->b, r->param[i], n_in, in, &x));
        m->at[i] = x->data;
        for (int d = 0; d < p->slot[i].ndim; d++)
            if (p->slot[i].bind[d] >= 0)
                m->sym[p->slot[i].bind[d]] = x->shape[d];
        for (int d = 0; d < p->slot[i].ndim; d++)
            if (value(m, p->slot[i].dim[d]) != x->shape[d])
                return tn_error(m->b->ctx, "driver-E044", r->param[i]->loc,
                                "input %s: dimension %d is %lld, the model wants %lld", r->param[i]->name, d,
                                (long long)x->shape[d], (long long)value(m, p->slot[i].dim[d]));
    }
    return TN_OK;
}

/* The slot whose memory this one has, where results are computed in place. */
static uint32_t memory_of(const tn_program_ir *p, uint32_t slot)
{
    while (p->slot[slot].over >= 0)
        slot = (uint32_t)p->slot[slot].over;
    return slot;
}

static tn_status by_tir(tn_build *b, const char *stage, int n_in, const tenon_tensor in[], int *n_out,
                        tenon_tensor **out)
{
    const tn_program_ir *p = &b->program;
    machine m = {b, stage, TN_NEW_N(&b->arena, int64_t, p->n_symbol), TN_NEW_N(&b->arena, void *, p->n_slot)};
    TN_TRY(bind_inputs(&m, n_in, in));
    uint32_t c = 0;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        if (p->slot[i].kind == TN_SLOT_CONST)
            m.at[i] = (void *)b->constant[c++]->blob->at;
        else if (p->slot[i].kind != TN_SLOT_INPUT)
            TN_TRY(place(&m, i));
    }
    for (uint32_t i = 0; i < p->n_slot && strcmp(stage, "flat") == 0; i++) /* as the package has it */
        m.at[i] = m.at[memory_of(p, i)];
    for (uint32_t i = 0; i < p->n_inst; i++)
        TN_TRY(call(&m, &p->inst[i]));
    *out = TN_NEW_N(&b->arena, tenon_tensor, p->n_slot);
    *n_out = 0;
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot_ir *s = &p->slot[i];
        int64_t dim[8], bytes;
        if (s->kind != TN_SLOT_OUTPUT)
            continue;
        for (int d = 0; d < s->ndim && d < 8; d++)
            dim[d] = value(&m, s->dim[d]);
        bytes = value(&m, s->bytes);
        give(&(*out)[(*n_out)++], s->name, s->dtype, s->ndim, dim,
             m.at[s->alias >= 0 ? (uint32_t)s->alias : i], (size_t)bytes);
    }
    return TN_OK;
}

tn_status tn_interpret(tn_build *b, const char *stage, int n_in, const tenon_tensor in[], int *n_out,
                       tenon_tensor **out)
{
    if (strcmp(stage, "relay") == 0)
        return by_relay(b, n_in, in, n_out, out);
    if (strcmp(stage, "tir") != 0 && strcmp(stage, "tir-scheduled") != 0 && strcmp(stage, "flat") != 0)
        return tn_error(b->ctx, "driver-E045", NULL,
                        "no interpreter runs stage %s; use relay, tir, tir-scheduled or flat", stage);
    TN_TRY(tn_stage_graph(b));
    TN_TRY(tn_stage_tir(b));
    TN_TRY(tn_stage_schedule(b));
    TN_TRY(tn_stage_lower(b));
    TN_TRY(tn_stage_program(b));
    for (uint32_t i = 0; i < b->program.n_inst; i++)
        if (b->program.inst[i].op != TN_INST_CALL)
            return tn_error(b->ctx, "driver-E069", NULL,
                            "%s: stage %s runs calls of kernels alone, not what decides or computes sizes during "
                            "the run; use stage relay",
                            b->program.inst[i].node, stage);
    return by_tir(b, stage, n_in, in, n_out, out);
}
