/* TensorFlow -> Relay: a frozen graph, a SavedModel with its checkpoint, or a .meta file with the checkpoint beside it.
 *
 * Placeholders that the results need become parameters of @main, in the order of the file. The results are those of the
 * model's signature; a graph without one gives what no other node reads. */
#include "frontend/tensorflow/tf.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

/* ---- which kind of file it is ---- */

static bool is_word(tn_bytes s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.at[i] | 32) >= 'a' && (s.at[i] | 32) <= 'z') && !(s.at[i] >= '0' && s.at[i] <= '9') &&
            s.at[i] != '_' && s.at[i] != '>')
            return false;
    return s.n > 0;
}

/* NodeDef begins with its name and its operator. */
static bool is_node(tn_bytes b)
{
    tn_pb r = tn_pb_open(b.at, b.n);
    return tn_pb_next(&r) && r.field == 1 && r.wire == TN_PB_LEN && tn_pb_next(&r) && r.field == 2 &&
           r.wire == TN_PB_LEN && is_word(r.bytes);
}

enum { LOOK = 256 }; /* fields at most */

static bool is_graph(tn_bytes b)
{
    tn_pb r = tn_pb_open(b.at, b.n);
    bool node = false;
    for (int i = 0; i < LOOK && tn_pb_next(&r); i++) {
        if (r.field < 1 || r.field > 5 || (r.field == 1 && (r.wire != TN_PB_LEN || !is_node(r.bytes))))
            return false;
        node = node || r.field == 1;
    }
    return node && !r.error;
}

/* Message `of` has a part `field` that is a graph, or a part of it that has. */
static bool holds_graph(tn_bytes b, int depth)
{
    tn_pb r = tn_pb_open(b.at, b.n);
    for (int i = 0; i < LOOK && tn_pb_next(&r); i++)
        if (r.field == 2 && r.wire == TN_PB_LEN)
            return depth ? holds_graph(r.bytes, depth - 1) : is_graph(r.bytes);
    return false;
}

enum kind { GRAPH, META_GRAPH, SAVED_MODEL, NO_KIND };

static enum kind kind_of(const uint8_t *at, size_t n)
{
    tn_bytes b = {at, n};
    tn_pb r = tn_pb_open(at, n);
    if (is_graph(b))
        return GRAPH;
    if (tn_pb_next(&r) && r.field == 1 && r.wire == TN_PB_VARINT)
        return holds_graph(b, 1) ? SAVED_MODEL : NO_KIND;
    return holds_graph(b, 0) ? META_GRAPH : NO_KIND;
}

/* The first field of a text, which must be one that a model begins with. */
static bool is_text(const uint8_t *at, size_t n)
{
    static const char *const first[] = {
        "node",          "library",   "versions",   "saved_model_schema_version",
        "meta_info_def", "graph_def", "meta_graphs"};
    const uint8_t *end = at + n;
    for (bool comment = false; at < end && (comment || strchr("# \n\r\t", *at)); at++) {
        if (!*at)
            return false;
        comment = *at == '#' || (comment && *at != '\n');
    }
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        size_t k = strlen(first[i]), left = (size_t)(end - at);
        if (left > k + 1 && memcmp(at, first[i], k) == 0 && (at[k] == ' ' || at[k] == '{' || at[k] == ':'))
            return true;
    }
    return false;
}

bool tn_sniff_tensorflow(const uint8_t *at, size_t n) { return is_text(at, n) || kind_of(at, n) != NO_KIND; }

/* ---- what a model computes ---- */

typedef struct port { /* an input or output of the model */
    tn_bytes name;    /* of the value in the graph */
    tn_bytes key;     /* the signature's name; .n 0: there is none */
} port;

typedef struct ports {
    port *at;
    size_t n;
} ports;

static int by_key(const void *a, const void *b)
{
    const port *p = a, *q = b;
    size_t n = p->key.n < q->key.n ? p->key.n : q->key.n;
    int order = n ? memcmp(p->key.at, q->key.at, n) : 0;
    return order ? order : (p->key.n > q->key.n) - (p->key.n < q->key.n);
}

static const char *signature_names(tf_import *t, const tf_meta_graph *m)
{
    const tf_named_signature *s = m ? m->signature_def.at : NULL;
    tn_buf names = {0};
    for (size_t i = 0; m && i < m->signature_def.n; i++)
        tn_buf_printf(&names, "%s%s", i ? ", " : "", imp_text(&t->im, s[i].key));
    const char *all = tn_arena_strdup(&t->im.scratch, tn_buf_cstr(&names));
    tn_buf_deinit(&names);
    return all;
}

