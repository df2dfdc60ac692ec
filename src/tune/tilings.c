/* Lines of TVM: tile sizes (tilings.h). Cost: the steps of a line, times those that sample. */
#include "tune/tilings.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 4096, MOST_LEVELS = 8, MOST_BLOCKS = 16 };
static const double FAILED = 1e9; /* seconds, which TVM writes for a candidate that did not run */

static const tn_json *item(const tn_json *list, uint32_t i)
{
    return tn_json_is(list, TN_JSON_ARRAY) && i < list->n ? &list->u.at[i] : NULL;
}

static uint32_t length(const tn_json *list) { return tn_json_is(list, TN_JSON_ARRAY) ? list->n : 0; }

static bool same_text(const tn_json *a, const tn_json *b)
{
    return tn_json_is(a, TN_JSON_STRING) && tn_json_is(b, TN_JSON_STRING) && a->n == b->n &&
           memcmp(a->u.s, b->u.s, a->n) == 0;
}

uint32_t tn_tvm_line_workload(const tn_json *line)
{
    const tn_json *number = item(line, 0);
    bool is = length(line) == 2 && length(item(line, 1)) == 4 && tn_json_is(number, TN_JSON_INT) &&
              number->u.i >= 0 && number->u.i < TN_NO_WORKLOAD;
    return is ? (uint32_t)number->u.i : TN_NO_WORKLOAD;
}

/* ---- steps and decisions ---- */

enum { KIND, IN, ATTRIBUTES, OUT, STEP_PARTS }; /* of a step */

static bool is_step(const tn_json *s)
{
    return length(s) == STEP_PARTS && tn_json_is(item(s, KIND), TN_JSON_STRING) &&
           tn_json_is(item(s, IN), TN_JSON_ARRAY) && tn_json_is(item(s, ATTRIBUTES), TN_JSON_ARRAY) &&
           tn_json_is(item(s, OUT), TN_JSON_ARRAY);
}

static bool is_kind(const tn_json *step, const char *kind) { return tn_json_is_text(item(step, KIND), kind); }

/* Factors, as many as the step has results. */
static bool is_split(const tn_json *step, const tn_json *factors)
{
    bool sound = tn_json_is(factors, TN_JSON_ARRAY) && factors->n == length(item(step, OUT));
    for (uint32_t i = 0; sound && i < factors->n; i++)
        sound = tn_json_is(item(factors, i), TN_JSON_INT) && item(factors, i)->u.i > 0;
    return sound;
}

static const char *check_trace(const tn_json *steps, const tn_json *decisions)
{
    if (!tn_json_is(steps, TN_JSON_ARRAY) || !tn_json_is(decisions, TN_JSON_ARRAY))
        return "the trace of TVM in it is not a list of steps and one of decisions";
    for (uint32_t i = 0; i < steps->n; i++)
        if (!is_step(item(steps, i)))
            return "a step of the trace of TVM in it is not a kind, operands, attributes and results";
    for (uint32_t i = 0; i < decisions->n; i++) {
        const tn_json *d = item(decisions, i), *at = item(d, 0);
        if (length(d) != 2 || !tn_json_is(at, TN_JSON_INT) || at->u.i < 0 || at->u.i >= steps->n)
            return "a decision of the trace of TVM in it is of no step";
        const tn_json *step = item(steps, (uint32_t)at->u.i);
        if (is_kind(step, "SamplePerfectTile") && !is_split(step, item(d, 1)))
            return "a decision of the trace of TVM in it is not as many factors above 0 as its step has "
                   "results";
    }
    return NULL;
}

/* ---- a block in tiles ---- */

typedef struct trace {
    const tn_json *steps, *decisions;
} trace;

/* The first step of that kind, from `first` on, whose first operand is that; steps->n: none. */
static uint32_t find_step(const trace *t, uint32_t first, const char *kind, const tn_json *operand)
{
    uint32_t i = first;
    while (i < t->steps->n &&
           !(is_kind(item(t->steps, i), kind) && same_text(item(item(item(t->steps, i), IN), 0), operand)))
        i++;
    return i;
}

static const tn_json *decision_of(const trace *t, uint32_t step)
{
    for (uint32_t i = 0; i < t->decisions->n; i++)
        if (item(item(t->decisions, i), 0)->u.i == step)
            return item(item(t->decisions, i), 1);
    return NULL;
}

/* How many levels there are of each: "\"SSRSRS\"". False: it is of others, or nobody can tell a reduction by it. */
static bool read_structure(const tn_json *text, uint32_t *out_s, uint32_t *out_r)
{
    *out_s = *out_r = 0;
    bool sound = tn_json_is(text, TN_JSON_STRING) && text->n > 2 && text->n <= 2 * MOST_LEVELS + 2;
    for (uint32_t i = 1; sound && i + 1 < text->n; i++) {
        *out_s += text->u.s[i] == 'S';
        *out_r += text->u.s[i] == 'R';
        sound = text->u.s[i] == 'S' || text->u.s[i] == 'R';
    }
    return sound && *out_s != *out_r;
}

/* The factor at that level from the innermost one outwards; 0: there is none, or it is all that is left. */
static int64_t factor_at(const tn_json *factors, uint32_t level)
{
    return level + 1 < factors->n ? item(factors, factors->n - 1 - level)->u.i : 0;
}

