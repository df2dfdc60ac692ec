/* Units and the nests that call them: their table, and which nest is a call of which row. */
#include "tir/unit.h"

#include <string.h>

#define U8 {TN_UINT, 8, 1}
#define I8 {TN_INT, 8, 1}
#define I32 {TN_INT, 32, 1}
#define BF16 {TN_BFLOAT, 16, 1}
#define F32 {TN_FLOAT, 32, 1}

const tn_unit_row tn_units[TN_N_UNITS] = {
#define UNIT(id, name, kind, m, n, g, k, x, w, sum, function, what) \
    {name, TN_UNIT_##kind, {m, n, g, k}, x, w, sum, TN_F_##function, what},
#include "tir/unit.def"
};

static const struct {
    enum tn_unit_id id;
    const char *arch, *feature;
} needs[] = {
#define NEEDS(id, arch, feature) {TN_UNIT_##id, arch, feature},
#include "tir/unit.def"
};

static const struct {
    enum tn_unit_id id, other;
    const char *arch, *feature;
} moves[] = {
#define MOVES(id, other, arch, feature) {TN_UNIT_##id, TN_UNIT_##other, arch, feature},
#include "tir/unit.def"
};

int tn_unit_named(const char *name)
{
    for (int i = 0; i < TN_N_UNITS; i++)
        if (strcmp(tn_units[i].name, name) == 0)
            return i;
    return -1;
}

static bool multiplies(const tn_unit_row *u, enum tn_unit_kind kind, tn_dtype x, tn_dtype w, tn_dtype sum,
                       int64_t group)
{
    return u->kind == kind && (!group || u->most[TN_UNIT_TERMS] == group) && tn_dtype_eq(u->x, x) &&
           tn_dtype_eq(u->w, w) && tn_dtype_eq(u->sum, sum);
}

int tn_unit_of(enum tn_unit_kind kind, tn_dtype x, tn_dtype w, tn_dtype sum, int64_t group)
{
    for (int i = 0; i < TN_N_UNITS; i++)
        if (multiplies(&tn_units[i], kind, x, w, sum, group))
            return i;
    return -1;
}

bool tn_unit_on(int id, const struct tn_machine *m,
                bool (*given)(const struct tn_machine *m, const char *arch, const char *feature))
{
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if ((int)needs[i].id == id && given(m, needs[i].arch, needs[i].feature))
            return true;
    return false;
}

const tn_unit_row *tn_unit_here(enum tn_unit_kind kind, tn_dtype x, tn_dtype w, tn_dtype sum, int64_t group,
                                const struct tn_machine *m,
                                bool (*given)(const struct tn_machine *m, const char *arch,
                                              const char *feature))
{
    for (int i = 0; i < TN_N_UNITS; i++)
        if (multiplies(&tn_units[i], kind, x, w, sum, group) && tn_unit_on(i, m, given))
            return &tn_units[i];
    return NULL;
}

bool tn_unit_moves(int id, int other, const struct tn_machine *m,
                   bool (*given)(const struct tn_machine *m, const char *arch, const char *feature))
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if ((int)moves[i].id == id && (int)moves[i].other == other &&
            given(m, moves[i].arch, moves[i].feature))
            return true;
    return false;
}

bool tn_unit_suits(const tn_unit_row *row, const tn_stmt *block)
{
    return !tn_dtype_is_float(row->sum) || strcmp(block->u.block.tag, TN_TAG_NORMAL) == 0;
}

/* ---- nests ---- */

static const tn_stmt *only(const tn_body *b) { return b->first && b->first == b->last ? b->first : NULL; }

static bool is_axis(const tn_unit_row *row, int axis, int64_t n)
{
    if (n < 2 || n > row->most[axis])
        return false;
    return (row->kind == TN_UNIT_LANES && axis == TN_UNIT_COLUMNS) ? (n & (n - 1)) == 0
                                                                   : n == row->most[axis];
}

