/* A side of a comparison: a model with flags, compiled or interpreted, a package, ONNX Runtime, or arrays. */
#include "cli/compare.h"
#include "cli/feed.h"
#include "tenon/host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what it is ---- */

/* The first member of a zip archive: one of arrays, not of a model (PyTorch, Keras)? Longer names are of arrays. */
static bool holds_arrays(const unsigned char *at, size_t n)
{
    size_t name = n > 30 ? at[26] | (size_t)at[27] << 8 : 0;
    return 30 + name > n || name < 4 || memcmp(at + 30 + name - 4, ".npy", 4) == 0;
}

static enum tn_side_kind kind_of(const char *path)
{
    unsigned char at[512] = {0};
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(at, 1, sizeof at, f) : 0;
    if (f)
        fclose(f);
    if (n >= 4 && memcmp(at, "PK\3\4", 4) == 0)
        return holds_arrays(at, n) ? TN_SIDE_ARRAYS : TN_SIDE_MODEL;
    if ((n >= 4 && memcmp(at, "\177ELF", 4) == 0) || memcmp(at + 257, "ustar", 5) == 0)
        return TN_SIDE_PACKAGE;
    return TN_SIDE_MODEL;
}

static int read_arrays(tn_side *s)
{
    tn_npz *z;
    int status = tn_npz_open(s->path, &z);
    for (int i = 0; status == TN_EXIT_OK && i < tn_npz_count(z); i++) {
        tn_array a = *tn_npz_at(z, i);
        status = tn_npz_read(z, i, &a.data);
        DLTensor t = tn_array_view(&a);
        if (status == TN_EXIT_OK)
            status = tn_values_add(&s->given, a.name, &t, a.type.data_bytes);
        free(a.data);
    }
    tn_npz_free(z);
    return status;
}

/* Flags of one side say how a model is made and run, nothing else. */
static int check_own(const tn_side *s, const tn_args *both)
{
    for (int i = both->n_given; i < s->args.n_given; i++) {
        const tn_flag *f = s->args.given[i].flag;
        for (const tn_flag *c = tn_compare_flags; c->name; c++)
            if (c == f && strcmp(f->name, "stage") != 0)
                return tn_usage_error(both->command, "--%s is for both sides; give it before the first --",
                                      f->name);
    }
    return TN_EXIT_OK;
}

/* The words for both sides, then those for this one, are a command line of its own. */
static int read_flags(tn_side *s, const tn_args *both, int n, char *const own[])
{
    s->word = calloc((size_t)both->n_word + (size_t)n + 1, sizeof *s->word);
    if (!s->word)
        return tn_error_print("out of memory");
    for (int i = 0; i < both->n_word + n; i++)
        s->word[i] = i < both->n_word ? both->word[i] : own[i - both->n_word];
    int status = tn_args_parse(&s->args, both->command, both->n_word + n, s->word);
    return status == TN_EXIT_OK ? check_own(s, both) : status;
}

int tn_side_init(tn_side *s, char letter, const tn_args *args, const char *path, int n, char *const own[])
{
    *s = (tn_side){.letter = letter, .path = path};
    int status = read_flags(s, args, n, own);
    if (status != TN_EXIT_OK)
        return status;
    status = tn_model_options_init(&s->model, &s->args);
    if (status != TN_EXIT_OK)
        return status;
    if (s->model.options.states)
        return tn_error_print("--state: %s does not keep states; leave the flag out", args->command->name);
    s->kind = kind_of(path);
    return s->kind == TN_SIDE_ARRAYS ? read_arrays(s) : TN_EXIT_OK;
}

void tn_side_deinit(tn_side *s)
{
    tn_values_deinit(&s->given);
    tn_model_options_deinit(&s->model);
    tn_args_deinit(&s->args);
    free(s->word);
}

bool tn_side_can_run(const tn_side *s) { return s->kind == TN_SIDE_MODEL || s->kind == TN_SIDE_ONNXRUNTIME; }

/* ---- inputs ---- */

static int feed(uint32_t n, const tnr_tensor_info info[], const char *npz, const char *mode, tn_values *out)
{
    tn_feed f = {0};
    int status = tn_feed_init(&f, n, info, npz, mode);
    for (uint32_t i = 0; i < n && status == TN_EXIT_OK; i++) {
        DLTensor t = tn_array_view(&f.array[i]);
        t.dtype = info[i].dtype;
        status = tn_values_add(out, info[i].name, &t, f.array[i].type.data_bytes);
    }
    tn_feed_deinit(&f);
    return status;
}

