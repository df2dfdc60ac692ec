/* Darknet -> Relay: a configuration (text: sections with keys, a layer each) and a file of weights, which has the
 * layers' floats one after the other. The two lie beside each other, as NAME.cfg and NAME.weights; either may be given.
 * The input is called data and has a batch of 1; results are those of the layers that detect, and the last one's.
 * Linear. */
#include "frontend/darknet/darknet.h"

#include "frontend/import/look.h"

#include <stdlib.h>
#include <string.h>

static const tn_loc *here(dk_import *d) { return imp_make_loc(&d->im, NULL, NULL); }

/* ---- the configuration ---- */

static bool is_blank(uint8_t ch) { return ch == ' ' || ch == '\t' || ch == '\r'; }

static tn_bytes trimmed(const uint8_t *from, const uint8_t *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    return (tn_bytes){from, (size_t)(to - from)};
}

static const char *copy(dk_import *d, tn_bytes s)
{
    return tn_arena_strndup(&d->im.scratch, (const char *)s.at, s.n);
}

static tn_status bad_line(dk_import *d, size_t line, const char *what)
{
    return tn_error(d->im.g->ctx, "darknet-E001", here(d), "line %zu: %s", line, what);
}

static dk_layer *add_layer(dk_import *d, tn_bytes kind)
{
    if (d->n == d->cap) {
        dk_layer *more = TN_NEW_N(&d->im.scratch, dk_layer, 2 * d->cap + 16);
        if (d->n)
            memcpy(more, d->layer, d->n * sizeof *more);
        d->layer = more;
        d->cap = 2 * d->cap + 16;
    }
    dk_layer *l = &d->layer[d->n];
    *l = (dk_layer){.kind = imp_text(&d->im, kind), .attr = TN_NEW_N(&d->im.scratch, imp_attr, 64)};
    const char *name = tn_arena_printf(&d->im.scratch, "%s_%zu", l->kind, d->n ? d->n - 1 : 0);
    l->name = (tn_bytes){(const uint8_t *)name, strlen(name)};
    d->n++;
    return l;
}

static tn_status read_line(dk_import *d, size_t line, tn_bytes s)
{
    if (!s.n || *s.at == '#' || *s.at == ';')
        return TN_OK;
    if (*s.at == '[') {
        if (s.n < 3 || s.at[s.n - 1] != ']')
            return bad_line(d, line, "a section must read [name]");
        (void)add_layer(d, (tn_bytes){s.at + 1, s.n - 2});
        return TN_OK;
    }
    const uint8_t *equals = memchr(s.at, '=', s.n);
    if (!equals || !d->n)
        return bad_line(d, line,
                        equals ? "a key stands before the first section" : "a key must read name=value");
    dk_layer *l = &d->layer[d->n - 1];
    if (l->n_attr == 64)
        return bad_line(d, line, "a section has more than 64 keys");
    l->attr[l->n_attr++] = (imp_attr){
        .name = trimmed(s.at, equals), .kind = IMP_A_TEXT, .text = trimmed(equals + 1, s.at + s.n)};
    return TN_OK;
}

static tn_status read_config(dk_import *d, tn_bytes text)
{
    size_t line = 0;
    const uint8_t *end = text.at + text.n;
    for (const uint8_t *at = text.at, *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        TN_TRY(read_line(d, ++line, trimmed(at, stop)));
    }
    if (!d->n || (strcmp(d->layer[0].kind, "net") != 0 && strcmp(d->layer[0].kind, "network") != 0))
        return tn_error(d->im.g->ctx, "darknet-E001", here(d),
                        "the configuration does not begin with a section [net]");
    return TN_OK;
}

/* ---- values of keys ---- */

static const char *find(imp_node *c, const char *name)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_TEXT);
    return a ? copy(dk_of(c), a->text) : NULL;
}

const char *dk_text(imp_node *c, const char *name, const char *def)
{
    const char *s = find(c, name);
    return s ? s : def;
}

