/* Keras -> Relay: which parts of a model lie where. A model is one HDF5 file (.h5: the configuration is an
 * attribute of it), one zip archive (.keras: a configuration and an HDF5 file), or a configuration (.json)
 * and an HDF5 file of weights beside it, either of which may be given. Weights stay where they lie. */
#include "frontend/keras/keras.h"

#include "frontend/import/look.h"

#include <stdlib.h>
#include <string.h>

/* ---- parts ---- */

typedef struct parts {
    tn_bytes config;  /* JSON; n 0: none */
    tn_bytes weights; /* HDF5; n 0: none */
    tn_bytes version; /* "3.15.1"; n 0: not told */
} parts;

static tn_status damaged(keras_import *k, const char *fmt, const char *what)
{
    char *why = tn_arena_printf(&k->im.scratch, fmt, what);
    return tn_error(k->im.g->ctx, "keras-E001", imp_make_loc(&k->im, NULL, NULL),
                    "this is not a Keras model, or it is damaged: %s%s", why, imp_again(why));
}

static tn_status read_member(keras_import *k, imp_zip *z, const char *name, tn_bytes *out)
{
    const imp_zip_entry *e = imp_zip_find(z, name);
    const char *why = e ? imp_zip_read(&k->im.scratch, z, e, out) : NULL;
    return why ? damaged(k, "%s", why) : TN_OK;
}

bool keras_asset(imp_node *c, const char *name, tn_bytes *out)
{
    keras_import *k = keras_of(c);
    const char *path = keras_layer_of(c)->path;
    *out = (tn_bytes){0};
    if (c->bad || !k->archive.n || !path)
        return false;
    const char *member = tn_arena_printf(&k->im.scratch, "assets/%s/%s", path, name);
    c->bad = read_member(k, &k->archive, member, out) != TN_OK;
    return out->n > 0;
}

static tn_status open_archive(keras_import *k, tn_bytes file, parts *p)
{
    tn_bytes metadata = {0};
    imp_zip *z = &k->archive;
    const char *why = imp_zip_open(&k->im.scratch, file, z);
    if (why)
        return damaged(k, "%s", why);
    TN_TRY(read_member(k, z, "config.json", &p->config));
    TN_TRY(read_member(k, z, "model.weights.h5", &p->weights));
    TN_TRY(read_member(k, z, "metadata.json", &metadata));
    if (!p->config.n)
        return damaged(k, "the archive has no %s", "config.json");
    tn_json_doc doc = tn_json_read((const char *)metadata.at, metadata.n);
    tn_bytes version = keras_bytes(tn_json_find(doc.root, "keras_version"));
    p->version = (tn_bytes){
        tn_arena_copy(&k->im.scratch, version.n ? version.at : (const void *)"", version.n, 1), version.n};
    tn_json_free(&doc);
    return TN_OK;
}

/* ---- files beside the model ---- */

/* What the names of the two files have in common: "model" of model.h5, model.weights.h5, model_weights.h5. */
static const char *stem_of(keras_import *k)
{
    static const char *const ends[] = {".h5", ".hdf5", ".keras", ".json", ".weights", "_weights", "-weights"};
    const char *slash = strrchr(k->im.file, '/');
    char *stem = tn_arena_strdup(&k->im.scratch, slash ? slash + 1 : k->im.file);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(stem), end = strlen(ends[i]);
        if (n > end && strcmp(stem + n - end, ends[i]) == 0)
            stem[n - end] = 0;
    }
    return stem;
}

static const tn_file *find_beside(keras_import *k, size_t n, const char *const pattern[])
{
    const char *stem = stem_of(k), *why;
    for (size_t i = 0; i < n; i++) {
        const char *mark = strchr(pattern[i], '*');
        const char *name = mark ? tn_arena_printf(&k->im.scratch, "%s%s", stem, mark + 1) : pattern[i];
        const tn_file *f = imp_open_file(&k->im, name, &why);
        if (f || !why)
            return f;
    }
    return NULL;
}

static void find_config(keras_import *k, parts *p)
{
    static const char *const names[] = {"*.json", "*_config.json", "*.config.json", "model.json",
                                        "config.json"};
    const tn_file *f = find_beside(k, sizeof names / sizeof *names, names);
    if (f)
        p->config = (tn_bytes){f->at, f->n};
}

