/* PaddlePaddle -> Relay: inference models of all releases. The program is a ProgramDesc (NAME.pdmodel, __model__)
 * or JSON (NAME.json); its parameters lie beside it in one file (NAME.pdiparams, __params__) or in a file each.
 * What feeds the program are the inputs, what it fetches the results. */
#include "frontend/paddle/paddle.h"

#include <stdlib.h>
#include <string.h>

enum { FEED = 9, FETCH = 10, DENSE_TENSOR = 7, LOOK = 64 };

/* ---- which kind of file it is ---- */

/* A block begins with its number, the one around it, and variables or operators. */
static bool is_block(tn_bytes b)
{
    tn_pb r = tn_pb_open(b.at, b.n);
    if (!tn_pb_next(&r) || r.field != 1 || r.wire != TN_PB_VARINT || r.value != 0 || !tn_pb_next(&r) ||
        r.field != 2 || r.wire != TN_PB_VARINT || !tn_pb_next(&r) || r.wire != TN_PB_LEN)
        return false;
    return r.field == 3 || r.field == 4;
}

static bool is_program(const uint8_t *at, size_t n)
{
    tn_pb r = tn_pb_open(at, n);
    return tn_pb_next(&r) && r.field == 1 && r.wire == TN_PB_LEN && is_block(r.bytes);
}

bool tn_sniff_paddle(const uint8_t *at, size_t n) { return is_program(at, n) || pd_is_json(at, n); }

/* ---- the other file ---- */

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n > k && strcmp(s + n - k, suffix) == 0;
}

static const tn_file *beside(pd_import *p, const char *name)
{
    const char *why;
    return imp_open_file(&p->im, name, &why);
}

/* The first of these files that there is; `stem`: of the file that was given. */
static const tn_file *first_beside(pd_import *p, const char *stem, const char *const suffix[],
                                   const char **out_name)
{
    for (int i = 0; suffix[i]; i++) {
        const char *name =
            suffix[i][0] == '.' ? tn_arena_printf(&p->im.scratch, "%s%s", stem, suffix[i]) : suffix[i];
        const tn_file *f = beside(p, name);
        if (f) {
            *out_name = name;
            return f;
        }
    }
    return NULL;
}

/* The file's name without its folder and suffix. */
static const char *stem_of(pd_import *p)
{
    static const char *const known[] = {".pdmodel", ".pdiparams", ".json"};
    const char *slash = strrchr(p->im.file, '/'), *name = slash ? slash + 1 : p->im.file;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends(name, known[i]))
            return tn_arena_strndup(&p->im.scratch, name, strlen(name) - strlen(known[i]));
    return name;
}

typedef struct files {
    tn_bytes program, params; /* params.at NULL: a file for each, or none */
    const char *program_name;
} files;

static tn_bytes bytes_of(const tn_file *f) { return f ? (tn_bytes){f->at, f->n} : (tn_bytes){0}; }

static tn_status find_files(pd_import *p, files *out)
{
    static const char *const of_params[] = {".pdiparams", "__params__", "params", NULL},
                             *const of_program[] = {".pdmodel", ".json", "__model__", "model", NULL};
    const char *name = p->im.file, *stem = stem_of(p);
    *out = (files){.program = p->im.whole, .program_name = p->im.file};
    if (tn_sniff_paddle(out->program.at, out->program.n)) {
        out->params = bytes_of(first_beside(p, stem, of_params, &name));
        p->params_name = name;
        return TN_OK;
    }
    const tn_file *program = first_beside(p, stem, of_program, &name);
    if (!program || !tn_sniff_paddle(program->at, program->n))
        return tn_error(p->im.g->ctx, "paddle-E002", &(tn_loc){.file = p->im.file},
                        "this is no PaddlePaddle program; if it holds parameters, put the program beside it "
                        "as %s.pdmodel, %s.json or __model__",
                        stem, stem);
    out->params = out->program;
    p->params_name = p->im.file;
    out->program = bytes_of(program);
    out->program_name = name;
    return TN_OK;
}

/* ---- the program ---- */

/* Blocks inside an operator: their numbers are larger than that of the block around, and each belongs to one. */
static bool claim(pd_import *p, const pd_block *b, int64_t at, int depth[])
{
    int64_t around = b - (const pd_block *)p->program->blocks.at;
    bool fine =
        at > around && at < (int64_t)p->program->blocks.n && !depth[at] && depth[around] < IMP_MAX_DEPTH;
    if (fine)
        depth[at] = depth[around] + 1;
    return fine;
}

