/* LoadStrided: lanes that read every second, third or fourth element of an input are picked by shuffles from
 * vectors that are loaded in a row, instead of gathered one by one.
 *
 *   x[ramp(at, 2, 16)]   ->   shuffle(x[at : 16], x[at + 15 : 16], 0:8:2, 17:8:2)
 *
 * The last vector ends at the last lane's element, so nothing is read beyond what the lanes span. A mask that bounds
 * lanes bounds these elements. Other buffers than inputs may have elements in between that nothing has written.
 */
#include "lower/lower_impl.h"

enum { MAX_STRIDE = 4 };

typedef struct {
    tn_func *f;
    const tn_expr *load, *base;
    int lanes, stride;
    const tn_expr *mask;
} strided;

/* The mask of the elements from `start` on; *ok false: the load's mask is not of the kind understood. */
static const tn_expr *mask_from(const strided *s, int start, bool *ok)
{
    tn_pool *p = s->f->pool;
    const tn_expr *term[TN_MAX_TERMS], *mask = NULL, *one = tn_idx(p, 1);
    int n = s->mask ? tn_terms(s->mask, term) : 0;
    uint16_t lanes = (uint16_t)s->lanes;
    for (int i = 0; i < n; i++) {
        const tn_expr *e = term[i];
        if (e->kind == TN_E_SPLAT) {
            mask = tn_both(p, mask, e);
            continue;
        }
        bool bounds = e->kind == TN_E_LT && e->src[0]->kind == TN_E_RAMP &&
                      tn_is_value(e->src[0]->src[1], 1) && e->src[1]->kind == TN_E_SPLAT &&
                      tn_dtype_is_index(e->src[1]->src[0]->dtype);
        if (!bounds) {
            *ok = false;
            return NULL;
        }
        /* lane l is read while a + l < b: elements up to stride * (b - a - 1) */
        const tn_expr *last = tn_sub(p, tn_sub(p, e->src[1]->src[0], e->src[0]->src[0]), one);
        const tn_expr *bound = tn_add(p, tn_mul(p, last, tn_idx(p, s->stride)), one);
        mask = tn_both(p, mask,
                       tn_lt(p, tn_ramp(p, tn_idx(p, start), one, lanes),
                             tn_splat(p, tn_simplify(p, NULL, bound), lanes)));
    }
    return mask ? tn_simplify(p, NULL, mask) : NULL;
}

static const tn_expr *vector_from(const strided *s, int start, bool *ok)
{
    tn_pool *p = s->f->pool;
    const tn_expr *at = tn_simplify(p, NULL, tn_add(p, s->base, tn_int(p, s->base->dtype, start)));
    const tn_expr *mask = mask_from(s, start, ok), *zero = NULL;
    if (mask)
        zero = tn_splat(p, tn_const(p, tn_dtype_lanes(s->load->dtype, 1), 0), (uint16_t)s->lanes);
    return *ok ? tn_load(p, s->load->dtype, s->load->u.load.buffer, 1, &at, mask, zero) : NULL;
}

static const tn_expr *rewrite(tn_pool *p, const tn_expr *e, void *user)
{
    tn_func *f = user;
    int64_t stride;
    if (e->kind != TN_E_LOAD || e->src[0]->kind != TN_E_RAMP || !tn_is_int(e->src[0]->src[1], &stride) ||
        stride < 2 || stride > MAX_STRIDE)
        return NULL;
    const tn_buffer *b = &f->buffer[e->u.load.buffer];
    int lanes = e->dtype.lanes, span = (lanes - 1) * (int)stride + 1;
    if (b->param < 0 || b->written || lanes < 4 || lanes * 2 > TN_MAX_SHUFFLED || e->src[0]->has_load)
        return NULL;
    strided s = {f, e, e->src[0]->src[0], lanes, (int)stride, tn_load_mask(e)};
    bool ok = true;
    const tn_expr *r = NULL;
    for (int k = 0; k < stride && ok; k++) {
        int start = k < stride - 1 ? k * lanes : span - lanes;
        const tn_expr *v = vector_from(&s, start, &ok);
        uint8_t lane[TN_MAX_SHUFFLED];
        for (int l = 0; l < lanes; l++) { /* r holds the lanes of the vectors before */
            int at = l * (int)stride;
            lane[l] = (uint8_t)(at < k * lanes       ? (k == 1 ? at : l)
                                : at < start + lanes ? lanes + at - start
                                                     : l);
        }
        r = k == 0 || !ok ? v : tn_shuffle(p, r, v, lanes, lane);
    }
    return ok && s.mask ? tn_select(p, s.mask, r, tn_load_other(e)) : ok ? r : NULL;
}

static const tn_expr *rewrite_expr(const tn_expr *e, void *user)
{
    tn_func *f = user;
    return e->has_load ? tn_rewrite(f->pool, e, rewrite, f) : e;
}

static bool rewrite_stmt(tn_stmt *s, void *user)
{
    tn_stmt_exprs(s, rewrite_expr, user);
    return true;
}

tn_status tn_lower_strided(tn_func *f, const struct tn_machine *m)
{
    (void)m;
    tn_stmt_walk(&f->body, rewrite_stmt, NULL, f);
    return TN_OK;
}
