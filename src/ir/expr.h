#ifndef TN_IR_EXPR_H
#define TN_IR_EXPR_H
/* Interned scalar expressions: immutable, shared, equal (syntactically) means same pointer within a pool.
 *
 * A pool may have a parent: what the parent had when the child began is found there, so that children in
 * parallel threads share expressions without locks while the parent's context is frozen (base/ctx.h). What a
 * parent learns later its children do not see; tn_expr_import takes expressions from a child. Commuting
 * operands are ordered: non-constants by structural hash, then constants; never by id or address. An
 * expression with a load may be moved only where no store intervenes.
 */
#include "ir/dtype.h"

enum tn_ek {
#define EXPR(kind, nsrc, comm, name) TN_E_##kind,
#include "ir/expr.def"
#undef EXPR
    TN_E_COUNT
};

enum tn_intrin {
#define INTRIN(name, n, poly, cost, doc) TN_F_##name,
#define INTRIN_BOOL(name, n, poly, cost, doc) TN_F_##name,
#include "ir/intrin.def"
#undef INTRIN
#undef INTRIN_BOOL
    TN_F_COUNT
};

typedef struct tn_intrin_info {
    const char *name;
    uint8_t nargs, poly, to_bool, cost;
    const char *doc;
} tn_intrin_info;
extern const tn_intrin_info tn_intrins[TN_F_COUNT];
/* Sums of products of bytes; of bytes or bfloat16. Their factors are in int32. */
static inline bool tn_intrin_is_dot4(uint32_t f) { return f >= TN_F_dot4us && f <= TN_F_dot4ss; }
static inline bool tn_intrin_is_dot(uint32_t f) { return tn_intrin_is_dot4(f) || f == TN_F_dot2bf; }
typedef struct tn_ek_info {
    const char *name;
    int8_t nsrc;
    uint8_t commutes;
} tn_ek_info;
extern const tn_ek_info tn_eks[TN_E_COUNT];

typedef union tn_payload {
    int64_t i;         /* INT, VAR */
    double f;          /* FLOAT */
    const char *s;     /* SYM: interned in ctx */
    const char *lanes; /* SHUFFLE: interned in ctx, a byte a lane, lane number + 1 */
    struct {
        uint32_t buffer, n_index;
    } load; /* LOAD */
    struct {
        uint32_t id, reserved0;
    } call; /* CALL: enum tn_intrin */
    uint64_t bits;
} tn_payload;

typedef struct tn_expr tn_expr;
struct tn_expr {
    uint8_t kind; /* enum tn_ek */
    uint8_t nsrc;
    uint8_t has_load; /* this or an operand is a LOAD */
    uint8_t reserved0;
    tn_dtype dtype;
    uint32_t id;   /* dense in its pool; operands have smaller ids */
    uint32_t hash; /* structural, stable across runs */
    tn_payload u;
    const tn_expr *src[];
};

typedef struct tn_pool {
    tn_ctx *ctx;
    tn_arena *arena;
    const struct tn_pool *parent; /* or NULL */
    const tn_expr **slot;         /* hash table, in arena */
    uint32_t n, cap;              /* n: expressions made here; their ids run from first_id */
    uint32_t first_id;            /* those below are the parent's that are seen here */
} tn_pool;

void tn_pool_init(tn_pool *p, tn_ctx *ctx, tn_arena *arena, const tn_pool *parent);

/* The one constructor: interns, orders commuting operands, asserts the kind's dtype rules. No simplification. */
const tn_expr *tn_expr_make(tn_pool *p, enum tn_ek k, tn_dtype t, tn_payload u, int nsrc,
                            const tn_expr *const src[]);
/* The expression of pool p that is equal to e of any pool. Its symbols become p's context's. */
const tn_expr *tn_expr_import(tn_pool *p, const tn_expr *e);
/* The same kind, dtype and payload with other operands (dtype lanes follow the operands). */
const tn_expr *tn_expr_with(tn_pool *p, const tn_expr *e, const tn_expr *const src[]);

