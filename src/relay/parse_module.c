/* Relay text, the reading side: modules. A first scan finds every `def` and what it calls, so that a call may stand
 * before the function it calls, and it is known which functions call themselves; then functions are read in order. */
#include "relay/parse.h"

#include "op/core/core.h"

#include <string.h>

/* n in [1, 16], m in [0, 8] */
static tn_status parse_symbols(parser *p, const char *text, size_t n, uint32_t line)
{
    tn_lexer l;
    tn_lex_init(&l, p->g->ctx, p->file, text, n, false);
    l.line = l.tok_line = line;
    while (l.tok != TN_TOK_END) {
        const char *name = tn_lex_ident(&l);
        int64_t min, max;
        if (!name)
            return TN_FAIL;
        TN_TRY(tn_lex_expect(&l, "in"));
        TN_TRY(tn_lex_expect(&l, "["));
        TN_TRY(tn_lex_int(&l, 0, INT64_MAX, &min));
        TN_TRY(tn_lex_expect(&l, ","));
        TN_TRY(tn_lex_int(&l, 0, INT64_MAX, &max));
        if (max < min || strchr(name, '.')) {
            return tn_lex_fail(&l, "relay-E004",
                               "this range is empty; write `n in [least, most]` with least <= most");
        }
        TN_TRY(tn_lex_expect(&l, "]"));
        tn_symbol_info *s = tn_graph_symbol(p->g, name);
        s->min = min;
        s->max = max;
        if (!tn_lex_accept(&l, ","))
            break;
    }
    return l.tok == TN_TOK_END && !l.failed
               ? TN_OK
               : tn_lex_fail(&l, "relay-E004", "expected `,` or the end of the symbols");
}

static tn_status parse_version(parser *p)
{
    if (p->l.n == 5 && !memcmp(p->l.text, "0.0.5", 5))
        return TN_OK;
    return tn_lex_fail(&p->l, "relay-E002",
                       "version \"%.*s\" of Relay text is not supported; only \"0.0.5\" is",
                       (int)(p->l.n < 32 ? p->l.n : 32), p->l.text);
}

/* "n in [1, 16]" */
static tn_status parse_symbols_text(parser *p) { return parse_symbols(p, p->l.text, p->l.n, p->l.tok_line); }

/* ["a", "b"] */
static tn_status parse_strings(parser *p, const char ***out, uint32_t *out_n)
{
    tn_vec(const char *) list = {0};
    tn_status s = tn_lex_expect(&p->l, "[");
    while (s == TN_OK) {
        const char *text = tn_lex_string(&p->l);
        if (text)
            tn_vec_push(&list, text);
        s = text ? TN_OK : TN_FAIL;
        if (s == TN_OK && !tn_lex_accept(&p->l, ",")) {
            s = tn_lex_expect(&p->l, "]");
            break;
        }
    }
    *out = tn_arena_copy(p->g->arena, list.n ? (const void *)list.at : "", list.n * sizeof *list.at, 8);
    *out_n = (uint32_t)list.n;
    tn_vec_deinit(&list);
    return s;
}

/* #[outputs = ["a", "b"]] */
static tn_status parse_outputs(parser *p)
{
    return parse_strings(p, &p->g->result_name, &p->g->n_result_name);
}

/* #[model = ["key", "value"]] */
static tn_status parse_model(parser *p)
{
    const char **list;
    uint32_t n;
    TN_TRY(parse_strings(p, &list, &n));
    if (n != 2)
        return tn_lex_fail(&p->l, "relay-E003", "#[model = [\"key\", \"value\"]] takes two strings");
    tn_vec_push(&p->g->metadata, ((tn_metadata){list[0], list[1]}));
    return TN_OK;
}

/* #[state = ["h", "hn"]], #[state = ["h", "hn", "first"]]: what the names stand for is known when functions are. */
static tn_status parse_state(parser *p)
{
    const char **list;
    uint32_t n;
    TN_TRY(parse_strings(p, &list, &n));
    if (n != 2 && n != 3)
        return tn_lex_fail(&p->l, "relay-E250",
                           "#[state = [\"input\", \"output\"]] takes two strings, or three: the name of the "
                           "function whose result is what the first run sees");
    tn_vec_push(&p->state, ((pstate){list[0], list[1], n > 2 ? list[2] : NULL}));
    return TN_OK;
}

