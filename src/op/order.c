/* Stable sorting by the digits of keys, least digit first (LSD radix sort): each pass counts the digits, adds up where
 * each digit's entries begin, and moves the entries to the other list. The least key is taken off first, so
 * the number of passes follows from the range of the keys: at most three for 32 bits, none where all are
 * equal. O(n) time, entries are read and written in order but for the moves.
 */
#include "op/order.h"

enum { FEW = 1024, SHORT_DIGIT = 8, LONG_DIGIT = 11 }; /* few entries: short digits, whose counts are fewer */

static tn_dtype key_type(tn_dtype t) { return t.bits > 32 ? TN_DT(TN_UINT, 64) : TN_DT(TN_UINT, 32); }

static const tn_expr *float_key(tn_pool *p, const tn_expr *x)
{
    x = x->dtype.bits < 32 ? tn_cast(p, TN_F32, x) : x;
    tn_dtype k = key_type(x->dtype);
    const tn_expr *sign = tn_int(p, k, 1), *top = tn_int(p, k, k.bits - 1);
    const tn_expr *bits = tn_bitcast(p, k, tn_add(p, x, tn_flt(p, x->dtype, 0))); /* -0 + 0 is 0 */
    const tn_expr *negative =
        tn_sub(p, tn_int(p, k, 0), tn_bin(p, TN_E_SHR, bits, top)); /* all ones or none */
    const tn_expr *flip = tn_bin(p, TN_E_BITOR, negative, tn_bin(p, TN_E_SHL, sign, top));
    return tn_select(p, tn_intrinsic1(p, TN_F_isnan, x), tn_int(p, k, -1),
                     tn_bin(p, TN_E_BITXOR, bits, flip));
}

const tn_expr *tn_order_key(tn_pool *p, const tn_expr *x, bool ascend)
{
    const tn_expr *key;
    tn_dtype k = key_type(x->dtype);
    if (tn_dtype_is_float(x->dtype)) {
        key = float_key(p, x);
    } else {
        key = tn_cast(p, k, x);
        if (x->dtype.code == TN_INT)
            key = tn_bin(p, TN_E_BITXOR, key, tn_bin(p, TN_E_SHL, tn_int(p, k, 1), tn_int(p, k, k.bits - 1)));
    }
    return ascend ? key : tn_bin(p, TN_E_BITXOR, key, tn_int(p, k, -1));
}

static void allocate(tn_order *o, tn_dtype t, const tn_expr *rows)
{
    tn_pool *p = o->c->p;
    const tn_expr *dim[3] = {tn_idx(p, 2), o->capacity, NULL};
    if (rows)
        dim[1] = rows, dim[2] = o->capacity;
    enum tn_scope scope = rows ? TN_SCOPE_GLOBAL : TN_SCOPE_LOCAL;
    o->keys = tn_code_buffer(o->c, "keys", key_type(t), rows ? 3 : 2, dim, scope);
    o->places = tn_code_buffer(o->c, "places", TN_I32, rows ? 3 : 2, dim, scope);
}

tn_order tn_order_open(tn_code *c, tn_dtype t, const tn_expr *rows, const tn_expr *capacity)
{
    tn_order o = {.c = c, .capacity = capacity};
    int64_t known;
    if (!tn_is_int(capacity, &known))
        allocate(&o, t, rows);
    return o;
}

void tn_order_begin(tn_order *o, tn_code *c, const tn_expr *row, tn_dtype t)
{
    int64_t known;
    const tn_expr *counts = tn_idx(c->p, 1 << LONG_DIGIT);
    o->c = c;
    if (tn_is_int(o->capacity, &known))
        allocate(o, t, NULL);
    else
        o->row = row;
    o->count = tn_code_buffer(c, "count", TN_I32, 1, &counts, TN_SCOPE_LOCAL);
}

static const tn_expr *entry(tn_order *o, uint32_t buffer, const tn_expr *list, const tn_expr *at)
{
    const tn_expr *index[3] = {list, o->row ? o->row : at, at};
    return tn_code_load(o->c, buffer, o->row ? 3 : 2, index);
}

const tn_expr *tn_order_at(tn_order *o, const tn_expr *list, const tn_expr *at)
{
    return entry(o, o->keys, list, at);
}

const tn_expr *tn_order_place(tn_order *o, const tn_expr *list, const tn_expr *at)
{
    return tn_cast(o->c->p, TN_IDX, entry(o, o->places, list, at));
}

void tn_order_put(tn_order *o, const tn_expr *list, const tn_expr *at, const tn_expr *key,
                  const tn_expr *place)
{
    const tn_expr *index[3] = {list, o->row ? o->row : at, at};
    int n = o->row ? 3 : 2;
    tn_code_store(o->c, o->keys, n, index, key);
    tn_code_store(o->c, o->places, n, index, tn_cast(o->c->p, TN_I32, place));
}

