/* tenon/te.h: kernels that are complete: schedules, what is in them, code. */
#include "driver/kernel_api.h"

#include "base/rng.h"

#include <string.h>

/* ---- of a function of TIR ---- */

typedef struct {
    const tenon_module *m;
    const char *name; /* NULL: the first function */
    tn_buf text;      /* of it, in the module's heap */
} source;

static const tn_func *find_function(const tenon_module *m, const char *name)
{
    for (size_t i = 0; m->tir && i < tn_tir_text_count(m->tir); i++)
        if (!name || strcmp(tn_tir_text_at(m->tir, i)->name, name) == 0)
            return tn_tir_text_at(m->tir, i);
    return NULL;
}

static tn_status print_function(tn_object *x, void *user)
{
    source *s = user;
    const tn_func *f = find_function((tenon_module *)x, s->name);
    const tn_loc loc = {.file = ((tenon_module *)x)->build.model};
    if (!f)
        return tn_error(&x->ctx, "tir-E090", &loc, "there is no function @%s of TIR in the module",
                        s->name ? s->name : "");
    if (f->stage != TN_STAGE_BLOCKS)
        return tn_error(&x->ctx, "tir-E091", &loc,
                        "@%s is lowered already; take the function (func) as it was before", f->name);
    tn_func_print(f, &s->text);
    return TN_OK;
}

typedef struct {
    const char *file, *text;
    size_t n;
} function_text;

static tn_status begin_from(tn_object *x, void *user)
{
    tenon_kernel *k = (tenon_kernel *)x;
    const function_text *s = user;
    tn_func *f;
    size_t n;
    tn_arena_init(&k->arena);
    tn_pool_init(&k->pool, &x->ctx, &k->arena, NULL);
    const char *file = tn_intern(&x->ctx, s->file), *text = tn_arena_copy(&k->arena, s->text, s->n, 1);
    TN_TRY(tn_func_parse(&x->ctx, &k->arena, &k->pool, file, text, s->n, &f, 1, &n));
    TN_TRY(tn_func_verify(f));
    for (uint32_t i = 0; i < f->n_param; i++) /* whoever calls the kernel alone gives all its inputs */
        f->buffer[f->param[i]].constant = false;
    tn_sched_init(&k->sched, f, &k->arena, &k->pool);
    k->func = f;
    return TN_OK;
}

tenon_kernel *tn_kernel_of_text(tenon *t, const char *file, const char *text, size_t n)
{
    tenon_kernel *k = tn_object_new(t, sizeof *k);
    if (k && tn_object_change(&k->object, NULL, begin_from, &(function_text){file, text, n}) != 0) {
        tn_object_drop(&k->object);
        return NULL;
    }
    return k;
}

tenon_kernel *tenon_kernel_from_module(tenon_module *m, const char *name)
{
    source s = {.m = m, .name = name};
    if (tn_object_change(m ? &m->object : NULL, NULL, print_function, &s) != 0)
        return NULL;
    return tn_kernel_of_text(m->object.session, m->build.model, s.text.at, s.text.n);
}

tenon_module *tenon_kernel_module(tenon_kernel *k)
{
    const char *text = tenon_kernel_print(k);
    return text ? tn_module_of_text(k->object.session, k->func->name, text) : NULL;
}

/* ---- the schedule ---- */

static tn_status step(tn_object *o, void *user)
{
    tenon_kernel *k = (tenon_kernel *)o;
    uint32_t line = 0;
    tn_verdict v = tn_trace_replay(&k->sched, user, strlen(user), &line);
    const tn_loc loc = {.file = k->func->name, .line = line, .col = 1};
    return v == TN_DONE
               ? TN_OK
               : tn_error(&o->ctx, "driver-E032", &loc, "the step is refused: %s", tn_verdict_texts[v]);
}

int tenon_step(tenon_kernel *k, const char *text)
{
    return !k || !k->func ? 1 : tn_object_change(&k->object, NULL, step, (void *)(uintptr_t)text);
}

static tn_status mutate(tn_object *o, void *user)
{
    tenon_kernel *k = (tenon_kernel *)o;
    tn_rng r = {*(const uint64_t *)user};
    tn_sched other;
    const tn_loc loc = {.file = k->func->name};
    tn_verdict v = tn_trace_mutate(&k->sched, k->func, &r, &k->arena, &k->pool, &other);
    if (v != TN_DONE)
        return tn_error(&o->ctx, "driver-E032", &loc, "the step is refused: %s", tn_verdict_texts[v]);
    k->sched = other;
    return TN_OK;
}

