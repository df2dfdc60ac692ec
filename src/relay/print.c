/* Relay text, the printing side (grammar in docs/relay.md).
 *
 * One pass numbers lines and constants in the order they will be printed, a second prints. All lines of one `def`,
 * closures included, share one counter, and a closure's own line is numbered after its body: so no `%n` hides another
 * and an inner region can name any outer value. Linear in the size of the module.
 */
#include "ir/eval.h"
#include "op/control/control.h"
#include "op/core/core.h"
#include "op/tensor/tensor.h"
#include "relay/annot.h"
#include "relay/limits.h"
#include "relay/relay.h"

#include <math.h>
#include <string.h>

struct printer {
    tn_buf *out;
    const tn_graph *g;
    tn_pool *pool;
    tn_arena scratch;               /* names */
    tn_map number;                  /* node -> line number */
    tn_map constant;                /* node -> k of meta[relay.Constant][k] */
    tn_vec(const tn_node *) listed; /* constants by k */
    size_t n_shown;                 /* constants whose annotation is printed */
    uint32_t counter;
    tn_map name;       /* parameter node -> its printed name */
    tn_strmap visible; /* parameter names in scope: 1, out of it: 0 */
    tn_strmap bound;   /* symbols that nodes bind */
    int indent;
};

static void print_region(struct printer *p, const tn_region *r);

/* ---- constants ---- */

/* Appends the text of a float that reads back to the same bits; the suffix tells the dtype. */
static void literal_float(tn_dtype t, double v, tn_buf *out)
{
    if (isinf(v))
        tn_buf_str(out, v < 0 ? "-inf" : "inf");
    else if (isnan(v))
        tn_buf_str(out, "nan");
    else
        tn_buf_real(out, v, t.bits <= 32);
    if (tn_dtype_eq(t, TN_F32))
        tn_buf_char(out, 'f');
    else
        tn_dtype_print(t, true, out);
}

static bool literal_dtype(tn_dtype t)
{
    return t.lanes == 1 && (tn_dtype_is_float(t) || tn_dtype_is_int(t) || tn_dtype_is_bool(t));
}

/* A rank-0 constant as a literal. false: it has none (no data, a NaN with a payload, the least int64 ...). */
static bool literal(const tn_node *n, tn_buf *out)
{
    const tn_type *t = n->type ? n->type[0] : NULL;
    if (!t || t->kind != TN_T_TENSOR || t->n || t->layout || !n->blob || !n->blob->at ||
        !literal_dtype(t->dtype) || n->blob->n < tn_dtype_bytes(t->dtype)) {
        return false;
    }
    tn_dtype d = t->dtype;
    tn_scalar v = tn_scalar_read(d, n->blob->at);
    if (tn_dtype_is_float(d) && isnan(v.f))
        v.f = (double)NAN; /* other NaNs have no literal */
    unsigned char back[8];
    tn_scalar_write(d, back, v);
    if (memcmp(back, n->blob->at, tn_dtype_bytes(d)))
        return false;
    if (tn_dtype_is_bool(d)) {
        tn_buf_str(out, v.i ? "True" : "False");
    } else if (tn_dtype_is_float(d)) {
        literal_float(d, v.f, out);
    } else {
        if (v.i == INT64_MIN || (d.code == TN_UINT && v.i < 0))
            return false;
        tn_buf_printf(out, "%lld", (long long)v.i);
        if (!tn_dtype_eq(d, TN_I32))
            tn_buf_printf(out, "%c%u", d.code == TN_UINT ? 'u' : 'i', d.bits);
    }
    return true;
}

static bool is_literal(const tn_node *n)
{
    tn_buf b = {0};
    bool r = literal(n, &b);
    tn_buf_deinit(&b);
    return r;
}

