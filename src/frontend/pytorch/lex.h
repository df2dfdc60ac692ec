#ifndef TN_FRONTEND_PYTORCH_LEX_H
#define TN_FRONTEND_PYTORCH_LEX_H
/* Tokens of the language of code/. Indentation gives INDENT and DEDENT; lines inside of brackets go on. */
#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>

enum pt_token_kind {
    PT_T_END,
    PT_T_LINE, /* end of a statement */
    PT_T_INDENT,
    PT_T_DEDENT,
    PT_T_NAME,
    PT_T_INT,
    PT_T_FLOAT,
    PT_T_COMPLEX, /* "1.5-2.j" */
    PT_T_TEXT,
    PT_T_MARK, /* an operator or bracket */
    PT_T_BAD
};

enum { PT_MAX_INDENT = 256 };

typedef struct pt_lexer {
    tn_arena *arena;
    const char *at, *end;
    int line, brackets, depth, owed; /* owed: DEDENTs that are still to come */
    bool fresh;                      /* at the beginning of a line */
    int indent[PT_MAX_INDENT];
    /* the current token */
    enum pt_token_kind kind;
    tn_bytes text;
    const char *why; /* BAD */
} pt_lexer;

void pt_lex_open(pt_lexer *l, tn_arena *a, tn_bytes text);
void pt_lex_next(pt_lexer *l);

#endif
