#ifndef TENON_HOST_FIND_H
#define TENON_HOST_FIND_H
/* A list of texts, hashed. */
#include "host/host.h"

typedef struct tnh_index {
    const tnh_texts *list;
    uint64_t mask;
    int64_t *last;   /* by hash: 1 + the last element of the list */
    int64_t *before; /* by element: 1 + the one before it with that hash */
} tnh_index;

tnr_status tnh_index_make(tnh_call *h, tnh_index *x, const tnh_texts *list);
int64_t tnh_index_find(const tnh_index *x, tnh_text t); /* -1: it is not there */

#endif
