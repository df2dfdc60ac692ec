/* `tenon opt`: passes over text. Relay text takes graph passes; TIR text takes loop passes, `Schedule=FILE`
 * (a trace applied), `Rule` (the built-in schedule) and both take `Verify`. The result is printed. */
#include "driver/driver.h"

#include <string.h>

static bool is_relay(const tn_file *f)
{
    static const char mark[] = "#[version";
    const char *s = (const char *)f->at, *end = s + f->n;
    for (; s + sizeof mark - 1 <= end; s++) {
        if (memcmp(s, mark, sizeof mark - 1) == 0)
            return true;
        if (*s == '/' || *s == '#') { /* skip a comment line */
            while (s < end && *s != '\n')
                s++;
        } else if (*s != ' ' && *s != '\n' && *s != '\t' && *s != '\r') {
            return false;
        }
    }
    return false;
}

/* Next pass name of a comma list, or NULL. */
static const char *next_pass(tn_build *b, const char **at)
{
    size_t n = strcspn(*at, ",");
    if (!n)
        return NULL;
    const char *s = tn_intern_n(b->ctx, *at, n);
    *at += n + ((*at)[n] == ',');
    return s;
}

static tn_status opt_relay(tn_build *b, const char *file, const char *passes, tn_buf *out)
{
    TN_TRY(tn_passes_init(b));
    tn_pass p = tn_pass_context(b);
    TN_TRY(tn_relay_parse(&b->graph, file, (const char *)b->file.at, b->file.n, NULL, 0));
    for (const char *name; (name = next_pass(b, &passes));) {
        const tn_pass_info *pass = tn_pass_find(name);
        if (strcmp(name, "Verify") == 0) {
            TN_TRY(tn_relay_verify(&b->graph));
            continue;
        }
        if (!pass)
            return tn_error(b->ctx, "driver-E031", NULL,
                            "there is no graph pass %s; `tenon opt --list` names them", name);
        TN_TRY(tn_pass_run(&p, pass, &b->graph));
        TN_TRY(tn_relay_verify(&b->graph));
    }
    tn_relay_print(&b->graph, out);
    return TN_OK;
}

static tn_status replay(tn_build *b, tn_func **f, const char *path)
{
    tn_file trace;
    tn_sched s;
    uint32_t line = 0;
    TN_TRY(tn_file_map(b->ctx, path, &trace));
    tn_sched_init(&s, *f, &b->arena, &b->pool);
    tn_verdict v = tn_trace_replay(&s, (const char *)trace.at, trace.n, &line);
    tn_file_unmap(&trace);
    if (v != TN_DONE) {
        tn_loc loc = {.file = path, .line = line, .col = 1};
        return tn_error(b->ctx, "driver-E032", &loc, "the step is refused: %s", tn_verdict_texts[v]);
    }
    *f = s.func;
    return TN_OK;
}

static tn_status tir_pass(tn_build *b, tn_func **f, const char *name)
{
    const tn_lower_pass *pass = tn_lower_pass_find(name);
    if (strcmp(name, "Verify") == 0)
        return tn_func_verify(*f);
    if (strcmp(name, "Rule") == 0) {
        tn_sched *s = TN_NEW(&b->arena, tn_sched);
        tn_rule_apply(s, *f, &b->machine, &b->arena, &b->pool);
        *f = s->func;
        return tn_func_verify(*f);
    }
    if (strcmp(name, "Lower") == 0) {
        tn_flat flat;
        TN_TRY(tn_lower(*f, &b->machine, &flat));
        return tn_func_verify(*f);
    }
    if (strncmp(name, "Schedule=", 9) == 0)
        return replay(b, f, name + 9);
    if (!pass)
        return tn_error(b->ctx, "driver-E031", NULL, "there is no loop pass %s; `tenon opt --list` names them", name);
    TN_TRY(pass->run(*f, &b->machine));
    return tn_func_verify(*f);
}

enum { MAX_FUNCS = 64 };

static tn_status opt_tir(tn_build *b, const char *file, const char *passes, tn_buf *out)
{
    tn_func *f[MAX_FUNCS];
    size_t n = 0;
    TN_TRY(tn_func_parse(b->ctx, &b->arena, &b->pool, file, (const char *)b->file.at, b->file.n, f, MAX_FUNCS, &n));
    for (size_t i = 0; i < n; i++) {
        const char *at = passes;
        for (const char *name; (name = next_pass(b, &at));)
            TN_TRY(tir_pass(b, &f[i], name));
        tn_func_print(f[i], out);
    }
    return TN_OK;
}

tn_status tn_opt(tn_build *b, const char *file, const char *passes, tn_buf *out)
{
    TN_TRY(tn_target_parse(b));
    TN_TRY(tn_file_map(b->ctx, file, &b->file));
    size_t n = strlen(file);
    bool relay = is_relay(&b->file) || (n > 6 && strcmp(file + n - 6, ".relay") == 0);
    return relay ? opt_relay(b, file, passes, out) : opt_tir(b, file, passes, out);
}
