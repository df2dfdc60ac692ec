/* Session: a tenon *. It reads models; what it said last is in diagnostics(). */
#include "program.h"
#include "tenon/relay.h"

PyTypeObject *core_session_type;

int core_session_begin(core_session *s)
{
    if (s->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the session is at work in another thread");
        return -1;
    }
    s->busy = 1;
    return 0;
}

void core_session_end(core_session *s) { s->busy = 0; }

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    core_session *s = (core_session *)PyType_GenericAlloc(type, 0);
    if (!s)
        return NULL;
    s->t = tenon_new();
    s->kept = PyList_New(0);
    if (!s->t || !s->kept) {
        Py_DECREF(s);
        return PyErr_NoMemory();
    }
    return (PyObject *)s;
}

static void session_dealloc(PyObject *self)
{
    core_session *s = (core_session *)self;
    Py_BEGIN_ALLOW_THREADS;
    tenon_free(s->t);
    Py_END_ALLOW_THREADS;
    Py_CLEAR(s->kept);
    core_free(self);
}

typedef struct {
    core_session *s;
    core_options o;
    const char *name; /* of the file, or of what is in memory */
    Py_buffer data, params;
    tenon_module *made;
} reading;

static int read_file(void *user)
{
    reading *r = user;
    r->made = tenon_module_read(r->s->t, r->name, &r->o.c);
    return !r->made;
}

static int read_memory(void *user)
{
    reading *r = user;
    r->made = tenon_module_from_memory(r->s->t, r->name, r->data.buf, (size_t)r->data.len, &r->o.c);
    return !r->made;
}

static int read_text(void *user)
{
    reading *r = user;
    r->made = tenon_module_parse(r->s->t, r->data.buf, r->params.buf, (size_t)r->params.len);
    return !r->made;
}

static PyObject *finish(reading *r, int interrupted)
{
    if (interrupted) {
        tenon_module_free(r->made);
        return NULL;
    }
    return r->made ? core_program_new(r->s, r->made) : core_raise_compile(r->s->t);
}

static PyObject *do_read(reading *r, PyObject *options, core_work *work)
{
    PyObject *result = NULL;
    int failed;
    if (core_options_init(&r->o, options) == 0 && core_session_begin(r->s) == 0) {
        result = finish(r, core_call(&r->o, work, r, &failed));
        core_session_end(r->s);
    }
    core_options_deinit(&r->o);
    return result;
}

PyDoc_STRVAR(read_doc, "read(path, options) -> Program: read a model's file.");

static PyObject *session_read(PyObject *self, PyObject *args)
{
    reading r = {.s = (core_session *)self};
    PyObject *path = NULL, *options;
    if (!PyArg_ParseTuple(args, "O&O:read", PyUnicode_FSConverter, &path, &options))
        return NULL;
    PyObject *result = NULL;
    char *at;
    if (PyBytes_AsStringAndSize(path, &at, NULL) == 0) {
        r.name = at;
        result = do_read(&r, options, read_file);
    }
    Py_DECREF(path);
    return result;
}

/* The session keeps the buffer of `data` until its end: modules, and code made of them, may refer to it. */
static int borrow(core_session *s, PyObject *data, Py_buffer *view)
{
    PyObject *memory = PyMemoryView_FromObject(data);
    int failed = !memory || PyList_Append(s->kept, memory) || PyObject_GetBuffer(memory, view, PyBUF_SIMPLE);
    Py_XDECREF(memory);
    return failed ? -1 : 0;
}

PyDoc_STRVAR(from_memory_doc,
             "from_memory(name, data, options) -> Program: read a model from bytes, which are not "
             "copied and must not change.");

static PyObject *session_from_memory(PyObject *self, PyObject *args)
{
    reading r = {.s = (core_session *)self};
    PyObject *data, *options;
    if (!PyArg_ParseTuple(args, "sOO:from_memory", &r.name, &data, &options) || borrow(r.s, data, &r.data))
        return NULL;
    PyObject *result = do_read(&r, options, read_memory);
    PyBuffer_Release(&r.data);
    return result;
}

PyDoc_STRVAR(parse_doc,
             "parse(text, params) -> Program: read Relay or TIR text; params: the data of its constants, or "
             "None.");

static PyObject *session_parse(PyObject *self, PyObject *args)
{
    reading r = {.s = (core_session *)self};
    PyObject *text, *params, *result = NULL;
    if (!PyArg_ParseTuple(args, "UO:parse", &text, &params))
        return NULL;
    PyObject *bytes = PyUnicode_AsUTF8String(text);
    char *at;
    if (bytes && PyBytes_AsStringAndSize(bytes, &at, NULL) == 0 && borrow(r.s, bytes, &r.data) == 0 &&
        (params == Py_None || borrow(r.s, params, &r.params) == 0))
        result = do_read(&r, NULL, read_text);
    PyBuffer_Release(&r.params);
    PyBuffer_Release(&r.data);
    Py_XDECREF(bytes);
    return result;
}

PyDoc_STRVAR(explain_doc,
             "explain(path) -> what a file is that is no package, and what to do with it; or None.");

