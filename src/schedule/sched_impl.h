#ifndef TN_SCHEDULE_SCHED_IMPL_H
#define TN_SCHEDULE_SCHED_IMPL_H
/* What the step files share: value table access and questions about nests, blocks and regions. Private to schedule/. */
#include "schedule/schedule.h"

typedef tn_verdict tn_step_fn(tn_sched *s, tn_step *t);
#define STEP(name, nin, narg, nout, random, doc) tn_step_fn tn_do_##name;
#include "schedule/sched.def"
#undef STEP

enum { TN_MAX_LOOPS = 64 };

/* The loop a value names; NULL if it was consumed, or is one of a call of a unit. */
tn_stmt *tn_sched_loop(const tn_sched *s, tn_ref v);
/* A new value for loop; its name is the step's k-th name or derived from the loop variable. */
tn_ref tn_sched_value(tn_sched *s, const tn_step *t, int k, tn_stmt *loop);
/* A new value that is a number; its name is the step's k-th, or v. */
tn_ref tn_sched_number(tn_sched *s, const tn_step *t, int k, int64_t number);
/* A schedule that goes on from s on a copy of its function, so that s stays as it is until *s = *out. */
void tn_sched_fork(const tn_sched *s, tn_sched *out);
void tn_sched_consume(tn_sched *s, const tn_stmt *loop); /* values naming loop become dead */
const tn_arg *tn_step_key(const tn_step *t, const char *key);
const char *tn_sched_var_name(tn_sched *s, const tn_expr *var);

/* The only statement of a body, or NULL. */
tn_stmt *tn_body_only(const tn_body *b);
/* Calls fn for every block inside root (root included) that stands in no other of them. */
void tn_each_block(tn_stmt *root, void (*fn)(tn_stmt *block, void *user), void *user);
/* Blocks inside body b that write / read buffer; at most max; returns how many there are. */
int tn_blocks_accessing(tn_body *b, uint32_t buffer, bool writes, int max, tn_stmt *out[]);
/* Does no statement outside of the block store to the buffer? */
bool tn_writes_alone(tn_sched *s, const tn_stmt *block, uint32_t buffer);
/* The buffer that a block's body stores to (its single target), or -1. */
int64_t tn_block_target(const tn_stmt *block);
/* The one store of a block's own list, whatever else the list does with memory that it declares itself; NULL: another
 * statement stores to other memory, too, or a block stands inside. */
const tn_stmt *tn_block_result(const tn_stmt *block);
tn_stmt *tn_decl_of(tn_func *f, uint32_t buffer); /* its BUFFER statement; NULL for parameters */

/* Is there a parallel loop inside? What the loop's list declares can then be no task's. */
bool tn_holds_tasks(tn_stmt *loop);
/* Does the term of a mask only keep an iteration of the block inside its domain? */
bool tn_is_domain(const tn_stmt *block, const tn_expr *term);
/* Does loop's variable feed a reduce (or spatial) iteration of block? */
bool tn_loop_feeds(tn_sched *s, const tn_stmt *loop, const tn_stmt *block, enum tn_iter_kind kind);
bool tn_block_scans(const tn_stmt *block); /* has an iteration whose turns run in order */
/* Adds `iter.var < iter.extent` to the block's mask for every iteration whose value is not proved below its extent. */
void tn_block_guard_domain(tn_sched *s, tn_stmt *block);
/* The same of a block whose iterations may also begin below 0, which is left out. */
void tn_block_guard_box(tn_sched *s, tn_stmt *block);
void tn_block_add_mask(tn_sched *s, tn_stmt *block, const tn_expr *cond);
void tn_block_require(tn_sched *s, tn_stmt *block,
                      const tn_expr *cond); /* the same, unless it is a term already */

/* The outermost loop (or the block itself) of the perfect nest around block, inside `home` (NULL: the function). */
tn_stmt *tn_nest_top(tn_stmt *block, const tn_stmt *home);
/* The statement of the function's own list that holds s. */
static inline tn_stmt *tn_top_of(tn_stmt *s)
{
    while (tn_stmt_parent(s))
        s = tn_stmt_parent(s);
    return s;
}
/* Number of the block's iteration whose variable e is; -1: of none. */
int tn_own_iteration(const tn_stmt *block, const tn_expr *e);
/* TN_DONE if each of its iterations is bound to a serial loop of its own, all in one perfect nest, in order. */
tn_verdict tn_plain_nest(tn_stmt *block, tn_stmt **out_top);
/* The outermost of the serial loops right around it that iterate it in order, a perfect nest, in whatever others; NULL:
 * they do not. */
tn_stmt *tn_own_loops(tn_stmt *block);
/* TN_DONE if the loops around it, whatever was done to them, are a perfect nest of it alone. */
tn_verdict tn_own_nest(tn_stmt *block, tn_stmt **out_top);
/* Such a nest anew, plain: a serial loop of each iteration. What named the old loops names nothing. Returns its top. */
tn_stmt *tn_nest_anew(tn_sched *s, tn_stmt *block);
/* Does a's statement of the function's own list stand before b's? */
bool tn_runs_before(tn_stmt *a, tn_stmt *b);
/* A block beside `block`: its spatial iterations with fresh variables, bound through copies of the loops of
 * its nest that feed them. `extra` further iterations come after them, to be filled by the caller. */
