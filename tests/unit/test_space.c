/* Spaces of schedules: every point gives the right result or a verdict, maps of picks read back, and points come from
 * others as they should. What the functions compute is that of shapes that the shared models have, made small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sanitized.h"
#include "schedule/run.h"
#include "schedule/space.h"

/* clang-format off */
static const struct { const char *name, *text; int64_t sym[2]; int least; } funcs[] = {
    {"matrix product, bias, relu",
     "func @mm(A: f32[n, 40], W: f32[50, 40, NK16n], b: f32[50]) -> (out: f32[n, 50]) {\n"
     "  buffer acc: f32[n, 50]\n"
     "  for i < n, j < 50, k < 40:\n"
     "    block acc(i: spatial, j: spatial, k: reduce):\n"
     "      init acc[i, j] = 0\n"
     "      acc[i, j] = acc[i, j] + A[i, k] * W[j, k]\n"
     "  for i < n, j < 50:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = max(acc[i, j] + b[j], 0)\n"
     "}\n", {23}, 200},
    {"one row",
     "func @row(x: f32[1, 100], w: f32[10, 100, NK16n]) -> (out: f32[1, 10]) {\n"
     "  for i < 1, j < 10, k < 100:\n"
     "    block out(i: spatial, j: spatial, k: reduce):\n"
     "      init out[i, j] = 0\n"
     "      out[i, j] = out[i, j] + x[0, k] * w[j, k]\n"
     "}\n", {0}, 4},
    {"padded convolution",
     "func @conv(x: f32[1, 16, 9, 11, NCHW16c], w: f32[20, 16, 3, 3, OIHW16i16o]) "
     "-> (out: f32[1, 20, 9, 11, NCHW16c]) {\n"
     "  for n < 1, oc < 20, oh < 9, ow < 11, ic < 16, kh < 3, kw < 3:\n"
     "    block out(n: spatial, oc: spatial, oh: spatial, ow: spatial, ic: reduce, kh: reduce, kw: "
     "reduce) mask 0 < oh + kh and oh + kh < 10 and 0 < ow + kw and ow + kw < 12:\n"
     "      init out[n, oc, oh, ow] = 0\n"
     "      out[n, oc, oh, ow] = out[n, oc, oh, ow] + x[n, ic, oh + kh - 1, ow + kw - 1] * w[oc, ic, kh, kw]\n"
     "}\n", {0}, 50},
    {"depthwise",
     "func @dw(x: f32[1, 18, 7, 7, NCHW16c], w: f32[18, 1, 3, 3]) -> (out: f32[1, 18, 5, 5, NCHW16c]) {\n"
     "  for n < 1, c < 18, oh < 5, ow < 5, kh < 3, kw < 3:\n"
     "    block out(n: spatial, c: spatial, oh: spatial, ow: spatial, kh: reduce, kw: reduce):\n"
     "      init out[n, c, oh, ow] = 0\n"
     "      out[n, c, oh, ow] = out[n, c, oh, ow] + x[n, c, oh + kh, ow + kw] * w[c, 0, kh, kw]\n"
     "}\n", {0}, 20},
    {"product of two, short rows",
     "func @ew(x: f32[37, 60], y: f32[60]) -> (out: f32[37, 60]) {\n"
     "  for i < 37, j < 60:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = x[i, j] * y[j]\n"
     "}\n", {0}, 10},
    {"transpose",
     "func @tr(x: f32[n, 50]) -> (out: f32[50, n]) {\n"
     "  for i < 50, j < n:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = x[j, i] * 2f\n"
     "}\n", {19}, 5},
    {"column sums",
     "func @sum(x: f32[70, 90]) -> (out: f32[90]) {\n"
     "  for j < 90, k < 70:\n"
     "    block out(j: spatial, k: reduce):\n"
     "      init out[j] = 0\n"
     "      out[j] = out[j] + x[k, j]\n"
     "}\n", {0}, 5},
    {"row maxima taken off",
     "func @top(x: f32[m, 200]) -> (out: f32[m, 200]) {\n"
     "  buffer top: f32[m]\n"
     "  for i < m, r < 200:\n"
     "    block top(i: spatial, r: reduce):\n"
     "      init top[i] = -1000\n"
     "      top[i] = max(x[i, r], top[i])\n"
     "  for i < m, j < 200:\n"
     "    block out(i: spatial, j: spatial):\n"
     "      out[i, j] = x[i, j] - top[i]\n"
     "}\n", {5}, 5},
    {"one sum",
     "func @one(x: f32[100, 77]) -> (out: f32[]) {\n"
     "  for i < 100, j < 77:\n"
     "    block out(i: reduce, j: reduce):\n"
     "      init out[] = 0\n"
     "      out[] = out[] + x[i, j]\n"
     "}\n", {0}, 5},
};
/* clang-format on */

