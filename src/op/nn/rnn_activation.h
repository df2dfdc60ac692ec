#ifndef TN_OP_NN_RNN_ACTIVATION_H
#define TN_OP_NN_RNN_ACTIVATION_H
/* Activations of recurrent cells: what the attribute of nn.recurrent names, with its parameters. */
#include "ir/expr.h"

typedef struct rnn_activation {
    const struct rnn_function *of;
    double alpha, beta; /* as given, or the function's own */
} rnn_activation;

/* The next "name", "name:alpha" or "name:alpha:beta" of *text; false: it is none. */
bool rnn_activation_read(const char **text, rnn_activation *out);
const tn_expr *rnn_activation_of(tn_pool *p, const rnn_activation *a, const tn_expr *x);

#endif
