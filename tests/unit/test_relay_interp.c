/* The interpreter of Relay against values worked out by hand: symbols, several outputs, tuples, closures, groups,
 * expansions, layouts; and what it refuses. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "op/nn/nn.h"
#include "test_relay.h"

/* A float32 tensor over data of the test. */
static tn_tensor_value f32(float *at, int ndim, int64_t a, int64_t b)
{
    tn_tensor_value v = {.dtype = TN_F32, .ndim = (uint16_t)ndim, .dim = {a, b}, .at = at, .borrowed = true};
    v.n = sizeof *at * (size_t)(ndim > 0 ? a : 1) * (size_t)(ndim > 1 ? b : 1);
    return v;
}

static void run(module *m, int n_in, const tn_tensor_value in[], int n_out, tn_tensor_value out[])
{
    if (tn_relay_run(&m->g, n_in, in, n_out, out, NULL, NULL) != TN_OK)
        fail_msg("%s\n", module_diag(m));
}

static void expect(const tn_tensor_value *v, const float want[], size_t n)
{
    assert_true(tn_dtype_eq(v->dtype, TN_F32));
    assert_int_equal(v->n, n * sizeof *want);
    for (size_t i = 0; i < n; i++)
        assert_float_equal(((const float *)v->at)[i], want[i], 1e-5f);
}

static tn_status refusing(const tn_func *f, void *const arg[], const int64_t sym[], void *user)
{
    (void)arg, (void)sym, (void)user;
    return tn_error(f->ctx, "test-E1", NULL, "no");
}

static void drop(int n, tn_tensor_value out[])
{
    for (int i = 0; i < n; i++)
        tn_tensor_value_deinit(&out[i]);
}

/* dense + bias + relu with n = 1, 2, 7 rows in one compilation */
static void test_symbolic(void **state)
{
    (void)state;
    module m;
    module_open(&m);
    static const char text[] = "#[symbols = \"n in [1, 7]\"]\ndef @main(%x: Tensor[(n, 2), float32]) {\n"
                               "  nn.relu(nn.bias_add(nn.dense(%x, meta[relay.Constant][0] /* w (3, 2) */), "
                               "meta[relay.Constant][1] /* b (3) */))\n}\n";
    float w[6] = {1, 2, 3, 4, -5, -6}, b[3] = {0.5f, -10, 0};
    tn_blob blob[2] = {{.at = w, .n = sizeof w}, {.at = b, .n = sizeof b}};
    const tn_blob *all[2] = {&blob[0], &blob[1]};
    assert_int_equal(tn_relay_parse(&m.g, "t", text, sizeof text - 1,
                                    &(tn_relay_metadata){.constant = all, .n_constant = 2}),
                     TN_OK);
    static const int64_t sizes[] = {1, 2, 7, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float x[14], want[21];
        for (int64_t r = 0; r < sizes[i]; r++) {
            float p = x[2 * r] = (float)r + 1, q = x[2 * r + 1] = 1 - (float)r;
            want[3 * r] = p + 2 * q + 0.5f > 0 ? p + 2 * q + 0.5f : 0;
            want[3 * r + 1] = 3 * p + 4 * q - 10 > 0 ? 3 * p + 4 * q - 10 : 0;
            want[3 * r + 2] = -5 * p - 6 * q > 0 ? -5 * p - 6 * q : 0;
        }
        tn_tensor_value in = f32(x, 2, sizes[i], 2), out;
        uint32_t n_expr = m.pool.n;
        size_t used = m.arena.used_bytes;
        run(&m, 1, &in, 1, &out);
        assert_true(i == 0 ||
                    (m.pool.n == n_expr && m.arena.used_bytes == used)); /* another n leaves nothing behind */
        assert_int_equal(out.ndim, 2);
        assert_int_equal(out.dim[0], sizes[i]);
        assert_int_equal(out.dim[1], 3);
        expect(&out, want, (size_t)(3 * sizes[i]));
        tn_tensor_value_deinit(&out);
    }
    float x[16] = {0};
    tn_tensor_value in = f32(x, 2, 8, 2), out;
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 1, &out, NULL, NULL), TN_FAIL);
    assert_non_null(strstr(module_diag(&m), "n is 8, outside its range [1, 7] [relay-E203]"));
    assert_null(out.at);
    module_close(&m);
}

