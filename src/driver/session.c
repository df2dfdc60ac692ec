/* The public compiler API (tenon/tenon.h): sessions over builds. */
#include "base/utf8.h"
#include "base/words.h"
#include "driver/driver.h"
#include "frontend/file_kind.h"

#include <string.h>

struct tenon {
    tn_heap heap, kept; /* of what a call makes; of what is said after one that was ended early */
    tn_ctx ctx;
    tn_build build;
    bool speechless; /* no memory was left for messages */
    tn_buf messages, text, params;
};

tenon *tenon_new(void)
{
    tenon *t = tn_alloc_aligned_try(sizeof *t);
    if (!t)
        return NULL;
    tn_heap_init(&t->heap);
    tn_heap_init(&t->kept);
    return t;
}

/* Nothing of the last call is left. */
static void reset(tenon *t)
{
    tn_heap_free(&t->heap);
    tn_heap_free(&t->kept);
    memset(&t->build, 0, sizeof t->build);
    t->messages = t->text = t->params = (tn_buf){0};
    t->speechless = false;
    tn_ctx_init(&t->ctx);
}

void tenon_free(tenon *t)
{
    if (!t)
        return;
    reset(t);
    tn_free(t);
}

const char *tenon_version(void) { return TENON_VERSION; }

const char *tenon_messages(const tenon *t)
{
    return t->speechless ? "error: there is not enough memory, not even for messages [base-E004]\n"
                         : tn_buf_cstr(&t->messages);
}

/* ---- calls ---- */

typedef tn_status body_fn(tenon *t, void *user);
typedef struct call {
    tenon *t;
    const tenon_options *o;
    body_fn *body;
    void *user;
    tn_raised raised;
    bool failed;
} call;

static void run(void *user)
{
    call *c = user;
    tenon *t = c->t;
    tn_build_init(&t->build, &t->ctx, c->o);
    c->failed = c->body(t, c->user) != TN_OK || t->ctx.n_error > 0;
    tn_diag_print_all(&t->ctx, &t->messages);
}

/* What was reported before the call was ended, and why it was. */
static void explain(void *user)
{
    call *c = user;
    tn_ctx ctx;
    tn_buf text = {0};
    tn_ctx_init(&ctx);
    for (size_t i = 0; i < c->t->ctx.n_diag; i++) {
        const tn_diag *d = &c->t->ctx.diag[i];
        (void)tn_report(&ctx, d->severity, d->id, &d->loc, "%s", d->message);
    }
    (void)tn_report_raised(&ctx, &c->raised);
    tn_diag_print_all(&ctx, &text);
    c->t->ctx = ctx;
    c->t->messages = text;
}

static tn_limits limits_of(const tenon_options *o)
{
    const tn_guard *outer = tn_guard_get(); /* a call within a call has no more time than that one */
    double left = outer && outer->heap && outer->heap->deadline > 0 ? outer->heap->deadline - tn_now() : 0;
    tn_limits l = {0};
    if (o)
        l = (tn_limits){o->max_memory, o->max_seconds, o->max_nodes, o->cancel};
    if (left != 0 && (l.seconds <= 0 || left < l.seconds))
        l.seconds = left > 1e-9 ? left : 1e-9;
    return l;
}

/* Runs the body of a public call: whatever is raised in it ends here, as an error. What it leaves in the session
 * lives until the next call. Returns 0 or 1, as public calls do. */
static int protect(tenon *t, const tenon_options *o, body_fn *body, void *user)
{
    call c = {.t = t, .o = o, .body = body, .user = user};
    const tn_limits limits = limits_of(o);
    reset(t);
    tn_heap_limit(&t->heap, &limits);
    c.raised = tn_protect(&t->heap, run, &c);
    if (!c.raised.kind)
        return c.failed;
    t->messages = t->text = t->params = (tn_buf){0};
    t->speechless = tn_protect(&t->kept, explain, &c).kind != TN_RAISED_NOTHING;
    if (t->speechless)
        tn_ctx_init(&t->ctx);
    memset(&t->build, 0, sizeof t->build);
    tn_heap_free(&t->heap);
    return 1;
}

