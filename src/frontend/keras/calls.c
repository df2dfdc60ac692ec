/* One call of a layer: arguments, results, masks. */
#include "frontend/keras/keras.h"

#include "ir/eval.h"

#include <string.h>

/* ---- arguments ---- */

const keras_argument *keras_argument_of(imp_node *c, int position, const char *name)
{
    const keras_call *call = keras_call_of(c);
    int at = 0;
    for (size_t i = 0; i < call->n_arg; i++) {
        keras_argument *a = &call->arg[i];
        if (!(a->name.n ? imp_is(a->name, name) : at++ == position))
            continue;
        a->asked = true;
        return a->n || (a->json && a->json->kind != TN_JSON_NULL) ? a : NULL;
    }
    return NULL;
}

tn_value keras_tensor_of(imp_node *c, int position, const char *name)
{
    const keras_argument *a = keras_argument_of(c, position, name);
    return a && a->n && !a->at[0].json ? a->at[0].v : (tn_value){0};
}

const tn_json *keras_constant_of(imp_node *c, int position, const char *name)
{
    const keras_argument *a = keras_argument_of(c, position, name);
    return a && !a->n ? a->json : NULL;
}

static const keras_argument *first(const imp_node *c)
{
    const keras_call *call = keras_call_of(c);
    return call->n_arg && call->arg[0].n ? &call->arg[0] : NULL;
}

size_t keras_n_in(const imp_node *c) { return first(c) ? first(c)->n : 0; }

tn_value keras_in(imp_node *c, size_t i)
{
    if (i < keras_n_in(c) && !first(c)->at[i].json)
        return first(c)->at[i].v;
    imp_refuse(c, IMP_OPERANDS, "operand %zu of the layer is missing; the model is damaged", i);
    return (tn_value){0};
}

tn_value keras_mask(imp_node *c, size_t i)
{
    const keras_argument *a = keras_argument_of(c, -1, "mask");
    if (a && i < a->n)
        return a->at[i].v;
    return i < keras_n_in(c) ? first(c)->at[i].mask : (tn_value){0};
}

/* Lists of numbers, of lists of numbers too, row by row. */
static bool add_numbers(const tn_json *v, tn_dtype t, tn_buf *out)
{
    char element[16];
    double r;
    bool ok = true;
    for (uint32_t i = 0; v->kind == TN_JSON_ARRAY && i < v->n && ok; i++)
        ok = add_numbers(&v->u.at[i], t, out);
    if (v->kind == TN_JSON_ARRAY)
        return ok;
    bool number = keras_number(v, &r), real = tn_dtype_is_float(t), whole = v->kind == TN_JSON_INT;
    if (!number || (!real && !whole && !(r > -0x1p63 && r < 0x1p63)))
        return false;
    tn_scalar_write(t, element, real ? (tn_scalar){.f = r} : (tn_scalar){.i = whole ? v->u.i : (int64_t)r});
    tn_buf_add(out, element, tn_dtype_bytes(t));
    return true;
}

/* How many lists are in each other, and the length of the first ones; -1: others have other lengths. */
static int extents(const tn_json *v, int64_t n, int64_t dim[IMP_MAX_RANK])
{
    int rank = 0;
    int64_t all = 1;
    for (; v && v->kind == TN_JSON_ARRAY && rank < IMP_MAX_RANK; v = v->n ? &v->u.at[0] : NULL) {
        dim[rank++] = v->n;
        all *= v->n;
    }
    return all == n && !tn_json_is(v, TN_JSON_ARRAY) ? rank : -1;
}

tn_value keras_json_tensor(imp_node *c, const tn_json *v, tn_dtype t)
{
    const tn_json *inside = tn_json_find(v, "config"), *value = tn_json_find(inside, "value");
    tn_buf data = {0};
    tn_value out = {0};
    int64_t dim[IMP_MAX_RANK] = {0};
    v = value ? value : v; /* an array of NumPy, or a tensor */
    bool ok = !c->bad && v && add_numbers(v, t, &data);
    int rank = ok ? extents(v, (int64_t)(data.n / tn_dtype_bytes(t)), dim) : -1;
    if (rank < 0) {
        imp_refuse(c, IMP_BAD_VALUE, "a constant is no number, and no list of numbers");
    } else {
        void *at = tn_arena_copy(c->arena, data.n ? data.at : "", data.n, 16);
        out = tn_val(tn_make_constant(c->g, c->im->r, NULL, t, rank, dim, at, NULL));
    }
    tn_buf_deinit(&data);
    return out;
}

/* ---- results ---- */

