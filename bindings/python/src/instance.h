#ifndef TENON_PY_INSTANCE_H
#define TENON_PY_INSTANCE_H
#include "core.h"

typedef struct core_instance {
    PyObject_HEAD core_library *library;
    tnr_instance *x;
    uint32_t n_in, n_out;
    DLTensor *output;        /* n_out: dtype and rank of each; shape NULL where it is not fixed */
    core_tensor **in, **out; /* what is bound; NULL: nothing */
    int8_t *is_given;        /* n_in: inputs that are values and have one */
    int busy;                /* only one thread at a time may use it */
} core_instance;

int core_instance_enter(core_instance *x); /* -1 where another thread uses it */
void core_instance_leave(core_instance *x);
int core_instance_run_bound(core_instance *x); /* 0 or -1; between enter and leave */

/* ---- signals.c ---- */

/* tnr_run without the interpreter's lock. Where a handler of a signal raises meanwhile (Ctrl-C), the run ends soon with
 * TNR_E_CANCEL, and the exception is set. */
tnr_status core_run(tnr_instance *x, tnr_error *err);

/* ---- values.c: what is no tensor ---- */

int core_value_set(core_instance *x, uint32_t i, PyObject *given); /* 0 or -1 */
PyObject *core_value_get(core_instance *x, uint32_t i);

/* Methods: profile.c, states.c */
PyObject *core_instance_profile(PyObject *self, PyObject *none);
PyObject *core_instance_state(PyObject *self, PyObject *args);
PyObject *core_instance_set_state(PyObject *self, PyObject *args);
PyObject *core_instance_reset_states(PyObject *self, PyObject *none);

#endif
