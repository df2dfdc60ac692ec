/* States of an instance: memory that survives its runs. */
#include "instance.h"

static PyObject *tensor_of(core_instance *x, const char *name)
{
    DLTensor view;
    tnr_error e;
    if (tnr_state_get(x->x, name, &view, &e))
        return core_raise_run(&e);
    return (PyObject *)core_tensor_copy(&view);
}

PyObject *core_instance_state(PyObject *self, PyObject *args)
{
    core_instance *x = (core_instance *)self;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:state", &name) || core_instance_enter(x))
        return NULL;
    PyObject *t = tensor_of(x, name);
    core_instance_leave(x);
    return t;
}

PyObject *core_instance_set_state(PyObject *self, PyObject *args)
{
    core_instance *x = (core_instance *)self;
    const char *name;
    PyObject *array;
    DLTensor now;
    tnr_error e;
    if (!PyArg_ParseTuple(args, "sO:set_state", &name, &array) || core_instance_enter(x))
        return NULL;
    tnr_status st = tnr_state_get(x->x, name, &now, &e); /* which tells the dtype of numbers and lists */
    core_tensor *t = st ? NULL : core_tensor_from(array, 0, &now.dtype);
    st = t ? tnr_state_set(x->x, name, &t->dl, &e) : st;
    core_instance_leave(x);
    PyObject *result = st ? core_raise_run(&e) : t ? Py_None : NULL;
    Py_XDECREF(t);
    Py_XINCREF(result);
    return result;
}

PyObject *core_instance_reset_states(PyObject *self, PyObject *none)
{
    core_instance *x = (core_instance *)self;
    tnr_error e;
    (void)none;
    if (core_instance_enter(x))
        return NULL;
    tnr_status st = tnr_state_reset(x->x, &e);
    core_instance_leave(x);
    if (st)
        return core_raise_run(&e);
    Py_RETURN_NONE;
}
