#ifndef TENON_TESTS_RUNTIME_TOY_H
#define TENON_TESTS_RUNTIME_TOY_H
/* A compiled library written by hand: three kernels and two programs over them, one with a symbolic dimension
 * n, one with n = 6, which mod.json (blob.h) describes too. Used in-process, and built into shared objects by
 * toy_so.c.
 *
 *   t1 = (x + y) * p0;  t2 = (t1 + y) * p0;  sum = (t2 + y) * p0          [n, 8] float32
 *   flat = sum as [n * 8];  rows = 3 * row sums of sum [n];  echo = x
 *   picked = flag ? rows[idx] : p1[0]    (the static program has no flag)  [1]
 */
#include "tenon/abi.h"

enum { TOY_COLUMNS = 8, TOY_CHECK_INDEX = 1, TOY_CHECK_ALIGN = 2 };

#ifndef TOY_STATIC_N
#define TOY_STATIC_N 6 /* toy_model.h has the same */
#endif

static int64_t toy_n(const int64_t *sym) { return sym ? sym[0] : TOY_STATIC_N; }

static int64_t toy_is_one(const int64_t *sym) { return toy_n(sym) == 1; }

static int64_t toy_pairs(const int64_t *sym) { return (toy_n(sym) + 1) / 2; }

static int64_t toy_row_bytes(const int64_t *sym) { return toy_n(sym) * 4; }

static int64_t toy_matrix_bytes(const int64_t *sym) { return toy_n(sym) * TOY_COLUMNS * 4; }

static int64_t toy_elements(const int64_t *sym) { return toy_n(sym) * TOY_COLUMNS; }

static int64_t toy_second(const int64_t *sym) /* arena: two matrices, the second aligned, then work */
{
    return (toy_matrix_bytes(sym) + 63) / 64 * 64;
}

static int64_t toy_work_offset(const int64_t *sym) { return 2 * toy_second(sym); }

static int64_t toy_arena(const int64_t *sym) { return toy_work_offset(sym) + toy_row_bytes(sym); }

/* ---- kernel 0: out = (a + b) * w in two phases; one row at once if n == 1 ---- */

static int32_t toy_add(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const float *a = (const float *)call->arg[0] + task * TOY_COLUMNS;
    const float *b = (const float *)call->arg[1] + task * TOY_COLUMNS;
    float *out = (float *)call->arg[3] + task * TOY_COLUMNS;
    (void)step;
    (void)scratch;
    for (int j = 0; j < TOY_COLUMNS; j++)
        out[j] = a[j] + b[j];
    return 0;
}

static int32_t toy_scale(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const float *w = (const float *)call->arg[2];
    float *out = (float *)call->arg[3], *row = (float *)scratch;
    (void)step;
    if ((uintptr_t)scratch % 64 != 0 || (uintptr_t)w % 64 != 0)
        return TOY_CHECK_ALIGN;
    for (int64_t i = 2 * (int64_t)task; i < 2 * (int64_t)task + 2 && i < toy_n(call->sym); i++) {
        for (int j = 0; j < TOY_COLUMNS; j++)
            row[j] = out[i * TOY_COLUMNS + j] * w[j];
        for (int j = 0; j < TOY_COLUMNS; j++)
            out[i * TOY_COLUMNS + j] = row[j];
    }
    return 0;
}

static int32_t toy_one_row(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    int32_t status = toy_add(call, step, task, scratch);
    return status ? status : toy_scale(call, step, task, scratch);
}

/* ---- kernel 1: row sums, three times over, through work memory ---- */

static int32_t toy_row_sum(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    const float *a = (const float *)call->arg[0] + task * TOY_COLUMNS;
    float *work = (float *)call->work, sum = step ? work[task] : 0;
    (void)scratch;
    for (int j = 0; j < TOY_COLUMNS; j++)
        sum += a[j];
    work[task] = sum;
    if (step == 2)
        ((float *)call->arg[1])[task] = sum;
    return 0;
}

