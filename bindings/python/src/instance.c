/* Instance: a tnr_instance *, one executor of a library with its arena. */
#include "instance.h"

#include <string.h>

static PyTypeObject *instance_type;

int core_instance_enter(core_instance *x)
{
    if (x->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the instance is at work in another thread");
        return -1;
    }
    x->busy = 1;
    return 0;
}

void core_instance_leave(core_instance *x) { x->busy = 0; }

static int describe_outputs(core_instance *x)
{
    for (uint32_t i = 0; i < x->n_out; i++) {
        tnr_tensor_info info;
        tnr_error e;
        if (tnr_output_info(x->library->m, i, &info, &e)) {
            core_raise_run(&e);
            return -1;
        }
        x->output[i] = (DLTensor){.ndim = info.ndim, .dtype = info.dtype, .shape = (int64_t *)info.shape};
        for (int32_t d = 0; d < info.ndim; d++)
            if (info.shape[d] < 0)
                x->output[i].shape = NULL;
    }
    return 0;
}

static int fill(core_instance *x, core_library *library, const tnr_instance_options *o)
{
    tnr_error e;
    Py_INCREF(library);
    x->library = library;
    x->n_in = tnr_input_count(library->m);
    x->n_out = tnr_output_count(library->m);
    x->in = PyMem_Calloc((size_t)x->n_in + 1, sizeof *x->in);
    x->out = PyMem_Calloc((size_t)x->n_out + 1, sizeof *x->out);
    x->output = PyMem_Calloc((size_t)x->n_out + 1, sizeof *x->output);
    x->is_given = PyMem_Calloc((size_t)x->n_in + 1, sizeof *x->is_given);
    if (!x->in || !x->out || !x->output || !x->is_given) {
        PyErr_NoMemory();
        return -1;
    }
    if (tnr_instance_new(library->m, o, &x->x, &e)) {
        core_raise_run(&e);
        return -1;
    }
    return describe_outputs(x);
}

static PyObject *instance_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *library;
    int threads = 0, executor = 0;
    unsigned flags = 0;
    static char *names[] = {"library", "threads", "executor", "flags", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|iiI:Instance", names, core_library_type, &library,
                                     &threads, &executor, &flags))
        return NULL;
    core_instance *x = (core_instance *)PyType_GenericAlloc(type, 0);
    tnr_instance_options o = {.executor = executor, .threads = threads, .flags = flags};
    if (x && fill(x, (core_library *)library, &o))
        Py_CLEAR(x);
    return (PyObject *)x;
}

static void instance_dealloc(PyObject *self)
{
    core_instance *x = (core_instance *)self;
    tnr_instance_free(x->x);
    for (uint32_t i = 0; x->in && i < x->n_in; i++)
        Py_CLEAR(x->in[i]);
    for (uint32_t i = 0; x->out && i < x->n_out; i++)
        Py_CLEAR(x->out[i]);
    PyMem_Free(x->in);
    PyMem_Free(x->out);
    PyMem_Free(x->output);
    PyMem_Free(x->is_given);
    Py_CLEAR(x->library);
    core_free(self);
}

/* ---- inputs and outputs ---- */

static int set_input(core_instance *x, uint32_t i, PyObject *array)
{
    tnr_tensor_info info;
    tnr_error e;
    if (tnr_input_info(x->library->m, i, &info, &e)) {
        core_raise_run(&e);
        return -1;
    }
    if (info.dtype.code == kDLOpaqueHandle) {
        int failed = core_value_set(x, i, array);
        x->is_given[i] = x->is_given[i] || !failed;
        return failed;
    }
    core_tensor *t = core_tensor_from(array, 0, &info.dtype);
    if (!t)
        return -1;
    if (tnr_set_input_at(x->x, i, &t->dl, &e)) {
        Py_DECREF(t);
        core_raise_run(&e);
        return -1;
    }
    Py_XDECREF(x->in[i]);
    x->in[i] = t;
    return 0;
}

