/* Programs in JSON, as PaddlePaddle 3 saves them, become the structs of a ProgramDesc. Values have numbers there: a
 * parameter and an input are called by their names, every other value by "%" and its number. Lists of values are no
 * values of the run: what reads one reads its elements. */
#include "frontend/paddle/paddle.h"

#include "base/wire/json.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 4096, MOST_VALUES = 65536 };

bool pd_is_json(const uint8_t *at, size_t n)
{
    size_t head = n < LOOKED_AT ? n : LOOKED_AT;
    while (head && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
        at++;
        head--;
    }
    return head && *at == '{' && memmem(at, head, "\"base_code\"", 11) && memmem(at, head, "\"pir\"", 5);
}

typedef struct value { /* its names: several of a list */
    size_t n;
    const tn_bytes *name;
} value;

typedef struct reader {
    pd_import *p;
    tn_arena *a;
    const char *file;
    tn_map values; /* number -> index in value */
    tn_vec(value) value;
    tn_vec(pd_block *) block;
    tn_vec(pd_var) var;
    int64_t n_feed;
    size_t room; /* names that lists may still have */
    bool bad;
} reader;

/* What is not there. */
static const tn_json none;

static void damaged(reader *r, const char *what)
{
    if (!r->bad)
        (void)tn_error(r->p->im.g->ctx, "paddle-E001", &(tn_loc){.file = r->file},
                       "the program is damaged: %s%s", what, imp_again(what));
    r->bad = true;
}

/* ---- JSON ---- */

static const tn_json *member(const tn_json *v, const char *key)
{
    const tn_json *m = v ? tn_json_find(v, key) : NULL;
    return m ? m : &none;
}

static tn_bytes text_of(reader *r, const tn_json *v)
{
    if (!tn_json_is(v, TN_JSON_STRING))
        return (tn_bytes){0};
    return (tn_bytes){(const uint8_t *)tn_arena_strndup(r->a, v->u.s, v->n), v->n};
}

static const tn_json *items(const tn_json *v, size_t *n)
{
    *n = tn_json_is(v, TN_JSON_ARRAY) ? v->n : 0;
    return *n ? v->u.at : NULL;
}

static int64_t whole_of(const tn_json *v)
{
    if (tn_json_is(v, TN_JSON_REAL))
        return v->u.r > -9e18 && v->u.r < 9e18 ? (int64_t)v->u.r : 0;
    return tn_json_is(v, TN_JSON_INT) ? v->u.i : tn_json_is(v, TN_JSON_BOOL) ? v->u.b : 0;
}

static double real_of(const tn_json *v) { return tn_json_is(v, TN_JSON_REAL) ? v->u.r : (double)whole_of(v); }

/* What follows the last dot: the dialect before it is an abbreviation. */
static tn_bytes kind_of(const tn_json *v)
{
    if (!tn_json_is(v, TN_JSON_STRING))
        return (tn_bytes){0};
    size_t i = v->n;
    while (i && v->u.s[i - 1] != '.')
        i--;
    return (tn_bytes){(const uint8_t *)v->u.s + i, v->n - i};
}

/* ---- values ---- */

static void set_value(reader *r, int64_t number, size_t n, const tn_bytes name[])
{
    tn_map_put(&r->values, (uint64_t)number, r->value.n);
    tn_vec_push(&r->value, ((value){n, name}));
}

static const value *value_of(reader *r, const tn_json *operand)
{
    static const value absent;
    uint64_t at;
    int64_t number = whole_of(member(operand, "%"));
    if (number == 0)
        return &absent;
    if (tn_map_get(&r->values, (uint64_t)number, &at))
        return &r->value.at[at];
    damaged(r, "an operand is a value that no operator gives");
    return &absent;
}

static tn_bytes *one_name(reader *r, tn_bytes name)
{
    tn_bytes *at = TN_NEW(r->a, tn_bytes);
    *at = name;
    return at;
}

static tn_bytes printed(reader *r, int64_t number, size_t element, bool list)
{
    const char *s = list ? tn_arena_printf(r->a, "%%%lld:%zu", (long long)number, element)
                         : tn_arena_printf(r->a, "%%%lld", (long long)number);
    return (tn_bytes){(const uint8_t *)s, strlen(s)};
}

