/* tenon/te.h: kernels from tensor expressions, their schedules, and code of them. */
#include "driver/kernel_api.h"

#include "base/words.h"

#include <string.h>

typedef struct {
    tenon_kernel *k;
    tenon_te *x;
    const char *name, *type, *text; /* text: axes, extent, expression, reducer, steps */
    int n;
    tenon_expr *const *arg;
    tenon_te *const *out;
    void *made; /* tenon_te or tenon_expr */
} te_call;

static tn_status begin_kernel(tn_object *x, void *user)
{
    tenon_kernel *k = (tenon_kernel *)x;
    const te_call *c = user;
    tn_arena_init(&k->arena);
    tn_pool_init(&k->pool, &x->ctx, &k->arena, NULL);
    tn_graph_init(&k->graph, &x->ctx, &k->arena, &k->pool);
    k->types = tn_relay_builder_new(&k->graph, c->name, NULL);
    tn_te_init(&k->te, &x->ctx, &k->arena, &k->pool, tn_intern(&x->ctx, c->name));
    k->end = &k->first;
    return TN_OK;
}

tenon_kernel *tenon_kernel_new(tenon *t, const char *name)
{
    tenon_kernel *k = tn_object_new(t, sizeof *k);
    if (k && tn_object_change(&k->object, NULL, begin_kernel, &(te_call){.name = name}) != 0) {
        tn_object_drop(&k->object);
        return NULL;
    }
    return k;
}

void tenon_kernel_free(tenon_kernel *k) { tn_object_free(k ? &k->object : NULL); }

/* A call before the end, unless one has failed, or something that it takes has. */
static void *make(tenon_kernel *k, tn_object_fn *fn, te_call *c)
{
    bool ok = k && !k->failed && !k->func;
    for (int i = 0; ok && c->arg && i < c->n; i++)
        ok = c->arg[i] && c->arg[i]->k == k;
    for (int i = 0; ok && c->out && i < c->n; i++)
        ok = c->out[i] && c->out[i]->k == k;
    c->k = k;
    if (ok && tn_object_change(&k->object, NULL, fn, c) == 0)
        return c->made;
    if (k && !k->func)
        k->failed = true;
    return NULL;
}

/* ---- tensors ---- */

static tn_status refuse(te_call *c, const char *what)
{
    return tn_error(&c->k->object.ctx, "driver-E108", &(tn_loc){.node = c->name}, "%s", what);
}

static tn_status read_type(te_call *c, const tn_type **out)
{
    const char *name = tn_tir_name(&c->k->object.ctx, c->name);
    tn_relay_value *v = tn_relay_build_param(c->k->types, c->name, c->type);
    if (!v)
        return TN_FAIL;
    *out = tn_relay_build_type(v);
    for (const tenon_te *x = c->k->first; x; x = x->next)
        if (strcmp(x->name, name) == 0)
            return refuse(c, "there is a tensor of that name; call it otherwise");
    return (*out)->kind == TN_T_TENSOR && !(*out)->layout
               ? TN_OK
               : refuse(c, "a tensor of a kernel cannot have this type; write Tensor[(2, 3), float32]");
}

static tn_status add(te_call *c, tn_tensor *tensor)
{
    tenon_te *x = TN_NEW(&c->k->arena, tenon_te);
    *x = (tenon_te){.k = c->k, .tensor = tensor, .name = c->k->te.func->buffer[tensor->buffer].name};
    *c->k->end = x;
    c->k->end = &x->next;
    c->made = x;
    return TN_OK;
}

static tn_status add_input(tn_object *o, void *user)
{
    te_call *c = user;
    const tn_type *t;
    (void)o;
    TN_TRY(read_type(c, &t));
    return add(c, tn_te_input(&c->k->te, tn_tir_name(c->k->te.func->ctx, c->name), t));
}

tenon_te *tenon_te_input(tenon_kernel *k, const char *name, const char *type)
{
    return make(k, add_input, &(te_call){.name = name, .type = type});
}

static tn_status add_tensor(tn_object *o, void *user)
{
    te_call *c = user;
    const tn_type *t;
    TN_TRY(read_type(c, &t));
    return add(c, tn_te_new(&c->k->te, tn_tir_name(&o->ctx, c->name), t->dtype, t->n, t->dim,
                            c->text ? tn_intern(&o->ctx, c->text) : NULL));
}

tenon_te *tenon_te_new(tenon_kernel *k, const char *name, const char *type, const char *axes)
{
    return make(k, add_tensor, &(te_call){.name = name, .type = type, .text = axes});
}

