/* The verifier: what docs/tir.md demands of a function, checked in one walk with the set of visible variables
 * and buffers.
 *
 * It reports every fault up to a limit, by statement, and never follows a link it has not checked. Bounds of
 * accesses are looked at in the block stage alone: an access is refused only if some execution of it is
 * certainly outside (it may be guarded by what the simplifier does not understand); what is merely unproved is
 * left to the interpreter.
 */
#include "base/size.h"
#include "base/vec.h"
#include "tir/func.h"
#include "tir/unit.h"

#include <string.h>

enum { MAX_FAULTS = 20 };

typedef struct verifier {
    tn_func *f;
    const tn_stmt *at; /* the statement being looked at; NULL: the signature */
    tn_facts facts;
    bool *var, *buffer;             /* visible here */
    tn_vec(uint32_t) vars, buffers; /* ... in the order they became so */
    tn_vec(const char *) blocks;    /* names seen */
    uint32_t *task;                /* per buffer: number of the parallel loop it was declared in, 0 outside */
    uint32_t n_parallel, parallel; /* loops seen; the one we are in, or 0 */
    int loops, guards, depth;      /* loops, conditions and masks around */
    int never;                     /* loops around that run no iteration, whatever the symbols are */
    bool dead;                     /* in the body of a block whose mask is never true */
    int faults, outside;           /* all; those of bounds and domains */
} verifier;

