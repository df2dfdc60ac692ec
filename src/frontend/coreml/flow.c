/* Control flow. Operations of a program hold blocks, which say what they take and give. Layers of a network hold
 * networks, whose blobs are variables: what a branch or a loop assigns is seen after it.
 *
 * A loop is left by loopBreak, its body by loopContinue, which stand in branches of the body. Each sets variables whose
 * names no builder gives, and what follows a branch with one of them becomes a branch on that variable. */
#include "frontend/import/loop.h"
#include "frontend/coreml/coreml.h"

#include "base/wire/pb.h"

#include <string.h>

/* ---- names ---- */

/* A name that the innermost scope has is given another value, which only copy, branch and loop may do. */
static void assign_state(imp_node *c, tn_bytes name, tn_value v, enum imp_state state)
{
    imp_value next = {.v = v, .state = state, .loc = c->loc};
    imp_value *was = (imp_value *)(uintptr_t)imp_lookup(c->im, name);
    if (was && (size_t)(was - c->im->value.at) >= c->im->scope)
        *was = next;
    else
        (void)imp_define(c->im, name, next, c->loc);
}

static void assign(imp_node *c, tn_bytes name, tn_value v)
{
    assign_state(c, name, v, c->bad ? IMP_BAD : IMP_OK);
}

/* ---- blocks of programs ---- */

typedef struct block {
    tn_bytes at;
    size_t n_in, n_out;
    tn_bytes *in, *out;
} block;

static block read_block(imp_node *c, tn_bytes at)
{
    block b = {.at = at};
    for (int pass = 0; pass < 2; pass++) {
        tn_pb r = tn_pb_open(at.at, at.n);
        b.n_in = b.n_out = 0;
        while (tn_pb_next(&r)) {
            if (r.wire != TN_PB_LEN || (r.field != 1 && r.field != 2))
                continue;
            tn_pb in = tn_pb_sub(&r);
            while (r.field == 1 && pass && tn_pb_next(&in))
                if (in.field == 1 && in.wire == TN_PB_LEN)
                    b.in[b.n_in] = in.bytes;
            if (r.field == 2 && pass)
                b.out[b.n_out] = r.bytes;
            *(r.field == 1 ? &b.n_in : &b.n_out) += 1;
        }
        if (!pass) {
            b.in = TN_NEW_N(&c->im->scratch, tn_bytes, b.n_in);
            b.out = TN_NEW_N(&c->im->scratch, tn_bytes, b.n_out);
            memset(b.in, 0, b.n_in * sizeof *b.in);
        }
    }
    return b;
}

static void read_two_blocks(imp_node *c, block out[2])
{
    const cm_operation *o = c->origin;
    int n = 0;
    tn_pb r = tn_pb_open(o->message.at, o->message.n);
    while (tn_pb_next(&r))
        if (r.field == 4 && r.wire == TN_PB_LEN && n++ < 2)
            out[n - 1] = read_block(c, r.bytes);
    if (n != 2)
        imp_refuse(c, IMP_OPERANDS, "it has %d blocks, not 2; the model is damaged", n);
}

/* What a block gives for these values, in a scope of its own. */
static void block_values(imp_node *c, const block *b, const tn_value in[], size_t n, tn_value out[])
{
    if (imp_too_deep(c))
        return;
    if (b->n_out != n) {
        imp_refuse(c, IMP_OPERANDS, "a block gives %zu values, not %zu; the model is damaged", b->n_out, n);
        return;
    }
    imp_scope outside = imp_enter(c->im, false);
    size_t had = c->g->ctx->n_error;
    for (size_t i = 0; i < b->n_in; i++)
        assign(c, b->in[i], in[i]);
    cm_read_block(cm_of(c), b->at);
    c->bad = c->bad || c->g->ctx->n_error > had;
    for (size_t i = 0; i < n && !c->bad; i++)
        out[i] = imp_value_of(c, b->out[i]);
    imp_leave(c->im, &outside);
}

