/* Inside an If or a Loop that differs first: the branch that was taken, or the body in the first iteration after which
 * results differ, becomes a model of each side, in a temporary folder. It is searched as any model is, and so are nodes
 * with graphs inside it.
 *
 * The iteration is found by halves: the Loop is run with other limits for the number of iterations. What A carries into
 * the iteration are A's results with the limit before it; so each carried value must have a name as a result. */
#include "cli/compare_find.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRIPS = 1 << 20 };

typedef struct inside {
    finder *f;
    const tenon_node_info *node;
    const char *attribute;
    char where[96];
    tn_values formal; /* of the graph inside, in order */
    char folder[3800], path[2][4096];
} inside;

static int add_scalar(tn_values *v, const char *name, uint8_t code, uint8_t bits, int64_t number)
{
    int64_t wide = number;
    uint8_t narrow = number != 0;
    DLTensor t = {.data = bits == 64 ? (void *)&wide : &narrow, .dtype = {code, bits, 1}};
    return tn_values_add(v, name, &t, bits / 8u);
}

static int add_array(tn_values *v, const char *name, const tn_array *a)
{
    DLTensor t = tn_array_view(a);
    return tn_values_add(v, name, &t, a->type.data_bytes);
}

/* ---- which iteration ---- */

/* The part that showed the difference, with another limit of iterations. Both sides' results: value. */
static int run_trips(inside *x, int64_t limit, tn_values value[2])
{
    finder g = *x->f;
    tn_values in = {0};
    g.in = (names){0};
    g.instead = (tn_values){0};
    int status = add_scalar(&g.instead, x->node->in[0], kDLInt, 64, limit);
    for (uint32_t i = 0; i < x->f->in.n && status == TN_EXIT_OK; i++)
        status = tn_names_add(&g.in, x->f->in.at[i]);
    if (status == TN_EXIT_OK)
        status = tn_names_add(&g.in, x->node->in[0]);
    g.constant = calloc(g.in.n + 1u, sizeof *g.constant);
    for (uint32_t i = 0; g.constant && i < g.in.n && status == TN_EXIT_OK; i++) {
        g.constant[i] = i < x->f->in.n && x->f->constant[i] && strcmp(g.in.at[i], x->node->in[0]) != 0;
        status = add_array(&in, g.in.at[i], tn_finder_value(&g, g.in.at[i]));
    }
    if (status == TN_EXIT_OK && g.constant)
        status = tn_finder_run(&g, &g.in, &g.out, &in, value);
    free(g.constant);
    free(g.in.at);
    tn_values_deinit(&g.instead);
    tn_values_deinit(&in);
    return status;
}

/* Do results differ after so many iterations? *ok: both sides ran. */
static bool differs_after(inside *x, int64_t limit, bool *ok)
{
    tn_values value[2] = {0};
    *ok = run_trips(x, limit, value) == TN_EXIT_OK;
    bool differ = *ok && tn_finder_differs(x->f, value, x->f->out.n, x->f->out.at);
    tn_values_deinit(&value[0]);
    tn_values_deinit(&value[1]);
    return differ;
}

static bool find_trip(inside *x, int64_t *out)
{
    int64_t low = 0, high = 1; /* equal after `low` iterations, different after `high` */
    bool ok = true;
    while (!differs_after(x, high, &ok)) {
        if (!ok || high >= MOST_TRIPS)
            return false;
        low = high;
        high *= 2;
    }
    while (ok && high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (differs_after(x, middle, &ok))
            high = middle;
        else
            low = middle;
    }
    *out = low;
    return ok;
}

/* The number of the iteration, the condition, and what A carries into it. */
static bool enter_loop(inside *x)
{
    const tenon_node_info *n = x->node;
    tn_values value[2] = {0};
    int64_t trip;
    if (n->n_operand < 2 || !*n->in[0] || n->n_out + 2 < n->n_operand || !find_trip(x, &trip))
        return false;
    bool ok = run_trips(x, trip, value) == TN_EXIT_OK &&
              add_scalar(&x->formal, "", kDLInt, 64, trip) == TN_EXIT_OK &&
              add_scalar(&x->formal, "", kDLBool, 8, 1) == TN_EXIT_OK;
    for (uint32_t i = 0; ok && i + 2 < n->n_operand; i++) {
        const tn_array *a = *n->out[i] ? tn_values_find(&value[0], n->out[i]) : NULL;
        ok = a && add_array(&x->formal, "", a) == TN_EXIT_OK;
    }
    tn_values_deinit(&value[0]);
    tn_values_deinit(&value[1]);
    x->attribute = "body";
    snprintf(x->where, sizeof x->where, "In its body, in iteration %lld (from 0 on)", (long long)trip);
    return ok;
}

static bool enter_branch(inside *x)
{
    const tn_array *c = x->node->n_operand ? tn_finder_value(x->f, x->node->in[0]) : NULL;
    if (!c || !c->type.data_bytes)
        return false;
    x->attribute = *(const char *)c->data ? "then_branch" : "else_branch";
    snprintf(x->where, sizeof x->where, "In its %s", x->attribute);
    return true;
}

/* ---- the models ---- */

static tenon_tensor tensor_of(const tn_array *a, bool constant)
{
    tenon_tensor t = {.name = a->name, .code = a->type.code, .bits = a->type.bits, .ndim = a->type.ndim};
    memcpy(t.shape, a->type.shape, sizeof t.shape);
    if (constant) {
        t.data = a->data;
        t.bytes = a->type.data_bytes;
    }
    return t;
}

