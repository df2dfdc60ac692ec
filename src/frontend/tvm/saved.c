/* Nodes and tensors of TVM's JSON. Every place is checked; nothing is followed here, so nothing can go round. */
#include "frontend/tvm/saved.h"

#include <stdlib.h>
#include <string.h>

const char *tvm_open(imp_model *im, tn_bytes text, tvm_saved *out)
{
    *out = (tvm_saved){.im = im, .doc = tn_json_read((const char *)text.at, text.n)};
    const tn_json *root = out->doc.root;
    if (!root)
        return out->doc.error;
    out->nodes = tn_json_find(root, "nodes");
    out->tensors = tn_json_find(root, "b64ndarrays");
    out->root = tvm_number(tn_json_find(root, "root"), 0);
    if (!tn_json_is(out->nodes, TN_JSON_ARRAY))
        return "it has no list of nodes";
    return tvm_node(out, out->root) ? NULL : "its root is no node";
}

void tvm_close(tvm_saved *s)
{
    tn_json_free(&s->doc);
    tn_strmap_deinit(&s->lists);
}

const tn_json *tvm_node(const tvm_saved *s, int64_t i)
{
    bool is = i > 0 && i < (int64_t)s->nodes->n && s->nodes->u.at[i].kind == TN_JSON_OBJECT;
    return is ? &s->nodes->u.at[i] : NULL;
}

bool tvm_is(const tn_json *node, const char *type)
{
    tn_bytes key = node ? tvm_text(tn_json_find(node, "type_key")) : (tn_bytes){0};
    static const char *const domains[] = {"relay.", "tir.", "runtime.", "ir."};
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t n = strlen(domains[i]);
        if (key.n > n && memcmp(key.at, domains[i], n) == 0) {
            key.at += n;
            key.n -= n;
            break;
        }
    }
    return key.at && imp_is(key, type);
}

const tn_json *tvm_attr(const tn_json *node, const char *name)
{
    return node ? tn_json_find(tn_json_find(node, "attrs"), name) : NULL;
}

tn_bytes tvm_text(const tn_json *v)
{
    return tn_json_is(v, TN_JSON_STRING) ? (tn_bytes){(const uint8_t *)v->u.s, v->n} : (tn_bytes){0};
}

int64_t tvm_number(const tn_json *v, int64_t none)
{
    char digits[24], *end;
    if (tn_json_is(v, TN_JSON_INT))
        return v->u.i;
    if (!tn_json_is(v, TN_JSON_STRING) || v->n == 0 || v->n >= sizeof digits)
        return none;
    memcpy(digits, v->u.s, v->n);
    digits[v->n] = 0;
    int64_t i = strtoll(digits, &end, 10);
    return *end ? none : i;
}

const tn_json *tvm_ref(const tvm_saved *s, const tn_json *node, const char *name)
{
    return tvm_node(s, tvm_number(tvm_attr(node, name), 0));
}

tn_bytes tvm_repr(const tn_json *node)
{
    tn_bytes text = node ? tvm_text(tn_json_find(node, "repr_str")) : (tn_bytes){0};
    return text.at || !node ? text : tvm_text(tn_json_find(node, "global_key")); /* before 0.7 */
}

tn_bytes tvm_string(const tvm_saved *s, const tn_json *node, const char *name)
{
    const tn_json *own = tvm_ref(s, node, name);
    return tvm_is(own, "String") ? tvm_repr(own) : tvm_text(tvm_attr(node, name));
}

/* ---- tensors ---- */

static int digit(uint8_t ch)
{
    return ch >= 'A' && ch <= 'Z'   ? ch - 'A'
           : ch >= 'a' && ch <= 'z' ? ch - 'a' + 26
           : ch >= '0' && ch <= '9' ? ch - '0' + 52
           : ch == '+'              ? 62
           : ch == '/'              ? 63
                                    : -1;
}

/* Up to n bytes from the byte `from` on; false: what is there is no base64. */
static bool decode(tn_bytes text, size_t from, size_t n, uint8_t *to)
{
    if (from > text.n || n > text.n - from) /* as bytes there are fewer than digits */
        return false;
    for (size_t i = from; i < from + n; i++) {
        size_t first = i * 4 / 3, high = first < text.n ? first : 0, low = first + 1 < text.n ? first + 1 : 0;
        unsigned shift = 2 * (unsigned)(i % 3);
        int a = digit(text.at[high]), b = low ? digit(text.at[low]) : -1;
        if (a < 0 || b < 0 || first >= text.n)
            return false;
        to[i - from] = (uint8_t)((unsigned)a << (2 + shift) | (unsigned)b >> (4 - shift));
    }
    return true;
}

static bool dtype_of(uint8_t code, uint8_t bits, tn_dtype *out)
{
    static const int kinds[] = {TN_INT, TN_UINT, TN_FLOAT};
    *out = (tn_dtype){code < 3 ? (uint8_t)kinds[code] : 0, bits, 1};
    if (code == 1 && bits == 1)
        *out = TN_BOOL1;
    return code < 3 && (bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64) &&
           (bits > 8 || code < 2) && (bits > 1 || code == 1);
}

