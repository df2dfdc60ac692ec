/* The text form: golden files, errors with their places, and print -> parse -> print for random functions. */
#include "base/file.h"
#include "base/vec.h"
#include "tir_random.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const char *folder(void)
{
    static char path[4096];
    const char *root = getenv("TENON_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/golden/tir", root ? root : "../..");
    return path;
}

/* Does `line` contain the pattern, whose {{.*}} stands for anything? */
static bool matches(const char *line, size_t n, const char *pattern, size_t len)
{
    const char *at = line, *end = line + n;
    while (len) {
        const char *gap = memmem(pattern, len, "{{.*}}", 6);
        size_t piece = gap ? (size_t)(gap - pattern) : len;
        const char *found = memmem(at, (size_t)(end - at), pattern, piece);
        if (!found)
            return false;
        at = found + piece;
        pattern += piece + (gap ? 6 : 0);
        len -= piece + (gap ? 6 : 0);
    }
    return true;
}

/* CHECK and CHECK-NEXT of FileCheck, as far as these files use them. */
static void check_lines(const char *name, const char *file, const char *out)
{
    const char *at = out;
    int checks = 0;
    for (const char *c = file; (c = strstr(c, "// CHECK")) != NULL;) {
        bool next = strncmp(c, "// CHECK-NEXT:", 14) == 0;
        c = strchr(c, ':') + 1;
        c += strspn(c, " ");
        size_t len = strcspn(c, "\n"), n = 0;
        for (;; at += n + 1) {
            n = strcspn(at, "\n");
            if (matches(at, n, c, len))
                break;
            if (next || !at[n])
                fail_msg("%s: no line `%.*s` in\n%s", name, (int)len, c, out);
        }
        at += n + 1;
        checks++;
    }
    assert_true(checks > 0);
}

/* What `tenon opt --pass=Verify` prints: the functions, or the diagnostics. */
static void run_file(fixture *x, const char *name, tn_buf *out, bool *ok)
{
    tn_buf path = {0};
    tn_file file;
    tn_func *f[16];
    size_t n;
    tn_buf_printf(&path, "%s/%s", folder(), name);
    assert_int_equal(tn_file_map(&x->ctx, path.at, &file), TN_OK);
    tn_buf_deinit(&path);
    *ok =
        tn_func_parse(&x->ctx, &x->arena, &x->pool, name, (const char *)file.at, file.n, f, 16, &n) == TN_OK;
    for (size_t i = 0; i < n; i++)
        *ok = tn_func_verify(f[i]) == TN_OK && *ok;
    for (size_t i = 0; *ok && i < n; i++)
        tn_func_print(f[i], out);
    if (!*ok)
        tn_diag_print_all(&x->ctx, out);
    tn_buf text = {0};
    tn_buf_add(&text, file.at, file.n);
    check_lines(name, text.at, tn_buf_cstr(out));
    assert_int_equal(strstr(text.at, "RUN: not") == NULL, *ok);
    tn_buf_deinit(&text);
    tn_file_unmap(&file);
}

static void golden_files(void **state)
{
    (void)state;
    DIR *d = opendir(folder());
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".tir") != 0)
            continue;
        fixture x;
        tn_buf out = {0};
        bool ok;
        fixture_init(&x);
        run_file(&x, e->d_name, &out, &ok);
        if (ok) {
            tn_func *f[16];
            size_t count;
            tn_buf again = {0};
            assert_int_equal(tn_func_parse(&x.ctx, &x.arena, &x.pool, "again", out.at, out.n, f, 16, &count),
                             TN_OK);
            for (size_t i = 0; i < count; i++)
                tn_func_print(f[i], &again);
            assert_string_equal(again.at, out.at);
            tn_buf_deinit(&again);
        }
        tn_buf_deinit(&out);
        fixture_deinit(&x);
        n++;
    }
    closedir(d);
    assert_true(n >= 3);
}

