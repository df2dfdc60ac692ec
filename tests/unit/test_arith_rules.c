/* Every row of the rule table: both sides are equal for all values of every domain named (index: all variables
 * in [-8, 8]; wrapping: all of int4 and uint4; bool: all; float: signed zeros, NaN, infinities, denormals and
 * others in every pair), and the simplifier brings both sides to one expression when it is told the condition. */
#include "ir/lex.h"
#include "test_arith_eval.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { A, B, C, D, P, Q, K1, K2, NAMES };
static const char *const names[NAMES] = {"a", "b", "c", "d", "p", "q", "k1", "k2"};
static const int64_t index_constants[] = {-3, -1, 0, 1, 2, 3, 4, 6};

typedef struct row_check {
    world *w;
    const tn_rule_row *row;
    tn_dtype t; /* of a b c d k1 k2 */
    const tn_expr *leaf[NAMES];
    const tn_expr *before, *after, *when; /* over leaf */
    bool used[NAMES];
    long defined, held;
    tn_range range_a; /* where `when` holds */
    int fired;
} row_check;

static const tn_expr *lookup(void *user, const char *name)
{
    row_check *r = user;
    for (int i = 0; i < NAMES; i++) {
        if (strcmp(name, names[i]) == 0) {
            r->used[i] = true;
            return r->leaf[i];
        }
    }
    return NULL;
}

static const tn_expr *parse(row_check *r, const char *text, tn_dtype want)
{
    tn_lexer l;
    tn_scope_fns scope = {lookup, NULL, r};
    const tn_expr *e = NULL;
    tn_lex_init(&l, &r->w->ctx, r->row->name, text, strlen(text), false);
    if (tn_expr_parse(&l, &r->w->pool, &scope, want, &e) != TN_OK || l.tok != TN_TOK_END)
        fail_msg("%s: cannot read `%s`", r->row->name, text);
    return e;
}

/* ---- values of a domain ---- */

static const double reals[] = {0.0,      -0.0,      1,       -1,      0.5,      -3,        NAN,
                               INFINITY, -INFINITY, FLT_MAX, FLT_MIN, 0x1p-149, -0x1p-149, 3.25};

static int value_count(const row_check *r, int name)
{
    if (name == P || name == Q || tn_dtype_is_bool(r->t))
        return 2;
    if (tn_dtype_is_float(r->t))
        return sizeof reals / sizeof *reals;
    if (tn_dtype_is_index(r->t))
        return name >= K1 ? (int)(sizeof index_constants / sizeof *index_constants) : 17;
    return 16;
}

static tn_scalar value_at(const row_check *r, int name, int i)
{
    if (name == P || name == Q || tn_dtype_is_bool(r->t))
        return (tn_scalar){.i = i};
    if (tn_dtype_is_float(r->t))
        return tn_eval_cast(TN_F64, r->t, (tn_scalar){.f = reals[i]});
    if (tn_dtype_is_index(r->t))
        return (tn_scalar){.i = name >= K1 ? index_constants[i] : i - 8};
    return tn_eval_cast(TN_I64, r->t, (tn_scalar){.i = i});
}

/* Calls fn for all values of the names in [from, to) that are used. */
static void for_all(row_check *r, int from, int to, point *at, void (*fn)(row_check *r, point *at))
{
    while (from < to && !r->used[from])
        from++;
    if (from == to) {
        fn(r, at);
        return;
    }
    int slot = at->n++;
    at->leaf[slot] = r->leaf[from];
    for (int i = 0; i < value_count(r, from); i++) {
        at->value[slot] = value_at(r, from, i).i;
        for_all(r, from + 1, to, at, fn);
    }
    at->n--;
}

/* ---- equality by exhaustion ---- */

static void describe(const row_check *r, const point *at, char *out, size_t n)
{
    size_t used = 0;
    for (int i = 0; i < at->n && used < n; i++) {
        for (int k = 0; k < NAMES; k++)
            if (r->leaf[k] == at->leaf[i])
                used += (size_t)snprintf(out + used, n - used, "%s=%lld ", names[k], (long long)at->value[i]);
    }
}

static void check_point(row_check *r, point *at)
{
    tn_scalar cond = {.i = 1}, x, y = {.i = 0};
    char where[200] = "";
    if (r->when && (!eval_at(r->when, at, &cond) || !cond.i))
        return;
    if (!eval_at(r->before, at, &x))
        return;
    r->defined++;
    bool ok = eval_at(r->after, at, &y);
    if (ok && x.i == y.i)
        return;
    describe(r, at, where, sizeof where);
    fail_msg("%s: `%s` is %lld, `%s` is %lld%s at %s", r->row->name, r->row->before, (long long)x.i,
             r->row->after, (long long)y.i, ok ? "" : " (undefined)", where);
}

