/* Sequences and optional values. Where it is known what they hold, they exist while a model is read and not after: a
 * sequence is a tuple node that no operator of Relay ever reads, since whatever takes an element takes the
 * element's own value; an optional value is what it holds, an empty one a tuple of nothing that is known as
 * such. Such values pass through functions, branches that are known and loops that are written out. Everywhere
 * else, and where a position is known only in the run, they become values of the run (values.c), which host
 * functions take apart (op/host). */
#include "frontend/onnx/onnx.h"

#include "op/control/control.h"
#include "op/core/core.h"
#include "op/host/host.h"

#include <string.h>

enum { LONGEST = 4096 };

/* A sequence of n elements, which become values of the run. */
static tn_value make(imp_node *c, int64_t n, tn_value at[])
{
    for (int64_t i = 0; i < n && !c->bad; i++)
        at[i] = onnx_as_value(c, at[i]);
    if (c->bad)
        return (tn_value){0};
    if (n > LONGEST)
        return imp_call(c, &tn_op_seq_of, NULL, (int)n, at);
    tn_node *t = tn_make_call(c->g, c->im->r, NULL, &tn_op_tuple, (int)n, at, NULL, c->loc);
    if (!t)
        c->bad = true;
    return t ? tn_val(t) : (tn_value){0};
}

/* The elements of operand i, copied with room for one more. */
static tn_value *elements(imp_node *c, uint32_t i, int64_t *out_n)
{
    tn_value s = imp_in(c, i);
    *out_n = 0;
    if (!c->bad && (!imp_is_list(s) || onnx_is_none(c, s)))
        imp_fail(c, "onnx-E009", "operand %u is %s, but must be a sequence", (unsigned)i,
                 imp_is_list(s) ? "an empty optional value" : "a tensor");
    if (c->bad)
        return NULL;
    tn_value *at = TN_NEW_N(c->arena, tn_value, (size_t)s.def->nin + 1);
    for (; *out_n < s.def->nin; ++*out_n)
        at[*out_n] = tn_in(s.def, (int)*out_n);
    return at;
}

/* Is what the operator does to the sequence known now: its elements, and the position in operand i? */
static bool is_known(imp_node *c, uint32_t i)
{
    double p;
    return !c->bad && imp_is_list(imp_in(c, 0)) && (!imp_has(c, i) || imp_scalar(c, imp_in(c, i), &p));
}

/* The same in the run: the operator's operands as values. */
static void later(imp_node *c, const tn_op *op, const void *attr)
{
    tn_value in[3];
    uint32_t n = imp_n_in(c) < 3 ? imp_n_in(c) : 3;
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_has(c, i) ? onnx_as_value(c, imp_in(c, i)) : (tn_value){0};
    for (uint32_t i = 1 + (op == &tn_op_seq_insert); i < n && op != &tn_op_seq_split; i++) /* a position */
        if (in[i].def && imp_rank(in[i]) == 1)
            in[i] = imp_reshape(c, in[i], 0, NULL);
    imp_out(c, 0, onnx_opened(c, imp_call(c, op, attr, (int)n, in)));
}

/* Position from operand i, which may count from the end; def where it is not given. */
static int64_t position(imp_node *c, uint32_t i, int64_t def, int64_t last)
{
    if (c->bad || !imp_has(c, i))
        return def;
    int64_t n = last + 1, p = imp_int_in(c, imp_in(c, i), "the position");
    p = p < 0 ? p + (i == 2 ? last : n) : p; /* where one is inserted, the end is one further */
    if (!c->bad && (p < 0 || p > last))
        imp_fail(c, "onnx-E009", "position %lld is outside of the sequence", (long long)p);
    return p;
}

static void construct(imp_node *c)
{
    uint32_t n = imp_n_in(c);
    tn_value *in = TN_NEW_N(c->arena, tn_value, n);
    for (uint32_t i = 0; i < n; i++)
        in[i] = imp_in(c, i);
    imp_out(c, 0, make(c, n, in));
}

static void empty(imp_node *c)
{
    imp_attr_ignore(c, "dtype"); /* of what will be put in */
    imp_out(c, 0, make(c, 0, NULL));
}

static void at(imp_node *c)
{
    int64_t n;
    if (!is_known(c, 1)) {
        later(c, &tn_op_seq_at, NULL);
        return;
    }
    tn_value *v = elements(c, 0, &n);
    int64_t p = position(c, 1, 0, n - 1);
    if (!c->bad)
        imp_out(c, 0, v[p]);
}

