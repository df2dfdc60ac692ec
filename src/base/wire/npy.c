/* .npy headers: a magic number, a version, a length, and a Python dictionary of three entries in that many bytes,
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }
 *
 * The reader takes the entries in any order, spaces anywhere, and nothing else. It looks at bytes inside
 * at[0..n) only and trusts no number: extents and their product are checked. */
#include "base/wire/npy.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *at, *end;
    char *text; /* 128 bytes for a message */
    const char *why;
} cursor;

// clang-format off
static const struct { char kind; uint8_t code, bytes; } types[] = {
    {'f', TN_NPY_FLOAT, 2}, {'f', TN_NPY_FLOAT, 4}, {'f', TN_NPY_FLOAT, 8},
    {'i', TN_NPY_INT, 1},   {'i', TN_NPY_INT, 2},   {'i', TN_NPY_INT, 4},   {'i', TN_NPY_INT, 8},
    {'u', TN_NPY_UINT, 1},  {'u', TN_NPY_UINT, 2},  {'u', TN_NPY_UINT, 4},  {'u', TN_NPY_UINT, 8},
    {'c', TN_NPY_COMPLEX, 8}, {'c', TN_NPY_COMPLEX, 16},
    {'b', TN_NPY_BOOL, 1},  {'f', TN_NPY_BYTES, 1}, {'V', TN_NPY_BYTES, 1}, {'V', TN_NPY_BYTES, 2},
};
// clang-format on
enum { N_TYPE = sizeof types / sizeof *types, MAGIC_BYTES = 8 };
static const char malformed[] = "the array's header is damaged";

size_t tn_npy_header_bytes(const void *at, size_t n, const char **out_why)
{
    const uint8_t *b = at;
    *out_why = "not an array in .npy format";
    if (n < 10 || memcmp(b, "\x93NUMPY", 6) != 0)
        return 0;
    *out_why = "a version of .npy that is not known";
    if (b[6] < 1 || b[6] > 3)
        return 0;
    *out_why = malformed;
    if (b[6] > 1 && n < 12)
        return 0;
    size_t k = b[6] == 1 ? b[8] | (size_t)b[9] << 8
                         : b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    size_t start = b[6] == 1 ? 10 : 12;
    return k <= TN_NPY_HEADER_MAX - start ? start + k : 0;
}

/* ---- the dictionary ---- */

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
        c->at++;
}

static bool take(cursor *c, char what)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != what)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A quoted text without escapes; *out points into the header. */
static bool take_string(cursor *c, const char **out, int *out_n)
{
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    const char *start = c->at + 1, *stop = memchr(start, *c->at, (size_t)(c->end - start));
    if (!stop || stop - start > 64)
        return false;
    *out = start;
    *out_n = (int)(stop - start);
    c->at = stop + 1;
    return true;
}

static bool take_extent(cursor *c, int64_t *out)
{
    skip_blanks(c);
    const char *start = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->at - '0', out))
            return false;
    if (c->at == start)
        return false;
    take(c, 'L'); /* Python 2 */
    return true;
}

static bool read_shape(cursor *c, tn_npy *out)
{
    if (!take(c, '('))
        return false;
    for (out->ndim = 0; !take(c, ')'); out->ndim++) {
        if (out->ndim == TN_NPY_DIMS) {
            c->why = "an array of more than 32 dimensions";
            return false;
        }
        if (!take_extent(c, &out->shape[out->ndim]))
            return false;
        skip_blanks(c);
        if (c->at < c->end && *c->at != ')' && !take(c, ','))
            return false;
    }
    return true;
}

static bool refuse_type(cursor *c, const char *what, const char *descr, int n)
{
    char name[24];
    int k = 0;
    for (; k < n && k < 23; k++)
        name[k] = descr[k];
    for (int i = 0; i < k; i++)
        if (name[i] < ' ' || name[i] > '~')
            name[i] = '?';
    name[k] = 0;
    snprintf(c->text, 128, "%s '%s' is not supported; save it as a plain little-endian number type", what,
             name);
    c->why = c->text;
    return false;
}

/* "<U12": texts of up to 12 code points. */
static bool read_text_type(const char *s, int n, tn_npy *out)
{
    uint32_t chars = 0;
    for (int i = 2; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || chars > 1 << 20)
            return false;
        chars = 10 * chars + (uint32_t)(s[i] - '0');
    }
    if (n < 3 || s[1] != 'U' || !strchr("<=", s[0]) || chars == 0)
        return false;
    out->code = TN_NPY_TEXT;
    out->bits = 32;
    out->chars = chars;
    return true;
}

size_t tn_npy_element_bytes(const tn_npy *npy)
{
    return npy->chars ? (size_t)npy->chars * 4 : npy->bits / 8u;
}

/* The number after the kind, "16" of "<c16"; 0: there is none. */
static int type_bytes(const char *s, int n)
{
    int bytes = 0;
    if (n < 3 || n > 4)
        return 0;
    for (int i = 2; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return 0;
        bytes = 10 * bytes + s[i] - '0';
    }
    return s[2] == '0' ? 0 : bytes;
}

