/* What the rules share: steps as text, and questions about a function's blocks. */
#include "schedule/rules/derive.h"

#include "tir/unit.h"

#include <stdarg.h>
#include <string.h>

void dv_refuse(derive *d, tn_verdict v)
{
    if (d->v == TN_DONE)
        d->v = v;
}

void dv_do(derive *d, const char *fmt, ...)
{
    if (!dv_ok(d))
        return;
    va_list ap;
    va_start(ap, fmt);
    const char *line = tn_arena_vprintf(d->s->arena, fmt, ap);
    va_end(ap);
    d->v = tn_trace_replay(d->s, line, strlen(line), NULL);
}

bool dv_try(derive *d, const char *fmt, ...)
{
    if (!dv_ok(d))
        return false;
    va_list ap;
    va_start(ap, fmt);
    const char *line = tn_arena_vprintf(d->s->arena, fmt, ap);
    va_end(ap);
    return tn_trace_replay(d->s, line, strlen(line), NULL) == TN_DONE;
}

const char *dv_text(derive *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *s = tn_arena_vprintf(d->s->arena, fmt, ap);
    va_end(ap);
    return s;
}

void dv_comment(derive *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    d->s->comment = tn_arena_vprintf(d->s->arena, fmt, ap);
    va_end(ap);
}

void dv_loops(derive *d, const char *block, const char *const name[], int n)
{
    tn_buf b = {0};
    for (int i = 0; i < n; i++)
        tn_buf_printf(&b, "%s%s", i ? " " : "", name[i]);
    if (n > 0)
        dv_do(d, "%s = loops \"%s\"", tn_buf_cstr(&b), block);
    tn_buf_deinit(&b);
}

const char *dv_blanks(derive *d, int count)
{
    const char *s = "";
    for (int i = 0; i < count; i++)
        s = dv_text(d, "%s_ ", s);
    return s;
}

void dv_last_loops(derive *d, const char *block, const char *names, int n)
{
    int all = dv_ok(d) ? tn_sched_n_loops(d->s, block) : n;
    if (all < n)
        dv_refuse(d, TN_REJECT_NEST);
    else
        dv_do(d, "%s%s = loops \"%s\"", dv_blanks(d, all - n), names, block);
}

typedef struct {
    tn_stmt **out;
    int n;
} gather;

static bool gather_block(tn_stmt *s, void *user)
{
    gather *g = user;
    if (s->kind == TN_S_BLOCK) {
        if (g->n < RULE_MAX_BLOCKS)
            g->out[g->n] = s;
        g->n++;
    }
    return true;
}

int rule_blocks(const tn_func *f, tn_stmt *out[RULE_MAX_BLOCKS])
{
    gather g = {out, 0};
    tn_stmt_walk((tn_body *)&f->body, gather_block, NULL, &g); /* only looks */
    return g.n <= RULE_MAX_BLOCKS ? g.n : -1;
}

bool rule_reduces(const tn_stmt *block) { return rule_n_spatial(block) < (int)block->u.block.n_iter; }

int rule_n_spatial(const tn_stmt *block)
{
    int n = 0;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++)
        n += block->u.block.iter[i].kind == TN_ITER_SPATIAL;
    return n;
}

bool rule_plain_nest(tn_stmt *block) { return !tn_block_scans(block) && rule_own_nest(block); }

bool rule_own_nest(tn_stmt *block)
{
    tn_stmt *loop[TN_MAX_LOOPS];
    int n = tn_stmt_loops(block, TN_MAX_LOOPS, loop);
    if (n != (int)block->u.block.n_iter || tn_block_target(block) < 0)
        return false;
    for (int i = 0; i < n; i++) {
        const tn_stmt *child = i + 1 < n ? loop[i + 1] : block;
        if (tn_body_only(&loop[i]->u.loop.body) != child || loop[i]->u.loop.kind != TN_LOOP_SERIAL)
            return false;
        if (block->u.block.iter[i].value != loop[i]->u.loop.var)
            return false;
    }
    return n == 0 || !tn_stmt_parent(loop[0]);
}