static void side_values(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const block *blocks = b->user;
    block_values(c, &blocks[!side], NULL, b->n, out);
}

static void cond(imp_node *c)
{
    block two[2] = {0};
    imp_branches b = {cm_in(c, 0, "pred"), c->n_out, side_values, two};
    read_two_blocks(c, two);
    for (int i = 0; i < 2; i++)
        if (two[i].n_in)
            imp_refuse(c, IMP_OPERANDS, "a branch takes %zu values, not 0; the model is damaged",
                       two[i].n_in);
    if (!c->bad && !imp_make_if(c, &b, c->out))
        c->bad = true;
}

static void while_body(imp_node *c, imp_loop *l)
{
    const block *two = l->user; /* the condition, the body */
    block_values(c, &two[1], l->inner, l->n, l->next);
    if (!c->bad)
        block_values(c, &two[0], l->next, 1, &l->go);
}

static void while_loop(imp_node *c)
{
    const cm_operation *o = c->origin;
    block two[2] = {0};
    imp_loop l = {.body = while_body, .user = two, .first = TN_NEW_N(c->arena, tn_value, c->n_in)};
    tn_value go = {0}, *out = TN_NEW_N(c->arena, tn_value, c->n_in);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (imp_is(o->key[i].name, "loop_vars")) {
            l.first[l.n++] = imp_in(c, i);
            o->key[i].asked = true;
        }
    imp_attr_ignore(c, "loop_vars");
    read_two_blocks(c, two);
    for (int i = 0; i < 2 && !c->bad; i++)
        if (two[i].n_in != l.n)
            imp_refuse(c, IMP_OPERANDS,
                       "a block takes %zu values, but the loop carries %u; the model is damaged", two[i].n_in,
                       (unsigned)l.n);
    if (!c->bad && c->n_out != l.n)
        imp_refuse(c, IMP_OPERANDS, "it has %zu results, but carries %u values; the model is damaged",
                   c->n_out, (unsigned)l.n);
    if (!c->bad)
        block_values(c, &two[0], l.first, 1, &go);
    if (c->bad || !imp_make_loop(c, &l, go, out)) {
        c->bad = true;
        return;
    }
    for (uint32_t i = 0; i < l.n; i++)
        imp_out(c, i, out[i]);
}

/* ---- networks inside of layers ---- */

enum { BRANCH = 605, LOOP = 615, BREAK = 620, CONTINUE = 625 }; /* fields of a layer */

static const tn_bytes left_body = {(const uint8_t *)"\0body", 5}, left_loop = {(const uint8_t *)"\0loop", 5};

typedef struct names {
    tn_vec(tn_bytes) list;
    tn_strmap known; /* -> 1 */
    bool inner;      /* inside of a loop that is looked through: what leaves it, leaves that one */
} names;

static void add_name(names *all, tn_bytes name)
{
    uint64_t at;
    if (!name.n || tn_strmap_get(&all->known, (const char *)name.at, name.n, &at))
        return;
    tn_strmap_put(&all->known, (const char *)name.at, name.n, 1);
    tn_vec_push(&all->list, name);
}

static void free_names(names *all)
{
    tn_vec_deinit(&all->list);
    tn_strmap_deinit(&all->known);
}

static void add_assigned(names *all, tn_bytes network, int depth);

/* Results of a layer that reads something; what reads nothing is a constant, the same every time. */
static void add_layer(names *all, tn_bytes layer, int depth)
{
    bool reads = false;
    tn_pb r = tn_pb_open(layer.at, layer.n);
    while (tn_pb_next(&r))
        reads = reads || r.field == 2;
    r = tn_pb_open(layer.at, layer.n);
    while (tn_pb_next(&r)) {
        if (r.wire != TN_PB_LEN)
            continue;
        if (r.field == 3 && reads)
            add_name(all, r.bytes);
        if ((r.field == BREAK || r.field == CONTINUE) && !all->inner) {
            add_name(all, left_body);
            add_name(all, left_loop);
        }
        tn_pb inside = tn_pb_sub(&r);
        bool outer = all->inner;
        all->inner = outer || r.field == LOOP;
        while ((r.field == BRANCH || r.field == LOOP) && tn_pb_next(&inside)) /* branch: 1, 2; loop: 3, 4 */
            if (inside.wire == TN_PB_LEN && (r.field == BRANCH || inside.field > 2))
                add_assigned(all, inside.bytes, depth + 1);
        all->inner = outer;
    }
}

