#ifndef TENON_TESTS_RUNTIME_AOT_H
#define TENON_TESTS_RUNTIME_AOT_H
/* What tests of the AOT executor on hand-written tables share: a module of the toy library, and errors by text. */
#include "runtime/toy.h"
#include "runtime/toy_model.h"

#include <stdbool.h>

typedef struct fixture {
    blob params;
    tnr_module *module;
    tnr_error err;
} fixture;

static inline tnr_status open_library(const tn_library *library, const blob *params, tnr_module **m,
                                      tnr_error *err)
{
    return tnr_module_open_parts(
        &(tnr_parts){.library = library, .params = params->at, .params_n = params->n}, m, err);
}

static inline int setup(void **state)
{
    static fixture f;
    f = (fixture){.params = blob_toy_params(1)};
    *state = &f;
    return open_library(&toy_symbolic, &f.params, &f.module, &f.err);
}

static inline int teardown(void **state)
{
    fixture *f = *state;
    tnr_module_release(f->module);
    free(f->params.at);
    return 0;
}

static inline tnr_instance *instance(fixture *f)
{
    tnr_instance *inst = NULL;
    assert_int_equal(tnr_instance_new(f->module, NULL, &inst, &f->err), TNR_OK);
    return inst;
}

static inline void expect(const tnr_error *err, tnr_status status, int code, const char *message)
{
    assert_int_equal(status, code);
    assert_int_equal(err->code, code);
    assert_string_equal(err->message, message);
}

#endif
