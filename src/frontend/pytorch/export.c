/* Programs of torch.export (.pt2) as a whole: what they take, what they give, what they change.
 *
 * A buffer that changes is a state of the package. An input that the program changes in place stays an input; its new
 * value is a result behind the program's own, called as the input with "_out". */
#include "frontend/pytorch/export.h"

#include <string.h>

/* ---- inputs ---- */

/* sympy's text of an expression as Python writes it: "Mul(Integer(2), Symbol('s0', positive=True))" is "2*s0". *at
 * moves behind it. */
static void print_extent(tn_bytes s, size_t *at, tn_buf *out, int depth)
{
    size_t from = *at;
    while (*at < s.n && !strchr("(,)", s.at[*at]))
        ++*at;
    tn_bytes head = {s.at + from, *at - from};
    if (*at >= s.n || s.at[*at] != '(' || depth > 16) {
        tn_buf_add(out, head.at, head.n);
        return;
    }
    const char *sign = imp_is(head, "Mul") ? "*" : imp_is(head, "Add") ? "+" : ", ";
    bool named = *sign == ',' && !imp_is(head, "Integer") && !imp_is(head, "Symbol");
    if (named)
        tn_buf_printf(out, "%.*s(", (int)head.n, (const char *)head.at);
    for (int k = 0; *at < s.n && s.at[*at] != ')'; k++) {
        while (++*at < s.n && s.at[*at] == ' ')
            ;
        size_t end = *at;
        while (end < s.n && (strchr("'-_= ", s.at[end]) || (s.at[end] >= '0' && s.at[end] <= 'z')))
            end++;
        if (imp_is(head, "Symbol") || imp_is(head, "Integer")) { /* the rest says what is known of it */
            if (k == 0)
                for (size_t i = *at; i < end; i++)
                    if (s.at[i] != '\'')
                        tn_buf_char(out, (char)s.at[i]);
            *at = end;
        } else {
            if (k)
                tn_buf_str(out, sign);
            print_extent(s, at, out, depth + 1);
        }
    }
    *at += *at < s.n;
    if (named)
        tn_buf_char(out, ')');
}

static tn_bytes extent_name(pt_import *p, tn_bytes text)
{
    tn_buf b = {0};
    size_t at = 0;
    if (!text.n)
        return text;
    print_extent(text, &at, &b, 0);
    tn_bytes name = {tn_arena_copy(&p->im.scratch, tn_buf_cstr(&b), b.n + 1, 1), b.n};
    tn_buf_deinit(&b);
    return name;
}

enum taken { AS_TENSOR, AS_NUMBER, AS_PAIRS };

/* false: its type is not supported, or it has none. A tensor of complex numbers has one more dimension, of 2. */
static bool describe(pt_program *g, tn_bytes name, imp_input *out, enum taken *as)
{
    pt_import *p = g->p;
    char *key = tn_arena_strndup(&p->im.scratch, (const char *)name.at, name.n);
    const tn_json *meta = tn_json_find(tn_json_find(g->graph, "tensor_values"), key);
    meta = tn_json_find(meta, "meta") ? tn_json_find(meta, "meta") : meta; /* torch 2.1 */
    const tn_json *dims = tn_json_find(meta, "sizes"), *dtype = tn_json_find(meta, "dtype");
    *out = (imp_input){.name = name, .has_shape = true, .n = pt_json_count(dims)};
    imp_dim *dim = TN_NEW_N(&p->im.scratch, imp_dim, out->n + 1);
    for (size_t i = 0; i < out->n; i++) {
        tn_bytes kind;
        const tn_json *e = pt_json_member(&dims->u.at[i], &kind);
        dim[i] = tn_json_is(e, TN_JSON_INT)
                     ? (imp_dim){.extent = e->u.i}
                     : (imp_dim){-1, extent_name(p, pt_json_text(tn_json_find(e, "expr_str")))};
    }
    out->dim = dim;
    if (!tn_json_is(dtype, TN_JSON_INT))
        return false;
    if (pt_complex_of(pt_json_type(dtype->u.i), &out->dtype)) {
        dim[out->n++] = (imp_dim){.extent = 2};
        *as = AS_PAIRS;
        return true;
    }
    return pt_dtype_of(pt_json_type(dtype->u.i), &out->dtype);
}

/* A number that each run is given. false: it is none. */
static bool describe_number(tn_bytes kind, tn_bytes name, imp_input *out)
{
    *out = (imp_input){.name = name, .has_shape = true};
    out->dtype = imp_is(kind, "as_sym_int")     ? TN_I64
                 : imp_is(kind, "as_sym_float") ? TN_F64
                 : imp_is(kind, "as_sym_bool")  ? TN_BOOL1
                                                : (tn_dtype){0};
    return out->dtype.bits > 0;
}

/* What the graph knows an input as. */
static pt_value taken(pt_program *g, const imp_input *in, enum taken as)
{
    tn_value v = imp_lookup(&g->p->im, in->name)->v;
    if (as == AS_PAIRS)
        return pt_taken_apart(pt_ctx(g->p), v);
    if (as == AS_TENSOR)
        return pt_tensor_new(g->p, v);
    return pt_number_of(g->p,
                        tn_dtype_is_float(in->dtype)  ? PT_FLOAT
                        : tn_dtype_is_bool(in->dtype) ? PT_BOOL
                                                      : PT_INT,
                        v);
}

