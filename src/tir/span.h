#ifndef TN_TIR_SPAN_H
#define TN_TIR_SPAN_H
/* Intervals of integer expressions for the interpreter (span.c). */
#include "base/vec.h"
#include "tir/tir.h"

typedef struct span {
    int64_t lo, hi;
    bool safe;
} span; /* inclusive; floats: meaningless but for safe */

typedef struct spans {
    const tn_symbol_range *symbol; /* with their values */
    const int64_t *value;
    uint32_t n_symbol;
    tn_map memo; /* expression id -> index in at */
    tn_vec(span) at;
    tn_vec(const tn_expr *) todo;
} spans;

span span_limits(tn_dtype t); /* all values of t */
span spans_of(spans *c, const tn_expr *e);
void spans_set(spans *c, const tn_expr *e, span s); /* variables, when they become defined */
void spans_deinit(spans *c);
static inline bool span_is(span s, int64_t v) { return s.safe && s.lo == v && s.hi == v; }
static inline bool span_within(span s, int64_t lo, int64_t hi) { return s.lo >= lo && s.hi <= hi; }

#endif
