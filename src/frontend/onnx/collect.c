/* What loops collect: the results of all iterations along a new axis. Tensors of a known rank are collected by the loop
 * itself; texts, and tensors whose rank only the run knows, are carried in sequences, which are stacked afterwards. */
#include "frontend/onnx/flow.h"

#include "frontend/import/text.h"
#include "op/control/control.h"
#include "op/host/host.h"
#include "op/tensor/tensor.h"

/* ---- of several values ---- */

/* The elements of a sequence, from its end if `backward`, along a new axis. element: ranks that they may have; none:
 * nothing is known. Of no elements the result is empty, of the lowest rank that it may have. */
static tn_value stack_of_any(imp_node *c, tn_value sequence, int64_t axis, bool backward,
                             const onnx_ranks *element)
{
    tn_seq_concat_attr a = {axis, true, backward};
    const tn_expr *any[IMP_MAX_RANK], *none[IMP_MAX_RANK];
    onnx_ranks r = {{0}};
    uint32_t least = 1;
    for (int d = 0; d < IMP_MAX_RANK; d++) {
        any[d] = tn_any_dim(c->pool);
        none[d] = tn_idx(c->pool, 0);
    }
    for (uint32_t n = IMP_MAX_RANK; n > 0 && !c->bad; n--)
        if (element->of[n - 1]) {
            r.of[n] = tn_type_tensor(c->pool, element->of[n - 1]->dtype, (int)n, any, NULL);
            least = n;
        }
    tn_dtype t = c->bad ? TN_BOOL1 : tn_value_type(sequence)->field[0]->dtype;
    tn_value v =
        imp_call2(c, &tn_op_seq_concat, &a, sequence, onnx_zeros(c, t, tn_dims_make(c->arena, least, none)));
    if (v.def)
        onnx_note_ranks(c, v.def, tn_arena_copy(c->arena, &r, sizeof r, _Alignof(onnx_ranks)));
    return v;
}

/* v's ranks are added to r; false: r does not hold all any more. */
static bool add_ranks_of(imp_node *c, onnx_ranks *r, tn_value v)
{
    onnx_ranks of;
    bool known = onnx_ranks_of(c, v, &of);
    if (known)
        (void)onnx_add_ranks(c, r, &of);
    return known;
}

static tn_value stack_any(imp_node *c, tn_value v[], int64_t n, int64_t axis)
{
    onnx_ranks r = {{0}};
    bool known = true;
    for (int64_t i = 0; i < n; i++)
        known = add_ranks_of(c, &r, v[i]) && known;
    r = known ? r : (onnx_ranks){{0}};
    return stack_of_any(c, imp_call(c, &tn_op_seq_of, NULL, (int)n, v), axis, false, &r);
}

