/* Program: a tenon_module *, what a model's file says, and what can be made of it. */
#include "program.h"

#include <string.h>

static PyTypeObject *program_type;

PyObject *core_program_new(core_session *s, tenon_module *m)
{
    core_program *p = (core_program *)PyType_GenericAlloc(program_type, 0);
    if (!p) {
        tenon_module_free(m);
        return NULL;
    }
    Py_INCREF(s);
    p->session = s;
    p->m = m;
    return (PyObject *)p;
}

/* Where a call is at work on the session, the module is left to the session's end. */
static void program_dealloc(PyObject *self)
{
    core_program *p = (core_program *)self;
    if (p->session && !p->session->busy)
        tenon_module_free(p->m);
    Py_CLEAR(p->session);
    core_free(self);
}

/* ---- calls that take long ---- */

int core_program_call(core_program *p, core_options *o, core_work *work, void *user)
{
    int failed;
    if (core_session_begin(p->session)) {
        core_options_deinit(o);
        return -1;
    }
    if (core_call(o, work, user, &failed))
        return -1;
    if (failed)
        core_raise_compile(p->session->t);
    return failed ? -1 : 0;
}

void core_program_end(core_program *p, core_options *o)
{
    if (p && o->kept) {
        core_session_end(p->session);
        core_options_deinit(o);
    }
}

typedef struct {
    core_program *p;
    core_options o;
    tenon_report report;
    const char *name; /* an output file, a stage or passes */
    tnr_module *here;
    void *data;
    size_t n;
    const char *text;
    const void *params;
    int n_in, n_out;
    tenon_tensor *in;
    const tenon_tensor *out;
} job;

/* Runs the work. 0, or -1 with an exception. The session is the job's until its end. */
static int begin(job *j, PyObject *self, PyObject *options, core_work *work)
{
    j->p = (core_program *)self;
    j->report.size = sizeof j->report;
    if (core_options_init(&j->o, options) == 0)
        return core_program_call(j->p, &j->o, work, j);
    core_options_deinit(&j->o);
    return -1;
}

static void end(job *j) { core_program_end(j->p, &j->o); }

static const core_field report_fields[] = {
    CORE_FIELD(tenon_report, kernels, COUNT),        CORE_FIELD(tenon_report, instructions, COUNT),
    CORE_FIELD(tenon_report, constant_bytes, LONG),  CORE_FIELD(tenon_report, arena_bytes, LONG),
    CORE_FIELD(tenon_report, input_bytes, LONG),     CORE_FIELD(tenon_report, output_bytes, LONG),
    CORE_FIELD(tenon_report, scratch_bytes, LONG),   CORE_FIELD(tenon_report, package_bytes, LONG),
    CORE_FIELD(tenon_report, seconds_import, REAL),  CORE_FIELD(tenon_report, seconds_graph, REAL),
    CORE_FIELD(tenon_report, seconds_tir, REAL),     CORE_FIELD(tenon_report, seconds_schedule, REAL),
    CORE_FIELD(tenon_report, seconds_lower, REAL),   CORE_FIELD(tenon_report, seconds_codegen, REAL),
    CORE_FIELD(tenon_report, seconds_package, REAL), CORE_FIELD(tenon_report, seconds_cc, REAL),
    CORE_FIELD(tenon_report, memory, TEXT),          CORE_FIELD(tenon_report, target, TEXT),
    CORE_FIELD(tenon_report, machine, TEXT),         CORE_FIELD(tenon_report, objects_made, COUNT),
    CORE_FIELD(tenon_report, objects_cached, COUNT), CORE_FIELD(tenon_report, plan_bytes, LONG),
    CORE_FIELD(tenon_report, alive_bytes, LONG),     CORE_FIELD(tenon_report, plan_smallest, COUNT),
    CORE_FIELD(tenon_report, in_place, COUNT),       CORE_FIELD(tenon_report, features, TEXT),
    CORE_FIELD(tenon_report, memory_bytes, LONG),    CORE_FIELD(tenon_report, memory_symbols, TEXT),
    CORE_FIELD(tenon_report, state_bytes, LONG),     CORE_FIELD(tenon_report, kernels_recorded, COUNT),
    CORE_FIELD(tenon_report, graph_recorded, COUNT)};

static PyObject *report(const tenon_report *r)
{
    return core_fields_get(r, sizeof report_fields / sizeof *report_fields, report_fields);
}

static int work_here(void *user)
{
    job *j = user;
    return tenon_build_here(j->p->m, &j->o.c, &j->here, &j->report);
}

PyDoc_STRVAR(build_here_doc, "build_here(options) -> (Library, report): code in this process.");

