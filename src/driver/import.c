/* Reading a model into a build: its format, the shapes that the user gives its inputs, the constants of a text. */
#include "driver/driver.h"
#include "tenon/runtime.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DIMS = 8 };

typedef struct shape_text { /* of one input, as it is read */
    uint32_t n;
    int64_t dim[MAX_DIMS];
    const char *symbol[MAX_DIMS];
    tn_input_sizes sizes[MAX_DIMS];
    tn_dtype dtype;
} shape_text;

static const char *skip(const char *at) { return at + strspn(at, " "); }

/* A number; what stands behind it, NULL: there is none. */
static const char *parse_number(const char *at, int64_t *out)
{
    char *end;
    at = skip(at);
    *out = strtoll(at, &end, 10);
    return end == at ? NULL : skip(end);
}

/* What stands behind "..": a number, or nothing, and the range has no end. */
static const char *parse_end(const char *at, int64_t *out)
{
    at = skip(at);
    if (*at != ',' && *at != '|' && *at != ']')
        return parse_number(at, out);
    *out = INT32_MAX;
    return at;
}

/* "16|64|512", "1..8", "0.." or "1..8|2": sizes of a symbol. `at` stands behind the first number, which is v. */
static const char *parse_sizes(tn_build *b, const char *at, int64_t v, tn_input_sizes *out)
{
    int64_t point[TN_MAX_POINTS];
    uint32_t n = 0;
    for (;;) {
        if (at[0] == '.' && at[1] == '.') {
            bool again = out->max != 0;
            out->min = v;
            at = parse_end(at + 2, &out->max);
            if (!at || again || out->min < 0 || out->max < out->min || out->max < 1 || out->max > INT32_MAX)
                return NULL;
        } else {
            if (n == TN_MAX_POINTS || v < 0 || v > INT32_MAX)
                return NULL;
            point[n++] = v;
        }
        if (*at != '|')
            break;
        at = parse_number(at + 1, &v);
        if (!at)
            return NULL;
    }
    out->point = tn_ints_make(&b->arena, n, point);
    return at;
}

/* " 3 ", " batch ", " 1..8|64 " or " batch = 16|64 "; what stands behind it, NULL: it is none of these. */
static const char *parse_dim(tn_build *b, const char *at, shape_text *to)
{
    uint32_t i = to->n++;
    at = skip(at);
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    to->symbol[i] = NULL;
    to->dim[i] = 0;
    to->sizes[i] = (tn_input_sizes){0};
    if (n && !(*at >= '0' && *at <= '9')) {
        to->symbol[i] = tn_intern_n(b->ctx, at, n);
        at = skip(at + n);
        if (*at != '=')
            return at;
        at = parse_number(at + 1, &to->dim[i]);
    } else {
        at = parse_number(at, &to->dim[i]);
        if (at && *at != '.' && *at != '|')
            return to->dim[i] > 0 || to->dim[i] == -1 ? at : NULL;
    }
    int64_t v = to->dim[i];
    to->dim[i] = 0;
    return at ? parse_sizes(b, at, v, &to->sizes[i]) : NULL;
}

/* "1, 3, -1]", "]"; what stands behind the bracket, NULL: it cannot be read. */
static const char *parse_extents(tn_build *b, const char *at, shape_text *to)
{
    to->n = 0;
    if (*skip(at) == ']')
        return skip(at) + 1;
    for (; at && to->n < MAX_DIMS; at++) {
        at = parse_dim(b, at, to);
        if (!at || *at == ']')
            return at ? at + 1 : NULL;
        if (*at != ',')
            return NULL;
    }
    return NULL;
}

/* "1, 3, -1]", "1, 16]:int64" */
static const char *parse_shape(tn_build *b, const char *at, shape_text *to)
{
    to->dtype = (tn_dtype){0};
    at = parse_extents(b, at, to);
    if (!at || *at != ':')
        return at;
    size_t n = strcspn(++at, " \t,");
    return tn_dtype_parse(at, n, &to->dtype) && to->dtype.lanes == 1 ? at + n : NULL;
}

/* "name:[1, 3, -1] other:[batch, 2]:int64" */
static tn_status parse_shapes(tn_build *b, const char *text, tn_import_options *o)
{
    tn_vec(tn_input_shape) shapes = {0};
    tn_status st = TN_OK;
    while (text && *(text += strspn(text, " \t,")) && st == TN_OK) {
        const char *open = strchr(text, '['), *colon = open;
        while (colon && colon > text && *colon != ':')
            colon--;
        shape_text s;
        const char *end = open && colon > text ? parse_shape(b, open + 1, &s) : NULL;
        if (!end) {
            st = tn_error(
                b->ctx, "driver-E005", NULL,
                "--input-shapes: cannot read \"%s\"; write name:[1,3,224,224], or "
                "name:[batch,3,224,224] for a dimension that is known in the run only, or "
                "name:[1..8,16|64] for one from 1 to 8 and one with code of its own for 16 and 64, or "
                "name:[0..,64] for one that may be 0, or name:[1,16]:int64 where the model does not say the "
                "type",
                text);
            break;
        }
        tn_vec_push(&shapes,
                    ((tn_input_shape){tn_intern_n(b->ctx, text, (size_t)(colon - text)), s.n,
                                      tn_arena_copy(&b->arena, s.dim, s.n * sizeof *s.dim, 8),
                                      tn_arena_copy(&b->arena, s.symbol, s.n * sizeof *s.symbol, 8),
                                      tn_arena_copy(&b->arena, s.sizes, s.n * sizeof *s.sizes, 8), s.dtype}));
        text = end;
    }
    o->shape =
        tn_arena_copy(&b->arena, shapes.n ? (void *)shapes.at : (void *)"", shapes.n * sizeof *shapes.at, 8);
    o->n_shape = shapes.n;
    tn_vec_deinit(&shapes);
    return st;
}

/* "a b" or "a,b" */
static void parse_outputs(tn_build *b, const char *text, tn_import_options *o)
{
    static const char between[] = " \t,";
    const char **name = TN_NEW_N(&b->arena, const char *, text ? strlen(text) / 2 + 1 : 0);
    while (text && *(text += strspn(text, between))) {
        size_t n = strcspn(text, between);
        name[o->n_output++] = tn_intern_n(b->ctx, text, n);
        text += n;
    }
    o->output = name;
}

/* A kernel has a variant for each combination of the sizes that are named for its symbols. */
static tn_status check_points(tn_build *b)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < b->graph.n_symbol && n <= TN_MAX_POINTS; i++)
        n *= b->graph.symbol[i].point.n ? b->graph.symbol[i].point.n : 1;
    return !b->opt.input_shapes || n <= TN_MAX_POINTS
               ? TN_OK
               : tn_error(b->ctx, "driver-E141", NULL,
                          "--input-shapes: the sizes named with | have more than %d combinations; name fewer",
                          TN_MAX_POINTS);
}

tn_status tn_stage_import(tn_build *b)
{
    double start = tn_now();
    tn_import_options o = {0};
    tn_progress_say(b, "import", 0, 0);
    o.architecture = b->opt.architecture;
    TN_TRY(parse_shapes(b, b->opt.input_shapes, &o));
    parse_outputs(b, b->opt.outputs, &o);
    o.signature = b->opt.signature;
    TN_TRY(tn_params_constants(b, &o.constant, &o.n_constant));
    o.n_param = tn_params_named(b, &o.param);
    TN_TRY(tn_import(&b->graph, b->model, &b->file, b->opt.model_format, &o));
    TN_TRY(check_points(b));
    b->seconds.import = tn_now() - start;
    return TN_OK;
}
