/* Library: a tnr_module *, compiled code with its weights. */
#include "core.h"

PyTypeObject *core_library_type;

PyObject *core_library_new(tnr_module *m, PyObject *owner)
{
    core_library *l = (core_library *)PyType_GenericAlloc(core_library_type, 0);
    if (!l) {
        tnr_module_release(m);
        return NULL;
    }
    Py_XINCREF(owner);
    l->m = m;
    l->owner = owner;
    return (PyObject *)l;
}

static void library_dealloc(PyObject *self)
{
    core_library *l = (core_library *)self;
    tnr_module_release(l->m);
    Py_CLEAR(l->owner);
    core_free(self);
}

/* The functions that models call beside kernels are Tenon's own here; without them, the package is given back. */
static tnr_status add_host(tnr_module **m, tnr_error *e)
{
    tnr_status st = tnr_host_register_all(*m, e);
    if (st) {
        tnr_module_release(*m);
        *m = NULL;
    }
    return st;
}

static PyObject *library_open(PyObject *type, PyObject *args)
{
    PyObject *path = NULL;
    char *at;
    tnr_module *m = NULL;
    tnr_error e;
    tnr_status st = TNR_OK;
    (void)type;
    if (!PyArg_ParseTuple(args, "O&:open", PyUnicode_FSConverter, &path))
        return NULL;
    if (PyBytes_AsStringAndSize(path, &at, NULL)) {
        Py_DECREF(path);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    st = tnr_module_open(at, NULL, &m, &e);
    st = st ? st : add_host(&m, &e);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    return st ? core_raise_run(&e) : core_library_new(m, NULL);
}

/* The buffer stays exported for as long as the library keeps the memoryview. */
static PyObject *library_open_memory(PyObject *type, PyObject *data)
{
    Py_buffer view;
    tnr_module *m = NULL;
    tnr_error e;
    tnr_status st;
    (void)type;
    PyObject *memory = PyMemoryView_FromObject(data);
    if (!memory || PyObject_GetBuffer(memory, &view, PyBUF_SIMPLE)) {
        Py_XDECREF(memory);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    st = tnr_module_open_memory(view.buf, (size_t)view.len, NULL, &m, &e);
    st = st ? st : add_host(&m, &e);
    Py_END_ALLOW_THREADS;
    PyObject *result = st ? core_raise_run(&e) : core_library_new(m, memory);
    PyBuffer_Release(&view);
    Py_DECREF(memory);
    return result;
}

static PyObject *shape_of(const tnr_tensor_info *info)
{
    PyObject *shape = PyTuple_New(info->ndim);
    for (int32_t d = 0; shape && d < info->ndim; d++) {
        PyObject *extent =
            info->shape[d] < 0 ? PyUnicode_FromString(info->symbol[d]) : PyLong_FromLongLong(info->shape[d]);
        if (!extent || PyTuple_SetItem(shape, d, extent))
            Py_CLEAR(shape);
    }
    return shape;
}

typedef tnr_status info_fn(const tnr_module *m, uint32_t i, tnr_tensor_info *out, tnr_error *e);

static PyObject *describe(const tnr_module *m, uint32_t i, info_fn *get)
{
    tnr_tensor_info info;
    tnr_error e;
    if (get(m, i, &info, &e))
        return core_raise_run(&e);
    return Py_BuildValue("(sNN)", info.name, core_dtype_name(info.dtype), shape_of(&info));
}

static PyObject *describe_all(const tnr_module *m, uint32_t n, info_fn *get)
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = describe(m, i, get);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *inputs(PyObject *self, PyObject *none)
{
    const tnr_module *m = ((core_library *)self)->m;
    (void)none;
    return describe_all(m, tnr_input_count(m), tnr_input_info);
}

static PyObject *outputs(PyObject *self, PyObject *none)
{
    const tnr_module *m = ((core_library *)self)->m;
    (void)none;
    return describe_all(m, tnr_output_count(m), tnr_output_info);
}

static PyObject *states(PyObject *self, PyObject *none)
{
    const tnr_module *m = ((core_library *)self)->m;
    const uint32_t n = tnr_state_count(m);
    PyObject *all = PyList_New(n);
    (void)none;
    for (uint32_t i = 0; all && i < n; i++) {
        tnr_state_info info;
        tnr_error e;
        PyObject *name =
            tnr_state_info_get(m, i, &info, &e) ? core_raise_run(&e) : PyUnicode_FromString(info.name);
        if (!name || PyList_SetItem(all, i, name))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *metadata(PyObject *self, PyObject *none)
{
    const tnr_module *m = ((core_library *)self)->m;
    PyObject *all = PyDict_New();
    (void)none;
    for (uint32_t i = 0; all && i < tnr_metadata_count(m); i++) {
        const char *key, *value;
        tnr_error e;
        if (tnr_metadata_at(m, i, &key, &value, &e)) {
            Py_DECREF(all);
            return core_raise_run(&e);
        }
        PyObject *text = PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace");
        if (!text || PyDict_SetItemString(all, key, text))
            Py_CLEAR(all);
        Py_XDECREF(text);
    }
    return all;
}

static PyObject *about(PyObject *self, PyObject *none)
{
    const tnr_module *m = ((core_library *)self)->m;
    (void)none;
    return Py_BuildValue("{sssssKsi}", "producer", tnr_module_producer(m), "target", tnr_module_target(m),
                         "constant_bytes", (unsigned long long)tnr_module_constant_bytes(m), "has_graph",
                         tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH));
}

static PyMethodDef methods[] = {
    {"open", library_open, METH_VARARGS | METH_STATIC, "open(path) -> Library: a package's file."},
    {"open_memory", library_open_memory, METH_O | METH_STATIC,
     "open_memory(data) -> Library: a package in memory, which is not copied and must not change."},
    {"inputs", inputs, METH_NOARGS, "A list of (name, dtype, shape); a symbolic extent is its name."},
    {"outputs", outputs, METH_NOARGS, "The same of the outputs; an extent that is computed is '?'."},
    {"states", states, METH_NOARGS, "A list of the names of states."},
    {"metadata", metadata, METH_NOARGS, "What the model says of itself."},
    {"about", about, METH_NOARGS, "producer, target, constant_bytes and has_graph as a dict."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(core_refuse_new)},
                              {Py_tp_dealloc, CORE_SLOT(library_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "Compiled code with its weights. Any thread may use it."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Library", sizeof(core_library), 0, Py_TPFLAGS_DEFAULT, slots};

int core_library_init(PyObject *module)
{
    return (core_library_type = core_type_add(module, &spec)) ? 0 : -1;
}