static bool read_axis(const tn_json *factors, uint32_t n_s, uint32_t n_r, tn_tiling_axis *out)
{
    *out = (tn_tiling_axis){.extent = 1};
    if (!factors || (factors->n != n_s && factors->n != n_r) || factors->n < 2)
        return false;
    for (uint32_t i = 0; i < factors->n; i++)
        if (__builtin_mul_overflow(out->extent, item(factors, i)->u.i, &out->extent) ||
            out->extent > INT32_MAX)
            return false;
    out->reduces = factors->n == n_r;
    out->inner = factor_at(factors, 0);
    out->middle = factor_at(factors, 1);
    out->outer = factor_at(factors, 2);
    return true;
}

/* The block that the step says the structure of. False: not all of its loops are cut so. */
static bool read_block(const trace *t, uint32_t step, tn_tiling *out)
{
    const tn_json *in = item(item(t->steps, step), IN);
    uint32_t n_s = 0, n_r = 0, at = find_step(t, step, "GetLoops", item(in, 0));
    const tn_json *loops = item(item(t->steps, at), OUT);
    *out = (tn_tiling){.n = length(loops)};
    bool sound = out->n > 0 && out->n <= TN_TILING_AXES && read_structure(item(in, 1), &n_s, &n_r);
    for (uint32_t i = 0; sound && i < out->n; i++) {
        uint32_t split = find_step(t, at, "SamplePerfectTile", item(loops, i));
        sound = split < t->steps->n && read_axis(decision_of(t, split), n_s, n_r, &out->axis[i]);
    }
    return sound;
}

static uint32_t read_blocks(const trace *t, tn_tiling out[TN_MOST_TILINGS])
{
    uint32_t n = 0, left = t->steps->n <= MOST_STEPS ? MOST_BLOCKS : 0;
    for (uint32_t i = 0; i < t->steps->n && left > 0 && n < TN_MOST_TILINGS; i++) {
        const tn_json *step = item(t->steps, i);
        if (!is_kind(step, "Annotate") ||
            !tn_json_is_text(item(item(step, ATTRIBUTES), 0), "meta_schedule.tiling_structure"))
            continue;
        n += read_block(t, i, &out[n]);
        left--;
    }
    return n;
}

/* ---- the rest of a line ---- */

/* HUGE_VAL: not known. */
static double seconds_of(const tn_json *times)
{
    double sum = 0;
    for (uint32_t i = 0; i < length(times); i++) {
        const tn_json *v = item(times, i);
        double x = tn_json_is(v, TN_JSON_INT) ? (double)v->u.i : tn_json_is(v, TN_JSON_REAL) ? v->u.r : -1;
        if (!(x > 0))
            return HUGE_VAL;
        sum += x;
    }
    return length(times) ? sum / length(times) : HUGE_VAL;
}

/* Others than CPUs have tiles of another kind. */
static bool is_of_cpu(const tn_json *target)
{
    const tn_json *kind = tn_json_find(target, "kind");
    return !kind || tn_json_is_text(kind, "llvm") || tn_json_is_text(kind, "c");
}

/* -1: it is no shape. */
static int64_t elements_of(const tn_json *shape)
{
    int64_t n = tn_json_is(shape, TN_JSON_ARRAY) ? 1 : -1;
    for (uint32_t i = 0; i < length(shape) && n >= 0; i++) {
        const tn_json *v = item(shape, i);
        if (!tn_json_is(v, TN_JSON_INT) || v->u.i < 0 || __builtin_mul_overflow(n, v->u.i, &n))
            n = -1;
    }
    return n;
}

/* 0: not known. */
static uint32_t read_arguments(const tn_json *arguments, tn_arena *arena, const tn_operand **out)
{
    tn_operand *all = TN_NEW_N(arena, tn_operand, length(arguments));
    for (uint32_t i = 0; i < length(arguments); i++) {
        const tn_json *a = item(arguments, i), *dtype = item(a, 1);
        int64_t n = elements_of(item(a, 2));
        if (!tn_json_is_text(item(a, 0), "TENSOR") || !tn_json_is(dtype, TN_JSON_STRING) || n < 0)
            return 0;
        all[i] = (tn_operand){tn_arena_strndup(arena, dtype->u.s, dtype->n), n};
    }
    *out = all;
    return length(arguments);
}

const char *tn_tvm_line_read(const tn_json *line, tn_arena *arena, tn_tvm_lines *x)
{
    enum { TRACE, SECONDS, TARGET, ARGUMENTS };
    const tn_json *record = item(line, 1), *pair = item(record, TRACE);
    const trace t = {item(pair, 0), item(pair, 1)};
    tn_tiling found[TN_MOST_TILINGS];
    const char *wrong = check_trace(t.steps, t.decisions);
    double seconds = seconds_of(item(record, SECONDS));
    if (wrong || (seconds >= FAILED && seconds < HUGE_VAL) || !is_of_cpu(item(record, TARGET)) ||
        (x->n_tiling && seconds >= x->seconds))
        return wrong;
    uint32_t n = read_blocks(&t, found), n_operand;
    if (n == 0)
        return NULL;
    const tn_operand *operand = NULL;
    n_operand = read_arguments(item(record, ARGUMENTS), arena, &operand);
    tn_tiling *kept = TN_NEW_N(arena, tn_tiling, n);
    for (uint32_t i = 0; i < n; i++) {
        kept[i] = found[i];
        kept[i].n_operand = n_operand;
        kept[i].operand = operand;
    }
    x->seconds = seconds;
    x->n_tiling = n;
    x->tiling = kept;
    return NULL;
}
