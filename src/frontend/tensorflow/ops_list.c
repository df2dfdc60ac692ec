/* Lists of tensors: TensorList (TensorFlow 2) and TensorArray (TensorFlow 1). A list is a tensor, its elements along
 * the first dimension; while nobody has set an element of unknown extents, it is a handle that knows how many there
 * are. Where a loop sets elements whose extents it finds out itself, where elements are pushed onto an empty list, and
 * where a list may become longer, it is a sequence of the run (op/host): one is set at its end, too, and the run fails
 * further behind it. Of a TensorArray the value is what its `flow` passes on. */
#include "frontend/tensorflow/tf.h"

#include "op/host/host.h"
#include "op/tensor/tensor.h"

static bool is_own(const imp_node *c) { return c->im->format == &tf_format; }

/* A list that is a handle, which models of other formats do not have; NULL: it is none. */
static tf_resource *handle_of(imp_node *c, tn_value list)
{
    return is_own(c) ? tf_resource_of(tf_of(c), list) : NULL;
}

/* A list of n elements of this shape, or a handle. */
static tn_value list_of(imp_node *c, tn_value count, bool known, tn_dims shape, tn_dtype t)
{
    const tn_expr *dim[IMP_MAX_RANK];
    for (uint32_t i = 0; known && i < shape.n; i++)
        known = i + 1 < IMP_MAX_RANK && !(shape.at[i]->kind == TN_E_INT && shape.at[i]->u.i < 0);
    if (!known && !is_own(c)) {
        imp_refuse(c, IMP_NOT_CONSTANT,
                   "the extents of a list's elements must be known; convert the model with them, or without "
                   "experimental_lower_tensor_list_ops = False");
        return (tn_value){0};
    }
    if (!known)
        return tf_resource_new(
            c, (tf_resource){.kind = TF_LIST, .name = c->loc->node, .dtype = t, .count = count});
    tn_dims n = imp_extents_in(c, count, "the number of elements");
    dim[0] = n.n ? n.at[0] : tn_idx(c->pool, 0);
    for (uint32_t i = 0; i < shape.n; i++)
        dim[i + 1] = shape.at[i];
    return tf_full(c, imp_const(c, t, 0), (tn_dims){shape.n + 1, dim});
}

static bool is_sequence(tn_value list) { return list.def && tn_value_type(list)->kind == TN_T_SEQ; }

static tn_value on_sequence(imp_node *c, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    tn_value v = imp_call(c, op, attr, n, in);
    return c->bad ? v : tn_unboxed(c->g, v);
}

/* Its elements along a new first dimension, or joined along the one that they have; `none`, if given, where there are
 * no elements. */
static tn_value joined(imp_node *c, tn_value list, bool new_axis, tn_value none)
{
    tn_seq_concat_attr a = {0, new_axis, false};
    return on_sequence(c, &tn_op_seq_concat, &a, none.def ? 2 : 1, (const tn_value[]){list, none});
}

/* Each element of a tensor along the first dimension. */
static tn_value sequence_of(imp_node *c, tn_value list)
{
    tn_seq_split_attr a = {0, false};
    return imp_call1(c, &tn_op_seq_split, &a, list);
}

/* A list that may become longer, as list_of(); of unknown extents only if it is empty, else a handle. */
static tn_value growing_list_of(imp_node *c, tn_value count, bool known, tn_dims shape, tn_dtype t)
{
    double n;
    bool empty = !c->bad && imp_scalar(c, count, &n) && n == 0;
    tn_value v = empty && !known ? (tn_value){0} : list_of(c, count, known, shape, t);
    if (!c->bad && handle_of(c, v))
        handle_of(c, v)->grows = true;
    if (c->bad || handle_of(c, v))
        return v;
    return v.def ? sequence_of(c, v) : imp_call(c, &tn_op_seq_of, NULL, 0, NULL);
}

static void reserve(imp_node *c)
{
    tn_value shape = imp_in(c, 0), count = tf_scalar_in(c, 1);
    tn_dims d = {0};
    double n;
    bool known = imp_rank(shape) == 1 && imp_host(c, shape, &d);
    bool grows = !c->bad && imp_scalar(c, count, &n) && n == 0; /* or nothing could ever be set */
    tn_dtype t = tf_attr_dtype(c, "element_dtype", TN_F32);
    imp_out(c, 0, c->bad ? shape : (grows ? growing_list_of : list_of)(c, count, known, d, t));
}

static void empty(imp_node *c)
{
    imp_attr_ignore(c, "element_dtype");
    imp_out(c, 0, imp_call(c, &tn_op_seq_of, NULL, 0, NULL));
}

