/* ir/eval: integers over all 8-bit pairs, IEEE corner cases, 16-bit floats against exact arithmetic, conversions. */
#include "base/rng.h"
#include "ir/eval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define I8 TN_DT(TN_INT, 8)
#define I16 TN_DT(TN_INT, 16)
#define U16 TN_DT(TN_UINT, 16)
#define U32 TN_DT(TN_UINT, 32)
#define U64 TN_DT(TN_UINT, 64)
#define BF16 TN_DT(TN_BFLOAT, 16)

static const tn_payload none = {.bits = 0};

static tn_dtype result_of(enum tn_ek k, tn_dtype t)
{
    return k == TN_E_EQ || k == TN_E_NE || k == TN_E_LT || k == TN_E_LE ? TN_BOOL1 : t;
}

static bool eval_i(enum tn_ek k, tn_dtype t, int64_t a, int64_t b, int64_t *out)
{
    tn_scalar in[2] = {{.i = a}, {.i = b}}, r;
    if (!tn_eval_op(k, result_of(k, t), none, t, 2, in, &r))
        return false;
    *out = r.i;
    return true;
}

static double eval_f(enum tn_ek k, tn_dtype t, double a, double b)
{
    tn_scalar in[2] = {{.f = a}, {.f = b}}, r = {.f = -12345};
    assert_true(tn_eval_op(k, t, none, t, 2, in, &r));
    return r.f;
}

static double call(enum tn_intrin f, tn_dtype t, double a, double b)
{
    tn_scalar in[2] = {{.f = a}, {.f = b}}, r = {.f = -12345};
    assert_true(tn_eval_op(TN_E_CALL, t, (tn_payload){.call = {.id = f}}, t, tn_intrins[f].nargs, in, &r));
    return r.f;
}

static double fma3(tn_dtype t, double a, double b, double c)
{
    tn_scalar in[3] = {{.f = a}, {.f = b}, {.f = c}}, r = {.f = -12345};
    assert_true(tn_eval_op(TN_E_FMA, t, none, t, 3, in, &r));
    return r.f;
}

static bool same(double a, double b) { return (a != a && b != b) || (a == b && signbit(a) == signbit(b)); }

/* ---- integers ---- */

/* The definition, in plain int; false where undefined. By 0 all quotients and remainders are 0. */
static bool defined(enum tn_ek k, bool is_signed, int a, int b, int *out)
{
    int q = b ? a / b : 0, r = b ? a % b : 0;
    bool adjust = r != 0 && (r < 0) != (b < 0);
    switch (k) {
    case TN_E_ADD: *out = a + b; return true;
    case TN_E_SUB: *out = a - b; return true;
    case TN_E_MUL: *out = a * b; return true;
    case TN_E_FLOORDIV: *out = adjust ? q - 1 : q; return true;
    case TN_E_FLOORMOD: *out = adjust ? r + b : r; return true;
    case TN_E_TRUNCDIV: *out = q; return true;
    case TN_E_TRUNCMOD: *out = r; return true;
    case TN_E_MIN: *out = b < a ? b : a; return true;
    case TN_E_MAX: *out = b > a ? b : a; return true;
    case TN_E_EQ: *out = a == b; return true;
    case TN_E_NE: *out = a != b; return true;
    case TN_E_LT: *out = a < b; return true;
    case TN_E_LE: *out = a <= b; return true;
    case TN_E_BITAND: *out = a & b; return true;
    case TN_E_BITOR: *out = a | b; return true;
    case TN_E_BITXOR: *out = a ^ b; return true;
    case TN_E_SHL: *out = b >= 0 && b < 8 ? (int)((unsigned)a << b) : 0; return b >= 0 && b < 8;
    case TN_E_SHR:
        *out = b >= 0 && b < 8 ? (is_signed && a < 0 ? -((-a - 1) >> b) - 1 : a >> b) : 0;
        return b >= 0 && b < 8;
    default: fail(); return false;
    }
}

