/* Layout rules that several records use, and the questions all of them ask. */
#include "op/rule.h"

#include "machine/machine.h"

const tn_layout *tn_rule_layout(tn_graph *g, const char *fmt, ...)
{
    const tn_layout *l = NULL;
    va_list ap;
    va_start(ap, fmt);
    const char *text = tn_arena_vprintf(g->arena, fmt, ap);
    va_end(ap);
    tn_status s = tn_layout_parse(g->ctx, text, NULL, &l);
    TN_ASSERT(s == TN_OK);
    return l;
}

/* Does the layout add cells to a tensor of this type? */
static bool pads(const tn_layout *l, const tn_type *t)
{
    for (int d = 0; d < t->n; d++) {
        int64_t n, block = 1;
        for (int a = 0; a < l->naxis; a++)
            if (l->axis[a].dim == d && l->axis[a].factor > 0)
                block *= l->axis[a].factor;
        if (tn_is_int(t->dim[d], &n) && n % block)
            return true;
    }
    return false;
}

const tn_layout *tn_rule_weight_layout(const tn_layout_query *q, int i, const char *fmt, ...)
{
    const tn_node *w = tn_in(q->node, i).def;
    va_list ap;
    va_start(ap, fmt);
    const char *text = tn_arena_vprintf(q->g->arena, fmt, ap);
    va_end(ap);
    const tn_layout *l = tn_rule_layout(q->g, "%s", text);
    bool fills = tn_op_is(w, &tn_op_constant) && w->blob && pads(l, tn_in_type(q->node, i));
    return fills ? tn_rule_layout(q->g, "%s{fill=0}", text) : l;
}

uint32_t tn_rule_channel_block(const tn_layout *l)
{
    static const uint8_t dim[] = {0, 1, 2, 3, 1};
    if (!l || l->ndim != 4 || l->naxis != 5)
        return 0;
    for (int i = 0; i < 5; i++)
        if (l->axis[i].dim != dim[i] || (l->axis[i].factor != 0) != (i == 4))
            return 0;
    return l->axis[4].factor;
}

static bool is_blocked(const tn_layout *l, int dim)
{
    for (int i = 0; l && i < l->naxis; i++)
        if (l->axis[i].dim == dim && l->axis[i].factor)
            return true;
    return false;
}

/* Can an operand have layout l of the result of a broadcast, and is it likely to have its elements? Extents that only
 * the run compares are likely to be equal; in blocks they must be known to be. */
static bool covers(const tn_type *in, const tn_type *out, const tn_layout *l)
{
    if (in->n != out->n)
        return false;
    for (int i = 0; i < in->n; i++)
        if (in->dim[i] != out->dim[i] && (tn_is_value(in->dim[i], 1) || is_blocked(l, i)))
            return false;
    return true;
}

void tn_layout_same(tn_layout_query *q)
{
    const tn_type *out = q->node->type[0];
    const tn_layout *l = NULL;
    for (int i = 0; i < q->node->nin && !l; i++)
        if (covers(tn_in_type(q->node, i), out, q->in[i]))
            l = q->in[i];
    for (int i = 0; i < q->node->nin; i++)
        q->in[i] = covers(tn_in_type(q->node, i), out, l) ? l : NULL;
    q->out[0] = l;
}

bool tn_rule_permutes(const tn_layout *l)
{
    for (int i = 0; l && i < l->naxis; i++)
        if (l->axis[i].factor)
            return false;
    return l && l->naxis == l->ndim;
}

void tn_layout_unmoved(tn_layout_query *q, const bool moved[])
{
    const tn_layout *l = q->in[0];
    bool keep = l && l->fill == TN_FILL_ANY;
    for (int i = 0; keep && i < l->naxis; i++)
        keep = !l->axis[i].factor || !moved[l->axis[i].dim];
    for (int i = 0; i < q->node->nin; i++)
        q->in[i] = keep && i == 0 ? l : NULL;
    q->out[0] = q->in[0];
}

void tn_layout_channel_block(tn_layout_query *q)
{
    if (!tn_rule_channel_block(q->in[0]) && !tn_rule_permutes(q->in[0]))
        q->in[0] = NULL;
    q->out[0] = q->in[0];
}

const tn_unit_row *tn_rule_unit(const tn_layout_query *q, enum tn_unit_kind kind)
{
    const tn_node *n = q->node;
    tn_dtype x = tn_in_type(n, 0)->dtype, w = tn_in_type(n, 1)->dtype;
    tn_dtype sum =
        tn_dtype_is_small(n->type[0]->dtype) ? TN_F32 : n->type[0]->dtype; /* te adds these up wide */
    return tn_unit_here(kind, x, w, sum, 0, q->machine, tn_machine_given);
}
