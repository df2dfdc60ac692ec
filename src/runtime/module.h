#ifndef TNR_MODULE_H
#define TNR_MODULE_H
/* A loaded package, as instances see it. Immutable after opening, so it needs no lock. */
#include "runtime/exe.h"
#include "runtime/graph.h"
#include "runtime/library.h"
#include "runtime/package.h"

#include <stdatomic.h>

enum { TNR_N_EXECUTOR = 2 };

struct tnr_module {
    atomic_uint references;
    tnr_package package;
    tnr_shared_object object[1 + TNR_MAX_MODULE]; /* mod.so, and what it names */
    const tn_library *library;
    tn_library *merged;    /* mod.so's, with the kernels of its modules; NULL: it names none */
    void *const *user;     /* tn_call.user of each kernel; NULL: none */
    struct tnr_host *host; /* HOST: functions that were registered, by text of the program; NULL: none */
    tnr_params *params;    /* never NULL */
    tnr_graph *graph;      /* NULL: no mod.json */
    tnr_exe exe[TNR_N_EXECUTOR];
    bool has[TNR_N_EXECUTOR]; /* input i and output i are the same ones in every executor */
    const tnr_exe *described; /* the executor that describes inputs and outputs: AOT if there is one */
    tnr_tensor_info *info;    /* described->n_input inputs, then described->n_output outputs */
    int64_t *info_shape;      /* behind the shapes: scratch for the symbols */
    const char **info_symbol;
};

/* Opening in parts: an empty module; its library, which may run here, checked and its programs made; released where
 * that failed. */
tnr_module *tnr_module_new(tnr_error *err);
TNR_CHECKED tnr_status tnr_module_check(tnr_module *module, tnr_span json, tnr_span params, tnr_error *err);
TNR_CHECKED tnr_status tnr_module_finish(tnr_module *module, tnr_status status, tnr_module **out_module);

const tnr_tensor_info *tnr_module_input(const tnr_module *module, uint32_t index);
const tnr_tensor_info *tnr_module_output(const tnr_module *module, uint32_t index);

/* `no input is called "z"; inputs are: x, y` */
TNR_CHECKED tnr_status tnr_fail_name(const tnr_module *module, bool input, const char *name, tnr_error *err);

#endif
