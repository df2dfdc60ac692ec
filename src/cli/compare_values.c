/* Values by name, and the difference of two. Distances are measured in units of the last place (ULP) of the larger
 * number in the coarser of the two types, so that values of different types can be compared. */
#include "cli/args.h"
#include "cli/compare.h"
#include "cli/feed.h"
#include "cli/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

int tn_values_add(tn_values *v, const char *name, const DLTensor *t, size_t bytes)
{
    if (t->ndim > TN_NPY_DIMS)
        return tn_error_print("%s has more than %d dimensions", name, TN_NPY_DIMS);
    if (v->n == v->room) {
        uint32_t room = 2 * v->room + 8;
        tn_array *more = realloc(v->array, room * sizeof *more);
        if (!more)
            return tn_error_print("out of memory");
        v->array = more;
        v->room = room;
    }
    tn_array *a = &v->array[v->n];
    *a = (tn_array){
        .name = strdup(name),
        .type = {.code = t->dtype.code, .bits = t->dtype.bits, .ndim = t->ndim, .data_bytes = bytes},
        .data = tn_array_alloc(bytes)};
    if (!a->name || !a->data) {
        free(a->name);
        free(a->data);
        return tn_error_print("out of memory for %s", name);
    }
    for (int d = 0; d < t->ndim; d++)
        a->type.shape[d] = t->shape[d];
    memcpy(a->data, (const char *)t->data + t->byte_offset, bytes);
    v->n++;
    return TN_EXIT_OK;
}

const tn_array *tn_values_find(const tn_values *v, const char *name)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (strcmp(v->array[i].name, name) == 0)
            return &v->array[i];
    return NULL;
}

void tn_values_deinit(tn_values *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        free(v->array[i].name);
        free(v->array[i].data);
    }
    free(v->array);
    *v = (tn_values){0};
}

DLTensor tn_array_view(const tn_array *a)
{
    return (DLTensor){.data = a->data,
                      .device = {kDLCPU, 0},
                      .ndim = a->type.ndim,
                      .dtype = {a->type.code, a->type.bits, 1},
                      .shape = (int64_t *)(uintptr_t)a->type.shape};
}
/* Complex numbers as floats, with a last dimension of the real and the imaginary part; others as they are. */
static tn_array parts_of(const tn_array *a)
{
    tn_array parts = *a;
    if (a->type.code != kDLComplex || a->type.ndim == TN_NPY_DIMS)
        return parts;
    parts.type.code = kDLFloat;
    parts.type.bits = a->type.bits / 2;
    parts.type.shape[parts.type.ndim++] = 2;
    return parts;
}

/* ---- types ---- */

typedef struct precision {
    uint8_t code, bits;
    int digits, least; /* of the significand; exponent of the smallest normal number */
    double rtol;       /* default */
} precision;

static const precision precisions[] = {
    {kDLFloat, 64, 53, -1022, 1e-9},
    {kDLFloat, 32, 24, -126, 1e-4},
    {kDLFloat, 16, 11, -14, 5e-3},
    {kDLBfloat, 16, 8, -126, 4e-2},
};

static const precision *precision_of(const tn_array *a)
{
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        if (precisions[i].code == a->type.code && precisions[i].bits == a->type.bits)
            return &precisions[i];
    return NULL; /* whole numbers */
}

static double ulp(const precision *p, double v)
{
    int e;
    if (!p)
        return 1;
    frexp(v, &e); /* v = m 2^e, 1/2 <= m < 1 */
    e = v == 0 || e - 1 < p->least ? p->least + 1 : e;
    return ldexp(1, e - p->digits);
}

/* ---- differences ---- */

static uint64_t count_of(const tn_array *a)
{
    uint64_t n = 1;
    for (int d = 0; d < a->type.ndim; d++)
        n *= (uint64_t)a->type.shape[d];
    return n;
}

static bool same_shape(const tn_array *a, const tn_array *b)
{
    if (a->type.ndim != b->type.ndim)
        return false;
    for (int d = 0; d < a->type.ndim; d++)
        if (a->type.shape[d] != b->type.shape[d])
            return false;
    return true;
}

/* Root mean square of what is finite, the measure of a tensor's rounding errors. */
static double size_of(const DLTensor *a, const DLTensor *b, uint64_t n)
{
    double sum = 0, v;
    uint64_t count = 0;
    for (uint64_t i = 0; i < 2 * n; i++)
        if (tn_value_at(i < n ? a : b, i % n, &v) && isfinite(v)) {
            sum += v * v;
            count++;
        }
    return count && isfinite(sum) ? sqrt(sum / (double)count) : 0;
}

static void keep_top(tn_diff *d, const struct tn_diff_at *x)
{
    uint32_t i = d->n_top < TN_DIFF_TOP ? d->n_top++ : TN_DIFF_TOP;
    if (i == TN_DIFF_TOP && !(x->error > d->top[--i].error))
        return;
    for (; i && x->error > d->top[i - 1].error; i--)
        d->top[i] = d->top[i - 1];
    d->top[i] = *x;
}

/* `same`: known to be equal, or not, whatever doubles make of the two. */
static void add_element(tn_diff *d, const precision *p, struct tn_diff_at x, bool same)
{
    if (same) {
        d->bin[0]++;
        return;
    }
    double larger = fmax(fabs(x.a), fabs(x.b));
    int bin = TN_DIFF_ODD;
    bool odd = !isfinite(x.a) || !isfinite(x.b);
    x.error = odd ? INFINITY : p ? fabs(x.a - x.b) : fmax(fabs(x.a - x.b), 1);
    x.ulps = x.error / ulp(p, larger);
    if (!odd)
        frexp(fmax(x.ulps, 1), &bin); /* less than one: two small numbers of a finer type */
    d->bin[odd || bin < TN_DIFF_ODD ? bin : TN_DIFF_ODD - 1]++;
    d->n_bad += odd || x.error > d->atol + d->rtol * larger;
    keep_top(d, &x);
}

