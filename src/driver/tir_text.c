/* TIR text as a module: loop passes, `Schedule=FILE` (a trace applied), `Rule` (the built-in schedule), `Explore=FILE`
 * (that of a map of picks), `Sketch` and `Sketch=FILE` (the same of sketches) and `Verify` run over the
 * functions of a text; what stands above them in a dump stays where it is. */
#include "base/map.h"
#include "base/vec.h"
#include "driver/driver.h"
#include "schedule/space.h"

#include <stdio.h>
#include <string.h>

/* ---- schedules ----
 * A dump of schedules, or of spaces, has a section for each kernel and variant, which begins with a heading line,
 * "# name: model nodes (where n == 1)". A file without a heading is one schedule, or map of picks, for every
 * function. */
typedef struct section {
    const char *heading, *at;
    size_t n_heading, n;
    uint32_t line;
    uint32_t of, next; /* function; the next section of it. NOBODY: none */
} section;

static const uint32_t NOBODY = UINT32_MAX;

/* A file of schedules, or of picks, which is read once. */
typedef struct source {
    const char *pass, *path;
    const tn_sched_generator *by; /* what makes schedules of picks; NULL: these are steps */
    tn_file file;
    tn_vec(section) all;
    uint32_t *first; /* section of each function */
    struct source *next;
} source;

/* The functions of a file, in order; f[i] as it stands now in its variants. */
enum { MAX_FUNCS = 1024, MAX_VARIANTS = TN_MAX_VARIANTS };
typedef struct variants {
    int n;
    tn_func *f[MAX_VARIANTS];
    section of[MAX_VARIANTS];
} variants;
typedef struct funcs {
    size_t n;
    tn_func *first[MAX_FUNCS];
    variants now[MAX_FUNCS];
    tn_strmap number; /* by name */
    source *read;     /* files so far */
} funcs;

