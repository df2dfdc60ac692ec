#ifndef TN_RELAY_LIMITS_H
#define TN_RELAY_LIMITS_H
/* Limits that printer, parser, verifier and interpreter of Relay agree on. */

enum {
    TN_RELAY_MAX_NEST = 128, /* regions inside regions */
    TN_RELAY_MAX_RANK = 8    /* of a tensor that the interpreter computes with */
};
#define TN_SYMBOL_MIN 1 /* default range of a symbol, as tn_graph_symbol gives it */
#define TN_SYMBOL_MAX 2147483647

#endif
