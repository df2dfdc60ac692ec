#ifndef TN_CODEGEN_SOURCE_SOURCE_H
#define TN_CODEGEN_SOURCE_SOURCE_H
/* The C printer's state. Private to codegen/source. */
#include "codegen/codegen.h"

typedef struct tn_cgen {
    const tn_unit *unit;
    tn_arena arena;
    tn_buf types, helpers, body; /* parts of the file, in this order */
    tn_strmap have;              /* typedefs and helpers already written */
    const tn_func *func;         /* being printed */
    const char **var, **buffer;  /* names by number */
    uint32_t n_check;            /* of the kernel's variants before this one */
    const char *give;            /* "return", or what else a helper does with its result */
    int indent;
    tn_status status;
    const uint8_t *part_of; /* of each kernel, where the unit is several files; NULL: one file, all static */
    uint8_t part;           /* being printed: 0 the tables, else kernels */
} tn_cgen;

const char *tn_c_type(tn_cgen *g, tn_dtype t); /* writes the typedef on first use */
/* Appends the C text of e. */
void tn_c_expr(tn_cgen *g, const tn_expr *e, tn_buf *out);
const char *tn_c_scalar_type(tn_dtype t);            /* of one lane; NULL: none in C */
const char *tn_c_short_name(tn_cgen *g, tn_dtype t); /* "f32x16"; index is i64 */
bool tn_c_first_use(tn_cgen *g, const char *name);   /* the first time that name is asked for? */
/* Writes a template with operand texts put in for A B C, types of t for T U, an fma of t for F. */
void tn_c_fill(const char *text, tn_dtype t, const char *const arg[], tn_buf *out);
/* Names of helper functions, each written on first use (lanes.c). text: the scalar template, for what has no
 * vector form. */
const char *tn_c_lane_helper(tn_cgen *g, const tn_expr *e, const char *text);
const char *tn_c_helper_splat(tn_cgen *g, tn_dtype t);
const char *tn_c_helper_ramp(tn_cgen *g, tn_dtype t);
const char *tn_c_helper_shuffle(tn_cgen *g, const tn_expr *e);
const char *tn_c_helper_cast(tn_cgen *g, enum tn_ek kind, tn_dtype from, tn_dtype to); /* scalars too */
const char *tn_c_helper_load(tn_cgen *g, tn_dtype t, bool gather, bool masked);
const char *tn_c_helper_store(tn_cgen *g, tn_dtype t, bool scatter, bool masked);
/* Register element name: "acc_3". */
const char *tn_c_register(tn_cgen *g, uint32_t buffer, int64_t element);
void tn_c_phase(tn_cgen *g, const tn_flat *v, const tn_stmt *loop, const char *name);
/* The tn_library tables; phases are called <kernel>_v<variant>_p<phase>. */
void tn_c_tables(tn_cgen *g);

#endif
