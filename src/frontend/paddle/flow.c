/* Control flow. A loop carries the variables that its body assigns and that were there before. In a ProgramDesc
 * each side of a condition is a conditional block, and select_input picks what one of the two assigned: both become
 * one branch where the first result is picked. In JSON, branches and loops hold their blocks and say what they
 * give. */
#include "frontend/import/loop.h"
#include "frontend/paddle/paddle.h"

#include <string.h>

static const pd_block *block_at(imp_node *c, int64_t at)
{
    return (const pd_block *)pd_of(c)->program->blocks.at + at; /* checked when the program was read */
}

static const tn_pb_array *names_of(const tn_pb_array *params, const char *name)
{
    static const tn_pb_array none;
    const pd_param *p = pd_find_param(params, name);
    return p ? &p->arguments : &none;
}

static tn_bytes name_at(const tn_pb_array *names, size_t i)
{
    return i < names->n ? ((const tn_bytes *)names->at)[i] : (tn_bytes){0};
}

/* What a block assigned to these names, in a scope of its own. */
static void block_values(imp_node *c, const pd_block *b, size_t n, const tn_bytes name[], tn_value out[])
{
    if (imp_too_deep(c))
        return;
    imp_scope outside = imp_enter(c->im, false);
    size_t had = c->g->ctx->n_error;
    pd_convert_block(pd_of(c), b, n, name);
    c->bad = c->bad || c->g->ctx->n_error > had;
    for (size_t i = 0; i < n && !c->bad; i++)
        out[i] = imp_value_of(c, name[i]);
    imp_leave(c->im, &outside);
}

static int64_t sub_block(imp_node *c)
{
    const pd_attr *a = pd_find_attr(pd_op_of(c), "sub_block");
    imp_attr_ignore(c, "sub_block");
    if (!a || a->type != PD_A_BLOCK) {
        imp_refuse(c, IMP_ATTR_MISSING, "attribute sub_block is missing; the model is damaged");
        return 0;
    }
    return a->block_idx;
}

static void assign(imp_node *c, tn_bytes name, tn_value v)
{
    if (!c->bad)
        (void)imp_define(c->im, name, (imp_value){.v = v, .loc = c->loc}, c->loc);
}

/* ---- while of a ProgramDesc ---- */

typedef struct variables {
    const pd_block *body;
    size_t n;
    tn_bytes *name, go;
} variables;

/* Names that operators of a block assign and that have values before it, each once. */
static void find_carried(imp_node *c, const pd_block *b, variables *v)
{
    const pd_op *op = b->ops.at;
    tn_vec(tn_bytes) found = {0};
    for (size_t i = 0; i < b->ops.n; i++) {
        const pd_param *p = op[i].outputs.at;
        for (size_t k = 0; k < op[i].outputs.n; k++)
            for (size_t j = 0; j < p[k].arguments.n; j++) {
                tn_bytes name = name_at(&p[k].arguments, j);
                const imp_value *was = name.n ? imp_lookup(c->im, name) : NULL;
                bool had = !was || was->state != IMP_OK;
                for (size_t m = 0; m < found.n; m++)
                    had = had || imp_same(found.at[m], name);
                if (!had)
                    tn_vec_push(&found, name);
            }
    }
    v->n = found.n;
    v->name = TN_NEW_N(c->arena, tn_bytes, found.n);
    if (found.n)
        memcpy(v->name, found.at, found.n * sizeof *v->name);
    tn_vec_deinit(&found);
}

static void while_body(imp_node *c, imp_loop *l)
{
    const variables *v = l->user;
    if (imp_too_deep(c))
        return;
    imp_scope outside = imp_enter(c->im, false);
    size_t had = c->g->ctx->n_error;
    for (size_t i = 0; i < v->n; i++)
        assign(c, v->name[i], l->inner[i]);
    pd_convert_block(pd_of(c), v->body, v->n, v->name);
    c->bad = c->bad || c->g->ctx->n_error > had;
    for (size_t i = 0; i < v->n; i++)
        l->next[i] = imp_value_of(c, v->name[i]);
    l->go = imp_value_of(c, v->go);
    imp_leave(c->im, &outside);
}

static void while_(imp_node *c)
{
    const pd_op *op = pd_op_of(c);
    variables v = {.body = block_at(c, sub_block(c)), .go = name_at(names_of(&op->inputs, "Condition"), 0)};
    if (c->bad)
        return;
    find_carried(c, v.body, &v);
    imp_loop l = {
        .n = (uint32_t)v.n, .body = while_body, .user = &v, .first = TN_NEW_N(c->arena, tn_value, v.n)};
    tn_value go = imp_value_of(c, v.go), *out = TN_NEW_N(c->arena, tn_value, v.n);
    for (size_t i = 0; i < v.n; i++)
        l.first[i] = imp_value_of(c, v.name[i]);
    if (c->bad || !imp_make_loop(c, &l, go, out)) {
        c->bad = true;
        return;
    }
    for (size_t i = 0; i < v.n; i++)
        assign(c, v.name[i], out[i]);
}

