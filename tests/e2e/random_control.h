#ifndef TENON_TESTS_E2E_RANDOM_CONTROL_H
#define TENON_TESTS_E2E_RANDOM_CONTROL_H
/* Random programs of nested `if` and `loop` as Relay text. Values are rows [rows, 6] (rows: a number or the symbol n),
 * caches [4, 6], scalars of int64 and bool. Conditions and trip counts are inputs, constants or computed; bodies read
 * what stands outside of them; loops carry rows, caches overwritten at a position and integers, end early or run zero
 * times, and collect rows. Bodies hold operators with several results. The same seed gives the same program. */
#include "base/buf.h"
#include "base/rng.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CONTROL_UNITS = 6, CONTROL_CACHE = 4, CONTROL_DEPTH = 3, CONTROL_NAMES = 64, CONTROL_NAME = 32 };
enum control_kind { CONTROL_ROWS, CONTROL_CACHES, CONTROL_INTS, CONTROL_BOOLS, CONTROL_KINDS };

typedef struct control_scope { /* what a line may use */
    char name[CONTROL_KINDS][CONTROL_NAMES][CONTROL_NAME];
    int n[CONTROL_KINDS];
} control_scope;

typedef struct random_control {
    tn_rng r;
    tn_buf text;
    int n_line, n_symbol, depth;
    const char *rows; /* "n", "3" */
    control_scope now;
    char result[12][CONTROL_NAME];
    int n_result;
} random_control;

static inline int control_below(random_control *g, int n) { return (int)tn_rng_below(&g->r, (uint64_t)n); }

static inline const char *control_any(random_control *g, enum control_kind k)
{
    return g->now.name[k][control_below(g, g->now.n[k])];
}

/* One of the newest: what was just computed is used. */
static inline const char *control_new(random_control *g, enum control_kind k)
{
    int n = g->now.n[k], few = n < 3 ? n : 3;
    return g->now.name[k][n - 1 - control_below(g, few)];
}

static inline void control_keep(random_control *g, enum control_kind k, const char *name)
{
    if (g->now.n[k] < CONTROL_NAMES)
        memmove(g->now.name[k][g->now.n[k]++], name, strlen(name) + 1);
}

static inline void control_indent(random_control *g) { tn_buf_printf(&g->text, "%*s", 2 * g->depth + 2, ""); }

/* Begins a line `%7 = `; the name of its value is in out. */
static inline void control_begin(random_control *g, char out[CONTROL_NAME])
{
    snprintf(out, CONTROL_NAME, "%%%d", g->n_line++);
    control_indent(g);
    tn_buf_printf(&g->text, "%s = ", out);
}

__attribute__((format(printf, 3, 4))) static inline void control_line(random_control *g,
                                                                      char out[CONTROL_NAME],
                                                                      const char *format, ...)
{
    char body[512];
    va_list list;
    va_start(list, format);
    vsnprintf(body, sizeof body, format, list);
    va_end(list);
    control_begin(g, out);
    tn_buf_printf(&g->text, "%s;\n", body);
}

/* ---- lines ---- */

/* A position in a cache. */
static inline void control_index(random_control *g, char out[CONTROL_NAME])
{
    control_line(g, out, "floor_mod(%s, %di64)", control_any(g, CONTROL_INTS), CONTROL_CACHE);
    control_line(g, out, "checked_index(%s, extent=[%d])", out, CONTROL_CACHE);
}

static inline void control_bool(random_control *g, char out[CONTROL_NAME])
{
    static const char *const ops[] = {"logical_and", "logical_or", "not_equal"};
    int kind = control_below(g, 3);
    if (kind == 0) {
        control_line(g, out, "sum(%s)", control_new(g, CONTROL_ROWS));
        control_line(g, out, "less(%s, %d.5f)", out, control_below(g, 4) - 2);
    } else if (kind == 1) {
        control_line(g, out, "less(%s, %di64)", control_any(g, CONTROL_INTS), control_below(g, 5));
    } else {
        control_line(g, out, "%s(%s, %s)", ops[control_below(g, 3)], control_any(g, CONTROL_BOOLS),
                     control_any(g, CONTROL_BOOLS));
    }
    control_keep(g, CONTROL_BOOLS, out);
}

