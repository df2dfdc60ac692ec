/* Values that are no tensors: the types that a model gives them, and how what is known while the model is read (a
 * sequence as a tuple of its elements, an optional value as what it holds; ops_sequence.c) becomes a value of the
 * run. */
#include "frontend/onnx/onnx.h"

#include "op/control/control.h"
#include "op/core/core.h"
#include "op/host/host.h"

enum { DEEPEST = 16 };

/* ---- types ---- */

typedef struct {
    imp_model *im;
    const char *what; /* "input \"x\"" */
    const tn_loc *loc;
} typing;

static const tn_type *type_of(const typing *y, const onnx_type_proto *t, int depth);

static bool dtype_of(const typing *y, int64_t elem_type, tn_dtype *out)
{
    *out = TN_STR;
    return elem_type == ONNX_STRING || onnx_dtype(y->im, elem_type, y->what, y->loc, out);
}

static const tn_type *tensor_type(const typing *y, const onnx_tensor_type *t)
{
    const tn_expr *dim[IMP_MAX_RANK];
    tn_pool *p = y->im->g->pool;
    tn_dtype dtype;
    if (!dtype_of(y, t->elem_type, &dtype))
        return NULL;
    if (!t->shape)
        return tn_type_any(p, dtype);
    if (t->shape->dim.n > IMP_MAX_RANK)
        return (void)imp_error(y->im, IMP_TOO_LARGE, y->loc,
                               "%s has %zu dimensions; at most %d are supported", y->what, t->shape->dim.n,
                               IMP_MAX_RANK),
               NULL;
    for (size_t i = 0; i < t->shape->dim.n; i++) {
        const onnx_dim *d = (const onnx_dim *)t->shape->dim.at + i;
        const int64_t *value = d->dim_value.at;
        int64_t v = d->dim_value.n ? value[d->dim_value.n - 1] : -1;
        dim[i] = v >= 0 ? tn_idx(p, v) : tn_any_dim(p);
    }
    return tn_type_tensor(p, dtype, (int)t->shape->dim.n, dim, NULL);
}

/* The type that a message of one field holds; NULL: reported. */
static const tn_type *inner_type(const typing *y, tn_bytes message, int depth)
{
    onnx_optional_type inner = {0};
    const char *where;
    const char *trouble =
        tn_pb_read(&y->im->scratch, &onnx_optional_msg, message.at, message.n, NULL, &inner, &where);
    if (trouble || !inner.elem_type)
        return (void)imp_error(y->im, IMP_NO_TENSOR, y->loc, "%s is of an unknown type", y->what), NULL;
    return type_of(y, inner.elem_type, depth + 1);
}

static const tn_type *map_type(const typing *y, tn_bytes message, int depth)
{
    onnx_map_type map = {0};
    const char *where;
    tn_dtype key;
    const char *trouble =
        tn_pb_read(&y->im->scratch, &onnx_map_msg, message.at, message.n, NULL, &map, &where);
    if (trouble || !map.value_type)
        return (void)imp_error(y->im, IMP_NO_TENSOR, y->loc, "%s is of an unknown type", y->what), NULL;
    if (!dtype_of(y, map.key_type, &key))
        return NULL;
    const tn_type *value = type_of(y, map.value_type, depth + 1);
    tn_pool *p = y->im->g->pool;
    if (value && value->kind == TN_T_TENSOR) /* files say [1] or nothing of single values */
        value = tn_type_tensor(p, value->dtype, 0, NULL, NULL);
    return value ? tn_type_map(p, tn_type_tensor(p, key, 0, NULL, NULL), value) : NULL;
}

/* NULL: reported. */
static const tn_type *type_of(const typing *y, const onnx_type_proto *t, int depth)
{
    tn_pool *p = y->im->g->pool;
    const tn_type *inner = NULL;
    if (depth > DEEPEST)
        return (void)imp_error(y->im, IMP_NO_TENSOR, y->loc, "the type of %s is nested too deeply", y->what),
               NULL;
    if (t->tensor_type)
        return tensor_type(y, t->tensor_type);
    if (t->map_type.at)
        return map_type(y, t->map_type, depth);
    if (t->sequence_type.at || t->optional_type.at)
        inner = inner_type(y, t->sequence_type.at ? t->sequence_type : t->optional_type, depth);
    else
        (void)imp_error(y->im, IMP_NO_TENSOR, y->loc, "%s is %s", y->what,
                        t->sparse_tensor_type.at ? "a sparse tensor" : "of an unknown type");
    return !inner ? NULL : t->sequence_type.at ? tn_type_seq(p, inner) : tn_type_optional(p, inner);
}

