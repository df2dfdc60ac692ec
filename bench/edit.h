#ifndef TENON_BENCH_EDIT_H
#define TENON_BENCH_EDIT_H
/* Traces and picks with other numbers: factors that do not divide, of one iteration, of all and one more, widths,
 * distances, layouts and tails, as somebody might write who edits a schedule by hand. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { EDIT_MAX_SPOTS = 1024, EDIT_MAX_EDITS = 3 };

/* What may be edited: a number, or the word behind `tail=`. */
typedef struct edit_spot {
    size_t at, n;
} edit_spot;

static inline bool edit_is_digit(char c) { return isdigit((unsigned char)c); }

/* The spots of the word in text[at, end): a number, or behind `=` every one, as in layout=NK16n and decision=4x16. */
static inline size_t edit_word_spots(const char *text, size_t at, size_t end, size_t n, edit_spot spot[])
{
    static const char tail[] = "tail=";
    const char *eq = memchr(text + at, '=', end - at);
    if (strncmp(text + at, tail, sizeof tail - 1) == 0) {
        at += sizeof tail - 1;
        spot[n++] = (edit_spot){at, end - at};
        return n;
    }
    if (!eq && !edit_is_digit(text[at + (text[at] == '-')]))
        return n; /* a name */
    for (size_t i = eq ? (size_t)(eq - text) : at; i < end && n < EDIT_MAX_SPOTS; i++) {
        size_t from = i;
        if (text[i] == '-')
            i++;
        while (i < end && edit_is_digit(text[i]))
            i++;
        if (i > from && edit_is_digit(text[i - 1]))
            spot[n++] = (edit_spot){from, i - from};
    }
    return n;
}

static inline size_t edit_spots(const char *text, edit_spot spot[EDIT_MAX_SPOTS])
{
    size_t n = 0;
    for (size_t i = 0; text[i] && n < EDIT_MAX_SPOTS;) {
        size_t word = strcspn(text + i, " \n");
        if (text[i] == '#')
            word = strcspn(text + i, "\n");
        else if (text[i] == '"')
            word = 1 + strcspn(text + i + 1, "\"") + (strchr(text + i + 1, '"') != NULL);
        else if (word)
            n = edit_word_spots(text, i, i + word, n, spot);
        i += word ? word : 1;
    }
    return n;
}

/* extent: what a loop of the function is long. */
static inline int64_t edit_number(int64_t old, int64_t extent, tn_rng *r)
{
    static const int64_t odd[] = {3, 5, 7, 11, 13, 17, 31}, none[] = {0, -1, INT32_MAX, INT64_MAX};
    if (tn_rng_below(r, 24) == 0)
        return none[tn_rng_below(r, sizeof none / sizeof *none)];
    switch (tn_rng_below(r, 8)) {
    case 0: return 1;
    case 1: return old + 1;
    case 2: return old - 1;
    case 3: return old * 2;
    case 4: return old / 2;
    case 5: return extent + (int64_t)tn_rng_below(r, 3) - 1;
    case 6: return odd[tn_rng_below(r, sizeof odd / sizeof *odd)];
    default: return 1 + (int64_t)tn_rng_below(r, 20);
    }
}

static inline void edit_print(const char *text, edit_spot s, int64_t extent, tn_rng *r, tn_buf *out)
{
    static const char *const tail[] = {"guard", "mask", "exact"};
    if (edit_is_digit(text[s.at + s.n - 1]))
        tn_buf_printf(out, "%lld", (long long)edit_number(strtoll(text + s.at, NULL, 10), extent, r));
    else
        tn_buf_str(out, tail[tn_rng_below(r, sizeof tail / sizeof *tail)]);
}

/* The trace, or the map of picks, with up to EDIT_MAX_EDITS other numbers. extent: of loops of the function;
 * n_extent > 0. NULL: it has no numbers. */
static inline const char *edit_numbers(const char *text, size_t n_extent, const int64_t extent[], tn_rng *r,
                                       tn_arena *arena)
{
    edit_spot spot[EDIT_MAX_SPOTS];
    size_t n = edit_spots(text, spot), from = 0;
    bool chosen[EDIT_MAX_SPOTS] = {0};
    tn_buf out = {0};
    if (n == 0)
        return NULL;
    for (uint64_t k = 1 + tn_rng_below(r, EDIT_MAX_EDITS); k > 0; k--)
        chosen[tn_rng_below(r, n)] = true;
    for (size_t i = 0; i < n; i++) {
        if (!chosen[i])
            continue;
        tn_buf_printf(&out, "%.*s", (int)(spot[i].at - from), text + from);
        edit_print(text, spot[i], extent[tn_rng_below(r, n_extent)], r, &out);
        from = spot[i].at + spot[i].n;
    }
    tn_buf_str(&out, text + from);
    const char *edited = tn_arena_strdup(arena, tn_buf_cstr(&out));
    tn_buf_deinit(&out);
    return edited;
}

#endif
