/* Text of Protocol Buffers (https://protobuf.dev/reference/protobuf/textformat-spec), as .prototxt files have it:
 * fields `name: value` and `name { fields }`, lists in brackets, comments. The fields become a tree that points into
 * the text; strings keep their escapes until they are encoded. Depth is bounded; linear. */
#include "base/wire/pb_text.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

typedef struct reader {
    tn_arena *a;
    const uint8_t *at, *end;
    uint32_t line;
    const char *why;
} reader;

static void skip(reader *r)
{
    for (; r->at < r->end && !r->why; r->at++) {
        if (*r->at == '#')
            while (r->at + 1 < r->end && r->at[1] != '\n')
                r->at++;
        else if (*r->at == '\n')
            r->line++;
        else if (!strchr(" \t\r,;", *r->at) || !*r->at)
            return;
    }
}

static bool take(reader *r, char ch)
{
    skip(r);
    if (r->at == r->end || *r->at != (uint8_t)ch)
        return false;
    r->at++;
    return true;
}

static bool is_word(uint8_t ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' ||
           ch == '.' || ch == '-' || ch == '+';
}

static tn_bytes word(reader *r)
{
    skip(r);
    const uint8_t *from = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    if (r->at == from)
        r->why = "a name or a value is missing";
    return (tn_bytes){from, (size_t)(r->at - from)};
}

static tn_bytes value(reader *r)
{
    skip(r);
    uint8_t quote = r->at < r->end ? *r->at : 0;
    if (quote != '"' && quote != '\'')
        return word(r);
    const uint8_t *from = ++r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\n')
        r->at += *r->at == '\\' && r->at + 1 < r->end && r->at[1] != '\n' ? 2 : 1;
    if (r->at == r->end || *r->at != quote) {
        r->why = "a string has no end";
        return (tn_bytes){from, 0};
    }
    return (tn_bytes){from, (size_t)(r->at++ - from)};
}

static tn_pb_text *add(reader *r, tn_pb_text **last, tn_bytes name)
{
    tn_pb_text *f = TN_NEW(r->a, tn_pb_text);
    *f = (tn_pb_text){.name = name, .line = r->line};
    *last = f;
    return f;
}

static tn_pb_text *fields(reader *r, int depth);

/* One value, or a message. */
static void field_value(reader *r, tn_pb_text *f, bool colon, int depth)
{
    if (take(r, '{')) {
        f->message = true;
        f->child = fields(r, depth + 1);
        if (!r->why && !take(r, '}'))
            r->why = "a message has no end";
    } else if (colon) {
        f->value = value(r);
    } else {
        r->why = "a field must read `name: value` or `name { ... }`";
    }
}

static tn_pb_text *fields(reader *r, int depth)
{
    tn_pb_text *first = NULL, **last = &first;
    if (depth > MAX_DEPTH)
        r->why = "messages are nested too deep";
    for (skip(r); !r->why && r->at < r->end && *r->at != '}'; skip(r)) {
        tn_bytes name = word(r);
        bool colon = !r->why && take(r, ':'), list = colon && take(r, '[');
        while (!r->why && !(list && take(r, ']'))) {
            tn_pb_text *f = add(r, last, name);
            last = &f->next;
            field_value(r, f, colon, depth);
            if (!list)
                break;
        }
    }
    return first;
}

tn_pb_text *tn_pb_text_read(tn_arena *a, tn_bytes text, const char **out_why, uint32_t *out_line)
{
    reader r = {.a = a, .at = text.at, .end = text.at + text.n, .line = 1};
    tn_pb_text *root = TN_NEW(a, tn_pb_text);
    *root = (tn_pb_text){.message = true};
    root->child = fields(&r, 0);
    if (!r.why && r.at < r.end)
        r.why = "a bracket closes what is not open";
    *out_why = r.why;
    *out_line = r.line;
    return r.why ? NULL : root;
}

static bool is(tn_bytes s, const char *text) { return strlen(text) == s.n && memcmp(text, s.at, s.n) == 0; }

static tn_pb_text *next_of(tn_pb_text *f, const char *name)
{
    while (f && !is(f->name, name))
        f = f->next;
    if (f)
        f->asked = true;
    return f;
}

tn_pb_text *tn_pb_text_find(tn_pb_text *message, const char *name)
{
    return message ? next_of(message->child, name) : NULL;
}

tn_pb_text *tn_pb_text_again(tn_pb_text *f)
{
    tn_pb_text *n = f->next;
    while (n && (n->name.n != f->name.n || memcmp(n->name.at, f->name.at, f->name.n) != 0))
        n = n->next;
    if (n)
        n->asked = true;
    return n;
}

/* ---- encoding ---- */

typedef struct writer {
    const tn_pb_word *words;
    const char *why;
    uint32_t line;
} writer;

static void put_varint(tn_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        tn_buf_char(b, (char)(v | 0x80));
    tn_buf_char(b, (char)v);
}

