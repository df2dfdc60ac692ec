#ifndef TN_FRONTEND_KERAS_CATEGORY_H
#define TN_FRONTEND_KERAS_CATEGORY_H
/* Numbers of categories, and what layers make of them: ops_category.c and ops_text.c. */
#include "frontend/import/text.h"
#include "frontend/keras/keras.h"
#include "op/host/host.h"

/* Numbers of categories [..., n] as the mode says: themselves, or rows of one entry for each of `depth` (int, one_hot,
 * multi_hot, count, tf_idf). A number below 0 is of no category. weights: of tf_idf. */
void keras_encode(imp_node *c, tn_value at, int64_t depth, const char *mode, tn_dtype t, tn_value weights);
/* The type of rows: what the layer computes with. */
tn_dtype keras_encoded_type(imp_node *c);
/* v, which a host function made of x, one element of each: fixed extents are those of x. The extents of texts have no
 * names, but the first one is the same for all inputs, which the run checks. */
tn_value keras_shaped_like(imp_node *c, tn_value v, tn_value x);

typedef struct keras_vocabulary {
    /* given */
    bool texts;                      /* words are texts, else integers */
    bool masked;                     /* a word is the mask */
    bool whole;                      /* the words begin with those for the mask and for unknown ones */
    const char *mask, *oov;          /* of texts; NULL: none */
    int64_t mask_number, oov_number; /* of integers */
    int64_t n_oov;                   /* numbers for unknown words */
    /* read */
    int64_t n, first, all; /* words; the number of the first word that is no special one; all numbers */
    tn_value words;        /* a list of n */
    tn_value weights;      /* of tf_idf: one for each number */
} keras_vocabulary;

/* The words of the configuration or of the archive; false: reported. */
bool keras_read_vocabulary(imp_node *c, const char *mode, keras_vocabulary *v);
/* Numbers of what x says; below 0: of no category. */
tn_value keras_look_up(imp_node *c, const keras_vocabulary *v, tn_value x, const char *mode);

#endif