static void find_weights(keras_import *k, parts *p)
{
    static const char *const names[] = {"*.weights.h5", "*_weights.h5",     "*-weights.h5", "*.h5",
                                        "*.hdf5",       "model.weights.h5", "weights.h5",   "model.h5"};
    const tn_file *f = find_beside(k, sizeof names / sizeof *names, names);
    if (f)
        p->weights = (tn_bytes){f->at, f->n};
}

/* ---- opening ---- */

static tn_bytes attribute(keras_import *k, uint64_t object, const char *name)
{
    tn_hdf5_array a;
    return tn_hdf5_attribute(&k->h5, object, name, &a) ? tn_hdf5_text(&k->h5, &a, 0) : (tn_bytes){0};
}

static tn_bytes name_bytes(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

/* Where variables are: a list of layers in model_weights or the root, or paths of objects. */
static tn_status open_weights(keras_import *k, parts *p)
{
    tn_hdf5_array a;
    if (!p->weights.n)
        return TN_OK;
    if (!tn_hdf5_open(&k->h5, &k->im.scratch, p->weights.at, p->weights.n))
        return damaged(k, "%s", k->h5.error);
    k->h5.inflate = keras_inflate;
    k->weights = tn_hdf5_find(&k->h5, k->h5.root, name_bytes("model_weights"));
    k->weights = k->weights ? k->weights : k->h5.root;
    k->has_weights = true;
    k->by_path = !tn_hdf5_attribute(&k->h5, k->weights, "layer_names", &a) &&
                 !tn_hdf5_attribute(&k->h5, k->weights, "layer_names0", &a);
    if (!p->config.n)
        p->config = attribute(k, k->h5.root, "model_config");
    if (!p->version.n)
        p->version = attribute(k, k->h5.root, "keras_version");
    if (!p->version.n)
        p->version = attribute(k, k->weights, "keras_version");
    tn_bytes backend = attribute(k, k->h5.root, "backend");
    backend = backend.n ? backend : attribute(k, k->weights, "backend");
    k->of_theano = imp_is(backend, "theano");
    return k->h5.error ? damaged(k, "%s", k->h5.error) : TN_OK;
}

static tn_status open_parts(keras_import *k, const tn_file *file, parts *p)
{
    tn_bytes all = {file->at, file->n};
    if (look_begins(all, "PK")) {
        TN_TRY(open_archive(k, all, p));
    } else if (memchr("{ \t\r\n", all.n ? *all.at : 'x', 5)) {
        p->config = all;
        find_weights(k, p);
    } else {
        p->weights = all;
    }
    TN_TRY(open_weights(k, p));
    if (!p->config.n)
        find_config(k, p);
    if (p->config.n)
        return TN_OK;
    return tn_error(k->im.g->ctx, "keras-E003", imp_make_loc(&k->im, NULL, NULL),
                    "the file has weights, but no architecture; put the architecture beside it as %s.json "
                    "(model.to_json()), or save the whole model (model.save())",
                    stem_of(k));
}

/* ---- ends ---- */

static const tn_json *shape_in(const tn_json *config)
{
    static const char *const keys[] = {"batch_shape", "batch_input_shape", "build_input_shape"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const tn_json *v = tn_json_find(config, keys[i]), *inside = tn_json_find(v, "items");
        v = inside ? inside : v;
        if (tn_json_is(v, TN_JSON_ARRAY))
            return v;
    }
    return NULL;
}

/* The shape of an input: that of an InputLayer, or what the first layer of a Sequential says. */
static const tn_json *shape_of(const keras_import *k, const keras_layer *l)
{
    const tn_json *v = shape_in(l->config);
    for (const keras_layer *in = l; !v && in->n_inside && in->inside[0]; in = in->inside[0])
        v = shape_in(in->inside[0]->config);
    v = v ? v : shape_in(k->root->config);
    return v ? v : tn_json_find(tn_json_find(l->json, "build_config"), "input_shape");
}

static bool is_input(const keras_layer *l) { return strcmp(l->class, "InputLayer") == 0; }

static imp_input input_of(keras_import *k, const keras_layer *l)
{
    static const char batch[] = "batch";
    const char *name = l->name;
    if (!is_input(l))
        name = tn_arena_printf(&k->im.scratch, "%s_input", l->name);
    const tn_json *shape = shape_of(k, l);
    imp_input in = {.name = name_bytes(name), .has_shape = shape != NULL, .dtype = TN_F32};
    in.n = shape ? shape->n : 0;
    imp_dim *dim = TN_NEW_N(&k->im.scratch, imp_dim, in.n);
    for (size_t i = 0; i < in.n; i++) {
        dim[i].extent = -1;
        if (!keras_whole(&shape->u.at[i], &dim[i].extent) && i == 0)
            dim[i].name = name_bytes(batch);
    }
    in.dim = dim;
    if (is_input(l) && l->dtype.bits)
        in.dtype = l->dtype;
    else if (!is_input(l) && strcmp(l->class, "Embedding") == 0)
        in.dtype = TN_DT(TN_INT, 32);
    return in;
}

static tn_status add_inputs(keras_import *k, size_t n, keras_layer *const layer[], keras_tensor out[])
{
    imp_input *in = TN_NEW_N(&k->im.scratch, imp_input, n);
    const tn_loc *loc = imp_make_loc(&k->im, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!layer[i])
            return TN_FAIL; /* reported */
        in[i] = input_of(k, layer[i]);
    }
    tn_status s = imp_check_shapes(&k->im, n, in);
    for (size_t i = 0; i < n; i++) {
        if (imp_define(&k->im, in[i].name, (imp_value){.state = IMP_BAD}, loc) != TN_OK ||
            imp_add_input(&k->im, &in[i], loc) != TN_OK)
            s = TN_FAIL;
        out[i].v = tn_vec_last(&k->im.value).v;
        if (!tn_dtype_is_string(in[i].dtype) && out[i].v.def && in[i].n && !k->batch)
            k->batch = imp_type(out[i].v)->dim[0];
    }
    return s;
}

