/* Forms (forms.h): how they are read, and what their rows share. */
#include "relay/forms.h"

#include "ir/eval.h"

#include <math.h>
#include <string.h>

static const form *const tables[] = {form_rows_tensor, form_rows_nn, form_rows_qnn, form_rows_blocked};

/* ---- making calls ---- */

tn_value form_refuse(form_call *c, const char *what)
{
    if (!c->bad)
        (void)parse_error(c->p, c->line, c->col, "relay-E088", "%s %s", c->name, what);
    c->bad = true;
    return (tn_value){0};
}

/* Operands of a call that is made. */
static void need(form_call *c, uint32_t n, const tn_value in[])
{
    for (uint32_t i = 0; i < n; i++)
        if (!in[i].def)
            (void)form_refuse(c, "is given None for an operand that it needs");
}

tn_value form_make(form_call *c, const tn_op *op, const void *attr, int n, const tn_value in[])
{
    need(c, (uint32_t)n, in);
    pval v = c->bad ? pval_bad(c->line, c->col) : parse_node(c->p, op, n, in, attr, c->line, c->col);
    c->bad = c->bad || v.kind == PVAL_BAD;
    return c->bad ? (tn_value){0} : v.v;
}

tn_value form_make1(form_call *c, const tn_op *op, const void *attr, tn_value x)
{
    return form_make(c, op, attr, 1, &x);
}

tn_value form_laid_out(form_call *c, const tn_op *op, void *attr, uint32_t n, tn_value in[])
{
    need(c, n, in);
    pval v = c->bad ? pval_bad(c->line, c->col) : parse_laid_out(c->p, op, n, in, attr, c->line, c->col);
    c->bad = c->bad || v.kind == PVAL_BAD;
    return c->bad ? (tn_value){0} : v.v;
}

tn_value form_finished(form_call *c, const tn_op *op, void *attr, uint32_t n, const tn_value in[],
                       pforeign *f)
{
    tn_value *copy = tn_arena_copy(&c->p->scratch, in, n * sizeof *in, 8);
    need(c, n, in);
    const pval v =
        c->bad ? pval_bad(c->line, c->col) : parse_finished(c->p, op, attr, n, copy, f, c->line, c->col);
    c->bad = c->bad || v.kind == PVAL_BAD;
    if (v.kind != PVAL_NODE)
        return v.v;
    tn_value *item = TN_NEW_N(&c->p->scratch, tn_value, pval_n_items(&v));
    for (uint32_t i = 0; i < pval_n_items(&v); i++)
        item[i] = pval_item(&v, i).v;
    return form_several(c, pval_n_items(&v), item);
}

tn_value form_make2(form_call *c, const tn_op *op, tn_value a, tn_value b)
{
    return form_make(c, op, NULL, 2, (const tn_value[]){a, b});
}

tn_value form_where(form_call *c, tn_value condition, tn_value a, tn_value b)
{
    return form_make(c, &tn_op_where, NULL, 3, (const tn_value[]){condition, a, b});
}

const tn_type *form_type(form_call *c, tn_value v)
{
    const tn_type *t = v.def && !c->bad ? tn_value_type(v) : NULL;
    if (!t || t->kind != TN_T_TENSOR || t->n > FORM_MAX_RANK) {
        (void)form_refuse(c, "needs tensors");
        return NULL;
    }
    return t;
}

tn_value form_number(form_call *c, tn_dtype t, double v)
{
    unsigned char data[16] = {0};
    if (!tn_dtype_is_float(t) && !(fabs(v) < 0x1p63))
        return form_refuse(c, "needs a number that its type has");
    tn_scalar_write(t, data, tn_dtype_is_float(t) ? (tn_scalar){.f = v} : (tn_scalar){.i = (int64_t)v});
    return tn_val(tn_make_constant(c->p->g, c->p->scope->region, NULL, t, 0, NULL, data, NULL));
}

tn_value form_integer(form_call *c, int64_t v)
{
    return tn_val(tn_make_constant(c->p->g, c->p->scope->region, NULL, TN_I64, 0, NULL, &v, NULL));
}

