/* What a model keeps from one run to the next: variable tensors, variables behind handles and the values that
 * CALL_ONCE gives them. */
#include "frontend/tflite/tflite.h"

#include "op/core/core.h"

#include <string.h>

enum { MAX_STATE = 64 << 20 }; /* bytes that do not begin with 0 */

struct tfl_kept {
    const char *name;
    bool handle;         /* a variable behind a handle */
    tn_value now;        /* absent: neither read nor assigned yet */
    const tn_type *type; /* of what CALL_ONCE gives it; NULL: nothing */
    const tn_blob *first;
};

static tfl_import *import_of(imp_node *c) { return (tfl_import *)c->im; }

static tfl_kept *kept_of(imp_node *c, const char *name, bool handle)
{
    tfl_import *o = import_of(c);
    for (size_t i = 0; i < o->kept.n; i++)
        if (o->kept.at[i]->handle == handle && strcmp(o->kept.at[i]->name, name) == 0)
            return o->kept.at[i];
    tfl_kept *k = TN_NEW(&c->im->scratch, tfl_kept);
    *k = (tfl_kept){.name = name, .handle = handle};
    tn_vec_push(&o->kept, k);
    return k;
}

static void change(imp_node *c, tfl_kept *k, tn_value v)
{
    k->now = v;
    c->bad = c->bad || imp_set_state(c->im, k->name, v, c->loc) != TN_OK;
}

/* ---- variable tensors ---- */

/* Of integers, what stands for 0. */
static const tn_blob *zeros_of(imp_node *c, const tfl_tensor *t, const tn_type *type)
{
    int64_t count = 0;
    void *at;
    if (c->bad || !tfl_is_quantised(t) || !t->zero[0] || t->dtype.bits != 8 ||
        !tn_is_int(tn_type_count(c->pool, type), &count))
        return NULL;
    if (count > MAX_STATE) {
        imp_refuse(c, IMP_TOO_LARGE, "its state of %lld bytes is too large", (long long)count);
        return NULL;
    }
    const tn_blob *b = tn_graph_blob(c->g, (size_t)count, &at);
    memset(at, (int)(t->zero[0] & 0xff), (size_t)count);
    return b;
}

static const char *name_of(imp_node *c, const tfl_tensor *t) { return imp_text(c->im, t->name); }

tn_value tfl_state(imp_node *c, uint32_t i, int n, const tn_expr *const dim[])
{
    const tfl_tensor *t = tfl_in(c, i);
    if (imp_has(c, i))
        return imp_reshape(c, imp_in(c, i), n, dim);
    if (!t || !t->known || !t->variable) {
        imp_refuse(c, IMP_OPERANDS, "operand %u must be a variable tensor; the model is damaged",
                   (unsigned)i);
        return (tn_value){0};
    }
    tfl_kept *k = kept_of(c, name_of(c, t), false);
    if (!k->now.def && !c->bad) {
        const tn_type *type = tn_type_tensor(c->pool, t->dtype, n, dim, NULL);
        const tn_blob *first = zeros_of(c, t, type);
        if (!c->bad)
            k->now = imp_state(c->im, k->name, type, first, c->loc);
        c->bad = c->bad || !k->now.def;
    }
    return c->bad ? (tn_value){0} : k->now;
}

void tfl_set_state(imp_node *c, uint32_t i, tn_value v)
{
    const tfl_tensor *t = tfl_in(c, i);
    if (c->bad || imp_has(c, i) || !t)
        return;
    change(c, kept_of(c, name_of(c, t), false), v);
}

/* ---- variables behind handles ---- */

static void handle(imp_node *c)
{
    static const int64_t number = 0;
    const char *container = imp_attr_string(c, "container", ""),
               *name = imp_attr_string(c, "shared_name", "");
    const char *both = container[0] ? tn_arena_printf(c->arena, "%s/%s", container, name) : name;
    tn_value v = imp_const_ints(c, TN_I64, 0, 1, &number); /* stands for it */
    if (c->bad)
        return;
    tn_map_put(&import_of(c)->handles, tn_map_key(v.def), (uint64_t)(uintptr_t)kept_of(c, both, true));
    imp_out(c, 0, v);
}

static tfl_kept *variable_in(imp_node *c)
{
    tn_value v = imp_in(c, 0);
    uint64_t at = 0;
    if (!c->bad && !tn_map_get(&import_of(c)->handles, tn_map_key(v.def), &at))
        imp_refuse(c, IMP_OPERANDS, "its first operand is no variable's handle; the model is damaged");
    return c->bad ? NULL : (tfl_kept *)(uintptr_t)at;
}

static void begin(imp_node *c, tfl_kept *k, const tn_type *type, const tn_blob *first)
{
    k->now = imp_state(c->im, k->name, type, first, c->loc);
    c->bad = c->bad || !k->now.def;
}

static void read(imp_node *c)
{
    tfl_kept *k = variable_in(c);
    if (k && !k->now.def && !k->type)
        imp_fail(c, "tflite-E061",
                 "variable \"%s\" is read before it has a value; export the model with its initialisation "
                 "(CALL_ONCE)",
                 k->name);
    if (!c->bad && !k->now.def)
        begin(c, k, k->type, k->first);
    imp_out(c, 0, c->bad ? (tn_value){0} : k->now);
}

static void assign(imp_node *c)
{
    tfl_kept *k = variable_in(c);
    tn_value v = imp_in(c, 1);
    bool first = import_of(c)->once;
    if (c->bad)
        return;
    if (first && !tn_op_is(v.def, &tn_op_constant)) {
        imp_fail(c, "tflite-E062", "the first value of variable \"%s\" is computed, which is not supported",
                 k->name);
    } else if (first) {
        k->type = imp_type(v);
        k->first = v.def->blob;
    } else {
        if (!k->now.def)
            begin(c, k, k->type ? k->type : imp_type(v), k->first);
        change(c, k, v);
    }
}

/* A graph that the first run begins with: it gives variables and tables what they hold. */
static void call_once(imp_node *c)
{
    tfl_import *o = import_of(c);
    bool outer = o->once;
    o->once = true;
    (void)tfl_run_graph(c, imp_attr_int(c, "init_subgraph_index", 0), 0, NULL, 0, NULL);
    o->once = outer;
}

// clang-format off
const imp_row tfl_rows_state[] = {
    {"VAR_HANDLE",      1, 0, 0, 1, handle,    NULL},
    {"READ_VARIABLE",   1, 0, 1, 1, read,      NULL},
    {"ASSIGN_VARIABLE", 1, 0, 2, 0, assign,    NULL},
    {"CALL_ONCE",       1, 0, 0, 0, call_once, NULL},
    {0},
};
// clang-format on
