/* Numbers of Python. One that only the run knows is a tensor of rank 0 in the graph: int64, float64 or bool. */
#include "frontend/pytorch/pytorch.h"

#include "base/size.h"

#include <math.h>
#include <string.h>

/* ---- kinds ---- */

static bool is_known(pt_value v) { return v.kind == PT_INT || v.kind == PT_FLOAT || v.kind == PT_BOOL; }

static enum pt_kind kind_of(pt_value v) { return v.kind == PT_NUMBER ? v.number->kind : v.kind; }

static double real(pt_value v) { return v.kind == PT_FLOAT ? v.f : v.kind == PT_INT ? (double)v.i : v.b; }

static int64_t whole(pt_value v) { return v.kind == PT_INT ? v.i : v.b; }

pt_value pt_number_of(pt_import *p, enum pt_kind kind, tn_value v)
{
    imp_node *c = pt_ctx(p);
    tn_dims d;
    double f;
    int64_t i;
    v = imp_cast(c, v, kind == PT_FLOAT ? TN_F64 : kind == PT_INT ? TN_I64 : TN_BOOL1);
    if (!c->bad && imp_rank(v))
        v = imp_reshape(c, v, 0, NULL);
    pt_stop_if_bad(p, c);
    if (p->stop)
        return pt_bad();
    if (kind != PT_FLOAT && imp_host(c, v, &d) && d.n == 1 && tn_is_int(d.at[0], &i))
        return kind == PT_INT ? pt_int(i) : pt_bool(i != 0);
    if (kind != PT_INT && imp_scalar(c, v, &f))
        return kind == PT_FLOAT ? pt_float(f) : pt_bool(f != 0);
    pt_number *n = TN_NEW(&p->im.scratch, pt_number);
    *n = (pt_number){kind, v};
    return (pt_value){.kind = PT_NUMBER, .number = n};
}

tn_value pt_number_value(pt_import *p, pt_value v)
{
    imp_node *c = pt_ctx(p);
    tn_value x = pt_as_tensor(c, v);
    pt_stop_if_bad(p, c);
    return x;
}

tn_value pt_cell_value(pt_import *p, pt_value v)
{
    return v.kind == PT_VALUE       ? v.value
           : v.kind == PT_LATE_LIST ? pt_tensor_value(p, v.tensor)
                                    : pt_number_value(p, v);
}

/* What is known of it on this path. */
static pt_value resolved(const pt_import *p, pt_value v)
{
    for (uint32_t i = 0; v.kind == PT_NUMBER && i < p->n_passed; i++)
        if (p->path[i].equal && tn_value_eq(p->path[i].subject, v.number->v))
            return pt_int(p->path[i].with);
    return v;
}

static bool is_another(const pt_import *p, pt_value v, pt_value with)
{
    for (uint32_t i = 0; v.kind == PT_NUMBER && with.kind == PT_INT && i < p->n_passed; i++)
        if (!p->path[i].equal && tn_value_eq(p->path[i].subject, v.number->v) && p->path[i].with == with.i)
            return true;
    return false;
}

/* ---- operators ---- */

enum op {
    ADD,
    SUB,
    MUL,
    DIV,
    FLOORDIV,
    REMAINDER,
    POW,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    AND,
    OR,
    XOR,
    MAX,
    MIN,
    SHL,
    SHR
};

static const struct {
    const char *name;
    enum op op;
} ops[] = {{"add", ADD},
           {"sub", SUB},
           {"mul", MUL},
           {"div", DIV},
           {"floordiv", FLOORDIV},
           {"mod", REMAINDER},
           {"remainder", REMAINDER},
           {"pow", POW},
           {"eq", EQ},
           {"ne", NE},
           {"lt", LT},
           {"le", LE},
           {"gt", GT},
           {"ge", GE},
           {"__and__", AND},
           {"__or__", OR},
           {"__xor__", XOR},
           {"prim::max", MAX},
           {"prim::min", MIN},
           {"__lshift__", SHL},
           {"__rshift__", SHR},
           {"+", ADD},
           {"-", SUB},
           {"*", MUL},
           {"/", DIV},
           {"//", FLOORDIV},
           {"%", REMAINDER},
           {"**", POW},
           {"==", EQ},
           {"!=", NE},
           {"<", LT},
           {"<=", LE},
           {">", GT},
           {">=", GE},
           {"and", AND},
           {"or", OR},
           {"sym_max", MAX},
           {"sym_min", MIN},
           {"floor_divide", FLOORDIV}};

