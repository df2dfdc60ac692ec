/* Elementwise operators: every row of elementwise.def is a record whose definition is its formula.
 *
 * The formula is read by the expression parser once per use, with a, b, c standing for the operands' elements
 * and the attributes' names for their values. What dtypes a row takes is not written down anywhere: it
 * follows from the formula (scan_node), and so does the dtype of the result.
 */
#include "op/rule.h"

#include "op/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* ---- reading formulas ---- */

typedef struct names {
    tn_pool *pool;
    const tn_node *node;
    tn_dtype t;
    const tn_expr *const *operand;
} names;

static const tn_expr *resolve(void *user, const char *name)
{
    const names *s = user;
    const tn_op *op = s->node->op;
    if (name[0] >= 'a' && name[0] < 'a' + op->nin && name[1] == 0)
        return s->operand[name[0] - 'a'];
    for (const tn_attr_field *f = op->attr; f && f->name; f++)
        if (strcmp(f->name, name) == 0 && f->kind == TN_A_F64) {
            double v;
            memcpy(&v, (const char *)s->node->attr + f->offset, sizeof v);
            return tn_const(s->pool, s->t, v);
        }
    return NULL;
}

/* The formula over operands; t: dtype of literals and attributes. */
static const tn_expr *read_formula(tn_ctx *ctx, tn_pool *pool, const tn_node *n, tn_dtype t,
                                   const tn_expr *const operand[])
{
    names s = {pool, n, t, operand};
    const tn_expr *e = NULL;
    tn_lexer l;
    tn_lex_init(&l, ctx, "formula", n->op->formula, strlen(n->op->formula), false);
    tn_status st = tn_expr_parse(&l, pool, &(tn_scope_fns){.name = resolve, .user = &s}, t, &e);
    TN_ASSERT(st == TN_OK && l.tok == TN_TOK_END);
    return e;
}

const tn_expr *tn_read_formula(tn_graph *g, const tn_node *n, tn_dtype t, const tn_expr *const operand[])
{
    return read_formula(g->ctx, g->pool, n, t, operand);
}

/* ---- what a formula takes ---- */

typedef struct demands {
    bool logic, is_float, is_int, number;
} demands;

/* select's condition, as the first operand, is not of the dtype of the others. */
static bool has_condition(const tn_op *op) { return strncmp(op->formula, "select(a,", 9) == 0; }

static bool is_logic(const tn_op *op)
{
    return strstr(op->formula, "not ") || strstr(op->formula, " and ") || strstr(op->formula, " or ");
}

static bool is_bitwise(const tn_op *op) { return strncmp(op->formula, "bit", 3) == 0; }

/* A literal with a point cannot be read as an integer. */
static bool has_point(const tn_op *op) { return strchr(op->formula, '.') != NULL; }

static bool scan_node(const tn_expr *e, void *user)
{
    demands *d = user;
    if (e->kind == TN_E_CALL)
        d->is_float |= e->u.call.id != TN_F_abs;
    if (e->kind == TN_E_FLOAT)
        d->is_float |=
            !(e->u.f == floor(e->u.f)); /* a fraction (or NaN) is no integer; infinities saturate */
    if (e->kind != TN_E_VAR && e->kind != TN_E_SELECT && e->kind != TN_E_EQ && e->kind != TN_E_NE)
        d->number = true;
    return true;
}

/* Calls fn for each node of the formula over floats, but not if it is of bits or truth values. */
static void each_node(tn_graph *g, const tn_node *n, bool (*fn)(const tn_expr *e, void *user), void *user)
{
    const tn_expr *operand[3];
    if (is_logic(n->op) || is_bitwise(n->op))
        return;
    for (int i = 0; i < n->nin; i++)
        operand[i] = tn_var(g->pool, i == 0 && has_condition(n->op) ? TN_BOOL1 : TN_F32, (uint32_t)i);
    tn_each(read_formula(g->ctx, g->pool, n, TN_F32, operand), fn, user);
}

static void read_demands(tn_graph *g, const tn_node *n, demands *d)
{
    *d = (demands){.logic = is_logic(n->op), .is_float = has_point(n->op), .is_int = is_bitwise(n->op)};
    each_node(g, n, scan_node, d);
}

