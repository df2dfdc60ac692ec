/* tenon/relay.h: Relay built by hand, over relay's builder. */
#include "driver/api.h"
#include "tenon/relay.h"

#include <string.h>

struct tenon_function {
    tenon_module *m;
    tn_relay_builder *builder;
    bool failed; /* or ended */
};

struct tenon_value {
    tenon_function *f;
    tn_relay_value *v;
};

static tn_status begin_module(tn_object *x, void *user)
{
    tenon_module *m = (tenon_module *)x;
    (void)user;
    tn_build_init(&m->build, &x->ctx, NULL);
    tn_arena_init(&m->seen);
    m->build.model = "<module>";
    return TN_OK;
}

tenon_module *tenon_module_new(tenon *t)
{
    tenon_module *m = tn_object_new(t, sizeof *m);
    if (m && tn_object_change(&m->object, NULL, begin_module, NULL) != 0) {
        tn_object_drop(&m->object);
        return NULL;
    }
    return m;
}

typedef struct {
    tenon_function *f;
    const char *name, *text; /* text: type, expression, or dtype */
    int n;
    const int64_t *shape;
    const void *data;
    tenon_value *const *arg;
    int64_t min, max;
    tenon_value *out;
} relay_call;

/* ---- symbols, functions ---- */

static tn_status declare(tn_object *x, void *user)
{
    const relay_call *c = user;
    if (c->min < 0 || c->max < c->min)
        return tn_error(&x->ctx, "relay-E004", NULL,
                        "this range is empty; write `n in [least, most]` with least <= most");
    tn_symbol_info *s = tn_graph_symbol(&((tenon_module *)x)->build.graph, c->name);
    s->min = c->min;
    s->max = c->max;
    return TN_OK;
}

int tenon_symbol(tenon_module *m, const char *name, int64_t min, int64_t max)
{
    relay_call c = {.name = name, .min = min, .max = max};
    return tn_object_change(m ? &m->object : NULL, NULL, declare, &c);
}

static tn_status begin_function(tn_object *x, void *user)
{
    relay_call *c = user;
    tenon_module *m = (tenon_module *)x;
    if (m->tir)
        return tn_error(&x->ctx, "driver-E102", NULL,
                        "this is a module of TIR functions; a program is made of Relay");
    tenon_function *f = TN_NEW(&m->build.arena, tenon_function);
    f->m = m;
    f->builder = tn_relay_builder_new(&m->build.graph, c->name, tn_relay_more_forms);
    c->f = f;
    return f->builder ? TN_OK : TN_FAIL;
}

tenon_function *tenon_function_new(tenon_module *m, const char *name)
{
    relay_call c = {.name = name};
    return tn_object_change(m ? &m->object : NULL, NULL, begin_function, &c) ? NULL : c.f;
}

/* ---- values ---- */

static tn_status give(relay_call *c, tn_relay_value *v)
{
    if (!v)
        return TN_FAIL;
    c->out = TN_NEW(&c->f->m->build.arena, tenon_value);
    *c->out = (tenon_value){c->f, v};
    return TN_OK;
}

/* A call on a function, unless it has failed, or something it takes has. */
static tenon_value *make(tenon_function *f, tn_object_fn *fn, relay_call *c)
{
    bool ok = f && !f->failed;
    for (int i = 0; ok && c->arg && i < c->n; i++)
        ok = c->arg[i] && c->arg[i]->f == f;
    c->f = f;
    if (ok && tn_object_change(&f->m->object, NULL, fn, c) == 0)
        return c->out;
    if (f)
        f->failed = true;
    return NULL;
}

static tn_relay_value **values(const relay_call *c)
{
    tn_relay_value **v = TN_NEW_N(&c->f->m->build.arena, tn_relay_value *, c->n);
    for (int i = 0; i < c->n; i++)
        v[i] = c->arg[i]->v;
    return v;
}

static tn_status add_param(tn_object *x, void *user)
{
    relay_call *c = user;
    (void)x;
    return give(c, tn_relay_build_param(c->f->builder, c->name, c->text));
}

tenon_value *tenon_param(tenon_function *f, const char *name, const char *type)
{
    return make(f, add_param, &(relay_call){.name = name, .text = type});
}

static tn_status add_constant(tn_object *x, void *user)
{
    relay_call *c = user;
    tn_dtype t;
    if (!tn_dtype_parse(c->text, strlen(c->text), &t) || t.lanes != 1 || c->n > 8 ||
        !(tn_dtype_is_float(t) || tn_dtype_is_int(t) || tn_dtype_is_bool(t)))
        return tn_error(&x->ctx, "driver-E106", NULL,
                        "a constant cannot be %s with %d dimensions; write float32, int64, bool or the like, "
                        "and at most 8 "
                        "dimensions",
                        c->text, c->n);
    return give(c, tn_relay_build_constant(c->f->builder, t, c->n, c->shape, c->data));
}

tenon_value *tenon_constant(tenon_function *f, const char *dtype, int ndim, const int64_t shape[],
                            const void *data)
{
    return make(f, add_constant, &(relay_call){.text = dtype, .n = ndim, .shape = shape, .data = data});
}

static tn_status add_text(tn_object *x, void *user)
{
    relay_call *c = user;
    (void)x;
    return give(c, tn_relay_build(c->f->builder, c->text, c->n, values(c)));
}

tenon_value *tenon_relay(tenon_function *f, const char *text, int n, tenon_value *const arg[])
{
    return make(f, add_text, &(relay_call){.text = text, .n = n, .arg = arg});
}

/* op(%0, %1, attributes) */
static tn_status add_call(tn_object *x, void *user)
{
    relay_call *c = user;
    tn_buf text = {0};
    (void)x;
    tn_buf_printf(&text, "%s(", c->name);
    for (int i = 0; i < c->n; i++)
        tn_buf_printf(&text, "%s%%%d", i ? ", " : "", i);
    if (c->text && *c->text)
        tn_buf_printf(&text, "%s%s", c->n ? ", " : "", c->text);
    tn_buf_char(&text, ')');
    tn_status st = give(c, tn_relay_build(c->f->builder, tn_buf_cstr(&text), c->n, values(c)));
    tn_buf_deinit(&text);
    return st;
}

tenon_value *tenon_call(tenon_function *f, const char *op, int n, tenon_value *const arg[],
                        const char *attributes)
{
    return make(f, add_call, &(relay_call){.name = op, .text = attributes, .n = n, .arg = arg});
}

static tn_status say_type(tn_object *x, void *user)
{
    relay_call *c = user;
    const tn_type *t = tn_relay_build_type(c->arg[0]->v);
    tn_buf text = {0};
    if (t)
        tn_type_print(t, &text);
    c->text = tn_arena_strdup(&((tenon_module *)x)->build.arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return TN_OK;
}

const char *tenon_value_type(tenon_value *v)
{
    relay_call c = {.arg = &v};
    return v && !v->f->failed && tn_object_change(&v->f->m->object, NULL, say_type, &c) == 0 ? c.text : "";
}

static tn_status end_function(tn_object *x, void *user)
{
    relay_call *c = user;
    if (c->n < 1)
        return tn_error(&x->ctx, "driver-E107", NULL, "a function needs a result; give it one value or more");
    c->out = c->arg[0]; /* not NULL: it ended */
    return tn_relay_build_end(c->f->builder, c->n, values(c));
}

int tenon_function_end(tenon_function *f, int n, tenon_value *const result[])
{
    relay_call c = {.n = n, .arg = result};
    bool failed = !make(f, end_function, &c);
    if (f)
        f->failed = true; /* nothing may follow */
    return failed;
}
