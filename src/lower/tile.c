/* Tensors, of units that multiply tiles (tir/unit.h, MATRIX). A nest that the machine has a unit for stays a nest of
 * tensor loops in flat code, where generators find it, if its operands are tiles in memory: each row of a tile
 * contiguous, the rows evenly spaced. An operand of which a mask leaves something out is copied to a tile of its own
 * first:
 *
 *   tensor "tile.u8s8" for i < 16, j < 16, g < 16, k < 4:      for r < 16:
 *     if q*64 + g*4 + k < 100:                                   vector for l < 64:
 *       acc[i*16 + j] = acc[i*16 + j]                              xt[r*64 + l] = (x[r*100 + q*64 + l]
 *           + i32(x[i*100 + q*64 + g*4 + k])            ->                          mask q*64 + l < 100 else 0)
 *             * i32(w[q*1024 + g*64 + j*4 + k])                  ... the same of w
 *                                                              tensor "tile.u8s8" for i < 16, j < 16, g < 16, k < 4:
 *                                                                acc[i*16 + j] += i32(xt[..]) * i32(wt[..])
 *
 * Else the columns go inside of the groups, and columns and terms are a call of a unit of lanes. Sums of floats are
 * written out in the unit's order. */
#include "lower/lower_impl.h"

#include "machine/machine.h"
#include "tir/unit.h"

static const tn_expr *var_of(const tn_unit_nest *n, int axis) { return n->loop[axis]->u.loop.var; }

static bool is_accumulator(const tn_func *f, const tn_unit_nest *n)
{
    tn_unit_tile t;
    int64_t v;
    return f->buffer[n->store->u.store.buffer].scope == TN_SCOPE_TILE &&
           tn_unit_tile_of(f->pool, n, TN_UNIT_SUM, &t) && tn_is_int(t.stride, &v);
}

/* ---- tiles that are copied ---- */

typedef struct {
    const tn_expr *from, *to;
} exchange;

static const tn_expr *put(tn_pool *p, const tn_expr *e, void *user)
{
    const exchange *x = user;
    (void)p;
    return e == x->from ? x->to : NULL;
}

/* Copies what the load reads where it and `cond` hold, 0 elsewhere, to a tile before the nest; the nest reads that. */
static void copy_tile(tn_func *f, tn_unit_nest *n, enum tn_unit_part part, const tn_expr *load,
                      const tn_expr *cond)
{
    tn_unit_sides o = tn_unit_sides_of(part);
    tn_unit_tile from_tile;
    tn_pool *p = f->pool;
    int64_t rows = n->extent[o.row], group = n->extent[TN_UNIT_TERMS], wide = n->extent[o.column] * group;
    const tn_expr *dim = tn_idx(p, rows * wide), *width = tn_idx(p, wide);
    tn_buffer tile = {.name = part == TN_UNIT_X ? "xt" : "wt", .dtype = load->dtype, .ndim = 1, .dim = &dim};
    tile.scope = TN_SCOPE_LOCAL;
    tile.param = -1;
    uint32_t number = tn_func_add_buffer(f, &tile);
    const tn_expr *r = tn_func_add_var(f, "r", TN_IDX), *l = tn_func_add_var(f, "l", TN_IDX);
    bool fits = tn_unit_tile_of(p, n, part, &from_tile);
    TN_ASSERT(fits);
    const tn_expr *at = tn_add(p, tn_add(p, tn_mul(p, r, from_tile.stride), l), from_tile.first);
    const tn_expr *mask = tn_both(p, tn_load_mask(load), cond);
    const tn_expr *from[] = {var_of(n, o.row), var_of(n, o.column), var_of(n, TN_UNIT_TERMS)};
    const tn_expr *to[] = {r, tn_fdiv(p, l, tn_idx(p, group)), tn_fmod(p, l, tn_idx(p, group))};
    tn_facts facts;
    tn_stmt_facts(f, n->loop[TN_UNIT_ROWS], &facts);
    tn_facts_loop(p, &facts, r, tn_idx(p, rows));
    tn_facts_loop(p, &facts, l, width);
    mask = mask ? tn_simplify(p, &facts, tn_subst(p, mask, 3, from, to)) : NULL;
    at = tn_simplify(p, &facts, at);
    tn_facts_deinit(&facts);
    const tn_expr *none = mask ? tn_const(p, load->dtype, 0) : NULL,
                  *value = tn_load(p, load->dtype, load->u.load.buffer, 1, &at, mask, none),
                  *cell = tn_add(p, tn_mul(p, r, width), l);
    tn_stmt *outer = tn_stmt_for(f, r, tn_idx(p, rows), TN_LOOP_SERIAL),
            *lanes = tn_stmt_for(f, l, width, TN_LOOP_VECTOR), *nest = n->loop[TN_UNIT_ROWS];
    tn_body_append(&lanes->u.loop.body, tn_stmt_store(f, number, 1, &cell, value, NULL));
    tn_body_append(&outer->u.loop.body, lanes);
    tn_body_insert(nest->list, nest, tn_stmt_decl(f, number));
    tn_body_insert(nest->list, nest, outer);
    const tn_expr *own = tn_add(p, tn_mul(p, var_of(n, o.row), width),
                                tn_add(p, tn_mul(p, var_of(n, o.column), tn_idx(p, group)), from[2]));
    exchange x = {load, tn_load(p, load->dtype, number, 1, &own, NULL, NULL)};
    n->store->u.store.value = tn_rewrite(p, n->store->u.store.value, put, &x);
}

