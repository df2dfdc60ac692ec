/* MXNet -> Relay: a symbol (JSON) and its parameters, of all releases; NNVM's graphs are symbols of another dialect
 * (nnvm.c). The two lie in files beside each other, either of which may be given: NAME-symbol.json and
 * NAME-0000.params (four digits, the epoch; the last one, where there are several), or NAME.json and NAME.params; else
 * NAME.npz. Variables that have a parameter are constants, the others inputs. */
#include "frontend/mxnet/mxnet.h"

#include "frontend/import/look.h"
#include "frontend/import/loop.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* ---- the other file ---- */

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

/* NAME-0012.params */
static bool is_epoch(const char *file, const char *name, size_t n)
{
    return strncmp(file, name, n) == 0 && strlen(file) == n + strlen("-0000.params") && file[n] == '-' &&
           strspn(file + n + 1, "0123456789") == 4 && ends(file, ".params");
}

/* The parameters of NAME-symbol.json with the last epoch; NULL: there are none. */
static const char *last_epoch(mx_import *m, const char *folder, const char *name, size_t n)
{
    const char *best = NULL;
    DIR *d = opendir(folder);
    const struct dirent *e;
    char room[256];
    while (d && (e = readdir(d)) != NULL)
        if (is_epoch(e->d_name, name, n) && strlen(e->d_name) < sizeof room &&
            (!best || strcmp(e->d_name, best) > 0))
            best = memcpy(room, e->d_name, strlen(e->d_name) + 1);
    if (d)
        closedir(d);
    return best ? tn_arena_strdup(&m->im.scratch, best) : NULL;
}

enum { CANDIDATES = 2 };

/* What the file beside the one given may be called: the symbol's parameters, or the parameters' symbol; or NULL. */
static void other_names(mx_import *m, bool is_symbol, const char *out[CANDIDATES])
{
    tn_arena *a = &m->im.scratch;
    const char *slash = strrchr(m->im.file, '/'), *file = slash ? slash + 1 : m->im.file;
    const char *folder = slash ? tn_arena_strndup(a, m->im.file, (size_t)(slash - m->im.file) + 1) : ".";
    size_t n = strlen(file);
    bool numbered = n > 12 && is_epoch(file, file, n - 12), symbol = ends(file, "-symbol.json");
    const char *end = numbered                ? file + n - 12
                      : symbol                ? file + n - strlen("-symbol.json")
                      : ends(file, ".json")   ? file + n - strlen(".json")
                      : ends(file, ".params") ? file + n - strlen(".params")
                      : ends(file, ".npz")    ? file + n - strlen(".npz")
                                              : file + n;
    int k = (int)(end - file);
    out[0] = is_symbol && symbol ? last_epoch(m, folder, file, (size_t)k)
             : is_symbol         ? tn_arena_printf(a, "%.*s.params", k, file)
             : numbered          ? tn_arena_printf(a, "%.*s-symbol.json", k, file)
                                 : tn_arena_printf(a, "%.*s.json", k, file);
    out[1] = is_symbol  ? tn_arena_printf(a, "%.*s.npz", k, file)
             : numbered ? NULL
                        : tn_arena_printf(a, "%.*s-symbol.json", k, file);
}

/* ---- variables ---- */

/* Shape and type of an input, as far as the variable tells; 0 and -1 are extents that are not known. */
static imp_input input_of(mx_import *m, const mx_node *n)
{
    enum { MOST = 32 };
    tn_arena *a = &m->im.scratch;
    imp_input in = {.name = n->out[0], .dtype = TN_F32};
    int64_t extent[MOST], number;
    uint32_t rank;
    tn_bytes shape = mx_attr_text(n, "__shape__"), type = mx_attr_text(n, "__dtype__");
    if (!shape.n) /* NNVM's */
        shape = mx_attr_text(n, "shape");
    if (!type.n)
        type = mx_attr_text(n, "dtype");
    if (type.n && type.n < 8) {
        number = strtoll(tn_arena_strndup(a, (const char *)type.at, type.n), NULL, 10);
        (void)mx_dtype_by_number(number, m->nnvm, &in.dtype);
    }
    in.has_shape = shape.n && mx_parse_ints(shape, MOST, &rank, extent) && rank > 0;
    in.n = in.has_shape ? rank : 0;
    imp_dim *dim = TN_NEW_N(a, imp_dim, in.n);
    for (size_t i = 0; i < in.n; i++)
        dim[i] = (imp_dim){.extent = extent[i] > 0 ? extent[i] : -1};
    in.dim = dim;
    return in;
}

