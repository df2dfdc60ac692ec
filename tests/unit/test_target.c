/* target: rows, texts, and pipelines: they meet the needs of their passes, and a need that is not met is noticed. */
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define BIT(fact) (1u << TN_FACT_##fact)

static void needs_are_met(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_N_TARGETS; i++) {
        const tn_target_row *t = &tn_target_rows[i];
        uint32_t missing, at = (uint32_t)tn_pipeline_check(t->pipeline, TN_FACTS_FLAT, &missing);
        if (missing)
            fail_msg("target %s: place %u of pipeline %s lacks facts %x", t->name, at, t->pipeline->name,
                     missing);
    }
}

/* One pass less, or two in the other order: the place of the first that lacks something, and what. */
static void needs_are_noticed(void **state)
{
    (void)state;
    static const struct {
        int remove, swap; /* the first of the pass; with the next one */
        int at;           /* the pass that lacks something; -1: the end */
        uint32_t missing;
    } row[] = {
        {TN_LOWER_MakePhases, -1, TN_LOWER_LowerBlocks, BIT(PHASES)},
        {TN_LOWER_LowerBlocks, -1, TN_LOWER_TightenLoops, BIT(STATEMENTS)},
        {TN_LOWER_Simplify, -1, TN_LOWER_TightenLoops, BIT(SIMPLE)},
        {TN_LOWER_JoinSteps, -1, TN_LOWER_Vectorize, BIT(JOINED)},
        {TN_LOWER_Flatten, -1, TN_LOWER_Tensors, BIT(OFFSETS)},
        {TN_LOWER_Unroll, -1, TN_LOWER_Vectorize, BIT(STRAIGHT)},
        {TN_LOWER_Vectorize, -1, TN_LOWER_LoadStrided, BIT(LANES)},
        {TN_LOWER_Registers, -1, TN_LOWER_ChunkSums, BIT(REGISTERS)},
        {TN_LOWER_LowerIntrin, -1, TN_LOWER_LowerSmall, BIT(ARITHMETIC)},
        {TN_LOWER_LowerSmall, -1, TN_LOWER_ContractFma, BIT(STORED)},
        {TN_LOWER_PlanMemory, -1, -1, BIT(PLACES)},
        {-1, TN_LOWER_LowerIntrin, TN_LOWER_LowerSmall, BIT(ARITHMETIC)},
        {-1, TN_LOWER_LowerSmall, TN_LOWER_ContractFma, BIT(STORED)},
        {-1, TN_LOWER_Unroll, TN_LOWER_Vectorize, BIT(STRAIGHT)},
        {TN_LOWER_TightenLoops, -1, -1, 0}, /* what only makes code quicker may be left out */
        {TN_LOWER_PartitionTail, -1, -1, 0},
        {TN_LOWER_ChunkSums, -1, -1, 0},
        {TN_LOWER_ContractFma, -1, -1, 0},
        {TN_LOWER_NarrowLanes, -1, -1, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t pass[64];
        tn_pipeline p = {"changed", pass, 0};
        bool done = false;
        for (size_t k = 0; k < tn_pipeline_cpu.n; k++) {
            uint8_t x = tn_pipeline_cpu.pass[k];
            bool swap = !done && x == row[i].swap, drop = !done && x == row[i].remove;
            done = done || swap || drop;
            if (swap)
                pass[p.n++] = tn_pipeline_cpu.pass[++k];
            if (!drop)
                pass[p.n++] = x;
        }
        assert_true(done);
        uint32_t missing;
        size_t at = tn_pipeline_check(&p, TN_FACTS_FLAT, &missing);
        if (missing != row[i].missing || (at < p.n ? pass[at] : -1) != row[i].at)
            fail_msg("row %zu: place %zu lacks %x", i, at, missing);
    }
}

/* Each pass is in a table once, has its text, and gives or keeps something. */
static void passes_are_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_N_LOWER_PASSES; i++) {
        const tn_lower_pass *p = &tn_lower_passes[i];
        assert_true(*p->doc && p->keeps && p->run);
        assert_ptr_equal(tn_lower_pass_find(p->name), p);
    }
    assert_null(tn_lower_pass_find("NoSuchPass"));
    assert_true(tn_lower_pass_takes_flat(tn_lower_pass_find("Simplify")));
    assert_true(tn_lower_pass_takes_flat(tn_lower_pass_find("LoadStrided")));
    assert_false(tn_lower_pass_takes_flat(tn_lower_pass_find("Vectorize")));
    assert_false(tn_lower_pass_takes_flat(tn_lower_pass_find("Unroll")));
}