int tenon_kernel_mutate(tenon_kernel *k, uint64_t seed)
{
    return !k || !k->func ? 1 : tn_object_change(&k->object, NULL, mutate, &seed);
}

static tn_status apply_rule(tn_object *o, void *user)
{
    tenon_kernel *k = (tenon_kernel *)o;
    tenon_options known;
    tn_build b;
    TN_TRY(tn_options_read(&o->ctx, user, &known));
    tn_build_init(&b, &o->ctx, &known);
    TN_TRY(tn_target_parse(&b));
    tn_status st = tn_records_open(&b);
    if (st == TN_OK && !tn_records_apply(&b, k->func, NULL, &k->arena, &k->pool, &k->sched))
        tn_rule_apply(&k->sched, k->func, &b.machine, NULL, &k->arena, &k->pool);
    if (b.has_records)
        tn_records_deinit(&b.records);
    return st == TN_OK ? tn_func_verify(k->sched.func) : st;
}

int tenon_kernel_rule(tenon_kernel *k, const tenon_options *o)
{
    return !k || !k->func ? 1 : tn_object_change(&k->object, o, apply_rule, (void *)(uintptr_t)o);
}

const char *tenon_step_name(size_t i, const char **out_doc)
{
    if (out_doc)
        *out_doc = i < TN_STEP_COUNT ? tn_steps[i].doc : NULL;
    return i < TN_STEP_COUNT ? tn_steps[i].name : NULL;
}

static tn_status print(tn_object *o, void *user)
{
    tenon_kernel *k = (tenon_kernel *)o;
    tn_buf_clear(&k->text);
    if (user)
        tn_trace_print(&k->sched, &k->text);
    else
        tn_func_print(k->sched.func, &k->text);
    return TN_OK;
}

static const char *printed(tenon_kernel *k, void *trace)
{
    bool ok = k && k->func && tn_object_change(&k->object, NULL, print, trace) == 0;
    return ok ? tn_buf_cstr(&k->text) : NULL;
}

static tn_status print_unscheduled(tn_object *o, void *user)
{
    tenon_kernel *k = (tenon_kernel *)o;
    tn_buf_clear(&k->text);
    tn_func_print(k->func, &k->text);
    *(uint64_t *)user = tn_func_workload(k->func);
    return TN_OK;
}

const char *tenon_kernel_function(tenon_kernel *k, uint64_t *out_workload)
{
    bool ok = k && k->func && tn_object_change(&k->object, NULL, print_unscheduled, out_workload) == 0;
    return ok ? tn_buf_cstr(&k->text) : NULL;
}

const char *tenon_kernel_print(tenon_kernel *k) { return printed(k, NULL); }

const char *tenon_kernel_trace(tenon_kernel *k) { return printed(k, k); }

/* ---- code ---- */

/* A program of one call. */
static void make_program(tn_build *b, const tn_func *f, const tn_flat *flat)
{
    uint32_t n = f->n_param, *operand = TN_NEW_N(&b->arena, uint32_t, n + f->n_symbol);
    tn_slot_ir *slot = TN_NEW_N(&b->arena, tn_slot_ir, n);
    tn_symbol *symbol = TN_NEW_N(&b->arena, tn_symbol, f->n_symbol);
    tn_inst_ir *inst = TN_NEW(&b->arena, tn_inst_ir);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        symbol[i] = (tn_symbol){f->symbol[i].name, f->symbol[i].min, f->symbol[i].max};
    b->main = TN_NEW(&b->arena, tn_program_function_ir);
    *b->main = (tn_program_function_ir){.name = "main",
                                        .n_slot = n,
                                        .slot = slot,
                                        .n_symbol = f->n_symbol,
                                        .symbol = symbol,
                                        .n_inst = 1,
                                        .inst = inst,
                                        .arena_bytes = flat->work_bytes,
                                        .work_offset = tn_idx(&b->pool, 0)};
    for (uint32_t i = 0; i < n + f->n_symbol; i++)
        operand[i] = i < n ? i : i - n;
    for (uint32_t i = 0; i < n; i++) {
        const tn_buffer *p = &f->buffer[f->param[i]];
        int32_t *bind = TN_NEW_N(&b->arena, int32_t, p->ndim);
        slot[i] = (tn_slot_ir){.name = p->name,
                               .kind = p->written ? TN_SLOT_OUTPUT : TN_SLOT_INPUT,
                               .ndim = p->ndim,
                               .dtype = p->dtype,
                               .dim = p->dim,
                               .bytes = tn_slot_dense_bytes(&b->pool, p->dtype, p->ndim, p->dim),
                               .alias = -1,
                               .over = -1};
        if (!p->written && tn_program_default_binds(b->main, i, bind))
            slot[i].bind = bind;
        else if (!p->written)
            slot[i].bind = memset(bind, 0xff, p->ndim * sizeof *bind); /* -1 each */
    }
    *inst =
        (tn_inst_ir){.op = TN_INST_CALL, .n_operand = n + f->n_symbol, .operand = operand, .node = f->name};
    b->program = (tn_program_ir){.n_function = 1, .function = b->main};
}

