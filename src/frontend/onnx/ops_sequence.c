/* Sequences and optional values. They exist while a model is read and not after: a sequence is a tuple node
 * that no operator of Relay ever reads, since whatever takes an element takes the element's own value; an
 * optional value is what it holds, an empty one a tuple of nothing that is known as such. So positions, and
 * which of the values there is, must be known when the model is compiled. Sequences pass through functions,
 * branches that are known and loops that are written out; everywhere else they are refused. */
#include "frontend/onnx/onnx.h"

#include "op/core/core.h"

#include <string.h>

enum { LONGEST = 4096 };

static bool is_none(const imp_node *c, tn_value v)
{
    uint64_t is;
    return imp_is_list(v) && tn_map_get(&onnx_of(c)->none, tn_map_key(v.def), &is);
}

static tn_value make(imp_node *c, int64_t n, const tn_value at[])
{
    for (int64_t i = 0; i < n && i <= LONGEST && !c->bad; i++)
        if (!at[i].def || imp_is_list(at[i]))
            imp_fail(c, "onnx-E009", "element %lld is not a tensor; only sequences of tensors are supported",
                     (long long)i);
    if (n > LONGEST)
        imp_fail(c, "onnx-E009", "the sequence has %lld elements; at most %d are supported", (long long)n,
                 LONGEST);
    if (c->bad)
        return (tn_value){0};
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
    if (!c->bad && (!imp_is_list(s) || is_none(c, s)))
        imp_fail(c, "onnx-E009", "operand %u is %s, but must be a sequence", (unsigned)i,
                 imp_is_list(s) ? "an empty optional value" : "a tensor");
    if (c->bad)
        return NULL;
    tn_value *at = TN_NEW_N(c->arena, tn_value, (size_t)s.def->nin + 1);
    for (; *out_n < s.def->nin; ++*out_n)
        at[*out_n] = tn_in(s.def, (int)*out_n);
    return at;
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
    tn_value *v = elements(c, 0, &n);
    int64_t p = position(c, 1, 0, n - 1);
    if (!c->bad)
        imp_out(c, 0, v[p]);
}

static void insert(imp_node *c)
{
    int64_t n;
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

static void split(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    int axis = imp_axis(c, imp_attr_int(c, "axis", 0), imp_rank(x));
    bool keep = imp_attr_int(c, "keepdims", 1) != 0, one;
    int64_t extent = 0, begin = 0;
    if (!c->bad && !tn_is_int(imp_type(x)->dim[axis], &extent))
        imp_fail(c, "onnx-E016",
                 "axis %d of %s is symbolic, so the sizes of the parts are not known; give the inputs fixed "
                 "shapes",
                 axis, imp_type_text(c, imp_type(x)));
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

static void concat(imp_node *c)
{
    int64_t n, axis = imp_attr_int(c, "axis", 0);
    tn_value *v = elements(c, 0, &n);
    bool stack = imp_attr_int(c, "new_axis", 0) != 0;
    imp_attr_need(c, "axis");
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
static void map(imp_node *c)
{
    const onnx_graph *g = onnx_attr_graph(c, "body");
    uint32_t n_in = imp_n_in(c);
    int64_t n, k;
    (void)elements(c, 0, &n);
    if (!c->bad && g->output.n < c->n_out)
        imp_fail(c, "onnx-E017", "%zu results are used, but its body gives %zu; the model is damaged",
                 c->n_out, g->output.n);
    if (c->bad)
        return;
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
    imp_out(c, 0, imp_const(c, TN_BOOL1, imp_has(c, 0) && !is_none(c, imp_in(c, 0))));
}

static void get_element(imp_node *c)
{
    tn_value v = imp_in(c, 0);
    if (!c->bad && is_none(c, v))
        imp_fail(c, "onnx-E009", "the optional value is empty");
    imp_out(c, 0, v);
}

/* ---- where sequences may go ---- */

void onnx_check_sequences(imp_node *c)
{
    const char *op = c->row->op;
    bool any = strcmp(op, "Identity") == 0, loop = strcmp(op, "Loop") == 0;
    for (const imp_row *r = onnx_rows_sequence; r->op; r++)
        any = any || r == c->row;
    for (uint32_t i = 0; i < imp_n_in(c) && !any; i++)
        if (imp_is_list(imp_opt(c, i)) && !(loop && i >= 2))
            imp_fail(c, "onnx-E009",
                     "operand %u is %s, which only Identity, Loop and the operators for sequences and "
                     "optional values accept",
                     (unsigned)i, is_none(c, imp_opt(c, i)) ? "an empty optional value" : "a sequence");
}

void onnx_need_tensors(imp_node *c, const char *what, size_t n, const tn_value v[])
{
    for (size_t i = 0; i < n; i++)
        if (imp_is_list(v[i]))
            imp_fail(c, "onnx-E009",
                     "%s %zu is a sequence; it must be a tensor if it is collected, or if the number of "
                     "iterations or the condition is known only at run time",
                     what, i);
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
