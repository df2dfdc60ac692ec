/* TorchScript archives: their files, classes and the model object; the run of its forward method. */
#include "frontend/pytorch/pytorch.h"

#include "base/file.h"

#include <string.h>

/* ---- sources ---- */

static const char *code_path(pt_import *p, tn_bytes module)
{
    char *s = tn_arena_printf(&p->im.scratch, "%scode/%.*s.py", p->root,
                              (int)(module.n > 1024 ? 1024 : module.n), (const char *)module.at);
    for (char *at = s + strlen(p->root) + 5, *end = s + strlen(s) - 3; at < end; at++)
        *at = *at == '.' ? '/' : *at;
    return s;
}

/* NULL: there is none, or it is broken, which is reported. */
static const pt_source *source(pt_import *p, tn_bytes module)
{
    uint64_t at;
    if (tn_strmap_get(&p->sources, (const char *)module.at, module.n, &at))
        return (const pt_source *)(uintptr_t)at;
    const char *path = code_path(p, module), *why = NULL;
    const imp_zip_entry *e = imp_zip_find(&p->zip, path);
    tn_bytes text = {0};
    pt_source *s = NULL;
    int line = 0;
    if (e)
        why = imp_zip_read(&p->im.scratch, &p->zip, e, &text);
    if (e && !why)
        s = pt_parse(&p->im.scratch, tn_intern(p->im.g->ctx, path + strlen(p->root)), text, &why, &line);
    if (why)
        pt_fail(p, "pytorch-E002", "%s, line %d: %s; save it again, or report this if PyTorch reads it",
                imp_text(&p->im, pt_words(path).text), line, why);
    tn_strmap_put(&p->sources, tn_arena_strndup(&p->im.scratch, (const char *)module.at, module.n), module.n,
                  (uint64_t)(uintptr_t)s);
    return s;
}

const pt_source *pt_source_of(pt_import *p, tn_bytes qualified, tn_bytes *out_name)
{
    size_t n = qualified.n;
    while (n && qualified.at[n - 1] != '.')
        n--;
    *out_name = n ? (tn_bytes){qualified.at + n, qualified.n - n} : qualified;
    return n ? source(p, (tn_bytes){qualified.at, n - 1}) : NULL;
}

const pt_class *pt_class_of(pt_import *p, tn_bytes qualified)
{
    tn_bytes name;
    const pt_source *s = pt_source_of(p, qualified, &name);
    for (size_t i = 0; s && i < s->n_class; i++)
        if (imp_same(s->type[i]->name, name))
            return s->type[i];
    return NULL;
}

const pt_def *pt_find_def(const pt_source *s, tn_bytes name)
{
    for (size_t i = 0; s && i < s->n_def; i++)
        if (imp_same(s->def[i]->name, name))
            return s->def[i];
    return NULL;
}

const pt_def *pt_method_of(pt_import *p, const pt_object *o, tn_bytes name)
{
    const pt_class *c = pt_class_of(p, o->type);
    for (size_t i = 0; c && i < c->n_def; i++)
        if (imp_same(c->def[i]->name, name))
            return c->def[i];
    return NULL;
}

/* ---- the archive ---- */

static tn_status damaged(pt_import *p, const char *why)
{
    return tn_error(p->im.g->ctx, "pytorch-E001", imp_make_loc(&p->im, NULL, NULL),
                    "this is no PyTorch file, or it is damaged: %s%s", why, imp_again(why));
}

/* The data of the storages that a pickle refers to. */
static tn_status load_storages(pt_import *p, const char *folder)
{
    for (size_t i = 0; i < p->storages.n; i++) {
        pt_storage *s = (pt_storage *)(uintptr_t)p->storages.entry[i].value;
        if (s->has_data)
            continue;
        const char *name = tn_arena_printf(&p->im.scratch, "%s%s%.*s", p->root, folder,
                                           (int)(s->key.n > 256 ? 256 : s->key.n), (const char *)s->key.at);
        const imp_zip_entry *e = imp_zip_find(&p->zip, name);
        if (!e)
            return damaged(
                p, tn_arena_printf(&p->im.scratch, "%s is missing", imp_text(&p->im, pt_words(name).text)));
        const char *why = imp_zip_read(&p->im.scratch, &p->zip, e, &s->data);
        if (why)
            return damaged(p, why);
        s->has_data = true;
    }
    return TN_OK;
}

