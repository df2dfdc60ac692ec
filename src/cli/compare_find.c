/* Where two computations of a model begin to differ.
 *
 * First the model is run once more on each side with the results of all nodes as outputs, and the first that differs,
 * in the model's order, is taken: what it is computed from agrees. If the difference is gone then (it came from
 * operators that are computed together, which outputs between them prevent), a search by halves finds the first node
 * whose result differs where it is the model's only output. The node alone, with the values that A has for its
 * inputs, is the part that is written; as long as it does not show the difference by itself, the nodes before it are
 * added. Of an If or a Loop of an ONNX file, the graph inside is searched too (compare_body.c). Of other files the
 * nodes are those of the Relay graph (compare_lines.c). */
#include "cli/compare_find.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STEPS = 16,
    FEW = 64
}; /* nodes before it that a part may reach back; elements of a small operand */

/* ---- parts ---- */

/* A's value of a name, B's where A does not show it. */
const tn_array *tn_finder_value(const finder *f, const char *name)
{
    const tn_array *a = tn_values_find(&f->instead, name);
    a = a ? a : tn_values_find(&f->seen[0], name);
    a = a ? a : tn_values_find(&f->c->in, name);
    return a ? a : tn_values_find(&f->seen[1], name);
}

static bool computes(const tenon_file_info *x, const char *name)
{
    for (uint32_t i = 0; i < x->n_node; i++)
        for (uint32_t k = 0; k < x->node[i].n_out; k++)
            if (strcmp(x->node[i].out[k], name) == 0)
                return true;
    return false;
}

/* The names that a side's file computes; the caller frees `at`. */
static names known_names(const finder *f, int side, const names *all)
{
    names x = {.at = calloc(all->n + 1u, sizeof *x.at)};
    for (uint32_t i = 0; x.at && i < all->n; i++)
        if (f->info[side] == f->graph || computes(f->info[side], all->at[i]))
            x.at[x.n++] = all->at[i];
    return x;
}

/* What is known of a value. */
static tenon_tensor described(const finder *f, const char *name)
{
    const tn_array *a = tn_finder_value(f, name);
    tenon_tensor t = {.name = name};
    if (!a)
        return t;
    t.code = a->type.code;
    t.bits = (uint8_t)a->type.bits;
    t.ndim = a->type.ndim;
    memcpy(t.shape, a->type.shape, sizeof t.shape);
    return t;
}

static int cut(finder *f, int side, const names *in, const names *out, bool whole, tn_side_model *model)
{
    names known = known_names(f, side, out);
    tenon_tensor *t = calloc(in ? in->n + 1u : 1, sizeof *t), *type = calloc(known.n + 1u, sizeof *type);
    for (uint32_t i = 0; type && i < known.n; i++)
        type[i] = described(f, known.at[i]);
    for (uint32_t i = 0; t && in && i < in->n; i++) {
        const tn_array *a = tn_finder_value(f, in->at[i]);
        t[i] = described(f, in->at[i]);
        if (f->constant[i]) {
            t[i].data = a->data;
            t[i].bytes = a->type.data_bytes;
        }
    }
    const tenon_part part = {.size = sizeof part,
                             .n_input = in ? in->n : 0,
                             .n_output = known.n,
                             .input = in ? t : NULL,
                             .output = known.at,
                             .output_type = type,
                             .whole = whole};
    tn_lines *relay = f->relay[side];
    *model = (tn_side_model){0};
    int failed = !t || !type || !known.n;
    if (!failed && relay)
        failed = tn_lines_cut(relay, &part, f->fixed, model);
    else if (!failed)
        failed = tenon_file_cut(f->cutter, f->c->side[side].path, &part, &model->at, &model->n);
    free(t);
    free(type);
    free(known.at);
    return failed ? TN_EXIT_ERROR : TN_EXIT_OK;
}

/* Runs both sides with one part. They fail in silence: an operator may be one that cannot stand at the end. */
int tn_finder_run(finder *f, const names *in, const names *out, const tn_values *values, tn_values value[2])
{
    int status = TN_EXIT_OK;
    for (int k = 0; k < 2 && status == TN_EXIT_OK; k++) {
        tn_side_model model;
        status = cut(f, k, in, out, false, &model);
        if (status == TN_EXIT_OK)
            status = tn_side_run(&f->c->side[k], &model, values, true, &value[k]);
    }
    return status;
}

