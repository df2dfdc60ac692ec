/* Graphs of a model: its nodes, graphs that are attributes of nodes, the model's own functions.
 *
 * A graph inside the model sees the names around it and may give them another meaning. A function sees its parameters
 * only. Both are converted anew at every place of use, their nodes put where they are used; a function that
 * calls itself is refused.
 */
#include "frontend/onnx/onnx.h"

static const tn_loc *node_loc(onnx_import *o, const onnx_node *n, size_t number)
{
    const tn_bytes *output = n->output.at;
    const char *name = n->name.n                    ? imp_text(&o->im, n->name)
                       : n->output.n && output[0].n ? imp_text(&o->im, output[0])
                                                    : tn_arena_printf(&o->im.scratch, "#%zu", number);
    if (o->frame)
        name = tn_arena_printf(&o->im.scratch, "%s/%s", o->frame->name, name);
    return imp_make_loc(&o->im, tn_intern(o->im.g->ctx, name), imp_text(&o->im, n->op_type));
}

/* ---- operators ---- */

bool onnx_is_standard(tn_bytes domain) { return domain.n == 0 || imp_is(domain, "ai.onnx"); }

/* The version of a domain where the node stands: in a function, what that imports; 1 if nothing tells. An opset newer
 * than all that is known reads as the newest: whether an operator is known is its row's to say. */
static int64_t opset_of(const onnx_import *o, tn_bytes domain)
{
    const tn_pb_array *list =
        o->frame && o->frame->fn->opset_import.n ? &o->frame->fn->opset_import : &o->model->opset_import;
    const onnx_opset *set = list->at;
    bool standard = onnx_is_standard(domain);
    int64_t version = 1;
    for (size_t i = 0; i < list->n; i++)
        if (standard ? onnx_is_standard(set[i].domain) : imp_same(set[i].domain, domain))
            version = set[i].version;
    return standard && version > ONNX_OPSET_MAX ? ONNX_OPSET_MAX : version;
}

static const imp_row *row_of(onnx_import *o, const onnx_node *n, const tn_loc *loc, bool report)
{
    tn_bytes domain = onnx_is_standard(n->domain) ? (tn_bytes){0} : n->domain;
    return imp_row_of(&o->im, domain, n->op_type, opset_of(o, n->domain), loc, report);
}

/* ---- the model's own functions ---- */

static const onnx_function *function_of(const onnx_import *o, const onnx_node *n)
{
    const onnx_function *f = o->model->functions.at;
    for (size_t i = 0; i < o->model->functions.n; i++)
        if (imp_same(f[i].name, n->op_type) && imp_same(f[i].overload, n->overload) &&
            (imp_same(f[i].domain, n->domain) ||
             (onnx_is_standard(f[i].domain) && onnx_is_standard(n->domain))))
            return &f[i];
    return NULL;
}

static const onnx_attr *attr_named(const tn_pb_array *list, tn_bytes name)
{
    const onnx_attr *a = list->at;
    for (size_t i = 0; i < list->n; i++)
        if (imp_same(a[i].name, name))
            return &a[i];
    return NULL;
}

/* A node of a function as its call means it: attributes that refer to the call's have their values, or are not given;
 * operands that the call does not give are not given. */
