/* Statements of irregular operators: see code.h. Loops are serial; what may run in any order is a
 * block, for schedules to cut. */
#include "op/code.h"

tn_code tn_code_open(tn_te *te, const tn_node *n, int out, const char *name, tn_tensor **t)
{
    *t = tn_rule_out(te, n, out, name, "opaque", NULL);
    tn_te_extern(te, *t);
    return (tn_code){te, te->pool, te->func, &(*t)->body, name, 0};
}

tn_tensor *tn_code_output(tn_te *te, const tn_node *n, int out, const char *name, const tn_tensor *first)
{
    tn_tensor *t = tn_rule_out(te, n, out, name, "opaque", NULL);
    tn_te_extern_part(te, t, first);
    return t;
}

const tn_expr *tn_code_for(tn_code *c, const char *name, const tn_expr *extent)
{
    const tn_expr *var = tn_func_add_var(c->f, name, TN_IDX);
    tn_stmt *s = tn_stmt_for(c->f, var, extent, TN_LOOP_SERIAL);
    tn_body_append(c->at, s);
    c->at = &s->u.loop.body;
    return var;
}

void tn_code_loops(tn_code *c, int n, const tn_expr *const extent[], const tn_expr *var[])
{
    for (int i = 0; i < n; i++)
        var[i] = tn_code_for(c, tn_arena_printf(c->te->arena, "i%d", i), extent[i]);
}

static tn_stmt *new_block(tn_code *c, int n)
{
    const char *name = c->n_block ? tn_arena_printf(c->te->arena, "%s_%d", c->name, c->n_block + 1) : c->name;
    tn_stmt *block = tn_stmt_block(c->f, name, "opaque", (uint32_t)n);
    c->n_block++;
    block->u.block.source = c->te->source;
    return block;
}

static const tn_expr *add_axis(tn_code *c, tn_stmt *block, int i, const char *name, const tn_expr *extent,
                               enum tn_iter_kind kind)
{
    const tn_expr *at = tn_code_for(c, name, extent), *var = tn_func_add_var(c->f, name, TN_IDX);
    block->u.block.iter[i] = (tn_iter){var, extent, at, (uint8_t)kind};
    return var;
}

static void enter(tn_code *c, tn_stmt *block)
{
    tn_body_append(c->at, block);
    c->at = &block->u.block.body;
}

static const tn_expr *open_block(tn_code *c, const char *name, const tn_expr *extent, enum tn_iter_kind kind)
{
    tn_stmt *block = new_block(c, 1);
    const tn_expr *var = add_axis(c, block, 0, name, extent, kind);
    enter(c, block);
    return var;
}

void tn_code_each(tn_code *c, int n, const tn_expr *const extent[], const tn_expr *var[])
{
    tn_stmt *block = new_block(c, n);
    for (int i = 0; i < n; i++)
        var[i] = add_axis(c, block, i, tn_arena_printf(c->te->arena, "i%d", i), extent[i], TN_ITER_SPATIAL);
    enter(c, block);
}

void tn_code_if(tn_code *c, const tn_expr *cond)
{
    tn_stmt *s = tn_stmt_if(c->f, cond);
    tn_body_append(c->at, s);
    c->at = &s->u.cond.then;
}

const tn_expr *tn_code_spread(tn_code *c, const char *name, const tn_expr *extent)
{
    return open_block(c, name, extent, TN_ITER_SPATIAL);
}

const tn_expr *tn_code_combine(tn_code *c, const char *name, const tn_expr *extent)
{
    return open_block(c, name, extent, TN_ITER_REDUCE);
}

const tn_expr *tn_code_let(tn_code *c, const char *name, const tn_expr *value)
{
    const tn_expr *var = tn_func_add_var(c->f, name, value->dtype);
    tn_body_append(c->at, tn_stmt_let(c->f, var, value));
    return var;
}

void tn_code_check(tn_code *c, const tn_expr *cond, const char *text)
{
    tn_body_append(c->at, tn_stmt_check(c->f, cond, text));
}

uint32_t tn_code_buffer(tn_code *c, const char *name, tn_dtype t, int n, const tn_expr *const dim[],
                        enum tn_scope scope)
{
    tn_buffer b = {
        .name = name, .dtype = t, .ndim = (uint16_t)n, .dim = dim, .scope = (uint8_t)scope, .param = -1};
    uint32_t number = tn_func_add_buffer(c->f, &b);
    tn_body_append(c->at, tn_stmt_decl(c->f, number));
    return number;
}

const tn_expr *tn_code_load(tn_code *c, uint32_t buffer, int n, const tn_expr *const index[])
{
    return tn_load(c->p, c->f->buffer[buffer].dtype, buffer, n, index, NULL, NULL);
}

void tn_code_store(tn_code *c, uint32_t buffer, int n, const tn_expr *const index[], const tn_expr *value)
{
    tn_body_append(c->at, tn_stmt_store(c->f, buffer, n, index, value, NULL));
}

uint32_t tn_code_cell(tn_code *c, const char *name, const tn_expr *value)
{
    const tn_expr *one = tn_idx(c->p, 1);
    uint32_t cell = tn_code_buffer(c, name, value->dtype, 1, &one, TN_SCOPE_REGISTER);
    tn_code_set(c, cell, value);
    return cell;
}

const tn_expr *tn_code_get(tn_code *c, uint32_t cell)
{
    const tn_expr *zero = tn_idx(c->p, 0);
    return tn_code_load(c, cell, 1, &zero);
}

void tn_code_set(tn_code *c, uint32_t cell, const tn_expr *value)
{
    const tn_expr *zero = tn_idx(c->p, 0);
    tn_code_store(c, cell, 1, &zero, value);
}

void tn_code_fill(tn_code *c, const tn_tensor *t, const tn_expr *value)
{
    tn_stmt *block =
        tn_stmt_block(c->f, tn_arena_printf(c->te->arena, "%s_start", c->name), "injective", t->ndim);
    tn_body *back = c->at;
    block->u.block.source = c->te->source;
    for (int i = 0; i < t->ndim; i++) {
        const tn_expr *var = tn_code_for(c, tn_arena_printf(c->te->arena, "i%d", i), t->dim[i]);
        block->u.block.iter[i] = (tn_iter){t->axis[i], t->dim[i], var, TN_ITER_SPATIAL};
    }
    tn_body_append(&block->u.block.body, tn_stmt_store(c->f, t->buffer, t->ndim, t->axis, value, NULL));
    tn_body_append(c->at, block);
    c->at = back;
}
