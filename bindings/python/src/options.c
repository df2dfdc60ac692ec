/* tenon_options from a dict. One table says which fields there are. */
#include "core.h"

#include <string.h>

enum kind { TEXT, NUMBER, TEXTS, PROGRESS, PRINT };

#define FIELD(name, kind) {#name, kind, offsetof(tenon_options, name)}
static const struct field {
    const char *name;
    enum kind kind;
    size_t offset;
} fields[] = {FIELD(target, TEXT),
              FIELD(machine_file, TEXT),
              FIELD(input_shapes, TEXT),
              FIELD(model_format, TEXT),
              FIELD(module_name, TEXT),
              FIELD(disabled_pass, TEXT),
              FIELD(cross_compiler, TEXT),
              FIELD(cross_compiler_options, TEXT),
              FIELD(opt_level, NUMBER),
              FIELD(no_variants, NUMBER),
              FIELD(pass_config, TEXTS),
              FIELD(desired_layout, TEXT),
              FIELD(desired_layout_ops, TEXT),
              FIELD(mixed_precision, NUMBER),
              FIELD(mixed_precision_ops, TEXT),
              FIELD(mixed_precision_calculation_type, TEXT),
              FIELD(mixed_precision_acc_type, TEXT),
              FIELD(print_ir_before, TEXT),
              FIELD(print_ir_after, TEXT),
              FIELD(print_pass_times, NUMBER),
              FIELD(no_in_place, NUMBER),
              FIELD(print, PRINT),
              FIELD(progress, PROGRESS),
              FIELD(dump_format, TEXT),
              FIELD(max_memory, NUMBER),
              FIELD(max_seconds, NUMBER),
              FIELD(max_nodes, NUMBER),
              FIELD(threads, NUMBER),
              FIELD(states, TEXTS),
              FIELD(memory, TEXT),
              FIELD(outputs, TEXT),
              FIELD(signature, TEXT),
              FIELD(architecture, TEXT)};

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

static int set_number(tenon_options *c, const struct field *f, PyObject *value)
{
    long n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred())
        return -1;
    if (n != (int)n) {
        PyErr_Format(PyExc_OverflowError, "%s is too large", f->name);
        return -1;
    }
    *(int *)((char *)c + f->offset) = (int)n;
    return 0;
}

static int set_texts(core_options *o, const struct field *f, PyObject *value)
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
    *(const char *const **)((char *)&o->c + f->offset) = list;
    return 0;
}

/* ---- callbacks: on a thread of the compiler, which has not the interpreter's lock ---- */

static void end_callback(core_options *o, PyObject *result)
{
    if (!result && !o->raised[0]) {
        PyErr_Fetch(&o->raised[0], &o->raised[1], &o->raised[2]);
        __atomic_store_n(&o->cancel, 1, __ATOMIC_RELAXED);
    }
    PyErr_Clear();
    Py_XDECREF(result);
}

static void progress(void *user, const char *stage, uint32_t done, uint32_t of)
{
    core_options *o = user;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!o->raised[0])
        end_callback(o, PyObject_CallFunction(o->progress, "sII", stage, done, of));
    PyGILState_Release(state);
}

static void print(void *user, const char *text)
{
    core_options *o = user;
    PyGILState_STATE state = PyGILState_Ensure();
    if (!o->raised[0])
        end_callback(o, PyObject_CallFunction(o->print, "s", text));
    PyGILState_Release(state);
}

static int set_callback(core_options *o, const struct field *f, PyObject *value)
{
    if (!PyCallable_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be callable", f->name);
        return -1;
    }
    if (PyList_Append(o->kept, value))
        return -1;
    if (f->kind == PROGRESS) {
        o->progress = value;
        o->c.progress = progress;
        o->c.progress_user = o;
    } else {
        o->print = value;
        o->c.print = print;
        o->c.print_user = o;
    }
    return 0;
}

static int set_text(core_options *o, const struct field *f, PyObject *value)
{
    const char *text = keep_text(o, f->name, value);
    *(const char **)((char *)&o->c + f->offset) = text;
    return text ? 0 : -1;
}

static int set(core_options *o, const struct field *f, PyObject *value)
{
    switch (f->kind) {
    case TEXT: return set_text(o, f, value);
    case NUMBER: return set_number(&o->c, f, value);
    case TEXTS: return set_texts(o, f, value);
    default: return set_callback(o, f, value);
    }
}

static int set_by_name(core_options *o, PyObject *key, PyObject *value)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, fields[i].name) == 0)
            return set(o, &fields[i], value);
    PyErr_Format(PyExc_TypeError, "%R is not an option", key);
    return -1;
}

int core_options_init(core_options *o, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *o = (core_options){.c.size = sizeof o->c, .kept = PyList_New(0)};
    o->c.cancel = &o->cancel;
    if (!o->kept)
        return -1;
    if (dict && !PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "options must be a dict");
        return -1;
    }
    while (dict && PyDict_Next(dict, &at, &key, &value))
        if (value != Py_None && set_by_name(o, key, value))
            return -1;
    return 0;
}

void core_options_deinit(core_options *o)
{
    Py_CLEAR(o->kept);
    for (int i = 0; i < o->n_texts; i++)
        PyMem_Free(o->texts[i]);
    for (int i = 0; i < 3; i++)
        Py_CLEAR(o->raised[i]);
}
