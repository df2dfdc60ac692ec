/* Searches for schedules: tenon_tune of a Program. Candidates run in child processes, which are copies of this one made
 * by the compiler's thread; they run code of the compiler alone, never the interpreter's, and leave by _exit. */
#include "program.h"

typedef struct {
    core_program *p;
    core_options o;
    tenon_tune_options t;
    int list, is_point, is_graph;
    uint64_t number;
    uint32_t n;
    const tenon_tune_task *task;
    const tenon_pick *pick;
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

PyObject *core_picks(const tenon_pick *p, uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *word = PyList_New((Py_ssize_t)p[i].n), *item = NULL;
        for (uint32_t k = 0; word && k < p[i].n; k++) {
            PyObject *text = PyUnicode_FromString(p[i].candidate[k]);
            if (!text || PyList_SetItem(word, (Py_ssize_t)k, text))
                Py_CLEAR(word);
        }
        item = word ? Py_BuildValue("sNI", p[i].name, word, p[i].index) : NULL;
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item))
            Py_CLEAR(list);
    }
    return list;
}

/* [(name, attributes, [type])] */
static PyObject *operators_list(const tenon_tune_task *t)
{
    PyObject *list = PyList_New((Py_ssize_t)t->n_operator);
    for (uint32_t i = 0; list && i < t->n_operator; i++) {
        const tenon_tune_operator *o = &t->operators[i];
        PyObject *type = PyList_New((Py_ssize_t)o->n_operand), *item = NULL;
        for (uint32_t k = 0; type && k < o->n_operand; k++) {
            PyObject *text = Py_BuildValue("z", o->type[k]);
            if (!text || PyList_SetItem(type, (Py_ssize_t)k, text))
                Py_CLEAR(type);
        }
        item = type ? Py_BuildValue("ssN", o->name, o->attributes, type) : NULL;
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item))
            Py_CLEAR(list);
    }
    return list;
}

static int add_item(PyObject *dict, const char *name, PyObject *value)
{
    int failed = !value || PyDict_SetItemString(dict, name, value);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

PyObject *core_tune_task(const tenon_tune_task *t)
{
    return core_fields_get(t, sizeof task_fields / sizeof *task_fields, task_fields);
}

/* With lists, which may be long; progress goes without them. */
static PyObject *listed_task(const tenon_tune_task *t)
{
    PyObject *dict = core_tune_task(t);
    if (dict && (add_item(dict, "operators", operators_list(t)) ||
                 add_item(dict, "pick", core_picks(t->pick, t->n_pick))))
        Py_CLEAR(dict);
    return dict;
}

static const core_field record_fields[] = {
    CORE_FIELD(tenon_record, workload, LONG),   CORE_FIELD(tenon_record, machine, TEXT),
    CORE_FIELD(tenon_record, threads, COUNT),   CORE_FIELD(tenon_record, trials, COUNT),
    CORE_FIELD(tenon_record, seconds, REAL),    CORE_FIELD(tenon_record, built_in_seconds, REAL),
    CORE_FIELD(tenon_record, operations, REAL), CORE_FIELD(tenon_record, name, TEXT),
    CORE_FIELD(tenon_record, generator, TEXT),  CORE_FIELD(tenon_record, version, COUNT),
    CORE_FIELD(tenon_record, picks, TEXT),      CORE_FIELD(tenon_record, trace, TEXT),
    CORE_FIELD(tenon_record, function, TEXT),
};

/* None where there is none. */
static PyObject *record_dict(const tenon_record *r)
{
    if (!r)
        Py_RETURN_NONE;
    return core_fields_get(r, sizeof record_fields / sizeof *record_fields, record_fields);
}

/* After each trial: the task that it was of. The others are as they were. */
static void progress(void *user, const tenon_tune_progress *p)
{
    core_callback *c = user;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!c->o->raised[0])
        core_callback_end(c->o, PyObject_CallFunction(c->function, "dIIINdzziKN", p->elapsed, p->trials,
                                                      p->n_task, p->task, core_tune_task(&p->tasks[p->task]),
                                                      p->seconds, p->picks, p->why, p->fate,
                                                      (unsigned long long)p->number, record_dict(p->record)));
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
    CORE_FIELD(tenon_tune_options, generator, TEXT),
    CORE_FIELD(tenon_tune_options, fixed, TEXT),
    CORE_FIELD(tenon_tune_options, odds, TEXT),
    CORE_FIELD(tenon_tune_options, near, TEXT),
    CORE_FIELD(tenon_tune_options, cost_model, TEXT),
    CORE_HOOK(tenon_tune_options, progress, progress),
};

/* Takes a list of functions out of the dict. */
static int take_functions(core_options *o, tenon_tune_options *to, PyObject *tune, const char *name,
                          int (*set)(core_options *o, tenon_tune_options *to, PyObject *functions))
{
    PyObject *functions = PyDict_GetItemString(tune, name);
    return functions && (set(o, to, functions) || PyDict_DelItemString(tune, name)) ? -1 : 0;
}

/* Its "rules" are [(name, condition, apply)], its "postprocs" [apply], its "mutators" [(apply, odds)]. */
int core_tune_options(core_options *o, tenon_tune_options *to, PyObject *tune)
{
    PyObject *rest = PyDict_Check(tune) ? PyDict_Copy(tune) : NULL;
    int failed = PyDict_Check(tune) && (!rest || take_functions(o, to, rest, "rules", core_rules_set) ||
                                        take_functions(o, to, rest, "postprocs", core_postprocs_set) ||
                                        take_functions(o, to, rest, "mutators", core_mutators_set));
    failed = failed || core_fields_set(o, to, sizeof fields / sizeof *fields, fields, rest ? rest : tune);
    Py_XDECREF(rest);
    return failed ? -1 : 0;
}

