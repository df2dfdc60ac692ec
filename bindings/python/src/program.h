#ifndef TENON_PY_PROGRAM_H
#define TENON_PY_PROGRAM_H
#include "core.h"
#include "tenon/relay.h"
#include "tenon/te.h"
#include "tenon/tune.h"

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
PyObject *core_program_tune_graph(PyObject *self, PyObject *args);
PyObject *core_program_tune_list(PyObject *self, PyObject *args);
PyObject *core_program_tune_point(PyObject *self, PyObject *args);
extern const char core_program_tune_doc[], core_program_tune_graph_doc[], core_program_tune_list_doc[],
    core_program_tune_point_doc[];

/* view.c: (nodes, body); constants share the program's memory. */
PyObject *core_function_view(PyObject *program, const tenon_function_view *f);

/* The same for other searches: reads options, of which a search begins; a task as a dict. */
int core_tune_options(core_options *o, tenon_tune_options *to, PyObject *tune);
PyObject *core_tune_task(const tenon_tune_task *t);

/* sketch_rules.c: rules of sketches, a list of (name, condition or None, apply): condition(text of the function) is one
 * of tenon_sketch_condition; apply(text, Config) is the steps, or None. 0 or -1. */
int core_rules_set(core_options *o, tenon_tune_options *to, PyObject *rules);
/* The same of postprocessors, a list of functions (text of the function, steps) -> steps, or None. */
int core_postprocs_set(core_options *o, tenon_tune_options *to, PyObject *procs);
/* The same of mutators, a list of (function, odds): function(seed, picks) is the numbers of their candidates,
 * or None. */
int core_mutators_set(core_options *o, tenon_tune_options *to, PyObject *mutators);
/* tune.c: [(name, [candidate], index)] */
PyObject *core_picks(const tenon_pick *p, uint32_t n);

/* template.c: a Config of the search's, which is of no use after the call that it is for */
PyObject *core_config_lend(tenon *t, tenon_config *c);
void core_config_take_back(PyObject *config); /* and the reference */

/* template.c: methods of Session */
PyObject *core_session_config(PyObject *self, PyObject *args);
PyObject *core_session_tune(PyObject *self, PyObject *args);
extern const char core_session_tune_doc[];

/* tune.c: a method of Kernel */
PyObject *core_kernel_tune(PyObject *self, PyObject *args);
extern const char core_kernel_tune_doc[];

/* records of tune.c: methods of Session */
PyObject *core_session_records(PyObject *self, PyObject *args);
PyObject *core_session_records_merge(PyObject *self, PyObject *args);
PyObject *core_session_records_prune(PyObject *self, PyObject *args);

/* kernel.c. NULL with TypeError where it is no Kernel. */
tenon_kernel *core_kernel_get(PyObject *kernel, core_session **out_session);
/* Takes `k`; frees it on failure. */
PyObject *core_kernel_new(core_session *s, tenon_kernel *k);

#endif
