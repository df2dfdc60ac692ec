/* tn_flat_in_place: rows of functions that may or may not be computed over their input; and random functions, where
 * whatever is allowed gives the same numbers in place, with the tasks in order and in reverse. */
#include "base/rng.h"
#include "lower/lower.h"
#include "tir_fixture.h"

#include <stdio.h>

typedef struct {
    const char *text;
    bool allowed;
} row;

#define F(body) "phase @f(a: f32[256]) -> (out: f32[256]) {\n  parallel for t < 16:\n" body "}\n"

static const row rows[] = {
    {F("    out[t*16 : 16] = a[t*16 : 16]\n"), true},
    {F("    for j < 16:\n      out[t*16 + j] = a[t*16 + j]\n"), true},
    /* a value read before a store, whatever it is used for later */
    {F("    let x: f32 = a[t]\n    out[t] = x\n    out[t] = x + x\n"), true},
    /* the row is read as a whole, then written */
    {F("    buffer s: f32[1] in register\n    s[0] = 0f\n    for j < 16:\n      s[0] = s[0] + a[t*16 + j]\n"
       "    for j < 16:\n      out[t*16 + j] = s[0]\n"),
     true},
    /* ... but not while it is written */
    {F("    for j < 16:\n      out[t*16 + j] = a[t*16]\n"), false},
    {F("    out[t*16] = 0f\n    out[t*16 + 1] = a[t*16]\n"), false},
    {F("    out[t*16] = 0f\n    out[t*16 + 1] = a[t*16 + 2]\n"), true},
    /* a shift: another task, or an iteration that ran before */
    {F("    out[t] = a[t + 1]\n"), false},
    {F("    for j < 15:\n      out[t*16 + j] = a[t*16 + j + 1]\n"),
     false}, /* right in this order, but not proved */
    {F("    for j < 15:\n      out[t*16 + j + 1] = a[t*16 + j]\n"), false},
    /* transposed */
    {F("    for j < 16:\n      out[t*16 + j] = a[j*16 + t]\n"), false},
    /* two numbers in one variable */
    {F("    out[t/4*64 + t%4*16 : 16] = a[t/4*64 + t%4*16 : 16]\n"), true},
    {F("    out[t/4*64 + t%4*16 : 16] = a[t/4*64 + t%4*16 : 16]\n"
       "    out[t/4*64 + t%4*16 + 16 : 16] = a[t/4*64 + t%4*16 + 16 : 16]\n"),
     false},
    /* columns of two rows each: the rows of one task lie between those of others */
    {F("    out[t/8*128 + t%8*8 : 8] = a[t/8*128 + t%8*8 : 8]\n"
       "    out[t/8*128 + t%8*8 + 64 : 8] = a[t/8*128 + t%8*8 + 64 : 8]\n"),
     true},
    /* sides of a branch exclude each other; what follows a branch does not */
    {F("    if t < 3:\n      out[t] = 1f\n    else:\n      out[t] = a[t]\n"), true},
    {F("    if t < 3:\n      out[t] = 1f\n    out[t] = a[t]\n"), false},
    {F("    if a[t] < 3f:\n      out[t] = 1f\n"), true},
    /* overlapping intervals in one statement */
    {F("    out[t*16 : 8] = a[t*16 + 4 : 8]\n"), false},
    {F("    out[t*16 : 8] = a[t*16 + 8 : 8]\n"), true},
    {F("    out[ramp(t*16, 2, 8)] = a[ramp(t*16, 2, 8)]\n"), false}, /* with gaps: not looked at */
    /* rows of 13: the last lanes of a row are masked off, or not */
    {F("    out[t*13 : 8] = a[t*13 : 8]\n"
       "    out[t*13 + 8 : 8] = (a[t*13 + 8 : 8] mask ramp(8, 1, 8) < splat(13, 8) else splat(0f, 8)) "
       "mask ramp(8, 1, 8) < splat(13, 8)\n"),
     true},
    {F("    out[t*13 : 8] = a[t*13 : 8]\n"
       "    out[t*13 + 8 : 8] = (a[t*13 + 8 : 8] mask ramp(8, 1, 8) < splat(14, 8) else splat(0f, 8)) "
       "mask ramp(8, 1, 8) < splat(14, 8)\n"),
     false},
    /* phases of many iterations, all loads before */
    {"phase @f(a: f32[4096]) -> (out: f32[4096]) {\n  buffer s: f32[16] at 0\n  parallel for t < 16: for i < "
     "16, j < 16:\n"
     "    s[t] = a[t*256 + i*16 + j]\n  parallel for t < 16: for i < 16, j < 16:\n    out[j*256 + i*16 + t] "
     "= s[t]\n}\n",
     true},
    /* an index that comes from data */
    {F("    out[t] = a[index(a[t])]\n"), false},
    /* work for nothing: no load at all */
    {F("    out[t] = 1f\n"), true},
    /* other size, other type */
    {"phase @f(a: f32[16]) -> (out: f32[256]) {\n  parallel for t < 16:\n    out[t] = a[t]\n}\n", false},
    {"phase @f(a: i32[256]) -> (out: f32[256]) {\n  parallel for t < 16:\n    out[t] = f32(a[t])\n}\n",
     false},
    /* phases: all loads before all stores, or the same elements twice */
    {"phase @f(a: f32[256]) -> (out: f32[256]) {\n  buffer s: f32[16] at 0\n  parallel for t < 16:\n"
     "    s[t] = a[t*16 + 3]\n  parallel for t < 16:\n    out[t] = s[15 - t]\n}\n",
     true},
    {"phase @f(a: f32[256]) -> (out: f32[256]) {\n  parallel for t < 16:\n    out[t] = 1f\n"
     "  parallel for t < 16:\n    out[t + 16] = a[t]\n}\n",
     false},
    {"phase @f(a: f32[256]) -> (out: f32[256]) {\n  parallel for t < 16:\n    out[t] = a[t]\n"
     "  parallel for t < 16:\n    out[t + 16] = a[t + 16]\n}\n",
     true},
    /* symbols: rows of 8, whatever their number; rows whose length is a symbol are not proved apart */
    {"phase @f(a: f32[n*8]) -> (out: f32[n*8]) {\n  parallel for t < n:\n    out[t*8 : 8] = a[t*8 : 8]\n}\n",
     true},
    {"phase @f(a: f32[n*8]) -> (out: f32[n*8]) {\n  parallel for t < 8: for j < n:\n    out[t*n + j] = a[t*n "
     "+ j]\n}\n",
     false},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture x;
        fixture_init(&x);
        tn_func *f = read_func(&x, rows[i].text);
        if (tn_flat_in_place(f, 0, 0) != rows[i].allowed)
            fail_msg("%s%s", rows[i].text, rows[i].allowed ? "should be allowed" : "should be refused");
        fixture_deinit(&x);
    }
}

