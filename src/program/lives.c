/* How long slots of the pool and of handles keep what they hold.
 *
 * A RENEW stands before what writes a slot of the pool. A backward analysis then finds which slots are still read
 * behind each instruction; the next one drops those that are not. Where ways part, what only some of them read is
 * dropped at the begin of the others. Dropping a slot that holds nothing does nothing, so a drop may stand where ways
 * meet. What would be dropped at the end of the function ends with the frame anyway. */
#include "base/vec.h"
#include "program/program.h"

#include <string.h>

typedef tn_vec(uint32_t) slots;

/* What is inserted before an instruction: slots that get memory where only the one before leads, those that do where
 * jumps lead, too, and those that are dropped there. */
typedef struct {
    slots enter, write, drop;
} around;

typedef struct {
    tn_arena *arena;
    const tn_program_ir *program;
    const tn_kernel_signature *kernel;
    uint32_t n_kernel;
    tn_program_function_ir *f;
    around *around; /* n_inst + 1 entries */
    char *letter;
    uint32_t n, words; /* slots that are looked at */
    uint32_t *bit;     /* of a slot; UINT32_MAX: none */
    uint32_t *slot;    /* of a bit */
    uint64_t *in;      /* per instruction and for the end: slots that are read from there on */
} lives;

static bool is_pooled(const lives *l, uint32_t slot) { return l->f->slot[slot].storage == TN_STORAGE_POOL; }

/* The letters of x, in l->letter. */
static void read_letters(lives *l, const tn_inst_ir *x)
{
    bool known = tn_inst_letters(l->program, l->n_kernel, l->kernel, x, l->letter);
    TN_ASSERT(known);
}

/* ---- inserting ---- */

/* Drops the slots, then does what x does if it is a RENEW. */
static tn_inst_ir dropping(const lives *l, const slots *s, const tn_inst_ir *x, const char *node)
{
    uint32_t *operand = TN_NEW_N(l->arena, uint32_t, s->n + (x ? x->n_operand : 0)), n = 0;
    tn_inst_ir r = {.op = TN_INST_RENEW, .operand = operand, .node = node};
    for (size_t i = 0; i < s->n; i++) {
        bool again = false;
        for (uint32_t k = 0; x && k < x->n_operand; k++)
            again = again || x->operand[k] == s->at[i];
        if (!again)
            operand[n++] = s->at[i];
    }
    r.a = n;
    for (uint32_t k = 0; x && k < x->n_operand; k++)
        operand[n++] = x->operand[k];
    r.n_operand = n;
    return r;
}

static tn_inst_ir allocating(const lives *l, const slots *s, const char *node)
{
    return (tn_inst_ir){.op = TN_INST_RENEW,
                        .n_operand = (uint32_t)s->n,
                        .operand = tn_arena_copy(l->arena, s->at, s->n * sizeof *s->at, 4),
                        .node = node};
}

/* The instructions with what stands around them. */
static void insert(lives *l)
{
    tn_program_function_ir *f = l->f;
    tn_inst_ir *to = TN_NEW_N(l->arena, tn_inst_ir, 3 * (size_t)f->n_inst + 3);
    uint32_t *place = TN_NEW_N(l->arena, uint32_t, f->n_inst + 1), n = 0;
    for (uint32_t i = 0; i <= f->n_inst; i++) {
        around *a = &l->around[i];
        const tn_inst_ir *x = i < f->n_inst ? &f->inst[i] : NULL;
        const char *node = x ? x->node : "";
        bool renews = x && x->op == TN_INST_RENEW;
        if (a->enter.n)
            to[n++] = allocating(l, &a->enter, node);
        place[i] = n;
        if (a->write.n)
            to[n++] = allocating(l, &a->write, node);
        if (a->drop.n)
            to[n++] = dropping(l, &a->drop, renews ? x : NULL, node);
        if (x && !(renews && a->drop.n))
            to[n++] = *x;
        tn_vec_deinit(&a->enter);
        tn_vec_deinit(&a->write);
        tn_vec_deinit(&a->drop);
    }
    for (uint32_t i = 0; i < n; i++)
        if (tn_inst_jumps(to[i].op))
            to[i].a = place[to[i].a];
    f->inst = to;
    f->n_inst = n;
}

/* ---- memory ---- */

/* Where the loop begins whose rows the STORE writes; a STORE stands in one. */
static uint32_t loop_of(const lives *l, uint32_t store)
{
    for (uint32_t j = store + 1; j < l->f->n_inst; j++)
        if (l->f->inst[j].op == TN_INST_JUMP && l->f->inst[j].a <= store)
            return l->f->inst[j].a;
    return store;
}

static void allocate(lives *l)
{
    for (uint32_t i = 0; i < l->f->n_inst; i++) {
        const tn_inst_ir *x = &l->f->inst[i];
        slots *to = x->op == TN_INST_STORE ? &l->around[loop_of(l, i)].enter : &l->around[i].write;
        read_letters(l, x);
        for (uint32_t k = 0; k < x->n_operand; k++)
            if (strchr("wu", l->letter[k]) && is_pooled(l, x->operand[k]))
                tn_vec_push(to, x->operand[k]);
    }
    insert(l);
}

/* ---- lives ---- */

static uint64_t *row(const lives *l, uint32_t at) { return l->in + (size_t)at * l->words; }

static bool has(const uint64_t *set, uint32_t bit) { return set[bit / 64] >> bit % 64 & 1; }
static void put(uint64_t *set, uint32_t bit) { set[bit / 64] |= 1ull << bit % 64; }
static void take(uint64_t *set, uint32_t bit) { set[bit / 64] &= ~(1ull << bit % 64); }

