/* What a self-contained library (`compile -o model.so`) is called through: one model, its weights and the
 * runtime in one object, behind functions that the generated header declares. The packager renames them after
 * the module (tenon_bundle_run -> tvmgen_default_run) and hides all else.
 *
 * A call takes an idle instance, or makes one, so calls from several threads run at once. */
#include "runtime/error.h"
#include "runtime/mem.h"
#include "runtime/module.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* What the packager links in: the kernels' query function and the mod.params blob, 64-byte aligned. */
extern const tn_library *tenon_library_query(uint32_t max_version);
extern const unsigned char tenon_bundle_params[];
extern const uint64_t tenon_bundle_params_bytes;

#define SEEN __attribute__((visibility("default")))
SEEN int32_t tenon_bundle_run(const void *inputs, const void *outputs);
SEEN int32_t tenon_bundle_run_symbolic(const void *inputs, const void *outputs, const int64_t *symbols);
SEEN int32_t tenon_bundle_threads(int32_t n);
SEEN const char *tenon_bundle_error(void);
SEEN void tenon_bundle_free(void);

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

static struct {
    pthread_mutex_t lock;
    tnr_module *module;                /* NULL: not opened yet */
    tnr_instance *idle[MAX_IDLE];
    uint32_t n_idle;
    char message[sizeof(((tnr_error *)0)->message)];
} bundle = {.lock = PTHREAD_MUTEX_INITIALIZER};

static tnr_status open_locked(tnr_error *err)
{
    const tn_library *library = tenon_library_query(TENON_ABI_VERSION);
    if (!library)
        return tnr_fail(err, TNR_E_VERSION, 0, "the kernels speak a newer ABI than the runtime linked in");
    tnr_parts parts = {.library = library,
                       .params = tenon_bundle_params,
                       .params_n = (size_t)tenon_bundle_params_bytes};
    return tnr_module_open_parts(&parts, &bundle.module, err);
}

static tnr_status take(tnr_instance **out, tnr_error *err)
{
    tnr_status status = TNR_OK;
    pthread_mutex_lock(&bundle.lock);
    if (!bundle.module)
        status = open_locked(err);
    *out = !status && bundle.n_idle ? bundle.idle[--bundle.n_idle] : NULL;
    pthread_mutex_unlock(&bundle.lock);
    return status || *out ? status : tnr_instance_new(bundle.module, NULL, out, err);
}

static void give_back(tnr_instance *instance)
{
    pthread_mutex_lock(&bundle.lock);
    bool keep = bundle.n_idle < MAX_IDLE;
    if (keep)
        bundle.idle[bundle.n_idle++] = instance;
    pthread_mutex_unlock(&bundle.lock);
    if (!keep)
        tnr_instance_free(instance);
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

/* inputs and outputs are the header's structs: a pointer for each, in the model's order. */
static tnr_status run(tnr_instance *instance, void *const *in, void *const *out, const int64_t *sym, tnr_error *err)
{
    const tn_program *p = tenon_library_query(TENON_ABI_VERSION)->program;
    uint32_t n_in = 0, n_out = 0;
    if (p->n_symbol && !sym)
        return tnr_fail(err, TNR_E_ARG, 0, "the model has symbolic dimensions: give their sizes");
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot *s = &p->slot[i];
        tnr_status status = TNR_OK;
        if (s->kind == TN_SLOT_INPUT) {
            status = set(instance, n_in, s, true, in[n_in], sym, err);
            n_in++;
        } else if (s->kind == TN_SLOT_OUTPUT) {
            status = set(instance, n_out, s, false, out[n_out], sym, err);
            n_out++;
        }
        if (status)
            return status;
    }
    return tnr_run(instance, err);
}

int32_t tenon_bundle_run_symbolic(const void *inputs, const void *outputs, const int64_t *symbols)
{
    tnr_error err = {0};
    tnr_instance *instance = NULL;
    tnr_status status = take(&instance, &err);
    if (!status) {
        status = run(instance, (void *const *)inputs, (void *const *)outputs, symbols, &err);
        give_back(instance);
    }
    if (status) {
        pthread_mutex_lock(&bundle.lock);
        memcpy(bundle.message, err.message, sizeof bundle.message);
        pthread_mutex_unlock(&bundle.lock);
    }
    return status;
}

int32_t tenon_bundle_run(const void *inputs, const void *outputs)
{
    return tenon_bundle_run_symbolic(inputs, outputs, NULL);
}

int32_t tenon_bundle_threads(int32_t n)
{
    tnr_error err;
    return tnr_threads_set(n, &err);
}

const char *tenon_bundle_error(void) { return bundle.message; }

void tenon_bundle_free(void)
{
    pthread_mutex_lock(&bundle.lock);
    while (bundle.n_idle)
        tnr_instance_free(bundle.idle[--bundle.n_idle]);
    tnr_module_release(bundle.module);
    bundle.module = NULL;
    pthread_mutex_unlock(&bundle.lock);
    tnr_error err;
    if (tnr_threads_set(0, &err)) /* ends the workers, which would run code that is about to go */
        memcpy(bundle.message, err.message, sizeof bundle.message);
}
