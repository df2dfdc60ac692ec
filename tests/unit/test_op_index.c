/* Operators over indices and positions, against plain loops: gather, scatter, checked_index, topk, scans, powers,
 * remainders, shifts, padding with a tensor's own elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/random/random.h"
#include "op/tensor/tensor.h"

static tn_node *node(env *e, const tn_op *op, int n, const char *const types[], const char *attrs)
{
    tn_node *x = node_of(e, op, n, types, attrs);
    REQUIRE(e, x);
    return x;
}

/* ---- a wrong index fails the call ---- */

static void wrong_indices_fail(void **state)
{
    (void)state;
    static const struct {
        int64_t index[4];
        bool good;
    } row[] = {
        {{0, 4, -5, 2}, true}, {{0, 5, 1, 2}, false}, {{0, 1, 2, -6}, false}, {{INT64_MAX, 0, 0, 0}, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        const char *type = "int64 4";
        tn_func *f = func_of(&e, node(&e, &tn_op_checked_index, 1, &type, "extent=[5]"));
        int64_t out[4] = {9, 9, 9, 9};
        tn_status s = tn_func_run(f, (void *[]){(void *)(uintptr_t)row[i].index, out}, NULL);
        assert_int_equal(s == TN_OK, row[i].good);
        for (int k = 0; k < 4 && row[i].good; k++)
            assert_int_equal(out[k], row[i].index[k] < 0 ? row[i].index[k] + 5 : row[i].index[k]);
        if (!row[i].good)
            assert_non_null(strstr(env_errors(&e), "an index is outside [-5, 5)"));
        env_deinit(&e);
    }
}

static void scatter_fails_on_wrong_indices(void **state)
{
    (void)state;
    static const char *const types[] = {"float32 5", "int32 2", "float32 2"}, *const nd[] = {"float32 5",
                                                                                             "int32 2 1",
                                                                                             "float32 2"};
    for (int k = 0; k < 2; k++) {
        env e;
        env_init(&e);
        tn_func *f = func_of(&e, k ? node(&e, &tn_op_scatter_nd, 3, nd, "")
                                   : node(&e, &tn_op_scatter_elements, 3, types, ""));
        float x[5] = {0}, u[2] = {1, 2}, out[5];
        int32_t good[2] = {-1, -1}, bad[2] = {0, 5};
        REQUIRE(&e, tn_func_run(f, (void *[]){x, good, u, out}, NULL) == TN_OK);
        assert_true(out[4] == 2 && out[0] == 0); /* the last update stays */
        assert_int_equal(tn_func_run(f, (void *[]){x, bad, u, out}, NULL), TN_FAIL);
        assert_non_null(strstr(env_errors(&e), "an index is outside the data"));
        env_deinit(&e);
    }
}

/* ---- scatter: every reduction, duplicates in order ---- */

static void scatters_combine(void **state)
{
    (void)state;
    static const char *const name[] = {"update", "add", "mul", "min", "max"};
    static const char *const types[] = {"int32 3 4", "int64 2 4", "int32 2 4"};
    const int32_t x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, u[8] = {20, -3, 5, 7, 2, 30, -8, 1};
    const int64_t at[8] = {0, 1, 2, -1, 0, 1, 0, 2};
    for (int r = 0; r < 5; r++) {
        env e;
        env_init(&e);
        int32_t want[12], out[12];
        memcpy(want, x, sizeof x);
        for (int i = 0; i < 8; i++) {
            int32_t *w = &want[(at[i] < 0 ? at[i] + 3 : at[i]) * 4 + i % 4], v = u[i];
            *w = r == 0   ? v
                 : r == 1 ? *w + v
                 : r == 2 ? *w * v
                 : r == 3 ? (v < *w ? v : *w)
                          : (v > *w ? v : *w);
        }
        tn_node *n = node(&e, &tn_op_scatter_elements, 3, types,
                          tn_arena_printf(&e.arena, "axis=0, reduction=\"%s\"", name[r]));
        run_node(&e, n, (const void *[]){x, at, u}, out, NULL);
        assert_memory_equal(out, want, sizeof want);
        env_deinit(&e);
    }
}

/* ---- topk: all algorithms, both orders, ties by position, NaN beyond +inf ---- */

static bool before(const float *x, int a, int b, bool ascend)
{
    if (isnan(x[a]) != isnan(x[b]))
        return isnan(x[a]) != ascend;
    return x[a] != x[b] && !isnan(x[a]) ? (ascend ? x[a] < x[b] : x[a] > x[b]) : a < b;
}

static bool same_bits(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }

static void topk_orders(void **state)
{
    (void)state;
    static const int size[][2] = {{1, 1},     {7, 3},       {7, 7},    {40, 32},  {40, 33},
                                  {64, 64},   {100, 50},    {200, 1},  {301, 10}, {400, 90},
                                  {700, 120}, {1030, 1030}, {4200, 40}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int ascend = 0; ascend < 2; ascend++)
            for (int axis = 0; axis < 2; axis++) {
                env e;
                env_init(&e);
                int n = size[i][0], k = size[i][1], rows = 3;
                const char *type = tn_arena_printf(&e.arena, axis ? "float32 %d %d" : "float32 %d %d",
                                                   axis ? rows : n, axis ? n : rows);
                float *x = floats(&e, n * rows, i);
                float *value = TN_NEW_N(&e.arena, float, (size_t)(k * rows));
                int64_t *out = TN_NEW_N(&e.arena, int64_t, (size_t)(k * rows));
                for (int j = 0; j < n * rows; j++) /* many are equal; zeros of both signs */
                    x[j] = j % 37 == 5 ? NAN : j % 11 == 3 ? -0.0F : floorf(x[j] * (float)(i % 2 ? 8 : 500));
                run_results(&e,
                            node(&e, &tn_op_topk, 1, &type,
                                 tn_arena_printf(&e.arena, "k=%d, axis=%d, is_ascend=%s", k, axis,
                                                 ascend ? "True" : "False")),
                            (const void *[]){x}, (void *[]){value, out}, NULL);
                for (int r = 0; r < rows; r++) {
                    float *row = TN_NEW_N(&e.arena, float, (size_t)n);
                    for (int j = 0; j < n; j++)
                        row[j] = x[axis ? r * n + j : j * rows + r];
                    for (int j = 0; j < n; j++) {
                        int rank = 0;
                        for (int m = 0; m < n; m++)
                            rank += before(row, m, j, ascend);
                        int at = axis ? r * k + rank : rank * rows + r;
                        if (rank < k && (out[at] != j || !same_bits(value[at], row[j])))
                            fail_msg("place %d of row %d has %g, %lld", rank, r, value[at],
                                     (long long)out[at]);
                    }
                }
                env_deinit(&e);
            }
}

/* Rows are compared by their first difference; equal ones stay in order, NaN is beyond all. */
static void rows_are_sorted(void **state)
{
    (void)state;
    static const int width[] = {1, 2, 5};
    enum { N = 70 };
    for (size_t w = 0; w < sizeof width / sizeof *width; w++) {
        env e;
        env_init(&e);
        int m = width[w];
        const char *type = tn_arena_printf(&e.arena, "float32 %d %d", N, m);
        float *x = floats(&e, N * m, w);
        int64_t out[N];
        for (int j = 0; j < N * m; j++)
            x[j] = j % 17 == 3 ? NAN : floorf(x[j] * 2);
        run_node(&e, node(&e, &tn_op_sort_rows, 1, &type, ""), (const void *[]){x}, out, NULL);
        for (int i = 1; i < N; i++) {
            const float *a = x + out[i - 1] * m, *b = x + out[i] * m;
            int k = 0;
            while (k < m && (a[k] == b[k] || (isnan(a[k]) && isnan(b[k]))))
                k++;
            assert_true(k == m ? out[i - 1] < out[i] : a[k] < b[k] || isnan(b[k]));
        }
        env_deinit(&e);
    }
}

/* A symbolic extent sorts by as many levels as it needs. */
static void topk_of_symbolic_rows(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    const char *type = "int32 n";
    tn_func *f = func_of(&e, node(&e, &tn_op_topk, 1, &type, "k=40, dtype=\"int32\""));
    for (int64_t n = 40; n < 200; n += 29) {
        int32_t x[200], value[40], out[40];
        for (int i = 0; i < n; i++)
            x[i] = (int32_t)(i * 7919 % n);
        REQUIRE(&e, tn_func_run(f, (void *[]){x, value, out}, &n) == TN_OK);
        for (int i = 1; i < 40; i++)
            assert_true(x[out[i - 1]] > x[out[i]] || (x[out[i - 1]] == x[out[i]] && out[i - 1] < out[i]));
        for (int i = 0; i < 40; i++)
            assert_int_equal(value[i], x[out[i]]);
        assert_int_equal(value[0], n - 1);
    }
    env_deinit(&e);
}

/* ---- scans ---- */

static void scans_run(void **state)
{
    (void)state;
    static const tn_op *const ops[] = {&tn_op_cumsum, &tn_op_cumprod, &tn_op_cummax, &tn_op_cummin};
    static const int64_t first[] = {0, 1, INT64_MIN, INT64_MAX};
    for (int mode = 0; mode < 32; mode++) {
        bool exclusive = mode & 1, reverse = mode & 2;
        int axis = mode & 4 ? 1 : 0, dim[2] = {5, 19}, op = mode / 8;
        env e;
        env_init(&e);
        const char *type = "int64 5 19";
        int64_t x[95], out[95];
        for (int i = 0; i < 95; i++)
            x[i] = i % 7 - 3;
        tn_node *n = node(&e, ops[op], 1, &type,
                          tn_arena_printf(&e.arena, "axis=%d, exclusive=%s, reverse=%s", axis,
                                          exclusive ? "True" : "False", reverse ? "True" : "False"));
        run_node(&e, n, (const void *[]){x}, out, NULL);
        for (int o = 0; o < dim[1 - axis]; o++) {
            int64_t sum = first[op];
            for (int k = 0; k < dim[axis]; k++) {
                int at = reverse ? dim[axis] - 1 - k : k, i = axis ? o * 19 + at : at * 19 + o;
                int64_t most = x[i] > sum ? x[i] : sum, least = x[i] < sum ? x[i] : sum,
                        next = op == 0   ? (int64_t)((uint64_t)sum + (uint64_t)x[i])
                               : op == 1 ? (int64_t)((uint64_t)sum * (uint64_t)x[i])
                               : op == 2 ? most
                                         : least;
                assert_int_equal(out[i], exclusive ? sum : next);
                sum = next;
            }
        }
        env_deinit(&e);
    }
}

/* ---- remainders and powers ---- */

static void remainders(void **state)
{
    (void)state;
    static const float a[] = {5.3f, -5.3f, 5.3f, -5.3f, 1e20f, 3, -4, 4, 0, 7, INFINITY, 2, 1e-20f},
                       b[] = {2, 2, -2, -2, 0.3f, INFINITY, INFINITY, 2, -3, 0, 2, NAN, 3e10f};
    enum { N = sizeof a / sizeof *a };
    const char *types[2];
    for (int floored = 0; floored < 2; floored++) {
        env e;
        float out[N];
        env_init(&e);
        types[0] = types[1] = tn_arena_printf(&e.arena, "float32 %d", (int)N);
        run_node(&e, node(&e, floored ? &tn_op_floor_mod : &tn_op_mod, 2, types, ""), (const void *[]){a, b},
                 out, NULL);
        for (int i = 0; i < N; i++) {
            float r = fmodf(a[i], b[i]), want = floored && r != 0 && (r < 0) != (b[i] < 0) ? r + b[i] : r;
            if (!(out[i] == want || (isnan(out[i]) && isnan(want))))
                fail_msg("%s(%g, %g) is %.9g, expected %.9g", floored ? "floor_mod" : "mod", a[i], b[i],
                         out[i], want);
        }
        env_deinit(&e);
    }
}

static void integer_pairs(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct { const tn_op *op; int8_t a, b, want; } row[] = {
        {&tn_op_mod, -7, 3, -1}, {&tn_op_mod, 7, -3, 1}, {&tn_op_mod, 7, 0, 0}, {&tn_op_mod, -128, -1, 0},
        {&tn_op_floor_mod, -7, 3, 2}, {&tn_op_floor_mod, 7, -3, -2}, {&tn_op_floor_mod, 7, 0, 0},
        {&tn_op_trunc_divide, -7, 2, -3}, {&tn_op_floor_divide, -7, 2, -4}, {&tn_op_divide, 7, 0, 0},
        {&tn_op_power, 3, 4, 81}, {&tn_op_power, -1, 127, -1}, {&tn_op_power, -1, 126, 1}, {&tn_op_power, 2, -1, 0},
        {&tn_op_power, 1, -3, 1}, {&tn_op_power, -1, -3, -1}, {&tn_op_power, 0, 0, 1}, {&tn_op_power, 2, 100, 0},
        {&tn_op_left_shift, 1, 6, 64}, {&tn_op_left_shift, 1, 8, 0}, {&tn_op_left_shift, 1, -1, 0},
        {&tn_op_right_shift, -128, 3, -16}, {&tn_op_right_shift, -5, 9, -1}, {&tn_op_right_shift, 5, -1, 0},
    };
    /* clang-format on */
    static const char *const types[] = {"int8 1", "int8 1"};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        int8_t out = 99;
        env_init(&e);
        run_node(&e, node(&e, row[i].op, 2, types, ""), (const void *[]){&row[i].a, &row[i].b}, &out, NULL);
        if (out != row[i].want)
            fail_msg("%s(%d, %d) is %d, expected %d", row[i].op->name, row[i].a, row[i].b, out, row[i].want);
        env_deinit(&e);
    }
}