typedef struct {
    tenon_kernel *k;
    tn_here *x;
    tnr_module **out;
} code_call;

static bool has_extent(const tn_func *f, const tn_expr *symbol)
{
    bool found = false;
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *p = &f->buffer[f->param[i]];
        for (int d = 0; d < p->ndim && !p->written; d++)
            found |= p->dim[d] == symbol;
    }
    return found;
}

/* A program gives a kernel dense tensors, and the values of symbols that it finds in their shapes. */
static tn_status check_parameters(tn_ctx *ctx, const tn_func *f)
{
    bool can = true;
    for (uint32_t i = 0; i < f->n_symbol; i++)
        can = can && has_extent(f, tn_sym(f->pool, f->symbol[i].name));
    for (uint32_t i = 0; i < f->n_param; i++)
        can = can && !f->buffer[f->param[i]].layout;
    return can ? TN_OK
               : tn_error(
                     ctx, "tir-E092", NULL,
                     "@%s cannot be called alone: a parameter has a layout, or no input has a symbol as a "
                     "dimension",
                     f->name);
}

static tn_status build(tenon *t, void *user)
{
    const code_call *c = user;
    tn_build *b = &t->build;
    tn_flat *flat = TN_NEW(&b->arena, tn_flat);
    TN_TRY(check_parameters(b->ctx, c->k->sched.func));
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_passes_init(b));
    tn_pool_init(&b->pool, b->ctx, &b->arena, &c->k->pool);
    const tn_func *f = c->k->sched.func;
    tn_func *loops = tn_func_clone(f, &b->arena, &b->pool);
    loops->ctx = b->ctx;
    TN_TRY(tn_lower_step(b, loops, flat));
    TN_TRY(tn_func_verify(flat->func));
    make_program(b, c->k->func, flat);
    uint32_t n_out = 0;
    for (uint32_t i = 0; i < f->n_param; i++)
        n_out += f->buffer[f->param[i]].written;
    tn_kernel_ir *kernel = TN_NEW(&b->arena, tn_kernel_ir);
    *kernel = (tn_kernel_ir){f->name, f->source, f->n_param - n_out, n_out, 1, flat, {0}};
    b->unit = (tn_unit){.ctx = b->ctx,
                        .name = f->name,
                        .producer = "tenon " TENON_VERSION,
                        .target = b->target.text,
                        .feature = b->feature,
                        .n_feature = b->n_feature,
                        .n_kernel = 1,
                        .kernel = kernel,
                        .program = &b->program};
    return tn_here_open(t, c->x, c->out);
}

int tenon_kernel_build(tenon_kernel *k, const tenon_options *o, tnr_module **out_module)
{
    *out_module = NULL;
    if (!k || !k->func)
        return 1;
    tn_here *x = tn_here_new(k->object.session);
    return tn_here_end(x, !x || tn_object_call(&k->object, o, build, &(code_call){k, x, out_module}));
}

tnr_status tenon_time(tnr_instance *instance, double most, double *out_seconds, tnr_error *err)
{
    double best = 0, begin = tn_now(), last = begin;
    for (int i = 0; i < 3 || last - begin < most; i++) {
        tnr_status st = tnr_run(instance, err);
        double now = tn_now();
        if (st)
            return st;
        best = i == 0 || now - last < best ? now - last : best;
        last = now;
    }
    *out_seconds = best;
    return TNR_OK;
}
