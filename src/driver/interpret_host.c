/* Host functions for the interpreter of Relay: a program of one instruction calls the function, on the runtime; values
 * of the interpreter become the runtime's, and results the interpreter's. */
#include "driver/driver.h"
#include "op/core/core.h"
#include "relay/interp.h"
#include "tenon/host.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    tn_graph *g;
    const tn_node *n;
    tnr_instance *x;
    tnr_error err;
    int depth; /* of the value that is converted: lists may be long */
} caller;

enum { MAX_DEPTH = 1000 };

/* ---- values ---- */

static tnr_value *made_of(caller *c, const value *v);

/* NULL: c->err says why. */
static tnr_value *to_runtime(caller *c, const value *v)
{
    if (c->depth == MAX_DEPTH) {
        snprintf(c->err.message, sizeof c->err.message,
                 "a value for %s has values in values more than %d deep", c->n->op->host, MAX_DEPTH);
        return NULL;
    }
    c->depth++;
    tnr_value *out = made_of(c, v);
    c->depth--;
    return out;
}

static tnr_value *made_of(caller *c, const value *v)
{
    tnr_value_info info = {.kind = TNR_VALUE_CONSTRUCTOR, .tag = v->tag, .n_field = v->n};
    tnr_value *made = NULL;
    if (v->kind == VALUE_TEXT) {
        info = (tnr_value_info){.kind = TNR_VALUE_TEXT, .text = v->t.at, .text_n = v->t.n};
    } else if (v->kind == VALUE_TENSOR) {
        tn_dtype t = tn_dtype_stored(v->t.dtype);
        info = (tnr_value_info){.kind = TNR_VALUE_TENSOR,
                                .tensor = {.data = v->t.at,
                                           .device = {kDLCPU, 0},
                                           .ndim = v->t.ndim,
                                           .dtype = {t.code, t.bits, 1},
                                           .shape = (int64_t *)(uintptr_t)v->t.dim}};
    }
    tnr_value **field = tn_alloc_array((size_t)v->n + 1, sizeof *field);
    uint32_t n = 0;
    while (n < v->n && (field[n] = to_runtime(c, v->field[n])) != NULL)
        n++;
    info.field = info.kind == TNR_VALUE_CONSTRUCTOR ? field : NULL;
    if (n == v->n && tnr_value_new(c->x, &info, &made, &c->err))
        made = NULL;
    for (uint32_t i = 0; i < n; i++)
        tnr_value_release(field[i]);
    tn_free(field);
    return made;
}

static value *copy_bytes(enum value_kind kind, const void *at, size_t n)
{
    value *v = value_new(kind);
    if (v && (v->t.at = tn_tensor_value_memory(n)) && n)
        memcpy(v->t.at, at, n);
    if (v)
        v->t.n = n;
    if (v && !v->t.at) {
        value_release(v);
        v = NULL;
    }
    return v;
}

/* NULL: not enough memory, a tensor of too many dimensions, or values in values too deep. */
static value *from_runtime(const tnr_value *from, int depth)
{
    tnr_value_info info;
    tnr_value_get(from, &info);
    if (info.kind == TNR_VALUE_TEXT)
        return copy_bytes(VALUE_TEXT, info.text, info.text_n);
    if (info.kind == TNR_VALUE_TENSOR) {
        const DLTensor *t = &info.tensor;
        uint64_t bytes;
        if (t->ndim > TN_RELAY_MAX_RANK || tnr_tensor_bytes(t->dtype, t->ndim, t->shape, &bytes, NULL))
            return NULL;
        value *v = copy_bytes(VALUE_TENSOR, t->data, (size_t)bytes);
        if (v) {
            v->t.dtype = (tn_dtype){t->dtype.code, t->dtype.bits, 1};
            v->t.ndim = (uint16_t)t->ndim;
            memcpy(v->t.dim, t->shape, (size_t)t->ndim * sizeof *t->shape);
        }
        return v;
    }
    value *v = depth < MAX_DEPTH ? value_new(VALUE_DATA) : NULL;
    if (v) {
        v->tag = info.tag;
        v->field = tn_alloc_array((size_t)info.n_field + 1, sizeof *v->field);
        for (; v->n < info.n_field && (v->field[v->n] = from_runtime(info.field[v->n], depth + 1)); v->n++)
            ;
    }
    if (v && v->n < info.n_field) {
        value_release(v);
        v = NULL;
    }
    return v;
}

/* ---- the call ---- */