/* Reports that a signature does not exist, and names those that do. */
static tn_status no_signature(tf_import *t, const tf_meta_graph *m, const char *name)
{
    const char *names = signature_names(t, m);
    return tn_error(t->im.g->ctx, "tensorflow-E060", imp_make_loc(&t->im, NULL, NULL),
                    "the model has no signature \"%s\"; it has %s", name, *names ? names : "none");
}

static void tell(tf_import *t, const char *key, const char *value)
{
    tn_ctx *ctx = t->im.g->ctx;
    if (*value)
        tn_vec_push(&t->im.g->metadata, ((tn_metadata){tn_intern(ctx, key), tn_intern(ctx, value)}));
}

static void tell_signatures(tf_import *t, const tf_meta_graph *m, const tf_signature *chosen)
{
    const tf_named_signature *s = m ? m->signature_def.at : NULL;
    tell(t, "signatures", signature_names(t, m));
    for (size_t i = 0; m && i < m->signature_def.n; i++)
        if (s[i].value == chosen && chosen)
            tell(t, "signature", imp_text(&t->im, s[i].key));
}

/* The signature of this name; NULL: the default one. */
static const tf_signature *signature_of(const tf_meta_graph *m, const char *name)
{
    const tf_named_signature *s = m ? m->signature_def.at : NULL;
    const tf_signature *first = NULL;
    for (size_t i = 0; m && i < m->signature_def.n; i++) {
        if (imp_is(s[i].key, name ? name : "serving_default"))
            return s[i].value;
        if (!first && !name && s[i].value && s[i].value->outputs.n &&
            !(s[i].key.n > 1 && s[i].key.at[0] == '_'))
            first = s[i].value;
    }
    return first;
}

/* In the order of their names, as protobuf's maps have none. */
static ports signature_ports(tf_import *t, const tn_pb_array *list)
{
    const tf_named_info *info = list->at;
    ports p = {TN_NEW_N(&t->im.scratch, port, list->n), 0};
    for (size_t i = 0; i < list->n; i++)
        if (info[i].value && info[i].value->name.n)
            p.at[p.n++] = (port){tf_value_name(t, t->graph, info[i].value->name, false), info[i].key};
    qsort(p.at, p.n, sizeof *p.at, by_key);
    return p;
}

/* Nodes that compute nothing for a reader. */
static bool is_silent(const tf_node *n)
{
    static const char *const op[] = {"Const",
                                     "NoOp",
                                     "Assert",
                                     "Placeholder",
                                     "PlaceholderWithDefault",
                                     "Save",
                                     "SaveSlices",
                                     "SaveV2",
                                     "Restore",
                                     "RestoreSlice",
                                     "RestoreV2",
                                     "Assign",
                                     "VarHandleOp",
                                     "VariableV2",
                                     "Variable",
                                     "ReadVariableOp",
                                     "Identity",
                                     "MergeV2Checkpoints",
                                     "ShardedFilename",
                                     "ShardedFilespec",
                                     "IsVariableInitialized",
                                     "VarIsInitializedOp",
                                     "AssignVariableOp",
                                     "AssignAddVariableOp",
                                     "AssignSubVariableOp",
                                     "AssignAdd",
                                     "AssignSub"};
    size_t k = sizeof op / sizeof *op;
    bool input = n->n_in > 0;
    for (size_t i = 0; i < k; i++)
        if (tf_is_op(n->def, op[i]))
            return strcmp(op[i], "Identity") != 0 || !input;
    return n->n_out == 0;
}

static bool is_any(const tf_node_def *n, size_t count, const char *const op[])
{
    for (size_t i = 0; i < count; i++)
        if (tf_is_op(n, op[i]))
            return true;
    return false;
}

/* Does node n run after saving, and give nothing but the name of the checkpoint? */
static bool says_saved(const tf_graph *g, const tf_node *n, const bool after[])
{
    static const char *const pass[] = {"Identity", "NoOp"};
    static const char *const name[] = {"Const", "Placeholder", "PlaceholderWithDefault", "ShardedFilename"};
    bool is = false;
    for (size_t k = 0; k < n->n_in + n->n_control; k++) {
        int64_t before = k < n->n_in ? n->from[k] : n->control[k - n->n_in];
        is = is || (before != TF_NONE && after[before]);
        if (k < n->n_in && (before == TF_NONE || (!after[before] && !is_any(g->node[before].def, 4, name))))
            return false;
    }
    return is && is_any(n->def, 2, pass);
}

