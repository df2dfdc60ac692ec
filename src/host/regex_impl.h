#ifndef TENON_HOST_REGEX_IMPL_H
#define TENON_HOST_REGEX_IMPL_H
/* What reading patterns (regex_parse.c), their character classes (regex_class.c) and running them (regex.c) share. */
#include "host/regex.h"

enum { REGEX_DEPTH = 200, REGEX_REPEAT = 1000, REGEX_PROGRAM = 1 << 18 };

enum regex_flag { REGEX_FOLD = 1, REGEX_MULTILINE = 2, REGEX_DOT_ALL = 4 };

/* ---- characters ---- */

typedef struct regex_range {
    int32_t first, last; /* codes; or of a category: first is -1 */
    char category[3];    /* "L" is all that begin with it */
    bool outside;        /* all characters but these */
} regex_range;

typedef struct regex_class {
    regex_range *range;
    uint32_t n, room;
    bool outside, fold;
} regex_class;

bool regex_class_has(const regex_class *c, int32_t code);
/* False: out of memory. */
bool regex_class_add(tnh_call *h, regex_class *c, int32_t first, int32_t last);

/* ---- programs ---- */

enum regex_op {
    REGEX_CHARACTERS, /* one of class x; on to the next */
    REGEX_SPLIT,      /* on to x and to y; x is preferred */
    REGEX_JUMP,       /* on to x */
    REGEX_ASSERT,     /* the place is x, of enum regex_place; on to the next */
    REGEX_MATCH
};
enum regex_place {
    REGEX_TEXT_BEGIN,
    REGEX_TEXT_END,
    REGEX_LINE_BEGIN,
    REGEX_LINE_END,
    REGEX_WORD_BOUNDARY,
    REGEX_NO_WORD_BOUNDARY
};

typedef struct regex_inst {
    enum regex_op op;
    uint32_t x, y;
} regex_inst;

struct tnh_regex {
    regex_inst *inst;
    uint32_t n, room;
    regex_class *class;
    uint32_t n_class, class_room;
    /* of a run: sets of instructions */
    uint32_t *set[3]; /* now, next, to be looked at */
    uint64_t *seen;   /* the number of the step that put the instruction into a set last */
    uint64_t step;
};

/* ---- patterns ---- */

typedef struct regex_parser {
    tnh_call *h;
    tnh_regex *r;
    const char *begin, *at, *end;
    unsigned flags; /* enum regex_flag */
    int depth;
} regex_parser;

/* Reports what is wrong at the place that is read; false. */
bool regex_refuse(const regex_parser *p, const char *what);
/* The next character of the pattern. */
bool regex_take(regex_parser *p, int32_t *out);
/* What stands behind a backslash: a class of characters (\d, \pL), if it is one, added to c; *found says so. */
bool regex_read_set(regex_parser *p, regex_class *c, bool *found);
/* What stands behind a backslash as one character. */
bool regex_read_escape(regex_parser *p, int32_t *out);
/* A class in brackets, behind the first one. */
bool regex_read_brackets(regex_parser *p, regex_class *c);

#endif
