/* The constant tables of a library in C: kernels, variants, phases, the AOT program, the query function. */
#include "codegen/source/source.h"

#include <string.h>

/* A size: a number, or a function of the symbols written to `functions`. */
typedef struct {
    tn_cgen *g;
    tn_buf tables;
    uint32_t n_size;
} tab;

static void string(tn_buf *o, const char *s)
{
    tn_buf_char(o, '"');
    for (; s && *s; s++) {
        if (*s == '"' || *s == '\\')
            tn_buf_char(o, '\\');
        if ((unsigned char)*s < 32)
            tn_buf_printf(o, "\\%03o", (unsigned char)*s);
        else
            tn_buf_char(o, *s);
    }
    tn_buf_char(o, '"');
}

static void size(tab *t, const tn_expr *e, int64_t absent, uint32_t n_sym, const char *const sym[],
                 tn_buf *out)
{
    int64_t v = absent;
    if (!e || tn_is_int(e, &v)) {
        tn_buf_printf(out, "{%lld, 0}", (long long)v);
        return;
    }
    tn_buf *f = &t->g->body;
    tn_buf_printf(f, "static int64_t tn_size_%u(const int64_t *sym)\n{\n", t->n_size);
    for (uint32_t i = 0; i < n_sym; i++)
        tn_buf_printf(f, "    const int64_t sym_%s = sym[%u];\n    (void)sym_%s;\n", sym[i], i, sym[i]);
    tn_buf_str(f, "    return ");
    tn_c_expr(t->g, e, f);
    tn_buf_str(f, ";\n}\n");
    tn_buf_printf(out, "{0, tn_size_%u}", t->n_size++);
}

static const char *const *symbols_of(tn_cgen *g, const tn_func *f)
{
    const char **s = TN_NEW_N(&g->arena, const char *, f->n_symbol);
    for (uint32_t i = 0; i < f->n_symbol; i++)
        s[i] = f->symbol[i].name;
    return s;
}

static void variants(tab *t, const tn_kernel_ir *k)
{
    tn_cgen *g = t->g;
    tn_buf *o = &t->tables, rows = {0};
    for (uint32_t v = 0; v < k->n_variant; v++) {
        const tn_flat *w = &k->variant[v];
        const char *const *sym = symbols_of(g, w->func);
        uint32_t p = 0, ns = w->func->n_symbol;
        g->func = w->func;
        tn_buf_printf(o, "static const tn_phase %s_v%u[] = {\n", k->name, v);
        for (const tn_stmt *s = tn_flat_phase_list(w->func)->first; s; s = s->next) {
            if (s->kind != TN_S_FOR)
                continue;
            tn_buf_printf(o, "    {%s_v%u_p%u, ", k->name, v, p++);
            size(t, s->u.loop.extent, 0, ns, sym, o);
            tn_buf_str(o, ", 0, 0, 0},\n");
        }
        tn_buf_str(o, "};\n");
        tn_buf_str(&rows, "    {");
        size(t, w->guard, 1, ns, sym, &rows);
        const tn_stmt *steps = tn_flat_steps(w->func);
        tn_buf_str(&rows, ", ");
        size(t, steps ? steps->u.loop.extent : NULL, 1, ns, sym, &rows);
        tn_buf_str(&rows, ", ");
        size(t, w->work_bytes, 0, ns, sym, &rows);
        tn_buf_printf(&rows, ", %llu, %s_v%u, %u},\n", (unsigned long long)w->scratch_bytes, k->name, v, p);
    }
    tn_buf_printf(o, "static const tn_variant %s_variants[] = {\n%s};\n", k->name, tn_buf_cstr(&rows));
    tn_buf_deinit(&rows);
}

static uint32_t overlaps(tn_buf *o, const tn_kernel_ir *k)
{
    const tn_overlap *pair = k->n_variant ? k->variant[0].overlap : NULL;
    uint32_t n = k->n_variant ? k->variant[0].n_overlap : 0;
    if (n)
        tn_buf_printf(o, "static const tn_overlap %s_overlaps[] = {", k->name);
    for (uint32_t i = 0; i < n; i++)
        tn_buf_printf(o, "{%u, %u, %u}, ", pair[i].in, pair[i].out, pair[i].kind);
    if (n)
        tn_buf_str(o, "};\n");
    return n;
}