static tn_status add_results(keras_import *k, const keras_call *call)
{
    tn_bytes name[KERAS_MAX_RESULTS];
    for (size_t i = 0; i < call->n_out; i++) {
        const char *stem = keras_result_name(k, k->root, i), *text = stem;
        for (int n = 1; imp_lookup(&k->im, name_bytes(text)); n++)
            text = tn_arena_printf(&k->im.scratch, "%s_%d", stem, n);
        name[i] = name_bytes(text);
        if (!call->out[i].v.def)
            return imp_error(&k->im, IMP_NO_OUTPUTS, imp_make_loc(&k->im, NULL, NULL),
                             "output %zu of the model is one that no layer computes; it is damaged", i);
        imp_value v = {.v = call->out[i].v, .state = call->out[i].v.def ? IMP_OK : IMP_BAD};
        TN_TRY(imp_define(&k->im, name[i], v, imp_make_loc(&k->im, NULL, NULL)));
    }
    return imp_set_results(&k->im, call->n_out, name);
}

/* ---- the model ---- */

/* Files that do not say are those of Keras 3, whose policies are objects, or older ones. */
static void find_version(keras_import *k, const parts *p, const tn_json *root)
{
    static const char unmasked[] = "0123"; /* 3.0 to 3.3 */
    tn_bytes v = p->version.n ? p->version : keras_bytes(tn_json_find(root, "keras_version"));
    bool told = v.n && *v.at >= '1' && *v.at <= '9';
    bool minor = told && v.n > 2 && v.at[1] == '.' && (v.n == 3 || v.at[3] == '.');
    k->version = told ? *v.at - '0' : tn_json_find(root, "registered_name") ? 3 : 2;
    k->merges_masked = k->version >= 3 && !(k->version == 3 && minor && v.at[2] && strchr(unmasked, v.at[2]));
}

