/* Variables and tables: handles, which are values of the model but no tensors. A variable has what its checkpoint says,
 * or what the graph assigns to it first. */
#include "frontend/tensorflow/tf.h"

#include "op/tensor/tensor.h"

#include <string.h>

/* ---- handles ---- */

tf_resource *tf_resource_of(const tf_import *t, tn_value v)
{
    uint64_t at;
    return v.def && tn_map_get(&t->resources, tn_map_key(v.def), &at) ? (tf_resource *)(uintptr_t)at : NULL;
}

tn_value tf_resource_new(imp_node *c, tf_resource r)
{
    tf_import *t = tf_of(c);
    int64_t number = 0;
    tn_value v = imp_const_ints(c, TN_I64, 0, 1, &number); /* stands for it */
    tf_resource *kept = tn_arena_copy(c->arena, &r, sizeof r, _Alignof(tf_resource));
    if (v.def)
        tn_map_put(&t->resources, tn_map_key(v.def), (uint64_t)(uintptr_t)kept);
    return v;
}

tf_resource *tf_resource_in(imp_node *c, uint32_t i, enum tf_resource_kind kind, const char *what)
{
    tf_resource *r = tf_resource_of(tf_of(c), imp_in(c, i));
    if (!c->bad && (!r || r->kind != kind))
        imp_fail(c, "tensorflow-E035", "operand %u is no %s", (unsigned)i, what);
    return c->bad ? NULL : r;
}

/* ---- variables ---- */

static void variable(imp_node *c)
{
    static const char *const notes[] = {"container", "shared_name", "allowed_devices", "debug_name"};
    tf_resource r = {.kind = TF_VARIABLE, .name = c->loc->node, .def = tf_def(c)};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    (void)tf_attr_shape(c, "shape");
    r.dtype = tf_attr_dtype(c, "dtype", TN_F32);
    tn_value handle = tf_resource_new(c, r);
    tf_share_change(tf_of(c), r.def, handle);
    imp_out(c, 0, handle);
}

/* Its value in the checkpoint; NULL: reported. */
static const tf_bundle_entry *entry_of(imp_node *c, const tf_resource *r)
{
    tf_import *t = tf_of(c);
    const tf_bundle_entry *e = tf_checkpoint_find(t, tf_checkpoint_key(t, r->def));
    if (!e)
        imp_fail(
            c, "tensorflow-E036",
            "variable \"%s\" has no value: %s; freeze the graph, or give the checkpoint beside the model",
            r->name, t->checkpoint ? "the checkpoint does not have it" : "there is no checkpoint");
    return e;
}

/* What the last run has left, and before the first one what the checkpoint says. */
static tn_value begin_state(imp_node *c, tf_resource *r, const tf_bundle_entry *e)
{
    const tn_type *type;
    const tn_blob *first = tf_checkpoint_data(c, e, r->name, &type);
    if (!first)
        return (tn_value){0};
    tn_vec_push(&tf_of(c)->states, r);
    return imp_state(c->im, r->name, type, first, c->loc);
}

/* Its value, which of one that a run does not change stands in @main, where loops and branches see it, too. */
static tn_value value_of(imp_node *c, tf_resource *r)
{
    tn_region *outer = c->im->r;
    if (r->value.def || c->bad)
        return r->value;
    const tf_bundle_entry *e = entry_of(c, r);
    c->im->r = tn_graph_function(c->g, "main")->body;
    if (e)
        r->value = tf_is_changed(tf_of(c), r->def) ? begin_state(c, r, e) : tf_checkpoint_load(c, e, r->name);
    c->bad = c->bad || !r->value.def;
    c->im->r = outer;
    return r->value;
}

static void read(imp_node *c)
{
    tf_resource *r = tf_resource_in(c, 0, TF_VARIABLE, "variable");
    imp_out(c, 0, r ? value_of(c, r) : (tn_value){0});
}

/* VariableV2 is read by those who name it; where a run changes it, when they run. */
static void ref_variable(imp_node *c)
{
    variable(c);
    tf_resource *r = c->bad ? NULL : tf_resource_of(tf_of(c), c->out[0]);
    if (r)
        r->ref = tf_is_changed(tf_of(c), r->def);
    if (r && !r->ref)
        imp_out(c, 0, value_of(c, r));
}

