/* tenon run --states: what the states of a model were is read from an archive, and what they became is
 * written there, so that runs of the command continue each other. Without the file they begin with their
 * first contents. */
#include "cli/states.h"
#include "cli/args.h"
#include "cli/feed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct array_state {
    tnr_instance *instance;
    const char *path;
    tnr_error err;
} array_state;

static int fail(const array_state *s) { return tn_error_print("%s: %s", s->path, s->err.message); }

static int set(array_state *s, tn_npz *z, int k)
{
    const tn_array *a = tn_npz_at(z, k);
    void *data = NULL;
    int64_t shape[TN_NPY_DIMS];
    int status = tn_npz_read(z, k, &data);
    memcpy(shape, a->type.shape, sizeof shape);
    DLTensor t = {.data = data,
                  .device = {kDLCPU, 0},
                  .ndim = a->type.ndim,
                  .dtype = {a->type.code, a->type.bits, 1},
                  .shape = shape};
    if (status == TN_EXIT_OK && tnr_state_set(s->instance, a->name, &t, &s->err))
        status = fail(s);
    free(data);
    return status;
}

int tn_states_begin(tnr_instance *instance, const char *path)
{
    array_state s = {.instance = instance, .path = path ? path : ""};
    tn_npz *z = NULL;
    if (tnr_state_count(tnr_instance_module(instance)) && tnr_state_reset(instance, &s.err))
        return fail(&s);
    if (!path || access(path, F_OK) != 0)
        return TN_EXIT_OK;
    int status = tn_npz_open(path, &z);
    for (int k = 0; status == TN_EXIT_OK && k < tn_npz_count(z); k++)
        status = set(&s, z, k);
    tn_npz_free(z);
    return status;
}

static int add(array_state *s, uint32_t i, tn_npz_out *z)
{
    tnr_state_info info;
    DLTensor t;
    tn_array a = {0};
    if (tnr_state_info_get(tnr_instance_module(s->instance), i, &info, &s->err) ||
        tnr_state_get(s->instance, info.name, &t, &s->err))
        return fail(s);
    int status = tn_array_of(info.name, &t, &a);
    if (status == TN_EXIT_OK)
        status = tn_npz_add(z, &a);
    tn_array_drop(&a);
    return status;
}

int tn_states_save(tnr_instance *instance, const char *path)
{
    array_state s = {.instance = instance, .path = path};
    tn_npz_out *z;
    int status = tn_npz_create(path, &z);
    for (uint32_t i = 0; status == TN_EXIT_OK && i < tnr_state_count(tnr_instance_module(instance)); i++)
        status = add(&s, i, z);
    return tn_npz_close(z, status);
}
