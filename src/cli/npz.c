/* .npz: read through libzip, written by zip.c. Sizes that the archive claims are believed only as far as the
 * file's own length allows: deflate makes at most 1032 bytes of one, so memory stays bounded by what lies on
 * disk. */
#include "cli/npz.h"
#include "cli/cli.h"
#include "cli/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

enum { DEFLATE_MAX = 1032, MAX_ARRAYS = 1 << 16 };

struct tn_npz {
    zip_t *zip;
    char *path;
    uint64_t file_bytes;
    int n;
    tn_array *array; /* names and headers; data stay NULL */
};

_Static_assert(TN_NPY_INT == (int)kDLInt && TN_NPY_UINT == (int)kDLUInt && TN_NPY_FLOAT == (int)kDLFloat &&
                   TN_NPY_BYTES == (int)kDLOpaqueHandle && TN_NPY_COMPLEX == (int)kDLComplex &&
                   TN_NPY_BOOL == (int)kDLBool,
               "arrays have DLPack's types");

void *tn_array_alloc(size_t n) { return n > SIZE_MAX - 128 ? NULL : aligned_alloc(64, (n + 64) / 64 * 64); }

void tn_array_drop(tn_array *a)
{
    if (!a->borrowed)
        free(a->data);
    a->data = NULL;
}

/* ---- reading ---- */

static int fault(const tn_npz *z, const char *name, const char *why)
{
    return tn_error_print("%s: %s: %s", z->path, name, why);
}

/* Reads n bytes; 0, or 1 where the entry ends or is damaged before. */
static int read_exactly(zip_file_t *f, void *out, size_t n)
{
    char *at = out;
    while (n) {
        zip_int64_t k = zip_fread(f, at, n);
        if (k <= 0)
            return 1;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

static int read_header(tn_npz *z, const char *name, zip_file_t *f, tn_npy *out)
{
    uint8_t start[12], *all;
    char text[128];
    const char *why;
    if (read_exactly(f, start, sizeof start))
        return fault(z, name, "the entry is damaged or no array");
    size_t n = tn_npy_header_bytes(start, sizeof start, &why);
    if (n < sizeof start)
        return fault(z, name, n ? "the array's header is damaged" : why);
    all = malloc(n);
    if (!all)
        return tn_error_print("out of memory");
    memcpy(all, start, sizeof start);
    int bad = read_exactly(f, all + sizeof start, n - sizeof start), status = TN_EXIT_OK;
    if (bad)
        status = fault(z, name, "the array's header is cut short");
    else if (tn_npy_parse(all, n, out, text, &why))
        status = fault(z, name, why);
    free(all);
    return status;
}

/* The entry's size on disk and unpacked fit each other, the header and the file. */
static int check_size(const tn_npz *z, const char *name, const zip_stat_t *st, const tn_npy *npy)
{
    if (!(st->valid & ZIP_STAT_SIZE) || !(st->valid & ZIP_STAT_COMP_SIZE) || st->comp_size > z->file_bytes ||
        st->size / DEFLATE_MAX > st->comp_size)
        return fault(z, name, "the entry's size is not believable");
    if (st->size < npy->header_bytes || st->size - npy->header_bytes != npy->data_bytes)
        return fault(z, name, "the array's shape does not fit the size of its data");
    return TN_EXIT_OK;
}

static int add_name(tn_npz *z, const char *name, tn_array *out)
{
    size_t n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, ".npy") == 0)
        n -= 4;
    out->name = strndup(name, n);
    if (!out->name)
        return tn_error_print("out of memory");
    for (int i = 0; i < z->n; i++)
        if (strcmp(z->array[i].name, out->name) == 0) {
            free(out->name);
            return fault(z, name, "is there twice");
        }
    return TN_EXIT_OK;
}

static int read_entry(tn_npz *z, zip_uint64_t i)
{
    zip_stat_t st;
    tn_array a = {0};
    if (zip_stat_index(z->zip, i, 0, &st) != 0)
        return tn_error_print("%s: %s", z->path, zip_strerror(z->zip));
    zip_file_t *f = zip_fopen_index(z->zip, i, 0);
    if (!f)
        return fault(z, st.name, zip_strerror(z->zip));
    int status = read_header(z, st.name, f, &a.type);
    zip_fclose(f);
    if (status == TN_EXIT_OK)
        status = check_size(z, st.name, &st, &a.type);
    if (status == TN_EXIT_OK)
        status = add_name(z, st.name, &a);
    if (status == TN_EXIT_OK)
        z->array[z->n++] = a;
    return status;
}

static int open_zip(tn_npz *z)
{
    struct stat st;
    int code = 0;
    z->zip = zip_open(z->path, ZIP_RDONLY, &code);
    if (!z->zip) {
        zip_error_t e;
        zip_error_init_with_code(&e, code);
        tn_error_print("%s: cannot read it as .npz: %s", z->path, zip_error_strerror(&e));
        zip_error_fini(&e);
        return TN_EXIT_ERROR;
    }
    z->file_bytes = stat(z->path, &st) == 0 ? (uint64_t)st.st_size : 0;
    zip_int64_t n = zip_get_num_entries(z->zip, 0);
    if (n > MAX_ARRAYS)
        return tn_error_print("%s: %lld arrays are too many", z->path, (long long)n);
    z->array = calloc((size_t)n + 1, sizeof *z->array);
    int status = z->array ? TN_EXIT_OK : tn_error_print("out of memory");
    for (zip_int64_t i = 0; i < n && status == TN_EXIT_OK; i++)
        status = read_entry(z, (zip_uint64_t)i);
    return status;
}

