/* TFLite -> Relay: the walk over a model. Inputs become parameters of @main, tensors with a buffer constants, operators
 * calls. Operators stand in an order of computation, which the format requires. Linear in the size of the model. */
#include "frontend/tensorflow/node.h"
#include "frontend/tflite/tflite.h"

#include <stdio.h>
#include <string.h>

enum {
    OP_CODE,
    OP_INPUTS,
    OP_OUTPUTS,
    OP_OPTIONS_TYPE,
    OP_OPTIONS,
    OP_CUSTOM_OPTIONS,
    OP_OPTIONS_2_TYPE = 11,
    OP_OPTIONS_2 = 12
};
enum { MAX_OPTIONS = 32 };

/* ---- options of operators ---- */

enum option_kind { I8, U8, I16, I32, U32, I64, F32, TEXT, LIST_U8, LIST_I32, LIST_I64, LIST_F32 };

typedef struct option {
    uint8_t set, member, slot, kind;
    const char *name;
} option;

static const option known_options[] = {
#define OPTION(set, member, slot, kind, name) {set, member, slot, kind, name},
#include "frontend/tflite/options.def"
};

static void read_list(tfl_import *o, const tn_flat_table *t, const option *p, imp_attr *a)
{
    tn_arena *s = &o->im.scratch;
    int bytes = p->kind == LIST_U8 ? 1 : p->kind == LIST_I64 ? 8 : 4;
    tn_flat_vector v = tn_flat_list(t, p->slot, (uint32_t)bytes);
    if (p->kind == LIST_F32) {
        float *f = TN_NEW_N(s, float, v.n);
        for (uint32_t i = 0; i < v.n; i++)
            f[i] = tn_flat_float_at(&v, i);
        a->kind = IMP_A_FLOATS;
        a->floats.n = v.n;
        a->floats.at = f;
        return;
    }
    int64_t *at = TN_NEW_N(s, int64_t, v.n);
    for (uint32_t i = 0; i < v.n; i++)
        at[i] = tn_flat_int_at(&v, i, bytes, p->kind != LIST_U8);
    a->kind = IMP_A_INTS;
    a->ints.n = v.n;
    a->ints.at = at;
}

static imp_attr read_option(tfl_import *o, const tn_flat_table *t, const option *p)
{
    static const struct {
        int bytes;
        bool is_signed;
    } sizes[] = {[I8] = {1, true},  [U8] = {1, false},  [I16] = {2, true},
                 [I32] = {4, true}, [U32] = {4, false}, [I64] = {8, true}};
    imp_attr a = {.name = {(const uint8_t *)p->name, strlen(p->name)}, .kind = IMP_A_INT};
    if (p->kind >= LIST_U8) {
        read_list(o, t, p, &a);
    } else if (p->kind == F32) {
        a.kind = IMP_A_FLOAT;
        a.f = (double)tn_flat_float(t, p->slot, 0);
    } else if (p->kind == TEXT) {
        a.kind = IMP_A_TEXT;
        a.text = tn_flat_text(t, p->slot);
    } else {
        a.i = tn_flat_int(t, p->slot, sizes[p->kind].bytes, sizes[p->kind].is_signed, 0);
    }
    return a;
}

/* A field that this version of the schema does not know. */
static imp_attr unknown_option(tfl_import *o, uint32_t slot)
{
    const char *name = tn_arena_printf(&o->im.scratch, "number %u", slot);
    return (imp_attr){.name = {(const uint8_t *)name, strlen(name)}, .kind = IMP_A_ANY};
}