static bool differs(const finder *f, const tn_values value[2], const char *name, tn_diff *d)
{
    const tn_array *a = tn_values_find(&value[0], name), *b = tn_values_find(&value[1], name);
    if (!a || !b)
        return false;
    tn_diff_make(a, b, &f->c->tolerance, d);
    return tn_diff_is(d);
}

bool tn_finder_differs(const finder *f, const tn_values value[2], uint32_t n, const char *const name[])
{
    tn_diff d;
    for (uint32_t i = 0; i < n; i++)
        if (differs(f, value, name[i], &d))
            return true;
    return false;
}

/* ---- all results at once ---- */

static bool is_wanted(const finder *f, const char *name)
{
    if (!*name)
        return false;
    for (int k = 0; k < 2; k++) /* of what arrays have, no more is needed */
        if (f->c->side[k].kind == TN_SIDE_ARRAYS && !tn_values_find(&f->c->side[k].given, name))
            return false;
    return true;
}

/* Names of the results of nodes; the caller frees `at`. */
static names all_results(const finder *f)
{
    names all = {0};
    size_t room = 1;
    for (uint32_t i = 0; i < f->graph->n_node; i++)
        room += f->graph->node[i].n_out;
    all.at = calloc(room, sizeof *all.at);
    for (uint32_t i = 0; all.at && i < f->graph->n_node; i++)
        for (uint32_t k = 0; k < f->graph->node[i].n_out; k++)
            if (is_wanted(f, f->graph->node[i].out[k]))
                all.at[all.n++] = f->graph->node[i].out[k];
    return all;
}

/* Sides that cannot be run with other models show their outputs alone. */
static void observe(finder *f)
{
    names all = all_results(f);
    for (int k = 0; k < 2 && all.at; k++) {
        tn_side_model model;
        if (f->info[k] && cut(f, k, NULL, &all, false, &model) != TN_EXIT_OK)
            continue;
        if (tn_side_run(&f->c->side[k], f->info[k] ? &model : NULL, &f->c->in, true, &f->seen[k]) !=
            TN_EXIT_OK)
            tn_values_deinit(&f->seen[k]);
    }
    free(all.at);
}

static bool find_first(finder *f)
{
    for (uint32_t i = 0; i < f->graph->n_node; i++)
        if (tn_finder_differs(f, f->seen, f->graph->node[i].n_out, f->graph->node[i].out)) {
            f->node = i;
            return true;
        }
    return false;
}

/* ---- by halves ---- */

static bool node_differs(finder *f, uint32_t i)
{
    const tenon_node_info *n = &f->graph->node[i];
    tn_values value[2] = {0};
    names out = {.at = calloc(n->n_out + 1u, sizeof *out.at)};
    for (uint32_t k = 0; out.at && k < n->n_out; k++)
        if (*n->out[k])
            out.at[out.n++] = n->out[k];
    bool found = out.n && tn_finder_run(f, NULL, &out, &f->c->in, value) == TN_EXIT_OK &&
                 tn_finder_differs(f, value, out.n, out.at);
    tn_values_deinit(&value[0]);
    tn_values_deinit(&value[1]);
    free(out.at);
    return found;
}

static bool find_by_halves(finder *f)
{
    if (!f->info[0] || !f->info[1])
        return false;
    uint32_t low = 0, high = f->graph->n_node;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (node_differs(f, middle))
            high = middle;
        else
            low = middle + 1;
    }
    f->node = low;
    return low < f->graph->n_node;
}

/* ---- the part ---- */

/* The node that computes a value; n_node: none. */
static uint32_t maker_of(const finder *f, const char *name)
{
    for (uint32_t i = 0; i < f->node; i++)
        for (uint32_t k = 0; k < f->graph->node[i].n_out; k++)
            if (strcmp(f->graph->node[i].out[k], name) == 0)
                return i;
    return f->graph->n_node;
}

