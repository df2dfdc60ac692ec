/* --print-time and --print-top. */
#include "cli/report.h"

#include "cli/args.h"
#include "cli/feed.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_centred(const char *text, int width, const char *after)
{
    int n = (int)strlen(text), left = n < width ? (width - n) / 2 : 0,
        right = n < width ? width - n - left : 0;
    printf("%*s%s%*s%s", left, "", text, right, "", after);
}

void tn_print_times(int n, double ns[])
{
    static const char *const head[] = {"mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)"};
    double sum = 0, squares = 0;
    qsort(ns, (size_t)n, sizeof *ns, by_value);
    for (int i = 0; i < n; i++)
        sum += ns[i];
    double mean = sum / n, median = (ns[(n - 1) / 2] + ns[n / 2]) / 2;
    for (int i = 0; i < n; i++)
        squares += (ns[i] - mean) * (ns[i] - mean);
    const double value[] = {mean, median, ns[n - 1], ns[0], sqrt(squares / n)};
    printf("Execution time summary:\n");
    for (int i = 0; i < 5; i++)
        print_centred(head[i], 12, i < 4 ? " " : "\n");
    for (int i = 0; i < 5; i++) {
        char text[64];
        snprintf(text, sizeof text, "%.4f", value[i] / 1e6);
        print_centred(text, 12, i < 4 ? " " : "\n");
    }
}

/* ---- --print-top ---- */

static double half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double bfloat_value(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* The low bits count. */
static double tiny_value(DLDataType t, uint8_t byte)
{
    int all = 1 << t.bits, v = byte & (all - 1);
    return t.code == kDLInt && v >= all / 2 ? v - all : v;
}

bool tn_value_at(const DLTensor *t, size_t i, double *out)
{
    const void *at = (const char *)t->data + t->byte_offset;
    const bool is_signed = t->dtype.code == kDLInt;
    if (t->dtype.code == kDLComplex)
        return false;
    if (t->dtype.code == kDLFloat && t->dtype.bits == 64)
        *out = ((const double *)at)[i];
    else if (t->dtype.code == kDLFloat && t->dtype.bits == 32)
        *out = (double)((const float *)at)[i];
    else if (t->dtype.code == kDLFloat && t->dtype.bits == 16)
        *out = half_value(((const uint16_t *)at)[i]);
    else if (t->dtype.code == kDLBfloat && t->dtype.bits == 16)
        *out = bfloat_value(((const uint16_t *)at)[i]);
    else if (tn_is_minifloat(t->dtype))
        *out = tn_minifloat_value(t->dtype, ((const uint8_t *)at)[i]);
    else if (t->dtype.bits == 64)
        *out = is_signed ? (double)((const int64_t *)at)[i] : (double)((const uint64_t *)at)[i];
    else if (t->dtype.bits == 32)
        *out = is_signed ? (double)((const int32_t *)at)[i] : (double)((const uint32_t *)at)[i];
    else if (t->dtype.bits == 16)
        *out = is_signed ? ((const int16_t *)at)[i] : ((const uint16_t *)at)[i];
    else if (t->dtype.bits == 4 || t->dtype.bits == 2)
        *out = tiny_value(t->dtype, ((const uint8_t *)at)[i]);
    else if (t->dtype.bits == 8 || t->dtype.bits == 1)
        *out = is_signed ? ((const int8_t *)at)[i] : ((const uint8_t *)at)[i];
    else
        return false;
    return t->dtype.lanes == 1;
}

typedef struct {
    double value;
    size_t at;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value && (x->value == x->value || y->value == y->value))
        return x->value > y->value || y->value != y->value ? -1 : 1; /* not-a-numbers last */
    return (x->at > y->at) - (x->at < y->at);
}

static int print_top(const DLTensor *t, int n)
{
    size_t count = 1;
    for (int d = t->ndim > 1; d < t->ndim; d++)
        count *= (size_t)t->shape[d];
    if (t->ndim > 1 && t->shape[0] == 0)
        count = 0;
    ranked *r = malloc((count + 1) * sizeof *r);
    if (!r)
        return 1;
    for (size_t i = 0; i < count; i++) {
        r[i].at = i;
        if (!tn_value_at(t, i, &r[i].value)) {
            free(r);
            return 1;
        }
    }
    qsort(r, count, sizeof *r, by_rank);
    size_t shown = (size_t)n < count ? (size_t)n : count;
    for (size_t i = 0; i < shown; i++)
        printf("%s%zu", i ? " " : "[[", r[i].at);
    printf("%s]\n", shown ? "" : "[[");
    for (size_t i = 0; i < shown; i++)
        printf(isnan(r[i].value) ? "%snan" : "%s%.8g", i ? " " : " [", r[i].value);
    printf("%s]]\n", shown ? "" : " [");
    free(r);
    return 0;
}

int tn_print_top(const DLTensor *t, int n)
{
    char text[512];
    if (!print_top(t, n))
        return TN_EXIT_OK;
    return tn_error_print("--print-top: output_0 is %s, which cannot be ranked",
                          tn_tensor_text(t->dtype, t->ndim, t->shape, text));
}

void tn_print_json_text(FILE *o, const char *text, size_t n)
{
    fputc('"', o);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 32)
            fprintf(o, "\\u%04x", (unsigned char)text[i]);
        else
            fprintf(o, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
    fputc('"', o);
}
