/* Names and scopes; graphs that are attributes of nodes; the model's own functions.
 *
 * A name stands for one value in its scope. A graph inside the model sees the names around it and may give them another
 * meaning; when it ends, what it defined is forgotten. A function sees its parameters only. Both are converted anew at
 * every place of use, their nodes put where they are used; a function that calls itself is refused.
 */
#include "frontend/onnx/onnx.h"

#include <string.h>

enum { MAX_ERRORS = 200 };

/* ---- names ---- */

tn_status onnx_define(onnx_import *im, tn_pb_bytes name, onnx_value v, const tn_loc *loc)
{
    uint64_t at = ONNX_NO_VALUE;
    if (!tn_strmap_get(&im->names, (const char *)name.at, name.n, &at))
        at = ONNX_NO_VALUE;
    if (at != ONNX_NO_VALUE && at >= im->scope)
        return tn_error(im->g->ctx, "onnx-E014", loc, "two values are called \"%s\"; the model is damaged",
                        onnx_text(im, name));
    tn_vec_push(&im->undo, ((onnx_undo){name, at}));
    tn_strmap_put(&im->names, (const char *)name.at, name.n, im->value.n);
    tn_vec_push(&im->value, v);
    return TN_OK;
}

const onnx_value *onnx_lookup(const onnx_import *im, tn_pb_bytes name)
{
    uint64_t at;
    bool known = tn_strmap_get(&im->names, (const char *)name.at, name.n, &at) && at != ONNX_NO_VALUE;
    return known ? &im->value.at[at] : NULL;
}

const tn_loc *onnx_node_loc(onnx_import *im, const onnx_node *n, size_t number)
{
    const tn_pb_bytes *output = n->output.at;
    const char *name = n->name.n                    ? onnx_text(im, n->name)
                       : n->output.n && output[0].n ? onnx_text(im, output[0])
                                                    : tn_arena_printf(&im->scratch, "#%zu", number);
    if (im->frame)
        name = tn_arena_printf(&im->scratch, "%s/%s", im->frame->name, name);
    return onnx_make_loc(im, tn_intern(im->g->ctx, name), onnx_text(im, n->op_type));
}

/* ---- the model's own functions ---- */