static tn_status parse_text_header(parser *p, tn_status (*read)(parser *p))
{
    if (p->l.tok != TN_TOK_STRING)
        return tn_lex_fail(&p->l, "relay-E003", "expected a string in quotes");
    if (read(p) != TN_OK) {
        p->l.failed = true;
        return TN_FAIL;
    }
    parse_next(p);
    return TN_OK;
}

static const struct {
    const char *name;
    bool text; /* one string, which is the token when it is read; else a list of strings */
    tn_status (*read)(parser *p);
} headers[] = {
    {"version", true, parse_version},  {"symbols", true, parse_symbols_text},
    {"outputs", false, parse_outputs}, {"model", false, parse_model},
    {"state", false, parse_state},
};

/* *out_end: the metadata section, where reading ends. */
static tn_status parse_header(parser *p, bool *out_end)
{
    parse_next(p);
    TN_TRY(parse_expect(p, "["));
    *out_end = tn_lex_is(&p->l, "metadata");
    if (*out_end && (p->given.n_constant || (p->given.attributes && !p->meta.n)))
        return TN_OK; /* it has been read, or its constants come from another file */
    if (*out_end) {
        return tn_report(
            p->g->ctx, TN_WARNING, "relay-W001", parse_loc(p, p->l.tok_line, p->l.tok_col, NULL),
            "the metadata section is ignored; constants come from the .params file beside the text");
    }
    size_t i = 0, n = sizeof headers / sizeof *headers;
    while (i < n && !tn_lex_is(&p->l, headers[i].name))
        i++;
    if (i == n) {
        return tn_lex_fail(
            &p->l, "relay-E003",
            "unknown attribute of a module; known are #[version = \"0.0.5\"], #[symbols = \"n in "
            "[1, 16]\"], "
            "#[outputs = [\"name\"]], #[model = [\"key\", \"value\"]] and #[state = [\"input\", "
            "\"output\"]]");
    }
    parse_next(p);
    TN_TRY(parse_expect(p, "="));
    TN_TRY(headers[i].text ? parse_text_header(p, headers[i].read) : headers[i].read(p));
    return parse_expect(p, "]");
}

/* Marks functions that reach themselves. */
static void find_recursive(parser *p)
{
    bool *seen = TN_NEW_N(&p->scratch, bool, p->func.n);
    size_t *todo = TN_NEW_N(&p->scratch, size_t, p->func.n), n;
    for (size_t f = 0; f < p->func.n; f++) {
        memset(seen, 0, p->func.n);
        todo[0] = f;
        for (n = 1; n > 0;) {
            const pfunc *x = &p->func.at[todo[--n]];
            for (size_t c = x->calls; c < x->end; c++)
                for (size_t k = 0; k < p->func.n; k++) {
                    if (p->func.at[k].name != p->called.at[c] || seen[k])
                        continue;
                    seen[k] = true;
                    todo[n++] = k;
                }
        }
        p->func.at[f].recursive = seen[f];
    }
}

/* Is it one of the text, found before? */
static bool is_found(const parser *p, const char *name, bool data)
{
    bool found = false;
    for (size_t i = 0; !data && i < p->func.n && !found; i++)
        found = p->func.at[i].name == name;
    for (size_t i = 0; data && i < p->data.n && !found; i++)
        found = p->data.at[i].name == name;
    return found;
}

