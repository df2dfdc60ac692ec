/* The verifier of programs: a program with a loop, a branch and a reshape to extents of the run is right as it is made;
 * each row breaks one thing in it, and the verifier says what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"

static const char model[] =
    "#[version = \"0.0.5\"]\n#[symbols = \"u in [0, 1000], v in [0, 1000]\"]\n"
    "def @main(%x: Tensor[(n, 6), float32], %s: Tensor[(2), int64], %c: bool, %t: int64) {\n"
    "  %b = bind_extent(%s, extent=[u, v]);\n"
    "  %0 = nn.softmax(%x);\n"
    "  %1 = loop(%t, True, %0, count=[3])(%i: int64, %p: Tensor[(n, 6), float32]) {\n"
    "    %2 = nn.softmax(%p + cast(%i, dtype=\"float32\"));\n    (True, %2, %2)\n  };\n"
    "  %3 = if (%c) {\n    nn.softmax(%1.0)\n  } else {\n    %0\n  };\n"
    "  %4 = dyn.reshape(%3, extent=[u, v]);\n"
    "  %5 = nn.softmax(%4);\n"
    "  %6 = nn.softmax(%5);\n"
    "  (%3, %5, %4, %1.1, %x, nn.relu(%6))\n}\n";

typedef struct {
    tn_build *b;
    tn_program_ir program;
    tn_program_function_ir r;
    tn_slot_ir *slot;
    tn_inst_ir *inst;
    uint32_t **operand; /* per instruction */
    const tn_expr **size;
} copy;

/* The k'th instruction of this kind. */
static uint32_t find(const copy *c, enum tn_inst_op op, uint32_t k)
{
    for (uint32_t i = 0; i < c->r.n_inst; i++)
        if (c->inst[i].op == op && k-- == 0)
            return i;
    fail_msg("no such instruction");
    return 0;
}

static uint32_t find_slot(const copy *c, enum tn_slot_kind kind, uint32_t k)
{
    for (uint32_t i = 0; i < c->r.n_slot; i++)
        if (c->slot[i].kind == (uint32_t)kind && k-- == 0)
            return i;
    fail_msg("no such slot");
    return 0;
}

static uint32_t result(const copy *c, uint32_t call)
{
    return c->operand[call][c->b->signature[c->inst[call].a].n_in];
}
static void drop_inst(copy *c, uint32_t i)
{
    c->inst[i] = (tn_inst_ir){TN_INST_JUMP, i + 1, 0, NULL, "nothing"};
}

static void larger(copy *c, uint32_t slot)
{
    c->slot[slot].bytes = tn_add(&c->b->pool, c->slot[slot].bytes, tn_idx(&c->b->pool, 4));
}

static void output_size(copy *c) { larger(c, find_slot(c, TN_SLOT_OUTPUT, 1)); }
static void result_size(copy *c) { larger(c, result(c, find(c, TN_INST_CALL, 0))); }
static void input_size(copy *c) { larger(c, find_slot(c, TN_SLOT_INPUT, 0)); }
static void dtype(copy *c) { c->slot[result(c, find(c, TN_INST_CALL, 0))].dtype = TN_I32; }
static void row_size(copy *c) { larger(c, c->operand[find(c, TN_INST_STORE, 0)][0]); }
static void copy_layout(copy *c)
{
    const tn_layout **to = &c->slot[c->operand[find(c, TN_INST_COPY, 1)][1]].layout;
    assert_int_equal(tn_layout_parse(c->b->ctx, "NK4n", NULL, to), TN_OK);
}
static void no_compare(copy *c)
{
    for (uint32_t i = 0; i + 1 < c->r.n_inst; i++)
        if (c->inst[i].op == TN_INST_JUMP_ZERO && c->inst[i + 1].op == TN_INST_FAIL && c->inst[i].a == i + 2)
            drop_inst(c, i), drop_inst(c, i + 1);
}
static void no_plan(copy *c) { drop_inst(c, find(c, TN_INST_PLAN, 0)); }
static void no_bind(copy *c) { drop_inst(c, find(c, TN_INST_BIND_SLOT, 0)); }
static void no_call(copy *c) { drop_inst(c, find(c, TN_INST_CALL, 0)); }
static void no_count(copy *c) { drop_inst(c, find(c, TN_INST_SET, 0)); }
static void no_branch(copy *c)
{
    uint32_t b = c->inst[find(c, TN_INST_JUMP_FALSE, 1)].a;
    for (uint32_t i = b; i < c->r.n_inst && c->inst[i].op != TN_INST_JUMP; i++)
        if (c->inst[i].op == TN_INST_COPY) {
            drop_inst(c, i);
            return;
        }
}
static void writes_input(copy *c)
{
    uint32_t i = find(c, TN_INST_CALL, 0);
    c->operand[i][c->b->signature[c->inst[i].a].n_in] = find_slot(c, TN_SLOT_INPUT, 0);
}
static void over_live(copy *c) /* every temporary of the arena at 0 */
{
    for (uint32_t i = 0; i < c->r.n_slot; i++)
        if (c->slot[i].kind == TN_SLOT_TEMP && !c->slot[i].segment)
            c->slot[i].offset = tn_idx(&c->b->pool, 0);
}
static void alias(copy *c)
{
    for (uint32_t i = 0; i < c->r.n_slot; i++)
        if (c->slot[i].alias >= 0)
            larger(c, i);
}
static void jump(copy *c) { c->inst[find(c, TN_INST_JUMP, 0)].a = c->r.n_inst + 7; }
static void kernel(copy *c) { c->inst[find(c, TN_INST_CALL, 0)].a = 99; }
static void opcode(copy *c) { c->inst[0].op = 77; }

