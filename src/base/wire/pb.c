/* Protocol Buffers wire format: the cursor. Groups are obsolete, so they are only stepped over. */
#include "base/wire/pb.h"

#include <string.h>

enum { GROUP_DEPTH = 32, FIELD_MAX = (1 << 29) - 1, WIRE_GROUP = 3, WIRE_END = 4 };

static bool fail(tn_pb *r, const char *error)
{
    r->error = error;
    r->at = r->end;
    return false;
}

static bool varint(tn_pb *r, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (r->at == r->end)
            return fail(r, "the message ends inside a number");
        uint8_t b = *r->at++;
        if (shift == 63 && b > 1)
            return fail(r, "a number has more than 64 bits");
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *out = v;
            return true;
        }
    }
    return fail(r, "a number has more than 64 bits");
}

static bool fixed(tn_pb *r, size_t bytes, uint64_t *out)
{
    if ((size_t)(r->end - r->at) < bytes)
        return fail(r, "the message ends inside a number");
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)r->at[i] << (8 * i);
    r->at += bytes;
    *out = v;
    return true;
}

static bool tag(tn_pb *r, uint32_t *out_field, unsigned *out_wire)
{
    uint64_t t;
    if (!varint(r, &t))
        return false;
    if (t >> 3 == 0 || t >> 3 > FIELD_MAX)
        return fail(r, "a field number is out of range");
    *out_field = (uint32_t)(t >> 3);
    *out_wire = (unsigned)(t & 7);
    return true;
}

/* Reads what follows a tag of wire type 0, 1, 2 or 5. */
static bool payload(tn_pb *r, unsigned wire)
{
    uint64_t n;
    switch (wire) {
    case TN_PB_VARINT: return varint(r, &r->value);
    case TN_PB_I64: return fixed(r, 8, &r->value);
    case TN_PB_I32: return fixed(r, 4, &r->value);
    case TN_PB_LEN:
        if (!varint(r, &n))
            return false;
        if (n > (uint64_t)(r->end - r->at))
            return fail(r, "a field is longer than its message");
        r->bytes = (tn_bytes){r->at, (size_t)n};
        r->at += (size_t)n;
        return true;
    default: return fail(r, "unknown wire type");
    }
}

/* Behind the start tag of a group. */
static bool skip_group(tn_pb *r, uint32_t field)
{
    uint32_t open[GROUP_DEPTH];
    size_t depth = 0;
    open[depth++] = field;
    while (depth) {
        unsigned wire;
        if (!tag(r, &field, &wire))
            return false;
        if (wire == WIRE_GROUP) {
            if (depth == GROUP_DEPTH)
                return fail(r, "groups are nested too deeply");
            open[depth++] = field;
        } else if (wire == WIRE_END) {
            if (open[--depth] != field)
                return fail(r, "a group ends without a beginning");
        } else if (!payload(r, wire)) {
            return false;
        }
    }
    return true;
}

tn_pb tn_pb_open(const void *data, size_t n)
{
    static const uint8_t nothing[1];
    const uint8_t *at = n ? data : nothing;
    return (tn_pb){.at = at, .end = at + n};
}

bool tn_pb_next(tn_pb *r)
{
    while (r->at < r->end) {
        uint32_t field;
        unsigned wire;
        if (!tag(r, &field, &wire))
            return false;
        if (wire == WIRE_GROUP) {
            if (!skip_group(r, field))
                return false;
            continue;
        }
        if (wire == WIRE_END)
            return fail(r, "a group ends without a beginning");
        r->field = field;
        r->value = 0;
        r->bytes = (tn_bytes){r->end, 0};
        if (!payload(r, wire))
            return false;
        r->wire = (enum tn_pb_wire)wire;
        return true;
    }
    return false;
}

float tn_pb_float(const tn_pb *r)
{
    uint32_t bits = (uint32_t)r->value;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

double tn_pb_double(const tn_pb *r)
{
    double v;
    memcpy(&v, &r->value, sizeof v);
    return v;
}

bool tn_pb_is(const tn_pb *r, const char *text)
{
    size_t n = strlen(text);
    return r->wire == TN_PB_LEN && r->bytes.n == n && memcmp(r->bytes.at, text, n) == 0;
}
