/* Modules of the public API: read, parsed, printed, changed by passes. */
#include "driver/api.h"

#include <string.h>

/* ---- making ---- */

typedef struct source {
    const char *name;
    const void *data; /* NULL: the file of that name */
    size_t n;
    const void *params;
    size_t n_params;
    const tenon_options *o;
} source;

static bool is_format(const tenon_module *m, const char *name)
{
    const tn_build *b = &m->build;
    const tn_format *f = b->opt.model_format ? NULL : tn_format_guess(b->model, &b->file);
    if (strcmp(name, "tir") == 0 && !b->opt.model_format)
        return !tn_format_sniff(b->file.at, b->file.n) && tn_tir_text_sniff(&b->file);
    return strcmp(f ? f->name : b->opt.model_format ? b->opt.model_format : "", name) == 0;
}

static tn_status open_content(tenon_module *m, const source *s)
{
    tn_build *b = &m->build;
    if (s->data)
        b->file = (tn_file){.at = s->data, .n = s->n};
    else
        TN_TRY(tn_import_map(b->ctx, s->name, &b->file));
    if (s->params)
        return tn_params_open(b, s->name, s->params, s->n_params);
    return !s->data && is_format(m, "relay")
               ? tn_params_read(b, tn_arena_printf(&b->arena, "%s.params", s->name))
               : TN_OK;
}

static tn_status read_module(tn_object *x, void *user)
{
    const source *s = user;
    tenon_module *m = (tenon_module *)x;
    tn_build *b = &m->build;
    tenon_options known;
    TN_TRY(tn_options_read(&x->ctx, s->o, &known));
    tn_build_init(b, &x->ctx, &known);
    tn_arena_init(&m->seen);
    b->model = tn_intern(&x->ctx, s->name);
    TN_TRY(open_content(m, s));
    if (is_format(m, "tir"))
        return tn_tir_text_read(b, &m->tir);
    if (tn_stage_import(b) == TN_OK)
        return TN_OK;
    tn_propose_shapes(b);
    return TN_FAIL;
}

/* The module, or NULL where reading it failed; its messages stay. */
static tenon_module *make(tenon *t, const source *s)
{
    tenon_module *m = tn_object_new(t, sizeof *m);
    if (m && tn_object_change(&m->object, s->o, read_module, (void *)(uintptr_t)s) != 0) {
        tn_object_drop(&m->object);
        return NULL;
    }
    return m;
}

tenon_module *tenon_module_read(tenon *t, const char *path, const tenon_options *o)
{
    return make(t, &(source){.name = path, .o = o});
}

tenon_module *tenon_module_from_memory(tenon *t, const char *name, const void *data, size_t n,
                                       const tenon_options *o)
{
    return make(t, &(source){.name = name, .data = n ? data : "", .n = n, .o = o});
}

tenon_module *tenon_module_parse(tenon *t, const char *text, const void *params, size_t n_params)
{
    const tn_file file = {.at = (const uint8_t *)text, .n = strlen(text)};
    const tenon_options o = {.size = sizeof o, .model_format = tn_tir_text_sniff(&file) ? "tir" : "relay"};
    return make(
        t, &(source){
               .name = "<text>", .data = text, .n = file.n, .params = params, .n_params = n_params, .o = &o});
}

/* ---- copies ---- */

static tn_status print_lossless(tn_object *x, void *user)
{
    tenon_module *m = (tenon_module *)x;
    (void)user;
    tn_buf_clear(&m->copied);
    if (m->tir)
        tn_tir_text_print(m->tir, &m->copied);
    else
        tn_relay_print(&m->build.graph, &m->copied);
    return TN_OK;
}

typedef struct {
    tenon_module *from;
    bool of_its_own; /* constants of the copy lie in memory that `from` made, not in what it borrows itself */
} copying;

/* The data of the constants by k of meta[relay.Constant][k], as the copy refers to them. */
static size_t list_constants(copying *c, tn_graph *to, const tn_blob ***out)
{
    const tn_graph *from = &c->from->build.graph;
    size_t n = tn_relay_constants(from, NULL, 0);
    const tn_node **node = TN_NEW_N(to->arena, const tn_node *, n);
    tn_map own = {0};
    uint64_t unused;
    *out = TN_NEW_N(to->arena, const tn_blob *, n);
    (void)tn_relay_constants(from, node, n);
    for (size_t i = 0; i < from->blob.n; i++)
        tn_map_put(&own, tn_map_key(from->blob.at[i]), 1);
    for (size_t i = 0; i < n; i++) {
        const tn_blob *b = node[i]->blob;
        c->of_its_own = c->of_its_own || (b && tn_map_get(&own, tn_map_key(b), &unused));
        (*out)[i] = b ? tn_graph_blob_ref(to, b->at, b->n) : NULL;
    }
    tn_map_deinit(&own);
    return n;
}

static void copy_points(const tn_graph *from, tn_graph *to)
{
    for (uint32_t i = 0; i < from->n_symbol; i++)
        for (uint32_t k = 0; k < from->symbol[i].point.n; k++)
            tn_symbol_add_point(to, tn_graph_symbol(to, from->symbol[i].name), from->symbol[i].point.at[k]);
}

