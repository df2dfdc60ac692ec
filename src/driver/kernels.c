/* The kernels of a fused module: from groups to scheduled and flat TIR.
 *
 * Every kernel has a child of the build's context, in which all its work is done, by whichever thread takes
 * it. Meanwhile the build's context is frozen. Then the build takes over, in the order of kernels, what
 * others look at: reports, guards, sizes of work memory. So nothing that comes out depends on the number of
 * threads.
 *
 * Equal kernels are made once. Calls of equal groups are found before any work is done, equal TIR of groups that differ
 * after it; the first call in the order of the program gives name and nodes. */
#include "base/thread.h"
#include "driver/driver.h"
#include "op/core/core.h"

#include <string.h>

typedef tn_status make_fn(tn_build *b, tn_group *g);

/* ---- children ---- */

static void open_children(tn_build *b, uint32_t n, tn_group group[])
{
    b->child = TN_NEW_N(&b->arena, tn_child, n);
    b->n_child = n;
    tn_graph_index(&b->graph);
    tn_ctx_freeze(b->ctx);
    for (uint32_t i = 0; i < n; i++) {
        tn_child *c = group[i].child = &b->child[i];
        tn_ctx_child_init(&c->ctx, b->ctx);
        tn_arena_init(&c->arena);
        tn_pool_init(&c->pool, &c->ctx, &c->arena, &b->pool);
        tn_graph_view(&c->graph, &b->graph, &c->ctx, &c->arena, &c->pool);
    }
    tn_ctx_thaw(b->ctx);
}

static void child_deinit(tn_child *c)
{
    tn_arena_deinit(&c->arena);
    tn_ctx_deinit(&c->ctx);
}

void tn_kernels_drop(tn_build *b)
{
    for (uint32_t i = 0; i < b->n_child; i++)
        child_deinit(&b->child[i]);
}

/* ---- all kernels at once ---- */

typedef struct {
    tn_build *b;
    const char *stage;
    make_fn *make;
    uint32_t n;
    tn_group *group;
    atomic_size_t done;
} work;

static void make_one(void *user, size_t i, unsigned worker)
{
    work *w = user;
    (void)worker;
    w->group[i].child->status = w->make(w->b, &w->group[i]);
    tn_progress_say(w->b, w->stage, 1 + atomic_fetch_add(&w->done, 1), w->n);
}

static tn_status take_over(tn_build *b, tn_group *g)
{
    tn_ctx_join(b->ctx, &g->child->ctx);
    for (uint32_t v = 0; v < g->n_variant; v++) {
        tn_flat *flat = &g->flat[v];
        g->guard[v] = g->guard[v] ? tn_expr_import(&b->pool, g->guard[v]) : NULL;
        flat->guard = flat->func ? g->guard[v] : NULL;
        flat->work_bytes = flat->func ? tn_expr_import(&b->pool, flat->work_bytes) : NULL;
    }
    return g->child->status;
}

/* What looks on as passes run sees one kernel after another. */
static bool is_watched(const tenon_options *o)
{
    return o->print_ir_before || o->print_ir_after || o->print_pass_times;
}

static tn_status make_all(tn_build *b, const char *stage, make_fn *make, uint32_t n, tn_group group[])
{
    work w = {.b = b, .stage = stage, .make = make, .n = n, .group = group};
    tn_status st = TN_OK;
    tn_progress_say(b, stage, 0, n);
    tn_graph_index(&b->graph);
    tn_ctx_freeze(b->ctx);
    tn_parallel_for(n, is_watched(&b->opt) ? 1 : tn_build_threads(b), make_one, &w);
    tn_ctx_thaw(b->ctx);
    for (uint32_t i = 0; i < n; i++)
        st |= take_over(b, &group[i]);
    return st;
}

/* ---- groups ---- */

static tn_status lower_te(tn_build *b, tn_group *g, bool no_inlining)
{
    tn_child *c = g->child;
    tn_pass p = tn_pass_context(b);
    p.ctx = &c->ctx;
    p.scratch = &c->arena;
    p.no_inlining = no_inlining;
    return tn_lower_te(&p, &c->graph, g->call, g->name, &c->arena, &g->te);
}

static tn_status make_te(tn_build *b, tn_group *g)
{
    g->name = "f"; /* for all, until it is known which are equal */
    TN_TRY(lower_te(b, g, false));
    g->child->meaning = tn_func_canonical(g->te);
    g->child->hash = tn_func_hash(g->child->meaning);
    return TN_OK;
}

/* Calls in the order of the program, and the groups among them that differ. */
typedef struct {
    tn_map by_hash;   /* of a group -> the first of its hash */
    tn_map functions; /* that were seen */
    tn_vec(tn_group) group;
    tn_vec(tn_call_site) call; /* group: in the list above */
} collector;

static void add_call(collector *c, const tn_node *call)
{
    uint64_t hash = tn_group_hash(call), at;
    bool known = tn_map_get(&c->by_hash, hash, &at);
    if (!known || !tn_group_equal(c->group.at[at].call, call)) {
        at = c->group.n;
        tn_vec_push(&c->group, ((tn_group){.call = call}));
        if (!known)
            tn_map_put(&c->by_hash, hash, at);
    }
    tn_vec_push(&c->call, ((tn_call_site){call, (uint32_t)at}));
}