double dk_float(imp_node *c, const char *name, double def)
{
    const char *s = find(c, name);
    char *end;
    double v = s ? strtod(s, &end) : def;
    if (s && (end == s || *end))
        imp_refuse(c, IMP_BAD_VALUE, "%s is \"%s\", but must be a number", name, s);
    return v;
}

int64_t dk_int(imp_node *c, const char *name, int64_t def)
{
    double v = dk_float(c, name, (double)def);
    if (!c->bad && !(v >= INT32_MIN && v <= INT32_MAX && v == (double)(int64_t)v))
        imp_refuse(c, IMP_BAD_VALUE, "%s must be an integer of 32 bits", name);
    return c->bad ? def : (int64_t)v;
}

bool dk_ints(imp_node *c, const char *name, tn_ints *out)
{
    const char *s = find(c, name);
    *out = (tn_ints){0};
    if (!s)
        return false;
    int64_t *at = TN_NEW_N(c->arena, int64_t, strlen(s) / 2 + 1);
    uint32_t n = 0;
    char *end;
    for (; *s && !c->bad; s = end + strspn(end, " \t,")) {
        at[n++] = strtoll(s, &end, 10);
        if (end == s || (*end && !strchr(" \t,", *end)))
            imp_refuse(c, IMP_BAD_VALUE, "%s must be a list of integers", name);
    }
    *out = (tn_ints){n, at};
    return !c->bad;
}

/* ---- weights ---- */

static uint32_t u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Three numbers of the version, then how many images were seen, of 32 or 64 bits. */
static tn_status open_weights(dk_import *d)
{
    enum { LIMIT = 1000, SHORT = 16, LONG = 20 };
    if (d->weights.n < LONG)
        return tn_error(d->im.g->ctx, "darknet-E001", here(d), "the file of weights is cut short");
    uint32_t major = u32(d->weights.at), minor = u32(d->weights.at + 4);
    d->transposed = major > LIMIT || minor > LIMIT;
    d->pos = major * 10 + minor >= 2 && !d->transposed ? LONG : SHORT;
    return TN_OK;
}

