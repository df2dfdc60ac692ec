/* The pipelines, read top to bottom.
 *
 *   model file
 *     import       frontend: Relay, typed
 *     graph        the passes below: Relay, fused
 *     tir          each distinct group: one TIR function of blocks
 *     schedule     the built-in rule's trace applied; a second variant for dimension 1 where a dimension is symbolic
 *     lower        flat TIR
 *     program      slots, instructions, memory plan
 *   unit -> code generator -> package
 */
#include "driver/driver.h"
#include "op/core/core.h"
#include "tenon/runtime.h"

#include <stdlib.h>
#include <string.h>

const char *const tn_graph_pipeline[] = {
    "InferType",
    "FakeQuantizationToInteger", /* quantised networks compute on integers */
    "DynamicToStatic",           /* extents known now are attributes */
    "Legalize",
    "SimplifyInference", /* operators with an expansion are gone */
    "FoldConstant",      /* nothing that depends on constants only is left to run time */
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "FoldConstant",
    "SimplifyExpr", /* no identities; elementwise operators stand before transposes and reshapes */
    "FoldConstant",
    "FoldScaleAxis", /* batch normalisation is in the weights */
    "FoldConstant",
    "ToMixedPrecision", /* if asked for */
    "SimplifyExpr",
    "CanonicalizeOps",
    "FoldConstant",
    "EliminateCommonSubexpr",
    "CanonicalizeCast", /* casts are part of what reads them */
    "DeadCodeElimination",
    "ChooseAlgorithm", /* each operator is the algorithm that will run */
    "ConvertLayout",   /* if asked for */
    "AlterOpLayout",   /* values have physical layouts */
    "FoldConstant",    /* weights lie in the order their kernel reads them */
    "DeadCodeElimination",
    "FuseOps", /* each call is one kernel */
    "DeadCodeElimination",
    NULL,
};

void tn_progress_say(const tenon_options *o, const char *stage, size_t done, size_t of)
{
    if (o->progress)
        o->progress(o->progress_user, stage, (uint32_t)done, (uint32_t)of);
}

void tn_build_init(tn_build *b, tn_ctx *ctx, const tenon_options *o)
{
    memset(b, 0, sizeof *b);
    b->ctx = ctx;
    if (o)
        b->opt = *o;
    b->opt.opt_level = b->opt.opt_level < 0 ? 0 : b->opt.opt_level ? b->opt.opt_level : 3;
    tn_arena_init(&b->arena);
    tn_arena_init(&b->scratch);
    tn_pool_init(&b->pool, ctx, &b->arena, NULL);
    tn_graph_init(&b->graph, ctx, &b->arena, &b->pool);
}

void tn_build_deinit(tn_build *b)
{
    tn_graph_deinit(&b->graph);
    tn_vec_deinit(&b->groups);
    tn_vec_deinit(&b->calls);
    tn_resource_end(b->params);
    if (b->params_file.at)
        tn_file_unmap(&b->params_file);
    if (b->file.at)
        tn_file_unmap(&b->file);
    tn_arena_deinit(&b->scratch);
    tn_arena_deinit(&b->arena);
}

/* ---- import ---- */

/* " 3 " or " batch "; what stands behind it, NULL: it is neither. */
static char *parse_dim(tn_build *b, const char *at, int64_t *out, const char **out_symbol)
{
    char *end = NULL;
    at += strspn(at, " ");
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    *out_symbol = NULL;
    *out = strtoll(at, &end, 10);
    if (n && !(*at >= '0' && *at <= '9')) {
        *out_symbol = tn_intern_n(b->ctx, at, n);
        end = (char *)(uintptr_t)at + n;
    }
    return end == at ? NULL : end + strspn(end, " ");
}

/* "name:[1, 3, -1] other:[batch, 2]" */
static tn_status parse_shapes(tn_build *b, const char *text, tn_import_options *o)
{
    tn_vec(tn_input_shape) shapes = {0};
    tn_status st = TN_OK;
    while (text && *(text += strspn(text, " \t,")) && st == TN_OK) {
        const char *open = strchr(text, '['), *colon = open;
        while (colon && colon > text && *colon != ':')
            colon--;
        char *end = NULL;
        int64_t dim[8];
        const char *symbol[8];
        uint32_t n = 0;
        bool ok = open && colon > text;
        for (const char *at = ok ? open + 1 : NULL; ok; at = end + 1) {
            end = parse_dim(b, at, &dim[n], &symbol[n]);
            n++;
            ok = end && (*end == ',' || *end == ']') && (n < 8 || *end == ']');
            if (!ok)
                break;
            if (*end == ']')
                break;
        }
        if (!ok) {
            st = tn_error(b->ctx, "driver-E005", NULL,
                          "--input-shapes: cannot read \"%s\"; write name:[1,3,224,224], or "
                          "name:[batch,3,224,224] for a "
                          "dimension that is known in the run only",
                          text);
            break;
        }
        tn_input_shape s = {tn_intern_n(b->ctx, text, (size_t)(colon - text)), n,
                            tn_arena_copy(&b->arena, dim, n * sizeof *dim, 8),
                            tn_arena_copy(&b->arena, symbol, n * sizeof *symbol, 8)};
        tn_vec_push(&shapes, s);
        text = end + 1;
    }
    o->shape =
        tn_arena_copy(&b->arena, shapes.n ? (void *)shapes.at : (void *)"", shapes.n * sizeof *shapes.at, 8);
    o->n_shape = shapes.n;
    tn_vec_deinit(&shapes);
    return st;
}

