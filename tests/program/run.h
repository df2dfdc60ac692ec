#ifndef TESTS_PROGRAM_RUN_H
#define TESTS_PROGRAM_RUN_H
/* Runs programs as text: read, verified, written to tables in memory, opened by the runtime. Kernels are host functions
 * that the beginning of their names chooses; those without a meaning give small numbers. The elements of a constant are
 * 1, 2, 3, ... A limited run ends after MAX_STEPS jumps back and calls of functions, and has at most MAX_DEPTH frames.
 * Sizes are evaluated by functions of which there are MAX_SIZES. */
#include "ir/eval.h"
#include "program/program.h"
#include "runtime/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZES = 64, MAX_STEPS = 200, MAX_DEPTH = 50, MAX_SIZE = 1 << 20 };

/* Named, so that they are linked: the executor refers to them weakly. */
static const tnr_family *const text_families[]
    __attribute__((used)) = {&tnr_family_frame, &tnr_family_host, &tnr_family_state, &tnr_family_value};

typedef struct text_size {
    const tn_program_function_ir *f;
    const tn_expr *e;
} text_size;

typedef struct text_kernel {
    struct text_program *of;
    const tn_kernel_signature *k;
} text_kernel;

typedef struct text_program {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_program_ir program;
    uint32_t n_kernel;
    const tn_kernel_signature *kernel;
    int steps;
    bool too_many; /* sizes, or bytes */
    tn_buf params;
    tnr_module *module;
    tnr_instance *instance;
} text_program;

/* ---- sizes ---- */

static struct {
    text_size at[MAX_SIZES];
    int n;
} text_sizes;

static bool text_value(const tn_expr *e, uint32_t n, const char *const *name, const int64_t *sym,
                       int64_t *out)
{
    tn_scalar in[3] = {{0}}, r;
    if (e->kind == TN_E_INT) {
        *out = e->u.i;
        return true;
    }
    for (uint32_t s = 0; e->kind == TN_E_SYM && s < n; s++)
        if (name[s] == e->u.s) {
            *out = sym[s];
            return true;
        }
    if (e->kind == TN_E_SYM || e->nsrc > 3)
        return false;
    for (int i = 0; i < e->nsrc; i++)
        if (!text_value(e->src[i], n, name, sym, &in[i].i))
            return false;
    if (e->kind == TN_E_SELECT) {
        *out = in[0].i ? in[1].i : in[2].i;
        return true;
    }
    if (!tn_eval_op(e->kind, e->dtype, e->u, e->nsrc ? e->src[0]->dtype : e->dtype, e->nsrc, in, &r))
        return false;
    *out = r.i;
    return true;
}

/* -1 where it is not defined, or large: nothing here needs much memory. */
static int64_t text_size_at(int i, const int64_t *sym)
{
    const tn_program_function_ir *f = text_sizes.at[i].f;
    const char *name[64];
    int64_t v;
    for (uint32_t s = 0; s < f->n_symbol && s < 64; s++)
        name[s] = f->symbol[s].name;
    return text_value(text_sizes.at[i].e, f->n_symbol < 64 ? f->n_symbol : 64, name, sym, &v) && v <= MAX_SIZE
               ? v
               : -1;
}

#define TEXT_SIZE(i) \
    static int64_t text_size_##i(const int64_t *sym) { return text_size_at(i, sym); }
#define TEXT_SIZES_8(M, t) M(t##0) M(t##1) M(t##2) M(t##3) M(t##4) M(t##5) M(t##6) M(t##7)
TEXT_SIZES_8(TEXT_SIZE, )
TEXT_SIZE(8)
TEXT_SIZE(9)
TEXT_SIZES_8(TEXT_SIZE, 1)
TEXT_SIZE(18)
TEXT_SIZE(19)
TEXT_SIZES_8(TEXT_SIZE, 2)
TEXT_SIZE(28)
TEXT_SIZE(29)
TEXT_SIZES_8(TEXT_SIZE, 3)
TEXT_SIZE(38)
TEXT_SIZE(39)
TEXT_SIZES_8(TEXT_SIZE, 4)
TEXT_SIZE(48)
TEXT_SIZE(49)
TEXT_SIZES_8(TEXT_SIZE, 5)
TEXT_SIZE(58)
TEXT_SIZE(59)
TEXT_SIZE(60)
TEXT_SIZE(61)
TEXT_SIZE(62)
TEXT_SIZE(63)
#define TEXT_NAME(i) text_size_##i,
static tn_size_fn *const text_size_fns[MAX_SIZES] = {TEXT_SIZES_8(TEXT_NAME, ) text_size_8,
                                                     text_size_9,
                                                     TEXT_SIZES_8(TEXT_NAME, 1) text_size_18,
                                                     text_size_19,
                                                     TEXT_SIZES_8(TEXT_NAME, 2) text_size_28,
                                                     text_size_29,
                                                     TEXT_SIZES_8(TEXT_NAME, 3) text_size_38,
                                                     text_size_39,
                                                     TEXT_SIZES_8(TEXT_NAME, 4) text_size_48,
                                                     text_size_49,
                                                     TEXT_SIZES_8(TEXT_NAME, 5) text_size_58,
                                                     text_size_59,
                                                     text_size_60,
                                                     text_size_61,
                                                     text_size_62,
                                                     text_size_63};