tn_status pt_unpickle_entry(pt_import *p, const char *name, const char *folder, pt_value *out)
{
    const char *path = tn_arena_printf(&p->im.scratch, "%s%s", p->root, name), *why;
    const imp_zip_entry *e = imp_zip_find(&p->zip, path);
    pt_pickle k = {.arena = &p->im.scratch, .storages = &p->storages};
    *out = pt_none();
    if (!e)
        return damaged(p, tn_arena_printf(&p->im.scratch, "%s is missing", name));
    if ((why = imp_zip_read(&p->im.scratch, &p->zip, e, &k.data)) != NULL)
        return damaged(p, why);
    k.budget = k.data.n;
    if ((why = pt_unpickle(&k, out)) != NULL)
        return damaged(p, why);
    tn_status s = load_storages(p, folder);
    tn_strmap_deinit(&p->storages);
    p->storages = (tn_strmap){0};
    return s;
}

static bool is_value(const pt_expr *e, pt_value v)
{
    return e->kind == PT_E_TEXT    ? v.kind == PT_TEXT && imp_same(e->text, v.text)
           : e->kind == PT_E_INT   ? v.kind == PT_INT && e->i == v.i
           : e->kind == PT_E_FLOAT ? v.kind == PT_FLOAT && e->f == v.f
                                   : false;
}

/* A member of an Enum, which a file has as its class and its value, is the global that code calls it by. */
static pt_value as_member(pt_import *p, pt_value v)
{
    const pt_class *k = v.kind == PT_OBJECT ? pt_class_of(p, v.object->type) : NULL;
    for (size_t i = 0; k && imp_is(k->base, "Enum") && i < k->n; i++)
        if (k->field[i].value && is_value(k->field[i].value, v.object->state))
            return (pt_value){
                .kind = PT_GLOBAL,
                .text = pt_words(tn_arena_printf(&p->im.scratch, "%s.%s", imp_text(&p->im, v.object->type),
                                                 imp_text(&p->im, k->field[i].name)))
                            .text};
    return v;
}

/* Objects whose class makes something of their state do so: layers pack quantised weights. */
static void restore(pt_import *p, pt_value v, int depth)
{
    if (v.kind != PT_OBJECT || v.object->restored || depth > 64 || p->stop)
        return;
    v.object->restored = true;
    for (size_t i = 0; i < v.object->n; i++) {
        v.object->at[i].cell.v = as_member(p, v.object->at[i].cell.v);
        restore(p, v.object->at[i].cell.v, depth + 1);
    }
    pt_value state = v.object->state;
    if (v.object->n || !pt_is_sequence(state) || !v.object->type.n)
        return;
    for (size_t i = 0; i < state.list->n; i++)
        restore(p, pt_at(state, i), depth + 1);
    const pt_def *d = pt_method_of(p, v.object, pt_words("__setstate__").text);
    const tn_bytes none = {0};
    if (d)
        (void)pt_run_def(p, d, &v, &(pt_args){1, &state, &none});
}

/* Parameters are called as in PyTorch: layer1.0.weight. */
static void name_all(pt_import *p, pt_value v, const char *path, int depth)
{
    if (v.kind == PT_TENSOR && !v.tensor->name && *path)
        v.tensor->name = tn_intern(p->im.g->ctx, path);
    for (size_t i = 0; v.kind == PT_COMPLEX && i < 2; i++)
        name_all(p, pt_at(v, i), pt_part_name(&p->im.scratch, v, i, path), depth);
    if (v.kind != PT_OBJECT || v.object->path || depth > 64)
        return;
    v.object->path = path;
    for (size_t i = 0; i < v.object->n; i++)
        name_all(p, v.object->at[i].cell.v,
                 tn_arena_printf(&p->im.scratch, "%s%s%s", path, *path ? "." : "",
                                 imp_text(&p->im, v.object->at[i].name)),
                 depth + 1);
}

/* ---- inputs ---- */

typedef struct script {
    const pt_def *forward;
    pt_value *arg;
    size_t n_named; /* so many parameters, from the first one on, have the names of the caller's shapes */
} script;

/* The type that an annotation names, without Optional. */
static const pt_expr *inner_type(const pt_expr *t, bool *optional)
{
    *optional = false;
    while (t && t->kind == PT_E_INDEX && t->n == 2 && t->arg[0]->kind == PT_E_NAME &&
           imp_is(t->arg[0]->text, "Optional")) {
        *optional = true;
        t = t->arg[1];
    }
    return t;
}

static bool type_is(const pt_expr *t, const char *name)
{
    return t && t->kind == PT_E_NAME && imp_is(t->text, name);
}

