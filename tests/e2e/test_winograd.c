/* Convolutions with windows of 3 x 3 by minimal filtering: errors against sums in double, within the bound of
 * docs/numbers.md, by code for this machine and by the interpreters. The transforms are written out here as
 * they are in the papers, from their points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"

enum { MOST = 6, ROOM = 1 << 18 };

typedef struct {
    int tile, n, c, o, h, w, above, left, below, right;
} shape;

static const shape cases[] = {
    {2, 1, 16, 32, 8, 8, 1, 1, 1, 1},   {2, 2, 5, 7, 9, 11, 1, 1, 1, 1},  {2, 1, 33, 16, 4, 3, 0, 0, 0, 0},
    {2, 3, 16, 16, 1, 7, 2, 0, 1, 2},   {4, 1, 16, 32, 8, 8, 1, 1, 1, 1}, {4, 2, 5, 7, 9, 11, 1, 1, 1, 1},
    {4, 1, 64, 20, 13, 14, 0, 2, 2, 0}, {4, 1, 3, 64, 3, 3, 0, 0, 0, 0},
};

static const double a2[2][4] = {{1, 1, 1, 0}, {0, 1, -1, 1}},
                    b2[4][4] = {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
                    g2[4][3] = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double a4[4][6] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 0.5, -2, 0}, {0, 1, 1, 0.25, 4, 0}, {0, 1, -1, 0.125, -8, 1}};
static const double b4[6][6] = {{1, -1.5, -2, 1.5, 1, 0}, {0, -1, 0.5, 2.5, 1, 0},  {0, 1, -2.5, 0.5, 1, 0},
                                {0, -2, -1, 2, 1, 0},     {0, 0.5, -1, -0.5, 1, 0}, {0, 1, -1.5, -2, 1.5, 1}};
static const double g4[6][3] = {{1, 0, 0},
                                {1 / 3., 1 / 3., 1 / 3.},
                                {-1 / 3., 1 / 3., -1 / 3.},
                                {-16 / 15., -8 / 15., -4 / 15.},
                                {1 / 15., -2 / 15., 4 / 15.},
                                {0, 0, 1}};

static double a_at(int tile, int i, int k) { return tile == 2 ? a2[i][k] : a4[i][k]; }
static double b_at(int tile, int i, int k) { return tile == 2 ? b2[i][k] : b4[i][k]; }
static double g_at(int tile, int i, int k) { return tile == 2 ? g2[i][k] : g4[i][k]; }

static uint64_t seed = 20261129;

static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 40) * 0x1p-24 - 0.5;
}

static int rows_of(const shape *s) { return s->h + s->above + s->below - 2; }
static int columns_of(const shape *s) { return s->w + s->left + s->right - 2; }
static int tiles_of(int extent, int tile) { return (extent + tile - 1) / tile; }

static double pixel(const shape *s, const float *x, int n, int c, int y, int z)
{
    y -= s->above;
    z -= s->left;
    return y < 0 || z < 0 || y >= s->h || z >= s->w ? 0 : (double)x[((n * s->c + c) * s->h + y) * s->w + z];
}

/* G w G^T, as [r * r, c, o]. */
static void transform_weights(const shape *s, const float *w, float *u)
{
    int r = s->tile + 2;
    for (int k = 0; k < r * r * s->c * s->o; k++) {
        int o = k % s->o, c = k / s->o % s->c, p = k / s->o / s->c;
        double sum = 0;
        for (int i = 0; i < 9; i++)
            sum +=
                g_at(s->tile, p / r, i / 3) * g_at(s->tile, p % r, i % 3) * (double)w[(o * s->c + c) * 9 + i];
        u[k] = (float)sum;
    }
}

