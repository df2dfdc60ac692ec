/* Writes a module of Relay as a graph of NNVM, as nnvm.graph.create(symbol).json() gives it: nodes in the order of
 * @main, inputs with their shapes and types, constants as variables whose values the parameters hold. Linear
 * in the size of the module. */
#include "frontend/mxnet/nnvm_write.h"

#include "op/rule.h"

#include <string.h>

enum { MOST_ERRORS = 20 };

/* ---- what is refused ---- */

static void vrefuse(nw *w, const tn_node *n, const char *fmt, va_list ap)
{
    const tn_loc none = {.op = n ? n->op->name : NULL};
    (void)tn_vreport(w->g->ctx, TN_ERROR, "nnvm-E001", n && n->loc ? n->loc : &none, fmt, ap);
}

static void refuse(nw *w, const tn_node *n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void refuse(nw *w, const tn_node *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vrefuse(w, n, fmt, ap);
    va_end(ap);
}

void nw_refuse(nw_call *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->bad)
        vrefuse(c->w, c->n, fmt, ap);
    c->bad = true;
    va_end(ap);
}

/* What NNVM does not have of this type; NULL: it has it. */
static const char *lacks(const tn_type *t)
{
    int number;
    int64_t extent;
    if (!t || t->kind != TN_T_TENSOR)
        return "values of other types than tensors";
    if (!t->n)
        return "tensors without dimensions";
    for (int d = 0; d < t->n; d++)
        if (!tn_is_int(t->dim[d], &extent))
            return "extents that only the run knows; give fixed ones with --input-shapes";
        else if (extent < 1)
            return "tensors without elements";
    if (!tn_dtype_is_bool(t->dtype) && !mx_nnvm_number(t->dtype, &number))
        return "tensors of this type";
    return NULL;
}

static bool has_type(nw *w, const tn_node *n, const tn_type *t, const char *what)
{
    tn_buf text = {0};
    const char *what_not = lacks(t);
    if (!what_not && tn_dtype_is_bool(t->dtype) && !n)
        what_not = "tensors of truth values";
    if (what_not) {
        tn_type_print(t, &text);
        refuse(w, n, "%s is %s, but NNVM has no %s", what, tn_buf_cstr(&text), what_not);
        tn_buf_deinit(&text);
    }
    return !what_not;
}

/* ---- the text ---- */

/* A name that no other node has: `want`, or with a number behind it. */
static const char *unique(nw *w, const char *want)
{
    uint64_t count = 0;
    const char *name = want;
    if (tn_strmap_get(&w->names, want, strlen(want), &count)) {
        do
            name = tn_arena_printf(w->arena, "%s%llu", want, (unsigned long long)count++);
        while (tn_strmap_get(&w->names, name, strlen(name), &(uint64_t){0}));
        tn_strmap_put(&w->names, want, strlen(want), count);
    }
    tn_strmap_put(&w->names, name, strlen(name), 0);
    return name;
}

/* attrs: members of a JSON object, as the nw_ functions below write them. */
static uint32_t add_node(nw *w, const char *op, const char *name, const tn_buf *attrs, uint32_t n_in,
                         const uint32_t in[], uint32_t n_out)
{
    tn_buf *b = &w->node;
    tn_buf_str(b, w->n_node ? ",\n    {\"op\": " : "    {\"op\": ");
    tn_buf_json(b, op);
    tn_buf_str(b, ", \"name\": ");
    tn_buf_json(b, name);
    if (attrs && attrs->n)
        tn_buf_printf(b, ", \"attrs\": {%s}", tn_buf_cstr(attrs));
    tn_buf_str(b, ", \"inputs\": [");
    for (uint32_t i = 0; i < n_in; i++)
        tn_buf_printf(b, "%s[%u, 0, 0]", i ? ", " : "", in[i]);
    tn_buf_str(b, "]}");
    tn_buf_printf(&w->row, ", %u", w->n_result += n_out);
    return w->n_node++;
}

static uint32_t add_variable(nw *w, const char *name, const tn_buf *attrs)
{
    tn_buf_printf(&w->arg, "%s%u", w->n_arg++ ? ", " : "", w->n_node);
    return add_node(w, "null", name, attrs, 0, NULL, 1);
}

