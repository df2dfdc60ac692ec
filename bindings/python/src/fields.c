/* Structs of the public headers as dicts, and from them: tables say which fields there are. */
#include "core.h"

#include <string.h>

/* ---- from a dict ---- */

/* The bytes of a str, which live as long as the options. */
static const char *keep_text(core_options *o, const char *name, PyObject *value)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_Check(value))
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", name, (PyObject *)Py_TYPE(value));
    else
        bytes = PyUnicode_AsUTF8String(value);
    char *at = NULL;
    if (bytes && (PyBytes_AsStringAndSize(bytes, &at, NULL) || PyList_Append(o->kept, bytes)))
        at = NULL;
    Py_XDECREF(bytes);
    return at;
}

static int set_text(core_options *o, const core_field *f, void *at, PyObject *value)
{
    const char *text = keep_text(o, f->name, value);
    *(const char **)at = text;
    return text ? 0 : -1;
}

static int set_int(const core_field *f, int *at, PyObject *value)
{
    long n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred())
        return -1;
    if (n != (int)n) {
        PyErr_Format(PyExc_OverflowError, "%s is too large", f->name);
        return -1;
    }
    *at = (int)n;
    return 0;
}

/* A number from 0 to `most`. 0 or -1. */
static int count_of(const core_field *f, PyObject *value, unsigned long long most, unsigned long long *out)
{
    PyObject *number = PyNumber_Index(value);
    *out = number ? PyLong_AsUnsignedLongLong(number) : 0;
    if (number && (PyErr_Occurred() || *out > most))
        PyErr_Format(PyExc_OverflowError, "%s must be 0 to %llu, not %R", f->name, most, value);
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int set_count(const core_field *f, uint32_t *at, PyObject *value)
{
    unsigned long long n;
    if (count_of(f, value, UINT32_MAX, &n))
        return -1;
    *at = (uint32_t)n;
    return 0;
}

static int set_long(const core_field *f, uint64_t *at, PyObject *value)
{
    unsigned long long n;
    if (count_of(f, value, UINT64_MAX, &n))
        return -1;
    *at = n;
    return 0;
}

static int set_real(double *at, PyObject *value)
{
    *at = PyFloat_AsDouble(value);
    return *at == -1 && PyErr_Occurred() ? -1 : 0;
}

static int set_texts(core_options *o, const core_field *f, void *at, PyObject *value)
{
    Py_ssize_t n = PySequence_Size(value);
    if (n < 0 || PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a list of str", f->name);
        return -1;
    }
    const char **list = PyMem_Calloc((size_t)n + 1, sizeof *list);
    if (!list) {
        PyErr_NoMemory();
        return -1;
    }
    o->texts[o->n_texts++] = list;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        list[i] = item ? keep_text(o, f->name, item) : NULL;
        Py_XDECREF(item);
        if (!list[i])
            return -1;
    }
    *(const char *const **)at = list;
    return 0;
}

static int set_callback(core_options *o, const core_field *f, void *to, PyObject *value)
{
    core_callback *c = &o->callback[o->n_callback];
    if (!PyCallable_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be callable", f->name);
        return -1;
    }
    if (PyList_Append(o->kept, value))
        return -1;
    o->n_callback++;
    *c = (core_callback){o, value};
    memcpy((char *)to + f->offset, &f->hook, sizeof f->hook);
    *(void **)((char *)to + f->user_offset) = c;
    return 0;
}

static int set(core_options *o, const core_field *f, void *to, PyObject *value)
{
    void *at = (char *)to + f->offset;
    switch (f->kind) {
    case CORE_TEXT: return set_text(o, f, at, value);
    case CORE_INT: return set_int(f, at, value);
    case CORE_COUNT: return set_count(f, at, value);
    case CORE_LONG: return set_long(f, at, value);
    case CORE_REAL: return set_real(at, value);
    case CORE_TEXTS: return set_texts(o, f, at, value);
    default: return set_callback(o, f, to, value);
    }
}

static const core_field *find(size_t n, const core_field f[], PyObject *key)
{
    for (size_t i = 0; i < n; i++)
        if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, f[i].name) == 0)
            return &f[i];
    PyErr_Format(PyExc_TypeError, "%R is not an option", key);
    return NULL;
}

int core_fields_set(core_options *o, void *to, size_t n, const core_field f[], PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (dict && !PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "options must be a dict");
        return -1;
    }
    while (dict && PyDict_Next(dict, &at, &key, &value)) {
        const core_field *of = value != Py_None ? find(n, f, key) : NULL;
        if (value != Py_None && (!of || set(o, of, to, value)))
            return -1;
    }
    return 0;
}

/* ---- as a dict ---- */

/* Text of the compiler's may quote bytes of a damaged file. */
static PyObject *text(const char *s)
{
    if (!s)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace");
}

static PyObject *get(const void *at, enum core_kind kind)
{
    switch (kind) {
    case CORE_INT: return PyLong_FromLong(*(const int *)at);
    case CORE_COUNT: return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case CORE_LONG: return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case CORE_REAL: return PyFloat_FromDouble(*(const double *)at);
    default: return text(*(const char *const *)at);
    }
}

PyObject *core_fields_get(const void *of, size_t n, const core_field f[])
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < n; i++) {
        PyObject *value = get((const char *)of + f[i].offset, f[i].kind);
        if (!value || PyDict_SetItemString(dict, f[i].name, value))
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}
