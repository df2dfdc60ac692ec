/* mod.json -> program. The graph is static, so every size is a number here.
 *
 * Each entry (output of a node) gets the slot of the same number; heads that are not computed by a kernel get
 * slots of their own behind. `__nop` only renames storage: its entry stands for its root, the entry it was
 * reshaped from. Memory is that of the json's plan, else each storage_id has its own. Steps: sizes of all
 * entries, nodes, storage, heads, instructions. Time and memory O(bytes of the json) but for the lookup of
 * func_names, which is nodes times kernels. Nothing of the json is trusted; what comes out is checked again
 * by exe.c. */
#include "runtime/graph.h"

#include "base/size.h"
#include "base/wire/json.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/params.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NDIM = 64, OUTPUT_NAME = 20 };

struct tnr_graph {
    tn_program program;
    tn_program_function main;
    tn_slot *slot;
    tn_size *dim;
    tn_inst *inst;
    uint32_t *operand;
    uint32_t *head; /* slots of the heads, in order; in the block of operand */
    char *names;
};

enum node_kind { NODE_NULL, NODE_NOP, NODE_COPY, NODE_CALL };

struct node {
    enum node_kind kind;
    uint32_t kernel;
    const tn_json *inputs;
    int64_t work_offset; /* -1: its work memory has no place of its own */
    uint32_t work;       /* its slot, where it has */
};

struct place { /* one storage_id */
    uint64_t bytes, offset;
    uint32_t n_value; /* kernel results kept there */
    bool external;    /* an input or constant lies there */
    bool direct;      /* its one value is an output, outside the arena */
};

struct reader {
    const tn_library *library;
    const tnr_params *params;
    tnr_error *err;
    const tn_json *nodes, *heads, *row_ptr, *shape, *dltype, *storage_id, *storage_offset;
    uint32_t n_entry, n_slot, n_operand;
    struct node *node;
    uint32_t *first;     /* n_node + 1: first entry of a node; the block of the next two too */
    uint32_t *root;      /* n_entry */
    uint32_t *storage;   /* n_entry */
    struct place *place; /* n_entry: ids are smaller */
    tn_size *work_dim;   /* n_node: of the slots of work memory */
    char *name_at;
    tnr_graph *g;
};

/* ---- JSON ---- */

/* An integer in [0, limit). */
static bool number(const tn_json *v, uint64_t limit, uint32_t *out)
{
    if (!tn_json_is(v, TN_JSON_INT) || v->u.i < 0 || (uint64_t)v->u.i >= limit)
        return false;
    *out = (uint32_t)v->u.i;
    return true;
}

static tnr_status bad(const struct reader *r, uint32_t node, const char *what)
{
    const tn_json *name = node < r->nodes->n ? tn_json_find(&r->nodes->u.at[node], "name") : NULL;
    if (!tn_json_is(name, TN_JSON_STRING))
        return tnr_fail(r->err, TNR_E_FORMAT, node, "mod.json: node %" PRIu32 ": %s", node, what);
    return tnr_fail(r->err, TNR_E_FORMAT, node, "mod.json: node %" PRIu32 " (%.*s): %s", node,
                    (int)(name->n < 80 ? name->n : 80), name->u.s, what);
}

static tnr_status bad_graph(const struct reader *r, const char *what)
{
    return tnr_fail(r->err, TNR_E_FORMAT, 0, "mod.json: %s", what);
}

/* Every key of an object is in the list. */
static bool keys_known(const tn_json *object, const char key[][16], size_t n)
{
    for (uint32_t i = 0; i < object->n; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++)
            known = known || tn_json_is_text(&object->u.at[2 * i], key[k]);
        if (!known)
            return false;
    }
    return true;
}

