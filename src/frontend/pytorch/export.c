/* Programs of torch.export (.pt2): a graph of ATen calls as JSON, weights as files of the archive. */
#include "frontend/pytorch/pytorch.h"

#include "base/wire/json.h"

#include <string.h>

typedef struct program {
    pt_import *p;
    const tn_json *graph, *signature;
    tn_strmap names; /* -> pt_value * */
} program;

static tn_status damaged(pt_import *p, const char *why)
{
    return tn_error(p->im.g->ctx, "pytorch-E019", imp_make_loc(&p->im, NULL, NULL),
                    "its program cannot be read: %s; export it with a newer torch, or the file is damaged",
                    why);
}

static tn_bytes text_of(const tn_json *v)
{
    return tn_json_is(v, TN_JSON_STRING) ? (tn_bytes){(const uint8_t *)v->u.s, v->n} : (tn_bytes){0};
}

static size_t count(const tn_json *v) { return tn_json_is(v, TN_JSON_ARRAY) ? v->n : 0; }

/* The value of the only member of an object, and its key. */
static const tn_json *member(const tn_json *v, tn_bytes *key)
{
    *key = (tn_bytes){0};
    if (!tn_json_is(v, TN_JSON_OBJECT) || v->n < 1)
        return NULL;
    *key = text_of(&v->u.at[0]);
    return &v->u.at[1];
}

static void define(program *g, tn_bytes name, pt_value v)
{
    pt_value *at = TN_NEW(&g->p->im.scratch, pt_value);
    *at = v;
    tn_strmap_put(&g->names, (const char *)name.at, name.n, (uint64_t)(uintptr_t)at);
}

static pt_value lookup(program *g, tn_bytes name)
{
    uint64_t at;
    if (tn_strmap_get(&g->names, (const char *)name.at, name.n, &at))
        return *(const pt_value *)(uintptr_t)at;
    pt_fail(g->p, "pytorch-E003", "the program uses \"%s\", which it does not set",
            imp_text(&g->p->im, name));
    return pt_bad();
}

/* Types are numbered from 1; bfloat16 stands elsewhere than in a ScalarType. */
static int64_t type_code(int64_t v) { return v == 13 ? 15 : v - 1; }

/* ---- arguments ---- */

static pt_value argument(program *g, const tn_json *v, int depth);

static pt_value list_of(program *g, const tn_json *v, int depth)
{
    pt_value list = pt_make(&g->p->im.scratch, PT_LIST, 0, NULL);
    list.list->owner = g->p->im.r;
    for (size_t i = 0; i < count(v); i++) {
        const tn_json *e = &v->u.at[i];
        tn_bytes name = text_of(tn_json_find(e, "name"));
        pt_push(&g->p->im.scratch, list.list, name.n ? lookup(g, name) : argument(g, e, depth + 1));
    }
    return list;
}

/* {"as_int": 3}, or 3 */
static pt_value argument(program *g, const tn_json *v, int depth)
{
    tn_bytes kind;
    if (depth > 16 || !v)
        return pt_none();
    switch (v->kind) {
    case TN_JSON_INT: return pt_int(v->u.i);
    case TN_JSON_REAL: return pt_float(v->u.r);
    case TN_JSON_BOOL: return pt_bool(v->u.b);
    case TN_JSON_STRING: return pt_text(text_of(v));
    case TN_JSON_ARRAY: return list_of(g, v, depth);
    default: break;
    }
    const tn_json *is = member(v, &kind);
    if (!is || imp_is(kind, "as_none") || imp_is(kind, "as_memory_format") || imp_is(kind, "as_layout") ||
        imp_is(kind, "as_device"))
        return pt_none();
    if (imp_is(kind, "as_scalar_type"))
        return tn_json_is(is, TN_JSON_INT) ? pt_int(type_code(is->u.i)) : pt_bad();
    if (imp_is(kind, "as_name"))
        return lookup(g, text_of(is));
    if (imp_is(kind, "as_float") && tn_json_is(is, TN_JSON_STRING))
        return pt_convert(g->p, PT_FLOAT, pt_text(text_of(is)));
    if (imp_is(kind, "as_float") && tn_json_is(is, TN_JSON_INT))
        return pt_float((double)is->u.i);
    tn_bytes name = text_of(tn_json_find(is, "name"));
    return name.n ? lookup(g, name) : argument(g, is, depth + 1);
}

