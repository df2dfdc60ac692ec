/* tenon run: a package on this machine. */
#include "cli/cli.h"
#include "cli/feed.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/states.h"
#include "cli/values.h"
#include "tenon/host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// clang-format off
const tn_flag tn_run_flags[] = {
    TN_ROW_TEXT("inputs", 'i', "NPZ", NULL, "archive of input arrays, each under its input's name"),
    TN_ROW_TEXT("outputs", 'o', "NPZ", NULL, "archive to write the outputs to, as output_0, output_1, ..."),
    TN_ROW_SWITCH("model-names", 0, "store outputs under the model's own names"),
    TN_ROW_CHOICE("fill-mode", 0, "random|zeros|ones", NULL,
            "values of inputs that --inputs does not give (fixed seed); random without --inputs"),
    TN_ROW_TEXT("states", 0, "NPZ", NULL,
                "archive that the model's states are read from, if it is there, and written to after the run"),
    TN_ROW_SWITCH("verify-weights", 0, "compare the weights with their checksum before running"),
    TN_ROW_CHOICE("device", 0, "cpu|cuda!|cl!|metal!|vulkan!|rocm!|micro!", "cpu", "device to run on"),
    TN_ROW_CHOICE("executor", 0, "aot|vm|graph", NULL,
            "executor to use: aot and vm are one; by default aot if the package has it, else graph"),
    TN_ROW_INT("threads", 0, 1, 256, NULL,
               "number of threads; by default TVM_NUM_THREADS, OMP_NUM_THREADS or the number of cores"),
    TN_ROW_SWITCH("print-time", 0, "run again --repeat x --number times and print a table of the times"),
    TN_ROW_INT("repeat", 0, 1, INT_MAX, "1", "number of measurements"),
    TN_ROW_INT("number", 0, 1, INT_MAX, "1", "runs per measurement; each measurement is their mean"),
    TN_ROW_SWITCH("end-to-end", 0, "include setting the inputs and copying the outputs in the times"),
    TN_ROW_INT("print-top", 0, 1, INT_MAX, NULL, "print the N largest values of output_0[0] and their indices"),
    TN_ROW_SWITCH("profile", 0, "run once more and print the time of each kernel"),
    TN_ROW_SWITCH("wide", 0, "print all columns of --profile, whatever the terminal's width"),
    TN_ROW_SWITCH("check", 0, "guard the memory of each value; an error names the kernel that writes outside (slow)"),
    TN_ROW_TEXT("dump-outputs", 0, "DIR", NULL,
            "run once more and write what each kernel computes to this folder, as .npy files with a list"),
    TN_ROW_REFUSED("rpc-key"),
    TN_ROW_REFUSED("rpc-tracker"),
    TN_ROW_REFUSED("project-option"),
    TN_ROW_REFUSED("list-options"),
    {0},
};
// clang-format on

typedef struct {
    const tn_args *args;
    tnr_module *module;
    tnr_instance *instance;
    int executor; /* enum tnr_executor */
    tn_feed feed;
    tnr_tensor_info *info; /* of the inputs */
    void *copy;            /* of an output, --end-to-end */
    tnr_error err;
} runner;

/* A check of the model names the node; which of several models it was is the caller's to know. */
static int fail(const runner *r)
{
    if (r->err.code == TNR_E_CHECK)
        return tn_error_print("%s: %s", r->args->operand, r->err.message);
    return tn_error_print("%s", r->err.message);
}

