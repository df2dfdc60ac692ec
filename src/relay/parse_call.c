/* Calls and branches of Relay text: op(arguments, attribute=value), %f(arguments), @f(arguments),
 * if (...) { ... } else { ... }. */
#include "relay/parse.h"

#include "base/words.h"
#include "op/control/control.h"
#include "op/core/core.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* name= comes next: an attribute, not an argument. */
bool parse_at_attribute(const parser *p)
{
    tn_lexer ahead = p->l;
    if (ahead.tok != TN_TOK_IDENT)
        return false;
    tn_lex_next(&ahead);
    return tn_lex_is(&ahead, "=");
}

/* ---- attributes in the metadata section ---- */

bool parse_at_metadata(const parser *p)
{
    tn_lexer ahead = p->l;
    if (!tn_lex_is(&ahead, "meta"))
        return false;
    tn_lex_next(&ahead);
    if (!tn_lex_is(&ahead, "["))
        return false;
    tn_lex_next(&ahead);
    return ahead.tok == TN_TOK_IDENT && !tn_lex_is(&ahead, "relay.Constant");
}

tn_status parse_go_metadata(parser *p, const char *op, parse_place *out)
{
    const tn_relay_metadata *m = &p->given;
    const tn_lexer at = p->l;
    parse_next(p);
    TN_TRY(parse_expect(p, "["));
    const char *type = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
    parse_next(p);
    TN_TRY(parse_expect(p, "]"));
    TN_TRY(parse_expect(p, "["));
    int64_t k = p->l.i;
    if (p->l.tok != TN_TOK_INT || p->l.n_suffix)
        return tn_lex_fail(&p->l, "relay-E035", "expected the number of attributes");
    parse_next(p);
    TN_TRY(parse_expect(p, "]"));
    const char *why =
        "the text has no #[metadata] section that can be read; print the module with it, or write "
        "the attributes as name=value";
    const char *text = m->attributes ? m->attributes(m->user, type, k, op, &why) : NULL;
    if (!text) {
        p->l = at;
        return tn_lex_fail(&p->l, "relay-E091", "the attributes meta[%s][%lld] cannot be read: %s", type,
                           (long long)k, why);
    }
    tn_lexer to;
    tn_lex_init(&to, p->g->ctx, p->file, text, strlen(text), false);
    to.line = to.tok_line = at.tok_line;
    *out = parse_go(p, &to, p->file);
    return parse_expect(p, "(");
}

/* Skips one attribute value. */
tn_status parse_skip_value(parser *p)
{
    for (int depth = 0; p->l.tok != TN_TOK_END; parse_next(p))
        if (tn_lex_is(&p->l, "(") || tn_lex_is(&p->l, "["))
            depth++;
        else if (depth && (tn_lex_is(&p->l, ")") || tn_lex_is(&p->l, "]")))
            depth--;
        else if (!depth && (tn_lex_is(&p->l, ",") || tn_lex_is(&p->l, ")")))
            return TN_OK;
    return parse_expect(p, ")");
}

/* Without an axis, or with None, these work on all elements in a row, as in TVM. Our own texts always have one. */
static bool takes_all(const tn_op *op)
{
    return op && (op == &tn_op_argmax || op == &tn_op_argmin || op == &tn_op_take || op == &tn_op_cumsum ||
                  op == &tn_op_cumprod);
}