/* ---- precision ---- */

/* Intrinsic functions whose result has no more digits than their argument lose none in a narrow type. */
static bool scan_digits(const tn_expr *e, void *user)
{
    bool *plain = user;
    if (e->kind == TN_E_CALL)
        *plain &= e->u.call.id == TN_F_abs || e->u.call.id == TN_F_floor || e->u.call.id == TN_F_ceil ||
                  e->u.call.id == TN_F_trunc || e->u.call.id == TN_F_round;
    return *plain;
}

enum tn_precision tn_precision_of(tn_graph *g, const tn_node *n)
{
    bool plain = n->op->formula != NULL;
    if (n->op->precision != TN_PRECISION_AUTO)
        return n->op->precision;
    if (plain)
        each_node(g, n, scan_digits, &plain);
    return plain || (n->op->flags & TN_OP_INDEX_MAP) ? TN_PRECISION_FOLLOW : TN_PRECISION_KEEP;
}

static tn_status check_dtype(tn_graph *g, const tn_node *n, int i, bool is_condition, const demands *d)
{
    tn_dtype t = tn_in_type(n, i)->dtype;
    if (is_condition || d->logic) {
        if (!tn_dtype_is_bool(t))
            return tn_rule_fail(g, n, "op-E011", "%s must be bool, but is %s; compare or cast it",
                                tn_rule_in_name(g, n, i), tn_rule_dtype_text(g, t));
        return TN_OK;
    }
    if (d->is_float)
        return tn_rule_float(g, n, i);
    if (d->is_int && !tn_dtype_is_int(t))
        return tn_rule_fail(g, n, "op-E011", "%s must be a tensor of integers, but is %s; cast it",
                            tn_rule_in_name(g, n, i), tn_rule_dtype_text(g, t));
    return d->number ? tn_rule_number(g, n, i) : TN_OK;
}

/* ---- type relation ---- */

static tn_status formula_infer(tn_graph *g, tn_node *n)
{
    int first = has_condition(n->op) ? 1 : 0; /* operands [first, nin) have one dtype */
    const tn_expr *operand[3];
    const tn_type *type = NULL, *t;
    demands d;
    read_demands(g, n, &d);
    for (int i = 0; i < n->nin; i++) {
        TN_TRY(tn_rule_tensor(g, n, i, -1, &t));
        TN_TRY(check_dtype(g, n, i, i < first, &d));
        operand[i] = tn_var(g->pool, t->dtype, (uint32_t)i);
    }
    tn_dtype common = tn_in_type(n, first)->dtype;
    for (int i = first + 1; i < n->nin; i++)
        if (!tn_dtype_eq(tn_in_type(n, i)->dtype, common))
            return tn_rule_fail(g, n, "op-E004", "%s is %s but %s is %s; cast one of them",
                                tn_rule_in_name(g, n, first), tn_rule_dtype_text(g, common),
                                tn_rule_in_name(g, n, i), tn_rule_dtype_text(g, tn_in_type(n, i)->dtype));
    tn_dtype result = read_formula(g->ctx, g->pool, n, common, operand)->dtype;
    type = tn_in_type(n, 0);
    for (int i = 1; i < n->nin; i++)
        TN_TRY(tn_infer_broadcast(g, n, type, tn_in_type(n, i), result, &type));
    return tn_rule_result(g, n, 0, result, type->n, type->dim);
}

/* ---- tensor expression ---- */

/* "nn.relu" is the tensor "relu". */
static const char *short_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool count_roundings(const tn_expr *e, void *user)
{
    int *n = user;
    *n += e->kind == TN_E_ADD || e->kind == TN_E_SUB || e->kind == TN_E_MUL || e->kind == TN_E_DIV ||
          (e->kind == TN_E_CALL && e->u.call.id != TN_F_abs);
    return true;
}