static tn_size text_get_size(void *user, uint32_t function, const tn_expr *e)
{
    text_program *t = user;
    t->too_many = t->too_many || text_sizes.n == MAX_SIZES || t->program.function[function].n_symbol > 64;
    if (t->too_many)
        return (tn_size){0};
    text_sizes.at[text_sizes.n] = (text_size){&t->program.function[function], e};
    return (tn_size){0, text_size_fns[text_sizes.n++]};
}

/* ---- kernels ---- */

static int64_t text_elements(const tn_kernel_signature *k, const int64_t *sym, uint32_t i)
{
    int64_t v = 0;
    if (!text_value(k->parameter[i].bytes, k->n_symbol, k->symbol, sym, &v))
        return 0;
    return v / tn_dtype_bytes(k->parameter[i].dtype);
}

static double text_read(const tn_call *call, const tn_kernel_signature *k, uint32_t p, int64_t i)
{
    tn_dtype t = k->parameter[p].dtype;
    int64_t n = text_elements(k, call->sym, p);
    if (n <= 0)
        return 0;
    tn_scalar v = tn_scalar_read(t, (const char *)call->arg[p] + i % n * tn_dtype_bytes(t));
    return tn_dtype_is_float(t) ? v.f : (double)(v.i & 0xffffffff);
}

static void text_write(const tn_call *call, const tn_kernel_signature *k, uint32_t p, int64_t i, double v)
{
    tn_dtype t = k->parameter[p].dtype;
    tn_scalar s = {.i = (int64_t)v};
    if (tn_dtype_is_float(t))
        s.f = v;
    tn_scalar_write(t, (char *)call->arg[p] + i * tn_dtype_bytes(t), s);
}

