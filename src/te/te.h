#ifndef TN_TE_TE_H
#define TN_TE_TE_H
/* Tensor expressions: what each element of a tensor is, as scalar expressions; from them te makes the blocks
 * of one TIR function. There is no second schedule tree: schedules work on the blocks.
 *
 * A tensor is a buffer of the function under construction (same number), so `tn_at` is an ordinary LOAD.
 * Typical use, in an operator record's compute:
 *
 *     tn_tensor *t = tn_te_new(te, "dense", dtype, 2, dim);          axes: t->axis[0], t->axis[1]
 *     const tn_expr *k = tn_te_reduce_axis(te, t, "k", extent);
 *     tn_te_sum(te, t, tn_mul(p, tn_at2(te, a, t->axis[0], k), tn_at2(te, w, t->axis[1], k)), NULL);
 */
#include "ir/graph.h"
#include "tir/tir.h"

enum tn_reducer { TN_RED_NONE, TN_RED_SUM, TN_RED_PROD, TN_RED_MAX, TN_RED_MIN, TN_RED_ANY, TN_RED_ALL };
enum tn_tensor_kind { TN_TENSOR_INPUT, TN_TENSOR_COMPUTE, TN_TENSOR_EXTERN };
enum { TN_TE_MAX_REDUCE = 8 };

typedef struct tn_tensor tn_tensor;
typedef struct tn_te tn_te;
typedef struct tn_te_reader tn_te_reader;
typedef struct tn_te_check {
    const tn_expr *cond;
    const char *text;
    struct tn_te_check *next;
} tn_te_check;
struct tn_tensor {
    uint8_t kind;    /* enum tn_tensor_kind */
    uint32_t buffer; /* number in te->func */
    tn_dtype dtype;
    uint16_t ndim;
    const tn_expr *const *dim;
    const tn_expr **axis; /* ndim VARs: the element being defined */
    uint32_t n_reduce;
    const tn_expr *raxis[TN_TE_MAX_REDUCE], *rextent[TN_TE_MAX_REDUCE];
    uint8_t reducer;     /* enum tn_reducer */
    const tn_expr *step; /* of a scan: the index along its dimension, over that axis; NULL: no scan */
    uint16_t scan_dim;
    const tn_expr *const
        *place;               /* where its buffer has the element at axis: an index for each of the buffer's
                                  * dimensions, which are not `dim` then; NULL: at axis */
    const tn_expr *value;     /* over axis (and raxis): the element, or the term of the reduction */
    const tn_expr *where;     /* reduction terms count only where this holds; NULL: always */
    const tn_expr *init;      /* neutral element, or the initial value (over axis) */
    tn_body body;             /* EXTERN: statements that define the whole tensor */
    const tn_tensor *part_of; /* EXTERN: the tensor whose body defines this one, too; NULL: its own does */
    const char *tag, *source; /* for the block */
    bool inlined;             /* replaced in its readers; makes no block */
    tn_tensor *next;          /* in order of definition */
};

struct tn_te {
    tn_func *func;
    tn_arena *arena;
    tn_pool *pool;
    tn_tensor *first, *last;
    const char *tag, *source;        /* given to tensors made from here on */
    tn_te_check *check, **check_end; /* what must hold for the symbols, in order; end NULL: none yet */
    struct { /* by buffer: its tensor, who reads it; made when `last` was the last tensor */
        tn_tensor **of, *last;
        tn_te_reader **reader;
    } index;
    tn_map *expansion; /* of tn_te_expand: expression id -> without reads of inlined tensors */
};

void tn_te_init(tn_te *te, tn_ctx *ctx, tn_arena *arena, tn_pool *pool, const char *name);
/* A parameter of the function (input). */
tn_tensor *tn_te_input(tn_te *te, const char *name, const tn_type *type);
/* A tensor to be defined; axis variables are named i0.. or after `axis_names` ("b oc oh ow", may be NULL). */
tn_tensor *tn_te_new(tn_te *te, const char *name, tn_dtype t, int ndim, const tn_expr *const dim[],
                     const char *axis_names);
tn_tensor *tn_te_like(tn_te *te, const char *name, const tn_type *type); /* dtype and dims of type */
const tn_expr *tn_te_reduce_axis(tn_te *te, tn_tensor *t, const char *name, const tn_expr *extent);
void tn_te_define(tn_te *te, tn_tensor *t, const tn_expr *value);
/* Symbols of an expression become symbols of the function: an attribute may have some that no dimension has. Those of
 * what is defined, reduced and required do so by themselves; bodies of statements say theirs. */