static tn_status parse_attribute(parser *p, const tn_op *op, void *attr, uint64_t *seen, pforeign *foreign)
{
    const tn_attr_field *f = op ? op->attr : NULL;
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    const char *name = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
    uint64_t now = 0;
    for (int i = 0; f && f[i].name; i++)
        if (!strcmp(f[i].name, name) && i < 64)
            now |= (uint64_t)1 << i;
    if (*seen & now)
        return tn_lex_fail(&p->l, "relay-E040", "attribute %s is given twice", name);
    parse_next(p);
    TN_TRY(parse_expect(p, "="));
    bool of_all = takes_all(op) && strcmp(name, "axis") == 0, none = of_all && tn_lex_is(&p->l, "None");
    *seen |= none ? 0 : now;
    if (none)
        return parse_skip_value(p);
    if (of_all && tn_lex_is(&p->l, "[") && (op == &tn_op_argmax || op == &tn_op_argmin)) {
        TN_TRY(parse_foreign_axes(p, foreign));
        *seen &= foreign->axes.n ? ~(uint64_t)0 : ~now; /* [] is all */
        return TN_OK;
    }
    if (parse_is_foreign(p, op, name))
        return parse_foreign(p, name, op->name, foreign);
    if (op && !f) {
        (void)parse_error(p, line, col, "relay-E041", "%s has no attributes, so it cannot have %s", op->name,
                          name);
    }
    if (!f)
        return parse_skip_value(p);
    tn_scope_fns scope = parse_dims_scope(p);
    bool binds = op->flags & TN_OP_BINDS;
    uint32_t known = p->g->n_symbol;
    p->dims = binds ? DIM_PARAM : p->dims;
    tn_status s = tn_attr_parse(&p->l, p->g->pool, &scope, f, name, attr);
    p->dims = binds ? DIM_USE : p->dims;
    for (uint32_t i = known; binds && i < p->g->n_symbol; i++)
        p->g->symbol[i].min = 0; /* what data gives may be nothing */
    for (; binds && s == TN_OK && f->name; f++) {
        const tn_dims *d = (const tn_dims *)(const void *)((const char *)attr + f->offset);
        for (uint32_t i = 0; f->kind == TN_A_DIMS && i < d->n; i++)
            if (d->at[i]->kind == TN_E_SYM)
                tn_strmap_put(&p->bound, d->at[i]->u.s, strlen(d->at[i]->u.s), 1);
    }
    return s;
}

/* Arguments and attributes up to and with the closing bracket. attr NULL: attributes are not allowed. */
static tn_status parse_args(parser *p, const tn_op *op, void *attr, bool attrs, pvals *args, uint64_t *seen,
                            pforeign *foreign)
{
    TN_TRY(parse_expect(p, "("));
    while (!tn_lex_is(&p->l, ")")) {
        pval v;
        if (args->n == PARSE_MAX_ARGS)
            return tn_lex_fail(&p->l, "relay-E042", "a call has at most %d arguments", PARSE_MAX_ARGS);
        if (attrs && parse_at_attribute(p)) {
            TN_TRY(parse_attribute(p, op, attr, seen, foreign));
        } else if (attrs && op && parse_at_metadata(p)) {
            parse_place behind;
            TN_TRY(parse_go_metadata(p, op->name, &behind));
            while (parse_at_attribute(p)) {
                TN_TRY(parse_attribute(p, op, attr, seen, foreign));
                (void)parse_accept(p, ",");
            }
            TN_TRY(parse_expect(p, ")"));
            parse_back(p, &behind);
        } else {
            TN_TRY(parse_expr(p, &v));
            tn_vec_push(args, v);
        }
        if (!parse_accept(p, ","))
            break;
    }
    return parse_expect(p, ")");
}

/* Appends the tensors of v: operators over any number of tensors take them one by one or in a tuple. */
static bool flatten(parser *p, const pval *v, tn_value **in, size_t *n, size_t cap)
{
    const tn_type *t = v->kind == PVAL_ONE ? tn_value_type(v->v) : NULL;
    if (v->kind == PVAL_LIST || v->kind == PVAL_NODE || (t && t->kind == TN_T_TUPLE)) {
        uint32_t m = t ? t->n : pval_n_items(v);
        bool made = t && tn_op_is(v->v.def, &tn_op_tuple);
        if (made)
            tn_vec_push(&p->opened, v->v.def);
        for (uint32_t i = 0; i < m && *n < cap; i++) {
            pval item = made ? (pval){.kind = PVAL_ONE, .v = tn_in(v->v.def, (int)i)}
                        : t  ? parse_project(p, v, i, v->line, v->col)
                             : pval_item(v, i);
            if (!parse_value(p, &item, &(*in)[(*n)++]))
                return false;
        }
        return true;
    }
    return parse_value(p, v, &(*in)[(*n)++]);
}

