/* The loop pipelines. Read from top to bottom; each line says what holds after it. A test checks the lists against what
 * the passes need (lower/passes.def). */
#include "target/target.h"

#define PIPELINE(name) {#name, name, sizeof name / sizeof *name}

/* For CPUs: vectors, register tiles, tails apart. Scheduled blocks become flat TIR. */
static const uint8_t cpu[] = {
    TN_LOWER_MakePhases, /* every top-level nest is a parallel loop: one phase, its iterations the tasks */
    TN_LOWER_LowerBlocks, /* blocks are guarded statements; stores to registers are unmasked, their loads masked */
    TN_LOWER_Simplify,       /* index arithmetic, decided conditions, loops of one iteration */
    TN_LOWER_TightenLoops,   /* conditions stand outside loops they do not depend on, or are loop bounds */
    TN_LOWER_PartitionTail,  /* full tiles and turns have a copy of the body without conditions */
    TN_LOWER_Unswitch,       /* a mask that all lanes share is an IF around the vector loop */
    TN_LOWER_JoinSteps,      /* a loop over steps does the work of phases beside it, too */
    TN_LOWER_Flatten,        /* layouts applied; every buffer is one-dimensional */
    TN_LOWER_Simplify,       /* so is the arithmetic of its offsets */
    TN_LOWER_Tensors,        /* nests that no unit does are lanes and unrolled loops */
    TN_LOWER_Unroll,         /* unrolled loops are straight lines */
    TN_LOWER_Vectorize,      /* vector loops are vector expressions: from here on the function is flat */
    TN_LOWER_Simplify,       /* and so are offsets of lanes */
    TN_LOWER_LoadStrided,    /* lanes a short stride apart are loads in a row and shuffles */
    TN_LOWER_TransposeTiles, /* scatters beside each other are contiguous stores of a transposed tile */
    TN_LOWER_Registers,      /* register buffers are indexed by constants, one vector an element */
    TN_LOWER_ChunkSums,      /* long sums are added up in chunks (never in strict functions) */
    TN_LOWER_LowerIntrin,    /* exp, tanh ... are their polynomials */
    TN_LOWER_LowerSmall,     /* small floats are computed in float32, 2- and 4-bit integers in bytes */
    TN_LOWER_ContractFma, /* a*b + c is one rounding where the machine has it (never in strict functions) */
    TN_LOWER_NarrowLanes, /* masks of lanes compare int32 */
    TN_LOWER_ShareLoads,  /* what a straight line computes twice has a name */
    TN_LOWER_PlanMemory,  /* places in scratch and work memory */
};

const tn_pipeline tn_pipeline_cpu = PIPELINE(cpu);
