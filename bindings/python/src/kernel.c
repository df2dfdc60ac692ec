/* Kernel: a tenon_kernel *, tensor expressions or a function of TIR with its schedule. */
#include "program.h"

static PyTypeObject *kernel_type;

typedef struct {
    PyObject_HEAD core_session *session;
    tenon_kernel *k;
    tenon_te **tensor; /* by the number that input and define return */
    Py_ssize_t n_tensor;
} kernel;

PyObject *core_kernel_new(core_session *s, tenon_kernel *k)
{
    kernel *x = (kernel *)PyType_GenericAlloc(kernel_type, 0);
    if (!x) {
        tenon_kernel_free(k);
        return NULL;
    }
    Py_INCREF(s);
    x->session = s;
    x->k = k;
    return (PyObject *)x;
}

tenon_kernel *core_kernel_get(PyObject *object, core_session **out_session)
{
    if (PyObject_IsInstance(object, (PyObject *)kernel_type) == 1) {
        *out_session = ((kernel *)object)->session;
        return ((kernel *)object)->k;
    }
    PyErr_SetString(PyExc_TypeError, "a Kernel is expected");
    return NULL;
}

/* Where a call is at work on the session, the kernel is left to the session's end. */
static void kernel_dealloc(PyObject *self)
{
    kernel *x = (kernel *)self;
    if (x->session && !x->session->busy)
        tenon_kernel_free(x->k);
    PyMem_Free(x->tensor);
    Py_CLEAR(x->session);
    core_free(self);
}

/* The end of a call that core_session_begin began: None, or an exception. */
static PyObject *finish(kernel *x, int failed)
{
    PyObject *result = failed ? core_raise_compile(x->session->t) : Py_None;
    core_session_end(x->session);
    Py_XINCREF(result);
    return result;
}

/* ---- tensors ---- */

/* The number of a tensor that was made; NULL: it was not. Ends the call. */
static PyObject *add(kernel *x, tenon_te *made)
{
    PyObject *result = NULL;
    tenon_te **all = made ? PyMem_Realloc(x->tensor, (size_t)(x->n_tensor + 1) * sizeof(tenon_te *)) : NULL;
    if (all) {
        x->tensor = all;
        all[x->n_tensor++] = made;
        result = PyLong_FromSsize_t(x->n_tensor - 1);
    } else if (made) {
        PyErr_NoMemory();
    } else {
        core_raise_compile(x->session->t);
    }
    core_session_end(x->session);
    return result;
}

static PyObject *input(PyObject *self, PyObject *args)
{
    kernel *x = (kernel *)self;
    const char *name, *type;
    if (!PyArg_ParseTuple(args, "ss:input", &name, &type) || core_session_begin(x->session))
        return NULL;
    return add(x, tenon_te_input(x->k, name, type));
}

/* Adds the axes of (name, extent) pairs. 0, or -1 with an exception where they are none; what the compiler refuses, it
 * says at the definition. */
static int add_over(tenon_te *t, PyObject *over)
{
    Py_ssize_t n = PySequence_Size(over);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PySequence_GetItem(over, i);
        const char *name, *extent;
        int ok = pair && PyArg_ParseTuple(pair, "ss", &name, &extent);
        if (ok)
            (void)tenon_te_over(t, name, extent);
        Py_XDECREF(pair);
        if (!ok)
            return -1;
    }
    return n < 0 ? -1 : 0;
}

PyDoc_STRVAR(define_doc,
             "define(name, type, axes, over, reducer, text) -> number: a tensor whose element is the text; "
             "over: (name, extent) of each axis that the reducer runs over, reducer None: there is none.");

static PyObject *define(PyObject *self, PyObject *args)
{
    kernel *x = (kernel *)self;
    const char *name, *type, *axes, *reducer, *text;
    PyObject *over;
    if (!PyArg_ParseTuple(args, "sssOzs:define", &name, &type, &axes, &over, &reducer, &text) ||
        core_session_begin(x->session))
        return NULL;
    tenon_te *t = tenon_te_new(x->k, name, type, axes);
    if (t && add_over(t, over)) {
        core_session_end(x->session);
        return NULL;
    }
    tenon_expr *value = tenon_te_expr(t, text, 0, NULL);
    int failed = reducer ? tenon_te_reduce(t, reducer, value) : tenon_te_define(t, value);
    return add(x, failed ? NULL : t);
}

