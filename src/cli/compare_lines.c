/* The Relay graph of a model, as compare sees it: from its text, which is split into the lines of @main, and from the
 * view of its nodes, in the same order.
 *
 * Tuples and closures are no operators: who reads one reads what it was made from. */
#include "cli/compare_lines.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text ---- */

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Behind a comment or a string that begins at s; s itself: none does. */
static const char *skip(const char *s)
{
    if (starts(s, "/*")) {
        const char *end = strstr(s, "*/");
        return end ? end + 2 : s + strlen(s);
    }
    if (*s != '"')
        return s;
    for (s++; *s && *s != '"'; s++)
        s += *s == '\\' && s[1];
    return s + (*s == '"');
}

const char *tn_lines_end(const char *s, const char *ends)
{
    for (int depth = 0; *s; s++) {
        for (const char *to; (to = skip(s)) != s;)
            s = to;
        if (!*s || (depth == 0 && strchr(ends, *s)))
            break;
        depth += (strchr("([{", *s) != NULL) - (strchr(")]}", *s) != NULL);
    }
    return s;
}

/* Splits "def @main(%x: ..., %y: ...) -> ... {". false: the text is not as printed. */
static bool read_head(tn_lines *g)
{
    g->def = starts(g->text, "def @main(") ? g->text : strstr(g->text, "\ndef @main(");
    if (!g->def)
        return false;
    g->def += *g->def == '\n';
    const char *s = g->def + strlen("def @main(");
    uint32_t n = g->view->body.n_param;
    g->param = TN_NEW_N(&g->arena, const char *, n);
    g->n_param = TN_NEW_N(&g->arena, size_t, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *end = tn_lines_end(s, ",)");
        g->param[i] = s;
        g->n_param[i] = (size_t)(end - s);
        s = end + (*end == ',' && end[1] == ' ' ? 2 : 0);
    }
    s = *s == ')' ? strstr(s, " {\n") : NULL;
    g->body = s ? s + 3 : NULL;
    g->rest = s ? strstr(s, "\n}\n") : NULL;
    return g->rest != NULL;
}

/* The end of the line at s, which goes on as long as lines are deeper or begin with a brace. */
static const char *line_end(const char *s, const char *last)
{
    const char *end = s;
    while ((end = strchr(end, '\n')) && end < last) {
        if (starts(end + 1, "  ") && end[3] != ' ' && end[3] != '}')
            return end;
        end++;
    }
    return last;
}

/* "%0 = " or "let %0: type = " before an expression; NULL: there is none. */
static const char *read_number(const char *s, uint32_t *out)
{
    bool typed = starts(s, "let ");
    s += typed ? 4 : 0;
    char *end;
    *out = *s == '%' ? (uint32_t)strtoul(s + 1, &end, 10) : 0;
    if (*s != '%' || end == s + 1)
        return NULL;
    const char *type = typed && *end == ':' ? tn_lines_end(end, "=") : end + 1;
    return starts(type, "= ") ? type + 2 : NULL;
}

/* The lines of @main, the n-th of which may be its result. */
static bool read_lines(tn_lines *g)
{
    const char *s = g->body;
    uint32_t free_number = 0;
    for (uint32_t i = 0; i < g->n_line; i++) {
        tn_line *x = &g->line[i];
        const char *end = line_end(s, g->rest), *at = starts(s, "  ") ? read_number(s + 2, &x->number) : NULL;
        bool bare = !at && i + 1 == g->n_line && end == g->rest;
        if ((!at && !bare) || (at && end[-1] != ';'))
            return false;
        x->text = s + 2;
        x->bare = bare;
        x->n = (size_t)(end - x->text);
        x->number = bare ? free_number : x->number;
        free_number = x->number >= free_number ? x->number + 1 : free_number;
        s = end + (end < g->rest);
    }
    return true;
}

/* ---- the nodes ---- */

static bool is_any(const char *op, const char *const name[])
{
    while (*name && strcmp(*name, op) != 0)
        name++;
    return *name != NULL;
}

static bool is_tensor(const char *type)
{
    static const char *const others[] = {"string", "bool", "int", "uint", "float", "bfloat", NULL};
    size_t n = strlen(type);
    if (starts(type, "Tensor["))
        return n < 8 || strcmp(type + n - 7, "string]") != 0;
    for (int i = 1; others[i]; i++)
        if (starts(type, others[i]))
            return true;
    return false;
}