/* TensorArrayV3: element_shape is an attribute. */
static void array(imp_node *c)
{
    static const char *const notes[] = {"clear_after_read", "identical_element_shapes", "tensor_array_name"};
    bool grows = imp_attr_int(c, "dynamic_size", 0) != 0;
    tn_value count = tf_scalar_in(c, 0);
    tn_dtype t = tf_attr_dtype(c, "dtype", TN_F32);
    const tf_shape *s = tf_attr_shape(c, "element_shape");
    int64_t dim[IMP_MAX_RANK];
    bool known = s && !s->unknown_rank && s->dim.n && s->dim.n < IMP_MAX_RANK;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    for (size_t i = 0; known && i < s->dim.n; i++)
        dim[i] = ((const tf_dim *)s->dim.at)[i].size;
    tn_dims shape = known ? tn_make_dims(c->g, (uint32_t)s->dim.n, dim) : (tn_dims){0};
    tn_value v = (grows ? growing_list_of : list_of)(c, count, known, shape, t);
    imp_out(c, 0, v);
    imp_out_any(c, 1, v);
}

tn_value tf_sequence_new(imp_node *c, tn_value list, tn_dims shape, tn_dtype t)
{
    const tf_resource *r = handle_of(c, list);
    tn_seq_split_attr a = {0, true};
    tn_dims n = imp_extents_in(c, r->count, "the number of elements");
    if (c->bad)
        return list;
    tn_value in[] = {tf_full(c, imp_const(c, t, 0), shape), tf_full(c, imp_i64(c, 0), (tn_dims){1, n.at})};
    return imp_call(c, &tn_op_seq_split, &a, 2, in);
}

tn_value tf_sequence_of(imp_node *c, tn_value list, const tn_type *item)
{
    const tf_resource *r = handle_of(c, list);
    tn_dims shape = {item ? (uint32_t)item->n : 0, item ? item->dim : NULL};
    if (c->bad || is_sequence(list))
        return list;
    if (r && (!item || item->n >= IMP_MAX_RANK)) {
        imp_refuse(c, IMP_TOO_LARGE, "an element of a list has too many dimensions");
        return list;
    }
    return sequence_of(c, r ? list_of(c, r->count, true, shape, item->dtype) : list);
}

/* A list whose elements are like this one. */
static tn_value as_tensor(imp_node *c, tn_value list, tn_value item)
{
    const tf_resource *r = handle_of(c, list);
    const tn_type *t = imp_type(item);
    return r && !c->bad ? list_of(c, r->count, true, (tn_dims){(uint32_t)t->n, t->dim}, t->dtype) : list;
}

/* The tensor that is operand i. */
static tn_value item_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    if (!c->bad && (is_sequence(v) || handle_of(c, v)))
        imp_fail(c, "tensorflow-E037", "an element of a list is a list itself, or another handle");
    return v;
}

static tn_value with_item(imp_node *c, tn_value list, tn_value at, tn_value item, bool grows)
{
    static const tn_scatter_attr update = {0, "update"};
    const tn_expr *one[2] = {tn_idx(c->pool, 1), tn_idx(c->pool, 1)};
    if (grows && !c->bad)
        list = tf_sequence_of(c, list, imp_type(item));
    if (is_sequence(list))
        return on_sequence(c, &tn_op_seq_set, NULL, 3, (const tn_value[]){list, item, at});
    list = as_tensor(c, list, item);
    at = imp_reshape(c, imp_cast(c, at, TN_I64), 2, one);
    item = imp_unsqueeze(c, item, 0);
    return imp_call(c, &tn_op_scatter_nd, &update, 3, (const tn_value[]){list, at, item});
}

/* A list that has elements. */
static tn_value list_in(imp_node *c, uint32_t i)
{
    tn_value v = imp_in(c, i);
    if (c->bad || handle_of(c, v) || (is_sequence(v) && !tn_value_type(v)->n))
        imp_fail(c, "tensorflow-E040",
                 "a list is read before an element was set, and nothing tells its extents");
    return v;
}

/* What the model says of the extents of elements: n of them, below 0 where not known; n -1: nothing. */
typedef struct extents {
    int n;
    int64_t dim[IMP_MAX_RANK];
} extents;

static extents extents_in(imp_node *c, uint32_t i)
{
    extents e = {-1, {0}};
    tn_dims d = {0};
    tn_value v = imp_in(c, i);
    if (imp_rank(v) == 1 && imp_host(c, v, &d) && d.n < IMP_MAX_RANK)
        e.n = (int)d.n;
    for (int k = 0; k < e.n; k++)
        if (!tn_is_int(d.at[k], &e.dim[k]))
            e.dim[k] = -1;
    return e;
}

