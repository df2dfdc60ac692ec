/* The verifier of programs: a forward analysis over the instructions of each function. What is known before an
 * instruction is a set of bits: symbols that are bound, slots that hold what was written into them, segments that are
 * planned, sizes that were found to be 0, slots of the pool that have memory. Where ways meet, what all of them know is
 * known. It is repeated until nothing changes, then every instruction is checked against what is known before it.
 *
 * A slot stops holding its value when a symbol of its size is bound anew, its segment is planned, or something is
 * written that shares a byte of the arena with it. The last is worked out with numbers in the place of symbols, so
 * that formulas need not be compared. */
#include "program/verify.h"

#include <ctype.h>
#include <string.h>

const tn_expr *tn_program_differ(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_select(p, tn_eq(p, a, b), tn_idx(p, 0), tn_idx(p, 1));
}

/* ---- faults ---- */

static const char *slot_text(verifier *v, int64_t s)
{
    static const char *const kinds[] = {"input", "output", "constant", "temporary", "state"};
    if (s < 0 || s >= v->f->n_slot)
        return "";
    return tn_arena_printf(&v->arena, "slot %u (%s \"%s\")", (unsigned)s, kinds[v->f->slot[s].kind % 5],
                           v->f->slot[s].name);
}

/* "of @main, instruction 3 (CALL of Add_0)" */
static const char *place_text(verifier *v)
{
    const char *f = v->f ? tn_arena_printf(&v->arena, " of @%s", v->f->name) : "";
    if (!v->f || v->at > v->f->n_inst)
        return f;
    if (v->at == v->f->n_inst)
        return tn_arena_printf(&v->arena, " at instruction %u%s (the end)", (unsigned)v->at, f);
    const tn_inst_ir *x = &v->f->inst[v->at];
    const tn_inst_info *info = tn_inst_info_get(x->op);
    return tn_arena_printf(&v->arena, " at instruction %u%s (%s%s%s)", (unsigned)v->at, f,
                           info ? info->name : "?", *x->node ? " of " : "", x->node);
}

void verify_fault(verifier *v, const char *what, int64_t slot)
{
    if (v->failed || !v->checks)
        return;
    v->failed = true;
    (void)tn_error(
        v->ctx, "driver-E070", NULL,
        "internal error: the program made for this model contradicts itself%s: %s%s; this is a fault of "
        "Tenon, please report it",
        place_text(v), slot_text(v, slot), what);
}

/* ---- the analysis ---- */

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

/* The way to where x jumps; false: nothing new is known there. */
static bool jump(verifier *v, const tn_inst_ir *x)
{
    bool size = x->op == TN_INST_JUMP_ZERO;
    if (x->a > v->f->n_inst) {
        verify_fault(v, "it jumps out of the program", VERIFY_NO_SLOT);
        return false;
    }
    bool was = size && verify_has(v, v->size0 + x->operand[0]);
    if (size)
        verify_add(v, v->size0 + x->operand[0]);
    bool changed = flow(v, x->a);
    if (size && !was)
        verify_drop(v, v->size0 + x->operand[0]);
    return changed;
}

/* Instruction v->at, given what is known before it. Does the next one follow? true in *changed: something is newly
 * known, or no longer, at a target. */
static bool step(verifier *v, bool *changed)
{
    const tn_inst_ir *x = &v->f->inst[v->at];
    if (!verify_inst(v, x) || x->op == TN_INST_FAIL)
        return false;
    if (tn_inst_jumps(x->op))
        *changed = jump(v, x) || *changed;
    if (x->op == TN_INST_JUMP)
        return false;
    for (size_t i = 0; i < v->collects[v->at + 1].n; i++) /* empty where the loop ends at once */
        verify_write(v, v->collects[v->at + 1].at[i]);
    return true;
}

/* An instruction that nothing leads to: its operands are what it takes, whatever is known. */
static void check_dead(verifier *v)
{
    const tn_inst_ir *x = &v->f->inst[v->at];
    memset(v->now, 0xff, v->words * sizeof *v->now);
    if (verify_inst(v, x) && tn_inst_jumps(x->op) && x->a > v->f->n_inst)
        verify_fault(v, "it jumps out of the program", VERIFY_NO_SLOT);
}

/* Every instruction once, in order. Sets are kept where jumps lead to alone: between, one is carried along. */
static bool walk(verifier *v)
{
    bool changed = false, here = true; /* v->now is known before v->at */
    memcpy(v->now, v->before[0], v->words * sizeof *v->now);
    for (v->at = 0;; v->at++) {
        if (v->target[v->at]) {
            changed = (here && flow(v, v->at)) || changed;
            here = v->before[v->at] != NULL;
            if (here)
                memcpy(v->now, v->before[v->at], v->words * sizeof *v->now);
        }
        if (v->at == v->f->n_inst)
            break;
        if (here)
            here = step(v, &changed);
        else if (v->checks)
            check_dead(v);
    }
    return changed;
}

