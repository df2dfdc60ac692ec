/* Picks: maps from names to values, their text, and the one call by which they are asked for. Maps of a
 * schedule have a handful of entries, so they are searched from one end to the other; those of a graph have an index
 * beside them (transform/pick.c). */
#include "base/picks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_choice(const tn_choice *a, const tn_choice *b)
{
    if (!a->word || !b->word)
        return !a->word && !b->word && a->number == b->number;
    return strcmp(a->word, b->word) == 0;
}

void tn_choice_print(const tn_choice *c, tn_buf *out)
{
    if (c->word)
        tn_buf_str(out, c->word);
    else
        tn_buf_printf(out, "%lld", (long long)c->number);
}

/* ---- maps ---- */

const tn_choice *tn_picks_find(const tn_picks *p, const char *name)
{
    for (uint32_t i = 0; p && i < p->n; i++)
        if (strcmp(p->at[i].name, name) == 0)
            return &p->at[i].value;
    return NULL;
}

void tn_picks_set(tn_picks *p, tn_arena *arena, const char *name, tn_choice value)
{
    tn_choice *known = (tn_choice *)(uintptr_t)tn_picks_find(p, name);
    if (known) {
        *known = value;
        return;
    }
    if (p->n == p->cap) {
        tn_pick_value *at = TN_NEW_N(arena, tn_pick_value, p->cap = p->cap ? 2 * p->cap : 8);
        if (p->n)
            memcpy(at, p->at, p->n * sizeof *at);
        p->at = at;
    }
    p->at[p->n++] = (tn_pick_value){name, value};
}

tn_picks tn_picks_copy(const tn_picks *p, tn_arena *to)
{
    tn_picks out = {0};
    for (uint32_t i = 0; i < p->n; i++) {
        tn_choice v = p->at[i].value;
        v.word = v.word ? tn_arena_strdup(to, v.word) : NULL;
        tn_picks_set(&out, to, tn_arena_strdup(to, p->at[i].name), v);
    }
    return out;
}

tn_picks tn_picks_without(const tn_picks *p, const char *name, tn_arena *arena)
{
    tn_picks out = {.random = p->random};
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(p->at[i].name, name) != 0)
            tn_picks_set(&out, arena, p->at[i].name, p->at[i].value);
    return out;
}

tn_picks tn_picks_of(const tn_asked *a, tn_arena *arena)
{
    tn_picks p = {0};
    for (uint32_t i = 0; i < a->n; i++)
        tn_picks_set(&p, arena, a->at[i].name, a->at[i].candidate[a->at[i].index]);
    return p;
}

static const tn_pick *find(const tn_asked *a, const char *name)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i].name, name) == 0)
            return &a->at[i];
    return NULL;
}

const char *tn_picks_unused(const tn_picks *p, const tn_asked *a)
{
    for (uint32_t i = 0; p && i < p->n; i++)
        if (!find(a, p->at[i].name))
            return p->at[i].name;
    return NULL;
}

/* ---- text ---- */

void tn_picks_print(const tn_picks *p, tn_buf *out)
{
    for (uint32_t i = 0; i < p->n; i++) {
        tn_buf_printf(out, "%s = ", p->at[i].name);
        tn_choice_print(&p->at[i].value, out);
        tn_buf_char(out, '\n');
    }
}

/* Without blanks at both ends. */
static const char *trimmed(tn_arena *arena, const char *at, size_t n)
{
    while (n > 0 && isspace((unsigned char)at[0])) {
        at++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)at[n - 1]))
        n--;
    return tn_arena_strndup(arena, at, n);
}

static bool is_one_word(const char *s) { return *s && s[strcspn(s, " \t=")] == 0; }

bool tn_choice_parse(const char *word, tn_choice *out)
{
    if (!is_one_word(word))
        return false;
    char *end;
    int64_t number = strtoll(word, &end, 10);
    char again[24];
    snprintf(again, sizeof again, "%" PRId64, number);
    *out = *end == 0 && strcmp(word, again) == 0 ? (tn_choice){NULL, number} : (tn_choice){word, 0};
    return true;
}

static bool parse_line(const char *line, size_t n, tn_arena *arena, tn_picks *out)
{
    const char *comment = memchr(line, '#', n), *equals;
    n = comment ? (size_t)(comment - line) : n;
    equals = memchr(line, '=', n);
    if (!equals)
        return *trimmed(arena, line, n) == 0;
    const char *name = trimmed(arena, line, (size_t)(equals - line)),
               *value = trimmed(arena, equals + 1, (size_t)(line + n - equals) - 1);
    tn_choice choice;
    if (!is_one_word(name) || !tn_choice_parse(value, &choice) || tn_picks_find(out, name))
        return false;
    tn_picks_set(out, arena, name, choice);
    return true;
}

bool tn_picks_parse(const char *text, size_t n, tn_arena *arena, tn_picks *out, uint32_t *out_line)
{
    *out = (tn_picks){0};
    *out_line = 1;
    for (size_t i = 0; i < n; ++*out_line) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t k = end ? (size_t)(end - text) - i : n - i;
        if (!parse_line(text + i, k, arena, out))
            return false;
        i += k + 1;
    }
    return true;
}

/* ---- asking ---- */

uint32_t tn_choice_place(uint32_t n, const tn_choice candidate[], const tn_choice *value)
{
    uint32_t i = 0;
    while (i < n && !same_choice(&candidate[i], value))
        i++;
    return i;
}

void tn_asked_add(tn_asked *a, tn_arena *arena, const char *name, uint32_t n, const tn_choice candidate[],
                  uint32_t index)
{
    if (a->n == a->cap) {
        tn_pick *at = TN_NEW_N(arena, tn_pick, a->cap = a->cap ? 2 * a->cap : 8);
        if (a->n)
            memcpy(at, a->at, a->n * sizeof *at);
        a->at = at;
    }
    a->at[a->n++] = (tn_pick){tn_arena_strdup(arena, name), n, index,
                              tn_arena_copy(arena, candidate, n * sizeof *candidate, 8)};
}

bool tn_pick_ask(tn_asked *a, const tn_picks *given, tn_arena *arena, const char *name, uint32_t n,
                 const tn_choice candidate[], uint32_t *out)
{
    const tn_pick *known = find(a, name);
    const tn_choice *value = tn_picks_find(given, name);
    value = !value && known ? &known->candidate[known->index] : value;
    *out = value                             ? tn_choice_place(n, candidate, value)
           : given && given->random && n > 1 ? (uint32_t)tn_rng_below(given->random, n)
                                             : 0;
    if (*out == n) {
        *out = 0;
        a->refused = tn_arena_strdup(arena, name);
        return false;
    }
    if (!known && n > 1)
        tn_asked_add(a, arena, name, n, candidate, *out);
    return true;
}

void tn_pick_print(const tn_pick *p, tn_buf *out)
{
    tn_buf_printf(out, "%s = ", p->name);
    tn_choice_print(&p->candidate[p->index], out);
    tn_buf_str(out, "  # of");
    for (uint32_t i = 0; i < p->n; i++) {
        tn_buf_char(out, ' ');
        tn_choice_print(&p->candidate[i], out);
    }
    tn_buf_char(out, '\n');
}
