/* ir/graph: use lists and region lists stay consistent under random rewiring; functions, symbols, constants. */
#include "base/rng.h"
#include "ir/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* Stand-ins for the records in op/. */
static const tn_op any_op = {.name = "any", .attr_size = sizeof(int64_t), .nin = -1, .nout = -1};

typedef struct world {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
} world;

static int enter(void **state)
{
    static world w;
    memset(&w, 0, sizeof w);
    tn_ctx_init(&w.ctx);
    tn_arena_init(&w.arena);
    tn_pool_init(&w.pool, &w.ctx, &w.arena, NULL);
    tn_graph_init(&w.g, &w.ctx, &w.arena, &w.pool);
    *state = &w;
    return 0;
}

static int leave(void **state)
{
    world *w = *state;
    tn_graph_deinit(&w->g);
    tn_arena_deinit(&w->arena);
    tn_ctx_deinit(&w->ctx);
    return 0;
}

/* ---- consistency, checked from scratch ---- */

static int count_reads(const tn_region *r, const tn_node *def, uint32_t out);

static int reads_by(const tn_node *n, const tn_node *def, uint32_t out)
{
    int c = 0;
    for (int i = 0; i < n->nin; i++)
        c += n->in[i].def == def && n->in[i].out == out;
    for (int i = 0; i < n->nregion; i++)
        c += count_reads(n->region[i], def, out);
    return c;
}

static int count_reads(const tn_region *r, const tn_node *def, uint32_t out)
{
    int c = 0;
    for (const tn_node *n = r->first; n; n = n->next)
        c += reads_by(n, def, out);
    for (uint32_t i = 0; i < r->n_result; i++)
        c += r->result[i].def == def && r->result[i].out == out;
    return c;
}

static void check_node(const tn_region *root, const tn_node *n)
{
    for (uint32_t k = 0; k < n->nout; k++) {
        int listed = 0;
        const tn_use *prev = NULL;
        for (const tn_use *u = n->users[k]; u; prev = u, u = u->next) {
            assert_ptr_equal(u->prev, prev);
            assert_true(u->def == n && u->out == k);
            assert_true(u->user ? u == &u->user->in[u->slot] : u == &u->region->result[u->slot]);
            listed++;
        }
        assert_int_equal(listed, count_reads(root, n, k));
        assert_int_equal(listed, tn_value_n_uses((tn_value){(tn_node *)(uintptr_t)n, k}));
    }
}

static void check_region(const tn_region *root, const tn_region *r)
{
    const tn_node *prev = NULL;
    uint32_t position = 0;
    for (const tn_node *n = r->first; n; prev = n, n = n->next) {
        assert_ptr_equal(n->owner, r);
        assert_ptr_equal(n->prev, prev);
        if (position < r->n_param)
            assert_ptr_equal(n, r->param[position]);
        position++;
        check_node(root, n);
        for (int i = 0; i < n->nregion; i++) {
            assert_ptr_equal(n->region[i]->holder, n);
            check_region(root, n->region[i]);
        }
    }
    assert_ptr_equal(r->last, prev);
}

/* ---- random edits ---- */

enum { MAX_LIVE = 60 };
typedef struct editor {
    world *w;
    tn_region *r;
    tn_node *live[MAX_LIVE];
    int n;
    tn_rng rng;
} editor;

static tn_value random_value(editor *e)
{
    if (e->n == 0 || tn_rng_below(&e->rng, 10) == 0)
        return (tn_value){0};
    tn_node *n = e->live[tn_rng_below(&e->rng, (uint64_t)e->n)];
    return (tn_value){n, (uint32_t)tn_rng_below(&e->rng, n->nout)};
}

static tn_node *random_before(editor *e)
{
    tn_node *n = e->n ? e->live[tn_rng_below(&e->rng, (uint64_t)e->n)] : NULL;
    return n && n->op != &tn_op_var ? n : NULL;
}

static void add_node(editor *e)
{
    tn_value in[6];
    int nin = (int)tn_rng_below(&e->rng, 7);
    int64_t attr = (int64_t)e->w->g.n_node;
    for (int i = 0; i < nin; i++)
        in[i] = random_value(e);
    tn_node *n = tn_node_new(&e->w->g, e->r, random_before(e), &any_op, nin, in,
                             1 + (int)tn_rng_below(&e->rng, 3), &attr, NULL);
    assert_int_equal(*(const int64_t *)n->attr, n->id);
    if (tn_rng_below(&e->rng, 4) == 0) { /* a region that reads from outside */
        tn_region *inner = tn_region_new(&e->w->g, n);
        tn_node *p = tn_region_add_param(&e->w->g, inner, "p", NULL);
        in[0] = tn_val(p);
        in[1] = random_value(e);
        tn_node *body = tn_node_new(&e->w->g, inner, NULL, &any_op, 2, in, 1, NULL, NULL);
        tn_value result[2] = {tn_val(body), random_value(e)};
        tn_region_set_results(&e->w->g, inner, 2, result);
    }
    e->live[e->n++] = n;
}

static void remove_node(editor *e, int at)
{
    tn_node *n = e->live[at];
    e->live[at] = e->live[--e->n];
    for (uint32_t k = 0; k < n->nout; k++) {
        tn_value to = random_value(e);
        tn_value_replace(&e->w->g, (tn_value){n, k}, to);
        assert_int_equal(tn_value_n_uses((tn_value){n, k}), 0);
    }
    tn_node_remove(&e->w->g, n);
}

