/* Schedules that searches found before: looked up for kernels, and the public calls on files of them. */
#include "driver/records.h"

#include "driver/api.h"
#include "schedule/schedule.h"
#include "tenon/tune.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static void prepare(tn_build *b)
{
    if (b->has_records)
        return;
    tn_records_init(&b->records);
    b->has_records = true;
    b->records.tells_foreign_later = b->all_machines; /* a search, which knows its tasks later */
    b->record_machine = tn_record_machine(&b->machine, &b->arena);
}

static const char *machine_of(const tn_build *b) { return b->all_machines ? NULL : b->record_machine; }

tn_status tn_records_take(tn_build *b, const char *path)
{
    prepare(b);
    return tn_records_read(b->ctx, path, &b->records, machine_of(b), TN_ERROR);
}

static bool is_readable(const char *path)
{
    struct stat s;
    return access(path, R_OK) == 0 && stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

void tn_records_take_home(tn_build *b)
{
    char path[TN_RECORDS_PATH];
    if (!tn_records_home(path))
        return;
    const tn_record_place p = tn_record_place_of(b->ctx, path);
    if (!is_readable(p.records) && !(p.earlier && is_readable(p.earlier)))
        return;
    prepare(b);
    (void)!tn_records_read(b->ctx, path, &b->records, machine_of(b), TN_WARNING);
}

tn_status tn_records_open(tn_build *b)
{
    const char *given = b->opt.tuning_records;
    if (b->has_records)
        return TN_OK;
    if (!b->opt.no_records)
        tn_records_take_home(b);
    return given && *given ? tn_records_take(b, given) : TN_OK;
}

/* ---- using ---- */

enum { MOST_TRIED = 8 }; /* of a workload: a file may have any number that do not fit any more */

static const tn_record *find(const tn_build *b, uint64_t workload)
{
    const tn_record *r = tn_records_find(&b->records, workload, b->record_machine, 1);
    return r ? r : tn_records_find(&b->records, workload, b->record_machine, 0);
}

bool tn_records_graph(tn_build *b, uint64_t workload, tn_picks *out)
{
    uint32_t line;
    const tn_record *r = b->has_records ? find(b, workload) : NULL;
    tn_picks p;
    if (!r || strcmp(r->generator, TN_GRAPH_GENERATOR) != 0 ||
        !tn_picks_parse(r->picks, strlen(r->picks), &b->arena, &p, &line))
        return false;
    *out = p;
    return true;
}

const char *tn_record_replay(const tn_record *r, const tn_func *f, tn_arena *arena, tn_pool *pool,
                             tn_sched *out)
{
    uint32_t line;
    tn_sched_init(out, f, arena, pool);
    const tn_verdict v = tn_trace_replay(out, r->trace, strlen(r->trace), &line);
    if (v != TN_DONE)
        return tn_arena_printf(arena, "line %u of its schedule is refused (%s)", (unsigned)line,
                               tn_verdict_texts[v]);
    tn_ctx *ctx = out->func->ctx;
    size_t n_diag = ctx->n_diag;
    bool sound = tn_func_verify(out->func) == TN_OK;
    tn_diag_rewind(ctx, n_diag);
    return sound ? NULL : "its schedule makes loops that are not sound";
}

/* How to drop what does not fit. Whoever names a file prunes that one, not the user's own. */
static const char *advice_of(const tn_record *r, tn_arena *arena)
{
    char own[TN_RECORDS_PATH];
    bool named = r->file && !(tn_records_home(own) && strcmp(own, r->file) == 0);
    return named ? tn_arena_printf(arena, "tenon records prune --file %s", r->file) : "tenon records prune";
}

/* The one that does not fit came first; n: with slower ones. used NULL: no record. */
static void tell_unfit(tn_ctx *ctx, const tn_loc *where, const char *kernel, const tn_record *first,
                       const char *why, uint32_t n, const tn_record *used)
{
    char slower[48] = "", instead[64] = "the built-in schedule";
    if (n > 1)
        snprintf(slower, sizeof slower, ", and so %s %u slower one%s", n == 2 ? "is" : "are", (unsigned)n - 1,
                 n == 2 ? "" : "s");
    if (used)
        snprintf(instead, sizeof instead, "the record of %.4g us", used->seconds * 1e6);
    (void)tn_report(ctx, TN_WARNING, "driver-W008", where,
                    "the tuning record of %.4g us for kernel %s is passed over%s, because %s. In its "
                    "place stands %s; tune again, and drop what does not fit by `%s`",
                    first->seconds * 1e6, kernel, slower, why, instead, advice_of(first, &ctx->arena));
}

bool tn_records_apply(const tn_build *b, const tn_func *f, const tn_loc *where, tn_arena *arena,
                      tn_pool *pool, tn_sched *out)
{
    if (!b->has_records)
        return false;
    const tn_record *first = find(b, tn_func_workload(f)), *r = first;
    const char *why = NULL;
    uint32_t n = 0;
    while (r) {
        const char *refused = tn_record_replay(r, f, arena, pool, out);
        if (!refused)
            break;
        why = why ? why : refused;
        r = ++n < MOST_TRIED ? tn_records_next(&b->records, r) : NULL;
    }
    if (n)
        tell_unfit(f->ctx, where, f->name, first, why, n, r);
    if (r)
        out->comment = tn_arena_printf(arena, "record %s: %.4g us, the built-in schedule %.4g us", r->name,
                                       r->seconds * 1e6, r->built_in * 1e6);
    return r != NULL;
}

/* ---- the files of records, for the public API ---- */

static tn_status name_file(tenon *t, const char *given, char out[TN_RECORDS_PATH])
{
    if (!given ? tn_records_home(out) : (size_t)snprintf(out, TN_RECORDS_PATH, "%s", given) < TN_RECORDS_PATH)
        return TN_OK;
    return tn_error(&t->ctx, "driver-E162", NULL,
                    "there is no file of records: TENON_RECORDS is off, there is no home folder, or the path "
                    "is too long; "
                    "name a file");
}

void tn_record_view(const tn_record *r, tenon_record *out)
{
    *out = (tenon_record){.workload = r->workload,
                          .machine = r->machine,
                          .threads = r->threads,
                          .trials = r->trials,
                          .seconds = r->seconds,
                          .built_in_seconds = r->built_in,
                          .operations = r->operations,
                          .name = r->name,
                          .generator = r->generator,
                          .version = r->version,
                          .picks = r->picks,
                          .trace = r->trace,
                          .function = r->function};
}

typedef struct records_call {
    const char *path, *from;
    uint32_t keep, n;
    const tenon_record *record;
} records_call;

static tn_status read_all(tenon *t, const char *path, tn_records *r)
{
    tn_records_init(r);
    return tn_records_exist(&t->ctx, path) ? tn_records_read(&t->ctx, path, r, NULL, TN_ERROR) : TN_OK;
}

static tn_status list(tenon *t, void *user)
{
    records_call *c = user;
    char path[TN_RECORDS_PATH];
    tn_records r;
    TN_TRY(name_file(t, c->path, path));
    tn_records_init(&r);
    if (c->path || tn_records_exist(&t->ctx, path)) /* the user's own need not be there */
        TN_TRY(tn_records_read(&t->ctx, path, &r, NULL, TN_ERROR));
    tenon_record *out = TN_NEW_N(&t->ctx.arena, tenon_record, r.all.n);
    for (size_t i = 0; i < r.all.n; i++)
        tn_record_view(&r.all.at[i], &out[i]);
    c->n = (uint32_t)r.all.n;
    c->record = out; /* texts lie in the arena of r, which the session's heap frees */
    return TN_OK;
}

/* Those that are not known, and those that tell the function of a workload of which nobody knows it. */
static void choose_fresh(tn_records *known, const tn_records *more, tn_record *fresh, uint32_t *out_n)
{
    tn_map told = {0}; /* workloads whose function a record tells */
    uint64_t is;
    uint32_t n = 0;
    for (size_t i = 0; i < known->all.n; i++)
        if (known->all.at[i].function)
            tn_map_put(&told, known->all.at[i].workload, 1);
    for (size_t i = 0; i < more->all.n; i++) {
        const tn_record *x = &more->all.at[i];
        bool tells = x->function && !tn_map_get(&told, x->workload, &is);
        if (!tells && tn_records_has(known, x))
            continue;
        if (tells)
            tn_map_put(&told, x->workload, 1);
        tn_records_add(known, x);
        fresh[n++] = *x;
    }
    tn_map_deinit(&told);
    *out_n = n;
}

static tn_status merge(tenon *t, void *user)
{
    records_call *c = user;
    char path[TN_RECORDS_PATH];
    tn_records known, more;
    TN_TRY(name_file(t, c->path, path));
    tn_folders_make(path);
    tn_records_init(&more);
    TN_TRY(tn_records_read(&t->ctx, c->from, &more, NULL, TN_ERROR));
    TN_TRY(read_all(t, path, &known));
    tn_record *fresh = TN_NEW_N(&t->ctx.arena, tn_record, more.all.n);
    choose_fresh(&known, &more, fresh, &c->n);
    return tn_records_append(&t->ctx, path, c->n, fresh);
}

static tn_status prune(tenon *t, void *user)
{
    records_call *c = user;
    char path[TN_RECORDS_PATH];
    TN_TRY(name_file(t, c->path, path));
    const tn_record_place p = tn_record_place_of(&t->ctx, path);
    if (!tn_record_place_exists(&p))
        return c->path ? tn_file_report(&t->ctx, p.records, errno) : TN_OK;
    return p.form->prune(&t->ctx, &p, c->keep, &c->n);
}

int tenon_records_path(char *out, size_t room)
{
    char path[TN_RECORDS_PATH];
    return tn_records_home(path) && (size_t)snprintf(out, room, "%s", path) < room;
}

int tenon_records_list(tenon *t, const char *path, uint32_t *out_n, const tenon_record **out)
{
    records_call c = {.path = path};
    int failed = tn_session_call(t, NULL, list, &c);
    *out_n = failed ? 0 : c.n;
    *out = failed ? NULL : c.record;
    return failed;
}

int tenon_records_merge(tenon *t, const char *path, const char *from, uint32_t *out_added)
{
    records_call c = {.path = path, .from = from};
    int failed = tn_session_call(t, NULL, merge, &c);
    *out_added = failed ? 0 : c.n;
    return failed;
}

int tenon_records_prune(tenon *t, const char *path, uint32_t keep, uint32_t *out_dropped)
{
    records_call c = {.path = path, .keep = keep ? keep : 1};
    int failed = tn_session_call(t, NULL, prune, &c);
    *out_dropped = failed ? 0 : c.n;
    return failed;
}
