/* Nests of tensor loops as products of tiles (tir/unit.h, MATRIX), on x86: eight registers of 16 rows of 64 bytes.
 *
 * An accumulator is memory of the task, in scope `tile`. It is in a register through a *run*: the statements of a list,
 * beside each other, in which nothing but nests uses accumulators. Before the run it is loaded, or cleared if the first
 * nest of the run says so; after it, it is stored. A run is as long as it can be, so it is a whole reduction. Runs
 * with too many accumulators are left to the lists inside, down to a nest, which has one.
 *
 * The registers beyond the accumulators hold operands, in turn. An operand that is in a register is not loaded again
 * until memory changes or control comes from elsewhere.
 *
 * The shape of all registers is set when a task begins, and they are given back when it ends: the state of a thread
 * that holds tiles is saved with every switch. */
#include "codegen/llvm/llvmgen.h"

#include "tir/unit.h"

#include <string.h>

enum { ROWS = 16, ROW_BYTES = 64, MOST_SUMS = TN_L_TILES - 2 };

typedef struct {
    enum tn_unit_id unit;
    const char *call, *feature;
} product;

static const product *product_of(const tn_lgen *g, const tn_unit_row *row)
{
    static const product products[] = {
#define LLVM_TILES(unit, call, feature) {TN_UNIT_##unit, call, feature},
#include "codegen/intrinsics.def"
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (&tn_units[products[i].unit] == row && tn_l_has_feature(g, products[i].feature))
            return &products[i];
    return NULL;
}

/* ---- nests ---- */

static bool is_near(const tn_lgen *g, uint32_t buffer)
{
    return g->func->buffer[buffer].scope == TN_SCOPE_TILE;
}

/* A nest that this machine's tiles compute, and its accumulator. */
static bool read_nest(tn_lgen *g, const tn_stmt *s, tn_unit_nest *n, tn_l_accumulator *out)
{
    tn_pool *p = g->func->pool;
    tn_unit_tile t;
    const tn_unit_row *row = tn_stmt_is_nest(s) ? &tn_units[s->u.loop.tensor] : NULL;
    if (!row || row->kind != TN_UNIT_MATRIX || !product_of(g, row) ||
        tn_unit_read((tn_stmt *)(uintptr_t)s, row, n) || n->cond || !tn_unit_tile_of(p, n, TN_UNIT_SUM, &t))
        return false;
    *out = (tn_l_accumulator){.buffer = n->store->u.store.buffer};
    if (!is_near(g, out->buffer) || !tn_is_int(t.stride, &out->stride) || !tn_is_int(t.first, &out->first))
        return false;
    return !n->x || (!tn_load_mask(n->x) && !tn_load_mask(n->w) && tn_unit_tile_of(p, n, TN_UNIT_X, &t) &&
                     tn_unit_tile_of(p, n, TN_UNIT_W, &t));
}

/* ---- runs ---- */

/* Do two have no element in common? */
static bool are_apart(const tn_l_accumulator *a, const tn_l_accumulator *b)
{
    if (a->buffer != b->buffer)
        return true;
    int64_t by = a->first < b->first ? b->first - a->first : a->first - b->first;
    return a->stride == b->stride && a->stride >= ROWS &&
           (by >= ROWS * a->stride || (by % a->stride >= ROWS && by % a->stride + ROWS <= a->stride));
}

typedef struct {
    tn_lgen *g;
    tn_l_tiles *run;
    bool whole;   /* accumulators are used by nests alone, and there are not too many */
    bool certain; /* the statement is run whenever the run is, before all others that use its accumulator */
} survey;

static bool note_load(const tn_expr *e, void *user)
{
    survey *v = user;
    v->whole &= e->kind != TN_E_LOAD || !is_near(v->g, e->u.load.buffer);
    return v->whole;
}

static const tn_expr *note_expr(const tn_expr *e, void *user)
{
    if (e->has_load)
        (void)tn_each(e, note_load, user);
    return e;
}

static void note_sum(survey *v, const tn_l_accumulator *a, bool clears)
{
    tn_l_tiles *r = v->run;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->sum[i].buffer == a->buffer && r->sum[i].first == a->first && r->sum[i].stride == a->stride)
            return;
        v->whole &= are_apart(&r->sum[i], a);
    }
    v->whole &= r->n < MOST_SUMS;
    if (!v->whole)
        return;
    r->sum[r->n] = *a;
    r->sum[r->n++].cleared = clears && v->certain;
}

