/* Tables from keys to values. What is in a table is a constant of the model: lists that its initialiser imports, a file
 * of text in the folder `assets`, or what a checkpoint restores. Tables that a run changes are not supported. */
#include "frontend/tensorflow/tf.h"

#include "op/host/host.h"
#include "op/tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

/* ---- which node fills a table ---- */

static bool assigns(const tf_node_def *n) { return tf_is_op(n, "AssignVariableOp"); }

static bool fills_table(const tf_node_def *n)
{
    static const char *const op[] = {
        "LookupTableImportV2",           "LookupTableImport",          "InitializeTableV2", "InitializeTable",
        "InitializeTableFromTextFileV2", "InitializeTableFromTextFile"};
    for (size_t i = 0; i < sizeof op / sizeof *op; i++)
        if (tf_is_op(n, op[i]))
            return true;
    return false;
}

static tn_bytes shared_name(const tf_node_def *n)
{
    const tf_value *v = tf_find_attr(&n->attr, "shared_name");
    return v && v->s.n ? *(const tn_bytes *)v->s.at : (tn_bytes){0};
}

typedef struct filler {
    const tf_node_def *table;
    tf_place found; /* node TF_NONE: nothing fills it */
} filler;

static bool is_filler(tf_import *t, const tf_place *p, void *user)
{
    filler *f = user;
    tf_place table;
    if (!tf_origin(t, p, 0, &table))
        return true;
    tn_bytes name = shared_name(f->table);
    if (tf_place_def(&table) != f->table && !(name.n && imp_same(name, shared_name(tf_place_def(&table)))))
        return true;
    f->found = *p;
    return false;
}

/* ---- lists ---- */

/* A list that is operand `in` of the node: computed in the model, or restored. */
static tn_value list_in(imp_node *c, const tf_resource *r, const tf_place *p, size_t in)
{
    tf_import *t = tf_of(c);
    tf_place from;
    if (!c->bad && !tf_origin(t, p, in, &from))
        imp_fail(c, "tensorflow-E062", "what initialises table \"%s\" cannot be found; freeze the graph",
                 r->name);
    if (c->bad)
        return (tn_value){0};
    if (!tf_is_op(tf_place_def(&from), "RestoreV2"))
        return tf_place_value(c, &from);
    tn_bytes key = tf_restored_key(t, &from);
    const tf_bundle_entry *e = tf_checkpoint_find(t, key);
    if (e)
        return tf_checkpoint_load(c, e, r->name);
    imp_fail(c, "tensorflow-E036", "table \"%s\" has no content: the checkpoint does not have it",
             c->loc->node);
    return (tn_value){0};
}

/* ---- files ---- */

enum { LINE = -2, NUMBER = -1 };

typedef struct column {
    int64_t index; /* LINE, NUMBER, or which column */
    tn_dtype dtype;
} column;

typedef struct lines {
    tn_bytes *at;
    size_t n;
} lines;

static const char *asset_name(tf_import *t, const tf_place *file)
{
    const tf_meta_graph *m = t->meta;
    const tf_asset *a = m ? m->asset_file_def.at : NULL;
    for (size_t i = 0; m && !file->fn && i < m->asset_file_def.n; i++)
        if (a[i].tensor_info &&
            imp_same(tf_value_name(t, t->main, a[i].tensor_info->name, false), file->value))
            return tn_arena_printf(&t->im.scratch, "assets/%.*s", (int)a[i].filename.n,
                                   (const char *)a[i].filename.at);
    return NULL;
}

/* A variable may hold the name: what is assigned to it. */
static bool is_assigned(tf_import *t, const tf_place *p, void *user)
{
    tf_place *file = user, variable;
    if (!tf_origin(t, p, 0, &variable) || tf_place_def(&variable) != tf_place_def(file))
        return true;
    return !tf_origin(t, p, 1, file);
}

/* What tells the name of a file that is operand 1. */
static bool file_in(tf_import *t, const tf_place *p, tf_place *file)
{
    const tf_visitor v = {assigns, is_assigned, file};
    if (!tf_origin(t, p, 1, file))
        return false;
    if (tf_is_op(tf_place_def(file), "ReadVariableOp") && tf_origin(t, file, 0, file))
        tf_each_node(t, &v);
    return true;
}

