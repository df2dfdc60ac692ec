/* The interpreter: against a plain second one on random functions, row by row on semantics, traps, vectors, speed. */
#include "sanitized.h"
#include "tir_random.h"
#include "tir_reference.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* ---- against the reference ---- */

enum { BYTES = 4096 };
typedef union memory {
    uint8_t byte[BYTES];
    float f[BYTES / 4];
    int32_t i[BYTES / 4];
    uint16_t h[BYTES / 2];
} memory;

static void fill(memory m[5], uint64_t seed)
{
    tn_rng rng = {seed};
    for (int k = 0; k < BYTES / 4; k++) {
        m[0].f[k] = (float)tn_rng_below(&rng, 2000) / 64 - 15;
        m[1].i[k] = (int32_t)tn_rng_below(&rng, 40) - 8;
        m[2].h[k] = tn_float_to_half((float)tn_rng_below(&rng, 200) / 16 - 6);
        m[3].f[k] = (float)k;
        m[4].i[k] = (int32_t)(tn_rng_next(&rng) >> 30);
    }
}

/* Equal, but one NaN is as good as another. */
static bool same_floats(const memory *a, const memory *b)
{
    for (int k = 0; k < BYTES / 4; k++)
        if (a->i[k] != b->i[k] && !(isnan(a->f[k]) && isnan(b->f[k])))
            return false;
    return true;
}

static void random_functions_agree_with_the_reference(void **state)
{
    (void)state;
    int n_seed = getenv("TENON_SLOW") ? 20000 : RUN_FEWER ? 400 : 1500, ran = 0, trapped = 0;
    static memory a[5], b[5];
    for (int seed = 0; seed < n_seed; seed++) {
        fixture x;
        fixture_init(&x);
        tn_func *f = random_function(&x, (uint64_t)seed + 1000);
        int64_t sym[2] = {1 + seed % 9, 1 + seed / 9 % 9};
        void *arg_a[5], *arg_b[5];
        if (tn_func_verify(f) == TN_OK) {
            for (int i = 0; i < 5; i++) {
                arg_a[i] = &a[i];
                arg_b[i] = &b[i];
            }
            fill(a, (uint64_t)seed);
            fill(b, (uint64_t)seed);
            bool ok = ref_run(f, arg_b, sym), got = tn_func_run(f, arg_a, sym) == TN_OK;
            if (ok != got || (ok && (!same_floats(&a[3], &b[3]) || memcmp(&a[4], &b[4], BYTES) != 0)))
                fail_msg("seed %d n=%d m=%d: reference %s, interpreter %s %s\n%s", seed, (int)sym[0],
                         (int)sym[1], ok ? "ran" : "trapped", got ? "ran" : "trapped", got ? "" : diags(&x),
                         printed(&x, f));
            ran += ok;
            trapped += !ok;
        }
        fixture_deinit(&x);
    }
    assert_true(ran > n_seed / 3 && trapped > n_seed / 50); /* both ways are exercised */
}

/* ---- sums of products, which the interpreter runs by a loop of its own ---- */

typedef struct product {
    const char *type, *sum, *value;
} product;
static const product products[] = {
    {"f32", "f32", "%s + %s * %s"},          {"f32", "f32", "fma(%2$s, %3$s, %1$s)"},
    {"i8", "i32", "%s + i32(%s) * i32(%s)"}, {"u8", "i32", "%s + i32(%s) * i32(%s)"},
    {"i32", "i32", "%s + %s * %s"},          {"i16", "i32", "i32(%2$s) * i32(%3$s) + %1$s"},
    {"f32", "f32", "%2$s * %3$s - %1$s"},
};

