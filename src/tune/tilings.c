/* Lines of TVM: tile sizes (tilings.h). Cost: the steps of a line, times those that sample. */
#include "tune/tilings.h"

#include "tune/trace_of_tvm.h"

#include <math.h>

enum { MOST_STEPS = 4096, MOST_LEVELS = 8, MOST_BLOCKS = 16 };
static const double FAILED = 1e9; /* seconds, which TVM writes for a candidate that did not run */

uint32_t tn_tvm_line_workload(const tn_json *line)
{
    const tn_json *number = trace_item(line, 0);
    bool is = trace_length(line) == 2 && trace_length(trace_item(line, 1)) == 4 &&
              tn_json_is(number, TN_JSON_INT) && number->u.i >= 0 && number->u.i < TN_NO_WORKLOAD;
    return is ? (uint32_t)number->u.i : TN_NO_WORKLOAD;
}

/* ---- a block in tiles ---- */

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
    return level + 1 < factors->n ? trace_item(factors, factors->n - 1 - level)->u.i : 0;
}

/* The product of all; 0: it is too large. */
static int64_t product_of(const tn_json *factors, int64_t unit)
{
    for (uint32_t i = 0; i < factors->n; i++)
        if (__builtin_mul_overflow(unit, trace_item(factors, i)->u.i, &unit) || unit > INT32_MAX)
            return 0;
    return unit;
}

/* A loop whose innermost part, of so many iterations, a unit takes. */
static bool read_axis(const tn_json *factors, uint32_t n_s, uint32_t n_r, int64_t unit, tn_tiling_axis *out)
{
    if (!factors || (factors->n != n_s && factors->n != n_r) || factors->n < 2)
        return false;
    *out = (tn_tiling_axis){product_of(factors, unit), factors->n == n_r, factor_at(factors, 0),
                            factor_at(factors, 1), factor_at(factors, 2)};
    if (out->extent > 0)
        out->inner *= unit;
    return out->extent > 0;
}

/* The block that the step says the structure of. False: not all of its loops are cut so. */
static bool read_block(const tvm_trace *t, uint32_t step, tn_tiling *out)
{
    const tn_json *in = trace_part(t, step, STEP_IN);
    tvm_nest nest;
    uint32_t n_s = 0, n_r = 0;
    if (!read_structure(trace_item(in, 1), &n_s, &n_r) || !trace_read_nest(t, step, trace_item(in, 0), &nest))
        return false;
    const tn_json *loops = trace_part(t, nest.at, STEP_OUT);
    *out = (tn_tiling){.n = nest.n};
    for (uint32_t i = 0; i < nest.n_outer; i++) {
        uint32_t a = nest.of[i],
                 split = trace_find_step(t, nest.at, "SamplePerfectTile", trace_item(loops, i));
        if (split == t->steps->n ||
            !read_axis(trace_decision(t, split), n_s, n_r, nest.unit[a], &out->axis[a]))
            return false;
    }
    return true;
}

/* ---- a sum in parts ---- */

/* Is the loop all of the reduction of a block? n_spatial of its loops are of results. */
static bool is_reduction(const tvm_trace *t, uint32_t end, const tn_json *loop, int64_t n_spatial)
{
    uint32_t source = trace_find_source(t, end, loop), n = 1;
    if (trace_is_kind(t, source, "Fuse")) {
        const tn_json *in = trace_part(t, source, STEP_IN);
        n = trace_length(in);
        source = trace_find_source(t, source, trace_item(in, 0));
    }
    return trace_is_kind(t, source, "GetLoops") && n_spatial >= 0 &&
           trace_length(trace_part(t, source, STEP_OUT)) - (int64_t)n == n_spatial;
}

/* The reduction, one loop by then, is cut in two, and an RFactor makes parts of one half. Nothing in the trace says how
 * long the loops of results are. */