static size_t count_values(const pval *v)
{
    const tn_type *t = v->kind == PVAL_ONE ? tn_value_type(v->v) : NULL;
    return v->kind == PVAL_LIST || v->kind == PVAL_NODE ? pval_n_items(v)
           : t && t->kind == TN_T_TUPLE                 ? t->n
                                                        : 1;
}

/* The values of arguments in scratch memory; NULL: one of them is bad. */
tn_value *parse_arg_values(parser *p, const pvals *args, bool any_number, size_t *out_n)
{
    size_t cap = 0, n = 0;
    for (size_t i = 0; i < args->n; i++)
        cap += any_number ? count_values(&args->at[i]) : 1;
    tn_value *in = TN_NEW_N(&p->scratch, tn_value, cap);
    bool ok = cap <= PARSE_MAX_ARGS;
    for (size_t i = 0; i < args->n && cap <= PARSE_MAX_ARGS; i++) {
        ok = (any_number ? flatten(p, &args->at[i], &in, &n, cap) : parse_value(p, &args->at[i], &in[n++])) &&
             ok;
    }
    *out_n = n;
    return ok ? in : NULL;
}

/* Operators that have a notation of their own and are not called by name. */
static bool has_notation(const tn_op *op)
{
    return op == &tn_op_var || op == &tn_op_constant || op == &tn_op_fn || op == &tn_op_call ||
           op == &tn_op_tuple || op == &tn_op_tuple_get || op == &tn_op_if || op == &tn_op_loop ||
           op == &tn_op_global || op == &tn_op_self || op == &tn_op_construct || op == &tn_op_match;
}

bool parse_is_plain(const tn_op *op) { return !has_notation(op); }

static const tn_op *find_op(parser *p, const char *name, uint32_t line, uint32_t col)
{
    const tn_op *op = tn_ops_find(name);
    if (op && !has_notation(op))
        return op;
    tn_nearest near = {.word = name, .n = strlen(name)};
    for (size_t i = 0; i < tn_ops_count(); i++)
        if (!has_notation(tn_ops_at(i)))
            tn_nearest_offer(&near, tn_ops_at(i)->name);
    (void)parse_error(p, line, col, "relay-E043",
                      near.best ? "unknown operator %s; did you mean %s?" : "unknown operator %s", name,
                      near.best ? near.best : "");
    return NULL;
}

static tn_status required_given(parser *p, const tn_op *op, uint64_t seen, uint32_t line, uint32_t col)
{
    for (int i = 0; op->attr && op->attr[i].name && i < 64; i++) {
        if (!op->attr[i].def && !(seen >> i & 1)) {
            return parse_error(p, line, col, "relay-E044", "%s needs the attribute %s", op->name,
                               op->attr[i].name);
        }
    }
    return TN_OK;
}

tn_status parse_default_attr(parser *p, const tn_op *op, uint32_t line, uint32_t col, void **out)
{
    *out = op->attr ? tn_arena_alloc(&p->scratch, op->attr_size, 16) : NULL;
    if (op->attr)
        TN_TRY(tn_attr_init(p->g->pool, op->attr, op->attr_size, *out));
    return required_given(p, op, 0, line, col);
}