/* At `def` or `type`: notes where it is. What the text has already is not taken of the prelude. */
static tn_status scan_definition(parser *p, tn_lexer *l, bool known, bool *out_taken)
{
    tn_lexer at = *l;
    bool data = tn_lex_is(l, "type");
    tn_lex_next(l);
    if (!data) {
        TN_TRY(tn_lex_is(l, "@") ? TN_OK : tn_lex_expect(l, "@"));
        tn_lex_next(l);
    }
    if (l->tok != TN_TOK_IDENT)
        return tn_lex_ident(l) ? TN_OK : TN_FAIL;
    const char *name = tn_intern_n(p->g->ctx, l->text, l->n);
    *out_taken = !is_found(p, name, data);
    if (!*out_taken)
        return known ? TN_OK
                     : tn_lex_fail(l, "relay-E051", "%s%s is defined twice", data ? "type " : "@", name);
    if (data) {
        tn_vec_push(&p->data, ((pdata){.name = name, .file = at.file, .at = at, .known = known}));
        return TN_OK;
    }
    tn_lexer ahead = *l;
    tn_lex_next(&ahead);
    tn_vec_push(&p->func, ((pfunc){.name = name,
                                   .file = at.file,
                                   .known = known,
                                   .generic = tn_lex_is(&ahead, "["),
                                   .at = at,
                                   .calls = p->called.n,
                                   .end = p->called.n}));
    return TN_OK;
}

/* `@name` in a body */
static void scan_mention(parser *p, tn_lexer *l, bool in_function)
{
    tn_lex_next(l);
    if (l->tok != TN_TOK_IDENT)
        return;
    const char *name = tn_intern_n(p->g->ctx, l->text, l->n);
    tn_vec_push(&p->mentioned, name);
    if (in_function) {
        tn_vec_push(&p->called, name);
        tn_vec_last(&p->func).end = p->called.n;
    }
}

/* Notes where each `def` and `type` is and what it calls, and whether symbols may be settled: those of several
 * functions, or of closures, have names in common and values of their own. */
static tn_status scan_text(parser *p, tn_lexer l, bool known)
{
    bool taken = false;
    for (int depth = 0; l.tok != TN_TOK_END; tn_lex_next(&l)) {
        if (tn_lex_is(&l, "%")) {
            tn_lex_next(&l); /* a name, whatever it is */
        } else if (tn_lex_is(&l, "@")) {
            p->g->settles = false;
            scan_mention(p, &l, depth > 0 && taken && p->func.n);
        } else if (tn_lex_is(&l, "fn")) {
            p->g->settles = false;
        } else if (tn_lex_is(&l, "extern")) {
            tn_lex_next(&l); /* refused later */
        } else if (tn_lex_is(&l, "{")) {
            depth++;
        } else if (tn_lex_is(&l, "}")) {
            depth--;
        } else if (depth <= 0 && tn_lex_is(&l, "#")) {
            tn_lexer ahead = l;
            tn_lex_next(&ahead);
            if (tn_lex_accept(&ahead, "[") && tn_lex_is(&ahead, "metadata"))
                break;
        } else if (depth <= 0 && (tn_lex_is(&l, "def") || tn_lex_is(&l, "type"))) {
            TN_TRY(scan_definition(p, &l, known, &taken));
        }
    }
    return l.failed ? TN_FAIL : TN_OK;
}

static tn_status scan_prelude(parser *p, const char *text)
{
    tn_lexer l;
    tn_lex_init(&l, p->g->ctx, tn_intern(p->g->ctx, "<prelude>"), text, strlen(text), false);
    return scan_text(p, l, true);
}

/* The text, then the types of the prelude, and those of its functions that are called. */
static tn_status scan(parser *p)
{
    TN_TRY(scan_text(p, p->l, false));
    p->g->settles = p->g->settles && p->func.n <= 1;
    bool settles = p->g->settles;
    for (int i = 0; tn_prelude_types[i]; i++)
        TN_TRY(scan_prelude(p, tn_prelude_types[i]));
    for (size_t i = 0; i < p->mentioned.n; i++) {
        const char *name = p->mentioned.at[i],
                   *text = is_found(p, name, false) ? NULL : tn_prelude_function(name);
        if (text)
            TN_TRY(scan_prelude(p, text));
    }
    p->g->settles = settles;
    find_recursive(p);
    return TN_OK;
}