/* ---- conditional_block, select_input ---- */

typedef struct conditional {
    const pd_block *block;
    size_t n;
    const tn_bytes *name;
} conditional;

static void new_or_old(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const conditional *k = b->user;
    if (side)
        block_values(c, k->block, k->n, k->name, out);
    for (size_t i = 0; i < k->n && !side; i++)
        out[i] = imp_value_of(c, k->name[i]);
}

/* What had a value before keeps it where the condition does not hold; the rest waits for its select_input. */
static void conditional_block(imp_node *c)
{
    const pd_op *op = pd_op_of(c);
    const tn_pb_array *names = names_of(&op->outputs, "Out"), *cond = names_of(&op->inputs, "Cond");
    tn_bytes *assigned = TN_NEW_N(c->arena, tn_bytes, names->n);
    conditional k = {block_at(c, sub_block(c)), 0, assigned};
    imp_attr_ignore(c, "is_scalar_condition");
    imp_attr_ignore(c, "skip_eager_deletion_vars");
    if (c->bad)
        return;
    for (size_t i = 0; i < names->n; i++) {
        tn_bytes name = name_at(names, i);
        if (name.n && imp_lookup(c->im, name))
            assigned[k.n++] = name;
        else if (name.n)
            tn_vec_push(&pd_of(c)->pending, ((pd_pending){name, op}));
    }
    if (!k.n)
        return;
    imp_branches b = {imp_value_of(c, name_at(cond, 0)), k.n, new_or_old, &k};
    tn_value *out = TN_NEW_N(c->arena, tn_value, k.n);
    if (!c->bad && !imp_make_if(c, &b, out))
        c->bad = true;
    for (size_t i = 0; i < k.n; i++)
        assign(c, assigned[i], out[i]);
}

/* The conditional block beside this operator that would assign a variable; NULL: it has its value already. Those around
 * it are being read. */
static const pd_op *pending_of(imp_node *c, tn_bytes name)
{
    const pd_import *p = pd_of(c);
    for (size_t i = p->pending.n; i-- > p->outside;)
        if (imp_same(p->pending.at[i].name, name))
            return p->pending.at[i].op;
    return NULL;
}

typedef struct selection { /* side[0]: where the condition does not hold */
    const pd_op *from[2];
    size_t n;
    tn_bytes *name[2], *to;
} selection;

static void selected(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const selection *s = b->user;
    const pd_op *from = s->from[side];
    if (from)
        block_values(c, block_at(c, pd_find_attr(from, "sub_block")->block_idx), s->n, s->name[side], out);
    for (size_t i = 0; i < s->n && !from; i++)
        out[i] = imp_value_of(c, s->name[side][i]);
}

/* All picks from the same two blocks become one branch. */
static void find_selection(imp_node *c, selection *s)
{
    pd_import *p = pd_of(c);
    const pd_op *self = pd_op_of(c), *op = p->block->ops.at;
    const tn_pb_array *x = names_of(&self->inputs, "X");
    for (int i = 0; i < 2; i++) {
        s->from[i] = pending_of(c, name_at(x, (size_t)i));
        s->name[i] = TN_NEW_N(c->arena, tn_bytes, p->block->ops.n);
    }
    s->to = TN_NEW_N(c->arena, tn_bytes, p->block->ops.n);
    for (size_t i = 0; i < p->block->ops.n; i++) {
        const tn_pb_array *y = names_of(&op[i].inputs, "X");
        bool same =
            &op[i] == self ||
            (&op[i] > self && s->from[0] && s->from[1] && imp_is(op[i].type, "select_input") && y->n == 2 &&
             pending_of(c, name_at(y, 0)) == s->from[0] && pending_of(c, name_at(y, 1)) == s->from[1]);
        if (!same)
            continue;
        s->name[0][s->n] = name_at(y, 0);
        s->name[1][s->n] = name_at(y, 1);
        s->to[s->n++] = name_at(names_of(&op[i].outputs, "Out"), 0);
        tn_vec_push(&p->done, &op[i]);
    }
}

static bool is_done(const pd_import *p, const pd_op *op)
{
    for (size_t i = 0; i < p->done.n; i++)
        if (p->done.at[i] == op)
            return true;
    return false;
}

static void select_input(imp_node *c)
{
    const pd_op *op = pd_op_of(c);
    selection s = {0};
    if (is_done(pd_of(c), op))
        return;
    if (names_of(&op->inputs, "X")->n != 2) {
        imp_refuse(c, IMP_OPERANDS, "it does not pick one of two values; the model is damaged");
        return;
    }
    find_selection(c, &s);
    imp_branches b = {imp_value_of(c, name_at(names_of(&op->inputs, "Mask"), 0)), s.n, selected, &s};
    tn_value *out = TN_NEW_N(c->arena, tn_value, s.n);
    if (!c->bad && !imp_make_if(c, &b, out))
        c->bad = true;
    for (size_t i = 0; i < s.n; i++)
        assign(c, s.to[i], out[i]);
}

