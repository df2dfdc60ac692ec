/* A saved module as Relay text. Expressions are nodes that several others may share, so each call is a line of its
 * own: the first use in a scope writes it, and what a branch or function has written is forgotten with it. The order
 * is found without recursion over chains of calls; only scopes nest. */
#include "frontend/tvm/text.h"

#include "op/op.h"
#include "relay/relay.h"

#include <string.h>

enum { MAX_SCOPES = 90 };

bool tvm_fail(tvm_writer *w, const char *why)
{
    w->why = w->why ? w->why : why;
    return false;
}

int64_t tvm_number_of(const tvm_writer *w, const tn_json *node)
{
    return node ? node - w->s->nodes->u.at : 0;
}

/* ---- names ---- */

static bool in_word(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

void tvm_put_name(tn_buf *b, tn_bytes s)
{
    bool letter = s.n && !(*s.at >= '0' && *s.at <= '9');
    if (!letter)
        tn_buf_str(b, "v_");
    for (size_t i = 0; i < s.n; i++) {
        char ch = (char)s.at[i];
        tn_buf_char(b, in_word(ch) ? ch : '_');
    }
}

/* Variables are told apart by their nodes: two may have one name. */
void tvm_put_variable(tvm_writer *w, const tn_json *var)
{
    const tn_json *id = tvm_ref(w->s, var, "vid");
    tn_bytes name = tvm_string(w->s, id ? id : var, "name_hint");
    uint64_t first = 0, node = (uint64_t)tvm_number_of(w, var);
    bool known = tn_strmap_get(&w->names, (const char *)name.at, name.n, &first);
    if (!known)
        tn_strmap_put(&w->names, (const char *)name.at, name.n, node);
    tn_buf_char(w->out, '%');
    tvm_put_name(w->out, name);
    if (known && first != node)
        tn_buf_printf(w->out, "_%llu", (unsigned long long)node);
}

static void put_text(tn_buf *b, tn_bytes s)
{
    tn_buf_char(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] == '"' || s.at[i] == '\\')
            tn_buf_char(b, '\\');
        tn_buf_char(b, s.at[i] < ' ' ? ' ' : (char)s.at[i]);
    }
    tn_buf_char(b, '"');
}

/* ---- numbers and types ---- */

const tn_json *tvm_list_of(const tn_json *node)
{
    const tn_json *data = node ? tn_json_find(node, "data") : NULL;
    return tn_json_is(data, TN_JSON_ARRAY) ? data : NULL;
}

const tn_json *tvm_element(tvm_writer *w, const tn_json *list, uint32_t i)
{
    return list && i < list->n ? tvm_node(w->s, tvm_number(&list->u.at[i], 0)) : NULL;
}

uint32_t tvm_length(const tn_json *list) { return list ? list->n : 0; }

/* Nodes may name others any number of times: what is written is bounded, so that lists of lists are. */
bool tvm_has_room(tvm_writer *w) { return w->out->n <= w->most || tvm_fail(w, "it is too large"); }

static bool is_word(tn_bytes s)
{
    bool word = s.n && !(*s.at >= '0' && *s.at <= '9');
    for (size_t i = 0; i < s.n && word; i++)
        word = in_word((char)s.at[i]);
    return word;
}

/* A number, as it stands. */
static bool put_plain(tvm_writer *w, tn_bytes s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!memchr("0123456789+-.eEinfaNx", s.at[i], 21))
            return tvm_fail(w, "a number is none");
    tn_buf_add(w->out, s.at, s.n);
    return true;
}

