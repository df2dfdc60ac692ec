/* Forms (forms.h): convolutions of images and weights in blocks ("NCHW8c", "OIHW4i8o"), which TVM's
 * AlterOpLayout makes of others. */
#include "relay/forms.h"

#include "op/nn/nn.h"

#include <string.h>

/* nn.contrib_conv2d_NCHWc, nn.contrib_depthwise_conv2d_NCHWc */
static tn_value blocked_conv(form_call *c)
{
    tn_conv2d_attr a = {.strides = c->a.ints,
                        .padding = c->a.dims,
                        .dilation = c->a.ints2,
                        .groups = c->a.axis,
                        .channels = c->a.number,
                        .kernel_size = c->a.ints3,
                        .data_layout = "NCHW",
                        .kernel_layout = "OIHW",
                        .out_dtype = c->a.dtype};
    pforeign other = {0};
    const char *to = c->a.u && *c->a.u ? c->a.u : c->a.s;
    tn_value x[2] = {form_layout(c, c->in[0], c->a.s, a.data_layout),
                     form_layout(c, c->in[1], c->a.t, a.kernel_layout)};
    return form_layout(c, form_finished(c, &tn_op_nn_conv2d, &a, 2, x, &other), a.data_layout, to);
}

/* clang-format off */
static const tn_attr_field
    blocked[] = {FORM_ATTR(INTS, "strides", ints, "[1, 1]"), FORM_ATTR(DIMS, "padding", dims, "[0, 0]"),
                 FORM_ATTR(INTS, "dilation", ints2, "[1, 1]"), FORM_ATTR(I64, "groups", axis, "1"),
                 FORM_ATTR(I64, "channels", number, "0"), FORM_ATTR(INTS, "kernel_size", ints3, "None"),
                 FORM_ATTR(STR, "data_layout", s, "\"NCHW\""), FORM_ATTR(STR, "kernel_layout", t, "\"OIHW\""),
                 FORM_ATTR(STR, "out_layout", u, "\"\""), FORM_ATTR(DTYPE, "out_dtype", dtype, "\"\""), FORM_END};

const form form_rows_blocked[] = {
    {"nn.contrib_conv2d_NCHWc", 2, 2, blocked_conv, blocked, "nn.conv2d of images and weights in blocks of channels."},
    {"nn.contrib_depthwise_conv2d_NCHWc", 2, 2, blocked_conv, blocked, "The same, of each channel for itself."},
    {0},
};
/* clang-format on */
