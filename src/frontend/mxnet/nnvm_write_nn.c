/* Layers of networks as nodes of NNVM, whose channels lie first, as in Relay. A bias that a layer's only
 * reader adds belongs to the node of the layer. */
#include "frontend/mxnet/nnvm_write.h"

#include "op/image/image.h"
#include "op/tensor/tensor.h"

#include <string.h>

/* ---- biases ---- */

/* The nn.bias_add that alone reads the layer, along its channels; NULL: none. */
static const tn_node *bias_of(const tn_node *n)
{
    const tn_use *u = n->users[0];
    const tn_node *user = u && !u->next ? u->user : NULL;
    bool is = user && tn_op_is(user, &tn_op_nn_bias_add) && u->slot == 0 && user->in[1].def &&
              nw_axis(((const tn_axis_attr *)user->attr)->axis, n->type[0]->n) == 1;
    return is ? user : NULL;
}

/* The layer with the attributes so far; its bias, where its reader is told to add it, is that one's operand. */
static void layer(nw_call *c, nw_call *adds, uint32_t data, uint32_t weight)
{
    const uint32_t in[] = {data, weight, adds ? nw_in(adds, 1) : 0};
    nw_bool(c, "use_bias", adds != NULL);
    uint32_t node = nw_node(c, c->row->op, true, adds ? 3 : 2, in);
    if (adds)
        adds->bad = adds->bad || c->bad;
    nw_out(adds ? adds : c, node);
}

static bool is_own_type(nw_call *c, tn_dtype out)
{
    const tn_type *t = tn_in_type(c->n, 0);
    bool own = (!out.bits || tn_dtype_eq(out, t->dtype)) && tn_dtype_eq(c->n->type[0]->dtype, t->dtype);
    if (!own)
        nw_refuse(c, "the result has another type than the operands, which NNVM does not have");
    return own;
}

/* ---- convolutions ---- */

static void sizes_of(nw_call *c)
{
    const int64_t kernel[] = {nw_extent(c, 1, 2), nw_extent(c, 1, 3)};
    nw_int(c, "channels", nw_result_extent(c, 1));
    nw_tuple(c, "kernel_size", 2, kernel);
}

/* What NNVM has no padding for, the same on both sides, is a node of its own. */
static uint32_t padded(nw_call *c, uint32_t data, int64_t pad[4])
{
    if (pad[0] == pad[2] && pad[1] == pad[3])
        return data;
    nw_word(c, "pad_width",
            tn_arena_printf(c->w->arena, "((0, 0), (0, 0), (%lld, %lld), (%lld, %lld))", (long long)pad[0],
                            (long long)pad[2], (long long)pad[1], (long long)pad[3]));
    memset(pad, 0, 4 * sizeof *pad);
    return nw_node(c, "pad", false, 1, &data);
}

static void write_conv2d(nw_call *c, nw_call *adds)
{
    const tn_conv2d_attr *a = c->n->attr;
    int64_t pad[4];
    uint32_t data = nw_in(c, 0), weight = nw_in(c, 1);
    if (!is_own_type(c, a->out_dtype) || !nw_numbers(c, "padding", a->padding, 4, pad))
        return;
    data = padded(c, data, pad);
    sizes_of(c);
    nw_tuple(c, "strides", a->strides.n, a->strides.at);
    nw_tuple(c, "padding", 2, pad);
    nw_tuple(c, "dilation", a->dilation.n, a->dilation.at);
    nw_int(c, "groups", a->groups);
    layer(c, adds, data, weight);
}

/* NNVM calls OIHW what has the channels of the data first. */
static void write_conv2d_transpose(nw_call *c, nw_call *adds)
{
    const tn_conv_transpose_attr *a = c->n->attr;
    int64_t pad[4];
    uint32_t data = nw_in(c, 0), weight = nw_in(c, 1);
    if (!is_own_type(c, (tn_dtype){0}) || !nw_numbers(c, "padding", a->padding, 4, pad))
        return;
    if (pad[0] != pad[2] || pad[1] != pad[3])
        nw_refuse(c, "attribute padding is not the same on both sides, which NNVM does not have");
    sizes_of(c);
    nw_tuple(c, "strides", a->strides.n, a->strides.at);
    nw_tuple(c, "padding", 2, pad);
    nw_tuple(c, "output_padding", a->output_padding.n, a->output_padding.at);
    nw_tuple(c, "dilation", a->dilation.n, a->dilation.at);
    nw_int(c, "groups", a->groups);
    layer(c, adds, data, weight);
}

static void write_dense(nw_call *c, nw_call *adds)
{
    const tn_dense_attr *a = c->n->attr;
    uint32_t data = nw_in(c, 0), weight = nw_in(c, 1);
    if (nw_rank(c, 0) != 2)
        nw_refuse(c, "data of %d dimensions are an operand, but NNVM has two", nw_rank(c, 0));
    if (!is_own_type(c, a->out_dtype))
        return;
    nw_int(c, "units", nw_extent(c, 1, 0));
    layer(c, adds, data, weight);
}

static void write_layer(nw_call *c, nw_call *adds)
{
    if (tn_op_is(c->n, &tn_op_nn_conv2d))
        write_conv2d(c, adds);
    else if (tn_op_is(c->n, &tn_op_nn_dense))
        write_dense(c, adds);
    else
        write_conv2d_transpose(c, adds);
}

