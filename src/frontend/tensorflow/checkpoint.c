/* Checkpoints: a table of names in PREFIX.index and data in PREFIX.data-NNNNN-of-NNNNN; or, of the first form, a table
 * with the data in PREFIX, or in each PREFIX-NNNNN-of-NNNNN (slices.c).
 *
 * The index is a table of LevelDB (github.com/google/leveldb, doc/table_format.md) without compression: blocks of
 * sorted keys, each written as what differs from the one before. A value is a BundleEntryProto: type, shape,
 * place in the data. The whole index is read once, every length checked against the file; data stays mapped. */
#include "frontend/tensorflow/tf.h"

#include "base/size.h"

#include <stdio.h>
#include <string.h>

enum { FOOTER = 48, TRAILER = 5, MAX_KEY = 1 << 16, MAX_SHARDS = 1024 };

struct tf_checkpoint {
    const char *prefix; /* beside the model */
    const char *name;   /* of the index, for messages */
    tn_file index;
    tn_strmap entries;    /* -> tf_bundle_entry * */
    tn_strmap restored;   /* node of a variable -> tn_bytes *: the key that the model restores it from */
    tn_strmap full_names; /* name of a variable -> tn_bytes *: of the table of objects */
    bool traced;          /* restored is filled */
    int64_t shards;
    bool old; /* of the first form: the index is the file that is read, which the import keeps */
};

typedef struct cursor {
    const uint8_t *at, *end;
    bool bad;
} cursor;

static uint64_t varint(cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->at >= c->end)
            break;
        uint8_t byte = *c->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    c->bad = true;
    return 0;
}

static uint32_t u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static tn_status damaged(tf_import *t, const char *why)
{
    return tn_error(t->im.g->ctx, "tensorflow-E033", imp_make_loc(&t->im, NULL, NULL),
                    "the checkpoint \"%s\" cannot be read: %s", t->checkpoint->name, why);
}

/* The entries of a block at this place, between its beginning and its list of restarts. */
static bool open_block(const tn_file *f, cursor *handle, cursor *out)
{
    uint64_t at = varint(handle), n = varint(handle);
    if (handle->bad || at > f->n || n > f->n - at || f->n - at - n < TRAILER || n < 4)
        return false;
    const uint8_t *b = f->at + at;
    uint64_t restarts = (uint64_t)u32(b + n - 4) * 4 + 4;
    *out = (cursor){b, b + n - (restarts < n ? restarts : n), restarts > n};
    return !out->bad && b[n] == 0; /* the type of the block: not compressed */
}

typedef struct entry {
    char key[MAX_KEY];
    size_t n;
    tn_bytes value;
} entry;

/* The next entry of a block; false: it has ended, or c->bad. */
static bool next_entry(cursor *c, entry *e)
{
    if (c->at >= c->end || c->bad)
        return false;
    uint64_t shared = varint(c), more = varint(c), size = varint(c);
    size_t left = (size_t)(c->end - c->at);
    if (c->bad || shared > e->n || more > left || size > left - more || shared + more > MAX_KEY)
        return c->bad = true, false;
    memcpy(e->key + shared, c->at, more);
    e->n = (size_t)(shared + more);
    e->value = (tn_bytes){c->at + more, (size_t)size};
    c->at += more + size;
    return true;
}

static tn_status add_entry(tf_import *t, const entry *e)
{
    const char *where;
    tf_checkpoint *k = t->checkpoint;
    if (k->old)
        return tf_slices_add(t, &k->entries, e->value, k->name, &k->index)
                   ? TN_OK
                   : damaged(t, "an entry is damaged");
    if (e->n == 0) {
        tf_bundle_header header = {0};
        if (tn_pb_read(&t->im.scratch, &tf_bundle_header_msg, e->value.at, e->value.n, NULL, &header, &where))
            return damaged(t, "its header is damaged");
        k->shards = header.num_shards;
        return header.endianness ? damaged(t, "its numbers are big-endian") : TN_OK;
    }
    tf_bundle_entry *b = TN_NEW(&t->im.scratch, tf_bundle_entry);
    if (tn_pb_read(&t->im.scratch, &tf_bundle_entry_msg, e->value.at, e->value.n, NULL, b, &where))
        return damaged(t, "an entry is damaged");
    const char *key = tn_arena_strndup(&t->im.scratch, e->key, e->n); /* the map does not copy it */
    tn_strmap_put(&k->entries, key, e->n, (uint64_t)(uintptr_t)b);
    return TN_OK;
}

static tn_status read_block(tf_import *t, cursor *block)
{
    entry *e = TN_NEW(&t->im.scratch, entry);
    while (next_entry(block, e)) {
        TN_TRY(add_entry(t, e));
        if (imp_too_much(&t->im, imp_make_loc(&t->im, NULL, NULL)))
            return TN_FAIL;
    }
    return block->bad ? damaged(t, "a block is damaged") : TN_OK;
}