typedef struct {
    bench x;
    tn_machine m;
    tn_func *f;
    tn_space space;
} place;

static void place_init(place *p, size_t which)
{
    bench_init(&p->x);
    machine_named(&p->x, "avx512", &p->m);
    p->f = read_func(&p->x, funcs[which].text);
    p->space = (tn_space){&tn_rules_generator, p->f, &p->m, 0};
}

static tn_verdict explore(place *p, const tn_picks *given, tn_sched *s)
{
    return tn_explore(&p->space, given, &p->x.arena, &p->x.pool, s);
}

static const char *picks_text(place *p, const tn_sched *s)
{
    tn_buf b = {0};
    tn_picks all = tn_picks_of(&s->picked, &p->x.arena);
    tn_picks_print(&all, &b);
    const char *text = tn_arena_strdup(&p->x.arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

static tn_picks picks(place *p, const char *text)
{
    tn_picks all;
    uint32_t line;
    assert_true(tn_picks_parse(text, strlen(text), &p->x.arena, &all, &line));
    return all;
}

/* ---- points ---- */

/* A random point: the right result, or a verdict; and its picks give it again. */
static bool check_point(size_t which, uint64_t seed)
{
    place p;
    tn_sched s, again;
    tn_rng r = {seed};
    place_init(&p, which);
    bool done = explore(&p, &(tn_picks){.random = &r}, &s) == TN_DONE;
    const char *point = picks_text(&p, &s);
    if (done && tn_func_verify(s.func) != TN_OK)
        fail_msg("%s is not verified\n%s%s", funcs[which].name, point, diags(&p.x));
    if (done && !same_results(&p.x, p.f, s.func, funcs[which].sym, seed, 0))
        fail_msg("%s: other results\n%s%s", funcs[which].name, point, diags(&p.x));
    tn_picks all = tn_picks_of(&s.picked, &p.x.arena);
    assert_int_equal(explore(&p, &all, &again) == TN_DONE, done);
    assert_string_equal(picks_text(&p, &again), point);
    if (done)
        assert_string_equal(trace_text(&p.x, &again), trace_text(&p.x, &s));
    bench_deinit(&p.x);
    return done;
}

static void random_points_are_right_or_refused(void **state)
{
    (void)state;
    int n = RUN_FEWER ? 10 : 40;
    for (size_t i = 0; i < sizeof funcs / sizeof *funcs; i++) {
        int done = 0;
        for (uint64_t seed = 1; seed <= (uint64_t)n; seed++)
            done += check_point(i, seed);
        /* a rule that matches may still refuse all its points, and few seeds may meet it often */
        if (RUN_FEWER ? done == 0 : 2 * done <= n)
            fail_msg("%s: %d of %d points", funcs[i].name, done, n);
    }
}

static void no_picks_are_the_built_in_schedule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof funcs / sizeof *funcs; i++) {
        place p;
        tn_sched rule, s;
        place_init(&p, i);
        tn_rule_apply(&rule, p.f, &p.m, NULL, &p.x.arena, &p.x.pool);
        assert_int_equal(explore(&p, &(tn_picks){0}, &s), TN_DONE);
        assert_string_equal(trace_text(&p.x, &s), trace_text(&p.x, &rule));
        for (uint32_t k = 0; k < s.picked.n; k++)
            assert_int_equal(s.picked.at[k].index, 0);
        bench_deinit(&p.x);
    }
}