/* What attributes of TVM's say of the result: its shape and order, its type, or which of two it is. */
static pval foreign_result(parser *p, pval v, const pforeign *f)
{
    tn_cast_attr a = {f->dtype};
    tn_reshape_attr shape = {.newshape = f->shape, .allowzero = true};
    tn_transpose_attr order = {f->order};
    if (f->reshaped && v.kind == PVAL_ONE)
        v = parse_node(p, &tn_op_reshape, 1, &v.v, &shape, v.line, v.col);
    if (f->order.n && v.kind == PVAL_ONE)
        v = parse_node(p, &tn_op_transpose, 1, &v.v, &order, v.line, v.col);
    const tn_type *t = v.kind == PVAL_ONE ? tn_value_type(v.v) : NULL;
    if (f->ret_type && v.kind == PVAL_NODE && strcmp(f->ret_type, "both") != 0)
        return pval_item(&v, strcmp(f->ret_type, "indices") == 0);
    if (f->dtype.bits && t && t->kind == TN_T_TENSOR && !tn_dtype_eq(t->dtype, f->dtype))
        return parse_node(p, &tn_op_cast, 1, &v.v, &a, v.line, v.col);
    return v;
}

/* v as one dimension; kept: its dimensions stay as 1 in what comes out. */
static tn_value in_a_row(parser *p, tn_value v, bool kept, pforeign *f, uint32_t line, uint32_t col)
{
    const int64_t all = -1;
    const tn_type *t = v.def && kept ? tn_value_type(v) : NULL;
    if (t && t->kind == TN_T_TENSOR) {
        const tn_expr **one = TN_NEW_N(p->g->arena, const tn_expr *, t->n);
        for (int d = 0; d < t->n; d++)
            one[d] = tn_idx(p->g->pool, 1);
        f->reshaped = true;
        f->shape = tn_dims_make(p->g->arena, (uint32_t)t->n, one);
    }
    const tn_reshape_attr a = {.newshape = tn_make_dims(p->g, 1, &all)};
    pval row = parse_node(p, &tn_op_reshape, 1, &v, &a, line, col);
    return row.kind == PVAL_BAD ? (tn_value){0} : row.v;
}

/* The axis of an operator that takes all elements where none is given. */
static bool has_no_axis(const tn_op *op, uint64_t *seen)
{
    for (int i = 0; takes_all(op) && op->attr[i].name; i++)
        if (strcmp(op->attr[i].name, "axis") == 0 && !(*seen >> i & 1)) {
            *seen |= (uint64_t)1 << i;
            return true;
        }
    return false;
}

/* Dimensions that stay are those of the operand, which is a row then. */
static bool keeps_dimensions(const tn_op *op, const void *attr)
{
    return (op == &tn_op_argmax || op == &tn_op_argmin) && ((const tn_arg_attr *)attr)->keepdims;
}

pval parse_finished(parser *p, const tn_op *op, void *attr, size_t n, tn_value *in, pforeign *f,
                    uint32_t line, uint32_t col)
{
    if (!parse_adapt(p, &op, &attr, &n, &in, f, line, col))
        return pval_bad(line, col);
    return foreign_result(p, parse_laid_out(p, op, n, in, op->attr ? attr : NULL, line, col), f);
}