/* Names that layers of a network assign, each once. */
static void add_assigned(names *all, tn_bytes network, int depth)
{
    tn_pb r = tn_pb_open(network.at, network.n);
    while (depth < IMP_MAX_DEPTH && tn_pb_next(&r))
        if (r.field == 1 && r.wire == TN_PB_LEN)
            add_layer(all, r.bytes, depth);
}

static tn_bytes network_in(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_GRAPH);
    return a && a->graph ? *(const tn_bytes *)a->graph : (tn_bytes){0};
}

static size_t left_at(tn_bytes network, int depth);

/* Does a layer leave the body around it? */
static bool layer_leaves(tn_bytes layer, int depth)
{
    tn_pb r = tn_pb_open(layer.at, layer.n);
    while (depth < IMP_MAX_DEPTH && tn_pb_next(&r)) {
        if (r.wire != TN_PB_LEN)
            continue;
        if (r.field == BREAK || r.field == CONTINUE)
            return true;
        tn_pb inside = tn_pb_sub(&r);
        while (r.field == BRANCH && tn_pb_next(&inside))
            if (inside.wire == TN_PB_LEN && left_at(inside.bytes, depth + 1))
                return true;
    }
    return false;
}

/* Where the first layer of a network ends that may leave the body; 0: there is none. */
static size_t left_at(tn_bytes network, int depth)
{
    tn_pb r = tn_pb_open(network.at, network.n);
    while (tn_pb_next(&r))
        if (r.field == 1 && r.wire == TN_PB_LEN && layer_leaves(r.bytes, depth))
            return (size_t)(r.bytes.at + r.bytes.n - network.at);
    return 0;
}

static void unless_left(imp_node *c, tn_bytes rest);

static void read_inside(imp_node *c, tn_bytes network)
{
    size_t had = c->g->ctx->n_error, left = left_at(network, c->im->depth), n = left ? left : network.n;
    (void)cm_read_network(cm_of(c), (tn_bytes){network.at, n});
    c->bad = c->bad || c->g->ctx->n_error > had;
    if (n < network.n && !c->bad)
        unless_left(c, (tn_bytes){network.at + n, network.n - n});
}

static bool has_value(const imp_node *c, tn_bytes name)
{
    const imp_value *v = imp_lookup(c->im, name);
    return v && v->state == IMP_OK;
}

/* ---- branch ---- */

typedef struct branches {
    tn_bytes side[2]; /* else, if */
    size_t n;
    tn_bytes *name;
} branches;

static void network_values(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const branches *k = b->user;
    if (imp_too_deep(c))
        return;
    imp_scope outside = imp_enter(c->im, false);
    read_inside(c, k->side[side]);
    for (size_t i = 0; i < k->n && !c->bad; i++)
        out[i] = imp_value_of(c, k->name[i]);
    imp_leave(c->im, &outside);
}

/* Results: what had a value before, or gets one on both sides. The rest must not be read after it. */
static void choose_results(imp_node *c, branches *k)
{
    names side[2] = {0};
    uint64_t at;
    add_assigned(&side[0], k->side[0], c->im->depth);
    add_assigned(&side[1], k->side[1], c->im->depth);
    k->name = TN_NEW_N(c->arena, tn_bytes, side[0].list.n + side[1].list.n);
    for (int i = 1; i >= 0; i--)
        for (size_t j = 0; j < side[i].list.n; j++) {
            tn_bytes name = side[i].list.at[j];
            bool both = tn_strmap_get(&side[!i].known, (const char *)name.at, name.n, &at);
            if (both && !i)
                continue;
            if (both || has_value(c, name))
                k->name[k->n++] = name;
            else
                assign_state(c, name, (tn_value){0}, IMP_UNUSABLE);
        }
    free_names(&side[0]);
    free_names(&side[1]);
}

