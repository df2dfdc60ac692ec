/* Files of weights alone: state dicts (zip archives and the pickles before them) and safetensors. What they hold
 * becomes one dict of tensors by their names. */
#include "frontend/pytorch/pytorch.h"

#include "base/size.h"
#include "base/wire/json.h"

#include <string.h>

enum { MAX_PARTS = 64 };

static tn_status damaged(pt_import *p, const char *why)
{
    return tn_error(p->im.g->ctx, "pytorch-E065", imp_make_loc(&p->im, NULL, NULL),
                    "its weights cannot be read: %s; save it again", why);
}

/* ---- pickles before the zip archives ---- */

/* The number that such a file begins with. */
static const uint8_t magic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c,
                                0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

bool pt_is_pickle(tn_bytes file)
{
    return file.n > sizeof magic && memcmp(file.at, magic, sizeof magic) == 0;
}

static uint64_t u64(const uint8_t *at)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

/* The data of each storage behind a count of its elements, in the order of `keys`. */
static const char *place_storages(pt_import *p, pt_value keys, const pt_pickle *k)
{
    tn_bytes rest = {k->data.at + k->at, k->data.n - k->at};
    uint64_t at;
    if (!pt_is_sequence(keys))
        return "the list of its tensors is missing";
    for (size_t i = 0; i < keys.list->n; i++) {
        tn_bytes key = pt_at(keys, i).kind == PT_TEXT ? pt_at(keys, i).text : (tn_bytes){0};
        if (!tn_strmap_get(&p->storages, (const char *)key.at, key.n, &at))
            return "its list of tensors names one that it does not have";
        pt_storage *s = (pt_storage *)(uintptr_t)at;
        size_t bytes;
        if (rest.n < 8 ||
            !tn_size_mul((size_t)u64(rest.at), tn_dtype_bytes(s->dtype) * (s->complex ? 2 : 1), &bytes) ||
            bytes > rest.n - 8)
            return "it ends inside of a tensor";
        s->data = (tn_bytes){rest.at + 8, bytes};
        s->has_data = true;
        rest = (tn_bytes){rest.at + 8 + bytes, rest.n - 8 - bytes};
    }
    return NULL;
}

/* Five pickles: a number, the version, the system, the object, the order of the storages; then their data. */
static tn_status read_pickles(pt_import *p, pt_value *out)
{
    pt_pickle k = {.arena = &p->im.scratch, .data = p->im.whole, .storages = &p->storages};
    pt_value part[5];
    const char *why = NULL;
    for (int i = 0; i < 5 && !why; i++) {
        k.budget = k.data.n;
        why = pt_unpickle(&k, &part[i]);
    }
    if (!why && (part[1].kind != PT_INT || part[1].i != 1001))
        why = "it is of a version that is not known";
    if (!why)
        why = place_storages(p, part[4], &k);
    *out = why ? pt_none() : part[3];
    return why ? damaged(p, why) : TN_OK;
}

/* ---- safetensors ---- */

bool pt_is_safetensors(tn_bytes file)
{
    return file.n > 10 && file.at[8] == '{' && (file.at[9] == '"' || file.at[9] == '}') &&
           u64(file.at) <= file.n - 8;
}

