/* Calling operators: making a node, inferring it, constants, and defining its outputs in te. */
#include "op/rule.h"

#include "base/size.h"
#include "ir/eval.h"

#include <string.h>

/* clang-format off */
#define OP(id) extern const tn_op tn_op_##id;
#include "op/ops.def"
#undef OP

static const tn_op *const records[] = {
#define OP(id) &tn_op_##id,
#include "op/ops.def"
#undef OP
};
/* clang-format on */

size_t tn_ops_count(void) { return sizeof records / sizeof *records; }

const tn_op *tn_ops_at(size_t i)
{
    TN_ASSERT(i < tn_ops_count());
    return records[i];
}

const tn_op *tn_ops_find(const char *name)
{
    for (size_t i = 0; i < tn_ops_count(); i++)
        if (strcmp(records[i]->name, name) == 0)
            return records[i];
    return NULL;
}

/* ---- inference ---- */

/* Is a text or type that has no default absent? */
static bool is_missing(const tn_attr_field *f, const void *attr)
{
    const char *at = (const char *)attr + f->offset, *text;
    tn_dtype t;
    if (f->kind == TN_A_STR)
        return !f->def && (memcpy(&text, at, sizeof text), !text);
    return !f->def && f->kind == TN_A_DTYPE && (memcpy(&t, at, sizeof t), t.bits == 0);
}

static tn_status check_inputs(tn_graph *g, const tn_node *n)
{
    const tn_op *op = n->op;
    if (n->nin < op->min_in || (op->nin >= 0 && n->nin > op->nin)) {
        const char *want = op->nin < 0 ? "at least" : op->nin == op->min_in ? "exactly" : "from";
        const char *top = op->nin > op->min_in ? tn_arena_printf(g->arena, " to %d", op->nin) : "";
        return tn_rule_fail(g, n, "op-E001", "%d operands are given, but it takes %s %d%s", n->nin, want,
                            op->min_in, top);
    }
    for (const tn_attr_field *f = op->attr; f && f->name && n->attr; f++)
        if (is_missing(f, n->attr))
            return tn_rule_fail(g, n, "op-E007", "attribute %s is None, but it is required", f->name);
    for (int i = 0; i < n->nin; i++) {
        tn_value v = tn_in(n, i);
        if (!v.def && i < op->min_in)
            return tn_rule_fail(g, n, "op-E001", "%s is None, but it is required", tn_rule_in_name(g, n, i));
        if (v.def && (!v.def->type || !v.def->type[v.out])) /* the node that failed has been reported */
            return g->ctx->n_error ? TN_FAIL
                                   : tn_rule_fail(g, n, "op-E016", "the type of %s is not known",
                                                  tn_rule_in_name(g, n, i));
    }
    return TN_OK;
}

/* While a model is read, extents that only the run can compare are taken to be equal, and n's operands changed to say
 * so; then n is inferred anew. */
static tn_status infer(tn_graph *g, tn_node *n)
{
    enum { ROUNDS = 8 };
    for (int round = 0; g->settles && round < ROUNDS; round++) {
        g->assumed.n = 0;
        g->assumes = true;
        tn_status s = n->op->infer(g, n);
        g->assumes = false;
        if (s != TN_OK || !g->assumed.n)
            return s;
        if (!tn_rule_match(g, n))
            break;
    }
    return n->op->infer(g, n); /* which says what is wrong */
}

tn_status tn_infer_node(tn_graph *g, tn_node *n)
{
    TN_TRY(check_inputs(g, n));
    if (!n->op->infer)
        return TN_OK;
    const tn_type **had = TN_NEW_N(g->arena, const tn_type *, n->nout);
    if (n->nout)
        memcpy(had, n->type, n->nout * sizeof *had);
    TN_TRY(infer(g, n));
    /* The layout of a result is what a pass decided, not what a relation says. */
    for (int i = 0; i < n->nout; i++) {
        const tn_type *t = n->type[i];
        if (had[i] && t && had[i]->layout && !t->layout && t->kind == TN_T_TENSOR && had[i]->n == t->n)
            n->type[i] = tn_type_relayout(g->pool, t, had[i]->layout);
    }
    return TN_OK;
}

/* Number of results of a call of op over in[]. */
static int results_of(const tn_op *op, int nin, const tn_value in[], const void *attr)
{
    if (op->nout >= 0)
        return op->nout;
    if (op->nout_of)
        return op->nout_of(attr);
    /* A call yields what its function's region yields, one value if the function is not at hand. */
    const tn_node *f = nin > 0 ? in[0].def : NULL;
    return f && f->op == &tn_op_fn ? (int)f->region[0]->n_result : 1;
}