static int model_inputs(tn_side *s, const char *npz, const char *mode, tn_values *out)
{
    tn_model_options *m = &s->model;
    int status = tn_model_read_for(m, s->path, npz);
    const tenon_module_info *x = status == TN_EXIT_OK ? tenon_module_inspect(m->module) : NULL;
    if (!x)
        return TN_EXIT_ERROR;
    tnr_tensor_info *info = calloc((size_t)x->n_input + 1, sizeof *info);
    if (!info)
        return tn_error_print("out of memory");
    for (uint32_t i = 0; i < x->n_input; i++)
        info[i] = (tnr_tensor_info){.name = x->input[i].name,
                                    .dtype = x->input[i].dtype,
                                    .ndim = x->input[i].ndim,
                                    .shape = x->input[i].shape};
    status = feed(x->n_input, info, npz, mode, out);
    free(info);
    tenon_module_free(m->module);
    m->module = NULL;
    return status;
}

static int package_inputs(const tn_side *s, const char *npz, const char *mode, tn_values *out)
{
    tnr_module *m;
    tnr_error err;
    if (tnr_module_open(s->path, NULL, &m, &err))
        return tn_error_print("%s: %s", s->path, err.message);
    uint32_t n = tnr_input_count(m);
    tnr_tensor_info *info = calloc(n + 1u, sizeof *info);
    int status = info ? TN_EXIT_OK : tn_error_print("out of memory");
    for (uint32_t i = 0; i < n && status == TN_EXIT_OK; i++)
        if (tnr_input_info(m, i, &info[i], &err))
            status = tn_error_print("%s: %s", s->path, err.message);
    if (status == TN_EXIT_OK)
        status = feed(n, info, npz, mode, out);
    free(info);
    tnr_module_release(m);
    return status;
}

int tn_side_same_ranks(tn_side *s, const tn_side *from, const char *npz)
{
    if (s->kind != TN_SIDE_MODEL || !from->model.shapes)
        return TN_EXIT_OK;
    int status = tn_model_read_for(&s->model, s->path, npz);
    tenon_module_free(s->model.module);
    s->model.module = NULL;
    return status;
}

int tn_side_inputs(tn_side *s, const char *npz, const char *mode, tn_values *out)
{
    return s->kind == TN_SIDE_PACKAGE ? package_inputs(s, npz, mode, out) : model_inputs(s, npz, mode, out);
}

/* ---- running ---- */

typedef struct run {
    const tn_side *side;
    const tn_values *in;
    tn_values *out;
    bool quiet;
    tnr_profile_fn *look; /* at a second run; NULL: there is none */
    void *look_user;
    tnr_error err;
} run;

static int say(const run *r, const char *text)
{
    return r->quiet ? TN_EXIT_ERROR : tn_error_print("%c: %s: %s", r->side->letter, r->side->path, text);
}

static int no_input(const run *r, const char *name)
{
    char text[512];
    snprintf(text, sizeof text, "there is no value for its input \"%.400s\"", name);
    return say(r, text);
}

static int set_inputs(run *r, tnr_module *m, tnr_instance *i)
{
    for (uint32_t k = 0; k < tnr_input_count(m); k++) {
        tnr_tensor_info info;
        if (tnr_input_info(m, k, &info, &r->err))
            return say(r, r->err.message);
        const tn_array *a = tn_values_find(r->in, info.name);
        if (!a)
            return no_input(r, info.name);
        DLTensor t = tn_array_view(a);
        if (tnr_set_input_at(i, k, &t, &r->err))
            return say(r, r->err.message);
    }
    return TN_EXIT_OK;
}

static int take_outputs(run *r, tnr_module *m, tnr_instance *i)
{
    int status = TN_EXIT_OK;
    for (uint32_t k = 0; k < tnr_output_count(m) && status == TN_EXIT_OK; k++) {
        tnr_tensor_info info;
        DLTensor t;
        uint64_t bytes;
        if (tnr_output_info(m, k, &info, &r->err) ||
            (info.dtype.code != kDLOpaqueHandle &&
             (tnr_get_output_at(i, k, &t, &r->err) ||
              tnr_tensor_bytes(t.dtype, t.ndim, t.shape, &bytes, &r->err))))
            return say(r, r->err.message);
        if (info.dtype.code != kDLOpaqueHandle)
            status = tn_values_add(r->out, info.name, &t, bytes);
    }
    return status;
}

static int run_module(run *r, tnr_module *m)
{
    tnr_instance *i = NULL;
    const tnr_instance_options o = {
        .executor = tnr_module_has_executor(m, TNR_EXECUTOR_AOT) ? TNR_EXECUTOR_AOT : TNR_EXECUTOR_GRAPH};
    if (tnr_instance_new(m, &o, &i, &r->err))
        return say(r, r->err.message);
    int status = set_inputs(r, m, i);
    if (status == TN_EXIT_OK && tnr_run(i, &r->err))
        status = say(r, r->err.message);
    if (status == TN_EXIT_OK && r->look) {
        tnr_profile_set(i, r->look, r->look_user);
        status = tnr_run(i, &r->err) ? say(r, r->err.message) : TN_EXIT_OK;
    } else if (status == TN_EXIT_OK) {
        status = take_outputs(r, m, i);
    }
    tnr_instance_free(i);
    return status;
}