static const onnx_node *resolved(onnx_import *o, const onnx_node *n)
{
    const onnx_frame *f = o->frame;
    if (!f)
        return n;
    onnx_node *r = TN_NEW(&o->im.scratch, onnx_node);
    *r = *n;
    tn_bytes *in = TN_NEW_N(&o->im.scratch, tn_bytes, n->input.n);
    for (size_t i = 0; i < n->input.n; i++) {
        in[i] = ((const tn_bytes *)n->input.at)[i];
        const imp_value *v = in[i].n ? imp_lookup(&o->im, in[i]) : NULL;
        if (v && v->state == IMP_ABSENT)
            in[i] = (tn_bytes){0};
    }
    r->input.at = in;
    onnx_attr *a = TN_NEW_N(&o->im.scratch, onnx_attr, n->attribute.n);
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

static bool under_way(const onnx_import *o, const onnx_function *fn)
{
    for (const onnx_frame *f = o->frame; f; f = f->up)
        if (f->fn == fn)
            return true;
    return false;
}

/* Converts the function's nodes where `c` stands: its arguments in, its results out. */
static void function_body(onnx_import *o, imp_node *c, const onnx_function *fn, const onnx_node *call,
                          const imp_value arg[], imp_value result[])
{
    imp_model *im = &o->im;
    const tn_bytes *in = fn->input.at, *out = fn->output.at;
    onnx_frame f = {o->frame, fn, call, c->loc->node};
    imp_scope outside = imp_enter(im, true);
    o->frame = &f;
    for (size_t i = 0; i < fn->input.n; i++)
        (void)imp_define(im, in[i], arg[i], c->loc);
    onnx_convert_nodes(o, &fn->node, fn->output.n, out);
    for (size_t i = 0; i < c->n_out; i++) {
        const imp_value *v = imp_lookup(im, out[i]);
        result[i] = v ? *v : (imp_value){.state = IMP_BAD};
        if (!v && !im->stopped)
            (void)imp_error(im, IMP_UNKNOWN_NAME, c->loc, "no node computes output \"%s\" of the function",
                            imp_text(im, out[i]));
    }
    o->frame = f.up;
    imp_leave(im, &outside);
}

static void call_function(onnx_import *o, imp_node *c, const onnx_function *fn, const onnx_node *call)
{
    imp_model *im = &o->im;
    if (under_way(o, fn) || im->depth >= IMP_MAX_DEPTH)
        imp_fail(c, "onnx-E028", "function %s calls itself, or functions are nested more than %d deep",
                 c->loc->op, IMP_MAX_DEPTH);
    if (c->n_in > fn->input.n || c->n_out > fn->output.n)
        imp_fail(c, "onnx-E017",
                 "the function takes %zu operands and gives %zu results; the model is damaged", fn->input.n,
                 fn->output.n);
    if (c->bad)
        return;
    imp_value *arg = TN_NEW_N(&im->scratch, imp_value, fn->input.n);
    imp_value *result = TN_NEW_N(&im->scratch, imp_value, c->n_out);
    for (uint32_t i = 0; i < fn->input.n; i++) {
        const imp_value *v = imp_has(c, i) ? imp_lookup(im, c->in_name[i]) : NULL;
        arg[i] = v ? *v : (imp_value){.state = IMP_ABSENT};
    }
    function_body(o, c, fn, call, arg, result);
    for (size_t i = 0; i < c->n_out; i++) {
        c->out[i] = result[i].v;
        c->bad = c->bad || result[i].state == IMP_BAD;
    }
}

/* ---- regions ---- */

/* ---- looking up operators ---- */

static void check_function(onnx_import *o, const onnx_node *n, const onnx_function *fn, const tn_loc *loc)
{
    uint64_t seen;
    if (tn_map_get(&o->checked, tn_map_key(fn), &seen))
        return;
    tn_map_put(&o->checked, tn_map_key(fn), 1);
    onnx_frame f = {o->frame, fn, n, loc->node}, *had = o->frame;
    o->frame = &f;
    onnx_check_nodes(o, &fn->node);
    o->frame = had;
}

void onnx_check_nodes(onnx_import *o, const tn_pb_array *nodes)
{
    const onnx_node *n = nodes->at;
    if (o->im.depth >= IMP_MAX_DEPTH) /* reported when it is converted */
        return;
    o->im.depth++;
    for (size_t i = 0; i < nodes->n && !imp_too_many_errors(&o->im); i++) {
        const tn_loc *loc = node_loc(o, &n[i], i);
        const onnx_function *fn = function_of(o, &n[i]);
        const onnx_attr *a = n[i].attribute.at;
        if (fn)
            check_function(o, &n[i], fn, loc);
        else
            (void)row_of(o, &n[i], loc, true);
        for (size_t k = 0; k < n[i].attribute.n; k++)
            if (a[k].g)
                onnx_check_nodes(o, &a[k].g->node);
    }
    o->im.depth--;
}

/* ---- converting ---- */

static const imp_attr *attributes(imp_model *im, const onnx_node *n)
{
    imp_attr *to = TN_NEW_N(&im->scratch, imp_attr, n->attribute.n);
    const onnx_attr *a = n->attribute.at;
    for (size_t i = 0; i < n->attribute.n; i++, a++)
        to[i] = (imp_attr){.name = a->name,
                           .kind = a->type >= 0 && a->type <= IMP_A_TYPES ? (enum imp_attr_kind)a->type
                                                                          : IMP_A_UNKNOWN,
                           .i = a->i,
                           .f = a->f,
                           .text = a->s,
                           .ints = {a->ints.n, a->ints.at},
                           .floats = {a->floats.n, a->floats.at},
                           .texts = {a->strings.n, a->strings.at},
                           .tensor = a->t,
                           .sparse = a->sparse_tensor,
                           .graph = a->g};
    return to;
}

static void convert(onnx_import *o, const onnx_node *n, const imp_row *row, const tn_loc *loc)
{
    const onnx_function *fn = function_of(o, n);
    imp_node c = {.row = row,
                  .version = opset_of(o, n->domain),
                  .loc = loc,
                  .n_in = n->input.n,
                  .n_out = n->output.n,
                  .n_attr = n->attribute.n,
                  .in_name = n->input.at,
                  .out_name = n->output.at};
    if (!fn) {
        c.attr = attributes(&o->im, n);
        imp_convert(&o->im, &c);
        return;
    }
    if (imp_begin(&o->im, &c))
        call_function(o, &c, fn, n);
    imp_end(&c);
}

/* A node may take what is left for itself (onnx_body_and_rest). */
static void convert_rest(onnx_import *o, onnx_rest *rest)
{
    onnx_rest *outer = o->rest;
    o->rest = rest;
    while (rest->at < rest->n_step) {
        const onnx_step *s = &rest->step[rest->at++];
        const tn_loc *loc = node_loc(o, s->node, s->number);
        if (imp_too_much(&o->im, loc))
            break;
        convert(o, resolved(o, s->node), row_of(o, s->node, loc, false), loc);
    }
    o->rest = outer;
}

void onnx_convert_nodes(onnx_import *o, const tn_pb_array *nodes, size_t n_result, const tn_bytes result[])
{
    onnx_rest rest = onnx_rest_of(o, nodes, n_result, result);
    convert_rest(o, &rest);
}

const tn_bytes *onnx_result_names(onnx_import *o, const onnx_graph *g)
{
    const onnx_value_info *v = g->output.at;
    tn_bytes *name = TN_NEW_N(&o->im.scratch, tn_bytes, g->output.n);
    for (size_t i = 0; i < g->output.n; i++)
        name[i] = v[i].name;
    return name;
}

const onnx_graph *onnx_attr_graph(imp_node *c, const char *name)
{
    imp_attr_need(c, name);
    const imp_attr *a = imp_attr_find(c, name, IMP_A_GRAPH);
    if (a && !a->graph)
        imp_fail(c, "onnx-E006", "attribute %s does not hold a graph; the model is damaged", name);
    return a ? a->graph : NULL;
}

static void define_constant(imp_model *im, tn_bytes name, tn_node *n, const tn_loc *loc)
{
    (void)imp_define(im, name, (imp_value){.v = {n, 0}, .state = n ? IMP_OK : IMP_BAD}, loc);
}

void onnx_constants(imp_model *im, const onnx_graph *g, const tn_loc *loc)
{
    const onnx_tensor *t = g->initializer.at;
    const onnx_sparse *s = g->sparse_initializer.at;
    for (size_t i = 0; i < g->initializer.n; i++)
        define_constant(im, t[i].name, onnx_any_constant(im, &t[i], imp_text(im, t[i].name), loc), loc);
    for (size_t i = 0; i < g->sparse_initializer.n; i++)
        define_constant(im, onnx_sparse_name(&s[i]),
                        onnx_sparse_constant(im, &s[i], imp_text(im, onnx_sparse_name(&s[i])), loc), loc);
}

/* Values of a graph's outputs; false: one of them failed. */
static bool body_results(imp_model *im, size_t n, const tn_bytes name[], const tn_loc *loc, tn_value out[])
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        const imp_value *v = imp_lookup(im, name[i]);
        if ((!v || v->state == IMP_UNUSABLE) && !im->stopped)
            (void)tn_error(im->g->ctx, "onnx-E013", loc,
                           "no supported node computes output \"%s\" of its graph", imp_text(im, name[i]));
        ok = ok && v && v->state == IMP_OK && v->v.def;
        out[i] = v ? v->v : (tn_value){0};
    }
    return ok;
}