/* The nodes that save a checkpoint, and those by which a Saver says that it is done. */
static const bool *saver_nodes(tf_import *t)
{
    enum { PASSES = 8 }; /* more than any Saver has nodes in a row */
    static const char *const saves[] = {"Save", "SaveSlices", "SaveV2", "MergeV2Checkpoints"};
    tf_graph *g = t->graph;
    bool *after = TN_NEW_N(&t->im.scratch, bool, g->n), more = true;
    for (size_t i = 0; i < g->n; i++)
        after[i] = is_any(g->node[i].def, sizeof saves / sizeof *saves, saves);
    for (int pass = 0; pass < PASSES && more; pass++) {
        more = false;
        for (size_t i = 0; i < g->n; i++)
            if (!after[i] && says_saved(g, &g->node[i], after))
                more = after[i] = true;
    }
    return after;
}

static bool leaves_loop(const tf_node_def *n) { return tf_is_op(n, "Exit") || tf_is_op(n, "RefExit"); }

/* Nodes of loops, in which no result can be: some are there for others to wait for. */
static const bool *loop_nodes(tf_import *t)
{
    tf_graph *g = t->graph;
    bool *in = TN_NEW_N(&t->im.scratch, bool, g->n);
    for (size_t i = 0; i < g->n; i++)
        in[i] = tf_is_op(g->node[i].def, "Enter") || tf_is_op(g->node[i].def, "RefEnter");
    tf_spread(t, g, in, leaves_loop);
    return in;
}

/* A conditional of TensorFlow 1 has two: the nodes of a branch wait for one, which has a value only where it runs. */
static bool is_pivot(const tf_graph *g, const tf_node *n)
{
    static const char *const op[] = {"Switch", "RefSwitch"};
    return tf_is_op(n->def, "Identity") && n->n_in && n->from[0] != TF_NONE &&
           is_any(g->node[n->from[0]].def, 2, op);
}

/* What no other node reads, but for a Saver's nodes, those of loops and pivots. */
static ports leaves(tf_import *t)
{
    tf_graph *g = t->graph;
    const bool *saver = saver_nodes(t), *looped = loop_nodes(t);
    bool *read = TN_NEW_N(&t->im.scratch, bool, g->n);
    ports p = {TN_NEW_N(&t->im.scratch, port, g->n), 0};
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->node[i].n_in; k++)
            if (g->node[i].from[k] != TF_NONE)
                read[g->node[i].from[k]] = true;
    for (size_t i = 0; i < g->n; i++)
        if (!read[i] && !saver[i] && !looped[i] && !is_silent(&g->node[i]) && !is_pivot(g, &g->node[i]))
            p.at[p.n++] = (port){.name = g->node[i].def->name};
    return p;
}

/* ---- inputs ---- */

static void need(int64_t k, bool needed[], tf_nodes *stack)
{
    if (k == TF_NONE || needed[k])
        return;
    needed[k] = true;
    tn_vec_push(stack, k);
}

/* What the results read, structural nodes included, and what must run before. */
static bool *needed_nodes(tf_import *t, const ports *outputs)
{
    tf_graph *g = t->graph;
    bool *needed = TN_NEW_N(&t->im.scratch, bool, g->n);
    tf_nodes stack = {0};
    for (size_t i = 0; i < outputs->n; i++)
        need(tf_find_node(g, tf_node_name(outputs->at[i].name)), needed, &stack);
    while (stack.n) {
        int64_t k = tn_vec_pop(&stack);
        const tf_node *n = &g->node[k];
        for (size_t i = 0; i < n->n_in; i++)
            need(n->from[i], needed, &stack);
        for (size_t i = 0; i < n->n_control; i++)
            need(tf_before(g, k, n->n_in + i), needed, &stack);
    }
    tn_vec_deinit(&stack);
    return needed;
}

static bool has_shape(const tf_import *t, tn_bytes name)
{
    const tn_import_options *o = t->im.options;
    for (size_t i = 0; o && i < o->n_shape; i++)
        if (imp_is(name, o->shape[i].name))
            return true;
    return false;
}

