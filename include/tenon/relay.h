#ifndef TENON_RELAY_H
#define TENON_RELAY_H
/* Relay modules built by hand. docs/relay.md has the language; tenon_operator_name lists the operators.
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

#ifdef __cplusplus
}
#endif
#endif
