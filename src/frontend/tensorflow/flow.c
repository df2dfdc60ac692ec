/* Control flow: calls, branches and loops as functions (TensorFlow 2), and as Switch and Merge (TensorFlow 1).
 *
 * Handles (variables, tables, lists of elements that nobody has set) are no values of the run: they are not carried by
 * loops but seen by their bodies. A list that a loop sets becomes a tensor before it, or a sequence where the
 * loop makes it longer. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/loop.h"
#include "op/tensor/tensor.h"

#include <string.h>

static void ignore_notes(imp_node *c)
{
    static const char *const notes[] = {"config",        "config_proto",        "executor_type",
                                        "output_shapes", "parallel_iterations", "is_constant",
                                        "frame_name"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
}

/* ---- calls ---- */

/* Values of operands from number `first` on. */
static imp_value *operands(imp_node *c, uint32_t first)
{
    imp_value *in = TN_NEW_N(c->arena, imp_value, c->n_in);
    for (uint32_t i = first; i < imp_n_in(c); i++)
        in[i - first] = (imp_value){.v = imp_in(c, i)};
    return in;
}

static void call(imp_node *c)
{
    const tf_func *f = tf_attr_func(c, "f");
    imp_value *in = operands(c, 0), *out = TN_NEW_N(c->arena, imp_value, c->n_out);
    ignore_notes(c);
    if (!tf_call(c, f, c->n_in, in, c->n_out, out))
        c->bad = true;
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++)
        imp_out(c, i, out[i].v);
}

/* ---- If ---- */

typedef struct call_branches {
    const tf_func *f[2];
    imp_value *in;
    size_t n_state; /* results behind the operator's own: values of variables */
} call_branches;

/* A call whose last results are the variables that it may have changed, and which leaves these as they were. */
static bool call_with_states(imp_node *c, const tf_func *f, size_t n_in, const imp_value in[], size_t n_out,
                             size_t n_state, tn_value out[])
{
    imp_value *v = TN_NEW_N(c->arena, imp_value, n_out);
    tf_import *t = tf_of(c);
    size_t carried = t->carried;
    tn_value *before = n_state ? tf_state_values(c) : NULL;
    t->carried =
        n_state < carried ? n_state : carried; /* what the loop or branch around does not carry is lost */
    bool ok = tf_call(c, f, n_in, in, n_out, v);
    t->carried = carried;
    const tn_value *after = n_state ? tf_state_values(c) : NULL;
    for (size_t i = 0; i < n_out; i++)
        out[i] = v[i].v;
    for (size_t i = 0; i < n_state; i++)
        out[n_out + i] = after[i];
    if (n_state)
        tf_set_state_values(c, n_state, before);
    return ok;
}

static void call_branch(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const call_branches *u = b->user;
    if (!call_with_states(c, u->f[!side], c->n_in - 1, u->in, b->n - u->n_state, u->n_state, out))
        c->bad = true;
}

/* How many variables an If or a loop carries because what it calls may change them. */
static size_t carried_states(imp_node *c)
{
    tf_import *t = tf_of(c);
    if (c->bad || !tf_node_has_effects(t, tf_def(c)))
        return 0;
    tn_value *in = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t i = 0; i < c->n_in; i++)
        in[i] = imp_in(c, i);
    tf_begin_states(c, c->n_in, in);
    return t->states.n;
}

static void if_(imp_node *c)
{
    call_branches u = {
        {tf_attr_func(c, "then_branch"), tf_attr_func(c, "else_branch")}, operands(c, 1), carried_states(c)};
    imp_branches b = {imp_in(c, 0), c->n_out + u.n_state, call_branch, &u};
    tn_value *out = TN_NEW_N(c->arena, tn_value, b.n);
    ignore_notes(c);
    if (!c->bad && !imp_make_if(c, &b, out))
        c->bad = true;
    if (!c->bad && u.n_state)
        tf_set_state_values(c, u.n_state, out + c->n_out);
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++)
        imp_out(c, i, out[i]);
}

/* ---- Case: the branch of a number, the last one for those that there are not ---- */

typedef struct cases {
    const tf_list *f;
    tn_value number;
    imp_value *in;
    size_t at, n_state;
} cases;

static void make_case(imp_node *c, const cases *u, size_t n, tn_value out[]);

