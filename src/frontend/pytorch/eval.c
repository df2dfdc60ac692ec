/* Runs code of an archive: expressions, statements, calls of its functions and methods. */
#include "frontend/pytorch/pytorch.h"

#include <string.h>

typedef struct frame {
    pt_import *p;
    tn_strmap names; /* -> pt_cell * */
    pt_cell result;
} frame;

static pt_value eval(frame *f, const pt_expr *e);
static void run(frame *f, const pt_block *b);

static bool over(const pt_import *p) { return p->stop || p->raised; }

static pt_cell *cell_of(frame *f, tn_bytes name)
{
    uint64_t at;
    if (tn_strmap_get(&f->names, (const char *)name.at, name.n, &at))
        return (pt_cell *)(uintptr_t)at;
    pt_cell *c = TN_NEW(&f->p->im.scratch, pt_cell);
    c->v.kind = PT_UNSET;
    tn_strmap_put(&f->names, (const char *)name.at, name.n, (uint64_t)(uintptr_t)c);
    return c;
}

/* ---- names ---- */

/* torch.nn.relu as a text; false: it is no chain of names that are not variables. */
static bool dotted(frame *f, const pt_expr *e, tn_buf *b, int depth)
{
    uint64_t at;
    if (e->kind == PT_E_NAME) {
        tn_buf_add(b, e->text.at, e->text.n);
        return !tn_strmap_get(&f->names, (const char *)e->text.at, e->text.n, &at);
    }
    if (e->kind != PT_E_FIELD || depth > 64 || !dotted(f, e->arg[0], b, depth + 1))
        return false;
    tn_buf_char(b, '.');
    tn_buf_add(b, e->text.at, e->text.n);
    return true;
}

/* The text of such a chain that begins with `root`; n 0: it is none. */
static tn_bytes chain(frame *f, const pt_expr *e, const char *root)
{
    const pt_expr *first = e;
    for (int i = 0; first->kind == PT_E_FIELD && i < 64; i++)
        first = first->arg[0];
    tn_buf b = {0};
    tn_bytes s = {0};
    if (first->kind == PT_E_NAME && imp_is(first->text, root) && dotted(f, e, &b, 0))
        s = (tn_bytes){tn_arena_copy(&f->p->im.scratch, b.at, b.n, 1), b.n};
    tn_buf_deinit(&b);
    return s;
}

static tn_bytes after(tn_bytes s, size_t n) { return (tn_bytes){s.at + n, s.n - n}; }

/* "torch.add" is the operator add, "ops.prim.dtype" prim::dtype, "ops.aten.add" add. */
static tn_bytes operator_name(frame *f, const pt_expr *e)
{
    tn_bytes s = chain(f, e, "torch");
    if (s.n > 6) {
        tn_bytes name = after(s, 6);
        for (size_t i = name.n; i-- > 0;)
            if (name.at[i] == '.')
                return after(name, i + 1);
        return name;
    }
    s = chain(f, e, "ops");
    const uint8_t *dot = s.n > 4 ? memchr(s.at + 4, '.', s.n - 4) : NULL;
    if (!dot)
        return (tn_bytes){0};
    size_t k = (size_t)(dot - s.at);
    if (k == 8 && memcmp(s.at + 4, "aten", 4) == 0)
        return after(s, 9);
    const char *name = tn_arena_printf(&f->p->im.scratch, "%.*s::%.*s", (int)(k - 4), (const char *)s.at + 4,
                                       (int)(s.n - k - 1), (const char *)s.at + k + 1);
    return (tn_bytes){(const uint8_t *)name, strlen(name)};
}

static pt_value constant(frame *f, tn_bytes name)
{
    size_t i = 0;
    for (size_t k = 1; k < name.n && k < 8 && name.at[k] >= '0' && name.at[k] <= '9'; k++)
        i = i * 10 + (size_t)(name.at[k] - '0');
    if (pt_is_sequence(f->p->constants) && i < f->p->constants.list->n) {
        pt_mark_constant(pt_at(f->p->constants, i));
        return pt_at(f->p->constants, i);
    }
    pt_fail(f->p, "pytorch-E003", "the code uses a constant that the archive does not have; it is damaged");
    return pt_bad();
}

