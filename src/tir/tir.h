#ifndef TN_TIR_TIR_H
#define TN_TIR_TIR_H
/* TIR: loops, blocks and buffers (docs/tir.md has semantics and grammar).
 *
 * A function owns one mutable statement tree (with parent links) in its arena and three tables: buffers, variables,
 * symbols. Expressions are interned and refer to table entries by number, so a clone copies tree and tables and shares
 * every expression. Two stages use the same structures: *blocks* (as te makes them and schedules edit them) and *flat*
 * (after lower/: no blocks, 1-D buffers, explicit vectors, one function per phase). Which statement is legal where is
 * in stmt.def; the verifier checks it.
 */
#include "arith/arith.h"
#include "ir/layout.h"

enum tn_stage { TN_STAGE_BLOCKS = 1, TN_STAGE_FLAT = 2 };
enum tn_sk {
#define STMT(kind, stages, name) TN_S_##kind,
#include "tir/stmt.def"
#undef STMT
    TN_S_COUNT
};

enum tn_scope {                  /* where a buffer lives */
                TN_SCOPE_GLOBAL, /* parameter, or work memory of the call (declared outside every parallel loop) */
                TN_SCOPE_LOCAL, /* scratch of one task, in memory */
                /* constant indices after unrolling: one SSA variable an element, or the verifier refuses */
                TN_SCOPE_REGISTER,
                TN_SCOPE_TILE, /* matrix accumulator tile */
                TN_SCOPE_COUNT
};
extern const char *const tn_scope_names[TN_SCOPE_COUNT]; /* "global" "local" "register" "tile" */

typedef struct tn_buffer {
    const char *name; /* unique among the function's buffers */
    tn_dtype dtype;   /* element; lanes > 1 only in flat register buffers */
    uint16_t ndim;
    const tn_expr *const *dim;  /* logical extents, index; flat: one */
    const tn_layout *layout;    /* NULL identity; flat: NULL */
    uint8_t scope;              /* enum tn_scope */
    int32_t param;              /* position among parameters, or -1 */
    bool written;               /* parameter that is an output */
    bool constant;              /* input whose bytes whoever builds the kernel knows */
    bool laid_out;              /* constant that a schedule has given its layout; */
    const tn_layout *given;     /* the caller has it in this one, of the same dimensions */
    uint32_t slack;             /* elements past the end that may be read (value unspecified) */
    uint64_t scratch_offset;    /* LOCAL, flat: bytes in the worker's scratch */
    const tn_expr *work_offset; /* GLOBAL non-parameter, flat: bytes in the call's work memory */
} tn_buffer;

typedef struct tn_var_info {
    const char *name;
    tn_dtype dtype;
} tn_var_info;
typedef struct tn_symbol_range {
    const char *name;
    int64_t min, max;
} tn_symbol_range;

enum tn_loop_kind {
    TN_LOOP_SERIAL,
    TN_LOOP_PARALLEL,
    TN_LOOP_VECTOR,
    TN_LOOP_UNROLLED,
    TN_LOOP_TENSOR, /* of a nest that is one call of a unit (unit.h) */
    TN_LOOP_COUNT
};
extern const char *const tn_loop_names[TN_LOOP_COUNT]; /* "" "parallel" "vector" "unrolled" "tensor" */
enum tn_iter_kind { TN_ITER_SPATIAL, TN_ITER_REDUCE, TN_ITER_SCAN /* in order */ };

typedef struct tn_stmt tn_stmt;
typedef struct tn_body {
    tn_stmt *first, *last, *owner;
} tn_body; /* a statement list; owner NULL: the function */

typedef struct tn_iter {
    const tn_expr *var;    /* VAR of the block's own iteration variable, index */
    const tn_expr *extent; /* its domain is [0, extent) */
    const tn_expr *value;  /* what it is bound to, over loop variables around the block */
    uint8_t kind;          /* enum tn_iter_kind */
} tn_iter;

struct tn_stmt {
    uint8_t kind; /* enum tn_sk */
    tn_stmt *prev, *next;
    tn_body *list; /* the list it is in */
    union {
        struct {
            const tn_expr *var, *extent;
            uint8_t kind, tensor; /* enum tn_loop_kind; enum tn_unit_id, 0 but in TN_LOOP_TENSOR */
            tn_body body;
        } loop; /* var from 0; extent >= 0 */
        struct {
            const char *name;   /* unique in the function: schedules call blocks by it */
            const char *tag;    /* operator class ("conv2d") or "", for readers; or TN_TAG_NORMAL (unit.h) */
            const char *source; /* model nodes, "Gemm_0, Relu_1", or "" */
            uint32_t n_iter;
            tn_iter *iter;
            const tn_expr
                *mask;    /* bool over iteration and loop variables: where the block runs; NULL: always */
            tn_body init; /* runs where all reduce iterations are 0 and every spatial one is in its domain,
                                     * whatever the mask says; may be empty */
            tn_body body;
        } block;
        struct {
            uint32_t buffer, n_index;
            const tn_expr **index, *value, *mask;
        } store; /* mask NULL: always */
        struct {
            const tn_expr *cond;
            tn_body then, other;
        } cond; /* IF */
        struct {
            const tn_expr *var, *value;
        } let; /* var holds value for the rest of the list */
        struct {
            uint32_t buffer;
        } decl; /* BUFFER: for the rest of the list, no contents */
        struct {
            const tn_expr *cond;
            const char *text;
        } check; /* fails the call with text unless cond */
        /* Asks for the line of memory with this element of a global buffer; it may lie outside of the buffer. */
        struct {
            uint32_t buffer, n_index;
            const tn_expr **index;
        } prefetch;
    } u;
};

