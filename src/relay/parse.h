#ifndef TN_RELAY_PARSE_H
#define TN_RELAY_PARSE_H
/* Inside of the Relay text reader: parse_module.c has modules, parse.c functions and scopes, parse_expr.c expressions,
 * parse_call.c calls, parse_closure.c closures, parse_type.c types, parse_data.c definitions of data types,
 * parse_match.c patterns, parse_generic.c type parameters, parse_poly.c functions as arguments that say no types,
 * prelude.c what every module knows, forms.c operators that only TVM has (forms_tensor.c, forms_nn.c),
 * forms_layout.c its other orders of dimensions.
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
 * POLY: a function that says no types, which
 * only an argument of a call can be (parse_poly.c); BAD: could not be typed, has been reported. */
enum pval_kind { PVAL_BAD, PVAL_NONE, PVAL_ONE, PVAL_NODE, PVAL_LIST, PVAL_POLY };

typedef struct ppoly { /* one of them */
    const tn_constructor *constructor;
    struct pfunc *func;
    const tn_op *op;
} ppoly;

typedef struct pval {
    enum pval_kind kind;
    tn_value v;        /* ONE; NODE: out 0 */
    uint32_t n;        /* LIST */
    struct pval *item; /* LIST: n entries, scratch */
    ppoly poly;        /* POLY */
    uint32_t line, col;
} pval;
typedef tn_vec(pval) pvals;

typedef struct pconst {    /* meta[relay.Constant][k] */
    tn_node *node;         /* of the function being read; NULL: not used in it yet */
    const tn_region *body; /* of that function */
    const tn_type *type;
    const char *name;
    const tn_blob *blob; /* of a parameter that has a value */
    const tn_loc *loc;
} pconst;

typedef struct pname { /* what a name of a scope is */
    pval v;
    uint32_t order;             /* among all that were defined */
    const struct pname *hidden; /* what it was before in the scope */
} pname;

typedef struct pscope {
    struct pscope *up;
    tn_region *region;
    tn_strmap name; /* pname */
    uint32_t until; /* names defined later are not known; UINT32_MAX: all are */
} pscope;

/* What the names of type parameters are in the text that is being read. */
typedef struct ptypes {
    uint32_t n;
    const char *const *name;
    const tn_type *const *is;
} ptypes;

/* Where a closure with type parameters stands: what its text may name, and where its instances go. The scope is open as
 * long as something can name the closure, because it is no value. */
typedef struct pclosure {
    const char *name; /* NULL: no line or `let` names it */
    pscope *scope;
    uint32_t until; /* of the scope */
    ptypes types;   /* those around it */
    tn_node *place; /* in the scope's region; instances stand before it */
} pclosure;

typedef struct pdata { /* a `type` found by the first scan */
    const char *name, *file;
    tn_lexer at; /* at `type` */
    bool known;  /* of the prelude */
    bool begun;
    tn_data *data; /* NULL: not begun, or hidden by a definition of the text */
} pdata;

