/* Facts about functions: whether one holds, and whether a pipeline meets the needs of its passes. */
#include "lower/lower_impl.h"

const char *const tn_fact_docs[TN_N_FACTS] = {
#define FACT(id, doc) doc,
#include "lower/facts.def"
#undef FACT
};

/* ---- pipelines ---- */

size_t tn_pipeline_check(const tn_pipeline *p, uint32_t wanted, uint32_t *out_missing)
{
    uint32_t have = 0;
    for (size_t i = 0; i < p->n; i++) {
        const tn_lower_pass *pass = &tn_lower_passes[p->pass[i]];
        *out_missing = pass->needs & ~have;
        if (*out_missing)
            return i;
        have = (have & pass->keeps) | pass->gives;
    }
    *out_missing = wanted & ~have;
    return p->n;
}

/* ---- functions ---- */

static bool is_phase_list(const tn_body *b, bool steps)
{
    for (const tn_stmt *s = b->first; s; s = s->next) {
        bool loop = s->kind == TN_S_FOR;
        if (loop && s->u.loop.kind == TN_LOOP_SERIAL && steps && is_phase_list(&s->u.loop.body, false))
            steps = false;
        else if (loop ? s->u.loop.kind != TN_LOOP_PARALLEL : s->kind != TN_S_BUFFER && s->kind != TN_S_CHECK)
            return false;
    }
    return true;
}

typedef struct {
    const tn_func *f;
    uint32_t broken; /* by a statement or an expression of it */
} seen;

static bool is_register(const tn_func *f, uint32_t buffer)
{
    return f->buffer[buffer].scope == TN_SCOPE_REGISTER;
}

static bool are_constant(uint32_t n, const tn_expr *const index[])
{
    int64_t v;
    for (uint32_t i = 0; i < n; i++)
        if (!tn_is_int(index[i], &v))
            return false;
    return true;
}

static bool see_node(const tn_expr *e, void *user)
{
    seen *s = user;
    if (e->kind == TN_E_CALL && tn_intrins[e->u.call.id].poly)
        s->broken |= 1u << TN_FACT_ARITHMETIC;
    if (e->kind == TN_E_LOAD && is_register(s->f, e->u.load.buffer) &&
        !are_constant(e->u.load.n_index, e->src))
        s->broken |= 1u << TN_FACT_REGISTERS;
    return true;
}

static const tn_expr *see_expr(const tn_expr *e, void *user)
{
    (void)tn_each(e, see_node, user);
    return e;
}

static bool see_stmt(tn_stmt *x, void *user)
{
    seen *s = user;
    if (x->kind == TN_S_BLOCK)
        s->broken |= 1u << TN_FACT_STATEMENTS;
    if (x->kind == TN_S_FOR && x->u.loop.kind == TN_LOOP_UNROLLED)
        s->broken |= 1u << TN_FACT_STRAIGHT;
    if (x->kind == TN_S_FOR && x->u.loop.kind == TN_LOOP_VECTOR)
        s->broken |= 1u << TN_FACT_LANES;
    if (x->kind == TN_S_BUFFER && s->f->buffer[x->u.decl.buffer].scope == TN_SCOPE_GLOBAL &&
        !s->f->buffer[x->u.decl.buffer].work_offset)
        s->broken |= 1u << TN_FACT_PLACES;
    if (x->kind == TN_S_STORE && is_register(s->f, x->u.store.buffer) &&
        !are_constant(x->u.store.n_index, x->u.store.index))
        s->broken |= 1u << TN_FACT_REGISTERS;
    tn_stmt_exprs(x, see_expr, s);
    return true;
}

/* By its buffers and variables. */
static uint32_t broken_by_tables(const tn_func *f)
{
    uint32_t broken = f->stage == TN_STAGE_FLAT ? 0 : 1u << TN_FACT_LANES;
    for (uint32_t i = 0; i < f->n_buffer; i++) {
        const tn_buffer *b = &f->buffer[i];
        if (b->ndim != 1 || b->layout)
            broken |= 1u << TN_FACT_OFFSETS;
        if (!tn_dtype_eq(b->dtype, tn_dtype_stored(b->dtype)))
            broken |= 1u << TN_FACT_STORED;
    }
    for (uint32_t i = 0; i < f->n_var; i++)
        if (!tn_dtype_eq(f->var[i].dtype, tn_dtype_stored(f->var[i].dtype)))
            broken |= 1u << TN_FACT_STORED;
    return broken;
}

uint32_t tn_facts_broken(const tn_func *f)
{
    tn_func *walked = (tn_func *)(uintptr_t)f; /* nothing is changed */
    seen s = {f, broken_by_tables(f)};
    if (!is_phase_list(&f->body, true))
        s.broken |= 1u << TN_FACT_PHASES;
    const tn_stmt *steps = tn_steps_of(f);
    for (const tn_stmt *x = f->body.first; steps && x; x = x->next)
        if (x->kind == TN_S_FOR && x != steps)
            s.broken |= 1u << TN_FACT_JOINED;
    tn_stmt_walk(&walked->body, see_stmt, NULL, &s);
    return s.broken;
}
