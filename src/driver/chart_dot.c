/* A chart for Graphviz, which places it itself. */
#include "driver/chart.h"

#include <string.h>

static const char *const fill[] = {"white",   "#dbe7ff", "#dcf5e4", "#eadffb",
                                   "#fff1cf", "#e8ecf1", "#fde2ea", "#ffe3d6"};

typedef struct {
    tn_buf *out;
    uint32_t next;
    tn_map first;
} printer; /* id of a chart -> number of its first box */

static void quote(const char *text, tn_buf *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            tn_buf_char(out, '\\');
        if (*text == '\n')
            tn_buf_str(out, "\\n");
        else
            tn_buf_char(out, *text);
    }
}

static uint64_t number(const printer *p, const tn_chart *c, uint32_t box)
{
    uint64_t first = 0;
    tn_map_get(&p->first, c->id, &first);
    return first + box;
}

/* A frame has no node of its own in Graphviz: lines end at a node in it, and are cut at its border. */
static uint64_t anchor(const printer *p, const tn_chart *c, uint32_t box, bool last)
{
    while (c->box.at[box].inner && c->box.at[box].inner->box.n) {
        c = c->box.at[box].inner;
        box = last ? (uint32_t)c->box.n - 1 : 0;
    }
    return number(p, c, box);
}

static void print_boxes(printer *p, const tn_chart *c, int indent)
{
    tn_map_put(&p->first, c->id, p->next);
    uint32_t first = p->next;
    p->next += (uint32_t)c->box.n;
    for (uint32_t i = 0; i < c->box.n; i++) {
        const tn_chart_box *b = &c->box.at[i];
        tn_buf_fill(p->out, ' ', (size_t)indent);
        if (b->inner && b->inner->box.n) {
            tn_buf_printf(p->out, "subgraph cluster_%u {\n%*slabel=\"", first + i, indent + 2, "");
            quote(b->title, p->out);
            tn_buf_str(p->out, "\"; style=rounded; color=\"#c3cedd\"; bgcolor=white\n");
            print_boxes(p, b->inner, indent + 2);
            tn_buf_printf(p->out, "%*s}\n", indent, "");
            continue;
        }
        tn_buf_printf(p->out, "n%u [label=\"", first + i);
        quote(b->title, p->out);
        for (int k = 0; k < 2; k++)
            if (b->line[k])
                tn_buf_str(p->out, "\\n"), quote(b->line[k], p->out);
        tn_buf_printf(p->out, "\", fillcolor=\"%s\", tooltip=\"", fill[b->family]);
        quote(b->tip, p->out);
        tn_buf_str(p->out, "\"]\n");
    }
}

static void print_edges(printer *p, const tn_chart *c)
{
    for (size_t i = 0; i < c->edge.n; i++) {
        const tn_chart_edge *e = &c->edge.at[i];
        tn_buf_printf(p->out, "  n%u -> n%u [label=\"", (unsigned)anchor(p, c, e->from, true),
                      (unsigned)anchor(p, c, e->to, false));
        quote(e->labelled ? e->label : "", p->out);
        tn_buf_char(p->out, '"');
        if (c->box.at[e->from].inner)
            tn_buf_printf(p->out, ", ltail=cluster_%u", (unsigned)number(p, c, e->from));
        if (c->box.at[e->to].inner)
            tn_buf_printf(p->out, ", lhead=cluster_%u", (unsigned)number(p, c, e->to));
        tn_buf_str(p->out, "]\n");
    }
    for (size_t i = 0; i < c->box.n; i++)
        if (c->box.at[i].inner)
            print_edges(p, c->box.at[i].inner);
}

void tn_chart_dot(const tn_chart *c, const char *title, tn_buf *out)
{
    printer p = {.out = out};
    tn_buf_str(out, "digraph model {\n  label=\"");
    quote(title, out);
    tn_buf_str(out,
               "\"; labelloc=t; compound=true; bgcolor=\"#fafbfd\"; fontname=\"Helvetica\"\n"
               "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, "
               "color=\"#64748b\"]\n"
               "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#94a3b8\", fontcolor=\"#64748b\"]\n");
    print_boxes(&p, c, 2);
    print_edges(&p, c);
    tn_buf_str(out, "}\n");
    tn_map_deinit(&p.first);
}
