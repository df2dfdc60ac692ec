/* What the functions of a self-contained output (`compile -o model.so`) call: a model, given as its tn_bundle, is
 * opened on the first run and keeps idle instances. A call takes one of them, or makes one, so calls from several
 * threads run at once. A model with states has one instance, and calls wait for it. Several models may share this code
 * (those written as C text do). */
#include "runtime/bundle/bundle.h"

#include "runtime/error.h"
#include "runtime/instance.h"
#include "runtime/mem.h"
#include "runtime/module.h"

#include <pthread.h>
#include <string.h>

#ifdef __GLIBC__
/* glibc has pthread_atfork in the part of it that is linked in, which needs its development files; this is what it
 * does. The library is never unloaded (-z nodelete), so the handlers never dangle. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return __register_atfork(prepare, parent, child, NULL);
}
#endif

enum { MAX_IDLE = 64, MAX_DIMS = 64 };

typedef struct state {  /* of one model; made on first use */
    tnr_module *module; /* NULL: not opened yet */
    tnr_instance *idle[MAX_IDLE];
    uint32_t n_idle;
    bool one;              /* the model has states: of all calls one works at a time, on one instance */
    pthread_mutex_t turn;  /* of that one */
    pthread_key_t message; /* of each thread: the sentence of its last failure */
} state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all states and n_open */
static uint32_t n_open;                                  /* models with a module */

static tnr_status make_state(tn_bundle *b, tnr_error *err)
{
    state *s = tnr_mem_new(1, sizeof *s);
    if (!s)
        return tnr_fail_memory(err, sizeof *s);
    if (pthread_key_create(&s->message, tnr_mem_free)) {
        tnr_mem_free(s);
        return tnr_fail(err, TNR_E_MEMORY, 0, "the process has no free thread-local key");
    }
    pthread_mutex_init(&s->turn, NULL);
    b->state = s;
    return TNR_OK;
}

static tnr_status open_locked(tn_bundle *b, tnr_error *err)
{
    const tn_library *library = b->query(TENON_ABI_VERSION);
    if (!library)
        return tnr_fail(err, TNR_E_VERSION, 0, "the kernels use a newer ABI than the linked runtime");
    tnr_status status = b->state ? TNR_OK : make_state(b, err);
    state *s = b->state;
    if (status || s->module)
        return status;
    tnr_parts parts = {.library = library, .params = b->params, .params_n = (size_t)b->params_bytes};
    status = tnr_module_open_parts(&parts, &s->module, err);
    n_open += !status;
    s->one = library->program && library->program->n_state > 0;
    return status;
}

static tnr_status take(tn_bundle *b, tnr_instance **out, tnr_error *err)
{
    *out = NULL;
    pthread_mutex_lock(&lock);
    tnr_status status = open_locked(b, err);
    state *s = b->state;
    pthread_mutex_unlock(&lock);
    if (status)
        return status;
    if (s->one)
        pthread_mutex_lock(&s->turn);
    pthread_mutex_lock(&lock);
    if (s->n_idle)
        *out = s->idle[--s->n_idle];
    pthread_mutex_unlock(&lock);
    if (!*out)
        status = tnr_instance_new(s->module, NULL, out, err);
    if (status && s->one)
        pthread_mutex_unlock(&s->turn);
    return status;
}

static void give_back(state *s, tnr_instance *instance)
{
    pthread_mutex_lock(&lock);
    bool keep = s->n_idle < MAX_IDLE;
    if (keep)
        s->idle[s->n_idle++] = instance;
    pthread_mutex_unlock(&lock);
    if (!keep)
        tnr_instance_free(instance);
    if (s->one)
        pthread_mutex_unlock(&s->turn);
}

static tnr_status set(tnr_instance *instance, uint32_t index, const tn_slot *slot, bool input, void *data,
                      const int64_t *sym, tnr_error *err)
{
    int64_t shape[MAX_DIMS];
    if (slot->ndim > MAX_DIMS)
        return tnr_fail(err, TNR_E_FORMAT, 0, "%s has too many dimensions", slot->name);
    for (uint32_t d = 0; d < slot->ndim; d++)
        shape[d] = slot->dim[d].fn ? slot->dim[d].fn(sym) : slot->dim[d].value;
    DLTensor t = {.data = data,
                  .device = {kDLCPU, 0},
                  .ndim = slot->ndim,
                  .dtype = {slot->code, slot->bits, 1},
                  .shape = shape};
    return input ? tnr_set_input_at(instance, index, &t, err) : tnr_set_output_at(instance, index, &t, err);
}

static uint64_t bytes_for(const tn_slot *slot, const int64_t *sym)
{
    uint64_t n = (slot->bits + 7u) / 8u;
    for (uint32_t d = 0; d < slot->ndim; d++) {
        int64_t x = slot->dim[d].fn ? slot->dim[d].fn(sym) : slot->dim[d].value;
        if (x <= 0 || n > (uint64_t)INT64_MAX / (uint64_t)x)
            return x <= 0 ? 0 : (uint64_t)INT64_MAX;
        n *= (uint64_t)x;
    }
    return n;
}

