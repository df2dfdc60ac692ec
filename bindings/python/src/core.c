/* The module tenon._core: its functions and types. */
#include "core.h"
#include "tenon/relay.h"
#include "tenon/te.h"
#include "tenon/tune.h"

static PyObject *version(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyUnicode_FromString(tenon_version());
}

static PyObject *threads_get(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyLong_FromLong(tnr_threads_get());
}

static PyObject *threads_set(PyObject *self, PyObject *args)
{
    (void)self;
    int n;
    tnr_error e;
    tnr_status st;
    if (!PyArg_ParseTuple(args, "i:threads_set", &n))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    st = tnr_threads_set(n, &e);
    Py_END_ALLOW_THREADS;
    if (st)
        return core_raise_run(&e);
    Py_RETURN_NONE;
}

/* Takes the reference to `value`; 0 or -1. */
static int append(PyObject *list, PyObject *value)
{
    int failed = !value || PyList_Append(list, value);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static PyObject *stages(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    const char *name;
    for (size_t i = 0; list && (name = tenon_stage_name(i)); i++)
        if (append(list, PyUnicode_FromString(name)))
            Py_CLEAR(list);
    return list;
}

static PyObject *passes(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    const char *name, *doc;
    for (size_t i = 0; list && (name = tenon_pass_name(i, &doc)); i++)
        if (append(list, Py_BuildValue("(sis)", name, tenon_pass_level(i), doc)))
            Py_CLEAR(list);
    return list;
}

static PyObject *steps(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    const char *name, *doc;
    for (size_t i = 0; list && (name = tenon_step_name(i, &doc)); i++)
        if (append(list, Py_BuildValue("(ss)", name, doc)))
            Py_CLEAR(list);
    return list;
}

static PyObject *tuners(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    const char *name, *doc;
    for (size_t i = 0; list && (name = tenon_tuner_name(i, &doc)); i++)
        if (append(list, Py_BuildValue("(ss)", name, doc)))
            Py_CLEAR(list);
    return list;
}

static PyObject *parts(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    const char *name, *doc;
    for (size_t i = 0; list && (name = tenon_part_name(i, &doc)); i++)
        if (append(list, Py_BuildValue("(ss)", name, doc)))
            Py_CLEAR(list);
    return list;
}

static PyObject *records_path(PyObject *self, PyObject *none)
{
    char path[4096];
    (void)self, (void)none;
    if (!tenon_records_path(path, sizeof path))
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

static PyObject *names(const char *const *name, int n)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && name && i < n; i++)
        if (append(list, PyUnicode_FromString(name[i])))
            Py_CLEAR(list);
    return list;
}

typedef int attribute_fn(size_t i, uint32_t k, tenon_attribute_record *out);

static PyObject *attributes(size_t op, attribute_fn *get)
{
    static const char *const kinds[] = {"int",  "real", "bool",  "text", "dtype",
                                        "ints", "dims", "texts", "reals"};
    PyObject *list = PyList_New(0);
    tenon_attribute_record a;
    for (uint32_t k = 0; list && get && get(op, k, &a) == 0; k++)
        if (append(list, Py_BuildValue("(ssss)", a.name, kinds[a.kind], a.value, a.doc)))
            Py_CLEAR(list);
    return list;
}

static PyObject *record(const tenon_operator_record *op, PyObject *attributes, PyObject *foreign, int is_form)
{
    return Py_BuildValue("(ssiiNNNNNNN)", op->name, op->doc, op->least_operands, op->n_operand,
                         names(op->operand, op->n_operand), attributes, foreign,
                         PyBool_FromLong(op->has_effect), PyBool_FromLong(op->binds),
                         PyBool_FromLong(op->is_structure), PyBool_FromLong(is_form));
}

static PyObject *operators(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *list = PyList_New(0);
    tenon_operator_record op;
    for (size_t i = 0; list && tenon_operator_get(i, &op) == 0; i++)
        if (append(list, record(&op, attributes(i, tenon_operator_attribute),
                                attributes(i, tenon_operator_foreign), 0)))
            Py_CLEAR(list);
    for (size_t i = 0; list && tenon_form_get(i, &op) == 0; i++)
        if (append(list, record(&op, attributes(i, tenon_form_attribute), attributes(i, NULL), 1)))
            Py_CLEAR(list);
    return list;
}

static PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, "The version of the compiler and runtime."},
    {"threads_get", threads_get, METH_NOARGS, "The number of threads of the pool, the caller included."},
    {"threads_set", threads_set, METH_VARARGS, "Set it; 0 restores the default."},
    {"stages", stages, METH_NOARGS, "The names of the stages that Program.dump takes."},
    {"operators", operators, METH_NOARGS,
     "Each operator: name, purpose, least and most operands (-1: any number), their names, attributes as "
     "(name, kind, default or None, purpose), those that only TVM's operator has, whether it has an effect, "
     "whether it binds symbols, whether it is "
     "structure of the text, whether a text with it is read as calls of others."},
    {"steps", steps, METH_NOARGS, "Name and purpose of each step of a schedule."},
    {"tuners", tuners, METH_NOARGS, "Name and purpose of each tuner."},
    {"parts", parts, METH_NOARGS, "Name and meaning of each part of a schedule."},
    {"records_path", records_path, METH_NOARGS, "The file of the user's own tuning records, or None."},
    {"passes", passes, METH_NOARGS,
     "Name, lowest optimisation level (-1: a loop pass) and purpose of each pass."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "tenon._core",
    "The public headers of Tenon as Python objects. Private: use the package tenon.",
    -1,
    methods,
    NULL,
    NULL,
    NULL,
    NULL};

PyTypeObject *core_type_add(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    const char *name = strrchr(spec->name, '.') + 1;
    if (!type)
        return NULL;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, type)) {
        Py_DECREF(type);
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type;
}

PyObject *core_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    PyErr_Format(PyExc_TypeError, "%R cannot be made by a call; its methods and the package tenon make it",
                 (PyObject *)type);
    return NULL;
}

void core_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && (core_tensor_init(module) || core_session_init(module) || core_program_init(module) ||
                   core_kernel_init(module) || core_config_init(module) || core_library_init(module) ||
                   core_instance_init(module)))
        Py_CLEAR(module);
    return module;
}
