/* Every operator record: complete, described, inferring, defining; and every refusal with its id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "numeric/run.h"
#include "op/control/control.h"
#include "op/image/image.h"
#include "op/qnn/qnn.h"
#include "op/random/random.h"
#include "op/signal/signal.h"
#include "op/tree/tree.h"
#include "op/tensor/tensor.h"
#include "op/vision/vision.h"

/* One sample for each record: operand types, attributes, what the (first) result must be. NULL in[0]: no
 * kernel. */
/* clang-format off */
typedef struct sample { const tn_op *op; const char *in[9], *attrs, *result; } sample;
static const sample samples[] = {
    {&tn_op_relayout, {"float32 2 20 5 5"}, "dst_layout=\"NCHW16c\"",
        "Tensor[(2, 20, 5, 5), float32, NCHW16c]"},
    {&tn_op_add, {"float32 n", "float32 m"}, "", "Tensor[(max(m, n)), float32]"}, /* checked when they are known */
    {&tn_op_add, {"float32 n", "float32 9"}, "", "Tensor[(9), float32]"},
    {&tn_op_add, {"float32 n", "float32 0"}, "", "Tensor[(0), float32]"}, /* n is 1 */
    {&tn_op_nn_batch_matmul, {"float32 n 4 5", "float32 m 5 6"}, "",
        "Tensor[(max(m, n), 4, 6), float32]"},
    {&tn_op_nn_conv2d, {"float32 n 4 9 9", "float32 6 4 3 3"}, "strides=[2, 2], padding=[1]",
        "Tensor[(n, 6, 5, 5), float32]"},
    {&tn_op_nn_conv1d, {"float32 n 4 9", "float32 6 2 3"}, "strides=[2], padding=[1], groups=2",
        "Tensor[(n, 6, 5), float32]"},
    {&tn_op_nn_conv3d, {"float32 n 4 5 9 9", "float32 6 4 3 3 1"}, "padding=[1, 1, 0]",
        "Tensor[(n, 6, 5, 9, 9), float32]"},
    {&tn_op_nn_depth_columns, {"float32 n 4 9 7 7"}, "taps=[3], size=[7]", "Tensor[(n*7, 12, 7, 7), float32]"},
    {&tn_op_nn_winograd_data, {"float32 n 4 9 6"}, "tile=2, tiles=[5, 3], padding=[1, 1]",
        "Tensor[(16, n*15, 4), float32]"},
    {&tn_op_nn_winograd_result, {"float32 36 6*n 8"}, "tile=4, tiles=[3, 2]", "Tensor[(n, 8, 12, 8), float32]"},
    {&tn_op_nn_conv1d_transpose, {"float32 n 4 w", "float32 4 3 3"}, "strides=[2], output_padding=[1]",
        "Tensor[(n, 3, w*2 + 2), float32]"},
    {&tn_op_nn_conv2d_transpose, {"float32 n 4 9 9", "float32 4 3 4 2"}, "strides=[2, 1], padding=[1, 0], groups=2",
        "Tensor[(n, 6, 18, 10), float32]"},
    {&tn_op_nn_conv3d_transpose, {"float32 1 4 3 5 5", "float32 4 2 2 2 2"}, "strides=[2]",
        "Tensor[(1, 2, 6, 10, 10), float32]"},
    {&tn_op_nn_conv_transpose_weight, {"float32 4 3 3 3"}, "strides=[2, 2]", "Tensor[(12, 4, 2, 2), float32]"},
    {&tn_op_nn_interleave_phases, {"float32 n 12 5 5"}, "strides=[2, 2], skip=[1, 0], size=[9, 10]",
        "Tensor[(n, 3, 9, 10), float32]"},
    {&tn_op_nn_dense, {"float32 n 64", "float32 10 64"}, "units=10", "Tensor[(n, 10), float32]"},
    {&tn_op_nn_bfloat_scale, {"float32 n 4 64"}, "", "Tensor[(n, 4, 1), float32]"},
    {&tn_op_nn_bfloat_parts, {"float32 n 4 50", "float32 n 4 1"}, "", "Tensor[(n, 4, 288), bfloat16]"},
    {&tn_op_nn_bfloat_dense, {"bfloat16 n 4 288", "bfloat16 10 192"}, "", "Tensor[(n, 4, 10), float32]"},
    {&tn_op_nn_batch_matmul, {"float32 1 4 8", "float32 3 5 8"}, "transpose_b=True", "Tensor[(3, 4, 5), float32]"},
    {&tn_op_nn_recurrent, {"float32 s n 32", "float32 4 8 8", "float32 n 8"}, "cell=\"lstm\"",
        "Tensor[(s, n, 8), float32]"},
    {&tn_op_nn_attention_mask, {"float32 n 4 s t", "bool s t", "int32 n"}, "causal=True, left=4",
        "Tensor[(n, 4, s, t), float32]"},
    {&tn_op_nn_masked_softmax, {"float32 n 4 s t"}, "", "Tensor[(n, 4, s, t), float32]"},
    {&tn_op_nn_cache_append, {"float32 n 4 s 8", "int32 n", "float32 n 4 s 8"}, "extent=[9]",
        "Tensor[(n, 4, 9, 8), float32]"},
    {&tn_op_nn_linear_attention, {"float32 n 2 2*s 8", "float32 n 2 s 8", "float32 n 2 s 10"}, "scale=0.5",
        "Tensor[(n, 2, s*2 + 8, 10), float32]"},
    {&tn_op_frame, {"float32 n s 1"}, "length=16, step=4", "Tensor[(n, s/4 - 3, 16, 1), float32]"},
    {&tn_op_dft, {"float32 n s 1", "float32 12 2"}, "onesided=True", "Tensor[(n, 7, 2), float32]"},
    {&tn_op_tree_ensemble, {"float32 n 4", "int32 8", "float32 8", "float32 8 3", "int32 2", "int32 2"},
        "missing=False", "Tensor[(n, 3), float32]"},
    {&tn_op_ngram_count, {"int32 n s", "int64 6", "int64 4"}, "units=5, counts=[0, 2], max=2",
        "Tensor[(n, 5), float32]"},
    {&tn_op_nn_max_pool2d, {"float32 n 4 9 9"}, "pool_size=[3], strides=[2, 2], padding=[1, 1]",
        "Tensor[(n, 4, 5, 5), float32]"},
    {&tn_op_nn_avg_pool2d, {"float32 n 4 h w"}, "pool_size=[2, 2]", "Tensor[(n, 4, h - 1, w - 1), float32]"},
    {&tn_op_nn_global_avg_pool2d, {"float32 n 4 7 7"}, "", "Tensor[(n, 4, 1, 1), float32]"},
    {&tn_op_nn_max_pool1d, {"float32 n 4 9"}, "pool_size=[3], strides=[2]", "Tensor[(n, 4, 4), float32]"},
    {&tn_op_nn_max_pool3d, {"int8 n 4 4 6 6"}, "pool_size=[2]", "Tensor[(n, 4, 3, 5, 5), int8]"},
    {&tn_op_nn_avg_pool1d, {"float32 n 4 9"}, "pool_size=[3]", "Tensor[(n, 4, 7), float32]"},
    {&tn_op_nn_avg_pool3d, {"float32 n 4 4 6 6"}, "pool_size=[2, 3, 3], strides=[2]",
        "Tensor[(n, 4, 2, 2, 2), float32]"},
    {&tn_op_nn_max_pool_indices, {"float32 n 4 9 9"}, "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]",
        "Tensor[(n, 4, 5, 5), int64]"},
    {&tn_op_nn_lp_pool, {"float32 n 4 9"}, "pool_size=[3], p=3", "Tensor[(n, 4, 7), float32]"},
    {&tn_op_nn_global_max_pool2d, {"uint8 n 4 7 7"}, "", "Tensor[(n, 4, 1, 1), uint8]"},
    {&tn_op_nn_max_unpool, {"float32 1 2 3", "int64 1 2 3"}, "from=[1, 2, 6], shape=[1, 2, 7]",
        "Tensor[(1, 2, 7), float32]"},
    {&tn_op_sum, {"float32 n 4 7"}, "axis=[1]", "Tensor[(n, 7), float32]"},
    {&tn_op_mean, {"float32 n 4 7"}, "axis=[-1], keepdims=True", "Tensor[(n, 4, 1), float32]"},
    {&tn_op_max, {"float32 n 4 7"}, "axis=[0], exclude=True", "Tensor[(n), float32]"},
    {&tn_op_min, {"int32 3 4"}, "", "int32"},
    {&tn_op_prod, {"float32 3 4"}, "axis=[0, 1]", "float32"},
    {&tn_op_nn_softmax, {"float32 n 10"}, "", "Tensor[(n, 10), float32]"},
    {&tn_op_nn_batch_norm, {"float32 n 4 7 7", "float32 4", "float32 4", "float32 4", "float32 4"}, "",
        "Tensor[(n, 4, 7, 7), float32]"},
    {&tn_op_nn_instance_norm, {"float32 n c 7", "float32 c", "float32 c"}, "", "Tensor[(n, c, 7), float32]"},
    {&tn_op_nn_group_norm, {"float32 n c 7", "float32 c", "float32 c"}, "num_groups=2", "Tensor[(n, c, 7), float32]"},
    {&tn_op_nn_instance_norm, {"float32 n 4 7 7", "float32 4", "float32 4"}, "", "Tensor[(n, 4, 7, 7), float32]"},
    {&tn_op_nn_group_norm, {"float16 n 4 7 7", "float16 4", "float16 4"}, "num_groups=2",
        "Tensor[(n, 4, 7, 7), float16]"},
    {&tn_op_mean_variance, {"float16 n 4 7"}, "axis=[1], exclude=True", "Tensor[(4), float16]"},
    {&tn_op_nn_layer_norm, {"float32 n s 64", "float32 64", "float32 64"}, "", "Tensor[(n, s, 64), float32]"},
    {&tn_op_nn_rms_norm, {"float32 n s 64", "float32 64"}, "", "Tensor[(n, s, 64), float32]"},
    {&tn_op_nn_log_softmax, {"float32 n 10"}, "", "Tensor[(n, 10), float32]"},
    {&tn_op_nn_hardmax, {"float32 n 10"}, "axis=0", "Tensor[(n, 10), float32]"},
    {&tn_op_nn_lrn, {"float32 n 8 7 7"}, "size=3", "Tensor[(n, 8, 7, 7), float32]"},
    {&tn_op_nn_celu, {"float32 n 4"}, "alpha=1", "Tensor[(n, 4), float32]"},
    {&tn_op_nn_thresholded_relu, {"float32 n 4"}, "alpha=1", "Tensor[(n, 4), float32]"},
    {&tn_op_nn_swish, {"float32 n 4"}, "alpha=1", "Tensor[(n, 4), float32]"},
    {&tn_op_reshape, {"float32 n 4 7"}, "newshape=[0, -1]", "Tensor[(n, 28), float32]"},
    {&tn_op_einsum, {"float32 n 4 7", "float32 n 7 5"}, "equation=\"bij, bjk -> bik\"", "Tensor[(n, 4, 5), float32]"},
    {&tn_op_det, {"float32 n 4 4"}, "", "Tensor[(n), float32]"},
    {&tn_op_inverse, {"float32 n 4 4"}, "", "Tensor[(n, 4, 4), float32]"},
    {&tn_op_nn_pairwise_coupling, {"float32 n 3 3"}, "", "Tensor[(n, 3), float32]"},
    {&tn_op_transpose, {"float32 n 4 7"}, "axes=[2, 0, 1]", "Tensor[(7, n, 4), float32]"},
    {&tn_op_concatenate, {"float32 n 4", "float32 n 5", "float32 n 1"}, "axis=1", "Tensor[(n, 10), float32]"},
    {&tn_op_strided_slice, {"float32 n 9 5"}, "begin=[1, 4], end=[8, 0], strides=[3, -1], axes=[1, 2]",
        "Tensor[(n, 3, 4), float32]"},
    {&tn_op_strided_slice, {"float32 n 4"}, "begin=[-1], end=[-2147483647], strides=[-1]", "Tensor[(n, 4), float32]"},
    {&tn_op_strided_set, {"float32 n 9 5", "float32 n 3 5"}, "begin=[1], end=[8], strides=[3], axes=[1]",
        "Tensor[(n, 9, 5), float32]"},
    {&tn_op_expand_dims, {"float32 n 4"}, "axis=1, num_newaxis=2", "Tensor[(n, 1, 1, 4), float32]"},
    {&tn_op_squeeze, {"float32 n 1 4 1"}, "axis=[1]", "Tensor[(n, 4, 1), float32]"},
    {&tn_op_broadcast_to, {"float32 4 1"}, "shape=[3, 4, 5]", "Tensor[(3, 4, 5), float32]"},
    {&tn_op_nn_pad, {"float32 n 4"}, "pad_width=[0, 0, 1, 2], pad_value=5", "Tensor[(n, 7), float32]"},
    {&tn_op_nn_batch_flatten, {"float32 n 4 7 7"}, "", "Tensor[(n, 196), float32]"},
    {&tn_op_take, {"float32 9 5", "int64 2 3"}, "axis=0", "Tensor[(2, 3, 5), float32]"},
    {&tn_op_cast, {"float32 n 4"}, "dtype=\"int32\"", "Tensor[(n, 4), int32]"},
    {&tn_op_shape_of, {"float32 n 4 7"}, "dtype=\"int64\"", "Tensor[(3), int64]"},
    {&tn_op_nn_bias_add, {"float32 n 4 7 7", "float32 4"}, "", "Tensor[(n, 4, 7, 7), float32]"},
    {&tn_op_qnn_quantize, {"float32 n 4 7", "float32 4", "uint8 4"}, "axis=1, out_dtype=\"uint8\"",
        "Tensor[(n, 4, 7), uint8]"},
    {&tn_op_qnn_dequantize, {"int8 n 4", "float16", "int8"}, "out_dtype=\"float16\"", "Tensor[(n, 4), float16]"},
    {&tn_op_qnn_requantize, {"int32 n 4 7", "float32 4", "int32", "float32", "uint8"}, "axis=1, out_dtype=\"uint8\"",
        "Tensor[(n, 4, 7), uint8]"},
    {&tn_op_qnn_rescale, {"int32 n 4", "int32 4", "int32"}, "once=False", "Tensor[(n, 4), int32]"},
    {&tn_op_qnn_conv2d, {"uint8 n 4 9 9", "int8 6 4 3 3", "uint8", "int8 6", "float32", "float32 6"},
        "strides=[2, 2], padding=[1]", "Tensor[(n, 6, 5, 5), int32]"},
    {&tn_op_qnn_packed_dense, {"float32 n 40", "int8 2 40 32", "float32 2 3 64", "float32 2 3 64"},
        "bits=4, block=16, units=70", "Tensor[(n, 70), float32]"},
    {&tn_op_qnn_dense, {"uint8 n 64", "int8 10 64", "uint8", "int8", "float32", "float32 10"}, "units=10",
        "Tensor[(n, 10), int32]"},
    {&tn_op_qnn_batch_matmul, {"uint8 1 4 8", "int8 3 5 8", "uint8", "int8", "float32", "float32"}, "transpose_b=True",
        "Tensor[(3, 4, 5), int32]"},
    {&tn_op_qnn_add, {"uint8 n 4", "uint8 4", "float32", "uint8", "float32", "uint8", "float32", "uint8"}, "",
        "Tensor[(n, 4), uint8]"},
    {&tn_op_qnn_subtract, {"int8 n 4", "int8 4", "float32", "int8", "float32", "int8", "float32", "int8"}, "",
        "Tensor[(n, 4), int8]"},
    {&tn_op_qnn_mul, {"int8 n 4", "int8 n 1", "float32", "int8", "float32", "int8", "float32", "int8"}, "",
        "Tensor[(n, 4), int8]"},
    {&tn_op_qnn_concatenate, {"int8 n 4", "int8 n 3", "float32", "float32", "int8", "int8", "float32", "int8"},
        "axis=1", "Tensor[(n, 7), int8]"},
#define QNN_UNARY(id, attrs) {&tn_op_qnn_##id, {"int8 n 4", "float32", "int8", "float32", "int8"}, attrs, \
        "Tensor[(n, 4), int8]"},
    QNN_UNARY(abs, "") QNN_UNARY(erf, "") QNN_UNARY(exp, "") QNN_UNARY(hardswish, "") QNN_UNARY(log, "")
    QNN_UNARY(rsqrt, "") QNN_UNARY(sigmoid, "") QNN_UNARY(sqrt, "") QNN_UNARY(tanh, "")
    QNN_UNARY(leaky_relu, "alpha=0.1")
    {&tn_op_image_resize1d, {"float32 n 4 7"}, "size=[14]", "Tensor[(n, 4, 14), float32]"},
    {&tn_op_image_resize2d, {"float32 n 4 h w"}, "size=[9, 5], method=\"cubic\"", "Tensor[(n, 4, 9, 5), float32]"},
    {&tn_op_image_resize3d, {"uint8 n 4 3 7 5"}, "size=[3, 2, 5], method=\"nearest_neighbor\"",
        "Tensor[(n, 4, 3, 2, 5), uint8]"},
    {&tn_op_image_nearest, {"int64 n 7"}, "axis=1, size=[14], scale=2", "Tensor[(n, 14), int64]"},
    {&tn_op_image_resample, {"float32 n 7 4", "float32 4 3"}, "axis=1, size=[3], scale=0.4, method=\"cubic\"",
        "Tensor[(n, 3, 4), float32]"},
    {&tn_op_image_grid_sample, {"float32 n 3 9 9", "float32 n 5 6 2"}, "method=\"bicubic\"",
        "Tensor[(n, 3, 5, 6), float32]"},
    {&tn_op_image_affine_grid, {"float32 n 2 3"}, "target_shape=[5, 6]", "Tensor[(n, 5, 6, 2), float32]"},
    {&tn_op_nn_deformable_conv2d, {"float32 n 4 9 9", "float32 n 18 7 7", "float32 6 4 3 3"}, "",
        "Tensor[(n, 6, 7, 7), float32]"},
    {&tn_op_nn_deform_columns, {"float32 n 4 9 9", "float32 n 18 7 7"}, "kernel_size=[3, 3]",
        "Tensor[(n, 4, 3, 3, 7, 7), float32]"},
    {&tn_op_vision_roi_align, {"float32 2 3 9 9", "float32 r 4", "int64 r"}, "pooled_size=[2, 3], spatial_scale=0.5",
        "Tensor[(r, 3, 2, 3), float32]"},
    {&tn_op_vision_roi_taps, {"float32 r 4", "int64 r"}, "bins=3, spatial_scale=0.5, extent=[2, 9]",
        "Tensor[(r, 3, 9), int32]"},
    {&tn_op_vision_roi_blend, {"float16 2 3 9 9", "int64 r", "int32 r 3 4", "float32 r 3 4", "int32 r 3", "int32 r 2 9",
        "float32 r 2 9", "int32 r 2"}, "", "Tensor[(r, 3, 3, 2), float16]"},
    {&tn_op_vision_roi_pool, {"float32 2 3 9 9", "float32 r 5"}, "pooled_size=[2], spatial_scale=1",
        "Tensor[(r, 3, 2, 2), float32]"},
    {&tn_op_nn_col2im, {"float32 n 8 9"}, "image=[4, 4], block=[2, 2]", "Tensor[(n, 2, 4, 4), float32]"},
    {&tn_op_nn_depth_to_space, {"float32 n 12 5 6"}, "block_size=2, mode=\"CRD\"", "Tensor[(n, 3, 10, 12), float32]"},
    {&tn_op_nn_space_to_depth, {"float32 n 3 4 6"}, "block_size=2", "Tensor[(n, 12, 2, 3), float32]"},
    {&tn_op_image_weights, {0}, "axis=0, size=[3], scale=0.4, method=\"linear\", antialias=True, extent=[7]",
        "Tensor[(6, 3), float32]"},
    {&tn_op_add, {"float32 n 4 1", "float32 5"}, "", "Tensor[(n, 4, 5), float32]"},
    {&tn_op_divide, {"int32 4", "int32 4"}, "", "Tensor[(4), int32]"},
    {&tn_op_less, {"float32 n 4", "float32 n 4"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_equal, {"bool 4", "bool 4"}, "", "Tensor[(4), bool]"},
    {&tn_op_where, {"bool n 1", "int64 4", "int64"}, "", "Tensor[(n, 4), int64]"},
    {&tn_op_power, {"int64 n 4", "int64"}, "", "Tensor[(n, 4), int64]"},
    {&tn_op_trunc_divide, {"int32 n 4", "int32 4"}, "", "Tensor[(n, 4), int32]"},
    {&tn_op_floor_divide, {"float32 n 4", "float32 4"}, "", "Tensor[(n, 4), float32]"},
    {&tn_op_mod, {"float64 n 4", "float64 4"}, "", "Tensor[(n, 4), float64]"},
    {&tn_op_floor_mod, {"uint8 n 4", "uint8"}, "", "Tensor[(n, 4), uint8]"},
    {&tn_op_left_shift, {"int8 n 4", "int8 4"}, "", "Tensor[(n, 4), int8]"},
    {&tn_op_right_shift, {"uint64 n 4", "uint64 4"}, "", "Tensor[(n, 4), uint64]"},
    {&tn_op_bitwise_and, {"int32 n 4", "int32 4"}, "", "Tensor[(n, 4), int32]"},
    {&tn_op_bitwise_or, {"int32 n 4", "int32 4"}, "", "Tensor[(n, 4), int32]"},
    {&tn_op_bitwise_xor, {"int32 n 4", "int32 4"}, "", "Tensor[(n, 4), int32]"},
    {&tn_op_bitwise_not, {"int32 n 4"}, "", "Tensor[(n, 4), int32]"},
    {&tn_op_logical_xor, {"bool n 4", "bool"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_isnan, {"float32 n 4"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_isinf, {"float32 n 4"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_isfinite, {"float32 n 4"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_reinterpret, {"float32 n 4"}, "dtype=\"int32\"", "Tensor[(n, 4), int32]"},
    {&tn_op_argmax, {"float32 n 4 7"}, "axis=1", "Tensor[(n, 7), int32]"},
    {&tn_op_argmin, {"uint8 n 4 7"}, "axis=-1, keepdims=True, select_last_index=True, dtype=\"int32\"",
        "Tensor[(n, 4, 1), int32]"},
    {&tn_op_checked_index, {"int64 n 2"}, "extent=[5, 6]", "Tensor[(n, 2), int64]"},
    {&tn_op_gather, {"float32 n 9", "int64 n 4"}, "axis=1", "Tensor[(n, 4), float32]"},
    {&tn_op_gather_nd, {"float32 n 9 5 3", "int64 n 7 2"}, "batch_dims=1", "Tensor[(n, 7, 3), float32]"},
    {&tn_op_one_hot, {"int64 n 4", "float32", "float32"}, "depth=9, axis=1", "Tensor[(n, 9, 4), float32]"},
    {&tn_op_reverse_sequence, {"float32 n 9 3", "int64 n"}, "seq_axis=1, batch_axis=0", "Tensor[(n, 9, 3), float32]"},
    {&tn_op_tensor_scatter, {"float32 n 2 9 3", "float32 n 2 4 3", "int64 n"}, "", "Tensor[(n, 2, 9, 3), float32]"},
    {&tn_op_scatter_elements, {"float32 n 9", "int64 n 4", "float32 n 4"}, "axis=1", "Tensor[(n, 9), float32]"},
    {&tn_op_scatter_nd, {"float32 9 n", "int64 4 1", "float32 4 n"}, "reduction=\"add\"", "Tensor[(9, n), float32]"},
    {&tn_op_trilu, {"bool n 4 5", "int64"}, "upper=False", "Tensor[(n, 4, 5), bool]"},
    {&tn_op_eye, {NULL}, "shape=[3, 4], k=1, dtype=\"int8\"", "Tensor[(3, 4), int8]"},
    {&tn_op_random_state, {NULL}, "count=[5], seed=7, distribution=\"normal\"", "Tensor[(5), float64]"},
    {&tn_op_random, {NULL}, "shape=[3, 4], distribution=\"normal\", dtype=\"float64\", seed=7",
        "Tensor[(3, 4), float64]"},
    {&tn_op_arange, {"int64", "int64"}, "count=[5]", "Tensor[(5), int64]"},
    {&tn_op_tile, {"float32 n 4"}, "reps=[2, 1, 3]", "Tensor[(2, n, 12), float32]"},
    {&tn_op_cumsum, {"float32 n 4 7"}, "axis=1, exclusive=True", "Tensor[(n, 4, 7), float32]"},
    {&tn_op_cumprod, {"int32 n"}, "axis=0, reverse=True", "Tensor[(n), int32]"},
    {&tn_op_cummax, {"float16 n 4"}, "axis=1", "Tensor[(n, 4), float16]"},
    {&tn_op_cummin, {"uint8 n 4"}, "axis=0, exclusive=True", "Tensor[(n, 4), uint8]"},
    {&tn_op_topk, {"float32 n 9"}, "k=3, is_ascend=True", "Tensor[(n, 3), float32]"},
    {&tn_op_sort_rows, {"float32 n 9"}, "", "Tensor[(n), int64]"},
    {&tn_op_nn_leaky_relu, {"float32 n 4"}, "alpha=0.1", "Tensor[(n, 4), float32]"},
    {&tn_op_clip, {"int8 n 4"}, "a_min=-1, a_max=1", "Tensor[(n, 4), int8]"},
    {&tn_op_nn_elu, {"float32 n 4"}, "alpha=1", "Tensor[(n, 4), float32]"},
    {&tn_op_nn_prelu, {"float32 n 4 7", "float32 4 1"}, "", "Tensor[(n, 4, 7), float32]"},
    {&tn_op_where_true, {"bool 6"}, "extent=[5]", "Tensor[(5), int64]"},
    {&tn_op_dyn_reshape, {"float32 n 6"}, "extent=[4, 3]", "Tensor[(4, 3), float32]"},
    {&tn_op_dyn_broadcast_to, {"float32 n 1"}, "extent=[4, 3]", "Tensor[(4, 3), float32]"},
    {&tn_op_dyn_strided_slice, {"float32 n 6", "int64 2", "int64 2"}, "extent=[4, 3]", "Tensor[(4, 3), float32]"},
    {&tn_op_dyn_concatenate, {"float32 n 6", "float32 m 6"}, "axis=0", "Tensor[(m + n, 6), float32]"},
    {&tn_op_dyn_pad, {"float32 n 6", "int64 2", "float32"}, "extent=[4, 3], pad_mode=\"edge\"",
        "Tensor[(4, 3), float32]"},
    {&tn_op_image_resample, {"float32 m 7 4", "float32 6 3", "float32 3"},
        "axis=1, size=[3], method=\"linear\", antialias=True, taps=[6]", "Tensor[(m, 3, 4), float32]"},
    {&tn_op_vision_nms_select, {"float32 n 5 4", "float32 n 2 5", "int64", "float32", "float32"}, "",
        "Tensor[(n, 2, 5), int64]"},
    {&tn_op_vision_nms_select, {"float32 n 5 4", "float32 n 2 5", "int64", "float32", "float32", "float32 n 5"}, "",
        "Tensor[(n, 2, 5), int64]"},
    {&tn_op_logical_not, {"bool n 4"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_logical_and, {"bool n 4", "bool"}, "", "Tensor[(n, 4), bool]"},
    {&tn_op_logical_or, {"bool n 4", "bool"}, "", "Tensor[(n, 4), bool]"},
};
/* clang-format on */

static const char *type_text(env *e, const tn_type *t)
{
    tn_buf b = {0};
    tn_type_print(t, &b);
    const char *s = tn_arena_strdup(&e->arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static int count_in(const char *const in[9])
{
    int n = 0;
    while (n < 9 && in[n])
        n++;
    return n;
}

static tn_node *sample_node(env *e, const tn_op *op, const char **out_result)
{
    static const char *const floats3[] = {"float32 n 4", "float32 n 4", "float32 n 4"};
    *out_result = "Tensor[(n, 4), float32]";
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (samples[i].op == op) {
            *out_result = samples[i].result;
            return node_of(e, op, count_in(samples[i].in), samples[i].in, samples[i].attrs);
        }
    assert_non_null(op->formula); /* every other record has its own sample */
    if (!op->attr || !op->attr[0].name || op->attr[0].def)
        return node_of(e, op, op->nin, floats3, "");
    fail_msg("%s needs a sample with attributes", op->name);
    return NULL;
}

static void records_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < tn_ops_count(); i++) {
        const tn_op *op = tn_ops_at(i);
        int definitions = !!op->formula + !!op->compute + !!op->expand + !!op->body;
        if (!op->name || !op->name[0] || !op->doc || strlen(op->doc) < 3 || tn_ops_find(op->name) != op)
            fail_msg("record %zu (%s) has no unique name or no doc", i, op->name ? op->name : "?");
        if (definitions != (op->fuse == TN_FUSE_NONE ? 0 : 1))
            fail_msg("%s has %d definitions", op->name, definitions);
        if (!op->infer || (op->nin >= 0 && op->min_in > op->nin) ||
            (op->attr_size != 0) != (op->attr != NULL))
            fail_msg("%s lacks a type relation, or its operands or attributes contradict each other",
                     op->name);
    }
    assert_null(tn_ops_find("nn.no_such_operator"));
}

/* What prints reads back to the same attributes, and prints the same. */
static void attributes_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        env e;
        env_init(&e);
        const tn_op *op = samples[i].op;
        tn_buf text = {0}, again = {0};
        if (op->attr) {
            const void *attr = attr_of(&e, op, samples[i].attrs);
            tn_attr_print(&e.pool, op->attr, attr, &text);
            const char *t = tn_buf_cstr(&text);
            const void *read = attr_of(&e, op, *t ? t + 2 : t); /* after ", " */
            assert_true(tn_attr_eq(op->attr, attr, read));
            assert_true(tn_attr_hash(op->attr, attr) == tn_attr_hash(op->attr, read));
            tn_attr_print(&e.pool, op->attr, read, &again);
            assert_string_equal(tn_buf_cstr(&text), tn_buf_cstr(&again));
        }
        tn_buf_deinit(&text);
        tn_buf_deinit(&again);
        env_deinit(&e);
    }
}

static void every_kernel_infers_and_defines(void **state)
{
    (void)state;
    for (size_t i = 0; i < tn_ops_count(); i++) {
        const tn_op *op = tn_ops_at(i);
        const char *want;
        env e;
        if (op->fuse == TN_FUSE_NONE)
            continue;
        env_init(&e);
        tn_node *n = sample_node(&e, op, &want);
        if (!n)
            fail_msg("%s: %s", op->name, env_errors(&e));
        if (!op->attr && op->formula && (op->nin > 1) && strcmp(want, "Tensor[(n, 4), float32]") == 0 &&
            n->type[0]->dtype.code == TN_BOOL)
            want = "Tensor[(n, 4), bool]";
        if (strcmp(type_text(&e, n->type[0]), want) != 0)
            fail_msg("%s gives %s, expected %s", op->name, type_text(&e, n->type[0]), want);
        /* normalised attributes are a fixed point */
        const void *attr = n->attr;
        REQUIRE(&e, tn_infer_node(&e.g, n) == TN_OK);
        assert_true(!op->attr || tn_attr_eq(op->attr, attr, n->attr));
        assert_string_equal(type_text(&e, n->type[0]), want);
        if (!op->expand)
            func_of(&e, n);
        env_deinit(&e);
    }
}

/* Refusals: id and a piece of the message, which names the operator. */
/* clang-format off */
typedef struct refusal { const tn_op *op; const char *in[9], *attrs, *id, *says; } refusal;
static const refusal refusals[] = {
    {&tn_op_add, {"float32 4"}, "", "op-E001", "add: 1 operands are given, but it takes exactly 2"},
    {&tn_op_nn_conv2d, {"float32 4 4", "float32 6 4 3 3"}, "", "op-E003",
        "data must have 4 dimensions, but is Tensor[(4, 4), float32]"},
    {&tn_op_add, {"float32 4", "float64 4"}, "", "op-E004", "float32 but operand 1 is float64"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float16 6 4 3 3"}, "", "op-E004",
        "data is float32 but weight is float16"},
    {&tn_op_concatenate, {"float32 4", "int32 4"}, "", "op-E004", "int32"},
    {&tn_op_nn_dense, {"uint8 4 8", "int8 5 8"}, "", "op-E004", "data is uint8 but weight is int8"},
    {&tn_op_nn_dense, {"uint8 4 8", "int8 5 8"}, "out_dtype=\"uint8\"", "op-E004", "out_dtype uint8 does not hold"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "out_dtype=\"int32\"", "op-E004", "does not hold"},
    {&tn_op_qnn_quantize, {"float32 n 4", "float32 3", "int8"}, "", "op-E008", "output_scale is Tensor[(3), float32]"},
    {&tn_op_qnn_quantize, {"float32 n 4", "int32", "int8"}, "", "op-E011", "output_scale must be a float tensor"},
    {&tn_op_qnn_quantize, {"float32 n 4", "float32", "int64"}, "", "op-E011", "at most 32 bits"},
    {&tn_op_qnn_quantize, {"float32 n 4", "float32", "int8"}, "out_dtype=\"int64\"", "op-E011", "out_dtype"},
    {&tn_op_qnn_dequantize, {"float32 n 4", "float32", "int8"}, "", "op-E011", "data must be integers"},
    {&tn_op_qnn_dequantize, {"int8 n 4", "float32", "int8"}, "out_dtype=\"int32\"", "op-E011", "a float type"},
    {&tn_op_qnn_requantize, {"int32 4", "float32", "int32", "float32", "int8"}, "rounding=\"SIDEWAYS\"", "op-E007",
        "rounding \"SIDEWAYS\" is not supported"},
    {&tn_op_qnn_requantize, {"int32 4", "float32", "int32", "float32", "int8"}, "compute_dtype=\"int64\"", "op-E007",
        "compute_dtype \"int64\" is not supported"},
    {&tn_op_qnn_concatenate, {"int8 n 4", "float32", "int8", "float32", "int8", "int8"}, "axis=1", "op-E001",
        "6 operands given"},
    {&tn_op_qnn_add, {"uint8 4", "int8 4", "float32", "int8", "float32", "int8", "float32", "int8"}, "", "op-E004",
        "lhs is uint8 but rhs is int8"},
    {&tn_op_qnn_dense, {"float32 4 8", "int8 5 8", "int8", "int8", "float32", "float32"}, "", "op-E011",
        "data must be integers of 16 bits or less"},
    {&tn_op_add, {"float32 4 3", "float32 2"}, "", "op-E005",
        "Tensor[(4, 3), float32] and Tensor[(2), float32] do not broadcast: dimension 3 against 2"},
    {&tn_op_add, {"float32 n+1", "float32 0"}, "", "op-E006", "dimension n + 1 against 0, which are never equal"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "strides=[0, 1]", "op-E007",
        "strides[0] is 0"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "padding=[1, 1, 1]", "op-E007",
        "padding has 3 values"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "groups=0", "op-E007", "groups is 0"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "groups=2", "op-E008", "2 groups"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 5 2 3 3"}, "groups=2", "op-E008", "5 output channels"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "channels=7", "op-E008", "channels is 7"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "kernel_size=[3, 5]", "op-E008",
        "kernel_size[1] is 5"},
    {&tn_op_nn_conv2d, {"float32 1 4 2 9", "float32 6 4 3 3"}, "", "op-E009",
        "does not fit into data Tensor[(1, 4, 2, 9), float32]"},
    {&tn_op_nn_conv2d, {"float32 1 4 9 9", "float32 6 4 3 3"}, "data_layout=\"NHWC\"", "op-E010", "NHWC"},
    {&tn_op_nn_conv2d, {"bool 1 4 9 9", "bool 6 4 3 3"}, "", "op-E011",
        "data must be a tensor of floats or integers, but is bool"},
    {&tn_op_nn_dense, {"float32 4 8", "float32 5 9"}, "", "op-E008", "Tensor[(4, 8), float32]"},
    {&tn_op_nn_dense, {"float32 4 8", "float32 5 8"}, "units=6", "op-E008", "units is 6"},
    {&tn_op_nn_winograd_data, {"float16 1 4 9 9"}, "tile=2, tiles=[5, 5], padding=[1, 1]", "op-E011",
        "data must be float32"},
    {&tn_op_nn_winograd_data, {"float32 1 4 9 9"}, "tile=3, tiles=[3, 3], padding=[1, 1]", "op-E007",
        "tile must be 2 or 4"},
    {&tn_op_nn_winograd_result, {"float32 36 7 8"}, "tile=4, tiles=[3, 2]", "op-E008", "are not the products of 3 x 2"},
    {&tn_op_nn_bfloat_scale, {"float16 4 8"}, "", "op-E011", "data must be float32"},
    {&tn_op_nn_bfloat_parts, {"float32 4 n", "float32 4 1"}, "", "op-E008", "must be a number"},
    {&tn_op_nn_bfloat_parts, {"float32 4 8", "float32 4 2"}, "", "op-E008", "a number for each row"},
    {&tn_op_nn_bfloat_dense, {"float32 4 128", "float32 5 96"}, "", "op-E011", "data must be bfloat16"},
    {&tn_op_nn_bfloat_dense, {"bfloat16 4 128", "bfloat16 5 128"}, "", "op-E008", "must be 4 K + 32 and 3 K"},
    {&tn_op_nn_batch_matmul, {"float32 2 4 8", "float32 3 5 8"}, "transpose_b=True", "op-E008", "batches"},
    {&tn_op_nn_batch_matmul, {"float32 2 4 8", "float32 2 8 5"}, "transpose_b=True", "op-E008", "transpose_b=True"},
    {&tn_op_nn_recurrent, {"float32 3 2 8", "float32 1 8 8"}, "cell=\"peep\"", "op-E007", "rnn, gru and lstm"},
    {&tn_op_nn_recurrent, {"float32 3 2 8", "float32 1 8 8"}, "cell=\"rnn\", activations=\"tanh tanh\"", "op-E007",
        "activations are \"tanh tanh\""},
    {&tn_op_nn_recurrent, {"float32 3 2 8", "float32 1 u u"}, "cell=\"rnn\"", "op-E009", "number of units"},
    {&tn_op_nn_recurrent, {"float32 3 2 9", "float32 1 8 8"}, "cell=\"rnn\"", "op-E008", "dimension 2 must be 8"},
    {&tn_op_nn_attention_mask, {"float32 2 4 3 5", "float32 4 5"}, "", "op-E005", "does not broadcast to scores"},
    {&tn_op_nn_attention_mask, {"float32 2 4 3 5", "float32 3 5", "int32 3"}, "", "op-E008",
        "lengths are Tensor[(3), int32]"},
    {&tn_op_qnn_packed_dense, {"float32 n 40", "int8 2 40 32", "float32 2 3 64"}, "bits=3, block=16, units=70",
        "op-E007", "do not match"},
    {&tn_op_qnn_packed_dense, {"float32 n 40", "int8 2 40 32", "float32 2 3 64"},
        "bits=4, block=16, units=9223372036854775807", "op-E007", "do not match"},
    {&tn_op_qnn_packed_dense, {"float32 n 40", "int8 2 40 32", "float32 2 3 64"},
        "bits=4, block=9223372036854775807, units=70", "op-E007", "do not match"},
    {&tn_op_unbox, {"float32 1 4"}, "extent=[1, -2]", "op-E007", "extent has -2, but must be at least 0"},
    {&tn_op_qnn_packed_dense, {"float32 n 40", "int8 2 40 32", "float32 2 2 64"}, "bits=4, block=16, units=70",
        "op-E008", "extents 2, 3 and 64"},
    {&tn_op_nn_cache_append, {"float32 2 4 3 8", "int32 3"}, "extent=[5]", "op-E008", "one integer for each batch"},
    {&tn_op_nn_cache_append, {"float32 2 4 3 8", "int32 2", "float32 2 4 3 9"}, "extent=[5]", "op-E008",
        "differ in dimension 3"},
    {&tn_op_nn_linear_attention, {"float32 1 2 4 8", "float32 1 2 4 8", "float32 1 3 4 10"}, "", "op-E008",
        "value is Tensor[(1, 3, 4, 10), float32]"},
    {&tn_op_nn_linear_attention, {"float32 1 2 4 k", "float32 1 2 4 k", "float32 1 2 4 10"}, "", "op-E009",
        "must be numbers"},
    {&tn_op_frame, {"float32 1 9 1"}, "length=0, step=4", "op-E007", "length 0"},
    {&tn_op_dft, {"float32 1 9 3", "float32 12 2"}, "", "op-E008", "must be 1 (real) or 2 (complex)"},
    {&tn_op_dft, {"float32 1 9 2", "float32 m 2"}, "", "op-E008", "must be [n, 2]"},
    {&tn_op_tree_ensemble, {"float32 n 4", "int32 8", "float32 7", "float32 8 3", "int32 2", "int32 2"}, "", "op-E030",
        "operand 2"},
    {&tn_op_tree_ensemble, {"float32 n 0", "int32 8", "float32 8", "float32 8 3", "int32 2", "int32 2"}, "", "op-E096",
        "no columns"},
    {&tn_op_tree_ensemble, {"float32 n 4", "int32 6", "float32 6", "float32 6 3", "int32 2", "int32 2"}, "", "op-E095",
        "do not match"},
    {&tn_op_ngram_count, {"int32 2 9", "int64 6", "int64 4"}, "units=5, counts=[0, 3], max=2", "op-E007",
        "counts[1] is 3"},
    {&tn_op_ngram_count, {"int32 2 9", "int64 6", "int64 3"}, "units=5, counts=[0, 2], max=2", "op-E008",
        "the pool has 4 n-grams"},
    {&tn_op_nn_max_pool2d, {"float32 1 4 9 9"}, "pool_size=[2, 2], padding=[2, 2]", "op-E007",
        "padding[0] is 2"},
    {&tn_op_nn_conv3d, {"float32 1 4 3 3 3", "float32 6 4 4 1 1"}, "", "op-E009", "does not fit into data"},
    {&tn_op_nn_conv1d, {"float32 1 4 9", "float32 6 4 3"}, "data_layout=\"NWC\"", "op-E010", "NWC"},
    {&tn_op_nn_conv2d_transpose, {"float32 1 4 9 9", "float32 3 4 3 3"}, "", "op-E008", "has 4 channels"},
    {&tn_op_nn_conv2d_transpose, {"float32 1 4 9 9", "float32 4 4 3 3"}, "groups=3", "op-E008",
        "not a multiple of 3 groups"},
    {&tn_op_nn_conv1d_transpose, {"float32 1 4 1", "float32 4 4 3"}, "padding=[2]", "op-E009",
     "padding [2, 2] leaves nothing"},
    {&tn_op_nn_interleave_phases, {"float32 1 12 5 5"}, "strides=[2, 2], skip=[1, 0], size=[10, 10]", "op-E008",
        "need more than"},
    {&tn_op_nn_max_pool_indices, {"float32 1 2"}, "pool_size=[1]", "op-E003", "3, 4 or 5 dimensions"},
    {&tn_op_nn_lp_pool, {"float32 1 2 9"}, "pool_size=[2], p=0", "op-E007", "p is 0"},
    {&tn_op_nn_max_unpool, {"float32 1 2 3", "int64 1 2 4"}, "from=[1, 2, 6], shape=[1, 2, 6]", "op-E008", "differ"},
    {&tn_op_nn_group_norm, {"float32 1 6 4", "float32 6", "float32 6"}, "num_groups=4", "op-E007",
        "num_groups is 4"},
    {&tn_op_nn_layer_norm, {"float32 2 8", "float32 7", "float32 8"}, "", "op-E008", "8 elements along axis 1"},
    {&tn_op_nn_lrn, {"float32 1 8 4 4"}, "size=0", "op-E007", "size is 0"},
    {&tn_op_image_resize2d, {"float32 1 3 8 8"}, "size=[4]", "op-E007", "size has 1 entries"},
    {&tn_op_image_resize2d, {"float32 1 3 8 8"}, "size=[4, 4], method=\"area\"", "op-E007", "method is \"area\""},
    {&tn_op_dyn_pad, {"float32 n 6", "int64 3"}, "extent=[4, 3]", "op-E007", "for each dimension"},
    {&tn_op_image_nearest, {"float32 1 3", "float32 2"}, "axis=1, size=[5]", "op-E008", "three numbers"},
    {&tn_op_image_resample, {"float32 1 3"}, "axis=1, size=[5], scale=2, method=\"cubic\"", "op-E001",
        "weights are None"},
    {&tn_op_image_grid_sample, {"float32 1 3 8 8", "float32 1 4 4 3"}, "", "op-E008", "does not match data"},
    {&tn_op_image_affine_grid, {"float32 1 2 3"}, "target_shape=[4, 4, 4]", "op-E008", "does not match a target_shape"},
    {&tn_op_nn_deformable_conv2d, {"float32 1 4 9 9", "float32 1 17 7 7", "float32 6 4 3 3"}, "", "op-E008",
        "must have 18 channels"},
    {&tn_op_vision_roi_align, {"float32 1 3 9 9", "float32 2 5", "int64 2"}, "pooled_size=[2], spatial_scale=1",
        "op-E008", "do not match"},
    {&tn_op_vision_nms_select, {"float32 n 5 4", "float32 n 2 5", "int64", "float32", "float32", "float32 n 6"}, "",
        "op-E008", "their groups"},
    {&tn_op_vision_roi_taps, {"float32 2 4", "int64 2"}, "bins=0, spatial_scale=1, extent=[1, 9]", "op-E007",
        "bins above 0"},
    {&tn_op_vision_roi_blend, {"float32 2 3 9 9", "int64 2", "int32 2 3 4", "float32 2 3 4", "int32 2 3", "int32 2 3 4",
        "float32 2 3 4", "int32 2 2"}, "", "op-E008", "do not match"},
    {&tn_op_nn_col2im, {"float32 1 8 8"}, "image=[4, 4], block=[2, 2]", "op-E008", "9 columns"},
    {&tn_op_nn_depth_to_space, {"float32 1 6 4 4"}, "block_size=2", "op-E008", "not a multiple of 4"},
    {&tn_op_nn_space_to_depth, {"float32 1 6 4 5"}, "block_size=2", "op-E008", "not a multiple of block_size 2"},
    {&tn_op_nn_max_pool2d, {"float32 1 4 1 9"}, "pool_size=[2, 2]", "op-E009", "the window of 2 along dimension 2"},
    {&tn_op_sum, {"float32 4 4"}, "axis=[2]", "op-E007", "axis 2 is outside [-2, 2)"},
    {&tn_op_sum, {"float32 4 4"}, "axis=[1, -1]", "op-E007", "axis 1 appears twice"},
    {&tn_op_nn_softmax, {"int32 4 4"}, "", "op-E011", "data must be a float tensor, but is int32"},
    {&tn_op_mean, {"int8 4"}, "", "op-E011", "integers of 32 bits or more, but is int8"},
    {&tn_op_nn_avg_pool2d, {"uint8 1 1 4 4"}, "pool_size=[2]", "op-E011", "integers of 32 bits or more"},
    {&tn_op_nn_global_avg_pool2d, {"uint8 1 1 4 4"}, "", "op-E011", "integers of 32 bits or more"},
    {&tn_op_exp, {"int32 4"}, "", "op-E011", "float tensor"},
    {&tn_op_nn_leaky_relu, {"int32 4"}, "alpha=0.5", "op-E011", "float tensor"},
    {&tn_op_logical_and, {"int32 4", "int32 4"}, "", "op-E011", "must be bool"},
    {&tn_op_where, {"int32 4", "int32 4", "int32 4"}, "", "op-E011", "must be bool"},
    {&tn_op_add, {"bool 4", "bool 4"}, "", "op-E011", "bool"},
    {&tn_op_reshape, {"float32 n 6"}, "newshape=[0, 4, -1]", "op-E014", "same number of elements"},
    {&tn_op_reshape, {"float32 4 6"}, "newshape=[5, 5]", "op-E014", "same number of elements"},
    {&tn_op_reshape, {"float32 4 6"}, "newshape=[-1, -1]", "op-E007", "newshape[1] is -1"},
    {&tn_op_transpose, {"float32 4 6"}, "axes=[0, 0]", "op-E007", "appears twice"},
    {&tn_op_transpose, {"float32 4 6"}, "axes=[0]", "op-E007", "axes has 1 entries"},
    {&tn_op_concatenate, {"float32 n 4", "float32 m 4"}, "axis=1", "op-E008", "differ in dimension 0"},
    {&tn_op_strided_slice, {"float32 9"}, "begin=[0], end=[9], strides=[0]", "op-E007", "strides[0] is 0"},
    {&tn_op_strided_slice, {"float32 9"}, "begin=[0, 0], end=[9]", "op-E007", "begin has 2 entries"},
    {&tn_op_nn_pad, {"float32 3"}, "pad_width=[-3, 5], pad_mode=\"wrap\"", "op-E009", "to pad with"},
    {&tn_op_strided_set, {"float32 9", "float32 4"}, "begin=[1], end=[4]", "op-E008", "3 elements along axis 0"},
    {&tn_op_squeeze, {"float32 n 4"}, "axis=[1]", "op-E008", "extent 4, not 1"},
    {&tn_op_broadcast_to, {"float32 4 1"}, "shape=[1, 5]", "op-E005", "cannot be repeated"},
    {&tn_op_nn_pad, {"float32 4 1"}, "pad_width=[1, 1]", "op-E007", "pad_width has 2 entries"},
    {&tn_op_nn_pad, {"float32 4"}, "pad_width=[-3, -2]", "op-E009", "would be -1"},
    {&tn_op_nn_pad, {"float32 4", "int32"}, "pad_width=[1, 1]", "op-E004", "int32"},
    {&tn_op_nn_pad, {"float32 4"}, "pad_width=[1, 1], pad_mode=\"round\"", "op-E007", "round"},
    {&tn_op_nn_pad, {"float32 0"}, "pad_width=[1, 1], pad_mode=\"edge\"", "op-E009", "no elements"},
    {&tn_op_bitwise_and, {"float32 4", "float32 4"}, "", "op-E011", "tensor of integers"},
    {&tn_op_left_shift, {"float32 4", "float32 4"}, "", "op-E011", "must be integers"},
    {&tn_op_isnan, {"int32 4"}, "", "op-E011", "float tensor"},
    {&tn_op_complex_parts, {"float32 4"}, "", "op-E011", "complex numbers, but is float32"},
    {&tn_op_complex_parts, {"complex64 1 1 1 1 1 1 1 1"}, "", "op-E003", "at most 7"},
    {&tn_op_complex_of, {"float16 4 2"}, "", "op-E011", "float32 or float64, but is float16"},
    {&tn_op_complex_of, {"float32 4"}, "", "op-E003", "the real and the imaginary part"},
    {&tn_op_complex_of, {"float32"}, "", "op-E003", "the real and the imaginary part"},
    {&tn_op_add, {"complex64 4", "complex64 4"}, "", "op-E083", "complex numbers"},
    {&tn_op_transpose, {"complex64 4 5"}, "", "op-E083", "complex numbers"},
    {&tn_op_cast, {"float32 4"}, "dtype=\"complex64\"", "op-E083", "the result would be"},
    {&tn_op_reinterpret, {"float32 4"}, "dtype=\"int64\"", "op-E011", "as wide"},
    {&tn_op_argmax, {"float32 4 0"}, "axis=1", "op-E009", "no elements along axis 1"},
    {&tn_op_argmax, {"float32 4 3"}, "axis=2", "op-E007", "axis 2"},
    {&tn_op_argmax, {"float32 4 3"}, "dtype=\"int8\"", "op-E011", "int8"},
    {&tn_op_checked_index, {"int64 4 2"}, "extent=[5, 6, 7]", "op-E007", "3 entries"},
    {&tn_op_checked_index, {"float32 4"}, "extent=[5]", "op-E011", "must be integers"},
    {&tn_op_gather, {"float32 9 5", "int64 3"}, "axis=0", "op-E003", "2 dimensions"},
    {&tn_op_gather, {"float32 9 5", "int64 3 6"}, "axis=0", "op-E008", "larger"},
    {&tn_op_gather_nd, {"float32 9 5", "int64 3 3"}, "", "op-E008", "last dimension"},
    {&tn_op_gather_nd, {"float32 9 5", "int64 3 1"}, "batch_dims=2", "op-E007", "batch_dims is 2"},
    {&tn_op_one_hot, {"int64 4", "float32", "int64"}, "depth=3", "op-E004", "off_value"},
    {&tn_op_one_hot, {"int64 4", "float32", "float32"}, "depth=-1", "op-E007", "depth is -1"},
    {&tn_op_reverse_sequence, {"float32 4 5", "int64 5"}, "", "op-E008", "seq_lengths"},
    {&tn_op_reverse_sequence, {"float32 4 5", "int64 5"}, "seq_axis=0", "op-E007", "both 0"},
    {&tn_op_tensor_scatter, {"float32 4 5", "float32 4 3", "int64 4"}, "axis=0", "op-E007", "batch"},
    {&tn_op_tensor_scatter, {"float32 4 5", "float32 4 3", "int64 4"}, "axis=1, mode=\"round\"", "op-E007", "round"},
    {&tn_op_scatter_elements, {"float32 4 5", "int64 4 5", "float32 4 4"}, "axis=0", "op-E008", "do not match"},
    {&tn_op_scatter_elements, {"float32 4 5", "int64 4 5", "float32 4 5"}, "reduction=\"xor\"", "op-E007", "xor"},
    {&tn_op_scatter_nd, {"float32 4 5", "int64 3 3", "float32 3"}, "", "op-E008", "counts the dimensions"},
    {&tn_op_scatter_nd, {"float32 4 5", "int64 3 1", "float32 3 4"}, "", "op-E008", "do not match"},
    {&tn_op_random_state, {NULL}, "count=[4], seed=-1", "op-E067", "[0, 2^32)"},
    {&tn_op_random_state, {NULL}, "count=[4], distribution=\"odd\"", "op-E007", "odd"},
    {&tn_op_random, {NULL}, "shape=[4], dtype=\"int32\"", "op-E011", "float type"},
    {&tn_op_random, {NULL}, "shape=[4], distribution=\"odd\"", "op-E007", "odd"},
    {&tn_op_trilu, {"float32 4", "int64"}, "", "op-E003", "2 dimensions"},
    {&tn_op_cumsum, {"bool 4"}, "", "op-E011", "bool"},
    {&tn_op_einsum, {"float32 4", "float32 5"}, "equation=\"i,i\"", "op-E008", "label i"},
    {&tn_op_einsum, {"float32 4"}, "equation=\"i,j\"", "op-E007", "2 operands"},
    {&tn_op_einsum, {"float32 4"}, "equation=\"ij\"", "op-E007", "2 labels"},
    {&tn_op_einsum, {"float32 4"}, "equation=\"i->j\"", "op-E007", "label j"},
    {&tn_op_einsum, {"float32 4"}, "equation=\"i->?\"", "op-E007", "'?'"},
    {&tn_op_einsum, {"float32 4 5"}, "equation=\"ii\"", "op-E008", "label i"},
    {&tn_op_det, {"float32 4 5"}, "", "op-E008", "square"},
    {&tn_op_inverse, {"float32 4 5"}, "", "op-E008", "square"},
    {&tn_op_nn_pairwise_coupling, {"float32 n 4 5"}, "", "op-E008", "number of classes"},
    {&tn_op_topk, {"float32 4"}, "k=5", "op-E007", "k is 5"},
    {&tn_op_topk, {"float32 4"}, "k=[1, 2]", "op-E007", "k has 2 entries; one is expected"},
    {&tn_op_sort_rows, {"float32 4"}, "", "op-E003", ""},
    {&tn_op_sort_rows, {"bool 4 2"}, "", "op-E011", ""},
    {&tn_op_take, {"float32 9 5", "float32 3"}, "axis=0", "op-E011", "indices must be integers"},
    {&tn_op_take, {"float32 9 5", "int64 3"}, "axis=0, mode=\"slow\"", "op-E007", "slow"},
    {&tn_op_cast, {"float32 4"}, "dtype=\"float32x4\"", "op-E011", "float32x4"},
    {&tn_op_nn_bias_add, {"float32 4 6", "float32 5"}, "", "op-E008", "bias is Tensor[(5), float32]"},
    {&tn_op_relayout, {"float32 4 6"}, "dst_layout=\"NCHW16c\"", "op-E010",
        "layout NCHW16c has 4 dimensions"},
    {&tn_op_relayout, {"float32 4 6"}, "dst_layout=\"NC4c{fill=0}\"", "op-E010", "only a constant can have"},
    {&tn_op_add, {"float32 4294967296 4294967296", "float32 1"}, "", "op-E015", "2^63 bytes"},
};
/* clang-format on */

static void refusals_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        env e;
        int n = 0;
        env_init(&e);
        while (n < 9 && r->in[n])
            n++;
        if (node_of(&e, r->op, n, r->in, r->attrs))
            fail_msg("row %zu: %s was accepted", i, r->op->name);
        if (e.ctx.n_diag != 1 || strcmp(e.ctx.diag[0].id, r->id) != 0 ||
            !strstr(e.ctx.diag[0].message, r->says) || !strstr(e.ctx.diag[0].message, r->op->name))
            fail_msg("row %zu (%s, %s): %s", i, r->op->name, r->id, env_errors(&e));
        env_deinit(&e);
    }
}

/* Operators that kernels compute take the parts of complex numbers, never these. */
static void no_kernel_takes_complex_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        for (int k = 0, n = count_in(s->in); k < n; k++) {
            env e;
            const char *in[9], *extents = strchr(s->in[k], ' ');
            env_init(&e);
            memcpy(in, s->in, sizeof in);
            in[k] = tn_arena_printf(&e.arena, "complex64%s", extents ? extents : "");
            if (s->op->fuse != TN_FUSE_NONE && node_of(&e, s->op, n, in, s->attrs))
                fail_msg("%s takes complex numbers as operand %d", s->op->name, k);
            env_deinit(&e);
        }
    }
}

