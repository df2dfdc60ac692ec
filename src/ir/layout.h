#ifndef TN_IR_LAYOUT_H
#define TN_IR_LAYOUT_H
/* Physical layouts of logical tensors (docs/architecture.md).
 *
 * A layout is axes from outer to inner, each (logical dimension, factor). Factor 0 marks the outermost axis of a
 * dimension: its extent is ceil(padded extent / product of the dimension's other factors). It holds no extents, so it
 * interns: equal layouts of one ctx are one pointer; NULL is the identity (row-major). Cells outside the logical shape
 * (a dimension that is no multiple of its factors) are unspecified unless fill is a value; they may be read only then.
 *
 * Text: one capital per logical dimension in order of first appearance, else `logical:` in front: "NCHW16c" is
 * axes N, C/16, H, W, 16 of c. "NK32n" over (256, 64): N/32, K, 32 of n. Options follow in braces: "NCHW16c{fill=0}".
 * Letters are names only: layouts of one structure are one pointer, whose text is the first that was parsed. An axis
 * strides over the factors of its dimension to its right; the capital strides over all of them.
 */
#include "ir/expr.h"

typedef struct tn_layout_axis {
    uint8_t dim;
    uint32_t factor;
} tn_layout_axis;
enum tn_fill { TN_FILL_ANY, TN_FILL_VALUE };
typedef struct tn_layout {
    uint8_t ndim, naxis; /* logical dimensions; physical axes */
    uint8_t fill;        /* enum tn_fill */
    double fill_value;
    const tn_layout_axis *axis; /* naxis */
    const char *text;           /* canonical, interned */
} tn_layout;

/* NULL and ir-E010 on bad text; *out NULL for the identity ("NCHW"). */
tn_status tn_layout_parse(tn_ctx *ctx, const char *text, const tn_loc *loc, const tn_layout **out);
/* Physical extents out_dim[naxis] (ndim when layout is NULL) of logical dims. */
void tn_layout_dims(tn_pool *p, const tn_layout *l, int ndim, const tn_expr *const dim[],
                    const tn_expr **out_dim);
/* Physical indices of a logical index. */
void tn_layout_index(tn_pool *p, const tn_layout *l, int ndim, const tn_expr *const index[],
                     const tn_expr **out_index);
/* How far loads of logical dimension d may reach: its extent, and where a fill says what is there the cells
 * after it. */
const tn_expr *tn_layout_readable(tn_pool *p, const tn_layout *l, int d, const tn_expr *extent);
/* The layout of the other dimensions when those in `drop`, a set of bits, are left out: they have no factors. */
const tn_layout *tn_layout_without(tn_ctx *ctx, const tn_layout *l, uint64_t drop);
/* Logical dimensions, axes and the product of a dimension's factors are at most these. */
enum { TN_LAYOUT_MAX_DIMS = 26, TN_LAYOUT_MAX_AXES = 64, TN_LAYOUT_MAX_FACTOR = 1 << 24 };
static inline int tn_layout_naxis(const tn_layout *l, int ndim) { return l ? l->naxis : ndim; }

#endif