/* ---- kernel 2: out[0] = a[idx[0]], checked ---- */

static int32_t toy_pick(const tn_call *call, uint32_t step, uint32_t task, void *scratch)
{
    int32_t i = *(const int32_t *)call->arg[1];
    (void)step;
    (void)task;
    (void)scratch;
    if (i < 0 || i >= toy_n(call->sym))
        return TOY_CHECK_INDEX;
    *(float *)call->arg[2] = ((const float *)call->arg[0])[i];
    return 0;
}

#define TOY_FIXED(v) {(v), NULL}
#define TOY_FN(f) {0, (f)}

static const tn_phase toy_phase_one[] = {{toy_one_row, TOY_FIXED(1), 0, 0, NULL}};
static const tn_phase toy_phase_many[] = {{toy_add, TOY_FN(toy_n), TN_PHASE_NO_BARRIER * 0, 0, NULL},
                                          {toy_scale, TOY_FN(toy_pairs), 0, 0, NULL}};
static const tn_phase toy_phase_sum[] = {{toy_row_sum, TOY_FN(toy_n), 0, 0, NULL}};
static const tn_phase toy_phase_pick[] = {{toy_pick, TOY_FIXED(1), 0, 0, NULL}};

static const tn_variant toy_variant_add[] = {
    {TOY_FN(toy_is_one), TOY_FIXED(1), TOY_FIXED(0), 100, toy_phase_one, 1},
    {TOY_FIXED(1), TOY_FIXED(1), TOY_FIXED(0), 32, toy_phase_many, 2},
};
static const tn_variant toy_variant_sum[] = {
    {TOY_FIXED(1), TOY_FIXED(3), TOY_FN(toy_row_bytes), 0, toy_phase_sum, 1},
};
static const tn_variant toy_variant_pick[] = {
    {TOY_FIXED(1), TOY_FIXED(1), TOY_FIXED(0), 0, toy_phase_pick, 1}};

static const char *const toy_check[] = {"index out of range", "misaligned memory"};

#define TOY_KERNELS(n_sym) \
    { \
        {"tvmgen_default_fused_add_multiply", "Add_0, Mul_0", toy_variant_add, toy_check, 2, 2, 3, 1, n_sym, \
         0, NULL, NULL, 0, 0}, \
        {"tvmgen_default_fused_sum", "ReduceSum_0", toy_variant_sum, NULL, 1, 0, 1, 1, n_sym, 0, NULL, NULL, \
         0, 0}, \
        {"tvmgen_default_fused_take", "Gather_0", toy_variant_pick, toy_check, 1, 1, 2, 1, n_sym, 0, NULL, \
         NULL, 0, 0}, \
    }

static const tn_kernel toy_symbolic_kernel[] = TOY_KERNELS(1);
static const tn_kernel toy_static_kernel[] = TOY_KERNELS(0);

/* ---- slots: the same in both programs but for sizes ---- */

enum {
    TOY_X,
    TOY_Y,
    TOY_P0,
    TOY_IDX,
    TOY_T1,
    TOY_T2,
    TOY_SUM,
    TOY_FLAT,
    TOY_ROWS,
    TOY_ROWS2,
    TOY_PICKED,
    TOY_ECHO,
    TOY_STATIC_SLOTS,
    TOY_FLAG = TOY_STATIC_SLOTS,
    TOY_P1,
    TOY_SLOTS
};

static const tn_size toy_dim_matrix[] = {TOY_FN(toy_n), TOY_FIXED(TOY_COLUMNS)};
static const tn_size toy_dim_flat[] = {TOY_FN(toy_elements)};
static const tn_size toy_dim_rows[] = {TOY_FN(toy_n)};
static const tn_size toy_dim_w[] = {TOY_FIXED(TOY_COLUMNS)};
static const tn_size toy_dim_1[] = {TOY_FIXED(1)};
static const int32_t toy_bind_x[] = {0, -1};