/* A result, or the argument of a block: lists have a name for each element. */
static const value *new_value(reader *r, int64_t number, const tn_json *type)
{
    size_t n = 1;
    bool list = imp_is(kind_of(member(type, "#")), "t_vec");
    if (list)
        (void)items(member(type, "D"), &n);
    if (number == 0 || n > MOST_VALUES) {
        damaged(r, "a value has no number, or too many elements");
        n = 0;
    }
    tn_bytes *name = TN_NEW_N(r->a, tn_bytes, n);
    for (size_t i = 0; i < n; i++)
        name[i] = printed(r, number, i, list);
    set_value(r, number, n, name);
    return &tn_vec_last(&r->value);
}

/* ---- types ---- */

static int64_t type_number(const tn_json *type)
{
    static const struct {
        const char *kind;
        int64_t number;
    } kinds[] = {{"t_bool", 0}, {"t_i16", 1}, {"t_i32", 2},  {"t_i64", 3}, {"t_f16", 4},
                 {"t_f32", 5},  {"t_f64", 6}, {"t_ui8", 20}, {"t_i8", 21}, {"t_bf16", 22}};
    tn_bytes kind = kind_of(member(type, "#"));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (imp_is(kind, kinds[i].kind))
            return kinds[i].number;
    return -1;
}

/* A variable of a dense tensor: [element, dimensions, layout, ...] */
static pd_var variable(reader *r, tn_bytes name, const tn_json *type, bool persistable)
{
    size_t n, dims;
    const tn_json *d = items(member(type, "D"), &n), *dim = items(n > 1 ? &d[1] : &none, &dims);
    pd_var v = {.name = name, .type = TN_NEW(r->a, pd_var_type), .persistable = persistable};
    v.type->type = 7;
    v.type->dense_tensor = TN_NEW(r->a, pd_dense);
    pd_tensor_desc *t = v.type->dense_tensor->tensor = TN_NEW(r->a, pd_tensor_desc);
    int64_t *at = TN_NEW_N(r->a, int64_t, dims);
    for (size_t i = 0; i < dims; i++)
        at[i] = whole_of(&dim[i]);
    t->data_type = n ? type_number(&d[0]) : -1;
    t->dims = (tn_pb_array){at, dims};
    return v;
}

/* ---- attributes ---- */

static double number_of(const tn_json *v, const tn_json *text)
{
    if (!tn_json_is(text, TN_JSON_STRING))
        return real_of(v);
    double inf = strtod("inf", NULL);
    return tn_json_is_text(text, "INF") ? inf : tn_json_is_text(text, "-INF") ? -inf : strtod("nan", NULL);
}

/* A list of integers, and the same as floats. */
static void set_list(reader *r, pd_attr *to, enum pd_attr_type type, const tn_json *v, bool plain)
{
    size_t n;
    const tn_json *at = items(v, &n);
    to->type = type;
    if (type == PD_A_FLOATS) {
        float *f = TN_NEW_N(r->a, float, n);
        for (size_t i = 0; i < n; i++)
            f[i] = (float)(plain ? real_of(&at[i]) : number_of(member(&at[i], "D"), member(&at[i], "VD")));
        to->floats = (tn_pb_array){f, n};
    } else if (type == PD_A_STRINGS) {
        tn_bytes *s = TN_NEW_N(r->a, tn_bytes, n);
        for (size_t i = 0; i < n; i++)
            s[i] = text_of(r, plain ? &at[i] : member(&at[i], "D"));
        to->strings = (tn_pb_array){s, n};
    } else {
        int64_t *w = TN_NEW_N(r->a, int64_t, n);
        for (size_t i = 0; i < n; i++)
            w[i] = whole_of(plain ? &at[i] : member(&at[i], "D"));
        to->longs = (tn_pb_array){w, n};
    }
}

/* Scalars of attributes keep which kind of number they are. */
static void set_scalars(reader *r, pd_attr *to, const tn_json *v)
{
    size_t n;
    const tn_json *at = items(v, &n);
    pd_scalar *s = TN_NEW_N(r->a, pd_scalar, n);
    for (size_t i = 0; i < n; i++) {
        const tn_json *d = member(&at[i], "D"), *text = member(&at[i], "VD");
        size_t parts;
        const tn_json *part = items(d, &parts); /* [kind, number] */
        d = parts == 2 ? &part[1] : d;
        bool real = tn_json_is(d, TN_JSON_REAL) || tn_json_is(text, TN_JSON_STRING);
        s[i] = (pd_scalar){.type = real                          ? 3
                                   : tn_json_is(d, TN_JSON_BOOL) ? 1
                                                                 : 2,
                           .b = whole_of(d),
                           .i = whole_of(d),
                           .r = number_of(d, text)};
    }
    to->type = PD_A_SCALARS;
    to->scalars = (tn_pb_array){s, n};
}

