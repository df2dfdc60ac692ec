/* Parts of an ONNX file. A part is the original message with another graph: fields that the reader's tables do not know
 * are kept, and so are the bytes of every node and initialiser. Linear in the size of the file. */
#include "frontend/onnx/onnx.h"
#include "frontend/part.h"

#include <limits.h>
#include <string.h>

enum { MODEL_GRAPH = 7, MODEL_TRAINING = 20 };
enum { NODE_ATTRIBUTE = 5, ATTRIBUTE_NAME = 1, ATTRIBUTE_GRAPH = 6 };
enum { G_NODE = 1, G_NAME = 2, G_INIT = 5, G_INPUT = 11, G_OUTPUT = 12, G_VALUE = 13, G_SPARSE = 15 };

typedef struct source {
    tn_ctx *ctx;
    const char *path;
    const tn_file *file;
    tn_arena scratch;
    onnx_model model;
} source;

static tn_status open_source(source *s)
{
    const char *where = "";
    const tn_loc loc = {.file = s->path};
    if (strcmp(tn_format_guess(s->path, s->file) ? tn_format_guess(s->path, s->file)->name : "", "onnx") != 0)
        return tn_error(s->ctx, "onnx-E070", &loc,
                        "this is not an ONNX file; give one: parts are made of those alone");
    const char *trouble =
        tn_pb_read(&s->scratch, &onnx_model_msg, s->file->at, s->file->n, NULL, &s->model, &where);
    if (!trouble && !s->model.graph) {
        trouble = "there is no graph";
        where = "ModelProto";
    }
    return trouble ? tn_error(s->ctx, "onnx-E001", &loc,
                              "this is not an ONNX model, or it is damaged: %s (in %s)%s", trouble, where,
                              imp_again(trouble))
                   : TN_OK;
}

/* ---- names from outside that the graphs inside a node use ---- */

typedef struct body {
    const struct body *outer;
    tn_strmap own; /* what is defined so far */
} body;

typedef tn_vec(tn_bytes) names;

static bool has(const tn_strmap *m, tn_bytes name)
{
    uint64_t at;
    return tn_strmap_get(m, (const char *)name.at, name.n, &at);
}

static void put(tn_strmap *m, tn_bytes name, uint64_t at)
{
    if (name.n)
        tn_strmap_put(m, (const char *)name.at, name.n, at);
}

static void use(const body *b, tn_bytes name, names *out)
{
    for (; b; b = b->outer)
        if (has(&b->own, name))
            return;
    tn_vec_push(out, name);
}

/* The depth is bounded by that of messages (base/wire/pb.h). */
static void find_captured(const onnx_graph *g, const body *outer, names *out)
{
    body b = {.outer = outer};
    const onnx_value_info *in = g->input.at, *result = g->output.at;
    const onnx_tensor *t = g->initializer.at;
    const onnx_sparse *s = g->sparse_initializer.at;
    const onnx_node *n = g->node.at;
    for (size_t i = 0; i < g->input.n; i++)
        put(&b.own, in[i].name, 0);
    for (size_t i = 0; i < g->initializer.n; i++)
        put(&b.own, t[i].name, 0);
    for (size_t i = 0; i < g->sparse_initializer.n; i++)
        put(&b.own, onnx_sparse_name(&s[i]), 0);
    for (size_t i = 0; i < g->node.n; i++) {
        const tn_bytes *from = n[i].input.at, *to = n[i].output.at;
        const onnx_attr *a = n[i].attribute.at;
        for (size_t k = 0; k < n[i].input.n; k++)
            use(&b, from[k], out);
        for (size_t k = 0; k < n[i].attribute.n; k++)
            if (a[k].g)
                find_captured(a[k].g, &b, out);
        for (size_t k = 0; k < n[i].output.n; k++)
            put(&b.own, to[k], 0);
    }
    for (size_t i = 0; i < g->output.n; i++)
        use(&b, result[i].name, out);
    tn_strmap_deinit(&b.own);
}

/* Everything that a node reads. */
static void find_operands(const onnx_node *n, names *out)
{
    const tn_bytes *in = n->input.at;
    const onnx_attr *a = n->attribute.at;
    for (size_t i = 0; i < n->input.n; i++)
        tn_vec_push(out, in[i]);
    for (size_t i = 0; i < n->attribute.n; i++)
        if (a[i].g)
            find_captured(a[i].g, NULL, out);
}

