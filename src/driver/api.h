#ifndef TN_DRIVER_API_H
#define TN_DRIVER_API_H
/* What stands behind the handles of tenon/tenon.h: a session owns objects (modules, kernels under construction) and the
 * results of its last call.
 *
 * Every public call is one of the functions below, which run its body under a guard (base/guard.h): what is raised in
 * it ends there, as an error. Each object has a heap and a context of its own. A call that looks at an object works in
 * the session's heap, in a child of the object's context, and leaves the object as it is whatever happens. A call that
 * changes an object works in the object's heap; if it is ended early, the object is dead, and its memory
 * stays until the user frees it, because handles of functions and values point there. */
#include "driver/driver.h"
#include "tenon/relay.h"

typedef struct tn_object {
    tenon *session;
    struct tn_object *prev, *next;
    struct tn_object *lender; /* whose memory this one refers to; NULL: nobody's */
    uint32_t n_borrower;      /* objects that refer to its memory */
    bool freed;               /* by the user; it stays until the last of those is */
    tn_heap heap;
    tn_ctx ctx;
    bool dead;
} tn_object;

struct tenon {
    tn_heap heap, kept; /* of what the last call made; of what is said after one that was ended early */
    tn_ctx ctx;         /* of the last call; its reports */
    tn_build build;
    tn_object *frozen;        /* that the last call looks at; NULL: none */
    bool speechless;          /* no memory was left for messages */
    bool (*fail)(void *user); /* tn_session_fail */
    void *fail_user;
    tenon_diagnostic *diag; /* ctx's reports for the public */
    tn_buf messages, text, data;
    tn_object *objects;
};

struct tenon_module {
    tn_object object; /* first */
    tn_build build;   /* what import leaves */
    tn_tir_text *tir; /* NULL: Relay */
    tn_arena seen;    /* of info */
    tenon_module_info info;
    tn_buf text, copied; /* as printed: for the user, for copies */
    bool lends;          /* copies refer to constants that it made */
    bool is_viewed;
    tn_arena viewed; /* of view */
    tenon_function_view view;
};

/* An object of `bytes`, which begins with a tn_object; NULL: out of memory, which the session then says. */
void *tn_object_new(tenon *t, size_t bytes);
void tn_object_free(tn_object *o); /* and the results of the last call; NULL does nothing */
void tn_object_drop(tn_object *o); /* but what the last call, which made it in vain, said */
/* o refers to memory of `lender`, which stays as long as o. */
void tn_object_borrow(tn_object *o, tn_object *lender);

typedef tn_status tn_session_fn(tenon *t, void *user);
typedef tn_status tn_object_fn(tn_object *o, void *user);
/* Each returns what the public call returns. The session's build is an empty one with the options, */
int tn_session_call(tenon *t, const tenon_options *o, tn_session_fn *fn, void *user);
/* or begins with a copy of the module (NULL: the call fails in silence), which must have a @main. */
int tn_module_call(tenon_module *m, const tenon_options *o, tn_session_fn *fn, void *user);
/* Empty, in a child of the object's context. */
int tn_object_call(tn_object *x, const tenon_options *o, tn_session_fn *fn, void *user);
int tn_object_change(tn_object *x, const tenon_options *o, tn_object_fn *fn, void *user); /* NULL: as above */

tenon_module *tn_module_of_text(tenon *t, const char *name, const char *text); /* TIR, copied */

TN_WARN_UNUSED tn_status tn_report_no_size(tn_ctx *ctx, const char *type); /* driver-E100 */
/* Copies a struct of options, which begins with its size, to one of n zeros. A caller of an older version gives
 * less, at least `least` bytes; one of a newer version more, all zero. driver-E100, E101. */
TN_WARN_UNUSED tn_status tn_options_copy(tn_ctx *ctx, const char *type, void *out, size_t n,
                                         const void *given, size_t n_given, size_t least);
/* Options as this version knows them. */
TN_WARN_UNUSED tn_status tn_options_read(tn_ctx *ctx, const tenon_options *o, tenon_options *out);

/* build.c */
TN_WARN_UNUSED tn_status tn_report_check(tenon *t, const tenon_report *r); /* NULL: there is none */
void tn_report_fill(tenon *t, size_t bytes, tenon_report *out);

/* here.c: the code and the weights of a module that runs in this process. */
typedef struct tn_here tn_here;
tn_here *tn_here_new(tenon *t); /* NULL: out of memory */
/* In a call: compiles the unit of the session's build. */
TN_WARN_UNUSED tn_status tn_here_open(tenon *t, tn_here *x, tnr_module **out);
/* The module of b's unit; params, n bytes aligned to 64, stay as long as it does, and so does *out_code, which the
 * generator's here_free releases. */
TN_WARN_UNUSED tn_status tn_here_make(tn_build *b, const void *params, size_t n, void **out_code,
                                      tnr_module **out);
int tn_here_end(tn_here *x, int failed); /* after the call; returns `failed` */

#endif