static bool text_is(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Element i of output o. */
static double text_element(const tn_call *call, const tn_kernel_signature *k, uint32_t o, int64_t i)
{
    double a = k->n_in > 0 ? text_read(call, k, 0, i) : 0, b = k->n_in > 1 ? text_read(call, k, 1, i) : 0;
    if (text_is(k->name, "add"))
        return a + b;
    if (text_is(k->name, "double"))
        return a + a;
    if (text_is(k->name, "increase"))
        return a + 1;
    if (text_is(k->name, "less"))
        return a < b;
    for (uint32_t p = 2; p < k->n_in; p++)
        b += text_read(call, k, p, i);
    return (a > b) + (double)((i + o) & 1) * !tn_dtype_is_bool(k->parameter[k->n_in + o].dtype);
}

/* append(state, row, position): the row is written into the state. */
static void text_append(const tn_call *call, const tn_kernel_signature *k)
{
    int64_t row = text_elements(k, call->sym, 1), all = text_elements(k, call->sym, 0),
            at = (int64_t)text_read(call, k, 2, 0) * row;
    for (int64_t i = 0; i < row && at + i < all; i++)
        text_write(call, k, 3, at + i, text_read(call, k, 1, i));
}

static int32_t text_run(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const text_kernel *user = call->user;
    const tn_kernel_signature *k = user->k;
    (void)step, (void)task, (void)scratch;
    if (text_is(k->name, "tick"))
        return ++user->of->steps > MAX_STEPS;
    if (text_is(k->name, "append") && k->n_in == 3 && k->n_out == 1) {
        text_append(call, k);
        return 0;
    }
    for (uint32_t o = 0; o < k->n_out; o++)
        for (int64_t i = 0, n = text_elements(k, call->sym, k->n_in + o); i < n; i++)
            text_write(call, k, k->n_in + o, i, text_element(call, k, o, i));
    return 0;
}

static const tn_kernel *text_kernels(text_program *t, void ***out_user)
{
    static const tn_phase phase = {.run = text_run, .tasks = {.value = 1}};
    static const tn_variant variant = {
        .guard = {.value = 1}, .steps = {.value = 1}, .phase = &phase, .n_phase = 1};
    static const char *const check[] = {"too many steps"};
    tn_kernel *k = TN_NEW_N(&t->arena, tn_kernel, t->n_kernel);
    text_kernel *user = TN_NEW_N(&t->arena, text_kernel, t->n_kernel);
    *out_user = TN_NEW_N(&t->arena, void *, t->n_kernel);
    for (uint32_t i = 0; i < t->n_kernel; i++) {
        const tn_kernel_signature *s = &t->kernel[i];
        user[i] = (text_kernel){t, s};
        (*out_user)[i] = &user[i];
        k[i] = (tn_kernel){.name = s->name,
                           .source = "",
                           .variant = &variant,
                           .n_variant = 1,
                           .check = check,
                           .n_check = 1,
                           .n_in = s->n_in,
                           .n_out = s->n_out,
                           .n_sym = s->n_symbol,
                           .n_overlap = s->n_overlap,
                           .overlap = s->overlap};
    }
    return k;
}

/* ---- steps: a kernel that counts stands before every jump back and every call of a function ---- */

static bool text_counts(const tn_inst_ir *x, uint32_t at)
{
    return (tn_inst_jumps(x->op) && x->a <= at) || x->op == TN_INST_INVOKE || x->op == TN_INST_APPLY;
}

static void text_limit_function(text_program *t, tn_program_function_ir *f)
{
    uint32_t *to = TN_NEW_N(&t->arena, uint32_t, f->n_inst + 1), n = 0;
    for (uint32_t i = 0; i < f->n_inst; i++) {
        to[i] = n;
        n += 1 + text_counts(&f->inst[i], i);
    }
    to[f->n_inst] = n;
    tn_inst_ir *inst = TN_NEW_N(&t->arena, tn_inst_ir, n), *at = inst;
    for (uint32_t i = 0; i < f->n_inst; i++) {
        if (text_counts(&f->inst[i], i))
            *at++ = (tn_inst_ir){.op = TN_INST_CALL, .a = t->n_kernel - 1, .node = ""};
        *at = f->inst[i];
        at->a = tn_inst_jumps(at->op) ? to[at->a] : at->a;
        at++;
    }
    f->inst = inst;
    f->n_inst = n;
}

static void text_limit(text_program *t)
{
    tn_kernel_signature *k = TN_NEW_N(&t->arena, tn_kernel_signature, t->n_kernel + 1);
    tn_program_function_ir *f = TN_NEW_N(&t->arena, tn_program_function_ir, t->program.n_function);
    for (uint32_t i = 0; i < t->n_kernel; i++)
        k[i] = t->kernel[i];
    k[t->n_kernel++] = (tn_kernel_signature){.name = "tick"};
    t->kernel = k;
    for (uint32_t i = 0; i < t->program.n_function; i++) {
        f[i] = t->program.function[i];
        text_limit_function(t, &f[i]);
    }
    t->program.function = f;
    t->program.depth = t->program.depth && t->program.depth < MAX_DEPTH ? t->program.depth : MAX_DEPTH;
}

/* ---- constants: mod.params (docs/abi.md) ---- */

typedef struct text_constants {
    const char **name;
    tn_dtype *dtype;
    int64_t *elements;
    uint32_t n;
} text_constants;

static void text_add_constant(text_constants *c, const char *name, tn_dtype t, int64_t bytes)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0)
            return;
    c->name[c->n] = name;
    c->dtype[c->n] = t;
    c->elements[c->n++] = bytes <= MAX_SIZE ? bytes / tn_dtype_bytes(t) : 0;
}

static text_constants text_find_constants(text_program *t)
{
    const tn_program_ir *p = &t->program;
    uint32_t most = p->n_state;
    for (uint32_t f = 0; f < p->n_function; f++)
        most += p->function[f].n_slot;
    text_constants c = {TN_NEW_N(&t->arena, const char *, most), TN_NEW_N(&t->arena, tn_dtype, most),
                        TN_NEW_N(&t->arena, int64_t, most), 0};
    for (uint32_t f = 0; f < p->n_function; f++)
        for (uint32_t i = 0; i < p->function[f].n_slot; i++) {
            const tn_slot_ir *s = &p->function[f].slot[i];
            if (s->kind == TN_SLOT_CONST)
                text_add_constant(&c, s->name, s->dtype, s->bytes->u.i);
        }
    for (uint32_t i = 0; i < p->n_state; i++)
        if (p->state[i].initial)
            text_add_constant(&c, p->state[i].initial, (tn_dtype){p->state[i].code, p->state[i].bits, 1},
                              (int64_t)p->state[i].bytes);
    return c;
}

