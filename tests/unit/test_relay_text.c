/* Relay text: what is printed reads back and prints the same, for every golden text and for graphs that no
 * text makes. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/file.h"
#include "frontend/frontend.h"
#include "op/tensor/tensor.h"
#include "test_relay.h"

/* Reads, verifies, prints into *out. */
static void read_print(const char *name, const char *text, size_t n, tn_buf *out)
{
    module m;
    module_open(&m);
    tn_status s = tn_relay_parse(&m.g, name, text, n, &(tn_relay_metadata){.forms = tn_relay_more_forms});
    s = s == TN_OK ? tn_relay_verify(&m.g) : s;
    if (s != TN_OK)
        fail_msg("%s: %s\n%.*s", name, module_diag(&m), (int)n, text);
    tn_relay_print(&m.g, out);
    module_close(&m);
}

static void check_fixpoint(const char *name, const char *text, size_t n)
{
    tn_buf first = {0}, second = {0};
    read_print(name, text, n, &first);
    read_print(name, first.at, first.n, &second);
    assert_string_equal(tn_buf_cstr(&first), tn_buf_cstr(&second));
    tn_buf_deinit(&first);
    tn_buf_deinit(&second);
}

/* ---- golden texts (FileCheck reads their CHECK lines; here they must be fixpoints) ---- */

static void test_golden_fixpoint(void **state)
{
    (void)state;
    const char *root = getenv("TENON_SOURCE_DIR");
    char folder[1024], path[2048];
    snprintf(folder, sizeof folder, "%s/tests/golden/relay", root ? root : ".");
    DIR *d = opendir(folder);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len < 6 || strcmp(e->d_name + len - 6, ".relay"))
            continue;
        tn_ctx ctx;
        tn_file f;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        tn_ctx_init(&ctx);
        assert_int_equal(tn_file_map(&ctx, path, &f), TN_OK);
        check_fixpoint(e->d_name, (const char *)f.at, f.n);
        tn_file_unmap(&f);
        tn_ctx_deinit(&ctx);
        n++;
    }
    closedir(d);
    assert_true(n >= 20);
}

/* ---- graphs that are built ---- */

static const tn_type *vec(module *m, int64_t n) { return tn_type_tensor_i(&m->pool, TN_F32, 1, &n); }