/* Outputs may lie over inputs each for itself; what is read of an output is no input. */
static void test_two_outputs(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = read_func(
        &x, "phase @f(a: f32[16], b: f32[16]) -> (out: f32[16], out1: f32[16]) {\n  parallel for t < 16:\n"
            "    out[t] = a[t] + b[t]\n    out1[t] = out[t] * b[t]\n}\n");
    assert_true(tn_flat_in_place(f, 0, 0));
    assert_false(tn_flat_in_place(f, 1, 0));
    assert_true(tn_flat_in_place(f, 0, 1));
    assert_true(tn_flat_in_place(f, 1, 1));
    fixture_deinit(&x);
}

/* A call may have the output over one input and another one elsewhere. */
static void test_two_inputs(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f =
        read_func(&x, "phase @f(a: f32[16], b: f32[16]) -> (out: f32[16]) {\n  parallel for t < 16:\n"
                      "    out[t] = a[t] + b[15 - t]\n}\n");
    assert_true(tn_flat_in_place(f, 0, 0));
    assert_false(tn_flat_in_place(f, 1, 0));
    fixture_deinit(&x);
}

/* ---- random functions ---- */

enum { ELEMENTS = 512, SEEDS = 3000 };

typedef struct {
    tn_rng r;
    tn_buf out;
    int extent[3], n_loop; /* loop 0 is the tasks */
    const char *task;      /* how the task's number is written */
} writer;

static int below(writer *w, int n) { return (int)tn_rng_below(&w->r, (uint64_t)n); }

/* Row-major in the loops around, mostly; other coefficients, parts of the task's number, a constant. */
static void write_index(writer *w)
{
    static const char *const names[] = {"", "j", "k"};
    int c = below(w, 4) ? 1 : 4;
    tn_buf_printf(&w->out, "%d", below(w, 3) ? 0 : below(w, 6));
    for (int l = w->n_loop - 1; l >= 0; l--) {
        int coef = below(w, 8) ? c : below(w, 9);
        if (l == 0 && below(w, 4) == 0)
            tn_buf_printf(&w->out, " + %s/2*%d + %s%%2*%d", w->task, 2 * coef, w->task,
                          below(w, 3) ? coef : c);
        else
            tn_buf_printf(&w->out, " + %s*%d", l ? names[l] : w->task, coef);
        c *= w->extent[l];
    }
}

