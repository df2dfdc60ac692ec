/* The C header of a self-contained output: two structs of pointers and the functions to call. */
#include "codegen/names.h"
#include "driver/driver.h"

#include <string.h>

typedef struct {
    tn_build *b;
    tn_buf *o;
    enum tn_slot_kind kind;
    const tn_slot_ir **slot;
    uint32_t n;
} member_list;

static const char *slot_name(const void *user, uint32_t i)
{
    return ((const member_list *)user)->slot[i]->name;
}

static const char *c_type(tn_dtype t)
{
    static const struct {
        tn_dtype t;
        const char *name;
    } row[] = {
        {{TN_FLOAT, 32, 1}, "float"},     {{TN_FLOAT, 64, 1}, "double"},  {{TN_FLOAT, 16, 1}, "uint16_t"},
        {{TN_BFLOAT, 16, 1}, "uint16_t"}, {{TN_BOOL, 8, 1}, "uint8_t"},   {{TN_INT, 8, 1}, "int8_t"},
        {{TN_INT, 16, 1}, "int16_t"},     {{TN_INT, 32, 1}, "int32_t"},   {{TN_INT, 64, 1}, "int64_t"},
        {{TN_UINT, 8, 1}, "uint8_t"},     {{TN_UINT, 16, 1}, "uint16_t"}, {{TN_UINT, 32, 1}, "uint32_t"},
        {{TN_UINT, 64, 1}, "uint64_t"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (tn_dtype_eq(row[i].t, tn_dtype_part(t)))
            return row[i].name;
    return "void";
}

static void shape(const tn_slot_ir *s, tn_buf *o)
{
    tn_dtype_print(s->dtype, false, o);
    tn_buf_str(o, " [");
    for (int d = 0; d < s->ndim; d++) {
        if (d)
            tn_buf_str(o, ", ");
        tn_expr_print(s->dim[d], NULL, o);
    }
    tn_buf_str(o, "]");
}

/* A name in a comment, which it may not end. */
static void comment(const char *name, tn_buf *o)
{
    for (const char *c = name; *c; c++)
        tn_buf_char(o, *c == '*' || (unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
}

static void collect(member_list *f)
{
    const tn_program_function_ir *p = f->b->main;
    f->slot = TN_NEW_N(&f->b->arena, const tn_slot_ir *, p->n_slot);
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].kind == f->kind)
            f->slot[f->n++] = &p->slot[i];
}

static void structure(tn_build *b, tn_buf *o, enum tn_slot_kind kind, const char *what)
{
    member_list f = {.b = b, .o = o, .kind = kind};
    collect(&f);
    tn_strmap taken = {0};
    const char **name = tn_unique_names(&b->arena, f.n, slot_name, &f, &taken);
    tn_buf_printf(o, "struct tvmgen_%s_%s {\n", b->unit.name, what);
    for (uint32_t i = 0; i < f.n; i++) {
        tn_buf_printf(o, "    %s%s *%s; /* ", kind == TN_SLOT_INPUT ? "const " : "", c_type(f.slot[i]->dtype),
                      name[i]);
        shape(f.slot[i], o);
        tn_buf_str(o, " */\n");
    }
    if (!f.n)
        tn_buf_str(o, "    void *none;\n");
    tn_buf_str(o, "};\n\n");
    tn_strmap_deinit(&taken);
}

static const char *symbol_name(const void *user, uint32_t i)
{
    return ((const tn_program_function_ir *)user)->symbol[i].name;
}

static void symbols(tn_build *b, tn_buf *o)
{
    tn_strmap taken = {0};
    const tn_program_function_ir *p = b->main;
    const char **name = tn_unique_names(&b->arena, p->n_symbol, symbol_name, p, &taken);
    tn_buf_printf(o, "struct tvmgen_%s_symbols { /* the sizes of symbolic dimensions */\n", b->unit.name);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        if (i < p->n_symbol - p->n_late)
            tn_buf_printf(o, "    int64_t %s; /* %lld to %lld */\n", name[i], (long long)p->symbol[i].min,
                          (long long)p->symbol[i].max);
        else
            tn_buf_printf(
                o,
                "    int64_t %s; /* set by the run: pass in the size that results have room for, read the "
                "actual size */\n",
                name[i]);
    tn_buf_str(o, "};\n\n");
    tn_strmap_deinit(&taken);
}

/* What the model keeps between runs: one stream of calls, whichever threads they come from. */
static void states(tn_build *b, tn_buf *o)
{
    tn_buf_str(o, "/* Gives the model's states their first contents, zeros:\n");
    for (uint32_t i = 0; i < b->main->n_slot; i++) {
        if (b->main->slot[i].kind != TN_SLOT_STATE)
            continue;
        tn_buf_str(o, " *   ");
        comment(b->main->slot[i].name, o);
        tn_buf_str(o, ": ");
        shape(&b->main->slot[i], o);
        tn_buf_char(o, '\n');
    }
    tn_buf_printf(o, " * A new stream begins. */\nint32_t tvmgen_%s_reset(void);\n\n", b->unit.name);
}

static void functions(tn_build *b, enum tn_bundle_form form, tn_buf *o)
{
    const char *m = b->unit.name;
    bool symbolic = b->main->n_symbol > 0;
    tn_buf_printf(o,
                  "/* Runs the model once. Returns 0, or an error code: tvmgen_..._error() then says why.\n"
                  " * Tensors must be dense, row-major and aligned to their elements. %s */\n",
                  b->program.n_state
                      ? "The model keeps states from call to\n * call; calls from several threads run one "
                        "after the other."
                      : "Several threads may call this\n * at once.");
    tn_buf_printf(o,
                  "int32_t tvmgen_%s_run%s(const struct tvmgen_%s_inputs *inputs, const struct "
                  "tvmgen_%s_outputs *outputs%s%s%s);\n\n",
                  m, symbolic ? "_symbolic" : "", m, m,
                  !symbolic         ? ""
                  : b->main->n_late ? ",\n    struct tvmgen_"
                                    : ",\n    const struct tvmgen_",
                  symbolic ? m : "", symbolic ? "_symbols *symbols" : "");
    tn_buf_printf(o,
                  "/* Says why the last failed call of this thread failed. */\nconst "
                  "char *tvmgen_%s_error(void);\n\n",
                  m);
    tn_buf_printf(
        o,
        "/* Sets the number of threads of later runs, the caller included. 0: TVM_NUM_THREADS, else the\n"
        " * available cores. */\nint32_t tvmgen_%s_threads(int32_t n);\n\n",
        m);
    tn_buf_printf(
        o,
        "/* Frees memory and threads. A later run allocates them again. Must not be called during a run. "
        "*/\nvoid "
        "tvmgen_%s_free(void);\n",
        m);
    if (form == TN_BUNDLE_SO)
        tn_buf_printf(o,
                      "\n/* Tenon's runtime (tnr_module_open) opens the file through this function. */\n"
                      "const struct tn_bundle *tvmgen_%s_library(void);\n",
                      m);
}

/* The guard has the module's name as it is: "net" and "NET" are two models. */
void tn_bundle_header(tn_build *b, enum tn_bundle_form form, tn_buf *o)
{
    const char *name = b->unit.name;
    tn_buf_printf(
        o, "#ifndef TVMGEN_%s_H\n#define TVMGEN_%s_H\n/* Made by %s for \"%s\". */\n#include <stdint.h>\n\n",
        name, name, b->unit.producer, b->unit.target);
    tn_buf_str(o, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    structure(b, o, TN_SLOT_INPUT, "inputs");
    structure(b, o, TN_SLOT_OUTPUT, "outputs");
    if (b->main->n_symbol)
        symbols(b, o);
    if (b->program.n_state)
        states(b, o);
    functions(b, form, o);
    tn_buf_str(o, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
