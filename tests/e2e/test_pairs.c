/* Pairs of operators, one behind the other and twice: what they fuse to must not grow by multiplication. The measure is
 * not time but text: the text of a kernel's blocks names what it would repeat, so it is as long as the kernel has
 * distinct expressions. Of some pairs the flat text is measured too, and the package computes what the Relay
 * interpreter does. Where TENON_SLOW is set that is done with all of them, and with 5,000 seeded chains of three and
 * four. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "e2e/run.h"

enum { SIDE = 6, TIR_LIMIT = 12 << 10, FLAT_LIMIT = 160 << 10, FLAT_STEP = 17, RUN_STEP = 61 };

/* $ is the operand, float32 (6, 6), and so is the result. */
static const char *const forms[] = {
    "nn.relu($)",
    "sigmoid($)",
    "tanh($)",
    "exp(negative(abs($)))",
    "nn.hardswish($)",
    "nn.mish($)",
    "nn.gelu($)",
    "nn.gelu_tanh($)",
    "nn.selu($)",
    "mod($, 2f)",
    "floor_mod($, 1.5f)",
    "power(abs($), 0.7f)",
    "sin($)",
    "multiply($, $)",
    "where(less($, 0f), exp($), $)",
    "cast(cast($, dtype=\"float16\"), dtype=\"float32\")",
    "trilu($, 0)",
    "transpose($, axes=[1, 0])",
    "strided_slice(concatenate(($, negative($))), begin=[3, 0], end=[9, 6])",
    "strided_slice(nn.pad($, pad_width=[2, 0, 0, 2], pad_mode=\"reflect\"), begin=[1, 1], end=[7, 7])",
    "take($, arange(5, -1, count=[6]), axis=0)",
    "gather($, cast(clip($, a_min=0f, a_max=5f), dtype=\"int64\"), axis=1)",
    "nn.softmax($)",
    "add($, sum($, axis=[0], keepdims=True))",
    "cumsum($, axis=1)",
    "add(topk($, k=[6]).0, gather($, topk($, k=[6]).1, axis=1))",
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static char *apply(char *at, int value, int to, const char *form)
{
    at += sprintf(at, "  %%%d = ", to);
    for (const char *c = form; *c; c++)
        if (*c != '$')
            *at++ = *c;
        else
            at += value < 0 ? sprintf(at, "%%x") : sprintf(at, "%%%d", value);
    return at + sprintf(at, ";\n");
}

static const char *write_chain(int n, const int form[])
{
    static char path[64];
    char text[4096], *at = text;
    snprintf(path, sizeof path, "pair-%d.relay", (int)getpid());
    at += sprintf(at, "#[version = \"0.0.5\"]\ndef @main(%%x: Tensor[(%d, %d), float32]) {\n", SIDE, SIDE);
    for (int i = 0; i < n; i++)
        at = apply(at, i - 1, i, forms[form[i]]);
    sprintf(at, "  nn.relu(%%%d)\n}\n", n - 1);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

static bool is_short(const char *path, const char *stage, size_t limit, char *why)
{
    const char *text = "";
    tenon *t;
    tenon_module *m = run_read(&t, path, NULL, why);
    bool ok = tenon_module_dump(m, NULL, stage, &text, NULL, NULL) == 0;
    if (m && !ok)
        run_fail(why, "%.900s", tenon_messages(t));
    else if (ok && *tenon_messages(t))
        ok = run_fail(why, "says %.900s", tenon_messages(t));
    else if (ok && strlen(text) > limit)
        ok = run_fail(why, "%s: %zu bytes, more than %zu", stage, strlen(text), limit);
    tenon_free(t);
    return ok;
}

static bool runs(const char *path, char *why)
{
    float x[SIDE * SIDE];
    tenon_tensor in = {.name = "x", .code = 2, .bits = 32, .ndim = 2, .shape = {SIDE, SIDE}};
    in.data = x;
    in.bytes = sizeof x;
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    tnr_module *m = NULL;
    values want = {0}, have = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] = (float)(i * 7 % 23) / 8 - 1.3f;
    bool ok = run_interpreter(path, &o, "relay", 1, &in, &want, why) && run_compile(path, &o, &m, why) &&
              run_module(m, TNR_EXECUTOR_AOT, 1, 1, &in, &have, why) && all_near(&have, &want, 1, why);
    values_free(&want);
    values_free(&have);
    tnr_module_release(m);
    return ok;
}

static bool is_small(int n, const int form[], bool flat, bool run)
{
    char why[RUN_TEXT] = "";
    const char *path = write_chain(n, form);
    bool ok = is_short(path, "tir", TIR_LIMIT, why) && (!flat || is_short(path, "flat", FLAT_LIMIT, why)) &&
              (!run || runs(path, why));
    unlink(path);
    for (int i = 0; i < n && !ok; i++)
        print_error("%s\n", forms[form[i]]);
    if (!ok)
        print_error("%s\n", why);
    return ok;
}

static void pairs_stay_small(void **state)
{
    (void)state;
    bool slow = getenv("TENON_SLOW") != NULL;
    int failed = 0;
    for (int k = 0; k < N_FORMS * N_FORMS; k++) {
        int a = k / N_FORMS, b = k % N_FORMS;
        failed +=
            !is_small(4, (const int[]){a, b, a, b}, slow || k % FLAT_STEP == 0, slow || k % RUN_STEP == 0);
    }
    assert_int_equal(failed, 0);
}

static void chains_stay_small(void **state)
{
    (void)state;
    int failed = 0;
    for (uint64_t seed = 0; seed < (getenv("TENON_SLOW") ? 5000 : 20); seed++) {
        tn_rng r = {seed + 1};
        int form[4];
        for (int i = 0; i < 4; i++)
            form[i] = (int)tn_rng_below(&r, N_FORMS);
        failed += !is_small(seed % 2 ? 3 : 4, form, true, seed % 5 == 0);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_stay_small),
                                       cmocka_unit_test(chains_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