/* The cache with a row overwritten at a position. */
static inline void control_write(random_control *g)
{
    char at[CONTROL_NAME], row[CONTROL_NAME], out[CONTROL_NAME];
    control_index(g, at);
    control_line(g, at, "reshape(%s, newshape=[1, 1])", at);
    control_line(g, row, "mean(%s, axis=[0], keepdims=True)", control_new(g, CONTROL_ROWS));
    control_line(g, out, "scatter_nd(%s, %s, %s)", control_new(g, CONTROL_CACHES), at, row);
    control_keep(g, CONTROL_CACHES, out);
}

static inline void control_layer(random_control *g, const char *x, char out[CONTROL_NAME])
{
    static const char *const cells[] = {"rnn", "gru", "lstm"};
    int cell = control_below(g, 3), gates = cell == 0 ? 1 : cell + 2,
        last = 1 + control_below(g, cell == 2 ? 2 : 1);
    char data[CONTROL_NAME], w[CONTROL_NAME], all[CONTROL_NAME];
    control_line(g, w, "strided_slice(%%r, begin=[0], end=[%d])", gates * CONTROL_UNITS);
    control_line(g, data, "nn.dense(%s, %s)", x, w);
    control_line(g, data, "expand_dims(%s, axis=1)", data);
    control_line(g, w, "reshape(%s, newshape=[%d, %d, %d])", w, gates, CONTROL_UNITS, CONTROL_UNITS);
    control_line(g, out, "nn.recurrent(%s, %s, cell=\"%s\")", data, w, cells[cell]);
    control_line(g, all, "squeeze(%s.0, axis=[1])", out);
    control_line(g, out, "add(%s, %s.%d)", all, out, last);
}

/* Operators with several results: two halves that change places, the largest elements and where they were. */
static inline void control_several(random_control *g, const char *x, char out[CONTROL_NAME])
{
    char a[CONTROL_NAME], b[CONTROL_NAME];
    if (control_below(g, 2)) {
        int at = 1 + control_below(g, CONTROL_UNITS - 1);
        control_line(g, a, "strided_slice(%s, begin=[0], end=[%d], axes=[1])", x, at);
        control_line(g, b, "strided_slice(%s, begin=[%d], end=[%d], axes=[1])", x, at, CONTROL_UNITS);
        control_line(g, out, "concatenate((%s, %s), axis=1)", b, a);
    } else {
        control_line(g, a, "topk(%s, k=[%d], axis=1)", x, CONTROL_UNITS);
        control_line(g, b, "cast(%s.1, dtype=\"float32\")", a);
        control_line(g, out, "add(%s.0, %s * 0.01f)", a, b);
    }
}

static inline void control_mix(random_control *g, const char *x, char out[CONTROL_NAME])
{
    char a[CONTROL_NAME];
    switch (control_below(g, 5)) {
    case 0:
        control_line(g, a, "cast(%s, dtype=\"float32\")", control_any(g, CONTROL_INTS));
        control_line(g, out, "add(%s, %s * 0.125f)", x, a);
        return;
    case 1:
        control_index(g, a);
        control_line(g, a, "take(%s, %s, axis=0)", control_any(g, CONTROL_CACHES), a);
        control_line(g, out, "tanh(%s + %s)", x, a);
        return;
    case 2:
        control_line(g, out, "where(%s, %s, %s)", control_any(g, CONTROL_BOOLS), x,
                     control_any(g, CONTROL_ROWS));
        return;
    case 3:
        control_line(g, a, "max(%s, axis=[0], keepdims=True)", x);
        control_line(g, out, "tanh(%s - %s)", x, a);
        return;
    default: control_line(g, out, "nn.softmax(%s, axis=%d)", x, control_below(g, 2)); return;
    }
}

