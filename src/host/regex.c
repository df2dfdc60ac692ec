/* Runs patterns: all instructions that can be reached are followed at once, character by character (Thompson
 * 1968), so the time is at most that of pattern times text. */
#include "host/regex_impl.h"

#include "host/unicode.h"

typedef struct place {
    int32_t before, after; /* characters beside it; TNH_NO_CODE: none */
    bool begin, end;       /* of the text */
} place;

static bool is_word(int32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool holds(enum regex_place what, const place *p)
{
    switch (what) {
    case REGEX_TEXT_BEGIN: return p->begin;
    case REGEX_TEXT_END: return p->end;
    case REGEX_LINE_BEGIN: return p->begin || p->before == '\n';
    case REGEX_LINE_END: return p->end || p->after == '\n';
    case REGEX_WORD_BOUNDARY: return is_word(p->before) != is_word(p->after);
    default: return is_word(p->before) == is_word(p->after);
    }
}

/* What is reached from `at` without a character: added to the n of a set, what is preferred first. */
static uint32_t follow(tnh_regex *r, uint32_t *set, uint32_t n, uint32_t at, const place *p)
{
    uint32_t *stack = r->set[2], todo = 0;
    stack[todo++] = at;
    while (todo) {
        at = stack[--todo];
        if (r->seen[at] == r->step)
            continue;
        r->seen[at] = r->step; /* each once, and gives at most two: there are never more than r->n + 1 */
        const regex_inst *in = &r->inst[at];
        if (in->op == REGEX_SPLIT)
            stack[todo++] = in->y;
        if (in->op == REGEX_JUMP || in->op == REGEX_SPLIT)
            stack[todo++] = in->x;
        else if (in->op == REGEX_ASSERT && holds((enum regex_place)in->x, p))
            stack[todo++] = at + 1;
        else if (in->op == REGEX_CHARACTERS || in->op == REGEX_MATCH)
            set[n++] = at;
    }
    return n;
}

/* Runs the program from `at` on, which is inside of text or at its end: the end of the longest match that begins there,
 * or of the preferred one. NULL: none does. */
static const char *run(tnh_regex *r, tnh_text text, const char *at, int32_t before, bool longest)
{
    const char *end = text.at + text.n, *ahead = at, *found = NULL;
    uint32_t *now = r->set[0], *next = r->set[1], n_next;
    place p = {before, TNH_NO_CODE, at == text.at, at == end};
    if (ahead < end)
        p.after = tnh_code_next(&ahead, end);
    r->step++;
    uint32_t n = follow(r, now, 0, 0, &p);
    for (;; n = n_next) {
        for (uint32_t i = 0; i < n; i++)
            if (r->inst[now[i]].op == REGEX_MATCH) {
                found = at;
                n = longest ? n : i; /* what follows is not preferred to it */
            }
        if (at == end || n == 0)
            return found;
        int32_t code = p.after;
        at = ahead;
        p = (place){code, TNH_NO_CODE, false, at == end};
        if (ahead < end)
            p.after = tnh_code_next(&ahead, end);
        r->step++;
        n_next = 0;
        for (uint32_t i = 0; i < n && code != TNH_NO_CODE; i++) {
            const regex_inst *in = &r->inst[now[i]];
            if (in->op == REGEX_CHARACTERS && regex_class_has(&r->class[in->x], code))
                n_next = follow(r, next, n_next, now[i] + 1, &p);
        }
        uint32_t *swap = now;
        now = next;
        next = swap;
    }
}

bool tnh_regex_matches(tnh_regex *r, tnh_text text)
{
    return run(r, text, text.at, TNH_NO_CODE, true) == text.at + text.n;
}

bool tnh_regex_search(tnh_regex *r, tnh_text text, size_t from, bool longest, tnh_text *out)
{
    const char *at = text.at + from, *end = text.at + text.n, *last = at;
    int32_t before = TNH_NO_CODE;
    while (last > text.at && at - last < 4 && (last == at || ((uint8_t)*last & 0xc0) == 0x80))
        last--;
    while (last < at)
        before = tnh_code_next(&last, end);
    for (;; before = tnh_code_next(&at, end)) {
        const char *stop = run(r, text, at, before, longest);
        if (stop)
            *out = (tnh_text){at, (size_t)(stop - at)};
        if (stop || at == end)
            return stop != NULL;
    }
}
