#ifndef TENON_PY_CORE_H
#define TENON_PY_CORE_H
/* The extension tenon._core: the public headers as Python objects, as thin as they can be. What is convenient is
 * written in Python on top of it.
 *
 *     Session   tenon *            one per compilation          session.c
 *     Program   tenon_module *     keeps its session            program.c
 *     Kernel    tenon_kernel *     keeps its session            kernel.c
 *     Config    tenon_config *     keeps its session            template.c
 *     Library   tnr_module *       keeps its session or bytes   library.c
 *     Instance  tnr_instance *     keeps its library            instance.c
 *     Tensor    dense elements in CPU memory, its own or        tensor.c, exchange.c
 *               those of the object that it keeps
 *
 * Python objects refer to what they need, never the other way round, so that everything is freed in the right order
 * whenever the last reference goes. Functions return a new reference, or NULL with an exception set. */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>
#include "buffer_protocol.h"
#include "tenon/host.h"
#include "tenon/tenon.h"

/* ---- errors.c ---- */

/* What the last call on a session reported: a tuple of tenon.Diagnostic. */
PyObject *core_diagnostics(const tenon *t);
/* Raises tenon.CompileError for the last call on a session, tenon.RunError for the runtime's. Both return NULL. */
PyObject *core_raise_compile(const tenon *t);
PyObject *core_raise_run(const tnr_error *e);
/* Calls a function of the package's Python part; `arguments` is a tuple whose reference it takes, NULL passes on. */
PyObject *core_python(const char *module, const char *function, PyObject *arguments);

/* ---- fields.c, options.c ---- */

typedef struct core_callback {
    struct core_options *o;
    PyObject *function;
} core_callback;

typedef struct core_options {
    tenon_options c;
    PyObject *kept;            /* list of what the fields of `c` and of structs beside it point into */
    core_callback callback[4]; /* borrowed from it */
    int n_callback;
    const char **texts[8]; /* the lists of texts, to be freed */
    int n_texts;
    int cancel;
    PyObject *raised[3]; /* what a callback raised: type, value, traceback */
} core_options;

enum core_kind { CORE_TEXT, CORE_INT, CORE_COUNT, CORE_LONG, CORE_REAL, CORE_TEXTS, CORE_CALLBACK };

typedef struct core_field { /* of a struct of the public headers */
    const char *name;
    enum core_kind kind;
    size_t offset, user_offset; /* user: of a callback's */
    void (*hook)(void);         /* what takes a callback's place; its user is a core_callback */
} core_field;

/* A row of a table of T's fields: const char *, int, uint32_t, uint64_t, double, a list of texts. */
#define CORE_FIELD(T, name, kind) {#name, CORE_##kind, offsetof(T, name), 0, NULL}
#define CORE_HOOK(T, name, f) \
    {#name, CORE_CALLBACK, offsetof(T, name), offsetof(T, name##_user), (void (*)(void))(f)}

/* Sets fields of `to` by a dict; what is None is left out. 0 or -1. */
int core_fields_set(core_options *o, void *to, size_t n, const core_field f[], PyObject *dict);
PyObject *core_fields_get(const void *of, size_t n, const core_field f[]);
/* Takes what a callback returned: where it raised, the call is cancelled. With the interpreter's lock. */
void core_callback_end(core_options *o, PyObject *result);

/* Fills in options from a dict whose keys are the fields of tenon_options; what is None is left out. 0 or -1. */
int core_options_init(core_options *o, PyObject *dict);
void core_options_deinit(core_options *o);

/* ---- call.c ---- */

typedef int core_work(void *user);
/* Runs long work of the compiler on another thread, without the interpreter's lock. Where a signal's handler raises
 * meanwhile (Ctrl-C), or a callback does, the work is cancelled, and its exception is what remains. 0 or -1;
 * *out_failed is what the work returned. */
int core_call(core_options *o, core_work *work, void *user, int *out_failed);

/* ---- session.c ---- */

typedef struct core_session {
    PyObject_HEAD tenon *t;
    PyObject *kept; /* list of what modules of the session borrow */
    int busy;       /* a call is at work on it: only one may be */
} core_session;

extern PyTypeObject *core_session_type;
int core_session_begin(core_session *s); /* -1 where another thread uses it */
void core_session_end(core_session *s);

/* ---- library.c ---- */

typedef struct core_library {
    PyObject_HEAD tnr_module *m;
    PyObject *owner; /* what the module borrows from; NULL: nothing */
} core_library;

extern PyTypeObject *core_library_type;
/* Takes the reference to `m`; `owner` may be NULL. */
PyObject *core_library_new(tnr_module *m, PyObject *owner);

/* ---- tensor.c, exchange.c ---- */

typedef struct core_tensor {
    PyObject_HEAD DLTensor dl; /* dense: strides is NULL, byte_offset 0 */
    int readonly;
    void *memory;        /* its own; NULL: the owner's */
    PyObject *owner;     /* NULL: nobody */
    Py_ssize_t *strides; /* in bytes, for the buffer protocol; after them the shape, which dl.shape is */
} core_tensor;

extern PyTypeObject *core_tensor_type;
enum { CORE_MAX_NDIM = 64 };
/* New memory, 64-byte aligned, contents unspecified. */
core_tensor *core_tensor_new(DLDataType dtype, int32_t ndim, const int64_t shape[]);
/* The memory of `owner`. */
core_tensor *core_tensor_over(PyObject *owner, void *data, int readonly, DLDataType dtype, int32_t ndim,
                              const int64_t shape[]);
uint64_t core_tensor_bytes(const core_tensor *t);
/* A dense copy of what is viewed. */
core_tensor *core_tensor_copy(const DLTensor *view);
/* A dense tensor of any array: itself, or one that shares the array's memory (buffer protocol, then DLPack), or, where
 * that is strided or misaligned, a copy, unless it is to be `writable`. What has neither protocol goes to
 * tenon._arrays.to_tensor, with the dtype that is wanted. */
core_tensor *core_tensor_from(PyObject *array, int writable, const DLDataType *wanted);
PyObject *core_tensor_dlpack(core_tensor *t, int major); /* a capsule: of DLPack `major` */
int core_tensor_getbuffer(PyObject *self, Py_buffer *view, int flags);

PyObject *core_dtype_name(DLDataType dtype);
int core_dtype_parse(PyObject *name, DLDataType *out); /* 0, or -1 with ValueError */

/* ---- types ---- */

/* Each adds its types to the module; 0 or -1. */
int core_session_init(PyObject *module);
int core_program_init(PyObject *module);
int core_kernel_init(PyObject *module);
int core_config_init(PyObject *module);
int core_library_init(PyObject *module);
int core_instance_init(PyObject *module);
int core_tensor_init(PyObject *module);
/* Makes a type and adds it; NULL on failure. */
PyTypeObject *core_type_add(PyObject *module, PyType_Spec *spec);
/* A function in a PyType_Slot, whose pointers are those of data. */
#define CORE_SLOT(f) (__extension__(void *)(f))
/* The tp_new of types whose objects only the extension makes. */
PyObject *core_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
/* The end of each tp_dealloc. */
void core_free(PyObject *self);

#endif
