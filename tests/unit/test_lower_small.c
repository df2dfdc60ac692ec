/* LowerSmall: conversions written as arithmetic on bits give what tn_eval_cast gives, for every 16-bit float
 * and for every boundary between two of them. */
#include "base/rng.h"
#include "lower_program.h"
#include "sanitized.h"

#include <math.h>

static const tn_dtype halves[] = {{TN_FLOAT, 16, 1}, {TN_BFLOAT, 16, 1}};

/* A machine without float16 conversions. */
static void build(world *w, const tn_expr *(*make)(tn_pool *p, const tn_expr *const arg[]), tn_dtype x,
                  tn_dtype y, program *out)
{
    tn_func *f = tn_func_new(&w->ctx, &w->arena, &w->pool, "f");
    tn_machine m = machine_with(false);
    program_init(out, f, x, y);
    assert_int_equal(program_lower(f, make(&w->pool, out->arg), tn_lower_small, &m, out), TN_OK);
    for (int i = 0; i < out->n; i++) { /* nothing computes with small floats */
        const tn_expr *e = out->node[i];
        assert_true(!tn_dtype_is_small(e->dtype) || e->kind == TN_E_VAR || e->kind == TN_E_BITCAST ||
                    e->kind == TN_E_SELECT || e->kind == TN_E_FLOAT);
        assert_true(tn_dtype_eq(e->dtype, tn_dtype_stored(e->dtype)));
    }
    out->arg[0] = tn_var(&w->pool, tn_dtype_stored(x), (uint32_t)out->arg[0]->u.i);
    out->arg[1] = tn_var(&w->pool, tn_dtype_stored(y), (uint32_t)out->arg[1]->u.i);
}

static tn_dtype target;
static const tn_expr *cast_x(tn_pool *p, const tn_expr *const arg[]) { return tn_cast(p, target, arg[0]); }

static bool same(tn_dtype t, tn_scalar a, tn_scalar b)
{
    if (!tn_dtype_is_float(t))
        return a.i == b.i;
    return (isnan(a.f) && isnan(b.f)) || (a.f == b.f && !signbit(a.f) == !signbit(b.f));
}

static void check(program *p, tn_dtype from, tn_dtype to, tn_scalar x)
{
    tn_scalar got = program_run(p, x, x), want = tn_eval_cast(from, to, x);
    if (!same(to, got, want))
        fail_msg("%a (%lld) gives %a instead of %a", x.f, (long long)x.i, got.f, want.f);
}

static tn_scalar half_value(tn_dtype t, uint32_t bits)
{
    uint16_t b = (uint16_t)bits;
    return tn_scalar_read(t, &b);
}

static void test_widening(void **state)
{
    static const tn_dtype to[] = {
        {TN_FLOAT, 32, 1}, {TN_FLOAT, 64, 1}, {TN_INT, 32, 1}, {TN_UINT, 8, 1}, {TN_BOOL, 8, 1}};
    static program p;
    for (int h = 0; h < 2; h++)
        for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
            target = to[k];
            build(*state, cast_x, halves[h], halves[h], &p);
            for (uint32_t b = 0; b < 0x10000; b++)
                check(&p, halves[h], to[k], half_value(halves[h], b));
        }
}

/* Around each value, half way to the next, and a last bit to either side. */
static void test_narrowing(void **state)
{
    static program p;
    for (int h = 0; h < 2; h++)
        for (int wide = 0; wide < 2; wide++) {
            tn_dtype from = wide ? TN_F64 : TN_F32;
            target = halves[h];
            build(*state, cast_x, from, from, &p);
            for (uint32_t b = 0; b < 0x10000; b++) {
                double x = half_value(halves[h], b).f, next = half_value(halves[h], b + 1).f,
                       mid = x + (next - x) / 2;
                if (isnan(x))
                    continue;
                double at[] = {x, mid, nextafter(mid, INFINITY), nextafter(mid, -INFINITY), x * 1.0001};
                float near = (float)mid;
                double in_float[] = {x, near, nextafterf(near, INFINITY), nextafterf(near, -INFINITY),
                                     (float)(x * 1.0001)};
                for (int i = 0; i < 5; i++)
                    check(&p, from, halves[h], (tn_scalar){.f = wide ? at[i] : in_float[i]});
            }
            check(&p, from, halves[h], (tn_scalar){.f = NAN});
            check(&p, from, halves[h], (tn_scalar){.f = 1e30});
        }
}

static void test_integers(void **state)
{
    static program p;
    tn_rng r = {5};
    for (int h = 0; h < 2; h++) {
        target = halves[h];
        build(*state, cast_x, TN_I32, TN_I32, &p);
        for (int i = 0; i < (RUN_FEWER ? 10000 : 100000); i++)
            check(&p, TN_I32, halves[h],
                  (tn_scalar){.i = (int32_t)(tn_rng_next(&r) >> tn_rng_below(&r, 32))});
    }
}

static const tn_expr *sum(tn_pool *p, const tn_expr *const a[]) { return tn_add(p, a[0], a[1]); }
static const tn_expr *product(tn_pool *p, const tn_expr *const a[]) { return tn_mul(p, a[0], a[1]); }
static const tn_expr *ratio(tn_pool *p, const tn_expr *const a[]) { return tn_bin(p, TN_E_DIV, a[0], a[1]); }
static const tn_expr *smaller(tn_pool *p, const tn_expr *const a[]) { return tn_min(p, a[0], a[1]); }

/* float16 arithmetic is what one rounding of the exact result gives. */
static void test_arithmetic(void **state)
{
    static const struct {
        const tn_expr *(*make)(tn_pool *p, const tn_expr *const arg[]);
        enum tn_ek kind;
    } row[] = {{sum, TN_E_ADD}, {product, TN_E_MUL}, {ratio, TN_E_DIV}, {smaller, TN_E_MIN}};
    static program p;
    tn_rng r = {9};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        build(*state, row[k].make, halves[0], halves[0], &p);
        for (int i = 0; i < (RUN_FEWER ? 10000 : 100000); i++) {
            tn_scalar in[2] = {half_value(halves[0], (uint32_t)tn_rng_next(&r)),
                               half_value(halves[0], (uint32_t)tn_rng_next(&r))},
                      want;
            assert_true(tn_eval_op(row[k].kind, halves[0], (tn_payload){0}, halves[0], 2, in, &want));
            tn_scalar got = program_run(&p, in[0], in[1]);
            if (!same(halves[0], got, want))
                fail_msg("operation %zu of %a and %a gives %a instead of %a", k, in[0].f, in[1].f, got.f,
                         want.f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_widening, enter, leave),
        cmocka_unit_test_setup_teardown(test_narrowing, enter, leave),
        cmocka_unit_test_setup_teardown(test_integers, enter, leave),
        cmocka_unit_test_setup_teardown(test_arithmetic, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