static PyObject *end(PyObject *self, PyObject *numbers)
{
    kernel *x = (kernel *)self;
    Py_ssize_t n = PySequence_Size(numbers);
    if (n < 0 || n > x->n_tensor)
        return n < 0 ? NULL : PyErr_Format(PyExc_ValueError, "%zd outputs of %zd tensors", n, x->n_tensor);
    tenon_te **out = PyMem_Calloc((size_t)n + 1, sizeof(tenon_te *));
    for (Py_ssize_t i = 0; out && i < n; i++) {
        PyObject *number = PySequence_GetItem(numbers, i);
        Py_ssize_t at = number ? PyLong_AsSsize_t(number) : -1;
        Py_XDECREF(number);
        if (at >= 0 && at < x->n_tensor)
            out[i] = x->tensor[at];
        else if (!PyErr_Occurred())
            PyErr_SetString(PyExc_IndexError, "there is no such tensor");
    }
    PyObject *result = NULL;
    if (!out)
        PyErr_NoMemory();
    else if (!PyErr_Occurred() && core_session_begin(x->session) == 0)
        result = finish(x, tenon_kernel_end(x->k, (int)n, out));
    PyMem_Free(out);
    return result;
}

/* ---- the schedule ---- */

static PyObject *step(PyObject *self, PyObject *args)
{
    kernel *x = (kernel *)self;
    const char *text;
    if (!PyArg_ParseTuple(args, "s:step", &text) || core_session_begin(x->session))
        return NULL;
    return finish(x, tenon_step(x->k, text));
}

static PyObject *mutate(PyObject *self, PyObject *args)
{
    kernel *x = (kernel *)self;
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "K:mutate", &seed) || core_session_begin(x->session))
        return NULL;
    return finish(x, tenon_kernel_mutate(x->k, seed));
}

static PyObject *rule(PyObject *self, PyObject *options)
{
    kernel *x = (kernel *)self;
    core_options o;
    PyObject *result = NULL;
    if (core_options_init(&o, options) == 0 && core_session_begin(x->session) == 0)
        result = finish(x, tenon_kernel_rule(x->k, &o.c));
    core_options_deinit(&o);
    return result;
}

static PyObject *said(PyObject *self, const char *print(tenon_kernel *k))
{
    kernel *x = (kernel *)self;
    if (core_session_begin(x->session))
        return NULL;
    const char *text = print(x->k);
    PyObject *result = text ? PyUnicode_FromString(text) : core_raise_compile(x->session->t);
    core_session_end(x->session);
    return result;
}

static PyObject *text(PyObject *self, PyObject *none)
{
    (void)none;
    return said(self, tenon_kernel_print);
}

static PyObject *trace(PyObject *self, PyObject *none)
{
    (void)none;
    return said(self, tenon_kernel_trace);
}

static PyObject *function(PyObject *self, PyObject *none)
{
    kernel *x = (kernel *)self;
    uint64_t workload;
    (void)none;
    if (core_session_begin(x->session))
        return NULL;
    const char *said_of_it = tenon_kernel_function(x->k, &workload);
    PyObject *result = said_of_it ? Py_BuildValue("sK", said_of_it, (unsigned long long)workload)
                                  : core_raise_compile(x->session->t);
    core_session_end(x->session);
    return result;
}

static PyObject *program(PyObject *self, PyObject *none)
{
    kernel *x = (kernel *)self;
    (void)none;
    if (core_session_begin(x->session))
        return NULL;
    tenon_module *m = tenon_kernel_module(x->k);
    PyObject *result = m ? core_program_new(x->session, m) : core_raise_compile(x->session->t);
    core_session_end(x->session);
    return result;
}

/* ---- what is in it ---- */

/* A list of n values, each a new reference that `make` returns. */
static PyObject *list(uint32_t n, PyObject *make(const void *at, uint32_t i), const void *at)
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = make(at, i);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *loop(const void *at, uint32_t i)
{
    const tenon_loop_info *l = (const tenon_loop_info *)at + i;
    return Py_BuildValue("(sss)", l->name, l->extent, l->kind);
}

static PyObject *axis(const void *at, uint32_t i)
{
    const tenon_axis_info *a = (const tenon_axis_info *)at + i;
    return Py_BuildValue("(ssN)", a->name, a->extent, PyBool_FromLong(a->reduces));
}

static PyObject *word(const void *at, uint32_t i)
{
    return PyUnicode_FromString(((const char *const *)at)[i]);
}

