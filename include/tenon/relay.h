#ifndef TENON_RELAY_H
#define TENON_RELAY_H
/* Relay modules built by hand, and what is in a module. docs/relay.md has the language; tenon_operator_get lists the
 * operators.
 *
 *     tenon_module *m = tenon_module_new(t);
 *     tenon_function *f = tenon_function_new(m, "main");
 *     tenon_value *x = tenon_param(f, "x", "Tensor[(n, 4), float32]");
 *     tenon_value *w = tenon_constant(f, "float32", 2, (int64_t[]){3, 4}, weights);
 *     tenon_value *y = tenon_call(f, "nn.dense", 2, (tenon_value *[]){x, w}, "units=3");
 *     tenon_value *z = tenon_relay(f, "nn.relu(%0) + 1f", 1, &y);
 *     if (tenon_function_end(f, 1, &z))
 *         fputs(tenon_messages(t), stderr);
 *
 * Values and functions live as long as their module. Types are inferred, and mistakes found, by each call. After an
 * error a function is of no use: later calls on it fail and leave the diagnostics as they are, so it is enough to look
 * at what tenon_function_end returns. In diagnostics, the file is the function and the line is the number of the call
 * on it. Each call is O(its text), an inferred shape included. */
#include "tenon/tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_function tenon_function;
typedef struct tenon_value tenon_value; /* a tensor, a tuple, or the results of an operator */

tenon_module *tenon_module_new(tenon *t); /* without functions; a program needs @main */
/* The range of a symbol that stands in types; without this it is [1, 2^31 - 1]. */
int tenon_symbol(tenon_module *m, const char *name, int64_t min, int64_t max);

/* A function of the module; it can be called from functions made after it. One function is built at a time. */
tenon_function *tenon_function_new(tenon_module *m, const char *name);
/* A parameter, with a type as Relay writes it: "Tensor[(n, 64), float32]". A name in a dimension is a symbol. */
tenon_value *tenon_param(tenon_function *f, const char *name, const char *type);
/* A tensor of known data, row-major; the data are copied. dtype: "float32", "int64", "bool", ... */
tenon_value *tenon_constant(tenon_function *f, const char *dtype, int ndim, const int64_t shape[],
                            const void *data);
/* A call of an operator. `attributes`: as Relay writes them, "units=64, out_dtype=float32"; NULL or "": defaults. */
tenon_value *tenon_call(tenon_function *f, const char *op, int n, tenon_value *const arg[],
                        const char *attributes);
/* Any expression of Relay, in which %0, %1, ... are arg[] and %name is a parameter: "nn.relu(%0) + 1f", "(%0, %1)" for
 * a tuple, "%0.1" for a field or a result, "@f(%0)", "if (%0) { %1 } else { nn.relu(%1) }", "None" for an operand that
 * is absent. */
tenon_value *tenon_relay(tenon_function *f, const char *text, int n, tenon_value *const arg[]);
/* "Tensor[(n, 3), float32]"; "" for the results of an operator with several; lives as long as the module. */
const char *tenon_value_type(tenon_value *v);
/* Ends the function with its results, and verifies the module. */
int tenon_function_end(tenon_function *f, int n, tenon_value *const result[]);

typedef struct tenon_bytes {
    const void *data;
    size_t n;
} tenon_bytes;
/* A module of a text whose meta[relay.Constant][k] has the data constant[k]; NULL: not known, so that it cannot run.
 * The text is copied, the data are borrowed for as long as the module lives. */
tenon_module *tenon_relay_parse(tenon *t, const char *text, uint32_t n, const tenon_bytes constant[]);

/* ---- operators ---- */