static void kernels(tab *t)
{
    const tn_unit *u = t->g->unit;
    tn_buf *o = &t->tables, rows = {0};
    for (uint32_t i = 0; i < u->n_kernel; i++) {
        const tn_kernel_ir *k = &u->kernel[i];
        const char *check[256];
        variants(t, k);
        uint32_t n = tn_flat_checks(k, 256, check);
        if (n) {
            tn_buf_printf(o, "static const char *const %s_checks[] = {", k->name);
            for (uint32_t c = 0; c < n && c < 256; c++) {
                string(o, check[c]);
                tn_buf_str(o, ", ");
            }
            tn_buf_str(o, "};\n");
        }
        uint32_t n_overlap = overlaps(o, k);
        tn_buf_str(&rows, "    {");
        string(&rows, k->name);
        tn_buf_str(&rows, ", ");
        string(&rows, k->source);
        tn_buf_printf(&rows, ", %s_variants, ", k->name);
        tn_buf_printf(&rows, n ? "%s_checks" : "0", k->name);
        tn_buf_printf(&rows, ", %u, %u, %u, %u, %u, %u, ", k->n_variant, n, k->n_in, k->n_out,
                      k->n_variant ? k->variant[0].func->n_symbol : 0, n_overlap);
        tn_buf_printf(&rows, n_overlap ? "%s_overlaps, 0, 0, 0},\n" : "0, 0, 0, 0},\n", k->name);
    }
    tn_buf_printf(o, "static const tn_kernel tn_kernels[] = {\n%s};\n",
                  rows.n ? tn_buf_cstr(&rows) : "    {0}\n");
    tn_buf_deinit(&rows);
}

static void operations(tab *t)
{
    const tn_unit *u = t->g->unit;
    tn_buf *o = &t->tables, rows = {0};
    for (uint32_t i = 0; i < u->n_kernel; i++) {
        const tn_kernel_ir *k = &u->kernel[i];
        const tn_func *f = k->n_variant ? k->variant[0].func : NULL;
        const char *const *sym = f ? symbols_of(t->g, f) : NULL;
        for (int c = 0; c < TN_N_OPERATIONS; c++) {
            tn_buf_str(&rows, c ? ", " : "    {");
            size(t, k->operations[c], 0, f ? f->n_symbol : 0, sym, &rows);
        }
        tn_buf_str(&rows, "},\n");
    }
    tn_buf_printf(o, "static const tn_operations tn_all_operations[] = {\n%s};\n",
                  rows.n ? tn_buf_cstr(&rows) : "    {{0, 0}, {0, 0}, {0, 0}}\n");
    tn_buf_deinit(&rows);
}

static void dimensions(tab *t, const tn_program_function_ir *p, const tn_slot_ir *s, const char *const *sym,
                       uint32_t f, uint32_t i)
{
    tn_buf *o = &t->tables, dims = {0};
    if (!s->ndim)
        return;
    for (int d = 0; d < s->ndim; d++) {
        size(t, s->dim[d], 0, p->n_symbol, sym, &dims);
        tn_buf_str(&dims, ", ");
    }
    tn_buf_printf(o, "static const tn_size tn_dim_%u_%u[] = {%s};\n", f, i, tn_buf_cstr(&dims));
    tn_buf_deinit(&dims);
    if (!s->bind)
        return;
    tn_buf_printf(o, "static const int32_t tn_bind_%u_%u[] = {", f, i);
    for (int d = 0; d < s->ndim; d++)
        tn_buf_printf(o, "%d, ", s->bind[d]);
    tn_buf_str(o, "};\n");
}

static void slots(tab *t, const tn_program_function_ir *p, const char *const *sym, uint32_t f)
{
    tn_buf *o = &t->tables, rows = {0};
    for (uint32_t i = 0; i < p->n_slot; i++) {
        const tn_slot_ir *s = &p->slot[i];
        dimensions(t, p, s, sym, f, i);
        tn_buf_str(&rows, "    {");
        string(&rows, s->name);
        tn_buf_printf(&rows, ", %u, %u, %u, %u, %u, 0, ", s->kind, s->storage, s->dtype.code, s->dtype.bits,
                      s->ndim);
        tn_buf_printf(&rows, s->ndim ? "tn_dim_%u_%u, " : "0, ", f, i);
        tn_buf_printf(&rows, s->bind && s->ndim ? "tn_bind_%u_%u, " : "0, ", f, i);
        size(t, s->bytes, 0, p->n_symbol, sym, &rows);
        tn_buf_str(&rows, ", ");
        size(t, s->offset, -1, p->n_symbol, sym, &rows);
        tn_buf_printf(&rows, ", %lld, %u, 0},\n", (long long)s->alias, s->segment);
    }
    tn_buf_printf(o, "static const tn_slot tn_slots_%u[] = {\n%s};\n", f,
                  rows.n ? tn_buf_cstr(&rows) : "    {0}\n");
    tn_buf_deinit(&rows);
}

