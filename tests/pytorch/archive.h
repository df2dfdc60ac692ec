#ifndef TN_TESTS_PYTORCH_ARCHIVE_H
#define TN_TESTS_PYTORCH_ARCHIVE_H
/* PyTorch's archives as tests make them, a zip of stored entries, and what the importer makes of them. */
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

typedef struct {
    tn_buf file, directory;
    int n;
} archive;

static void put(tn_buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        tn_buf_char(b, (char)(i < 8 ? v >> 8 * i : 0));
}

/* Checksums are not looked at. */
static void add(archive *a, const char *name, const void *data, size_t n)
{
    size_t at = a->file.n;
    for (int central = 0; central < 2; central++) {
        tn_buf *b = central ? &a->directory : &a->file;
        tn_buf_str(b, central ? "PK\1\2" : "PK\3\4");
        put(b, 20, central ? 4 : 2); /* versions */
        put(b, 0, 12);               /* flags, method, time, date, checksum */
        put(b, n, 4);
        put(b, n, 4);
        put(b, strlen(name), 2);
        put(b, 0, 2);
        if (central) {
            put(b, 0, 10);
            put(b, at, 4);
        }
        tn_buf_str(b, name);
    }
    tn_buf_add(&a->file, data, n);
    a->n++;
}

static void finish(archive *a)
{
    size_t at = a->file.n;
    tn_buf_add(&a->file, a->directory.at, a->directory.n);
    tn_buf_str(&a->file, "PK\5\6");
    put(&a->file, 0, 4);
    put(&a->file, (uint64_t)a->n, 2);
    put(&a->file, (uint64_t)a->n, 2);
    put(&a->file, a->directory.n, 4);
    put(&a->file, at, 4);
    put(&a->file, 0, 2);
    tn_buf_deinit(&a->directory);
}

/* What is printed of the module, then what is reported. shapes: of one input, or NULL */
static void read_into(tn_buf *said, const tn_buf *file, const tn_input_shape *shapes)
{
    model m;
    tn_import_options o = {.shape = shapes, .n_shape = shapes != NULL};
    model_init(&m);
    tn_status s = tn_import_pytorch(&m.g, "m.pt", &(tn_file){(const uint8_t *)file->at, file->n, 0}, &o);
    assert_int_equal(s == TN_OK, m.ctx.n_error == 0);
    if (s == TN_OK) {
        assert_int_equal(tn_relay_verify(&m.g), TN_OK);
        tn_relay_print(&m.g, said);
    }
    tn_diag_print_all(&m.ctx, said);
    model_deinit(&m);
}

static void expect(const char *said, const char *want)
{
    if (!strstr(said, want))
        fail_msg("\"%s\" is not in:\n%s", want, said);
}

#endif