/* The member of a class Enum that "__torch__.Mode.NEAREST" names; NULL: it names none. */
static const pt_param *enum_member(pt_import *p, tn_bytes s)
{
    size_t n = s.n;
    while (n && s.at[n - 1] != '.')
        n--;
    const pt_class *k = n ? pt_class_of(p, (tn_bytes){s.at, n - 1}) : NULL;
    for (size_t i = 0; k && imp_is(k->base, "Enum") && i < k->n; i++)
        if (imp_same(k->field[i].name, after(s, n)) && k->field[i].value)
            return &k->field[i];
    return NULL;
}

static pt_value attribute(frame *f, pt_value of, tn_bytes name)
{
    pt_import *p = f->p;
    const pt_param *member = of.kind == PT_GLOBAL ? enum_member(p, of.text) : NULL;
    if (member && imp_is(name, "value"))
        return eval(f, member->value);
    if (member && imp_is(name, "name"))
        return pt_text(member->name);
    pt_cell *c = of.kind == PT_OBJECT ? pt_attr_find(of.object, name) : NULL;
    if (c)
        return c->v;
    const pt_class *k = of.kind == PT_OBJECT ? pt_class_of(p, of.object->type) : NULL;
    for (size_t i = 0; k && i < k->n; i++)
        if (imp_same(k->field[i].name, name) && k->field[i].value)
            return eval(f, k->field[i].value);
    if (pt_is_bad(of) || over(p))
        return pt_bad();
    if (of.kind == PT_OBJECT && p->im.options && p->im.options->architecture) {
        pt_fail(p, "pytorch-E063",
                "the file has no weights \"%s%s%s\", which %s has; name the network that it is for",
                of.object->path, *of.object->path ? "." : "", imp_text(&p->im, name),
                p->im.options->architecture);
        return pt_bad();
    }
    if (pt_is_tensor(of) && (imp_is(name, "device") || imp_is(name, "layout")))
        return pt_words("cpu");
    if (pt_is_tensor(of) || (of.kind == PT_UNKNOWN && !pt_usable(p, of))) {
        const tn_bytes none = {0};
        const char *s = tn_arena_printf(&p->im.scratch, "prim::%.*s", (int)name.n, (const char *)name.at);
        pt_value v = pt_bad();
        if (pt_is_tensor(of) && pt_python(p, pt_words(s).text, &(pt_args){1, &of, &none}, &v))
            return v;
    }
    pt_fail(p, "pytorch-E003", "%s has no attribute \"%s\"", pt_kind_name(of.kind), imp_text(&p->im, name));
    return pt_bad();
}

static pt_value field(frame *f, const pt_expr *e)
{
    tn_bytes s = chain(f, e, "__torch__");
    pt_value of = {.kind = PT_GLOBAL, .text = {s.at, s.n > e->text.n ? s.n - e->text.n - 1 : 0}};
    if (s.n && of.text.n && enum_member(f->p, of.text))
        return attribute(f, of, e->text);
    if (s.n)
        return (pt_value){.kind = PT_GLOBAL, .text = s};
    if (e->arg[0]->kind == PT_E_NAME && imp_is(e->arg[0]->text, "CONSTANTS"))
        return constant(f, e->text);
    return attribute(f, eval(f, e->arg[0]), e->text);
}

/* ---- calls ---- */

static pt_args arguments(frame *f, const pt_expr *e)
{
    size_t n = e->n - 1;
    pt_value *at = TN_NEW_N(&f->p->im.scratch, pt_value, n);
    for (size_t i = 0; i < n && !over(f->p); i++)
        at[i] = eval(f, e->arg[i + 1]);
    return (pt_args){n, at, e->keyword + 1};
}