typedef struct tn_func {
    tn_ctx *ctx;
    tn_arena *arena;
    tn_pool *pool;
    const char *name;
    const char *source; /* model nodes it computes, or "" */
    uint8_t stage;      /* enum tn_stage */
    bool strict;        /* reductions keep their order; no fma contraction */
    tn_buffer *buffer;
    uint32_t n_buffer, cap_buffer;
    tn_var_info *var;
    uint32_t n_var, cap_var;
    tn_symbol_range *symbol;
    uint32_t n_symbol, cap_symbol;
    uint32_t n_param;
    uint32_t *param; /* buffer numbers: inputs then outputs */
    const char **block_name;
    uint32_t n_block_name, cap_block_name; /* names given by tn_func_block_name */
    tn_body body;
} tn_func;

/* ---- building ---- */
tn_func *tn_func_new(tn_ctx *ctx, tn_arena *arena, tn_pool *pool, const char *name);
/* pool: child of f->pool, or f->pool itself */
tn_func *tn_func_clone(const tn_func *f, tn_arena *arena, tn_pool *pool);
uint32_t tn_func_add_buffer(tn_func *f, const tn_buffer *b); /* name made unique by a suffix; copies dims */
void tn_func_add_param(tn_func *f, uint32_t buffer, bool written);
const tn_expr *tn_func_add_var(tn_func *f, const char *name,
                               tn_dtype t);             /* fresh VAR; name made unique when printed */
const char *tn_tir_name(tn_ctx *ctx, const char *name); /* the nearest name that texts can have, interned */
void tn_func_name_var(tn_func *f, const tn_expr *var, const char *name); /* another name for it in texts */
void tn_func_add_symbol(tn_func *f, const char *name, int64_t min, int64_t max); /* once per name */
const char *tn_func_block_name(tn_func *f,
                               const char *name); /* name, or with a suffix if it was given before */
tn_stmt *tn_stmt_new(tn_func *f, enum tn_sk kind);
tn_stmt *tn_stmt_for(tn_func *f, const tn_expr *var, const tn_expr *extent, enum tn_loop_kind kind);
tn_stmt *tn_stmt_store(tn_func *f, uint32_t buffer, int n, const tn_expr *const index[], const tn_expr *value,
                       const tn_expr *mask);
/* Name made unique; iters to be filled. */
tn_stmt *tn_stmt_block(tn_func *f, const char *name, const char *tag, int n_iter);
tn_stmt *tn_stmt_if(tn_func *f, const tn_expr *cond);
tn_stmt *tn_stmt_let(tn_func *f, const tn_expr *var, const tn_expr *value);
tn_stmt *tn_stmt_decl(tn_func *f, uint32_t buffer);
tn_stmt *tn_stmt_check(tn_func *f, const tn_expr *cond, const char *text);
tn_stmt *tn_stmt_prefetch(tn_func *f, uint32_t buffer, int n, const tn_expr *const index[]);

/* ---- the tree ---- */
void tn_body_append(tn_body *b, tn_stmt *s);
void tn_body_insert(tn_body *b, tn_stmt *before, tn_stmt *s); /* before NULL: append */
void tn_stmt_remove(tn_stmt *s);                              /* unlinks; stays usable */
void tn_stmt_replace(tn_stmt *old, tn_stmt *with);
void tn_body_move(tn_body *to, tn_stmt *before, tn_body *from); /* all of from */
static inline tn_stmt *tn_stmt_parent(const tn_stmt *s) { return s->list ? s->list->owner : NULL; }
/* Is it a loop of a nest that is one call of a unit? In flat code, no pass works on its list. */
static inline bool tn_stmt_is_nest(const tn_stmt *s)
{
    return s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_TENSOR;
}
bool tn_stmt_inside(const tn_stmt *s, const tn_stmt *ancestor);
/* The statement's own lists: LOOP 1, BLOCK init + body, IF then + other. */
int tn_stmt_bodies(tn_stmt *s, tn_body *out[2]);
tn_stmt *tn_stmt_clone(tn_func *f, const tn_stmt *s); /* deep; shares variables, blocks keep their names */
/* Gives a copy fresh variables for its loops and lets and fresh buffers for its declarations (names of buffers and
 * blocks get the suffix): the original and it may stand in one list, and what is known of an expression in one is
 * not taken for true in the other. */