/* Builders. Binary ones demand equal dtypes, except that a scalar operand is splat to the other's lanes. They
 * fold constants and identities that hold in every domain (x+0, x*1, x*0 for index), so that what is built
 * reads well. */
const tn_expr *tn_int(tn_pool *p, tn_dtype t, int64_t v);
const tn_expr *tn_idx(tn_pool *p, int64_t v);              /* tn_int(p, TN_IDX, v) */
const tn_expr *tn_flt(tn_pool *p, tn_dtype t, double v);   /* rounded to t */
const tn_expr *tn_const(tn_pool *p, tn_dtype t, double v); /* tn_int or tn_flt as t asks */
const tn_expr *tn_bool(tn_pool *p, bool v);
const tn_expr *tn_sym(tn_pool *p, const char *name);
const tn_expr *tn_var(tn_pool *p, tn_dtype t, uint32_t number);
const tn_expr *tn_bin(tn_pool *p, enum tn_ek k, const tn_expr *a, const tn_expr *b);
static inline const tn_expr *tn_add(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_ADD, a, b);
}
static inline const tn_expr *tn_sub(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_SUB, a, b);
}
static inline const tn_expr *tn_mul(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_MUL, a, b);
}
static inline const tn_expr *tn_fdiv(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_FLOORDIV, a, b);
}
static inline const tn_expr *tn_fmod(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_FLOORMOD, a, b);
}
static inline const tn_expr *tn_min(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_MIN, a, b);
}
static inline const tn_expr *tn_max(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_MAX, a, b);
}
static inline const tn_expr *tn_lt(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_LT, a, b);
}
static inline const tn_expr *tn_le(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_LE, a, b);
}
static inline const tn_expr *tn_eq(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_EQ, a, b);
}
static inline const tn_expr *tn_and(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_AND, a, b);
}
static inline const tn_expr *tn_or(tn_pool *p, const tn_expr *a, const tn_expr *b)
{
    return tn_bin(p, TN_E_OR, a, b);
}
const tn_expr *tn_ceildiv(tn_pool *p, const tn_expr *a, int64_t b); /* floordiv(a + b-1, b) */
const tn_expr *tn_not(tn_pool *p, const tn_expr *a);
const tn_expr *tn_select(tn_pool *p, const tn_expr *c, const tn_expr *a, const tn_expr *b);
const tn_expr *tn_cast(tn_pool *p, tn_dtype t, const tn_expr *a); /* a itself if it has dtype t */
const tn_expr *tn_bitcast(tn_pool *p, tn_dtype t, const tn_expr *a);
const tn_expr *tn_fma(tn_pool *p, const tn_expr *a, const tn_expr *b, const tn_expr *c);
const tn_expr *tn_intrinsic(tn_pool *p, enum tn_intrin f, int n, const tn_expr *const arg[]);
const tn_expr *tn_intrinsic1(tn_pool *p, enum tn_intrin f, const tn_expr *a);
/* t: element dtype, with lanes for a flat vector load. mask and other NULL, or both given. */
const tn_expr *tn_load(tn_pool *p, tn_dtype t, uint32_t buffer, int n_index, const tn_expr *const index[],
                       const tn_expr *mask, const tn_expr *other);
static inline const tn_expr *tn_load_mask(const tn_expr *e)
{
    return e->nsrc > e->u.load.n_index ? e->src[e->u.load.n_index] : NULL;
}
static inline const tn_expr *tn_load_other(const tn_expr *e)
{
    return e->nsrc > e->u.load.n_index ? e->src[e->u.load.n_index + 1] : NULL;
}
const tn_expr *tn_ramp(tn_pool *p, const tn_expr *base, const tn_expr *stride, uint16_t lanes);
const tn_expr *tn_splat(tn_pool *p, const tn_expr *a, uint16_t lanes); /* a itself if lanes is 1 */
enum { TN_MAX_SHUFFLED = 128 };                                        /* lanes of the operands together */
/* n lanes (1: a scalar), lane[i] of those of a and, after them, of b (NULL: of a alone). */
const tn_expr *tn_shuffle(tn_pool *p, const tn_expr *a, const tn_expr *b, int n, const uint8_t lane[]);
/* The same for lanes from, from + step, ... */
const tn_expr *tn_lanes(tn_pool *p, const tn_expr *a, const tn_expr *b, int from, int n, int step);

