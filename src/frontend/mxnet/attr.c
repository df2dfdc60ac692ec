/* Attributes of MXNet's operators. A symbol has them as texts, as Python prints their values: "(1, 1)", "True",
 * "1e-05", "None", and of old releases "(1L, 1L)". */
#include "frontend/mxnet/mxnet.h"

#include <stdlib.h>
#include <string.h>

/* NULL: absent, or None. */
static const char *find(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TEXT);
    return !a || imp_is(a->text, "None") ? NULL
                                         : tn_arena_strndup(c->arena, (const char *)a->text.at, a->text.n);
}

static void refuse(imp_node *c, const char *name, const char *what)
{
    imp_refuse(c, IMP_BAD_VALUE, "attribute %s is \"%s\", but must be %s", name,
               imp_text(c->im, imp_attr_find(c, name, IMP_A_TEXT)->text), what);
}

const char *mx_text(imp_node *c, const char *name, const char *def)
{
    const char *s = find(c, name);
    return s ? s : def;
}

static const char *skip(const char *s) { return s + strspn(s, " \t\n"); }

/* The number that s begins with; NULL: none, or too large. */
static const char *whole(const char *s, int64_t *out)
{
    char *end;
    double v = strtod(s, &end);
    if (end == s || !(v > -9.2e18 && v < 9.2e18) || v != (double)(int64_t)v)
        return NULL;
    const char *at = s + strspn(s, "+-");
    *out = strspn(at, "0123456789") == (size_t)(end - at) ? strtoll(s, NULL, 10) : (int64_t)v;
    return *end == 'L' ? end + 1 : end;
}

static bool is_word(const char *s, const char *const words[])
{
    for (; *words; words++)
        if (strcmp(s, *words) == 0)
            return true;
    return false;
}

static const char *const yes[] = {"True", "true", "1", NULL}, *const no[] = {"False", "false", "0", NULL};

int64_t mx_int(imp_node *c, const char *name, int64_t def)
{
    const char *s = find(c, name);
    int64_t v = def;
    if (!s)
        return def;
    if (is_word(s, yes) || is_word(s, no))
        return is_word(s, yes);
    s = whole(skip(s), &v);
    if (!s || *skip(s))
        refuse(c, name, "an integer");
    return c->bad ? def : v;
}

bool mx_bool(imp_node *c, const char *name, bool def)
{
    const char *s = find(c, name);
    if (s && !is_word(s, yes) && !is_word(s, no))
        refuse(c, name, "True or False");
    return s && !c->bad ? is_word(s, yes) : def;
}

double mx_float(imp_node *c, const char *name, double def)
{
    const char *s = find(c, name);
    char *end;
    if (!s)
        return def;
    if (is_word(s, yes) || is_word(s, no))
        return is_word(s, yes);
    double v = strtod(s, &end);
    if (end == s || *skip(end))
        refuse(c, name, "a number");
    return c->bad ? def : v;
}

/* Calls `next` for each entry of a list; false: no list, or too many. */
static bool each_entry(const char *s, uint32_t most, uint32_t *n, const char *(*next)(const char *, void *),
                       char *out, size_t size)
{
    s = skip(s);
    char close = *s == '(' ? ')' : *s == '[' ? ']' : 0;
    *n = 0;
    s = skip(close ? s + 1 : s);
    while (*s && *s != close) {
        if (*n >= most || !(s = next(s, out + *n * size)))
            return false;
        (*n)++;
        s = skip(s);
        if (*s == ',')
            s = skip(s + 1);
        else if (*s != close)
            return false;
    }
    return close ? *s == close && !*skip(s + 1) : *n > 0;
}

static const char *next_int(const char *s, void *out)
{
    if (strncmp(s, "None", 4) == 0) {
        *(int64_t *)out = MX_NONE;
        return s + 4;
    }
    return whole(s, out);
}

static const char *next_float(const char *s, void *out)
{
    char *end;
    *(double *)out = strtod(s, &end);
    return end == s ? NULL : end;
}

