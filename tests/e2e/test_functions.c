/* Functions of one and two numbers, as generated code computes them, against the C library in a wider type. The rows of
 * docs/numbers.md say which functions, how far from the true value they may be, and where float32 is farthest from it.
 *
 * Without an argument: float32 at all exponents with 4096 mantissas each and at the worst argument of the row, float64
 * at samples, and all values of the 16-bit types. With the argument `functions.all`: every float32 (of two
 * operands: 2^28 pairs), one function after the other; TENON_FUNCTION names one of them, as in the table below.
 * Targets: AVX-512, whose results must be those of AVX2 with fma bit for bit; and plain SSE2, without fma.
 * Last elements, which vectors leave over, must be as they are inside. NaN, infinities and signs, of zeros
 * too, must be those of the C library.
 *
 * The reference of float32 is computed in double; where an error is the largest yet, in long double once
 * more. GCC makes vectors of it with glibc's libmvec, whose error of at most 4 units of double is 2^-27 units
 * of float. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "e2e/run.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !RUN_SANITIZED
#if __GLIBC_PREREQ(2, 35)
#define VECTOR __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3", "no-math-errno")))
#define SIMD(f) __attribute__((simd("notinbranch"), const)) extern double f(double)
SIMD(exp);
SIMD(log);
SIMD(sin);
SIMD(cos);
SIMD(tan);
SIMD(asin);
SIMD(acos);
SIMD(atan);
SIMD(sinh);
SIMD(cosh);
SIMD(tanh);
SIMD(asinh);
SIMD(acosh);
SIMD(atanh);
SIMD(erf);
SIMD(erfc);
SIMD(expm1);
SIMD(log1p);
__attribute__((simd("notinbranch"), const)) extern double pow(double, double);
#endif
#endif
#ifndef VECTOR
#define VECTOR
#endif
#include <tgmath.h>

enum { BLOCK = 1 << 16, LEFT_OVER = 13, N = BLOCK + LEFT_OVER };
enum { F32, F64, F16, BF16, N_TYPES };
enum { FMA, PLAIN, N_WAYS };

typedef struct type {
    const char *name;
    uint8_t code, bits;
    int digits, least, largest; /* bits behind the point; exponents */
} type;
static const type types[] = {{"float32", 2, 32, 23, -126, 127},
                             {"float64", 2, 64, 52, -1022, 1023},
                             {"float16", 2, 16, 10, -14, 15},
                             {"bfloat16", 4, 16, 7, -126, 127}};

/* ---- references ---- */

#define R(c) ((__typeof__(x))(c##L))
#define FUNCTION(id, formula) \
    VECTOR static void many_##id(const float *restrict a, const float *restrict b, double *restrict out) \
    { \
        for (int i = 0; i < N; i++) { \
            double x = (double)a[i], y = (double)b[i]; \
            (void)y; \
            out[i] = formula; \
        } \
    } \
    static long double one_##id(long double x, long double y) \
    { \
        (void)y; \
        return formula; \
    }

FUNCTION(exp, exp(x))
FUNCTION(log, log(x))
FUNCTION(tanh, tanh(x))
FUNCTION(sigmoid, 1 / (1 + exp(-x)))
FUNCTION(erf, erf(x))
FUNCTION(sin, sin(x))
FUNCTION(cos, cos(x))
FUNCTION(tan, tan(x))
FUNCTION(asin, asin(x))
FUNCTION(acos, acos(x))
FUNCTION(atan, atan(x))
FUNCTION(sinh, sinh(x))
FUNCTION(cosh, cosh(x))
FUNCTION(asinh, asinh(x))
FUNCTION(acosh, acosh(x))
FUNCTION(atanh, atanh(x))
FUNCTION(sqrt, sqrt(x))
FUNCTION(rsqrt, 1 / sqrt(x))
FUNCTION(reciprocal, 1 / x)
FUNCTION(elu, x < 0 ? expm1(x) : x)
FUNCTION(selu, R(1.05070102214813232421875) * (x > 0 ? x : R(1.67326319217681884765625) * expm1(x)))
FUNCTION(softplus, (x > 0 ? x : 0) + log1p(exp(-fabs(x))))
FUNCTION(softsign, x / (1 + fabs(x)))
FUNCTION(mish, x *tanh(log1p(exp(x))))
FUNCTION(gelu, x *erfc(x *R(-0.70710678118654752440)) / 2)
FUNCTION(gelu_tanh, x / (1 + exp(R(-1.5957691216057308) * (x + R(0.044715) * x * x * x))))
FUNCTION(swish, x / (1 + exp(-x)))
FUNCTION(hardswish, x *((x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3) / 6))
FUNCTION(pow, pow(x, y))
FUNCTION(square, x *x)
FUNCTION(cube, x *x *x)
FUNCTION(root, pow(x, R(0.5)))
FUNCTION(fraction, pow(x, R(0.375)))