bool onnx_is_value_type(const onnx_type_proto *t)
{
    return t && (t->sequence_type.at || t->optional_type.at || t->map_type.at);
}

tn_status onnx_add_value_input(imp_model *im, const onnx_value_info *v, const tn_loc *loc)
{
    const char *name = imp_text(im, v->name);
    typing y = {im, tn_arena_printf(&im->scratch, "input \"%s\"", name), loc};
    const tn_type *t = type_of(&y, v->type, 0);
    if (!t)
        return TN_FAIL;
    tn_node *n = tn_region_add_param(im->g, im->r, name, t);
    n->loc = imp_make_loc(im, "graph input", NULL);
    tn_vec_last(&im->value) = (imp_value){.v = tn_val(n)};
    return TN_OK;
}

/* ---- values of the run ---- */

bool onnx_is_value(tn_value v)
{
    const tn_type *t = tn_value_type(v);
    return t && t->kind != TN_T_TENSOR && !imp_is_list(v);
}

bool onnx_is_any_rank(tn_value v)
{
    const tn_type *t = tn_value_type(v);
    return t && t->kind == TN_T_ANY && !tn_dtype_is_string(t->dtype);
}

bool onnx_is_none(const imp_node *c, tn_value v)
{
    uint64_t is;
    return imp_is_list(v) && tn_map_get(&onnx_of(c)->none, tn_map_key(v.def), &is);
}

tn_value onnx_opened(imp_node *c, tn_value v) { return v.def && !c->bad ? tn_unboxed(c->g, v) : v; }

tn_value onnx_as_value(imp_node *c, tn_value v)
{
    if (!imp_is_list(v))
        return v;
    if (onnx_is_none(c, v))
        return imp_call(c, &tn_op_opt_none, NULL, 0, NULL);
    tn_value *at = TN_NEW_N(c->arena, tn_value, v.def->nin);
    for (int i = 0; i < v.def->nin; i++)
        at[i] = tn_in(v.def, i);
    return imp_call(c, &tn_op_seq_of, NULL, v.def->nin, at);
}

tn_value onnx_as_optional(imp_node *c, tn_value v)
{
    v = onnx_as_value(c, v);
    bool is = !v.def || c->bad || tn_value_type(v)->kind == TN_T_OPTIONAL;
    return is ? v : imp_unary(c, &tn_op_opt_some, v);
}

static bool is_optional(const imp_node *c, tn_value v)
{
    const tn_type *t = tn_value_type(v);
    return onnx_is_none(c, v) || (t && t->kind == TN_T_OPTIONAL);
}

static bool is_kept_apart(tn_value v) { return imp_is_list(v) || onnx_is_value(v); }

tn_value onnx_like(imp_node *c, tn_value v, tn_value other)
{
    if (is_optional(c, v) || is_optional(c, other))
        return onnx_as_optional(c, v);
    return is_kept_apart(v) ? onnx_as_value(c, v) : v;
}

const tn_type *onnx_join_types(imp_node *c, const tn_type *a, const tn_type *b)
{
    const tn_type *t = tn_type_fits(a, b) ? a : tn_type_join(c->g->pool, a, b);
    if (!t)
        imp_fail(c, "onnx-E029", "a carried value of its loop is %s and becomes %s", imp_type_text(c, a),
                 imp_type_text(c, b));
    return t ? t : a;
}

/* The results of @main as values of the run. */
void onnx_finish_results(onnx_import *o, size_t n, const tn_bytes name[])
{
    imp_model *im = &o->im;
    imp_node c = {.loc = imp_make_loc(im, NULL, NULL),
                  .im = im,
                  .g = im->g,
                  .pool = im->g->pool,
                  .arena = im->g->arena};
    for (size_t i = 0; i < n; i++) {
        const imp_value *x = imp_lookup(im, name[i]);
        if (x && x->state == IMP_OK && x->v.def && imp_is_list(x->v))
            ((imp_value *)x)->v = onnx_as_value(&c, x->v);
    }
}
