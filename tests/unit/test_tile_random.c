/* Products of tiles (rule gemm, pick `tiles`) of random sizes and types, at random points of the space: the same bits
 * as in the interpreter, of floats as the interpreter of flat TIR. Operands end at a page that may not be
 * touched. A CPU with AVX-512 that multiplies no tiles has AMX emulated (amx.h). */
#include "amx.h"
#include "base/cpu.h"
#include "base/guard.h"
#include "base/rng.h"
#include "launch/kernel.h"
#include "schedule/space.h"
#include "target/target.h"
#include "tir/unit.h"
#include "tir_fixture.h"

#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096, PARAMS = 4, RUNS = 24 };

typedef struct {
    uint64_t bytes[PARAMS], mapped[PARAMS];
    uint8_t *map[PARAMS];
    void *at[PARAMS];
} memory;

static void memory_init(memory *m, const tn_func *flat, uint64_t seed)
{
    tn_rng r = {seed};
    bool floats = tn_dtype_is_float(flat->buffer[flat->param[0]].dtype);
    assert_int_equal(flat->n_param, PARAMS);
    assert_true(tn_func_parameter_bytes(flat, NULL, m->bytes));
    for (int i = 0; i < PARAMS; i++) {
        m->mapped[i] = (m->bytes[i] + PAGE - 1) / PAGE * PAGE + PAGE;
        m->map[i] = mmap(NULL, m->mapped[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(m->map[i] != MAP_FAILED);
        mprotect(m->map[i] + m->mapped[i] - PAGE, PAGE, PROT_NONE);
        uint8_t *at = m->map[i] + m->mapped[i] - PAGE - m->bytes[i];
        m->at[i] = at;
        for (uint64_t k = 0; i < PARAMS - 1 && k < m->bytes[i]; k++)
            at[k] = (uint8_t)tn_rng_next(&r);
        for (uint64_t k = i < 2 ? 1 : 3; floats && i < PARAMS - 1 && k < m->bytes[i]; k += i < 2 ? 2 : 4)
            at[k] = (uint8_t)((at[k] & 0x80) + 0x3c + at[k] % 8); /* 2^-7 to 2^9 */
    }
}

static void memory_deinit(memory *m)
{
    for (int i = 0; i < PARAMS; i++)
        munmap(m->map[i], m->mapped[i]);
}

/* The weight's layout is the one that the machine's unit wants. */
static tn_func *bytes_product(fixture *x, const tn_machine *machine, tn_rng *r, char text[1024])
{
    static const char *const sign[] = {"u8", "i8"};
    int m = 2 + (int)tn_rng_below(r, 70), n = 1 + (int)tn_rng_below(r, 80), k = 1 + (int)tn_rng_below(r, 200);
    bool s = tn_rng_below(r, 2), t = tn_rng_below(r, 2);
    const char *a = sign[s], *b = sign[t];
    const tn_unit_row *unit = tn_unit_here(TN_UNIT_MATRIX, s ? TN_I8 : TN_U8, t ? TN_I8 : TN_U8, TN_I32, 0,
                                           machine, tn_machine_given);
    assert_non_null(unit);
    snprintf(text, 1024,
             "func @f(x: %s[%d, %d], w: %s[%d, %d, NK%dn%dk], b: i32[%d]) -> (y: i32[%d, %d]) {\n"
             "  buffer acc: i32[%d, %d]\n"
             "  for i < %d, j < %d, k < %d:\n"
             "    block acc(i: spatial, j: spatial, k: reduce):\n"
             "      init acc[i, j] = 0\n"
             "      acc[i, j] = acc[i, j] + i32(x[i, k]) * i32(w[j, k])\n"
             "  for i < %d, j < %d:\n"
             "    block y(i: spatial, j: spatial):\n"
             "      y[i, j] = max(acc[i, j], b[j])\n"
             "}\n",
             a, m, k, b, n, k, tn_rng_below(r, 2) ? 16 : 32, unit->most[TN_UNIT_TERMS], n, m, n, m, n, m, n,
             k, m, n);
    return read_func(x, text);
}

/* The six products of nn.bfloat_dense; k: terms of a part. */
static tn_func *floats_product(fixture *x, tn_rng *r, char text[1024])
{
    int m = 2 + (int)tn_rng_below(r, 70), n = 1 + (int)tn_rng_below(r, 80),
        k = 32 * (1 + (int)tn_rng_below(r, 3));
    snprintf(text, 1024,
             "func @f(x: bf16[%d, %d], w: bf16[%d, %d, NK%dn2k{fill=0}], b: f32[%d]) -> (y: f32[%d, %d]) {\n"
             "  buffer acc: f32[%d, %d]\n"
             "  for i < %d, j < %d, k < %d:\n"
             "    block acc(i: spatial, j: spatial, k: reduce) tag \"%s\":\n"
             "      init acc[i, j] = 0\n"
             "      acc[i, j] = acc[i, j] + f32(x[i, k/192*128 + (k/32%%6 + 1)/2*32 + k%%32])"
             " * f32(w[j, k/192*96 + (k/32%%6/2 - k/32%%6/5*2)*32 + k%%32])\n"
             "  for i < %d, j < %d:\n"
             "    block y(i: spatial, j: spatial):\n"
             "      y[i, j] = acc[i, j] * b[j]\n"
             "}\n",
             m, 4 * k + 32, n, 3 * k, tn_rng_below(r, 2) ? 16 : 32, n, m, n, m, n, m, n, 6 * k, TN_TAG_NORMAL,
             m, n);
    return read_func(x, text);
}

static bool emulated; /* by a handler of signals, which the runtime's threads block */

static tnr_status run(fixture *x, const tn_flat *flat, const tn_machine *m, memory *mem, tnr_error *err)
{
    const tn_library *library;
    tn_resource *code = tn_resource_new(tn_generator_llvm.here_free);
    tn_kernel_ir kernel = {
        .name = "f", .source = "", .n_in = PARAMS - 1, .n_out = 1, .n_variant = 1, .variant = flat};
    tn_unit u = {.ctx = &x->ctx,
                 .name = "default",
                 .producer = "test",
                 .target = m->triple,
                 .feature = m->feature,
                 .n_feature = (uint32_t)m->n_feature,
                 .n_kernel = 1,
                 .kernel = &kernel};
    const tn_code_options o = {.opt_level = 3};
    if (tn_generator_llvm.here(&u, &o, &code->at, &library) != TN_OK)
        fail_msg("%s", diags(x));
    tn_library trusted = *library;
    trusted.n_feature = 0; /* those that are emulated, too */
    tn_kernel_runner *r = tn_kernel_open(
        &(tn_kernel_use){.library = &trusted, .bytes = mem->bytes, .threads = emulated ? 1 : 2}, err);
    if (!r)
        fail_msg("%s", err->message);
    tnr_status status = tn_kernel_run(r, mem->at, err);
    tn_kernel_close(r);
    tn_resource_end(code);
    return status;
}

/* What the interpreter makes of the text, and the machine of the schedule. */
static void compare(fixture *x, const tn_func *f, const tn_flat *flat, const tn_machine *m, const char *picks)
{
    memory want, got;
    tnr_error err;
    memory_init(&want, flat->func, 7);
    memory_init(&got, flat->func, 7);
    assert_int_equal(tn_func_run(f, want.at, NULL), TN_OK);
    if (run(x, flat, m, &got, &err))
        fail_msg("%s", err.message);
    if (memcmp(want.at[PARAMS - 1], got.at[PARAMS - 1], want.bytes[PARAMS - 1]) != 0)
        fail_msg("other results by\n%s\n%s", picks, printed(x, f));
    memory_deinit(&want);
    memory_deinit(&got);
}

/* This machine, with tiles; false: it has none, and none can be emulated. */
static bool machine_of(tn_ctx *ctx, tn_machine *out)
{
    assert_int_equal(tn_machine_detect(ctx, out), TN_OK);
    if (tn_machine_can(out, TN_CAN_TILES) && tn_cpu_permit("amx-tile"))
        return true;
    if (!AMX_EMULATED || !tn_machine_has(out, "avx512vnni"))
        return false;
    assert_int_equal(tn_machine_attributes(ctx, NULL, "+avx512vnni,+amx-int8,+amx-bf16", out), TN_OK);
    tn_machine_derive(out);
    amx_emulate();
    emulated = true;
    return true;
}

static void check_product(fixture *x, const tn_machine *m, tn_rng *r, bool floats)
{
    tn_sched s;
    tn_flat flat;
    char text[1024];
    tn_func *f = floats ? floats_product(x, r, text) : bytes_product(x, m, r, text);
    tn_picks picks = {.random = r};
    tn_picks_set(&picks, &x->arena, "acc.tiles", (tn_choice){"yes", 0});
    tn_picks_set(&picks, &x->arena, "rule", (tn_choice){"gemm", 0});
    tn_space space = {&tn_rules_generator, f, m, 0};
    if (tn_explore(&space, &picks, &x->arena, &x->pool, &s) != TN_DONE)
        fail_msg("refused: %s", text);
    tn_picks made = tn_picks_of(&s.picked, &x->arena);
    tn_buf line = {0};
    tn_picks_print(&made, &line);
    assert_int_equal(tn_func_verify(s.func), TN_OK);
    assert_int_equal(tn_lower(s.func, m, &tn_pipeline_cpu, &flat), TN_OK);
    compare(x, floats ? flat.func : f, &flat, m, tn_buf_cstr(&line));
    tn_buf_deinit(&line);
}

static void products_are_equal(void **state)
{
    tn_rng r = {20261123};
    (void)state;
    for (int i = 0; i < RUNS; i++) {
        fixture x;
        tn_machine m;
        fixture_init(&x);
        if (!machine_of(&x.ctx, &m)) {
            fixture_deinit(&x);
            print_message("this machine multiplies no tiles, or the system does not allow it\n");
            skip();
        }
        check_product(&x, &m, &r, i % 3 == 2 && tn_machine_tiles(&m, 2).ops_a_cycle > 0);
        fixture_deinit(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
