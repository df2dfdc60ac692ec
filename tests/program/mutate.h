#ifndef TESTS_PROGRAM_MUTATE_H
#define TESTS_PROGRAM_MUTATE_H
/* Mutations of program texts that mostly still read: lines are deleted, repeated and moved; a word becomes another word
 * of its kind from the same text, an instruction another instruction, a number another number. */
#include "base/rng.h"
#include "program/program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MUTATE_ROOM = 1 << 16, MUTATE_MOST = 4096 };

typedef struct piece {
    size_t at, n;
} piece;

typedef struct mutation {
    char *text; /* MUTATE_ROOM */
    size_t n;
    tn_rng rng;
    piece piece[MUTATE_MOST]; /* lines, or words */
    uint32_t n_piece;
} mutation;

static void mutate_replace(mutation *m, piece of, const char *by, size_t n)
{
    char copy[1024];
    if (n > sizeof copy || m->n - of.n + n > MUTATE_ROOM)
        return;
    memcpy(copy, by, n);
    memmove(m->text + of.at + n, m->text + of.at + of.n, m->n - of.at - of.n);
    memcpy(m->text + of.at, copy, n);
    m->n = m->n - of.n + n;
}

static void mutate_find_lines(mutation *m)
{
    m->n_piece = 0;
    for (size_t at = 0; at < m->n && m->n_piece < MUTATE_MOST;) {
        const char *end = memchr(m->text + at, '\n', m->n - at);
        size_t n = end ? (size_t)(end - m->text) - at + 1 : m->n - at;
        m->piece[m->n_piece++] = (piece){at, n};
        at += n;
    }
}

static bool mutate_is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '@'; }

static void mutate_find_words(mutation *m)
{
    m->n_piece = 0;
    for (size_t at = 0; at < m->n && m->n_piece < MUTATE_MOST;) {
        size_t n = 0;
        while (at + n < m->n && mutate_is_word(m->text[at + n]))
            n++;
        if (n)
            m->piece[m->n_piece++] = (piece){at, n};
        at += n ? n : 1;
    }
}

enum mutate_line_kind { MUTATE_OTHER, MUTATE_DECLARATION, MUTATE_LABEL, MUTATE_INSTRUCTION };

/* Instructions are indented by four blanks, declarations and labels by two. */
static enum mutate_line_kind mutate_line_kind(const mutation *m, piece p)
{
    const char *s = m->text + p.at;
    if (p.n >= 4 && memcmp(s, "    ", 4) == 0)
        return MUTATE_INSTRUCTION;
    if (p.n < 4 || memcmp(s, "  ", 2) != 0)
        return MUTATE_OTHER;
    return s[p.n - 2] == ':' ? MUTATE_LABEL : MUTATE_DECLARATION;
}

/* A slot, function, number, instruction, type, label or anything else. */
static char mutate_kind(const mutation *m, piece p)
{
    char c = m->text[p.at];
    if (c == '%' || c == '@')
        return c;
    if (isdigit((unsigned char)c))
        return '0';
    if (p.at >= 4 && memcmp(m->text + p.at - 4, "    ", 4) == 0)
        return 'i';
    return isupper((unsigned char)c)                                    ? 'L'
           : p.n > 1 && isdigit((unsigned char)m->text[p.at + p.n - 1]) ? 't'
                                                                        : 'a';
}

static void mutate_exchange(mutation *m, piece a, piece b)
{
    char line[1024];
    if (a.at > b.at) {
        piece c = a;
        a = b;
        b = c;
    }
    memcpy(line, m->text + b.at, b.n);
    mutate_replace(m, b, m->text + a.at, a.n);
    mutate_replace(m, a, line, b.n);
}

/* A line is deleted or changes its place with another one; an instruction is repeated, or written over another one. */
static void mutate_line(mutation *m)
{
    mutate_find_lines(m);
    for (int tries = 0; m->n_piece && tries < 20; tries++) {
        piece a = m->piece[tn_rng_below(&m->rng, m->n_piece)],
              b = m->piece[tn_rng_below(&m->rng, m->n_piece)];
        enum mutate_line_kind of = mutate_line_kind(m, a), to = mutate_line_kind(m, b);
        bool instruction = of == MUTATE_INSTRUCTION && to == of;
        uint64_t how = tn_rng_below(&m->rng, instruction ? 5 : 3);
        if (a.n > 1000 || b.n > 1000 || a.at == b.at ||
            (of != to && of + to != MUTATE_LABEL + MUTATE_INSTRUCTION))
            continue;
        if (how == 0)
            mutate_replace(m, a, "", 0);
        else if (how < 3)
            mutate_exchange(m, a, b);
        else
            mutate_replace(m, how == 3 ? b : (piece){b.at, 0}, m->text + a.at, a.n);
        return;
    }
}

static void mutate_number(mutation *m, piece p)
{
    static const char *const number[] = {"0",  "1",  "2",  "3",  "4",   "5",   "8",
                                         "12", "16", "63", "64", "128", "1000"};
    const char *s = number[tn_rng_below(&m->rng, sizeof number / sizeof *number)];
    mutate_replace(m, p, s, strlen(s));
}

static void mutate_instruction(mutation *m, piece p)
{
    char name[32];
    const char *s = tn_inst_info_get((uint32_t)tn_rng_below(&m->rng, TN_INST_COUNT))->name;
    size_t n = strlen(s);
    for (size_t i = 0; i < n && i < sizeof name; i++)
        name[i] = (char)tolower((unsigned char)s[i]);
    mutate_replace(m, p, name, n);
}

static void mutate_word(mutation *m)
{
    mutate_find_words(m);
    if (!m->n_piece)
        return;
    piece p = m->piece[tn_rng_below(&m->rng, m->n_piece)];
    char kind = mutate_kind(m, p);
    if (kind == '0' && tn_rng_below(&m->rng, 2)) {
        mutate_number(m, p);
        return;
    }
    if (kind == 'i' && tn_rng_below(&m->rng, 4) == 0) {
        mutate_instruction(m, p);
        return;
    }
    for (int tries = 0; tries < 20; tries++) {
        piece q = m->piece[tn_rng_below(&m->rng, m->n_piece)];
        if (mutate_kind(m, q) != kind)
            continue;
        mutate_replace(m, p, m->text + q.at, q.n);
        return;
    }
}

/* A few mutations of the text of n bytes in place; the new length, at most `most`. */
static size_t mutate_text(char *text, size_t n, size_t most, uint64_t seed)
{
    static char room[MUTATE_ROOM];
    static mutation m;
    m.text = room;
    m.n = n < MUTATE_ROOM ? n : MUTATE_ROOM;
    m.rng = (tn_rng){seed};
    memcpy(room, text, m.n);
    for (uint64_t k = 1 + tn_rng_below(&m.rng, 4); k > 0; k--)
        if (tn_rng_below(&m.rng, 2))
            mutate_line(&m);
        else
            mutate_word(&m);
    n = m.n < most ? m.n : most;
    memcpy(text, room, n);
    return n;
}

#endif