/* ---- what is in a file ---- */

static const char *text(tn_arena *a, tn_bytes s)
{
    return tn_arena_strndup(a, s.n ? (const char *)s.at : "", s.n);
}

static const char **texts(tn_arena *a, size_t n, const tn_bytes s[])
{
    const char **all = TN_NEW_N(a, const char *, n);
    for (size_t i = 0; i < n; i++)
        all[i] = text(a, s[i]);
    return all;
}

static void see_nodes(const onnx_graph *g, tn_arena *a, tn_part_graph *out)
{
    const onnx_node *n = g->node.at;
    tn_part_node *to = TN_NEW_N(a, tn_part_node, g->node.n);
    names in = {0};
    for (size_t i = 0; i < g->node.n; i++) {
        tn_vec_clear(&in);
        find_operands(&n[i], &in);
        to[i] = (tn_part_node){.name = text(a, n[i].name),
                               .op = text(a, n[i].op_type),
                               .n_in = (uint32_t)in.n,
                               .n_out = (uint32_t)n[i].output.n,
                               .n_operand = (uint32_t)n[i].input.n,
                               .in = texts(a, in.n, in.at),
                               .out = texts(a, n[i].output.n, n[i].output.at)};
    }
    tn_vec_deinit(&in);
    out->n_node = (uint32_t)g->node.n;
    out->node = to;
}

static void see_ports(const onnx_graph *g, tn_arena *a, tn_part_graph *out)
{
    const onnx_value_info *in = g->input.at, *result = g->output.at;
    const onnx_tensor *t = g->initializer.at;
    const onnx_sparse *s = g->sparse_initializer.at;
    tn_strmap constant = {0};
    for (size_t i = 0; i < g->initializer.n; i++)
        put(&constant, t[i].name, i);
    for (size_t i = 0; i < g->sparse_initializer.n; i++)
        put(&constant, onnx_sparse_name(&s[i]), i);
    out->input = TN_NEW_N(a, const char *, g->input.n);
    out->output = TN_NEW_N(a, const char *, g->output.n);
    for (size_t i = 0; i < g->input.n; i++)
        if (!has(&constant, in[i].name))
            out->input[out->n_input++] = text(a, in[i].name);
    for (size_t i = 0; i < g->output.n; i++)
        out->output[out->n_output++] = text(a, result[i].name);
    tn_strmap_deinit(&constant);
}

tn_status tn_part_read(tn_ctx *ctx, const char *path, const tn_file *file, tn_arena *a, tn_part_graph *out)
{
    source s = {.ctx = ctx, .path = path, .file = file};
    *out = (tn_part_graph){0};
    tn_arena_init(&s.scratch);
    tn_status st = open_source(&s);
    if (st == TN_OK) {
        see_nodes(s.model.graph, a, out);
        see_ports(s.model.graph, a, out);
    }
    tn_arena_deinit(&s.scratch);
    return st;
}

/* ---- writing messages ---- */

static void put_number(tn_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        tn_buf_char(b, (char)(v | 0x80));
    tn_buf_char(b, (char)v);
}

static void put_int(tn_buf *b, uint32_t field, int64_t v)
{
    put_number(b, field << 3 | TN_PB_VARINT);
    put_number(b, (uint64_t)v);
}

static void put_bytes(tn_buf *b, uint32_t field, const void *at, size_t n)
{
    put_number(b, field << 3 | TN_PB_LEN);
    put_number(b, n);
    tn_buf_add(b, at, n);
}

static void put_message(tn_buf *b, uint32_t field, tn_buf *message) /* ends it */
{
    put_bytes(b, field, message->at, message->n);
    tn_buf_deinit(message);
}

/* ---- what a part needs ---- */

typedef struct writer {
    source *s;
    tn_part part;
    const onnx_graph *body; /* inside a node; NULL: the part is of the file's graph */
    tn_bytes body_bytes;
    tn_strmap given;    /* -> index of input */
    tn_strmap maker;    /* value -> node */
    tn_strmap needed;   /* values */
    tn_strmap constant; /* values -> initialiser */
    tn_strmap told;     /* values -> what the file says of them, in info */
    names info;
    bool *take; /* of each node */
    names todo;
} writer;

