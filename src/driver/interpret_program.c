/* The program on the runtime, its kernels by the TIR interpreter: a library in memory whose kernels have one phase of
 * one task, which runs the function of the stage asked for. All else (order, jumps, memory plan, copies) is the
 * runtime's work, as for a package.
 *
 * Sizes in the ABI are numbers or compiled functions. The inputs are known here, so what depends on their symbols alone
 * is a number. Where the run itself binds symbols, LLVM compiles the program's tables (driver-E069 without it). */
#include "driver/driver.h"
#include "tenon/runtime.h"

#include <string.h>

struct machine;
typedef struct kernel {
    struct machine *m;
    const tn_group *group;
    const char **symbol; /* names, in the order of a call */
} kernel;

typedef struct machine {
    tn_build *b;
    const char *stage;
    int64_t *sym;   /* of the program, by its inputs */
    kernel *kernel; /* by group */
    void **user;    /* pointers to them */
    const tn_llvm_api *llvm;
    tn_jit *jit; /* of the program's tables; NULL: they are made here */
} machine;

static int64_t value(tn_build *b, const tn_expr *e, uint32_t n, const char *const name[], const int64_t sym[])
{
    const tn_expr **from = TN_NEW_N(&b->scratch, const tn_expr *, n),
                  **to = TN_NEW_N(&b->scratch, const tn_expr *, n);
    for (uint32_t i = 0; i < n; i++) {
        from[i] = tn_sym(&b->pool, name[i]);
        to[i] = tn_idx(&b->pool, sym[i]);
    }
    e = tn_simplify(&b->pool, NULL, tn_subst(&b->pool, e, (int)n, from, to));
    tn_arena_reset(&b->scratch);
    return e->kind == TN_E_INT ? e->u.i : -1;
}

static int64_t program_value(machine *m, const tn_expr *e)
{
    const tn_program_ir *p = &m->b->program;
    const char **name = TN_NEW_N(&m->b->arena, const char *, p->n_symbol);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        name[i] = p->symbol[i].name;
    return value(m->b, e, p->n_symbol, name, m->sym);
}

static tn_size size(machine *m, const tn_expr *e) { return (tn_size){.value = program_value(m, e)}; }

/* ---- kernels ---- */

static const tn_func *function(const kernel *k, const int64_t sym[])
{
    const tn_group *g = k->group;
    uint32_t v = 0;
    while (g->guard[v] && v + 1 < g->n_variant &&
           !value(k->m->b, g->guard[v], g->te->n_symbol, k->symbol, sym))
        v++;
    if (strcmp(k->m->stage, "tir") == 0)
        return g->te;
    return strcmp(k->m->stage, "flat") == 0 ? g->flat[v].func : g->sched[v].func;
}

/* A tn_phase_fn. What fails is reported where it fails. */
static int32_t run(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const kernel *k = call->user;
    (void)step, (void)task, (void)scratch;
    tn_status st = tn_func_run(function(k, call->sym), call->arg, call->sym);
    tn_ctx_join(k->m->b->ctx, &k->group->child->ctx);
    return st == TN_OK ? 0 : 1;
}

static void make_overlaps(machine *m, const tn_group *g, tn_kernel *out)
{
    tn_overlap *pair = TN_NEW_N(&m->b->arena, tn_overlap, 32);
    out->overlap = pair;
    for (uint16_t i = 0; i < 32; i++)
        if (g->in_place >> i & 1)
            pair[out->n_overlap++] = (tn_overlap){.in = i, .out = 0, .kind = TN_OVERLAP_MAY};
}

static const tn_kernel *make_kernels(machine *m)
{
    static const tn_phase phase = {.run = run, .tasks = {.value = 1}};
    static const tn_variant variant = {
        .guard = {.value = 1}, .steps = {.value = 1}, .phase = &phase, .n_phase = 1};
    static const char *const check[] = {"the interpreter has reported what failed"};
    tn_build *b = m->b;
    tn_kernel *k = TN_NEW_N(&b->arena, tn_kernel, b->groups.n);
    m->kernel = TN_NEW_N(&b->arena, kernel, b->groups.n);
    m->user = TN_NEW_N(&b->arena, void *, b->groups.n);
    for (uint32_t i = 0; i < b->groups.n; i++) {
        const tn_group *g = &b->groups.at[i];
        m->kernel[i] = (kernel){m, g, TN_NEW_N(&b->arena, const char *, g->te->n_symbol)};
        for (uint32_t n = 0; n < g->te->n_symbol; n++)
            m->kernel[i].symbol[n] = g->te->symbol[n].name;
        m->user[i] = &m->kernel[i];
        k[i] = (tn_kernel){.name = g->name,
                           .source = g->source,
                           .variant = &variant,
                           .n_variant = 1,
                           .check = check,
                           .n_check = 1,
                           .n_in = g->n_in,
                           .n_out = g->n_out,
                           .n_sym = g->te->n_symbol};
        make_overlaps(m, g, &k[i]);
    }
    return k;
}

