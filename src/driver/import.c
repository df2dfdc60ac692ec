/* Reading a model into a build: its format, the shapes that the user gives its inputs, the constants of a text. */
#include "driver/driver.h"
#include "tenon/runtime.h"

#include <stdlib.h>
#include <string.h>

/* " 3 " or " batch "; what stands behind it, NULL: it is neither. */
static char *parse_dim(tn_build *b, const char *at, int64_t *out, const char **out_symbol)
{
    char *end = NULL;
    at += strspn(at, " ");
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    *out_symbol = NULL;
    *out = strtoll(at, &end, 10);
    if (n && !(*at >= '0' && *at <= '9')) {
        *out_symbol = tn_intern_n(b->ctx, at, n);
        end = (char *)(uintptr_t)at + n;
    }
    return end == at ? NULL : end + strspn(end, " ");
}

/* "name:[1, 3, -1] other:[batch, 2]" */
static tn_status parse_shapes(tn_build *b, const char *text, tn_import_options *o)
{
    tn_vec(tn_input_shape) shapes = {0};
    tn_status st = TN_OK;
    while (text && *(text += strspn(text, " \t,")) && st == TN_OK) {
        const char *open = strchr(text, '['), *colon = open;
        while (colon && colon > text && *colon != ':')
            colon--;
        char *end = NULL;
        int64_t dim[8];
        const char *symbol[8];
        uint32_t n = 0;
        bool ok = open && colon > text;
        for (const char *at = ok ? open + 1 : NULL; ok; at = end + 1) {
            end = parse_dim(b, at, &dim[n], &symbol[n]);
            n++;
            ok = end && (*end == ',' || *end == ']') && (n < 8 || *end == ']');
            if (!ok)
                break;
            if (*end == ']')
                break;
        }
        if (!ok) {
            st = tn_error(b->ctx, "driver-E005", NULL,
                          "--input-shapes: cannot read \"%s\"; write name:[1,3,224,224], or "
                          "name:[batch,3,224,224] for a "
                          "dimension that is known in the run only",
                          text);
            break;
        }
        tn_input_shape s = {tn_intern_n(b->ctx, text, (size_t)(colon - text)), n,
                            tn_arena_copy(&b->arena, dim, n * sizeof *dim, 8),
                            tn_arena_copy(&b->arena, symbol, n * sizeof *symbol, 8)};
        tn_vec_push(&shapes, s);
        text = end + 1;
    }
    o->shape =
        tn_arena_copy(&b->arena, shapes.n ? (void *)shapes.at : (void *)"", shapes.n * sizeof *shapes.at, 8);
    o->n_shape = shapes.n;
    tn_vec_deinit(&shapes);
    return st;
}

tn_status tn_stage_import(tn_build *b)
{
    double start = tn_now();
    tn_import_options o = {0};
    tn_progress_say(b, "import", 0, 0);
    TN_TRY(parse_shapes(b, b->opt.input_shapes, &o));
    TN_TRY(tn_params_constants(b, &o.constant, &o.n_constant));
    TN_TRY(tn_import(&b->graph, b->model, &b->file, b->opt.model_format, &o));
    b->seconds.import = tn_now() - start;
    return TN_OK;
}