/* ---- nodes ---- */

/* "torch.ops.aten.add.Tensor": add; of other families "family::name" */
static tn_bytes operator_of(program *g, tn_bytes target)
{
    static const char ops[] = "torch.ops.";
    if (target.n <= sizeof ops || memcmp(target.at, ops, sizeof ops - 1) != 0) {
        const uint8_t *dot = memchr(target.at, '.', target.n); /* _operator.add */
        return dot ? (tn_bytes){dot + 1, (size_t)(target.at + target.n - dot - 1)} : target;
    }
    tn_bytes rest = {target.at + sizeof ops - 1, target.n - sizeof ops + 1};
    const uint8_t *dot = memchr(rest.at, '.', rest.n);
    size_t family = dot ? (size_t)(dot - rest.at) : rest.n, k = family + 1;
    tn_bytes name = dot ? (tn_bytes){dot + 1, rest.n - k} : (tn_bytes){0};
    const uint8_t *overload = name.n ? memchr(name.at, '.', name.n) : NULL;
    if (overload)
        name.n = (size_t)(overload - name.at);
    if (family == 4 && memcmp(rest.at, "aten", 4) == 0)
        return name;
    return pt_words(tn_arena_printf(&g->p->im.scratch, "%.*s::%.*s", (int)family, (const char *)rest.at,
                                    (int)name.n, (const char *)name.at))
        .text;
}

static void results(program *g, const tn_json *out, pt_value v)
{
    tn_bytes kind;
    const tn_json *is = count(out) == 1 ? member(&out->u.at[0], &kind) : NULL;
    if (is && tn_json_is(is, TN_JSON_ARRAY))
        out = is; /* a list of tensors */
    for (size_t i = 0; i < count(out); i++) {
        bool many = count(out) > 1 || out == is;
        const tn_json *e = out == is ? &out->u.at[i] : member(&out->u.at[i], &kind);
        tn_bytes name = text_of(tn_json_find(e, "name"));
        name = name.n ? name : text_of(tn_json_find(e, "as_name"));
        if (name.n)
            define(g, name, !many || pt_is_bad(v) ? v : pt_is_sequence(v) ? pt_at(v, i) : pt_bad());
    }
}

static void node(program *g, const tn_json *n)
{
    pt_import *p = g->p;
    const tn_json *in = tn_json_find(n, "inputs");
    tn_bytes target = text_of(tn_json_find(n, "target")), name = operator_of(g, target);
    size_t k = count(in);
    pt_value *at = TN_NEW_N(&p->im.scratch, pt_value, k), v = pt_bad();
    tn_bytes *keyword = TN_NEW_N(&p->im.scratch, tn_bytes, k);
    tn_bytes shown = text_of(tn_json_find(n, "name"));
    p->file = shown.n ? imp_text(&p->im, shown) : "node";
    p->loc_op = imp_text(&p->im, name);
    for (size_t i = 0; i < k; i++) {
        const tn_json *kind = tn_json_find(&in->u.at[i], "kind");
        at[i] = argument(g, tn_json_find(&in->u.at[i], "arg"), 0);
        if (tn_json_is(kind, TN_JSON_INT) && kind->u.i == 2)
            keyword[i] = text_of(tn_json_find(&in->u.at[i], "name"));
    }
    pt_args a = {k, at, keyword};
    if (p->stop)
        return;
    if (imp_is(name, "getitem") && k == 2)
        v = pt_item(p, at[0], at[1]);
    else if (!pt_python_binary(p, name, &a, &v) && !pt_python(p, name, &a, &v))
        v = pt_apply(p, name, &a);
    results(g, tn_json_find(n, "outputs"), v);
}