void tn_stmt_freshen(tn_func *f, tn_stmt *copy, const char *suffix);
tn_stmt *tn_stmt_clone_fresh(tn_func *f, const tn_stmt *s, const char *suffix);
/* Every access to and declaration of buffer `from` in s and below becomes one of `to`. */
void tn_stmt_rename_buffer(tn_func *f, tn_stmt *s, uint32_t from, uint32_t to);
/* Depth-first in program order; `enter` false skips children (s is left all the same); either may be NULL.
 * `enter` may not unlink s; `leave` may unlink or replace it. */
void tn_stmt_walk(tn_body *b, bool (*enter)(tn_stmt *s, void *user), void (*leave)(tn_stmt *s, void *user),
                  void *user);
/* Applies fn to every expression slot of s itself (not of children); fn returns the replacement. The variable that a
 * statement defines (loop, iteration, let) is no slot. */
void tn_stmt_exprs(tn_stmt *s, const tn_expr *(*fn)(const tn_expr *e, void *user), void *user);
/* For tn_each: is what e computes of its operands defined whatever memory holds? */
bool tn_is_total(const tn_expr *e, void *user);
/* Does var occur in a statement of the body or inside of one? */
bool tn_body_uses(tn_body *b, const tn_expr *var);
/* Makes loops that blocks reduce along run at least once where their extents may be 0, with the body masked: the init
 * runs all the same, so a reduction of nothing has its value. */
void tn_func_begin_empty(tn_func *f);
/* Substitutes variables in a whole subtree. */
void tn_stmt_subst(tn_func *f, tn_stmt *s, int n, const tn_expr *const from[], const tn_expr *const to[]);
tn_stmt *tn_func_block(tn_func *f, const char *name); /* NULL: none */
/* Loops around s, outermost first; returns their number (at most max). */
int tn_stmt_loops(tn_stmt *s, int max, tn_stmt *out[]);
/* Facts at s: ranges of loop variables, symbols, iteration variables, conditions of IFs and masks around it, lets and
 * checks before it. Initialises *out; the caller releases it with tn_facts_deinit. */
void tn_stmt_facts(tn_func *f, const tn_stmt *s, tn_facts *out);

/* ---- equality ---- */

/* Tables in the order of the text, without what no statement uses. For the following two; lives in f's arena. */
const tn_func *tn_func_canonical(const tn_func *f);
/* Of canonical functions, without their names and those of model nodes. O(size). Layouts are compared by address:
 * those of one context, or of the one above, are one. The pool may belong to the context above. */
uint64_t tn_func_hash(const tn_func *f);
bool tn_func_same(const tn_func *a, const tn_func *b, tn_pool *pool);
/* Of what any function computes (workload.c): no name of a block, buffer, variable or symbol is in it, and it is the
 * same on all machines and in all versions, so files may hold it. O(size). */
uint64_t tn_func_workload(const tn_func *f);
/* The same for functions that differ in numbers alone: in extents, steps, constants. */
uint64_t tn_func_form(const tn_func *f);

/* What is wrong with the kinds of a block's iterations; NULL: nothing. A block with one whose turns run in order
 * (TN_ITER_SCAN) has no second one, no reduction, no init and one store. It reads its own results at the other
 * iterations' elements alone, so these are independent. */
const char *tn_iters_fault(tn_pool *pool, const tn_stmt *block);

/* ---- text, verifier, interpreter ---- */
void tn_func_print(const tn_func *f, tn_buf *out);
void tn_func_names(const tn_func *f, tn_names *out); /* for tn_expr_print */
/* Reads one or more functions; what tn_func_print prints reads back and prints the same. */
tn_status tn_func_parse(tn_ctx *ctx, tn_arena *arena, tn_pool *pool, const char *file, const char *text,
                        size_t n, tn_func **out_funcs, size_t max, size_t *out_n);
/* Checks structure, dtypes, scopes, definitions before uses, index arity, per-stage legality, provable bounds of
 * accesses at the block stage. tir-E1xx diagnostics. */
TN_WARN_UNUSED tn_status tn_func_verify(const tn_func *f);

/* Runs f on memory: arg[i] is parameter i (dense, physical layout), sym[i] the value of symbol[i]. Any stage. Every
 * access is bounds-checked, reads of unwritten local memory are errors (tir-E2xx). Bit-exact definition of TIR. */
TN_WARN_UNUSED tn_status tn_func_run(const tn_func *f, void *const arg[], const int64_t sym[]);
/* The value of an expression over f's symbols where symbol[i] is sym[i]; false: it is over more than these. */
TN_WARN_UNUSED bool tn_func_value(const tn_func *f, const tn_expr *e, const int64_t sym[], int64_t *out);
/* Bytes of each parameter's memory where symbol[i] is sym[i]. false: an extent is negative, has no value, or is too
 * large. */
TN_WARN_UNUSED bool tn_func_parameter_bytes(const tn_func *f, const int64_t sym[], uint64_t out[]);

#endif
