/* Sequences and optional values.
 *
 * A sequence's type is Seq[T], of an element type that all its elements fit; Seq[] is the type of one that is
 * certainly empty. Extents in T are numbers or `?`, so a sequence of rows of any length is
 * Seq[Tensor[(?, 4), float32]], and one of tensors whose ranks differ Seq[Tensor[?, float32]]. Optional[T] likewise. */
#include "op/rule.h"

#include "op/host/host.h"

/* ---- operands ---- */

static tn_status need(tn_graph *g, const tn_node *n, int i, enum tn_type_kind kind, const tn_type **out)
{
    *out = tn_in_type(n, i);
    if ((*out)->kind == kind)
        return TN_OK;
    return tn_rule_fail(g, n, "op-E081", "%s must be %s, but is %s", tn_rule_in_name(g, n, i),
                        kind == TN_T_SEQ ? "a sequence" : "an optional value", tn_rule_type_text(g, *out));
}

/* A position, where one is given. */
static tn_status need_position(tn_graph *g, const tn_node *n, int i)
{
    const tn_type *t;
    if (i >= n->nin || !n->in[i].def)
        return TN_OK;
    TN_TRY(tn_rule_tensor(g, n, i, 0, &t));
    return tn_dtype_is_int(t->dtype) ? TN_OK
                                     : tn_rule_fail(g, n, "op-E011", "%s must be an integer, but is %s",
                                                    tn_rule_in_name(g, n, i), tn_rule_type_text(g, t));
}

static bool is_tensor(const tn_type *t) { return t->kind == TN_T_TENSOR || t->kind == TN_T_ANY; }

/* What both elements of type a (NULL: none) and values of type b are. */
static tn_status join(tn_graph *g, const tn_node *n, const tn_type *a, const tn_type *b, const tn_type **out)
{
    b = tn_type_unbound(g->pool, b);
    *out = a ? tn_type_join(g->pool, a, b) : b;
    if (*out)
        return TN_OK;
    return tn_rule_fail(g, n, "op-E081", "a sequence of %s cannot hold %s", tn_rule_type_text(g, a),
                        tn_rule_type_text(g, b));
}

/* ---- sequences ---- */

static tn_status of_infer(tn_graph *g, tn_node *n)
{
    const tn_type *element = NULL;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i].def)
            return tn_rule_fail(g, n, "op-E001", "%s is None, but it is required", tn_rule_in_name(g, n, i));
        TN_TRY(join(g, n, element, tn_in_type(n, i), &element));
    }
    n->type[0] = tn_type_seq(g->pool, element);
    return TN_OK;
}

static tn_status at_infer(tn_graph *g, tn_node *n)
{
    const tn_type *s;
    TN_TRY(need(g, n, 0, TN_T_SEQ, &s));
    TN_TRY(need_position(g, n, 1));
    if (!s->n)
        return tn_rule_fail(g, n, "op-E081", "the sequence is empty, so it has no element");
    n->type[0] = s->field[0];
    return TN_OK;
}

static tn_status insert_infer(tn_graph *g, tn_node *n)
{
    const tn_type *s, *element;
    TN_TRY(need(g, n, 0, TN_T_SEQ, &s));
    TN_TRY(need_position(g, n, 2));
    TN_TRY(join(g, n, s->n ? s->field[0] : NULL, tn_in_type(n, 1), &element));
    n->type[0] = tn_type_seq(g->pool, element);
    return TN_OK;
}

static tn_status erase_infer(tn_graph *g, tn_node *n)
{
    TN_TRY(need(g, n, 0, TN_T_SEQ, &n->type[0]));
    return need_position(g, n, 1);
}

static tn_status length_infer(tn_graph *g, tn_node *n)
{
    const tn_type *s;
    TN_TRY(need(g, n, 0, TN_T_SEQ, &s));
    return tn_rule_result(g, n, 0, TN_I64, 0, NULL);
}

static tn_status rank_infer(tn_graph *g, tn_node *n)
{
    if (!is_tensor(tn_in_type(n, 0)))
        return tn_rule_fail(g, n, "op-E081", "operand 0 must be a tensor, but is %s",
                            tn_rule_type_text(g, tn_in_type(n, 0)));
    return tn_rule_result(g, n, 0, TN_I64, 0, NULL);
}