static void case_branch(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    cases u = *(const cases *)b->user;
    const tf_func *f = (const tf_func *)u.f->func.at + u.at;
    u.at += !side;
    if (!side)
        make_case(c, &u, b->n, out);
    else if (!call_with_states(c, f, c->n_in - 1, u.in, b->n - u.n_state, u.n_state, out))
        c->bad = true;
}

/* The branches from number u->at on. */
static void make_case(imp_node *c, const cases *u, size_t n, tn_value out[])
{
    imp_branches b = {{0}, n, case_branch, (void *)(uintptr_t)u};
    if (u->at + 1 == u->f->func.n) {
        case_branch(c, &b, true, out);
        return;
    }
    b.condition = imp_with(c, &tn_op_equal, u->number, (double)u->at);
    if (!c->bad && !imp_make_if(c, &b, out))
        c->bad = true;
}

static void case_(imp_node *c)
{
    imp_attr_need(c, "branches");
    const imp_attr *a = imp_attr_find(c, "branches", IMP_A_GRAPHS);
    cases u = {a ? a->graph : NULL, tf_scalar_in(c, 0), operands(c, 1), 0, carried_states(c)};
    tn_value *out = TN_NEW_N(c->arena, tn_value, c->n_out + u.n_state);
    ignore_notes(c);
    if (!c->bad && (!u.f || !u.f->func.n || u.f->func.n > IMP_MAX_DEPTH))
        imp_refuse(c, IMP_BAD_VALUE, "it has %zu branches; 1 to %d are supported", u.f ? u.f->func.n : 0,
                   IMP_MAX_DEPTH);
    if (c->bad)
        return;
    make_case(c, &u, c->n_out + u.n_state, out);
    if (!c->bad && u.n_state)
        tf_set_state_values(c, u.n_state, out + c->n_out);
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++)
        imp_out(c, i, out[i]);
}

/* ---- loops, of either kind ---- */

/* All variables of a loop; those that are handles are not carried. */
typedef struct variables {
    size_t n;
    tn_value *first, *now, *next; /* before the loop, in an iteration, after it */
    int64_t *carried;             /* number among the carried values, or -1 */
    /* The condition for these values, and the next ones. */
    tn_value (*condition)(imp_node *c, struct variables *v, const tn_value in[]);
    void (*iterate)(imp_node *c, struct variables *v, const tn_value in[], tn_value out[]);
    const void *user;
} variables;

static void number_carried(imp_node *c, variables *v, imp_loop *l)
{
    l->n = 0;
    for (size_t i = 0; i < v->n; i++)
        v->carried[i] = tf_resource_of(tf_of(c), v->first[i]) ? -1 : (int64_t)l->n++;
    for (size_t i = 0; i < v->n; i++)
        if (v->carried[i] >= 0)
            l->first[v->carried[i]] = v->first[i];
}

static void loop_body(imp_node *c, imp_loop *l)
{
    variables *v = l->user;
    for (size_t i = 0; i < v->n; i++)
        v->now[i] = v->carried[i] < 0 ? v->first[i] : l->inner[v->carried[i]];
    v->iterate(c, v, v->now, v->next);
    l->go = c->bad ? l->go : v->condition(c, v, v->next);
    for (size_t i = 0; i < v->n; i++)
        if (v->carried[i] >= 0)
            l->next[v->carried[i]] = v->next[i];
}

/* A list that the body sets: before the loop it is zeros of the extents that it has then, or a sequence where the
 * body finds them out, or makes it longer. -1: none. */
static int64_t list_that_is_set(imp_node *c, const variables *v)
{
    for (size_t i = 0; i < v->n; i++) {
        bool grows = tn_value_type(v->next[i])->kind == TN_T_SEQ;
        bool is_new = v->carried[i] < 0 ? !tf_resource_of(tf_of(c), v->next[i])
                                        : grows && tn_value_type(v->first[i])->kind == TN_T_TENSOR;
        if (is_new)
            return (int64_t)i;
    }
    return -1;
}

