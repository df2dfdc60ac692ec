#ifndef TN_SCHEDULE_RULES_DERIVE_H
#define TN_SCHEDULE_RULES_DERIVE_H
/* What the built-in rules share: steps written as lines of trace text, questions about a function's blocks, and the
 * model of a register tile. Private to schedule/rules/. */
#include "schedule/sched_impl.h"

#include "tir/unit.h"

/* A derivation in progress. After a refusal every further step is skipped and the verdict stays. */
typedef struct derive {
    tn_sched *s;
    const tn_machine *m;
    tn_verdict v;
} derive;

/* One line of trace text, formatted; the schedule's own language, so a rule reads like the trace it makes. */
void dv_do(derive *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a step whose refusal is no reason to give up; true if it was done. */
bool dv_try(derive *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes axes of extent 1 out of the way of rules that ask for the innermost axis. */
static inline void dv_squeeze(derive *d) { (void)dv_try(d, "squeeze"); }
/* The trace's first line: which rule, what it predicts. */
void dv_comment(derive *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* in the schedule's arena */
const char *dv_text(derive *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dv_refuse(derive *d, tn_verdict v);
static inline bool dv_ok(const derive *d) { return d->v == TN_DONE; }
/* Names the loops around a block: words separated by blanks, `_` for those not needed. */
void dv_loops(derive *d, const char *block, const char *const name[], int n);
/* Names the last n of them. */
void dv_last_loops(derive *d, const char *block, const char *names, int n);
const char *dv_blanks(derive *d, int count); /* so many times "_ " */

/* ---- picks (pick.c, schedule/space.h) ---- */
enum { MAX_CANDIDATES = 64 };
/* The value of pick `block.role`; the first candidate is the default. Refuses what is no candidate. */
int64_t dv_pick(derive *d, const char *block, const char *role, int n, const int64_t candidate[]);
/* The first, or least, twice that, ... up to most; least > 0. */
int64_t dv_pick_power(derive *d, const char *block, const char *role, int64_t first, int64_t least,
                      int64_t most);
/* yes or no; `first` is the default. */
bool dv_pick_flag(derive *d, const char *block, const char *role, bool first);
/* Adds a value to n candidates unless it is there: how many there are now. */
int dv_add_candidate(int n, int64_t candidate[MAX_CANDIDATES], int64_t value);

/* " tail=mask" unless the factor divides the extent (-1: symbolic). */
static inline const char *dv_tail(int64_t extent, int64_t factor)
{
    return factor == 1 || (extent >= 0 && extent % factor == 0) ? "" : " tail=mask";
}

/* ---- blocks ---- */
enum { RULE_MAX_BLOCKS = 32 };
int rule_blocks(const tn_func *f, tn_stmt *out[RULE_MAX_BLOCKS]); /* in program order; -1: too many */
/* pattern.c: what a block computes, by how it reads memory */
enum rule_pattern { RULE_OTHER, RULE_PRODUCT, RULE_CONVOLUTION, RULE_WINDOW, RULE_WEIGHTED_WINDOW };
enum rule_pattern rule_pattern(const tn_stmt *block);
/* The only block of one of the patterns, a set of bits 1 << pattern; NULL: none, or several. */
tn_stmt *rule_only(const tn_func *f, unsigned patterns);
bool rule_reduces(const tn_stmt *block); /* has a reduce iteration */
int rule_n_spatial(const tn_stmt *block);
/* Every iteration is bound to a loop of its own, all in one perfect nest in order: how te makes blocks. */
bool rule_own_nest(tn_stmt *block);
bool rule_plain_nest(tn_stmt *block);  /* such a nest without a scan */
int64_t rule_extent(const tn_expr *e); /* constant extent, or -1 */
enum { LINE_BYTES = 64 };              /* of a cache */
/* elements of t in one vector register; 1: no vectors */
uint16_t rule_lanes(const tn_machine *m, tn_dtype t);
/* About how many instructions the value of the block's only store takes in so many lanes, without index arithmetic; 0:
 * there is no such store. */
int64_t rule_instructions(const tn_machine *m, const tn_stmt *block, uint16_t lanes);
/* The buffer a block stores to. */
const tn_buffer *rule_target(const tn_func *f, const tn_stmt *block);
/* The logical dimension that is innermost in memory, leaving out those of extent 1. */
int rule_innermost_dim(const tn_buffer *b);
/* The numbers that quotients and remainders of var in e are of: their least common multiple, 1 where there
 * are none. Two values of var that are a multiple of it apart are at the same place in all of them. 0: too
 * large. */
int64_t rule_period(const tn_expr *e, const tn_expr *var);
/* Are so many neighbours along var, from a multiple of `lanes` on, beside each other in memory in each load of e that
 * var is in? */
bool rule_loads_runs(const tn_func *f, const tn_expr *e, const tn_expr *var, int64_t lanes);
/* How many of the block's iterations the load depends on. */
int rule_n_used(const tn_expr *load, const tn_stmt *block);
/* Is e var plus what does not depend on it? */
bool rule_steps_by_one(const tn_func *f, const tn_expr *e, const tn_expr *var);
/* Coefficient of var in e, e without it in *rest; false: not linear, or not constant. */
bool rule_coefficient(const tn_func *f, const tn_expr *e, const tn_expr *var, int64_t *coef,
                      const tn_expr **rest);
/* Factor of the innermost physical axis if that axis belongs to logical dimension `dim`: 0: the whole dimension is
 * innermost (identity layout), -1: another dimension is. */
int64_t rule_inner_factor(const tn_buffer *b, int dim);
/* The factor of dimension `dim` where its elements lie beside each other in groups of `each` of dimension `by` (the
 * innermost axis): 16 for dim O, by I, each 4 of OIHW4i16o4i. 0: not so. */
int64_t rule_grouped_factor(const tn_buffer *b, int dim, int by, int64_t each);
/* How many elements of dimension `dim` lie beside each other in memory, innermost; 1: the layout does not say. */
int64_t rule_group(const tn_buffer *b, int dim);
/* Lays a constant out in panels of `width` elements of dimension dim, which moves in front of dimension `outer`: those
 * behind that lie in between (contract_layout.c). */
void rule_panels(derive *d, const char *buffer, int ndim, int outer, int dim, int64_t width);
/* The unit that adds groups of `group` products for the block, whose operand `weight` has the columns; NULL: the
 * machine has none for its types. */
const char *rule_lane_unit(const derive *d, const tn_stmt *block, const char *weight, int64_t group);
/* The unit of tiles for them; NULL: none. */
const tn_unit_row *rule_tile_unit(const derive *d, const tn_stmt *block, const char *weight, int64_t group);
/* What is computed of an accumulator: a block for each result of the function. */
typedef struct epilogue {
    const char *block[RULE_MAX_BLOCKS];
    int n; /* 0: refused */
} epilogue;
/* Makes the epilogue of `block` one block for each result: inlines what lies between, or copies the accumulator out if
 * the block writes a result itself. */
epilogue rule_epilogue(derive *d, const char *block);
/* Calls fn for each load of the block's body that is not of its own target. */
void rule_loads(const tn_stmt *block, void (*fn)(const tn_expr *load, void *user), void *user);

/* Are operands of the block of another type than its target? */
bool rule_converts(const tn_func *f, const tn_stmt *block);

/* ---- model ---- */
/* One step of a reduction over a register tile. */
typedef struct rule_step {
    double fma,
        loads; /* multiply-adds (and what else takes their ports), loads of a vector or of one element */
    int lines; /* of the cache, that it reads */
    int64_t row_bytes; /* between rows whose lines they are, 0: near each other */
    double l2_bytes;   /* of them, that come from L2 */
} rule_step;
/* Does a multiply-add a cycle leave time for all loads of L1? */
bool rule_hides_loads(const tn_machine *m);
double rule_step_cycles(const tn_machine *m, const rule_step *s,
                        const char **bound); /* bound: what limits it */
typedef struct tile {
    int rows, nv;      /* accumulators: rows x nv vectors */
    int64_t tasks;     /* tiles to be computed (rows unknown: per tile of rows) */
    double efficiency; /* of the FMA peak */
    const char *bound; /* what limits it */
    int chains;    /* parts of the reduction that run beside each other, each with accumulators of its own */
    bool converts; /* as of its product */
} tile;
/* rows x columns outputs over a reduction of `depth` (-1: not known, many), where panels of columns must be a multiple
 * or a divisor of `panel` (0: free) and rows lie row_bytes apart (0: near each other). */
typedef struct product {
    uint16_t lanes;
    int64_t rows, columns, depth, panel, row_bytes;
    bool converts; /* operands are made the accumulators' type, by lanes */
    bool beside;   /* the vectors of a row of the tile lie beside each other in memory */
    bool passes;   /* each tile of rows reads the weights of all columns, before the next one does */
    bool local;    /* the weights are in memory of the task, which reads them for all its rows */
} product;
/* The best register tile for a product; of_rows > 0: of those with so many rows. Efficiency 0: there is none. */
tile rule_tile(const tn_machine *m, const product *p, int of_rows);
enum { RULE_MAX_NV = 8 };
/* What a tile of so many rows and vectors does for a product; efficiency 0: it cannot be. */
tile rule_tile_of(const tn_machine *m, const product *p, int rows, int nv);
/* How many vector registers a rule fills. Code generators need one more than the count says: where all are taken, they
 * spill an accumulator in the inner loop (measured: 4 x 3 vectors in 16 registers run at 40 % of 3 x 3). */
int rule_registers(const tn_machine *m);
/* Are there registers for it, with none left? */
bool rule_tile_fits(const tn_machine *m, int rows, int nv);
/* The picks of a tile, its rows, in that role, and `vectors`, whose default is `first`; whole > 0: rows divide it. */
tile rule_pick_tile(derive *d, const char *block, const char *role, const product *p, const tile *first,
                    int64_t whole);
/* One row of few vectors waits for its multiply-adds: gives it chains, where the depth is worth them. */
void rule_chains(const tn_machine *m, int64_t depth, tile *t);
void rule_set_chains(const tn_machine *m, int chains, tile *t);

/* ---- the rules ---- */
/* What tiles of 1, 2, ... rows do for a product whose number of rows is symbolic (rows.c). */
enum { RULE_TILE_ROWS = 32 };
typedef struct rule_rows {
    const char *block;                     /* the product, or another sum */
    const tn_expr *rows;                   /* how many, over symbols */
    int many;                              /* rows of the tile for very many */
    double efficiency[RULE_TILE_ROWS + 1]; /* rows a unit of time, for very many; 0: there is no such tile */
} rule_rows;
bool rule_gemm_rows(derive *d, rule_rows *out); /* false: not such a product */
bool rule_contract_rows(derive *d, rule_rows *out);
bool rule_jam_rows(derive *d, rule_rows *out);
/* Schedules one nest without a reduction; names of its loops begin with prefix. Does it transpose tiles? */
bool rule_elementwise_nest(derive *d, const char *name, const char *prefix);
/* Schedules block number `at` of those, and what belongs to its rows, if it is a reduction: the number of the
 * first that is left. *comment: how, unless something is there. */
int rule_reduce_block(derive *d, int at, int n, const char *const name[], const char **comment);
/* Cuts the longest loop of a sum into parts, whose results a block before it has: its name. NULL: too little to do, or
 * symbolic; the sum stays as it is. */
const char *rule_cut_sum(derive *d, const char *block, const char *prefix);
/* The same along a last axis whose extent only the run knows: parts are the lanes of vectors, side by side. */
const char *rule_columns_of_sum(derive *d, const char *block, const char *prefix);
/* A sum as it is, in one task: that of the parts. */
void rule_sum_serially(derive *d, const char *block, const char *prefix);
/* Vectors of a block without a reduction in its loops inside of the n_outer around it: along iteration `vector`, along
 * contiguous memory, or none. Loops are unrolled where it reads registers. */
enum { RULE_CONTIGUOUS = -1, RULE_SCALARS = -2 };
void rule_nest_in(derive *d, const char *block, const char *prefix, int n_outer, int vector);
/* The nests before `block`, each on its own; but that of block `but`, unless NULL. */
void rule_others(derive *d, const char *block, const char *but);
bool rule_gemm_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_gemm(tn_sched *s, const tn_machine *m);
bool rule_conv_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_conv(tn_sched *s, const tn_machine *m);
bool rule_window_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_window(tn_sched *s, const tn_machine *m);
bool rule_contract_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_contract(tn_sched *s, const tn_machine *m);
bool rule_reduce_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_reduce(tn_sched *s, const tn_machine *m);
bool rule_recurrence_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_recurrence(tn_sched *s, const tn_machine *m);
bool rule_elementwise_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_elementwise(tn_sched *s, const tn_machine *m);
bool rule_sums_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_sums(tn_sched *s, const tn_machine *m);
bool rule_scan_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_scan(tn_sched *s, const tn_machine *m);
bool rule_jam_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_jam(tn_sched *s, const tn_machine *m);
/* Makes rows of a list of statements lanes, where all take the same steps and lanes pay (irregular_lanes.c). */
void rule_list_lanes(derive *d, const char *block, const char *prefix);
bool rule_irregular_matches(const tn_func *f, const tn_machine *m);
tn_verdict rule_irregular(tn_sched *s, const tn_machine *m);
/* Sketches (sketch.c): is there a reduction that reads the same several times or is over a window; or are there only
 * others? */
bool rule_sketch_shares(const tn_func *f, const tn_machine *m);
bool rule_sketch_others(const tn_func *f, const tn_machine *m);
tn_verdict rule_sketch(tn_sched *s, const tn_machine *m);

#endif
