/* Timing a run: what each instruction took, as the hook of tnr_profile_set says. */
#include "instance.h"

#include <stdlib.h>

typedef struct {
    uint64_t nanoseconds, operations;
    const char *node, *kernel, *function; /* the module's, which outlives the list */
    uint32_t index;
} row;

typedef struct {
    row *at;
    size_t n, room;
    int failed;
} rows;

/* Called during a run, without the interpreter's lock. */
static void note(void *user, const tnr_profile_event *e)
{
    rows *r = user;
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        row *at = realloc(r->at, room * sizeof *at);
        if (!at) {
            r->failed = 1;
            return;
        }
        r->at = at;
        r->room = room;
    }
    r->at[r->n++] =
        (row){.nanoseconds = e->nanoseconds,
              .operations = e->operations.floats + e->operations.bfloat16 + e->operations.integers,
              .node = e->node,
              .kernel = e->kernel,
              .function = e->function,
              .index = e->index};
}

static PyObject *list_of(const rows *r)
{
    PyObject *list = PyList_New((Py_ssize_t)r->n);
    for (size_t i = 0; list && i < r->n; i++) {
        const row *x = &r->at[i];
        PyObject *one = Py_BuildValue("(ssIsKK)", x->node, x->kernel, x->index, x->function,
                                      (unsigned long long)x->nanoseconds, (unsigned long long)x->operations);
        if (!one || PyList_SetItem(list, (Py_ssize_t)i, one))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *core_instance_profile(PyObject *self, PyObject *none)
{
    core_instance *x = (core_instance *)self;
    rows r = {0};
    PyObject *result = NULL;
    (void)none;
    if (core_instance_enter(x))
        return NULL;
    tnr_profile_set(x->x, note, &r);
    int failed = core_instance_run_bound(x);
    tnr_profile_set(x->x, NULL, NULL);
    core_instance_leave(x);
    if (r.failed && !failed)
        PyErr_NoMemory();
    else if (!failed)
        result = list_of(&r);
    free(r.at);
    return result;
}
