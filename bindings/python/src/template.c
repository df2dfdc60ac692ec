/* Config: a tenon_config *, choices of a template; Session.tune_template, which calls a template for each schedule that
 * it tries, on the compiler's thread. */
#include "program.h"

static PyTypeObject *config_type;

typedef struct {
    PyObject_HEAD core_session
        *session; /* of a configuration of its own; NULL: the search's, while it calls */
    tenon *t;
    tenon_config *c; /* NULL: its call has ended */
} config;

static PyObject *config_new(core_session *s, tenon *t, tenon_config *c)
{
    config *x = (config *)PyType_GenericAlloc(config_type, 0);
    if (!x)
        return NULL;
    Py_XINCREF(s);
    x->session = s;
    x->t = t;
    x->c = c;
    return (PyObject *)x;
}

PyObject *core_config_lend(tenon *t, tenon_config *c) { return config_new(NULL, t, c); }

void core_config_take_back(PyObject *object)
{
    ((config *)object)->c = NULL;
    Py_DECREF(object);
}

static void config_dealloc(PyObject *self)
{
    config *x = (config *)self;
    if (x->session && !x->session->busy)
        tenon_config_free(x->c);
    Py_CLEAR(x->session);
    core_free(self);
}

/* 0, or -1 with an exception. */
static int begin(config *x)
{
    if (!x->c) {
        PyErr_SetString(PyExc_ValueError, "the call that this configuration was for has ended");
        return -1;
    }
    return x->session ? core_session_begin(x->session) : 0;
}

static void end(config *x)
{
    if (x->session)
        core_session_end(x->session);
}

PyDoc_STRVAR(choose_doc, "choose(name, candidates) -> index: which of these words is chosen.");

static PyObject *choose(PyObject *self, PyObject *args)
{
    config *x = (config *)self;
    const char *name;
    PyObject *words;
    uint32_t at = 0;
    if (!PyArg_ParseTuple(args, "sO:choose", &name, &words))
        return NULL;
    Py_ssize_t n = PySequence_Size(words);
    PyObject *kept = n < 0 ? NULL : PyList_New(n);
    const char **word = kept ? PyMem_Malloc((size_t)(n ? n : 1) * sizeof *word) : NULL;
    int ok = word != NULL;
    if (kept && !word)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *item = PySequence_GetItem(words, i), *bytes = item ? PyUnicode_AsUTF8String(item) : NULL;
        char *at_word = NULL;
        ok = bytes && PyBytes_AsStringAndSize(bytes, &at_word, NULL) == 0;
        if (ok)
            ok = PyList_SetItem(kept, i, bytes) == 0; /* takes the reference */
        else
            Py_XDECREF(bytes);
        word[i] = at_word;
        Py_XDECREF(item);
    }
    PyObject *result = NULL;
    if (ok && begin(x) == 0) {
        result = tenon_config_choose(x->c, name, (uint32_t)n, word, &at) ? core_raise_compile(x->t)
                                                                         : PyLong_FromUnsignedLong(at);
        end(x);
    }
    PyMem_Free(word);
    Py_XDECREF(kept);
    return result;
}

/* ---- knobs whose candidates the compiler lists ---- */

enum { LOOPS = 32 }; /* more than the compiler takes */

typedef struct {
    config *x;
    const char *name;
    unsigned long n; /* loops */
    tenon_knob how;
    PyObject *listed, *keep; /* candidates; the function that leaves some out, or None */
    int raised;
} knob;

