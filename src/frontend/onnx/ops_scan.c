/* Scan: one of few elements is written down element by element; any other is a loop whose body takes the elements by
 * the number of the iteration. Texts are scanned by their numbers (frontend/import/text.h). */
#include "frontend/import/text.h"
#include "frontend/onnx/flow.h"
#include "op/tensor/tensor.h"

typedef struct scan { /* of one sequence */
    const onnx_graph *g;
    uint32_t n_state, n_in, n_out;
    const int64_t *in_axis, *out_axis; /* n_in, n_out entries */
    const int64_t *in_back, *out_back; /* not 0: from the end */
    const tn_value *text;              /* n_in: whose numbers are scanned; NULL: the sequence itself */
    tn_value length; /* int64, rank 0: iterations from it on leave the state and give 0; NULL: none */
} scan;

/* Element i along an axis, without that dimension. */
static tn_value element(imp_node *c, tn_value v, int64_t axis, int64_t i)
{
    int64_t end = i + 1;
    tn_slice_attr a = {
        tn_make_dims(c->g, 1, &i), tn_make_dims(c->g, 1, &end), {0}, tn_ints_make(c->arena, 1, &axis)};
    tn_squeeze_attr s = {tn_ints_make(c->arena, 1, &axis)};
    return imp_call1(c, &tn_op_squeeze, &s, imp_call1(c, &tn_op_strided_slice, &a, v));
}

/* Texts among the n values v become their numbers. Returns what imp_moved reads them from; NULL: v[k] is itself. */
static const tn_value *by_number(imp_node *c, uint32_t n, tn_value v[])
{
    tn_value *text = TN_NEW_N(c->arena, tn_value, n);
    for (uint32_t k = 0; k < n && !c->bad; k++)
        if (imp_is_text(v[k])) {
            text[k] = v[k];
            v[k] = imp_text_numbers(c, v[k], 0);
        }
    return text;
}

/* The length of the sequences, which all have it: the run checks what is not known. */
static const tn_expr *scan_length(imp_node *c, const scan *s, tn_value x[])
{
    const tn_expr *n = NULL;
    for (uint32_t k = 0; k < s->n_in && !c->bad; k++) {
        const tn_type *t = imp_type(x[k]);
        int axis = imp_axis(c, s->in_axis[k], t->n);
        if (c->bad)
            break;
        n = n ? n : t->dim[axis];
        if (!imp_with_extent(c, &x[k], axis, n))
            imp_fail(c, "onnx-E009", "the sequences have different numbers of elements: dimension %d of %s",
                     axis, imp_type_text(c, t));
    }
    return n;
}

/* Number of the element that iteration i takes of sequence k. */
static tn_value place_of(imp_node *c, const scan *s, uint32_t k, tn_value i, tn_value last)
{
    if (!s->in_back[k])
        return i;
    last = s->length.def ? imp_binary(c, &tn_op_subtract, s->length, imp_i64(c, 1)) : last;
    return imp_binary(c, &tn_op_subtract, last, i);
}

/* What iteration i gave, from state `before`, if there is one of that number in the sequence. */
static void keep_length(imp_node *c, const scan *s, tn_value i, const tn_value before[], tn_value body[])
{
    if (c->bad || !s->length.def)
        return;
    tn_value live = imp_binary(c, &tn_op_less, i, s->length);
    for (uint32_t k = 0; k < s->n_state + s->n_out && !c->bad; k++) {
        if (onnx_is_value(body[k]))
            imp_fail(c, "onnx-E009",
                     "result %u of its body has a number of dimensions that only the run knows, which goes "
                     "with no lengths of sequences; give the inputs shapes (--input-shapes)",
                     (unsigned)k);
        if (c->bad)
            return;
        tn_value none = k < s->n_state ? before[k] : onnx_zeros(c, imp_type(body[k])->dtype, (tn_dims){0});
        tn_value either[2] = {body[k], none}, at[2];
        imp_movable(c, 2, either, at);
        at[0] = imp_call(c, &tn_op_where, NULL, 3, (const tn_value[]){live, at[0], at[1]});
        body[k] = imp_moved(c, 2, either, at[0]);
    }
}

