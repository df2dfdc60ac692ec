/* The flags that say how a model is read and compiled, shared by compile, dump, opt and interpret; and what
 * they make of the compiler's options. */
#include "cli/cli.h"
#include "cli/npz.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND(name) TN_ROW_FAMILY("target-" name "-")

// clang-format off
const tn_flag tn_model_flags[] = {
    TN_OPTION_TEXT(target, "target", "TEXT", "llvm",
                   "llvm or c, then options: -mcpu=... -mattr=+avx2,+fma -mtriple=... -num-cores=N"),
    TN_ROW_TEXT("target-llvm-mcpu", 0, "CPU", NULL,
                "compile for the features of this CPU: skylake-avx512, znver4, x86-64-v3, native"),
    TN_ROW_TEXT("target-llvm-mattr", 0, "FEATURES", NULL,
                "+avx2,+fma: exactly these features; -avx512f: all of this machine except these"),
    TN_ROW_TEXT("target-llvm-mtriple", 0, "TRIPLE", NULL, "system to compile for, such as aarch64-linux-gnu"),
    TN_ROW_INT("target-llvm-num-cores", 0, 1, 4096, NULL, "number of cores to schedule for"),
    TN_OPTION_TEXT(machine_file, "machine", "FILE", NULL,
                   "machine description (JSON) to use instead of this machine's"),
    TN_OPTION_TEXT(input_shapes, "input-shapes", "SHAPES", NULL,
                   "\"x:[1,3,224,224] y:[batch,10]\"; a name makes a dimension symbolic, and so does -1"),
    TN_OPTION_CHOICE(model_format, "model-format",
                     "onnx|relay|pb|tflite|keras|pytorch|paddle|mxnet|darknet|coreml|caffe|caffe2", NULL,
                     "format of the model; by default told from its content and name"),
    TN_OPTION_TEXT(outputs, "outputs", "NAMES", NULL,
                   "values of the model that become its results: \"a b\"; by default those that the model says"),
    TN_OPTION_TEXT(signature, "signature", "NAME", NULL, "which of the model's signatures is compiled"),
    TN_OPTION_TEXT(architecture, "architecture", "NAME", NULL,
                   "network that a file of weights is for (.pth, .safetensors): resnet18, vgg16_bn, vit_b_16 ..."),
    TN_OPTION(INT, opt_level, "opt-level", 'O', "N", "3", "optimisation level, 0 to 4", 0, 4),
    TN_OPTION_TEXT(disabled_pass, "disabled-pass", "NAMES", NULL,
                   "graph passes to leave out, separated by commas (`opt --list` names them)"),
    TN_OPTION_TEXT(module_name, "module-name", "NAME", "default", "prefix of the kernels' names"),
    TN_OPTION_SWITCH(no_variants, "no-variants", "do not add kernel variants for a symbolic dimension of 1"),
    TN_OPTION_SWITCH(no_in_place, "no-in-place",
                     "never let a result reuse the memory of one of its operands"),
    TN_OPTION_CHOICE(memory, "memory", "plan|pool", "plan",
                     "temporaries at planned places of one arena, or each in a block that is given back after its last "
                     "use"),
    TN_OPTION(INT, threads, "threads", 0, "N", NULL,
              "number of threads that compile; by default the number of cores that the process may use", 1, 256),
    TN_OPTION(INT, max_memory, "max-memory", 0, "MIB", NULL, "fail when the compiler needs more memory than this", 1,
              INT_MAX),
    TN_OPTION(INT, max_seconds, "max-seconds", 0, "N", NULL, "fail when it takes longer than this", 1, INT_MAX),
    TN_OPTION(INT, max_nodes, "max-nodes", 0, "N", NULL, "fail when the model's graph has more nodes than this", 1,
              INT_MAX),
    TN_OPTION_WORDS(desired_layout, "desired-layout", "LAYOUT...",
                    "convert convolutions to NCHW, NHWC or DATA:KERNEL (NHWC:HWIO): one layout for all operators, or "
                    "one each"),
    TN_OPTION_WORDS(desired_layout_ops, "desired-layout-ops", "OPERATOR...",
                    "operators to convert; by default all that have a layout"),
    TN_OPTION_SWITCH(mixed_precision, "mixed-precision", "compute in 16-bit floats where that is safe"),
    TN_OPTION_WORDS(mixed_precision_ops, "mixed-precision-ops", "OPERATOR...",
                    "operators to convert; by default those that gain from it"),
    TN_OPTION_CHOICE(mixed_precision_calculation_type, "mixed-precision-calculation-type",
                     "float16|bfloat16|float32", "float16",
                     "type in which they compute"),
    TN_OPTION_CHOICE(mixed_precision_acc_type, "mixed-precision-acc-type", "float16|bfloat16|float32", "float32",
                     "type of their sums, and of elementwise operators that alone read these"),
    TN_OPTION_REPEAT(states, "state", "INPUT=OUTPUT",
                     "keep that output between runs, as what that input is in the next one; may be repeated"),
    TN_OPTION_REPEAT(pass_config, "pass-config", "KEY=VALUE", "configure a pass; may be repeated"),
    TN_OPTION_TEXT(tuning_records, "tuning-records", "FILE", NULL,
                   "schedules that `tune` has found: kernels that have one for this machine are scheduled by it"),
    TN_OPTION_SWITCH(no_records, "no-records", "leave the records alone that `tune` keeps for this user"),
    TN_ROW_REFUSED("dump-offloads"),
    TN_ROW_REFUSED("executor-graph-link-params"),
    TN_ROW_REFUSED("executor-aot-link-params"),
    TN_ROW_REFUSED("executor-aot-unpacked-api"),
    TN_ROW_REFUSED("executor-aot-interface-api"),
    TN_ROW_REFUSED("executor-aot-workspace-byte-alignment"),
    TN_ROW_REFUSED("executor-aot-constant-byte-alignment"),
    TN_ROW_REFUSED("runtime-cpp-system-lib"),
    TN_ROW_REFUSED("runtime-crt-system-lib"),
    TN_ROW_REFUSED("workspace-pools"),
    TN_ROW_REFUSED("workspace-pools-targets"),
    TN_ROW_REFUSED("workspace-pools-size-hint-bytes"),
    TN_ROW_REFUSED("workspace-pools-clock-frequency-hz"),
    TN_ROW_REFUSED("workspace-pools-read-bandwidth-bytes-per-cycle"),
    TN_ROW_REFUSED("workspace-pools-write-bandwidth-bytes-per-cycle"),
    TN_ROW_REFUSED("workspace-pools-read-latency-cycles"),
    TN_ROW_REFUSED("workspace-pools-write-latency-cycles"),
    TN_ROW_REFUSED("workspace-pools-target-burst-bytes"),
    KIND("llvm"), KIND("c"), KIND("cuda"), KIND("nvptx"), KIND("rocm"), KIND("opencl"), KIND("metal"),
    KIND("vulkan"), KIND("webgpu"), KIND("sdaccel"), KIND("aocl"), KIND("aocl_sw_emu"), KIND("hexagon"),
    KIND("stackvm"), KIND("ext_dev"), KIND("hybrid"), KIND("composite"), KIND("test"), KIND("tensorrt"),
    KIND("cutlass"), KIND("cudnn"), KIND("cublas"), KIND("clml"), KIND("cmsis-nn"), KIND("ethos-u"),
    KIND("ethos-n"), KIND("vitis-ai"), KIND("compute-library"), KIND("bnns"), KIND("mrvl"),
    KIND("ccompiler"), KIND("example_target_hook"),
    {0},
};