/* Placeholders, and those with a default that the user gives a shape. */
static bool is_input(const tf_import *t, const tf_node_def *n)
{
    return tf_is_op(n, "Placeholder") || tf_is_op(n, "PlaceholderV2") ||
           (tf_is_op(n, "PlaceholderWithDefault") && has_shape(t, n->name));
}

static imp_input input_of(imp_model *im, const tf_node_def *n)
{
    const tf_value *v = tf_find_attr(&n->attr, "shape");
    const tf_shape *s = v && v->shape && !v->shape->unknown_rank ? v->shape : NULL;
    imp_input in = {.name = n->name, .dtype = TN_F32, .has_shape = s != NULL, .n = s ? s->dim.n : 0};
    imp_dim *dim = TN_NEW_N(&im->scratch, imp_dim, in.n);
    for (size_t i = 0; i < in.n; i++)
        dim[i] = (imp_dim){.extent = ((const tf_dim *)s->dim.at)[i].size};
    in.dim = dim;
    return in;
}

/* A placeholder that says nothing of its shape is a scalar where shapes are given for others, as those of scalars have
 * nothing to say. */
static void assume_scalar(tf_import *t, imp_input *in)
{
    if (in->has_shape || !t->im.options || !t->im.options->n_shape || has_shape(t, in->name))
        return;
    in->has_shape = true;
    (void)tn_report(t->im.g->ctx, TN_WARNING, "tensorflow-W002", imp_make_loc(&t->im, NULL, NULL),
                    "input \"%s\" has no shape, and none is given: it is taken to be a scalar",
                    imp_text(&t->im, in->name));
}

static tn_status add_input(tf_import *t, const tf_node_def *n, imp_input *in)
{
    imp_model *im = &t->im;
    const tn_loc *loc = tf_loc(t, n);
    const tf_value *type = tf_find_attr(&n->attr, "dtype");
    TN_TRY(imp_define(im, n->name, (imp_value){.state = IMP_BAD}, loc));
    if (!tf_any_dtype(im, type && type->type.n ? *(const int64_t *)type->type.at : 0,
                      tn_arena_printf(&im->scratch, "input \"%s\"", imp_text(im, n->name)), loc, &in->dtype))
        return TN_FAIL;
    return imp_add_input(im, in, loc);
}

static tn_status add_inputs(tf_import *t, const bool needed[])
{
    imp_model *im = &t->im;
    size_t n = 0;
    const tf_node_def **node = TN_NEW_N(&im->scratch, const tf_node_def *, t->graph->n);
    imp_input *in = TN_NEW_N(&im->scratch, imp_input, t->graph->n);
    for (size_t i = 0; i < t->graph->n; i++) {
        if (!needed[i] || !is_input(t, t->graph->node[i].def))
            continue;
        node[n] = t->graph->node[i].def;
        in[n] = input_of(im, node[n]);
        assume_scalar(t, &in[n]);
        n++;
    }
    tn_status s = imp_check_shapes(im, n, in);
    for (size_t i = 0; i < n; i++)
        if (add_input(t, node[i], &in[i]) != TN_OK)
            s = TN_FAIL;
    return s;
}

/* TensorFlow calls the tensor X:0 that node X computes, and a signature has names of its own: users say either. */
static const char *node_called(tf_import *t, const char *said, const ports *among)
{
    size_t n = strlen(said);
    tn_bytes whole = {(const uint8_t *)said, n};
    if (tf_find_node(t->graph, whole) != TF_NONE)
        return said;
    if (n > 2 && strcmp(said + n - 2, ":0") == 0)
        return tn_arena_strndup(&t->im.scratch, said, n - 2);
    for (size_t i = 0; i < among->n; i++)
        if (imp_same(among->at[i].key, whole))
            return tn_arena_strndup(&t->im.scratch, (const char *)among->at[i].name.at, among->at[i].name.n);
    return said;
}

static const tn_import_options *options_of(tf_import *t, const tn_import_options *given, const ports *inputs,
                                           const ports *outputs)
{
    if (!given || (!given->n_shape && !given->n_output))
        return given;
    tn_import_options *o = TN_NEW(&t->im.scratch, tn_import_options);
    tn_input_shape *shape = TN_NEW_N(&t->im.scratch, tn_input_shape, given->n_shape);
    const char **output = TN_NEW_N(&t->im.scratch, const char *, given->n_output);
    *o = *given;
    for (size_t i = 0; i < given->n_shape; i++) {
        shape[i] = given->shape[i];
        shape[i].name = node_called(t, shape[i].name, inputs);
    }
    for (size_t i = 0; i < given->n_output; i++)
        output[i] = node_called(t, given->output[i], outputs);
    o->shape = shape;
    o->output = output;
    return o;
}

