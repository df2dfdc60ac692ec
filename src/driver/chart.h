#ifndef TN_DRIVER_CHART_H
#define TN_DRIVER_CHART_H
/* A graph as a picture: boxes for operators, lines for values with their shapes, frames around what is one kernel, one
 * branch, one loop. chart.c makes it from a module, chart_layout.c places it, the others print it. */
#include "base/arena.h"
#include "base/buf.h"
#include "ir/graph.h"

enum tn_family { /* of operators; decides a box's colour */
                 TN_FAMILY_PORT,
                 TN_FAMILY_CONTRACT,
                 TN_FAMILY_MATH,
                 TN_FAMILY_REDUCE,
                 TN_FAMILY_MOVE,
                 TN_FAMILY_LAYOUT,
                 TN_FAMILY_CONTROL,
                 TN_FAMILY_OTHER,
                 TN_FAMILY_COUNT
};
extern const char *const tn_family_names[TN_FAMILY_COUNT];

typedef struct tn_chart tn_chart;
typedef struct tn_chart_box {
    const char *title;
    const char *line[2];        /* below it; NULL: none */
    const char *tip;            /* everything about it, lines separated by \n */
    const char *node;           /* the model's nodes, "Conv_0, Relu_1"; NULL: none */
    bool kernel;                /* a frame around what is one kernel */
    uint8_t family;             /* enum tn_family */
    tn_chart *inner;            /* NULL, or what the box is a frame around */
    uint32_t rank;              /* row in the chart, from 0 */
    double x, y, width, height; /* left, top: in the chart */
} tn_chart_box;

typedef struct tn_chart_point {
    double x, y;
} tn_chart_point;
typedef struct tn_chart_edge { /* from < to: boxes are in execution order */
    uint32_t from, to;
    const char *label; /* the value's shape */
    bool labelled;     /* the label is drawn, at `at`: once for each value */
    bool far;          /* too long to be drawn: a stub at its end */
    tn_chart_point label_at;
    uint32_t n_point;
    tn_chart_point *point; /* straight from 0 to 1, curved to 2, straight to 3, ... */
} tn_chart_edge;

struct tn_chart {
    tn_vec(tn_chart_box) box;
    tn_vec(tn_chart_edge) edge;
    tn_chart *outer; /* the chart that has the box around this one; NULL: the whole */
    uint32_t holder; /* that box */
    uint32_t id;     /* from 0, as they were made */
    double width, height;
};

/* The chart of @main. Freed by tn_chart_deinit, its texts with the arena. `statistics`: tips say of weights what
 * numbers they are, which reads all of them. */
tn_chart *tn_chart_make(tn_graph *g, tn_arena *a, bool statistics);
void tn_chart_deinit(tn_chart *c);
/* Places boxes and lines of a chart and of all inside it. Linear in the graph's size but for a logarithm; graphs whose
 * values live long are bounded by leaving out their longest lines. */
void tn_chart_layout(tn_chart *c, tn_arena *a);
double tn_chart_text_width(const char *text, double size); /* in the font of the picture, about */

enum { TN_CHART_TITLE = 13, TN_CHART_LINE = 11, TN_CHART_LABEL = 10 }; /* sizes of text */

void tn_chart_svg(const tn_chart *c, const char *title, tn_buf *out); /* placed */
/* A page of up to two placed charts (the second NULL: one), which a button switches between. */
typedef struct tn_chart_time { /* of a kernel's call */
    const char *node, *kernel;
    double microseconds;
} tn_chart_time;
typedef struct tn_chart_page {
    const char *title;
    const tn_chart *chart[2];
    const char *label[2];
    uint32_t n_time; /* 0: not measured */
    const tn_chart_time *time;
} tn_chart_page;
void tn_chart_html(const tn_chart_page *p, tn_buf *out);
void tn_chart_dot(const tn_chart *c, const char *title, tn_buf *out);
void tn_chart_escape(const char *text, tn_buf *out); /* for XML and HTML */

#endif