static bool begins(const char *at, const char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

static const char *line_end(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? stop : end;
}

/* Is the line a heading: "# NAME", "# NAME: ..." or "# NAME (where ...)" of a function here, or one that a dump of
 * spaces has of another one? In the list of the graph's picks a name alone is a node. */
static bool read_heading(const funcs *all, const char *at, const char *stop, const char *end, bool in_graph,
                         uint32_t *out_of)
{
    uint64_t number;
    if (!begins(at, stop, "# "))
        return false;
    const char *name = at + 2, *behind = name;
    while (behind < stop && *behind != ':' && *behind != ' ')
        behind++;
    const bool alone = behind == stop;
    if (!alone && *behind != ':' && !begins(behind, stop, " (where "))
        return false;
    const bool known = tn_strmap_get(&all->number, name, (size_t)(behind - name), &number);
    *out_of = known ? (uint32_t)number : NOBODY;
    return known ? !(alone && in_graph) : stop < end && begins(stop + 1, end, "# workload ");
}

static void push_section(source *from, const section *x, uint32_t last[])
{
    const uint32_t place = (uint32_t)from->all.n;
    tn_vec_push(&from->all, *x);
    if (x->of == NOBODY)
        return;
    if (last[x->of] == NOBODY)
        from->first[x->of] = place;
    else
        from->all.at[last[x->of]].next = place;
    last[x->of] = place;
}

static bool says_something(const char *at, const char *stop)
{
    while (at < stop && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at < stop && *at != '#';
}

/* Finds the sections. The picks of a graph, up to an empty line, are none of loops: blanks. What else stands above the
 * first heading is of no function: *out_above, its line; 0: nothing does. */
static void find_sections(const funcs *all, source *from, char *text, size_t n, uint32_t *out_above)
{
    const char *end = text + n;
    uint32_t line = 1, last[MAX_FUNCS];
    bool in_graph = false;
    memset(last, 0xff, sizeof last);
    *out_above = 0;
    for (char *at = text, *stop; at < end; at = stop + (stop < end), line++) {
        stop = text + (line_end(at, end) - text);
        section x = {.heading = at, .at = at, .n_heading = (size_t)(stop - at), .line = line, .next = NOBODY};
        in_graph = (in_graph && stop > at) || begins(at, stop, "# graph, workload ");
        if (read_heading(all, at, stop, end, in_graph, &x.of)) {
            in_graph = false;
            push_section(from, &x, last);
        } else if (in_graph) {
            memset(at, ' ', (size_t)(stop - at));
        } else if (from->all.n == 0 && *out_above == 0 && says_something(at, stop)) {
            *out_above = line;
        }
        if (from->all.n)
            tn_vec_last(&from->all).n = (size_t)(stop - tn_vec_last(&from->all).at);
    }
}

static tn_status read_source(tn_build *b, funcs *all, const source *named, source **out)
{
    tn_file file;
    uint32_t above;
    for (*out = all->read; *out; *out = (*out)->next)
        if (strcmp((*out)->pass, named->pass) == 0)
            return TN_OK;
    source *from = *out = TN_NEW(&b->arena, source);
    *from = *named;
    TN_TRY(tn_file_map(b->ctx, from->path, &file));
    char *text = tn_arena_strndup(&b->arena, (const char *)file.at, file.n);
    from->file = (tn_file){(const uint8_t *)text, file.n, 0};
    tn_file_unmap(&file);
    from->first = TN_NEW_N(&b->arena, uint32_t, all->n);
    memset(from->first, 0xff, all->n * sizeof *from->first);
    from->next = all->read;
    all->read = from;
    find_sections(all, from, text, from->file.n, &above);
    const tn_loc loc = {.file = from->path, .line = above, .col = 1};
    return above && from->all.n
               ? tn_error(b->ctx, "driver-E211", &loc,
                          "what stands above the first heading is of no function; move it under a heading "
                          "`# NAME`, or leave out all headings, so that it is of every function")
               : TN_OK;
}

static const tn_expr *symbol_named(void *user, const char *name)
{
    const tn_func *f = user;
    for (uint32_t i = 0; i < f->n_symbol; i++)
        if (strcmp(f->symbol[i].name, name) == 0)
            return tn_sym(f->pool, f->symbol[i].name);
    return NULL;
}

static bool no_buffer(void *user, const char *name, uint32_t *out_number, tn_dtype *out_dtype)
{
    (void)user, (void)name, (void)out_number, (void)out_dtype;
    return false;
}

/* Equations of symbols, and comparisons, which say nothing of one symbol. Depth: that of expressions, bounded by their
 * reader. */
static bool is_case(const tn_expr *e)
{
    if (e->kind == TN_E_AND)
        return is_case(e->src[0]) && is_case(e->src[1]);
    return e->kind == TN_E_LT || e->kind == TN_E_LE ||
           (e->kind == TN_E_EQ && e->src[0]->kind == TN_E_SYM && !tn_uses(e->src[1], e->src[0]));
}

/* "(where n == 64 and m == k)" at the end of the heading: the case; *out NULL: there is none. */
static tn_status case_of(tn_build *b, const section *x, const char *path, const tn_func *f,
                         const tn_expr **out)
{
    static const char word[] = " (where ";
    const size_t n = sizeof word - 1;
    tn_lexer l;
    *out = NULL;
    if (x->n_heading == 0)
        return TN_OK;
    const char *at = x->heading, *end = at + x->n_heading;
    while (at + n < end && memcmp(at, word, n) != 0)
        at++;
    if (at + n >= end || end[-1] != ')')
        return TN_OK;
    tn_scope_fns scope = {symbol_named, no_buffer, (void *)(uintptr_t)f};
    tn_lex_init(&l, b->ctx, path, at + n, (size_t)(end - 1 - at) - n, false);
    l.line = x->line;
    TN_TRY(tn_expr_parse(&l, f->pool, &scope, TN_IDX, out));
    const tn_loc loc = {.file = path, .line = x->line};
    return is_case(*out)
               ? TN_OK
               : tn_error(b->ctx, "driver-E140", &loc,
                          "what a schedule is for must be equations of symbols and comparisons, as in "
                          "(where n == 1 and m == k and ceildiv(h, 2)*3 < h*2)");
}

static tn_status replay_section(tn_build *b, const tn_func *f, const section *x, const source *from,
                                tn_func **out)
{
    tn_sched s;
    uint32_t line = 0;
    tn_sched_init(&s, f, &b->arena, &b->pool);
    tn_verdict v = tn_trace_replay(&s, x->at, x->n, &line);
    if (v != TN_DONE) {
        tn_loc loc = {.file = from->path, .line = x->line + line - 1, .col = 1};
        return tn_error(b->ctx, "driver-E032", &loc, "the step is refused: %s", tn_verdict_texts[v]);
    }
    *out = s.func;
    return TN_OK;
}

static tn_status check_blocks(tn_build *b, const tn_func *f, const char *name)
{
    return f->stage == TN_STAGE_FLAT
               ? tn_error(b->ctx, "driver-E036", NULL,
                          "%s: %s works on functions (func) that are not lowered yet", f->name, name)
               : TN_OK;
}

static tn_status explore_section(tn_build *b, const tn_func *f, const section *x, const source *from,
                                 tn_func **out)
{
    tn_picks given = {0};
    tn_sched *s = TN_NEW(&b->arena, tn_sched);
    const tn_loc at = {.file = from->path, .line = x->line, .col = 1};
    TN_TRY(tn_func_verify(f));
    TN_TRY(check_blocks(b, f, from->pass));
    TN_TRY(tn_picks_read(b->ctx, &at, x->at, x->n, &b->arena, &given));
    TN_TRY(tn_explore_func(b, from->by, f, &given, from->path, s));
    *out = s->func;
    return tn_func_verify(*out);
}

static tn_status make_section(tn_build *b, const tn_func *f, const section *x, const source *from,
                              tn_func **out)
{
    const tn_expr *where;
    TN_TRY(case_of(b, x, from->path, f, &where));
    const tn_func *base = where ? tn_specialise(f, where) : f;
    return from->by ? explore_section(b, base, x, from, out) : replay_section(b, base, x, from, out);
}

/* Schedules of a file, as a whole or in sections. Without a section for it, a function has no steps to replay, but its
 * default schedule. */
static tn_status apply_file(tn_build *b, funcs *all, uint32_t number, const source *named)
{
    variants *now = &all->now[number];
    const tn_func *f = now->f[0];
    section own[MAX_VARIANTS];
    source *from;
    int n = 0;
    TN_TRY(read_source(b, all, named, &from));
    for (uint32_t i = from->first[number]; i != NOBODY && n < MAX_VARIANTS; i = from->all.at[i].next)
        own[n++] = from->all.at[i];
    const bool any = from->all.n > 0;
    const section whole = {.at = (const char *)from->file.at, .n = any ? 0 : from->file.n, .line = 1};
    if (any && n == 0 && !from->by)
        return tn_error(b->ctx, "driver-E034", &(tn_loc){.file = from->path},
                        "the trace has sections for other functions, but no \"# %s\" for this one; dump the "
                        "schedules again",
                        f->name);
    for (int v = 0; n == 0 && from->by && v < now->n; v++)
        TN_TRY(make_section(b, now->f[v], &whole, from, &now->f[v]));
    if (n == 0 && from->by)
        return TN_OK;
    now->n = n ? n : 1;
    for (int v = 0; v < now->n; v++) {
        now->of[v] = n ? own[v] : whole;
        TN_TRY(make_section(b, f, &now->of[v], from, &now->f[v]));
    }
    return TN_OK;
}

/* ---- TIR text ---- */

/* What stands in the name behind `begin` and, where more follows, a `=`; NULL: it does not begin so. */
static const char *behind(const char *name, const char *begin)
{
    size_t n = strlen(begin);
    return strncmp(name, begin, n) != 0 ? NULL : name[n] == '=' ? name + n + 1 : name[n] ? NULL : name + n;
}

/* The generator whose space the pass is about, NULL: none; in *out_path where its picks stand, empty: nowhere. */
static const tn_sched_generator *explored(const char *name, const char **out_path)
{
    const char *rules = behind(name, "Explore"), *sketch = behind(name, "Sketch");
    *out_path = sketch ? sketch : rules;
    return sketch ? &tn_sketch_generator : rules && *rules ? &tn_rules_generator : NULL;
}

/* The file that a pass names; path NULL: it names none. */
static source source_of(const char *name)
{
    const char *picks = "", *steps = behind(name, "Schedule");
    const tn_sched_generator *by = explored(name, &picks);
    const char *path = by ? picks : steps;
    return (source){.pass = name, .path = path && *path ? path : NULL, .by = by};
}

static bool is_for_flat(const char *name, const tn_lower_pass *pass)
{
    const char *path;
    return pass ? tn_lower_pass_takes_flat(pass)
                : strcmp(name, "Lower") != 0 && strcmp(name, "Rule") != 0 && !explored(name, &path);
}

/* By the default picks. */
static tn_status explore(tn_build *b, const tn_sched_generator *by, tn_func **f)
{
    const tn_picks none = {0};
    tn_sched *s = TN_NEW(&b->arena, tn_sched);
    TN_TRY(tn_explore_func(b, by, *f, &none, "", s));
    *f = s->func;
    return tn_func_verify(*f);
}

static tn_status tir_pass(tn_build *b, tn_func **f, const char *name)
{
    const tn_lower_pass *pass = tn_lower_pass_find(name);
    const char *picks;
    const tn_sched_generator *by = explored(name, &picks);
    TN_TRY(tn_func_verify(*f));
    if (strcmp(name, "Verify") == 0)
        return TN_OK;
    if (!is_for_flat(name, pass))
        TN_TRY(check_blocks(b, *f, name));
    if (strcmp(name, "Rule") == 0) {
        tn_sched *s = TN_NEW(&b->arena, tn_sched);
        tn_rule_apply(s, *f, &b->machine, NULL, &b->arena, &b->pool);
        *f = s->func;
        return tn_func_verify(*f);
    }
    if (by)
        return explore(b, by, f);
    if (strcmp(name, "Lower") == 0) {
        tn_flat flat;
        TN_TRY(tn_lower(*f, &b->machine, b->target.row->pipeline, &flat));
        return tn_func_verify(*f);
    }
    if (!pass && (strcmp(name, "Schedule") == 0 || strcmp(name, "Explore") == 0))
        return tn_error(b->ctx, "driver-E031", NULL, "%s takes a file; write %s=FILE", name, name);
    if (!pass && tn_pass_find(name))
        return tn_error(b->ctx, "driver-E031", NULL, "%s works on graphs; this is a text of loops", name);
    if (!pass)
        return tn_error(b->ctx, "driver-E031", NULL, "unknown loop pass %s; %s", name,
                        tn_pass_advice(b, name));
    TN_TRY(pass->run(*f, &b->machine));
    return tn_func_verify(*f);
}

static bool is_func(const char *at, size_t n)
{
    return (n > 5 && memcmp(at, "func ", 5) == 0) || (n > 6 && memcmp(at, "phase ", 6) == 0);
}

/* What stands above each function in a dump, headings and empty lines, stays there. gap[i], with line ends. */
static void find_gaps(const tn_file *file, size_t n, section gap[])
{
    const char *at = (const char *)file->at, *end = at + file->n, *from = NULL;
    size_t i = 0;
    for (size_t k; at < end && i < n; at += k) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        k = (size_t)((stop ? stop + 1 : end) - at);
        if (is_func(at, k)) {
            gap[i].at = from ? from : at;
            gap[i].n = (size_t)(at - gap[i].at);
            i++;
        }
        bool kept = at[0] == '#' || (at[0] == '\n' && i > 0);
        from = !kept ? NULL : from ? from : at;
    }
}

static void print_variants(const variants *now, const section *gap, bool first, tn_buf *out)
{
    for (int v = 0; v < now->n; v++) {
        const section *x = &now->of[v];
        if (x->heading) {
            tn_buf_str(out, first && v == 0 ? "" : "\n");
            tn_buf_add(out, x->heading, x->n_heading);
            tn_buf_char(out, '\n');
        } else if (v == 0 && gap->n) {
            tn_buf_add(out, gap->at, gap->n);
        }
        tn_func_print(now->f[v], out);
    }
}

/* ---- the text as a whole ---- */

struct tn_tir_text {
    funcs all;
    section *gap; /* by function */
};

bool tn_tir_text_sniff(const tn_file *file)
{
    const char *at = (const char *)file->at, *end = at + file->n;
    while (at < end && !is_func(at, (size_t)(end - at))) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    return at < end && !memchr(file->at, 0, (size_t)(at - (const char *)file->at));
}

tn_status tn_tir_text_read(tn_build *b, tn_tir_text **out)
{
    tn_tir_text *x = *out = TN_NEW(&b->arena, tn_tir_text);
    TN_TRY(tn_func_parse(b->ctx, &b->arena, &b->pool, b->model, (const char *)b->file.at, b->file.n,
                         x->all.first, MAX_FUNCS, &x->all.n));
    x->gap = TN_NEW_N(&b->arena, section, x->all.n);
    find_gaps(&b->file, x->all.n, x->gap);
    for (size_t i = 0; i < x->all.n; i++)
        x->all.now[i] = (variants){.n = 1, .f = {x->all.first[i]}};
    return TN_OK;
}

static void free_sources(funcs *all)
{
    for (source *from = all->read; from; from = from->next)
        tn_vec_deinit(&from->all);
    all->read = NULL;
}

static tn_status run_passes(tn_build *b, tn_tir_text *x, const char *passes)
{
    for (size_t i = 0; i < x->all.n; i++) {
        variants *now = &x->all.now[i];
        const char *at = passes;
        for (const char *name; (name = tn_passes_next(b, &at));) {
            const source from = source_of(name);
            if (from.path)
                TN_TRY(apply_file(b, &x->all, (uint32_t)i, &from));
            for (int v = 0; v < now->n && !from.path; v++)
                TN_TRY(tir_pass(b, &now->f[v], name));
        }
    }
    return TN_OK;
}

tn_status tn_tir_text_run(tn_build *b, tn_tir_text *x, const char *passes)
{
    for (size_t i = 0; i < x->all.n; i++)
        tn_strmap_put(&x->all.number, x->all.first[i]->name, strlen(x->all.first[i]->name), i);
    tn_status status = run_passes(b, x, passes);
    free_sources(&x->all);
    tn_strmap_deinit(&x->all.number);
    x->all.number = (tn_strmap){0};
    return status;
}

void tn_tir_text_print(const tn_tir_text *x, tn_buf *out)
{
    for (size_t i = 0; i < x->all.n; i++)
        print_variants(&x->all.now[i], &x->gap[i], i == 0, out);
}

size_t tn_tir_text_count(const tn_tir_text *x) { return x->all.n; }

const tn_func *tn_tir_text_at(const tn_tir_text *x, size_t i) { return x->all.now[i].f[0]; }