tn_value form_filled(form_call *c, tn_value x, uint32_t n, const tn_expr *const dim[])
{
    tn_broadcast_to_attr a = {tn_dims_make(c->p->g->arena, n, dim)};
    return n ? form_make1(c, &tn_op_broadcast_to, &a, x) : x;
}

tn_value form_reshaped(form_call *c, tn_value x, uint32_t n, const tn_expr *const dim[])
{
    tn_reshape_attr a = {.newshape = tn_dims_make(c->p->g->arena, n, dim), .allowzero = true};
    return form_make1(c, &tn_op_reshape, &a, x);
}

tn_value form_transposed(form_call *c, tn_value x, uint32_t n, const int64_t axes[])
{
    tn_transpose_attr a = {tn_ints_make(c->p->g->arena, n, axes)};
    return form_make1(c, &tn_op_transpose, &a, x);
}

tn_value form_cast(form_call *c, tn_value x, tn_dtype t)
{
    const tn_type *have = form_type(c, x);
    tn_cast_attr a = {t};
    return !have || tn_dtype_eq(have->dtype, t) ? x : form_make1(c, &tn_op_cast, &a, x);
}

tn_value form_expanded(form_call *c, tn_value x, int64_t axis)
{
    tn_expand_dims_attr a = {axis, 1};
    return form_make1(c, &tn_op_expand_dims, &a, x);
}

tn_value form_reduced(form_call *c, const tn_op *op, tn_value x, int64_t axis, bool keepdims)
{
    tn_axes_attr a = {.axis = tn_ints_make(c->p->g->arena, 1, &axis), .keepdims = keepdims};
    return form_make1(c, op, &a, x);
}

const tn_expr *form_idx(form_call *c, int64_t v) { return tn_idx(c->p->g->pool, v); }

const tn_expr *form_times(form_call *c, const tn_expr *e, int64_t k)
{
    return tn_simplify(c->p->g->pool, NULL, tn_mul(c->p->g->pool, e, form_idx(c, k)));
}

int64_t form_axis(form_call *c, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        (void)form_refuse(c, "has an axis that its operand does not have");
    return c->bad ? 0 : axis < 0 ? axis + rank : axis;
}

tn_value form_sliced(form_call *c, tn_value x, int64_t axis, int64_t begin, int64_t end, int64_t step)
{
    tn_slice_attr a = {tn_make_dims(c->p->g, 1, &begin), tn_make_dims(c->p->g, 1, &end),
                       tn_ints_make(c->p->g->arena, 1, &step), tn_ints_make(c->p->g->arena, 1, &axis)};
    return form_make1(c, &tn_op_strided_slice, &a, x);
}

tn_value form_several(form_call *c, uint32_t n, const tn_value v[])
{
    pval *item = TN_NEW_N(&c->p->scratch, pval, n);
    for (uint32_t i = 0; i < n; i++)
        item[i] = (pval){.kind = PVAL_ONE, .v = v[i], .line = c->line, .col = c->col};
    c->many = (pval){.kind = PVAL_LIST, .n = n, .item = item, .line = c->line, .col = c->col};
    return v[0];
}

/* ---- reading ---- */

const form *parse_form_at(const form *const *more, size_t i)
{
    const size_t n = sizeof tables / sizeof *tables;
    for (size_t k = 0; k < n || (more && more[k - n]); k++)
        for (const form *f = k < n ? tables[k] : more[k - n]; f->name; f++)
            if (i-- == 0)
                return f;
    return NULL;
}

bool tn_relay_form_at(const form *const *more, size_t i, tn_relay_form *out)
{
    const form *f = parse_form_at(more, i);
    if (f)
        *out = (tn_relay_form){f->name, f->doc, f->least, f->most, f->attr};
    return f != NULL;
}

const form *parse_form_find(const form *const *more, const char *name)
{
    const form *f;
    for (size_t i = 0; (f = parse_form_at(more, i)) && strcmp(f->name, name) != 0; i++)
        ;
    return f;
}