/* Types that are no numbers here are equal or not. */
static void compare_bytes(const tn_array *a, const tn_array *b, tn_diff *out)
{
    out->n_bad =
        a->type.data_bytes != b->type.data_bytes || memcmp(a->data, b->data, a->type.data_bytes) != 0;
}

void tn_diff_make(const tn_array *of_a, const tn_array *of_b, const tn_tolerance *t, tn_diff *out)
{
    const tn_array part[2] = {parts_of(of_a), parts_of(of_b)}, *a = &part[0], *b = &part[1];
    const precision *p = precision_of(a), *q = precision_of(b);
    DLTensor x = tn_array_view(a), y = tn_array_view(b);
    bool alike = a->type.code == b->type.code && a->type.bits == b->type.bits;
    struct tn_diff_at e = {0};
    *out = (tn_diff){.n = count_of(a), .shapes = !same_shape(a, b) || !p != !q};
    if (out->shapes || !out->n)
        return;
    if (!tn_value_at(&x, 0, &e.a) || !tn_value_at(&y, 0, &e.b)) {
        compare_bytes(a, b, out);
        return;
    }
    const precision *coarse = p && q->digits < p->digits ? q : p;
    size_t bytes = (a->type.bits + 7u) / 8u;
    out->rtol = t->rtol >= 0 ? t->rtol : coarse ? coarse->rtol : 0;
    out->atol = t->atol >= 0 ? t->atol : out->rtol * size_of(&x, &y, out->n);
    for (e.at = 0; e.at < out->n; e.at++) {
        (void)tn_value_at(&x, e.at, &e.a);
        (void)tn_value_at(&y, e.at, &e.b);
        bool same = p || !alike
                        ? e.a == e.b || (isnan(e.a) && isnan(e.b))
                        : memcmp((char *)a->data + e.at * bytes, (char *)b->data + e.at * bytes, bytes) == 0;
        add_element(out, coarse, e, same);
    }
}

bool tn_diff_is(const tn_diff *d) { return d->shapes || d->n_bad; }

/* ---- text ---- */

static const char *index_text(const tn_array *of, uint64_t at, char text[512])
{
    const tn_array parts = parts_of(of), *a = &parts;
    int64_t index[TN_NPY_DIMS];
    int n = 0;
    for (int d = a->type.ndim; d-- > 0; at /= (uint64_t)a->type.shape[d])
        index[d] = (int64_t)(at % (uint64_t)a->type.shape[d]);
    n += snprintf(text, 512, "[");
    for (int d = 0; d < a->type.ndim; d++)
        n += snprintf(text + n, 512 - (size_t)n, "%s%lld", d ? "," : "", (long long)index[d]);
    snprintf(text + n, 512 - (size_t)n, "]");
    return text;
}

static const char *type_text(const tn_array *a, char text[512])
{
    return tn_tensor_text((DLDataType){a->type.code, a->type.bits, 1}, a->type.ndim, a->type.shape, text);
}

void tn_diff_print_line(const tn_diff *d, const tn_array *a, const tn_array *b)
{
    char type[512], other[512], at[512];
    printf("%s: %s: ", a->name, type_text(a, type));
    if (d->shapes) {
        printf("B has %s\n", type_text(b, other));
        return;
    }
    if (!d->n_top) {
        printf(d->n_bad ? "the bytes differ\n" : d->n ? "equal\n" : "equal, without elements\n");
        return;
    }
    if (d->n_bad)
        printf("%llu of %llu elements differ", (unsigned long long)d->n_bad, (unsigned long long)d->n);
    else
        printf("equal within the tolerance");
    printf(" (%.2g + %.2g|x|); largest error %.3g", d->atol, d->rtol, d->top[0].error);
    printf(" (%.3g ULP) at %s\n", d->top[0].ulps, index_text(a, d->top[0].at, at));
}

static void print_bin(const tn_diff *d, int k)
{
    char name[48];
    if (!d->bin[k])
        return;
    if (k < 2)
        snprintf(name, sizeof name, "%d", k);
    else if (k == TN_DIFF_ODD)
        snprintf(name, sizeof name, "NaN or infinity");
    else if (k < 14)
        snprintf(name, sizeof name, "%d..%d", 1 << (k - 1), (1 << k) - 1);
    else
        snprintf(name, sizeof name, "2^%d..", k - 1);
    int bar = (int)ceil(40 * (double)d->bin[k] / (double)d->n);
    printf("  %15s %12llu  %.*s\n", name, (unsigned long long)d->bin[k], bar,
           "########################################");
}

void tn_diff_print(const tn_diff *d, const tn_array *a)
{
    char at[512];
    if (d->shapes)
        return;
    printf("  %15s %12s\n", "ULPs", "elements");
    for (int k = 0; k < TN_DIFF_BINS; k++)
        print_bin(d, k);
    printf("  largest errors:\n");
    for (uint32_t i = 0; i < d->n_top; i++)
        printf("  %15s  A %.9g  B %.9g  error %.3g (%.3g ULP)\n", index_text(a, d->top[i].at, at),
               d->top[i].a, d->top[i].b, d->top[i].error, d->top[i].ulps);
}
