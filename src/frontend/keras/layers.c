/* Layers of a model's configuration: their classes, their variables, the layers inside them. */
#include "frontend/keras/keras.h"

#include "base/words.h"

#include <string.h>

/* ---- rows ---- */

static const keras_row *const tables[] = {
    keras_rows_core,      keras_rows_activation,    keras_rows_window,     keras_rows_local,
    keras_rows_shape,     keras_rows_merge,         keras_rows_norm,       keras_rows_recurrent,
    keras_rows_attention, keras_rows_preprocessing, keras_rows_audio,      keras_rows_category,
    keras_rows_text,      keras_rows_operation,     keras_rows_form,       keras_rows_function,
    keras_rows_numbers,   keras_rows_products,      keras_rows_statistics, keras_rows_picture,
};

static const keras_row *find_row(tn_bytes class, bool operation)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const keras_row *r = tables[i]; r->row.op; r++)
            if (((r->flags & KERAS_OPERATION) != 0) == operation && imp_is(class, r->row.op))
                return r;
    return NULL;
}

const keras_row *keras_row_of(keras_import *k, tn_bytes class, bool operation, const tn_loc *loc)
{
    const keras_row *row = find_row(class, operation);
    if (row)
        return row;
    const char *name = imp_text(&k->im, class);
    tn_nearest near = {.word = name, .n = strlen(name)};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const keras_row *r = tables[i]; r->row.op; r++)
            if (((r->flags & KERAS_OPERATION) != 0) == operation)
                tn_nearest_offer(&near, r->row.op);
    (void)imp_error(&k->im, IMP_UNKNOWN_OPERATOR, loc, "%s %s is not supported; %s",
                    operation ? "function" : "layer", name,
                    near.best ? tn_arena_printf(&k->im.scratch, "the nearest that is known is %s", near.best)
                              : "build the model from layers of keras.layers");
    return NULL;
}

