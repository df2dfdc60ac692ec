#ifndef TEST_ARITH_TEXT_H
#define TEST_ARITH_TEXT_H
/* Expressions and facts of arith's tests as text: "i<14, t<ceildiv(n, 14)" declares loops, other names are
 * symbols. */
#include "ir/lex.h"
#include "test_arith_eval.h"

#include <string.h>

enum { TEXT_VARS = 16 };

typedef struct text_world {
    world w;
    const char *name[TEXT_VARS];
    const tn_expr *var[TEXT_VARS];
    int n;
} text_world;

static const tn_expr *text_name(void *user, const char *name)
{
    text_world *t = user;
    for (int i = 0; i < t->n; i++)
        if (strcmp(name, t->name[i]) == 0)
            return t->var[i];
    return tn_sym(&t->w.pool, name);
}

static const char *text_var(void *user, uint32_t number)
{
    text_world *t = user;
    return number < (uint32_t)t->n ? t->name[number] : "?";
}

static const tn_expr *text_parse_n(text_world *t, const char *text, size_t n)
{
    tn_lexer l;
    tn_scope_fns scope = {text_name, NULL, t};
    const tn_expr *e = NULL;
    tn_lex_init(&l, &t->w.ctx, "test", text, n, false);
    if (tn_expr_parse(&l, &t->w.pool, &scope, TN_IDX, &e) != TN_OK || l.tok != TN_TOK_END)
        fail_msg("cannot read `%.*s`", (int)n, text);
    return e;
}

static const tn_expr *text_parse(text_world *t, const char *text)
{
    return text_parse_n(t, text, strlen(text));
}

static const char *text_print(text_world *t, const tn_expr *e)
{
    tn_names names = {.var = text_var, .buffer = text_var, .user = t};
    tn_buf b = {0};
    if (!e)
        return "none";
    tn_expr_print(e, &names, &b);
    const char *s = tn_arena_strdup(&t->w.ctx.arena, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

/* loops: "name<extent, ..." in order; assumed: a condition or NULL. */
static void text_init(text_world *t, const char *loops, const char *assumed)
{
    static const char *const positive[] = {"n", "m", "s", "h", "w", "W"};
    memset(t, 0, sizeof *t);
    world_init(&t->w);
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
        tn_facts_range(&t->w.facts, tn_sym(&t->w.pool, positive[i]), 1, INT32_MAX);
    for (const char *at = loops; *at;) {
        const char *lt = strchr(at, '<'), *end = at;
        for (int depth = 0; *end && (*end != ',' || depth > 0); end++)
            depth += (*end == '(') - (*end == ')');
        const tn_expr *extent = text_parse_n(t, lt + 1, (size_t)(end - lt - 1));
        t->name[t->n] = tn_intern_n(&t->w.ctx, at, (size_t)(lt - at));
        t->var[t->n] = tn_var(&t->w.pool, TN_IDX, (uint32_t)t->n);
        tn_facts_loop(&t->w.pool, &t->w.facts, t->var[t->n++], extent);
        at = *end ? end + 1 + strspn(end + 1, " ") : end;
    }
    if (assumed)
        tn_facts_assume(&t->w.facts, text_parse(t, assumed));
}

static void text_deinit(text_world *t) { world_deinit(&t->w); }

#endif