/* The annotation "fc.weight (256, 64) int8 in NK32n". */
static void constant_comment(struct printer *p, const tn_node *n)
{
    const tn_type *t = n->type ? n->type[0] : NULL;
    if (!t || t->kind != TN_T_TENSOR)
        return;
    tn_buf_str(p->out, " /* ");
    if (n->name && n->name[0]) {
        bool clash = !strncmp(n->name, "ty=", 3);
        if (clash)
            tn_buf_str(p->out, "\\x74");
        tn_annot_escape(p->out, n->name + (clash ? 1 : 0), "");
        tn_buf_char(p->out, ' ');
    }
    tn_buf_char(p->out, '(');
    for (int d = 0; d < t->n; d++) {
        tn_buf_str(p->out, d ? ", " : "");
        tn_expr_print(t->dim[d], NULL, p->out);
    }
    tn_buf_char(p->out, ')');
    if (!tn_dtype_eq(t->dtype, TN_F32)) {
        tn_buf_char(p->out, ' ');
        tn_dtype_print(t->dtype, false, p->out);
    }
    if (t->layout)
        tn_buf_printf(p->out, " in %s", t->layout->text);
    tn_buf_str(p->out, " */");
}

static void print_constant(struct printer *p, const tn_node *n)
{
    uint64_t k = 0;
    if (literal(n, p->out))
        return;
    tn_map_get(&p->constant, tn_map_key(n), &k);
    tn_buf_printf(p->out, "meta[relay.Constant][%llu]", (unsigned long long)k);
    if (k == p->n_shown) {
        p->n_shown++;
        constant_comment(p, n);
    }
}

/* ---- numbering ---- */

static bool is_line(const tn_node *n)
{
    return !tn_op_is(n, &tn_op_var) && !tn_op_is(n, &tn_op_constant) && !tn_op_is(n, &tn_op_global) &&
           !tn_op_is(n, &tn_op_self);
}

/* The node by which a function calls itself; NULL: it does not. */
static const tn_node *self_of(const tn_node *fn)
{
    const tn_node *n = tn_op_is(fn, &tn_op_fn) ? fn->region[0]->first : NULL;
    while (n && !tn_op_is(n, &tn_op_self))
        n = n->next;
    return n;
}

/* The node whose expression ends the region instead of having a line: the last one, if it is the result and that
 * alone. */
static const tn_node *bare_result(const struct printer *p, const tn_region *r)
{
    const tn_node *n = r->last;
    while (n && !tn_op_is(n, &tn_op_var) && !is_line(n))
        n = n->prev;
    bool bare = n && is_line(n) && r->n_result == 1 && r->result[0].def == n && n->nout == 1 &&
                tn_value_n_uses((tn_value){(tn_node *)n, 0}) == 1 && !self_of(n) &&
                !tn_ref_is_wider(p->pool, n);
    return bare ? n : NULL;
}

static void number_use(struct printer *p, const tn_use *u)
{
    uint64_t k;
    const tn_node *n = u->def;
    if (n && tn_op_is(n, &tn_op_constant) && !tn_map_get(&p->constant, tn_map_key(n), &k) && !is_literal(n)) {
        tn_map_put(&p->constant, tn_map_key(n), p->listed.n);
        tn_vec_push(&p->listed, n);
    }
}

/* Is s an extent by itself in t? Depth: that of types, bounded by the readers. */
static bool type_binds(const tn_type *t, const tn_expr *s)
{
    bool binds = false;
    for (int i = 0; i < t->n && !binds; i++)
        binds = t->kind == TN_T_TENSOR ? t->dim[i] == s : type_binds(t->field[i], s);
    return binds;
}

/* Does a parameter of a function have the symbol? The reader knows it from there. */
static bool is_of_parameter(const tn_graph *g, const tn_expr *s)
{
    bool is = false;
    for (const tn_function *f = g->func; f && !is; f = f->next)
        for (uint32_t i = 0; i < f->body->n_param && !is; i++)
            is = f->body->param[i]->type && f->body->param[i]->type[0] &&
                 type_binds(f->body->param[i]->type[0], s);
    return is;
}