/* What a list that is a sequence after the body, of this type, is before the loop. */
static tn_value first_sequence(imp_node *c, const imp_loop *l, tn_value list, const tn_type *item)
{
    const tn_expr *dim[IMP_MAX_RANK];
    bool known = !tf_resource_of(tf_of(c), list) || (item->kind == TN_T_TENSOR && item->n < IMP_MAX_RANK);
    for (int d = 0; d < item->n && item->kind == TN_T_TENSOR; d++) {
        bool own = imp_is_of_body(c, l, item->dim[d]);
        dim[d] = d == 0 || own ? tn_idx(c->pool, 0) : item->dim[d];
        known = known && (!own || !tf_resource_of(tf_of(c), list));
    }
    if (known)
        return tf_sequence_of(c, list, item);
    return tf_sequence_new(c, list, (tn_dims){(uint32_t)item->n, dim}, item->dtype);
}

static bool make_list(imp_node *c, imp_loop *l)
{
    variables *v = l->user;
    int64_t i = c->bad ? -1 : list_that_is_set(c, v);
    if (i < 0)
        return false;
    const tn_type *t = tn_value_type(v->next[i]), *item = t->kind == TN_T_SEQ && t->n ? t->field[0] : NULL;
    for (int d = 0; !item && d < t->n; d++)
        if (imp_is_of_body(c, l, t->dim[d]))
            item = tn_type_tensor(c->pool, t->dtype, t->n - 1, t->dim + 1, NULL);
    if (item)
        v->first[i] = first_sequence(c, l, v->first[i], item);
    else
        v->first[i] = tf_full(c, imp_const(c, t->dtype, 0), (tn_dims){(uint32_t)t->n, t->dim});
    number_carried(c, v, l);
    l->inner = TN_NEW_N(c->arena, tn_value, v->n);
    l->next = TN_NEW_N(c->arena, tn_value, v->n);
    l->type = TN_NEW_N(c->arena, const tn_type *, v->n);
    return true;
}

/* out: v->n values. */
static void run_loop(imp_node *c, variables *v, tn_value out[])
{
    imp_loop l = {
        .body = loop_body, .again = make_list, .user = v, .first = TN_NEW_N(c->arena, tn_value, v->n)};
    v->now = TN_NEW_N(c->arena, tn_value, v->n);
    v->next = TN_NEW_N(c->arena, tn_value, v->n);
    v->carried = TN_NEW_N(c->arena, int64_t, v->n);
    number_carried(c, v, &l);
    tn_value go = c->bad ? (tn_value){0} : v->condition(c, v, v->first);
    tn_value *result = TN_NEW_N(c->arena, tn_value, v->n);
    if (c->bad || !imp_make_loop(c, &l, go, result)) {
        c->bad = c->g->ctx->n_error > 0; /* what was said may have been of a reading that was dropped */
        if (!c->bad)
            imp_refuse(c, IMP_BAD_VALUE,
                       "the condition or the body of the loop cannot be read; the model is damaged");
        return;
    }
    for (size_t i = 0; i < v->n; i++)
        out[i] = v->carried[i] < 0 ? v->first[i] : result[v->carried[i]];
}

/* ---- While ---- */

typedef struct call_loop {
    const tf_func *condition, *body;
    size_t n_state; /* the last variables of the loop are those that the body may change */
} call_loop;

static imp_value *as_values(imp_node *c, size_t n, const tn_value in[])
{
    imp_value *v = TN_NEW_N(c->arena, imp_value, n);
    for (size_t i = 0; i < n; i++)
        v[i] = (imp_value){.v = in[i]};
    return v;
}

static tn_value call_condition(imp_node *c, variables *v, const tn_value in[])
{
    const call_loop *u = v->user;
    size_t n = v->n - u->n_state;
    tn_value *before = u->n_state ? tf_state_values(c) : NULL;
    imp_value go = {0};
    if (u->n_state)
        tf_set_state_values(c, u->n_state, in + n);
    if (!tf_call(c, u->condition, n, as_values(c, n, in), 1, &go))
        c->bad = true;
    if (u->n_state)
        tf_set_state_values(c, u->n_state, before);
    return go.v;
}

static void call_body(imp_node *c, variables *v, const tn_value in[], tn_value out[])
{
    const call_loop *u = v->user;
    size_t n = v->n - u->n_state;
    tn_value *before = u->n_state ? tf_state_values(c) : NULL;
    if (u->n_state)
        tf_set_state_values(c, u->n_state, in + n);
    if (!call_with_states(c, u->body, n, as_values(c, n, in), n, u->n_state, out))
        c->bad = true;
    if (u->n_state)
        tf_set_state_values(c, u->n_state, before);
}

