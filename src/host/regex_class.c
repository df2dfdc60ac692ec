/* Classes of characters in patterns: \d, \pL, \p{Greek}, [a-z[:alpha:]]. */
#include "host/regex_impl.h"

#include "host/unicode.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- membership ---- */

static bool in_range(const regex_range *r, int32_t code)
{
    if (r->first >= 0)
        return (code >= r->first && code <= r->last) != r->outside;
    return (strncmp(r->category, tnh_code_category(code), strlen(r->category)) == 0) != r->outside;
}

static bool in_any(const regex_class *c, int32_t code)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (in_range(&c->range[i], code))
            return true;
    return false;
}

/* Without regard to case, what is a member is asked for all cases of the character. */
bool regex_class_has(const regex_class *c, int32_t code)
{
    bool has = in_any(c, code);
    if (c->fold && !has) {
        int32_t upper = tnh_code_upper(code), lower = tnh_code_lower(upper);
        has = in_any(c, upper) || in_any(c, lower) || in_any(c, tnh_code_lower(code));
    }
    return has != c->outside;
}

static bool add(tnh_call *h, regex_class *c, regex_range r)
{
    if (c->n == c->room) {
        uint32_t room = c->room ? 2 * c->room : 4;
        regex_range *range = tnh_new(h, room, sizeof *range);
        if (!range)
            return false;
        if (c->n)
            memcpy(range, c->range, c->n * sizeof *range);
        c->range = range;
        c->room = room;
    }
    c->range[c->n++] = r;
    return true;
}

bool regex_class_add(tnh_call *h, regex_class *c, int32_t first, int32_t last)
{
    return add(h, c, (regex_range){.first = first, .last = last});
}

/* ---- named classes ---- */

typedef struct {
    const char *name;
    const char *ranges; /* pairs of first and last */
} named;

static const named escaped[] = {{"d", "09"}, {"s", "\t\n\f\r  "}, {"w", "09AZ__az"}};
static const named posix[] = {{"alnum", "09AZaz"},
                              {"alpha", "AZaz"},
                              {"ascii", "\001\177"},
                              {"blank", "\t\t  "},
                              {"cntrl", "\001\037\177\177"},
                              {"digit", "09"},
                              {"graph", "!~"},
                              {"lower", "az"},
                              {"print", " ~"},
                              {"punct", "!/:@[`{~"},
                              {"space", "\t\r  "},
                              {"upper", "AZ"},
                              {"word", "09AZ__az"},
                              {"xdigit", "09AFaf"}};

/* Codes 0 to 1 are one range: texts of the table end at a 0. */
static bool is_low(const char *ranges) { return *ranges == '\001'; }

/* The named ranges, or, turned round, the gaps between them. */
static bool add_named(tnh_call *h, regex_class *c, const char *ranges, bool outside)
{
    int32_t next = 0;
    bool ok = true;
    for (const char *r = ranges; *r && ok; r += 2) {
        int32_t first = r == ranges && is_low(ranges) ? 0 : r[0];
        if (!outside)
            ok = regex_class_add(h, c, first, r[1]);
        else if (first > next)
            ok = regex_class_add(h, c, next, first - 1);
        next = r[1] + 1;
    }
    return ok && (!outside || regex_class_add(h, c, next, TNH_MAX_CODE));
}

/* Does [:, which p->at is at, have its end? If not, these are two characters. */
static bool is_posix(const regex_parser *p)
{
    if (p->end - p->at < 4 || p->at[0] != '[' || p->at[1] != ':')
        return false;
    return memmem(p->at + 2, (size_t)(p->end - p->at) - 2, ":]", 2) != NULL;
}

/* [:alpha:] or [:^alpha:], with p->at behind the bracket. */
static bool read_posix(regex_parser *p, regex_class *c)
{
    const char *at = p->at + 1, *end;
    bool outside = *at == '^';
    at += outside;
    end = at;
    while (!(end[0] == ':' && end[1] == ']'))
        end++;
    for (size_t i = 0; i < sizeof posix / sizeof *posix; i++)
        if (strlen(posix[i].name) == (size_t)(end - at) &&
            memcmp(at, posix[i].name, (size_t)(end - at)) == 0) {
            p->at = end + 2;
            return add_named(p->h, c, posix[i].ranges, outside);
        }
    return regex_refuse(p, "a class that does not exist");
}

/* ---- scripts ---- */

