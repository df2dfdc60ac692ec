/* Parts of a Relay graph, as text. Lines of @main that the outputs need are kept as they stand, and the line of a value
 * that becomes an input gives its number to a parameter. The rest of the text stays: other functions, data types,
 * symbols. Lines with an effect (references, symbols that they bind) are kept where the part has what they read. A cut
 * is linear in the size of the graph, but for the outputs, which are looked up by name. */
#include "cli/compare_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* ---- which lines ---- */

typedef struct cutter {
    tn_lines *g;
    const tenon_part *part;
    bool fixed;
    tn_arena *arena;
    bool *need;      /* of each value: something in the part reads it */
    bool *read;      /* of each line that has no values of its own in the part: something does */
    uint32_t *given; /* of each value: 1 + the input that it is; 0: none */
    enum { LINE_OUT, LINE_KEPT, LINE_GIVEN } * state;
    bool *param; /* of each parameter: it is read */
} cutter;

static bool find_value(const tn_lines *g, const char *name, uint32_t *out_line, uint32_t *out_k)
{
    for (uint32_t i = 0; i < g->n_line; i++)
        for (uint32_t k = 0; !g->line[i].clear && k < g->line[i].n_value; k++)
            if (strcmp(g->line[i].value[k].name, name) == 0) {
                *out_line = i;
                *out_k = k;
                return true;
            }
    return false;
}

/* The input of the part that the parameter is; n_input: none. */
static uint32_t input_of(const cutter *c, uint32_t param)
{
    const tn_lines *g = c->g;
    uint32_t i = 0;
    while (i < c->part->n_input &&
           strcmp(c->part->input[i].name, g->view->node[g->view->body.node[param]].name) != 0)
        i++;
    return i;
}

static uint32_t param_of(const tn_lines *g, uint32_t node)
{
    for (uint32_t i = 0; i < g->view->body.n_param; i++)
        if (g->view->body.node[i] == node)
            return i;
    return TENON_ABSENT;
}

/* `from`: the line that reads the operand. */
static void need_operand(cutter *c, const tn_line *from, tenon_operand o)
{
    const tn_lines *g = c->g;
    const tn_line *x = tn_lines_at(g, o.node);
    const tenon_node *n = &g->view->node[from->node];
    uint32_t p = x || o.node == TENON_ABSENT ? TENON_ABSENT : param_of(g, o.node);
    if (p != TENON_ABSENT)
        c->param[p] = true;
    if (!x)
        return;
    c->read[x - g->line] = true;
    bool field = tn_lines_is_whole(g, x) && strcmp(n->op, "tuple_get") == 0;
    for (uint32_t k = 0; k < x->n_value; k++)
        if (field ? k == tn_lines_field(n) : tn_lines_is_whole(g, x) || k == o.result)
            c->need[x->first + k] = true;
}

static void keep(cutter *c, uint32_t i)
{
    const tn_line *x = &c->g->line[i];
    c->state[i] = LINE_KEPT;
    for (uint32_t k = 0; k < x->n_read; k++)
        need_operand(c, x, x->read[k]);
}

static void choose_lines(cutter *c)
{
    for (uint32_t i = c->g->n_line; i-- > 0;) {
        const tn_line *x = &c->g->line[i];
        bool given = !x->clear;
        for (uint32_t k = 0; k < x->n_value; k++)
            given = given && (!c->need[x->first + k] || c->given[x->first + k]);
        if (c->read[i] && given)
            c->state[i] = LINE_GIVEN;
        else if (c->read[i])
            keep(c, i);
    }
}

static bool is_there(const cutter *c, tenon_operand o)
{
    const tn_line *x = tn_lines_at(c->g, o.node);
    uint32_t p = x || o.node == TENON_ABSENT ? TENON_ABSENT : param_of(c->g, o.node);
    if (p != TENON_ABSENT)
        return !c->part->input || c->param[p] || input_of(c, p) < c->part->n_input;
    if (!x || c->state[x - c->g->line] == LINE_KEPT)
        return true;
    return c->state[x - c->g->line] == LINE_GIVEN && o.result < x->n_value && c->given[x->first + o.result];
}

