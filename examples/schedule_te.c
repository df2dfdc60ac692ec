/* A product of matrices as a tensor expression, scheduled step by step, with its speed after each step.
 *
 *     cc schedule_te.c $(pkg-config --cflags --libs tenon) -o schedule_te && ./schedule_te */
#include <tenon/te.h>

#include <stdio.h>

enum { N = 256 };
static float a[N][N], b[N][N];
static tenon_kernel *matmul(tenon *t)
{
    const char *type = "Tensor[(256, 256), float32]";
    tenon_kernel *k = tenon_kernel_new(t, "matmul");
    tenon_te *x = tenon_te_input(k, "a", type), *y = tenon_te_input(k, "b", type);
    tenon_te *c = tenon_te_new(k, "c", type, "i j");
    tenon_expr *r = tenon_te_over(c, "r", "256"), *i = tenon_var(c, "i"), *j = tenon_var(c, "j");
    tenon_expr *left = tenon_load(c, x, 2, (tenon_expr *[]){i, r});
    tenon_expr *right = tenon_load(c, y, 2, (tenon_expr *[]){r, j});
    tenon_te_reduce(c, "sum", tenon_mul(c, left, right));
    return tenon_kernel_end(k, 1, &c) ? NULL : k;
}

/* Builds the kernel as it is scheduled now and prints its speed; returns whether its result is right. */
static int try_it(tenon_kernel *k, const char *step)
{
    DLTensor x = {a, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){N, N}, NULL, 0}, y = x, out;
    tnr_module *code;
    tnr_instance *run = NULL;
    tnr_error err = {0};
    double seconds = 1, right = 0;
    if (tenon_kernel_build(k, NULL, &code))
        return 0;
    y.data = b;
    if (!tnr_instance_new(code, NULL, &run, &err) && !tnr_set_input(run, "a", &x, &err) &&
        !tnr_set_input(run, "b", &y, &err) && !tenon_time(run, 0.05, &seconds, &err) &&
        !tnr_get_output_at(run, 0, &out, &err))
        right = ((const float *)out.data)[3 * N + 5] == 3 * 5 * N; /* a is its row, b its column */
    printf("%7.2f GFLOP/s  %s%s\n", 2e-9 * N * N * N / seconds, step, err.message);
    tnr_instance_free(run);
    tnr_module_release(code);
    return right == 1;
}

int main(void)
{
    static const char *const steps[] = {
        "i j r = loops \"out\"", "jo ji = split j 16", "io ii = split i 8", "reorder io jo r ii ji",
        "vectorize ji",          "unroll ii",          "parallel io"};
    tenon *t = tenon_new();
    tenon_kernel *k = matmul(t);
    for (int i = 0; i < N * N; i++)
        a[i / N][i % N] = (float)(i / N), b[i / N][i % N] = (float)(i % N);
    int ok = k && try_it(k, "as it is defined");
    for (size_t i = 0; ok && i < sizeof steps / sizeof *steps; i++)
        ok = !tenon_step(k, steps[i]) && try_it(k, steps[i]);
    printf("%s%s\n", tenon_messages(t), ok ? "right" : "wrong");
    tenon_free(t);
    return !ok;
}