/* Reads what the operator may be: of Python's values, or of tensors. */
static pt_value apply(frame *f, tn_bytes name, const pt_expr *e)
{
    pt_import *p = f->p;
    pt_args a = arguments(f, e);
    pt_value v;
    if (over(p))
        return pt_bad();
    p->line = e->line;
    p->loc_op = imp_text(&p->im, name);
    for (size_t i = 0; i < a.n; i++)
        if (!pt_usable(p, a.at[i]) && p->stop)
            return pt_bad();
    if (pt_python_binary(p, name, &a, &v) || pt_python(p, name, &a, &v))
        return v;
    p->wanted = e->wanted;
    return pt_apply(p, name, &a);
}

static pt_value new_object(frame *f, tn_bytes type, const pt_args *a)
{
    pt_import *p = f->p;
    pt_object *o = TN_NEW(&p->im.scratch, pt_object);
    o->made = !p->restoring;
    const pt_class *k = pt_class_of(p, type);
    o->type = type;
    for (size_t i = 0; k && i < k->n; i++) {
        pt_cell *c = pt_attr_add(&p->im.scratch, o, k->field[i].name);
        for (size_t j = 0; a && j < a->n; j++)
            if (a->keyword[j].n ? imp_same(a->keyword[j], k->field[i].name) : j == i)
                c->v = a->at[j];
        if (c->v.kind == PT_UNSET && k->field[i].value && a)
            c->v = eval(f, k->field[i].value);
    }
    return (pt_value){.kind = PT_OBJECT, .object = o};
}

/* A NamedTuple is a tuple: code asks for its fields by their numbers. */
static pt_value new_tuple(frame *f, tn_bytes type, const pt_args *a)
{
    const pt_object *o = new_object(f, type, a).object;
    pt_value v = pt_make(&f->p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t i = 0; i < o->n; i++)
        pt_push(&f->p->im.scratch, v.list, o->at[i].cell.v);
    return v;
}

/* A function or class of the archive. */
static pt_value call_global(frame *f, tn_bytes name, const pt_args *a)
{
    pt_import *p = f->p;
    tn_bytes last;
    const pt_source *s = pt_source_of(p, name, &last);
    for (size_t i = 0; s && i < s->n_def; i++)
        if (imp_same(s->def[i]->name, last))
            return pt_run_def(p, s->def[i], NULL, a);
    for (size_t i = 0; s && i < s->n_class; i++)
        if (imp_same(s->type[i]->name, last))
            return imp_is(s->type[i]->base, "NamedTuple") ? new_tuple(f, name, a) : new_object(f, name, a);
    pt_fail(p, "pytorch-E003", "the code calls %s, which the archive does not have", imp_text(&p->im, name));
    return pt_bad();
}

static pt_value convert_to(frame *f, enum pt_kind kind, const pt_expr *e)
{
    pt_value v = e->n > 1 ? eval(f, e->arg[1]) : pt_int(0);
    f->p->line = e->line;
    f->p->loc_op = "int";
    return over(f->p) || !pt_usable(f->p, v) ? pt_bad() : pt_convert(f->p, kind, v);
}

/* The name of an attribute: a text, or the number of a part. */
static tn_bytes attribute_name(frame *f, pt_value v)
{
    if (v.kind == PT_INT)
        v = pt_words(tn_arena_printf(&f->p->im.scratch, "%lld", (long long)v.i));
    return v.kind == PT_TEXT ? v.text : (tn_bytes){0};
}

static pt_value named(frame *f, const pt_expr *of, const pt_expr *name)
{
    pt_value o = eval(f, of), at = eval(f, name);
    return over(f->p) ? pt_bad() : attribute(f, o, attribute_name(f, at));
}

static bool has_attribute(frame *f, const pt_expr *of, const pt_expr *name)
{
    pt_value o = eval(f, of), at = eval(f, name);
    return o.kind == PT_OBJECT && pt_attr_find(o.object, attribute_name(f, at));
}