static void add_key(nw_call *c, const char *name)
{
    tn_buf_str(&c->attrs, c->attrs.n ? ", " : "");
    tn_buf_json(&c->attrs, name);
    tn_buf_str(&c->attrs, ": ");
}

void nw_word(nw_call *c, const char *name, const char *value)
{
    add_key(c, name);
    tn_buf_json(&c->attrs, value);
}

void nw_int(nw_call *c, const char *name, int64_t value)
{
    add_key(c, name);
    tn_buf_printf(&c->attrs, "\"%lld\"", (long long)value);
}

void nw_real(nw_call *c, const char *name, double value)
{
    add_key(c, name);
    tn_buf_char(&c->attrs, '"');
    tn_buf_real(&c->attrs, value, 0);
    tn_buf_char(&c->attrs, '"');
}

void nw_bool(nw_call *c, const char *name, bool value) { nw_word(c, name, value ? "True" : "False"); }

void nw_tuple(nw_call *c, const char *name, size_t n, const int64_t at[])
{
    add_key(c, name);
    tn_buf_str(&c->attrs, "\"(");
    for (size_t i = 0; i < n; i++)
        tn_buf_printf(&c->attrs, "%s%lld", i ? ", " : "", (long long)at[i]);
    tn_buf_str(&c->attrs, n == 1 ? ",)\"" : ")\"");
}

/* conv2d0, or as the model calls the node. */
static const char *name_of(nw_call *c, const char *op, bool last)
{
    const char *given = c->n->loc ? c->n->loc->node : NULL;
    if (given && *given)
        return unique(c->w, last ? given : tn_arena_printf(c->w->arena, "%s_%s", given, op));
    const char *first = tn_arena_printf(c->w->arena, "%s0", op);
    uint64_t taken;
    if (!tn_strmap_get(&c->w->names, first, strlen(first), &taken)) {
        tn_strmap_put(&c->w->names, op, strlen(op), 1);
        tn_strmap_put(&c->w->names, first, strlen(first), 0);
        return first;
    }
    return unique(c->w, op);
}

uint32_t nw_node(nw_call *c, const char *op, bool last, uint32_t n_in, const uint32_t in[])
{
    uint32_t node = 0;
    if (!c->bad)
        node = add_node(c->w, op, name_of(c, op, last), &c->attrs, n_in, in, c->n_out);
    tn_buf_clear(&c->attrs);
    c->n_out = 1;
    return node;
}

/* ---- operands and results ---- */

int nw_rank(const nw_call *c, uint32_t i) { return tn_in_type(c->n, (int)i)->n; }

static int64_t extent_of(const tn_type *t, int d)
{
    int64_t v = 0;
    (void)tn_is_int(t->dim[d], &v);
    return v;
}

int64_t nw_extent(const nw_call *c, uint32_t i, int d) { return extent_of(tn_in_type(c->n, (int)i), d); }

int64_t nw_result_extent(const nw_call *c, int d) { return extent_of(c->n->type[0], d); }

