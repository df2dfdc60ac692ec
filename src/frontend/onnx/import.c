/* ONNX -> Relay: the walk over a model. Inputs become parameters of @main, initialisers constants, nodes calls.
 *
 * Nodes are taken in file order, which ONNX requires to be one of computation; each is converted by a row of the tables
 * of ops_*.c. All operators are looked up before the first is converted, and a failed node only silences
 * those that read its results, so one run reports everything that is wrong. Linear in the size of the model,
 * but for the operators' own inference.
 */
#include "frontend/onnx/onnx.h"

#include <stdio.h>

/* ---- inputs ---- */

/* Name and shape of an input, as the model has them. */
static imp_input input_of(imp_model *im, const onnx_value_info *v, const onnx_type_proto *t)
{
    const onnx_shape *s = t && t->tensor_type ? t->tensor_type->shape : NULL;
    imp_input in = {.name = v->name, .has_shape = s != NULL, .n = s ? s->dim.n : 0};
    imp_dim *dim = TN_NEW_N(&im->scratch, imp_dim, in.n);
    for (size_t i = 0; i < in.n; i++) {
        const onnx_dim *d = (const onnx_dim *)s->dim.at + i;
        const int64_t *value = d->dim_value.at;
        dim[i] = (imp_dim){.extent = d->dim_value.n ? value[d->dim_value.n - 1] : -1, .name = d->dim_param};
    }
    in.dim = dim;
    return in;
}

static tn_status add_input(imp_model *im, const onnx_value_info *v)
{
    const char *name = imp_text(im, v->name);
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    if (imp_lookup(im, v->name)) /* initialiser: a constant, not an input */
        return TN_OK;
    TN_TRY(imp_define(im, v->name, (imp_value){.state = IMP_BAD}, loc));
    const onnx_type_proto *t = v->type;
    bool any = t && t->tensor_type && !t->tensor_type->shape && !imp_shape_is_given(im, v->name);
    if (any && t->tensor_type->elem_type != ONNX_STRING)
        (void)tn_report(
            im->g->ctx, TN_WARNING, "onnx-W003", loc,
            "input \"%s\" has no shape: what reads it is compiled for every number of dimensions; "
            "give it one (--input-shapes) for faster code",
            name);
    if (any || onnx_is_value_type(t))
        return onnx_add_value_input(im, v, loc);
    if (!t || !t->tensor_type)
        return imp_error(im, IMP_NO_TENSOR, loc, "input \"%s\" is %s", name,
                         t && t->sparse_tensor_type.at ? "a sparse tensor; make it a dense one"
                                                       : "of no known type");
    imp_input in = input_of(im, v, t);
    if (!onnx_any_dtype(im, t->tensor_type->elem_type, tn_arena_printf(&im->scratch, "input \"%s\"", name),
                        loc, &in.dtype))
        return TN_FAIL;
    return imp_add_input(im, &in, loc);
}

/* Inputs that are no initialisers: an initialiser that is listed as an input is a constant. */
static const onnx_value_info **true_inputs(imp_model *im, const onnx_graph *m, size_t *out_n)
{
    const onnx_value_info *v = m->input.at,
                          **list = TN_NEW_N(&im->scratch, const onnx_value_info *, m->input.n);
    const onnx_tensor *t = m->initializer.at;
    const onnx_sparse *sparse = m->sparse_initializer.at;
    tn_strmap names = {0};
    uint64_t at;
    *out_n = 0;
    for (size_t i = 0; i < m->initializer.n; i++)
        tn_strmap_put(&names, (const char *)t[i].name.at, t[i].name.n, i);
    for (size_t i = 0; i < m->sparse_initializer.n; i++)
        tn_strmap_put(&names, (const char *)onnx_sparse_name(&sparse[i]).at, onnx_sparse_name(&sparse[i]).n,
                      i);
    for (size_t i = 0; i < m->input.n; i++)
        if (!tn_strmap_get(&names, (const char *)v[i].name.at, v[i].name.n, &at))
            list[(*out_n)++] = &v[i];
    tn_strmap_deinit(&names);
    return list;
}

/* Parameters stand before constants. */
static tn_status add_inputs(imp_model *im, const onnx_graph *m)
{
    size_t n;
    const onnx_value_info **v = true_inputs(im, m, &n);
    imp_input *in = TN_NEW_N(&im->scratch, imp_input, n);
    for (size_t i = 0; i < n; i++)
        in[i] = input_of(im, v[i], v[i]->type);
    tn_status s = imp_check_shapes(im, n, in);
    for (size_t i = 0; i < n; i++)
        if (add_input(im, v[i]) != TN_OK)
            s = TN_FAIL;
    size_t had = im->g->ctx->n_error;
    onnx_constants(im, m, imp_make_loc(im, NULL, NULL));
    return im->g->ctx->n_error == had ? s : TN_FAIL;
}

/* ---- nodes and results ---- */

static tn_status add_nodes(onnx_import *o)
{
    onnx_check_nodes(o, &o->model->graph->node);
    onnx_convert_nodes(o, &o->model->graph->node, o->model->graph->output.n,
                       onnx_result_names(o, o->model->graph));
    return o->im.g->ctx->n_error == o->im.had_errors ? TN_OK : TN_FAIL;
}

