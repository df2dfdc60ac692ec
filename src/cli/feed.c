/* Inputs: arrays of the .npz are matched with the model's inputs by name, type and shape before their data
 * are read; extents that stay unknown become 1; what is missing is filled. */
#include "cli/feed.h"
#include "cli/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    int64_t value;
} symbol;
typedef struct {
    tn_feed *feed;
    const tnr_tensor_info *input;
    const char *path;
    symbol *symbol; /* bound so far */
    size_t n_symbol;
} maker;

/* ---- text ---- */

static const char *print_tensor(DLDataType type, int32_t ndim, const int64_t *shape, const char *const *name,
                                char text[512])
{
    char dtype[32];
    if (type.code == kDLOpaqueHandle && type.bits == 64) {
        snprintf(text, 64, "a value of texts, a sequence or the like");
        return text;
    }
    int n = snprintf(text, 64, "%s[",
                     type.code == TN_NPY_TEXT ? "str" : tnr_dtype_print(type, dtype, sizeof dtype));
    for (int d = 0; d < ndim && n < 440; d++) {
        n += snprintf(text + n, 8, "%s", d ? ", " : "");
        if (shape[d] >= 0)
            n += snprintf(text + n, 24, "%lld", (long long)shape[d]);
        else
            n += snprintf(text + n, 40, "%.39s", name && name[d] ? name[d] : "?");
    }
    snprintf(text + n, 8, "]");
    return text;
}

const char *tn_tensor_text(DLDataType type, int32_t ndim, const int64_t *shape, char text[512])
{
    return print_tensor(type, ndim, shape, NULL, text);
}

const char *tn_info_text(const tnr_tensor_info *info, char text[512])
{
    return print_tensor(info->dtype, info->ndim, info->shape, info->symbol, text);
}

static int list_inputs(const maker *m)
{
    char text[512];
    fprintf(stderr, "The model's inputs are:\n");
    for (uint32_t i = 0; i < m->feed->n; i++)
        fprintf(stderr, "    %s: %s\n", m->input[i].name, tn_info_text(&m->input[i], text));
    return TN_EXIT_ERROR;
}

/* ---- what the file has ---- */

static DLDataType array_type(const tn_array *a) { return (DLDataType){a->type.code, a->type.bits, 1}; }

