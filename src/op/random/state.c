/* random_state: the numbers that NumPy's RandomState(seed) gives, one after the other: models that say a seed get what
 * ONNX's reference implementation gets.
 *
 * MT19937 (Matsumoto and Nishimura 1998), its 624 words made of one by Knuth's recurrence. 53 bits of two words are a
 * number of [0, 1). Normal numbers are made by Marsaglia's polar method: of two of [-1, 1) that lie in the unit circle,
 * the second one first; other pairs are dropped, so how many words a number takes is known only in the run. One task:
 * each word depends on the ones before. */
#include "op/code.h"

#include "op/random/random.h"

#include <string.h>

enum {
    WORDS = 624,
    SHIFT = 397,
    MORE = 64 /* pairs that may be dropped beyond every other one: fewer are, but for 1e-40 */
};

#define U32 TN_DT(TN_UINT, 32)

static tn_status state_infer(tn_graph *g, tn_node *n)
{
    const tn_random_state_attr *a = n->attr;
    const tn_expr *count;
    if (!a->distribution ||
        (strcmp(a->distribution, "uniform") != 0 && strcmp(a->distribution, "normal") != 0))
        return tn_rule_fail(g, n, "op-E007", "unknown distribution \"%s\"; use \"uniform\" or \"normal\"",
                            a->distribution ? a->distribution : "None");
    if (a->seed < 0 || a->seed > UINT32_MAX)
        return tn_rule_fail(g, n, "op-E067", "seed is %lld, but must be in [0, 2^32)", (long long)a->seed);
    TN_TRY(tn_rule_extent(g, n, "count", a->count, &count));
    return tn_rule_result(g, n, 0, TN_F64, 1, &count);
}

/* ---- words ---- */

typedef struct generator {
    tn_code *c;
    uint32_t key; /* WORDS words */
} generator;

static const tn_expr *word(tn_pool *p, uint32_t v) { return tn_int(p, U32, (int64_t)v); }

static const tn_expr *bits(tn_pool *p, enum tn_ek k, const tn_expr *a, uint32_t b)
{
    return tn_bin(p, k, a, word(p, b));
}

static const tn_expr *key_at(const generator *g, const tn_expr *i)
{
    return tn_code_load(g->c, g->key, 1, &i);
}

static void seed(const generator *g, uint32_t first)
{
    tn_pool *p = g->c->p;
    tn_body *outside = g->c->at;
    const tn_expr *zero = tn_idx(p, 0);
    tn_code_store(g->c, g->key, 1, &zero, word(p, first));
    const tn_expr *k = tn_code_for(g->c, "k", tn_idx(p, WORDS - 1)), *at = tn_add(p, k, tn_idx(p, 1));
    const tn_expr *last = tn_code_let(g->c, "last", key_at(g, k));
    const tn_expr *mixed = tn_bin(p, TN_E_BITXOR, last, bits(p, TN_E_SHR, last, 30));
    mixed = tn_add(p, tn_mul(p, mixed, word(p, 1812433253u)), tn_cast(p, U32, tn_cast(p, TN_I64, at)));
    tn_code_store(g->c, g->key, 1, &at, mixed);
    g->c->at = outside;
}

/* The next WORDS words. */
static void twist(const generator *g)
{
    tn_pool *p = g->c->p;
    tn_body *outside = g->c->at;
    const tn_expr *n = tn_idx(p, WORDS), *k = tn_code_for(g->c, "k", n);
    const tn_expr *high = bits(p, TN_E_BITAND, key_at(g, k), 0x80000000u),
                  *low =
                      bits(p, TN_E_BITAND, key_at(g, tn_fmod(p, tn_add(p, k, tn_idx(p, 1)), n)), 0x7fffffffu);
    const tn_expr *y = tn_code_let(g->c, "y", tn_bin(p, TN_E_BITOR, high, low)), *one = word(p, 1);
    const tn_expr *odd = tn_eq(p, bits(p, TN_E_BITAND, y, 1), one);
    const tn_expr *v = tn_bin(p, TN_E_BITXOR, key_at(g, tn_fmod(p, tn_add(p, k, tn_idx(p, SHIFT)), n)),
                              bits(p, TN_E_SHR, y, 1));
    v = tn_bin(p, TN_E_BITXOR, v, tn_select(p, odd, word(p, 0x9908b0dfu), word(p, 0)));
    tn_code_store(g->c, g->key, 1, &k, v);
    g->c->at = outside;
}

static const tn_expr *tempered(const generator *g, const tn_expr *i)
{
    tn_pool *p = g->c->p;
    const tn_expr *y = key_at(g, i);
    y = tn_bin(p, TN_E_BITXOR, y, bits(p, TN_E_SHR, y, 11));
    y = tn_bin(p, TN_E_BITXOR, y, bits(p, TN_E_BITAND, bits(p, TN_E_SHL, y, 7), 0x9d2c5680u));
    y = tn_bin(p, TN_E_BITXOR, y, bits(p, TN_E_BITAND, bits(p, TN_E_SHL, y, 15), 0xefc60000u));
    return tn_bin(p, TN_E_BITXOR, y, bits(p, TN_E_SHR, y, 18));
}

