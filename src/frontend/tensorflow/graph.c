/* Graphs: names of values, nodes in the order in which results need them.
 *
 * A node is converted after what it reads, found by a walk with a stack of its own, so that no chain of nodes is too
 * long. What a loop or a branch needs is converted where that stands (flow.c), in a scope of its own. */
#include "frontend/tensorflow/tf.h"

#include <string.h>

bool tf_is_op(const tf_node_def *n, const char *op) { return imp_is(n->op, op); }

const tf_value *tf_find_attr(const tn_pb_array *attr, const char *name)
{
    const tf_attr *a = attr->at;
    for (size_t i = 0; i < attr->n; i++)
        if (imp_is(a[i].key, name))
            return a[i].value;
    return NULL;
}

/* ---- results of operators ---- */

/* Operators with several results: their names, as function bodies write them, or the attribute that counts them. */
static const struct results {
    const char *op, *names, *count;
} several[] = {
    {"Split", NULL, "num_split"},
    {"SplitV", NULL, "num_split"},
    {"Unpack", NULL, "num"},
    {"IdentityN", NULL, "T"},
    {"ShapeN", NULL, "N"},
    {"BroadcastArgs", "r0", NULL},
    {"If", NULL, "Tout"},
    {"StatelessIf", NULL, "Tout"},
    {"While", NULL, "T"},
    {"StatelessWhile", NULL, "T"},
    {"Case", NULL, "Tout"},
    {"StatelessCase", NULL, "Tout"},
    {"PartitionedCall", NULL, "Tout"},
    {"StatefulPartitionedCall", NULL, "Tout"},
    {"RestoreV2", NULL, "dtypes"},
    {"Switch", "output_false output_true", NULL},
    {"RefSwitch", "output_false output_true", NULL},
    {"_SwitchN", NULL, "num_outs"},
    {"Merge", "output value_index", NULL},
    {"RefMerge", "output value_index", NULL},
    {"TopK", "values indices", NULL},
    {"TopKV2", "values indices", NULL},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2", NULL},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2", NULL},
    {"FusedBatchNormV3", "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3", NULL},
    {"Unique", "y idx", NULL},
    {"UniqueV2", "y idx", NULL},
    {"UniqueWithCounts", "y idx count", NULL},
    {"UniqueWithCountsV2", "y idx count", NULL},
    {"ListDiff", "out idx", NULL},
    {"DynamicPartition", NULL, "num_partitions"},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs", NULL},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs", NULL},
    {"CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections", NULL},
    {"MaxPoolWithArgmax", "output argmax", NULL},
    {"TensorListPopBack", "output_handle tensor", NULL},
    {"TensorListConcat", "tensor lengths", NULL},
    {"TensorListConcatV2", "tensor lengths", NULL},
    {"TensorArrayV3", "handle flow", NULL},
    {"TensorArrayConcatV3", "value lengths", NULL},
    {"LSTMBlockCell", "i cs f o ci co h", NULL},
    {"BlockLSTM", "i cs f o ci co h", NULL},
    {"BlockLSTMV2", "i cs f o ci co h", NULL},
    {"GRUBlockCell", "r u c h", NULL},
    {"LookupTableExportV2", "keys values", NULL},
    {"Qr", "q r", NULL},
    {"Svd", "s u v", NULL},
    {"SparseReshape", "output_indices output_shape", NULL},
    {"Lu", "lu p", NULL},
    {"SelfAdjointEigV2", "e v", NULL},
    {"LogMatrixDeterminant", "sign log_abs_determinant", NULL},
    {"StatelessRandomGetKeyCounter", "key counter", NULL},
    {"StringSplitV2", "indices values shape", NULL},
};

static const struct results *results_of(const tf_node_def *n)
{
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        if (tf_is_op(n, several[i].op))
            return &several[i];
    return NULL;
}

static size_t count_words(const char *s)
{
    size_t n = 0;
    for (; *s; s += strcspn(s, " "), s += *s == ' ')
        n++;
    return n;
}