static bool check_op(pd_import *p, const pd_block *b, const pd_op *op, int depth[])
{
    const pd_attr *a = op->attrs.at;
    bool fine = true;
    for (size_t i = 0; i < op->attrs.n; i++) {
        if (a[i].type == PD_A_BLOCK)
            fine = fine && claim(p, b, a[i].block_idx, depth);
        for (size_t k = 0; a[i].type == PD_A_BLOCKS && k < a[i].blocks_idx.n; k++)
            fine = fine && claim(p, b, ((const int64_t *)a[i].blocks_idx.at)[k], depth);
    }
    return fine;
}

static void forget_empty(const tn_pb_array *params)
{
    const pd_param *p = params->at;
    for (size_t i = 0; i < params->n; i++)
        for (size_t k = 0; k < p[i].arguments.n; k++) {
            tn_bytes *name = (tn_bytes *)p[i].arguments.at + k;
            if (imp_is(*name, "@EMPTY@"))
                name->n = 0;
        }
}

static tn_status check_program(pd_import *p, const char *name)
{
    const pd_block *b = p->program->blocks.at;
    int *depth = TN_NEW_N(&p->im.scratch, int, p->program->blocks.n);
    bool fine = p->program->blocks.n > 0;
    for (size_t i = 0; i < p->program->blocks.n; i++) {
        const pd_op *op = b[i].ops.at;
        for (size_t k = 0; k < b[i].ops.n; k++) {
            fine = fine && check_op(p, &b[i], &op[k], depth);
            forget_empty(&op[k].inputs);
            forget_empty(&op[k].outputs);
        }
    }
    return fine ? TN_OK
                : tn_error(
                      p->im.g->ctx, "paddle-E001", &(tn_loc){.file = name},
                      "the program has no block, or blocks inside operators that do not belong to them; the "
                      "model is damaged");
}

static tn_status read_program(pd_import *p, const files *f)
{
    const char *where = "";
    pd_program *program = TN_NEW(&p->im.scratch, pd_program);
    if (pd_is_json(f->program.at, f->program.n)) {
        p->program = pd_read_json(p, f->program, f->program_name);
        return p->program ? check_program(p, f->program_name) : TN_FAIL;
    }
    const char *why =
        tn_pb_read(&p->im.scratch, &pd_program_msg, f->program.at, f->program.n, NULL, program, &where);
    if (why)
        return tn_error(p->im.g->ctx, "paddle-E001", &(tn_loc){.file = f->program_name},
                        "this is no PaddlePaddle program, or it is damaged: %s (in %s)%s", why, where,
                        imp_again(why));
    p->program = program;
    return check_program(p, f->program_name);
}

/* ---- parameters ---- */

static bool is_parameter(const pd_var *v)
{
    return v->persistable && v->type && v->type->type == DENSE_TENSOR;
}

static int by_name(const void *a, const void *b)
{
    const pd_var *const *x = a, *const *y = b;
    size_t n = (*x)->name.n < (*y)->name.n ? (*x)->name.n : (*y)->name.n;
    int order = n ? memcmp((*x)->name.at, (*y)->name.at, n) : 0;
    return order ? order : ((*x)->name.n > (*y)->name.n) - ((*x)->name.n < (*y)->name.n);
}

/* Does the file hold what the program says? */
static bool fits(pd_import *p, const pd_var *v, const pd_tensor *t, const char *file)
{
    const pd_tensor_desc *d = v->type->dense_tensor ? v->type->dense_tensor->tensor : NULL;
    const int64_t *dim = d ? d->dims.at : NULL;
    bool same = !d || d->dims.n == t->n;
    for (uint32_t i = 0; same && dim && i < t->n; i++)
        same = dim[i] == t->dim[i] || dim[i] < 0;
    if (!same)
        (void)tn_error(
            p->im.g->ctx, "paddle-E003", &(tn_loc){.file = file},
            "parameter \"%s\" has other dimensions than the program says; the file belongs to another "
            "model, or is damaged",
            imp_text(&p->im, v->name));
    return same;
}