static bool has_effect(const char *op)
{
    tenon_operator_record r;
    for (size_t i = 0; !tenon_operator_get(i, &r); i++)
        if (strcmp(r.name, op) == 0)
            return r.has_effect;
    return false;
}

static void add_read(tn_lines *g, tn_line *x, uint32_t *room, tenon_operand o)
{
    if (o.node == TENON_ABSENT)
        return;
    if (x->n_read == *room) {
        tenon_operand *more = TN_NEW_N(&g->arena, tenon_operand, *room = 2 * *room + 4);
        if (x->n_read)
            memcpy(more, x->read, x->n_read * sizeof *more);
        x->read = more;
    }
    x->read[x->n_read++] = o;
}

/* What the graphs inside a node read of @main. Nesting is bounded by what a text may have. */
static void add_inner(tn_lines *g, tn_line *x, uint32_t *room, const tenon_node *n, const bool top[])
{
    for (uint32_t r = 0; r < n->n_region; r++) {
        const tenon_region *region = &n->region[r];
        for (uint32_t i = 0; i < region->n_node; i++) {
            const tenon_node *k = &g->view->node[region->node[i]];
            for (uint32_t j = 0; j < k->n_operand; j++)
                if (k->operand[j].node != TENON_ABSENT && top[k->operand[j].node])
                    add_read(g, x, room, k->operand[j]);
            add_inner(g, x, room, k, top);
        }
        for (uint32_t i = 0; i < region->n_result; i++)
            if (region->result[i].node != TENON_ABSENT && top[region->result[i].node])
                add_read(g, x, room, region->result[i]);
    }
}

static void make_lines(tn_lines *g)
{
    static const char *const no_line[] = {"var", "constant", "global", "self", NULL};
    static const char *const clear[] = {"tuple", "tuple_get", "fn", NULL};
    const tenon_function_view *v = g->view;
    bool *top = TN_NEW_N(&g->arena, bool, v->n_node);
    g->line = TN_NEW_N(&g->arena, tn_line, v->body.n_node);
    g->line_of = TN_NEW_N(&g->arena, uint32_t, v->n_node);
    memset(g->line_of, 0xff, v->n_node * sizeof *g->line_of);
    for (uint32_t i = 0; i < v->body.n_node; i++)
        top[v->body.node[i]] = true;
    for (uint32_t i = 0; i < v->body.n_node; i++) {
        const tenon_node *n = &v->node[v->body.node[i]];
        uint32_t room = 0;
        if (is_any(n->op, no_line))
            continue;
        tn_line *x = &g->line[g->n_line];
        g->line_of[v->body.node[i]] = g->n_line++;
        x->node = v->body.node[i];
        x->clear = is_any(n->op, clear);
        x->effect = has_effect(n->op);
        for (uint32_t k = 0; k < n->n_operand; k++)
            add_read(g, x, &room, n->operand[k]);
        x->n_operand = x->n_read;
        add_inner(g, x, &room, n, top);
    }
}

/* ---- values ---- */

/* Its results, or the fields of its only one. */
static void make_values(tn_lines *g, tn_line *x)
{
    const tenon_node *n = &g->view->node[x->node];
    const char *type = n->n_result == 1 ? n->type[0] : "";
    bool tuple = *type == '(';
    x->many = tuple || n->n_result != 1;
    x->n_value = n->n_result;
    for (const char *s = type; tuple && *s; x->n_value += *s == ',')
        s = tn_lines_end(s + 1, ",)");
    x->value = TN_NEW_N(&g->arena, tn_line_value, x->n_value);
    x->first = g->n_value;
    g->n_value += x->n_value;
    for (uint32_t k = 0; k < x->n_value; k++) {
        const char *end = tuple ? tn_lines_end(type + 1, ",)") : NULL;
        const char *own = tuple ? type + 1 + (type[1] == ' ') : n->type[k];
        x->value[k].type = tuple ? tn_arena_strndup(&g->arena, own, (size_t)(end - own)) : own;
        x->value[k].tensor = is_tensor(x->value[k].type);
        type = end;
    }
}

