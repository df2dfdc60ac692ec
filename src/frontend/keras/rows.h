#ifndef TN_FRONTEND_KERAS_ROWS_H
#define TN_FRONTEND_KERAS_ROWS_H
/* Rows of the tables of ops_*.c: class, converter, Relay operator, variables, flags, layers inside. */
#include "frontend/keras/keras.h"

#define LAYER(class, convert, relay, variables, flags, inside) \
    {{class, 1, 0, -1, -1, convert, relay}, variables, flags, inside}
#define END_OF_ROWS {{0}, NULL, 0, NULL}

#endif