static bool read_parameter(pd_import *p, const pd_var *v, tn_bytes all, size_t *at)
{
    const char *name = imp_text(&p->im, v->name), *file = p->params_name, *why = "";
    pd_tensor t = {0};
    size_t begin = 0;
    if (!all.at) { /* a file of its own */
        file = tn_arena_strndup(&p->im.scratch, (const char *)v->name.at, v->name.n);
        const tn_file *own = imp_open_file(&p->im, file, &why);
        if (!own)
            return why &&
                   tn_error(p->im.g->ctx, "paddle-E002", &(tn_loc){.file = p->im.file},
                            "there are no parameters beside the program: neither one file (NAME.pdiparams or "
                            "__params__) nor \"%s\" for the parameter of that name",
                            name) == TN_OK;
        all = bytes_of(own);
        at = &begin;
    }
    if (!pd_read_tensor(p, all, file, name, at, &t) || !fits(p, v, &t, file))
        return false;
    tn_strmap_put(&p->params, (const char *)v->name.at, v->name.n, p->tensor.n);
    tn_vec_push(&p->tensor, t);
    return true;
}

static tn_status read_parameters(pd_import *p, tn_bytes all)
{
    const pd_block *b = p->program->blocks.at;
    const pd_var *v = b->vars.at, **sorted = TN_NEW_N(&p->im.scratch, const pd_var *, b->vars.n);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < b->vars.n; i++)
        if (is_parameter(&v[i]))
            sorted[n++] = &v[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < n; i++)
        if (!read_parameter(p, sorted[i], all, &at))
            return TN_FAIL;
    if (all.at && at != all.n)
        return tn_error(
            p->im.g->ctx, "paddle-E003", &(tn_loc){.file = p->params_name},
            "%zu bytes follow the last parameter; the file belongs to another model, or is damaged",
            all.n - at);
    return TN_OK;
}

static tn_status define_parameters(pd_import *p)
{
    const pd_block *b = p->program->blocks.at;
    const pd_var *v = b->vars.at;
    uint64_t at;
    for (size_t i = 0; i < b->vars.n; i++) {
        if (!is_parameter(&v[i]) || !tn_strmap_get(&p->params, (const char *)v[i].name.at, v[i].name.n, &at))
            continue;
        const pd_tensor *t = &p->tensor.at[at];
        tn_node *k = imp_constant(&p->im, t->dtype, t->n, t->dim, imp_blob(&p->im, t->data, t->dtype),
                                  imp_text(&p->im, v[i].name));
        TN_TRY(imp_define(&p->im, v[i].name, (imp_value){.v = tn_val(k)}, imp_make_loc(&p->im, NULL, NULL)));
    }
    return TN_OK;
}

/* ---- inputs and results ---- */

static tn_bytes only_name(const tn_pb_array *params, const char *param)
{
    const pd_param *p = pd_find_param(params, param);
    return p && p->arguments.n ? *(const tn_bytes *)p->arguments.at : (tn_bytes){0};
}

static const pd_var *var_called(const pd_block *b, tn_bytes name)
{
    const pd_var *v = b->vars.at;
    for (size_t i = 0; i < b->vars.n; i++)
        if (imp_same(v[i].name, name))
            return &v[i];
    return NULL;
}

static imp_input input_of(pd_import *p, const pd_op *feed)
{
    imp_input in = {.name = only_name(&feed->outputs, "Out"), .dtype = TN_F32};
    const pd_var *v = var_called(p->program->blocks.at, in.name);
    const pd_tensor_desc *d = v && v->type && v->type->dense_tensor ? v->type->dense_tensor->tensor : NULL;
    if (!d || !pd_dtype_by_number(d->data_type, &in.dtype))
        return in;
    imp_dim *dim = TN_NEW_N(&p->im.scratch, imp_dim, d->dims.n);
    for (size_t i = 0; i < d->dims.n; i++)
        dim[i] = (imp_dim){.extent = ((const int64_t *)d->dims.at)[i]};
    in.has_shape = true;
    in.n = d->dims.n;
    in.dim = dim;
    return in;
}

static int64_t column_of(const pd_op *op)
{
    const pd_attr *a = pd_find_attr(op, "col");
    return a ? a->type == PD_A_LONG ? a->l : a->i : 0;
}

static int by_column(const void *a, const void *b)
{
    const pd_op *const *x = a, *const *y = b;
    int64_t p = column_of(*x), q = column_of(*y);
    return p != q ? (p > q) - (p < q) : (*x > *y) - (*x < *y);
}

/* Operators of that type in the order of their columns. */
static const pd_op **columns(pd_import *p, const char *type, size_t *out_n)
{
    const pd_block *b = p->program->blocks.at;
    const pd_op *op = b->ops.at, **all = TN_NEW_N(&p->im.scratch, const pd_op *, b->ops.n);
    *out_n = 0;
    for (size_t i = 0; i < b->ops.n; i++)
        if (imp_is(op[i].type, type))
            all[(*out_n)++] = &op[i];
    qsort(all, *out_n, sizeof *all, by_column);
    return all;
}

