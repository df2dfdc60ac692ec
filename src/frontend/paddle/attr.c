/* Attributes and types of elements. */
#include "frontend/paddle/paddle.h"

#include "frontend/import/look.h"

#include <string.h>

/* ---- types ---- */

static const struct {
    const char *name;
    int64_t number;
    tn_dtype dtype;
} types[] = {
    {"bool", 0, {TN_BOOL, 8, 1}},      {"int16", 1, {TN_INT, 16, 1}},
    {"int32", 2, {TN_INT, 32, 1}},     {"int64", 3, {TN_INT, 64, 1}},
    {"float16", 4, {TN_FLOAT, 16, 1}}, {"float32", 5, {TN_FLOAT, 32, 1}},
    {"float64", 6, {TN_FLOAT, 64, 1}}, {"uint8", 20, {TN_UINT, 8, 1}},
    {"int8", 21, {TN_INT, 8, 1}},      {"bfloat16", 22, {TN_BFLOAT, 16, 1}},
    {"uint16", 36, {TN_UINT, 16, 1}},  {"uint32", 37, {TN_UINT, 32, 1}},
    {"uint64", 38, {TN_UINT, 64, 1}},
};

bool pd_dtype_by_number(int64_t number, tn_dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].number == number)
            return *out = types[i].dtype, true;
    return false;
}

int64_t pd_number_of_type(tn_bytes name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (imp_is(name, types[i].name))
            return types[i].number;
    return -1;
}

tn_dtype pd_dtype(imp_node *c, const char *name, tn_dtype def)
{
    tn_dtype t = def;
    int64_t number = imp_attr_int(c, name, -1);
    if (number >= 0 && !c->bad && !pd_dtype_by_number(number, &t))
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s is %lld, a type of elements that is not supported", name,
                   (long long)number);
    return t;
}

/* ---- attributes ---- */

static bool ends(tn_bytes s, const char *text)
{
    size_t n = strlen(text);
    return s.n >= n && memcmp(s.at + s.n - n, text, n) == 0;
}

