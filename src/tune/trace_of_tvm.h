#ifndef TN_TUNE_TRACE_OF_TVM_H
#define TN_TUNE_TRACE_OF_TVM_H
/* A trace that MetaSchedule of TVM wrote: steps and decisions, and the loops around a block while steps change them. A
 * step is [kind, operands, attributes, results]; whoever asks for what is not there gets NULL. Private to tilings.c. */
#include "base/wire/json.h"
#include "schedule/tiling.h"

enum { STEP_KIND, STEP_IN, STEP_ATTRIBUTES, STEP_OUT, STEP_PARTS };

typedef struct tvm_trace {
    const tn_json *steps, *decisions;
} tvm_trace;

const tn_json *trace_item(const tn_json *list, uint32_t i);
uint32_t trace_length(const tn_json *list);
bool trace_same_text(const tn_json *a, const tn_json *b);
/* NULL, or what is damaged. All below take what is not. */
const char *trace_check(const tvm_trace *t);

/* A part of a step; NULL: there is no such step. */
const tn_json *trace_part(const tvm_trace *t, uint32_t step, uint32_t part);
bool trace_is_kind(const tvm_trace *t, uint32_t step, const char *kind);
/* The first step of that kind, from `first` on, whose first operand is that; steps->n: none. */
uint32_t trace_find_step(const tvm_trace *t, uint32_t first, const char *kind, const tn_json *operand);
/* The step before `end` that has the result, the last of them; steps->n: none. */
uint32_t trace_find_source(const tvm_trace *t, uint32_t end, const tn_json *result);
const tn_json *trace_decision(const tvm_trace *t, uint32_t step);

/* The loops that tile sizes are of: those around a block, or around what Blockize made of its innermost ones, which a
 * unit of the machine takes. */
typedef struct tvm_nest {
    uint32_t n;                   /* of the block */
    uint32_t at;                  /* the step that names the loops below; what cuts them follows it */
    uint32_t n_outer;             /* outside of the unit: one for each of the n */
    uint32_t of[TN_TILING_AXES];  /* which loop of the block each of them is of */
    int64_t unit[TN_TILING_AXES]; /* of each loop of the block, iterations that the unit takes; 1: none */
} tvm_nest;
/* Those of the block, from `first` on. False: there are none, or nobody can tell which is which. */
bool trace_read_nest(const tvm_trace *t, uint32_t first, const tn_json *block, tvm_nest *out);

#endif