static PyObject *block(const void *at, uint32_t i)
{
    const tenon_block_info *b = (const tenon_block_info *)at + i;
    return Py_BuildValue("(ssNNN)", b->name, b->tag, list(b->n_loop, loop, b->loop),
                         list(b->n_axis, axis, b->axis), list(b->n_read, word, b->read));
}

static PyObject *buffer(const void *at, uint32_t i)
{
    static const char *const kinds[] = {"input", "output", "inner"};
    const tenon_buffer_info *b = (const tenon_buffer_info *)at + i;
    return Py_BuildValue("(sNNss)", b->name, core_dtype_name(b->dtype),
                         list((uint32_t)b->ndim, word, b->extent), b->scope, kinds[b->kind]);
}

PyDoc_STRVAR(inspect_doc, "inspect() -> dict: its name; blocks as (name, tag, loops, axes, names of buffers "
                          "that it reads), loops as "
                          "(name, extent, kind), axes as (name, extent, reduces); buffers as (name, dtype, "
                          "extents, scope, kind); names of loops.");

static PyObject *inspect(PyObject *self, PyObject *none)
{
    kernel *x = (kernel *)self;
    PyObject *result;
    (void)none;
    if (core_session_begin(x->session))
        return NULL;
    const tenon_kernel_info *i = tenon_kernel_inspect(x->k);
    if (i)
        result = Py_BuildValue("{sssNsNsN}", "name", i->name, "blocks", list(i->n_block, block, i->block),
                               "buffers", list(i->n_buffer, buffer, i->buffer), "values",
                               list(i->n_value, word, i->value));
    else
        result = core_raise_compile(x->session->t);
    core_session_end(x->session);
    return result;
}

/* ---- code ---- */

typedef struct {
    kernel *x;
    core_options o;
    tnr_module *here;
} job;

static int work(void *user)
{
    job *j = user;
    return tenon_kernel_build(j->x->k, &j->o.c, &j->here);
}

static PyObject *build(PyObject *self, PyObject *options)
{
    job j = {.x = (kernel *)self};
    PyObject *result = NULL;
    int failed;
    if (core_options_init(&j.o, options) == 0 && core_session_begin(j.x->session) == 0) {
        if (core_call(&j.o, work, &j, &failed) == 0)
            result = failed ? core_raise_compile(j.x->session->t)
                            : core_library_new(j.here, (PyObject *)j.x->session);
        else
            tnr_module_release(j.here);
        core_session_end(j.x->session);
    }
    core_options_deinit(&j.o);
    return result;
}

static PyObject *get_session(PyObject *self, void *none)
{
    kernel *x = (kernel *)self;
    (void)none;
    Py_INCREF(x->session);
    return (PyObject *)x->session;
}

static PyGetSetDef properties[] = {{"session", get_session, NULL, "The session that it belongs to.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"input", input, METH_VARARGS, "input(name, type) -> number: a tensor that is given."},
    {"define", define, METH_VARARGS, define_doc},
    {"end", end, METH_O, "end(numbers): the tensors of these numbers are the outputs."},
    {"step", step, METH_VARARGS, "step(text): apply steps of a schedule, one a line."},
    {"mutate", mutate, METH_VARARGS,
     "mutate(seed): apply the steps anew, with another decision of a sampling step."},
    {"rule", rule, METH_O, "rule(options): schedule it as a model's kernel would be."},
    {"tune", core_kernel_tune, METH_VARARGS, core_kernel_tune_doc},
    {"text", text, METH_NOARGS, "The loops as they stand."},
    {"trace", trace, METH_NOARGS, "The steps so far."},
    {"function", function, METH_NOARGS, "function() -> (text, workload): the loops before any steps."},
    {"program", program, METH_NOARGS, "program() -> Program: the loops as they stand as a program of TIR."},
    {"inspect", inspect, METH_NOARGS, inspect_doc},
    {"build", build, METH_O, "build(options) -> Library: code in this process."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(core_refuse_new)},
                              {Py_tp_dealloc, CORE_SLOT(kernel_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_tp_doc, "A kernel of a session: tensor expressions, or a function of TIR."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Kernel", sizeof(kernel), 0, Py_TPFLAGS_DEFAULT, slots};

int core_kernel_init(PyObject *module) { return (kernel_type = core_type_add(module, &spec)) ? 0 : -1; }