/* ---- the program ---- */

/* The nodes of the first call that has the slot: those that compute it. */
static const char *node_of(const machine *m, uint32_t slot)
{
    const tn_program_ir *p = &m->b->program;
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const tn_group *g = p->inst[i].op == TN_INST_CALL ? &m->b->groups.at[p->inst[i].a] : NULL;
        for (uint32_t k = 0; g && k < g->n_in + g->n_out; k++)
            if (p->inst[i].operand[k] == slot)
                return p->inst[i].node;
    }
    return p->slot[slot].name;
}

/* An extent less than 0 says that an input is too small. */
static tn_status make_slot(machine *m, uint32_t at, tn_slot *out)
{
    const tn_slot_ir *s = &m->b->program.slot[at];
    tn_size *dim = TN_NEW_N(&m->b->arena, tn_size, s->ndim);
    for (int d = 0; d < s->ndim; d++) {
        dim[d] = size(m, s->dim[d]);
        if (dim[d].value < 0)
            return tn_error(m->b->ctx, "driver-E046", NULL,
                            "an input is too small for %s: dimension %d of its result would be %lld, but "
                            "must be at least 0",
                            node_of(m, s->alias >= 0 ? (uint32_t)s->alias : at), d, (long long)dim[d].value);
    }
    *out = (tn_slot){.name = s->name,
                     .kind = (uint8_t)s->kind,
                     .code = s->dtype.code,
                     .bits = s->dtype.bits,
                     .ndim = s->ndim,
                     .dim = dim,
                     .bind = s->bind,
                     .bytes = size(m, s->bytes),
                     .offset = s->offset ? size(m, s->offset) : (tn_size){.value = -1},
                     .alias = s->alias};
    return TN_OK;
}

static void make_instructions(machine *m, tn_program_function *out)
{
    const tn_program_ir *p = &m->b->program;
    tn_inst *inst = TN_NEW_N(&m->b->arena, tn_inst, p->n_inst);
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < p->n_inst; i++)
        n += p->inst[i].n_operand;
    uint32_t *operand = TN_NEW_N(&m->b->arena, uint32_t, n);
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const tn_inst_ir *x = &p->inst[i];
        inst[i] = (tn_inst){.op = x->op, .a = x->a, .operand = k, .n_operand = x->n_operand, .node = x->node};
        for (uint32_t o = 0; o < x->n_operand; o++)
            operand[k++] = x->operand[o];
    }
    out->inst = inst;
    out->operand = operand;
    out->n_operand = n;
}

/* Its tables as a package has them; no kernels. */
static tn_status compile_program(machine *m, tn_program *out)
{
    tn_build *b = m->b;
    tn_unit unit = b->unit;
    const tn_library *lib;
    unit.n_kernel = 0;
    unit.kernel = NULL;
    if (tn_llvm_open(NULL, &m->llvm) != TN_OK)
        return tn_error(b->ctx, "driver-E069", NULL,
                        "stage %s needs the LLVM code generator for sizes that the run computes, but it is "
                        "not installed; use stage relay",
                        m->stage);
    TN_TRY(m->llvm->jit(&unit, &(tn_llvm_options){.opt_level = 0}, &m->jit, &lib));
    *out = *lib->program;
    return TN_OK;
}

static tn_status make_program(machine *m, tn_program *out)
{
    const tn_program_ir *p = &m->b->program;
    if (p->n_late)
        return compile_program(m, out);
    tn_slot *slot = TN_NEW_N(&m->b->arena, tn_slot, p->n_slot);
    tn_size *sizes = TN_NEW_N(&m->b->arena, tn_size, p->n_size);
    for (uint32_t i = 0; i < p->n_slot; i++)
        TN_TRY(make_slot(m, i, &slot[i]));
    for (uint32_t i = 0; i < p->n_size; i++)
        sizes[i] = size(m, p->size[i]);
    tn_program_function *f = TN_NEW(&m->b->arena, tn_program_function);
    *f = (tn_program_function){.name = "main",
                               .slot = slot,
                               .n_slot = p->n_slot,
                               .symbol = p->symbol,
                               .n_symbol = p->n_symbol,
                               .n_inst = p->n_inst,
                               .arena_bytes = size(m, p->arena_bytes),
                               .work_offset = size(m, p->work_offset),
                               .size = sizes,
                               .n_size = p->n_size};
    make_instructions(m, f);
    *out = (tn_program){.function = f, .n_function = 1, .text = p->text, .n_text = p->n_text};
    return TN_OK;
}

/* ---- inputs, run, outputs ---- */