/* An asset, else the file of that name beside the model. */
static const char *file_name(tf_import *t, const tf_place *file)
{
    const char *name = asset_name(t, file), *slash;
    const tf_tensor *v = tf_place_constant(file);
    const tn_bytes *text;
    size_t n;
    if (name || !v || !tf_texts(v, &n, &text) || n != 1)
        return name;
    name = tn_arena_strndup(&t->im.scratch, (const char *)text->at, text->n);
    slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Lines of a text without their ends, the first `skip` left out; as TensorFlow does, without any '\r'. */
static lines read_lines(tf_import *t, const tn_file *f, int64_t skip)
{
    const uint8_t *at = f->at, *end = f->at + f->n;
    size_t n = 0;
    for (const uint8_t *p = at; p < end; p++)
        n += *p == '\n';
    lines l = {TN_NEW_N(&t->im.scratch, tn_bytes, n + 1), 0};
    for (; at < end; skip--) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (skip <= 0) {
            size_t k = (size_t)(stop - at);
            l.at[l.n++] = (tn_bytes){at, k && at[k - 1] == '\r' ? k - 1 : k};
        }
        at = stop + (stop < end);
    }
    return l;
}

/* Column k of a line; false: there are not so many. */
static bool cut(tn_bytes line, char between, int64_t k, tn_bytes *out)
{
    const uint8_t *at = line.at, *end = line.at + line.n, *stop;
    for (;; k--) {
        stop = at < end ? memchr(at, between, (size_t)(end - at)) : NULL;
        if (k == 0 || !stop)
            break;
        at = stop + 1;
    }
    *out = (tn_bytes){at, (size_t)((stop ? stop : end) - at)};
    return k == 0;
}

static bool number(tn_bytes s, bool whole, double *f, int64_t *i)
{
    char text[64], *end;
    if (!s.n || s.n >= sizeof text)
        return false;
    memcpy(text, s.at, s.n);
    text[s.n] = 0;
    *i = whole ? strtoll(text, &end, 10) : 0;
    *f = whole ? 0 : strtod(text, &end);
    return !*end;
}

/* A column of numbers. */
static tn_value numbers(imp_node *c, const lines *l, const tn_bytes *part, const column *k)
{
    bool whole = !tn_dtype_is_float(k->dtype);
    int64_t n = (int64_t)l->n;
    double *f = TN_NEW_N(&c->im->scratch, double, l->n + 1);
    int64_t *v = TN_NEW_N(c->arena, int64_t, l->n + 1);
    for (size_t i = 0; i < l->n && !c->bad; i++) {
        v[i] = (int64_t)i;
        if (k->index != NUMBER && !number(part[i], whole, &f[i], &v[i]))
            imp_fail(c, "tensorflow-E063", "\"%s\" in line %zu of the file of a table is no number",
                     imp_text(c->im, part[i]), i + 1);
    }
    if (c->bad)
        return (tn_value){0};
    return imp_cast(c,
                    whole ? imp_const_ints(c, TN_I64, 1, (uint32_t)n, v)
                          : tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F64, 1, &n, f, NULL)),
                    k->dtype);
}

static tn_value column_of(imp_node *c, const lines *l, char between, const column *k)
{
    tn_bytes *part = TN_NEW_N(&c->im->scratch, tn_bytes, l->n + 1);
    for (size_t i = 0; i < l->n && !c->bad; i++) {
        part[i] = l->at[i];
        if (k->index >= 0 && !cut(l->at[i], between, k->index, &part[i]))
            imp_fail(c, "tensorflow-E063", "line %zu of the file of a table has no column %lld", i + 1,
                     (long long)k->index);
    }
    if (c->bad)
        return (tn_value){0};
    return tn_dtype_is_string(k->dtype) ? imp_text_list(c, l->n, part) : numbers(c, l, part, k);
}

static int64_t int_of(const tf_node_def *n, const char *name, int64_t def)
{
    const tf_value *v = tf_find_attr(&n->attr, name);
    return v && v->i.n ? *(const int64_t *)v->i.at : def;
}

static void from_file(imp_node *c, tf_resource *r, const tf_place *p)
{
    tf_import *t = tf_of(c);
    const tf_node_def *n = tf_place_def(p);
    const tf_value *d = tf_find_attr(&n->attr, "delimiter");
    const tn_bytes *between = d && d->s.n ? d->s.at : NULL;
    const char *why = "it is not named";
    tf_place file;
    const char *name = file_in(t, p, &file) ? file_name(t, &file) : NULL;
    const tn_file *f = name ? imp_open_file(c->im, name, &why) : NULL;
    if (!f && why)
        imp_fail(c, "tensorflow-E063", "the file of table \"%s\" cannot be read: %s", r->name,
                 tn_arena_printf(&c->im->scratch, why, name));
    c->bad = c->bad || !f;
    if (c->bad || f->n > c->im->memory_limit / 32) {
        if (!c->bad)
            imp_refuse(c, IMP_MEMORY, "the file of table \"%s\" is too large", r->name);
        return;
    }
    lines l = read_lines(t, f, int_of(n, "offset", 0));
    int64_t size = int_of(n, "vocab_size", -1);
    if (size >= 0 && (size_t)size < l.n)
        l.n = (size_t)size;
    char by = between && between->n == 1 ? (char)between->at[0] : '\t';
    const column key = {int_of(n, "key_index", LINE), r->key},
                 value = {int_of(n, "value_index", NUMBER), r->dtype};
    r->keys = column_of(c, &l, by, &key);
    r->value = column_of(c, &l, by, &value);
}