static const enum tn_ek int_kinds[] = {TN_E_ADD,      TN_E_SUB,      TN_E_MUL, TN_E_FLOORDIV, TN_E_FLOORMOD,
                                       TN_E_TRUNCDIV, TN_E_TRUNCMOD, TN_E_MIN, TN_E_MAX,      TN_E_EQ,
                                       TN_E_NE,       TN_E_LT,       TN_E_LE,  TN_E_BITAND,   TN_E_BITOR,
                                       TN_E_BITXOR,   TN_E_SHL,      TN_E_SHR};
enum { N_INT_KINDS = sizeof int_kinds / sizeof *int_kinds };

static void check_8_bits(bool is_signed)
{
    int lo = is_signed ? -128 : 0, want = 0;
    for (int op = 0; op < N_INT_KINDS; op++) {
        enum tn_ek k = int_kinds[op];
        for (int a = lo; a < lo + 256; a++) {
            for (int b = lo; b < lo + 256; b++) {
                int64_t got = 99999;
                bool ok = eval_i(k, is_signed ? I8 : TN_U8, a, b, &got),
                     well = defined(k, is_signed, a, b, &want);
                if (k < TN_E_EQ || k > TN_E_LE)
                    want = is_signed ? (int8_t)(uint8_t)want : (uint8_t)want;
                if (ok != well || (ok && got != want) || (!ok && got != 99999))
                    fail_msg("%s(%d, %d) = %lld, not %d", tn_eks[k].name, a, b, (long long)got, want);
            }
        }
    }
}

static void integers_wrap_at_8_bits(void **state)
{
    (void)state;
    check_8_bits(true);
    check_8_bits(false);
}

