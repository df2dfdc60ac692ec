/* Statements in C: one function per phase. */
#include "codegen/source/source.h"

static void line(tn_cgen *g) { tn_buf_fill(&g->body, ' ', (size_t)g->indent * 4); }

static void body(tn_cgen *g, const tn_body *b);

static void store(tn_cgen *g, const tn_stmt *s)
{
    const tn_expr *v = s->u.store.value, *at = s->u.store.index[0], *mask = s->u.store.mask;
    uint32_t b = s->u.store.buffer;
    tn_buf *o = &g->body;
    line(g);
    if (g->func->buffer[b].scope == TN_SCOPE_REGISTER) {
        const char *name = tn_c_register(g, b, at->u.i);
        if (mask && mask->dtype.lanes > 1) { /* lanes outside keep what they had */
            tn_buf_printf(o, "%s((%s *)&%s, ", tn_c_helper_store(g, v->dtype, false, true),
                          tn_c_type(g, tn_dtype_lanes(v->dtype, 1)), name);
            tn_c_expr(g, v, o);
            tn_buf_str(o, ", ");
            tn_c_expr(g, mask, o);
            tn_buf_str(o, ");\n");
            return;
        }
        if (mask) {
            tn_buf_str(o, "if (");
            tn_c_expr(g, mask, o);
            tn_buf_str(o, ") ");
        }
        tn_buf_printf(o, "%s = ", name);
        tn_c_expr(g, v, o);
        tn_buf_str(o, ";\n");
        return;
    }
    if (v->dtype.lanes == 1) {
        if (mask) {
            tn_buf_str(o, "if (");
            tn_c_expr(g, mask, o);
            tn_buf_str(o, ") ");
        }
        tn_buf_printf(o, "%s[", g->buffer[b]);
        tn_c_expr(g, at, o);
        tn_buf_str(o, "] = ");
        tn_c_expr(g, v, o);
        tn_buf_str(o, ";\n");
        return;
    }
    bool scatter = at->dtype.lanes > 1;
    tn_buf_printf(o, "%s(%s%s", tn_c_helper_store(g, v->dtype, scatter, mask != NULL), g->buffer[b],
                  scatter ? ", " : " + (");
    tn_c_expr(g, at, o);
    tn_buf_str(o, scatter ? ", " : "), ");
    tn_c_expr(g, v, o);
    if (mask) {
        tn_buf_str(o, ", ");
        tn_c_expr(g, mask, o);
    }
    tn_buf_str(o, ");\n");
}

static void declare(tn_cgen *g, const tn_stmt *s)
{
    const tn_buffer *b = &g->func->buffer[s->u.decl.buffer];
    int64_t n = 0;
    if (b->scope != TN_SCOPE_REGISTER) {
        const char *t = tn_c_type(g, tn_dtype_lanes(b->dtype, 1));
        line(g);
        tn_buf_printf(&g->body, "%s *const %s = (%s *)((char *)scratch + %llu);\n", t,
                      g->buffer[s->u.decl.buffer], t, (unsigned long long)b->scratch_offset);
        return;
    }
    (void)tn_is_int(b->dim[0], &n);
    const char *t = tn_c_type(g, b->dtype);
    for (int64_t i = 0; i < n; i++) {
        if (i % 8 == 0) {
            line(g);
            tn_buf_printf(&g->body, "%s ", t);
        }
        tn_buf_printf(&g->body, "%s%s", tn_c_register(g, s->u.decl.buffer, i),
                      i % 8 == 7 || i + 1 == n ? ";\n" : ", ");
    }
}