int64_t nw_axis(int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

bool nw_numbers(nw_call *c, const char *name, tn_dims d, uint32_t n, int64_t out[])
{
    bool known = d.n >= n;
    for (uint32_t i = 0; i < n && known; i++)
        known = tn_is_int(d.at[i], &out[i]);
    if (!known)
        nw_refuse(c, "attribute %s has entries that only the run knows, which NNVM does not have", name);
    return known;
}

/* A constant becomes a variable where it is first needed. */
static nw_value constant(nw_call *c, tn_node *k)
{
    nw *w = c->w;
    const tn_type *t = k->type[0];
    if (!k->blob || !k->blob->at)
        nw_refuse(c,
                  "the values of a constant are not known; put the file of its parameters beside the text");
    else if (tn_dtype_is_bool(t->dtype))
        nw_refuse(c, "a constant of truth values is an operand, which NNVM does not have");
    else if (!has_type(w, c->n, t, "a constant"))
        c->bad = true;
    if (c->bad)
        return (nw_value){0};
    const char *name = unique(w, k->name && *k->name ? k->name : "param");
    w->value[k->id] = (nw_value){add_variable(w, name, NULL), t->dtype};
    w->known[k->id] = true;
    tn_vec_push(&w->param, name);
    tn_vec_push(&w->constant, k);
    return w->value[k->id];
}

nw_value nw_in_any(nw_call *c, uint32_t i)
{
    tn_value v = i < c->n->nin ? tn_in(c->n, (int)i) : (tn_value){0};
    if (c->bad)
        return (nw_value){0};
    if (v.def && v.out == 0 && c->w->known[v.def->id])
        return c->w->value[v.def->id];
    if (v.def && tn_op_is(v.def, &tn_op_constant))
        return constant(c, v.def);
    if (v.def && v.out == 0)
        c->bad = true; /* what it is made of was refused */
    else
        nw_refuse(c,
                  v.def ? "result %u of %s is an operand, which NNVM does not have"
                        : "operand %u of %s is not given",
                  v.def ? (unsigned)v.out : (unsigned)i, v.def ? v.def->op->name : c->n->op->name);
    return (nw_value){0};
}

uint32_t nw_in(nw_call *c, uint32_t i)
{
    const tn_type *t = i < c->n->nin ? tn_in_type(c->n, (int)i) : NULL;
    if (t && t->kind == TN_T_TENSOR && tn_dtype_is_bool(t->dtype))
        nw_refuse(c, "operand %u is of truth values, which NNVM does not have", (unsigned)i);
    return nw_in_any(c, i).node;
}

bool nw_in_number(nw_call *c, uint32_t i, double *out)
{
    const tn_type *t = tn_in_type(c->n, (int)i);
    return t && t->kind == TN_T_TENSOR && t->n == 0 && !tn_dtype_is_bool(t->dtype) &&
           tn_rule_uniform(tn_in(c->n, (int)i), out);
}

uint32_t nw_in_wide(nw_call *c, uint32_t i)
{
    double v;
    const int64_t one = 1;
    if (!nw_in_number(c, i, &v))
        return nw_in(c, i);
    nw_tuple(c, "shape", 1, &one);
    nw_word(c, "dtype", nw_dtype_name(c, tn_in_type(c->n, (int)i)->dtype));
    nw_real(c, "fill_value", v);
    return nw_node(c, "full", false, 0, NULL);
}

void nw_out_as(nw_call *c, uint32_t node, tn_dtype dtype)
{
    if (c->bad)
        return;
    c->w->value[c->n->id] = (nw_value){node, dtype};
    c->w->known[c->n->id] = true;
}

void nw_out(nw_call *c, uint32_t node) { nw_out_as(c, node, c->n->type[0]->dtype); }

const char *nw_dtype_name(nw_call *c, tn_dtype t)
{
    tn_buf b = {0};
    tn_dtype_print(t, false, &b);
    const char *name = tn_arena_strdup(c->w->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return name;
}

/* ---- the module ---- */

static void add_input(nw *w, const tn_node *v)
{
    nw_call c = {.w = w, .n = v, .n_out = 1};
    const tn_type *t = v->type[0];
    int64_t shape[UINT8_MAX];
    int number = 0;
    const char *what = tn_arena_printf(w->arena, "input \"%s\"", v->name);
    if (!has_type(w, NULL, t, what) || t->n > UINT8_MAX)
        return;
    for (int d = 0; d < t->n; d++)
        shape[d] = extent_of(t, d);
    nw_tuple(&c, "shape", t->n, shape);
    (void)mx_nnvm_number(t->dtype, &number);
    nw_int(&c, "dtype", number);
    tn_strmap_put(&w->names, v->name, strlen(v->name), 0);
    nw_out(&c, add_variable(w, v->name, &c.attrs));
    tn_buf_deinit(&c.attrs);
}

static const nw_row *row_of(const tn_node *n)
{
    for (const nw_row *r = nw_rows; r->relay; r++)
        if (tn_op_is(n, r->relay))
            return r;
    return NULL;
}

static bool is_used(const tn_node *n)
{
    for (uint32_t k = 0; k < n->nout; k++)
        if (tn_value_n_uses((tn_value){(tn_node *)(uintptr_t)n, k}))
            return true;
    return false;
}

static void add_call(nw *w, const tn_node *n)
{
    nw_call c = {.w = w, .n = n, .row = row_of(n), .n_out = 1};
    if (tn_op_is(n, &tn_op_constant) || !is_used(n))
        return;
    if (!c.row) {
        refuse(w, n, "operator %s has no counterpart in NNVM", n->op->name);
        return;
    }
    for (uint32_t k = 0; k < n->nout; k++)
        if (!has_type(w, n, n->type[k], "the result"))
            return;
    c.row->write(&c);
    tn_buf_deinit(&c.attrs);
}

/* Results are those of operators: NNVM takes a graph of variables alone for none. */
static void add_head(nw *w, const tn_use *r, tn_buf *heads)
{
    tn_node *n = r->def;
    nw_call c = {.w = w, .n = n, .n_out = 1};
    if (r->out)
        refuse(w, n, "result %u of %s is one of the module, which NNVM does not have", (unsigned)r->out,
               n->op->name);
    if (r->out || (!w->known[n->id] && !tn_op_is(n, &tn_op_constant)))
        return; /* refused */
    if (tn_dtype_is_bool(n->type[0]->dtype)) {
        refuse(w, n, "the result is of truth values, which NNVM does not have; cast it");
        return;
    }
    nw_value v = w->known[n->id] ? w->value[n->id] : constant(&c, n);
    if (tn_op_is(n, &tn_op_var) || tn_op_is(n, &tn_op_constant))
        v.node = nw_node(&c, "copy", false, 1, &v.node);
    tn_buf_printf(heads, "%s[%u, 0, 0]", heads->n ? ", " : "", v.node);
}

static void write_all(nw *w, tn_buf *out)
{
    const tn_region *body = tn_graph_function(w->g, "main")->body;
    tn_buf heads = {0};
    const size_t had = w->g->ctx->n_error;
    if (w->g->state.n)
        refuse(w, NULL, "the module keeps states from one run to the next, which NNVM does not have");
    for (uint32_t i = 0; i < body->n_param; i++)
        add_input(w, body->param[i]);
    for (const tn_node *n = body->first; n && w->g->ctx->n_error < had + MOST_ERRORS; n = n->next)
        if (!tn_op_is(n, &tn_op_var))
            add_call(w, n);
    for (uint32_t i = 0; i < body->n_result; i++)
        add_head(w, &body->result[i], &heads);
    tn_buf_printf(out,
                  "{\n  \"nodes\": [\n%s\n  ],\n  \"arg_nodes\": [%s],\n  \"node_row_ptr\": [0%s],\n  "
                  "\"heads\": [%s]\n}\n",
                  tn_buf_cstr(&w->node), tn_buf_cstr(&w->arg), tn_buf_cstr(&w->row), tn_buf_cstr(&heads));
    tn_buf_deinit(&heads);
}

tn_status tn_export_nnvm(tn_graph *g, tn_arena *a, tn_buf *out, tn_export_params *out_params)
{
    const size_t said = g->ctx->n_diag, had = g->ctx->n_error;
    nw w = {.g = g, .arena = a};
    w.value = TN_NEW_N(a, nw_value, g->n_node);
    w.known = TN_NEW_N(a, bool, g->n_node);
    write_all(&w, out);
    *out_params = (tn_export_params){
        (uint32_t)w.param.n, tn_arena_copy(a, w.param.at, w.param.n * sizeof *w.param.at, 8),
        tn_arena_copy(a, w.constant.at, w.constant.n * sizeof *w.constant.at, 8)};
    tn_diag_advise(g->ctx, said, "write the module as Relay text instead (--format text)");
    tn_vec_deinit(&w.param);
    tn_vec_deinit(&w.constant);
    tn_strmap_deinit(&w.names);
    tn_buf_deinit(&w.node);
    tn_buf_deinit(&w.arg);
    tn_buf_deinit(&w.row);
    return g->ctx->n_error > had ? TN_FAIL : TN_OK;
}