/* A typed list of the graph's attributes, ["list_int", [...]], with one element per entry. */
static const tn_json *attribute(const struct reader *r, const tn_json *attrs, const char *key,
                                const char *type)
{
    const tn_json *v = tn_json_find(attrs, key);
    if (!tn_json_is(v, TN_JSON_ARRAY) || v->n != 2 || !tn_json_is_text(&v->u.at[0], type) ||
        !tn_json_is(&v->u.at[1], TN_JSON_ARRAY) || v->u.at[1].n != r->n_entry)
        return NULL;
    return &v->u.at[1];
}

/* A place in the arena. */
static bool is_offset(int64_t v) { return v >= 0 && v % 64 == 0 && v < INT64_MAX / 4; }

/* Lists that a graph may have, one element for each output of each node; NULL: it has none. */
static tnr_status optional(const struct reader *r, const tn_json *attrs, const char *key, const char *type,
                           const tn_json **out)
{
    *out = attribute(r, attrs, key, type);
    return *out || !tn_json_find(attrs, key)
               ? TNR_OK
               : tnr_fail(r->err, TNR_E_FORMAT, 0,
                          "mod.json: %s must have one element for each output of each node", key);
}

/* Places of values, where the json has them (the offset of each entry in one arena, -1 outside it), and devices. */
static tnr_status read_optional(struct reader *r, const tn_json *attrs)
{
    const tn_json *device, *scope;
    tnr_status status = optional(r, attrs, "device_index", "list_int", &device);
    if (!status)
        status = optional(r, attrs, "storage_scope", "list_str", &scope);
    if (!status)
        status = optional(r, attrs, "storage_offset", "list_int", &r->storage_offset);
    for (uint32_t i = 0; !status && i < r->n_entry; i++) {
        const tn_json *v = r->storage_offset ? &r->storage_offset->u.at[i] : NULL;
        if (device &&
            (!tn_json_is(&device->u.at[i], TN_JSON_INT) || device->u.at[i].u.i != tnr_devices[TNR_HOST].type))
            return bad_graph(r, "device_index names a device other than the CPU (1)");
        if (scope && !tn_json_is_text(&scope->u.at[i], "global"))
            return bad_graph(r, "storage_scope names a scope other than global");
        if (v && (!tn_json_is(v, TN_JSON_INT) || !(v->u.i == -1 || is_offset(v->u.i))))
            return bad_graph(r, "a storage_offset is neither -1 nor a valid multiple of 64");
    }
    return status;
}

static tnr_status read_top(struct reader *r, const tn_json *root)
{
    static const char keys[][16] = {"nodes", "arg_nodes", "heads", "attrs", "node_row_ptr", "metadata"};
    static const char attr_keys[][16] = {"shape",        "dltype",        "storage_id",
                                         "device_index", "storage_scope", "storage_offset"};
    if (!tn_json_is(root, TN_JSON_OBJECT) || !keys_known(root, keys, 6))
        return bad_graph(r, "must be an object of nodes, arg_nodes, heads, attrs, node_row_ptr and metadata");
    r->nodes = tn_json_find(root, "nodes");
    r->heads = tn_json_find(root, "heads");
    r->row_ptr = tn_json_find(root, "node_row_ptr");
    const tn_json *attrs = tn_json_find(root, "attrs");
    if (!tn_json_is(r->nodes, TN_JSON_ARRAY) || !tn_json_is(r->heads, TN_JSON_ARRAY) ||
        !tn_json_is(r->row_ptr, TN_JSON_ARRAY) || !tn_json_is(attrs, TN_JSON_OBJECT))
        return bad_graph(r, "nodes, heads, attrs or node_row_ptr is missing");
    if (!keys_known(attrs, attr_keys, 6))
        return bad_graph(
            r, "attrs may hold shape, dltype, storage_id, storage_offset, device_index and storage_scope");
    if (r->row_ptr->n != (uint64_t)r->nodes->n + 1 ||
        !number(&r->row_ptr->u.at[r->nodes->n], 1u << 28, &r->n_entry))
        return bad_graph(r, "node_row_ptr must have one number more than there are nodes");
    r->shape = attribute(r, attrs, "shape", "list_shape");
    r->dltype = attribute(r, attrs, "dltype", "list_str");
    r->storage_id = attribute(r, attrs, "storage_id", "list_int");
    if (!r->shape || !r->dltype || !r->storage_id)
        return bad_graph(r, "attrs must hold shape, dltype and storage_id, one for each output of each node");
    return read_optional(r, attrs);
}