static int run_package(run *r)
{
    tnr_module *m;
    if (tnr_module_open(r->side->path, NULL, &m, &r->err))
        return say(r, r->err.message);
    int status = tnr_host_register_all(m, &r->err) ? say(r, r->err.message) : run_module(r, m);
    tnr_module_release(m);
    return status;
}

/* Messages of a session, unless the run is a quiet one. */
static int messages(const run *r, const tn_model_options *m, int failed)
{
    return r->quiet ? (failed ? TN_EXIT_ERROR : TN_EXIT_OK) : tn_model_messages(m, failed);
}

static int interpret(run *r, tn_model_options *m)
{
    const tenon_module_info *x = tenon_module_inspect(m->module);
    const tenon_tensor *out = NULL;
    int n = 0, status = TN_EXIT_OK;
    tenon_tensor *in = x ? calloc((size_t)x->n_input + 1, sizeof *in) : NULL;
    if (!in)
        return tn_error_print("out of memory");
    uint32_t n_in = x->n_input;
    for (uint32_t i = 0; i < n_in && status == TN_EXIT_OK; i++) {
        const tn_array *a = tn_values_find(r->in, x->input[i].name);
        if (!a) {
            status = no_input(r, x->input[i].name);
            break;
        }
        in[i] = (tenon_tensor){.name = a->name,
                               .code = a->type.code,
                               .bits = a->type.bits,
                               .ndim = a->type.ndim,
                               .data = a->data,
                               .bytes = a->type.data_bytes};
        memcpy(in[i].shape, a->type.shape, sizeof in[i].shape);
    }
    if (status == TN_EXIT_OK)
        status =
            messages(r, m, tenon_interpret(m->module, &m->options, r->side->stage, (int)n_in, in, &n, &out));
    for (int i = 0; i < n && status == TN_EXIT_OK; i++) {
        DLTensor t = {.data = out[i].data,
                      .ndim = out[i].ndim,
                      .dtype = {out[i].code, out[i].bits, 1},
                      .shape = (int64_t *)(uintptr_t)out[i].shape};
        status = tn_values_add(r->out, out[i].name, &t, out[i].bytes);
    }
    free(in);
    return status;
}

/* Of code that cannot be made in this process, a package is made. */
static int compile(run *r, tn_model_options *m)
{
    bool here = tenon_target_runs_here(m->options.target);
    tnr_module *module = NULL;
    void *data = NULL;
    size_t n = 0;
    int failed = here ? tenon_build_here(m->module, &m->options, &module, NULL)
                      : tenon_build_memory(m->module, &m->options, &data, &n, NULL);
    int status = messages(r, m, failed);
    if (status == TN_EXIT_OK && !here &&
        (tnr_module_open_memory(data, n, NULL, &module, &r->err) || tnr_host_register_all(module, &r->err)))
        status = say(r, r->err.message);
    if (status == TN_EXIT_OK)
        status = run_module(r, module);
    tnr_module_release(module);
    tenon_package_free(data);
    return status;
}

/* Each run has a session of its own: code that ran is gone with it. */
static int run_model(run *r, const tn_side_model *model)
{
    tn_model_options m = r->side->model;
    m.session = tenon_new();
    if (!m.session)
        return tn_error_print("out of memory");
    if (model) /* its inputs have names and shapes of their own */
        m.options.input_shapes = NULL;
    if (!model)
        m.module = tenon_module_read(m.session, r->side->path, &m.options);
    else if (model->relay)
        m.module = tenon_module_parse(m.session, model->at, model->params, model->n_params);
    else
        m.module = tenon_module_from_memory(m.session, r->side->path, model->at, model->n, &m.options);
    int status = messages(r, &m, !m.module);
    if (status == TN_EXIT_OK)
        status = r->side->stage ? interpret(r, &m) : compile(r, &m);
    tenon_free(m.session);
    return status;
}

int tn_side_run(const tn_side *s, const tn_side_model *model, const tn_values *in, bool quiet, tn_values *out)
{
    run r = {.side = s, .in = in, .out = out, .quiet = quiet};
    switch (s->kind) {
    case TN_SIDE_MODEL: return run_model(&r, model);
    case TN_SIDE_PACKAGE: return run_package(&r);
    case TN_SIDE_ONNXRUNTIME:
        return tn_onnxruntime_run(s->path, model, s->model.options.opt_level != TENON_O0, in, quiet, out);
    case TN_SIDE_ARRAYS: break;
    }
    for (uint32_t i = 0; i < s->given.n; i++) {
        DLTensor t = tn_array_view(&s->given.array[i]);
        if (tn_values_add(out, s->given.array[i].name, &t, s->given.array[i].type.data_bytes) != TN_EXIT_OK)
            return TN_EXIT_ERROR;
    }
    return TN_EXIT_OK;
}

int tn_side_profile(const tn_side *s, const tn_values *in, tnr_profile_fn *fn, void *user)
{
    run r = {.side = s, .in = in, .look = fn, .look_user = user};
    return s->kind == TN_SIDE_PACKAGE ? run_package(&r) : run_model(&r, NULL);
}
