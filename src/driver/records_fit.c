/* Which records still fit their functions, as records of the same workload tell these. A text may be of an earlier
 * version, and not be read any more, so each workload has the first one that can. */
#include "driver/records.h"

#include "schedule/schedule.h"

#include <string.h>

#define NO_MORE SIZE_MAX

struct tn_record_texts {
    tn_records *r;
    tn_map first;        /* workload -> the first record with a text */
    tn_vec(size_t) next; /* of a record -> the next one of its workload with a text, or NO_MORE */
    tn_map function;     /* workload -> its tn_func; 0: nobody knows it */
    tn_map text;         /* workload -> the record that this was read from */
    tn_ctx ctx;          /* of these functions */
    tn_arena arena;
    tn_pool pool;
};

tn_record_texts *tn_record_texts_new(tn_records *r)
{
    tn_record_texts *t = tn_alloc_array(1, sizeof *t);
    *t = (tn_record_texts){.r = r};
    tn_ctx_init(&t->ctx);
    tn_arena_init(&t->arena);
    tn_pool_init(&t->pool, &t->ctx, &t->arena, NULL);
    for (size_t i = 0; i < r->all.n; i++)
        tn_vec_push(&t->next, NO_MORE);
    for (size_t i = r->all.n; i-- > 0;) {
        uint64_t behind;
        if (!r->all.at[i].function)
            continue;
        if (tn_map_get(&t->first, r->all.at[i].workload, &behind))
            t->next.at[i] = behind;
        tn_map_put(&t->first, r->all.at[i].workload, i);
    }
    return t;
}

void tn_record_texts_free(tn_record_texts *t)
{
    tn_map_deinit(&t->first);
    tn_map_deinit(&t->function);
    tn_map_deinit(&t->text);
    tn_vec_deinit(&t->next);
    tn_arena_deinit(&t->arena);
    tn_ctx_deinit(&t->ctx);
    tn_free(t);
}

tn_func *tn_record_function(const tn_record *x, tn_ctx *ctx, tn_arena *arena, tn_pool *pool)
{
    tn_func *f;
    size_t n = 0;
    const size_t n_diag = ctx->n_diag;
    const bool known =
        tn_func_parse(ctx, arena, pool, "function", x->function, strlen(x->function), &f, 1, &n) == TN_OK &&
        n == 1 && tn_func_verify(f) == TN_OK && tn_func_workload(f) == x->workload;
    tn_diag_rewind(ctx, n_diag);
    return known ? f : NULL;
}

/* NULL: nobody knows it. */
static const tn_func *function_of(tn_record_texts *t, uint64_t workload)
{
    uint64_t known, at;
    const tn_func *f = NULL;
    if (tn_map_get(&t->function, workload, &known))
        return (const tn_func *)(uintptr_t)known;
    bool more = tn_map_get(&t->first, workload, &at);
    for (; more && !f; more = at != NO_MORE) {
        f = tn_record_function(&t->r->all.at[at], &t->ctx, &t->arena, &t->pool);
        if (f)
            tn_map_put(&t->text, workload, at);
        at = t->next.at[at];
    }
    tn_map_put(&t->function, workload, tn_map_key(f));
    return f;
}

bool tn_record_fits(tn_record_texts *t, const tn_record *x)
{
    tn_arena arena;
    tn_pool pool;
    tn_sched s;
    const tn_func *f = function_of(t, x->workload);
    if (!f)
        return true;
    tn_arena_init(&arena);
    tn_pool_init(&pool, &t->ctx, &arena, f->pool);
    bool fits = !tn_record_replay(x, f, &arena, &pool, &s);
    tn_arena_deinit(&arena);
    return fits;
}

void tn_record_texts_keep(tn_record_texts *t, size_t n, const tn_record *const kept[])
{
    tn_map told = {0}; /* workloads whose text stays */
    uint64_t at, known;
    for (size_t i = 0; i < n; i++)
        if (kept[i]->function && tn_map_get(&t->text, kept[i]->workload, &at) &&
            strcmp(kept[i]->function, t->r->all.at[at].function) == 0)
            tn_map_put(&told, kept[i]->workload, 1);
    for (size_t i = 0; i < n; i++) {
        tn_record *x = &t->r->all.at[kept[i] - t->r->all.at];
        if (tn_map_get(&told, x->workload, &known) || !tn_map_get(&t->text, x->workload, &at))
            continue;
        x->function = t->r->all.at[at].function;
        x->line = tn_record_line_with(x, x->function, &t->r->arena);
        tn_map_put(&told, x->workload, 1);
    }
    tn_map_deinit(&told);
}
