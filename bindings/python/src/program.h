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

/* view.c: (nodes, body); constants share the program's memory. */
PyObject *core_function_view(PyObject *program, const tenon_function_view *f);

/* kernel.c. Takes `k`; frees it on failure. */
PyObject *core_kernel_new(core_session *s, tenon_kernel *k);

#endif