static tn_bytes bytes(const char *name) { return (tn_bytes){(const uint8_t *)name, strlen(name)}; }

static void want(writer *w, tn_bytes name)
{
    if (!name.n || has(&w->needed, name))
        return;
    put(&w->needed, name, 0);
    tn_vec_push(&w->todo, name);
}

static void find_makers(writer *w)
{
    const onnx_graph *g = w->s->model.graph;
    const onnx_node *n = g->node.at;
    const onnx_tensor *t = g->initializer.at;
    const onnx_sparse *s = g->sparse_initializer.at;
    for (size_t i = 0; i < g->node.n; i++)
        for (size_t k = 0; k < n[i].output.n; k++)
            put(&w->maker, ((const tn_bytes *)n[i].output.at)[k], i);
    for (size_t i = 0; i < g->initializer.n; i++)
        put(&w->constant, t[i].name, i);
    for (size_t i = 0; i < g->sparse_initializer.n; i++)
        put(&w->constant, onnx_sparse_name(&s[i]), i);
}

/* What the file says of the types of values: messages that become those of outputs. */
static void find_infos(writer *w)
{
    tn_pb r = tn_pb_open(w->s->file->at, w->s->file->n);
    while (tn_pb_next(&r))
        for (tn_pb g = tn_pb_sub(&r); r.field == MODEL_GRAPH && tn_pb_next(&g);)
            for (tn_pb v = tn_pb_sub(&g); (g.field == G_OUTPUT || g.field == G_VALUE) && tn_pb_next(&v);)
                if (v.field == 1 && v.wire == TN_PB_LEN) {
                    put(&w->told, v.bytes, w->info.n);
                    tn_vec_push(&w->info, g.bytes);
                }
}

static void find_needed(writer *w)
{
    const onnx_node *n = w->s->model.graph->node.at;
    names in = {0};
    uint64_t i;
    while (w->todo.n) {
        tn_bytes name = tn_vec_pop(&w->todo);
        if (has(&w->given, name) || !tn_strmap_get(&w->maker, (const char *)name.at, name.n, &i) ||
            w->take[i])
            continue;
        w->take[i] = true;
        tn_vec_clear(&in);
        find_operands(&n[i], &in);
        for (size_t k = 0; k < in.n; k++)
            want(w, in.at[k]);
    }
    tn_vec_deinit(&in);
}

/* ---- the graph inside a node ---- */

static tn_bytes node_bytes(const writer *w, uint64_t node)
{
    uint64_t i = 0;
    tn_pb r = tn_pb_open(w->s->file->at, w->s->file->n);
    while (tn_pb_next(&r))
        for (tn_pb g = tn_pb_sub(&r); r.field == MODEL_GRAPH && tn_pb_next(&g);)
            if (g.field == G_NODE && g.wire == TN_PB_LEN && i++ == node)
                return g.bytes;
    return (tn_bytes){0};
}

/* The graph that an attribute of a node is. */
static tn_bytes body_bytes(tn_bytes node, const char *attribute)
{
    tn_bytes found = {0};
    tn_pb a = tn_pb_open(node.at, node.n);
    while (tn_pb_next(&a)) {
        tn_bytes graph = {0};
        bool named = false;
        for (tn_pb f = tn_pb_sub(&a); a.field == NODE_ATTRIBUTE && tn_pb_next(&f);) {
            named |= f.field == ATTRIBUTE_NAME && tn_pb_is(&f, attribute);
            graph = f.field == ATTRIBUTE_GRAPH && f.wire == TN_PB_LEN ? f.bytes : graph;
        }
        found = named ? graph : found;
    }
    return found;
}