/* a `def` found by the first scan, a closure with type parameters, or what one of these is for some types */
typedef struct pfunc {
    const char *name, *file;
    bool known;              /* of the prelude */
    bool generic;            /* it has type parameters: what is read are its instances */
    uint32_t n_open;         /* generic: parameters, known by their types: */
    const tn_type **open;    /* NULL: its head was not read yet */
    const tn_type *gives;    /* with open: the type of the result; NULL: it does not say */
    const pclosure *closure; /* NULL: it is a `def` */
    tn_node *node;           /* of an instance of a closure */
    ptypes types;            /* generic: PARAMs; of an instance: what they are */
    struct pfunc *instances; /* generic: a list */
    struct pfunc *next;      /* of the instances */
    tn_lexer at;             /* at `def`, at `fn` */
    int state;               /* 0 unread, 1 being read, 2 read */
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

typedef struct pstate { /* #[state]; `first` may be NULL */
    const char *input, *output, *first;
} pstate;

typedef struct parser {
    tn_graph *g;
    tn_lexer l;
    const char *file;
    const char *text, *text_end;
    const char *prev_end;    /* end of the token before the current one: annotations stand in between */
    const char *annot_used;  /* the annotation taken last */
    tn_relay_metadata given; /* constants and attributes that the text refers to */
    tn_strmap given_param;   /* name -> its place in given.param */
    tn_vec(pconst) weight;   /* parameters of the function being read that are constants */
    tn_arena scratch;
    tn_map meta_index; /* k -> entry of meta */
    tn_vec(pconst) meta;
    tn_vec(tn_node *) opened; /* tuple nodes whose fields were taken out: dropped if nothing else uses them */
    tn_vec(pfunc) func;       /* all there are after the first scan */
    tn_vec(const char *) called;
    tn_vec(const char *) mentioned; /* functions, maybe of the prelude */
    tn_vec(pstate) state;
    tn_vec(pdata) data; /* those of the text stand first */
    tn_strmap referred; /* functions that a node refers to */
    tn_strmap odd;      /* names of parameters that are no words */
    uint32_t n_name;    /* pname.order */
    ptypes types;
    uint32_t inner;      /* inside of a type, where `_` is the type of no value */
    uint32_t n_instance; /* of generic functions */
    uint32_t n_leaf;     /* clauses of matches that were read, each time counted */
    size_t n_again;      /* bytes of those that were read before */
    const char *untyped; /* the name of the function being read, if it does not say the type of its result */
    const char *let;     /* the name that the expression to be read gets, if it is a function */
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
    ptypes types;
} parse_saved;

typedef struct parse_place { /* where reading goes on */
    tn_lexer l;
    const char *prev_end, *annot_used, *file;
} parse_place;

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
/* At the token behind `%`, which becomes the whole name if that is odd: one of a parameter that is no word. */
bool parse_odd_name(parser *p);
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
/* NULL: reported. */
pfunc *parse_global(parser *p, const char *name, uint32_t line, uint32_t col);
/* Its function, read if it was not; NULL: reported. One that calls itself may be half read; its signature is known. */
tn_status parse_function(parser *p, pfunc *f, uint32_t line, uint32_t col, tn_function **out);
parse_place parse_go(parser *p, const tn_lexer *to, const char *file); /* where it was */
void parse_back(parser *p, const parse_place *to);

/* parse_expr.c */
tn_status parse_expr(parser *p, pval *out);
/* One value; makes the tuple node where a literal or a whole node is meant. BAD stays bad: returns false. */
bool parse_value(parser *p, const pval *v, tn_value *out);
pval pval_bad(uint32_t line, uint32_t col);
bool parse_at_attribute(const parser *p); /* name= comes next */
tn_status parse_skip_value(parser *p);    /* of an attribute */
bool parse_at_metadata(const parser *p);  /* meta[relay.attrs.X][k] comes next */
/* Goes from there into the attributes' own text, to the first name of "name=value, ...)"; *out: where reading goes on
 * behind it. */
tn_status parse_go_metadata(parser *p, const char *op, parse_place *out);
/* The values of arguments, in scratch memory; any_number: fields of tuples one by one. NULL: one of them is bad. */
tn_value *parse_arg_values(parser *p, const pvals *args, bool any_number, size_t *out_n);

/* ---- what only TVM's texts have (forms.c) ---- */

typedef struct pforeign { /* attributes that only TVM's operators have */
    tn_dtype dtype;       /* of the result; bits 0: not given */
    const char *ret_type, *mode;
    int64_t axis; /* along which the slope of nn.prelu lies */
    int64_t batch_dims;
    tn_ints axes; /* several of argmax */
    bool exclude, allowzero;
    tn_reals roi; /* part of an image */
    double extrapolation;
    /* What they leave to do with the result: reshape it to shape, transpose it by order. */
    bool reshaped;
    tn_dims shape;
    tn_ints order; /* n 0: none */
} pforeign;

typedef struct form form; /* forms.h */

/* Of an operator that is made of others, by relay or by `more`; NULL: there is none, or not so many. */
const form *parse_form_find(const form *const *more, const char *name);
const form *parse_form_at(const form *const *more, size_t i);
tn_status parse_form(parser *p, const form *f, pval *out);
/* Of an operator that has our name and as many operands, which are others: is it the form that is called? */
bool parse_is_form(const parser *p, const tn_op *op, size_t n, const tn_value in[]);
/* The form of an operator that has our name and more operands, or others. attr: of ours. */
pval parse_form_values(parser *p, const tn_op *op, const void *attr, size_t n, const tn_value in[],
                       const pforeign *other, uint32_t line, uint32_t col);
/* Is `name` an attribute of TVM's operator and not of ours, whose value comes next and can be read over or kept? */
bool parse_is_foreign(const parser *p, const tn_op *op, const char *name);
tn_status parse_foreign(parser *p, const char *name, const char *op, pforeign *out);
const tn_attr_field *parse_find_field(const tn_attr_field *fields, const char *name); /* NULL: none */
/* axis=[...] of an operator of ours that has one axis. */
tn_status parse_foreign_axes(parser *p, pforeign *out);
const tn_op *parse_quotient(const tn_op *op, int n, const tn_value in[]); /* op, or that for integers */
/* Operands as TVM has them become ours, where op has other ones (forms_operands.c). false: reported. */
bool parse_adapt(parser *p, const tn_op **op, void **attr, size_t *n, tn_value **in, pforeign *f,
                 uint32_t line, uint32_t col);
/* The call of one of our operators with what TVM's has of it: operands, attributes, layouts. in: may be changed. */
pval parse_finished(parser *p, const tn_op *op, void *attr, size_t n, tn_value *in, pforeign *f,
                    uint32_t line, uint32_t col);
/* A call whose attributes may name other layouts than ours (forms_layout.c). */
pval parse_laid_out(parser *p, const tn_op *op, size_t n, tn_value in[], void *attr, uint32_t line,
                    uint32_t col);
pval pval_one(tn_node *n, uint32_t line, uint32_t col); /* ONE, or NODE with several outputs */
uint32_t pval_n_items(const pval *v);                   /* LIST, NODE */
pval pval_item(const pval *v, uint32_t i);
/* A node of op over in[], typed, at the end of the region being read; bad after an error. */
pval parse_node(parser *p, const tn_op *op, int n, const tn_value in[], const void *attr, uint32_t line,
                uint32_t col);
pval parse_project(parser *p, const pval *v, uint32_t k, uint32_t line, uint32_t col); /* v.k */
bool parse_is_never(tn_value v); /* it is of the type of no value: the run does not get there */
/* The first operand that there never is, if op (NULL: any) takes it apart: the operator never runs, so this operand
 * stands for its result. NULL: there is none. */
const tn_value *parse_never(const tn_op *op, int n, const tn_value in[]);
/* What a value that there never is decides has its type all the same: something else of type t stands for it. */
void parse_decided(tn_graph *g, tn_region *r, tn_dtype t, tn_value *v);

/* parse_call.c: each begins at its first token */
tn_status parse_op_call(parser *p, pval *out);  /* op(...) */
tn_status parse_apply(parser *p, pval *callee); /* (...) after a value, which it replaces */
/* The call of a closure over n arguments; those that are POLY and have no value yet get one. */
pval parse_call_value(parser *p, const pval *callee, size_t n, tn_value in[], const pval arg[]);
tn_status parse_global_call(parser *p, pval *out); /* @f(...) */
tn_status parse_if(parser *p, pval *out);          /* if (...) { ... } else { ... } */
tn_status parse_loop(parser *p, pval *out);        /* loop (...) (...) { ... } */

/* The call of a function of the text or the prelude over n arguments, those that are POLY still without a value; their
 * values are put there. */
tn_status parse_call_global(parser *p, pfunc *f, uint32_t n, tn_value in[], const pval arg[], pval *out);
/* An operator's attributes in scratch memory, all of them defaults; NULL: it needs some, which is reported. */
tn_status parse_default_attr(parser *p, const tn_op *op, uint32_t line, uint32_t col, void **out);
bool parse_is_plain(const tn_op *op); /* is it called by its name? */
/* Where some of the regions yield a list of results and others a tuple that is one value, all yield one. */
void parse_agree(parser *p, uint32_t n, tn_region *const r[]);
void parse_forget_symbols(parser *p, size_t from); /* that a branch or a body has bound */

/* parse_closure.c */
tn_status parse_fn(parser *p, pval *out); /* fn (...) { ... }, fn [A](...) { ... } */
/* The node of an instance of a closure, read if it was not; NULL: reported. */
tn_status parse_closure(parser *p, pfunc *f, tn_node **out);
/* fn [A](A) -> A, over PARAMs, at `fn`; false: another type comes next. */
bool parse_at_open_type(const parser *p);
tn_status parse_open_type(parser *p, ptypes *out_names, const tn_type **out);
/* Is v a function of this type? Reported if not. */
tn_status parse_check_open(parser *p, const pval *v, const ptypes *names, const tn_type *t);

/* parse_data.c: definitions, each read once; NULL: there is none of that name */
tn_status parse_data_def(parser *p, pdata *d);
tn_status parse_data_named(parser *p, const char *name, const tn_data **out);
tn_status parse_constructor(parser *p, const char *name, const tn_constructor **out);
tn_status parse_construct(parser *p, const tn_constructor *c, pval *out);   /* C, C(...): at its name */
tn_status parse_data_type(parser *p, const tn_type **out, bool *out_found); /* List[A], or a type parameter */
tn_status parse_type_names(parser *p, ptypes *out);                         /* [A, B], as PARAMs */
ptypes parse_types_within(parser *p, const ptypes *own, const ptypes *around); /* own ones hide */

/* parse_poly.c */
/* The closure that a POLY is where a function of this type is wanted; false: reported. */
bool parse_poly_value(parser *p, const pval *v, const tn_type *want, tn_value *out);
/* The values of arguments that are POLY, where types of functions are wanted. */
bool parse_poly_values(parser *p, uint32_t n, const pval arg[], const tn_type *const want[], tn_value in[]);
tn_status parse_poly_call(parser *p, const pval *v, uint32_t n, tn_value in[], const pval arg[], pval *out);
void parse_poly_refuse(parser *p, const pval *v); /* it is not an argument */

tn_status parse_match(parser *p, pval *out); /* match (...) { ... } */

/* parse_generic.c */
const char *parse_label(parser *p, const pfunc *f); /* what messages call it: @map, %f */
tn_status parse_head(parser *p, pfunc *f); /* its parameters, over the type parameters, if not read yet */
/* The function for arguments of these types; those that are POLY get their values. NULL: reported at
 * the place of `at`. */
tn_status parse_instance(parser *p, pfunc *f, uint32_t n, tn_value in[], const pval arg[], const pval *at,
                         pfunc **out);

/* prelude.c: the text of a function, NULL: none; those of the types, with NULL at the end */
const char *tn_prelude_function(const char *name);
extern const char *const tn_prelude_types[];

/* parse_type.c */
tn_status parse_type(parser *p, const tn_type **out);      /* NULL for `_` */
tn_status parse_signature(parser *p, const tn_type **out); /* (A) -> B */
tn_scope_fns parse_dims_scope(parser *p);                  /* names in dimensions and attributes */
/* t with a new symbol for each `?`, as a parameter has it that a type parameter gave its type */
const tn_type *parse_bound(parser *p, const tn_type *t);
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