/* The model's own names for its outputs, unless they are fields of tuples. */
static void name_outputs(tn_lines *g)
{
    const tenon_region *r = &g->view->body;
    for (uint32_t i = 0; i < r->n_result && r->n_result == g->module->n_output; i++) {
        tenon_operand o = r->result[i];
        uint32_t at = o.node == TENON_ABSENT ? TENON_ABSENT : g->line_of[o.node];
        tn_line *x = at == TENON_ABSENT ? NULL : &g->line[at];
        if (x && !x->clear && o.result < x->n_value && !x->value[o.result].name)
            x->value[o.result].name = g->module->output[i].name;
    }
}

/* Names that are in use, with the number of values that wanted each. */
static void take_names(const tn_lines *g, tn_strmap *taken)
{
    for (uint32_t i = 0; i < g->module->n_input; i++)
        tn_strmap_put(taken, g->module->input[i].name, strlen(g->module->input[i].name), 1);
    for (uint32_t i = 0; i < g->n_line; i++)
        for (uint32_t k = 0; k < g->line[i].n_value; k++) {
            const char *name = g->line[i].value[k].name;
            if (name)
                tn_strmap_put(taken, name, strlen(name), 1);
        }
}

/* The source's name, or the line's number. */
static const char *free_name(tn_lines *g, tn_strmap *taken, const tn_line *x, uint32_t value)
{
    const char *base = g->view->node[x->node].source;
    if (!*base && x->many)
        base = tn_arena_printf(&g->arena, "%%%u.%u", (unsigned)x->number, (unsigned)value);
    else if (!*base)
        base = tn_arena_printf(&g->arena, "%%%u", (unsigned)x->number);
    const char *name = base;
    uint64_t n = 0, other;
    tn_strmap_get(taken, base, strlen(base), &n);
    while (n > 0 && tn_strmap_get(taken, name, strlen(name), &other))
        name = tn_arena_printf(&g->arena, "%s_%u", base, (unsigned)++n);
    tn_strmap_put(taken, name, strlen(name), 1);
    tn_strmap_put(taken, base, strlen(base), n ? n : 1);
    return name;
}

static void make_names(tn_lines *g)
{
    for (uint32_t i = 0; i < g->n_line; i++)
        make_values(g, &g->line[i]);
    name_outputs(g);
    tn_strmap taken = {0};
    take_names(g, &taken);
    for (uint32_t i = 0; i < g->n_line; i++)
        for (uint32_t k = 0; !g->line[i].clear && k < g->line[i].n_value; k++)
            if (!g->line[i].value[k].name)
                g->line[i].value[k].name = free_name(g, &taken, &g->line[i], k);
    tn_strmap_deinit(&taken);
}

/* ---- the graph as compare sees it ---- */

static void add_name(tn_lines *g, tn_name_list *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->at[i] == name)
            return;
    if (l->n == l->room) {
        const char **more = TN_NEW_N(&g->arena, const char *, l->room = 2 * l->room + 4);
        if (l->n)
            memcpy(more, l->at, l->n * sizeof *more);
        l->at = more;
    }
    l->at[l->n++] = name;
}

uint32_t tn_lines_field(const tenon_node *tuple_get)
{
    const char *s = strstr(tuple_get->attributes, "index=");
    return s ? (uint32_t)strtoul(s + 6, NULL, 10) : 0;
}

const tn_line *tn_lines_at(const tn_lines *g, uint32_t node)
{
    return node == TENON_ABSENT || g->line_of[node] == TENON_ABSENT ? NULL : &g->line[g->line_of[node]];
}

bool tn_lines_is_whole(const tn_lines *g, const tn_line *x)
{
    return x->many && g->view->node[x->node].n_result == 1;
}

/* The names of what an operand is made from; those of clear lines before it are known. */
static void add_names(tn_lines *g, tn_name_list *l, tenon_operand o)
{
    const tn_line *x = tn_lines_at(g, o.node);
    if (!x && o.node != TENON_ABSENT && strcmp(g->view->node[o.node].op, "var") == 0)
        add_name(g, l, g->view->node[o.node].name);
    if (!x)
        return;
    for (uint32_t i = 0; x->clear && i < x->made_of.n; i++)
        add_name(g, l, x->made_of.at[i]);
    for (uint32_t k = 0; !x->clear && k < x->n_value; k++)
        if (tn_lines_is_whole(g, x) || k == o.result)
            add_name(g, l, x->value[k].name);
}