/* state: in and out. out: n_out stacked results. */
static void unroll(imp_node *c, const scan *s, int64_t n, tn_value state[], const tn_value x[],
                   tn_value out[])
{
    uint32_t n_in = s->n_state + s->n_in, n_body = s->n_state + s->n_out;
    tn_value *in = TN_NEW_N(c->arena, tn_value, n_in),
             *all = TN_NEW_N(c->arena, tn_value, (size_t)n * s->n_out + n_body);
    for (int64_t i = 0; i < n && !c->bad; i++) {
        tn_value *body = TN_NEW_N(c->arena, tn_value, n_body);
        for (uint32_t k = 0; k < s->n_state; k++)
            in[k] = state[k];
        for (uint32_t k = 0; k < s->n_in && !c->bad; k++) {
            int axis = imp_axis(c, s->in_axis[k], imp_rank(x[k]));
            tn_value one = s->length.def && s->in_back[k]
                               ? imp_take(c, x[k], place_of(c, s, k, imp_i64(c, i), (tn_value){0}), axis)
                               : element(c, x[k], axis, s->in_back[k] ? n - 1 - i : i);
            in[s->n_state + k] = imp_moved(c, 1, &s->text[k], one);
        }
        c->bad = c->bad || !onnx_body(c, s->g, c->im->r, n_in, in, body);
        keep_length(c, s, imp_i64(c, i), state, body);
        for (uint32_t k = 0; k < s->n_state; k++)
            state[k] = body[k];
        for (uint32_t k = 0; k < s->n_out; k++)
            all[(size_t)i * s->n_out + k] = body[s->n_state + k];
    }
    for (uint32_t k = 0; k < s->n_out && !c->bad; k++)
        out[k] = onnx_stacked(c, all + k, n, s->n_out, s->out_axis[k], s->out_back[k] != 0);
}

/* ---- a Scan that stays a loop: its length is known during the run, large, or 0 ---- */

typedef struct {
    const scan *s;
    const tn_value *x;
    tn_value last; /* number of the last iteration */
} sequences;

/* Element i along an axis. Of no elements there is none, but the body needs one to be typed. */
static tn_value element_at(imp_node *c, tn_value v, int axis, tn_value i)
{
    const tn_type *t = imp_type(v);
    const tn_expr *dim[IMP_MAX_RANK];
    if (c->bad || !tn_is_value(t->dim[axis], 0))
        return imp_take(c, v, i, axis);
    for (int d = 0, at = 0; d < t->n; d++)
        if (d != axis)
            dim[at++] = t->dim[d];
    return onnx_zeros(c, t->dtype, tn_dims_make(c->arena, t->n - 1u, dim));
}

/* An iteration: its elements of the sequences, by its number. */
static void scan_body(imp_node *c, onnx_loop *b)
{
    const sequences *q = b->user;
    const scan *s = q->s;
    tn_value in[ONNX_MAX_BODY], i = b->inner[0];
    for (uint32_t k = 0; k < s->n_state; k++)
        in[k] = b->inner[k + 2];
    for (uint32_t k = 0; k < s->n_in && !c->bad; k++) {
        int axis = imp_axis(c, s->in_axis[k], imp_rank(q->x[k]));
        tn_value one = element_at(c, q->x[k], axis, place_of(c, s, k, i, q->last));
        in[s->n_state + k] = imp_moved(c, 1, &s->text[k], one);
    }
    b->n_out = s->n_state + s->n_out + 1;
    b->out[0] = imp_const(c, TN_BOOL1, 1);
    c->bad = c->bad || !onnx_body(c, s->g, b->r, s->n_state + s->n_in, in, b->out + 1);
    keep_length(c, s, i, in, b->out + 1);
}

/* The extents of what is collected; None where the body finds them out. */
static tn_dims rows_of(imp_node *c, const onnx_loop *b, const tn_expr *n)
{
    tn_vec(const tn_expr *) dim = {0};
    bool known = true;
    for (uint32_t k = b->n_carried + 1; k < b->n_out; k++) {
        const tn_type *t = imp_type(b->out[k]);
        if (onnx_is_value(b->out[k]))
            continue; /* which the loop does not collect itself */
        tn_vec_push(&dim, n);
        for (int d = 0; d < t->n; d++) {
            known = known && !onnx_is_inside(c, b, t->dim[d]);
            tn_vec_push(&dim, t->dim[d]);
        }
    }
    tn_dims all = known ? tn_dims_make(c->g->arena, (uint32_t)dim.n, dim.at) : (tn_dims){0};
    tn_vec_deinit(&dim);
    return all;
}

/* The rows, maybe the last one first, with their dimension at axis. */
static tn_value placed(imp_node *c, tn_value rows, bool backward, int64_t axis, tn_value last)
{
    tn_value v;
    int64_t perm[IMP_MAX_RANK + 1];
    if (onnx_is_value(rows)) /* which is placed already */
        return rows;
    int rank = imp_rank(rows), at = imp_axis(c, axis, rank);
    if (!at && !backward)
        return rows;
    imp_movable(c, 1, &rows, &v);
    if (backward)
        v = imp_take(c, v, imp_binary(c, &tn_op_subtract, last, imp_count_up(c, imp_type(v)->dim[0])), 0);
    for (int d = 0, from = 1; d < rank; d++)
        perm[d] = d == at ? 0 : from++;
    return imp_moved(c, 1, &rows, at && !c->bad ? imp_transpose(c, v, rank, perm) : v);
}