static void while_(imp_node *c)
{
    call_loop u = {tf_attr_func(c, "cond"), tf_attr_func(c, "body"), carried_states(c)};
    variables v = {.n = c->n_in + u.n_state, .condition = call_condition, .iterate = call_body, .user = &u};
    tn_value *out = TN_NEW_N(c->arena, tn_value, v.n);
    v.first = TN_NEW_N(c->arena, tn_value, v.n);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        v.first[i] = imp_in(c, i);
    const tn_value *state = u.n_state ? tf_state_values(c) : NULL;
    for (size_t i = 0; i < u.n_state; i++)
        v.first[c->n_in + i] = state[i];
    ignore_notes(c);
    run_loop(c, &v, out);
    if (!c->bad && u.n_state)
        tf_set_state_values(c, u.n_state, out + c->n_in);
    for (uint32_t i = 0; i < c->n_out && i < c->n_in && !c->bad; i++)
        imp_out(c, i, out[i]);
}

/* ---- frames: Enter, Merge, Switch, NextIteration, Exit ---- */

typedef struct frame_variable {
    const tf_node *merge, *swap, *next, *enter;
} frame_variable;

typedef struct frame {
    const tf_node *condition; /* LoopCond */
    frame_variable *at;
} frame;

static const tf_node *reader_of(const tf_graph *g, const tf_node *n, size_t in)
{
    return in < n->n_in && n->from[in] != TF_NONE ? &g->node[n->from[in]] : NULL;
}

static bool is_kind(const tf_node *n, const char *op)
{
    tn_bytes b = n ? n->def->op : (tn_bytes){0};
    bool ref = b.n > 3 && memcmp(b.at, "Ref", 3) == 0;
    return n && imp_is(ref ? (tn_bytes){b.at + 3, b.n - 3} : b, op);
}

/* The variable of a loop that a Switch belongs to; false: it is none. */
static bool variable_of(const tf_graph *g, const tf_node *s, frame_variable *out)
{
    const tf_node *m = reader_of(g, s, 0);
    *out = (frame_variable){.merge = m, .swap = s};
    if (!is_kind(m, "Merge"))
        return false;
    for (size_t i = 0; i < m->n_in; i++) {
        const tf_node *n = reader_of(g, m, i);
        out->next = is_kind(n, "NextIteration") ? n : out->next;
        out->enter = is_kind(n, "Enter") ? n : out->enter;
    }
    return out->next && out->enter;
}

/* All variables of the loop with this condition. */
static size_t frame_variables(imp_node *c, frame *f)
{
    const tf_graph *g = tf_of(c)->graph;
    size_t n = 0;
    f->at = TN_NEW_N(c->arena, frame_variable, g->n);
    for (size_t i = 0; i < g->n; i++)
        if (is_kind(&g->node[i], "Switch") && reader_of(g, &g->node[i], 1) == f->condition)
            n += variable_of(g, &g->node[i], &f->at[n]);
    return n;
}

static void define_variables(imp_node *c, const variables *v, const tn_value in[])
{
    const frame *f = v->user;
    for (size_t i = 0; i < v->n; i++) {
        (void)imp_define(c->im, f->at[i].merge->out[0], (imp_value){.v = in[i]}, c->loc);
        for (size_t k = 0; k < f->at[i].swap->n_out; k++)
            (void)imp_define(c->im, f->at[i].swap->out[k], (imp_value){.v = in[i]}, c->loc);
    }
}

static tn_value value_in(imp_node *c, tn_bytes name)
{
    const imp_value *v = tf_value_of(tf_of(c), name, c->loc);
    if (v && v->state == IMP_UNUSABLE)
        imp_refuse(c, IMP_UNSUPPORTED_RESULT,
                   "output %u of node %s (%s), which is read here, is not supported", (unsigned)v->output,
                   v->loc->node, v->loc->op);
    c->bad = c->bad || !v || v->state != IMP_OK;
    return v ? v->v : (tn_value){0};
}

static tn_value frame_condition(imp_node *c, variables *v, const tn_value in[])
{
    const frame *f = v->user;
    imp_scope outside = imp_enter(c->im, false);
    define_variables(c, v, in);
    tn_value go = value_in(c, f->condition->in[0]);
    imp_leave(c->im, &outside);
    return go;
}