static void insert(imp_node *c)
{
    int64_t n;
    if (!is_known(c, 2)) {
        later(c, &tn_op_seq_insert, NULL);
        return;
    }
    tn_value *v = elements(c, 0, &n), x = imp_in(c, 1);
    int64_t p = position(c, 2, n, n);
    if (c->bad)
        return;
    memmove(v + p + 1, v + p, (size_t)(n - p) * sizeof *v);
    v[p] = x;
    imp_out(c, 0, make(c, n + 1, v));
}

static void erase(imp_node *c)
{
    int64_t n;
    if (!is_known(c, 1)) {
        later(c, &tn_op_seq_erase, NULL);
        return;
    }
    tn_value *v = elements(c, 0, &n);
    int64_t p = position(c, 1, n - 1, n - 1);
    if (!c->bad && n == 0)
        imp_fail(c, "onnx-E009", "the sequence is empty, so nothing can be taken out");
    if (c->bad)
        return;
    memmove(v + p, v + p + 1, (size_t)(n - p - 1) * sizeof *v);
    imp_out(c, 0, make(c, n - 1, v));
}

static void length(imp_node *c)
{
    int64_t n;
    if (!is_known(c, 1)) {
        later(c, &tn_op_seq_length, NULL);
        return;
    }
    (void)elements(c, 0, &n);
    if (!c->bad)
        imp_out(c, 0, imp_const_ints(c, TN_I64, 0, 1, &n));
}

