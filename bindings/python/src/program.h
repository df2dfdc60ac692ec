#ifndef TENON_PY_PROGRAM_H
#define TENON_PY_PROGRAM_H
#include "core.h"
#include "tenon/relay.h"
#include "tenon/te.h"

typedef struct core_program {
    PyObject_HEAD core_session *session;
    tenon_module *m;
} core_program;

/* Takes `m`; frees it on failure. */
PyObject *core_program_new(core_session *s, tenon_module *m);

/* Runs long work on the program. 0, or -1 with an exception. The session is the caller's until core_program_end, which
 * frees the options; where it is at work in another thread, they are freed already. */
int core_program_call(core_program *p, core_options *o, core_work *work, void *user);
void core_program_end(core_program *p, core_options *o);

/* tune.c: methods */
PyObject *core_program_tune(PyObject *self, PyObject *args);
PyObject *core_program_tune_list(PyObject *self, PyObject *args);
extern const char core_program_tune_doc[], core_program_tune_list_doc[];

/* view.c: (nodes, body); constants share the program's memory. */
PyObject *core_function_view(PyObject *program, const tenon_function_view *f);

/* kernel.c. Takes `k`; frees it on failure. */
PyObject *core_kernel_new(core_session *s, tenon_kernel *k);

#endif
