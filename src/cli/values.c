/* Values and arrays of an .npz. The type says what a value means (include/tenon/host.h says how it looks). */
#include "cli/values.h"
#include "cli/args.h"
#include "cli/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512, DEEPEST = 16 };

/* The type in the brackets of "Seq[...]" and its like; NULL: it is not one of these. */
static const char *inside(const char *type, const char *kind)
{
    size_t n = strlen(kind);
    return strncmp(type, kind, n) == 0 && type[n] == '[' ? type + n + 1 : NULL;
}

/* A tensor's dtype is its last word. */
static const char *dtype_of(const char *type, char out[32])
{
    const char *extents = inside(type, "Tensor") ? strpbrk(type, ")?") : NULL;
    if (extents && *extents == '?' && extents[-1] == '(')
        extents = strchr(extents, ')');
    if (extents)
        type = extents + 1 + strspn(extents + 1, ", ");
    snprintf(out, 32, "%.*s", (int)strcspn(type, ",]"), type);
    return out;
}

static bool is_text(const char *dtype) { return strcmp(dtype, "string") == 0; }

/* ---- texts of NumPy: code points of 4 bytes ---- */

static size_t put_utf8(uint32_t c, char *to)
{
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(lead[more] | c >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    return (size_t)more + 1;
}

/* The code point at *at, which moves on; UINT32_MAX: it is no UTF-8. */
static uint32_t take_utf8(const char **at, const char *end)
{
    uint8_t first = (uint8_t)*(*at)++;
    int more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : -1;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (more < 0 || end - *at < more)
        return UINT32_MAX;
    uint32_t c = more ? first & (0x3fu >> more) : first;
    for (int i = 0; i < more; i++) {
        uint8_t b = (uint8_t)*(*at)++;
        if (b >> 6 != 2)
            return UINT32_MAX;
        c = c << 6 | (b & 0x3f);
    }
    return c >= least[more] && c <= 0x10ffff && c >> 11 != 27 ? c : UINT32_MAX;
}

/* ---- from arrays ---- */

typedef struct {
    tnr_instance *x;
    const char *input;
    int n;
    const tn_array *part;
    tnr_error err;
} reader;

static int fail(const reader *r) { return tn_error_print("input %s: %s", r->input, r->err.message); }

static const tn_array *find(const reader *r, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->part[i].name, name) == 0)
            return &r->part[i];
    return NULL;
}

/* Is there an array of that name, or of a part of the value of that name? */
static bool is_there(const reader *r, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; i < r->n; i++)
        if (strncmp(r->part[i].name, name, n) == 0 && (!r->part[i].name[n] || r->part[i].name[n] == '.'))
            return true;
    return false;
}

static int make(reader *r, const tnr_value_info *info, tnr_value **out)
{
    return tnr_value_new(r->x, info, out, &r->err) ? fail(r) : TN_EXIT_OK;
}

static int make_tensor(reader *r, DLDataType type, int32_t ndim, const int64_t *shape, const void *data,
                       tnr_value **out)
{
    return make(r,
                &(tnr_value_info){.kind = TNR_VALUE_TENSOR,
                                  .tensor = {.data = (void *)(uintptr_t)data,
                                             .device = {kDLCPU, 0},
                                             .ndim = ndim,
                                             .dtype = type,
                                             .shape = (int64_t *)(uintptr_t)shape}},
                out);
}

/* Takes the references of the fields. */
static int make_fields(reader *r, uint32_t tag, uint32_t n, tnr_value **field, tnr_value **out)
{
    int status = make(
        r, &(tnr_value_info){.kind = TNR_VALUE_CONSTRUCTOR, .tag = tag, .n_field = n, .field = field}, out);
    for (uint32_t i = 0; i < n; i++)
        tnr_value_release(field[i]);
    return status;
}

static const DLDataType int64 = {kDLInt, 64, 1};

/* Shape, where each text begins and the last ends, bytes. */
static int texts_of(reader *r, const tn_array *a, tnr_value **out)
{
    size_t each = a->type.chars, n = a->type.data_bytes / (4 * each), used = 0;
    int64_t *offset = calloc(n + 1, sizeof *offset), rank = a->type.ndim, count = (int64_t)n + 1;
    char *bytes = malloc(a->type.data_bytes + 1);
    const uint32_t *c = a->data;
    int status = offset && bytes ? TN_EXIT_OK : tn_error_print("out of memory");
    for (size_t i = 0; i < n && status == TN_EXIT_OK; i++, c += each) {
        size_t k = each;
        while (k && !c[k - 1])
            k--;
        for (size_t j = 0; j < k && status == TN_EXIT_OK; j++)
            if (c[j] > 0x10ffff || c[j] >> 11 == 27)
                status = tn_error_print("%s: %x is not a character", a->name, (unsigned)c[j]);
            else
                used += put_utf8(c[j], bytes + used);
        offset[i + 1] = (int64_t)used;
    }
    tnr_value *field[3] = {NULL};
    status = status ? status : make_tensor(r, int64, 1, &rank, a->type.shape, &field[0]);
    status = status ? status : make_tensor(r, int64, 1, &count, offset, &field[1]);
    status =
        status ? status
               : make(r, &(tnr_value_info){.kind = TNR_VALUE_TEXT, .text = bytes, .text_n = used}, &field[2]);
    if (status == TN_EXIT_OK)
        status = make_fields(r, 0, 3, field, out);
    else
        for (int i = 0; i < 3; i++)
            tnr_value_release(field[i]);
    free(offset);
    free(bytes);
    return status;
}

