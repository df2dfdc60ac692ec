/* Building through the public API: packages, code in this process, dumps, interpreters. */
#include "driver/api.h"

#include <stdlib.h>
#include <string.h>

/* ---- the report ---- */

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

static void report_memory(tenon *t, tenon_report *r)
{
    tn_build *b = &t->build;
    uint64_t *const by_kind[] = {[TN_SLOT_INPUT] = &r->input_bytes,
                                 [TN_SLOT_OUTPUT] = &r->output_bytes,
                                 [TN_SLOT_CONST] = &r->constant_bytes,
                                 [TN_SLOT_STATE] = &r->state_bytes};
    for (uint32_t i = 0; i < b->main->n_slot; i++)
        if (b->main->slot[i].kind != TN_SLOT_TEMP)
            *by_kind[b->main->slot[i].kind] += number(b->main->slot[i].bytes);
    r->arena_bytes = number(b->main->arena_bytes);
    r->plan_smallest = 1;
    tn_facts facts;
    tn_symbol_facts(&b->graph, &facts);
    for (uint32_t s = 0; s <= b->main->n_segment; s++) {
        r->plan_bytes += (uint64_t)tn_plan_nominal(&b->pool, &facts, b->plan[s].bytes);
        r->alive_bytes += (uint64_t)tn_plan_nominal(&b->pool, &facts, b->plan[s].alive);
        r->plan_smallest &= b->plan[s].smallest;
    }
    tn_facts_deinit(&facts);
    r->in_place = b->n_in_place;
    tn_buf symbols = {0};
    r->memory_bytes = tn_peak_example(b, &symbols);
    r->memory_symbols = tn_arena_strdup(&b->arena, tn_buf_cstr(&symbols));
    tn_buf_deinit(&symbols);
    tn_peak_print(b, &t->text);
    r->memory = tn_buf_cstr(&t->text);
}

/* Fills in what the caller's version of the struct has. */
void tn_report_fill(tenon *t, size_t bytes, tenon_report *out)
{
    tn_build *b = &t->build;
    tenon_report r = {.size = out->size,
                      .kernels = (uint32_t)b->groups.n,
                      .instructions = b->main->n_inst,
                      .package_bytes = bytes,
                      .seconds_import = b->seconds.import,
                      .seconds_graph = b->seconds.graph,
                      .seconds_tir = b->seconds.tir,
                      .seconds_schedule = b->seconds.schedule,
                      .seconds_lower = b->seconds.lower,
                      .seconds_codegen = b->seconds.codegen,
                      .seconds_cc = b->seconds.cc,
                      .seconds_package = b->seconds.package,
                      .target = b->target.text,
                      .machine = b->machine.name,
                      .graph_recorded = b->graph_recorded,
                      .objects_made = atomic_load(&b->objects.made),
                      .objects_cached = atomic_load(&b->objects.loaded),
                      .features = features_text(b)};
    for (size_t i = 0; i < b->groups.n; i++)
        r.kernels_recorded += b->groups.at[i].n_recorded;
    report_memory(t, &r);
    memcpy(out, &r, out->size < sizeof r ? out->size : sizeof r);
}

/* ---- packages ---- */

typedef struct {
    const char *output; /* NULL: into the session's data */
    tenon_report *report;
} build_call;

tn_status tn_report_check(tenon *t, const tenon_report *r)
{
    return !r || r->size >= offsetof(tenon_report, instructions) ? TN_OK
                                                                 : tn_report_no_size(&t->ctx, "tenon_report");
}

static tn_status make_package(tenon *t, void *user)
{
    const build_call *c = user;
    tn_build *b = &t->build;
    size_t bytes = 0;
    const char *why = c->output ? tenon_output_advice(c->output) : NULL;
    TN_TRY(tn_report_check(t, c->report));
    if (why)
        return tn_error(b->ctx, "driver-E093", NULL, "%s cannot be written: %s", c->output, why);
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_target_check_tools(b, c->output ? c->output : "mod.tar"));
    TN_TRY(tn_stage_kernels_for_code(b));
    TN_TRY(tn_package_write(b, c->output, &t->data, &bytes));
    tn_passes_report(b);
    if (c->report)
        tn_report_fill(t, bytes, c->report);
    return TN_OK;
}

int tenon_build(tenon_module *m, const tenon_options *o, const char *output, tenon_report *report)
{
    return tn_module_call(m, o, make_package, &(build_call){output, report});
}

static tn_status no_memory(tenon *t, void *user)
{
    (void)t;
    tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = *(const size_t *)user});
}

int tenon_build_memory(tenon_module *m, const tenon_options *o, void **out_data, size_t *out_n,
                       tenon_report *report)
{
    *out_data = NULL;
    *out_n = 0;
    if (tn_module_call(m, o, make_package, &(build_call){NULL, report}))
        return 1;
    const tn_buf *made = &m->object.session->data;
    *out_data = tn_alloc_apart_try(made->n); /* outside of a call: nobody's but the caller's */
    if (*out_data) {
        memcpy(*out_data, made->at, made->n);
        *out_n = made->n;
    }
    return *out_data ? 0 : tn_session_call(m->object.session, NULL, no_memory, &(size_t){made->n});
}