/* A node over something that failed says nothing more. */
static void an_untyped_operand_is_reported_once(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_value x = operand(&e, "float32 4"), y = operand(&e, "float32 3");
    tn_node *bad = tn_node_new(&e.g, e.body, NULL, &tn_op_add, 2, (tn_value[]){x, y}, 1, NULL, NULL);
    assert_int_equal(tn_infer_node(&e.g, bad), TN_FAIL);
    tn_node *next = tn_node_new(&e.g, e.body, NULL, &tn_op_exp, 1, (tn_value[]){tn_val(bad)}, 1, NULL, NULL);
    assert_int_equal(tn_infer_node(&e.g, next), TN_FAIL);
    assert_int_equal(e.ctx.n_diag, 1);
    env_deinit(&e);
}

static void structure_types(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_value x = operand(&e, "float32 2 3"), y = operand(&e, "int32 5");
    tn_node *t = tn_make_call(&e.g, e.body, NULL, &tn_op_tuple, 2, (tn_value[]){x, y}, NULL, NULL);
    REQUIRE(&e, t && t->type[0]->kind == TN_T_TUPLE);
    tn_node *f1 = tn_make_call(&e.g, e.body, NULL, &tn_op_tuple_get, 1, (tn_value[]){tn_val(t)},
                               &(tn_tuple_get_attr){1}, NULL);
    REQUIRE(&e, f1 && tn_type_eq(f1->type[0], tn_value_type(y)));
    assert_null(tn_make_call(&e.g, e.body, NULL, &tn_op_tuple_get, 1, (tn_value[]){tn_val(t)},
                             &(tn_tuple_get_attr){2}, NULL));
    assert_null(tn_make_call(&e.g, e.body, NULL, &tn_op_tuple_get, 1, (tn_value[]){x},
                             &(tn_tuple_get_attr){0}, NULL));
    assert_null(tn_make_call(&e.g, e.body, NULL, &tn_op_exp, 1, (tn_value[]){tn_val(t)}, NULL, NULL));
    assert_string_equal(e.ctx.diag[e.ctx.n_diag - 1].id, "op-E002");
    env_deinit(&e);
}

