/* tenon interpret: a model by an interpreter, with the inputs and outputs of `tenon run`. */
#include "cli/cli.h"
#include "cli/feed.h"
#include "cli/output.h"
#include "cli/report.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const tn_flag tn_interpret_flags[] = {
    TN_ROW_CHOICE("stage", 0, "relay|tir|tir-scheduled|flat", "relay", "stage to interpret"),
    TN_ROW_TEXT("inputs", 'i', "NPZ", NULL, "archive of input arrays, each under its input's name"),
    TN_ROW_TEXT("outputs", 'o', "NPZ", NULL, "archive to write the outputs to, as output_0, output_1, ..."),
    TN_ROW_SWITCH("model-names", 0, "store outputs under the model's own names"),
    TN_ROW_CHOICE("fill-mode", 0, "random|zeros|ones", NULL,
            "values of inputs that --inputs does not give (fixed seed); random without --inputs"),
    TN_ROW_INT("print-top", 0, 1, INT_MAX, NULL, "print the N largest values of output_0[0] and their indices"),
    {0},
};
// clang-format on

typedef struct { /* the model's inputs; names are the module's */
    int n;
    tenon_tensor *tensor;
    tn_feed feed;
} inputs;

/* Is it a state (--state INPUT=OUTPUT)? Those begin with zeros. */
static bool is_state(const tn_model_options *m, const char *input)
{
    size_t n = strlen(input);
    for (const char *const *s = m->options.states; s && *s; s++)
        if (strncmp(*s, input, n) == 0 && (*s)[n] == '=')
            return true;
    return false;
}

static int read_inputs(inputs *in, tn_model_options *m, const tn_args *args)
{
    const tenon_module_info *x = tenon_module_inspect(m->module);
    in->tensor = calloc((size_t)x->n_input + 1, sizeof *in->tensor);
    tnr_tensor_info *info = calloc((size_t)x->n_input + 1, sizeof *info);
    if (!in->tensor || !info) {
        free(info);
        return tn_error_print("out of memory");
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_input; i++)
        if (!is_state(m, x->input[i].name))
            info[n++] = (tnr_tensor_info){.name = x->input[i].name,
                                          .dtype = x->input[i].dtype,
                                          .ndim = x->input[i].ndim,
                                          .shape = x->input[i].shape};
    int status =
        tn_feed_init(&in->feed, n, info, tn_args_text(args, "inputs"), tn_args_text(args, "fill-mode"));
    for (uint32_t i = 0; status == TN_EXIT_OK && i < n; i++) {
        const tn_array *a = &in->feed.array[i];
        tenon_tensor *t = &in->tensor[in->n++];
        *t = (tenon_tensor){.name = info[i].name,
                            .code = info[i].dtype.code,
                            .bits = info[i].dtype.bits,
                            .ndim = info[i].ndim,
                            .data = a->data,
                            .bytes = a->type.data_bytes};
        memcpy(t->shape, a->type.shape, sizeof t->shape);
    }
    free(info);
    return status;
}

static void free_inputs(inputs *in)
{
    tn_feed_deinit(&in->feed);
    free(in->tensor);
}

static DLTensor view(const tenon_tensor *t)
{
    return (DLTensor){
        .data = t->data, .ndim = t->ndim, .dtype = {t->code, t->bits, 1}, .shape = (int64_t *)t->shape};
}

static int save(const char *path, bool own_names, int n, const tenon_tensor out[])
{
    tn_npz_out *z;
    int status = tn_npz_create(path, &z);
    for (int k = 0; k < n && status == TN_EXIT_OK; k++) {
        DLTensor t = view(&out[k]);
        tn_array a = {0};
        char number[24];
        snprintf(number, sizeof number, "output_%d", k);
        status = tn_array_of(own_names ? out[k].name : number, &t, &a);
        if (status == TN_EXIT_OK)
            status = tn_npz_add(z, &a);
        tn_array_drop(&a);
    }
    return tn_npz_close(z, status);
}

/* Says what came out, as far as it is not saved. */
static int show(const tn_args *args, int n, const tenon_tensor out[])
{
    char text[512];
    int top = tn_args_count(args, "print-top") ? tn_args_int(args, "print-top") : 0;
    for (int i = 0; i < n && !tn_args_text(args, "outputs"); i++)
        printf("%s: %s\n", out[i].name,
               tn_tensor_text((DLDataType){out[i].code, out[i].bits, 1}, out[i].ndim, out[i].shape, text));
    if (!top || n == 0)
        return TN_EXIT_OK;
    DLTensor first = view(&out[0]);
    return tn_print_top(&first, top);
}

static int interpret(tn_model_options *m, const tn_args *args, inputs *in)
{
    const char *path = tn_args_text(args, "outputs");
    const tenon_tensor *out = NULL;
    int n = 0, status = tn_model_read_for(m, args->operand, tn_args_text(args, "inputs"));
    if (status == TN_EXIT_OK)
        status = read_inputs(in, m, args);
    if (status == TN_EXIT_OK)
        status = tn_model_messages(m, tenon_interpret(m->module, &m->options, tn_args_text(args, "stage"),
                                                      in->n, in->tensor, &n, &out));
    if (status == TN_EXIT_OK && path)
        status = save(path, tn_args_count(args, "model-names") > 0, n, out);
    return status == TN_EXIT_OK ? show(args, n, out) : status;
}

int tn_interpret_command(const tn_args *args)
{
    tn_model_options m;
    inputs in = {0};
    int status = tn_model_options_init(&m, args);
    tn_cleanup_begin(false);
    if (status == TN_EXIT_OK)
        status = interpret(&m, args, &in);
    tn_cleanup_end();
    free_inputs(&in);
    tn_model_options_deinit(&m);
    return status;
}
