/* Values that are no tensors of their own (texts, sequences, optional values, maps) between Python and the runtime.
 *
 * Here a value is a Tensor, bytes (a text), or a tuple (tag, list of values): what the runtime has, and no more. What
 * such values mean to people is in tenon._values, which is called with the value's type as Relay writes it. */
#include "instance.h"

#include <stdio.h>
#include <string.h>

/* The type of an input or output, which the package has as a text; NULL: it has none, no exception. */
static PyObject *type_of(const core_instance *x, const char *what, const char *name)
{
    size_t n = strlen(what) + strlen(name) + sizeof "_type.";
    char *key = PyMem_Malloc(n);
    if (!key)
        return PyErr_NoMemory();
    snprintf(key, n, "%s_type.%s", what, name);
    const char *type = tnr_metadata(x->library->m, key);
    PyMem_Free(key);
    return PyUnicode_FromString(type ? type : "");
}

/* ---- to the runtime ---- */

enum { MAX_DEPTH = 200 }; /* Python's own limit is some 1000 calls, and tenon._values takes three a level */

static tnr_value *make(core_instance *x, const tnr_value_info *info)
{
    tnr_value *v = NULL;
    tnr_error e;
    if (tnr_value_new(x->x, info, &v, &e) == TNR_OK)
        return v;
    core_raise_run(&e);
    return NULL;
}

static tnr_value *to_value(core_instance *x, PyObject *plain, int depth);

static tnr_value *to_constructor(core_instance *x, PyObject *plain, int depth)
{
    unsigned tag;
    PyObject *list;
    if (!PyArg_ParseTuple(plain, "IO!:value", &tag, &PyList_Type, &list))
        return NULL;
    Py_ssize_t n = PyList_Size(list), done = 0;
    tnr_value *v = NULL, **field = n < UINT32_MAX ? PyMem_Calloc((size_t)n + 1, sizeof *field) : NULL;
    if (!field) {
        PyErr_NoMemory();
        return NULL;
    }
    while (done < n && (field[done] = to_value(x, PyList_GetItem(list, done), depth + 1)))
        done++;
    if (done == n)
        v = make(x, &(tnr_value_info){
                        .kind = TNR_VALUE_CONSTRUCTOR, .tag = tag, .n_field = (uint32_t)n, .field = field});
    while (done-- > 0)
        tnr_value_release(field[done]);
    PyMem_Free(field);
    return v;
}

/* A new reference, or NULL with an exception. */
static tnr_value *to_value(core_instance *x, PyObject *plain, int depth)
{
    char *text;
    Py_ssize_t n;
    if (depth > MAX_DEPTH) {
        PyErr_Format(PyExc_ValueError,
                     "a value is nested more than %d deep; let the model make long lists itself", MAX_DEPTH);
        return NULL;
    }
    if (PyTuple_Check(plain))
        return to_constructor(x, plain, depth);
    if (PyBytes_Check(plain)) {
        if (PyBytes_AsStringAndSize(plain, &text, &n))
            return NULL;
        return make(x, &(tnr_value_info){.kind = TNR_VALUE_TEXT, .text = text, .text_n = (size_t)n});
    }
    core_tensor *t = core_tensor_from(plain, 0, NULL);
    tnr_value *v = t ? make(x, &(tnr_value_info){.kind = TNR_VALUE_TENSOR, .tensor = t->dl}) : NULL;
    Py_XDECREF(t);
    return v;
}

int core_value_set(core_instance *x, uint32_t i, PyObject *given)
{
    tnr_tensor_info info;
    tnr_error e;
    if (tnr_input_info(x->library->m, i, &info, &e)) {
        core_raise_run(&e);
        return -1;
    }
    PyObject *type = type_of(x, "input", info.name),
             *plain =
                 type ? core_python("tenon._values", "encode", Py_BuildValue("(OOs)", given, type, info.name))
                      : NULL;
    tnr_value *v = plain ? to_value(x, plain, 0) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(plain);
    int failed = !v || tnr_set_input_value(x->x, i, v, &e);
    if (v && failed)
        core_raise_run(&e);
    tnr_value_release(v);
    return failed ? -1 : 0;
}

/* ---- from the runtime ---- */

static PyObject *from_value(const tnr_value *v, int depth);

static PyObject *from_constructor(const tnr_value_info *info, int depth)
{
    PyObject *list = PyList_New((Py_ssize_t)info->n_field);
    for (uint32_t i = 0; list && i < info->n_field; i++) {
        PyObject *one = from_value(info->field[i], depth + 1);
        if (!one || PyList_SetItem(list, (Py_ssize_t)i, one))
            Py_CLEAR(list);
    }
    return list ? Py_BuildValue("(IN)", (unsigned)info->tag, list) : NULL;
}

static PyObject *from_value(const tnr_value *v, int depth)
{
    tnr_value_info info;
    tnr_value_get(v, &info);
    if (info.kind == TNR_VALUE_TENSOR) {
        core_tensor *t = core_tensor_new(info.tensor.dtype, info.tensor.ndim, info.tensor.shape);
        if (t && core_tensor_bytes(t))
            memcpy(t->dl.data, info.tensor.data, (size_t)core_tensor_bytes(t));
        return (PyObject *)t;
    }
    if (info.kind == TNR_VALUE_TEXT)
        return PyBytes_FromStringAndSize(info.text, (Py_ssize_t)info.text_n);
    if (info.kind == TNR_VALUE_CONSTRUCTOR && depth <= MAX_DEPTH)
        return from_constructor(&info, depth);
    if (info.kind == TNR_VALUE_CONSTRUCTOR)
        PyErr_Format(PyExc_ValueError,
                     "a result is nested more than %d deep; let the model take long lists apart", MAX_DEPTH);
    else
        PyErr_SetString(PyExc_TypeError, "a result is a value that Python has no form for");
    return NULL;
}

PyObject *core_value_get(core_instance *x, uint32_t i)
{
    tnr_value *v;
    tnr_tensor_info info;
    tnr_error e;
    if (tnr_output_info(x->library->m, i, &info, &e) || tnr_get_output_value(x->x, i, &v, &e))
        return core_raise_run(&e);
    PyObject *type = type_of(x, "output", info.name), *plain = type ? from_value(v, 0) : NULL;
    PyObject *made =
        plain ? core_python("tenon._values", "decode", Py_BuildValue("(OO)", plain, type)) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(plain);
    return made;
}