/* What is a part of c's graph has `rest` around it, else NULL. */
static bool body(imp_node *c, const onnx_graph *g, tn_region *r, uint32_t n_in, const tn_value in[],
                 onnx_rest *rest, tn_value out[])
{
    imp_model *im = c->im;
    const onnx_value_info *p = g->input.at;
    size_t had = im->g->ctx->n_error;
    tn_region *outer = im->r;
    if (im->depth >= IMP_MAX_DEPTH || g->input.n != n_in) {
        imp_fail(c, "onnx-E028",
                 "its graph has %zu inputs but %u are given, or graphs are nested more than %d deep",
                 g->input.n, (unsigned)n_in, IMP_MAX_DEPTH);
        return false;
    }
    imp_scope outside = imp_enter(im, false);
    im->r = r;
    for (uint32_t i = 0; i < n_in; i++)
        (void)imp_define(im, p[i].name, (imp_value){.v = in[i]}, c->loc);
    onnx_constants(im, g, c->loc);
    const tn_bytes *name = onnx_result_names(onnx_of(c), g);
    onnx_rest own = onnx_rest_of(onnx_of(c), &g->node, g->output.n, name);
    own.around = rest;
    own.in_place_of = c;
    convert_rest(onnx_of(c), &own);
    bool ok = (own.taken || body_results(im, g->output.n, name, c->loc, out)) && im->g->ctx->n_error == had;
    im->r = outer;
    imp_leave(im, &outside);
    return ok;
}

