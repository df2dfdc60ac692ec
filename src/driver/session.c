/* The public compiler API (tenon/tenon.h): sessions over builds. */
#include "base/utf8.h"
#include "base/words.h"
#include "driver/driver.h"
#include "frontend/file_kind.h"

#include <stdlib.h>
#include <string.h>

struct tenon {
    tn_ctx ctx;
    tn_build build;
    bool building;
    tn_buf messages, text, params;
};

tenon *tenon_new(void)
{
    tenon *t = calloc(1, sizeof *t);
    if (t)
        tn_ctx_init(&t->ctx);
    return t;
}

static void reset(tenon *t)
{
    if (t->building)
        tn_build_deinit(&t->build);
    t->building = false;
    tn_ctx_deinit(&t->ctx);
    tn_ctx_init(&t->ctx);
    tn_buf_clear(&t->messages);
    tn_buf_clear(&t->text);
    tn_buf_clear(&t->params);
}

void tenon_free(tenon *t)
{
    if (!t)
        return;
    reset(t);
    tn_ctx_deinit(&t->ctx);
    tn_buf_deinit(&t->messages);
    tn_buf_deinit(&t->text);
    tn_buf_deinit(&t->params);
    free(t);
}

const char *tenon_version(void) { return TENON_VERSION; }

const char *tenon_messages(const tenon *t) { return tn_buf_cstr(&t->messages); }

static tn_build *begin(tenon *t, const tenon_options *o)
{
    reset(t);
    tn_build_init(&t->build, &t->ctx, o);
    t->building = true;
    return &t->build;
}

static int end(tenon *t, tn_status st)
{
    tn_diag_print_all(&t->ctx, &t->messages);
    return st == TN_OK && t->ctx.n_error == 0 ? 0 : 1;
}

int tenon_about(tenon *t, const char **out_text, const char **out_machine)
{
    reset(t);
    tn_status st = tn_about(&t->ctx, &t->text, &t->params);
    if (out_text)
        *out_text = tn_buf_cstr(&t->text);
    if (out_machine)
        *out_machine = tn_buf_cstr(&t->params);
    return end(t, st);
}

int tenon_machine_rates(tenon *t, tenon_rates *out)
{
    reset(t);
    tn_machine m;
    tn_status st = tn_machine_detect(&t->ctx, &m);
    if (st == TN_OK)
        *out = (tenon_rates){.float32 = m.peak_gflops,
                             .bfloat16 = m.bf16_gflops > m.peak_gflops ? m.bf16_gflops : m.peak_gflops,
                             .int8 = m.int8_gops > m.peak_gflops ? m.int8_gops : m.peak_gflops,
                             .cores = m.cores};
    return end(t, st);
}

/* Everything before machine code; the target is known. */
static tn_status prepare(tn_build *b, const char *model)
{
    if (tn_stage_import(b, model) != TN_OK) {
        tn_propose_shapes(b, model);
        return TN_FAIL;
    }
    TN_TRY(tn_check_constants(b, INT64_MAX));
    TN_TRY(tn_stage_graph(b));
    TN_TRY(tn_stage_tir(b));
    TN_TRY(tn_stage_schedule(b));
    TN_TRY(tn_stage_lower(b));
    return tn_stage_program(b);
}

static tn_status compile(tn_build *b, const char *model, const char *output, size_t *bytes)
{
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_target_check_tools(b, output));
    TN_TRY(prepare(b, model));
    return tn_package_write(b, output, bytes);
}

static uint64_t number(const tn_expr *e)
{
    int64_t v;
    return e && tn_is_int(e, &v) ? (uint64_t)v : 0;
}

