#ifndef TN_RELAY_PARSE_H
#define TN_RELAY_PARSE_H
/* Inside of the Relay text reader: parse_module.c has modules, parse.c functions and scopes, parse_expr.c expressions,
 * parse_type.c types.
 *
 * Reading goes on after an expression that cannot be typed, so that one run reports every independent mistake; a
 * mistake of syntax ends it. Nesting is bounded by PARSE_MAX_NEST, chains of lines and operators are loops.
 */
#include "op/core/core.h"
#include "relay/annot.h"
#include "relay/limits.h"
#include "relay/relay.h"

enum { PARSE_MAX_NEST = 100, PARSE_MAX_ERRORS = 20, PARSE_MAX_ARGS = 65000 };

/* What an expression means while reading. NODE: a node with several outputs as a whole (the user writes %0.1); LIST: a
 * tuple literal of which no node is made yet, as it may be the list of results or of an operator's tensors;
 * BAD: could not be typed, has been reported. */
enum pval_kind { PVAL_BAD, PVAL_NONE, PVAL_ONE, PVAL_NODE, PVAL_LIST };
typedef struct pval {
    enum pval_kind kind;
    tn_value v;        /* ONE; NODE: out 0 */
    uint32_t n;        /* LIST */
    struct pval *item; /* LIST: n entries, scratch */
    uint32_t line, col;
} pval;
typedef tn_vec(pval) pvals;

typedef struct pconst {    /* meta[relay.Constant][k] */
    tn_node *node;         /* of the function being read; NULL: not used in it yet */
    const tn_region *body; /* of that function */
    const tn_type *type;
    const char *name;
} pconst;

typedef struct pscope {
    struct pscope *up;
    tn_region *region;
    tn_strmap name;
} pscope;

typedef struct pfunc { /* a `def` found by the first scan */
    const char *name;
    tn_lexer at; /* at `def` */
    int state;   /* 0 unread, 1 being read, 2 read */
    tn_function *func;
    bool recursive;    /* it calls itself, maybe through others: a call of it stays one */
    size_t calls, end; /* entries of parser.called: functions that its text names */
} pfunc;

enum dim_mode {            /* what an unknown name in a dimension does */
                DIM_PARAM, /* binds: it is a symbol of the function; `?` is a new one */
                DIM_ANY,   /* binds; `?` is any extent */
                DIM_USE,   /* is an error */
                DIM_CHECK  /* is an error, and `?` matches anything */
};

typedef struct parser {
    tn_graph *g;
    tn_lexer l;
    const char *file;
    const char *text, *text_end;
    const char *prev_end;   /* end of the token before the current one: annotations stand in between */
    const char *annot_used; /* the annotation taken last */
    const tn_blob *const *constant;
    size_t n_constant;
    tn_arena scratch;
    tn_map meta_index; /* k -> entry of meta */
    tn_vec(pconst) meta;
    tn_vec(tn_node *) opened; /* tuple nodes whose fields were taken out: dropped if nothing else uses them */
    tn_vec(pfunc) func;
    tn_vec(const char *) called;
    pscope *scope;
    tn_region *body; /* of the function being read */
    tn_strmap bound; /* symbols of the function: 1 bound, 0 only mentioned, 2 bound in a branch left */
    enum dim_mode dims;
    int64_t fresh; /* next number for `?`, -1: not counted yet */
    uint32_t nest, n_error;
} parser;

/* What belongs to the function being read, kept while another one is read. */
typedef struct parse_saved {
    pscope *scope;
    tn_region *body;
    tn_strmap bound;
    enum dim_mode dims;
    size_t n_opened;
} parse_saved;

