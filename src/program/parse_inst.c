/* Reading instructions: their names, and what their letters in inst.def say. */
#include "program/parse.h"

#include <ctype.h>
#include <string.h>

/* The instruction that is called so; TN_INST_COUNT: none. */
static uint32_t find_op(const char *name)
{
    for (uint32_t op = 0; op < TN_INST_COUNT; op++) {
        const tn_inst_info *info = tn_inst_info_get(op);
        const char *a = name, *b = info ? info->name : "";
        while (*a && tolower((unsigned char)*b) == *a)
            a++, b++;
        if (!*a && !*b && info)
            return op;
    }
    return TN_INST_COUNT;
}

static tn_status text(program_parser *ps, uint32_t *out)
{
    uint64_t number = ps->texts.n;
    if (ps->lex.tok == TN_TOK_INT)
        return program_u32(ps, out);
    const char *s = tn_lex_string(&ps->lex);
    if (!s)
        return TN_FAIL;
    if (!tn_map_get(&ps->text, tn_map_key(s), &number)) {
        tn_map_put(&ps->text, tn_map_key(s), number);
        tn_vec_push(&ps->texts, s);
    }
    *out = (uint32_t)number;
    return TN_OK;
}

/* A label or a function, looked up later. */
static tn_status later(program_parser *ps, references *to, uint32_t *out)
{
    if (ps->lex.tok == TN_TOK_INT)
        return program_u32(ps, out);
    reference r = {.at = (uint32_t)ps->insts.n, .function = (uint32_t)ps->functions.n, .lex = ps->lex};
    r.name = tn_lex_ident(&ps->lex);
    tn_vec_push(to, r);
    return r.name ? TN_OK : TN_FAIL;
}

static tn_status parse_a(program_parser *ps, char kind, uint32_t *out)
{
    switch (kind) {
    case 'k': return program_known(ps, &ps->kernel, "kernel", out);
    case 't': return text(ps, out);
    case 'j': return later(ps, &ps->jumps, out);
    case 'y': return program_known(ps, &ps->symbol, "symbol", out);
    case 'f':
        if (ps->lex.tok != TN_TOK_INT)
            TN_TRY(tn_lex_expect(&ps->lex, "@"));
        return later(ps, &ps->calls, out);
    default: return program_u32(ps, out);
    }
}

static tn_status size(program_parser *ps, uint32_t *out)
{
    const tn_expr *e;
    uint64_t number = ps->sizes.n;
    TN_TRY(program_size(ps, &e));
    if (!tn_map_get(&ps->size, tn_map_key(e), &number)) {
        tn_map_put(&ps->size, tn_map_key(e), number);
        tn_vec_push(&ps->sizes, e);
    }
    *out = (uint32_t)number;
    return TN_OK;
}

static tn_status slot(program_parser *ps, uint32_t *out)
{
    TN_TRY(tn_lex_expect(&ps->lex, "%"));
    return program_known(ps, &ps->slot, "slot", out);
}

/* The operand that the letters say: letter k of those without a star, else a slot. */
static tn_status operand(program_parser *ps, const tn_inst_info *info, size_t k)
{
    uint32_t v = 0;
    char letter = strchr(info->operands, '*') ? 's' : k < strlen(info->operands) ? info->operands[k] : 's';
    TN_TRY(letter == 'n' ? program_u32(ps, &v) : letter == 'z' ? size(ps, &v) : slot(ps, &v));
    tn_vec_push(&ps->operands, v);
    return TN_OK;
}

static tn_status operands(program_parser *ps, const tn_inst_info *info, arrow *out)
{
    while (true) {
        if (!out->given && tn_lex_accept(&ps->lex, "->"))
            out->given = true;
        else
            out->before += !out->given;
        TN_TRY(operand(ps, info, ps->operands.n));
        if (!out->given && tn_lex_is(&ps->lex, "->"))
            continue;
        if (!tn_lex_accept(&ps->lex, ","))
            return TN_OK;
    }
}

/* "[n, m] work %5" */
static tn_status call_rest(program_parser *ps)
{
    uint32_t v = 0;
    if (tn_lex_accept(&ps->lex, "[")) {
        do {
            TN_TRY(program_known(ps, &ps->symbol, "symbol", &v));
            tn_vec_push(&ps->operands, v);
        } while (tn_lex_accept(&ps->lex, ","));
        TN_TRY(tn_lex_expect(&ps->lex, "]"));
    }
    if (!tn_lex_accept(&ps->lex, "work"))
        return TN_OK;
    TN_TRY(slot(ps, &v));
    tn_vec_push(&ps->operands, v);
    return TN_OK;
}

