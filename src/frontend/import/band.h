#ifndef TN_FRONTEND_IMPORT_BAND_H
#define TN_FRONTEND_IMPORT_BAND_H
/* Several neighbouring diagonals of matrices: [.., diagonals, longest], the highest first. */
#include "frontend/import/convert.h"

/* Diagonals of a band that are shorter than its rows end with their row (`right`) or begin with it. */
typedef struct imp_band {
    int64_t low, high; /* diagonals; above 0: to the right of the main one */
    bool right[2];     /* those below the main one; it and those above */
    const tn_expr *rows, *columns, *longest;
    tn_value height, width, length; /* the same, of the run */
} imp_band;

/* Says the matrix; a row is as long as the longest diagonal unless `longest` is known. Reported: there are no
 * such diagonals. */
void imp_band_begin(imp_node *c, imp_band *b, const tn_expr *rows, const tn_expr *columns);
void imp_band_in_run(imp_node *c, imp_band *b); /* where all three extents are known to fit */
/* The diagonals of x [.., rows, columns], and `rest` where they are shorter than their row. */
tn_value imp_band_of(imp_node *c, tn_value x, const imp_band *b, tn_value rest);
/* `rest`, [.., rows, columns] or a number, with the diagonals d in it. */
tn_value imp_with_band(imp_node *c, tn_value d, const imp_band *b, tn_value rest);

#endif
