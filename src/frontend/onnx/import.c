/* ONNX -> Relay: the walk over a model. Inputs become parameters of @main, initialisers constants, nodes calls.
 *
 * Nodes are taken in file order, which ONNX requires to be one of computation; each is converted by a row of the tables
 * of ops_*.c. All operators are looked up before the first is converted, and a failed node only silences
 * those that read its results, so one run reports everything that is wrong. What has no use in the end (shape
 * arithmetic that was worked out during import, above all) is removed. Linear in the size of the model, but
 * for the operators' own inference.
 */
#include "frontend/onnx/onnx.h"

#include "base/size.h"
#include "base/words.h"
#include "ir/lex.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FRESH = ONNX_MAX_SYMBOLS };

const tn_loc *onnx_make_loc(onnx_import *im, const char *node, const char *op)
{
    tn_loc *l = TN_NEW(im->g->arena, tn_loc);
    *l = (tn_loc){.file = im->file, .node = node, .op = op};
    return l;
}

/* ---- shapes of inputs ---- */

static bool symbol_taken(const onnx_import *im, const char *name)
{
    for (uint32_t i = 0; i < im->g->n_symbol; i++)
        if (strcmp(im->g->symbol[i].name, name) == 0)
            return true;
    return tn_lex_reserved(name);
}

/* A new symbol called `want` or, if that is taken, want_2, want_3, ...; NULL: too many, reported. */
static const tn_expr *new_symbol(onnx_import *im, const char *want, const tn_loc *loc)
{
    const char *name = want;
    if (im->g->n_symbol >= ONNX_MAX_SYMBOLS)
        return (void)tn_error(im->g->ctx, "onnx-E023", loc,
                              "the inputs have more than %d unknown dimensions; give them fixed shapes",
                              ONNX_MAX_SYMBOLS),
               NULL;
    for (int k = 2; symbol_taken(im, name); k++)
        name = tn_arena_printf(&im->scratch, "%s_%d", want, k);
    tn_symbol_info *symbol = tn_graph_symbol(im->g, name);
    if (im->options && tn_words_hold(im->options->from_zero, im->options->n_from_zero, name))
        symbol->min = 0;
    return tn_sym(im->g->pool, symbol->name);
}

static const tn_expr *fresh_symbol(onnx_import *im, const tn_loc *loc)
{
    char name[16];
    int k = 0;
    do
        snprintf(name, sizeof name, "d%d", k++);
    while (symbol_taken(im, name) && k < MAX_FRESH);
    return new_symbol(im, name, loc);
}