/* None, "", False, 0, [] */
static bool is_nothing(const parser *p)
{
    const tn_lexer *l = &p->l;
    if (l->tok == TN_TOK_STRING)
        return l->n == 0;
    if (l->tok == TN_TOK_INT)
        return l->i == 0;
    if (tn_lex_is(l, "[")) {
        tn_lexer ahead = *l;
        tn_lex_next(&ahead);
        return tn_lex_is(&ahead, "]");
    }
    return tn_lex_is(l, "None") || tn_lex_is(l, "False") || tn_lex_is(l, "nullptr");
}

/* name=value */
static tn_status read_attribute(form_call *c, const tn_attr_field *table)
{
    parser *p = c->p;
    const char *name = tn_intern_n(p->g->ctx, p->l.text, p->l.n);
    bool known = false;
    for (const tn_attr_field *f = table; f->name; f++)
        if (strcmp(f->name, name) == 0) {
            c->given |= (uint64_t)1 << (f - table);
            known = true;
        }
    parse_next(p);
    TN_TRY(parse_expect(p, "="));
    tn_scope_fns scope = parse_dims_scope(p);
    if (strcmp(name, "indices_or_sections") == 0)
        c->a.x = tn_lex_is(&p->l, "[") || tn_lex_is(&p->l, "(");
    return known || !is_nothing(p) ? tn_attr_parse(&p->l, p->g->pool, &scope, table, name, &c->a)
                                   : parse_skip_value(p);
}

/* Arguments and attributes up to and with the closing bracket. */
static tn_status read_call(form_call *c, const tn_attr_field *table, pvals *args)
{
    parser *p = c->p;
    TN_TRY(parse_expect(p, "("));
    while (!tn_lex_is(&p->l, ")")) {
        pval v;
        if (args->n == PARSE_MAX_ARGS)
            return tn_lex_fail(&p->l, "relay-E042", "a call has at most %d arguments", PARSE_MAX_ARGS);
        if (parse_at_attribute(p)) {
            TN_TRY(read_attribute(c, table));
        } else if (parse_at_metadata(p)) {
            parse_place behind;
            TN_TRY(parse_go_metadata(p, c->name, &behind));
            while (parse_at_attribute(p)) {
                TN_TRY(read_attribute(c, table));
                (void)parse_accept(p, ",");
            }
            TN_TRY(parse_expect(p, ")"));
            parse_back(p, &behind);
        } else {
            TN_TRY(parse_expr(p, &v));
            tn_vec_push(args, v);
        }
        if (!parse_accept(p, ","))
            break;
    }
    return parse_expect(p, ")");
}

/* Attributes that must be given are; one that was given as None counts as left out. */
static bool required(form_call *c, const tn_attr_field *table)
{
    form_values usual;
    if (tn_attr_init(c->p->g->pool, table, sizeof usual, &usual) != TN_OK)
        return false;
    for (const tn_attr_field *f = table; f->name; f++)
        if (f->kind == TN_A_STR && !*(const char **)(void *)((char *)&c->a + f->offset)) {
            memcpy((char *)&c->a + f->offset, (char *)&usual + f->offset, sizeof(const char *));
            c->given &= ~((uint64_t)1 << (f - table));
        }
    for (const tn_attr_field *f = table; f->name; f++)
        if (!f->def && !(c->given >> (f - table) & 1)) {
            (void)parse_error(c->p, c->line, c->col, "relay-E044", "%s needs the attribute %s", c->name,
                              f->name);
            return false;
        }
    return true;
}

static void read_form(form_call *c, const form *f, pval *out)
{
    bool many = f->most == 0;
    if (c->n < f->least || (!many && c->n > f->most)) {
        (void)form_refuse(c, "has another number of operands");
        return;
    }
    tn_value v = f->read(c);
    if (!c->bad)
        *out = c->many.kind == PVAL_LIST ? c->many
                                         : (pval){.kind = PVAL_ONE, .v = v, .line = c->line, .col = c->col};
}

