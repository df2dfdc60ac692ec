/* ML programs: the operations of a function, in order. Constants are values of the message or lie in files of weights
 * beside the model; each becomes a Relay constant, and, where it is small, an attribute of the operations that read
 * it. */
#include "frontend/coreml/coreml.h"

#include "base/size.h"
#include "base/wire/pb.h"
#include "ir/eval.h"

#include <string.h>

enum { SMALL = 4096 }; /* elements of constants that may be attributes */

/* ---- messages ---- */

static tn_bytes part(tn_bytes m, uint32_t field)
{
    tn_bytes found = {0};
    tn_pb r = tn_pb_open(m.at, m.n);
    while (tn_pb_next(&r))
        if (r.field == field && r.wire == TN_PB_LEN)
            found = r.bytes;
    return found;
}

static int64_t number(tn_bytes m, uint32_t field, int64_t none)
{
    tn_pb r = tn_pb_open(m.at, m.n);
    while (tn_pb_next(&r))
        if (r.field == field && r.wire == TN_PB_VARINT)
            none = tn_pb_int(&r);
    return none;
}

static size_t count(tn_bytes m, uint32_t field)
{
    size_t n = 0;
    tn_pb r = tn_pb_open(m.at, m.n);
    while (tn_pb_next(&r))
        n += r.field == field && r.wire == TN_PB_LEN;
    return n;
}

/* The value of a map's entry; at NULL: there is none. key at NULL: any. */
static tn_bytes entry(tn_bytes m, uint32_t field, tn_bytes key)
{
    tn_bytes found = {0};
    tn_pb r = tn_pb_open(m.at, m.n);
    while (tn_pb_next(&r))
        if (r.field == field && r.wire == TN_PB_LEN && (!key.at || imp_same(part(r.bytes, 1), key)))
            found = part(r.bytes, 2);
    return found;
}