static tn_status read_index(tf_import *t)
{
    static const uint8_t magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
    const tn_file *f = &t->checkpoint->index;
    cursor top, block;
    if (f->n < FOOTER || memcmp(f->at + f->n - 8, magic, 8) != 0)
        return damaged(t, "it is no table of names, or it is cut short");
    cursor footer = {f->at + f->n - FOOTER, f->at + f->n - 8, false};
    (void)varint(&footer);
    (void)varint(&footer);
    if (!open_block(f, &footer, &top))
        return damaged(t, "its list of blocks is damaged or compressed");
    entry *e = TN_NEW(&t->im.scratch, entry);
    while (next_entry(&top, e)) {
        cursor handle = {e->value.at, e->value.at + e->value.n, false};
        if (!open_block(f, &handle, &block))
            return damaged(t, "a block is damaged or compressed");
        TN_TRY(read_block(t, &block));
    }
    return top.bad ? damaged(t, "its list of blocks is damaged") : TN_OK;
}

/* ---- the model's variables ---- */

const tf_bundle_entry *tf_checkpoint_find(const tf_import *t, tn_bytes key)
{
    uint64_t at;
    if (!t->checkpoint || !key.n || !tn_strmap_get(&t->checkpoint->entries, (const char *)key.at, key.n, &at))
        return NULL;
    return (const tf_bundle_entry *)(uintptr_t)at;
}

static void put_key(tf_import *t, tn_strmap *map, tn_bytes name, tn_bytes key)
{
    tn_bytes *k = tn_arena_copy(&t->im.scratch, &key, sizeof key, _Alignof(tn_bytes));
    tn_strmap_put(map, (const char *)name.at, name.n, (uint64_t)(uintptr_t)k);
}

static tn_bytes get_key(const tn_strmap *map, tn_bytes name)
{
    uint64_t at;
    bool known = name.n && tn_strmap_get(map, (const char *)name.at, name.n, &at);
    return known ? *(const tn_bytes *)(uintptr_t)at : (tn_bytes){0};
}

/* The bytes of an entry in the data; NULL: reported. */
static const tn_blob *data_of(tf_import *t, const tf_bundle_entry *e, const char *name, const tn_loc *loc)
{
    const tf_checkpoint *k = t->checkpoint;
    imp_external x = {.location = tn_arena_printf(&t->im.scratch, "%s.data-%05lld-of-%05lld", k->prefix,
                                                  (long long)e->shard_id, (long long)k->shards),
                      .offset = (uint64_t)e->offset,
                      .length = (uint64_t)e->size};
    return imp_external_data(&t->im, &x, (size_t)e->size, name, loc);
}