/* The outputs that the user names, each called as the user does. */
static ports chosen(tf_import *t, const tn_import_options *given, const tn_import_options *o)
{
    ports p = {TN_NEW_N(&t->im.scratch, port, o->n_output), o->n_output};
    for (size_t i = 0; i < p.n; i++) {
        p.at[i].name = (tn_bytes){(const uint8_t *)o->output[i], strlen(o->output[i])};
        p.at[i].key = (tn_bytes){(const uint8_t *)given->output[i], strlen(given->output[i])};
    }
    return p;
}

/* ---- the model ---- */

static tn_status convert(tf_import *t, const ports *inputs, const ports *outputs)
{
    imp_model *im = &t->im;
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    const tn_import_options *given = im->options;
    bool choice = given && given->n_output;
    t->carried = SIZE_MAX;
    im->options = options_of(t, given, inputs, outputs);
    const ports wanted = choice ? chosen(t, given, im->options) : *outputs;
    tn_bytes *name = TN_NEW_N(&im->scratch, tn_bytes, wanted.n);
    imp_start(im);
    tf_find_effects(t, t->main);
    const bool *needed = needed_nodes(t, &wanted);
    if (tf_has_act(t->main, needed)) {
        tf_find_reads(t, t->main);
        needed = needed_nodes(t, &wanted);
    }
    tf_mark_changes(t, needed);
    bool sound = im->g->ctx->n_error == im->had_errors; /* the functions that were looked into */
    tn_status s = add_inputs(t, needed);
    im->had_errors = im->g->ctx->n_error;
    for (size_t i = 0; i < wanted.n && !im->stopped; i++) {
        name[i] = wanted.at[i].name;
        if (!choice || tf_has_value(t, name[i])) /* else imp_set_results says so */
            (void)tf_value_of(t, name[i], loc);
    }
    if (!sound || s != TN_OK || im->g->ctx->n_error != im->had_errors)
        return TN_FAIL;
    TN_TRY(tf_keep_states(t));
    TN_TRY(imp_set_results(im, wanted.n, name));
    for (size_t i = 0; i < wanted.n; i++)
        if (wanted.at[i].key.n)
            im->g->result_name[i] = imp_text(im, wanted.at[i].key);
    return TN_OK;
}

static void index_functions(tf_import *t)
{
    const tf_library *l = t->def->library;
    const tf_function *f = l ? l->function.at : NULL;
    for (size_t i = 0; l && i < l->function.n; i++)
        if (f[i].signature && f[i].signature->name.n)
            tn_strmap_put(&t->functions, (const char *)f[i].signature->name.at, f[i].signature->name.n, i);
}

static tn_status import_graph(tf_import *t, const tf_graph_def *g, const tf_signature *s)
{
    if (!g || !g->node.n)
        return tn_error(t->im.g->ctx, "tensorflow-E002", imp_make_loc(&t->im, NULL, NULL),
                        "the file has no graph; it is no TensorFlow model, or it is damaged");
    t->def = g;
    index_functions(t);
    t->im.had_errors = t->im.g->ctx->n_error;
    t->main = t->graph = tf_graph_new(t, &g->node, false);
    if (t->im.g->ctx->n_error != t->im.had_errors)
        return TN_FAIL;
    ports inputs = s ? signature_ports(t, &s->inputs) : (ports){0};
    ports outputs = s ? signature_ports(t, &s->outputs) : leaves(t);
    return convert(t, &inputs, &outputs);
}

static const tf_meta_graph *choose_graph(const tf_saved_model *m)
{
    const tf_meta_graph *g = m->meta_graphs.at;
    for (size_t i = 0; i < m->meta_graphs.n; i++) {
        const tf_meta_info *info = g[i].meta_info_def;
        for (size_t k = 0; info && k < info->tags.n; k++)
            if (imp_is(((const tn_bytes *)info->tags.at)[k], "serve"))
                return &g[i];
    }
    return m->meta_graphs.n ? g : NULL;
}