static void size_list(tab *t, const char *name, uint32_t f, uint32_t n, const tn_expr *const *e,
                      uint32_t n_sym, const char *const *sym)
{
    tn_buf rows = {0};
    for (uint32_t i = 0; i < n; i++) {
        size(t, e[i], 0, n_sym, sym, &rows);
        tn_buf_str(&rows, ", ");
    }
    tn_buf_printf(&t->tables, "static const tn_size %s_%u[] = {%s{0, 0}};\n", name, f, tn_buf_cstr(&rows));
    tn_buf_deinit(&rows);
}

static uint32_t instructions(tn_buf *o, const tn_program_function_ir *p, uint32_t f)
{
    tn_buf ops = {0};
    uint32_t n = 0;
    tn_buf_printf(o, "static const tn_inst tn_insts_%u[] = {\n", f);
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const tn_inst_ir *x = &p->inst[i];
        tn_buf_printf(o, "    {%u, %u, %u, %u, ", x->op, x->a, n, x->n_operand);
        string(o, x->node);
        tn_buf_str(o, "},\n");
        for (uint32_t k = 0; k < x->n_operand; k++, n++)
            tn_buf_printf(&ops, "%u, ", x->operand[k]);
    }
    tn_buf_printf(o, "%s};\nstatic const uint32_t tn_operands_%u[] = {%s0};\n", p->n_inst ? "" : "    {0}\n",
                  f, tn_buf_cstr(&ops));
    tn_buf_deinit(&ops);
    return n;
}

/* The tables of function f; its row goes to out. */
static void function(tab *t, const tn_program_function_ir *p, uint32_t f, tn_buf *out)
{
    tn_buf *o = &t->tables;
    const char **sym = TN_NEW_N(&t->g->arena, const char *, p->n_symbol);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        sym[i] = p->symbol[i].name;
    slots(t, p, sym, f);
    tn_buf_printf(o, "static const tn_symbol tn_symbols_%u[] = {\n", f);
    for (uint32_t i = 0; i < p->n_symbol; i++) {
        tn_buf_str(o, "    {");
        string(o, p->symbol[i].name);
        tn_buf_printf(o, ", %lld, %lld},\n", (long long)p->symbol[i].min, (long long)p->symbol[i].max);
    }
    tn_buf_str(o, p->n_symbol ? "};\n" : "    {0}\n};\n");
    uint32_t n = instructions(o, p, f);
    bool late = p->n_late || p->n_size || p->n_segment;
    if (late) {
        size_list(t, "tn_sizes", f, p->n_size, p->size, p->n_symbol, sym);
        size_list(t, "tn_segments", f, p->n_segment, p->segment_bytes, p->n_symbol, sym);
    }
    tn_buf_str(out, "    {");
    string(out, p->name);
    tn_buf_printf(
        out, ", tn_slots_%u, tn_symbols_%u, tn_insts_%u, tn_operands_%u, %u, %u, %u, %u, %u, %u, %u, 0, ", f,
        f, f, f, p->n_slot, p->n_symbol, p->n_inst, n, p->n_late, p->n_size, p->n_segment);
    size(t, p->arena_bytes, 0, p->n_symbol, sym, out);
    tn_buf_str(out, ", ");
    size(t, p->work_offset, 0, p->n_symbol, sym, out);
    tn_buf_printf(out, late ? ", tn_sizes_%u, tn_segments_%u},\n" : ", 0, 0},\n", f, f);
}

