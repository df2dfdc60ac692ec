/* What each kernel of a model costs, about, and which of them are slow for a reason that the user may do something
 * about. Times are estimates from the arithmetic and the memory of a kernel and the machine's numbers: they say which
 * part of the model matters, not how long it takes. */
#include "driver/api.h"
#include "op/op.h"

#include <string.h>

/* Symbols have their smallest value, and 1 where that is 0. */
static const tn_expr *with_smallest(tn_pool *p, const tn_expr *e, void *user)
{
    tn_build *b = user;
    if (e->kind != TN_E_SYM)
        return NULL;
    const tn_symbol_info *s = tn_graph_find_symbol(&b->graph, e->u.s);
    return tn_idx(p, s && s->min > 1 ? s->min : 1);
}

static double value_of(tn_build *b, const tn_expr *e)
{
    int64_t v;
    if (!e || !tn_is_int(tn_simplify(&b->pool, NULL, tn_rewrite(&b->pool, e, with_smallest, b)), &v))
        return 0;
    return (double)v;
}

typedef struct cost {
    double floats, narrow, integers, bytes, elements;
} cost;

static cost cost_of(tn_build *b, const tn_func *f, const tn_expr *const n[TN_N_OPERATIONS])
{
    cost c = {0};
    c.floats = value_of(b, tn_expr_import(&b->pool, n[TN_OPERATIONS_FLOAT]));
    c.narrow = value_of(b, tn_expr_import(&b->pool, n[TN_OPERATIONS_BFLOAT16]));
    c.integers = value_of(b, tn_expr_import(&b->pool, n[TN_OPERATIONS_INTEGER]));
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *x = &f->buffer[f->param[i]];
        double count = 1;
        for (int d = 0; d < x->ndim; d++)
            count *= value_of(b, tn_expr_import(&b->pool, x->dim[d]));
        c.elements += count;
        c.bytes += count * tn_dtype_bytes(x->dtype);
    }
    return c;
}

static double larger(double a, double b) { return a > b ? a : b; }

static double seconds_of(const tn_build *b, const cost *c, bool serial)
{
    const tn_machine *m = &b->machine;
    if (serial) /* a few operations on each element, one after the other */
        return larger(c->floats + c->narrow + c->integers, 2 * c->elements) / (m->clock_ghz * 1e9);
    const double usual = 0.7, cores = m->cores; /* share of the peak */
    double narrow = larger(m->bf16_gflops, m->peak_gflops), integers = larger(m->int8_gops, m->peak_gflops);
    double work = c->floats / m->peak_gflops + c->narrow / narrow + c->integers / integers;
    double reads = c->bytes <= (double)m->l2_bytes   ? m->l2_gb_s
                   : c->bytes <= (double)m->l3_bytes ? m->l3_gb_s
                                                     : m->mem_gb_s;
    return larger(work / (usual * cores), c->bytes / (reads * (cores > 2 ? 2 : cores))) / 1e9;
}

/* ---- text ---- */