static bool same_type(DLDataType a, DLDataType b)
{
    bool x = a.code == kDLBool || (a.code == kDLUInt && a.bits == 1);
    bool y = b.code == kDLBool || (b.code == kDLUInt && b.bits == 1);
    if (a.code == kDLOpaqueHandle) /* a type that NumPy lacks: only its size is known */
        return !y && (a.bits == 8 ? b.bits < 8 || tn_is_minifloat(b) : b.code == kDLBfloat && b.bits == 16);
    return x || y ? x && y : a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

static bool same_shape(const tn_array *a, const tnr_tensor_info *info)
{
    if (a->type.ndim != info->ndim)
        return false;
    for (int d = 0; d < info->ndim; d++)
        if (info->shape[d] >= 0 && info->shape[d] != a->type.shape[d])
            return false;
    return true;
}

/* TensorFlow's name of the tensor that input X is is X:0. */
static bool is_called(const char *input, const char *name)
{
    size_t n = strlen(input);
    return strncmp(input, name, n) == 0 && (!name[n] || strcmp(name + n, ":0") == 0);
}

/* Is input i a value that is no tensor of numbers, and the array it or a part of it? */
static bool is_part(const maker *m, uint32_t i, const tn_array *a)
{
    size_t n = strlen(m->input[i].name);
    return m->feed->takes_values && m->input[i].dtype.code == kDLOpaqueHandle &&
           strncmp(a->name, m->input[i].name, n) == 0 && (!a->name[n] || a->name[n] == '.');
}

/* true: the array belongs to a value, and has been read. */
static bool take_part(const maker *m, tn_npz *z, int k, int *status)
{
    tn_feed *f = m->feed;
    const tn_array *a = tn_npz_at(z, k);
    uint32_t i = 0;
    while (i < f->n && !is_part(m, i, a))
        i++;
    if (i == f->n)
        return false;
    tn_array *to = &f->part[f->n_part];
    *to = (tn_array){.name = strdup(a->name), .type = a->type};
    f->n_part++;
    *status = to->name ? tn_npz_read(z, k, &to->data) : tn_error_print("out of memory");
    return true;
}

static int match(const maker *m, const tn_array *a, uint32_t *out)
{
    char got[512], want[512];
    uint32_t i = 0;
    while (i < m->feed->n && !is_called(m->input[i].name, a->name))
        i++;
    if (i == m->feed->n) {
        tn_nearest p = {.word = a->name, .n = strlen(a->name)};
        for (uint32_t k = 0; k < m->feed->n; k++)
            tn_nearest_offer(&p, m->input[k].name);
        tn_error_print("%s: the model has no input \"%s\"%s%s%s", m->path, a->name,
                       p.best ? "; did you mean \"" : "", p.best ? p.best : "", p.best ? "\"?" : "");
        return list_inputs(m);
    }
    const tnr_tensor_info *info = &m->input[i];
    *out = i;
    if (same_type(array_type(a), info->dtype) && same_shape(a, info))
        return TN_EXIT_OK;
    tn_error_print("%s: %s is %s, but the model takes %s", m->path, a->name,
                   tn_tensor_text(array_type(a), a->type.ndim, a->type.shape, got), tn_info_text(info, want));
    return list_inputs(m);
}

static const symbol *find_symbol(const maker *m, const char *name)
{
    for (size_t i = 0; i < m->n_symbol; i++)
        if (strcmp(m->symbol[i].name, name) == 0)
            return &m->symbol[i];
    return NULL;
}

static bool is_plain(const char *name) { return name && strcmp(name, "?") != 0; }

/* The extents of an array bind the symbols that stand there. Contradictions are the executor's to report. */
static void bind(maker *m, const tnr_tensor_info *info, const int64_t *shape)
{
    for (int d = 0; d < info->ndim && info->symbol; d++)
        if (info->shape[d] < 0 && is_plain(info->symbol[d]) && !find_symbol(m, info->symbol[d]))
            m->symbol[m->n_symbol++] = (symbol){info->symbol[d], shape[d]};
}

static int take_arrays(maker *m, tn_npz *z)
{
    m->feed->part = calloc((size_t)tn_npz_count(z) + 1, sizeof *m->feed->part);
    int status = m->feed->part ? TN_EXIT_OK : tn_error_print("out of memory");
    for (int k = 0; k < tn_npz_count(z) && status == TN_EXIT_OK; k++) {
        uint32_t i;
        if (take_part(m, z, k, &status))
            continue;
        status = match(m, tn_npz_at(z, k), &i);
        if (status != TN_EXIT_OK)
            break;
        m->feed->array[i].type = tn_npz_at(z, k)->type;
        if (m->feed->array[i].type.code == kDLOpaqueHandle)
            m->feed->array[i].type.code = m->input[i].dtype.code,
            m->feed->array[i].type.bits = m->input[i].dtype.bits;
        bind(m, &m->input[i], m->feed->array[i].type.shape);
        status = tn_npz_read(z, k, &m->feed->array[i].data);
    }
    return status;
}

/* ---- what it lacks ---- */

static int choose_extent(maker *m, const tnr_tensor_info *info, int d, int64_t *out)
{
    const char *name = info->symbol ? info->symbol[d] : NULL;
    const symbol *s = name ? find_symbol(m, name) : NULL;
    *out = s ? s->value : 1;
    if (s)
        return TN_EXIT_OK;
    if (name && !is_plain(name))
        return tn_error_print("input %s has a dimension that depends on other inputs; give it with --inputs",
                              info->name);
    if (name) {
        m->symbol[m->n_symbol++] = (symbol){name, 1};
        tn_note_print("%s is taken as 1, since no input determines it", name);
    } else {
        tn_note_print("dimension %d of %s is taken as 1, since no input determines it", d, info->name);
    }
    return TN_EXIT_OK;
}

static int make_up(maker *m, uint32_t i, const char *mode)
{
    const tnr_tensor_info *info = &m->input[i];
    tn_array *a = &m->feed->array[i];
    char text[512];
    size_t count = 1, element = tn_element_bytes(info->dtype), bytes;
    a->type = (tn_npy){.code = info->dtype.code, .bits = (uint8_t)(8 * element), .ndim = info->ndim};
    for (int d = 0; d < info->ndim; d++) {
        int64_t n = info->shape[d];
        int status = n < 0 ? choose_extent(m, info, d, &n) : TN_EXIT_OK;
        if (status != TN_EXIT_OK)
            return status;
        a->type.shape[d] = n;
        if (__builtin_mul_overflow(count, (size_t)n, &count))
            return tn_error_print("input %s is too large", info->name);
    }
    if (__builtin_mul_overflow(count, element, &bytes) || !(a->data = tn_array_alloc(bytes)))
        return tn_error_print("out of memory for input %s", info->name);
    a->type.data_bytes = bytes;
    if (tn_fill(a->data, info->dtype, count, mode, i))
        return tn_error_print("input %s is %s, which cannot be filled", info->name, tn_info_text(info, text));
    return TN_EXIT_OK;
}

/* Values without arrays are empty sequences and optional values, or cannot be read. */
static bool is_missing(const maker *m, uint32_t i)
{
    bool value = m->feed->takes_values && m->input[i].dtype.code == kDLOpaqueHandle;
    return !m->feed->array[i].data && !value;
}

/* Made-up values beside given ones are wrong answers that look right. */
static int nothing_missing(const maker *m)
{
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < m->feed->n; i++)
        n += is_missing(m, i);
    if (!n)
        return TN_EXIT_OK;
    char *list = calloc(n, 80);
    for (uint32_t i = 0, at = 0; list && i < m->feed->n; i++)
        if (is_missing(m, i))
            at += (uint32_t)snprintf(list + at, 80, "%s%.70s", k++ ? ", " : "", m->input[i].name);
    tn_error_print("%s: missing %s: %s; add %s, or let --fill-mode random make up what is missing", m->path,
                   n == 1 ? "input" : "inputs", list ? list : "", n == 1 ? "it" : "them");
    free(list);
    return list_inputs(m);
}

