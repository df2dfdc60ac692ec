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
    TN_T_MAP,      /* values by keys */
    TN_T_DATA,     /* what constructors make */
    TN_T_PARAM,    /* what a definition leaves open; never the type of a value */
    TN_T_NONE      /* of no value: what an empty list holds; it fits everywhere */
};
typedef struct tn_type tn_type;
struct tn_type {
    uint8_t kind;
    uint16_t
        n; /* TENSOR: rank; TUPLE: fields; FUNC: parameters + 1 result; REF: 1; ANY: 0; SEQ, OPTIONAL: 1, or 0
                   where it is known to be empty; MAP: key and value */
    uint16_t index;            /* PARAM: which */
    tn_dtype dtype;            /* TENSOR, ANY */
    const tn_layout *layout;   /* TENSOR; NULL identity */
    const tn_expr *const *dim; /* TENSOR: n index expressions */
    const tn_type *const
        *field; /* of all but TENSOR and ANY; FUNC: result last; DATA: what its parameters are */
    const struct tn_data *data; /* DATA: its definition */
};

/* A definition, `type List[A] { Cons(A, List[A]), Nil }`. */
typedef struct tn_constructor {
    const char *name;
    const struct tn_data *of;
    uint32_t tag, n_field;
    const tn_type *const *field; /* parameters of the definition are PARAM */
} tn_constructor;
typedef struct tn_data {
    const char *name;
    uint32_t n_param, n_constructor;
    const char *const *param;
    const tn_constructor *constructor;
    bool known; /* everywhere, without a definition in the text */
    struct tn_data *next;
} tn_data;

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
const tn_type *tn_type_data(tn_pool *p, const tn_data *data, const tn_type *const param[]);
const tn_type *tn_type_param(tn_pool *p, int index);
const tn_type *tn_type_none(tn_pool *p);
/* t with param[] in the places of its PARAMs. */
const tn_type *tn_type_filled(tn_pool *p, const tn_type *t, const tn_type *const param[]);
/* Widens param[], NONE at first, so that a value of type t fits `open` filled with it. false: no type does. What is
 * in no PARAM is left aside. */
bool tn_type_widen(tn_pool *p, const tn_type *open, const tn_type *t, const tn_type *param[]);
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
/* Are both tensors, of the same extents? */
bool tn_type_same_shape(const tn_type *a, const tn_type *b);
bool tn_type_dims_const(const tn_type *t, int64_t *out_dim); /* all dims INT; out_dim may be NULL */
/* Number of logical elements / bytes of the physical value, as index expressions (checked when constant: returns
 * NULL on overflow of int64; a product with a 0 is 0). */
const tn_expr *tn_type_count(tn_pool *p, const tn_type *t);
const tn_expr *tn_type_bytes(tn_pool *p, const tn_type *t);
/* "Tensor[(n, 64), float32, NK32n]", "float32", "(A, B)", "fn (A) -> B", "ref(A)", "Tensor[?, float32]", "Seq[A]",
 * "Optional[A]", "Map[A, B]", "List[A]"; NONE is "_" */
void tn_type_print(const tn_type *t, tn_buf *out);

#endif