tn_status parse_op_call(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    const char *name = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
    const form *f = tn_ops_find(name) ? NULL : parse_form_find(p->given.forms, name);
    if (f)
        return parse_form(p, f, out);
    const tn_op *op = find_op(p, name, line, col);
    pforeign foreign = {.axis = 1};
    void *attr = op ? tn_arena_alloc(&p->scratch, op->attr_size, 16) : NULL;
    pvals args = {0};
    uint64_t seen = 0;
    size_t n;
    *out = pval_bad(line, col);
    if (op && op->attr)
        TN_TRY(tn_attr_init(p->g->pool, op->attr, op->attr_size, attr));
    parse_next(p);
    tn_status s = parse_args(p, op, attr, true, &args, &seen, &foreign);
    bool all = s == TN_OK && has_no_axis(op, &seen);
    bool form_of =
        s == TN_OK && op && op->nin >= 0 && args.n > (size_t)op->nin && parse_form_find(p->given.forms, name);
    if (s == TN_OK && op && (form_of || required_given(p, op, seen, line, col) == TN_OK)) {
        tn_value *in = parse_arg_values(p, &args, op->nin < 0, &n);
        form_of = form_of || (in && parse_is_form(p, op, n, in));
        const tn_value *never = in ? parse_never(op, (int)n, in) : NULL;
        bool kept = all && keeps_dimensions(op, attr);
        foreign.exclude = foreign.exclude && !all;
        if (in && n && all && !never && !(in[0] = in_a_row(p, in[0], kept, &foreign, line, col)).def)
            in = NULL; /* which was said */
        if (never)
            *out = (pval){.kind = PVAL_ONE, .v = *never, .line = line, .col = col};
        else if (in && form_of)
            *out = parse_form_values(p, op, attr, n, in, &foreign, line, col);
        else if (in)
            *out = parse_finished(p, op, attr, n, in, &foreign, line, col);
    }
    tn_vec_deinit(&args);
    return s;
}

/* The values of a call's arguments; those that are POLY have none yet. NULL: one of them is bad. */
static tn_value *call_values(parser *p, const pvals *args)
{
    tn_value *in = TN_NEW_N(&p->scratch, tn_value, args->n);
    bool ok = true;
    for (size_t i = 0; i < args->n; i++)
        if (args->at[i].kind == PVAL_POLY)
            in[i] = (tn_value){0};
        else
            ok = parse_value(p, &args->at[i], &in[i]) && ok;
    return ok ? in : NULL;
}

pval parse_call_value(parser *p, const pval *callee, size_t n, tn_value in[], const pval arg[])
{
    tn_value f;
    pval r = pval_bad(callee->line, callee->col);
    if (!parse_value(p, callee, &f))
        return r;
    if (parse_is_never(f))
        return *callee;
    const tn_type *t = f.def ? tn_value_type(f) : NULL;
    if (!t || t->kind != TN_T_FUNC) {
        (void)parse_error(p, callee->line, callee->col, "relay-E038", "only a function can be called");
        return r;
    }
    uint32_t known = (size_t)t->n - 1 < n ? (uint32_t)t->n - 1 : (uint32_t)n;
    if (!parse_poly_values(p, known, arg, t->field, in))
        return r;
    tn_value *all = TN_NEW_N(&p->scratch, tn_value, n + 1);
    all[0] = f;
    memcpy(all + 1, in, n * sizeof *in);
    return parse_node(p, &tn_op_call, (int)n + 1, all, NULL, callee->line, callee->col);
}

/* callee(arguments): a call of a closure. */
tn_status parse_apply(parser *p, pval *callee)
{
    pvals args = {0};
    tn_status s = parse_args(p, NULL, NULL, false, &args, NULL, NULL);
    tn_value *in = s == TN_OK ? call_values(p, &args) : NULL;
    pval r = pval_bad(callee->line, callee->col);
    if (in && callee->kind == PVAL_POLY)
        s = parse_poly_call(p, callee, (uint32_t)args.n, in, args.at, &r);
    else if (in)
        r = parse_call_value(p, callee, args.n, in, args.at);
    tn_vec_deinit(&args);
    *callee = r;
    return s;
}

static bool binds(const tn_region *r, const tn_expr *e)
{
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *t = r->param[i]->type[0];
        for (int d = 0; t->kind == TN_T_TENSOR && d < t->n; d++)
            if (t->dim[d] == e)
                return true;
    }
    return false;
}

typedef struct {
    const tn_region *r;
    bool known;
} scope_of;

static bool is_bound(const tn_expr *e, void *user)
{
    scope_of *s = user;
    s->known = s->known && (e->kind != TN_E_SYM || binds(s->r, e));
    return s->known;
}