typedef struct function {
    const char *text; /* Relay; also the row's name in docs/numbers.md */
    void (*many)(const float *restrict a, const float *restrict b, double *restrict out);
    long double (*one)(long double x, long double y);
    /* from docs/numbers.md */
    double bound[N_TYPES][N_WAYS];
    double worst[2];
} function;

/* clang-format off */
#define ROW(text, id) {text, many_##id, one_##id, {{0}}, {0}}
static function functions[] = {
    ROW("exp(%x)", exp),
    ROW("log(%x)", log),
    ROW("tanh(%x)", tanh),
    ROW("sigmoid(%x)", sigmoid),
    ROW("erf(%x)", erf),
    ROW("sin(%x)", sin),
    ROW("cos(%x)", cos),
    ROW("tan(%x)", tan),
    ROW("asin(%x)", asin),
    ROW("acos(%x)", acos),
    ROW("atan(%x)", atan),
    ROW("sinh(%x)", sinh),
    ROW("cosh(%x)", cosh),
    ROW("asinh(%x)", asinh),
    ROW("acosh(%x)", acosh),
    ROW("atanh(%x)", atanh),
    ROW("sqrt(%x)", sqrt),
    ROW("rsqrt(%x)", rsqrt),
    ROW("divide(1f, %x)", reciprocal),
    ROW("nn.elu(%x, alpha=1.0)", elu),
    ROW("nn.selu(%x)", selu),
    ROW("nn.softplus(%x)", softplus),
    ROW("nn.softsign(%x)", softsign),
    ROW("nn.mish(%x)", mish),
    ROW("nn.gelu(%x)", gelu),
    ROW("nn.gelu_tanh(%x)", gelu_tanh),
    ROW("nn.swish(%x, alpha=1.0)", swish),
    ROW("nn.hardswish(%x)", hardswish),
    ROW("power(%x, 2f)", square),
    ROW("power(%x, 3f)", cube),
    ROW("power(%x, 0.5f)", root),
    ROW("power(%x, 0.375f)", fraction),
    ROW("power(%x, %y)", pow),
};
/* clang-format on */
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static bool is_binary(const function *f) { return strstr(f->text, "%y") != NULL; }

/* ---- what docs/numbers.md states: | `text` | float32: fma, plain | float64: ... | 16 bits | worst argument
 * | ... | ---- */

static function *find_function(const char *line)
{
    for (int i = 0; i < N_FUNCTIONS; i++) {
        char head[64];
        int n = 0;
        head[n++] = '`';
        for (const char *c = functions[i].text; *c; c++)
            if (*c != '%')
                head[n++] = *c;
        head[n++] = '`';
        if (strncmp(line, head, (size_t)n) == 0)
            return &functions[i];
    }
    return NULL;
}

static void read_row(const char *line)
{
    function *f = find_function(line);
    double v[7] = {0};
    if (!f)
        return;
    line = strchr(line + 1, '`');
    for (int i = 0; i < 7; i++) {
        line += strcspn(line, "|,") + 1;
        char *end;
        v[i] = strtod(line, &end);
        assert_true(end > line || i == 6);
    }
    for (int k = 0; k < 4; k++)
        f->bound[k / N_WAYS][k % N_WAYS] = v[k];
    for (int t = F16; t <= BF16; t++)
        f->bound[t][FMA] = f->bound[t][PLAIN] = v[4];
    f->worst[0] = v[5];
    f->worst[1] = v[6];
}