static void integers_wrap_at_their_width(void **state)
{
    static const struct {
        enum tn_ek k;
        tn_dtype t;
        int64_t a, b, r;
    } rows[] = {
        {TN_E_ADD, {TN_INT, 32, 1}, INT32_MAX, 1, INT32_MIN},
        {TN_E_MUL, {TN_INT, 32, 1}, 65536, 65536, 0},
        {TN_E_SUB, {TN_UINT, 32, 1}, 0, 1, UINT32_MAX},
        {TN_E_ADD, {TN_INT, 64, 1}, INT64_MAX, 1, INT64_MIN},
        {TN_E_MUL, {TN_INT, 64, 1}, INT64_MAX, 2, -2},
        {TN_E_FLOORDIV, {TN_INT, 64, 1}, INT64_MIN, -1, INT64_MIN},
        {TN_E_TRUNCMOD, {TN_INT, 64, 1}, INT64_MIN, -1, 0},
        {TN_E_SUB, {TN_UINT, 64, 1}, 0, 1, -1}, /* 2^64 - 1 */
        {TN_E_FLOORDIV, {TN_UINT, 64, 1}, -1, 2, INT64_MAX},
        {TN_E_FLOORMOD, {TN_UINT, 64, 1}, -1, 10, 5},
        {TN_E_LT, {TN_UINT, 64, 1}, 1, -1, 1},
        {TN_E_MAX, {TN_UINT, 64, 1}, 1, -1, -1},
        {TN_E_SHR, {TN_UINT, 64, 1}, -1, 63, 1},
        {TN_E_SHR, {TN_INT, 64, 1}, -5, 1, -3},
        {TN_E_SHL, {TN_INT, 32, 1}, 1, 31, INT32_MIN},
        {TN_E_SHL, {TN_INT, 4, 1}, 7, 1, -2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t r;
        assert_true(eval_i(rows[i].k, rows[i].t, rows[i].a, rows[i].b, &r));
        assert_int_equal(r, rows[i].r);
    }
}

static void index_is_exact_or_undefined(void **state)
{
    static const struct {
        enum tn_ek k;
        int64_t a, b;
        bool ok;
        int64_t r;
    } rows[] = {
        {TN_E_ADD, INT64_MAX, 1, false, 0},
        {TN_E_ADD, INT64_MAX, -1, true, INT64_MAX - 1},
        {TN_E_SUB, INT64_MIN, 1, false, 0},
        {TN_E_MUL, INT64_C(1) << 32, INT64_C(1) << 31, false, 0},
        {TN_E_MUL, INT64_C(1) << 31, INT64_C(1) << 31, true, INT64_C(1) << 62},
        {TN_E_FLOORDIV, INT64_MIN, -1, false, 0},
        {TN_E_TRUNCDIV, INT64_MIN, -1, false, 0},
        {TN_E_FLOORMOD, INT64_MIN, -1, true, 0},
        {TN_E_FLOORDIV, 1, 0, false, 0},
        {TN_E_FLOORMOD, 1, 0, false, 0},
        {TN_E_FLOORDIV, -7, 2, true, -4},
        {TN_E_TRUNCDIV, -7, 2, true, -3},
        {TN_E_FLOORMOD, -7, 2, true, 1},
        {TN_E_FLOORMOD, 7, -2, true, -1},
        {TN_E_TRUNCMOD, -7, 2, true, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t r = 0;
        assert_int_equal(eval_i(rows[i].k, TN_IDX, rows[i].a, rows[i].b, &r), rows[i].ok);
        assert_int_equal(r, rows[i].r);
    }
    tn_scalar big = {.i = -1}, r;
    assert_false(tn_eval_op(TN_E_CAST, TN_IDX, none, U64, 1, &big, &r));
    assert_false(tn_eval_op(TN_E_CALL, TN_IDX, (tn_payload){.call = {.id = TN_F_abs}}, TN_IDX, 1,
                            &(tn_scalar){.i = INT64_MIN}, &r));
    assert_true(tn_eval_op(TN_E_CALL, I8, (tn_payload){.call = {.id = TN_F_abs}}, I8, 1,
                           &(tn_scalar){.i = -128}, &r));
    assert_int_equal(r.i, -128);
}

static void logic(void **state)
{
    (void)state;
    for (int a = 0; a < 2; a++) {
        for (int b = 0; b < 2; b++) {
            int64_t r;
            assert_true(eval_i(TN_E_AND, TN_BOOL1, a, b, &r) && r == (a && b));
            assert_true(eval_i(TN_E_OR, TN_BOOL1, a, b, &r) && r == (a || b));
            assert_true(eval_i(TN_E_EQ, TN_BOOL1, a, b, &r) && r == (a == b));
            assert_true(eval_i(TN_E_NE, TN_BOOL1, a, b, &r) && r == (a != b));
        }
        tn_scalar in = {.i = a}, r;
        assert_true(tn_eval_op(TN_E_NOT, TN_BOOL1, none, TN_BOOL1, 1, &in, &r) && r.i == !a);
    }
}

/* ---- floats ---- */

static void min_and_max_are_comparisons_that_keep_nan(void **state)
{
    static const double v[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN};
    const tn_dtype types[] = {TN_F32, TN_F64, TN_F16, BF16};
    (void)state;
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < 7; i++) {
            for (int j = 0; j < 7; j++) {
                double a = v[i], b = v[j];
                assert_true(same(eval_f(TN_E_MIN, types[t], a, b), b < a || isnan(b) ? b : a));
                assert_true(same(eval_f(TN_E_MAX, types[t], a, b), b > a || isnan(b) ? b : a));
                tn_scalar in[2] = {{.f = a}, {.f = b}}, r;
                assert_true(tn_eval_op(TN_E_NE, TN_BOOL1, none, types[t], 2, in, &r) && r.i == (a != b));
                assert_true(tn_eval_op(TN_E_EQ, TN_BOOL1, none, types[t], 2, in, &r) && r.i == (a == b));
                assert_true(tn_eval_op(TN_E_LE, TN_BOOL1, none, types[t], 2, in, &r) && r.i == (a <= b));
                assert_true(tn_eval_op(TN_E_LT, TN_BOOL1, none, types[t], 2, in, &r) && r.i == (a < b));
            }
        }
    }
    assert_true(isnan(eval_f(TN_E_MIN, TN_F32, NAN, 1)) && isnan(eval_f(TN_E_MAX, TN_F32, NAN, 1)));
    assert_true(isnan(eval_f(TN_E_MIN, TN_F32, 1, NAN)) && isnan(eval_f(TN_E_MAX, TN_F32, 1, NAN)));
    assert_true(same(eval_f(TN_E_MAX, TN_F32, -0.0, 0.0), -0.0));
}