static bool note_stmt(tn_stmt *s, void *user)
{
    survey *v = user;
    tn_unit_nest n;
    tn_l_accumulator a;
    if (tn_stmt_is_nest(s)) {
        bool fits = read_nest(v->g, s, &n, &a);
        v->whole &= fits;
        if (fits)
            note_sum(v, &a, !n.x);
        return false;
    }
    v->whole &= s->kind != TN_S_CHECK && !(s->kind == TN_S_STORE && is_near(v->g, s->u.store.buffer)) &&
                !(s->kind == TN_S_BUFFER && is_near(v->g, s->u.decl.buffer));
    tn_stmt_exprs(s, note_expr, v);
    return v->whole;
}

static bool can_add(tn_lgen *g, const tn_stmt *s, tn_l_tiles *run)
{
    tn_l_tiles more = *run;
    survey v = {g, &more, true, tn_stmt_is_nest(s)};
    tn_stmt *at = (tn_stmt *)(uintptr_t)s; /* looked at alone */
    tn_body *inner[2];
    int n = note_stmt(at, &v) ? tn_stmt_bodies(at, inner) : 0;
    for (int i = 0; i < n; i++)
        tn_stmt_walk(inner[i], note_stmt, NULL, &v);
    if (v.whole)
        *run = more;
    return v.whole;
}

/* ---- code ---- */

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

void tn_l_tiles_before(tn_lgen *g, const tn_stmt *s)
{
    tn_l_tiles run = {.used = true, .last = s};
    if (g->tiles.last || !can_add(g, s, &run) || run.n == 0)
        return;
    while (run.last->next && can_add(g, run.last->next, &run))
        run.last = run.last->next;
    run.next = run.n;
    g->tiles = run;
    for (uint32_t i = 0; i < run.n; i++)
        if (!run.sum[i].cleared)
            move_sum(g, "llvm.x86.tileloadd64", i);
}

void tn_l_tiles_after(tn_lgen *g, const tn_stmt *s)
{
    if (g->tiles.last != s)
        return;
    for (uint32_t i = 0; i < g->tiles.n; i++)
        move_sum(g, "llvm.x86.tilestored64", i);
    g->tiles.last = NULL;
    tn_map_clear(&g->memo);
}

void tn_l_tiles_forget(tn_lgen *g) { memset(g->tiles.operand, 0, sizeof g->tiles.operand); }

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

bool tn_l_tile(tn_lgen *g, const tn_stmt *loop)
{
    tn_unit_nest n;
    tn_l_accumulator a;
    if (!g->tiles.last || !read_nest(g, loop, &n, &a))
        return false;
    uint32_t sum = 0;
    while (g->tiles.sum[sum].buffer != a.buffer || g->tiles.sum[sum].first != a.first)
        sum++;
    LLVMValueRef arg[3] = {number(g, sum)};
    if (!n.x) {
        call(g, "llvm.x86.tilezero", 1, arg);
        return true;
    }
    uint32_t x = load_factor(g, &n, TN_UNIT_X, TN_L_TILES);
    uint32_t w = load_factor(g, &n, TN_UNIT_W, x);
    arg[1] = number(g, x);
    arg[2] = number(g, w);
    call(g, product_of(g, n.row)->call, 3, arg);
    return true;
}

/* ---- tasks ---- */

void tn_l_tiles_on(tn_lgen *g)
{
    enum { BYTES = 64, PALETTE = 0, WIDTHS = 16, HEIGHTS = 48 };
    LLVMValueRef byte[BYTES], shape = LLVMGetNamedGlobal(g->m, "tile_shape");
    if (!g->tiles.used)
        return;
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

void tn_l_tiles_off(tn_lgen *g)
{
    if (g->tiles.used)
        call(g, "llvm.x86.tilerelease", 0, NULL);
}