/* The first operator that reads the variable tells its dimensions where it is a convolution: its weight has the
 * channels. */
static void guess_shape(mx_import *m, const mx_graph *g, imp_input *in)
{
    static const char *const name[] = {"batch", "", "height", "width"};
    const char *conv = m->nnvm ? "conv2d" : "Convolution";
    uint64_t at;
    for (uint32_t i = 0; i < g->n; i++) {
        const mx_node *n = &g->node[i];
        if (!n->used || n->n_in < 2 || !imp_same(n->in[0], in->name) || !imp_is(n->op, conv) ||
            !tn_strmap_get(&m->params, (const char *)n->in[1].at, n->in[1].n, &at) || m->tensor[at].n != 4)
            continue;
        tn_bytes group = mx_attr_text(n, m->nnvm ? "groups" : "num_group");
        imp_dim *dim = TN_NEW_N(&m->im.scratch, imp_dim, 4);
        for (int d = 0; d < 4; d++)
            dim[d] = (imp_dim){.extent = -1, .name = {(const uint8_t *)name[d], strlen(name[d])}};
        if (!group.n || imp_is(group, "1"))
            dim[1].extent = m->tensor[at].dim[1];
        in->has_shape = dim[1].extent > 0;
        in->n = 4;
        in->dim = dim;
        return;
    }
}

tn_value mx_param(mx_import *m, tn_bytes name)
{
    uint64_t at;
    if (!tn_strmap_get(&m->params, (const char *)name.at, name.n, &at))
        return (tn_value){0};
    const mx_tensor *t = &m->tensor[at];
    const tn_blob *data = imp_blob(&m->im, t->data, t->dtype);
    return tn_val(imp_constant(&m->im, t->dtype, t->n, t->dim, data, imp_text(&m->im, t->name)));
}

/* Without a file of parameters every variable is an input; most have no shape then. */
static tn_status check_alone(mx_import *m, size_t n, const imp_input in[])
{
    size_t unknown = 0;
    for (size_t i = 0; i < n; i++)
        unknown += !in[i].has_shape;
    if (!m->alone || unknown < 2 || unknown <= (m->im.options ? m->im.options->n_shape : 0))
        return TN_OK;
    return tn_error(
        m->im.g->ctx, "mxnet-E002", &(tn_loc){.file = m->im.file},
        "there is no file of parameters beside the symbol; put it there, as NAME-0000.params beside "
        "NAME-symbol.json, or NAME.params beside NAME.json");
}

/* Parameters that Gluon's save_parameters wrote are called by their place in the block, "0.weight", until MXNet 2. */
static tn_status check_names(mx_import *m, const mx_graph *g)
{
    const mx_node *last = NULL;
    uint64_t at;
    for (uint32_t i = 0; i < g->n; i++) {
        const mx_node *n = &g->node[i];
        if (!imp_is(n->op, "null"))
            continue;
        if (tn_strmap_get(&m->params, (const char *)n->name.at, n->name.n, &at))
            return TN_OK;
        last = n->used ? n : last;
    }
    if (!last || !m->n_tensor)
        return TN_OK;
    return tn_error(m->im.g->ctx, "mxnet-E008", &(tn_loc){.file = m->im.file},
                    "no variable of the symbol, such as \"%s\", is among the %zu parameters, such as \"%s\"; "
                    "write both files together, with net.export(\"NAME\") or save_checkpoint",
                    imp_text(&m->im, last->name), m->n_tensor, imp_text(&m->im, m->tensor[0].name));
}

