#ifndef TENON_TE_H
#define TENON_TE_H
/* Single kernels from tensor expressions, and their schedules step by step.
 *
 *     tenon_kernel *k = tenon_kernel_new(t, "matmul");
 *     tenon_te_input(k, "a", "Tensor[(512, 512), float32]");
 *     tenon_te_input(k, "b", "Tensor[(512, 512), float32]");
 *     tenon_te *c = tenon_te_new(k, "c", "Tensor[(512, 512), float32]", "i j");
 *     tenon_te_over(c, "r", "512");
 *     tenon_te_reduce(c, "sum", tenon_te_expr(c, "a[i, r] * b[r, j]", 0, NULL));
 *     if (tenon_kernel_end(k, 1, &c) || tenon_step(k, "i j r = loops \"out\"") || tenon_step(k, "reorder i r j") ||
 *         tenon_kernel_build(k, NULL, &module))
 *         fputs(tenon_messages(t), stderr);
 *
 * docs/tir.md has the expressions and what tenon_kernel_print shows; docs/schedule.md has the steps. A
 * tensor's block has its name, an output's is out (out1, ...). Tensors and
 * expressions live as long as their kernel. After an error before tenon_kernel_end the kernel is of no use: later calls
 * fail and leave the diagnostics as they are, so it is enough to look at what tenon_kernel_end returns. A refused step
 * changes nothing, and the next one may be another. */
#include "tenon/tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_kernel tenon_kernel;
typedef struct tenon_te tenon_te;     /* a tensor of a kernel */
typedef struct tenon_expr tenon_expr; /* a number for each element of a tensor */

/* ---- tensors ---- */

tenon_kernel *tenon_kernel_new(tenon *t, const char *name);
void tenon_kernel_free(tenon_kernel *k); /* before tenon_free, to save memory; NULL does nothing */
/* Types as Relay writes them. A name in a dimension is a symbol, which an input must have as a dimension. */
tenon_te *tenon_te_input(tenon_kernel *k, const char *name, const char *type);
/* A tensor to be defined. `axes` names its dimensions, blanks between. */
tenon_te *tenon_te_new(tenon_kernel *k, const char *name, const char *type, const char *axes);
/* An axis [0, extent) that a reduction runs over; at most 8. */
tenon_expr *tenon_te_over(tenon_te *x, const char *axis, const char *extent);
/* An expression for the element of x, in which names are axes of x, symbols, and tensors defined before (a[i, r + 1]);
 * %0, %1, ... are arg[]. */
tenon_expr *tenon_te_expr(tenon_te *x, const char *text, int n, tenon_expr *const arg[]);
int tenon_te_define(tenon_te *x, tenon_expr *value);
/* reducer: "sum", "prod", "max", "min", "any" or "all", of the term over all reduction axes of x. */
int tenon_te_reduce(tenon_te *x, const char *reducer, tenon_expr *term);
/* Ends the expressions: the outputs are parameters after the inputs, and every tensor that they need is a block. */
int tenon_kernel_end(tenon_kernel *k, int n, tenon_te *const out[]);

/* Builders of common expressions. */
static inline tenon_expr *tenon_expr2(tenon_te *x, const char *text, tenon_expr *a, tenon_expr *b)
{
    tenon_expr *arg[2];
    arg[0] = a;
    arg[1] = b;
    return tenon_te_expr(x, text, 2, arg);
}
static inline tenon_expr *tenon_var(tenon_te *x, const char *name) { return tenon_te_expr(x, name, 0, NULL); }
static inline tenon_expr *tenon_add(tenon_te *x, tenon_expr *a, tenon_expr *b)
{
    return tenon_expr2(x, "%0 + %1", a, b);
}
static inline tenon_expr *tenon_sub(tenon_te *x, tenon_expr *a, tenon_expr *b)
{
    return tenon_expr2(x, "%0 - %1", a, b);
}
static inline tenon_expr *tenon_mul(tenon_te *x, tenon_expr *a, tenon_expr *b)
{
    return tenon_expr2(x, "%0 * %1", a, b);
}
static inline tenon_expr *tenon_max(tenon_te *x, tenon_expr *a, tenon_expr *b)
{
    return tenon_expr2(x, "max(%0, %1)", a, b);
}
static inline tenon_expr *tenon_min(tenon_te *x, tenon_expr *a, tenon_expr *b)
{
    return tenon_expr2(x, "min(%0, %1)", a, b);
}
/* An element of a tensor: n indices. */
tenon_expr *tenon_load(tenon_te *x, tenon_te *from, int n, tenon_expr *const index[]);