tn_status tn_stage_import(tn_build *b, const char *model)
{
    double start = tn_now();
    tn_import_options o = {0};
    tn_progress_say(&b->opt, "import", 0, 0);
    b->model = model;
    TN_TRY(parse_shapes(b, b->opt.input_shapes, &o));
    TN_TRY(tn_import_map(b->ctx, model, &b->file));
    const tn_format *format =
        b->opt.model_format ? tn_format_find(b->opt.model_format) : tn_format_guess(model, &b->file);
    if (format && strcmp(format->name, "relay") == 0)
        TN_TRY(tn_params_read(b, model, &o.constant, &o.n_constant));
    TN_TRY(tn_import(&b->graph, model, &b->file, b->opt.model_format, &o));
    if (!tn_graph_function(&b->graph, "main"))
        return tn_error(b->ctx, "relay-E200", &(tn_loc){.file = model}, "there is no function @main");
    tn_names_settle(b);
    b->seconds.import = tn_now() - start;
    return TN_OK;
}

/* ---- graph ---- */

tn_status tn_check_constants(tn_build *b, int64_t most)
{
    size_t n = tn_relay_constants(&b->graph, NULL, 0), had = b->ctx->n_error;
    const tn_node **c = TN_NEW_N(&b->arena, const tn_node *, n);
    tn_relay_constants(&b->graph, c, n);
    for (size_t i = 0; i < n; i++) {
        int64_t count = 0;
        if (c[i]->blob && (c[i]->blob->at || !c[i]->blob->n))
            continue;
        if (tn_is_int(tn_type_count(&b->pool, c[i]->type[0]), &count) && count > most)
            continue;
        (void)tn_error(b->ctx, "relay-E204", c[i]->loc,
                       "the constant %s has no data; read the text together with its .params file",
                       c[i]->name ? c[i]->name : "(unnamed)");
    }
    return b->ctx->n_error == had ? TN_OK : TN_FAIL;
}

tn_status tn_stage_graph(tn_build *b)
{
    double start = tn_now();
    tn_pass p;
    TN_TRY(tn_check_constants(b, 1)); /* single elements become part of the code */
    TN_TRY(tn_passes_init(b));
    p = tn_pass_context(b);
    size_t n_pass = 0;
    while (tn_graph_pipeline[n_pass])
        n_pass++;
    for (size_t i = 0; i < n_pass; i++) {
        tn_progress_say(&b->opt, "graph", i, n_pass);
        TN_TRY(tn_pass_step(b, &p, tn_graph_pipeline[i]));
    }
    tn_file_cool(&b->file);
    b->seconds.graph = tn_now() - start;
    return tn_relay_verify(&b->graph);
}

/* ---- groups ---- */

static tn_function *main_of(tn_build *b) { return tn_graph_function(&b->graph, "main"); }

typedef struct {
    tn_vec(const char *) was;
    size_t at;
    bool restore;
} sources;

static bool swap_source(tn_stmt *s, void *user)
{
    sources *x = user;
    if (s->kind == TN_S_BLOCK && x->restore)
        s->u.block.source = x->was.at[x->at++];
    else if (s->kind == TN_S_BLOCK) {
        tn_vec_push(&x->was, s->u.block.source);
        s->u.block.source = "";
    }
    return true;
}

/* The text of f without the names of model nodes: what f computes. */
static const char *meaning(tn_build *b, tn_func *f)
{
    sources x = {0};
    tn_buf text = {0};
    const char *source = f->source;
    f->source = "";
    tn_stmt_walk(&f->body, swap_source, NULL, &x);
    tn_func_print(f, &text);
    x.restore = true;
    tn_stmt_walk(&f->body, swap_source, NULL, &x);
    f->source = source;
    const char *s = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    tn_vec_deinit(&x.was);
    return s;
}