/* The type of a result of r as a caller sees it: extents that only the function knows are any. */
static const tn_type *open_type(tn_graph *g, const tn_region *r, const tn_type *t)
{
    if (t->kind != TN_T_TENSOR)
        return t;
    const tn_expr **dim = TN_NEW_N(g->arena, const tn_expr *, t->n);
    for (int d = 0; d < t->n; d++) {
        scope_of s = {r, true};
        tn_each(t->dim[d], is_bound, &s);
        dim[d] = s.known ? t->dim[d] : tn_any_dim(g->pool);
    }
    return tn_type_tensor(g->pool, t->dtype, t->n, dim, NULL);
}

/* A function of the module as a value. */
static pval global_value(parser *p, const tn_function *f, uint32_t line, uint32_t col)
{
    const tn_region *r = f->body;
    const tn_type **param = TN_NEW_N(&p->scratch, const tn_type *, r->n_param), *result = f->result_type;
    for (uint32_t i = 0; i < r->n_param; i++)
        param[i] = r->param[i]->type[0];
    if (!result) {
        const tn_type **all = TN_NEW_N(&p->scratch, const tn_type *, r->n_result);
        for (uint32_t i = 0; i < r->n_result; i++)
            all[i] = open_type(p->g, r, tn_value_type((tn_value){r->result[i].def, r->result[i].out}));
        result = r->n_result == 1 ? all[0] : tn_type_tuple(p->g->pool, (int)r->n_result, all);
    }
    tn_global_attr a = {f->name};
    tn_strmap_put(&p->referred, f->name, strlen(f->name), 1);
    tn_node *n = tn_node_new(p->g, p->scope->region, NULL, &tn_op_global, 0, NULL, 1, &a,
                             parse_loc(p, line, col, NULL));
    n->type[0] = tn_type_func(p->g->pool, (int)r->n_param, param, result);
    return pval_one(n, line, col);
}

/* A call of a function that calls itself stays one. */
static pval call_global(parser *p, const tn_function *f, size_t n, const tn_value in[], uint32_t line,
                        uint32_t col)
{
    tn_value *all = TN_NEW_N(&p->scratch, tn_value, n + 1);
    all[0] = global_value(p, f, line, col).v;
    for (size_t i = 0; i < n; i++)
        all[i + 1] = in[i];
    return parse_node(p, &tn_op_call, (int)n + 1, all, NULL, line, col);
}

/* Its body is copied to the place of the call. */
static pval inline_global(parser *p, const tn_function *f, tn_value in[], uint32_t line, uint32_t col)
{
    uint32_t m = f->body->n_result;
    tn_value *res = TN_NEW_N(&p->scratch, tn_value, m);
    for (uint32_t i = 0; i < f->body->n_param; i++)
        if (parse_is_never(in[i]) && f->body->param[i]->type[0]->kind != TN_T_NONE) /* it is never called */
            return (pval){.kind = PVAL_ONE, .v = in[i], .line = line, .col = col};
    for (uint32_t i = 0; i < f->body->n_param; i++)
        if (in[i].def && !tn_type_is_handle(f->body->param[i]->type[0]))
            in[i] = tn_unboxed(p->g, in[i]);
    if (tn_relay_inline(p->g, f->body, p->scope->region, in, parse_loc(p, line, col, NULL), res) != TN_OK) {
        p->n_error++;
        return pval_bad(line, col);
    }
    pval *item = TN_NEW_N(&p->scratch, pval, m);
    for (uint32_t i = 0; i < m; i++)
        item[i] = (pval){.kind = PVAL_ONE, .v = res[i], .line = line, .col = col};
    return m == 1 ? item[0] : (pval){.kind = PVAL_LIST, .n = m, .item = item, .line = line, .col = col};
}

