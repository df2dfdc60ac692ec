/* The flags that say how a model is read and compiled, shared by compile, dump, opt and interpret; and what
 * they make of the compiler's options. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND(name) TN_ROW_FAMILY("target-" name "-")

// clang-format off
const tn_flag tn_model_flags[] = {
    TN_ROW_TEXT("target", 0, "TEXT", "llvm", "llvm or c, with -mattr=+avx2,+fma -mtriple=... -num-cores=N"),
    TN_ROW_TEXT("target-llvm-mcpu", 0, "native", NULL,
                "native alone; CPU names are not used, give features with -mattr"),
    TN_ROW_TEXT("target-llvm-mattr", 0, "FEATURES", NULL,
                "exactly these features: +avx2,+fma; or all of the machine but: -avx512f"),
    TN_ROW_TEXT("target-llvm-mtriple", 0, "TRIPLE", NULL, "machine to compile for, such as aarch64-linux-gnu"),
    TN_ROW_INT("target-llvm-num-cores", 0, 1, 4096, NULL, "cores to schedule for"),
    TN_ROW_TEXT("machine", 0, "FILE", NULL, "machine description (JSON) instead of the machine at hand"),
    TN_ROW_TEXT("input-shapes", 0, "SHAPES", NULL,
                "\"x:[1,3,224,224] y:[-1,10]\"; a dimension of 0 or less is symbolic"),
    TN_ROW_CHOICE("model-format", 0, "onnx|relay|keras!|pb!|tflite!|pytorch!|paddle!|mxnet!", NULL,
                  "guessed from the file's name and content if not given"),
    TN_ROW_INT("opt-level", 'O', 0, 4, "3", "0 to 4"),
    TN_ROW_TEXT("disabled-pass", 0, "NAMES", NULL,
                "passes to leave out, separated by commas (tenon opt --list)"),
    TN_ROW_TEXT("module-name", 0, "NAME", "default", "prefix of the kernels' names"),
    TN_ROW_SWITCH("no-variants", 0, "no second kernel variant for a symbolic dimension of 1"),
    TN_ROW_SWITCH("no-in-place", 0, "no result takes the memory of an operand that is read for the last time"),
    TN_ROW_WORDS("desired-layout", "LAYOUT...",
                 "NCHW, NHWC or DATA:KERNEL (NHWC:HWIO): convert to it; one for all operators or one for each"),
    TN_ROW_WORDS("desired-layout-ops", "OPERATOR...", "which operators; all that have a layout if not given"),
    TN_ROW_SWITCH("mixed-precision", 0, "compute in 16-bit floats where that is safe"),
    TN_ROW_WORDS("mixed-precision-ops", "OPERATOR...", "operators to convert; those that gain if not given"),
    TN_ROW_CHOICE("mixed-precision-calculation-type", 0, "float16|float32", "float16", "what they compute in"),
    TN_ROW_CHOICE("mixed-precision-acc-type", 0, "float16|float32", "float16", "what their sums are"),
    TN_ROW_REPEAT("pass-config", "KEY=VALUE", "configures a pass; may be repeated"),
    TN_ROW_REFUSED("tuning-records"),
    KIND("llvm"), KIND("c"), KIND("cuda"), KIND("nvptx"), KIND("rocm"), KIND("opencl"), KIND("metal"),
    KIND("vulkan"), KIND("webgpu"), KIND("sdaccel"), KIND("aocl"), KIND("aocl_sw_emu"), KIND("hexagon"),
    KIND("stackvm"), KIND("ext_dev"), KIND("hybrid"), KIND("composite"), KIND("test"), KIND("tensorrt"),
    KIND("cutlass"), KIND("cudnn"), KIND("cublas"), KIND("clml"), KIND("cmsis-nn"), KIND("ethos-u"),
    KIND("ethos-n"), KIND("vitis-ai"), KIND("compute-library"), KIND("bnns"), KIND("mrvl"),
    KIND("ccompiler"), KIND("example_target_hook"),
    {0},
};

static const struct { const char *flag, *option; } target_options[] = {
    {"target-llvm-mcpu",      "mcpu"},
    {"target-llvm-mattr",     "mattr"},
    {"target-llvm-mtriple",   "mtriple"},
    {"target-llvm-num-cores", "num-cores"},
};
// clang-format on
enum { N_TARGET_OPTION = sizeof target_options / sizeof *target_options };

static bool is_llvm(const char *target)
{
    target += strspn(target, " \t");
    return strncmp(target, "llvm", 4) == 0 && (!target[4] || strchr(" \t", target[4]));
}

/* --target with the --target-llvm-* flags behind it as options, quoted where they hold blanks. */
static int compose_target(tn_model_options *m, const tn_args *args)
{
    const char *target = tn_args_text(args, "target"), *value[N_TARGET_OPTION];
    size_t room = strlen(target) + 1, n = strlen(target);
    if (target[strspn(target, " \t")] == '{' || (n > 5 && strcmp(target + n - 5, ".json") == 0))
        return tn_error_print("--target as JSON is not supported yet");
    for (int i = 0; i < N_TARGET_OPTION; i++) {
        value[i] = tn_args_text(args, target_options[i].flag);
        if (value[i] && !is_llvm(target))
            return tn_error_print("--%s is given, but --target is %s", target_options[i].flag, target);
        if (value[i] && strchr(value[i], '"'))
            return tn_error_print("--%s %s: a quote cannot be part of it", target_options[i].flag, value[i]);
        room += value[i] ? strlen(target_options[i].option) + strlen(value[i]) + 6 : 0;
    }
    m->target = malloc(room);
    if (!m->target)
        return tn_error_print("out of memory");
    memcpy(m->target, target, n + 1);
    for (int i = 0; i < N_TARGET_OPTION; i++)
        if (value[i]) {
            const char *quote = value[i][strcspn(value[i], " \t',")] ? "\"" : "";
            n += (size_t)snprintf(m->target + n, room - n, " -%s=%s%s%s", target_options[i].option, quote,
                                  value[i], quote);
        }
    return TN_EXIT_OK;
}