/* ---- functions of TIR ---- */

/* A kernel of a function in a module of TIR (NULL: its first), as docs/tir.md writes it (`func`): it has its parameters
 * for inputs and outputs, and is scheduled and built like others. The module stays as it is. */
tenon_kernel *tenon_kernel_from_module(tenon_module *m, const char *name);
/* The loops as they stand as a module of TIR, which tenon_pass_run lowers. */
tenon_module *tenon_kernel_module(tenon_kernel *k);

/* ---- the schedule ---- */

/* Applies a step, or several on lines of their own, as docs/schedule.md writes them: "io ii = split i 8 tail=mask". A
 * refused one is driver-E032, which says why; those before it stay. */
int tenon_step(tenon_kernel *k, const char *text);
/* Takes back all steps and schedules the kernel as a model's would be, for the target of the options, by tuning records
 * where these or the user's own have some. The first line of tenon_kernel_trace then says which rule or record did. */
int tenon_kernel_rule(tenon_kernel *k, const tenon_options *o);
/* Takes back all steps and applies them again with another decision of one of the sampling steps, drawn from
 * the seed. Fails and leaves the kernel as it is where there is none, or where a later step is refused then.
 * */
int tenon_kernel_mutate(tenon_kernel *k, uint64_t seed);
/* The steps there are, by index; NULL after the last. */
const char *tenon_step_name(size_t i, const char **out_doc);

typedef struct tenon_loop_info {
    const char *name, *extent; /* "64", "n", "ceildiv(n, 4)" */
    const char *kind;          /* "", "parallel", "vector" or "unrolled" */
} tenon_loop_info;
typedef struct tenon_axis_info { /* an iteration of a block */
    const char *name, *extent;
    int reduces; /* 1: the block reduces along it; 2: its turns run in order (a scan) */
} tenon_axis_info;
typedef struct tenon_block_info {
    const char *name, *tag; /* tag: what kind of operator it is; "": none. "normal": docs/tir.md, 5 */
    uint32_t n_loop, n_axis;
    const tenon_loop_info *loop; /* around it, outermost first */
    const tenon_axis_info *axis;
    uint32_t n_read;
    const char *const
        *read; /* buffers that it reads, without the one that it writes, in order of appearance */
} tenon_block_info;
enum tenon_buffer_kind { TENON_BUFFER_INPUT, TENON_BUFFER_OUTPUT, TENON_BUFFER_INNER };
typedef struct tenon_buffer_info {
    const char *name, *scope; /* "global", "local", "register" or "tile" */
    enum tenon_buffer_kind kind;
    DLDataType dtype;
    int32_t ndim;
    const char *const *extent;
} tenon_buffer_info;
typedef struct tenon_kernel_info { /* fields may be added at the end */
    const char *name;
    uint32_t n_block, n_buffer, n_value;
    const tenon_block_info *block;   /* in order of execution */
    const tenon_buffer_info *buffer; /* parameters first */
    const char *const *value;        /* names that steps may use: of loops, and of numbers that were drawn */
} tenon_kernel_info;
/* What is in a kernel, as it stands. Valid until the next such call on k, or its end. NULL after an error. */
const tenon_kernel_info *tenon_kernel_inspect(tenon_kernel *k);

const char *tenon_kernel_print(tenon_kernel *k); /* the loops as they stand; until the next such call on k */
const char *tenon_kernel_trace(tenon_kernel *k); /* the steps so far; likewise */
/* The loops before any steps, and their workload: what a tuning record (tenon/tune.h) has of them. Likewise. */
const char *tenon_kernel_function(tenon_kernel *k, uint64_t *out_workload);
/* Code in this process, as tenon_build_here makes it: inputs have the tensors' names, outputs are called
 * out, out1, ... The kernel
 * stays as it is, and may be scheduled further and built again. */
int tenon_kernel_build(tenon_kernel *k, const tenon_options *o, tnr_module **out_module);

/* Seconds of a run whose inputs are set: the least of as many as fit into `most` seconds, at least 3. TNR_OK, or what
 * tnr_run returns. */
TNR_CHECKED tnr_status tenon_time(tnr_instance *instance, double most, double *out_seconds, tnr_error *err);

#ifdef __cplusplus
}
#endif
#endif