/* ---- tables ---- */

static void table(imp_node *c)
{
    static const char *const notes[] = {"container", "shared_name", "use_node_name_sharing"};
    tf_resource r = {.kind = TF_TABLE, .name = c->loc->node, .def = tf_def(c)};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    r.key = tf_attr_any_dtype(c, "key_dtype", TN_I64);
    r.dtype = tf_attr_any_dtype(c, "value_dtype", TN_I64);
    imp_out(c, 0, tf_resource_new(c, r));
}

/* Reads what is in the table, in @main. */
static void fill(imp_node *c, tf_resource *r)
{
    filler f = {r->def, {.node = TF_NONE}};
    const tf_visitor v = {fills_table, is_filler, &f};
    tn_region *outer = c->im->r;
    tf_each_node(tf_of(c), &v);
    if (f.found.node == TF_NONE) {
        imp_fail(c, "tensorflow-E062", "nothing in the model initialises table \"%s\"", r->name);
        return;
    }
    c->im->r = tn_graph_function(c->g, "main")->body;
    if (strstr(imp_text(c->im, tf_place_def(&f.found)->op), "TextFile"))
        from_file(c, r, &f.found);
    else {
        r->keys = list_in(c, r, &f.found, 1);
        r->value = list_in(c, r, &f.found, 2);
    }
    if (!c->bad && imp_rank(r->keys) != 1) {
        r->keys = imp_flat(c, r->keys);
        r->value = imp_flat(c, r->value);
    }
    c->im->r = outer;
}

/* The table that is operand 0, filled; NULL: reported. */
static tf_resource *table_in(imp_node *c, int64_t *out_n)
{
    tf_resource *r = tf_resource_in(c, 0, TF_TABLE, "table");
    if (!c->bad && !r->keys.def)
        fill(c, r);
    *out_n = c->bad ? 0 : imp_length(r->keys);
    if (!c->bad && (*out_n < 1 || imp_length(r->value) != *out_n))
        imp_fail(c, "tensorflow-E062", "table \"%s\" has %s keys and %s values", r->name,
                 imp_type_text(c, imp_type(r->keys)), imp_type_text(c, imp_type(r->value)));
    return c->bad ? NULL : r;
}

static void find(imp_node *c)
{
    int64_t n;
    tf_resource *r = table_in(c, &n);
    tn_value x = imp_in(c, 1), rest = imp_in(c, 2);
    if (!c->bad && (imp_is_text(x) != imp_is_text(r->keys) || imp_is_text(rest) != imp_is_text(r->value)))
        imp_fail(c, "tensorflow-E061", "operands are %s and %s, but the table has %s to %s",
                 imp_type_text(c, imp_type(x)), imp_type_text(c, imp_type(rest)),
                 imp_type_text(c, imp_type(r->keys)), imp_type_text(c, imp_type(r->value)));
    if (c->bad)
        return;
    if (imp_rank(rest) && !imp_is_text(rest))
        rest = imp_reshape(c, rest, 0, NULL);
    tn_value at = imp_is_text(x) ? imp_find_text(c, x, r->keys, n) : imp_find_number(c, x, r->keys, n, false);
    imp_out(c, 0, imp_looked_up(c, rest, r->value, at));
}

static void size(imp_node *c)
{
    int64_t n;
    (void)table_in(c, &n);
    imp_out(c, 0, imp_i64(c, n));
}

static void export(imp_node *c)
{
    int64_t n;
    const tf_resource *r = table_in(c, &n);
    imp_out(c, 0, r ? r->keys : (tn_value){0});
    imp_out_any(c, 1, r ? r->value : (tn_value){0});
}

// clang-format off
const imp_row tf_rows_table[] = {
    {"HashTable",           1, 0, 0, 1, table,  NULL},
    {"HashTableV2",         1, 0, 0, 1, table,  NULL},
    {"LookupTableExportV2", 1, 0, 1, 2, export, NULL},
    {"LookupTableFind",     1, 0, 3, 1, find,   NULL},
    {"LookupTableFindV2",   1, 0, 3, 1, find,   NULL},
    {"LookupTableSize",     1, 0, 1, 1, size,   NULL},
    {"LookupTableSizeV2",   1, 0, 1, 1, size,   NULL},
    {"MutableHashTable",    1, 0, 0, 1, table,  NULL},
    {"MutableHashTableV2",  1, 0, 0, 1, table,  NULL},
    {0},
};
// clang-format on