static void note_bound(struct printer *p, const tn_node *n)
{
    for (const tn_attr_field *f = n->op->attr; (n->op->flags & TN_OP_BINDS) && f && f->name && n->attr; f++) {
        const tn_dims *d = (const tn_dims *)(const void *)((const char *)n->attr + f->offset);
        for (uint32_t i = 0; f->kind == TN_A_DIMS && i < d->n; i++)
            if (d->at[i]->kind == TN_E_SYM && !is_of_parameter(p->g, d->at[i]))
                tn_strmap_put(&p->bound, d->at[i]->u.s, strlen(d->at[i]->u.s), 1);
    }
}

static void number_region(struct printer *p, const tn_region *r, int depth)
{
    if (depth > TN_RELAY_MAX_NEST)
        return;
    const tn_node *bare = bare_result(p, r);
    for (const tn_node *n = r->first; n; n = n->next) {
        if (!is_line(n))
            continue;
        note_bound(p, n);
        for (int i = 0; i < n->nin; i++)
            number_use(p, &n->in[i]);
        for (int i = 0; i < n->nregion; i++)
            number_region(p, n->region[i], depth + 1);
        if (n != bare)
            tn_map_put(&p->number, tn_map_key(n), p->counter++);
    }
    for (uint32_t i = 0; i < r->n_result; i++)
        number_use(p, &r->result[i]);
}

/* ---- values ---- */

/* A parameter's name made an identifier that no enclosing scope has. */
static const char *unique_name(struct printer *p, const tn_node *n)
{
    const char *name = n->name && n->name[0] ? n->name : "p";
    char *id = tn_arena_printf(&p->scratch, "%s%s", name[0] >= '0' && name[0] <= '9' ? "v" : "", name);
    for (char *c = id; *c; c++) {
        bool ok =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_';
        *c = ok ? *c : '_';
    }
    const char *free_name = id;
    uint64_t taken = 0;
    for (uint32_t k = 1; tn_strmap_get(&p->visible, free_name, strlen(free_name), &taken) && taken; k++)
        free_name = tn_arena_printf(&p->scratch, "%s_%u", id, k);
    tn_strmap_put(&p->visible, free_name, strlen(free_name), 1);
    tn_map_put(&p->name, tn_map_key(n), (uint64_t)(uintptr_t)free_name);
    return free_name;
}

static void print_value(struct printer *p, tn_value v)
{
    uint64_t at = 0;
    if (!v.def) {
        tn_buf_str(p->out, "None");
    } else if (tn_op_is(v.def, &tn_op_global)) {
        tn_buf_printf(p->out, "@%s", ((const tn_global_attr *)v.def->attr)->name);
    } else if (tn_op_is(v.def, &tn_op_self)) {
        tn_map_get(&p->number, tn_map_key(v.def->owner->holder), &at);
        tn_buf_printf(p->out, "%%%llu", (unsigned long long)at);
    } else if (tn_op_is(v.def, &tn_op_constant)) {
        print_constant(p, v.def);
    } else if (tn_op_is(v.def, &tn_op_var)) {
        bool known = tn_map_get(&p->name, tn_map_key(v.def), &at);
        tn_buf_printf(p->out, "%%%s", known ? (const char *)(uintptr_t)at : "unknown");
    } else {
        tn_map_get(&p->number, tn_map_key(v.def), &at);
        tn_buf_printf(p->out, "%%%llu", (unsigned long long)at);
        if (v.def->nout != 1)
            tn_buf_printf(p->out, ".%u", (unsigned)v.out);
    }
}

static void print_inputs(struct printer *p, const tn_node *n, int from)
{
    for (int i = from; i < n->nin; i++) {
        tn_buf_str(p->out, i > from ? ", " : "");
        print_value(p, tn_in(n, i));
    }
}

