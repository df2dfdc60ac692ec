#ifndef TN_FRONTEND_TFLITE_LSTM_H
#define TN_FRONTEND_TFLITE_LSTM_H
/* Recurrent layers: what their forms of float32 and of integers share. */
#include "frontend/import/scan.h"
#include "frontend/tflite/quant.h"

typedef struct tfl_sequence {
    bool steps, time_major; /* data have a dimension of steps, which is the first one */
} tfl_sequence;

/* Operands by their numbers; those of four gates follow one another: input, forget, cell, output. 0: there are none. */
typedef struct tfl_lstm {
    bool coupled; /* the input gate is 1 - the forget gate, and has no weights */
    bool backwards;
    uint32_t kernel, recurrent_at, peep, bias, projection, norm, aux; /* peep: input, forget, output */
    uint32_t state[2];                                                /* the result, the cell */
    int64_t units, results, function;
    double cell_clip, projection_clip;
    tn_value recurrent; /* all gates */
} tfl_lstm;

tn_value tfl_plus(imp_node *c, tn_value a, tn_value b);
tn_value tfl_times(imp_node *c, tn_value a, tn_value b);
/* Operand i: real numbers, or integers as they are. */
tn_value tfl_data(imp_node *c, uint32_t i);
tn_value tfl_steps(imp_node *c, tn_value x, const tfl_sequence *q);   /* [batch, steps, n] of any form */
tn_value tfl_in_form(imp_node *c, tn_value y, const tfl_sequence *q); /* back */
/* The state [batch, units] that operand i is; x: the data. */
tn_value tfl_state_of(imp_node *c, uint32_t i, tn_value x, int64_t units);

/* ---- normalised gates of integers (norm16.c) ---- */
typedef struct tfl_norm16 {
    tfl_factor factor;
    int64_t units, guard; /* guard: what stands for a variance below 1 */
} tfl_norm16;
/* scale: of the coefficients. */
tfl_norm16 tfl_norm16_of(float scale, int64_t units);
/* v int32 [batch, units] in the range of 16 bits, and the result; coefficients int16 and biases int32 [units]. */
tn_value tfl_normalised16(imp_node *c, tn_value v, tn_value weight, tn_value bias, const tfl_norm16 *n);

/* ---- integers (integer_lstm.c) ---- */
/* x int8 [batch, steps, n]. */
tn_value tfl_integer_lstm(imp_node *c, tfl_lstm *l, tn_value x);
/* SVDF: int16 [batch, filters] of data int8; the result of sums int32. */
tn_value tfl_svdf_features(imp_node *c, tn_value x, tn_value weight);
tn_value tfl_svdf_result(imp_node *c, tn_value sums, int64_t function);

#endif