static void fail(verifier *v, const char *id, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static const char *buffer_of(const verifier *v, uint32_t number)
{
    return number < v->f->n_buffer ? v->f->buffer[number].name : "?";
}

/* "block acc", "the store to out", ... */
static void describe(const verifier *v, const tn_stmt *s, tn_buf *out)
{
    tn_names names;
    tn_func_names(v->f, &names);
    switch (s->kind) {
    case TN_S_FOR:
        tn_buf_printf(out, "the loop `%s`", names.var(names.user, (uint32_t)s->u.loop.var->u.i));
        break;
    case TN_S_BLOCK: tn_buf_printf(out, "block `%s`", s->u.block.name); break;
    case TN_S_STORE: tn_buf_printf(out, "the store to `%s`", buffer_of(v, s->u.store.buffer)); break;
    case TN_S_LET: tn_buf_printf(out, "let `%s`", names.var(names.user, (uint32_t)s->u.let.var->u.i)); break;
    case TN_S_BUFFER: tn_buf_printf(out, "buffer `%s`", buffer_of(v, s->u.decl.buffer)); break;
    case TN_S_CHECK: tn_buf_printf(out, "check \"%s\"", s->u.check.text); break;
    case TN_S_PREFETCH: tn_buf_printf(out, "the prefetch of `%s`", buffer_of(v, s->u.prefetch.buffer)); break;
    default: tn_buf_str(out, "an `if`"); break;
    }
}

static void fail(verifier *v, const char *id, const char *fmt, ...)
{
    tn_buf b = {0};
    va_list ap;
    const char *node = v->f->source;
    if (v->faults++ >= MAX_FAULTS)
        return;
    tn_buf_printf(&b, "@%s", v->f->name);
    if (v->at) {
        const tn_stmt *block = v->at;
        while (block && block->kind != TN_S_BLOCK)
            block = tn_stmt_parent(block);
        tn_buf_str(&b, ", ");
        describe(v, v->at, &b);
        if (block && block != v->at)
            tn_buf_printf(&b, " in block `%s`", block->u.block.name);
        node = block && *block->u.block.source ? block->u.block.source : node;
    }
    tn_buf_str(&b, ": ");
    va_start(ap, fmt);
    tn_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tn_loc loc = {.node = *node ? node : NULL};
    (void)tn_error(v->f->ctx, id, &loc, "%s", b.at);
    tn_buf_deinit(&b);
}

/* An expression as text; the caller frees it. */
static tn_buf text_of(const verifier *v, const tn_expr *e)
{
    tn_buf b = {0};
    tn_names names;
    tn_func_names(v->f, &names);
    tn_expr_print_brief(e, &names, &b);
    return b;
}

static tn_buf text_of_dtype(tn_dtype t)
{
    tn_buf b = {0};
    tn_dtype_print(t, true, &b);
    return b;
}

static void fail_dtype(verifier *v, const char *id, const char *what, const tn_expr *e, const char *want)
{
    tn_buf t = text_of_dtype(e->dtype), s = text_of(v, e);
    fail(v, id, "%s `%s` is %s; it must be %s", what, s.at, t.at, want);
    tn_buf_deinit(&t);
    tn_buf_deinit(&s);
}

/* ---- bounds ---- */

/* Facts are collected, and bounds looked at, only as long as every expression seen has the type it should have. */
static bool sound(const verifier *v) { return v->faults == v->outside; }

static void enter_facts(verifier *v, const tn_stmt *s, const tn_body *in)
{
    if (sound(v))
        tn_stmt_facts_enter(v->f->pool, s, in, &v->facts);
}

static void facts_after(verifier *v, const tn_stmt *s)
{
    if (sound(v))
        tn_stmt_facts_after(v->f->pool, s, &v->facts);
}

static void assume(verifier *v, const tn_expr *mask)
{
    if (sound(v) && mask && mask->dtype.lanes == 1 && !mask->has_load)
        tn_facts_assume(&v->facts, mask);
}

static bool blocks_stage(const verifier *v) { return v->f->stage == TN_STAGE_BLOCKS; }

/* The loop around s whose variable is var, or the block whose iteration variable it is; NULL: neither. */
static const tn_stmt *definer(const tn_stmt *s, const tn_expr *var, const tn_iter **out_iter)
{
    *out_iter = NULL;
    for (const tn_stmt *p = tn_stmt_parent(s); p; p = tn_stmt_parent(p)) {
        if (p->kind == TN_S_FOR && p->u.loop.var == var)
            return p;
        for (uint32_t i = 0; p->kind == TN_S_BLOCK && i < p->u.block.n_iter; i++)
            if (p->u.block.iter[i].var == var) {
                *out_iter = &p->u.block.iter[i];
                return p;
            }
    }
    return NULL;
}

/* The value of e where each loop variable in it stands at the end of its loop that makes e largest (smallest);
 * NULL unless e is a sum of independent loop variables of loops that certainly run. */
static const tn_expr *corner(verifier *v, const tn_expr *e, bool largest)
{
    tn_pool *p = v->f->pool;
    for (int round = 0; round < 64; round++) {
        tn_affine a;
        const tn_expr *var = NULL;
        int64_t coef = 0;
        if (!tn_affine_of(p, e, &a))
            return NULL;
        for (int i = 0; i < a.n && !var; i++) {
            if (a.term[i].atom->kind == TN_E_VAR) {
                var = a.term[i].atom;
                coef = a.term[i].coef;
            } else if (a.term[i].atom->kind != TN_E_SYM) {
                return NULL;
            }
        }
        if (!var)
            return e;
        const tn_iter *it;
        const tn_stmt *d = definer(v->at, var, &it);
        const tn_expr *to = it ? it->value : NULL;
        if (!d)
            return NULL;
        if (!it) {
            const tn_expr *extent = d->u.loop.extent;
            for (const tn_stmt *q = tn_stmt_parent(d); q; q = tn_stmt_parent(q))
                if (q->kind == TN_S_FOR && tn_uses(extent, q->u.loop.var))
                    return NULL;
            if (tn_prove(p, &v->facts, tn_le(p, tn_idx(p, 1), extent)) != 1)
                return NULL;
            to = (coef > 0) == largest ? tn_sub(p, extent, tn_idx(p, 1)) : tn_idx(p, 0);
        }
        e = tn_subst(p, e, 1, &var, &to);
    }
    return NULL;
}

static void check_bounds(verifier *v, uint32_t buffer, uint32_t d, const tn_expr *index, const tn_expr *dim,
                         bool guarded)
{
    if (!sound(v) || v->dead)
        return;
    tn_pool *p = v->f->pool;
    const tn_buffer *b = &v->f->buffer[buffer];
    const tn_expr *bad = NULL;
    const tn_expr *inside = tn_and(p, tn_le(p, tn_idx(p, 0), index), tn_lt(p, index, dim));
    int known = tn_prove(p, &v->facts, inside);
    if (known == 1)
        return;
    /* behind a condition that never holds, any index is good (a window all in padding) */
    if (guarded || v->guards || v->never)
        return;
    if (known == 0) {
        bad = index;
    } else if (!index->has_load) {
        const tn_expr *hi = corner(v, index, true), *lo = corner(v, index, false);
        if (hi && tn_prove(p, &v->facts, tn_lt(p, hi, dim)) == 0)
            bad = hi;
        else if (lo && tn_prove(p, &v->facts, tn_le(p, tn_idx(p, 0), lo)) == 0)
            bad = lo;
    }
    if (!bad)
        return;
    v->outside++;
    tn_buf i = text_of(v, index), r = text_of(v, tn_simplify(p, &v->facts, bad)), n = text_of(v, dim);
    fail(v, "tir-E120",
         "index %u of `%s`, %s, reaches %s, outside the extent %s; mask the access or correct the index", d,
         b->name, i.at, r.at, n.at);
    tn_buf_deinit(&i);
    tn_buf_deinit(&r);
    tn_buf_deinit(&n);
}

/* ---- expressions ---- */

static bool check_visible(verifier *v, uint32_t buffer)
{
    if (buffer >= v->f->n_buffer) {
        fail(v, "tir-E103", "there is no buffer number %u", buffer);
        return false;
    }
    const tn_buffer *b = &v->f->buffer[buffer];
    if (!v->buffer[buffer]) {
        fail(v, "tir-E105",
             "`%s` is not declared here; a buffer lives from its declaration to the end of that list",
             b->name);
        return false;
    }
    if (b->scope != TN_SCOPE_GLOBAL && v->task[buffer] != v->parallel)
        fail(v, "tir-E117", "`%s` belongs to one task, but is declared outside this parallel loop", b->name);
    return true;
}

static bool index_dtype(const verifier *v, tn_dtype t)
{
    return tn_dtype_is_index(t) || (!blocks_stage(v) && tn_dtype_is_int(t));
}

/* An access to `lanes` elements: arity, dtypes of indices, register rules, bounds. */
static void check_access(verifier *v, uint32_t buffer, uint32_t n, const tn_expr *const index[], tn_dtype t,
                         bool load, bool guarded)
{
    if (!check_visible(v, buffer))
        return;
    const tn_buffer *b = &v->f->buffer[buffer];
    if (n != b->ndim) {
        fail(v, "tir-E106", "`%s` has %u dimensions, but the access has %u indices", b->name, b->ndim, n);
        return;
    }
    tn_dtype element = tn_dtype_lanes(b->dtype, 1);
    if (!tn_dtype_eq(tn_dtype_lanes(t, 1), element) || (b->dtype.lanes > 1 && t.lanes != b->dtype.lanes)) {
        tn_buf has = text_of_dtype(b->dtype), got = text_of_dtype(t);
        fail(v, "tir-E108", "`%s` holds %s, but the access has type %s", b->name, has.at, got.at);
        tn_buf_deinit(&has);
        tn_buf_deinit(&got);
    }
    for (uint32_t d = 0; d < n; d++) {
        uint16_t lanes = index[d]->dtype.lanes;
        if (!index_dtype(v, index[d]->dtype))
            fail_dtype(v, "tir-E107", "the index", index[d],
                       blocks_stage(v) ? "index" : "index or an integer");
        else if (lanes != 1 && (lanes != t.lanes || b->dtype.lanes > 1))
            fail_dtype(v, "tir-E107", "the index", index[d], "a scalar or have the lanes of the access");
        else if (b->scope == TN_SCOPE_REGISTER && !blocks_stage(v) && index[d]->kind != TN_E_INT)
            fail_dtype(v, "tir-E116", "the register index", index[d], "a constant after unrolling");
        else if (blocks_stage(v) && lanes == 1)
            check_bounds(v, buffer, d, index[d],
                         load ? tn_layout_readable(v->f->pool, b->layout, (int)d, b->dim[d]) : b->dim[d],
                         guarded);
    }
}

static void check_load(verifier *v, const tn_expr *e)
{
    const tn_expr *mask = tn_load_mask(e);
    tn_facts_mark mark = tn_facts_here(&v->facts);
    assume(v, mask);
    check_access(v, e->u.load.buffer, e->u.load.n_index, e->src, e->dtype, true, mask != NULL);
    tn_facts_release(&v->facts, mark);
}

static void check_var(verifier *v, const tn_expr *e)
{
    if ((uint64_t)e->u.i >= v->f->n_var) {
        fail(v, "tir-E111", "there is no variable number %lld", (long long)e->u.i);
        return;
    }
    const tn_var_info *info = &v->f->var[e->u.i];
    if (!v->var[e->u.i])
        fail(v, "tir-E111", "the variable `%s` is not defined here", info->name);
    else if (!tn_dtype_eq(info->dtype, e->dtype))
        fail(v, "tir-E111", "the variable `%s` is used with another type than in its definition", info->name);
}

static bool has_symbol(const tn_func *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_symbol; i++)
        if (f->symbol[i].name == name)
            return true;
    return false;
}