/* Parameters of @main stand before constants. */
static tn_status add_variables(mx_import *m, const mx_graph *g)
{
    imp_model *im = &m->im;
    imp_input *in = TN_NEW_N(&im->scratch, imp_input, g->n);
    size_t n_in = 0;
    uint64_t at;
    for (uint32_t i = 0; i < g->n; i++) {
        const mx_node *n = &g->node[i];
        if (!n->used || !imp_is(n->op, "null") || n->name.n == 0 ||
            tn_strmap_get(&m->params, (const char *)n->name.at, n->name.n, &at))
            continue;
        in[n_in] = input_of(m, n);
        if (!in[n_in].has_shape)
            guess_shape(m, g, &in[n_in]);
        n_in++;
    }
    TN_TRY(check_alone(m, n_in, in));
    TN_TRY(imp_check_shapes(im, n_in, in));
    tn_status s = TN_OK;
    for (size_t i = 0; i < n_in; i++) {
        const tn_loc *loc = imp_make_loc(im, NULL, NULL);
        TN_TRY(imp_define(im, in[i].name, (imp_value){.state = IMP_BAD}, loc));
        if (imp_add_input(im, &in[i], loc) != TN_OK)
            s = TN_FAIL;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        const mx_node *n = &g->node[i];
        tn_value k = n->used && imp_is(n->op, "null") ? mx_param(m, n->name) : (tn_value){0};
        if (k.def && imp_define(im, n->out[0], (imp_value){.v = k}, imp_make_loc(im, NULL, NULL)) != TN_OK)
            s = TN_FAIL;
    }
    return s;
}

/* ---- operators ---- */

/* What says nothing of the result: where and how it was computed, and how it was trained. */
static bool has_no_bearing(tn_bytes name)
{
    static const char *const known[] = {"workspace",
                                        "cudnn_tune",
                                        "cudnn_off",
                                        "cudnn_algo_verbose",
                                        "cudnn_algo_fwd",
                                        "lr_mult",
                                        "wd_mult",
                                        "force_mirroring",
                                        "mirror_stage",
                                        "ctx_group",
                                        "ctx",
                                        "cudnn_algo_bwd_data",
                                        "cudnn_algo_bwd_filter",
                                        "sparse_grad",
                                        "num_args"};
    if (name.n > 2 && name.at[0] == '_' && name.at[1] == '_')
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (imp_is(name, known[i]))
            return true;
    return name.n > 8 && (memcmp(name.at + name.n - 8, "_lr_mult", 8) == 0 ||
                          memcmp(name.at + name.n - 8, "_wd_mult", 8) == 0);
}

static void read_attrs(mx_import *m, const mx_node *n, imp_node *c)
{
    imp_attr *a = TN_NEW_N(&m->im.scratch, imp_attr, n->attr ? n->attr->n : 0);
    for (uint32_t i = 0; n->attr && i < n->attr->n; i++) {
        const tn_json *k = &n->attr->u.at[2 * i], *v = k + 1;
        tn_bytes name = {(const uint8_t *)k->u.s, k->n};
        if (!has_no_bearing(name))
            a[c->n_attr++] =
                (imp_attr){.name = name, .kind = IMP_A_TEXT, .text = {(const uint8_t *)v->u.s, v->n}};
    }
    c->attr = a;
}

static void convert(mx_import *m, const mx_node *n)
{
    imp_node c = {
        .version = m->version, .n_in = n->n_in, .n_out = n->n_out, .in_name = n->in, .out_name = n->out};
    c.origin = n;
    c.loc = imp_make_loc(&m->im, imp_text(&m->im, n->name), imp_text(&m->im, n->op));
    read_attrs(m, n, &c);
    tn_bytes op = m->nnvm ? mx_respell(m, n->op, &c) : n->op;
    c.row = imp_row_of(&m->im, (tn_bytes){0}, op, m->version, c.loc, true);
    imp_convert(&m->im, &c);
}

tn_value mx_apply(imp_node *c, const mx_node *n, const tn_value in[])
{
    imp_scope outside = imp_enter(c->im, false);
    size_t had = c->g->ctx->n_error;
    for (uint32_t i = 0; i < n->n_in && !c->bad; i++)
        c->bad = imp_define(c->im, n->in[i], (imp_value){.v = in[i]}, c->loc) != TN_OK;
    if (!c->bad)
        convert(mx_of(c), n);
    c->bad = c->bad || c->g->ctx->n_error > had;
    tn_value y = c->bad ? (tn_value){0} : imp_value_of(c, n->out[0]);
    imp_leave(c->im, &outside);
    return y;
}

void mx_convert_graph(mx_import *m, const mx_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        if (imp_too_much(&m->im, NULL))
            return;
        if (g->node[i].used && !imp_is(g->node[i].op, "null"))
            convert(m, &g->node[i]);
    }
}

/* ---- the model ---- */

static int64_t version_of(const tn_json *root)
{
    const tn_json *v = tn_json_find(tn_json_find(root, "attrs"), "mxnet_version");
    return tn_json_is(v, TN_JSON_ARRAY) && v->n == 2 && v->u.at[1].kind == TN_JSON_INT ? v->u.at[1].u.i : 0;
}

