/* TIR text: any bytes. What is read prints, reads back and prints the same; what is read can be verified and copied. */
#include "tir/tir.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_FUNC = 4 };
typedef struct reader {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
} reader;

static void reader_open(reader *r)
{
    tn_ctx_init(&r->ctx);
    tn_arena_init(&r->arena);
    tn_pool_init(&r->pool, &r->ctx, &r->arena, NULL);
}

static void reader_close(reader *r)
{
    tn_arena_deinit(&r->arena);
    tn_ctx_deinit(&r->ctx);
}

static _Noreturn void give_up(reader *r, const char *what, const tn_buf *text)
{
    tn_buf b = {0};
    tn_diag_print_all(&r->ctx, &b);
    fprintf(stderr, "%s\n%s\n%s", what, tn_buf_cstr(text), tn_buf_cstr(&b));
    abort();
}

/* Reads and prints. shown: what was printed before, which must read back; empty: anything. */
static bool read_print(const char *text, size_t n, tn_buf *out, const tn_buf *shown)
{
    reader r;
    tn_func *f[MAX_FUNC];
    size_t count;
    reader_open(&r);
    bool read = tn_func_parse(&r.ctx, &r.arena, &r.pool, "fuzz", text, n, f, MAX_FUNC, &count) == TN_OK;
    if (read != (r.ctx.n_error == 0))
        give_up(&r, "the status is not what was reported", shown);
    if (!read && shown->n)
        give_up(&r, "what was printed does not read back", shown);
    for (size_t i = 0; read && i < count; i++) {
        tn_func_print(tn_func_clone(f[i], &r.arena, &r.pool), out);
        if (tn_func_verify(f[i]) != TN_OK && r.ctx.n_error == 0) /* of two that are alike, one is reported */
            give_up(&r, "refused without a word", out);
    }
    reader_close(&r);
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_buf first = {0}, second = {0}, none = {0};
    reader r;
    if (read_print((const char *)data, n, &first, &none) && first.n) {
        read_print(first.at, first.n, &second, &first);
        if (first.n != second.n || memcmp(first.at, second.at, first.n) != 0) {
            reader_open(&r);
            fprintf(stderr, "%s", tn_buf_cstr(&first));
            give_up(&r, "prints otherwise the second time", &second);
        }
    }
    tn_buf_deinit(&first);
    tn_buf_deinit(&second);
    return 0;
}
