/* Tensor: dense elements in CPU memory. Other libraries take them without a copy through the buffer protocol (NumPy,
 * memoryview) and DLPack; exchange.c has both. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *core_tensor_type;

PyObject *core_dtype_name(DLDataType dtype)
{
    char name[64];
    return PyUnicode_FromString(dtype.code == kDLOpaqueHandle ? "handle"
                                                              : tnr_dtype_print(dtype, name, sizeof name));
}

/* The inverse of tnr_dtype_print over all types that it has a name for. */
int core_dtype_parse(PyObject *name, DLDataType *out)
{
    static const uint8_t bits[] = {8, 16, 32, 64, 128, 1, 2, 4, 6};
    char printed[64];
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a dtype is a str such as 'float32', not %R", name);
        return -1;
    }
    for (unsigned code = 0; code < 32; code++)
        for (size_t i = 0; i < sizeof bits; i++) {
            DLDataType t = {(uint8_t)code, bits[i], 1};
            if (PyUnicode_CompareWithASCIIString(name, tnr_dtype_print(t, printed, sizeof printed)) == 0) {
                *out = t;
                return 0;
            }
        }
    PyErr_Format(PyExc_ValueError, "no dtype is named %R", name);
    return -1;
}

static core_tensor *make(DLDataType dtype, int32_t ndim, const int64_t shape[])
{
    if (dtype.code == kDLUInt && dtype.bits == 1) /* the runtime's other spelling of bool */
        dtype = (DLDataType){kDLBool, 8, 1};
    core_tensor *t = (core_tensor *)PyType_GenericAlloc(core_tensor_type, 0);
    if (!t)
        return NULL;
    t->strides = PyMem_Calloc(2 * (size_t)ndim + 1, sizeof *t->strides);
    if (!t->strides) {
        Py_DECREF(t);
        PyErr_NoMemory();
        return NULL;
    }
    t->dl = (DLTensor){
        .device = {kDLCPU, 0}, .ndim = ndim, .dtype = dtype, .shape = (int64_t *)t->strides + ndim};
    Py_ssize_t bytes = (dtype.bits + 7) / 8;
    for (int32_t d = ndim; d-- > 0;) {
        t->dl.shape[d] = shape[d];
        t->strides[d] = bytes;
        bytes *= shape[d] > 0 ? (Py_ssize_t)shape[d] : 1;
    }
    return t;
}

static int size_of(DLDataType dtype, int32_t ndim, const int64_t shape[], uint64_t *out)
{
    tnr_error e;
    if (ndim < 0 || ndim > CORE_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%d dimensions are too many", (int)ndim);
        return -1;
    }
    if (tnr_tensor_bytes(dtype, ndim, shape, out, &e) == TNR_OK)
        return 0;
    core_raise_run(&e);
    return -1;
}

core_tensor *core_tensor_new(DLDataType dtype, int32_t ndim, const int64_t shape[])
{
    uint64_t bytes;
    if (size_of(dtype, ndim, shape, &bytes))
        return NULL;
    core_tensor *t = make(dtype, ndim, shape);
    if (!t)
        return NULL;
    t->memory = bytes > SIZE_MAX - 128 ? NULL : aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
    t->dl.data = t->memory;
    if (!t->memory) {
        Py_DECREF(t);
        PyErr_NoMemory();
        return NULL;
    }
    return t;
}

core_tensor *core_tensor_over(PyObject *owner, void *data, int readonly, DLDataType dtype, int32_t ndim,
                              const int64_t shape[])
{
    uint64_t bytes;
    core_tensor *t = size_of(dtype, ndim, shape, &bytes) ? NULL : make(dtype, ndim, shape);
    if (!t)
        return NULL;
    Py_INCREF(owner);
    t->owner = owner;
    t->readonly = readonly;
    t->dl.data = data;
    return t;
}

