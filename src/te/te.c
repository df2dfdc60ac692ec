/* Tensor expressions: making and defining tensors.
 *
 * Invariants: a tensor and its buffer in te->func have one number, so a read is a LOAD and needs no second
 * table; a tensor reads only tensors made before it is defined; every symbol of a dimension or a value is a
 * symbol of the function. Blocks are made by finish.c, inlining is inline.c.
 */
#include "te/te.h"

#include <math.h>
#include <string.h>

void tn_te_init(tn_te *te, tn_ctx *ctx, tn_arena *arena, tn_pool *pool, const char *name)
{
    *te = (tn_te){
        .func = tn_func_new(ctx, arena, pool, name), .arena = arena, .pool = pool, .tag = "", .source = ""};
}

static bool add_symbol(const tn_expr *e, void *user)
{
    if (e->kind == TN_E_SYM)
        tn_func_add_symbol(user, e->u.s, 1, INT32_MAX); /* a range given before stays */
    return true;
}

void tn_te_symbols(tn_te *te, const tn_expr *e)
{
    if (e)
        tn_each(e, add_symbol, te->func);
}

static tn_tensor *add_tensor(tn_te *te, enum tn_tensor_kind kind, const tn_buffer *b)
{
    tn_tensor *t = TN_NEW(te->arena, tn_tensor);
    for (uint16_t i = 0; i < b->ndim; i++)
        tn_te_symbols(te, b->dim[i]);
    t->kind = (uint8_t)kind;
    t->buffer = tn_func_add_buffer(te->func, b);
    t->dtype = b->dtype;
    t->ndim = b->ndim;
    t->dim = te->func->buffer[t->buffer].dim;
    t->tag = te->tag;
    t->source = te->source;
    return t;
}

/* Appends t to the list: it may read all that is there, and nothing there reads it. */
static void link_tensor(tn_te *te, tn_tensor *t)
{
    if (te->last)
        te->last->next = t;
    else
        te->first = t;
    te->last = t;
}

tn_tensor *tn_te_input(tn_te *te, const char *name, const tn_type *type)
{
    TN_ASSERT(type->kind == TN_T_TENSOR);
    tn_buffer b = {.name = name,
                   .dtype = type->dtype,
                   .ndim = type->n,
                   .dim = type->dim,
                   .layout = type->layout,
                   .scope = TN_SCOPE_GLOBAL,
                   .param = -1};
    tn_tensor *t = add_tensor(te, TN_TENSOR_INPUT, &b);
    tn_func_add_param(te->func, t->buffer, false);
    link_tensor(te, t);
    return t;
}

/* The next word of *names, or "i<k>" when there is none. */
static const char *axis_name(tn_arena *a, const char **names, int k)
{
    size_t n = 0;
    if (*names) {
        *names += strspn(*names, " ");
        n = strcspn(*names, " ");
    }
    if (n == 0)
        return tn_arena_printf(a, "i%d", k);
    *names += n;
    return tn_arena_strndup(a, *names - n, n);
}

tn_tensor *tn_te_new(tn_te *te, const char *name, tn_dtype dtype, int ndim, const tn_expr *const dim[],
                     const char *axis_names)
{
    TN_ASSERT(ndim >= 0 && ndim <= UINT8_MAX);
    tn_buffer b = {.name = name,
                   .dtype = dtype,
                   .ndim = (uint16_t)ndim,
                   .dim = dim,
                   .scope = TN_SCOPE_GLOBAL,
                   .param = -1};
    tn_tensor *t = add_tensor(te, TN_TENSOR_COMPUTE, &b);
    t->axis = TN_NEW_N(te->arena, const tn_expr *, (size_t)ndim);
    for (int i = 0; i < ndim; i++)
        t->axis[i] = tn_func_add_var(te->func, axis_name(te->arena, &axis_names, i), TN_IDX);
    return t;
}

tn_tensor *tn_te_like(tn_te *te, const char *name, const tn_type *type)
{
    TN_ASSERT(type->kind == TN_T_TENSOR);
    return tn_te_new(te, name, type->dtype, type->n, type->dim, type->n <= 4 ? "i j k l" : NULL);
}