/* The same with the sizes of all numbers, from the tile at (y, z) on: what roundings are parts of. */
static double sizes_of(const shape *s, const float *x, const float *w, int n, int o, int y, int z)
{
    int r = s->tile + 2, ty = y / s->tile * s->tile, tz = z / s->tile * s->tile;
    double sum = 0;
    for (int p = 0; p < r * r; p++) {
        double out = fabs(a_at(s->tile, y - ty, p / r) * a_at(s->tile, z - tz, p % r)), of_p = 0;
        for (int c = 0; c < s->c && out > 0; c++) {
            double window = 0, data = 0;
            for (int i = 0; i < 9; i++)
                window += fabs(g_at(s->tile, p / r, i / 3) * g_at(s->tile, p % r, i % 3) *
                               (double)w[(o * s->c + c) * 9 + i]);
            for (int i = 0; i < r * r; i++)
                data += fabs(b_at(s->tile, p / r, i / r) * b_at(s->tile, p % r, i % r) *
                             pixel(s, x, n, c, ty + i / r, tz + i % r));
            of_p += window * data;
        }
        sum += out * of_p;
    }
    return sum;
}

static double direct(const shape *s, const float *x, const float *w, int n, int o, int y, int z)
{
    double sum = 0;
    for (int k = 0; k < 9 * s->c; k++)
        sum += (double)w[(o * s->c + k / 9) * 9 + k % 9] * pixel(s, x, n, k / 9, y + k % 9 / 3, z + k % 3);
    return sum;
}

/* The largest error over its bound. */
static double check(const shape *s, const float *x, const float *w, const tenon_tensor *y, const char *how)
{
    int down = tiles_of(rows_of(s), s->tile) * s->tile, across = tiles_of(columns_of(s), s->tile) * s->tile;
    double worst = 0, off = 0, largest = 0;
    assert_int_equal(y->bytes, (size_t)(s->n * s->o * down * across) * sizeof(float));
    for (int k = 0; k < s->n * s->o * down * across; k++) {
        int z = k % across, row = k / across % down, o = k / across / down % s->o,
            n = k / across / down / s->o;
        if (row >= rows_of(s) || z >= columns_of(s))
            continue;
        double want = direct(s, x, w, n, o, row, z), have = (double)((const float *)y->data)[k];
        double bound = (s->c + 4 * (s->tile + 2)) * 0x1p-24 * sizes_of(s, x, w, n, o, row, z);
        if (!(fabs(have - want) <= bound))
            fail_msg("%s, tiles of %d: element %d is %.9g, not %.9g +- %.2g", how, s->tile, k, have, want,
                     bound);
        worst = bound > 0 && fabs(have - want) / bound > worst ? fabs(have - want) / bound : worst;
        off = fmax(off, fabs(have - want));
        largest = fmax(largest, fabs(want));
    }
    if (!(off <= (s->tile == 2 ? 0x1p-20 : 0x1p-17) * largest))
        fail_msg("%s, tiles of %d: off by %.2g of the largest, %.2g", how, s->tile, off, largest);
    return worst;
}

