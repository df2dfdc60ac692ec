/* The program on the runtime, its kernels by the TIR interpreter: a library in memory whose kernels have one phase of
 * one task, which runs the function of the stage asked for. All else (order, jumps, memory plan, copies) is the
 * runtime's work, as for a package.
 *
 * Sizes in the ABI are numbers or compiled functions. The inputs are known here, so what depends on their symbols alone
 * is a number. Where the run itself binds symbols, LLVM compiles the program's tables (driver-E069 without it). */
#include "driver/driver.h"
#include "tenon/host.h"

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
    tn_jit *jit;      /* of the program's tables; NULL: they are made here */
    tn_raised raised; /* in a kernel */
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
    int64_t v;
    if (tn_is_int(e, &v))
        return v;
    const tn_program_function_ir *p = m->b->main;
    const char **name = TN_NEW_N(&m->b->arena, const char *, p->n_symbol);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        name[i] = p->symbol[i].name;
    return value(m->b, e, p->n_symbol, name, m->sym);
}

static tn_size size(void *user, uint32_t function, const tn_expr *e)
{
    (void)function;
    return (tn_size){.value = program_value(user, e)};
}

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

typedef struct {
    const tn_call *call;
    tn_status status;
} kernel_call;

static void run_kernel(void *user)
{
    kernel_call *c = user;
    const kernel *k = c->call->user;
    c->status = tn_func_run(function(k, c->call->sym), c->call->arg, c->call->sym);
    tn_ctx_join(k->m->b->ctx, &k->group->child->ctx);
}

/* A tn_phase_fn. What fails is reported where it fails; what is raised may not leave the runtime's frames. */
static int32_t run(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const kernel *k = call->user;
    kernel_call c = {.call = call};
    (void)step, (void)task, (void)scratch;
    k->m->raised = tn_protect(NULL, run_kernel, &c);
    return k->m->raised.kind || c.status != TN_OK;
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
                           .n_sym = g->te->n_symbol,
                           .overlap = b->signature[i].overlap,
                           .n_overlap = b->signature[i].n_overlap};
    }
    return k;
}

/* ---- the program ---- */

/* The nodes of the first call that has the slot: those that compute it. */
static const char *node_of(const machine *m, uint32_t slot)
{
    const tn_program_function_ir *p = m->b->main;
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const tn_group *g = p->inst[i].op == TN_INST_CALL ? &m->b->groups.at[p->inst[i].a] : NULL;
        for (uint32_t k = 0; g && k < g->n_in + g->n_out; k++)
            if (p->inst[i].operand[k] == slot)
                return p->inst[i].node;
    }
    return p->slot[slot].name;
}

/* An extent less than 0 says that an input is too small. */
static tn_status check_extents(machine *m)
{
    const tn_program_function_ir *p = m->b->main;
    for (uint32_t i = 0; i < p->n_slot; i++)
        for (int d = 0; d < p->slot[i].ndim; d++) {
            int64_t n = program_value(m, p->slot[i].dim[d]), alias = p->slot[i].alias;
            if (n < 0)
                return tn_error(m->b->ctx, "driver-E046", NULL,
                                "an input is too small for %s: dimension %d of its result would be %lld, but "
                                "must be at least 0",
                                node_of(m, alias >= 0 ? (uint32_t)alias : i), d, (long long)n);
        }
    return TN_OK;
}

/* Its tables as a package has them; no kernels. */
static tn_status compile_program(machine *m, const tn_program **out)
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
    TN_TRY(m->llvm->jit(&unit, &(tn_code_options){.opt_level = 0}, &m->jit, &lib));
    *out = lib->program;
    return TN_OK;
}

static bool is_empty(const machine *m)
{
    const tn_program_function_ir *p = m->b->main;
    for (uint32_t i = 0; i < p->n_symbol; i++)
        if (m->sym[i] == 0 && p->symbol[i].min > 0)
            return true;
    return false;
}

/* Memory is planned for symbols of at least their least value. Where one is 0 nothing is run, and all has to
 * fit still. */
static void make_room(tn_program_function *f)
{
    for (uint32_t i = 0; i < f->n_slot; i++) {
        const tn_slot *s = &f->slot[i];
        const bool placed = s->kind == TN_SLOT_TEMP || (s->kind == TN_SLOT_OUTPUT && s->offset.value >= 0);
        if (placed && s->storage == TN_STORAGE_BYTES &&
            f->arena_bytes.value < s->offset.value + s->bytes.value)
            f->arena_bytes.value = s->offset.value + s->bytes.value;
    }
    if (f->work_offset.value < f->arena_bytes.value)
        f->work_offset.value = f->arena_bytes.value;
}

static tn_status make_program(machine *m, const tn_program **out)
{
    if (m->b->main->n_late || m->b->program.n_function > 1)
        return compile_program(m, out);
    TN_TRY(check_extents(m));
    *out = tn_program_tables(&m->b->arena, &m->b->program, size, m);
    if (is_empty(m))
        make_room((tn_program_function *)(*out)->function);
    return TN_OK;
}

