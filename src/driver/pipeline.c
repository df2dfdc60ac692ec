/* The pipelines, read top to bottom.
 *
 *   model file
 *     import       frontend: Relay, typed
 *     graph        the passes below: Relay, fused
 *     tir          each distinct group: one TIR function of blocks
 *     schedule     the built-in rule's trace applied; a second variant for dimension 1 where a dimension is symbolic
 *     lower        flat TIR
 *     program      slots, instructions, memory plan
 *   unit -> code generator -> package
 */
#include "base/thread.h"
#include "driver/driver.h"
#include "tenon/runtime.h"

#include <stdlib.h>
#include <string.h>

const char *const tn_graph_pipeline[] = {
    "InferType",
    "FakeQuantizationToInteger", /* quantised networks compute on integers */
    "DynamicToStatic",           /* extents known now are attributes */
    "Legalize",
    "SimplifyInference", /* operators with an expansion are gone */
    "FoldConstant",      /* nothing that depends on constants only is left to run time */
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "FoldConstant",
    "SimplifyExpr", /* no identities; elementwise operators stand before transposes and reshapes */
    "FoldConstant",
    "FoldScaleAxis", /* batch normalisation is in the weights */
    "FoldConstant",
    "ToMixedPrecision", /* if asked for */
    "SimplifyExpr",
    "CanonicalizeOps",
    "FoldConstant",
    "EliminateCommonSubexpr",
    "CanonicalizeCast", /* casts are part of what reads them */
    "DeadCodeElimination",
    "ChooseAlgorithm", /* each operator is the algorithm that will run */
    "ConvertLayout",   /* if asked for */
    "AlterOpLayout",   /* values have physical layouts */
    "FoldConstant",    /* weights lie in the order their kernel reads them */
    "DeadCodeElimination",
    "FuseOps", /* each call is one kernel */
    "DeadCodeElimination",
    NULL,
};

void tn_progress_say(tn_build *b, const char *stage, size_t done, size_t of)
{
    if (!b->opt.progress)
        return;
    pthread_mutex_lock(&b->progress.lock);
    bool fresh = !b->progress.stage || strcmp(b->progress.stage, stage) != 0;
    if (fresh || done >= b->progress.done) /* else a thread overtook this one */
        b->opt.progress(b->opt.progress_user, stage, (uint32_t)done, (uint32_t)of);
    b->progress.done = fresh || done > b->progress.done ? done : b->progress.done;
    b->progress.stage = stage;
    pthread_mutex_unlock(&b->progress.lock);
}

unsigned tn_build_threads(const tn_build *b)
{
    return b->opt.threads > 0 ? (unsigned)b->opt.threads : tn_cpu_count();
}

void tn_build_init(tn_build *b, tn_ctx *ctx, const tenon_options *o)
{
    memset(b, 0, sizeof *b);
    b->ctx = ctx;
    if (o)
        b->opt = *o;
    b->opt.opt_level = b->opt.opt_level < 0 ? 0 : b->opt.opt_level ? b->opt.opt_level : 3;
    tn_arena_init(&b->arena);
    tn_arena_init(&b->scratch);
    tn_pool_init(&b->pool, ctx, &b->arena, NULL);
    tn_graph_init(&b->graph, ctx, &b->arena, &b->pool);
    pthread_mutex_init(&b->progress.lock, NULL);
}

void tn_build_deinit(tn_build *b)
{
    tn_kernels_drop(b);
    tn_graph_deinit(&b->graph);
    tn_vec_deinit(&b->groups);
    tn_vec_deinit(&b->calls);
    tn_resource_end(b->params);
    if (b->params_file.at)
        tn_file_unmap(&b->params_file);
    if (b->file.at)
        tn_file_unmap(&b->file);
    tn_arena_deinit(&b->scratch);
    tn_arena_deinit(&b->arena);
    pthread_mutex_destroy(&b->progress.lock);
}

/* ---- import ---- */

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

tn_status tn_stage_import(tn_build *b, const char *model)
{
    double start = tn_now();
    tn_import_options o = {0};
    tn_progress_say(b, "import", 0, 0);
    b->model = model;
    TN_TRY(parse_shapes(b, b->opt.input_shapes, &o));
    TN_TRY(tn_import_map(b->ctx, model, &b->file));
    const tn_format *format =
        b->opt.model_format ? tn_format_find(b->opt.model_format) : tn_format_guess(model, &b->file);
    if (format && strcmp(format->name, "relay") == 0)
        TN_TRY(tn_params_read(b, model, &o.constant, &o.n_constant));
    TN_TRY(tn_import(&b->graph, model, &b->file, b->opt.model_format, &o));
    if (!tn_graph_function(&b->graph, "main"))
        return tn_error(b->ctx, "relay-E200", &(tn_loc){.file = model}, "there is no function @main");
    tn_names_settle(b);
    b->seconds.import = tn_now() - start;
    return TN_OK;
}

/* ---- graph ---- */

tn_status tn_check_constants(tn_build *b, int64_t most)
{
    size_t n = tn_relay_constants(&b->graph, NULL, 0), had = b->ctx->n_error;
    const tn_node **c = TN_NEW_N(&b->arena, const tn_node *, n);
    tn_relay_constants(&b->graph, c, n);
    for (size_t i = 0; i < n; i++) {
        int64_t count = 0;
        if (c[i]->blob && (c[i]->blob->at || !c[i]->blob->n))
            continue;
        if (tn_is_int(tn_type_count(&b->pool, c[i]->type[0]), &count) && count > most)
            continue;
        (void)tn_error(b->ctx, "relay-E204", c[i]->loc,
                       "the constant %s has no data; read the text together with its .params file",
                       c[i]->name ? c[i]->name : "(unnamed)");
    }
    return b->ctx->n_error == had ? TN_OK : TN_FAIL;
}

tn_status tn_stage_graph(tn_build *b)
{
    double start = tn_now();
    tn_pass p;
    TN_TRY(tn_check_constants(b, 1)); /* single elements become part of the code */
    TN_TRY(tn_passes_init(b));
    p = tn_pass_context(b);
    size_t n_pass = 0;
    while (tn_graph_pipeline[n_pass])
        n_pass++;
    for (size_t i = 0; i < n_pass; i++) {
        tn_progress_say(b, "graph", i, n_pass);
        TN_TRY(tn_pass_step(b, &p, tn_graph_pipeline[i]));
    }
    tn_file_cool(&b->file);
    b->seconds.graph = tn_now() - start;
    return tn_relay_verify(&b->graph);
}