static void collect_function(tn_build *b, const char *name, collector *c);

/* Depth: that of regions, and of the functions of the module, each of which is entered once. */
static void collect(tn_build *b, const tn_region *r, collector *c)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        if (tn_group_fn(n) && tn_group_renames(n))
            continue; /* no kernel: its result is its operand's memory */
        if (tn_group_fn(n))
            add_call(c, n);
        else
            TN_ASSERT(n->op->fuse == TN_FUSE_NONE); /* FuseOps leaves none, disabled or not */
        if (n->op == &tn_op_global)
            collect_function(b, ((const tn_global_attr *)n->attr)->name, c);
        bool kernel = n->op == &tn_op_fn && ((const tn_fn_attr *)n->attr)->Primitive;
        for (int i = 0; i < n->nregion && !kernel; i++)
            collect(b, n->region[i], c);
    }
}

static void collect_function(tn_build *b, const char *name, collector *c)
{
    const tn_function *f = tn_graph_function(&b->graph, name);
    uint64_t seen;
    if (tn_map_get(&c->functions, tn_map_key(f), &seen))
        return;
    tn_map_put(&c->functions, tn_map_key(f), 1);
    collect(b, f->body, c);
}

static const char *unique_name(tn_build *b, const tn_node *call, tn_strmap *names)
{
    uint64_t known;
    const char *base = tn_arena_printf(&b->arena, "tvmgen_%s_%s",
                                       b->opt.module_name ? b->opt.module_name : "default",
                                       tn_group_name(&b->graph, call)),
               *name = base;
    for (int i = 1; tn_strmap_get(names, name, strlen(name), &known); i++)
        name = tn_arena_printf(&b->arena, "%s_%d", base, i);
    tn_strmap_put(names, name, strlen(name), 1);
    return name;
}

/* Groups of equal TIR are one kernel, which gets its name. */
static void settle_groups(tn_build *b, collector *c)
{
    tn_map by_hash = {0};
    tn_strmap names = {0};
    tn_pool pool; /* to compare in */
    tn_pool_init(&pool, b->ctx, &b->scratch, &b->pool);
    uint32_t *number = TN_NEW_N(&b->arena, uint32_t, c->group.n);
    for (uint32_t i = 0; i < c->group.n; i++) {
        tn_group *g = &c->group.at[i];
        uint64_t known;
        bool hashed = tn_map_get(&by_hash, g->child->hash, &known);
        if (hashed && tn_func_same(b->groups.at[known].child->meaning, g->child->meaning, &pool)) {
            child_deinit(g->child);
        } else {
            known = b->groups.n;
            if (!hashed)
                tn_map_put(&by_hash, g->child->hash, known);
            g->name = g->te->name = unique_name(b, g->call, &names);
            g->source = g->te->source;
            g->n_in = g->te->n_param - g->call->nout;
            g->n_out = g->call->nout;
            tn_vec_push(&b->groups, *g);
        }
        number[i] = (uint32_t)known;
    }
    for (size_t i = 0; i < c->call.n; i++)
        tn_vec_push(&b->calls, ((tn_call_site){c->call.at[i].call, number[c->call.at[i].group]}));
    tn_map_deinit(&by_hash);
    tn_strmap_deinit(&names);
    tn_arena_reset(&b->scratch);
}

/* Parameters that are constants in every call. Input 0 of a call is the function. */
static void mark_constants(tn_build *b)
{
    for (size_t i = 0; i < b->groups.n; i++) {
        const tn_func *f = b->groups.at[i].te;
        for (uint32_t k = 0; k < b->groups.at[i].n_in; k++)
            f->buffer[f->param[k]].constant = true;
    }
    for (size_t i = 0; i < b->calls.n; i++) {
        const tn_node *call = b->calls.at[i].call;
        const tn_group *g = &b->groups.at[b->calls.at[i].group];
        for (uint32_t k = 0; k < g->n_in; k++) {
            const tn_node *x = call->in[k + 1].def;
            g->te->buffer[g->te->param[k]].constant &= x && tn_op_is(x, &tn_op_constant) && x->blob;
        }
    }
}

tn_status tn_stage_tir(tn_build *b)
{
    double start = tn_now();
    collector c = {0};
    collect_function(b, "main", &c);
    open_children(b, (uint32_t)c.group.n, c.group.at);
    tn_status st = make_all(b, "tir", make_te, (uint32_t)c.group.n, c.group.at);
    if (st == TN_OK) {
        settle_groups(b, &c);
        mark_constants(b);
    }
    tn_map_deinit(&c.by_hash);
    tn_map_deinit(&c.functions);
    tn_vec_deinit(&c.group);
    tn_vec_deinit(&c.call);
    b->seconds.tir = tn_now() - start;
    return st;
}

/* ---- schedule and lower ---- */

/* ---- forms ----
 * A kernel that a later door refuses is made again in a plainer form. What was said of the form before is for the
 * authors, not for users: it goes away, and a warning names the model's nodes. */