/* An extent or a number of an attribute: integers, symbols, unknown ones, and lists of them. */
static bool put_number(tvm_writer *w, const tn_json *n, int depth)
{
    if (!tvm_has_room(w))
        return false;
    if (depth > 4)
        return tvm_fail(w, "lists are nested too deep");
    if (tvm_is(n, "IntImm") || tvm_is(n, "Bool") || tvm_is(n, "Integer")) {
        tn_buf_printf(w->out, "%lld", (long long)tvm_number(tvm_attr(n, "value"), 0));
        return true;
    }
    if (tvm_is(n, "FloatImm") || tvm_is(n, "String") || tvm_is(n, "StringImm")) {
        tn_bytes v = tvm_is(n, "String") ? tvm_repr(n) : tvm_text(tvm_attr(n, "value"));
        if (tvm_is(n, "FloatImm"))
            return put_plain(w, v);
        put_text(w->out, v);
        return true;
    }
    if (tvm_is(n, "Any")) {
        tn_buf_char(w->out, '?');
        return true;
    }
    if (tvm_is(n, "Var") || tvm_is(n, "SizeVar") || tvm_is(n, "Variable")) {
        tn_bytes name = tvm_string(w->s, n, "name");
        tvm_put_name(w->out, name);
        return true;
    }
    if (!tvm_is(n, "Array"))
        return tvm_fail(w, "an extent or attribute is an expression that is not supported");
    const tn_json *list = tvm_list_of(n);
    tn_buf_char(w->out, '[');
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        tn_buf_str(w->out, i ? ", " : "");
        const tn_json *e = tvm_element(w, list, i);
        if (!e)
            tn_buf_str(w->out, "None");
        else if (!put_number(w, e, depth + 1))
            return false;
    }
    tn_buf_char(w->out, ']');
    return true;
}

bool tvm_put_type(tvm_writer *w, const tn_json *t, int depth)
{
    const tn_json *shape = tvm_ref(w->s, t, "shape"), *list = tvm_list_of(shape);
    bool tuple = tvm_is(t, "TupleType"), function = tvm_is(t, "FuncType");
    if (!tvm_has_room(w))
        return false;
    if (depth > 16)
        return tvm_fail(w, "types are nested too deep");
    if (tvm_is(t, "TensorType")) {
        tn_bytes dtype = tvm_text(tvm_attr(t, "dtype"));
        tn_buf_str(w->out, "Tensor[(");
        for (uint32_t i = 0; i < tvm_length(list); i++) {
            tn_buf_str(w->out, i ? ", " : "");
            if (!put_number(w, tvm_element(w, list, i), 1))
                return false;
        }
        tn_buf_printf(w->out, "), %.*s]", (int)dtype.n, (const char *)dtype.at);
        return true;
    }
    if (!tuple && !function)
        return tvm_put_data_type(w, t, depth);
    list = tvm_list_of(tvm_ref(w->s, t, tuple ? "fields" : "arg_types"));
    tn_buf_str(w->out, tuple ? "(" : "fn (");
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        tn_buf_str(w->out, i ? ", " : "");
        if (!tvm_put_type(w, tvm_element(w, list, i), depth + 1))
            return false;
    }
    tn_buf_str(w->out, tuple && tvm_length(list) == 1 ? ",)" : ")");
    if (tuple)
        return true;
    tn_buf_str(w->out, " -> ");
    return tvm_put_type(w, tvm_ref(w->s, t, "ret_type"), depth + 1);
}

/* ---- attributes ---- */

/* Fields of numbers that TVM keeps as nodes, where Relay's text has a number. */
static bool is_node_field(tn_bytes attrs, tn_bytes name)
{
    static const struct {
        const char *attrs, *name; /* part of the type's name */
    } rows[] = {{"Conv", "channels"},
                {"Dense", "units"},
                {"Take", "axis"},
                {"Take", "batch_dims"},
                {"Gather", "axis"},
                {"Gather", "batch_dims"},
                {"Scan", ""},
                {"TopK", "k"},
                {"Repeat", ""},
                {"Stack", "axis"},
                {"Reverse", "axis"},
                {"Scatter", "axis"},
                {"GatherND", ""},
                {"DFT", ""},
                {"Deformable", "channels"},
                {"Matmul", "units"},
                {"Reduce", "axis"},
                {"ReshapeLike", "lhs_end"},
                {"ReshapeLike", "rhs_end"},
                {"ReverseSequence", "seq_axis"},
                {"ReverseSequence", "batch_axis"}};
    for (size_t i = 0; attrs.n && i < sizeof rows / sizeof *rows; i++)
        if (memmem(attrs.at, attrs.n, rows[i].attrs, strlen(rows[i].attrs)) &&
            (!*rows[i].name || imp_is(name, rows[i].name)))
            return true;
    return false;
}

