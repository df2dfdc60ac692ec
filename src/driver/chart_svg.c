/* A placed chart as SVG: it needs nothing but a viewer, and its texts can be searched and copied. */
#include "driver/chart.h"

#include <string.h>

static const char style[] =
    "text{font-family:'Inter','Segoe UI','Helvetica Neue',Helvetica,Arial,'Liberation "
    "Sans',sans-serif;fill:#1f2a37}\n"
    ".t{font-size:13px;font-weight:600}.l{font-size:11px;fill:#516072}.s{font-size:10px;fill:#64748b;stroke:#"
    "fff;"
    "stroke-width:3px;stroke-linejoin:round;paint-order:stroke}.h{font-size:11px;font-weight:600;fill:#"
    "64748b}\n"
    ".e{fill:none;stroke:#94a3b8;stroke-width:1.4}.far{stroke-dasharray:3 3}.a{fill:#94a3b8}\n"
    ".b{stroke-width:1.2}.g{fill:#fff;stroke:#c3cedd;stroke-width:1.2}\n"
    ".f0{fill:#fff;stroke:#475569}.f1{fill:#dbe7ff;stroke:#5b84e0}.f2{fill:#dcf5e4;stroke:#4caf75}"
    ".f3{fill:#eadffb;stroke:#9569d6}.f4{fill:#fff1cf;stroke:#d9a53a}.f5{fill:#e8ecf1;stroke:#94a3b8}"
    ".f6{fill:#fde2ea;stroke:#db6f8e}.f7{fill:#ffe3d6;stroke:#e0804f}\n";

void tn_chart_escape(const char *text, tn_buf *out)
{
    for (; *text; text++)
        if (*text == '<')
            tn_buf_str(out, "&lt;");
        else if (*text == '&')
            tn_buf_str(out, "&amp;");
        else if (*text == '"')
            tn_buf_str(out, "&quot;");
        else if (*text == '\n' || (unsigned char)*text >= ' ')
            tn_buf_char(out, *text);
}

static void text_at(double x, double y, const char *class, const char *text, tn_buf *out)
{
    tn_buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"", class, x, y);
    tn_buf_str(out, *class == 's' || *class == 'h' ? ">" : " text-anchor=\"middle\">");
    tn_chart_escape(text, out);
    tn_buf_str(out, "</text>");
}

static void print_edge(const tn_chart_edge *e, double x, double y, tn_buf *out)
{
    const tn_chart_point *p = e->point, *end = &p[e->n_point - 1];
    tn_buf_printf(out, "<path class=\"e%s\" d=\"M%.1f %.1f", e->far ? " far" : "", x + p->x, y + p->y);
    for (uint32_t i = 1; i < e->n_point; i++) {
        double bend = (p[i].y - p[i - 1].y) / 2;
        if (p[i].x == p[i - 1].x)
            tn_buf_printf(out, "L%.1f %.1f", x + p[i].x, y + p[i].y);
        else
            tn_buf_printf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", x + p[i - 1].x, y + p[i - 1].y + bend,
                          x + p[i].x, y + p[i].y - bend, x + p[i].x, y + p[i].y);
    }
    tn_buf_printf(out, "\"/><path class=\"a\" d=\"M%.1f %.1fl-4 -7h8z\"/>\n", x + end->x, y + end->y);
}

static void print_chart(const tn_chart *c, double x, double y, tn_buf *out);

static void print_box(const tn_chart_box *b, double x, double y, tn_buf *out)
{
    const double left = x + b->x, top = y + b->y, middle = left + b->width / 2;
    tn_buf_str(out, b->kernel ? "<g class=\"n k\" data-n=\"" : "<g class=\"n\" data-n=\"");
    tn_chart_escape(b->node ? b->node : "", out);
    tn_buf_str(out, "\"><title>");
    tn_chart_escape(b->tip, out);
    tn_buf_printf(
        out, "</title><rect class=\"%s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\"/>",
        b->inner ? "g k" : "b f", b->family, left, top, b->width, b->height,
        b->inner                      ? 10
        : b->family == TN_FAMILY_PORT ? 14
                                      : 6);
    if (b->inner) {
        text_at(left + 12, top + 16, "h", b->title, out);
        if (b->line[0])
            text_at(left + 22 + tn_chart_text_width(b->title, TN_CHART_LINE), top + 16, "s", b->line[0], out);
        tn_buf_str(out, "</g>\n");
        print_chart(b->inner, left + (b->width - b->inner->width) / 2, top + b->height - b->inner->height,
                    out);
        return;
    }
    text_at(middle, top + 18.5, "t", b->title, out);
    for (int i = 0, n = 0; i < 2; i++)
        if (b->line[i])
            text_at(middle, top + 33 + 14 * n++, "l", b->line[i], out);
    tn_buf_str(out, "</g>\n");
}

static void print_chart(const tn_chart *c, double x, double y, tn_buf *out)
{
    for (size_t i = 0; i < c->edge.n; i++)
        print_edge(&c->edge.at[i], x, y, out);
    for (size_t i = 0; i < c->box.n; i++)
        print_box(&c->box.at[i], x, y, out);
    for (size_t i = 0; i < c->edge.n; i++)
        if (c->edge.at[i].labelled)
            text_at(x + c->edge.at[i].label_at.x, y + c->edge.at[i].label_at.y, "s", c->edge.at[i].label,
                    out);
}

static void print_legend(double x, double y, tn_buf *out)
{
    for (int f = 0; f < TN_FAMILY_COUNT; f++) {
        tn_buf_printf(out,
                      "<rect class=\"b f%d\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" rx=\"4\"/>", f,
                      x, y);
        text_at(x + 20, y + 11.5, "h", tn_family_names[f], out);
        x += tn_chart_text_width(tn_family_names[f], TN_CHART_LINE) * 1.1 + 42;
    }
    tn_buf_char(out, '\n');
}

void tn_chart_svg(const tn_chart *c, const char *title, tn_buf *out)
{
    const double legend = 840, head = 66;
    double width = c->width > legend ? c->width : legend, height = c->height + head;
    tn_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
                  "%.0f %.0f\">\n"
                  "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fafbfd\"/>\n",
                  width, height, width, height, style);
    tn_buf_str(out, "<text class=\"t\" x=\"18\" y=\"26\">");
    tn_chart_escape(title, out);
    tn_buf_str(out, "</text>\n");
    print_legend(18, 40, out);
    print_chart(c, (width - c->width) / 2, head, out);
    tn_buf_str(out, "</svg>\n");
}
