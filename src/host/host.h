#ifndef TENON_HOST_HOST_H
#define TENON_HOST_HOST_H
/* What host functions share: a call with scratch memory and attributes, tensors and texts in and out.
 *
 * A function is a row of functions.def. host.c calls it with the operands counted, gives results their values after it
 * succeeded, and frees its scratch memory, but for what it keeps for the next run. A tensor may arrive or leave as
 * memory of the program or as a value; functions see no difference. */
#include "base/wire/json.h"
#include "tenon/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TNH_MAX_NDIM = 64 };

typedef struct tnh_text {
    const char *at; /* not NUL-terminated */
    size_t n;
} tnh_text;

typedef struct tnh_call tnh_call;
typedef tnr_status tnh_fn(tnh_call *h);

typedef struct tnh_function {
    const char *name;
    int8_t n_in;     /* operands without the attributes; -1: any number */
    int8_t n_out;    /* -1: any number */
    bool attributes; /* the last operand is a JSON object, as bytes */
    tnh_fn *fn;
} tnh_function;

struct tnh_call {
    const tnr_host_call *c;
    tnr_error *err;
    uint32_t n_in, n_out;
    const tn_json *attr; /* an OBJECT; NULL: the function has no attributes */
    /* of host.c */
    struct tnh_block *block, **into; /* into: the list that new memory goes to */
    struct tnh_result *result;       /* n_out */
};

/* ---- failing ---- */