static int read_bounds(void **state)
{
    const char *root = getenv("TENON_SOURCE_DIR");
    char path[4096], line[512];
    (void)state;
    snprintf(path, sizeof path, "%s/docs/numbers.md", root ? root : "../..");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "| `", 3) == 0)
            read_row(line + 2);
    fclose(file);
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (functions[i].bound[F32][FMA] <= 0)
            fail_msg("docs/numbers.md has no row of %s", functions[i].text);
    return 0;
}

/* ---- kernels ---- */

typedef struct kernel { /* some functions of one type for one target */
    tnr_module *module;
    tnr_instance *instance;
    int n;
} kernel;

/* The text with %x and %y, and literals of the type. */
static void write_call(FILE *file, const function *f, const type *t)
{
    for (const char *c = f->text; *c; c++)
        if (*c == 'f' && c > f->text && c[-1] >= '0' && c[-1] <= '9')
            fputs(t->code == 4 ? "bf16" : t->bits == 16 ? "f16" : t->bits == 64 ? "f64" : "f", file);
        else
            fputc(*c, file);
}

static bool open_kernel(kernel *k, int n, const function f[], const type *t, const char *target)
{
    char path[64], why[RUN_TEXT];
    tnr_error err;
    snprintf(path, sizeof path, "e2e-functions-%d.relay", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "def @main(%%x: Tensor[(%d), %s]", N, t->name);
    if (is_binary(f))
        fprintf(file, ", %%y: Tensor[(%d), %s]", N, t->name);
    fprintf(file, n > 1 ? ") {\n  (" : ") {\n  ");
    for (int i = 0; i < n; i++) {
        write_call(file, &f[i], t);
        fputs(i < n - 1 ? ",\n   " : n > 1 ? ")\n}\n" : "\n}\n", file);
    }
    assert_int_equal(fclose(file), 0);
    tenon_options o = {.size = sizeof(tenon_options), .target = target, .opt_level = 3};
    bool ok = run_compile(path, &o, &k->module, why);
    unlink(path);
    if (!ok && strstr(why, "CPU"))
        return false;
    if (!ok || tnr_instance_new(k->module, &(tnr_instance_options){.threads = 1}, &k->instance, &err))
        fail_msg("%s of %s: %s", target, t->name, ok ? err.message : why);
    k->n = n;
    return true;
}

static void close_kernel(kernel *k)
{
    tnr_instance_free(k->instance);
    tnr_module_release(k->module);
    *k = (kernel){0};
}

static void run_kernel(kernel *k, const type *t, const void *x, const void *y, void *const out[])
{
    tnr_error err;
    int64_t shape[] = {N};
    DLTensor v = {.device = {kDLCPU, 0}, .ndim = 1, .dtype = {t->code, t->bits, 1}, .shape = shape};
    v.data = (void *)(uintptr_t)x;
    int failed = tnr_set_input_at(k->instance, 0, &v, &err);
    if (y) {
        v.data = (void *)(uintptr_t)y;
        failed = failed || tnr_set_input_at(k->instance, 1, &v, &err);
    }
    for (int i = 0; i < k->n; i++) {
        v.data = out[i];
        failed = failed || tnr_set_output_at(k->instance, (uint32_t)i, &v, &err);
    }
    if (failed || tnr_run(k->instance, &err))
        fail_msg("run: %s", err.message);
}

/* ---- errors ---- */

typedef struct tally { /* of one function, type and way */
    double worst, x, y;
    uint64_t n, above_half, above_one, above_two;
} tally;

/* Distance in units of the last place that the type has at `want`; what is not a number, or has another sign,
 * is far. */
static double distance(const type *t, double got, long double want)
{
    int e;
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (!signbit(got) != !signbit(want))
        return INFINITY;
    long double over = ldexpl(1, t->largest + 1), g = isinf(got) ? over : fabsl((long double)got);
    want = fabsl(want);
    if (want >= over - ldexpl(1, t->largest - t->digits - 1) && isinf(got))
        return 0; /* it rounds to infinity */
    if (want > over)
        want = over;
    frexpl(want, &e);
    e = want == 0 || e - 1 < t->least ? t->least : e - 1 > t->largest ? t->largest : e - 1;
    return (double)(fabsl(g - want) / ldexpl(1, e - t->digits));
}

