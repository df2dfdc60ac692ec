#ifndef TN_TIR_FUNC_H
#define TN_TIR_FUNC_H
/* Shared by the files of tir/, not by other folders: names, and copying lists of statements. */
#include "base/vec.h"
#include "tir/tir.h"

bool tn_tir_is_name(const char *name);            /* identifier (dots inside allowed), not reserved */
bool tn_tir_layout_like(const char *s, size_t n); /* one word that reads as a layout: NK32n */
const char *tn_tir_suffixed(tn_ctx *ctx, const char *name, uint32_t k); /* name_k, interned */

/* Deep copy of src's statements to the end of dst (a list of f). */
void tn_body_clone(tn_func *f, tn_body *dst, const tn_body *src);

/* What holds inside list `in` of s, and after s in its list (let, check): added to the facts. */
void tn_stmt_facts_enter(tn_pool *p, const tn_stmt *s, const tn_body *in, tn_facts *out);
void tn_stmt_facts_after(tn_pool *p, const tn_stmt *s, tn_facts *out);

/* Nesting of statements that the recursive passes (printer, reader, verifier, interpreter) follow; dimensions
 * of a buffer. */
enum { TN_TIR_DEPTH = 60, TN_TIR_DIMS = 32 };

/* Expressions that stand several times in a statement's text and are too long to be repeated (alias.c): %0, %1, ... in
 * an order in which each uses only earlier ones. */
typedef struct tn_aliases {
    tn_map number;
    tn_vec(const tn_expr *) named;
} tn_aliases;
void tn_aliases_find(tn_aliases *a, const tn_stmt *s); /* replaces those found before */
void tn_aliases_deinit(tn_aliases *a);

/* The canonical copy of f, numbered as its text reads back; *out_names: printed name of each of its variables. */
tn_func *tn_func_number(const tn_func *f, tn_arena *arena, tn_pool *pool, const char ***out_names);

#endif
