/* Caffe -> Relay: a network (text, .prototxt) and its weights (.caffemodel, a message whose layers have arrays). Only
 * names of layers join the two. They lie beside each other as NAME.prototxt and NAME.caffemodel, or as the only files
 * of their kinds in a folder. Layers of the training phase are left out; layers of the form before 2014 ("layers") are
 * read as well. A layer may write its result over its operand: each name stands for its latest value. Linear. */
#include "frontend/caffe/caffe.h"

#include "base/wire/pb.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const tn_loc *here(cf_import *m) { return imp_make_loc(&m->im, NULL, NULL); }

static const char *text_of(cf_import *m, tn_bytes s)
{
    return tn_arena_strndup(&m->im.scratch, (const char *)s.at, s.n);
}

/* ---- weights ---- */

static tn_status bad_weights(cf_import *m, const char *what)
{
    return tn_error(m->im.g->ctx, "caffe-E001", here(m), "the weights (.caffemodel) are damaged: %s%s", what,
                    imp_again(what));
}

/* Numbers that do not lie together, or are float64. */
static void append(cf_import *m, cf_blob *b, size_t *cap, float v)
{
    if (b->data.n + 4 > *cap) { /* at first what lies together in the file, of any length */
        *cap = 2 * b->data.n + 64;
        uint8_t *more = tn_arena_alloc(&m->im.scratch, *cap, 8);
        if (b->data.n)
            memcpy(more, b->data.at, b->data.n);
        b->data.at = more;
    }
    memcpy((uint8_t *)(uintptr_t)b->data.at + b->data.n, &v, 4);
    b->data.n += 4;
}

static void read_shape(tn_pb r, cf_blob *b)
{
    while (tn_pb_next(&r)) {
        if (r.field != 1)
            continue;
        tn_pb packed = {.at = r.bytes.at, .end = r.bytes.at + r.bytes.n};
        if (r.wire == TN_PB_VARINT && b->n < IMP_MAX_RANK)
            b->dim[b->n++] = tn_pb_int(&r);
        for (uint64_t v = 0, shift = 0; r.wire == TN_PB_LEN && packed.at < packed.end; packed.at++) {
            v |= shift < 64 ? (uint64_t)(*packed.at & 127) << shift : 0;
            shift += 7;
            if (!(*packed.at & 128)) {
                if (b->n < IMP_MAX_RANK)
                    b->dim[b->n++] = (int64_t)v;
                v = shift = 0;
            }
        }
    }
}

static void read_blob(cf_import *m, tn_pb r, cf_blob *b)
{
    int64_t old[4] = {1, 1, 1, 1};
    bool has_old = false;
    size_t cap = 0;
    *b = (cf_blob){0};
    while (tn_pb_next(&r)) {
        if (r.field >= 1 && r.field <= 4 && r.wire == TN_PB_VARINT) {
            old[r.field - 1] = tn_pb_int(&r);
            has_old = true;
        } else if (r.field == 5 && r.wire == TN_PB_LEN && !b->data.n) {
            b->data = r.bytes;
        } else if (r.field == 5 && r.wire == TN_PB_I32) {
            append(m, b, &cap, tn_pb_float(&r));
        } else if (r.field == 8 && r.wire == TN_PB_LEN) {
            for (size_t i = 0; i + 8 <= r.bytes.n; i += 8) {
                double v;
                memcpy(&v, r.bytes.at + i, 8);
                append(m, b, &cap, (float)v);
            }
        } else if (r.field == 7 && r.wire == TN_PB_LEN) {
            read_shape(tn_pb_sub(&r), b);
        }
    }
    if (!b->n && has_old) {
        b->n = 4;
        memcpy(b->dim, old, sizeof old);
    }
}

/* A layer of the form of now (name 1, blobs 7) or of before (name 4, blobs 6). */
static void read_layer(cf_import *m, tn_pb r, bool old)
{
    cf_weights *w = TN_NEW(&m->im.scratch, cf_weights);
    tn_bytes name = {0};
    *w = (cf_weights){0};
    while (tn_pb_next(&r)) {
        if (r.wire != TN_PB_LEN)
            continue;
        if (r.field == (old ? 4 : 1))
            name = r.bytes;
        else if (r.field == (old ? 6 : 7) && w->n < CF_MAX_BLOBS)
            read_blob(m, tn_pb_sub(&r), &w->blob[w->n++]);
    }
    if (w->n)
        tn_strmap_put(&m->weights, (const char *)name.at, name.n, (uint64_t)(uintptr_t)w);
}