/* What the body reads from outside is what the part needs; its inputs get their names. */
static void choose_inputs(writer *w)
{
    const tn_part *p = &w->part;
    const onnx_value_info *formal = w->body->input.at;
    tn_part_value *in = TN_NEW_N(&w->s->scratch, tn_part_value, p->n_input);
    names outside = {0};
    uint32_t n = 0;
    find_captured(w->body, NULL, &outside);
    for (size_t i = 0; i < outside.n; i++)
        want(w, outside.at[i]);
    for (uint32_t i = 0; i < p->n_input; i++) {
        in[n] = p->input[i];
        if (i < w->body->input.n)
            in[n].name = text(&w->s->scratch, formal[i].name);
        n += i < w->body->input.n || has(&w->needed, bytes(in[n].name));
    }
    tn_vec_deinit(&outside);
    w->part.input = in;
    w->part.n_input = n;
}

static tn_status open_body(writer *w)
{
    const tn_part *p = &w->part;
    uint64_t at;
    if (!p->node)
        return TN_OK;
    if (tn_strmap_get(&w->maker, p->node, strlen(p->node), &at)) {
        const onnx_node *n = (const onnx_node *)w->s->model.graph->node.at + at;
        const onnx_attr *a = n->attribute.at;
        for (size_t i = 0; i < n->attribute.n; i++)
            if (a[i].g && a[i].name.n == strlen(p->body) && memcmp(a[i].name.at, p->body, a[i].name.n) == 0)
                w->body = a[i].g;
    }
    if (!w->body || w->body->input.n > p->n_input)
        return tn_error(w->s->ctx, "onnx-E074", &(tn_loc){.file = w->s->path},
                        "no node that computes \"%s\" has a graph \"%s\" with at most %u inputs", p->node,
                        p->body, (unsigned)p->n_input);
    w->body_bytes = body_bytes(node_bytes(w, at), p->body);
    choose_inputs(w);
    return TN_OK;
}

/* ---- the graph of a part ---- */

static int64_t data_type(tn_dtype t)
{
    static const struct {
        tn_dtype dtype;
        int64_t type;
    } known[] = {{{TN_FLOAT, 32, 1}, 1},    {{TN_UINT, 8, 1}, 2},       {{TN_INT, 8, 1}, 3},
                 {{TN_UINT, 16, 1}, 4},     {{TN_INT, 16, 1}, 5},       {{TN_INT, 32, 1}, 6},
                 {{TN_INT, 64, 1}, 7},      {{TN_BOOL, 8, 1}, 9},       {{TN_FLOAT, 16, 1}, 10},
                 {{TN_FLOAT, 64, 1}, 11},   {{TN_UINT, 32, 1}, 12},     {{TN_UINT, 64, 1}, 13},
                 {{TN_COMPLEX, 64, 1}, 14}, {{TN_COMPLEX, 128, 1}, 15}, {{TN_BFLOAT, 16, 1}, 16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].dtype.code == t.code && known[i].dtype.bits == t.bits)
            return known[i].type;
    return 0;
}

static tn_status no_type(writer *w, const char *name)
{
    return tn_error(w->s->ctx, "onnx-E072", &(tn_loc){.file = w->s->path},
                    "value \"%s\" has a type that an input of a part cannot have", name);
}

/* shape NULL: as many dimensions, whose extents are not told. */
static void put_type(const tn_part_value *v, tn_buf *info)
{
    tn_buf shape = {0}, tensor = {0}, type = {0};
    for (int d = 0; d < v->ndim; d++) {
        tn_buf dim = {0};
        if (v->shape && v->shape[d] >= 0)
            put_int(&dim, 1, v->shape[d]);
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, data_type(v->dtype));
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_message(info, 2, &type);
}

static tn_status put_input(writer *w, const tn_part_value *v, tn_buf *g)
{
    tn_buf info = {0};
    if (!data_type(v->dtype))
        return no_type(w, v->name);
    put_bytes(&info, 1, v->name, strlen(v->name));
    put_type(v, &info);
    put_message(g, G_INPUT, &info);
    return TN_OK;
}

/* Is there room for n more bytes in the graph of the part? */
static tn_status check_room(writer *w, const tn_buf *g, size_t n)
{
    enum { MOST = INT_MAX - (1 << 20) }; /* the rest of the model */
    return n <= MOST && g->n <= MOST - n
               ? TN_OK
               : tn_error(w->s->ctx, "onnx-E073", &(tn_loc){.file = w->s->path},
                          "the part is larger than the 2 GiB that an ONNX file can have");
}