static void print_line(struct printer *p, int indent)
{
    tn_buf_char(p->out, '\n');
    tn_buf_fill(p->out, ' ', (size_t)indent * 2);
}

/* Attributes follow arguments, so their text begins with ", "; without arguments it must not. */
static void print_attrs(struct printer *p, const tn_node *n, bool first)
{
    if (!n->op->attr || !n->attr)
        return;
    tn_buf b = {0};
    tn_attr_print(p->pool, n->op->attr, n->attr, &b);
    tn_buf_str(p->out, tn_buf_cstr(&b) + (first && b.n >= 2 ? 2 : 0));
    tn_buf_deinit(&b);
}

/* ---- nodes ---- */

static void source_comment(struct printer *p, const tn_node *n)
{
    const char *s = n->loc ? n->loc->node : NULL;
    if (!s || !s[0])
        return;
    tn_buf_str(p->out, " /* ");
    bool clash = !strncmp(s, "ty=", 3) || !strncmp(s, "span=", 5);
    if (clash)
        tn_buf_printf(p->out, "\\x%02x", (unsigned char)s[0]);
    tn_annot_escape(p->out, s + (clash ? 1 : 0), "");
    tn_buf_str(p->out, " */");
}

static void print_params(struct printer *p, const tn_region *r)
{
    for (uint32_t i = 0; i < r->n_param; i++) {
        const tn_node *v = r->param[i];
        const char *id = unique_name(p, v);
        tn_buf_printf(p->out, "%s%%%s", i ? ", " : "", id);
        if (v->type && v->type[0]) {
            tn_buf_str(p->out, ": ");
            tn_type_print(v->type[0], p->out);
        }
        const char *source = v->loc ? v->loc->node : NULL;
        if (v->name && v->name[0] && strcmp(v->name, id)) {
            tn_buf_str(p->out, " /* name=");
            tn_annot_escape(p->out, v->name, ",");
            if (source && source[0]) {
                tn_buf_str(p->out, ", span=");
                tn_annot_escape(p->out, source, "");
            }
            tn_buf_str(p->out, " */");
        } else if (source && strcmp(source, id)) {
            if (strncmp(source, "name=", 5)) {
                source_comment(p, v);
            } else {
                tn_buf_str(p->out, " /* \\x6e");
                tn_annot_escape(p->out, source + 1, "");
                tn_buf_str(p->out, " */");
            }
        }
    }
}

static void hide_params(struct printer *p, const tn_region *r)
{
    for (uint32_t i = 0; i < r->n_param; i++) {
        uint64_t at = 0;
        if (tn_map_get(&p->name, tn_map_key(r->param[i]), &at)) {
            const char *s = (const char *)(uintptr_t)at;
            tn_strmap_put(&p->visible, s, strlen(s), 0);
        }
    }
}

/* ---- types of results ---- */

/* Does the text's head name it? The reader takes another range for symbols that nodes bind. */
static bool is_shown(const struct printer *p, const tn_symbol_info *s)
{
    uint64_t unused;
    return s->min != TN_SYMBOL_MIN || s->max != TN_SYMBOL_MAX ||
           tn_strmap_get(&p->bound, s->name, strlen(s->name), &unused);
}

/* Does the reader know s behind the parameters of r? */
static bool is_known_behind(const struct printer *p, const tn_region *r, const tn_expr *s)
{
    bool known = false;
    for (uint32_t i = 0; i < p->g->n_symbol && !known; i++)
        known = p->g->symbol[i].name == s->u.s && is_shown(p, &p->g->symbol[i]);
    for (; r && !known; r = r->holder ? r->holder->owner : NULL)
        for (uint32_t i = 0; i < r->n_param && !known; i++)
            known = r->param[i]->type && r->param[i]->type[0] && type_binds(r->param[i]->type[0], s);
    return known;
}

typedef struct result_scope {
    const struct printer *p;
    const tn_region *r;
} result_scope;