static void reading_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *id;
    } row[] = {
        {"fnc @f() {\n}\n", "t.tir:1:1:", "tir-E001"},
        {"func f() {\n}\n", "t.tir:1:6:", "ir-E001"},
        {"func @f() {\n  B[0] = 1f\n}\n", "t.tir:2:3:", "tir-E002"},
        {"func @f(for: f32[1]) {\n}\n", "t.tir:1:9:", "tir-E003"},
        {"func @f() {\n  let if: index = 1\n}\n", "t.tir:2:7:", "tir-E003"},
        {"func @f() {\n  symbols let in [1, 2]\n}\n", "t.tir:2:11:", "tir-E003"},
        {"func @f(A: f32[1], A: f32[1]) {\n}\n", "t.tir:1:20:", "tir-E004"},
        {"func @f(A: f32[n]) {\n  for n < 3:\n    pass\n}\n", "t.tir:2:7:", "tir-E004"},
        {"func @f() {\n  for i < 3, i < 3:\n    pass\n}\n", "t.tir:2:14:", "tir-E004"},
        {"func @f() {\n  for i < 3:\n    block b(i: spatial, i: reduce):\n      pass\n}\n",
         "t.tir:3:25:", "tir-E004"},
        {"func @f() {\n  block b():\n    pass\n  block b():\n    pass\n}\n", "t.tir:4:9:", "tir-E004"},
        {"func @f() {\n  symbols n, n\n}\n", "t.tir:2:14:", "tir-E004"},
        {"func @f() {\n  for i < 2f:\n    pass\n}\n", "t.tir:2:11:", "tir-E005"},
        {"func @f() {\n  if 1i32:\n    pass\n}\n", "t.tir:2:6:", "tir-E005"},
        {"func @f() {\n  let x: f32 = 1i32\n}\n", "t.tir:2:16:", "tir-E005"},
        {"func @f() {\n  let x: float = 1\n}\n", "t.tir:2:10:", "tir-E008"},
        {"func @f(A: f32[4, 8, 2, NK32n]) {\n}\n", "t.tir:1:25:", "tir-E009"},
        {"func @f() {\n  buffer b: f32[1] in nowhere\n}\n", "t.tir:2:23:", "tir-E010"},
        {"func @f() {\n  pass pass\n}\n", "t.tir:2:8:", "tir-E011"},
        {"func @f() {\n  for i < 3:\n  pass\n}\n", "t.tir:3:3:", "tir-E011"},
        {"func @f() {\n  block b(i: spatial):\n    pass\n}\n", "t.tir:2:11:", "tir-E013"},
        {"func @f() {\n  for i < 4:\n    block b(j: spatial = i + 1):\n      pass\n}\n",
         "t.tir:3:13:", "tir-E013"},
        {"func @f() {\n}\nfunc @g() {\n}\n", "t.tir:3:1:", "tir-E015"},
        {"func @f() {\n  tensor \"dot5\" for i < 3:\n    pass\n}\n", "t.tir:2:17:", "tir-E016"},
        {"func @f() {\n  check true\n}\n", "t.tir:2:13:", "ir-E001"},
        {"func @f() {\n  let x: f32 = y\n}\n", "t.tir:2:16:", "ir-E003"},
        {"func @f(A: f32[4, Q3z]) {\n}\n", "t.tir:1:19:", "ir-E010"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        fixture_init(&x);
        if (try_read(&x, row[i].text))
            fail_msg("read: %s", row[i].text);
        if (!strstr(diags(&x), row[i].id) || strncmp(diags(&x), row[i].where, strlen(row[i].where)) != 0)
            fail_msg("%s: want %s %s, got %s", row[i].text, row[i].where, row[i].id, diags(&x));
        fixture_deinit(&x);
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    static const char *const piece[] = {"for i%d < 2: ", "if true: ", "block b%d(): "};
    for (int k = 0; k < 3; k++)
        for (int depth = 50; depth <= 50000; depth *= 10) {
            fixture x;
            tn_buf b = {0};
            fixture_init(&x);
            tn_buf_str(&b, "func @f() {\n  ");
            for (int i = 0; i < depth; i++)
                tn_buf_printf(&b, piece[k], i);
            tn_buf_str(&b, "pass\n}\n");
            tn_func *f = try_read(&x, b.at);
            if ((f != NULL) != (depth == 50))
                fail_msg("depth %d: %.200s", depth, diags(&x));
            if (!f)
                assert_diag(&x, "tir-E012");
            tn_buf_deinit(&b);
            fixture_deinit(&x);
        }
}

static void blocks_have_few_variables(void **state)
{
    (void)state;
    fixture x;
    tn_buf b = {0};
    fixture_init(&x);
    tn_buf_str(&b, "func @f() {\n  block b(");
    for (int i = 0; i < 65; i++)
        tn_buf_printf(&b, "%sv%d < 2: spatial = 0", i ? ", " : "", i);
    tn_buf_str(&b, "):\n    pass\n}\n");
    assert_null(try_read(&x, b.at));
    assert_diag(&x, "a block has at most 64 iteration variables [tir-E014]");
    tn_buf_deinit(&b);
    fixture_deinit(&x);
}

/* What reads one way prints another. */
static void spellings(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } row[] = {
        {"for i < 2: for j < 3: unrolled for k < 4: B[0] = 1",
         "for i < 2, j < 3: unrolled for k < 4:\n    B[0] = 1f"},
        {"if true: B[0] = 1.5", "if true:\n    B[0] = 1.5f"},
        {"for i < 2: block b(i): pass", NULL},
        {"for i < 2: block b(i: spatial): pass", "for i < 2:\n    block b(i: spatial):\n      pass"},
        {"for i < 2: block b(i < 3: spatial): pass", "for i < 2:\n    block b(i < 3: spatial):\n      pass"},
        {"for i < 2: block b(q: reduce = i): pass", "for i < 2:\n    block b(q: reduce = i):\n      pass"},
        {"for i < 2: block b(q < 2: reduce = i): pass",
         "for i < 2:\n    block b(q: reduce = i):\n      pass"},
        {"for i < 2: block b(q < 5: reduce = i*2): pass",
         "for i < 2:\n    block b(q < 5: reduce = i*2):\n      pass"},
        {"for i: i32 < 3: B[i] = 1", "for i: i32 < 3i32:\n    B[i] = 1f"},
        {"buffer w: f32[n] at n*16", "buffer w: f32[n] at n*16"},
        {"buffer w: f32[7] slack 3 in local at 64", "buffer w: f32[7] slack 3 in local at 64"},
        {"buffer w: f32[3, (NC8c)]", "buffer w: f32[3, (NC8c)]"},
        {"buffer w: f32[4, 8, NC:CN2n]", "buffer w: f32[4, 8, NC:CN2n]"},
        {"buffer w: f32[]\n  w[] = 2", "buffer w: f32[]\n  w[] = 2f"},
        {"check n < 3 \"a \\\"b\\\"\"", "check n < 3 \"a \\\"b\\\"\""},
        {"block b() tag \"t\" source \"Conv_1\":\n    init:\n      B[0] = 1\n      B[1] = 1\n    pass",
         "block b() tag \"t\" source \"Conv_1\":\n    init:\n      B[0] = 1f\n      B[1] = 1f"},
        {"B[0 : 4] = 1", "B[0 : 4] = splat(1f, 4)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        tn_buf in = {0}, want = {0};
        fixture_init(&x);
        tn_buf_printf(&in, "func @f(B: f32[n], Z: f32[NC8c, 1]) {\n  %s\n}\n", row[i].in);
        tn_buf_printf(&want, "func @f(B: f32[n], Z: f32[NC8c, 1]) {\n  %s\n}\n", row[i].out);
        tn_func *f = try_read(&x, in.at);
        if ((f != NULL) != (row[i].out != NULL))
            fail_msg("%s: %s", in.at, diags(&x));
        if (f)
            assert_string_equal(printed(&x, f), want.at);
        tn_buf_deinit(&in);
        tn_buf_deinit(&want);
        fixture_deinit(&x);
    }
}

/* Equal names get suffixes where both are visible; an iteration variable hides what its block does not use. */
static void names_in_print(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = read_func(
        &x, "func @f(B: f32[n, 9]) {\n  for a < 2, b < 3:\n    block q(c: spatial = a, d: spatial = b):\n"
            "      B[c, a + d] = 1\n  for e < 2:\n    B[e, e] = 2\n}\n");
    for (uint32_t i = 0; i < f->n_var; i++)
        f->var[i].name = "i";
    assert_string_equal(printed(&x, f),
                        "func @f(B: f32[n, 9]) {\n  for i < 2, i_1 < 3:\n"
                        "    block q(i_2: spatial = i, i_1: spatial):\n      B[i_2, i_1 + i] = 1f\n"
                        "  for i < 2:\n    B[i, i] = 2f\n}\n");
    for (uint32_t i = 0; i < f->n_var; i++)
        f->var[i].name = tn_intern(&x.ctx, "n");
    assert_non_null(strstr(printed(&x, f), "for n_1 < 2, n_2 < 3:"));
    fixture_deinit(&x);
}

static void symbols_print_when_they_must(void **state)
{
    (void)state;
    static const struct {
        const char *in, *line;
    } row[] = {
        {"", NULL},
        {"  symbols n, m\n", NULL},
        {"  symbols m, n\n", "  symbols m, n\n"},
        {"  symbols n in [1, 8]\n", "  symbols n in [1, 8], m\n"},
        {"  symbols n, m, k in [-1, 3]\n", "  symbols n, m, k in [-1, 3]\n"},
        {"  symbols k\n", "  symbols k, n, m\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        tn_buf b = {0};
        fixture_init(&x);
        tn_buf_printf(&b, "func @f(A: f32[n]) -> (B: f32[m]) {\n%s}\n", row[i].in);
        const char *out = printed(&x, read_func(&x, b.at)), *found = strstr(out, "  symbols");
        assert_int_equal(found != NULL, row[i].line != NULL);
        if (found)
            assert_memory_equal(found, row[i].line, strlen(row[i].line));
        tn_buf_deinit(&b);
        fixture_deinit(&x);
    }
}

static void random_functions_print_and_read_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        fixture x;
        tn_buf first = {0}, clone = {0};
        fixture_init(&x);
        tn_func *f = random_function(&x, seed);
        if (tn_func_verify(f) != TN_OK &&
            !strstr(diags(&x), "tir-E12")) /* provably outside is the generator's right */
            fail_msg("seed %d: %s\n%s", (int)seed, diags(&x), printed(&x, f));
        tn_func_print(f, &first);
        tn_func_print(tn_func_clone(f, &x.arena, &x.pool), &clone);
        assert_string_equal(clone.at, first.at);
        assert_string_equal(printed(&x, read_func(&x, first.at)), first.at);
        tn_buf_deinit(&first);
        tn_buf_deinit(&clone);
        fixture_deinit(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files),
        cmocka_unit_test(reading_refuses),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(blocks_have_few_variables),
        cmocka_unit_test(spellings),
        cmocka_unit_test(names_in_print),
        cmocka_unit_test(symbols_print_when_they_must),
        cmocka_unit_test(random_functions_print_and_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