/* What is printed reads back as it was, so a copy is what the text of the module says, over the same constants. */
static tn_status copy_module(tn_object *x, void *user)
{
    copying *c = user;
    const tenon_module *from = c->from;
    tenon_module *m = (tenon_module *)x;
    tn_build *b = &m->build;
    const tn_blob **constant;
    tn_build_init(b, &x->ctx, NULL);
    tn_arena_init(&m->seen);
    b->model = tn_intern(&x->ctx, from->build.model);
    b->file =
        (tn_file){.at = tn_arena_copy(&b->arena, from->copied.at, from->copied.n, 1), .n = from->copied.n};
    if (from->tir)
        return tn_tir_text_read(b, &m->tir);
    size_t n = list_constants(c, &b->graph, &constant);
    TN_TRY(tn_relay_parse(&b->graph, b->model, (const char *)b->file.at, b->file.n,
                          &(tn_relay_metadata){.constant = constant, .n_constant = n}));
    copy_points(&from->build.graph, &b->graph);
    return TN_OK;
}

typedef struct {
    const char *name, *text;
} named_text;

static tn_status read_text(tn_object *x, void *user)
{
    const named_text *from = user;
    tenon_module *m = (tenon_module *)x;
    tn_build *b = &m->build;
    tn_build_init(b, &x->ctx, NULL);
    tn_arena_init(&m->seen);
    b->model = tn_intern(&x->ctx, from->name);
    b->file =
        (tn_file){.at = (const uint8_t *)tn_arena_strdup(&b->arena, from->text), .n = strlen(from->text)};
    return tn_tir_text_read(b, &m->tir);
}

tenon_module *tn_module_of_text(tenon *t, const char *name, const char *text)
{
    tenon_module *m = tn_object_new(t, sizeof *m);
    if (m && tn_object_change(&m->object, NULL, read_text, &(named_text){name, text}) != 0) {
        tn_object_drop(&m->object);
        return NULL;
    }
    return m;
}

typedef struct {
    const char *text;
    uint32_t n;
    const tenon_bytes *constant;
} given_text;

static tn_status read_given(tn_object *x, void *user)
{
    const given_text *from = user;
    tenon_module *m = (tenon_module *)x;
    tn_build *b = &m->build;
    tn_build_init(b, &x->ctx, NULL);
    tn_arena_init(&m->seen);
    b->model = "<text>";
    const tn_blob **constant = TN_NEW_N(&b->arena, const tn_blob *, from->n);
    for (uint32_t i = 0; i < from->n; i++)
        if (from->constant[i].data)
            constant[i] = tn_graph_blob_ref(&b->graph, from->constant[i].data, from->constant[i].n);
    b->file =
        (tn_file){.at = (const uint8_t *)tn_arena_strdup(&b->arena, from->text), .n = strlen(from->text)};
    return tn_import_relay(&b->graph, b->model, &b->file,
                           &(tn_import_options){.constant = constant, .n_constant = from->n});
}

tenon_module *tenon_relay_parse(tenon *t, const char *text, uint32_t n, const tenon_bytes constant[])
{
    tenon_module *m = tn_object_new(t, sizeof *m);
    if (m && tn_object_change(&m->object, NULL, read_given, &(given_text){text, n, constant}) != 0) {
        tn_object_drop(&m->object);
        return NULL;
    }
    return m;
}

tenon_module *tenon_module_copy(tenon_module *m)
{
    if (tn_object_change(m ? &m->object : NULL, NULL, print_lossless, NULL) != 0)
        return NULL;
    tenon_module *copy = tn_object_new(m->object.session, sizeof *copy);
    copying c = {.from = m};
    if (copy && tn_object_change(&copy->object, NULL, copy_module, &c) != 0) {
        tn_object_drop(&copy->object);
        return NULL;
    }
    if (!copy)
        return NULL;
    m->lends = m->lends || c.of_its_own;
    if (c.of_its_own)
        tn_graph_lend_blobs(&m->build.graph);
    /* A copy of a copy that made no constants borrows where that does, so that a chain of passes keeps nothing. */
    tn_object_borrow(&copy->object, m->object.lender && !m->lends ? m->object.lender : &m->object);
    return copy;
}

void tenon_module_free(tenon_module *m) { tn_object_free(m ? &m->object : NULL); }

/* ---- text and passes ---- */

static tn_status print(tn_object *x, void *user)
{
    tenon_module *m = (tenon_module *)x;
    (void)user;
    tn_buf_clear(&m->text);
    if (m->tir)
        tn_tir_text_print(m->tir, &m->text);
    else
        tn_relay_print(&m->build.graph, &m->text);
    return TN_OK;
}

const char *tenon_module_print(tenon_module *m)
{
    return tn_object_change(m ? &m->object : NULL, NULL, print, NULL) ? NULL : tn_buf_cstr(&m->text);
}

typedef struct {
    const char *passes;
    const tenon_options *o;
} pass_call;

static tn_status run_passes(tn_object *x, void *user)
{
    tenon_module *m = (tenon_module *)x;
    const pass_call *c = user;
    tenon_options known;
    TN_TRY(tn_options_read(&x->ctx, c->o, &known));
    tn_build_take(&m->build, &known);
    TN_TRY(tn_target_parse(&m->build));
    return m->tir ? tn_tir_text_run(&m->build, m->tir, c->passes) : tn_passes_run(&m->build, c->passes);
}

int tenon_pass_run(tenon_module *m, const char *passes, const tenon_options *o)
{
    return tn_object_change(m ? &m->object : NULL, o, run_passes, &(pass_call){passes, o});
}