static tn_status call_closure(parser *p, pfunc *f, uint32_t n, tn_value in[], const pval arg[], pval *out)
{
    tn_node *node;
    TN_TRY(parse_closure(p, f, &node));
    if (!node)
        return TN_OK;
    pval callee = pval_one(node, out->line, out->col);
    *out = parse_call_value(p, &callee, n, in, arg);
    return TN_OK;
}

tn_status parse_call_global(parser *p, pfunc *f, uint32_t n, tn_value in[], const pval arg[], pval *out)
{
    uint32_t line = out->line, col = out->col;
    tn_function *made = NULL;
    if (f->generic)
        TN_TRY(parse_instance(p, f, n, in, arg, out, &f));
    if (f && f->closure)
        return call_closure(p, f, n, in, arg, out);
    if (f)
        TN_TRY(parse_function(p, f, line, col, &made));
    if (!made)
        return TN_OK;
    const tn_region *r = made->body;
    if (n != r->n_param) {
        (void)parse_error(p, line, col, "relay-E045", "@%s takes %u arguments, but %u are given", f->name,
                          r->n_param, (unsigned)n);
        return TN_OK;
    }
    const tn_type **want = TN_NEW_N(&p->scratch, const tn_type *, n);
    for (uint32_t i = 0; i < n; i++)
        want[i] = r->param[i]->type[0];
    if (parse_poly_values(p, n, arg, want, in))
        *out = f->recursive ? call_global(p, made, n, in, line, col) : inline_global(p, made, in, line, col);
    return TN_OK;
}

/* @f(arguments), or @f as a value */
tn_status parse_global_call(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_function *f = NULL;
    pvals args = {0};
    *out = pval_bad(line, col);
    parse_next(p);
    const char *name = tn_lex_ident(&p->l);
    if (!name)
        return TN_FAIL;
    pfunc *is = parse_global(p, name, line, col);
    if (is && !is->generic)
        TN_TRY(parse_function(p, is, line, col, &f));
    if (!tn_lex_is(&p->l, "(")) {
        if (is && is->generic)
            *out = (pval){.kind = PVAL_POLY, .poly = {.func = is}, .line = line, .col = col};
        if (f)
            *out = global_value(p, f, line, col);
        return TN_OK;
    }
    tn_status s = parse_args(p, NULL, NULL, false, &args, NULL, NULL);
    tn_value *in = s == TN_OK && is ? call_values(p, &args) : NULL;
    if (in)
        s = parse_call_global(p, is, (uint32_t)args.n, in, args.at, out);
    tn_vec_deinit(&args);
    return s;
}

/* ---- if ---- */

/* They have a value in it alone. */
void parse_forget_symbols(parser *p, size_t from)
{
    for (size_t i = from; i < p->bound.n; i++)
        p->bound.entry[i].value = 2;
}

/* { block } as a region that stands alone; *out_ok: its results are typed. */
static tn_status parse_branch(parser *p, tn_region *r, bool *out_ok)
{
    pscope scope;
    pval v;
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    TN_TRY(parse_expect(p, "{"));
    size_t n_bound = p->bound.n;
    parse_open(p, &scope, r);
    tn_status s = parse_block(p, "}", &v);
    *out_ok = s == TN_OK && parse_results(p, r, &v, NULL, line, col) == TN_OK;
    parse_close(p);
    parse_forget_symbols(p, n_bound);
    TN_TRY(s);
    return parse_expect(p, "}");
}

/* (condition, join=[...]) */
static tn_status parse_condition(parser *p, tn_if_attr *attr, tn_value *out, bool *out_ok)
{
    uint64_t seen = 0;
    pforeign none = {0};
    pval c;
    TN_TRY(parse_expect(p, "("));
    TN_TRY(parse_expr(p, &c));
    *out_ok = c.kind != PVAL_NONE && parse_value(p, &c, out);
    if (*out_ok)
        parse_decided(p->g, p->scope->region, TN_BOOL1, out);
    while (parse_accept(p, ","))
        TN_TRY(parse_at_attribute(p) ? parse_attribute(p, &tn_op_if, attr, &seen, &none)
                                     : parse_expect(p, "join"));
    return parse_expect(p, ")");
}

