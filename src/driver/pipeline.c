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
    "WidenProducts", /* no loop of a product converts float16 */
    "FoldConstant",
    "FlushDenormals",  /* if asked for */
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

void tn_build_take(tn_build *b, const tenon_options *o)
{
    b->opt = o ? *o : (tenon_options){0};
    b->opt.opt_level = b->opt.opt_level < 0 ? 0 : b->opt.opt_level ? b->opt.opt_level : 3;
}

void tn_build_init(tn_build *b, tn_ctx *ctx, const tenon_options *o)
{
    memset(b, 0, sizeof *b);
    b->ctx = ctx;
    b->target.row = &tn_target_rows[0];
    tn_build_take(b, o);
    tn_arena_init(&b->arena);
    tn_arena_init(&b->scratch);
    tn_pool_init(&b->pool, ctx, &b->arena, NULL);
    tn_graph_init(&b->graph, ctx, &b->arena, &b->pool);
    pthread_mutex_init(&b->progress.lock, NULL);
}

void tn_build_init_from(tn_build *b, const tn_build *from, tn_ctx *child, const tenon_options *o)
{
    tn_build_init(b, child, o);
    tn_pool_init(&b->pool, child, &b->arena, &from->pool);
    tn_graph_clone(&from->graph, &b->graph);
    b->origin = from;
    b->model = from->model;
    b->seconds.import = from->seconds.import;
    tn_names_settle(b);
}

void tn_build_deinit(tn_build *b)
{
    tn_kernels_drop(b);
    tn_graph_deinit(&b->graph);
    tn_vec_deinit(&b->groups);
    tn_vec_deinit(&b->calls);
    tn_graph_picks_deinit(&b->picks);
    if (b->has_records)
        tn_records_deinit(&b->records);
    tn_resource_end(b->params);
    if (b->params_file.at)
        tn_file_unmap(&b->params_file);
    if (b->file.at)
        tn_file_unmap(&b->file);
    tn_arena_deinit(&b->scratch);
    tn_arena_deinit(&b->arena);
    pthread_mutex_destroy(&b->progress.lock);
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

static bool is_told(const tn_build *b)
{
    const char *given = b->pass_options.config[TN_CONFIG_PICKS];
    return given && *given;
}

/* Passes choose from here on: what a search has found for the graph as it is now. */
static tn_status before_choices(tn_build *b)
{
    b->graph_workload = tn_graph_workload(&b->graph);
    if (b->found_picks || is_told(b))
        return TN_OK;
    TN_TRY(tn_records_open(b));
    b->graph_recorded = tn_records_graph(b, b->graph_workload, &b->given_picks);
    return TN_OK;
}

/* What a record says holds where it fits; what the user says has to be a choice that there is. */
static tn_status after_choices(tn_build *b)
{
    b->graph_recorded = b->graph_recorded && tn_graph_picks_taken(&b->picks);
    return !b->found_picks && is_told(b) ? tn_graph_picks_check(b->ctx, &b->picks) : TN_OK;
}

tn_status tn_stage_graph(tn_build *b)
{
    double start = tn_now();
    tn_pass p;
    TN_TRY(tn_check_constants(b, 1)); /* single elements become part of the code */
    TN_TRY(tn_states_find(b));
    TN_TRY(tn_passes_init(b));
    p = tn_pass_context(b);
    size_t n_pass = 0;
    while (tn_graph_pipeline[n_pass])
        n_pass++;
    for (size_t i = 0; i < n_pass; i++) {
        tn_progress_say(b, "graph", i, n_pass);
        if (strcmp(tn_graph_pipeline[i], "ChooseAlgorithm") == 0)
            TN_TRY(before_choices(b));
        TN_TRY(tn_pass_step(b, &p, tn_graph_pipeline[i]));
    }
    TN_TRY(after_choices(b));
    tn_file_cool(b->origin ? &b->origin->file : &b->file);
    b->seconds.graph = tn_now() - start;
    return tn_relay_verify(&b->graph);
}

/* ---- all ---- */

tn_status tn_stage_kernels(tn_build *b)
{
    TN_TRY(tn_check_constants(b, INT64_MAX));
    TN_TRY(tn_stage_graph(b));
    TN_TRY(tn_stage_tir(b));
    TN_TRY(tn_stage_schedule(b));
    TN_TRY(tn_stage_lower(b));
    return tn_stage_program(b);
}

tn_status tn_stage_kernels_for_code(tn_build *b)
{
    tn_resource *(*open_early)(void) = b->target.row->generator->open_early;
    tn_resource *early = open_early && tn_build_threads(b) > 1 ? open_early() : NULL;
    tn_status st = tn_stage_kernels(b);
    tn_resource_end(early);
    return st;
}