/* Is the value known on both sides, and so, before the node that differs first, the same? */
static bool is_shown(const finder *f, const char *name)
{
    return tn_values_find(&f->c->in, name) ||
           (tn_values_find(&f->seen[0], name) && tn_values_find(&f->seen[1], name));
}

static bool has(const names *x, const char *name)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (strcmp(x->at[i], name) == 0)
            return true;
    return false;
}

int tn_names_add(names *x, const char *name)
{
    const char **more = has(x, name) ? x->at : realloc(x->at, (x->n + 1) * sizeof *more);
    if (!more)
        return tn_error_print("out of memory");
    x->at = more;
    if (!has(x, name))
        x->at[x->n++] = name;
    return TN_EXIT_OK;
}

/* The operands of a node as inputs of the part: those that both sides show. Others are initialisers, or what
 * computes them belongs to the part; so do nodes without operands, which are constants. */
static int add_operands(finder *f, uint32_t node, names *x)
{
    const tenon_node_info *n = &f->graph->node[node];
    int status = TN_EXIT_OK;
    for (uint32_t i = 0; i < n->n_in && status == TN_EXIT_OK; i++) {
        uint32_t maker = maker_of(f, n->in[i]);
        bool made = maker < f->graph->n_node;
        if (*n->in[i] && is_shown(f, n->in[i]) && !(made && !f->graph->node[maker].n_in)) {
            status = tn_names_add(x, n->in[i]);
        } else if (made && !f->between[maker]) {
            f->between[maker] = true;
            status = add_operands(f, maker, x);
        }
    }
    return status;
}

static int begin_part(finder *f, names *x)
{
    *x = (names){0};
    memset(f->between, 0, f->graph->n_node);
    return add_operands(f, f->node, x);
}

/* One node further back on all ways. */
static int step_back(finder *f)
{
    names x = {0};
    int status = TN_EXIT_OK;
    for (uint32_t i = 0; i < f->in.n && status == TN_EXIT_OK; i++) {
        uint32_t maker = maker_of(f, f->in.at[i]);
        status = maker < f->graph->n_node ? add_operands(f, maker, &x) : tn_names_add(&x, f->in.at[i]);
    }
    free(f->in.at);
    f->in = x;
    return status;
}

/* Whole numbers of a few elements may be shapes and axes, which have to be known when a model is compiled. */
bool tn_finder_constants(finder *f, bool small)
{
    bool any = false;
    free(f->constant);
    f->constant = calloc(f->in.n + 1u, sizeof *f->constant);
    for (uint32_t i = 0; f->constant && i < f->in.n; i++) {
        const tn_array *a = tn_finder_value(f, f->in.at[i]);
        bool integer = a->type.code == kDLInt || a->type.code == kDLUInt || a->type.code == kDLBool;
        bool storable =
            integer || a->type.code == kDLFloat || a->type.code == kDLComplex; /* in an archive of arrays */
        f->constant[i] = !storable || (small && integer && a->type.data_bytes <= 8 * FEW);
        any |= f->constant[i];
    }
    return any;
}

/* Do the sides differ in the part, with A's values as its inputs? */
static bool part_differs(finder *f)
{
    tn_values value[2] = {0}, in = {0};
    int status = f->constant ? TN_EXIT_OK : tn_error_print("out of memory");
    for (uint32_t i = 0; i < f->in.n && status == TN_EXIT_OK; i++) {
        const tn_array *a = tn_finder_value(f, f->in.at[i]);
        DLTensor t = tn_array_view(a);
        status = tn_values_add(&in, a->name, &t, a->type.data_bytes);
    }
    if (status == TN_EXIT_OK)
        status = tn_finder_run(f, &f->in, &f->out, &in, value);
    bool found = status == TN_EXIT_OK && tn_finder_differs(f, value, f->out.n, f->out.at);
    for (int k = 0; k < 2; k++)
        tn_values_deinit(&value[k]);
    tn_values_deinit(&in);
    return found;
}

/* With the types that the graph has, and if that does not do, with what the values are. */
static bool shows(finder *f)
{
    f->fixed = false;
    tn_finder_constants(f, false);
    if (part_differs(f))
        return true;
    f->fixed = f->relay[0] || f->relay[1];
    return (tn_finder_constants(f, true) || f->fixed) && part_differs(f);
}

