#ifndef TN_CLI_CONFIG_H
#define TN_CLI_CONFIG_H
/* --config: files of defaults for flags, in the format of tvmc. */
#include "base/ctx.h"

typedef struct tn_defaults {
    tn_ctx ctx; /* the words lie in its arena */
    size_t n;
    const char **word; /* "--opt-level=3" */
} tn_defaults;

/* `name` is a path, or a file below $TVM_CONFIGS_JSON_DIR, with or without ".json". Returns TN_EXIT_OK, or prints and
 * returns TN_EXIT_ERROR. Deinit either way. */
int tn_defaults_read(tn_defaults *d, const char *name);
void tn_defaults_deinit(tn_defaults *d);

#endif