static pt_value run(pt_import *p, void *user)
{
    program *g = user;
    const tn_json *nodes = tn_json_find(g->graph, "nodes"), *out = tn_json_find(g->signature, "output_specs");
    pt_value all = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL),
             kept = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t i = 0; i < count(nodes) && !p->stop && !p->raised; i++)
        node(g, &nodes->u.at[i]);
    for (size_t i = 0; i < count(out) && !p->stop; i++) {
        tn_bytes kind;
        const tn_json *spec = member(&out->u.at[i], &kind);
        if (imp_is(kind, "user_output"))
            pt_push(&p->im.scratch, all.list, argument(g, tn_json_find(spec, "arg"), 0));
        else if (imp_is(kind, "buffer_mutation"))
            pt_push(&p->im.scratch, kept.list,
                    lookup(g, text_of(tn_json_find(tn_json_find(spec, "arg"), "name"))));
        else if (imp_is(kind, "user_input_mutation"))
            pt_fail(p, "pytorch-E020",
                    "the program changes an input, which is not supported; return the new value");
    }
    return pt_make(&p->im.scratch, PT_TUPLE, 2,
                   (const pt_value[]){all.list->n == 1 ? pt_at(all, 0) : all, kept});
}

/* ---- weights ---- */

static bool sizes(const tn_json *v, int64_t *out)
{
    for (size_t i = 0; i < count(v); i++) {
        tn_bytes kind;
        const tn_json *e = member(&v->u.at[i], &kind);
        if (!tn_json_is(e, TN_JSON_INT))
            return false;
        out[i] = e->u.i;
    }
    return true;
}

/* A tensor over the bytes of an entry of the archive. NULL: it is not described so. */
static pt_tensor *weight(pt_import *p, const char *folder, const tn_json *spec)
{
    const tn_json *meta = tn_json_find(spec, "tensor_meta"), *dtype = tn_json_find(meta, "dtype"),
                  *dims = tn_json_find(meta, "sizes"), *strides = tn_json_find(meta, "strides");
    tn_bytes path = text_of(tn_json_find(spec, "path_name")), kind;
    const tn_json *offset = member(tn_json_find(meta, "storage_offset"), &kind);
    const char *name =
        tn_arena_printf(&p->im.scratch, "%s%s%.*s", p->root, folder, (int)(path.n > 256 ? 256 : path.n),
                        path.n ? (const char *)path.at : "");
    const imp_zip_entry *e = imp_zip_find(&p->zip, name);
    pt_storage *s = TN_NEW(&p->im.scratch, pt_storage);
    pt_tensor *t = TN_NEW(&p->im.scratch, pt_tensor);
    size_t n = count(dims);
    int64_t *at = TN_NEW_N(&p->im.scratch, int64_t, 2 * n + 1);
    if (!e || n > PT_MAX_RANK || count(strides) != n || !tn_json_is(dtype, TN_JSON_INT) ||
        !pt_dtype_of(type_code(dtype->u.i), &s->dtype) || !sizes(dims, at) || !sizes(strides, at + n) ||
        !tn_json_is(offset, TN_JSON_INT) || imp_zip_read(&p->im.scratch, &p->zip, e, &s->data))
        return NULL;
    s->has_data = true;
    s->key = path;
    *t = (pt_tensor){.storage = s, .offset = offset->u.i, .n = (int)n, .dim = at, .stride = at + n};
    return t;
}

static tn_status read_json(pt_import *p, const char *name, tn_json_doc *out)
{
    const imp_zip_entry *e = imp_zip_find(&p->zip, tn_arena_printf(&p->im.scratch, "%s%s", p->root, name));
    tn_bytes text;
    *out = (tn_json_doc){0};
    const char *why =
        e ? imp_zip_read(&p->im.scratch, &p->zip, e, &text) : "a file of the archive is missing";
    if (why)
        return damaged(p, why);
    void *copy = tn_arena_copy(&p->im.scratch, text.at, text.n, 1); /* names outlive the document */
    *out = tn_json_read(copy, text.n);
    return out->error ? damaged(p, out->error) : TN_OK;
}

