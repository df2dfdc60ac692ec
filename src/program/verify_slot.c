/* Slots, sizes and states of a program that is verified. */
#include "program/verify.h"

#include "base/map.h"
#include "base/size.h"

#include <string.h>

/* ---- sizes ---- */

bool verify_equal(verifier *v, const tn_expr *a, const tn_expr *b)
{
    if (a == b || tn_equal(v->p, &v->facts, a, b))
        return true;
    const tn_expr *x = tn_program_differ(v->p, a, b), *y = tn_program_differ(v->p, b, a);
    for (uint32_t i = 0; i < v->f->n_size; i++)
        if ((v->f->size[i] == x || v->f->size[i] == y) && verify_has(v, v->size0 + i))
            return true;
    return false;
}

typedef struct {
    verifier *v;
    uint32_t slot;
    bool bound;
} mentions;

static int64_t symbol_of(const verifier *v, const tn_expr *e)
{
    for (uint32_t s = 0; e->kind == TN_E_SYM && s < v->f->n_symbol; s++)
        if (v->f->symbol[s].name == e->u.s)
            return s;
    return -1;
}

static bool note_symbol(const tn_expr *e, void *user)
{
    mentions *m = user;
    int64_t s = symbol_of(m->v, e);
    if (s >= 0)
        tn_vec_push(&m->v->depends[s], m->slot);
    return true;
}

static bool is_bound(const tn_expr *e, void *user)
{
    mentions *m = user;
    int64_t s = symbol_of(m->v, e);
    m->bound = m->bound && (e->kind != TN_E_SYM || (s >= 0 && verify_has(m->v, (uint32_t)s)));
    return true;
}

void verify_bound(verifier *v, const tn_expr *e, int64_t slot)
{
    mentions m = {v, 0, true};
    if (e->kind != TN_E_INT)
        tn_each(e, is_bound, &m);
    if (!m.bound)
        verify_fault(v, " names a size of symbols that are not bound yet", slot);
}

static bool divides(const tn_expr *e, void *user)
{
    verifier *v = user;
    if ((e->kind == TN_E_FLOORDIV || e->kind == TN_E_FLOORMOD) && tn_bounds(&v->facts, e->src[1]).lo < 1)
        verify_fault(v, "a size divides by what may be 0", VERIFY_NO_SLOT);
    return true;
}

/* Division is the only operation of sizes that is not defined for all values. */
static void defined(verifier *v, const tn_expr *e)
{
    if (e && e->kind != TN_E_INT)
        tn_each(e, divides, v);
}

static void check_sizes(verifier *v)
{
    const tn_program_function_ir *f = v->f;
    defined(v, f->arena_bytes);
    defined(v, f->work_offset);
    for (uint32_t i = 0; i < f->n_size; i++)
        defined(v, f->size[i]);
    for (uint32_t i = 0; i < f->n_segment; i++)
        defined(v, f->segment_bytes[i]);
    for (uint32_t i = 0; i < f->n_slot; i++) {
        defined(v, f->slot[i].bytes);
        defined(v, f->slot[i].offset);
        for (int d = 0; d < f->slot[i].ndim; d++)
            defined(v, f->slot[i].dim[d]);
    }
}

/* ---- what is written ---- */

bool verify_shares(const verifier *v, uint32_t a, uint32_t b)
{
    const tn_slot_ir *x = &v->f->slot[a], *y = &v->f->slot[b];
    if (x->kind == TN_SLOT_STATE && y->kind == TN_SLOT_STATE)
        return x->alias == y->alias;
    if (x->segment != y->segment)
        return false;
    for (int k = 0; k < VERIFY_SAMPLES; k++)
        if (v->place[k][a].from < v->place[k][b].to && v->place[k][b].from < v->place[k][a].to)
            return true;
    return false;
}

/* Few slots hold a value at a time: looking at those costs less than lists of all pairs, which are quadratic. */
void verify_write(verifier *v, uint32_t s)
{
    bool state = v->f->slot[s].kind == TN_SLOT_STATE; /* always holds what it is */
    for (uint32_t w = v->slot0 / 64; w < v->words && !state; w++)
        for (uint64_t bits = v->now[w] & v->held[w]; bits; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits) - v->slot0;
            if (verify_shares(v, s, i))
                verify_drop(v, v->slot0 + i);
        }
    verify_add(v, v->slot0 + s);
}

bool verify_same_kind(const tn_slot_ir *a, const tn_slot_ir *b)
{
    return (a->storage == TN_STORAGE_HANDLE) == (b->storage == TN_STORAGE_HANDLE) &&
           tn_dtype_eq(tn_dtype_part(a->dtype), tn_dtype_part(b->dtype)) && a->layout == b->layout;
}

/* ---- places ---- */

