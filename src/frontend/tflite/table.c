/* Hash tables, which CALL_ONCE fills, and tensors of texts, which they hold. */
#include "frontend/tflite/tflite.h"

#include "frontend/import/text.h"

#include <string.h>

struct tfl_table {
    int64_t id;
    tn_value keys, values; /* absent: nothing has filled it */
    int64_t n;
};

static tfl_import *import_of(imp_node *c) { return (tfl_import *)c->im; }

static void table(imp_node *c)
{
    static const int64_t number = 0;
    tfl_import *o = import_of(c);
    int64_t id = imp_attr_int(c, "table_id", 0);
    tfl_table *t = NULL;
    imp_attr_ignore(c, "key_dtype");
    imp_attr_ignore(c, "value_dtype");
    for (size_t i = 0; i < o->tables.n; i++)
        t = o->tables.at[i]->id == id ? o->tables.at[i] : t;
    if (!t) {
        t = TN_NEW(&c->im->scratch, tfl_table);
        *t = (tfl_table){.id = id};
        tn_vec_push(&o->tables, t);
    }
    tn_value v = imp_const_ints(c, TN_I64, 0, 1, &number); /* stands for it */
    if (v.def)
        tn_map_put(&o->table_handles, tn_map_key(v.def), (uint64_t)(uintptr_t)t);
    imp_out(c, 0, v);
}

static tfl_table *table_in(imp_node *c, bool filled)
{
    tn_value v = imp_in(c, 0);
    uint64_t at = 0;
    if (!c->bad && !tn_map_get(&import_of(c)->table_handles, tn_map_key(v.def), &at))
        imp_refuse(c, IMP_OPERANDS, "its first operand is no hash table; the model is damaged");
    tfl_table *t = c->bad ? NULL : (tfl_table *)(uintptr_t)at;
    if (t && filled && !t->keys.def)
        imp_fail(c, "tflite-E063",
                 "hash table %lld is used before it is filled; export the model with its initialisation "
                 "(CALL_ONCE)",
                 (long long)t->id);
    return c->bad ? NULL : t;
}

static void fill(imp_node *c)
{
    tfl_table *t = table_in(c, false);
    tn_value keys = imp_in(c, 1), values = imp_in(c, 2);
    int64_t n = imp_length(keys);
    if (c->bad || t->keys.def) /* a table is filled once */
        return;
    if (!import_of(c)->once || imp_rank(keys) != 1 || n < 1 || imp_length(values) != n) {
        imp_refuse(c, IMP_BAD_VALUE, "a table is supported that CALL_ONCE fills with as many keys as values");
        return;
    }
    t->keys = keys;
    t->values = values;
    t->n = n;
}

static void find(imp_node *c)
{
    tfl_table *t = table_in(c, true);
    tn_value x = imp_in(c, 1), rest = imp_in(c, 2);
    if (t && imp_is_text(x) != imp_is_text(t->keys))
        imp_refuse(c, IMP_OPERANDS, "keys of the table are of another type than %s",
                   imp_type_text(c, imp_type(x)));
    if (c->bad)
        return;
    rest = imp_rank(rest) && !imp_is_text(rest) ? imp_reshape(c, rest, 0, NULL) : rest;
    tn_value at =
        imp_is_text(x) ? imp_find_text(c, x, t->keys, t->n) : imp_find_number(c, x, t->keys, t->n, false);
    imp_out(c, 0, imp_looked_up(c, rest, t->values, at));
}

static void size(imp_node *c)
{
    tfl_table *t = table_in(c, true);
    if (t)
        imp_out(c, 0, imp_const_ints(c, TN_I64, 1, 1, &t->n));
}

/* ---- texts: how many, where each begins and the last one ends, from the front of the buffer; their bytes ---- */

static int64_t number_at(tn_bytes data, size_t i)
{
    uint32_t v = 0;
    for (size_t k = 4; k-- > 0;)
        v = v << 8 | data.at[4 * i + k];
    return (int32_t)v;
}

tn_node *tfl_text_constant(tfl_import *o, const tfl_tensor *t, tn_bytes data, const tn_loc *loc)
{
    int64_t n = data.n >= 4 ? number_at(data, 0) : -1, count = 1;
    for (uint32_t i = 0; i < t->n && count <= n; i++)
        count *= t->shape[i] >= 0 && t->shape[i] <= n ? t->shape[i] : n + 1;
    if (n < 0 || (uint64_t)n + 2 > data.n / 4 || count != n || t->n > IMP_MAX_RANK)
        return NULL;
    tn_bytes *text = TN_NEW_N(&o->im.scratch, tn_bytes, (size_t)n);
    for (size_t i = 0; i < (size_t)n; i++) {
        int64_t from = number_at(data, i + 1), to = number_at(data, i + 2);
        if (from < 0 || to < from || (uint64_t)to > data.n)
            return NULL;
        text[i] = (tn_bytes){data.at + from, (size_t)(to - from)};
    }
    return imp_texts(&o->im, t->n, t->shape, (size_t)n, text, loc);
}

// clang-format off
const imp_row tfl_rows_table[] = {
    {"HASHTABLE",        1, 0, 0, 1, table, NULL},
    {"HASHTABLE_IMPORT", 1, 0, 3, 0, fill,  NULL},
    {"HASHTABLE_FIND",   1, 0, 3, 1, find,  NULL},
    {"HASHTABLE_SIZE",   1, 0, 1, 1, size,  NULL},
    {0},
};
// clang-format on