static void choose_effects(cutter *c)
{
    for (uint32_t i = 0; i < c->g->n_line; i++) {
        const tn_line *x = &c->g->line[i];
        bool there = x->effect && c->state[i] == LINE_OUT;
        for (uint32_t k = 0; there && k < x->n_read; k++)
            there = is_there(c, x->read[k]);
        if (there)
            keep(c, i);
    }
}

/* ---- the text of a part ---- */

/* A name in a comment (src/relay/annot.h). */
static void add_comment(tn_buf *b, const char *name)
{
    tn_buf_str(b, " /* name=");
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || *name == 0x7f || strchr("\\*,", *name))
            tn_buf_printf(b, "\\x%02x", (unsigned char)*name);
        else
            tn_buf_char(b, *name);
    tn_buf_str(b, " */");
}

static void add_quoted(tn_buf *b, const char *name)
{
    tn_buf_char(b, '"');
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            tn_buf_printf(b, "\\x%02x", (unsigned char)*name);
        else
            tn_buf_printf(b, strchr("\\\"", *name) ? "\\%c" : "%c", *name);
    tn_buf_char(b, '"');
}

/* Tensor[(n, 4), float32], or with the extents of `t` (NULL: its own). */
static void add_type(tn_buf *b, const char *type, size_t n, const tenon_tensor *t)
{
    static const char head[] = "Tensor[(";
    const char *end = t && starts(type, head) ? tn_lines_end(type + strlen(head), ")") : type;
    if (end != type)
        tn_buf_str(b, head);
    for (int d = 0; end != type && d < t->ndim; d++)
        tn_buf_printf(b, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
    tn_buf_add(b, end, n - (size_t)(end - type));
}

/* A parameter of the graph as it stands, or with the extents that are given. */
static void add_own(const cutter *c, uint32_t i, tn_buf *b)
{
    const char *text = c->g->param[i], *type = tn_lines_end(text, ":"), *end = text + c->g->n_param[i];
    uint32_t at = input_of(c, i);
    type += *type == ':' && type[1] == ' ' ? 2 : 0;
    tn_buf_add(b, text, (size_t)(type - text));
    add_type(b, type, (size_t)(end - type), c->fixed && at < c->part->n_input ? &c->part->input[at] : NULL);
}

static void add_params(const cutter *c, tn_buf *b)
{
    const tn_lines *g = c->g;
    const char *between = "";
    for (uint32_t i = 0; i < g->view->body.n_param; i++)
        if (!c->part->input || c->param[i]) {
            tn_buf_str(b, between);
            add_own(c, i, b);
            between = ", ";
        }
    for (uint32_t i = 0; i < g->n_line; i++) {
        const tn_line *x = &g->line[i];
        for (uint32_t k = 0; c->state[i] == LINE_GIVEN && k < x->n_value; k++) {
            if (!c->need[x->first + k])
                continue;
            tn_buf_printf(b, "%s%%v%u_%u: ", between, (unsigned)x->number, (unsigned)k);
            add_type(b, x->value[k].type, strlen(x->value[k].type),
                     c->fixed ? &c->part->input[c->given[x->first + k] - 1] : NULL);
            add_comment(b, x->value[k].name);
            between = ", ";
        }
    }
}

/* %0 = %v0_0; or %0 = (%v0_0, %v0_1); values that nobody reads are the first that somebody does. */
static void add_given(const cutter *c, const tn_line *x, tn_buf *b)
{
    uint32_t any = 0;
    while (!c->need[x->first + any])
        any++;
    tn_buf_printf(b, "  %%%u = %s", (unsigned)x->number, x->many ? "(" : "");
    for (uint32_t k = 0; k < x->n_value; k++)
        tn_buf_printf(b, "%s%%v%u_%u", k ? ", " : "", (unsigned)x->number,
                      (unsigned)(c->need[x->first + k] ? k : any));
    tn_buf_str(b, !x->many ? ";\n" : x->n_value == 1 ? ",);\n" : ");\n");
}

static void add_lines(const cutter *c, tn_buf *b)
{
    for (uint32_t i = 0; i < c->g->n_line; i++) {
        const tn_line *x = &c->g->line[i];
        if (c->state[i] == LINE_GIVEN)
            add_given(c, x, b);
        if (c->state[i] != LINE_KEPT)
            continue;
        tn_buf_str(b, "  ");
        if (x->bare)
            tn_buf_printf(b, "%%%u = ", (unsigned)x->number);
        tn_buf_add(b, x->text, x->n);
        tn_buf_str(b, x->bare ? ";\n" : "\n");
    }
}

/* What stands before @main, but what is said of all of the model. */
static void add_front(const tn_lines *g, tn_buf *b)
{
    static const char *const whole[] = {"#[outputs", "#[state", "#[model"};
    for (const char *s = g->text, *end; s < g->def; s = end) {
        bool out = false;
        end = strchr(s, '\n') + 1;
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            out = out || starts(s, whole[i]);
        if (!out)
            tn_buf_add(b, s, (size_t)(end - s));
    }
}

/* `at`: line and value of each of the n outputs. */
static void add_text(const cutter *c, uint32_t n, const uint32_t at[][2], tn_buf *b)
{
    const tn_lines *g = c->g;
    add_front(g, b);
    for (uint32_t i = 0; i < n; i++) {
        tn_buf_str(b, i ? ", " : "#[outputs = [");
        add_quoted(b, g->line[at[i][0]].value[at[i][1]].name);
    }
    tn_buf_str(b, "]]\ndef @main(");
    add_params(c, b);
    tn_buf_str(b, ") {\n");
    add_lines(c, b);
    for (uint32_t i = 0; i < n; i++) {
        const tn_line *x = &g->line[at[i][0]];
        tn_buf_str(b, i ? ", " : n > 1 ? "  (" : "  ");
        tn_buf_printf(b, x->many ? "%%%u.%u" : "%%%u", (unsigned)x->number, (unsigned)at[i][1]);
    }
    tn_buf_str(b, n > 1 ? ")" : "");
    tn_buf_str(b, g->rest);
}

static int cut(cutter *c)
{
    tn_lines *g = c->g;
    const tenon_part *part = c->part;
    uint32_t(*at)[2] = tn_arena_array(c->arena, part->n_output, sizeof *at, _Alignof(uint32_t)), n = 0;
    uint32_t i, k;
    c->need = TN_NEW_N(c->arena, bool, g->n_value);
    c->read = TN_NEW_N(c->arena, bool, g->n_line);
    c->given = TN_NEW_N(c->arena, uint32_t, g->n_value);
    c->state = tn_arena_array(c->arena, g->n_line, sizeof *c->state, _Alignof(int));
    c->param = TN_NEW_N(c->arena, bool, g->view->body.n_param);
    for (uint32_t j = 0; part->input && j < part->n_input; j++)
        if (find_value(g, part->input[j].name, &i, &k))
            c->given[g->line[i].first + k] = 1 + j;
    for (uint32_t j = 0; j < part->n_output; j++)
        if (find_value(g, part->output[j], &i, &k) && g->line[i].value[k].tensor) {
            c->read[i] = c->need[g->line[i].first + k] = true;
            at[n][0] = i;
            at[n++][1] = k;
        }
    choose_lines(c);
    choose_effects(c);
    tn_buf_clear(&g->part);
    if (n)
        add_text(c, n, (const uint32_t(*)[2])at, &g->part);
    return n == 0;
}

int tn_lines_cut(tn_lines *g, const tenon_part *part, bool fixed, tn_side_model *out)
{
    tn_arena scratch;
    tn_arena_init(&scratch);
    int failed = cut(&(cutter){.g = g, .part = part, .fixed = fixed, .arena = &scratch});
    tn_arena_deinit(&scratch);
    *out = (tn_side_model){.relay = true,
                           .at = tn_buf_cstr(&g->part),
                           .n = g->part.n,
                           .params = g->params,
                           .n_params = g->n_params};
    return failed;
}

int tn_lines_write(const tn_side_model *part, const char *path)
{
    tenon *t = tenon_new();
    tenon_module *m = t ? tenon_module_parse(t, part->at, part->params, part->n_params) : NULL;
    int status = t ? TN_EXIT_OK : tn_error_print("out of memory");
    if (t && (!m || tenon_module_dump_to(m, NULL, "relay", path))) {
        tn_messages_print(tenon_messages(t));
        status = TN_EXIT_ERROR;
    }
    tenon_free(t);
    return status;
}
