#ifndef TN_IR_TYPE_H
#define TN_IR_TYPE_H
/* Types of graph values: tensors with symbolic dimensions and a layout, tuples, functions, references, sequences,
 * optional values, maps. Immutable, arena.
 *
 * A value is either bytes (a tensor whose extents its type says) or a *handle*, a counted reference to a value: all
 * other types, tensors of any extent and of texts too. Where a handle is wanted, a tensor will do: it is boxed. */
#include "ir/layout.h"

enum tn_type_kind {
    TN_T_TENSOR,
    TN_T_TUPLE,
    TN_T_FUNC,
    TN_T_REF,
    TN_T_ANY,      /* a tensor of any rank */
    TN_T_SEQ,      /* any number of values of one type */
    TN_T_OPTIONAL, /* one or none */
    TN_T_MAP       /* values by keys */
};
typedef struct tn_type tn_type;
struct tn_type {
    uint8_t kind;
    uint16_t
        n; /* TENSOR: rank; TUPLE: fields; FUNC: parameters + 1 result; REF: 1; ANY: 0; SEQ, OPTIONAL: 1, or 0
                   where it is known to be empty; MAP: key and value */
    tn_dtype dtype;              /* TENSOR, ANY */
    const tn_layout *layout;     /* TENSOR; NULL identity */
    const tn_expr *const *dim;   /* TENSOR: n index expressions */
    const tn_type *const *field; /* of all but TENSOR and ANY; FUNC: result last */
};

const tn_type *tn_type_tensor(tn_pool *p, tn_dtype t, int ndim, const tn_expr *const dim[],
                              const tn_layout *layout);
/* constant dims, identity layout */
const tn_type *tn_type_tensor_i(tn_pool *p, tn_dtype t, int ndim, const int64_t dim[]);
const tn_type *tn_type_tuple(tn_pool *p, int n, const tn_type *const field[]);
const tn_type *tn_type_func(tn_pool *p, int n_param, const tn_type *const param[], const tn_type *result);
const tn_type *tn_type_ref(tn_pool *p, const tn_type *to);
const tn_type *tn_type_any(tn_pool *p, tn_dtype t);
const tn_type *tn_type_seq(tn_pool *p, const tn_type *of); /* NULL: of nothing */
const tn_type *tn_type_optional(tn_pool *p, const tn_type *of);
const tn_type *tn_type_map(tn_pool *p, const tn_type *key, const tn_type *value);
/* t for who knows none of its symbols: extents that are numbers stay, the others are `?`. What is inside of a
 * reference, sequence, optional value or map is so, and so are tensors of texts. */
const tn_type *tn_type_unbound(tn_pool *p, const tn_type *t);
/* A type with the same form as t, and other fields. */
const tn_type *tn_type_with(tn_pool *p, const tn_type *t, const tn_type *const field[]);
const tn_type *tn_type_relayout(tn_pool *p, const tn_type *t, const tn_layout *layout);
/* The extent `?`: any. A tensor with such an extent is a handle, whose shape the value itself tells. */
const tn_expr *tn_any_dim(tn_pool *p);
static inline bool tn_dim_is_any(const tn_expr *e) { return e->kind == TN_E_SYM && e->u.s[0] == '?'; }
bool tn_type_is_handle(const tn_type *t);
/* May a value of type t be where one of type `want` is? Extents are equal, or any will do; a function may take more
 * and give less; what is empty may be of anything. Layouts are left aside. */
bool tn_type_fits(const tn_type *want, const tn_type *t);
/* The narrowest type that values of both fit, with `?` where extents differ; NULL: there is none. */
const tn_type *tn_type_join(tn_pool *p, const tn_type *a, const tn_type *b);
bool tn_type_eq(const tn_type *a, const tn_type *b);         /* layouts included */
bool tn_type_eq_logical(const tn_type *a, const tn_type *b); /* layouts ignored */
bool tn_type_dims_const(const tn_type *t, int64_t *out_dim); /* all dims INT; out_dim may be NULL */
/* Number of logical elements / bytes of the physical value, as index expressions (checked when constant: returns
 * NULL on overflow of int64; a product with a 0 is 0). */
const tn_expr *tn_type_count(tn_pool *p, const tn_type *t);
const tn_expr *tn_type_bytes(tn_pool *p, const tn_type *t);
/* "Tensor[(n, 64), float32, NK32n]", "float32", "(A, B)", "fn (A) -> B", "ref(A)", "Tensor[?, float32]", "Seq[A]",
 * "Optional[A]", "Map[A, B]" */
void tn_type_print(const tn_type *t, tn_buf *out);

#endif
