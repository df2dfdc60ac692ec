/* Traces of TVM (trace_of_tvm.h). Loops have other names after each step, and GetLoops names all of them anew, so those
 * of a block are followed by their places. Cost: the steps up to the first sample, times names. */
#include "tune/trace_of_tvm.h"

#include <string.h>

const tn_json *trace_item(const tn_json *list, uint32_t i)
{
    return tn_json_is(list, TN_JSON_ARRAY) && i < list->n ? &list->u.at[i] : NULL;
}

uint32_t trace_length(const tn_json *list) { return tn_json_is(list, TN_JSON_ARRAY) ? list->n : 0; }

bool trace_same_text(const tn_json *a, const tn_json *b)
{
    return tn_json_is(a, TN_JSON_STRING) && tn_json_is(b, TN_JSON_STRING) && a->n == b->n &&
           memcmp(a->u.s, b->u.s, a->n) == 0;
}

/* ---- steps and decisions ---- */

const tn_json *trace_part(const tvm_trace *t, uint32_t step, uint32_t part)
{
    return trace_item(trace_item(t->steps, step), part);
}

bool trace_is_kind(const tvm_trace *t, uint32_t step, const char *kind)
{
    return tn_json_is_text(trace_part(t, step, STEP_KIND), kind);
}

static bool is_step(const tn_json *s)
{
    return trace_length(s) == STEP_PARTS && tn_json_is(trace_item(s, STEP_KIND), TN_JSON_STRING) &&
           tn_json_is(trace_item(s, STEP_IN), TN_JSON_ARRAY) &&
           tn_json_is(trace_item(s, STEP_ATTRIBUTES), TN_JSON_ARRAY) &&
           tn_json_is(trace_item(s, STEP_OUT), TN_JSON_ARRAY);
}

/* Factors, as many as the step has results. */
static bool is_split(const tn_json *results, const tn_json *factors)
{
    bool sound = tn_json_is(factors, TN_JSON_ARRAY) && factors->n == trace_length(results);
    for (uint32_t i = 0; sound && i < factors->n; i++)
        sound = tn_json_is(trace_item(factors, i), TN_JSON_INT) && trace_item(factors, i)->u.i > 0;
    return sound;
}

const char *trace_check(const tvm_trace *t)
{
    if (!tn_json_is(t->steps, TN_JSON_ARRAY) || !tn_json_is(t->decisions, TN_JSON_ARRAY))
        return "the trace of TVM in it is not a list of steps and one of decisions";
    for (uint32_t i = 0; i < t->steps->n; i++)
        if (!is_step(trace_item(t->steps, i)))
            return "a step of the trace of TVM in it is not a kind, operands, attributes and results";
    for (uint32_t i = 0; i < t->decisions->n; i++) {
        const tn_json *d = trace_item(t->decisions, i), *at = trace_item(d, 0);
        if (trace_length(d) != 2 || !tn_json_is(at, TN_JSON_INT) || at->u.i < 0 || at->u.i >= t->steps->n)
            return "a decision of the trace of TVM in it is of no step";
        uint32_t step = (uint32_t)at->u.i;
        if (trace_is_kind(t, step, "SamplePerfectTile") &&
            !is_split(trace_part(t, step, STEP_OUT), trace_item(d, 1)))
            return "a decision of the trace of TVM in it is not as many factors above 0 as its step has "
                   "results";
    }
    return NULL;
}

uint32_t trace_find_step(const tvm_trace *t, uint32_t first, const char *kind, const tn_json *operand)
{
    uint32_t i = first;
    while (i < t->steps->n &&
           !(trace_is_kind(t, i, kind) && trace_same_text(trace_item(trace_part(t, i, STEP_IN), 0), operand)))
        i++;
    return i;
}

uint32_t trace_find_source(const tvm_trace *t, uint32_t end, const tn_json *result)
{
    for (uint32_t i = end; i > 0; i--) {
        const tn_json *out = trace_part(t, i - 1, STEP_OUT);
        for (uint32_t k = 0; k < trace_length(out); k++)
            if (trace_same_text(trace_item(out, k), result))
                return i - 1;
    }
    return t->steps->n;
}

const tn_json *trace_decision(const tvm_trace *t, uint32_t step)
{
    for (uint32_t i = 0; i < t->decisions->n; i++)
        if (trace_item(trace_item(t->decisions, i), 0)->u.i == step)
            return trace_item(trace_item(t->decisions, i), 1);
    return NULL;
}

/* ---- loops ---- */

enum { MOST_LOOPS = 4 * TN_TILING_AXES, MOST_NAMES = 4 * MOST_LOOPS };

typedef struct loops {
    uint32_t n, at[MOST_LOOPS]; /* around the block, outermost first */
    uint32_t n_loop;
    uint32_t of[MOST_LOOPS];    /* the loop that each was at the beginning */
    int64_t extent[MOST_LOOPS]; /* 0: not known */
    uint32_t n_name, named[MOST_NAMES];
    const tn_json *name[MOST_NAMES];
} loops;