/* ---- the simplifier does it ---- */

typedef struct constants {
    const row_check *r;
    const point *at;
} constants;

static const tn_expr *put_constant(tn_pool *p, const tn_expr *e, void *user)
{
    const constants *k = user;
    for (int i = 0; i < k->at->n; i++)
        if (k->at->leaf[i] == e)
            return tn_dtype_is_float(e->dtype) ? NULL : tn_int(p, e->dtype, k->at->value[i]);
    return NULL;
}

/* Nothing is folded on the way: that is for the simplifier to do. */
static const tn_expr *with_constants(row_check *r, const tn_expr *e, const point *at)
{
    constants k = {r, at};
    return tn_rewrite(&r->w->pool, e, put_constant, &k);
}

static void count_held(row_check *r, point *at)
{
    tn_scalar cond;
    if (!eval_at(r->when, at, &cond) || !cond.i)
        return;
    r->held++;
    for (int i = 0; i < at->n; i++) {
        if (at->leaf[i] == r->leaf[A]) {
            r->range_a.lo = at->value[i] < r->range_a.lo ? at->value[i] : r->range_a.lo;
            r->range_a.hi = at->value[i] > r->range_a.hi ? at->value[i] : r->range_a.hi;
        }
    }
}

/* k1 and k2 are fixed: tells the facts what `when` says of the others. false: nothing meets it. */
static bool tell(row_check *r, tn_facts *f, point *at)
{
    if (!r->when)
        return true;
    r->held = 0;
    r->range_a = (tn_range){INT64_MAX, INT64_MIN};
    for_all(r, 0, K1, at, count_held);
    if (r->held == 0)
        return false;
    tn_facts_assume(f, with_constants(r, r->when, at));
    if (tn_dtype_is_int(r->t) &&
        r->used[A]) /* sums of wrapping integers are not compared: their ranges are what counts */
        tn_facts_range(f, r->leaf[A], r->range_a.lo, r->range_a.hi);
    return true;
}

static void check_simplified(row_check *r, point *at)
{
    tn_pool *p = &r->w->pool;
    const tn_expr *before = with_constants(r, r->before, at), *after = with_constants(r, r->after, at);
    tn_facts f;
    tn_facts_init(&f);
    if (!tell(r, &f, at)) {
        tn_facts_deinit(&f);
        return;
    }
    const tn_expr *got = tn_simplify(p, &f, before), *want = tn_simplify(p, &f, after);
    if (got != want)
        fail_msg("%s: `%s` simplifies to `%s`, `%s` to `%s`", r->row->name, text_of(r->w, before),
                 text_of(r->w, got), text_of(r->w, after), text_of(r->w, want));
    r->fired += got != before;
    tn_facts_deinit(&f);
}

static void check_row(world *w, const tn_rule_row *row, tn_dtype t)
{
    row_check r = {.w = w, .row = row, .t = t};
    point at = {.n = 0};
    for (int i = 0; i < NAMES; i++)
        r.leaf[i] = tn_var(&w->pool, i == P || i == Q ? TN_BOOL1 : t, (uint32_t)i);
    r.before = parse(&r, row->before, t);
    r.after = parse(&r, row->after, r.before->dtype);
    r.when = row->when ? parse(&r, row->when, TN_BOOL1) : NULL;
    for_all(&r, 0, NAMES, &at, check_point);
    if (r.defined == 0)
        fail_msg("%s: no value meets `%s`", row->name, row->when);
    for_all(&r, K1, NAMES, &at, check_simplified);
    if (r.fired == 0)
        fail_msg("%s: `%s` is left as it is", row->name, row->before);
}

static void test_rules(void **state)
{
    static const struct {
        unsigned domain;
        tn_dtype t;
    } domains[] = {
        {TN_DOM_INDEX, {TN_INDEX, 64, 1}}, {TN_DOM_WRAP, {TN_INT, 4, 1}},     {TN_DOM_WRAP, {TN_UINT, 4, 1}},
        {TN_DOM_BOOL, {TN_BOOL, 8, 1}},    {TN_DOM_FLOAT, {TN_FLOAT, 32, 1}},
    };
    (void)state;
    for (size_t i = 0; i < tn_n_rules; i++) {
        assert_true(tn_rules[i].domains != 0);
        for (size_t d = 0; d < sizeof domains / sizeof *domains; d++) {
            if (!(tn_rules[i].domains & domains[d].domain))
                continue;
            world w;
            world_init(&w);
            check_row(&w, &tn_rules[i], domains[d].t);
            world_deinit(&w);
        }
    }
}

/* Names identify rows in documents: no two rows share one. */
static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < tn_n_rules; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(tn_rules[i].name, tn_rules[j].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