/* A model given instead of its package is what most people meet first. */
static int fail_open(const runner *r)
{
    const char *path = r->args->operand;
    if (tn_file_refuse(path, TENON_WANTED_PACKAGE))
        return TN_EXIT_ERROR;
    return r->err.code == TNR_E_IO ? fail(r) : tn_error_print("%s: %s", path, r->err.message);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- making ready ---- */

static int open_package(runner *r)
{
    const char *executor = tn_args_text(r->args, "executor");
    tnr_module_options how = {.flags =
                                  tn_args_count(r->args, "verify-weights") ? TNR_MODULE_CHECK_WEIGHTS : 0};
    if (tnr_module_open(r->args->operand, &how, &r->module, &r->err) ||
        tnr_host_register_all(r->module, &r->err))
        return fail_open(r);
    r->executor = TNR_EXECUTOR_AOT;
    if (executor ? strcmp(executor, "graph") == 0 : !tnr_module_has_executor(r->module, TNR_EXECUTOR_AOT))
        r->executor = TNR_EXECUTOR_GRAPH;
    if (tn_args_count(r->args, "threads") && tnr_threads_set(tn_args_int(r->args, "threads"), &r->err))
        return fail(r);
    tnr_instance_options o = {.executor = r->executor,
                              .flags = tn_args_count(r->args, "check") ? TNR_INSTANCE_CHECK : 0};
    return tnr_instance_new(r->module, &o, &r->instance, &r->err) ? fail(r) : TN_EXIT_OK;
}

/* The type of an input or output that is no tensor of numbers. */
static const char *type_of(const runner *r, const char *what, const char *name)
{
    char key[512];
    snprintf(key, sizeof key, "%s_type.%.480s", what, name);
    const char *type = tnr_metadata(r->module, key);
    return type ? type : "";
}

static int set_value(runner *r, uint32_t i)
{
    tnr_value *v = NULL;
    const char *name = r->info[i].name;
    int status =
        tn_value_read(r->instance, name, type_of(r, "input", name), r->feed.n_part, r->feed.part, &v);
    if (status == TN_EXIT_OK && tnr_set_input_value(r->instance, i, v, &r->err))
        status = fail(r);
    tnr_value_release(v);
    return status;
}

static bool is_value(const tnr_tensor_info *info) { return info->dtype.code == kDLOpaqueHandle; }

static int set_inputs(runner *r)
{
    for (uint32_t i = 0; i < r->feed.n; i++) {
        tn_array *a = &r->feed.array[i];
        int status = is_value(&r->info[i]) ? set_value(r, i) : TN_EXIT_OK;
        if (status != TN_EXIT_OK)
            return status;
        if (is_value(&r->info[i]))
            continue;
        DLTensor t = {.data = a->data,
                      .device = {kDLCPU, 0},
                      .ndim = a->type.ndim,
                      .dtype = r->info[i].dtype,
                      .shape = a->type.shape};
        if (tnr_set_input_at(r->instance, i, &t, &r->err))
            return fail(r);
    }
    return TN_EXIT_OK;
}

static int feed(runner *r)
{
    uint32_t n = tnr_input_count(r->module);
    r->info = calloc(n + 1u, sizeof *r->info);
    if (!r->info)
        return tn_error_print("out of memory");
    for (uint32_t i = 0; i < n; i++)
        if (tnr_input_info(r->module, i, &r->info[i], &r->err))
            return fail(r);
    r->feed.takes_values = true;
    int status = tn_feed_init(&r->feed, n, r->info, tn_args_text(r->args, "inputs"),
                              tn_args_text(r->args, "fill-mode"));
    return status == TN_EXIT_OK ? set_inputs(r) : status;
}

/* ---- running ---- */

static int copy_outputs(runner *r)
{
    for (uint32_t i = 0; i < tnr_output_count(r->module); i++) {
        DLTensor t;
        uint64_t bytes;
        tnr_tensor_info info;
        if (tnr_output_info(r->module, i, &info, &r->err))
            return fail(r);
        if (is_value(&info))
            continue;
        if (tnr_get_output_at(r->instance, i, &t, &r->err) ||
            tnr_tensor_bytes(t.dtype, t.ndim, t.shape, &bytes, &r->err))
            return fail(r);
        free(r->copy);
        r->copy = malloc(bytes + 1);
        if (!r->copy)
            return tn_error_print("out of memory");
        memcpy(r->copy, (const char *)t.data + t.byte_offset, bytes);
    }
    return TN_EXIT_OK;
}

static int run_once(runner *r, bool end_to_end)
{
    int status = end_to_end ? set_inputs(r) : TN_EXIT_OK;
    if (status == TN_EXIT_OK && tnr_run(r->instance, &r->err))
        return fail(r);
    return status == TN_EXIT_OK && end_to_end ? copy_outputs(r) : status;
}

static int measure(runner *r)
{
    int repeat = tn_args_int(r->args, "repeat"), number = tn_args_int(r->args, "number"), status = TN_EXIT_OK;
    bool end_to_end = tn_args_count(r->args, "end-to-end") > 0;
    double *ns = calloc((size_t)repeat, sizeof *ns);
    if (!ns)
        return tn_error_print("out of memory for %d measurements", repeat);
    for (int i = 0; i < repeat && status == TN_EXIT_OK; i++) {
        uint64_t start = now();
        for (int k = 0; k < number && status == TN_EXIT_OK; k++)
            status = run_once(r, end_to_end);
        ns[i] = (double)(now() - start) / number;
    }
    if (status == TN_EXIT_OK)
        tn_print_times(repeat, ns);
    free(ns);
    return status;
}

static tenon_rates machine_rates(void)
{
    tenon_rates rates = {0};
    tenon *t = tenon_new();
    if (!t || tenon_machine_rates(t, &rates))
        rates = (tenon_rates){0};
    tenon_free(t);
    return rates;
}

static int profile(runner *r)
{
    tn_profile *p = tn_profile_new();
    if (!p)
        return tn_error_print("out of memory");
    tnr_profile_set(r->instance, tn_profile_add, p);
    uint64_t start = now();
    int status = run_once(r, false);
    tn_profile_run about = {.total = now() - start,
                            .threads = tnr_threads_get(),
                            .executor = r->executor == TNR_EXECUTOR_AOT ? "AOT" : "Graph",
                            .wide = tn_args_count(r->args, "wide") > 0};
    tnr_profile_set(r->instance, NULL, NULL);
    about.rates = machine_rates();
    if (status == TN_EXIT_OK && tn_profile_print(p, &about))
        status = tn_error_print("out of memory for the profile");
    tn_profile_free(p);
    return status;
}

/* One more run, with every intermediate written. */
static int dump_outputs(runner *r, const char *folder)
{
    tn_dump *d = tn_dump_new(folder, r->instance);
    if (!d)
        return TN_EXIT_ERROR;
    tnr_profile_set(r->instance, tn_dump_add, d);
    int status = run_once(r, false);
    tnr_profile_set(r->instance, NULL, NULL);
    int written = tn_dump_end(d);
    return status == TN_EXIT_OK ? written : status;
}

/* ---- results ---- */

static int save_value(runner *r, tn_npz_out *z, uint32_t k, const char *as, const char *name)
{
    tnr_value *v;
    if (tnr_get_output_value(r->instance, k, &v, &r->err))
        return fail(r);
    int status = tn_value_write(z, as, type_of(r, "output", name), v);
    tnr_value_release(v);
    return status;
}

static int save_tensor(runner *r, tn_npz_out *z, uint32_t k, const char *as)
{
    DLTensor t;
    tn_array a = {0};
    if (tnr_get_output_at(r->instance, k, &t, &r->err))
        return fail(r);
    int status = tn_array_of(as, &t, &a);
    status = status == TN_EXIT_OK ? tn_npz_add(z, &a) : status;
    tn_array_drop(&a);
    return status;
}

/* One after the other, from where the run left them. */
static int save_outputs(runner *r, const char *path)
{
    tn_npz_out *z;
    bool own = tn_args_count(r->args, "model-names") > 0;
    int status = tn_npz_create(path, &z);
    for (uint32_t k = 0; k < tnr_output_count(r->module) && status == TN_EXIT_OK; k++) {
        char number[24];
        tnr_tensor_info info;
        snprintf(number, sizeof number, "output_%u", (unsigned)k);
        status = tnr_output_info(r->module, k, &info, &r->err) ? fail(r)
                 : is_value(&info) ? save_value(r, z, k, own ? info.name : number, info.name)
                                   : save_tensor(r, z, k, own ? info.name : number);
    }
    return tn_npz_close(z, status);
}

static int print_top(runner *r, int n)
{
    DLTensor t;
    return tnr_get_output_at(r->instance, 0, &t, &r->err) ? fail(r) : tn_print_top(&t, n);
}

/* A run from where the states are to begin. */
static int run_first(runner *r)
{
    int status = tn_states_begin(r->instance, tn_args_text(r->args, "states"));
    return status == TN_EXIT_OK ? run_once(r, false) : status;
}

/* Runs for --profile and its kin have changed states and outputs: what is shown and saved is of the first run. */
static int run_again(runner *r)
{
    const tn_args *a = r->args;
    bool more =
        tn_args_count(a, "profile") || tn_args_text(a, "dump-outputs") || tn_args_count(a, "print-time");
    return more && tnr_state_count(r->module) ? run_first(r) : TN_EXIT_OK;
}

static int check_states(const runner *r)
{
    if (tn_args_text(r->args, "states") && !tnr_state_count(r->module))
        return tn_error_print("%s: --states: the model has no states; compile it with --state INPUT=OUTPUT",
                              r->args->operand);
    return TN_EXIT_OK;
}

static int save(runner *r)
{
    const char *outputs = tn_args_text(r->args, "outputs"), *states = tn_args_text(r->args, "states");
    int status = outputs ? save_outputs(r, outputs) : TN_EXIT_OK;
    return status == TN_EXIT_OK && states ? tn_states_save(r->instance, states) : status;
}

static int run(runner *r)
{
    const tn_args *a = r->args;
    int status = open_package(r);
    if (status == TN_EXIT_OK)
        status = check_states(r);
    if (status == TN_EXIT_OK)
        status = feed(r);
    if (status == TN_EXIT_OK)
        status = run_first(r);
    if (status == TN_EXIT_OK && tn_args_count(a, "profile"))
        status = profile(r);
    if (status == TN_EXIT_OK && tn_args_text(a, "dump-outputs"))
        status = dump_outputs(r, tn_args_text(a, "dump-outputs"));
    if (status == TN_EXIT_OK && tn_args_count(a, "print-time"))
        status = measure(r);
    if (status == TN_EXIT_OK)
        status = run_again(r);
    if (status == TN_EXIT_OK && tn_args_count(a, "print-top"))
        status = print_top(r, tn_args_int(a, "print-top"));
    return status == TN_EXIT_OK ? save(r) : status;
}

int tn_run_command(const tn_args *args)
{
    runner r = {.args = args};
    tn_cleanup_begin(false);
    int status = run(&r);
    tn_cleanup_end();
    tnr_instance_free(r.instance);
    tnr_module_release(r.module);
    tn_feed_deinit(&r.feed);
    free(r.info);
    free(r.copy);
    return status;
}
