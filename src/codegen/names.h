#ifndef TN_CODEGEN_NAMES_H
#define TN_CODEGEN_NAMES_H
/* Names in generated code: identifiers of C, unique in their scope, near to what the IR calls things. */
#include "base/arena.h"
#include "base/map.h"

/* text with everything but letters and digits replaced by _; never empty, never starting with a digit, ending with _,
 * or with two _ in a row (elements of registers are `name__0`). */
char *tn_c_identifier(tn_arena *a, const char *text);
/* One unique identifier for each of n things; `taken` is kept up. */
const char **tn_unique_names(tn_arena *a, uint32_t n, const char *(*name)(const void *user, uint32_t i),
                             const void *user, tn_strmap *taken);

#endif