/* Field k of a tuple in the text, as a line of its own. */
static void read_field(tn_lines *g, tn_line *x, const tn_line *tuple, uint32_t k)
{
    uint32_t number;
    const char *s = read_number(tuple->text, &number), *end;
    s = s && *s == '(' ? s + 1 : NULL;
    for (uint32_t i = 0; s && i < k; i++) {
        s = tn_lines_end(s, ",)");
        s += *s == ',' && s[1] == ' ' ? 2 : 0;
    }
    if (!s || *s == ')')
        return;
    end = tn_lines_end(s, ",)");
    x->text = x->bare ? tn_arena_strndup(&g->arena, s, (size_t)(end - s))
                      : tn_arena_printf(&g->arena, "%%%u = %.*s;", (unsigned)x->number, (int)(end - s), s);
    x->n = strlen(x->text);
    x->read[0] = x->same = g->view->node[tuple->node].operand[k];
    x->is_same = true;
}

/* A field of a tuple is the field's own value, so that the other fields are not read. */
static void make_clear(tn_lines *g, tn_line *x)
{
    const tenon_node *n = &g->view->node[x->node];
    bool get = strcmp(n->op, "tuple_get") == 0;
    const tn_line *from = get ? tn_lines_at(g, n->operand[0].node) : NULL;
    uint32_t k = get ? tn_lines_field(n) : 0;
    while (from && from->is_same)
        from = tn_lines_at(g, from->same.node);
    if (from && strcmp(g->view->node[from->node].op, "tuple") == 0 && k < from->n_read)
        read_field(g, x, from, k);
    if (from && !from->clear && k < from->n_value)
        add_name(g, &x->made_of, from->value[k].name);
    else
        for (uint32_t i = 0; i < x->n_read; i++)
            add_names(g, &x->made_of, x->read[i]);
}

static void make_info(tn_lines *g)
{
    tenon_node_info *node = TN_NEW_N(&g->arena, tenon_node_info, g->n_line);
    const char **in = TN_NEW_N(&g->arena, const char *, g->module->n_input);
    const char **out = TN_NEW_N(&g->arena, const char *, g->module->n_output);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_line; i++) {
        tn_line *x = &g->line[i];
        const tenon_node *k = &g->view->node[x->node];
        tn_name_list reads = {0}, gives = {0};
        uint32_t own = 0;
        if (x->clear) {
            make_clear(g, x);
            continue;
        }
        for (uint32_t j = 0; j < x->n_read; j++) {
            add_names(g, &reads, x->read[j]);
            own = j < x->n_operand ? reads.n : own;
        }
        for (uint32_t j = 0; j < x->n_value; j++)
            add_name(g, &gives, x->value[j].name);
        node[n++] = (tenon_node_info){.name = k->source,
                                      .op = k->op,
                                      .n_in = reads.n,
                                      .n_out = gives.n,
                                      .n_operand = own,
                                      .in = reads.at,
                                      .out = gives.at};
    }
    for (uint32_t i = 0; i < g->module->n_input; i++)
        in[i] = g->module->input[i].name;
    for (uint32_t i = 0; i < g->module->n_output; i++)
        out[i] = g->module->output[i].name;
    g->info = (tenon_file_info){.n_node = n,
                                .n_input = g->module->n_input,
                                .n_output = g->module->n_output,
                                .node = node,
                                .input = in,
                                .output = out};
}

/* The text is the last thing that the session is asked for. */
static bool open_graph(tn_lines *g, const tn_side *s)
{
    tenon_module *m = tenon_module_read(g->session, s->path, &s->model.options);
    const void *params = NULL;
    g->module = m ? tenon_module_inspect(m) : NULL;
    g->view = g->module ? tenon_function_inspect(m, "main") : NULL;
    if (!g->view || tenon_module_dump(m, &s->model.options, "relay", &g->text, &params, &g->n_params))
        return false;
    g->params = params;
    make_lines(g);
    if (!read_head(g) || !read_lines(g))
        return false;
    make_names(g);
    make_info(g);
    return true;
}

tn_lines *tn_lines_open(const tn_side *s)
{
    tn_lines *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    tn_arena_init(&g->arena);
    g->session = tenon_new();
    if (g->session && open_graph(g, s))
        return g;
    tn_lines_close(g);
    return NULL;
}

void tn_lines_close(tn_lines *g)
{
    if (!g)
        return;
    tenon_free(g->session);
    tn_arena_deinit(&g->arena);
    tn_buf_deinit(&g->part);
    free(g);
}

bool tn_lines_same(const tn_lines *a, const tn_lines *b) { return strcmp(a->text, b->text) == 0; }