/* ---- entries: type, shape, storage ---- */

static tnr_status count_dims(const struct reader *r, size_t *out_dims)
{
    size_t n = 0;
    for (uint32_t e = 0; e < r->n_entry; e++) {
        const tn_json *s = &r->shape->u.at[e];
        if (!tn_json_is(s, TN_JSON_ARRAY) || s->n > MAX_NDIM)
            return bad_graph(r, "a shape is not a list of at most 64 numbers");
        n += s->n;
    }
    *out_dims = n;
    return TNR_OK;
}

static tnr_status read_entries(struct reader *r)
{
    tn_size *dim = r->g->dim;
    for (uint32_t e = 0; e < r->n_entry; e++) {
        const tn_json *shape = &r->shape->u.at[e], *type = &r->dltype->u.at[e];
        int64_t extent[MAX_NDIM];
        uint64_t bytes;
        DLDataType t;
        for (uint32_t d = 0; d < shape->n; d++) {
            if (!tn_json_is(&shape->u.at[d], TN_JSON_INT) || shape->u.at[d].u.i < 0)
                return bad_graph(r, "a dimension is negative or not a number");
            extent[d] = shape->u.at[d].u.i;
            dim[d] = (tn_size){extent[d], NULL};
        }
        if (!tn_json_is(type, TN_JSON_STRING) || !tnr_dtype_parse(type->u.s, type->n, &t))
            return bad_graph(r, "dltype contains an unknown type");
        if (tnr_tensor_bytes(t, (int32_t)shape->n, extent, &bytes, NULL) || bytes > INT64_MAX / 4)
            return bad_graph(r, "a tensor is too large");
        if (!number(&r->storage_id->u.at[e], r->n_entry, &r->storage[e]))
            return bad_graph(r, "a storage_id is negative or larger than the number of values");
        r->g->slot[e] = (tn_slot){.name = "",
                                  .kind = TN_SLOT_TEMP,
                                  .code = t.code,
                                  .bits = t.bits,
                                  .ndim = (uint16_t)shape->n,
                                  .dim = dim,
                                  .bytes = {(int64_t)bytes, NULL},
                                  .alias = -1};
        dim += shape->n;
    }
    return TNR_OK;
}

/* ---- nodes ---- */

/* The entry that [node, output, version] names; it must belong to a node before `before`. */
static bool reference(const struct reader *r, const tn_json *v, uint32_t before, uint32_t *out_entry)
{
    uint32_t node, output, version;
    if (!tn_json_is(v, TN_JSON_ARRAY) || v->n < 2 || v->n > 3 || !number(&v->u.at[0], before, &node) ||
        !number(&v->u.at[1], r->first[node + 1] - r->first[node], &output) ||
        (v->n == 3 && !number(&v->u.at[2], 1, &version)))
        return false;
    *out_entry = r->first[node] + output;
    return true;
}

/* The string attribute holds exactly this number. */
static bool text_number_is(const tn_json *v, uint32_t n)
{
    char text[12];
    snprintf(text, sizeof text, "%" PRIu32, n);
    return tn_json_is_text(v, text);
}

/* The string attribute as an offset; -1 where there is none. */
static bool read_offset(const tn_json *v, int64_t *out)
{
    *out = -1;
    if (!v)
        return true;
    if (!tn_json_is(v, TN_JSON_STRING) || v->n == 0 || v->n > 18)
        return false;
    *out = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->u.s[i] < '0' || v->u.s[i] > '9')
            return false;
        *out = *out * 10 + (v->u.s[i] - '0');
    }
    return is_offset(*out);
}