/* The least key of list 0, and how many bits the keys' distance from it needs. */
static const tn_expr *range(tn_order *o, const tn_expr *n, const tn_expr **out_least)
{
    tn_code *c = o->c;
    tn_pool *p = c->p;
    tn_dtype k = c->f->buffer[o->keys].dtype;
    tn_body *back = c->at;
    const tn_expr *zero = tn_idx(p, 0);
    uint32_t least = tn_code_cell(c, "least", tn_int(p, k, -1)),
             most = tn_code_cell(c, "most", tn_int(p, k, 0));
    const tn_expr *key = tn_code_let(c, "key", tn_order_at(o, zero, tn_code_for(c, "i", n)));
    tn_code_set(c, least, tn_min(p, tn_code_get(c, least), key));
    tn_code_set(c, most, tn_max(p, tn_code_get(c, most), key));
    c->at = back;
    *out_least = tn_code_let(c, "low", tn_code_get(c, least));
    const tn_expr *rest = tn_sub(p, tn_code_get(c, most), *out_least), *bits = zero;
    rest = tn_code_let(c, "range", tn_select(p, tn_lt(p, zero, n), rest, tn_int(p, k, 0)));
    for (int half = k.bits / 2; half > 0; half /= 2) {
        const tn_expr *upper = tn_code_let(c, "upper", tn_bin(p, TN_E_SHR, rest, tn_int(p, k, half)));
        const tn_expr *large = tn_lt(p, tn_int(p, k, 0), upper);
        rest = tn_code_let(c, "rest", tn_select(p, large, upper, rest));
        bits = tn_code_let(c, "bits", tn_add(p, bits, tn_select(p, large, tn_idx(p, half), zero)));
    }
    return tn_code_let(c, "bits", tn_add(p, bits, tn_cast(p, TN_IDX, rest)));
}

typedef struct pass {
    const tn_expr *from, *least, *shift, *mask, *n;
} pass;

static const tn_expr *digit(tn_order *o, const pass *s, const tn_expr *key)
{
    tn_pool *p = o->c->p;
    const tn_expr *d = tn_bin(p, TN_E_SHR, tn_sub(p, key, s->least), s->shift);
    return tn_code_let(o->c, "digit", tn_cast(p, TN_IDX, tn_bin(p, TN_E_BITAND, d, s->mask)));
}

static void one_pass(tn_order *o, const pass *s, const tn_expr *digits)
{
    tn_code *c = o->c;
    tn_pool *p = c->p;
    tn_body *back = c->at;
    const tn_expr *to = tn_sub(p, tn_idx(p, 1), s->from), *none = tn_int(p, TN_I32, 0),
                  *one = tn_int(p, TN_I32, 1);
    const tn_expr *d = tn_code_spread(c, "d", digits);
    tn_code_store(c, o->count, 1, &d, none);
    c->at = back;
    d = digit(o, s, tn_order_at(o, s->from, tn_code_for(c, "i", s->n)));
    tn_code_store(c, o->count, 1, &d, tn_add(p, tn_code_load(c, o->count, 1, &d), one));
    c->at = back;
    uint32_t sum = tn_code_cell(c, "sum", none);
    d = tn_code_for(c, "d", digits);
    const tn_expr *here = tn_code_let(c, "here", tn_code_load(c, o->count, 1, &d));
    tn_code_store(c, o->count, 1, &d, tn_code_get(c, sum));
    tn_code_set(c, sum, tn_add(p, tn_code_get(c, sum), here));
    c->at = back;
    const tn_expr *i = tn_code_for(c, "i", s->n), *key = tn_code_let(c, "key", tn_order_at(o, s->from, i));
    d = digit(o, s, key);
    const tn_expr *at = tn_code_let(c, "at", tn_code_load(c, o->count, 1, &d));
    tn_code_store(c, o->count, 1, &d, tn_add(p, at, one));
    tn_order_put(o, to, tn_cast(p, TN_IDX, at), key, tn_order_place(o, s->from, i));
    c->at = back;
}

const tn_expr *tn_order_sort(tn_order *o, const tn_expr *n)
{
    tn_code *c = o->c;
    tn_pool *p = c->p;
    tn_body *back = c->at;
    tn_dtype k = c->f->buffer[o->keys].dtype;
    const tn_expr *one = tn_idx(p, 1), *two = tn_idx(p, 2), *ones = tn_int(p, k, 1);
    pass s = {.n = n};
    const tn_expr *bits = range(o, n, &s.least);
    const tn_expr *widest =
        tn_select(p, tn_lt(p, n, tn_idx(p, FEW)), tn_idx(p, SHORT_DIGIT), tn_idx(p, LONG_DIGIT));
    widest = tn_code_let(c, "widest", widest);
    const tn_expr *passes = tn_fdiv(p, tn_sub(p, tn_add(p, bits, widest), one), widest);
    passes = tn_code_let(c, "passes", passes);
    const tn_expr *some = tn_max(p, passes, one),
                  *width = tn_fdiv(p, tn_sub(p, tn_add(p, bits, some), one), some);
    width = tn_code_let(c, "width", width);
    const tn_expr *digits = tn_bin(p, TN_E_SHL, tn_int(p, TN_I64, 1), tn_cast(p, TN_I64, width));
    digits = tn_code_let(c, "digits", tn_cast(p, TN_IDX, digits));
    s.mask = tn_code_let(c, "mask", tn_sub(p, tn_cast(p, k, digits), ones));
    const tn_expr *turn = tn_code_for(c, "pass", passes);
    s.from = tn_code_let(c, "from", tn_fmod(p, turn, two));
    s.shift = tn_code_let(c, "shift", tn_cast(p, k, tn_mul(p, turn, width)));
    one_pass(o, &s, digits);
    c->at = back;
    return tn_code_let(c, "list", tn_fmod(p, passes, two));
}