/* Small modules over x = [[1, 2], [3, 4], [5, 6]] (n = 3) and y = [10, 20]: text, then the flattened results. */
/* clang-format off */
static const struct row { const char *body; int n; struct { int n; float at[12]; } want[4]; } rows[] = {
    { "%x + %y", 1, { { 6, { 11, 22, 13, 24, 15, 26 } } } },
    { "(%x, %y)", 2, { { 6, { 1, 2, 3, 4, 5, 6 } }, { 2, { 10, 20 } } } },
    { "%0 = (%y, (%x, %y * 2f)); (%0, %0.1.1)", 4,
        { { 2, { 10, 20 } }, { 6, { 1, 2, 3, 4, 5, 6 } }, { 2, { 20, 40 } }, { 2, { 20, 40 } } } },
    { "%0 = (%y,); %1 = (%0.0 - 1f, %0); %1.1.0 + %1.0", 1, { { 2, { 19, 39 } } } },
    { "concatenate((%x, reshape(%y, newshape=[1, 2])), axis=0)", 1, { { 8, { 1, 2, 3, 4, 5, 6, 10, 20 } } } },
    { "%0 = concatenate((%x, %x), axis=0); reshape(%0, newshape=[-1])", 1,
        { { 12, { 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6 } } } },
    { "2f", 1, { { 1, { 2 } } } },
    { "sum(%x, axis=[0])", 1, { { 2, { 9, 12 } } } },
    { "%0 = max(%x, axis=[1], keepdims=True); nn.relu(%x - %0)", 1, { { 6, { 0, 0, 0, 0, 0, 0 } } } },
    { "transpose(%x)", 1, { { 6, { 1, 3, 5, 2, 4, 6 } } } },
    /* expansion, one output of several */
    { "%0 = nn.batch_norm(%x, %y, %y, %y, %y, epsilon=0); %0.0 * 1f", 1,
        { { 6, { 10 - 9 * 3.1622777f, 20 - 18 * 4.4721360f,
        10 - 7 * 3.1622777f, 20 - 16 * 4.4721360f, 10 - 5 * 3.1622777f, 20 - 14 * 4.4721360f } } } },
    { "%0 = nn.batch_norm(%x, %y, %y, %y, %y); (%0.1, %0.2)", 2, { { 2, { 10, 20 } }, { 2, { 10, 20 } } } },
    /* closures and groups */
    { "%f = fn (%p: Tensor[(n, 2), float32], %q: Tensor[(2), float32], Primitive=1) { nn.relu(%p - %q + 7f) };"
      "%f(%x, %y)", 1,
        { { 6, { 0, 0, 0, 0, 2, 0 } } } },
    { "%f = fn (%p: Tensor[(n, 2), float32], Primitive=1) { %a = %p * 2f; (%a, %a + 1f) }; %0 = %f(%x); %0.1 - %0.0", 1,
        { { 6, { 1, 1, 1, 1, 1, 1 } } } },
    { "%f = fn (%p: Tensor[(m, 2), float32]) { sum(%p, axis=[0]) }; %f(%x) + %f(concatenate((%x, %x), axis=0))", 1,
        { { 2, { 27, 36 } } } },
    { "%c = %y + 1f; %f = fn (%p: Tensor[(2), float32]) {"
      "%g = fn (%q: Tensor[(2), float32]) { %q * %c }; %g(%g(%p)) }; %f(%y)", 1,
        { { 2, { 1210, 8820 } } } },
    { "%h = fn (%f: fn (Tensor[(2), float32]) -> Tensor[(2), float32]) { %f(%f(%y)) };"
      "%g = fn (%q: Tensor[(2), float32]) { %q + 1f }; %h(%g)", 1, { { 2, { 12, 22 } } } },
    { "%f = fn (%p: Tensor[(2), float32]) { (%p, (%p + 1f, %y)) }; %0 = %f(%y); %0.1.0 + %0.1.1", 1,
        { { 2, { 21, 41 } } } },
    { "%f = fn (%p: Tensor[(2), float32]) { %p }; (%f(%y), %f(%y))", 2, { { 2, { 10, 20 } }, { 2, { 10, 20 } } } },
    /* layouts: physical inside, nothing to see outside */
    { "relayout(relayout(%x, dst_layout=\"BA\"))", 1, { { 6, { 1, 2, 3, 4, 5, 6 } } } },
    { "%0 = relayout(%x, dst_layout=\"AB4a\"); relayout(%0 + %y)", 1, { { 6, { 11, 22, 13, 24, 15, 26 } } } },
    { "%f = fn (%p: Tensor[(n, 2), float32, AB2a], Primitive=1) { %p * 2f }; %f(relayout(%x, dst_layout=\"AB2a\"))", 1,
        { { 6, { 2, 4, 6, 8, 10, 12 } } } },
    { "%0 = @double(%x); %0 + @double(%0)", 1, { { 6, { 6, 12, 18, 24, 30, 36 } } } },
};
/* clang-format on */