static bool is_no_unknown_symbol(const tn_expr *e, void *user)
{
    const result_scope *s = user;
    return e->kind != TN_E_SYM || is_known_behind(s->p, s->r, e);
}

/* t with `?` for extents of symbols that an inner function or the body binds. Depth: that of types. */
static const tn_type *result_type(struct printer *p, const tn_region *r, const tn_type *t)
{
    result_scope scope = {p, r};
    if (t->kind == TN_T_TENSOR) {
        const tn_expr **dim = TN_NEW_N(&p->scratch, const tn_expr *, t->n);
        for (int d = 0; d < t->n; d++)
            dim[d] = tn_each(t->dim[d], is_no_unknown_symbol, &scope) ? t->dim[d] : tn_any_dim(p->pool);
        return tn_type_tensor(p->pool, t->dtype, t->n, dim, t->layout);
    }
    if (!t->n)
        return t;
    const tn_type **field = TN_NEW_N(&p->scratch, const tn_type *, t->n);
    for (int i = 0; i < t->n; i++)
        field[i] = result_type(p, r, t->field[i]);
    return tn_type_with(p->pool, t, field);
}

static void print_result(struct printer *p, const tn_region *r, const tn_type *t)
{
    tn_type_print(result_type(p, r, t), p->out);
}

static bool layout_in(const tn_type *t)
{
    bool found = t->kind == TN_T_TENSOR && t->layout;
    for (int i = 0; t->kind == TN_T_TUPLE && i < t->n; i++)
        found = found || layout_in(t->field[i]);
    return found;
}

/* The result type stands there where it says more than inference finds out: the layout of a group's result. */
static void print_fn(struct printer *p, const tn_node *n)
{
    const tn_region *r = n->region[0];
    const tn_type *t = n->type ? n->type[0] : NULL;
    const tn_node *self = self_of(n);
    tn_buf_str(p->out, "fn (");
    print_params(p, r);
    print_attrs(p, n, r->n_param == 0);
    tn_buf_char(p->out, ')');
    t = self ? self->type[0] : t;
    if (t && t->kind == TN_T_FUNC && (self || layout_in(t->field[t->n - 1]))) {
        tn_buf_str(p->out, " -> ");
        print_result(p, r, t->field[t->n - 1]);
    }
    tn_buf_str(p->out, " {");
    print_region(p, r);
    print_line(p, p->indent);
    tn_buf_char(p->out, '}');
    hide_params(p, r);
}

/* if (%c) { ... } else { ... } */
static void print_if(struct printer *p, const tn_node *n)
{
    tn_buf_str(p->out, "if (");
    print_inputs(p, n, 0);
    print_attrs(p, n, false);
    tn_buf_str(p->out, ") {");
    print_region(p, n->region[0]);
    print_line(p, p->indent);
    tn_buf_str(p->out, "} else {");
    print_region(p, n->region[1]);
    print_line(p, p->indent);
    tn_buf_char(p->out, '}');
}

/* loop (%n, %c, %a, count=[u0]) (%i: int64, %p: ...) { ... } */
static void print_loop(struct printer *p, const tn_node *n)
{
    tn_buf_str(p->out, "loop (");
    print_inputs(p, n, 0);
    print_attrs(p, n, false);
    tn_buf_str(p->out, ") (");
    print_params(p, n->region[0]);
    tn_buf_str(p->out, ") {");
    print_region(p, n->region[0]);
    print_line(p, p->indent);
    tn_buf_char(p->out, '}');
    hide_params(p, n->region[0]);
}

/* A field in the pattern of a clause; its type where it is wider than t, that of the value (NULL: not known). */
static void print_field(struct printer *p, const tn_node *n, const tn_type *t)
{
    if (n->users[0])
        tn_buf_printf(p->out, "%%%s", unique_name(p, n));
    else
        tn_buf_char(p->out, '_');
    if (t && n->type && n->type[0] && !tn_type_eq_logical(n->type[0], t)) {
        tn_buf_str(p->out, ": ");
        tn_type_print(n->type[0], p->out);
    }
}