/* What the arrow says of an instruction whose letters leave it open. */
static void count_inputs(program_parser *ps, const arrow *w, tn_inst_ir *x)
{
    if (x->op == TN_INST_APPLY)
        x->a = w->before ? w->before - 1 : 0;
    if (x->op != TN_INST_CALL_HOST)
        return;
    tn_vec_push(&ps->operands, 0);
    memmove(ps->operands.at + 1, ps->operands.at, (ps->operands.n - 1) * sizeof *ps->operands.at);
    ps->operands.at[0] = w->before;
}

static bool has_operands(const program_parser *ps)
{
    return tn_lex_is(&ps->lex, "%") || tn_lex_is(&ps->lex, "->");
}

static tn_status instruction(program_parser *ps, uint32_t op)
{
    const tn_inst_info *info = tn_inst_info_get(op);
    tn_inst_ir x = {.op = op, .node = ""};
    bool a = info->a != '-' && op != TN_INST_APPLY;
    arrow w = {.function = (uint32_t)ps->functions.n, .at = (uint32_t)ps->insts.n, .lex = ps->lex};
    tn_vec_clear(&ps->operands);
    if (a)
        TN_TRY(parse_a(ps, info->a, &x.a));
    if (a ? tn_lex_accept(&ps->lex, ":") : has_operands(ps) || *info->operands == 'z')
        TN_TRY(operands(ps, info, &w));
    if (op == TN_INST_CALL)
        TN_TRY(call_rest(ps));
    count_inputs(ps, &w, &x);
    if (tn_lex_accept(&ps->lex, "at") && !(x.node = tn_lex_string(&ps->lex)))
        return TN_FAIL;
    x.n_operand = (uint32_t)ps->operands.n;
    x.operand = tn_arena_copy(ps->arena, x.n_operand ? (const void *)ps->operands.at : "",
                              x.n_operand * sizeof *x.operand, 4);
    tn_vec_push(&ps->insts, x);
    tn_vec_push(&ps->arrows, w);
    return TN_OK;
}

tn_status program_parse_inst(program_parser *ps)
{
    tn_lexer at = ps->lex;
    const char *name = tn_lex_ident(&ps->lex);
    if (!name)
        return TN_FAIL;
    if (tn_lex_accept(&ps->lex, ":"))
        return program_declare(ps, &ps->label, name, ps->insts.n);
    uint32_t op = find_op(name);
    if (op != TN_INST_COUNT)
        return instruction(ps, op);
    ps->lex = at;
    return tn_lex_fail(&ps->lex, "program-E001", "there is no instruction `%s`", name);
}

tn_status program_resolve_jumps(program_parser *ps)
{
    for (size_t i = 0; i < ps->jumps.n; i++) {
        const reference *r = &ps->jumps.at[i];
        uint64_t to;
        if (!tn_map_get(&ps->label, tn_map_key(r->name), &to))
            return program_unknown(ps, r, "label");
        ps->insts.at[r->at].a = (uint32_t)to;
    }
    return TN_OK;
}

/* Arrows stand before the first result that follows something read. Where the number of operands is wrong, the
 * verifier says so. */
tn_status program_check_arrows(program_parser *ps, const tn_program_ir *p)
{
    tn_vec(char) letters = {0};
    tn_status st = TN_OK;
    for (size_t i = 0; i < ps->arrows.n && st == TN_OK; i++) {
        arrow *w = &ps->arrows.at[i];
        const tn_inst_ir *x = &p->function[w->function].inst[w->at];
        uint32_t host = x->op == TN_INST_CALL_HOST, k = host;
        tn_vec_clear(&letters);
        tn_vec_reserve(&letters, (size_t)x->n_operand + 1);
        if (!tn_inst_letters(p, (uint32_t)ps->kernels.n, ps->kernels.at, x, letters.at))
            continue;
        const tn_kernel_signature *called = x->op == TN_INST_CALL ? &ps->kernels.at[x->a] : NULL;
        uint32_t n = called ? called->n_in + called->n_out : x->n_operand;
        while (k < n && !strchr("wuo", letters.at[k]))
            k++;
        bool wanted = k < n && (k || host);
        if (w->given != wanted || (wanted && w->before != k - host)) {
            ps->lex = w->lex;
            st = tn_lex_fail(&ps->lex, "program-E005",
                             "an arrow stands between what is read and the results%s",
                             wanted ? "" : "; this instruction has none");
        }
    }
    tn_vec_deinit(&letters);
    return st;
}