typedef struct {
    const verifier *v;
    int sample;
} values;

static const tn_expr *with_value(tn_pool *p, const tn_expr *e, void *user)
{
    static const int64_t base[VERIFY_SAMPLES] = {0, 1, 7, 64};
    const values *x = user;
    int64_t s = symbol_of(x->v, e);
    if (s < 0)
        return NULL;
    const tn_symbol *y = &x->v->f->symbol[s];
    int64_t n = base[x->sample] + (x->sample > 1 ? s % 5 : 0);
    return tn_idx(p, n < y->min ? y->min : n > y->max ? y->max : n);
}

static int64_t value(verifier *v, const tn_expr *e, int sample)
{
    int64_t n = -1;
    if (!e || tn_is_int(e, &n))
        return n;
    e = tn_rewrite(v->p, e, with_value, &(values){v, sample});
    return tn_is_int(tn_simplify(v->p, &v->facts, e), &n) ? n : -1;
}

static bool has_place(const tn_slot_ir *s)
{
    return (s->kind == TN_SLOT_TEMP || s->kind == TN_SLOT_OUTPUT) && s->storage == TN_STORAGE_BYTES &&
           s->offset;
}

static void place(verifier *v, uint32_t i)
{
    const tn_slot_ir *s = &v->f->slot[i];
    const tn_expr *room = s->segment ? v->f->segment_bytes[s->segment - 1] : v->f->arena_bytes;
    for (int k = 0; k < VERIFY_SAMPLES; k++) {
        int64_t at = value(v, s->offset, k), bytes = at < 0 ? 0 : value(v, s->bytes, k),
                all = value(v, room, k);
        if (at % 64)
            verify_fault(v, " lies at no multiple of 64", i);
        if (at >= 0 && bytes >= 0 && all >= 0 && (at > all || bytes > all - at))
            verify_fault(v, " does not fit into its arena", i);
        if (bytes <= 0)
            continue;
        v->place[k][i] = (verify_extent){at, at + bytes};
        v->held[(v->slot0 + i) / 64] |= 1ull << (v->slot0 + i) % 64;
    }
}

void verify_prepare_slots(verifier *v)
{
    const tn_program_function_ir *f = v->f;
    for (uint32_t i = 0; i < f->n_slot && f->n_late; i++) {
        tn_each(f->slot[i].bytes, note_symbol, &(mentions){v, i, true});
        for (int d = 0; d < f->slot[i].ndim; d++)
            tn_each(f->slot[i].dim[d], note_symbol, &(mentions){v, i, true});
    }
}

/* ---- slots on their own ---- */

static void check_arena(verifier *v)
{
    const tn_expr *work = v->f->work_offset;
    int64_t n = 0;
    for (int k = 0; k < VERIFY_SAMPLES; k++)
        if (value(v, work, k) > 0 && value(v, work, k) % 64)
            verify_fault(v, "work memory begins at no multiple of 64", VERIFY_NO_SLOT);
    if ((work && tn_is_int(work, &n) && n < 0) || (tn_is_int(v->f->arena_bytes, &n) && n < 0))
        verify_fault(v, "an arena, or the place of its work memory, is less than 0", VERIFY_NO_SLOT);
}

static void check_binds(verifier *v, uint32_t i, bool *bound)
{
    const tn_slot_ir *s = &v->f->slot[i];
    for (int d = 0; s->bind && d < s->ndim; d++) {
        if (s->bind[d] < 0)
            continue;
        if ((uint32_t)s->bind[d] >= v->f->n_symbol - v->f->n_late)
            verify_fault(v, " binds a symbol that does not exist, or a late one", i);
        else if (symbol_of(v, s->dim[d]) != s->bind[d])
            verify_fault(v, " binds a symbol to another extent", i);
        else
            bound[s->bind[d]] = true;
    }
}

static void check_handle(verifier *v, uint32_t i)
{
    const tn_slot_ir *s = &v->f->slot[i];
    if (s->kind == TN_SLOT_CONST || s->kind == TN_SLOT_STATE)
        verify_fault(v, " cannot be a handle", i);
    if (s->ndim || s->offset || s->segment || s->alias >= 0)
        verify_fault(v, " is a handle, which has no shape and no place", i);
}

static void check_state_slot(verifier *v, uint32_t i)
{
    const tn_slot_ir *s = &v->f->slot[i];
    if (s->alias < 0 || s->alias >= v->program->n_state) {
        verify_fault(v, " is a slot of no state", i);
        return;
    }
    const tn_state *of = &v->program->state[s->alias];
    bool same = of->ndim == s->ndim && of->code == s->dtype.code && of->bits == s->dtype.bits &&
                tn_is_value(s->bytes, (int64_t)of->bytes) && !s->layout;
    for (int d = 0; same && d < s->ndim; d++)
        same = tn_is_value(s->dim[d], of->dim[d].value);
    if (!same || s->offset || s->segment)
        verify_fault(v, " has another type or shape than its state", i);
}