static bool check_node(const tn_expr *e, void *user)
{
    verifier *v = user;
    if (blocks_stage(v) && e->dtype.lanes != 1)
        fail_dtype(v, "tir-E123", "the vector", e, "a scalar before lowering: use a vector loop");
    if (e->kind == TN_E_VAR)
        check_var(v, e);
    else if (e->kind == TN_E_SYM && !has_symbol(v->f, e->u.s))
        fail(v, "tir-E113", "the symbol `%s` is not in the function's table", e->u.s);
    else if (e->kind == TN_E_LOAD)
        check_load(v, e);
    return v->faults < MAX_FAULTS;
}

static bool check_expr(verifier *v, const tn_expr *e, const char *what)
{
    if (!e) {
        fail(v, "tir-E101", "%s is missing", what);
        return false;
    }
    tn_each(e, check_node, v);
    return true;
}

static void check_bool(verifier *v, const tn_expr *e, uint16_t lanes, const char *what)
{
    if (check_expr(v, e, what) && (!tn_dtype_is_bool(e->dtype) || e->dtype.lanes != lanes))
        fail_dtype(v, "tir-E109", what, e, lanes == 1 ? "a bool" : "a bool with the lanes of the value");
}

/* index; in the flat stage any integer will do. */
static bool check_index(verifier *v, const tn_expr *e, const char *what)
{
    if (!check_expr(v, e, what))
        return false;
    if (index_dtype(v, e->dtype) && e->dtype.lanes == 1)
        return true;
    fail_dtype(v, "tir-E114", what, e, "index");
    return false;
}

