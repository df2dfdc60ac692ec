/* The verifier of programs: a forward analysis over the instructions. What is known before an instruction is a set of
 * bits: symbols that are bound, slots that hold what was written into them, segments that are planned, sizes that were
 * found to be 0. Where ways meet, what all of them know is known. It is repeated until nothing changes, then every
 * instruction is checked against what is known before it.
 *
 * A slot stops holding its value when a symbol of its size is bound anew, its segment is planned, or something is
 * written that shares a byte of the arena with it. The last is worked out with numbers in the place of symbols, so
 * that formulas need not be compared. */
#include "base/vec.h"
#include "program/program.h"

#include <string.h>

enum { SAMPLES = 4 };

typedef tn_vec(uint32_t) numbers;

typedef struct {
    int64_t from, to; /* both 0: no memory of an arena, or no bytes */
} extent;

typedef struct {
    tn_ctx *ctx;
    tn_pool *p;
    const tn_program_ir *program;
    const tn_program_function_ir *r;
    const tn_kernel_signature *kernel;
    uint32_t n_kernel;
    tn_arena arena;
    tn_facts facts;
    uint32_t slot0, segment0, size0, words; /* where the bits of each kind begin */
    uint64_t *now;
    bool *target;           /* per instruction, and the end: does a jump lead there? */
    uint64_t **before;      /* per target: what is known there; NULL: no way there yet */
    numbers *depends;       /* per symbol: slots whose size names it */
    extent *place[SAMPLES]; /* per slot: its bytes of its segment's arena */
    uint64_t *held;         /* the bits of slots that have such a place */
    numbers *collects;      /* per instruction a loop begins at: slots that get rows in that loop */
    uint32_t at;
    bool checks, failed; /* the last round reports */
} verifier;

const tn_expr *tn_program_differ(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_select(p, tn_eq(p, a, b), tn_idx(p, 0), tn_idx(p, 1));
}

/* ---- bits ---- */

static bool has(const verifier *v, uint32_t bit) { return v->now[bit / 64] >> bit % 64 & 1; }
static void add(verifier *v, uint32_t bit) { v->now[bit / 64] |= 1ull << bit % 64; }
static void drop(verifier *v, uint32_t bit) { v->now[bit / 64] &= ~(1ull << bit % 64); }

/* One more way to the target `to`. */
static bool flow(verifier *v, uint32_t to)
{
    bool changed = false;
    if (!v->before[to]) {
        v->before[to] = tn_arena_copy(&v->arena, v->now, v->words * sizeof *v->now, 8);
        return true;
    }
    for (uint32_t w = 0; w < v->words; w++) {
        uint64_t both = v->before[to][w] & v->now[w];
        changed = changed || both != v->before[to][w];
        v->before[to][w] = both;
    }
    return changed;
}

/* ---- faults ---- */

static const char *slot_text(const verifier *v, uint32_t s)
{
    static const char *const kinds[] = {"input", "output", "constant", "temporary"};
    return tn_arena_printf((tn_arena *)&v->arena, "slot %u (%s \"%s\")", (unsigned)s,
                           kinds[v->r->slot[s].kind & 3], v->r->slot[s].name);
}

static void fault(verifier *v, const char *what, uint32_t slot)
{
    static const char *const names[] = {"CALL",      "COPY",  "FAIL", "JUMP",      "JUMP_FALSE", "BIND",
                                        "BIND_SLOT", "CHECK", "PLAN", "JUMP_ZERO", "SET",        "STORE"};
    if (v->failed || !v->checks)
        return;
    v->failed = true;
    bool inside = v->at < v->r->n_inst;
    uint32_t op = inside ? v->r->inst[v->at].op : 0;
    (void)tn_error(
        v->ctx, "driver-E070", NULL,
        "internal error: the program made for this model contradicts itself at instruction %u (%s%s%s): "
        "%s%s; this is a fault of Tenon, please report it",
        (unsigned)v->at,
        !inside                             ? "the end"
        : op < sizeof names / sizeof *names ? names[op]
                                            : "?",
        inside ? " of " : "", inside ? v->r->inst[v->at].node : "",
        slot < v->r->n_slot ? slot_text(v, slot) : "", what);
}