static int work(void *user)
{
    job *j = user;
    if (j->is_point)
        return tenon_tune_point(j->p->m, &j->o.c, &j->t, j->number, &j->n, &j->pick);
    if (j->is_graph) {
        j->n = 1;
        return tenon_tune_graph(j->p->m, &j->o.c, &j->t, &j->task);
    }
    return (j->list ? tenon_tune_list : tenon_tune)(j->p->m, &j->o.c, &j->t, &j->n, &j->task);
}

static int begin(job *j, PyObject *options, PyObject *tune)
{
    j->t.size = sizeof j->t;
    if (core_options_init(&j->o, options) == 0 && core_tune_options(&j->o, &j->t, tune) == 0)
        return core_program_call(j->p, &j->o, work, j);
    core_options_deinit(&j->o);
    return -1;
}

static PyObject *all(const job *j)
{
    PyObject *list = PyList_New((Py_ssize_t)j->n);
    for (uint32_t i = 0; list && i < j->n; i++) {
        PyObject *task = j->list ? listed_task(&j->task[i]) : core_tune_task(&j->task[i]);
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
    "progress is called with (elapsed, trials, tasks, number of a task, task, and of the trial or the gain: "
    "seconds, "
    "picks, why, fate, number of the point, record).";

PyObject *core_program_tune(PyObject *self, PyObject *args)
{
    return call(&(job){.p = (core_program *)self}, args, "OO:tune");
}

const char core_program_tune_graph_doc[] =
    "tune_graph(options, tune) -> [task]: search for choices of the graph as a "
    "whole; the list has one task, \"graph\".";

PyObject *core_program_tune_graph(PyObject *self, PyObject *args)
{
    return call(&(job){.p = (core_program *)self, .is_graph = 1}, args, "OO:tune_graph");
}

const char core_program_tune_list_doc[] = "tune_list(options, tune) -> [task]: without trying anything; with "
                                          "\"operators\" and \"pick\", the choices "
                                          "of the built-in schedule.";

PyObject *core_program_tune_list(PyObject *self, PyObject *args)
{
    return call(&(job){.p = (core_program *)self, .list = 1}, args, "OO:tune_list");
}

const char core_program_tune_point_doc[] = "tune_point(options, tune, number) -> [(name, [candidate], "
                                           "index)]: the choices at a point of the space of "
                                           "the first task that `tune` names.";

PyObject *core_program_tune_point(PyObject *self, PyObject *args)
{
    job j = {.p = (core_program *)self, .is_point = 1};
    PyObject *options, *tune, *result = NULL;
    unsigned long long number;
    if (!PyArg_ParseTuple(args, "OOK:tune_point", &options, &tune, &number))
        return NULL;
    j.number = number;
    if (begin(&j, options, tune) == 0)
        result = core_picks(j.pick, j.n);
    core_program_end(j.p, &j.o);
    return result;
}

/* ---- one kernel ---- */

typedef struct {
    tenon_kernel *k;
    core_options o;
    tenon_tune_options t;
    const tenon_tune_task *task;
} kernel_job;

static int work_kernel(void *user)
{
    kernel_job *j = user;
    return tenon_tune_kernel(j->k, &j->o.c, &j->t, &j->task);
}

const char core_kernel_tune_doc[] =
    "tune(options, tune) -> task: search for schedules of the kernel's loops, whose steps stay.";

PyObject *core_kernel_tune(PyObject *self, PyObject *args)
{
    core_session *s;
    kernel_job j = {.k = core_kernel_get(self, &s)};
    PyObject *options, *tune, *result = NULL;
    int failed;
    if (!PyArg_ParseTuple(args, "OO:tune", &options, &tune))
        return NULL;
    j.t.size = sizeof j.t;
    if (core_options_init(&j.o, options) == 0 && core_tune_options(&j.o, &j.t, tune) == 0 &&
        core_session_begin(s) == 0) {
        if (core_call(&j.o, work_kernel, &j, &failed) == 0)
            result = failed ? core_raise_compile(s->t) : core_tune_task(j.task);
        core_session_end(s);
    }
    core_options_deinit(&j.o);
    return result;
}

/* ---- records ---- */

static PyObject *records_list(const tenon_record *r, uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *x = record_dict(&r[i]);
        if (!x || PyList_SetItem(list, (Py_ssize_t)i, x))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *core_session_records(PyObject *self, PyObject *args)
{
    core_session *s = (core_session *)self;
    const char *path;
    const tenon_record *r;
    uint32_t n;
    if (!PyArg_ParseTuple(args, "z:records", &path) || core_session_begin(s))
        return NULL;
    PyObject *result = tenon_records_list(s->t, path, &n, &r) ? core_raise_compile(s->t) : records_list(r, n);
    core_session_end(s);
    return result;
}

PyObject *core_session_records_merge(PyObject *self, PyObject *args)
{
    core_session *s = (core_session *)self;
    const char *path, *from;
    uint32_t n;
    if (!PyArg_ParseTuple(args, "zs:records_merge", &path, &from) || core_session_begin(s))
        return NULL;
    PyObject *result =
        tenon_records_merge(s->t, path, from, &n) ? core_raise_compile(s->t) : PyLong_FromUnsignedLong(n);
    core_session_end(s);
    return result;
}

PyObject *core_session_records_prune(PyObject *self, PyObject *args)
{
    core_session *s = (core_session *)self;
    const char *path;
    unsigned keep;
    uint32_t n;
    if (!PyArg_ParseTuple(args, "zI:records_prune", &path, &keep) || core_session_begin(s))
        return NULL;
    PyObject *result =
        tenon_records_prune(s->t, path, keep, &n) ? core_raise_compile(s->t) : PyLong_FromUnsignedLong(n);
    core_session_end(s);
    return result;
}