/* Is v of the type that the expression names? */
static bool is_instance(frame *f, pt_value v, const pt_expr *type)
{
    static const struct {
        const char *name;
        enum pt_kind kind;
    } rows[] = {{"Tensor", PT_TENSOR}, {"int", PT_INT},   {"float", PT_FLOAT},  {"bool", PT_BOOL},
                {"str", PT_TEXT},      {"List", PT_LIST}, {"list", PT_LIST},    {"Tuple", PT_TUPLE},
                {"tuple", PT_TUPLE},   {"Dict", PT_DICT}, {"NoneType", PT_NONE}};
    if (type->kind == PT_E_LIST || type->kind == PT_E_TUPLE) {
        for (size_t i = 0; i < type->n; i++)
            if (is_instance(f, v, type->arg[i]))
                return true;
        return false;
    }
    const pt_expr *root = type->kind == PT_E_INDEX ? type->arg[0] : type;
    for (size_t i = 0; root->kind == PT_E_NAME && i < sizeof rows / sizeof *rows; i++)
        if (imp_is(root->text, rows[i].name))
            return v.kind == rows[i].kind || (rows[i].kind == PT_LIST && v.kind == PT_LATE_LIST) ||
                   (rows[i].kind == PT_TENSOR && v.kind == PT_COMPLEX) ||
                   (rows[i].kind == PT_TEXT && v.kind == PT_MESSAGE) ||
                   (v.kind == PT_NUMBER && v.number->kind == rows[i].kind);
    tn_bytes s = chain(f, root, "__torch__");
    if (v.kind == PT_GLOBAL && enum_member(f->p, v.text)) {
        const pt_param *member = enum_member(f->p, v.text);
        return s.n + 1 + member->name.n == v.text.n && memcmp(s.at, v.text.at, s.n) == 0;
    }
    return v.kind == PT_OBJECT && imp_same(v.object->type, s);
}

/* A tensor that is said to be a number is converted; "number" is one of the tensor's own kind. */
static pt_value as_type(frame *f, const pt_expr *type, pt_value v)
{
    if (type->kind != PT_E_NAME || v.kind != PT_TENSOR)
        return v;
    return imp_is(type->text, "int")      ? pt_convert(f->p, PT_INT, v)
           : imp_is(type->text, "float")  ? pt_convert(f->p, PT_FLOAT, v)
           : imp_is(type->text, "number") ? pt_call_named(f->p, "item", 1, &v)
                                          : v;
}

static pt_value lacking(frame *f, tn_bytes name)
{
    if (!over(f->p))
        pt_fail(f->p, "pytorch-E003", "%s is called without all arguments; the archive is damaged",
                imp_text(&f->p->im, name));
    return pt_bad();
}

/* Functions of the language itself; false: the name is none. */
static bool builtin(frame *f, tn_bytes name, const pt_expr *e, pt_value *out)
{
    if (imp_is(name, "annotate") || imp_is(name, "unchecked_cast"))
        *out = e->n > 2 ? as_type(f, e->arg[1], eval(f, e->arg[2])) : lacking(f, name);
    else if (imp_is(name, "uninitialized"))
        *out = (pt_value){.kind = PT_UNINITIALIZED};
    else if (imp_is(name, "int"))
        *out = convert_to(f, PT_INT, e);
    else if (imp_is(name, "float"))
        *out = convert_to(f, PT_FLOAT, e);
    else if (imp_is(name, "bool"))
        *out = convert_to(f, PT_BOOL, e);
    else if (imp_is(name, "isinstance"))
        *out = e->n > 2 ? pt_bool(is_instance(f, eval(f, e->arg[1]), e->arg[2])) : lacking(f, name);
    else if (imp_is(name, "getattr"))
        *out = e->n > 2 ? named(f, e->arg[1], e->arg[2]) : lacking(f, name);
    else if (imp_is(name, "hasattr"))
        *out = e->n > 2 ? pt_bool(has_attribute(f, e->arg[1], e->arg[2])) : lacking(f, name);
    else if (imp_is(name, "str") || imp_is(name, "len") || imp_is(name, "dict") || imp_is(name, "sorted"))
        *out = apply(f, name, e);
    else if (imp_is(name, "fork")) { /* what runs beside runs here */
        pt_args a = arguments(f, e);
        *out = a.n && a.at[0].kind == PT_GLOBAL
                   ? call_global(f, a.at[0].text, &(pt_args){a.n - 1, a.at + 1, a.keyword + 1})
                   : lacking(f, name);
    } else if (imp_is(name, "wait"))
        *out = e->n > 1 ? eval(f, e->arg[1]) : lacking(f, name);
    else
        return false;
    return true;
}