static void test_rows(void **state)
{
    (void)state;
    float x[6] = {1, 2, 3, 4, 5, 6}, y[2] = {10, 20};
    tn_tensor_value in[2] = {f32(x, 2, 3, 2), f32(y, 1, 2, 0)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = strstr(rows[i].body, "double(%x)") ? "Tensor[(n, 2), float32]" : NULL;
        tn_buf text = {0};
        module m;
        tn_buf_printf(&text, "def @main(%%x: Tensor[(n, 2), float32], %%y: Tensor[(2), float32]) {\n%s\n}\n",
                      rows[i].body);
        if (name)
            tn_buf_str(&text, "def @double(%x: Tensor[(k, 2), float32]) { %x + %x }\n");
        module_read(&m, tn_buf_cstr(&text));
        tn_tensor_value out[4];
        print_message("%s\n", rows[i].body);
        run(&m, 2, in, rows[i].n, out);
        for (int k = 0; k < rows[i].n; k++)
            expect(&out[k], rows[i].want[k].at, (size_t)rows[i].want[k].n);
        drop(rows[i].n, out);
        tn_buf_deinit(&text);
        module_close(&m);
    }
}

/* ---- memory ---- */

/* Heap in use at each operator; nothing is computed. (Under a sanitizer the C library reports 0.) */
typedef struct watch {
    size_t calls, least, most;
} watch;

static tn_status watching(const tn_func *f, void *const arg[], const int64_t sym[], void *user)
{
    (void)f, (void)arg, (void)sym;
    watch *w = user;
    struct mallinfo2 heap = mallinfo2();
    size_t used = heap.uordblks + heap.hblkhd;
    w->least = w->calls == 0 || used < w->least ? used : w->least;
    w->most = used > w->most ? used : w->most;
    w->calls++;
    return TN_OK;
}

/* A chain of 2000 operators over 1 MB holds a few values, not 2000. */
static void test_bounded(void **state)
{
    (void)state;
    enum { N = 1 << 18, CHAIN = 2000 };
    tn_buf text = {0};
    module m;
    watch w = {0};
    tn_buf_printf(&text, "def @main(%%x: Tensor[(%d), float32]) {\n%%0 = exp(%%x);\n", N);
    for (int i = 1; i < CHAIN; i++)
        tn_buf_printf(&text, "%%%d = %s(%%%d);\n", i, i % 3 ? "nn.relu" : "exp", i - 1);
    tn_buf_printf(&text, "%%%d\n}\n", CHAIN - 1);
    module_read(&m, tn_buf_cstr(&text));
    float *x = calloc(N, sizeof *x);
    tn_tensor_value in = f32(x, 1, N, 0), out;
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 1, &out, watching, &w), TN_OK);
    assert_int_equal(w.calls, CHAIN);
    assert_true(w.most - w.least < 16 * N * sizeof *x);
    tn_tensor_value_deinit(&out);
    free(x);
    tn_buf_deinit(&text);
    module_close(&m);
}

/* ---- one node ---- */

static tn_node *find(module *m, const tn_op *op)
{
    tn_node *n = m->g.func->body->first;
    while (n && n->op != op)
        n = n->next;
    return n;
}