const imp_attr *tfl_read_options(tfl_import *o, const tn_flat_table *op, size_t *out_n)
{
    imp_attr *at = TN_NEW_N(&o->im.scratch, imp_attr, MAX_OPTIONS);
    *out_n = 0;
    for (int set = 1; set <= 2; set++) {
        uint32_t type_slot = set == 1 ? OP_OPTIONS_TYPE : OP_OPTIONS_2_TYPE;
        int64_t member = tn_flat_int(op, type_slot, 1, false, 0);
        tn_flat_table t = tn_flat_sub(op, set == 1 ? OP_OPTIONS : OP_OPTIONS_2);
        uint64_t seen = 0;
        for (size_t i = 0; t.buf && i < sizeof known_options / sizeof *known_options; i++) {
            const option *p = &known_options[i];
            if (p->set != set || p->member != member || *out_n >= MAX_OPTIONS)
                continue;
            seen |= UINT64_C(1) << p->slot;
            if (tn_flat_has(&t, p->slot))
                at[(*out_n)++] = read_option(o, &t, p);
        }
        for (uint32_t slot = 0; t.buf && slot < 64 && *out_n < MAX_OPTIONS; slot++)
            if (!(seen >> slot & 1) && tn_flat_has(&t, slot))
                at[(*out_n)++] = unknown_option(o, slot);
    }
    return at;
}

/* ---- operators ---- */

static const int32_t *tensors_of(tfl_import *o, const tfl_graph *g, const tn_flat_table *op, uint32_t slot,
                                 uint32_t *out_n)
{
    tn_flat_vector v = tn_flat_list(op, slot, 4);
    int32_t *at = TN_NEW_N(&o->im.scratch, int32_t, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        at[i] = (int32_t)tn_flat_int_at(&v, i, 4, true);
        if (at[i] < -1 || at[i] >= (int64_t)g->n_tensor)
            o->buf.damaged = true;
    }
    *out_n = v.n;
    return at;
}

/* Names of operands; variable tensors are none: they are states. */
static const tn_bytes *operands_of(tfl_import *o, const tfl_graph *g, uint32_t n, const int32_t at[])
{
    tn_bytes *name = TN_NEW_N(&o->im.scratch, tn_bytes, n);
    for (uint32_t i = 0; i < n; i++) {
        const tfl_tensor *t = at[i] < 0 ? NULL : &g->tensor[at[i]];
        name[i] = !t || (t->variable && !tfl_is_constant(o, t)) ? (tn_bytes){0} : t->name;
    }
    return name;
}

static const tn_bytes *names_of(tfl_import *o, const tfl_graph *g, uint32_t n, const int32_t at[])
{
    tn_bytes *name = TN_NEW_N(&o->im.scratch, tn_bytes, n);
    for (uint32_t i = 0; i < n; i++)
        name[i] = at[i] < 0 ? (tn_bytes){0} : g->tensor[at[i]].name;
    return name;
}

/* What an operator is called in messages: its first result. */
static const tn_loc *place_of(tfl_import *o, const imp_node *n, const tfl_code *code, uint32_t number)
{
    const char *name = n->n_out && n->out_name[0].n
                           ? imp_text(&o->im, n->out_name[0])
                           : tn_arena_printf(&o->im.g->ctx->arena, "operator %u", number);
    return imp_make_loc(&o->im, name, tn_intern(o->im.g->ctx, code->name));
}

/* An operator of TensorFlow, FlexName: its options are a list of its name and its node. */
static bool read_flex_node(tfl_import *o, tfl_node *t, const tfl_code *k, tn_bytes options, imp_node *out)
{
    static const tn_bytes domain = {(const uint8_t *)"tensorflow", 10};
    tn_bytes data = tfl_flex_text(o, options, 1);
    const tf_node_def *n = data.n ? tf_read_node(&o->im, data) : NULL;
    if (!n) {
        (void)tn_error(o->im.g->ctx, "tflite-E001", out->loc,
                       "operator %s is damaged: its options hold no node of TensorFlow", k->name);
        return false;
    }
    t->flex = true;
    out->version = 1;
    tf_read_attributes(&o->im, NULL, n, out);
    out->row = imp_row_of(&o->im, domain, n->op, 1, out->loc, true);
    return true;
}

