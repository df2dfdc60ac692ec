/* Networks by their names. architectures/ describes them in the language that the reader of TorchScript runs; `m` is an
 * object over the weights of a file, so kernels, channels, numbers of layers and parts of a block are found there. */
#include "frontend/pytorch/pytorch.h"

#include <string.h>

extern const unsigned char pt_architectures[];
extern const size_t pt_architectures_bytes;

typedef struct network {
    const pt_def *def;
    const pt_param *row; /* of a class Names: inputs with their shapes, names */
    pt_value arg[8];
    size_t n_arg;
} network;

static const pt_source *parsed(tn_arena *a)
{
    const char *why = NULL;
    int line = 0;
    const pt_source *s =
        pt_parse(a, "architectures", (tn_bytes){pt_architectures, pt_architectures_bytes}, &why, &line);
    TN_ASSERT(s);
    return s;
}

const pt_source *pt_library(pt_import *p)
{
    if (!p->library)
        p->library = parsed(&p->im.scratch);
    return p->library;
}

const char *pt_architecture_names(tn_arena *a)
{
    const pt_source *s = parsed(a);
    tn_buf b = {0};
    for (size_t i = 0; i < s->n_class; i++)
        for (size_t k = 0; k < s->type[i]->n; k++)
            for (size_t j = 0; j < s->type[i]->field[k].value->n; j++) {
                tn_bytes name = s->type[i]->field[k].value->arg[j]->text;
                tn_buf_printf(&b, "%s%.*s", b.n ? ", " : "", (int)name.n, (const char *)name.at);
            }
    const char *text = tn_arena_strdup(a, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return text;
}

static const pt_param *find_row(const pt_source *s, const char *name)
{
    for (size_t i = 0; i < s->n_class; i++)
        for (size_t k = 0; k < s->type[i]->n; k++)
            for (size_t j = 0; j < s->type[i]->field[k].value->n; j++)
                if (imp_is(s->type[i]->field[k].value->arg[j]->text, name))
                    return &s->type[i]->field[k];
    return NULL;
}

/* ---- the weights as an object ---- */

static pt_object *part_of(pt_import *p, pt_object *o, tn_bytes name)
{
    pt_cell *c = pt_attr_find(o, name);
    if (c)
        return c->v.kind == PT_OBJECT ? c->v.object : NULL;
    pt_object *part = TN_NEW(&p->im.scratch, pt_object);
    part->path = tn_arena_printf(&p->im.scratch, "%s%s%.*s", o->path, *o->path ? "." : "", (int)name.n,
                                 (const char *)name.at);
    pt_attr_add(&p->im.scratch, o, name)->v = (pt_value){.kind = PT_OBJECT, .object = part};
    return part;
}

/* "layer1.0.conv1.weight"; false: one of its parts is a weight already. */
static bool place(pt_import *p, pt_object *o, tn_bytes name, pt_value v)
{
    const uint8_t *dot;
    while (o && (dot = memchr(name.at, '.', name.n)) != NULL) {
        size_t k = (size_t)(dot - name.at);
        o = part_of(p, o, (tn_bytes){name.at, k});
        name = (tn_bytes){dot + 1, name.n - k - 1};
    }
    if (!o || pt_attr_find(o, name))
        return false;
    pt_attr_add(&p->im.scratch, o, name)->v = v;
    return true;
}

static tn_status build(pt_import *p, pt_value weights)
{
    pt_object *o = TN_NEW(&p->im.scratch, pt_object);
    o->path = "";
    p->self = (pt_value){.kind = PT_OBJECT, .object = o};
    for (size_t i = 0; i + 1 < weights.list->n; i += 2) {
        pt_value v = pt_at(weights, i + 1);
        const char *name = imp_text(&p->im, pt_at(weights, i).text);
        v.tensor->name = name;
        if (!place(p, o, pt_at(weights, i).text, v))
            return tn_error(p->im.g->ctx, "pytorch-E066", imp_make_loc(&p->im, NULL, NULL),
                            "the weights have the name \"%s\" twice; the file is damaged", name);
    }
    return TN_OK;
}

/* What only training needs: counts of batches, and heads that help it. */
static bool for_training(const char *name)
{
    const char *last = strrchr(name, '.');
    return strncmp(name, "aux", 3) == 0 || strncmp(name, "AuxLogits", 9) == 0 ||
           strcmp(last ? last + 1 : name, "num_batches_tracked") == 0;
}

static tn_status check_all_used(pt_import *p, pt_value weights)
{
    for (size_t i = 1; i < weights.list->n; i += 2) {
        const pt_tensor *t = pt_at(weights, i).tensor;
        if (t->now.v.kind == PT_NONE && !for_training(t->name))
            return tn_error(p->im.g->ctx, "pytorch-E064", imp_make_loc(&p->im, NULL, NULL),
                            "%s has no weights \"%s\", but the file has; name the network that it is for",
                            p->im.options->architecture, t->name);
    }
    return TN_OK;
}

/* ---- inputs ---- */

static tn_status add_inputs(pt_import *p, network *w)
{
    const pt_expr *rows = w->row->type;
    size_t n = rows->n / 2;
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    imp_input *in = TN_NEW_N(&p->im.scratch, imp_input, n);
    TN_ASSERT(n + 2 <= sizeof w->arg / sizeof *w->arg);
    for (size_t i = 0; i < n; i++) {
        const pt_expr *shape = rows->arg[2 * i + 1];
        imp_dim *dim = TN_NEW_N(&p->im.scratch, imp_dim, shape->n);
        for (size_t d = 0; d < shape->n; d++)
            dim[d] = (imp_dim){shape->arg[d]->i, pt_words("batch").text};
        in[i] = (imp_input){
            .name = rows->arg[2 * i]->text, .dtype = TN_F32, .has_shape = true, .n = shape->n, .dim = dim};
    }
    TN_TRY(imp_check_shapes(&p->im, n, in));
    for (size_t i = 0; i < n; i++) {
        TN_TRY(imp_define(&p->im, in[i].name, (imp_value){.state = IMP_BAD}, loc));
        TN_TRY(imp_add_input(&p->im, &in[i], loc));
        w->arg[w->n_arg++] = pt_tensor_new(p, imp_lookup(&p->im, in[i].name)->v);
    }
    return TN_OK;
}

static pt_value run(pt_import *p, void *user)
{
    network *w = user;
    tn_bytes none[8] = {{0}};
    return pt_run_def(p, w->def, NULL, &(pt_args){w->n_arg, w->arg, none});
}

tn_status pt_run_architecture(pt_import *p, pt_value weights)
{
    const char *name = p->im.options->architecture;
    network w = {0};
    pt_value result;
    w.row = find_row(pt_library(p), name);
    if (!w.row)
        return tn_error(p->im.g->ctx, "pytorch-E062", imp_make_loc(&p->im, NULL, NULL),
                        "the architecture \"%s\" is not known; choose from %s", name,
                        pt_architecture_names(&p->im.scratch));
    w.def = pt_find_def(p->library, w.row->name);
    TN_ASSERT(w.def);
    TN_TRY(build(p, weights));
    w.arg[0] = p->self;
    w.arg[1] = pt_words(name);
    w.n_arg = 2;
    TN_TRY(add_inputs(p, &w));
    TN_TRY(pt_read(p, run, &w, &result));
    TN_TRY(check_all_used(p, weights));
    return pt_give_results(p, result, pt_none());
}