/* The results of b, of which those that it collects have n rows. */
static void settle(imp_node *c, onnx_loop *b, const tn_expr *n, tn_value result[])
{
    if (!c->bad)
        onnx_settle_loop(c, b);
    if (c->bad)
        return;
    tn_loop_attr attr = {rows_of(c, b, n)};
    onnx_loop_node(c, b, &attr, result);
}

static void loop_scan(imp_node *c, const scan *s, const tn_expr *n, tn_value state[], const tn_value x[],
                      tn_value out[])
{
    tn_value trip = imp_extent_of(c, x[0], imp_axis(c, s->in_axis[0], imp_rank(x[0])));
    sequences q = {s, x, imp_binary(c, &tn_op_subtract, trip, imp_i64(c, 1))};
    onnx_loop b = onnx_begin_loop(c, s->g, trip, imp_const(c, TN_BOOL1, 1), s->n_state, state);
    b.axis = s->out_axis;
    b.backward = s->out_back;
    b.body = scan_body;
    b.user = &q;
    if (s->n_state + s->n_in > ONNX_MAX_BODY)
        imp_fail(c, "onnx-E017", "its body takes more than %d values", ONNX_MAX_BODY);
    tn_value *result = TN_NEW_N(c->arena, tn_value, s->n_state + s->n_out);
    settle(c, &b, n, result);
    for (uint32_t k = 0; k < s->n_state && !c->bad; k++)
        state[k] = result[k];
    for (uint32_t k = 0; k < s->n_out && !c->bad; k++)
        out[k] = placed(c, result[s->n_state + k], s->out_back[k] != 0, s->out_axis[k], q.last);
}

static void run_scan(imp_node *c, scan *s, tn_value state[], tn_value x[], tn_value out[])
{
    int64_t count;
    s->text = by_number(c, s->n_in, x);
    const tn_expr *n = scan_length(c, s, x);
    if (c->bad)
        return;
    if (tn_is_int(n, &count) && count > 0 && !onnx_is_long(s->g, count))
        unroll(c, s, count, state, x, out);
    else
        loop_scan(c, s, n, state, x, out);
}

/* A list with one entry for each of n, zeros if it is not given. */
static const int64_t *each_of(imp_node *c, const char *name, uint32_t n)
{
    tn_ints list;
    if (imp_attr_ints(c, name, &list) && list.n != n)
        imp_fail(c, "onnx-E009", "attribute %s has %u entries, but needs %u", name, (unsigned)list.n,
                 (unsigned)n);
    return !c->bad && list.n == n && n ? list.at : TN_NEW_N(c->arena, int64_t, n);
}

/* Operands from the first state on; the number of scan inputs and results that the attributes and the body tell. */
static bool scan_begin(imp_node *c, scan *s, uint32_t first)
{
    int64_t n_in = imp_attr_int(c, "num_scan_inputs", -1);
    s->g = onnx_attr_graph(c, "body");
    imp_attr_need(c, "num_scan_inputs");
    if (c->bad)
        return false;
    bool fits = n_in >= 1 && n_in <= (int64_t)imp_n_in(c) - first;
    int64_t n_state = fits ? (int64_t)imp_n_in(c) - first - n_in : 0;
    if (!fits || (int64_t)s->g->output.n < n_state || s->g->output.n > ONNX_MAX_BODY ||
        c->n_out > s->g->output.n)
        imp_fail(c, "onnx-E017",
                 "num_scan_inputs does not match its operands or its body; the model is damaged");
    s->n_in = (uint32_t)n_in;
    s->n_state = (uint32_t)n_state;
    s->n_out = c->bad ? 0 : (uint32_t)(s->g->output.n - s->n_state);
    return !c->bad;
}

static void scan9(imp_node *c)
{
    scan s = {0};
    if (!scan_begin(c, &s, 0))
        return;
    s.in_axis = each_of(c, "scan_input_axes", s.n_in);
    s.out_axis = each_of(c, "scan_output_axes", s.n_out);
    s.in_back = each_of(c, "scan_input_directions", s.n_in);
    s.out_back = each_of(c, "scan_output_directions", s.n_out);
    tn_value *v = TN_NEW_N(c->arena, tn_value, imp_n_in(c)), *out = TN_NEW_N(c->arena, tn_value, s.n_out);
    for (uint32_t k = 0; k < imp_n_in(c); k++)
        v[k] = imp_in(c, k);
    if (!c->bad)
        run_scan(c, &s, v, v + s.n_state, out);
    for (uint32_t k = 0; k < c->n_out && !c->bad; k++)
        imp_out(c, k, k < s.n_state ? v[k] : out[k - s.n_state]);
}

