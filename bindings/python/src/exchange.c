/* Arrays of other libraries as Tensors and back: the buffer protocol and DLPack (0.x and 1.x), without copies. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- the buffer protocol ---- */

static const struct row {
    const char *formats; /* of the module struct; the first one with the right size is what is exported */
    uint8_t code;
} rows[] = {{"bhilqn", kDLInt}, {"BHILQN", kDLUInt}, {"efd", kDLFloat}, {"?", kDLBool}};

static size_t letter_bytes(char c)
{
    static const struct {
        char letter;
        uint8_t bytes;
    } sizes[] = {{'b', 1},
                 {'B', 1},
                 {'?', 1},
                 {'h', 2},
                 {'H', 2},
                 {'e', 2},
                 {'i', 4},
                 {'I', 4},
                 {'f', 4},
                 {'d', 8},
                 {'q', 8},
                 {'Q', 8},
                 {'l', sizeof(long)},
                 {'L', sizeof(long)},
                 {'n', sizeof(void *)},
                 {'N', sizeof(void *)}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].letter == c)
            return sizes[i].bytes;
    return 0;
}

static int dtype_of_format(const char *format, Py_ssize_t itemsize, DLDataType *out)
{
    const char *f = format ? format : "B";
    f += *f == '@' || *f == '=' || *f == '<'; /* machines with little ends alone are supported */
    out->bits = (uint8_t)(8 * itemsize);
    out->lanes = 1;
    if ((strcmp(f, "Zf") == 0 || strcmp(f, "Zd") == 0) && itemsize <= 16) {
        out->code = kDLComplex;
        return 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (*f && !f[1] && strchr(rows[i].formats, *f) && itemsize <= 8) {
            out->code = rows[i].code;
            return 1;
        }
    return 0;
}

/* A format of static text, NULL where struct has none (bfloat16, float8, less than a byte). */
static const char *format_of(DLDataType t)
{
    static const char texts[] = "b\0h\0i\0l\0q\0B\0H\0I\0L\0Q\0e\0f\0d\0?";
    if (t.code == kDLComplex)
        return t.bits == 64 ? "Zf" : t.bits == 128 ? "Zd" : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *c = rows[i].formats; rows[i].code == t.code && *c; c++)
            if (8 * letter_bytes(*c) == t.bits)
                for (size_t k = 0; k < sizeof texts; k += 2)
                    if (texts[k] == *c)
                        return &texts[k];
    return NULL;
}

int core_tensor_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    core_tensor *t = (core_tensor *)self;
    const char *format = format_of(t->dl.dtype);
    view->obj = NULL;
    if (!format || (t->readonly && (flags & PyBUF_WRITABLE))) {
        PyErr_SetString(PyExc_BufferError,
                        format ? "the tensor is read-only"
                               : "the element type has no format in the buffer protocol; use numpy() "
                                 "or bytes()");
        return -1;
    }
    *view = (Py_buffer){.buf = t->dl.data,
                        .len = (Py_ssize_t)core_tensor_bytes(t),
                        .itemsize = t->dl.dtype.bits / 8,
                        .readonly = t->readonly,
                        .ndim = t->dl.ndim,
                        .format = flags & PyBUF_FORMAT ? (char *)format : NULL,
                        .shape = flags & PyBUF_ND ? (Py_ssize_t *)t->dl.shape : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? t->strides : NULL};
    Py_INCREF(self);
    view->obj = self;
    return 0;
}

/* ---- strided arrays ---- */

typedef struct {
    const char *data;
    DLDataType dtype;
    int32_t ndim;
    int64_t shape[CORE_MAX_NDIM], strides[CORE_MAX_NDIM]; /* strides in bytes */
    int readonly;
} strided;

/* An element of less than a byte has one of its own. */
static int64_t element_bytes(DLDataType t) { return (t.bits + 7) / 8; }

static int is_dense(const strided *s)
{
    int64_t bytes = element_bytes(s->dtype);
    for (int32_t d = s->ndim; d-- > 0;) {
        if (s->shape[d] == 0)
            return 1;
        if (s->shape[d] != 1 && s->strides[d] != bytes)
            return 0;
        bytes *= s->shape[d];
    }
    int64_t align = element_bytes(s->dtype) / (s->dtype.code == kDLComplex ? 2 : 1);
    return align < 2 || (uintptr_t)s->data % (uintptr_t)align == 0;
}

static char *copy_from(const strided *s, int32_t d, const char *from, char *to)
{
    size_t bytes = (size_t)element_bytes(s->dtype);
    if (d == s->ndim) {
        memcpy(to, from, bytes);
        return to + bytes;
    }
    for (int64_t i = 0; i < s->shape[d]; i++)
        to = copy_from(s, d + 1, from + i * s->strides[d], to);
    return to;
}

