/* Interpreters behind one door: Relay's (operator by operator, here) and TIR's (interpret_program.c). */
#include "driver/driver.h"
#include "launch/kernel.h"

#include <stdlib.h>
#include <string.h>

/* ---- evaluating one function: interpreted, or compiled where that would take seconds ---- */

typedef struct {
    double count, scale;
} work;

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

/* Whether a block reduces over so many elements, or over an unknown number, that lowering may add them up in chunks. */
static bool reduces_long(tn_stmt *s, void *user)
{
    enum { MANY = 500 };
    bool *found = user;
    int64_t n, terms = 1;
    for (uint32_t i = 0; s->kind == TN_S_BLOCK && i < s->u.block.n_iter && terms <= MANY; i++)
        if (s->u.block.iter[i].kind == TN_ITER_REDUCE)
            terms = tn_is_int(s->u.block.iter[i].extent, &n) && n <= MANY ? terms * n : MANY + 1;
    *found = *found || terms > MANY;
    return !*found;
}

static tn_status run_library(tn_build *b, const tn_library *lib, const tn_func *f, void *const arg[],
                             const int64_t sym[])
{
    uint64_t *bytes = TN_NEW_N(&b->arena, uint64_t, f->n_param);
    tnr_error err;
    if (!tn_func_parameter_bytes(f, sym, bytes))
        return tn_error(b->ctx, "relay-E208", &(tn_loc){.op = f->source}, "not enough memory for a value");
    tn_kernel_runner *r = tn_kernel_open(&(tn_kernel_use){.library = lib,
                                                          .node = tn_arena_printf(&b->arena, "@%s", f->name),
                                                          .bytes = bytes,
                                                          .sym = sym,
                                                          .threads = 1},
                                         &err);
    bool ok = r && !tn_kernel_run(r, arg, &err);
    tn_kernel_close(r);
    return ok ? TN_OK : tn_error(b->ctx, "tir-E203", NULL, "%s", err.message);
}

static tn_status run_compiled(tn_build *b, const tn_llvm_api *llvm, const tn_func *f, tn_flat *variant,
                              void *const arg[], const int64_t sym[])
{
    tn_jit *jit;
    const tn_library *lib;
    tn_kernel_ir kernel = {.name = "reference", .source = f->source, .n_variant = 1, .variant = variant};
    for (uint32_t i = 0; i < f->n_param; i++)
        *(f->buffer[f->param[i]].written ? &kernel.n_out : &kernel.n_in) += 1;
    tn_unit unit = {.ctx = b->ctx,
                    .name = "reference",
                    .producer = "tenon",
                    .target = "llvm",
                    .feature = b->feature,
                    .n_feature = b->n_feature,
                    .n_kernel = 1,
                    .kernel = &kernel};
    TN_TRY(llvm->jit(&unit, &(tn_code_options){.opt_level = 2}, &jit, &lib));
    tn_status st = run_library(b, lib, f, arg, sym);
    llvm->jit_free(jit);
    return st;
}

/* The function as a package would run it, or, where it is strict, in the order of its loops. NULL: refused. */
static tn_func *lowered(tn_build *b, const tn_func *f, bool strict, tn_flat *out)
{
    tn_sched schedule;
    tn_func *flat;
    size_t n_diag = b->ctx->n_diag;
    if (strict) {
        flat = tn_func_clone(f, &b->arena, f->pool);
        flat->strict = true;
    } else {
        tn_rule_apply(&schedule, f, &b->machine, NULL, &b->arena, f->pool);
        flat = schedule.func;
    }
    if (tn_lower(flat, &b->machine, b->target.row->pipeline, out) == TN_OK && tn_func_verify(flat) == TN_OK)
        return flat;
    tn_diag_rewind(b->ctx, n_diag);
    return NULL;
}

/* Long sums are scheduled and lowered first, which makes them as accurate as they are in packages. */
static tn_status evaluate(const tn_func *f, void *const arg[], const int64_t sym[], bool may_compile,
                          tn_build *b)
{
    const tn_llvm_api *llvm = NULL;
    tn_flat variant;
    bool sums = false;
    tn_stmt_walk((tn_body *)&f->body, reduces_long, NULL, &sums);
    if (may_compile && is_long(f) && tn_llvm_open(NULL, &llvm) != TN_OK)
        llvm = NULL;
    const tn_func *flat = sums || llvm ? lowered(b, f, !sums, &variant) : NULL;
    return flat && llvm ? run_compiled(b, llvm, f, &variant, arg, sym)
                        : tn_eval_interp(flat ? flat : f, arg, sym, NULL);
}

tn_status tn_eval_auto(const tn_func *f, void *const arg[], const int64_t sym[], void *user)
{
    return evaluate(f, arg, sym, true, user);
}

tn_status tn_eval_constant(const tn_func *f, void *const arg[], const int64_t sym[], void *user)
{
    return evaluate(f, arg, sym, false, user);
}

/* ---- the model's inputs ---- */

static tn_status wrong_type(tn_build *b, const tn_node *param, const tenon_tensor *x)
{
    tn_buf want = {0}, have = {0};
    tn_type_print(param->type[0], &want);
    tn_dtype_print((tn_dtype){x->code, x->bits, 1}, false, &have);
    tn_status st =
        tn_error(b->ctx, "driver-E042", param->loc, "input %s must be %s, but has %d dimensions of %s",
                 param->name, tn_buf_cstr(&want), (int)x->ndim, tn_buf_cstr(&have));
    tn_buf_deinit(&want);
    tn_buf_deinit(&have);
    return st;
}

