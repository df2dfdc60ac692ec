#ifndef TN_LOWER_LOWER_H
#define TN_LOWER_LOWER_H
/* Loop passes: from a scheduled block-stage function to a flat one that every backend prints.
 *
 * Flat form (docs/tir.md): the function's top level holds BUFFER declarations of work memory, CHECKs and parallel FORs;
 * each parallel FOR is one phase of the kernel, its variable the task number. Buffers are 1-D with layouts applied,
 * loops serial, vectors and fma explicit, register buffers indexed by constants only. LOCAL buffers have their place in
 * the worker's scratch, GLOBAL non-parameters in the call's work memory.
 */
#include "machine/machine.h"
#include "tir/tir.h"
#include "tenon/abi.h"

enum tn_lower_fact {
#define FACT(id, doc) TN_FACT_##id,
#include "lower/facts.def"
#undef FACT
    TN_N_FACTS
};
extern const char *const tn_fact_docs[TN_N_FACTS];
/* What hold at the end of a pipeline, as a set of bits: all that code generators rely on. */
enum { TN_FACTS_FLAT = ((1u << TN_N_FACTS) - 1) & ~(1u << TN_FACT_SIMPLE) };

/* The passes: each is one file and one row of passes.def; `tenon opt` runs any of them. Facts are sets of bits. */
typedef struct tn_lower_pass {
    const char *name, *doc;
    tn_status (*run)(tn_func *f, const struct tn_machine *m);
    uint32_t needs, gives, keeps;
} tn_lower_pass;
enum tn_lower_pass_id {
#define PASS(name, ...) TN_LOWER_##name,
#include "lower/passes.def"
#undef PASS
    TN_N_LOWER_PASSES
};
extern const tn_lower_pass tn_lower_passes[TN_N_LOWER_PASSES];
const tn_lower_pass *tn_lower_pass_find(const char *name);
/* It works on functions that are flat, too. */
bool tn_lower_pass_takes_flat(const tn_lower_pass *pass);

/* Passes in the order in which they run; target/ has the lists. */
typedef struct tn_pipeline {
    const char *name;
    const uint8_t *pass; /* enum tn_lower_pass_id */
    size_t n;
} tn_pipeline;
/* Does every pass find what it needs, and do the facts `wanted` hold at the end? Returns the place of the first pass
 * that lacks something, p->n where what is wanted is missing; *out_missing: what, or 0. */
size_t tn_pipeline_check(const tn_pipeline *p, uint32_t wanted, uint32_t *out_missing);
/* The facts that f shows not to hold. SIMPLE, and whether scratch has places, are not seen. Cost: linear. */
uint32_t tn_facts_broken(const tn_func *f);

/* One way to run a kernel. */
typedef struct tn_flat {
    tn_func *func;             /* flat stage */
    const tn_expr *guard;      /* index, over the function's symbols: taken if non-zero; NULL: always */
    const tn_expr *work_bytes; /* index over symbols */
    uint64_t scratch_bytes;
    uint32_t n_overlap;
    const tn_overlap *overlap; /* outputs that lie over inputs: code may not take them to be apart */
} tn_flat;

/* May an output of flat f lie over an input, byte for byte, each given by its number? Then the function computes the
 * same as with memory of its own, its phases' tasks in any order (in_place.c), whatever other outputs lie over other
 * inputs. Code for such a call must not be told that the two do not overlap. */
bool tn_flat_in_place(tn_func *f, uint32_t input, uint32_t output);

/* Lowers f in place through the passes and plans its scratch and work memory. */
TN_WARN_UNUSED tn_status tn_lower(tn_func *f, const struct tn_machine *m, const tn_pipeline *passes,
                                  tn_flat *out);
/* The same, telling `at` before and after each pass. */
typedef struct tn_lower_watch {
    void (*at)(void *user, const tn_lower_pass *pass, const tn_func *f, bool after);
    void *user;
} tn_lower_watch;
TN_WARN_UNUSED tn_status tn_lower_watched(tn_func *f, const struct tn_machine *m, const tn_pipeline *passes,
                                          const tn_lower_watch *watch, tn_flat *out);

#endif