const char *tvm_read_tensor(tvm_saved *s, int64_t i, tvm_tensor *out)
{
    enum { MARK = 0, DIMS = 24, CODE = 28, BITS = 29, LANES = 30, SHAPE = 32, MOST_TIMES = 8 };
    static const uint8_t mark[8] = {0x3f, 0xa1, 0xb4, 0x96, 0xf0, 0x40, 0x5e, 0xdd};
    uint8_t head[SHAPE];
    uint32_t n;
    int64_t size;
    size_t count = 1;
    const tn_json *all = s->tensors;
    if (!tn_json_is(all, TN_JSON_ARRAY) || i < 0 || i >= (int64_t)all->n)
        return "a tensor is named that is not there";
    tn_bytes text = tvm_text(&all->u.at[i]);
    if (!text.at || !decode(text, 0, sizeof head, head) || memcmp(head, mark, sizeof mark) != 0)
        return "a tensor does not begin as TVM's tensors do";
    memcpy(&n, head + DIMS, 4);
    *out = (tvm_tensor){.n = n};
    if (n > IMP_MAX_RANK || head[LANES] != 1 || !dtype_of(head[CODE], head[BITS], &out->dtype))
        return "a tensor has a type or number of dimensions that is not supported";
    if (!decode(text, SHAPE, n * 8, (uint8_t *)out->dim) || !decode(text, SHAPE + n * 8, 8, (uint8_t *)&size))
        return "a tensor is cut short";
    for (size_t k = 0; k < n; k++) {
        if (out->dim[k] < 0 || (out->dim[k] && count > text.n / (size_t)out->dim[k]))
            return "a tensor has dimensions that it has no data for";
        count *= (size_t)out->dim[k];
    }
    void *to;
    size_t bytes = count * tn_dtype_bytes(out->dtype);
    if (size < 0 || (uint64_t)size != bytes || bytes > text.n)
        return "a tensor has another number of bytes than its dimensions need";
    if (bytes > MOST_TIMES * s->im->whole.n - s->bytes) /* constants may share tensors */
        return "its constants would unpack to too much for a file of its size";
    s->bytes += bytes;
    out->blob = tn_graph_blob(s->im->g, bytes, &to);
    return decode(text, SHAPE + (n + 1) * 8, bytes, to) ? NULL : "a tensor is cut short";
}

/* ---- metadata of texts ---- */

/* root: a map of types to lists. */
static void note_lists(tvm_saved *s)
{
    const tn_json *map = tvm_node(s, s->root), *keys = tn_json_find(map, "keys"),
                  *data = tn_json_find(map, "data");
    if (!tn_json_is(keys, TN_JSON_ARRAY) || !tn_json_is(data, TN_JSON_ARRAY))
        return;
    for (uint32_t i = 0; i < keys->n && i < data->n; i++) {
        const tn_bytes type = tvm_text(&keys->u.at[i]);
        const int64_t node = tvm_number(&data->u.at[i], 0);
        uint64_t had;
        if (type.at && node > 0 && !tn_strmap_get(&s->lists, (const char *)type.at, type.n, &had))
            tn_strmap_put(&s->lists, (const char *)type.at, type.n, (uint64_t)node);
    }
}

static const tn_json *list_of(const tvm_saved *s, const char *type)
{
    uint64_t node;
    bool known = tn_strmap_get(&s->lists, type, strlen(type), &node);
    const tn_json *list = known ? tn_json_find(tvm_node(s, (int64_t)node), "data") : NULL;
    return tn_json_is(list, TN_JSON_ARRAY) ? list : NULL;
}

const tn_json *tvm_metadata(const tvm_saved *s, const char *type, int64_t k)
{
    const tn_json *list = list_of(s, type);
    return list && k >= 0 && k < (int64_t)list->n ? tvm_node(s, tvm_number(&list->u.at[k], 0)) : NULL;
}

const tn_blob *const *tvm_read_constants(tvm_saved *s, size_t *out_n)
{
    const tn_json *list = list_of(s, "relay.Constant");
    const uint32_t n = list ? list->n : 0;
    const tn_blob **blob = TN_NEW_N(s->im->g->arena, const tn_blob *, n);
    for (uint32_t i = 0; i < n; i++) {
        tvm_tensor t;
        const tn_json *c = tvm_node(s, tvm_number(&list->u.at[i], 0));
        blob[i] = tvm_read_tensor(s, tvm_number(tvm_attr(c, "data"), -1), &t) ? NULL : t.blob;
    }
    *out_n = n;
    return n ? blob : NULL;
}

bool tvm_open_metadata(imp_model *im, tn_bytes text, tvm_saved *out)
{
    static const char head[] = "#[metadata]";
    const uint8_t *at = memmem(text.at, text.n, head, sizeof head - 1);
    *out = (tvm_saved){.im = im};
    if (!at)
        return false;
    at += sizeof head - 1;
    if (tvm_open(im, (tn_bytes){at, text.n - (size_t)(at - text.at)}, out))
        return false;
    note_lists(out);
    return true;
}