/* ---- operator set 8: operands have a batch in front, the sequence is dimension 1 ---- */

typedef struct {
    const scan *s;
    const tn_value *v;    /* operands with their batch, states first */
    const tn_value *text; /* ... as in scan */
    tn_value lengths;     /* int64, one for each of the batch; NULL: none */
} batch;

/* Element i of the batch: states and collected results into `to`. */
static void scan_one(imp_node *c, const batch *q, tn_value i, tn_value to[])
{
    scan s = *q->s;
    tn_value v[ONNX_MAX_BODY];
    for (uint32_t k = 0; k < s.n_state + s.n_in && !c->bad; k++)
        v[k] = imp_moved(c, 1, &q->text[k], element_at(c, q->v[k], 0, i));
    if (!c->bad && q->lengths.def)
        s.length = imp_take(c, q->lengths, i, 0);
    if (!c->bad)
        run_scan(c, &s, v, v + s.n_state, to + s.n_state);
    for (uint32_t k = 0; k < s.n_state; k++)
        to[k] = v[k];
}

static void batch_body(imp_node *c, onnx_loop *b)
{
    const batch *q = b->user;
    b->n_out = (uint32_t)q->s->g->output.n + 1;
    b->out[0] = imp_const(c, TN_BOOL1, 1);
    scan_one(c, q, b->inner[0], b->out + 1);
}

static void scan_all(imp_node *c, const batch *q, const tn_expr *n, tn_value out[])
{
    int64_t count;
    size_t n_out = q->s->g->output.n;
    if (tn_is_int(n, &count) && count > 0 && !onnx_is_long(q->s->g, count)) {
        tn_value *all = TN_NEW_N(c->arena, tn_value, (size_t)count * n_out);
        for (int64_t i = 0; i < count && !c->bad; i++)
            scan_one(c, q, imp_i64(c, i), all + (size_t)i * n_out);
        for (size_t k = 0; k < n_out && !c->bad; k++)
            out[k] = onnx_stacked(c, all + k, count, n_out, 0, false);
        return;
    }
    tn_value trip = imp_extent_of(c, q->v[0], 0), always = imp_const(c, TN_BOOL1, 1);
    onnx_loop b = onnx_begin_loop(c, q->s->g, trip, always, 0, NULL);
    b.body = batch_body;
    b.user = q;
    settle(c, &b, n, out);
}

static void scan8(imp_node *c)
{
    scan s = {0};
    const tn_expr *n = NULL;
    if (!scan_begin(c, &s, 1))
        return;
    if (s.n_state + s.n_in > ONNX_MAX_BODY)
        imp_fail(c, "onnx-E017", "its body takes more than %d values", ONNX_MAX_BODY);
    s.in_axis = TN_NEW_N(c->arena, int64_t, s.n_in);
    s.out_axis = s.out_back = TN_NEW_N(c->arena, int64_t, s.n_out);
    s.in_back = each_of(c, "directions", s.n_in);
    tn_value *v = TN_NEW_N(c->arena, tn_value, imp_n_in(c)),
             *out = TN_NEW_N(c->arena, tn_value, s.g->output.n + 1);
    batch q = {.s = &s, .v = v, .lengths = imp_has(c, 0) ? imp_cast(c, imp_in(c, 0), TN_I64) : (tn_value){0}};
    for (uint32_t k = 0; k + 1 < imp_n_in(c) && !c->bad; k++) {
        v[k] = imp_in(c, k + 1);
        n = n ? n : imp_rank(v[k]) ? imp_type(v[k])->dim[0] : NULL;
        if (!c->bad && (!n || imp_rank(v[k]) < 1 || !imp_with_extent(c, &v[k], 0, n)))
            imp_fail(c, "onnx-E009", "its operands have different batches: %s",
                     imp_type_text(c, imp_type(v[k])));
    }
    q.text = by_number(c, c->bad ? 0 : s.n_state + s.n_in, v);
    if (!c->bad)
        scan_all(c, &q, n, out);
    for (uint32_t k = 0; k < c->n_out && !c->bad; k++)
        imp_out(c, k, out[k]);
}

// clang-format off
const imp_row onnx_rows_scan[] = {
    {"Scan", 8,  8, -1, -1, scan8, NULL},
    {"Scan", 9,  0, -1, -1, scan9, NULL},
    {0},
};
// clang-format on