static tn_bytes bytes_of(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

static bool begins(tn_bytes s, const char *with)
{
    return s.n >= strlen(with) && memcmp(s.at, with, strlen(with)) == 0;
}

/* What runs Python is refused by name. Classes of other packages may be called like those of Keras. */
static bool is_foreign(keras_import *k, const tn_json *json, tn_bytes class, const tn_loc *loc)
{
    tn_bytes registered = keras_bytes(tn_json_find(json, "registered_name"));
    tn_bytes module = keras_bytes(tn_json_find(json, "module"));
    bool other =
        module.n && !begins(module, "keras") && !begins(module, "tf_keras") && !begins(module, "tensorflow");
    bool custom =
        other || (registered.n && memchr(registered.at, '>', registered.n)) || memchr(class.at, '>', class.n);
    if (imp_is(class, "Lambda"))
        (void)tn_error(
            k->im.g->ctx, "keras-E016", loc,
            "a Lambda layer holds Python code, which is not run; replace it by layers of keras.layers");
    else if (custom)
        (void)tn_error(
            k->im.g->ctx, "keras-E016", loc,
            "%s is a class of the model's author, whose Python code is not in the file; replace it by layers "
            "of keras.layers, or export the model to ONNX",
            imp_text(&k->im, registered.n ? registered : class));
    return custom || imp_is(class, "Lambda");
}

/* Integers in the place of variables, which have scales of their own. */
static bool is_quantised(keras_import *k, const keras_layer *l)
{
    const tn_json *policy = tn_json_find(l->config, "dtype");
    tn_bytes name = keras_bytes(
        tn_json_is(policy, TN_JSON_STRING) ? policy : tn_json_find(tn_json_find(policy, "config"), "name"));
    const tn_json *mode = tn_json_find(tn_json_find(policy, "config"), "mode"),
                  *how = tn_json_find(l->config, "quantization_config");
    bool is = (name.n && memmem(name.at, name.n, "_from_", 6)) || mode || tn_json_is(how, TN_JSON_OBJECT);
    name = mode ? keras_bytes(mode) : name;
    if (is)
        (void)imp_error(&k->im, IMP_BAD_VALUE, l->loc,
                        "quantised layers (%s) are not supported; save the model before "
                        "quantize()",
                        name.n ? imp_text(&k->im, name) : "quantization_config");
    return is;
}

/* ---- variables ---- */

static const tn_json *find_key(const keras_layer *l, const char *key, size_t n)
{
    char text[32] = {0};
    memcpy(text, key, n < sizeof text ? n : sizeof text - 1);
    return tn_json_find(l->config, text);
}

static bool has_key(const keras_layer *l, tn_bytes key)
{
    const tn_json *v = find_key(l, (const char *)key.at, key.n);
    return v && v->kind != TN_JSON_NULL;
}

/* A switch; of a text, whether it is another than the usual one. */
static bool is_on(const keras_layer *l, tn_bytes key, bool def)
{
    double r = def;
    const tn_json *v = find_key(l, (const char *)key.at, key.n);
    if (tn_json_is(v, TN_JSON_STRING))
        return !tn_json_is_text(v, "dot");
    if (!v && imp_is(key, "use_bias"))
        v = tn_json_find(l->config, "bias");
    (void)keras_number(v, &r);
    return r != 0 && !tn_json_is(v, TN_JSON_NULL);
}

/* Does the key of a word "key!value" have that value? */
static bool is_text(const keras_layer *l, const char *key, const char *mark, const char *end)
{
    tn_bytes is = keras_bytes(find_key(l, key, (size_t)(mark - key)));
    tn_bytes value = {(const uint8_t *)mark + 1, (size_t)(end - mark - 1)};
    return imp_same(is, value);
}

/* Is a key on, as in "a"; or one of two, "a+b"; or the first without the other, "a-b"? */
static bool are_on(const keras_layer *l, tn_bytes keys, bool def)
{
    const uint8_t *more = memchr(keys.at, '+', keys.n), *less = memchr(keys.at, '-', keys.n),
                  *mark = more ? more : less;
    if (!mark)
        return is_on(l, keys, def);
    size_t n = (size_t)(mark - keys.at);
    bool first = is_on(l, (tn_bytes){keys.at, n}, def),
         other = is_on(l, (tn_bytes){mark + 1, keys.n - n - 1}, false);
    return more ? first || other : first && !other;
}

/* One word of a row: [-][place/]name[?key]; "??": where the key is absent, the variable is too; "?~": there it is, and
 * only there; "?!": where the key is off; "?key!value": where it is another text. "?a+b", "?a-b": as are_on. */
static bool read_variable(const keras_layer *l, const char *word, size_t n, keras_variable *out)
{
    *out = (keras_variable){.trained = *word != '-'};
    word += !out->trained;
    n -= !out->trained;
    const char *ask = memchr(word, '?', n), *end = word + n;
    if (ask) {
        char how = ask + 1 < end ? ask[1] : 0;
        const char *key = ask + (how && strchr("?~!", how) ? 2 : 1);
        tn_bytes name = {(const uint8_t *)key, (size_t)(end - key)};
        const char *other = memchr(key, '!', name.n);
        if (other        ? is_text(l, key, other, end)
            : how == '~' ? has_key(l, name)
                         : are_on(l, name, how != '?') == (how == '!'))
            return false;
        n = (size_t)(ask - word);
    }
    const char *slash = memrchr(word, '/', n);
    out->path = slash ? (tn_bytes){(const uint8_t *)word, (size_t)(slash - word)} : (tn_bytes){0};
    out->name = slash ? (tn_bytes){(const uint8_t *)slash + 1, (size_t)(word + n - slash - 1)}
                      : (tn_bytes){(const uint8_t *)word, n};
    return true;
}

static void read_variables(keras_import *k, keras_layer *l)
{
    const char *at = l->row->variables, *word;
    size_t n, most = 0;
    while (at && tn_words_next(&at, &word, &n))
        most++;
    l->variable = TN_NEW_N(&k->im.scratch, keras_variable, most + 1);
    at = l->row->variables;
    while (at && tn_words_next(&at, &word, &n))
        l->n_variable += read_variable(l, word, n, &l->variable[l->n_variable]);
}

/* ---- layers inside ---- */

static void add_inside(keras_import *k, keras_layer *l, const tn_json *json, tn_bytes place, int depth)
{
    keras_layer *inside = keras_read_layer(k, json, depth + 1);
    if (inside)
        inside->place = place;
    l->inside[l->n_inside++] = inside;
}

/* Keras 1 and 2 had the list of a Sequential's layers as its whole configuration. */
static const tn_json *layers_of(const keras_layer *l)
{
    const tn_json *whole = tn_json_find(l->json, "config");
    return tn_json_is(whole, TN_JSON_ARRAY) ? whole : tn_json_find(l->config, "layers");
}

/* A word of a row: key[|another, where it is absent][=place]. */
static void add_named(keras_import *k, keras_layer *l, const char *word, size_t n, int depth)
{
    const char *equals = memchr(word, '=', n), *bar = memchr(word, '|', n), *end = word + n;
    size_t key = (size_t)((bar ? bar : equals ? equals : end) - word);
    const char *place = equals ? equals + 1 : word;
    const tn_json *v = find_key(l, word, key);
    if (bar && !tn_json_is(v, TN_JSON_OBJECT))
        v = find_key(l, bar + 1, (size_t)(end - bar - 1));
    if (tn_json_is(v, TN_JSON_OBJECT))
        add_inside(k, l, v, (tn_bytes){(const uint8_t *)place, equals ? (size_t)(end - place) : key}, depth);
}

static void read_inside(keras_import *k, keras_layer *l, int depth)
{
    const char *at = l->row->inside, *word;
    size_t n;
    const tn_json *list = l->row->flags & KERAS_MODEL ? layers_of(l) : tn_json_find(l->config, "cells");
    size_t most = tn_json_is(list, TN_JSON_ARRAY) ? list->n : 0;
    l->inside = TN_NEW_N(&k->im.scratch, keras_layer *, most + 3);
    for (size_t i = 0; i < most && !imp_too_much(&k->im, l->loc); i++)
        add_inside(k, l, &list->u.at[i], bytes_of(l->row->flags & KERAS_MODEL ? "layers" : "cells"), depth);
    while (at && tn_words_next(&at, &word, &n))
        add_named(k, l, word, n, depth);
}

/* ---- one layer ---- */

/* Functions that are called as layers: those of TensorFlow by a name in the configuration, those of Keras 3
 * by a class. Where Keras 3 leaves the module out (.h5), only layers say how they are trained. */
static bool is_operation(keras_import *k, const tn_json *json, tn_bytes *class)
{
    tn_bytes module = keras_bytes(tn_json_find(json, "module"));
    const tn_json *config = tn_json_find(json, "config");
    if (imp_is(*class, "TFOpLambda") || imp_is(*class, "SlicingOpLambda")) {
        *class = keras_bytes(tn_json_find(tn_json_find(json, "config"), "function"));
        if (class->n > 10 && memcmp(class->at, "compat.v1.", 10) == 0)
            *class = (tn_bytes){class->at + 10, class->n - 10};
        return true;
    }
    if (!module.n && k->version >= 3 && find_row(*class, true))
        return !find_row(*class, false) ||
               !(tn_json_find(config, "trainable") || tn_json_find(config, "dtype"));
    return module.n &&
           (memmem(module.at, module.n, ".ops", 4) || memmem(module.at, module.n, "keras.ops", 9));
}

keras_layer *keras_read_layer(keras_import *k, const tn_json *json, int depth)
{
    tn_bytes class = keras_bytes(tn_json_find(json, "class_name")),
             name = keras_bytes(tn_json_find(json, "name"));
    keras_layer *l = TN_NEW(&k->im.scratch, keras_layer);
    const tn_json *config = tn_json_find(json, "config");
    *l = (keras_layer){
        .json = json, .config = tn_json_is(config, TN_JSON_OBJECT) ? config : NULL, .trained = true};
    if (!name.n)
        name = keras_bytes(tn_json_find(l->config, "name"));
    l->name = imp_text(&k->im, name);
    l->loc = imp_make_loc(&k->im, l->name, imp_text(&k->im, class));
    if (!class.n || depth > KERAS_MAX_DEPTH) {
        (void)imp_error(&k->im, IMP_BAD_VALUE, l->loc, "%s; the model is damaged",
                        class.n ? "layers inside layers are nested too deep" : "a layer has no class_name");
        return NULL;
    }
    if (is_foreign(k, json, class, l->loc) || is_quantised(k, l))
        return NULL;
    bool operation = is_operation(k, json, &class);
    l->class = imp_text(&k->im, class);
    l->loc = imp_make_loc(&k->im, l->name, l->class);
    l->row = keras_row_of(k, class, operation, l->loc);
    if (!l->row)
        return NULL;
    const tn_json *trainable = tn_json_find(l->config, "trainable");
    l->trained = !tn_json_is(trainable, TN_JSON_BOOL) || trainable->u.b;
    l->dtype = keras_policy(l->config);
    read_variables(k, l);
    read_inside(k, l, depth);
    return l;
}
