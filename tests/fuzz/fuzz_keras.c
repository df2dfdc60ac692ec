/* Keras: any bytes are imported, or refused with a diagnostic; what is imported verifies. Memory stays within twice the
 * file + 64 MiB (import.c's limit, checked between layers: one may go a little beyond). Files beside the model are not
 * looked for in a folder that does not exist. */
#include "frontend/frontend.h"
#include "relay/relay.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { ONE_LAYER = 16 << 20 };
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_file f = {data, n, 0};
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&pool, &ctx, &arena, NULL);
    tn_graph_init(&g, &ctx, &arena, &pool);
    tn_status s = tn_import_keras(&g, "/nowhere/fuzz.keras", &f, NULL);
    require((s == TN_OK) == (ctx.n_error == 0));
    require(arena.used_bytes <= 2 * n + (64u << 20) + ONE_LAYER);
    if (s == TN_OK)
        require(tn_relay_verify(&g) == TN_OK);
    tn_graph_deinit(&g);
    tn_arena_deinit(&arena);
    tn_ctx_deinit(&ctx);
    return 0;
}
