/* LowerSmall: conversions written as arithmetic on bits give what tn_eval_cast gives, for every float below 32 bits and
 * for every boundary between two of them; integers of 2 and 4 bits in bytes compute what they compute themselves. */
#include "base/rng.h"
#include "lower_program.h"
#include "sanitized.h"

#include <math.h>

static const tn_dtype smalls[] = {
    {TN_FLOAT, 16, 1},         {TN_BFLOAT, 16, 1},
    {TN_FLOAT8_E3M4, 8, 1},    {TN_FLOAT8_E4M3, 8, 1},
    {TN_FLOAT8_E4M3FN, 8, 1},  {TN_FLOAT8_E4M3FNUZ, 8, 1},
    {TN_FLOAT8_E5M2, 8, 1},    {TN_FLOAT8_E5M2FNUZ, 8, 1},
    {TN_FLOAT8_E8M0FNU, 8, 1}, {TN_FLOAT8_E4M3B11FNUZ, 8, 1},
    {TN_FLOAT6_E2M3FN, 6, 1},  {TN_FLOAT6_E3M2FN, 6, 1},
    {TN_FLOAT4_E2M1FN, 4, 1},
};
enum { N_SMALL = sizeof smalls / sizeof *smalls };

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

/* v of type t as what the pass made of t, and back. */
static tn_scalar lowered(tn_dtype t, tn_scalar v)
{
    unsigned char b[8] = {0};
    tn_scalar_write(t, b, v);
    return tn_dtype_is_minifloat(t) ? (tn_scalar){.i = b[0]} : v;
}

static tn_scalar raised(tn_dtype t, tn_scalar v)
{
    unsigned char b[8] = {(unsigned char)v.i};
    return tn_dtype_is_minifloat(t) || t.bits < 8 ? tn_scalar_read(t, b) : v;
}

static void check(program *p, tn_dtype from, tn_dtype to, tn_scalar x)
{
    tn_scalar in = lowered(from, x), got = raised(to, program_run(p, in, in)),
              want = tn_eval_cast(from, to, x);
    if (!same(to, got, want))
        fail_msg("%a (%lld) of type %d gives %a instead of %a of type %d", x.f, (long long)x.i, from.code,
                 got.f, want.f, to.code);
}

static tn_scalar value_of(tn_dtype t, uint32_t bits)
{
    uint16_t b = (uint16_t)bits;
    return tn_scalar_read(t, &b);
}

static void test_widening(void **state)
{
    static const tn_dtype to[] = {{TN_FLOAT, 32, 1}, {TN_FLOAT, 64, 1}, {TN_INT, 32, 1}, {TN_UINT, 8, 1},
                                  {TN_BOOL, 8, 1},   {TN_INT, 4, 1},    {TN_UINT, 2, 1}};
    static program p;
    for (int h = 0; h < N_SMALL; h++)
        for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
            target = to[k];
            build(*state, cast_x, smalls[h], smalls[h], &p);
            for (uint32_t b = 0; b < 1u << smalls[h].bits; b++)
                check(&p, smalls[h], to[k], value_of(smalls[h], b));
        }
}

/* Around each value, half way to the next, and a last bit to either side. */
static void check_boundary(program *p, tn_dtype to, bool wide, double x, double next)
{
    double mid = x + (next - x) / 2;
    float near = (float)mid;
    double at[] = {x, mid, nextafter(mid, INFINITY), nextafter(mid, -INFINITY), x * 1.0001};
    double in_float[] = {x, near, nextafterf(near, INFINITY), nextafterf(near, -INFINITY),
                         (float)(x * 1.0001)};
    for (int i = 0; i < 5; i++)
        check(p, wide ? TN_F64 : TN_F32, to, (tn_scalar){.f = wide ? at[i] : in_float[i]});
}

static void test_narrowing(void **state)
{
    static program p;
    static const double beyond[] = {NAN, INFINITY, 1e30, 3e38, 1e-30, 1e-45, 0.0};
    for (int h = 0; h < N_SMALL; h++)
        for (int wide = 0; wide < 2; wide++) {
            tn_dtype from = wide ? TN_F64 : TN_F32;
            double largest = tn_dtype_largest(smalls[h]);
            target = smalls[h];
            build(*state, cast_x, from, from, &p);
            for (uint32_t b = 0; b < 1u << smalls[h].bits; b++) {
                double x = value_of(smalls[h], b).f, next = value_of(smalls[h], b + 1).f;
                if (!isnan(x))
                    check_boundary(&p, smalls[h], wide, x,
                                   isnan(next) || fabs(x) == largest ? x * 1.25 : next);
            }
            for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
                check(&p, from, smalls[h], (tn_scalar){.f = (float)beyond[i]});
                check(&p, from, smalls[h], (tn_scalar){.f = -(float)beyond[i]});
            }
        }
}

/* From one small float to another. */
static void test_between(void **state)
{
    static program p;
    for (int from = 0; from < N_SMALL; from++)
        for (int to = 0; to < N_SMALL; to++) {
            if (from == to)
                continue;
            target = smalls[to];
            build(*state, cast_x, smalls[from], smalls[from], &p);
            for (uint32_t b = 0; b < 1u << smalls[from].bits; b += smalls[from].bits == 16 ? 7 : 1)
                check(&p, smalls[from], smalls[to], value_of(smalls[from], b));
        }
}