static const uint32_t NO_SLOT = UINT32_MAX;

/* Is operand k there, below n? */
static bool within(verifier *v, uint32_t i, uint32_t n, const char *what)
{
    if (i >= n)
        fault(v, what, NO_SLOT);
    return i < n;
}

/* ---- sizes ---- */

static bool equal(verifier *v, const tn_expr *a, const tn_expr *b)
{
    if (a == b || tn_equal(v->p, &v->facts, a, b))
        return true;
    const tn_expr *x = tn_program_differ(v->p, a, b), *y = tn_program_differ(v->p, b, a);
    for (uint32_t i = 0; i < v->r->n_size; i++)
        if ((v->r->size[i] == x || v->r->size[i] == y) && has(v, v->size0 + i))
            return true;
    return false;
}

typedef struct {
    verifier *v;
    uint32_t slot;
    bool bound;
} mentions;

static bool note_symbol(const tn_expr *e, void *user)
{
    mentions *m = user;
    for (uint32_t s = 0; e->kind == TN_E_SYM && s < m->v->r->n_symbol; s++)
        if (m->v->r->symbol[s].name == e->u.s)
            tn_vec_push(&m->v->depends[s], m->slot);
    return true;
}

static bool is_bound(const tn_expr *e, void *user)
{
    mentions *m = user;
    bool found = e->kind != TN_E_SYM;
    for (uint32_t s = 0; !found && s < m->v->r->n_symbol; s++)
        found = m->v->r->symbol[s].name == e->u.s && has(m->v, s);
    m->bound = m->bound && found;
    return true;
}

static void need_bound(verifier *v, const tn_expr *e, uint32_t slot)
{
    mentions m = {v, slot, true};
    if (e->kind != TN_E_INT)
        tn_each(e, is_bound, &m);
    if (!m.bound)
        fault(v, " names a size of symbols that are not bound yet", slot);
}

/* ---- slots ---- */

/* Do a and b, which may be one slot, have a byte in common? */
static bool shares(const verifier *v, uint32_t a, uint32_t b)
{
    if (v->r->slot[a].segment != v->r->slot[b].segment)
        return false;
    for (int k = 0; k < SAMPLES; k++)
        if (v->place[k][a].from < v->place[k][b].to && v->place[k][b].from < v->place[k][a].to)
            return true;
    return false;
}

/* Few slots hold a value at a time: looking at those costs less than lists of all pairs, which are quadratic. */
static void write_slot(verifier *v, uint32_t s)
{
    for (uint32_t w = v->slot0 / 64; w < v->words; w++)
        for (uint64_t bits = v->now[w] & v->held[w]; bits; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits) - v->slot0;
            if (shares(v, s, i))
                drop(v, v->slot0 + i);
        }
    add(v, v->slot0 + s);
}

static void need_written(verifier *v, uint32_t s)
{
    if (!has(v, v->slot0 + s))
        fault(v, " is read where it does not hold its value", s);
}

static void need_writable(verifier *v, uint32_t s)
{
    const tn_slot_ir *x = &v->r->slot[s];
    if (x->kind != TN_SLOT_TEMP && (x->kind != TN_SLOT_OUTPUT || x->alias >= 0))
        fault(v, " is written, which is an input, a constant or an alias", s);
    else if (x->segment && !has(v, v->segment0 + x->segment - 1))
        fault(v, " is written before its memory is planned", s);
    else
        need_bound(v, x->bytes, s);
}

static bool same_kind(const tn_slot_ir *a, const tn_slot_ir *b)
{
    return tn_dtype_eq(a->dtype, b->dtype) && a->layout == b->layout;
}

/* ---- instructions ---- */

