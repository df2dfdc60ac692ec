#ifndef TN_TEST_RELAY_H
#define TN_TEST_RELAY_H
/* What the tests of relay/ share: a module with all it needs, and texts of diagnostics. Include cmocka.h before. */
#include "relay/relay.h"

#include <string.h>

typedef struct module {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_buf text; /* what module_print and module_diag gave last */
} module;

static inline void module_open(module *m)
{
    memset(m, 0, sizeof *m);
    tn_ctx_init(&m->ctx);
    tn_arena_init(&m->arena);
    tn_pool_init(&m->pool, &m->ctx, &m->arena, NULL);
    tn_graph_init(&m->g, &m->ctx, &m->arena, &m->pool);
}

static inline void module_close(module *m)
{
    tn_buf_deinit(&m->text);
    tn_graph_deinit(&m->g);
    tn_arena_deinit(&m->arena);
    tn_ctx_deinit(&m->ctx);
}

static inline const char *module_diag(module *m)
{
    tn_buf_clear(&m->text);
    tn_diag_print_all(&m->ctx, &m->text);
    return tn_buf_cstr(&m->text);
}

static inline const char *module_print(module *m)
{
    tn_buf_clear(&m->text);
    tn_relay_print(&m->g, &m->text);
    return tn_buf_cstr(&m->text);
}

/* Reads a text that must be right and must verify. */
static inline void module_read(module *m, const char *text)
{
    module_open(m);
    tn_status s = tn_relay_parse(&m->g, "t.relay", text, strlen(text), NULL);
    s = s == TN_OK ? tn_relay_verify(&m->g) : s;
    if (s != TN_OK)
        fail_msg("%s\n%s", text, module_diag(m));
}

#endif
