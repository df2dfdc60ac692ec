/* JSON reader. Two passes, no recursion.
 *
 * The first counts values from the structural characters outside strings, and the bytes of strings with
 * escapes: both are upper bounds, so memory is taken twice at most (the tree with its text, and a stack) and
 * never grows. The second parses with an explicit frame per open container: finished values are pushed on the
 * stack; when a container closes, its values are moved to the tree as one run and replaced by the container.
 * Duplicate keys are found by sorting (merge sort, O(k log k) for k keys), so hostile objects stay fast.
 * Time O(n log n) at worst, O(n) for objects of few keys.
 */
#include "base/wire/json.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 1000, FEW_KEYS = 8 };

typedef struct frame {
    size_t first; /* of its values on the stack */
    bool object;
} frame;

typedef struct reader {
    const char *p, *end;
    const char *error;
    const char *error_at;
    tn_json *tree; /* grows up; its values never move */
    size_t n_tree;
    tn_json *stack;
    size_t n_stack;
    char *text;     /* room for unescaped strings */
    uint32_t *sort; /* room for two numbers a key */
    size_t depth;
    frame open[TN_JSON_DEPTH];
    /* Reads a value that JSON does not know, if one is there; NULL: there are none. A pointer, so that the runtime has
     * nothing of it. */
    bool (*read_more)(struct reader *r);
} reader;

static bool fail(reader *r, const char *error, const char *at)
{
    r->error = error;
    r->error_at = at;
    return false;
}

static void skip_space(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
}

/* ---- strings ---- */

/* Length of the well-formed UTF-8 sequence at p (RFC 3629, table 3-7 of Unicode), 0 if there is none. */
static size_t utf8(const char *at, const char *end)
{
    const uint8_t *p = (const uint8_t *)at;
    size_t room = (size_t)(end - at);
    uint8_t low = 0x80, high = 0xbf;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (n <= 1 || n > room)
        return n == 1 ? 1 : 0;
    low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : low;
    high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : high;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

/* Four hex digits at r->p, -1 if they are not there. */
static int32_t hex4(reader *r)
{
    int32_t v = 0;
    if (r->end - r->p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = r->p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    r->p += 4;
    return v;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    unsigned tails = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)(uint8_t)((0xff00u >> (tails + 1)) | (c >> (6 * tails)));
    while (tails--)
        *out++ = (char)(uint8_t)(0x80u | ((c >> (6 * tails)) & 0x3fu));
    return out;
}

/* r->p is behind "\u". */
static bool unicode_escape(reader *r, char **out)
{
    const char *at = r->p;
    int32_t c = hex4(r);
    if (c < 0)
        return fail(r, "\\u needs four hex digits", at);
    if (c >= 0xd800 && c < 0xe000) {
        int32_t low = -1;
        if (c < 0xdc00 && r->end - r->p >= 2 && r->p[0] == '\\' && r->p[1] == 'u') {
            r->p += 2;
            low = hex4(r);
        }
        if (low < 0xdc00 || low > 0xdfff)
            return fail(r, "a surrogate without its partner", at);
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, (uint32_t)c);
    return true;
}

/* r->p is behind the backslash. Never writes more bytes than the escape has. */
static bool escape(reader *r, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *hit = r->p < r->end && *r->p ? strchr(from, *r->p) : NULL;
    if (hit) {
        *(*out)++ = to[hit - from];
        r->p++;
        return true;
    }
    if (r->p < r->end && *r->p == 'u') {
        r->p++;
        return unicode_escape(r, out);
    }
    return fail(r, "unknown escape", r->p - 1);
}

/* r->p is at the opening quote. */
static bool string(reader *r, tn_json *v)
{
    const char *start = ++r->p;
    char *out = NULL;
    for (;;) {
        if (r->p == r->end)
            return fail(r, "a string is not terminated", start - 1);
        if (*r->p == '"')
            break;
        if ((uint8_t)*r->p < 0x20)
            return fail(r, "a control character in a string", r->p);
        if (*r->p == '\\') {
            if (!out) {
                out = r->text;
                memcpy(out, start, (size_t)(r->p - start));
                out += r->p - start;
            }
            r->p++;
            if (!escape(r, &out))
                return false;
            continue;
        }
        size_t n = utf8(r->p, r->end);
        if (!n)
            return fail(r, "a string is not UTF-8", r->p);
        if (out) {
            memcpy(out, r->p, n);
            out += n;
        }
        r->p += n;
    }
    *v = (tn_json){.kind = TN_JSON_STRING, .n = (uint32_t)(r->p - start), .u.s = start};
    if (out) {
        v->u.s = r->text;
        v->n = (uint32_t)(out - r->text);
        r->text = out;
    }
    r->p++;
    return true;
}

/* ---- numbers ---- */

static bool digit(const reader *r) { return r->p < r->end && *r->p >= '0' && *r->p <= '9'; }

static bool digits(reader *r)
{
    if (!digit(r))
        return fail(r, "a number needs a digit here", r->p);
    while (digit(r))
        r->p++;
    return true;
}

/* strtod reads the locale's decimal point, JSON has '.' alone. */
static bool real(const char *text, double *out)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    *out = strtod_l(text, NULL, c);
    freelocale(c);
    return true;
}