/* A function of symbolic dims called with other ones: its symbols stand for them in the result. */
static void calls_bind_symbols(void **state)
{
    (void)state;
    env e;
    env_init(&e);
    tn_node *fn = tn_node_new(&e.g, e.body, NULL, &tn_op_fn, 0, NULL, 1, attr_of(&e, &tn_op_fn, ""), NULL);
    tn_region *r = tn_region_new(&e.g, fn);
    tn_node *p = tn_region_add_param(&e.g, r, "p", type_of(&e, "float32 m 4"));
    tn_node *c = tn_make_call(&e.g, r, NULL, &tn_op_concatenate, 2, (tn_value[]){tn_val(p), tn_val(p)},
                              &(tn_axis_attr){0}, NULL);
    REQUIRE(&e, c);
    tn_region_set_results(&e.g, r, 1, (tn_value[]){tn_val(c)});
    REQUIRE(&e, tn_infer_node(&e.g, fn) == TN_OK);
    tn_value x = operand(&e, "float32 7 4"), bad = operand(&e, "float32 7 5");
    tn_node *call = tn_make_call(&e.g, e.body, NULL, &tn_op_call, 2, (tn_value[]){tn_val(fn), x}, NULL, NULL);
    REQUIRE(&e, call);
    assert_string_equal(type_text(&e, call->type[0]), "Tensor[(14, 4), float32]");
    assert_null(tn_make_call(&e.g, e.body, NULL, &tn_op_call, 2, (tn_value[]){tn_val(fn), bad}, NULL, NULL));
    assert_string_equal(e.ctx.diag[e.ctx.n_diag - 1].id, "op-E012");
    env_deinit(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_complete),
        cmocka_unit_test(attributes_round_trip),
        cmocka_unit_test(every_kernel_infers_and_defines),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(no_kernel_takes_complex_numbers),
        cmocka_unit_test(an_untyped_operand_is_reported_once),
        cmocka_unit_test(structure_types),
        cmocka_unit_test(calls_bind_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