static void test_integers(void **state)
{
    static const tn_dtype from[] = {{TN_INT, 32, 1}, {TN_INT, 64, 1}, {TN_UINT, 64, 1}, {TN_INT, 4, 1}};
    static program p;
    tn_rng r = {5};
    for (int h = 0; h < N_SMALL; h++)
        for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
            target = smalls[h];
            build(*state, cast_x, from[k], from[k], &p);
            for (int i = 0; i < (RUN_FEWER ? 1000 : 4000); i++) {
                uint64_t bits = tn_rng_next(&r) >> tn_rng_below(&r, 64);
                if (i % 2) /* near a tie of the narrower type */
                    bits = (UINT64_C(0x181) << tn_rng_below(&r, 55)) + (uint64_t)(i % 5) - 2;
                check(&p, from[k], smalls[h], tn_eval_cast(TN_I64, from[k], (tn_scalar){.i = (int64_t)bits}));
            }
        }
}

static const tn_expr *sum(tn_pool *p, const tn_expr *const a[]) { return tn_add(p, a[0], a[1]); }
static const tn_expr *product(tn_pool *p, const tn_expr *const a[]) { return tn_mul(p, a[0], a[1]); }
static const tn_expr *ratio(tn_pool *p, const tn_expr *const a[]) { return tn_bin(p, TN_E_DIV, a[0], a[1]); }
static const tn_expr *difference(tn_pool *p, const tn_expr *const a[]) { return tn_sub(p, a[0], a[1]); }
static const tn_expr *quotient(tn_pool *p, const tn_expr *const a[])
{
    return tn_bin(p, TN_E_FLOORDIV, a[0], a[1]);
}
static const tn_expr *rest(tn_pool *p, const tn_expr *const a[])
{
    return tn_bin(p, TN_E_TRUNCMOD, a[0], a[1]);
}
static const tn_expr *smaller(tn_pool *p, const tn_expr *const a[]) { return tn_min(p, a[0], a[1]); }

typedef struct operation {
    const tn_expr *(*make)(tn_pool *p, const tn_expr *const arg[]);
    enum tn_ek kind;
} operation;

static void check_pair(program *p, const operation *o, tn_dtype t, tn_scalar a, tn_scalar b)
{
    tn_scalar in[2] = {a, b}, want;
    assert_true(tn_eval_op(o->kind, t, (tn_payload){0}, t, 2, in, &want));
    tn_scalar got = raised(t, program_run(p, lowered(t, a), lowered(t, b)));
    if (!same(t, got, want))
        fail_msg("operation %d of %a and %a gives %a instead of %a", o->kind, a.f, b.f, got.f, want.f);
}

/* Arithmetic is what one rounding of the exact result gives. */
static void test_arithmetic(void **state)
{
    static const operation row[] = {
        {sum, TN_E_ADD}, {product, TN_E_MUL}, {ratio, TN_E_DIV}, {smaller, TN_E_MIN}};
    static program p;
    tn_rng r = {9};
    for (int h = 0; h < N_SMALL; h++)
        for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
            build(*state, row[k].make, smalls[h], smalls[h], &p);
            for (int i = 0; i < (RUN_FEWER ? 1000 : 5000); i++)
                check_pair(&p, &row[k], smalls[h], value_of(smalls[h], (uint32_t)tn_rng_next(&r)),
                           value_of(smalls[h], (uint32_t)tn_rng_next(&r)));
        }
}

/* All pairs of integers of 2 and 4 bits. */
static void test_tiny_integers(void **state)
{
    static const operation row[] = {{sum, TN_E_ADD},        {product, TN_E_MUL},       {smaller, TN_E_MIN},
                                    {difference, TN_E_SUB}, {quotient, TN_E_FLOORDIV}, {rest, TN_E_TRUNCMOD}};
    static const tn_dtype types[] = {{TN_INT, 4, 1}, {TN_UINT, 4, 1}, {TN_INT, 2, 1}, {TN_UINT, 2, 1}};
    static program p;
    for (int h = 0; h < 4; h++)
        for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
            build(*state, row[k].make, types[h], types[h], &p);
            for (uint32_t i = 0; i < 256; i++)
                check_pair(&p, &row[k], types[h], value_of(types[h], i & 15), value_of(types[h], i >> 4));
        }
}

static void test_tiny_conversions(void **state)
{
    static const tn_dtype types[] = {{TN_INT, 4, 1}, {TN_UINT, 4, 1}, {TN_INT, 2, 1}, {TN_UINT, 2, 1}};
    static const tn_dtype other[] = {{TN_INT, 8, 1},  {TN_UINT, 64, 1}, {TN_INT, 2, 1},
                                     {TN_UINT, 4, 1}, {TN_BOOL, 8, 1},  {TN_FLOAT, 32, 1}};
    static program p;
    for (int h = 0; h < 4; h++)
        for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
            if (tn_dtype_eq(types[h], other[k]))
                continue;
            target = other[k];
            build(*state, cast_x, types[h], types[h], &p);
            for (uint32_t i = 0; i < 16; i++)
                check(&p, types[h], other[k], value_of(types[h], i));
            target = types[h];
            build(*state, cast_x, other[k], other[k], &p);
            for (int i = -40; i < 40; i++) {
                tn_scalar x = tn_eval_cast(TN_I64, other[k], (tn_scalar){.i = i});
                if (tn_dtype_is_float(other[k]))
                    x.f = i / 2.0;
                check(&p, other[k], types[h], x);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_widening, enter, leave),
        cmocka_unit_test_setup_teardown(test_narrowing, enter, leave),
        cmocka_unit_test_setup_teardown(test_between, enter, leave),
        cmocka_unit_test_setup_teardown(test_integers, enter, leave),
        cmocka_unit_test_setup_teardown(test_arithmetic, enter, leave),
        cmocka_unit_test_setup_teardown(test_tiny_integers, enter, leave),
        cmocka_unit_test_setup_teardown(test_tiny_conversions, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