static void statement(tn_cgen *g, const tn_stmt *s)
{
    tn_buf *o = &g->body;
    switch (s->kind) {
    case TN_S_STORE: store(g, s); return;
    case TN_S_BUFFER: declare(g, s); return;
    case TN_S_LET:
        line(g);
        tn_buf_printf(o, "const %s %s = ", tn_c_type(g, s->u.let.value->dtype), g->var[s->u.let.var->u.i]);
        tn_c_expr(g, s->u.let.value, o);
        tn_buf_str(o, ";\n");
        return;
    case TN_S_CHECK:
        line(g);
        tn_buf_str(o, "if (!(");
        tn_c_expr(g, s->u.check.cond, o);
        tn_buf_printf(o, ")) return %u; /* %s */\n", g->n_check + tn_flat_check_number(g->func, s),
                      s->u.check.text);
        return;
    case TN_S_PREFETCH:
        line(g);
        /* an integer: the place may lie behind the end */
        tn_buf_printf(o, "__builtin_prefetch((const void *)((uintptr_t)%s + (uintptr_t)(",
                      g->buffer[s->u.prefetch.buffer]);
        tn_c_expr(g, s->u.prefetch.index[0], o);
        tn_buf_printf(o, ") * %u), 0, 2);\n", tn_dtype_bytes(g->func->buffer[s->u.prefetch.buffer].dtype));
        return;
    case TN_S_FOR: {
        const char *v = g->var[s->u.loop.var->u.i];
        line(g);
        tn_buf_printf(o, "for (int64_t %s = 0; %s < ", v, v);
        tn_c_expr(g, s->u.loop.extent, o);
        tn_buf_printf(o, "; %s++) {\n", v);
        g->indent++;
        body(g, &s->u.loop.body);
        g->indent--;
        line(g);
        tn_buf_str(o, "}\n");
        return;
    }
    case TN_S_IF:
        line(g);
        tn_buf_str(o, "if (");
        tn_c_expr(g, s->u.cond.cond, o);
        tn_buf_str(o, ") {\n");
        g->indent++;
        body(g, &s->u.cond.then);
        g->indent--;
        if (s->u.cond.other.first) {
            line(g);
            tn_buf_str(o, "} else {\n");
            g->indent++;
            body(g, &s->u.cond.other);
            g->indent--;
        }
        line(g);
        tn_buf_str(o, "}\n");
        return;
    default: TN_ASSERT(!"a block in flat code");
    }
}

static void body(tn_cgen *g, const tn_body *b)
{
    for (const tn_stmt *s = b->first; s; s = s->next)
        statement(g, s);
}

void tn_c_phase(tn_cgen *g, const tn_flat *v, const tn_stmt *loop, const char *name)
{
    const tn_func *f = v->func;
    tn_buf *o = &g->body;
    tn_buf_printf(
        o, "%s int32_t %s(const tn_call *call, uint32_t step, uint32_t task_number, void *scratch)\n{\n",
        g->part_of ? "TN_HIDDEN" : "static", name);
    g->indent = 1;
    for (uint32_t i = 0; i < f->n_symbol; i++)
        tn_buf_printf(o, "    const int64_t sym_%s = call->sym[%u];\n", f->symbol[i].name, i);
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        tn_buf_printf(o, "    %s%s *const %s%s = call->arg[%u];\n", b->written ? "" : "const ",
                      tn_c_type(g, tn_dtype_lanes(b->dtype, 1)), tn_flat_apart(v, i) ? "restrict " : "",
                      g->buffer[f->param[i]], i);
    }
    for (const tn_stmt *s = f->body.first; s; s = s->next) {
        if (s->kind != TN_S_BUFFER)
            continue;
        const tn_buffer *b = &f->buffer[s->u.decl.buffer];
        const char *t = tn_c_type(g, tn_dtype_lanes(b->dtype, 1));
        tn_buf_printf(o, "    %s *const restrict %s = (%s *)((char *)call->work + ", t,
                      g->buffer[s->u.decl.buffer], t);
        tn_c_expr(g, b->work_offset, o);
        tn_buf_str(o, ");\n");
    }
    tn_buf_printf(
        o, "    const int64_t %s = task_number;\n    (void)call, (void)step, (void)scratch, (void)%s;\n",
        g->var[loop->u.loop.var->u.i], g->var[loop->u.loop.var->u.i]);
    if (tn_flat_steps(f)) {
        const char *var = g->var[tn_flat_steps(f)->u.loop.var->u.i];
        tn_buf_printf(o, "    const int64_t %s = step;\n    (void)%s;\n", var, var);
    }
    for (uint32_t i = 0; i < f->n_symbol; i++)
        tn_buf_printf(o, "    (void)sym_%s;\n", f->symbol[i].name);
    for (uint32_t i = 0; i < f->n_param; i++)
        tn_buf_printf(o, "    (void)%s;\n", g->buffer[f->param[i]]);
    for (const tn_stmt *s = f->body.first; s; s = s->next)
        if (s->kind == TN_S_BUFFER)
            tn_buf_printf(o, "    (void)%s;\n", g->buffer[s->u.decl.buffer]);
    for (const tn_stmt *s = tn_flat_first_check(loop); s != loop; s = s->next)
        if (s->kind == TN_S_CHECK)
            statement(g, s);
    body(g, &loop->u.loop.body);
    tn_buf_str(o, "    return 0;\n}\n\n");
}
