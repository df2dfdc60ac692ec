/* The parameters of a layer: fields of Protocol Buffers by the table spec.def, as attributes. Depth is bounded by the
 * table, which does not repeat itself. */
#include "frontend/coreml/coreml.h"

#include "base/wire/pb.h"

#include <string.h>

enum kind { INT, FLOAT, TEXT, INTS, FLOATS, TEXTS, WEIGHT, PART, PARTS, NET, EDGES };

typedef struct field {
    uint16_t message, number;
    uint8_t kind, part;
    const char *name;
} field;

static const field fields[] = {
#define FIELD(message, number, kind, name, part) {CM_##message, number, kind, CM_##part, name},
#include "frontend/coreml/spec.def"
};

static const field *find(enum cm_message m, uint32_t number)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].message == m && fields[i].number == number)
            return &fields[i];
    return NULL;
}

bool cm_find_layer(tn_bytes layer, const char **out_name, enum cm_message *out_message, tn_bytes *out_params)
{
    bool found = false;
    tn_pb r = tn_pb_open(layer.at, layer.n);
    while (tn_pb_next(&r)) {
        const field *f = r.wire == TN_PB_LEN ? find(CM_NeuralNetworkLayer, r.field) : NULL;
        if (!f)
            continue;
        found = true;
        *out_name = f->name;
        *out_message = (enum cm_message)f->part;
        *out_params = r.bytes;
    }
    return found && !r.error;
}

/* ---- lists ---- */

static bool next_varint(tn_bytes *b, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; b->n && shift < 64; shift += 7) {
        uint8_t byte = *b->at++;
        b->n--;
        *out |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return true;
    }
    return false;
}

tn_ints cm_read_ints(tn_arena *a, tn_bytes message, uint32_t number)
{
    tn_ints list = {0};
    int64_t *at = NULL;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t n = 0;
        uint64_t v;
        tn_pb r = tn_pb_open(message.at, message.n);
        while (tn_pb_next(&r)) {
            if (r.field != number)
                continue;
            tn_bytes packed = r.wire == TN_PB_LEN ? r.bytes : (tn_bytes){0};
            if (r.wire == TN_PB_VARINT && n++ < UINT32_MAX / 2 && at)
                at[n - 1] = tn_pb_int(&r);
            while (packed.n && next_varint(&packed, &v))
                if (n++ < UINT32_MAX / 2 && at)
                    at[n - 1] = (int64_t)v;
        }
        at = at ? at : TN_NEW_N(a, int64_t, n);
        list = (tn_ints){n, at};
    }
    return list;
}

static void read_floats(imp_model *im, tn_bytes message, uint32_t number, imp_attr *a)
{
    size_t n = 0;
    float *at = NULL;
    for (int pass = 0; pass < 2; pass++) {
        tn_pb r = tn_pb_open(message.at, message.n);
        n = 0;
        while (tn_pb_next(&r)) {
            size_t more = r.field != number     ? 0
                          : r.wire == TN_PB_I32 ? 1
                          : r.wire == TN_PB_LEN ? r.bytes.n / 4
                                                : 0;
            if (at && more && r.wire == TN_PB_LEN)
                memcpy(at + n, r.bytes.at, 4 * more);
            else if (at && more)
                at[n] = tn_pb_float(&r);
            n += more;
        }
        at = at ? at : TN_NEW_N(&im->scratch, float, n);
    }
    a->floats.n = n;
    a->floats.at = at;
}

static void read_texts(imp_model *im, tn_bytes message, uint32_t number, imp_attr *a)
{
    size_t n = 0;
    tn_bytes *at = NULL;
    for (int pass = 0; pass < 2; pass++) {
        tn_pb r = tn_pb_open(message.at, message.n);
        n = 0;
        while (tn_pb_next(&r))
            if (r.field == number && r.wire == TN_PB_LEN && n++ < SIZE_MAX && at)
                at[n - 1] = r.bytes;
        at = at ? at : TN_NEW_N(&im->scratch, tn_bytes, n);
    }
    a->texts.n = n;
    a->texts.at = at;
}

