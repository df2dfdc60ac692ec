#ifndef TN_TESTS_TIR_RANDOM_H
#define TN_TESTS_TIR_RANDOM_H
/* Random functions of the block stage: legal, small, mostly within bounds. */
#include "base/rng.h"
#include "tir_fixture.h"

typedef struct random_func {
    tn_rng rng;
    tn_func *f;
    const tn_expr *var[64], *extent[64]; /* visible index variables; extent of loop variables, else NULL */
    tn_stmt *loop[64];
    int n_var, n_block;
    uint32_t buffer[8];
    int n_buffer;
    bool written[8];
} random_func;

static inline int pick(random_func *r, int n) { return (int)tn_rng_below(&r->rng, (uint64_t)n); }

static inline const tn_expr *random_bool(random_func *r, int depth);
static inline const tn_expr *random_value(random_func *r, tn_dtype t, int depth);

static inline const tn_expr *random_index(random_func *r, int depth)
{
    tn_pool *p = r->f->pool;
    const tn_expr *a, *b;
    if (depth <= 0 || pick(r, 4) == 0) {
        switch (pick(r, 4)) {
        case 0: return tn_idx(p, pick(r, 9) - 2);
        case 1: return tn_sym(p, pick(r, 3) ? "n" : "m");
        default: return r->n_var ? r->var[pick(r, r->n_var)] : tn_idx(p, 3);
        }
    }
    a = random_index(r, depth - 1);
    b = random_index(r, depth - 1);
    switch (pick(r, 11)) {
    case 0:
    case 1: return tn_add(p, a, b);
    case 2: return tn_sub(p, a, b);
    case 3: return tn_mul(p, a, tn_idx(p, pick(r, 7) - 1));
    case 4: return tn_fdiv(p, a, tn_idx(p, 1 + pick(r, 8)));
    case 5: return tn_fmod(p, a, tn_idx(p, 1 + pick(r, 8)));
    case 6: return tn_bin(p, pick(r, 2) ? TN_E_TRUNCDIV : TN_E_TRUNCMOD, a, tn_idx(p, pick(r, 2) ? 3 : -3));
    case 7: return tn_min(p, a, b);
    case 8: return tn_max(p, a, b);
    case 9: return tn_select(p, random_bool(r, depth - 1), a, b);
    default: return tn_cast(p, TN_IDX, random_value(r, TN_I32, depth - 1));
    }
}

static inline const tn_expr *random_bool(random_func *r, int depth)
{
    static const enum tn_ek cmp[] = {TN_E_EQ, TN_E_NE, TN_E_LT, TN_E_LE};
    tn_pool *p = r->f->pool;
    switch (depth > 0 ? pick(r, 6) : 5) {
    case 0: return tn_and(p, random_bool(r, depth - 1), random_bool(r, depth - 1));
    case 1: return tn_bin(p, TN_E_OR, random_bool(r, depth - 1), random_bool(r, depth - 1));
    case 2: return tn_not(p, random_bool(r, depth - 1));
    case 3:
        return tn_bin(p, cmp[pick(r, 4)], random_value(r, TN_F32, depth - 1),
                      random_value(r, TN_F32, depth - 1));
    case 4:
        return tn_bin(p, cmp[pick(r, 4)], random_value(r, TN_I32, depth - 1),
                      random_value(r, TN_I32, depth - 1));
    default: return tn_bin(p, cmp[pick(r, 4)], random_index(r, depth - 1), random_index(r, depth - 1));
    }
}

/* Indices of an access to b: nearly always inside. */
static inline int random_access(random_func *r, uint32_t b, int depth, const tn_expr *out[8])
{
    tn_pool *p = r->f->pool;
    const tn_buffer *buf = &r->f->buffer[b];
    for (uint32_t d = 0; d < buf->ndim; d++) {
        out[d] = random_index(r, depth);
        if (pick(r, 200))
            out[d] = tn_bin(p, TN_E_FLOORMOD, out[d], buf->dim[d]);
    }
    return buf->ndim;
}

