/* The C file of a unit: ABI structures, types, helpers, one function per phase, the tables of the library. It
 * includes nothing, so it compiles freestanding; contraction is off, so gcc, clang and the interpreter agree
 * bit for bit. */
#include "codegen/names.h"
#include "codegen/source/source.h"

#include <string.h>

static const char head[] =
    "/* float arithmetic as written */\n"
    "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
    "#if __has_builtin(__builtin_elementwise_fma)\n#define TN_FMA __builtin_elementwise_fma\n#endif\n"
    "#if __has_builtin(__builtin_elementwise_sqrt)\n#define TN_SQRT __builtin_elementwise_sqrt\n#endif\n"
    "#else /* gcc 12 gives the masked loads of unrolled turns one mask; what pays as vectors is written as "
    "such */\n"
    "#pragma GCC optimize(\"fp-contract=off\", \"no-tree-loop-vectorize\")\n#endif\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\" /* nothing outside calls what has vectors */\n"
    "#if defined(TN_SQRT)\n#define tn_sqrtf(a) TN_SQRT(a)\n#define tn_sqrt(a) TN_SQRT(a)\n"
    "#elif defined(__SSE2__) /* elsewhere compile with -fno-math-errno, or sqrt may be a call */\n"
    "typedef double tn_sse_d __attribute__((vector_size(16)));\n"
    "#define tn_sqrtf(a) (__builtin_ia32_sqrtss((tn_sse_s){a})[0])\n#define tn_sqrt(a) "
    "(__builtin_ia32_sqrtsd((tn_sse_d){a})[0])\n#else\n"
    "#define tn_sqrtf(a) __builtin_sqrtf(a)\n#define tn_sqrt(a) __builtin_sqrt(a)\n#endif\n"
    "typedef float tn_sse_s __attribute__((vector_size(16)));\n"
    "#define TN_INLINE static inline __attribute__((always_inline, unused))\n"
    "#define TN_APART static __attribute__((noinline, unused)) /* inlined it would be the most of the code "
    "*/\n"
    "typedef __INT8_TYPE__ int8_t; typedef __INT16_TYPE__ int16_t; typedef __INT32_TYPE__ int32_t; typedef "
    "__INT64_TYPE__ int64_t;\n"
    "typedef __UINT8_TYPE__ uint8_t; typedef __UINT16_TYPE__ uint16_t; typedef __UINT32_TYPE__ uint32_t; "
    "typedef __UINT64_TYPE__ uint64_t;\n"
    "typedef __UINTPTR_TYPE__ uintptr_t;\ntypedef signed char tn_bool;\n#define INT64_C(x) x##LL\n\n";

/* tenon/abi.h without its comments; */
static const char abi[] =
    "/* tenon/abi.h, version 1 */\n"
    "typedef int64_t tn_size_fn(const int64_t *sym);\n"
    "typedef struct { int64_t value; tn_size_fn *fn; } tn_size;\n"
    "typedef struct { uint32_t version, reserved0; void *reserved[7]; } tn_host;\n"
    "typedef struct { void *const *arg; const int64_t *sym; void *work; const tn_host *host; void *user, "
    "*reserved[1]; } tn_call;\n"
    "typedef int32_t tn_phase_fn(const tn_call *call, uint32_t step, uint32_t task, void *scratch);\n"
    "typedef struct { const char *function; tn_size grid[3], block[3], shared_bytes; } tn_launch;\n"
    "typedef struct { tn_phase_fn *run; tn_size tasks; uint32_t flags, reserved0; const tn_launch *launch; } "
    "tn_phase;\n"
    "typedef struct { tn_size guard, steps, work_bytes; uint64_t scratch_bytes; const tn_phase *phase; "
    "uint64_t n_phase; } tn_variant;\n"
    "typedef struct { uint16_t in, out; uint32_t kind; } tn_overlap;\n"
    "typedef struct { const char *name, *source; const tn_variant *variant; const char *const *check; "
    "uint32_t n_variant, n_check, n_in, n_out, n_sym, n_overlap; const tn_overlap *overlap; const char "
    "*function; uint32_t module, device; } tn_kernel;\n"
    "typedef struct { tn_size floats, bfloat16, integers; } tn_operations;\n"
    "typedef struct { const char *name; uint8_t kind, storage, code, bits; uint16_t ndim, device; const "
    "tn_size *dim; const int32_t *bind; tn_size bytes, offset; int64_t alias; uint32_t segment, reserved0; } "
    "tn_slot;\n"
    "typedef struct { uint32_t op, a, operand, n_operand; const char *node; } tn_inst;\n"
    "typedef struct { const char *name; int64_t min, max; } tn_symbol;\n"
    "typedef struct { const char *name; const tn_slot *slot; const tn_symbol *symbol; const tn_inst *inst; "
    "const uint32_t *operand;\n"
    "                 uint32_t n_slot, n_symbol, n_inst, n_operand, n_late, n_size, n_segment, reserved0; "
    "tn_size arena_bytes, work_offset;\n"
    "                 const tn_size *size, *segment_bytes; } tn_program_function;\n"
    "typedef struct { const char *name, *initial; const tn_size *dim; uint64_t bytes, extent; uint8_t code, "
    "bits; uint16_t ndim; int16_t axis; uint16_t device; int32_t init; uint32_t reserved0; } tn_state;\n"
    "typedef struct { const tn_program_function *function; const tn_state *state; const char *const *text; "
    "uint32_t n_function, n_state, n_text, depth; void *reserved[2]; } tn_program;\n"
    "typedef struct { const char *name, *kind; const void *blob; uint64_t bytes; const uint32_t *import; "
    "uint32_t n_import, reserved0; } tn_module;\n"
    "typedef struct { const char *kind; uint32_t id, align; } tn_device;\n"
    "typedef struct { uint32_t version, n_kernel; const tn_kernel *kernel; const tn_program *program; const "
    "char *producer, *target;\n"
    "                 const char *const *feature; uint32_t n_feature, n_metadata; const char *const "
    "*metadata; "
    "const tn_operations *operations; const tn_module *module; const tn_device *device; uint32_t n_module, "
    "n_device; void *reserved[4]; } tn_library;\n\n";