/* Texts of schedules mean nothing here; "None" is what TVM's texts leave out. */
static bool is_left_out(tn_bytes name, tn_bytes value)
{
    return !value.n || imp_is(value, "None") || imp_is(name, "auto_scheduler_rewritten_layout") ||
           imp_is(name, "meta_schedule_original_shape") || imp_is(name, "span");
}

/* A value that may be a node of its own, by the kind of the attribute (below 0: it is not known). */
static bool refers(tn_bytes attrs, tn_bytes name, int kind, const tn_json *node)
{
    return kind == TN_A_INTS || kind == TN_A_DIMS || kind == TN_A_STRS || kind == TN_A_REALS ||
           is_node_field(attrs, name) || (kind < 0 && tvm_is(node, "Array")) ||
           (kind == TN_A_STR && tvm_is(node, "String"));
}

/* ", name=value"; a list that is nothing is left out. */
static bool put_attr(tvm_writer *w, const char *op, tn_bytes attrs, tn_bytes name, const tn_json *v)
{
    char known[64];
    if (!is_word(name) || name.n >= sizeof known)
        return tvm_fail(w, "an attribute has a name that is none");
    memcpy(known, name.at, name.n);
    known[name.n] = 0;
    const tn_attr_field *f = tn_relay_find_attr(tn_relay_more_forms, op, known);
    const tn_bytes text = tvm_text(v);
    const int64_t number = tvm_number(v, -1);
    const tn_json *node = tvm_node(w->s, number);
    const int kind = f ? (int)f->kind : -1;
    const bool other = refers(attrs, name, kind, node);
    if (other && !node)
        return true;
    tn_buf_printf(w->out, ", %s=", known);
    if (other)
        return put_number(w, node, 0);
    if (kind == TN_A_BOOL)
        tn_buf_str(w->out, number ? "True" : "False");
    else if (kind == TN_A_STR || kind == TN_A_DTYPE || (kind < 0 && number < 0))
        put_text(w->out, text);
    else
        return put_plain(w, text);
    return true;
}

static bool put_attrs(tvm_writer *w, const char *op, const tn_json *attrs)
{
    const tn_json *all = attrs ? tn_json_find(attrs, "attrs") : NULL;
    tn_bytes type = attrs ? tvm_text(tn_json_find(attrs, "type_key")) : (tn_bytes){0};
    for (uint32_t i = 0; tn_json_is(all, TN_JSON_OBJECT) && i < all->n; i++) {
        tn_bytes name = tvm_text(&all->u.at[2 * i]), value = tvm_text(&all->u.at[2 * i + 1]);
        w->s->work += name.n + value.n + 1;
        if (w->s->work > w->most)
            return tvm_fail(w, "they are too large, or used too often, for a file of its size");
        if (!is_left_out(name, value) && !put_attr(w, op, type, name, &all->u.at[2 * i + 1]))
            return false;
    }
    return true;
}

/* ---- expressions ---- */

static bool put_constant(tvm_writer *w, const tn_json *n)
{
    int64_t at = tvm_number_of(w, n);
    tvm_tensor t;
    if (!w->constant_of[at]) {
        const char *why = tvm_read_tensor(w->s, tvm_number(tvm_attr(n, "data"), -1), &t);
        if (why)
            return tvm_fail(w, why);
        tn_vec_push(&w->constant, t.blob);
        w->constant_of[at] = (int64_t)w->constant.n;
        tn_buf_printf(w->out, "meta[relay.Constant][%zu] /* ty=Tensor[(", w->constant.n - 1);
        for (size_t i = 0; i < t.n; i++)
            tn_buf_printf(w->out, "%s%lld", i ? ", " : "", (long long)t.dim[i]);
        tn_buf_str(w->out, "), ");
        tn_dtype_print(t.dtype, false, w->out);
        tn_buf_str(w->out, "] */");
        return true;
    }
    tn_buf_printf(w->out, "meta[relay.Constant][%lld]", (long long)w->constant_of[at] - 1);
    return true;
}