static extents extents_attr(imp_node *c, const char *name)
{
    const tf_shape *s = tf_attr_shape(c, name);
    extents e = {-1, {0}};
    if (s && !s->unknown_rank && s->dim.n < IMP_MAX_RANK)
        e.n = (int)s->dim.n;
    for (int k = 0; k < e.n; k++)
        e.dim[k] = ((const tf_dim *)s->dim.at)[k].size;
    return e;
}

/* No elements, where it is known what they would be; else absent. */
static tn_value no_elements(imp_node *c, const tn_type *item, const extents *said, tn_dtype t)
{
    int n = item ? item->n : said->n;
    const tn_expr *dim[IMP_MAX_RANK] = {tn_idx(c->pool, 0)};
    bool known = n >= 0 && n < IMP_MAX_RANK && (!item || item->kind == TN_T_TENSOR);
    for (int d = 0; d < n && known; d++) {
        bool told = !item || tn_dim_is_any(item->dim[d]);
        known = !told || (said->n == n && said->dim[d] >= 0);
        dim[d + 1] = told && known ? tn_idx(c->pool, said->dim[d]) : item ? item->dim[d] : NULL;
    }
    tn_dims shape = {known ? (uint32_t)n + 1 : 0, dim};
    return known ? tf_full(c, imp_const(c, item ? item->dtype : t, 0), shape) : (tn_value){0};
}

/* The elements along a new first dimension. */
static tn_value tensor_in(imp_node *c, uint32_t i, const extents *said, const char *dtype)
{
    tn_value v = imp_in(c, i);
    tn_dtype t = tf_attr_dtype(c, dtype, TN_F32);
    if (c->bad || !is_sequence(v))
        return list_in(c, i);
    const tn_type *item = tn_value_type(v)->n ? tn_value_type(v)->field[0] : NULL;
    tn_value none = no_elements(c, item, said, t);
    if (!item)
        return none.def ? none : list_in(c, i);
    return joined(c, v, true, none);
}

static tn_value item_of(imp_node *c, tn_value list, tn_value at)
{
    if (!c->bad && is_sequence(list))
        return on_sequence(c, &tn_op_seq_at, NULL, 2, (const tn_value[]){list, at});
    return imp_take(c, list, at, 0);
}

/* How many elements there are, of any integer type. */
static tn_value count_of(imp_node *c, tn_value list)
{
    const tf_resource *r = handle_of(c, list);
    if (c->bad || r)
        return r ? r->count : list;
    return is_sequence(list) ? imp_unary(c, &tn_op_seq_length, list) : imp_extent_of(c, list, 0);
}

static void set_item(imp_node *c)
{
    tn_value list = imp_in(c, 0), at = tf_scalar_in(c, 1), item = item_in(c, 2);
    bool grows = imp_attr_int(c, "resize_if_index_out_of_bounds", 0) != 0;
    imp_out(c, 0, with_item(c, list, at, item, grows));
}

static void get_item(imp_node *c)
{
    tn_value list = list_in(c, 0), at = tf_scalar_in(c, 1);
    imp_out(c, 0, item_of(c, list, at));
}

static void stack(imp_node *c)
{
    extents e = extents_in(c, 1);
    imp_attr_ignore(c, "num_elements");
    imp_out(c, 0, tensor_in(c, 0, &e, "element_dtype"));
}

static void from_tensor(imp_node *c) { imp_out(c, 0, imp_in(c, 0)); }

static void length(imp_node *c) { imp_out(c, 0, imp_cast(c, count_of(c, imp_in(c, 0)), TN_I32)); }

static void push_back(imp_node *c)
{
    tn_value list = imp_in(c, 0), item = item_in(c, 1);
    if (!c->bad && is_sequence(list)) {
        imp_out(c, 0, on_sequence(c, &tn_op_seq_insert, NULL, 2, (const tn_value[]){list, item}));
        return;
    }
    list = as_tensor(c, list, item);
    item = imp_unsqueeze(c, item, 0);
    imp_out(c, 0, imp_concat(c, 2, (const tn_value[]){list, item}, 0));
}

/* The elements joined along their first dimension. */
static tn_value flattened(imp_node *c, tn_value list)
{
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad || is_sequence(list))
        return c->bad ? list : joined(c, list, false, (tn_value){0});
    const tn_type *t = imp_type(list);
    if (t->n < 2) {
        imp_refuse(c, IMP_BAD_VALUE, "elements of a list that are joined must have a dimension");
        return list;
    }
    dim[0] = tn_mul(c->pool, t->dim[0], t->dim[1]);
    for (int d = 2; d < t->n; d++)
        dim[d - 1] = t->dim[d];
    return imp_reshape(c, list, (uint32_t)t->n - 1, dim);
}