static size_t count_of(const tf_value *v)
{
    const tf_list *l = v ? v->list : NULL;
    int64_t n = v && v->i.n ? ((const int64_t *)v->i.at)[v->i.n - 1] : 0;
    if (l)
        return l->type.n + l->i.n + l->s.n + l->shape.n;
    return n > 0 && n <= TF_MAX_OUT ? (size_t)n : 0;
}

static size_t output_count(const tf_import *t, const tf_node_def *n)
{
    const struct results *r = results_of(n);
    const tf_function *fn = r ? NULL : tf_find_function(t, n->op);
    if (r)
        return r->names ? count_words(r->names) : count_of(tf_find_attr(&n->attr, r->count));
    return fn && fn->signature ? fn->signature->output_arg.n : 1;
}

/* The number of result `arg` of a node, as a function body names it. */
static size_t place_of(const tf_import *t, const tf_node_def *n, tn_bytes arg)
{
    const struct results *r = results_of(n);
    const tf_function *fn = r ? NULL : tf_find_function(t, n->op);
    size_t k = 0;
    for (const char *s = r && r->names ? r->names : ""; *s; s += strcspn(s, " "), s += *s == ' ', k++)
        if (arg.n == strcspn(s, " ") && memcmp(s, arg.at, arg.n) == 0)
            return k;
    const tf_arg *out = fn && fn->signature ? fn->signature->output_arg.at : NULL;
    for (k = 0; out && k < fn->signature->output_arg.n; k++)
        if (imp_same(out[k].name, arg))
            return k;
    return 0;
}

/* ---- names ---- */

int64_t tf_find_node(const tf_graph *g, tn_bytes name)
{
    uint64_t at;
    return name.n && tn_strmap_get(&g->index, (const char *)name.at, name.n, &at) ? (int64_t)at : TF_NONE;
}

/* The part of a name before its first colon; *rest is what follows. */
static tn_bytes head_of(tn_bytes name, tn_bytes *rest)
{
    const uint8_t *colon = name.n ? memchr(name.at, ':', name.n) : NULL;
    size_t n = colon ? (size_t)(colon - name.at) : name.n;
    *rest = colon ? (tn_bytes){colon + 1, name.n - n - 1} : (tn_bytes){0};
    return (tn_bytes){name.at, n};
}

tn_bytes tf_node_name(tn_bytes value)
{
    tn_bytes rest;
    return head_of(value, &rest);
}

static bool number_of(tn_bytes s, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || *out > TF_MAX_OUT)
            return false;
        *out = *out * 10 + (size_t)(s.at[i] - '0');
    }
    return s.n > 0;
}

static tn_bytes numbered(tf_import *t, tn_bytes node, size_t k)
{
    if (k == 0)
        return node;
    const char *s = tn_arena_printf(&t->im.scratch, "%.*s:%zu", (int)node.n, (const char *)node.at, k);
    return (tn_bytes){(const uint8_t *)s, strlen(s)};
}

tn_bytes tf_value_name(tf_import *t, const tf_graph *g, tn_bytes name, bool in_function)
{
    tn_bytes rest, last = {0};
    size_t k, first = 0;
    tn_bytes node = head_of(name, &rest);
    if (!rest.n)
        return node;
    if (in_function) {
        tn_bytes arg = head_of(rest, &last);
        int64_t at = tf_find_node(g, node);
        first = at == TF_NONE ? 0 : place_of(t, g->node[at].def, arg);
        rest = last.n ? last : (tn_bytes){(const uint8_t *)"0", 1};
    }
    return number_of(rest, &k) && node.n < INT32_MAX ? numbered(t, node, first + k) : name;
}

/* ---- nodes ---- */

/* An input is never left out: without a name, it is the text that stands there, which no node is called. */
static tn_bytes named(tn_bytes text, tn_bytes name)
{
    static const char none[] = "(no name)";
    return name.n ? name : text.n ? text : (tn_bytes){(const uint8_t *)none, sizeof none - 1};
}