static bool integer(const char *s, const char *end, int64_t *out)
{
    bool minus = *s == '-';
    int64_t v = 0;
    for (s += minus; s < end; s++) {
        int d = *s - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, d, &v))
            return false;
    }
    if (!minus && v == INT64_MIN)
        return false;
    *out = minus ? v : -v;
    return !(minus && v == 0); /* -0 is a real */
}

static bool number(reader *r, tn_json *v)
{
    const char *start = r->p;
    bool whole = true;
    r->p += *r->p == '-';
    if (r->p < r->end && *r->p == '0') {
        r->p++;
        if (digit(r))
            return fail(r, "a number has a leading zero", start);
    } else if (!digits(r)) {
        return false;
    }
    if (r->p < r->end && *r->p == '.') {
        whole = false;
        r->p++;
        if (!digits(r))
            return false;
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        whole = false;
        r->p++;
        r->p += r->p < r->end && (*r->p == '+' || *r->p == '-');
        if (!digits(r))
            return false;
    }
    *v = (tn_json){.kind = TN_JSON_INT};
    if (whole && integer(start, r->p, &v->u.i))
        return true;
    char text[NUMBER_MAX + 1];
    size_t n = (size_t)(r->p - start);
    if (n > NUMBER_MAX)
        return fail(r, "a number is too long", start);
    memcpy(text, start, n);
    text[n] = '\0';
    v->kind = TN_JSON_REAL;
    if (!real(text, &v->u.r))
        return fail(r, TN_JSON_NO_MEMORY, start);
    return v->u.r - v->u.r == 0 ? true : fail(r, "a number is too large for a double", start);
}

/* ---- containers ---- */

static int compare_keys(const tn_json *a, const tn_json *b)
{
    uint32_t n = a->n < b->n ? a->n : b->n;
    int c = n ? memcmp(a->u.s, b->u.s, n) : 0;
    return c ? c : a->n < b->n ? -1 : a->n > b->n;
}

static bool few_keys_unique(const tn_json *member, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            if (compare_keys(&member[2 * i], &member[2 * j]) == 0)
                return false;
    }
    return true;
}

/* Sorts the numbers 0..n-1 by key, bottom up; equal neighbours are duplicates. */
static bool keys_unique(reader *r, const tn_json *member, size_t n)
{
    if (n <= FEW_KEYS)
        return few_keys_unique(member, n);
    uint32_t *from = r->sort, *to = r->sort + n;
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
            for (size_t i = lo, j = mid, k = lo; k < hi; k++) {
                bool left =
                    j == hi || (i < mid && compare_keys(&member[2 * from[i]], &member[2 * from[j]]) <= 0);
                to[k] = left ? from[i++] : from[j++];
            }
        }
        uint32_t *t = from;
        from = to;
        to = t;
    }
    for (size_t i = 1; i < n; i++)
        if (compare_keys(&member[2 * from[i - 1]], &member[2 * from[i]]) == 0)
            return false;
    return true;
}

static bool open_container(reader *r)
{
    if (r->depth == TN_JSON_DEPTH)
        return fail(r, "nested too deeply", r->p);
    r->open[r->depth++] = (frame){.first = r->n_stack, .object = *r->p == '{'};
    r->p++;
    return true;
}

static bool close_container(reader *r)
{
    frame f = r->open[--r->depth];
    size_t n = r->n_stack - f.first;
    const tn_json *at = r->tree + r->n_tree;
    if (f.object && !keys_unique(r, r->stack + f.first, n / 2))
        return fail(r, "an object has one key twice", r->p);
    memcpy(r->tree + r->n_tree, r->stack + f.first, n * sizeof *r->stack);
    r->n_tree += n;
    r->n_stack = f.first;
    r->stack[r->n_stack++] = (tn_json){
        .kind = f.object ? TN_JSON_OBJECT : TN_JSON_ARRAY,
        .n = (uint32_t)(f.object ? n / 2 : n),
        .u.at = at,
    };
    r->p++;
    return true;
}

static bool word(reader *r, const char *text, tn_json value)
{
    size_t n = strlen(text);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n) != 0)
        return fail(r, "expected a value", r->p);
    r->p += n;
    r->stack[r->n_stack++] = value;
    return true;
}

static bool scalar(reader *r)
{
    if (r->read_more && r->read_more(r))
        return true;
    switch (*r->p) {
    case '"': return string(r, &r->stack[r->n_stack++]);
    case 't': return word(r, "true", (tn_json){.kind = TN_JSON_BOOL, .u.b = true});
    case 'f': return word(r, "false", (tn_json){.kind = TN_JSON_BOOL});
    case 'n': return word(r, "null", (tn_json){.kind = TN_JSON_NULL});
    default:
        if (*r->p == '-' || digit(r))
            return number(r, &r->stack[r->n_stack++]);
        return fail(r, "expected a value", r->p);
    }
}

