#ifndef TN_DRIVER_KERNEL_API_H
#define TN_DRIVER_KERNEL_API_H
/* What stands behind the handles of tenon/te.h. */
#include "driver/api.h"
#include "te/te.h"
#include "tenon/te.h"

struct tenon_te {
    tenon_kernel *k;
    tn_tensor *tensor;
    const char *name;
    tenon_te *next; /* in order of making */
};

struct tenon_expr {
    tenon_kernel *k;
    const tn_expr *e;
};

struct tenon_kernel {
    tn_object object; /* first */
    tn_arena arena;
    tn_pool pool;
    tn_graph graph; /* types are read as those of a function's parameters */
    tn_relay_builder *types;
    tn_te te;
    tenon_te *first, **end;
    tn_func *func; /* NULL: not ended */
    tn_sched sched;
    bool failed, is_seen;
    tn_buf text;
    tn_arena seen; /* of info */
    tenon_kernel_info info;
};

/* A kernel of a function's text. NULL: the session says why. */
tenon_kernel *tn_kernel_of_text(tenon *t, const char *file, const char *text, size_t n);

#endif