static void check_alias(verifier *v, uint32_t i)
{
    const tn_slot_ir *s = &v->f->slot[i];
    if (s->alias < 0)
        return;
    if (s->alias >= v->f->n_slot || s->alias == i) {
        verify_fault(v, " is an alias of nothing", i);
        return;
    }
    const tn_slot_ir *of = &v->f->slot[s->alias];
    if (s->kind != TN_SLOT_OUTPUT || of->kind == TN_SLOT_TEMP || of->kind == TN_SLOT_STATE ||
        (of->kind == TN_SLOT_OUTPUT && of->alias >= 0))
        verify_fault(v, " is an alias of neither an input, a constant nor a plain output", i);
}

/* Numbers among its sizes are no less than 0, and a shape of numbers has a size. */
static bool is_possible(const tn_slot_ir *s)
{
    int64_t n = 0, elements = (int64_t)s->dtype.bits * s->dtype.lanes;
    bool fixed = true, fits = true, empty = false;
    for (int d = 0; d < s->ndim; d++) {
        bool number = tn_is_int(s->dim[d], &n);
        if (number && n < 0)
            return false;
        fixed = fixed && number;
        empty = empty || (number && n == 0);
        fits = fits && (!number || tn_i64_mul(elements, n, &elements));
    }
    if ((tn_is_int(s->bytes, &n) && n < 0) || (s->offset && tn_is_int(s->offset, &n) && n < 0))
        return false;
    return fits || empty || !fixed;
}

static void check_bytes(verifier *v, uint32_t i)
{
    const tn_slot_ir *s = &v->f->slot[i];
    const tn_expr *dense = tn_slot_dense_bytes(v->p, s->dtype, s->ndim, s->dim);
    if (!is_possible(s))
        verify_fault(v, " has an extent, a size or a place that is not possible", i);
    if (s->segment > v->f->n_segment)
        verify_fault(v, " lies in a segment that does not exist", i);
    if (s->kind <= TN_SLOT_OUTPUT && s->layout)
        verify_fault(v, " is the model's, but not row-major", i);
    if (s->kind <= TN_SLOT_OUTPUT && !verify_equal(v, s->bytes, dense))
        verify_fault(v, " has another number of bytes than its shape", i);
    if (s->kind == TN_SLOT_CONST && s->bytes->kind != TN_E_INT)
        verify_fault(v, " is a constant without a fixed size", i);
    bool pooled = s->storage == TN_STORAGE_POOL;
    if (pooled && (s->kind != TN_SLOT_TEMP || s->offset || s->segment))
        verify_fault(v, " is of the pool, but no temporary, or has a place in an arena", i);
    if (s->kind == TN_SLOT_TEMP && !s->offset && !pooled)
        verify_fault(v, " has no place in an arena", i);
    if ((s->kind == TN_SLOT_INPUT || s->kind == TN_SLOT_CONST) && (s->segment || s->offset))
        verify_fault(v, " has a place in an arena", i);
    if (has_place(s) && !v->failed)
        place(v, i);
}

static void check_names(verifier *v, enum tn_slot_kind kind)
{
    tn_strmap names = {0};
    uint64_t other;
    for (uint32_t i = 0; i < v->f->n_slot; i++) {
        const char *s = v->f->slot[i].name;
        if (v->f->slot[i].kind != kind)
            continue;
        if (tn_strmap_get(&names, s, strlen(s), &other))
            verify_fault(v, " has the name of another one", i);
        tn_strmap_put(&names, s, strlen(s), i);
    }
    tn_strmap_deinit(&names);
}

void verify_slots(verifier *v)
{
    const tn_program_function_ir *f = v->f;
    bool *bound = TN_NEW_N(&v->arena, bool, f->n_symbol);
    v->held = TN_NEW_N(&v->arena, uint64_t, v->words);
    for (int k = 0; k < VERIFY_SAMPLES; k++)
        v->place[k] = TN_NEW_N(&v->arena, verify_extent, f->n_slot);
    check_sizes(v);
    check_arena(v);
    for (uint32_t i = 0; i < f->n_slot && !v->failed; i++) {
        if (f->slot[i].kind == TN_SLOT_INPUT)
            check_binds(v, i, bound);
        if (f->slot[i].kind == TN_SLOT_STATE)
            check_state_slot(v, i);
        else
            check_alias(v, i);
        if (f->slot[i].storage == TN_STORAGE_HANDLE)
            check_handle(v, i);
        else
            check_bytes(v, i);
    }
    for (uint32_t s = 0; s < f->n_symbol - f->n_late; s++)
        if (!bound[s])
            verify_fault(v, "there is a symbol that no input binds", VERIFY_NO_SLOT);
    check_names(v, TN_SLOT_INPUT);
    check_names(v, TN_SLOT_OUTPUT);
}

