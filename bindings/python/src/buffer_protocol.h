#ifndef TENON_PY_BUFFER_PROTOCOL_H
#define TENON_PY_BUFFER_PROTOCOL_H
/* The buffer protocol for extensions of the limited API of Python 3.9. It entered the limited API with 3.11, and its
 * layout and functions are those of every Python 3: older interpreters export the same symbols. Headers of 3.11 and
 * later declare all this themselves once the extension asks for their limited API. */
#if Py_LIMITED_API + 0 < 0x030b0000

typedef struct {
    void *buf;
    PyObject *obj; /* owned reference */
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *obj);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *obj, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);

enum { PyBUF_SIMPLE = 0, PyBUF_WRITABLE = 1, PyBUF_FORMAT = 4, PyBUF_ND = 8, PyBUF_STRIDES = 0x18 };

#ifndef Py_bf_getbuffer
#define Py_bf_getbuffer 1 /* a slot of types */
#endif
#endif
#endif