static core_tensor *tensor_of(PyObject *owner, const strided *s, int writable)
{
    int dense = is_dense(s);
    if (writable && (!dense || s->readonly)) {
        PyErr_SetString(PyExc_ValueError,
                        dense ? "the array is read-only"
                              : "the array is strided or misaligned; an array that results are "
                                "written to must be dense and row-major");
        return NULL;
    }
    if (dense)
        return core_tensor_over(owner, (char *)s->data, s->readonly, s->dtype, s->ndim, s->shape);
    core_tensor *t = core_tensor_new(s->dtype, s->ndim, s->shape);
    if (t)
        copy_from(s, 0, s->data, t->dl.data);
    return t;
}

static void release_view(PyObject *capsule)
{
    Py_buffer *view = PyCapsule_GetPointer(capsule, "tenon.buffer");
    PyBuffer_Release(view);
    PyMem_Free(view);
}

static int describe_buffer(const Py_buffer *view, strided *s)
{
    if (view->ndim > CORE_MAX_NDIM || !dtype_of_format(view->format, view->itemsize, &s->dtype))
        return 0;
    s->data = view->buf;
    s->ndim = view->ndim;
    s->readonly = view->readonly;
    for (int d = 0; d < view->ndim; d++) {
        s->shape[d] = view->shape[d];
        s->strides[d] = view->strides[d];
    }
    return 1;
}

/* The tensor keeps the buffer exported through a capsule. NULL without an exception: the object has no such buffer. */
static core_tensor *from_buffer(PyObject *array, int writable)
{
    strided s;
    Py_buffer *view = PyObject_CheckBuffer(array) ? PyMem_Calloc(1, sizeof *view) : NULL;
    if (!view)
        return NULL;
    if (PyObject_GetBuffer(array, view, PyBUF_FORMAT | PyBUF_STRIDES)) {
        PyErr_Clear();
        PyMem_Free(view);
        return NULL;
    }
    int known = describe_buffer(view, &s);
    PyObject *owner = PyCapsule_New(view, "tenon.buffer", release_view);
    if (!owner) {
        PyBuffer_Release(view);
        PyMem_Free(view);
        return NULL;
    }
    core_tensor *t = known ? tensor_of(owner, &s, writable) : NULL;
    Py_DECREF(owner);
    return t;
}

/* ---- DLPack ---- */

typedef struct versioned { /* DLManagedTensorVersioned of DLPack 1 */
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct versioned *self);
    uint64_t flags; /* bit 0: read-only; bit 2: each element of less than a byte has a byte of its own */
    DLTensor dl;
} versioned;

enum { READ_ONLY = 1, PADDED = 4 };

static void drop_owner(void *owner)
{
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)owner);
    PyGILState_Release(state);
}

static void delete_managed(DLManagedTensor *m)
{
    drop_owner(m->manager_ctx);
    free(m);
}

static void delete_versioned(versioned *v)
{
    drop_owner(v->manager_ctx);
    free(v);
}

/* A capsule that nobody took owns its tensor still; who takes it renames it. A deleter may be code of Python, which
 * must not begin with an exception that is on its way. */
static void free_capsule(PyObject *capsule)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
        if (m->deleter)
            m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        versioned *v = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (v->deleter)
            v->deleter(v);
    }
    PyErr_Restore(type, value, trace);
}

static PyObject *capsule_of(void *managed, const char *name, core_tensor *t)
{
    PyObject *capsule = managed ? PyCapsule_New(managed, name, free_capsule) : PyErr_NoMemory();
    if (capsule)
        Py_INCREF((PyObject *)t);
    else
        free(managed);
    return capsule;
}

PyObject *core_tensor_dlpack(core_tensor *t, int major)
{
    int small = t->dl.dtype.bits < 8;
    if (major < 1 && (t->readonly || small)) {
        PyErr_SetString(PyExc_BufferError,
                        small ? "DLPack before version 1 packs elements of less than a byte"
                              : "DLPack before version 1 cannot say that a tensor is read-only");
        return NULL;
    }
    if (major < 1) {
        DLManagedTensor *m = malloc(sizeof *m);
        if (m)
            *m = (DLManagedTensor){t->dl, t, delete_managed};
        return capsule_of(m, "dltensor", t);
    }
    versioned *v = malloc(sizeof *v);
    uint64_t flags = (t->readonly ? READ_ONLY : 0) | (small ? PADDED : 0);
    if (v)
        *v = (versioned){{1, 1}, t, delete_versioned, flags, t->dl};
    return capsule_of(v, "dltensor_versioned", t);
}

static int is_at_hand(long device)
{
    if (device == kDLCPU || device == kDLCUDAHost)
        return 1;
    PyErr_SetString(PyExc_ValueError,
                    "the array is on a device; move it to the CPU first (cupy: get(), torch: cpu())");
    return 0;
}

static int describe_dlpack(const DLTensor *dl, strided *s)
{
    if (!is_at_hand(dl->device.device_type))
        return 0;
    if (dl->ndim > CORE_MAX_NDIM || dl->dtype.lanes != 1) {
        PyErr_SetString(PyExc_ValueError, "arrays of vectors are not supported");
        return 0;
    }
    s->data = (const char *)dl->data + dl->byte_offset;
    s->dtype = dl->dtype;
    s->ndim = dl->ndim;
    int64_t stride = 1;
    for (int32_t d = dl->ndim; d-- > 0;) {
        s->shape[d] = dl->shape[d];
        s->strides[d] = (dl->strides ? dl->strides[d] : stride) * element_bytes(dl->dtype);
        stride *= dl->shape[d];
    }
    return 1;
}