static tn_status put_tensor(writer *w, const tn_part_value *v, tn_buf *g)
{
    tn_buf t = {0};
    TN_TRY(check_room(w, g, v->bytes));
    if (!data_type(v->dtype))
        return no_type(w, v->name);
    for (int d = 0; d < v->ndim; d++)
        put_int(&t, 1, v->shape[d]);
    put_int(&t, 2, data_type(v->dtype));
    put_bytes(&t, 8, v->name, strlen(v->name));
    put_bytes(&t, 9, v->data, v->bytes);
    put_message(g, G_INIT, &t);
    return TN_OK;
}

/* An initialiser whose data are in another file, with the data. */
static tn_status put_gathered(writer *w, const onnx_tensor *t, tn_buf *g)
{
    tn_arena arena;
    tn_pool pool;
    tn_graph graph;
    imp_model im;
    int64_t shape[IMP_MAX_RANK];
    tn_arena_init(&arena);
    tn_pool_init(&pool, w->s->ctx, &arena, NULL);
    tn_graph_init(&graph, w->s->ctx, &arena, &pool);
    imp_open(&im, &onnx_format, &graph, w->s->path, w->s->file, NULL);
    im.r = tn_region_new(&graph, NULL);
    const char *name = text(&arena, t->name);
    const tn_node *n = onnx_constant(&im, t, name, imp_make_loc(&im, NULL, NULL));
    tn_status st = n ? TN_OK : TN_FAIL;
    for (int d = 0; n && d < n->type[0]->n; d++)
        (void)tn_is_int(n->type[0]->dim[d], &shape[d]);
    if (n)
        st = put_tensor(w,
                        &(tn_part_value){.name = name,
                                         .dtype = n->type[0]->dtype,
                                         .ndim = n->type[0]->n,
                                         .shape = shape,
                                         .data = n->blob->at,
                                         .bytes = n->blob->n},
                        g);
    imp_close(&im);
    tn_graph_deinit(&graph);
    tn_arena_deinit(&arena);
    return st;
}

/* Where a walk over the elements of the file's graph stands: how many of each kind it has seen. */
typedef struct seen {
    size_t node, init, sparse, input;
} seen;

/* Of an initialiser that is an input too, both or neither are kept: alone it would be an input without a value. */
static bool keeps_input(const writer *w, tn_bytes name)
{
    if (has(&w->given, name))
        return false;
    return has(&w->needed, name) || (!w->part.input && !has(&w->constant, name));
}

static bool is_outside(const onnx_tensor *t) { return t->data_location == 1 || t->external_data.n; }

static tn_status put_element(writer *w, const tn_pb *r, seen *at, tn_buf *g)
{
    const onnx_graph *from = w->s->model.graph;
    bool take = r->field == G_NAME;
    if (r->field == G_SPARSE && r->wire == TN_PB_LEN) {
        tn_bytes name = onnx_sparse_name((const onnx_sparse *)from->sparse_initializer.at + at->sparse++);
        take = has(&w->needed, name) && !has(&w->given, name);
    }
    if (r->field == G_NODE && r->wire == TN_PB_LEN)
        take = w->take[at->node++];
    if (r->field == G_INPUT && r->wire == TN_PB_LEN)
        take = keeps_input(w, ((const onnx_value_info *)from->input.at)[at->input++].name);
    if (r->field == G_INIT && r->wire == TN_PB_LEN) {
        const onnx_tensor *t = (const onnx_tensor *)from->initializer.at + at->init++;
        take = has(&w->needed, t->name) && !has(&w->given, t->name);
        if (take && w->part.whole && is_outside(t))
            return put_gathered(w, t, g);
    }
    if (!take)
        return TN_OK;
    TN_TRY(check_room(w, g, r->bytes.n));
    put_bytes(g, r->field, r->bytes.at, r->bytes.n);
    return TN_OK;
}