static bool read_parts(const tvm_trace *t, uint32_t step, tn_tiling *out)
{
    const tn_json *half = trace_item(trace_part(t, step, STEP_IN), 0);
    const tn_json *n_spatial = trace_item(trace_part(t, step, STEP_ATTRIBUTES), 0);
    uint32_t cut = trace_find_source(t, step, half);
    const tn_json *loop = trace_item(trace_part(t, cut, STEP_IN), 0), *factors = NULL;
    if (!trace_is_kind(t, cut, "Split") || !tn_json_is(n_spatial, TN_JSON_INT) ||
        !is_reduction(t, cut, loop, n_spatial->u.i))
        return false;
    uint32_t sample = trace_find_step(t, 0, "SamplePerfectTile", loop);
    if (sample < cut)
        factors = trace_decision(t, sample);
    if (!factors || factors->n != 2 || trace_length(trace_part(t, cut, STEP_OUT)) != 2)
        return false;
    bool inner = trace_same_text(trace_item(trace_part(t, cut, STEP_OUT), 1), half);
    *out = (tn_tiling){.n = 1,
                       .axis = {{.extent = product_of(factors, 1), .reduces = true}},
                       .parts = trace_item(factors, inner)->u.i,
                       .interleaved = inner};
    return out->axis[0].extent > 0;
}

static bool read_step(const tvm_trace *t, uint32_t step, tn_tiling *out)
{
    return trace_is_kind(t, step, "RFactor") ? read_parts(t, step, out) : read_block(t, step, out);
}

static uint32_t read_blocks(const tvm_trace *t, tn_tiling out[TN_MOST_TILINGS])
{
    uint32_t n = 0, left = t->steps->n <= MOST_STEPS ? MOST_BLOCKS : 0;
    for (uint32_t i = 0; i < t->steps->n && left > 0 && n < TN_MOST_TILINGS; i++) {
        if (!trace_is_kind(t, i, "RFactor") &&
            !(trace_is_kind(t, i, "Annotate") &&
              tn_json_is_text(trace_item(trace_part(t, i, STEP_ATTRIBUTES), 0),
                              "meta_schedule.tiling_structure")))
            continue;
        n += read_step(t, i, &out[n]);
        left--;
    }
    return n;
}

/* ---- the rest of a line ---- */

/* HUGE_VAL: not known. */
static double seconds_of(const tn_json *times)
{
    double sum = 0;
    for (uint32_t i = 0; i < trace_length(times); i++) {
        const tn_json *v = trace_item(times, i);
        double x = tn_json_is(v, TN_JSON_INT) ? (double)v->u.i : tn_json_is(v, TN_JSON_REAL) ? v->u.r : -1;
        if (!(x > 0))
            return HUGE_VAL;
        sum += x;
    }
    return trace_length(times) ? sum / trace_length(times) : HUGE_VAL;
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
    for (uint32_t i = 0; i < trace_length(shape) && n >= 0; i++) {
        const tn_json *v = trace_item(shape, i);
        if (!tn_json_is(v, TN_JSON_INT) || v->u.i < 0 || __builtin_mul_overflow(n, v->u.i, &n))
            n = -1;
    }
    return n;
}

/* 0: not known. */
static uint32_t read_arguments(const tn_json *arguments, tn_arena *arena, const tn_operand **out)
{
    tn_operand *all = TN_NEW_N(arena, tn_operand, trace_length(arguments));
    for (uint32_t i = 0; i < trace_length(arguments); i++) {
        const tn_json *a = trace_item(arguments, i), *dtype = trace_item(a, 1);
        int64_t n = elements_of(trace_item(a, 2));
        if (!tn_json_is_text(trace_item(a, 0), "TENSOR") || !tn_json_is(dtype, TN_JSON_STRING) || n < 0)
            return 0;
        all[i] = (tn_operand){tn_arena_strndup(arena, dtype->u.s, dtype->n), n};
    }
    *out = all;
    return trace_length(arguments);
}

const char *tn_tvm_line_read(const tn_json *line, tn_arena *arena, tn_tvm_lines *x)
{
    enum { TRACE, SECONDS, TARGET, ARGUMENTS };
    const tn_json *record = trace_item(line, 1), *pair = trace_item(record, TRACE);
    const tvm_trace t = {trace_item(pair, 0), trace_item(pair, 1)};
    tn_tiling found[TN_MOST_TILINGS];
    const char *wrong = trace_check(&t);
    double seconds = seconds_of(trace_item(record, SECONDS));
    if (wrong || (seconds >= FAILED && seconds < HUGE_VAL) || !is_of_cpu(trace_item(record, TARGET)) ||
        (x->n_tiling && seconds >= x->seconds))
        return wrong;
    uint32_t n = read_blocks(&t, found), n_operand;
    if (n == 0)
        return NULL;
    const tn_operand *operand = NULL;
    n_operand = read_arguments(trace_item(record, ARGUMENTS), arena, &operand);
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