tn_status parse_if(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_graph *g = p->g;
    tn_if_attr attr = {{0}};
    tn_region *r[2] = {tn_region_new(g, NULL), tn_region_new(g, NULL)};
    tn_value c;
    bool ok, ok_then, ok_else;
    *out = pval_bad(line, col);
    parse_next(p);
    TN_TRY(parse_condition(p, &attr, &c, &ok));
    TN_TRY(parse_branch(p, r[0], &ok_then));
    TN_TRY(parse_expect(p, "else"));
    TN_TRY(parse_branch(p, r[1], &ok_else));
    if (!ok || !ok_then || !ok_else)
        return TN_OK;
    parse_agree(p, 2, r);
    int n_out = (int)r[tn_region_fails(r[0])]->n_result;
    tn_node *n =
        tn_node_new(g, p->scope->region, NULL, &tn_op_if, 1, &c, n_out, &attr, parse_loc(p, line, col, NULL));
    tn_node_hold(g, n, 2, r);
    if (tn_infer_node(g, n) == TN_OK)
        *out = pval_one(n, line, col);
    else
        p->n_error++;
    return TN_OK;
}

/* ---- loop ---- */

/* Whether the loop goes on: the first result of its body. */
static void decide_body(parser *p, tn_region *r)
{
    tn_value *v = TN_NEW_N(&p->scratch, tn_value, r->n_result);
    for (uint32_t i = 0; i < r->n_result; i++)
        v[i] = (tn_value){r->result[i].def, r->result[i].out};
    if (r->n_result > 1 && parse_is_never(v[0])) {
        parse_decided(p->g, p->scope->region, TN_BOOL1, &v[0]);
        tn_region_set_results(p->g, r, (int)r->n_result, v);
    }
}

tn_status parse_loop(parser *p, pval *out)
{
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_graph *g = p->g;
    tn_loop_attr attr = {{0}};
    tn_region *r = tn_region_new(g, NULL);
    uint64_t seen = 0;
    pforeign none = {0};
    pvals args = {0};
    pscope scope;
    pval v;
    size_t n_in = 0;
    bool ok = false;
    *out = pval_bad(line, col);
    parse_next(p);
    tn_status s = parse_args(p, &tn_op_loop, &attr, true, &args, &seen, &none);
    tn_value *in = s == TN_OK ? parse_arg_values(p, &args, false, &n_in) : NULL;
    tn_vec_deinit(&args);
    TN_TRY(s);
    TN_TRY(parse_expect(p, "("));
    size_t n_bound = p->bound.n;
    parse_open(p, &scope, r);
    s = parse_params(p, r, NULL, DIM_ANY);
    s = s == TN_OK ? parse_expect(p, "{") : s;
    s = s == TN_OK ? parse_block(p, "}", &v) : s;
    ok = s == TN_OK && parse_results(p, r, &v, NULL, line, col) == TN_OK && in;
    if (ok)
        decide_body(p, r);
    parse_close(p);
    parse_forget_symbols(p, n_bound);
    TN_TRY(s);
    TN_TRY(parse_expect(p, "}"));
    if (!ok)
        return TN_OK;
    for (size_t i = 0; i < n_in && i < 2; i++)
        parse_decided(p->g, p->scope->region, i ? TN_BOOL1 : TN_I64, &in[i]);
    tn_node *n = tn_node_new(g, p->scope->region, NULL, &tn_op_loop, (int)n_in, in, (int)r->n_result - 1,
                             &attr, parse_loc(p, line, col, NULL));
    tn_node_hold(g, n, 1, &r);
    if (tn_infer_node(g, n) == TN_OK)
        *out = pval_one(n, line, col);
    else
        p->n_error++;
    return TN_OK;
}
