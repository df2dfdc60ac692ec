#ifndef TN_BASE_VEC_H
#define TN_BASE_VEC_H
/* Vector: growable array in heap memory, scratch only (IR holds fixed arena arrays, never vectors).
 *
 *   tn_vec(int) v = {0};  tn_vec_push(&v, 3);  for (size_t i = 0; i < v.n; i++) use(v.at[i]);  tn_vec_deinit(&v);
 *
 * Exhausted memory raises (base/guard.h). The runtime has no vectors.
 */
#include <stddef.h>

#define tn_vec(T) \
    struct { \
        T *at; \
        size_t n, cap; \
    }

/* Grows *at (elements of `size` bytes) so that n + more fit; used through the macros. */
void *tn_vec_grow(void *at, size_t n, size_t more, size_t *cap, size_t size);

#define tn_vec_reserve(v, more) \
    ((v)->at = (v)->n + (more) <= (v)->cap \
                   ? (v)->at \
                   : tn_vec_grow((v)->at, (v)->n, (more), &(v)->cap, sizeof *(v)->at))
#define tn_vec_push(v, value) (tn_vec_reserve((v), 1), (void)((v)->at[(v)->n++] = (value)))
#define tn_vec_last(v) ((v)->at[(v)->n - 1])
#define tn_vec_pop(v) ((v)->at[--(v)->n])
#define tn_vec_clear(v) ((void)((v)->n = 0))
#define tn_vec_deinit(v) (tn_vec_free((v)->at), (v)->at = NULL, (void)((v)->n = (v)->cap = 0))
void tn_vec_free(void *at);

#endif