static void test_eval_node(void **state)
{
    (void)state;
    static const char text[] =
        "def @main() {\n  %0 = nn.batch_norm(meta[relay.Constant][0] /* (2, 2) */, meta[relay.Constant][1] "
        "/* (2) */, "
        "meta[relay.Constant][1], meta[relay.Constant][1], meta[relay.Constant][1], epsilon=0);\n"
        "  %1 = relayout(meta[relay.Constant][0], dst_layout=\"AB3a\");\n"
        "  %2 = fn (%a: Tensor[(2, 2), float32], Primitive=1) { (%a, %a * 2f) };\n"
        "  %3 = %2(meta[relay.Constant][0]);\n  (%0, relayout(%1), %3.1)\n}\n";
    float a[4] = {1, 2, 3, 4}, b[2] = {4, 4};
    tn_blob blob[2] = {{.at = a, .n = sizeof a}, {.at = b, .n = sizeof b}};
    const tn_blob *all[2] = {&blob[0], &blob[1]};
    module m;
    tn_tensor_value out[3];
    module_open(&m);
    assert_int_equal(tn_relay_parse(&m.g, "t", text, sizeof text - 1,
                                    &(tn_relay_metadata){.constant = all, .n_constant = 2}),
                     TN_OK);
    assert_int_equal(tn_relay_eval_node(&m.g, find(&m, &tn_op_nn_batch_norm), out, NULL, NULL), TN_OK);
    expect(&out[0], (float[]){-2, 0, 2, 4}, 4);
    expect(&out[1], b, 2);
    expect(&out[2], b, 2);
    drop(3, out);
    assert_int_equal(tn_relay_eval_node(&m.g, find(&m, &tn_op_relayout), out, NULL, NULL), TN_OK);
    assert_int_equal(out[0].dim[0], 2);
    expect(&out[0], (float[]){1, 3, 0, 2, 4, 0}, 6); /* [A/3, B, 3 of a] */
    drop(1, out);
    assert_int_equal(tn_relay_eval_node(&m.g, find(&m, &tn_op_call), out, NULL, NULL), TN_OK);
    expect(&out[0], a, 4);
    expect(&out[1], (float[]){2, 4, 6, 8}, 4);
    drop(2, out);
    module_close(&m);
}

/* ---- layouts ---- */

