#ifndef TN_TUNE_TILINGS_H
#define TN_TUNE_TILINGS_H
/* What lines that MetaSchedule of TVM wrote into database_tuning_record.json say of tile sizes. Such a line is
 *
 *     [0, [[[["Annotate", ["b0", "\"SSRSRS\""], ["meta_schedule.tiling_structure"], []],
 *            ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
 *            ["SamplePerfectTile", ["l1"], [4, 64], ["v4", "v5", "v6", "v7"]], …], [[2, [8, 1, 2, 4]], …]],
 *          [1.2e-05], {"kind": "llvm", …}, [["TENSOR", "float32", [64, 64]], …]]]
 *
 * the line of its workload, steps (kind, operands, attributes, results), decisions of steps by their numbers, seconds,
 * target and arguments. The structure says how many levels a result axis has (S) and a reduction (R); a loop of a block
 * that has one is cut by one SamplePerfectTile, whose decision is the factors, so their product is the extent. Where
 * the innermost iterations are those of a unit of the machine, Split has cut them off by numbers, and Blockize has made
 * one block of them:
 *
 *     ["Split", ["l5", "None", 4], [1, 0], ["l6", "l7"]], …, ["Blockize", ["l9"], [true], ["b15"]],
 *     ["GetLoops", ["b15"], [], ["l16", "l17", "l18"]], ["SamplePerfectTile", ["l16"], …], …
 *
 * Then the product of the factors and of what the unit takes is the extent. A sum in parts, by the rule AddRFactor, has
 * no structure; its reduction is one loop, which a SamplePerfectTile cuts in two, and RFactor names one of these:
 *
 *     ["Fuse", ["l2", "l3"], [1], ["l4"]], ["SamplePerfectTile", ["l4"], [2, 64], ["v5", "v6"]],
 *     ["Split", ["l4", "v5", "v6"], [1, 0], ["l7", "l8"]], ["RFactor", ["l7"], [0], ["b9"]]
 *
 * Of the workload's module, which is an object of TVM's own, nothing is read. */
#include "base/wire/json.h"
#include "schedule/tiling.h"

enum { TN_MOST_TILINGS = 4 };                 /* of a line */
#define TN_NO_WORKLOAD ((uint32_t)UINT32_MAX) /* it is none of MetaSchedule's */

/* The lines of a file that are of one workload. */
typedef struct tn_tvm_lines {
    const char *path;        /* NULL: not known */
    uint32_t workload;       /* its line, or TN_NO_WORKLOAD */
    uint32_t line, n;        /* the number of the first; how many */
    double seconds;          /* of the fastest with tile sizes */
    uint32_t n_tiling;       /* of that one; 0: none has any */
    const tn_tiling *tiling; /* in an arena */
    bool fits;               /* for who looks for tasks: one of them does */
} tn_tvm_lines;

/* The workload of a line without a record of Tenon. */
uint32_t tn_tvm_line_workload(const tn_json *line);
/* What it has, if it is faster than what x has. NULL, or what is damaged. */
const char *tn_tvm_line_read(const tn_json *line, tn_arena *arena, tn_tvm_lines *x);

#endif
