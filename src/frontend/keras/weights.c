/* Variables of layers: which dataset of the file holds each, and its values as constants.
 *
 * Keras 3 keeps the variables of an object in a group that has the object's path ("layers/conv2d_1/vars/0"). Older
 * versions list the names of a layer's variables, those of layers inside included: first the trained ones, then the
 * others, each in the order of the layers. */
#include "frontend/keras/keras.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

bool keras_inflate(tn_bytes from, void *to, size_t n)
{
    uLongf got = n;
    return uncompress(to, &got, from.at, from.n) == Z_OK && got == n;
}

static tn_bytes bytes_of(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

static tn_status report_file(keras_import *k)
{
    return tn_error(k->im.g->ctx, "keras-E001", imp_make_loc(&k->im, NULL, NULL),
                    "the HDF5 data of the model cannot be read: %s; save the model again", k->h5.error);
}

/* ---- by path ---- */

/* BatchNormalization -> batch_normalization, as Keras names what is in a list. */
static void snake(const char *class, tn_buf *out)
{
    if (strcmp(class, "GroupQueryAttention") ==
        0) /* whose own name differs from the one that it is known by */
        class = "GroupedQueryAttention";
    for (const char *s = class; *s; s++) {
        bool upper = isupper((unsigned char)*s), before = s > class;
        if (upper && before && (islower((unsigned char)s[1]) || islower((unsigned char)s[-1])))
            tn_buf_char(out, '_');
        tn_buf_char(out, (char)tolower((unsigned char)*s));
    }
}

/* The attribute of a Python object, which may have been a private one. */
static uint64_t child(keras_import *k, uint64_t group, tn_bytes path)
{
    uint64_t found = tn_hdf5_find(&k->h5, group, path);
    if (found || k->h5.error)
        return found;
    if (imp_is(path, "layers"))
        return tn_hdf5_find(&k->h5, group, bytes_of("_layer_checkpoint_dependencies"));
    const char *private = tn_arena_printf(&k->im.scratch, "_%.*s", (int)path.n, (const char *)path.at);
    return tn_hdf5_find(&k->h5, group, bytes_of(private));
}

static void bind_variables(keras_import *k, keras_layer *l, uint64_t group)
{
    for (size_t i = 0; i < l->n_variable; i++) {
        keras_variable *v = &l->variable[i];
        char name[32];
        size_t number = 0;
        for (size_t j = 0; j < i; j++)
            number += imp_same(l->variable[j].path, v->path);
        snprintf(name, sizeof name, "vars/%zu", number);
        uint64_t holder = v->path.n ? child(k, group, v->path) : group;
        v->object = holder ? tn_hdf5_find(&k->h5, holder, bytes_of(name)) : 0;
    }
}

/* group 0: the file has none, as nothing in it has variables. Depth: of layers inside layers, which keras_read_layer
 * limits. */
static void bind_by_path(keras_import *k, keras_layer *l, uint64_t group, const char *path)
{
    tn_strmap used = {0};
    l->path = path;
    if (group)
        bind_variables(k, l, group);
    for (size_t i = 0; i < l->n_inside; i++) {
        keras_layer *inside = l->inside[i];
        tn_buf name = {0};
        uint64_t times = 0, place;
        if (!inside || inside->row->flags & KERAS_OPERATION)
            continue;
        place = group ? child(k, group, inside->place) : 0;
        tn_buf_printf(&name, "%s%s%.*s", path, *path ? "/" : "", (int)inside->place.n,
                      (const char *)inside->place.at);
        if (imp_is(inside->place, "layers") || imp_is(inside->place, "cells")) {
            tn_buf_char(&name, '/');
            size_t at = name.n;
            snake(inside->class, &name);
            (void)tn_strmap_get(&used, inside->class, strlen(inside->class), &times);
            tn_strmap_put(&used, inside->class, strlen(inside->class), times + 1);
            if (times)
                tn_buf_printf(&name, "_%llu", (unsigned long long)times);
            place = place ? tn_hdf5_find(&k->h5, place, bytes_of(tn_buf_cstr(&name) + at)) : 0;
        }
        bind_by_path(k, inside, place, tn_arena_strdup(&k->im.scratch, tn_buf_cstr(&name)));
        tn_buf_deinit(&name);
    }
    tn_strmap_deinit(&used);
}

/* ---- by lists of names ---- */

typedef tn_vec(keras_variable *) variables;

/* Variables that are trained, or those that are not. frozen: a holder is not trained. */
static void collect(keras_layer *l, bool frozen, bool trained, variables *out)
{
    bool fixed = frozen || !l->trained;
    for (size_t i = 0; i < l->n_variable; i++)
        if ((l->variable[i].trained && !fixed) == trained)
            tn_vec_push(out, &l->variable[i]);
    for (size_t i = 0; i < l->n_inside; i++)
        if (l->inside[i])
            collect(l->inside[i], fixed, trained, out);
}

size_t keras_count_variables(const keras_layer *l)
{
    size_t n = l->n_variable;
    for (size_t i = 0; i < l->n_inside; i++)
        n += l->inside[i] ? keras_count_variables(l->inside[i]) : 0;
    return n;
}

typedef tn_vec(tn_bytes) texts;

static bool add_texts(keras_import *k, uint64_t group, const char *name, texts *out)
{
    tn_hdf5_array a;
    if (!tn_hdf5_attribute(&k->h5, group, name, &a))
        return false;
    for (size_t i = 0; i < a.count && !k->h5.error; i++)
        tn_vec_push(out, tn_hdf5_text(&k->h5, &a, i));
    return true;
}

/* An attribute that is too long for HDF5 is written in pieces: layer_names0, layer_names1, ... */
static void read_texts(keras_import *k, uint64_t group, const char *name, texts *out)
{
    char piece[64];
    if (add_texts(k, group, name, out))
        return;
    for (int i = 0; i < 100000 && !k->h5.error; i++) {
        snprintf(piece, sizeof piece, "%s%d", name, i);
        if (!add_texts(k, group, piece, out))
            return;
    }
}

/* gamma:0 of "model/bn/gamma:0" is the variable gamma; older versions put the layer's name before it (bn_gamma). */
static bool is_called(tn_bytes path, tn_bytes name)
{
    const uint8_t *colon = path.n ? memrchr(path.at, ':', path.n) : NULL;
    size_t n = colon ? (size_t)(colon - path.at) : path.n;
    return n >= name.n && memcmp(path.at + n - name.n, name.at, name.n) == 0;
}

static void bind_list(keras_import *k, keras_layer *l, uint64_t group)
{
    variables v = {0};
    texts names = {0};
    collect(l, false, true, &v);
    collect(l, false, false, &v);
    read_texts(k, group, "weight_names", &names);
    if (names.n != v.n && !k->h5.error)
        (void)imp_error(&k->im, IMP_BAD_TENSOR, l->loc,
                        "the file has %zu variables for the layer, but its configuration needs %zu; give the "
                        "weights of this model",
                        names.n, v.n);
    for (size_t i = 0; i < names.n && names.n == v.n; i++) {
        v.at[i]->object = tn_hdf5_find(&k->h5, group, names.at[i]);
        if (k->version > 1 && !is_called(names.at[i], v.at[i]->name))
            (void)imp_error(&k->im, IMP_BAD_TENSOR, l->loc, "variable \"%s\" stands where \"%s\" belongs",
                            imp_text(&k->im, names.at[i]), imp_text(&k->im, v.at[i]->name));
    }
    tn_vec_deinit(&v);
    tn_vec_deinit(&names);
}

/* Layers by their names or, where the file was written for a model whose layers are called otherwise, by
 * their order. */
static void bind_by_names(keras_import *k, keras_layer *root, uint64_t group)
{
    texts names = {0}, filled = {0};
    size_t n = 0, known = 0, at = 0;
    read_texts(k, group, "layer_names", &names);
    for (size_t i = 0; i < names.n && !k->h5.error; i++) {
        texts inside = {0};
        uint64_t of = tn_hdf5_find(&k->h5, group, names.at[i]);
        if (of)
            read_texts(k, of, "weight_names", &inside);
        if (inside.n)
            tn_vec_push(&filled, names.at[i]);
        tn_vec_deinit(&inside);
    }
    for (size_t i = 0; i < root->n_inside; i++) {
        const keras_layer *l = root->inside[i];
        bool has = l && keras_count_variables(l);
        n += has;
        for (size_t j = 0; has && j < filled.n; j++)
            known += imp_is(filled.at[j], l->name);
    }
    if (known != n && filled.n != n && !k->h5.error)
        (void)imp_error(
            &k->im, IMP_BAD_TENSOR, root->loc,
            "the file has variables of %zu layers, but the model has %zu; give the weights of this model",
            filled.n, n);
    for (size_t i = 0; i < root->n_inside && (known == n || filled.n == n); i++) {
        keras_layer *l = root->inside[i];
        if (!l || !keras_count_variables(l))
            continue;
        uint64_t of = tn_hdf5_find(&k->h5, group, known == n ? bytes_of(l->name) : filled.at[at]);
        at++;
        if (of)
            bind_list(k, l, of);
    }
    tn_vec_deinit(&names);
    tn_vec_deinit(&filled);
}

tn_status keras_bind(keras_import *k)
{
    if (!k->has_weights)
        return TN_OK;
    if (k->by_path)
        bind_by_path(k, k->root, k->weights, "");
    else
        bind_by_names(k, k->root, k->weights);
    return k->h5.error ? report_file(k) : TN_OK;
}

/* ---- values ---- */

static bool dtype_of(const tn_hdf5_type *t, tn_dtype *out)
{
    if (t->kind == TN_HDF5_BFLOAT)
        *out = TN_DT(TN_BFLOAT, 16);
    else if (t->kind == TN_HDF5_FLOAT)
        *out = TN_DT(TN_FLOAT, (uint8_t)(8 * t->bytes));
    else if (t->kind == TN_HDF5_INT || t->kind == TN_HDF5_UINT)
        *out = TN_DT(t->kind == TN_HDF5_INT ? TN_INT : TN_UINT, (uint8_t)(8 * t->bytes));
    return t->kind != TN_HDF5_TEXT && t->kind != TN_HDF5_LONG_TEXT;
}

static tn_value refuse(imp_node *c, const char *why, tn_bytes name)
{
    imp_refuse(c, IMP_BAD_TENSOR, why, imp_text(c->im, name));
    return (tn_value){0};
}

static tn_value load(imp_node *c, keras_variable *v)
{
    keras_import *k = keras_of(c);
    const keras_layer *l = keras_layer_of(c);
    tn_hdf5_array a;
    tn_dtype t;
    size_t count, bytes;
    if (!k->has_weights)
        return refuse(
            c, "variable %s has no values: the file has no weights; give the file of weights beside it",
            v->name);
    if (!v->object)
        return refuse(c, "the file has no values for variable %s; give the weights of this model", v->name);
    bool found = tn_hdf5_dataset(&k->h5, v->object, &a);
    const char *name = tn_arena_printf(c->arena, "%s.%s", l->name, imp_text(c->im, v->name));
    if (k->h5.error)
        return refuse(c,
                      tn_arena_printf(c->arena, "the values of variable %%s cannot be read: %s", k->h5.error),
                      v->name);
    if (!found || !dtype_of(&a.type, &t))
        return refuse(c, "the values of variable %s are no tensor of numbers; the model is damaged", v->name);
    if (!imp_measure(c->im, name, (size_t)a.ndim, a.dim, t, c->loc, &count, &bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    const tn_blob *blob = NULL;
    void *to;
    if (!a.data.at && !imp_may_own(c->im, bytes)) {
        c->bad = true;
        return (tn_value){0};
    }
    if (a.data.at)
        blob = imp_blob(c->im, (tn_bytes){a.data.at, bytes}, t);
    else if ((blob = tn_graph_blob(c->g, bytes, &to)) != NULL && !tn_hdf5_read(&k->h5, v->object, &a, to))
        return refuse(c,
                      tn_arena_printf(c->arena, "the values of variable %%s cannot be read: %s", k->h5.error),
                      v->name);
    return tn_val(tn_constant_new(c->g, tn_graph_function(c->g, "main")->body, NULL,
                                  tn_type_tensor_i(c->pool, t, a.ndim, a.dim), blob, name));
}

/* "kernel", or "cell/kernel" */
static keras_variable *variable_of(keras_layer *l, const char *name)
{
    const char *slash = strrchr(name, '/');
    tn_bytes path = {(const uint8_t *)name, slash ? (size_t)(slash - name) : 0};
    for (size_t i = 0; i < l->n_variable; i++)
        if (imp_same(l->variable[i].path, path) && imp_is(l->variable[i].name, slash ? slash + 1 : name))
            return &l->variable[i];
    return NULL;
}

tn_value keras_raw(imp_node *c, keras_layer *l, const char *name)
{
    keras_variable *v = variable_of(l, name);
    if (v && !v->v.def && !c->bad)
        v->v = load(c, v);
    return v ? v->v : (tn_value){0};
}

tn_value keras_optional(imp_node *c, const char *name)
{
    keras_layer *l = keras_layer_of(c);
    tn_value v = keras_raw(c, l, name);
    bool as_it_is = !v.def || c->bad || !l->dtype.bits || !tn_dtype_is_float(imp_type(v)->dtype);
    return as_it_is ? v : imp_cast(c, v, l->dtype);
}

tn_value keras_variable_of(imp_node *c, const char *name)
{
    tn_value v = keras_optional(c, name);
    if (!v.def)
        imp_refuse(c, IMP_BAD_TENSOR, "the layer has no variable %s; the model is damaged", name);
    return v;
}
