/* Inputs of a model: their dimensions as numbers or symbols, which names and the user's shapes decide. */
#include "frontend/import/import.h"

#include "base/words.h"
#include "ir/lex.h"

#include <stdio.h>
#include <string.h>

static bool symbol_taken(const imp_model *im, const char *name)
{
    for (uint32_t i = 0; i < im->g->n_symbol; i++)
        if (strcmp(im->g->symbol[i].name, name) == 0)
            return true;
    return tn_lex_reserved(name);
}

/* A new symbol called `want` or, if that is taken, want_2, want_3, ...; NULL: too many, reported. */
static const tn_expr *new_symbol(imp_model *im, const char *want, const tn_loc *loc)
{
    const char *name = want;
    if (im->g->n_symbol >= IMP_MAX_SYMBOLS)
        return (void)imp_error(im, IMP_SYMBOLS, loc,
                               "the inputs have more than %d unknown dimensions; give them fixed shapes",
                               IMP_MAX_SYMBOLS),
               NULL;
    for (int k = 2; symbol_taken(im, name); k++)
        name = tn_arena_printf(&im->scratch, "%s_%d", want, k);
    tn_symbol_info *symbol = tn_graph_symbol(im->g, name);
    if (im->options && tn_words_hold(im->options->from_zero, im->options->n_from_zero, name))
        symbol->min = 0;
    return tn_sym(im->g->pool, symbol->name);
}

static const tn_expr *fresh_symbol(imp_model *im, const tn_loc *loc)
{
    char name[16];
    int k = 0;
    do
        snprintf(name, sizeof name, "d%d", k++);
    while (symbol_taken(im, name) && k < IMP_MAX_SYMBOLS);
    return new_symbol(im, name, loc);
}