typedef union bits64 {
    double d;
    int64_t i;
} bits64;

/* The same for float32. Returns the bits of the largest; where it takes a closer look, there is infinity. */
VECTOR static int32_t distances(const float *restrict got, const double *restrict want, float *restrict out)
{
    int32_t largest = 0;
    for (int i = 0; i < N; i++) {
        bits64 w = {.d = want[i]}, unit, g = {.d = (double)got[i]};
        int64_t e = (w.i >> 52) & 2047;
        e = e < 1023 - 126 ? 1023 - 126 : e;
        unit.i = (2046 + 23 - e) << 52;
        double away = fabs(g.d - w.d) * unit.d;
        bool overflow = fabs(w.d) >= 0x1.ffffffp127 && fabs(g.d) >= 0x1p128;
        bool both_nan = w.d != w.d && g.d != g.d;
        away = (w.i ^ g.i) < 0 || e > 1023 + 126 || g.d != g.d ? (double)INFINITY : away;
        away = overflow && (w.i ^ g.i) >= 0 ? 0 : away;
        away = both_nan ? 0 : away;
        union {
            float f;
            int32_t i;
        } u = {.f = (float)away};
        out[i] = u.f;
        largest = u.i > largest ? u.i : largest;
    }
    return largest;
}

static void note(tally *s, double e, double x, double y)
{
    s->n++;
    s->above_half += e > 0.5;
    s->above_one += e > 1;
    s->above_two += e > 2;
    if (!(e <= s->worst)) {
        s->worst = e;
        s->x = x;
        s->y = y;
    }
}

VECTOR static void count_all(tally *s, const float *away)
{
    uint32_t half = 0, one = 0, two = 0;
    for (int i = 0; i < N; i++) {
        half += away[i] > 0.5f;
        one += away[i] > 1.0f;
        two += away[i] > 2.0f;
    }
    s->n += N;
    s->above_half += half;
    s->above_one += one;
    s->above_two += two;
}

/* The numbers of a block of float32. */
static void judge(tally *s, const function *f, const float *x, const float *y, const float *got,
                  const double *want)
{
    static float away[N];
    const type *t = &types[F32];
    union {
        int32_t i;
        float f;
    } largest = {.i = distances(got, want, away)};
    for (int i = 0; (double)largest.f > s->worst && i < N; i++) {
        if (!(away[i] < (float)INFINITY)) {
            away[i] = (float)distance(t, (double)got[i], (long double)want[i]);
            if (away[i] == 0)
                continue;
        }
        if ((double)away[i] > s->worst) {
            double e = distance(t, (double)got[i], f->one((long double)x[i], (long double)y[i]));
            if (e > s->worst) {
                s->worst = e;
                s->x = (double)x[i];
                s->y = (double)y[i];
            }
        }
    }
    count_all(s, away);
}

/* false: it is farther off than docs/numbers.md says. */
static bool report(const function *f, const type *t, int way, const tally *s)
{
    static const char *const names[] = {"fma", "plain"};
    double bound = f->bound[t - types][way];
    bool over = !(s->worst <= bound);
    if (over || getenv("TENON_VERBOSE"))
        print_message("%-27s %-8s %-5s %.4f%s at %a, %a; above 0.5: %.2g, 1: %.2g, 2: %.2g\n", f->text,
                      t->name, names[way], s->worst, over ? " (too far)" : "", s->x, s->y,
                      (double)s->above_half / (double)s->n, (double)s->above_one / (double)s->n,
                      (double)s->above_two / (double)s->n);
    return !over;
}

/* ---- arguments ---- */

static double half_value(const type *t, uint16_t b)
{
    int field = (b & 0x7fff) >> t->digits, man = b & ((1 << t->digits) - 1), most = t->largest - t->least + 2;
    double v = field == most ? man ? NAN : INFINITY
               : field == 0  ? ldexp((double)man, t->least - t->digits)
                             : ldexp((double)(man + (1 << t->digits)), t->least - t->digits + field - 1);
    return b & 0x8000 ? -v : v;
}

