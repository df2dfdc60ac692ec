#ifndef TN_LOWER_LOWER_IMPL_H
#define TN_LOWER_LOWER_IMPL_H
/* What the loop passes share. Private to lower/. */
#include "lower/lower.h"

typedef tn_status tn_lower_fn(tn_func *f, const struct tn_machine *m);
#define PASS(name, function, ...) tn_lower_fn tn_lower_##function;
#include "lower/passes.def"
#undef PASS

/* Adds the variables that loops and lets of s and below define to the map `user`; for tn_stmt_walk. */
bool tn_note_definition(tn_stmt *s, void *user);
/* Does e change with one of the variables in the map? */
bool tn_uses_defined(const tn_expr *e, const tn_map *defined);
/* Does e load from that buffer? */
bool tn_loads_from(const tn_expr *e, uint32_t buffer);

/* Splits a conjunction into its terms; returns how many. One of more than TN_MAX_TERMS keeps what is too much joined:
 * such a term is no comparison that a pass knows, so a long condition costs speed where it is, nothing else. */
enum { TN_MAX_TERMS = 32 };
int tn_terms(const tn_expr *cond, const tn_expr *out[TN_MAX_TERMS]);
const tn_expr *tn_terms_join(tn_pool *p, int n, const tn_expr *const term[]); /* NULL for n == 0 */
const tn_expr *tn_both(tn_pool *p, const tn_expr *a, const tn_expr *b);       /* a and b; NULL says nothing */

/* Adds `cond` to the mask of every load of e whose buffer `pick` accepts; other = 0 where there was no mask. */
const tn_expr *tn_mask_loads(tn_func *f, const tn_expr *e, const tn_expr *cond,
                             bool (*pick)(const tn_func *f, const tn_expr *load, void *user), void *user);

/* Can this vector loop become vector expressions? (extent a power of two up to 64, nothing inside that lanes
 * cannot share) */
bool tn_vector_loop_fits(const tn_stmt *loop);

/* A nest of tensor loops on lanes, from `s` on: s becomes a vector loop (tensor.c). */
void tn_tensor_lanes(tn_func *f, tn_stmt *s);

/* Does the loop's list hold parallel loops? Then its turns are steps (join_steps.c). */
bool tn_has_phases(const tn_stmt *loop);
/* The only such serial loop at the top level; NULL: there is none, or are several. */
tn_stmt *tn_steps_of(const tn_func *f);
/* A nest of a unit that multiplies tiles (tile.c): does it stay one? Else it is loops, and nests of lanes inside. */
bool tn_tensor_tile(tn_func *f, const struct tn_machine *m, tn_stmt *s);
/* Is the loop one of lanes, or of a nest whose columns will be? */
static inline bool tn_is_lane_loop(const tn_stmt *s)
{
    return s->kind == TN_S_FOR && (s->u.loop.kind == TN_LOOP_VECTOR || s->u.loop.kind == TN_LOOP_TENSOR);
}

/* What `lanes` lanes of a vector loop over `var` load (flat, scalar form), where contiguous loads and a shuffle do it;
 * lanes outside the load's mask hold anything. NULL: a gather has to. */
const tn_expr *tn_pattern_load(tn_func *f, const tn_facts *facts, const tn_expr *load, const tn_expr *var,
                               int lanes);

/* The columns of a tile of vectors (columns.c), made by statements before `before`. f, before and width, a power of two
 * not below the number of rows, are given; a column has `width` elements, those beyond the rows are any. */
enum { TN_MAX_ROWS = 64 }; /* and lanes of each */
typedef struct tn_columns {
    tn_func *f;
    tn_stmt *before;
    int width, live, each, n; /* lanes of a row that are used, a power of two; lanes of a vector, vectors */
    const tn_expr *v[TN_MAX_ROWS];
} tn_columns;
/* by lane; one at least */
void tn_columns_of(tn_columns *c, int rows, const tn_expr *const row[], const bool stored[]);
const tn_expr *tn_column(const tn_columns *c, int lane); /* of a lane that is stored */

/* The TIR polynomial of an intrinsic call (args already lowered); NULL if it has none for this dtype. */
const tn_expr *tn_intrin_expand(tn_pool *p, enum tn_intrin f, tn_dtype t, const tn_expr *const arg[]);

#endif