enum tenon_attribute_kind {                        /* how Relay writes it: */
                            TENON_ATTRIBUTE_INT,   /* 3 */
                            TENON_ATTRIBUTE_REAL,  /* 0.5 */
                            TENON_ATTRIBUTE_BOOL,  /* True */
                            TENON_ATTRIBUTE_TEXT,  /* "NCHW" */
                            TENON_ATTRIBUTE_DTYPE, /* "float32" */
                            TENON_ATTRIBUTE_INTS,  /* [1, 2] */
                            TENON_ATTRIBUTE_DIMS,  /* [n, 4*h, 2]: index expressions */
                            TENON_ATTRIBUTE_TEXTS, /* ["a", "b"] */
                            TENON_ATTRIBUTE_REALS  /* [0.5, 1.0] */
};
typedef struct tenon_attribute_record {
    const char *name;
    enum tenon_attribute_kind kind;
    const char *value; /* the default, as Relay writes it; NULL: it must be given */
    const char *doc;
} tenon_attribute_record;
typedef struct tenon_operator_record { /* fields may be added at the end */
    const char *name, *doc;
    int n_operand, least_operands; /* n_operand -1: any number from least_operands on */
    const char *const *operand;    /* their names; NULL: they have none */
    uint32_t n_attribute;
    int has_effect;   /* 1: calls of such operators and of functions keep their order */
    int binds;        /* 1: symbols in its attributes are known to what follows it in the text */
    int is_structure; /* 1: structure of a text (fn, if, a tuple), not for tenon_call */
} tenon_operator_record;
/* Operator i, as tenon_operator_name counts, and its attribute k. 1: there is none. */
int tenon_operator_get(size_t i, tenon_operator_record *out);
int tenon_operator_attribute(size_t i, uint32_t k, tenon_attribute_record *out);
/* The same of attributes that only TVM's operator of the name has: texts may give them, and are read as other calls
 * where they say something (batch_dims of take). */
int tenon_operator_foreign(size_t i, uint32_t k, tenon_attribute_record *out);
/* The same of operators of TVM that are several calls here: a text may call them and is read as these, so that no node
 * has them and tenon_call does not take them. */
int tenon_form_get(size_t i, tenon_operator_record *out);
int tenon_form_attribute(size_t i, uint32_t k, tenon_attribute_record *out);

/* ---- what is in a function ---- */

#define TENON_ABSENT UINT32_MAX
typedef struct tenon_operand { /* a result of a node */
    uint32_t node, result;     /* node TENON_ABSENT: None, an operand that is absent */
} tenon_operand;
typedef struct tenon_region {           /* the lines between two braces */
    uint32_t n_param, n_node, n_result; /* the first n_param nodes are its parameters */
    const uint32_t *node;               /* by number, in order of execution */
    const tenon_operand *result;
} tenon_region;
typedef struct tenon_node {
    /* An operator; or "var" (a parameter), "constant", "tuple", "tuple_get" (operand.index), "global" (@name), "fn"
     * (region 0), "call" (operand 0 is the function), "if" (operand 0, regions 0 and 1), "loop" (region 0), "match"
     * (operand 0, a region for each constructor), "construct" (a constructor's name), "self" (the function around). */
    const char *op;
    const char *name;       /* of a parameter, or of a constant in the model; "" */
    const char *source;     /* the model's node that it came from; "" */
    const char *attributes; /* those that differ from their defaults, as tenon_call takes them */
    uint32_t n_operand, n_result, n_region;
    const tenon_operand *operand;
    const char *const *type; /* of each result, as Relay writes it */
    const tenon_region *region;
    /* of a constant: */
    DLDataType dtype;
    int32_t ndim;
    const int64_t *shape; /* logical extents */
    const char *layout;   /* how the data lie, "NCHW16c"; NULL: row-major */
    const void *data;     /* NULL: not known; lives as long as the module stays as it is */
    size_t bytes;
} tenon_node;
typedef struct tenon_function_view { /* fields may be added at the end */
    const char *name;
    uint32_t n_node;
    const tenon_node *node; /* those of a region before the node that holds it */
    tenon_region body;
    const char *result_type; /* where the function declares it; "" */
} tenon_function_view;
/* The nodes of a function, as they stand. Valid until the next such call on m, or its end. NULL after an error. */
const tenon_function_view *tenon_function_inspect(tenon_module *m, const char *name);

#ifdef __cplusplus
}
#endif
#endif