static tn_status add_inputs(pd_import *p)
{
    imp_model *im = &p->im;
    size_t n;
    const pd_op **feed = columns(p, "feed", &n);
    imp_input *in = TN_NEW_N(&im->scratch, imp_input, n);
    tn_status s = TN_OK;
    for (size_t i = 0; i < n; i++)
        in[i] = input_of(p, feed[i]);
    TN_TRY(imp_check_shapes(im, n, in));
    for (size_t i = 0; i < n; i++) {
        const tn_loc *loc = imp_make_loc(im, NULL, NULL);
        if (imp_lookup(im, in[i].name))
            return imp_error(im, IMP_NAME_TWICE, loc, "two inputs are called \"%s\"; the model is damaged",
                             imp_text(im, in[i].name));
        TN_TRY(imp_define(im, in[i].name, (imp_value){.state = IMP_BAD}, loc));
        if (imp_add_input(im, &in[i], loc) != TN_OK)
            s = TN_FAIL;
    }
    return s;
}

/* ---- operators ---- */

static void add_names(tn_strmap *set, const tn_pb_array *params)
{
    const pd_param *p = params->at;
    for (size_t i = 0; i < params->n; i++)
        for (size_t k = 0; k < p[i].arguments.n; k++) {
            tn_bytes name = ((const tn_bytes *)p[i].arguments.at)[k];
            tn_strmap_put(set, (const char *)name.at, name.n, 1);
        }
}

static bool has_name(const tn_strmap *set, const tn_pb_array *params)
{
    const pd_param *p = params->at;
    uint64_t v;
    for (size_t i = 0; i < params->n; i++)
        for (size_t k = 0; k < p[i].arguments.n; k++) {
            tn_bytes name = ((const tn_bytes *)p[i].arguments.at)[k];
            if (name.n && tn_strmap_get(set, (const char *)name.at, name.n, &v))
                return true;
        }
    return false;
}

static void add_operands(pd_import *p, tn_strmap *set, const pd_op *op);

/* What the operators of a block inside another one read. */
static void add_inner(pd_import *p, tn_strmap *set, int64_t at)
{
    const pd_block *b = (const pd_block *)p->program->blocks.at + at;
    const pd_op *op = b->ops.at;
    for (size_t i = 0; i < b->ops.n; i++)
        add_operands(p, set, &op[i]);
}

static void add_operands(pd_import *p, tn_strmap *set, const pd_op *op)
{
    const pd_attr *a = op->attrs.at;
    add_names(set, &op->inputs);
    for (size_t i = 0; i < op->attrs.n; i++) {
        if (a[i].type == PD_A_BLOCK)
            add_inner(p, set, a[i].block_idx);
        for (size_t k = 0; a[i].type == PD_A_BLOCKS && k < a[i].blocks_idx.n; k++)
            add_inner(p, set, ((const int64_t *)a[i].blocks_idx.at)[k]);
    }
}

static bool *needed_ops(pd_import *p, const pd_block *b, size_t n, const tn_bytes result[])
{
    const pd_op *op = b->ops.at;
    bool *needed = TN_NEW_N(&p->im.scratch, bool, b->ops.n);
    tn_strmap set = {0};
    for (size_t i = 0; i < n; i++)
        tn_strmap_put(&set, (const char *)result[i].at, result[i].n, 1);
    for (size_t i = b->ops.n; i-- > 0;) {
        needed[i] = has_name(&set, &op[i].outputs);
        if (needed[i])
            add_operands(p, &set, &op[i]);
    }
    tn_strmap_deinit(&set);
    return needed;
}

static size_t flatten(pd_import *p, const tn_pb_array *params, const tn_bytes **out)
{
    const pd_param *q = params->at;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < params->n; i++)
        n += q[i].arguments.n;
    tn_bytes *name = TN_NEW_N(&p->im.scratch, tn_bytes, n);
    for (size_t i = 0; i < params->n; i++)
        for (size_t j = 0; j < q[i].arguments.n; j++)
            name[k++] = ((const tn_bytes *)q[i].arguments.at)[j];
    *out = name;
    return n;
}