/* ---- states ---- */

/* Can a frame of function f, or of one that it calls, have a slot of a state? */
static bool reaches_state(verifier *v, uint32_t f)
{
    bool *seen = TN_NEW_N(&v->arena, bool, v->program->n_function), found = false;
    verify_numbers todo = {0};
    tn_vec_push(&todo, f);
    seen[f] = true;
    while (todo.n && !found) {
        const tn_program_function_ir *p = &v->program->function[tn_vec_pop(&todo)];
        found = tn_program_slots(p, TN_SLOT_STATE) > 0;
        for (uint32_t i = 0; i < p->n_inst && !found; i++) {
            const tn_inst_info *info = tn_inst_info_get(p->inst[i].op);
            uint32_t to = p->inst[i].a;
            if (!info || info->a != 'f' || to >= v->program->n_function || seen[to])
                continue;
            seen[to] = true;
            tn_vec_push(&todo, to);
        }
    }
    tn_vec_deinit(&todo);
    return found;
}

static void check_init(verifier *v, const tn_state *s)
{
    if ((uint32_t)s->init >= v->program->n_function) {
        verify_fault(v, "a state is computed by a function that does not exist", VERIFY_NO_SLOT);
        return;
    }
    const tn_program_function_ir *f = &v->program->function[s->init];
    bool fits = true;
    for (uint32_t i = 0; i < f->n_slot; i++) {
        const tn_slot_ir *o = &f->slot[i];
        if (o->kind != TN_SLOT_OUTPUT)
            continue;
        fits = fits && o->storage == TN_STORAGE_BYTES && o->ndim == s->ndim && o->dtype.code == s->code &&
               o->dtype.bits == s->bits;
        for (int d = 0; fits && d < o->ndim; d++)
            fits = tn_is_value(o->dim[d], s->dim[d].value);
    }
    if (tn_program_slots(f, TN_SLOT_INPUT) || tn_program_slots(f, TN_SLOT_OUTPUT) != 1 || !fits)
        verify_fault(v, "a state is computed by a function of another signature", VERIFY_NO_SLOT);
    if (reaches_state(v, (uint32_t)s->init))
        verify_fault(v, "a state is computed by a function that has states itself", VERIFY_NO_SLOT);
}

typedef struct { /* an entry of mod.params, as some slot or state has it */
    tn_dtype dtype;
    int64_t bytes;
} entry;

static bool agrees(verifier *v, tn_strmap *known, const char *name, entry e)
{
    uint64_t at = 0;
    if (!tn_strmap_get(known, name, strlen(name), &at)) {
        entry *new = TN_NEW(&v->arena, entry);
        *new = e;
        tn_strmap_put(known, name, strlen(name), tn_map_key(new));
        return true;
    }
    const entry *old = (const entry *)(uintptr_t)at;
    return tn_dtype_eq(old->dtype, e.dtype) && old->bytes == e.bytes;
}

void verify_constants(verifier *v)
{
    const tn_program_ir *p = v->program;
    tn_strmap known = {0};
    bool agree = true;
    for (uint32_t f = 0; f < p->n_function; f++)
        for (uint32_t i = 0; i < p->function[f].n_slot; i++) {
            const tn_slot_ir *s = &p->function[f].slot[i];
            if (s->kind == TN_SLOT_CONST && s->bytes->kind == TN_E_INT)
                agree = agrees(v, &known, s->name, (entry){s->dtype, s->bytes->u.i}) && agree;
        }
    for (uint32_t i = 0; i < p->n_state; i++) {
        const tn_state *s = &p->state[i];
        entry e = {{s->code, s->bits, 1}, (int64_t)s->bytes};
        if (s->initial)
            agree = agrees(v, &known, s->initial, e) && agree;
    }
    tn_strmap_deinit(&known);
    if (!agree)
        verify_fault(v, "one constant has several types or sizes", VERIFY_NO_SLOT);
}

void verify_states(verifier *v)
{
    for (uint32_t i = 0; i < v->program->n_state; i++) {
        const tn_state *s = &v->program->state[i];
        if (s->axis >= (int)s->ndim || (s->axis >= 0 && s->extent > (uint64_t)s->dim[s->axis].value))
            verify_fault(v, "a state is larger than its capacity", VERIFY_NO_SLOT);
        if (s->init >= 0 && s->initial)
            verify_fault(v, "a state has both a constant and a function for its first contents",
                         VERIFY_NO_SLOT);
        if (s->init >= 0)
            check_init(v, s);
    }
}