static float random_float(tn_rng *r)
{
    uint32_t u = (uint32_t)tn_rng_next(r);
    float f;
    if (tn_rng_below(r, 4) != 0) /* often of like size */
        u = (u & 0x80ffffff) | UINT32_C(0x3f000000);
    memcpy(&f, &u, sizeof f);
    return f;
}

static void float32_is_computed_in_float(void **state)
{
    tn_rng r = {1};
    (void)state;
    for (int i = 0; i < 200000; i++) {
        volatile float a = random_float(&r), b = random_float(&r), c = random_float(&r);
        volatile float sum = a + b, difference = a - b, product = a * b, quotient = a / b;
        assert_true(same(eval_f(TN_E_ADD, TN_F32, (double)a, (double)b), (double)sum));
        assert_true(same(eval_f(TN_E_SUB, TN_F32, (double)a, (double)b), (double)difference));
        assert_true(same(eval_f(TN_E_MUL, TN_F32, (double)a, (double)b), (double)product));
        assert_true(same(eval_f(TN_E_DIV, TN_F32, (double)a, (double)b), (double)quotient));
        assert_true(same(fma3(TN_F32, (double)a, (double)b, (double)c), (double)fmaf(a, b, c)));
        assert_true(same(call(TN_F_sqrt, TN_F32, (double)a, 0), (double)sqrtf(a)));
    }
    /* fma differs from a product and a sum */
    double x = 1 + 0x1p-23;
    assert_true(same(fma3(TN_F32, x, x, -1 - 0x1p-22), 0x1p-46));
    assert_true(same(fma3(TN_F64, 1 + 0x1p-52, 1 + 0x1p-52, -1 - 0x1p-51), 0x1p-104));
    assert_true(isinf(eval_f(TN_E_MUL, TN_F32, 1e30, 1e30)));
    assert_true(isinf(eval_f(TN_E_DIV, TN_F32, 1, 0)));
    assert_true(isnan(eval_f(TN_E_DIV, TN_F32, 0, 0)));
}

/* n / 2^48 rounded to nearest even float16, as a multiple of 2^-48; INFINITY on overflow. Exact integer arithmetic. */
__extension__ typedef __int128 wide;
static double half_reference(wide n)
{
    bool neg = n < 0;
    wide v = neg ? -n : n;
    int msb = 0;
    while (v >> msb > 1)
        msb++;
    int quantum = msb - 10 > 24 ? msb - 10 : 24; /* 2^-24 is the smallest step */
    wide step = (wide)1 << quantum, low = v % step, r = v - low;
    if (low * 2 > step || (low * 2 == step && (r / step) % 2 == 1))
        r += step;
    double d = r >= (wide)1 << 64 ? (double)INFINITY : (double)r * 0x1p-48;
    return neg ? -d : d;
}

static wide scaled(double half) /* a float16 in units of 2^-24 */ { return (wide)(half * 0x1p24); }

static double random_half(tn_rng *r)
{
    uint16_t h;
    do {
        h = (uint16_t)tn_rng_next(r);
    } while ((h & 0x7c00) == 0x7c00);
    return (double)tn_half_to_float(h);
}