/* The tensors and numbers that the program takes. Their names stay in g->in alone. */
static tn_status user_inputs(pt_program *g)
{
    pt_import *p = g->p;
    imp_input *list = TN_NEW_N(&p->im.scratch, imp_input, g->in.n);
    enum taken *as = TN_NEW_N(&p->im.scratch, enum taken, g->in.n);
    pt_spec **spec = TN_NEW_N(&p->im.scratch, pt_spec *, g->in.n);
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    size_t n = 0;
    for (size_t i = 0; i < g->in.n; i++) {
        tn_bytes kind, name;
        pt_spec *s = &g->in.at[i];
        const tn_json *is = s->role == PT_ROLE_USER ? pt_json_member(s->arg, &kind) : NULL;
        name = is ? pt_json_text(tn_json_find(is, "name")) : (tn_bytes){0};
        s->name = is ? name : s->name;
        spec[n] = s;
        if (name.n && imp_is(kind, "as_tensor")) {
            if (!describe(g, name, &list[n], &as[n]))
                return pt_damaged_program(p, "an input has no type, or one that is not supported");
            n++;
        } else if (is && (name = pt_json_text(tn_json_find(is, "as_name"))).n) {
            as[n] = AS_NUMBER;
            if (!describe_number(kind, name, &list[n++]))
                return pt_damaged_program(p, "an input is of a kind that is not known");
        }
    }
    TN_TRY(imp_check_shapes(&p->im, n, list));
    for (size_t i = 0; i < n; i++) {
        TN_TRY(imp_define(&p->im, list[i].name, (imp_value){.state = IMP_BAD}, loc));
        TN_TRY(imp_add_input(&p->im, &list[i], loc));
        pt_value v = taken(g, &list[i], as[i]);
        pt_define(g, list[i].name, v);
        for (size_t k = 0; pt_is_tensor(v) && k < pt_tensors_in(v); k++)
            spec[i]->taken[k] = pt_tensor_value(p, pt_tensor_at(v, k));
    }
    return TN_OK;
}

/* Inputs of the graph that are weights. */
static tn_status bind_weights(pt_program *g)
{
    pt_import *p = g->p;
    for (size_t i = 0; i < g->in.n; i++) {
        const pt_spec *s = &g->in.at[i];
        uint64_t at;
        if (s->role == PT_ROLE_OBJECT)
            return tn_error(
                p->im.g->ctx, "pytorch-E022", imp_make_loc(&p->im, NULL, NULL),
                "the program uses an object of the class %s, which only PyTorch knows; write that part "
                "of the model with tensors",
                s->of.n ? imp_text(&p->im, s->of) : "?");
        if (s->role != PT_ROLE_WEIGHT)
            continue;
        if (!tn_strmap_get(&g->weights, (const char *)s->of.at, s->of.n, &at))
            return pt_damaged_program(p,
                                      tn_arena_printf(&p->im.scratch, "the weight %s is missing, or pickled",
                                                      imp_text(&p->im, s->of)));
        pt_define(g, s->name, *(const pt_value *)(uintptr_t)at);
    }
    return TN_OK;
}

/* ---- weights that change ---- */

/* What the program calls that weight; n 0: it has none. */
static tn_bytes input_of(const pt_program *g, tn_bytes weight)
{
    for (size_t i = 0; i < g->in.n; i++)
        if (g->in.at[i].role == PT_ROLE_WEIGHT && imp_same(g->in.at[i].of, weight))
            return g->in.at[i].name;
    return (tn_bytes){0};
}

/* They are states: each run begins with what the last one left. */
static tn_status begin_states(pt_program *g)
{
    pt_import *p = g->p;
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    for (size_t i = 0; i < g->out.n; i++) {
        const pt_spec *s = &g->out.at[i];
        pt_value part[2];
        if (s->role != PT_ROLE_WEIGHT)
            continue;
        tn_bytes input = input_of(g, s->of);
        pt_value v = input.n ? pt_lookup(g, input) : pt_none();
        for (size_t k = 0; k < pt_tensors_in(v); k++) {
            tn_value first = pt_is_tensor(v) ? pt_tensor_value(p, pt_tensor_at(v, k)) : (tn_value){0};
            if (!first.def || !first.def->blob)
                return p->stop ? TN_FAIL : pt_damaged_program(p, "it changes a buffer that it does not have");
            tn_value begins = imp_state(&p->im, pt_part_name(&p->im.scratch, v, k, imp_text(&p->im, s->of)),
                                        imp_type(first), first.def->blob, loc);
            if (!begins.def)
                return TN_FAIL;
            part[k] = pt_tensor_new(p, begins);
        }
        pt_define(g, input, v.kind == PT_COMPLEX ? pt_complex(p, part[0], part[1]) : part[0]);
    }
    return TN_OK;
}

