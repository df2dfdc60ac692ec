#ifndef TN_OP_RULE_H
#define TN_OP_RULE_H
/* Shared by the record files of op/, not by other folders: what type relations, tensor expressions and layout
 * rules are written with. `n` is the node being inferred; messages begin with its operator's name and carry
 * its location. */
#include "op/op.h"
#include "tir/unit.h"

enum { TN_RULE_MAX_RANK = 8 };

/* ---- messages ---- */
TN_WARN_UNUSED tn_status tn_rule_fail(tn_graph *g, const tn_node *n, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
const char *tn_rule_type_text(tn_graph *g, const tn_type *t); /* in the graph's arena */
const char *tn_rule_dim_text(tn_graph *g, const tn_expr *e);
const char *tn_rule_dtype_text(tn_graph *g, tn_dtype t);

/* ---- operands ---- */
/* Operand i as a tensor of `rank` dimensions (-1: any, at most TN_RULE_MAX_RANK). */
TN_WARN_UNUSED tn_status tn_rule_tensor(tn_graph *g, const tn_node *n, int i, int rank, const tn_type **out);
/* Operand i must have the dtype of operand 0. */
TN_WARN_UNUSED tn_status tn_rule_same_dtype(tn_graph *g, const tn_node *n, int i);
TN_WARN_UNUSED tn_status tn_rule_float(tn_graph *g, const tn_node *n, int i);
TN_WARN_UNUSED tn_status tn_rule_number(tn_graph *g, const tn_node *n, int i); /* float or data integer */
/* A number that counts of elements fit into, for means. */
TN_WARN_UNUSED tn_status tn_rule_countable(tn_graph *g, const tn_node *n, int i);
/* The dtype that products of operands 0 and 1 are added in: `asked`, which is then at least as wide as the operands
 * (int8 and uint8 may meet); None: the one dtype of both. */
TN_WARN_UNUSED tn_status tn_rule_product(tn_graph *g, const tn_node *n, tn_dtype asked, tn_dtype *out);
const char *tn_rule_in_name(tn_graph *g, const tn_node *n, int i);

/* ---- dimensions ---- */
bool tn_rule_dim_eq(tn_graph *g, const tn_expr *a, const tn_expr *b);
/* Extents that must be equal: are they, or may they be taken to be, as an input of the model then is (extent.c)? */
bool tn_rule_settled(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b);
/* The same, or has the run to check it? Then n's operands come to have these extents (tn_infer_node). */
bool tn_rule_agree(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b);
/* Gives n's operands the extents that g->assumed says, by match_shape; false: none has such an extent. */
bool tn_rule_match(tn_graph *g, tn_node *n);
/* One dimension of a broadcast of a and b; NULL if they do not fit. */
const tn_expr *tn_rule_wider(tn_graph *g, const tn_node *n, const tn_expr *a, const tn_expr *b);
/* The product of n extents, those that only the run knows taken as 1; at most INT32_MAX. */
int64_t tn_rule_least(const tn_expr *const dim[], int n);
/* An attribute that is one extent; numbers must be in [0, 2^31). */
TN_WARN_UNUSED tn_status tn_rule_extent(tn_graph *g, const tn_node *n, const char *name, tn_dims at,
                                        const tn_expr **out);
/* Sets output `out` to a tensor of these dims, simplified; they must be >= 0 and fit int64. */
TN_WARN_UNUSED tn_status tn_rule_result(tn_graph *g, tn_node *n, int out, tn_dtype t, int ndim,
                                        const tn_expr *const dim[]);
/* The elements of output 0, inferred before, are made of those along `axis` of t, so there must be some, unless the
 * result has no elements either. */
TN_WARN_UNUSED tn_status tn_rule_elements(tn_graph *g, const tn_node *n, const tn_type *t, int axis);
/* The same for a symbolic extent that may be 0: the run checks it. For compute functions, after `out` was made. */
void tn_rule_require_elements(tn_te *te, const tn_tensor *in, int axis, const tn_tensor *out);
/* Axis in [-rank, rank) to [0, rank). */
TN_WARN_UNUSED tn_status tn_rule_axis(tn_graph *g, const tn_node *n, int64_t axis, int rank, int *out);
/* Axes as flags, each at most once. */
TN_WARN_UNUSED tn_status tn_rule_axes(tn_graph *g, const tn_node *n, tn_ints axes, int rank,
                                      bool out[TN_RULE_MAX_RANK]);

/* A transpose, or a reshape that moves dimensions of extent 1 only, that goes if all who read it move in
 * front of it, or may. Dimension i of v is dimension axes[i] of what it moves. */
bool tn_rule_sinks(tn_value v, int64_t axes[TN_RULE_MAX_RANK]);

/* ---- attributes ---- */
/* Replaces the node's attributes (normalised form); arrays in `attr` must live in the graph's arena. */
void tn_rule_set_attr(tn_graph *g, tn_node *n, const void *attr);
/* Attribute `name` as exactly `count` integers in [min, 2^31 - 1]; a single one stands for all, none for
 * `def`. */
TN_WARN_UNUSED tn_status tn_rule_ints(tn_graph *g, const tn_node *n, const char *name, tn_ints *at,
                                      uint32_t count, int64_t min, int64_t def);
/* Padding of a window of `dims` dimensions: one value, one for each dimension, or before each and then after each.
 * Numbers in [0, 2^31), or expressions of the symbols of extents. */
TN_WARN_UNUSED tn_status tn_rule_padding(tn_graph *g, const tn_node *n, tn_dims *at, uint32_t dims);
/* How a window of `dims` dimensions moves: strides and dilation (1 where not given), padding. */
TN_WARN_UNUSED tn_status tn_rule_steps(tn_graph *g, const tn_node *n, tn_ints *strides, tn_ints *dilation,
                                       tn_dims *padding, uint32_t dims);
TN_WARN_UNUSED tn_status tn_rule_groups(tn_graph *g, const tn_node *n, const char *name, int64_t groups);
/* Layout attribute `name` of the operand or result `what`: not given, or the only one an operator is defined for. */
TN_WARN_UNUSED tn_status tn_rule_layout_is(tn_graph *g, const tn_node *n, const char *name, const char *given,
                                           const char *want, const char *what);
/* Data of 1, 2 or 3 spatial dimensions, channels first: "NCW", "NCHW", "NCDHW"; "" for other numbers. */
const char *tn_rule_channels_first(int dims);

/* ---- tensor expressions ---- */
tn_status tn_define_formula(tn_te *te, tn_graph *g, const tn_node *n, tn_tensor *const in[],
                            tn_tensor *out[]);
/* The formula of an elementwise operator over operands; t: dtype of literals and attributes. */
const tn_expr *tn_read_formula(tn_graph *g, const tn_node *n, tn_dtype t, const tn_expr *const operand[]);
/* A tensor for output `out` of the node, tagged. axis_names NULL: i j k l. */
tn_tensor *tn_rule_out(tn_te *te, const tn_node *n, int out, const char *name, const char *tag,
                       const char *axis_names);
/* What floats are computed in where much is added up or interpolated: float64 for itself, else float32. */
tn_dtype tn_rule_accumulator(tn_dtype t);
/* What sums that are divided later are kept in: float32 for 16-bit floats and 64 bits for integers, as the sum may not
 * fit t; else t. */
tn_dtype tn_rule_sum_dtype(tn_dtype t);
/* The same in that dtype, for such a sum. */
tn_tensor *tn_rule_sum(tn_te *te, const tn_node *n, const char *name, const char *tag,
                       const char *axis_names);
/* x * y in dtype t. */
const tn_expr *tn_rule_times(tn_pool *p, tn_dtype t, const tn_expr *x, const tn_expr *y);
/* Fails the run unless dimension `dim` is equal in two operands; nothing where that is known. */
void tn_rule_require_equal(tn_te *te, const tn_expr *a, const tn_expr *b, int dim);
/* `at`, which counts `count` positions, along an axis of data of a known or unknown `extent`: where that may be less,
 * the run fails if it is. */
const tn_expr *tn_rule_within(tn_te *te, const tn_expr *at, const tn_expr *count, const tn_expr *extent,
                              int dim);
/* The index along dimension `dim` of an operand, of extent d, at `at` of the broadcast's, of extent `to`; the run fails
 * where d is neither that nor 1. */
const tn_expr *tn_rule_stretch(tn_te *te, const tn_expr *d, const tn_expr *to, const tn_expr *at, int dim);
/* Element of t that out's axes read by broadcasting. */
const tn_expr *tn_rule_at_broadcast(tn_te *te, const tn_tensor *t, const tn_tensor *out);
/* One axis of a sliding window: pad `before` and `after`; ceil_mode: a last, partial window counts if it
 * starts inside the data or the padding before it. */
typedef struct tn_window {
    int64_t stride, dilation;
    const tn_expr *before, *after;
    bool ceil_mode;
} tn_window;
/* How many positions it has. */
const tn_expr *tn_rule_window_extent(tn_pool *p, const tn_expr *in, const tn_expr *kernel,
                                     const tn_window *w);
/* The same of dimension `axis` of the data, simplified; a window that does not fit is refused. */
TN_WARN_UNUSED tn_status tn_rule_window(tn_graph *g, const tn_node *n, const tn_type *data, int axis,
                                        const tn_expr *kernel, const tn_window *w, const tn_expr **out);
/* Whoever defines t by a window moved over this axis checks in the run that a symbolic extent has room for it. */
void tn_rule_require_window(tn_te *te, const tn_tensor *t, int axis);
void tn_rule_require_taps(tn_te *te, const tn_expr *taps); /* at least one */
const tn_expr *tn_rule_window_index(tn_pool *p, const tn_expr *out, const tn_expr *tap, const tn_window *w);
/* Is there padding of this width? Of a symbolic one there may be. */
bool tn_rule_may_pad(const tn_expr *width);
/* 0 <= index < in, without what always holds; NULL: always. */
const tn_expr *tn_rule_window_inside(tn_pool *p, const tn_expr *index, const tn_expr *in, const tn_window *w);
const tn_expr *tn_rule_both(tn_pool *p, const tn_expr *a, const tn_expr *b); /* conjunction; NULL: true */
/* Index into a tensor of dims `from` of the element that is at[] in one of dims `to`, which holds the same elements
 * row by row; index[] gets an entry for each of from. */
void tn_rule_reshape_index(tn_pool *p, tn_dims from, tn_dims to, const tn_expr *const at[],
                           const tn_expr **index);
void tn_rule_reshape_moves(tn_pool *p, const tn_node *n, const tn_expr *const from[], const tn_expr *to[]);

/* ---- layouts ---- */
/* The machine's unit of that kind for products of data (operand 0) and weights; NULL: it has none for the types. */
const tn_unit_row *tn_rule_unit(const tn_layout_query *q, enum tn_unit_kind kind);
void tn_layout_same(tn_layout_query *q); /* elementwise and broadcast */
/* Is it no more than another order of the dimensions? */
bool tn_rule_permutes(const tn_layout *l);
/* Operand 0's layout, unless it blocks a dimension along which elements move; others are row-major. */
void tn_layout_unmoved(tn_layout_query *q, const bool moved[]);
void tn_layout_channel_block(tn_layout_query *q); /* NCHW{c}c through, else identity */
/* Block size c of an NCHW{c}c layout, 0 if it is another. */
uint32_t tn_rule_channel_block(const tn_layout *l);
const tn_layout *tn_rule_layout(tn_graph *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for operand i, a weight: where it is a constant that the layout pads, its padding is 0 and may be read. */
const tn_layout *tn_rule_weight_layout(const tn_layout_query *q, int i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- shape arithmetic ---- */
/* Elements of a function of two lists of integers, of which one may have a single element: `value` over the variables
 * operand[0] and operand[1]. false: not known, or a divisor is not known to be above zero. */
bool tn_rule_pair_value(tn_graph *g, const tn_node *n, const tn_dims in[], const tn_expr *value,
                        const tn_expr *const operand[2], tn_dims *out);

/* ---- what passes ask (algebra.c) ---- */
tn_status tn_simplify_formula(tn_graph *g, tn_node *n, tn_value *out);
tn_status tn_simplify_shares(tn_graph *g, tn_node *n, tn_value *out); /* reshape and its like */
/* n puts back, as dimensions of extent 1, those that `reduce` drops: the reduction that keeps them. */
tn_status tn_reduce_keeping(tn_graph *g, tn_node *n, const tn_node *reduce, tn_value *out);
tn_status tn_simplify_same_type(tn_graph *g, tn_node *n,
                                tn_value *out); /* operand 0, where its type is the result's */
enum tn_scale tn_scale_formula(const tn_node *n, bool forward, bool positive, int axis, int *other);
enum tn_scale tn_scale_channels(const tn_node *n, bool forward, bool positive, int axis,
                                int *other); /* pooling */
enum tn_scale tn_scale_largest(const tn_node *n, bool forward, bool positive, int axis, int *other);
bool tn_permute_elementwise(tn_graph *g, const tn_node *n, const int64_t axes[], void *attr);
bool tn_permute_axis(tn_graph *g, const tn_node *n, const int64_t axes[],
                     void *attr); /* attr is a tn_axis_attr */
/* The one value of a constant whose elements are all alike, or of a scalar. */
bool tn_rule_uniform(tn_value v, double *out);

#endif
