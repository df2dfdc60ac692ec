/* The verifier: what every pass may rely on and must leave behind.
 *
 * One walk in execution order checks structure, arity, dominance and types with a side table of nodes by id (unseen,
 * visible, gone out of scope); a second checks that use lists hold exactly the uses that exist. Linear in
 * nodes and uses.
 */
#include "base/size.h"
#include "op/core/core.h"
#include "relay/limits.h"
#include "relay/relay.h"

#include <string.h>

enum state { UNSEEN, VISIBLE, GONE };
enum { MAX_REPORTS = 20 };

typedef struct verifier {
    tn_graph *g;
    const tn_node **node; /* by id */
    uint8_t *state;       /* enum state, by id */
    uint64_t n_use;       /* uses with a definition, counted at the users */
    tn_arena scratch;
    size_t n_fail; /* the context counts equal reports once */
} verifier;

static void fail(verifier *v, const tn_node *n, const char *id, const char *text)
{
    v->n_fail++;
    (void)tn_error(v->g->ctx, id, n ? n->loc : NULL, "%s (%s, number %u)", text, n ? n->op->name : "function",
                   n ? (unsigned)n->id : 0);
}

static bool done(const verifier *v) { return v->n_fail >= MAX_REPORTS; }

/* ---- structure ---- */

static bool known(const verifier *v, const tn_node *n) { return n->id < v->g->n_node && v->node[n->id] == n; }

static void check_use(verifier *v, const tn_use *u, const tn_node *at)
{
    if (!u->def)
        return;
    v->n_use++;
    if (u->def->id >= v->g->n_node || v->node[u->def->id] != u->def || v->state[u->def->id] != VISIBLE)
        fail(v, at, "relay-E104", "a value is used before it is defined");
    else if (u->out >= u->def->nout)
        fail(v, at, "relay-E104", "a use refers to an output that its node does not have");
}

static void check_arity(verifier *v, const tn_node *n)
{
    const tn_op *op = n->op;
    bool in = n->nin >= op->min_in && (op->nin < 0 || n->nin <= op->nin);
    bool out = op->nout < 0 ? !op->nout_of || n->nout == op->nout_of(n->attr) : n->nout == op->nout;
    bool regions = op->nregion == TN_ANY_REGIONS || n->nregion == op->nregion;
    for (int i = 0; i < op->min_in && i < n->nin; i++)
        in = in && n->in[i].def;
    if (!in || !out || !regions)
        fail(v, n, "relay-E103", "the number of operands, results or regions is not what the operator takes");
    if (op->attr_size && !n->attr)
        fail(v, n, "relay-E111", "the attributes are missing");
}

static bool enter_node(verifier *v, const tn_region *r, const tn_node *n)
{
    if (n->id >= v->g->n_node || v->node[n->id]) {
        fail(v, n, "relay-E101", "a node is in the lists twice, or its number belongs to another node");
        return false;
    }
    v->node[n->id] = n;
    if (n->owner != r || (n->next ? n->next->prev != n : r->last != n) ||
        (n->prev ? n->prev->next != n : r->first != n)) {
        fail(v, n, "relay-E101", "its region's list does not contain it correctly");
        return false;
    }
    return true;
}

static bool check_params(verifier *v, const tn_region *r)
{
    const tn_node *n = r->first;
    for (uint32_t i = 0; i < r->n_param; i++, n = n->next) {
        if (!n || r->param[i] != n || !tn_op_is(n, &tn_op_var)) {
            fail(v, r->holder, "relay-E102",
                 "the parameters of a region are not the first nodes of its list");
            return false;
        }
    }
    for (; n; n = n->next) {
        if (tn_op_is(n, &tn_op_var)) {
            fail(v, n, "relay-E102", "this node is not a parameter of its region");
            return false;
        }
    }
    return true;
}

/* ---- types ---- */

static bool same_dims(tn_pool *p, const tn_type *a, const tn_type *b)
{
    if (a->kind != b->kind || a->n != b->n)
        return false;
    bool same = true;
    for (int i = 0; i < a->n && same; i++) {
        same = a->kind == TN_T_TENSOR ? a->dim[i] == b->dim[i] || tn_equal(p, NULL, a->dim[i], b->dim[i])
                                      : same_dims(p, a->field[i], b->field[i]);
    }
    return same && (a->kind != TN_T_TENSOR || tn_dtype_eq(a->dtype, b->dtype));
}

/* Does inference agree with a type? What a handle refers to may be of a narrower type than is said: a function or a
 * tuple, where an `if` before it became known. */
static bool agrees(tn_pool *p, const tn_type *have, const tn_type *inferred)
{
    return inferred &&
           (same_dims(p, have, inferred) || (tn_type_is_handle(have) && tn_type_fits(have, inferred)));
}

static void report_type(verifier *v, const tn_node *n, const tn_type *have, const tn_type *want)
{
    tn_buf a = {0}, b = {0};
    v->n_fail++;
    tn_type_print(have, &a);
    tn_type_print(want, &b);
    (void)tn_error(v->g->ctx, "relay-E106", n->loc, "%s has the type %s, but inference gives %s", n->op->name,
                   tn_buf_cstr(&a), tn_buf_cstr(&b));
    tn_buf_deinit(&a);
    tn_buf_deinit(&b);
}