static bool find_kernel(const struct reader *r, const tn_json *name, uint32_t *out)
{
    for (uint32_t k = 0; k < r->library->n_kernel; k++)
        if (tn_json_is_text(name, r->library->kernel[k].name)) {
            *out = k;
            return true;
        }
    return false;
}

static tnr_status read_func(struct reader *r, uint32_t at, const tn_json *attrs, struct node *n)
{
    const tn_json *func = tn_json_find(attrs, "func_name");
    uint32_t n_out = r->first[at + 1] - r->first[at];
    if (!tn_json_is(func, TN_JSON_STRING) ||
        !text_number_is(tn_json_find(attrs, "num_inputs"), n->inputs->n) ||
        !text_number_is(tn_json_find(attrs, "num_outputs"), n_out))
        return bad(r, at, "attrs must hold func_name, and num_inputs and num_outputs that fit");
    if (!tn_json_is_text(tn_json_find(attrs, "flatten_data"), "0"))
        return bad(r, at, "flatten_data must be \"0\"");
    if (!read_offset(tn_json_find(attrs, "work_offset"), &n->work_offset))
        return bad(r, at, "work_offset must be a valid multiple of 64");
    if (n->work_offset >= 0 && !r->storage_offset)
        return bad(r, at, "work_offset needs storage_offset, which is missing from attrs");
    n->kind = tn_json_is_text(func, "__nop")    ? NODE_NOP
              : tn_json_is_text(func, "__copy") ? NODE_COPY
                                                : NODE_CALL;
    if (n->kind != NODE_CALL)
        return n->inputs->n == 1 && n_out == 1 ? TNR_OK
                                               : bad(r, at, "__nop and __copy have one input and one output");
    if (!find_kernel(r, func, &n->kernel))
        return tnr_fail(r->err, TNR_E_FORMAT, at,
                        "mod.json: node %" PRIu32 " calls \"%.*s\", which mod.so does not have", at,
                        (int)(func->n < 150 ? func->n : 150), func->u.s);
    const tn_kernel *k = &r->library->kernel[n->kernel];
    if (k->n_in != n->inputs->n || k->n_out != n_out)
        return tnr_fail(r->err, TNR_E_FORMAT, at,
                        "mod.json: node %" PRIu32 " has %" PRIu32 " inputs and %" PRIu32
                        " outputs, its kernel %.400s %" PRIu32 " and %" PRIu32,
                        at, n->inputs->n, n_out, k->name, k->n_in, k->n_out);
    return k->n_sym == 0 ? TNR_OK
                         : bad(r, at, "its kernel has symbolic dimensions, which need the aot executor");
}

static tnr_status read_null(struct reader *r, uint32_t at, const tn_json *name)
{
    tn_slot *s = &r->g->slot[r->first[at]];
    DLTensor view;
    uint64_t bytes;
    if (r->node[at].inputs->n != 0 || r->first[at + 1] - r->first[at] != 1)
        return bad(r, at, "a null node has no inputs and one output");
    if (memchr(name->u.s, 0, name->n))
        return bad(r, at, "its name contains a zero byte");
    memcpy(r->name_at, name->u.s, name->n);
    s->name = r->name_at; /* the pool is zeroed: terminated */
    r->name_at += name->n + 1;
    s->kind = tnr_params_get(r->params, s->name, &view, &bytes) ? TN_SLOT_CONST : TN_SLOT_INPUT;
    return TNR_OK;
}