static void set_array(reader *r, pd_attr *to, const tn_json *v)
{
    size_t n;
    const tn_json *at = items(v, &n);
    tn_bytes kind = n ? kind_of(member(&at[0], "#")) : (tn_bytes){0};
    if (!n) /* of any kind */
        to->type = PD_A_SCALARS;
    else if (imp_is(kind, "a_f32") || imp_is(kind, "a_f64"))
        set_list(r, to, PD_A_FLOATS, v, false);
    else if (imp_is(kind, "a_str"))
        set_list(r, to, PD_A_STRINGS, v, false);
    else if (imp_is(kind, "a_scalar"))
        set_scalars(r, to, v);
    else
        set_list(r, to, PD_A_LONGS, v, false);
}

/* false: it says where something is computed. */
static bool attribute(reader *r, const tn_json *type, pd_attr *to)
{
    tn_bytes kind = kind_of(member(type, "#"));
    const tn_json *v = member(type, "D");
    if (imp_is(kind, "a_bool")) {
        to->type = PD_A_BOOL;
        to->b = whole_of(v);
    } else if (imp_is(kind, "a_i32") || imp_is(kind, "a_i64") || imp_is(kind, "a_index")) {
        to->type = PD_A_LONG;
        to->l = whole_of(v);
    } else if (imp_is(kind, "a_f32") || imp_is(kind, "a_f64") || imp_is(kind, "a_scalar")) {
        size_t parts;
        const tn_json *part = items(v, &parts);
        to->type = PD_A_FLOAT64;
        to->float64 = number_of(parts == 2 ? &part[1] : v, member(type, "VD"));
    } else if (imp_is(kind, "a_str")) {
        to->type = PD_A_STRING;
        to->s = text_of(r, v);
    } else if (imp_is(kind, "a_dtype")) {
        to->type = PD_A_LONG;
        to->l = pd_number_of_type(tn_json_is(v, TN_JSON_STRING) ? (tn_bytes){(const uint8_t *)v->u.s, v->n}
                                                                : (tn_bytes){0});
    } else if (imp_is(kind, "a_intarray")) {
        set_list(r, to, PD_A_LONGS, v, true);
    } else if (imp_is(kind, "a_array")) {
        set_array(r, to, v);
    } else {
        return false;
    }
    return true;
}

static const tn_json *attr_called(const tn_json *op, const char *name)
{
    size_t n;
    const tn_json *a = items(member(op, "A"), &n);
    for (size_t i = 0; i < n; i++)
        if (tn_json_is_text(member(&a[i], "N"), name))
            return member(&a[i], "AT");
    return &none;
}

/* ---- operators ---- */

typedef struct known {
    const char *name, *type, *in, *out, *attr;
} known;

static const known table[] = {
#define PIR(name, type, in, out, attr) {#name, type, in, out, attr},
#include "frontend/paddle/pir.def"
#undef PIR
};

static const known *find_known(tn_bytes name)
{
    while (name.n && name.at[name.n - 1] == '_') /* in place */
        name.n--;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (imp_is(name, table[i].name))
            return &table[i];
    return NULL;
}

/* Word i of a text; .n 0: there are fewer. */
static tn_bytes word(const char *s, size_t i)
{
    for (; *s; s += strcspn(s, " "), s += strspn(s, " "))
        if (i-- == 0)
            return (tn_bytes){(const uint8_t *)s, strcspn(s, " ")};
    return (tn_bytes){0};
}

/* What a ProgramDesc calls an attribute: "old=new" is a word of `names`. */
static tn_bytes renamed(const char *names, tn_bytes name)
{
    for (size_t i = 0; word(names, i).n; i++) {
        tn_bytes w = word(names, i);
        if (w.n > name.n && w.at[name.n] == '=' && memcmp(w.at, name.at, name.n) == 0)
            return (tn_bytes){w.at + name.n + 1, w.n - name.n - 1};
    }
    return name;
}