static bool read_node(tfl_import *o, const tfl_graph *g, uint32_t number, imp_node *out)
{
    tfl_node *t = TN_NEW(&o->im.scratch, tfl_node);
    *t = (tfl_node){.graph = g, .op = tn_flat_table_at(&g->operators, number)};
    t->in = tensors_of(o, g, &t->op, OP_INPUTS, &t->n_in);
    t->out = tensors_of(o, g, &t->op, OP_OUTPUTS, &t->n_out);
    uint64_t code = (uint64_t)tn_flat_int(&t->op, OP_CODE, 4, false, 0);
    o->buf.damaged = o->buf.damaged || !t->op.buf || code >= o->n_code;
    if (o->buf.damaged) {
        (void)tn_error(
            o->im.g->ctx, "tflite-E001", imp_make_loc(&o->im, NULL, NULL),
            "operator %u is damaged: it names tensors or a code that do not exist, or lies outside of "
            "the file",
            (unsigned)number);
        return false;
    }
    const tfl_code *k = &o->code[code];
    *out = (imp_node){.version = k->version, .n_in = t->n_in, .n_out = t->n_out, .origin = t};
    out->in_name = operands_of(o, g, t->n_in, t->in);
    out->out_name = names_of(o, g, t->n_out, t->out);
    out->loc = place_of(o, out, k, number);
    tn_flat_vector custom = tn_flat_list(&t->op, OP_CUSTOM_OPTIONS, 1);
    if (k->custom && strncmp(k->name, "Flex", 4) == 0)
        return read_flex_node(o, t, k, tn_flat_bytes(&custom, 1), out);
    out->attr = k->custom ? tfl_read_flex(o, tn_flat_bytes(&custom, 1), &out->n_attr)
                          : tfl_read_options(o, &t->op, &out->n_attr);
    tn_bytes domain = {(const uint8_t *)"custom", k->custom ? 6 : 0};
    out->row = imp_row_of(&o->im, domain, (tn_bytes){(const uint8_t *)k->name, strlen(k->name)}, k->version,
                          out->loc, true);
    return true;
}

static void define_constants(tfl_import *o, const tfl_graph *g, const imp_node *n)
{
    const tfl_node *t = n->origin;
    for (uint32_t i = 0; i < t->n_in; i++) {
        const tfl_tensor *x = t->in[i] < 0 ? NULL : &g->tensor[t->in[i]];
        if (!x || imp_lookup(&o->im, x->name) || !tfl_is_constant(o, x))
            continue;
        tn_node *k = tfl_constant(o, x, n->loc);
        (void)imp_define(&o->im, x->name, (imp_value){.v = {k, 0}, .state = k ? IMP_OK : IMP_BAD}, n->loc);
    }
}

tn_status tfl_convert_graph(tfl_import *o, const tfl_graph *g)
{
    imp_model *im = &o->im;
    imp_node *node = TN_NEW_N(&im->scratch, imp_node, g->operators.n);
    for (uint32_t i = 0; i < g->operators.n; i++) /* all that is unknown is reported at once */
        if (imp_too_much(im, NULL) || !read_node(o, g, i, &node[i]))
            return TN_FAIL;
    for (uint32_t i = 0; i < g->operators.n && !imp_too_much(im, node[i].loc); i++) {
        define_constants(o, g, &node[i]);
        imp_convert(im, &node[i]);
    }
    return im->g->ctx->n_error == im->had_errors ? TN_OK : TN_FAIL;
}

/* ---- the model ---- */