static tnr_status read_node(struct reader *r, uint32_t at)
{
    static const char keys[][16] = {"op", "name", "inputs", "attrs", "control_deps"};
    const tn_json *v = &r->nodes->u.at[at], *name = tn_json_find(v, "name"),
                  *attrs = tn_json_find(v, "attrs");
    struct node *n = &r->node[at];
    n->inputs = tn_json_find(v, "inputs");
    if (!tn_json_is(v, TN_JSON_OBJECT) || !keys_known(v, keys, 5) || !tn_json_is(name, TN_JSON_STRING) ||
        !tn_json_is(n->inputs, TN_JSON_ARRAY))
        return bad(r, at, "must have op, name and inputs, and may have attrs and control_deps");
    for (uint32_t i = 0; i < n->inputs->n; i++) {
        uint32_t entry;
        if (!reference(r, &n->inputs->u.at[i], at, &entry))
            return bad(r, at, "an input is not the output of an earlier node");
    }
    for (uint32_t i = 0; attrs && i < (tn_json_is(attrs, TN_JSON_OBJECT) ? attrs->n : 0); i++)
        if (!tn_json_is(&attrs->u.at[2 * i + 1], TN_JSON_STRING))
            return bad(r, at, "the values of attrs must be strings");
    if (tn_json_is_text(tn_json_find(v, "op"), "null"))
        return read_null(r, at, name);
    if (!tn_json_is_text(tn_json_find(v, "op"), "tvm_op") || !tn_json_is(attrs, TN_JSON_OBJECT))
        return bad(r, at, "op must be null, or tvm_op with attrs");
    uint32_t n_out = r->first[at + 1] - r->first[at];
    r->n_operand += n->inputs->n + n_out;
    return read_func(r, at, attrs, n);
}

static tnr_status read_nodes(struct reader *r, const tn_json *root)
{
    uint32_t n_null = 0, n = r->nodes->n;
    for (uint32_t i = 0; i <= n; i++)
        if (!number(&r->row_ptr->u.at[i], (uint64_t)r->n_entry + 1, &r->first[i]) ||
            (i == 0 && r->first[0] != 0) || (i > 0 && r->first[i] < r->first[i - 1]))
            return bad_graph(r, "node_row_ptr must begin with 0 and must not decrease");
    const tn_json *args = tn_json_find(root, "arg_nodes");
    if (!tn_json_is(args, TN_JSON_ARRAY))
        return bad_graph(r, "arg_nodes is missing");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t arg;
        tnr_status status = read_node(r, i);
        if (status)
            return status;
        if (r->node[i].kind != NODE_NULL)
            continue;
        if (n_null >= args->n || !number(&args->u.at[n_null], n, &arg) || arg != i)
            return bad_graph(r, "arg_nodes must list the null nodes in order");
        n_null++;
    }
    return n_null == args->n ? TNR_OK : bad_graph(r, "arg_nodes must list the null nodes in order");
}

/* ---- storage ---- */

static uint64_t bytes_of(const struct reader *r, uint32_t entry)
{
    return (uint64_t)r->g->slot[entry].bytes.value;
}

static tnr_status read_storage(struct reader *r)
{
    for (uint32_t i = 0; i < r->nodes->n; i++)
        for (uint32_t e = r->first[i]; e < r->first[i + 1]; e++) {
            struct place *p = &r->place[r->storage[e]];
            uint32_t from;
            r->root[e] = e;
            if (r->node[i].kind == NODE_NULL) {
                p->external = true;
            } else if (r->node[i].kind == NODE_NOP) {
                (void)reference(r, &r->node[i].inputs->u.at[0], i, &from);
                if (r->storage[from] != r->storage[e] || bytes_of(r, from) != bytes_of(r, e))
                    return bad(r, i, "__nop must keep storage_id and size");
                r->root[e] = r->root[from];
            } else {
                p->n_value++;
                if (bytes_of(r, e) > p->bytes)
                    p->bytes = bytes_of(r, e);
            }
        }
    for (uint32_t i = 0; i < r->nodes->n; i++)
        for (uint32_t e = r->first[i]; e < r->first[i + 1]; e++)
            if (r->node[i].kind > NODE_NOP && r->place[r->storage[e]].external)
                return bad(
                    r, i, "its result would overwrite an input or a constant: both have the same storage_id");
    return TNR_OK;
}