static bool compares(enum op o) { return o >= EQ && o <= GE; }

static bool compared(enum op o, double a, double b)
{
    return o == EQ   ? a == b
           : o == NE ? a != b
           : o == LT ? a < b
           : o == LE ? a <= b
           : o == GT ? a > b
                     : a >= b;
}

static int64_t power(int64_t a, int64_t n)
{
    uint64_t r = 1, x = (uint64_t)a;
    for (; n > 0; n >>= 1, x *= x)
        r *= n & 1 ? x : 1;
    return (int64_t)r;
}

static bool fold_ints(enum op o, int64_t a, int64_t b, pt_value *out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (o) {
    case ADD: *out = pt_int((int64_t)(x + y)); return true;
    case SUB: *out = pt_int((int64_t)(x - y)); return true;
    case MUL: *out = pt_int((int64_t)(x * y)); return true;
    case FLOORDIV: *out = pt_int(b && !(b == -1) ? tn_floordiv(a, b) : (int64_t)(0 - x)); return b != 0;
    case REMAINDER: *out = pt_int(b && b != -1 ? tn_floormod(a, b) : 0); return b != 0;
    case POW: *out = b < 0 ? pt_float(pow((double)a, (double)b)) : pt_int(power(a, b)); return true;
    case AND: *out = pt_int(a & b); return true;
    case OR: *out = pt_int(a | b); return true;
    case XOR: *out = pt_int(a ^ b); return true;
    case MAX: *out = pt_int(a > b ? a : b); return true;
    case MIN: *out = pt_int(a < b ? a : b); return true;
    case SHL: *out = pt_int(b >= 0 && b < 64 ? (int64_t)(x << b) : 0); return true;
    case SHR: *out = pt_int(b >= 0 && b < 64 ? a >> b : 0); return true;
    case EQ:
    case NE:
    case LT:
    case LE:
    case GT:
    case GE:
        *out = pt_bool(o == EQ   ? a == b
                       : o == NE ? a != b
                       : o == LT ? a < b
                       : o == LE ? a <= b
                       : o == GT ? a > b
                                 : a >= b);
        return true;
    default: return false;
    }
}

static bool fold(enum op o, pt_value a, pt_value b, pt_value *out)
{
    double x = real(a), y = real(b);
    bool bools = a.kind == PT_BOOL && b.kind == PT_BOOL;
    if (a.kind != PT_FLOAT && b.kind != PT_FLOAT && o != DIV) {
        bool done = fold_ints(o, whole(a), whole(b), out);
        if (done && bools && out->kind == PT_INT && (o == AND || o == OR || o == XOR))
            *out = pt_bool(out->i != 0);
        return done;
    }
    if (compares(o)) {
        *out = pt_bool(compared(o, x, y));
        return true;
    }
    if ((o == DIV || o == FLOORDIV || o == REMAINDER) && y == 0)
        return false;
    double r = o == ADD        ? x + y
               : o == SUB      ? x - y
               : o == MUL      ? x * y
               : o == DIV      ? x / y
               : o == FLOORDIV ? floor(x / y)
               : o == POW      ? pow(x, y)
               : o == MAX      ? fmax(x, y)
               : o == MIN      ? fmin(x, y)
                               : x - floor(x / y) * y;
    *out = pt_float(r);
    return o <= POW || o == MAX || o == MIN;
}