/* parse.c */
void parse_next(parser *p); /* moves on, remembering where the token ended */
bool parse_accept(parser *p, const char *text);
tn_status parse_expect(parser *p, const char *text);
const tn_loc *parse_loc(parser *p, uint32_t line, uint32_t col, const char *node);
tn_status parse_error(parser *p, uint32_t line, uint32_t col, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
tn_status parse_enter(parser *p);                                  /* counts nesting: relay-E007 */
bool parse_annot(parser *p, const char **out_text, size_t *out_n); /* comment before the current token */
void parse_define(parser *p, const char *name, pval v);
bool parse_lookup(parser *p, const char *name, pval *out);
tn_status parse_block(parser *p, const char *end, pval *out); /* lines and result; not the closing `end` */
/* After `(`, through `)`; fn: of a closure, takes its attributes. */
tn_status parse_params(parser *p, tn_region *r, tn_fn_attr *fn, enum dim_mode dims);
void parse_check_bound(parser *p, uint32_t line,
                       uint32_t col);           /* each symbol of the parameters is a dimension */
void parse_drop_opened(parser *p, size_t from); /* opened tuples that nothing uses */
void parse_open(parser *p, pscope *s, tn_region *r);
void parse_close(parser *p);
/* Sets the results of r and checks them against the declared type (NULL: none). TN_FAIL: cannot be typed, reported. */
tn_status parse_results(parser *p, tn_region *r, const pval *v, const tn_type *declared, uint32_t line,
                        uint32_t col);
tn_status parse_param(parser *p, tn_region *r, enum dim_mode dims);
tn_status parse_def(parser *p, pfunc *f); /* at `def` */
parse_saved parse_enter_function(parser *p, tn_region *body);
void parse_leave_function(parser *p, const parse_saved *s);
/* NULL: reported. *out_recursive: it may be half read; its signature is known. */
tn_status parse_global(parser *p, const char *name, uint32_t line, uint32_t col, tn_function **out,
                       bool *out_recursive);

/* parse_expr.c */
tn_status parse_expr(parser *p, pval *out);
/* One value; makes the tuple node where a literal or a whole node is meant. BAD stays bad: returns false. */
bool parse_value(parser *p, const pval *v, tn_value *out);
pval pval_bad(uint32_t line, uint32_t col);
pval pval_one(tn_node *n, uint32_t line, uint32_t col); /* ONE, or NODE with several outputs */
uint32_t pval_n_items(const pval *v);                   /* LIST, NODE */
pval pval_item(const pval *v, uint32_t i);
/* A node of op over in[], typed, at the end of the region being read; bad after an error. */
pval parse_node(parser *p, const tn_op *op, int n, const tn_value in[], const void *attr, uint32_t line,
                uint32_t col);
pval parse_project(parser *p, const pval *v, uint32_t k, uint32_t line, uint32_t col); /* v.k */

/* parse_call.c: each begins at its first token */
tn_status parse_op_call(parser *p, pval *out);     /* op(...) */
tn_status parse_apply(parser *p, pval *callee);    /* (...) after a value, which it replaces */
tn_status parse_global_call(parser *p, pval *out); /* @f(...) */
tn_status parse_fn(parser *p, pval *out);          /* fn (...) { ... } */
tn_status parse_if(parser *p, pval *out);          /* if (...) { ... } else { ... } */
tn_status parse_loop(parser *p, pval *out);        /* loop (...) (...) { ... } */

/* parse_type.c */
tn_status parse_type(parser *p, const tn_type **out); /* NULL for `_` */
tn_scope_fns parse_dims_scope(parser *p);             /* names in dimensions and attributes */
/* `?` and `_` fit anything; layouts must be equal */
bool parse_type_fits(const tn_type *declared, const tn_type *actual);
tn_status parse_constant_type(parser *p, const tn_annot_const *a, uint32_t line, uint32_t col,
                              const tn_type **out);

/* clone.c */
/* Copies the nodes of `from` to the end of region `to`: parameters become arg, symbols of the parameters' dims those of
 * the arguments. out: n_result values. */
tn_status tn_relay_inline(tn_graph *g, const tn_region *from, tn_region *to, const tn_value arg[],
                          const tn_loc *loc, tn_value out[]);

#endif
