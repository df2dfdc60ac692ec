#ifndef TN_TESTS_TIR_REFERENCE_H
#define TN_TESTS_TIR_REFERENCE_H
/* A second interpreter, as plain as can be: it walks the tree and computes every expression where it stands, through
 * tn_eval_op alone. The block stage only; small functions only. */
#include "base/size.h"
#include "ir/eval.h"
#include "tir_fixture.h"

#include <stdlib.h>

typedef struct reference {
    tn_func *f;
    const int64_t *sym;
    tn_scalar var[1024];
    uint8_t *data[64];
    bool *written[64]; /* NULL: parameter */
    bool trapped;
} reference;

static inline tn_scalar ref_eval(reference *r, const tn_expr *e);

static inline int64_t ref_int(reference *r, const tn_expr *e) { return ref_eval(r, e).i; }

/* Number of elements in memory, or (index given) the physical offset of an element. */
static inline int64_t ref_offset(reference *r, const tn_buffer *b, const int64_t *index)
{
    int64_t rest[8], dim[8], offset = 0, stride = 1;
    for (int d = 0; d < b->ndim; d++) {
        dim[d] = ref_int(r, b->dim[d]);
        rest[d] = index ? index[d] : 0;
    }
    int n = b->layout ? b->layout->naxis : b->ndim;
    for (int a = n - 1; a >= 0; a--) {
        int d = b->layout ? b->layout->axis[a].dim : a;
        int64_t extent = b->layout && b->layout->axis[a].factor ? b->layout->axis[a].factor : dim[d];
        offset += rest[d] % extent * stride;
        rest[d] /= extent;
        dim[d] = (dim[d] + extent - 1) / extent;
        stride *= extent;
    }
    return index ? offset : stride;
}

/* The element, or -1: trapped. */
static inline int64_t ref_element(reference *r, uint32_t buffer, uint32_t n, const int64_t *index)
{
    const tn_buffer *b = &r->f->buffer[buffer];
    for (uint32_t d = 0; d < n; d++)
        if (index[d] < 0 || index[d] >= ref_int(r, b->dim[d])) {
            r->trapped = true;
            return -1;
        }
    return ref_offset(r, b, index);
}

static inline tn_scalar ref_load(reference *r, const tn_expr *e)
{
    int64_t index[8];
    uint32_t b = e->u.load.buffer;
    tn_scalar other = {0};
    bool on = true;
    for (uint32_t d = 0; d < e->u.load.n_index; d++)
        index[d] = ref_int(r, e->src[d]);
    if (tn_load_mask(e)) {
        on = ref_int(r, tn_load_mask(e)) != 0;
        other = ref_eval(r, tn_load_other(e));
    }
    if (!on || r->trapped)
        return other;
    int64_t at = ref_element(r, b, e->u.load.n_index, index);
    if (at < 0 || (r->written[b] && !r->written[b][at])) {
        r->trapped = true;
        return other;
    }
    return tn_scalar_read(e->dtype, r->data[b] + (size_t)at * tn_dtype_bytes(e->dtype));
}

static inline tn_scalar ref_eval(reference *r, const tn_expr *e)
{
    tn_scalar in[3] = {{0}}, out = {0};
    if (r->trapped)
        return out;
    switch (e->kind) {
    case TN_E_VAR: return r->var[e->u.i];
    case TN_E_SYM:
        for (uint32_t i = 0; i < r->f->n_symbol; i++)
            if (r->f->symbol[i].name == e->u.s)
                return (tn_scalar){.i = r->sym[i]};
        abort();
    case TN_E_LOAD: return ref_load(r, e);
    default: break;
    }
    for (int i = 0; i < e->nsrc; i++)
        in[i] = ref_eval(r, e->src[i]);
    if (e->kind == TN_E_SELECT)
        return in[in[0].i ? 1 : 2];
    if (r->trapped ||
        !tn_eval_op(e->kind, e->dtype, e->u, e->nsrc ? e->src[0]->dtype : e->dtype, e->nsrc, in, &out))
        r->trapped = true;
    return out;
}

static inline void ref_stmt(reference *r, const tn_stmt *s);
static inline void ref_list(reference *r, const tn_body *b);

