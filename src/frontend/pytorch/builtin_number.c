/* Functions of numbers. */
#include "frontend/pytorch/builtin.h"

#include <math.h>

static bool negative(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    if (a[0].kind == PT_FLOAT)
        *out = pt_float(-a[0].f);
    else if (a[0].kind == PT_INT || a[0].kind == PT_BOOL || a[0].kind == PT_NUMBER)
        *out = pt_binary(p, "sub", pt_int(0), a[0]);
    else
        return false;
    return true;
}

static bool not_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_binary(p, "__xor__", pt_convert(p, PT_BOOL, a[0]), pt_bool(true));
    return true;
}

static bool is(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_bool(pt_identical(p, a[0], a[1]));
    return true;
}

static bool is_not(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_bool(!pt_identical(p, a[0], a[1]));
    return true;
}

static bool range_length(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    pt_value step = a[2], way = pt_binary(p, "sub", a[1], a[0]);
    if (step.kind != PT_INT || step.i == 0)
        return false;
    if (step.i < 0) {
        way = pt_binary(p, "sub", a[0], a[1]);
        step = pt_int(-step.i);
    }
    *out = pt_binary(p, "floordiv", pt_binary(p, "add", way, pt_int(step.i - 1)), step);
    *out = pt_binary(p, "prim::max", *out, pt_int(0));
    return true;
}

static bool divmod_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    pt_value v[2] = {pt_binary(p, "floordiv", a[0], a[1]), pt_binary(p, "remainder", a[0], a[1])};
    *out = pt_make(&p->im.scratch, PT_TUPLE, 2, v);
    return true;
}

static bool derive_index(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_binary(p, "add", a[1], pt_binary(p, "mul", a[0], a[2]));
    return true;
}

static bool of_reals(pt_value v, double *f)
{
    *f = v.kind == PT_FLOAT ? v.f : v.kind == PT_INT ? (double)v.i : v.kind == PT_BOOL ? v.b : 0;
    return v.kind == PT_FLOAT || v.kind == PT_INT || v.kind == PT_BOOL;
}

static bool floor_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    double f;
    if (pt_is_tensor(a[0]))
        return false;
    if (of_reals(a[0], &f))
        *out = pt_convert(p, PT_INT, pt_float(floor(f)));
    else
        *out = pt_convert(p, PT_INT, pt_binary(p, "floordiv", a[0], pt_int(1)));
    return true;
}

static bool ceil_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value down;
    if (pt_is_tensor(a[0]) || !negative(p, a, 1, &down) || !floor_(p, &down, 1, &down))
        return false;
    return negative(p, &down, n, out);
}

static bool sqrt_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    double f;
    if (pt_is_tensor(a[0]))
        return false;
    *out = of_reals(a[0], &f) ? pt_float(sqrt(f)) : pt_binary(p, "pow", a[0], pt_float(0.5));
    return true;
}

static bool log_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    double f;
    bool known = of_reals(a[0], &f);
    *out = pt_float(log(f));
    return known;
}

static bool exp_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    double f;
    bool known = of_reals(a[0], &f);
    *out = pt_float(exp(f));
    return known;
}

static bool round_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)p, (void)n;
    double f;
    bool known = of_reals(a[0], &f);
    *out = pt_float(nearbyint(f));
    return known;
}

static bool abs_(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    pt_value minus;
    if (pt_is_tensor(a[0]) || !negative(p, a, n, &minus))
        return false;
    *out = pt_binary(p, "prim::max", a[0], minus);
    return true;
}

/* The largest or smallest of a list. */
static bool most_of(pt_import *p, const char *op, const pt_value *a, pt_value *out)
{
    if (!pt_is_sequence(a[0]) || !a[0].list->n)
        return false;
    *out = pt_at(a[0], 0);
    for (size_t i = 1; i < a[0].list->n; i++)
        *out = pt_binary(p, op, *out, pt_at(a[0], i));
    return true;
}

static bool max_of(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    return most_of(p, "prim::max", a, out);
}

static bool sum_of(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    *out = pt_int(0);
    return most_of(p, "add", a, out) || pt_is_sequence(a[0]);
}

/* The elements of a list as truth, joined by the operator. */
static bool truth_of(pt_import *p, const char *op, pt_value list, bool of_none, pt_value *out)
{
    *out = pt_bool(of_none);
    for (size_t i = 0; pt_is_sequence(list) && i < list.list->n; i++)
        *out = pt_binary(p, op, *out, pt_convert(p, PT_BOOL, pt_at(list, i)));
    return pt_is_sequence(list);
}

static bool all_of(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    return truth_of(p, "__and__", a[0], true, out);
}

static bool any_of(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    return truth_of(p, "__or__", a[0], false, out);
}

static bool min_of(pt_import *p, const pt_value *a, size_t n, pt_value *out)
{
    (void)n;
    return most_of(p, "prim::min", a, out);
}

const pt_builtin pt_builtins_number[] = {
    {"neg", 1, 1, negative},
    {"__not__", 1, 1, not_},
    {"__is__", 2, 2, is},
    {"__isnot__", 2, 2, is_not},
    {"__range_length", 3, 3, range_length},
    {"divmod", 2, 2, divmod_},
    {"__derive_index", 3, 3, derive_index},
    {"floor", 1, 1, floor_},
    {"ceil", 1, 1, ceil_},
    {"sqrt", 1, 1, sqrt_},
    {"log", 1, 1, log_},
    {"exp", 1, 1, exp_},
    {"round", 1, 1, round_},
    {"prim::abs", 1, 1, abs_},
    {"abs", 1, 1, abs_},
    {"prim::max", 1, 1, max_of},
    {"prim::min", 1, 1, min_of},
    {"sum", 1, 1, sum_of},
    {"all", 1, 1, all_of},
    {"any", 1, 1, any_of},
    {0},
};