/* Returns an enum tn_exit; *out_shown: the part shows the difference by itself. */
static int find_part(finder *f, bool *out_shown)
{
    const tenon_node_info *n = &f->graph->node[f->node];
    bool can = f->info[0] && f->info[1];
    int status = begin_part(f, &f->in);
    for (uint32_t k = 0; k < n->n_out && status == TN_EXIT_OK; k++)
        if (*n->out[k])
            status = tn_names_add(&f->out, n->out[k]);
    *out_shown = can && status == TN_EXIT_OK && shows(f);
    for (int i = 0; i < MOST_STEPS && can && !*out_shown && status == TN_EXIT_OK; i++) {
        status = step_back(f);
        *out_shown = status == TN_EXIT_OK && shows(f);
    }
    if (!*out_shown && status == TN_EXIT_OK) { /* the smallest, for somebody to look at */
        free(f->in.at);
        status = begin_part(f, &f->in);
        tn_finder_constants(f, false);
    }
    return status;
}

/* ---- what is said and written ---- */

/* Types that archives lack are bytes there, as NumPy has those of ml_dtypes. */
static int write_value(tn_npz_out *z, const tn_array *a)
{
    tn_array b = *a;
    if (a->type.bits < 8 || a->type.code > kDLBool || a->type.code == kDLBfloat) {
        b.type.code = kDLOpaqueHandle;
        b.type.bits = a->type.bits < 8 ? 8 : a->type.bits;
    }
    return tn_npz_add(z, &b);
}

static int write_values(finder *f, const char *path)
{
    tn_npz_out *z;
    int status = tn_npz_create(path, &z);
    for (uint32_t i = 0; i < f->in.n && status == TN_EXIT_OK; i++)
        if (f->relay[f->own] || !f->constant[i])
            status = write_value(z, tn_finder_value(f, f->in.at[i]));
    return tn_npz_close(z, status);
}

static const char *kind_of_part(const finder *f) { return f->relay[f->own] ? "relay" : "onnx"; }

static int write_part(finder *f)
{
    char path[4096];
    tn_side_model model;
    int status = cut(f, f->own, &f->in, &f->out, true, &model);
    if (status != TN_EXIT_OK)
        tn_messages_print(tenon_messages(f->cutter));
    if (status == TN_EXIT_OK &&
        (size_t)snprintf(path, sizeof path - 4, "%s.%s", f->c->output, kind_of_part(f)) >= sizeof path - 4)
        status = tn_error_print("--output: the name is too long");
    if (status == TN_EXIT_OK)
        status = model.relay ? tn_lines_write(&model, path) : tn_output_write(path, model.at, model.n);
    if (status == TN_EXIT_OK) {
        memcpy(path + strlen(f->c->output), ".npz", 5);
        status = write_values(f, path);
    }
    return status;
}

static void print_first(finder *f)
{
    const tenon_node_info *n = &f->graph->node[f->node];
    uint32_t count = 1;
    tn_diff d;
    for (uint32_t i = 0; i < f->graph->n_node; i++)
        count += f->between[i] && f->graph->node[i].n_in;
    printf(f->c->inside ? "\n%s: the " : "\nThe ", f->c->inside);
    if (count == 1)
        printf("first operator that differs while its inputs agree: %s", n->op);
    else
        printf("difference begins in %u operators, whose last one is %s", (unsigned)count, n->op);
    printf(*n->name ? " \"%s\"\n" : "\n", n->name);
    for (uint32_t k = 0; k < n->n_out; k++) {
        const tn_array *a = tn_values_find(&f->seen[0], n->out[k]);
        const tn_array *b = tn_values_find(&f->seen[1], n->out[k]);
        if (!a || !b || !differs(f, f->seen, n->out[k], &d))
            continue;
        tn_diff_print_line(&d, a, b);
        tn_diff_print(&d, a);
    }
}