static inline bool tn_is_int(const tn_expr *e, int64_t *out)
{
    return e->kind == TN_E_INT && (*out = e->u.i, true);
}
/* Is this certainly no NaN? */
static inline bool tn_never_nan(const tn_expr *e)
{
    const tn_expr *x = e->kind == TN_E_SPLAT ? e->src[0] : e;
    return x->kind == TN_E_FLOAT && x->u.f == x->u.f;
}
static inline bool tn_is_value(const tn_expr *e, int64_t v) { return e->kind == TN_E_INT && e->u.i == v; }
/* 0 of any type, all of whose bits are 0 */
static inline bool tn_is_zero(const tn_expr *e)
{
    return (e->kind == TN_E_INT || e->kind == TN_E_FLOAT) && e->u.bits == 0;
}

/* Rewriting: post-order with an explicit stack and a memo by expression, each distinct node once.
 * `rule` sees a node whose operands are already rewritten; NULL means no change. */
typedef const tn_expr *tn_rule(tn_pool *p, const tn_expr *e, void *user);
const tn_expr *tn_rewrite(tn_pool *p, const tn_expr *root, tn_rule *rule, void *user);
/* The same where dtypes change: `rule` makes the new node of every e from its new operands. */
typedef const tn_expr *tn_retype_rule(tn_pool *p, const tn_expr *e, const tn_expr *const src[], void *user);
const tn_expr *tn_retype(tn_pool *p, const tn_expr *root, tn_retype_rule *rule, void *user);
struct tn_map;
/* Replaces what the memo (expression id -> tn_map_key of an expression) names, without looking into it, and
 * notes in it what each node under root became. */
const tn_expr *tn_rewrite_memo(tn_pool *p, const tn_expr *root, struct tn_map *memo);
/* Replaces expressions, most often variables and symbols: (from[i] -> to[i]), without looking into what is replaced.
 * Rebuilds through the builders. */
const tn_expr *tn_subst(tn_pool *p, const tn_expr *e, int n, const tn_expr *const from[],
                        const tn_expr *const to[]);
/* Rebuilds one node with new operands through the builders (so constants fold). */
const tn_expr *tn_rebuild(tn_pool *p, const tn_expr *e, const tn_expr *const src[]);
/* Visits every distinct node once, operands first; return false to stop. */
bool tn_each(const tn_expr *root, bool (*fn)(const tn_expr *e, void *user), void *user);
bool tn_uses(const tn_expr *e, const tn_expr *leaf); /* leaf occurs in e */

/* One constant-folding step on operands that are all INT/FLOAT constants (SPLAT of one included); NULL if it cannot
 * (division by zero, index overflow, non-constant). The interpreter uses the same arithmetic (ir/eval.h). */
const tn_expr *tn_fold(tn_pool *p, enum tn_ek k, tn_dtype t, tn_payload u, int nsrc,
                       const tn_expr *const src[]);

/* Text. Infix for + - * == != < <= and or; floordiv of index prints `a/b`, floormod `a%b`, ceildiv(a, b) as such;
 * other kinds as mnemonic(args). Names of variables and buffers come from `names`. */
typedef struct tn_names {
    const char *(*var)(void *user, uint32_t number);    /* never NULL */
    const char *(*buffer)(void *user, uint32_t number); /* never NULL */
    void *user;
    bool (*alias)(void *user, const tn_expr *e,
                  uint32_t *out_number); /* true: e prints as %number; NULL: none does */
} tn_names;
void tn_expr_print(const tn_expr *e, const tn_names *names, tn_buf *out); /* names may be NULL: v3, b1 */
void tn_expr_print_brief(const tn_expr *e, const tn_names *names,
                         tn_buf *out); /* a long text ends in `...` */

#endif