static pt_value call(frame *f, const pt_expr *e)
{
    pt_import *p = f->p;
    const pt_expr *to = e->arg[0];
    pt_value v;
    tn_bytes name = operator_name(f, to);
    if (name.n)
        return apply(f, name, e);
    if (to->kind == PT_E_NAME && builtin(f, to->text, e, &v))
        return v;
    const pt_def *d = to->kind == PT_E_NAME ? pt_find_def(p->library, to->text) : NULL;
    if (d) {
        pt_args a = arguments(f, e);
        p->line = e->line;
        return over(p) ? pt_bad() : pt_run_def(p, d, NULL, &a);
    }
    name = chain(f, to, "__torch__");
    if (name.n > 8 && memcmp(name.at + name.n - 8, ".__new__", 8) == 0)
        return new_object(f, (tn_bytes){name.at, name.n - 8}, NULL);
    if (to->kind == PT_E_FIELD && !name.n) {
        pt_value self = eval(f, to->arg[0]);
        pt_args a = arguments(f, e);
        if (over(p) || !pt_usable(p, self))
            return pt_bad();
        p->line = e->line;
        if (self.kind == PT_OBJECT)
            return pt_call_method(p, self.object, to->text, &a);
        pt_fail(p, "pytorch-E003", "the method \"%s\" of %s is called", imp_text(&p->im, to->text),
                pt_kind_name(self.kind));
        return pt_bad();
    }
    v = eval(f, to);
    pt_args a = arguments(f, e);
    if (over(p))
        return pt_bad();
    p->line = e->line;
    if (v.kind == PT_GLOBAL)
        return call_global(f, v.text, &a);
    pt_fail(p, "pytorch-E003", "the code calls %s", pt_kind_name(v.kind));
    return pt_bad();
}

/* ---- expressions ---- */

/* Of several values of one key the last one counts. */
static void each_key_once(pt_import *p, pt_value dict)
{
    size_t n = dict.list->n;
    dict.list->n = 0;
    for (size_t i = 0; i + 1 < n && !over(p); i += 2)
        pt_dict_put(p, dict, dict.list->at[i], dict.list->at[i + 1]);
}

static pt_value items(frame *f, const pt_expr *e, enum pt_kind kind)
{
    pt_value v = pt_make(&f->p->im.scratch, kind, e->n, NULL);
    v.list->owner = f->p->im.r;
    for (size_t i = 0; i < e->n && !over(f->p); i++)
        v.list->at[i] = eval(f, e->arg[i]);
    if (kind == PT_DICT)
        each_key_once(f->p, v);
    if (kind != PT_LIST || over(f->p))
        return v;
    v.list->made = e;
    for (size_t i = 0; i < f->p->late.n; i++)
        if (f->p->late.at[i] == e)
            return pt_late_list(f->p, v.list);
    return v;
}

static pt_value variable(frame *f, const pt_expr *e)
{
    uint64_t at;
    if (tn_strmap_get(&f->names, (const char *)e->text.at, e->text.n, &at))
        return ((pt_cell *)(uintptr_t)at)->v;
    if (imp_is(e->text, "inf") || imp_is(e->text, "nan"))
        return pt_convert(f->p, PT_FLOAT, pt_text(e->text));
    pt_fail(f->p, "pytorch-E003", "the code uses \"%s\", which it does not set",
            imp_text(&f->p->im, e->text));
    return pt_bad();
}