static bool key(reader *r)
{
    skip_space(r);
    if (r->p == r->end || *r->p != '"')
        return fail(r, "expected a key in quotes", r->p);
    if (!string(r, &r->stack[r->n_stack++]))
        return false;
    skip_space(r);
    if (r->p == r->end || *r->p != ':')
        return fail(r, "expected a ':'", r->p);
    r->p++;
    return true;
}

/* Behind a value: takes ',' (and a key), or closes containers, until the next value or the end is due. */
static bool after_value(reader *r)
{
    while (r->depth) {
        frame f = r->open[r->depth - 1];
        skip_space(r);
        char close = f.object ? '}' : ']';
        if (r->p < r->end && *r->p == ',') {
            r->p++;
            return !f.object || key(r);
        }
        if (r->p == r->end || *r->p != close)
            return fail(r, f.object ? "expected a ',' or '}'" : "expected a ',' or ']'", r->p);
        if (!close_container(r))
            return false;
    }
    return true;
}

/* One value up to the point where the next one is due. */
static bool value(reader *r)
{
    skip_space(r);
    if (r->p == r->end)
        return fail(r, "the text ends instead of a value", r->p);
    if (*r->p != '[' && *r->p != '{')
        return scalar(r) && after_value(r);
    bool object = *r->p == '{';
    if (!open_container(r))
        return false;
    skip_space(r);
    if (r->p < r->end && *r->p == (object ? '}' : ']'))
        return close_container(r) && after_value(r);
    return !object || key(r);
}

static bool document(reader *r)
{
    do {
        if (!value(r))
            return false;
    } while (r->depth);
    skip_space(r);
    if (r->p != r->end)
        return fail(r, "text follows the value", r->p);
    r->tree[r->n_tree++] = r->stack[0];
    return true;
}

/* Upper bounds: values, and bytes of strings with escapes. */
static void count(const char *data, size_t n, size_t *out_values, size_t *out_text)
{
    size_t values = 1, text = 0;
    for (size_t i = 0; i < n; i++) {
        char c = data[i];
        values += c == ',' || c == ':' || c == '[' || c == '{';
        if (c == '"') {
            size_t start = ++i;
            bool escaped = false;
            for (; i < n && data[i] != '"'; i++) {
                if (data[i] == '\\') {
                    escaped = true;
                    i++;
                }
            }
            text += escaped ? (i < n ? i : n) - start : 0;
        }
    }
    *out_values = values;
    *out_text = text;
}

static tn_json_doc read_text(const char *data, size_t n, bool (*read_more)(reader *r))
{
    tn_json_doc doc = {0};
    size_t values, text;
    data = data ? data : "";
    if (n >= UINT32_MAX) {
        doc.error = "the text is above 4 GiB";
        return doc;
    }
    count(data, n, &values, &text);
    reader *r = NULL;
    if (values < (SIZE_MAX / 4 - text) / sizeof(tn_json)) {
        r = malloc(sizeof *r);
        doc.memory = malloc(values * sizeof(tn_json) + text);
    }
    /* Stack, then room for sorting: two numbers a key, a key is two values. */
    void *scratch = r ? malloc(values * (sizeof(tn_json) + sizeof(uint32_t))) : NULL;
    if (!r || !doc.memory || !scratch) {
        doc.error = TN_JSON_NO_MEMORY;
    } else {
        *r = (reader){
            .p = data, .end = data + n, .tree = doc.memory, .stack = scratch, .read_more = read_more};
        r->text = (char *)(r->tree + values);
        r->sort = (uint32_t *)(void *)(r->stack + values);
        if (document(r)) {
            doc.root = &r->tree[r->n_tree - 1];
        } else {
            doc.error = r->error;
            doc.error_at = (size_t)(r->error_at - data);
        }
    }
    free(scratch);
    free(r);
    if (doc.error) {
        free(doc.memory);
        doc.memory = NULL;
    }
    return doc;
}

tn_json_doc tn_json_read(const char *data, size_t n) { return read_text(data, n, NULL); }

static bool read_no_number(reader *r)
{
    static const struct {
        const char *text;
        double is;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text);
        if ((size_t)(r->end - r->p) >= n && memcmp(r->p, words[i].text, n) == 0)
            return word(r, words[i].text, (tn_json){.kind = TN_JSON_REAL, .u.r = words[i].is});
    }
    return false;
}

tn_json_doc tn_json_read_python(const char *data, size_t n) { return read_text(data, n, read_no_number); }

void tn_json_free(tn_json_doc *doc)
{
    free(doc->memory);
    *doc = (tn_json_doc){0};
}

const tn_json *tn_json_find(const tn_json *object, const char *key)
{
    if (!tn_json_is(object, TN_JSON_OBJECT))
        return NULL;
    for (uint32_t i = 0; i < object->n; i++)
        if (tn_json_is_text(&object->u.at[2 * i], key))
            return &object->u.at[2 * i + 1];
    return NULL;
}

bool tn_json_is(const tn_json *v, enum tn_json_kind kind) { return v && v->kind == kind; }

bool tn_json_is_text(const tn_json *v, const char *text)
{
    size_t n = strlen(text);
    return tn_json_is(v, TN_JSON_STRING) && v->n == n && memcmp(v->u.s, text, n) == 0;
}
