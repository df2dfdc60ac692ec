/* PyTorch: any bytes are imported, or refused with a diagnostic; what is imported verifies. Seeds are archives of
 * stored entries, so that mutations reach the pickle and the code. */
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
    static const int64_t two[] = {2, -1};
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_file f = {data, n, 0};
    tn_import_options o = {
        .shape =
            &(tn_input_shape){.name = "x", .ndim = 2, .dim = two, .symbol = (const char *const[]){"m", NULL}},
        .n_shape = 1};
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&pool, &ctx, &arena, NULL);
    tn_graph_init(&g, &ctx, &arena, &pool);
    tn_status s = tn_import_pytorch(&g, "fuzz.pt", &f, n % 2 ? NULL : &o);
    require((s == TN_OK) == (ctx.n_error == 0));
    if (s == TN_OK)
        require(tn_relay_verify(&g) == TN_OK);
    tn_graph_deinit(&g);
    tn_arena_deinit(&arena);
    tn_ctx_deinit(&ctx);
    return 0;
}