static bool same(tn_pb_bytes a, tn_pb_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

const onnx_function *onnx_function_of(const onnx_import *im, const onnx_node *n)
{
    const onnx_function *f = im->model->functions.at;
    for (size_t i = 0; i < im->model->functions.n; i++)
        if (same(f[i].name, n->op_type) && same(f[i].overload, n->overload) &&
            (same(f[i].domain, n->domain) || (onnx_is_standard(f[i].domain) && onnx_is_standard(n->domain))))
            return &f[i];
    return NULL;
}

static const onnx_attr *attr_named(const tn_pb_array *list, tn_pb_bytes name)
{
    const onnx_attr *a = list->at;
    for (size_t i = 0; i < list->n; i++)
        if (same(a[i].name, name))
            return &a[i];
    return NULL;
}

/* A node of a function as its call means it: attributes that refer to the call's have their values, or are not given;
 * operands that the call does not give are not given. */
static const onnx_node *resolved(onnx_import *im, const onnx_node *n)
{
    const onnx_frame *f = im->frame;
    if (!f)
        return n;
    onnx_node *r = TN_NEW(&im->scratch, onnx_node);
    *r = *n;
    tn_pb_bytes *in = TN_NEW_N(&im->scratch, tn_pb_bytes, n->input.n);
    for (size_t i = 0; i < n->input.n; i++) {
        in[i] = ((const tn_pb_bytes *)n->input.at)[i];
        const onnx_value *v = in[i].n ? onnx_lookup(im, in[i]) : NULL;
        if (v && v->state == ONNX_ABSENT)
            in[i] = (tn_pb_bytes){0};
    }
    r->input.at = in;
    onnx_attr *a = TN_NEW_N(&im->scratch, onnx_attr, n->attribute.n);
    size_t k = 0;
    for (size_t i = 0; i < n->attribute.n; i++) {
        const onnx_attr *from = (const onnx_attr *)n->attribute.at + i;
        const onnx_attr *given = from;
        if (from->ref_attr_name.n) {
            given = attr_named(&f->call->attribute, from->ref_attr_name);
            given = given ? given : attr_named(&f->fn->attribute_proto, from->ref_attr_name);
        }
        if (!given)
            continue;
        a[k] = *given;
        a[k++].name = from->name;
    }
    r->attribute = (tn_pb_array){a, k};
    return r;
}

/* Names of a function, apart from those around its call. */
typedef struct {
    tn_strmap names;
    size_t undo, scope;
    onnx_frame *frame;
} outside;

static outside enter_function(onnx_import *im, onnx_frame *f)
{
    outside o = {im->names, im->undo.n, im->scope, im->frame};
    im->names = (tn_strmap){0};
    im->scope = im->value.n;
    im->frame = f;
    im->depth++;
    return o;
}

static void leave_function(onnx_import *im, const outside *o)
{
    tn_strmap_deinit(&im->names);
    im->names = o->names;
    im->undo.n = o->undo;
    im->scope = o->scope;
    im->frame = o->frame;
    im->depth--;
}

static bool under_way(const onnx_import *im, const onnx_function *fn)
{
    for (const onnx_frame *f = im->frame; f; f = f->up)
        if (f->fn == fn)
            return true;
    return false;
}

void onnx_call_function(onnx_conv *c, const onnx_function *fn)
{
    onnx_import *im = c->im;
    const tn_pb_bytes *in = fn->input.at, *out = fn->output.at, *given = c->node->input.at;
    if (under_way(im, fn) || im->depth >= ONNX_MAX_DEPTH)
        onnx_fail(c, "onnx-E028", "function %s calls itself, or functions are nested more than %d deep",
                  c->loc->op, ONNX_MAX_DEPTH);
    if (c->node->input.n > fn->input.n || c->node->output.n > fn->output.n)
        onnx_fail(c, "onnx-E017",
                  "the function takes %zu operands and gives %zu results; the model is damaged", fn->input.n,
                  fn->output.n);
    if (c->bad)
        return;
    onnx_value *arg = TN_NEW_N(&im->scratch, onnx_value, fn->input.n);
    for (size_t i = 0; i < fn->input.n; i++) {
        const onnx_value *v = i < c->node->input.n && given[i].n ? onnx_lookup(im, given[i]) : NULL;
        arg[i] = v ? *v : (onnx_value){.state = ONNX_ABSENT};
    }
    onnx_frame f = {im->frame, fn, c->node, c->loc->node};
    outside o = enter_function(im, &f);
    for (size_t i = 0; i < fn->input.n; i++)
        (void)onnx_define(im, in[i], arg[i], c->loc);
    onnx_convert_nodes(im, &fn->node);
    onnx_value *result = TN_NEW_N(&im->scratch, onnx_value, c->node->output.n);
    for (size_t i = 0; i < c->node->output.n; i++) {
        const onnx_value *v = onnx_lookup(im, out[i]);
        result[i] = v ? *v : (onnx_value){.state = ONNX_BAD};
        if (!v && !im->stopped)
            (void)tn_error(im->g->ctx, "onnx-E013", c->loc, "no node computes output \"%s\" of the function",
                           onnx_text(im, out[i]));
    }
    leave_function(im, &o);
    for (size_t i = 0; i < c->node->output.n; i++) {
        c->out[i] = result[i].v;
        c->bad = c->bad || result[i].state == ONNX_BAD;
    }
}

/* ---- looking up operators ---- */

static void check_function(onnx_import *im, const onnx_node *n, const onnx_function *fn, const tn_loc *loc)
{
    uint64_t seen;
    if (tn_map_get(&im->checked, tn_map_key(fn), &seen))
        return;
    tn_map_put(&im->checked, tn_map_key(fn), 1);
    onnx_frame f = {im->frame, fn, n, loc->node}, *had = im->frame;
    im->frame = &f;
    onnx_check_nodes(im, &fn->node);
    im->frame = had;
}

void onnx_check_nodes(onnx_import *im, const tn_pb_array *nodes)
{
    const onnx_node *n = nodes->at;
    if (im->depth >= ONNX_MAX_DEPTH) /* reported when it is converted */
        return;
    im->depth++;
    for (size_t i = 0; i < nodes->n && im->g->ctx->n_error - im->had_errors <= MAX_ERRORS; i++) {
        const tn_loc *loc = onnx_node_loc(im, &n[i], i);
        const onnx_function *fn = onnx_function_of(im, &n[i]);
        const onnx_attr *a = n[i].attribute.at;
        if (fn)
            check_function(im, &n[i], fn, loc);
        else
            (void)onnx_row_of(im, &n[i], loc, true);
        for (size_t k = 0; k < n[i].attribute.n; k++)
            if (a[k].g)
                onnx_check_nodes(im, &a[k].g->node);
    }
    im->depth--;
}

/* ---- converting ---- */

size_t onnx_memory(const onnx_import *im)
{
    return im->g->arena->used_bytes + im->g->ctx->arena.used_bytes + im->scratch.used_bytes +
           im->value.cap * sizeof *im->value.at + im->host.cap * sizeof *im->host.at;
}

static bool too_much(onnx_import *im, const tn_loc *loc)
{
    bool many = im->g->ctx->n_error - im->had_errors > MAX_ERRORS,
         large = onnx_memory(im) - im->memory_start > im->memory_limit;
    if (!im->stopped && many)
        (void)tn_error(im->g->ctx, "onnx-E025", onnx_make_loc(im, NULL, NULL),
                       "there are more than %d errors; only the first are reported", MAX_ERRORS);
    else if (!im->stopped && large)
        (void)tn_error(im->g->ctx, "onnx-E021", loc,
                       "reading the model takes more than %zu bytes of memory, too much for a file of its "
                       "size; it is damaged",
                       im->memory_limit);
    im->stopped = im->stopped || many || large;
    return im->stopped;
}

void onnx_convert_nodes(onnx_import *im, const tn_pb_array *nodes)
{
    const onnx_node *n = nodes->at;
    for (size_t i = 0; i < nodes->n; i++) {
        const tn_loc *loc = onnx_node_loc(im, &n[i], i);
        if (too_much(im, loc))
            return;
        onnx_convert(im, resolved(im, &n[i]), onnx_row_of(im, &n[i], loc, false), loc);
    }
}

const onnx_graph *onnx_attr_graph(onnx_conv *c, const char *name)
{
    onnx_attr_need(c, name);
    const onnx_attr *a = onnx_attr_find(c, name, ONNX_A_GRAPH);
    if (a && !a->g)
        onnx_fail(c, "onnx-E006", "attribute %s does not hold a graph; the model is damaged", name);
    return a ? a->g : NULL;
}

static void body_constants(onnx_import *im, const onnx_graph *g, const tn_loc *loc)
{
    const onnx_tensor *t = g->initializer.at;
    for (size_t i = 0; i < g->initializer.n; i++) {
        tn_node *n = onnx_constant(im, &t[i], onnx_text(im, t[i].name), loc);
        (void)onnx_define(im, t[i].name, (onnx_value){.v = {n, 0}, .state = n ? ONNX_OK : ONNX_BAD}, loc);
    }
}

/* Values of a graph's outputs; false: one of them failed. */
static bool body_results(onnx_import *im, const onnx_graph *g, const tn_loc *loc, tn_value out[])
{
    const onnx_value_info *o = g->output.at;
    bool ok = true;
    for (size_t i = 0; i < g->output.n; i++) {
        const onnx_value *v = onnx_lookup(im, o[i].name);
        if ((!v || v->state == ONNX_UNUSABLE) && !im->stopped)
            (void)tn_error(im->g->ctx, "onnx-E013", loc,
                           "no supported node computes output \"%s\" of its graph", onnx_text(im, o[i].name));
        ok = ok && v && v->state == ONNX_OK && v->v.def;
        out[i] = v ? v->v : (tn_value){0};
    }
    return ok;
}

bool onnx_body(onnx_conv *c, const onnx_graph *g, tn_region *r, uint32_t n_in, const tn_value in[],
               tn_value out[])
{
    onnx_import *im = c->im;
    const onnx_value_info *p = g->input.at;
    size_t undo = im->undo.n, scope = im->scope, had = im->g->ctx->n_error;
    tn_region *outer = im->r;
    if (im->depth >= ONNX_MAX_DEPTH || g->input.n != n_in) {
        onnx_fail(c, "onnx-E028",
                  "its graph has %zu inputs but %u are given, or graphs are nested more than %d deep",
                  g->input.n, (unsigned)n_in, ONNX_MAX_DEPTH);
        return false;
    }
    im->depth++;
    im->scope = im->value.n;
    im->r = r;
    for (uint32_t i = 0; i < n_in; i++)
        (void)onnx_define(im, p[i].name, (onnx_value){.v = in[i]}, c->loc);
    body_constants(im, g, c->loc);
    onnx_convert_nodes(im, &g->node);
    bool ok = body_results(im, g, c->loc, out) && im->g->ctx->n_error == had;
    while (im->undo.n > undo) {
        onnx_undo u = tn_vec_pop(&im->undo);
        tn_strmap_put(&im->names, (const char *)u.name.at, u.name.n, u.at);
    }
    im->r = outer;
    im->scope = scope;
    im->depth--;
    return ok;
}