static void put_bytes(tn_buf *b, uint32_t number, const tn_buf *data)
{
    put_varint(b, (uint64_t)number << 3 | TN_PB_LEN);
    put_varint(b, data->n);
    tn_buf_add(b, data->n ? data->at : "", data->n);
}

static int octal(const uint8_t **at, const uint8_t *end)
{
    int v = 0;
    for (int i = 0; i < 3 && *at < end && **at >= '0' && **at <= '7'; i++)
        v = v * 8 + (*(*at)++ - '0');
    return v;
}

static int hexadecimal(const uint8_t **at, const uint8_t *end)
{
    int v = 0;
    for (int i = 0; i < 2 && *at < end; i++, ++*at) {
        int low = **at | 32;
        if (**at >= '0' && **at <= '9')
            v = v * 16 + (**at - '0');
        else if (low >= 'a' && low <= 'f')
            v = v * 16 + (low - 'a' + 10);
        else
            break;
    }
    return v;
}

/* A string with its escapes replaced. */
static void unescape(tn_buf *b, tn_bytes s)
{
    static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
    for (const uint8_t *at = s.at, *end = s.at + s.n; at < end;) {
        uint8_t ch = *at++;
        if (ch != '\\' || at == end) {
            tn_buf_char(b, (char)ch);
        } else if (*at >= '0' && *at <= '7') {
            tn_buf_char(b, (char)octal(&at, end));
        } else if (*at == 'x' || *at == 'X') {
            at++;
            tn_buf_char(b, (char)hexadecimal(&at, end));
        } else {
            const char *known = strchr(from, *at);
            tn_buf_char(b, known && *at ? to[known - from] : (char)*at);
            at++;
        }
    }
}

/* A number, or a word that stands for one. */
static bool integer(const writer *w, const char *text, uint64_t *out)
{
    char *end;
    *out = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    if (*text && !*end)
        return true;
    for (const tn_pb_word *k = w->words; k && k->word; k++)
        if (strcmp(k->word, text) == 0) {
            *out = (uint64_t)k->number;
            return true;
        }
    *out = strcmp(text, "true") == 0;
    return *out || strcmp(text, "false") == 0;
}

static void put_number(writer *w, tn_buf *b, const tn_pb_field *f, const tn_pb_text *t)
{
    enum { LONGEST = 64 };
    char text[LONGEST + 1] = "", *end = text;
    uint64_t bits = 0;
    if (t->value.n && t->value.n <= LONGEST)
        memcpy(text, t->value.at, t->value.n);
    double v = f->type == TN_PB_T_INT ? 0 : strtod(text, &end);
    bool good =
        f->type == TN_PB_T_INT ? integer(w, text, &bits) : end > text && (!*end || strcmp(end, "f") == 0);
    if (!good) {
        w->why = "a number is wanted";
        w->line = t->line;
    } else if (f->type == TN_PB_T_INT) {
        put_varint(b, (uint64_t)f->number << 3 | TN_PB_VARINT);
        put_varint(b, bits);
    } else if (f->type == TN_PB_T_FLOAT) {
        float narrow = strtof(text, NULL);
        uint32_t bits32;
        memcpy(&bits32, &narrow, 4);
        put_varint(b, (uint64_t)f->number << 3 | TN_PB_I32);
        tn_buf_u32le(b, bits32);
    } else {
        memcpy(&bits, &v, 8);
        put_varint(b, (uint64_t)f->number << 3 | TN_PB_I64);
        tn_buf_u32le(b, (uint32_t)bits);
        tn_buf_u32le(b, (uint32_t)(bits >> 32));
    }
}

static void encode(writer *w, const tn_pb_text *message, const tn_pb_msg *msg, tn_buf *out);

static void put_field(writer *w, tn_buf *out, const tn_pb_field *f, const tn_pb_text *t)
{
    tn_buf inside = {0};
    if (t->message != (f->type == TN_PB_T_MSG)) {
        w->why = t->message ? "a value is wanted, not a message" : "a message is wanted, not a value";
        w->line = t->line;
    } else if (f->type == TN_PB_T_MSG) {
        encode(w, t, f->msg, &inside);
        put_bytes(out, f->number, &inside);
    } else if (f->type == TN_PB_T_BYTES) {
        unescape(&inside, t->value);
        put_bytes(out, f->number, &inside);
    } else {
        put_number(w, out, f, t);
    }
    tn_buf_deinit(&inside);
}

static void encode(writer *w, const tn_pb_text *message, const tn_pb_msg *msg, tn_buf *out)
{
    for (const tn_pb_text *t = message->child; t && !w->why; t = t->next)
        for (uint32_t i = 0; i < msg->n_field && !w->why; i++)
            if (msg->field[i].name && is(t->name, msg->field[i].name))
                put_field(w, out, &msg->field[i], t);
}

const char *tn_pb_text_encode(const tn_pb_text *message, const tn_pb_msg *msg, const tn_pb_word *words,
                              tn_buf *out, uint32_t *out_line)
{
    writer w = {.words = words};
    encode(&w, message, msg, out);
    *out_line = w.line;
    return w.why;
}