/* The def at the current token, if it was not read already for a call. */
static tn_status parse_next_def(parser *p)
{
    for (size_t i = 0; i < p->func.n; i++) {
        pfunc *f = &p->func.at[i];
        if (f->at.text != p->l.text)
            continue;
        if (f->state == 0 && !f->generic)
            return parse_def(p, f);
        int depth = 0;
        do { /* over its body */
            depth += tn_lex_is(&p->l, "{") ? 1 : tn_lex_is(&p->l, "}") ? -1 : 0;
            bool closed = depth == 0 && tn_lex_is(&p->l, "}");
            parse_next(p);
            if (closed)
                break;
        } while (p->l.tok != TN_TOK_END);
        return TN_OK;
    }
    return tn_lex_fail(&p->l, "relay-E005", "a function is not expected here");
}

/* A module may be one expression: it is the body of @main, whose parameters are its free_var lines. */
static tn_status parse_bare(parser *p)
{
    pscope scope;
    pval v;
    tn_status s = TN_OK;
    uint32_t line = p->l.tok_line, col = p->l.tok_col;
    tn_function *f = tn_graph_add_function(p->g, "main");
    parse_saved was = parse_enter_function(p, f->body);
    parse_open(p, &scope, f->body);
    while (s == TN_OK && parse_accept(p, "free_var")) {
        s = parse_param(p, f->body, DIM_PARAM);
        s = s == TN_OK ? parse_expect(p, ";") : s;
    }
    parse_check_bound(p, line, col);
    s = s == TN_OK ? parse_block(p, "", &v) : s;
    if (s == TN_OK)
        (void)parse_results(p, f->body, &v, NULL, line, col);
    parse_close(p);
    parse_leave_function(p, &was);
    return s;
}

static bool has_functions(const parser *p)
{
    return p->func.n && !p->func.at[0].known; /* those of the text stand first */
}

/* At `type`: read before all functions, so it is read over. */
static tn_status skip_type(parser *p)
{
    while (p->l.tok != TN_TOK_END && !tn_lex_is(&p->l, "}"))
        parse_next(p);
    return parse_expect(p, "}");
}

static tn_status parse_types(parser *p)
{
    for (size_t i = 0; i < p->data.n; i++) {
        const tn_data *d;
        if (!p->data.at[i].known)
            TN_TRY(parse_data_named(p, p->data.at[i].name, &d));
    }
    return TN_OK;
}

static tn_status parse_items(parser *p)
{
    bool end = false, bare = false;
    while (p->l.tok != TN_TOK_END && !end) {
        if (tn_lex_is(&p->l, "#")) {
            TN_TRY(parse_header(p, &end));
        } else if (tn_lex_is(&p->l, "def")) {
            TN_TRY(parse_next_def(p));
        } else if (tn_lex_is(&p->l, "type")) {
            TN_TRY(skip_type(p));
        } else if (tn_lex_is(&p->l, "extern")) {
            return tn_lex_fail(&p->l, "relay-E028", "`extern` declarations are not supported yet");
        } else if (!bare && !has_functions(p)) {
            bare = true;
            TN_TRY(parse_bare(p));
        } else {
            return tn_lex_fail(&p->l, "relay-E005", "expected `def @name(...)` or the end, found '%.*s'",
                               (int)(p->l.n < 64 ? p->l.n : 64), p->l.text);
        }
    }
    return p->l.failed ? TN_FAIL : TN_OK;
}

/* Moves a function to *to, and *to behind it. */
static void move_to(tn_graph *g, tn_function ***to, const tn_function *f)
{
    for (tn_function **at = &g->func; *at; at = &(*at)->next) {
        if (*at != f)
            continue;
        tn_function *x = *at;
        if (at != *to) {
            *at = x->next;
            x->next = **to;
            **to = x;
        }
        *to = &x->next;
        return;
    }
}

/* @main, the others as they stand in the text, those that were made of functions with type parameters. */
static void order_functions(parser *p)
{
    tn_function **to = &p->g->func, *main = tn_graph_function(p->g, "main");
    if (main)
        move_to(p->g, &to, main);
    for (size_t i = 0; i < p->func.n; i++)
        if (p->func.at[i].func && p->func.at[i].func != main)
            move_to(p->g, &to, p->func.at[i].func);
}