bool onnx_body(imp_node *c, const onnx_graph *g, tn_region *r, uint32_t n_in, const tn_value in[],
               tn_value out[])
{
    return body(c, g, r, n_in, in, NULL, out);
}

bool onnx_body_in_place(imp_node *c, const onnx_graph *g, tn_value out[], bool *taken)
{
    onnx_rest *rest = onnx_of(c)->rest;
    bool ok = body(c, g, c->im->r, 0, NULL, rest, out);
    *taken = rest->taken || rest->value;
    return ok;
}

/* What is left of the graphs around c in region r, each with the results of the one before; out: those of the last. A
 * node may have computed the results of some, or gone on with what is around (onnx_rest). own: c's results, NULL: they
 * are not computed yet. */
static bool rest_of(imp_node *c, const onnx_rest *rest, onnx_rest *left, const tn_value own[], tn_region *r,
                    tn_value out[])
{
    imp_model *im = c->im;
    tn_region *outer = im->r;
    size_t had = im->g->ctx->n_error;
    bool ok = true;
    for (; ok && left; rest = rest->around, left = left->around) {
        imp_scope outside = imp_enter(im, false);
        tn_value *next = left->around ? TN_NEW_N(&im->scratch, tn_value, rest->n_result) : out;
        im->r = r;
        for (size_t k = 0; left->value && k < left->n_result; k++)
            (void)imp_define(im, left->result[k], (imp_value){.v = left->value[k]}, c->loc);
        for (size_t i = 0; own && i < c->n_out && !left->value && !left->taken; i++)
            if (c->out_name[i].n)
                (void)imp_define(im, c->out_name[i], (imp_value){.v = own[i]}, c->loc);
        if (!left->value && !left->taken)
            convert_rest(onnx_of(c), left);
        ok = (left->taken || body_results(im, rest->n_result, rest->result, c->loc, next)) &&
             im->g->ctx->n_error == had;
        im->r = outer;
        imp_leave(im, &outside);
        c = rest->in_place_of;
        own = next;
    }
    return ok;
}

bool onnx_body_and_rest(imp_node *c, const onnx_graph *g, const onnx_rest *rest, tn_region *r, tn_value out[])
{
    tn_arena *scratch = &c->im->scratch;
    onnx_rest *left = NULL, **to = &left;
    for (const onnx_rest *from = rest; from; from = from->around, to = &(*to)->around)
        *to = tn_arena_copy(scratch, from, sizeof *from, _Alignof(onnx_rest));
    tn_value *own = g ? TN_NEW_N(scratch, tn_value, g->output.n) : NULL;
    return (!g || body(c, g, r, 0, NULL, left, own)) && rest_of(c, rest, left, own, r, out);
}