/* Against the definition in ir/layout: every logical index lands where tn_layout_index says. */
static void test_relayout(void **state)
{
    (void)state;
    static const struct {
        const char *layout;
        int ndim;
        int64_t dim[4];
    } cases[] = {
        {"BA", 2, {3, 5}},
        {"AB4a", 2, {6, 3}},
        {"AB4b2a", 2, {5, 7}},
        {"NCHW4c", 4, {2, 6, 3, 2}},
        {"NHWC:NCHW8c", 4, {1, 3, 2, 9}},
        {"A8a", 1, {3}},
        {"AB4a2a", 2, {17, 2}},
        {"AB2a", 2, {0, 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        module m;
        module_open(&m);
        const tn_layout *l = NULL;
        assert_int_equal(tn_layout_parse(&m.ctx, cases[i].layout, NULL, &l), TN_OK);
        int nd = cases[i].ndim, na = tn_layout_naxis(l, nd);
        const tn_expr *dim[4], *phys[16], *index[4], *at[16];
        int16_t data[512];
        tn_tensor_value v = {.dtype = TN_DT(TN_INT, 16), .ndim = (uint16_t)nd, .at = data, .borrowed = true},
                        to, back;
        size_t n = 1, bytes, want_bytes = sizeof *data;
        for (int d = 0; d < nd; d++) {
            v.dim[d] = cases[i].dim[d];
            n *= (size_t)v.dim[d];
            dim[d] = tn_idx(&m.pool, v.dim[d]);
        }
        for (size_t k = 0; k < n; k++)
            data[k] = (int16_t)(k + 1);
        v.n = n * sizeof *data;
        tn_layout_dims(&m.pool, l, nd, dim, phys);
        for (int a = 0; a < na; a++)
            want_bytes *= (size_t)phys[a]->u.i;
        assert_true(tn_relay_bytes(v.dtype, nd, v.dim, l, &bytes));
        assert_int_equal(bytes, want_bytes);
        assert_int_equal(tn_relay_relayout(&m.ctx, &v, NULL, l, &to), TN_OK);
        assert_int_equal(to.n, bytes);
        size_t sum = 0;
        for (size_t k = 0; k < n; k++) {
            size_t rest = k, offset = 0;
            for (int d = nd - 1; d >= 0; d--) {
                index[d] = tn_idx(&m.pool, (int64_t)(rest % (size_t)v.dim[d]));
                rest /= (size_t)v.dim[d];
            }
            tn_layout_index(&m.pool, l, nd, index, at);
            for (int a = 0; a < na; a++)
                offset = offset * (size_t)phys[a]->u.i + (size_t)at[a]->u.i;
            assert_int_equal(((int16_t *)to.at)[offset], data[k]);
        }
        for (size_t k = 0; k < bytes / sizeof *data; k++)
            sum += (size_t)((int16_t *)to.at)[k];
        assert_int_equal(sum, n * (n + 1) / 2); /* the rest is 0 */
        assert_int_equal(tn_relay_relayout(&m.ctx, &to, l, NULL, &back), TN_OK);
        assert_int_equal(back.n, v.n);
        assert_memory_equal(back.at, data, v.n);
        tn_tensor_value_deinit(&to);
        tn_tensor_value_deinit(&back);
        module_close(&m);
    }
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    float x[6] = {0};
    static const struct {
        const char *text;
        int n_in, n_out;
        int ndim;
        int64_t a, b;
        const char *want;
    } cases[] = {
        {"def @f() { 1f }", 0, 1, 0, 0, 0,
         "there is no function @main; call the function to run so [relay-E200]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { %x }", 0, 1, 2, 3, 2,
         "@main takes 1 inputs, but 0 are given [relay-E201]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { (%x, %x) }", 1, 1, 2, 3, 2,
         "@main has 2 results, but 1 are requested [relay-E201]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { %x }", 1, 2, 2, 3, 2,
         "@main has 1 results, but 2 are requested [relay-E201]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { %x }", 1, 1, 1, 3, 0,
         "the value for parameter x has another rank or dtype [relay-E202]"},
        {"def @main(%x: Tensor[(n, 2), int32]) { %x }", 1, 1, 2, 3, 2,
         "the value for parameter x has another rank or dtype [relay-E202]"},
        {"def @main(%x: Tensor[(n, n), float32]) { %x }", 1, 1, 2, 3, 2,
         "dimension 1 of parameter x is 2, but must be 3 [relay-E203]"},
        {"def @main(%x: Tensor[(n, 3), float32]) { %x }", 1, 1, 2, 3, 2,
         "dimension 1 of parameter x is 2, but must be 3 [relay-E203]"},
        {"def @main(%x: Tensor[(n, n/3 + 2), float32]) { %x }", 1, 1, 2, 3, 2,
         "dimension 1 of parameter x is 2, but must be 3 [relay-E203]"},
        {"def @main(%x: Tensor[(n, 2 - n), float32]) { %x }", 1, 1, 2, 3, 2,
         "the dimension 2 - n has no value here: a symbol is unbound, or the result is negative or too large "
         "[relay-E205]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { %x + meta[relay.Constant][0] /* bias (2) */ }", 1, 1, 2, 3,
         2, "the constant bias has no data; read the text together with its .params file [relay-E204]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { sum(%x, axis=[0]) }", 1, 1, 2, 0, 2,
         "n is 0, and result 0 would not be empty: at least 1 is needed [relay-E203]"},
        {"def @main(%x: Tensor[(n, 2), float32]) {\n"
         "  loop (3i64, True, %x) (%i: int64, %p: Tensor[(?, 2), float32]) { (True, concatenate((%p, %p), "
         "axis=0)) } }",
         1, 1, 2, 0, 2,
         "n is 0, and result 0 has a shape that depends on data: at least 1 is needed [relay-E203]"},
        {"def @main(%x: Tensor[(n, n), float32]) { %x }", 1, 1, 2, 0, 2,
         "dimension 1 of parameter x is 2, but must be 0 [relay-E203]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { string.number(string.of_number(%x)) }", 1, 1, 2, 0, 2,
         "n is 0, outside its range [1, 2147483647] [relay-E203]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { fn () { %x } }", 1, 1, 2, 3, 2,
         "a result of @main is a function; only tensors can be returned [relay-E206]"},
        {"def @main(%x: Tensor[(n, 2), float32]) { seq.length(seq.of(%x)) }", 1, 1, 2, 3, 2,
         "the host function seq.length cannot be called here [relay-E082]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        module m;
        module_read(&m, cases[i].text);
        tn_tensor_value in = f32(x, cases[i].ndim, cases[i].a, cases[i].b), out[2];
        int status = tn_relay_run(&m.g, cases[i].n_in, &in, cases[i].n_out, out, NULL, NULL);
        assert_int_equal(status, TN_FAIL);
        if (!strstr(module_diag(&m), cases[i].want))
            fail_msg("%s\nwant: %s\ngot:  %s", cases[i].text, cases[i].want, module_diag(&m));
        assert_null(out[0].at);
        module_close(&m);
    }
}

/* An extent of 0 out of range: the results are empty, of the extents that their types say, and nothing is evaluated. */
static void test_empty(void **state)
{
    (void)state;
    float x[2] = {0};
    static const int64_t want[3][2] = {{0, 2}, {3, 0}, {0, 0}};
    module m;
    module_read(
        &m, "#[symbols = \"n in [2, 7]\"]\n"
            "def @main(%x: Tensor[(n, 2), float32]) {\n"
            "  %s = sum(%x, axis=[1]);\n"
            "  (concatenate((%x, %x), axis=0), broadcast_to(%s, shape=[3, n]), cast(%s, dtype=\"int64\")) }");
    tn_tensor_value in = f32(x, 2, 0, 2), out[3];
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 3, out, refusing, NULL), TN_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(out[i].ndim, i < 2 ? 2 : 1);
        for (int d = 0; d < out[i].ndim; d++)
            assert_int_equal(out[i].dim[d], want[i][d]);
        assert_int_equal(out[i].n, 0);
        assert_non_null(out[i].at);
    }
    assert_true(tn_dtype_eq(out[1].dtype, TN_F32) && tn_dtype_eq(out[2].dtype, TN_I64));
    drop(3, out);
    in = f32(x, 2, 1, 2); /* out of range as well */
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 3, out, NULL, NULL), TN_FAIL);
    assert_non_null(strstr(module_diag(&m), "n is 1, outside its range [2, 7] [relay-E203]"));
    module_close(&m);
}

