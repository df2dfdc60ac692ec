/* tenon_module_view: the graph before and after fusion as one page. */
#include "driver/api.h"
#include "driver/chart.h"

#include <string.h>

typedef struct {
    uint32_t n;
    const tenon_kernel_time *time;
} view_call;

/* Depth: that of the charts. */
static bool shows(const tn_chart *c, const char *node)
{
    for (size_t i = 0; i < c->box.n; i++) {
        const tn_chart_box *x = &c->box.at[i];
        if ((x->node && strcmp(x->node, node) == 0) || (x->inner && shows(x->inner, node)))
            return true;
    }
    return false;
}

/* Times of a package that was made of another model are of no kernel here. */
static tn_status check_times(tn_build *b, const tn_chart *c, const tn_chart_page *p)
{
    for (uint32_t i = 0; i < p->n_time; i++)
        if (shows(c, p->time[i].node))
            return TN_OK;
    return p->n_time ? tn_error(b->ctx, "driver-E196", NULL,
                                "%s has no kernel that was timed; give a package of this model", p->title)
                     : TN_OK;
}

static tn_status view(tenon *t, void *user)
{
    tn_build *b = &t->build;
    const view_call *c = user;
    const char *file = b->model ? b->model : "", *slash = strrchr(file, '/');
    tn_chart_page p = {.title = slash ? slash + 1 : file, .label = {"before fusion", "after fusion"}};
    tn_chart_time *time = TN_NEW_N(&b->arena, tn_chart_time, c->n);
    tn_chart *chart[2];
    for (uint32_t i = 0; i < c->n; i++)
        time[i] = (tn_chart_time){c->time[i].nodes, c->time[i].kernel, (double)c->time[i].nanoseconds / 1e3};
    p.n_time = c->n;
    p.time = time;
    TN_TRY(tn_target_parse(b));
    chart[0] = tn_chart_make(&b->graph, &b->arena, true);
    tn_chart_layout(chart[0], &b->arena);
    TN_TRY(tn_stage_graph(b));
    chart[1] = tn_chart_make(&b->graph, &b->arena, true);
    tn_chart_layout(chart[1], &b->arena);
    for (int i = 0; i < 2; i++)
        p.chart[i] = chart[i];
    tn_status st = check_times(b, chart[1], &p);
    if (st == TN_OK)
        tn_chart_html(&p, &t->text);
    for (int i = 0; i < 2; i++)
        tn_chart_deinit(chart[i]);
    return st;
}

int tenon_module_view(tenon_module *m, const tenon_options *o, uint32_t n, const tenon_kernel_time time[],
                      const char **out_html)
{
    int failed = tn_module_call(m, o, view, &(view_call){n, time});
    *out_html = failed ? "" : tn_buf_cstr(&m->object.session->text);
    return failed;
}