tn_status parse_form(parser *p, const form *f, pval *out)
{
    const tn_attr_field *table = f->attr;
    form_call c = {.p = p, .line = p->l.tok_line, .col = p->l.tok_col, .name = f->name};
    pvals args = {0};
    *out = pval_bad(c.line, c.col);
    TN_TRY(tn_attr_init(p->g->pool, table, sizeof c.a, &c.a));
    parse_next(p);
    tn_status s = read_call(&c, table, &args);
    if (s == TN_OK && required(&c, table)) {
        size_t n = 0;
        c.in = parse_arg_values(p, &args, f->most == 0, &n);
        c.n = (uint32_t)n;
        const tn_value *never = c.in ? parse_never(NULL, (int)n, c.in) : NULL;
        if (never)
            *out = (pval){.kind = PVAL_ONE, .v = *never, .line = c.line, .col = c.col};
        else if (c.in)
            read_form(&c, f, out);
    }
    tn_vec_deinit(&args);
    return s;
}

/* dft(re, im) of TVM has two tensors of one rank. Ours has rows (three dimensions) and a table (two). */
bool parse_is_form(const parser *p, const tn_op *op, size_t n, const tn_value in[])
{
    const tn_type *t[2];
    if (n != 2 || strcmp(op->name, "dft") != 0 || !in[0].def || !in[1].def)
        return false;
    for (int i = 0; i < 2; i++)
        t[i] = tn_value_type(in[i]);
    return t[0]->kind == TN_T_TENSOR && t[1]->kind == TN_T_TENSOR && t[0]->n == t[1]->n &&
           parse_form_find(p->given.forms, op->name);
}

/* Attributes that both have: bools. Others must be as if they were not given. */
static void same_attributes(form_call *c, const tn_op *op, const void *attr, const form *f)
{
    void *usual = tn_arena_alloc(&c->p->scratch, op->attr_size, 16);
    if (!op->attr || tn_attr_init(c->p->g->pool, op->attr, op->attr_size, usual) != TN_OK)
        return;
    for (const tn_attr_field *of = op->attr; of->name; of++) {
        const tn_attr_field *own = parse_find_field(f->attr, of->name), only[] = {*of, FORM_END};
        if (own && of->kind == TN_A_BOOL && own->kind == TN_A_BOOL)
            memcpy((char *)&c->a + own->offset, (const char *)attr + of->offset, sizeof(bool));
        else if (!own && !tn_attr_eq(only, attr, usual))
            (void)form_refuse(
                c, tn_arena_printf(&c->p->scratch, "of these operands has no attribute %s", of->name));
    }
}

pval parse_form_values(parser *p, const tn_op *op, const void *attr, size_t n, const tn_value in[],
                       const pforeign *other, uint32_t line, uint32_t col)
{
    pval out = pval_bad(line, col);
    const form *f = parse_form_find(p->given.forms, op->name);
    form_call c = {.p = p,
                   .line = line,
                   .col = col,
                   .name = op->name,
                   .in = in,
                   .n = (uint32_t)n,
                   .a = {.dtype = other->dtype, .s = other->mode, .x = other->allowzero}};
    same_attributes(&c, op, attr, f);
    if (!c.bad)
        read_form(&c, f, &out);
    return out;
}

/* ---- attributes that only TVM's operators have ---- */

/* Attributes that say nothing of the result, or repeat operands; ops: prefix of the operators' names. */
static const struct {
    const char *op, *name, *only; /* only: the one value that is left out; NULL: any */
} without_bearing[] = {
    {"", "auto_scheduler_rewritten_layout", NULL},
    {"", "meta_schedule_original_shape", NULL},
    {"arange", "start", NULL},
    {"arange", "stop", NULL},
    {"arange", "step", NULL},
    {"nn.deformable_conv2d", "channels", NULL}, /* the weight has them */
    {"nn.max_pool", "out_layout", NULL},        /* TVM reads it, and gives the data's */
    {"nn.avg_pool", "out_layout", NULL},
    {"nn.global_", "out_layout", NULL},
};

static bool has_no_bearing(const parser *p, const char *op, const char *name)
{
    for (size_t i = 0; i < sizeof without_bearing / sizeof *without_bearing; i++) {
        const char *only = without_bearing[i].only;
        if (strcmp(without_bearing[i].name, name) == 0 &&
            strncmp(op, without_bearing[i].op, strlen(without_bearing[i].op)) == 0)
            return !only || (p->l.tok == TN_TOK_STRING && p->l.n == strlen(only) &&
                             memcmp(p->l.text, only, p->l.n) == 0);
    }
    return false;
}