static inline void control_operate(random_control *g)
{
    static const char *const one[] = {"nn.relu", "tanh", "sigmoid", "abs"};
    static const char *const two[] = {"add", "subtract", "multiply", "maximum"};
    const char *x = control_new(g, CONTROL_ROWS);
    char out[CONTROL_NAME];
    switch (control_below(g, 7)) {
    case 0: control_line(g, out, "%s(%s)", one[control_below(g, 4)], x); break;
    case 1:
        control_line(g, out, "%s(%s, %s)", two[control_below(g, 4)], x, control_any(g, CONTROL_ROWS));
        control_line(g, out, "tanh(%s)", out);
        break;
    case 2: control_line(g, out, "nn.dense(%s, %%w)", x); break;
    case 3: control_layer(g, x, out); break;
    case 4: control_several(g, x, out); break;
    default: control_mix(g, x, out); break;
    }
    control_keep(g, CONTROL_ROWS, out);
    if (control_below(g, 4) == 0)
        control_bool(g, out);
    if (control_below(g, 4) == 0)
        control_write(g);
}

/* ---- branches and loops ---- */

static inline void control_lines(random_control *g, int n);

/* Result k of a line with n results. */
static inline void control_part(const char *line, int n, int k, char out[CONTROL_NAME])
{
    if (n == 1)
        snprintf(out, CONTROL_NAME, "%s", line);
    else
        snprintf(out, CONTROL_NAME, "%.16s.%d", line, k);
}

/* How many values of each kind a branch or loop gives. */
static inline int control_count(random_control *g, int n[CONTROL_KINDS])
{
    n[CONTROL_ROWS] = 1 + control_below(g, 2);
    n[CONTROL_CACHES] = control_below(g, 2);
    n[CONTROL_INTS] = control_below(g, 2);
    n[CONTROL_BOOLS] = 0;
    return n[0] + n[1] + n[2];
}

static inline void control_results(random_control *g, const char *line, const int n[], int all)
{
    char part[CONTROL_NAME];
    for (int kind = 0, k = 0; kind < CONTROL_KINDS; kind++)
        for (int i = 0; i < n[kind]; i++) {
            control_part(line, all, k++, part);
            control_keep(g, (enum control_kind)kind, part);
        }
}

static inline void control_branch(random_control *g)
{
    char out[CONTROL_NAME], c[CONTROL_NAME];
    int n[CONTROL_KINDS], all = control_count(g, n);
    control_scope outside = g->now;
    control_bool(g, c);
    control_begin(g, out);
    tn_buf_printf(&g->text, "if (%s) {\n", control_below(g, 3) ? c : control_any(g, CONTROL_BOOLS));
    for (int b = 0; b < 2; b++) {
        g->now = outside;
        g->depth++;
        if (control_below(g, 4))
            control_lines(g, 1 + control_below(g, 2));
        control_indent(g);
        for (int kind = 0, k = 0; kind < CONTROL_KINDS; kind++)
            for (int i = 0; i < n[kind]; i++)
                tn_buf_printf(&g->text, "%s%s",
                              k++       ? ", "
                              : all > 1 ? "("
                                        : "",
                              control_new(g, (enum control_kind)kind));
        g->depth--;
        tn_buf_printf(&g->text, "%s\n%*s}%s\n", all > 1 ? ")" : "", 2 * g->depth + 2, "",
                      b ? ";" : " else {");
    }
    g->now = outside;
    control_results(g, out, n, all);
}

/* What a loop is made of. */
typedef struct control_loop {
    int n[CONTROL_KINDS], carried, first; /* first: number in the names of its parameters */
    bool early, rows, ints, grows; /* it may end early; it collects rows, integers; carries ever more rows */
    char trip[CONTROL_NAME], go[CONTROL_NAME], symbol[CONTROL_NAME];
} control_loop;