/* ---- reductions of nothing (docs/tir.md) ---- */

static inline bool ref_outside(const tn_expr *e, const tn_expr *var)
{
    return !e->has_load && !tn_uses(e, var);
}

/* Does the init of a block run where the loop over var has no iterations? */
static inline bool ref_begins(const tn_stmt *s, const tn_expr *var)
{
    bool along = false;
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        if (tn_uses(it->value, var) && it->kind == TN_ITER_SPATIAL)
            return false;
        along = along || tn_uses(it->value, var);
    }
    return along && s->u.block.init.first && !tn_body_uses((tn_body *)&s->u.block.init, var);
}

/* Do such inits in the list, or what they need, use `inner`? */
static inline bool ref_depends(const tn_body *b, const tn_expr *var, const tn_expr *inner)
{
    bool found = false;
    for (const tn_stmt *s = b->first; s && !found; s = s->next) {
        if (s->kind == TN_S_LET && !ref_outside(s->u.let.value, var))
            return false;
        if (s->kind == TN_S_LET)
            found = tn_uses(s->u.let.value, inner);
        if (s->kind == TN_S_FOR && ref_outside(s->u.loop.extent, var))
            found = tn_uses(s->u.loop.extent, inner) || ref_depends(&s->u.loop.body, var, inner);
        if (s->kind == TN_S_IF && ref_outside(s->u.cond.cond, var))
            found = ref_depends(&s->u.cond.then, var, inner) || ref_depends(&s->u.cond.other, var, inner);
        if (s->kind == TN_S_IF)
            found = found || (ref_outside(s->u.cond.cond, var) && tn_uses(s->u.cond.cond, inner));
        if (s->kind == TN_S_BLOCK && ref_begins(s, var))
            found = tn_body_uses((tn_body *)&s->u.block.init, inner);
        for (uint32_t i = 0; s->kind == TN_S_BLOCK && ref_begins(s, var) && i < s->u.block.n_iter; i++)
            found = found ||
                    (s->u.block.iter[i].kind == TN_ITER_SPATIAL && tn_uses(s->u.block.iter[i].value, inner));
    }
    return found;
}

static inline void ref_init(reference *r, const tn_stmt *s)
{
    bool inside = true;
    for (uint32_t i = 0; i < s->u.block.n_iter && !r->trapped; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        tn_scalar v = {.i = 0};
        if (it->kind == TN_ITER_SPATIAL) {
            v = ref_eval(r, it->value);
            inside = inside && v.i >= 0 && v.i < ref_int(r, it->extent);
        }
        r->var[it->var->u.i] = v;
    }
    if (inside)
        ref_list(r, &s->u.block.init);
}

/* The inits of a loop over var that has no iterations. */
static inline void ref_nothing(reference *r, const tn_body *b, const tn_expr *var)
{
    for (const tn_stmt *s = b->first; s && !r->trapped; s = s->next) {
        if (s->kind == TN_S_LET && !ref_outside(s->u.let.value, var))
            return;
        if (s->kind == TN_S_LET || s->kind == TN_S_BUFFER)
            ref_stmt(r, s);
        if (s->kind == TN_S_IF && ref_outside(s->u.cond.cond, var))
            ref_nothing(r, ref_int(r, s->u.cond.cond) ? &s->u.cond.then : &s->u.cond.other, var);
        if (s->kind == TN_S_BLOCK && ref_begins(s, var))
            ref_init(r, s);
        if (s->kind != TN_S_FOR || !ref_outside(s->u.loop.extent, var))
            continue;
        bool depends = ref_depends(&s->u.loop.body, var, s->u.loop.var);
        for (int64_t i = 0, n = depends ? ref_int(r, s->u.loop.extent) : 1; i < n && !r->trapped; i++) {
            r->var[s->u.loop.var->u.i].i = i;
            ref_nothing(r, &s->u.loop.body, var);
        }
    }
}