tn_status tn_find_input(tn_build *b, const tn_node *param, int n_in, const tenon_tensor in[],
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

void tn_tensor_give(tenon_tensor *o, const char *name, tn_dtype t, int ndim, const int64_t dim[], void *data,
                    size_t n)
{
    *o = (tenon_tensor){.name = name, .code = t.code, .bits = t.bits, .ndim = ndim, .data = data, .bytes = n};
    memcpy(o->shape, dim, (size_t)ndim * sizeof *dim);
}

/* The first contents of a state. */
static const tenon_tensor *first_contents(tn_build *b, const tn_graph_state *s, const tn_node *param)
{
    const tn_type *t = param->type[0];
    const tn_node *first = tn_state_first(b, s);
    int64_t dim[8], bytes = 0;
    for (int d = 0; d < t->n; d++)
        (void)tn_is_int(t->dim[d], &dim[d]);
    (void)tn_is_int(tn_simplify(&b->pool, NULL, tn_type_bytes(&b->pool, t)), &bytes);
    tenon_tensor *x = TN_NEW(&b->arena, tenon_tensor);
    void *data = tn_arena_alloc(&b->arena, (size_t)bytes, 64);
    memset(data, 0, (size_t)bytes);
    if (first && bytes)
        memcpy(data, first->blob->at, (size_t)bytes);
    tn_tensor_give(x, param->name, t->dtype, t->n, dim, data, (size_t)bytes);
    return x;
}

static tn_status by_relay(tn_build *b, int n_in, const tenon_tensor in[], int *n_out, tenon_tensor **out)
{
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    tn_tensor_value *value = TN_NEW_N(&b->arena, tn_tensor_value, r->n_param),
                    *result = TN_NEW_N(&b->arena, tn_tensor_value, r->n_result);
    TN_TRY(tn_states_find(b));
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tenon_tensor *x;
        int64_t state = tn_state_of_input(b, i);
        if (state >= 0)
            x = first_contents(b, &b->state[state], r->param[i]);
        else
            TN_TRY(tn_find_input(b, r->param[i], n_in, in, &x));
        value[i] = (tn_tensor_value){.dtype = r->param[i]->type[0]->dtype,
                                     .ndim = (uint16_t)x->ndim,
                                     .at = x->data,
                                     .n = x->bytes,
                                     .borrowed = true};
        memcpy(value[i].dim, x->shape, sizeof value[i].dim);
    }
    b->graph.call_host = tn_interpret_host;
    TN_TRY(tn_relay_run(&b->graph, (int)r->n_param, value, (int)r->n_result, result, tn_eval_auto, b));
    *n_out = 0;
    *out = TN_NEW_N(&b->arena, tenon_tensor, r->n_result);
    for (uint32_t i = 0; i < r->n_result; i++) {
        void *copy = tn_arena_copy(&b->arena, result[i].at, result[i].n, 64);
        if (!tn_is_state_result(b, i))
            tn_tensor_give(&(*out)[(*n_out)++], b->output_name[i], result[i].dtype, result[i].ndim,
                           result[i].dim, copy, result[i].n);
        tn_tensor_value_deinit(&result[i]);
    }
    return TN_OK;
}

/* Interpreters take and give tensors of numbers alone. */
static tn_status check_border(tn_build *b)
{
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    for (uint32_t i = 0; i < r->n_param + r->n_result; i++) {
        const tn_use *u = i < r->n_param ? NULL : &r->result[i - r->n_param];
        const tn_type *t = u ? u->def->type[u->out] : r->param[i]->type[0];
        bool tensor = u && t->kind == TN_T_ANY && !tn_dtype_is_string(t->dtype);
        if (tn_type_is_handle(t) && !tensor && (!u || t->kind >= TN_T_ANY || t->kind == TN_T_TENSOR))
            return tn_error(
                b->ctx, "driver-E084", NULL,
                "an input or output of the model is no tensor of numbers, which interpreters do not "
                "take; run a package from Python or C");
    }
    return TN_OK;
}

tn_status tn_interpret(tn_build *b, const char *stage, int n_in, const tenon_tensor in[], int *n_out,
                       tenon_tensor **out)
{
    TN_TRY(check_border(b));
    if (strcmp(stage, "relay") == 0)
        return by_relay(b, n_in, in, n_out, out);
    if (strcmp(stage, "tir") != 0 && strcmp(stage, "tir-scheduled") != 0 && strcmp(stage, "flat") != 0)
        return tn_error(b->ctx, "driver-E045", NULL,
                        "stage %s cannot be interpreted; use relay, tir, tir-scheduled or flat", stage);
    b->opt.no_in_place =
        b->opt.no_in_place || strcmp(stage, "flat") != 0; /* it is flat TIR that permits it */
    TN_TRY(tn_stage_graph(b));
    TN_TRY(tn_stage_tir(b));
    TN_TRY(tn_stage_schedule(b));
    TN_TRY(tn_stage_lower(b));
    TN_TRY(tn_stage_program(b));
    return tn_interpret_program(b, stage, n_in, in, n_out, out);
}