/* Takes the reference to `t`; NULL: the instance's own memory. */
static int set_output(core_instance *x, uint32_t i, core_tensor *t)
{
    tnr_error e;
    if (tnr_set_output_at(x->x, i, t ? &t->dl : NULL, &e)) {
        Py_XDECREF(t);
        core_raise_run(&e);
        return -1;
    }
    Py_XDECREF(x->out[i]);
    x->out[i] = t;
    return 0;
}

int core_instance_run_bound(core_instance *x)
{
    tnr_error e;
    for (uint32_t i = 0; i < x->n_in; i++)
        if (!x->in[i] && !x->is_given[i]) {
            PyErr_Format(PyExc_ValueError, "input %u is not bound", (unsigned)i);
            return -1;
        }
    tnr_status st = core_run(x->x, &e);
    if (st && st != TNR_E_CANCEL)
        core_raise_run(&e);
    return st ? -1 : 0;
}

/* An output as what it was bound to, or a copy of the instance's memory; a value as tenon._values has it. */
static PyObject *result(core_instance *x, uint32_t i)
{
    DLTensor view;
    tnr_error e;
    if (x->out[i]) {
        Py_INCREF(x->out[i]);
        return (PyObject *)x->out[i];
    }
    if (x->output[i].dtype.code == kDLOpaqueHandle)
        return core_value_get(x, i);
    if (tnr_get_output_at(x->x, i, &view, &e))
        return core_raise_run(&e);
    core_tensor *t = core_tensor_new(view.dtype, view.ndim, view.shape);
    if (t)
        memcpy(t->dl.data, view.data, (size_t)core_tensor_bytes(t));
    return (PyObject *)t;
}

/* Memory for what the next run puts out, so that it need not be copied; NULL where only the run knows how much. */
static int new_output(core_instance *x, uint32_t i, core_tensor **out)
{
    const DLTensor *f = &x->output[i];
    int64_t found[CORE_MAX_NDIM], *shape = f->shape;
    tnr_error e;
    *out = NULL;
    if (f->dtype.code == kDLOpaqueHandle || f->ndim > CORE_MAX_NDIM)
        return 0;
    if (!shape && tnr_output_shape(x->x, i, shape = found, &e))
        return 0; /* the run says what is wrong */
    for (int32_t d = 0; d < f->ndim; d++)
        if (shape[d] < 0)
            return 0;
    *out = core_tensor_new(f->dtype, f->ndim, shape);
    return *out ? 0 : -1;
}

static int set_all(core_instance *x, PyObject *arrays)
{
    Py_ssize_t n = PySequence_Size(arrays);
    if (n != (Py_ssize_t)x->n_in) {
        if (n >= 0)
            PyErr_Format(PyExc_TypeError, "%zd inputs given for %u", n, (unsigned)x->n_in);
        return -1;
    }
    for (uint32_t i = 0; i < x->n_in; i++) {
        PyObject *array = PySequence_GetItem(arrays, (Py_ssize_t)i);
        int failed = !array || set_input(x, i, array);
        Py_XDECREF(array);
        if (failed)
            return -1;
    }
    for (uint32_t i = 0; i < x->n_out; i++) {
        core_tensor *t = NULL;
        if (new_output(x, i, &t) || set_output(x, i, t))
            return -1;
    }
    return 0;
}

/* Lets go of what a run was given. */
static void drop(core_instance *x)
{
    for (uint32_t i = 0; i < x->n_in; i++)
        Py_CLEAR(x->in[i]);
    for (uint32_t i = 0; i < x->n_out; i++)
        if (x->out[i] && tnr_set_output_at(x->x, i, NULL, NULL) == TNR_OK)
            Py_CLEAR(x->out[i]);
}

PyDoc_STRVAR(
    run_doc,
    "run(inputs) -> list of Tensor: run once over a sequence of arrays, without the interpreter's lock.");