static bool name_loop(loops *x, const tn_json *name, uint32_t loop)
{
    if (x->n_name == MOST_NAMES)
        return false;
    x->name[x->n_name] = name;
    x->named[x->n_name++] = loop;
    return true;
}

/* The place of the loop around the block; x->n: it is none of these. */
static uint32_t place_of(const loops *x, const tn_json *name)
{
    for (uint32_t i = x->n_name; i > 0; i--)
        if (trace_same_text(x->name[i - 1], name)) {
            uint32_t k = 0;
            while (k < x->n && x->at[k] != x->named[i - 1])
                k++;
            return k;
        }
    return x->n;
}

static bool name_all(loops *x, const tn_json *names)
{
    bool done = trace_length(names) == x->n;
    for (uint32_t i = 0; done && i < x->n; i++)
        done = name_loop(x, trace_item(names, i), x->at[i]);
    return done;
}

/* Factors of the unit are numbers; "None" or null is the rest. */
static bool split(loops *x, const tn_json *in, const tn_json *out, uint32_t place)
{
    uint32_t n = trace_length(out), of = x->of[x->at[place]];
    if (n < 1 || trace_length(in) != n + 1 || x->n + n - 1 > MOST_LOOPS || x->n_loop + n > MOST_LOOPS)
        return false;
    memmove(&x->at[place + n], &x->at[place + 1], (x->n - place - 1) * sizeof *x->at);
    x->n += n - 1;
    for (uint32_t i = 0; i < n; i++) {
        const tn_json *factor = trace_item(in, i + 1);
        uint32_t loop = x->n_loop++;
        x->at[place + i] = loop;
        x->of[loop] = of;
        x->extent[loop] = tn_json_is(factor, TN_JSON_INT) && factor->u.i > 0 ? factor->u.i : 0;
        if (!name_loop(x, trace_item(out, i), loop))
            return false;
    }
    return true;
}

/* They take the places that they have together. */
static bool reorder(loops *x, const tn_json *in)
{
    uint32_t loop[MOST_LOOPS], n = trace_length(in), k = 0;
    bool moves[MOST_LOOPS] = {false};
    if (n > x->n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = place_of(x, trace_item(in, i));
        if (place == x->n || moves[place])
            return false;
        moves[place] = true;
        loop[i] = x->at[place];
    }
    for (uint32_t i = 0; i < x->n && k < n; i++)
        if (moves[i])
            x->at[i] = loop[k++];
    return true;
}

/* The loops from that place on are the unit's, and each loop of the block has one outside. */
static bool take_unit(const loops *x, uint32_t place, tvm_nest *out)
{
    bool has_outer[TN_TILING_AXES] = {false};
    out->n_outer = place;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t a = x->of[x->at[i]];
        int64_t extent = x->extent[x->at[i]];
        if (i < place ? has_outer[a] : extent == 0)
            return false;
        has_outer[a] |= i < place;
        if (i < place)
            out->of[i] = a;
        else if (__builtin_mul_overflow(out->unit[a], extent, &out->unit[a]) || out->unit[a] > INT32_MAX)
            return false;
    }
    return out->n_outer == out->n;
}

bool trace_read_nest(const tvm_trace *t, uint32_t first, const tn_json *block, tvm_nest *out)
{
    loops x = {0};
    out->at = trace_find_step(t, first, "GetLoops", block);
    out->n = out->n_outer = x.n = x.n_loop = trace_length(trace_part(t, out->at, STEP_OUT));
    if (out->n == 0 || out->n > TN_TILING_AXES)
        return false;
    for (uint32_t i = 0; i < x.n; i++) {
        x.at[i] = x.of[i] = out->of[i] = i;
        out->unit[i] = 1;
    }
    bool sound = name_all(&x, trace_part(t, out->at, STEP_OUT));
    for (uint32_t i = out->at + 1; sound && i < t->steps->n; i++) {
        const tn_json *in = trace_part(t, i, STEP_IN), *results = trace_part(t, i, STEP_OUT);
        uint32_t place = place_of(&x, trace_item(in, 0));
        if (trace_is_kind(t, i, "GetLoops") && trace_same_text(trace_item(in, 0), block)) {
            sound = name_all(&x, results);
        } else if (place == x.n) {
            continue;
        } else if (trace_is_kind(t, i, "SamplePerfectTile") || trace_is_kind(t, i, "Fuse")) {
            return trace_is_kind(t, i, "SamplePerfectTile") && x.n == out->n;
        } else if (trace_is_kind(t, i, "Split")) {
            sound = split(&x, in, results, place);
        } else if (trace_is_kind(t, i, "Reorder")) {
            sound = reorder(&x, in);
        } else if (trace_is_kind(t, i, "Blockize")) {
            out->at = trace_find_step(t, i, "GetLoops", trace_item(results, 0));
            return take_unit(&x, place, out) &&
                   trace_length(trace_part(t, out->at, STEP_OUT)) == out->n_outer;
        }
    }
    return false;
}
