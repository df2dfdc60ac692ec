#ifndef TN_CLI_COMPARE_FIND_H
#define TN_CLI_COMPARE_FIND_H
/* The search for the first operator that differs: what its files share. */
#include "cli/compare.h"
#include "cli/compare_lines.h"
#include "tenon/tenon.h"

typedef struct names {
    uint32_t n;
    const char **at;
} names;

typedef struct finder {
    tn_compare *c;
    tenon *file[2], *cutter;        /* sessions: what is in the sides' files; parts of them */
    tn_lines *relay[2];             /* of files that are not ONNX; NULL: none */
    const tenon_file_info *info[2]; /* NULL: the side has no file to make parts of */
    const tenon_file_info *graph;   /* that is searched: A's, or B's where A has none */
    int own;                        /* the side that it is of */
    tn_values seen[2];              /* results of nodes */
    tn_values instead;              /* values that hide those of their names */
    uint32_t node;                  /* that differs first */
    bool *between;  /* of each node: it computes what the part needs, from values that are not shown */
    names in, out;  /* of the part */
    bool *constant; /* of each name in `in`: it becomes an initialiser (ONNX) */
    bool fixed;     /* inputs have the extents of the values (Relay) */
} finder;

int tn_names_add(names *x, const char *name); /* unless it is there; an enum tn_exit */

/* A's value of a name, B's where A does not show it. */
const tn_array *tn_finder_value(const finder *f, const char *name);
/* Chooses which of `in` become initialisers: those that archives cannot hold and, with `small`, whole numbers of a few
 * elements. Are there any? */
bool tn_finder_constants(finder *f, bool small);
/* Runs both sides with the part that computes `out` from `in` (NULL: the inputs of the files). They fail in silence. */
int tn_finder_run(finder *f, const names *in, const names *out, const tn_values *values, tn_values value[2]);
bool tn_finder_differs(const finder *f, const tn_values value[2], uint32_t n, const char *const name[]);

/* Where the node that differs first is an If or a Loop: searches the branch that was taken, or the body in
 * the iteration after which results begin to differ. Has an operator inside been found, told and written?
 * (compare_body.c) */
bool tn_finder_inside(finder *f);

#endif