static void read_inputs(tf_import *t, tf_graph *g, tf_node *n, bool in_function)
{
    const tn_bytes *in = n->def->input.at;
    tn_bytes rest;
    size_t all = n->def->input.n;
    tn_bytes *name = TN_NEW_N(&t->im.scratch, tn_bytes, all);
    int64_t *from = TN_NEW_N(&t->im.scratch, int64_t, all), *control = TN_NEW_N(&t->im.scratch, int64_t, all);
    for (size_t i = 0; i < all; i++) {
        if (in[i].n && in[i].at[0] == '^') {
            int64_t k = tf_find_node(g, (tn_bytes){in[i].at + 1, in[i].n - 1});
            control[n->n_control] = k;
            n->n_control += k != TF_NONE;
            continue;
        }
        name[n->n_in] = named(in[i], tf_value_name(t, g, in[i], in_function));
        from[n->n_in++] = tf_find_node(g, head_of(in[i], &rest));
    }
    n->in = name;
    n->from = from;
    n->control = control;
}

tf_graph *tf_graph_new(tf_import *t, const tn_pb_array *nodes, bool in_function)
{
    tf_graph *g = TN_NEW(&t->im.scratch, tf_graph);
    const tf_node_def *def = nodes->at;
    g->node = TN_NEW_N(&t->im.scratch, tf_node, nodes->n);
    g->n = nodes->n;
    tn_vec_push(&t->made, g);
    for (size_t i = 0; i < nodes->n; i++) {
        tf_node *n = &g->node[i];
        n->def = &def[i];
        n->n_out = output_count(t, n->def);
        tn_bytes *out = TN_NEW_N(&t->im.scratch, tn_bytes, n->n_out);
        for (size_t k = 0; k < n->n_out; k++)
            out[k] = numbered(t, n->def->name, k);
        n->out = out;
        if (tf_find_node(g, n->def->name) != TF_NONE)
            (void)imp_error(&t->im, IMP_NAME_TWICE, tf_loc(t, n->def),
                            "two nodes are called \"%s\"; the model is damaged",
                            imp_text(&t->im, n->def->name));
        else
            tn_strmap_put(&g->index, (const char *)n->def->name.at, n->def->name.n, i);
    }
    for (size_t i = 0; i < nodes->n; i++)
        read_inputs(t, g, &g->node[i], in_function);
    return g;
}

const tn_loc *tf_loc(tf_import *t, const tf_node_def *n)
{
    const char *name = imp_text(&t->im, n->name);
    if (t->frame)
        name = tn_intern(t->im.g->ctx, tn_arena_printf(&t->im.scratch, "%s/%s", t->frame->name, name));
    return imp_make_loc(&t->im, name, imp_text(&t->im, n->op));
}

/* ---- attributes ---- */

/* An attribute that names one of the function around is the one of the call. */
static const tf_value *resolved(const tf_frame *f, const tf_value *v)
{
    for (; v && v->placeholder.n && f; f = f->up) {
        const tf_attr *a = f->attr->at;
        const tf_value *found = NULL;
        for (size_t i = 0; i < f->attr->n; i++)
            if (imp_same(a[i].key, v->placeholder))
                found = a[i].value;
        v = found;
    }
    return v;
}

static int64_t last_int(const tn_pb_array *a) { return ((const int64_t *)a->at)[a->n - 1]; }

static imp_attr list_attr(tn_bytes name, const tf_list *l)
{
    imp_attr a = {.name = name, .kind = IMP_A_ANY};
    const tn_pb_array *ints = l->i.n ? &l->i : l->b.n ? &l->b : l->type.n ? &l->type : NULL;
    if (ints) {
        a.kind = IMP_A_INTS;
        a.ints.n = ints->n;
        a.ints.at = ints->at;
    } else if (l->f.n) {
        a.kind = IMP_A_FLOATS;
        a.floats.n = l->f.n;
        a.floats.at = l->f.at;
    } else if (l->s.n) {
        a.kind = IMP_A_TEXTS;
        a.texts.n = l->s.n;
        a.texts.at = l->s.at;
    } else if (l->func.n) {
        a.kind = IMP_A_GRAPHS;
        a.graph = l;
    } else if (l->shape.n) {
        a.kind = IMP_A_TYPES;
        a.graph = l;
    }
    return a;
}