/* In the graph. */
static pt_value late(pt_import *p, enum op o, pt_value a, pt_value b)
{
    static const tn_op *const relay[] = {
        &tn_op_add,         &tn_op_subtract, &tn_op_multiply,      &tn_op_divide,      &tn_op_floor_divide,
        &tn_op_floor_mod,   &tn_op_power,    &tn_op_equal,         &tn_op_not_equal,   &tn_op_less,
        &tn_op_less_equal,  &tn_op_greater,  &tn_op_greater_equal, &tn_op_logical_and, &tn_op_logical_or,
        &tn_op_logical_xor, &tn_op_maximum,  &tn_op_minimum,       &tn_op_left_shift,  &tn_op_right_shift};
    imp_node *c = pt_ctx(p);
    enum pt_kind ka = kind_of(a), kb = kind_of(b);
    bool logic = o == AND || o == OR || o == XOR;
    bool reals = !logic && (ka == PT_FLOAT || kb == PT_FLOAT || o == DIV);
    tn_dtype t = logic ? TN_BOOL1 : reals ? TN_F64 : TN_I64;
    if (logic && (ka != PT_BOOL || kb != PT_BOOL)) {
        imp_refuse(c, IMP_NOT_CONSTANT, "bits of integers that only the run knows are not supported");
        pt_stop_if_bad(p, c);
        return pt_bad();
    }
    tn_value x = imp_cast(c, pt_as_tensor(c, a), t), y = imp_cast(c, pt_as_tensor(c, b), t);
    /* int64 division is floor division in the graph, and extents are known through it */
    const tn_op *op = o == FLOORDIV && !reals ? &tn_op_divide : relay[o];
    tn_value v = imp_binary(c, op, x, y);
    if (o == FLOORDIV && reals)
        v = imp_unary(c, &tn_op_floor, imp_binary(c, &tn_op_divide, x, y));
    pt_stop_if_bad(p, c);
    return p->stop ? pt_bad()
                   : pt_number_of(p,
                                  compares(o) || logic ? PT_BOOL
                                  : reals              ? PT_FLOAT
                                                       : PT_INT,
                                  v);
}

static pt_value numbers(pt_import *p, enum op o, pt_value a, pt_value b)
{
    pt_value v;
    a = resolved(p, a);
    b = resolved(p, b);
    if ((o == EQ || o == NE) && (is_another(p, a, b) || is_another(p, b, a)))
        return pt_bool(o == NE);
    if ((o == AND || o == OR) && a.kind == PT_BOOL && kind_of(b) == PT_BOOL)
        return a.b == (o == AND) ? b : a;
    if ((o == AND || o == OR) && b.kind == PT_BOOL && kind_of(a) == PT_BOOL)
        return b.b == (o == AND) ? a : b;
    if (!is_known(a) || !is_known(b))
        return late(p, o, a, b);
    if (fold(o, a, b, &v))
        return v;
    pt_fail(p, "pytorch-E013", "the model divides by zero, or computes %s of numbers that have none",
            p->loc_op);
    return pt_bad();
}

static pt_value joined(pt_import *p, pt_value a, pt_value b)
{
    pt_value v = pt_make(&p->im.scratch, a.kind, 0, NULL);
    for (size_t i = 0; i < a.list->n; i++)
        pt_push(&p->im.scratch, v.list, pt_at(a, i));
    for (size_t i = 0; i < b.list->n; i++)
        pt_push(&p->im.scratch, v.list, pt_at(b, i));
    v.list->owner = p->im.r;
    v.list->made = a.list->made;
    return v;
}

static pt_value repeated(pt_import *p, pt_value a, int64_t n)
{
    pt_value v = pt_make(&p->im.scratch, a.kind, 0, NULL);
    if (n > 0 && a.list->n && n > (1 << 20) / (int64_t)a.list->n) {
        pt_fail(p, "pytorch-E012", "a list would have %lld times %zu elements", (long long)n, a.list->n);
        return pt_bad();
    }
    for (int64_t k = 0; k < n; k++)
        for (size_t i = 0; i < a.list->n; i++)
            pt_push(&p->im.scratch, v.list, pt_at(a, i));
    v.list->owner = p->im.r;
    return v;
}

