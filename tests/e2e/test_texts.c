/* Small programs at the edges of what code generation meets: empty tensors, extents of 1, long chains, NaN. Each row
 * is Relay text and its inputs; the Relay interpreter, those on TIR and on flat TIR, LLVM and C packages must
 * agree, the last three bit for bit, whatever executor runs them. With sanitizers C packages are left out,
 * unless TENON_SLOW is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "e2e/run.h"

#include <time.h>

enum { MAX_IN = 4 };

typedef struct row {
    const char *name, *text;
    const char *input[MAX_IN]; /* "x float32 2 3"; values are small and of both signs, NaN where `nan` says */
    int nan;                   /* > 0: every nan'th element of the first input is NaN */
    const char *refused;       /* not NULL: compiling fails, and says this */
} row;

// clang-format off
static const row rows[] = {
    {"bytes, whole blocks of channels",
     "def @main(%x: Tensor[(1, 32, 9, 9), uint8]) {\n"
     "  %0 = arange(0, 37, count=[9216]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[32, 32, 3, 3]);\n"
     "  %2 = nn.conv2d(%x, %1, padding=[1, 1], out_dtype=\"int32\");\n"
     "  %3 = cast(%2, dtype=\"float32\");\n"
     "  %4 = round(%3 * 0.01f);\n"
     "  cast(%4 + 3f, dtype=\"uint8\")\n}\n",
     {"x uint8 1 32 9 9"}, 0, NULL},
    {"bytes, channels that end within a block and a group",
     "def @main(%x: Tensor[(1, 22, 9, 9), uint8]) {\n"
     "  %0 = arange(0, 37, count=[7326]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[37, 22, 3, 3]);\n"
     "  %2 = nn.conv2d(%x, %1, padding=[1, 1], strides=[2, 2], out_dtype=\"int32\");\n"
     "  %3 = cast(%2, dtype=\"float32\");\n"
     "  %4 = round(%3 * 0.01f);\n"
     "  cast(%4 + 3f, dtype=\"uint8\")\n}\n",
     {"x uint8 1 22 9 9"}, 0, NULL},
    {"bytes, few channels",
     "def @main(%x: Tensor[(1, 3, 11, 11), uint8]) {\n"
     "  %0 = arange(0, 37, count=[1800]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[24, 3, 5, 5]);\n"
     "  %2 = nn.conv2d(%x, %1, out_dtype=\"int32\");\n"
     "  %3 = cast(%2, dtype=\"float32\");\n"
     "  %4 = round(%3 * 0.01f);\n"
     "  cast(%4 + 3f, dtype=\"uint8\")\n}\n",
     {"x uint8 1 3 11 11"}, 0, NULL},
    {"attention over a cache that is empty yet",
     "#[version = \"0.0.5\"]\n"
     "#[symbols = \"past in [0, 16]\"]\n"
     "def @main(%q: Tensor[(2, s, 4), float32], %past: Tensor[(2, past, 4), float32],\n"
     "          %k: Tensor[(2, s, 4), float32]) {\n"
     "  %0 = concatenate((%past, %k), axis=1);\n"
     "  %1 = transpose(%0, axes=[0, 2, 1]);\n"
     "  %2 = nn.batch_matmul(%q, %1);\n"
     "  %3 = nn.softmax(%2, axis=2);\n"
     "  (%0, nn.batch_matmul(%3, %0), sum(%past, axis=[1]), nn.relu(%past))\n}\n",
     {"q float32 2 3 4", "past float32 2 0 4", "k float32 2 3 4"}, 0, NULL},
    {"boxes of images whose channels fill vectors",
     "def @main(%x: Tensor[(2, 40, 9, 11), float32], %r: Tensor[(7, 4), float32], %h: Tensor[(1, 16, 6, 5), float16],\n"
     "          %s: Tensor[(3, 4), float16]) {\n"
     "  %0 = cast(floor_mod(arange(0, 7, count=[7]), 2), dtype=\"int64\");\n"
     "  %1 = %r * 30f;\n"
     "  %2 = vision.roi_align(%x, %1, %0, pooled_size=[3, 2], spatial_scale=0.5, sample_ratio=2);\n"
     "  %3 = vision.roi_align(%x, %1, %0, pooled_size=[2, 5], spatial_scale=0.75, aligned=True);\n"
     "  %4 = vision.roi_align(%x, abs(%1), %0, pooled_size=[1], spatial_scale=1, sample_ratio=5, aligned=True);\n"
     "  %5 = vision.roi_align(%h, %s, zeros(shape=[3], dtype=\"int64\"), pooled_size=[2], spatial_scale=4);\n"
     "  (%2, %3, %4, %5)\n}\n",
     {"x float32 2 40 9 11", "r float32 7 4", "h float16 1 16 6 5", "s float16 3 4"}, 0, NULL},
    {"rows in order",
     "def @main(%x: Tensor[(37, 3), float32], %y: Tensor[(50, 1), int32], %z: Tensor[(0, 4), float32]) {\n"
     "  (sort_rows(%x), sort_rows(%y), sort_rows(%z))\n}\n",
     {"x float32 37 3", "y int32 50 1", "z float32 0 4"}, 5, NULL},
    {"rows of bytes",
     "def @main(%x: Tensor[(5, 64), uint8]) {\n"
     "  %0 = arange(0, 37, count=[2560]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[40, 64]);\n"
     "  nn.dense(%x, %1, out_dtype=\"int32\")\n}\n",
     {"x uint8 5 64"}, 0, NULL},
    {"signed bytes",
     "def @main(%x: Tensor[(1, 20, 7, 7), int8]) {\n"
     "  %0 = arange(0, 37, count=[2880]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[16, 20, 3, 3]);\n"
     "  %2 = nn.conv2d(%x, %1, padding=[1, 1], out_dtype=\"int32\");\n"
     "  %3 = arange(0, 37, count=[6272]);\n"
     "  %4 = reshape(cast(%3, dtype=\"int8\"), newshape=[8, 784]);\n"
     "  nn.dense(nn.batch_flatten(cast(%2, dtype=\"int8\")), %4, out_dtype=\"int32\")\n}\n",
     {"x int8 1 20 7 7"}, 0, NULL},
    {"rows of bytes that end within a group",
     "def @main(%x: Tensor[(7, 63), uint8]) {\n"
     "  %0 = arange(0, 37, count=[2079]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[33, 63]);\n"
     "  nn.dense(%x, %1, out_dtype=\"int32\")\n}\n",
     {"x uint8 7 63"}, 0, NULL},
    {"one row of bytes",
     "def @main(%x: Tensor[(1, 130), uint8]) {\n"
     "  %0 = arange(0, 37, count=[2080]);\n"
     "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[16, 130]);\n"
     "  nn.dense(%x, %1, out_dtype=\"int32\")\n}\n",
     {"x uint8 1 130"}, 0, NULL},
    {"softmax of nothing",
     "def @main(%x: Tensor[(0, 3), float32]) {\n  nn.softmax(%x)\n}\n",
     {"x float32 0 3"}, 0, NULL},
    {"softmax over nothing",
     "def @main(%x: Tensor[(2, 0), float32]) {\n  nn.softmax(%x)\n}\n",
     {"x float32 2 0"}, 0, NULL},
    {"sum over nothing",
     "def @main(%x: Tensor[(2, 0), float32], %y: Tensor[(3, 0), float32]) {\n"
     "  %0 = sum(%x, axis=[1]);\n  %1 = nn.dense(%x, %y);\n  (%0, %1)\n}\n",
     {"x float32 2 0", "y float32 3 0"}, 0, NULL},
    {"max of a NaN on either side",
     "def @main(%x: Tensor[(5, 23), float32], %y: Tensor[(5, 23), float32]) {\n"
     "  %0 = maximum(%x, %y);\n  %1 = minimum(%y, %x);\n  (%0, %1)\n}\n",
     {"x float32 5 23", "y float32 5 23"}, 7, NULL},
    {"convolution that ends in an extent of 1",
     "def @main(%x: Tensor[(1, 8, 19, 1), float32], %w: Tensor[(2, 4, 3, 3), float32]) {\n"
     "  %0 = nn.conv2d(%x, %w, padding=[3, 6, 4, 6], dilation=[1, 3], groups=2, kernel_size=[3, 3]);\n"
     "  nn.relu(%0)\n}\n",
     {"x float32 1 8 19 1", "w float32 2 4 3 3"}, 0, NULL},
    {"all but the last of one",
     "def @main(%x: Tensor[(n, 3), float32]) {\n"
     "  strided_slice(%x, begin=[0, 0], end=[-1, 3], strides=[1, 1])\n}\n",
     {"x float32 1 3"}, 0, NULL},
    {"all but the last of five",
     "def @main(%x: Tensor[(n, 3), float32]) {\n"
     "  strided_slice(%x, begin=[0, 0], end=[-1, 3], strides=[1, 1])\n}\n",
     {"x float32 5 3"}, 0, NULL},
    {"windows padded by a remainder",
     "def @main(%x: Tensor[(1, 20, h, w), float32], %k: Tensor[(18, 20, 3, 2), float32]) {\n"
     "  %0 = nn.conv2d(%x, %k, strides=[2, 3], padding=[0, w % 2, (h + 1) / 2 * 2 - h + 1, 1]);\n"
     "  %1 = nn.avg_pool2d(%x, pool_size=[2, 3], strides=[2, 2], padding=[0, 0, h % 2, w % 2 + 1]);\n"
     "  %2 = nn.max_pool2d(%x, pool_size=[2, 3], strides=[2, 2], padding=[h % 2, w % 2 + 1, 0, 0]);\n"
     "  (%0, %1, %2)\n}\n",
     {"x float32 1 20 13 22", "k float32 18 20 3 2"}, 0, NULL},
    {"pads and positions by an extent",
     "def @main(%x: Tensor[(n, 17), float32]) {\n"
     "  %0 = nn.pad(%x, pad_width=[n / 2, 5 - n, 0, 0], pad_mode=\"reflect\");\n"
     "  %1 = strided_slice(%x, begin=[max(n - 3, 0)], end=[-100], strides=[-2], axes=[0]);\n"
     "  %2 = strided_slice(%x, begin=[n / 2], end=[n + 3]);\n"
     "  (%0, %1, %2)\n}\n",
     {"x float32 7 17"}, 0, NULL},
    {"groups of symbolic channels",
     "def @main(%x: Tensor[(2, c, 40), float32], %s: Tensor[(c), float32]) {\n"
     "  %0 = nn.group_norm(%x, %s, %s, num_groups=3);\n  %1 = nn.instance_norm(%x, %s, %s);\n  (%0, %1)\n}\n",
     {"x float32 2 18 40", "s float32 18"}, 0, NULL},
    {"images one pixel wide",
     "def @main(%x: Tensor[(1, 32, 45, 1), float32], %w: Tensor[(32, 32, 5, 1), float32],\n"
     "          %d: Tensor[(32, 1, 3, 1), float32]) {\n"
     "  %0 = nn.conv2d(%x, %w, padding=[2, 0, 2, 0], channels=32, kernel_size=[5, 1]);\n"
     "  %1 = nn.relu(%0);\n"
     "  %2 = nn.conv2d(%1, %w, strides=[2, 1], dilation=[3, 1], padding=[7, 0, 4, 0], channels=32, "
     "kernel_size=[5, 1]);\n"
     "  %3 = nn.conv2d(%2, %d, padding=[1, 0, 1, 0], groups=32, channels=32, kernel_size=[3, 1]);\n"
     "  %4 = nn.max_pool2d(%3, pool_size=[3, 1], padding=[1, 0, 1, 0]);\n"
     "  %5 = nn.max_pool2d(%x, pool_size=[4, 1], strides=[3, 1], padding=[0, 0, 2, 0]);\n  (%4, %5)\n}\n",
     {"x float32 1 32 45 1", "w float32 32 32 5 1", "d float32 32 1 3 1"}, 0, NULL},
    {"images one pixel wide, of any height",
     "def @main(%x: Tensor[(1, 16, t, 1), float32], %w: Tensor[(16, 16, 5, 1), float32]) {\n"
     "  %0 = nn.conv2d(%x, %w, padding=[2, 0, 2, 0], channels=16, kernel_size=[5, 1]);\n"
     "  nn.max_pool2d(%0, pool_size=[3, 1], padding=[1, 0, 1, 0])\n}\n",
     {"x float32 1 16 37 1", "w float32 16 16 5 1"}, 0, NULL},
    {"windows that leave one column",
     "def @main(%x: Tensor[(2, 8, 19, 6), float32], %w: Tensor[(24, 8, 3, 6), float32]) {\n"
     "  %0 = nn.conv2d(%x, %w, padding=[1, 0, 1, 0], channels=24, kernel_size=[3, 6]);\n"
     "  %1 = nn.max_pool2d(%x, pool_size=[2, 6]);\n  (%0, %1)\n}\n",
     {"x float32 2 8 19 6", "w float32 24 8 3 6"}, 0, NULL},
    {"running sums of rows",
     "def @main(%x: Tensor[(2, 7, 33), float32], %y: Tensor[(n, 21), float32], %z: Tensor[(9), int32]) {\n"
     "  %0 = cumsum(%x, axis=-1);\n  %1 = cumsum(%y, axis=1, exclusive=True, reverse=True);\n"
     "  %2 = cumprod(%z, axis=0);\n  %3 = cumsum(%x, axis=0);\n  (%0, %1, %2, %3)\n}\n",
     {"x float32 2 7 33", "y float32 6 21", "z int32 9"}, 0, NULL},
    {"quotients by 3, 5 and 6",
     "def @main(%x: Tensor[(1, 36, 7, 23), float32], %y: Tensor[(1, 25, 4, w), float32]) {\n"
     "  %0 = nn.depth_to_space(%x, block_size=3, mode=\"CRD\");\n  %1 = nn.depth_to_space(%y, block_size=5);\n"
     "  %2 = nn.depth_to_space(%x, block_size=6);\n  (%0, %1, %2)\n}\n",
     {"x float32 1 36 7 23", "y float32 1 25 4 2"}, 0, NULL},
    {"quotients by 3 of bytes",
     "def @main(%x: Tensor[(1, 9, 5, 200), uint8]) {\n  nn.depth_to_space(%x, block_size=3)\n}\n",
     {"x uint8 1 9 5 200"}, 0, NULL},
    {"two symbols that must be equal",
     "def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(m, 3), float32]) {\n"
     "  %0 = add(%x, %y);\n  %1 = nn.relu(%0);\n  multiply(%1, %y)\n}\n",
     {"x float32 5 3", "y float32 5 3"}, 0, NULL},
    {"mean of integers",
     "def @main(%x: Tensor[(6, 40), int64]) {\n  mean(%x, axis=[1])\n}\n",
     {"x int64 6 40"}, 0, NULL},
    {"max of a NaN, float16",
     "def @main(%x: Tensor[(5, 23), float16]) {\n  %0 = negative(%x);\n  maximum(%0, %x)\n}\n",
     {"x float16 5 23"}, 7, NULL},
    {"largest with NaN",
     "def @main(%x: Tensor[(70, 150), float32]) {\n  %0 = max(%x, axis=[1]);\n  %1 = min(%x, axis=[0]);\n"
     "  (%0, %1)\n}\n",
     {"x float32 70 150"}, 411, NULL},
    {"a value transposed, and reshaped",
     "def @main(%x: Tensor[(24, 16), float32]) {\n"
     "  %0 = nn.softmax(%x);\n  %1 = reshape(%0, newshape=[16, 24]);\n  %2 = nn.softmax(%1);\n"
     "  %3 = transpose(%0, axes=[1, 0]);\n  %4 = add(%3, %1);\n  %5 = nn.softmax(%4);\n  add(%5, %2)\n}\n",
     {"x float32 24 16"}, 0, NULL},
    {"a value reshaped, and transposed",
     "def @main(%x: Tensor[(24, 16), float32]) {\n"
     "  %0 = nn.softmax(%x);\n  %1 = reshape(%0, newshape=[16, 24]);\n  %2 = nn.softmax(%1);\n"
     "  %3 = transpose(%0, axes=[1, 0]);\n  %4 = add(%1, %3);\n  %5 = nn.softmax(%4);\n  add(%5, %2)\n}\n",
     {"x float32 24 16"}, 0, NULL},
    {"largest over rows of a few vectors",
     "def @main(%x: Tensor[(3, 40, 112), float32]) {\n  %0 = max(%x, axis=[1, 2]);\n  %1 = sum(%x, axis=[1, 2]);\n"
     "  (%0, %1)\n}\n",
     {"x float32 3 40 112"}, 0, NULL},
    {"pooling with NaN",
     "def @main(%x: Tensor[(1, 5, 30, 31), float32]) {\n"
     "  %0 = nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1]);\n"
     "  %1 = nn.relu(%0);\n  (%0, %1)\n}\n",
     {"x float32 1 5 30 31"}, 311, NULL},
    {"values, positions, one of them",
     "def @main(%x: Tensor[(6, 50), float32]) {\n"
     "  %0 = topk(%x, k=[7]);\n  %1 = topk(%x, k=[40], axis=1);\n  %2 = topk(%x, k=[2], axis=0);\n"
     "  %3 = gather(%x, %1.1, axis=1);\n  %4 = %1.0 + %3;\n"
     "  (%0.1, %0.0, %4, %1.1, topk(%2.0, k=[3]).0, topk(%4, k=[3]).1)\n}\n",
     {"x float32 6 50"}, 0, NULL},
    {"values that later kernels read, too",
     "def @main(%x: Tensor[(2, 20, 9, 9), float32], %m: Tensor[(7, 50), float32]) {\n"
     "  %0 = arange(0f, 1f, count=[3600]);\n"
     "  %1 = reshape(sin(%0), newshape=[20, 20, 3, 3]);\n"
     "  %2 = nn.conv2d(%x, %1, padding=[1, 1], channels=20, kernel_size=[3, 3]) + %x;\n"
     "  %3 = nn.relu(%2 * 0.1f);\n"
     "  %4 = nn.max_pool2d(%3, pool_size=[3, 3], padding=[1, 1, 1, 1]);\n"
     "  %5 = tanh(%4);\n"
     "  %6 = nn.conv2d(%5, %1, padding=[1, 1], channels=20, kernel_size=[3, 3]) + %2;\n"
     "  %7 = reshape(cos(%0), newshape=[72, 50]);\n"
     "  %8 = nn.dense(%m, %7);\n  %9 = sigmoid(%8 + 1f);\n  %10 = nn.softmax(%9);\n  %11 = %10 * 2f;\n"
     "  %12 = if (less(sum(%m), 0f)) { %8 + %11 } else { %10 - %9 };\n"
     "  (%6, %4, transpose(%2, axes=[0, 2, 3, 1]), %12, %11)\n}\n",
     {"x float32 2 20 9 9", "m float32 7 50"}, 0, NULL},
    {"moments of rows and of channels",
     "def @main(%x: Tensor[(9, 70), float32], %g: Tensor[(70), float32], %y: Tensor[(4, 6, 11, 9), float32]) {\n"
     "  %0 = nn.layer_norm(%x, %g, %g, moments=True);\n  %1 = nn.layer_norm(%x * %0.2, %g, %g, moments=True);\n"
     "  %2 = mean_variance(%y, axis=[1], exclude=True);\n  %3 = mean_variance(%y + 1f, axis=[3], keepdims=True);\n"
     "  (%0.0, %0.1, %1.2, %2.1, %2.0, %3.1)\n}\n",
     {"x float32 9 70", "g float32 70", "y float32 4 6 11 9"}, 0, NULL},
    {"a layer with many steps", /* so long that the Relay interpreter compiles it */
     "def @main(%x: Tensor[(40, 1, 2048), float32], %r: Tensor[(4, 512, 512), float32]) {\n"
     "  %0 = nn.recurrent(%x, %r * 0.002f, cell=\"lstm\");\n  (%0.0, %0.2, %0.1)\n}\n",
     {"x float32 40 1 2048", "r float32 4 512 512"}, 0, NULL},
    {"reductions of nothing",
     "#[version = \"0.0.5\"]\n"
     "#[symbols = \"u in [0, 100]\"]\n"
     "def @main(%x: Tensor[(u, 3), float32], %y: Tensor[(4, 3, u), float32]) {\n"
     "  (sum(%x, axis=[0]) + 1f, max(%y, axis=[2]), prod(%y, axis=[0, 2]) + 1f, sum(%y), min(%x, axis=[0]))\n}\n",
     {"x float32 0 3", "y float32 4 3 0"}, 0, NULL},
    {"large layers with and without steps",
     "#[version = \"0.0.5\"]\n"
     "#[symbols = \"s in [0, 9], u in [0, 9]\"]\n"
     "def @main(%x: Tensor[(s, 2, 800), float32], %y: Tensor[(u, 2, 800), float32], %r: Tensor[(160000), float32],\n"
     "          %h: Tensor[(2, 200), float32]) {\n"
     "  %0 = reshape(%r * 0.01f, newshape=[4, 200, 200]);\n"
     "  %1 = nn.recurrent(%x, %0, %h, tanh(%h), cell=\"lstm\");\n"
     "  %2 = nn.recurrent(%y, %0, %h, tanh(%h), cell=\"lstm\", reverse=True);\n"
     "  %3 = concatenate((%h, %h), axis=1);\n"
     "  %4 = reshape(%r * 0.01f, newshape=[1, 400, 400]);\n"
     "  %5 = strided_slice(%x, begin=[0, 0, 0], end=[9, 2, 400]);\n"
     "  %6 = nn.recurrent(%5, %4, %3, cell=\"rnn\");\n"
     "  %7 = strided_slice(%r * 0.01f, begin=[0], end=[145200]);\n"
     "  %8 = reshape(%7, newshape=[3, 220, 220]);\n"
     "  %9 = strided_slice(%x, begin=[0, 0, 0], end=[9, 2, 660]);\n"
     "  %10 = strided_slice(%3, begin=[0, 0], end=[2, 220]);\n"
     "  %11 = nn.recurrent(%9, %8, %10, cell=\"gru\");\n"
     "  %12 = nn.recurrent(%9, %8, cell=\"gru\", linear_before_reset=True);\n"
     "  (%1.0, %1.1, %1.2, %2.0, %2.1, %2.2, %6.1, %11.1, %12.1)\n}\n",
     {"x float32 0 2 800", "y float32 3 2 800", "r float32 160000", "h float32 2 200"}, 0, NULL},
    {"results of layers, one of them",
     "def @main(%x: Tensor[(5, 3, 28), float32], %r: Tensor[(4, 7, 7), float32]) {\n"
     "  %0 = nn.recurrent(%x, %r, cell=\"lstm\");\n"
     "  %1 = nn.recurrent(%x, %r, %0.1, %0.2, cell=\"lstm\", reverse=True);\n"
     "  %2 = nn.recurrent(tanh(%x), %r, %1.1, cell=\"lstm\");\n"
     "  %3 = nn.recurrent(negative(%x), %r, cell=\"lstm\");\n"
     "  (%0.1, %1.0, %2.2, %3.1, nn.relu(%3.1))\n}\n",
     {"x float32 5 3 28", "r float32 4 7 7"}, 0, NULL},
    {"closures and functions that call themselves",
     "def @twice(%f: fn (Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32], %k: int64, %x: Tensor[(?, 4), float32])\n"
     "    -> Tensor[(?, 4), float32] {\n"
     "  if (%k < 1i64) { %x } else { @twice(%f, %k - 1i64, %f(%f(%x))) }\n}\n"
     "def @even(%n: int64) -> bool { if (%n == 0i64) { True } else { @odd(%n - 1i64) } }\n"
     "def @odd(%n: int64) -> bool { if (%n == 0i64) { False } else { @even(%n - 1i64) } }\n"
     "def @fib(%n: int64) -> int64 { if (%n < 2i64) { %n } else { @fib(%n - 1i64) + @fib(%n - 2i64) } }\n"
     "def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(4, 4), float32]) {\n"
     "  %b = less(sum(%x), 0f);\n"
     "  %g = fn (%a: Tensor[(m, 4), float32]) { concatenate((nn.dense(%a, %w, units=4) * 0.5f, %x)) };\n"
     "  %h = fn (%a: Tensor[(m, 4), float32]) { concatenate((%x, %a)) };\n"
     "  %s = if (%b) { %g } else { %g };\n"
     "  %p = (%x * 2f, %s);\n"
     "  %q = fn (%a: Tensor[(n, 4), float32]) { %r = %p.1; %r(%p.0 + %a) };\n"
     "  %t = @twice(fn (%y: Tensor[(?, 4), float32]) { nn.relu(%y) }, 2i64, %x);\n"
     "  (@twice(%g, 2i64, %x), %h(%g(%x)), %t, %q(%x), @even(9i64), @fib(8i64))\n}\n",
     {"x float32 3 4", "w float32 4 4"}, 0, NULL},
    {"data types, patterns, and functions of the prelude",
     "type Shape { Circle(float32), Box(float32, float32), Nested(Shape, Shape) }\n"
     "def @area(%s: Shape) -> float32 {\n"
     "  match (%s) {\n"
     "    Circle(%r) => { %r * %r * 3f },\n    Nested(Box(%a, _), Circle(%b)) => %a + %b,\n"
     "    Nested(%p, %q) => { @area(%p) + @area(%q) },\n    Box(%w, %h) => %w * %h,\n  }\n}\n"
     "def @main(%x: Tensor[(n, 4), float32], %s: float32) {\n"
     "  let %l = Cons(1f, Cons(%s, Cons(3f, Nil)));\n"
     "  let %m = @map(fn (%a: float32) { %a * 2f }, %l);\n"
     "  let %xs = Cons(%x, Cons(concatenate((%x, %x)), Nil));\n"
     "  let %join = fn (%a: Tensor[(?, 4), float32], %b: Tensor[(?, 4), float32]) { concatenate((%a, %b * %s)) };\n"
     "  let %r = ref(@foldl(fn (%a: float32, %b: float32) { %a + %b }, 0f, %m));\n"
     "  %r := !%r + @nth(@zip(%l, @rev(%m)), 1).1;\n"
     "  let %fact = fn (%n: int32, %k: float32) -> float32 {\n"
     "    if (%n < 2) { %s } else { %k * @area(Circle(%fact(%n - 1, %k) * 0.1f)) }\n  };\n"
     "  let %t = @tmap(fn (%a: float32) { %a + %s }, Rose(1f, Cons(Rose(2f, Nil), Cons(Rose(3f, Nil), Nil))));\n"
     "  let %c = match (%t) { Rose(%a, Cons(Rose(%b, Nil), _)) => (%a, %b), _ => (0f, 0f) };\n"
     "  let %d = @map_accuml(fn (%a: float32, %b: float32) { (%a + %b, %a * %b) }, 0f, @filter(\n"
     "    fn (%a: float32) { %a < 5f }, @concat(%l, %m)));\n"
     "  (@area(Nested(Nested(Box(2f, 5f), Circle(%s)), Box(%s, %s))), @foldl(%join, %x, @rev(%xs)),\n"
     "   @foldr(%join, %x, %xs), !%r, %fact(3, 2f), @length(%xs), %c.0, %c.1, @size(%t), %d.0, @hd(%d.1),\n"
     "   @iterate(@compose(fn (%a: float32) { %a + 1f }, fn (%a: float32) { %a * %s }), 3, 1f))\n}\n",
     {"x float32 3 4", "s float32"}, 0, NULL},
    {"references that closures, branches and loops change",
     "def @main(%x: Tensor[(n, 4), float32], %w: Tensor[(4, 4), float32]) {\n"
     "  %r = ref(%x);\n  %s = ref(1f);\n"
     "  %f = fn (%y: Tensor[(m, 4), float32]) {\n"
     "    %0 = ref_write(%s, ref_read(%s) + sum(%y));\n"
     "    %1 = ref_write(%r, concatenate((ref_read(%r), nn.dense(%y, %w, units=4) * 0.5f)));\n    ref_read(%s)\n  };\n"
     "  %a = %f(%x);\n  %b = less(%a, 0f);\n"
     "  %c = if (%b) { %f(ref_read(%r)) } else { %0 = ref_write(%s, 3f); %f(%x * 2f) };\n"
     "  %d = loop (3i64, True, %c) (%i: int64, %v: float32) { (True, %v + %f(%x) * 0.1f) };\n"
     "  (%a, %c, %d, ref_read(%r), ref_read(%s))\n}\n",
     {"x float32 3 4", "w float32 4 4"}, 0, NULL},
    {"a branch and a loop around kernels",
     "def @main(%x: Tensor[(n, 6), float32], %w: Tensor[(6, 6), float32]) {\n"
     "  %0 = nn.dense(%x, %w * 0.1f);\n"
     "  %1 = less(sum(%0), 0f);\n"
     "  %2 = if (%1) { (tanh(%0), %x) } else { (nn.relu(%0), %0 + %x) };\n"
     "  %3 = loop (4i64, True, %2.0, collect=[4, n]) (%i: int64, %a: Tensor[(n, 6), float32]) {\n"
     "    %4 = nn.dense(%a, %w * 0.1f);\n    %5 = tanh(%4 + %2.1);\n    (True, %5, sum(%5, axis=[1]))\n  };\n"
     "  (%3.0, %3.1)\n}\n",
     {"x float32 5 6", "w float32 6 6"}, 0, NULL},
};
// clang-format on