/* Whole numbers of a few elements may be shapes, which some operators want to know when the model is compiled. */
static bool is_small(const tn_array *a)
{
    return a->type.code <= kDLUInt && a->type.ndim <= 1 && a->type.data_bytes <= 512;
}

/* What the graph inside reads: its own inputs, then values around it; the others are constants of the model. */
static tenon_tensor *tensors(const inside *x, bool constants, uint32_t *out_n)
{
    const tenon_node_info *n = x->node;
    tenon_tensor *t = calloc(x->formal.n + n->n_in + 1u, sizeof *t);
    uint32_t k = 0;
    for (uint32_t i = 0; t && i < x->formal.n; i++)
        t[k++] = tensor_of(&x->formal.array[i], false);
    for (uint32_t i = n->n_operand; t && i < n->n_in; i++) {
        const tn_array *a = *n->in[i] ? tn_finder_value(x->f, n->in[i]) : NULL;
        bool given = false;
        for (uint32_t j = x->formal.n; a && j < k; j++)
            given |= strcmp(t[j].name, a->name) == 0;
        if (a && !given)
            t[k++] = tensor_of(a, constants && is_small(a));
    }
    *out_n = k;
    return t;
}

static bool write_model(inside *x, int side, const tenon_tensor in[], uint32_t n)
{
    const char *result = "";
    const void *data;
    size_t bytes;
    for (uint32_t i = 0; i < x->node->n_out && !*result; i++)
        result = x->node->out[i];
    const tenon_part part = {
        .size = sizeof part, .n_input = n, .input = in, .whole = 1, .node = result, .body = x->attribute};
    snprintf(x->path[side], sizeof x->path[side], "%s/%c.onnx", x->folder, 'A' + side);
    return !tenon_file_cut(x->f->cutter, x->f->c->side[side].path, &part, &data, &bytes) &&
           tn_output_write(x->path[side], data, bytes) == TN_EXIT_OK;
}

/* The values by the names of the models' inputs. Both models must have the same names. */
static bool name_inputs(const inside *x, tn_values *in)
{
    const tenon_file_info *info[2] = {0};
    tenon *t[2] = {tenon_new(), tenon_new()};
    bool ok = true;
    for (int k = 0; k < 2; k++)
        ok = ok && t[k] && !tenon_file_inspect(t[k], x->path[k], &info[k]);
    ok = ok && info[0]->n_input == info[1]->n_input && info[0]->n_input >= x->formal.n;
    for (uint32_t i = 0; ok && i < info[0]->n_input; i++) {
        const char *name = info[0]->input[i];
        const tn_array *a = i < x->formal.n ? &x->formal.array[i] : tn_finder_value(x->f, name);
        ok = a && strcmp(name, info[1]->input[i]) == 0 && add_array(in, name, a) == TN_EXIT_OK;
    }
    tenon_free(t[0]);
    tenon_free(t[1]);
    return ok;
}

/* ---- the search ---- */

static bool outputs_differ(tn_compare *c)
{
    for (uint32_t i = 0; i < c->value[0].n; i++) {
        const tn_array *b = tn_values_find(&c->value[1], c->value[0].array[i].name);
        tn_diff d;
        if (!b)
            continue;
        tn_diff_make(&c->value[0].array[i], b, &c->tolerance, &d);
        if (tn_diff_is(&d))
            return true;
    }
    return false;
}

static bool search(inside *x, bool constants)
{
    tn_compare *outer = x->f->c;
    tn_compare c = {.tolerance = outer->tolerance, .output = outer->output, .inside = x->where};
    uint32_t n;
    tenon_tensor *in = tensors(x, constants, &n);
    bool ok = in != NULL;
    for (int k = 0; k < 2 && ok; k++) {
        ok = write_model(x, k, in, n);
        c.side[k] = outer->side[k];
        c.side[k].path = x->path[k];
    }
    ok = ok && name_inputs(x, &c.in);
    for (int k = 0; k < 2 && ok; k++)
        ok = tn_side_run(&c.side[k], NULL, &c.in, true, &c.value[k]) == TN_EXIT_OK;
    bool differ = ok && outputs_differ(&c);
    if (differ && tn_compare_find(&c, &differ) != TN_EXIT_OK)
        c.found = false;
    for (int k = 0; k < 2; k++) {
        tn_values_deinit(&c.value[k]);
        unlink(x->path[k]);
    }
    tn_values_deinit(&c.in);
    free(in);
    return c.found;
}

bool tn_finder_inside(finder *f)
{
    const char *tmp = getenv("TMPDIR");
    inside x = {.f = f, .node = &f->graph->node[f->node]};
    bool found = false;
    if (!f->info[0] || !f->info[1] || f->relay[0] || f->relay[1])
        return false;
    int n = snprintf(x.folder, sizeof x.folder, "%s/tenon-body-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n >= (int)sizeof x.folder || !mkdtemp(x.folder))
        return false;
    if ((strcmp(x.node->op, "If") == 0 && enter_branch(&x)) ||
        (strcmp(x.node->op, "Loop") == 0 && enter_loop(&x)))
        found = search(&x, false) || search(&x, true);
    tn_values_deinit(&x.formal);
    rmdir(x.folder);
    return found;
}