/* Input i of the function; that after the operands holds the attributes. */
static tnr_value *input(caller *c, uint32_t i, value *const in[])
{
    const tn_node *n = c->n;
    value none = {.kind = VALUE_DATA};
    uint32_t n_operand = n->op->nin < 0 ? n->nin : (uint32_t)n->op->nin;
    if (i < n_operand)
        return to_runtime(c, i < n->nin && in[i] ? in[i] : &none);
    tn_buf text = {0};
    tn_attr_print_json(n->op->attr, n->attr, &text);
    value attributes = {
        .kind = VALUE_TENSOR,
        .t = {.dtype = TN_U8, .ndim = 1, .dim = {(int64_t)text.n}, .at = text.at, .n = text.n}};
    tnr_value *v = to_runtime(c, &attributes);
    tn_buf_deinit(&text);
    return v;
}

static bool run(caller *c, uint32_t n_in, value *const in[], value *out[])
{
    bool ok = true;
    for (uint32_t i = 0; i < n_in && ok; i++) {
        tnr_value *v = input(c, i, in);
        ok = v && !tnr_set_input_value(c->x, i, v, &c->err);
        tnr_value_release(v);
    }
    ok = ok && !tnr_run(c->x, &c->err);
    for (uint16_t k = 0; k < c->n->nout && ok; k++) {
        tnr_value *v;
        ok = !tnr_get_output_value(c->x, k, &v, &c->err);
        if (ok && !(out[k] = from_runtime(v, 0))) {
            snprintf(c->err.message, sizeof c->err.message, "%s gave a value that is too large",
                     c->n->op->host);
            ok = false;
        }
    }
    return ok;
}

static void free_instance(tn_resource *r) { tnr_instance_free(r->at); }
static void release_module(tn_resource *r) { tnr_module_release(r->at); }

/* The program: inputs and outputs are handles, one instruction. */
static bool call(caller *c, uint32_t n_in, value *const in[], value *out[])
{
    uint32_t n = n_in + c->n->nout;
    tn_arena a;
    tn_arena_init(&a);
    tn_slot *place = TN_NEW_N(&a, tn_slot, n);
    uint32_t *operand = TN_NEW_N(&a, uint32_t, n + 1);
    operand[0] = n_in;
    for (uint32_t i = 0; i < n; i++) {
        place[i] = (tn_slot){.name = tn_arena_printf(&a, "%u", (unsigned)i),
                             .kind = i < n_in ? TN_SLOT_INPUT : TN_SLOT_OUTPUT,
                             .storage = TN_STORAGE_HANDLE,
                             .code = kDLOpaqueHandle,
                             .bits = 64,
                             .offset = {i < n_in ? 0 : -1, NULL},
                             .alias = -1};
        operand[i + 1] = i;
    }
    const char *where = c->n->loc && c->n->loc->node ? c->n->loc->node : c->n->op->name;
    const tn_inst inst = {TN_INST_CALL_HOST, 0, 0, n + 1, where};
    const tn_program_function f = {.name = "main",
                                   .slot = place,
                                   .inst = &inst,
                                   .operand = operand,
                                   .n_slot = n,
                                   .n_inst = 1,
                                   .n_operand = n + 1};
    const tn_program program = {.function = &f, .n_function = 1, .text = &c->n->op->host, .n_text = 1};
    const tn_library lib = {
        .version = TENON_ABI_VERSION, .program = &program, .producer = "interpreter", .target = ""};
    tn_resource *held_module = tn_resource_new(release_module), *held = tn_resource_new(free_instance);
    tnr_module *m = NULL;
    bool ok = !tnr_module_open_parts(&(tnr_parts){.library = &lib}, &m, &c->err);
    held_module->at = m;
    ok = ok && !tnr_host_register_all(m, &c->err) &&
         !tnr_instance_new(m, &(tnr_instance_options){.threads = 1}, &c->x, &c->err);
    held->at = c->x;
    ok = ok && run(c, n_in, in, out);
    tn_resource_end(held);
    tn_resource_end(held_module);
    tn_arena_deinit(&a);
    return ok;
}

tn_status tn_interpret_host(tn_graph *g, const tn_node *n, value *const in[], value *out[])
{
    caller c = {.g = g, .n = n};
    uint32_t n_in = (n->op->nin < 0 ? n->nin : (uint32_t)n->op->nin) + (n->op->attr != NULL);
    return call(&c, n_in, in, out) ? TN_OK : tn_error(g->ctx, "driver-E083", n->loc, "%s", c.err.message);
}
