#ifndef TN_FRONTEND_PYTORCH_VALUE_H
#define TN_FRONTEND_PYTORCH_VALUE_H
/* Python values: what a pickle holds, and what the code of a model computes while it is read. Memory is the scratch of
 * the import. */
#include "frontend/import/convert.h"

enum pt_kind {
    PT_NONE,
    PT_BOOL,
    PT_INT,
    PT_FLOAT,
    PT_TEXT,
    PT_MESSAGE, /* a text that shows what only the run knows: it can be raised, not looked into */
    PT_LIST,
    PT_TUPLE,
    PT_DICT, /* a list of keys and values in turn */
    PT_TENSOR,
    PT_COMPLEX, /* a tensor of complex numbers: the tensors of their real and of their imaginary parts, as a list */
    PT_LATE_LIST, /* a list whose elements only the run counts: in the cell of its tensor is a sequence */
    PT_NUMBER,    /* a bool, int or float that only the run knows */
    PT_OBJECT,
    PT_GLOBAL,       /* a name of a module: its text */
    PT_STORAGE,      /* of a pickle: data of tensors */
    PT_VALUE,        /* in the cell of a tensor: its value in the graph */
    PT_UNKNOWN,      /* what branches that only the run chooses between made of it has no common form */
    PT_UNSET,        /* a variable that has no value yet */
    PT_UNINITIALIZED /* a value that nothing reads (uninitialized.c) */
};

typedef struct pt_list pt_list;
typedef struct pt_tensor pt_tensor;
typedef struct pt_object pt_object;
typedef struct pt_storage pt_storage;
typedef struct pt_number pt_number;

typedef struct pt_value {
    enum pt_kind kind;
    union {
        bool b;
        int64_t i; /* UNKNOWN: the number of the branch */
        double f;
        tn_bytes text;
        pt_list *list;
        pt_tensor *tensor;
        pt_number *number;
        pt_object *object;
        pt_storage *storage;
        tn_value value;
    };
} pt_value;

typedef struct pt_cell { /* what can be given another value */
    pt_value v;
} pt_cell;

struct pt_list {
    pt_value *at;
    size_t n, cap;
    tn_region *owner; /* where it was made: elsewhere it must not change */
    const void *made; /* the expression of the code that its first elements are from; NULL: another one */
    bool of_file;     /* a pickle has it */
    bool chosen;      /* it is another list, or another list is it, as the run decides: it must not change */
};

struct pt_number {
    enum pt_kind kind; /* BOOL, INT or FLOAT */
    tn_value v;        /* rank 0: bool, int64, float64 */
};

struct pt_storage {
    tn_dtype dtype;
    tn_bytes key;
    bool has_data, loading;
    tn_bytes data;
    int quantised;   /* elements are steps of a scale */
    bool complex;    /* the data is of pairs of this type */
    pt_tensor *last; /* of the tensors that it is the memory of */
};

typedef struct pt_attr {
    tn_bytes name;
    pt_cell cell;
} pt_attr;

struct pt_object {
    tn_bytes type; /* the name of its class */
    pt_attr *at;
    size_t n, cap;
    bool made;        /* by the run */
    bool restored;    /* its class has made of the state what it makes */
    const char *path; /* "layer1.0"; NULL: not known */
    pt_value state;   /* what its class makes of it is not known: as the file has it */
};

enum { PT_MAX_RANK = 64 };

struct pt_tensor {
    pt_cell now;   /* NONE: not in the graph yet; VALUE */
    uint32_t born; /* how many the run had made before; of the file's 0 */
    /* a constant of the file */
    pt_storage *storage;
    struct pt_tensor *before; /* another one of that storage; NULL: none */
    int64_t offset;           /* elements */
    int n;
    const int64_t *dim, *stride;
    const char *name;
    /* a view of another tensor, which changes with it */
    struct pt_tensor *base;
    const struct pt_call *made;  /* how */
    uint32_t part;               /* which of its results */
    uint32_t depth;              /* views that it is a view of */
    uint32_t stamp, seen;        /* changes of this one; of its bases that `now` knows of */
    struct pt_tensor *either[2]; /* NULL, or it is one of these, which the run decides */
    struct pt_alias *alias;      /* tensors that may be this one: of one memory in some runs */
    uint32_t walk;               /* the last one over these that came here */
    bool stale;                  /* one of these was changed in place */
    bool
        strided; /* no view, but made of tensors whose elements may lie in another order, which it may have kept */
    const char *
        fixed; /* an operator that made a copy where PyTorch shares memory, which must not change; NULL: none */
    const char
        *shared; /* as the run begins, another tensor is of the same memory; the attribute; NULL: none */
    enum pt_kind elements; /* of a LATE_LIST; NONE: there was none yet */
    bool number;           /* a part of a complex number of Python: it does not decide types */
    bool constant; /* of the table CONSTANTS and of rank 0: where PT_OF_NUMBER says so it is a number */
    /* of quantised elements: value = (element - zero) * scale */
    bool quantised;
    pt_value steps; /* (scheme, scale, zero point[, axis]) */
};

