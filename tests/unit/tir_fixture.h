#ifndef TN_TESTS_TIR_FIXTURE_H
#define TN_TESTS_TIR_FIXTURE_H
/* What the tests of tir/ share: a context with a pool, functions from text, diagnostics as text. */
#include "tir/tir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_buf text;
} fixture;

static inline void fixture_init(fixture *x)
{
    memset(x, 0, sizeof *x);
    tn_ctx_init(&x->ctx);
    tn_arena_init(&x->arena);
    tn_pool_init(&x->pool, &x->ctx, &x->arena, NULL);
}

static inline void fixture_deinit(fixture *x)
{
    tn_buf_deinit(&x->text);
    tn_arena_deinit(&x->arena);
    tn_ctx_deinit(&x->ctx);
}

/* All diagnostics so far; lives until the next call. */
static inline const char *diags(fixture *x)
{
    tn_buf_clear(&x->text);
    tn_diag_print_all(&x->ctx, &x->text);
    return tn_buf_cstr(&x->text);
}

static inline tn_func *try_read(fixture *x, const char *text)
{
    tn_func *f = NULL;
    size_t n;
    tn_status s = tn_func_parse(&x->ctx, &x->arena, &x->pool, "t.tir", text, strlen(text), &f, 1, &n);
    return s == TN_OK && n == 1 ? f : NULL;
}

static inline tn_func *read_func(fixture *x, const char *text)
{
    tn_func *f = try_read(x, text);
    if (!f)
        fail_msg("%s\n%s", text, diags(x));
    return f;
}

/* The printed function; lives until the next call. */
static inline const char *printed(fixture *x, const tn_func *f)
{
    tn_buf_clear(&x->text);
    tn_func_print(f, &x->text);
    return tn_buf_cstr(&x->text);
}

static inline void assert_diag(fixture *x, const char *part)
{
    if (!strstr(diags(x), part))
        fail_msg("no `%s` in: %s", part, diags(x));
}

#endif
