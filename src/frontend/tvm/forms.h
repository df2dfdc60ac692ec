#ifndef TN_FRONTEND_TVM_FORMS_H
#define TN_FRONTEND_TVM_FORMS_H
/* Operators of TVM's Relay that are made with what converters of models are written with (import/convert.h): forms
 * (relay/forms.h) that a converter makes. A file has the rows of one family; forms.c puts them together. */
#include "frontend/import/convert.h"
#include "relay/forms.h"

enum { TVM_MOST_SIZES = 64 };

/* Reads imp_in(c, i) and f->a, and sets c->out. */
typedef void tvm_converter(imp_node *c, form_call *f);

/* What a converter makes for f; c->origin is user. n_out: how many results, 0: none. */
tn_value tvm_make(form_call *f, uint32_t n_out, tvm_converter *convert, const void *user);

/* form.read of a row: read_X, with the n results of the converter X. */
#define TVM_READ(convert, n) \
    static tn_value read_##convert(form_call *f) { return tvm_make(f, n, convert, NULL); }

/* The elements of v, an operand, if they can be worked out while the text is read: constants, what follows from them
 * and from known shapes. false: only the run knows them, there are too many, or f->bad. */
bool tvm_known(form_call *f, tn_value v, uint32_t *out_n, int64_t out[TVM_MOST_SIZES]);

typedef struct tvm_window {
    int64_t size, step, apart; /* elements, from one window to the next, from one element to the next */
} tvm_window;

/* The places of all windows along a dimension of n elements: [windows, size]. false: reported. */
bool tvm_windows(imp_node *c, const form_call *f, const tn_expr *n, const tvm_window *w, tn_value *out);

/* Rows, each ended by one without a name. */
extern const form tvm_forms_dynamic[], tvm_forms_tensor[], tvm_forms_window[], tvm_forms_sparse[],
    tvm_forms_vision[], tvm_forms_boxes[];

#endif