/* ---- nn.pad with the tensor's own elements: numpy.pad, any width ---- */

static int mirrored(int i, int n, const char *mode)
{
    if (mode[0] == 'e')
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    while (mode[0] == 'w' && (i < 0 || i >= n))
        i += i < 0 ? n : -n;
    while (i < 0 || i >= n)
        i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

static void pads_continue(void **state)
{
    (void)state;
    static const char *const mode[] = {"edge", "reflect", "wrap"};
    for (int m = 0; m < 3; m++)
        for (int n = 1; n < 5; n++)
            for (int before = -1; before < 9; before += 2) {
                env e;
                env_init(&e);
                int cut = mode[m][0] == 'w' && before < 0 ? -before : 0; /* what is left of the axis wraps */
                if (n + before + 3 > 0 && n > cut) {
                    const char *type = tn_arena_printf(&e.arena, "float32 %d", n);
                    float *x = floats(&e, n, 1), *out = floats(&e, 16, 2);
                    run_node(&e,
                             node(&e, &tn_op_nn_pad, 1, &type,
                                  tn_arena_printf(&e.arena, "pad_width=[%d, 3], pad_mode=\"%s\"", before,
                                                  mode[m])),
                             (const void *[]){x}, out, NULL);
                    for (int i = 0; i < n + before + 3; i++)
                        assert_true(out[i] == x[cut + mirrored(i - before - cut, n - cut, mode[m])]);
                }
                env_deinit(&e);
            }
}

/* ---- random: the moments of its distribution; a seed gives the same again ---- */

static void random_numbers(void **state)
{
    (void)state;
    enum { N = 20000 };
    static float x[2][N];
    for (int normal = 0; normal < 2; normal++) {
        double sum = 0, square = 0;
        for (int seed = 0; seed < 2; seed++) {
            env e;
            env_init(&e);
            run_node(
                &e,
                node(&e, &tn_op_random, 0, NULL,
                     tn_arena_printf(&e.arena, "shape=[%d], low=%d, high=3, seed=%d, distribution=\"%s\"", N,
                                     normal ? 1 : -1, seed, normal ? "normal" : "uniform")),
                NULL, x[seed], NULL);
            env_deinit(&e);
        }
        for (int i = 0; i < N; i++) {
            sum += (double)x[0][i];
            square += (double)x[0][i] * (double)x[0][i];
            assert_true(normal || (x[0][i] >= -1 && x[0][i] < 3));
        }
        double mean = sum / N, deviation = sqrt(square / N - mean * mean);
        assert_true(fabs(mean - 1) < 0.1 && fabs(deviation - (normal ? 3 : 4 / sqrt(12))) < 0.1);
        assert_true(x[0][0] != x[1][0] && x[0][0] != x[0][1]);
    }
}

/* ---- strided_set: only the slice is replaced ---- */

static void slices_are_set(void **state)
{
    (void)state;
    static const int row[][3] = {{0, 10, 1}, {2, 7, 1}, {1, 9, 3}, {9, 10, 1}, {3, 3, 1}, {-4, 100, 2}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        env e;
        env_init(&e);
        int begin = row[i][0] < 0 ? row[i][0] + 10 : row[i][0], end = row[i][1] > 10 ? 10 : row[i][1], n = 0;
        float *x = floats(&e, 20, 1), *v = floats(&e, 20, 2), *out = floats(&e, 20, 3), want[20];
        memcpy(want, x, sizeof want);
        for (int k = begin; k < end; k += row[i][2])
            n++;
        for (int r = 0; r < 2; r++)
            for (int k = 0; k < n; k++)
                want[r * 10 + begin + k * row[i][2]] = v[r * n + k];
        const char *types[] = {"float32 2 10", tn_arena_printf(&e.arena, "float32 2 %d", n)};
        run_node(&e,
                 node(&e, &tn_op_strided_set, 2, types,
                      tn_arena_printf(&e.arena, "begin=[%d], end=[%d], strides=[%d], axes=[-1]", row[i][0],
                                      row[i][1], row[i][2])),
                 (const void *[]){x, v}, out, NULL);
        assert_memory_equal(out, want, sizeof want);
        env_deinit(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_indices_fail),
        cmocka_unit_test(scatter_fails_on_wrong_indices),
        cmocka_unit_test(scatters_combine),
        cmocka_unit_test(topk_orders),
        cmocka_unit_test(topk_of_symbolic_rows),
        cmocka_unit_test(rows_are_sorted),
        cmocka_unit_test(scans_run),
        cmocka_unit_test(remainders),
        cmocka_unit_test(integer_pairs),
        cmocka_unit_test(pads_continue),
        cmocka_unit_test(slices_are_set),
        cmocka_unit_test(random_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