tn_value dk_weights(imp_node *c, uint32_t n, const int64_t dim[])
{
    dk_import *d = dk_of(c);
    size_t count, bytes;
    if (c->bad || !imp_measure(c->im, "weights", n, dim, TN_F32, c->loc, &count, &bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    if (bytes > d->weights.n - d->pos) {
        imp_refuse(c, IMP_BAD_TENSOR,
                   "the file of weights ends here: %zu bytes are needed, %zu are left; give that of this "
                   "configuration",
                   bytes, d->weights.n - d->pos);
        return (tn_value){0};
    }
    const tn_blob *data = imp_blob(c->im, (tn_bytes){d->weights.at + d->pos, bytes}, TN_F32);
    d->pos += bytes;
    return tn_val(imp_constant(c->im, TN_F32, n, dim, data, c->loc->node));
}

/* ---- layers ---- */

/* How a network is trained, and keys of detections that follow the results, have no bearing. */
static bool has_no_bearing(tn_bytes name)
{
    static const char *const known[] = {"anchors",
                                        "jitter",
                                        "ignore_thresh",
                                        "truth_thresh",
                                        "random",
                                        "thresh",
                                        "rescore",
                                        "object_scale",
                                        "noobject_scale",
                                        "class_scale",
                                        "coord_scale",
                                        "absolute",
                                        "bias_match",
                                        "max",
                                        "burn_in",
                                        "probability",
                                        "learning_rate",
                                        "stopbackward",
                                        "dropblock",
                                        "resize",
                                        "iou_thresh",
                                        "iou_loss",
                                        "iou_normalizer",
                                        "cls_normalizer",
                                        "obj_normalizer",
                                        "nms_kind",
                                        "beta_nms",
                                        "max_delta",
                                        "map",
                                        "label_smooth_eps",
                                        "counters_per_class",
                                        "sqrt",
                                        "type",
                                        "scale",
                                        "side",
                                        "forced",
                                        "shrink",
                                        "noise",
                                        "tree",
                                        "objectness_smooth",
                                        "dontload"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (imp_is(name, known[i]))
            return true;
    return false;
}

/* Layer numbers of `key`, counted from this layer where they are negative, as operands. */
static tn_bytes *earlier(dk_import *d, imp_node *c, size_t i, const char *key)
{
    tn_ints list;
    (void)dk_ints(c, key, &list);
    tn_bytes *name = TN_NEW_N(&d->im.scratch, tn_bytes, list.n + 1);
    for (uint32_t k = 0; k < list.n && !c->bad; k++) {
        int64_t at = list.at[k] < 0 ? (int64_t)i - 1 + list.at[k] : list.at[k];
        if (at < 0 || at >= (int64_t)i - 1)
            imp_refuse(c, IMP_UNKNOWN_NAME, "%s names layer %lld, which is not an earlier one", key,
                       (long long)at);
        else
            name[c->n_in++] = d->layer[at + 1].name;
    }
    return name;
}

static void convert(dk_import *d, size_t i)
{
    static tn_bytes data = {(const uint8_t *)"data", 4};
    dk_layer *l = &d->layer[i];
    tn_bytes *in = TN_NEW_N(&d->im.scratch, tn_bytes, 1);
    imp_node c = {.version = 1,
                  .n_in = 1,
                  .n_out = 1,
                  .in_name = in,
                  .out_name = &l->name,
                  .attr = l->attr,
                  .n_attr = l->n_attr,
                  .im = &d->im,
                  .g = d->im.g,
                  .arena = d->im.g->arena};
    c.loc = imp_make_loc(&d->im, imp_text(&d->im, l->name), l->kind);
    c.row = imp_row_of(&d->im, (tn_bytes){0}, (tn_bytes){(const uint8_t *)l->kind, strlen(l->kind)}, 1, c.loc,
                       true);
    in[0] = i > 1 ? d->layer[i - 1].name : data;
    bool route = strcmp(l->kind, "route") == 0, two = imp_has_attr(&c, "from");
    if (route || two) {
        c.n_in = 0;
        c.in_name = earlier(d, &c, i, route ? "layers" : "from");
        if (two && !c.bad) { /* what comes before, too */
            tn_bytes *both = TN_NEW_N(&d->im.scratch, tn_bytes, c.n_in + 1);
            both[0] = in[0];
            memcpy(both + 1, c.in_name, c.n_in * sizeof *both);
            c.in_name = both;
            c.n_in++;
        }
    }
    size_t n = 0;
    for (size_t k = 0; k < l->n_attr; k++)
        if (!has_no_bearing(l->attr[k].name))
            l->attr[n++] = l->attr[k];
    c.n_attr = n;
    if (c.bad)
        c.row = NULL;
    c.asked = 0;
    imp_convert(&d->im, &c);
}

/* ---- the model ---- */

static tn_status add_data(dk_import *d)
{
    static const char *const key[] = {"channels", "height", "width"};
    imp_dim dim[4] = {{.extent = 1}};
    imp_node c = {.im = &d->im,
                  .g = d->im.g,
                  .arena = d->im.g->arena,
                  .attr = d->layer[0].attr,
                  .n_attr = d->layer[0].n_attr,
                  .loc = imp_make_loc(&d->im, imp_text(&d->im, d->layer[0].name), d->layer[0].kind)};
    int64_t list = dk_int(&c, "inputs", 0); /* of a network without images */
    for (int i = 0; i < 3 && list <= 0; i++) {
        dim[1 + i].extent = dk_int(&c, key[i], i ? 0 : 3);
        if (!c.bad && dim[1 + i].extent < 1)
            imp_refuse(&c, IMP_ATTR_MISSING, "%s must be at least 1", key[i]);
    }
    dim[1].extent = list > 0 ? list : dim[1].extent;
    if (c.bad)
        return TN_FAIL;
    imp_input in = {{(const uint8_t *)"data", 4}, TN_F32, true, list > 0 ? 2 : 4, dim};
    TN_TRY(imp_check_shapes(&d->im, 1, &in));
    TN_TRY(imp_define(&d->im, in.name, (imp_value){.state = IMP_BAD}, here(d)));
    return imp_add_input(&d->im, &in, here(d));
}

static bool detects(const dk_layer *l)
{
    return strcmp(l->kind, "yolo") == 0 || strcmp(l->kind, "region") == 0 ||
           strcmp(l->kind, "detection") == 0;
}

static tn_status import_layers(dk_import *d)
{
    imp_model *im = &d->im;
    tn_bytes *result = TN_NEW_N(&im->scratch, tn_bytes, d->n);
    size_t n = 0;
    imp_start(im);
    TN_TRY(add_data(d));
    for (size_t i = 1; i < d->n && !imp_too_much(im, NULL); i++) {
        convert(d, i);
        if (detects(&d->layer[i]) || i + 1 == d->n)
            result[n++] = d->layer[i].name;
    }
    if (im->g->ctx->n_error > im->had_errors)
        return TN_FAIL;
    if (d->pos != d->weights.n)
        return tn_error(im->g->ctx, "darknet-E001", here(d),
                        "%zu bytes of the file of weights are left over; give that of this configuration",
                        d->weights.n - d->pos);
    return imp_set_results(im, n, result);
}

/* What the file beside the one given is called. */
static const char *other_name(dk_import *d, bool is_config)
{
    const char *slash = strrchr(d->im.file, '/'), *file = slash ? slash + 1 : d->im.file,
               *dot = strrchr(file, '.');
    return tn_arena_printf(&d->im.scratch, "%.*s%s", (int)(dot ? dot - file : (long)strlen(file)), file,
                           is_config ? ".weights" : ".cfg");
}

static bool is_text(tn_bytes b) { return b.n < 8 || !memchr(b.at, 0, 8); }

static tn_status import(dk_import *d, tn_bytes config, tn_bytes weights)
{
    d->weights = weights;
    TN_TRY(read_config(d, config));
    TN_TRY(open_weights(d));
    return import_layers(d);
}

static tn_status import_files(dk_import *d, tn_bytes given)
{
    bool is_config = is_text(given);
    const char *why = NULL, *other = other_name(d, is_config);
    const tn_file *beside = imp_open_file(&d->im, other, &why);
    if (!beside)
        return why ? tn_error(d->im.g->ctx, "darknet-E002", here(d),
                              "there is no file \"%s\" beside it; put it there: a model of Darknet is "
                              "NAME.cfg and NAME.weights",
                              other)
                   : TN_FAIL;
    tn_bytes found = {beside->at, beside->n};
    return import(d, is_config ? given : found, is_config ? found : given);
}

/* A configuration; weights are told by their name alone. */
bool tn_sniff_darknet(const uint8_t *at, size_t n)
{
    tn_bytes text = look_past_blanks((tn_bytes){at, n});
    while (text.n && (*text.at == '#' || *text.at == ';')) { /* a comment */
        const uint8_t *end = memchr(text.at, '\n', text.n);
        size_t k = end ? (size_t)(end - text.at) : text.n;
        text = look_past_blanks((tn_bytes){text.at + k, text.n - k});
    }
    return look_begins(text, "[net]") || look_begins(text, "[network]");
}

tn_status tn_import_darknet(tn_graph *g, const char *path, const tn_file *file,
                            const tn_import_options *options)
{
    dk_import d = {0};
    imp_open(&d.im, &dk_format, g, path, file, options);
    tn_status s = import_files(&d, (tn_bytes){file->at, file->n});
    imp_close(&d.im);
    return s;
}

tn_status dk_import_pair(tn_graph *g, const char *path, const tn_file *file, tn_bytes config,
                         tn_bytes weights)
{
    dk_import d = {0};
    imp_open(&d.im, &dk_format, g, path, file, NULL);
    tn_status s = import(&d, config, weights);
    imp_close(&d.im);
    return s;
}