static pt_value operation(frame *f, const pt_expr *e)
{
    const char *op = imp_text(&f->p->im, e->text);
    pt_value a = eval(f, e->arg[0]);
    if (e->kind == PT_E_UNARY)
        return strcmp(op, "-") == 0 ? pt_binary(f->p, "sub", pt_int(0), a)
                                    : pt_binary(f->p, "__xor__", pt_convert(f->p, PT_BOOL, a), pt_bool(true));
    pt_value b = eval(f, e->arg[1]);
    if (strncmp(op, "is", 2) == 0)
        return pt_bool(pt_identical(f->p, a, b) == (op[2] == '\0'));
    if (strcmp(op, "in") == 0 && !over(f->p)) {
        pt_value is = pt_bad();
        const pt_value at[2] = {b, a};
        const tn_bytes none[2] = {{0}};
        (void)pt_python(f->p, pt_words("__contains__").text, &(pt_args){2, at, none}, &is);
        return is;
    }
    return over(f->p) ? pt_bad() : pt_binary(f->p, op, a, b);
}

static pt_value evaluated(frame *f, const pt_expr *e)
{
    pt_import *p = f->p;
    switch (e->kind) {
    case PT_E_NONE: return pt_none();
    case PT_E_BOOL: return pt_bool(e->i != 0);
    case PT_E_INT: return pt_int(e->i);
    case PT_E_FLOAT: return pt_float(e->f);
    case PT_E_COMPLEX: return pt_complex_number(&f->p->im.scratch, e->f, e->imaginary);
    case PT_E_TEXT: return pt_text(e->text);
    case PT_E_NAME: return variable(f, e);
    case PT_E_FIELD: return field(f, e);
    case PT_E_CALL: return call(f, e);
    case PT_E_TUPLE: return items(f, e, PT_TUPLE);
    case PT_E_LIST: return items(f, e, PT_LIST);
    case PT_E_DICT: return items(f, e, PT_DICT);
    case PT_E_UNARY:
    case PT_E_BINARY: return operation(f, e);
    case PT_E_INDEX: {
        pt_value of = eval(f, e->arg[0]), at = e->n > 1 ? eval(f, e->arg[1]) : pt_none();
        p->line = e->line;
        if (of.kind == PT_OBJECT && !over(p))
            return attribute(f, of, attribute_name(f, at));
        return over(p) || !pt_usable(p, of) || !pt_usable(p, at) ? pt_bad() : pt_item(p, of, at);
    }
    case PT_E_CHOICE: {
        pt_value c = pt_convert(p, PT_BOOL, eval(f, e->arg[0]));
        if (c.kind == PT_BOOL)
            return eval(f, e->arg[c.b ? 1 : 2]);
        pt_fail(p, "pytorch-E013", "a conditional expression depends on what only the run knows");
        return pt_bad();
    }
    }
    return pt_bad();
}

static pt_value eval(frame *f, const pt_expr *e)
{
    if (over(f->p) || !pt_enter(f->p))
        return pt_bad();
    pt_value v = evaluated(f, e);
    pt_leave(f->p);
    return v;
}

/* ---- statements ---- */

static pt_value elements(frame *f, pt_value v)
{
    if (v.kind != PT_OBJECT)
        return v;
    pt_value list = pt_make(&f->p->im.scratch, PT_TUPLE, 0, NULL);
    for (size_t i = 0; i < v.object->n; i++)
        pt_push(&f->p->im.scratch, list.list, v.object->at[i].cell.v);
    return list;
}