static void write_indent(writer *w)
{
    for (int i = 0; i <= w->n_loop; i++)
        tn_buf_str(&w->out, "  ");
}

/* out[i] = a[i]*3 + a[k], i written once or twice. */
static void write_store(writer *w)
{
    tn_buf index = {0}, was = w->out;
    w->out = index;
    write_index(w);
    index = w->out;
    w->out = was;
    write_indent(w);
    const char *lanes = below(w, 4) ? "" : " : 4";
    tn_buf_printf(&w->out, "out[%s%s] = a[%s%s]*%s", tn_buf_cstr(&index), lanes, tn_buf_cstr(&index), lanes,
                  *lanes ? "splat(3f, 4)" : "3f");
    if (below(w, 3) == 0) {
        tn_buf_str(&w->out, " + a[");
        write_index(w);
        tn_buf_printf(&w->out, "%s]", lanes);
    }
    tn_buf_char(&w->out, '\n');
    tn_buf_deinit(&index);
}

static void write_list(writer *w)
{
    int n = 1 + (below(w, 3) == 0);
    for (int i = 0; i < n; i++) {
        int what = below(w, 5);
        if (what < 2 && w->n_loop < 3) {
            write_indent(w);
            w->extent[w->n_loop] = 1 + below(w, 4);
            tn_buf_printf(&w->out, "for %s < %d:\n", w->n_loop == 1 ? "j" : "k", w->extent[w->n_loop]);
            w->n_loop++;
            write_list(w);
            w->n_loop--;
        } else {
            write_store(w);
        }
    }
}

static const char *write_func(writer *w, uint64_t seed, bool reversed)
{
    char last[32];
    w->r = (tn_rng){seed};
    w->n_loop = 1;
    w->extent[0] = 1 + below(w, 6);
    snprintf(last, sizeof last, "(%d - t)", w->extent[0] - 1);
    w->task = reversed ? last : "t";
    tn_buf_clear(&w->out);
    tn_buf_printf(&w->out, "phase @f(a: f32[%d]) -> (out: f32[%d]) {\n  parallel for t < %d:\n", ELEMENTS,
                  ELEMENTS, w->extent[0]);
    write_list(w);
    tn_buf_str(&w->out, "}\n");
    return tn_buf_cstr(&w->out);
}

static void fill(float *x)
{
    for (int i = 0; i < ELEMENTS; i++)
        x[i] = (float)(i + 1);
}

static void run(fixture *x, const char *text, bool in_place, float *out)
{
    float *a = tn_arena_alloc(&x->arena, ELEMENTS * sizeof *a, 64);
    fill(a);
    fill(out);
    assert_int_equal(tn_func_run(read_func(x, text), (void *[]){in_place ? out : a, out}, NULL), TN_OK);
}

static void test_random(void **state)
{
    int allowed = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fixture x;
        writer w = {0};
        float apart[ELEMENTS], over[ELEMENTS];
        fixture_init(&x);
        tn_func *f = read_func(&x, write_func(&w, seed, false));
        if (tn_flat_in_place(f, 0, 0)) {
            allowed++;
            run(&x, tn_buf_cstr(&w.out), false, apart);
            run(&x, tn_buf_cstr(&w.out), true, over);
            bool same = memcmp(apart, over, sizeof over) == 0;
            const char *text = tn_arena_strdup(&x.arena, tn_buf_cstr(&w.out));
            run(&x, write_func(&w, seed, true), true, over);
            /* tasks that write the same element make a function wrong by itself: leave those to their own order */
            float reversed[ELEMENTS];
            run(&x, tn_buf_cstr(&w.out), false, reversed);
            same = same && memcmp(reversed, over, sizeof over) == 0;
            if (!same)
                fail_msg("seed %d is not the same in place:\n%s", (int)seed, text);
        }
        tn_buf_deinit(&w.out);
        fixture_deinit(&x);
    }
    if (allowed < SEEDS / 10)
        fail_msg("only %d of %d were allowed", allowed, SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_two_inputs),
        cmocka_unit_test(test_two_outputs),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