static tn_status bind_inputs(machine *m, int n_in, const tenon_tensor in[], const tenon_tensor **given)
{
    const tn_program_ir *p = &m->b->program;
    const tn_region *r = tn_graph_function(&m->b->graph, "main")->body;
    for (uint32_t i = 0; i < r->n_param; i++) {
        TN_TRY(tn_find_input(m->b, r->param[i], n_in, in, &given[i]));
        for (int d = 0; d < p->slot[i].ndim; d++)
            if (p->slot[i].bind[d] >= 0)
                m->sym[p->slot[i].bind[d]] = given[i]->shape[d];
        for (int d = 0; d < p->slot[i].ndim; d++)
            if (program_value(m, p->slot[i].dim[d]) != given[i]->shape[d])
                return tn_error(m->b->ctx, "driver-E044", r->param[i]->loc,
                                "input %s: dimension %d is %lld, but the model needs %lld", r->param[i]->name,
                                d, (long long)given[i]->shape[d],
                                (long long)program_value(m, p->slot[i].dim[d]));
    }
    return TN_OK;
}

static bool run_instance(machine *m, tnr_instance *x, const tenon_tensor *const given[], tenon_tensor out[],
                         tnr_error *err)
{
    const tnr_module *of = tnr_instance_module(x);
    for (uint32_t i = 0; i < tnr_input_count(of); i++) {
        DLTensor t = {.data = given[i]->data,
                      .device = {kDLCPU, 0},
                      .ndim = given[i]->ndim,
                      .dtype = {given[i]->code, given[i]->bits, 1},
                      .shape = (int64_t *)given[i]->shape};
        if (tnr_set_input_at(x, i, &t, err))
            return false;
    }
    if (tnr_run(x, err))
        return false;
    for (uint32_t i = 0; i < tnr_output_count(of); i++) {
        tnr_tensor_info info;
        DLTensor t;
        uint64_t n;
        if (tnr_output_info(of, i, &info, err) || tnr_get_output_at(x, i, &t, err) ||
            tnr_tensor_bytes(t.dtype, t.ndim, t.shape, &n, err))
            return false;
        tn_tensor_give(&out[i], tn_arena_strndup(&m->b->arena, info.name, strlen(info.name)),
                       (tn_dtype){t.dtype.code, t.dtype.bits, 1}, t.ndim, t.shape,
                       tn_arena_copy(&m->b->arena, t.data ? t.data : "", (size_t)n, 64), (size_t)n);
    }
    return true;
}

static bool run_library(machine *m, const tn_library *lib, const tn_buf *params,
                        const tenon_tensor *const given[], int *n_out, tenon_tensor **out, tnr_error *err)
{
    tnr_module *module = NULL;
    tnr_instance *x = NULL;
    bool ok = !tnr_module_open_parts(
        &(tnr_parts){.library = lib, .params = params->at, .params_n = params->n, .user = m->user}, &module,
        err);
    if (ok) {
        *n_out = (int)tnr_output_count(module);
        *out = TN_NEW_N(&m->b->arena, tenon_tensor, *n_out);
        ok = !tnr_instance_new(module, &(tnr_instance_options){.threads = 1}, &x, err) &&
             run_instance(m, x, given, *out, err);
    }
    tnr_instance_free(x);
    tnr_module_release(module);
    return ok;
}

static tn_status run_program(machine *m, int n_in, const tenon_tensor in[], int *n_out, tenon_tensor **out)
{
    tn_build *b = m->b;
    const tenon_tensor **given = TN_NEW_N(&b->arena, const tenon_tensor *, b->program.n_slot);
    size_t before = b->ctx->n_error;
    tn_program program;
    tn_buf params = {0};
    tnr_error err;
    TN_TRY(bind_inputs(m, n_in, in, given));
    TN_TRY(make_program(m, &program));
    tn_library lib = {.version = TENON_ABI_VERSION,
                      .n_kernel = (uint32_t)b->groups.n,
                      .kernel = make_kernels(m),
                      .program = &program,
                      .producer = b->unit.producer,
                      .target = b->unit.target};
    tn_params_make(b, &(tn_sink){.buf = &params});
    bool ok = run_library(m, &lib, &params, given, n_out, out, &err);
    tn_buf_deinit(&params);
    if (ok || b->ctx->n_error > before)
        return ok ? TN_OK : TN_FAIL;
    return tn_error(b->ctx, "driver-E073", NULL, "%s", err.message);
}

tn_status tn_interpret_program(tn_build *b, const char *stage, int n_in, const tenon_tensor in[], int *n_out,
                               tenon_tensor **out)
{
    machine m = {.b = b, .stage = stage, .sym = TN_NEW_N(&b->arena, int64_t, b->program.n_symbol)};
    tn_status st = run_program(&m, n_in, in, n_out, out);
    if (m.jit)
        m.llvm->jit_free(m.jit);
    return st;
}