/* ---- expressions ---- */

static const tn_expr *find_axis(const tn_te *te, uint32_t n, const tn_expr *const axis[], const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(te->func->var[axis[i]->u.i].name, name) == 0)
            return axis[i];
    return NULL;
}

static const tn_expr *find_name(void *user, const char *name)
{
    const te_call *c = user;
    const tn_te *te = &c->k->te;
    const tn_tensor *t = c->x->tensor;
    if (*name == '%') {
        size_t i = 0;
        for (name++; *name >= '0' && *name <= '9' && i < 1000; name++)
            i = 10 * i + (size_t)(*name - '0');
        return !*name && i < (size_t)c->n ? c->arg[i]->e : NULL;
    }
    const tn_expr *e = t->axis ? find_axis(te, t->ndim, t->axis, name) : NULL;
    e = e ? e : find_axis(te, t->n_reduce, t->raxis, name);
    for (uint32_t i = 0; i < te->func->n_symbol && !e; i++)
        if (strcmp(te->func->symbol[i].name, name) == 0)
            e = tn_sym(te->pool, te->func->symbol[i].name);
    return e;
}

static bool is_known(const tenon_te *x) { return x->tensor->kind == TN_TENSOR_INPUT || x->tensor->value; }

static bool find_buffer(void *user, const char *name, uint32_t *out_number, tn_dtype *out_dtype)
{
    const te_call *c = user;
    for (const tenon_te *x = c->k->first; x; x = x->next)
        if (strcmp(x->name, name) == 0 && is_known(x)) {
            *out_number = x->tensor->buffer;
            *out_dtype = x->tensor->dtype;
            return true;
        }
    return false;
}

/* Memory that holds sums of narrow floats has wider elements than the tensor (tn_te_reduce). */
static const tn_expr *load_stored(tn_pool *p, const tn_expr *e, void *user)
{
    const tenon_kernel *k = user;
    if (e->kind != TN_E_LOAD)
        return NULL;
    tn_dtype stored = tn_dtype_lanes(k->te.func->buffer[e->u.load.buffer].dtype, e->dtype.lanes);
    if (tn_dtype_eq(e->dtype, stored))
        return NULL;
    const tn_expr *mask = tn_load_mask(e), *other = mask ? tn_cast(p, stored, tn_load_other(e)) : NULL;
    return tn_cast(p, e->dtype,
                   tn_load(p, stored, e->u.load.buffer, (int)e->u.load.n_index, e->src, mask, other));
}

static tn_status read_expr(te_call *c, const char *text, tn_dtype want, const tn_expr **out)
{
    tn_ctx *ctx = &c->k->object.ctx;
    tn_scope_fns scope = {.name = find_name, .buffer = find_buffer, .user = c};
    tn_lexer l;
    tn_lex_init(&l, ctx, tn_intern(ctx, c->x->name), text, strlen(text), false);
    TN_TRY(tn_expr_parse(&l, c->k->te.pool, &scope, want, out));
    *out = tn_rewrite(c->k->te.pool, *out, load_stored, c->k);
    return l.tok == TN_TOK_END ? TN_OK : tn_lex_expected(&l, "the end of the text");
}

static tn_status give(te_call *c, const tn_expr *e)
{
    tenon_expr *x = TN_NEW(&c->k->arena, tenon_expr);
    *x = (tenon_expr){c->k, e};
    c->made = x;
    return TN_OK;
}

static tn_status add_axis(tn_object *o, void *user)
{
    te_call *c = user;
    const tn_expr *extent;
    tn_tensor *t = c->x->tensor;
    TN_TRY(read_expr(c, c->text, TN_IDX, &extent));
    if (t->kind != TN_TENSOR_COMPUTE || t->value || t->n_reduce == TN_TE_MAX_REDUCE ||
        !tn_dtype_is_index(extent->dtype))
        return refuse(
            c, "this axis cannot be added; a tensor that is not defined yet has at most 8, whose extents are "
               "numbers or symbols");
    return give(c, tn_te_reduce_axis(&c->k->te, t, tn_intern(&o->ctx, c->name), extent));
}

tenon_expr *tenon_te_over(tenon_te *x, const char *axis, const char *extent)
{
    return make(x ? x->k : NULL, add_axis, &(te_call){.x = x, .name = axis, .text = extent});
}

static tn_status add_expr(tn_object *o, void *user)
{
    te_call *c = user;
    const tn_expr *e;
    (void)o;
    TN_TRY(read_expr(c, c->text, c->x->tensor->dtype, &e));
    return give(c, e);
}