static tn_status import_meta(tf_import *t, const tf_meta_graph *m, const char *prefix)
{
    const char *name = t->im.options ? t->im.options->signature : NULL;
    const tf_signature *s = signature_of(m, name);
    if (name && !s)
        return no_signature(t, m, name);
    tell_signatures(t, m, s);
    t->meta = m;
    TN_TRY(tf_checkpoint_open(t, prefix));
    return import_graph(t, m ? m->graph_def : NULL, s);
}

static tn_status damaged(tf_import *t, const char *why, const char *where)
{
    return tn_error(t->im.g->ctx, "tensorflow-E001", imp_make_loc(&t->im, NULL, NULL),
                    "this is no TensorFlow model, or it is damaged: %s (in %s)%s", why, where,
                    imp_again(why));
}

static tn_status read_message(tf_import *t, tn_bytes file, const tn_pb_msg *msg, void *out)
{
    const char *where = "";
    const char *trouble = tn_pb_read(&t->im.scratch, msg, file.at, file.n, NULL, out, &where);
    return trouble ? damaged(t, trouble, where) : TN_OK;
}

/* A text becomes the message that it stands for. */
static tn_status read_text(tf_import *t, tn_bytes *file, enum kind *kind)
{
    const char *why;
    uint32_t line;
    tn_buf b = {0};
    tn_pb_text *root = tn_pb_text_read(&t->im.scratch, *file, &why, &line);
    *kind = tn_pb_text_find(root, "meta_graphs") ? SAVED_MODEL
            : tn_pb_text_find(root, "graph_def") ? META_GRAPH
                                                 : GRAPH;
    if (root)
        why = tn_pb_text_encode(root,
                                *kind == SAVED_MODEL  ? &tf_saved_model_msg
                                : *kind == META_GRAPH ? &tf_meta_graph_msg
                                                      : &tf_graph_def_msg,
                                tf_words, &b, &line);
    if (!why)
        *file = (tn_bytes){tn_arena_copy(&t->im.scratch, b.n ? b.at : "", b.n, 1), b.n};
    tn_buf_deinit(&b);
    return why ? damaged(t, why, tn_arena_printf(&t->im.scratch, "line %u", (unsigned)line)) : TN_OK;
}

static tn_status import(tf_import *t)
{
    imp_model *im = &t->im;
    tf_saved_model saved = {0};
    tf_meta_graph meta = {0};
    tf_graph_def graph = {0};
    tn_bytes file = im->whole;
    enum kind kind = kind_of(file.at, file.n);
    if (kind == NO_KIND && is_text(file.at, file.n))
        TN_TRY(read_text(t, &file, &kind));
    switch (kind) {
    case SAVED_MODEL:
        TN_TRY(read_message(t, file, &tf_saved_model_msg, &saved));
        return import_meta(t, choose_graph(&saved), "variables/variables");
    case META_GRAPH: {
        const char *slash = strrchr(im->file, '/'), *name = slash ? slash + 1 : im->file;
        size_t n = strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".meta") == 0 ? strlen(name) - 5
                                                                                     : strlen(name);
        TN_TRY(read_message(t, file, &tf_meta_graph_msg, &meta));
        return import_meta(t, &meta, tn_arena_strndup(&im->scratch, name, n));
    }
    default:
        if (im->options && im->options->signature)
            return no_signature(t, NULL, im->options->signature);
        TN_TRY(read_message(t, file, &tf_graph_def_msg, &graph));
        return import_graph(t, &graph, NULL);
    }
}

tn_status tn_import_tensorflow(tn_graph *g, const char *path, const tn_file *file,
                               const tn_import_options *options)
{
    tf_import t = {0};
    imp_open(&t.im, &tf_format, g, path, file, options);
    tn_status s = import(&t);
    for (size_t i = 0; i < t.made.n; i++)
        tn_strmap_deinit(&t.made.at[i]->index);
    tn_vec_deinit(&t.made);
    tn_map_deinit(&t.graphs);
    tn_map_deinit(&t.callers);
    tn_map_deinit(&t.only_call);
    tn_map_deinit(&t.effects);
    tn_map_deinit(&t.changed);
    tn_vec_deinit(&t.states);
    tn_vec_deinit(&t.calls);
    tn_map_deinit(&t.resources);
    tn_strmap_deinit(&t.functions);
    tf_checkpoint_close(&t);
    imp_close(&t.im);
    return s;
}
