/* Caffe2 -> Relay: two nets (NetDef), predict_net.pb with the operators and init_net.pb, whose operators fill weights.
 * They lie beside each other, with the same name in front; value_info.json beside them may say what the inputs are. An
 * operator may write its result over its operand: a name stands for its latest value. */
#include "frontend/caffe2/caffe2.h"

#include "base/wire/json.h"
#include "base/wire/pb.h"

#include <string.h>

static const tn_loc *here(imp_model *im) { return imp_make_loc(im, NULL, NULL); }

static tn_status damaged(imp_model *im, const char *what)
{
    return tn_error(im->g->ctx, "caffe2-E001", here(im), "the net is damaged: %s%s", what, imp_again(what));
}

/* ---- arguments ---- */

typedef tn_vec(imp_attr) attrs;
typedef struct lists { /* of the argument being read */
    tn_vec(float) floats;
    tn_vec(int64_t) ints;
} lists;

static void read_packed(tn_bytes b, lists *l)
{
    while (b.n) {
        uint64_t v = 0;
        for (unsigned shift = 0; b.n && shift < 64; shift += 7) {
            uint8_t byte = *b.at++;
            b.n--;
            v |= (uint64_t)(byte & 127) << shift;
            if (!(byte & 128))
                break;
        }
        tn_vec_push(&l->ints, (int64_t)v);
    }
}

/* name 1, f 2, i 3, s 4, floats 5, ints 6 */
static const char *read_argument(imp_model *im, tn_pb r, attrs *out)
{
    imp_attr a = {.kind = IMP_A_ANY};
    lists l = {0};
    bool real = false;
    tn_bytes whole = {0};
    while (tn_pb_next(&r)) {
        bool bytes = r.wire == TN_PB_LEN;
        if (r.field == 1 && bytes)
            a.name = r.bytes;
        else if (r.field == 2 && r.wire == TN_PB_I32) {
            a.f = (double)tn_pb_float(&r);
            real = true;
        } else if (r.field == 3 && r.wire == TN_PB_VARINT)
            a.i = tn_pb_int(&r);
        else if (r.field == 4 && bytes)
            a.text = r.bytes;
        else if (r.field == 5 && bytes && !l.floats.n)
            whole = r.bytes; /* lies in the file */
        else if (r.field == 5 && r.wire == TN_PB_I32)
            tn_vec_push(&l.floats, tn_pb_float(&r));
        else if (r.field == 6 && bytes)
            read_packed(r.bytes, &l);
        else if (r.field == 6 && r.wire == TN_PB_VARINT)
            tn_vec_push(&l.ints, tn_pb_int(&r));
    }
    a.f = real ? a.f : (double)a.i;
    a.floats.n = whole.at ? whole.n / 4 : l.floats.n;
    float *floats = TN_NEW_N(&im->scratch, float, a.floats.n);
    int64_t *ints = TN_NEW_N(&im->scratch, int64_t, l.ints.n);
    if (a.floats.n)
        memcpy(floats, whole.at ? (const void *)whole.at : l.floats.at, a.floats.n * 4);
    if (l.ints.n)
        memcpy(ints, l.ints.at, l.ints.n * sizeof *ints);
    a.floats.at = floats;
    a.ints.n = l.ints.n;
    a.ints.at = ints;
    tn_vec_deinit(&l.floats);
    tn_vec_deinit(&l.ints);
    tn_vec_push(out, a);
    return r.error;
}

tn_ints c2_ints(imp_node *c, const char *name)
{
    tn_ints list;
    (void)imp_attr_ints(c, name, &list);
    return list;
}

/* ---- operators ---- */

static size_t count(tn_bytes m, uint32_t field)
{
    size_t n = 0;
    tn_pb r = tn_pb_open(m.at, m.n);
    while (tn_pb_next(&r))
        n += r.field == field && r.wire == TN_PB_LEN;
    return n;
}

/* Exporters fill the data of a net with a single number, so that the name exists before somebody gives it a value. */
static bool stands_for_data(const imp_node *c, tn_bytes type, tn_bytes data)
{
    if (!data.n || c->n_in || c->n_out != 1 || !imp_same(c->out_name[0], data) ||
        !imp_is(type, "ConstantFill"))
        return false;
    for (size_t i = 0; i < c->n_attr; i++)
        if (imp_is(c->attr[i].name, "shape"))
            return !c->attr[i].ints.n || (c->attr[i].ints.n == 1 && c->attr[i].ints.at[0] == 1);
    return true;
}