/* Says what is wrong, in one sentence, and returns code. */
tnr_status tnh_fail(tnh_call *h, enum tnr_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- scratch memory: zeroed, freed after the call; NULL: out of memory, which is reported ---- */

void *tnh_new(tnh_call *h, uint64_t count, size_t size);

/* ---- what is prepared once, for this call of the program in this instance: a table of an operand, say. No other call
 * has it, so it needs no lock. It is freed with the instance. ---- */

/* What tnh_keep_begin gave in an earlier run; NULL: nothing. Constant time. */
void *tnh_kept(const tnh_call *h);
/* `size` zeroed bytes in the place of what was kept, which is freed. What tnh_new gives until tnh_keep_end lasts as
 * long. A reference to v (NULL: none) is held: while it is, no other value has its address. NULL: out of memory, which
 * is reported. */
void *tnh_keep_begin(tnh_call *h, size_t size, tnr_value *v);
/* If preparing has failed, nothing is kept. Returns status. */
tnr_status tnh_keep_end(tnh_call *h, tnr_status status);
/* Is operand i the same in all runs? */
static inline bool tnh_is_constant(const tnh_call *h, uint32_t i) { return h->c->constant[i]; }

/* ---- attributes: absent ones, and those that are null, have the value that the caller gives ---- */

int64_t tnh_attr_int(const tnh_call *h, const char *name, int64_t absent);
bool tnh_attr_is(const tnh_call *h, const char *name, const char *text);
/* The bytes of a text; n is 0 where it is absent. */
tnh_text tnh_attr_text(const tnh_call *h, const char *name);
/* The integers or reals of a list in scratch memory; NULL: out of memory. *out_n is 0 where it is absent. */
int64_t *tnh_attr_ints(tnh_call *h, const char *name, int64_t *out_n);
double *tnh_attr_reals(tnh_call *h, const char *name, int64_t *out_n);

/* ---- tensors ---- */

/* The number of elements; -1: it does not fit 63 bits, or an extent is negative. */
int64_t tnh_count(int32_t ndim, const int64_t *shape);

/* Operand i, a dense tensor. */
tnr_status tnh_tensor_in(tnh_call *h, uint32_t i, DLTensor *out);
/* The same, which has to have this type; *out_n elements. */
tnr_status tnh_data_in(tnh_call *h, uint32_t i, DLDataType type, const void **out, int64_t *out_n);
#define TNH_INT64 ((DLDataType){kDLInt, 64, 1})
#define TNH_BOOL ((DLDataType){kDLBool, 8, 1})
#define TNH_BYTE ((DLDataType){kDLUInt, 8, 1})

/* Memory for result o, which the function fills. Where the program gave the memory, type and shape must be its own. */
tnr_status tnh_tensor_out(tnh_call *h, uint32_t o, DLDataType type, int32_t ndim, const int64_t *shape,
                          void **out);
/* Result o is that value, whose reference is taken. */
tnr_status tnh_value_out(tnh_call *h, uint32_t o, tnr_value *v);

/* ---- texts ---- */

typedef struct tnh_texts { /* a tensor of them; valid during the call */
    int32_t ndim;
    const int64_t *shape;
    int64_t n;
    const int64_t *offset; /* n + 1, ascending from 0 */
    const char *bytes;
} tnh_texts;

static inline tnh_text tnh_text_at(const tnh_texts *t, int64_t i)
{
    return (tnh_text){t->bytes + t->offset[i], (size_t)(t->offset[i + 1] - t->offset[i])};
}

bool tnh_text_same(tnh_text a, tnh_text b);

/* Operand i, or a value, as texts, which are checked. */
tnr_status tnh_texts_in(tnh_call *h, uint32_t i, tnh_texts *out);
tnr_status tnh_texts_of(tnh_call *h, const tnr_value *v, tnh_texts *out);

typedef struct tnh_maker { /* texts that are being made, one after the other */
    int32_t ndim;
    int64_t shape[TNH_MAX_NDIM];
    int64_t n, done;
    int64_t *offset;
    char *bytes;
    size_t used, room;
} tnh_maker;

tnr_status tnh_maker_begin(tnh_call *h, tnh_maker *m, int32_t ndim, const int64_t *shape);
tnr_status tnh_maker_put(tnh_call *h, tnh_maker *m,
                         tnh_text part);              /* more bytes of the element that is being made */
tnr_status tnh_maker_next(tnh_call *h, tnh_maker *m); /* it is complete */
tnr_status tnh_maker_add(tnh_call *h, tnh_maker *m, tnh_text whole);
tnr_status tnh_maker_end(tnh_call *h, tnh_maker *m, tnr_value **out_value); /* after n elements */
tnr_status tnh_maker_out(tnh_call *h, tnh_maker *m, uint32_t o);            /* the same, as result o */

/* ---- tensors of numbers or texts ---- */

typedef struct tnh_any {
    bool is_text;
    int32_t ndim;
    const int64_t *shape;
    int64_t n;
    DLTensor t; /* of numbers */
    tnh_texts texts;
} tnh_any;

/* A value, or, where it is NULL, a tensor in the program's memory. Valid during the call. */
tnr_status tnh_any_of(tnh_call *h, const tnr_value *v, const DLTensor *own, tnh_any *out);
tnr_status tnh_any_in(tnh_call *h, uint32_t i, tnh_any *out);

typedef struct tnh_fill { /* a tensor that is made, from its first element on */
    bool is_text;
    size_t size; /* bytes of an element */
    char *data;
    DLDataType type;
    int32_t ndim;
    int64_t shape[TNH_MAX_NDIM], done;
    tnh_maker texts;
} tnh_fill;

/* Of the kind of elements that `like` has. */
tnr_status tnh_fill_begin(tnh_call *h, tnh_fill *m, const tnh_any *like, int32_t ndim, const int64_t *shape);
/* Elements [from, from + n) of x, which is of that kind, come next. */
tnr_status tnh_fill_copy(tnh_call *h, tnh_fill *m, const tnh_any *x, int64_t from, int64_t n);
tnr_status tnh_fill_end(tnh_call *h, tnh_fill *m, tnr_value **out);
tnr_status tnh_fill_out(tnh_call *h, tnh_fill *m, uint32_t o); /* the same, as result o */

/* ---- elementwise over two operands that repeat by numpy's rules ---- */

typedef struct tnh_pairs {
    int32_t ndim;
    int64_t shape[TNH_MAX_NDIM], n; /* of the result */
    int64_t at[2];                  /* elements of the operands at this element of the result */
    int64_t index[TNH_MAX_NDIM], stride[2][TNH_MAX_NDIM];
} tnh_pairs;

tnr_status tnh_pairs_begin(tnh_call *h, tnh_pairs *p, const tnh_texts *a, const tnh_texts *b);
void tnh_pairs_next(tnh_pairs *p);

/* ---- values ---- */

/* A tensor of the caller's data, copied. */
tnr_status tnh_value_tensor(tnh_call *h, DLDataType type, int32_t ndim, const int64_t *shape,
                            const void *data, tnr_value **out);
/* A constructor's value. The references of fields become the value's, also where this fails. */
tnr_status tnh_value_fields(tnh_call *h, uint32_t tag, uint32_t n, tnr_value **field, tnr_value **out);

/* ---- the functions ---- */

#define HOST_FUNCTION(id, name, n_in, n_out, attributes) tnh_fn tnh_##id;
#include "host/functions.def"
#undef HOST_FUNCTION

#endif