static const tn_expr *argument_bytes(verifier *v, const tn_inst_ir *x, const tn_kernel_signature *k,
                                     uint32_t i)
{
    const tn_expr *e = k->parameter[i].bytes;
    for (uint32_t s = 0; e->kind != TN_E_INT && s < k->n_symbol; s++) {
        const char *outer = v->r->symbol[x->operand[k->n_in + k->n_out + s]].name;
        const tn_expr *from = tn_sym(v->p, k->symbol[s]), *to = tn_sym(v->p, outer);
        e = from == to ? e : tn_subst(v->p, e, 1, &from, &to);
    }
    return e;
}

static void call_argument(verifier *v, const tn_inst_ir *x, const tn_kernel_signature *k, uint32_t i)
{
    uint32_t s = x->operand[i];
    const tn_slot_ir *slot = &v->r->slot[s];
    if (i < k->n_in)
        need_written(v, s);
    else
        need_writable(v, s);
    if (!tn_dtype_eq(slot->dtype, k->parameter[i].dtype))
        fault(v, " has another type than the kernel's parameter", s);
    if (!equal(v, slot->bytes, argument_bytes(v, x, k, i)))
        fault(v, " has another size than the kernel's parameter, and the run does not compare them", s);
}

/* A result lies over an operand only where the kernel was made for that. */
static void call_apart(verifier *v, const tn_inst_ir *x, const tn_kernel_signature *k, uint32_t number)
{
    uint32_t out = x->operand[k->n_in + number];
    for (uint32_t i = 0; i < k->n_in; i++)
        if (x->operand[i] == out)
            fault(v, " is operand and result of one call", out);
        else if (shares(v, out, x->operand[i]) && !tn_kernel_overlap(k, i, number))
            fault(v, " is a result that lies over an operand", out);
}

static bool call_operands(verifier *v, const tn_inst_ir *x)
{
    if (!within(v, x->a, v->n_kernel, "there is no such kernel"))
        return false;
    const tn_kernel_signature *k = &v->kernel[x->a];
    uint32_t n_arg = k->n_in + k->n_out, n_sym = k->n_symbol;
    if (x->n_operand < n_arg + n_sym || x->n_operand > n_arg + n_sym + 1) {
        fault(v, "the number of operands is not the kernel's", NO_SLOT);
        return false;
    }
    for (uint32_t i = 0; i < x->n_operand; i++)
        if (!within(v, x->operand[i], i < n_arg || i == n_arg + n_sym ? v->r->n_slot : v->r->n_symbol,
                    "there is no such operand"))
            return false;
    return true;
}

static void call(verifier *v, const tn_inst_ir *x)
{
    if (!call_operands(v, x))
        return;
    const tn_kernel_signature *k = &v->kernel[x->a];
    uint32_t n_arg = k->n_in + k->n_out, n_sym = k->n_symbol;
    for (uint32_t i = 0; v->checks && i < n_arg; i++)
        call_argument(v, x, k, i);
    for (uint32_t i = n_arg; v->checks && i < n_arg + n_sym; i++)
        need_bound(v, tn_sym(v->p, v->r->symbol[x->operand[i]].name), NO_SLOT);
    if (x->n_operand > n_arg + n_sym) {
        uint32_t work = x->operand[n_arg + n_sym];
        need_writable(v, work);
        for (uint32_t i = 0; v->checks && i < n_arg; i++)
            if (shares(v, work, x->operand[i]))
                fault(v, " is work memory that lies over an operand", work);
        write_slot(v, work);
        drop(v, v->slot0 + work);
    }
    for (uint32_t o = k->n_in; o < n_arg; o++) {
        if (v->checks)
            call_apart(v, x, k, o - k->n_in);
        write_slot(v, x->operand[o]);
    }
    for (uint32_t o = k->n_in; o < n_arg; o++)
        need_written(v, x->operand[o]); /* two results apart */
}

