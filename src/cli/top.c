/* tenon top: the best classes of a classifier's output, with their names. */
#include "cli/cli.h"
#include "cli/feed.h"
#include "cli/image.h"
#include "cli/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const tn_flag tn_top_flags[] = {
    TN_ROW_TEXT("labels", 0, "FILE", NULL, "names of the classes, one per line"),
    TN_ROW_INT("number", 'n', 1, INT_MAX, "5", "number of classes to print"),
    TN_ROW_TEXT("name", 0, "NAME", NULL, "array to rank (default: the only one of the file)"),
    TN_ROW_CHOICE("softmax", 0, "auto|yes|no", "auto",
                  "turn scores into probabilities; auto does so unless they are already"),
    {0},
};
// clang-format on

typedef struct {
    char *text;
    size_t n;
    const char **line;
} labels;
typedef struct {
    double value;
    size_t at;
} ranked;

/* ---- names ---- */

static int read_text(const char *path, char **out)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0, room = 1 << 16;
    char *at = f ? malloc(room + 1) : NULL;
    while (at) {
        size_t k = fread(at + n, 1, room - n, f);
        n += k;
        if (k == 0 || n > 64u << 20)
            break;
        char *more = n == room ? realloc(at, 2 * room + 1) : at;
        room = n == room ? 2 * room : room;
        if (!more)
            free(at);
        at = more;
    }
    int error = f ? (ferror(f) ? EIO : 0) : errno;
    if (f)
        fclose(f);
    *out = at;
    if (error || (at && memchr(at, 0, n))) {
        free(at);
        *out = NULL;
        return error ? tn_error_print("%s: cannot read the file: %s", path, strerror(error))
                     : tn_error_print("%s: not a text of one name a line", path);
    }
    if (at)
        at[n] = 0;
    return at ? TN_EXIT_OK : tn_error_print("out of memory");
}

static int read_labels(const char *path, labels *out)
{
    int status = path ? read_text(path, &out->text) : TN_EXIT_OK;
    if (!path || status != TN_EXIT_OK)
        return status;
    size_t room = 1;
    for (const char *c = out->text; *c; c++)
        room += *c == '\n';
    out->line = calloc(room, sizeof *out->line);
    if (!out->line)
        return tn_error_print("out of memory");
    for (char *at = out->text; *at;) {
        size_t n = strcspn(at, "\n"), last = n && at[n - 1] == '\r' ? n - 1 : n;
        bool more = at[n] != 0;
        at[last] = at[n] = 0;
        out->line[out->n++] = at;
        at += n + more;
    }
    return TN_EXIT_OK;
}

/* A list for another number of classes would give wrong names without a sign of it. Many lists of ImageNet begin with a
 * class "background" that most models do not have. */
static int fit_labels(const char *path, labels *l, size_t classes)
{
    if (!path || l->n == classes)
        return TN_EXIT_OK;
    if (l->n == classes + 1 && strstr(l->line[0], "background")) {
        tn_note_print("%s begins with \"%s\", a class that the model does not have; it is left out", path,
                      l->line[0]);
        l->line++, l->n--;
        return TN_EXIT_OK;
    }
    return tn_error_print("%s has %zu names, but the array has %zu classes", path, l->n, classes);
}

/* ---- values ---- */

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value && (x->value == x->value || y->value == y->value))
        return x->value > y->value || y->value != y->value ? -1 : 1; /* not-a-numbers last */
    return (x->at > y->at) - (x->at < y->at);
}

static bool are_probabilities(const ranked *r, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(r[i].value >= 0 && r[i].value <= 1.001))
            return false;
        sum += r[i].value;
    }
    return fabs(sum - 1) < 0.01;
}

static void softmax(ranked *r, size_t n)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        largest = r[i].value > largest ? r[i].value : largest;
    for (size_t i = 0; i < n; i++)
        sum += r[i].value = exp(r[i].value - largest);
    for (size_t i = 0; i < n; i++)
        r[i].value /= sum;
}

static void print_row(ranked *r, size_t n, const tn_args *a, const labels *l)
{
    const char *how = tn_args_text(a, "softmax");
    bool share = are_probabilities(r, n);
    if (strcmp(how, "yes") == 0 || (strcmp(how, "auto") == 0 && !share)) {
        softmax(r, n);
        if (strcmp(how, "auto") == 0)
            tn_note_print("the values are scores, not probabilities; their softmax is shown");
        share = true;
    }
    qsort(r, n, sizeof *r, by_rank);
    for (size_t i = 0; i < n && i < (size_t)tn_args_int(a, "number"); i++) {
        if (isnan(r[i].value))
            printf("%s", share ? "  nan  " : "         nan");
        else if (share)
            printf("%5.1f %%", 100 * r[i].value);
        else
            printf(isnan(r[i].value) ? "         nan" : "%12.6g", r[i].value);
        if (l->line)
            printf("  %s\n", l->line[r[i].at]);
        else
            printf("  %zu\n", r[i].at);
    }
}

/* Rows of [N, classes]; dimensions of 1 behind (or all of them before) the classes are passed over. */
static int print_all(const tn_args *a, const tn_array *array, void *data, labels *l)
{
    char text[512];
    const char *path = tn_args_text(a, "labels");
    DLTensor t = {.data = data,
                  .ndim = array->type.ndim,
                  .dtype = {array->type.code, array->type.bits, 1},
                  .shape = (int64_t *)(uintptr_t)array->type.shape};
    int last = t.ndim - 1;
    while (last > 0 && t.shape[last] == 1)
        last--;
    size_t rows = 1, n = last >= 0 ? (size_t)t.shape[last] : 0;
    for (int d = 0; d < last; d++)
        rows *= (size_t)t.shape[d];
    if (n < 2 || rows == 0)
        return tn_error_print("%s is %s: there are no classes to rank", array->name,
                              tn_tensor_text(t.dtype, t.ndim, t.shape, text));
    int status = fit_labels(path, l, n);
    ranked *r = status == TN_EXIT_OK ? malloc(n * sizeof *r) : NULL;
    if (status == TN_EXIT_OK && !r)
        return tn_error_print("out of memory");
    for (size_t i = 0; i < rows && r; i++) {
        for (size_t k = 0; k < n; k++) {
            r[k].at = k;
            tn_value_at(&t, i * n + k, &r[k].value);
        }
        if (rows > 1)
            printf("%s%zu:\n", i ? "\n" : "", i);
        print_row(r, n, a, l);
    }
    free(r);
    return status;
}

int tn_top_command(const tn_args *args)
{
    labels l = {0};
    tn_npz *z = NULL;
    void *data = NULL;
    int k = 0, status = read_labels(tn_args_text(args, "labels"), &l);
    const char **line = l.line;
    if (status == TN_EXIT_OK)
        status = tn_npz_open(args->operand, &z);
    if (status == TN_EXIT_OK)
        status = tn_npz_pick(z, args->operand, tn_args_text(args, "name"), &k);
    if (status == TN_EXIT_OK)
        status = tn_npz_read(z, k, &data);
    if (status == TN_EXIT_OK)
        status = print_all(args, tn_npz_at(z, k), data, &l);
    free(data);
    tn_npz_free(z);
    free(line);
    free(l.text);
    return status;
}