tn_value onnx_stacked(imp_node *c, const tn_value *v, int64_t n, size_t stride, int64_t axis, bool backward)
{
    tn_value *all = TN_NEW_N(c->arena, tn_value, (size_t)n), *at = TN_NEW_N(c->arena, tn_value, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        all[backward ? n - 1 - i : i] = v[(size_t)i * stride];
    for (int64_t i = 0; i < n; i++)
        if (onnx_is_value(all[i]))
            return stack_any(c, all, n, axis);
    tn_axis_attr a = {imp_axis(c, axis, imp_rank(all[0]) + 1)};
    imp_movable(c, (int)n, all, at);
    for (int64_t i = 0; i < n && !c->bad; i++)
        at[i] = imp_unsqueeze(c, at[i], a.axis);
    return imp_moved(c, (int)n, all, imp_call(c, &tn_op_concatenate, &a, (int)n, at));
}

/* ---- in sequences ---- */

/* The loop carries one more value, which begins as v and stays as it is. Returns what it is in the body. */
static tn_value carry(imp_node *c, onnx_loop *b, tn_value v, const char *name, const tn_type *t)
{
    uint32_t k = b->n_carried++;
    b->in[k + 2] = v;
    for (uint32_t i = b->n_out++; i > k + 1; i--)
        b->out[i] = b->out[i - 1];
    return b->out[k + 1] = tn_val(tn_region_add_param(c->g, b->r, name, t));
}

/* A value is put at the end of carried sequence k by each iteration. */
static void put(imp_node *c, onnx_loop *b, uint32_t k, tn_value v)
{
    b->out[k + 1] = imp_binary(c, &tn_op_seq_insert, b->out[k + 1], v);
}

/* Collected result k are texts: the loop carries the texts of all iterations, as a sequence of lists, and how many they
 * are. What it collects are their numbers, by which they are read afterwards. Returns which carried value holds them.
 */
static uint32_t collect_texts(imp_node *c, onnx_loop *b, uint32_t k)
{
    const tn_expr *any = tn_any_dim(c->pool);
    const tn_type *list = tn_type_tensor(c->pool, TN_STR, 1, &any, NULL);
    tn_value none = imp_text_list(c, 0, NULL), begin = imp_call(c, &tn_op_seq_of, NULL, 1, &none);
    (void)carry(c, b, begin, "texts", tn_type_seq(c->pool, list));
    tn_value count = carry(c, b, imp_i64(c, 0), "count", tn_type_tensor(c->pool, TN_I64, 0, NULL, NULL));
    uint32_t at = b->n_carried - 2;
    tn_value *collected = b->out + b->n_carried + 1 + k;
    tn_region *outer = c->im->r;
    c->im->r = b->r;
    tn_value number = imp_text_numbers(c, *collected, 0), flat = imp_flat(c, number);
    put(c, b, at, imp_take_texts(c, *collected, flat));
    b->out[at + 2] = imp_binary(c, &tn_op_add, count, imp_extent_of(c, flat, 0));
    *collected = imp_binary(c, &tn_op_add, number, count);
    c->im->r = outer;
    return at;
}

static tn_value read_texts(imp_node *c, tn_node *n, uint32_t lists, tn_value number)
{
    tn_seq_concat_attr a = {0, false, false};
    return imp_take_texts(c, imp_call1(c, &tn_op_seq_concat, &a, (tn_value){n, lists}), number);
}

/* Collected result k, whose rank only the run knows, is carried in a sequence instead. Returns which value that is. */
static uint32_t collect_any(imp_node *c, onnx_loop *b, uint32_t k)
{
    tn_value v = b->out[b->n_carried + 1 + k], none = imp_call(c, &tn_op_seq_of, NULL, 0, NULL);
    (void)carry(c, b, none, "collected", tn_type_seq(c->pool, tn_type_any(c->pool, tn_value_type(v)->dtype)));
    uint32_t at = b->n_carried - 1;
    tn_region *outer = c->im->r;
    c->im->r = b->r;
    put(c, b, at, v);
    c->im->r = outer;
    for (uint32_t i = b->n_carried + 1 + k; i + 1 < b->n_out; i++)
        b->out[i] = b->out[i + 1];
    b->n_out--;
    return at;
}

/* ---- the node ---- */

static tn_node *make_loop(imp_node *c, const onnx_loop *b, const tn_loop_attr *attr)
{
    tn_region_set_results(c->g, b->r, (int)b->n_out, b->out);
    tn_node *n = tn_node_new(c->g, c->im->r, NULL, &tn_op_loop, (int)b->n_carried + 2, b->in,
                             (int)b->n_out - 1, attr, c->loc);
    tn_node_hold(c->g, n, 1, (tn_region *[]){b->r});
    c->bad = tn_infer_node(c->g, n) != TN_OK;
    if (b->n_carried)
        onnx_note_ranks(c, n, b->ranks);
    return n;
}

typedef struct { /* a result that is collected */
    bool text, any;
    uint32_t carried; /* of texts and of any rank: in which value */
    onnx_ranks ranks; /* of any rank: of an element */
} collected;

/* What is collected otherwise than by the loop itself becomes carried. */
static void carry_collected(imp_node *c, onnx_loop *b, uint32_t n, collected of[])
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < n && !c->bad; k++) {
        tn_value v = b->out[b->n_carried + 1 + at];
        of[k] = (collected){.any = onnx_is_value(v), .text = imp_is_text(v)};
        if (of[k].any)
            (void)onnx_ranks_of(c, v, &of[k].ranks);
        of[k].carried = of[k].any ? collect_any(c, b, at) : of[k].text ? collect_texts(c, b, at) : 0;
        at += !of[k].any;
    }
}

void onnx_loop_node(imp_node *c, onnx_loop *b, const tn_loop_attr *attr, tn_value result[])
{
    uint32_t n_carried = b->n_carried, n_collected = b->n_out - 1 - n_carried, at = 0;
    collected *of = TN_NEW_N(c->arena, collected, n_collected);
    carry_collected(c, b, n_collected, of);
    tn_node *n = c->bad ? NULL : make_loop(c, b, attr);
    for (uint32_t k = 0; k < n_carried && !c->bad; k++)
        result[k] = tn_unboxed(c->g, (tn_value){n, k});
    for (uint32_t k = 0; k < n_collected && !c->bad; k++) {
        tn_value *out = &result[n_carried + k];
        if (of[k].any) {
            *out = stack_of_any(c, (tn_value){n, of[k].carried}, b->axis ? b->axis[k] : 0,
                                b->backward && b->backward[k], &of[k].ranks);
            continue;
        }
        *out = tn_unboxed(c->g, (tn_value){n, b->n_carried + at++});
        if (of[k].text)
            *out = read_texts(c, n, of[k].carried, *out);
    }
}
