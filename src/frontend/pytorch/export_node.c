/* Graphs of torch.export: nodes that call operators, with arguments as JSON. */
#include "frontend/pytorch/export.h"

#include <string.h>

void pt_define(pt_program *g, tn_bytes name, pt_value v)
{
    pt_value *at = TN_NEW(&g->p->im.scratch, pt_value);
    *at = v;
    tn_strmap_put(&g->names, (const char *)name.at, name.n, (uint64_t)(uintptr_t)at);
}

pt_value pt_lookup(pt_program *g, tn_bytes name)
{
    uint64_t at;
    if (tn_strmap_get(&g->names, (const char *)name.at, name.n, &at))
        return *(const pt_value *)(uintptr_t)at;
    pt_fail(g->p, "pytorch-E003", "the program uses \"%s\", which it does not set",
            imp_text(&g->p->im, name));
    return pt_bad();
}

/* ---- arguments ---- */

static pt_value list_of(pt_program *g, const tn_json *v, int depth)
{
    pt_value list = pt_make(&g->p->im.scratch, PT_LIST, 0, NULL);
    list.list->owner = g->p->im.r;
    for (size_t i = 0; i < pt_json_count(v); i++) {
        const tn_json *e = &v->u.at[i];
        tn_bytes name = pt_json_text(tn_json_find(e, "name"));
        pt_push(&g->p->im.scratch, list.list, name.n ? pt_lookup(g, name) : pt_argument(g, e, depth + 1));
    }
    return list;
}

pt_value pt_argument(pt_program *g, const tn_json *v, int depth)
{
    tn_bytes kind;
    if (depth > 16 || !v)
        return pt_none();
    switch (v->kind) {
    case TN_JSON_INT: return pt_int(v->u.i);
    case TN_JSON_REAL: return pt_float(v->u.r);
    case TN_JSON_BOOL: return pt_bool(v->u.b);
    case TN_JSON_STRING: return pt_text(pt_json_text(v));
    case TN_JSON_ARRAY: return list_of(g, v, depth);
    default: break;
    }
    const tn_json *is = pt_json_member(v, &kind);
    if (!is || imp_is(kind, "as_none") || imp_is(kind, "as_memory_format") || imp_is(kind, "as_layout") ||
        imp_is(kind, "as_device") || imp_is(kind, "as_graph"))
        return pt_none();
    if (imp_is(kind, "as_scalar_type"))
        return tn_json_is(is, TN_JSON_INT) ? pt_int(pt_json_type(is->u.i)) : pt_bad();
    if (imp_is(kind, "as_name") || (imp_is(kind, "as_tensor") && tn_json_is(is, TN_JSON_STRING)))
        return pt_lookup(g, pt_json_text(is));
    if (imp_is(kind, "as_float") && tn_json_is(is, TN_JSON_STRING))
        return pt_convert(g->p, PT_FLOAT, pt_text(pt_json_text(is)));
    if (imp_is(kind, "as_float") && tn_json_is(is, TN_JSON_INT))
        return pt_float((double)is->u.i);
    if (imp_is(kind, "as_complex")) {
        pt_value part[2] = {pt_argument(g, tn_json_find(is, "real"), depth + 1),
                            pt_argument(g, tn_json_find(is, "imag"), depth + 1)};
        for (int i = 0; i < 2; i++)
            part[i] = part[i].kind == PT_TEXT || part[i].kind == PT_INT ? pt_convert(g->p, PT_FLOAT, part[i])
                                                                        : part[i];
        if (part[0].kind == PT_FLOAT && part[1].kind == PT_FLOAT)
            return pt_complex_number(&g->p->im.scratch, part[0].f, part[1].f);
        pt_fail(g->p, "pytorch-E003", "a complex number has no real or no imaginary part");
        return pt_bad();
    }
    tn_bytes name = pt_json_text(tn_json_find(is, "name"));
    return name.n ? pt_lookup(g, name) : pt_argument(g, is, depth + 1);
}

/* ---- nodes ---- */

/* What comes behind the word, if the text begins with it; n 0: it does not. */
static tn_bytes behind(tn_bytes s, const char *word)
{
    size_t k = strlen(word);
    return s.n > k && memcmp(s.at, word, k) == 0 ? (tn_bytes){s.at + k, s.n - k} : (tn_bytes){0};
}