static bool read_type(cursor *c, tn_npy *out)
{
    const char *s;
    int n;
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        c->why = "arrays of records are not supported";
        return false;
    }
    if (!take_string(c, &s, &n))
        return false;
    if (n && s[0] && read_text_type(s, n, out))
        return true;
    for (int i = 0, bytes = type_bytes(s, n); i < N_TYPE && bytes; i++) {
        if (types[i].kind != s[1] || types[i].bytes != bytes)
            continue;
        if (s[0] == '>' && types[i].bytes > 1)
            return refuse_type(c, "big-endian element type", s, n);
        if (!s[0] || !strchr("<|=>", s[0]))
            break;
        out->code = types[i].code;
        out->bits = (uint8_t)(8 * types[i].bytes);
        return true;
    }
    return refuse_type(c, "element type", s, n);
}

static bool read_order(cursor *c, tn_npy *out)
{
    out->column_major = take_word(c, "True");
    return out->column_major || take_word(c, "False");
}

static bool read_entry(cursor *c, tn_npy *out, unsigned *seen)
{
    static const char *const key[] = {"descr", "fortran_order", "shape"};
    const char *s;
    int n;
    if (!take_string(c, &s, &n) || !take(c, ':'))
        return false;
    for (unsigned k = 0; k < 3; k++) {
        if ((int)strlen(key[k]) != n || memcmp(key[k], s, (size_t)n) != 0 || (*seen & 1u << k))
            continue;
        *seen |= 1u << k;
        return k == 0 ? read_type(c, out) : k == 1 ? read_order(c, out) : read_shape(c, out);
    }
    return false;
}

static bool read_dictionary(cursor *c, tn_npy *out)
{
    unsigned seen = 0;
    if (!take(c, '{'))
        return false;
    while (!take(c, '}')) {
        if (!read_entry(c, out, &seen))
            return false;
        skip_blanks(c);
        if (c->at < c->end && *c->at != '}' && !take(c, ','))
            return false;
    }
    skip_blanks(c);
    return c->at == c->end && seen == 7;
}

/* An extent of 0 makes no product of the others fit: each must, as NumPy demands. */
static bool count_bytes(tn_npy *out)
{
    size_t n = tn_npy_element_bytes(out);
    bool empty = false;
    for (int d = 0; d < out->ndim; d++) {
        empty |= out->shape[d] == 0;
        if (out->shape[d] && __builtin_mul_overflow(n, (size_t)out->shape[d], &n))
            return false;
    }
    out->data_bytes = empty ? 0 : n;
    return n <= PTRDIFF_MAX;
}

int tn_npy_parse(const void *at, size_t n, tn_npy *out, char text[128], const char **out_why)
{
    *out = (tn_npy){0};
    out->header_bytes = tn_npy_header_bytes(at, n, out_why);
    if (!out->header_bytes)
        return 1;
    const char *b = at;
    cursor c = {b + (b[6] == 1 ? 10 : 12), b + out->header_bytes, text, malformed};
    *out_why = malformed;
    if (out->header_bytes > n)
        return 1;
    if (!read_dictionary(&c, out)) {
        *out_why = c.why;
        return 1;
    }
    *out_why = "the array is larger than memory can be";
    return count_bytes(out) ? 0 : 1;
}

void tn_npy_row_major(const tn_npy *npy, const void *in, void *out)
{
    size_t size = tn_npy_element_bytes(npy), n = npy->data_bytes / size;
    int64_t index[TN_NPY_DIMS] = {0};
    for (size_t i = 0; i < n; i++) {
        size_t from = 0;
        for (int d = npy->ndim - 1; d >= 0; d--)
            from = from * (size_t)npy->shape[d] + (size_t)index[d];
        memcpy((char *)out + i * size, (const char *)in + from * size, size);
        for (int d = npy->ndim - 1; d >= 0 && ++index[d] == npy->shape[d]; d--)
            index[d] = 0;
    }
}

/* ---- writing ---- */

size_t tn_npy_print(const tn_npy *npy, char out[1024])
{
    char kind = '?';
    for (int i = 0; i < N_TYPE; i++)
        if (types[i].code == npy->code)
            kind = types[i].kind;
    int n = 10;
    kind = npy->chars ? 'U' : kind;
    n += snprintf(out + n, 64, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                  npy->bits > 8 ? '<' : '|', kind, npy->chars ? (unsigned)npy->chars : npy->bits / 8u);
    for (int d = 0; d < npy->ndim; d++)
        n += snprintf(out + n, 24, "%s%lld", d ? ", " : "", (long long)npy->shape[d]);
    n += snprintf(out + n, 24, "%s), }", npy->ndim == 1 ? "," : "");
    int total = (n + 1 + 63) / 64 * 64;
    memset(out + n, ' ', (size_t)(total - n));
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", MAGIC_BYTES);
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    return (size_t)total;
}