static tn_bytes plain(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

static pd_param param(tn_bytes name, size_t n, const tn_bytes names[])
{
    return (pd_param){name, {(void *)(uintptr_t)names, n}};
}

static void read_attrs(reader *r, const tn_json *op, const char *names, pd_op *to)
{
    size_t n;
    const tn_json *a = items(member(op, "A"), &n);
    pd_attr *at = TN_NEW_N(r->a, pd_attr, n + 1); /* one more for blocks */
    to->attrs.at = at;
    for (size_t i = 0; i < n; i++) {
        pd_attr *next = &at[to->attrs.n];
        next->name = renamed(names, text_of(r, member(&a[i], "N")));
        to->attrs.n += attribute(r, member(&a[i], "AT"), next);
    }
}

static const tn_json *results_of(const tn_json *op, size_t *n)
{
    const tn_json *o = member(op, "O");
    if (tn_json_is(o, TN_JSON_OBJECT))
        return *n = 1, o;
    return items(o, n);
}

/* Operands, each under the next word of `names`. */
static void read_operands(reader *r, const tn_json *op, const char *names, pd_op *to)
{
    size_t n;
    const tn_json *in = items(member(op, "I"), &n);
    pd_param *p = TN_NEW_N(r->a, pd_param, n);
    for (size_t i = 0; i < n; i++) {
        const value *v = value_of(r, &in[i]);
        tn_bytes name = word(names, i);
        if (!name.n && v->n)
            name = plain(tn_arena_printf(r->a, "number %zu", i + 1)); /* which no converter asks for */
        p[i] = param(name, v->n, v->name);
    }
    to->inputs = (tn_pb_array){p, n};
}

static void read_results(reader *r, const tn_json *op, const char *names, pd_op *to)
{
    size_t n;
    const tn_json *out = results_of(op, &n);
    pd_param *p = TN_NEW_N(r->a, pd_param, n);
    for (size_t i = 0; i < n; i++) {
        const value *v = new_value(r, whole_of(member(&out[i], "%")), member(&out[i], "TT"));
        p[i] = param(word(names, i), v->n, v->name);
    }
    to->outputs = (tn_pb_array){p, n};
}

/* All operands, or all results, as one list. */
static pd_param joined(reader *r, const char *name, const tn_pb_array *list, size_t from)
{
    const pd_param *p = list->at;
    size_t n = 0, k = 0;
    for (size_t i = from; i < list->n; i++)
        n += p[i].arguments.n;
    if (n > r->room) { /* lists of lists repeat what the file has once */
        damaged(r, "its lists have more elements than the file has bytes");
        return param(plain(name), 0, NULL);
    }
    r->room -= n;
    tn_bytes *at = TN_NEW_N(r->a, tn_bytes, n);
    for (size_t i = from; i < list->n; i++)
        for (size_t j = 0; j < p[i].arguments.n; j++)
            at[k++] = ((const tn_bytes *)p[i].arguments.at)[j];
    return param(plain(name), n, at);
}

static int64_t read_block(reader *r, const tn_json *block);

static void read_regions(reader *r, const tn_json *op, pd_op *to)
{
    size_t n, blocks;
    const tn_json *region = items(member(op, "regions"), &n);
    pd_attr *a = (pd_attr *)to->attrs.at + to->attrs.n;
    int64_t *at = TN_NEW_N(r->a, int64_t, n);
    for (size_t i = 0; i < n && !r->bad; i++) {
        const tn_json *b = items(member(&region[i], "blocks"), &blocks);
        if (blocks != 1)
            damaged(r, "a part of an operator is not one block");
        else
            at[i] = read_block(r, b);
    }
    *a = (pd_attr){.name = plain("regions"), .type = PD_A_BLOCKS, .blocks_idx = {at, n}};
    to->attrs.n++;
}

/* pd_op.if, pd_op.while: a condition, then what the block begins with. */
static void read_flow(reader *r, const tn_json *op, const char *type, pd_op *to)
{
    pd_op all = {0};
    read_attrs(r, op, "", to);
    read_operands(r, op, "", &all);
    read_regions(r, op, to);
    read_results(r, op, "", &all);
    to->type = plain(type);
    pd_param *p = TN_NEW_N(r->a, pd_param, 3);
    const pd_param *first = all.inputs.at;
    p[0] = all.inputs.n ? param(plain("Cond"), first->arguments.n, first->arguments.at) : (pd_param){0};
    p[1] = joined(r, "X", &all.inputs, 1);
    p[2] = joined(r, "Out", &all.outputs, 0);
    to->inputs = (tn_pb_array){p, 2};
    to->outputs = (tn_pb_array){p + 2, 1};
}

/* A column, and the name of a result. */
static void add_column(reader *r, pd_op *to, int64_t column, tn_bytes name)
{
    pd_attr *a = TN_NEW_N(r->a, pd_attr, 2);
    a[0] = (pd_attr){.name = plain("col"), .type = PD_A_LONG, .l = column};
    a[1] = (pd_attr){.name = plain("name"), .type = PD_A_STRING, .s = name};
    to->attrs = (tn_pb_array){a, 2};
}

static void read_input(reader *r, const tn_json *op, pd_op *to)
{
    size_t n;
    const tn_json *out = results_of(op, &n);
    tn_bytes name = text_of(r, member(attr_called(op, "name"), "D"));
    pd_param *p = TN_NEW(r->a, pd_param);
    if (n != 1 || !name.n) {
        damaged(r, "an input has no name");
        return;
    }
    const tn_bytes *names = one_name(r, name);
    set_value(r, whole_of(member(out, "%")), 1, names);
    tn_vec_push(&r->var, variable(r, name, member(out, "TT"), false));
    *p = param(plain("Out"), 1, names);
    to->type = plain("feed");
    to->outputs = (tn_pb_array){p, 1};
    const tn_json *column = attr_called(op, "col");
    add_column(r, to, column == &none ? r->n_feed++ : whole_of(member(column, "D")), (tn_bytes){0});
}

static void read_parameter(reader *r, const tn_json *op)
{
    size_t n, n_attr;
    const tn_json *out = results_of(op, &n), *a = items(member(op, "A"), &n_attr);
    tn_bytes name = n_attr ? text_of(r, &a[n_attr - 1]) : (tn_bytes){0};
    if (!name.n)
        name = text_of(r, member(attr_called(op, "parameter_name"), "D"));
    if (n != 1 || !name.n) {
        damaged(r, "a parameter has no name");
        return;
    }
    set_value(r, whole_of(member(out, "%")), 1, one_name(r, name));
    tn_vec_push(&r->var, variable(r, name, member(out, "TT"), true));
}

static void read_result(reader *r, const tn_json *op, pd_op *to)
{
    read_operands(r, op, "X", to);
    add_column(r, to, whole_of(member(attr_called(op, "col"), "D")),
               text_of(r, member(attr_called(op, "name"), "D")));
    to->type = plain("fetch");
}

/* builtin.combine makes a list of its operands; split and slice give its elements. */
static void read_list(reader *r, const tn_json *op, bool combine)
{
    size_t n, n_out;
    const tn_json *in = items(member(op, "I"), &n), *out = results_of(op, &n_out);
    pd_op all = {0};
    if (combine) {
        read_operands(r, op, "", &all);
        pd_param p = joined(r, "X", &all.inputs, 0);
        set_value(r, n_out ? whole_of(member(out, "%")) : 0, p.arguments.n, p.arguments.at);
        return;
    }
    const tn_json *index = attr_called(op, "index");
    const value *list = n ? value_of(r, in) : NULL;
    size_t first = index == &none ? 0 : (size_t)whole_of(member(index, "D"));
    value v = list ? *list : (value){0};
    for (size_t i = 0; i < n_out && !r->bad; i++)
        if (first > v.n || i >= v.n - first)
            damaged(r, "a list has fewer elements than are taken from it");
        else
            set_value(r, whole_of(member(&out[i], "%")), 1, &v.name[first + i]);
}

static void read_known(reader *r, const tn_json *op, tn_bytes name, pd_op *to)
{
    const known *k = find_known(name);
    const char *s =
        tn_arena_printf(r->a, "pd_op.%.*s", (int)(name.n < 256 ? name.n : 256), (const char *)name.at);
    to->type = plain(k ? k->type : s);
    read_attrs(r, op, k ? k->attr : "", to);
    read_operands(r, op, !k ? "" : *k->in ? k->in : "X", to);
    read_results(r, op, !k ? "" : *k->out ? k->out : "Out", to);
}

static void read_op(reader *r, const tn_json *op, pd_block *b)
{
    pd_op to = {0};
    tn_bytes name = kind_of(member(op, "#"));
    const char *dialect = tn_json_is(member(op, "#"), TN_JSON_STRING) ? member(op, "#")->u.s : "";
    bool builtin = *dialect == '0' || *dialect == 'b';
    if (imp_is(name, "p") || imp_is(name, "parameter")) {
        read_parameter(r, op);
        return;
    }
    if (builtin && (imp_is(name, "combine") || imp_is(name, "split") || imp_is(name, "slice"))) {
        read_list(r, op, imp_is(name, "combine"));
        return;
    }
    if (imp_is(name, "data") || imp_is(name, "feed"))
        read_input(r, op, &to);
    else if (imp_is(name, "fetch"))
        read_result(r, op, &to);
    else if (imp_is(name, "if"))
        read_flow(r, op, "pir_if", &to);
    else if (imp_is(name, "while"))
        read_flow(r, op, "pir_while", &to);
    else if (imp_is(name, "yield")) {
        read_operands(r, op, "", &to);
        pd_param *p = TN_NEW(r->a, pd_param);
        *p = joined(r, "X", &to.inputs, 0);
        to.inputs = (tn_pb_array){p, 1};
        to.type = plain("yield");
    } else
        read_known(r, op, name, &to);
    ((pd_op *)b->ops.at)[b->ops.n++] = to;
}

/* Its number: blocks inside have larger ones. */
static int64_t read_block(reader *r, const tn_json *block)
{
    size_t n, n_arg;
    const tn_json *op = items(member(block, "ops"), &n), *arg = items(member(block, "args"), &n_arg);
    pd_block *b = TN_NEW(r->a, pd_block);
    int64_t number = (int64_t)r->block.n;
    tn_vec_push(&r->block, b);
    tn_bytes *name = TN_NEW_N(r->a, tn_bytes, n_arg);
    for (size_t i = 0; i < n_arg && !r->bad; i++) {
        const value *v = new_value(r, whole_of(member(&arg[i], "#")), member(&arg[i], "TT"));
        name[i] = v->n == 1 ? v->name[0] : (tn_bytes){0};
    }
    b->args = (tn_pb_array){name, n_arg};
    b->ops.at = TN_NEW_N(r->a, pd_op, n);
    for (size_t i = 0; i < n && !r->bad; i++)
        read_op(r, &op[i], b);
    return number;
}

static const pd_program *program_of(reader *r, const tn_json *root)
{
    size_t n, blocks = 0;
    const tn_json *region = items(member(member(root, "program"), "regions"), &n),
                  *block = n == 1 ? items(member(region, "blocks"), &blocks) : NULL;
    if (blocks != 1) {
        damaged(r, "it does not consist of one block");
        return NULL;
    }
    (void)read_block(r, block);
    pd_program *p = TN_NEW(r->a, pd_program);
    pd_block *all = TN_NEW_N(r->a, pd_block, r->block.n);
    pd_var *var = TN_NEW_N(r->a, pd_var, r->var.n);
    for (size_t i = 0; i < r->block.n; i++)
        all[i] = *r->block.at[i];
    if (r->var.n)
        memcpy(var, r->var.at, r->var.n * sizeof *var);
    all[0].vars = (tn_pb_array){var, r->var.n};
    p->blocks = (tn_pb_array){all, r->block.n};
    return r->bad ? NULL : p;
}

const pd_program *pd_read_json(pd_import *p, tn_bytes file, const char *name)
{
    reader r = {.p = p, .a = &p->im.scratch, .file = name, .room = file.n};
    const pd_program *program = NULL;
    tn_json_doc doc = tn_json_read((const char *)file.at, file.n);
    if (doc.root)
        program = program_of(&r, doc.root);
    else
        (void)tn_error(p->im.g->ctx, "paddle-E001", &(tn_loc){.file = name},
                       "the program is damaged: %s (at byte %zu)%s", doc.error, doc.error_at,
                       imp_again(doc.error));
    tn_json_free(&doc);
    tn_map_deinit(&r.values);
    tn_vec_deinit(&r.value);
    tn_vec_deinit(&r.block);
    tn_vec_deinit(&r.var);
    return program;
}
