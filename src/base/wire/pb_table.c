/* Protocol Buffers by field tables: two walks over each message, one that counts repeated fields and checks wire
 * types, one that fills. Each walk steps over sub-messages by their length, so the work is linear in the input at
 * every depth. Depth is bounded (DEPTH_MAX), memory is counted before it is taken.
 *
 * A singular sub-message that occurs several times is merged by reading the concatenation of its encodings, which
 * is the same thing by the definition of the format.
 */
#include "base/wire/pb.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/size.h"

#include <stdalign.h>
#include <string.h>

enum { DEPTH_DEFAULT = 64, DEPTH_MAX = 256, BIG_ENDIAN_HOST = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

static const char too_much[] = "the message needs more memory than it may take";

typedef struct place { /* the chain of messages being read, for the error path */
    const struct place *up;
    const tn_pb_field *field;
    size_t index; /* of the message in a repeated field */
} place;

typedef struct reader {
    tn_arena *arena;
    uint64_t left; /* bytes that may still be taken from the arena */
    uint32_t depth_max;
    const tn_pb_msg *root;
    const char *error;
    const char *path;
} reader;

/* The frame of one message: where its fields go. */
typedef struct target {
    const tn_pb_msg *msg;
    uint8_t *out;
    place at;
    uint32_t depth;
} target;

static void print_field(const tn_pb_field *f, tn_buf *b)
{
    if (f->name)
        tn_buf_printf(b, ".%s", f->name);
    else
        tn_buf_printf(b, ".%u", (unsigned)f->number);
}

static bool fail(reader *r, const target *t, const tn_pb_field *f, const char *error)
{
    const place *chain[DEPTH_MAX + 2];
    size_t n = 0;
    tn_buf b = {0};
    for (const place *p = &t->at; p && p->field; p = p->up)
        chain[n++] = p;
    tn_buf_str(&b, r->root->name);
    while (n--) {
        print_field(chain[n]->field, &b);
        if (chain[n]->field->repeated)
            tn_buf_printf(&b, "[%zu]", chain[n]->index);
    }
    if (f)
        print_field(f, &b);
    r->path = tn_arena_strndup(r->arena, b.at, b.n);
    r->error = error;
    tn_buf_deinit(&b);
    return false;
}

static void *take(reader *r, size_t n, size_t size)
{
    size_t bytes;
    if (!tn_size_mul(n, size, &bytes) || bytes > r->left)
        return NULL;
    r->left -= bytes;
    return tn_arena_alloc(r->arena, bytes, alignof(max_align_t));
}

static const tn_pb_field *field_find(const tn_pb_msg *m, uint32_t number, uint32_t *hint)
{
    /* Writers emit fields in order, so the row is usually the last one found or soon after. */
    for (uint32_t i = 0, k = *hint; i < m->n_field; i++, k++) {
        k = k < m->n_field ? k : 0;
        if (m->field[k].number == number) {
            *hint = k;
            return &m->field[k];
        }
    }
    return NULL;
}

static size_t element_size(const tn_pb_field *f)
{
    switch ((enum tn_pb_type)f->type) {
    case TN_PB_T_INT: return sizeof(int64_t);
    case TN_PB_T_FLOAT: return sizeof(float);
    case TN_PB_T_DOUBLE: return sizeof(double);
    case TN_PB_T_BYTES: return sizeof(tn_bytes);
    case TN_PB_T_MSG: return f->msg->size;
    }
    return 0;
}

static bool wire_fits(const tn_pb_field *f, enum tn_pb_wire w)
{
    switch ((enum tn_pb_type)f->type) {
    case TN_PB_T_INT: return w != TN_PB_LEN;
    case TN_PB_T_FLOAT: return w == TN_PB_I32;
    case TN_PB_T_DOUBLE: return w == TN_PB_I64;
    case TN_PB_T_BYTES:
    case TN_PB_T_MSG: return w == TN_PB_LEN;
    }
    return false;
}

static bool is_packed(const tn_pb_field *f, const tn_pb *c)
{
    return f->repeated && c->wire == TN_PB_LEN && f->type != TN_PB_T_BYTES && f->type != TN_PB_T_MSG;
}

/* Elements of a packed field; false if it is malformed. */
static bool packed_count(const tn_pb_field *f, tn_bytes b, size_t *out)
{
    if (f->type != TN_PB_T_INT) {
        size_t size = f->type == TN_PB_T_FLOAT ? 4 : 8;
        *out = b.n / size;
        return b.n % size == 0;
    }
    size_t n = 0;
    for (size_t i = 0; i < b.n; i++)
        n += b.at[i] < 0x80; /* the last byte of a varint */
    *out = n;
    return b.n == 0 || b.at[b.n - 1] < 0x80;
}

static void store(const tn_pb_field *f, const tn_pb *c, void *at)
{
    int64_t i = tn_pb_int(c);
    float s = tn_pb_float(c);
    switch ((enum tn_pb_type)f->type) {
    case TN_PB_T_INT:
        i = c->wire == TN_PB_I32 ? (int32_t)(uint32_t)c->value : i;
        memcpy(at, &i, sizeof i);
        break;
    case TN_PB_T_FLOAT: memcpy(at, &s, sizeof s); break;
    case TN_PB_T_DOUBLE: memcpy(at, &c->value, sizeof c->value); break;
    case TN_PB_T_BYTES: memcpy(at, &c->bytes, sizeof c->bytes); break;
    case TN_PB_T_MSG: break;
    }
}

/* Appends the elements of a packed field, already counted. */
static bool packed_fill(const tn_pb_field *f, tn_bytes b, tn_pb_array *a)
{
    size_t size = element_size(f);
    if (b.n == 0)
        return true; /* there may be no array */
    if (f->type != TN_PB_T_INT) {
        uint8_t *to = (uint8_t *)a->at + size * a->n;
        a->n += b.n / size;
        for (size_t i = 0; BIG_ENDIAN_HOST && i < b.n; i++)
            to[i] = b.at[i - i % size + size - 1 - i % size];
        if (!BIG_ENDIAN_HOST)
            memcpy(to, b.at, b.n);
        return true;
    }
    int64_t *out = a->at;
    for (size_t i = 0; i < b.n;) {
        uint64_t v = 0;
        unsigned shift = 0;
        uint8_t byte;
        do {
            byte = b.at[i++];
            if (shift > 63 || (shift == 63 && byte > 1))
                return false;
            v |= (uint64_t)(byte & 0x7f) << shift;
            shift += 7;
        } while (byte >= 0x80);
        out[a->n++] = (int64_t)v;
    }
    return true;
}

/* What the first walk leaves in the pointer of a singular message field. */
static const uint8_t seen_once[1], seen_again[1];

/* First walk: checks wire types; leaves in each repeated field its number of elements, in each singular message
 * field a mark if it occurs. */
static bool count_fields(reader *r, const target *t, tn_bytes data)
{
    tn_pb c = tn_pb_open(data.at, data.n);
    uint32_t hint = 0;
    while (tn_pb_next(&c)) {
        const tn_pb_field *f = field_find(t->msg, c.field, &hint);
        if (!f)
            continue;
        size_t n = 1;
        if (is_packed(f, &c)) {
            if (!packed_count(f, c.bytes, &n))
                return fail(r, t, f, "a packed field ends inside an element");
        } else if (!wire_fits(f, c.wire)) {
            return fail(r, t, f, "a field has the wrong wire type");
        }
        if (f->repeated) {
            ((tn_pb_array *)(void *)(t->out + f->offset))->n += n;
        } else if (f->type == TN_PB_T_MSG) {
            const void **slot = (const void **)(void *)(t->out + f->offset);
            *slot = *slot ? seen_again : seen_once;
        }
    }
    return c.error ? fail(r, t, NULL, c.error) : true;
}

static bool make_arrays(reader *r, const target *t)
{
    for (uint32_t i = 0; i < t->msg->n_field; i++) {
        const tn_pb_field *f = &t->msg->field[i];
        tn_pb_array *a = (tn_pb_array *)(void *)(t->out + f->offset);
        if (!f->repeated || a->n == 0)
            continue;
        a->at = take(r, a->n, element_size(f));
        if (!a->at)
            return fail(r, t, f, too_much);
        a->n = 0;
    }
    return true;
}

/* Does every field of a message end inside it? */
static const char *broken(tn_bytes data)
{
    tn_pb c = tn_pb_open(data.at, data.n);
    while (tn_pb_next(&c))
        continue;
    return c.error;
}

/* All occurrences of a singular message field behind one another: of whole fields, since one that was cut off
 * would take bytes of the next occurrence. */
static bool concatenate(reader *r, const target *t, const tn_pb_field *f, tn_bytes data, tn_bytes *out)
{
    size_t n = 0;
    const char *error = NULL;
    tn_pb c = tn_pb_open(data.at, data.n);
    while (!error && tn_pb_next(&c)) {
        n += c.field == f->number ? c.bytes.n : 0; /* at most data.n in all */
        error = c.field == f->number ? broken(c.bytes) : NULL;
    }
    if (error)
        return fail(r, t, f, error);
    uint8_t *at = take(r, n, 1);
    if (!at)
        return fail(r, t, f, too_much);
    *out = (tn_bytes){at, n};
    c = tn_pb_open(data.at, data.n);
    while (tn_pb_next(&c)) {
        if (c.field == f->number) {
            memcpy(at, c.bytes.at, c.bytes.n);
            at += c.bytes.n;
        }
    }
    return true;
}

static bool fill(reader *r, const target *t, tn_bytes data);

static bool read_msg(reader *r, const target *t, tn_bytes data)
{
    if (t->depth >= r->depth_max)
        return fail(r, t, NULL, "messages are nested too deeply");
    return count_fields(r, t, data) && make_arrays(r, t) && fill(r, t, data);
}

/* A singular message field met in the second walk. */
static bool read_single(reader *r, const target *t, const tn_pb_field *f, const tn_pb *c, tn_bytes data)
{
    void **slot = (void **)(void *)(t->out + f->offset);
    tn_bytes all = c->bytes;
    if (*slot != seen_once && *slot != seen_again)
        return true; /* merged when it was met first */
    if (*slot == seen_again && !concatenate(r, t, f, data, &all))
        return false;
    *slot = take(r, 1, f->msg->size);
    if (!*slot)
        return fail(r, t, f, too_much);
    return read_msg(r, &(target){f->msg, *slot, {&t->at, f, 0}, t->depth + 1}, all);
}

/* Second walk. Recursion through read_msg is bounded by depth_max. */
static bool fill(reader *r, const target *t, tn_bytes data)
{
    tn_pb c = tn_pb_open(data.at, data.n);
    uint32_t hint = 0;
    while (tn_pb_next(&c)) {
        const tn_pb_field *f = field_find(t->msg, c.field, &hint);
        if (!f)
            continue;
        uint8_t *at = t->out + f->offset;
        if (!f->repeated) {
            if (f->type != TN_PB_T_MSG)
                store(f, &c, at);
            else if (!read_single(r, t, f, &c, data))
                return false;
            continue;
        }
        tn_pb_array *a = (tn_pb_array *)(void *)at;
        if (is_packed(f, &c)) {
            if (!packed_fill(f, c.bytes, a))
                return fail(r, t, f, "a number has more than 64 bits");
            continue;
        }
        size_t i = a->n++;
        uint8_t *element = (uint8_t *)a->at + element_size(f) * i;
        store(f, &c, element);
        if (f->type == TN_PB_T_MSG &&
            !read_msg(r, &(target){f->msg, element, {&t->at, f, i}, t->depth + 1}, c.bytes)) {
            return false;
        }
    }
    return true;
}

const char *tn_pb_read(struct tn_arena *a, const tn_pb_msg *msg, const void *data, size_t n,
                       const tn_pb_limits *limits, void *out, const char **out_path)
{
    reader r = {.arena = a, .root = msg, .depth_max = DEPTH_DEFAULT};
    r.left = limits ? limits->memory_bytes : 2 * (uint64_t)n + (64u << 20);
    r.depth_max = limits ? limits->depth : r.depth_max;
    r.depth_max = r.depth_max > DEPTH_MAX ? DEPTH_MAX : r.depth_max;
    *out_path = "";
    if (!read_msg(&r, &(target){.msg = msg, .out = out}, (tn_bytes){data, n}))
        *out_path = r.path;
    return r.error;
}
