/* Shapes to propose where a model cannot be compiled with symbolic ones: common values are tried, all the way to the
 * loops, until some work. Batches are 1; then one dimension at a time, or all but the first ones, take each value. */
#include "driver/driver.h"

#include <string.h>

enum { MOST_SYMBOLS = 6 };
static const int64_t values[] = {512, 224, 256, 128, 64, 32, 16, 8, 2, 320, 640, 576, 160, 1024};
static const double most_seconds = 5;

typedef struct {
    const tn_region *main;
    const tn_expr *symbol[MOST_SYMBOLS];
    bool leads[MOST_SYMBOLS]; /* it is the first dimension of an input */
    int n;
} unknowns;

/* false: an input's extent is no plain symbol, or there are too many. */
static bool find_symbols(unknowns *u)
{
    for (uint32_t i = 0; i < u->main->n_param; i++) {
        const tn_type *t = u->main->param[i]->type[0];
        for (int d = 0; d < t->n && !tn_type_is_handle(t); d++) {
            int k = 0;
            if (t->dim[d]->kind == TN_E_INT)
                continue;
            while (k < u->n && u->symbol[k] != t->dim[d])
                k++;
            if (t->dim[d]->kind != TN_E_SYM || k == MOST_SYMBOLS)
                return false;
            u->symbol[k] = t->dim[d];
            u->leads[k] |= d == 0;
            u->n += k == u->n;
        }
    }
    return u->n > 0;
}

/* "x:[1,512] state:[2,1,128]": of the inputs with unknown extents. */
static void print_shapes(const unknowns *u, const int64_t value[], tn_buf *out)
{
    tn_buf_clear(out);
    for (uint32_t i = 0; i < u->main->n_param; i++) {
        const tn_type *t = u->main->param[i]->type[0];
        if (tn_type_is_handle(t) || tn_type_dims_const(t, NULL))
            continue;
        tn_buf_printf(out, "%s%s:[", out->n ? " " : "", u->main->param[i]->name);
        for (int d = 0; d < t->n; d++) {
            int64_t v = 0;
            for (int k = 0; k < u->n && !tn_is_int(t->dim[d], &v); k++)
                v = u->symbol[k] == t->dim[d] ? value[k] : v;
            tn_buf_printf(out, "%s%lld", d ? "," : "", (long long)v);
        }
        tn_buf_char(out, ']');
    }
}

/* All the way to the loops, in a session of its own. */
static bool works(const tn_build *b, const tn_buf *shapes)
{
    tn_ctx ctx;
    tn_build x;
    tenon_options o = b->opt;
    o.input_shapes = tn_buf_cstr(shapes);
    o.progress = NULL;
    o.print_ir_before = o.print_ir_after = NULL;
    o.print_pass_times = 0;
    tn_ctx_init(&ctx);
    tn_build_init(&x, &ctx, &o);
    x.model = b->model;
    x.file = (tn_file){.at = b->file.at, .n = b->file.n};
    bool good =
        tn_target_parse(&x) == TN_OK && tn_stage_import(&x) == TN_OK && tn_graph_function(&x.graph, "main");
    if (good) {
        tn_names_settle(&x);
        good = tn_stage_kernels(&x) == TN_OK;
    }
    tn_build_deinit(&x);
    tn_ctx_deinit(&ctx);
    return good;
}

/* Try number `at`: false after the last. */
static bool next_values(const unknowns *u, int at, int64_t value[MOST_SYMBOLS])
{
    const int n = (int)(sizeof values / sizeof *values), each = u->n + 1, v = (at - 1) / each,
              which = (at - 1) % each;
    for (int k = 0; k < u->n; k++)
        value[k] = 1;
    if (at == 0)
        return true;
    for (int k = 0; k < u->n && v < n; k++)
        if (which == u->n ? !u->leads[k] : which == u->n - 1 - k)
            value[k] = values[v];
    return v < n;
}

/* In single quotes, where the shell needs them. */
static void print_word(const char *word, tn_buf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,@%";
    bool quote = word[strspn(word, plain)] != 0;
    tn_buf_str(out, quote ? "'" : "");
    for (; *word; word++)
        if (*word == '\'')
            tn_buf_str(out, "'\\''");
        else
            tn_buf_char(out, *word);
    tn_buf_str(out, quote ? "'" : "");
}

void tn_propose_shapes(tn_build *b)
{
    const tn_function *f = tn_graph_function(&b->graph, "main");
    unknowns u = {.main = f ? f->body : NULL};
    int64_t value[MOST_SYMBOLS];
    tn_buf shapes = {0}, path = {0};
    bool found = false;
    double start = tn_now();
    if (!b->graph.wants_shapes || b->opt.input_shapes || !f || !find_symbols(&u))
        return;
    for (int at = 0; !found && next_values(&u, at, value) && tn_now() - start < most_seconds; at++) {
        print_shapes(&u, value, &shapes);
        found = works(b, &shapes);
    }
    if (found) {
        print_word(b->model, &path);
        tn_buf word = {0};
        print_word(tn_buf_cstr(&shapes), &word);
        (void)tn_report(b->ctx, TN_NOTE, "driver-N001", &(tn_loc){.file = b->model},
                        "with these shapes it can be compiled: tenon compile %s --input-shapes %s",
                        tn_buf_cstr(&path), tn_buf_cstr(&word));
        tn_buf_deinit(&word);
    }
    tn_buf_deinit(&shapes);
    tn_buf_deinit(&path);
}