/* ---- inputs, run, outputs ---- */

static tn_status bind_inputs(machine *m, int n_in, const tenon_tensor in[], const tenon_tensor **given)
{
    const tn_program_function_ir *p = m->b->main;
    const tn_region *r = tn_graph_function(&m->b->graph, "main")->body;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_param; i++) {
        if (tn_state_of_input(m->b, i) >= 0)
            continue;
        const tenon_tensor *x;
        TN_TRY(tn_find_input(m->b, r->param[i], n_in, in, &x));
        given[n++] = x;
        for (int d = 0; d < p->slot[i].ndim; d++)
            if (p->slot[i].bind[d] >= 0)
                m->sym[p->slot[i].bind[d]] = x->shape[d];
        for (int d = 0; d < p->slot[i].ndim; d++)
            if (program_value(m, p->slot[i].dim[d]) != x->shape[d])
                return tn_error(m->b->ctx, "driver-E044", r->param[i]->loc,
                                "input %s: dimension %d is %lld, but the model needs %lld", r->param[i]->name,
                                d, (long long)x->shape[d], (long long)program_value(m, p->slot[i].dim[d]));
    }
    return TN_OK;
}

/* An output whose rank only the run knows is a value, which holds the tensor. */
static bool take_output(tnr_instance *x, uint32_t i, DLTensor *out, uint64_t *out_bytes, tnr_error *err)
{
    tnr_tensor_info info;
    tnr_value *value;
    tnr_value_info held;
    if (tnr_output_info(tnr_instance_module(x), i, &info, err))
        return false;
    if (info.dtype.code != kDLOpaqueHandle) {
        if (tnr_get_output_at(x, i, out, err))
            return false;
    } else {
        if (tnr_get_output_value(x, i, &value, err))
            return false;
        tnr_value_get(value, &held);
        TN_ASSERT(held.kind == TNR_VALUE_TENSOR);
        *out = held.tensor;
    }
    return !tnr_tensor_bytes(out->dtype, out->ndim, out->shape, out_bytes, err);
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
    int failed = tnr_run(x, err);
    if (m->raised.kind)
        tn_raise(m->raised);
    if (failed)
        return false;
    for (uint32_t i = 0; i < tnr_output_count(of); i++) {
        tnr_tensor_info info;
        DLTensor t;
        uint64_t n;
        if (tnr_output_info(of, i, &info, err) || !take_output(x, i, &t, &n, err))
            return false;
        tn_tensor_give(&out[i], tn_arena_strndup(&m->b->arena, info.name, strlen(info.name)),
                       (tn_dtype){t.dtype.code, t.dtype.bits, 1}, t.ndim, t.shape,
                       tn_arena_copy(&m->b->arena, t.data ? t.data : "", (size_t)n, 64), (size_t)n);
    }
    return true;
}

static void free_instance(tn_resource *r) { tnr_instance_free(r->at); }
static void release_module(tn_resource *r) { tnr_module_release(r->at); }

static bool run_library(machine *m, const tn_library *lib, const tn_buf *params,
                        const tenon_tensor *const given[], int *n_out, tenon_tensor **out, tnr_error *err)
{
    tnr_module *module = NULL;
    tnr_instance *x = NULL;
    tn_resource *held_module = tn_resource_new(release_module), *held = tn_resource_new(free_instance);
    bool ok = !tnr_module_open_parts(
        &(tnr_parts){.library = lib, .params = params->at, .params_n = params->n, .user = m->user}, &module,
        err);
    held_module->at = module;
    ok = ok && !tnr_host_register_all(module, err);
    if (ok) {
        *n_out = (int)tnr_output_count(module);
        *out = TN_NEW_N(&m->b->arena, tenon_tensor, *n_out);
        ok = !tnr_instance_new(module, &(tnr_instance_options){.threads = 1}, &x, err);
        held->at = x;
        ok = ok && run_instance(m, x, given, *out, err);
    }
    tn_resource_end(held);
    tn_resource_end(held_module);
    return ok;
}

static tn_status run_program(machine *m, int n_in, const tenon_tensor in[], int *n_out, tenon_tensor **out)
{
    tn_build *b = m->b;
    const tenon_tensor **given = TN_NEW_N(&b->arena, const tenon_tensor *, b->main->n_slot);
    size_t before = b->ctx->n_error;
    const tn_program *program = NULL;
    tn_buf params = {0};
    tnr_error err;
    TN_TRY(bind_inputs(m, n_in, in, given));
    TN_TRY(make_program(m, &program));
    tn_library lib = {.version = TENON_ABI_VERSION,
                      .n_kernel = (uint32_t)b->groups.n,
                      .kernel = make_kernels(m),
                      .program = program,
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
    machine m = {.b = b, .stage = stage, .sym = TN_NEW_N(&b->arena, int64_t, b->main->n_symbol)};
    tn_status st = run_program(&m, n_in, in, n_out, out);
    if (m.jit)
        m.llvm->jit_free(m.jit);
    return st;
}