static pt_value equal(pt_import *p, pt_value a, pt_value b, bool negated)
{
    pt_value all = pt_bool(true);
    if (pt_is_sequence(a) && pt_is_sequence(b)) {
        if (!pt_enter(p))
            return pt_bad();
        all = pt_bool(a.list->n == b.list->n);
        for (size_t i = 0; i < a.list->n && !(all.kind == PT_BOOL && !all.b) && !p->stop; i++)
            all = pt_binary(p, "__and__", all, pt_binary(p, "eq", pt_at(a, i), pt_at(b, i)));
        pt_leave(p);
    } else {
        all = pt_bool(pt_same(a, b));
    }
    return negated ? pt_binary(p, "__xor__", all, pt_bool(true)) : all;
}

static bool is_text(pt_value v) { return v.kind == PT_TEXT || v.kind == PT_MESSAGE; }

static pt_value texts(pt_import *p, pt_value a, pt_value b)
{
    char *s = tn_arena_alloc(&p->im.scratch, a.text.n + b.text.n, 1);
    if (a.text.n)
        memcpy(s, a.text.at, a.text.n);
    if (b.text.n)
        memcpy(s + a.text.n, b.text.at, b.text.n);
    return (pt_value){.kind = a.kind == b.kind ? a.kind : PT_MESSAGE,
                      .text = {(const uint8_t *)s, a.text.n + b.text.n}};
}

/* May it be another one, too? */
static bool is_chosen(pt_value v)
{
    if (pt_has_tensor(v))
        return v.kind == PT_LATE_LIST || v.tensor->either[0] || v.tensor->alias || v.tensor->fixed;
    return pt_has_parts(v) && v.list->chosen;
}

bool pt_identical(pt_import *p, pt_value a, pt_value b)
{
    if (!pt_same(a, b) && a.kind == b.kind && (is_chosen(a) || is_chosen(b)))
        pt_fail(p, "pytorch-E013",
                "whether two values are one and the same is asked, which only the run knows");
    return pt_same(a, b);
}

static int op_of(tn_bytes name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (imp_is(name, ops[i].name))
            return (int)ops[i].op;
    return -1;
}

static bool is_number(pt_value v) { return is_known(v) || v.kind == PT_NUMBER; }

/* false: not of these values. */
static bool binary(pt_import *p, enum op o, pt_value a, pt_value b, pt_value *out)
{
    *out = pt_bad();
    if (is_number(a) && is_number(b))
        *out = numbers(p, o, a, b);
    else if (o == ADD && pt_is_sequence(a) && a.kind == b.kind)
        *out = joined(p, a, b);
    else if (o == ADD && a.kind == PT_LATE_LIST && b.kind == PT_LIST)
        *out = pt_late_sum(p, a, b.list, false);
    else if (o == ADD && a.kind == PT_LIST && b.kind == PT_LATE_LIST)
        *out = pt_late_sum(p, b, a.list, true);
    else if (o == MUL && pt_is_sequence(a) && b.kind == PT_INT)
        *out = repeated(p, a, b.i);
    else if (o == ADD && is_text(a) && is_text(b))
        *out = texts(p, a, b);
    else if (a.kind == PT_MESSAGE || b.kind == PT_MESSAGE)
        pt_refuse_late(p, "a text");
    else if ((o == EQ || o == NE) && !pt_is_tensor(a) && !pt_is_tensor(b) && a.kind != PT_LATE_LIST &&
             b.kind != PT_LATE_LIST)
        *out = equal(p, a, b, o == NE);
    else
        return false;
    return true;
}