static const char *write_model(const shape *s)
{
    static char path[64];
    int r = s->tile + 2, down = tiles_of(rows_of(s), s->tile), across = tiles_of(columns_of(s), s->tile);
    snprintf(path, sizeof path, "e2e-winograd-%d.relay", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "def @main(%%x: Tensor[(%d, %d, %d, %d), float32], %%u: Tensor[(%d, %d, %d), float32]) {\n",
            s->n, s->c, s->h, s->w, r * r, s->c, s->o);
    fprintf(f, "  %%0 = nn.winograd_data(%%x, tile=%d, tiles=[%d, %d], padding=[%d, %d]);\n", s->tile, down,
            across, s->above, s->left);
    fprintf(f, "  nn.winograd_result(nn.batch_matmul(%%0, %%u), tile=%d, tiles=[%d, %d])\n}\n", s->tile, down,
            across);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void run_case(const shape *s, const char *stage)
{
    static float x[ROOM], w[ROOM], u[ROOM];
    char why[RUN_TEXT] = "";
    values out = {0};
    int r = s->tile + 2, n_x = s->n * s->c * s->h * s->w;
    assert_true(n_x <= ROOM && r * r * s->c * s->o <= ROOM);
    for (int i = 0; i < n_x; i++)
        x[i] = (float)(draw() < 0 ? 0 : draw() * 8);
    for (int i = 0; i < 9 * s->c * s->o; i++)
        w[i] = (float)(draw() * draw());
    transform_weights(s, w, u);
    const tenon_tensor in[2] = {{.name = "x",
                                 .code = 2,
                                 .bits = 32,
                                 .ndim = 4,
                                 .shape = {s->n, s->c, s->h, s->w},
                                 .bytes = (size_t)n_x * 4,
                                 .data = x},
                                {.name = "u",
                                 .code = 2,
                                 .bits = 32,
                                 .ndim = 3,
                                 .shape = {r * r, s->c, s->o},
                                 .bytes = (size_t)(r * r * s->c * s->o) * 4,
                                 .data = u}};
    const tenon_options o = {.size = sizeof o, .target = "llvm", .opt_level = 3};
    const char *path = write_model(s);
    tnr_module *m = NULL;
    bool ran = stage ? run_interpreter(path, &o, stage, 2, in, &out, why)
                     : run_compile(path, &o, &m, why) && run_module(m, TNR_EXECUTOR_AOT, 2, 2, in, &out, why);
    if (!ran)
        fail_msg("%s", why);
    double worst = check(s, x, w, &out.at[0], stage ? stage : "llvm");
    print_message("tiles of %d, %d channels: %.3f of the bound\n", s->tile, s->c, worst);
    values_free(&out);
    if (m)
        tnr_module_release(m);
    unlink(path);
}

static void code_is_within_the_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i], NULL);
}

static void interpreters_are_within_the_bound(void **state)
{
    (void)state;
    for (size_t i = 1; i < sizeof cases / sizeof *cases; i += 4) {
        run_case(&cases[i], "tir");
        run_case(&cases[i], "flat");
    }
}

/* As the algorithm of a convolution: what is cut off, layouts and what follows. */
static void convolutions_agree(void **state)
{
    static const char *const text =
        "def @main(%%x: Tensor[(n, 40, 18, 21), float32]) {\n"
        "  %%0 = reshape(multiply(sin(arange(0f, 1f, count=17280)), 0.05f), newshape=[48, 40, 3, 3]);\n"
        "  %%1 = nn.relu(nn.conv2d(%%x, %%0, padding=[%d, 1, 0, 2]));\n"
        "  (%%1, cast(nn.conv2d(%%x, %%0), dtype=float16))\n"
        "}\n";
    static float x[2 * 40 * 18 * 21];
    char why[RUN_TEXT] = "", machine[1024], path[64];
    (void)state;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)(draw() < 0 ? 0 : draw());
    const tenon_tensor in = {.name = "x",
                             .code = 2,
                             .bits = 32,
                             .ndim = 4,
                             .shape = {2, 40, 18, 21},
                             .bytes = sizeof x,
                             .data = x};
    snprintf(machine, sizeof machine, "%s/tests/machines/one_port.json", getenv("TENON_SOURCE_DIR"));
    snprintf(path, sizeof path, "e2e-winograd-%d.relay", (int)getpid());
    for (int pad = 0; pad < (RUN_FEWER ? 1 : 3); pad++) {
        const tenon_options tiles = {.size = sizeof tiles, .machine_file = machine, .opt_level = 3},
                            plain = {.size = sizeof plain, .machine_file = machine, .opt_level = 0};
        values have = {0}, want = {0};
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, text, pad);
        assert_int_equal(fclose(f), 0);
        if (!run_interpreter(path, &tiles, "flat", 1, &in, &have, why) ||
            !run_interpreter(path, &plain, "relay", 1, &in, &want, why) || !all_near(&have, &want, 1, why))
            fail_msg("padding %d: %s", pad, why);
        values_free(&have);
        values_free(&want);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(code_is_within_the_bound),
                                       cmocka_unit_test(interpreters_are_within_the_bound),
                                       cmocka_unit_test(convolutions_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