static void text_constant(tn_buf *out, tn_dtype t, int64_t n)
{
    int64_t bytes = n * tn_dtype_bytes(t);
    tn_buf_u64le(out, 0xDD5E40F096B4A13Fu);
    tn_buf_u64le(out, 0);
    tn_buf_u32le(out, 1);
    tn_buf_u32le(out, 0);
    tn_buf_u32le(out, 1);
    tn_buf_u32le(out, t.code | (uint32_t)t.bits << 8 | 1u << 16);
    tn_buf_u64le(out, (uint64_t)n);
    tn_buf_u64le(out, (uint64_t)bytes);
    for (int64_t i = 0; i < n; i++) {
        char element[16] = {0};
        tn_scalar v = {.i = i % 100 + 1};
        if (tn_dtype_is_float(t))
            v.f = (double)(i % 100 + 1);
        if (tn_dtype_is_bool(t))
            v.i = 1;
        tn_scalar_write(t, element, v);
        tn_buf_add(out, element, (size_t)tn_dtype_bytes(t));
    }
}

static void text_params(text_program *t)
{
    text_constants c = text_find_constants(t);
    tn_buf_u64le(&t->params, 0xF7E58D4F05049CB7u);
    tn_buf_u64le(&t->params, 0);
    tn_buf_u64le(&t->params, c.n);
    for (uint32_t i = 0; i < c.n; i++) {
        tn_buf_u64le(&t->params, strlen(c.name[i]));
        tn_buf_str(&t->params, c.name[i]);
    }
    tn_buf_u64le(&t->params, c.n);
    for (uint32_t i = 0; i < c.n; i++)
        text_constant(&t->params, c.dtype[i], c.elements[i]);
}

/* ---- functions of the host, by the beginning of their names ---- */

static tn_dtype text_dtype(const DLTensor *x) { return (tn_dtype){x->dtype.code, x->dtype.bits, 1}; }

static int64_t text_length(const DLTensor *x)
{
    uint64_t bytes = 0;
    return tnr_tensor_bytes(x->dtype, x->ndim, x->shape, &bytes, NULL)
               ? 0
               : (int64_t)bytes / tn_dtype_bytes(text_dtype(x));
}

static double text_host_read(const tnr_host_call *c, uint32_t p, int64_t i)
{
    const DLTensor *x = &c->tensor[p];
    int64_t n = p < c->n_in && !c->value[p] ? text_length(x) : 0;
    if (n <= 0)
        return 0;
    tn_dtype t = text_dtype(x);
    tn_scalar v = tn_scalar_read(t, (const char *)x->data + i % n * tn_dtype_bytes(t));
    return tn_dtype_is_float(t) ? v.f : (double)(v.i & 0xffffffff);
}

/* The first value among the arguments, or one made of the name. */
static tnr_status text_host_value(const tnr_host_call *c, tnr_value **out, tnr_error *err)
{
    for (uint32_t p = 0; p < c->n_in; p++)
        if (c->value[p]) {
            tnr_value_retain(*out = c->value[p]);
            return TNR_OK;
        }
    tnr_value_info info = {.kind = TNR_VALUE_TEXT, .text = c->name, .text_n = strlen(c->name)};
    return tnr_value_new(c->instance, &info, out, err);
}

static tnr_status text_host(void *user, const tnr_host_call *c, tnr_error *err)
{
    (void)user;
    for (uint32_t o = c->n_in; o < c->n_in + c->n_out; o++) {
        const DLTensor *y = &c->tensor[o];
        tnr_status status = y->dtype.code == kDLOpaqueHandle ? text_host_value(c, &c->value[o], err) : TNR_OK;
        if (status)
            return status;
        for (int64_t i = 0, n = c->value[o] ? 0 : text_length(y); i < n; i++) {
            double a = text_host_read(c, 0, i), b = text_host_read(c, 1, i);
            double v = text_is(c->name, "add") ? a + b : (double)(a > b);
            tn_dtype t = text_dtype(y);
            tn_scalar_write(t, (char *)y->data + i * tn_dtype_bytes(t),
                            tn_dtype_is_float(t) ? (tn_scalar){.f = v} : (tn_scalar){.i = (int64_t)v});
        }
    }
    if (text_is(c->name, "fail"))
        snprintf(err->message, sizeof err->message, "the host says no");
    return text_is(c->name, "fail");
}