static inline const tn_expr *random_load(random_func *r, tn_dtype t, int depth)
{
    const tn_expr *index[8], *mask = NULL, *other = NULL;
    uint32_t b[8];
    int n = 0;
    for (int i = 0; i < r->n_buffer; i++)
        if (tn_dtype_eq(r->f->buffer[r->buffer[i]].dtype, t) && r->written[i])
            b[n++] = r->buffer[i];
    if (n == 0)
        return tn_const(r->f->pool, t, 2);
    b[0] = b[pick(r, n)];
    if (pick(r, 6) == 0) {
        mask = random_bool(r, depth - 1);
        other = random_value(r, t, depth - 1);
    }
    n = random_access(r, b[0], depth - 1, index);
    return tn_load(r->f->pool, t, b[0], n, index, mask, other);
}

static inline const tn_expr *random_float(random_func *r, tn_dtype t, int depth)
{
    tn_pool *p = r->f->pool;
    const tn_expr *a = random_value(r, t, depth - 1), *b = random_value(r, t, depth - 1);
    switch (pick(r, 12)) {
    case 0:
    case 1: return tn_add(p, a, tn_mul(p, b, random_value(r, t, depth - 1)));
    case 2: return tn_sub(p, a, b);
    case 3: return tn_mul(p, a, b);
    case 4: return tn_bin(p, TN_E_DIV, a, b);
    case 5: return tn_min(p, a, b);
    case 6: return tn_max(p, a, b);
    case 7: return tn_fma(p, a, b, random_value(r, t, depth - 1));
    case 8: return tn_select(p, random_bool(r, depth - 1), a, b);
    case 9: return tn_cast(p, t, random_value(r, TN_I32, depth - 1));
    case 10: return tn_intrinsic1(p, pick(r, 2) ? TN_F_sqrt : TN_F_floor, a);
    default: return t.bits == 32 ? tn_bitcast(p, t, random_value(r, TN_I32, depth - 1)) : a;
    }
}

static inline const tn_expr *random_int(random_func *r, tn_dtype t, int depth)
{
    static const enum tn_ek bin[] = {TN_E_ADD, TN_E_SUB,    TN_E_MUL,   TN_E_MIN,
                                     TN_E_MAX, TN_E_BITAND, TN_E_BITOR, TN_E_BITXOR};
    static const enum tn_ek by[] = {TN_E_FLOORDIV, TN_E_FLOORMOD, TN_E_TRUNCDIV,
                                    TN_E_TRUNCMOD, TN_E_SHL,      TN_E_SHR};
    static const int64_t divisor[] = {1, 2, 3, 4, 7, -3};
    tn_pool *p = r->f->pool;
    const tn_expr *a = random_value(r, t, depth - 1), *b = random_value(r, t, depth - 1);
    int k = pick(r, 6);
    switch (pick(r, 6)) {
    case 0:
    case 1: return tn_bin(p, bin[pick(r, 8)], a, b);
    case 2: return tn_bin(p, by[k], a, k < 4 ? tn_int(p, t, divisor[pick(r, 6)]) : tn_int(p, t, pick(r, 8)));
    case 3: return tn_select(p, random_bool(r, depth - 1), a, b);
    case 4:
        return tn_cast(p, t, pick(r, 2) ? random_index(r, depth - 1) : random_value(r, TN_F32, depth - 1));
    default: return tn_cast(p, t, random_value(r, t.bits == 8 ? TN_I32 : TN_DT(TN_INT, 8), depth - 1));
    }
}

static inline const tn_expr *random_value(random_func *r, tn_dtype t, int depth)
{
    if (depth <= 0 || pick(r, 5) == 0)
        return pick(r, 2) ? random_load(r, t, depth)
                          : tn_const(r->f->pool, t, pick(r, 200) - 100 + (double)pick(r, 4) / 4);
    return tn_dtype_is_float(t) ? random_float(r, t, depth) : random_int(r, t, depth);
}

static inline void random_list(random_func *r, tn_body *to, int depth);