static tn_status split_infer(tn_graph *g, tn_node *n)
{
    const tn_seq_split_attr *a = n->attr;
    const tn_type *x, *sizes;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    bool one = n->nin < 2 || !n->in[1].def;
    int axis, rank = 0;
    TN_TRY(tn_rule_tensor(g, n, 0, -1, &x));
    TN_TRY(tn_rule_axis(g, n, a->axis, x->n, &axis));
    if (!one)
        TN_TRY(tn_rule_tensor(g, n, 1, -1, &sizes));
    if (!one && (!tn_dtype_is_int(sizes->dtype) || sizes->n > 1))
        return tn_rule_fail(g, n, "op-E011", "sizes must be one integer or a list of them, but are %s",
                            tn_rule_type_text(g, sizes));
    for (int d = 0; d < x->n; d++)
        if (d != axis || !one || a->keepdims)
            dim[rank++] = d != axis ? x->dim[d] : one ? tn_idx(g->pool, 1) : tn_any_dim(g->pool);
    n->type[0] =
        tn_type_seq(g->pool, tn_type_unbound(g->pool, tn_type_tensor(g->pool, x->dtype, rank, dim, NULL)));
    return TN_OK;
}

/* What the result is where the sequence turns out to be empty, if that is given. */
static tn_status or_none(tn_graph *g, tn_node *n)
{
    if (n->nin < 2 || !n->in[1].def)
        return TN_OK;
    const tn_type *none = tn_type_unbound(g->pool, tn_in_type(n, 1)),
                  *t = is_tensor(none) ? tn_type_join(g->pool, n->type[0], none) : NULL;
    if (!t)
        return tn_rule_fail(g, n, "op-E081",
                            "the result is %s, which cannot be %s where there are no elements",
                            tn_rule_type_text(g, n->type[0]), tn_rule_type_text(g, none));
    n->type[0] = t;
    return TN_OK;
}

static tn_status concat_infer(tn_graph *g, tn_node *n)
{
    const tn_seq_concat_attr *a = n->attr;
    const tn_type *s, *e;
    const tn_expr *dim[TN_RULE_MAX_RANK];
    TN_TRY(need(g, n, 0, TN_T_SEQ, &s));
    e = s->n ? s->field[0] : NULL;
    if (!e || !is_tensor(e))
        return tn_rule_fail(g, n, "op-E081", "the elements must be tensors, but the operand is %s",
                            tn_rule_type_text(g, s));
    n->type[0] = e;
    if (e->kind == TN_T_ANY)
        return or_none(g, n);
    int rank = e->n + a->new_axis, axis = (int)(a->axis < 0 ? a->axis + rank : a->axis);
    if (rank > TN_RULE_MAX_RANK || a->axis < -rank || a->axis >= rank)
        return tn_rule_fail(g, n, "op-E007", "axis %lld is outside [%d, %d) for %s", (long long)a->axis,
                            -rank, rank, tn_rule_type_text(g, s));
    for (int d = 0, from = 0; d < rank; d++) {
        dim[d] = d == axis ? tn_any_dim(g->pool) : e->dim[from];
        from += d != axis || !a->new_axis;
    }
    n->type[0] = tn_type_tensor(g->pool, e->dtype, rank, dim, NULL);
    return or_none(g, n);
}

/* clang-format off */
static const char *const seq_in[] = {"seq"};
static const char *const at_in[] = {"seq", "position"};
static const char *const insert_in[] = {"seq", "value", "position"};
static const char *const concat_in[] = {"seq", "none"};
static const char *const split_in[] = {"data", "sizes"};
static const tn_attr_field split_fields[] = TN_ATTR_TABLE(tn_seq_split_attr, TN_SEQ_SPLIT_ATTRS);
static const tn_attr_field concat_fields[] = TN_ATTR_TABLE(tn_seq_concat_attr, TN_SEQ_CONCAT_ATTRS);