/* input 1, output 2, name 3, type 4, arg 5; data: what is left out where it is filled, .n 0: nothing */
static tn_status convert(imp_model *im, tn_bytes op, tn_bytes data)
{
    tn_bytes *in = TN_NEW_N(&im->scratch, tn_bytes, count(op, 1)),
             *out = TN_NEW_N(&im->scratch, tn_bytes, count(op, 2)), name = {0}, type = {0};
    imp_node c = {.version = 1, .in_name = in, .out_name = out};
    attrs list = {0};
    const char *why = NULL;
    tn_pb r = tn_pb_open(op.at, op.n);
    while (tn_pb_next(&r) && !why) {
        if (r.wire != TN_PB_LEN)
            continue;
        if (r.field == 1)
            in[c.n_in++] = r.bytes;
        else if (r.field == 2)
            out[c.n_out++] = r.bytes;
        else if (r.field == 3)
            name = r.bytes;
        else if (r.field == 4)
            type = r.bytes;
        else if (r.field == 5)
            why = read_argument(im, tn_pb_sub(&r), &list);
    }
    why = why ? why : r.error;
    c.loc = imp_make_loc(im, imp_text(im, name.n || !c.n_out ? name : out[0]), imp_text(im, type));
    c.attr = list.at;
    c.n_attr = list.n;
    im->scope = im->value.n; /* names of before may have new values */
    if (!why && !stands_for_data(&c, type, data)) {
        c.row = imp_row_of(im, (tn_bytes){0}, type, 1, c.loc, true);
        imp_convert(im, &c);
    }
    tn_vec_deinit(&list);
    return why ? damaged(im, why) : TN_OK;
}

static tn_status convert_net(imp_model *im, tn_bytes net, tn_bytes data)
{
    tn_pb r = tn_pb_open(net.at, net.n);
    while (tn_pb_next(&r) && !imp_too_much(im, NULL))
        if (r.field == 2 && r.wire == TN_PB_LEN)
            TN_TRY(convert(im, r.bytes, data));
    return r.error ? damaged(im, r.error) : TN_OK;
}

/* ---- inputs and results ---- */

enum { MAX_INPUTS = 64 };
typedef struct inputs {
    size_t n;
    imp_input at[MAX_INPUTS];
} inputs;

/* value_info.json: {"data": [1, [1, 3, 224, 224]]}, where 1 is the type of elements */
static tn_status read_info(imp_model *im, const tn_json *info, imp_input *in)
{
    const char *name = tn_arena_strndup(&im->scratch, (const char *)in->name.at, in->name.n);
    const tn_json *v = tn_json_find(info, name);
    if (!tn_json_is(v, TN_JSON_ARRAY) || v->n != 2 || !tn_json_is(&v->u.at[1], TN_JSON_ARRAY) ||
        v->u.at[1].n > IMP_MAX_RANK)
        return TN_OK;
    const tn_json *type = &v->u.at[0], *shape = &v->u.at[1];
    imp_dim *dim = TN_NEW_N(&im->scratch, imp_dim, shape->n);
    for (uint32_t i = 0; i < shape->n; i++)
        dim[i] = (imp_dim){.extent = shape->u.at[i].kind == TN_JSON_INT ? shape->u.at[i].u.i : -1};
    if (tn_json_is(type, TN_JSON_INT) && !c2_dtype(type->u.i, &in->dtype))
        return tn_error(
            im->g->ctx, "caffe2-E006", here(im),
            "value_info.json says that input %s has elements of type %lld, which are not supported; "
            "give numbers or bools",
            name, (long long)type->u.i);
    in->has_shape = true;
    in->n = shape->n;
    in->dim = dim;
    return TN_OK;
}

/* What the net wants from outside (7) and the other does not fill. */
static tn_status add_inputs(imp_model *im, tn_bytes net, tn_bytes info)
{
    inputs *all = TN_NEW(&im->scratch, inputs);
    tn_json_doc doc = info.at ? tn_json_read((const char *)info.at, info.n) : (tn_json_doc){0};
    tn_pb r = tn_pb_open(net.at, net.n);
    all->n = 0;
    tn_status ok = TN_OK;
    while (ok == TN_OK && tn_pb_next(&r)) {
        if (r.field != 7 || r.wire != TN_PB_LEN || imp_lookup(im, r.bytes) || all->n == MAX_INPUTS)
            continue;
        all->at[all->n] = (imp_input){.name = r.bytes, .dtype = TN_F32};
        ok = read_info(im, doc.root, &all->at[all->n++]);
    }
    tn_json_free(&doc);
    TN_TRY(ok);
    TN_TRY(imp_check_shapes(im, all->n, all->at));
    for (size_t i = 0; i < all->n; i++) {
        TN_TRY(imp_define(im, all->at[i].name, (imp_value){.state = IMP_BAD}, here(im)));
        TN_TRY(imp_add_input(im, &all->at[i], here(im)));
    }
    return TN_OK;
}

