#ifndef TN_FRONTEND_IMPORT_WINDOW_H
#define TN_FRONTEND_IMPORT_WINDOW_H
/* Operators with windows, of any format: convolution, transposed convolution, pooling and resizing of one to three
 * spatial dimensions.
 *
 * Relay's operators have the channels first. Where a format has them last (`last`), the helpers transpose the data
 * before the operator and the result after it; SimplifyExpr moves these transposes along the graph until they
 * cancel, so a converter need not care where it puts what follows (bias, activation, arithmetic). */
#include "frontend/import/convert.h"
#include "op/image/image.h"
#include "op/nn/nn.h"

enum { IMP_MAX_SPATIAL = 3 };

/* pad: before each dimension, then (from pad[dims] on) after each; of symbolic extents an expression. Of a transposed
 * convolution: what is cut off its result. */
typedef struct imp_window {
    int dims;
    bool last; /* the channels are the last dimension of data and result, else the second one */
    int64_t kernel[IMP_MAX_SPATIAL], stride[IMP_MAX_SPATIAL], dilation[IMP_MAX_SPATIAL];
    const tn_expr
        *run_kernel[IMP_MAX_SPATIAL]; /* an extent of the kernel that only the run knows, else NULL */
    const tn_expr *pad[2 * IMP_MAX_SPATIAL];
} imp_window;

/* A window of 1 with steps of 1 and no padding over x; false: data of another rank, reported. */
bool imp_window_init(imp_node *c, tn_value x, bool last, imp_window *w);
/* The window is the weight's, whose dimensions are OI(D)(H)W; false: another rank or extents that are not fixed. */
bool imp_window_of_weight(imp_node *c, tn_value weight, imp_window *w);
/* ... or extents that only the run knows. */
bool imp_window_of_any_weight(imp_node *c, tn_value weight, imp_window *w);
/* (kernel - 1) * dilation + 1 along dimension i; reported where strides, dilations or windows are below 1, and of the
 * first form where the kernel is not fixed. */
int64_t imp_window_span(imp_node *c, const imp_window *w, int i);
const tn_expr *imp_window_reach(imp_node *c, const imp_window *w, int i);
const tn_expr *imp_window_extent(tn_value x, const imp_window *w, int i); /* of x along spatial dimension i */
void imp_pad_none(imp_node *c, imp_window *w);                            /* VALID */
void imp_pad_both(imp_node *c, imp_window *w, const int64_t pad[]);       /* before each, then after each */
/* `total` zeros along dimension i, if it is more than none; an odd one goes after, or before. */
void imp_pad_share(imp_node *c, imp_window *w, int i, const tn_expr *total, bool before);
/* As many results as ceil(extent / stride): an odd zero goes after the data (SAME, SAME_UPPER), or before it. */
void imp_pad_same(imp_node *c, tn_value x, imp_window *w, bool before);
/* Of a transposed convolution, so that its result has these extents; more: results after each dimension. */
void imp_pad_output(imp_node *c, tn_value x, imp_window *w, const tn_expr *const size[], bool before,
                    int64_t more[]);

/* Dimensions named by letters in another order: imp_reorder(c, w, "HWIO", "OIHW"). */
tn_value imp_reorder(imp_node *c, tn_value v, const char *from, const char *to);
/* A depthwise weight (D)(H)WCM as OI(D)(H)W: [c * m, 1, ...]. */
tn_value imp_depthwise_weight(imp_node *c, tn_value v);
/* Data with the channels last to channels first, and back; of fewer than three dimensions: as it is. */
tn_value imp_channels_first(imp_node *c, tn_value x);
tn_value imp_channels_last(imp_node *c, tn_value y);

/* Attributes of `op` (nn.conv2d and its kin, qnn.conv2d) for a weight OI(D)(H)W; false: failed. */
bool imp_conv_attr(imp_node *c, const imp_window *w, tn_value weight, int64_t groups, const tn_op *op,
                   tn_conv2d_attr *a);
const tn_op *imp_conv_op(int dims); /* nn.conv1d, nn.conv2d or nn.conv3d */
/* weight: OI(D)(H)W. */
tn_value imp_conv(imp_node *c, tn_value x, tn_value weight, const imp_window *w, int64_t groups);
/* weight: IO(D)(H)W; more: results after each dimension, or NULL. */
tn_value imp_conv_transpose(imp_node *c, tn_value x, tn_value weight, const imp_window *w,
                            const int64_t more[], int64_t groups);
/* ... whose result's extents are given, in full or those of the spatial dimensions alone. What the padding is follows
 * from them, unless it is explicit; where they are no numbers, SAME gives as many results as strides times the extent,
 * VALID all that there are, and the run checks that. */
enum imp_padding { IMP_SAME, IMP_VALID, IMP_EXPLICIT };
tn_value imp_conv_transpose_to(imp_node *c, tn_value x, tn_value weight, imp_window *w, tn_dims size,
                               enum imp_padding how);
/* v + bias along the channels; absent: v. */
tn_value imp_bias(imp_node *c, tn_value v, tn_value bias, bool last);

enum imp_pool_kind { IMP_POOL_MAX, IMP_POOL_AVERAGE };
bool imp_pool_attr(imp_node *c, const imp_window *w, const tn_op *op, tn_pool2d_attr *a);
const tn_op *imp_pool_op(enum imp_pool_kind kind, int dims);
/* included: zeros of the padding count as elements of an average. */
tn_value imp_pool(imp_node *c, enum imp_pool_kind kind, tn_value x, const imp_window *w, bool included);

/* x with new extents of its spatial dimensions; how: size and layout are set here. */
tn_value imp_resize(imp_node *c, tn_value x, bool last, tn_dims size, tn_resize_attr how);
tn_value imp_clip(imp_node *c, tn_value v, double least, double most);

#endif