/* Trip count and condition; where something is collected, the symbol for how often it runs. */
static inline void control_loop_head(random_control *g, control_loop *l)
{
    char count[CONTROL_NAME];
    int kind = control_below(g, 4);
    if (kind == 0)
        snprintf(l->trip, CONTROL_NAME, "%di64", control_below(g, 5));
    else if (kind == 1)
        control_line(g, l->trip, "floor_mod(%s, 4i64)", control_any(g, CONTROL_INTS));
    else
        snprintf(l->trip, CONTROL_NAME, "%%t");
    snprintf(l->go, CONTROL_NAME, "%s", control_below(g, 2) ? "True" : control_any(g, CONTROL_BOOLS));
    if (l->early || (!l->rows && !l->ints))
        return;
    snprintf(l->symbol, CONTROL_NAME, "u%d", g->n_symbol++);
    control_line(g, count, "maximum(%s, 0i64)", l->trip);
    control_line(g, count, "where(%s, %s, 0i64)", l->go, count);
    control_line(g, count, "bind_extent(%s, extent=[%s])", count, l->symbol);
}

static inline const char *control_parameter(random_control *g, const control_loop *l, int k,
                                            char name[CONTROL_NAME])
{
    (void)g;
    snprintf(name, CONTROL_NAME, "%%p%d_%d", l->first, k);
    return name;
}

/* The parameters, which are in scope from here on. */
static inline void control_loop_parameters(random_control *g, const control_loop *l)
{
    char name[CONTROL_NAME];
    int k = 0;
    tn_buf_printf(&g->text, ")(%%i%d: int64", l->first);
    for (int kind = 0; kind < CONTROL_BOOLS; kind++)
        for (int i = 0; i < l->n[kind]; i++) {
            control_parameter(g, l, k++, name);
            if (kind == CONTROL_INTS)
                tn_buf_printf(&g->text, ", %s: int64", name);
            else
                tn_buf_printf(&g->text, ", %s: Tensor[(%s, %d), float32]", name,
                              kind == CONTROL_ROWS ? g->rows : "4", CONTROL_UNITS);
            control_keep(g, (enum control_kind)kind, name);
        }
    if (l->grows)
        tn_buf_printf(&g->text, ", %%g%d: Tensor[(?, %d), float32]", l->first, CONTROL_UNITS);
    snprintf(name, CONTROL_NAME, "%%i%d", l->first);
    control_keep(g, CONTROL_INTS, name);
    tn_buf_str(&g->text, ") {\n");
}

/* What is carried on: something new, or two values that change places. */
static inline void control_loop_body(random_control *g, const control_loop *l)
{
    char go[CONTROL_NAME] = "True", more[CONTROL_NAME], next[CONTROL_NAME];
    g->depth++;
    control_lines(g, 1 + control_below(g, 3));
    if (l->n[CONTROL_CACHES] && control_below(g, 4))
        control_write(g);
    if (l->early)
        control_bool(g, go);
    if (l->grows)
        control_line(g, more, "concatenate((%%g%d, %s), axis=0)", l->first, control_any(g, CONTROL_ROWS));
    if (l->n[CONTROL_INTS]) {
        control_line(g, next, "add(%s, %di64)", control_any(g, CONTROL_INTS), control_below(g, 3));
        control_line(g, next, "floor_mod(%s, 7i64)", next);
        control_keep(g, CONTROL_INTS, next);
    }
    control_indent(g);
    tn_buf_printf(&g->text, "(%s", go);
    for (int kind = 0; kind < CONTROL_BOOLS; kind++)
        for (int i = 0; i < l->n[kind]; i++) {
            bool swap = kind == CONTROL_ROWS && l->n[kind] == 2 && control_below(g, 3) == 0;
            tn_buf_printf(&g->text, ", %s",
                          swap ? control_parameter(g, l, 1 - i, next)
                               : control_new(g, (enum control_kind)kind));
        }
    if (l->grows)
        tn_buf_printf(&g->text, ", %s", more);
    if (l->rows)
        tn_buf_printf(&g->text, ", %s", control_any(g, CONTROL_ROWS));
    if (l->ints)
        tn_buf_printf(&g->text, ", %s", control_any(g, CONTROL_INTS));
    g->depth--;
    tn_buf_printf(&g->text, ")\n%*s};\n", 2 * g->depth + 2, "");
}

static inline void control_show(random_control *g, const char *name)
{
    if (g->depth == 0 && g->n_result < 12)
        memmove(g->result[g->n_result++], name, strlen(name) + 1);
}