/* Calls whose function is new get a group; equal functions (as text, under one name) share it. */
static tn_status add_group(tn_build *b, tn_pass *p, const tn_node *call, tn_strmap *by_text, tn_strmap *names)
{
    tn_func *f;
    uint64_t known;
    TN_TRY(tn_lower_te(p, &b->graph, call, "f", &b->arena, &f));
    const char *key = meaning(b, f);
    if (tn_strmap_get(by_text, key, strlen(key), &known)) {
        tn_vec_push(&b->calls, ((tn_call_site){call, (uint32_t)known}));
        return TN_OK;
    }
    const char *base = tn_arena_printf(&b->arena, "tvmgen_%s_%s",
                                       b->opt.module_name ? b->opt.module_name : "default",
                                       tn_group_name(&b->graph, call)),
               *name = base;
    for (int i = 1; tn_strmap_get(names, name, strlen(name), &known); i++)
        name = tn_arena_printf(&b->arena, "%s_%d", base, i);
    tn_strmap_put(names, name, strlen(name), 1);
    tn_strmap_put(by_text, key, strlen(key), b->groups.n);
    f->name = name;
    tn_group g = {.name = name,
                  .source = f->source,
                  .te = f,
                  .call = call,
                  .n_in = f->n_param - call->nout,
                  .n_out = call->nout};
    tn_vec_push(&b->calls, ((tn_call_site){call, (uint32_t)b->groups.n}));
    tn_vec_push(&b->groups, g);
    tn_progress_say(&b->opt, "tir", b->groups.n, 0);
    return TN_OK;
}

static tn_status add_groups(tn_build *b, tn_pass *p, const tn_region *r, tn_strmap *by_text, tn_strmap *names)
{
    for (const tn_node *n = r->first; n; n = n->next) {
        if (tn_group_fn(n) && tn_group_renames(n))
            continue; /* no kernel: its result is its operand's memory */
        if (tn_group_fn(n))
            TN_TRY(add_group(b, p, n, by_text, names));
        else if (n->op == &tn_op_call)
            return tn_error(b->ctx, "driver-E007", n->loc,
                            "a call of a function value cannot be compiled; call a function by its name, "
                            "@f(...), or write its body in place of the call");
        else
            TN_ASSERT(n->op->fuse == TN_FUSE_NONE); /* FuseOps leaves none, disabled or not */
        tn_arena_reset(&b->scratch);
        for (int i = 0; i < n->nregion && n->op != &tn_op_fn; i++)
            TN_TRY(add_groups(b, p, n->region[i], by_text, names));
    }
    return TN_OK;
}

tn_status tn_stage_tir(tn_build *b)
{
    double start = tn_now();
    tn_pass p = tn_pass_context(b);
    tn_strmap by_text = {0}, names = {0};
    tn_status st = add_groups(b, &p, main_of(b)->body, &by_text, &names);
    tn_strmap_deinit(&by_text);
    tn_strmap_deinit(&names);
    b->seconds.tir = tn_now() - start;
    return st;
}

/* ---- schedule and lower ---- */

tn_func *tn_specialise(tn_build *b, const tn_func *f)
{
    tn_func *c = tn_func_clone(f, &b->arena, &b->pool);
    const tn_expr *from = tn_sym(&b->pool, f->symbol[0].name), *to = tn_idx(&b->pool, 1);
    for (tn_stmt *s = c->body.first; s; s = s->next)
        tn_stmt_subst(c, s, 1, &from, &to);
    for (uint32_t i = 0; i < c->n_buffer; i++) {
        const tn_expr **dim = TN_NEW_N(&b->arena, const tn_expr *, c->buffer[i].ndim);
        for (int d = 0; d < c->buffer[i].ndim; d++)
            dim[d] = tn_simplify(&b->pool, NULL, tn_subst(&b->pool, c->buffer[i].dim[d], 1, &from, &to));
        c->buffer[i].dim = dim;
    }
    return c;
}

/* Are the steps of two traces the same text? */
static bool same_steps(const tn_sched *a, const tn_sched *b)
{
    tn_buf x = {0}, y = {0};
    tn_sched p = *a, q = *b;
    p.comment = q.comment = NULL;
    tn_trace_print(&p, &x);
    tn_trace_print(&q, &y);
    bool same = x.n == y.n && (!x.n || memcmp(x.at, y.at, x.n) == 0);
    tn_buf_deinit(&x);
    tn_buf_deinit(&y);
    return same;
}

/* Does 1 leave nothing of some extent, as of what a window of 5 is moved over, or fail a check, as channels in three
 * groups do? */