static PyObject *build_here(PyObject *self, PyObject *options)
{
    job j = {0};
    PyObject *result = NULL;
    if (begin(&j, self, options, work_here) == 0) {
        PyObject *library = core_library_new(j.here, (PyObject *)j.p->session);
        j.here = NULL;
        result = library ? Py_BuildValue("(NN)", library, report(&j.report)) : NULL;
    }
    tnr_module_release(j.here); /* an interrupt came as the build ended */
    end(&j);
    return result;
}

static int work_build(void *user)
{
    job *j = user;
    return tenon_build(j->p->m, &j->o.c, j->name, &j->report);
}

PyDoc_STRVAR(
    build_doc,
    "build(options, output) -> report: write a package (.tar) or a self-contained file (.so, .o, .a, "
    ".c).");

static PyObject *build(PyObject *self, PyObject *args)
{
    job j = {0};
    PyObject *options, *path = NULL, *result = NULL;
    char *at;
    if (!PyArg_ParseTuple(args, "OO&:build", &options, PyUnicode_FSConverter, &path))
        return NULL;
    if (PyBytes_AsStringAndSize(path, &at, NULL) == 0) {
        j.name = at;
        if (begin(&j, self, options, work_build) == 0)
            result = report(&j.report);
        end(&j);
    }
    Py_DECREF(path);
    return result;
}

static int work_memory(void *user)
{
    job *j = user;
    return tenon_build_memory(j->p->m, &j->o.c, &j->data, &j->n, &j->report);
}

static PyObject *build_memory(PyObject *self, PyObject *options)
{
    job j = {0};
    PyObject *result = NULL;
    if (begin(&j, self, options, work_memory) == 0)
        result = Py_BuildValue("(y#N)", j.data, (Py_ssize_t)j.n, report(&j.report));
    tenon_package_free(j.data);
    end(&j);
    return result;
}

static int work_dump(void *user)
{
    job *j = user;
    return tenon_module_dump(j->p->m, &j->o.c, j->name, &j->text, &j->params, &j->n);
}

PyDoc_STRVAR(dump_doc,
             "dump(options, stage) -> (text, params or None): a copy of the program, taken to a stage.");

static PyObject *dump(PyObject *self, PyObject *args)
{
    job j = {0};
    PyObject *options, *result = NULL;
    if (!PyArg_ParseTuple(args, "Os:dump", &options, &j.name))
        return NULL;
    if (begin(&j, self, options, work_dump) == 0)
        result = Py_BuildValue("(sy#)", j.text, (const char *)j.params, (Py_ssize_t)(j.params ? j.n : 0));
    end(&j);
    return result;
}

static int work_passes(void *user)
{
    job *j = user;
    return tenon_pass_run(j->p->m, j->name, &j->o.c);
}

PyDoc_STRVAR(run_passes_doc, "run_passes(options, names): run passes over the program, in place.");