/* Arithmetic that C has no operator for. */
static const char arithmetic[] =
    "/* by 0 gives 0; the one quotient that overflows, by -1, wraps */\n"
    "TN_INLINE uint64_t tn_udiv(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }\n"
    "TN_INLINE uint64_t tn_umod(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }\n"
    "TN_INLINE int64_t tn_truncdiv(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? "
    "(int64_t)(0 - (uint64_t)a) : a / b; }\n"
    "TN_INLINE int64_t tn_truncmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }\n"
    "TN_INLINE int64_t tn_floordiv(int64_t a, int64_t b) { int64_t r = tn_truncmod(a, b); return "
    "tn_truncdiv(a, b) - (r != 0 && (r < 0) != (b < 0)); }\n"
    "TN_INLINE int64_t tn_floormod(int64_t a, int64_t b) { int64_t r = tn_truncmod(a, b); return r != 0 && "
    "(r < 0) != (b < 0) ? r + b : r; }\n"
    "TN_INLINE float tn_truncf(float a) { return a < 0x1p23f && a > -0x1p23f ? "
    "__builtin_copysignf((float)(int32_t)a, a) : a; }\n"
    "TN_INLINE float tn_floorf(float a) { float t = tn_truncf(a); return t > a ? t - 1.0f : t; }\n"
    "TN_INLINE float tn_roundf(float a) { float m = 0x1p23f; return !(a < m && a > -m) ? a : "
    "__builtin_copysignf(a < 0 ? (a - m) + m : (a + m) - m, a); }\n"
    "TN_INLINE double tn_trunc(double a) { return a < 0x1p52 && a > -0x1p52 ? "
    "__builtin_copysign((double)(int64_t)a, a) : a; }\n"
    "TN_INLINE double tn_floor(double a) { double t = tn_trunc(a); return t > a ? t - 1.0 : t; }\n"
    "TN_INLINE double tn_round(double a) { double m = 0x1p52; return !(a < m && a > -m) ? a : "
    "__builtin_copysign(a < 0 ? (a - m) + m : (a + m) - m, a); }\n\n";

/* The instruction sets the unit was lowered for, where the compiler must be told: it may use them, and an fma
 * is no call. */
static void target(const tn_unit *u, tn_buf *out)
{
    tn_buf list = {0};
    for (uint32_t i = 0; i < u->n_feature; i++)
        if (tn_feature_is_told(u->feature[i]))
            tn_buf_printf(&list, "%s%s", list.n ? "," : "", u->feature[i]);
    if (list.n)
        tn_buf_printf(out,
                      "#if defined(__clang__)\n#pragma clang attribute push(__attribute__((target(\"%s\"))), "
                      "apply_to = function)\n"
                      "#else\n#pragma GCC target(\"%s\")\n#endif\n",
                      tn_buf_cstr(&list), tn_buf_cstr(&list));
    tn_buf_deinit(&list);
}

typedef struct {
    const tn_func *f;
} namer;
static const char *var_name(const void *u, uint32_t i) { return ((const namer *)u)->f->var[i].name; }
static const char *buffer_name(const void *u, uint32_t i) { return ((const namer *)u)->f->buffer[i].name; }

static bool is_here(const tn_cgen *g, uint32_t k) { return !g->part_of || g->part_of[k] == g->part; }

static void phase(tn_cgen *g, const tn_flat *v, const tn_stmt *loop, const char *name, bool here)
{
    if (here)
        tn_c_phase(g, v, loop, name);
    else
        tn_buf_printf(&g->body, "TN_HIDDEN tn_phase_fn %s;\n", name);
}

