/* Text of traces: one step a line, `results = step operands arguments key=value`. Printing and replay are inverse. */
#include "schedule/sched_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Block names, the first argument, are quoted; words such as scopes are not. */
static void print_arg(const tn_sched *s, const tn_arg *a, bool first, tn_buf *out)
{
    tn_buf_char(out, ' ');
    if (a->value) {
        tn_buf_str(out, s->value_name[a->value - 1]);
        return;
    }
    if (a->key)
        tn_buf_printf(out, "%s=%s", a->key, a->s ? a->s : "");
    else if (a->s)
        tn_buf_printf(out, first ? "\"%s\"" : "%s", a->s);
    if (!a->s)
        tn_buf_printf(out, "%lld", (long long)a->i);
}

void tn_trace_print(const tn_sched *s, tn_buf *out)
{
    if (s->comment)
        tn_buf_printf(out, "# %s\n", s->comment);
    for (uint32_t i = 0; i < s->n_step; i++) {
        const tn_step *t = &s->step[i];
        for (int k = 0; k < t->nout; k++)
            tn_buf_printf(out, "%s%s", k ? " " : "", s->value_name[t->out[k]]);
        tn_buf_printf(out, "%s%s", t->nout ? " = " : "", tn_steps[t->kind].name);
        for (int k = 0; k < t->narg; k++)
            if (!t->arg[k].key && t->arg[k].s)
                print_arg(s, &t->arg[k], k == 0, out);
        for (int k = 0; k < t->nin; k++)
            tn_buf_printf(out, " %s", s->value_name[t->in[k]]);
        for (int k = 0; k < t->narg; k++)
            if (t->arg[k].key || !t->arg[k].s)
                print_arg(s, &t->arg[k], k == 0, out);
        tn_buf_char(out, '\n');
    }
}

/* ---- equality ---- */

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static bool same_step(const tn_step *a, const tn_step *b)
{
    bool same = a->kind == b->kind && a->nin == b->nin && a->narg == b->narg && a->nout == b->nout;
    for (uint16_t i = 0; same && i < a->nin; i++)
        same = a->in[i] == b->in[i];
    for (uint16_t i = 0; same && i < a->nout; i++)
        same = a->out[i] == b->out[i];
    for (uint16_t i = 0; same && i < a->narg; i++)
        same = a->arg[i].i == b->arg[i].i && a->arg[i].value == b->arg[i].value &&
               same_text(a->arg[i].s, b->arg[i].s) && same_text(a->arg[i].key, b->arg[i].key);
    return same;
}

bool tn_trace_same(const tn_sched *a, const tn_sched *b)
{
    bool same = a->n_step == b->n_step;
    for (uint32_t i = 0; same && i < a->n_step; i++)
        same = same_step(&a->step[i], &b->step[i]);
    return same;
}

enum { MAX_WORDS = 64 };
typedef struct {
    const char *at;
    size_t n;
    bool quoted;
} word;

/* Splits a line into words; `#` ends it; quoted words keep their inside. -1: unbalanced quote or too many. */
static int split_words(const char *line, size_t n, word out[MAX_WORDS])
{
    int k = 0;
    for (size_t i = 0; i < n;) {
        if (isspace((unsigned char)line[i])) {
            i++;
            continue;
        }
        if (line[i] == '#')
            break;
        if (k == MAX_WORDS)
            return -1;
        size_t from = i;
        if (line[i] == '"') {
            const char *end = memchr(line + i + 1, '"', n - i - 1);
            if (!end)
                return -1;
            out[k++] = (word){line + i + 1, (size_t)(end - line) - i - 1, true};
            i = (size_t)(end - line) + 1;
            continue;
        }
        while (i < n && !isspace((unsigned char)line[i]) && line[i] != '#')
            i++;
        out[k++] = (word){line + from, i - from, false};
    }
    return k;
}

static bool is_word(const word *w, const char *text)
{
    return !w->quoted && w->n == strlen(text) && memcmp(w->at, text, w->n) == 0;
}

static int find_value(const tn_sched *s, const word *w)
{
    for (uint32_t v = s->n_value; v-- > 0;)
        if ((s->loop[v] || s->number[v] != TN_NO_NUMBER) && strlen(s->value_name[v]) == w->n &&
            memcmp(s->value_name[v], w->at, w->n) == 0)
            return (int)v;
    return -1;
}

