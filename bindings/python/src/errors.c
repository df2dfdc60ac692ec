/* Failures become exceptions of the package's Python part: tenon._errors has the classes. */
#include "core.h"

#include <string.h>

PyObject *core_python(const char *module, const char *function, PyObject *arguments)
{
    PyObject *in = arguments ? PyImport_ImportModule(module) : NULL;
    PyObject *call = in ? PyObject_GetAttrString(in, function) : NULL;
    PyObject *result = call ? PyObject_CallObject(call, arguments) : NULL;
    Py_XDECREF(call);
    Py_XDECREF(in);
    Py_XDECREF(arguments);
    return result;
}

static const char *severity(enum tenon_severity s)
{
    return s == TENON_ERROR ? "error" : s == TENON_WARNING ? "warning" : "note";
}

/* Text of the compiler's may quote bytes of a damaged file. */
static PyObject *text(const char *s)
{
    if (!s)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace");
}

static PyObject *diagnostic(const tenon_diagnostic *d)
{
    return core_python("tenon._errors", "Diagnostic",
                       Py_BuildValue("(NsNIINNNN)", text(d->id), severity(d->severity), text(d->file),
                                     d->line, d->col, text(d->node), text(d->op), text(d->text),
                                     text(d->hint)));
}

PyObject *core_diagnostics(const tenon *t)
{
    size_t n = tenon_diagnostic_count(t);
    PyObject *all = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = diagnostic(tenon_diagnostic_get(t, i));
        if (!one || PyTuple_SetItem(all, (Py_ssize_t)i, one))
            Py_CLEAR(all);
    }
    return all;
}

/* Raises the exception that a function of tenon._errors makes. */
static PyObject *raise_made(PyObject *made)
{
    if (made)
        PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    return NULL;
}

PyObject *core_raise_compile(const tenon *t)
{
    PyObject *all = core_diagnostics(t);
    return raise_made(all ? core_python("tenon._errors", "CompileError",
                                        Py_BuildValue("(NN)", text(tenon_messages(t)), all))
                          : NULL);
}

PyObject *core_raise_run(const tnr_error *e)
{
    return raise_made(
        core_python("tenon._errors", "RunError",
                    Py_BuildValue("(NiK)", text(e->message), (int)e->code, (unsigned long long)e->position)));
}