static tn_status convert(keras_import *k, const tn_json *root)
{
    keras_layer **input;
    keras_call *call = TN_NEW(&k->im.scratch, keras_call);
    k->root = keras_read_layer(k, root, 0);
    if (!k->root)
        return TN_FAIL;
    if (!(k->root->row->flags & KERAS_MODEL))
        return damaged(k, "its configuration is that of a layer (%s), not of a model", k->root->class);
    TN_TRY(keras_bind(k));
    size_t n = keras_inputs(k, k->root, &input);
    if (!n && k->im.g->ctx->n_error == k->im.had_errors)
        return imp_error(&k->im, IMP_NO_OUTPUTS, imp_make_loc(&k->im, NULL, NULL),
                         "the model has no layers, or no inputs; it is damaged");
    keras_tensor *in = TN_NEW_N(&k->im.scratch, keras_tensor, n);
    TN_TRY(add_inputs(k, n, input, in));
    if (!keras_run(k, k->root, n, in, call) || k->im.g->ctx->n_error > k->im.had_errors)
        return TN_FAIL;
    return add_results(k, call);
}

static tn_status import(keras_import *k, const tn_file *file)
{
    parts p = {0};
    TN_TRY(open_parts(k, file, &p));
    tn_json_doc doc = tn_json_read_python((const char *)p.config.at, p.config.n);
    tn_status s = TN_FAIL;
    if (doc.error) {
        s = tn_error(k->im.g->ctx, "keras-E017", imp_make_loc(&k->im, NULL, NULL),
                     "the configuration of the model is no valid JSON: %s (byte %zu); save the model again",
                     doc.error, doc.error_at);
    } else {
        find_version(k, &p, doc.root);
        imp_start(&k->im);
        s = convert(k, doc.root);
        if (k->im.g->ctx->n_error > k->im.had_errors)
            s = TN_FAIL;
    }
    tn_json_free(&doc);
    return s;
}

/* An HDF5 file, an archive with one in it (its directory is at the end), or the JSON text of an architecture. */
bool tn_sniff_keras(const uint8_t *at, size_t n)
{
    enum { LOOKED_AT = 4096 };
    tn_bytes all = {at, n}, head = look_head(all, LOOKED_AT), tail = {at + n - head.n, head.n};
    if (look_begins(all, "\x89HDF\r\n\x1a\n"))
        return true;
    if (look_begins(all, "PK\3\4"))
        return look_holds(tail, "model.weights.h5") && look_holds(tail, "config.json");
    head = look_past_blanks(head);
    return look_begins(head, "{") && look_holds(head, "\"class_name\"") && look_holds(head, "\"config\"") &&
           look_holds(head, "\"layers\"");
}

tn_status tn_import_keras(tn_graph *g, const char *path, const tn_file *file,
                          const tn_import_options *options)
{
    keras_import k = {0};
    imp_open(&k.im, &keras_format, g, path, file, options);
    tn_status s = import(&k, file);
    keras_free_graphs(&k);
    tn_hdf5_close(&k.h5);
    imp_zip_close(&k.archive);
    imp_close(&k.im);
    return s;
}

/* ---- what the shared importer must know ---- */

static const imp_table no_tables[] = {{0}};

const imp_format keras_format = {
    .version = "Keras",
    .tables = no_tables,
    .id =
        {
            [IMP_NO_OUTPUTS] = "keras-E002",    [IMP_UNKNOWN_OPERATOR] = "keras-E004",
            [IMP_OTHER_VERSION] = "keras-E004", [IMP_ATTR_TYPE] = "keras-E005",
            [IMP_ATTR_MISSING] = "keras-E005",  [IMP_ATTR_UNKNOWN] = "keras-E018",
            [IMP_BAD_VALUE] = "keras-E005",     [IMP_BAD_TENSOR] = "keras-E006",
            [IMP_BAD_FILE] = "keras-E006",      [IMP_UNKNOWN_NAME] = "keras-E007",
            [IMP_NAME_TWICE] = "keras-E007",    [IMP_NO_TENSOR] = "keras-E008",
            [IMP_NOT_CONSTANT] = "keras-E009",  [IMP_OPERANDS] = "keras-E010",
            [IMP_NO_INPUT] = "keras-E011",      [IMP_OTHER_RANK] = "keras-E011",
            [IMP_BAD_SIZES] = "keras-E011",     [IMP_UNSUPPORTED_RESULT] = "keras-E007",
            [IMP_MEMORY] = "keras-E013",        [IMP_TOO_LARGE] = "keras-E014",
            [IMP_SYMBOLS] = "keras-E015",       [IMP_ERRORS] = "keras-E013",
        },
};