/* match (%x) { Cons(%h, %t) => { ... }, Nil => { ... } }; t: the type of %x, c: the constructor (NULL: not known) */
static void print_clause(struct printer *p, const tn_region *r, const tn_type *t, const tn_constructor *c)
{
    print_line(p, p->indent + 1);
    tn_buf_printf(p->out, "%s%s", c ? c->name : "_", r->n_param ? "(" : "");
    for (uint32_t i = 0; i < r->n_param; i++) {
        bool known = c && i < c->n_field;
        tn_buf_str(p->out, i ? ", " : "");
        print_field(p, r->param[i], known ? tn_type_filled(p->pool, c->field[i], t->field) : NULL);
    }
    tn_buf_printf(p->out, "%s => {", r->n_param ? ")" : "");
    p->indent++;
    print_region(p, r);
    p->indent--;
    print_line(p, p->indent + 1);
    tn_buf_str(p->out, "},");
    hide_params(p, r);
}

static void print_match(struct printer *p, const tn_node *n)
{
    const tn_type *t = tn_in_type(n, 0);
    tn_buf_str(p->out, "match (");
    print_inputs(p, n, 0);
    tn_buf_str(p->out, ") {");
    for (uint32_t i = 0; i < n->nregion; i++)
        print_clause(p, n->region[i], t,
                     t && t->kind == TN_T_DATA && i < t->data->n_constructor ? &t->data->constructor[i]
                                                                             : NULL);
    print_line(p, p->indent);
    tn_buf_char(p->out, '}');
}

static void print_construct(struct printer *p, const tn_node *n)
{
    tn_buf_printf(p->out, "%s%s", ((const tn_construct_attr *)n->attr)->name, n->nin ? "(" : "");
    print_inputs(p, n, 0);
    tn_buf_str(p->out, n->nin ? ")" : "");
}

static void print_tuple(struct printer *p, const tn_node *n)
{
    tn_buf_char(p->out, '(');
    print_inputs(p, n, 0);
    tn_buf_str(p->out, n->nin == 1 ? ",)" : ")");
}

/* A quotient of integers is rounded down here, and toward zero where TVM's texts call it "divide". */
static const char *name_of(const tn_node *n)
{
    const tn_type *t = n->type ? n->type[0] : NULL;
    bool whole = n->op == &tn_op_divide && t && t->kind == TN_T_TENSOR && tn_dtype_is_int(t->dtype);
    return whole ? tn_op_floor_divide.name : n->op->name;
}

static void print_expr(struct printer *p, const tn_node *n)
{
    if (tn_op_is(n, &tn_op_fn)) {
        print_fn(p, n);
    } else if (tn_op_is(n, &tn_op_if)) {
        print_if(p, n);
    } else if (tn_op_is(n, &tn_op_loop)) {
        print_loop(p, n);
    } else if (tn_op_is(n, &tn_op_match)) {
        print_match(p, n);
    } else if (tn_op_is(n, &tn_op_construct)) {
        print_construct(p, n);
    } else if (tn_op_is(n, &tn_op_tuple)) {
        print_tuple(p, n);
    } else if (tn_op_is(n, &tn_op_tuple_get)) {
        print_value(p, tn_in(n, 0));
        tn_buf_printf(p->out, ".%lld", (long long)((const tn_tuple_get_attr *)n->attr)->index);
    } else if (tn_op_is(n, &tn_op_call)) {
        print_value(p, tn_in(n, 0));
        tn_buf_char(p->out, '(');
        print_inputs(p, n, 1);
        tn_buf_char(p->out, ')');
    } else {
        tn_buf_printf(p->out, "%s(", name_of(n));
        bool list = n->op->nin < 0; /* operators over any number of tensors take one tuple, as in TVM */
        if (list)
            print_tuple(p, n);
        else
            print_inputs(p, n, 0);
        print_attrs(p, n, !list && n->nin == 0);
        tn_buf_char(p->out, ')');
    }
    source_comment(p, n);
}

