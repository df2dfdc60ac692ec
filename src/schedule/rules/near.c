/* Tile sizes of another compiler (schedule/tiling.h). Its loops and those here are the same iterations, but in another
 * order (NHWC), one of them cut in two (NCHW8c), or several made one (rows of a batch). So each of its loops
 * goes to one of these such that the products of extents are equal, in order where that can be. What is found
 * by such a search is what the inner tiles hold of each axis, and the roles of choices follow from how
 * operands move along the axes. Of a sum in parts only the number of terms is known, so the sizes of its operands have
 * to be the same. */
#include "schedule/tiling.h"

#include "schedule/rules/reduce.h"
#include "schedule/rules/sketch.h"
#include "schedule/space.h"

#include <string.h>

enum { MOST_STEPS = 10000 };
_Static_assert((int)CONTRACTION_AXES <= (int)TN_TILING_AXES, "room");
_Static_assert((int)CONTRACTION_VIEWS <= (int)TN_TILING_OPERANDS, "room");

/* ---- the loops ---- */

/* Blocked operands say it, as the weights of a convolution whose result is not blocked; else the result does. */
static int lanes_axis(const contraction *x)
{
    for (int i = 0; i < x->n_view; i++)
        for (int a = 0; a < x->n_spatial && x->view[i].n_load; a++)
            if (x->view[i].step[a] == VIEW_BESIDE && x->f->buffer[x->view[i].load[0]->u.load.buffer].layout)
                return a;
    return x->beside >= 0 ? x->beside : x->n_spatial - 1;
}

static uint32_t rows_of(const contraction *x, int lanes)
{
    uint32_t set = 0;
    for (int i = 0; i < x->n_view; i++)
        for (int a = 0; a < x->n_spatial && x->view[i].step[lanes] != VIEW_STAYS; a++)
            if (x->view[i].step[a] == VIEW_STAYS && x->extent[a] != 1)
                set |= 1u << a;
    return set;
}

static tn_operand operand_of(const tn_buffer *b, tn_arena *arena)
{
    tn_buf text = {0};
    tn_operand o = {NULL, 1};
    tn_dtype_print(b->dtype, false, &text);
    o.dtype = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    for (int d = 0; d < b->ndim; d++) {
        int64_t extent = rule_extent(b->dim[d]);
        if (o.elements < 0 || extent < 0 || __builtin_mul_overflow(o.elements, extent, &o.elements))
            o.elements = -1;
    }
    return o;
}

/* The reduction that is put into tiles. */
static void read_tiled(const contraction *x, const tn_machine *m, tn_arena *arena, tn_tiled_loops *out)
{
    out->n_spatial = x->n_spatial;
    out->n = x->n;
    out->lanes_axis = lanes_axis(x);
    memcpy(out->extent, x->extent, (size_t)x->n * sizeof *x->extent);
    out->rows = rows_of(x, out->lanes_axis) & ~(1u << out->lanes_axis);
    out->lanes = rule_lanes(m, rule_target(x->f, x->block)->dtype);
    for (int i = 0; i < x->n_view; i++)
        if (x->view[i].n_load)
            out->operand[out->n_operand++] =
                operand_of(&x->f->buffer[x->view[i].load[0]->u.load.buffer], arena);
}

typedef struct operands {
    const tn_func *f;
    tn_arena *arena;
    tn_summed_loops *sum;
    int64_t buffer[TN_TILING_OPERANDS];
} operands;

static void note_operand(const tn_expr *load, void *user)
{
    operands *o = user;
    tn_summed_loops *sum = o->sum;
    for (int i = 0; i < sum->n_operand; i++)
        if (o->buffer[i] == load->u.load.buffer)
            return;
    if (sum->n_operand < 0 || sum->n_operand == TN_TILING_OPERANDS) {
        sum->n_operand = -1;
        return;
    }
    o->buffer[sum->n_operand] = load->u.load.buffer;
    sum->operand[sum->n_operand++] = operand_of(&o->f->buffer[load->u.load.buffer], o->arena);
}