static void random_edit(editor *e)
{
    tn_value v[3];
    tn_node *n = e->n ? e->live[tn_rng_below(&e->rng, (uint64_t)e->n)] : NULL;
    switch (tn_rng_below(&e->rng, 8)) {
    case 0:
    case 1:
    case 2:
        if (e->n < MAX_LIVE)
            add_node(e);
        break;
    case 3:
        if (n)
            remove_node(e, (int)tn_rng_below(&e->rng, (uint64_t)e->n));
        break;
    case 4:
        if (n && n->nin)
            tn_use_set(&e->w->g, &n->in[tn_rng_below(&e->rng, n->nin)], random_value(e));
        break;
    case 5:
        v[0] = random_value(e);
        if (v[0].def)
            tn_value_replace(&e->w->g, v[0], random_value(e));
        break;
    case 6:
        if (n && n->op != &tn_op_var)
            tn_node_move(&e->w->g, n, e->r, random_before(e));
        break;
    default:
        for (int i = 0; i < 3; i++)
            v[i] = random_value(e);
        tn_region_set_results(&e->w->g, e->r, (int)tn_rng_below(&e->rng, 4), v);
        break;
    }
}

static void lists_stay_consistent(void **state)
{
    world *w = *state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        char name[8];
        snprintf(name, sizeof name, "f%u", (unsigned)seed);
        editor e = {.w = w, .r = tn_graph_add_function(&w->g, name)->body, .rng = {seed}};
        for (int i = 0; i < 3; i++)
            e.live[e.n++] = tn_region_add_param(&w->g, e.r, "x", NULL);
        for (int step = 0; step < 400; step++) {
            random_edit(&e);
            check_region(e.r, e.r);
        }
        while (e.n > 0)
            remove_node(&e, e.n - 1);
        assert_null(e.r->first);
        assert_int_equal(e.r->n_param, 0);
    }
}

static void parameters_come_first(void **state)
{
    world *w = *state;
    tn_graph *g = &w->g;
    tn_region *r = tn_graph_add_function(g, "main")->body;
    const tn_type *t = tn_type_tensor_i(&w->pool, TN_F32, 1, (int64_t[]){4});
    tn_node *a = tn_region_add_param(g, r, "a", t);
    tn_value in[3] = {tn_val(a), {0}, tn_val(a)};
    tn_node *n = tn_node_new(g, r, NULL, &any_op, 3, in, 2, NULL, NULL);
    tn_node *b = tn_region_add_param(g, r, "b", t);
    assert_true(r->first == a && a->next == b && b->next == n && r->last == n);
    assert_int_equal(r->n_param, 2);
    assert_string_equal(b->name, "b");
    assert_ptr_equal(tn_in_type(n, 0), t);
    assert_null(tn_in_type(n, 1));
    assert_null(n->type[1]);
    assert_int_equal(*(const int64_t *)n->attr, 0);
    assert_int_equal(tn_value_n_uses(tn_val(a)), 2);
    assert_true(tn_value_eq((tn_value){0}, (tn_value){NULL, 7}));
    assert_false(tn_value_eq((tn_value){n, 0}, (tn_value){n, 1}));
    assert_true(a->id == 0 && n->id == 1 && b->id == 2 && g->n_node == 3);
}

static void functions_and_symbols(void **state)
{
    tn_graph *g = &((world *)*state)->g;
    tn_graph_add_function(g, "helper");
    tn_graph_add_function(g, "main");
    tn_graph_add_function(g, "other");
    assert_string_equal(g->func->name, "main");
    assert_string_equal(g->func->next->name, "helper");
    assert_string_equal(g->func->next->next->name, "other");
    assert_ptr_equal(tn_graph_function(g, "helper"), g->func->next);
    assert_null(tn_graph_function(g, "none"));
    tn_graph_symbol(g, "n")->max = 8;
    for (int i = 0; i < 100; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", i);
        assert_int_equal(tn_graph_symbol(g, name)->min, 1);
    }
    assert_int_equal(tn_graph_symbol(g, "n")->max, 8);
    assert_int_equal(tn_graph_symbol(g, "s99")->max, INT32_MAX);
    assert_int_equal(g->n_symbol, 101);
}

static void constants_share_their_data(void **state)
{
    world *w = *state;
    tn_graph *g = &w->g;
    static const float borrowed[4] = {1, 2, 3, 4};
    void *at;
    tn_blob *own = tn_graph_blob(g, 100, &at), *ref = tn_graph_blob_ref(g, borrowed, sizeof borrowed);
    assert_int_equal((uintptr_t)at % 64, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(((const char *)own->at)[i], 0);
    memset(at, 1, 100);
    tn_region *r = tn_graph_add_function(g, "main")->body;
    const tn_type *t = tn_type_tensor_i(&w->pool, TN_F32, 1, (int64_t[]){4});
    tn_node *c = tn_constant_new(g, r, NULL, t, ref, "fc.weight");
    assert_true(c->op == &tn_op_constant && c->blob == ref && ref->at == borrowed && c->type[0] == t);
    assert_string_equal(c->name, "fc.weight");
    assert_null(tn_constant_new(g, r, c, t, own, NULL)->name);
    assert_ptr_equal(r->last, c);
    assert_non_null(tn_graph_blob(g, 0, &at)->at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_stay_consistent, enter, leave),
        cmocka_unit_test_setup_teardown(parameters_come_first, enter, leave),
        cmocka_unit_test_setup_teardown(functions_and_symbols, enter, leave),
        cmocka_unit_test_setup_teardown(constants_share_their_data, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