static double value_of(const type *t, const void *at, int i)
{
    return t->bits == 64   ? ((const double *)at)[i]
           : t->bits == 32 ? (double)((const float *)at)[i]
                           : half_value(t, ((const uint16_t *)at)[i]);
}

static float from_bits(uint32_t b)
{
    union {
        uint32_t b;
        float f;
    } u = {.b = b};
    return u.f;
}

static uint32_t mixed(uint32_t i)
{
    i *= 0x9e3779b1u;
    return (i ^ i >> 15) * 0x85ebca77u >> 8;
}

static const float special[] = {0,
                                -0.0f,
                                1,
                                -1,
                                2,
                                -2,
                                3,
                                -3,
                                0.5f,
                                -0.5f,
                                2.5f,
                                -2.5f,
                                0x1p-149f,
                                -0x1p-149f,
                                0x1p-126,
                                -0x1p-126f,
                                0x1p-140f,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                0x1p127f,
                                -0x1p127f,
                                0x1p24f,
                                16777215,
                                -16777215,
                                0x1.fffffep0f,
                                0.999999f,
                                0x1.000002p0f,
                                0x1.fffffep127f,
                                -0x1.fffffep127f};
enum { N_SPECIAL = sizeof special / sizeof *special };

/* Pairs for x^y: any bits, specials, results over the whole range, bases next to 1, whole and simple exponents. */
static void make_pair(uint32_t i, tn_rng *r, float *x, float *y)
{
    uint32_t bits = (uint32_t)tn_rng_next(r);
    double u = tn_rng_unit(r), v = tn_rng_unit(r), to = 290 * u - 155;
    switch (i % 8) {
    case 0:
        *x = from_bits(bits);
        *y = from_bits((uint32_t)tn_rng_next(r));
        return;
    case 1:
        *x = special[i / 8 % N_SPECIAL];
        *y = special[i / 8 / N_SPECIAL % N_SPECIAL];
        return;
    case 2:
        *x = (float)((i & 8 ? -1 : 1) * exp2(8 * u - 4));
        *y = (float)(int)(60 * v - 30);
        return;
    case 3:
        *x = from_bits(bits);
        *y = special[i / 8 % N_SPECIAL];
        return;
    case 4: *x = (float)(1 + (v - 0.5) * exp2(-(double)(bits % 24))); break;
    case 5: *x = (float)(20 * v); break;
    default: *x = from_bits(bits & INT32_MAX);
    }
    *y = (float)(to / log2((double)*x));
}

typedef struct arguments {
    float x[N], y[N];
} arguments;

/* Block number b of `blocks`, 2^16 of which are all numbers. The last arguments stand inside too. */
static void make_arguments(arguments *a, uint32_t b, uint32_t blocks, const function *binary)
{
    tn_rng rng = {b + 1};
    const uint32_t step = 65536 / blocks;
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t j = b * BLOCK + i;
        if (binary)
            make_pair(j, &rng, &a->x[i], &a->y[i]);
        else
            a->x[i] = from_bits(j * step + (mixed(j) & (step - 1)));
    }
    for (uint32_t i = 0; i < LEFT_OVER; i++) {
        a->x[BLOCK + i] = a->x[i * 5041];
        a->y[BLOCK + i] = a->y[i * 5041];
    }
}

/* ---- float32 ---- */

enum { AVX512, AVX2, SSE2, N_TARGETS };
static const char *const targets[] = {"llvm -mcpu=x86-64-v4", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"};

typedef struct session {
    int n; /* functions */
    const function *f;
    kernel kernel[N_TARGETS];
    bool has[N_TARGETS];
    float *out[N_TARGETS][N_FUNCTIONS];
    tally tally[N_WAYS][N_FUNCTIONS];
} session;

static void begin(session *s, int n, const function f[], const type *t)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->f = f;
    /* a sanitizer sees the same of the compiler in fewer registers of other types */
    for (int k = RUN_FEWER && t->bits != 32 ? AVX2 : AVX512; k < N_TARGETS; k++) {
        s->has[k] = open_kernel(&s->kernel[k], n, f, t, targets[k]);
        if (!s->has[k])
            print_message("not run: %s, which this machine is not\n", targets[k]);
        for (int i = 0; i < n; i++)
            s->out[k][i] = aligned_alloc(64, (N + 31) / 32 * 256);
    }
}