static imp_input input_of(tfl_import *o, const tfl_tensor *t)
{
    imp_dim *dim = TN_NEW_N(&o->im.scratch, imp_dim, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        dim[i] = (imp_dim){.extent = t->signature[i] < 0 ? -1 : t->shape[i]};
    return (imp_input){.name = t->name, .dtype = t->dtype, .has_shape = true, .n = t->n, .dim = dim};
}

static tn_status add_inputs(tfl_import *o, const tfl_graph *g)
{
    imp_model *im = &o->im;
    imp_input *in = TN_NEW_N(&im->scratch, imp_input, g->n_in);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_in; i++)
        if (g->in[i] >= 0)
            in[n++] = input_of(o, &g->tensor[g->in[i]]);
    tn_status s = imp_check_shapes(im, n, in);
    for (uint32_t i = 0; i < g->n_in; i++) {
        const tfl_tensor *t = g->in[i] < 0 ? NULL : &g->tensor[g->in[i]];
        const tn_loc *loc = imp_make_loc(im, NULL, NULL);
        if (!t)
            continue;
        if (imp_define(im, t->name, (imp_value){.state = IMP_BAD}, loc) != TN_OK) {
            s = TN_FAIL;
        } else if (!t->known) {
            s = imp_error(im, IMP_NO_TENSOR, loc,
                          "input \"%s\" is of type %d of the schema, which is not supported",
                          imp_text(im, t->name), t->type);
        } else {
            imp_input one = input_of(o, t);
            if (imp_add_input(im, &one, loc) != TN_OK)
                s = TN_FAIL;
        }
    }
    return s;
}

tn_value tfl_result(tfl_import *o, const tfl_graph *g, uint32_t i, const tn_loc *loc)
{
    const tfl_tensor *t = g->out[i] < 0 ? NULL : &g->tensor[g->out[i]];
    const imp_value *v = t ? imp_lookup(&o->im, t->name) : NULL;
    if (t && !v && tfl_is_constant(o, t)) {
        tn_node *k = tfl_constant(o, t, loc);
        (void)imp_define(&o->im, t->name, (imp_value){.v = {k, 0}, .state = k ? IMP_OK : IMP_BAD}, loc);
        v = imp_lookup(&o->im, t->name);
    }
    return v ? v->v : (tn_value){0};
}

static tn_status set_results(tfl_import *o, const tfl_graph *g)
{
    const tn_loc *loc = imp_make_loc(&o->im, NULL, NULL);
    for (uint32_t i = 0; i < g->n_out; i++) /* constants have no operator */
        (void)tfl_result(o, g, i, loc);
    for (uint32_t i = 0; i < g->n_out; i++)
        if (g->out[i] >= 0 && g->tensor[g->out[i]].type == TFL_COMPLEX64)
            return imp_error(&o->im, IMP_BAD_TENSOR, loc,
                             "output \"%s\" is of complex numbers, which is not supported",
                             imp_text(&o->im, g->tensor[g->out[i]].name));
    return imp_set_results(&o->im, g->n_out, names_of(o, g, g->n_out, g->out));
}

static tn_status import(tfl_import *o, const tn_file *file)
{
    TN_TRY(tfl_read_model(o, file));
    imp_start(&o->im);
    const tfl_graph *g = tfl_read_main(o);
    if (!g)
        return TN_FAIL;
    tfl_read_metadata(o, g);
    tn_status inputs = add_inputs(o, g);
    o->im.had_errors = o->im.g->ctx->n_error;
    tn_status nodes = tfl_convert_graph(o, g);
    if (nodes == TN_OK)
        nodes = set_results(o, g);
    return inputs == TN_OK && nodes == TN_OK ? TN_OK : TN_FAIL;
}

bool tn_sniff_tflite(const uint8_t *at, size_t n) { return n >= 8 && memcmp(at + 4, "TFL3", 4) == 0; }

tn_status tn_import_tflite(tn_graph *g, const char *path, const tn_file *file,
                           const tn_import_options *options)
{
    tfl_import o = {0};
    imp_open(&o.im, &tfl_format, g, path, file, options);
    tn_status s = import(&o, file);
    imp_close(&o.im);
    tn_vec_deinit(&o.kept);
    tn_vec_deinit(&o.tables);
    tn_map_deinit(&o.handles);
    tn_map_deinit(&o.table_handles);
    return s;
}
