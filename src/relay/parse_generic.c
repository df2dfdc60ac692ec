/* Functions with type parameters: def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] { ... }, and closures with
 * them. What A and B are follows from the types of the arguments, tensors with `?` for extents that are symbols or
 * differ. The text is read once for each choice, so the module has functions of plain types alone: the first is called
 * as the text says, the others get a number. */
#include "relay/parse.h"

#include <string.h>

enum { MAX_INSTANCES = 1000, MAX_TYPE_SIZE = 1000, MAX_ROUNDS = 8 };

const char *parse_label(parser *p, const pfunc *f)
{
    if (f->closure && !f->closure->name)
        return "this closure";
    return tn_arena_printf(&p->scratch, "%c%s", f->closure ? '%' : '@', f->name);
}

static tn_status parse_head_inside(parser *p, pfunc *f)
{
    tn_vec(const tn_type *) open = {0};
    tn_status s = parse_type_names(p, &f->types);
    p->types = f->closure ? parse_types_within(p, &f->types, &f->closure->types) : f->types;
    s = s == TN_OK ? parse_expect(p, "(") : s;
    while (s == TN_OK && !tn_lex_is(&p->l, ")")) {
        const tn_type *t = NULL;
        s = parse_expect(p, "%");
        if (s == TN_OK)
            parse_next(p);
        s = s == TN_OK ? parse_expect(p, ":") : s;
        p->dims = DIM_PARAM;
        s = s == TN_OK ? parse_type(p, &t) : s;
        if (s == TN_OK && !t)
            s = tn_lex_fail(&p->l, "relay-E053", "the parameters of a function need types");
        if (s == TN_OK)
            tn_vec_push(&open, t);
        if (s == TN_OK && !parse_accept(p, ","))
            break;
    }
    s = s == TN_OK ? parse_expect(p, ")") : s;
    if (s == TN_OK && parse_accept(p, "->")) {
        p->dims = DIM_ANY;
        s = parse_type(p, &f->gives);
    }
    f->n_open = (uint32_t)open.n;
    f->open = tn_arena_copy(&p->scratch, open.n ? (const void *)open.at : "", open.n * sizeof *open.at,
                            _Alignof(tn_type *));
    tn_vec_deinit(&open);
    return s;
}

tn_status parse_head(parser *p, pfunc *f)
{
    if (f->open)
        return TN_OK;
    parse_place here = parse_go(p, &f->at, f->file);
    parse_saved was = parse_enter_function(p, NULL);
    for (int i = 0; i < (f->closure ? 1 : 3); i++) /* fn; def @ name */
        parse_next(p);
    tn_status s = parse_head_inside(p, f);
    parse_leave_function(p, &was);
    TN_TRY(s);
    parse_back(p, &here);
    return TN_OK;
}

/* Widens what the type parameters are for argument i; false: reported. */
static bool widen_for(parser *p, const pfunc *f, uint32_t i, tn_value in, const pval *at, const tn_type *is[])
{
    const tn_type *t = tn_value_type(in);
    if (t && tn_type_widen(p->g->pool, f->open[i], t, is))
        return true;
    tn_buf a = {0}, b = {0};
    if (t)
        tn_type_print(t, &a);
    tn_type_print(tn_type_filled(p->g->pool, f->open[i], is), &b);
    (void)parse_error(p, at->line, at->col, "relay-E224",
                      "argument %u of %s is %s, but the arguments before it ask for %s", (unsigned)i,
                      parse_label(p, f), t ? tn_buf_cstr(&a) : "None", tn_buf_cstr(&b));
    tn_buf_deinit(&a);
    tn_buf_deinit(&b);
    return false;
}

static bool same_types(const ptypes *a, const tn_type *const is[])
{
    bool same = true;
    for (uint32_t i = 0; i < a->n && same; i++)
        same = tn_type_eq_logical(a->is[i], is[i]);
    return same;
}

static bool is_free(const parser *p, const pfunc *f, const char *name)
{
    bool taken = tn_graph_function(p->g, name);
    for (const pfunc *i = f->instances; i && !taken; i = i->next)
        taken = strcmp(i->name, name) == 0;
    for (size_t i = 0; i < p->func.n && !taken; i++)
        taken = &p->func.at[i] != f && strcmp(p->func.at[i].name, name) == 0;
    return !taken;
}

