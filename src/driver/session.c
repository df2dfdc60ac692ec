/* Calls of the public API that need no module, and its lists. */
#include "driver/api.h"
#include "frontend/file_kind.h"

const char *tenon_version(void) { return TENON_VERSION; }

static tn_status check_options(tenon *t, void *user)
{
    tn_build *b = &t->build;
    TN_TRY(tn_target_parse(b));
    if (user)
        TN_TRY(tn_target_check_tools(b, user));
    return tn_passes_init(b);
}

int tenon_options_check(tenon *t, const tenon_options *o, const char *output)
{
    return tn_session_call(t, o, check_options, (void *)(uintptr_t)output);
}

static tn_status about(tenon *t, void *user)
{
    (void)user;
    return tn_about(&t->ctx, &t->text, &t->data);
}

int tenon_about(tenon *t, const char **out_text, const char **out_machine)
{
    int failed = tn_session_call(t, NULL, about, NULL);
    if (out_text)
        *out_text = tn_buf_cstr(&t->text);
    if (out_machine)
        *out_machine = tn_buf_cstr(&t->data);
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

int tenon_machine_rates(tenon *t, tenon_rates *out) { return tn_session_call(t, NULL, rates, out); }

static tn_status verify(tenon *t, void *user) { return tn_verify(&t->build, user, &t->text); }

int tenon_verify(tenon *t, const char *package, const char **out_text)
{
    int failed = tn_session_call(t, NULL, verify, (void *)(uintptr_t)package);
    *out_text = tn_buf_cstr(&t->text);
    return failed;
}

typedef struct {
    const char *path;
    enum tn_file_kind_role role;
    bool known;
} kind_call;

static tn_status explain(tenon *t, void *user)
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
    int failed = tn_session_call(t, NULL, explain, &c);
    *out_text = !failed && c.known ? tn_buf_cstr(&t->text) : NULL;
    return failed;
}

/* ---- lists ---- */

const char *tenon_stage_name(size_t i)
{
    for (size_t k = 0; tn_stage_names[k]; k++)
        if (k == i)
            return tn_stage_names[k];
    return NULL;
}

const char *tenon_target_name(size_t i, const char **out_doc)
{
    if (i >= TN_N_TARGETS)
        return NULL;
    *out_doc = tn_target_rows[i].doc;
    return tn_target_rows[i].name;
}

int tenon_target_runs_here(const char *target)
{
    const tn_target_row *row = target ? tn_target_of_text(target) : &tn_target_rows[0];
    return !row || row->generator->here;
}

int tenon_pass_level(size_t i) { return i < tn_n_passes ? tn_passes[i].opt_level : -1; }

const char *tenon_pass_name(size_t i, const char **out_doc)
{
    if (i < tn_n_passes) {
        *out_doc = tn_passes[i].doc;
        return tn_passes[i].name;
    }
    i -= tn_n_passes;
    if (i >= TN_N_LOWER_PASSES)
        return NULL;
    *out_doc = tn_lower_passes[i].doc;
    return tn_lower_passes[i].name;
}

const char *tenon_operator_name(size_t i, const char **out_doc)
{
    if (i >= tn_ops_count())
        return NULL;
    *out_doc = tn_ops_at(i)->doc;
    return tn_ops_at(i)->name;
}
