/* Caffe: a network and, behind a zero byte, its weights. Any bytes are imported, or refused with a diagnostic;
 * what is imported verifies. */
#include "frontend/caffe/caffe.h"
#include "relay/relay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { ONE_NODE = 16 << 20 };
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_file f = {data, n, 0};
    const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
    size_t k = zero ? (size_t)(zero - data) : n;
    tn_bytes weights = zero ? (tn_bytes){zero + 1, n - k - 1} : (tn_bytes){0};
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&pool, &ctx, &arena, NULL);
    tn_graph_init(&g, &ctx, &arena, &pool);
    tn_status s = cf_import_pair(&g, "fuzz.prototxt", &f, (tn_bytes){data, k}, weights);
    require((s == TN_OK) == (ctx.n_error == 0));
    require(arena.used_bytes <= 2 * n + (64u << 20) + ONE_NODE);
    if (s == TN_OK)
        require(tn_relay_verify(&g) == TN_OK);
    tn_graph_deinit(&g);
    tn_arena_deinit(&arena);
    tn_ctx_deinit(&ctx);
    return 0;
}