static const char *features_text(tn_build *b)
{
    tn_buf text = {0};
    for (size_t i = 0; i < b->machine.n_feature; i++)
        tn_buf_printf(&text, "%s%s", i ? " " : "", b->machine.feature[i]);
    const char *s = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

static void fill_report(tenon *t, size_t bytes, tenon_report *r)
{
    tn_build *b = &t->build;
    memset(r, 0, sizeof *r);
    r->kernels = (uint32_t)b->groups.n;
    r->instructions = b->program.n_inst;
    r->package_bytes = bytes;
    uint64_t *const by_kind[] = {&r->input_bytes, &r->output_bytes, &r->constant_bytes};
    for (uint32_t i = 0; i < b->program.n_slot; i++)
        if (b->program.slot[i].kind != TN_SLOT_TEMP)
            *by_kind[b->program.slot[i].kind] += number(b->program.slot[i].bytes);
    r->arena_bytes = number(b->program.arena_bytes);
    r->plan_smallest = 1;
    tn_facts facts;
    tn_symbol_facts(&b->graph, &facts);
    for (uint32_t s = 0; s <= b->program.n_segment; s++) {
        r->plan_bytes += (uint64_t)tn_plan_nominal(&b->pool, &facts, b->plan[s].bytes);
        r->alive_bytes += (uint64_t)tn_plan_nominal(&b->pool, &facts, b->plan[s].alive);
        r->plan_smallest &= b->plan[s].smallest;
    }
    tn_facts_deinit(&facts);
    r->in_place = b->n_in_place;
    r->seconds_import = b->seconds.import;
    r->seconds_graph = b->seconds.graph;
    r->seconds_tir = b->seconds.tir;
    r->seconds_schedule = b->seconds.schedule;
    r->seconds_lower = b->seconds.lower;
    r->seconds_codegen = b->seconds.codegen;
    r->seconds_cc = b->seconds.cc;
    r->seconds_package = b->seconds.package;
    tn_buf symbols = {0};
    r->memory_bytes = tn_peak_example(b, &symbols);
    r->memory_symbols = tn_arena_strdup(&b->arena, tn_buf_cstr(&symbols));
    tn_buf_deinit(&symbols);
    tn_peak_print(b, &t->text);
    r->memory = tn_buf_cstr(&t->text);
    r->objects_made = atomic_load(&b->objects.made);
    r->objects_cached = atomic_load(&b->objects.loaded);
    r->target = b->target.text;
    r->machine = b->machine.name;
    r->features = features_text(b);
}

int tenon_compile(tenon *t, const char *model, const tenon_options *o, const char *output,
                  tenon_report *report)
{
    size_t bytes = 0;
    tn_status st = compile(begin(t, o), model, output, &bytes);
    if (st == TN_OK)
        tn_passes_report(&t->build);
    if (st == TN_OK && report)
        fill_report(t, bytes, report);
    return end(t, st);
}

int tenon_check(tenon *t, const char *model, const tenon_options *o, size_t *out_trouble)
{
    tn_build *b = begin(t, o);
    tn_status st = tn_target_parse(b);
    int failed = end(t, st == TN_OK ? prepare(b, model) : st);
    *out_trouble = t->ctx.n_error;
    return failed;
}

int tenon_dump(tenon *t, const char *model, const tenon_options *o, const char *stage, const char **out_text,
               const void **out_params, size_t *out_params_n)
{
    tn_build *b = begin(t, o);
    tn_status st = tn_dump(b, model, stage, &t->text);
    if (st == TN_OK && out_params && strncmp(stage, "relay", 5) == 0 &&
        (!b->opt.dump_format || strcmp(b->opt.dump_format, "text") == 0)) {
        size_t n = tn_relay_constants(&b->graph, NULL, 0);
        const tn_node **c = TN_NEW_N(&b->arena, const tn_node *, n);
        const char **name = TN_NEW_N(&b->arena, const char *, n);
        tn_relay_constants(&b->graph, c, n);
        bool opaque = false;
        for (size_t i = 0; i < n; i++) {
            name[i] = tn_arena_printf(&b->arena, "relay.Constant.%zu", i);
            opaque = opaque || !c[i]->blob || !c[i]->blob->at; /* read from a text without its .params */
        }
        if (!opaque) {
            tn_params_write((uint32_t)n, name, c, &(tn_sink){.buf = &t->params});
            *out_params = t->params.at;
            *out_params_n = t->params.n;
        }
    }
    *out_text = tn_buf_cstr(&t->text);
    return end(t, st);
}

int tenon_opt(tenon *t, const char *file, const char *passes, const tenon_options *o, const char **out_text)
{
    tn_status st = tn_opt(begin(t, o), file, passes, &t->text);
    *out_text = tn_buf_cstr(&t->text);
    return end(t, st);
}

int tenon_interpret(tenon *t, const char *model, const tenon_options *o, const char *stage, int n_in,
                    const tenon_tensor in[], int *n_out, const tenon_tensor **out)
{
    tn_build *b = begin(t, o);
    tenon_tensor *result = NULL;
    tn_status st = tn_target_parse(b);
    *n_out = 0;
    if (st == TN_OK)
        st = tn_stage_import(b, model);
    if (st == TN_OK)
        st = tn_interpret(b, stage, n_in, in, n_out, &result);
    *out = result;
    return end(t, st);
}

int tenon_inputs(tenon *t, const char *model, const tenon_options *o, int *n_in, const tenon_tensor **out)
{
    tn_build *b = begin(t, o);
    tn_status st = tn_stage_import(b, model);
    tenon_tensor *x = NULL;
    *n_in = 0;
    if (st == TN_OK) {
        const tn_region *r = tn_graph_function(&b->graph, "main")->body;
        x = TN_NEW_N(&b->arena, tenon_tensor, r->n_param);
        for (uint32_t i = 0; i < r->n_param; i++) {
            const tn_type *ty = r->param[i]->type[0];
            x[i] = (tenon_tensor){
                .name = r->param[i]->name, .code = ty->dtype.code, .bits = ty->dtype.bits, .ndim = ty->n};
            for (int d = 0; d < ty->n && d < 8; d++)
                if (!tn_is_int(ty->dim[d], &x[i].shape[d]))
                    x[i].shape[d] = -1;
        }
        *n_in = (int)r->n_param;
    }
    *out = x;
    return end(t, st);
}

int tenon_verify(tenon *t, const char *package, const char **out_text)
{
    tn_status st = tn_verify(begin(t, NULL), package, &t->text);
    *out_text = tn_buf_cstr(&t->text);
    return end(t, st);
}

int tenon_config(tenon *t, const char *name, const char *const **out_words)
{
    return end(t, tn_config_read(begin(t, NULL), name, out_words));
}

int tenon_explain_file(tenon *t, const char *path, enum tenon_wanted wanted, const char **out_text)
{
    static const enum tn_file_kind_role role[] = {[TENON_WANTED_MODEL] = TN_FILE_KIND_MODEL,
                                                  [TENON_WANTED_PACKAGE] = TN_FILE_KIND_PACKAGE,
                                                  [TENON_WANTED_ARRAYS] = TN_FILE_KIND_ARRAYS};
    (void)begin(t, NULL);
    *out_text = tn_file_kind_explain(path, role[wanted], &t->text) ? tn_buf_cstr(&t->text) : NULL;
    return end(t, TN_OK);
}

size_t tenon_character(const char *text) { return tn_utf8_shown(text); }

int tenon_words_apart(const char *word, size_t n, const char *name) { return tn_words_apart(word, n, name); }

const char *tenon_stage_name(size_t i)
{
    for (size_t k = 0; tn_stage_names[k]; k++)
        if (k == i)
            return tn_stage_names[k];
    return NULL;
}

int tenon_pass_level(size_t i) { return i < tn_n_passes ? tn_passes[i].opt_level : -1; }

const char *tenon_pass_name(size_t i, const char **out_doc)
{
    if (i < tn_n_passes) {
        *out_doc = tn_passes[i].doc;
        return tn_passes[i].name;
    }
    i -= tn_n_passes;
    for (size_t k = 0; k < tn_n_lower_passes; k++)
        if (*tn_lower_passes[k].doc && i-- == 0) { /* a pass that runs again has no text there */
            *out_doc = tn_lower_passes[k].doc;
            return tn_lower_passes[k].name;
        }
    return NULL;
}
