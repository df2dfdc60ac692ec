#ifndef TN_IR_TYPE_H
#define TN_IR_TYPE_H
/* Types of graph values: tensors with symbolic dimensions and a layout, tuples, functions. Immutable, arena.
 *
 * A value is either bytes (a tensor whose extents its type says) or a *handle*, a counted reference to a value: all
 * other types, tensors of any extent too. Where a handle is wanted, a tensor will do: it is boxed. */
#include "ir/layout.h"

enum tn_type_kind { TN_T_TENSOR, TN_T_TUPLE, TN_T_FUNC, TN_T_REF };
typedef struct tn_type tn_type;
struct tn_type {
    uint8_t kind;
    uint16_t n;                  /* TENSOR: rank; TUPLE: fields; FUNC: parameters + 1 result; REF: 1 */
    tn_dtype dtype;              /* TENSOR */
    const tn_layout *layout;     /* TENSOR; NULL identity */
    const tn_expr *const *dim;   /* TENSOR: n index expressions */
    const tn_type *const *field; /* TUPLE, FUNC (result last), REF */
};

const tn_type *tn_type_tensor(tn_pool *p, tn_dtype t, int ndim, const tn_expr *const dim[],
                              const tn_layout *layout);
/* constant dims, identity layout */
const tn_type *tn_type_tensor_i(tn_pool *p, tn_dtype t, int ndim, const int64_t dim[]);
const tn_type *tn_type_tuple(tn_pool *p, int n, const tn_type *const field[]);
const tn_type *tn_type_func(tn_pool *p, int n_param, const tn_type *const param[], const tn_type *result);
const tn_type *tn_type_ref(tn_pool *p, const tn_type *to);
const tn_type *tn_type_relayout(tn_pool *p, const tn_type *t, const tn_layout *layout);
/* The extent `?`: any. A tensor with such an extent is a handle, whose shape the value itself tells. */
const tn_expr *tn_any_dim(tn_pool *p);
static inline bool tn_dim_is_any(const tn_expr *e) { return e->kind == TN_E_SYM && e->u.s[0] == '?'; }
bool tn_type_is_handle(const tn_type *t);
/* May a value of type t be where one of type `want` is? Extents are equal, or any will do; a function may take more
 * and give less. Layouts are left aside. */
bool tn_type_fits(const tn_type *want, const tn_type *t);
bool tn_type_eq(const tn_type *a, const tn_type *b);         /* layouts included */
bool tn_type_eq_logical(const tn_type *a, const tn_type *b); /* layouts ignored */
bool tn_type_dims_const(const tn_type *t, int64_t *out_dim); /* all dims INT; out_dim may be NULL */
/* Number of logical elements / bytes of the physical value, as index expressions (checked when constant: returns
 * NULL on overflow of int64; a product with a 0 is 0). */
const tn_expr *tn_type_count(tn_pool *p, const tn_type *t);
const tn_expr *tn_type_bytes(tn_pool *p, const tn_type *t);
/* "Tensor[(n, 64), float32, NK32n]", "float32", "(A, B)", "fn (A) -> B", "ref(A)" */
void tn_type_print(const tn_type *t, tn_buf *out);

#endif