int64_t rule_extent(const tn_expr *e)
{
    int64_t n;
    return tn_is_int(e, &n) ? n : -1;
}

uint16_t rule_lanes(const tn_machine *m, tn_dtype t)
{
    uint32_t bits = 8 * tn_dtype_bytes(t), n = m->vector_bits / bits;
    return (uint16_t)(n < 1 ? 1 : n > 64 ? 64 : n);
}

typedef struct {
    const tn_machine *m;
    int64_t lanes, n;
} instructions;

/* Small floats are computed as float32; vectors have no instruction that divides integers. */
static bool count_instructions(const tn_expr *e, void *user)
{
    instructions *c = user;
    if (!e->nsrc || tn_dtype_is_index(e->dtype) || tn_dtype_is_bool(e->dtype))
        return true;
    int64_t bits = 8 * (int64_t)tn_dtype_bytes(e->dtype), each = 1;
    if (tn_dtype_is_float(e->dtype) && bits < 32)
        bits = 32;
    if (e->kind == TN_E_CALL)
        each = tn_intrins[e->u.call.id].cost;
    if (e->kind >= TN_E_FLOORDIV && e->kind <= TN_E_TRUNCMOD)
        each = bits < c->m->vector_bits ? 4 * c->m->vector_bits / bits : 4;
    c->n += each * ((c->lanes * bits + c->m->vector_bits - 1) / c->m->vector_bits);
    return true;
}

int64_t rule_instructions(const tn_machine *m, const tn_stmt *block, uint16_t lanes)
{
    instructions c = {m, lanes, 0};
    const tn_stmt *store = tn_body_only(&block->u.block.body);
    if (store && store->kind == TN_S_STORE && m->vector_bits)
        (void)tn_each(store->u.store.value, count_instructions, &c);
    return c.n;
}

const tn_buffer *rule_target(const tn_func *f, const tn_stmt *block)
{
    return &f->buffer[tn_block_target(block)];
}

int rule_innermost_dim(const tn_buffer *b)
{
    if (b->layout)
        return b->layout->axis[b->layout->naxis - 1].dim;
    int d = b->ndim - 1;
    while (d > 0 && tn_is_value(b->dim[d], 1))
        d--;
    return d;
}

bool rule_steps_by_one(const tn_func *f, const tn_expr *e, const tn_expr *var)
{
    const tn_expr *coef, *rest;
    return tn_uses(e, var) && !e->has_load && tn_linear(f->pool, NULL, e, var, &coef, &rest) &&
           tn_is_value(coef, 1);
}

bool rule_coefficient(const tn_func *f, const tn_expr *e, const tn_expr *var, int64_t *coef,
                      const tn_expr **rest)
{
    const tn_expr *k;
    *coef = 0;
    *rest = e;
    if (!tn_uses(e, var))
        return true;
    return tn_linear(f->pool, NULL, e, var, &k, rest) && tn_is_int(k, coef);
}

int rule_n_used(const tn_expr *load, const tn_stmt *block)
{
    int n = 0;
    for (uint32_t i = 0; i < block->u.block.n_iter; i++)
        n += tn_uses(load, block->u.block.iter[i].var);
    return n;
}

int64_t rule_inner_factor(const tn_buffer *b, int dim)
{
    if (!b->layout)
        return dim == b->ndim - 1 ? 0 : -1;
    const tn_layout_axis *last = &b->layout->axis[b->layout->naxis - 1];
    return last->dim == dim ? (int64_t)last->factor : -1;
}

int64_t rule_group(const tn_buffer *b, int dim)
{
    const tn_layout_axis *last =
        b->layout && b->layout->naxis ? &b->layout->axis[b->layout->naxis - 1] : NULL;
    return last && last->dim == dim && last->factor ? (int64_t)last->factor : 1;
}

