/* Units and the nests that call them: their table, and which nest is a call of which row. */
#include "tir/unit.h"

#include <string.h>

#define U8 {TN_UINT, 8, 1}
#define I8 {TN_INT, 8, 1}
#define I32 {TN_INT, 32, 1}

const tn_unit_row tn_units[TN_N_UNITS] = {
#define UNIT(id, name, kind, m, n, k, x, w, sum, function, what) \
    {name, TN_UNIT_##kind, {m, n, k}, x, w, sum, TN_F_##function, what},
#include "tir/unit.def"
};

static const struct {
    enum tn_unit_id id;
    const char *arch, *feature;
} needs[] = {
#define NEEDS(id, arch, feature) {TN_UNIT_##id, arch, feature},
#include "tir/unit.def"
};

int tn_unit_named(const char *name)
{
    for (int i = 0; i < TN_N_UNITS; i++)
        if (strcmp(tn_units[i].name, name) == 0)
            return i;
    return -1;
}

int tn_unit_of(enum tn_unit_kind kind, tn_dtype x, tn_dtype w, tn_dtype sum)
{
    for (int i = 0; i < TN_N_UNITS; i++) {
        const tn_unit_row *t = &tn_units[i];
        if (t->kind == kind && tn_dtype_eq(t->x, x) && tn_dtype_eq(t->w, w) && tn_dtype_eq(t->sum, sum))
            return i;
    }
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

/* ---- nests ---- */

static const tn_stmt *only(const tn_body *b) { return b->first && b->first == b->last ? b->first : NULL; }

static bool is_axis(const tn_unit_row *row, int axis, int64_t n)
{
    if (n < 2 || n > row->most[axis])
        return false;
    return row->kind != TN_UNIT_LANES || (axis == TN_UNIT_TERMS ? n == row->most[axis] : (n & (n - 1)) == 0);
}

/* The loops of the nest, which are those of the row that have more than one element. */
static const char *read_loops(tn_stmt *loop, const tn_unit_row *row, tn_unit_nest *out)
{
    *out = (tn_unit_nest){.row = row, .extent = {1, 1, 1}};
    tn_stmt *s = loop;
    for (int axis = 0; axis < TN_UNIT_AXES; axis++) {
        if (row->most[axis] == 1)
            continue;
        if (!s || s->kind != TN_S_FOR)
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

/* sum + x * w, where w alone has the columns */
static const char *read_store(tn_unit_nest *n)
{
    const tn_expr *v = n->store->u.store.value;
    const tn_unit_row *row = n->row;
    if (n->store->u.store.mask || !tn_dtype_eq(v->dtype, row->sum) || v->kind != TN_E_ADD)
        return "its store is no sum of the unit's type";
    for (int i = 0; i < 2; i++) {
        const tn_expr *self = v->src[i], *product = v->src[1 - i];
        bool same =
            self->kind == TN_E_LOAD && self->u.load.buffer == n->store->u.store.buffer && !tn_load_mask(self);
        for (uint32_t d = 0; same && d < n->store->u.store.n_index; d++)
            same = self->src[d] == n->store->u.store.index[d];
        for (int k = 0; same && product->kind == TN_E_MUL && k < 2; k++) {
            n->x = factor(product->src[k], row->x, row->sum);
            n->w = factor(product->src[1 - k], row->w, row->sum);
            if (n->x && n->w && has_axis(n, TN_UNIT_COLUMNS, n->w) && !has_axis(n, TN_UNIT_COLUMNS, n->x))
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