static tn_status lower_variant(tn_build *b, tn_group *g, uint32_t v)
{
    tn_func *f = tn_func_clone(g->sched[v].func, &g->child->arena, &g->child->pool);
    g->flat[v] = (tn_flat){0};
    TN_TRY(tn_lower_step(b, f, &g->flat[v]));
    g->flat[v].guard = g->guard[v];
    return tn_func_verify(f);
}

/* Have all variants the constants in the same layouts? */
static bool same_layouts(const tn_group *g)
{
    const tn_func *first = g->n_variant ? g->sched[0].func : NULL;
    bool same = true;
    for (uint32_t v = 1; v < g->n_variant; v++)
        for (uint32_t i = 0; i < g->n_in; i++) {
            const tn_func *f = g->sched[v].func;
            const tn_buffer *x = &first->buffer[first->param[i]], *y = &f->buffer[f->param[i]];
            same &= x->laid_out == y->laid_out && (!x->laid_out || x->layout == y->layout);
        }
    return same;
}

static tn_status schedule_form(tn_build *b, tn_group *g)
{
    tn_arena *arena = &g->child->arena;
    g->guard = TN_NEW_N(arena, const tn_expr *, TN_MAX_VARIANTS);
    g->base = TN_NEW_N(arena, const tn_func *, TN_MAX_VARIANTS);
    g->is_tile = TN_NEW_N(arena, bool, TN_MAX_VARIANTS);
    g->sched = TN_NEW_N(arena, tn_sched, TN_MAX_VARIANTS);
    g->flat = TN_NEW_N(arena, tn_flat, TN_MAX_VARIANTS);
    g->n_variant = g->n_recorded = 0;
    if (g->form == TN_FORM_SCHEDULED) {
        tn_variants_make(b, g);
        if (!same_layouts(g)) { /* of constants: the kernel gets them in one */
            for (uint32_t i = 0; i < g->te->n_param; i++)
                g->te->buffer[g->te->param[i]].constant = false;
            g->n_variant = g->n_recorded = 0;
            tn_variants_make(b, g);
        }
    } else {
        if (g->form == TN_FORM_PLAIN)
            TN_TRY(lower_te(b, g, true));
        g->n_variant = 1;
        g->guard[0] = NULL;
        g->base[0] = g->te;
        tn_rule_serial(&g->sched[0], g->te, &b->machine, &g->child->arena, &g->child->pool);
    }
    for (uint32_t v = 0; v < g->n_variant; v++)
        TN_TRY(tn_func_verify(g->sched[v].func));
    return TN_OK;
}

static tn_status make_form(tn_build *b, tn_group *g, bool lower)
{
    if (g->n_variant == 0)
        TN_TRY(schedule_form(b, g));
    for (uint32_t v = 0; lower && v < g->n_variant; v++)
        TN_TRY(lower_variant(b, g, v));
    return TN_OK;
}

/* Makes the first form that nobody refuses, from the group's present one on. */
static tn_status settle_form(tn_build *b, tn_group *g, bool lower)
{
    tn_ctx *ctx = &g->child->ctx;
    tn_loc loc = {.node = *g->source ? g->source : NULL};
    int64_t refused = tn_pass_config_int(&b->pass_options, TN_CONFIG_REFUSE_FORMS);
    size_t n_diag = ctx->n_diag;
    uint8_t first = g->form;
    while (g->form < refused || make_form(b, g, lower) != TN_OK) {
        const char *id = ctx->n_diag > n_diag ? ctx->diag[ctx->n_diag - 1].id : "refused";
        tn_diag_rewind(ctx, n_diag);
        g->n_variant = 0;
        if (b->has_records && !g->no_records) {
            g->no_records = true;
            continue;
        }
        if (++g->form == TN_N_FORMS)
            return tn_error(ctx, "driver-E012", &loc,
                            "internal error: Tenon cannot make code for this part of the model (%s, %s); "
                            "please report it",
                            g->name, id);
    }
    return g->form == first
               ? TN_OK
               : tn_report(ctx, TN_WARNING, "driver-W001", &loc,
                           "this part of the model runs as plain loops, which is slow; please report it");
}

static tn_status settle_scheduled(tn_build *b, tn_group *g) { return settle_form(b, g, false); }
static tn_status settle_flat(tn_build *b, tn_group *g) { return settle_form(b, g, true); }

tn_status tn_stage_schedule(tn_build *b)
{
    double start = tn_now();
    TN_TRY(tn_records_open(b));
    tn_status st = make_all(b, "schedule", settle_scheduled, (uint32_t)b->groups.n, b->groups.at);
    b->seconds.schedule = tn_now() - start;
    return st;
}

tn_status tn_stage_lower(tn_build *b)
{
    double start = tn_now();
    tn_status st = make_all(b, "lower", settle_flat, (uint32_t)b->groups.n, b->groups.at);
    if (st == TN_OK) /* no kernel is made again from now on */
        st = tn_constants_lay_out(b);
    b->seconds.lower = tn_now() - start;
    return st;
}
