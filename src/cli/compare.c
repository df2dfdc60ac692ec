/* tenon compare: does a model compute the same in two ways? And if not, where does it begin? */
#include "cli/compare.h"
#include "cli/output.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// clang-format off
const tn_flag tn_compare_flags[] = {
    TN_ROW_TEXT("inputs", 'i', "NPZ", NULL, "archive of input arrays, each under its input's name"),
    TN_ROW_CHOICE("fill-mode", 0, "random|zeros|ones", NULL,
            "values of inputs that --inputs does not give (fixed seed); random without --inputs"),
    TN_ROW_TEXT("output", 'o', "NAME", "difference",
                "where outputs differ, the part that makes the difference goes to NAME.onnx or .relay, and NAME.npz"),
    TN_ROW_TEXT("rtol", 0, "X", NULL,
                "elements differ by more than atol + rtol*|x|; default by type: float32 1e-4, whole numbers 0"),
    TN_ROW_TEXT("atol", 0, "X", NULL, "default: rtol times the root mean square of the tensor"),
    TN_ROW_CHOICE("stage", 0, "relay|tir|tir-scheduled|flat", NULL,
            "run the model by an interpreter at this stage instead of compiling it"),
    {0},
};
// clang-format on

static int read_number(const tn_args *args, const char *flag, double *out)
{
    const char *text = tn_args_text(args, flag);
    char *end = NULL;
    *out = text ? strtod(text, &end) : -1;
    if (text && (end == text || *end || !(*out >= 0)))
        return tn_usage_error(args->command, "--%s takes a number from 0 on, not \"%s\"", flag, text);
    return TN_EXIT_OK;
}

/* ---- sides ---- */

/* The k-th group of flags, between the k-th -- and the next. */
static char *const *group(const tn_args *args, int k, int *out_n)
{
    int i = 0;
    *out_n = 0;
    for (int seen = -1; i < args->n_rest; i++)
        if (strcmp(args->rest[i], "--") == 0 && ++seen == k)
            break;
    if (i == args->n_rest)
        return args->rest;
    while (i + 1 + *out_n < args->n_rest && strcmp(args->rest[i + 1 + *out_n], "--") != 0)
        ++*out_n;
    return args->rest + i + 1;
}

static int count_groups(const tn_args *args)
{
    int n = 0;
    for (int i = 0; i < args->n_rest; i++)
        n += strcmp(args->rest[i], "--") == 0;
    return n;
}

static bool is_onnxruntime(const char *word)
{
    return word && strcmp(word, "onnxruntime") == 0 && access(word, F_OK) != 0;
}

static int open_sides(tn_compare *c, const tn_args *args)
{
    const char *name[2] = {args->operand, args->second ? args->second : args->operand};
    int status = TN_EXIT_OK;
    if (count_groups(args) > 2)
        return tn_usage_error(args->command, "there are more than two groups of flags");
    for (int k = 0; k < 2; k++) {
        int n;
        char *const *own = group(args, k, &n);
        bool runtime = is_onnxruntime(name[k]);
        int done = tn_side_init(&c->side[k], (char)('A' + k), args, runtime ? name[!k] : name[k], n, own);
        if (done == TN_EXIT_OK)
            c->side[k].stage = tn_args_text(&c->side[k].args, "stage");
        if (runtime)
            c->side[k].kind = TN_SIDE_ONNXRUNTIME;
        bool fixed = c->side[k].kind == TN_SIDE_PACKAGE || c->side[k].kind == TN_SIDE_ARRAYS;
        if (done == TN_EXIT_OK && fixed && n)
            done = tn_usage_error(args->command, "%s is compiled already; leave \"%s\" out", name[k], own[0]);
        status = status == TN_EXIT_OK ? done : status;
        if (status == TN_EXIT_USAGE)
            break;
    }
    if (!args->second && !args->n_rest && !c->side[0].stage)
        c->side[0].stage = "relay";
    return status;
}