void tf_read_refs(imp_node *c)
{
    tn_value *given = NULL;
    for (uint32_t i = 0; i < c->n_in; i++) {
        tf_resource *r = tf_resource_of(tf_of(c), imp_opt(c, i));
        if (!r || !r->ref)
            continue;
        if (!given) {
            given = TN_NEW_N(&c->im->scratch, tn_value, c->n_in);
            for (uint32_t k = 0; k < c->n_in; k++)
                given[k] = imp_opt(c, k);
        }
        given[i] = value_of(c, r);
    }
    if (given)
        c->given = given;
}

/* ---- assignments ---- */

static size_t number_of(const tf_import *t, const tf_resource *r)
{
    size_t i = 0;
    while (i < t->states.n && t->states.at[i] != r)
        i++;
    return i;
}

/* The variable that is operand 0, which is to be assigned; NULL: reported. */
static tf_resource *target(imp_node *c)
{
    tf_import *t = tf_of(c);
    tf_resource *r = tf_resource_in(c, 0, TF_VARIABLE, "variable");
    static const char *const notes[] = {"use_locking", "validate_shape"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    if (r)
        (void)value_of(c, r);
    bool in_main = c->im->r == tn_graph_function(c->g, "main")->body;
    if (!c->bad &&
        (t->conditional || !tf_is_changed(t, r->def) || (!in_main && number_of(t, r) >= t->carried)))
        imp_refuse(
            c, IMP_UNSUPPORTED_RESULT,
            "variable \"%s\" is assigned in a loop or branch that does not say so; export the model with "
            "functions (TensorFlow 2)",
            r->name);
    return c->bad ? NULL : r;
}

static void set(imp_node *c, tf_resource *r, tn_value v)
{
    if (c->bad)
        return;
    v = imp_cast(c, v, imp_type(r->value)->dtype);
    if (!tn_type_fits(imp_type(r->value), imp_type(v)))
        imp_refuse(c, IMP_TOO_LARGE, "it assigns %s to variable \"%s\", which is %s",
                   imp_type_text(c, imp_type(v)), r->name, imp_type_text(c, imp_type(r->value)));
    r->value = v;
    r->assigned = true;
    if (c->n_out && strcmp(c->row->op, "AssignVariableOp") != 0)
        imp_out(c, 0, v);
}

static void assign(imp_node *c)
{
    tf_resource *r = target(c);
    tn_value v = imp_in(c, 1);
    set(c, r, v);
}

/* `relay` is what the old value and the operand become. */
static void assign_with(imp_node *c)
{
    tf_resource *r = target(c);
    tn_value v = imp_in(c, 1);
    set(c, r, c->bad ? v : imp_binary(c, c->row->relay, r->value, v));
}

/* One number for all of the rows `at`. */
static tn_value repeated(imp_node *c, tn_value v, tn_value at, tn_value rows)
{
    const tn_type *t = imp_type(at), *u = imp_type(rows);
    const tn_expr *dim[2 * IMP_MAX_RANK];
    for (int i = 0; i < t->n; i++)
        dim[i] = t->dim[i];
    for (int i = 1; i < u->n; i++)
        dim[t->n + i - 1] = u->dim[i];
    return tf_full(c, v, tn_dims_make(c->arena, (uint32_t)(t->n + u->n - (u->n > 0)), dim));
}

/* Rows of it, by their numbers in the first dimension. */
static void scatter(imp_node *c)
{
    tf_resource *r = target(c);
    tn_value at = imp_in(c, 1), v = imp_in(c, 2);
    const char *op = c->row->op;
    tn_scatter_attr how = {0, strstr(op, "Update") ? "update" : "add"};
    if (c->bad)
        return;
    if (strstr(op, "Sub"))
        v = imp_unary(c, &tn_op_negative, v);
    if (!strstr(op, "Nd")) {
        const tn_type *t = imp_type(at);
        v = imp_rank(v) == 0 ? repeated(c, v, at, r->value) : v;
        const tn_expr *dim[IMP_MAX_RANK + 1];
        for (int i = 0; i < t->n; i++)
            dim[i] = t->dim[i];
        dim[t->n] = tn_idx(c->pool, 1);
        at = imp_reshape(c, at, t->n + 1, dim);
    }
    const tn_value in[3] = {r->value, imp_cast(c, at, TN_I64), v};
    set(c, r, imp_call(c, &tn_op_scatter_nd, &how, 3, in));
}

tn_value *tf_state_values(imp_node *c)
{
    const tf_import *t = tf_of(c);
    tn_value *v = TN_NEW_N(&c->im->scratch, tn_value, t->states.n);
    for (size_t i = 0; i < t->states.n; i++)
        v[i] = t->states.at[i]->value;
    return v;
}

void tf_set_state_values(imp_node *c, size_t n, const tn_value v[])
{
    for (size_t i = 0; i < n; i++)
        tf_of(c)->states.at[i]->value = v[i];
}

void tf_begin_states(imp_node *c, size_t n, const tn_value handle[])
{
    for (size_t i = 0; i < n; i++) {
        tf_resource *r = tf_resource_of(tf_of(c), handle[i]);
        if (r && r->kind == TF_VARIABLE && tf_is_changed(tf_of(c), r->def))
            (void)value_of(c, r);
    }
}

tn_status tf_keep_states(tf_import *t)
{
    for (size_t i = 0; i < t->states.n; i++)
        if (t->states.at[i]->assigned)
            TN_TRY(imp_set_state(&t->im, t->states.at[i]->name, t->states.at[i]->value,
                                 tf_loc(t, t->states.at[i]->def)));
    return TN_OK;
}

/* ---- parts of variables ---- */

static void gather_variable(imp_node *c)
{
    tf_resource *r = tf_resource_in(c, 0, TF_VARIABLE, "variable");
    tn_value at = imp_in(c, 1);
    imp_attr_ignore(c, "validate_indices");
    if (imp_attr_int(c, "batch_dims", 0) != 0)
        imp_refuse(c, IMP_BAD_VALUE, "attribute batch_dims must be 0");
    tn_value v = r ? value_of(c, r) : (tn_value){0};
    imp_out(c, 0, c->bad ? v : imp_take(c, v, at, 0));
}

static void variable_shape(imp_node *c)
{
    tf_resource *r = tf_resource_in(c, 0, TF_VARIABLE, "variable");
    tn_cast_attr a = {tf_attr_dtype(c, "out_type", TN_I32)};
    imp_out(c, 0, r ? imp_call1(c, &tn_op_shape_of, &a, value_of(c, r)) : (tn_value){0});
}

// clang-format off
const imp_row tf_rows_state[] = {
    {"Assign",              1, 0, 2, 1, assign,      NULL},
    {"AssignAdd",           1, 0, 2, 1, assign_with, &tn_op_add},
    {"AssignAddVariableOp", 1, 0, 2, 1, assign_with, &tn_op_add},
    {"AssignSub",           1, 0, 2, 1, assign_with, &tn_op_subtract},
    {"AssignSubVariableOp", 1, 0, 2, 1, assign_with, &tn_op_subtract},
    {"AssignVariableOp",    1, 0, 2, 1, assign,      NULL},
    {"ReadVariableOp", 1, 0, 1, 1, read,            NULL},
    {"ResourceScatterAdd",      1, 0, 3, 1, scatter, NULL},
    {"ResourceScatterNdAdd",    1, 0, 3, 1, scatter, NULL},
    {"ResourceScatterNdUpdate", 1, 0, 3, 1, scatter, NULL},
    {"ResourceScatterSub",      1, 0, 3, 1, scatter, NULL},
    {"ResourceScatterUpdate",   1, 0, 3, 1, scatter, NULL},
    {"ScatterAdd",              1, 0, 3, 1, scatter, NULL},
    {"ScatterUpdate",           1, 0, 3, 1, scatter, NULL},
    {"ResourceGather", 1, 0, 2, 1, gather_variable, NULL},
    {"VarHandleOp",    1, 0, 0, 1, variable,        NULL},
    {"Variable",       1, 0, 0, 1, ref_variable,    NULL},
    {"VariableShape",  1, 0, 1, 1, variable_shape,  NULL},
    {"VariableV2",     1, 0, 0, 1, ref_variable,    NULL},
    {0},
};
// clang-format on