/* ---- definitions ---- */

static bool define_var(verifier *v, const tn_expr *var)
{
    if (!var || var->kind != TN_E_VAR || (uint64_t)var->u.i >= v->f->n_var) {
        fail(v, "tir-E111", "it does not define a variable of the function");
        return false;
    }
    if (v->var[var->u.i]) {
        fail(v, "tir-E112", "the variable `%s` is already defined here", v->f->var[var->u.i].name);
        return false;
    }
    v->var[var->u.i] = true;
    tn_vec_push(&v->vars, (uint32_t)var->u.i);
    check_var(v, var);
    return true;
}

static void undefine(verifier *v, size_t n_var, size_t n_buffer)
{
    while (v->vars.n > n_var)
        v->var[tn_vec_pop(&v->vars)] = false;
    while (v->buffers.n > n_buffer)
        v->buffer[tn_vec_pop(&v->buffers)] = false;
}

/* ---- statements ---- */

static void check_list(verifier *v, const tn_body *b);

/* Is there one loop at the top level? Its turns may be the steps of a kernel, with parallel loops in its list. */
static bool one_loop(const tn_func *f)
{
    int n = 0;
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        n += s->kind == TN_S_FOR;
    return n == 1;
}

static void check_parallel(verifier *v)
{
    if (v->parallel)
        fail(v, "tir-E115",
             "a parallel loop is inside another one; only the outermost loop of a nest may be parallel");
    else if (!blocks_stage(v) && v->loops > (one_loop(v->f) ? 1 : 0))
        fail(v, "tir-E115",
             "a parallel loop is inside a loop; after lowering it must be the outermost one, or in the loop "
             "of steps");
}