pt_value pt_binary(pt_import *p, const char *op, pt_value a, pt_value b)
{
    pt_value v = pt_bad();
    int o = op_of((tn_bytes){(const uint8_t *)op, strlen(op)});
    const tn_bytes none[2] = {{0}};
    const pt_value at[2] = {a, b};
    if (o < 0)
        pt_fail(p, "pytorch-E003", "the code uses the operator \"%s\", which is not supported", op);
    if (pt_is_bad(a) || pt_is_bad(b) || o < 0 || binary(p, (enum op)o, a, b, &v))
        return v;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) /* of tensors, by the operator's name */
        if ((int)ops[i].op == o)
            return pt_apply(p, pt_words(ops[i].name).text, &(pt_args){2, at, none});
    return v;
}

bool pt_python_binary(pt_import *p, tn_bytes name, const pt_args *a, pt_value *out)
{
    int o = op_of(name);
    return o >= 0 && a->n == 2 && !a->keyword[1].n && binary(p, (enum op)o, a->at[0], a->at[1], out);
}

/* ---- conversions ---- */

static bool holds(pt_value v) /* of what is no number */
{
    return v.kind == PT_NONE                        ? false
           : v.kind == PT_TEXT                      ? v.text.n > 0
           : pt_is_sequence(v) || v.kind == PT_DICT ? v.list->n > 0
                                                    : true;
}

/* What is no number as JSON or Python writes it. */
static pt_value float_of(pt_import *p, tn_bytes s)
{
    static const char *const name[] = {"inf", "Infinity", "-inf", "-Infinity", "nan", "NaN"};
    static const double value[] = {INFINITY, INFINITY, -INFINITY, -INFINITY, NAN, NAN};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        if (imp_is(s, name[i]))
            return pt_float(value[i]);
    pt_fail(p, "pytorch-E013", "\"%s\" is no number", imp_text(&p->im, s));
    return pt_bad();
}

pt_value pt_convert(pt_import *p, enum pt_kind kind, pt_value v)
{
    v = resolved(p, v);
    if (pt_is_bad(v))
        return v;
    if (is_known(v)) {
        double f = real(v);
        if (kind == PT_FLOAT)
            return pt_float(f);
        if (kind == PT_BOOL)
            return pt_bool(f != 0);
        if (v.kind != PT_FLOAT)
            return pt_int(whole(v));
        if (fabs(f) < 9e18)
            return pt_int((int64_t)f);
        pt_fail(p, "pytorch-E013", "int(%g) does not fit 64 bits", f);
        return pt_bad();
    }
    if (v.kind == PT_MESSAGE) {
        pt_refuse_late(p, "a text");
        return pt_bad();
    }
    if (v.kind != PT_TENSOR && v.kind != PT_NUMBER) {
        if (v.kind == PT_TEXT && kind == PT_FLOAT)
            return float_of(p, v.text);
        if (kind == PT_BOOL && v.kind != PT_COMPLEX)
            return pt_bool(holds(v));
        pt_fail(p, "pytorch-E013", "%s is used as one number", pt_kind_name(v.kind));
        return pt_bad();
    }
    imp_node *c = pt_ctx(p);
    tn_value x = pt_as_tensor(c, v);
    const tn_expr *n = x.def ? tn_type_count(c->pool, imp_type(x)) : NULL;
    if (n && !tn_is_value(n, 1)) {
        imp_refuse(c, IMP_BAD_VALUE, "a tensor %s is used as one number", imp_type_text(c, imp_type(x)));
        pt_stop_if_bad(p, c);
        return pt_bad();
    }
    if (kind == PT_BOOL && !c->bad && !tn_dtype_is_bool(imp_type(x)->dtype))
        x = imp_binary(c, &tn_op_not_equal, x, imp_const(c, imp_type(x)->dtype, 0));
    if (kind == PT_INT && !c->bad && tn_dtype_is_float(imp_type(x)->dtype))
        x = imp_unary(c, &tn_op_trunc, x);
    pt_stop_if_bad(p, c);
    return p->stop ? pt_bad() : pt_number_of(p, kind, x);
}