static void end(session *s)
{
    for (int k = 0; k < N_TARGETS; k++) {
        close_kernel(&s->kernel[k]);
        for (int i = 0; i < s->n; i++)
            free(s->out[k][i]);
    }
}

/* Equal bits; any NaN is equal to any. */
static bool same(const type *t, int n, const void *a, const void *b)
{
    size_t width = t->bits / 8u;
    if (memcmp(a, b, (size_t)n * width) == 0)
        return true;
    for (int i = 0; i < n; i++)
        if (memcmp((const char *)a + (size_t)i * width, (const char *)b + (size_t)i * width, width) != 0 &&
            !(isnan(value_of(t, a, i)) && isnan(value_of(t, b, i))))
            return false;
    return true;
}

static void run_all(session *s, const type *t, const void *x, const void *y)
{
    size_t width = t->bits / 8u;
    for (int k = 0; k < N_TARGETS; k++) {
        if (!s->has[k])
            continue;
        run_kernel(&s->kernel[k], t, x, y, (void *const *)s->out[k]);
        for (int i = 0; i < s->n; i++) {
            const char *at = (const char *)s->out[k][i];
            for (size_t j = 0; j < LEFT_OVER; j++)
                if (!same(t, 1, at + (BLOCK + j) * width, at + j * 5041 * width))
                    fail_msg("%s of %s: the last elements differ from the same inside", s->f[i].text,
                             t->name);
            if (k == AVX2 && s->has[AVX512] && !same(t, N, at, s->out[AVX512][i]))
                fail_msg("%s of %s: AVX2 and AVX-512 differ", s->f[i].text, t->name);
        }
    }
}

static void do_block(session *s, const arguments *a)
{
    static double want[N];
    run_all(s, &types[F32], a->x, is_binary(s->f) ? a->y : NULL);
    for (int i = 0; i < s->n; i++) {
        s->f[i].many(a->x, a->y, want);
        for (int way = 0; way < N_WAYS; way++) {
            int k = way == PLAIN ? SSE2 : AVX2;
            if (s->has[k])
                judge(&s->tally[way][i], &s->f[i], a->x, a->y, s->out[k][i], want);
        }
    }
}

static bool report_all(session *s, const type *t)
{
    bool good = true;
    for (int i = 0; i < s->n; i++)
        for (int way = 0; way < N_WAYS; way++)
            good =
                (!s->has[way == PLAIN ? SSE2 : AVX2] || report(&s->f[i], t, way, &s->tally[way][i])) && good;
    return good;
}

static bool check_float32(int n, const function f[], uint32_t blocks)
{
    static session s;
    static arguments a;
    begin(&s, n, f, &types[F32]);
    for (uint32_t b = 0; b < blocks; b++) {
        make_arguments(&a, b, blocks, is_binary(f) ? f : NULL);
        for (int i = 0; b == 0 && !is_binary(f) && i < n; i++)
            a.x[1 + i] = (float)f[i].worst[0];
        do_block(&s, &a);
    }
    bool good = report_all(&s, &types[F32]);
    end(&s);
    return good;
}

/* ---- the other types ---- */

static double sample64(uint32_t i, tn_rng *r)
{
    union {
        uint64_t i;
        double d;
    } any = {.i = tn_rng_next(r)};
    double u = 2 * tn_rng_unit(r) - 1;
    switch (i % 8) {
    case 0: return any.d;
    case 1: return (double)special[i / 8 % N_SPECIAL];
    case 2: return 750 * u;
    case 3: return 1 + u * exp2(-(double)(any.i % 53));
    case 4: return u * exp2(-(double)(any.i % 70));
    case 5: return 1e6 * u;
    default: return 8 * u;
    }
}