/* The loops of the nest, which are those of the row that have more than one element; of a nest that clears, rows and
 * columns alone. */
static const char *read_loops(tn_stmt *loop, const tn_unit_row *row, tn_unit_nest *out)
{
    *out = (tn_unit_nest){.row = row, .extent = {1, 1, 1, 1}};
    tn_stmt *s = loop;
    for (int axis = 0; axis < TN_UNIT_AXES; axis++) {
        if (row->most[axis] == 1)
            continue;
        bool is_loop = s && s->kind == TN_S_FOR;
        if (!is_loop && row->kind == TN_UNIT_MATRIX && axis == TN_UNIT_GROUPS)
            break;
        if (!is_loop)
            return "it has fewer loops than the unit has axes";
        if (!tn_is_int(s->u.loop.extent, &out->extent[axis]) || !is_axis(row, axis, out->extent[axis]))
            return "an extent is not one that the unit has";
        out->loop[axis] = out->inner = s;
        s = (tn_stmt *)(uintptr_t)only(&s->u.loop.body);
    }
    return out->inner->u.loop.body.first ? NULL : "it is empty";
}

static const tn_expr *factor(const tn_expr *e, tn_dtype t, tn_dtype sum)
{
    if (!tn_dtype_eq(t, sum)) {
        if (e->kind != TN_E_CAST)
            return NULL;
        e = e->src[0];
    }
    return e->kind == TN_E_LOAD && tn_dtype_eq(e->dtype, t) ? e : NULL;
}

/* Is the loop's variable, or an iteration that is bound to it, in an index of the load? */
static bool has_axis(const tn_unit_nest *n, int axis, const tn_expr *load)
{
    bool found = false;
    for (uint32_t d = 0; n->loop[axis] && d < load->u.load.n_index && !found; d++) {
        const tn_expr *var = n->loop[axis]->u.loop.var, *e = load->src[d];
        found = tn_uses(e, var);
        for (uint32_t i = 0; n->block && i < n->block->u.block.n_iter && !found; i++) {
            const tn_iter *it = &n->block->u.block.iter[i];
            found = tn_uses(it->value, var) && tn_uses(e, it->var);
        }
    }
    return found;
}

/* Is it the two factors, the columns in w alone, the rows not in w? */
static bool factors_fit(const tn_unit_nest *n)
{
    return n->x && n->w && has_axis(n, TN_UNIT_COLUMNS, n->w) && !has_axis(n, TN_UNIT_COLUMNS, n->x) &&
           !has_axis(n, TN_UNIT_ROWS, n->w);
}

/* sum + x * w, where w alone has the columns; or 0, where the nest has no terms */
static const char *read_store(tn_unit_nest *n)
{
    const tn_expr *v = n->store->u.store.value;
    const tn_unit_row *row = n->row;
    bool clears = row->kind == TN_UNIT_MATRIX && !n->loop[TN_UNIT_GROUPS] && !n->cond;
    if (clears && !n->store->u.store.mask && tn_dtype_eq(v->dtype, row->sum) && tn_is_zero(v))
        return NULL;
    if (n->store->u.store.mask || !tn_dtype_eq(v->dtype, row->sum) || v->kind != TN_E_ADD)
        return "its store is no sum of the unit's type";
    if (n->row->kind == TN_UNIT_MATRIX && !n->loop[TN_UNIT_GROUPS])
        return "its loops are those of a tile that is cleared, but its store is not 0";
    for (int i = 0; i < 2; i++) {
        const tn_expr *self = v->src[i], *product = v->src[1 - i];
        bool same =
            self->kind == TN_E_LOAD && self->u.load.buffer == n->store->u.store.buffer && !tn_load_mask(self);
        for (uint32_t d = 0; same && d < n->store->u.store.n_index; d++)
            same = self->src[d] == n->store->u.store.index[d];
        for (int k = 0; same && product->kind == TN_E_MUL && k < 2; k++) {
            n->x = factor(product->src[k], row->x, row->sum);
            n->w = factor(product->src[1 - k], row->w, row->sum);
            if (factors_fit(n))
                return NULL;
        }
    }
    return "its store adds no product of the unit's types, the columns in the second factor alone";
}