/* Attributes that say what the result is; op: prefix of the operators' names. */
#define KEPT(kind, name, field, value) {name, TN_A_##kind, offsetof(pforeign, field), value, ""}
static const struct {
    const char *op;
    tn_attr_field field;
} kept[] = {
    {"arange", KEPT(DTYPE, "dtype", dtype, "\"\"")},
    {"one_hot", KEPT(DTYPE, "dtype", dtype, "\"\"")},
    {"cumsum", KEPT(DTYPE, "dtype", dtype, "\"\"")},
    {"cumprod", KEPT(DTYPE, "dtype", dtype, "\"\"")},
    {"nn.conv1d_transpose", KEPT(DTYPE, "out_dtype", dtype, "\"\"")},
    {"nn.conv2d_transpose", KEPT(DTYPE, "out_dtype", dtype, "\"\"")},
    {"nn.conv3d_transpose", KEPT(DTYPE, "out_dtype", dtype, "\"\"")},
    {"image.resize", KEPT(DTYPE, "out_dtype", dtype, "\"\"")},
    {"image.resize", KEPT(REALS, "roi", roi, "[]")},
    {"image.resize", KEPT(F64, "extrapolation_value", extrapolation, "0")},
    {"topk", KEPT(STR, "ret_type", ret_type, "\"\"")},
    {"strided_slice", KEPT(STR, "slice_mode", mode, "\"end\"")},
    {"dyn.strided_slice", KEPT(STR, "slice_mode", mode, "\"end\"")},
    {"dyn.reshape", KEPT(BOOL, "allowzero", allowzero, "False")},
    {"nn.prelu", KEPT(I64, "axis", axis, "1")},
    {"take", KEPT(I64, "batch_dims", batch_dims, "0")},
    {"argm", KEPT(BOOL, "exclude", exclude, "False")},
};

static const tn_attr_field *find_kept(const char *op, const char *name)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strncmp(op, kept[i].op, strlen(kept[i].op)) == 0 && strcmp(kept[i].field.name, name) == 0)
            return &kept[i].field;
    return NULL;
}

const tn_attr_field *parse_find_field(const tn_attr_field *f, const char *name)
{
    while (f && f->name && strcmp(f->name, name) != 0)
        f++;
    return f && f->name ? f : NULL;
}

const tn_attr_field *tn_relay_find_attr(const form *const *more, const char *op, const char *name)
{
    const tn_op *known = tn_ops_find(op);
    const form *made = parse_form_find(more, op);
    const tn_attr_field *f = known ? parse_find_field(known->attr, name) : NULL;
    f = f || !made ? f : parse_find_field(made->attr, name);
    return f ? f : find_kept(op, name);
}

const tn_attr_field *tn_relay_foreign_at(const tn_op *op, uint32_t k)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const tn_attr_field *f = &kept[i].field;
        if (find_kept(op->name, f->name) == f && !parse_find_field(op->attr, f->name) && k-- == 0)
            return f;
    }
    return NULL;
}

bool parse_is_foreign(const parser *p, const tn_op *op, const char *name)
{
    if (op && parse_find_field(op->attr, name))
        return false;
    return op && (is_nothing(p) || has_no_bearing(p, op->name, name) || find_kept(op->name, name));
}

static tn_status read_foreign(parser *p, const tn_attr_field *f, pforeign *out)
{
    const tn_attr_field table[] = {*f, FORM_END};
    return tn_attr_parse(&p->l, p->g->pool, NULL, table, f->name, out);
}

tn_status parse_foreign(parser *p, const char *name, const char *op, pforeign *out)
{
    const tn_attr_field *f = find_kept(op, name);
    return f && !tn_lex_is(&p->l, "None") ? read_foreign(p, f, out) : parse_skip_value(p);
}

tn_status parse_foreign_axes(parser *p, pforeign *out)
{
    static const tn_attr_field axes = {"axis", TN_A_INTS, offsetof(pforeign, axes), "None", ""};
    return read_foreign(p, &axes, out);
}