static void float16_is_rounded_once(void **state)
{
    tn_rng r = {2};
    (void)state;
    for (int i = 0; i < 300000; i++) {
        double a = random_half(&r), b = random_half(&r), c = random_half(&r);
        assert_true(eval_f(TN_E_ADD, TN_F16, a, b) == half_reference((scaled(a) + scaled(b)) * (1 << 24)));
        assert_true(eval_f(TN_E_MUL, TN_F16, a, b) == half_reference(scaled(a) * scaled(b)));
        assert_true(fma3(TN_F16, a, b, c) == half_reference(scaled(a) * scaled(b) + scaled(c) * (1 << 24)));
    }
    /* bfloat16: a product half-way between two values, tipped by an addend far below double's reach */
    double x = 1 + 0x1p-7, y = 1 + 0x1p-1; /* 1.5117187 = 193.5 / 128 */
    assert_true(same(fma3(BF16, x, y, 0), 194.0 / 128));
    assert_true(same(fma3(BF16, x, y, 0x1p-100), 194.0 / 128));
    assert_true(same(fma3(BF16, x, y, -0x1p-100), 193.0 / 128));
    assert_true(same(fma3(BF16, -x, y, 0x1p-100), -193.0 / 128));
    assert_true(isinf(eval_f(TN_E_ADD, TN_F16, 65504, 16)));
    assert_true(same(eval_f(TN_E_ADD, TN_F16, 65504, 15), 65504));
}