/* Head h is the entry: the kernel's result becomes the output itself, outside the arena if nothing else uses
 * its storage; what is an input, a constant or an output already is copied to a slot of its own at the
 * end. */
static void make_output(struct reader *r, uint32_t h, uint32_t entry)
{
    uint32_t root = r->root[entry];
    tn_slot *of = &r->g->slot[root], out = r->g->slot[entry]; /* out: with the entry's own shape */
    struct place *p = &r->place[r->storage[root]];
    out.kind = TN_SLOT_OUTPUT;
    out.name = r->name_at + (size_t)h * OUTPUT_NAME;
    snprintf(r->name_at + (size_t)h * OUTPUT_NAME, OUTPUT_NAME, "output_%" PRIu32, h);
    if (of->kind == TN_SLOT_TEMP) {
        *of = out;
        p->direct = p->n_value == 1;
        r->g->head[h] = root;
        return;
    }
    out.offset.value = -1;
    out.alias = root;
    r->g->head[h] = r->n_slot;
    r->g->slot[r->n_slot++] = out;
}

/* Heads that are results themselves first: a head that is a reshape of a result changes the shape of its
 * slot. */
static tnr_status read_heads(struct reader *r)
{
    for (int reshaped = 0; reshaped < 2; reshaped++)
        for (uint32_t h = 0; h < r->heads->n; h++) {
            uint32_t entry;
            if (!reference(r, &r->heads->u.at[h], r->nodes->n, &entry))
                return bad_graph(r, "a head is not the output of a node");
            if ((r->root[entry] != entry) == reshaped)
                make_output(r, h, entry);
        }
    return TNR_OK;
}

/* Each storage_id has memory of its own, for its largest value. */
static tnr_status place_by_id(struct reader *r, size_t *total)
{
    size_t end;
    for (uint32_t s = 0; s < r->n_entry; s++) {
        struct place *p = &r->place[s];
        p->offset = *total;
        if (p->direct || p->n_value == 0)
            continue;
        if (!tn_size_add(*total, (size_t)p->bytes, &end) || !tn_size_align(end, 64, total) ||
            *total > INT64_MAX / 4)
            return bad_graph(r, "its tensors together are too large");
    }
    for (uint32_t e = 0; e < r->n_entry; e++) {
        tn_slot *s = &r->g->slot[e];
        const struct place *p = &r->place[r->storage[e]];
        if (r->root[e] == e && (s->kind == TN_SLOT_TEMP || s->kind == TN_SLOT_OUTPUT))
            s->offset.value = p->direct ? -1 : (int64_t)p->offset;
    }
    return TNR_OK;
}

/* The arena reaches over a slot; offsets and sizes are below 2^61. */
static void reach(const tn_slot *s, size_t *total)
{
    size_t end = (size_t)(s->offset.value + s->bytes.value + 63) / 64 * 64;
    *total = end > *total ? end : *total;
}

/* As the json's plan says. That in each call results and work memory are apart from what it reads, exe.c
 * checks. */
static tnr_status place_by_offset(struct reader *r, size_t *total)
{
    for (uint32_t e = 0; e < r->n_entry; e++) {
        tn_slot *s = &r->g->slot[e];
        if (r->root[e] != e || (s->kind != TN_SLOT_TEMP && s->kind != TN_SLOT_OUTPUT))
            continue;
        s->offset.value = r->storage_offset->u.at[e].u.i;
        if (s->offset.value >= 0)
            reach(s, total);
        else if (s->kind == TN_SLOT_TEMP)
            return bad_graph(r, "a result that is not an output has no storage_offset");
    }
    return TNR_OK;
}

