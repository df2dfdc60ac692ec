#ifndef TN_RELAY_FORMS_H
#define TN_RELAY_FORMS_H
/* Operators of TVM's texts that are other operators here: each is read as a few calls of ours. A form has a table of
 * attributes as TVM names them and a function that makes the calls. What has no such calls is refused as an unknown
 * operator is. */
#include "relay/parse.h"

#include "op/qnn/qnn.h"
#include "op/tensor/tensor.h"

enum { FORM_MAX_RANK = 16 };

typedef struct form_values { /* attributes, whatever a form calls them */
    int64_t axis, number, i, j, k;
    double a, b, d;
    bool x, y, z;
    const char *s, *t, *u, *v;
    tn_dtype dtype;
    tn_ints ints, ints2, ints3;
    tn_dims dims, dims2;
    tn_reals reals, reals2, reals3, reals4;
} form_values;

typedef struct form_call {
    parser *p;
    uint32_t line, col, n;
    const tn_value *in;
    const pval *arg;
    const char *name;
    form_values a;
    uint64_t given; /* attributes, by their places in the table */
    bool bad;
    pval many; /* kind LIST: several results */
} form_call;

struct form {
    const char *name;
    uint32_t least, most; /* operands; most 0: any number */
    tn_value (*read)(form_call *c);
    const tn_attr_field *attr; /* of form_values */
    const char *doc;
};

/* Ended by a row without a name (forms_*.c). A caller of the parser may have more of them
 * (tn_relay_metadata.forms). */
extern const form form_rows_tensor[], form_rows_nn[], form_rows_qnn[], form_rows_blocked[];

/* An attribute: its kind, name, place among the values, default. */
#define FORM_ATTR(kind, name, field, value) {name, TN_A_##kind, offsetof(form_values, field), value, ""}
#define FORM_END {NULL, 0, 0, NULL, NULL}

/* ---- making calls: all give no value, and note that the form is bad, where one before was ---- */

tn_value form_refuse(form_call *c, const char *what); /* reports "NAME what" */
tn_value form_make(form_call *c, const tn_op *op, const void *attr, int n, const tn_value in[]);
tn_value form_make1(form_call *c, const tn_op *op, const void *attr, tn_value x);
/* attr may name another layout */
tn_value form_laid_out(form_call *c, const tn_op *op, void *attr, uint32_t n, tn_value in[]);
/* As a text calls it that has these attributes of TVM's operator, too. */
tn_value form_finished(form_call *c, const tn_op *op, void *attr, uint32_t n, const tn_value in[],
                       pforeign *f);
tn_value form_make2(form_call *c, const tn_op *op, tn_value a, tn_value b);
tn_value form_where(form_call *c, tn_value condition, tn_value a, tn_value b);
const tn_type *form_type(form_call *c, tn_value v); /* of a tensor; else NULL, which is reported */
tn_value form_number(form_call *c, tn_dtype t, double v);
tn_value form_integer(form_call *c, int64_t v);                                         /* int64 */
tn_value form_filled(form_call *c, tn_value x, uint32_t n, const tn_expr *const dim[]); /* broadcast */
tn_value form_reshaped(form_call *c, tn_value x, uint32_t n, const tn_expr *const dim[]);
tn_value form_transposed(form_call *c, tn_value x, uint32_t n, const int64_t axes[]);
tn_value form_cast(form_call *c, tn_value x, tn_dtype t);
tn_value form_expanded(form_call *c, tn_value x, int64_t axis);
tn_value form_reduced(form_call *c, const tn_op *op, tn_value x, int64_t axis, bool keepdims);
/* Elements begin, begin + step, ... before end, as tn_op_strided_slice takes them. */
tn_value form_sliced(form_call *c, tn_value x, int64_t axis, int64_t begin, int64_t end, int64_t step);
const tn_expr *form_idx(form_call *c, int64_t v);
const tn_expr *form_times(form_call *c, const tn_expr *e, int64_t k);
int64_t form_axis(form_call *c, int64_t axis, int rank);             /* [-rank, rank) to [0, rank) */
tn_value form_several(form_call *c, uint32_t n, const tn_value v[]); /* results */
/* x with `dims` spatial dimensions in new sizes (tn_resize_attr), of the part of the image that roi says: starts, then
 * ends. float32; *out_inside: where a result lies in the image. */
struct tn_resize_attr;
tn_value form_resized_part(form_call *c, const struct tn_resize_attr *a, tn_value x, int dims, tn_reals roi,
                           tn_value *out_inside);
bool form_constant(form_call *c, tn_value v, double *out); /* is v a number? */
/* x with its dimensions in another order, or in blocks: "NCHW", "NCHW4c". */
tn_value form_layout(form_call *c, tn_value x, const char *from, const char *to);
tn_value form_reverse_reshape(form_call *c); /* contrib_reverse_reshape */
/* qnn.requantize as TVM computes it with a.compute_dtype, of its operands. */
tn_value form_requantized(form_call *c, tn_qnn_attr a, const tn_value in[5]);
/* sparse_to_dense of the call's first operands in this shape. */
tn_value form_sparse_to_dense(form_call *c, tn_dims shape);

#endif