static void halves_convert_both_ways(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        int exp = (int)(h >> 10 & 31), man = (int)(h & 1023);
        double want = exp == 31 ? (man ? (double)NAN : (double)INFINITY)
                      : exp     ? ldexp(1024 + man, exp - 25)
                                : ldexp(man, -24);
        float f = tn_half_to_float((uint16_t)h);
        assert_true(same((double)f, h >> 15 ? -want : want));
        if (exp == 31 && man) {
            assert_int_equal(tn_float_to_half(f), h | 0x200); /* quiet, payload kept */
            continue;
        }
        assert_int_equal(tn_float_to_half(f), h);
        if (h >> 15 || exp == 31)
            continue;
        /* between h and the next value (65536 after the largest): the middle goes to even, its neighbours to
         * their side */
        double next = h == 0x7bff ? 65536 : (double)tn_half_to_float((uint16_t)(h + 1));
        float middle = (float)((want + next) / 2);
        assert_int_equal(tn_float_to_half(middle), h % 2 ? h + 1 : h);
        assert_int_equal(tn_float_to_half(nextafterf(middle, 0)), h);
        assert_int_equal(tn_float_to_half(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(tn_float_to_half(-middle), 0x8000 | (h % 2 ? h + 1 : h));
    }
}

static int64_t dot_by(uint32_t id, int64_t acc, int64_t a, int64_t b)
{
    tn_scalar in[] = {{.i = acc}, {.i = a}, {.i = b}}, r = {0};
    assert_true(tn_eval_op(TN_E_CALL, TN_I32, (tn_payload){.call = {.id = id}}, TN_I32, 3, in, &r));
    return r.i;
}

static int64_t dot(int64_t acc, int64_t a, int64_t b) { return dot_by(TN_F_dot4us, acc, a, b); }

static void dots_of_bytes(void **state)
{
    (void)state;
    assert_int_equal(dot(5, 0x04030201, 0x01010101), 15);
    assert_int_equal(dot(0, (int32_t)0xffffffffu, (int32_t)0x80808080u),
                     -4 * 255 * 128); /* uint8 times int8 */
    assert_int_equal(dot(0, 0x000000ff, 0x0000007f), 255 * 127);
    assert_int_equal(dot(0, (int32_t)0xff000000u, 0x02000000), 510);
    assert_int_equal(dot(INT32_MAX, 1, 1), INT32_MIN); /* wraps */
    assert_int_equal(dot_by(TN_F_dot4uu, 1, (int32_t)0xff0000ffu, (int32_t)0xff000080u),
                     1 + 255 * 255 + 255 * 128);
    assert_int_equal(dot_by(TN_F_dot4ss, 1, (int32_t)0xff0000ffu, (int32_t)0x80000002u), 1 + 128 - 2);
}

/* 1 * 2^-24 is added last: the sum of the upper product is rounded before. NaN and infinities are those of fma. */
static void dots_of_bfloats(void **state)
{
    (void)state;
    static const struct {
        double acc;
        uint32_t a, b;
        double sum;
    } row[] = {
        {1, 0x3f804000, 0x40403f80, 1 + 3 + 2}, /* 1 * 3 + 2 * 1 */
        {0, 0x3f803f80, 0x3f803380, 1},         /* 1 + 2^-24 is rounded to 1 */
        {-1, 0x3f803f80, 0x3f803380, 0x1p-24},  /* 0 + 2^-24 is not */
        {0, 0x7f803f80, 0x3f803f80, INFINITY},  {0, 0x7f800000, 0x3f80ff80, NAN}, /* 0 times an infinity */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_scalar in[] = {{.f = row[i].acc}, {.i = (int32_t)row[i].a}, {.i = (int32_t)row[i].b}}, r = {0};
        assert_true(
            tn_eval_op(TN_E_CALL, TN_F32, (tn_payload){.call = {.id = TN_F_dot2bf}}, TN_F32, 3, in, &r));
        assert_true(isnan(row[i].sum) ? isnan(r.f) : r.f == row[i].sum);
    }
}

static void intrinsics(void **state)
{
    static const struct {
        enum tn_intrin f;
        double x, r;
    } rows[] = {
        {TN_F_exp, 0, 1},         {TN_F_exp, -INFINITY, 0}, {TN_F_exp, INFINITY, INFINITY},
        {TN_F_log, 1, 0},         {TN_F_log, 0, -INFINITY}, {TN_F_log, -1, NAN},
        {TN_F_tanh, -0.0, -0.0},  {TN_F_tanh, 100, 1},      {TN_F_sigmoid, 0, 0.5},
        {TN_F_sigmoid, -1000, 0}, {TN_F_erf, 0, 0},         {TN_F_erf, 10, 1},
        {TN_F_sin, 0, 0},         {TN_F_cos, 0, 1},         {TN_F_sqrt, 4, 2},
        {TN_F_sqrt, -1, NAN},     {TN_F_sqrt, -0.0, -0.0},  {TN_F_abs, -0.0, 0},
        {TN_F_abs, -3.5, 3.5},    {TN_F_floor, -1.5, -2},   {TN_F_ceil, -1.5, -1},
        {TN_F_ceil, -0.5, -0.0},  {TN_F_trunc, 1.75, 1},    {TN_F_trunc, -1.75, -1},
        {TN_F_round, 0.5, 0},     {TN_F_round, 1.5, 2},     {TN_F_round, 2.5, 2},
        {TN_F_round, -0.5, -0.0},
    };
    const tn_dtype types[] = {TN_F32, TN_F64, TN_F16, BF16};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int t = 0; t < 4; t++)
            assert_true(same(call(rows[i].f, types[t], rows[i].x, 0), rows[i].r));
    assert_true(same(call(TN_F_pow, TN_F32, 2, 10), 1024));
    assert_true(same(call(TN_F_exp, TN_F32, 1, 0), (double)2.71828183f));
    assert_true(same(call(TN_F_exp, TN_F16, 20, 0), INFINITY));
    tn_scalar in = {.f = NAN}, r;
    assert_true(
        tn_eval_op(TN_E_CALL, TN_BOOL1, (tn_payload){.call = {.id = TN_F_isnan}}, TN_F32, 1, &in, &r) &&
        r.i == 1);
    in.f = INFINITY;
    assert_true(
        tn_eval_op(TN_E_CALL, TN_BOOL1, (tn_payload){.call = {.id = TN_F_isnan}}, TN_F32, 1, &in, &r) &&
        r.i == 0);
}

/* ---- conversions ---- */