static void assign(frame *f, const pt_expr *to, pt_value v)
{
    pt_import *p = f->p;
    if (over(p))
        return;
    if (to->kind == PT_E_NAME) {
        pt_set(p, cell_of(f, to->text), v);
    } else if (to->kind == PT_E_TUPLE || to->kind == PT_E_LIST) {
        v = elements(f, v);
        if (!pt_usable(p, v))
            return;
        if (!pt_is_sequence(v) || v.list->n != to->n) {
            if (!pt_is_bad(v))
                pt_fail(p, "pytorch-E003", "%s is unpacked into %zu variables", pt_kind_name(v.kind), to->n);
            for (size_t i = 0; i < to->n && pt_is_bad(v); i++)
                assign(f, to->arg[i], v);
            return;
        }
        for (size_t i = 0; i < to->n; i++)
            assign(f, to->arg[i], pt_at(v, i));
    } else if (to->kind == PT_E_FIELD) {
        pt_value o = eval(f, to->arg[0]);
        if (o.kind != PT_OBJECT) {
            pt_fail(p, "pytorch-E003", "an attribute of %s is set", pt_kind_name(o.kind));
            return;
        }
        pt_cell *c = pt_attr_find(o.object, to->text);
        if (!o.object->path && !o.object->made && !p->restoring) {
            pt_fail(p, "pytorch-E020",
                    "the model changes an attribute %s of an object that it holds in a list or dict, which "
                    "cannot be "
                    "kept from one run to the next: take it as an input and return its new value",
                    imp_text(&p->im, to->text));
            return;
        }
        if (o.object->path && c)
            pt_keep(p, c, NULL,
                    tn_arena_printf(&p->im.scratch, "%s%s%s", o.object->path, *o.object->path ? "." : "",
                                    imp_text(&p->im, to->text)));
        else if (o.object->path)
            pt_fail(p, "pytorch-E003", "the code sets an attribute \"%s\" that its object does not have",
                    imp_text(&p->im, to->text));
        pt_set(p, c ? c : pt_attr_add(&p->im.scratch, o.object, to->text), v);
    } else {
        pt_fail(p, "pytorch-E003", "the code sets what is no variable");
    }
}

typedef struct place {
    frame *f;
    const pt_stmt *s;
} place;

static void then_block(pt_import *p, void *user)
{
    (void)p;
    run(((place *)user)->f, &((place *)user)->s->body);
}

static void else_block(pt_import *p, void *user)
{
    (void)p;
    run(((place *)user)->f, &((place *)user)->s->orelse);
}

static pt_value while_condition(pt_import *p, void *user)
{
    place *l = user;
    pt_value v = eval(l->f, l->s->value);
    return over(p) || !pt_usable(p, v) ? pt_bad() : pt_convert(p, PT_BOOL, v);
}

static void iteration(pt_import *p, void *user, pt_value i)
{
    place *l = user;
    (void)p;
    if (l->s->target)
        assign(l->f, l->s->target, i);
    run(l->f, &l->s->body);
}

static void run_for(frame *f, const pt_stmt *s)
{
    pt_import *p = f->p;
    const pt_expr *e = s->value;
    place l = {f, s};
    if (e->kind == PT_E_CALL && e->n == 2 && e->arg[0]->kind == PT_E_NAME &&
        imp_is(e->arg[0]->text, "range")) {
        pt_value n = eval(f, e->arg[1]);
        if (!over(p) && pt_usable(p, n))
            pt_loop_run(p, &(pt_loop){.trip = n, .body = iteration, .user = &l});
        return;
    }
    pt_value v = elements(f, eval(f, e));
    if (!over(p) && pt_usable(p, v) && !pt_is_sequence(v))
        pt_fail(p, "pytorch-E003", "a loop goes over %s", pt_kind_name(v.kind));
    for (size_t i = 0; !over(p) && pt_is_sequence(v) && i < v.list->n; i++)
        iteration(p, &l, pt_at(v, i));
}