typedef struct {
    const char *name;
    void (*damage)(copy *c);
    const char *says;
} row;

// clang-format off
static const row rows[] = {
    {"an output larger than its writer's result", output_size, "has another size than the kernel's parameter"},
    {"a temporary larger than its writer's result", result_size, "has another size than the kernel's parameter"},
    {"an operand smaller than the kernel reads", input_size, "has another size than the kernel's parameter"},
    {"another type", dtype, "has another type than the kernel's parameter"},
    {"a row of another size", row_size, "size"},
    {"a copy into another layout", copy_layout, "gets a copy of a value of another type or layout"},
    {"a reshape that nothing compares", no_compare, "and the run does not compare them"},
    {"a segment that is not planned", no_plan, "planned"},
    {"a symbol that is not bound", no_bind, "symbols that are not bound yet"},
    {"a value that is not computed", no_call, "is read where it does not hold its value"},
    {"a number that is not set", no_count, "is read where it does not hold its value"},
    {"a branch without its result", no_branch, "is read where it does not hold its value"},
    {"a call that writes an input", writes_input, "is an input, a constant or an alias"},
    {"memory of values that are still read", over_live, "(temporary"},
    {"an alias of another size", alias, "is an alias of another type, layout or size"},
    {"a jump out of the program", jump, "it jumps out of the program"},
    {"no such kernel", kernel, "there is no such kernel"},
    {"no such instruction", opcode, "there is no such instruction"},
};
// clang-format on

static copy copy_of(tn_build *b)
{
    copy c = {.b = b, .program = b->program, .r = b->main};
    const tn_program_function_ir *r = &b->main;
    c.r.slot = c.slot = tn_arena_copy(&b->arena, r->slot, r->n_slot * sizeof *r->slot, 8);
    c.r.inst = c.inst = tn_arena_copy(&b->arena, r->inst, r->n_inst * sizeof *r->inst, 8);
    c.operand = TN_NEW_N(&b->arena, uint32_t *, r->n_inst);
    for (uint32_t i = 0; i < r->n_inst; i++) {
        uint32_t n = r->inst[i].n_operand;
        c.inst[i].operand = c.operand[i] =
            tn_arena_copy(&b->arena, n ? (const void *)r->inst[i].operand : "", n * sizeof(uint32_t), 4);
    }
    return c;
}

static tn_status verify(copy *c, char says[512])
{
    tn_ctx ctx;
    tn_ctx_init(&ctx);
    c->program.function = &c->r;
    tn_status s =
        tn_program_verify(&ctx, &c->b->pool, &c->program, (uint32_t)c->b->groups.n, c->b->signature);
    snprintf(says, 512, "%s", ctx.n_diag ? ctx.diag[0].message : "");
    tn_ctx_deinit(&ctx);
    return s;
}

/* Up to the program of a Relay text. */
static void make(tn_build *b, tn_ctx *ctx, const char *text)
{
    tn_status (*const stage[])(tn_build *) = {tn_stage_graph, tn_stage_tir, tn_stage_schedule, tn_stage_lower,
                                              tn_stage_program};
    tn_ctx_init(ctx);
    tn_build_init(b, ctx, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3});
    assert_int_equal(tn_target_parse(b), TN_OK);
    b->model = "t.relay";
    b->file = (tn_file){.at = (const uint8_t *)text, .n = strlen(text)};
    assert_int_equal(tn_stage_import(b), TN_OK);
    tn_names_settle(b);
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++)
        assert_int_equal(stage[i](b), TN_OK);
}

static void broken_programs_are_found(void **state)
{
    (void)state;
    char says[512];
    tn_ctx ctx;
    tn_build b;
    int failed = 0;
    make(&b, &ctx, model);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        copy c = copy_of(&b);
        assert_int_equal(verify(&c, says), TN_OK);
        rows[i].damage(&c);
        if (verify(&c, says) == TN_OK || !strstr(says, rows[i].says) || !strstr(says, "internal error")) {
            print_error("%s: %s\n", rows[i].name, says);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
    tn_build_deinit(&b);
    tn_ctx_deinit(&ctx);
}

/* In a chain, every second slot lies in the same place: work for each pair of those would take minutes. */
static void long_programs_are_quick(void **state)
{
    (void)state;
    enum { N = 6000 };
    tn_ctx ctx;
    tn_build b;
    char *text = malloc(N * 40u + 200), *at = text;
    assert_non_null(text);
    at += sprintf(
        at, "#[version = \"0.0.5\"]\ndef @main(%%x: Tensor[(2, 3), float32]) {\n  %%0 = nn.softmax(%%x);\n");
    for (int i = 1; i < N; i++)
        at += sprintf(at, "  %%%d = nn.softmax(%%%d);\n", i, i - 1);
    sprintf(at, "  %%%d\n}\n", N - 1);
    make(&b, &ctx, text);
    double start = tn_now();
    assert_int_equal(tn_program_verify(&ctx, &b.pool, &b.program, (uint32_t)b.groups.n, b.signature), TN_OK);
    assert_true(tn_now() - start < 5);
    tn_build_deinit(&b);
    tn_ctx_deinit(&ctx);
    free(text);
}

/* driver-E070 */
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_programs_are_found),
                                       cmocka_unit_test(long_programs_are_quick)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