/* ---- the tree ---- */

/* All points come by once, as many as are counted. */
static void points_are_enumerated(void **state)
{
    (void)state;
    place p;
    tn_sched s;
    tn_picks at = {0};
    int n = 0;
    bool exact, more = true;
    const char *before = "";
    place_init(&p, 1);
    for (; more && n < 1000; n++) {
        (void)explore(&p, &at, &s);
        assert_string_not_equal(picks_text(&p, &s), before);
        before = picks_text(&p, &s);
        more = tn_space_next(&s, &p.x.arena, &at);
    }
    assert_false(more);
    assert_true(n >= funcs[1].least);
    assert_int_equal(tn_space_size(&p.space, 1000, &exact), n);
    assert_true(exact);
    double about = tn_space_size(&p.space, 0, &exact);
    assert_false(exact);
    assert_true(about > 0.5 * n && about < 2 * n);
    bench_deinit(&p.x);
}

/* Each point comes back by its number, and has another one than all others. */
static void points_have_numbers(void **state)
{
    (void)state;
    place p;
    tn_sched s, again;
    tn_picks at = {0};
    tn_map seen = {0};
    uint64_t known;
    place_init(&p, 1);
    for (bool more = true; more;) {
        tn_verdict v = explore(&p, &at, &s);
        const uint64_t number = tn_point_number(s.picked.n, s.picked.at);
        assert_false(tn_map_get(&seen, number, &known));
        tn_map_put(&seen, number, 0);
        assert_int_equal(tn_explore_number(&p.space, number, &p.x.arena, &p.x.pool, &again), v);
        assert_string_equal(picks_text(&p, &again), picks_text(&p, &s));
        more = tn_space_next(&s, &p.x.arena, &at);
    }
    assert_true(tn_map_get(&seen, 0, &known));
    (void)tn_explore_number(&p.space, UINT64_MAX, &p.x.arena, &p.x.pool, &s); /* is some point, too */
    assert_true(tn_map_get(&seen, tn_point_number(s.picked.n, s.picked.at), &known));
    const tn_pick wide = {.n = UINT32_MAX, .index = 1}, all[] = {wide, wide, wide, wide};
    assert_int_equal(tn_point_number(4, all), UINT64_MAX);
    tn_map_deinit(&seen);
    bench_deinit(&p.x);
}

/* Of sketches, too, whose last resort is a candidate only where all others are refused. */
static void numbers_lead_back_to_sketches(void **state)
{
    (void)state;
    place p;
    tn_sched s, again;
    int known = 0;
    for (size_t f = 0; f < sizeof funcs / sizeof *funcs; f++) {
        place_init(&p, f);
        p.space.generator = &tn_sketch_generator;
        for (uint64_t i = 0; i < 12; i++) {
            tn_rng r = {i};
            const tn_picks any = {.random = &r};
            tn_verdict v = explore(&p, i ? &any : NULL, &s);
            const uint64_t number = tn_point_number(s.picked.n, s.picked.at);
            if (number == UINT64_MAX)
                continue;
            assert_int_equal(tn_explore_number(&p.space, number, &p.x.arena, &p.x.pool, &again), v);
            assert_string_equal(picks_text(&p, &again), picks_text(&p, &s));
            known++;
        }
        bench_deinit(&p.x);
    }
    assert_true(known > 20);
}

static void illegal_values_are_refused(void **state)
{
    (void)state;
    place p;
    tn_sched s;
    place_init(&p, 0);
    static const char *const bad[] = {"acc.rows = 0\n", "acc.rows = 33\n", "acc.vectors = yes\n",
                                      "rule = conv\n", "acc.rows = 14\nacc.vectors = 8\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_picks given = picks(&p, bad[i]);
        assert_int_equal(explore(&p, &given, &s), TN_REJECT_PICK);
    }
    tn_picks other = picks(&p, "acc.rows = 5  # fewer\n\nrule = gemm\nnone.rows = 4\n");
    assert_int_equal(explore(&p, &other, &s), TN_DONE);
    assert_string_equal(tn_picks_unused(&other, &s.picked), "none.rows");
    assert_non_null(strstr(trace_text(&p.x, &s), "io ii = split i 5"));
    bench_deinit(&p.x);
}

