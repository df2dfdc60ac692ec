/* tenon/relay.h: what there is: the operators, and the nodes of a function as arrays that live until the next such
 * call. Both are made from what texts are printed of, so a view says what the text says. */
#include "driver/api.h"
#include "op/control/control.h"
#include "op/core/core.h"
#include "tenon/relay.h"

#include <string.h>

/* ---- operators ---- */

static bool is_structure(const tn_op *op)
{
    static const tn_op *const without_regions[] = {&tn_op_var,       &tn_op_constant, &tn_op_call,
                                                   &tn_op_global,    &tn_op_tuple,    &tn_op_tuple_get,
                                                   &tn_op_construct, &tn_op_self};
    bool is = op->nregion != 0;
    for (size_t i = 0; i < sizeof without_regions / sizeof *without_regions; i++)
        is = is || op == without_regions[i];
    return is;
}

static uint32_t count_fields(const tn_attr_field *f)
{
    uint32_t n = 0;
    while (f && f[n].name)
        n++;
    return n;
}

int tenon_operator_get(size_t i, tenon_operator_record *out)
{
    if (i >= tn_ops_count())
        return 1;
    const tn_op *op = tn_ops_at(i);
    *out = (tenon_operator_record){.name = op->name,
                                   .doc = op->doc,
                                   .n_operand = op->nin,
                                   .least_operands = op->min_in,
                                   .operand = op->in_name,
                                   .n_attribute = count_fields(op->attr),
                                   .has_effect = (op->flags & TN_OP_EFFECT) != 0,
                                   .binds = (op->flags & TN_OP_BINDS) != 0,
                                   .is_structure = is_structure(op)};
    return 0;
}

static void attribute_as(const tn_attr_field *f, tenon_attribute_record *out)
{
    static const enum tenon_attribute_kind kinds[] = {
        [TN_A_I64] = TENON_ATTRIBUTE_INT,     [TN_A_F64] = TENON_ATTRIBUTE_REAL,
        [TN_A_BOOL] = TENON_ATTRIBUTE_BOOL,   [TN_A_STR] = TENON_ATTRIBUTE_TEXT,
        [TN_A_DTYPE] = TENON_ATTRIBUTE_DTYPE, [TN_A_INTS] = TENON_ATTRIBUTE_INTS,
        [TN_A_DIMS] = TENON_ATTRIBUTE_DIMS,   [TN_A_STRS] = TENON_ATTRIBUTE_TEXTS,
        [TN_A_REALS] = TENON_ATTRIBUTE_REALS};
    *out = (tenon_attribute_record){f->name, kinds[f->kind], f->def, f->doc};
}

static int attribute_of(const tn_attr_field *f, uint32_t k, tenon_attribute_record *out)
{
    if (k >= count_fields(f))
        return 1;
    attribute_as(&f[k], out);
    return 0;
}

int tenon_operator_attribute(size_t i, uint32_t k, tenon_attribute_record *out)
{
    return attribute_of(i < tn_ops_count() ? tn_ops_at(i)->attr : NULL, k, out);
}

int tenon_operator_foreign(size_t i, uint32_t k, tenon_attribute_record *out)
{
    const tn_attr_field *f = i < tn_ops_count() ? tn_relay_foreign_at(tn_ops_at(i), k) : NULL;
    if (f)
        attribute_as(f, out);
    return !f;
}

int tenon_form_get(size_t i, tenon_operator_record *out)
{
    tn_relay_form f;
    if (!tn_relay_form_at(tn_relay_more_forms, i, &f))
        return 1;
    *out = (tenon_operator_record){.name = f.name,
                                   .doc = f.doc,
                                   .n_operand = f.most || !f.least ? (int)f.most : -1,
                                   .least_operands = (int)f.least,
                                   .n_attribute = count_fields(f.attr)};
    return 0;
}

int tenon_form_attribute(size_t i, uint32_t k, tenon_attribute_record *out)
{
    tn_relay_form f;
    return attribute_of(tn_relay_form_at(tn_relay_more_forms, i, &f) ? f.attr : NULL, k, out);
}

/* ---- functions ---- */

typedef struct {
    tenon_module *m;
    tn_arena *arena;
    tn_map number; /* node -> its place in node */
    tn_vec(const tn_node *) all;
    tenon_node *node;
} viewer;

/* Nodes in order of execution, those of inner regions before the node that holds them. Nesting is bounded by what texts
 * can have. */
static void number_nodes(viewer *v, const tn_region *r)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        for (int i = 0; i < n->nregion; i++)
            number_nodes(v, n->region[i]);
        tn_map_put(&v->number, tn_map_key(n), v->all.n);
        tn_vec_push(&v->all, n);
    }
}

static const char *text_of(const viewer *v, const tn_buf *text)
{
    return tn_arena_strdup(v->arena, tn_buf_cstr((tn_buf *)text));
}

