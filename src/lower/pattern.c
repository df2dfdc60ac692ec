/* Loads whose lanes read elements a constant way apart, but not evenly (those: LoadStrided): pairs with gaps, each
 * element twice, backwards. Where they lie in at most two vectors' widths, they are one or two contiguous loads between
 * the first and the last of them, and a shuffle; so nothing outside is touched. Elements in between are read of inputs
 * alone: in other buffers nothing may have written them. Else they stay a gather. */
#include "lower/lower_impl.h"

enum { MAX_LANES = 64 };

typedef struct {
    tn_pool *p;
    const tn_facts *facts;
    const tn_expr *var;
    int lanes;
    bool active[MAX_LANES];
    int64_t at[MAX_LANES]; /* of active lanes, relative to that of lane `first` */
    int first;             /* active lane of the least offset */
    int64_t width;         /* from the least offset to the largest, both counted */
} pattern;

static const tn_expr *for_lane(const pattern *x, const tn_expr *e, int lane)
{
    const tn_expr *value = tn_idx(x->p, lane);
    return tn_simplify(x->p, x->facts, tn_subst(x->p, e, 1, &x->var, &value));
}

/* Which lanes load; false: not known. */
static bool find_active(pattern *x, const tn_expr *mask)
{
    x->first = -1;
    for (int l = 0; l < x->lanes; l++) {
        int known = mask ? tn_prove(x->p, x->facts, for_lane(x, mask, l)) : 1;
        if (known < 0)
            return false;
        x->active[l] = known;
        x->first = x->first < 0 && known ? l : x->first;
    }
    return x->first >= 0;
}

static bool find_offsets(pattern *x, const tn_expr *index)
{
    const tn_expr *coef, *rest, *base = for_lane(x, index, x->first);
    int64_t least = 0, most = 0, step = 0;
    bool linear = tn_linear(x->p, NULL, index, x->var, &coef, &rest) && tn_is_int(coef, &step);
    if (linear && x->lanes > 2 && step != -1)
        return false;
    for (int l = 0, from = x->first; l < x->lanes; l++) {
        if (!x->active[l])
            continue;
        if (linear)
            x->at[l] = (l - from) * step;
        else if (!tn_is_int(tn_simplify(x->p, x->facts, tn_sub(x->p, for_lane(x, index, l), base)),
                            &x->at[l]))
            return false;
        x->first = x->at[l] < least ? l : x->first;
        least = x->at[l] < least ? x->at[l] : least;
        most = x->at[l] > most ? x->at[l] : most;
        if (most - least >= 2 * x->lanes)
            return false;
    }
    for (int l = 0; l < x->lanes; l++)
        x->at[l] -= x->active[l] ? least : 0;
    x->width = most - least + 1;
    return x->width >= 2;
}

/* Is every element between the first and the last one read? */
static bool without_gaps(const pattern *x)
{
    bool read[2 * MAX_LANES] = {false};
    bool all = true;
    for (int l = 0; l < x->lanes; l++)
        if (x->active[l])
            read[x->at[l]] = true;
    for (int64_t i = 0; i < x->width; i++)
        all = all && read[i];
    return all;
}

const tn_expr *tn_pattern_load(tn_func *f, const tn_facts *facts, const tn_expr *load, const tn_expr *var,
                               int lanes)
{
    tn_pool *p = f->pool;
    const tn_expr *mask = tn_load_mask(load), *index = load->src[0], *part[2] = {NULL, NULL};
    const tn_buffer *b = &f->buffer[load->u.load.buffer];
    bool input = b->param >= 0 && !b->written;
    pattern x = {.p = p, .facts = facts, .var = var, .lanes = lanes};
    uint8_t lane[MAX_LANES];
    if (lanes > MAX_LANES || index->has_load || (mask && mask->has_load) || load->dtype.lanes > 1 ||
        b->scope == TN_SCOPE_REGISTER || !find_active(&x, mask) || !find_offsets(&x, index) ||
        !(input || without_gaps(&x)))
        return NULL;
    int64_t wide = 2;
    while (2 * wide <= x.width && 2 * wide <= lanes)
        wide *= 2;
    const tn_expr *base = for_lane(&x, index, x.first);
    for (int i = 0; i < (x.width > wide ? 2 : 1); i++) {
        const tn_expr *at = i ? tn_simplify(p, facts, tn_add(p, base, tn_idx(p, x.width - wide))) : base;
        part[i] =
            tn_load(p, tn_dtype_lanes(load->dtype, (uint16_t)wide), load->u.load.buffer, 1, &at, NULL, NULL);
    }
    for (int l = 0; l < lanes; l++) {
        int64_t at = x.active[l] ? x.at[l] : 0;
        lane[l] = (uint8_t)(at < wide ? at : at + 2 * wide - x.width);
    }
    return tn_shuffle(p, part[0], part[1], lanes, lane);
}
