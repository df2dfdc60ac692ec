/* Self-contained libraries of programs that no model makes yet: those with values get the runtime's object
 * for them, those that need functions of the host, or whose main takes values, are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"

static const char relu[] =
    "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { nn.relu(%x) }\n";

/* Up to the program of the text. */
static void make(tn_build *b, tn_ctx *ctx)
{
    tn_status (*const stage[])(tn_build *) = {tn_stage_graph, tn_stage_tir, tn_stage_schedule, tn_stage_lower,
                                              tn_stage_program};
    tn_ctx_init(ctx);
    tn_build_init(b, ctx, &(tenon_options){.size = sizeof(tenon_options), .opt_level = 3, .target = "c"});
    assert_int_equal(tn_target_parse(b), TN_OK);
    b->model = "t.relay";
    b->file = (tn_file){.at = (const uint8_t *)relu, .n = strlen(relu)};
    assert_int_equal(tn_stage_import(b), TN_OK);
    tn_names_settle(b);
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++)
        assert_int_equal(stage[i](b), TN_OK);
}

static void drop(tn_build *b, tn_ctx *ctx)
{
    tn_build_deinit(b);
    tn_ctx_deinit(ctx);
}

/* One slot more, of a handle, and these instructions behind those of main. */
static uint32_t extend(tn_build *b, enum tn_slot_kind kind, uint32_t n, const tn_inst_ir more[])
{
    tn_slot_ir *slot = TN_NEW_N(&b->arena, tn_slot_ir, b->main->n_slot + 1);
    tn_inst_ir *inst = TN_NEW_N(&b->arena, tn_inst_ir, b->main->n_inst + n);
    memcpy(slot, b->main->slot, b->main->n_slot * sizeof *slot);
    memcpy(inst, b->main->inst, b->main->n_inst * sizeof *inst);
    slot[b->main->n_slot] = (tn_slot_ir){.name = kind == TN_SLOT_INPUT ? "h" : "",
                                         .kind = (uint8_t)kind,
                                         .storage = TN_STORAGE_HANDLE,
                                         .bytes = tn_idx(&b->pool, 0),
                                         .alias = -1,
                                         .over = -1};
    if (n)
        memcpy(inst + b->main->n_inst, more, n * sizeof *more);
    b->main->slot = slot;
    b->main->inst = inst;
    b->main->n_inst += n;
    return b->main->n_slot++;
}

static uint32_t slot_of(const tn_build *b, enum tn_slot_kind kind)
{
    uint32_t i = 0;
    while (b->main->slot[i].kind != kind)
        i++;
    return i;
}

/* y becomes a value and comes back; the library has its own runtime and runs without another. */
static void values_are_linked_where_they_are_needed(void **state)
{
    static char path[] = "values.so";
    static const char says[] = "a handle is read before it is written"; /* of value.c alone */
    tn_ctx ctx;
    tn_build b;
    size_t bytes;
    bool has[2];
    (void)state;
    for (int with = 0; with < 2; with++) {
        make(&b, &ctx);
        uint32_t y = slot_of(&b, TN_SLOT_OUTPUT), h = b.main->n_slot;
        uint32_t box[] = {y, h}, unbox[] = {h, y};
        const tn_inst_ir more[] = {{.op = TN_INST_BOX, .n_operand = 2, .operand = box, .node = "box"},
                                   {.op = TN_INST_UNBOX, .n_operand = 2, .operand = unbox, .node = "unbox"}};
        if (with)
            assert_int_equal(extend(&b, TN_SLOT_TEMP, 2, more), h);
        if (tn_program_verify(&ctx, &b.pool, &b.program, (uint32_t)b.groups.n, b.signature))
            fail_msg("%s", ctx.diag[0].message);
        if (tn_package_write(&b, path, NULL, &bytes) != TN_OK)
            fail_msg("%s", ctx.n_diag ? ctx.diag[0].message : "");
        tn_file made;
        assert_int_equal(tn_file_map(&ctx, path, &made), TN_OK);
        has[with] = memmem(made.at, made.n, says, strlen(says)) != NULL;
        tn_file_unmap(&made);
        drop(&b, &ctx);
    }
    assert_true(has[1] && !has[0]);
    void *so = dlopen("./values.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(so);
    union {
        void *object;
        int32_t (*run)(const void *, const void *);
        void (*free)(void);
    } entry = {.object = dlsym(so, "tvmgen_default_run")};
    float x[4] = {-1, 2, -3, 4}, y[4] = {0};
    const void *in[] = {x};
    void *out[] = {y};
    assert_non_null(entry.object);
    assert_int_equal(entry.run(in, out), 0);
    for (int i = 0; i < 4; i++)
        assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    entry.object = dlsym(so, "tvmgen_default_free");
    entry.free();
    dlclose(so);
    remove("values.so");
    remove("values.h");
}

static void what_a_header_cannot_say_is_refused(void **state)
{
    static const char *const text[] = {"f"};
    static const char *const output[] = {"refused.so", "refused.o", "refused.a", "refused.c"};
    tn_ctx ctx;
    tn_build b;
    size_t bytes;
    (void)state;
    for (int i = 0; i < 4; i++) {
        make(&b, &ctx);
        uint32_t call[] = {1, slot_of(&b, TN_SLOT_INPUT)};
        tn_inst_ir host = {.op = TN_INST_CALL_HOST, .n_operand = 2, .operand = call, .node = "host"};
        b.program.text = text;
        b.program.n_text = 1;
        extend(&b, i % 2 ? TN_SLOT_INPUT : TN_SLOT_TEMP, i % 2 == 0, &host);
        assert_int_not_equal(tn_bundle_write(&b, tn_bundle_form_of(output[i]), 0, NULL, output[i], &bytes),
                             TN_OK);
        assert_string_equal(ctx.diag[0].id, "driver-E096");
        assert_non_null(strstr(ctx.diag[0].message, i % 2 ? "take or give values other than tensors"
                                                          : "call functions of the host"));
        assert_int_equal(access(output[i], F_OK), -1);
        drop(&b, &ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_linked_where_they_are_needed),
                                       cmocka_unit_test(what_a_header_cannot_say_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
