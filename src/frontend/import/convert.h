#ifndef TN_FRONTEND_IMPORT_CONVERT_H
#define TN_FRONTEND_IMPORT_CONVERT_H
/* What converters are written with, of any format.
 *
 * A converter turns one operator of the model into Relay calls. It never returns a status: what fails is reported once
 * and leaves c->bad set; from then on every helper gives an absent value (or zeros), so converters read straight
 * through. Attributes that a converter never asked for are errors: nothing in a model is ignored silently.
 *
 * Small integer tensors (up to IMP_HOST_MAX elements) carry their elements as index expressions, worked out by the
 * operator records' shape_value: a reshape target computed from a shape is known although the batch is a symbol. */
#include "frontend/import/import.h"
#include "op/control/control.h"
#include "op/tensor/tensor.h"

/* ---- regions: branches and bodies (nodes.c) ---- */
tn_region *imp_region_new(imp_node *c);
/* Empties the regions that were made from number `from` on and that no node holds: what was begun there will not be
 * finished, but its nodes use values outside. */
void imp_discard_regions(imp_node *c, size_t from);

/* ---- messages ---- */
void imp_fail(imp_node *c, const char *id, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void imp_refuse(imp_node *c, enum imp_trouble t, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
const char *imp_type_text(imp_node *c, const tn_type *t);

/* ---- operands (call.c) ---- */
uint32_t imp_n_in(const imp_node *c);        /* named or not */
bool imp_has(const imp_node *c, uint32_t i); /* operand i is given */
tn_value imp_in(imp_node *c, uint32_t i);    /* required: reported if missing */
tn_value imp_opt(imp_node *c, uint32_t i);   /* absent if not given */
/* Never NULL: a float scalar for absent values, whose dimensions may be looked at as if there were some. */
const tn_type *imp_type(tn_value v);
int imp_rank(tn_value v);
static inline bool imp_is_list(tn_value v) /* a tuple: a value of the model that is no tensor */
{
    return v.def && tn_op_is(v.def, &tn_op_tuple);
}

/* ---- elements of small integer tensors (host.c) ---- */
/* Elements as index expressions, for integers and bools whose values are known. */
bool imp_host(imp_node *c, tn_value v, tn_dims *out);
void imp_set_host(imp_node *c, tn_value v, tn_dims elements);
/* The same for a value that others than converters made: what it is computed from is looked at first, at most *steps
 * calls, which become fewer. false: its elements are not known. */
bool imp_host_through(imp_node *c, tn_value v, int *steps);
/* Element i of a small list, where it is known although others are not; else NULL. */
const tn_expr *imp_element(imp_node *c, tn_value v, int64_t i);
/* ... required; `what` names the operand in the report. */
tn_dims imp_host_in(imp_node *c, tn_value v, const char *what);
tn_ints imp_ints_in(imp_node *c, tn_value v, const char *what); /* constant integers */
/* ... of any number type: the oldest operators have sizes as floats */
tn_ints imp_whole_in(imp_node *c, tn_value v, const char *what);
int64_t imp_int_in(imp_node *c, tn_value v, const char *what); /* one of them */
/* A constant of one element, of any type of real numbers. */
bool imp_scalar(imp_node *c, tn_value v, double *out);
/* A new call, or a constant in its place where its elements are known. */
tn_value imp_fold(imp_node *c, tn_node *call);

/* x as elements of type t with the same bits (bits.c): of another size, with a last dimension more or less. */
tn_value imp_bitcast(imp_node *c, tn_value x, tn_dtype t);
/* ... but with as many dimensions: the last one has as many elements of type t as its bytes are. */
tn_value imp_view(imp_node *c, tn_value x, tn_dtype t);

/* ---- extents that only the run knows (dynamic.c) ---- */
/* The shape to which two shapes, lists of integers, are broadcast. */
tn_value imp_broadcast_shape(imp_node *c, tn_value a, tn_value b);
/* The elements of v as new symbols, at most `most` (may be NULL). */
tn_dims imp_bind(imp_node *c, tn_value v, const tn_expr *most);
/* imp_host_in, but elements that are not known are bound during the run. */
tn_dims imp_extents_in(imp_node *c, tn_value v, const char *what);
tn_dims imp_sizes_in(imp_node *c, tn_value v, const char *what); /* ... to at least 1 */
/* The one element of v as an extent; where it has more or none, which is reported, 1. */
const tn_expr *imp_extent_in(imp_node *c, tn_value v, const char *what);
const tn_expr *imp_size_in(imp_node *c, tn_value v, const char *what); /* ... of at least 1 */
tn_value imp_extent_of(imp_node *c, tn_value x, int d);            /* dim d of x in the run: int64, rank 0 */
tn_value imp_shape_of(imp_node *c, tn_value x);                    /* all of them: int64 */
tn_value imp_count_up(imp_node *c, const tn_expr *n);              /* int64 0 1 .. n - 1 */
tn_value imp_positions(imp_node *c, tn_value condition);           /* where a list of bools holds: int64 */
tn_value imp_flat(imp_node *c, tn_value v);                        /* as one dimension */
tn_value imp_take(imp_node *c, tn_value v, tn_value at, int axis); /* by positions that are inside */
tn_value imp_choose(imp_node *c, tn_value condition, tn_value a, tn_value b);
tn_value imp_i64(imp_node *c, int64_t v); /* rank 0 */
tn_value imp_reduce(imp_node *c, const tn_op *op, tn_value v, int axis);
tn_value imp_reshape_to(imp_node *c, tn_value x, const tn_reshape_attr *a);
/* Dimension `axis` of *v must be n: where that is not known the run checks it, and its type says it. false: never. */
bool imp_with_extent(imp_node *c, tn_value *v, int axis, const tn_expr *n);
/* x in another shape, where the run finds as many elements. */
tn_value imp_checked_reshape(imp_node *c, tn_value x, tn_dims d);
/* true: a target was computed during the run, and the converter is done. */
bool imp_dynamic_reshape(imp_node *c, tn_value x, tn_value shape, bool allow_zero);
bool imp_dynamic_expand(imp_node *c, tn_value x, tn_value shape);
bool imp_dynamic_slice(imp_node *c, tn_value x, tn_value start, tn_value end, tn_value axes, tn_value steps);

/* ---- what several formats have (pieces.c) ---- */
/* start, limit and step, each of rank 0, as numbers from start on; how many may be for the run to find out. */
tn_value imp_range(imp_node *c, const tn_value in[3]);
/* Mirrored before and after each dimension, of which `width` has 2 numbers; edge: the last element is repeated, too. */
tn_value imp_mirror(imp_node *c, tn_value x, tn_ints width, bool edge);
/* The results are equal parts of a dimension. */
void imp_split_equal(imp_node *c, tn_value x, int axis);
/* The results are parts of these sizes; one of them may be below 0 and takes the rest. */
void imp_split_sizes(imp_node *c, tn_value x, int axis, tn_ints size);
/* e^x - 1, exact to the last bits near 0, too. Floats. */
tn_value imp_expm1(imp_node *c, tn_value x);
/* nn.prelu of a slope that is broadcast, with as many dimensions as x: in texts, one of one dimension lies
 * along axis 1. */
tn_value imp_prelu(imp_node *c, tn_value x, tn_value slope);
/* v where it is finite, else 0. */
tn_value imp_finite_or_zero(imp_node *c, tn_value v);
/* log(sum(exp(x))) along `axes`, none of them: all. Floats; no overflow, and infinities as their limit. */
tn_value imp_log_sum_exp(imp_node *c, tn_value x, tn_ints axes, bool keep);
/* Positions along an axis, a tensor of them for each of the first `batch` dimensions, which both have. */
tn_value imp_take_of_each(imp_node *c, tn_value x, tn_value at, int axis, int batch);

/* ---- slices along an axis that differ (unique.c) ---- */
typedef struct imp_unique {
    tn_value x;       /* one of each */
    tn_value index;   /* where it is first, int64 */
    tn_value inverse; /* of each slice of the data: which one it is */
    tn_value count;   /* how often it is there */
} imp_unique;
enum imp_unique_how {
    IMP_UNIQUE_SORTED = 1,    /* else by first appearance */
    IMP_UNIQUE_NAN_APART = 2, /* each slice with a NaN differs from all others; else NaN equals NaN */
    IMP_UNIQUE_RUNS = 4       /* a slice is compared with the one before it alone */
};
/* NaN comes last where slices are sorted. how: flags of enum imp_unique_how. */
imp_unique imp_unique_of(imp_node *c, tn_value x, int axis, unsigned how);

/* ---- parameters that only the run knows (late.c) ---- */
bool imp_is_known(imp_node *c, tn_value v); /* a small integer tensor of numbers */
bool imp_is_late(imp_node *c, uint32_t i);  /* operand i is given, and is none */
int64_t imp_length(tn_value v);             /* of a list; 1 for a scalar, -1: not known */
tn_value imp_iota(imp_node *c, int n);      /* 0 1 .. n - 1, int64; n is at most one more than a rank */
/* The run fails, and says this, unless the one element of v is n. */
void imp_demand(imp_node *c, tn_value v, int64_t n, const char *says);
/* Axes in [-rank, rank) as a list of positions, int64; the run fails where one is outside. */
tn_value imp_positions_of(imp_node *c, tn_value axes, int rank);
/* How often each of `rank` dimensions is in a list of positions. */
tn_value imp_hits(imp_node *c, tn_value at, int rank);
/* bool: is it there? The run fails where a dimension is named twice. */
tn_value imp_mask(imp_node *c, tn_value at, int rank);
/* values[k] for dimension at[k], each once, `rest` for the others. All int64. */
tn_value imp_placed(imp_node *c, tn_value at, tn_value values, int rank, tn_value rest);
/* How many elements lie before position `at` of a shape, along it, and after it. The number of dimensions as a position
 * means one of extent 1 after the last. */
tn_dims imp_sides(imp_node *c, tn_value shape, tn_value at);
/* x, which has as many elements as `shape` says, in these three dimensions. */
tn_value imp_around(imp_node *c, tn_value x, tn_value shape, tn_value at);
/* v repeated to the shape of x, where dimensions of v are 1 in the run. */
tn_value imp_broadcast_like(imp_node *c, tn_value v, tn_value x);
/* x in a shape computed during the run; most: its largest extents, or NULL. */
tn_value imp_in_shape(imp_node *c, tn_value x, tn_value shape, const tn_expr *const most[]);

/* ---- attributes; `def` where absent (attr.c) ---- */
bool imp_has_attr(const imp_node *c, const char *name);
int64_t imp_attr_int(imp_node *c, const char *name, int64_t def);
double imp_attr_float(imp_node *c, const char *name, float def);
const char *imp_attr_string(imp_node *c, const char *name, const char *def);
bool imp_attr_ints(imp_node *c, const char *name, tn_ints *out); /* false: absent */
/* NULL: absent, or of another kind. */
const imp_attr *imp_attr_find(imp_node *c, const char *name, enum imp_attr_kind kind);
void imp_attr_ignore(imp_node *c, const char *name); /* has no bearing on the result */
void imp_attr_need(imp_node *c, const char *name);   /* reported if missing */
/* Integers from attribute `name` before version `since`, from operand i after. false: not given. */
bool imp_ints_arg(imp_node *c, const char *name, int since, uint32_t i, tn_ints *out);
int imp_axis(imp_node *c, int64_t axis, int rank); /* [-rank, rank) to [0, rank) */

/* ---- calls: absent if the converter failed before or the call does (call.c) ---- */
tn_value imp_call(imp_node *c, const tn_op *op, const void *attr, int n, const tn_value in[]);
static inline tn_value imp_call1(imp_node *c, const tn_op *op, const void *attr, tn_value a)
{
    return imp_call(c, op, attr, 1, &a);
}
static inline tn_value imp_call2(imp_node *c, const tn_op *op, const void *attr, tn_value a, tn_value b)
{
    return imp_call(c, op, attr, 2, (const tn_value[]){a, b});
}
/* Of operators without attributes. */
static inline tn_value imp_unary(imp_node *c, const tn_op *op, tn_value a)
{
    return imp_call1(c, op, NULL, a);
}
static inline tn_value imp_binary(imp_node *c, const tn_op *op, tn_value a, tn_value b)
{
    return imp_call2(c, op, NULL, a, b);
}
tn_value imp_with(imp_node *c, const tn_op *op, tn_value v, double number); /* op(v, number), of v's dtype */
tn_value imp_const(imp_node *c, tn_dtype t, double v);                      /* rank 0 */
tn_value imp_const_ints(imp_node *c, tn_dtype t, int ndim, uint32_t n, const int64_t v[]); /* rank 0 or 1 */
/* As many elements: what is not known the run checks. */
tn_value imp_reshape(imp_node *c, tn_value v, int ndim, const tn_expr *const dim[]);
tn_value imp_transpose(imp_node *c, tn_value v, int n, const int64_t perm[]);
/* What sums of it are kept in: float32 for 16-bit floats, which a sum may not fit; else t. */
tn_dtype imp_sum_dtype(tn_dtype t);
/* v itself if it has dtype t */
tn_value imp_cast(imp_node *c, tn_value v, tn_dtype t);
tn_value imp_slice(imp_node *c, tn_value v, int64_t axis, int64_t begin,
                   int64_t end); /* end INT64_MAX: all */
/* Bounds that symbols may be in, which the run holds inside the dimension. */
tn_value imp_slice_to(imp_node *c, tn_value v, int64_t axis, const tn_expr *begin, const tn_expr *end);
tn_value imp_concat(imp_node *c, uint32_t n, const tn_value in[], int64_t axis); /* in[0] itself if n is 1 */
/* Elements move by so many places along a dimension, round its end; of a scalar v itself. */
tn_value imp_roll(imp_node *c, tn_value v, int axis, int64_t by);
tn_value imp_unsqueeze(imp_node *c, tn_value v, int64_t axis);
tn_value imp_squeeze(imp_node *c, tn_value v, int64_t axis);
const tn_expr *imp_simplify(imp_node *c, const tn_expr *e);
const tn_expr *imp_product(imp_node *c, const tn_type *t, int from, int to); /* of dims [from, to) */

/* ---- results ---- */
static inline void imp_out_any(imp_node *c, uint32_t i, tn_value v) /* of an output that may be left out */
{
    if (i < c->n_out)
        c->out[i] = v;
}
static inline void imp_out(imp_node *c, uint32_t i, tn_value v) /* damaged nodes may lack it */
{
    if (i < c->n_out || i == 0)
        c->out[i] = v;
}
static inline bool imp_wants(const imp_node *c, uint32_t i) { return i < c->n_out && c->out_name[i].n > 0; }

#endif