static tn_status set_results(imp_model *im, tn_bytes net)
{
    tn_bytes *name = TN_NEW_N(&im->scratch, tn_bytes, count(net, 8));
    size_t n = 0;
    tn_pb r = tn_pb_open(net.at, net.n);
    while (tn_pb_next(&r))
        if (r.field == 8 && r.wire == TN_PB_LEN)
            name[n++] = r.bytes;
    return imp_set_results(im, n, name);
}

/* The first name that the net wants from outside. */
static tn_bytes data_of(tn_bytes net)
{
    tn_pb r = tn_pb_open(net.at, net.n);
    while (tn_pb_next(&r))
        if (r.field == 7 && r.wire == TN_PB_LEN)
            return r.bytes;
    return (tn_bytes){0};
}

static tn_status import(imp_model *im, tn_bytes net, tn_bytes init, tn_bytes info)
{
    imp_start(im);
    TN_TRY(convert_net(im, init, data_of(net)));
    if (im->g->ctx->n_error > im->had_errors)
        return TN_FAIL;
    TN_TRY(add_inputs(im, net, info));
    TN_TRY(convert_net(im, net, (tn_bytes){0}));
    return im->g->ctx->n_error > im->had_errors ? TN_FAIL : set_results(im, net);
}

tn_status c2_import_nets(tn_graph *g, const char *path, const tn_file *file, tn_bytes net, tn_bytes init,
                         tn_bytes info, const tn_import_options *options)
{
    imp_model im = {0};
    imp_open(&im, &c2_format, g, path, file, options);
    tn_status s = import(&im, net, init, info);
    imp_close(&im);
    return s;
}

/* ---- files ---- */

/* The name of a file without its folder, with `from` replaced by `to`; NULL: `from` is not in it. */
static const char *other_name(imp_model *im, const char *from, const char *to)
{
    const char *slash = strrchr(im->file, '/'), *file = slash ? slash + 1 : im->file,
               *at = strstr(file, from);
    return at ? tn_arena_printf(&im->scratch, "%.*s%s%s", (int)(at - file), file, to, at + strlen(from))
              : NULL;
}

tn_status tn_import_caffe2(tn_graph *g, const char *path, const tn_file *file,
                           const tn_import_options *options)
{
    imp_model im = {0};
    tn_bytes given = {file->at, file->n}, info = {0};
    imp_open(&im, &c2_format, g, path, file, options);
    const char *init = other_name(&im, "predict", "init"),
               *net = init ? NULL : other_name(&im, "init", "predict");
    const char *why, *other = init ? init : net;
    const tn_file *f = other ? imp_open_file(&im, other, &why) : NULL,
                  *json = imp_open_file(&im, "value_info.json", &why);
    info = json ? (tn_bytes){json->at, json->n} : info;
    tn_status s;
    if (!f) {
        s = imp_error(&im, IMP_BAD_FILE, here(&im),
                      "there is no %s beside it; put it there: a model of Caffe2 is NAME_init_net.pb and "
                      "NAME_predict_net.pb",
                      init  ? init
                      : net ? net
                            : "predict_net.pb");
    } else {
        tn_bytes found = {f->at, f->n};
        s = import(&im, init ? given : found, init ? found : given, info);
    }
    imp_close(&im);
    return s;
}

/* A net: messages 2, each with a type (4) and names of operands or results. */
/* A MetaGraphDef of TensorFlow has messages where a net has the types of its operators. */
static bool is_word(tn_bytes s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] <= ' ' || s.at[i] > '~')
            return false;
    return s.n > 0;
}

bool tn_sniff_caffe2(const uint8_t *at, size_t n)
{
    bool op = false;
    tn_pb r = tn_pb_open(at, n);
    for (int i = 0; i < 8 && tn_pb_next(&r); i++) {
        if (r.field > 11 || (r.field <= 2 && r.wire != TN_PB_LEN))
            return false;
        bool type = false, names = false;
        tn_pb in = r.field == 2 ? tn_pb_sub(&r) : (tn_pb){0};
        while (r.field == 2 && tn_pb_next(&in)) {
            type = type || (in.field == 4 && in.wire == TN_PB_LEN);
            names = names || (in.field <= 2 && in.wire == TN_PB_LEN);
            if (in.field > 16 || in.wire != TN_PB_LEN || (in.field == 4 && !is_word(in.bytes)))
                return false;
        }
        if (r.field == 2 && (in.error || !type || !names))
            return false;
        op = op || r.field == 2;
    }
    return op && !r.error;
}
