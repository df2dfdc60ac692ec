/* Operators, attributes and layouts that only TVM's texts have: what they compute, worked out by hand, and what is said
 * where they cannot be read. */
#include "test_relay_forms.h"

#define SIZE "%s = cast(strided_slice(reshape(%x, newshape=[8]), begin=[1], end=[2]), dtype=\"int64\"); "

static const form_case cases[] = {
    {"copy(%x)", 8, {1, 2, 3, 4, -5, 6, -7, 8}},
    {"%0 = nn.dropout(%x, rate=0.3f); %1 = %0.0; add(%1, %0.1)", 8, {2, 3, 4, 5, -4, 7, -6, 9}},
    {"log2(abs(%x))", 4, {0, 1, 1.5849625f, 2}},
    {"log10(full(1000f, shape=[2], dtype=\"float32\"))", 2, {3, 3}},
    {"fast_exp(zeros_like(%x))", 2, {1, 1}},
    {"trunc_mod(%x, 4f)", 8, {1, 2, 3, 0, -1, 2, -3, 0}},
    {"add(zeros(shape=[2, 1], dtype=\"float32\"), ones(shape=[2], dtype=\"float32\"))", 4, {1, 1, 1, 1}},
    {"full_like(%x, 7f)", 8, {7, 7, 7, 7, 7, 7, 7, 7}},
    {"arange(1f, 2f, 0.5f, start=meta[relay.Constant][0], stop=None, step=meta[relay.Constant][0], "
     "dtype=\"float32\")",
     2,
     {1, 1.5f}},
    {"arange(5, -1, -2, dtype=\"float32\")", 3, {5, 3, 1}},
    {"cast_like(cast(%x, dtype=\"int32\"), %x)", 2, {1, 2}},
    {"broadcast_to_like(reshape(sum(%x, axis=[1]), newshape=[2, 1]), %x)", 8, {10, 10, 10, 10, 2, 2, 2, 2}},
    {"reshape_like(%x, zeros(shape=[4, 2], dtype=\"int8\"))", 8, {1, 2, 3, 4, -5, 6, -7, 8}},
    {"slice_like(%x, zeros(shape=[1, 2], dtype=\"float32\"), axes=[1])", 4, {1, 2, -5, 6}},
    {"%0 = split(%x, indices_or_sections=2, axis=1); subtract(%0.1, %0.0)", 4, {2, 2, -2, 2}},
    {"%0 = split(%x, indices_or_sections=[1i64, 3i64], axis=-1); %0.1", 4, {2, 3, 6, -7}},
    {"%0 = (%x, negative(%x)); stack(%0, axis=-1)", 6, {1, -1, 2, -2, 3, -3}},
    {"reverse(%x, axis=1)", 8, {4, 3, 2, 1, 8, -7, 6, -5}},
    {"repeat(%x, repeats=2, axis=0)", 8, {1, 2, 3, 4, 1, 2, 3, 4}},
    {"layout_transform(reshape(%x, newshape=[1, 2, 2, 2]), src_layout=\"NCHW\", dst_layout=\"NHWC\")",
     8,
     {1, -5, 2, 6, 3, -7, 4, 8}},
    {"layout_transform(reshape(%x, newshape=[1, 4, 1, 2]), src_layout=\"NCHW\", dst_layout=\"NCHW2c\")",
     8,
     {1, 3, 2, 4, -5, -7, 6, 8}},
    {"layout_transform(reshape(%x, newshape=[1, 2, 1, 2, 2]), src_layout=\"NCHW2c\", dst_layout=\"NCHW\")",
     8,
     {1, 3, 2, 4, -5, -7, 6, 8}},
    {"nn.matmul(%x, %x, units=None, out_dtype=\"\", transpose_b=True)", 4, {30, 18, 18, 174}},
    {"nn.matmul(%x, %x, transpose_a=True)", 4, {26, -28, 38, -36}},
    {"nn.upsampling(reshape(%x, newshape=[1, 2, 1, 4]), scale_h=2, scale_w=1, method=\"nearest_neighbor\")",
     8,
     {1, 2, 3, 4, 1, 2, 3, 4}},
    {"nn.upsampling(reshape(%x, newshape=[1, 1, 2, 4]), scale_h=1f, scale_w=2f, layout=\"NCHW\", "
     "method=\"bilinear\")",
     8,
     {1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4}},
    {"nn.adaptive_avg_pool2d(reshape(%x, newshape=[1, 2, 2, 2]), output_size=[1, 1])", 2, {2.5f, 0.5f}},
    {"nn.adaptive_max_pool2d(reshape(%x, newshape=[1, 1, 2, 4]), output_size=[2, 2])", 4, {2, 4, 6, 8}},
    /* shapes made of the data's: all that are left, products of two, two parts of one */
    {"reshape(%x, newshape=[-3])", 8, {1, 2, 3, 4, -5, 6, -7, 8}},
    {"transpose(reshape(%x, newshape=[-4, 2, -1, -2]), axes=[2, 1, 0])", 8, {1, -5, 2, 6, 3, -7, 4, 8}},
    {"transpose(reshape(%x, newshape=[0, -4, -1, 2]), axes=[1, 0, 2])", 8, {1, 2, -5, 6, 3, 4, -7, 8}},
    {"sum(reshape_like(%x, zeros(shape=[3, 2, 2], dtype=\"float32\"), lhs_begin=1, rhs_begin=1), axis=[1])",
     4,
     {4, 6, -12, 14}},
    {"sum(reshape_like(%x, zeros(shape=[2, 2, 3], dtype=\"int8\"), lhs_begin=-1, rhs_begin=0, rhs_end=2), "
     "axis=[2])",
     4,
     {3, 7, 1, 1}},
    {"strided_slice(%x, begin=[0, 1], end=[-1, 2], slice_mode=\"size\")", 4, {2, 3, 6, -7}},
    {"strided_slice(%x, begin=[2], end=[1], axes=[1], slice_mode=\"size\")", 2, {3, -7}},
    /* places among all elements of several axes */
    {"cast(argmax(%x, axis=[0, 1]), dtype=\"float32\")", 1, {7}},
    {"cast(argmin(reshape(%x, newshape=[2, 2, 2]), axis=[1], exclude=True), dtype=\"float32\")", 2, {2, 2}},
    {"cast(argmax(reshape(%x, newshape=[2, 2, 2]), axis=[-1, 0], keepdims=True), dtype=\"float32\") + "
     "zeros(shape=[1, 2, 1], dtype=\"float32\")",
     2,
     {3, 3}},
    {"cast(argmax(%x, axis=None, keepdims=True), dtype=\"float32\") + zeros(shape=[1, 1], dtype=\"float32\")",
     1,
     {7}},
    {"cast(argmax(%x, axis=[1]), dtype=\"float32\")", 2, {3, 3}},
    {"cast(argmax(%x, axis=[]), dtype=\"float32\")", 1, {7}},
    {"cast(argmin(%x, axis=1, exclude=True), dtype=\"float32\")", 4, {1, 0, 1, 0}},
    {"cast(argmax(%x, exclude=True), dtype=\"float32\")", 1, {7}},
    {"cast(image.resize2d(reshape(%x, newshape=[1, 1, 2, 4]) * 0.6f, size=[1, 2], out_dtype=\"int32\"), "
     "dtype=\"float32\")",
     2,
     {0, 1}},
    /* batches of places */
    {"take(%x, cast(where(%x > 2f, ones_like(%x), zeros_like(%x)), dtype=\"int32\"), axis=1, batch_dims=1)",
     8,
     {1, 1, 2, 2, -5, 6, -5, 6}},
    {"take(reshape(%x, newshape=[2, 2, 2]), cast(reshape(%x, newshape=[2, 4]), dtype=\"int32\"), axis=2, "
     "batch_dims=-1, mode=\"wrap\")",
     16,
     {2, 1, 2, 1, 4, 3, 4, 3, 6, -5, 6, -5, 8, -7, 8, -7}},
    {"where(cast(%x, dtype=\"int32\") - 1, %x, -1f)", 8, {-1, 2, 3, 4, -5, 6, -7, 8}},
    {"cast(cumsum(%x > 2f, axis=1), dtype=\"float32\")", 8, {0, 0, 1, 2, 0, 1, 1, 2}},
    {"%0 = variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1], unbiased=True); %0",
     2,
     {1.6666666f, 57.666668f}},
    {"cast(unravel_index(cast(abs(%x), dtype=\"int32\"), shape_of(zeros(shape=[3, 4], dtype=\"int8\"))), "
     "dtype=\"float32\")",
     16,
     {0, 0, 0, 1, 1, 1, 1, 2, 1, 2, 3, 0, 1, 2, 3, 0}},
    {"sparse_to_dense(cast(take(abs(%x), 0, axis=0), dtype=\"int32\"), take(%x, 1, axis=0), 9, "
     "output_shape=[6])",
     6,
     {9, -5, 6, -7, 8, 9}},
    {"cast(fixed_point_multiply(cast(%x, dtype=\"int32\"), multiplier=1073741824, shift=0), "
     "dtype=\"float32\")",
     8,
     {1, 1, 2, 2, -2, 3, -3, 4}},
    /* the result in another order, channels along another axis, a pool's out_layout that says nothing */
    {"nn.conv2d(reshape(%x, newshape=[1, 2, 2, 2]), ones(shape=[1, 2, 1, 1], dtype=\"float32\"), padding=[0, "
     "0, 0, "
     "0], out_layout=\"NHWC\")",
     4,
     {-4, 8, -4, 12}},
    {"nn.max_pool2d(reshape(%x, newshape=[1, 2, 2, 2]), pool_size=[1, 2], strides=[1, 2], "
     "out_layout=\"NHWC\")",
     4,
     {2, 4, 6, 8}},
    {"nn.conv2d(reshape(%x, newshape=[1, 2, 2, 2]), full(2f, shape=[1, 1, 2, 2], dtype=\"float32\"), "
     "padding=[0, 0, "
     "0, 0], groups=2, channels=4, kernel_size=[1, 1], data_layout=\"NHWC\", kernel_layout=\"HWOI\")",
     16,
     {2, 2, 4, 4, 6, 6, 8, 8, -10, -10, 12, 12, -14, -14, 16, 16}},
    {"nn.instance_norm(reshape(%x, newshape=[1, 2, 2, 2]), ones(shape=[2], dtype=\"float32\"), "
     "zeros(shape=[2], dtype=\"float32\"), axis=3)",
     4,
     {0.7276069f, -1.3416394f, 1.2126781f, -0.4472131f}},
    {"nn.group_norm(reshape(%x, newshape=[1, 2, 4]), ones(shape=[4], dtype=\"float32\"), zeros(shape=[4], "
     "dtype=\"float32\"), num_groups=2, axis=-1, epsilon=0f)",
     8,
     {-1, 1, -1, 1, -1, 1, -1, 1}},
    {"vision.roi_align(reshape(%x, newshape=[2, 1, 2, 2]), ones(shape=[1, 5], dtype=\"float32\"), "
     "pooled_size=[1, 1], "
     "spatial_scale=0f, sample_ratio=-1)",
     1,
     {0.5f}},
    {"cast(nn.avg_pool2d(cast(reshape(%x, newshape=[1, 1, 2, 4]), dtype=\"int32\"), pool_size=[2, 2], "
     "strides=[2, 2]), "
     "dtype=\"float32\")",
     2,
     {1, 2}},
    {"cast(nn.adaptive_avg_pool2d(cast(reshape(negative(%x), newshape=[1, 1, 2, 4]), dtype=\"int32\"), "
     "output_size=[2, 3]), dtype=\"float32\")",
     6,
     {-1, -2, -3, 0, 0, 0}},
    /* ties away from zero, quotients toward it; a tie of quantised numbers as `rounding` says */
    {"round(multiply(%x, 0.5f))", 8, {1, 1, 2, 2, -3, 3, -4, 4}},
    {"round_even(multiply(%x, 0.5f))", 8, {0, 1, 2, 2, -2, 3, -4, 4}},
    {"cast(divide(cast(%x, dtype=\"int32\"), 2), dtype=\"float32\")", 8, {0, 1, 1, 2, -2, 3, -3, 4}},
    {"cast(cast(%x, dtype=\"int32\") / 2, dtype=\"float32\")", 8, {0, 1, 1, 2, -2, 3, -3, 4}},
    {"cast(qnn.requantize(cast(%x, dtype=\"int32\"), 0.5f, 0, 1f, 0), dtype=\"float32\")",
     8,
     {1, 1, 2, 2, -2, 3, -3, 4}},
    {"cast(qnn.requantize(cast(%x, dtype=\"int32\"), 0.5f, 0, 1f, 0, rounding=\"TONEAREST\"), "
     "dtype=\"float32\")",
     8,
     {1, 1, 2, 2, -3, 3, -4, 4}},
    {"cast(qnn.requantize(cast(%x, dtype=\"int32\"), 0.5f, 0, 1f, 0, rounding=None), dtype=\"float32\")",
     8,
     {0, 1, 2, 2, -2, 3, -4, 4}},
    {"cast(qnn.quantize(%x, 2f, 0), dtype=\"float32\")", 8, {1, 1, 2, 2, -3, 3, -4, 4}},
    /* a column of indices is a position */
    {"%0 = stack((arange(0, 2, 1, dtype=\"int64\"), arange(3, 1, -1, dtype=\"int64\"))); "
     "gather_nd(%x, %0, batch_dims=0, index_rank=2)",
     2,
     {4, -7}},
    {"%0 = stack((arange(0, 2, 1, dtype=\"int64\"), arange(3, 1, -1, dtype=\"int64\"))); "
     "scatter_nd(%x, %0, ones(shape=[2], dtype=\"float32\"), mode=\"add\")",
     8,
     {1, 2, 3, 5, -5, 6, -6, 8}},
    {"image.grid_sample(reshape(%x, newshape=[1, 1, 2, 4]), zeros(shape=[1, 2, 1, 1]))", 1, {1}},
    {"nn.leaky_relu(%x)", 8, {1, 2, 3, 4, -1.25f, 6, -1.75f, 8}},
    {"cast(clip(cast(%x, dtype=\"int8\"), a_min=-2.5f, a_max=6f), dtype=\"float32\")",
     8,
     {1, 2, 3, 4, -2, 6, -2, 6}},
    {"nn.pad(%x, 9, pad_width=[[0, 0], [1, 0]])", 10, {9, 1, 2, 3, 4, 9, -5, 6, -7, 8}},
    {"one_hot(cast(full(-1f, shape=[1]), dtype=\"int32\"), 1f, 0f, depth=3, axis=-1, dtype=\"float32\")",
     3,
     {0, 0, 0}},
    {"cumsum(%x, axis=1, exclusive=None)", 4, {1, 3, 6, 10}},
    /* None is the default */
    {"nn.upsampling(reshape(%x, newshape=[1, 2, 1, 4]), scale_h=2, scale_w=1, layout=None, method=None)",
     8,
     {1, 2, 3, 4, 1, 2, 3, 4}},
    /* between two pixels the lower one is near; with aligned corners the nearest */
    {"image.resize(reshape(%x, newshape=[1, 1, 2, 4]), size=[2, 6], method=\"nearest_neighbor\", "
     "coordinate_transformation_mode=\"asymmetric\")",
     6,
     {1, 1, 2, 3, 3, 4}},
    {"image.resize2d(reshape(%x, newshape=[1, 1, 2, 4]), size=[2, 6], method=\"nearest_neighbor\", "
     "coordinate_transformation_mode=\"align_corners\")",
     6,
     {1, 2, 2, 3, 3, 4}},
    {"nn.matmul(cast(%x, dtype=\"float16\"), cast(%x, dtype=\"float16\"), transpose_b=True, "
     "out_dtype=\"float32\")",
     4,
     {30, 18, 18, 174}},
    {"nn.nll_loss(log(nn.relu(%x)), cast(arange(0f, 2f, 1f), dtype=\"int32\"), ones(shape=[4], "
     "dtype=\"float32\"), "
     "ignore_index=0)",
     1,
     {-1.791759f}},
    /* cells of two sizes; the data's own size; the last dimension holds channels */
    {"nn.adaptive_avg_pool2d(reshape(%x, newshape=[1, 1, 2, 4]), output_size=[1, 3])", 3, {1, 1, 2}},
    {"nn.adaptive_max_pool1d(reshape(%x, newshape=[1, 1, 8]), output_size=[3])", 3, {3, 6, 8}},
    {"nn.adaptive_avg_pool2d(reshape(%x, newshape=[1, 2, 2, 2]))", 8, {1, 2, 3, 4, -5, 6, -7, 8}},
    {"nn.adaptive_avg_pool2d(reshape(%x, newshape=[1, 2, 2, 2]), output_size=[1, 1], layout=\"NHWC\")",
     2,
     {-2, 5}},
    {"nn.adaptive_max_pool3d(reshape(%x, newshape=[1, 1, 2, 2, 2]), output_size=[1, 1, 2])", 2, {3, 8}},
    {"nn.prelu(reshape(%x, newshape=[1, 2, 2, 2]), arange(2f, 4f, 1f))", 8, {1, 2, 3, 4, -15, 6, -21, 8}},
    {"nn.prelu(reshape(%x, newshape=[1, 2, 2, 2]), arange(2f, 4f, 1f), axis=-1)",
     8,
     {1, 2, 3, 4, -10, 6, -14, 8}},
    {"nn.pad(%x, 9f, pad_width=[[0, 0], [1, 0]])", 10, {9, 1, 2, 3, 4, 9, -5, 6, -7, 8}},
    {"nn.mirror_pad(%x, mode=\"SYMMETRIC\", pad_width=[[0, 0], [1, 2]])",
     14,
     {1, 1, 2, 3, 4, 4, 3, -5, -5, 6, -7, 8, 8, -7}},
    {"nn.mirror_pad(%x, mode=\"REFLECT\", pad_width=[[1, 0], [0, 1]])",
     10,
     {-5, 6, -7, 8, -7, 1, 2, 3, 4, 3}},
    {"nn.space_to_batch_nd(%x, block_shape=[2], paddings=[[1, 1]], pad_value=9f)",
     12,
     {9, 2, 4, 9, 6, 8, 1, 3, 9, -5, -7, 9}},
    {"nn.batch_to_space_nd(%x, block_shape=[2], crops=[[1, 0]])", 7, {-5, 2, 6, 3, -7, 4, 8}},
    {"nn.dilate(%x, strides=[1, 2], dilation_value=9f)", 7, {1, 9, 2, 9, 3, 9, 4}},
    {"nn.fifo_buffer(slice_like(%x, ones(shape=[1, 2], dtype=\"float32\"), axes=[1]), %x, axis=1)",
     8,
     {3, 4, 1, 2, -7, 8, -5, 6}},
    {"nn.cross_entropy_with_logits(%x, %x)", 1, {-102}},
    {"nn.nll_loss(%x, cast(full(1f, shape=[2]), dtype=\"int32\"), full(3f, shape=[4]), reduction=\"mean\")",
     1,
     {-4}},
    {"logsumexp(%x, axis=[1])", 2, {4.44019f, 8.126930f}},
    {"scatter_add(%x, zeros(shape=[2, 2], dtype=\"int64\"), ones(shape=[2, 2], dtype=\"float32\"), axis=1)",
     8,
     {3, 2, 3, 4, -3, 6, -7, 8}},
    {"adv_index((%x, arange(0, 2, 1, dtype=\"int64\"), arange(3, 1, -1, dtype=\"int64\")))", 2, {4, -7}},
    {"cast(invert_permutation(cast(arange(2f, -1f, -1f), dtype=\"int32\")), dtype=\"float32\")",
     3,
     {2, 1, 0}},
    {"cast(searchsorted(arange(1f, 4f, 1f), %x, right=True), dtype=\"float32\")",
     8,
     {1, 2, 3, 3, 0, 3, 0, 3}},
    {"sequence_mask(%x, cast(arange(2f, 0f, -1f), dtype=\"int32\"), mask_value=9f, axis=1)",
     8,
     {1, 2, 9, 9, -5, 9, 9, 9}},
    {"%0 = meshgrid((arange(0f, 2f, 1f), arange(5f, 7f, 1f)), indexing=\"ij\"); %0.1", 4, {5, 6, 5, 6}},
    {"cast(ndarray_size(%x), dtype=\"float32\")", 1, {8}},
    {"nn.upsampling3d(reshape(%x, newshape=[1, 1, 2, 2, 2]), scale_d=1, scale_h=1, scale_w=2, "
     "coordinate_transformation_mode=\"asymmetric\")",
     8,
     {1, 1, 2, 2, 3, 3, 4, 4}},
    {"image.resize(reshape(%x, newshape=[1, 4, 2, 1]), size=[8, 2], layout=\"NHWC\", "
     "method=\"nearest_neighbor\", coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\")",
     8,
     {1, 2, 1, 2, 3, 4, 3, 4}},
    {"nn.l2_normalize(%x, eps=1e-12f, axis=[0])", 4, {0.1961161f, 0.3162278f, 0.3939193f, 0.4472136f}},
    {"cast(all(greater(%x, 0f), axis=[1]), dtype=\"float32\")", 2, {1, 0}},
    {"cast(any(less(%x, 0f), axis=[0]), dtype=\"float32\")", 4, {1, 0, 1, 0}},
    {"variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1], keepdims=True)", 2, {1.25f, 43.25f}},
    {"cast(argsort(%x, axis=1, is_ascend=False), dtype=\"float32\")", 8, {3, 2, 1, 0, 3, 1, 0, 2}},
    {"sort(%x)", 8, {1, 2, 3, 4, -7, -5, 6, 8}},
    {"topk(%x, k=2, ret_type=\"values\")", 4, {4, 3, 8, 6}},
    {"cast(argmax(%x, axis=[1], keepdims=False, exclude=False), dtype=\"float32\")", 2, {3, 3}},
    {"strided_slice(%x, begin=[0i64, 1i64], end=[2i64, 3i64], strides=[1i64, 1i64], slice_mode=\"end\", "
     "axes=None)",
     4,
     {2, 3, 6, -7}},
    {"one_hot(cast(full(1f, shape=[1]), dtype=\"int32\"), 1f, 0f, depth=3, axis=-1, dtype=\"float32\")",
     3,
     {0, 1, 0}},
    {"cumsum(%x, axis=1, dtype=\"float32\", exclusive=False)", 4, {1, 3, 6, 10}},
    {"%1 = fn (%p: Tensor[(2, 4), float32], Composite=\"c\", hash=\"9a\", Primitive=1) -> Tensor[(2, 4), "
     "float32] {\n"
     "exp(%p) };\n%1(zeros_like(%x))",
     2,
     {1, 1}},
    /* one pixel of two channels; the weight [h,w,i,o] */
    {"nn.conv2d(reshape(%x, newshape=[1, 2, 2, 2]), reshape(%x, newshape=[1, 1, 2, 4]), channels=4, "
     "kernel_size=[1, 1], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
     4,
     {-9, 14, -11, 20}},
    /* depthwise, [h,w,o,i] */
    {"nn.conv2d(reshape(%x, newshape=[1, 1, 4, 2]), reshape(%x, newshape=[2, 2, 2, 1]), padding=[0, 0, 1, "
     "0], "
     "groups=2, channels=2, kernel_size=[2, 2], data_layout=\"NHWC\", kernel_layout=\"HWOI\")",
     6,
     {10, 20, -12, 32, -26, 44}},
    {"nn.max_pool2d(reshape(%x, newshape=[1, 2, 2, 2]), pool_size=[2, 2], layout=\"NHWC\")", 2, {3, 8}},
    {"nn.global_avg_pool2d(reshape(%x, newshape=[1, 2, 2, 2]), layout=\"NHWC\")", 2, {-2, 5}},
    /* sizes that only the run knows: element 1 is 2, element 3 is 4 */
    {SIZE "dyn.tile(%x, %s)", 16, {1, 2, 3, 4, 1, 2, 3, 4, -5, 6, -7, 8, -5, 6, -7, 8}},
    {SIZE "sum(dyn.reshape(%x, concatenate((%s * 2i64, %s))), axis=[0])", 2, {-8, 20}},
    {SIZE "dyn.broadcast_to(sum(%x, axis=[1]), concatenate((%s + 1i64, %s)))", 6, {10, 2, 10, 2, 10, 2}},
    {SIZE "dyn.strided_slice(%x, %s - 2i64, %s - 1i64, %s - 1i64)", 4, {1, 2, 3, 4}},
    {SIZE "dyn.strided_slice(reshape(%x, newshape=[8]), %s, %s + 1i64, %s, slice_mode=\"size\")",
     3,
     {3, 4, -5}},
    {SIZE "dyn.topk(%x, %s, ret_type=\"values\")", 4, {4, 3, 8, 6}},
    {SIZE "dyn.full(3f, concatenate((%s, %s)), dtype=\"float32\")", 4, {3, 3, 3, 3}},
    {SIZE "dyn.one_hot(zeros(shape=[1], dtype=\"int32\"), 1f, 0f, %s, dtype=\"float32\")", 2, {1, 0}},
    {SIZE "sum(dyn.expand_dims(%x, reshape(%s - 1i64, newshape=[])), axis=[2])", 2, {10, 2}},
    {SIZE "dyn.nn.pad(reshape(%x, newshape=[8]), concatenate((%s - 1i64, %s)), 9f)",
     11,
     {9, 1, 2, 3, 4, -5, 6, -7, 8, 9, 9}},
    {SIZE "dyn.nn.upsampling(reshape(%x, newshape=[1, 1, 2, 4]), cast(reshape(%s, newshape=[]), "
          "dtype=\"float32\"), 1f)",
     16,
     {1, 2, 3, 4, 1, 2, 3, 4, -5, 6, -7, 8, -5, 6, -7, 8}},
    {SIZE "dyn.sparse_to_dense(1, 5f, 0f, %s)", 2, {0, 5}},
    {SIZE "dyn.topk(%x, %s - 2i64, ret_type=\"values\")", 8, {4, 3, 2, 1, 8, 6, -5, -7}},
    {SIZE "dyn.one_hot(cast(sign(strided_slice(%x, begin=[1, 0], end=[2, 2])), dtype=\"int32\"), 1f, 0f, %s, "
          "dtype=\"float32\")",
     4,
     {0, 0, 0, 1}},
    {"cast(sum(greater(strided_slice(%x, begin=[0, 0], end=[0, 4]), 0f), axis=[0]), dtype=\"float32\")",
     4,
     {0, 0, 0, 0}},
    {"nn.conv1d(reshape(%x, newshape=[1, 4, 2]), reshape(%x, newshape=[1, 2, 4]), channels=4, "
     "kernel_size=[1], "
     "data_layout=\"NWC\", kernel_layout=\"WIO\", out_layout=\"NWC\")",
     4,
     {-9, 14, -11, 20}},
    {"cast(argwhere(greater(%x, 3f)), dtype=\"float32\")", 6, {0, 3, 1, 1, 1, 3}},
    {"%0 = unique(abs(reshape(concatenate((%x, %x), axis=0), newshape=[16]))); %0.0",
     8,
     {1, 2, 3, 4, 5, 6, 7, 8}},
    {"%0 = unique(sign(reshape(%x, newshape=[8])), sorted=False, return_counts=True); add(%0.0, cast(%0.4, "
     "dtype=\"float32\"))",
     3,
     {7, 1, 0}},
    {"%0 = unique(sign(reshape(%x, newshape=[8]))); cast(%0.1, dtype=\"float32\")",
     8,
     {4, 0, 8, 8, 8, 8, 8, 8}},
    {"matrix_set_diag(%x, zeros(shape=[2], dtype=\"float32\"), k1=1, k2=1)", 8, {1, 0, 3, 4, -5, 6, 0, 8}},
    {"matrix_set_diag(%x, reshape(arange(1f, 1f, count=4), newshape=[2, 2]), k1=-1)",
     8,
     {1, 2, 3, 4, 3, 2, -7, 8}},
    {SIZE
     "strided_set(reshape(%x, newshape=[8]), zeros(shape=[3], dtype=\"float32\"), %s, add(%s, 6i64), %s)",
     8,
     {1, 2, 0, 4, 0, 6, 0, 8}},
    {"cast(sliding_window(%x, axis=1, window_shape=[2], strides=[2]), dtype=\"float32\")",
     8,
     {1, 2, 3, 4, -5, 6, -7, 8}},
    {"sliding_window(%x, axis=0, window_shape=[2, 3], strides=[1, 1])",
     12,
     {1, 2, 3, -5, 6, -7, 2, 3, 4, 6, -7, 8}},
    {"collapse_sum_like(%x, zeros(shape=[2, 1], dtype=\"float32\"))", 2, {10, 2}},
    {"collapse_sum_to(%x, shape_of(zeros(shape=[1, 4], dtype=\"float32\")))", 4, {-4, 8, -4, 12}},
    {"contrib_reverse_reshape(%x, newshape=[2, -1, 0])", 8, {1, 2, 3, 4, -5, 6, -7, 8}},
    {"%0 = dft(%x, zeros_like(%x)); add(%0.0, %0.1)", 8, {10, 0, -2, -4, 2, 4, -26, 0}},
    {"stft(%x, ones(shape=[2], dtype=\"float32\"), n_fft=2, hop_length=2, win_length=2)",
     16,
     {3, 0, 7, 0, -1, 0, -1, 0, 1, 0, 1, 0, -11, 0, -15, 0}},
    {"image.dilation2d(reshape(%x, newshape=[1, 1, 2, 4]), zeros(shape=[1, 2, 2], dtype=\"float32\"), "
     "padding=[0, 1, "
     "0, 0])",
     4,
     {1, 6, 6, 8}},
    {"%0 = reshape(%x, newshape=[1, 1, 2, 4]); nn.correlation(%0, %0, max_displacement=1, padding=[1, 1])",
     8,
     {0, 0, 0, 0, 0, 6, -14, 24}},
    {"%0 = cast(reshape(%x, newshape=[8]), dtype=\"int64\"); %1 = "
     "sparse_fill_empty_rows(reshape(strided_slice(%0, "
     "begin=[0], end=[1]), newshape=[1, 1]), strided_slice(%0, begin=[7], end=[8]), strided_slice(%0, "
     "begin=[2], "
     "end=[3]), strided_slice(%0, begin=[5], end=[6])); cast(%1.1, dtype=\"float32\")",
     3,
     {6, 8, 6}},
    {"%0 = cast(strided_slice(reshape(%x, newshape=[8]), begin=[1], end=[4]), dtype=\"int32\"); %1 = "
     "sparse_reshape(subtract(reshape(%0, newshape=[1, 3]), 1), add(%0, 1), subtract(strided_slice(%0, "
     "begin=[0], "
     "end=[1]), 3)); cast(%1.0, dtype=\"float32\")",
     1,
     {33}},
    {"nn.sparse_dense(%x, ones(shape=[2], dtype=\"float32\"), cast(arange(1f, 2f, count=2), "
     "dtype=\"int32\"), "
     "cast(arange(0f, 2f, count=2), dtype=\"int32\"))",
     2,
     {6, 14}},
    {"nn.sparse_add(%x, ones(shape=[2], dtype=\"float32\"), cast(arange(1f, 2f, count=2), dtype=\"int32\"), "
     "cast(arange(0f, 1f, count=3), dtype=\"int32\"))",
     8,
     {1, 3, 3, 4, -5, 6, -7, 9}},
    {"%0 = nn.sparse_transpose(arange(1f, 1f, count=3), cast(arange(2f, -1f, count=3), dtype=\"int32\"), "
     "cast(arange(0f, 1f, count=4), dtype=\"int32\")); %0.0",
     3,
     {3, 2, 1}},
    {"%0 = cast(reshape(%x, newshape=[1, 1, 2, 4]), dtype=\"int8\"); cast(qnn.avg_pool2d(%0, 0.5f, 1, 0.5f, "
     "1, "
     "pool_size=[2, 2]), dtype=\"float32\")",
     3,
     {1, 1, 2}},
    {"cast(qnn.softmax(cast(sign(abs(%x)), dtype=\"int8\"), 1f, 0, 0.0078125f, 1), dtype=\"float32\")",
     4,
     {33, 33, 33, 33}},
    {"cast(qnn.requantize(cast(%x, dtype=\"int32\"), 1f, 0, 2f, 0, rounding=\"UPWARD\", "
     "compute_dtype=\"int64\"), "
     "dtype=\"float32\")",
     8,
     {1, 1, 2, 2, -2, 3, -3, 4}},
    {"cast(qnn.requantize(cast(%x, dtype=\"int32\"), 1f, 0, 2f, 0, rounding=\"TONEAREST\", "
     "compute_dtype=\"float64\"), dtype=\"float32\")",
     8,
     {1, 1, 2, 2, -3, 3, -4, 4}},
    {"%0 = zeros(shape=[4], dtype=\"int32\"); cast(fixed_point_multiply_per_axis(cast(%x, dtype=\"int32\"), "
     "add(%0, 1073741824), %0, %0, axes=[1]), dtype=\"float32\")",
     8,
     {1, 1, 2, 2, -2, 3, -3, 4}},
    {"nn.contrib_conv2d_NCHWc(reshape(%x, newshape=[1, 1, 2, 2, 2]), ones(shape=[1, 1, 1, 1, 2, 1], "
     "dtype=\"float32\"), channels=1, kernel_size=[1, 1], data_layout=\"NCHW2c\", "
     "kernel_layout=\"OIHW2i1o\", "
     "out_layout=\"NCHW1c\")",
     4,
     {3, 7, 1, 1}},
    {"cast(sum(greater(%x, 6f), axis=[1]), dtype=\"float32\")", 2, {0, 1}},
    {"cast(mean(cast(multiply(%x, 20f), dtype=\"int8\"), axis=[1]), dtype=\"float32\")", 2, {-14, 4}},
    {"scatter_elements(%x, zeros(shape=[2, 2], dtype=\"int64\"), full(9f, shape=[2, 2]), axis=1, "
     "reduction=\"mean\")",
     8,
     {7, 2, 3, 4, 5.5f, 6, -7, 8}},
    {"nn.depth_to_space(reshape(%x, newshape=[1, 2, 2, 2]))", 8, {1, 2, 3, 4, -5, 6, -7, 8}},
    {"one_hot(cast(subtract(%x, 1f), dtype=\"int32\"), 1f, 0f)", 4, {1, 0, 0, 0}},
};

