/* Random programs of control flow and of shapes known only in the run, over convolutions and elementwise chains: values
 * go through `loop` and `if` and are reshaped to extents that an input holds, once or several times, on their way to
 * outputs. What the package computes is what the Relay interpreter computes. A
 * failure prints the seed and the program.
 *
 * Arguments: a seed, to run it alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/rng.h"
#include "e2e/run.h"

enum { SEEDS = 24, SEEDS_SANITIZED = 6, SEEDS_SLOW = 2000, HEIGHT = 6, WIDTH = 5, MAX_VALUE = 24 };

static uint64_t only_seed;
static bool only;

/* One program: values are [N, C, 6, 5] (N may be the symbol n), or reshaped to [u, v] as rank 2. */
typedef struct {
    tn_rng r;
    tn_buf text;
    int n_line, depth;
    const char *batch;
    int channels;
    char value[MAX_VALUE][24]; /* names of values of the common shape */
    int n_value;
    char result[MAX_VALUE][24];
    int n_result;
} program;

static int below(program *p, int n) { return (int)tn_rng_below(&p->r, (uint64_t)n); }

static void line(program *p, char name[24], const char *format, ...) __attribute__((format(printf, 3, 4)));
static void line(program *p, char name[24], const char *format, ...)
{
    va_list list;
    char body[512];
    va_start(list, format);
    vsnprintf(body, sizeof body, format, list);
    va_end(list);
    snprintf(name, 24, "%%%d", p->n_line++);
    tn_buf_printf(&p->text, "%*s%s = %s;\n", 2 * p->depth + 2, "", name, body);
}

static void conv(program *p, const char *x, char out[24])
{
    char w[24];
    int c = p->channels, k = below(p, 2) ? 3 : 1;
    line(p, w, "arange(0, %d, count=[%d])", 1 + below(p, 50), c * c * k * k);
    line(p, w, "sin(cast(%s, dtype=\"float32\"))", w);
    line(p, w, "reshape(%s, newshape=[%d, %d, %d, %d])", w, c, c, k, k);
    line(p, out, "nn.conv2d(%s, %s * 0.1f, padding=[%d, %d])", x, w, k / 2, k / 2);
}

static void operate(program *p, const char *x, char out[24])
{
    static const char *const ops[] = {"nn.relu(%s)", "sigmoid(%s)", "clip(%s, a_min=-0.5, a_max=0.5)",
                                      "tanh(%s)"};
    int kind = below(p, 8);
    if (kind < 4)
        conv(p, x, out);
    else if (kind == 4)
        line(p, out, "add(%s, %s)", x, p->value[below(p, p->n_value)]);
    else
        switch (below(p, 4)) {
        case 0: line(p, out, ops[0], x); break;
        case 1: line(p, out, ops[1], x); break;
        case 2: line(p, out, ops[2], x); break;
        default: line(p, out, ops[3], x); break;
        }
}

static void keep(program *p, const char *name)
{
    if (p->n_value < MAX_VALUE)
        memmove(p->value[p->n_value++], name, strlen(name) + 1);
}

static void show(program *p, const char *name)
{
    if (p->depth == 0 && p->n_result < 12)
        memmove(p->result[p->n_result++], name, strlen(name) + 1);
}

static const char *any(program *p) { return p->value[below(p, p->n_value)]; }

/* Through extents of the run, and back to the common shape. */
static void reshapes(program *p)
{
    char r[24];
    line(p, r, "dyn.reshape(%s, extent=[u, v])", any(p));
    show(p, r);
    for (int k = below(p, 3); k > 0; k--) {
        if (below(p, 2))
            line(p, r, "nn.relu(%s)", r);
        line(p, r, below(p, 2) ? "dyn.reshape(%s, extent=[v, u])" : "reshape(%s, newshape=[u * v])", r);
        if (below(p, 2))
            show(p, r);
    }
    if (below(p, 2)) {
        line(p, r, "dyn.reshape(%s, extent=[%s, %d, %d, %d])", r, p->batch, p->channels, HEIGHT, WIDTH);
        if (below(p, 2))
            show(p, r);
        keep(p, r);
    }
}

