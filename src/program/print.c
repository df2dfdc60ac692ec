/* Programs as text (docs/program.md): what parse.c reads. A slot is called by its name where that is a word of its own
 * in the function, else by its number; instructions that jumps lead to get labels. */
#include "base/map.h"
#include "ir/lex.h"
#include "program/program.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    tn_pool *p;
    const tn_program_ir *program;
    const tn_program_function_ir *f;
    uint32_t n_kernel;
    const tn_kernel_signature *kernel;
    tn_strmap named; /* of the function: name -> slot it calls */
    uint32_t *label; /* of the function's instructions and its end: number of the label + 1 */
    tn_arena arena;
    tn_buf *o;
} printer;

static void expr(printer *pr, const tn_expr *e) { tn_expr_print(e, NULL, pr->o); }

static bool is_word(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

static void find_names(printer *pr)
{
    uint64_t other;
    for (uint32_t i = 0; i < pr->f->n_slot; i++) {
        const char *s = pr->f->slot[i].name;
        if (is_word(s) && !tn_strmap_get(&pr->named, s, strlen(s), &other))
            tn_strmap_put(&pr->named, s, strlen(s), i);
    }
}

static bool goes_by_name(printer *pr, uint32_t slot)
{
    uint64_t i;
    const char *s = slot < pr->f->n_slot ? pr->f->slot[slot].name : "";
    return is_word(s) && tn_strmap_get(&pr->named, s, strlen(s), &i) && i == slot;
}

static void slot_name(printer *pr, uint32_t slot)
{
    if (goes_by_name(pr, slot))
        tn_buf_printf(pr->o, "%%%s", pr->f->slot[slot].name);
    else
        tn_buf_printf(pr->o, "%%%u", slot);
}

static void dims(printer *pr, int n, const tn_expr *const dim[])
{
    tn_buf_char(pr->o, '[');
    for (int d = 0; d < n; d++) {
        tn_buf_str(pr->o, d ? ", " : "");
        expr(pr, dim[d]);
    }
    tn_buf_char(pr->o, ']');
}

/* ---- kernels and states ---- */

static void parameters(printer *pr, uint32_t n, const tn_kernel_parameter *p)
{
    tn_buf_char(pr->o, '(');
    for (uint32_t i = 0; i < n; i++) {
        tn_buf_str(pr->o, i ? ", " : "");
        tn_dtype_print(p[i].dtype, false, pr->o);
        tn_buf_char(pr->o, ' ');
        expr(pr, p[i].bytes);
    }
    tn_buf_char(pr->o, ')');
}

static void print_kernel(printer *pr, const tn_kernel_signature *k)
{
    tn_buf *o = pr->o;
    tn_buf_printf(o, "kernel %s", k->name);
    for (uint32_t i = 0; i < k->n_symbol; i++)
        tn_buf_printf(o, "%s%s%s", i ? ", " : "[", k->symbol[i], i + 1 == k->n_symbol ? "]" : "");
    parameters(pr, k->n_in, k->parameter);
    tn_buf_str(o, " -> ");
    parameters(pr, k->n_out, k->parameter + k->n_in);
    for (uint32_t i = 0; i < k->n_overlap; i++)
        tn_buf_printf(o, " %s %u over %u", k->overlap[i].kind == TN_OVERLAP_MUST ? "must" : "may",
                      k->overlap[i].out, k->overlap[i].in);
    tn_buf_char(o, '\n');
}

static void print_state(printer *pr, const tn_state *s)
{
    tn_buf *o = pr->o;
    tn_buf_printf(o, "state %s: ", s->name);
    tn_dtype_print((tn_dtype){s->code, s->bits, 1}, false, o);
    tn_buf_char(o, '[');
    for (uint32_t d = 0; d < s->ndim; d++)
        tn_buf_printf(o, "%s%lld", d ? ", " : "", (long long)s->dim[d].value);
    tn_buf_char(o, ']');
    if (s->axis >= 0)
        tn_buf_printf(o, " grows %d from %llu", s->axis, (unsigned long long)s->extent);
    if (s->initial) {
        tn_buf_str(o, " initial ");
        tn_text_quote(s->initial, o);
    }
    if (s->init >= 0 && (uint32_t)s->init < pr->program->n_function)
        tn_buf_printf(o, " init @%s", pr->program->function[s->init].name);
    else if (s->init >= 0)
        tn_buf_printf(o, " init %d", s->init);
    tn_buf_char(o, '\n');
}

/* ---- slots ---- */

bool tn_program_default_binds(const tn_program_function_ir *f, uint32_t slot, int32_t bind[])
{
    bool bound = false;
    for (int d = 0; d < f->slot[slot].ndim; d++) {
        const tn_expr *e = f->slot[slot].dim[d];
        bind[d] = -1;
        for (uint32_t s = 0; e->kind == TN_E_SYM && s < f->n_symbol - f->n_late; s++)
            if (f->symbol[s].name == e->u.s)
                bind[d] = (int32_t)s;
        for (uint32_t i = 0; i < slot && bind[d] >= 0; i++)
            for (int k = 0; f->slot[i].bind && k < f->slot[i].ndim; k++)
                bind[d] = f->slot[i].bind[k] == bind[d] ? -1 : bind[d];
        for (int k = 0; k < d; k++)
            bind[d] = bind[k] == bind[d] ? -1 : bind[d];
        bound = bound || bind[d] >= 0;
    }
    return bound;
}

static void binds(printer *pr, uint32_t i)
{
    const tn_slot_ir *s = &pr->f->slot[i];
    int32_t *usual = TN_NEW_N(&pr->arena, int32_t, s->ndim);
    tn_program_default_binds(pr->f, i, usual);
    if (!s->bind || !s->ndim || memcmp(usual, s->bind, s->ndim * sizeof *usual) == 0)
        return;
    for (int d = 0; d < s->ndim; d++)
        tn_buf_printf(
            pr->o, "%s%s", d ? ", " : " binds [",
            s->bind[d] >= 0 && (uint32_t)s->bind[d] < pr->f->n_symbol ? pr->f->symbol[s->bind[d]].name : "-");
    tn_buf_char(pr->o, ']');
}

static void place(printer *pr, const tn_slot_ir *s)
{
    tn_buf *o = pr->o;
    if (s->bytes != tn_slot_dense_bytes(pr->p, s->dtype, s->ndim, s->dim)) {
        tn_buf_str(o, " bytes ");
        expr(pr, s->bytes);
    }
    if (s->storage == TN_STORAGE_POOL)
        tn_buf_str(o, " pooled");
    if (s->offset) {
        tn_buf_str(o, " at ");
        expr(pr, s->offset);
    }
    if (s->segment)
        tn_buf_printf(o, " in segment %u", s->segment);
}

static void print_slot(printer *pr, uint32_t i)
{
    static const char *const kinds[] = {"input", "output", "const", "temp", "state"};
    const tn_slot_ir *s = &pr->f->slot[i];
    tn_buf *o = pr->o;
    tn_buf_printf(o, "  %s ", kinds[s->kind]);
    slot_name(pr, i);
    if (!goes_by_name(pr, i) && *s->name) {
        tn_buf_char(o, ' ');
        tn_text_quote(s->name, o);
    }
    if (s->kind == TN_SLOT_STATE)
        tn_buf_printf(o, " of %s", s->alias < pr->program->n_state ? pr->program->state[s->alias].name : "?");
    tn_buf_str(o, ": ");
    if (s->storage == TN_STORAGE_HANDLE) {
        tn_buf_str(o, "handle");
    } else {
        tn_dtype_print(s->dtype, false, o);
        dims(pr, s->ndim, s->dim);
        if (s->layout)
            tn_buf_printf(o, " layout \"%s\"", s->layout->text);
        place(pr, s);
    }
    if (s->kind == TN_SLOT_OUTPUT && s->alias >= 0) {
        tn_buf_str(o, " copy of ");
        slot_name(pr, (uint32_t)s->alias);
    }
    if (s->over >= 0) {
        tn_buf_str(o, " over ");
        slot_name(pr, (uint32_t)s->over);
    }
    if (s->kind == TN_SLOT_INPUT)
        binds(pr, i);
    tn_buf_char(o, '\n');
}

/* ---- instructions ---- */

static void print_a(printer *pr, const tn_inst_ir *x, char kind)
{
    tn_buf *o = pr->o;
    bool known = (kind == 'k' && x->a < pr->n_kernel) || (kind == 'f' && x->a < pr->program->n_function) ||
                 (kind == 't' && x->a < pr->program->n_text) || (kind == 'j' && x->a <= pr->f->n_inst) ||
                 (kind == 'y' && x->a < pr->f->n_symbol);
    if (kind == '-' || x->op == TN_INST_APPLY)
        return;
    tn_buf_char(o, ' ');
    if (!known)
        tn_buf_printf(o, "%u", x->a);
    else if (kind == 'k')
        tn_buf_str(o, pr->kernel[x->a].name);
    else if (kind == 'f')
        tn_buf_printf(o, "@%s", pr->program->function[x->a].name);
    else if (kind == 't')
        tn_text_quote(pr->program->text[x->a], o);
    else if (kind == 'j')
        tn_buf_printf(o, "L%u", pr->label[x->a] - 1);
    else
        tn_buf_str(o, pr->f->symbol[x->a].name);
}

static void print_operand(printer *pr, uint32_t operand, char kind)
{
    bool known = (kind == 'y' && operand < pr->f->n_symbol) || (kind == 'z' && operand < pr->f->n_size);
    if (kind == 'z' && known)
        expr(pr, pr->f->size[operand]);
    else if (kind == 'y' && known)
        tn_buf_str(pr->o, pr->f->symbol[operand].name);
    else if (kind == 'y' || kind == 'z' || kind == 'n')
        tn_buf_printf(pr->o, "%u", operand);
    else
        slot_name(pr, operand);
}

static bool is_result(char letter) { return letter && strchr("wuo", letter); }

/* What stands before operand k: an arrow before the first result that follows something read. */
static const char *separator(const tn_inst_ir *x, const char *letter, uint32_t k, bool a)
{
    bool host = x->op == TN_INST_CALL_HOST, first = k == host;
    if (is_result(letter[k]) && !is_result(k ? letter[k - 1] : 0) && (k || host))
        return first ? ": -> " : " -> ";
    return !first ? ", " : a ? ": " : " ";
}

static void print_operands(printer *pr, const tn_inst_ir *x, const char *letter, bool a)
{
    const tn_kernel_signature *k = x->op == TN_INST_CALL ? &pr->kernel[x->a] : NULL;
    uint32_t n = k ? k->n_in + k->n_out : x->n_operand;
    for (uint32_t i = x->op == TN_INST_CALL_HOST; i < n; i++) {
        tn_buf_str(pr->o, separator(x, letter, i, a));
        print_operand(pr, x->operand[i], letter[i]);
    }
    for (uint32_t i = n; i < x->n_operand; i++) {
        bool work = i == n + k->n_symbol;
        tn_buf_str(pr->o, work ? " work " : i == n ? " [" : ", ");
        print_operand(pr, x->operand[i], letter[i]);
        tn_buf_str(pr->o, i + 1 == n + k->n_symbol ? "]" : "");
    }
}

static void print_inst(printer *pr, const tn_inst_ir *x)
{
    const tn_inst_info *info = tn_inst_info_get(x->op);
    char *letter = tn_arena_alloc(&pr->arena, x->n_operand + 1, 1);
    tn_buf_str(pr->o, "    ");
    for (const char *c = info ? info->name : "?"; *c; c++)
        tn_buf_char(pr->o, (char)tolower((unsigned char)*c));
    if (info)
        print_a(pr, x, info->a);
    if (tn_inst_letters(pr->program, pr->n_kernel, pr->kernel, x, letter))
        print_operands(pr, x, letter, info->a != '-' && x->op != TN_INST_APPLY);
    if (*x->node) {
        tn_buf_str(pr->o, " at ");
        tn_text_quote(x->node, pr->o);
    }
    tn_buf_char(pr->o, '\n');
}

static void find_labels(printer *pr)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pr->f->n_inst; i++)
        if (tn_inst_jumps(pr->f->inst[i].op) && pr->f->inst[i].a <= pr->f->n_inst)
            pr->label[pr->f->inst[i].a] = 1;
    for (uint32_t i = 0; i <= pr->f->n_inst; i++)
        if (pr->label[i])
            pr->label[i] = ++n;
}