/* Sizes of the parts of an axis: given one by one, all equal but for the last, or 1. */
static tn_ints part_sizes(imp_node *c, int64_t extent, bool *out_one)
{
    int64_t each = 1, count;
    *out_one = !imp_has(c, 1);
    if (!*out_one && imp_rank(imp_in(c, 1)) == 1)
        return imp_ints_in(c, imp_in(c, 1), "split");
    if (!*out_one)
        each = imp_int_in(c, imp_in(c, 1), "split");
    if (!c->bad && (each < 1 || extent / each > LONGEST))
        imp_fail(c, "onnx-E009",
                 "cannot split an extent of %lld into parts of %lld: a part needs at least 1 element, and "
                 "there can be at most %d parts",
                 (long long)extent, (long long)each, LONGEST);
    if (c->bad)
        return (tn_ints){0};
    count = extent / each + (extent % each != 0);
    int64_t *size = TN_NEW_N(c->arena, int64_t, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        size[i] = i < extent / each ? each : extent % each;
    return (tn_ints){(uint32_t)count, size};
}

/* Are the parts known, and few enough to be written down? */
static bool are_parts_known(imp_node *c, const tn_type *x, int axis, int64_t *out_extent)
{
    double each;
    if (c->bad || tn_dtype_is_string(x->dtype) || !tn_is_int(x->dim[axis], out_extent))
        return false;
    if (!imp_has(c, 1))
        return *out_extent <= LONGEST;
    tn_value sizes = imp_in(c, 1);
    if (imp_rank(sizes) == 0)
        return imp_scalar(c, sizes, &each) && (each < 1 || (double)*out_extent / each <= LONGEST);
    return imp_is_known(c, sizes);
}

static void split(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    bool keep = imp_attr_int(c, "keepdims", 1) != 0, one;
    int64_t extent = 0, begin = 0;
    if (!c->bad && !are_parts_known(c, imp_type(x), axis, &extent)) {
        tn_seq_split_attr a = {axis, keep};
        later(c, &tn_op_seq_split, &a);
        return;
    }
    if (c->bad)
        return;
    tn_ints size = part_sizes(c, extent, &one);
    tn_value *v = TN_NEW_N(c->arena, tn_value, (size_t)size.n + 1);
    for (uint32_t i = 0; i < size.n && !c->bad; i++) {
        if (size.at[i] < 0 || size.at[i] > extent - begin) {
            imp_fail(c, "onnx-E009", "split[%u] is %lld, which is negative or more than the rest of the axis",
                     (unsigned)i, (long long)size.at[i]);
            return;
        }
        v[i] = imp_slice(c, x, axis, begin, begin + size.at[i]);
        begin += size.at[i];
        if (one && !keep)
            v[i] = imp_squeeze(c, v[i], axis);
    }
    if (!c->bad && begin != extent)
        imp_fail(c, "onnx-E009", "the parts have %lld elements, but the axis has %lld", (long long)begin,
                 (long long)extent);
    imp_out(c, 0, make(c, size.n, v));
}

/* Are the elements known, and all tensors of numbers with a rank, which operators of Relay join? */
static bool are_joined_now(imp_node *c)
{
    bool now = is_known(c, 1);
    const tn_node *s = imp_in(c, 0).def;
    for (int i = 0; now && i < s->nin; i++) {
        const tn_type *t = tn_value_type(tn_in(s, i));
        now = t->kind == TN_T_TENSOR && !tn_dtype_is_string(t->dtype);
    }
    return now;
}

static void concat(imp_node *c)
{
    int64_t n, axis = imp_attr_int(c, "axis", 0);
    bool stack = imp_attr_int(c, "new_axis", 0) != 0;
    imp_attr_need(c, "axis");
    if (!are_joined_now(c)) {
        tn_seq_concat_attr a = {axis, stack, false};
        later(c, &tn_op_seq_concat, &a);
        return;
    }
    tn_value *v = elements(c, 0, &n);
    if (!c->bad && n == 0)
        imp_fail(c, "onnx-E009", "the sequence is empty, so its elements have no common type");
    if (c->bad)
        return;
    axis = imp_axis(c, axis, imp_rank(v[0]) + stack);
    for (int64_t i = 0; i < n && stack; i++)
        v[i] = imp_unsqueeze(c, v[i], axis);
    imp_out(c, 0, imp_concat(c, (uint32_t)n, v, axis));
}

/* The body once for each element; operands that are no sequences are given to every one. */
static void map_known(imp_node *c, const onnx_graph *g)
{
    uint32_t n_in = imp_n_in(c);
    int64_t n, k;
    (void)elements(c, 0, &n);
    tn_value **each = TN_NEW_N(c->arena, tn_value *, n_in), *in = TN_NEW_N(c->arena, tn_value, n_in),
             *out = TN_NEW_N(c->arena, tn_value, (size_t)n * g->output.n + 1),
             *column = TN_NEW_N(c->arena, tn_value, (size_t)n + 1);
    for (uint32_t i = 0; i < n_in && !c->bad; i++) {
        in[i] = imp_in(c, i);
        each[i] = imp_is_list(in[i]) ? elements(c, i, &k) : NULL;
        if (!c->bad && each[i] && k != n)
            imp_fail(c, "onnx-E009",
                     "its sequences have %lld and %lld elements, but must have the same number", (long long)n,
                     (long long)k);
    }
    for (int64_t e = 0; e < n && !c->bad; e++) {
        for (uint32_t i = 0; i < n_in; i++)
            in[i] = each[i] ? each[i][e] : in[i];
        c->bad = !onnx_body(c, g, c->im->r, n_in, in, out + (size_t)e * g->output.n);
    }
    for (size_t o = 0; o < c->n_out && !c->bad; o++) {
        for (int64_t e = 0; e < n; e++)
            column[e] = out[(size_t)e * g->output.n + o];
        imp_out(c, (uint32_t)o, make(c, n, column));
    }
}

typedef struct { /* SequenceMap in the run: a loop that takes elements and appends to sequences */
    const onnx_graph *g;
    uint32_t n_in, n_out;
    const tn_value *in;   /* of the operator, sequences as values */
    const tn_type **made; /* n_out: types of the sequences so far */
    tn_value *out;        /* n_out + 1 results of the body, the condition first */
} mapping;

static bool is_sequence(tn_value v) { return imp_type(v)->kind == TN_T_SEQ; }

static tn_region *map_body(imp_node *c, const mapping *m)
{
    tn_region *outer = c->im->r, *r = imp_region_new(c);
    tn_value i = tn_val(tn_region_add_param(c->g, r, "i", tn_type_tensor(c->g->pool, TN_I64, 0, NULL, NULL))),
             *made = TN_NEW_N(c->arena, tn_value, m->n_out), *in = TN_NEW_N(c->arena, tn_value, m->n_in),
             *out = TN_NEW_N(c->arena, tn_value, m->g->output.n);
    for (uint32_t k = 0; k < m->n_out; k++)
        made[k] = tn_val(
            tn_region_add_param(c->g, r, tn_arena_printf(c->arena, "made%u", (unsigned)k), m->made[k]));
    c->im->r = r;
    for (uint32_t k = 0; k < m->n_in; k++)
        in[k] = is_sequence(m->in[k]) ? onnx_opened(c, imp_binary(c, &tn_op_seq_at, m->in[k], i)) : m->in[k];
    c->bad = c->bad || !onnx_body(c, m->g, r, m->n_in, in, out);
    m->out[0] = imp_const(c, TN_BOOL1, 1);
    for (uint32_t k = 0; k < m->n_out; k++)
        m->out[k + 1] = imp_binary(c, &tn_op_seq_insert, made[k], onnx_as_value(c, out[k]));
    c->im->r = outer;
    return r;
}

/* How many elements the sequences have; the run fails unless all have as many. */
static tn_value map_count(imp_node *c, const mapping *m)
{
    tn_value count = {0};
    tn_dims first = {0};
    for (uint32_t k = 0; k < m->n_in; k++) {
        tn_value n = is_sequence(m->in[k]) ? imp_unary(c, &tn_op_seq_length, m->in[k]) : (tn_value){0};
        tn_bind_extent_attr a = {first, "its sequences must have the same number of elements"};
        if (n.def && count.def) {
            (void)imp_call1(c, &tn_op_bind_extent, &a, n);
        } else if (n.def) {
            first = imp_bind(c, n, NULL);
            count = n;
        }
    }
    return count;
}

/* The loop, when it is known what its sequences hold. */
static void map_loop(imp_node *c, const mapping *m, tn_value start[])
{
    tn_loop_attr attr = {{0}};
    tn_region *r = c->bad ? NULL : map_body(c, m);
    if (c->bad)
        return;
    tn_region_set_results(c->g, r, (int)m->n_out + 1, m->out);
    tn_node *n = tn_node_new(c->g, c->im->r, NULL, &tn_op_loop, (int)m->n_out + 2, start, (int)m->n_out,
                             &attr, c->loc);
    tn_node_hold(c->g, n, 1, &r);
    c->bad = tn_infer_node(c->g, n) != TN_OK;
    for (uint32_t k = 0; k < m->n_out && !c->bad; k++)
        imp_out(c, k, (tn_value){n, k});
}

static void map_later(imp_node *c, const onnx_graph *g)
{
    mapping m = {.g = g, .n_in = imp_n_in(c), .n_out = (uint32_t)c->n_out};
    tn_value *in = TN_NEW_N(c->arena, tn_value, m.n_in), *start = TN_NEW_N(c->arena, tn_value, m.n_out + 2);
    size_t regions = c->im->region.n;
    m.in = in;
    m.made = TN_NEW_N(c->arena, const tn_type *, m.n_out);
    m.out = TN_NEW_N(c->arena, tn_value, m.n_out + 1);
    for (uint32_t k = 0; k < m.n_in; k++)
        in[k] = onnx_as_value(c, imp_in(c, k));
    if (!c->bad && !is_sequence(in[0]))
        imp_fail(c, "onnx-E009", "operand 0 is %s, but must be a sequence",
                 imp_type_text(c, imp_type(in[0])));
    if (c->bad)
        return;
    start[0] = map_count(c, &m);
    start[1] = imp_const(c, TN_BOOL1, 1);
    for (uint32_t k = 0; k < m.n_out; k++) {
        start[k + 2] = imp_call(c, &tn_op_seq_of, NULL, 0, NULL);
        m.made[k] = tn_type_seq(c->g->pool, NULL);
    }
    (void)map_body(c, &m); /* which tells what the sequences hold */
    for (uint32_t k = 0; k < m.n_out && !c->bad; k++)
        m.made[k] = tn_value_type(m.out[k + 1]);
    imp_discard_regions(c, regions);
    map_loop(c, &m, start);
}

static void map(imp_node *c)
{
    const onnx_graph *g = onnx_attr_graph(c, "body");
    bool known = true;
    if (!c->bad && g->output.n < c->n_out)
        imp_fail(c, "onnx-E017", "%zu results are used, but its body gives %zu; the model is damaged",
                 c->n_out, g->output.n);
    for (uint32_t i = 0; i < imp_n_in(c) && !c->bad; i++)
        known = known && (i == 0 ? imp_is_list(imp_in(c, i)) : !onnx_is_value(imp_in(c, i)));
    if (!c->bad)
        (known ? map_known : map_later)(c, g);
}

/* ---- optional values ---- */

static void optional(imp_node *c)
{
    imp_attr_ignore(c, "type");
    tn_value v = imp_has(c, 0) ? imp_in(c, 0) : make(c, 0, NULL);
    if (!c->bad && !imp_has(c, 0))
        tn_map_put(&onnx_of(c)->none, tn_map_key(v.def), 1);
    imp_out(c, 0, v);
}

static void has_element(imp_node *c)
{
    tn_value v = imp_opt(c, 0);
    if (v.def && imp_type(v)->kind == TN_T_OPTIONAL)
        imp_out(c, 0, imp_unary(c, &tn_op_opt_has, v));
    else
        imp_out(c, 0, imp_const(c, TN_BOOL1, v.def && !onnx_is_none(c, v)));
}

static void get_element(imp_node *c)
{
    tn_value v = imp_in(c, 0);
    if (!c->bad && onnx_is_none(c, v))
        imp_fail(c, "onnx-E009", "the optional value is empty");
    bool held = v.def && imp_type(v)->kind == TN_T_OPTIONAL;
    imp_out(c, 0, held ? onnx_opened(c, imp_unary(c, &tn_op_opt_get, v)) : v);
}

/* ---- where sequences may go ---- */

/* What v is, if operators over tensors do not take it; else NULL. */
static const char *kept_apart(imp_node *c, tn_value v)
{
    if (imp_is_list(v))
        return onnx_is_none(c, v) ? "an empty optional value" : "a sequence";
    return onnx_is_value(v) ? imp_type_text(c, imp_type(v)) : NULL;
}

bool onnx_is_over_values(const imp_row *row)
{
    const imp_row *const tables[] = {onnx_rows_sequence, onnx_rows_map};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (const imp_row *r = tables[k]; r->op; r++)
            if (r == row)
                return true;
    return strcmp(row->op, "Identity") == 0;
}

void onnx_check_sequences(imp_node *c)
{
    bool any = onnx_is_over_values(c->row), loop = strcmp(c->row->op, "Loop") == 0;
    for (uint32_t i = 0; i < imp_n_in(c) && !any; i++) {
        const char *what = onnx_is_any_rank(imp_opt(c, i)) ? NULL : kept_apart(c, imp_opt(c, i));
        if (what && imp_type(imp_opt(c, i))->kind == TN_T_ANY)
            imp_fail(c, "onnx-E080",
                     "operand %u is %s, texts whose number of dimensions the model does not tell; give the "
                     "input a shape (--input-shapes), or the elements of the sequence that holds them",
                     (unsigned)i, what);
        else if (what && !(loop && i >= 2))
            imp_fail(c, "onnx-E009",
                     "operand %u is %s, which only Identity, Loop and the operators for sequences, "
                     "optional values and maps accept",
                     (unsigned)i, what);
    }
}

void onnx_need_tensors(imp_node *c, const char *what, size_t n, const tn_value v[])
{
    for (size_t i = 0; i < n && !c->bad; i++) {
        const char *is = imp_type(v[i])->kind == TN_T_ANY ? NULL : kept_apart(c, v[i]);
        if (is)
            imp_fail(c, "onnx-E009", "%s %zu is %s, but must be a tensor", what, i, is);
    }
}

// clang-format off
const imp_row onnx_rows_sequence[] = {
    {"SequenceConstruct",  11,  0, -1,  1, construct,   NULL},
    {"SequenceEmpty",      11,  0,  0,  1, empty,       NULL},
    {"SequenceAt",         11,  0,  2,  1, at,          NULL},
    {"SequenceInsert",     11,  0,  3,  1, insert,      NULL},
    {"SequenceErase",      11,  0,  2,  1, erase,       NULL},
    {"SequenceLength",     11,  0,  1,  1, length,      NULL},
    {"SequenceMap",        17,  0, -1, -1, map,         NULL},
    {"SplitToSequence",    11,  0,  2,  1, split,       NULL},
    {"ConcatFromSequence", 11,  0,  1,  1, concat,      NULL},
    {"Optional",           15,  0,  1,  1, optional,    NULL},
    {"OptionalHasElement", 15,  0,  1,  1, has_element, NULL},
    {"OptionalGetElement", 15,  0,  1,  1, get_element, NULL},
    {0},
};
// clang-format on
