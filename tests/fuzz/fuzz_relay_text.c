/* Relay text: any bytes. What is accepted verifies, prints, reads back and prints the same. */
#include "frontend/frontend.h"
#include "relay/relay.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct module {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
} module;

static void module_open(module *m)
{
    tn_ctx_init(&m->ctx);
    tn_arena_init(&m->arena);
    tn_pool_init(&m->pool, &m->ctx, &m->arena, NULL);
    tn_graph_init(&m->g, &m->ctx, &m->arena, &m->pool);
}

static void module_close(module *m)
{
    tn_graph_deinit(&m->g);
    tn_arena_deinit(&m->arena);
    tn_ctx_deinit(&m->ctx);
}

static void fail(module *m, const char *what, const tn_buf *text)
{
    tn_buf b = {0};
    tn_diag_print_all(&m->ctx, &b);
    fprintf(stderr, "%s\n%s\n%s", what, tn_buf_cstr(text), tn_buf_cstr(&b));
    abort();
}

/* Reads and prints; false: refused, with a report. */
static int read_print(const char *text, size_t n, tn_buf *out, const tn_buf *shown)
{
    module m;
    module_open(&m);
    int read =
        tn_relay_parse(&m.g, "fuzz", text, n, &(tn_relay_metadata){.forms = tn_relay_more_forms}) == TN_OK;
    if (read != (m.ctx.n_error == 0))
        fail(&m, "the status is not what was reported", shown);
    if (read) {
        tn_relay_print(&m.g, out);
        if (tn_relay_verify(&m.g) != TN_OK)
            fail(&m, "does not verify", out);
    } else if (shown->n) {
        fail(&m, "what was printed does not read back", shown);
    }
    module_close(&m);
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_buf first = {0}, second = {0}, none = {0};
    module m;
    if (read_print((const char *)data, n, &first, &none)) {
        read_print(first.at, first.n, &second, &first);
        if (first.n != second.n || memcmp(first.at, second.at, first.n) != 0) {
            module_open(&m);
            fprintf(stderr, "%s", tn_buf_cstr(&first));
            fail(&m, "prints otherwise the second time", &second);
        }
    }
    tn_buf_deinit(&first);
    tn_buf_deinit(&second);
    return 0;
}
