/* JSON: any bytes. A tree that is accepted has its strings and containers where they may be read, no more values
 * than the input has bytes, keys that are strings, finite reals, and a depth within the limit. */
#include "base/wire/json.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static uint64_t touched;

/* Recursion: the reader promises the depth. */
static void walk(const tn_json *v, unsigned depth, size_t *budget)
{
    require(depth <= TN_JSON_DEPTH);
    require((*budget)-- > 0); /* no more values than bytes */
    if (v->kind == TN_JSON_STRING)
        for (uint32_t i = 0; i < v->n; i++)
            touched += (uint8_t)v->u.s[i]; /* the sanitizer checks where it lies */
    if (v->kind == TN_JSON_REAL)
        require(v->u.r - v->u.r == 0);
    uint32_t n = v->kind == TN_JSON_OBJECT ? 2 * v->n : v->kind == TN_JSON_ARRAY ? v->n : 0;
    for (uint32_t i = 0; i < n; i++) {
        require(v->kind == TN_JSON_ARRAY || i % 2 || v->u.at[i].kind == TN_JSON_STRING);
        walk(&v->u.at[i], depth + 1, budget);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_json_doc d = tn_json_read((const char *)data, n);
    require((d.root != NULL) != (d.error != NULL));
    require(d.error_at <= n);
    if (d.root) {
        size_t budget = n;
        walk(d.root, 0, &budget);
        tn_json_find(d.root, "nodes");
    }
    tn_json_free(&d);
    return 0;
}
