#ifndef TENON_TESTS_FUZZ_IMPORT_H
#define TENON_TESTS_FUZZ_IMPORT_H
/* What the targets of model formats share. Any bytes are imported, or refused with a diagnostic; what is imported
 * verifies. Memory stays within twice the file + 64 MiB (imp_too_much, which is asked between operators: one may go a
 * little beyond). */
#include "frontend/frontend.h"
#include "relay/relay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct fuzz_model {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
} fuzz_model;

static inline void fuzz_require(int holds)
{
    if (!holds)
        abort();
}

static inline void fuzz_begin(fuzz_model *m)
{
    tn_ctx_init(&m->ctx);
    tn_arena_init(&m->arena);
    tn_pool_init(&m->pool, &m->ctx, &m->arena, NULL);
    tn_graph_init(&m->g, &m->ctx, &m->arena, &m->pool);
}

/* s: how an import of n bytes ended. */
static inline void fuzz_end(fuzz_model *m, tn_status s, size_t n)
{
    enum { ONE_OPERATOR = 16 << 20 };
    fuzz_require((s == TN_OK) == (m->ctx.n_error == 0));
    fuzz_require(m->arena.used_bytes <= 2 * n + (64u << 20) + ONE_OPERATOR);
    if (s == TN_OK)
        fuzz_require(tn_relay_verify(&m->g) == TN_OK);
    tn_graph_deinit(&m->g);
    tn_arena_deinit(&m->arena);
    tn_ctx_deinit(&m->ctx);
}

/* One file in eight is given a shape for its input x, whether it has one or not. */
static inline int fuzz_import(tn_import_fn *import, const char *path, const uint8_t *data, size_t n)
{
    static const int64_t two[] = {2, -1};
    static const char *const symbol[] = {"m", NULL};
    static const tn_input_shape x = {.name = "x", .ndim = 2, .dim = two, .symbol = symbol};
    static const tn_import_options given = {.shape = &x, .n_shape = 1};
    tn_file f = {data, n, 0};
    fuzz_model m;
    fuzz_begin(&m);
    fuzz_end(&m, import(&m.g, path, &f, n % 8 == 5 ? &given : NULL), n);
    return 0;
}

/* Of a model in two files: the first, and what stands behind its first zero byte. */
typedef struct fuzz_pair {
    tn_bytes first, second; /* second: at NULL: there is none */
} fuzz_pair;

static inline fuzz_pair fuzz_split(const uint8_t *data, size_t n)
{
    const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
    size_t k = zero ? (size_t)(zero - data) : n;
    return (fuzz_pair){{data, k}, zero ? (tn_bytes){zero + 1, n - k - 1} : (tn_bytes){0}};
}

#endif