static void frame_body(imp_node *c, variables *v, const tn_value in[], tn_value out[])
{
    const frame *f = v->user;
    imp_scope outside = imp_enter(c->im, false);
    tf_of(c)->conditional++;
    define_variables(c, v, in);
    for (size_t i = 0; i < v->n && !c->bad; i++)
        out[i] = value_in(c, f->at[i].next->in[0]);
    tf_of(c)->conditional--;
    imp_leave(c->im, &outside);
}

static tn_bytes frame_name(const tf_node *n)
{
    const tf_value *v = tf_find_attr(&n->def->attr, "frame_name");
    return v && v->s.n ? *(const tn_bytes *)v->s.at : (tn_bytes){0};
}

/* What the loop sees of outside is converted outside. */
static void enter_all(imp_node *c, const tf_node *enter)
{
    tf_graph *g = tf_of(c)->graph;
    for (size_t i = 0; i < g->n; i++)
        if (is_kind(&g->node[i], "Enter") && imp_same(frame_name(&g->node[i]), frame_name(enter)) &&
            !g->node[i].under_way)
            tf_demand(tf_of(c), (int64_t)i);
}

/* One Exit is asked for: all of them have their values then. */
static void exit_(imp_node *c)
{
    tf_import *t = tf_of(c);
    const tf_graph *g = t->graph;
    const tf_node *self = &g->node[tf_find_node(g, tf_def(c)->name)], *s = reader_of(g, self, 0);
    frame f = {.condition = s ? reader_of(g, s, 1) : NULL};
    variables v = {.condition = frame_condition, .iterate = frame_body, .user = &f};
    if (!is_kind(s, "Switch") || !is_kind(f.condition, "LoopCond") || !f.condition->n_in ||
        c->im->depth >= IMP_MAX_DEPTH || !(v.n = frame_variables(c, &f))) {
        imp_fail(c, "tensorflow-E038", "it does not end a loop of Enter, Merge, Switch and NextIteration");
        return;
    }
    enter_all(c, f.at[0].enter);
    v.first = TN_NEW_N(c->arena, tn_value, v.n);
    tn_value *out = TN_NEW_N(c->arena, tn_value, v.n);
    for (size_t i = 0; i < v.n && !c->bad; i++)
        v.first[i] = value_in(c, f.at[i].enter->out[0]);
    if (!c->bad)
        run_loop(c, &v, out);
    for (size_t i = 0; i < g->n && !c->bad; i++)
        for (size_t k = 0; k < v.n && is_kind(&g->node[i], "Exit"); k++) {
            if (reader_of(g, &g->node[i], 0) != f.at[k].swap)
                continue;
            if (&g->node[i] == self)
                imp_out(c, 0, out[k]);
            else if (!imp_lookup(c->im, g->node[i].out[0]))
                (void)imp_define(c->im, g->node[i].out[0], (imp_value){.v = out[k]}, c->loc);
        }
}

/* ---- branches: Switch, _SwitchN, Merge ---- */

/* Under which conditions a node is computed, the innermost first. A condition is a bool, or of _SwitchN the number of a
 * side. */
typedef struct context {
    const struct context *around;
    tn_bytes condition;
    size_t side, n_side;
    int depth;
} context;

/* Each result of it is the data on one side. */
static bool is_switch(const tf_node *n) { return is_kind(n, "Switch") || is_kind(n, "_SwitchN"); }

static size_t side_of(const tf_node *n, tn_bytes result)
{
    size_t k = 0;
    while (k < n->n_out && !imp_same(result, n->out[k]))
        k++;
    return k < n->n_out ? k : 0;
}

static int depth_of(const context *x) { return x ? x->depth : 0; }

static const context *deeper(const context *a, const context *b) { return depth_of(b) > depth_of(a) ? b : a; }

/* Contexts of all nodes that node k reads, found by a walk with a stack; NextIteration is not followed. */
typedef struct finder {
    imp_node *c;
    const context **of; /* by node */
    uint8_t *state;     /* 0 new, 1 under way, 2 done */
} finder;