static bool dtype_of(const tn_json *name, tn_dtype *out)
{
    static const struct {
        const char *name;
        tn_dtype t;
    } rows[] = {{"F32", {TN_FLOAT, 32, 1}}, {"F16", {TN_FLOAT, 16, 1}}, {"BF16", {TN_BFLOAT, 16, 1}},
                {"F64", {TN_FLOAT, 64, 1}}, {"I64", {TN_INT, 64, 1}},   {"I32", {TN_INT, 32, 1}},
                {"I16", {TN_INT, 16, 1}},   {"I8", {TN_INT, 8, 1}},     {"U8", {TN_UINT, 8, 1}},
                {"BOOL", {TN_BOOL, 8, 1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tn_json_is_text(name, rows[i].name)) {
            *out = rows[i].t;
            return true;
        }
    return false;
}

static bool naturals(const tn_json *v, size_t most, int64_t *out, size_t *n)
{
    *n = tn_json_is(v, TN_JSON_ARRAY) ? v->n : most + 1;
    for (size_t i = 0; *n <= most && i < *n; i++) {
        if (!tn_json_is(&v->u.at[i], TN_JSON_INT) || v->u.at[i].u.i < 0)
            return false;
        out[i] = v->u.at[i].u.i;
    }
    return *n <= most;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}; NULL: it is none. */
static pt_tensor *described(pt_import *p, const tn_json *v, tn_bytes data)
{
    pt_storage *s = TN_NEW(&p->im.scratch, pt_storage);
    pt_tensor *t = TN_NEW(&p->im.scratch, pt_tensor);
    int64_t *dim = TN_NEW_N(&p->im.scratch, int64_t, 2 * PT_MAX_RANK), span[2], step = 1;
    size_t rank, two;
    if (!dtype_of(tn_json_find(v, "dtype"), &s->dtype) ||
        !naturals(tn_json_find(v, "shape"), PT_MAX_RANK, dim, &rank) ||
        !naturals(tn_json_find(v, "data_offsets"), 2, span, &two) || two != 2 || span[0] > span[1] ||
        (uint64_t)span[1] > data.n)
        return NULL;
    *t = (pt_tensor){.storage = s, .n = (int)rank, .dim = dim, .stride = dim + PT_MAX_RANK};
    for (size_t i = rank; i-- > 0;) {
        dim[PT_MAX_RANK + i] = step;
        if (!tn_i64_mul(step, dim[i], &step))
            return NULL;
    }
    if ((uint64_t)step != (uint64_t)(span[1] - span[0]) / tn_dtype_bytes(s->dtype))
        return NULL;
    s->data = (tn_bytes){data.at + span[0], (size_t)(span[1] - span[0])};
    s->has_data = true;
    return t;
}

static tn_status read_safetensors(pt_import *p, pt_value *out)
{
    size_t n = (size_t)u64(p->im.whole.at);
    const char *head =
        tn_arena_copy(&p->im.scratch, p->im.whole.at + 8, n, 1); /* names outlive the document */
    tn_bytes data = {p->im.whole.at + 8 + n, p->im.whole.n - 8 - n};
    tn_json_doc doc = tn_json_read(head, n);
    const char *why = doc.error;
    *out = pt_make(&p->im.scratch, PT_DICT, 0, NULL);
    for (size_t i = 0; !why && tn_json_is(doc.root, TN_JSON_OBJECT) && i < doc.root->n; i++) {
        const tn_json *key = &doc.root->u.at[2 * i];
        if (tn_json_is_text(key, "__metadata__"))
            continue;
        pt_tensor *t = described(p, &doc.root->u.at[2 * i + 1], data);
        if (!t) {
            why = "a tensor has no type that is known, or data that does not fit its shape";
            break;
        }
        tn_bytes name = {tn_arena_copy(&p->im.scratch, key->u.s, key->n, 1), key->n};
        pt_push(&p->im.scratch, out->list, pt_text(name));
        pt_push(&p->im.scratch, out->list, (pt_value){.kind = PT_TENSOR, .tensor = t});
    }
    tn_status s = why ? damaged(p, why) : TN_OK;
    tn_json_free(&doc);
    return s;
}

/* ---- which of what a file holds are the weights ---- */

static void collect(pt_import *p, pt_value v, const char *path, pt_value to, int depth);

/* A module that was saved whole: its parameters, its buffers and those of the modules inside. */
static void collect_module(pt_import *p, pt_object *o, const char *path, pt_value to, int depth)
{
    static const char *const part[] = {"_parameters", "_buffers", "_modules"};
    for (int i = 0; i < 3; i++) {
        const pt_cell *c = pt_attr_find(o, pt_words(part[i]).text);
        if (c)
            collect(p, c->v, path, to, depth);
    }
}

static void collect(pt_import *p, pt_value v, const char *path, pt_value to, int depth)
{
    if (v.kind == PT_OBJECT && depth < MAX_PARTS)
        collect_module(p, v.object, path, to, depth + 1);
    if (v.kind == PT_TENSOR) {
        pt_push(&p->im.scratch, to.list, pt_words(path));
        pt_push(&p->im.scratch, to.list, v);
    }
    for (size_t i = 0; v.kind == PT_DICT && depth < MAX_PARTS && i + 1 < v.list->n; i += 2)
        if (pt_at(v, i).kind == PT_TEXT)
            collect(p, pt_at(v, i + 1),
                    tn_arena_printf(&p->im.scratch, "%s%s%s", path, *path ? "." : "",
                                    imp_text(&p->im, pt_at(v, i).text)),
                    to, depth + 1);
}

static bool has_tensors(pt_value v)
{
    for (size_t i = 1; v.kind == PT_DICT && i < v.list->n; i += 2)
        if (pt_at(v, i).kind == PT_TENSOR)
            return true;
    return false;
}

/* A checkpoint has the weights beside the state of the optimiser and the like. */
static pt_value inner(pt_value v)
{
    static const char *const keys[] = {"state_dict", "model_state_dict", "model", "net", "params", "weights"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !has_tensors(v); i++) {
        const pt_value *in = pt_dict_find(v, pt_words(keys[i]));
        if (in && (in->kind == PT_DICT || in->kind == PT_OBJECT))
            return *in;
    }
    return v;
}

/* Wrappers put a word in front of all names. */
static void strip(pt_value weights, const char *word)
{
    size_t k = strlen(word), n = weights.list->n;
    for (size_t i = 0; i < n; i += 2)
        if (pt_at(weights, i).text.n <= k || memcmp(pt_at(weights, i).text.at, word, k) != 0)
            return;
    for (size_t i = 0; i < n; i += 2) {
        tn_bytes *name = &weights.list->at[i].text;
        *name = (tn_bytes){name->at + k, name->n - k};
    }
}

tn_status pt_import_weights(pt_import *p)
{
    pt_value all, weights = pt_make(&p->im.scratch, PT_DICT, 0, NULL);
    if (!p->im.options || !p->im.options->architecture)
        return tn_error(
            p->im.g->ctx, "pytorch-E060", imp_make_loc(&p->im, NULL, NULL),
            "this file holds weights without a graph; name the network that they are for with "
            "--architecture NAME (resnet18, vgg16_bn, ...; \"?\" lists them), or load them into their "
            "model and save that with torch.jit.trace or torch.export");
    tn_status s = p->root                     ? pt_unpickle_entry(p, "data.pkl", "data/", &all)
                  : pt_is_pickle(p->im.whole) ? read_pickles(p, &all)
                                              : read_safetensors(p, &all);
    if (s != TN_OK)
        return s;
    collect(p, inner(all), "", weights, 0);
    strip(weights, "_orig_mod.");
    strip(weights, "module.");
    strip(weights, "model.");
    return pt_run_architecture(p, weights);
}