static void read_sum(derive *d, const tn_stmt *block, bool is_tiled, tn_arena *arena, tn_summed_loops *out)
{
    const tn_func *f = d->s->func;
    int first = rule_n_spatial(block), v = rule_vector_iter(d, block, false);
    *out = (tn_summed_loops){.terms = 1,
                             .lanes_axis = v < first ? -1 : v,
                             .lanes = rule_lanes(d->m, rule_target(f, block)->dtype),
                             .is_tiled = is_tiled};
    for (int i = first; i < (int)block->u.block.n_iter; i++) {
        int64_t extent = rule_extent(block->u.block.iter[i].extent);
        if (out->terms < 0 || extent < 0 || __builtin_mul_overflow(out->terms, extent, &out->terms))
            out->terms = -1;
    }
    operands o = {f, arena, out, {0}};
    rule_loads(block, note_operand, &o);
}

bool tn_tiled_loops_read(const tn_func *f, const tn_machine *m, tn_arena *arena, tn_pool *pool,
                         tn_tiled_loops *out)
{
    tn_sched s;
    tn_stmt *b[RULE_MAX_BLOCKS];
    contraction x;
    derive d = {&s, m, TN_DONE};
    *out = (tn_tiled_loops){0};
    tn_sched_init(&s, f, arena, pool);
    dv_squeeze(&d);
    while (dv_try(&d, "merge"))
        continue;
    if (!dv_ok(&d))
        return false;
    if (rule_find_anchor(s.func, m, &x))
        read_tiled(&x, m, arena, out);
    int n = rule_reduce_matches(s.func, m) ? rule_blocks(s.func, b) : 0;
    for (int i = 0; i < n && out->n_sum < TN_TILING_SUMS; i++)
        if (rule_reduces(b[i]))
            read_sum(&d, b[i], out->n > 0 && b[i] == x.block, arena, &out->sum[out->n_sum++]);
    return out->n > 0 || out->n_sum > 0;
}

/* ---- which loop is which ---- */

typedef struct cover {
    int n, n_to;
    int64_t extent[TN_TILING_AXES];
    int64_t rest[TN_TILING_AXES]; /* of each axis here; -1: symbolic, which takes anything */
    int to[TN_TILING_AXES];       /* -1: of extent 1 */
    int steps;
} cover;

/* Loop i and those behind it; that before it went to `last`. No deeper than there are loops. */
static bool place(cover *c, int i, int last)
{
    if (i == c->n) {
        bool whole = true;
        for (int a = 0; a < c->n_to; a++)
            whole &= c->rest[a] < 0 || c->rest[a] == 1;
        return whole;
    }
    c->to[i] = -1;
    if (c->extent[i] == 1)
        return place(c, i + 1, last);
    for (int k = 0; k < c->n_to && c->steps < MOST_STEPS; k++) {
        int a = (last + k) % c->n_to;
        int64_t rest = c->rest[a];
        c->steps++;
        if (rest >= 0 && rest % c->extent[i] != 0)
            continue;
        c->rest[a] = rest < 0 ? rest : rest / c->extent[i];
        c->to[i] = a;
        if (place(c, i + 1, a))
            return true;
        c->rest[a] = rest;
    }
    return false;
}

/* What the levels hold of each axis here. */
typedef struct sizes {
    int64_t inner, middle, outer; /* 0: not known */
} sizes;

static int64_t times(int64_t a, int64_t b)
{
    return a == 0 || b == 0 || __builtin_mul_overflow(a, b, &a) ? 0 : a;
}

/* The loops of one kind, and the axes from `first` up to `end`. */
static bool match(const tn_tiled_loops *x, const tn_tiling *t, bool reduces, sizes out[TN_TILING_AXES])
{
    cover c = {.n_to = reduces ? x->n - x->n_spatial : x->n_spatial};
    const tn_tiling_axis *of[TN_TILING_AXES];
    const int first = reduces ? x->n_spatial : 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->axis[i].reduces == reduces) {
            of[c.n] = &t->axis[i];
            c.extent[c.n++] = t->axis[i].extent;
        }
    for (int a = 0; a < c.n_to; a++) {
        c.rest[a] = x->extent[first + a];
        out[first + a] = (sizes){1, 1, 1};
    }
    if (c.n_to == 0 || !place(&c, 0, 0))
        return false;
    for (int i = 0; i < c.n; i++)
        if (c.to[i] >= 0) {
            sizes *s = &out[first + c.to[i]];
            *s = (sizes){times(s->inner, of[i]->inner), times(s->middle, of[i]->middle),
                         times(s->outer, of[i]->outer)};
        }
    return true;
}

/* ---- operands ---- */