static size_t count(const tenon_tensor *t)
{
    size_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= (size_t)t->shape[d];
    return n;
}

static void fill(tenon_tensor *t, int nan_step)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count(t); i++) {
        state = state * 1664525u + 1013904223u;
        int v = (int)(state >> 16) % 19 - 9;
        bool is_nan = nan_step && i % (size_t)nan_step == (size_t)nan_step / 2;
        switch (t->code << 8 | t->bits) {
        case 2 << 8 | 32: ((float *)t->data)[i] = is_nan ? NAN : (float)v / 4; break;
        case 2 << 8 | 16:
            ((uint16_t *)t->data)[i] = (uint16_t)(is_nan ? 0x7e00 : 0x3c00 + (v & 7) * 64);
            break;
        case 2 << 8 | 64: ((double *)t->data)[i] = is_nan ? (double)NAN : v / 4.0; break;
        case 0 << 8 | 16:
        case 1 << 8 | 16: ((int16_t *)t->data)[i] = (int16_t)(v * 900); break;
        case 1 << 8 | 32:
        case 0 << 8 | 32: ((int32_t *)t->data)[i] = v; break;
        case 1 << 8 | 64:
        case 0 << 8 | 64: ((int64_t *)t->data)[i] = v; break;
        default: ((int8_t *)t->data)[i] = (int8_t)v; break;
        }
    }
}

