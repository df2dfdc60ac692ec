/* Picks: maps from names to values, their text, and the one call by which generators ask. Maps have a handful of
 * entries, so they are searched from one end to the other. */
#include "schedule/space.h"

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

tn_picks tn_picks_of(const tn_sched *s, tn_arena *arena)
{
    tn_picks p = {0};
    for (uint32_t i = 0; i < s->n_pick; i++)
        tn_picks_set(&p, arena, s->pick[i].name, s->pick[i].candidate[s->pick[i].index]);
    return p;
}

const char *tn_picks_unused(const tn_picks *p, const tn_sched *s)
{
    for (uint32_t i = 0; p && i < p->n; i++) {
        bool asked = false;
        for (uint32_t k = 0; k < s->n_pick && !asked; k++)
            asked = strcmp(s->pick[k].name, p->at[i].name) == 0;
        if (!asked)
            return p->at[i].name;
    }
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

static uint32_t place_of(uint32_t n, const tn_choice candidate[], const tn_choice *value)
{
    uint32_t i = 0;
    while (i < n && !same_choice(&candidate[i], value))
        i++;
    return i;
}

static void record(tn_sched *s, const tn_pick *p)
{
    if (s->n_pick == s->cap_pick) {
        tn_pick *at = TN_NEW_N(s->arena, tn_pick, s->cap_pick = s->cap_pick ? 2 * s->cap_pick : 8);
        if (s->n_pick)
            memcpy(at, s->pick, s->n_pick * sizeof *at);
        s->pick = at;
    }
    s->pick[s->n_pick] = *p;
    s->pick[s->n_pick].name = tn_arena_strdup(s->arena, p->name);
    s->pick[s->n_pick++].candidate = tn_arena_copy(s->arena, p->candidate, p->n * sizeof *p->candidate, 8);
}

tn_verdict tn_pick_do(tn_sched *s, const char *name, uint32_t n, const tn_choice candidate[], uint32_t *out)
{
    const tn_choice *value = tn_picks_find(s->given, name);
    TN_ASSERT(n > 0);
    if (s->fixed && s->fixed >> tn_pick_part(name) & 1)
        n = 1;
    for (uint32_t i = 0; i < s->n_pick && !value; i++)
        if (strcmp(s->pick[i].name, name) == 0)
            value = &s->pick[i].candidate[s->pick[i].index];
    *out = value                                   ? place_of(n, candidate, value)
           : s->given && s->given->random && n > 1 ? (uint32_t)tn_rng_below(s->given->random, n)
                                                   : 0;
    if (*out == n) {
        *out = 0;
        s->refused = tn_arena_strdup(s->arena, name);
        return TN_REJECT_PICK;
    }
    for (uint32_t i = 0; i < s->n_pick; i++)
        if (strcmp(s->pick[i].name, name) == 0)
            return TN_DONE;
    if (n > 1)
        record(s, &(tn_pick){name, n, *out, candidate});
    return TN_DONE;
}
