/* Products of tiles on AArch64 (i8mm): 2 x 2 sums in a vector register, of rows of two groups of eight bytes.
 *
 * An instruction multiplies a group of both rows with one of both columns, eight bytes of each beside each other: so
 * the columns' groups lie in memory, and rows are put together. An accumulator is an alloca that mem2reg turns into
 * values, its rows beside each other; that of a product whose first factor alone is signed is turned, since there is an
 * instruction for the other order. LLVM finds that products of a run share factors. */
#include "codegen/llvm/tile.h"

enum { SIDE = 2, SUMS = SIDE * SIDE, BYTES = 16 };

static LLVMTypeRef bytes_type(tn_lgen *g) { return LLVMVectorType(g->i8, BYTES); }

/* The elements of a and b (of two each) at these places of both in a row. */
static LLVMValueRef join(tn_lgen *g, LLVMValueRef a, LLVMValueRef b, int n, const int at[])
{
    LLVMValueRef mask[SUMS];
    for (int i = 0; i < n; i++)
        mask[i] = LLVMConstInt(g->i32, (unsigned)at[i], 0);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(mask, (unsigned)n), "");
}

static LLVMValueRef load_row(tn_lgen *g, LLVMTypeRef type, uint32_t buffer, const tn_expr *at)
{
    tn_dtype t = g->func->buffer[buffer].dtype;
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, tn_l_address(g, t, buffer, at), "");
    LLVMSetAlignment(v, tn_dtype_bytes(t));
    return v;
}

/* ---- accumulators ---- */

static const int whole[] = {0, 1, 2, 3}, turned[] = {0, 2, 1, 3};

static const tn_expr *row_of(tn_lgen *g, const tn_l_accumulator *a, int row)
{
    return tn_idx(g->func->pool, a->first + row * a->stride);
}

static LLVMValueRef *place(tn_lgen *g, uint32_t sum)
{
    LLVMValueRef *at = &g->tiles.at[sum];
    if (!*at)
        *at = tn_l_local(g, LLVMVectorType(g->i32, SUMS), "tile");
    return at;
}

static void load(tn_lgen *g, uint32_t sum)
{
    const tn_l_accumulator *a = &g->tiles.sum[sum];
    LLVMValueRef row[SIDE];
    for (int i = 0; i < SIDE; i++)
        row[i] = load_row(g, LLVMVectorType(g->i32, SIDE), a->buffer, row_of(g, a, i));
    LLVMBuildStore(g->b, join(g, row[0], row[1], SUMS, a->turned ? turned : whole), *place(g, sum));
}

static void store(tn_lgen *g, uint32_t sum)
{
    const tn_l_accumulator *a = &g->tiles.sum[sum];
    const int *order = a->turned ? turned : whole;
    LLVMValueRef v = LLVMBuildLoad2(g->b, LLVMVectorType(g->i32, SUMS), *place(g, sum), "");
    tn_dtype t = g->func->buffer[a->buffer].dtype;
    for (int i = 0; i < SIDE; i++) {
        LLVMValueRef p = tn_l_address(g, t, a->buffer, row_of(g, a, i));
        LLVMSetAlignment(LLVMBuildStore(g->b, join(g, v, v, SIDE, order + i * SIDE), p), tn_dtype_bytes(t));
    }
}

static void clear(tn_lgen *g, uint32_t sum)
{
    LLVMBuildStore(g->b, LLVMConstNull(LLVMVectorType(g->i32, SUMS)), *place(g, sum));
}

/* ---- products ---- */

/* Both rows of a factor's tile in memory. */
static void load_factor(tn_lgen *g, const tn_unit_nest *n, enum tn_unit_part part, LLVMValueRef row[SIDE])
{
    tn_pool *p = g->func->pool;
    tn_unit_tile t;
    bool fits = tn_unit_tile_of(p, n, part, &t);
    TN_ASSERT(fits);
    uint32_t buffer = (part == TN_UNIT_X ? n->x : n->w)->u.load.buffer;
    for (int i = 0; i < SIDE; i++) {
        const tn_expr *at = tn_add(p, t.first, tn_mul(p, t.stride, tn_idx(p, i)));
        row[i] = load_row(g, bytes_type(g), buffer, tn_simplify(p, NULL, at));
    }
}

/* Group k of both rows. */
static LLVMValueRef group_of(tn_lgen *g, LLVMValueRef row[SIDE], int k)
{
    LLVMTypeRef halves = LLVMVectorType(g->i64, 2);
    LLVMValueRef a = LLVMBuildBitCast(g->b, row[0], halves, ""),
                 b = LLVMBuildBitCast(g->b, row[1], halves, "");
    return LLVMBuildBitCast(g->b, join(g, a, b, 2, (const int[]){k, 2 + k}), bytes_type(g), "");
}

static void multiply(tn_lgen *g, uint32_t sum, const tn_unit_nest *n, const char *name)
{
    LLVMValueRef x[SIDE], w[SIDE], at = *place(g, sum);
    LLVMTypeRef type[2] = {LLVMVectorType(g->i32, SUMS), bytes_type(g)};
    load_factor(g, n, TN_UNIT_X, x);
    load_factor(g, n, TN_UNIT_W, w);
    bool turns = g->tiles.sum[sum].turned;
    for (int k = 0; k < 2; k++) {
        LLVMValueRef rows = group_of(g, x, k), arg[3] = {LLVMBuildLoad2(g->b, type[0], at, ""),
                                                         turns ? w[k] : rows, turns ? rows : w[k]};
        LLVMBuildStore(g->b, tn_l_intrinsic(g, name, 2, type, 3, arg), at);
    }
}

const tn_l_tiling tn_l_neon = {TN_L_SUMS, load, store, clear, multiply, NULL, NULL};