/* Work memory of calls: where they say, which takes a plan by offsets; else behind the arena. */
static tnr_status place_work(struct reader *r, size_t *total, size_t *behind)
{
    for (uint32_t i = 0; i < r->nodes->n; i++) {
        struct node *n = &r->node[i];
        if (n->kind != NODE_CALL)
            continue;
        const tn_kernel *k = &r->library->kernel[n->kernel];
        int64_t v = tnr_variant_find(k, NULL);
        int64_t bytes = v < 0 ? 0 : tnr_size_get(k->variant[v].work_bytes, NULL);
        if (bytes < 0 || bytes > INT64_MAX / 4)
            return bad(r, i, "its kernel needs an impossible amount of work memory");
        if (n->work_offset < 0) {
            if ((size_t)bytes > *behind)
                *behind = (size_t)bytes;
            continue;
        }
        r->work_dim[i].value = bytes;
        n->work = r->n_slot++;
        r->g->slot[n->work] = (tn_slot){.name = "",
                                        .kind = TN_SLOT_TEMP,
                                        .code = kDLUInt,
                                        .bits = 8,
                                        .ndim = 1,
                                        .dim = &r->work_dim[i],
                                        .bytes = {bytes, NULL},
                                        .offset = {n->work_offset, NULL},
                                        .alias = -1};
        reach(&r->g->slot[n->work], total);
    }
    return TNR_OK;
}

static tnr_status place_storage(struct reader *r)
{
    size_t total = 0, behind = 0;
    tnr_status status = r->storage_offset ? place_by_offset(r, &total) : place_by_id(r, &total);
    if (!status)
        status = place_work(r, &total, &behind);
    if (status)
        return status;
    for (uint32_t e = 0; e < r->n_entry; e++)
        if (r->root[e] != e)
            r->g->slot[e].bytes.value = 0; /* stands for its root: never used */
    r->g->main.work_offset.value = (int64_t)total;
    r->g->main.arena_bytes.value = (int64_t)(total + behind);
    return TNR_OK;
}

/* ---- instructions ---- */

static void write_instructions(struct reader *r)
{
    tnr_graph *g = r->g;
    uint32_t at = 0, n = 0;
    for (uint32_t i = 0; i < r->nodes->n; i++) {
        const struct node *node = &r->node[i];
        if (node->kind < NODE_COPY)
            continue;
        const tn_kernel *k = node->kind == NODE_COPY ? NULL : &r->library->kernel[node->kernel];
        tn_inst *in = &g->inst[n++];
        *in = (tn_inst){.op = node->kind == NODE_COPY ? TN_INST_COPY : TN_INST_CALL,
                        .a = node->kernel,
                        .operand = at,
                        .node = node->kind == NODE_COPY ? "__copy" : k->source};
        for (uint32_t k_in = 0; k_in < node->inputs->n; k_in++) {
            uint32_t entry = 0;
            (void)reference(r, &node->inputs->u.at[k_in], i, &entry);
            g->operand[at++] = r->root[entry];
        }
        for (uint32_t e = r->first[i]; e < r->first[i + 1]; e++)
            g->operand[at++] = e;
        if (node->kind == NODE_CALL && node->work_offset >= 0)
            g->operand[at++] = node->work;
        in->n_operand = at - in->operand;
    }
    g->program = (tn_program){.function = &g->main, .n_function = 1};
    g->main.name = "main";
    g->main.slot = g->slot;
    g->main.inst = g->inst;
    g->main.operand = g->operand;
    g->main.n_slot = r->n_slot;
    g->main.n_inst = n;
    g->main.n_operand = at;
}

/* ---- all of it ---- */