static void texts_of_picks_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t line;
    } bad[] = {{"a = 1\nb\n", 2}, {"a =\n", 1},     {"= 2\n", 1},
               {"a b = 2\n", 1},  {"a = 1 2\n", 1}, {"a = 1\n\na = 2", 3}};
    place p;
    tn_buf b = {0};
    tn_picks all;
    uint32_t line;
    place_init(&p, 0);
    all = picks(&p, "# a point\nrule = gemm\n\n acc.rows=-3 # few\nacc.prefetch =  no");
    tn_picks_print(&all, &b);
    assert_string_equal(tn_buf_cstr(&b), "rule = gemm\nacc.rows = -3\nacc.prefetch = no\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(tn_picks_parse(bad[i].text, strlen(bad[i].text), &p.x.arena, &all, &line));
        assert_int_equal(line, bad[i].line);
    }
    tn_buf_deinit(&b);
    bench_deinit(&p.x);
}

/* ---- points from others ---- */

static int differences(const tn_picks *a, const tn_picks *b)
{
    int n = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const tn_choice *v = tn_picks_find(b, a->at[i].name), *own = &a->at[i].value;
        n += !v || v->number != own->number || (v->word && strcmp(v->word, own->word) != 0);
    }
    return n;
}

static void a_mutation_changes_one_pick(void **state)
{
    (void)state;
    place p;
    tn_sched s;
    tn_rng r = {3};
    tn_picks next;
    place_init(&p, 0);
    assert_int_equal(explore(&p, NULL, &s), TN_DONE);
    tn_picks first = tn_picks_of(&s.picked, &p.x.arena);
    for (int i = 0; i < 50; i++) {
        assert_true(tn_picks_mutate(&s, NULL, &r, &p.x.arena, &next));
        assert_int_equal(differences(&first, &next), 1);
    }
    bench_deinit(&p.x);
}

/* With odds, the parts that have some are changed, each as often as they say. */
static void a_mutation_follows_odds(void **state)
{
    (void)state;
    place p;
    tn_sched s;
    tn_rng r = {3};
    tn_picks next;
    int tasks = 0;
    const double odds[TN_N_PART] = {[TN_PART_TILE] = 0.25, [TN_PART_PARALLEL] = 0.75}, none[TN_N_PART] = {0};
    place_init(&p, 0);
    assert_int_equal(explore(&p, NULL, &s), TN_DONE);
    for (int i = 0; i < 200; i++) {
        assert_true(tn_picks_mutate(&s, odds, &r, &p.x.arena, &next));
        const tn_pick *changed = NULL;
        for (uint32_t k = 0; k < s.picked.n; k++) {
            const tn_choice *v = tn_picks_find(&next, s.picked.at[k].name),
                            *own = &s.picked.at[k].candidate[s.picked.at[k].index];
            if (v->word != own->word || v->number != own->number)
                changed = &s.picked.at[k];
        }
        assert_non_null(changed);
        enum tn_part part = tn_pick_part(changed->name);
        assert_true(part == TN_PART_TILE || part == TN_PART_PARALLEL);
        tasks += part == TN_PART_PARALLEL;
    }
    assert_in_range(tasks, 130, 170);
    assert_false(tn_picks_mutate(&s, none, &r, &p.x.arena, &next));
    bench_deinit(&p.x);
}