static tn_status add_outputs(onnx_import *o, const onnx_graph *m)
{
    const tn_bytes *name = onnx_result_names(o, m);
    onnx_finish_results(o, m->output.n, name);
    return imp_set_results(&o->im, m->output.n, name);
}

/* ---- the model ---- */

static tn_status read_opset(imp_model *im, const onnx_model *m)
{
    const onnx_opset *o = m->opset_import.at;
    int64_t opset = 1; /* models of IR versions 1 and 2 do not tell */
    for (size_t i = 0; i < m->opset_import.n; i++)
        if (onnx_is_standard(o[i].domain))
            opset = o[i].version;
    if (opset > ONNX_OPSET_MAX)
        (void)tn_report(
            im->g->ctx, TN_WARNING, "onnx-W001", imp_make_loc(im, NULL, NULL),
            "the model uses opset %lld; its operators are read as those of opset %d, the newest one known",
            (long long)opset, ONNX_OPSET_MAX);
    if (opset >= 1)
        return TN_OK;
    return tn_error(im->g->ctx, "onnx-E003", imp_make_loc(im, NULL, NULL),
                    "the model uses opset %lld, which does not exist; it is damaged", (long long)opset);
}

/* Text of the model's own, which keeps its lines; what follows a NUL is not shown. */
static void add_metadata(imp_model *im, const char *key, tn_bytes value)
{
    tn_ctx *ctx = im->g->ctx;
    const char *text = tn_arena_strndup(&im->scratch, value.n ? (const char *)value.at : "", value.n);
    if (*text)
        tn_vec_push(&im->g->metadata, ((tn_metadata){tn_intern(ctx, key), tn_intern(ctx, text)}));
}

/* What the model says of itself. Keys of its own have a prefix, so that they never meet those of the format. */
static void read_metadata(imp_model *im, const onnx_model *m)
{
    const onnx_string_pair *prop = m->metadata_props.at;
    add_metadata(im, "producer_name", m->producer_name);
    add_metadata(im, "producer_version", m->producer_version);
    add_metadata(im, "domain", m->domain);
    if (m->model_version) {
        char text[24];
        int n = snprintf(text, sizeof text, "%lld", (long long)m->model_version);
        add_metadata(im, "model_version", (tn_bytes){(const uint8_t *)text, (size_t)n});
    }
    add_metadata(im, "doc_string", m->doc_string);
    add_metadata(im, "graph_name", m->graph ? m->graph->name : (tn_bytes){0});
    add_metadata(im, "graph_doc_string", m->graph ? m->graph->doc_string : (tn_bytes){0});
    for (size_t i = 0; i < m->metadata_props.n; i++)
        add_metadata(im, tn_arena_printf(&im->scratch, "metadata_props.%s", imp_text(im, prop[i].key)),
                     prop[i].value);
}

static tn_status import(onnx_import *o, const tn_file *file)
{
    imp_model *im = &o->im;
    onnx_model *model = TN_NEW(&im->scratch, onnx_model);
    const char *where = "";
    const char *trouble = tn_pb_read(&im->scratch, &onnx_model_msg, file->at, file->n, NULL, model, &where);
    if (trouble)
        return tn_error(im->g->ctx, "onnx-E001", imp_make_loc(im, NULL, NULL),
                        "this is not an ONNX model, or it is damaged: %s (in %s)%s", trouble, where,
                        imp_again(trouble));
    if (!model->graph)
        return tn_error(im->g->ctx, "onnx-E002", imp_make_loc(im, NULL, NULL),
                        "the file has no graph; it is not an ONNX model, or it is damaged");
    TN_TRY(read_opset(im, model));
    read_metadata(im, model);
    o->model = model;
    imp_start(im);
    tn_status inputs = add_inputs(im, model->graph);
    im->had_errors = im->g->ctx->n_error;
    tn_status nodes = add_nodes(o);
    if (nodes == TN_OK)
        nodes = add_outputs(o, model->graph);
    return inputs == TN_OK && nodes == TN_OK ? TN_OK : TN_FAIL;
}

/* The fields of a ModelProto in any order, a graph among them. */
bool tn_sniff_onnx(const uint8_t *at, size_t n)
{
    bool graph = false, version = false;
    tn_pb r = tn_pb_open(at, n);
    while (tn_pb_next(&r)) {
        if (r.field < 1 || r.field > 26)
            return false;
        version = version || (r.field == 1 && r.wire == TN_PB_VARINT);
        graph = graph || (r.field == 7 && r.wire == TN_PB_LEN);
    }
    return graph && version;
}

tn_status tn_import_onnx(tn_graph *g, const char *path, const tn_file *file, const tn_import_options *options)
{
    onnx_import o = {0};
    imp_open(&o.im, &onnx_format, g, path, file, options);
    tn_status s = import(&o, file);
    tn_map_deinit(&o.checked);
    tn_map_deinit(&o.none);
    tn_map_deinit(&o.ranks);
    tn_vec_deinit(&o.sizes);
    imp_close(&o.im);
    return s;
}