static PyObject *instance_run(PyObject *self, PyObject *arrays)
{
    core_instance *x = (core_instance *)self;
    if (core_instance_enter(x))
        return NULL;
    PyObject *all = set_all(x, arrays) || core_instance_run_bound(x) ? NULL : PyList_New(x->n_out);
    for (uint32_t i = 0; all && i < x->n_out; i++) {
        PyObject *one = result(x, i);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    drop(x);
    core_instance_leave(x);
    return all;
}

/* ---- bound arrays, which stay ---- */

static int in_range(unsigned i, uint32_t n)
{
    if (i >= n)
        PyErr_SetString(PyExc_IndexError, "no such input or output");
    return i < n;
}

static PyObject *bind_input(PyObject *self, PyObject *args)
{
    core_instance *x = (core_instance *)self;
    unsigned i;
    PyObject *array;
    if (!PyArg_ParseTuple(args, "IO:bind_input", &i, &array) || !in_range(i, x->n_in) ||
        core_instance_enter(x))
        return NULL;
    int failed = set_input(x, i, array);
    core_instance_leave(x);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *bind_output(PyObject *self, PyObject *args)
{
    core_instance *x = (core_instance *)self;
    unsigned i;
    PyObject *array;
    if (!PyArg_ParseTuple(args, "IO:bind_output", &i, &array) || !in_range(i, x->n_out) ||
        core_instance_enter(x))
        return NULL;
    core_tensor *t = array == Py_None ? NULL : core_tensor_from(array, 1, NULL);
    int failed = (array != Py_None && !t) || set_output(x, i, t);
    core_instance_leave(x);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *run_bound(PyObject *self, PyObject *none)
{
    core_instance *x = (core_instance *)self;
    (void)none;
    if (core_instance_enter(x))
        return NULL;
    int failed = core_instance_run_bound(x);
    core_instance_leave(x);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *output(PyObject *self, PyObject *args)
{
    core_instance *x = (core_instance *)self;
    unsigned i;
    if (!PyArg_ParseTuple(args, "I:output", &i) || !in_range(i, x->n_out) || core_instance_enter(x))
        return NULL;
    PyObject *t = result(x, i);
    core_instance_leave(x);
    return t;
}

static PyObject *memory(PyObject *self, PyObject *none)
{
    core_instance *x = (core_instance *)self;
    tnr_memory m;
    tnr_error e;
    (void)none;
    if (tnr_memory_get(x->x, &m, &e))
        return core_raise_run(&e);
    return Py_BuildValue("{sKsKsKsKsKsK}", "constants", (unsigned long long)m.constants, "arena",
                         (unsigned long long)m.arena, "inputs", (unsigned long long)m.inputs, "outputs",
                         (unsigned long long)m.outputs, "scratch", (unsigned long long)m.scratch, "states",
                         (unsigned long long)m.states);
}

static PyMethodDef methods[] = {
    {"run", instance_run, METH_O, run_doc},
    {"bind_input", bind_input, METH_VARARGS,
     "bind_input(i, array): the array is read by each run that follows."},
    {"bind_output", bind_output, METH_VARARGS,
     "bind_output(i, array): runs write to it; None: to memory of their own."},
    {"run_bound", run_bound, METH_NOARGS, "Run over what is bound."},
    {"output", output, METH_VARARGS,
     "output(i) -> Tensor: what the last run_bound made; a copy if nothing is bound."},
    {"profile", core_instance_profile, METH_NOARGS,
     "Run over what is bound: a list of (node, kernel, index, function, nanoseconds, operations)."},
    {"state", core_instance_state, METH_VARARGS,
     "state(name) -> Tensor: a copy of the state as the last run left it."},
    {"set_state", core_instance_set_state, METH_VARARGS,
     "set_state(name, array): the next run begins with it."},
    {"reset_states", core_instance_reset_states, METH_NOARGS, "Give all states their first contents back."},
    {"memory", memory, METH_NOARGS, "The bytes of a run with what is bound, by kind."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(instance_new)},
                              {Py_tp_dealloc, CORE_SLOT(instance_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "One executor of a library. One thread at a time may use it."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Instance", sizeof(core_instance), 0, Py_TPFLAGS_DEFAULT, slots};

int core_instance_init(PyObject *module) { return (instance_type = core_type_add(module, &spec)) ? 0 : -1; }