int64_t rule_grouped_factor(const tn_buffer *b, int dim, int by, int64_t each)
{
    if (!b->layout || b->layout->naxis < 2)
        return 0;
    const tn_layout_axis *last = &b->layout->axis[b->layout->naxis - 1];
    bool grouped = last->dim == by && (int64_t)last->factor == each && last[-1].dim == dim;
    return grouped ? (int64_t)last[-1].factor : 0;
}

typedef struct {
    const tn_func *f;
    const char *weight;
    tn_dtype x, w;
} factor_types;

static void note_type(const tn_expr *load, void *user)
{
    factor_types *t = user;
    *(strcmp(t->f->buffer[load->u.load.buffer].name, t->weight) == 0 ? &t->w : &t->x) = load->dtype;
}

static const tn_unit_row *unit_for(const derive *d, enum tn_unit_kind kind, const tn_stmt *block,
                                   const char *weight, int64_t group)
{
    const tn_func *f = d->s->func;
    factor_types t = {f, weight, {0}, {0}};
    rule_loads(block, note_type, &t);
    const tn_unit_row *u =
        tn_unit_here(kind, t.x, t.w, rule_target(f, block)->dtype, group, d->m, tn_machine_given);
    bool in_order = f->strict && u && tn_dtype_is_float(u->sum);
    return u && !in_order && tn_unit_suits(u, block) ? u : NULL;
}

const char *rule_lane_unit(const derive *d, const tn_stmt *block, const char *weight, int64_t group)
{
    const tn_unit_row *unit = unit_for(d, TN_UNIT_LANES, block, weight, group);
    return unit ? unit->name : NULL;
}

const tn_unit_row *rule_tile_unit(const derive *d, const tn_stmt *block, const char *weight, int64_t group)
{
    return unit_for(d, TN_UNIT_MATRIX, block, weight, group);
}

epilogue rule_epilogue(derive *d, const char *block)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    const char *inside[RULE_MAX_BLOCKS];
    int n = rule_blocks(d->s->func, b), at = 0, n_inside = 0;
    epilogue e = {.n = 0};
    while (at < n && strcmp(b[at]->u.block.name, block) != 0)
        at++;
    if (at >= n) {
        dv_refuse(d, TN_REJECT_NAME);
        return e;
    }
    bool copied = rule_target(d->s->func, b[at])->param >= 0;
    if (copied)
        e.block[e.n++] = dv_text(d, "%s.out", block);
    for (int i = at + 1; i < n; i++)
        if (rule_target(d->s->func, b[i])->param >= 0)
            e.block[e.n++] = b[i]->u.block.name;
        else
            inside[n_inside++] = b[i]->u.block.name;
    if (copied)
        dv_do(d, "cache_write \"%s\" global", block);
    for (int i = 0; i < n_inside; i++)
        dv_do(d, "compute_inline \"%s\"", inside[i]);
    return dv_ok(d) ? e : (epilogue){.n = 0};
}

typedef struct {
    void (*fn)(const tn_expr *, void *);
    void *user;
    int64_t target;
} each_load;

static bool visit_load(const tn_expr *e, void *user)
{
    each_load *l = user;
    if (e->kind == TN_E_LOAD && e->u.load.buffer != l->target)
        l->fn(e, l->user);
    return true;
}

void rule_loads(const tn_stmt *block, void (*fn)(const tn_expr *load, void *user), void *user)
{
    each_load l = {fn, user, tn_block_target(block)};
    for (const tn_stmt *s = block->u.block.body.first; s; s = s->next)
        if (s->kind == TN_S_STORE)
            tn_each(s->u.store.value, visit_load, &l);
}

typedef struct {
    const tn_func *f;
    tn_dtype sum;
    bool other;
} types_read;

static void look_at_type(const tn_expr *load, void *user)
{
    types_read *t = user;
    t->other |= !tn_dtype_eq(t->f->buffer[load->u.load.buffer].dtype, t->sum);
}

bool rule_converts(const tn_func *f, const tn_stmt *block)
{
    types_read t = {f, rule_target(f, block)->dtype, false};
    rule_loads(block, look_at_type, &t);
    return t.other;
}