/* The capsule as one that this extension owns: the producer's is marked as used. */
static PyObject *take(PyObject *capsule, const DLTensor **out, int *out_readonly)
{
    int is_versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    const char *name = is_versioned ? "dltensor_versioned" : "dltensor";
    if (!is_versioned && !PyCapsule_IsValid(capsule, name)) {
        PyErr_SetString(PyExc_ValueError,
                        "__dlpack__ returned no capsule of DLPack, or one that was taken before");
        return NULL;
    }
    void *managed = PyCapsule_GetPointer(capsule, name);
    *out = is_versioned ? &((versioned *)managed)->dl : &((DLManagedTensor *)managed)->dl_tensor;
    *out_readonly = is_versioned && (((versioned *)managed)->flags & READ_ONLY);
    if (is_versioned && ((versioned *)managed)->version.major != 1) {
        PyErr_SetString(PyExc_BufferError, "DLPack of a newer major version");
        return NULL;
    }
    if ((*out)->dtype.bits < 8 && !(is_versioned && (((versioned *)managed)->flags & PADDED))) {
        PyErr_SetString(PyExc_BufferError, "elements of less than a byte must have a byte each");
        return NULL;
    }
    if (PyCapsule_SetName(capsule, is_versioned ? "used_dltensor_versioned" : "used_dltensor"))
        return NULL;
    return PyCapsule_New(managed, name, free_capsule);
}

core_tensor *core_tensor_copy(const DLTensor *view)
{
    strided s = {0};
    if (!describe_dlpack(view, &s))
        return NULL;
    core_tensor *t = core_tensor_new(s.dtype, s.ndim, s.shape);
    if (t)
        copy_from(&s, 0, s.data, t->dl.data);
    return t;
}

/* Before it is asked for, since a producer may wait for its device then. */
static int tells_device_at_hand(PyObject *array)
{
    long type = -1;
    if (!PyObject_HasAttrString(array, "__dlpack_device__"))
        return 1;
    PyObject *method = PyObject_GetAttrString(array, "__dlpack_device__"),
             *device = method ? PyObject_CallObject(method, NULL) : NULL,
             *first = device ? PySequence_GetItem(device, 0) : NULL,
             *number = first ? PyNumber_Long(first) : NULL;
    if (number)
        type = PyLong_AsLong(number);
    Py_XDECREF(number);
    Py_XDECREF(first);
    Py_XDECREF(device);
    Py_XDECREF(method);
    return !PyErr_Occurred() && is_at_hand(type);
}

static PyObject *ask(PyObject *array)
{
    PyObject *method = PyObject_GetAttrString(array, "__dlpack__"), *capsule = NULL;
    if (!method)
        return NULL;
    PyObject *none = PyTuple_New(0), *keywords = Py_BuildValue("{s(ii)}", "max_version", 1, 1);
    if (none && keywords) {
        capsule = PyObject_Call(method, none, keywords);
        if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { /* a library before DLPack 1 */
            PyErr_Clear();
            capsule = PyObject_CallObject(method, NULL);
        }
    }
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    Py_DECREF(method);
    return capsule;
}

static core_tensor *from_dlpack(PyObject *array, int writable)
{
    strided s;
    const DLTensor *dl;
    core_tensor *t = NULL;
    PyObject *capsule = tells_device_at_hand(array) ? ask(array) : NULL;
    PyObject *owner = capsule ? take(capsule, &dl, &s.readonly) : NULL;
    if (owner && describe_dlpack(dl, &s))
        t = tensor_of(owner, &s, writable);
    Py_XDECREF(owner);
    Py_XDECREF(capsule);
    return t;
}

core_tensor *core_tensor_from(PyObject *array, int writable, const DLDataType *wanted)
{
    core_tensor *t;
    if (PyObject_TypeCheck(array, core_tensor_type)) {
        t = (core_tensor *)array;
        if (writable && t->readonly) {
            PyErr_SetString(PyExc_ValueError, "the tensor is read-only");
            return NULL;
        }
        Py_INCREF(array);
        return t;
    }
    t = from_buffer(array, writable);
    if (t || PyErr_Occurred())
        return t;
    if (!PyObject_HasAttrString(array, "__array_interface__") && PyObject_HasAttrString(array, "__dlpack__"))
        return from_dlpack(array, writable);
    PyObject *name = wanted ? core_dtype_name(*wanted) : Py_BuildValue("");
    PyObject *made = core_python("tenon._arrays", "to_tensor",
                                 name ? Py_BuildValue("(ONi)", array, name, writable) : NULL);
    if (made && !PyObject_TypeCheck(made, core_tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "not an array");
        Py_CLEAR(made);
    }
    return (core_tensor *)made;
}