/* Functions of numbers: "_operator.truediv", "math.trunc", "torch.sym_not"; as TorchScript calls them. */
static tn_bytes of_numbers(tn_bytes target)
{
    static const char *const rows[][2] = {
        {"truediv", "div"}, {"and_", "__and__"},    {"or_", "__or__"},      {"trunc", "Int"},
        {"sym_int", "Int"}, {"sym_float", "Float"}, {"sym_not", "__not__"}, {"_sym_sqrt", "sqrt"}};
    const uint8_t *dot = target.n ? memchr(target.at, '.', target.n) : NULL;
    tn_bytes name = dot ? (tn_bytes){dot + 1, (size_t)(target.at + target.n - dot - 1)} : target;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (imp_is(name, rows[i][0]))
            return pt_words(rows[i][1]).text;
    return name;
}

/* "torch.ops.aten.add.Tensor": add; of other families "family::name" */
static tn_bytes operator_of(pt_program *g, tn_bytes target)
{
    tn_bytes rest = behind(target, "torch.ops."), wrap = behind(target, "torch._higher_order_ops.wrap.");
    if (wrap.n) /* torch 2.4 */
        return pt_words(tn_arena_printf(&g->p->im.scratch, "higher_order::%.*s", (int)wrap.n,
                                        (const char *)wrap.at))
            .text;
    if (!rest.n)
        return of_numbers(target);
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

/* The names of results, those of a list one after the other. */
static size_t result_names(pt_import *p, const tn_json *out, tn_bytes **names)
{
    size_t n = 0, room = 0;
    tn_bytes kind;
    for (size_t i = 0; i < pt_json_count(out); i++)
        room += 1 + pt_json_count(pt_json_member(&out->u.at[i], &kind));
    *names = TN_NEW_N(&p->im.scratch, tn_bytes, room + 1);
    for (size_t i = 0; i < pt_json_count(out); i++) {
        const tn_json *is = pt_json_member(&out->u.at[i], &kind);
        bool list = tn_json_is(is, TN_JSON_ARRAY);
        for (size_t k = 0; k < (list ? is->n : 1); k++) {
            const tn_json *e = list ? &is->u.at[k] : is;
            tn_bytes name = pt_json_text(tn_json_find(e, "name"));
            (*names)[n++] = name.n ? name : pt_json_text(tn_json_find(e, "as_name"));
        }
    }
    return n;
}

/* Results of an operator that gives a list; 0: it gives none. */
static uint32_t list_length(const tn_json *out)
{
    tn_bytes kind;
    const tn_json *is = pt_json_count(out) == 1 ? pt_json_member(&out->u.at[0], &kind) : NULL;
    return tn_json_is(is, TN_JSON_ARRAY) ? (uint32_t)is->n : 0;
}

/* many: the value is a list of them even where there is only one */
static void define_results(pt_program *g, const tn_json *out, pt_value v, bool many)
{
    tn_bytes *names, kind;
    size_t n = result_names(g->p, out, &names);
    many = many || n > 1 ||
           (pt_json_count(out) == 1 && tn_json_is(pt_json_member(&out->u.at[0], &kind), TN_JSON_ARRAY));
    for (size_t i = 0; i < n; i++)
        if (names[i].n)
            pt_define(g, names[i], !many || pt_is_bad(v) ? v : pt_is_sequence(v) ? pt_at(v, i) : pt_bad());
}

/* Products of float32 compute in the type of an autocast. */
static pt_value narrowed(pt_program *g, pt_value v)
{
    imp_node *c = pt_ctx(g->p);
    if (v.kind != PT_TENSOR || v.tensor->quantised)
        return v;
    tn_value x = pt_as_tensor(c, v);
    bool wide = x.def && tn_dtype_is_float(imp_type(x)->dtype) && imp_type(x)->dtype.bits <= 32;
    v = wide ? pt_tensor_new(g->p, imp_cast(c, x, g->autocast)) : v;
    pt_stop_if_bad(g->p, c);
    return v;
}

static void apply_autocast(pt_program *g, tn_bytes name, pt_args *a, pt_value *at)
{
    static const char *const narrow[] = {"linear",
                                         "matmul",
                                         "mm",
                                         "bmm",
                                         "addmm",
                                         "addbmm",
                                         "baddbmm",
                                         "conv1d",
                                         "conv2d",
                                         "conv3d",
                                         "conv_tbc",
                                         "conv_transpose1d",
                                         "conv_transpose2d",
                                         "conv_transpose3d",
                                         "scaled_dot_product_attention",
                                         "einsum"};
    bool is = false;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow && g->autocast.bits; i++)
        is = is || imp_is(name, narrow[i]);
    for (size_t i = 0; is && i < a->n; i++) {
        at[i] = narrowed(g, at[i]);
        for (size_t k = 0; at[i].kind == PT_LIST && k < at[i].list->n; k++)
            at[i].list->at[k] = narrowed(g, pt_at(at[i], k));
    }
}