static void forms_are_computed(void **state)
{
    (void)state;
    forms_compute(cases, sizeof cases / sizeof *cases);
}

static const form_said texts[] = {
    {"split(%x, indices_or_sections=3, axis=1)",
     "m.relay:3:1: error: split cannot cut this axis into equal parts [relay-E088]"},
    {"split(%x, axis=1)", "split needs the attribute indices_or_sections [relay-E044]"},
    {"repeat(%x, repeats=0, axis=0)", "repeat must repeat at least once [relay-E088]"},
    {"arange(0f, sum(%x), 1f)",
     "arange needs a start, a stop and a step that are numbers; write arange(start, step, count=N)"},
    {"arange(0f, 1f, 0f)", "arange has too many elements, or a step of 0 [relay-E088]"},
    {"layout_transform(%x, src_layout=\"NC\", dst_layout=\"NC3c\")",
     "layouts that do not fit each other or the data"},
    {"layout_transform(%x, src_layout=\"NC\", dst_layout=\"NH\")",
     "layout_transform has layouts of other dimensions"},
    {"layout_transform(%x, src_layout=\"NC\", dst_layout=\"C\")",
     "layouts that do not fit each other or the data"},
    {"nn.upsampling(%x, scale_h=2)", "nn.upsampling needs images in the layout NCHW or NHWC [relay-E088]"},
    {"nn.adaptive_avg_pool2d(reshape(%x, newshape=[1, 1, 2, 4]), output_size=[0, 3])",
     "needs a number of cells, or one for each dimension"},
    {"nn.adaptive_max_pool1d(reshape(%x, newshape=[1, 1, 8]), output_size=[9223372036854775807])",
     "has too many cells"},
    {"nn.adaptive_avg_pool2d(reshape(%x, newshape=[1, 1, 2, 4]), output_size=[1], out_layout=\"NHWC\")",
     "gives its result in the layout of the data alone"},
    {"nn.adaptive_avg_pool3d(reshape(%x, newshape=[1, 1, 2, 2, 2]), output_size=[1, 2])",
     "needs a number of cells"},
    {"nn.batch_to_space_nd(%x, block_shape=[2], crops=[[9223372036854775807, 9223372036854775807]])",
     "needs a block and two numbers"},
    {"nn.dilate(%x, strides=[1, 9223372036854775807])", "needs strides above 0"},
    {"layout_transform(%x, src_layout=None, dst_layout=\"NC\")", "needs the attribute src_layout"},
    {"meshgrid((0, 1), indexing=\"rows\")", "needs indexing ij or xy"},
    {"nn.nll_loss(%x, full(1, shape=[1]), full(1f, shape=[4]))", "a target for each place"},
    {"nn.pad(%x, pad_width=[[0, 0], [0]])", "must be of one length"},
    {"transpose(%x, axes=[0, [1]])", "expected"},
    {"nn.adaptive_avg_pool3d(%x)", "needs volumes in the layout NCDHW or NDHWC"},
    {"nn.mirror_pad(%x, pad_width=[[0, 0], [5, 0]])", "needs widths that are at most the extents"},
    {"nn.space_to_batch_nd(%x, block_shape=[3], paddings=[[0, 1]])", "that are multiples of the blocks"},
    {"nn.batch_to_space_nd(%x, block_shape=[2], crops=[[4, 5]])", "larger than what is cut off"},
    {"nn.prelu(%x, arange(0f, 4f, 1f), axis=2)", "nn.prelu has an axis that its operand does not have"},
    {"nn.dilate(%x, strides=[1])", "needs a stride for each dimension"},
    {"nn.pad(%x, pad_width=[[0, [0]], [0, 0]])", "ir-E001"},
    {"nn.pad(%x, pad_width=[[0, 0], [0, 0)", "ir-E001"},
    {"image.resize(reshape(%x, newshape=[1, 2, 2, 2]), size=[1, 1], method=\"area\")", "needs method"},
    {"adv_index((%x, 0, 0, 0))", "needs an index for each of the first dimensions"},
    {"reshape(%x, newshape=[-3, -3])", "reshape has a newshape that does not fit the data [relay-E088]"},
    {"reshape(%x, newshape=[-4, 3, -1, 0])", "reshape has a newshape that does not fit the data"},
    {"reshape_like(%x, %x, lhs_begin=2, lhs_end=1)",
     "has ranges of dimensions that its operands do not have"},
    {"argmax(%x, axis=[0, 1], exclude=True)", "argmax needs an axis [relay-E088]"},
    {"argmax(%x, axis=[0, 2])", "argmax has an axis that its operand does not have [relay-E088]"},
    {"take(%x, 0, axis=1, batch_dims=1)",
     "take needs integers, and batch_dims up to the axis, whose extent is known [relay-E088]"},
    {"strided_slice(%x, begin=[-1], end=[1], slice_mode=\"size\")",
     "strided_slice by size needs places to begin at that are not below 0 [relay-E088]"},
    {"vision.roi_align(reshape(%x, newshape=[2, 1, 2, 2]), zeros(shape=[1, 5], dtype=\"float32\"), "
     "pooled_size=[1], "
     "spatial_scale=1f, mode=None, layout=None)",
     "mode \"\"; known are 0 to 4096 and avg, max, sample_max"},
    {"strided_slice(%x, begin=[0], end=[1], slice_mode=\"odd\")",
     "strided_slice needs slice_mode end or size"},
    {"take(%x, cast(%x, dtype=\"int32\"), axis=1, batch_dims=1, mode=\"odd\")",
     "take needs mode clip, wrap or fast"},
    {"reshape(%x, newshape=[-4, 2, 9223372036854775807, 4])",
     "reshape has a newshape that does not fit the data"},
    {"fixed_point_multiply(cast(%x, dtype=\"int32\"), multiplier=1, shift=-9223372036854775807)",
     "fixed_point_multiply needs integers, and a shift from -31 to 30"},
    {"nn.adaptive_avg_pool2d(cast(reshape(%x, newshape=[1, 1, 2, 4]), dtype=\"int8\"), output_size=[1, 3])",
     "needs floats, or integers of 32 bits or more; cast the data [relay-E088]"},
    {"%0 = cast(%x, dtype=\"int32\"); variance(%0, %0, axis=[0], keepdims=True, unbiased=True)",
     "variance with unbiased=True needs floats [relay-E088]"},
    {"%0 = cast(reshape(%x, newshape=[1, 1, 2, 4]), dtype=\"int8\"); qnn.conv2d_transpose(%0, %0, 0, "
     "shape_of(%x), 1f, "
     "1f)",
     "qnn.conv2d_transpose needs zero points that are one number each [relay-E088]"},
    {"unravel_index(3, 4)", "unravel_index needs a shape of known rank [relay-E088]"},
    {"fixed_point_multiply(%x, multiplier=1, shift=1)",
     "fixed_point_multiply needs integers, and a shift from -31 to 30"},
    {"sparse_to_dense(reshape(%x, newshape=[2, 2, 2]), %x, output_shape=[2])",
     "sparse_to_dense needs a list of indices, and of values [relay-E088]"},
    {"reverse(%x, axis=2)", "reverse has an axis that its operand does not have [relay-E088]"},
    {"reverse(%x, %x)", "reverse has another number of operands [relay-E088]"},
    {SIZE "dyn.squeeze(%x, %s)", "m.relay:3:89: node dyn.squeeze: error: axis of dyn.squeeze must be known "
                                 "when the text is read: give the values of the "
                                 "parameters in a .params file, or apply TVM's DynamicToStatic [tvm-E002]"},
    {SIZE "%t = (%x, %x); dyn.tile(%t, %s)", "needs tensors of at most 8 dimensions [relay-E088]"},
    {SIZE "dyn.nn.upsampling(%x, %s, %s)",
     "dyn.nn.upsampling needs images in the layout NCHW or with the channels last [tvm-E002]"},
    {"reverse(%x, axle=1)", "unknown attribute `axle`; known are: axis [ir-E020]"},
    {"nn.max_pool2d(reshape(%x, newshape=[1, 2, 2, 2]), pool_size=[2, 2], layout=\"NCHW4c\")",
     "layout \"NCHW4c\" is not supported, only \"NCHW\""},
    {"unique(%x)", "unique needs a list [tvm-E002]"},
    {"dyn.topk(None, 2)", "dyn.topk is given None for an operand that it needs [relay-E088]"},
    {"dyn.tile(%x, None)", "reps of dyn.tile is None [tvm-E002]"},
    {"qnn.softmax(cast(%x, dtype=\"int8\"), 0.1f, 0, None, 0)",
     "qnn.softmax is given None for an operand that it needs [relay-E088]"},
    {"dyn.topk(%x, 1, ret_type=\"odd\")", "dyn.topk needs ret_type both, values or indices [relay-E088]"},
    {"collapse_sum_to(%x, cast(%x, dtype=\"int32\"), shape=None)",
     "collapse_sum_to needs a shape that is known when the text is read [relay-E088]"},
    {"qnn.requantize(cast(%x, dtype=\"int32\"), 1f, 0, 2f, 0, compute_dtype=\"int64\", out_dtype=\"uint32\")",
     "qnn.requantize needs integers of at most 32 bits, and an out_dtype of at most 16 bits, or int32 "
     "[relay-E088]"},
    {"dft(%x, %x, onesided=True)", "dft of these operands has no attribute onesided [relay-E088]"},
    {"dft(%x, reshape(%x, newshape=[4, 2]))", "dft needs two tensors of one shape [tvm-E002]"},
    {SIZE "dyn.strided_slice(%x, %s, concatenate((%s, %s)), %s)",
     "dyn.strided_slice needs lists of one length [tvm-E002]"},
    {SIZE "dyn.full(%x, %s)", "dyn.full needs one number to fill with [tvm-E002]"},
    {SIZE "dyn.broadcast_to(%x, %s)", "cannot be repeated to 1 dimensions [tvm-E002]"},
    {"argwhere(3f)", "argwhere needs a dimension [tvm-E002]"},
    {"matrix_set_diag(%x, zeros(shape=[3], dtype=\"float32\"), k1=5, k2=5)",
     "matrix_set_diag has diagonals that do not fit its data: Tensor[(3), float32] into Tensor[(2, 4), "
     "float32]"},
    {"matrix_set_diag(%x, zeros(shape=[1], dtype=\"float32\"))",
     "matrix_set_diag has diagonals that do not fit"},
    {"sliding_window(%x, axis=1, window_shape=[5], strides=[1])",
     "sliding_window has windows that do not fit its data [tvm-E002]"},
    {"sliding_window(%x, axis=1, window_shape=[1, 2], strides=[1])",
     "sliding_window needs a size and a step"},
    {"strided_set(%x, %x, %x, %x, %x)", "strided_set needs lists of places, at most one for each dimension"},
    {"collapse_sum_like(%x, zeros(shape=[3, 1], dtype=\"float32\"))",
     "collapse_sum_like needs a shape that can be broadcast to that of its data [relay-E088]"},
    {SIZE "collapse_sum_to(%x, %s)", "collapse_sum_to needs a shape that is known when the text is read"},
    {"%0 = cast(%x, dtype=\"int32\"); dft(%0, %0)", "dft needs two tensors of floats that have a dimension"},
    {"stft(%x, ones(shape=[9], dtype=\"float32\"), n_fft=9, hop_length=1, win_length=9)",
     "stft needs rows of floats, of which each has n_fft elements at least"},
    {"stft(%x, %x, n_fft=2, hop_length=0, win_length=2)", "stft needs an n_fft, a win_length up to it"},
    {"image.dilation2d(reshape(%x, newshape=[1, 1, 2, 4]), zeros(shape=[1, 1, 1], dtype=\"float32\"), "
     "data_layout=\"NHWC\")",
     "image.dilation2d needs images and a weight of known size in the layouts NCHW and IHW, or NHWC and HWI"},
    {"%0 = reshape(%x, newshape=[1, 1, 2, 4]); nn.correlation(%0, %0, kernel_size=2)",
     "nn.correlation needs images of floats in the layout NCHW whose channels are known, an odd kernel_size"},
    {"nn.sparse_dense(%x, %x, %x, %x)",
     "nn.sparse_dense needs elements or blocks, their columns, and where rows"},
    {"sparse_reshape(cast(%x, dtype=\"int32\"), shape_of(%x), shape_of(%x))",
     "sparse_reshape needs a row for each element, and two shapes"},
    {"qnn.requantize(cast(%x, dtype=\"int32\"), sum(%x), 0, 2f, 0, compute_dtype=\"int64\")",
     "qnn.requantize with compute_dtype int64 needs scales that are constants [relay-E088]"},
    {"qnn.requantize(cast(%x, dtype=\"int32\"), 1f, 0, 2f, 0, compute_dtype=\"int9\")",
     "qnn.requantize needs compute_dtype float32, float64 or int64 [relay-E088]"},
    {"qnn.softmax(cast(%x, dtype=\"int8\"), 2f, 0, 1f, 0)",
     "qnn.softmax needs int8, and a constant scale that is at most 1 [relay-E088]"},
    {"fixed_point_multiply_per_axis(%x, 1, 0, 0, axes=[])", "needs int32, and numbers for each of its axes"},
    {"contrib_reverse_reshape(%x, newshape=[-3, -3])",
     "contrib_reverse_reshape has a newshape that does not fit the data [relay-E088]"},
};

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    forms_say(texts, sizeof texts / sizeof *texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_computed),
        cmocka_unit_test(what_cannot_be_read_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