/* Functions that were read to be copied to where they are called, and that the text does not have as they are. */
static void drop_copied(parser *p)
{
    for (tn_function **f = &p->g->func; *f;) {
        uint64_t referred = 0;
        bool made = false;
        for (size_t i = 0; i < p->func.n && !made; i++) {
            made = p->func.at[i].known && p->func.at[i].func == *f;
            for (const pfunc *x = p->func.at[i].instances; x && !made; x = x->next)
                made = x->func == *f;
        }
        if (made && !tn_strmap_get(&p->referred, (*f)->name, strlen((*f)->name), &referred))
            *f = (*f)->next;
        else
            f = &(*f)->next;
    }
}

/* ---- states ---- */

static tn_status find_state(parser *p, const pstate *s)
{
    tn_graph *g = p->g;
    const tn_region *r = g->func->body;
    tn_graph_state state = {.param = r->n_param, .result = g->n_result_name, .first = s->first};
    for (uint32_t i = r->n_param; i-- > 0;)
        state.param = r->param[i]->name && !strcmp(r->param[i]->name, s->input) ? i : state.param;
    for (uint32_t i = g->n_result_name; i-- > 0;)
        state.result = !strcmp(g->result_name[i], s->output) ? i : state.result;
    if (state.param == r->n_param || state.result == g->n_result_name)
        return tn_error(g->ctx, "relay-E251", &(tn_loc){.file = p->file},
                        "#[state = [\"%s\", \"%s\"]]: @%s has no such %s", s->input, s->output, g->func->name,
                        state.param == r->n_param ? "parameter" : "output; #[outputs] names them");
    tn_vec_push(&g->state, state);
    return TN_OK;
}

static tn_status parse_states(parser *p)
{
    for (size_t i = 0; i < p->state.n; i++)
        TN_TRY(find_state(p, &p->state.at[i]));
    return TN_OK;
}

static tn_status parse_module(parser *p)
{
    if (p->l.failed)
        return TN_FAIL;
    TN_TRY(scan(p));
    TN_TRY(parse_types(p));
    TN_TRY(parse_items(p));
    if (!p->g->func)
        return tn_lex_fail(&p->l, "relay-E006", "this text has no function; write def @main(...) { ... }");
    if (p->n_error)
        return TN_FAIL;
    drop_copied(p);
    order_functions(p);
    if (p->g->n_result_name && p->g->n_result_name != p->g->func->body->n_result) {
        return tn_error(p->g->ctx, "relay-E056", &(tn_loc){.file = p->file},
                        "#[outputs] names %u outputs, but @%s has %u results", (unsigned)p->g->n_result_name,
                        p->g->func->name, (unsigned)p->g->func->body->n_result);
    }
    TN_TRY(parse_states(p));
    return tn_relay_check_layouts(p->g);
}

tn_status tn_relay_parse(tn_graph *g, const char *file, const char *text, size_t n,
                         const tn_relay_metadata *meta)
{
    parser p = {.g = g, .file = tn_intern(g->ctx, file ? file : "<text>"), .dims = DIM_USE, .fresh = -1};
    if (meta)
        p.given = *meta;
    for (size_t i = 0; i < p.given.n_param; i++)
        tn_strmap_put(&p.given_param, p.given.param[i].name, strlen(p.given.param[i].name), i);
    p.text = text ? text : "";
    p.text_end = p.text + n;
    tn_arena_init(&p.scratch);
    tn_lex_init(&p.l, g->ctx, p.file, p.text, n, false);
    tn_status s = parse_module(&p);
    tn_vec_deinit(&p.meta);
    tn_vec_deinit(&p.state);
    tn_map_deinit(&p.meta_index);
    tn_vec_deinit(&p.opened);
    tn_vec_deinit(&p.func);
    tn_vec_deinit(&p.called);
    tn_vec_deinit(&p.mentioned);
    tn_vec_deinit(&p.data);
    tn_strmap_deinit(&p.odd);
    tn_strmap_deinit(&p.given_param);
    tn_vec_deinit(&p.weight);
    tn_strmap_deinit(&p.referred);
    tn_arena_deinit(&p.scratch);
    return s;
}