/* The formula over operands of 16-bit floats: in float32, rounded once, unless it rounds once at most anyway. */
static const tn_expr *formula_of_half(tn_te *te, tn_graph *g, const tn_node *n, tn_dtype t,
                                      const tn_expr *operand[])
{
    int roundings = 0;
    const tn_expr *e = read_formula(g->ctx, te->pool, n, t, operand), *wide[3];
    tn_each(e, count_roundings, &roundings);
    if (roundings + (n->op->attr != NULL) < 2)
        return e;
    for (int i = 0; i < n->nin; i++)
        wide[i] = tn_dtype_eq(operand[i]->dtype, t) ? tn_cast(te->pool, TN_F32, operand[i]) : operand[i];
    return tn_cast(te->pool, n->type[0]->dtype, read_formula(g->ctx, te->pool, n, TN_F32, wide));
}

tn_status tn_define_formula(tn_te *te, tn_graph *g, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    const tn_expr *operand[3];
    tn_tensor *t = out[0] = tn_rule_out(te, n, 0, short_name(n->op->name), "elementwise", NULL);
    for (int i = 0; i < n->nin; i++)
        operand[i] = tn_rule_at_broadcast(te, in[i], t);
    tn_dtype type = in[n->nin - 1]->dtype;
    bool half = tn_dtype_is_small(type);
    tn_te_define(te, t,
                 half ? formula_of_half(te, g, n, type, operand)
                      : read_formula(g->ctx, te->pool, n, type, operand));
    return TN_OK;
}

/* ---- shape arithmetic: + - * / min max of integers ---- */

static bool formula_shape_value(tn_graph *g, const tn_node *n, const tn_dims in[], tn_dims out[])
{
    static const char *const known[] = {"a + b", "a - b", "a * b", "a / b", "max(a, b)", "min(a, b)"};
    const tn_expr *operand[] = {tn_var(g->pool, TN_IDX, 0), tn_var(g->pool, TN_IDX, 1)};
    bool here = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        here |= strcmp(n->op->formula, known[i]) == 0;
    return here &&
           tn_rule_pair_value(g, n, in, read_formula(g->ctx, g->pool, n, TN_IDX, operand), operand, out);
}

/* ---- attribute tables; a row names one ---- */

#define none_fields NULL
enum {
    none_size = 0,
    alpha_size = sizeof(tn_alpha_attr),
    slope_size = sizeof(tn_alpha_attr),
    clip_size = sizeof(tn_clip_attr),
    alphabeta_size = sizeof(tn_alphabeta_attr),
    selu_size = sizeof(tn_selu_attr),
    shrink_size = sizeof(tn_shrink_attr)
};

/* clang-format off */
static const tn_attr_field alpha_fields[] = TN_ATTR_TABLE(tn_alpha_attr, TN_ALPHA_ATTRS);
static const tn_attr_field slope_fields[] = TN_ATTR_TABLE(tn_alpha_attr, TN_SLOPE_ATTRS);
static const tn_attr_field clip_fields[] = TN_ATTR_TABLE(tn_clip_attr, TN_CLIP_ATTRS);
static const tn_attr_field alphabeta_fields[] = TN_ATTR_TABLE(tn_alphabeta_attr, TN_ALPHABETA_ATTRS);

static const tn_attr_field selu_fields[] = TN_ATTR_TABLE(tn_selu_attr, TN_SELU_ATTRS);
static const tn_attr_field shrink_fields[] = TN_ATTR_TABLE(tn_shrink_attr, TN_SHRINK_ATTRS);

#define ELEMWISE(id, relay, operands, attrs, text, says) \
    const tn_op tn_op_##id = { \
        .name = relay, .doc = says, .attr_size = attrs##_size, .attr = attrs##_fields, \
        .nin = operands, .min_in = operands, .nout = 1, \
        .flags = ((operands) == 2 ? TN_OP_HOST_INDEX : 0) | TN_OP_BROADCASTS, \
        .fuse = (operands) == 1 ? TN_FUSE_ELEMWISE : TN_FUSE_BROADCAST, \
        .infer = formula_infer, .layout = tn_layout_same, .formula = text, \
        .simplify = tn_simplify_formula, .scale = tn_scale_formula, .permute = tn_permute_elementwise, \
        .shape_value = (operands) == 2 ? formula_shape_value : NULL, \
    };
/* clang-format on */
#include "op/tensor/elementwise.def"
#undef ELEMWISE
