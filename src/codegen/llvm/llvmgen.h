#ifndef TN_CODEGEN_LLVM_LLVMGEN_H
#define TN_CODEGEN_LLVM_LLVMGEN_H
/* State of the LLVM emitter. Private to codegen/llvm; LLVM is used through its C API alone. */
#include "base/vec.h"
#include "codegen/codegen.h"

#include <llvm-c/Core.h>

typedef struct tn_lvalue {
    LLVMValueRef v;
    uint32_t region;
} tn_lvalue;

enum { TN_LLVM_TEXT = 400 }; /* bytes of what LLVM says, cut */
enum { TN_L_MOST_LANES = 64 };

/* What became of LLVM's work on something. */
typedef struct tn_llvm_fate {
    bool dead;                    /* a fatal error ended it */
    char complaint[TN_LLVM_TEXT]; /* "": none */
} tn_llvm_fate;

/* Tiles of matrix units (tile.c). */
enum { TN_L_TILES = 8, TN_L_SUMS = 16 };
typedef struct tn_l_tiling tn_l_tiling;
typedef struct tn_l_accumulator {
    uint32_t buffer;
    int64_t first, stride; /* in elements */
    int64_t rows, columns;
    bool turned;  /* the first factor is signed and the second is not */
    bool cleared; /* by the first statement that uses it */
} tn_l_accumulator;
typedef struct tn_l_operand {
    uint32_t buffer;
    const tn_expr *first, *stride; /* NULL: none is loaded */
} tn_l_operand;
typedef struct tn_l_tiles {
    const tn_l_tiling *by; /* what the phase at hand multiplies with; NULL: it does not */
    const tn_stmt
        *last;  /* of the run: statements between which tiles stay in registers; NULL: none is open */
    uint32_t n; /* accumulators */
    tn_l_accumulator sum[TN_L_SUMS];
    tn_l_operand operand[TN_L_TILES]; /* AMX: by register, accumulators in the first */
    uint32_t next;                    /* AMX: register of an operand to be loaded */
    LLVMValueRef at[TN_L_SUMS];       /* NEON: accumulators */
} tn_l_tiles;

typedef struct tn_lgen {
    const tn_unit *unit;
    tn_arena arena;
    LLVMContextRef c;
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, tvoid;
    const char *features; /* target-features of every function */
    /* the function being emitted */
    const tn_func *func;
    LLVMValueRef fn;
    LLVMValueRef *buffer;   /* base pointer by number (GLOBAL, LOCAL) */
    LLVMValueRef **element; /* REGISTER: an alloca per element */
    LLVMValueRef *var;      /* by variable number */
    LLVMValueRef sym;       /* i64 pointer to the symbols */
    LLVMValueRef *symbol;   /* loaded symbols; by position in func->symbol */
    const char *const *symbol_name;
    uint32_t n_symbol;
    tn_map memo; /* expression with a load -> value, within one statement */
    tn_map pure; /* other expression, or base address -> 1 + position in `known` */
    tn_vec(tn_lvalue) known;
    tn_vec(bool) alive; /* by region: a list of statements whose values may still be used */
    uint32_t region;
    tn_l_tiles tiles;
    uint32_t n_check;       /* of the kernel's variants before this one */
    uint32_t n_size;        /* size functions made */
    bool any_symbols;       /* a size is asked for symbols of 0 too: it divides by 0 to 0 */
    const uint8_t *part_of; /* kernel -> part; NULL: one module holds all */
    uint8_t part;
    tn_llvm_fate fate;
    const char *fail_id, *fail_text; /* first failure; reported once all parts are done */
    tn_status status;
} tn_lgen;

LLVMTypeRef tn_l_type(tn_lgen *g, tn_dtype t);        /* in registers: bool is i1 */
LLVMTypeRef tn_l_memory_type(tn_lgen *g, tn_dtype t); /* in memory: bool is i8 */
LLVMValueRef tn_l_expr(tn_lgen *g, const tn_expr *e);
/* Values without loads are kept while the list they were made in lasts. Returns the region to go back to. */
uint32_t tn_l_region_enter(tn_lgen *g);
void tn_l_region_leave(tn_lgen *g, uint32_t back);
/* Before and after a statement of a list: tiles that it multiplies are in registers (tile.c). */
void tn_l_tiles_before(tn_lgen *g, const tn_stmt *s);
void tn_l_tiles_after(tn_lgen *g, const tn_stmt *s);
bool tn_l_tile(tn_lgen *g, const tn_stmt *loop); /* emits a nest; false: it is loops like others */
void tn_l_tiles_forget(tn_lgen *g); /* operands: memory has changed, or control comes from elsewhere */
bool tn_l_tiles_have_state(const tn_lgen *g);
void tn_l_tiles_on(tn_lgen *g); /* begins and ends the use of tiles in a task that has their state */
void tn_l_tiles_off(tn_lgen *g);
bool tn_l_has_feature(const tn_lgen *g, const char *name);
void tn_l_forget(tn_lgen *g); /* all values: a new function begins */
/* Address of an element at a scalar offset: accesses that differ by a constant share their base. */
LLVMValueRef tn_l_address(tn_lgen *g, tn_dtype t, uint32_t buffer, const tn_expr *at);
LLVMValueRef tn_l_to_memory(tn_lgen *g, tn_dtype t, LLVMValueRef v);
LLVMValueRef tn_l_intrinsic(tn_lgen *g, const char *name, int n_type, LLVMTypeRef type[], int n,
                            LLVMValueRef arg[]);
LLVMValueRef tn_l_int(tn_lgen *g, int64_t v); /* i64 constant */
/* The number i, or f of a float, in all lanes of t. */
LLVMValueRef tn_l_constant(tn_lgen *g, tn_dtype t, int64_t i, double f);
LLVMValueRef tn_l_cast(tn_lgen *g, const tn_expr *e);
/* An alloca in the entry block, so that mem2reg sees it. */
LLVMValueRef tn_l_local(tn_lgen *g, LLVMTypeRef t, const char *name);
void tn_l_function_attributes(tn_lgen *g, LLVMValueRef fn);
/* Emits phase `loop` of v; returns the function of type tn_phase_fn. */
LLVMValueRef tn_l_phase(tn_lgen *g, const tn_flat *v, const tn_stmt *loop, const char *name);
/* Emits the constant tables and the query function. phase: of all kernels, variants, phases in order. */
void tn_l_tables(tn_lgen *g, LLVMValueRef *phase);
void tn_l_fail(tn_lgen *g, const char *id, const char *text);

#endif