/* What is fixed is not asked, at no point, and cannot be given. */
static void fixed_parts_are_not_searched(void **state)
{
    (void)state;
    place p;
    tn_sched s, plain;
    int tiles = 0;
    place_init(&p, 0);
    assert_int_equal(explore(&p, NULL, &plain), TN_DONE);
    p.space.fixed = 1u << TN_PART_TILE;
    for (uint64_t i = 0; i < 50; i++) {
        tn_rng r = {i};
        const tn_picks any = {.random = &r};
        (void)explore(&p, i ? &any : NULL, &s);
        assert_true(s.picked.n > 0);
        for (uint32_t k = 0; k < s.picked.n; k++)
            assert_int_not_equal(tn_pick_part(s.picked.at[k].name), TN_PART_TILE);
    }
    for (uint32_t k = 0; k < plain.picked.n; k++) {
        tn_picks given = {0};
        const tn_pick *x = &plain.picked.at[k];
        bool fixed = tn_pick_part(x->name) == TN_PART_TILE;
        tn_picks_set(&given, &p.x.arena, x->name, x->candidate[1]);
        assert_int_equal(explore(&p, &given, &s) == TN_REJECT_PICK, fixed);
        tiles += fixed;
    }
    assert_true(tiles > 0);
    bench_deinit(&p.x);
}

/* Each wish has the nearest candidate, at the point that the others lead to. */
static void points_near_wishes(void **state)
{
    (void)state;
    place p;
    tn_sched s, again;
    uint32_t n;
    const tn_wish wish[] = {{"rows", 5}, {"vectors", 100}, {"nothing", 3}, {"columns_outside", 1}};
    place_init(&p, 0);
    assert_int_equal(tn_explore_near(&p.space, 4, wish, &p.x.arena, &p.x.pool, &s, &n), TN_DONE);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < s.picked.n; i++) {
        const tn_pick *x = &s.picked.at[i];
        const char *role = strrchr(x->name, '.');
        bool rows = role && strcmp(role, ".rows") == 0, vectors = role && strcmp(role, ".vectors") == 0;
        bool outside = role && strcmp(role, ".columns_outside") == 0;
        assert_true(rows || vectors || outside || x->index == 0);
        if (outside)
            assert_string_equal(x->candidate[x->index].word, "yes");
        if (rows)
            assert_int_equal(x->candidate[x->index].number, 5);
        for (uint32_t k = 0; k < x->n && vectors; k++)
            assert_true(x->candidate[k].number <= x->candidate[x->index].number);
    }
    tn_picks all = tn_picks_of(&s.picked, &p.x.arena);
    assert_int_equal(explore(&p, &all, &again), TN_DONE);
    assert_string_equal(picks_text(&p, &again), picks_text(&p, &s));
    bench_deinit(&p.x);
}

static void roles_have_parts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum tn_part part;
    } all[] = {{"rule", TN_PART_WAY},          {"sketch", TN_PART_WAY},
               {"a.b.sum12", TN_PART_TILE},    {"a.sketch", TN_PART_OWN},
               {"unroll", TN_PART_OWN},        {"a.unroll", TN_PART_UNROLL},
               {"a.outer0", TN_PART_PARALLEL}, {"a.fuse_inner", TN_PART_LOCATION},
               {"a.12", TN_PART_OWN}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(tn_pick_part(all[i].name), all[i].part);
    for (int i = 0; i < TN_N_PART; i++)
        assert_int_equal(tn_part_find(tn_parts[i].name, strlen(tn_parts[i].name)), i);
    assert_int_equal(tn_part_find("tiles", 5), TN_N_PART);
}

/* The picks of a block stay together. */
static void a_child_takes_whole_blocks(void **state)
{
    (void)state;
    place p;
    int seen = 0;
    tn_rng r = {5};
    place_init(&p, 0);
    tn_picks a = picks(&p, "a.x = 1\na.y = 1\nb.x = 1\n"),
             b = picks(&p, "a.x = 2\na.y = 2\nb.x = 2\nc.x = 2\n");
    for (int i = 0; i < 40; i++) {
        tn_picks c = tn_picks_join(&a, &b, &r, &p.x.arena);
        int64_t x = tn_picks_find(&c, "a.x")->number, other = tn_picks_find(&c, "b.x")->number;
        assert_int_equal(tn_picks_find(&c, "a.y")->number, x);
        assert_int_equal(tn_picks_find(&c, "c.x")->number, 2);
        seen |= 1 << (2 * x + other - 3);
    }
    assert_int_equal(seen, 15); /* all combinations of two blocks */
    bench_deinit(&p.x);
}

