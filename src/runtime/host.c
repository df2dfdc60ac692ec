/* CALL_HOST: functions that the host has registered by name. A module and each of its instances have a table
 * of them, one entry a text of the program; an instance begins with a copy of its module's. Arguments and
 * results are views of the slots' memory and borrowed values; nothing is copied. What functions keep belongs to
 * the instance. */
#include "runtime/host.h"

#include "runtime/error.h"
#include "runtime/family.h"
#include "runtime/floating.h"
#include "runtime/mem.h"
#include "runtime/tensor.h"
#include "runtime/value.h"

#include <string.h>

/* Before their uses: clang links them otherwise. */
#pragma weak tnr_value_put
#pragma weak tnr_value_release

/* ---- registering ---- */

static void enter(tnr_host *table, const tn_program *p, const char *name, tnr_host_fn *fn, void *user)
{
    for (uint32_t t = 0; t < p->n_text; t++)
        if (strcmp(p->text[t], name) == 0)
            table[t] = (tnr_host){fn, user};
}

tnr_status tnr_host_register(tnr_module *module, const char *name, tnr_host_fn *fn, void *user,
                             tnr_error *err)
{
    if (!module || !name)
        return tnr_fail_argument("tnr_host_register", err);
    const tn_program *p = module->described->program;
    if (!module->host && !(module->host = tnr_mem_new(p->n_text, sizeof *module->host)))
        return tnr_fail_memory(err, p->n_text * sizeof *module->host);
    enter(module->host, p, name, fn, user);
    return TNR_OK;
}

/* What functions keep for calls by this name; NULL: by any. */
static void drop_kept(tnr_instance *inst, const char *name)
{
    struct tnr_hosts *h = inst->hosts;
    for (uint32_t c = 0; h && c < inst->exe->n_code; c++) {
        const tn_program_function *f = inst->exe->code[c].function;
        for (uint32_t i = 0; i < f->n_inst; i++) {
            tnr_host_kept **kept = &h->kept[h->first[c] + i];
            if (!*kept || (name && strcmp(inst->exe->program->text[f->inst[i].a], name)))
                continue;
            (*kept)->free(*kept);
            *kept = NULL;
        }
    }
}

tnr_status tnr_instance_host_register(tnr_instance *instance, const char *name, tnr_host_fn *fn, void *user,
                                      tnr_error *err)
{
    tnr_status status = name ? tnr_enter(instance, "tnr_instance_host_register", err)
                             : tnr_fail_argument("tnr_instance_host_register", err);
    if (status)
        return status;
    drop_kept(instance, name);
    if (instance->hosts)
        enter(instance->hosts->at, instance->exe->program, name, fn, user);
    tnr_leave(instance);
    return TNR_OK;
}

tnr_status tnr_hosts_ready(const tnr_instance *inst, tnr_error *err)
{
    char list[TNR_LIST_TEXT] = "";
    for (uint32_t c = 0; c < inst->exe->n_code; c++) {
        const tn_program_function *f = inst->exe->code[c].function;
        for (uint32_t i = 0; i < f->n_inst; i++)
            if (f->inst[i].op == TN_INST_CALL_HOST && !inst->hosts->at[f->inst[i].a].fn)
                tnr_list_add(list, inst->exe->program->text[f->inst[i].a]);
    }
    return *list
               ? tnr_fail(err, TNR_E_NAME, 0,
                          "the model calls host functions that nobody has registered: %s; register them with "
                          "tnr_host_register",
                          list)
               : TNR_OK;
}

/* ---- calls ---- */

typedef struct site { /* of the instruction that runs */
    tnr_frame *f;
    const tn_inst *in;
    struct tnr_hosts *h;
    const uint32_t *op; /* its slots */
    uint32_t n_in, n;
    tnr_error *err;
} site;

static const char *name_of(const site *s) { return s->f->instance->exe->program->text[s->in->a]; }

static const tn_slot *slot_at(const site *s, uint32_t i) { return &s->f->code->function->slot[s->op[i]]; }

static tnr_status bad(const site *s, const char *what)
{
    return tnr_fail(s->err, TNR_E_CHECK, s->f->at - 1, "%.400s: host function \"%.100s\" %s", s->in->node,
                    name_of(s), what);
}

/* Operand i as the function sees it. */
static tnr_status show(const site *s, uint32_t i)
{
    DLTensor *t = &s->f->instance->arg_view[i];
    uint64_t dense;
    *t = s->f->view[s->op[i]];
    s->h->value[i] = NULL;
    s->h->constant[i] = i < s->n_in && slot_at(s, i)->kind == TN_SLOT_CONST;
    if (slot_at(s, i)->storage == TN_STORAGE_HANDLE) {
        t->data = NULL;
        s->h->value[i] = i < s->n_in ? s->f->value[s->op[i]] : NULL;
        return i >= s->n_in || s->h->value[i] ? TNR_OK : bad(s, "gets a handle before it is written");
    }
    return tnr_tensor_bytes(t->dtype, t->ndim, t->shape, &dense, NULL) || dense != s->f->bytes[s->op[i]]
               ? bad(s, "gets a tensor that is not dense")
               : TNR_OK;
}

