/* Pictures in files. */
#include "op/rule.h"

#include "op/host/host.h"

#include <string.h>

static tn_status decode_infer(tn_graph *g, tn_node *n)
{
    const char *format = ((const tn_image_decode_attr *)n->attr)->pixel_format;
    const tn_type *bytes;
    format = format ? format : "None";
    bool grey = strcmp(format, "Grayscale") == 0;
    TN_TRY(tn_rule_tensor(g, n, 0, 1, &bytes));
    if (!tn_dtype_eq(bytes->dtype, TN_U8))
        return tn_rule_fail(g, n, "op-E011", "data must be uint8, but is %s", tn_rule_type_text(g, bytes));
    if (!grey && strcmp(format, "RGB") != 0 && strcmp(format, "BGR") != 0)
        return tn_rule_fail(g, n, "op-E007", "pixel_format is \"%s\"; RGB, BGR and Grayscale are known",
                            format);
    const tn_expr *any = tn_any_dim(g->pool), *dim[3] = {any, any, tn_idx(g->pool, grey ? 1 : 3)};
    n->type[0] = tn_type_tensor(g->pool, TN_U8, 3, dim, NULL);
    return TN_OK;
}

/* clang-format off */
static const char *const decode_in[] = {"data"};
static const tn_attr_field decode_fields[] = TN_ATTR_TABLE(tn_image_decode_attr, TN_IMAGE_DECODE_ATTRS);

const tn_op tn_op_image_decode = {
    .name = "image.decode",
    .doc = "The pixels of a picture in a file's bytes, [height, width, channels]; none where it cannot be decoded.",
    .attr_size = sizeof(tn_image_decode_attr), .attr = decode_fields,
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = decode_in, .infer = decode_infer,
    .host = "image.decode",
};
/* clang-format on */
