#ifndef TN_OP_SIGNAL_SIGNAL_H
#define TN_OP_SIGNAL_SIGNAL_H
/* Signals: frames, Fourier transforms, n-grams. */
#include "op/op.h"

#define OP(id) extern const tn_op tn_op_##id;
#include "op/signal/ops.def"
#undef OP

/* clang-format off */
#define TN_FRAME_ATTRS(ATTR, s) \
    ATTR(s, DIMS, length, NULL, "elements of a frame") \
    ATTR(s, DIMS, step,   NULL, "from the start of one frame to the next")
TN_ATTR_STRUCT(tn_frame_attr, TN_FRAME_ATTRS);

#define TN_DFT_ATTRS(ATTR, s) \
    ATTR(s, BOOL, inverse,  "False", "the backward transform, divided by n") \
    ATTR(s, BOOL, onesided, "False", \
         "only frequencies up to n / 2: forward they are the result, backward the data, and the result is real")
TN_ATTR_STRUCT(tn_dft_attr, TN_DFT_ATTRS);

#define TN_NGRAM_ATTRS(ATTR, s) \
    ATTR(s, I64,  units,  NULL,     "elements of a result row") \
    ATTR(s, I64,  min,    "1",      "shortest n-gram that counts") \
    ATTR(s, I64,  max,    "1",      "longest n-gram that counts") \
    ATTR(s, I64,  skip,   "0",      "number of tokens allowed between those of an n-gram") \
    ATTR(s, INTS, counts, NULL,     "where n-grams of 1, 2, ... tokens begin in the pool") \
    ATTR(s, STR,  mode,   "\"TF\"", "counts (TF), weights of what occurs (IDF), or their sums (TFIDF)")
TN_ATTR_STRUCT(tn_ngram_attr, TN_NGRAM_ATTRS);
/* clang-format on */

#endif
