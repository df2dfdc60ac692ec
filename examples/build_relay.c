/* A network built by hand: passes run over it, LLVM compiles it in this process, and its numbers are checked.
 *
 *     cc build_relay.c $(pkg-config --cflags --libs tenon) -lm -o build_relay && ./build_relay */
#include <tenon/relay.h>
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>

enum { IN = 4, OUT = 3, ROWS = 2 };
static const float weight[OUT][IN] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 1, 1}}, bias[OUT] = {0.5f, -9, 0};

/* relu(x * weight^T + bias) of n rows */
static tenon_module *build(tenon *t)
{
    tenon_module *m = tenon_module_new(t);
    tenon_symbol(m, "n", 1, 1000);
    tenon_function *f = tenon_function_new(m, "main");
    tenon_value *x = tenon_param(f, "x", "Tensor[(n, 4), float32]");
    tenon_value *w = tenon_constant(f, "float32", 2, (int64_t[]){OUT, IN}, weight);
    tenon_value *b = tenon_constant(f, "float32", 1, (int64_t[]){OUT}, bias);
    tenon_value *y = tenon_call(f, "nn.dense", 2, (tenon_value *[]){x, w}, "units=3");
    y = tenon_relay(f, "nn.relu(add(%0, %1))", 2, (tenon_value *[]){y, b});
    printf("y: %s\n", tenon_value_type(y));
    return tenon_function_end(f, 1, &y) ? NULL : m;
}

static int is_right(const float *y, float x[ROWS][IN])
{
    int right = 1;
    for (int k = 0; k < ROWS * OUT; k++) {
        float want = bias[k % OUT];
        for (int i = 0; i < IN; i++)
            want += x[k / OUT][i] * weight[k % OUT][i];
        printf("%g%c", (double)y[k], k % OUT < OUT - 1 ? ' ' : '\n');
        right &= fabsf(y[k] - (want > 0 ? want : 0)) < 1e-5f;
    }
    return right;
}

int main(void)
{
    float x[ROWS][IN] = {{1, 2, 3, 4}, {10, 20, 30, 40}};
    DLTensor out, in = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){ROWS, IN}, NULL, 0};
    tnr_module *code;
    tnr_instance *run;
    tnr_error err;
    tenon *t = tenon_new();
    tenon_module *m = build(t);
    if (!m || tenon_pass_run(m, "SimplifyExpr,FoldConstant", NULL) || tenon_build_here(m, NULL, &code, NULL))
        return fprintf(stderr, "%s", tenon_messages(t)), 1;
    if (tnr_instance_new(code, NULL, &run, &err) || tnr_set_input(run, "x", &in, &err) ||
        tnr_run(run, &err) || tnr_get_output_at(run, 0, &out, &err))
        return fprintf(stderr, "%s\n", err.message), 1;
    puts(is_right(out.data, x) ? "right" : "wrong");
    tnr_instance_free(run);
    tnr_module_release(code);
    tenon_free(t);
    return 0;
}