int tn_npz_open_any(const char *path, tn_npz **out)
{
    *out = NULL;
    if (tn_file_refuse(path, TENON_WANTED_ARRAYS))
        return TN_EXIT_ERROR;
    tn_npz *z = calloc(1, sizeof *z);
    if (!z || !(z->path = strdup(path))) {
        free(z);
        return tn_error_print("out of memory");
    }
    int status = open_zip(z);
    if (status == TN_EXIT_OK)
        *out = z;
    else
        tn_npz_free(z);
    return status;
}

int tn_npz_open(const char *path, tn_npz **out)
{
    int status = tn_npz_open_any(path, out);
    for (int i = 0; status == TN_EXIT_OK && i < (*out)->n; i++)
        if ((*out)->array[i].type.code == TN_NPY_TEXT)
            status = fault(*out, (*out)->array[i].name, "texts are not supported here; save it as numbers");
    if (status != TN_EXIT_OK) {
        tn_npz_free(*out);
        *out = NULL;
    }
    return status;
}

int tn_npz_count(const tn_npz *z) { return z->n; }

const tn_array *tn_npz_at(const tn_npz *z, int i) { return &z->array[i]; }

/* Replaces column-major data by a row-major copy. */
static int to_rows(const tn_array *a, void **data)
{
    void *rows = tn_array_alloc(a->type.data_bytes);
    if (rows)
        tn_npy_row_major(&a->type, *data, rows);
    free(*data);
    *data = rows;
    return rows ? TN_EXIT_OK : tn_error_print("out of memory");
}

int tn_npz_read(tn_npz *z, int i, void **out_data)
{
    const tn_array *a = &z->array[i];
    char header[512], end;
    *out_data = NULL;
    void *data = tn_array_alloc(a->type.data_bytes);
    zip_file_t *f = data ? zip_fopen_index(z->zip, (zip_uint64_t)i, 0) : NULL;
    if (!f) {
        bool room = data != NULL;
        free(data);
        return room ? fault(z, a->name, zip_strerror(z->zip)) : tn_error_print("out of memory");
    }
    int bad = 0;
    for (size_t left = a->type.header_bytes; left && !bad;) {
        size_t k = left < sizeof header ? left : sizeof header;
        bad = read_exactly(f, header, k);
        left -= k;
    }
    /* the end: its CRC is checked */
    bad = bad || read_exactly(f, data, a->type.data_bytes) || zip_fread(f, &end, 1) != 0;
    zip_fclose(f);
    if (bad) {
        free(data);
        return fault(z, a->name, "the data are damaged");
    }
    *out_data = data;
    return a->type.column_major && a->type.ndim > 1 ? to_rows(a, out_data) : TN_EXIT_OK;
}

void tn_npz_free(tn_npz *z)
{
    if (!z)
        return;
    for (int i = 0; i < z->n; i++)
        free(z->array[i].name);
    free(z->array);
    if (z->zip)
        zip_discard(z->zip);
    free(z->path);
    free(z);
}

/* ---- writing ---- */

struct tn_npz_out {
    char *path;
    tn_output to;
    bool opened;
    tn_zip *zip;
};

int tn_npz_create(const char *path, tn_npz_out **out)
{
    tn_npz_out *z = calloc(1, sizeof *z);
    *out = z;
    if (!z || !(z->path = strdup(path)))
        return tn_error_print("out of memory");
    if (strcmp(path, "-") == 0)
        return tn_error_print("--outputs -: an archive cannot go to standard output; name a file");
    int err = tn_output_open(&z->to, path);
    if (err)
        return tn_output_report(path, err);
    z->opened = true;
    z->zip = tn_zip_new(&z->to);
    return z->zip ? TN_EXIT_OK : tn_error_print("out of memory");
}

int tn_npz_add(tn_npz_out *z, const tn_array *a)
{
    char header[1024], name[512];
    size_t n = tn_npy_print(&a->type, header);
    if ((size_t)snprintf(name, sizeof name, "%s.npy", a->name) >= sizeof name)
        return tn_error_print("%s: the name is too long for a file", a->name);
    return tn_zip_add(z->zip, name, 2, (tn_zip_piece[]){{header, n}, {a->data, a->type.data_bytes}})
               ? tn_error_print("out of memory")
               : TN_EXIT_OK;
}

int tn_npz_close(tn_npz_out *z, int status)
{
    if (!z)
        return status;
    tn_zip_end(z->zip);
    if (z->opened) {
        int err = tn_outputs_close(1, (tn_output *const[]){&z->to}, status == TN_EXIT_OK);
        status = status == TN_EXIT_OK ? tn_output_report(z->path, err) : status;
    }
    free(z->path);
    free(z);
    return status;
}