/* What grew, and what was collected: their extents may be the loop's own. */
static inline void control_collected(random_control *g, const control_loop *l, const char *line, int all)
{
    char part[CONTROL_NAME];
    for (int k = l->carried; k < all; k++) {
        control_part(line, all, k, part);
        control_show(g, part);
    }
}

static inline void control_loop_line(random_control *g)
{
    control_loop l = {.early = control_below(g, 2),
                      .rows = control_below(g, 2),
                      .ints = control_below(g, 3) == 0,
                      .grows = control_below(g, 3) == 0};
    char out[CONTROL_NAME];
    l.carried = control_count(g, l.n);
    l.first = g->n_line;
    control_loop_head(g, &l);
    control_scope outside = g->now;
    control_begin(g, out);
    tn_buf_printf(&g->text, "loop (%s, %s", l.trip, l.go);
    for (int kind = 0; kind < CONTROL_BOOLS; kind++)
        for (int i = 0; i < l.n[kind]; i++)
            tn_buf_printf(&g->text, ", %s", control_new(g, (enum control_kind)kind));
    if (l.grows)
        tn_buf_printf(&g->text, ", %s", control_new(g, CONTROL_ROWS));
    if (!l.early && l.rows)
        tn_buf_printf(&g->text, ", collect=[%s, %s, %d%s%s]", l.symbol, g->rows, CONTROL_UNITS,
                      l.ints ? ", " : "", l.ints ? l.symbol : "");
    else if (!l.early && l.ints)
        tn_buf_printf(&g->text, ", collect=[%s]", l.symbol);
    control_loop_parameters(g, &l);
    control_loop_body(g, &l);
    g->now = outside;
    int all = l.carried + l.grows + l.rows + l.ints;
    control_results(g, out, l.n, all);
    control_collected(g, &l, out, all);
}

static inline void control_lines(random_control *g, int n)
{
    for (int k = 0; k < n; k++) {
        control_operate(g);
        int kind = g->depth < CONTROL_DEPTH ? control_below(g, 5) : 4;
        if (kind == 0)
            control_branch(g);
        else if (kind == 1)
            control_loop_line(g);
    }
}

/* Fills in g->text. Inputs: x rows, cache, w [6, 6], r [24, 6], k and t int64, b bool, z and o: zeros and ones. */
static inline void random_control_make(random_control *g, uint64_t seed, const char *rows)
{
    *g = (random_control){.r = {seed}, .rows = rows};
    tn_buf_str(&g->text, "#[version = \"0.0.5\"]\n#[symbols = \"");
    for (int i = 0; i < 40; i++)
        tn_buf_printf(&g->text, "%su%d in [0, 1000]", i ? ", " : "", i);
    tn_buf_printf(&g->text,
                  "\"]\ndef @main(%%x: Tensor[(%s, 6), float32], %%cache: Tensor[(4, 6), float32], "
                  "%%w: Tensor[(6, 6), float32],\n          %%r: Tensor[(24, 6), float32], %%k: int64, %%t: "
                  "int64, %%b: bool, %%z: Tensor[(3), int64], %%o: Tensor[(3), int64]) {\n",
                  rows);
    control_keep(g, CONTROL_ROWS, "%x");
    control_keep(g, CONTROL_CACHES, "%cache");
    control_keep(g, CONTROL_INTS, "%k");
    control_keep(g, CONTROL_INTS, "%t");
    control_keep(g, CONTROL_BOOLS, "%b");
    control_lines(g, 1 + control_below(g, 2));
    if (control_below(g, 2))
        control_branch(g);
    else
        control_loop_line(g);
    control_lines(g, 1);
    for (int kind = 0; kind < CONTROL_BOOLS; kind++)
        control_show(g, g->now.name[kind][g->now.n[kind] - 1]);
    tn_buf_str(&g->text, "  (");
    for (int k = 0; k < g->n_result; k++)
        tn_buf_printf(&g->text, "%s%s", k ? ", " : "", g->result[k]);
    tn_buf_str(&g->text, ")\n}\n");
}

#endif