/* What every output holds at the end. */
static void check_outputs(verifier *v)
{
    const tn_program_function_ir *f = v->f;
    for (uint32_t i = 0; i < f->n_slot; i++) {
        const tn_slot_ir *s = &f->slot[i];
        if (s->kind != TN_SLOT_OUTPUT)
            continue;
        verify_bound(v, s->bytes, i);
        if (s->alias >= 0) {
            if (!verify_has(v, v->slot0 + (uint32_t)s->alias))
                verify_fault(v, " is an alias of what is not written", i);
            if (!verify_same_kind(s, &f->slot[s->alias]) ||
                !verify_equal(v, s->bytes, f->slot[s->alias].bytes))
                verify_fault(v, " is an alias of another type, layout or size", i);
        } else if (s->segment && !verify_has(v, v->segment0 + s->segment - 1)) {
            verify_fault(v, " is not planned at the end", i);
        } else if (!verify_has(v, v->slot0 + i)) {
            verify_fault(v, " is read where it does not hold its value", i);
        }
    }
}

static void analyse(verifier *v)
{
    for (uint32_t s = 0; s < v->f->n_symbol - v->f->n_late; s++)
        verify_add(v, s);
    for (uint32_t i = 0; i < v->f->n_slot; i++)
        if (v->f->slot[i].kind != TN_SLOT_OUTPUT && v->f->slot[i].kind != TN_SLOT_TEMP)
            verify_add(v, v->slot0 + i);
    flow(v, 0);
    for (bool changed = true; changed && !v->failed;) {
        changed = walk(v);
        if (!changed && !v->checks)
            changed = v->checks = true; /* once more, to report */
    }
    v->at = v->f->n_inst;
    if (v->failed || !v->before[v->f->n_inst])
        return;
    memcpy(v->now, v->before[v->f->n_inst], v->words * sizeof *v->now);
    check_outputs(v);
}

/* ---- one function ---- */

/* What a loop collects lives from its begin, however many rows there are: the run counts them. */
static void find_collected(verifier *v)
{
    const tn_program_function_ir *f = v->f;
    for (uint32_t i = 0; i < f->n_inst; i++)
        for (uint32_t j = i + 1; f->inst[i].op == TN_INST_STORE && f->inst[i].n_operand == 3 && j < f->n_inst;
             j++)
            if (f->inst[j].op == TN_INST_JUMP && f->inst[j].a <= i && f->inst[i].operand[1] < f->n_slot) {
                tn_vec_push(&v->collects[f->inst[j].a], f->inst[i].operand[1]);
                break;
            }
}

static void prepare(verifier *v)
{
    const tn_program_function_ir *f = v->f;
    uint32_t longest = 0;
    tn_facts_init(&v->facts);
    for (uint32_t s = 0; s < f->n_symbol; s++)
        tn_facts_range(&v->facts, tn_sym(v->p, f->symbol[s].name), f->symbol[s].min, f->symbol[s].max);
    v->slot0 = f->n_symbol;
    v->segment0 = v->slot0 + f->n_slot;
    v->size0 = v->segment0 + f->n_segment;
    v->memory0 = v->size0 + f->n_size;
    v->words = (v->memory0 + f->n_slot) / 64 + 1;
    v->now = TN_NEW_N(&v->arena, uint64_t, v->words);
    v->before = TN_NEW_N(&v->arena, uint64_t *, f->n_inst + 1);
    v->target = TN_NEW_N(&v->arena, bool, f->n_inst + 1);
    v->target[0] = v->target[f->n_inst] = true;
    for (uint32_t i = 0; i < f->n_inst; i++) {
        if (tn_inst_jumps(f->inst[i].op) && f->inst[i].a <= f->n_inst)
            v->target[f->inst[i].a] = true;
        longest = f->inst[i].n_operand > longest ? f->inst[i].n_operand : longest;
    }
    v->letter = tn_arena_alloc(&v->arena, (size_t)longest + 1, 1);
    v->depends = TN_NEW_N(&v->arena, verify_numbers, f->n_symbol);
    v->collects = TN_NEW_N(&v->arena, verify_numbers, f->n_inst + 2);
    find_collected(v);
}

static void verify_function(verifier *v)
{
    tn_arena_init(&v->arena);
    prepare(v);
    v->at = UINT32_MAX;
    v->checks = true;
    verify_slots(v);
    if (!v->failed) {
        v->checks = false;
        verify_prepare_slots(v);
        analyse(v);
    }
    for (uint32_t s = 0; s < v->f->n_symbol; s++)
        tn_vec_deinit(&v->depends[s]);
    for (uint32_t i = 0; i < v->f->n_inst + 2; i++)
        tn_vec_deinit(&v->collects[i]);
    tn_facts_deinit(&v->facts);
    tn_arena_deinit(&v->arena);
}

tn_status tn_program_verify(tn_ctx *ctx, tn_pool *p, const tn_program_ir *program, uint32_t n_kernel,
                            const tn_kernel_signature *kernel)
{
    verifier v = {
        .ctx = ctx, .p = p, .program = program, .kernel = kernel, .n_kernel = n_kernel, .checks = true};
    tn_arena_init(&v.arena);
    verify_states(&v);
    verify_constants(&v);
    tn_arena_deinit(&v.arena);
    for (uint32_t i = 0; i < program->n_function && !v.failed; i++) {
        v.f = &program->function[i];
        verify_function(&v);
    }
    return v.failed ? TN_FAIL : TN_OK;
}