static const tn_size toy_sdim_matrix[] = {TOY_FIXED(6), TOY_FIXED(TOY_COLUMNS)};
static const tn_size toy_sdim_flat[] = {TOY_FIXED(48)};
static const tn_size toy_sdim_rows[] = {TOY_FIXED(6)};

#define TOY_SLOTS_TEXT(matrix, flat, rows, bind, matrix_bytes, row_bytes, second) \
    {"x", TN_SLOT_INPUT, TN_STORAGE_BYTES, 2, 32, 2, 0, matrix, bind, matrix_bytes, TOY_FIXED(0), -1, 0, 0}, \
        {"y",  TN_SLOT_INPUT, TN_STORAGE_BYTES, 2,  32, 2, 0, matrix, \
         NULL, matrix_bytes,  TOY_FIXED(0),     -1, 0,  0}, \
        {"p0", TN_SLOT_CONST, TN_STORAGE_BYTES, 2,  32, 1, 0, toy_dim_w, \
         NULL, TOY_FIXED(32), TOY_FIXED(0),     -1, 0,  0}, \
        {"idx", TN_SLOT_INPUT, TN_STORAGE_BYTES, 0,  32, 1, 0, toy_dim_1, \
         NULL,  TOY_FIXED(4),  TOY_FIXED(0),     -1, 0,  0}, \
        {"", TN_SLOT_TEMP, TN_STORAGE_BYTES, 2, 32, 2, 0, matrix, NULL, matrix_bytes, TOY_FIXED(0), -1, 0, 0}, \
        {"", TN_SLOT_TEMP, TN_STORAGE_BYTES, 2, 32, 2, 0, matrix, NULL, matrix_bytes, second, -1, 0, 0}, \
        {"sum", TN_SLOT_OUTPUT, TN_STORAGE_BYTES, 2,  32, 2, 0, matrix, \
         NULL,  matrix_bytes,   TOY_FIXED(0),     -1, 0,  0}, \
        {"flat", TN_SLOT_OUTPUT, TN_STORAGE_BYTES, 2,       32, 1, 0, flat, \
         NULL,   matrix_bytes,   TOY_FIXED(-1),    TOY_SUM, 0,  0}, \
        {"rows", TN_SLOT_OUTPUT, TN_STORAGE_BYTES, 2,  32, 1, 0, rows, \
         NULL,   row_bytes,      TOY_FIXED(-1),    -1, 0,  0}, \
        {"", TN_SLOT_TEMP, TN_STORAGE_BYTES, 2, 32, 1, 0, rows, NULL, row_bytes, second, -1, 0, 0}, \
        {"picked", TN_SLOT_OUTPUT, TN_STORAGE_BYTES, 2,  32, 1, 0, toy_dim_1, \
         NULL,     TOY_FIXED(4),   TOY_FIXED(-1),    -1, 0,  0}, \
        {"echo", TN_SLOT_OUTPUT, TN_STORAGE_BYTES, 2,     32, 2, 0, matrix, \
         NULL,   matrix_bytes,   TOY_FIXED(-1),    TOY_X, 0,  0}

static const tn_slot toy_symbolic_slot[] = {
    TOY_SLOTS_TEXT(toy_dim_matrix, toy_dim_flat, toy_dim_rows, toy_bind_x, TOY_FN(toy_matrix_bytes),
                   TOY_FN(toy_row_bytes), TOY_FN(toy_second)),
    {"flag", TN_SLOT_INPUT, TN_STORAGE_BYTES, 1, 1, 0, 0, NULL, NULL, TOY_FIXED(1), TOY_FIXED(0), -1, 0, 0},
    {"p1", TN_SLOT_CONST, TN_STORAGE_BYTES, 2, 32, 1, 0, toy_dim_1, NULL, TOY_FIXED(4), TOY_FIXED(0), -1, 0,
     0},
};
static const tn_slot toy_static_slot[] = {
    TOY_SLOTS_TEXT(toy_sdim_matrix, toy_sdim_flat, toy_sdim_rows, NULL, TOY_FIXED(192), TOY_FIXED(24),
                   TOY_FIXED(192)),
};