/* Results whose extents the run found: sym says what there is room for, and is told what there is. */
static tnr_status give(tnr_instance *instance, const tn_program_function *p, void *const *out, int64_t *sym,
                       tnr_error *err)
{
    DLTensor t;
    for (uint32_t i = 0, at = 0; i < p->n_slot; i++) {
        if (p->slot[i].kind != TN_SLOT_OUTPUT)
            continue;
        uint64_t n = bytes_for(&p->slot[i], instance->main.sym), room = bytes_for(&p->slot[i], sym);
        tnr_status status = tnr_get_output_at(instance, at, &t, err);
        if (status)
            return status;
        if (n > room || (n && !out[at]))
            return tnr_fail(err, TNR_E_SHAPE, 0,
                            "result %s has %llu bytes, but the given symbols provide room for %llu",
                            p->slot[i].name, (unsigned long long)n, (unsigned long long)(out[at] ? room : 0));
        if (n)
            memcpy(out[at], (const char *)t.data + t.byte_offset, (size_t)n);
        at++;
    }
    for (uint32_t i = p->n_symbol - p->n_late; i < p->n_symbol; i++)
        sym[i] = instance->main.sym[i];
    return TNR_OK;
}

/* inputs and outputs are the header's structs: a pointer for each, in the model's order. */
static tnr_status run(tn_bundle *b, tnr_instance *instance, void *const *in, void *const *out, int64_t *sym,
                      tnr_error *err)
{
    const tn_program_function *p = b->query(TENON_ABI_VERSION)->program->function;
    uint32_t n_in = 0, n_out = 0;
    if (p->n_symbol && !sym)
        return tnr_fail(err, TNR_E_ARG, 0, "the model has symbolic dimensions; give their sizes");
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot *s = &p->slot[i];
        tnr_status status = TNR_OK;
        if (s->kind == TN_SLOT_INPUT) {
            status = set(instance, n_in, s, true, in[n_in], sym, err);
            n_in++;
        } else if (s->kind == TN_SLOT_OUTPUT && !p->n_late) {
            status = set(instance, n_out, s, false, out[n_out], sym, err);
            n_out++;
        }
        if (status)
            return status;
    }
    tnr_status status = tnr_run(instance, err);
    return status || !p->n_late ? status : give(instance, p, out, sym, err);
}

/* A thread that has no memory for its sentence has the code alone. */
static void keep_message(tn_bundle *b, const tnr_error *err)
{
    pthread_mutex_lock(&lock);
    state *s = b->state;
    pthread_mutex_unlock(&lock);
    char *text = s ? pthread_getspecific(s->message) : NULL;
    if (s && !text && (text = tnr_mem_new(1, sizeof err->message)) && pthread_setspecific(s->message, text)) {
        tnr_mem_free(text);
        text = NULL;
    }
    if (text)
        memcpy(text, err->message, sizeof err->message);
}

int32_t tnr_bundle_run(tn_bundle *b, const void *inputs, const void *outputs, int64_t *symbols)
{
    tnr_error err = {0};
    tnr_instance *instance = NULL;
    tnr_status status = take(b, &instance, &err);
    if (!status && (!inputs || !outputs)) {
        status = tnr_fail(&err, TNR_E_ARG, 0, "inputs or outputs is NULL");
        give_back(b->state, instance);
    } else if (!status) {
        status = run(b, instance, (void *const *)inputs, (void *const *)outputs, symbols, &err);
        give_back(b->state, instance);
    }
    if (status)
        keep_message(b, &err);
    return status;
}

#pragma weak tnr_state_reset

int32_t tnr_bundle_reset(tn_bundle *b)
{
    tnr_error err = {0};
    tnr_instance *instance = NULL;
    tnr_status status = take(b, &instance, &err);
    if (!status) {
        if (tnr_state_reset) /* linked where the program has states */
            status = tnr_state_reset(instance, &err);
        give_back(b->state, instance);
    }
    if (status)
        keep_message(b, &err);
    return status;
}

int32_t tnr_bundle_threads(tn_bundle *b, int32_t n)
{
    tnr_error err = {0};
    tnr_status status = tnr_threads_set(n, &err);
    if (status)
        keep_message(b, &err);
    return status;
}

const char *tnr_bundle_error(const tn_bundle *b)
{
    pthread_mutex_lock(&lock);
    state *s = b->state;
    const char *text = s ? pthread_getspecific(s->message) : NULL;
    pthread_mutex_unlock(&lock);
    return text ? text : "";
}

void tnr_bundle_free(tn_bundle *b)
{
    tnr_error err;
    pthread_mutex_lock(&lock);
    state *s = b->state;
    b->state = NULL;
    bool was_open = s && s->module;
    n_open -= was_open;
    bool last = was_open && n_open == 0;
    pthread_mutex_unlock(&lock);
    if (!s)
        return;
    while (s->n_idle)
        tnr_instance_free(s->idle[--s->n_idle]);
    if (was_open)
        tnr_module_release(s->module);
    tnr_mem_free(pthread_getspecific(s->message));
    pthread_mutex_destroy(&s->turn);
    (void)pthread_key_delete(s->message); /* its destructor is code that is about to go, too */
    tnr_mem_free(s);
    if (last)
        (void)!tnr_threads_set(0, &err); /* ends the workers; 0 is never refused */
}
