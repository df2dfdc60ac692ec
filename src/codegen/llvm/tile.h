#ifndef TN_CODEGEN_LLVM_TILE_H
#define TN_CODEGEN_LLVM_TILE_H
/* What machines have to multiply tiles with: one struct for each kind, which tile.c calls. */
#include "codegen/llvm/llvmgen.h"
#include "tir/unit.h"

struct tn_l_tiling {
    uint32_t most_sums; /* accumulators that registers hold beside the factors of a product */
    /* Accumulator `sum` of the run (g->tiles): from memory, to memory, to zeros. */
    void (*load)(tn_lgen *g, uint32_t sum);
    void (*store)(tn_lgen *g, uint32_t sum);
    void (*clear)(tn_lgen *g, uint32_t sum);
    /* Adds the product of the nest by the intrinsic of that name. */
    void (*multiply)(tn_lgen *g, uint32_t sum, const tn_unit_nest *n, const char *call);
    void (*on)(tn_lgen *g), (*off)(tn_lgen *g); /* around a task; NULL: there is nothing to do */
};
extern const tn_l_tiling tn_l_amx, tn_l_neon;

#endif