static const tn_input_shape *shape_given(const pt_import *p, const char *name)
{
    const tn_import_options *o = p->im.options;
    for (size_t i = 0; o && i < o->n_shape; i++)
        if (strcmp(o->shape[i].name, name) == 0)
            return &o->shape[i];
    return NULL;
}

tn_dtype pt_meant_dtype(const pt_import *p, const char *name)
{
    for (size_t i = 0; i < p->meant.n; i++)
        if (strcmp(p->meant.at[i].name, name) == 0)
            return p->meant.at[i].dtype;
    return (tn_dtype){0};
}

typedef tn_vec(imp_input) input_list;

/* Of a tensor that is an input: as the user says, or as the code has shown. */
static tn_dtype dtype_of(const pt_import *p, const char *name)
{
    const tn_input_shape *given = shape_given(p, name);
    tn_dtype meant = pt_meant_dtype(p, name);
    return given && given->dtype.bits ? given->dtype : meant.bits ? meant : TN_F32;
}

static void add_input(pt_import *p, input_list *list, const char *name, const pt_expr *type)
{
    imp_input in = {.name = {(const uint8_t *)name, strlen(name)}, .dtype = TN_F32};
    if (type_is(type, "int"))
        in.dtype = TN_I64;
    if (type_is(type, "float"))
        in.dtype = TN_F64;
    if (type_is(type, "bool"))
        in.dtype = TN_BOOL1;
    in.has_shape = !tn_dtype_eq(in.dtype, TN_F32);
    if (!in.has_shape)
        in.dtype = dtype_of(p, name);
    tn_vec_push(list, in);
}

/* The tensors and numbers that an argument is made of. */
static void list_inputs(pt_import *p, input_list *list, const char *name, const pt_expr *type,
                        bool has_default)
{
    bool optional;
    type = inner_type(type, &optional);
    if (type && type->kind == PT_E_INDEX && type->arg[0]->kind == PT_E_NAME &&
        imp_is(type->arg[0]->text, "Tuple")) {
        for (size_t i = 1; i < type->n; i++)
            list_inputs(p, list, tn_arena_printf(&p->im.scratch, "%s.%zu", name, i - 1), type->arg[i],
                        optional);
        return;
    }
    if (type && type->kind == PT_E_INDEX && type->arg[0]->kind == PT_E_NAME &&
        imp_is(type->arg[0]->text, "List")) {
        for (size_t i = 0; i < 256; i++) {
            const char *each = tn_arena_printf(&p->im.scratch, "%s.%zu", name, i);
            if (!shape_given(p, each))
                break;
            add_input(p, list, each, type->arg[1]);
        }
        return;
    }
    if (!shape_given(p, name) && (optional || has_default) && (!type_is(type, "int") || has_default))
        return;
    add_input(p, list, name, type);
}

static pt_value input_value(pt_import *p, const char *name, const pt_expr *type, bool *given)
{
    const imp_value *v = imp_lookup(&p->im, pt_words(name).text);
    bool optional;
    type = inner_type(type, &optional);
    *given = true;
    if (type && type->kind == PT_E_INDEX && type->arg[0]->kind == PT_E_NAME &&
        (imp_is(type->arg[0]->text, "Tuple") || imp_is(type->arg[0]->text, "List"))) {
        bool tuple = imp_is(type->arg[0]->text, "Tuple"), is;
        pt_value all = pt_make(&p->im.scratch, tuple ? PT_TUPLE : PT_LIST, 0, NULL);
        for (size_t i = 0; tuple ? i + 1 < type->n : i < 256; i++) {
            pt_value e = input_value(p, tn_arena_printf(&p->im.scratch, "%s.%zu", name, i),
                                     type->arg[tuple ? i + 1 : 1], &is);
            if (!is)
                break;
            pt_push(&p->im.scratch, all.list, e);
        }
        *given = all.list->n > 0 || (!tuple && !optional);
        return *given ? all : pt_none();
    }
    *given = v && v->state == IMP_OK;
    if (!*given)
        return pt_none();
    if (type_is(type, "int") || type_is(type, "float") || type_is(type, "bool"))
        return pt_number_of(p,
                            type_is(type, "int")     ? PT_INT
                            : type_is(type, "float") ? PT_FLOAT
                                                     : PT_BOOL,
                            v->v);
    return pt_tensor_new(p, v->v);
}