static tnr_status allocate(struct reader *r)
{
    size_t n_dim = 0, names = (size_t)r->heads->n * OUTPUT_NAME;
    size_t n_node = r->nodes->n, n_slot = (size_t)r->n_entry + r->heads->n + n_node,
           n_operand = r->n_entry + n_node;
    tnr_status status = count_dims(r, &n_dim);
    if (status)
        return status;
    for (uint32_t i = 0; i < n_node; i++) {
        const tn_json *name = tn_json_find(&r->nodes->u.at[i], "name");
        const tn_json *inputs = tn_json_find(&r->nodes->u.at[i], "inputs");
        names += tn_json_is(name, TN_JSON_STRING) ? (size_t)name->n + 1 : 0;
        n_operand += tn_json_is(inputs, TN_JSON_ARRAY) ? inputs->n : 0;
    }
    tnr_graph *g = r->g;
    g->slot = tnr_mem_new(n_slot, sizeof *g->slot);
    g->dim = tnr_mem_new(n_dim + n_node, sizeof *g->dim);
    g->inst = tnr_mem_new(n_node, sizeof *g->inst);
    g->operand = tnr_mem_new(n_operand + r->heads->n, sizeof *g->operand);
    g->names = tnr_mem_new(names, 1);
    r->node = tnr_mem_new(n_node, sizeof *r->node);
    r->first = tnr_mem_new(n_node + 1 + 2 * (size_t)r->n_entry, sizeof *r->first);
    r->place = tnr_mem_new(r->n_entry, sizeof *r->place);
    r->name_at = g->names;
    r->n_slot = r->n_entry;
    if (!g->slot || !g->dim || !g->inst || !g->operand || !g->names || !r->node || !r->first || !r->place)
        return tnr_fail_memory(r->err, n_slot * sizeof *g->slot + n_dim * sizeof *g->dim + names);
    g->head = g->operand + n_operand;
    r->root = r->first + n_node + 1;
    r->storage = r->root + r->n_entry;
    r->work_dim = g->dim + n_dim;
    return TNR_OK;
}

static tnr_status read_graph(struct reader *r, const tn_json *root)
{
    tnr_status status = read_top(r, root);
    if (!status)
        status = allocate(r);
    if (!status)
        status = read_entries(r);
    if (!status)
        status = read_nodes(r, root);
    if (!status)
        status = read_storage(r);
    if (!status)
        status = read_heads(r);
    if (!status)
        status = place_storage(r);
    if (!status)
        write_instructions(r);
    return status;
}

tnr_status tnr_graph_read(const char *json, size_t n, const tn_library *library, const tnr_params *params,
                          tnr_graph **out_graph, tnr_error *err)
{
    tn_json_doc doc = tn_json_read(json, n);
    if (!doc.root) { /* its error texts are static: they outlive the document */
        tnr_status status = strcmp(doc.error, "out of memory") == 0
                                ? tnr_fail_memory(err, n)
                                : tnr_fail(err, TNR_E_FORMAT, doc.error_at, "mod.json: %.400s at byte %zu",
                                           doc.error, doc.error_at);
        tn_json_free(&doc);
        return status;
    }
    struct reader r = {.library = library, .params = params, .err = err, .g = tnr_mem_new(1, sizeof *r.g)};
    tnr_status status = r.g ? read_graph(&r, doc.root) : tnr_fail_memory(err, sizeof *r.g);
    tnr_mem_free(r.node);
    tnr_mem_free(r.first);
    tnr_mem_free(r.place);
    tn_json_free(&doc);
    if (status)
        tnr_graph_free(r.g);
    else
        *out_graph = r.g;
    return status;
}

const tn_program *tnr_graph_program(const tnr_graph *graph) { return &graph->program; }

const uint32_t *tnr_graph_heads(const tnr_graph *graph) { return graph->head; }

void tnr_graph_free(tnr_graph *graph)
{
    if (!graph)
        return;
    tnr_mem_free(graph->slot);
    tnr_mem_free(graph->dim);
    tnr_mem_free(graph->inst);
    tnr_mem_free(graph->operand);
    tnr_mem_free(graph->names);
    tnr_mem_free(graph);
}
