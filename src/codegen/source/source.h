#ifndef TN_CODEGEN_SOURCE_SOURCE_H
#define TN_CODEGEN_SOURCE_SOURCE_H
/* The C printer's state. Private to codegen/source. */
#include "codegen/codegen.h"

typedef struct tn_cgen {
    const tn_unit *unit;
    tn_arena arena;
    tn_buf types, helpers, body;   /* parts of the file, in this order */
    tn_strmap have;                /* typedefs and helpers already written */
    const tn_func *func;           /* being printed */
    const char **var, **buffer;    /* names by number */
    uint32_t n_check;              /* checks printed in this kernel so far */
    int indent;
    tn_status status;
} tn_cgen;

const char *tn_c_type(tn_cgen *g, tn_dtype t);                 /* writes the typedef on first use */
/* Appends the C text of e. */
void tn_c_expr(tn_cgen *g, const tn_expr *e, tn_buf *out);
/* Calls of helpers that the expression printer and the statement printer share. */
const char *tn_c_helper_load(tn_cgen *g, tn_dtype t, bool gather, bool masked);
const char *tn_c_helper_store(tn_cgen *g, tn_dtype t, bool scatter, bool masked);
/* Register element name: "acc_3". */
const char *tn_c_register(tn_cgen *g, uint32_t buffer, int64_t element);
void tn_c_phase(tn_cgen *g, const tn_flat *v, const tn_stmt *loop, const char *name);
/* The tn_library tables; phases are called <kernel>_v<variant>_p<phase>. */
void tn_c_tables(tn_cgen *g);
tn_status tn_c_unsupported(tn_cgen *g, tn_dtype t);

#endif