void keras_out_masked(imp_node *c, tn_value v, tn_value mask)
{
    keras_call *call = keras_call_of(c);
    if (call->n_out == KERAS_MAX_RESULTS)
        imp_refuse(c, IMP_TOO_LARGE, "the layer has more than %d results, which is not supported",
                   KERAS_MAX_RESULTS);
    else
        call->out[call->n_out++] = (keras_tensor){c->bad ? v : tn_unboxed(c->g, v), mask, NULL};
}

void keras_out(imp_node *c, tn_value v)
{
    int flags = keras_layer_of(c)->row->flags;
    bool drops = flags & (KERAS_DROPS_MASK | KERAS_OPERATION) ||
                 (flags & KERAS_DROPS_OLD_MASK && keras_of(c)->version < 3);
    keras_out_masked(c, v, drops ? (tn_value){0} : keras_mask(c, 0));
}

/* ---- converting ---- */

/* Did the makers of all operands succeed? Those that are floats become what the layer computes with. */
static bool prepare(imp_node *c, keras_call *call)
{
    const keras_layer *l = call->layer;
    bool cast =
        l->dtype.bits && tn_dtype_is_float(l->dtype) && !(l->row->flags & (KERAS_ANY_TYPE | KERAS_OPERATION));
    for (size_t i = 0; i < call->n_arg; i++)
        for (size_t j = 0; j < call->arg[i].n; j++) {
            keras_tensor *t = &call->arg[i].at[j];
            if (!t->v.def && !t->json)
                return false;
            if (cast && t->v.def && tn_dtype_is_float(imp_type(t->v)->dtype))
                t->v = imp_cast(c, t->v, l->dtype);
        }
    return true;
}

/* Arguments behind the first that no converter asked for: training=True of Keras 2, say. */
static void check_arguments(imp_node *c)
{
    const keras_call *call = keras_call_of(c);
    for (size_t i = 1; i < call->n_arg && !c->bad; i++) {
        const keras_argument *a = &call->arg[i];
        bool said = a->n || (a->json && !keras_says_nothing(a->json));
        bool how =
            imp_is(a->name, "training") && c->version >= 3; /* which whoever calls the model says anew */
        if (said && !a->asked && !how && !imp_is(a->name, "name") && !imp_is(a->name, "mask"))
            imp_refuse(c, IMP_ATTR_UNKNOWN, "argument %s of its call is not supported",
                       a->name.n ? imp_text(c->im, a->name) : tn_arena_printf(c->arena, "%zu", i));
    }
}

void keras_convert(keras_import *k, keras_call *call, tn_region *r)
{
    imp_model *im = &k->im;
    const keras_layer *l = call->layer;
    const size_t said = im->g->ctx->n_diag;
    tn_region *before = im->r;
    call->n_out = 0;
    if (!l || !l->row || imp_too_much(im, l->loc))
        return;
    im->r = r;
    imp_node c = {.row = &l->row->row,
                  .version = k->version,
                  .loc = l->loc,
                  .origin = call,
                  .im = im,
                  .g = im->g,
                  .pool = im->g->pool,
                  .arena = im->g->arena};
    c.bad = !prepare(&c, call);
    if (!c.bad) {
        l->row->row.convert(&c);
        keras_check_config(&c);
        check_arguments(&c);
        for (size_t i = 0; i < call->n_out; i++)
            c.bad = c.bad || !call->out[i].v.def;
        TN_ASSERT(!c.bad || im->g->ctx->n_error > 0); /* who refuses says why */
    }
    for (size_t i = 0; c.bad && i < call->n_out; i++)
        call->out[i] = (keras_tensor){0};
    tn_diag_place(im->g->ctx, said, l->loc);
    im->r = before;
}

bool keras_apply(imp_node *c, keras_layer *l, size_t n, const keras_tensor in[], keras_call *out)
{
    keras_import *k = keras_of(c);
    keras_argument *a = TN_NEW(&c->im->scratch, keras_argument);
    if (k->depth >= KERAS_MAX_DEPTH)
        imp_refuse(c, IMP_TOO_LARGE, "layers inside layers are nested too deep; the model is damaged");
    if (!l && !c->g->ctx->n_error) /* else reading it has said why */
        imp_refuse(c, IMP_ATTR_MISSING,
                   "the layer holds no other, which it is made for; the model is damaged");
    c->bad = c->bad || !l;
    if (c->bad)
        return false;
    *a = (keras_argument){.is_list = n > 1, .n = n, .at = TN_NEW_N(&c->im->scratch, keras_tensor, n)};
    memcpy(a->at, in, n * sizeof *in);
    bool cell = out->cell;
    *out = (keras_call){.layer = l, .n_arg = 1, .arg = a, .cell = cell};
    k->depth++;
    keras_convert(k, out, c->im->r);
    k->depth--;
    for (size_t i = 0; i < out->n_out; i++)
        c->bad = c->bad || !out->out[i].v.def;
    c->bad = c->bad || out->n_out == 0;
    return !c->bad;
}
