#ifndef TN_CLI_VALUES_H
#define TN_CLI_VALUES_H
/* Values that are no tensors of numbers, as arrays of an .npz: tensors of texts are arrays of str under the value's
 * name, elements of a sequence, and of a List that is an output, have the names NAME.0, NAME.1, ..., keys and values of
 * a map NAME.keys and NAME.values. An optional value is what it holds, or no array. */
#include "cli/npz.h"
#include "tenon/runtime.h"

/* An input of that type (as Relay writes it) from arrays that have its name, or begin with it and a dot. All errors are
 * printed. */
int tn_value_read(tnr_instance *x, const char *name, const char *type, int n, const tn_array part[],
                  tnr_value **out);
/* Adds the arrays of an output of that type to the archive. */
int tn_value_write(tn_npz_out *z, const char *name, const char *type, const tnr_value *v);

#endif