/* Rows are whole, names differ, and texts find them. */
static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_N_TARGETS; i++) {
        const tn_target_row *t = &tn_target_rows[i];
        assert_true(*t->name && *t->doc && t->machine && t->pipeline && t->generator->parts);
        assert_true(!t->generator->here == !t->generator->here_free);
        assert_ptr_equal(tn_target_find(t->name, strlen(t->name)), t);
        assert_ptr_equal(tn_target_of_text(t->name), t);
    }
    assert_ptr_equal(tn_target_of_text("  llvm\t-mcpu=native"), &tn_target_rows[TN_TARGET_LLVM]);
    assert_null(tn_target_of_text("llvmx"));
    assert_null(tn_target_of_text(""));
}

/* What a text means: the row, the triple, the machine; or the error. */
static void texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
        int id;
        uint32_t cores;
        const char *triple, *has, *lacks;
    } row[] = {
        {"llvm", NULL, TN_TARGET_LLVM, 0, NULL, NULL, NULL},
        {NULL, NULL, TN_TARGET_LLVM, 0, NULL, NULL, NULL},
        {"  c  ", NULL, TN_TARGET_C, 0, NULL, NULL, NULL},
        {"c -num-cores=3", NULL, TN_TARGET_C, 3, NULL, NULL, NULL},
        {"llvm -mcpu=native -num-cores=3", NULL, TN_TARGET_LLVM, 3, NULL, NULL, NULL},
        {"llvm --num-cores=7", NULL, TN_TARGET_LLVM, 7, NULL, NULL, NULL},
        {"llvm -mtriple=x86_64-linux-gnu '-mattr=+avx2,+fma'", NULL, TN_TARGET_LLVM, 1, "x86_64-linux-gnu",
         "avx2", "avx512f"},
        {"llvm -mtriple=x86_64-linux-gnu -mattr=+avx2,+fma,-avx2", NULL, TN_TARGET_LLVM, 1,
         "x86_64-linux-gnu", "fma", "avx2"},
        {"llvm -mtriple=aarch64-linux-gnu", NULL, TN_TARGET_LLVM, 1, "aarch64-linux-gnu", "neon", "dotprod"},
        {"c -mtriple=x86_64-linux-gnu -mcpu='haswell'", NULL, TN_TARGET_C, 1, "x86_64-linux-gnu", "fma",
         "avx512f"},
        {"", "driver-E001", 0, 0, NULL, NULL, NULL},
        {"cuda", "driver-E001", 0, 0, NULL, NULL, NULL},
        {"llvm -fast", "driver-E002", 0, 0, NULL, NULL, NULL},
        {"llvm num-cores=3", "driver-E002", 0, 0, NULL, NULL, NULL},
        {"llvm -num-cores", "driver-E002", 0, 0, NULL, NULL, NULL},
        {"llvm -num-cores=0", "driver-E003", 0, 0, NULL, NULL, NULL},
        {"llvm -num-cores=4x", "driver-E003", 0, 0, NULL, NULL, NULL},
        {"llvm -num-cores=99999999999999999999", "driver-E003", 0, 0, NULL, NULL, NULL},
        {"llvm -mcpu=native -mtriple=s390x-linux-gnu", "driver-E080", 0, 0, NULL, NULL, NULL},
        {"c -libs=mkl", "driver-E094", 0, 0, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx ctx;
        tn_target t;
        tn_machine m;
        tn_ctx_init(&ctx);
        tn_status st = tn_target_read(&ctx, row[i].text, NULL, &t, &m);
        if ((st != TN_OK) != (row[i].error != NULL))
            fail_msg("%s: %s", row[i].text, st == TN_OK ? "accepted" : "refused");
        if (row[i].error) {
            assert_string_equal(ctx.diag[0].id, row[i].error);
        } else {
            assert_ptr_equal(t.row, &tn_target_rows[row[i].id]);
            assert_true(!row[i].cores || m.cores == row[i].cores);
            assert_true(!row[i].has || (tn_machine_has(&m, row[i].has) && !tn_machine_has(&m, row[i].lacks)));
            assert_true(row[i].triple ? t.triple && strcmp(t.triple, row[i].triple) == 0 : !t.triple);
        }
        tn_ctx_deinit(&ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_are_met),
        cmocka_unit_test(needs_are_noticed),
        cmocka_unit_test(passes_are_described),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