static imp_attr attribute(tn_bytes name, const tf_value *v)
{
    imp_attr a = {.name = name, .kind = IMP_A_UNKNOWN};
    if (v->list)
        return list_attr(name, v->list);
    if (v->i.n || v->b.n || v->type.n) {
        a.kind = IMP_A_INT;
        a.i = last_int(v->i.n ? &v->i : v->b.n ? &v->b : &v->type);
    } else if (v->f.n) {
        a.kind = IMP_A_FLOAT;
        a.f = (double)((const float *)v->f.at)[v->f.n - 1];
    } else if (v->s.n) {
        a.kind = IMP_A_TEXT;
        a.text = ((const tn_bytes *)v->s.at)[v->s.n - 1];
    } else if (v->tensor) {
        a.kind = IMP_A_TENSOR;
        a.tensor = v->tensor;
    } else if (v->func) {
        a.kind = IMP_A_GRAPH;
        a.graph = v->func;
    } else if (v->shape) {
        a.kind = IMP_A_TYPE;
        a.graph = v->shape;
    }
    return a;
}

/* Types of operands are told by the operands, and what begins with _ is a note of a tool. */
void tf_read_attributes(imp_model *im, const tf_frame *f, const tf_node_def *n, imp_node *c)
{
    const tf_attr *a = n->attr.at;
    imp_attr *to = TN_NEW_N(&im->scratch, imp_attr, n->attr.n);
    for (size_t i = 0; i < n->attr.n; i++) {
        const tf_value *v = resolved(f, a[i].value);
        const tf_list *l = v ? v->list : NULL;
        bool empty = l && !(l->s.n + l->i.n + l->f.n + l->b.n + l->shape.n + l->tensor.n + l->func.n);
        if (!v || (a[i].key.n && a[i].key.at[0] == '_'))
            continue;
        if (c->n_attr < 64 && (v->type.n || empty))
            c->asked |= UINT64_C(1) << c->n_attr;
        to[c->n_attr++] = attribute(a[i].key, v);
    }
    c->attr = to;
}

const tf_node_def *tf_read_node(imp_model *im, tn_bytes data)
{
    tf_node_def *n = TN_NEW(&im->scratch, tf_node_def);
    const char *where;
    memset(n, 0, sizeof *n);
    return tn_pb_read(&im->scratch, &tf_node_def_msg, data.at, data.n, NULL, n, &where) ? NULL : n;
}

/* ---- converting ---- */

/* Their converters look at what they read themselves. */
static bool is_structural(const tf_node_def *n)
{
    return tf_is_op(n, "Merge") || tf_is_op(n, "RefMerge") || tf_is_op(n, "Exit") || tf_is_op(n, "RefExit");
}

/* They say something, or only run after others. */
static bool is_idle(const tf_node_def *n)
{
    return tf_is_op(n, "NoOp") || tf_is_op(n, "Assert") || tf_is_op(n, "PrintV2");
}

imp_node tf_begin_node(tf_import *t, int64_t k)
{
    const tf_node *n = &t->graph->node[k];
    imp_node c = {.version = 1,
                  .loc = tf_loc(t, n->def),
                  .n_in = is_structural(n->def) || is_idle(n->def) ? 0 : n->n_in,
                  .n_out = n->n_out,
                  .in_name = n->in,
                  .out_name = n->out,
                  .origin = n->def};
    tf_read_attributes(&t->im, t->frame, n->def, &c);
    return c;
}

const tf_node_def *tf_def(const imp_node *c) { return c->origin; }