static bool read_int(const char *at, size_t n, int64_t *out)
{
    char text[24];
    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, at, n);
    text[n] = 0;
    char *end;
    *out = strtoll(text, &end, 10);
    return end == text + n;
}

/* Reads operands and arguments; what is neither a number, a string nor key=value names a value, or is a word. */
static tn_verdict read_operands(tn_sched *s, int n, const word *w, tn_step *t, tn_ref *in, tn_arg *arg)
{
    for (int i = 0; i < n; i++) {
        const char *eq = w[i].quoted ? NULL : memchr(w[i].at, '=', w[i].n);
        int64_t v;
        if (w[i].quoted) {
            arg[t->narg++] = (tn_arg){.s = tn_arena_strndup(s->arena, w[i].at, w[i].n)};
        } else if (eq) {
            size_t k = (size_t)(eq - w[i].at);
            tn_arg a = {.key = tn_arena_strndup(s->arena, w[i].at, k)};
            if (!read_int(eq + 1, w[i].n - k - 1, &a.i))
                a.s = tn_arena_strndup(s->arena, eq + 1, w[i].n - k - 1);
            arg[t->narg++] = a;
        } else if (read_int(w[i].at, w[i].n, &v)) {
            arg[t->narg++] = (tn_arg){.i = v};
        } else {
            int ref = find_value(s, &w[i]);
            if (ref >= 0 && s->loop[ref])
                in[t->nin++] = (tn_ref)ref;
            else if (ref >= 0)
                arg[t->narg++] = (tn_arg){.i = s->number[ref], .value = (tn_ref)(ref + 1)};
            else if (t->narg > 0 && t->arg[0].s) /* a word after a block name: a scope */
                arg[t->narg++] = (tn_arg){.s = tn_arena_strndup(s->arena, w[i].at, w[i].n)};
            else
                return TN_REJECT_NAME;
        }
    }
    return TN_DONE;
}

/* Names of values are letters, digits, `_` and `.`, not starting with a digit. */
static bool is_name(const word *w)
{
    bool ok = !w->quoted && w->n > 0 && w->n < 128 && !isdigit((unsigned char)w->at[0]);
    for (size_t i = 0; i < w->n && ok; i++)
        ok = isalnum((unsigned char)w->at[i]) || w->at[i] == '_' || w->at[i] == '.';
    return ok;
}

static tn_verdict replay_line(tn_sched *s, int n, const word *w)
{
    int eq = -1, kind = -1;
    for (int i = 0; i < n && eq < 0; i++)
        if (is_word(&w[i], "="))
            eq = i;
    const word *name = &w[eq + 1];
    if (eq + 1 >= n)
        return TN_REJECT_TEXT;
    for (int k = 0; k < TN_STEP_COUNT; k++)
        if (is_word(name, tn_steps[k].name))
            kind = k;
    if (kind < 0)
        return TN_REJECT_TEXT;
    tn_ref in[MAX_WORDS], out[MAX_WORDS];
    tn_arg arg[MAX_WORDS];
    const char *out_name[MAX_WORDS];
    for (int i = 0; i < eq; i++) {
        if (!is_name(&w[i]))
            return TN_REJECT_TEXT;
        out_name[i] = tn_arena_strndup(s->arena, w[i].at, w[i].n);
    }
    tn_step t = {.kind = (uint8_t)kind,
                 .in = in,
                 .arg = arg,
                 .out = out,
                 .nout = (uint16_t)(eq < 0 ? 0 : eq),
                 .out_name = out_name};
    tn_verdict v = read_operands(s, n - eq - 2, name + 1, &t, in, arg);
    return v == TN_DONE ? tn_sched_do(s, &t) : v;
}

tn_verdict tn_trace_replay(tn_sched *s, const char *text, size_t n, uint32_t *out_line)
{
    uint32_t line = 0;
    for (size_t i = 0; i < n;) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t len = end ? (size_t)(end - text) - i : n - i;
        word w[MAX_WORDS];
        int k = split_words(text + i, len, w);
        line++;
        tn_verdict v = k < 0 ? TN_REJECT_TEXT : k == 0 ? TN_DONE : replay_line(s, k, w);
        if (v != TN_DONE) {
            if (out_line)
                *out_line = line;
            return v;
        }
        i += len + 1;
    }
    return TN_DONE;
}