/* How often it and the tensors that it is a view of have changed. */
static inline uint32_t pt_changes_of(const pt_tensor *t)
{
    uint32_t n = 0;
    for (; t; t = t->base)
        n += t->stamp;
    return n;
}

static inline pt_value pt_none(void) { return (pt_value){.kind = PT_NONE}; }
static inline pt_value pt_bool(bool b) { return (pt_value){.kind = PT_BOOL, .b = b}; }
static inline pt_value pt_int(int64_t i) { return (pt_value){.kind = PT_INT, .i = i}; }
static inline pt_value pt_float(double f) { return (pt_value){.kind = PT_FLOAT, .f = f}; }
static inline pt_value pt_text(tn_bytes s) { return (pt_value){.kind = PT_TEXT, .text = s}; }
pt_value pt_words(const char *text);
bool pt_is_text(pt_value v, const char *text);
static inline bool pt_is_sequence(pt_value v) { return v.kind == PT_LIST || v.kind == PT_TUPLE; }
static inline bool pt_is_tensor(pt_value v) { return v.kind == PT_TENSOR || v.kind == PT_COMPLEX; }
/* Is it made of other values, at list->at? */
static inline bool pt_has_parts(pt_value v)
{
    return pt_is_sequence(v) || v.kind == PT_DICT || v.kind == PT_COMPLEX;
}
static inline pt_value pt_at(pt_value v, size_t i) /* of what has parts; NONE: there is none */
{
    return i < v.list->n ? v.list->at[i] : pt_none();
}
/* Has it a pt_tensor, which changes? */
static inline bool pt_has_tensor(pt_value v) { return v.kind == PT_TENSOR || v.kind == PT_LATE_LIST; }
/* The one tensor of a TENSOR, the two of a COMPLEX. */
static inline size_t pt_tensors_in(pt_value v) { return v.kind == PT_COMPLEX ? 2 : 1; }
static inline pt_tensor *pt_tensor_at(pt_value v, size_t i)
{
    return v.kind == PT_COMPLEX ? pt_at(v, i).tensor : v.tensor;
}
/* What tensor i of v is called, where v is called `name`. */
const char *pt_part_name(tn_arena *a, pt_value v, size_t i, const char *name);
pt_value pt_make(tn_arena *a, enum pt_kind kind, size_t n, const pt_value at[]); /* what has parts */
void pt_push(tn_arena *a, pt_list *l, pt_value v);
bool pt_same(pt_value a, pt_value b); /* numbers by value, containers by identity */
/* The value of the last such key; NULL: none. */
pt_value *pt_dict_find(pt_value dict, pt_value key);
pt_cell *pt_attr_find(pt_object *o, tn_bytes name); /* NULL: none */
pt_cell *pt_attr_add(tn_arena *a, pt_object *o, tn_bytes name);
const char *pt_kind_name(enum pt_kind kind);

/* ---- pickles (pickle.c) ---- */
/* Reads one pickle from data at *at, which moves behind it. Nothing is executed: names outside of a short list become
 * objects without a class. NULL, or what is wrong. */
typedef struct pt_pickle {
    tn_arena *arena;
    tn_bytes data;
    size_t at;
    tn_strmap *storages; /* key -> pt_storage *; shared by the pickles of a file */
    size_t budget;       /* values that it may yet make */
} pt_pickle;
const char *pt_unpickle(pt_pickle *p, pt_value *out);
/* A tensor of complex numbers that a file describes: offset and strides count pairs of the storage's type. NONE: it is
 * larger than can be. */
pt_value pt_complex_stored(tn_arena *a, const pt_tensor *t);
pt_value pt_complex_number(tn_arena *a, double re, double im); /* as COMPLEX of rank 0 */
bool pt_storage_dtype(tn_bytes name, pt_storage *out);         /* "FloatStorage" */

#endif