static void convert(tf_import *t, int64_t k)
{
    const tf_node_def *def = t->graph->node[k].def;
    imp_node c = tf_begin_node(t, k);
    const tf_function *fn = tf_find_function(t, def->op);
    if (imp_too_much(&t->im, c.loc))
        return;
    if (!fn) {
        c.row = imp_row_of(&t->im, (tn_bytes){0}, def->op, 1, c.loc, true);
        imp_convert(&t->im, &c);
        return;
    }
    tf_func f = {def->op, def->attr}; /* a node may be called like a function: it calls it */
    imp_value *in = TN_NEW_N(&t->im.scratch, imp_value, c.n_in),
              *out = TN_NEW_N(&t->im.scratch, imp_value, c.n_out);
    if (imp_begin(&t->im, &c)) {
        for (size_t i = 0; i < c.n_in; i++)
            in[i] = *imp_lookup(&t->im, c.in_name[i]);
        if (tf_call(&c, &f, c.n_in, in, c.n_out, out))
            for (size_t i = 0; i < c.n_out; i++)
                c.out[i] = out[i].v;
    }
    imp_end(&c);
}

static bool is_done(const tf_import *t, const tf_node *n)
{
    return !n->n_out || imp_lookup(&t->im, n->out[0]) != NULL;
}

typedef struct step {
    int64_t node;
    size_t next;
} step;

int64_t tf_before(const tf_graph *g, int64_t k, size_t i)
{
    const tf_node *n = &g->node[k];
    int64_t from = i < n->n_in ? n->from[i] : n->control[i - n->n_in];
    bool effect = from != TF_NONE && g->effect && g->effect[from];
    if (i >= n->n_in || is_idle(n->def))
        return effect ? from : TF_NONE;
    return is_structural(n->def) ? TF_NONE : from;
}

/* The next node that this one reads, or that must run before it, and that is not converted; TF_NONE: there is none. */
static int64_t next_needed(tf_import *t, step *s)
{
    tf_node *n = &t->graph->node[s->node];
    while (s->next < n->n_in + n->n_control) {
        int64_t k = tf_before(t->graph, s->node, s->next++);
        if (k == TF_NONE || is_done(t, &t->graph->node[k]))
            continue;
        if (!t->graph->node[k].under_way)
            return k;
        (void)tn_error(
            t->im.g->ctx, "tensorflow-E030", tf_loc(t, n->def),
            "it reads \"%s\", which needs its result: the nodes form a cycle; the model is damaged",
            imp_text(&t->im, t->graph->node[k].def->name));
    }
    return TF_NONE;
}

void tf_demand(tf_import *t, int64_t k)
{
    tn_vec(step) stack = {0};
    tf_graph *g = t->graph;
    if (is_done(t, &g->node[k]))
        return;
    tn_vec_push(&stack, ((step){k, 0}));
    g->node[k].under_way = true;
    while (stack.n) {
        step *top = &tn_vec_last(&stack);
        int64_t need = t->im.stopped ? TF_NONE : next_needed(t, top);
        if (need != TF_NONE) {
            g->node[need].under_way = true;
            tn_vec_push(&stack, ((step){need, 0}));
            continue;
        }
        int64_t done = tn_vec_pop(&stack).node;
        if (!t->im.stopped)
            convert(t, done);
        g->node[done].under_way = false;
    }
    tn_vec_deinit(&stack);
}

bool tf_has_value(const tf_import *t, tn_bytes name)
{
    tn_bytes rest;
    int64_t k = tf_find_node(t->graph, head_of(name, &rest));
    for (size_t i = 0; k != TF_NONE && i < t->graph->node[k].n_out; i++)
        if (imp_same(t->graph->node[k].out[i], name))
            return true;
    return false;
}

const imp_value *tf_value_of(tf_import *t, tn_bytes name, const tn_loc *loc)
{
    tn_bytes rest;
    int64_t k = tf_find_node(t->graph, head_of(name, &rest));
    if (!imp_lookup(&t->im, name) && k != TF_NONE && !t->graph->node[k].under_way)
        tf_demand(t, k);
    const imp_value *v = imp_lookup(&t->im, name);
    if (!v && !t->im.stopped)
        (void)imp_error(&t->im, IMP_UNKNOWN_NAME, loc, "nothing computes \"%s\"; the model is damaged",
                        imp_text(&t->im, name));
    return v;
}