static int tensor_of(reader *r, const char *name, const char *type, tnr_value **out)
{
    char want[32], have[32];
    const tn_array *a = find(r, name);
    if (!a)
        return tn_error_print("input %s: the array %s is missing", r->input, name);
    bool text = a->type.code == TN_NPY_TEXT;
    tnr_dtype_print((DLDataType){a->type.code, a->type.bits, 1}, have, sizeof have);
    if (strcmp(dtype_of(type, want), text ? "string" : have) != 0)
        return tn_error_print("input %s: the array %s is of %s, but must be of %s", r->input, name,
                              text ? "str" : have, is_text(want) ? "str" : want);
    if (text)
        return texts_of(r, a, out);
    return make_tensor(r, (DLDataType){a->type.code, a->type.bits, 1}, a->type.ndim, a->type.shape, a->data,
                       out);
}

static int value_of(reader *r, const char *name, const char *type, int depth, tnr_value **out);

static int sequence_of(reader *r, const char *name, const char *type, int depth, tnr_value **out)
{
    char part[NAME];
    tnr_value **field = calloc((size_t)r->n + 1, sizeof *field);
    int status = field ? TN_EXIT_OK : tn_error_print("out of memory");
    uint32_t n = 0;
    for (; status == TN_EXIT_OK && n < (uint32_t)r->n; n++) {
        snprintf(part, sizeof part, "%.480s.%u", name, (unsigned)n);
        if (!is_there(r, part))
            break;
        status = value_of(r, part, type, depth + 1, &field[n]);
        if (status != TN_EXIT_OK)
            break;
    }
    if (status == TN_EXIT_OK)
        status = make_fields(r, 0, n, field, out);
    else
        for (uint32_t i = 0; field && i < n; i++)
            tnr_value_release(field[i]);
    free(field);
    return status;
}

/* Keys are a list, and so are values, which are single numbers or texts. */
static int map_of(reader *r, const char *name, const char *type, tnr_value **out)
{
    char part[NAME];
    tnr_value *field[2] = {NULL};
    const char *comma = strchr(type, ',');
    if (!comma || inside(comma + 2, "Seq") || inside(comma + 2, "Map") || inside(comma + 2, "Tensor"))
        return tn_error_print("input %s: maps to other values than numbers and texts are not supported here",
                              r->input);
    snprintf(part, sizeof part, "%.480s.keys", name);
    int status = tensor_of(r, part, type, &field[0]);
    snprintf(part, sizeof part, "%.480s.values", name);
    status = status ? status : tensor_of(r, part, comma + 2, &field[1]);
    if (status == TN_EXIT_OK)
        return make_fields(r, 0, 2, field, out);
    tnr_value_release(field[0]);
    return status;
}

/* Tuples, functions, references and data types: their names begin with a capital letter, and Tensor is none of them. */
static bool is_for_python(const char *type)
{
    return *type == '(' || strncmp(type, "fn ", 3) == 0 || strncmp(type, "ref(", 4) == 0 ||
           (*type >= 'A' && *type <= 'Z' && !inside(type, "Tensor"));
}

static int value_of(reader *r, const char *name, const char *type, int depth, tnr_value **out)
{
    const char *inner;
    if (depth > DEEPEST)
        return tn_error_print("input %s: its type is nested too deeply", r->input);
    if ((inner = inside(type, "Seq")))
        return sequence_of(r, name, inner, depth, out);
    if ((inner = inside(type, "Map")))
        return map_of(r, name, inner, out);
    if ((inner = inside(type, "Optional"))) {
        tnr_value *held = NULL;
        bool some = is_there(r, name);
        int status = some ? value_of(r, name, inner, depth + 1, &held) : TN_EXIT_OK;
        return status ? status : make_fields(r, some, some, &held, out);
    }
    if (is_for_python(type))
        return tn_error_print("input %s: an archive cannot give a value of type %.200s; run the package from "
                              "Python, where such a value is a tenon.ADT",
                              r->input, type);
    return tensor_of(r, name, type, out);
}

int tn_value_read(tnr_instance *x, const char *name, const char *type, int n, const tn_array part[],
                  tnr_value **out)
{
    reader r = {.x = x, .input = name, .n = n, .part = part};
    return value_of(&r, name, type, 0, out);
}

/* ---- to arrays ---- */

