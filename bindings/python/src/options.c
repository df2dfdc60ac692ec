/* tenon_options from a dict: which fields there are, and what is called back. */
#include "core.h"

/* ---- callbacks: on a thread of the compiler, which has not the interpreter's lock ---- */

void core_callback_end(core_options *o, PyObject *result)
{
    if (!result && !o->raised[0]) {
        PyErr_Fetch(&o->raised[0], &o->raised[1], &o->raised[2]);
        __atomic_store_n(&o->cancel, 1, __ATOMIC_RELAXED);
    }
    PyErr_Clear();
    Py_XDECREF(result);
}

static void progress(void *user, const char *stage, uint32_t done, uint32_t of)
{
    core_callback *c = user;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!c->o->raised[0])
        core_callback_end(c->o, PyObject_CallFunction(c->function, "sII", stage, done, of));
    PyGILState_Release(state);
}

static void print(void *user, const char *text)
{
    core_callback *c = user;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!c->o->raised[0])
        core_callback_end(c->o, PyObject_CallFunction(c->function, "s", text));
    PyGILState_Release(state);
}

static const core_field fields[] = {CORE_FIELD(tenon_options, target, TEXT),
                                    CORE_FIELD(tenon_options, machine_file, TEXT),
                                    CORE_FIELD(tenon_options, input_shapes, TEXT),
                                    CORE_FIELD(tenon_options, model_format, TEXT),
                                    CORE_FIELD(tenon_options, module_name, TEXT),
                                    CORE_FIELD(tenon_options, disabled_pass, TEXT),
                                    CORE_FIELD(tenon_options, cross_compiler, TEXT),
                                    CORE_FIELD(tenon_options, cross_compiler_options, TEXT),
                                    CORE_FIELD(tenon_options, opt_level, INT),
                                    CORE_FIELD(tenon_options, no_variants, INT),
                                    CORE_FIELD(tenon_options, pass_config, TEXTS),
                                    CORE_FIELD(tenon_options, desired_layout, TEXT),
                                    CORE_FIELD(tenon_options, desired_layout_ops, TEXT),
                                    CORE_FIELD(tenon_options, mixed_precision, INT),
                                    CORE_FIELD(tenon_options, mixed_precision_ops, TEXT),
                                    CORE_FIELD(tenon_options, mixed_precision_calculation_type, TEXT),
                                    CORE_FIELD(tenon_options, mixed_precision_acc_type, TEXT),
                                    CORE_FIELD(tenon_options, print_ir_before, TEXT),
                                    CORE_FIELD(tenon_options, print_ir_after, TEXT),
                                    CORE_FIELD(tenon_options, print_pass_times, INT),
                                    CORE_FIELD(tenon_options, no_in_place, INT),
                                    CORE_HOOK(tenon_options, print, print),
                                    CORE_HOOK(tenon_options, progress, progress),
                                    CORE_FIELD(tenon_options, dump_format, TEXT),
                                    CORE_FIELD(tenon_options, max_memory, INT),
                                    CORE_FIELD(tenon_options, max_seconds, INT),
                                    CORE_FIELD(tenon_options, max_nodes, INT),
                                    CORE_FIELD(tenon_options, threads, INT),
                                    CORE_FIELD(tenon_options, states, TEXTS),
                                    CORE_FIELD(tenon_options, memory, TEXT),
                                    CORE_FIELD(tenon_options, outputs, TEXT),
                                    CORE_FIELD(tenon_options, signature, TEXT),
                                    CORE_FIELD(tenon_options, architecture, TEXT),
                                    CORE_FIELD(tenon_options, tuning_records, TEXT),
                                    CORE_FIELD(tenon_options, no_records, INT)};

int core_options_init(core_options *o, PyObject *dict)
{
    *o = (core_options){.c.size = sizeof o->c, .kept = PyList_New(0)};
    o->c.cancel = &o->cancel;
    return o->kept ? core_fields_set(o, &o->c, sizeof fields / sizeof *fields, fields, dict) : -1;
}

void core_options_deinit(core_options *o)
{
    Py_CLEAR(o->kept);
    for (int i = 0; i < o->n_texts; i++)
        PyMem_Free(o->texts[i]);
    for (int i = 0; i < 3; i++)
        Py_CLEAR(o->raised[i]);
}