typedef struct tn_twin {
    tn_stmt *block, *top;
    int n;                              /* spatial iterations */
    const tn_expr *old[64], *fresh[64]; /* their variables: of the given block, of the new one */
} tn_twin;
/* Can it be made? Every loop of the nest but `skip` feeds spatial iterations alone or reduce iterations alone. */
bool tn_twin_legal(tn_sched *s, tn_stmt *block, const tn_stmt *home, const tn_stmt *skip);
void tn_twin_make(tn_sched *s, tn_stmt *block, const tn_stmt *home, const tn_stmt *skip, const char *name,
                  int extra, tn_twin *out);

/* Adds the parts of the condition that are not known where the block stands, simplified. */
void tn_block_need(tn_sched *s, tn_stmt *block, const tn_expr *cond);
/* What the block's mask says of the first turn of loops with these variables, over the loops around it; NULL: nothing.
 * Without it no other turn runs. false: parts of the mask that may hold in later turns alone are left out. */
bool tn_first_turn(tn_sched *s, const tn_stmt *block, int n, const tn_expr *const var[], const tn_expr **out);
/* e with the mask on all of its loads besides their own. */
const tn_expr *tn_guard_loads(tn_pool *p, const tn_expr *e, const tn_expr *mask);
/* Expression e of block, written over loop variables (iteration variables replaced by their values). */
const tn_expr *tn_block_over_loops(tn_sched *s, const tn_stmt *block, const tn_expr *e);
/* Loops strictly inside `outer` (NULL: the function) and around s, outermost first. */
int tn_loops_between(const tn_stmt *outer, const tn_stmt *s, int max, const tn_stmt *out[]);
/* Range of e (over loop variables) while the loops inside `outer` around `at` run: first value and number of values.
 * false: not affine, or the number is not constant. */
bool tn_region_1d(tn_sched *s, const tn_stmt *outer, const tn_stmt *at, const tn_expr *e,
                  const tn_expr **out_lo, const tn_expr **out_extent);

/* What one turn of `home` touches of a buffer, as a box: all accesses begin at lo, none is outside extent,
 * what is read was written in the same turn before. */
enum { TN_BOX_DIMS = 16 };
typedef struct tn_box {
    uint32_t ndim;
    const tn_expr *lo[TN_BOX_DIMS], *written[TN_BOX_DIMS]; /* over the loops around home's body */
    /* masked reads beyond what is written included; NULL: not known */
    const tn_expr *extent[TN_BOX_DIMS];
    bool any;
} tn_box;
bool tn_turn_box(tn_sched *s, const tn_stmt *home, uint32_t buffer,
                 tn_box *out); /* false: not so, or not affine */
/* The same of what is read alone, if nothing is written: the smallest box around all reads, masked ones included. */
bool tn_read_box(tn_sched *s, const tn_stmt *home, uint32_t buffer, tn_box *out);
/* May all of the buffer be read where `place`, a statement of the function's own list, begins, and does nobody write it
 * later? Only a parameter, or what one block has filled, is known to be defined. */
tn_verdict tn_contents_known(tn_sched *s, uint32_t buffer, const tn_stmt *place);
int tn_scope_named(const char *name); /* -1: none */
/* Is the box small enough for memory of that scope? */
tn_verdict tn_box_fits(const tn_box *box, tn_dtype t, int scope);
const tn_expr *const *tn_box_dims(tn_sched *s, const tn_box *box);
/* Accesses to `buffer` in home's body become accesses to `to`, whose first cell is the lower corner of the box. */
void tn_shift_accesses(tn_sched *s, tn_stmt *home, uint32_t buffer, uint32_t to, const tn_box *at);
/* The buffer, whose accesses are all in home's body, becomes one of each turn, as large as the box, in that scope. */
void tn_sink_buffer(tn_sched *s, tn_stmt *home, uint32_t buffer, int scope, const tn_box *box);
/* May the turns of a loop run in any order, or at once? */
tn_verdict tn_turns_independent(tn_sched *s, tn_stmt *loop);
/* Is there a dimension of the buffer of which each turn touches a part of its own, the same in all these loops? */
bool tn_loops_apart(tn_sched *s, int n, tn_stmt *const loop[], uint32_t buffer);
/* The block's one store is acc = acc op term, op associative, and term does not read acc: which operand acc is. -1: it
 * is not that. */
int tn_update_operand(const tn_stmt *block);
/* The terms of block's mask that are not over its iterations alone: conditions that splits put on loops. At
 * most max; -1: more. */
enum { TN_MAX_TERMS = 16 };
int tn_loop_terms(const tn_stmt *block, int max, const tn_expr *out[]);
/* Block `to`, made beside `from`, keeps to those of them that are on spatial loops (old variables become
 * fresh ones). */
void tn_take_loop_terms(tn_sched *s, const tn_stmt *from, tn_stmt *to, int n, const tn_expr *const old[],
                        const tn_expr *const fresh[]);

#endif