tn_tensor *tn_te_over(tn_te *te, const tn_tensor *t, const tn_tensor *over)
{
    tn_tensor *x = tn_te_new(te, "moved", t->dtype, t->ndim, t->dim, NULL);
    x->tag = t->tag;
    x->source = t->source;
    x->ndim = over->ndim;
    x->dim = over->dim;
    x->axis = TN_NEW_N(te->arena, const tn_expr *, over->ndim);
    for (int i = 0; i < over->ndim; i++)
        x->axis[i] = tn_func_add_var(te->func, te->func->var[over->axis[i]->u.i].name, TN_IDX);
    return x;
}

void tn_te_define_at(tn_te *te, tn_tensor *t, const tn_expr *value, const tn_expr *const place[])
{
    t->place = place;
    tn_te_define(te, t, value);
}

const tn_expr *tn_te_reduce_axis(tn_te *te, tn_tensor *t, const char *name, const tn_expr *extent)
{
    TN_ASSERT(t->n_reduce < TN_TE_MAX_REDUCE);
    tn_te_symbols(te, extent);
    t->rextent[t->n_reduce] = extent;
    return t->raxis[t->n_reduce++] = tn_func_add_var(te->func, name, TN_IDX);
}

void tn_te_define(tn_te *te, tn_tensor *t, const tn_expr *value)
{
    TN_ASSERT(t->kind == TN_TENSOR_COMPUTE && !t->value && tn_dtype_eq(value->dtype, t->dtype));
    tn_te_symbols(te, value);
    t->value = value;
    link_tensor(te, t);
}

/* Smallest (or largest) value of t. */
static const tn_expr *extreme(tn_pool *p, tn_dtype t, bool largest)
{
    if (tn_dtype_is_float(t) && tn_dtype_encoding(t).specials == TN_POWERS)
        return tn_flt(p, t, largest ? tn_dtype_largest(t) : tn_dtype_smallest(t));
    if (tn_dtype_is_float(t)) {
        double most = tn_dtype_encoding(t).specials == TN_IEEE ? (double)INFINITY : tn_dtype_largest(t);
        return tn_flt(p, t, largest ? most : -most);
    }
    bool is_signed = t.code == TN_INT || t.code == TN_INDEX;
    unsigned value_bits = is_signed ? t.bits - 1u : t.bits;
    uint64_t top = value_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << value_bits) - 1;
    return tn_int(p, t, (int64_t)(largest ? top : is_signed ? ~top : 0));
}

const tn_expr *tn_te_neutral(tn_pool *p, enum tn_reducer r, tn_dtype t)
{
    switch (r) {
    case TN_RED_SUM: return tn_const(p, t, 0);
    case TN_RED_PROD: return tn_const(p, t, 1);
    case TN_RED_MAX: return extreme(p, t, false);
    case TN_RED_MIN: return extreme(p, t, true);
    case TN_RED_ANY: return tn_bool(p, false);
    case TN_RED_ALL: return tn_bool(p, true);
    default: TN_ASSERT(!"a reduction has a reducer"); return NULL;
    }
}

/* The type its elements have in memory: that of the accumulator, where floats are narrow. */
static tn_dtype stored(const tn_te *te, const tn_tensor *t) { return te->func->buffer[t->buffer].dtype; }

/* A term in float32; a product is multiplied there too, so that it is not rounded before it is added. */
static const tn_expr *widened(tn_pool *p, const tn_expr *term)
{
    if (term->kind == TN_E_MUL)
        return tn_mul(p, tn_cast(p, TN_F32, term->src[0]), tn_cast(p, TN_F32, term->src[1]));
    return tn_cast(p, TN_F32, term);
}

/* Sums of narrow floats are float32. So is the largest of 16-bit floats, which is exact, so that no step converts it;
 * there float32 has the same infinities to begin with. */
static bool wide_accumulator(enum tn_reducer r, tn_dtype t)
{
    bool extreme = r == TN_RED_MAX || r == TN_RED_MIN;
    return tn_dtype_is_small(t) && (r == TN_RED_SUM || r == TN_RED_PROD || (extreme && t.bits == 16));
}

