/* The interpreter: the meaning of TIR, bit for bit (docs/tir.md).
 *
 * The function is verified, copied so that every definition has its own variable, compiled for the given
 * values of its symbols (bytecode_compile.c) and run (bytecode.c). Parameters are the caller's memory; every
 * other buffer gets memory and a shadow byte an element for the whole call. Every access is checked, at run
 * time unless intervals show that it cannot fail. Time: some nanoseconds an operation; parallel loops run
 * their iterations in order.
 */
#include "base/size.h"
#include "tir/func.h"
#include "tir/bytecode.h"
#include "tir/unit.h"

#include <inttypes.h>
#include <stdlib.h>

static tn_status fail(const bytecode *m, const char *id, const tn_stmt *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static tn_status fail(const bytecode *m, const char *id, const tn_stmt *at, const char *fmt, ...)
{
    tn_buf b = {0};
    va_list ap;
    const char *node = m->f->source;
    while (at && at->kind != TN_S_BLOCK)
        at = tn_stmt_parent(at);
    tn_buf_printf(&b, "@%s", m->f->name);
    if (at) {
        tn_buf_printf(&b, ", block `%s`", at->u.block.name);
        node = *at->u.block.source ? at->u.block.source : node;
    }
    tn_buf_str(&b, ": ");
    va_start(ap, fmt);
    tn_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tn_loc loc = {.node = *node ? node : NULL};
    tn_status s = tn_error(m->f->ctx, id, &loc, "%s", b.at);
    tn_buf_deinit(&b);
    return s;
}

static const char *var_name(void *user, uint32_t number)
{
    const bytecode *m = user;
    return m->name[number];
}

static const char *buffer_name(void *user, uint32_t number)
{
    const bytecode *m = user;
    return m->f->buffer[number].name;
}

static tn_status explain(const bytecode *m)
{
    const bc_site *site = &m->site.at[m->trapped];
    const tn_names names = {.var = var_name, .buffer = buffer_name, .user = (void *)(uintptr_t)m};
    const char *buffer = m->f->n_buffer ? m->f->buffer[site->buffer].name : "";
    tn_buf e = {0};
    if (site->e)
        tn_expr_print_brief(site->e, &names, &e);
    tn_status s;
    switch ((enum bc_trap)site->trap) {
    case BC_T_BOUND:
        s = fail(m, "tir-E201", site->stmt,
                 "index %u of `%s` is %" PRId64 ", outside the extent %" PRId64 " (%s%s)", site->dim, buffer,
                 m->culprit, site->extent, site->e ? "load " : "store", tn_buf_cstr(&e));
        break;
    case BC_T_UNWRITTEN:
        s = fail(m, "tir-E202", site->stmt, "%s reads element %" PRId64 " of `%s`, which nothing has written",
                 tn_buf_cstr(&e), m->culprit, buffer);
        break;
    case BC_T_CHECK: s = fail(m, "tir-E203", site->stmt, "%s", site->stmt->u.check.text); break;
    case BC_T_UNDEFINED:
        s = fail(m, "tir-E204", site->stmt,
                 "%s has no value: an index overflows, a divisor is 0, or a shift is out of range",
                 tn_buf_cstr(&e));
        break;
    default:
        s = fail(m, "tir-E205", site->stmt,
                 "an iteration variable is bound to %s, which is %" PRId64 ", outside its extent",
                 tn_buf_cstr(&e), m->culprit);
        break;
    }
    tn_buf_deinit(&e);
    return s;
}

static tn_status check_symbols(const bytecode *m)
{
    for (uint32_t i = 0; i < m->f->n_symbol; i++) {
        const tn_symbol_range *r = &m->f->symbol[i];
        if (m->sym[i] < r->min || m->sym[i] > r->max)
            return fail(m, "tir-E206", NULL,
                        "the symbol `%s` is %" PRId64 ", outside its range [%" PRId64 ", %" PRId64 "]",
                        r->name, m->sym[i], r->min, r->max);
    }
    return TN_OK;
}

/* Elements in memory, padding of the layout included. */
static tn_status count(bytecode *m, const tn_buffer *b, int64_t *out)
{
    const tn_expr *dim[255];
    int64_t n = b->dtype.lanes, extent;
    for (uint32_t d = 0; d < b->ndim; d++)
        if (!bc_constant(m, b->dim[d], &extent) || extent < 0)
            return fail(m, "tir-E207", NULL, "extent %u of `%s` is negative or has no value", d, b->name);
    tn_layout_dims(m->f->pool, b->layout, b->ndim, b->dim, dim);
    for (int d = 0; d < tn_layout_naxis(b->layout, b->ndim); d++)
        if (!bc_constant(m, dim[d], &extent) || !tn_i64_mul(n, extent, &n) || n > PTRDIFF_MAX / 16)
            return fail(m, "tir-E207", NULL, "`%s` is too large", b->name);
    *out = n;
    return TN_OK;
}

static tn_status place(bytecode *m, uint32_t buffer, void *const arg[])
{
    const tn_buffer *b = &m->f->buffer[buffer];
    bc_mem *mem = &m->mem[buffer];
    mem->dtype = tn_dtype_lanes(b->dtype, 1);
    TN_TRY(count(m, b, &mem->n));
    if (!tn_i64_add(mem->n, b->slack, &mem->readable))
        return fail(m, "tir-E207", NULL, "`%s` is too large", b->name);
    if (b->param >= 0) {
        mem->at = arg[b->param];
        return mem->at || mem->n == 0
                   ? TN_OK
                   : fail(m, "tir-E206", NULL, "the argument for `%s` is missing", b->name);
    }
    mem->at = tn_alloc_array_try((size_t)mem->n + 1, tn_dtype_bytes(mem->dtype));
    mem->shadow = tn_alloc_array_try((size_t)mem->n + 1, 1);
    if (!mem->at || !mem->shadow)
        return fail(m, "tir-E207", NULL, "not enough memory for the %" PRId64 " elements of `%s`", mem->n,
                    b->name);
    return TN_OK;
}

static bool mark_declared(tn_stmt *s, void *user)
{
    bool *declared = user;
    if (s->kind == TN_S_BUFFER)
        declared[s->u.decl.buffer] = true;
    return true;
}

/* What adds in an order of its own has it in loops. */
static bool write_out(tn_stmt *s, void *user)
{
    if (tn_stmt_is_nest(s))
        (void)tn_unit_write_out(user, s);
    return true;
}

static tn_status prepare(bytecode *m, void *const arg[])
{
    bool *declared = TN_NEW_N(m->arena, bool, m->f->n_buffer);
    m->mem = TN_NEW_N(m->arena, bc_mem, m->f->n_buffer);
    TN_TRY(check_symbols(m));
    tn_stmt_walk(&m->f->body, mark_declared, NULL, declared);
    for (uint32_t i = 0; i < m->f->n_buffer; i++)
        if (declared[i] || m->f->buffer[i].param >= 0)
            TN_TRY(place(m, i, arg));
    return TN_OK;
}

tn_status tn_func_run(const tn_func *f, void *const arg[], const int64_t sym[])
{
    tn_arena arena;
    tn_pool pool;
    const char **names;
    TN_TRY(tn_func_verify(f));
    tn_arena_init(&arena);
    tn_pool_init(&pool, f->ctx, &arena, f->pool);
    bytecode m = {.f = tn_func_number(f, &arena, &pool, &names), .arena = &arena, .sym = sym};
    m.name = names;
    tn_func_begin_empty((tn_func *)m.f);
    tn_stmt_walk(&m.f->body, write_out, NULL, m.f);
    tn_status s = prepare(&m, arg);
    if (s == TN_OK) {
        bc_compile(&m);
        s = bc_run(&m) ? TN_OK : explain(&m);
    }
    for (uint32_t i = 0; m.mem && i < m.f->n_buffer; i++)
        if (m.f->buffer[i].param < 0) {
            tn_free(m.mem[i].at);
            tn_free(m.mem[i].shadow);
        }
    tn_vec_deinit(&m.site);
    tn_vec_deinit(&m.code);
    tn_arena_deinit(&arena);
    return s;
}