static const context *own_context(finder *f, const tf_node *n)
{
    const context *x = NULL;
    for (size_t i = 0; i < n->n_in; i++) {
        if (n->from[i] == TF_NONE)
            continue;
        const tf_node *from = &tf_of(f->c)->graph->node[n->from[i]];
        const context *y = f->of[n->from[i]];
        if (is_switch(from) && y) { /* its results differ */
            context *z = TN_NEW(f->c->arena, context);
            *z = *y;
            z->side = side_of(from, n->in[i]);
            y = z;
        }
        x = deeper(x, y);
    }
    for (size_t i = 0; i < n->n_control; i++)
        if (!is_switch(&tf_of(f->c)->graph->node[n->control[i]]))
            x = deeper(x, f->of[n->control[i]]);
    return x;
}

/* A condition has one name, however often it is passed on. */
static tn_bytes condition_of(const tf_graph *g, const tf_node *n)
{
    tn_bytes name = n->in[1];
    int64_t k = n->from[1];
    for (size_t step = 0; step < g->n && k != TF_NONE && is_kind(&g->node[k], "Identity") && g->node[k].n_in;
         step++) {
        name = g->node[k].in[0];
        k = g->node[k].from[0];
    }
    return name;
}

static void finish_context(finder *f, int64_t k)
{
    const tf_node *n = &tf_of(f->c)->graph->node[k];
    const context *x = own_context(f, n);
    if (is_kind(n, "Merge"))
        x = x ? x->around : NULL;
    if (is_switch(n) && n->n_in > 1) {
        context *y = TN_NEW(f->c->arena, context);
        *y = (context){x, condition_of(tf_of(f->c)->graph, n), 0, n->n_out, depth_of(x) + 1};
        x = y;
    }
    f->of[k] = x;
    f->state[k] = 2;
}

static void find_contexts(finder *f, int64_t k)
{
    const tf_graph *g = tf_of(f->c)->graph;
    tn_vec(int64_t) stack = {0};
    tn_vec_push(&stack, k);
    while (stack.n) {
        int64_t at = tn_vec_last(&stack);
        const tf_node *n = &g->node[at];
        if (f->state[at] == 0 && !is_kind(n, "NextIteration")) {
            f->state[at] = 1;
            for (size_t i = 0; i < n->n_in; i++)
                if (n->from[i] != TF_NONE && !f->state[n->from[i]])
                    tn_vec_push(&stack, n->from[i]);
            for (size_t i = 0; i < n->n_control; i++)
                if (!f->state[n->control[i]])
                    tn_vec_push(&stack, n->control[i]);
            continue;
        }
        if (f->state[at] == 1)
            finish_context(f, at);
        f->state[at] = 2;
        (void)tn_vec_pop(&stack);
    }
    tn_vec_deinit(&stack);
}

/* Which value a Merge has on each side; of a bool, side 0 is where it does not hold. */
typedef struct merge {
    tn_bytes condition, *side;
    size_t n_side, at;
    tn_value number; /* of a side */
} merge;

static bool read_merge(imp_node *c, merge *m)
{
    const tf_graph *g = tf_of(c)->graph;
    const tf_node *self = &g->node[tf_find_node(g, tf_def(c)->name)];
    finder f = {c, TN_NEW_N(&c->im->scratch, const context *, g->n),
                TN_NEW_N(&c->im->scratch, uint8_t, g->n)};
    *m = (merge){.n_side = self->n_in, .side = TN_NEW_N(c->arena, tn_bytes, self->n_in)};
    for (size_t i = 0; i < self->n_in; i++) {
        if (self->from[i] == TF_NONE)
            return false;
        find_contexts(&f, self->from[i]);
        const context *x = f.of[self->from[i]];
        const tf_node *from = &g->node[self->from[i]];
        if (!x || x->n_side != m->n_side || (i && !imp_same(x->condition, m->condition)))
            return false;
        m->condition = x->condition;
        m->side[is_switch(from) ? side_of(from, self->in[i]) : x->side] = self->in[i];
    }
    for (size_t i = 0; i < m->n_side; i++)
        if (!m->side[i].n)
            return false;
    return m->n_side > 0;
}

static tn_value merge_side(imp_node *c, const merge *m, size_t side)
{
    imp_scope outside = imp_enter(c->im, false);
    tf_of(c)->conditional++;
    tn_value v = value_in(c, m->side[side]);
    tf_of(c)->conditional--;
    imp_leave(c->im, &outside);
    return v;
}

