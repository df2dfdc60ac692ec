#ifndef TN_FRONTEND_PYTORCH_CODE_H
#define TN_FRONTEND_PYTORCH_CODE_H
/* The language that TorchScript archives hold in code/: a part of Python. Trees live in an arena; their texts point
 * into the source. */
#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>

enum pt_expr_kind {
    PT_E_NONE,
    PT_E_BOOL,    /* i */
    PT_E_INT,     /* i */
    PT_E_FLOAT,   /* f */
    PT_E_COMPLEX, /* f, imaginary; i: it has a real part */
    PT_E_TEXT,    /* text, escapes resolved */
    PT_E_NAME,    /* text */
    PT_E_FIELD,   /* arg[0] . text */
    PT_E_CALL,    /* arg[0] ( arg[1..n] ), keyword[k] of arg[k] or empty */
    PT_E_INDEX,   /* arg[0] [ arg[1..n] ] */
    PT_E_TUPLE,
    PT_E_LIST,
    PT_E_DICT,   /* keys and values in turn */
    PT_E_UNARY,  /* text: "-", "not" */
    PT_E_BINARY, /* text: the operator */
    PT_E_CHOICE  /* arg[1] if arg[0] else arg[2] */
};

typedef struct pt_expr {
    enum pt_expr_kind kind;
    int line;
    uint32_t wanted; /* CALL: variables that a statement unpacks its value into, or 0 */
    tn_bytes text;
    int64_t i;
    double f, imaginary;
    size_t n;
    struct pt_expr **arg;
    tn_bytes *keyword;
} pt_expr;

enum pt_stmt_kind { PT_S_ASSIGN, PT_S_EXPR, PT_S_IF, PT_S_WHILE, PT_S_FOR, PT_S_RETURN, PT_S_WITH };

typedef struct pt_block {
    struct pt_stmt **at;
    size_t n;
} pt_block;

typedef struct pt_stmt {
    enum pt_stmt_kind kind;
    int line;
    pt_expr *target; /* ASSIGN: what is set; FOR: the variable */
    pt_expr *value;  /* ASSIGN, EXPR, RETURN (NULL: None); IF, WHILE: condition; FOR: what is iterated */
    pt_block body, orelse;
} pt_stmt;

typedef struct pt_param {
    tn_bytes name;
    pt_expr *type, *value; /* NULL: none */
} pt_param;

typedef struct pt_def { /* a function or method */
    tn_bytes name;
    const char *file;
    size_t n;
    pt_param *param;
    pt_block body;
} pt_def;

typedef struct pt_class {
    tn_bytes name;
    tn_bytes base; /* "Module", "NamedTuple", ... */
    size_t n, n_def;
    pt_param *field; /* attributes with their types; value: of a constant */
    pt_def **def;
} pt_class;

typedef struct pt_source { /* a file */
    const char *file;
    size_t n_class, n_def;
    pt_class **type;
    pt_def **def;
} pt_source;

/* NULL after an error: *why says what, *line where. */
pt_source *pt_parse(tn_arena *a, const char *file, tn_bytes text, const char **why, int *line);

#endif
