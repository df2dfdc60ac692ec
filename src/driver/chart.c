/* From @main to a chart. An operator is a box; a call of a group is a frame with the group's operators inside, and so
 * is a branch or a loop. Tuples and constants are no boxes: lines pass through the first, the second are
 * named in the box that reads them. A value from outside a frame leads to the frame. */
#include "driver/chart.h"
#include "driver/driver.h"
#include "ir/eval.h"
#include "op/control/control.h"
#include "op/core/core.h"
#include "op/op.h"
#include "relay/limits.h"

#include <math.h>
#include <string.h>

const char *const tn_family_names[] = {
    "input, output", "convolution, matrix, pool", "elementwise", "reduce", "move", "layout", "control",
    "other"};
/* A closure is drawn wherever it is called, and tuples may hold tuples: both are bounded. */
enum { LINE_MAX = 46, VISITS_MAX = 5000 };

typedef struct {
    tn_chart *chart;
    uint32_t box;
} place;
typedef struct {
    tn_graph *g;
    tn_arena *arena;
    bool statistics;
    place *at;   /* by node id; chart NULL: not drawn */
    tn_map seen; /* edges of which the label is drawn already */
    int depth;
    uint32_t n_kernel, n_box, n_chart, n_visit;
} maker;

static void add_region(maker *m, tn_chart *c, const tn_region *r, bool params);

/* ---- texts ---- */

static char *keep(maker *m, tn_buf *b)
{
    char *text = tn_arena_strdup(m->arena, tn_buf_cstr(b));
    tn_buf_deinit(b);
    return text;
}

/* "1x64x224x224 NCHW16c", with real multiplication signs; the type where it is not float32. */
static const char *shape_text(maker *m, const tn_type *t)
{
    tn_buf b = {0};
    if (!t || t->kind != TN_T_TENSOR) {
        if (t)
            tn_type_print(t, &b);
        return keep(m, &b);
    }
    for (uint16_t d = 0; d < t->n; d++) {
        tn_buf_str(&b, d ? "\xc3\x97" : "");
        tn_expr_print(t->dim[d], NULL, &b);
    }
    tn_buf_str(&b, t->n ? "" : "scalar");
    if (t->dtype.code != TN_FLOAT || t->dtype.bits != 32 || t->dtype.lanes != 1) {
        tn_buf_char(&b, ' ');
        tn_dtype_print(t->dtype, false, &b);
    }
    if (t->layout)
        tn_buf_printf(&b, " %.*s", (int)strcspn(t->layout->text, "{"), t->layout->text);
    return keep(m, &b);
}

