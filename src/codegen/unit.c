/* What every backend asks about a unit: phases, checks, names. */
#include "codegen/codegen.h"
#include "codegen/names.h"

#include <ctype.h>
#include <string.h>

const tn_stmt *tn_flat_steps(const tn_func *f)
{
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_SERIAL)
            return s;
    return NULL;
}

const tn_body *tn_flat_phase_list(const tn_func *f)
{
    const tn_stmt *steps = tn_flat_steps(f);
    return steps ? &steps->u.loop.body : &f->body;
}

uint32_t tn_flat_phases(const tn_func *f, uint32_t max, const tn_stmt *out[])
{
    uint32_t n = 0;
    for (const tn_stmt *s = tn_flat_phase_list(f)->first; s; s = s->next)
        if (s->kind == TN_S_FOR) {
            if (n < max)
                out[n] = s;
            n++;
        }
    return n;
}

/* A phase whose tasks, of which there is one at least, have made the checks before it. */
static bool has_checked(const tn_stmt *s)
{
    int64_t n;
    return s->kind == TN_S_FOR && tn_is_int(s->u.loop.extent, &n) && n > 0;
}

const tn_stmt *tn_flat_first_check(const tn_stmt *loop)
{
    const tn_stmt *s = loop;
    while (s->prev && !has_checked(s->prev))
        s = s->prev;
    return s;
}

typedef struct {
    uint32_t n, max;
    const char **out;
} check_list;

static bool add_check(tn_stmt *s, void *user)
{
    check_list *c = user;
    if (s->kind == TN_S_CHECK) {
        if (c->n < c->max)
            c->out[c->n] = s->u.check.text;
        c->n++;
    }
    return true;
}

typedef struct {
    const tn_stmt *check;
    uint32_t n;
    bool found;
} check_number;

static bool count_check(tn_stmt *s, void *user)
{
    check_number *c = user;
    c->n += s->kind == TN_S_CHECK && !c->found;
    c->found |= s == c->check;
    return true;
}

uint32_t tn_flat_check_number(const tn_func *f, const tn_stmt *check)
{
    check_number c = {check, 0, false};
    tn_stmt_walk((tn_body *)(uintptr_t)&f->body, count_check, NULL, &c); /* only looks */
    return c.n;
}

uint32_t tn_flat_checks(const tn_kernel_ir *k, uint32_t max, const char *out[])
{
    check_list c = {0, max, out};
    for (uint32_t v = 0; v < k->n_variant; v++)
        tn_stmt_walk(&k->variant[v].func->body, add_check, NULL, &c);
    return c.n;
}

static bool reserved(const char *name)
{
    static const char *const words[] = {
        "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
        "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
        "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
        "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "call",   "step",
        "task",   "scratch",  "sym",      "l",        "r"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

/* Is s the form of a name that generated code has of its own: helpers, symbols, types? */
static bool is_ours(const char *s)
{
    size_t n = strlen(s);
    return strncmp(s, "tn_", 3) == 0 || strncmp(s, "sym_", 4) == 0 || (n > 2 && strcmp(s + n - 2, "_t") == 0);
}

char *tn_c_identifier(tn_arena *a, const char *text)
{
    char *s = tn_arena_strdup(a, text), *to = s;
    for (const char *c = s; *c; c++)
        if (isalnum((unsigned char)*c))
            *to++ = *c;
        else if (to > s && to[-1] != '_')
            *to++ = '_';
    to -= to > s && to[-1] == '_';
    *to = 0;
    if (!*s)
        return tn_arena_strdup(a, "v");
    return isdigit((unsigned char)*s) || is_ours(s) ? tn_arena_printf(a, "v_%s", s) : s;
}

const char **tn_unique_names(tn_arena *a, uint32_t n, const char *(*name)(const void *user, uint32_t i),
                             const void *user, tn_strmap *taken)
{
    const char **out = TN_NEW_N(a, const char *, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *base = tn_c_identifier(a, name(user, i)), *x = base;
        uint64_t used;
        for (int k = 1; reserved(x) || tn_strmap_get(taken, x, strlen(x), &used); k++)
            x = tn_arena_printf(a, "%s_%d", base, k);
        tn_strmap_put(taken, x, strlen(x), 1);
        out[i] = x;
    }
    return out;
}

void tn_unit_note(const tn_unit *u, tn_buf *out)
{
    size_t n = u->note ? strlen(u->note) : 0;
    if (!n)
        return;
    tn_buf_u32le(out, 6);
    tn_buf_u32le(out, (uint32_t)n);
    tn_buf_u32le(out, 1);
    tn_buf_add(out, "Tenon\0\0", 8);
    tn_buf_add(out, u->note, n);
    tn_buf_fill(out, 0, (4 - n % 4) % 4);
}

bool tn_flat_apart(const tn_flat *v, uint32_t param)
{
    const tn_func *f = v->func;
    uint32_t n_in = 0;
    while (n_in < f->n_param && !f->buffer[f->param[n_in]].written)
        n_in++;
    for (uint32_t i = 0; i < v->n_overlap; i++)
        if (param == v->overlap[i].in || param == n_in + v->overlap[i].out)
            return false;
    return true;
}