/* Which arguments stand by name: the file says so, or, before torch 2.7, names all. */
static void name_arguments(pt_program *g, tn_bytes target, tn_bytes name, const tn_json *in,
                           tn_bytes keyword[])
{
    bool told = true;
    for (size_t i = 0; i < pt_json_count(in); i++) {
        const tn_json *kind = tn_json_find(&in->u.at[i], "kind");
        bool by_name = tn_json_is(kind, TN_JSON_INT) && kind->u.i == 2;
        told = told && tn_json_is(kind, TN_JSON_INT);
        keyword[i] = by_name || !told ? pt_json_text(tn_json_find(&in->u.at[i], "name")) : (tn_bytes){0};
    }
    if (!told && behind(target, "torch.ops.").n)
        pt_place_named(g->p, name, pt_json_count(in), keyword);
    else if (!told)
        memset(keyword, 0, pt_json_count(in) * sizeof *keyword);
}

static void node(pt_program *g, const tn_json *n)
{
    pt_import *p = g->p;
    const tn_json *in = tn_json_find(n, "inputs"), *out = tn_json_find(n, "outputs");
    tn_bytes target = pt_json_text(tn_json_find(n, "target")), name = operator_of(g, target), *names;
    if (!name.n) {
        (void)pt_damaged_program(p, "a node has no operator");
        p->stop = true;
        return;
    }
    size_t k = pt_json_count(in);
    pt_value *at = TN_NEW_N(&p->im.scratch, pt_value, k), v = pt_bad();
    tn_bytes *keyword = TN_NEW_N(&p->im.scratch, tn_bytes, k);
    tn_bytes shown = pt_json_text(tn_json_find(n, "name"));
    if (!shown.n && result_names(p, out, &names))
        shown = names[0];
    p->file = shown.n ? imp_text(&p->im, shown) : "node";
    p->loc_op = imp_text(&p->im, name);
    tn_bytes higher = behind(name, "higher_order::");
    if (higher.n) {
        v = pt_higher_order(g, higher, in);
        define_results(g, out, v, true);
        return;
    }
    for (size_t i = 0; i < k; i++)
        at[i] = pt_argument(g, tn_json_find(&in->u.at[i], "arg"), 0);
    name_arguments(g, target, name, in, keyword);
    pt_args a = {k, at, keyword};
    apply_autocast(g, name, &a, at);
    if (p->stop)
        return;
    p->wanted = list_length(out);
    if (imp_is(name, "getitem") && k == 2)
        v = pt_item(p, at[0], at[1]);
    else if (!pt_python_binary(p, name, &a, &v) && !pt_python(p, name, &a, &v))
        v = pt_apply(p, name, &a);
    define_results(g, out, v, false);
}

/* ---- graphs ---- */

void pt_read_nodes(pt_program *g, const tn_json *graph)
{
    const tn_json *nodes = tn_json_find(graph, "nodes");
    for (size_t i = 0; i < pt_json_count(nodes) && !g->p->stop && !g->p->raised; i++)
        node(g, &nodes->u.at[i]);
}

pt_value pt_call_graph(pt_program *g, const tn_json *graph, size_t n, const pt_value at[])
{
    const tn_json *in = tn_json_find(graph, "inputs"), *out = tn_json_find(graph, "outputs");
    pt_value all = pt_make(&g->p->im.scratch, PT_TUPLE, 0, NULL);
    tn_strmap outer = g->names;
    const char *file = g->p->file;
    if (n != pt_json_count(in)) {
        pt_fail(g->p, "pytorch-E003", "a graph takes %zu values, but is called with %zu", pt_json_count(in),
                n);
        return pt_bad();
    }
    if (!pt_enter(g->p))
        return pt_bad();
    g->names = (tn_strmap){0};
    for (size_t i = 0; i < n; i++) {
        tn_bytes kind;
        const tn_json *is = pt_json_member(&in->u.at[i], &kind);
        tn_bytes name = pt_json_text(tn_json_find(is, "name"));
        name = name.n ? name : pt_json_text(tn_json_find(is, "as_name"));
        if (name.n)
            pt_define(g, name, at[i]);
    }
    pt_read_nodes(g, graph);
    for (size_t i = 0; i < pt_json_count(out) && !g->p->stop && !g->p->raised; i++)
        pt_push(&g->p->im.scratch, all.list, pt_argument(g, &out->u.at[i], 0));
    tn_strmap_deinit(&g->names);
    g->names = outer;
    g->p->file = file;
    pt_leave(g->p);
    return g->p->stop || g->p->raised ? pt_bad() : all;
}