static inline void random_store(random_func *r, tn_body *to)
{
    const tn_expr *index[8];
    int i = pick(r, r->n_buffer);
    uint32_t b = r->buffer[i];
    if (r->f->buffer[b].param >= 0 && !r->f->buffer[b].written)
        return;
    int n = random_access(r, b, 2, index);
    tn_dtype t = r->f->buffer[b].dtype;
    tn_body_append(
        to, tn_stmt_store(r->f, b, n, index, random_value(r, t, 3), pick(r, 5) ? NULL : random_bool(r, 1)));
}

/* A declared buffer and a loop that fills it. */
static inline void random_buffer(random_func *r, tn_body *to)
{
    tn_pool *p = r->f->pool;
    static const tn_dtype dt[] = {
        {TN_FLOAT, 32, 1}, {TN_INT, 32, 1}, {TN_INT, 8, 1}, {TN_FLOAT, 16, 1}, {TN_UINT, 8, 1}};
    const tn_expr *dim[2] = {tn_idx(p, 1 + pick(r, 5)), pick(r, 2) ? tn_sym(p, "n") : tn_idx(p, 3)};
    if (r->n_buffer == 8)
        return;
    uint32_t b = tn_func_add_buffer(
        r->f, &(tn_buffer){.name = "t", .dtype = dt[pick(r, 5)], .ndim = 2, .dim = dim, .param = -1});
    tn_body_append(to, tn_stmt_decl(r->f, b));
    tn_stmt *i = tn_stmt_for(r->f, tn_func_add_var(r->f, "i", TN_IDX), dim[0], TN_LOOP_SERIAL);
    tn_stmt *j = tn_stmt_for(r->f, tn_func_add_var(r->f, "j", TN_IDX), dim[1], TN_LOOP_VECTOR);
    tn_body_append(to, i);
    tn_body_append(&i->u.loop.body, j);
    const tn_expr *index[] = {i->u.loop.var, j->u.loop.var};
    if (pick(r, 30)) /* sometimes it stays partly unwritten */
        tn_body_append(&j->u.loop.body,
                       tn_stmt_store(r->f, b, 2, index,
                                     tn_cast(p, r->f->buffer[b].dtype, tn_add(p, index[0], index[1])), NULL));
    r->written[r->n_buffer] = true;
    r->buffer[r->n_buffer++] = b;
}

static inline void random_block(random_func *r, tn_body *to, int depth)
{
    tn_pool *p = r->f->pool;
    static const char *const names[] = {"i", "j", "k"};
    int n = pick(r, 4), n_var = r->n_var;
    tn_stmt *s = tn_stmt_block(r->f, "b", pick(r, 2) ? "tag" : "", n);
    tn_body_append(to, s);
    s->u.block.mask = pick(r, 3) ? NULL : random_bool(r, 1);
    for (int i = 0; i < n; i++) {
        tn_iter *it = &s->u.block.iter[i];
        int k = n_var ? pick(r, n_var) : 0;
        bool plain = n_var && r->extent[k] && pick(r, 3);
        it->value = plain ? r->var[k] : tn_fmod(p, random_index(r, 1), tn_idx(p, 5));
        it->extent = plain ? r->extent[k] : tn_idx(p, pick(r, 10) ? 5 : 4);
        it->kind = pick(r, 2) ? TN_ITER_REDUCE : TN_ITER_SPATIAL;
    }
    for (int i = 0; i < n; i++) {
        const tn_expr *value = s->u.block.iter[i].value;
        const char *name = value->kind == TN_E_VAR && pick(r, 4) ? r->f->var[value->u.i].name : names[i];
        s->u.block.iter[i].var = tn_func_add_var(r->f, name, TN_IDX);
        r->extent[r->n_var] = NULL;
        r->var[r->n_var++] = s->u.block.iter[i].var;
    }
    if (pick(r, 2))
        random_store(r, &s->u.block.init);
    random_list(r, &s->u.block.body, depth - 1);
    r->n_var = n_var;
}

