/* Executors agree: each case is lowered, every pass keeps its meaning, and the flat function gives the same bits in the
 * interpreter, in C and in LLVM. Inputs end at a page that may not be touched, outputs too, so an access
 * outside kills. */
#include "base/file.h"
#include "base/rng.h"
#include "codegen_unit.h"
#include "ir/eval.h"
#include "launch/kernel.h"
#include "sanitized.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ARGS = 24, PAGE = 4096, UNWRITTEN = -2 };

/* ---- arguments ---- */

typedef struct arg {
    tn_dtype dtype;
    int64_t n; /* elements */
    size_t bytes, mapped;
    uint8_t *map, *at; /* at ends where the forbidden page begins */
} arg;

typedef struct args {
    int n;
    arg a[MAX_ARGS];
    void *at[MAX_ARGS];
} args;

static int64_t evaluate(const tn_func *f, const tn_expr *e, const int64_t sym[])
{
    const tn_expr *from[8], *to[8];
    int64_t v = -1;
    for (uint32_t i = 0; i < f->n_symbol; i++) {
        from[i] = tn_sym(f->pool, f->symbol[i].name);
        to[i] = tn_idx(f->pool, sym[i]);
    }
    e = tn_simplify(f->pool, NULL, tn_subst(f->pool, e, (int)f->n_symbol, from, to));
    assert_true(tn_is_int(e, &v));
    return v;
}

static double special_value(tn_rng *r)
{
    static const double v[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 0x1p-130, -0x1p-149, 1e38, -3e38,
                               1,   -1,       0.5,       1.5, 2.5,  -2.5,     88,        200,  -104};
    return v[tn_rng_below(r, sizeof v / sizeof *v)];
}

static int64_t special_integer(tn_dtype t, tn_rng *r)
{
    int64_t top = t.bits == 64 ? INT64_MIN : INT64_C(1) << (t.bits - 1),
            v[] = {top, (int64_t)((uint64_t)top - 1), -1, 0, 1, 2};
    return v[tn_rng_below(r, sizeof v / sizeof *v)];
}

static void fill(const equal_case *c, arg *a, tn_rng *r)
{
    uint32_t size = tn_dtype_bytes(a->dtype);
    for (int64_t i = 0; i < a->n; i++) {
        tn_scalar v;
        if (tn_dtype_is_float(a->dtype))
            v.f = c->special && tn_rng_below(r, 3) == 0 ? special_value(r) : tn_rng_unit(r) * 4 - 2;
        else if (tn_dtype_is_bool(a->dtype))
            v.i = (int64_t)tn_rng_below(r, 2);
        else if (!c->below && tn_rng_below(r, 3) == 0)
            v.i = special_integer(a->dtype, r);
        else
            v.i = c->below ? (int64_t)tn_rng_below(r, (uint64_t)c->below) : (int64_t)tn_rng_next(r);
        if (tn_dtype_is_float(a->dtype))
            v = tn_eval_cast(TN_F64, a->dtype, v);
        else if (!tn_dtype_is_bool(a->dtype))
            v = tn_eval_cast(TN_I64, a->dtype, v);
        tn_scalar_write(a->dtype, a->at + (size_t)i * size, v);
    }
}