static void copy(verifier *v, const tn_inst_ir *x)
{
    if (x->n_operand != 2 || !within(v, x->operand[0], v->r->n_slot, "there is no such slot") ||
        !within(v, x->operand[1], v->r->n_slot, "there is no such slot")) {
        fault(v, "a copy takes two slots", NO_SLOT);
        return;
    }
    const tn_slot_ir *from = &v->r->slot[x->operand[0]], *to = &v->r->slot[x->operand[1]];
    int64_t a, b;
    need_written(v, x->operand[0]);
    need_writable(v, x->operand[1]);
    if (!same_kind(from, to))
        fault(v, " gets a copy of a value of another type or layout", x->operand[1]);
    if (tn_is_int(from->bytes, &a) && tn_is_int(to->bytes, &b) && a != b) /* others are compared in the run */
        fault(v, " gets a copy of another size", x->operand[1]);
    write_slot(v, x->operand[1]);
}

/* A row: as `to` without its first dimension; the run sees to the row's number. */
static void store(verifier *v, const tn_inst_ir *x)
{
    if (x->n_operand != 3 || x->operand[0] >= v->r->n_slot || x->operand[1] >= v->r->n_slot ||
        x->operand[2] >= v->r->n_size) {
        fault(v, "a store takes two slots and a size", NO_SLOT);
        return;
    }
    const tn_slot_ir *from = &v->r->slot[x->operand[0]], *to = &v->r->slot[x->operand[1]];
    need_written(v, x->operand[0]);
    need_writable(v, x->operand[1]);
    need_bound(v, v->r->size[x->operand[2]], NO_SLOT);
    if (!same_kind(from, to) || to->layout || to->ndim != from->ndim + 1)
        fault(v, " gets a row of another type or layout", x->operand[1]);
    else if (v->checks &&
             !equal(v, to->bytes, tn_simplify(v->p, NULL, tn_mul(v->p, to->dim[0], from->bytes))))
        fault(v, " gets a row of another size", x->operand[1]);
    write_slot(v, x->operand[1]);
}

static void set(verifier *v, const tn_inst_ir *x)
{
    if (x->n_operand != 2 || x->operand[0] >= v->r->n_slot || x->operand[1] >= v->r->n_size) {
        fault(v, "a slot and a size are taken", NO_SLOT);
        return;
    }
    need_writable(v, x->operand[0]);
    need_bound(v, v->r->size[x->operand[1]], NO_SLOT);
    if (!tn_is_value(v->r->slot[x->operand[0]].bytes, 8))
        fault(v, " is no int64", x->operand[0]);
    write_slot(v, x->operand[0]);
}

/* A slot of integers from which an extent is read; the run sees to the element's number. */
static void read_extent(verifier *v, const tn_inst_ir *x)
{
    uint32_t n = x->op == TN_INST_CHECK ? 3 : 2;
    if (x->n_operand != n || x->operand[0] >= v->r->n_slot || (n == 3 && x->operand[2] >= v->r->n_size)) {
        fault(v, "a slot and an element are taken", NO_SLOT);
        return;
    }
    need_written(v, x->operand[0]);
    if (!tn_dtype_is_int(v->r->slot[x->operand[0]].dtype) || v->r->slot[x->operand[0]].layout)
        fault(v, " holds no integers", x->operand[0]);
    if (n == 3)
        need_bound(v, v->r->size[x->operand[2]], NO_SLOT);
}