/* ---- programs in JSON ---- */

/* What a block gives: the operands of its last operator. */
static const tn_pb_array *yielded(imp_node *c, const pd_block *b)
{
    static const tn_pb_array none;
    const pd_op *last = b->ops.n ? (const pd_op *)b->ops.at + b->ops.n - 1 : NULL;
    if (last && imp_is(last->type, "yield"))
        return names_of(&last->inputs, "X");
    imp_refuse(c, IMP_OPERANDS, "a block inside does not say what it gives; the model is damaged");
    return &none;
}

static const pd_block *region(imp_node *c, size_t i, size_t n)
{
    const pd_attr *a = pd_find_attr(pd_op_of(c), "regions");
    imp_attr_ignore(c, "regions");
    if (!a || a->blocks_idx.n != n) {
        imp_refuse(c, IMP_OPERANDS, "it has not %zu blocks; the model is damaged", n);
        return block_at(c, 0);
    }
    return block_at(c, ((const int64_t *)a->blocks_idx.at)[i]);
}

static void region_values(imp_node *c, imp_branches *b, bool side, tn_value out[])
{
    const pd_block *block = region(c, !side, 2);
    const tn_pb_array *names = c->bad ? NULL : yielded(c, block);
    if (names && names->n < b->n)
        imp_refuse(c, IMP_OPERANDS, "a block gives %zu values, not %zu; the model is damaged", names->n,
                   b->n);
    if (!c->bad)
        block_values(c, block, b->n, names->at, out);
}

static void pir_if(imp_node *c)
{
    const pd_op *op = pd_op_of(c);
    const tn_pb_array *names = names_of(&op->outputs, "Out");
    imp_branches b = {imp_value_of(c, name_at(names_of(&op->inputs, "Cond"), 0)), names->n, region_values,
                      NULL};
    tn_value *out = TN_NEW_N(c->arena, tn_value, names->n);
    imp_attr_ignore(c, "regions");
    imp_attr_ignore(c, "fake_false_branch"); /* its second block is PaddlePaddle's own, but complete */
    if (!c->bad && !imp_make_if(c, &b, out))
        c->bad = true;
    for (size_t i = 0; i < names->n; i++)
        assign(c, name_at(names, i), out[i]);
}

static void pir_while_body(imp_node *c, imp_loop *l)
{
    const pd_block *b = l->user;
    const tn_pb_array *given = yielded(c, b);
    if (imp_too_deep(c))
        return;
    if (given->n != l->n + 1 || b->args.n != l->n) {
        imp_refuse(c, IMP_OPERANDS,
                   "the body of a loop gives %zu values, but it carries %u; the model is damaged", given->n,
                   (unsigned)l->n);
        return;
    }
    imp_scope outside = imp_enter(c->im, false);
    size_t had = c->g->ctx->n_error;
    for (size_t i = 0; i < l->n; i++)
        assign(c, name_at(&b->args, i), l->inner[i]);
    pd_convert_block(pd_of(c), b, given->n, given->at);
    c->bad = c->bad || c->g->ctx->n_error > had;
    l->go = imp_value_of(c, name_at(given, 0));
    for (size_t i = 0; i < l->n; i++)
        l->next[i] = imp_value_of(c, name_at(given, i + 1));
    imp_leave(c->im, &outside);
}

static void pir_while(imp_node *c)
{
    const pd_op *op = pd_op_of(c);
    const tn_pb_array *in = names_of(&op->inputs, "X"), *names = names_of(&op->outputs, "Out");
    const pd_block *body = region(c, 0, 1);
    imp_loop l = {.n = (uint32_t)in->n,
                  .body = pir_while_body,
                  .user = (void *)(uintptr_t)body,
                  .first = TN_NEW_N(c->arena, tn_value, in->n)};
    tn_value go = imp_value_of(c, name_at(names_of(&op->inputs, "Cond"), 0)),
             *out = TN_NEW_N(c->arena, tn_value, in->n);
    for (size_t i = 0; i < in->n; i++)
        l.first[i] = imp_value_of(c, name_at(in, i));
    if (c->bad || !imp_make_loop(c, &l, go, out)) {
        c->bad = true;
        return;
    }
    for (size_t i = 0; i < names->n && i < in->n; i++)
        assign(c, name_at(names, i), out[i]);
}

// clang-format off
const imp_row pd_rows_flow[] = {
    {"while",                   1, 0, -1, -1, while_,            NULL},
    {"conditional_block",       1, 0, -1, -1, conditional_block, NULL},
    {"conditional_block_infer", 1, 0, -1, -1, conditional_block, NULL},
    {"select_input",            1, 0, -1, -1, select_input,      NULL},
    {"pir_if",                  1, 0, -1, -1, pir_if,            NULL},
    {"pir_while",               1, 0, -1, -1, pir_while,         NULL},
    {0},
};
// clang-format on