static bool is_pass(const char *name, size_t n)
{
    const char *known, *doc;
    for (size_t i = 0; (known = tenon_pass_name(i, &doc)); i++)
        if (strlen(known) == n && memcmp(known, name, n) == 0) return true;
    return false;
}

static int check_passes(const char *list)
{
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (!is_pass(list, n))
            return tn_error_print("--disabled-pass: there is no pass %.*s; `tenon opt --list` names them", (int)n,
                                  list);
        list += n + (list[n] == ',');
    }
    return TN_EXIT_OK;
}

static bool says(const tn_flag *flags, const char *name)
{
    for (; flags && flags->name; flags++)
        if (strcmp(flags->name, name) == 0) return true;
    return false;
}

static void print(void *user, const char *text)
{
    fputs(text, user);
}

/* Flags of passes: words with blanks between, repeated ones as a list; the flags that only compile has. */
static int pass_options(tn_model_options *m, const tn_args *args)
{
    tenon_options *o = &m->options;
    int n = tn_args_count(args, "pass-config");
    m->config = calloc((size_t)n + 1, sizeof *m->config);
    m->layouts = tn_args_words(args, "desired-layout");
    m->layout_ops = tn_args_words(args, "desired-layout-ops");
    m->mixed_ops = tn_args_words(args, "mixed-precision-ops");
    if (!m->config || !m->layouts || !m->layout_ops || !m->mixed_ops)
        return tn_error_print("out of memory");
    for (int i = 0; i < n; i++)
        m->config[i] = tn_args_at(args, "pass-config", i);
    o->pass_config = m->config;
    o->desired_layout = *m->layouts ? m->layouts : NULL;
    o->desired_layout_ops = *m->layout_ops ? m->layout_ops : NULL;
    o->mixed_precision = tn_args_count(args, "mixed-precision") > 0;
    o->mixed_precision_ops = *m->mixed_ops ? m->mixed_ops : NULL;
    o->mixed_precision_calculation_type = tn_args_text(args, "mixed-precision-calculation-type");
    o->mixed_precision_acc_type = tn_args_text(args, "mixed-precision-acc-type");
    if (says(args->command->flags[0], "print-pass-times")) {
        o->print_ir_before = tn_args_text(args, "print-ir-before");
        o->print_ir_after = tn_args_text(args, "print-ir-after");
        o->print_pass_times = tn_args_count(args, "print-pass-times") > 0;
    }
    o->print = print;
    o->print_user = stdout;
    return TN_EXIT_OK;
}

int tn_model_options_init(tn_model_options *m, const tn_args *args)
{
    *m = (tn_model_options){.session = tenon_new()};
    if (!m->session)
        return tn_error_print("out of memory");
    int status = compose_target(m, args);
    if (status == TN_EXIT_OK)
        status = check_passes(tn_args_text(args, "disabled-pass"));
    m->options = (tenon_options){
        .target = m->target,
        .machine_file = tn_args_text(args, "machine"),
        .input_shapes = tn_args_text(args, "input-shapes"),
        .model_format = tn_args_text(args, "model-format"),
        .module_name = tn_args_text(args, "module-name"),
        .disabled_pass = tn_args_text(args, "disabled-pass"),
        .opt_level = tn_args_int(args, "opt-level") ? tn_args_int(args, "opt-level") : TENON_O0,
        .no_variants = tn_args_count(args, "no-variants") > 0,
        .no_in_place = tn_args_count(args, "no-in-place") > 0,
    };
    return status == TN_EXIT_OK ? pass_options(m, args) : status;
}

void tn_model_options_deinit(tn_model_options *m)
{
    tenon_free(m->session);
    free(m->target);
    free(m->config);
    free(m->layouts);
    free(m->layout_ops);
    free(m->mixed_ops);
}

int tn_model_messages(const tn_model_options *m, int failed)
{
    const char *text = tenon_messages(m->session);
    fputs(text, stderr);
    if (failed && !*text)
        tn_error_print("the compiler failed without saying why");
    return failed ? TN_EXIT_ERROR : TN_EXIT_OK;
}