static tn_bytes text(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

/* ---- types ---- */

/* false: not a type of numbers. */
static bool dtype_of(int64_t type, tn_dtype *out)
{
    static const struct {
        int type;
        tn_dtype t;
    } rows[] = {{1, {TN_BOOL, 8, 1}},    {10, {TN_FLOAT, 16, 1}}, {11, {TN_FLOAT, 32, 1}},
                {12, {TN_FLOAT, 64, 1}}, {21, {TN_INT, 8, 1}},    {22, {TN_INT, 16, 1}},
                {23, {TN_INT, 32, 1}},   {24, {TN_INT, 64, 1}},   {31, {TN_UINT, 8, 1}},
                {32, {TN_UINT, 16, 1}},  {33, {TN_UINT, 32, 1}},  {34, {TN_UINT, 64, 1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) {
            *out = rows[i].t;
            return true;
        }
    return false;
}

/* Integers of less than a byte, which only constants have; 0: another type. */
static unsigned packed_bits(int64_t type, tn_dtype *out)
{
    static const uint8_t bits[] = {[25] = 4, [35] = 4, [36] = 2, [37] = 1, [38] = 6, [39] = 3};
    if (type < 0 || type >= (int64_t)sizeof bits || !bits[type])
        return 0;
    *out = (tn_dtype){type == 25 ? TN_INT : TN_UINT, 8, 1};
    return bits[type];
}

typedef struct tensor_type {
    tn_dtype dtype;
    unsigned bits; /* of an element as it lies in a constant; 0: whole bytes */
    bool numbers;
    size_t n;
    int64_t dim[IMP_MAX_RANK]; /* -1: not known */
    bool too_many;
} tensor_type;

static tensor_type read_type(tn_bytes type)
{
    tensor_type t = {0};
    tn_bytes state = part(type, 5), tensor = part(state.at ? part(state, 1) : type, 1);
    t.bits = packed_bits(number(tensor, 1, 0), &t.dtype);
    t.numbers = tensor.at && (t.bits || dtype_of(number(tensor, 1, 0), &t.dtype));
    tn_pb r = tn_pb_open(tensor.at, tensor.n);
    while (tn_pb_next(&r)) {
        if (r.field != 3 || r.wire != TN_PB_LEN)
            continue;
        tn_bytes fixed = part(r.bytes, 1);
        if (t.n == IMP_MAX_RANK)
            t.too_many = true;
        else
            t.dim[t.n++] = fixed.at ? number(fixed, 1, 0) : -1;
    }
    return t;
}

tn_bytes cm_find_function(tn_bytes program)
{
    tn_bytes f = entry(program, 2, text("main"));
    return f.at ? f : entry(program, 2, (tn_bytes){0});
}

void cm_input_type(tn_bytes function, cm_feature *f)
{
    tn_pb r = tn_pb_open(function.at, function.n);
    while (tn_pb_next(&r)) {
        if (r.field != 1 || r.wire != TN_PB_LEN || !imp_same(part(r.bytes, 1), f->name))
            continue;
        tensor_type t = read_type(part(r.bytes, 2));
        if (!t.numbers || t.too_many || t.bits)
            continue;
        f->kind = f->kind == CM_STATE ? CM_STATE : CM_ARRAY;
        f->dtype = t.dtype;
        for (size_t i = 0; i < t.n; i++)
            f->dim[i] = (imp_dim){.extent = t.dim[i]};
        f->n = t.n;
    }
}

/* ---- constants ---- */

typedef struct constant {
    tensor_type type;
    imp_attr attr; /* small ones; of texts all there is */
    const tn_blob *blob;
    const tn_node *node; /* what its name stands for, unless a block inside gives that another meaning */
    size_t count, bytes;
} constant;

static const char *damaged_value(imp_model *im, const char *what)
{
    return tn_arena_printf(&im->scratch, "a constant is damaged: %s", what);
}

/* Elements of less than a byte, the lowest bits first, as bytes. NULL: they would take too much, which is reported. */
static const tn_blob *unpack_elements(imp_model *im, const uint8_t *from, const constant *k)
{
    void *to;
    if (!imp_may_own(im, k->count / 4))
        return NULL;
    const tn_blob *b = tn_graph_blob(im->g, k->count, &to);
    unsigned sign = k->type.dtype.code == TN_INT ? 1u << (k->type.bits - 1) : 0;
    for (size_t i = 0, at = 0; i < k->count; i++) {
        unsigned v = 0;
        for (unsigned n = 0; n < k->type.bits; n++, at++)
            v |= (from[at / 8] >> (at % 8) & 1u) << n;
        ((uint8_t *)to)[i] = (uint8_t)((v ^ sign) - sign);
    }
    return b;
}

/* Bytes of a constant where it lies; 0: too many. */
static size_t stored_bytes(const constant *k)
{
    size_t bits;
    if (!k->type.bits)
        return k->bytes;
    return tn_size_mul(k->count, k->type.bits, &bits) && bits <= SIZE_MAX - 7 ? (bits + 7) / 8 : 0;
}

/* Data in a file of weights: an entry of 64 bytes says where. */
static const tn_blob *read_file_value(imp_model *im, tn_bytes value, const constant *k, const tn_loc *loc)
{
    static const char here[] = "@model_path/";
    tn_bytes name = part(value, 1);
    const char *location = tn_arena_strndup(&im->scratch, (const char *)name.at, name.n), *why;
    uint64_t at = (uint64_t)number(value, 2, 0), size, offset;
    location += strncmp(location, here, sizeof here - 1) == 0 ? sizeof here - 1 : 0;
    const tn_file *f = imp_open_file(im, location, &why);
    uint32_t mark;
    if (!f)
        return why ? imp_refuse_file(im, loc, loc->node, why, location) : NULL;
    if (at > f->n || f->n - at < 64 || (memcpy(&mark, f->at + at, 4), mark != 0xdeadbeef))
        return imp_refuse_file(im, loc, loc->node, "\"%s\" has no weights where the model says", location);
    memcpy(&size, f->at + at + 8, 8);
    memcpy(&offset, f->at + at + 16, 8);
    if (size != stored_bytes(k)) {
        (void)imp_error(im, IMP_BAD_TENSOR, loc, "the constant has %llu bytes, but its dimensions need %zu",
                        (unsigned long long)size, stored_bytes(k));
        return NULL;
    }
    imp_external e = {location, offset, size};
    const tn_blob *b = imp_external_data(im, &e, (size_t)size, loc->node, loc);
    return b && k->type.bits ? unpack_elements(im, b->at, k) : b;
}

/* Numbers of an immediate value: field 1 float32, 2 int32, 3 bool, 5 int64, 6 float64, 7 bytes as they are. */
static const char *read_numbers(imp_model *im, tn_bytes tensor, constant *k)
{
    tn_pb r = tn_pb_open(tensor.at, tensor.n);
    tn_dtype t = k->type.dtype;
    uint32_t size = tn_dtype_bytes(t);
    void *to;
    if (!tn_pb_next(&r) || r.wire != TN_PB_LEN)
        return k->count ? "it has no value" : (k->blob = tn_graph_blob(im->g, 0, &to), (const char *)NULL);
    tn_bytes packed = part(r.bytes, 1);
    if (k->type.bits && r.field == 7) {
        if (packed.n != stored_bytes(k))
            return "it has another number of bytes than its type";
        k->blob = unpack_elements(im, packed.at, k);
        return k->blob ? NULL : "";
    }
    if (r.field == 7 || r.field == 1 || r.field == 6) {
        uint32_t each = r.field == 7 ? size : r.field == 1 ? 4 : 8;
        if (packed.n / each != k->count || packed.n % each || (r.field != 7 && !tn_dtype_is_float(t)))
            return "it has another number of elements than its type";
        if (each == size) {
            k->blob = imp_blob(im, packed, t);
            return NULL;
        }
        k->blob = tn_graph_blob(im->g, k->bytes, &to);
        for (size_t i = 0; i < k->count; i++)
            tn_scalar_write(t, (char *)to + i * size,
                            tn_scalar_read(each == 4 ? TN_F32 : TN_DT(TN_FLOAT, 64), packed.at + i * each));
        return NULL;
    }
    tn_ints list = cm_read_ints(&im->scratch, r.bytes, 1);
    if (list.n != k->count || tn_dtype_is_float(t))
        return "it has another number of elements than its type";
    k->blob = tn_graph_blob(im->g, k->bytes, &to);
    for (uint32_t i = 0; i < list.n; i++)
        tn_scalar_write(t, (char *)to + i * size,
                        (tn_scalar){.i = tn_dtype_is_bool(t) ? list.at[i] != 0 : list.at[i]});
    return NULL;
}

/* The elements as numbers, whichever a converter asks for. */
static void as_attr(imp_model *im, constant *k)
{
    uint32_t size = tn_dtype_bytes(k->type.dtype);
    int64_t *ints = TN_NEW_N(&im->scratch, int64_t, k->count);
    float *floats = TN_NEW_N(&im->scratch, float, k->count);
    bool real = tn_dtype_is_float(k->type.dtype);
    for (size_t i = 0; i < k->count; i++) {
        tn_scalar v = tn_scalar_read(k->type.dtype, (const char *)k->blob->at + i * size);
        double f = real ? v.f : (double)v.i;
        ints[i] = !real ? v.i : f >= -9e18 && f <= 9e18 ? (int64_t)f : 0;
        floats[i] = (float)f;
        k->attr.f = i ? k->attr.f : f;
    }
    k->attr.i = k->count ? ints[0] : 0;
    k->attr.ints.n = k->attr.floats.n = k->count;
    k->attr.ints.at = ints;
    k->attr.floats.at = floats;
}

/* NULL, or what is wrong (then k is of no use); "" if that was reported. */
static const char *read_value(imp_model *im, tn_bytes value, const tn_loc *loc, constant *k)
{
    tn_bytes immediate = part(value, 3), tensor = part(immediate, 1), file = part(value, 5),
             strings = part(tensor, 4);
    *k = (constant){.type = read_type(part(value, 2))};
    k->attr.kind = IMP_A_ANY;
    if (strings.at && !k->type.numbers) {
        k->attr.text = part(strings, 1);
        return NULL;
    }
    if (part(immediate, 3).at) { /* a list, of classes: no converter asks what is in it */
        k->attr.kind = IMP_A_UNKNOWN;
        return NULL;
    }
    if (!k->type.numbers || k->type.too_many)
        return damaged_value(im, "its type is not supported");
    if (!imp_measure(im, loc->node, k->type.n, k->type.dim, k->type.dtype, loc, &k->count, &k->bytes))
        return "";
    if (file.at) {
        k->blob = read_file_value(im, file, k, loc);
        if (!k->blob)
            return "";
    } else {
        const char *why = read_numbers(im, tensor, k);
        if (why)
            return *why ? damaged_value(im, why) : "";
    }
    if (k->count <= SMALL)
        as_attr(im, k);
    return NULL;
}

static tn_value constant_node(imp_model *im, const constant *k, const char *name)
{
    return k->blob ? tn_val(imp_constant(im, k->type.dtype, k->type.n, k->type.dim, k->blob, name))
                   : (tn_value){0};
}

/* ---- operations ---- */

typedef struct operation { /* being read */
    imp_node c;
    cm_operation keys;
    tn_bytes *in, *out;
    cm_key *key;
    cm_attrs attrs;
} operation;

/* A name that no value of the model has. */
static tn_bytes fresh_name(imp_model *im, tn_bytes key)
{
    return text(tn_arena_printf(&im->scratch, "%.*s\t%zu", (int)(key.n < 64 ? key.n : 64),
                                (const char *)key.at, im->value.n));
}

static void add_attr(operation *o, tn_bytes key, const imp_attr *a)
{
    imp_attr copy = *a;
    copy.name = key;
    tn_vec_push(&o->attrs, copy);
}

/* An operand that is a value of its own; one: alone under its key. */
static void add_value(cm_import *m, operation *o, tn_bytes key, tn_bytes value, bool one)
{
    imp_model *im = &m->im;
    constant *k = TN_NEW(&im->scratch, constant);
    const char *why = read_value(im, value, o->c.loc, k);
    size_t i = o->c.n_in;
    if (why) {
        if (*why)
            (void)imp_error(im, IMP_BAD_TENSOR, o->c.loc, "operand %s: %s", imp_text(im, key), why);
        return;
    }
    o->key[i].name = key;
    o->in[i] = (tn_bytes){0};
    o->c.n_in++;
    if (k->blob) {
        o->in[i] = fresh_name(im, key);
        (void)imp_define(im, o->in[i], (imp_value){.v = constant_node(im, k, o->c.loc->node)}, o->c.loc);
    }
    if (one && k->count <= SMALL)
        add_attr(o, key, &k->attr);
}

static void add_operand(cm_import *m, operation *o, tn_bytes key, tn_bytes argument)
{
    bool one = count(argument, 1) == 1;
    tn_pb r = tn_pb_open(argument.at, argument.n);
    while (tn_pb_next(&r)) {
        tn_bytes name = r.field == 1 && r.wire == TN_PB_LEN ? part(r.bytes, 1) : (tn_bytes){0},
                 value = part(r.bytes, 2);
        uint64_t at;
        if (r.field != 1 || r.wire != TN_PB_LEN)
            continue;
        if (value.at) {
            add_value(m, o, key, value, one);
            continue;
        }
        const imp_value *v = imp_lookup(&m->im, name);
        const constant *k = tn_strmap_get(&m->constant, (const char *)name.at, name.n, &at)
                                ? (const constant *)(uintptr_t)at
                                : NULL;
        k = k && k->node == (v ? v->v.def : NULL) ? k : NULL;
        o->key[o->c.n_in].name = key;
        o->in[o->c.n_in++] = k && !k->blob ? (tn_bytes){0} : name;
        if (k && one && k->count <= SMALL)
            add_attr(o, key, &k->attr);
    }
}

/* Operands: at most one for each argument, whose number bounds the room. */
static void read_operands(cm_import *m, operation *o, tn_bytes op)
{
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        tn_pb r = tn_pb_open(op.at, op.n);
        while (tn_pb_next(&r)) {
            if ((r.field != 2 && r.field != 5) || r.wire != TN_PB_LEN)
                continue;
            tn_bytes key = part(r.bytes, 1), value = part(r.bytes, 2);
            if (!pass)
                n += r.field == 2 ? count(value, 1) : 1;
            else if (r.field == 2)
                add_operand(m, o, key, value);
            else if (!imp_is(key, "name") && !imp_is(key, "val"))
                add_value(m, o, key, value, true);
        }
        if (!pass) {
            o->in = TN_NEW_N(&m->im.scratch, tn_bytes, n);
            o->key = TN_NEW_N(&m->im.scratch, cm_key, n);
            memset(o->key, 0, n * sizeof *o->key);
        }
    }
}

static void read_results(cm_import *m, operation *o, tn_bytes op)
{
    o->out = TN_NEW_N(&m->im.scratch, tn_bytes, count(op, 3));
    tn_pb r = tn_pb_open(op.at, op.n);
    while (tn_pb_next(&r))
        if (r.field == 3 && r.wire == TN_PB_LEN)
            o->out[o->c.n_out++] = part(r.bytes, 1);
}

/* The attribute `val` of a constant, under the name of its result. */
static void define_constant(cm_import *m, operation *o, tn_bytes op)
{
    imp_model *im = &m->im;
    constant *k = TN_NEW(&im->scratch, constant);
    tn_bytes value = entry(op, 5, text("val"));
    if (!o->c.n_out)
        return;
    const char *why = read_value(im, value, o->c.loc, k), *name = imp_text(im, o->out[0]);
    imp_value v = {.state = IMP_BAD};
    if (why && *why)
        (void)imp_error(im, IMP_BAD_TENSOR, o->c.loc, "%s", why);
    if (!why) {
        tn_strmap_put(&m->constant, (const char *)o->out[0].at, o->out[0].n, (uint64_t)(uintptr_t)k);
        v = (imp_value){.v = constant_node(im, k, name)};
        k->node = v.v.def;
        if (!k->blob)
            return;
    }
    (void)imp_define(im, o->out[0], v, o->c.loc);
}

/* Operands that no converter looked at. */
static void check_operands(imp_model *im, const operation *o)
{
    for (size_t i = 0; i < o->c.n_in; i++) {
        bool attr = false;
        for (size_t k = 0; k < o->attrs.n; k++)
            attr = attr || imp_same(o->attrs.at[k].name, o->key[i].name);
        if (!attr && !o->key[i].asked)
            (void)imp_error(im, IMP_NOT_CONSTANT, o->c.loc,
                            "operand %s is not supported, or it must be known at compile time",
                            imp_text(im, o->key[i].name));
    }
}

/* The text that is an attribute of an operation. */
static tn_bytes text_attr(tn_bytes op, const char *name)
{
    return part(part(part(part(entry(op, 5, text(name)), 3), 1), 4), 1);
}

static void convert(cm_import *m, tn_bytes op)
{
    imp_model *im = &m->im;
    tn_bytes type = part(op, 1), name = text_attr(op, "name");
    operation o = {.c = {.version = 2}};
    read_results(m, &o, op);
    name = name.at ? name : o.c.n_out ? o.out[0] : name;
    o.c.loc = imp_make_loc(im, imp_text(im, name), imp_text(im, type));
    if (imp_is(type, "const")) {
        define_constant(m, &o, op);
        return;
    }
    read_operands(m, &o, op);
    o.keys.key = o.key;
    o.keys.message = op;
    o.c.in_name = o.in;
    o.c.out_name = o.out;
    o.c.origin = &o.keys;
    o.c.attr = o.attrs.at;
    o.c.n_attr = o.attrs.n;
    if (imp_is(type, "custom_layer"))
        cm_refuse_custom(im, text_attr(op, "class_name"), o.c.loc);
    else
        o.c.row = imp_row_of(im, (tn_bytes){0}, type, 2, o.c.loc, true);
    size_t errors = im->g->ctx->n_error;
    imp_convert(im, &o.c);
    if (im->g->ctx->n_error == errors && o.c.row && !o.c.bad)
        check_operands(im, &o);
    tn_vec_deinit(&o.attrs);
}

void cm_read_block(cm_import *m, tn_bytes block)
{
    tn_pb r = tn_pb_open(block.at, block.n);
    while (tn_pb_next(&r) && !imp_too_much(&m->im, NULL))
        if (r.field == 3 && r.wire == TN_PB_LEN)
            convert(m, r.bytes);
    if (r.error)
        (void)cm_damaged(&m->im, r.error);
}

tn_status cm_read_function(cm_import *m, tn_bytes function)
{
    tn_bytes opset = part(function, 2), block = entry(function, 3, opset);
    cm_read_block(m, block.at ? block : entry(function, 3, (tn_bytes){0}));
    return m->im.g->ctx->n_error > m->im.had_errors ? TN_FAIL : TN_OK;
}

/* ---- classes ---- */

/* The probabilities are the result, in the place of the table from classes to them; the label is none. */
static void classify(imp_node *c)
{
    tn_value x = cm_in(c, 0, "probabilities");
    (void)cm_opt(c, 9, "classes");
    imp_out_any(c, 1, x);
}

/* ---- states ---- */

/* The name of the state that is operand `input`. */
static const char *state_name(imp_node *c)
{
    const cm_operation *o = c->origin;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (imp_is(o->key[i].name, "input"))
            return imp_text(c->im, c->in_name[i]);
    return "";
}

/* What the operations before have left in it. */
static void read_state(imp_node *c)
{
    tn_value begins = cm_in(c, 0, "input"), now = imp_state_now(c->im, state_name(c));
    imp_out(c, 0, now.def ? now : begins);
}

static void write_state(imp_node *c)
{
    tn_value state = cm_in(c, 0, "input"), v = cm_in(c, 1, "data");
    if (!c->bad && !imp_state_now(c->im, state_name(c)).def)
        imp_refuse(c, IMP_OPERANDS, "operand input is no state; the model is damaged");
    v = c->bad ? v : imp_cast(c, v, imp_type(state)->dtype);
    c->bad = c->bad || imp_set_state(c->im, state_name(c), v, c->loc) != TN_OK;
}

// clang-format off
const imp_row cm_rows_program[] = {
    {"read_state",                  2, 0, -1, 1, read_state,        NULL},
    {"classify",                    2, 0, -1, 2, classify,          NULL},
    {"write_state",                 2, 0, -1, 0, write_state,       NULL},
    {0},
};
// clang-format on