const tn_op tn_op_seq_of = {
    .name = "seq.of", .doc = "A sequence of its operands.",
    .nin = -1, .min_in = 0, .nout = 1, .fuse = TN_FUSE_NONE, .infer = of_infer,
};

const tn_op tn_op_seq_at = {
    .name = "seq.at", .doc = "The element of a sequence at a position, which may count from the end.",
    .nin = 2, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = at_in,
    .infer = at_infer, .host = "seq.at",
};

const tn_op tn_op_seq_insert = {
    .name = "seq.insert", .doc = "A sequence with one more element, before a position or at the end.",
    .nin = 3, .min_in = 2, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = insert_in,
    .infer = insert_infer, .host = "seq.insert",
};

const tn_op tn_op_seq_set = {
    .name = "seq.set", .doc = "A sequence with another element at a position, or with one more at the end.",
    .nin = 3, .min_in = 3, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = insert_in,
    .infer = insert_infer, .host = "seq.set",
};

const tn_op tn_op_seq_erase = {
    .name = "seq.erase", .doc = "A sequence without its element at a position, or without its last one.",
    .nin = 2, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = at_in,
    .infer = erase_infer, .host = "seq.erase",
};

const tn_op tn_op_seq_length = {
    .name = "seq.length", .doc = "How many elements a sequence has.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = seq_in,
    .infer = length_infer, .host = "seq.length",
};

const tn_op tn_op_tensor_rank = {
    .name = "tensor.rank", .doc = "How many dimensions a tensor has whose type does not say it.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = rank_infer, .host = "tensor.rank",
};

const tn_op tn_op_seq_split = {
    .name = "seq.split", .doc = "Parts of a tensor along an axis: of the given sizes, of one size, or of 1.",
    .attr_size = sizeof(tn_seq_split_attr), .attr = split_fields,
    .nin = 2, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = split_in,
    .infer = split_infer, .host = "seq.split",
};

const tn_op tn_op_seq_concat = {
    .name = "seq.concat",
    .doc = "The elements of a sequence joined along an axis, or stacked along a new one; of no elements: `none`.",
    .attr_size = sizeof(tn_seq_concat_attr), .attr = concat_fields,
    .nin = 2, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .in_name = concat_in,
    .infer = concat_infer, .host = "seq.concat",
};
/* clang-format on */

/* ---- optional values ---- */

static tn_status none_infer(tn_graph *g, tn_node *n)
{
    n->type[0] = tn_type_optional(g->pool, NULL);
    return TN_OK;
}

static tn_status some_infer(tn_graph *g, tn_node *n)
{
    n->type[0] = tn_type_optional(g->pool, tn_type_unbound(g->pool, tn_in_type(n, 0)));
    return TN_OK;
}

static tn_status has_infer(tn_graph *g, tn_node *n)
{
    const tn_type *o;
    TN_TRY(need(g, n, 0, TN_T_OPTIONAL, &o));
    return tn_rule_result(g, n, 0, TN_BOOL1, 0, NULL);
}

static tn_status get_infer(tn_graph *g, tn_node *n)
{
    const tn_type *o;
    TN_TRY(need(g, n, 0, TN_T_OPTIONAL, &o));
    if (!o->n)
        return tn_rule_fail(g, n, "op-E081", "the optional value is empty");
    n->type[0] = o->field[0];
    return TN_OK;
}

/* clang-format off */
const tn_op tn_op_opt_none = {
    .name = "opt.none", .doc = "An optional value that is empty.",
    .nin = 0, .min_in = 0, .nout = 1, .fuse = TN_FUSE_NONE, .infer = none_infer,
};

const tn_op tn_op_opt_some = {
    .name = "opt.some", .doc = "An optional value that holds its operand.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = some_infer,
};

const tn_op tn_op_opt_has = {
    .name = "opt.has", .doc = "Does an optional value hold something?",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = has_infer, .host = "opt.has",
};

const tn_op tn_op_opt_get = {
    .name = "opt.get", .doc = "What an optional value holds; the run fails if it is empty.",
    .nin = 1, .min_in = 1, .nout = 1, .fuse = TN_FUSE_NONE, .infer = get_infer,
};
/* clang-format on */