static void bind(verifier *v, const tn_inst_ir *x)
{
    if (x->a >= v->r->n_symbol || x->a < v->r->n_symbol - v->r->n_late) {
        fault(v, "there is no such symbol, or it is an input's", NO_SLOT);
        return;
    }
    if (x->op == TN_INST_BIND_SLOT)
        read_extent(v, x);
    else if (x->n_operand != 1 || x->operand[0] >= v->r->n_size)
        fault(v, "a size is taken", NO_SLOT);
    else
        need_bound(v, v->r->size[x->operand[0]], NO_SLOT);
    const tn_expr *symbol = tn_sym(v->p, v->r->symbol[x->a].name);
    for (size_t i = 0; i < v->depends[x->a].n; i++) {
        uint32_t s = v->depends[x->a].at[i], segment = v->r->slot[s].segment;
        drop(v, v->slot0 + s);
        if (segment)
            drop(v, v->segment0 + segment - 1);
    }
    for (uint32_t i = 0; i < v->r->n_size; i++)
        if (has(v, v->size0 + i) && tn_uses(v->r->size[i], symbol))
            drop(v, v->size0 + i);
    add(v, x->a);
}

static void plan(verifier *v, const tn_inst_ir *x)
{
    if (x->a == 0 || x->a > v->r->n_segment) {
        fault(v, "there is no such segment", NO_SLOT);
        return;
    }
    need_bound(v, v->r->segment_bytes[x->a - 1], NO_SLOT);
    for (uint32_t i = 0; i < v->r->n_slot; i++) {
        if (v->r->slot[i].segment != x->a)
            continue;
        need_bound(v, v->r->slot[i].bytes, i);
        drop(v, v->slot0 + i);
    }
    add(v, v->segment0 + x->a - 1);
}

static void condition(verifier *v, const tn_inst_ir *x)
{
    if (x->n_operand != 1 || !within(v, x->operand[0], v->r->n_slot, "there is no such slot"))
        return;
    need_written(v, x->operand[0]);
    if (!tn_dtype_is_bool(v->r->slot[x->operand[0]].dtype) ||
        !tn_is_value(v->r->slot[x->operand[0]].bytes, 1))
        fault(v, " is no bool scalar", x->operand[0]);
}

/* ---- the analysis ---- */

/* The way to where x jumps; false: nothing new is known there. */
static bool jump(verifier *v, const tn_inst_ir *x)
{
    bool size = x->op == TN_INST_JUMP_ZERO;
    if (x->a > v->r->n_inst || (size && (x->n_operand != 1 || x->operand[0] >= v->r->n_size))) {
        fault(v, "it jumps out of the program, or looks at no size", NO_SLOT);
        return false;
    }
    if (size)
        need_bound(v, v->r->size[x->operand[0]], NO_SLOT);
    bool was = size && has(v, v->size0 + x->operand[0]);
    if (size)
        add(v, v->size0 + x->operand[0]);
    bool changed = flow(v, x->a);
    if (size && !was)
        drop(v, v->size0 + x->operand[0]);
    return changed;
}

/* Instruction v->at, given what is known before it. Does the next one follow? true in *changed: something is newly
 * known, or no longer, at a target. */
static bool step(verifier *v, bool *changed)
{
    const tn_inst_ir *x = &v->r->inst[v->at];
    switch (x->op) {
    case TN_INST_CALL: call(v, x); break;
    case TN_INST_COPY: copy(v, x); break;
    case TN_INST_STORE: store(v, x); break;
    case TN_INST_SET: set(v, x); break;
    case TN_INST_CHECK: read_extent(v, x); break;
    case TN_INST_BIND:
    case TN_INST_BIND_SLOT: bind(v, x); break;
    case TN_INST_PLAN: plan(v, x); break;
    case TN_INST_FAIL: within(v, x->a, v->program->n_text, "there is no such text"); return false;
    case TN_INST_JUMP_FALSE:
        condition(v, x);
        *changed = jump(v, x) || *changed;
        break;
    case TN_INST_JUMP_ZERO: *changed = jump(v, x) || *changed; break;
    case TN_INST_JUMP: *changed = jump(v, x) || *changed; return false;
    default: fault(v, "there is no such instruction", NO_SLOT); return false;
    }
    for (size_t i = 0; i < v->collects[v->at + 1].n; i++) /* empty where the loop ends at once */
        write_slot(v, v->collects[v->at + 1].at[i]);
    return true;
}