/* ---- functions ---- */

static void print_symbols(printer *pr)
{
    const tn_program_function_ir *f = pr->f;
    for (uint32_t i = 0; i < f->n_symbol; i++)
        tn_buf_printf(pr->o, "  %s %s in [%lld, %lld]\n", i < f->n_symbol - f->n_late ? "symbol" : "late",
                      f->symbol[i].name, (long long)f->symbol[i].min, (long long)f->symbol[i].max);
}

static void print_sizes(printer *pr)
{
    const tn_program_function_ir *f = pr->f;
    tn_buf_str(pr->o, "  arena ");
    expr(pr, f->arena_bytes);
    if (f->work_offset != f->arena_bytes) {
        tn_buf_str(pr->o, " work ");
        expr(pr, f->work_offset);
    }
    tn_buf_char(pr->o, '\n');
    for (uint32_t i = 0; i < f->n_segment; i++) {
        tn_buf_printf(pr->o, "  segment %u: ", i + 1);
        expr(pr, f->segment_bytes[i]);
        tn_buf_char(pr->o, '\n');
    }
}

static void print_function(printer *pr, const tn_program_function_ir *f)
{
    pr->f = f;
    pr->label = TN_NEW_N(&pr->arena, uint32_t, f->n_inst + 1);
    find_names(pr);
    find_labels(pr);
    tn_buf_printf(pr->o, "fn @%s {\n", f->name);
    print_symbols(pr);
    for (uint32_t i = 0; i < f->n_slot; i++)
        print_slot(pr, i);
    print_sizes(pr);
    for (uint32_t i = 0; i <= f->n_inst; i++) {
        if (pr->label[i])
            tn_buf_printf(pr->o, "  L%u:\n", pr->label[i] - 1);
        if (i < f->n_inst)
            print_inst(pr, &f->inst[i]);
    }
    tn_buf_str(pr->o, "}\n");
    tn_strmap_deinit(&pr->named);
    memset(&pr->named, 0, sizeof pr->named);
}

void tn_program_print(tn_pool *p, const tn_program_ir *program, uint32_t n_kernel,
                      const tn_kernel_signature *kernel, tn_buf *out)
{
    printer pr = {.p = p, .program = program, .n_kernel = n_kernel, .kernel = kernel, .o = out};
    tn_arena_init(&pr.arena);
    if (program->depth)
        tn_buf_printf(out, "depth %u\n", program->depth);
    for (uint32_t i = 0; i < n_kernel; i++)
        print_kernel(&pr, &kernel[i]);
    for (uint32_t i = 0; i < program->n_state; i++)
        print_state(&pr, &program->state[i]);
    for (uint32_t i = 0; i < program->n_function; i++) {
        tn_buf_str(out, i || n_kernel || program->n_state ? "\n" : "");
        print_function(&pr, &program->function[i]);
    }
    tn_arena_deinit(&pr.arena);
}