static tn_status import_symbol(mx_import *m, const tn_json *root)
{
    imp_model *im = &m->im;
    m->version = version_of(root);
    const mx_graph *g = mx_read_graph(m, root);
    if (!g)
        return TN_FAIL;
    m->nnvm = mx_is_nnvm(m, g);
    m->version = m->nnvm ? 10000 : m->version; /* attributes mean what MXNet 1 means by them */
    imp_start(im);
    TN_TRY(check_names(m, g));
    TN_TRY(add_variables(m, g));
    mx_convert_graph(m, g);
    if (im->g->ctx->n_error > im->had_errors)
        return TN_FAIL;
    return imp_set_results(im, g->n_head, g->head);
}

static tn_status import_json(mx_import *m, tn_bytes text, const char *name)
{
    tn_json_doc doc = tn_json_read((const char *)text.at, text.n);
    tn_status s = doc.root ? import_symbol(m, doc.root)
                           : tn_error(m->im.g->ctx, "mxnet-E001", &(tn_loc){.file = name},
                                      "the symbol is damaged: %s (at byte %zu)%s", doc.error, doc.error_at,
                                      imp_again(doc.error));
    tn_json_free(&doc);
    return s;
}

/* MXNet's list; TVM's, which belongs to a graph of NNVM, cannot be told from those of other models. */
bool mx_is_params(const uint8_t *at, size_t n) { return n >= 24 && memcmp(at, "\x12\1\0\0\0\0\0\0", 8) == 0; }

/* A symbol's JSON, or the parameters beside it. */
bool tn_sniff_mxnet(const uint8_t *at, size_t n)
{
    enum { LOOKED_AT = 1 << 16 };
    tn_bytes head = look_head((tn_bytes){at, n}, LOOKED_AT);
    return mx_is_params(at, n) || mx_is_export(at, n) ||
           (look_begins(head, "{") && look_holds(head, "\"op\"") && look_holds(head, "\"nodes\"") &&
            !look_holds(head, "tvm_op") && !look_holds(head, "\"type_key\""));
}

static tn_status import_pair(mx_import *m, const mx_pair *p)
{
    if (p->params.at && !mx_read_params(m, p->params, p->params_name))
        return TN_FAIL;
    m->alone = !p->params.at;
    return import_json(m, p->symbol, p->symbol_name);
}

static tn_status find_pair(mx_import *m, const tn_file *file, mx_pair *p)
{
    bool is_symbol = !mx_is_params(file->at, file->n) && !mx_is_npz(file->at, file->n);
    const char *why = NULL, *names[CANDIDATES], *other = NULL;
    const tn_file *beside = NULL;
    other_names(m, is_symbol, names);
    for (int i = 0; i < CANDIDATES && !beside; i++) {
        const tn_file *f = names[i] ? imp_open_file(&m->im, names[i], &why) : NULL;
        if (f || !other)
            beside = f, other = names[i];
    }
    tn_bytes given = {file->at, file->n}, found = beside ? (tn_bytes){beside->at, beside->n} : (tn_bytes){0};
    if (!is_symbol && !beside)
        return tn_error(
            m->im.g->ctx, "mxnet-E002", &(tn_loc){.file = m->im.file},
            "these are the parameters of a model, but there is no file \"%s\" beside them; put its "
            "symbol (JSON) there",
            other);
    *p = (mx_pair){is_symbol ? given : found, is_symbol ? found : given, is_symbol ? m->im.file : other,
                   is_symbol ? other : m->im.file};
    return TN_OK;
}

static tn_status import(tn_graph *g, const char *path, const tn_file *file, const mx_pair *pair,
                        const tn_import_options *options)
{
    mx_import m = {0};
    mx_pair found = {0};
    imp_open(&m.im, &mx_format, g, path, file, options);
    tn_status s = pair ? TN_OK : find_pair(&m, file, &found);
    if (s == TN_OK)
        s = import_pair(&m, pair ? pair : &found);
    tn_strmap_deinit(&m.params);
    tn_strmap_deinit(&m.names);
    imp_close(&m.im);
    return s;
}

tn_status tn_import_mxnet(tn_graph *g, const char *path, const tn_file *file,
                          const tn_import_options *options)
{
    return import(g, path, file, NULL, options);
}

tn_status mx_import_pair(tn_graph *g, const char *path, const tn_file *file, const mx_pair *pair)
{
    return import(g, path, file, pair, NULL);
}