// clang-format on

/* Of a flag "target-KIND-OPTION": its OPTION, and KIND in *out_kind; NULL: it is none. */
static const char *option_of(const tn_flag *f, size_t *out_kind)
{
    static const char begin[] = "target-";
    const char *kind = f->name + strlen(begin), *option = NULL;
    if (!f->refused && strncmp(f->name, begin, strlen(begin)) == 0)
        option = strchr(kind, '-');
    *out_kind = option ? (size_t)(option - kind) : 0;
    return option ? option + 1 : NULL;
}

/* The value given for the flag, NULL: none; an error (*status) where it is for another target. */
static const char *target_option(const tn_args *args, const tn_flag *f, const char *target, int *status)
{
    size_t n;
    const char *option = option_of(f, &n), *value = option ? tn_args_text(args, f->name) : NULL;
    const char *kind = target + strspn(target, " \t");
    if (!value)
        return NULL;
    if (strcspn(kind, " \t") != n || memcmp(kind, option - n - 1, n) != 0)
        *status = tn_error_print("--%s goes with --target %.*s only, but --target is %s", f->name, (int)n,
                                 option - n - 1, target);
    else if (strchr(value, '"'))
        *status = tn_error_print("--%s: the value must not contain a quote: %s", f->name, value);
    return value;
}

/* --target with the --target-KIND-OPTION flags behind it as options, quoted where they hold blanks. */
static int compose_target(tn_model_options *m, const tn_args *args)
{
    const char *target = m->options.target, *value;
    size_t room = strlen(target) + 1, n = strlen(target), kind;
    int status = TN_EXIT_OK;
    if (target[strspn(target, " \t")] == '{' || (n > 5 && strcmp(target + n - 5, ".json") == 0))
        return tn_error_print(
            "--target as JSON is not supported yet; write it as text: --target \"llvm -mattr=+avx2\"");
    for (const tn_flag *f = tn_model_flags; f->name; f++) {
        value = target_option(args, f, target, &status);
        if (status != TN_EXIT_OK)
            return status;
        room += value ? strlen(f->name) + strlen(value) + 6 : 0;
    }
    m->target = malloc(room);
    if (!m->target)
        return tn_error_print("out of memory");
    memcpy(m->target, target, n + 1);
    for (const tn_flag *f = tn_model_flags; f->name; f++)
        if ((value = target_option(args, f, target, &status))) {
            const char *quote = value[strcspn(value, " \t',")] ? "\"" : "";
            n += (size_t)snprintf(m->target + n, room - n, " -%s=%s%s%s", option_of(f, &kind), quote, value,
                                  quote);
        }
    m->options.target = m->target;
    return TN_EXIT_OK;
}