/* Parts of a type, up to `most`. Depth: bounded by it. */
static uint32_t size_of(const tn_type *t, uint32_t most)
{
    uint32_t n = 1;
    for (int i = 0; t->kind != TN_T_TENSOR && i < t->n && n < most; i++)
        n += size_of(t->field[i], most - n);
    return n;
}

static bool too_many(parser *p, const ptypes *t, const tn_type *const is[])
{
    bool large = false;
    for (uint32_t i = 0; i < t->n; i++)
        large = large || size_of(is[i], MAX_TYPE_SIZE) >= MAX_TYPE_SIZE;
    return large || p->n_instance++ == MAX_INSTANCES;
}

static pfunc *new_instance(parser *p, pfunc *f, const tn_type *const is[])
{
    pfunc *made = TN_NEW(&p->scratch, pfunc);
    *made = *f;
    made->generic = false;
    made->instances = NULL;
    made->types.is = is;
    for (uint32_t k = 1; !f->closure && !is_free(p, f, made->name); k++)
        made->name = tn_intern(p->g->ctx, tn_arena_printf(&p->scratch, "%s_%u", f->name, (unsigned)k));
    made->next = f->instances;
    f->instances = made;
    return made;
}

/* Arguments that say no types take those that the others ask for. What they give may be wider than that, and they
 * then take it, too: so again. */
static bool give_types(parser *p, const pfunc *f, uint32_t n, tn_value in[], const pval arg[], const pval *at,
                       const tn_type *is[])
{
    ptypes had = {.n = f->types.n};
    for (int round = 0; round < MAX_ROUNDS; round++) {
        had.is = tn_arena_copy(&p->scratch, is, f->types.n * sizeof *is, _Alignof(tn_type *));
        bool some = false;
        for (uint32_t i = 0; i < n; i++) {
            if (arg[i].kind != PVAL_POLY)
                continue;
            if (round)
                tn_node_remove(p->g, in[i].def);
            some = true;
            if (!parse_poly_value(p, &arg[i], tn_type_filled(p->g->pool, f->open[i], is), &in[i]) ||
                !widen_for(p, f, i, in[i], at, is))
                return false;
        }
        if (!some || same_types(&had, is))
            break;
    }
    return true;
}

/* What the type parameters are; NULL: reported. */
static const tn_type **find_types(parser *p, const pfunc *f, uint32_t n, tn_value in[], const pval arg[],
                                  const pval *at)
{
    const tn_type **is = TN_NEW_N(p->g->arena, const tn_type *, f->types.n);
    for (uint32_t i = 0; i < f->types.n; i++)
        is[i] = tn_type_none(p->g->pool);
    for (uint32_t i = 0; i < n; i++)
        if (arg[i].kind != PVAL_POLY && !widen_for(p, f, i, in[i], at, is))
            return NULL;
    return give_types(p, f, n, in, arg, at, is) ? is : NULL;
}

tn_status parse_instance(parser *p, pfunc *f, uint32_t n, tn_value in[], const pval arg[], const pval *at,
                         pfunc **out)
{
    *out = NULL;
    TN_TRY(parse_head(p, f));
    if (n != f->n_open) {
        (void)parse_error(p, at->line, at->col, "relay-E045", "%s takes %u arguments, but %u are given",
                          parse_label(p, f), (unsigned)f->n_open, (unsigned)n);
        return TN_OK;
    }
    const tn_type **is = find_types(p, f, n, in, arg, at);
    pfunc *known = is ? f->instances : NULL;
    while (known && !same_types(&known->types, is))
        known = known->next;
    if (is && !known && too_many(p, &f->types, is))
        return tn_lex_fail(&p->l, "relay-E225",
                           f->closure ? "%s is used at too many types, or at one that is too large"
                                      : "%s calls itself with larger and larger types",
                           parse_label(p, f));
    *out = known || !is ? known : new_instance(p, f, is);
    return TN_OK;
}