static tn_func *product_func(fixture *x, const product *t, int order, int variant)
{
    static const char *const loops[6] = {"i < 6, j < 5, k < 7", "i < 6, k < 7, j < 5", "j < 5, i < 6, k < 7",
                                         "j < 5, k < 7, i < 6", "k < 7, i < 6, j < 5", "k < 7, j < 5, i < 6"};
    static const char *const masks[] = {
        "", " mask k < 5", " mask i + j < 4", " mask k > 1", " mask n < 3", " mask n < 9 and k + j > 2"};
    static const char *const left[] = {"x[i, k]", "x[i, 6 - k]", "x[5 - i, 2]", "x[k%6, k]"};
    static const char *const right[] = {"w[k, j]", "t[k, j]", "w[6 - k, 4 - j]", "y[j, k - 4]"};
    static const char *const at[] = {"y[i, j]", "y[j, i]", "y[5 - i, j*1]", "y[0, 3]"};
    tn_buf b = {0}, value = {0};
    const char *l = left[variant % 4], *r = right[variant / 4 % 4], *y = at[variant / 16 % 4];
    bool init = variant / 64 % 2 != 0;
    if (strcmp(r, right[3]) == 0 && strcmp(t->type, t->sum) != 0)
        r = right[0];
    tn_buf_printf(&value, t->value, y, l, r);
    tn_buf_printf(
        &b,
        "func @f(x: %s[6, 7], w: %s[7, 5, AB2b]) -> (y: %s[6, 6]) {\n  symbols n\n  buffer t: %s[7, 5]\n"
        "  for k < 7, j < %d:\n    t[k, j] = w[k, j]\n  for %s:\n"
        "    block c(i: spatial, j: spatial, k: reduce)%s:\n%s%s%s      %s = %s\n}\n",
        t->type, t->type, t->sum, t->type, variant % 3 ? 5 : 4, loops[order], masks[variant % 6],
        init ? "      init " : "", init ? y : "", init ? " = 3\n" : "", y, value.at);
    tn_func *f = read_func(x, b.at);
    tn_buf_deinit(&b);
    tn_buf_deinit(&value);
    return f;
}

static void sums_of_products_agree_with_the_reference(void **state)
{
    (void)state;
    static memory a[5], b[5];
    int ran = 0, trapped = 0;
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        for (int order = 0; order < 6; order++)
            for (int variant = 0; variant < 128; variant++) {
                fixture x;
                fixture_init(&x);
                tn_func *f = product_func(&x, &products[p], order, variant);
                int64_t n = 1 + variant % 4;
                int from = strcmp(products[p].type, "f32") == 0 ? 0 : 1;
                fill(a, (uint64_t)variant);
                fill(b, (uint64_t)variant);
                bool alias = variant % 5 == 0 &&
                             strcmp(products[p].type, products[p].sum) == 0; /* x and y are one memory */
                void *arg_a[] = {&a[from], a[from].byte + 400, alias ? &a[from] : &a[4 - from]};
                void *arg_b[] = {&b[from], b[from].byte + 400, alias ? &b[from] : &b[4 - from]};
                bool verified = tn_func_verify(f) == TN_OK; /* y[j, k - 4] may be certainly outside */
                bool ok = verified && ref_run(f, arg_b, &n),
                     got = verified && tn_func_run(f, arg_a, &n) == TN_OK;
                bool same = same_floats(&a[from], &b[from]) && same_floats(&a[4 - from], &b[4 - from]);
                if (ok != got || (ok && !same))
                    fail_msg("order %d variant %d: reference %s, interpreter %s %s\n%s", order, variant,
                             ok ? "ran" : "trapped", got ? "ran" : "trapped", got ? "" : diags(&x),
                             printed(&x, f));
                ran += ok;
                trapped += !ok && verified;
                fixture_deinit(&x);
            }
    assert_true(ran > 2000 && trapped > 200);
}

/* ---- every operation, lane by lane, as tn_eval_op has it ---- */

static const double reals[] = {0,     -0.0,  1,        -1,        0.5, -2.5, 3,    1e30,
                               -1e30, 1e-40, INFINITY, -INFINITY, NAN, 255,  -129, 2147483648.0};