uint64_t core_tensor_bytes(const core_tensor *t)
{
    uint64_t bytes = 0;
    return tnr_tensor_bytes(t->dl.dtype, t->dl.ndim, t->dl.shape, &bytes, NULL) ? 0 : bytes;
}

static void tensor_dealloc(PyObject *self)
{
    core_tensor *t = (core_tensor *)self;
    free(t->memory);
    Py_CLEAR(t->owner);
    PyMem_Free(t->strides);
    core_free(self);
}

static int shape_from(PyObject *sequence, int32_t *out_ndim, int64_t out[CORE_MAX_NDIM])
{
    Py_ssize_t n = PySequence_Size(sequence);
    if (n < 0 || n > CORE_MAX_NDIM) {
        if (n > 0)
            PyErr_Format(PyExc_ValueError, "%zd dimensions are too many", n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *extent = PySequence_GetItem(sequence, i);
        out[i] = extent ? PyLong_AsLongLong(extent) : -1;
        Py_XDECREF(extent);
        if (PyErr_Occurred())
            return -1;
    }
    *out_ndim = (int32_t)n;
    return 0;
}

PyDoc_STRVAR(
    over_doc,
    "over(data, dtype, shape) -> Tensor: the bytes of `data` (buffer protocol, contiguous), which are "
    "not copied, as elements.");

static PyObject *tensor_over(PyObject *type, PyObject *args)
{
    PyObject *data, *name, *sequence, *result = NULL;
    DLDataType dtype;
    int64_t shape[CORE_MAX_NDIM];
    int32_t ndim;
    uint64_t bytes;
    Py_buffer view;
    (void)type;
    if (!PyArg_ParseTuple(args, "OOO:over", &data, &name, &sequence) || core_dtype_parse(name, &dtype) ||
        shape_from(sequence, &ndim, shape) || size_of(dtype, ndim, shape, &bytes))
        return NULL;
    PyObject *memory = PyMemoryView_FromObject(data);
    if (memory && PyObject_GetBuffer(memory, &view, PyBUF_SIMPLE) == 0) {
        if ((uint64_t)view.len != bytes)
            PyErr_Format(PyExc_ValueError, "%zd bytes given for %llu", view.len, (unsigned long long)bytes);
        else
            result = (PyObject *)core_tensor_over(memory, view.buf, view.readonly, dtype, ndim, shape);
        PyBuffer_Release(&view); /* the memoryview keeps it exported */
    }
    Py_XDECREF(memory);
    return result;
}

static PyObject *tensor_empty(PyObject *type, PyObject *args)
{
    PyObject *name, *sequence;
    DLDataType dtype;
    int64_t shape[CORE_MAX_NDIM];
    int32_t ndim;
    (void)type;
    if (!PyArg_ParseTuple(args, "OO:empty", &name, &sequence) || core_dtype_parse(name, &dtype) ||
        shape_from(sequence, &ndim, shape))
        return NULL;
    return (PyObject *)core_tensor_new(dtype, ndim, shape);
}

static PyObject *tensor_from(PyObject *type, PyObject *array)
{
    (void)type;
    return (PyObject *)core_tensor_from(array, 0, NULL);
}

/* ---- methods ---- */

static PyObject *get_shape(PyObject *self, void *none)
{
    const core_tensor *t = (core_tensor *)self;
    PyObject *shape = PyTuple_New(t->dl.ndim);
    (void)none;
    for (int32_t d = 0; shape && d < t->dl.ndim; d++) {
        PyObject *extent = PyLong_FromLongLong(t->dl.shape[d]);
        if (!extent || PyTuple_SetItem(shape, d, extent))
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *get_dtype(PyObject *self, void *none)
{
    (void)none;
    return core_dtype_name(((core_tensor *)self)->dl.dtype);
}

static PyObject *get_nbytes(PyObject *self, void *none)
{
    (void)none;
    return PyLong_FromUnsignedLongLong(core_tensor_bytes((core_tensor *)self));
}

static PyObject *get_address(PyObject *self, void *none)
{
    (void)none;
    return PyLong_FromVoidPtr(((core_tensor *)self)->dl.data);
}

/* Its memory as uint8[nbytes]. */
static PyObject *tensor_bytes(PyObject *self, PyObject *none)
{
    core_tensor *t = (core_tensor *)self;
    int64_t n = (int64_t)core_tensor_bytes(t);
    (void)none;
    return (PyObject *)core_tensor_over(self, t->dl.data, t->readonly, (DLDataType){kDLUInt, 8, 1}, 1, &n);
}

static PyObject *tensor_numpy(PyObject *self, PyObject *none)
{
    (void)none;
    return core_python("tenon._arrays", "to_numpy", Py_BuildValue("(O)", self));
}

static PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *dtype = Py_None, *copy = Py_None;
    static char *names[] = {"dtype", "copy", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    return core_python("tenon._arrays", "array_protocol", Py_BuildValue("(OOO)", self, dtype, copy));
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return Py_BuildValue("(ii)", kDLCPU, 0);
}

/* A consumer on the CPU names no stream. One that knows DLPack 1 says so by max_version. */
static PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    int major = 0, minor = 0, kind = kDLCPU, id = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOOO:__dlpack__", names, &stream, &version, &device,
                                     &copy) ||
        (version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor)) ||
        (device != Py_None && !PyArg_ParseTuple(device, "ii", &kind, &id)))
        return NULL;
    if (kind != kDLCPU || copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "a Tensor is given as it is, in the CPU's memory");
        return NULL;
    }
    return core_tensor_dlpack((core_tensor *)self, major);
}