/* The texts' longest number of code points; 0: something is no text. */
static uint32_t longest(const char *bytes, const int64_t *offset, int64_t n)
{
    uint32_t most = 1;
    for (int64_t i = 0; i < n; i++) {
        uint32_t k = 0;
        for (const char *at = bytes + offset[i], *end = bytes + offset[i + 1]; at < end; k++)
            if (take_utf8(&at, end) == UINT32_MAX)
                return 0;
        most = k > most ? k : most;
    }
    return most;
}

static int write_texts(tn_npz_out *z, const char *name, const tnr_value_info *v)
{
    tnr_value_info shape, offset, bytes;
    tnr_value_get(v->field[0], &shape);
    tnr_value_get(v->field[1], &offset);
    tnr_value_get(v->field[2], &bytes);
    int64_t n = offset.tensor.shape[0] - 1;
    const int64_t *at = offset.tensor.data;
    tn_array a = {.name = (char *)(uintptr_t)name, .type = {.code = TN_NPY_TEXT, .bits = 32}};
    a.type.ndim = (int32_t)shape.tensor.shape[0];
    a.type.chars = longest(bytes.text, at, n);
    if (a.type.ndim > TN_NPY_DIMS || !a.type.chars)
        return tn_error_print("output %s cannot be written: %s", name,
                              a.type.chars ? "it has too many dimensions" : "a text is not valid UTF-8");
    memcpy(a.type.shape, shape.tensor.data, (size_t)a.type.ndim * sizeof *a.type.shape);
    if (__builtin_mul_overflow((size_t)n * 4, (size_t)a.type.chars, &a.type.data_bytes) ||
        !(a.data = tn_array_alloc(a.type.data_bytes)))
        return tn_error_print("out of memory for output %s", name);
    memset(a.data, 0, a.type.data_bytes);
    uint32_t *to = a.data;
    for (int64_t i = 0; i < n; i++, to += a.type.chars) {
        uint32_t k = 0;
        for (const char *from = bytes.text + at[i], *end = bytes.text + at[i + 1]; from < end; k++)
            to[k] = take_utf8(&from, end);
    }
    int status = tn_npz_add(z, &a);
    tn_array_drop(&a);
    return status;
}

static int refuse(const char *name)
{
    return tn_error_print(
        "output %s is a value that an archive cannot hold; run the package from Python, where it "
        "is a tenon.ADT",
        name);
}

static int write_any(tn_npz_out *z, const char *name, const char *type, const tnr_value *v, int depth);

/* NAME.0, NAME.1, ... of Cons(x, Cons(y, Nil)), whatever the tags are. */
static int write_list(tn_npz_out *z, const char *name, const char *type, const tnr_value *v, int depth)
{
    int status = TN_EXIT_OK;
    tnr_value_info info;
    for (uint32_t i = 0; status == TN_EXIT_OK; i++) {
        char part[NAME];
        tnr_value_get(v, &info);
        if (info.kind != TNR_VALUE_CONSTRUCTOR || (info.n_field != 0 && info.n_field != 2))
            return refuse(name);
        if (info.n_field == 0)
            break;
        snprintf(part, sizeof part, "%.480s.%u", name, (unsigned)i);
        status = write_any(z, part, type, info.field[0], depth + 1);
        v = info.field[1];
    }
    return status;
}

static int write_any(tn_npz_out *z, const char *name, const char *type, const tnr_value *v, int depth)
{
    tnr_value_info info;
    tnr_value_get(v, &info);
    const char *seq = inside(type, "Seq"), *optional = inside(type, "Optional"), *map = inside(type, "Map");
    const char *comma = map ? strchr(map, ',') : NULL;
    char dtype[32];
    int status = TN_EXIT_OK;
    if (depth > DEEPEST)
        return tn_error_print("output %s is nested too deeply", name);
    if (info.kind == TNR_VALUE_TENSOR) {
        tn_array a = {0};
        status = tn_array_of(name, &info.tensor, &a);
        status = status ? status : tn_npz_add(z, &a);
        tn_array_drop(&a);
        return status;
    }
    if (inside(type, "List"))
        return write_list(z, name, inside(type, "List"), v, depth);
    if (info.kind != TNR_VALUE_CONSTRUCTOR || (map && (!comma || info.n_field != 2)))
        return refuse(name);
    if (!seq && !optional && !map)
        return info.n_field == 3 && is_text(dtype_of(type, dtype)) ? write_texts(z, name, &info)
                                                                   : refuse(name);
    for (uint32_t i = 0; i < info.n_field && status == TN_EXIT_OK; i++) {
        char part[NAME];
        if (seq)
            snprintf(part, sizeof part, "%.480s.%u", name, (unsigned)i);
        else
            snprintf(part, sizeof part, "%.480s%s", name, optional ? "" : i ? ".values" : ".keys");
        const char *inner = seq ? seq : optional ? optional : i ? comma + 2 : map;
        status = write_any(z, part, inner, info.field[i], depth + 1);
    }
    return status;
}

int tn_value_write(tn_npz_out *z, const char *name, const char *type, const tnr_value *v)
{
    return write_any(z, name, type, v, 0);
}