/* What an operand is written as: a name, or the expression itself where that has no line. */
bool tvm_put_operand(tvm_writer *w, const tn_json *n)
{
    if (!n)
        return tvm_fail(w, "an operand is missing");
    if (w->line[tvm_number_of(w, n)])
        tn_buf_printf(w->out, "%%%lld", (long long)w->line[tvm_number_of(w, n)] - 1);
    else if (tvm_is(n, "Var"))
        tvm_put_variable(w, n);
    else if (tvm_is(n, "Constant"))
        return put_constant(w, n);
    else if (tvm_is(n, "GlobalVar")) {
        tn_bytes name = tvm_string(w->s, n, "name_hint");
        tn_buf_char(w->out, '@');
        tvm_put_name(w->out, name);
    } else if (tvm_is(n, "Constructor"))
        tvm_put_name(w->out, tvm_string(w->s, n, "name_hint"));
    else
        return tvm_fail(w, "an expression is of a kind that is not supported");
    return true;
}

static bool put_operands(tvm_writer *w, const tn_json *list)
{
    for (uint32_t i = 0; i < tvm_length(list); i++) {
        tn_buf_str(w->out, i ? ", " : "");
        if (!tvm_put_operand(w, tvm_element(w, list, i)))
            return false;
    }
    return true;
}

static bool put_function(tvm_writer *w, const tn_json *f)
{
    const tn_json *params = tvm_list_of(tvm_ref(w->s, f, "params")), *ret = tvm_ref(w->s, f, "ret_type");
    if (!tvm_put_type_params(w, tvm_ref(w->s, f, "type_params")))
        return false;
    tn_buf_char(w->out, '(');
    for (uint32_t i = 0; i < tvm_length(params); i++) {
        const tn_json *p = tvm_element(w, params, i);
        tn_buf_str(w->out, i ? ", " : "");
        tvm_put_variable(w, p);
        tn_buf_str(w->out, ": ");
        if (!tvm_put_type(w, tvm_ref(w->s, p, "type_annotation"), 0))
            return false;
    }
    tn_buf_char(w->out, ')');
    if (ret && !tvm_is(ret, "IncompleteType")) {
        tn_buf_str(w->out, " -> ");
        if (!tvm_put_type(w, ret, 0))
            return false;
    }
    tn_buf_char(w->out, ' ');
    return tvm_put_block(w, tvm_ref(w->s, f, "body"));
}

/* The expression of a node whose operands have been written. */
static bool put_expression(tvm_writer *w, const tn_json *n)
{
    const tn_json *op = tvm_ref(w->s, n, "op"), *fields = tvm_list_of(tvm_ref(w->s, n, "fields"));
    if (tvm_is(n, "Call")) {
        tn_bytes name = tvm_is(op, "Op") ? tvm_repr(op) : (tn_bytes){0};
        const char *known = name.at ? tn_arena_strndup(w->a, (const char *)name.at, name.n) : NULL;
        if (tvm_is(op, "Op"))
            tn_buf_add(w->out, name.at, name.n);
        else if (!tvm_put_operand(w, op))
            return false;
        tn_buf_char(w->out, '(');
        if (!put_operands(w, tvm_list_of(tvm_ref(w->s, n, "args"))) ||
            (known && !put_attrs(w, known, tvm_ref(w->s, n, "attrs"))))
            return false;
        tn_buf_char(w->out, ')');
        return true;
    }
    if (tvm_is(n, "Tuple")) {
        tn_buf_char(w->out, '(');
        if (!put_operands(w, fields))
            return false;
        tn_buf_str(w->out, tvm_length(fields) == 1 ? ",)" : ")");
        return true;
    }
    if (tvm_is(n, "TupleGetItem")) {
        bool fine =
            tvm_put_operand(w, tvm_ref(w->s, n, tvm_attr(n, "tuple_value") ? "tuple_value" : "tuple"));
        tn_buf_printf(w->out, ".%lld", (long long)tvm_number(tvm_attr(n, "index"), 0));
        return fine;
    }
    if (tvm_is(n, "If")) {
        tn_buf_str(w->out, "if (");
        if (!tvm_put_operand(w, tvm_ref(w->s, n, "cond")))
            return false;
        tn_buf_str(w->out, ") ");
        if (!tvm_put_block(w, tvm_ref(w->s, n, "true_branch")))
            return false;
        tn_buf_str(w->out, " else ");
        return tvm_put_block(w, tvm_ref(w->s, n, "false_branch"));
    }
    if (tvm_is(n, "Match"))
        return tvm_put_match(w, n);
    if (tvm_is(n, "Function")) {
        tn_buf_str(w->out, "fn ");
        return put_function(w, n);
    }
    return tvm_fail(w, "an expression is of a kind that is not supported");
}