static void check_for(verifier *v, const tn_stmt *s)
{
    uint8_t kind = s->u.loop.kind;
    const char *fault = kind == TN_LOOP_TENSOR ? tn_unit_fault(s) : NULL;
    if (fault)
        fail(v, "tir-E125", "this nest of loops has not those of the unit \"%s\": %s",
             tn_units[s->u.loop.tensor].name, fault);
    uint32_t outer = v->parallel;
    size_t n_var = v->vars.n;
    bool lanes = kind == TN_LOOP_TENSOR && s->u.loop.tensor < TN_N_UNITS &&
                 tn_units[s->u.loop.tensor].kind == TN_UNIT_LANES;
    if (kind >= TN_LOOP_COUNT ||
        (!blocks_stage(v) && (kind == TN_LOOP_VECTOR || kind == TN_LOOP_UNROLLED || lanes)))
        fail(v, "tir-E102", "after lowering, a loop must be serial or parallel, not %s",
             kind < TN_LOOP_COUNT ? tn_loop_names[kind] : "unknown");
    if (kind == TN_LOOP_PARALLEL) {
        check_parallel(v);
        v->parallel = v->parallel ? v->parallel : ++v->n_parallel;
    }
    bool typed = check_index(v, s->u.loop.extent, "the extent"), never = false;
    tn_facts_mark mark = tn_facts_here(&v->facts);
    if (typed && sound(v) && tn_dtype_is_index(s->u.loop.extent->dtype))
        never =
            tn_prove(v->f->pool, &v->facts, tn_le(v->f->pool, tn_idx(v->f->pool, 1), s->u.loop.extent)) == 0;
    if (define_var(v, s->u.loop.var) && typed) {
        if (!tn_dtype_eq(s->u.loop.var->dtype, s->u.loop.extent->dtype))
            fail_dtype(v, "tir-E114", "the loop variable", s->u.loop.var, "of the extent's type");
        else if (blocks_stage(v))
            enter_facts(v, s, &s->u.loop.body);
    }
    v->loops++;
    v->never += never;
    check_list(v, &s->u.loop.body);
    v->never -= never;
    v->loops--;
    v->parallel = outer;
    tn_facts_release(&v->facts, mark);
    undefine(v, n_var, v->buffers.n);
}

static void check_iters(verifier *v, const tn_stmt *s)
{
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        check_index(v, s->u.block.iter[i].extent, "the extent");
        check_index(v, s->u.block.iter[i].value, "the binding");
    }
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        if (define_var(v, it->var) && !tn_dtype_is_index(it->var->dtype))
            fail_dtype(v, "tir-E114", "the iteration variable", it->var, "index");
    }
    const char *fault = tn_iters_fault(v->f->pool, s);
    if (fault)
        fail(v, "tir-E118", "%s", fault);
}

static void check_block_name(verifier *v, const tn_stmt *s)
{
    if (!tn_tir_is_name(s->u.block.name))
        fail(v, "tir-E119", "`%s` cannot be the name of a block", s->u.block.name);
    for (size_t i = 0; i < v->blocks.n; i++)
        if (strcmp(v->blocks.at[i], s->u.block.name) == 0) {
            fail(v, "tir-E119", "two blocks are called `%s`", s->u.block.name);
            break;
        }
    tn_vec_push(&v->blocks, s->u.block.name);
}

/* Is the mask false for all values of the loops around? Copies of a peeled loop may hold blocks that never run. */
static bool never_runs(const verifier *v, const tn_stmt *s)
{
    const tn_expr *mask = s->u.block.mask;
    for (uint32_t i = 0; mask && i < s->u.block.n_iter; i++)
        mask = tn_subst(v->f->pool, mask, 1, &s->u.block.iter[i].var, &s->u.block.iter[i].value);
    return mask && tn_prove(v->f->pool, &v->facts, mask) == 0;
}

/* An iteration variable must stay in its domain wherever the block runs. */
static void check_domain(verifier *v, const tn_stmt *s)
{
    tn_pool *p = v->f->pool;
    if (v->never)
        return;
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        const tn_expr *bad = NULL,
                      *inside = tn_and(p, tn_le(p, tn_idx(p, 0), it->value), tn_lt(p, it->value, it->extent));
        int known = tn_prove(p, &v->facts, inside);
        if (known == 0)
            bad = it->value;
        else if (known < 0 && v->guards == 0 && !s->u.block.mask &&
                 (bad = corner(v, it->value, true)) != NULL &&
                 tn_prove(p, &v->facts, tn_lt(p, bad, it->extent)) != 0)
            bad = NULL;
        if (!bad)
            continue;
        v->outside++;
        tn_buf value = text_of(v, tn_simplify(p, &v->facts, bad)), extent = text_of(v, it->extent);
        fail(v, "tir-E121", "iteration variable `%s` reaches %s, outside its extent %s; mask the block",
             v->f->var[it->var->u.i].name, value.at, extent.at);
        tn_buf_deinit(&value);
        tn_buf_deinit(&extent);
    }
}