static const int64_t wholes[] = {0,   1,   -1,   2,   -2,    3,         7,         -7,        31,
                                 100, 127, -128, 255, 32767, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
enum { N_REAL = sizeof reals / sizeof *reals, N_WHOLE = sizeof wholes / sizeof *wholes, N_MAX = 18 };

static tn_scalar sample(tn_dtype t, int i)
{
    if (tn_dtype_is_float(t))
        return tn_eval_cast(TN_F64, t, (tn_scalar){.f = reals[i % N_REAL]});
    return tn_eval_cast(TN_I64, t, (tn_scalar){.i = wholes[i % N_WHOLE]});
}

static bool equal_scalar(tn_dtype t, tn_scalar a, tn_scalar b)
{
    return tn_dtype_is_float(t) ? (isnan(a.f) && isnan(b.f)) || (a.f == b.f && signbit(a.f) == signbit(b.f))
                                : a.i == b.i;
}

/* out[0] = op(x[0], y[0], z[0]), or a phase over `lanes` of them. */
static tn_func *op_func(fixture *x, enum tn_ek k, tn_payload u, tn_dtype t, tn_dtype in, int n,
                        uint16_t lanes)
{
    tn_pool *p = &x->pool;
    tn_func *f = tn_func_new(&x->ctx, &x->arena, p, "op");
    const tn_expr *dim[1] = {tn_idx(p, lanes)}, *zero = tn_idx(p, 0), *src[3];
    static const char *const names[] = {"x", "y", "z"};
    f->stage = TN_STAGE_FLAT;
    bool index_in = tn_dtype_is_index(in), index_out = tn_dtype_is_index(t);
    for (int i = 0; i < n; i++) {
        tn_dtype held = k == TN_E_SELECT && i == 0 ? TN_BOOL1 : index_in ? TN_I64 : in;
        uint32_t b = tn_func_add_buffer(
            f, &(tn_buffer){.name = names[i], .dtype = held, .ndim = 1, .dim = dim, .param = -1});
        tn_func_add_param(f, b, false);
        src[i] = tn_load(p, tn_dtype_lanes(held, lanes), b, 1, &zero, NULL, NULL);
        if (index_in)
            src[i] = tn_cast(p, tn_dtype_lanes(TN_IDX, lanes), src[i]);
    }
    uint32_t o = tn_func_add_buffer(
        f, &(tn_buffer){.name = "o", .dtype = index_out ? TN_I64 : t, .ndim = 1, .dim = dim, .param = -1});
    tn_func_add_param(f, o, true);
    const tn_expr *e = tn_expr_make(p, k, tn_dtype_lanes(t, lanes), u, n, src);
    if (index_out)
        e = tn_cast(p, tn_dtype_lanes(TN_I64, lanes), e);
    tn_body_append(&f->body, tn_stmt_store(f, o, 1, &zero, e, NULL));
    return f;
}

/* Are the operands in the order of tn_expr_make? Commuting kinds may swap them, which matters to NaN only. */
static void check_op(enum tn_ek k, tn_payload u, tn_dtype t, tn_dtype in, int n, uint16_t lanes)
{
    fixture x;
    fixture_init(&x);
    tn_func *f = op_func(&x, k, u, t, in, n, lanes);
    uint32_t size_in = tn_dtype_bytes(in), size_out = tn_dtype_bytes(t);
    for (int at = 0; at < N_MAX * N_MAX; at += lanes) {
        uint8_t mem[4][64 * 8];
        void *arg[4] = {mem[0], mem[1], mem[2], mem[3]};
        tn_scalar v[64][3], want[64];
        bool defined = true;
        arg[n] = mem[3];
        for (int l = 0; l < lanes; l++) {
            for (int i = 0; i < n; i++) {
                v[l][i] = sample(k == TN_E_SELECT && i == 0 ? TN_BOOL1 : in, i == 0   ? at + l
                                                                             : i == 1 ? (at + l) / N_MAX
                                                                                      : at * 7 + l);
                tn_scalar_write(k == TN_E_SELECT && i == 0 ? TN_BOOL1 : in,
                                mem[i] + (size_t)l * (k == TN_E_SELECT && i == 0 ? 1 : size_in), v[l][i]);
            }
            if (k == TN_E_SELECT)
                want[l] = v[l][v[l][0].i ? 1 : 2];
            else
                defined = tn_eval_op(k, t, u, in, n, v[l], &want[l]) && defined;
        }
        tn_status s = tn_func_run(f, arg, NULL);
        if ((s == TN_OK) != defined)
            fail_msg("%s %d lanes at %d: %s", tn_eks[k].name, lanes, at, s ? diags(&x) : "ran");
        for (int l = 0; defined && l < lanes; l++) {
            tn_scalar got = tn_scalar_read(t, mem[3] + (size_t)l * size_out);
            if (!equal_scalar(t, got, want[l]))
                fail_msg("%s of code %d bits %d, %d lanes, at %d: got %a/%lld, want %a/%lld", tn_eks[k].name,
                         in.code, in.bits, lanes, at + l, got.f, (long long)got.i, want[l].f,
                         (long long)want[l].i);
        }
        tn_diag_clear(&x.ctx);
    }
    fixture_deinit(&x);
}

static const tn_dtype all[] = {{TN_FLOAT, 32, 1}, {TN_FLOAT, 64, 1}, {TN_FLOAT, 16, 1}, {TN_BFLOAT, 16, 1},
                               {TN_INT, 8, 1},    {TN_INT, 32, 1},   {TN_INT, 64, 1},   {TN_UINT, 8, 1},
                               {TN_UINT, 32, 1},  {TN_UINT, 64, 1},  {TN_INDEX, 64, 1}, {TN_BOOL, 8, 1},
                               {TN_INT, 16, 1},   {TN_UINT, 16, 1}};
enum { N_ALL = sizeof all / sizeof *all };

/* 1 floats, 2 ints, 4 index, 8 bool */
static int class_of(tn_dtype t)
{
    return tn_dtype_is_float(t) ? 1 : tn_dtype_is_int(t) ? 2 : tn_dtype_is_index(t) ? 4 : 8;
}

static void operations_are_those_of_eval(void **state)
{
    (void)state;
    static const struct {
        enum tn_ek k;
        int classes;
    } row[] = {
        {TN_E_ADD, 7},      {TN_E_SUB, 7},      {TN_E_MUL, 7},      {TN_E_DIV, 1},     {TN_E_FLOORDIV, 6},
        {TN_E_FLOORMOD, 6}, {TN_E_TRUNCDIV, 6}, {TN_E_TRUNCMOD, 6}, {TN_E_MIN, 7},     {TN_E_MAX, 7},
        {TN_E_EQ, 15},      {TN_E_NE, 15},      {TN_E_LT, 7},       {TN_E_LE, 7},      {TN_E_AND, 8},
        {TN_E_OR, 8},       {TN_E_NOT, 8},      {TN_E_BITAND, 2},   {TN_E_BITOR, 2},   {TN_E_BITXOR, 2},
        {TN_E_SHL, 2},      {TN_E_SHR, 2},      {TN_E_FMA, 1},      {TN_E_SELECT, 11},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int d = 0; d < N_ALL; d++) {
            enum tn_ek k = row[i].k;
            bool compares = k == TN_E_EQ || k == TN_E_NE || k == TN_E_LT || k == TN_E_LE;
            if (!(row[i].classes & class_of(all[d])))
                continue;
            for (uint16_t lanes = 1; lanes <= 8; lanes = (uint16_t)(lanes + 7))
                check_op(k, (tn_payload){0}, compares ? TN_BOOL1 : all[d], all[d], tn_eks[k].nsrc, lanes);
        }
}

static void conversions_are_those_of_eval(void **state)
{
    (void)state;
    for (int a = 0; a < N_ALL; a++)
        for (int b = 0; b < N_ALL; b++) {
            if (a == b)
                continue;
            for (uint16_t lanes = 1; lanes <= 4; lanes = (uint16_t)(lanes + 3)) {
                check_op(TN_E_CAST, (tn_payload){0}, all[b], all[a], 1, lanes);
                if (all[a].bits == all[b].bits && (class_of(all[a]) | class_of(all[b])) <= 3)
                    check_op(TN_E_BITCAST, (tn_payload){0}, all[b], all[a], 1, lanes);
            }
        }
}

static void intrinsics_are_those_of_eval(void **state)
{
    (void)state;
    for (uint32_t id = 0; id < TN_F_dot4us; id++) /* which takes integers: below */
        for (int d = 0; d < N_ALL; d++) {
            tn_payload u = {.call = {.id = id}};
            bool takes = class_of(all[d]) == 1 || (id == TN_F_abs && class_of(all[d]) != 8);
            if (takes)
                check_op(TN_E_CALL, u, tn_intrins[id].to_bool ? TN_BOOL1 : all[d], all[d],
                         tn_intrins[id].nargs, 3);
        }
}

/* ---- semantics, row by row ---- */

/* Bodies over out: i32[8] (zeros at first), x: i32[8] = 10, 11, ...; n = 5. */
static void meaning(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int32_t out[8];
    } row[] = {
        {"  for i < 8:\n    out[i] = 7 mask i < 3\n", {7, 7, 7}},
        {"  for i < 0 - n:\n    out[0] = 1\n", {0}},
        {"  for i < 4:\n    out[i] = (x[i + 6] mask i < 2 else -1)\n", {16, 17, -1, -1}},
        {"  for i < 2, k < 3:\n    block b(i: spatial, k: reduce):\n      init out[i] = 100\n      out[i] = "
         "out[i] + 1\n",
         {103, 103}},
        {"  for k < 3, i < 2:\n    block b(i: spatial, k: reduce) mask k > 0:\n      init out[i] = 100\n     "
         " out[i] = out[i] + 1\n",
         {102, 102}},
        {"  for i < 4:\n    block b(i: spatial) mask i < 2:\n      init out[i] = 5\n      out[i + 4] = 6\n",
         {5, 5, 5, 5, 6, 6}},
        {"  for i < 8:\n    block b(j < 6: spatial = i) mask j < 6:\n      out[j] = i32(j)\n",
         {0, 1, 2, 3, 4, 5}},
        {"  for i < 8:\n    block b(j < 6: spatial = i) mask j < 5:\n      init out[j] = 9\n      out[j] = "
         "10\n",
         {10, 10, 10, 10, 10, 9}},
        {"  for i < 8, k < 2:\n    block b(j < 3: spatial = i - 2, k: reduce) mask 9 < i:\n      init out[j "
         "+ 4] = 9\n",
         {0, 0, 0, 0, 9, 9, 9}},
        {"  for i < 3:\n    let t: i32 = x[i]\n    out[0] = out[0] + t\n    let u: i32 = out[0]\n    out[1] "
         "= u\n    out[0] = 50\n"
         "    out[2] = u\n",
         {50, 62, 62}},
        {"  out[0] = 3\n  out[1] = out[0] + out[0]\n  out[0] = 4\n  out[2] = out[0] + out[1]\n", {4, 6, 10}},
        {"  buffer t: i32[4]\n  for i < 4:\n    t[i] = x[3 - i]\n  for i < 4:\n    out[i] = t[i]\n",
         {13, 12, 11, 10}},
        {"  buffer t: i32[3, 5, AB4b]\n  for i < 3, j < 5:\n    t[i, j] = i32(i*5 + j)\n  out[0] = t[2, 4]\n "
         " out[1] = t[1, 3]\n",
         {14, 8}},
        {"  if n == 5:\n    out[0] = 1\n  else:\n    out[0] = 2\n  if n < 5:\n    out[1] = 1\n  else:\n    "
         "out[1] = 2\n",
         {1, 2}},
        {"  for i < 8:\n    if i % 2 == 0:\n      out[i] = 1\n    else:\n      if i < 4:\n        out[i] = "
         "2\n",
         {1, 2, 1, 2, 1, 0, 1}},
        {"  out[0] = x[0]/(x[1] - x[1])\n  out[1] = x[0]%(x[1] - x[1])\n"
         "  out[2] = truncdiv(x[0], x[1] - x[1]) + 7\n",
         {0, 0, 7}},
        {"  out[0] = i32((0 - 7)/2)\n  out[1] = i32((0 - 7)%2)\n  out[2] = i32(truncdiv(0 - 7, 2))\n  out[3] "
         "= i32(truncmod(0 - 7, 2))\n",
         {-4, 1, -3, -1}},
        {"  out[0] = x[0] + 2147483647\n  out[1] = x[0]*1073741824\n", {-2147483639, -2147483647 - 1}},
        {"  let q: f32 = f32(x[0])\n  out[0] = i32(select(x[0] > 5, q, 0f))\n", {10}},
        {"  parallel for t < 2:\n    buffer s: i32[4] in local\n    for i < 4:\n      s[i] = i32(t*4 + i)\n  "
         "  for i < 4:\n"
         "      out[t*4 + i] = s[3 - i]\n",
         {3, 2, 1, 0, 7, 6, 5, 4}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        tn_buf b = {0};
        fixture_init(&x);
        tn_buf_printf(&b, "func @f(x: i32[8]) -> (out: i32[8]) {\n  symbols n\n%s}\n", row[i].body);
        int32_t in[8] = {10, 11, 12, 13, 14, 15, 16, 17}, out[8] = {0};
        void *arg[] = {in, out};
        int64_t n = 5;
        if (tn_func_run(read_func(&x, b.at), arg, &n) != TN_OK)
            fail_msg("%s%s", b.at, diags(&x));
        for (int k = 0; k < 8; k++)
            if (out[k] != row[i].out[k])
                fail_msg("%sout[%d] is %d, not %d", b.at, k, out[k], row[i].out[k]);
        tn_buf_deinit(&b);
        fixture_deinit(&x);
    }
}

static void traps(void **state)
{
    (void)state;
    static const struct {
        const char *body, *what;
    } row[] = {
        {"  out[index(x[0])] = 1\n", "@f: index 0 of `out` is 10, outside the extent 8 (store) [tir-E201]"},
        {"  out[0] = x[index(x[1]) - 20]\n",
         "index 0 of `x` is -9, outside the extent 8 (load x[index(x[1]) - 20])"},
        {"  out[0] = x[index(x[1] - 20)]\n",
         "index 0 of `x` is -9, outside the extent 8 (load x[index(x[1] - 20i32)])"},
        {"  for i < 9:\n    if x[0] > 3:\n      out[i] = 1\n", "index 0 of `out` is 8"},
        {"  buffer t: i32[4]\n  t[1] = 2\n  out[0] = t[2]\n",
         "t[2] reads element 2 of `t`, which nothing has written [tir-E202]"},
        {"  buffer t: i8[4]\n  t[1] = 2\n  out[0] = i32(t[index(x[0]) - 8])\n",
         "reads element 2 of `t`, which nothing has written"},
        {"  for i < 2:\n    buffer t: i32[4]\n    if i == 0:\n      t[1] = 2\n    out[i] = t[1]\n",
         "reads element 1 of `t`"},
        {"  check n < 5 \"n is too large\"\n", "@f: n is too large [tir-E203]"},
        {"  check x[0] < 5 \"x is too large\"\n", "@f: x is too large"},
        {"  out[0] = i32(index(x[0]) / (index(x[1]) - 11))\n",
         "has no value: an index overflows, a divisor is 0, or a shift is out of range [tir-E204]"},
        {"  out[0] = shl(x[0], x[1] + 40)\n", "has no value"},
        {"  out[0] = i32(index(i64(x[0])*1000000000000000000)*1000)\n", "has no value"},
        {"  for i < 8:\n    block b(j < 6: spatial = i) mask x[0] > 0:\n      out[j] = 1\n",
         "block `b`: an iteration variable is bound to i, which is 6, outside its extent [tir-E205]"},
        {"  for i < 5:\n    out[i*4611686018427387904%8] = 1\n", "has no value"},
        {"  block b(j < 9: spatial = index(x[0]) - 2):\n    out[j] = 1\n",
         "index 0 of `out` is 8, outside the extent 8"},
        {"  block b(j < 9: spatial = min(index(x[0]) - 20, 3)):\n    out[0] = 1\n",
         "which is -10, outside its extent [tir-E205]"},
        {"  buffer t: i32[n - 6]\n  pass\n", "extent 0 of `t` is negative or has no value [tir-E207]"},
        {"  buffer t: i32[n*1000000000000, 1000000000000]\n  pass\n", "`t` is too large [tir-E207]"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        tn_buf b = {0};
        fixture_init(&x);
        tn_buf_printf(&b, "func @f(x: i32[8]) -> (out: i32[8]) {\n  symbols n\n%s}\n", row[i].body);
        int32_t in[8] = {10, 11, 12, 13, 14, 15, 16, 17}, out[8] = {0};
        void *arg[] = {in, out};
        int64_t n = 5;
        tn_func *f = read_func(&x, b.at);
        if (tn_func_verify(f) != TN_OK)
            fail_msg("%s%s", b.at, diags(&x));
        assert_int_equal(tn_func_run(f, arg, &n), TN_FAIL);
        if (!strstr(diags(&x), row[i].what))
            fail_msg("%sno `%s` in %s", b.at, row[i].what, diags(&x));
        tn_buf_deinit(&b);
        fixture_deinit(&x);
    }
}

static void arguments_are_checked(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = read_func(
        &x, "func @f(x: i32[n]) -> (y: i32[n]) {\n  symbols n in [2, 4]\n  for i < n:\n    y[i] = x[i]\n}\n");
    int32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
    int64_t n = 5;
    assert_int_equal(tn_func_run(f, (void *[]){in, out}, &n), TN_FAIL);
    assert_diag(&x, "@f: the symbol `n` is 5, outside its range [2, 4] [tir-E206]");
    n = 4;
    assert_int_equal(tn_func_run(f, (void *[]){in, NULL}, &n), TN_FAIL);
    assert_diag(&x, "the argument for `y` is missing");
    assert_int_equal(tn_func_run(f, (void *[]){in, out}, &n), TN_OK);
    assert_memory_equal(in, out, sizeof in);
    /* in place, and element-aligned only */
    uint8_t odd[17];
    memcpy(odd + 1, in, 16);
    assert_int_equal(tn_func_run(f, (void *[]){odd + 1, odd + 1}, &n), TN_OK);
    assert_memory_equal(odd + 1, in, 16);
    fixture_deinit(&x);
}

/* ---- vectors ---- */

static void vectors(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        float out[8];
        const char *what;
    } row[] = {
        {"  out[2 : 4] = x[4 : 4]\n", {0, 0, 4, 5, 6, 7}, NULL},
        {"  out[ramp(6, -2, 3)] = x[0 : 3]\n", {0, 0, 2, 0, 1, 0, 0}, NULL},
        {"  out[0 : 4] = x[ramp(7, -1, 4)]\n", {7, 6, 5, 4}, NULL},
        {"  out[4 : 4] = x[0 : 4] mask x[0 : 4] < splat(2f, 4)\n", {0, 0, 0, 0, 0, 1}, NULL},
        {"  out[0 : 4] = (x[6 : 4] mask ramp(6, 1, 4) < splat(8, 4) else splat(-1f, 4))\n",
         {6, 7, -1, -1},
         NULL},
        {"  out[6 : 4] = x[0 : 4] mask ramp(6, 1, 4) < splat(8, 4)\n", {0, 0, 0, 0, 0, 0, 0, 1}, NULL},
        {"  buffer r: f32x4[2] in register\n  r[0] = x[0 : 4]\n  r[1] = fma(r[0], r[0], splat(1, 4))\n  "
         "out[0 : 4] = r[1]\n",
         {1, 2, 5, 10},
         NULL},
        {"  let v: f32x4 = x[1 : 4]\n  out[0 : 4] = select(v < splat(3f, 4), v, splat(0f, 4) - v)\n",
         {1, 2, -3, -4},
         NULL},
        {"  let v: i32x4 = bitcast(i32x4, splat(1f, 4))\n  out[0 : 4] = bitcast(f32x4, shl(shr(v, splat(23, "
         "4)), splat(23, 4)))\n",
         {1, 1, 1, 1},
         NULL},
        {"  let v: i16x4 = bitcast(i16x4, i32x2(ramp(1, 65536, 2)))\n  out[0 : 4] = f32(v)\n",
         {1, 0, 1, 1},
         NULL},
        {"  out[0 : 4] = f32(ramp(3, 2, 4) % splat(4, 4))\n", {3, 1, 3, 1}, NULL},
        {"  for a: i32 < 4:\n    out[a] = f32(a*2)\n", {0, 2, 4, 6}, NULL},
        {"  out[6 : 4] = x[0 : 4]\n", {0}, "index 0 of `out` is 8, outside the extent 8"},
        {"  out[0 : 4] = x[ramp(5, 1, 4)]\n", {0}, "index 0 of `x` is 8, outside the extent 8"},
        {"  out[0 : 4] = x[0 - 1 : 4]\n", {0}, "index 0 of `x` is -1"},
        {"  buffer r: f32x4[2] in register\n  out[0 : 4] = r[1]\n", {0}, "reads element 4 of `r`"},
        {"  buffer t: f32[8] in local\n  t[0 : 4] = x[0 : 4]\n  out[0 : 4] = t[1 : 4]\n",
         {0},
         "reads element 4 of `t`"},
        {"  out[0 : 4] = s[5 : 4]\n  out[0 : 3] = s[5 : 3]\n  out[3] = 0\n", {5, 6, 7, 0}, NULL},
        {"  let i: index = index(s[8])\n  out[0] = s[7]\n", {7}, NULL},
        {"  out[0 : 4] = s[7 : 4]\n", {0}, "index 0 of `s` is 10, outside the extent 10"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        tn_buf b = {0};
        fixture_init(&x);
        tn_buf_printf(&b, "phase @f(x: f32[8], s: f32[8] slack 2) -> (out: f32[8]) {\n%s}\n", row[i].body);
        float in[8] = {0, 1, 2, 3, 4, 5, 6, 7}, out[8] = {0};
        tn_status s = tn_func_run(read_func(&x, b.at), (void *[]){in, in, out}, NULL);
        if ((s == TN_OK) != !row[i].what || (s != TN_OK && !strstr(diags(&x), row[i].what)))
            fail_msg("%s%s", b.at, diags(&x));
        for (int k = 0; k < 8 && s == TN_OK; k++)
            if (out[k] != row[i].out[k])
                fail_msg("%sout[%d] is %g, not %g", b.at, k, (double)out[k], (double)row[i].out[k]);
        tn_buf_deinit(&b);
        fixture_deinit(&x);
    }
}

/* ---- speed ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A network of 0.5 G multiply-adds has to run within a test. Without optimisation or under a sanitizer only the
 * result counts. */
static void a_matrix_product_is_fast_enough(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f =
        read_func(&x, "func @f(A: f32[n, 128], B: f32[128, 128]) -> (C: f32[n, 128]) {\n"
                      "  for i < n, j < 128, k < 128:\n    block c(i: spatial, j: spatial, k: reduce):\n"
                      "      init C[i, j] = 0\n      C[i, j] = C[i, j] + A[i, k]*B[k, j]\n}\n");
    static float a[128 * 128], b[128 * 128], c[128 * 128];
    int64_t n = 128;
    for (int i = 0; i < 128 * 128; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    double t = seconds();
    assert_int_equal(tn_func_run(f, (void *[]){a, b, c}, &n), TN_OK);
    t = seconds() - t;
    float want = 0;
    for (int k = 0; k < 128; k++)
        want += a[3 * 128 + k] * b[k * 128 + 9];
    assert_true(c[3 * 128 + 9] == want);
    printf("interpreter: %.0f M multiply-adds a second\n", 128 * 128 * 128 / t / 1e6);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(TN_DEBUG)
    assert_true(t < 0.5); /* 4 M multiply-adds a second, on whatever machine is loaded by whatever else */
#endif
    fixture_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meaning),
        cmocka_unit_test(traps),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(vectors),
        cmocka_unit_test(operations_are_those_of_eval),
        cmocka_unit_test(conversions_are_those_of_eval),
        cmocka_unit_test(intrinsics_are_those_of_eval),
        cmocka_unit_test(sums_of_products_agree_with_the_reference),
        cmocka_unit_test(random_functions_agree_with_the_reference),
        cmocka_unit_test(a_matrix_product_is_fast_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