static tn_status read_weights(cf_import *m, tn_bytes file)
{
    tn_pb r = tn_pb_open(file.at, file.n);
    while (tn_pb_next(&r)) {
        if (r.wire == TN_PB_LEN && (r.field == 100 || r.field == 2))
            read_layer(m, tn_pb_sub(&r), r.field == 2);
        if (imp_too_much(&m->im, NULL))
            return TN_FAIL;
    }
    return r.error ? bad_weights(m, r.error) : TN_OK;
}

static const cf_weights *weights_of(imp_node *c)
{
    uint64_t at;
    const char *name = c->loc->node;
    return tn_strmap_get(&cf_of(c)->weights, name, strlen(name), &at) ? (const cf_weights *)(uintptr_t)at
                                                                      : NULL;
}

uint32_t cf_n_weights(imp_node *c)
{
    const cf_weights *w = weights_of(c);
    return w ? w->n : 0;
}

tn_value cf_weight(imp_node *c, uint32_t i, uint32_t n, const int64_t dim[])
{
    const cf_weights *w = weights_of(c);
    size_t count, bytes;
    if (c->bad)
        return (tn_value){0};
    if (!w || i >= w->n) {
        imp_refuse(
            c, IMP_BAD_FILE,
            "the weights (.caffemodel) have no array %u of this layer; give the weights of this network",
            (unsigned)i);
        return (tn_value){0};
    }
    const cf_blob *b = &w->blob[i];
    n = dim ? n : b->n;
    dim = dim ? dim : b->dim;
    if (!imp_measure(c->im, c->loc->node, n, dim, TN_F32, c->loc, &count, &bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    if (bytes != b->data.n) {
        imp_refuse(
            c, IMP_BAD_TENSOR,
            "array %u of the layer has %zu bytes, but %zu are needed; give the weights of this network",
            (unsigned)i, b->data.n, bytes);
        return (tn_value){0};
    }
    return tn_val(imp_constant(c->im, TN_F32, n, dim, imp_blob(c->im, b->data, TN_F32), c->loc->node));
}

/* ---- parameters ---- */

cf_field *cf_param(imp_node *c, const char *param)
{
    return cf_find((cf_field *)(uintptr_t)c->origin, param);
}

static double number(imp_node *c, const cf_field *f)
{
    const char *s = text_of(cf_of(c), f->value);
    char *end;
    double v = strtod(s, &end);
    if (f->message || end == s || *end)
        imp_refuse(c, IMP_BAD_VALUE, "%s is \"%s\", but must be a number (line %u)", imp_text(c->im, f->name),
                   imp_text(c->im, f->value), (unsigned)f->line);
    return c->bad ? 0 : v;
}

static int64_t integer(imp_node *c, const cf_field *f)
{
    double v = number(c, f);
    if (!c->bad && !(v >= INT32_MIN && v <= INT32_MAX && v == (double)(int64_t)v))
        imp_refuse(c, IMP_BAD_VALUE, "%s must be an integer of 32 bits (line %u)", imp_text(c->im, f->name),
                   (unsigned)f->line);
    return c->bad ? 0 : (int64_t)v;
}

int64_t cf_int(imp_node *c, cf_field *m, const char *name, int64_t def)
{
    const cf_field *f = cf_find(m, name);
    return f ? integer(c, f) : def;
}

double cf_real(imp_node *c, cf_field *m, const char *name, double def)
{
    const cf_field *f = cf_find(m, name);
    return f ? number(c, f) : def;
}

static int choice(imp_node *c, const cf_field *f, int def, const char *const words[])
{
    for (int i = 0; f && words[i]; i++)
        if (imp_is(f->value, words[i]))
            return i;
    if (f)
        imp_refuse(c, IMP_BAD_VALUE, "%s is \"%s\", which is not supported (line %u)",
                   imp_text(c->im, f->name), imp_text(c->im, f->value), (unsigned)f->line);
    return def;
}

int cf_choice(imp_node *c, cf_field *m, const char *name, int def, const char *const words[])
{
    return choice(c, cf_find(m, name), def, words);
}

bool cf_bool(imp_node *c, cf_field *m, const char *name, bool def)
{
    static const char *const words[] = {"false", "true", "0", "1", "False", "True", NULL};
    return choice(c, cf_find(m, name), def, words) & 1;
}

tn_ints cf_ints(imp_node *c, cf_field *m, const char *name)
{
    uint32_t n = 0;
    for (cf_field *f = cf_find(m, name); f; f = cf_again(f))
        n++;
    int64_t *at = TN_NEW_N(c->arena, int64_t, n);
    n = 0;
    for (cf_field *f = cf_find(m, name); f; f = cf_again(f))
        at[n++] = integer(c, f);
    return (tn_ints){n, at};
}

int cf_reals(imp_node *c, cf_field *m, const char *name, int most, double out[])
{
    int n = 0;
    for (cf_field *f = cf_find(m, name); f && n < most; f = cf_again(f))
        out[n++] = number(c, f);
    return n;
}

/* ---- layers ---- */

/* What a layer of before is called now. */
static const char *kind_of(cf_import *m, tn_bytes type)
{
    static const char *const names[][2] = {{"CONVOLUTION", "Convolution"},
                                           {"DECONVOLUTION", "Deconvolution"},
                                           {"POOLING", "Pooling"},
                                           {"RELU", "ReLU"},
                                           {"INNER_PRODUCT", "InnerProduct"},
                                           {"LRN", "LRN"},
                                           {"DROPOUT", "Dropout"},
                                           {"SOFTMAX", "Softmax"},
                                           {"CONCAT", "Concat"},
                                           {"ELTWISE", "Eltwise"},
                                           {"SLICE", "Slice"},
                                           {"SPLIT", "Split"},
                                           {"FLATTEN", "Flatten"},
                                           {"SIGMOID", "Sigmoid"},
                                           {"TANH", "TanH"},
                                           {"POWER", "Power"},
                                           {"ABSVAL", "AbsVal"},
                                           {"EXP", "Exp"},
                                           {"BNLL", "BNLL"},
                                           {"DATA", "Data"},
                                           {"ARGMAX", "ArgMax"},
                                           {"MVN", "MVN"},
                                           {"SILENCE", "Silence"},
                                           {"THRESHOLD", "Threshold"},
                                           {"ACCURACY", "Accuracy"},
                                           {"IMAGE_DATA", "ImageData"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (imp_is(type, names[i][0]))
            return names[i][1];
    return imp_text(&m->im, type);
}

static bool is_kind(const char *kind, const char *const list[])
{
    for (; *list; list++)
        if (strcmp(kind, *list) == 0)
            return true;
    return false;
}

static bool is_data(const char *kind)
{
    static const char *const list[] = {"Input",      "Data",          "ImageData",  "DummyData", "HDF5Data",
                                       "MemoryData", "AnnotatedData", "WindowData", "Python",    NULL};
    return is_kind(kind, list);
}

static bool is_training(cf_field *layer, const char *kind)
{
    static const char *const list[] = {"Accuracy",
                                       "Silence",
                                       "SoftmaxWithLoss",
                                       "EuclideanLoss",
                                       "SigmoidCrossEntropyLoss",
                                       "MultiBoxLoss",
                                       "HingeLoss",
                                       "SmoothL1Loss",
                                       NULL};
    const cf_field *in = cf_find(cf_find(layer, "include"), "phase"),
                   *out = cf_find(cf_find(layer, "exclude"), "phase");
    return (in && imp_is(in->value, "TRAIN")) || (out && imp_is(out->value, "TEST")) || is_kind(kind, list);
}

/* The value that a layer writes under a name: an input, or else the last one, has the name itself, the others a number
 * more. */
static tn_bytes *write_name(cf_import *m, tn_bytes name, bool input)
{
    const uint64_t is_input = UINT64_C(1) << 32;
    uint64_t left = 1;
    tn_bytes *value = TN_NEW(&m->im.scratch, tn_bytes);
    (void)tn_strmap_get(&m->writes, (const char *)name.at, name.n, &left);
    *value = name;
    if (input)
        left |= is_input;
    else if (left > 1) { /* above is_input, too */
        value->at =
            (const uint8_t *)tn_arena_printf(&m->im.scratch, "%.*s#%llu", (int)name.n, (const char *)name.at,
                                             (unsigned long long)(left & (is_input - 1)));
        value->n = strlen((const char *)value->at);
    }
    tn_strmap_put(&m->writes, (const char *)name.at, name.n, left - 1);
    tn_strmap_put(&m->current, (const char *)name.at, name.n, (uint64_t)(uintptr_t)value);
    return value;
}

static tn_bytes read_name(cf_import *m, tn_bytes name)
{
    uint64_t at;
    if (tn_strmap_get(&m->current, (const char *)name.at, name.n, &at))
        name = *(const tn_bytes *)(uintptr_t)at;
    tn_strmap_put(&m->consumed, (const char *)name.at, name.n, 1);
    return name;
}

/* Parameters that no converter looked at; how weights were made and learned has no bearing. */
static void check_fields(imp_node *c, cf_field *layer)
{
    static const char *const fine[] = {
        "weight_filler", "bias_filler", "filler",     "engine",  "moving_average_fraction",
        "dropout_ratio", "scale_train", "num_output", "is_type", NULL};
    for (cf_field *p = layer->child; p; p = p->next) {
        bool param = p->message && p->name.n > 6 && memcmp(p->name.at + p->name.n - 6, "_param", 6) == 0 &&
                     !imp_is(p->name, "transform_param") && !imp_is(p->name, "loss_param");
        for (cf_field *f = param ? p->child : NULL; f && !c->bad; f = f->next)
            if (!f->asked && !is_kind(imp_text(c->im, f->name), fine))
                imp_refuse(c, IMP_ATTR_UNKNOWN, "%s of %s is not supported (line %u)",
                           imp_text(c->im, f->name), imp_text(c->im, p->name), (unsigned)f->line);
    }
}

static size_t count(cf_field *layer, const char *name)
{
    size_t n = 0;
    for (cf_field *f = cf_find(layer, name); f; f = cf_again(f))
        n++;
    return n;
}

static void convert(cf_import *m, cf_field *layer, const char *kind)
{
    const cf_field *name = cf_find(layer, "name");
    size_t n_in = count(layer, "bottom"), n_out = count(layer, "top"), i = 0;
    tn_bytes *in = TN_NEW_N(&m->im.scratch, tn_bytes, n_in), *out = TN_NEW_N(&m->im.scratch, tn_bytes, n_out);
    for (cf_field *f = cf_find(layer, "bottom"); f; f = cf_again(f))
        in[i++] = read_name(m, f->value);
    i = 0;
    for (cf_field *f = cf_find(layer, "top"); f; f = cf_again(f))
        out[i++] = *write_name(m, f->value, false);
    imp_node c = {
        .version = 1, .n_in = n_in, .n_out = n_out, .in_name = in, .out_name = out, .origin = layer};
    c.loc = imp_make_loc(&m->im, name ? imp_text(&m->im, name->value) : "", kind);
    c.row =
        imp_row_of(&m->im, (tn_bytes){0}, (tn_bytes){(const uint8_t *)kind, strlen(kind)}, 1, c.loc, true);
    size_t errors = m->im.g->ctx->n_error;
    imp_convert(&m->im, &c);
    if (m->im.g->ctx->n_error == errors && !c.bad)
        check_fields(&c, layer);
}

/* ---- inputs ---- */

enum { MAX_INPUTS = 256 };
typedef struct inputs {
    size_t n;
    imp_input at[MAX_INPUTS];
} inputs;

static void add_input(cf_import *m, inputs *all, tn_bytes name, cf_field *shape, const char *dim_name)
{
    imp_dim *dim = TN_NEW_N(&m->im.scratch, imp_dim, IMP_MAX_RANK + 1);
    imp_input in = {.name = *write_name(m, name, true), .dtype = TN_F32, .dim = dim};
    for (cf_field *f = cf_find(shape, dim_name); f && in.n <= IMP_MAX_RANK; f = cf_again(f)) {
        int64_t v = strtoll(text_of(m, f->value), NULL, 10);
        dim[in.n++] = (imp_dim){.extent = v > 0 && v < INT32_MAX ? v : -1};
    }
    in.has_shape = in.n > 0;
    if (all->n < MAX_INPUTS)
        all->at[all->n++] = in;
}

/* `input: "data"` with input_dim or input_shape, and layers of data, whose second result is a label. */
static void find_inputs(cf_import *m, cf_field *net, cf_field *layers, inputs *all)
{
    cf_field *shape = cf_find(net, "input_shape");
    for (cf_field *f = cf_find(net, "input"); f; f = cf_again(f)) {
        add_input(m, all, f->value, shape ? shape : net, shape ? "dim" : "input_dim");
        shape = shape ? cf_again(shape) : NULL;
    }
    for (cf_field *l = layers; l; l = cf_again(l)) {
        const cf_field *type = cf_find(l, "type"), *top = cf_find(l, "top");
        const char *kind = type ? kind_of(m, type->value) : "";
        cf_field *given = cf_find(cf_find(l, "input_param"), "shape");
        if (!is_data(kind) || is_training(l, kind) || !top)
            continue;
        for (cf_field *f = cf_find(l, "top"); f; f = strcmp(kind, "Input") == 0 ? cf_again(f) : NULL) {
            add_input(m, all, f->value, given, "dim");
            given = given && cf_again(given) ? cf_again(given) : given;
        }
    }
}

static tn_status add_inputs(cf_import *m, cf_field *net, cf_field *layers)
{
    inputs *all = TN_NEW(&m->im.scratch, inputs);
    all->n = 0;
    find_inputs(m, net, layers, all);
    TN_TRY(imp_check_shapes(&m->im, all->n, all->at));
    for (size_t i = 0; i < all->n; i++) {
        TN_TRY(imp_define(&m->im, all->at[i].name, (imp_value){.state = IMP_BAD}, here(m)));
        TN_TRY(imp_add_input(&m->im, &all->at[i], here(m)));
    }
    return TN_OK;
}

/* ---- the network ---- */

static void count_writes(cf_import *m, cf_field *net, cf_field *layers)
{
    uint64_t n;
    for (cf_field *f = cf_find(net, "input"); f; f = cf_again(f))
        tn_strmap_put(&m->writes, (const char *)f->value.at, f->value.n, 1);
    for (cf_field *l = layers; l; l = cf_again(l)) {
        const cf_field *type = cf_find(l, "type");
        const char *kind = type ? kind_of(m, type->value) : "";
        for (cf_field *f = is_training(l, kind) ? NULL : cf_find(l, "top"); f; f = cf_again(f)) {
            n = 0;
            (void)tn_strmap_get(&m->writes, (const char *)f->value.at, f->value.n, &n);
            tn_strmap_put(&m->writes, (const char *)f->value.at, f->value.n, n + 1);
        }
    }
}

/* What a blob stands for after the last layer that writes it. */
static tn_bytes last_value(const cf_import *m, tn_bytes blob)
{
    uint64_t at;
    return tn_strmap_get(&m->current, (const char *)blob.at, blob.n, &at) ? *(const tn_bytes *)(uintptr_t)at
                                                                          : blob;
}

/* Results are what no layer reads, in the order of the layers. */
static tn_status set_results(cf_import *m, cf_field *layers, size_t most)
{
    tn_bytes *blob = TN_NEW_N(&m->im.scratch, tn_bytes, most),
             *result = TN_NEW_N(&m->im.scratch, tn_bytes, most);
    size_t n = 0;
    uint64_t at;
    for (cf_field *l = layers; l; l = cf_again(l)) {
        const cf_field *type = cf_find(l, "type");
        const char *kind = type ? kind_of(m, type->value) : "";
        for (cf_field *f = is_training(l, kind) || is_data(kind) ? NULL : cf_find(l, "top"); f;
             f = cf_again(f)) {
            bool again = false;
            for (size_t i = 0; i < n; i++)
                again = again || imp_same(blob[i], f->value);
            result[n] = last_value(m, f->value);
            if (!again && !tn_strmap_get(&m->consumed, (const char *)result[n].at, result[n].n, &at))
                blob[n++] = f->value;
        }
    }
    TN_TRY(imp_set_results(&m->im, n, result));
    for (size_t i = 0; i < n; i++)
        m->im.g->result_name[i] = imp_text(&m->im, blob[i]);
    return TN_OK;
}

static tn_status import_net(cf_import *m, cf_field *net)
{
    imp_model *im = &m->im;
    cf_field *layers = cf_find(net, "layer");
    size_t tops = 0;
    layers = layers ? layers : cf_find(net, "layers");
    imp_start(im);
    count_writes(m, net, layers);
    TN_TRY(add_inputs(m, net, layers));
    for (cf_field *l = layers; l && !imp_too_much(im, NULL); l = cf_again(l)) {
        const cf_field *type = cf_find(l, "type");
        if (!type)
            return tn_error(im->g->ctx, "caffe-E001", here(m), "line %u: a layer has no type",
                            (unsigned)l->line);
        const char *kind = kind_of(m, type->value);
        tops += count(l, "top");
        if (!is_training(l, kind) && !is_data(kind))
            convert(m, l, kind);
    }
    return im->g->ctx->n_error > im->had_errors ? TN_FAIL : set_results(m, layers, tops);
}

static tn_status import(cf_import *m, tn_bytes text, tn_bytes weights)
{
    const char *why;
    uint32_t line;
    cf_field *net = tn_pb_text_read(&m->im.scratch, text, &why, &line);
    if (!net)
        return tn_error(m->im.g->ctx, "caffe-E001", here(m),
                        "the network (.prototxt) is damaged: line %u: %s%s", (unsigned)line, why,
                        imp_again(why));
    TN_TRY(read_weights(m, weights));
    return import_net(m, net);
}

/* ---- files ---- */

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

/* The only file of that ending in the folder of the one given; NULL: there are none, or several. */
static const char *only_one(cf_import *m, const char *suffix)
{
    const char *slash = strrchr(m->im.file, '/'), *found = NULL;
    DIR *d =
        opendir(slash ? tn_arena_strndup(&m->im.scratch, m->im.file, (size_t)(slash - m->im.file) + 1) : ".");
    const struct dirent *e;
    int n = 0;
    while (d && (e = readdir(d)) != NULL)
        if (ends(e->d_name, suffix) && n++ == 0 && strlen(e->d_name) < 256)
            found = memcpy(tn_arena_alloc(&m->im.scratch, 256, 1), e->d_name, strlen(e->d_name) + 1);
    if (d)
        closedir(d);
    return n == 1 ? found : NULL;
}

static const tn_file *open_beside(cf_import *m, const char *suffix)
{
    const char *slash = strrchr(m->im.file, '/'), *file = slash ? slash + 1 : m->im.file,
               *dot = strrchr(file, '.'), *why;
    const char *same =
        tn_arena_printf(&m->im.scratch, "%.*s%s", (int)(dot ? dot - file : (long)strlen(file)), file, suffix);
    const tn_file *f = imp_open_file(&m->im, same, &why);
    const char *only = f || !why ? NULL : only_one(m, suffix);
    return only ? imp_open_file(&m->im, only, &why) : f;
}

static tn_status import_files(cf_import *m, tn_bytes given)
{
    bool is_net = !ends(m->im.file, ".caffemodel");
    const char *suffix = is_net ? ".caffemodel" : ".prototxt";
    const tn_file *f = open_beside(m, suffix);
    if (!f)
        return tn_error(
            m->im.g->ctx, "caffe-E002", here(m),
            "there is no file of the same name that ends with %s beside it, nor one such file alone; put it "
            "there: a model of Caffe is NAME.prototxt and NAME.caffemodel",
            suffix);
    tn_bytes found = {f->at, f->n};
    return import(m, is_net ? given : found, is_net ? found : given);
}

static void close_model(cf_import *m)
{
    tn_strmap_deinit(&m->weights);
    tn_strmap_deinit(&m->writes);
    tn_strmap_deinit(&m->current);
    tn_strmap_deinit(&m->consumed);
    imp_close(&m->im);
}

tn_status tn_import_caffe(tn_graph *g, const char *path, const tn_file *file,
                          const tn_import_options *options)
{
    cf_import m = {0};
    imp_open(&m.im, &cf_format, g, path, file, options);
    tn_status s = import_files(&m, (tn_bytes){file->at, file->n});
    close_model(&m);
    return s;
}

tn_status cf_import_pair(tn_graph *g, const char *path, const tn_file *file, tn_bytes net, tn_bytes weights)
{
    cf_import m = {0};
    imp_open(&m.im, &cf_format, g, path, file, NULL);
    tn_status s = import(&m, net, weights);
    close_model(&m);
    return s;
}
