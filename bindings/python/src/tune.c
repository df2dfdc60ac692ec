/* Searches for schedules: tenon_tune of a Program. Candidates run in child processes, which are copies of this one made
 * by the compiler's thread; they run code of the compiler alone, never the interpreter's, and leave by _exit. */
#include "program.h"
#include "tenon/tune.h"

typedef struct {
    core_program *p;
    core_options o;
    tenon_tune_options t;
    int list;
    uint32_t n;
    const tenon_tune_task *task;
} job;

static const core_field task_fields[] = {
    CORE_FIELD(tenon_tune_task, name, TEXT),
    CORE_FIELD(tenon_tune_task, nodes, TEXT),
    CORE_FIELD(tenon_tune_task, workload, LONG),
    CORE_FIELD(tenon_tune_task, calls, COUNT),
    CORE_FIELD(tenon_tune_task, chosen, INT),
    CORE_FIELD(tenon_tune_task, points, REAL),
    CORE_FIELD(tenon_tune_task, exact, INT),
    CORE_FIELD(tenon_tune_task, operations, REAL),
    CORE_FIELD(tenon_tune_task, peak_seconds, REAL),
    CORE_FIELD(tenon_tune_task, built_in, TEXT),
    CORE_FIELD(tenon_tune_task, trials, COUNT),
    CORE_FIELD(tenon_tune_task, failed, COUNT),
    CORE_FIELD(tenon_tune_task, built_in_seconds, REAL),
    CORE_FIELD(tenon_tune_task, seconds, REAL),
    CORE_FIELD(tenon_tune_task, picks, TEXT),
    CORE_FIELD(tenon_tune_task, compiling, REAL),
    CORE_FIELD(tenon_tune_task, timing, REAL),
    CORE_FIELD(tenon_tune_task, why, TEXT),
};

static PyObject *one(const tenon_tune_task *t)
{
    return core_fields_get(t, sizeof task_fields / sizeof *task_fields, task_fields);
}

/* After each trial: the task that it was of. The others are as they were. */
static void progress(void *user, const tenon_tune_progress *p)
{
    core_callback *c = user;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!c->o->raised[0])
        core_callback_end(c->o, PyObject_CallFunction(c->function, "dIIIN", p->elapsed, p->trials, p->n_task,
                                                      p->task, one(&p->tasks[p->task])));
    PyGILState_Release(state);
}

static const core_field fields[] = {
    CORE_FIELD(tenon_tune_options, records, TEXT),
    CORE_FIELD(tenon_tune_options, prior, TEXT),
    CORE_FIELD(tenon_tune_options, tasks, TEXT),
    CORE_FIELD(tenon_tune_options, tuner, TEXT),
    CORE_FIELD(tenon_tune_options, trials, COUNT),
    CORE_FIELD(tenon_tune_options, early_stopping, COUNT),
    CORE_FIELD(tenon_tune_options, evenly, INT),
    CORE_FIELD(tenon_tune_options, seconds, REAL),
    CORE_FIELD(tenon_tune_options, repeat_seconds, REAL),
    CORE_FIELD(tenon_tune_options, timeout, REAL),
    CORE_FIELD(tenon_tune_options, threads, INT),
    CORE_FIELD(tenon_tune_options, seed, LONG),
    CORE_HOOK(tenon_tune_options, progress, progress),
};

static int work(void *user)
{
    job *j = user;
    return (j->list ? tenon_tune_list : tenon_tune)(j->p->m, &j->o.c, &j->t, &j->n, &j->task);
}

static int begin(job *j, PyObject *options, PyObject *tune)
{
    j->t.size = sizeof j->t;
    if (core_options_init(&j->o, options) == 0 &&
        core_fields_set(&j->o, &j->t, sizeof fields / sizeof *fields, fields, tune) == 0)
        return core_program_call(j->p, &j->o, work, j);
    core_options_deinit(&j->o);
    return -1;
}

static PyObject *all(const job *j)
{
    PyObject *list = PyList_New((Py_ssize_t)j->n);
    for (uint32_t i = 0; list && i < j->n; i++) {
        PyObject *task = one(&j->task[i]);
        if (!task || PyList_SetItem(list, (Py_ssize_t)i, task))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *call(job *j, PyObject *args, const char *format)
{
    PyObject *options, *tune, *result = NULL;
    if (!PyArg_ParseTuple(args, format, &options, &tune))
        return NULL;
    if (begin(j, options, tune) == 0)
        result = all(j);
    core_program_end(j->p, &j->o);
    return result;
}

const char core_program_tune_doc[] =
    "tune(options, tune) -> [task]: search for schedules; `tune` has the fields of tenon_tune_options, "
    "whose "
    "progress is called with (elapsed, trials, tasks, number of a task, task).";

PyObject *core_program_tune(PyObject *self, PyObject *args)
{
    return call(&(job){.p = (core_program *)self}, args, "OO:tune");
}

const char core_program_tune_list_doc[] = "tune_list(options, tune) -> [task]: without trying anything.";

PyObject *core_program_tune_list(PyObject *self, PyObject *args)
{
    return call(&(job){.p = (core_program *)self, .list = 1}, args, "OO:tune_list");
}