void nw_layer(nw_call *c)
{
    if (!bias_of(c->n))
        write_layer(c, NULL);
}

static const nw_row *layer_row(const tn_node *n)
{
    for (const nw_row *r = nw_rows; n && r->relay; r++)
        if (r->write == nw_layer && tn_op_is(n, r->relay))
            return r;
    return NULL;
}

/* A bias of its own is one along `axis` of a shape of 1s. */
static void add_bias(nw_call *c)
{
    const int rank = nw_rank(c, 0);
    const int64_t axis = nw_axis(((const tn_axis_attr *)c->n->attr)->axis, rank);
    int64_t shape[UINT8_MAX];
    uint32_t in[2] = {nw_in(c, 0), nw_in(c, 1)};
    for (int64_t d = axis; d < rank && d < UINT8_MAX; d++)
        shape[d - axis] = d == axis ? nw_extent(c, 1, 0) : 1;
    if (axis + 1 < rank) {
        nw_tuple(c, "shape", (size_t)(rank - axis), shape);
        in[1] = nw_node(c, "reshape", false, 1, &in[1]);
    }
    nw_out(c, nw_node(c, rank == 1 ? "elemwise_add" : "broadcast_add", true, 2, in));
}

void nw_bias_add(nw_call *c)
{
    const tn_node *of = c->n->in[0].def;
    const nw_row *row = layer_row(of);
    if (!row || bias_of(of) != c->n) {
        add_bias(c);
        return;
    }
    nw_call inner = {.w = c->w, .n = of, .row = row, .n_out = 1};
    write_layer(&inner, c);
    tn_buf_deinit(&inner.attrs);
}

/* ---- pooling ---- */

void nw_pool2d(nw_call *c)
{
    const tn_pool2d_attr *a = c->n->attr;
    int64_t pad[4];
    uint32_t in = nw_in(c, 0);
    for (uint32_t i = 0; i < a->dilation.n; i++)
        if (a->dilation.at[i] != 1)
            nw_refuse(c, "attribute dilation is not 1, which NNVM's pooling does not have");
    if (!nw_numbers(c, "padding", a->padding, 4, pad))
        return;
    nw_tuple(c, "pool_size", a->pool_size.n, a->pool_size.at);
    nw_tuple(c, "strides", a->strides.n, a->strides.at);
    nw_tuple(c, "padding", 4, pad);
    nw_bool(c, "ceil_mode", a->ceil_mode);
    if (tn_op_is(c->n, &tn_op_nn_avg_pool2d))
        nw_bool(c, "count_include_pad", a->count_include_pad);
    nw_out(c, nw_node(c, c->row->op, true, 1, &in));
}

/* ---- normalisation, resizing ---- */

void nw_batch_norm(nw_call *c)
{
    const tn_batch_norm_attr *a = c->n->attr;
    uint32_t in[5];
    for (uint32_t i = 0; i < 5; i++)
        in[i] = nw_in(c, i);
    if (!a->center)
        nw_refuse(c, "attribute center is False; add zeros for beta instead");
    nw_int(c, "axis", nw_axis(a->axis, nw_rank(c, 0)));
    nw_real(c, "epsilon", a->epsilon);
    nw_bool(c, "center", true);
    nw_bool(c, "scale", a->scale);
    c->n_out = 3;
    nw_out(c, nw_node(c, "batch_norm", true, 5, in));
}

void nw_lrn(nw_call *c)
{
    const tn_lrn_attr *a = c->n->attr;
    uint32_t in = nw_in(c, 0);
    nw_int(c, "size", a->size);
    nw_int(c, "axis", nw_axis(a->axis, nw_rank(c, 0)));
    nw_real(c, "alpha", a->alpha);
    nw_real(c, "beta", a->beta);
    nw_real(c, "bias", a->bias);
    nw_out(c, nw_node(c, "lrn", true, 1, &in));
}

void nw_resize(nw_call *c)
{
    const tn_resize_attr *a = c->n->attr;
    const char *mode = a->coordinate_transformation_mode;
    const bool linear = strcmp(a->method, "linear") == 0,
               corners = linear && strcmp(mode, "align_corners") == 0;
    int64_t size[2];
    uint32_t in = nw_in(c, 0);
    if (!nw_numbers(c, "size", a->size, 2, size))
        return;
    if (!linear && strcmp(a->method, "nearest_neighbor") != 0)
        nw_refuse(c, "attribute method is \"%s\", which NNVM does not have", a->method);
    if (!corners && strcmp(mode, "asymmetric") != 0)
        nw_refuse(c, "attribute coordinate_transformation_mode is \"%s\", which NNVM does not have", mode);
    if (!linear && strcmp(a->rounding_method, "floor") != 0)
        nw_refuse(c, "attribute rounding_method is \"%s\", but NNVM rounds positions down",
                  a->rounding_method);
    nw_tuple(c, "size", 2, size);
    nw_word(c, "method", linear ? "BILINEAR" : "NEAREST_NEIGHBOR");
    nw_bool(c, "align_corners", corners);
    nw_out(c, nw_node(c, "resize", true, 1, &in));
}