static void concat(imp_node *c)
{
    (void)tf_attr_shape(c, "element_shape");
    imp_out(c, 0, flattened(c, list_in(c, 0)));
}

/* Parts of a tensor as elements; their sizes are operand 2. */
static void split(imp_node *c)
{
    tn_seq_split_attr a = {0, true};
    (void)tf_attr_shape(c, "element_shape");
    imp_out(
        c, 0,
        on_sequence(c, &tn_op_seq_split, &a, 2, (const tn_value[]){imp_in(c, c->n_in == 4), imp_in(c, 2)}));
}

static void gather(imp_node *c)
{
    extents e = extents_in(c, 2);
    tn_value list = tensor_in(c, 0, &e, "element_dtype"), at = imp_in(c, 1);
    imp_out(c, 0, imp_take(c, list, at, 0));
}

/* ---- TensorArray: handle, ..., flow ---- */

static void array_write(imp_node *c)
{
    tn_value at = tf_scalar_in(c, 1), item = item_in(c, 2), list = imp_in(c, 3);
    const tf_resource *r = handle_of(c, list);
    imp_out(c, 0, with_item(c, list, at, item, r && r->grows));
}

static void array_read(imp_node *c)
{
    tn_value at = tf_scalar_in(c, 1), list = list_in(c, 2);
    imp_out(c, 0, item_of(c, list, at));
}

static void array_concat(imp_node *c)
{
    (void)tf_attr_shape(c, "element_shape_except0");
    imp_out(c, 0, flattened(c, list_in(c, 1)));
}

static void array_gather(imp_node *c)
{
    extents e = extents_attr(c, "element_shape");
    tn_value at = imp_in(c, 1), list = tensor_in(c, 2, &e, "dtype");
    imp_out(c, 0, imp_take(c, list, at, 0));
}

static void array_scatter(imp_node *c)
{
    static const tn_scatter_attr update = {0, "update"};
    tn_value at = imp_in(c, 1), items = imp_in(c, 2), list = imp_in(c, 3);
    const tf_resource *r = handle_of(c, list);
    const tn_type *t = imp_type(items);
    if (is_sequence(list) || (r && r->grows)) {
        imp_refuse(c, IMP_OPERANDS,
                   "elements of a TensorArray whose dynamic_size is true must be written one by one");
        return;
    }
    if (r && !c->bad && t->n)
        list = list_of(c, r->count, true, (tn_dims){(uint32_t)t->n - 1, t->dim + 1}, t->dtype);
    at = imp_unsqueeze(c, imp_cast(c, at, TN_I64), 1);
    imp_out(c, 0, imp_call(c, &tn_op_scatter_nd, &update, 3, (const tn_value[]){list, at, items}));
}

static void array_size(imp_node *c) { imp_out(c, 0, imp_cast(c, count_of(c, imp_in(c, 1)), TN_I32)); }

// clang-format off
const imp_row tf_rows_list[] = {
    {"EmptyTensorList",      1, 0, 2, 1, empty,         NULL},
    {"TensorArrayConcatV3",  1, 0, 2, 1, array_concat,  NULL},
    {"TensorArrayGatherV3",  1, 0, 3, 1, array_gather,  NULL},
    {"TensorArrayReadV3",    1, 0, 3, 1, array_read,    NULL},
    {"TensorArrayScatterV3", 1, 0, 4, 1, array_scatter, NULL},
    {"TensorArraySizeV3",    1, 0, 2, 1, array_size,    NULL},
    {"TensorArraySplitV3",   1, 0, 4, 1, split,         NULL},
    {"TensorArrayV3",        1, 0, 1, 2, array,         NULL},
    {"TensorArrayWriteV3",   1, 0, 4, 1, array_write,   NULL},
    {"TensorListConcat",     1, 0, 1, 1, concat,        NULL},
    {"TensorListConcatV2",   1, 0, 3, 1, concat,        NULL},
    {"TensorListFromTensor", 1, 0, 2, 1, from_tensor,   NULL},
    {"TensorListGather",     1, 0, 3, 1, gather,        NULL},
    {"TensorListGetItem",    1, 0, 3, 1, get_item,      NULL},
    {"TensorListLength",     1, 0, 1, 1, length,        NULL},
    {"TensorListPushBack",   1, 0, 2, 1, push_back,     NULL},
    {"TensorListReserve",    1, 0, 2, 1, reserve,       NULL},
    {"TensorListSetItem",    1, 0, 3, 1, set_item,      NULL},
    {"TensorListSplit",      1, 0, 3, 1, split,         NULL},
    {"TensorListStack",      1, 0, 2, 1, stack,         NULL},
    {0},
};
// clang-format on