static void steps(program *p, int n);

/* One value or two, which may change places, and maybe rows that are collected. */
static void loop(program *p)
{
    char out[24], a[24], b[24], first[24], second[24];
    int two = below(p, 2), rows = below(p, 2), known = p->n_value, carried = p->n_line;
    snprintf(first, sizeof first, "%s", any(p));
    snprintf(second, sizeof second, "%s", any(p));
    snprintf(out, sizeof out, "%%%d", p->n_line++);
    tn_buf_printf(&p->text, "%*s%s = loop(%%t, True, %s%s%s", 2 * p->depth + 2, "", out, first,
                  two ? ", " : "", two ? second : "");
    if (rows)
        tn_buf_printf(&p->text, ", collect=[3, %s, %d, %d, %d]", p->batch, p->channels, HEIGHT, WIDTH);
    tn_buf_printf(&p->text, ")(%%i%d: int64", carried);
    for (int k = 0; k <= two; k++) {
        snprintf(k ? b : a, 24, "%%p%d_%d", carried, k);
        tn_buf_printf(&p->text, ", %s: Tensor[(%s, %d, %d, %d), float32]", k ? b : a, p->batch, p->channels,
                      HEIGHT, WIDTH);
        keep(p, k ? b : a);
    }
    tn_buf_str(&p->text, ") {\n");
    p->depth++;
    steps(p, 1 + below(p, 2));
    char next[24];
    snprintf(next, sizeof next, "%s", p->value[p->n_value - 1]);
    tn_buf_printf(&p->text, "%*s(True, %s", 2 * p->depth + 2, "", two && below(p, 2) ? b : next);
    if (two)
        tn_buf_printf(&p->text, ", %s", below(p, 2) ? a : next);
    if (rows)
        tn_buf_printf(&p->text, ", %s", any(p));
    p->depth--;
    tn_buf_printf(&p->text, ")\n%*s};\n", 2 * p->depth + 2, "");
    p->n_value = known;
    char part[24];
    for (int k = 0; k <= two + rows; k++) {
        snprintf(part, sizeof part, two + rows ? "%.16s.%d" : "%.16s", out, k);
        show(p, part);
        if (k <= two)
            keep(p, part);
    }
}

static void branch(program *p)
{
    char out[24];
    int known = p->n_value;
    snprintf(out, sizeof out, "%%%d", p->n_line++);
    tn_buf_printf(&p->text, "%*s%s = if (%%c) {\n", 2 * p->depth + 2, "", out);
    for (int k = 0; k < 2; k++) {
        p->depth++;
        if (below(p, 4))
            steps(p, 1 + below(p, 2));
        tn_buf_printf(&p->text, "%*s(%s, %s)\n", 2 * p->depth + 2, "", p->value[p->n_value - 1], any(p));
        p->depth--;
        p->n_value = known;
        tn_buf_printf(&p->text, "%*s}%s\n", 2 * p->depth + 2, "", k ? ";" : " else {");
    }
    char part[24];
    for (int k = 0; k < 2; k++) {
        snprintf(part, sizeof part, "%.16s.%d", out, k);
        show(p, part);
        keep(p, part);
    }
}

static void steps(program *p, int n)
{
    for (int k = 0; k < n; k++) {
        char out[24];
        operate(p, any(p), out);
        keep(p, out);
        int kind = below(p, 6);
        if (kind == 0 && p->depth < 2)
            loop(p);
        else if (kind == 1 && p->depth < 2)
            branch(p);
        else if (kind == 2)
            reshapes(p);
    }
}