/* `%0 = `, or `let %0: type = ` where the type is not that of the expression alone. */
static void print_line_name(struct printer *p, const tn_node *n, uint64_t k)
{
    bool typed = tn_ref_is_wider(p->pool, n);
    tn_buf_printf(p->out, typed ? "let %%%llu: " : "%%%llu", (unsigned long long)k);
    if (typed)
        tn_type_print(n->type[0], p->out);
    tn_buf_str(p->out, " = ");
}

/* The lines of a region, one level deeper than the current one; the caller closes the brace. */
static void print_region(struct printer *p, const tn_region *r)
{
    if (p->indent > TN_RELAY_MAX_NEST) {
        tn_buf_str(p->out, " ...");
        return;
    }
    p->indent++;
    const tn_node *bare = bare_result(p, r);
    for (const tn_node *n = r->first; n; n = n->next) {
        if (!is_line(n) || n == bare)
            continue;
        uint64_t k = 0;
        tn_map_get(&p->number, tn_map_key(n), &k);
        print_line(p, p->indent);
        print_line_name(p, n, k);
        print_expr(p, n);
        tn_buf_char(p->out, ';');
    }
    print_line(p, p->indent);
    if (bare) {
        print_expr(p, bare);
    } else if (r->n_result == 1) {
        print_value(p, (tn_value){r->result[0].def, r->result[0].out});
    } else {
        tn_buf_char(p->out, '(');
        for (uint32_t i = 0; i < r->n_result; i++) {
            tn_buf_str(p->out, i ? ", " : "");
            print_value(p, (tn_value){r->result[i].def, r->result[i].out});
        }
        tn_buf_char(p->out, ')');
    }
    p->indent--;
}

/* ---- functions ---- */

static void print_result_type(struct printer *p, const tn_function *f)
{
    const tn_region *r = f->body;
    bool known = true;
    for (uint32_t i = 0; i < r->n_result; i++) {
        const tn_node *d = r->result[i].def;
        known = known && d && d->type && d->type[r->result[i].out];
    }
    bool declared = f->result_type && f->result_type->kind > TN_T_ANY; /* recursive calls go by it */
    if (!known || declared) {
        if (f->result_type) {
            tn_buf_str(p->out, " -> ");
            print_result(p, r, f->result_type);
        }
        return;
    }
    tn_buf_str(p->out, r->n_result == 1 ? " -> " : " -> (");
    for (uint32_t i = 0; i < r->n_result; i++) {
        tn_buf_str(p->out, i ? ", " : "");
        print_result(p, r, tn_value_type((tn_value){r->result[i].def, r->result[i].out}));
    }
    tn_buf_str(p->out, r->n_result == 1 ? "" : ")");
}

static void print_function(struct printer *p, const tn_function *f)
{
    tn_buf_printf(p->out, "def @%s(", f->name);
    print_params(p, f->body);
    tn_buf_char(p->out, ')');
    print_result_type(p, f);
    tn_buf_str(p->out, " {");
    print_region(p, f->body);
    tn_buf_str(p->out, "\n}\n");
    hide_params(p, f->body);
}

static void print_symbols(const struct printer *p)
{
    const tn_graph *g = p->g;
    tn_buf *out = p->out;
    int n = 0;
    for (uint32_t i = 0; i < g->n_symbol; i++) {
        const tn_symbol_info *s = &g->symbol[i];
        if (is_shown(p, s)) {
            tn_buf_printf(out, "%s%s in [%lld, %lld]", n++ ? ", " : "#[symbols = \"", s->name,
                          (long long)s->min, (long long)s->max);
        }
    }
    tn_buf_str(out, n ? "\"]\n" : "");
}