/* "batch size" -> batch_size */
static const char *identifier(onnx_import *im, tn_pb_bytes s)
{
    enum { LONGEST = 64 };
    char *id = tn_arena_alloc(&im->scratch, LONGEST + 2, 1), *at = id;
    for (size_t i = 0; i < s.n && i < LONGEST; i++) {
        char ch = (char)s.at[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_',
             digit = ch >= '0' && ch <= '9';
        if (i == 0 && !letter)
            *at++ = 'n';
        *at++ = letter || digit ? ch : '_';
    }
    return id;
}

/* Names that exporters write for want of one: "?", "None", "unk__17". */
static bool says_nothing(tn_pb_bytes s)
{
    static const char *const word[] = {"?", "*", "-1", "None", "none", "Any", "unknown", "unk", "dynamic"};
    size_t n = s.n;
    while (n && s.at[n - 1] >= '0' && s.at[n - 1] <= '9')
        n--;
    while (n > 3 && n < s.n && s.at[n - 1] == '_')
        n--; /* before a number alone */
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if ((strlen(word[i]) == n && memcmp(word[i], s.at, n) == 0) ||
            (strlen(word[i]) == s.n && memcmp(word[i], s.at, s.n) == 0))
            return true;
    return n == 0 || s.n == 0;
}

static tn_pb_bytes bytes_of(const char *text) { return (tn_pb_bytes){(const uint8_t *)text, strlen(text)}; }

/* The symbol of a dim_param, or the extent an override gave it. */
static const tn_expr *named_dim(onnx_import *im, tn_pb_bytes param, const tn_loc *loc)
{
    uint64_t at;
    if (tn_strmap_get(&im->symbols, (const char *)param.at, param.n, &at))
        return (const tn_expr *)(uintptr_t)at;
    const tn_expr *e =
        says_nothing(param) ? fresh_symbol(im, loc) : new_symbol(im, identifier(im, param), loc);
    tn_strmap_put(&im->symbols, (const char *)param.at, param.n, (uint64_t)(uintptr_t)e);
    return e;
}

static const tn_input_shape *override_of(const onnx_import *im, tn_pb_bytes name)
{
    const tn_import_options *o = im->options;
    for (size_t i = 0; o && i < o->n_shape; i++)
        if (strlen(o->shape[i].name) == name.n && memcmp(o->shape[i].name, name.at, name.n) == 0)
            return &o->shape[i];
    return NULL;
}

static const onnx_shape *shape_of(const onnx_value_info *v)
{
    return v->type && v->type->tensor_type ? v->type->tensor_type->shape : NULL;
}

/* Extent of a dimension as the model has it; -1: not told, -2: by name. */
static int64_t extent_of(const onnx_dim *d)
{
    const int64_t *v = d->dim_value.at;
    if (d->dim_value.n && v[d->dim_value.n - 1] >= 0)
        return v[d->dim_value.n - 1];
    return d->dim_param.n ? -2 : -1;
}

/* Dimension i; o: what is given for the input, or NULL. NULL: reported. */
static const tn_expr *input_dim(onnx_import *im, const onnx_dim *d, const tn_input_shape *o, size_t i,
                                const tn_loc *loc)
{
    const int64_t *override = o ? &o->dim[i] : NULL;
    int64_t v = override ? *override : extent_of(d);
    if (o && o->symbol && o->symbol[i])
        return named_dim(im, bytes_of(o->symbol[i]), loc);
    if (v >= 0 && !(override && v == 0))
        return tn_idx(im->g->pool, v);
    return !override && v == -2 ? named_dim(im, d->dim_param, loc) : fresh_symbol(im, loc);
}

/* A name that an override fixes, or names anew, is so everywhere. */
static void bind_names(onnx_import *im, const onnx_shape *s, const tn_input_shape *o)
{
    const onnx_dim *d = s->dim.at;
    for (size_t i = 0; i < s->dim.n && i < o->ndim; i++) {
        const tn_expr *e = NULL;
        if (extent_of(&d[i]) == -2 && o->symbol && o->symbol[i])
            e = named_dim(im, bytes_of(o->symbol[i]), onnx_make_loc(im, NULL, NULL));
        else if (extent_of(&d[i]) == -2 && o->dim[i] > 0)
            e = tn_idx(im->g->pool, o->dim[i]);
        if (e)
            tn_strmap_put(&im->symbols, (const char *)d[i].dim_param.at, d[i].dim_param.n,
                          (uint64_t)(uintptr_t)e);
    }
}

static tn_status input_dims(onnx_import *im, const onnx_value_info *v, const char *name, const tn_loc *loc,
                            int *rank, const tn_expr **dim)
{
    const onnx_shape *s = shape_of(v);
    const tn_input_shape *o = override_of(im, v->name);
    if (!s && !o)
        return tn_error(im->g->ctx, "onnx-E015", loc, "input \"%s\" has no shape; give one (--input-shapes)",
                        name);
    size_t n = s ? s->dim.n : o->ndim;
    if (o && o->ndim != n)
        return tn_error(im->g->ctx, "onnx-E019", loc,
                        "input \"%s\" has %zu dimensions, but the shape given for it has %u", name, n,
                        (unsigned)o->ndim);
    if (n > ONNX_MAX_RANK)
        return tn_error(im->g->ctx, "onnx-E022", loc,
                        "input \"%s\" has %zu dimensions; at most %d are supported", name, n, ONNX_MAX_RANK);
    static const onnx_dim unknown;
    for (size_t i = 0; i < n; i++) {
        dim[i] = input_dim(im, s ? (const onnx_dim *)s->dim.at + i : &unknown, o, i, loc);
        if (!dim[i])
            return TN_FAIL;
    }
    *rank = (int)n;
    return TN_OK;
}

static const char *not_a_tensor(const onnx_type_proto *t)
{
    return !t                         ? "of no type"
           : t->sequence_type.at      ? "a sequence"
           : t->map_type.at           ? "a map"
           : t->sparse_tensor_type.at ? "a sparse tensor"
           : t->optional_type.at      ? "an optional value"
                                      : "of an unknown type";
}

static tn_status add_input(onnx_import *im, const onnx_value_info *v)
{
    tn_graph *g = im->g;
    const char *name = onnx_text(im, v->name);
    const tn_loc *loc = onnx_make_loc(im, NULL, NULL);
    const tn_expr *dim[ONNX_MAX_RANK];
    int rank = 0;
    tn_dtype dtype;
    onnx_value value = {.state = ONNX_BAD};
    if (onnx_lookup(im, v->name)) /* initialiser: a constant, not an input */
        return TN_OK;
    TN_TRY(onnx_define(im, v->name, value, loc));
    onnx_value_info inner = *v; /* an optional value is always given: it is what it holds */
    if (v->type && v->type->optional_type.at) {
        onnx_optional_type optional = {0};
        const char *where;
        if (!tn_pb_read(&im->scratch, &onnx_optional_msg, v->type->optional_type.at, v->type->optional_type.n,
                        NULL, &optional, &where) &&
            optional.elem_type && optional.elem_type->tensor_type)
            inner.type = optional.elem_type;
        v = &inner;
    }
    if (!v->type || !v->type->tensor_type)
        return tn_error(g->ctx, "onnx-E015", loc, "input \"%s\" is %s; only tensors are supported", name,
                        not_a_tensor(v->type));
    if (!onnx_dtype(im, v->type->tensor_type->elem_type, tn_arena_printf(&im->scratch, "input \"%s\"", name),
                    loc, &dtype))
        return TN_FAIL;
    TN_TRY(input_dims(im, v, name, loc, &rank, dim));
    const tn_type *type = tn_type_tensor(g->pool, dtype, rank, dim, NULL);
    if (!tn_type_bytes(g->pool, type))
        return tn_error(g->ctx, "onnx-E022", loc, "input \"%s\" would be larger than 2^63 bytes", name);
    tn_node *n = tn_region_add_param(g, im->r, name, type);
    n->loc = onnx_make_loc(im, "graph input", NULL);
    tn_vec_last(&im->value) = (onnx_value){.v = tn_val(n)};
    return TN_OK;
}

static bool is_initializer(const tn_strmap *names, tn_pb_bytes name)
{
    uint64_t at;
    return tn_strmap_get(names, (const char *)name.at, name.n, &at);
}

/* Overrides must name inputs; the report lists those. */
static tn_status check_overrides(onnx_import *im, const tn_strmap *initializers)
{
    const onnx_value_info *v = im->model->graph->input.at;
    tn_status s = TN_OK;
    for (size_t i = 0; im->options && i < im->options->n_shape; i++) {
        const tn_input_shape *o = &im->options->shape[i];
        tn_buf known = {0};
        bool found = false;
        for (size_t k = 0; k < im->model->graph->input.n; k++) {
            if (is_initializer(initializers, v[k].name))
                continue;
            tn_buf_printf(&known, "%s%s", known.n ? ", " : "", onnx_text(im, v[k].name));
            if (strlen(o->name) == v[k].name.n && memcmp(o->name, v[k].name.at, v[k].name.n) == 0) {
                found = true;
                if (shape_of(&v[k]))
                    bind_names(im, shape_of(&v[k]), o);
            }
        }
        if (!found)
            s = tn_error(im->g->ctx, "onnx-E018", onnx_make_loc(im, NULL, NULL),
                         "the model has no input \"%s\"; its inputs are %s", o->name, tn_buf_cstr(&known));
        tn_buf_deinit(&known);
    }
    return s;
}

/* Parameters stand before constants; an initialiser that is listed as an input is a constant. */
static tn_status add_inputs(onnx_import *im)
{
    const onnx_graph *m = im->model->graph;
    const onnx_tensor *t = m->initializer.at;
    const onnx_value_info *v = m->input.at;
    tn_strmap names = {0};
    for (size_t i = 0; i < m->initializer.n; i++)
        tn_strmap_put(&names, (const char *)t[i].name.at, t[i].name.n, i);
    tn_status s = check_overrides(im, &names);
    if (m->sparse_initializer.n)
        s = tn_error(im->g->ctx, "onnx-E011", onnx_make_loc(im, NULL, NULL),
                     "sparse initializers are not supported; convert them to dense ones");
    for (size_t i = 0; i < m->input.n; i++)
        if (!is_initializer(&names, v[i].name) && add_input(im, &v[i]) != TN_OK)
            s = TN_FAIL;
    tn_strmap_deinit(&names);
    for (size_t i = 0; i < m->initializer.n; i++) {
        const tn_loc *loc = onnx_make_loc(im, NULL, NULL);
        tn_node *n = onnx_constant(im, &t[i], onnx_text(im, t[i].name), loc);
        onnx_value value = {.v = {n, 0}, .state = n ? ONNX_OK : ONNX_BAD};
        if (onnx_define(im, t[i].name, value, loc) != TN_OK || !n)
            s = TN_FAIL;
    }
    return s;
}

/* ---- nodes ---- */

bool onnx_is_standard(tn_pb_bytes domain)
{
    return domain.n == 0 || (domain.n == 7 && memcmp(domain.at, "ai.onnx", 7) == 0);
}

typedef struct table {
    const char *domain;
    const onnx_row *rows;
} table; /* domain NULL: ONNX's own */
static const table tables[] = {
    {NULL, onnx_rows_math},
    {NULL, onnx_rows_logic},
    {NULL, onnx_rows_nn},
    {NULL, onnx_rows_matrix},
    {NULL, onnx_rows_reduce},
    {NULL, onnx_rows_move},
    {NULL, onnx_rows_shape},
    {NULL, onnx_rows_quant},
    {NULL, onnx_rows_element},
    {NULL, onnx_rows_index},
    {NULL, onnx_rows_pattern},
    {NULL, onnx_rows_random},
    {NULL, onnx_rows_resize},
    {NULL, onnx_rows_norm},
    {NULL, onnx_rows_activation},
    {NULL, onnx_rows_image},
    {NULL, onnx_rows_loss},
    {NULL, onnx_rows_flow},
    {NULL, onnx_rows_dynamic},
    {NULL, onnx_rows_recurrent},
    {NULL, onnx_rows_attention},
    {NULL, onnx_rows_signal},
    {NULL, onnx_rows_sequence},
    {"com.microsoft", onnx_rows_microsoft},
    {"com.microsoft", onnx_rows_fused},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static bool in_domain(const table *t, tn_pb_bytes domain)
{
    if (!t->domain)
        return onnx_is_standard(domain);
    return strlen(t->domain) == domain.n && memcmp(t->domain, domain.at, domain.n) == 0;
}

/* The row of an operator at an opset; NULL: *out_other is a row of another opset, or NULL. */
static const onnx_row *find_row(tn_pb_bytes domain, tn_pb_bytes op, int64_t opset, const onnx_row **out_other)
{
    *out_other = NULL;
    for (size_t k = 0; k < N_TABLES; k++) {
        for (const onnx_row *r = in_domain(&tables[k], domain) ? tables[k].rows : NULL; r && r->op; r++) {
            if (strlen(r->op) != op.n || memcmp(r->op, op.at, op.n) != 0)
                continue;
            if (opset >= r->since && opset <= r->until)
                return r;
            *out_other = r;
        }
    }
    return NULL;
}

/* A name like one of ours is a slip of whoever wrote the model. */
static const char *advice_for(onnx_import *im, const char *op)
{
    tn_nearest s = {.word = op, .n = strlen(op)};
    for (size_t k = 0; k < N_TABLES; k++)
        for (const onnx_row *r = tables[k].domain ? NULL : tables[k].rows; r && r->op; r++)
            tn_nearest_offer(&s, r->op);
    return s.best ? tn_arena_printf(&im->scratch, "did the exporter mean %s?", s.best)
                  : "replace it by supported ones or export the model without it";
}

/* The version of a domain where the node stands: in a function, what that imports; 1 if nothing tells. An opset newer
 * than all that is known reads as the newest: whether an operator is known is its row's to say. */
static int64_t opset_of(const onnx_import *im, tn_pb_bytes domain)
{
    const tn_pb_array *list =
        im->frame && im->frame->fn->opset_import.n ? &im->frame->fn->opset_import : &im->model->opset_import;
    const onnx_opset *o = list->at;
    bool standard = onnx_is_standard(domain);
    int64_t version = 1;
    for (size_t i = 0; i < list->n; i++)
        if (standard ? onnx_is_standard(o[i].domain)
                     : o[i].domain.n == domain.n && memcmp(o[i].domain.at, domain.at, domain.n) == 0)
            version = o[i].version;
    return standard && version > ONNX_OPSET_MAX ? ONNX_OPSET_MAX : version;
}

const onnx_row *onnx_row_of(onnx_import *im, const onnx_node *n, const tn_loc *loc, bool report)
{
    const onnx_row *other;
    int64_t opset = opset_of(im, n->domain);
    const onnx_row *row = find_row(n->domain, n->op_type, opset, &other);
    if (row || !report)
        return row;
    if (other)
        (void)tn_error(im->g->ctx, "onnx-E005", loc,
                       "operator %s does not exist in opset %lld, only from %d to %d; the model is damaged",
                       loc->op, (long long)opset, other->since, other->until);
    else if (!onnx_is_standard(n->domain))
        (void)tn_error(im->g->ctx, "onnx-E004", loc,
                       "operator %s of domain %s is not supported; export the model with standard operators",
                       loc->op, onnx_text(im, n->domain));
    else
        (void)tn_error(im->g->ctx, "onnx-E004", loc, "operator %s (opset %lld) is not supported; %s", loc->op,
                       (long long)opset, advice_for(im, loc->op));
    return NULL;
}

/* false: an operand is unknown (reported) or its maker failed. */
static bool operands_ready(onnx_import *im, const onnx_node *n, const tn_loc *loc)
{
    const tn_pb_bytes *in = n->input.at;
    bool ready = true;
    for (size_t i = 0; i < n->input.n; i++) {
        const onnx_value *v = in[i].n ? onnx_lookup(im, in[i]) : NULL;
        if (in[i].n && !v)
            (void)tn_error(im->g->ctx, "onnx-E013", loc,
                           "operand \"%s\" is not an input, an initializer or a result of an earlier node; "
                           "the nodes are out of order or form a cycle, or the model is damaged",
                           onnx_text(im, in[i]));
        else if (v && v->state == ONNX_UNUSABLE)
            (void)tn_error(im->g->ctx, "onnx-E020", loc,
                           "operand \"%s\" is output %u of node %s (%s), which is not supported",
                           onnx_text(im, in[i]), (unsigned)v->output, v->loc->node, v->loc->op);
        ready = ready && (!in[i].n || (v && v->state == ONNX_OK));
    }
    return ready;
}

/* Anything in the node that its row or converter does not know. */
static void check_rest(onnx_conv *c)
{
    const onnx_attr *a = c->node->attribute.at;
    for (size_t i = 0; i < c->node->attribute.n && !c->bad; i++)
        if (i >= 64 || !(c->asked >> i & 1))
            onnx_fail(c, "onnx-E008",
                      "attribute %s is not supported for opset %lld; remove it, or export the model "
                      "with another opset",
                      onnx_text(c->im, a[i].name), (long long)c->opset);
    for (uint32_t i = (uint32_t)c->row->max_in; c->row->max_in >= 0 && i < onnx_n_in(c) && !c->bad; i++)
        if (onnx_has(c, i))
            onnx_fail(c, "onnx-E017", "operand %u is given, but the operator takes %d; the model is damaged",
                      (unsigned)i, c->row->max_in);
}

static void define_outputs(onnx_conv *c)
{
    const tn_pb_bytes *name = c->node->output.at;
    for (size_t i = 0; i < c->node->output.n; i++) {
        onnx_value v = {
            .v = c->out[i], .state = c->bad ? ONNX_BAD : ONNX_OK, .loc = c->loc, .output = (uint32_t)i};
        if (!name[i].n)
            continue;
        if (!c->bad && !v.v.def)
            v.state = ONNX_UNUSABLE;
        (void)onnx_define(c->im, name[i], v, c->loc);
    }
}

void onnx_convert(onnx_import *im, const onnx_node *n, const onnx_row *row, const tn_loc *loc)
{
    tn_graph *g = im->g;
    onnx_conv c = {.im = im,
                   .g = g,
                   .pool = g->pool,
                   .arena = g->arena,
                   .node = n,
                   .row = row,
                   .opset = opset_of(im, n->domain),
                   .loc = loc,
                   .bad = false};
    const onnx_function *fn = onnx_function_of(im, n);
    c.bad = !row && !fn;
    c.out = TN_NEW_N(&im->scratch, tn_value, n->output.n);
    if (!operands_ready(im, n, loc))
        c.bad = true;
    else if (fn)
        onnx_call_function(&c, fn);
    else if (row) {
        onnx_check_sequences(&c);
        if (!c.bad)
            row->convert(&c);
        check_rest(&c);
        TN_ASSERT(!c.bad || g->ctx->n_error > 0); /* who refuses says why */
    }
    define_outputs(&c);
}

static tn_status add_nodes(onnx_import *im)
{
    size_t had = im->g->ctx->n_error;
    im->had_errors = had;
    onnx_check_nodes(im, &im->model->graph->node);
    onnx_convert_nodes(im, &im->model->graph->node);
    return im->g->ctx->n_error == had ? TN_OK : TN_FAIL;
}

/* ---- results ---- */

static tn_status add_outputs(onnx_import *im)
{
    const onnx_graph *m = im->model->graph;
    const onnx_value_info *o = m->output.at;
    const tn_loc *loc = onnx_make_loc(im, NULL, NULL);
    tn_value *v = TN_NEW_N(&im->scratch, tn_value, m->output.n);
    const char **name = TN_NEW_N(im->g->arena, const char *, m->output.n);
    tn_status s = TN_OK;
    if (!m->output.n)
        return tn_error(im->g->ctx, "onnx-E002", onnx_make_loc(im, NULL, NULL), "the model has no outputs");
    for (size_t i = 0; i < m->output.n; i++) {
        const onnx_value *x = onnx_lookup(im, o[i].name);
        if (!x && im->stopped)
            s = TN_FAIL;
        else if (!x)
            s = tn_error(im->g->ctx, "onnx-E013", loc, "no node computes output \"%s\"; the model is damaged",
                         onnx_text(im, o[i].name));
        else if (x->state == ONNX_UNUSABLE)
            s = tn_error(im->g->ctx, "onnx-E020", loc,
                         "output \"%s\" is output %u of node %s (%s), which is not supported",
                         onnx_text(im, o[i].name), (unsigned)x->output, x->loc->node, x->loc->op);
        else if (x->state == ONNX_BAD)
            s = TN_FAIL;
        else if (onnx_is_sequence(x->v))
            s = tn_error(im->g->ctx, "onnx-E015", loc,
                         "output \"%s\" is a sequence or an empty optional value; only tensors are supported",
                         onnx_text(im, o[i].name));
        v[i] = x ? x->v : (tn_value){0};
        name[i] = onnx_text(im, o[i].name);
        if (v[i].def && !v[i].def->name)
            v[i].def->name = name[i];
    }
    if (s == TN_OK)
        tn_region_set_results(im->g, im->r, (int)m->output.n, v);
    im->g->result_name = name;
    im->g->n_result_name = (uint32_t)m->output.n;
    return s;
}

static void remove_unused(onnx_import *im, tn_region *r)
{
    for (tn_node *n = r->last, *before; n; n = before) {
        before = n->prev;
        bool used = tn_op_is(n, &tn_op_var) || (n->op->flags & (TN_OP_EFFECT | TN_OP_BINDS));
        for (int i = 0; i < n->nout; i++)
            used = used || n->users[i];
        for (int i = 0; i < n->nregion && used; i++) /* depth: bounded by the reader */
            remove_unused(im, n->region[i]);
        if (!used)
            tn_node_remove(im->g, n);
    }
}

/* ---- the model ---- */

static tn_status read_opset(onnx_import *im)
{
    const onnx_opset *o = im->model->opset_import.at;
    im->opset = 1; /* models of IR versions 1 and 2 do not tell */
    for (size_t i = 0; i < im->model->opset_import.n; i++)
        if (onnx_is_standard(o[i].domain))
            im->opset = o[i].version;
    if (im->opset > ONNX_OPSET_MAX)
        (void)tn_report(
            im->g->ctx, TN_WARNING, "onnx-W001", onnx_make_loc(im, NULL, NULL),
            "the model uses opset %lld; its operators are read as those of opset %d, the newest one known",
            (long long)im->opset, ONNX_OPSET_MAX);
    if (im->opset >= 1)
        return TN_OK;
    return tn_error(im->g->ctx, "onnx-E003", onnx_make_loc(im, NULL, NULL),
                    "the model uses opset %lld, which does not exist; it is damaged", (long long)im->opset);
}

/* Text of the model's own, which keeps its lines; what follows a NUL is not shown. */
static void add_metadata(onnx_import *im, const char *key, tn_pb_bytes value)
{
    tn_ctx *ctx = im->g->ctx;
    const char *text = tn_arena_strndup(&im->scratch, value.n ? (const char *)value.at : "", value.n);
    if (*text)
        tn_vec_push(&im->g->metadata, ((tn_metadata){tn_intern(ctx, key), tn_intern(ctx, text)}));
}

/* What the model says of itself. Keys of its own have a prefix, so that they never meet those of the format. */
static void read_metadata(onnx_import *im, const onnx_model *m)
{
    const onnx_string_pair *prop = m->metadata_props.at;
    add_metadata(im, "producer_name", m->producer_name);
    add_metadata(im, "producer_version", m->producer_version);
    add_metadata(im, "domain", m->domain);
    if (m->model_version) {
        char text[24];
        int n = snprintf(text, sizeof text, "%lld", (long long)m->model_version);
        add_metadata(im, "model_version", (tn_pb_bytes){(const uint8_t *)text, (size_t)n});
    }
    add_metadata(im, "doc_string", m->doc_string);
    for (size_t i = 0; i < m->metadata_props.n; i++)
        add_metadata(im, tn_arena_printf(&im->scratch, "metadata_props.%s", onnx_text(im, prop[i].key)),
                     prop[i].value);
}

static tn_status import(onnx_import *im, const tn_file *file)
{
    onnx_model *model = TN_NEW(&im->scratch, onnx_model);
    const char *where = "";
    const char *trouble = tn_pb_read(&im->scratch, &onnx_model_msg, file->at, file->n, NULL, model, &where);
    if (trouble)
        return tn_error(im->g->ctx, "onnx-E001", onnx_make_loc(im, NULL, NULL),
                        "this is not an ONNX model, or it is damaged: %s (in %s)", trouble, where);
    im->model = model;
    if (!model->graph)
        return tn_error(im->g->ctx, "onnx-E002", onnx_make_loc(im, NULL, NULL),
                        "the file has no graph; it is not an ONNX model, or it is damaged");
    TN_TRY(read_opset(im));
    read_metadata(im, model);
    im->r = tn_graph_add_function(im->g, "main")->body;
    im->memory_start = onnx_memory(im);
    tn_status inputs = add_inputs(im), nodes = add_nodes(im);
    if (nodes == TN_OK)
        nodes = add_outputs(im);
    if (inputs != TN_OK || nodes != TN_OK)
        return TN_FAIL;
    remove_unused(im, im->r);
    return TN_OK;
}

tn_status tn_import_onnx(tn_graph *g, const char *path, const tn_file *file, const tn_import_options *o)
{
    onnx_import im = {.g = g, .file = tn_intern(g->ctx, path), .options = o};
    if (!tn_size_mul(file->n, 2, &im.memory_limit) ||
        !tn_size_add(im.memory_limit, (size_t)64 << 20, &im.memory_limit))
        im.memory_limit = SIZE_MAX;
    tn_arena_init(&im.scratch);
    tn_status s = import(&im, file);
    tn_vec_deinit(&im.region);
    tn_vec_deinit(&im.value);
    tn_vec_deinit(&im.host);
    tn_vec_deinit(&im.undo);
    tn_vec_deinit(&im.data);
    tn_map_deinit(&im.checked);
    tn_map_deinit(&im.none);
    tn_strmap_deinit(&im.names);
    tn_strmap_deinit(&im.symbols);
    tn_arena_deinit(&im.scratch);
    return s;
}