static void check_block(verifier *v, const tn_stmt *s)
{
    size_t n_var = v->vars.n;
    tn_facts_mark mark = tn_facts_here(&v->facts);
    check_block_name(v, s);
    check_iters(v, s);
    if (s->u.block.mask)
        check_bool(v, s->u.block.mask, 1, "the mask");
    bool around = v->dead, dead = around || (sound(v) && never_runs(v, s));
    if (sound(v) && !dead)
        check_domain(v, s);
    enter_facts(v, s, &s->u.block.init);
    int guards = v->guards;
    v->guards += s->u.block.mask != NULL;
    for (uint32_t i = 0; i < s->u.block.n_iter; i++)
        v->guards += s->u.block.iter[i].kind == TN_ITER_REDUCE; /* init runs at some iterations only */
    v->depth++;
    check_list(v, &s->u.block.init);
    v->depth--;
    v->guards = guards + (s->u.block.mask != NULL);
    enter_facts(v, s, &s->u.block.body);
    v->dead = dead;
    check_list(v, &s->u.block.body);
    v->dead = around;
    v->guards = guards;
    tn_facts_release(&v->facts, mark);
    undefine(v, n_var, v->buffers.n);
}

static void check_store(verifier *v, const tn_stmt *s)
{
    const tn_expr *value = s->u.store.value, *mask = s->u.store.mask;
    uint32_t buffer = s->u.store.buffer;
    for (uint32_t i = 0; i < s->u.store.n_index; i++)
        if (!check_expr(v, s->u.store.index[i], "an index"))
            return;
    if (!check_expr(v, value, "the value"))
        return;
    tn_facts_mark mark = tn_facts_here(&v->facts);
    if (mask) {
        check_bool(v, mask, value->dtype.lanes, "the mask");
        assume(v, mask);
    }
    check_access(v, buffer, s->u.store.n_index, s->u.store.index, value->dtype, false, mask != NULL);
    if (buffer < v->f->n_buffer && v->f->buffer[buffer].param >= 0 && !v->f->buffer[buffer].written)
        fail(v, "tir-E110", "`%s` is an input; store to an output or to a buffer", v->f->buffer[buffer].name);
    tn_facts_release(&v->facts, mark);
}

static void check_if(verifier *v, const tn_stmt *s)
{
    tn_facts_mark mark = tn_facts_here(&v->facts);
    check_bool(v, s->u.cond.cond, 1, "the condition");
    v->guards++;
    const tn_body *body[2] = {&s->u.cond.then, &s->u.cond.other};
    for (int i = 0; i < 2; i++) {
        enter_facts(v, s, body[i]);
        check_list(v, body[i]);
        tn_facts_release(&v->facts, mark);
    }
    v->guards--;
}

static void check_let(verifier *v, const tn_stmt *s)
{
    bool ok = check_expr(v, s->u.let.value, "the value");
    if (!define_var(v, s->u.let.var) || !ok)
        return;
    if (!tn_dtype_eq(s->u.let.var->dtype, s->u.let.value->dtype))
        fail_dtype(v, "tir-E122", "the value", s->u.let.value, "of the variable's type");
    else
        facts_after(v, s);
}

static void check_decl(verifier *v, const tn_stmt *s)
{
    uint32_t buffer = s->u.decl.buffer;
    if (buffer >= v->f->n_buffer) {
        fail(v, "tir-E103", "there is no buffer number %u", buffer);
        return;
    }
    const tn_buffer *b = &v->f->buffer[buffer];
    if (b->param >= 0)
        fail(v, "tir-E105", "`%s` is a parameter; it needs no declaration", b->name);
    else if (v->buffer[buffer])
        fail(v, "tir-E105", "`%s` is already declared here", b->name);
    if (b->scope == TN_SCOPE_GLOBAL && v->parallel)
        fail(v, "tir-E117",
             "`%s` belongs to the whole call; declare it outside the parallel loop, or in local memory",
             b->name);
    if (b->work_offset)
        check_index(v, b->work_offset, "the offset");
    v->task[buffer] = v->parallel;
    v->buffer[buffer] = true;
    tn_vec_push(&v->buffers, buffer);
}