static void states(tn_buf *o, const tn_program_ir *p)
{
    for (uint32_t i = 0; i < p->n_state; i++) {
        tn_buf_printf(o, "static const tn_size tn_capacity_%u[] = {", i);
        for (uint32_t d = 0; d < p->state[i].ndim; d++)
            tn_buf_printf(o, "{%lld, 0}, ", (long long)p->state[i].dim[d].value);
        tn_buf_str(o, "{0, 0}};\n");
    }
    tn_buf_str(o, p->n_state ? "static const tn_state tn_states[] = {\n" : "");
    for (uint32_t i = 0; i < p->n_state; i++) {
        const tn_state *s = &p->state[i];
        tn_buf_str(o, "    {");
        string(o, s->name);
        tn_buf_str(o, ", ");
        if (s->initial)
            string(o, s->initial);
        tn_buf_printf(o, "%s, tn_capacity_%u, %llu, %llu, %u, %u, %u, %d, %u, %d, 0},\n",
                      s->initial ? "" : "0", i, (unsigned long long)s->bytes, (unsigned long long)s->extent,
                      s->code, s->bits, s->ndim, s->axis, s->device, s->init);
    }
    tn_buf_str(o, p->n_state ? "};\n" : "");
}

static void program(tab *t, const tn_program_ir *p)
{
    tn_buf *o = &t->tables, rows = {0};
    for (uint32_t f = 0; f < p->n_function; f++)
        function(t, &p->function[f], f, &rows);
    tn_buf_printf(o, "static const tn_program_function tn_functions[] = {\n%s};\n", tn_buf_cstr(&rows));
    tn_buf_deinit(&rows);
    states(o, p);
    tn_buf_str(o, "static const char *const tn_texts[] = {");
    for (uint32_t i = 0; i < p->n_text; i++) {
        string(o, p->text[i]);
        tn_buf_str(o, ", ");
    }
    tn_buf_printf(
        o,
        "0};\nstatic const tn_program tn_the_program = {tn_functions, %s, tn_texts, %u, %u, %u, %u, {0}};\n",
        p->n_state ? "tn_states" : "0", p->n_function, p->n_state, p->n_text, p->depth);
}

/* What is inside, where readers of ELF files find it; kept although nothing refers to it. */
static void note(tab *t)
{
    tn_buf bytes = {0}, *o = &t->tables;
    tn_unit_note(t->g->unit, &bytes);
    if (bytes.n)
        tn_buf_printf(o,
                      "#ifdef __ELF__\n"
                      "__attribute__((section(\".note.tenon\"), used, aligned(4))) static const unsigned "
                      "char tn_note[%zu] = {",
                      bytes.n);
    for (size_t i = 0; i < bytes.n; i++)
        tn_buf_printf(o, "%s%u,", i % 24 ? "" : "\n    ", (unsigned char)bytes.at[i]);
    if (bytes.n)
        tn_buf_str(o, "\n};\n#endif\n");
    tn_buf_deinit(&bytes);
}

void tn_c_tables(tn_cgen *g)
{
    tab t = {.g = g};
    const tn_unit *u = g->unit;
    note(&t);
    kernels(&t);
    operations(&t);
    if (u->program)
        program(&t, u->program);
    tn_buf *o = &t.tables;
    tn_buf_str(o, "static const char *const tn_features[] = {");
    for (uint32_t i = 0; i < u->n_feature; i++) {
        string(o, u->feature[i]);
        tn_buf_str(o, ", ");
    }
    tn_buf_str(o, "0};\nstatic const char *const tn_metadata[] = {");
    for (uint32_t i = 0; i < u->n_metadata; i++) {
        string(o, u->metadata[i].key);
        tn_buf_str(o, ", ");
        string(o, u->metadata[i].value);
        tn_buf_str(o, ", ");
    }
    tn_buf_printf(o, "0};\nstatic const tn_library tn_the_library = {%u, %u, tn_kernels, %s, ",
                  TENON_ABI_VERSION, u->n_kernel, u->program ? "&tn_the_program" : "0");
    string(o, u->producer);
    tn_buf_str(o, ", ");
    string(o, u->target);
    tn_buf_printf(
        o,
        ", tn_features, %u, %u, tn_metadata, tn_all_operations, 0, 0, 0, 0, {0}};\n\n%s const tn_library "
        "*" TENON_QUERY_SYMBOL "(uint32_t max_version);\n%sconst tn_library *" TENON_QUERY_SYMBOL
        "(uint32_t max_version)\n{\n    return max_version >= tn_the_library.version ? &tn_the_library : "
        "0;\n}\n",
        u->n_feature, u->n_metadata, u->private ? "static" : "__attribute__((visibility(\"default\")))",
        u->private ? "static " : "");
    tn_buf_str(&g->body, tn_buf_cstr(o));
    tn_buf_deinit(o);
}