static void floats_convert_to_integers(void **state)
{
    static const struct {
        tn_dtype t;
        double x;
        int64_t r;
    } rows[] = {
        {{TN_INT, 8, 1}, 3.99, 3},
        {{TN_INT, 8, 1}, -3.99, -3},
        {{TN_INT, 8, 1}, 128, 127},
        {{TN_INT, 8, 1}, -128.9, -128},
        {{TN_INT, 8, 1}, -129, -128},
        {{TN_INT, 8, 1}, NAN, 0},
        {{TN_UINT, 8, 1}, -0.9, 0},
        {{TN_UINT, 8, 1}, -5, 0},
        {{TN_UINT, 8, 1}, 255.9, 255},
        {{TN_UINT, 8, 1}, 1e9, 255},
        {{TN_INT, 32, 1}, 2147483648.0, INT32_MAX},
        {{TN_INT, 32, 1}, -2147483648.5, INT32_MIN},
        {{TN_INT, 64, 1}, 1e19, INT64_MAX},
        {{TN_INT, 64, 1}, -1e19, INT64_MIN},
        {{TN_INT, 64, 1}, INFINITY, INT64_MAX},
        {{TN_UINT, 64, 1}, INFINITY, -1},
        {{TN_UINT, 64, 1}, 0x1p63, INT64_MIN},
        {{TN_UINT, 64, 1}, -INFINITY, 0},
        {{TN_INDEX, 64, 1}, -2.5, -2},
        {{TN_INDEX, 64, 1}, 1e300, INT64_MAX},
        {{TN_BOOL, 8, 1}, 0.1, 1},
        {{TN_BOOL, 8, 1}, -0.0, 0},
        {{TN_BOOL, 8, 1}, NAN, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(tn_eval_cast(TN_F64, rows[i].t, (tn_scalar){.f = rows[i].x}).i, rows[i].r);
}

static void integers_convert(void **state)
{
    static const struct {
        tn_dtype from, to;
        int64_t x;
        double r;
    } rows[] = {
        {{TN_INT, 64, 1}, {TN_FLOAT, 32, 1}, 16777217, 16777216},
        {{TN_INT, 64, 1}, {TN_FLOAT, 32, 1}, 16777219, 16777220},
        {{TN_INT, 64, 1}, {TN_FLOAT, 32, 1}, -16777217, -16777216},
        {{TN_UINT, 64, 1}, {TN_FLOAT, 64, 1}, -1, 0x1p64},
        {{TN_INT, 64, 1}, {TN_FLOAT, 16, 1}, 65519, 65504},
        {{TN_INT, 64, 1}, {TN_FLOAT, 16, 1}, 65520, INFINITY},
        {{TN_INT, 64, 1}, {TN_FLOAT, 16, 1}, 2049, 2048},
        /* half-way for bfloat16, tipped by a bit that double cannot hold */
        {{TN_INT, 64, 1}, {TN_BFLOAT, 16, 1}, (INT64_C(257) << 54) + 1, 0x1p62 + 0x1p55},
        {{TN_INT, 64, 1}, {TN_BFLOAT, 16, 1}, INT64_C(257) << 54, 0x1p62},
        /* the same for float32: 2^61 + 2^37 is half-way between 2^61 and 2^61 + 2^38 */
        {{TN_INT, 64, 1}, {TN_FLOAT, 32, 1}, (INT64_C(1) << 61) + (INT64_C(1) << 37) + 1, 0x1p61 + 0x1p38},
        {{TN_BOOL, 8, 1}, {TN_FLOAT, 32, 1}, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(same(tn_eval_cast(rows[i].from, rows[i].to, (tn_scalar){.i = rows[i].x}).f, rows[i].r));
    assert_int_equal(tn_eval_cast(TN_I32, I8, (tn_scalar){.i = 200}).i, -56);
    assert_int_equal(tn_eval_cast(TN_I32, TN_U8, (tn_scalar){.i = -1}).i, 255);
    assert_int_equal(tn_eval_cast(TN_I32, TN_BOOL1, (tn_scalar){.i = -7}).i, 1);
    assert_int_equal(tn_eval_cast(U32, TN_IDX, (tn_scalar){.i = UINT32_MAX}).i, UINT32_MAX);
}

static void floats_convert_to_floats(void **state)
{
    (void)state;
    /* 1 + 2^-11 + 2^-40 is above the middle of two halves; through float32 it would fall on it */
    assert_true(same(tn_eval_cast(TN_F64, TN_F16, (tn_scalar){.f = 1 + 0x1p-11 + 0x1p-40}).f, 1 + 0x1p-10));
    assert_true(same(tn_eval_cast(TN_F64, TN_F16, (tn_scalar){.f = 1 + 0x1p-11}).f, 1));
    assert_true(same(tn_eval_cast(TN_F64, TN_F32, (tn_scalar){.f = 0.1}).f, (double)0.1f));
    assert_true(same(tn_eval_cast(TN_F64, BF16, (tn_scalar){.f = 0x1p-133 * 0.5}).f, 0));
    assert_true(same(tn_eval_cast(TN_F64, BF16, (tn_scalar){.f = -0x1p-133 * 0.75}).f, -0x1p-133));
    assert_true(same(tn_eval_cast(TN_F32, BF16, (tn_scalar){.f = 3.4028234663852886e38}).f, INFINITY));
    assert_true(same(tn_eval_cast(TN_F32, TN_F16, (tn_scalar){.f = -INFINITY}).f, -INFINITY));
    assert_true(isnan(tn_eval_cast(TN_F64, TN_F16, (tn_scalar){.f = NAN}).f));
}

static void memory_is_little_endian_and_exact(void **state)
{
    const tn_dtype types[] = {TN_F16, BF16, I16, U16};
    uint8_t in[8] = {0}, out[8];
    tn_rng r = {3};
    (void)state;
    for (int t = 0; t < 4; t++) { /* every pattern survives, NaN payloads too */
        for (uint32_t h = 0; h < 65536; h++) {
            in[0] = (uint8_t)h;
            in[1] = (uint8_t)(h >> 8);
            tn_scalar_write(types[t], out, tn_scalar_read(types[t], in));
            assert_memory_equal(in, out, 2);
        }
    }
    for (int i = 0; i < 100000; i++) {
        const tn_dtype wide_types[] = {TN_F32, TN_F64, TN_I32, TN_I64, U64};
        uint64_t u = tn_rng_next(&r);
        if (i % 4 == 0)
            u |= i % 8 ? UINT64_C(0x7ff0000000000000) : 0x7f800000;
        memcpy(in, &u, 8);
        tn_dtype t = wide_types[i % 5];
        tn_scalar_write(t, out, tn_scalar_read(t, in));
        assert_memory_equal(in, out, t.bits / 8);
    }
    assert_int_equal(tn_scalar_read(I8, (uint8_t[]){0xff}).i, -1);
    assert_int_equal(tn_scalar_read(TN_BOOL1, (uint8_t[]){1}).i, 1);
    assert_true(same(tn_scalar_read(BF16, (uint8_t[]){0xc0, 0xbf}).f, -1.5));
    tn_scalar x = {.f = 1}, y;
    assert_true(tn_eval_op(TN_E_BITCAST, TN_I32, none, TN_F32, 1, &x, &y) && y.i == 0x3f800000);
    assert_true(tn_eval_op(TN_E_BITCAST, TN_F16, none, U16, 1, &(tn_scalar){.i = 0xc000}, &y) &&
                same(y.f, -2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_wrap_at_8_bits),
        cmocka_unit_test(integers_wrap_at_their_width),
        cmocka_unit_test(index_is_exact_or_undefined),
        cmocka_unit_test(logic),
        cmocka_unit_test(min_and_max_are_comparisons_that_keep_nan),
        cmocka_unit_test(float32_is_computed_in_float),
        cmocka_unit_test(float16_is_rounded_once),
        cmocka_unit_test(halves_convert_both_ways),
        cmocka_unit_test(dots_of_bfloats),
        cmocka_unit_test(intrinsics),
        cmocka_unit_test(dots_of_bytes),
        cmocka_unit_test(floats_convert_to_integers),
        cmocka_unit_test(integers_convert),
        cmocka_unit_test(floats_convert_to_floats),
        cmocka_unit_test(memory_is_little_endian_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