const char *tn_unit_read(tn_stmt *loop, const tn_unit_row *row, tn_unit_nest *out)
{
    const char *fault = read_loops(loop, row, out);
    if (fault)
        return fault;
    const tn_stmt *s = only(&out->inner->u.loop.body);
    if (s && s->kind == TN_S_BLOCK && !s->u.block.init.first) {
        out->block = (tn_stmt *)(uintptr_t)s;
        s = only(&s->u.block.body);
    } else if (s && s->kind == TN_S_IF && !s->u.cond.other.first) {
        out->cond = s->u.cond.cond;
        s = only(&s->u.cond.then);
    }
    if (!s || s->kind != TN_S_STORE)
        return "its list is not one store";
    out->store = (tn_stmt *)(uintptr_t)s;
    return read_store(out);
}

/* ---- sums of floats ---- */

/* part[k] = 0 before the loop of the groups, and part[k] = part[k] + x * w of term k in it; returns part[k]. */
static const tn_expr *add_term(tn_func *f, const tn_unit_nest *n, uint32_t part, int64_t k)
{
    tn_pool *p = f->pool;
    tn_stmt *groups = n->loop[TN_UNIT_GROUPS], *terms = n->loop[TN_UNIT_TERMS];
    const tn_expr *at = tn_idx(p, k), *own = tn_load(p, n->row->sum, part, 1, &at, NULL, NULL);
    const tn_expr *x = tn_cast(p, n->row->sum, tn_subst(p, n->x, 1, &terms->u.loop.var, &at)),
                  *w = tn_cast(p, n->row->sum, tn_subst(p, n->w, 1, &terms->u.loop.var, &at));
    tn_stmt *clear = tn_stmt_store(f, part, 1, &at, tn_const(p, n->row->sum, 0), NULL),
            *add = tn_stmt_store(f, part, 1, &at, tn_add(p, own, tn_mul(p, x, w)), NULL);
    tn_body_insert(groups->list, groups, clear);
    tn_body_insert(&groups->u.loop.body, terms, add);
    return own;
}

static void make_serial(const tn_unit_nest *n)
{
    for (int axis = 0; axis < TN_UNIT_AXES; axis++)
        if (n->loop[axis]) {
            n->loop[axis]->u.loop.kind = TN_LOOP_SERIAL;
            n->loop[axis]->u.loop.tensor = 0;
        }
}

/* Lanes add the last term of a group first, as their function does. */
static void turn_terms(tn_func *f, const tn_unit_nest *n)
{
    tn_pool *p = f->pool;
    const tn_expr *k = n->loop[TN_UNIT_TERMS]->u.loop.var,
                  *turned = tn_sub(p, tn_idx(p, n->extent[TN_UNIT_TERMS] - 1), k);
    tn_stmt_subst(f, n->inner->u.loop.body.first, 1, &k, &turned);
}