static void make_branch(imp_node *c, tn_value condition, branches *k)
{
    choose_results(c, k);
    imp_branches b = {condition, k->n, network_values, k};
    tn_value *out = TN_NEW_N(c->arena, tn_value, k->n);
    if (!imp_make_if(c, &b, out))
        c->bad = true;
    for (size_t i = 0; i < k->n; i++)
        assign(c, k->name[i], out[i]);
}

static void branch(imp_node *c)
{
    branches k = {.side = {network_in(c, "elseBranch"), network_in(c, "ifBranch")}};
    tn_value condition = imp_in(c, 0);
    if (!c->bad)
        make_branch(c, condition, &k);
}

/* What follows a layer that may have left the body of the loop. */
static void unless_left(imp_node *c, tn_bytes rest)
{
    branches k = {.side = {rest, {0}}};
    if (has_value(c, left_body))
        make_branch(c, imp_value_of(c, left_body), &k);
}

/* loopBreak, loopContinue */
static void leave(imp_node *c)
{
    bool loop = strcmp(c->row->op, "loopBreak") == 0;
    tn_value yes = imp_const(c, TN_BOOL1, 1);
    if (!has_value(c, left_body))
        imp_refuse(c, IMP_OPERANDS, "it stands in no loop; the model is damaged");
    if (c->bad)
        return;
    assign(c, left_body, yes);
    if (loop)
        assign(c, left_loop, yes);
}

/* ---- loop ---- */

typedef struct loop {
    tn_bytes condition, body; /* networks; at NULL: there is none */
    tn_bytes go;              /* what the condition gives */
    tn_value most;            /* iterations, int64; absent: any number */
    size_t n;
    tn_bytes *name; /* carried; after them comes the number of iterations */
} loop;

/* Once the network of the condition has been read: does another iteration follow? */
static tn_value goes_on(imp_node *c, const loop *k, tn_value i)
{
    tn_value go = k->condition.at ? imp_value_of(c, k->go) : (tn_value){0};
    if (c->bad || !k->most.def)
        return go;
    go = k->condition.at ? imp_bool_scalar(c, go) : go;
    tn_value more = imp_binary(c, &tn_op_less, i, k->most);
    return k->condition.at ? imp_binary(c, &tn_op_logical_and, more, go) : more;
}

static void loop_body(imp_node *c, imp_loop *l)
{
    const loop *k = l->user;
    if (imp_too_deep(c))
        return;
    imp_scope outside = imp_enter(c->im, false);
    for (size_t i = 0; i < k->n; i++)
        assign(c, k->name[i], l->inner[i]);
    imp_scope carried = imp_enter(c->im, false); /* layers compute them anew */
    tn_value no = imp_const(c, TN_BOOL1, 0);
    assign(c, left_body, no);
    assign(c, left_loop, no);
    read_inside(c, k->body);
    tn_value left = c->bad ? no : imp_value_of(c, left_loop);
    if (!c->bad && k->condition.at)
        read_inside(c, k->condition);
    for (size_t i = 0; i < k->n && !c->bad; i++)
        l->next[i] = imp_value_of(c, k->name[i]);
    l->next[k->n] = imp_with(c, &tn_op_add, l->inner[k->n], 1);
    l->go = goes_on(c, k, l->next[k->n]);
    if (!c->bad && left_at(k->body, c->im->depth)) {
        tn_value stays = imp_unary(c, &tn_op_logical_not, left), go = imp_bool_scalar(c, l->go);
        l->go = imp_binary(c, &tn_op_logical_and, go, stays);
    }
    imp_leave(c->im, &carried);
    imp_leave(c->im, &outside);
}