static int report(finder *f)
{
    bool shown;
    f->between = calloc(f->graph->n_node + 1u, sizeof *f->between);
    names x;
    int status = f->between ? begin_part(f, &x) : tn_error_print("out of memory");
    if (status != TN_EXIT_OK)
        return status;
    free(x.at);
    print_first(f);
    f->c->found = true;
    status = find_part(f, &shown);
    if (status == TN_EXIT_OK && tn_finder_inside(f))
        return TN_EXIT_OK;
    if (status == TN_EXIT_OK)
        status = write_part(f);
    if (status == TN_EXIT_OK)
        printf("%s: %s.%s, with its inputs in %s.npz\n",
               shown ? "The smallest part that shows it" : "This part, which alone does not show it",
               f->c->output, kind_of_part(f), f->c->output);
    return status;
}

/* An archive may name outputs by their numbers. */
static int name_outputs(tn_values *v, const tenon_file_info *graph)
{
    char number[24];
    for (uint32_t k = 0; k < graph->n_output; k++) {
        snprintf(number, sizeof number, "output_%u", (unsigned)k);
        for (uint32_t i = 0; i < v->n; i++)
            if (strcmp(v->array[i].name, number) == 0 && !computes(graph, number)) {
                free(v->array[i].name);
                v->array[i].name = strdup(graph->output[k]);
                if (!v->array[i].name)
                    return tn_error_print("out of memory");
            }
    }
    return TN_EXIT_OK;
}

/* What is in the file of a side that is no ONNX file. */
static void open_relay(finder *f, int k)
{
    f->relay[k] = tn_lines_open(&f->c->side[k]);
    f->info[k] = f->relay[k] ? &f->relay[k]->info : NULL;
    if (k == 0 && f->relay[0] && f->relay[1] && tn_lines_same(f->relay[0], f->relay[1]))
        f->info[0] = f->info[1];
}

/* What is in the files of the sides: of one where both are the same. */
static int open_files(finder *f)
{
    f->cutter = tenon_new();
    for (int k = 1; k >= 0; k--) {
        const tn_side *s = &f->c->side[k];
        f->file[k] = tenon_new();
        if (!f->cutter || !f->file[k])
            return tn_error_print("out of memory");
        if (!tn_side_can_run(s))
            continue;
        if (k == 0 && f->info[1] && !f->relay[1] && strcmp(s->path, f->c->side[1].path) == 0)
            f->info[0] = f->info[1];
        else if (tenon_file_inspect(f->file[k], s->path, &f->info[k]))
            open_relay(f, k);
        if (!f->info[k])
            continue;
        f->graph = f->info[k];
        f->own = k;
    }
    return TN_EXIT_OK;
}

static uint32_t count_common(const finder *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->seen[0].n; i++)
        n += tn_values_find(&f->seen[1], f->seen[0].array[i].name) != NULL;
    return n;
}

static int find(finder *f, bool *differ)
{
    int status = open_files(f);
    if (status != TN_EXIT_OK)
        return status;
    if (!f->graph) {
        tn_note_print("neither side is a model, so the operator that differs first cannot be found");
        return TN_EXIT_OK;
    }
    for (int k = 0; k < 2 && status == TN_EXIT_OK; k++)
        status = name_outputs(&f->c->side[k].given, f->graph);
    if (status != TN_EXIT_OK)
        return status;
    observe(f);
    if (find_first(f) || (*differ && find_by_halves(f))) {
        *differ = true;
        return report(f);
    }
    if (f->c->inside)
        return TN_EXIT_OK;
    if (!f->c->n_compared && !count_common(f))
        return tn_error_print("A and B have no value in common");
    if (!*differ)
        return TN_EXIT_OK;
    tn_note_print("no part of the model shows the difference, so the operator that makes it cannot be found");
    return TN_EXIT_OK;
}

int tn_compare_find(tn_compare *c, bool *differ)
{
    finder f = {.c = c};
    int status = find(&f, differ);
    for (int k = 0; k < 2; k++) {
        tn_values_deinit(&f.seen[k]);
        tenon_free(f.file[k]);
        tn_lines_close(f.relay[k]);
    }
    free(f.in.at);
    free(f.out.at);
    free(f.constant);
    free(f.between);
    tenon_free(f.cutter);
    return status;
}