static PyObject *list_of(uint32_t n, const int64_t v[])
{
    PyObject *list = PyList_New(n);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *number = PyLong_FromLongLong(v[i]);
        if (!number || PyList_SetItem(list, i, number)) { /* takes the reference */
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* 1: the candidate stays; 0; -1 with an exception. */
static int stays(knob *k, PyObject *candidate)
{
    if (k->keep == Py_None)
        return 1;
    PyObject *answer = PyObject_CallFunctionObjArgs(k->keep, candidate, NULL);
    int kept = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return kept;
}

static int keep(void *user, uint32_t n, const int64_t v[])
{
    knob *k = user;
    if (k->raised)
        return 0;
    PyObject *candidate = list_of(n, v);
    int kept = candidate ? stays(k, candidate) : -1;
    if (kept > 0 && PyList_Append(k->listed, candidate))
        kept = -1;
    Py_XDECREF(candidate);
    k->raised = kept < 0;
    return kept > 0;
}

/* Of the three calls that have such knobs. */
typedef int define_knob(const knob *k, int64_t extent, int64_t out[]);

static int define_split(const knob *k, int64_t extent, int64_t out[])
{
    return tenon_config_split_by(k->x->c, k->name, extent, (uint32_t)k->n, &k->how, out);
}

static int define_reorder(const knob *k, int64_t extent, int64_t out[])
{
    uint32_t place[LOOPS];
    (void)extent;
    int failed = tenon_config_reorder(k->x->c, k->name, (uint32_t)k->n, &k->how, place);
    for (unsigned long i = 0; i < k->n; i++)
        out[i] = place[i];
    return failed;
}

static int define_annotate(const knob *k, int64_t extent, int64_t out[])
{
    uint32_t what[LOOPS];
    (void)extent;
    int failed = tenon_config_annotate(k->x->c, k->name, (uint32_t)k->n, &k->how, what);
    for (unsigned long i = 0; i < k->n; i++)
        out[i] = what[i];
    return failed;
}

static PyObject *define(knob *k, define_knob *by, int64_t extent)
{
    int64_t out[LOOPS];
    PyObject *result = NULL, *chosen = NULL;
    k->how.size = sizeof k->how;
    k->how.keep = keep;
    k->how.user = k;
    k->n = k->n > LOOPS ? LOOPS : k->n;
    k->listed = PyList_New(0);
    if (k->listed && begin(k->x) == 0) {
        int failed = by(k, extent, out);
        if (!k->raised)
            chosen = failed ? core_raise_compile(k->x->t) : list_of((uint32_t)k->n, out);
        end(k->x);
    }
    if (chosen)
        result = Py_BuildValue("(OO)", chosen, k->listed);
    Py_XDECREF(chosen);
    Py_XDECREF(k->listed);
    return result;
}

PyDoc_STRVAR(
    split_doc,
    "split(name, extent, loops, policy, max_factor, no_tail, keep) -> (chosen, candidates): the extents "
    "of the loops, and all that they may be, whose first number is -1. keep(candidate) is asked whether "
    "one stays; None: all.");

static PyObject *split(PyObject *self, PyObject *args)
{
    knob k = {.x = (config *)self};
    long long extent, most;
    if (!PyArg_ParseTuple(args, "sLkzLpO:split", &k.name, &extent, &k.n, &k.how.policy, &most, &k.how.no_tail,
                          &k.keep))
        return NULL;
    k.how.max_factor = most;
    return define(&k, define_split, extent);
}

PyDoc_STRVAR(reorder_doc,
             "reorder(name, loops, policy, begin, end) -> (chosen, candidates): orders of so many loops.");

static PyObject *reorder(PyObject *self, PyObject *args)
{
    knob k = {.x = (config *)self, .keep = Py_None};
    unsigned int from, to;
    if (!PyArg_ParseTuple(args, "skzII:reorder", &k.name, &k.n, &k.how.policy, &from, &to))
        return NULL;
    k.how.begin = from;
    k.how.end = to;
    return define(&k, define_reorder, 0);
}

PyDoc_STRVAR(annotate_doc,
             "annotate(name, loops, policy) -> (chosen, candidates): 0, 1, 2 for each: none, unroll, vec.");

static PyObject *annotate(PyObject *self, PyObject *args)
{
    knob k = {.x = (config *)self, .keep = Py_None};
    if (!PyArg_ParseTuple(args, "skz:annotate", &k.name, &k.n, &k.how.policy))
        return NULL;
    return define(&k, define_annotate, 0);
}

/* ---- what is made ---- */

static PyObject *take_kernel(PyObject *self, PyObject *kernel)
{
    config *x = (config *)self;
    core_session *other = NULL;
    tenon_kernel *k = core_kernel_get(kernel, &other);
    other = other == x->session ? NULL : other; /* this one is begun below */
    if (!k || (other && core_session_begin(other)))
        return NULL;
    if (begin(x)) {
        if (other)
            core_session_end(other);
        return NULL;
    }
    PyObject *result = tenon_config_end(x->c, k) ? core_raise_compile(x->t) : Py_None;
    end(x);
    if (other)
        core_session_end(other);
    Py_XINCREF(result);
    return result;
}

static PyObject *picks(PyObject *self, PyObject *none)
{
    config *x = (config *)self;
    (void)none;
    if (begin(x))
        return NULL;
    const char *text = tenon_config_picks(x->c);
    PyObject *result = text ? PyUnicode_FromString(text) : core_raise_compile(x->t);
    end(x);
    return result;
}

PyObject *core_session_config(PyObject *self, PyObject *args)
{
    core_session *s = (core_session *)self;
    const char *given;
    if (!PyArg_ParseTuple(args, "z:config", &given) || core_session_begin(s))
        return NULL;
    tenon_config *c = tenon_config_new(s->t, given);
    PyObject *result = c ? config_new(s, s->t, c) : core_raise_compile(s->t);
    if (c && !result)
        tenon_config_free(c);
    core_session_end(s);
    return result;
}

/* ---- searches ---- */

typedef struct {
    core_session *s;
    core_options o;
    tenon_tune_options t;
    const char *name;
    PyObject *function;
    const tenon_tune_task *task;
} job;

/* The function returns False where these choices make no kernel; what it raises ends the search. */
static int make(void *user, tenon *t, tenon_config *c)
{
    job *j = user;
    int made = 0;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *x = j->o.raised[0] ? NULL : core_config_lend(t, c);
    if (x) {
        PyObject *result = PyObject_CallFunctionObjArgs(j->function, x, NULL);
        made = result && result != Py_False;
        core_config_take_back(x);
        core_callback_end(&j->o, result);
    }
    PyGILState_Release(state);
    return !made;
}

static int work(void *user)
{
    job *j = user;
    return tenon_tune_template(j->s->t, j->name, make, j, &j->o.c, &j->t, &j->task);
}

const char core_session_tune_doc[] =
    "tune_template(name, make, options, tune) -> task: search for the choices that make the fastest kernel. "
    "make(config) gives the kernel to config.end, or returns False. `tune` as for Program.tune.";

PyObject *core_session_tune(PyObject *self, PyObject *args)
{
    job j = {.s = (core_session *)self};
    PyObject *options, *tune, *result = NULL;
    int failed;
    if (!PyArg_ParseTuple(args, "sOOO:tune_template", &j.name, &j.function, &options, &tune))
        return NULL;
    j.t.size = sizeof j.t;
    if (core_options_init(&j.o, options) == 0 && core_tune_options(&j.o, &j.t, tune) == 0 &&
        core_session_begin(j.s) == 0) {
        if (core_call(&j.o, work, &j, &failed) == 0)
            result = failed ? core_raise_compile(j.s->t) : core_tune_task(j.task);
        core_session_end(j.s);
    }
    core_options_deinit(&j.o);
    return result;
}

static PyMethodDef methods[] = {
    {"choose", choose, METH_VARARGS, choose_doc},
    {"split", split, METH_VARARGS, split_doc},
    {"reorder", reorder, METH_VARARGS, reorder_doc},
    {"annotate", annotate, METH_VARARGS, annotate_doc},
    {"end", take_kernel, METH_O, "end(kernel): this is what the template makes."},
    {"picks", picks, METH_NOARGS, "All choices so far, lines of \"name = value\"."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(core_refuse_new)},
                              {Py_tp_dealloc, CORE_SLOT(config_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "Choices of a template."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Config", sizeof(config), 0, Py_TPFLAGS_DEFAULT, slots};

int core_config_init(PyObject *module) { return (config_type = core_type_add(module, &spec)) ? 0 : -1; }