/* Its indices may lie outside: nothing is read. */
static void check_prefetch(verifier *v, const tn_stmt *s)
{
    uint32_t buffer = s->u.prefetch.buffer;
    if (!check_visible(v, buffer))
        return;
    const tn_buffer *b = &v->f->buffer[buffer];
    if (s->u.prefetch.n_index != b->ndim)
        fail(v, "tir-E106", "`%s` has %u dimensions, but the access has %u indices", b->name, b->ndim,
             s->u.prefetch.n_index);
    if (b->scope != TN_SCOPE_GLOBAL)
        fail(v, "tir-E124", "`%s` is in %s memory; only global memory can be prefetched", b->name,
             tn_scope_names[b->scope]);
    for (uint32_t i = 0; i < s->u.prefetch.n_index; i++)
        if (check_index(v, s->u.prefetch.index[i], "an index") && s->u.prefetch.index[i]->has_load)
            fail(v, "tir-E124", "the index reads memory; it may only use variables");
}

static void check_stmt(verifier *v, const tn_stmt *s)
{
    static const uint8_t stages[] = {
#define STMT(kind, stages, name) stages,
#include "tir/stmt.def"
#undef STMT
    };
    v->at = s;
    if (s->kind >= TN_S_COUNT) {
        fail(v, "tir-E101", "there is no statement of kind %u", s->kind);
        return;
    }
    if (!(stages[s->kind] & v->f->stage)) {
        fail(v, "tir-E102", "this statement is not legal %s lowering", blocks_stage(v) ? "before" : "after");
        return;
    }
    switch (s->kind) {
    case TN_S_FOR: check_for(v, s); break;
    case TN_S_BLOCK: check_block(v, s); break;
    case TN_S_STORE: check_store(v, s); break;
    case TN_S_IF: check_if(v, s); break;
    case TN_S_LET: check_let(v, s); break;
    case TN_S_BUFFER: check_decl(v, s); break;
    case TN_S_PREFETCH: check_prefetch(v, s); break;
    default:
        check_bool(v, s->u.check.cond, 1, "the condition");
        facts_after(v, s);
        break;
    }
}

static void check_list(verifier *v, const tn_body *b)
{
    size_t n_var = v->vars.n, n_buffer = v->buffers.n;
    tn_facts_mark mark = tn_facts_here(&v->facts);
    const tn_stmt *prev = NULL;
    if (v->depth >= TN_TIR_DEPTH) {
        fail(v, "tir-E101", "statements are nested more than %d deep", TN_TIR_DEPTH);
        return;
    }
    v->depth++;
    for (const tn_stmt *s = b->first; s && v->faults < MAX_FAULTS; prev = s, s = s->next) {
        if (s->prev != prev || s->list != b) {
            v->at = NULL;
            fail(v, "tir-E101", "the links of a statement are broken");
            break;
        }
        check_stmt(v, s);
    }
    v->depth--;
    undefine(v, n_var, n_buffer);
    tn_facts_release(&v->facts, mark);
}

/* ---- the signature ---- */

static bool constant_or_symbol(const tn_expr *e, void *user)
{
    (void)user;
    return e->kind != TN_E_VAR && e->kind != TN_E_LOAD;
}

static void check_dims(verifier *v, const tn_buffer *b)
{
    for (uint32_t d = 0; d < b->ndim; d++) {
        int64_t n;
        if (!check_index(v, b->dim[d], "an extent"))
            continue;
        if (!tn_each(b->dim[d], constant_or_symbol, NULL))
            fail(v, "tir-E104", "extent %u of `%s` is not made of constants and symbols", d, b->name);
        else if (tn_is_int(b->dim[d], &n) ? n < 0
                                          : b->scope == TN_SCOPE_REGISTER || b->scope == TN_SCOPE_TILE)
            fail(v, tn_is_int(b->dim[d], &n) ? "tir-E104" : "tir-E116", "extent %u of `%s` must be %s", d,
                 b->name, tn_is_int(b->dim[d], &n) ? "at least 0" : "constant: it lives in registers");
    }
}

/* Extents that are numbers; symbols count as 1. */
static void check_size(verifier *v, const tn_buffer *b)
{
    size_t bytes = tn_dtype_bytes(b->dtype);
    bool fits = true, none = false;
    int64_t n;
    for (uint32_t d = 0; d < b->ndim; d++)
        if (tn_is_int(b->dim[d], &n) && n >= 0) {
            none |= n == 0;
            fits = fits && tn_size_mul(bytes, (size_t)n, &bytes) && bytes <= INT64_MAX;
        }
    if (!fits && !none)
        fail(v, "tir-E126", "`%s` would be larger than 2^63 bytes", b->name);
}

