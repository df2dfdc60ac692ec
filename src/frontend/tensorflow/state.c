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
    imp_out(c, 0, tf_resource_new(c, r));
}

/* Its value in @main, where loops and branches see it, too. */
static tn_value value_of(imp_node *c, tf_resource *r)
{
    tf_import *t = tf_of(c);
    tn_region *outer = c->im->r;
    if (r->value.def || c->bad)
        return r->value;
    tn_bytes key = tf_checkpoint_key(t, r->def);
    const tf_bundle_entry *e = tf_checkpoint_find(t, key);
    c->im->r = tn_graph_function(c->g, "main")->body;
    if (e)
        r->value = tf_checkpoint_load(c, e, r->name);
    else
        imp_fail(
            c, "tensorflow-E036",
            "variable \"%s\" has no value: %s; freeze the graph, or give the checkpoint beside the model",
            r->name, t->checkpoint ? "the checkpoint does not have it" : "there is no checkpoint");
    c->im->r = outer;
    return r->value;
}

static void read(imp_node *c)
{
    tf_resource *r = tf_resource_in(c, 0, TF_VARIABLE, "variable");
    imp_out(c, 0, r ? value_of(c, r) : (tn_value){0});
}

/* VariableV2 is read by those who name it. */
static void ref_variable(imp_node *c)
{
    variable(c);
    tf_resource *r = c->bad ? NULL : tf_resource_of(tf_of(c), c->out[0]);
    imp_out(c, 0, r ? value_of(c, r) : (tn_value){0});
}

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
    {"ReadVariableOp", 1, 0, 1, 1, read,            NULL},
    {"ResourceGather", 1, 0, 2, 1, gather_variable, NULL},
    {"VarHandleOp",    1, 0, 0, 1, variable,        NULL},
    {"Variable",       1, 0, 0, 1, ref_variable,    NULL},
    {"VariableShape",  1, 0, 1, 1, variable_shape,  NULL},
    {"VariableV2",     1, 0, 0, 1, ref_variable,    NULL},
    {0},
};
// clang-format on