/* A mask that can go to lanes, and what stands for it where it does not hold is 0. */
static bool can_copy(const tn_unit_nest *n, enum tn_unit_part part, const tn_expr *load)
{
    const tn_expr *mask = tn_load_mask(load), *other = tn_load_other(load);
    return !mask ||
           (!mask->has_load && tn_is_zero(other) && !tn_uses(mask, var_of(n, tn_unit_sides_of(part).lacks)));
}

static bool keep(tn_func *f, tn_unit_nest *n)
{
    const tn_expr *load[] = {[TN_UNIT_X] = n->x, [TN_UNIT_W] = n->w}, *cond = n->cond;
    tn_unit_tile t;
    if (!is_accumulator(f, n))
        return false;
    if (!n->x)
        return true;
    if (cond && (cond->has_load || tn_dtype_is_float(n->row->sum) || tn_uses(cond, var_of(n, TN_UNIT_ROWS)) ||
                 tn_uses(cond, var_of(n, TN_UNIT_COLUMNS))))
        return false;
    for (int i = 0; i < 2; i++)
        if (!tn_unit_tile_of(f->pool, n, (enum tn_unit_part)i, &t) ||
            !can_copy(n, (enum tn_unit_part)i, load[i]))
            return false;
    for (int i = 0; i < 2; i++)
        if (cond || tn_load_mask(load[i]))
            copy_tile(f, n, (enum tn_unit_part)i, load[i], cond);
    if (cond) {
        tn_stmt *branch = tn_stmt_parent(n->store);
        tn_stmt_remove(n->store);
        tn_stmt_replace(branch, n->store);
    }
    return true;
}

/* ---- without the unit ---- */

/* Columns inside of groups: lanes with their terms. */
static void write_out(tn_stmt *s, const tn_unit_row *row)
{
    tn_stmt *loop[TN_UNIT_AXES] = {s};
    int n = 1;
    while (n < TN_UNIT_AXES && loop[n - 1]->u.loop.body.first->kind == TN_S_FOR)
        loop[n] = loop[n - 1]->u.loop.body.first, n++;
    for (int i = 0; i < n; i++) {
        loop[i]->u.loop.kind = TN_LOOP_SERIAL;
        loop[i]->u.loop.tensor = 0;
    }
    int lanes = tn_unit_of(TN_UNIT_LANES, row->x, row->w, row->sum, row->most[TN_UNIT_TERMS]);
    if (n < TN_UNIT_AXES) {
        loop[TN_UNIT_COLUMNS]->u.loop.kind = TN_LOOP_VECTOR;
        return;
    }
    tn_stmt *outer = loop[TN_UNIT_COLUMNS], *inner = loop[TN_UNIT_GROUPS];
    const tn_expr *var = outer->u.loop.var, *extent = outer->u.loop.extent;
    outer->u.loop.var = inner->u.loop.var;
    outer->u.loop.extent = inner->u.loop.extent;
    inner->u.loop.var = var;
    inner->u.loop.extent = extent;
    inner->u.loop.kind = lanes < 0 ? TN_LOOP_VECTOR : TN_LOOP_TENSOR;
    loop[TN_UNIT_TERMS]->u.loop.kind = lanes < 0 ? TN_LOOP_UNROLLED : TN_LOOP_TENSOR;
    inner->u.loop.tensor = loop[TN_UNIT_TERMS]->u.loop.tensor = (uint8_t)(lanes < 0 ? 0 : lanes);
}

bool tn_tensor_tile(tn_func *f, const struct tn_machine *m, tn_stmt *s)
{
    tn_unit_nest n;
    int id = s->u.loop.tensor;
    if (tn_unit_on(id, m, tn_machine_given) && !tn_unit_read(s, &tn_units[id], &n) && keep(f, &n))
        return true;
    if (!tn_unit_write_out(f, s))
        write_out(s, &tn_units[id]);
    return false;
}