static bool is_pass(const char *name, size_t n)
{
    const char *known, *doc;
    for (size_t i = 0; (known = tenon_pass_name(i, &doc)); i++)
        if (strlen(known) == n && memcmp(known, name, n) == 0)
            return true;
    return false;
}

static int unknown_pass(const char *name, size_t n)
{
    const char *known, *doc;
    tn_nearest p = {.word = name, .n = n};
    for (size_t i = 0; (known = tenon_pass_name(i, &doc)); i++)
        tn_nearest_offer(&p, known);
    if (p.best)
        return tn_error_print("--disabled-pass: unknown pass %.*s; did you mean %s?", (int)n, name, p.best);
    return tn_error_print("--disabled-pass: unknown pass %.*s; `%s opt --list` names them", (int)n, name,
                          tn_program_name());
}

static int check_passes(const char *list)
{
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (!is_pass(list, n))
            return unknown_pass(list, n);
        list += n + (list[n] == ',');
    }
    return TN_EXIT_OK;
}

static void print(void *user, const char *text) { fputs(text, user); }

int tn_model_options_init(tn_model_options *m, const tn_args *args)
{
    *m = (tn_model_options){.session = tenon_new()};
    if (!m->session)
        return tn_error_print("out of memory");
    tenon_options *o = &m->options;
    o->size = sizeof *o;
    o->print = print;
    o->print_user = stdout;
    int status = tn_args_store(args, o, m->made);
    if (status == TN_EXIT_OK)
        status = compose_target(m, args);
    if (status == TN_EXIT_OK)
        status = check_passes(o->disabled_pass);
    if (!o->opt_level)
        o->opt_level = TENON_O0; /* 0 is the compiler's default */
    return status;
}

void tn_model_options_deinit(tn_model_options *m)
{
    tenon_free(m->session);
    free(m->target);
    free(m->shapes);
    for (int i = 0; i < TN_ARGS_MADE; i++)
        free(m->made[i]);
}

static int read_model(tn_model_options *m, const char *path, const char *output)
{
    int status = tn_model_messages(m, tenon_options_check(m->session, &m->options, output));
    if (status == TN_EXIT_OK)
        m->module = tenon_module_read(m->session, path, &m->options);
    return status;
}

int tn_model_read(tn_model_options *m, const char *path, const char *output)
{
    int status = read_model(m, path, output);
    return status == TN_EXIT_OK ? tn_model_messages(m, !m->module) : status;
}

/* " NAME:[-1,-1]" for an input without a shape that an array of two dimensions has the name of. */
static bool add_shape(FILE *f, const tenon_value_info *input, const tn_npz *z)
{
    int k = 0;
    while (k < tn_npz_count(z) && strcmp(tn_npz_at(z, k)->name, input->name) != 0)
        k++;
    if (k == tn_npz_count(z) || strncmp(input->type, "Tensor[?", 8) != 0)
        return false;
    fprintf(f, " %s:[", input->name);
    for (int d = 0; d < tn_npz_at(z, k)->type.ndim; d++)
        fputs(d ? ",-1" : "-1", f);
    fputc(']', f);
    return true;
}

/* --input-shapes and what the arrays add; NULL: nothing. */
static char *shapes_for(const tn_model_options *m, const tn_npz *z)
{
    const tenon_module_info *x = tenon_module_inspect(m->module);
    char *text = NULL;
    size_t size = 0;
    bool more = false;
    FILE *f = x ? open_memstream(&text, &size) : NULL;
    if (!f)
        return NULL;
    fputs(m->options.input_shapes ? m->options.input_shapes : "", f);
    for (uint32_t i = 0; i < x->n_input; i++)
        more = add_shape(f, &x->input[i], z) || more;
    if (fclose(f) == 0 && more)
        return text;
    free(text);
    return NULL;
}

static bool has_ranks(tenon_module *m)
{
    const tenon_module_info *x = tenon_module_inspect(m);
    for (uint32_t i = 0; x && i < x->n_input; i++)
        if (strncmp(x->input[i].type, "Tensor[?", 8) == 0)
            return false;
    return true;
}

int tn_model_read_for(tn_model_options *m, const char *path, const char *npz)
{
    tn_npz *z = NULL;
    int status = read_model(m, path, NULL);
    if (m->module && npz && !has_ranks(m->module)) {
        status = tn_npz_open(npz, &z);
        m->shapes = z ? shapes_for(m, z) : NULL;
        tn_npz_free(z);
    }
    if (m->shapes) {
        tenon_module_free(m->module);
        m->options.input_shapes = m->shapes;
        m->module = tenon_module_read(m->session, path, &m->options);
    }
    return status == TN_EXIT_OK ? tn_model_messages(m, !m->module) : status;
}

int tn_model_messages(const tn_model_options *m, int failed)
{
    const char *text = tenon_messages(m->session);
    tn_messages_print(text);
    if (failed && !*text)
        tn_error_print("the compiler failed without giving a reason; please report this");
    return failed ? TN_EXIT_ERROR : TN_EXIT_OK;
}