static bool needs_line(const tn_json *n)
{
    return n && !tvm_is(n, "Var") && !tvm_is(n, "Constant") && !tvm_is(n, "GlobalVar") && !tvm_is(n, "Op") &&
           !tvm_is(n, "Constructor");
}

/* Operands that have no line yet; n itself where there are none. */
static uint32_t push_operands(tvm_writer *w, const tn_json *n)
{
    static const char *const names[] = {"op", "tuple_value", "tuple", "cond"}, *const lists[] = {"args",
                                                                                                 "fields"};
    size_t before = w->todo.n;
    const tn_json *data = tvm_is(n, "Match") ? tvm_ref(w->s, n, "data") : NULL;
    if (needs_line(data) && !w->line[tvm_number_of(w, data)])
        tn_vec_push(&w->todo, tvm_number_of(w, data));
    for (size_t i = 0; i < 4; i++) {
        const tn_json *x = tvm_is(n, "Function") ? NULL : tvm_ref(w->s, n, names[i]);
        if (needs_line(x) && !w->line[tvm_number_of(w, x)])
            tn_vec_push(&w->todo, tvm_number_of(w, x));
    }
    for (size_t i = 0; i < 2; i++) {
        const tn_json *list = tvm_list_of(tvm_ref(w->s, n, lists[i]));
        for (uint32_t k = tvm_length(list); k-- > 0;) {
            const tn_json *x = tvm_element(w, list, k);
            if (needs_line(x) && !w->line[tvm_number_of(w, x)])
                tn_vec_push(&w->todo, tvm_number_of(w, x));
        }
    }
    return (uint32_t)(w->todo.n - before);
}

/* Lines for n and what it needs. */
static bool put_lines(tvm_writer *w, const tn_json *n)
{
    size_t bottom = w->todo.n;
    if (needs_line(n) && !w->line[tvm_number_of(w, n)])
        tn_vec_push(&w->todo, tvm_number_of(w, n));
    while (w->todo.n > bottom && !w->why) {
        int64_t at = w->todo.at[w->todo.n - 1];
        const tn_json *x = tvm_node(w->s, at);
        if (w->line[at]) {
            w->todo.n--;
            continue;
        }
        if (!w->opened[at]) {
            w->opened[at] = 1;
            if (push_operands(w, x))
                continue;
        } else if (push_operands(w, x)) {
            return tvm_fail(w, "an expression is its own operand");
        }
        if (!tvm_has_room(w))
            return false;
        int64_t line = w->next++;
        tn_buf_printf(w->out, "  %%%lld = ", (long long)line);
        if (!put_expression(w, x))
            return false;
        tn_buf_str(w->out, ";\n");
        w->opened[at] = 0;
        w->line[at] = line + 1;
        tn_vec_push(&w->done, at);
        w->todo.n--;
    }
    return !w->why;
}

/* { lines, then the result }; `let`s of the body come one after the other. */
bool tvm_put_block(tvm_writer *w, const tn_json *body)
{
    size_t mark = w->done.n;
    if (++w->depth > MAX_SCOPES)
        return tvm_fail(w, "functions and branches are nested too deep");
    tn_buf_str(w->out, "{\n");
    for (size_t lets = 0; tvm_is(body, "Let"); lets++) {
        const tn_json *var = tvm_ref(w->s, body, "var"), *value = tvm_ref(w->s, body, "value");
        if (lets > w->s->nodes->n)
            return tvm_fail(w, "an expression is its own operand");
        if (!put_lines(w, value))
            return false;
        tn_buf_str(w->out, "  let ");
        tvm_put_variable(w, var);
        tn_buf_str(w->out, " = ");
        if (!tvm_put_operand(w, value))
            return false;
        tn_buf_str(w->out, ";\n");
        body = tvm_ref(w->s, body, "body");
    }
    if (!put_lines(w, body))
        return false;
    tn_buf_str(w->out, "  ");
    if (!tvm_put_operand(w, body))
        return false;
    tn_buf_str(w->out, "\n}");
    for (; w->done.n > mark; w->done.n--)
        w->line[w->done.at[w->done.n - 1]] = 0;
    w->depth--;
    return true;
}