static void make(program *p, uint64_t seed)
{
    *p = (program){.r = {seed}, .batch = seed % 3 ? "n" : "2"};
    p->channels = (const int[]){3, 8, 16, 17, 32}[below(p, 5)];
    tn_buf_printf(&p->text,
                  "#[version = \"0.0.5\"]\n#[symbols = \"u in [0, 100000], v in [0, 100000]\"]\n"
                  "def @main(%%x: Tensor[(%s, %d, %d, %d), float32], %%s: Tensor[(2), int64], %%c: bool, "
                  "%%t: int64) {\n"
                  "  %%b = bind_extent(%%s, extent=[u, v]);\n",
                  p->batch, p->channels, HEIGHT, WIDTH);
    keep(p, "%x");
    char out[24];
    conv(p, "%x", out);
    keep(p, out);
    steps(p, 1 + below(p, 4));
    static void (*const forms[])(program *) = {loop, branch, reshapes};
    forms[below(p, 3)](p);
    show(p, any(p));
    tn_buf_str(&p->text, "  (");
    for (int k = 0; k < p->n_result; k++)
        tn_buf_printf(&p->text, "%s%s", k ? ", " : "", p->result[k]);
    tn_buf_str(&p->text, p->n_result == 1 ? ",)\n}\n" : ")\n}\n");
}

/* One run of the package, whose memory is guarded, against the interpreter. */
static bool one_run(program *p, const char *path, tnr_module *m, int level, char *why)
{
    static float x[4 * 32 * HEIGHT * WIDTH];
    int64_t n = *p->batch == 'n' ? 1 + below(p, 3) : 2, all = n * p->channels * HEIGHT * WIDTH;
    int64_t split = (const int64_t[]){1, 2, 5, 10, 30}[below(p, 5)], s[2] = {split, all / split}, t = 3;
    uint8_t c = (uint8_t)below(p, 2);
    for (int64_t i = 0; i < all; i++)
        x[i] = (float)(2 * tn_rng_unit(&p->r) - 1);
    const tenon_tensor in[] = {
        {.name = "x",
         .code = 2,
         .bits = 32,
         .ndim = 4,
         .shape = {n, p->channels, HEIGHT, WIDTH},
         .data = x,
         .bytes = (size_t)all * 4},
        {.name = "s", .bits = 64, .ndim = 1, .shape = {2}, .data = s, .bytes = sizeof s},
        {.name = "c", .code = 6, .bits = 8, .data = &c, .bytes = 1},
        {.name = "t", .bits = 64, .data = &t, .bytes = 8},
    };
    values want = {0}, have = {0};
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = level};
    tnr_instance_options guarded = {.threads = 2, .flags = TNR_INSTANCE_CHECK};
    bool ok = run_interpreter(path, &o, "relay", 4, in, &want, why) &&
              run_options(m, &guarded, 4, in, &have, why) && all_near(&have, &want, 1, why);
    values_free(&want);
    values_free(&have);
    return ok;
}

static bool one_program(uint64_t seed, program *p, char *why)
{
    char path[64];
    tnr_module *m = NULL;
    int level = seed % 4 ? 3 : (int)(seed / 4 % 3);
    make(p, seed);
    snprintf(path, sizeof path, "flow-%d.relay", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(tn_buf_cstr(&p->text), f);
    assert_int_equal(fclose(f), 0);
    bool ok = run_compile(path, &(tenon_options){.size = sizeof(tenon_options), .opt_level = level}, &m, why);
    for (int i = 0; ok && i < 2; i++)
        ok = one_run(p, path, m, level, why);
    tnr_module_release(m);
    unlink(path);
    return ok;
}

static void packages_compute_what_relay_means(void **state)
{
    (void)state;
    uint64_t n = RUN_SANITIZED ? SEEDS_SANITIZED : getenv("TENON_SLOW") ? SEEDS_SLOW : SEEDS;
    int failed = 0;
    for (uint64_t seed = only ? only_seed : 0; seed < (only ? only_seed + 1 : n); seed++) {
        program p;
        char why[RUN_TEXT];
        if (!one_program(seed, &p, why)) {
            print_error("seed %llu: %s\n%s\n", (unsigned long long)seed, why, tn_buf_cstr(&p.text));
            failed++;
        }
        tn_buf_deinit(&p.text);
    }
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packages_compute_what_relay_means)};
    only = argc > 1;
    only_seed = only ? strtoull(argv[1], NULL, 10) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