/* The frame takes the results that are values. Those that it cannot take are dropped; values of other instances are
 * left alone. */
static tnr_status take(const site *s, tnr_status status)
{
    for (uint32_t i = s->n_in; i < s->n; i++) {
        tnr_value *v = s->h->value[i];
        bool ours = v && v->pool == s->f->instance->pool;
        if (!status && (slot_at(s, i)->storage == TN_STORAGE_HANDLE) != ours)
            status = bad(s, "gave no value of the instance, or one too many");
        if (ours && status)
            tnr_value_release(v);
        else if (ours)
            tnr_value_put(s->f, s->op[i], v);
    }
    return status;
}

static tnr_status call(const site *s)
{
    const tnr_host *host = &s->h->at[s->in->a];
    const tnr_function *code = s->f->code;
    tnr_error said = {0};
    tnr_host_call c = {.instance = s->f->instance,
                       .name = name_of(s),
                       .node = s->in->node,
                       .n_in = s->n_in,
                       .n_out = s->n - s->n_in,
                       .tensor = s->f->instance->arg_view,
                       .value = s->h->value,
                       .constant = s->h->constant,
                       .kept = &s->h->kept[s->h->first[code - s->f->instance->exe->code] +
                                           (uint32_t)(s->in - code->function->inst)]};
    tnr_floating ours = tnr_floating_default();
    tnr_status status = host->fn(host->user, &c, &said);
    tnr_floating_restore(ours);
    said.message[sizeof said.message - 1] = '\0';
    if (status && !*said.message)
        return take(s, bad(s, "failed"));
    if (status)
        status = tnr_fail(s->err, status > 0 && status <= TNR_E_CANCEL ? status : TNR_E_CHECK, s->f->at - 1,
                          "%.400s: %s", s->in->node, said.message);
    return take(s, status);
}

static tnr_status run(tnr_frame *f, const tn_inst *in, tnr_error *err)
{
    const uint32_t *op = f->code->function->operand + in->operand;
    site s = {f, in, f->instance->hosts, op + 1, op[0], in->n_operand - 1, err};
    tnr_status status = s.h->at[in->a].fn ? TNR_OK : tnr_hosts_ready(f->instance, err);
    for (uint32_t i = 0; !status && i < s.n; i++)
        status = show(&s, i);
    return status ? status : call(&s);
}

/* ---- checks, and memory of an instance ---- */

static const char *check(const tnr_exe *exe, const tnr_function *code, const tn_inst *in)
{
    const uint32_t *op = code->function->operand + in->operand;
    (void)exe;
    return tnr_results_fault(code->function, op + 1, op[0], in->n_operand - 1);
}

static tnr_status open_hosts(tnr_instance *inst, tnr_error *err)
{
    const tnr_exe *exe = inst->exe;
    size_t n_inst = 0, table = exe->program->n_text * sizeof(tnr_host);
    for (uint32_t c = 0; c < exe->n_code; c++)
        n_inst += exe->code[c].function->n_inst;
    size_t bytes = sizeof *inst->hosts + table + exe->max_operand * (sizeof(tnr_value *) + 1) +
                   n_inst * sizeof(tnr_host_kept *) + exe->n_code * sizeof(uint32_t);
    struct tnr_hosts *h = inst->hosts = n_inst > UINT32_MAX ? NULL : tnr_mem_new(1, bytes);
    if (!h)
        return tnr_fail_memory(err, bytes);
    h->value = (tnr_value **)(void *)((uint8_t *)h->at + table);
    h->kept = (tnr_host_kept **)(void *)(h->value + exe->max_operand);
    h->first = (uint32_t *)(void *)(h->kept + n_inst);
    h->constant = (uint8_t *)(h->first + exe->n_code);
    for (uint32_t c = 0; c + 1 < exe->n_code; c++)
        h->first[c + 1] = h->first[c] + exe->code[c].function->n_inst;
    if (inst->module->host)
        memcpy(h->at, inst->module->host, table);
    return TNR_OK;
}

static void close_hosts(tnr_instance *inst)
{
    drop_kept(inst, NULL);
    tnr_mem_free(inst->hosts);
}

const tnr_family tnr_family_host = {.check = check, .run = run, .open = open_hosts, .close = close_hosts};