void tn_te_reduce(tn_te *te, tn_tensor *t, enum tn_reducer r, const tn_expr *term, const tn_expr *where,
                  const tn_expr *init)
{
    tn_te_define(te, t, term);
    if (wide_accumulator(r, t->dtype)) {
        te->func->buffer[t->buffer].dtype = TN_F32;
        t->value = widened(te->pool, term);
        init = init ? tn_cast(te->pool, TN_F32, init) : NULL;
    }
    TN_ASSERT(!where || tn_dtype_is_bool(where->dtype));
    tn_te_symbols(te, where);
    tn_te_symbols(te, init);
    t->reducer = (uint8_t)r;
    t->where = where;
    t->init = init ? init : tn_te_neutral(te->pool, r, stored(te, t));
    TN_ASSERT(tn_dtype_eq(t->init->dtype, stored(te, t)));
}

void tn_te_scan(tn_te *te, tn_tensor *t, int dim, const tn_expr *step, const tn_expr *value)
{
    TN_ASSERT(dim >= 0 && dim < t->ndim);
    tn_te_symbols(te, step);
    t->step = step;
    t->scan_dim = (uint16_t)dim;
    tn_te_define(te, t, value);
}

void tn_te_extern(tn_te *te, tn_tensor *t)
{
    TN_ASSERT(t->kind == TN_TENSOR_COMPUTE && !t->value);
    t->kind = TN_TENSOR_EXTERN;
    link_tensor(te, t);
}

void tn_te_extern_part(tn_te *te, tn_tensor *t, const tn_tensor *of)
{
    TN_ASSERT(of->kind == TN_TENSOR_EXTERN && !of->part_of);
    tn_te_extern(te, t);
    t->part_of = of;
}

const tn_expr *tn_at(tn_te *te, const tn_tensor *t, int n, const tn_expr *const index[])
{
    TN_ASSERT(n == t->ndim);
    return tn_cast(te->pool, t->dtype, tn_load(te->pool, stored(te, t), t->buffer, n, index, NULL, NULL));
}

const tn_expr *tn_at1(tn_te *te, const tn_tensor *t, const tn_expr *a) { return tn_at(te, t, 1, &a); }

const tn_expr *tn_at2(tn_te *te, const tn_tensor *t, const tn_expr *a, const tn_expr *b)
{
    const tn_expr *index[] = {a, b};
    return tn_at(te, t, 2, index);
}

const tn_expr *tn_at3(tn_te *te, const tn_tensor *t, const tn_expr *a, const tn_expr *b, const tn_expr *c)
{
    const tn_expr *index[] = {a, b, c};
    return tn_at(te, t, 3, index);
}

const tn_expr *tn_at4(tn_te *te, const tn_tensor *t, const tn_expr *a, const tn_expr *b, const tn_expr *c,
                      const tn_expr *d)
{
    const tn_expr *index[] = {a, b, c, d};
    return tn_at(te, t, 4, index);
}

const tn_expr *tn_at_if(tn_te *te, const tn_tensor *t, int n, const tn_expr *const index[],
                        const tn_expr *cond, const tn_expr *other)
{
    TN_ASSERT(n == t->ndim && tn_dtype_is_bool(cond->dtype) && tn_dtype_eq(other->dtype, t->dtype));
    int64_t always;
    if (tn_is_int(cond, &always))
        return always ? tn_at(te, t, n, index) : other;
    other = tn_cast(te->pool, stored(te, t), other);
    return tn_cast(te->pool, t->dtype, tn_load(te->pool, stored(te, t), t->buffer, n, index, cond, other));
}

void tn_te_require(tn_te *te, const tn_expr *cond, const char *text)
{
    int64_t always;
    if (tn_is_int(cond, &always) && always)
        return;
    for (const tn_te_check *c = te->check; c; c = c->next)
        if (c->cond == cond)
            return;
    tn_te_symbols(te, cond);
    tn_te_check *c = TN_NEW(te->arena, tn_te_check);
    *c = (tn_te_check){cond, text, NULL};
    *(te->check ? te->check_end : &te->check) = c;
    te->check_end = &c->next;
}