/* The variable that an operator assigns is what it is known by, or its place in the block: operators have no names. */
static const char *name_of(pd_import *p, const pd_op *op, const imp_node *c)
{
    const pd_op *first = p->block->ops.at;
    for (size_t i = 0; i < c->n_out; i++)
        if (c->out_name[i].n)
            return imp_text(&p->im, c->out_name[i]);
    return tn_arena_printf(&p->im.scratch, "#%zu", (size_t)(op - first));
}

/* Their converters look up what their blocks read. */
static bool is_structural(const pd_op *op)
{
    static const char *const known[] = {
        "while", "conditional_block", "conditional_block_infer", "select_input", "pir_if", "pir_while"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (imp_is(op->type, known[i]))
            return true;
    return false;
}

static void convert_op(pd_import *p, const pd_op *op)
{
    pd_call *call = TN_NEW(&p->im.scratch, pd_call);
    imp_node c = {.version = 1, .origin = call};
    call->op = op;
    c.n_in = flatten(p, &op->inputs, &c.in_name);
    c.n_out = flatten(p, &op->outputs, &c.out_name);
    const char *name = name_of(p, op, &c);
    if (is_structural(op)) {
        c.n_in = c.n_out = 0;
        call->asked = UINT64_MAX;
    }
    c.loc = imp_make_loc(&p->im, tn_intern(p->im.g->ctx, name), imp_text(&p->im, op->type));
    c.row = imp_row_of(&p->im, (tn_bytes){0}, op->type, 1, c.loc, true);
    pd_read_attrs(p, op, &c);
    imp_convert(&p->im, &c);
}

void pd_convert_block(pd_import *p, const pd_block *b, size_t n, const tn_bytes result[])
{
    const pd_block *outside = p->block;
    const pd_op *op = b->ops.at;
    const bool *needed = needed_ops(p, b, n, result);
    size_t pending = p->pending.n, done = p->done.n, around = p->outside;
    p->block = b;
    p->outside = pending;
    for (size_t i = 0; i < b->ops.n && !imp_too_much(&p->im, NULL); i++)
        if (needed[i] && !imp_is(op[i].type, "feed") && !imp_is(op[i].type, "fetch"))
            convert_op(p, &op[i]);
    p->pending.n = pending;
    p->done.n = done;
    p->outside = around;
    p->block = outside;
}

/* ---- the model ---- */

static tn_status set_results(pd_import *p, size_t n, const pd_op *const fetch[], const tn_bytes name[])
{
    TN_TRY(imp_set_results(&p->im, n, name));
    for (size_t i = 0; i < n; i++) {
        const pd_attr *a = pd_find_attr(fetch[i], "name"); /* in JSON alone */
        if (a && a->s.n)
            p->im.g->result_name[i] = imp_text(&p->im, a->s);
    }
    return TN_OK;
}

static tn_status import(pd_import *p, const files *given)
{
    imp_model *im = &p->im;
    files f = given ? *given : (files){0};
    size_t n;
    if (!given)
        TN_TRY(find_files(p, &f));
    TN_TRY(read_program(p, &f));
    TN_TRY(read_parameters(p, f.params));
    const pd_op **fetch = columns(p, "fetch", &n);
    tn_bytes *name = TN_NEW_N(&im->scratch, tn_bytes, n);
    imp_start(im);
    TN_TRY(add_inputs(p));
    TN_TRY(define_parameters(p));
    for (size_t i = 0; i < n; i++)
        name[i] = only_name(&fetch[i]->inputs, "X");
    pd_convert_block(p, p->program->blocks.at, n, name);
    if (im->g->ctx->n_error > im->had_errors)
        return TN_FAIL;
    return set_results(p, n, fetch, name);
}

static tn_status import_files(tn_graph *g, const char *path, const tn_file *file, const files *given,
                              const tn_import_options *options)
{
    pd_import p = {.params_name = path};
    imp_open(&p.im, &pd_format, g, path, file, options);
    tn_status s = import(&p, given);
    tn_strmap_deinit(&p.params);
    tn_vec_deinit(&p.tensor);
    tn_vec_deinit(&p.pending);
    tn_vec_deinit(&p.done);
    imp_close(&p.im);
    return s;
}

tn_status tn_import_paddle(tn_graph *g, const char *path, const tn_file *file,
                           const tn_import_options *options)
{
    return import_files(g, path, file, NULL, options);
}

tn_status pd_import_pair(tn_graph *g, const char *path, const tn_file *file, tn_bytes program,
                         tn_bytes params)
{
    const files given = {program, params, path};
    return import_files(g, path, file, &given, NULL);
}