/* Operands of an operator that computes have extents, and so have arguments for such parameters: tensors of any extent
 * are unboxed. */
static const tn_value *unboxed(tn_graph *g, const tn_op *op, int nin, const tn_value in[])
{
    const tn_type *f = op == &tn_op_call && nin && in[0].def ? tn_value_type(in[0]) : NULL;
    tn_value *out = NULL;
    for (int i = 0; i < nin; i++) {
        const tn_type *t = in[i].def ? tn_value_type(in[i]) : NULL;
        bool bytes = f && f->kind == TN_T_FUNC && f->n == nin ? i > 0 && !tn_type_is_handle(f->field[i - 1])
                                                              : op->fuse != TN_FUSE_NONE;
        if (!bytes || !t || !tn_type_is_handle(t))
            continue;
        if (!out)
            out = tn_arena_copy(g->arena, in, (size_t)nin * sizeof *in, _Alignof(tn_value));
        out[i] = tn_unboxed(g, in[i]);
    }
    return out ? out : in;
}

tn_node *tn_make_call(tn_graph *g, tn_region *r, tn_node *before, const tn_op *op, int nin,
                      const tn_value in[], const void *attr, const tn_loc *loc)
{
    in = unboxed(g, op, nin, in);
    void *defaults = NULL;
    if (!attr && op->attr_size) {
        attr = defaults = tn_arena_alloc(g->arena, op->attr_size, 16);
        if (tn_attr_init(g->pool, op->attr, op->attr_size, defaults) != TN_OK)
            return NULL;
    }
    if (nin > UINT16_MAX) {
        (void)tn_error(g->ctx, "op-E001", loc, "%s: %d operands given; at most %d are supported", op->name,
                       nin, UINT16_MAX);
        return NULL;
    }
    tn_node *n = tn_node_new(g, r, before, op, nin, in, results_of(op, nin, in, attr), attr, loc);
    if (tn_infer_node(g, n) == TN_OK)
        return n;
    tn_node_remove(g, n);
    return NULL;
}

tn_dims tn_make_dims(tn_graph *g, uint32_t n, const int64_t at[])
{
    const tn_expr **e = TN_NEW_N(g->arena, const tn_expr *, n);
    for (uint32_t i = 0; i < n; i++)
        e[i] = tn_idx(g->pool, at[i]);
    return (tn_dims){n, e};
}

/* ---- constants ---- */

tn_node *tn_make_constant(tn_graph *g, tn_region *r, tn_node *before, tn_dtype t, int ndim,
                          const int64_t dim[], const void *data, const char *name)
{
    size_t bytes = tn_dtype_bytes(t);
    for (int i = 0; i < ndim; i++)
        if (dim[i] < 0 || !tn_size_mul(bytes, (size_t)dim[i], &bytes)) {
            (void)tn_error(g->ctx, "op-E015", NULL,
                           "constant %s: dimension %lld is negative or makes it too large", name ? name : "",
                           (long long)dim[i]);
            return NULL;
        }
    void *at;
    tn_blob *blob = tn_graph_blob(g, bytes, &at);
    if (bytes)
        memcpy(at, data, bytes);
    return tn_constant_new(g, r, before, tn_type_tensor_i(g->pool, t, ndim, dim), blob, name);
}

tn_node *tn_make_scalar(tn_graph *g, tn_region *r, tn_node *before, tn_dtype t, double v)
{
    unsigned char data[8] = {0};
    tn_scalar_write(t, data, tn_eval_cast(TN_F64, t, (tn_scalar){.f = v}));
    return tn_make_constant(g, r, before, t, 0, NULL, data, NULL);
}

/* ---- definition ---- */

tn_status tn_define_node(tn_te *te, tn_graph *g, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_op *op = n->op;
    const char *tag = te->tag;
    tn_status s = TN_OK;
    if (op->formula)
        s = tn_define_formula(te, g, n, in, out);
    else if (op->compute)
        op->compute(te, n, in, out);
    else if (op->body)
        op->body(te, n, in, out);
    else
        s = tn_rule_fail(g, n, "op-E017",
                         "it has no tensor expression; expand it into simpler operators first");
    te->tag = tag;
    return s;
}
