/* Programs as text: what is printed reads back and prints the same; errors say where and what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "program/program.h"

typedef struct {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_program_ir program;
    uint32_t n_kernel;
    const tn_kernel_signature *kernel;
    tn_buf printed;
} fixture;

static tn_status read_text(fixture *x, const char *text)
{
    *x = (fixture){0};
    tn_ctx_init(&x->ctx);
    tn_arena_init(&x->arena);
    tn_pool_init(&x->pool, &x->ctx, &x->arena, NULL);
    tn_status st = tn_program_parse(&x->ctx, &x->pool, &x->arena, "t.program", text, strlen(text),
                                    &x->program, &x->n_kernel, &x->kernel);
    if (st == TN_OK)
        tn_program_print(&x->pool, &x->program, x->n_kernel, x->kernel, &x->printed);
    return st;
}

static void release(fixture *x)
{
    tn_buf_deinit(&x->printed);
    tn_arena_deinit(&x->arena);
    tn_ctx_deinit(&x->ctx);
}

/* Every declaration and every instruction. */
static const char everything[] = "depth 100\n"
                                 "kernel add[n, m](float32 n*4, float32 m*4) -> (float32 n*4) may 0 over 1\n"
                                 "kernel append(float32 1024, float32 64) -> (float32 1024) must 0 over 0\n"
                                 "kernel fill() -> (int64 8)\n"
                                 "state cache: float32[16, 16] grows 0 from 0 initial \"p0\"\n"
                                 "state seen: int64[] init @first\n"
                                 "\n"
                                 "fn @main {\n"
                                 "  symbol n in [1, 100]\n"
                                 "  symbol m in [0, 9223372036854775807]\n"
                                 "  late u in [0, 16]\n"
                                 "  late v in [0, 16]\n"
                                 "  input %x: float32[n, m*2]\n"
                                 "  input %1 \"a b\": float32[m, n] binds [-, n]\n"
                                 "  input %two: bool[]\n"
                                 "  output %y: float32[n] at 0\n"
                                 "  output %4 \"y\": float32[u] in segment 1\n"
                                 "  output %z: float32[n, m*2] copy of %x\n"
                                 "  const %p0: float32[16, 16]\n"
                                 "  temp %7: float32[n] layout \"N16n\" bytes ceildiv(n, 16)*64 at 64\n"
                                 "  temp %8: float32[n] at 64 over %7\n"
                                 "  temp %9: uint8[64] at ceildiv(n, 16)*64 + 64\n"
                                 "  temp %10: int64[1] at 0\n"
                                 "  temp %11: handle\n"
                                 "  temp %12: handle\n"
                                 "  temp %13: float32[n] pooled\n"
                                 "  temp %14: float32[n] bytes n*8 pooled\n"
                                 "  state %cache of cache: float32[16, 16]\n"
                                 "  arena 4096 work 1024\n"
                                 "  segment 1: u*4\n"
                                 "    call add: %x, %1 -> %7 [n, m] work %9 at \"Add_0, Relu_1\"\n"
                                 "    call add: %x, %1 -> %7 [n, m]\n"
                                 "    call fill: %10\n"
                                 "    copy %7 -> %8\n"
                                 "  L0:\n"
                                 "    jump_false L1: %two\n"
                                 "    bind u: m*2 + n\n"
                                 "    bind_slot v: %10, 0\n"
                                 "    check \"u \\\"x\\\"\": %10, 0, u\n"
                                 "    plan 1\n"
                                 "    jump_zero L0: u - v\n"
                                 "    set %10, u\n"
                                 "    store %10 -> %y, v\n"
                                 "    bind_state u: %cache\n"
                                 "    grow %cache, u + 1\n"
                                 "    call append: %cache, %y -> %cache\n"
                                 "    jump L2\n"
                                 "  L1:\n"
                                 "    invoke @first: %10\n"
                                 "    invoke @second: %11, %x -> %12, %y\n"
                                 "    call_host \"f\": %x, %11 -> %12 at \"Custom\"\n"
                                 "    call_host \"f\": %x\n"
                                 "    call_host \"f\": -> %12\n"
                                 "    call_host \"f\"\n"
                                 "    box %x -> %11\n"
                                 "    unbox %11 -> %y\n"
                                 "    bind_shape u: %11, 0\n"
                                 "    closure @second: %11, %12 -> %12\n"
                                 "    closure @second: %12\n"
                                 "    apply %11, %12, %12 -> %11, %12\n"
                                 "    apply %11 -> %12\n"
                                 "    construct 2: %11, %12 -> %12\n"
                                 "    construct 0: %12\n"
                                 "    field 1: %11 -> %12\n"
                                 "    jump_tag L2: %11, 3\n"
                                 "    ref_new %11 -> %12\n"
                                 "    ref_read %12 -> %11\n"
                                 "    ref_write %12, %11\n"
                                 "    move %11 -> %12\n"
                                 "    text \"t\": %12\n"
                                 "    renew 1: %12, %13\n"
                                 "    renew 0: %14\n"
                                 "    fail \"no\"\n"
                                 "  L2:\n"
                                 "}\n"
                                 "\n"
                                 "fn @first {\n"
                                 "  output %o: int64[]\n"
                                 "  arena 0\n"
                                 "    call fill: %o\n"
                                 "}\n"
                                 "\n"
                                 "fn @second {\n"
                                 "  input %a: handle\n"
                                 "  input %b: float32[4]\n"
                                 "  output %c: handle\n"
                                 "  output %d: float32[4]\n"
                                 "  arena 0\n"
                                 "    move %a -> %c\n"
                                 "    copy %b -> %d\n"
                                 "}\n";