static void statement(frame *f, const pt_stmt *s)
{
    pt_import *p = f->p;
    place l = {f, s};
    pt_value v;
    p->line = s->line;
    if (!pt_enter(p))
        return;
    switch (s->kind) {
    case PT_S_ASSIGN: assign(f, s->target, eval(f, s->value)); break;
    case PT_S_EXPR: (void)eval(f, s->value); break;
    case PT_S_IF:
        v = eval(f, s->value);
        if (over(p) || !pt_usable(p, v)) {
            if (!p->again && !over(p))
                p->stop = true; /* what it depends on has failed, which was said */
            break;
        }
        v = pt_convert(p, PT_BOOL, v);
        p->line = s->line;
        pt_if(p, v, then_block, else_block, &l);
        break;
    case PT_S_WHILE: pt_loop_run(p, &(pt_loop){.go = while_condition, .body = iteration, .user = &l}); break;
    case PT_S_FOR: run_for(f, s); break;
    case PT_S_WITH: run(f, &s->body); break;
    case PT_S_RETURN: pt_set(p, &f->result, s->value ? eval(f, s->value) : pt_none()); break;
    }
    pt_leave(p);
}

static void run(frame *f, const pt_block *b)
{
    for (size_t i = 0; i < b->n && !over(f->p) && f->result.v.kind == PT_UNSET; i++)
        statement(f, b->at[i]);
}

/* ---- functions ---- */

static bool bind(frame *f, const pt_def *d, const pt_value *self, const pt_args *a)
{
    pt_import *p = f->p;
    size_t skip = self && d->n ? 1 : 0;
    if (skip)
        cell_of(f, d->param[0].name)->v = *self;
    for (size_t i = skip; i < d->n; i++) {
        pt_value v = {.kind = PT_UNSET};
        for (size_t k = 0; k < a->n; k++)
            if (a->keyword[k].n ? imp_same(a->keyword[k], d->param[i].name) : k == i - skip)
                v = a->at[k];
        if (v.kind == PT_UNSET && d->param[i].value)
            v = eval(f, d->param[i].value);
        if (v.kind == PT_UNSET && a->n + skip < d->n) {
            pt_fail(p, "pytorch-E003", "the argument \"%s\" of %s is not given",
                    imp_text(&p->im, d->param[i].name), imp_text(&p->im, d->name));
            return false;
        }
        cell_of(f, d->param[i].name)->v = v;
    }
    return true;
}

pt_value pt_run_def(pt_import *p, const pt_def *d, const pt_value *self, const pt_args *a)
{
    frame f = {.p = p, .result = {{.kind = PT_UNSET}}};
    const char *file = p->file;
    int line = p->line;
    if (p->calls >= PT_MAX_CALLS) {
        pt_fail(p, "pytorch-E012", "functions call one another more than %d deep", PT_MAX_CALLS);
        return pt_bad();
    }
    frame *on_heap = TN_NEW(&p->im.scratch, frame); /* the log keeps its cell */
    *on_heap = f;
    p->calls++;
    p->file = d->file;
    if (bind(on_heap, d, self, a))
        run(on_heap, &d->body);
    p->calls--;
    p->file = file;
    p->line = line;
    tn_strmap_deinit(&on_heap->names);
    pt_value v = on_heap->result.v;
    return p->stop ? pt_bad() : v.kind == PT_UNSET ? pt_none() : v;
}

pt_value pt_call_method(pt_import *p, pt_object *self, tn_bytes name, const pt_args *a)
{
    const pt_def *d = pt_method_of(p, self, name);
    pt_value v = {.kind = PT_OBJECT, .object = self};
    if (d)
        return pt_run_def(p, d, &v, a);
    if (imp_is(name, "__init__") || imp_is(name, "__enter__") || imp_is(name, "__exit__"))
        return pt_none();
    pt_fail(p, "pytorch-E003", "%s has no method \"%s\"; the archive is damaged",
            self->type.n ? imp_text(&p->im, self->type) : "an object", imp_text(&p->im, name));
    return pt_bad();
}