/* The table of objects tells the names of variables beside their keys. A text is its length, a checksum, its bytes. */
static tn_status read_objects(tf_import *t)
{
    static const char name[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
    const tf_bundle_entry *e = tf_checkpoint_find(t, (tn_bytes){(const uint8_t *)name, sizeof name - 1});
    const char *where;
    tf_object_graph g = {0};
    const tn_blob *b = e ? data_of(t, e, name, imp_make_loc(&t->im, NULL, NULL)) : NULL;
    if (!b)
        return e ? TN_FAIL : TN_OK;
    cursor c = {b->at, (const uint8_t *)b->at + b->n, false};
    uint64_t n = varint(&c);
    if (c.bad || (size_t)(c.end - c.at) < 4 || n > (size_t)(c.end - c.at) - 4 ||
        tn_pb_read(&t->im.scratch, &tf_object_graph_msg, c.at + 4, (size_t)n, NULL, &g, &where))
        return damaged(t, "its table of objects is damaged");
    const tf_trackable *o = g.nodes.at;
    for (size_t i = 0; i < g.nodes.n; i++) {
        const tf_serialized_tensor *s = o[i].attributes.at;
        for (size_t k = 0; k < o[i].attributes.n; k++)
            if (s[k].full_name.n)
                put_key(t, &t->checkpoint->full_names, s[k].full_name, s[k].checkpoint_key);
    }
    return TN_OK;
}

/* ---- what the model itself restores ---- */

tn_bytes tf_restored_key(tf_import *t, const tf_place *p)
{
    const tf_node *n = &p->graph->node[p->node];
    tf_place names;
    const tn_bytes *key;
    size_t count, k = 0;
    while (k < n->n_out && !imp_same(n->out[k], p->value))
        k++;
    const tf_tensor *c = tf_origin(t, p, 1, &names) ? tf_place_constant(&names) : NULL;
    return c && tf_texts(c, &count, &key) && k < count ? key[k] : (tn_bytes){0};
}

static bool assigns(const tf_node_def *n) { return tf_is_op(n, "AssignVariableOp") || tf_is_op(n, "Assign"); }

static bool restores(const tf_node_def *n)
{
    return tf_is_op(n, "RestoreV2") || tf_is_op(n, "RestoreSlice") || tf_is_op(n, "Restore");
}

/* A variable of the main graph that is assigned what is read from the checkpoint. */
static bool trace_assign(tf_import *t, const tf_place *p, void *user)
{
    tf_place variable, value;
    (void)user;
    if (!tf_origin(t, p, 1, &value) || !restores(tf_place_def(&value)) || !tf_origin(t, p, 0, &variable))
        return true;
    tn_bytes key = tf_restored_key(t, &value);
    if (key.n)
        put_key(t, &t->checkpoint->restored, tf_place_def(&variable)->name, key);
    return true;
}

/* The main graph is whole when the first variable is read. */
static void trace_restores(tf_import *t)
{
    const tf_visitor v = {assigns, trace_assign, NULL};
    t->checkpoint->traced = true;
    tf_each_node(t, &v);
}

tn_bytes tf_checkpoint_key(tf_import *t, const tf_node_def *variable)
{
    static const char suffix[] = "/.ATTRIBUTES/VARIABLE_VALUE";
    tf_checkpoint *k = t->checkpoint;
    if (!k)
        return (tn_bytes){0};
    if (!k->traced)
        trace_restores(t);
    const tf_value *shared = tf_find_attr(&variable->attr, "shared_name");
    tn_bytes name[2] = {variable->name, variable->name}, key = get_key(&k->restored, variable->name);
    if (shared && shared->s.n && ((const tn_bytes *)shared->s.at)->n)
        name[0] = *(const tn_bytes *)shared->s.at;
    for (int i = 0; i < 2 && !tf_checkpoint_find(t, key); i++) {
        key = get_key(&k->full_names, name[i]);
        if (!tf_checkpoint_find(t, key))
            key = name[i];
        if (!tf_checkpoint_find(t, key)) {
            const char *s =
                tn_arena_printf(&t->im.scratch, "%.*s%s", (int)name[i].n, (const char *)name[i].at, suffix);
            key = (tn_bytes){(const uint8_t *)s, strlen(s)};
        }
    }
    return key;
}

/* Texts are their lengths, a checksum of these, and their bytes. */
static tn_value load_texts(imp_node *c, const tf_bundle_entry *e, const char *name, size_t n,
                           const int64_t dim[], size_t count)
{
    const tn_blob *b = data_of(tf_of(c), e, name, c->loc);
    cursor at = {b ? b->at : NULL, b ? (const uint8_t *)b->at + b->n : NULL, !b || count > b->n};
    tn_bytes *text = TN_NEW_N(&c->im->scratch, tn_bytes, at.bad ? 0 : count);
    for (size_t i = 0; i < count && !at.bad; i++)
        text[i].n = (size_t)varint(&at);
    at.bad = at.bad || at.end - at.at < 4;
    at.at += at.bad ? 0 : 4;
    for (size_t i = 0; i < count && !at.bad; i++) {
        at.bad = text[i].n > (size_t)(at.end - at.at);
        text[i].at = at.at;
        at.at += at.bad ? 0 : text[i].n;
    }
    if (b && at.bad)
        (void)imp_refuse_file(c->im, c->loc, name, "%s", "the lengths of its texts are damaged");
    c->bad = at.bad;
    return c->bad ? (tn_value){0} : tn_val(imp_texts(c->im, n, dim, count, text, c->loc));
}

static bool read_entry(imp_node *c, const tf_bundle_entry *e, const char *name, tf_stored *s)
{
    const tf_dim *d = e->shape ? e->shape->dim.at : NULL;
    s->n = d ? e->shape->dim.n : 0;
    if (e->slices.n || e->sliced)
        imp_fail(c, "tensorflow-E034",
                 "variable \"%s\" is stored in parts, which is not supported; save it whole", name);
    for (size_t i = 0; i < s->n && i < IMP_MAX_RANK; i++)
        s->dim[i] = d[i].size;
    if (c->bad || !tf_any_dtype(c->im, e->dtype, name, c->loc, &s->dtype) ||
        !imp_measure(c->im, name, s->n, s->dim, s->dtype, c->loc, &s->count, &s->bytes))
        c->bad = true;
    return !c->bad;
}

/* NULL: reported. */
static const tn_blob *numbers_of(imp_node *c, const tf_bundle_entry *e, const char *name, const tf_stored *s)
{
    tn_value v = e->old ? tf_slices_load(c, e, name, s) : (tn_value){0};
    if (e->old)
        return v.def ? v.def->blob : NULL;
    const tn_blob *b = (uint64_t)e->size == s->bytes ? data_of(tf_of(c), e, name, c->loc) : NULL;
    if ((uint64_t)e->size != s->bytes)
        (void)imp_refuse_file(c->im, c->loc, name, "%s", "its dimensions need another number of bytes");
    c->bad = c->bad || !b;
    return b;
}

tn_value tf_checkpoint_load(imp_node *c, const tf_bundle_entry *e, const char *name)
{
    tf_stored s;
    if (!read_entry(c, e, name, &s))
        return (tn_value){0};
    if (e->old)
        return tf_slices_load(c, e, name, &s);
    if (tn_dtype_is_string(s.dtype))
        return load_texts(c, e, name, s.n, s.dim, s.count);
    const tn_blob *b = numbers_of(c, e, name, &s);
    return b ? tn_val(imp_constant(c->im, s.dtype, s.n, s.dim, b, name)) : (tn_value){0};
}

const tn_blob *tf_checkpoint_data(imp_node *c, const tf_bundle_entry *e, const char *name,
                                  const tn_type **out)
{
    tf_stored s;
    if (!read_entry(c, e, name, &s))
        return NULL;
    if (tn_dtype_is_string(s.dtype))
        imp_refuse(c, IMP_UNSUPPORTED_RESULT, "variable \"%s\" holds texts, and a run changes it", name);
    tn_dims d = tn_make_dims(c->g, (uint32_t)s.n, s.dim);
    *out = tn_type_tensor(c->pool, s.dtype, (int)s.n, d.at, NULL);
    return c->bad ? NULL : numbers_of(c, e, name, &s);
}

/* ---- opening ---- */

static bool is_file(const char *path)
{
    FILE *there = fopen(path, "rb");
    if (there)
        fclose(there);
    return there != NULL;
}

static const char *beside(tf_import *t, const char *name)
{
    const char *slash = strrchr(t->im.file, '/');
    int n = slash ? (int)(slash - t->im.file + 1) : 0;
    return tn_arena_printf(&t->im.scratch, "%.*s%s", n, t->im.file, name);
}

static const char *shard_name(tf_import *t, const char *prefix, int i, int n)
{
    return tn_arena_printf(&t->im.scratch, "%s-%05d-of-%05d", prefix, i, n);
}

/* How many files of the first form there are beside the model; 0: none. Their names alone tell it. */
static int count_shards(tf_import *t, const char *prefix)
{
    const char *whole = beside(t, shard_name(t, prefix, 0, 0));
    size_t n = strlen(whole), digits = 5;
    char *path = tn_arena_strndup(&t->im.scratch, whole, n);
    for (int count = 1; count <= MAX_SHARDS; count++) {
        (void)snprintf(path + n - digits, digits + 1, "%05d", count);
        if (is_file(path))
            return count;
    }
    return 0;
}

static tn_status read_old(tf_import *t, const char *name)
{
    const char *why;
    const tn_file *f = imp_open_file(&t->im, name, &why);
    t->checkpoint->name = name;
    if (!f)
        return why ? damaged(t, "it is not there") : TN_FAIL;
    t->checkpoint->index = *f;
    return read_index(t);
}

/* The files of the first form; none: OK. */
static tn_status open_old(tf_import *t, const char *prefix)
{
    bool one = is_file(beside(t, prefix));
    int n = one ? 0 : count_shards(t, prefix);
    tf_checkpoint *k = TN_NEW(&t->im.scratch, tf_checkpoint);
    if (!one && !n)
        return TN_OK;
    k->prefix = prefix;
    k->old = true;
    t->checkpoint = k;
    if (one)
        return read_old(t, prefix);
    for (int i = 0; i < n; i++)
        TN_TRY(read_old(t, shard_name(t, prefix, i, n)));
    return TN_OK;
}

tn_status tf_checkpoint_open(tf_import *t, const char *prefix)
{
    const char *path = beside(t, tn_arena_printf(&t->im.scratch, "%s.index", prefix));
    if (!is_file(path)) /* a model without variables has no checkpoint; one that wants one says so */
        return open_old(t, prefix);
    tf_checkpoint *k = TN_NEW(&t->im.scratch, tf_checkpoint);
    TN_TRY(tn_file_map(t->im.g->ctx, path, &k->index));
    k->prefix = prefix;
    k->name = path;
    t->checkpoint = k;
    TN_TRY(read_index(t));
    return read_objects(t);
}

void tf_checkpoint_close(tf_import *t)
{
    if (!t->checkpoint)
        return;
    tn_strmap_deinit(&t->checkpoint->entries);
    tn_strmap_deinit(&t->checkpoint->restored);
    tn_strmap_deinit(&t->checkpoint->full_names);
    if (!t->checkpoint->old)
        tn_file_unmap(&t->checkpoint->index);
}
