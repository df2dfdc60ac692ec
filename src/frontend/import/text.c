/* Tensors of texts. Operators that only move elements get numbers of elements in the place of texts (string.number), an
 * offset for each operand, and string.take reads the texts by the numbers that come out. */
#include "frontend/import/text.h"

#include "base/take.h"
#include "op/host/host.h"

#include <string.h>

/* ---- constants ---- */

tn_node *imp_texts(imp_model *im, size_t n_dim, const int64_t dim[], size_t n, const tn_bytes text[],
                   const tn_loc *loc)
{
    tn_graph *g = im->g;
    int64_t rank = (int64_t)n_dim, ends = (int64_t)n + 1, bytes = 0;
    int64_t *offset = TN_NEW_N(g->arena, int64_t, n + 1);
    for (size_t i = 0; i < n; i++)
        offset[i + 1] = bytes += (int64_t)text[i].n;
    char *all = tn_arena_alloc(g->arena, (size_t)bytes + 1, 1);
    for (size_t i = 0; i < n; i++)
        if (text[i].n)
            memcpy(all + offset[i], text[i].at, text[i].n);
    tn_value in[] = {tn_val(tn_make_constant(g, im->r, NULL, TN_I64, 1, &rank, dim, NULL)),
                     tn_val(tn_make_constant(g, im->r, NULL, TN_I64, 1, &ends, offset, NULL)),
                     tn_val(tn_make_constant(g, im->r, NULL, TN_U8, 1, &bytes, all, NULL))};
    return tn_make_call(g, im->r, NULL, &tn_op_string_make, 3, in, NULL, loc);
}

tn_value imp_text_list(imp_node *c, size_t n, const tn_bytes text[])
{
    int64_t dim = (int64_t)n;
    return c->bad ? (tn_value){0} : tn_val(imp_texts(c->im, 1, &dim, n, text, c->loc));
}

tn_value imp_const_text(imp_node *c, const char *text)
{
    tn_bytes one = {(const uint8_t *)text, strlen(text)};
    return c->bad ? (tn_value){0} : tn_val(imp_texts(c->im, 0, NULL, 1, &one, c->loc));
}

bool imp_is_text(tn_value v)
{
    return v.def && imp_type(v)->kind == TN_T_TENSOR && tn_dtype_is_string(imp_type(v)->dtype);
}

/* ---- moving ---- */

/* Made where v is, once: its extents have the same symbols for all readers, also in branches that ask for them. */
static tn_value numbers_of(imp_node *c, tn_value v)
{
    if (c->bad || !v.def)
        return imp_unary(c, &tn_op_string_number, v);
    for (const tn_use *u = v.def->users[v.out]; u; u = u->next)
        if (u->user && u->user->op == &tn_op_string_number && u->user->owner == v.def->owner)
            return tn_unboxed(c->g, tn_val(u->user));
    tn_node *at = v.def->next;
    while (at && v.def->op == &tn_op_var && at->op == &tn_op_var)
        at = at->next;
    tn_node *n = tn_make_call(c->g, v.def->owner, at, &tn_op_string_number, 1, &v, NULL, c->loc);
    c->bad = !n;
    return n ? tn_unboxed(c->g, tn_val(n)) : (tn_value){0};
}

tn_value imp_text_numbers(imp_node *c, tn_value v, int64_t k)
{
    int64_t base = k << TN_TAKE_BITS;
    v = numbers_of(c, v);
    return k ? imp_binary(c, &tn_op_add, v, imp_const_ints(c, TN_I64, 0, 1, &base)) : v;
}

tn_value imp_take_texts(imp_node *c, tn_value texts, tn_value at)
{
    return imp_binary(c, &tn_op_string_take, texts, at);
}

void imp_movable(imp_node *c, int n, const tn_value v[], tn_value out[])
{
    for (int k = 0; k < n; k++)
        out[k] = imp_is_text(v[k]) ? imp_text_numbers(c, v[k], k) : v[k];
}

