/* Text of Protocol Buffers (https://protobuf.dev/reference/protobuf/textformat-spec), as .prototxt files have it:
 * fields `name: value` and `name { fields }`, lists in brackets, comments. The fields become a tree that points into
 * the text; strings keep their escapes. Depth is bounded; linear. */
#include "frontend/caffe/caffe.h"

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
    for (; r->at < r->end; r->at++) {
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

static cf_field *add(reader *r, cf_field **last, tn_bytes name)
{
    cf_field *f = TN_NEW(r->a, cf_field);
    *f = (cf_field){.name = name, .line = r->line};
    *last = f;
    return f;
}

static cf_field *fields(reader *r, int depth);

/* One value, or a message. */
static void field_value(reader *r, cf_field *f, bool colon, int depth)
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

static cf_field *fields(reader *r, int depth)
{
    cf_field *first = NULL, **last = &first;
    if (depth > MAX_DEPTH)
        r->why = "messages are nested too deep";
    for (skip(r); !r->why && r->at < r->end && *r->at != '}'; skip(r)) {
        tn_bytes name = word(r);
        bool colon = !r->why && take(r, ':'), list = colon && take(r, '[');
        while (!r->why && !(list && take(r, ']'))) {
            cf_field *f = add(r, last, name);
            last = &f->next;
            field_value(r, f, colon, depth);
            if (!list)
                break;
        }
    }
    return first;
}

cf_field *cf_read_text(tn_arena *a, tn_bytes text, const char **out_why, uint32_t *out_line)
{
    reader r = {.a = a, .at = text.at, .end = text.at + text.n, .line = 1};
    cf_field *root = TN_NEW(a, cf_field);
    *root = (cf_field){.message = true};
    root->child = fields(&r, 0);
    if (!r.why && r.at < r.end)
        r.why = "a bracket closes what is not open";
    *out_why = r.why;
    *out_line = r.line;
    return r.why ? NULL : root;
}

static cf_field *next_of(cf_field *f, const char *name)
{
    while (f && !imp_is(f->name, name))
        f = f->next;
    if (f)
        f->asked = true;
    return f;
}

cf_field *cf_find(cf_field *message, const char *name)
{
    return message ? next_of(message->child, name) : NULL;
}

cf_field *cf_again(cf_field *f)
{
    cf_field *n = f->next;
    while (n && !imp_same(n->name, f->name))
        n = n->next;
    if (n)
        n->asked = true;
    return n;
}