static tn_status no_shapes(pt_import *p, const input_list *list)
{
    tn_buf b = {0};
    for (size_t i = 0; i < list->n; i++)
        if (!list->at[i].has_shape)
            tn_buf_printf(&b, "%s%s:[1,3,224,224]", b.n ? " " : "", imp_text(&p->im, list->at[i].name));
    tn_status s =
        tn_error(p->im.g->ctx, "pytorch-E008", imp_make_loc(&p->im, NULL, NULL),
                 "TorchScript does not say which shapes its inputs have; give them, as in --input-shapes "
                 "\"%s\"",
                 tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static bool is_of(const char *name, tn_bytes param) /* x, or x.0 */
{
    return strncmp(name, (const char *)param.at, param.n) == 0 && (!name[param.n] || name[param.n] == '.');
}

/* Names of shapes that are all unknown are the caller's own, of inputs in their order, as relay.frontend.from_pytorch
 * has them. */
static bool shapes_are_in_order(const pt_import *p, const script *s)
{
    const tn_import_options *o = p->im.options;
    if (!o || !o->n_shape || o->n_shape > s->forward->n - 1)
        return false;
    for (size_t i = 1; i < s->forward->n; i++) {
        bool optional;
        const pt_expr *type = inner_type(s->forward->param[i].type, &optional);
        if (i <= o->n_shape && type && type->kind == PT_E_INDEX)
            return false;
        for (size_t k = 0; k < o->n_shape; k++)
            if (is_of(o->shape[k].name, s->forward->param[i].name))
                return false;
    }
    return true;
}

/* What parameter i is called as an input. */
static const char *input_name(pt_import *p, const script *s, size_t i)
{
    if (i <= s->n_named)
        return p->im.options->shape[i - 1].name;
    return imp_text(&p->im, s->forward->param[i].name);
}

static tn_status add_inputs(pt_import *p, script *s)
{
    input_list list = {0};
    tn_status status = TN_OK;
    bool missing = false;
    s->n_named = shapes_are_in_order(p, s) ? p->im.options->n_shape : 0;
    for (size_t i = 1; i < s->forward->n; i++)
        list_inputs(p, &list, input_name(p, s, i), s->forward->param[i].type,
                    s->forward->param[i].value != NULL);
    for (size_t i = 0; i < list.n; i++)
        missing = missing || (!list.at[i].has_shape && !shape_given(p, imp_text(&p->im, list.at[i].name)));
    status = imp_check_shapes(&p->im, list.n, list.at);
    if (missing)
        status = no_shapes(p, &list);
    for (size_t i = 0; i < list.n && status == TN_OK; i++) {
        const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
        status = imp_define(&p->im, list.at[i].name, (imp_value){.state = IMP_BAD}, loc);
        if (status == TN_OK)
            status = imp_add_input(&p->im, &list.at[i], loc);
    }
    s->arg = TN_NEW_N(&p->im.scratch, pt_value, s->forward->n);
    for (size_t i = 1; i < s->forward->n && status == TN_OK; i++) {
        bool given;
        s->arg[i - 1] = input_value(p, input_name(p, s, i), s->forward->param[i].type, &given);
        if (!given)
            s->arg[i - 1] = (pt_value){.kind = s->forward->param[i].value ? PT_UNSET : PT_NONE};
    }
    tn_vec_deinit(&list);
    return status;
}

static pt_value forward(pt_import *p, void *user)
{
    script *s = user;
    size_t n = s->forward->n - 1;
    tn_bytes *keyword = TN_NEW_N(&p->im.scratch, tn_bytes, n);
    for (size_t i = 0; i < n; i++)
        keyword[i] = s->forward->param[i + 1].name;
    return pt_run_def(p, s->forward, &p->self, &(pt_args){n, s->arg, keyword});
}

tn_status pt_import_script(pt_import *p)
{
    script s = {0};
    pt_value result;
    TN_TRY(pt_unpickle_entry(p, "constants.pkl", "constants/", &p->constants));
    TN_TRY(pt_unpickle_entry(p, "data.pkl", "data/", &p->self));
    if (p->self.kind != PT_OBJECT)
        return damaged(p, "data.pkl holds no model");
    p->restoring = true;
    restore(p, p->self, 0);
    p->restoring = false;
    p->log.n = 0;
    name_all(p, p->self, "", 0);
    s.forward = pt_method_of(p, p->self.object, pt_words("forward").text);
    if (!s.forward || !s.forward->n)
        return p->stop ? TN_FAIL : damaged(p, "the model has no method forward");
    TN_TRY(add_inputs(p, &s));
    TN_TRY(pt_read_with_states(p, forward, &s, &result));
    return pt_give_results(p, result, pt_none());
}