static PyObject *tensor_repr(PyObject *self)
{
    PyObject *shape = get_shape(self, NULL), *dtype = get_dtype(self, NULL);
    PyObject *text = shape && dtype ? PyUnicode_FromFormat("tenon.Tensor(%U, %S)", dtype, shape) : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return text;
}

static PyGetSetDef properties[] = {
    {"shape", get_shape, NULL, "The extents, in elements.", NULL},
    {"dtype", get_dtype, NULL, "The name of the element type: 'float32'.", NULL},
    {"nbytes", get_nbytes, NULL, "The size in bytes.", NULL},
    {"address", get_address, NULL, "Where the first element lies.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* Through a type without arguments: pointers to functions of different types are no void *. */
#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef methods[] = {
    {"over", tensor_over, METH_VARARGS | METH_STATIC, over_doc},
    {"empty", tensor_empty, METH_VARARGS | METH_STATIC,
     "empty(dtype, shape) -> Tensor: new memory, not initialised."},
    {"of", tensor_from, METH_O | METH_STATIC, "of(array) -> Tensor: shares the memory of a dense array."},
    {"bytes", tensor_bytes, METH_NOARGS, "Its memory as a Tensor of uint8."},
    {"numpy", tensor_numpy, METH_NOARGS, "The tensor as a NumPy array, which shares its memory."},
    {"__array__", KEYWORDS(tensor_array), METH_VARARGS | METH_KEYWORDS, "What numpy.asarray calls."},
    {"__dlpack__", KEYWORDS(tensor_dlpack), METH_VARARGS | METH_KEYWORDS, "The tensor for another library."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "(kDLCPU, 0)"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(core_refuse_new)},
                              {Py_tp_dealloc, CORE_SLOT(tensor_dealloc)},
                              {Py_tp_repr, CORE_SLOT(tensor_repr)},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_bf_getbuffer, CORE_SLOT(core_tensor_getbuffer)},
                              {Py_tp_doc, "Dense elements in CPU memory."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Tensor", sizeof(core_tensor), 0, Py_TPFLAGS_DEFAULT, slots};

int core_tensor_init(PyObject *module) { return (core_tensor_type = core_type_add(module, &spec)) ? 0 : -1; }
