/* Configurations of layers: JSON objects whose keys differ between the dialects of Keras. Each key that is read is
 * remembered, so that a key of unknown meaning is reported unless it says nothing (null, false, 0 or an empty list). */
#include "frontend/keras/keras.h"

#include <string.h>

/* ---- JSON ---- */

tn_bytes keras_bytes(const tn_json *v)
{
    return tn_json_is(v, TN_JSON_STRING) ? (tn_bytes){(const uint8_t *)v->u.s, v->n} : (tn_bytes){0};
}

const tn_json *keras_at(const tn_json *array, size_t i)
{
    return tn_json_is(array, TN_JSON_ARRAY) && i < array->n ? &array->u.at[i] : NULL;
}

bool keras_number(const tn_json *v, double *out)
{
    if (tn_json_is(v, TN_JSON_INT))
        *out = (double)v->u.i;
    else if (tn_json_is(v, TN_JSON_REAL))
        *out = v->u.r;
    else if (tn_json_is(v, TN_JSON_BOOL))
        *out = v->u.b;
    else
        return false;
    return true;
}

bool keras_whole(const tn_json *v, int64_t *out)
{
    double r;
    if (tn_json_is(v, TN_JSON_INT)) {
        *out = v->u.i;
        return true;
    }
    if (!keras_number(v, &r) || !(r >= -9e15 && r <= 9e15) || (double)(int64_t)r != r)
        return false;
    *out = (int64_t)r;
    return true;
}

/* Keras 3 wraps what has a class: {"class_name": "__tuple__", "items": []}, {"class_name": "function",
 * "config": "relu"}. */
tn_bytes keras_class(const tn_json *v, const tn_json **out_config)
{
    const tn_json *config = tn_json_find(v, "config");
    tn_bytes name = keras_bytes(tn_json_is(v, TN_JSON_STRING) ? v : tn_json_find(v, "class_name"));
    *out_config = tn_json_is(config, TN_JSON_OBJECT) ? config : NULL;
    if (imp_is(name, "function") || imp_is(name, "builtins"))
        name = keras_bytes(config);
    const uint8_t *package = name.n ? memrchr(name.at, '>', name.n) : NULL;
    if (package) /* "Custom>swish" */
        name = (tn_bytes){package + 1, (size_t)(name.at + name.n - package - 1)};
    return name;
}