bool mx_parse_ints(tn_bytes text, uint32_t most, uint32_t *n, int64_t out[])
{
    char room[512];
    if (text.n >= sizeof room)
        return false;
    memcpy(room, text.at, text.n);
    room[text.n] = 0;
    return each_entry(room, most, n, next_int, (char *)out, sizeof *out);
}

bool mx_ints(imp_node *c, const char *name, tn_ints *out)
{
    enum { MOST = 4096 };
    const char *s = find(c, name);
    uint32_t n = 0;
    *out = (tn_ints){0};
    if (!s)
        return false;
    int64_t *at = TN_NEW_N(c->arena, int64_t, strlen(s) / 2 + 2 < MOST ? strlen(s) / 2 + 2 : MOST);
    if (!each_entry(s, strlen(s) / 2 + 2 < MOST ? (uint32_t)strlen(s) / 2 + 2 : MOST, &n, next_int,
                    (char *)at, sizeof *at))
        refuse(c, name, "a list of integers");
    *out = c->bad ? (tn_ints){0} : tn_ints_make(c->arena, n, at);
    return !c->bad;
}

bool mx_floats(imp_node *c, const char *name, uint32_t most, uint32_t *n, double out[])
{
    const char *s = find(c, name);
    *n = 0;
    if (s && !each_entry(s, most, n, next_float, (char *)out, sizeof *out))
        refuse(c, name, "a list of numbers");
    return s && !c->bad;
}

int mx_choice(imp_node *c, const char *name, int def, const char *const words[])
{
    const char *s = find(c, name);
    tn_buf known = {0};
    for (int i = 0; s && words[i]; i++) {
        if (strcmp(s, words[i]) == 0) {
            tn_buf_deinit(&known);
            return i;
        }
        tn_buf_printf(&known, "%s%s", i ? ", " : "one of ", words[i]);
    }
    if (s)
        refuse(c, name, tn_buf_cstr(&known));
    tn_buf_deinit(&known);
    return def;
}

/* ---- types ---- */

static const struct {
    const char *name;
    int64_t number, nnvm; /* in files of MXNet and of NNVM; -1: none */
    tn_dtype dtype;
} types[] = {
    {"float32", 0, 0, {TN_FLOAT, 32, 1}},     {"float64", 1, 1, {TN_FLOAT, 64, 1}},
    {"float16", 2, 2, {TN_FLOAT, 16, 1}},     {"uint8", 3, 3, {TN_UINT, 8, 1}},
    {"int32", 4, 4, {TN_INT, 32, 1}},         {"int8", 5, 5, {TN_INT, 8, 1}},
    {"int64", 6, 6, {TN_INT, 64, 1}},         {"bool", 7, 11, {TN_BOOL, 8, 1}},
    {"int16", 8, 7, {TN_INT, 16, 1}},         {"uint16", 9, 8, {TN_UINT, 16, 1}},
    {"uint32", 10, 9, {TN_UINT, 32, 1}},      {"uint64", 11, 10, {TN_UINT, 64, 1}},
    {"bfloat16", 12, -1, {TN_BFLOAT, 16, 1}},
};

bool mx_dtype_by_name(const char *name, tn_dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return *out = types[i].dtype, true;
    return false;
}

bool mx_dtype_by_number(int64_t number, bool nnvm, tn_dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((nnvm ? types[i].nnvm : types[i].number) == number && number >= 0)
            return *out = types[i].dtype, true;
    return false;
}

bool mx_nnvm_number(tn_dtype t, int *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (tn_dtype_eq(types[i].dtype, t) && types[i].nnvm >= 0)
            return *out = (int)types[i].nnvm, true;
    return false;
}

/* A name, or a number as the JSON of some releases has it. */
tn_dtype mx_dtype(imp_node *c, const char *name, tn_dtype def)
{
    const char *s = find(c, name);
    tn_dtype t = def;
    int64_t number;
    bool known = !s || mx_dtype_by_name(s, &t);
    if (!known && whole(s, &number) && mx_dtype_by_number(number, mx_of(c)->nnvm, &t))
        known = true;
    if (!known)
        refuse(c, name, "a type of numbers");
    return t;
}