/* Infers again and compares; types and attributes are put back. */
static void check_types(verifier *v, tn_node *n)
{
    for (int k = 0; k < n->nout; k++) {
        if (!n->type || !n->type[k]) {
            fail(v, n, "relay-E106", "the type is missing");
            return;
        }
    }
    for (int i = 0; i < n->nin; i++)
        if (n->in[i].def && (n->in[i].out >= n->in[i].def->nout || !tn_in_type(n, i)))
            return; /* reported where it is defined */
    const tn_type **kept = tn_arena_copy(&v->scratch, n->nout ? (const void *)n->type : "",
                                         n->nout * sizeof *kept, _Alignof(tn_type *));
    const void *attr = n->attr;
    if (tn_infer_node(v->g, n) != TN_OK) {
        v->n_fail++;
    } else {
        for (int k = 0; k < n->nout; k++)
            if (!agrees(v->g->pool, kept[k], n->type[k]))
                report_type(v, n, kept[k], n->type[k] ? n->type[k] : kept[k]);
    }
    memcpy(n->type, kept, n->nout * sizeof *kept);
    n->attr = attr;
}

static void check_constant(verifier *v, const tn_node *n)
{
    int64_t bytes;
    const tn_expr *e = n->type && n->type[0] ? tn_type_bytes(v->g->pool, n->type[0]) : NULL;
    if (!e || !tn_is_int(e, &bytes))
        fail(v, n, "relay-E109", "the size of a constant must be known");
    else if (n->blob && n->blob->n != (uint64_t)bytes)
        fail(v, n, "relay-E109", "the data of a constant does not have the size of its type");
}

/* ---- the walks ---- */

static bool check_region(verifier *v, const tn_region *r, int depth);

static bool check_node(verifier *v, tn_node *n, int depth)
{
    size_t errors = v->n_fail; /* what is broken is not inferred */
    check_arity(v, n);
    for (int i = 0; i < n->nin; i++)
        check_use(v, &n->in[i], n);
    for (int i = 0; i < n->nregion; i++) {
        if (n->region[i]->holder != n || !check_region(v, n->region[i], depth + 1)) {
            fail(v, n, "relay-E101", "a region does not belong to its node correctly");
            return false;
        }
    }
    if (tn_op_is(n, &tn_op_constant))
        check_constant(v, n);
    if (errors == v->n_fail)
        check_types(v, n);
    v->state[n->id] = VISIBLE;
    return true;
}

static bool check_region(verifier *v, const tn_region *r, int depth)
{
    if (depth > TN_RELAY_MAX_NEST) {
        fail(v, r->holder, "relay-E107", "closures are nested too deep");
        return false;
    }
    if (!check_params(v, r))
        return false;
    for (tn_node *n = r->first; n; n = n->next)
        if (done(v) || !enter_node(v, r, n) || !check_node(v, n, depth))
            return false;
    for (uint32_t i = 0; i < r->n_result; i++) {
        if (!r->result[i].def)
            fail(v, r->holder, "relay-E104", "a result is absent");
        check_use(v, &r->result[i], r->holder);
    }
    for (const tn_node *n = r->first; n; n = n->next)
        v->state[n->id] = GONE;
    return true;
}

static bool use_in_place(const verifier *v, const tn_use *u)
{
    if (u->user)
        return known(v, u->user) && u->slot < u->user->nin && &u->user->in[u->slot] == u;
    return u->region && u->slot < u->region->n_result && &u->region->result[u->slot] == u;
}

/* Every list holds uses that exist, and together they are as many as exist: so they are the same. */
static void check_use_lists(verifier *v)
{
    uint64_t listed = 0;
    for (uint32_t id = 0; id < v->g->n_node && !done(v); id++) {
        const tn_node *n = v->node[id];
        for (int k = 0; n && k < n->nout; k++) {
            const tn_use *prev = NULL;
            for (const tn_use *u = n->users[k]; u; prev = u, u = u->next) {
                listed++;
                if (u->def != n || u->out != (uint32_t)k || u->prev != prev || !use_in_place(v, u) ||
                    listed > v->n_use) {
                    fail(v, n, "relay-E105", "a list of uses is broken");
                    return;
                }
            }
        }
    }
    if (listed != v->n_use && !v->n_fail)
        fail(v, NULL, "relay-E105", "a use is missing from its list");
}

static void check_function(verifier *v, const tn_function *f)
{
    for (const tn_function *o = v->g->func; o != f; o = o->next) {
        if (!strcmp(o->name, f->name)) {
            v->n_fail++;
            (void)tn_error(v->g->ctx, "relay-E110", NULL, "there are two functions @%s", f->name);
        }
    }
    (void)check_region(v, f->body, 0); /* false: it has failed */
}

static void check_states(verifier *v)
{
    const tn_region *r = v->g->func ? v->g->func->body : NULL;
    for (size_t i = 0; i < v->g->state.n; i++) {
        const tn_graph_state *s = &v->g->state.at[i];
        if (r && s->param < r->n_param && s->result < r->n_result && s->result < v->g->n_result_name)
            continue;
        v->n_fail++;
        (void)tn_error(v->g->ctx, "relay-E252", NULL, "a state has no parameter or no result of @main");
    }
}

tn_status tn_relay_verify(const tn_graph *g)
{
    /* Inference writes types; they are put back, so the caller's graph is the same afterwards. */
    verifier v = {.g = (tn_graph *)g};
    tn_arena_init(&v.scratch);
    v.node = TN_NEW_N(&v.scratch, const tn_node *, g->n_node);
    v.state = TN_NEW_N(&v.scratch, uint8_t, g->n_node);
    for (const tn_function *f = g->func; f && !done(&v); f = f->next)
        check_function(&v, f);
    if (!v.n_fail)
        check_states(&v);
    if (!v.n_fail)
        check_use_lists(&v);
    tn_arena_deinit(&v.scratch);
    return v.n_fail ? TN_FAIL : tn_relay_check_layouts(g);
}