/* Memory for the parameters of a flat function; inputs random, outputs a pattern. */
static void args_init(const equal_case *c, const tn_func *f, const int64_t sym[], args *out)
{
    tn_rng r = {12345};
    assert_true(f->n_param <= MAX_ARGS);
    out->n = (int)f->n_param;
    for (int i = 0; i < out->n; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        arg *a = &out->a[i];
        a->dtype = b->dtype;
        a->n = evaluate(f, b->dim[0], sym);
        a->bytes = (size_t)a->n * tn_dtype_bytes(b->dtype);
        a->mapped = (a->bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
        a->map = mmap(NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(a->map != MAP_FAILED);
        mprotect(a->map, PAGE, PROT_NONE);
        mprotect(a->map + a->mapped - PAGE, PAGE, PROT_NONE);
        memset(a->map + PAGE, 0xa5, a->mapped - 2 * PAGE);
        a->at = a->map + a->mapped - PAGE - a->bytes;
        out->at[i] = a->at;
        if (!b->written)
            fill(c, a, &r);
    }
}

static void args_deinit(args *x)
{
    for (int i = 0; i < x->n; i++)
        munmap(x->a[i].map, x->a[i].mapped);
}

/* ---- comparing ---- */

static bool close_enough(tn_dtype t, tn_scalar want, tn_scalar got, double tol)
{
    if (!tn_dtype_is_float(t))
        return want.i == got.i;
    if (isnan(want.f) || isnan(got.f))
        return isnan(want.f) && isnan(got.f);
    return want.f == got.f || fabs(want.f - got.f) <= tol * fmax(1, fabs(want.f));
}

/* Has nothing been written there? */
static bool untouched(const uint8_t *at, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        if (at[i] != 0xa5)
            return false;
    return true;
}

/* tol < 0: the same bits, but a NaN may be any. UNWRITTEN: and so may what the wanted values lack. */
static void compare(const char *name, const char *who, const tn_func *f, const args *want, const args *got,
                    double tol)
{
    for (int i = 0; i < want->n; i++) {
        const arg *a = &want->a[i], *b = &got->a[i];
        uint32_t size = tn_dtype_bytes(a->dtype);
        for (int64_t k = 0; k < a->n; k++) {
            tn_scalar x = tn_scalar_read(a->dtype, a->at + (size_t)k * size),
                      y = tn_scalar_read(a->dtype, b->at + (size_t)k * size);
            bool same = tol < 0 ? memcmp(a->at + (size_t)k * size, b->at + (size_t)k * size, size) == 0 ||
                                      (close_enough(a->dtype, x, y, 0) && x.f != x.f) ||
                                      (tol == UNWRITTEN && untouched(a->at + (size_t)k * size, size))
                                : close_enough(a->dtype, x, y, tol);
            if (!same)
                fail_msg("%s, %s: %s[%lld] is %a (%lld) instead of %a (%lld)", name, who,
                         f->buffer[f->param[i]].name, (long long)k, y.f, (long long)y.i, x.f, (long long)x.i);
        }
        for (size_t k = PAGE; k < a->mapped - PAGE - a->bytes; k++)
            assert_int_equal(b->map[k], 0xa5);
    }
}

/* ---- lowering, each pass checked ---- */

static void interpret(fixture *x, const equal_case *c, const char *who, const tn_func *f, args *a,
                      const int64_t sym[])
{
    tn_diag_clear(&x->ctx);
    tn_status st = tn_func_run(f, a->at, sym);
    if ((st != TN_OK) != c->fails)
        fail_msg("%s, %s: the interpreter %s\n%s\n%s", c->name, who, c->fails ? "accepts it" : "refuses it",
                 diags(x), printed(x, f));
}

static void check_meaning(fixture *x, const equal_case *c, const char *who, const tn_func *f,
                          args want[MAX_ROWS], const tn_func *flat, bool exact)
{
    for (int r = 0; r < c->n_row; r++) {
        args a;
        args_init(c, flat, c->sym[r], &a);
        interpret(x, c, who, f, &a, c->sym[r]);
        if (!c->fails)
            compare(c->name, who, flat, &want[r], &a, exact ? 0 : c->tol);
        args_deinit(&a);
    }
}

/* The flat function's parameters are one-dimensional: their memory serves all stages. */
static tn_func *lowered_copy(fixture *x, const equal_case *c, const tn_func *f, const tn_machine *m)
{
    tn_flat flat;
    tn_func *g = tn_func_clone(f, &x->arena, &x->pool);
    if (tn_lower(g, m, &tn_pipeline_cpu, &flat) != TN_OK)
        fail_msg("%s: %s", c->name, diags(x));
    return g;
}

/* What the passes so far say of the function is true. */
static void check_facts(const equal_case *c, const char *pass, const tn_func *f, uint32_t facts)
{
    uint32_t wrong = facts & tn_facts_broken(f);
    for (int i = 0; i < TN_N_FACTS; i++)
        if (wrong >> i & 1)
            fail_msg("%s: after %s it is not so that %s", c->name, pass, tn_fact_docs[i]);
}

static void lower_case(fixture *x, const equal_case *c, const tn_machine *m, tn_flat *out)
{
    tn_func *f = read_func(x, c->text), *s = scheduled(x, c, f), *shape = lowered_copy(x, c, f, m);
    args want[MAX_ROWS];
    for (int r = 0; r < c->n_row; r++) {
        args_init(c, shape, c->sym[r], &want[r]);
        interpret(x, c, "the text", f, &want[r], c->sym[r]);
    }
    check_meaning(x, c, "its schedule", s, want, shape, false);
    uint32_t facts = 0;
    for (size_t i = 0; i < tn_pipeline_cpu.n; i++) {
        const tn_lower_pass *pass = &tn_lower_passes[tn_pipeline_cpu.pass[i]];
        if (pass->run(s, m) != TN_OK)
            fail_msg("%s: %s fails: %s", c->name, pass->name, diags(x));
        facts = (facts & pass->keeps) | pass->gives;
        check_facts(c, pass->name, s, facts);
        check_form(x, c, pass->name, s);
        check_meaning(x, c, pass->name, s, want, shape, false);
    }
    for (int r = 0; r < c->n_row; r++)
        args_deinit(&want[r]);
    if (getenv("TENON_VERBOSE"))
        print_message("%s\n", printed(x, s));
    s = scheduled(x, c, f);
    assert_int_equal(tn_lower(s, m, &tn_pipeline_cpu, out), TN_OK);
}

/* ---- running compiled kernels ---- */

/* check: tasks last to first, memory NaN at first. */
static tnr_status launch(const tn_library *lib, uint32_t kernel, const args *a, const int64_t *sym,
                         bool check, tnr_error *err)
{
    uint64_t bytes[MAX_ARGS];
    for (int i = 0; i < a->n; i++)
        bytes[i] = a->a[i].bytes;
    tn_kernel_runner *r = tn_kernel_open(&(tn_kernel_use){.library = lib,
                                                          .kernel = kernel,
                                                          .node = "",
                                                          .bytes = bytes,
                                                          .sym = sym,
                                                          .threads = 1,
                                                          .check = check},
                                         err);
    if (!r)
        fail_msg("%s: %s", lib->kernel[kernel].name, err->message);
    tnr_status failed = tn_kernel_run(r, a->at, err);
    tn_kernel_close(r);
    return failed;
}

static void check_run(fixture *x, const equal_case *c, const char *who, const tn_library *lib,
                      uint32_t kernel, const tn_func *flat, const int64_t *sym, const args *want, bool check)
{
    args got;
    tnr_error err;
    args_init(c, flat, sym, &got);
    tnr_status failed = launch(lib, kernel, &got, sym, check, &err);
    if (c->fails && (failed != TNR_E_CHECK || strncmp(err.message, ": ", 2) != 0))
        fail_msg("%s, %s: code %d, %s", c->name, who, failed, failed ? err.message : "no failure");
    else if (c->fails)
        assert_diag(x, err.message + 2);
    else if (failed)
        fail_msg("%s, %s: %s", c->name, who, err.message);
    else
        compare(c->name, who, flat, want, &got, check ? UNWRITTEN : -1);
    args_deinit(&got);
}

/* A run on the arguments themselves, which end at pages that may not be touched, then a debug run. */
static void check_kernel(fixture *x, const equal_case *c, const char *who, const tn_library *lib,
                         uint32_t kernel, const tn_func *flat, const int64_t *sym)
{
    args want;
    args_init(c, flat, sym, &want);
    interpret(x, c, "the flat function", flat, &want, sym);
    check_run(x, c, who, lib, kernel, flat, sym, &want, false);
    check_run(x, c, who, lib, kernel, flat, sym, &want, true);
    args_deinit(&want);
}

static void check_library(fixture *x, const case_list *l, const char *who, const tn_library *lib,
                          const tn_flat *flat)
{
    assert_int_equal(lib->n_kernel, l->n);
    for (int i = 0; i < l->n; i++) {
        const equal_case *c = &l->at[i];
        assert_string_equal(lib->kernel[i].name, c->name);
        for (int r = 0; r < c->n_row; r++)
            check_kernel(x, c, who, lib, (uint32_t)i, flat[i].func, c->sym[r]);
    }
}

/* ---- the backends ---- */

static void check_c(fixture *x, const case_list *l, const tn_unit *u, const tn_flat *flat)
{
    tn_buf text = {0};
    char source[64], object[64];
    static int number; /* a name is loaded once */
    if (tn_emit_c(u, &text) != TN_OK)
        fail_msg("%s", diags(x));
    snprintf(source, sizeof source, "./equal_%d_%d.c", (int)getpid(), ++number);
    snprintf(object, sizeof object, "./equal_%d_%d.so", (int)getpid(), number);
    assert_int_equal(tn_file_write(&x->ctx, source, text.at, text.n), TN_OK);
    const char *const level = RUN_FEWER ? "-O0" : number > 1 ? "-O1" : "-O2";
    const char *const argv[] = {"cc",      level,   "-Wall",          "-Wextra", "-Werror", "-Wno-psabi",
                                "-shared", "-fPIC", "-ffreestanding", "-o",      object,    source,
                                "-lm",     NULL};
    assert_int_equal(run_command(argv), 0);
    void *lib = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    if (!getenv("TENON_VERBOSE"))
        unlink(source);
    unlink(object);
    tn_library_query_fn *query;
    *(void **)&query = dlsym(lib, TENON_QUERY_SYMBOL);
    assert_non_null(query);
    check_library(x, l, "C", query(TENON_ABI_VERSION), flat);
    dlclose(lib);
    tn_buf_deinit(&text);
}

static void check_llvm(fixture *x, const case_list *l, const tn_unit *u, const tn_flat *flat)
{
    const tn_llvm_api *api;
    const tn_library *lib;
    tn_jit *jit;
    tn_code_options o = {.opt_level = 3};
    if (tn_llvm_open(&x->ctx, &api) != TN_OK)
        fail_msg("%s", diags(x));
    if (getenv("TENON_VERBOSE")) {
        tn_buf ll = {0};
        if (api->emit(u, &o, TN_LLVM_LL, &ll) == TN_OK)
            assert_int_equal(tn_file_write(&x->ctx, "./equal.ll", ll.at, ll.n), TN_OK);
        tn_buf_deinit(&ll);
    }
    if (api->jit(u, &o, &jit, &lib) != TN_OK)
        fail_msg("%s", diags(x));
    check_library(x, l, "LLVM", lib, flat);
    api->jit_free(jit);
}

static void check_machine(const tn_machine *m)
{
    fixture x;
    static case_list l;
    static tn_flat flat[MAX_CASES];
    static tn_kernel_ir kernel[MAX_CASES];
    fixture_init(&x);
    cases_init(&l);
    for (int i = 0; i < l.n; i++)
        lower_case(&x, &l.at[i], m, &flat[i]);
    tn_unit u = unit_of(&x, &l, m, flat, kernel);
    check_c(&x, &l, &u, flat);
    check_llvm(&x, &l, &u, flat);
    cases_deinit(&l);
    fixture_deinit(&x);
}

static void test_this_machine(void **state)
{
    (void)state;
    fixture x;
    tn_machine m;
    fixture_init(&x);
    assert_int_equal(tn_machine_detect(&x.ctx, &m), TN_OK);
    check_machine(&m);
    fixture_deinit(&x);
}

/* Nothing but what every CPU of the family has: no fma. */
static void test_plain_machine(void **state)
{
    (void)state;
    fixture x;
    if (RUN_FEWER)
        skip(); /* the compiler's code is the same */
    tn_machine here;
    fixture_init(&x);
    assert_int_equal(tn_machine_detect(&x.ctx, &here), TN_OK);
    tn_machine m = {.triple = here.triple};
    tn_machine_derive(&m);
    check_machine(&m);
    fixture_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_this_machine),
                                       cmocka_unit_test(test_plain_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