static bool text_register(text_program *t, tnr_error *err)
{
    for (uint32_t i = 0; i < t->program.n_text; i++)
        if (tnr_host_register(t->module, t->program.text[i], text_host, t, err))
            return false;
    return true;
}

/* ---- the whole ---- */

/* Reads and verifies; what is wrong is in ctx. The caller calls text_close in any case. */
static bool text_open(text_program *t, const char *name, const char *text, size_t n)
{
    memset(t, 0, sizeof *t);
    tn_ctx_init(&t->ctx);
    tn_arena_init(&t->arena);
    tn_pool_init(&t->pool, &t->ctx, &t->arena, NULL);
    return tn_program_parse(&t->ctx, &t->pool, &t->arena, name, text, n, &t->program, &t->n_kernel,
                            &t->kernel) == TN_OK &&
           tn_program_verify(&t->ctx, &t->pool, &t->program, t->n_kernel, t->kernel) == TN_OK;
}

static bool text_is_large(const tn_expr *bytes)
{
    int64_t n;
    return bytes && tn_is_int(bytes, &n) && n > MAX_SIZE;
}

/* Does something take more memory than a limited run gives? Sizes that are no constants: text_size_at. */
static bool text_needs_much(const tn_program_ir *p)
{
    bool much = false;
    for (uint32_t i = 0; i < p->n_state; i++)
        much = much || p->state[i].bytes > MAX_SIZE;
    for (uint32_t k = 0; k < p->n_function; k++) {
        const tn_program_function_ir *f = &p->function[k];
        much = much || text_is_large(f->arena_bytes);
        for (uint32_t i = 0; i < f->n_segment; i++)
            much = much || text_is_large(f->segment_bytes[i]);
        for (uint32_t i = 0; i < f->n_slot; i++)
            much = much || text_is_large(f->slot[i].bytes);
    }
    return much;
}

/* An instance of a program that was verified; false: the runtime refuses it. */
static bool text_load(text_program *t, bool limited, tnr_error *err)
{
    void **user;
    memset(err, 0, sizeof *err);
    text_sizes.n = 0;
    if (limited)
        text_limit(t);
    t->too_many = limited && text_needs_much(&t->program);
    text_params(t);
    const tn_program *p = tn_program_tables(&t->arena, &t->program, text_get_size, t);
    tn_library *lib = TN_NEW(&t->arena, tn_library);
    *lib = (tn_library){.version = TENON_ABI_VERSION,
                        .n_kernel = t->n_kernel,
                        .kernel = text_kernels(t, &user),
                        .program = p,
                        .producer = "test",
                        .target = "test"};
    tnr_parts parts = {.library = lib, .user = user, .params = t->params.at, .params_n = t->params.n};
    return !t->too_many && !tnr_module_open_parts(&parts, &t->module, err) && text_register(t, err) &&
           !tnr_instance_new(t->module, &(tnr_instance_options){.threads = 1}, &t->instance, err);
}

/* An input that is a value: a list of its index as a text. */
static tnr_status text_give_value(text_program *t, uint32_t input, tnr_error *err)
{
    tnr_value *text = NULL, *list = NULL;
    tnr_value_info info = {.kind = TNR_VALUE_TEXT, .text = &"0123456789"[input % 10], .text_n = 1};
    tnr_status status = tnr_value_new(t->instance, &info, &text, err);
    info = (tnr_value_info){.kind = TNR_VALUE_CONSTRUCTOR, .tag = 1, .n_field = 1, .field = &text};
    if (!status)
        status = tnr_value_new(t->instance, &info, &list, err);
    if (!status)
        status = tnr_set_input_value(t->instance, input, list, err);
    tnr_value_release(list);
    tnr_value_release(text);
    return status;
}

static void text_close(text_program *t)
{
    tnr_instance_free(t->instance);
    tnr_module_release(t->module);
    tn_buf_deinit(&t->params);
    tn_arena_deinit(&t->arena);
    tn_ctx_deinit(&t->ctx);
}

#endif