void tn_te_symbols(tn_te *te, const tn_expr *e);
/* Sums and products of floats narrower than 32 bits are accumulated, and stored, in float32; tn_at gives the
 * tensor's dtype. init NULL: the reducer's neutral element (sum 0, prod 1, max -inf or lowest, min +inf or
 * highest). */
void tn_te_reduce(tn_te *te, tn_tensor *t, enum tn_reducer r, const tn_expr *term, const tn_expr *where,
                  const tn_expr *init);
/* What changes no result of the reducer. */
const tn_expr *tn_te_neutral(tn_pool *p, enum tn_reducer r, tn_dtype t);
static inline void tn_te_sum(tn_te *te, tn_tensor *t, const tn_expr *term, const tn_expr *where)
{
    tn_te_reduce(te, t, TN_RED_SUM, term, where, NULL);
}
/* t is a scan along dimension `dim`, whose axis counts steps that run in order: a step defines the elements at index
 * `step` (over that axis) by `value`, which may read elements of t that steps before defined, at the other axes. */
void tn_te_scan(tn_te *te, tn_tensor *t, int dim, const tn_expr *step, const tn_expr *value);
/* A tensor of the dimensions of t whose elements are defined along the axes of another one, `over`: for each index
 * there, the value, and the place in the tensor that has it. Every place is that of one index. It is an output: nothing
 * reads it. */
tn_tensor *tn_te_over(tn_te *te, const tn_tensor *t, const tn_tensor *over);
void tn_te_define_at(tn_te *te, tn_tensor *t, const tn_expr *value, const tn_expr *const place[]);
/* The tensor is defined by statements the caller puts into t->body (built with tir's builder). */
void tn_te_extern(tn_te *te, tn_tensor *t);
/* t is defined by the body of `of`, an extern tensor made before. Where nobody reads one of the tensors that a body
 * defines, the function does not have it: stores to it are left out. */
void tn_te_extern_part(tn_te *te, tn_tensor *t, const tn_tensor *of);
const tn_expr *tn_at(tn_te *te, const tn_tensor *t, int n, const tn_expr *const index[]);
const tn_expr *tn_at1(tn_te *te, const tn_tensor *t, const tn_expr *a);
const tn_expr *tn_at2(tn_te *te, const tn_tensor *t, const tn_expr *a, const tn_expr *b);
const tn_expr *tn_at3(tn_te *te, const tn_tensor *t, const tn_expr *a, const tn_expr *b, const tn_expr *c);
const tn_expr *tn_at4(tn_te *te, const tn_tensor *t, const tn_expr *a, const tn_expr *b, const tn_expr *c,
                      const tn_expr *d);
/* The element, or `other` where cond does not hold (masked load: not touched there). */
const tn_expr *tn_at_if(tn_te *te, const tn_tensor *t, int n, const tn_expr *const index[],
                        const tn_expr *cond, const tn_expr *other);

/* The function fails with `text` unless cond holds, which is of symbols alone. Repeated conditions count once. */
void tn_te_require(tn_te *te, const tn_expr *cond, const char *text);
/* t makes no block: tn_te_finish puts its value where it is read (t not a reduction, a scan or extern). */
void tn_te_inline(tn_te *te, tn_tensor *t);
/* Which tensors read t as they were defined, and how: number of reading tensors; *out_once true if each element
 * is read at most once in each (the index is an injective map of all the reader's axes). Ask in order of
 * definition: readers that are inlined already are left out. */
int tn_te_readers(tn_te *te, const tn_tensor *t, bool *out_once);
/* Which tensors are read element by element only, each reader at its own axes, on every way to one tensor: inlining
 * them there computes each element once, however many readers they have. stays: tensors that are not inlined, so that
 * ways end at them. Both by buffer. */
void tn_te_pointwise(tn_te *te, const bool *stays, bool *out);
/* Forgets what the outputs do not need. Before anything is inlined. */
void tn_te_prune(tn_te *te, int n_out, tn_tensor *const out[]);
/* First step of tn_te_finish: the values of what is not inlined read nothing that is. */
void tn_te_expand(tn_te *te);
/* Ends the construction: outputs become the last parameters, named "out" (out1, ...), with the given layouts
 * (NULL: identity); every tensor they need and that is not inlined becomes one loop nest with one block of
 * the same name, behind a buffer declaration if it is no parameter. An output that is an input, or stands
 * twice, is copied. Returns the function (block stage). Symbols get the range [1, 2^31 - 1] unless they were
 * added to te->func before. */
tn_func *tn_te_finish(tn_te *te, int n_out, tn_tensor *const out[], const tn_layout *const layout[]);

#endif