static inline void ref_block(reference *r, const tn_stmt *s)
{
    bool first = true, on = true;
    tn_scalar value[8];
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        value[i] = ref_eval(r, s->u.block.iter[i].value);
        bool inside = value[i].i >= 0 && value[i].i < ref_int(r, s->u.block.iter[i].extent);
        first = first && (s->u.block.iter[i].kind == TN_ITER_SPATIAL ? inside : value[i].i == 0);
    }
    for (uint32_t i = 0; i < s->u.block.n_iter; i++)
        r->var[s->u.block.iter[i].var->u.i] = value[i];
    if (first)
        ref_list(r, &s->u.block.init);
    if (s->u.block.mask)
        on = ref_int(r, s->u.block.mask) != 0;
    for (uint32_t i = 0; on && !r->trapped && i < s->u.block.n_iter; i++)
        r->trapped = value[i].i < 0 || value[i].i >= ref_int(r, s->u.block.iter[i].extent) || r->trapped;
    if (on)
        ref_list(r, &s->u.block.body);
}

static inline void ref_store(reference *r, const tn_stmt *s)
{
    int64_t index[8];
    uint32_t b = s->u.store.buffer;
    for (uint32_t d = 0; d < s->u.store.n_index; d++)
        index[d] = ref_int(r, s->u.store.index[d]);
    tn_scalar v = ref_eval(r, s->u.store.value);
    bool on = s->u.store.mask ? ref_int(r, s->u.store.mask) != 0 : true;
    int64_t at = on && !r->trapped ? ref_element(r, b, s->u.store.n_index, index) : -1;
    if (at < 0)
        return;
    tn_dtype t = r->f->buffer[b].dtype;
    tn_scalar_write(t, r->data[b] + (size_t)at * tn_dtype_bytes(t), v);
    if (r->written[b])
        r->written[b][at] = true;
}

static inline void ref_loop(reference *r, const tn_stmt *s)
{
    int64_t n = ref_int(r, s->u.loop.extent);
    if (n < 1 && !r->trapped)
        ref_nothing(r, &s->u.loop.body, s->u.loop.var);
    for (int64_t i = 0; i < n && !r->trapped; i++) {
        r->var[s->u.loop.var->u.i].i = i;
        ref_list(r, &s->u.loop.body);
    }
}

static inline void ref_stmt(reference *r, const tn_stmt *s)
{
    const tn_buffer *b;
    switch (s->kind) {
    case TN_S_FOR: ref_loop(r, s); break;
    case TN_S_BLOCK: ref_block(r, s); break;
    case TN_S_STORE: ref_store(r, s); break;
    case TN_S_IF: ref_list(r, ref_int(r, s->u.cond.cond) ? &s->u.cond.then : &s->u.cond.other); break;
    case TN_S_LET: r->var[s->u.let.var->u.i] = ref_eval(r, s->u.let.value); break;
    case TN_S_BUFFER:
        b = &r->f->buffer[s->u.decl.buffer];
        free(r->data[s->u.decl.buffer]);
        free(r->written[s->u.decl.buffer]);
        r->data[s->u.decl.buffer] = calloc((size_t)ref_offset(r, b, NULL) + 1, tn_dtype_bytes(b->dtype));
        r->written[s->u.decl.buffer] = calloc((size_t)ref_offset(r, b, NULL) + 1, sizeof(bool));
        break;
    default: r->trapped = ref_int(r, s->u.check.cond) == 0 || r->trapped; break;
    }
}

static inline void ref_list(reference *r, const tn_body *b)
{
    for (const tn_stmt *s = b->first; s && !r->trapped; s = s->next)
        ref_stmt(r, s);
}

/* true: it ran to its end. */
static inline bool ref_run(tn_func *f, void *const arg[], const int64_t sym[])
{
    reference *r = calloc(1, sizeof *r);
    assert_true(f->n_var <= 1024 && f->n_buffer <= 64);
    r->f = f;
    r->sym = sym;
    for (uint32_t i = 0; i < f->n_param; i++)
        r->data[f->param[i]] = arg[i];
    ref_list(r, &f->body);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        if (f->buffer[i].param < 0) {
            free(r->data[i]);
            free(r->written[i]);
        }
    bool ok = !r->trapped;
    free(r);
    return ok;
}

#endif