/* Text of the model's inside a comment, which it must not end, and compilers warn of one inside another. */
static void comment(tn_buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        bool mark = (c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*');
        tn_buf_char(out, (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c);
        if (mark)
            tn_buf_char(out, ' ');
    }
}

static void kernel(tn_cgen *g, const tn_kernel_ir *k, bool here)
{
    g->n_check = 0;
    if (!g->part) {
        tn_buf_printf(&g->body, "/* %s: ", k->name);
        comment(&g->body, k->source && *k->source ? k->source : "no model node");
        tn_buf_str(&g->body, " */\n");
    }
    for (uint32_t v = 0; v < k->n_variant; v++) {
        const tn_func *f = k->variant[v].func;
        namer n = {f};
        tn_strmap taken = {0};
        g->func = f;
        g->buffer = tn_unique_names(&g->arena, f->n_buffer, buffer_name, &n, &taken);
        g->var = tn_unique_names(&g->arena, f->n_var, var_name, &n, &taken);
        tn_strmap_deinit(&taken);
        uint32_t p = 0;
        for (const tn_stmt *s = tn_flat_phase_list(f)->first; s; s = s->next)
            if (s->kind == TN_S_FOR)
                phase(g, &k->variant[v], s, tn_arena_printf(&g->arena, "%s_v%u_p%u", k->name, v, p++), here);
        g->n_check += tn_flat_check_number(f, NULL);
    }
}

/* Files of kernels do not name the model nodes or the target's text: equal kernels are equal files. */
static void assemble(tn_cgen *g, tn_buf *out)
{
    const tn_unit *u = g->unit;
    if (!g->part)
        tn_buf_printf(out, "/* Generated by %s for target %s. */\n", u->producer, u->target);
    size_t from = out->n;
    target(u, out);
    bool pushed = strstr(tn_buf_cstr(out) + from, "#pragma clang attribute push");
    tn_buf_str(out, head);
    tn_buf_str(out, abi);
    if (g->part_of)
        tn_buf_str(out, "#define TN_HIDDEN __attribute__((visibility(\"hidden\")))\n");
    tn_buf_str(out, arithmetic);
    tn_buf_str(out, tn_buf_cstr(&g->types));
    tn_buf_char(out, '\n');
    tn_buf_str(out, tn_buf_cstr(&g->helpers));
    tn_buf_char(out, '\n');
    tn_buf_str(out, tn_buf_cstr(&g->body));
    if (pushed)
        tn_buf_str(out, "#if defined(__clang__)\n#pragma clang attribute pop\n#endif\n");
}

/* One file: all of the unit, or a part of it. */
static tn_status emit(const tn_unit *u, const uint8_t *part_of, uint8_t part, tn_buf *out)
{
    tn_cgen g = {.unit = u, .part_of = part_of, .part = part};
    tn_arena_init(&g.arena);
    for (uint32_t k = 0; k < u->n_kernel && g.status == TN_OK; k++)
        if (is_here(&g, k) || !part)
            kernel(&g, &u->kernel[k], is_here(&g, k));
    if (g.status == TN_OK && !part)
        tn_c_tables(&g);
    if (g.status == TN_OK)
        assemble(&g, out);
    tn_buf_deinit(&g.types);
    tn_buf_deinit(&g.helpers);
    tn_buf_deinit(&g.body);
    tn_strmap_deinit(&g.have);
    tn_arena_deinit(&g.arena);
    return g.status;
}

tn_status tn_emit_c(const tn_unit *u, tn_buf *out) { return emit(u, NULL, 0, out); }

static bool count_stmt(tn_stmt *s, void *user)
{
    (void)s;
    ++*(uint64_t *)user;
    return true;
}

static uint64_t size_of(const tn_kernel_ir *k)
{
    uint64_t n = 1;
    for (uint32_t v = 0; v < k->n_variant; v++)
        tn_stmt_walk(&k->variant[v].func->body, count_stmt, NULL, &n);
    return n;
}

/* As many files as pay for starting a compiler each; a kernel goes to the one that has least. Returns their number. */
static uint32_t deal(const tn_unit *u, uint32_t max, uint8_t part_of[])
{
    enum { ENOUGH = 400 }; /* statements: about half a second of cc */
    uint64_t sum = 0, load[256] = {0};
    for (uint32_t k = 0; k < u->n_kernel; k++)
        sum += size_of(&u->kernel[k]);
    uint64_t most = max < 256 ? max - 1 : 255, want = sum / ENOUGH + 1;
    uint32_t n = (uint32_t)(want < most ? want : most);
    for (uint32_t k = 0; k < u->n_kernel; k++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n; i++)
            best = load[i] < load[best] ? i : best;
        load[best] += size_of(&u->kernel[k]);
        part_of[k] = (uint8_t)(best + 1);
    }
    return n < u->n_kernel ? n : u->n_kernel;
}

tn_status tn_emit_c_parts(const tn_unit *u, uint32_t max, tn_buf out[], uint32_t *out_n)
{
    tn_arena arena;
    tn_arena_init(&arena);
    uint8_t *part_of = TN_NEW_N(&arena, uint8_t, u->n_kernel + 1);
    uint32_t n = deal(u, max, part_of);
    tn_status st = TN_OK;
    *out_n = 0;
    for (uint32_t p = 0; p <= n && st == TN_OK; p++)
        st = emit(u, part_of, (uint8_t)p, &out[(*out_n)++]);
    tn_arena_deinit(&arena);
    return st;
}