static inline void random_loop(random_func *r, tn_body *to, int depth)
{
    tn_pool *p = r->f->pool;
    static const char *const names[] = {"i", "j", "k", "n_"};
    int kind = pick(r, 5);
    const tn_expr *e = kind == 0   ? tn_sym(p, "n")
                       : kind == 1 ? tn_fmod(p, random_index(r, 1), tn_idx(p, 4))
                                   : tn_idx(p, 1 + pick(r, 5));
    tn_stmt *s = tn_stmt_for(r->f, tn_func_add_var(r->f, names[pick(r, 4)], TN_IDX), e,
                             pick(r, 2) ? TN_LOOP_SERIAL : TN_LOOP_UNROLLED);
    tn_body_append(to, s);
    r->extent[r->n_var] = e;
    r->var[r->n_var++] = s->u.loop.var;
    random_list(r, &s->u.loop.body, depth - 1);
    r->n_var--;
}

static inline void random_stmt(random_func *r, tn_body *to, int depth)
{
    switch (depth > 0 && r->n_var < 50 ? pick(r, 9) : 8) {
    case 0:
    case 1: random_loop(r, to, depth); break;
    case 2:
    case 3: random_block(r, to, depth); break;
    case 4: {
        tn_stmt *s = tn_stmt_if(r->f, random_bool(r, 2));
        tn_body_append(to, s);
        random_list(r, &s->u.cond.then, depth - 1);
        if (pick(r, 2))
            random_list(r, &s->u.cond.other, depth - 1);
        break;
    }
    case 5: {
        const tn_expr *value = random_index(r, 2), *var = tn_func_add_var(r->f, "t", TN_IDX);
        tn_body_append(to, tn_stmt_let(r->f, var, value));
        r->extent[r->n_var] = NULL;
        r->var[r->n_var++] = var;
        break;
    }
    case 6: random_buffer(r, to); break;
    case 7:
        if (!pick(r, 8))
            tn_body_append(to, tn_stmt_check(r->f, random_bool(r, 1), "a \"check\"\n"));
        break;
    default: random_store(r, to); break;
    }
}

static inline void random_list(random_func *r, tn_body *to, int depth)
{
    int n_var = r->n_var, n_buffer = r->n_buffer;
    for (int i = 1 + pick(r, 3); i > 0; i--)
        random_stmt(r, to, depth);
    r->n_var = n_var;
    r->n_buffer = n_buffer;
}

/* Parameters: A f32[n, 5], I i32[7, NK layout none], H f16[4], then outputs C f32[n, m] and D i32[m, 12, AB4b].
 * Symbols n, m in [1, 9]. */
static inline tn_func *random_function(fixture *x, uint64_t seed)
{
    random_func r = {.rng = {seed}};
    tn_pool *p = &x->pool;
    const tn_layout *layout = NULL;
    r.f = tn_func_new(&x->ctx, &x->arena, p, "f");
    tn_func_add_symbol(r.f, "n", 1, 9);
    tn_func_add_symbol(r.f, "m", 1, 9);
    assert_int_equal(tn_layout_parse(&x->ctx, "AB4b", NULL, &layout), TN_OK);
    const tn_expr *n = tn_sym(p, "n"), *m = tn_sym(p, "m");
    const struct {
        const char *name;
        tn_dtype t;
        int ndim;
        const tn_expr *dim[2];
        const tn_layout *layout;
    } row[] = {
        {"A", TN_F32, 2, {n, tn_idx(p, 5)}, NULL},    {"I", TN_I32, 1, {tn_idx(p, 7)}, NULL},
        {"H", TN_F16, 1, {tn_idx(p, 4)}, NULL},       {"C", TN_F32, 2, {n, m}, NULL},
        {"D", TN_I32, 2, {m, tn_idx(p, 12)}, layout},
    };
    for (int i = 0; i < 5; i++) {
        r.buffer[i] = tn_func_add_buffer(r.f, &(tn_buffer){.name = row[i].name,
                                                           .dtype = row[i].t,
                                                           .ndim = (uint16_t)row[i].ndim,
                                                           .dim = row[i].dim,
                                                           .layout = row[i].layout,
                                                           .param = -1});
        tn_func_add_param(r.f, r.buffer[i], i >= 3);
        r.written[i] = true;
    }
    r.n_buffer = 5;
    for (int i = 0; i < 3; i++)
        random_list(&r, &r.f->body, 4);
    return r.f;
}

#endif