static tn_status put_outputs(writer *w, tn_buf *g) /* those of a body have been put */
{
    const tn_part *p = &w->part;
    for (uint32_t i = 0; i < p->n_output; i++) {
        uint64_t at;
        size_t n = strlen(p->output[i]);
        bool told = tn_strmap_get(&w->told, p->output[i], n, &at);
        tn_buf info = {0};
        if (!told && !has(&w->maker, bytes(p->output[i])))
            return tn_error(w->s->ctx, "onnx-E071", &(tn_loc){.file = w->s->path}, "no node computes \"%s\"",
                            p->output[i]);
        if (told)
            tn_buf_add(&info, w->info.at[at].at, w->info.at[at].n);
        else
            put_bytes(&info, 1, p->output[i], n);
        if (!told && p->output_type && data_type(p->output_type[i].dtype))
            put_type(&p->output_type[i], &info);
        put_message(g, G_OUTPUT, &info);
    }
    return TN_OK;
}

static tn_status put_body(writer *w, tn_buf *g)
{
    const onnx_tensor *t = w->body ? w->body->initializer.at : NULL;
    size_t i = 0;
    tn_status st = TN_OK;
    for (tn_pb e = tn_pb_open(w->body_bytes.at, w->body_bytes.n); st == TN_OK && tn_pb_next(&e);) {
        bool tensor = e.field == G_INIT && e.wire == TN_PB_LEN;
        if (tensor && w->part.whole && i < w->body->initializer.n && is_outside(&t[i])) {
            st = put_gathered(w, &t[i], g);
        } else if (tensor || e.field == G_NODE || e.field == G_SPARSE || e.field == G_OUTPUT) {
            st = check_room(w, g, e.bytes.n);
            if (st == TN_OK)
                put_bytes(g, e.field, e.bytes.at, e.bytes.n);
        }
        i += tensor;
    }
    return st;
}

static tn_status put_graph(writer *w, tn_buf *g)
{
    seen at = {0};
    tn_status st = TN_OK;
    tn_pb r = tn_pb_open(w->s->file->at, w->s->file->n);
    for (uint32_t i = 0; i < w->part.n_input && st == TN_OK; i++)
        st = w->part.input[i].data ? put_tensor(w, &w->part.input[i], g) : put_input(w, &w->part.input[i], g);
    while (st == TN_OK && tn_pb_next(&r))
        for (tn_pb e = tn_pb_sub(&r); r.field == MODEL_GRAPH && st == TN_OK && tn_pb_next(&e);)
            st = put_element(w, &e, &at, g);
    if (st == TN_OK)
        st = put_body(w, g);
    return st == TN_OK ? put_outputs(w, g) : st;
}

static void put_model(writer *w, tn_buf *graph, tn_buf *out)
{
    tn_pb r = tn_pb_open(w->s->file->at, w->s->file->n);
    const uint8_t *from = r.at;
    for (; tn_pb_next(&r); from = r.at)
        if (r.field != MODEL_GRAPH && r.field != MODEL_TRAINING)
            tn_buf_add(out, from, (size_t)(r.at - from));
    put_bytes(out, MODEL_GRAPH, graph->at, graph->n);
}

static tn_status write_part(writer *w, tn_buf *out)
{
    tn_buf graph = {0};
    TN_TRY(open_source(w->s));
    w->take = TN_NEW_N(&w->s->scratch, bool, w->s->model.graph->node.n);
    find_makers(w);
    TN_TRY(open_body(w));
    for (uint32_t i = 0; i < w->part.n_input; i++)
        put(&w->given, bytes(w->part.input[i].name), i);
    find_infos(w);
    for (uint32_t i = 0; i < w->part.n_output; i++)
        want(w, bytes(w->part.output[i]));
    find_needed(w);
    tn_status st = put_graph(w, &graph);
    if (st == TN_OK)
        put_model(w, &graph, out);
    tn_buf_deinit(&graph);
    return st;
}

tn_status tn_part_write(tn_ctx *ctx, const char *path, const tn_file *file, const tn_part *part, tn_buf *out)
{
    source s = {.ctx = ctx, .path = path, .file = file};
    writer w = {.s = &s, .part = *part};
    tn_arena_init(&s.scratch);
    tn_status st = write_part(&w, out);
    tn_strmap_deinit(&w.given);
    tn_strmap_deinit(&w.maker);
    tn_strmap_deinit(&w.needed);
    tn_strmap_deinit(&w.constant);
    tn_strmap_deinit(&w.told);
    tn_vec_deinit(&w.info);
    tn_vec_deinit(&w.todo);
    tn_arena_deinit(&s.scratch);
    return st;
}
