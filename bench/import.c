/* bench_import MODEL [INPUT DIM...]: how long reading a model takes, and how much memory beside the mapped file. */
#include "base/file.h"
#include "frontend/frontend.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_DIMS = 8 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tn_status read_model(tn_graph *g, const char *path, const tn_import_options *o)
{
    tn_file f;
    TN_TRY(tn_import_map(g->ctx, path, &f));
    return tn_import(g, path, &f, NULL, o);
}

int main(int n, char **word)
{
    int64_t dim[MAX_DIMS] = {0};
    tn_input_shape shape = {.dim = dim};
    tn_import_options o = {.shape = &shape, .n_shape = n > 2};
    tn_ctx ctx;
    tn_arena arena;
    tn_pool pool;
    tn_graph g;
    tn_buf said = {0};
    struct rusage u;
    if (n < 2 || n - 3 > MAX_DIMS)
        return fprintf(stderr, "usage: bench_import MODEL [INPUT DIM...]\n"), 2;
    shape.name = n > 2 ? word[2] : NULL;
    for (int i = 3; i < n; i++)
        dim[shape.ndim++] = strtoll(word[i], NULL, 10);
    tn_ctx_init(&ctx);
    tn_arena_init(&arena);
    tn_pool_init(&pool, &ctx, &arena, NULL);
    tn_graph_init(&g, &ctx, &arena, &pool);
    double begin = seconds();
    tn_status s = read_model(&g, word[1], &o);
    double took = seconds() - begin;
    getrusage(RUSAGE_SELF, &u);
    tn_diag_print_all(&ctx, &said);
    printf("%s%s: %.3f s, at most %ld MB resident\n", tn_buf_cstr(&said), word[1], took, u.ru_maxrss >> 10);
    tn_buf_deinit(&said);
    return s != TN_OK;
}
