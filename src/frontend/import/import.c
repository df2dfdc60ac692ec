/* A model being read: its state, limits, messages, results. */
#include "frontend/import/convert.h"

#include "base/size.h"
#include "op/core/core.h"

#include <string.h>

enum { MAX_ERRORS = 200 };

void imp_open(imp_model *im, const imp_format *f, tn_graph *g, const char *path, const tn_file *file,
              const tn_import_options *o)
{
    *im = (imp_model){
        .format = f, .g = g, .file = tn_intern(g->ctx, path), .options = o, .whole = {file->at, file->n}};
    if (!tn_size_mul(file->n, 2, &im->memory_limit) ||
        !tn_size_add(im->memory_limit, (size_t)64 << 20, &im->memory_limit))
        im->memory_limit = SIZE_MAX;
    tn_arena_init(&im->scratch);
}

void imp_start(imp_model *im)
{
    im->r = tn_graph_add_function(im->g, "main")->body;
    im->memory_start = imp_memory(im);
    im->had_errors = im->g->ctx->n_error;
}

void imp_close(imp_model *im)
{
    tn_vec_deinit(&im->region);
    tn_vec_deinit(&im->value);
    tn_vec_deinit(&im->host);
    tn_vec_deinit(&im->undo);
    tn_vec_deinit(&im->data);
    tn_vec_deinit(&im->kept);
    tn_strmap_deinit(&im->names);
    tn_strmap_deinit(&im->symbols);
    tn_arena_deinit(&im->scratch);
}

/* ---- messages ---- */

bool imp_same(tn_bytes a, tn_bytes b) { return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0); }

bool imp_is(tn_bytes s, const char *text)
{
    return s.n == strlen(text) && (!s.n || memcmp(s.at, text, s.n) == 0);
}

const tn_loc *imp_make_loc(imp_model *im, const char *node, const char *op)
{
    tn_loc *l = TN_NEW(im->g->arena, tn_loc);
    *l = (tn_loc){.file = im->file, .node = node, .op = op};
    return l;
}

const char *imp_text(imp_model *im, tn_bytes s)
{
    tn_buf b = {0};
    tn_buf_shown(&b, tn_arena_strndup(&im->scratch, (const char *)s.at, s.n));
    const char *text = tn_intern(im->g->ctx, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

tn_status imp_error(imp_model *im, enum imp_trouble t, const tn_loc *loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tn_status s = tn_vreport(im->g->ctx, TN_ERROR, im->format->id[t], loc, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- limits ---- */

size_t imp_memory(const imp_model *im)
{
    return im->g->arena->used_bytes + im->g->ctx->arena.used_bytes + im->scratch.used_bytes +
           im->value.cap * sizeof *im->value.at + im->host.cap * sizeof *im->host.at;
}

bool imp_too_many_errors(const imp_model *im) { return im->g->ctx->n_error - im->had_errors > MAX_ERRORS; }

bool imp_too_much(imp_model *im, const tn_loc *loc)
{
    bool many = imp_too_many_errors(im), large = imp_memory(im) - im->memory_start > im->memory_limit;
    if (!im->stopped && many)
        (void)imp_error(im, IMP_ERRORS, imp_make_loc(im, NULL, NULL),
                        "there are more than %d errors; only the first are reported", MAX_ERRORS);
    else if (!im->stopped && large)
        (void)imp_error(im, IMP_MEMORY, loc ? loc : imp_make_loc(im, NULL, NULL),
                        "reading the model takes more than %zu bytes of memory, too much for a file of its "
                        "size; it is damaged",
                        im->memory_limit);
    im->stopped = im->stopped || many || large;
    return im->stopped;
}

/* ---- results ---- */

static void remove_unused(imp_model *im, tn_region *r)
{
    for (tn_node *n = r->last, *before; n; n = before) {
        before = n->prev;
        bool used = tn_op_is(n, &tn_op_var) || (n->op->flags & (TN_OP_EFFECT | TN_OP_BINDS));
        for (int i = 0; i < n->nout; i++)
            used = used || n->users[i];
        for (int i = 0; i < n->nregion && used; i++) /* depth: bounded by the reader */
            remove_unused(im, n->region[i]);
        if (!used)
            tn_node_remove(im->g, n);
    }
}

/* What the user asked for in the place of the model's results, or these. NULL: reported. */
static const tn_bytes *chosen_results(imp_model *im, size_t *n, const tn_bytes name[])
{
    const tn_import_options *o = im->options;
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    tn_bytes *chosen = TN_NEW_N(&im->scratch, tn_bytes, o ? o->n_output : 0);
    if (o && o->signature && !im->format->signatures) {
        (void)imp_error(im, IMP_UNKNOWN_NAME, loc, "--signature %s: models of this format have no signatures",
                        o->signature);
        return NULL;
    }
    if (!o || !o->n_output)
        return name;
    for (size_t i = 0; i < o->n_output; i++) {
        chosen[i] = (tn_bytes){(const uint8_t *)o->output[i], strlen(o->output[i])};
        bool known = imp_lookup(im, chosen[i]) != NULL, twice = false;
        for (size_t k = 0; k < i; k++)
            twice = twice || imp_same(chosen[i], chosen[k]);
        if (!known)
            (void)imp_error(im, IMP_UNKNOWN_NAME, loc, "--outputs: the model has no value \"%s\"",
                            o->output[i]);
        if (twice)
            (void)imp_error(im, IMP_NAME_TWICE, loc, "--outputs: \"%s\" is named twice", o->output[i]);
        if (!known || twice)
            return NULL;
    }
    *n = o->n_output;
    return chosen;
}

/* Result i as it may stand in @main. */
static tn_status check_result(imp_model *im, const imp_value *x, const char *name)
{
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    if (!x)
        return im->stopped ? TN_FAIL
                           : imp_error(im, IMP_UNKNOWN_NAME, loc,
                                       "no node computes output \"%s\"; the model is damaged", name);
    if (x->state == IMP_UNUSABLE)
        return imp_error(im, IMP_UNSUPPORTED_RESULT, loc,
                         "output \"%s\" is output %u of node %s (%s), which is not supported", name,
                         (unsigned)x->output, x->loc->node, x->loc->op);
    return x->state == IMP_BAD ? TN_FAIL : TN_OK;
}

tn_status imp_set_results(imp_model *im, size_t n, const tn_bytes name[])
{
    tn_status s = TN_OK;
    if (!n)
        return imp_error(im, IMP_NO_OUTPUTS, imp_make_loc(im, NULL, NULL), "the model has no outputs");
    name = chosen_results(im, &n, name);
    if (!name)
        return TN_FAIL;
    tn_value *v = TN_NEW_N(&im->scratch, tn_value, n + im->kept.n);
    const char **text = TN_NEW_N(im->g->arena, const char *, n + im->kept.n);
    for (size_t i = 0; i < n; i++) {
        const imp_value *x = imp_lookup(im, name[i]);
        text[i] = imp_text(im, name[i]);
        if (check_result(im, x, text[i]) != TN_OK)
            s = TN_FAIL;
        v[i] = x ? x->v : (tn_value){0};
        if (v[i].def && !v[i].def->name)
            v[i].def->name = text[i];
    }
    if (s != TN_OK)
        return s;
    n = imp_add_states(im, n, v, text);
    im->g->result_name = text;
    im->g->n_result_name = (uint32_t)n;
    tn_region_set_results(im->g, im->r, (int)n, v);
    remove_unused(im, im->r);
    return TN_OK;
}