bool keras_dtype(tn_bytes name, tn_dtype *out)
{
    static const char *const known[] = {"float16", "bfloat16", "float32", "float64", "int8",   "int16",
                                        "int32",   "int64",    "uint8",   "uint16",  "uint32", "uint64"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (imp_is(name, known[i]))
            return tn_dtype_parse(known[i], name.n, out);
    *out = imp_is(name, "bool") ? TN_BOOL1 : TN_STR;
    return imp_is(name, "bool") || imp_is(name, "string");
}

/* "float32", or a policy: {"class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}. */
tn_dtype keras_policy(const tn_json *config)
{
    const tn_json *v = tn_json_find(config, "dtype");
    tn_bytes name = keras_bytes(v);
    tn_dtype t = {0};
    if (!name.n)
        name = keras_bytes(tn_json_find(tn_json_find(v, "config"), "name"));
    if (name.n > 6 && memcmp(name.at, "mixed_", 6) == 0)
        name = (tn_bytes){name.at + 6, name.n - 6};
    return keras_dtype(name, &t) ? t : (tn_dtype){0};
}

/* ---- keys ---- */

static void ask(keras_layer *l, const tn_json *key)
{
    size_t i = (size_t)(key - l->config->u.at) / 2;
    if (i < 64 * sizeof l->asked / sizeof *l->asked)
        l->asked[i / 64] |= UINT64_C(1) << i % 64;
}

/* The names that older versions had; looked for where the newer one is absent. */
static const char *older_name(const char *key)
{
    static const char *const rows[][2] = {
        {"filters", "nb_filter"},
        {"padding", "border_mode"},
        {"strides", "subsample"},
        {"data_format", "dim_ordering"},
        {"use_bias", "bias"},
        {"units", "output_dim"},
        {"recurrent_activation", "inner_activation"},
        {"negative_slope", "alpha"},
        {"pool_size", "pool_length"},
        {"dilation_rate", "atrous_rate"},
        {"dims", "axes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], key) == 0)
            return rows[i][1];
    return NULL;
}

static const tn_json *find(imp_node *c, const char *key)
{
    keras_layer *l = keras_layer_of(c);
    const tn_json *v = tn_json_find(l->config, key);
    if (v)
        ask(l, v - 1);
    return v;
}

void keras_ignore(imp_node *c, const char *key) { (void)find(c, key); }

const tn_json *keras_config(imp_node *c, const char *key)
{
    const char *older = older_name(key);
    const tn_json *v = find(c, key);
    if (!v && older)
        v = find(c, older);
    return v && v->kind != TN_JSON_NULL ? v : NULL;
}

static void refuse_value(imp_node *c, const char *key, const char *wanted)
{
    imp_refuse(c, IMP_BAD_VALUE, "%s of the layer's configuration must be %s; the model is damaged", key,
               wanted);
}

int64_t keras_int(imp_node *c, const char *key, int64_t def)
{
    const tn_json *v = keras_config(c, key);
    int64_t i = def;
    if (v && !keras_whole(v, &i) && !keras_whole(v->kind == TN_JSON_ARRAY && v->n == 1 ? v->u.at : NULL, &i))
        refuse_value(c, key, "an integer");
    return i;
}

double keras_real(imp_node *c, const char *key, double def)
{
    const tn_json *v = keras_config(c, key);
    double r = def;
    const tn_json *inside = tn_json_find(tn_json_find(v, "config"), "value"); /* a number of NumPy's */
    if (v && !keras_number(inside ? inside : v, &r))
        refuse_value(c, key, "a number");
    return r;
}

bool keras_bool(imp_node *c, const char *key, bool def)
{
    const tn_json *v = keras_config(c, key);
    double r = def;
    if (v && !keras_number(v, &r))
        refuse_value(c, key, "true or false");
    return r != 0;
}

const char *keras_text(imp_node *c, const char *key, const char *def)
{
    const tn_json *v = keras_config(c, key);
    if (v && v->kind != TN_JSON_STRING)
        refuse_value(c, key, "a text");
    return v && v->kind == TN_JSON_STRING ? imp_text(c->im, keras_bytes(v)) : def;
}

/* Keras 3 writes some lists as {"class_name": "__tuple__", "items": [...]}. */
static const tn_json *items(const tn_json *v)
{
    const tn_json *inside = tn_json_find(v, "items");
    return inside ? inside : v;
}

int keras_list(imp_node *c, const char *key, int most, int64_t out[])
{
    const tn_json *v = items(keras_config(c, key));
    if (!v)
        return -1;
    if (keras_whole(v, &out[0]))
        return 1;
    for (uint32_t i = 0; v->kind == TN_JSON_ARRAY && i < v->n && i < (uint32_t)most; i++)
        if (!keras_whole(&v->u.at[i], &out[i])) {
            refuse_value(c, key, "a list of integers");
            return -1;
        }
    if (v->kind != TN_JSON_ARRAY || v->n > (uint32_t)most) {
        refuse_value(c, key, "a short list of integers");
        return -1;
    }
    return (int)v->n;
}

bool keras_ints(imp_node *c, const char *key, int n, int64_t out[])
{
    int64_t v[IMP_MAX_RANK];
    int count = keras_list(c, key, IMP_MAX_RANK, v);
    if (count < 0)
        return false;
    if (count != n && count != 1)
        refuse_value(c, key, "one integer, or one for each dimension");
    for (int i = 0; i < n && !c->bad; i++)
        out[i] = v[count == 1 ? 0 : i];
    return !c->bad;
}

bool keras_channels_last(imp_node *c)
{
    const char *order = keras_text(c, "data_format", "channels_last");
    if (strcmp(order, "channels_first") == 0 || strcmp(order, "th") == 0)
        return false;
    if (strcmp(order, "channels_last") != 0 && strcmp(order, "tf") != 0 && strcmp(order, "default") != 0)
        refuse_value(c, "data_format", "channels_last or channels_first");
    return true;
}

/* ---- what nobody asked for ---- */

/* Keys that have no bearing on results: how the layer was made and trained. */
static bool is_of_training(tn_bytes key)
{
    static const char *const whole[] = {"name",
                                        "trainable",
                                        "dtype",
                                        "batch_input_shape",
                                        "batch_shape",
                                        "input_dtype",
                                        "input_shape",
                                        "input_dim",
                                        "input_length",
                                        "implementation",
                                        "consume_less",
                                        "seed",
                                        "momentum",
                                        "dropout",
                                        "recurrent_dropout",
                                        "dropout_W",
                                        "dropout_U",
                                        "synchronized",
                                        "init",
                                        "inner_init",
                                        "forget_bias_init",
                                        "unit_forget_bias",
                                        "time_major",
                                        "unroll",
                                        "rate",
                                        "p",
                                        "noise_shape",
                                        "sparse",
                                        "ragged",
                                        "build_input_shape",
                                        "cache_size",
                                        "autocast",
                                        "renorm_momentum",
                                        "beta_init",
                                        "gamma_init",
                                        "optional",
                                        "use_cudnn",
                                        "shared_object_id",
                                        "dropout_rate",
                                        "lora_rank", /* archives have the sum of both kernels */
                                        "lora_alpha",
                                        "sigma",
                                        "l1",
                                        "l2",
                                        "stddev",
                                        "virtual_batch_size",
                                        "adjustment",
                                        "fused",
                                        "experimental_run_tf_function",
                                        "function"};
    static const char *const ends[] = {"_initializer", "_regularizer", "_constraint"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (imp_is(key, whole[i]))
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (key.n > strlen(ends[i]) &&
            memcmp(key.at + key.n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

bool keras_says_nothing(const tn_json *v)
{
    double r;
    return v->kind == TN_JSON_NULL || (keras_number(v, &r) && r == 0) ||
           ((v->kind == TN_JSON_ARRAY || v->kind == TN_JSON_OBJECT) && v->n == 0);
}

void keras_check_config(imp_node *c)
{
    keras_layer *l = keras_layer_of(c);
    size_t n = tn_json_is(l->config, TN_JSON_OBJECT) ? l->config->n : 0;
    for (size_t i = 0; i < n && !c->bad && !l->checked; i++) {
        const tn_json *key = &l->config->u.at[2 * i];
        bool asked = i < 64 * sizeof l->asked / sizeof *l->asked && l->asked[i / 64] >> i % 64 & 1;
        if (!asked && !is_of_training(keras_bytes(key)) && !keras_says_nothing(key + 1))
            imp_refuse(c, IMP_ATTR_UNKNOWN,
                       "%s of the layer's configuration is not known; save the model with another version of "
                       "Keras, or "
                       "without it",
                       imp_text(c->im, keras_bytes(key)));
    }
    l->checked = true;
}