/* Every instruction once, in order. Sets are kept where jumps lead to alone: between, one is carried along. */
static bool walk(verifier *v)
{
    bool changed = false, here = true; /* v->now is known before v->at */
    memcpy(v->now, v->before[0], v->words * sizeof *v->now);
    for (v->at = 0; v->at <= v->r->n_inst; v->at++) {
        if (v->target[v->at]) {
            changed = (here && flow(v, v->at)) || changed;
            here = v->before[v->at] != NULL;
            if (here)
                memcpy(v->now, v->before[v->at], v->words * sizeof *v->now);
        }
        if (here && v->at < v->r->n_inst)
            here = step(v, &changed);
    }
    return changed;
}

static void check_slots(verifier *v)
{
    const tn_program_function_ir *r = v->r;
    for (uint32_t i = 0; i < r->n_slot; i++) {
        const tn_slot_ir *s = &r->slot[i];
        if (s->kind <= TN_SLOT_OUTPUT && s->layout)
            fault(v, " is the model's, but not row-major", i);
        if (s->kind != TN_SLOT_OUTPUT)
            continue;
        need_bound(v, s->bytes, i);
        if (s->alias >= (int64_t)r->n_slot) {
            fault(v, " is an alias of nothing", i);
        } else if (s->alias >= 0) {
            need_written(v, (uint32_t)s->alias);
            if (!same_kind(s, &r->slot[s->alias]) || !equal(v, s->bytes, r->slot[s->alias].bytes))
                fault(v, " is an alias of another type, layout or size", i);
        } else if (s->segment && !has(v, v->segment0 + s->segment - 1)) {
            fault(v, " is not planned at the end", i);
        } else {
            need_written(v, i);
        }
    }
}

static void analyse(verifier *v)
{
    for (uint32_t s = 0; s < v->r->n_symbol - v->r->n_late; s++)
        add(v, s);
    for (uint32_t i = 0; i < v->r->n_slot; i++)
        if (v->r->slot[i].kind == TN_SLOT_INPUT || v->r->slot[i].kind == TN_SLOT_CONST)
            add(v, v->slot0 + i);
    flow(v, 0);
    for (bool changed = true; changed && !v->failed;) {
        changed = walk(v);
        if (!changed && !v->checks)
            changed = v->checks = true; /* once more, to report */
    }
    v->at = v->r->n_inst;
    if (v->failed || !v->before[v->r->n_inst])
        return;
    memcpy(v->now, v->before[v->r->n_inst], v->words * sizeof *v->now);
    check_slots(v);
}

/* ---- memory ---- */

typedef struct {
    const verifier *v;
    int sample;
} values;

static const tn_expr *with_value(tn_pool *p, const tn_expr *e, void *user)
{
    static const int64_t base[SAMPLES] = {0, 1, 7, 64};
    const values *x = user;
    for (uint32_t s = 0; e->kind == TN_E_SYM && s < x->v->r->n_symbol; s++) {
        const tn_symbol *y = &x->v->r->symbol[s];
        int64_t n = base[x->sample] + (x->sample > 1 ? s % 5 : 0);
        if (y->name == e->u.s)
            return tn_idx(p, n < y->min ? y->min : n > y->max ? y->max : n);
    }
    return NULL;
}

static int64_t value(verifier *v, const tn_expr *e, int sample)
{
    int64_t n = -1;
    if (!e || tn_is_int(e, &n))
        return n;
    e = tn_rewrite(v->p, e, with_value, &(values){v, sample});
    return tn_is_int(tn_simplify(v->p, &v->facts, e), &n) ? n : -1;
}