tn_value imp_moved(imp_node *c, int n, const tn_value v[], tn_value at)
{
    if (c->bad || !imp_is_text(v[0]))
        return at;
    tn_value *in = TN_NEW_N(&c->im->scratch, tn_value, n + 1);
    for (int k = 0; k < n; k++)
        in[k] = v[k];
    in[n] = at;
    return imp_call(c, &tn_op_string_take, NULL, n + 1, in);
}

void imp_move_texts(imp_node *c, int results, tn_value zero)
{
    tn_value *given = TN_NEW_N(&c->im->scratch, tn_value, c->n_in),
             *text = TN_NEW_N(&c->im->scratch, tn_value, c->n_in + 2);
    int n = zero.def ? 1 : 0;
    text[0] = zero;
    for (uint32_t i = 0; i < c->n_in; i++) {
        given[i] = imp_opt(c, i);
        if (!imp_is_text(given[i]))
            continue;
        text[n] = given[i];
        given[i] = imp_text_numbers(c, given[i], n++);
    }
    c->given = given;
    if (!c->bad)
        c->row->convert(c);
    c->given = NULL;
    for (size_t o = 0; o < c->n_out && !c->bad && (results < 0 || (int)o < results); o++) {
        text[n] = c->out[o];
        if (text[n].def && !tn_dtype_is_string(tn_value_type(text[n])->dtype)) /* else branches gave texts */
            imp_out(c, (uint32_t)o, imp_call(c, &tn_op_string_take, NULL, n + 1, text));
    }
}

/* ---- tables ---- */

tn_value imp_find_number(imp_node *c, tn_value x, tn_value keys, int64_t n, bool nan_is_nan)
{
    tn_dtype t = imp_type(x)->dtype;
    tn_value each = imp_unsqueeze(c, x, imp_rank(x));
    keys = imp_cast(c, keys, t);
    tn_value same = imp_binary(c, &tn_op_equal, each, keys);
    if (tn_dtype_is_float(t) && nan_is_nan) {
        tn_value none = imp_unary(c, &tn_op_isnan, each);
        none = imp_binary(c, &tn_op_logical_and, none, imp_unary(c, &tn_op_isnan, keys));
        same = imp_binary(c, &tn_op_logical_or, same, none);
    }
    int64_t *number = TN_NEW_N(c->arena, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        number[i] = i + 1;
    tn_value at = imp_const_ints(c, TN_I64, 1, (uint32_t)n, number);
    at = imp_choose(c, same, at, imp_i64(c, 0));
    return imp_reduce(c, &tn_op_max, at, imp_rank(x));
}

tn_value imp_find_text(imp_node *c, tn_value x, tn_value keys, int64_t n)
{
    tn_value at = imp_binary(c, &tn_op_string_find, x, keys);
    tn_value none = imp_binary(c, &tn_op_equal, at, imp_i64(c, n));
    tn_value next = imp_with(c, &tn_op_add, at, 1);
    return imp_choose(c, none, imp_i64(c, 0), next);
}

tn_value imp_looked_up(imp_node *c, tn_value rest, tn_value values, tn_value at)
{
    tn_value zero = imp_i64(c, 0);
    if (!imp_is_text(values)) {
        tn_value table[2] = {imp_unsqueeze(c, rest, 0), values};
        return imp_take(c, imp_concat(c, 2, table, 0), at, 0);
    }
    tn_value none = imp_binary(c, &tn_op_equal, at, zero), first = imp_text_numbers(c, rest, 1);
    first = imp_rank(first) && !c->bad ? imp_reshape(c, first, 0, NULL) : first;
    tn_value before = imp_binary(c, &tn_op_subtract, at, imp_i64(c, 1));
    return imp_call(c, &tn_op_string_take, NULL, 3,
                    (const tn_value[]){values, rest, imp_choose(c, none, first, before)});
}