static void texts_read_back(void **state)
{
    (void)state;
    fixture x;
    tn_status st = read_text(&x, everything);
    assert_string_equal(x.ctx.n_diag ? x.ctx.diag[0].message : "", "");
    assert_int_equal(st, TN_OK);
    size_t at = 0;
    while (everything[at] && everything[at] == tn_buf_cstr(&x.printed)[at])
        at++;
    if (everything[at])
        fail_msg("printed: %.60s\nread: %.60s", tn_buf_cstr(&x.printed) + at, everything + at);
    assert_int_equal(x.printed.n, at);
    for (uint32_t op = 0; op < TN_INST_COUNT; op++) { /* none is left out above */
        bool found = !tn_inst_info_get(op);
        for (uint32_t i = 0; i < x.program.function[0].n_inst; i++)
            found = found || x.program.function[0].inst[i].op == op;
        if (!found)
            fail_msg("no instruction %s", tn_inst_info_get(op)->name);
    }
    release(&x);
}

#define MAIN "fn @main {\n symbol n in [1, 9]\n input %x: float32[n]\n output %y: float32[n]\n arena 0\n"

static void errors_say_what(void **state)
{
    static const struct {
        const char *text, *id, *says;
    } row[] = {
        {MAIN "copy %x -> %z }", "program-E001", "there is no slot `z`"},
        {MAIN "call f: %x -> %y }", "program-E001", "there is no kernel `f`"},
        {MAIN "jump L9 }", "program-E001", "there is no label `L9`"},
        {MAIN "invoke @g }", "program-E001", "there is no function `g`"},
        {MAIN "leap }", "program-E001", "there is no instruction `leap`"},
        {MAIN "copy %x -> %y input %x: float32[] }", "program-E001", "there is no instruction `input`"},
        {"fn @f { arena 0 } fn @f { arena 0 }", "program-E002", "`f` already means something here"},
        {"fn @f { temp %x: int8[] temp %x: int8[] }", "program-E002", "`x` already means something here"},
        {"fn @f { symbol and in [0, 1] }", "program-E002", "`and` already means something here"},
        {"fn @f { temp %x: int8[index(1.5f64)] }", "program-E003",
         "a size is computed from symbols and integers"},
        {"state s: int8[9223372036854775807, 4]\nfn @f { }", "program-E003", "the state is too large"},
        {"fn @f { temp %1: int8[] }", "program-E004", "this is slot 0, not 1"},
        {"fn @f { late n in [0, 1] symbol m in [0, 1] }", "program-E004", "stand before late ones"},
        {MAIN "copy %x, %y }", "program-E005", "an arrow stands between what is read and the results"},
        {MAIN "box -> %x, %y }", "program-E005", "an arrow stands between what is read and the results"},
        {"fn @f { ", "ir-E001", "expected a name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        assert_int_equal(read_text(&x, row[i].text), TN_FAIL);
        assert_string_equal(x.ctx.diag[0].id, row[i].id);
        if (!strstr(x.ctx.diag[0].message, row[i].says))
            fail_msg("%s: %s", row[i].text, x.ctx.diag[0].message);
        release(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_read_back), cmocka_unit_test(errors_say_what)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