/* Operators of a group, but for those that are its frame. */
static const char *operators_of(tn_build *b, const tn_node *call, bool *out_light)
{
    tn_buf text = {0};
    const tn_node *fn = tn_group_fn(call);
    *out_light = true;
    for (const tn_node *n = fn->region[0]->first; n; n = n->next) {
        if (n->op == &tn_op_var || n->op == &tn_op_constant || n->op->fuse == TN_FUSE_NONE)
            continue;
        tn_buf_printf(&text, "%s%s", text.n ? ", " : "", n->op->name);
        *out_light = *out_light && n->op->fuse <= TN_FUSE_INJECTIVE;
    }
    const char *s = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

static void add_nodes(tn_buf *text, const char *nodes)
{
    if (*nodes)
        tn_buf_printf(text, "%s%s", text->n ? ", " : "", nodes);
}

typedef struct kind {
    bool serial; /* loops as they are, on one core */
    bool light;  /* of operators that another kernel could have taken in */
} kind;

static void judge(const tn_group *g, kind k, double share, tenon_kernel_report *r)
{
    const double matters = 0.05, short_seconds = 5e-6; /* what a call costs in any case */
    if (g->form != TN_FORM_SCHEDULED) {
        r->problem = "Tenon failed to schedule it, so it runs as plain loops on one core";
        r->advice = "please report it, with the model or with what `dump --stage tir` prints";
    } else if (k.serial) {
        r->problem = "no built-in schedule fits, so its loops run as they are, on one core";
        r->advice = "where its share is large, replace these operators, or report them";
    } else if (k.light && share >= matters && r->seconds >= short_seconds) {
        r->problem = "it is not fused with an operator that computes more, so memory limits it";
        r->advice = "`dump --stage relay-fused` shows its neighbours; a value with one reader can be fused";
    }
}

static kind report_group(tn_build *b, uint32_t i, tenon_kernel_report *r)
{
    const tn_group *g = &b->groups.at[i];
    const tn_sched *s = &g->sched[g->n_variant - 1];
    tn_buf nodes = {0};
    kind k = {0};
    *r = (tenon_kernel_report){.name = g->name, .schedule = s->comment ? s->comment : ""};
    k.serial = g->form != TN_FORM_SCHEDULED || strncmp(r->schedule, "rule serial", 11) == 0;
    for (size_t c = 0; c < b->calls.n; c++)
        if (b->calls.at[c].group == i) {
            add_nodes(&nodes, tn_group_source(&b->graph, b->calls.at[c].call));
            r->n_call++;
        }
    r->nodes = tn_arena_strdup(&b->arena, tn_buf_cstr(&nodes));
    tn_buf_deinit(&nodes);
    r->operators = operators_of(b, g->call, &k.light);
    cost c = cost_of(b, g->te, b->kernel[i].operations);
    r->seconds = r->n_call * seconds_of(b, &c, k.serial);
    return k;
}

/* ---- operators of the host ---- */

typedef struct lister {
    tn_pass pass;
    tn_vec(tenon_host_report) host;
} lister;

static tn_status list_host(tn_pass *p, tn_graph *g, tn_region *r)
{
    lister *l = (lister *)(void *)p;
    (void)g;
    for (const tn_node *n = r->first; n; n = n->next)
        if (n->op->host) {
            const char *name = n->loc && n->loc->node ? n->loc->node : "";
            const char *op = n->loc && n->loc->op ? n->loc->op : n->op->name;
            tn_vec_push(&l->host, ((tenon_host_report){name, op, n->op->host}));
        }
    return TN_OK;
}

static tn_status add_host(tn_build *b, tenon_check_report *out)
{
    lister l = {.pass = tn_pass_context(b)};
    tn_status st = tn_pass_regions(&l.pass, &b->graph, list_host);
    tenon_host_report *at = TN_NEW_N(&b->arena, tenon_host_report, l.host.n);
    if (l.host.n)
        memcpy(at, l.host.at, l.host.n * sizeof *at);
    out->host = at;
    out->n_host = (uint32_t)l.host.n;
    tn_vec_deinit(&l.host);
    return st;
}

static tn_status check_kernels(tenon *t, void *user)
{
    tn_build *b = &t->build;
    tenon_check_report *out = user;
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_stage_kernels(b));
    tenon_kernel_report *r = TN_NEW_N(&b->arena, tenon_kernel_report, b->groups.n);
    kind *k = TN_NEW_N(&b->arena, kind, b->groups.n);
    double sum = 0;
    for (uint32_t i = 0; i < b->groups.n; i++) {
        k[i] = report_group(b, i, &r[i]);
        sum += r[i].seconds;
    }
    for (uint32_t i = 0; i < b->groups.n; i++)
        judge(&b->groups.at[i], k[i], sum > 0 ? r[i].seconds / sum : 0, &r[i]);
    *out = (tenon_check_report){.n_kernel = (uint32_t)b->groups.n, .kernel = r, .seconds = sum};
    return add_host(b, out);
}

int tenon_check_kernels(tenon_module *m, const tenon_options *o, tenon_check_report *out)
{
    *out = (tenon_check_report){0};
    return tn_module_call(m, o, check_kernels, out);
}