static bool is_impossible(const tn_func *f)
{
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        if (s->kind == TN_S_CHECK && tn_is_value(tn_simplify(f->pool, NULL, s->u.check.cond), 0))
            return true;
    for (uint32_t i = 0; i < f->n_buffer; i++)
        for (int d = 0; d < f->buffer[i].ndim; d++)
            if (f->buffer[i].dim[d]->kind == TN_E_INT && f->buffer[i].dim[d]->u.i < 1)
                return true;
    return false;
}

/* A variant for dimension 1 stands before the general one where its schedule differs. */
static void schedule_group(tn_build *b, tn_group *g)
{
    tn_pool *p = &b->pool;
    bool symbolic = g->te->n_symbol > 0 && g->te->symbol[0].min <= 1 && !b->opt.no_variants;
    if (symbolic)
        g->base[0] = tn_specialise(b, g->te);
    symbolic = symbolic && !is_impossible(g->base[0]);
    tn_sched *general = &g->sched[symbolic];
    tn_rule_apply(general, g->te, &b->machine, &b->arena, p);
    g->n_variant = 1;
    g->base[symbolic] = g->te;
    if (!symbolic)
        return;
    tn_rule_apply(&g->sched[0], g->base[0], &b->machine, &b->arena, p);
    if (same_steps(&g->sched[0], general)) {
        g->sched[0] = *general;
        g->base[0] = g->te;
        return;
    }
    const tn_expr *n = tn_sym(p, g->te->symbol[0].name), *yes = tn_idx(p, 1);
    g->guard[0] = tn_select(p, tn_eq(p, n, yes), yes, tn_idx(p, 0));
    g->n_variant = 2;
}

/* ---- forms ----
 * A kernel that a later door refuses is made again in a plainer form. What was said of the form before is for the
 * authors, not for users: it goes away, and a warning names the model's nodes. */

static tn_status lower_variant(tn_build *b, tn_group *g, uint32_t v)
{
    tn_func *f = tn_func_clone(g->sched[v].func, &b->arena, &b->pool);
    g->flat[v] = (tn_flat){0};
    TN_TRY(tn_lower_step(b, f, &g->flat[v]));
    g->flat[v].guard = g->guard[v];
    return tn_func_verify(f);
}

static tn_status make_plain(tn_build *b, tn_group *g)
{
    tn_pass p = tn_pass_context(b);
    tn_func *f;
    p.no_inlining = true;
    TN_TRY(tn_lower_te(&p, &b->graph, g->call, g->name, &b->arena, &f));
    tn_arena_reset(&b->scratch);
    g->te = f;
    return TN_OK;
}

static tn_status schedule_form(tn_build *b, tn_group *g)
{
    if (g->form == TN_FORM_SCHEDULED) {
        schedule_group(b, g);
    } else {
        if (g->form == TN_FORM_PLAIN)
            TN_TRY(make_plain(b, g));
        g->n_variant = 1;
        g->guard[0] = NULL;
        g->base[0] = g->te;
        tn_rule_serial(&g->sched[0], g->te, &b->machine, &b->arena, &b->pool);
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
    tn_loc loc = {.node = *g->source ? g->source : NULL};
    int64_t refused = tn_pass_config_int(&b->pass_options, TN_CONFIG_REFUSE_FORMS);
    size_t n_diag = b->ctx->n_diag;
    uint8_t first = g->form;
    while (g->form < refused || make_form(b, g, lower) != TN_OK) {
        const char *id = b->ctx->n_diag > n_diag ? b->ctx->diag[b->ctx->n_diag - 1].id : "refused";
        tn_diag_rewind(b->ctx, n_diag);
        g->n_variant = 0;
        if (++g->form == TN_N_FORMS)
            return tn_error(b->ctx, "driver-E012", &loc,
                            "internal error: Tenon cannot make code for this part of the model (%s, %s); "
                            "please report it",
                            g->name, id);
    }
    return g->form == first
               ? TN_OK
               : tn_report(b->ctx, TN_WARNING, "driver-W001", &loc,
                           "this part of the model runs as plain loops, which is slow; please report it");
}

tn_status tn_stage_schedule(tn_build *b)
{
    double start = tn_now();
    for (size_t i = 0; i < b->groups.n; i++) {
        tn_progress_say(&b->opt, "schedule", i, b->groups.n);
        TN_TRY(settle_form(b, &b->groups.at[i], false));
    }
    b->seconds.schedule = tn_now() - start;
    return TN_OK;
}

tn_status tn_stage_lower(tn_build *b)
{
    double start = tn_now();
    for (size_t i = 0; i < b->groups.n; i++) {
        tn_progress_say(&b->opt, "lower", i, b->groups.n);
        TN_TRY(settle_form(b, &b->groups.at[i], true));
    }
    b->seconds.lower = tn_now() - start;
    return TN_OK;
}