/* Any text may name parameters, constants and sources: it prints as an annotation and comes back. */
static void test_hostile_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a b",           " lead",  "trail ",    "*/",         "/*",
        "a*/b/*c",       "name=x", "ty=Tensor", "span=q:1:2", "",
        "\n\t\x01",      "\\x41",  "\\",        "x, span=y",  "w (1, 2)",
        "(3)",           "w (",    "%0",        "0",          "\xc3\xa9t\xc3\xa9",
        "int8 in NK32n", "a in b", "//",        "#",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        module m, back;
        module_open(&m);
        tn_function *f = tn_graph_add_function(&m.g, "main");
        const char *name = tn_intern(&m.ctx, names[i]);
        tn_loc loc = {.node = name};
        tn_node *x = tn_region_add_param(&m.g, f->body, name, vec(&m, 2));
        x->loc = &loc;
        tn_node *c = tn_constant_new(&m.g, f->body, NULL, vec(&m, 2), NULL, name);
        tn_node *s =
            tn_make_call(&m.g, f->body, NULL, &tn_op_add, 2, (tn_value[]){tn_val(x), tn_val(c)}, NULL, &loc);
        tn_region_set_results(&m.g, f->body, 1, (tn_value[]){tn_val(s)});
        tn_buf text = {0};
        tn_relay_print(&m.g, &text);
        module_read(&back, tn_buf_cstr(&text));
        const tn_region *r = back.g.func->body;
        const char *want = names[i][0] ? names[i] : NULL;
        const tn_node *sum = r->result[0].def;
        if (want) {
            assert_string_equal(r->param[0]->name, want);
            assert_string_equal(sum->loc->node, want);
            assert_string_equal(sum->in[1].def->name, want);
            assert_true(!r->param[0]->loc->node || !strcmp(r->param[0]->loc->node, want));
        } else {
            assert_null(sum->loc->node);
            assert_null(sum->in[1].def->name);
        }
        assert_string_equal(module_print(&back), tn_buf_cstr(&text));
        tn_buf_deinit(&text);
        module_close(&back);
        module_close(&m);
    }
}

/* Rank-0 constants are inline only if the text gives back their bits. */
static void test_scalar_bits(void **state)
{
    (void)state;
    static const struct {
        tn_dtype t;
        uint64_t bits;
        const char *text;
    } rows[] = {
        {{TN_FLOAT, 32, 1}, 0x3f800000, "1f"},
        {{TN_FLOAT, 32, 1}, 0x80000000, "-0f"},
        {{TN_FLOAT, 32, 1}, 0x7f800000, "inff"},
        {{TN_FLOAT, 32, 1}, 0x00000001, "1e-45f"},
        {{TN_FLOAT, 32, 1}, 0x7fc00001, "meta"},
        {{TN_FLOAT, 32, 1}, 0xffc00000, "meta"},
        {{TN_FLOAT, 64, 1}, 0x3fb999999999999a, "0.1f64"},
        {{TN_FLOAT, 16, 1}, 0x3c00, "1f16"},
        {{TN_FLOAT, 16, 1}, 0xfc00, "-inff16"},
        {{TN_BFLOAT, 16, 1}, 0x3fc0, "1.5bf16"},
        {{TN_INT, 64, 1}, 0x8000000000000000, "meta"},
        {{TN_INT, 64, 1}, UINT64_MAX, "-1i64"},
        {{TN_UINT, 64, 1}, UINT64_MAX, "meta"},
        {{TN_UINT, 8, 1}, 255, "255u8"},
        {{TN_INT, 32, 1}, 7, "7"},
        {{TN_BOOL, 8, 1}, 1, "True"},
        {{TN_BOOL, 8, 1}, 2, "meta"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        module m, back;
        module_open(&m);
        tn_function *f = tn_graph_add_function(&m.g, "main");
        tn_node *c = tn_make_constant(&m.g, f->body, NULL, rows[i].t, 0, NULL, &rows[i].bits, NULL);
        tn_region_set_results(&m.g, f->body, 1, (tn_value[]){tn_val(c)});
        const char *text = strstr(module_print(&m), "\n  ") + 3;
        size_t n = strcspn(text, rows[i].text[0] == 'm' ? "[" : "\n");
        assert_int_equal(n, strlen(rows[i].text));
        assert_memory_equal(text, rows[i].text, n);
        module_read(&back, module_print(&m));
        const tn_node *b = back.g.func->body->result[0].def;
        assert_true(tn_dtype_eq(b->type[0]->dtype, rows[i].t));
        if (rows[i].text[0] != 'm')
            assert_memory_equal(b->blob->at, &rows[i].bits, tn_dtype_bytes(rows[i].t));
        else
            assert_null(b->blob);
        module_close(&back);
        module_close(&m);
    }
}

/* An absent optional operand prints as None. */
static void test_absent(void **state)
{
    (void)state;
    static const tn_op op = {.name = "test.pick", .nin = 3, .min_in = 1, .nout = 1};
    module m;
    module_open(&m);
    tn_function *f = tn_graph_add_function(&m.g, "main");
    tn_node *x = tn_region_add_param(&m.g, f->body, "x", vec(&m, 2));
    tn_node *n =
        tn_node_new(&m.g, f->body, NULL, &op, 3, (tn_value[]){tn_val(x), {0}, tn_val(x)}, 1, NULL, NULL);
    n->type[0] = x->type[0];
    tn_region_set_results(&m.g, f->body, 1, (tn_value[]){tn_val(n)});
    assert_non_null(strstr(module_print(&m), "test.pick(%x, None, %x)"));
    module_close(&m);
}

/* Data of constants comes by index, as tn_relay_constants lists them. */
static void test_constants(void **state)
{
    (void)state;
    static const char text[] =
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n"
        "  %0 = add(%x, meta[relay.Constant][1] /* b (2) */);\n"
        "  %1 = fn (%y: Tensor[(2), float32]) { multiply(%y, meta[relay.Constant][0] /* a (2) */) };\n"
        "  subtract(%1(%0), meta[relay.Constant][1])\n}\n";
    float a[2] = {1, 2}, b[2] = {3, 4};
    tn_blob blob[2] = {{.at = a, .n = sizeof a}, {.at = b, .n = sizeof b}};
    const tn_blob *all[2] = {&blob[0], &blob[1]};
    const tn_node *list[4] = {0};
    module m;
    module_open(&m);
    assert_int_equal(tn_relay_parse(&m.g, "t", text, sizeof text - 1,
                                    &(tn_relay_metadata){.constant = all, .n_constant = 2}),
                     TN_OK);
    assert_int_equal(tn_relay_verify(&m.g), TN_OK);
    assert_int_equal(tn_relay_constants(&m.g, list, 4), 2);
    assert_string_equal(list[0]->name, "b");
    assert_ptr_equal(list[0]->blob, &blob[1]);
    assert_string_equal(list[1]->name, "a");
    assert_ptr_equal(list[1]->blob, &blob[0]);
    assert_int_equal(tn_relay_constants(&m.g, NULL, 0), 2);
    module_close(&m);
}

/* Inference again changes nothing; types that a pass dropped come back. */
static void test_infer(void **state)
{
    (void)state;
    module m;
    module_read(&m, "def @main(%x: Tensor[(n, 4), float32]) {\n  %0 = nn.batch_norm(nn.relu(%x), "
                    "meta[relay.Constant][0] /* (4) */,"
                    " meta[relay.Constant][0], meta[relay.Constant][0], meta[relay.Constant][0]);\n"
                    "  %1 = fn (%v: Tensor[(n, 4), float32]) { exp(%v) };\n  (%1(%0.0), %0.2)\n}\n");
    tn_buf before = {0};
    tn_relay_print(&m.g, &before);
    assert_int_equal(tn_relay_infer(&m.g), TN_OK);
    assert_string_equal(module_print(&m), tn_buf_cstr(&before));
    for (tn_node *n = m.g.func->body->first; n; n = n->next)
        for (int k = 0; k < n->nout && !tn_op_is(n, &tn_op_var) && !tn_op_is(n, &tn_op_constant); k++)
            n->type[k] = NULL;
    assert_int_equal(tn_relay_infer(&m.g), TN_OK);
    assert_string_equal(module_print(&m), tn_buf_cstr(&before));
    tn_buf_deinit(&before);
    module_close(&m);
}

/* Every node that cannot be typed is reported, those that depend on it are not. */
static void test_infer_reports(void **state)
{
    (void)state;
    module m;
    module_open(&m);
    tn_function *f = tn_graph_add_function(&m.g, "main");
    tn_node *x = tn_region_add_param(&m.g, f->body, "x", vec(&m, 2)),
            *y = tn_region_add_param(&m.g, f->body, "y", vec(&m, 3));
    tn_loc loc[3] = {{.node = "one"}, {.node = "two"}, {.node = "three"}};
    tn_value in[2] = {tn_val(x), tn_val(y)};
    tn_node *a = tn_node_new(&m.g, f->body, NULL, &tn_op_add, 2, in, 1, NULL, &loc[0]);
    tn_node *b = tn_node_new(&m.g, f->body, NULL, &tn_op_exp, 1, (tn_value[]){tn_val(a)}, 1, NULL, &loc[1]);
    tn_node *c = tn_node_new(&m.g, f->body, NULL, &tn_op_multiply, 2, in, 1, NULL, &loc[2]);
    tn_region_set_results(&m.g, f->body, 2, (tn_value[]){tn_val(b), tn_val(c)});
    assert_int_equal(tn_relay_infer(&m.g), TN_FAIL);
    assert_int_equal(m.ctx.n_error, 2);
    assert_string_equal(m.ctx.diag[0].loc.node, "one");
    assert_string_equal(m.ctx.diag[1].loc.node, "three");
    assert_int_equal(tn_relay_infer(&m.g), TN_FAIL); /* the same reports again are still a failure */
    module_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_fixpoint), cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_scalar_bits),     cmocka_unit_test(test_absent),
        cmocka_unit_test(test_constants),       cmocka_unit_test(test_infer),
        cmocka_unit_test(test_infer_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
