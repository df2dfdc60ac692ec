/* Instructions as data: the rows of tenon/inst.def, and which of its letters each operand of an instruction has. */
#include "program/program.h"

#include <string.h>

enum family { FLAT, FRAME, HOST, STATE, VALUE };
static const tn_inst_info infos[] = {
#define INST(name, number, family, a, operands, doc) [number] = {#name, a[0], operands, family == VALUE},
#include "tenon/inst.def"
#undef INST
};

const tn_inst_info *tn_inst_info_get(uint32_t op)
{
    return op < sizeof infos / sizeof *infos && infos[op].name ? &infos[op] : NULL;
}

bool tn_inst_jumps(uint32_t op)
{
    const tn_inst_info *info = tn_inst_info_get(op);
    return info && info->a == 'j';
}

const tn_overlap *tn_kernel_overlap(const tn_kernel_signature *k, uint32_t in, uint32_t out)
{
    for (uint32_t i = 0; i < k->n_overlap; i++)
        if (k->overlap[i].in == in && k->overlap[i].out == out)
            return &k->overlap[i];
    return NULL;
}

uint32_t tn_program_slots(const tn_program_function_ir *f, enum tn_slot_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_slot; i++)
        n += f->slot[i].kind == kind;
    return n;
}

const tn_expr *tn_slot_dense_bytes(tn_pool *p, tn_dtype t, int ndim, const tn_expr *const dim[])
{
    const tn_expr *n = tn_idx(p, tn_dtype_bytes(t));
    for (int d = 0; d < ndim; d++)
        n = tn_mul(p, n, dim[d]);
    return tn_simplify(p, NULL, n);
}

/* How many operands the starred letters stand for, `free` in all. */
static bool count_groups(const tn_program_ir *p, uint32_t n_kernel, const tn_kernel_signature *kernel,
                         const tn_inst_ir *x, uint64_t free, uint64_t count[3])
{
    count[0] = count[1] = count[2] = 0;
    switch (x->op) {
    case TN_INST_CALL:
        if (x->a >= n_kernel)
            return false;
        count[0] = kernel[x->a].n_in;
        count[1] = kernel[x->a].n_out;
        count[2] = kernel[x->a].n_symbol;
        break;
    case TN_INST_INVOKE:
        if (x->a >= p->n_function)
            return false;
        count[0] = tn_program_slots(&p->function[x->a], TN_SLOT_INPUT);
        count[1] = tn_program_slots(&p->function[x->a], TN_SLOT_OUTPUT);
        break;
    case TN_INST_CALL_HOST:
    case TN_INST_APPLY:
        count[0] = x->op == TN_INST_APPLY ? x->a : x->n_operand ? x->operand[0] : 0;
        if (count[0] > free)
            return false;
        count[1] = free - count[0];
        break;
    default: count[0] = free; break;
    }
    return count[0] + count[1] + count[2] == free;
}

bool tn_inst_letters(const tn_program_ir *p, uint32_t n_kernel, const tn_kernel_signature *kernel,
                     const tn_inst_ir *x, char letter[])
{
    const tn_inst_info *info = tn_inst_info_get(x->op);
    uint64_t fixed = 0, count[3], stars = 0;
    uint32_t n = 0, k = 0;
    if (!info)
        return false;
    for (const char *c = info->operands; *c; c++)
        stars += *c == '*';
    fixed = strlen(info->operands) - 2 * stars;
    if (x->op == TN_INST_CALL &&
        x->a < n_kernel) /* work memory is the last operand of calls that need some */
        fixed = x->n_operand > (uint64_t)kernel[x->a].n_in + kernel[x->a].n_out + kernel[x->a].n_symbol;
    if (x->n_operand < fixed || !count_groups(p, n_kernel, kernel, x, x->n_operand - fixed, count))
        return false;
    for (const char *c = info->operands; *c && n < x->n_operand; c++) {
        bool star = c[1] == '*';
        for (uint64_t i = star ? count[k] : 1; i > 0; i--)
            letter[n++] = *c;
        k += star;
        c += star;
    }
    return n == x->n_operand;
}