static void make_pair64(uint32_t i, tn_rng *r, double *x, double *y)
{
    float fx, fy;
    double u = tn_rng_unit(r), v = tn_rng_unit(r);
    make_pair(i, r, &fx, &fy);
    *x = (double)fx;
    *y = (double)fy;
    if (i % 8 >= 4) {
        *x = fabs(sample64(i, r));
        *x = i % 8 == 6 ? exp2(2000 * v - 1000) : *x;
        *y = (2150 * u - 1100) / log2(*x);
    }
}

static void make_arguments_of(const type *t, bool binary, void *x, void *y)
{
    size_t width = t->bits / 8u;
    tn_rng rng = {5};
    for (uint32_t i = 0; i < BLOCK; i++)
        if (t->bits == 16)
            ((uint16_t *)x)[i] = (uint16_t)i;
        else if (binary)
            make_pair64(i, &rng, (double *)x + i, (double *)y + i);
        else
            ((double *)x)[i] = sample64(i, &rng);
    for (size_t i = 0; binary && t->bits == 16 && i < BLOCK; i++)
        ((uint16_t *)y)[i] = (uint16_t)mixed((uint32_t)i);
    for (size_t i = 0; i < LEFT_OVER; i++) {
        memcpy((char *)x + (BLOCK + i) * width, (char *)x + i * 5041 * width, width);
        memcpy((char *)y + (BLOCK + i) * width, (char *)y + i * 5041 * width, width);
    }
}

static bool check_type(int n, const function f[], const type *t)
{
    static session s;
    static double x[N], y[N];
    bool binary = is_binary(f);
    begin(&s, n, f, t);
    make_arguments_of(t, binary, x, y);
    run_all(&s, t, x, binary ? y : NULL);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < BLOCK; j += RUN_FEWER ? 16 : 1) {
            double u = value_of(t, x, j), v = binary ? value_of(t, y, j) : 0;
            long double want = f[i].one((long double)u, (long double)v);
            for (int way = 0; way < N_WAYS; way++) {
                int k = way == PLAIN ? SSE2 : AVX2;
                if (s.has[k])
                    note(&s.tally[way][i], distance(t, value_of(t, s.out[k][i], j), want), u, v);
            }
        }
    bool good = report_all(&s, t);
    end(&s);
    return good;
}

static int unary_count(void)
{
    int n = 0;
    while (n < N_FUNCTIONS && !is_binary(&functions[n]))
        n++;
    return n;
}

static void samples_of_float32(void **state)
{
    (void)state;
    int n = unary_count();
    bool good = check_float32(n, functions, RUN_FEWER ? 2 : 32);
    for (int i = n; i < N_FUNCTIONS; i++)
        good = check_float32(1, &functions[i], RUN_FEWER ? 2 : 8) && good;
    assert_true(good);
}

static void other_types(void **state)
{
    (void)state;
    int n = unary_count();
    bool good = true;
    for (int t = F64; t <= BF16; t++) {
        good = check_type(n, functions, &types[t]) && good;
        for (int i = n; i < N_FUNCTIONS; i++)
            good = check_type(1, &functions[i], &types[t]) && good;
    }
    assert_true(good);
}

/* TENON_FUNCTION: the text of one function, as above; one that is not there fails. */
static void all_of_float32(void **state)
{
    const char *only = getenv("TENON_FUNCTION");
    bool good = true;
    int n_ran = 0;
    (void)state;
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (!only || strcmp(only, functions[i].text) == 0) {
            good = check_float32(1, &functions[i], is_binary(&functions[i]) ? 4096 : 65536) && good;
            n_ran++;
        }
    assert_true(good);
    assert_int_not_equal(n_ran, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest samples[] = {cmocka_unit_test_setup(samples_of_float32, read_bounds),
                                         cmocka_unit_test_setup(other_types, read_bounds)};
    const struct CMUnitTest all[] = {cmocka_unit_test_setup(all_of_float32, read_bounds)};
    if (argc > 1 && strcmp(argv[1], "functions.all") == 0)
        return cmocka_run_group_tests(all, NULL, NULL);
    return cmocka_run_group_tests(samples, NULL, NULL);
}