/* ---- programs ---- */

static const uint32_t toy_operand[] = {
    TOY_X,     TOY_Y,      TOY_P0,     TOY_T1,  0, /*  0 */
    TOY_T1,    TOY_Y,      TOY_P0,     TOY_T2,  0, /*  5 */
    TOY_T2,    TOY_Y,      TOY_P0,     TOY_SUM, 0, /* 10 */
    TOY_SUM,   TOY_ROWS,   0,                      /* 15 */
    TOY_ROWS,  TOY_ROWS2,                          /* 18 */
    TOY_ROWS2, TOY_IDX,    TOY_PICKED, 0,          /* 20 */
    TOY_FLAG,                                      /* 24 */
    TOY_P1,    TOY_PICKED,                         /* 25 */
};

static const tn_inst toy_symbolic_inst[] = {
    {TN_INST_CALL, 0, 0, 5, "Add_0, Mul_0"},  {TN_INST_CALL, 0, 5, 5, "Add_1, Mul_1"},
    {TN_INST_CALL, 0, 10, 5, "Add_2, Mul_2"}, {TN_INST_CALL, 1, 15, 3, "ReduceSum_0"},
    {TN_INST_COPY, 0, 18, 2, "Identity_0"},   {TN_INST_JUMP_FALSE, 8, 24, 1, "If_0"},
    {TN_INST_CALL, 2, 20, 4, "Gather_0"},     {TN_INST_JUMP, 9, 0, 0, "If_0"},
    {TN_INST_COPY, 0, 25, 2, "If_0"},
};
static const tn_inst toy_static_inst[] = {
    {TN_INST_CALL, 0, 0, 4, "Add_0, Mul_0"},  {TN_INST_CALL, 0, 5, 4, "Add_1, Mul_1"},
    {TN_INST_CALL, 0, 10, 4, "Add_2, Mul_2"}, {TN_INST_CALL, 1, 15, 2, "ReduceSum_0"},
    {TN_INST_COPY, 0, 18, 2, "Identity_0"},   {TN_INST_CALL, 2, 20, 3, "Gather_0"},
};

static const tn_symbol toy_symbol[] = {{"n", 1, 4096}};
static const char *const toy_text[] = {"this branch has no type"};

static const tn_program_function toy_symbolic_main = {
    .name = "main",
    .slot = toy_symbolic_slot,
    .symbol = toy_symbol,
    .inst = toy_symbolic_inst,
    .operand = toy_operand,
    .n_slot = TOY_SLOTS,
    .n_symbol = 1,
    .n_inst = 9,
    .n_operand = 27,
    .arena_bytes = TOY_FN(toy_arena),
    .work_offset = TOY_FN(toy_work_offset),
};
static const tn_program_function toy_static_main = {
    .name = "main",
    .slot = toy_static_slot,
    .inst = toy_static_inst,
    .operand = toy_operand,
    .n_slot = TOY_STATIC_SLOTS,
    .n_inst = 6,
    .n_operand = 27,
    .arena_bytes = TOY_FIXED(192 * 2 + 24),
    .work_offset = TOY_FIXED(192 * 2),
};

static const tn_program toy_symbolic_program = {
    .function = &toy_symbolic_main, .text = toy_text, .n_function = 1, .n_text = 1};
static const tn_program toy_static_program = {.function = &toy_static_main, .n_function = 1};

static const tn_library toy_symbolic = {
    .version = TENON_ABI_VERSION,
    .n_kernel = 3,
    .kernel = toy_symbolic_kernel,
    .program = &toy_symbolic_program,
    .producer = "toy 1",
    .target = "llvm -mcpu=toy",
};
static const tn_library toy_static = {
    .version = TENON_ABI_VERSION,
    .n_kernel = 3,
    .kernel = toy_static_kernel,
    .program = &toy_static_program,
    .producer = "toy 1",
    .target = "llvm -mcpu=toy",
};

#endif