/* The iterations that are allowed: the operand, else a parameter, of which 0 means any number beside a condition. */
static tn_value most_iterations(imp_node *c, bool condition)
{
    int64_t most = imp_attr_int(c, "maxLoopIterations", 0);
    if (!c->n_in)
        return condition && most <= 0 ? (tn_value){0} : imp_i64(c, most < 0 ? 0 : most);
    tn_value v = imp_cast(c, imp_in(c, 0), TN_I64);
    return c->bad || !imp_rank(v) ? v : imp_reshape(c, v, 0, NULL);
}

static void read_loop(imp_node *c, loop *k)
{
    const imp_attr *go = imp_attr_find(c, "conditionVar", IMP_A_TEXT);
    k->condition = network_in(c, "conditionNetwork");
    k->body = network_in(c, "bodyNetwork");
    k->go = go ? go->text : (tn_bytes){0};
    if (!k->condition.n && !k->go.n) /* builders write an empty one where there is none */
        k->condition = (tn_bytes){0};
    k->most = most_iterations(c, k->condition.at != NULL);
    if (k->condition.at && !k->go.n)
        imp_refuse(c, IMP_ATTR_MISSING, "conditionVar is missing; the model is damaged");
}

/* What the networks of a loop assign: what had a value is carried. */
static void find_carried(imp_node *c, loop *k)
{
    names all = {.inner = true};
    add_assigned(&all, k->body, c->im->depth);
    if (k->condition.at)
        add_assigned(&all, k->condition, c->im->depth);
    k->name = TN_NEW_N(c->arena, tn_bytes, all.list.n);
    for (size_t i = 0; i < all.list.n; i++)
        if (has_value(c, all.list.at[i]))
            k->name[k->n++] = all.list.at[i];
        else
            assign_state(c, all.list.at[i], (tn_value){0}, IMP_UNUSABLE);
    free_names(&all);
}

static void loop_layer(imp_node *c)
{
    loop k = {0};
    read_loop(c, &k);
    if (!c->bad && k.condition.at)
        read_inside(c, k.condition);
    if (c->bad)
        return;
    find_carried(c, &k);
    imp_loop l = {.n = (uint32_t)k.n + 1,
                  .body = loop_body,
                  .user = &k,
                  .first = TN_NEW_N(c->arena, tn_value, k.n + 1)};
    tn_value *out = TN_NEW_N(c->arena, tn_value, k.n + 1);
    for (size_t i = 0; i < k.n; i++)
        l.first[i] = imp_value_of(c, k.name[i]);
    l.first[k.n] = imp_i64(c, 0);
    tn_value go = goes_on(c, &k, l.first[k.n]);
    if (c->bad || !imp_make_loop(c, &l, go, out))
        c->bad = true;
    for (size_t i = 0; i < k.n; i++)
        assign(c, k.name[i], out[i]);
}

/* ---- copy ---- */

/* The only layer whose result may have had a value before. */
void cm_copy(imp_model *im, imp_node *c)
{
    tn_value v = imp_begin(im, c) ? imp_in(c, 0) : (tn_value){0};
    if (c->n_out != 1 || c->n_in != 1)
        imp_refuse(c, IMP_OPERANDS, "it copies %zu values to %zu names; the model is damaged", c->n_in,
                   c->n_out);
    for (size_t i = 0; i < c->n_out; i++)
        assign(c, c->out_name[i], v);
}

// clang-format off
const imp_row cm_rows_flow[] = {
    {"cond",       2, 0, -1, -1, cond,       NULL},
    {"while_loop", 2, 0, -1, -1, while_loop, NULL},
    {"branch",     1, 1,  1,  0, branch,     NULL},
    {"loop",       1, 1,  1,  0, loop_layer, NULL},
    {"loopBreak",    1, 1, 0, 0, leave, NULL},
    {"loopContinue", 1, 1, 0, 0, leave, NULL},
    {0},
};
// clang-format on