static void describe(const tn_side *s, const tn_args *args)
{
    int n;
    char *const *own = group(args, s->letter - 'A', &n);
    const char *how = s->kind == TN_SIDE_ARRAYS        ? ", arrays"
                      : s->kind == TN_SIDE_PACKAGE     ? ", a package"
                      : s->kind == TN_SIDE_ONNXRUNTIME ? ", by ONNX Runtime"
                      : s->stage                       ? ", interpreted"
                                                       : ", compiled";
    printf("%c: %s%s", s->letter, s->path, how);
    if (s->stage && s->kind == TN_SIDE_MODEL)
        printf(" (%s)", s->stage);
    for (int i = 0; i < n; i++)
        printf("%s%s", i ? " " : ": ", own[i]);
    putchar('\n');
}

/* ---- outputs ---- */

/* The value of B for a value of A: of the same name, or, for an output, of its number. */
static const tn_array *partner(const tn_compare *c, uint32_t i)
{
    char number[24];
    const tn_values *b = &c->value[1];
    const tn_array *found = tn_values_find(b, c->value[0].array[i].name);
    snprintf(number, sizeof number, "output_%u", (unsigned)i);
    if (!found)
        found = tn_values_find(b, number);
    bool arrays = c->side[0].kind == TN_SIDE_ARRAYS || c->side[1].kind == TN_SIDE_ARRAYS;
    return found || arrays || i >= b->n ? found : &b->array[i];
}

static int compare_outputs(tn_compare *c, bool *out_differ)
{
    *out_differ = false;
    /* an archive may hold values inside the model instead */
    bool inner = c->side[0].kind == TN_SIDE_ARRAYS || c->side[1].kind == TN_SIDE_ARRAYS;
    for (uint32_t i = 0; i < c->value[0].n; i++) {
        const tn_array *a = &c->value[0].array[i], *b = partner(c, i);
        tn_diff d;
        if (!b) {
            if (!inner)
                printf("%s: B has no such output\n", a->name);
            continue;
        }
        tn_diff_make(a, b, &c->tolerance, &d);
        tn_diff_print_line(&d, a, b);
        if (tn_diff_is(&d))
            tn_diff_print(&d, a);
        *out_differ |= tn_diff_is(&d);
        c->n_compared++;
    }
    return c->n_compared || inner ? TN_EXIT_OK : tn_error_print("A and B have no output in common");
}

static int make_inputs(tn_compare *c, const tn_args *args)
{
    int k = c->side[0].kind == TN_SIDE_ARRAYS;
    const char *npz = tn_args_text(args, "inputs");
    if (c->side[k].kind == TN_SIDE_ARRAYS)
        return TN_EXIT_OK;
    int status = tn_side_inputs(&c->side[k], npz, tn_args_text(args, "fill-mode"), &c->in);
    return status == TN_EXIT_OK ? tn_side_same_ranks(&c->side[!k], &c->side[k], npz) : status;
}

static int compare(tn_compare *c, const tn_args *args)
{
    bool differ = false;
    c->output = tn_args_text(args, "output");
    int status = read_number(args, "rtol", &c->tolerance.rtol);
    if (status == TN_EXIT_OK)
        status = read_number(args, "atol", &c->tolerance.atol);
    if (status == TN_EXIT_OK)
        status = open_sides(c, args);
    if (status == TN_EXIT_OK)
        status = make_inputs(c, args);
    for (int k = 0; k < 2 && status == TN_EXIT_OK; k++) {
        describe(&c->side[k], args);
        status = tn_side_run(&c->side[k], NULL, &c->in, false, &c->value[k]);
    }
    if (status == TN_EXIT_OK)
        status = compare_outputs(c, &differ);
    bool arrays = c->side[0].kind == TN_SIDE_ARRAYS || c->side[1].kind == TN_SIDE_ARRAYS;
    if (status == TN_EXIT_OK && (differ || arrays))
        status = tn_compare_find(c, &differ);
    return status == TN_EXIT_OK && differ ? TN_EXIT_DIFFER : status;
}

int tn_compare_command(const tn_args *args)
{
    tn_compare c = {0};
    tn_cleanup_begin(true);
    int status = compare(&c, args);
    for (int k = 0; k < 2; k++) {
        tn_side_deinit(&c.side[k]);
        tn_values_deinit(&c.value[k]);
    }
    tn_values_deinit(&c.in);
    tn_cleanup_end();
    return status;
}
