#ifndef TN_FRONTEND_PYTORCH_BUILTIN_H
#define TN_FRONTEND_PYTORCH_BUILTIN_H
/* Functions that TorchScript calls without an operator of tensors, by their names. */
#include "frontend/pytorch/pytorch.h"

typedef struct pt_builtin {
    const char *name;
    size_t min, max; /* arguments */
    /* false: not of these arguments */
    bool (*run)(pt_import *p, const pt_value *a, size_t n, pt_value *out);
} pt_builtin;

extern const pt_builtin pt_builtins_late[], pt_builtins_list[],
    pt_builtins_number[]; /* a row without a name ends each */

pt_value pt_list_new(pt_import *p, enum pt_kind kind); /* empty, of the code that is read */

#endif