/* The number of [0, 1) of words i and i + 1. */
static const tn_expr *fraction(const generator *g, const tn_expr *i)
{
    tn_pool *p = g->c->p;
    const tn_expr *a = bits(p, TN_E_SHR, tempered(g, i), 5),
                  *b = bits(p, TN_E_SHR, tempered(g, tn_add(p, i, tn_idx(p, 1))), 6);
    const tn_expr *v = tn_mul(p, tn_cast(p, TN_F64, a), tn_flt(p, TN_F64, 67108864.0));
    v = tn_add(p, v, tn_cast(p, TN_F64, b));
    return tn_code_let(g->c, "fraction", tn_mul(p, v, tn_flt(p, TN_F64, 1.0 / 9007199254740992.0)));
}

/* ---- numbers ---- */

static void uniform(const generator *g, const tn_tensor *t)
{
    tn_pool *p = g->c->p;
    const tn_expr *each = tn_idx(p, WORDS / 2),
                  *round = tn_code_for(g->c, "round", tn_ceildiv(p, t->dim[0], WORDS / 2));
    twist(g);
    const tn_expr *j = tn_code_for(g->c, "j", each), *at = tn_add(p, tn_mul(p, round, each), j);
    tn_code_if(g->c, tn_lt(p, at, t->dim[0]));
    tn_code_store(g->c, t->buffer, 1, &at, fraction(g, tn_mul(p, j, tn_idx(p, 2))));
}

static const tn_expr *centred(const generator *g, const tn_expr *i)
{
    tn_pool *p = g->c->p;
    const tn_expr *twice = tn_mul(p, tn_flt(p, TN_F64, 2), fraction(g, i));
    return tn_code_let(g->c, "x", tn_sub(p, twice, tn_flt(p, TN_F64, 1)));
}

static void normal(const generator *g, const tn_tensor *t, uint32_t count)
{
    tn_code *c = g->c;
    tn_pool *p = c->p;
    const tn_expr *n = t->dim[0], *zero = tn_idx(p, 0), *four = tn_idx(p, 4), *one = tn_flt(p, TN_F64, 1);
    const tn_expr *wanted = tn_cast(p, TN_I64, n), *have = tn_code_load(c, count, 1, &zero);
    tn_body *outside = c->at;
    tn_code_store(c, count, 1, &zero, tn_int(p, TN_I64, 0));
    (void)tn_code_for(c, "round", tn_ceildiv(p, tn_add(p, n, tn_idx(p, MORE)), WORDS / 4));
    tn_code_if(c, tn_lt(p, have, wanted));
    twist(g);
    const tn_expr *i = tn_mul(p, tn_code_for(c, "j", tn_idx(p, WORDS / 4)), four);
    tn_code_if(c, tn_lt(p, have, wanted));
    const tn_expr *a = centred(g, i), *b = centred(g, tn_add(p, i, tn_idx(p, 2)));
    const tn_expr *square = tn_code_let(c, "square", tn_add(p, tn_mul(p, a, a), tn_mul(p, b, b)));
    tn_code_if(c, tn_and(p, tn_lt(p, square, one), tn_lt(p, tn_flt(p, TN_F64, 0), square)));
    const tn_expr *log = tn_intrinsic1(p, TN_F_log, square), *minus = tn_flt(p, TN_F64, -2);
    const tn_expr *scale = tn_intrinsic1(p, TN_F_sqrt, tn_bin(p, TN_E_DIV, tn_mul(p, minus, log), square));
    scale = tn_code_let(c, "scale", scale);
    const tn_expr *first = tn_code_let(c, "first", tn_cast(p, TN_IDX, have)),
                  *second = tn_add(p, first, tn_idx(p, 1));
    tn_code_store(c, t->buffer, 1, &first, tn_mul(p, scale, b));
    tn_code_store(c, count, 1, &zero, tn_add(p, tn_cast(p, TN_I64, first), tn_int(p, TN_I64, 2)));
    tn_code_if(c, tn_lt(p, second, n));
    tn_code_store(c, t->buffer, 1, &second, tn_mul(p, scale, a));
    c->at = outside;
    tn_code_check(c, tn_le(p, wanted, have), "no normal numbers were found");
}

static void state_body(tn_te *te, const tn_node *n, tn_tensor *const in[], tn_tensor *out[])
{
    (void)in;
    const tn_random_state_attr *a = n->attr;
    tn_code c = tn_code_open(te, n, 0, "random_state", &out[0]);
    const tn_expr *words = tn_idx(c.p, WORDS), *one = tn_idx(c.p, 1);
    generator g = {&c, tn_code_buffer(&c, "key", U32, 1, &words, TN_SCOPE_GLOBAL)};
    uint32_t count = tn_code_buffer(&c, "count", TN_I64, 1, &one, TN_SCOPE_GLOBAL);
    tn_code_each(&c, 0, NULL, NULL);
    seed(&g, (uint32_t)a->seed);
    if (a->distribution[0] == 'u')
        uniform(&g, out[0]);
    else
        normal(&g, out[0], count);
}

/* clang-format off */
static const tn_attr_field state_fields[] = TN_ATTR_TABLE(tn_random_state_attr, TN_RANDOM_STATE_ATTRS);

const tn_op tn_op_random_state = {
    .name = "random_state", .doc = "The first numbers that NumPy's RandomState(seed) gives.",
    .attr_size = sizeof(tn_random_state_attr), .attr = state_fields,
    .nin = 0, .min_in = 0, .nout = 1, .fuse = TN_FUSE_OPAQUE, .infer = state_infer, .body = state_body,
};
/* clang-format on */
