/* Functions of Relay built piece by piece: the text reader, an expression at a time, over values made before. */
#include "relay/parse.h"

#include <stdio.h>
#include <string.h>

struct tn_relay_value {
    pval v;
};

struct tn_relay_builder {
    parser p;
    pscope scope;
};

tn_relay_builder *tn_relay_builder_new(tn_graph *g, const char *name, const struct form *const *more)
{
    if (tn_graph_function(g, name)) {
        (void)tn_error(g->ctx, "relay-E051", NULL, "@%s is defined twice", name);
        return NULL;
    }
    tn_relay_builder *b = TN_NEW(g->arena, tn_relay_builder);
    parser *p = &b->p;
    *p = (parser){.g = g, .given = {.forms = more}, .dims = DIM_USE, .fresh = -1};
    p->file = tn_intern(g->ctx, tn_arena_printf(g->arena, "@%s", name));
    tn_arena_init(&p->scratch);
    for (tn_function *f = g->func; f; f = f->next)
        tn_vec_push(&p->func, ((pfunc){.name = f->name, .state = 2, .func = f}));
    p->body = tn_graph_add_function(g, name)->body;
    parse_open(p, &b->scope, p->body);
    return b;
}

/* Begins to read a text as the next line of the function. */
static void read_text(parser *p, const char *text)
{
    uint32_t line = p->l.line + 1;
    p->text = text;
    p->text_end = text + strlen(text);
    p->prev_end = p->annot_used = NULL;
    p->n_error = 0;
    tn_lex_init(&p->l, p->g->ctx, p->file, text, strlen(text), false);
    p->l.line = p->l.tok_line = line;
}

static bool at_end(parser *p)
{
    return p->l.tok == TN_TOK_END ? !p->l.failed : tn_lex_expected(&p->l, "the end of the text") == TN_OK;
}

static tn_relay_value *keep(parser *p, pval v)
{
    tn_relay_value *x = TN_NEW(p->g->arena, tn_relay_value);
    x->v = v;
    return x;
}

tn_relay_value *tn_relay_build_param(tn_relay_builder *b, const char *name, const char *type)
{
    parser *p = &b->p;
    const tn_type *t = NULL;
    read_text(p, type);
    uint32_t line = p->l.line;
    p->dims = DIM_PARAM;
    tn_status st = parse_type(p, &t);
    p->dims = DIM_USE;
    if (st != TN_OK || !at_end(p) || p->n_error)
        return NULL;
    if (!t) {
        (void)parse_error(p, line, 1, "relay-E053", "%%%s needs a type, as in %%%s: Tensor[(1, 3), float32]",
                          name, name);
        return NULL;
    }
    tn_node *n = tn_region_add_param(p->g, p->body, name, t);
    n->loc = parse_loc(p, line, 1, NULL);
    pval v = {.kind = PVAL_ONE, .v = tn_val(n), .line = line, .col = 1};
    parse_define(p, tn_intern(p->g->ctx, name), v);
    return keep(p, v);
}

tn_relay_value *tn_relay_build_constant(tn_relay_builder *b, tn_dtype t, int ndim, const int64_t dim[],
                                        const void *data)
{
    parser *p = &b->p;
    tn_node *n = tn_make_constant(p->g, p->body, NULL, t, ndim, dim, data, NULL);
    return n ? keep(p, (pval){.kind = PVAL_ONE, .v = tn_val(n), .line = p->l.line, .col = 1}) : NULL;
}

tn_relay_value *tn_relay_build(tn_relay_builder *b, const char *text, int n, tn_relay_value *const arg[])
{
    parser *p = &b->p;
    char name[16];
    pval v;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%d", i);
        parse_define(p, tn_intern(p->g->ctx, name), arg[i]->v);
    }
    read_text(p, text);
    if (parse_expr(p, &v) != TN_OK || !at_end(p) || p->n_error)
        return NULL;
    if (v.kind == PVAL_NONE)
        (void)parse_error(p, v.line, v.col, "relay-E033",
                          "`None` can only be an argument of a call, for an absent operand");
    if (v.kind == PVAL_POLY)
        parse_poly_refuse(p, &v);
    return v.kind == PVAL_BAD || v.kind == PVAL_NONE || v.kind == PVAL_POLY ? NULL : keep(p, v);
}

tn_status tn_relay_build_end(tn_relay_builder *b, int n, tn_relay_value *const result[])
{
    parser *p = &b->p;
    pval *item = TN_NEW_N(&p->scratch, pval, n);
    for (int i = 0; i < n; i++)
        item[i] = result[i]->v;
    pval all = n == 1
                   ? item[0]
                   : (pval){.kind = PVAL_LIST, .n = (uint32_t)n, .item = item, .line = p->l.line, .col = 1};
    p->l.failed = false;
    p->n_error = 0;
    parse_check_bound(p, p->l.line, 1);
    tn_status st = parse_results(p, p->body, &all, NULL, p->l.line, 1);
    parse_drop_opened(p, 0);
    return st == TN_OK && !p->n_error ? tn_relay_verify(p->g) : TN_FAIL;
}

const tn_type *tn_relay_build_type(const tn_relay_value *v)
{
    return v->v.kind == PVAL_ONE ? tn_value_type(v->v.v) : NULL;
}
