/* What a model keeps from run to run: parameters of @main that a package makes its states, each with the result that a
 * run leaves in it. */
#include "frontend/import/convert.h"

#include <string.h>

static imp_kept *find(imp_model *im, const char *name)
{
    for (size_t i = 0; i < im->kept.n; i++)
        if (strcmp(im->kept.at[i].name, name) == 0)
            return &im->kept.at[i];
    return NULL;
}

static bool is_fixed(const tn_type *t)
{
    int64_t n;
    for (int d = 0; d < t->n; d++)
        if (!tn_is_int(t->dim[d], &n))
            return false;
    return t->kind == TN_T_TENSOR && t->n <= IMP_MAX_RANK;
}

/* A function whose only result is the constant. */
static const char *first_function(imp_model *im, const tn_type *t, const tn_blob *first)
{
    const char *name = tn_arena_printf(im->g->arena, "state%zu", im->kept.n);
    tn_region *r = tn_graph_add_function(im->g, name)->body;
    tn_value v = tn_val(tn_constant_new(im->g, r, NULL, t, first, name));
    tn_region_set_results(im->g, r, 1, &v);
    return name;
}

tn_value imp_state(imp_model *im, const char *name, const tn_type *t, const tn_blob *first, const tn_loc *loc)
{
    tn_buf text = {0};
    imp_kept *had = find(im, name);
    if (had)
        return had->begins;
    tn_type_print(t, &text);
    if (!is_fixed(t))
        (void)imp_error(
            im, IMP_TOO_LARGE, loc,
            "the model keeps \"%s\" of type %s from run to run, whose size is not known; give the "
            "shapes of the inputs (--input-shapes)",
            name, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    if (!is_fixed(t))
        return (tn_value){0};
    tn_node *n = tn_region_add_param(im->g, tn_graph_function(im->g, "main")->body, name, t);
    n->loc = imp_make_loc(im, "state", NULL);
    imp_kept s = {.name = tn_intern(im->g->ctx, name),
                  .begins = tn_val(n),
                  .ends = tn_val(n),
                  .first = first ? first_function(im, t, first) : NULL};
    tn_vec_push(&im->kept, s);
    return s.begins;
}

tn_status imp_set_state(imp_model *im, const char *name, tn_value v, const tn_loc *loc)
{
    imp_kept *s = find(im, name);
    if (!s || !v.def)
        return TN_FAIL; /* reported */
    if (v.def->owner != tn_graph_function(im->g, "main")->body)
        return imp_error(
            im, IMP_UNSUPPORTED_RESULT, loc,
            "\"%s\", which the model keeps from run to run, is changed inside of a branch or loop, "
            "which is not supported",
            name);
    if (!tn_type_eq(tn_value_type(v), s->begins.def->type[0])) {
        tn_buf had = {0}, is = {0};
        tn_type_print(s->begins.def->type[0], &had);
        tn_type_print(tn_value_type(v), &is);
        tn_status status = imp_error(im, IMP_UNSUPPORTED_RESULT, loc,
                                     "\"%s\", which the model keeps from run to run, changes from %s to %s",
                                     name, tn_buf_cstr(&had), tn_buf_cstr(&is));
        tn_buf_deinit(&had);
        tn_buf_deinit(&is);
        return status;
    }
    s->ends = v;
    return TN_OK;
}

tn_value imp_state_now(imp_model *im, const char *name)
{
    const imp_kept *s = find(im, name);
    return s ? s->ends : (tn_value){0};
}

/* A name that no result before has. */
static const char *result_name(imp_model *im, const char *name, size_t n, const char *const taken[])
{
    const char *x = name;
    int k = 1;
    for (size_t i = 0; i < n; i++)
        if (strcmp(taken[i], x) == 0) {
            x = tn_arena_printf(im->g->arena, "%s_%d", name, ++k);
            i = SIZE_MAX; /* from the beginning */
        }
    return x;
}

size_t imp_add_states(imp_model *im, size_t n, tn_value v[], const char *name[])
{
    const tn_region *r = tn_graph_function(im->g, "main")->body;
    for (size_t i = 0; i < im->kept.n; i++) {
        const imp_kept *s = &im->kept.at[i];
        uint32_t param = 0;
        while (r->param[param] != s->begins.def)
            param++;
        tn_vec_push(&im->g->state, ((tn_graph_state){param, (uint32_t)n, s->first}));
        name[n] = result_name(im, s->name, n, name);
        v[n++] = s->ends;
    }
    return n;
}