static const struct {
    const char *name, *ranges; /* "370-373 37f": hexadecimal, in order */
} scripts[] = {
#define SCRIPT(name, ranges) {#name, ranges},
#include "host/unicode_script.def"
#undef SCRIPT
};

/* The ranges, or, turned round, the gaps between them. */
static bool add_script(tnh_call *h, regex_class *c, const char *ranges, bool outside)
{
    int32_t next = 0;
    bool ok = true;
    for (char *at = (char *)(uintptr_t)ranges; *at && ok; at += *at == ' ') {
        int32_t first = (int32_t)strtol(at, &at, 16),
                last = *at == '-' ? (int32_t)strtol(at + 1, &at, 16) : first;
        if (!outside)
            ok = regex_class_add(h, c, first, last);
        else if (first > next)
            ok = regex_class_add(h, c, next, first - 1);
        next = last + 1;
    }
    return ok && (!outside || regex_class_add(h, c, next, TNH_MAX_CODE));
}

static const char *find_script(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strlen(scripts[i].name) == n && memcmp(scripts[i].name, name, n) == 0)
            return scripts[i].ranges;
    return NULL;
}

/* pL, p{Lu}, p{^Lu}, PN, p{Greek}: categories and scripts. */
static bool read_category(regex_parser *p, regex_class *c)
{
    static const char known[] = " Any L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc "
                                "Sk So Z Zs Zl Zp C Cc Cf Cs Co ";
    char name[8] = " ";
    bool outside = *p->at++ == 'P';
    const char *at = p->at, *end = at + 1;
    if (at < p->end && *at == '{') {
        at++;
        end = memchr(at, '}', (size_t)(p->end - at));
    }
    if (at >= p->end || !end || end == at)
        return regex_refuse(p, "a category of characters that is not known");
    const char *after = end + (*end == '}' && at != p->at);
    if (*at == '^') {
        outside = !outside;
        at++;
    }
    const char *script = find_script(at, (size_t)(end - at));
    if (script) {
        p->at = after;
        return add_script(p->h, c, script, outside);
    }
    if (end - at > 3)
        return regex_refuse(p, "a category of characters that is not known");
    memcpy(name + 1, at, (size_t)(end - at));
    name[1 + (end - at)] = ' ';
    if (memchr(at, ' ', (size_t)(end - at)) || !strstr(known, name))
        return regex_refuse(p, "a category of characters that is not known");
    p->at = after;
    if (strcmp(name, " Any ") == 0)
        return outside || regex_class_add(p->h, c, 0, TNH_MAX_CODE);
    regex_range r = {.first = -1, .outside = outside};
    memcpy(r.category, name + 1, (size_t)(end - at));
    return add(p->h, c, r);
}

bool regex_read_set(regex_parser *p, regex_class *c, bool *found)
{
    char kind = p->at < p->end ? *p->at : '\0';
    *found = kind == 'p' || kind == 'P';
    if (*found)
        return read_category(p, c);
    for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
        if ((kind | 32) == *escaped[i].name) {
            *found = true;
            p->at++;
            return add_named(p->h, c, escaped[i].ranges, kind != *escaped[i].name);
        }
    return true;
}

/* ---- brackets ---- */

/* One character of a class, escaped or not. */
static bool read_one(regex_parser *p, int32_t *out)
{
    if (!regex_take(p, out))
        return false;
    return *out != '\\' || regex_read_escape(p, out);
}

static bool read_item(regex_parser *p, regex_class *c)
{
    int32_t first, last;
    bool found = false;
    if (is_posix(p)) {
        p->at++;
        return read_posix(p, c);
    }
    if (*p->at == '\\') {
        p->at++;
        if (!regex_read_set(p, c, &found))
            return false;
        if (found)
            return true;
        p->at--;
    }
    if (!read_one(p, &first))
        return false;
    last = first;
    if (p->end - p->at > 1 && p->at[0] == '-' && p->at[1] != ']') {
        p->at++;
        if (!read_one(p, &last))
            return false;
    }
    if (last < first)
        return regex_refuse(p, "a range whose end lies before its beginning");
    return regex_class_add(p->h, c, first, last);
}

bool regex_read_brackets(regex_parser *p, regex_class *c)
{
    bool first = true;
    c->outside = p->at < p->end && *p->at == '^';
    p->at += c->outside;
    for (; p->at < p->end && (first || *p->at != ']'); first = false)
        if (!read_item(p, c))
            return false;
    if (p->at >= p->end)
        return regex_refuse(p, "a class that is not closed");
    p->at++;
    return true;
}