/* At most LINE_MAX characters. */
static const char *shorten(maker *m, const char *text)
{
    size_t n = strlen(text), cut = LINE_MAX;
    if (n <= cut)
        return n ? text : NULL;
    while (((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    return tn_arena_printf(m->arena, "%.*s\xe2\x80\xa6", (int)cut, text);
}

static const char *attr_text(maker *m, const tn_node *n)
{
    tn_buf b = {0};
    if (n->op->attr)
        tn_attr_print(m->g->pool, n->op->attr, n->attr, &b);
    const char *all = keep(m, &b);
    return strncmp(all, ", ", 2) == 0 ? all + 2 : all;
}

/* The same for the eye: "padding 1, kernel_size 5" instead of "padding=[1, 1, 1, 1], kernel_size=[5, 5]". */
static const char *short_attrs(maker *m, const char *text)
{
    tn_buf b = {0};
    while (*text) {
        const char *end = *text == '[' ? strchr(text, ']') : NULL;
        size_t n = end ? strcspn(text + 1, ",]") : 0;
        bool same = n > 0;
        for (const char *at = text + 1; end && at < end && same; at += strcspn(at, ",]") + 2)
            same = strcspn(at, ",]") == n && memcmp(at, text + 1, n) == 0;
        if (same)
            tn_buf_add(&b, text + 1, n);
        else
            tn_buf_char(&b, *text == '=' ? ' ' : *text);
        text = same ? end + 1 : text + 1;
    }
    return keep(m, &b);
}

/* A constant's shape, or of a scalar its value. */
static const char *constant_text(maker *m, const tn_node *n)
{
    const tn_type *t = n->type ? n->type[0] : NULL;
    tn_buf b = {0};
    if (!t || t->kind != TN_T_TENSOR || t->n || !n->blob || !n->blob->at ||
        n->blob->n < tn_dtype_bytes(t->dtype))
        return shape_text(m, t);
    tn_scalar v = tn_scalar_read(t->dtype, n->blob->at);
    if (tn_dtype_is_float(t->dtype))
        tn_buf_printf(&b, "%.5g", v.f);
    else
        tn_buf_printf(&b, "%lld", (long long)v.i);
    return keep(m, &b);
}

/* The constants a node reads, from its input `from` on. */
static const char *constants_text(maker *m, const tn_node *n, int from)
{
    tn_buf b = {0};
    for (int i = from; i < n->nin; i++) {
        const tn_node *def = n->in[i].def;
        if (!def || !tn_op_is(def, &tn_op_constant))
            continue;
        tn_buf_str(&b, b.n ? ", " : "with ");
        tn_buf_str(&b, constant_text(m, def));
    }
    return keep(m, &b);
}

/* What numbers a weight consists of. */
static void add_statistics(maker *m, const tn_node *n, tn_buf *b)
{
    const tn_type *t = n->type ? n->type[0] : NULL;
    int64_t count = 0;
    double least = INFINITY, most = -INFINITY, sum = 0, squares = 0, zeros = 0;
    if (!t || t->kind != TN_T_TENSOR || !n->blob || !n->blob->at || !tn_dtype_bytes(t->dtype) ||
        !tn_is_int(tn_type_count(m->g->pool, t), &count) || count < 2 ||
        n->blob->n / tn_dtype_bytes(t->dtype) < (size_t)count)
        return;
    for (int64_t i = 0; i < count; i++) {
        tn_scalar s =
            tn_scalar_read(t->dtype, (const char *)n->blob->at + (size_t)i * tn_dtype_bytes(t->dtype));
        double v = tn_dtype_is_float(t->dtype) ? s.f : (double)s.i;
        least = v < least ? v : least;
        most = v > most ? v : most;
        sum += v;
        squares += v * v;
        zeros += v == 0;
    }
    double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    tn_buf_printf(b, "\n%s %s: %.4g to %.4g, mean %.4g, deviation %.4g, %.0f %% zeros",
                  n->name ? n->name : "", shape_text(m, t), least, most, mean,
                  variance > 0 ? sqrt(variance) : 0, 100 * zeros / (double)count);
}

static const char *tip_text(maker *m, const tn_node *n, const char *attrs, const char *constants)
{
    tn_buf b = {0};
    tn_buf_printf(&b, "%s: %s", n->op->name, n->op->doc ? n->op->doc : "");
    if (*attrs)
        tn_buf_printf(&b, "\n%s", attrs);
    if (*constants)
        tn_buf_printf(&b, "\n%s", constants);
    for (int i = 0; i < n->nout && n->type; i++)
        tn_buf_printf(&b, "\nresult %s", shape_text(m, n->type[i]));
    if (n->loc && n->loc->node)
        tn_buf_printf(&b, "\nmodel node %s", n->loc->node);
    for (int i = 0; i < n->nin && m->statistics; i++)
        if (n->in[i].def && tn_op_is(n->in[i].def, &tn_op_constant))
            add_statistics(m, n->in[i].def, &b);
    return keep(m, &b);
}

static uint8_t family(const tn_node *n)
{
    const tn_op *op = n->op;
    if (n->nregion)
        return TN_FAMILY_CONTROL;
    if (op->flags & TN_OP_RELAYOUT)
        return TN_FAMILY_LAYOUT;
    if ((op->flags & TN_OP_INDEX_MAP) || op->fuse == TN_FUSE_INJECTIVE)
        return TN_FAMILY_MOVE;
    switch (op->fuse) {
    case TN_FUSE_ELEMWISE:
    case TN_FUSE_BROADCAST: return TN_FAMILY_MATH;
    case TN_FUSE_REDUCE: return TN_FAMILY_REDUCE;
    case TN_FUSE_ANCHOR: return TN_FAMILY_CONTRACT;
    default: return TN_FAMILY_OTHER;
    }
}

/* ---- boxes ---- */

static uint32_t add_box(maker *m, tn_chart *c, const tn_chart_box *b)
{
    m->n_box++;
    tn_vec_push(&c->box, *b);
    return (uint32_t)c->box.n - 1;
}

static tn_chart *add_inner(maker *m, tn_chart *c, uint32_t box)
{
    tn_chart *inner = TN_NEW(m->arena, tn_chart);
    inner->id = ++m->n_chart;
    inner->outer = c;
    inner->holder = box;
    c->box.at[box].inner = inner;
    return inner;
}

/* ---- lines ---- */

/* A value read by a box of c; it comes from a box of c or of a chart around it, and leads to what holds the reader. */
static void follow(maker *m, tn_chart *c, uint32_t box, tn_value v)
{
    if (!v.def || tn_op_is(v.def, &tn_op_constant) || ++m->n_visit > VISITS_MAX)
        return;
    const place *p = &m->at[v.def->id];
    if (!p->chart) { /* a tuple, or a field of one */
        for (int i = 0; i < v.def->nin; i++)
            follow(m, c, box, tn_in(v.def, i));
        return;
    }
    for (; c && c != p->chart; c = c->outer)
        box = c->holder;
    if (!c || p->box >= box)
        return;
    uint64_t edge = tn_hash_u64(tn_hash_u64(c->id, p->box), box), value = tn_hash_u64(v.def->id, v.out),
             known;
    if (tn_map_get(&m->seen, tn_hash_u64(edge, value), &known))
        return;
    tn_map_put(&m->seen, tn_hash_u64(edge, value), 1);
    const char *label = shorten(m, shape_text(m, tn_value_type(v)));
    tn_chart_edge e = {.from = p->box, .to = box, .label = label ? label : ""};
    e.labelled = !tn_map_get(&m->seen, value, &known) || known != c->id;
    tn_map_put(&m->seen, value, c->id);
    tn_vec_push(&c->edge, e);
}

static void connect(maker *m, tn_chart *c, uint32_t box, tn_value v)
{
    m->n_visit = 0;
    follow(m, c, box, v);
}

/* ---- nodes ---- */

static bool may_nest(const maker *m) { return m->depth < TN_RELAY_MAX_NEST && m->n_box / 4 <= m->g->n_node; }

static void add_port(maker *m, tn_chart *c, const tn_node *n, const char *name, const tn_type *t)
{
    tn_chart_box b = {.title = shorten(m, name), .family = TN_FAMILY_PORT};
    b.tip = tn_arena_printf(m->arena, "%s\n%s", name, shape_text(m, t));
    uint32_t k = add_box(m, c, &b);
    if (n)
        m->at[n->id] = (place){c, k};
}

static const char *kernel_title(maker *m, const tn_node *call)
{
    return tn_group_renames(call) ? "no kernel: same data"
                                  : tn_arena_printf(m->arena, "kernel %u", ++m->n_kernel);
}

/* The call of a closure: a frame around what it does. */
static void add_call(maker *m, tn_chart *c, const tn_node *n)
{
    const tn_node *fn = n->in[0].def;
    tn_chart_box b = {.title = "call", .tip = "", .family = TN_FAMILY_CONTROL};
    bool known = fn && tn_op_is(fn, &tn_op_fn), group = known && ((const tn_fn_attr *)fn->attr)->Primitive;
    if (group)
        b.family = TN_FAMILY_PORT, b.title = kernel_title(m, n), b.node = tn_group_source(m->g, n);
    b.kernel = group && !tn_group_renames(n);
    const char *constants = constants_text(m, n, 1);
    b.tip = tip_text(m, n, "", constants);
    b.line[0] = shorten(m, constants);
    uint32_t k = add_box(m, c, &b);
    for (int i = 1; i < n->nin; i++)
        connect(m, c, k, tn_in(n, i));
    if (known && may_nest(m))
        add_region(m, add_inner(m, c, k), fn->region[0], !group);
    m->at[n->id] = (place){c, k};
}

/* Of one of several regions: a constructor, or a branch. */
static const char *region_title(const tn_node *n, int i)
{
    const tn_type *t = tn_op_is(n, &tn_op_match) ? tn_in_type(n, 0) : NULL;
    return t ? t->data->constructor[i].name : i ? "else" : "then";
}

static void add_operator(maker *m, tn_chart *c, const tn_node *n)
{
    const char *attrs = attr_text(m, n), *constants = constants_text(m, n, 0);
    tn_chart_box b = {.title = n->op->name, .family = family(n), .tip = tip_text(m, n, attrs, constants)};
    b.node = n->loc ? n->loc->node : NULL;
    if (!n->nregion) {
        b.line[0] = shorten(m, *attrs ? short_attrs(m, attrs) : constants);
        b.line[1] = *attrs ? shorten(m, constants) : NULL;
    }
    uint32_t k = add_box(m, c, &b);
    for (int i = 0; i < n->nin; i++)
        connect(m, c, k, tn_in(n, i));
    tn_chart *inner = n->nregion && may_nest(m) ? add_inner(m, c, k) : NULL;
    for (int i = 0; i < n->nregion && inner; i++) {
        tn_chart *branch = inner;
        if (n->nregion > 1) {
            tn_chart_box part = {.title = region_title(n, i), .tip = "", .family = TN_FAMILY_CONTROL};
            branch = add_inner(m, inner, add_box(m, inner, &part));
        }
        add_region(m, branch, n->region[i], true);
    }
    m->at[n->id] = (place){c, k};
}

static void add_region(maker *m, tn_chart *c, const tn_region *r, bool params)
{
    m->depth++;
    for (const tn_node *n = r->first; n; n = n->next) {
        if (tn_op_is(n, &tn_op_var)) {
            if (params)
                add_port(m, c, n, n->name ? n->name : "parameter", n->type ? n->type[0] : NULL);
        } else if (tn_op_is(n, &tn_op_call)) {
            add_call(m, c, n);
        } else if (!tn_op_is(n, &tn_op_constant) && !tn_op_is(n, &tn_op_fn) && !tn_op_is(n, &tn_op_tuple) &&
                   !tn_op_is(n, &tn_op_tuple_get)) {
            add_operator(m, c, n);
        }
    }
    m->depth--;
}

tn_chart *tn_chart_make(tn_graph *g, tn_arena *a, bool statistics)
{
    maker m = {.g = g, .arena = a, .statistics = statistics, .at = TN_NEW_N(a, place, g->n_node + 1)};
    tn_chart *c = TN_NEW(a, tn_chart);
    const tn_region *r = g->func->body;
    add_region(&m, c, r, true);
    for (uint32_t i = 0; i < r->n_result; i++) {
        tn_value v = {r->result[i].def, r->result[i].out};
        add_port(&m, c, NULL, r->n_result > 1 ? tn_arena_printf(a, "output %u", i) : "output",
                 tn_value_type(v));
        connect(&m, c, (uint32_t)c->box.n - 1, v);
    }
    tn_map_deinit(&m.seen);
    return c;
}

void tn_chart_deinit(tn_chart *c)
{
    for (size_t i = 0; i < c->box.n; i++)
        if (c->box.at[i].inner)
            tn_chart_deinit(c->box.at[i].inner);
    tn_vec_deinit(&c->box);
    tn_vec_deinit(&c->edge);
}