/* What the model calls its results, and says of itself. */
static void print_model(const tn_graph *g, tn_buf *out)
{
    for (uint32_t i = 0; i < g->n_result_name; i++) {
        tn_buf_str(out, i ? ", " : "#[outputs = [");
        tn_text_quote(g->result_name[i], out);
    }
    tn_buf_str(out, g->n_result_name ? "]]\n" : "");
    for (size_t i = 0; i < g->state.n; i++) {
        const tn_graph_state *s = &g->state.at[i];
        tn_buf_str(out, "#[state = [");
        tn_text_quote(g->func->body->param[s->param]->name, out);
        tn_buf_str(out, ", ");
        tn_text_quote(g->result_name[s->result], out);
        tn_buf_str(out, s->first ? ", " : "");
        if (s->first)
            tn_text_quote(s->first, out);
        tn_buf_str(out, "]]\n");
    }
    for (size_t i = 0; i < g->metadata.n; i++) {
        tn_buf_str(out, "#[model = [");
        tn_text_quote(g->metadata.at[i].key, out);
        tn_buf_str(out, ", ");
        tn_text_quote(g->metadata.at[i].value, out);
        tn_buf_str(out, "]]\n");
    }
}

/* type List[A] { Cons(A, List[A]), Nil }; those of the prelude need no definition. */
static void print_data(const tn_graph *g, tn_buf *out)
{
    for (const tn_data *d = g->data; d; d = d->next) {
        if (d->known)
            continue;
        tn_buf_printf(out, "type %s", d->name);
        for (uint32_t i = 0; i < d->n_param; i++)
            tn_buf_printf(out, "%s%c", i ? ", " : "[", (char)('A' + i));
        tn_buf_str(out, d->n_param ? "] {" : " {");
        for (uint32_t i = 0; i < d->n_constructor; i++) {
            const tn_constructor *c = &d->constructor[i];
            tn_buf_printf(out, "%s %s", i ? "," : "", c->name);
            for (uint32_t k = 0; k < c->n_field; k++) {
                tn_buf_str(out, k ? ", " : "(");
                tn_type_print(c->field[k], out);
            }
            tn_buf_str(out, c->n_field ? ")" : "");
        }
        tn_buf_str(out, " }\n");
    }
}

static void printer_init(struct printer *p, const tn_graph *g, tn_buf *out)
{
    *p = (struct printer){.out = out, .g = g, .pool = g->pool};
    tn_arena_init(&p->scratch);
    for (const tn_function *f = g->func; f; f = f->next) {
        p->counter = 0;
        number_region(p, f->body, 0);
    }
}

static void printer_deinit(struct printer *p)
{
    tn_map_deinit(&p->number);
    tn_map_deinit(&p->constant);
    tn_map_deinit(&p->name);
    tn_strmap_deinit(&p->visible);
    tn_strmap_deinit(&p->bound);
    tn_vec_deinit(&p->listed);
    tn_arena_deinit(&p->scratch);
}

void tn_relay_print(const tn_graph *g, tn_buf *out)
{
    struct printer p;
    printer_init(&p, g, out);
    tn_buf_str(out, "#[version = \"0.0.5\"]\n");
    print_symbols(&p);
    print_model(g, out);
    print_data(g, out);
    for (const tn_function *f = g->func; f; f = f->next) {
        tn_buf_str(out, f == g->func ? "" : "\n");
        print_function(&p, f);
    }
    printer_deinit(&p);
}

size_t tn_relay_constants(const tn_graph *g, const tn_node **out, size_t max)
{
    struct printer p;
    printer_init(&p, g, NULL);
    size_t n = p.listed.n;
    for (size_t i = 0; i < n && i < max; i++)
        out[i] = p.listed.at[i];
    printer_deinit(&p);
    return n;
}
