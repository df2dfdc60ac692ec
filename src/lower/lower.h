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

/* The passes, in order; each is one file and one row here, run by tn_lower and by `tenon opt`. */
typedef struct tn_lower_pass {
    const char *name, *doc;
    tn_status (*run)(tn_func *f, const struct tn_machine *m);
} tn_lower_pass;
extern const tn_lower_pass tn_lower_passes[];
extern const size_t tn_n_lower_passes;
const tn_lower_pass *tn_lower_pass_find(const char *name);

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

/* Lowers f in place through all passes and plans its scratch and work memory. */
TN_WARN_UNUSED tn_status tn_lower(tn_func *f, const struct tn_machine *m, tn_flat *out);
/* The same, telling `at` before and after each pass. */
typedef struct tn_lower_watch {
    void (*at)(void *user, const tn_lower_pass *pass, const tn_func *f, bool after);
    void *user;
} tn_lower_watch;
TN_WARN_UNUSED tn_status tn_lower_watched(tn_func *f, const struct tn_machine *m, const tn_lower_watch *watch,
                                          tn_flat *out);

#endif