static const char *type_text(const viewer *v, const tn_type *t)
{
    tn_buf text = {0};
    if (t)
        tn_type_print(t, &text);
    const char *s = text_of(v, &text);
    tn_buf_deinit(&text);
    return s;
}

/* As tenon_call takes them. */
static const char *attribute_text(const viewer *v, const tn_node *n)
{
    tn_buf text = {0};
    if (n->op->attr && n->attr)
        tn_attr_print(v->m->build.graph.pool, n->op->attr, n->attr, &text);
    const char *s = text_of(v, &text) + (text.n >= 2 ? 2 : 0);
    tn_buf_deinit(&text);
    return s;
}

static tenon_operand operand(const viewer *v, const tn_use *u)
{
    uint64_t at = TENON_ABSENT;
    if (u->def)
        (void)tn_map_get(&v->number, tn_map_key(u->def), &at);
    return (tenon_operand){(uint32_t)at, u->out};
}

static const tenon_operand *operands(const viewer *v, uint32_t n, const tn_use use[])
{
    tenon_operand *all = TN_NEW_N(v->arena, tenon_operand, n);
    for (uint32_t i = 0; i < n; i++)
        all[i] = operand(v, &use[i]);
    return all;
}

static tenon_region see_region(const viewer *v, const tn_region *r)
{
    uint32_t n = 0, k = 0;
    uint64_t at = 0;
    for (const tn_node *i = r->first; i; i = i->next)
        n++;
    uint32_t *node = TN_NEW_N(v->arena, uint32_t, n);
    for (const tn_node *i = r->first; i; i = i->next) {
        (void)tn_map_get(&v->number, tn_map_key(i), &at);
        node[k++] = (uint32_t)at;
    }
    return (tenon_region){r->n_param, n, r->n_result, node, operands(v, r->n_result, r->result)};
}

static void see_constant(const viewer *v, const tn_node *n, tenon_node *out)
{
    const tn_type *t = n->type ? n->type[0] : NULL;
    int64_t *shape = t ? TN_NEW_N(v->arena, int64_t, t->n) : NULL;
    if (!t || t->kind != TN_T_TENSOR)
        return;
    for (int d = 0; d < t->n; d++)
        if (!tn_is_int(t->dim[d], &shape[d]))
            return;
    out->dtype = (DLDataType){t->dtype.code, t->dtype.bits, 1};
    out->ndim = t->n;
    out->shape = shape;
    out->layout = t->layout ? t->layout->text : NULL;
    out->data = n->blob ? n->blob->at : NULL;
    out->bytes = n->blob ? n->blob->n : 0;
}

static tenon_node see_node(const viewer *v, const tn_node *n)
{
    const char **type = TN_NEW_N(v->arena, const char *, n->nout);
    tenon_region *region = TN_NEW_N(v->arena, tenon_region, n->nregion);
    for (uint16_t i = 0; i < n->nout; i++)
        type[i] = type_text(v, n->type ? n->type[i] : NULL);
    for (uint16_t i = 0; i < n->nregion; i++)
        region[i] = see_region(v, n->region[i]);
    tenon_node x = {.op = n->op->name,
                    .name = n->name ? n->name : "",
                    .source = n->loc && n->loc->node ? n->loc->node : "",
                    .attributes = attribute_text(v, n),
                    .n_operand = n->nin,
                    .n_result = n->nout,
                    .n_region = n->nregion,
                    .operand = operands(v, n->nin, n->in),
                    .type = type,
                    .region = region};
    if (n->op == &tn_op_constant)
        see_constant(v, n, &x);
    return x;
}

static const tn_function *find_function(const tenon_module *m, const char *name)
{
    for (const tn_function *f = m->build.graph.func; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static tn_status view(tn_object *x, void *user)
{
    tenon_module *m = (tenon_module *)x;
    const tn_function *f = m->tir ? NULL : find_function(m, user);
    viewer v = {.m = m, .arena = &m->viewed};
    if (!f)
        return tn_error(&x->ctx, "relay-E090", &(tn_loc){.file = m->build.model},
                        "there is no function @%s of Relay in the module", (const char *)user);
    if (!m->is_viewed)
        tn_arena_init(&m->viewed);
    m->is_viewed = true;
    tn_arena_reset(&m->viewed);
    number_nodes(&v, f->body);
    v.node = TN_NEW_N(v.arena, tenon_node, v.all.n);
    for (size_t i = 0; i < v.all.n; i++)
        v.node[i] = see_node(&v, v.all.at[i]);
    m->view = (tenon_function_view){f->name, (uint32_t)v.all.n, v.node, see_region(&v, f->body),
                                    type_text(&v, f->result_type)};
    tn_map_deinit(&v.number);
    tn_vec_deinit(&v.all);
    return TN_OK;
}

const tenon_function_view *tenon_function_inspect(tenon_module *m, const char *name)
{
    void *user = (void *)(uintptr_t)name;
    return tn_object_change(m ? &m->object : NULL, NULL, view, user) ? NULL : &m->view;
}