static void merge_branch(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    out[0] = merge_side(c, b->user, side);
}

static void merge_numbered(imp_node *c, imp_branches *b, bool side, tn_value out[]);

/* The sides from number m->at on; the last one is for numbers that no other has. */
static void make_sides(imp_node *c, merge *m, tn_value *out)
{
    imp_branches b = {{0}, 1, merge_numbered, m};
    if (m->at + 1 == m->n_side) {
        *out = merge_side(c, m, m->at);
        return;
    }
    b.condition = imp_with(c, &tn_op_equal, m->number, (double)m->at);
    if (!c->bad && !imp_make_if(c, &b, out))
        c->bad = true;
}

static void merge_numbered(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    merge m = *(const merge *)b->user;
    if (side) {
        out[0] = merge_side(c, &m, m.at);
        return;
    }
    m.at++;
    make_sides(c, &m, out);
}

static void merge_(imp_node *c)
{
    merge m;
    tn_value out = {0};
    imp_attr_ignore(c, "N");
    bool joins = c->im->depth < IMP_MAX_DEPTH && read_merge(c, &m);
    m.number = joins ? value_in(c, m.condition) : out;
    bool numbered = !tn_dtype_is_bool(imp_type(m.number)->dtype);
    imp_branches b = {m.number, 1, merge_branch, &m};
    if (!joins || (!c->bad && !numbered && m.n_side != 2))
        imp_fail(c, "tensorflow-E039", "it does not join the sides of a condition");
    else if (m.n_side > IMP_MAX_DEPTH)
        imp_refuse(c, IMP_TOO_LARGE, "it has %zu sides; at most %d are supported", m.n_side, IMP_MAX_DEPTH);
    else if (!c->bad && numbered)
        make_sides(c, &m, &out);
    else if (!c->bad && !imp_make_if(c, &b, &out))
        c->bad = true;
    imp_out(c, 0, out);
}

/* What only says something, or only makes others wait. */
static void idle(imp_node *c)
{
    static const char *const notes[] = {"summarize", "output_stream", "end"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
}

/* All results are the operand: only the one that is meant is ever asked for. */
static void switch_(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    imp_attr_ignore(c, "num_outs");
    for (uint32_t i = 0; i < c->n_out; i++)
        imp_out(c, i, x);
}

static void enter(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    ignore_notes(c);
    imp_out(c, 0, x);
}

// clang-format off
const imp_row tf_rows_flow[] = {
    {"Assert",                  1, 0, -1,  0, idle,    NULL},
    {"Case",                    1, 0, -1, -1, case_,   NULL},
    {"Enter",                   1, 0,  1,  1, enter,   NULL},
    {"Exit",                    1, 0,  1,  1, exit_,   NULL},
    {"If",                      1, 0, -1, -1, if_,     NULL},
    {"LoopCond",                1, 0,  1,  1, enter,   NULL},
    {"Merge",                   1, 0, -1,  1, merge_,  NULL},
    {"NextIteration",           1, 0,  1,  1, enter,   NULL},
    {"NoOp",                    1, 0, -1,  0, idle,    NULL},
    {"PartitionedCall",         1, 0, -1, -1, call,    NULL},
    {"PrintV2",                 1, 0, -1,  0, idle,    NULL},
    {"RefEnter",                1, 0,  1,  1, enter,   NULL},
    {"RefExit",                 1, 0,  1,  1, exit_,   NULL},
    {"RefMerge",                1, 0, -1,  1, merge_,  NULL},
    {"RefSwitch",               1, 0,  2,  2, switch_, NULL},
    {"StatefulPartitionedCall", 1, 0, -1, -1, call,    NULL},
    {"StatelessCase",           1, 0, -1, -1, case_,   NULL},
    {"StatelessIf",             1, 0, -1, -1, if_,     NULL},
    {"StatelessWhile",          1, 0, -1, -1, while_,  NULL},
    {"Switch",                  1, 0,  2,  2, switch_, NULL},
    {"While",                   1, 0, -1, -1, while_,  NULL},
    {"_SwitchN",                1, 0,  2, -1, switch_, NULL},
    {0},
};
// clang-format on