/* BorderAmounts: messages with a start (1) and an end (2). */
static void read_edges(imp_model *im, tn_bytes amounts, imp_attr *a)
{
    imp_attr each = {0};
    read_texts(im, amounts, 10, &each);
    int64_t *at = TN_NEW_N(&im->scratch, int64_t, 2 * each.texts.n);
    for (size_t i = 0; i < each.texts.n; i++) {
        tn_pb r = tn_pb_open(each.texts.at[i].at, each.texts.at[i].n);
        at[2 * i] = at[2 * i + 1] = 0;
        while (tn_pb_next(&r))
            if ((r.field == 1 || r.field == 2) && r.wire == TN_PB_VARINT)
                at[2 * i + r.field - 1] = tn_pb_int(&r);
    }
    a->ints.n = 2 * each.texts.n;
    a->ints.at = at;
}

/* ---- one field ---- */

static bool is_known(const cm_attrs *list, tn_bytes name)
{
    for (size_t i = 0; i < list->n; i++)
        if (imp_same(list->at[i].name, name))
            return true;
    return false;
}

static const char *read_field(imp_model *im, const field *f, const tn_pb *r, tn_bytes message, imp_attr *a)
{
    static const char other[] = "a field has another type than Core ML's";
    bool whole = r->wire == TN_PB_LEN;
    switch ((enum kind)f->kind) {
    case INT:
        a->kind = IMP_A_INT;
        a->i = tn_pb_int(r);
        return r->wire == TN_PB_VARINT ? NULL : other;
    case FLOAT:
        a->kind = IMP_A_FLOAT;
        a->f = r->wire == TN_PB_I64 ? tn_pb_double(r) : (double)tn_pb_float(r);
        return r->wire == TN_PB_I32 || r->wire == TN_PB_I64 ? NULL : other;
    case INTS:
        a->kind = IMP_A_INTS;
        tn_ints list = cm_read_ints(&im->scratch, message, f->number);
        a->ints.n = list.n;
        a->ints.at = list.at;
        return NULL;
    case FLOATS:
        a->kind = IMP_A_FLOATS;
        read_floats(im, message, f->number, a);
        return NULL;
    case TEXTS:
    case PARTS:
        a->kind = IMP_A_TEXTS;
        read_texts(im, message, f->number, a);
        return whole ? NULL : other;
    case EDGES:
        a->kind = IMP_A_INTS;
        if (whole)
            read_edges(im, r->bytes, a);
        return whole ? NULL : other;
    default:;
    }
    tn_bytes *copy = TN_NEW(&im->scratch, tn_bytes);
    *copy = a->text = r->bytes;
    a->kind = f->kind == TEXT     ? IMP_A_TEXT
              : f->kind == WEIGHT ? IMP_A_TENSOR
              : f->kind == NET    ? IMP_A_GRAPH
                                  : IMP_A_INT;
    a->tensor = a->graph = copy;
    a->i = 1;
    return whole ? NULL : other;
}

const char *cm_read_params(imp_model *im, enum cm_message message, tn_bytes data, const char *prefix,
                           cm_attrs *out)
{
    tn_pb r = tn_pb_open(data.at, data.n);
    while (tn_pb_next(&r)) {
        const field *f = find(message, r.field);
        const char *name = f ? tn_arena_printf(&im->scratch, "%s%s", prefix, f->name) : "";
        imp_attr a = {.name = {(const uint8_t *)name, strlen(name)}};
        if (!f || is_known(out, a.name))
            continue;
        const char *why = read_field(im, f, &r, data, &a);
        if (why)
            return why;
        tn_vec_push(out, a);
        if (f->kind == PART && f->part)
            why = cm_read_params(im, (enum cm_message)f->part, r.bytes,
                                 tn_arena_printf(&im->scratch, "%s.", name), out);
        if (why)
            return why;
    }
    return r.error;
}