/* An input whose bytes are fewer than its extents say is refused, not read over. */
static void test_short_input(void **state)
{
    (void)state;
    float x[6] = {0};
    module m;
    module_read(&m, "def @main(%x: Tensor[(n, 2), float32]) { %x }");
    tn_tensor_value in = f32(x, 2, 3, 2), out;
    in.n = 20;
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 1, &out, NULL, NULL), TN_FAIL);
    assert_non_null(strstr(module_diag(&m), "parameter x needs 24 bytes, but 20 are given [relay-E202]"));
    in = f32(x, 2, INT64_MAX, 2);
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 1, &out, NULL, NULL), TN_FAIL);
    module_close(&m);
}

/* A failing evaluator leaves nothing behind. */
static void test_eval_fails(void **state)
{
    (void)state;
    float x[6] = {0}, y[2] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_buf text = {0};
        module m;
        tn_buf_printf(&text,
                      "def @main(%%x: Tensor[(n, 2), float32], %%y: Tensor[(2), float32]) {\n%s\n}\n"
                      "def @double(%%x: Tensor[(k, 2), float32]) { %%x + %%x }\n",
                      rows[i].body);
        module_read(&m, tn_buf_cstr(&text));
        tn_tensor_value in[2] = {f32(x, 2, 3, 2), f32(y, 1, 2, 0)}, out[4];
        tn_status s = tn_relay_run(&m.g, 2, in, rows[i].n, out, refusing, NULL);
        if (s == TN_OK)
            drop(rows[i].n, out); /* nothing to compute: %x and relayouts */
        tn_buf_deinit(&text);
        module_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbolic),    cmocka_unit_test(test_rows),       cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_eval_node),   cmocka_unit_test(test_relayout),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_short_input), cmocka_unit_test(test_eval_fails), cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