tenon_expr *tenon_te_expr(tenon_te *x, const char *text, int n, tenon_expr *const arg[])
{
    return make(x ? x->k : NULL, add_expr, &(te_call){.x = x, .text = text, .n = n, .arg = arg});
}

/* name[%0, %1] */
static tn_status add_load(tn_object *o, void *user)
{
    te_call *c = user;
    tn_buf text = {0};
    tn_buf_printf(&text, "%s[", c->text);
    for (int i = 0; i < c->n; i++)
        tn_buf_printf(&text, "%s%%%d", i ? ", " : "", i);
    tn_buf_char(&text, ']');
    c->text = tn_buf_cstr(&text);
    tn_status st = add_expr(o, c);
    tn_buf_deinit(&text);
    return st;
}

tenon_expr *tenon_load(tenon_te *x, tenon_te *from, int n, tenon_expr *const index[])
{
    te_call c = {.x = x, .text = from ? from->name : NULL, .n = n, .arg = index};
    return make(x && from && from->k == x->k ? x->k : NULL, add_load, &c);
}

/* ---- definitions ---- */

static tn_status define(tn_object *o, void *user)
{
    static const char reducers[] = "sum prod max min any all"; /* as enum tn_reducer, from 1 on */
    te_call *c = user;
    tn_tensor *t = c->x->tensor;
    int r = c->text ? tn_words_find(reducers, c->text) + 1 : 0;
    bool of_bool = r == TN_RED_ANY || r == TN_RED_ALL;
    (void)o;
    c->name = c->x->name;
    c->made = c->x;
    if (t->kind != TN_TENSOR_COMPUTE || t->value)
        return refuse(c, "this tensor is defined already; make another one");
    if (c->text && !r)
        return refuse(c, "unknown reducer; use sum, prod, max, min, any or all");
    if (!tn_dtype_eq(c->arg[0]->e->dtype, t->dtype) || (r && of_bool != tn_dtype_is_bool(t->dtype)))
        return refuse(c, "the value has another type than the tensor; convert it, as in f32(x)");
    if (!r != !t->n_reduce)
        return refuse(c,
                      "a reduction, and nothing else, has axes that it runs over; add them by tenon_te_over");
    if (r)
        tn_te_reduce(&c->k->te, t, (enum tn_reducer)r, c->arg[0]->e, NULL, NULL);
    else
        tn_te_define(&c->k->te, t, c->arg[0]->e);
    return TN_OK;
}

int tenon_te_define(tenon_te *x, tenon_expr *value)
{
    return !make(x ? x->k : NULL, define, &(te_call){.x = x, .n = 1, .arg = &value});
}

int tenon_te_reduce(tenon_te *x, const char *reducer, tenon_expr *term)
{
    return !make(x ? x->k : NULL, define, &(te_call){.x = x, .text = reducer, .n = 1, .arg = &term});
}

/* Each symbol is a dimension of an input. */
static bool are_bound(const tenon_kernel *k)
{
    for (uint32_t s = 0; s < k->te.func->n_symbol; s++) {
        const tn_expr *e = tn_sym(k->te.pool, k->te.func->symbol[s].name);
        bool bound = false;
        for (const tenon_te *x = k->first; x && !bound; x = x->next)
            for (int d = 0; d < x->tensor->ndim && x->tensor->kind == TN_TENSOR_INPUT; d++)
                bound = bound || x->tensor->dim[d] == e;
        if (!bound)
            return false;
    }
    return true;
}

static tn_status end(tn_object *o, void *user)
{
    te_call *c = user;
    tenon_kernel *k = c->k;
    tn_tensor **out = TN_NEW_N(&k->arena, tn_tensor *, c->n);
    (void)o;
    for (const tenon_te *x = k->first; x; x = x->next)
        if (!is_known(x)) {
            c->name = x->name;
            return refuse(c, "this tensor is not defined; give it a value");
        }
    for (int i = 0; i < c->n; i++)
        out[i] = c->out[i]->tensor;
    if (c->n < 1 || !are_bound(k))
        return refuse(c, "a kernel needs an output, and an input for each symbol that has it as a dimension");
    tn_func *f = tn_te_finish(&k->te, c->n, out, NULL);
    TN_TRY(tn_func_verify(f));
    tn_sched_init(&k->sched, f, &k->arena, &k->pool);
    k->func = f;
    return TN_OK;
}

int tenon_kernel_end(tenon_kernel *k, int n, tenon_te *const out[])
{
    (void)make(k, end, &(te_call){.n = n, .out = out});
    return !k || !k->func;
}