static int make(maker *m, const char *npz, const char *mode)
{
    tn_npz *z = NULL;
    int status = !npz ? TN_EXIT_OK : m->feed->takes_values ? tn_npz_open_any(npz, &z) : tn_npz_open(npz, &z);
    if (z)
        status = take_arrays(m, z);
    tn_npz_free(z);
    if (npz && !mode && status == TN_EXIT_OK)
        status = nothing_missing(m);
    for (uint32_t i = 0; i < m->feed->n && status == TN_EXIT_OK; i++) {
        m->feed->array[i].name = (char *)m->input[i].name;
        if (is_missing(m, i))
            status = make_up(m, i, mode ? mode : "random");
    }
    return status;
}

int tn_feed_init(tn_feed *f, uint32_t n, const tnr_tensor_info input[], const char *npz, const char *mode)
{
    size_t n_dim = 1;
    for (uint32_t i = 0; i < n; i++)
        if (input[i].ndim > TN_NPY_DIMS)
            return tn_error_print("input %s has more than %d dimensions", input[i].name, TN_NPY_DIMS);
        else if (!f->takes_values && !input[i].dtype.bits)
            return tn_error_print("input %s is no tensor with a shape; if it is a tensor, give its array "
                                  "(--inputs) or its shape "
                                  "(--input-shapes), else compile the model and use the command run",
                                  input[i].name);
        else
            n_dim += (size_t)input[i].ndim;
    maker m = {.feed = f, .input = input, .path = npz, .symbol = calloc(n_dim, sizeof *m.symbol)};
    f->n = n;
    f->array = calloc(n + 1u, sizeof *f->array);
    int status = m.symbol && f->array ? make(&m, npz, mode) : tn_error_print("out of memory");
    free(m.symbol);
    return status;
}

void tn_feed_deinit(tn_feed *f)
{
    for (uint32_t i = 0; i < f->n && f->array; i++)
        free(f->array[i].data);
    free(f->array);
    for (int i = 0; i < f->n_part; i++) {
        free(f->part[i].name);
        free(f->part[i].data);
    }
    free(f->part);
    *f = (tn_feed){0};
}