/* False: of a type that the other function has not got. *out_strange: how many there are whose size it has not. */
static bool compare_operands(int n, const tn_operand operand[], const tn_tiling *t, int *out_strange)
{
    *out_strange = 0;
    for (int i = 0; i < n && t->n_operand; i++) {
        bool type = false, size = operand[i].elements < 0;
        for (uint32_t k = 0; k < t->n_operand; k++) {
            bool same = strcmp(operand[i].dtype, t->operand[k].dtype) == 0;
            type |= same;
            size |= same && operand[i].elements == t->operand[k].elements;
        }
        if (!type)
            return false;
        *out_strange += !size;
    }
    return true;
}

/* ---- numbers of choices ---- */

static void wish(tn_tiling_fit *fit, tn_wish all[], const char *role, int64_t number)
{
    if (number > 0)
        all[fit->n++] = (tn_wish){role, number};
}

static void wish_of_axis(tn_tiling_fit *fit, tn_wish all[], const char *role, int axis, int64_t number,
                         tn_arena *arena)
{
    wish(fit, all, tn_arena_printf(arena, "%s%d", role, axis), number);
}

/* In vectors, at least one; 0: not known. */
static int64_t vectors_of(uint16_t lanes, int64_t elements)
{
    int64_t n = (elements + lanes / 2) / lanes;
    return elements <= 0 ? 0 : n < 1 ? 1 : n;
}

/* The sum that has so many terms of operands of these sizes, which stand for how many results it has. NULL: none. */
static const tn_summed_loops *find_sum(const tn_tiled_loops *x, const tn_tiling *t)
{
    for (int i = 0; i < x->n_sum && t->n_operand; i++) {
        const tn_summed_loops *sum = &x->sum[i];
        int strange;
        if (sum->terms == t->axis[0].extent && sum->n_operand > 0 &&
            compare_operands(sum->n_operand, sum->operand, t, &strange) && strange == 0)
            return sum;
    }
    return NULL;
}

/* Parts of neighbouring terms are lanes, in so many vectors, where lanes run along the reduction. Other parts are made
 * by loops, as tasks are. */
static bool fits_parts(const tn_tiled_loops *x, const tn_tiling *t, tn_arena *arena, tn_tiling_fit *out)
{
    const tn_summed_loops *sum = find_sum(x, t);
    if (!sum)
        return false;
    tn_wish *all = TN_NEW_N(arena, tn_wish, 3);
    bool along = t->interleaved && sum->lanes_axis >= 0;
    if (t->interleaved)
        wish(out, all, "chains", along ? vectors_of(sum->lanes, t->parts) : t->parts);
    if (along && sum->is_tiled)
        all[out->n++] = (tn_wish){"lanes", sum->lanes_axis};
    if (!along) {
        wish(out, all, "rfactor", 1);
        wish(out, all, "parts", t->parts);
    }
    out->wish = all;
    return true;
}

bool tn_tiling_fits(const tn_tiled_loops *x, const tn_tiling *t, tn_arena *arena, tn_tiling_fit *out)
{
    sizes s[TN_TILING_AXES];
    int64_t n_rows = 1;
    *out = (tn_tiling_fit){0};
    if (t->parts)
        return fits_parts(x, t, arena, out);
    if (!compare_operands(x->n_operand, x->operand, t, &out->strange) || !match(x, t, false, s) ||
        !match(x, t, true, s))
        return false;
    tn_wish *all = TN_NEW_N(arena, tn_wish, 3 * TN_TILING_AXES + 4);
    for (int a = 0; a < x->n_spatial; a++)
        n_rows = x->rows >> a & 1 ? times(n_rows, s[a].inner) : n_rows;
    const int64_t vectors = vectors_of(x->lanes, s[x->lanes_axis].inner);
    wish(out, all, "rows", x->rows ? n_rows : 0);
    wish(out, all, "pixels", x->rows ? n_rows : 0);
    wish(out, all, "vectors", vectors);
    all[out->n++] = (tn_wish){"lanes", x->lanes_axis};
    for (int a = 0; a < x->n; a++)
        if (a < x->n_spatial) {
            wish_of_axis(out, all, "inner", a, a == x->lanes_axis ? vectors : s[a].inner, arena);
            wish_of_axis(out, all, "middle", a, s[a].middle, arena);
            wish_of_axis(out, all, "outer", a, s[a].outer, arena);
        } else {
            wish_of_axis(out, all, "sum", a, s[a].inner, arena);
        }
    out->wish = all;
    return true;
}