void tenon_package_free(void *data) { tn_free(data); }

static tn_status check(tenon *t, void *user)
{
    (void)user;
    TN_TRY(tn_target_parse(&t->build));
    return tn_stage_kernels(&t->build);
}

int tenon_check(tenon_module *m, const tenon_options *o) { return tn_module_call(m, o, check, NULL); }

/* ---- looking inside ---- */

static bool is_exported(const tn_build *b)
{
    return b->opt.dump_format && tn_export_find(b->opt.dump_format);
}

/* What mod.params would hold of the constants, in the order of the text; none if some are not known. Those of a format
 * of model files have the names that its text gives them. */
static void dump_constants(tn_build *b, tn_sink *out)
{
    const tn_export_params *e = &b->exported;
    if (is_exported(b)) {
        if (e->n)
            tn_params_write(e->n, e->name, e->constant, false, out);
        return;
    }
    size_t n = tn_relay_constants(&b->graph, NULL, 0);
    const tn_node **c = TN_NEW_N(&b->arena, const tn_node *, n);
    const char **name = TN_NEW_N(&b->arena, const char *, n);
    tn_relay_constants(&b->graph, c, n);
    for (size_t i = 0; i < n; i++) {
        name[i] = tn_arena_printf(&b->arena, "relay.Constant.%zu", i);
        if (!c[i]->blob || !c[i]->blob->at) /* read from a text without its .params */
            return;
    }
    tn_params_write((uint32_t)n, name, c, true, out);
}

typedef struct {
    const char *stage, *path;
    bool params;
} dump_call;

static bool has_constants(const tn_build *b, const char *stage)
{
    const char *format = b->opt.dump_format;
    return strncmp(stage, "relay", 5) == 0 && (!format || strcmp(format, "text") == 0 || is_exported(b));
}

static tn_status dump(tenon *t, void *user)
{
    const dump_call *c = user;
    TN_TRY(tn_dump(&t->build, c->stage, &t->text));
    if (c->params && has_constants(&t->build, c->stage))
        dump_constants(&t->build, &(tn_sink){.buf = &t->data});
    return TN_OK;
}

int tenon_module_dump(tenon_module *m, const tenon_options *o, const char *stage, const char **out_text,
                      const void **out_params, size_t *out_n_params)
{
    int failed = tn_module_call(m, o, dump, &(dump_call){.stage = stage, .params = out_params});
    const tenon *t = m ? m->object.session : NULL;
    *out_text = t ? tn_buf_cstr(&t->text) : "";
    if (out_params) {
        *out_params = t ? t->data.at : NULL;
        *out_n_params = t ? t->data.n : 0;
    }
    return failed;
}

static void add_constants(void *b, tn_sink *out) { dump_constants(b, out); }

/* Beside m.relay m.relay.params; beside m.json of a format of model files m.params, which is not the file itself. */
static const char *params_path(tn_build *b, const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    bool other = is_exported(b) && dot && dot > path && dot[-1] != '/' && strcmp(dot, ".params") != 0;
    int n = (int)(other ? (size_t)(dot - path) : strlen(path));
    return tn_arena_printf(&b->arena, "%.*s.params", n, path);
}

static tn_status dump_to(tenon *t, void *user)
{
    const dump_call *c = user;
    tn_build *b = &t->build;
    tn_sink count = {0};
    TN_TRY(tn_dump(b, c->stage, &t->text));
    if (has_constants(b, c->stage))
        dump_constants(b, &count);
    const char *params = params_path(b, c->path);
    return tn_files_write(b->ctx, count.n ? 2 : 1,
                          (tn_file_part[]){{.path = c->path, .data = t->text.at, .n = t->text.n},
                                           {.path = params, .write = add_constants, .user = b}});
}

int tenon_module_dump_to(tenon_module *m, const tenon_options *o, const char *stage, const char *path)
{
    return tn_module_call(m, o, dump_to, &(dump_call){.stage = stage, .path = path});
}

typedef struct {
    const char *stage;
    int n_in, n_out;
    const tenon_tensor *in;
    tenon_tensor *out;
} interpret_call;

static tn_status interpret(tenon *t, void *user)
{
    interpret_call *c = user;
    TN_TRY(tn_target_parse(&t->build));
    return tn_interpret(&t->build, c->stage, c->n_in, c->in, &c->n_out, &c->out);
}

int tenon_interpret(tenon_module *m, const tenon_options *o, const char *stage, int n_in,
                    const tenon_tensor in[], int *out_n, const tenon_tensor **out)
{
    interpret_call c = {.stage = stage, .n_in = n_in, .in = in};
    int failed = tn_module_call(m, o, interpret, &c);
    *out_n = failed ? 0 : c.n_out;
    *out = failed ? NULL : c.out;
    return failed;
}