/* Reads "x float32 2 3". */
static tenon_tensor make_input(const char *spec, char name[16], int nan_step)
{
    char type[16];
    int at = 0, more = 0;
    tenon_tensor t = {.name = name};
    assert_int_equal(sscanf(spec, "%15s %15s%n", name, type, &at), 2);
    long long dim;
    while (sscanf(spec + at, "%lld%n", &dim, &more) == 1) {
        t.shape[t.ndim++] = dim;
        at += more;
    }
    t.code = type[0] == 'f' ? 2 : type[0] == 'u' ? 1 : 0;
    t.bits = (uint8_t)atoi(type + strcspn(type, "0123456789"));
    t.bytes = count(&t) * t.bits / 8;
    t.data = aligned_alloc(64, (t.bytes + 127) / 64 * 64);
    fill(&t, nan_step);
    return t;
}

static const char *write_model(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "e2e-text-%d.relay", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static bool package(const char *path, const char *target, int n_in, const tenon_tensor in[], values *out,
                    char *why)
{
    tnr_module *m = NULL;
    tenon_options o = {.size = sizeof(tenon_options), .target = target, .opt_level = 3};
    values again = {0};
    bool ok = run_compile(path, &o, &m, why) && run_module(m, TNR_EXECUTOR_AOT, 2, n_in, in, out, why);
    if (ok && tnr_module_has_executor(m, TNR_EXECUTOR_GRAPH))
        ok = run_module(m, TNR_EXECUTOR_GRAPH, 2, n_in, in, &again, why) && same_bits(&again, out, why);
    values_free(&again);
    tnr_module_release(m);
    return ok;
}

static bool all_ways(const char *path, int n_in, const tenon_tensor in[], char *why)
{
    values relay = {0}, tir = {0}, flat = {0}, llvm = {0}, c = {0};
    tenon_options o = {.size = sizeof(tenon_options), .opt_level = 3};
    bool ok = run_interpreter(path, &o, "relay", n_in, in, &relay, why) &&
              run_interpreter(path, &o, "tir", n_in, in, &tir, why) &&
              run_interpreter(path, &o, "flat", n_in, in, &flat, why) &&
              package(path, "llvm", n_in, in, &llvm, why) &&
              (RUN_FEWER || package(path, "c", n_in, in, &c, why)) && all_near(&tir, &relay, 1, why) &&
              all_near(&flat, &relay, 1, why) && same_bits(&llvm, &flat, why) &&
              (RUN_FEWER || same_bits(&c, &flat, why));
    values_free(&relay);
    values_free(&tir);
    values_free(&flat);
    values_free(&llvm);
    values_free(&c);
    return ok;
}

static bool is_refused(const char *path, const char *because, char *why)
{
    char said[RUN_TEXT] = "";
    tnr_module *m = NULL;
    bool compiled = run_compile(path, NULL, &m, said);
    tnr_module_release(m);
    return !compiled && strstr(said, because) ? true
                                              : run_fail(why, "compiled, or refused otherwise: %.900s", said);
}

static void texts_agree(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char why[RUN_TEXT] = "", name[MAX_IN][16];
        tenon_tensor in[MAX_IN];
        int n = 0;
        if (RUN_FEWER && r % 2 && !rows[r].refused)
            continue;
        for (; n < MAX_IN && rows[r].input[n]; n++)
            in[n] = make_input(rows[r].input[n], name[n], n ? 0 : rows[r].nan);
        const char *path = write_model(rows[r].text);
        bool ok = rows[r].refused ? is_refused(path, rows[r].refused, why) : all_ways(path, n, in, why);
        while (n > 0)
            free(in[--n].data);
        unlink(path);
        if (!ok)
            fail_msg("%s: %s", rows[r].name, why);
    }
}

