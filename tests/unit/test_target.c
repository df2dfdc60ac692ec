/* target: pipelines meet the needs of their passes, and what a pipeline that does not lacks is said. */
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define BIT(fact) (1u << TN_FACT_##fact)
enum {
    FLAT = BIT(PHASES) | BIT(STATEMENTS) | BIT(OFFSETS) | BIT(STRAIGHT) | BIT(LANES) | BIT(REGISTERS) |
           BIT(ARITHMETIC) | BIT(STORED) | BIT(PLACES)
};

static void needs_are_met(void **state)
{
    (void)state;
    const tn_pipeline *const lines[] = {&tn_pipeline_cpu};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        uint32_t missing, at = (uint32_t)tn_pipeline_check(lines[i], FLAT, &missing);
        if (missing)
            fail_msg("%s: place %u lacks facts %x", lines[i]->name, at, missing);
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
        {TN_LOWER_Flatten, -1, TN_LOWER_Unroll, BIT(OFFSETS)},
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
        size_t at = tn_pipeline_check(&p, FLAT, &missing);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_are_met),
        cmocka_unit_test(needs_are_noticed),
        cmocka_unit_test(passes_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