static PyObject *run_passes(PyObject *self, PyObject *args)
{
    job j = {0};
    PyObject *options;
    if (!PyArg_ParseTuple(args, "Os:run_passes", &options, &j.name))
        return NULL;
    int failed = begin(&j, self, options, work_passes);
    end(&j);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static int work_check(void *user)
{
    job *j = user;
    return tenon_check(j->p->m, &j->o.c);
}

static PyObject *check(PyObject *self, PyObject *options)
{
    job j = {0};
    int failed = begin(&j, self, options, work_check);
    end(&j);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- interpreters ---- */

static int work_interpret(void *user)
{
    job *j = user;
    return tenon_interpret(j->p->m, &j->o.c, j->name, j->n_in, j->in, &j->n_out, &j->out);
}

/* An input; `kept` holds what it points into. 0 or -1. */
static int describe(tenon_tensor *to, PyObject *name, PyObject *array, PyObject *kept)
{
    PyObject *text = PyUnicode_AsUTF8String(name);
    core_tensor *t = text ? core_tensor_from(array, 0, NULL) : NULL;
    int failed = !t || PyList_Append(kept, text) || PyList_Append(kept, (PyObject *)t);
    if (!failed && t->dl.ndim > (int)(sizeof to->shape / sizeof *to->shape)) {
        PyErr_Format(PyExc_ValueError, "input %U has %d dimensions", name, (int)t->dl.ndim);
        failed = -1;
    }
    if (!failed) {
        *to = (tenon_tensor){
            .name = PyBytes_AsString(text), .code = t->dl.dtype.code, .bits = t->dl.dtype.bits};
        to->ndim = t->dl.ndim;
        memcpy(to->shape, t->dl.shape, (size_t)t->dl.ndim * sizeof *t->dl.shape);
        to->data = t->dl.data;
        to->bytes = (size_t)core_tensor_bytes(t);
    }
    Py_XDECREF(text);
    Py_XDECREF((PyObject *)t);
    return failed ? -1 : 0;
}

static int describe_all(job *j, PyObject *inputs, PyObject *kept)
{
    PyObject *name, *array;
    Py_ssize_t at = 0;
    j->in = PyMem_Calloc((size_t)PyDict_Size(inputs) + 1, sizeof *j->in);
    if (!j->in || !kept) {
        PyErr_NoMemory();
        return -1;
    }
    while (PyDict_Next(inputs, &at, &name, &array))
        if (describe(&j->in[j->n_in++], name, array, kept))
            return -1;
    return 0;
}

static PyObject *copies(int n, const tenon_tensor t[])
{
    PyObject *all = PyList_New(n);
    for (int i = 0; all && i < n; i++) {
        core_tensor *copy = core_tensor_new((DLDataType){t[i].code, t[i].bits, 1}, t[i].ndim, t[i].shape);
        if (copy)
            memcpy(copy->dl.data, t[i].data, t[i].bytes);
        if (!copy || PyList_SetItem(all, i, (PyObject *)copy))
            Py_CLEAR(all);
    }
    return all;
}

PyDoc_STRVAR(interpret_doc, "interpret(options, stage, {name: array}) -> [Tensor]: evaluate at a stage.");

static PyObject *interpret(PyObject *self, PyObject *args)
{
    job j = {0};
    PyObject *options, *inputs, *kept = NULL, *result = NULL;
    if (!PyArg_ParseTuple(args, "OsO!:interpret", &options, &j.name, &PyDict_Type, &inputs))
        return NULL;
    kept = PyList_New(0);
    if (describe_all(&j, inputs, kept) == 0) {
        if (begin(&j, self, options, work_interpret) == 0)
            result = copies(j.n_out, j.out);
        end(&j);
    }
    PyMem_Free(j.in);
    Py_XDECREF(kept);
    return result;
}

/* ---- what is in it ---- */

static PyObject *shape_of(const tenon_value_info *v)
{
    PyObject *shape = PyTuple_New(v->ndim);
    for (int32_t d = 0; shape && d < v->ndim; d++) {
        PyObject *extent =
            v->shape[d] < 0 ? PyUnicode_FromString(v->extent[d]) : PyLong_FromLongLong(v->shape[d]);
        if (!extent || PyTuple_SetItem(shape, d, extent))
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *values(uint32_t n, const tenon_value_info v[])
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *dtype = v[i].dtype.bits ? core_dtype_name(v[i].dtype) : PyUnicode_FromString(v[i].type);
        PyObject *one = Py_BuildValue("(sNN)", v[i].name, dtype, shape_of(&v[i]));
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *metadata(uint32_t n, const tenon_metadata_info m[])
{
    PyObject *all = PyDict_New();
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *value = PyUnicode_DecodeUTF8(m[i].value, (Py_ssize_t)strlen(m[i].value), "replace");
        if (!value || PyDict_SetItemString(all, m[i].key, value))
            Py_CLEAR(all);
        Py_XDECREF(value);
    }
    return all;
}

static PyObject *functions(uint32_t n, const tenon_function_info f[])
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = Py_BuildValue("(sIII)", f[i].name, f[i].n_param, f[i].n_result, f[i].n_node);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *symbols(uint32_t n, const tnr_symbol_info s[])
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = Py_BuildValue("(sLL)", s[i].name, (long long)s[i].min, (long long)s[i].max);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *operators(uint32_t n, const tenon_operator_info op[])
{
    PyObject *all = PyDict_New();
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *calls = PyLong_FromUnsignedLong(op[i].n_call);
        if (!calls || PyDict_SetItemString(all, op[i].name, calls))
            Py_CLEAR(all);
        Py_XDECREF(calls);
    }
    return all;
}

static PyObject *texts(uint32_t n, const char *const text[])
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = PyUnicode_FromString(text[i]);
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *constructors(uint32_t n, const tenon_constructor_info c[])
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one = Py_BuildValue("(sN)", c[i].name, texts(c[i].n_field, c[i].field));
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *data_types(uint32_t n, const tenon_data_info d[])
{
    PyObject *all = PyList_New(n);
    for (uint32_t i = 0; all && i < n; i++) {
        PyObject *one =
            Py_BuildValue("(sINN)", d[i].name, d[i].n_param,
                          constructors(d[i].n_constructor, d[i].constructor), PyBool_FromLong(d[i].is_known));
        if (!one || PyList_SetItem(all, i, one))
            Py_CLEAR(all);
    }
    return all;
}

PyDoc_STRVAR(
    inspect_doc,
    "inspect() -> dict: inputs and outputs as (name, dtype, shape); functions as (name, parameters, "
    "results, nodes); operators with the number of their calls; symbols as (name, min, max); metadata; data "
    "types as (name, parameters, constructors as (name, fields), whether it is the prelude's); whether "
    "the functions are of TIR.");

static PyObject *inspect(PyObject *self, PyObject *none)
{
    core_program *p = (core_program *)self;
    PyObject *result;
    (void)none;
    if (core_session_begin(p->session))
        return NULL;
    const tenon_module_info *info = tenon_module_inspect(p->m);
    if (info)
        result = Py_BuildValue(
            "{sNsNsNsNsNsNsNsN}", "inputs", values(info->n_input, info->input), "outputs",
            values(info->n_output, info->output), "functions", functions(info->n_function, info->function),
            "operators", operators(info->n_operator, info->op), "symbols",
            symbols(info->n_symbol, info->symbol), "metadata", metadata(info->n_metadata, info->metadata),
            "data", data_types(info->n_data, info->data), "is_tir", PyBool_FromLong(info->is_tir));
    else
        result = core_raise_compile(p->session->t);
    core_session_end(p->session);
    return result;
}

static PyObject *text(PyObject *self, PyObject *none)
{
    core_program *p = (core_program *)self;
    (void)none;
    if (core_session_begin(p->session))
        return NULL;
    const char *printed = tenon_module_print(p->m);
    PyObject *result = printed ? PyUnicode_FromString(printed) : core_raise_compile(p->session->t);
    core_session_end(p->session);
    return result;
}

PyDoc_STRVAR(copy_doc, "copy() -> Program: a program of its own, which shares the weights.");

static PyObject *copy(PyObject *self, PyObject *none)
{
    core_program *p = (core_program *)self;
    PyObject *result = NULL;
    (void)none;
    if (core_session_begin(p->session))
        return NULL;
    tenon_module *m = tenon_module_copy(p->m);
    result = m ? core_program_new(p->session, m) : core_raise_compile(p->session->t);
    core_session_end(p->session);
    return result;
}

PyDoc_STRVAR(kernel_doc, "kernel(name or None) -> Kernel: of a function of TIR; None: the first.");

static PyObject *kernel(PyObject *self, PyObject *args)
{
    core_program *p = (core_program *)self;
    const char *name;
    if (!PyArg_ParseTuple(args, "z:kernel", &name) || core_session_begin(p->session))
        return NULL;
    tenon_kernel *k = tenon_kernel_from_module(p->m, name);
    PyObject *result = k ? core_kernel_new(p->session, k) : core_raise_compile(p->session->t);
    core_session_end(p->session);
    return result;
}

PyDoc_STRVAR(
    function_doc,
    "function(name) -> (nodes, body): nodes as (operator, name, source, attributes, operands, types, "
    "regions, "
    "data), operands as (node, result) or None, regions and the body as (parameters, nodes, results).");

static PyObject *function(PyObject *self, PyObject *args)
{
    core_program *p = (core_program *)self;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:function", &name) || core_session_begin(p->session))
        return NULL;
    const tenon_function_view *f = tenon_function_inspect(p->m, name);
    PyObject *result = f ? core_function_view(self, f) : core_raise_compile(p->session->t);
    core_session_end(p->session);
    return result;
}

static PyObject *get_session(PyObject *self, void *none)
{
    core_program *p = (core_program *)self;
    (void)none;
    Py_INCREF(p->session);
    return (PyObject *)p->session;
}

static PyGetSetDef properties[] = {{"session", get_session, NULL, "The session that it belongs to.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"build_here", build_here, METH_O, build_here_doc},
    {"build", build, METH_VARARGS, build_doc},
    {"build_memory", build_memory, METH_O, "build_memory(options) -> (bytes, report): a package in memory."},
    {"dump", dump, METH_VARARGS, dump_doc},
    {"run_passes", run_passes, METH_VARARGS, run_passes_doc},
    {"interpret", interpret, METH_VARARGS, interpret_doc},
    {"check", check, METH_O, "check(options): find everything that prevents a build."},
    {"function", function, METH_VARARGS, function_doc},
    {"kernel", kernel, METH_VARARGS, kernel_doc},
    {"copy", copy, METH_NOARGS, copy_doc},
    {"inspect", inspect, METH_NOARGS, inspect_doc},
    {"text", text, METH_NOARGS, "The program as text."},
    {"tune", core_program_tune, METH_VARARGS, core_program_tune_doc},
    {"tune_graph", core_program_tune_graph, METH_VARARGS, core_program_tune_graph_doc},
    {"tune_list", core_program_tune_list, METH_VARARGS, core_program_tune_list_doc},
    {"tune_point", core_program_tune_point, METH_VARARGS, core_program_tune_point_doc},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, CORE_SLOT(core_refuse_new)},
                              {Py_tp_dealloc, CORE_SLOT(program_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_tp_doc, "A program of a session: functions of Relay, or of TIR."},
                              {0, NULL}};
static PyType_Spec spec = {"tenon._core.Program", sizeof(core_program), 0, Py_TPFLAGS_DEFAULT, slots};

int core_program_init(PyObject *module) { return (program_type = core_type_add(module, &spec)) ? 0 : -1; }