/* From each type to all of them, in vectors and the rest of one. */
static void casts_agree(void **state)
{
    (void)state;
    static const char *const types[] = {"int8",   "int16",  "int32",   "int64",   "uint8",  "uint16",
                                        "uint32", "uint64", "float16", "float32", "float64"};
    enum { N = sizeof types / sizeof *types };
    for (int from = 0; from < N; from++) {
        char why[RUN_TEXT] = "", name[16], spec[32], text[2048], results[256], *at = text, *list = results;
        at += sprintf(at, "def @main(%%x: Tensor[(37), %s]) {\n", types[from]);
        for (int to = 0; to < N; to++) {
            at += sprintf(at, "  %%%d = cast(%%x, dtype=\"%s\");\n", to, types[to]);
            list += sprintf(list, "%s%%%d", to ? ", " : "", to);
        }
        sprintf(at, "  (%s)\n}\n", results);
        snprintf(spec, sizeof spec, "x %s 37", types[from]);
        tenon_tensor in = make_input(spec, name, 5);
        bool ok = all_ways(write_model(text), 1, &in, why);
        free(in.data);
        if (!ok)
            fail_msg("casts of %s: %s", types[from], why);
    }
    unlink(write_model(""));
}

/* A chain of n operators compiles in linear time and gives what n steps by hand give. */
static void long_chains_compile(void **state)
{
    (void)state;
    enum { LENGTH = 3000 };
    char why[RUN_TEXT], name[16];
    char *text = malloc(LENGTH * 64), *at = text;
    at += sprintf(at, "def @main(%%x: Tensor[(4, 9), float32]) {\n");
    for (int i = 0; i < LENGTH; i++)
        at += i ? sprintf(at, "  %%%d = %s(%%%d);\n", i, i % 3 ? "negative" : "sigmoid", i - 1)
                : sprintf(at, "  %%0 = abs(%%x);\n");
    sprintf(at, "  %%%d\n}\n", LENGTH - 1);
    tenon_tensor in = make_input("x float32 4 9", name, 0);
    values want = {0}, have = {0};
    values_add(&want, &in);
    for (int k = 0; k < 36; k++) {
        float v = fabsf(((float *)in.data)[k]);
        for (int i = 1; i < LENGTH; i++)
            v = i % 3 ? -v : 1 / (1 + expf(-v));
        ((float *)want.at[0].data)[k] = v;
    }
    const char *path = write_model(text);
    free(text);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    bool ok = package(path, "llvm", 1, &in, &have, why) && all_near(&have, &want, 1, why);
    clock_gettime(CLOCK_MONOTONIC, &b);
    unlink(path);
    free(in.data);
    values_free(&want);
    values_free(&have);
    if (!ok)
        fail_msg("%s", why);
    assert_true(b.tv_sec - a.tv_sec < (RUN_SANITIZED ? 120 : 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_agree), cmocka_unit_test(casts_agree),
                                       cmocka_unit_test(long_chains_compile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
