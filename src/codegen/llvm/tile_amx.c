/* Products of tiles on x86 (AMX): eight registers of 16 rows of 64 bytes.
 *
 * The registers beyond the accumulators hold operands, in turn. An operand that is in a register is not loaded again
 * until memory changes or control comes from elsewhere.
 *
 * The shape of all registers is set when a task begins, and they are given back when it ends: the state of a thread
 * that holds tiles is saved with every switch. */
#include "codegen/llvm/tile.h"

enum { ROWS = 16, ROW_BYTES = 64 };

static LLVMValueRef number(tn_lgen *g, uint32_t tile) { return LLVMConstInt(g->i8, tile, 0); }

static void call(tn_lgen *g, const char *name, int n, LLVMValueRef arg[])
{
    tn_l_intrinsic(g, name, 0, NULL, n, arg);
}

/* The tile between a register and memory; rows begin `stride` elements apart. */
static void move(tn_lgen *g, const char *name, uint32_t tile, uint32_t buffer, const tn_expr *first,
                 const tn_expr *stride)
{
    tn_pool *p = g->func->pool;
    tn_dtype t = g->func->buffer[buffer].dtype;
    const tn_expr *bytes = tn_simplify(p, NULL, tn_mul(p, stride, tn_idx(p, tn_dtype_bytes(t))));
    LLVMValueRef arg[3] = {number(g, tile), tn_l_address(g, t, buffer, first), tn_l_expr(g, bytes)};
    call(g, name, 3, arg);
}

static void move_sum(tn_lgen *g, const char *name, uint32_t tile)
{
    const tn_l_accumulator *a = &g->tiles.sum[tile];
    move(g, name, tile, a->buffer, tn_idx(g->func->pool, a->first), tn_idx(g->func->pool, a->stride));
}

static void load(tn_lgen *g, uint32_t sum) { move_sum(g, "llvm.x86.tileloadd64", sum); }

static void store(tn_lgen *g, uint32_t sum) { move_sum(g, "llvm.x86.tilestored64", sum); }

static void clear(tn_lgen *g, uint32_t sum)
{
    LLVMValueRef tile = number(g, sum);
    call(g, "llvm.x86.tilezero", 1, &tile);
}

/* The register with a factor; `other` holds the product's other one, TN_L_TILES: none. */
static uint32_t load_factor(tn_lgen *g, const tn_unit_nest *n, enum tn_unit_part part, uint32_t other)
{
    tn_l_tiles *r = &g->tiles;
    tn_unit_tile t;
    bool fits = tn_unit_tile_of(g->func->pool, n, part, &t);
    TN_ASSERT(fits);
    tn_l_operand want = {(part == TN_UNIT_X ? n->x : n->w)->u.load.buffer, t.first, t.stride};
    for (uint32_t i = r->n; i < TN_L_TILES; i++)
        if (r->operand[i].first == want.first && r->operand[i].stride == want.stride &&
            r->operand[i].buffer == want.buffer)
            return i;
    if (r->next == other)
        r->next = r->next + 1 < TN_L_TILES ? r->next + 1 : r->n;
    uint32_t at = r->next;
    r->next = at + 1 < TN_L_TILES ? at + 1 : r->n;
    r->operand[at] = want;
    move(g, "llvm.x86.tileloadd64", at, want.buffer, want.first, want.stride);
    return at;
}

static void multiply(tn_lgen *g, uint32_t sum, const tn_unit_nest *n, const char *name)
{
    uint32_t x = load_factor(g, n, TN_UNIT_X, TN_L_TILES), w = load_factor(g, n, TN_UNIT_W, x);
    LLVMValueRef arg[3] = {number(g, sum), number(g, x), number(g, w)};
    call(g, name, 3, arg);
}

static void on(tn_lgen *g)
{
    enum { BYTES = 64, PALETTE = 0, WIDTHS = 16, HEIGHTS = 48 };
    LLVMValueRef byte[BYTES], shape = LLVMGetNamedGlobal(g->m, "tile_shape");
    for (int i = 0; i < BYTES; i++)
        byte[i] = LLVMConstNull(g->i8);
    byte[PALETTE] = LLVMConstInt(g->i8, 1, 0);
    for (int i = 0; i < TN_L_TILES; i++) {
        byte[WIDTHS + 2 * i] = LLVMConstInt(g->i8, ROW_BYTES, 0);
        byte[HEIGHTS + i] = LLVMConstInt(g->i8, ROWS, 0);
    }
    if (!shape) {
        shape = LLVMAddGlobal(g->m, LLVMArrayType2(g->i8, BYTES), "tile_shape");
        LLVMSetInitializer(shape, LLVMConstArray2(g->i8, byte, BYTES));
        LLVMSetGlobalConstant(shape, 1);
        LLVMSetLinkage(shape, LLVMPrivateLinkage);
        LLVMSetAlignment(shape, BYTES);
    }
    call(g, "llvm.x86.ldtilecfg", 1, &shape);
}

static void off(tn_lgen *g) { call(g, "llvm.x86.tilerelease", 0, NULL); }

const tn_l_tiling tn_l_amx = {TN_L_TILES - 2, load, store, clear, multiply, on, off};