/* What says where an operator came from and how it is computed. */
static bool is_note(tn_bytes name)
{
    static const char *const known[] = {"with_quant_attr", "struct_name", "name", "ring_id", "chunk_id"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (imp_is(name, known[i]))
            return true;
    return look_begins(name, "op_") || look_begins(name, "mkldnn_") || look_begins(name, "onednn_") ||
           look_begins(name, "__");
}

/* What has no bearing on the result, unless a converter asks for it. */
static bool may_be_ignored(const pd_attr *a)
{
    static const char *const known[] = {"is_test",
                                        "exhaustive_search",
                                        "workspace_size_MB",
                                        "force_fp32_output",
                                        "momentum",
                                        "force_cpu",
                                        "quantization_type",
                                        "skip_quant",
                                        "in_dtype",
                                        "use_global_stats",
                                        "Scale_x",
                                        "Scale_y",
                                        "Scale_out",
                                        "Scale_in",
                                        "Scale_in_eltwise",
                                        "Scale_weights",
                                        "Input_scale",
                                        "place_type",
                                        "trainable_statistics",
                                        "infer_flags",
                                        "bit_length",
                                        "activation_bits",
                                        "weight_bits",
                                        "remote_prefetch",
                                        "is_sparse",
                                        "is_distributed",
                                        "trainer_id",
                                        "grad_inplace",
                                        "entry",
                                        "entry_config",
                                        "table_class",
                                        "table_names",
                                        "epmap",
                                        "height_sections",
                                        "numeric_stable_mode",
                                        "x_data_format",
                                        "y_data_format",
                                        "scale_x",
                                        "scale_y",
                                        "scale_out",
                                        "slot",
                                        "data_format",
                                        "sparse"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (imp_is(a->name, known[i]))
            return true;
    if (look_begins(a->name, "fuse_") ||
        look_begins(a->name, "fused_")) /* one that is on is another operator */
        return a->type == PD_A_STRING ? !a->s.n : !a->b && !a->i;
    return look_begins(a->name, "use_") || (ends(a->name, "_threshold") && look_begins(a->name, "out")) ||
           ends(a->name, "0_threshold") || ends(a->name, "0_scale");
}

static int64_t *ints_of_scalars(pd_import *p, const tn_pb_array *list)
{
    const pd_scalar *s = list->at;
    int64_t *v = TN_NEW_N(&p->im.scratch, int64_t, list->n);
    for (size_t i = 0; i < list->n; i++)
        v[i] = s[i].type == 1 ? s[i].b : s[i].type == 3 ? 0 : s[i].i;
    return v;
}

static float *floats_of(pd_import *p, const pd_attr *a)
{
    size_t n = a->type == PD_A_SCALARS ? a->scalars.n : a->float64s.n;
    float *v = TN_NEW_N(&p->im.scratch, float, n);
    for (size_t i = 0; i < n; i++) {
        const pd_scalar *s = a->type == PD_A_SCALARS ? (const pd_scalar *)a->scalars.at + i : NULL;
        double d = !s             ? ((const double *)a->float64s.at)[i]
                   : s->type == 3 ? s->r
                   : s->type == 1 ? (double)s->b
                                  : (double)s->i;
        v[i] = (float)d;
    }
    return v;
}

static void set_ints(imp_attr *to, const tn_pb_array *list)
{
    to->kind = IMP_A_INTS;
    to->ints.n = list->n;
    to->ints.at = list->at;
}

static void set_scalar(imp_attr *to, const pd_scalar *s)
{
    to->kind = IMP_A_ANY;
    to->i = s->type == 1 ? s->b : s->type == 3 ? (int64_t)(s->r > -9e18 && s->r < 9e18 ? s->r : 0) : s->i;
    to->f = s->type == 3 ? s->r : (double)to->i;
}

static void set_list(pd_import *p, imp_attr *to, const pd_attr *a)
{
    switch ((enum pd_attr_type)a->type) {
    case PD_A_FLOATS:
        to->kind = IMP_A_FLOATS;
        to->floats.n = a->floats.n;
        to->floats.at = a->floats.at;
        break;
    case PD_A_FLOAT64S:
    case PD_A_SCALARS:
        to->kind = a->type == PD_A_SCALARS ? IMP_A_ANY : IMP_A_FLOATS;
        to->floats.n = to->ints.n = a->type == PD_A_SCALARS ? a->scalars.n : a->float64s.n;
        to->floats.at = floats_of(p, a);
        to->ints.at = a->type == PD_A_SCALARS ? ints_of_scalars(p, &a->scalars) : NULL;
        break;
    case PD_A_STRINGS:
        to->kind = IMP_A_TEXTS;
        to->texts.n = a->strings.n;
        to->texts.at = a->strings.at;
        break;
    case PD_A_BOOLS: set_ints(to, &a->bools); break;
    case PD_A_BLOCKS: set_ints(to, &a->blocks_idx); break;
    case PD_A_LONGS: set_ints(to, &a->longs); break;
    default: set_ints(to, &a->ints); break;
    }
}

static imp_attr attribute(pd_import *p, const pd_attr *a)
{
    imp_attr to = {.name = a->name, .kind = IMP_A_INT};
    switch (a->type) {
    case PD_A_INT: to.i = a->i; break;
    case PD_A_BOOL: to.i = a->b; break;
    case PD_A_BLOCK: to.i = a->block_idx; break;
    case PD_A_LONG: to.i = a->l; break;
    case PD_A_FLOAT:
    case PD_A_FLOAT64:
        to.kind = IMP_A_FLOAT;
        to.f = a->type == PD_A_FLOAT ? (double)a->f : a->float64;
        break;
    case PD_A_STRING:
        to.kind = IMP_A_TEXT;
        to.text = a->s;
        break;
    case PD_A_SCALAR:
        to.kind = IMP_A_UNKNOWN;
        if (a->scalar)
            set_scalar(&to, a->scalar);
        break;
    default:
        if (a->type == PD_A_VAR || a->type == PD_A_VARS || a->type < 0 || a->type > PD_A_SCALARS)
            to.kind = IMP_A_UNKNOWN;
        else
            set_list(p, &to, a);
    }
    return to;
}

void pd_read_attrs(pd_import *p, const pd_op *op, imp_node *c)
{
    const pd_attr *a = op->attrs.at;
    imp_attr *to = TN_NEW_N(&p->im.scratch, imp_attr, op->attrs.n);
    for (size_t i = 0; i < op->attrs.n; i++) {
        if (is_note(a[i].name))
            continue;
        if (c->n_attr < 64 && may_be_ignored(&a[i]))
            c->asked |= UINT64_C(1) << c->n_attr;
        to[c->n_attr++] = attribute(p, &a[i]);
    }
    c->attr = to;
}

bool pd_bool(imp_node *c, const char *name, bool def) { return imp_attr_int(c, name, def) != 0; }

bool pd_floats(imp_node *c, const char *name, size_t *out_n, const float **out)
{
    const imp_attr *a = imp_attr_find(c, name, IMP_A_FLOATS);
    *out_n = a ? a->floats.n : 0;
    *out = a ? a->floats.at : NULL;
    return a != NULL;
}

const pd_attr *pd_find_attr(const pd_op *op, const char *name)
{
    const pd_attr *a = op->attrs.at;
    for (size_t i = 0; i < op->attrs.n; i++)
        if (imp_is(a[i].name, name))
            return &a[i];
    return NULL;
}

bool pd_is_last(imp_node *c, const char *attr)
{
    const char *s = imp_attr_string(c, attr, "NCHW");
    bool first = strncmp(s, "NC", 2) == 0 || strcmp(s, "AnyLayout") == 0;
    if (!first && (!*s || s[strlen(s) - 1] != 'C'))
        imp_refuse(c, IMP_BAD_VALUE, "attribute %s is \"%s\", but channels must be second or last", attr, s);
    return !first;
}