/* Weights by the names that the model gives them. */
static tn_status read_weights(program *g, const char *folder, const char *file, tn_strmap *found)
{
    pt_import *p = g->p;
    tn_json_doc doc;
    tn_status s = read_json(p, tn_arena_printf(&p->im.scratch, "%s%s", folder, file), &doc);
    const tn_json *config = tn_json_find(doc.root, "config");
    for (size_t i = 0; s == TN_OK && tn_json_is(config, TN_JSON_OBJECT) && i < config->n; i++) {
        tn_bytes name = text_of(&config->u.at[2 * i]);
        pt_tensor *t = weight(p, folder, &config->u.at[2 * i + 1]);
        if (!t)
            continue; /* said where it is used */
        t->name = imp_text(&p->im, name);
        tn_strmap_put(found, t->name, strlen(t->name), (uint64_t)(uintptr_t)t);
    }
    tn_json_free(&doc);
    return s;
}

/* ---- inputs ---- */

/* false: its type is not supported, or it has none. */
static bool describe(program *g, tn_bytes name, imp_input *out)
{
    pt_import *p = g->p;
    char *key = tn_arena_strndup(&p->im.scratch, (const char *)name.at, name.n);
    const tn_json *meta = tn_json_find(tn_json_find(g->graph, "tensor_values"), key);
    const tn_json *dims = tn_json_find(meta, "sizes"), *dtype = tn_json_find(meta, "dtype");
    *out = (imp_input){.name = name, .has_shape = true, .n = count(dims)};
    imp_dim *dim = TN_NEW_N(&p->im.scratch, imp_dim, out->n);
    for (size_t i = 0; i < out->n; i++) {
        tn_bytes kind;
        const tn_json *e = member(&dims->u.at[i], &kind);
        dim[i] = tn_json_is(e, TN_JSON_INT) ? (imp_dim){.extent = e->u.i}
                                            : (imp_dim){-1, text_of(tn_json_find(e, "expr_str"))};
    }
    out->dim = dim;
    return tn_json_is(dtype, TN_JSON_INT) && pt_dtype_of(type_code(dtype->u.i), &out->dtype);
}

/* The tensors that the program takes. */
static tn_status user_inputs(program *g)
{
    pt_import *p = g->p;
    const tn_json *in = tn_json_find(g->signature, "input_specs");
    imp_input *list = TN_NEW_N(&p->im.scratch, imp_input, count(in));
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    size_t n = 0;
    for (size_t i = 0; i < count(in); i++) {
        tn_bytes kind, of = {0};
        const tn_json *spec = member(&in->u.at[i], &kind);
        bool user = imp_is(kind, "user_input");
        const tn_json *is = member(tn_json_find(spec, "arg"), &kind);
        of = user && imp_is(kind, "as_tensor") ? text_of(tn_json_find(is, "name")) : of;
        if (of.n && !describe(g, of, &list[n++]))
            return damaged(p, "an input has no type, or one that is not supported");
    }
    TN_TRY(imp_check_shapes(&p->im, n, list));
    for (size_t i = 0; i < n; i++) {
        TN_TRY(imp_define(&p->im, list[i].name, (imp_value){.state = IMP_BAD}, loc));
        TN_TRY(imp_add_input(&p->im, &list[i], loc));
        define(g, list[i].name, pt_tensor_new(p, imp_lookup(&p->im, list[i].name)->v));
    }
    return TN_OK;
}

/* Inputs of the graph that are weights. */
static tn_status bind_weights(program *g, const tn_strmap *found)
{
    static const char *const source[] = {"parameter_name", "buffer_name", "tensor_constant_name"};
    const tn_json *in = tn_json_find(g->signature, "input_specs");
    for (size_t i = 0; i < count(in); i++) {
        tn_bytes kind, from = {0};
        const tn_json *spec = member(&in->u.at[i], &kind), *arg = tn_json_find(spec, "arg");
        uint64_t at;
        for (int k = 0; k < 3 && !from.n; k++)
            from = text_of(tn_json_find(spec, source[k]));
        if (!from.n)
            continue;
        if (!tn_strmap_get(found, (const char *)from.at, from.n, &at))
            return damaged(g->p, tn_arena_printf(&g->p->im.scratch, "the weight %s is missing, or pickled",
                                                 imp_text(&g->p->im, from)));
        define(g, text_of(tn_json_find(arg, "name")),
               (pt_value){.kind = PT_TENSOR, .tensor = (pt_tensor *)(uintptr_t)at});
    }
    return TN_OK;
}