/* "batch size" -> batch_size */
static const char *identifier(imp_model *im, tn_bytes s)
{
    enum { LONGEST = 64 };
    char *id = tn_arena_alloc(&im->scratch, LONGEST + 2, 1), *at = id;
    for (size_t i = 0; i < s.n && i < LONGEST; i++) {
        char ch = (char)s.at[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_',
             digit = ch >= '0' && ch <= '9';
        if (i == 0 && !letter)
            *at++ = 'n';
        *at++ = letter || digit ? ch : '_';
    }
    return id;
}

/* Names that exporters write for want of one: "?", "None", "unk__17". */
static bool says_nothing(tn_bytes s)
{
    static const char *const word[] = {"?", "*", "-1", "None", "none", "Any", "unknown", "unk", "dynamic"};
    size_t n = s.n;
    while (n && s.at[n - 1] >= '0' && s.at[n - 1] <= '9')
        n--;
    while (n > 3 && n < s.n && s.at[n - 1] == '_')
        n--; /* before a number alone */
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if ((strlen(word[i]) == n && memcmp(word[i], s.at, n) == 0) ||
            (strlen(word[i]) == s.n && memcmp(word[i], s.at, s.n) == 0))
            return true;
    return n == 0 || s.n == 0;
}

static tn_bytes bytes_of(const char *text) { return (tn_bytes){(const uint8_t *)text, strlen(text)}; }

/* The symbol of a dim_param, or the extent an override gave it. */
static const tn_expr *named_dim(imp_model *im, tn_bytes param, const tn_loc *loc)
{
    uint64_t at;
    if (tn_strmap_get(&im->symbols, (const char *)param.at, param.n, &at))
        return (const tn_expr *)(uintptr_t)at;
    const tn_expr *e =
        says_nothing(param) ? fresh_symbol(im, loc) : new_symbol(im, identifier(im, param), loc);
    tn_strmap_put(&im->symbols, (const char *)param.at, param.n, (uint64_t)(uintptr_t)e);
    return e;
}

static const tn_input_shape *override_of(const imp_model *im, tn_bytes name)
{
    const tn_import_options *o = im->options;
    for (size_t i = 0; o && i < o->n_shape; i++)
        if (strlen(o->shape[i].name) == name.n && memcmp(o->shape[i].name, name.at, name.n) == 0)
            return &o->shape[i];
    return NULL;
}

/* Is its extent told by a name? */
static bool by_name(const imp_dim *d) { return d->extent < 0 && d->name.n > 0; }

bool imp_shape_is_given(const imp_model *im, tn_bytes name) { return override_of(im, name) != NULL; }

static const tn_input_sizes *sizes_of(const tn_input_shape *o, size_t i)
{
    const tn_input_sizes *z = o && o->sizes ? &o->sizes[i] : NULL;
    return z && (z->max || z->point.n) ? z : NULL;
}

/* What the user says of a symbol's sizes; where two dimensions are one symbol, both count. */
static const tn_expr *with_sizes(imp_model *im, const tn_expr *e, const tn_input_sizes *z, const tn_loc *loc)
{
    tn_symbol_info *s = e && e->kind == TN_E_SYM ? tn_graph_find_symbol(im->g, e->u.s) : NULL;
    if (!s)
        return e;
    if (z->max) {
        bool given = s->max != INT32_MAX;
        s->min = given && s->min > z->min ? s->min : z->min;
        s->max = s->max < z->max ? s->max : z->max;
    }
    for (uint32_t i = 0; i < z->point.n; i++)
        tn_symbol_add_point(im->g, s, z->point.at[i]);
    for (uint32_t i = 0; i <= s->point.n; i++)
        if (s->min > s->max || (i < s->point.n && (s->point.at[i] < s->min || s->point.at[i] > s->max)))
            return (void)imp_error(im, IMP_BAD_SIZES, loc,
                                   "the sizes given for %s contradict each other: a range and a size outside "
                                   "of it, or two ranges without a common size",
                                   s->name),
                   NULL;
    return e;
}

/* Dimension i; o: what is given for the input, or NULL. unbound: no symbols, which texts cannot bind. NULL:
 * reported. */
static const tn_expr *input_dim(imp_model *im, const imp_dim *d, const tn_input_shape *o, size_t i,
                                bool unbound, const tn_loc *loc)
{
    int64_t v = o ? o->dim[i] : d->extent;
    const tn_input_sizes *z = unbound ? NULL : sizes_of(o, i);
    if (z) {
        const tn_expr *e = o->symbol && o->symbol[i] ? named_dim(im, bytes_of(o->symbol[i]), loc)
                           : by_name(d)              ? named_dim(im, d->name, loc)
                                                     : fresh_symbol(im, loc);
        return with_sizes(im, e, z, loc);
    }
    if (!unbound && o && o->symbol && o->symbol[i])
        return named_dim(im, bytes_of(o->symbol[i]), loc);
    if (v >= 0 && !(o && v == 0))
        return tn_idx(im->g->pool, v);
    if (unbound)
        return tn_any_dim(im->g->pool);
    return !o && by_name(d) ? named_dim(im, d->name, loc) : fresh_symbol(im, loc);
}

/* A name that an override fixes, or names anew, is so everywhere. */
static void bind_names(imp_model *im, const imp_input *in, const tn_input_shape *o)
{
    const imp_dim *d = in->dim;
    for (size_t i = 0; i < in->n && i < o->ndim; i++) {
        const tn_expr *e = NULL;
        if (by_name(&d[i]) && o->symbol && o->symbol[i])
            e = named_dim(im, bytes_of(o->symbol[i]), imp_make_loc(im, NULL, NULL));
        else if (by_name(&d[i]) && o->dim[i] > 0)
            e = tn_idx(im->g->pool, o->dim[i]);
        if (e)
            tn_strmap_put(&im->symbols, (const char *)d[i].name.at, d[i].name.n, (uint64_t)(uintptr_t)e);
    }
}

static tn_status input_dims(imp_model *im, const imp_input *in, const char *name, const tn_loc *loc,
                            const tn_expr **dim, int *out_rank)
{
    const tn_input_shape *o = override_of(im, in->name);
    if (!in->has_shape && !o)
        return imp_error(im, IMP_NO_TENSOR, loc, "input \"%s\" has no shape; give one (--input-shapes)",
                         name);
    size_t n = in->has_shape ? in->n : o->ndim;
    if (o && o->ndim != n)
        return imp_error(im, IMP_OTHER_RANK, loc,
                         "input \"%s\" has %zu dimensions, but the shape given for it has %u", name, n,
                         (unsigned)o->ndim);
    if (n > IMP_MAX_RANK)
        return imp_error(im, IMP_TOO_LARGE, loc, "input \"%s\" has %zu dimensions; at most %d are supported",
                         name, n, IMP_MAX_RANK);
    static const imp_dim unknown = {.extent = -1};
    for (size_t i = 0; i < n; i++) {
        dim[i] =
            input_dim(im, in->has_shape ? &in->dim[i] : &unknown, o, i, tn_dtype_is_string(in->dtype), loc);
        if (!dim[i])
            return TN_FAIL;
    }
    *out_rank = (int)n;
    return TN_OK;
}

/* The type is the model's; a reader that does not find it in the model takes the user's before. */
static tn_status check_dtype(imp_model *im, const imp_input *in, const char *name, const tn_loc *loc)
{
    const tn_input_shape *o = override_of(im, in->name);
    tn_buf is = {0}, given = {0};
    if (!o || !o->dtype.bits || tn_dtype_eq(o->dtype, in->dtype))
        return TN_OK;
    tn_dtype_print(in->dtype, false, &is);
    tn_dtype_print(o->dtype, false, &given);
    tn_status s = imp_error(im, IMP_BAD_SIZES, loc,
                            "input \"%s\" is %s, but the type given for it is %s; leave the type out", name,
                            tn_buf_cstr(&is), tn_buf_cstr(&given));
    tn_buf_deinit(&is);
    tn_buf_deinit(&given);
    return s;
}

tn_status imp_add_input(imp_model *im, const imp_input *in, const tn_loc *loc)
{
    const tn_expr *dim[IMP_MAX_RANK];
    const char *name = imp_text(im, in->name);
    int rank = 0;
    TN_TRY(input_dims(im, in, name, loc, dim, &rank));
    TN_TRY(check_dtype(im, in, name, loc));
    const tn_type *type = tn_type_tensor(im->g->pool, in->dtype, rank, dim, NULL);
    if (!tn_type_bytes(im->g->pool, type))
        return imp_error(im, IMP_TOO_LARGE, loc, "input \"%s\" would be larger than 2^63 bytes", name);
    tn_node *n = tn_region_add_param(im->g, im->r, name, type);
    n->loc = imp_make_loc(im, "graph input", NULL);
    tn_vec_last(&im->value) = (imp_value){.v = tn_val(n)};
    return TN_OK;
}

tn_status imp_check_shapes(imp_model *im, size_t n, const imp_input in[])
{
    tn_status s = TN_OK;
    for (size_t i = 0; im->options && i < im->options->n_shape; i++) {
        const tn_input_shape *o = &im->options->shape[i];
        tn_buf known = {0};
        bool found = false;
        for (size_t k = 0; k < n; k++) {
            tn_buf_printf(&known, "%s%s", known.n ? ", " : "", imp_text(im, in[k].name));
            if (!imp_is(in[k].name, o->name))
                continue;
            found = true;
            bind_names(im, &in[k], o);
        }
        if (!found)
            s = imp_error(im, IMP_NO_INPUT, imp_make_loc(im, NULL, NULL),
                          "the model has no input \"%s\"; give the shape of an input that it has: %s",
                          o->name, n ? tn_buf_cstr(&known) : "there are none");
        tn_buf_deinit(&known);
    }
    return s;
}