static tn_status end_states(pt_program *g, pt_value kept)
{
    pt_import *p = g->p;
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    size_t n = 0;
    for (size_t i = 0; i < g->out.n; i++) {
        const pt_spec *s = &g->out.at[i];
        if (s->role != PT_ROLE_WEIGHT)
            continue;
        pt_value v = pt_at(kept, n++);
        for (size_t k = 0; k < pt_tensors_in(v); k++)
            TN_TRY(imp_set_state(&p->im, pt_part_name(&p->im.scratch, v, k, imp_text(&p->im, s->of)),
                                 pt_as_tensor(pt_ctx(p), v.kind == PT_COMPLEX ? pt_at(v, k) : v), loc));
    }
    return TN_OK;
}

/* ---- results ---- */

/* The new values of inputs that the program lists as changed. */
static void change_inputs(pt_program *g)
{
    for (size_t i = 0; i < g->out.n && !g->p->stop; i++) {
        const pt_spec *s = &g->out.at[i];
        if (s->role != PT_ROLE_CHANGED_INPUT)
            continue;
        pt_value to = pt_lookup(g, s->of), v = pt_lookup(g, s->name);
        for (size_t k = 0; pt_is_tensor(v) && to.kind == v.kind && k < pt_tensors_in(v); k++) {
            tn_value now = pt_tensor_value(g->p, pt_tensor_at(v, k));
            if (now.def)
                pt_set(g->p, &pt_tensor_at(to, k)->now, (pt_value){.kind = PT_VALUE, .value = now});
        }
    }
}

/* Every tensor that the program takes, as it is after the run. */
static pt_value inputs_now(pt_program *g)
{
    pt_value all = pt_make(&g->p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t i = 0; i < g->in.n && !g->p->stop; i++) {
        pt_value v = g->in.at[i].role == PT_ROLE_USER && g->in.at[i].name.n ? pt_lookup(g, g->in.at[i].name)
                                                                            : pt_none();
        pt_push(&g->p->im.scratch, all.list, v);
    }
    return all;
}

/* What the program gives, the weights that it sets, its inputs. */
static pt_value run(pt_import *p, void *user)
{
    pt_program *g = user;
    pt_value all = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL),
             kept = pt_make(&p->im.scratch, PT_TUPLE, 0, NULL);
    pt_read_nodes(g, g->graph);
    for (size_t i = 0; i < g->out.n && !p->stop && !p->raised; i++) {
        const pt_spec *s = &g->out.at[i];
        if (s->role == PT_ROLE_USER)
            pt_push(&p->im.scratch, all.list, s->name.n ? pt_lookup(g, s->name) : pt_argument(g, s->arg, 0));
        else if (s->role == PT_ROLE_WEIGHT)
            pt_push(&p->im.scratch, kept.list, pt_lookup(g, s->name));
        else if (s->role == PT_ROLE_OTHER)
            pt_fail(p, "pytorch-E023",
                    "the program gives a result of the kind %s, which is not supported; export the model for "
                    "inference",
                    imp_text(&p->im, s->kind));
    }
    change_inputs(g);
    return pt_make(&p->im.scratch, PT_TUPLE, 3,
                   (const pt_value[]){all.list->n == 1 ? pt_at(all, 0) : all, kept, inputs_now(g)});
}

/* Inputs that are not what they were, by the names of their results. */
static pt_value changed_inputs(pt_program *g, pt_value now)
{
    pt_import *p = g->p;
    pt_value all = pt_make(&p->im.scratch, PT_DICT, 0, NULL);
    for (size_t i = 0; i < g->in.n; i++) {
        pt_value v = pt_at(now, i);
        const pt_spec *s = &g->in.at[i];
        bool same = true;
        for (size_t k = 0; pt_is_tensor(v) && s->role == PT_ROLE_USER && k < pt_tensors_in(v); k++)
            same = same && tn_value_eq(pt_tensor_value(p, pt_tensor_at(v, k)), s->taken[k]);
        if (same)
            continue;
        const char *name = tn_arena_printf(&p->im.scratch, "%s_out", imp_text(&p->im, s->name));
        while (imp_lookup(&p->im, pt_words(name).text))
            name = tn_arena_printf(&p->im.scratch, "%s_", name);
        pt_push(&p->im.scratch, all.list, pt_words(name));
        pt_push(&p->im.scratch, all.list, v);
    }
    return all;
}

static tn_status read_program(pt_program *g, tn_json_doc *doc)
{
    pt_import *p = g->p;
    pt_value result;
    TN_TRY(pt_open_program(g, doc));
    TN_TRY(user_inputs(g));
    TN_TRY(bind_weights(g));
    TN_TRY(begin_states(g));
    TN_TRY(pt_read_with_states(p, run, g, &result));
    TN_TRY(end_states(g, pt_at(result, 1)));
    return pt_give_results(p, pt_at(result, 0), changed_inputs(g, pt_at(result, 2)));
}

tn_status pt_import_export(pt_import *p)
{
    pt_program g = {.p = p};
    tn_json_doc doc = {0};
    tn_status s = read_program(&g, &doc);
    tn_strmap_deinit(&g.names);
    tn_strmap_deinit(&g.weights);
    tn_json_free(&doc);
    return s;
}