static tn_status about(tenon *t, void *user)
{
    (void)user;
    return tn_about(&t->ctx, &t->text, &t->params);
}

int tenon_about(tenon *t, const char **out_text, const char **out_machine)
{
    int failed = protect(t, NULL, about, NULL);
    if (out_text)
        *out_text = tn_buf_cstr(&t->text);
    if (out_machine)
        *out_machine = tn_buf_cstr(&t->params);
    return failed;
}

static tn_status rates(tenon *t, void *user)
{
    tenon_rates *out = user;
    tn_machine m;
    TN_TRY(tn_machine_detect(&t->ctx, &m));
    *out = (tenon_rates){.float32 = m.peak_gflops,
                         .bfloat16 = m.bf16_gflops > m.peak_gflops ? m.bf16_gflops : m.peak_gflops,
                         .int8 = m.int8_gops > m.peak_gflops ? m.int8_gops : m.peak_gflops,
                         .cores = m.cores};
    return TN_OK;
}

int tenon_machine_rates(tenon *t, tenon_rates *out) { return protect(t, NULL, rates, out); }

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

typedef struct {
    const char *model, *output;
    tenon_report *report; /* may be NULL */
} compile_call;

static tn_status compile_body(tenon *t, void *user)
{
    const compile_call *c = user;
    size_t bytes = 0;
    TN_TRY(compile(&t->build, c->model, c->output, &bytes));
    tn_passes_report(&t->build);
    if (c->report)
        fill_report(t, bytes, c->report);
    return TN_OK;
}

int tenon_compile(tenon *t, const char *model, const tenon_options *o, const char *output,
                  tenon_report *report)
{
    return protect(t, o, compile_body, &(compile_call){model, output, report});
}

static tn_status check_body(tenon *t, void *user)
{
    TN_TRY(tn_target_parse(&t->build));
    return prepare(&t->build, user);
}

int tenon_check(tenon *t, const char *model, const tenon_options *o, size_t *out_trouble)
{
    int failed = protect(t, o, check_body, (void *)(uintptr_t)model);
    *out_trouble = t->speechless ? 1 : t->ctx.n_error;
    return failed;
}

typedef struct {
    const char *model, *stage;
    bool params;
} dump_call;

static void dump_params(tenon *t)
{
    tn_build *b = &t->build;
    size_t n = tn_relay_constants(&b->graph, NULL, 0);
    const tn_node **c = TN_NEW_N(&b->arena, const tn_node *, n);
    const char **name = TN_NEW_N(&b->arena, const char *, n);
    tn_relay_constants(&b->graph, c, n);
    for (size_t i = 0; i < n; i++) {
        name[i] = tn_arena_printf(&b->arena, "relay.Constant.%zu", i);
        if (!c[i]->blob || !c[i]->blob->at) /* read from a text without its .params */
            return;
    }
    tn_params_write((uint32_t)n, name, c, &(tn_sink){.buf = &t->params});
}

static tn_status dump_body(tenon *t, void *user)
{
    const dump_call *c = user;
    const char *format = t->build.opt.dump_format;
    TN_TRY(tn_dump(&t->build, c->model, c->stage, &t->text));
    if (c->params && strncmp(c->stage, "relay", 5) == 0 && (!format || strcmp(format, "text") == 0))
        dump_params(t);
    return TN_OK;
}

int tenon_dump(tenon *t, const char *model, const tenon_options *o, const char *stage, const char **out_text,
               const void **out_params, size_t *out_params_n)
{
    int failed = protect(t, o, dump_body, &(dump_call){model, stage, out_params});
    *out_text = tn_buf_cstr(&t->text);
    if (out_params && t->params.at) {
        *out_params = t->params.at;
        *out_params_n = t->params.n;
    }
    return failed;
}

typedef struct {
    const char *file, *passes;
} opt_call;

static tn_status opt_body(tenon *t, void *user)
{
    const opt_call *c = user;
    return tn_opt(&t->build, c->file, c->passes, &t->text);
}

