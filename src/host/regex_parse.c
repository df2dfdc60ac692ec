/* Reads a pattern and writes its program in one pass. A program is instructions one after the other; what is
 * repeated or one of two is moved to make room for the instruction in front of it, whose targets inside move
 * too. */
#include "host/regex_impl.h"

#include "host/unicode.h"

#include <string.h>

bool regex_refuse(const regex_parser *p, const char *what)
{
    (void)tnh_fail(p->h, TNR_E_ARG, "the regular expression has %s at byte %lld: %.100s", what,
                   (long long)(p->at - p->begin), p->begin);
    return false;
}

bool regex_take(regex_parser *p, int32_t *out)
{
    if (p->at >= p->end)
        return regex_refuse(p, "an end where a character is missing");
    *out = tnh_code_next(&p->at, p->end);
    return *out != TNH_NO_CODE || regex_refuse(p, "a byte that is not UTF-8");
}

static bool next_is(const regex_parser *p, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

static bool skip(regex_parser *p, const char *text)
{
    bool is = next_is(p, text);
    p->at += is ? strlen(text) : 0;
    return is;
}

/* ---- writing the program ---- */

static bool reserve(regex_parser *p, uint32_t n)
{
    tnh_regex *r = p->r;
    if (n > REGEX_PROGRAM - r->n)
        return regex_refuse(p, "too many repetitions");
    if (r->n + n <= r->room)
        return true;
    uint32_t room = 2 * r->room + n + 16;
    regex_inst *inst = tnh_new(p->h, room, sizeof *inst);
    if (!inst)
        return false;
    if (r->n)
        memcpy(inst, r->inst, r->n * sizeof *inst);
    r->inst = inst;
    r->room = room;
    return true;
}

static bool emit(regex_parser *p, enum regex_op op, uint32_t x, uint32_t y)
{
    if (!reserve(p, 1))
        return false;
    p->r->inst[p->r->n++] = (regex_inst){op, x, y};
    return true;
}

/* Targets of instructions [from, to), which were made for a place `by` before, move with them. */
static void move_targets(tnh_regex *r, uint32_t from, uint32_t to, uint32_t by)
{
    for (uint32_t i = from; i < to; i++) {
        regex_inst *in = &r->inst[i];
        if (in->op == REGEX_SPLIT || in->op == REGEX_JUMP)
            in->x += by;
        if (in->op == REGEX_SPLIT)
            in->y += by;
    }
}

/* An instruction in front of those from `at` on. */
static bool insert(regex_parser *p, uint32_t at, regex_inst in)
{
    tnh_regex *r = p->r;
    if (!reserve(p, 1))
        return false;
    memmove(&r->inst[at + 1], &r->inst[at], (r->n - at) * sizeof in);
    r->n++;
    move_targets(r, at + 1, r->n, 1);
    r->inst[at] = in;
    return true;
}

/* Instructions [from, from + n) once more, at the end. */
static bool repeat(regex_parser *p, uint32_t from, uint32_t n)
{
    tnh_regex *r = p->r;
    if (!reserve(p, n))
        return false;
    memcpy(&r->inst[r->n], &r->inst[from], n * sizeof *r->inst);
    move_targets(r, r->n, r->n + n, r->n - from);
    r->n += n;
    return true;
}

static bool emit_class(regex_parser *p, const regex_class *c)
{
    tnh_regex *r = p->r;
    if (r->n_class == r->class_room) {
        uint32_t room = r->class_room ? 2 * r->class_room : 8;
        regex_class *class = tnh_new(p->h, room, sizeof *class);
        if (!class)
            return false;
        if (r->n_class)
            memcpy(class, r->class, r->n_class * sizeof *class);
        r->class = class;
        r->class_room = room;
    }
    r->class[r->n_class] = *c;
    r->class[r->n_class].fold = p->flags & REGEX_FOLD;
    return emit(p, REGEX_CHARACTERS, r->n_class++, 0);
}

static bool emit_character(regex_parser *p, int32_t code)
{
    regex_class c = {0};
    code = p->flags & REGEX_FOLD ? tnh_code_lower(tnh_code_upper(code)) : code;
    return regex_class_add(p->h, &c, code, code) && emit_class(p, &c);
}

/* ---- escapes ---- */

static int digit(char c, int base)
{
    int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
    return d < base ? d : -1;
}

/* x7F or x{10FFFF}, behind the x. */
static bool read_hexadecimal(regex_parser *p, int32_t *out)
{
    bool braces = skip(p, "{");
    int32_t v = 0, n = 0;
    for (; p->at < p->end && digit(*p->at, 16) >= 0 && (braces || n < 2) && v <= TNH_MAX_CODE; n++)
        v = 16 * v + digit(*p->at++, 16);
    if (v > TNH_MAX_CODE || n < (braces ? 1 : 2) || (braces && !skip(p, "}")))
        return regex_refuse(p, "a number of a character that is not one");
    *out = v;
    return true;
}

/* A number that begins with 0 or has two digits; others refer to groups, which full matches do not know. */
static bool read_octal(regex_parser *p, int32_t first, int32_t *out)
{
    if (first != '0' && (p->at >= p->end || digit(*p->at, 8) < 0))
        return regex_refuse(p, "a reference to a group, which is not supported");
    *out = first - '0';
    for (int n = 1; n < 3 && p->at < p->end && digit(*p->at, 8) >= 0; n++)
        *out = 8 * *out + digit(*p->at++, 8);
    return true;
}

bool regex_read_escape(regex_parser *p, int32_t *out)
{
    static const char from[] = "aftnrv", to[] = "\a\f\t\n\r\v";
    int32_t c;
    if (!regex_take(p, &c))
        return false;
    const char *known = c > 0 && c < 0x80 ? strchr(from, c) : NULL;
    if (c >= '0' && c <= '7')
        return read_octal(p, c, out);
    if (c == 'x')
        return read_hexadecimal(p, out);
    *out = known ? to[known - from] : c;
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '8' || c == '9';
    return known || !(letter || c == '_' || c >= 0x80) || regex_refuse(p, "an escape that is not known");
}

/* Qabc\E: characters as they are. The last one begins at *from, because it alone is repeated. */
static bool read_quoted(regex_parser *p, uint32_t *from)
{
    bool ok = true;
    while (ok && p->at < p->end && !next_is(p, "\\E")) {
        int32_t c;
        *from = p->r->n;
        ok = regex_take(p, &c) && emit_character(p, c);
    }
    (void)skip(p, "\\E");
    return ok;
}

static bool read_backslash(regex_parser *p, uint32_t *from, bool *can_repeat)
{
    static const struct {
        const char *text;
        enum regex_place place;
    } places[] = {{"A", REGEX_TEXT_BEGIN},
                  {"z", REGEX_TEXT_END},
                  {"b", REGEX_WORD_BOUNDARY},
                  {"B", REGEX_NO_WORD_BOUNDARY}};
    regex_class c = {0};
    bool found;
    int32_t code;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (skip(p, places[i].text))
            return emit(p, REGEX_ASSERT, places[i].place, 0);
    if (skip(p, "Q")) {
        uint32_t before = p->r->n;
        bool ok = read_quoted(p, from);
        *can_repeat = p->r->n > before;
        return ok;
    }
    if (!regex_read_set(p, &c, &found))
        return false;
    if (found)
        return emit_class(p, &c);
    return regex_read_escape(p, &code) && emit_character(p, code);
}

/* ---- groups ---- */

static bool read_alternatives(regex_parser *p);

/* i, m, s, U and a minus, up to a : or ); *out_group: a group follows. */
static bool read_flags(regex_parser *p, bool *out_group)
{
    static const char letters[] = "imsU";
    static const unsigned flag[] = {REGEX_FOLD, REGEX_MULTILINE, REGEX_DOT_ALL, 0};
    bool minus = false, empty = true;
    for (; p->at < p->end && *p->at != ':' && *p->at != ')'; p->at++) {
        const char *found = *p->at ? strchr(letters, *p->at) : NULL;
        if (*p->at == '-' && !minus)
            minus = empty = true;
        else if (!found)
            return regex_refuse(p, "a flag that is not known");
        else if (minus)
            p->flags &= ~flag[found - letters];
        else
            p->flags |= flag[found - letters];
        empty = empty && !found;
    }
    if (p->at >= p->end || empty)
        return regex_refuse(p, "flags without an end");
    *out_group = *p->at++ == ':';
    return true;
}

/* P<name> or <name>. */
static bool read_name(regex_parser *p)
{
    const char *end = memchr(p->at, '>', (size_t)(p->end - p->at));
    bool ok = end && end > p->at;
    for (; ok && p->at < end; p->at++)
        ok = digit(*p->at, 10) >= 0 || *p->at == '_' || ((*p->at | 32) >= 'a' && (*p->at | 32) <= 'z');
    p->at += ok;
    return ok || regex_refuse(p, "a group whose name is not one");
}

static bool read_group(regex_parser *p, bool *can_repeat)
{
    unsigned flags = p->flags;
    bool group = true, ok = true;
    if (skip(p, "?P<") || (next_is(p, "?<") && !next_is(p, "?<=") && !next_is(p, "?<!") && skip(p, "?<")))
        ok = read_name(p);
    else if (skip(p, "?:"))
        ok = true;
    else if (skip(p, "?"))
        ok = read_flags(p, &group);
    if (!ok || !group) {
        *can_repeat = false;
        return ok;
    }
    if (++p->depth > REGEX_DEPTH)
        return regex_refuse(p, "groups inside each other that are too many");
    if (!read_alternatives(p))
        return false;
    p->depth--;
    p->flags = flags;
    return skip(p, ")") || regex_refuse(p, "a group that is not closed");
}

/* ---- sequences ---- */

static bool read_atom(regex_parser *p, uint32_t *from, bool *can_repeat)
{
    regex_class c = {0};
    int32_t code;
    bool lines = p->flags & REGEX_MULTILINE;
    if (skip(p, "("))
        return read_group(p, can_repeat);
    if (skip(p, "["))
        return regex_read_brackets(p, &c) && emit_class(p, &c);
    if (skip(p, "."))
        return (p->flags & REGEX_DOT_ALL ? regex_class_add(p->h, &c, 0, TNH_MAX_CODE)
                                         : regex_class_add(p->h, &c, 0, '\n' - 1) &&
                                               regex_class_add(p->h, &c, '\n' + 1, TNH_MAX_CODE)) &&
               emit_class(p, &c);
    if (skip(p, "^"))
        return emit(p, REGEX_ASSERT, lines ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN, 0);
    if (skip(p, "$"))
        return emit(p, REGEX_ASSERT, lines ? REGEX_LINE_END : REGEX_TEXT_END, 0);
    if (skip(p, "\\"))
        return read_backslash(p, from, can_repeat);
    if (p->at < p->end && strchr("*+?", *p->at))
        return regex_refuse(p, "a repetition of nothing");
    return regex_take(p, &code) && emit_character(p, code);
}

enum { MANY = 10000 };

/* A number, or one above MANY; -1: there is none. */
static int read_number(regex_parser *p)
{
    int v = -1;
    for (; p->at < p->end && digit(*p->at, 10) >= 0; p->at++)
        v = v < 0 ? digit(*p->at, 10) : v < MANY ? 10 * v + digit(*p->at, 10) : v;
    return v;
}

/* {n}, {n,}, {n,m}; most -1: without end. False: it is something else, which stands for itself. */
static bool read_counts(regex_parser *p, int *least, int *most)
{
    const char *from = p->at;
    bool ok = skip(p, "{") && (*least = read_number(p)) >= 0;
    *most = *least;
    if (ok && skip(p, ","))
        *most = next_is(p, "}") ? -1 : read_number(p);
    ok = ok && skip(p, "}") && (*most >= 0 || p->at[-2] == ',');
    if (!ok)
        p->at = from;
    return ok;
}

static bool read_repetition(regex_parser *p, int *least, int *most)
{
    bool star = next_is(p, "*"), plus = next_is(p, "+");
    if (star || plus || next_is(p, "?")) {
        *most = star || plus ? -1 : 1;
        *least = plus;
        p->at++;
        return true;
    }
    return read_counts(p, least, most);
}

/* Once more, or on; a lazy repetition prefers the latter. */
static regex_inst choice(uint32_t more, uint32_t on, bool lazy)
{
    return (regex_inst){REGEX_SPLIT, lazy ? on : more, lazy ? more : on};
}

/* Instructions from `from` on, n times and more: x{2,4} is x x (x (x)?)?, x{2,} is x x x*. */
static bool emit_repetition(regex_parser *p, uint32_t from, int least, int most, bool lazy)
{
    tnh_regex *r = p->r;
    uint32_t n = r->n - from;
    bool ok = true;
    if (least > REGEX_REPEAT || most > REGEX_REPEAT || (most >= 0 && most < least))
        return regex_refuse(p, "a number of repetitions that is not valid");
    if (most < 0 && least > 0) { /* the last one again and again */
        for (int i = 1; i < least && ok; i++)
            ok = repeat(p, from, n);
        const regex_inst again = choice(r->n - n, r->n + 1, lazy);
        return ok && emit(p, again.op, again.x, again.y);
    }
    if (most < 0)
        return insert(p, from, choice(from + 1, from + n + 2, lazy)) && emit(p, REGEX_JUMP, from, 0);
    if (most == 0) {
        r->n = from;
        return true;
    }
    for (int i = 1; i < most && ok; i++)
        ok = repeat(p, from, n);
    for (int i = most; i > least && ok; i--) /* from the last on: what is inserted moves what is behind */
        ok =
            insert(p, from + (uint32_t)(i - 1) * n, choice(from + (uint32_t)(i - 1) * n + 1, r->n + 1, lazy));
    return ok;
}

static bool read_sequence(regex_parser *p)
{
    while (p->at < p->end && *p->at != '|' && *p->at != ')') {
        uint32_t from = p->r->n;
        int least, most;
        bool can_repeat = true;
        if (!read_atom(p, &from, &can_repeat))
            return false;
        if (!can_repeat || !read_repetition(p, &least, &most))
            continue;
        const bool lazy = skip(p, "?");
        if (!emit_repetition(p, from, least, most, lazy))
            return false;
        if (read_repetition(p, &least, &most))
            return regex_refuse(p, "a repetition of a repetition");
    }
    return true;
}

/* a|b|c: split a', jump end, split b', ... Each jump's target is filled in when the end is known. */
static bool read_alternatives(regex_parser *p)
{
    tnh_regex *r = p->r;
    uint32_t from = r->n, jumps = 0; /* a chain of jumps through their targets; 0: its end */
    for (;;) {
        if (!read_sequence(p))
            return false;
        if (!skip(p, "|"))
            break;
        if (!insert(p, from, (regex_inst){REGEX_SPLIT, from + 1, r->n + 2}) ||
            !emit(p, REGEX_ASSERT, UINT32_MAX, jumps))
            return false;
        jumps = r->n;
        from = r->n;
    }
    while (jumps) {
        regex_inst *in = &r->inst[jumps - 1];
        jumps = in->y;
        *in = (regex_inst){REGEX_JUMP, r->n, 0};
    }
    return true;
}

tnh_regex *tnh_regex_new(tnh_call *h, tnh_text pattern)
{
    tnh_regex *r = tnh_new(h, 1, sizeof *r);
    char *text = tnh_new(h, pattern.n + 1, 1); /* with a 0, for messages */
    if (!r || !text)
        return NULL;
    if (pattern.n)
        memcpy(text, pattern.at, pattern.n);
    regex_parser p = {.h = h, .r = r, .begin = text, .at = text, .end = text + pattern.n};
    if (!read_alternatives(&p) || (p.at < p.end && !regex_refuse(&p, "a bracket that closes nothing")) ||
        !emit(&p, REGEX_MATCH, 0, 0))
        return NULL;
    r->seen = tnh_new(h, r->n, sizeof *r->seen);
    for (int i = 0; i < 3 && r->seen; i++)
        if (!(r->set[i] = tnh_new(h, r->n + 2, sizeof *r->set[i]))) /* follow() has one or two more */
            return NULL;
    return r->seen ? r : NULL;
}