/* ---- buffers that change ---- */

/* What the program calls that buffer; n 0: it has none. */
static tn_bytes input_of(program *g, tn_bytes buffer)
{
    const tn_json *in = tn_json_find(g->signature, "input_specs");
    for (size_t i = 0; i < count(in); i++) {
        tn_bytes kind;
        const tn_json *spec = member(&in->u.at[i], &kind);
        if (imp_is(kind, "buffer") && imp_same(text_of(tn_json_find(spec, "buffer_name")), buffer))
            return text_of(tn_json_find(tn_json_find(spec, "arg"), "name"));
    }
    return (tn_bytes){0};
}

/* The names of the buffers that the program sets, in its order. */
static tn_bytes *changed_buffers(program *g, size_t *n)
{
    const tn_json *out = tn_json_find(g->signature, "output_specs");
    tn_bytes *name = TN_NEW_N(&g->p->im.scratch, tn_bytes, count(out));
    *n = 0;
    for (size_t i = 0; i < count(out); i++) {
        tn_bytes kind;
        const tn_json *spec = member(&out->u.at[i], &kind);
        if (imp_is(kind, "buffer_mutation"))
            name[(*n)++] = text_of(tn_json_find(spec, "buffer_name"));
    }
    return name;
}

/* They are states: each run begins with what the last one left. */
static tn_status begin_states(program *g)
{
    pt_import *p = g->p;
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    size_t n;
    const tn_bytes *name = changed_buffers(g, &n);
    for (size_t i = 0; i < n; i++) {
        tn_bytes input = input_of(g, name[i]);
        pt_value v = input.n ? lookup(g, input) : pt_none();
        tn_value first = v.kind == PT_TENSOR ? pt_tensor_value(p, v.tensor) : (tn_value){0};
        if (!first.def)
            return p->stop ? TN_FAIL : damaged(p, "it changes a buffer that it does not have");
        tn_value begins = imp_state(&p->im, imp_text(&p->im, name[i]), imp_type(first), first.def->blob, loc);
        if (!begins.def)
            return TN_FAIL;
        define(g, input, pt_tensor_new(p, begins));
    }
    return TN_OK;
}

static tn_status end_states(program *g, pt_value kept)
{
    pt_import *p = g->p;
    size_t n;
    const tn_bytes *name = changed_buffers(g, &n);
    for (size_t i = 0; i < n; i++)
        TN_TRY(imp_set_state(&p->im, imp_text(&p->im, name[i]), pt_as_tensor(pt_ctx(p), pt_at(kept, i)),
                             imp_make_loc(&p->im, NULL, NULL)));
    return TN_OK;
}

static tn_status read_program(program *g)
{
    pt_import *p = g->p;
    tn_strmap found = {0};
    pt_value result;
    if (!g->graph || !g->signature)
        return damaged(p, "it has no graph");
    tn_status s = read_weights(g, "data/weights/", "model_weights_config.json", &found);
    if (s == TN_OK)
        s = read_weights(g, "data/constants/", "model_constants_config.json", &found);
    if (s == TN_OK)
        s = user_inputs(g);
    if (s == TN_OK)
        s = bind_weights(g, &found);
    tn_strmap_deinit(&found);
    if (s == TN_OK)
        s = begin_states(g);
    if (s == TN_OK)
        s = pt_read_with_states(p, run, g, &result);
    if (s == TN_OK)
        s = end_states(g, pt_at(result, 1));
    return s == TN_OK ? pt_give_results(p, pt_at(result, 0)) : s;
}

tn_status pt_import_export(pt_import *p)
{
    program g = {.p = p};
    tn_json_doc doc;
    TN_TRY(read_json(p, "models/model.json", &doc));
    const tn_json *module = tn_json_find(doc.root, "graph_module");
    g.graph = tn_json_find(module, "graph");
    g.signature = tn_json_find(module, "signature");
    tn_status s = read_program(&g);
    tn_strmap_deinit(&g.names);
    tn_json_free(&doc);
    return s;
}
