/* What is in a function of Relay, node by node. */
#include "program.h"
#include "tenon/relay.h"

/* A list of n values, each a new reference that `make` returns. */
typedef PyObject *maker(const void *at, uint32_t i, PyObject *owner);

static PyObject *list(uint32_t n, maker *make, const void *at, PyObject *owner)
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = make(at, i, owner);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

/* Names of models may be any bytes. */
static PyObject *text(const char *s)
{
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "surrogateescape");
}

static PyObject *operand(const void *at, uint32_t i, PyObject *owner)
{
    const tenon_operand *o = (const tenon_operand *)at + i;
    (void)owner;
    if (o->node == TENON_ABSENT)
        Py_RETURN_NONE;
    return Py_BuildValue("(II)", o->node, o->result);
}

static PyObject *number(const void *at, uint32_t i, PyObject *owner)
{
    (void)owner;
    return PyLong_FromUnsignedLong(((const uint32_t *)at)[i]);
}

static PyObject *word(const void *at, uint32_t i, PyObject *owner)
{
    (void)owner;
    return text(((const char *const *)at)[i]);
}

static PyObject *region(const void *at, uint32_t i, PyObject *owner)
{
    const tenon_region *r = (const tenon_region *)at + i;
    return Py_BuildValue("(INN)", r->n_param, list(r->n_node, number, r->node, owner),
                         list(r->n_result, operand, r->result, owner));
}

/* (tensor, layout): the tensor shares the program's memory; in a layout it is bytes. None: no constant, or no data. */
static PyObject *data(const tenon_node *n, PyObject *owner)
{
    if (!n->data)
        Py_RETURN_NONE;
    void *at = (void *)(uintptr_t)n->data;
    const int64_t bytes = (int64_t)n->bytes;
    core_tensor *t = n->layout ? core_tensor_over(owner, at, 1, (DLDataType){kDLUInt, 8, 1}, 1, &bytes)
                               : core_tensor_over(owner, at, 1, n->dtype, n->ndim, n->shape);
    return t ? Py_BuildValue("(Nz)", t, n->layout) : NULL;
}

static PyObject *node(const void *at, uint32_t i, PyObject *owner)
{
    const tenon_node *n = (const tenon_node *)at + i;
    return Py_BuildValue("(sNNNNNNN)", n->op, text(n->name), text(n->source), text(n->attributes),
                         list(n->n_operand, operand, n->operand, owner),
                         list(n->n_result, word, n->type, owner), list(n->n_region, region, n->region, owner),
                         data(n, owner));
}

PyObject *core_function_view(PyObject *program, const tenon_function_view *f)
{
    return Py_BuildValue("(NN)", list(f->n_node, node, f->node, program), region(&f->body, 0, program));
}