static void check_buffer(verifier *v, uint32_t i)
{
    const tn_buffer *b = &v->f->buffer[i];
    bool flat = !blocks_stage(v);
    if (!tn_tir_is_name(b->name))
        fail(v, "tir-E103", "`%s` cannot be the name of a buffer", b->name);
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(v->f->buffer[k].name, b->name) == 0)
            fail(v, "tir-E103", "two buffers are called `%s`", b->name);
    if (b->scope >= TN_SCOPE_COUNT || (b->param >= 0 && b->scope != TN_SCOPE_GLOBAL))
        fail(v, "tir-E103", "`%s` is in a scope that is not allowed here", b->name);
    if (b->dtype.lanes == 0 || (b->dtype.lanes > 1 && (!flat || b->scope != TN_SCOPE_REGISTER)))
        fail(v, "tir-E103", "`%s` holds vectors; only registers do, after lowering", b->name);
    if (tn_dtype_is_index(b->dtype) || b->dtype.code == TN_HANDLE)
        fail(v, "tir-E103", "`%s` must hold numbers of a data type, not index or handles", b->name);
    if (flat && (b->layout || b->ndim != 1))
        fail(v, "tir-E103", "`%s` must have one dimension and no layout after lowering", b->name);
    if (b->ndim > TN_TIR_DIMS) {
        fail(v, "tir-E103", "`%s` has more than %d dimensions", b->name, TN_TIR_DIMS);
        return;
    }
    if (b->layout && b->layout->ndim != b->ndim)
        fail(v, "tir-E103", "the layout of `%s` has %u dimensions, but it has %u", b->name, b->layout->ndim,
             b->ndim);
    if (b->layout && b->layout->fill == TN_FILL_VALUE && (b->param < 0 || b->written))
        fail(v, "tir-E103", "the layout of `%s` has a fill; only an input can have one", b->name);
    if (b->constant && (b->param < 0 || b->written))
        fail(v, "tir-E103", "`%s` is constant; only an input can be", b->name);
    check_dims(v, b);
    check_size(v, b);
}

static void check_params(verifier *v)
{
    const tn_func *f = v->f;
    bool outputs = false;
    for (uint32_t i = 0; i < f->n_param; i++) {
        if (f->param[i] >= f->n_buffer || f->buffer[f->param[i]].param != (int32_t)i) {
            fail(v, "tir-E103", "parameter %u is not a buffer marked as a parameter", i);
            continue;
        }
        if (outputs && !f->buffer[f->param[i]].written)
            fail(v, "tir-E103", "the input `%s` comes after an output", f->buffer[f->param[i]].name);
        outputs = outputs || f->buffer[f->param[i]].written;
        v->buffer[f->param[i]] = true;
    }
}

static void check_symbols(verifier *v)
{
    for (uint32_t i = 0; i < v->f->n_symbol; i++) {
        const tn_symbol_range *r = &v->f->symbol[i];
        if (!tn_tir_is_name(r->name))
            fail(v, "tir-E113", "`%s` cannot be the name of a symbol", r->name);
        if (r->min > r->max)
            fail(v, "tir-E113", "the range of the symbol `%s` is empty", r->name);
        tn_facts_range(&v->facts, tn_sym(v->f->pool, r->name), r->min, r->max);
    }
}

tn_status tn_func_verify(const tn_func *f)
{
    verifier v = {.f = (tn_func *)(uintptr_t)f};
    tn_arena arena;
    tn_arena_init(&arena);
    v.var = TN_NEW_N(&arena, bool, f->n_var);
    v.buffer = TN_NEW_N(&arena, bool, f->n_buffer);
    v.task = TN_NEW_N(&arena, uint32_t, f->n_buffer);
    tn_facts_init(&v.facts);
    check_symbols(&v);
    for (uint32_t i = 0; i < f->n_buffer; i++)
        check_buffer(&v, i);
    check_params(&v);
    check_list(&v, &f->body);
    tn_facts_deinit(&v.facts);
    tn_vec_deinit(&v.vars);
    tn_vec_deinit(&v.buffers);
    tn_vec_deinit(&v.blocks);
    tn_arena_deinit(&arena);
    return v.faults ? TN_FAIL : TN_OK;
}