bool tn_unit_write_out(tn_func *f, tn_stmt *loop)
{
    tn_pool *p = f->pool;
    const tn_unit_row *row = &tn_units[loop->u.loop.tensor];
    tn_unit_nest n;
    if (!tn_dtype_is_float(row->sum) || tn_unit_read(loop, row, &n) || !n.x || n.block)
        return false;
    if (row->kind == TN_UNIT_LANES) {
        turn_terms(f, &n);
        make_serial(&n);
        return true;
    }
    if (n.cond)
        return false;
    const tn_expr *dim = tn_idx(p, n.extent[TN_UNIT_TERMS]), *all = NULL;
    tn_buffer b = {.name = "part", .dtype = row->sum, .ndim = 1, .dim = &dim, .scope = TN_SCOPE_REGISTER};
    b.param = -1;
    uint32_t part = tn_func_add_buffer(f, &b);
    tn_stmt *groups = n.loop[TN_UNIT_GROUPS], *store = n.store;
    tn_body_insert(groups->list, groups, tn_stmt_decl(f, part));
    for (int64_t k = 0; k < n.extent[TN_UNIT_TERMS]; k++) {
        const tn_expr *one = add_term(f, &n, part, k);
        all = all ? tn_add(p, all, one) : one;
    }
    const tn_expr *before =
        tn_load(p, row->sum, store->u.store.buffer, store->u.store.n_index, store->u.store.index, NULL, NULL);
    store->u.store.value = tn_add(p, before, all);
    tn_stmt_remove(store);
    tn_stmt_remove(n.loop[TN_UNIT_TERMS]);
    tn_body_insert(groups->list, groups->next, store);
    make_serial(&n);
    return true;
}

/* ---- tiles ---- */

tn_unit_sides tn_unit_sides_of(enum tn_unit_part part)
{
    static const tn_unit_sides sides[] = {
        [TN_UNIT_X] = {TN_UNIT_ROWS, TN_UNIT_GROUPS, TN_UNIT_COLUMNS},
        [TN_UNIT_W] = {TN_UNIT_GROUPS, TN_UNIT_COLUMNS, TN_UNIT_ROWS},
        [TN_UNIT_SUM] = {TN_UNIT_ROWS, TN_UNIT_COLUMNS, TN_UNIT_TERMS},
    };
    return sides[part];
}

static bool uses_axes(const tn_unit_nest *n, const tn_expr *e)
{
    for (int axis = 0; axis < TN_UNIT_AXES; axis++)
        if (n->loop[axis] && tn_uses(e, n->loop[axis]->u.loop.var))
            return true;
    return false;
}

/* e without `by` times the variable of the axis; NULL: it has not that. */
static const tn_expr *without(tn_pool *p, const tn_unit_nest *n, const tn_expr *e, int axis, int64_t by)
{
    const tn_expr *coef, *rest;
    return tn_linear(p, NULL, e, n->loop[axis]->u.loop.var, &coef, &rest) && tn_is_value(coef, by) ? rest
                                                                                                   : NULL;
}

bool tn_unit_tile_of(tn_pool *p, const tn_unit_nest *n, enum tn_unit_part part, tn_unit_tile *out)
{
    tn_unit_sides sides = tn_unit_sides_of(part);
    bool sum = part == TN_UNIT_SUM;
    const tn_expr *load = part == TN_UNIT_X ? n->x : n->w,
                  *e = sum ? n->store->u.store.index[0] : load->src[0];
    if ((sum ? n->store->u.store.n_index : load->u.load.n_index) != 1 || e->has_load ||
        !tn_linear(p, NULL, e, n->loop[sides.row]->u.loop.var, &out->stride, &e) || uses_axes(n, out->stride))
        return false;
    e = without(p, n, e, sides.column, sum ? 1 : n->extent[TN_UNIT_TERMS]);
    e = e && !sum ? without(p, n, e, TN_UNIT_TERMS, 1) : e;
    if (!e || uses_axes(n, e))
        return false;
    out->first = tn_simplify(p, NULL, e);
    return true;
}

const char *tn_unit_fault(const tn_stmt *loop)
{
    const tn_stmt *up = tn_stmt_parent(loop);
    if (loop->u.loop.tensor >= TN_N_UNITS)
        return "there is no such unit";
    if (up && up->kind == TN_S_FOR && up->u.loop.kind == TN_LOOP_TENSOR)
        return up->u.loop.tensor == loop->u.loop.tensor ? NULL : "one nest is inside of another";
    tn_unit_nest n;
    return read_loops((tn_stmt *)(uintptr_t)loop, &tn_units[loop->u.loop.tensor], &n); /* looked at alone */
}