static void place_slots(verifier *v)
{
    v->held = TN_NEW_N(&v->arena, uint64_t, v->words);
    for (int k = 0; k < SAMPLES; k++)
        v->place[k] = TN_NEW_N(&v->arena, extent, v->r->n_slot);
    for (uint32_t i = 0; i < v->r->n_slot; i++) {
        const tn_slot_ir *s = &v->r->slot[i];
        if (s->kind != TN_SLOT_TEMP && s->kind != TN_SLOT_OUTPUT)
            continue;
        for (int k = 0; k < SAMPLES; k++) {
            int64_t at = value(v, s->offset, k), bytes = at < 0 ? 0 : value(v, s->bytes, k);
            if (bytes <= 0)
                continue;
            v->place[k][i] = (extent){at, at + bytes};
            v->held[(v->slot0 + i) / 64] |= 1ull << (v->slot0 + i) % 64;
        }
    }
}

/* What a loop collects lives from its begin, however many rows there are: the run counts them. */
static void find_collected(verifier *v)
{
    const tn_program_function_ir *r = v->r;
    for (uint32_t i = 0; i < r->n_inst; i++)
        for (uint32_t j = i + 1; r->inst[i].op == TN_INST_STORE && r->inst[i].n_operand == 3 && j < r->n_inst;
             j++)
            if (r->inst[j].op == TN_INST_JUMP && r->inst[j].a <= i && r->inst[i].operand[1] < r->n_slot) {
                tn_vec_push(&v->collects[r->inst[j].a], r->inst[i].operand[1]);
                break;
            }
}

static void prepare(verifier *v)
{
    const tn_program_function_ir *r = v->r;
    tn_arena_init(&v->arena);
    tn_facts_init(&v->facts);
    for (uint32_t s = 0; s < r->n_symbol; s++)
        tn_facts_range(&v->facts, tn_sym(v->p, r->symbol[s].name), r->symbol[s].min, r->symbol[s].max);
    v->slot0 = r->n_symbol;
    v->segment0 = v->slot0 + r->n_slot;
    v->size0 = v->segment0 + r->n_segment;
    v->words = (v->size0 + r->n_size) / 64 + 1;
    v->now = TN_NEW_N(&v->arena, uint64_t, v->words);
    v->before = TN_NEW_N(&v->arena, uint64_t *, r->n_inst + 1);
    v->target = TN_NEW_N(&v->arena, bool, r->n_inst + 1);
    v->target[0] = v->target[r->n_inst] = true;
    for (uint32_t i = 0; i < r->n_inst; i++) {
        uint32_t op = r->inst[i].op;
        if ((op == TN_INST_JUMP || op == TN_INST_JUMP_FALSE || op == TN_INST_JUMP_ZERO) &&
            r->inst[i].a <= r->n_inst)
            v->target[r->inst[i].a] = true;
    }
    v->depends = TN_NEW_N(&v->arena, numbers, r->n_symbol);
    v->collects = TN_NEW_N(&v->arena, numbers, r->n_inst + 2);
    find_collected(v);
    for (uint32_t i = 0; i < r->n_slot && r->n_late; i++) {
        tn_each(r->slot[i].bytes, note_symbol, &(mentions){v, i, true});
        for (int d = 0; d < r->slot[i].ndim; d++)
            tn_each(r->slot[i].dim[d], note_symbol, &(mentions){v, i, true});
    }
    place_slots(v);
}

tn_status tn_program_verify(tn_ctx *ctx, tn_pool *p, const tn_program_ir *program, uint32_t n_kernel,
                            const tn_kernel_signature *kernel)
{
    verifier v = {.ctx = ctx,
                  .p = p,
                  .program = program,
                  .r = program->function,
                  .kernel = kernel,
                  .n_kernel = n_kernel};
    prepare(&v);
    analyse(&v);
    for (uint32_t s = 0; s < v.r->n_symbol; s++)
        tn_vec_deinit(&v.depends[s]);
    for (uint32_t i = 0; i < v.r->n_inst + 2; i++)
        tn_vec_deinit(&v.collects[i]);
    tn_facts_deinit(&v.facts);
    tn_arena_deinit(&v.arena);
    return v.failed ? TN_FAIL : TN_OK;
}
