/* Numbers and texts. string.of_number (int64, uint64, float32 or float64): integers in digits, reals in the
 * fewest digits that read back, with an exponent below 1e-4 and from 1e8 (float32) or 1e17 on, INF, -INF and NaN.
 * string.to_number (texts; attribute dtype: one of these types): digits, a point, an exponent, INF and NaN in
 * any case, between blanks. A real is rounded to the type, or towards 0 where that is an integer. */
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 64, PLAIN_FROM = -4, PLAIN_TO = 17, PLAIN_TO_NARROW = 8 };

static const struct {
    const char *name;
    DLDataType type;
} types[] = {{"int64", {kDLInt, 64, 1}},
             {"uint64", {kDLUInt, 64, 1}},
             {"float32", {kDLFloat, 32, 1}},
             {"float64", {kDLFloat, 64, 1}}};
enum { INT64, UINT64, FLOAT32, FLOAT64, N_TYPES };

/* ---- writing ---- */

/* ".ddd" at the decimal exponent `at`: all digits in front of the point, behind it, or on both sides. */
static size_t plain(char *to, const char *digits, int n, int at)
{
    size_t used = 0;
    if (at < 0)
        used += (size_t)snprintf(to, NUMBER, "0.%.*s", -at - 1, "00000000");
    for (int i = 0; i < n || i <= at; i++) {
        if (at >= 0 && i == at + 1)
            to[used++] = '.';
        to[used++] = i < n ? digits[i] : '0';
    }
    return used;
}

static size_t real(char to[NUMBER], double v, bool narrow)
{
    char text[NUMBER], digits[24];
    int n = 0, most = narrow ? 9 : 17;
    if (isnan(v) || isinf(v))
        return (size_t)snprintf(to, NUMBER, "%s", isnan(v) ? "NaN" : v > 0 ? "INF" : "-INF");
    for (int p = 0; p < most; p++) {
        snprintf(text, sizeof text, "%.*e", p, v);
        if (narrow ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    const char *e = strchr(text, 'e'); /* d.ddde+xx */
    int at = (int)strtol(e + 1, NULL, 10);
    size_t used = 0;
    if (*text == '-')
        to[used++] = '-';
    for (const char *c = text; c < e; c++)
        if (*c >= '0' && *c <= '9')
            digits[n++] = *c;
    if (at >= PLAIN_FROM && at < (narrow ? PLAIN_TO_NARROW : PLAIN_TO))
        return used + plain(to + used, digits, n, at);
    return (size_t)snprintf(to, NUMBER, "%s", text);
}

static size_t number(char to[NUMBER], int type, const void *data, int64_t i)
{
    switch (type) {
    case INT64: return (size_t)snprintf(to, NUMBER, "%" PRId64, ((const int64_t *)data)[i]);
    case UINT64: return (size_t)snprintf(to, NUMBER, "%" PRIu64, ((const uint64_t *)data)[i]);
    case FLOAT32: return real(to, (double)((const float *)data)[i], true);
    default: return real(to, ((const double *)data)[i], false);
    }
}

static int type_of(DLDataType t)
{
    int i = 0;
    while (i < N_TYPES && (types[i].type.code != t.code || types[i].type.bits != t.bits))
        i++;
    return i;
}

static tnr_status write_all(tnh_call *h)
{
    DLTensor x;
    tnh_maker m;
    char to[NUMBER];
    tnr_status status = tnh_tensor_in(h, 0, &x);
    status = status ? status : tnh_maker_begin(h, &m, x.ndim, x.shape);
    int type = status ? 0 : type_of(x.dtype);
    if (type == N_TYPES)
        return tnh_fail(h, TNR_E_DTYPE, "%s does not take numbers of this type", h->c->name);
    for (int64_t i = 0; !status && i < m.n; i++)
        status =
            tnh_maker_add(h, &m, (tnh_text){to, number(to, type, (const char *)x.data + x.byte_offset, i)});
    return status ? status : tnh_maker_out(h, &m, 0);
}

/* ---- reading ---- */

/* All of it but blanks is read by strtod, which knows INF and NaN, and hexadecimal digits, which are refused. */
static bool read_real(const char *text, bool narrow, double *out)
{
    char *end;
    if (strpbrk(text, "xX(pP"))
        return false;
    *out = narrow ? (double)strtof(text, &end) : strtod(text, &end);
    return end != text && !end[strspn(end, " \t\r\n")];
}

/* A real, with a point or an exponent, loses what is behind the point. */
static bool read_integer(const char *text, int type, void *to)
{
    char *end;
    double v;
    errno = 0;
    if (type == INT64)
        *(int64_t *)to = strtoll(text, &end, 10);
    else
        *(uint64_t *)to = strtoull(text, &end, 10);
    if (end != text && !end[strspn(end, " \t\r\n")])
        return !errno && (type == INT64 || !strchr(text, '-'));
    if (!read_real(text, false, &v) || !(type == INT64 ? v >= -0x1p63 && v < 0x1p63 : v > -1 && v < 0x1p64))
        return false;
    if (type == INT64)
        *(int64_t *)to = (int64_t)v;
    else
        *(uint64_t *)to = (uint64_t)v;
    return true;
}

/* Element i of the result, from a text that ends with a 0. */
static bool read_number(const char *text, int type, void *data, int64_t i)
{
    double v = 0;
    bool ok;
    switch (type) {
    case INT64: return read_integer(text, type, (int64_t *)data + i);
    case UINT64: return read_integer(text, type, (uint64_t *)data + i);
    case FLOAT32:
        ok = read_real(text, true, &v);
        ((float *)data)[i] = (float)v;
        return ok;
    default: return read_real(text, false, (double *)data + i);
    }
}

static tnr_status read_all(tnh_call *h)
{
    tnh_texts x;
    void *out;
    int type = 0;
    size_t most = 0;
    while (type < N_TYPES && !tnh_attr_is(h, "dtype", types[type].name))
        type++;
    if (type == N_TYPES)
        return tnh_fail(h, TNR_E_DTYPE, "%s does not give numbers of this type", h->c->name);
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : tnh_tensor_out(h, 0, types[type].type, x.ndim, x.shape, &out);
    for (int64_t i = 0; i < x.n && !status; i++)
        most = tnh_text_at(&x, i).n > most ? tnh_text_at(&x, i).n : most;
    char *text = status ? NULL : tnh_new(h, most + 1, 1);
    for (int64_t i = 0; i < x.n && text && !status; i++) {
        tnh_text t = tnh_text_at(&x, i);
        if (t.n)
            memcpy(text, t.at, t.n);
        text[t.n] = '\0';
        if (!read_number(text, type, out, i))
            status = tnh_fail(h, TNR_E_ARG, "the string \"%.100s\" is not a number of type %s", text,
                              types[type].name);
    }
    return status ? status : text ? TNR_OK : TNR_E_MEMORY;
}

/* ---- with the point that C has, whatever locale the process has ---- */

static tnr_status in_c(tnh_call *h, tnh_fn *fn)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return tnh_fail(h, TNR_E_MEMORY, "out of memory");
    locale_t before = uselocale(c);
    tnr_status status = fn(h);
    uselocale(before);
    freelocale(c);
    return status;
}

tnr_status tnh_string_of_number(tnh_call *h) { return in_c(h, write_all); }

tnr_status tnh_string_to_number(tnh_call *h) { return in_c(h, read_all); }