int tenon_opt(tenon *t, const char *file, const char *passes, const tenon_options *o, const char **out_text)
{
    int failed = protect(t, o, opt_body, &(opt_call){file, passes});
    *out_text = tn_buf_cstr(&t->text);
    return failed;
}

typedef struct {
    const char *model, *stage;
    int n_in, n_out;
    const tenon_tensor *in;
    tenon_tensor *out;
} interpret_call;

static tn_status interpret_body(tenon *t, void *user)
{
    interpret_call *c = user;
    TN_TRY(tn_target_parse(&t->build));
    TN_TRY(tn_stage_import(&t->build, c->model));
    return tn_interpret(&t->build, c->stage, c->n_in, c->in, &c->n_out, &c->out);
}

int tenon_interpret(tenon *t, const char *model, const tenon_options *o, const char *stage, int n_in,
                    const tenon_tensor in[], int *n_out, const tenon_tensor **out)
{
    interpret_call c = {.model = model, .stage = stage, .n_in = n_in, .in = in};
    int failed = protect(t, o, interpret_body, &c);
    *n_out = failed ? 0 : c.n_out;
    *out = failed ? NULL : c.out;
    return failed;
}

static tn_status inputs_body(tenon *t, void *user)
{
    interpret_call *c = user;
    TN_TRY(tn_stage_import(&t->build, c->model));
    const tn_region *r = tn_graph_function(&t->build.graph, "main")->body;
    tenon_tensor *x = c->out = TN_NEW_N(&t->build.arena, tenon_tensor, r->n_param);
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_type *ty = r->param[i]->type[0];
        x[i] = (tenon_tensor){
            .name = r->param[i]->name, .code = ty->dtype.code, .bits = ty->dtype.bits, .ndim = ty->n};
        for (int d = 0; d < ty->n && d < 8; d++)
            if (!tn_is_int(ty->dim[d], &x[i].shape[d]))
                x[i].shape[d] = -1;
    }
    c->n_in = (int)r->n_param;
    return TN_OK;
}

int tenon_inputs(tenon *t, const char *model, const tenon_options *o, int *n_in, const tenon_tensor **out)
{
    interpret_call c = {.model = model};
    int failed = protect(t, o, inputs_body, &c);
    *n_in = failed ? 0 : c.n_in;
    *out = failed ? NULL : c.out;
    return failed;
}

static tn_status verify_body(tenon *t, void *user) { return tn_verify(&t->build, user, &t->text); }

int tenon_verify(tenon *t, const char *package, const char **out_text)
{
    int failed = protect(t, NULL, verify_body, (void *)(uintptr_t)package);
    *out_text = tn_buf_cstr(&t->text);
    return failed;
}

typedef struct {
    const char *name;
    const char *const *words;
} config_call;

static tn_status config_body(tenon *t, void *user)
{
    config_call *c = user;
    return tn_config_read(&t->build, c->name, &c->words);
}

int tenon_config(tenon *t, const char *name, const char *const **out_words)
{
    static const char *const none[] = {NULL};
    config_call c = {.name = name};
    int failed = protect(t, NULL, config_body, &c);
    *out_words = failed ? none : c.words;
    return failed;
}

typedef struct {
    const char *path;
    enum tn_file_kind_role role;
    bool known;
} kind_call;

static tn_status kind_body(tenon *t, void *user)
{
    kind_call *c = user;
    c->known = tn_file_kind_explain(c->path, c->role, &t->text);
    return TN_OK;
}

int tenon_explain_file(tenon *t, const char *path, enum tenon_wanted wanted, const char **out_text)
{
    static const enum tn_file_kind_role role[] = {[TENON_WANTED_MODEL] = TN_FILE_KIND_MODEL,
                                                  [TENON_WANTED_PACKAGE] = TN_FILE_KIND_PACKAGE,
                                                  [TENON_WANTED_ARRAYS] = TN_FILE_KIND_ARRAYS};
    kind_call c = {.path = path, .role = role[wanted]};
    int failed = protect(t, NULL, kind_body, &c);
    *out_text = !failed && c.known ? tn_buf_cstr(&t->text) : NULL;
    return failed;
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