/* ---- modules ---- */

static bool put_definition(tvm_writer *w, tn_bytes name, const tn_json *f)
{
    if (!tvm_is(f, "Function"))
        return tvm_fail(w, "a function of the module is no Relay function");
    tn_buf_str(w->out, "def @");
    tvm_put_name(w->out, name);
    if (!put_function(w, f))
        return false;
    tn_buf_str(w->out, "\n");
    return true;
}

/* A module, whose functions are a map of names (keys are GlobalVar nodes, data pairs or beside the keys); or one
 * function, which becomes @main. */
static bool put_module(tvm_writer *w, const tn_json *root)
{
    const tn_json *map = tvm_ref(w->s, root, "functions"), *data = tvm_list_of(map),
                  *keys = map ? tn_json_find(map, "keys") : NULL;
    bool any = false;
    if (tvm_is(root, "Function"))
        return put_definition(w, (tn_bytes){(const uint8_t *)"main", 4}, root);
    if (!tvm_is(root, "IRModule") && !tvm_is(root, "Module"))
        return tvm_fail(w, "it is neither a Relay module nor a function");
    bool paired = !tn_json_is(keys, TN_JSON_ARRAY);
    if (!tvm_put_data(w, tvm_ref(w->s, root, "type_definitions")))
        return false;
    for (uint32_t i = 0; i + paired < tvm_length(data); i += paired ? 2 : 1) {
        const tn_json *key = tvm_element(w, data, i), *f = tvm_element(w, data, i + paired);
        tn_bytes name = paired        ? tvm_string(w->s, key, "name_hint")
                        : i < keys->n ? tvm_text(&keys->u.at[i])
                                      : (tn_bytes){0};
        if (!put_definition(w, name, f))
            return false;
        any = true;
    }
    return any || tvm_fail(w, "it has no functions");
}

const char *tvm_write_text(tvm_saved *s, tn_buf *out, const tn_blob *const **out_constant, size_t *out_n)
{
    size_t n = s->nodes->n;
    tvm_writer w = {.s = s, .a = &s->im->scratch, .out = out};
    w.line = TN_NEW_N(w.a, int64_t, n);
    w.constant_of = TN_NEW_N(w.a, int64_t, n);
    w.opened = TN_NEW_N(w.a, uint8_t, n);
    w.most = ((size_t)1 << 20) + 8 * s->im->whole.n;
    memset(w.line, 0, n * sizeof *w.line);
    memset(w.constant_of, 0, n * sizeof *w.constant_of);
    memset(w.opened, 0, n);
    tn_buf_str(out, "#[version = \"0.0.5\"]\n");
    (void)put_module(&w, tvm_node(s, s->root));
    const tn_blob **list = TN_NEW_N(s->im->g->arena, const tn_blob *, w.constant.n);
    for (size_t i = 0; i < w.constant.n; i++)
        list[i] = w.constant.at[i];
    *out_constant = list;
    *out_n = w.constant.n;
    tn_strmap_deinit(&w.names);
    tn_vec_deinit(&w.constant);
    tn_vec_deinit(&w.done);
    tn_vec_deinit(&w.todo);
    return w.why;
}

const char *tvm_metadata_attributes(void *user, const char *type, int64_t k, const char *op,
                                    const char **out_why)
{
    tvm_saved *s = user;
    tn_buf text = {0};
    tvm_writer w = {.s = s, .a = &s->im->scratch, .out = &text};
    const tn_json *attrs = tvm_metadata(s, type, k);
    w.most = ((size_t)1 << 20) + 8 * s->im->whole.n; /* a text may refer to them any number of times */
    if (!attrs)
        (void)tvm_fail(&w, "they are not there");
    else if (put_attrs(&w, op, attrs))
        (void)tvm_has_room(&w);
    const char *first = text.n ? text.at + strlen(", ") : "", *end = text.n ? text.at + text.n : first;
    const char *copy = w.why ? NULL : tn_arena_printf(w.a, "(%.*s)", (int)(end - first), first);
    s->work += text.n + 1;
    *out_why = w.why;
    tn_buf_deinit(&text);
    return copy;
}