static PyObject *session_explain(PyObject *self, PyObject *args)
{
    core_session *s = (core_session *)self;
    PyObject *path = NULL, *result = NULL;
    const char *text;
    char *at;
    if (!PyArg_ParseTuple(args, "O&:explain", PyUnicode_FSConverter, &path))
        return NULL;
    if (PyBytes_AsStringAndSize(path, &at, NULL) == 0 && core_session_begin(s) == 0) {
        result = tenon_explain_file(s->t, at, TENON_WANTED_PACKAGE, &text) ? core_raise_compile(s->t)
                                                                           : Py_BuildValue("z", text);
        core_session_end(s);
    }
    Py_DECREF(path);
    return result;
}

/* ---- Relay with its constants ---- */

typedef struct {
    core_session *s;
    const char *text;
    tenon_bytes *constant;
    uint32_t n;
    tenon_module *made;
} relay_reading;

static int read_relay(void *user)
{
    relay_reading *r = user;
    r->made = tenon_relay_parse(r->s->t, r->text, r->n, r->constant);
    return !r->made;
}

/* The session keeps the tensors until its end. */
static int borrow_constants(relay_reading *r, PyObject *constants)
{
    Py_ssize_t n = PySequence_Size(constants);
    r->constant = n < 0 ? NULL : PyMem_Calloc((size_t)n + 1, sizeof *r->constant);
    if (!r->constant) {
        if (n >= 0)
            PyErr_NoMemory();
        return -1;
    }
    r->n = (uint32_t)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(constants, i);
        int known = item && item != Py_None;
        core_tensor *t = known ? core_tensor_from(item, 0, NULL) : NULL;
        int failed = !item || (known && (!t || PyList_Append(r->s->kept, (PyObject *)t)));
        if (!failed && t)
            r->constant[i] = (tenon_bytes){t->dl.data, (size_t)core_tensor_bytes(t)};
        Py_XDECREF((PyObject *)t);
        Py_XDECREF(item);
        if (failed)
            return -1;
    }
    return 0;
}

PyDoc_STRVAR(relay_doc,
             "relay(text, constants) -> Program: Relay text; constants[k], a Tensor or None, is the data of "
             "meta[relay.Constant][k].");

static PyObject *session_relay(PyObject *self, PyObject *args)
{
    relay_reading r = {.s = (core_session *)self};
    core_options o = {0};
    PyObject *constants, *result = NULL;
    int failed;
    if (!PyArg_ParseTuple(args, "sO:relay", &r.text, &constants))
        return NULL;
    if (borrow_constants(&r, constants) == 0 && core_session_begin(r.s) == 0) {
        if (core_call(&o, read_relay, &r, &failed) == 0)
            result = failed ? core_raise_compile(r.s->t) : core_program_new(r.s, r.made);
        else
            tenon_module_free(r.made);
        core_session_end(r.s);
    }
    PyMem_Free(r.constant);
    return result;
}

static PyObject *session_diagnostics(PyObject *self, PyObject *none)
{
    core_session *s = (core_session *)self;
    (void)none;
    if (core_session_begin(s))
        return NULL;
    PyObject *all = core_diagnostics(s->t);
    core_session_end(s);
    return all;
}

static PyObject *session_about(PyObject *self, PyObject *none)
{
    core_session *s = (core_session *)self;
    const char *text, *machine;
    (void)none;
    if (core_session_begin(s))
        return NULL;
    PyObject *result =
        tenon_about(s->t, &text, &machine) ? core_raise_compile(s->t) : Py_BuildValue("(ss)", text, machine);
    core_session_end(s);
    return result;
}

static PyObject *session_kernel(PyObject *self, PyObject *args)
{
    core_session *s = (core_session *)self;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:kernel", &name) || core_session_begin(s))
        return NULL;
    tenon_kernel *k = tenon_kernel_new(s->t, name);
    PyObject *result = k ? core_kernel_new(s, k) : core_raise_compile(s->t);
    core_session_end(s);
    return result;
}

static PyMethodDef methods[] = {
    {"read", session_read, METH_VARARGS, read_doc},
    {"from_memory", session_from_memory, METH_VARARGS, from_memory_doc},
    {"parse", session_parse, METH_VARARGS, parse_doc},
    {"relay", session_relay, METH_VARARGS, relay_doc},
    {"kernel", session_kernel, METH_VARARGS, "kernel(name) -> Kernel: of tensor expressions, none yet."},
    {"config", core_session_config, METH_VARARGS,
     "config(picks) -> Config: to call a template with; None: defaults."},
    {"tune_template", core_session_tune, METH_VARARGS, core_session_tune_doc},
    {"records", core_session_records, METH_VARARGS, "records(path) -> [record]; None: the user's own file."},
    {"records_merge", core_session_records_merge, METH_VARARGS,
     "records_merge(path, from) -> how many were added."},
    {"records_prune", core_session_records_prune, METH_VARARGS,
     "records_prune(path, keep) -> how many were dropped."},
    {"diagnostics", session_diagnostics, METH_NOARGS, "What the last call reported: a tuple of Diagnostic."},
    {"about", session_about, METH_NOARGS, "The build and the machine as text, and the machine as JSON."},
    {"explain", session_explain, METH_VARARGS, explain_doc},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(session_new)},
                              {Py_tp_dealloc, CORE_SLOT(session_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "A session of the compiler. One thread at a time may use it."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Session", sizeof(core_session), 0, Py_TPFLAGS_DEFAULT, slots};

int core_session_init(PyObject *module)
{
    return (core_session_type = core_type_add(module, &spec)) ? 0 : -1;
}