/* ---- workloads ---- */

static uint64_t workload(const char *text)
{
    bench x;
    bench_init(&x);
    uint64_t h = tn_func_workload(read_func(&x, text));
    bench_deinit(&x);
    return h;
}

static void names_are_no_part_of_a_workload(void **state)
{
    (void)state;
    static const char one[] = "func @f(x: f32[n, m, NK4n], s: f32[m]) -> (out: f32[n, m]) {\n"
                              "  for i < n, j < m:\n"
                              "    block out(i: spatial, j: spatial):\n"
                              "      out[i, j] = x[i, j] * s[j]\n"
                              "}\n",
                      same[] = "func @g(data: f32[k, a, NK4n], w: f32[a]) -> (y: f32[k, a]) {\n"
                               "  for b < k, c < a:\n"
                               "    block mul(b: spatial, c: spatial) tag \"x\":\n"
                               "      y[b, c] = data[b, c] * w[c]\n"
                               "}\n",
                      layout[] = "func @f(x: f32[n, m, NK8n], s: f32[m]) -> (out: f32[n, m]) {\n"
                                 "  for i < n, j < m:\n"
                                 "    block out(i: spatial, j: spatial):\n"
                                 "      out[i, j] = x[i, j] * s[j]\n"
                                 "}\n",
                      dtype[] = "func @f(x: f64[n, m, NK4n], s: f64[m]) -> (out: f64[n, m]) {\n"
                                "  for i < n, j < m:\n"
                                "    block out(i: spatial, j: spatial):\n"
                                "      out[i, j] = x[i, j] * s[j]\n"
                                "}\n";
    assert_int_equal(workload(one), workload(same));
    assert_int_not_equal(workload(one), workload(layout));
    assert_int_not_equal(workload(one), workload(dtype));
}

static uint64_t form(const char *text)
{
    bench x;
    bench_init(&x);
    uint64_t h = tn_func_form(read_func(&x, text));
    bench_deinit(&x);
    return h;
}

/* One function but for its extents and constants, and two that have other types and another operation. */
static void numbers_are_no_part_of_a_form(void **state)
{
    (void)state;
    static const char text[] = "func @f(x: %s[16, %d]) -> (out: %s[16, %d]) {\n"
                               "  for i < 16, j < %d:\n"
                               "    block out(i: spatial, j: spatial):\n"
                               "      out[i, j] = x[i, j] %c %d%s\n"
                               "}\n";
    char one[400], same[400], type[400], operation[400];
    snprintf(one, sizeof one, text, "f32", 8, "f32", 8, 8, '*', 3, "f");
    snprintf(same, sizeof same, text, "f32", 640, "f32", 640, 640, '*', 25, "f");
    snprintf(type, sizeof type, text, "i32", 8, "i32", 8, 8, '*', 3, "");
    snprintf(operation, sizeof operation, text, "f32", 8, "f32", 8, 8, '+', 3, "f");
    assert_int_equal(form(one), form(same));
    assert_int_not_equal(workload(one), workload(same));
    assert_int_not_equal(form(one), form(type));
    assert_int_not_equal(form(one), form(operation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_points_are_right_or_refused),
        cmocka_unit_test(no_picks_are_the_built_in_schedule),
        cmocka_unit_test(points_are_enumerated),
        cmocka_unit_test(points_have_numbers),
        cmocka_unit_test(numbers_lead_back_to_sketches),
        cmocka_unit_test(illegal_values_are_refused),
        cmocka_unit_test(texts_of_picks_read_back),
        cmocka_unit_test(a_mutation_changes_one_pick),
        cmocka_unit_test(a_mutation_follows_odds),
        cmocka_unit_test(fixed_parts_are_not_searched),
        cmocka_unit_test(points_near_wishes),
        cmocka_unit_test(roles_have_parts),
        cmocka_unit_test(a_child_takes_whole_blocks),
        cmocka_unit_test(names_are_no_part_of_a_workload),
        cmocka_unit_test(numbers_are_no_part_of_a_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