/* What is read behind instruction i. */
static void behind(const lives *l, uint32_t i, uint64_t *set)
{
    const tn_inst_ir *x = &l->f->inst[i];
    memset(set, 0, l->words * sizeof *set);
    for (uint32_t w = 0; w < l->words; w++) {
        if (x->op != TN_INST_FAIL && x->op != TN_INST_JUMP)
            set[w] |= row(l, i + 1)[w];
        if (tn_inst_jumps(x->op))
            set[w] |= row(l, x->a)[w];
    }
}

/* Of operand k, whose letter is known; UINT32_MAX: none. */
static uint32_t bit_of(const lives *l, const tn_inst_ir *x, uint32_t k)
{
    return strchr("sibwxhovup", l->letter[k]) ? l->bit[x->operand[k]] : UINT32_MAX;
}

/* set is what is read behind x, and becomes what is read before it. A slot of the pool is used from its RENEW on. */
static void step(lives *l, const tn_inst_ir *x, uint64_t *set)
{
    read_letters(l, x);
    for (int reads = 0; reads < 2; reads++)
        for (uint32_t k = 0; k < x->n_operand; k++) {
            uint32_t bit = bit_of(l, x, k);
            if (bit == UINT32_MAX)
                continue;
            bool begins =
                is_pooled(l, x->operand[k]) ? x->op == TN_INST_RENEW : strchr("ou", l->letter[k]) != NULL;
            if (begins && !reads)
                take(set, bit);
            else if (!begins && reads)
                put(set, bit);
        }
}

static void find_lives(lives *l)
{
    uint64_t *set = TN_NEW_N(l->arena, uint64_t, l->words);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = l->f->n_inst; i-- > 0;) {
            behind(l, i, set);
            step(l, &l->f->inst[i], set);
            changed = changed || memcmp(set, row(l, i), l->words * sizeof *set) != 0;
            memcpy(row(l, i), set, l->words * sizeof *set);
        }
    }
}

/* ---- dropping ---- */

/* The slot of a bit is dropped before instruction `at`. */
static void add_drop(lives *l, uint32_t at, uint32_t bit)
{
    slots *to = &l->around[at].drop;
    for (size_t k = 0; k < to->n; k++)
        if (to->at[k] == l->slot[bit])
            return;
    tn_vec_push(to, l->slot[bit]);
}

/* Slots that may hold something on the way from i to `to`, where nothing reads it. */
static void drop_on_way(lives *l, uint32_t i, uint32_t to)
{
    for (uint32_t b = 0; b < l->n && to < l->f->n_inst; b++)
        if (has(row(l, i), b) && !has(row(l, to), b))
            add_drop(l, to, b);
}

/* Slots that instruction i reads or writes and nothing reads behind it. */
static void drop_behind(lives *l, uint32_t i)
{
    const tn_inst_ir *x = &l->f->inst[i];
    read_letters(l, x);
    for (uint32_t k = 0; k < x->n_operand && i + 1 < l->f->n_inst; k++) {
        uint32_t bit = bit_of(l, x, k);
        if (bit != UINT32_MAX && !has(row(l, i + 1), bit))
            add_drop(l, i + 1, bit);
    }
}

static void drop(lives *l)
{
    uint32_t n = l->f->n_inst;
    for (uint32_t i = 0; i < n; i++) {
        const tn_inst_ir *x = &l->f->inst[i];
        bool jumps = tn_inst_jumps(x->op);
        if (jumps)
            drop_on_way(l, i, x->a);
        if (jumps && x->op != TN_INST_JUMP)
            drop_on_way(l, i, i + 1);
        if (!jumps && x->op != TN_INST_FAIL)
            drop_behind(l, i);
    }
    insert(l);
}

/* ---- the whole ---- */

static void prepare(lives *l)
{
    const tn_program_function_ir *f = l->f;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < f->n_inst; i++)
        longest = f->inst[i].n_operand > longest ? f->inst[i].n_operand : longest;
    l->letter = tn_arena_alloc(l->arena, (size_t)longest + 1, 1);
    l->around = TN_NEW_N(l->arena, around, 3 * (size_t)f->n_inst + 4);
    l->bit = TN_NEW_N(l->arena, uint32_t, f->n_slot);
    l->slot = TN_NEW_N(l->arena, uint32_t, f->n_slot);
    for (uint32_t i = 0; i < f->n_slot; i++) {
        bool held = f->slot[i].storage != TN_STORAGE_BYTES;
        l->bit[i] = held ? l->n : UINT32_MAX;
        if (held)
            l->slot[l->n++] = i;
    }
    l->words = l->n / 64 + 1;
}

void tn_program_release(tn_arena *arena, const tn_program_ir *program, uint32_t n_kernel,
                        const tn_kernel_signature *kernel, tn_program_function_ir *f)
{
    lives l = {.arena = arena, .program = program, .kernel = kernel, .n_kernel = n_kernel, .f = f};
    prepare(&l);
    if (l.n == 0)
        return;
    allocate(&l);
    l.in = TN_NEW_N(arena, uint64_t, ((size_t)f->n_inst + 1) * l.words);
    for (uint32_t b = 0; b < l.n; b++)
        if (f->slot[l.slot[b]].kind == TN_SLOT_OUTPUT)
            put(row(&l, f->n_inst), b);
    find_lives(&l);
    drop(&l);
}
