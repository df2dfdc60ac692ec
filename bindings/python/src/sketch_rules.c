/* Rules of sketches, postprocessors and mutators: functions of Python behind tenon_sketch_rule, tenon_postproc and
 * tenon_mutator. They see a function as text and answer with steps, so that kernels of the search's stay in the
 * compiler; mutators see choices and answer with the numbers of their candidates. */
#include "program.h"

typedef struct {
    core_options *o;
    PyObject *condition, *apply; /* borrowed from the options' list; condition may be None */
} rule;

/* PASS where the call is to end. */
static int ask(void *user, tenon *t, struct tenon_kernel *k)
{
    rule *r = user;
    long answer = TENON_SKETCH_PASS;
    PyGILState_STATE state = PyGILState_Ensure();
    (void)t;
    if (!r->o->raised[0]) {
        PyObject *result = PyObject_CallFunction(r->condition, "s", tenon_kernel_print(k));
        answer = result ? PyLong_AsLong(result) : TENON_SKETCH_PASS;
        int known = answer >= TENON_SKETCH_PASS && answer <= TENON_SKETCH_APPLY_ALONE;
        if (result && !known && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "the condition of a rule gave %ld; 0 to 2 are known", answer);
        if (result && !known)
            Py_CLEAR(result);
        core_callback_end(r->o, result);
    }
    PyGILState_Release(state);
    return answer >= TENON_SKETCH_PASS && answer <= TENON_SKETCH_APPLY_ALONE ? (int)answer
                                                                             : TENON_SKETCH_PASS;
}

/* Applies the steps that the function returned; None: there is no schedule. */
static int do_steps(core_options *o, tenon_kernel *k, PyObject *result)
{
    int failed = 1;
    PyObject *steps = result && result != Py_None ? PyUnicode_AsUTF8String(result) : NULL;
    if (steps)
        failed = tenon_step(k, PyBytes_AsString(steps));
    else if (result && result != Py_None)
        Py_CLEAR(result); /* TypeError */
    Py_XDECREF(steps);
    core_callback_end(o, result);
    return failed;
}

static int apply(void *user, tenon *t, struct tenon_kernel *k, tenon_config *c)
{
    rule *r = user;
    int failed = 1;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *config = r->o->raised[0] ? NULL : core_config_lend(t, c);
    if (config) {
        PyObject *result = PyObject_CallFunction(r->apply, "sO", tenon_kernel_print(k), config);
        core_config_take_back(config);
        failed = do_steps(r->o, k, result);
    }
    PyGILState_Release(state);
    return failed;
}

typedef struct {
    core_options *o;
    PyObject *apply; /* borrowed from the options' list */
} function;

static int pass(void *user, tenon *t, struct tenon_kernel *k, const char *steps)
{
    function *p = user;
    int failed = 1;
    PyGILState_STATE state = PyGILState_Ensure();
    (void)t;
    if (!p->o->raised[0])
        failed = do_steps(p->o, k, PyObject_CallFunction(p->apply, "ss", tenon_kernel_print(k), steps));
    PyGILState_Release(state);
    return failed;
}

/* Memory for n things, which the options keep. */
static void *keep(core_options *o, size_t bytes)
{
    PyObject *memory = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    char *at = memory && PyList_Append(o->kept, memory) == 0 ? PyBytes_AsString(memory) : NULL;
    Py_XDECREF(memory);
    return at;
}

int core_rules_set(core_options *o, tenon_tune_options *to, PyObject *rules)
{
    Py_ssize_t n = PySequence_Size(rules);
    if (n < 0)
        return -1;
    tenon_sketch_rule *all = keep(o, (size_t)n * sizeof *all);
    rule *users = keep(o, (size_t)n * sizeof *users);
    if (!all || !users || PyList_Append(o->kept, rules))
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *name;
        PyObject *item = PySequence_GetItem(rules, i);
        int sound = item && PyList_Append(o->kept, item) == 0;
        users[i].o = o;
        if (sound && !PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError,
                            "a rule of sketches is a tuple: name, condition, function that applies it");
            sound = 0;
        }
        sound = sound && PyArg_ParseTuple(item, "sOO", &name, &users[i].condition, &users[i].apply);
        Py_XDECREF(item);
        if (!sound)
            return -1;
        all[i] = (tenon_sketch_rule){name, users[i].condition == Py_None ? NULL : ask, apply, &users[i]};
    }
    to->n_rule = (uint32_t)n;
    to->rule = all;
    return 0;
}

/* The members of a sequence, which the options keep: a borrowed tuple. */
static PyObject *keep_members(core_options *o, PyObject *sequence)
{
    PyObject *members = PySequence_Tuple(sequence);
    int failed = !members || PyList_Append(o->kept, members);
    Py_XDECREF(members);
    return failed ? NULL : members;
}

int core_postprocs_set(core_options *o, tenon_tune_options *to, PyObject *procs)
{
    PyObject *members = keep_members(o, procs);
    Py_ssize_t n = members ? PyTuple_Size(members) : 0;
    tenon_postproc *all = members ? keep(o, (size_t)n * sizeof *all) : NULL;
    function *users = all ? keep(o, (size_t)n * sizeof *users) : NULL;
    if (!users)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        users[i] = (function){o, PyTuple_GetItem(members, i)};
        all[i] = (tenon_postproc){pass, &users[i]};
    }
    to->n_postproc = (uint32_t)n;
    to->postproc = all;
    return 0;
}

/* Takes the numbers of n candidates; 0: no error. */
static int take_numbers(PyObject *result, uint32_t n, uint32_t index[])
{
    PyObject *all = PySequence_Tuple(result);
    int failed = !all;
    if (all && PyTuple_Size(all) != (Py_ssize_t)n) {
        PyErr_Format(PyExc_ValueError, "a mutator gave %zd numbers for %u choices", PyTuple_Size(all), n);
        failed = 1;
    }
    for (uint32_t i = 0; i < n && !failed; i++) {
        unsigned long at = PyLong_AsUnsignedLong(PyTuple_GetItem(all, i));
        failed = PyErr_Occurred() != NULL;
        index[i] = at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
    }
    Py_XDECREF(all);
    return failed;
}

/* None: there is no change. */
static int mutate(void *user, uint64_t seed, uint32_t n, const tenon_pick pick[], uint32_t index[])
{
    function *m = user;
    int failed = 1;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!m->o->raised[0]) {
        PyObject *picks = core_picks(pick, n);
        PyObject *result =
            picks ? PyObject_CallFunction(m->apply, "KN", (unsigned long long)seed, picks) : NULL;
        if (result && result != Py_None && (failed = take_numbers(result, n, index)))
            Py_CLEAR(result);
        core_callback_end(m->o, result);
    }
    PyGILState_Release(state);
    return failed;
}

int core_mutators_set(core_options *o, tenon_tune_options *to, PyObject *mutators)
{
    PyObject *members = keep_members(o, mutators);
    Py_ssize_t n = members ? PyTuple_Size(members) : 0;
    tenon_mutator *all = members ? keep(o, (size_t)n * sizeof *all) : NULL;
    function *users = all ? keep(o, (size_t)n * sizeof *users) : NULL;
    if (!users)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        users[i].o = o;
        if (!PyArg_ParseTuple(PyTuple_GetItem(members, i), "Od", &users[i].apply, &all[i].odds))
            return -1;
        all[i].apply = mutate;
        all[i].user = &users[i];
    }
    to->n_mutator = (uint32_t)n;
    to->mutator = all;
    return 0;
}
