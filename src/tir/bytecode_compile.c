/* Statements to instructions. Every list of statements is a level of its own; closing it puts its code, between
 * the instructions that decide whether and how often it runs, into the list around it. Recursion follows the
 * statements, whose nesting the verifier bounded.
 */
#include "tir/bytecode_compile.h"

#include <string.h>

static void list(bc_compiler *c, const tn_body *b);

static void open_level(bc_compiler *c) { tn_vec_push(&c->level, ((bc_level){.instance = ++c->instances})); }

/* The innermost list's code, which the caller appends and frees. */
static bc_code close_level(bc_compiler *c)
{
    bc_code code = tn_vec_last(&c->level).code;
    c->level.n--;
    c->stmt++; /* what the closed list left is stale */
    return code;
}

static void append(bc_compiler *c, bc_code *from)
{
    for (size_t i = 0; i < from->n; i++)
        bc_emit(c, from->at[i]);
    tn_vec_deinit(from);
}

static void new_stmt(bc_compiler *c, const tn_stmt *s)
{
    c->stmt++;
    c->at = s;
    tn_map_clear(&c->plan);
}

static void compile_for(bc_compiler *c, const tn_stmt *s)
{
    span extent = spans_of(&c->spans, s->u.loop.extent);
    if (extent.hi <= 0) /* never runs */
        return;
    uint32_t n = bc_expr(c, s->u.loop.extent), var = bc_new_reg(c, 1);
    open_level(c);
    bc_bind(c, s->u.loop.var, var, NULL);
    spans_set(&c->spans, s->u.loop.var, (span){0, extent.hi - 1, true});
    list(c, &s->u.loop.body);
    bc_code code = close_level(c);
    const struct bc_dot *dot = bc_dot_match(c, &code, var, n);
    int64_t length = (int64_t)code.n + (dot != NULL);
    bc_emit(c, (bc_instr){.op = BC_LOOP, .dst = var, .a = n, .imm = length + 2});
    append(c, &code);
    if (dot)
        bc_emit(c, (bc_instr){.op = BC_DOT, .dst = var, .dot = dot});
    bc_emit(c, (bc_instr){.op = BC_NEXT, .dst = var, .a = n, .imm = -length});
}

/* Iteration variables are names for the values they are bound to. */
static void bind_iters(bc_compiler *c, const tn_stmt *s)
{
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        bc_bind(c, it->var, bc_expr(c, it->value), it->value);
        span v = spans_of(&c->spans, it->value);
        v.safe = true;
        spans_set(&c->spans, it->var, v);
    }
}

/* Where the block runs, iteration variables are in their domains: checked where that is not plain, then relied
 * upon. */
static void check_domain(bc_compiler *c, const tn_stmt *s)
{
    for (uint32_t i = 0; i < s->u.block.n_iter; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        span v = spans_of(&c->spans, it->var), n = spans_of(&c->spans, it->extent);
        if (v.lo >= 0 && v.hi < n.lo)
            continue;
        uint32_t extent = bc_expr(c, it->extent), value = bc_expr(c, it->var);
        bc_emit(c, (bc_instr){.op = BC_BOUNDR,
                              .a = value,
                              .b = extent,
                              .site = bc_new_site(c, BC_T_DOMAIN, it->value, 0, i, 0)});
        v.lo = v.lo < 0 ? 0 : v.lo;
        v.hi = v.hi > n.hi - 1 ? n.hi - 1 : v.hi;
        if (v.lo <= v.hi)
            spans_set(&c->spans, it->var, v);
    }
}

/* Register that is 0 where variable it is outside its domain; 0: it never is. */
static uint32_t in_domain(bc_compiler *c, const tn_iter *it)
{
    span v = spans_of(&c->spans, it->var), n = spans_of(&c->spans, it->extent);
    if (v.lo >= 0 && v.hi < n.lo)
        return 0;
    uint32_t value = bc_expr(c, it->var), extent = bc_expr(c, it->extent), r[3];
    for (int i = 0; i < 3; i++)
        r[i] = bc_new_reg(c, 1);
    bc_emit(c, (bc_instr){.op = BC_LE, .n = 1, .dst = r[0], .a = c->zero, .b = value});
    bc_emit(c, (bc_instr){.op = BC_LT, .n = 1, .dst = r[1], .a = value, .b = extent});
    bc_emit(c, (bc_instr){.op = BC_AND, .n = 1, .dst = r[2], .a = r[0], .b = r[1]});
    return r[2];
}

typedef struct guard {
    uint16_t op;
    uint32_t reg;
} guard;

/* Jumps over the code unless all guards let it run: JZ and JNZ, in order. */
static void append_guarded(bc_compiler *c, const guard *g, uint32_t n, bc_code *code)
{
    for (uint32_t i = 0; i < n; i++)
        bc_emit(c, (bc_instr){.op = g[i].op, .a = g[i].reg, .imm = (int64_t)(code->n + n - i)});
    append(c, code);
}

/* Runs where every reduce variable is 0 and every spatial one in its domain. The variable of the innermost loop is
 * looked at first. */
static void compile_init(bc_compiler *c, const tn_stmt *s)
{
    if (!s->u.block.init.first)
        return;
    open_level(c);
    list(c, &s->u.block.init);
    bc_code code = close_level(c);
    guard *g = TN_NEW_N(c->m->arena, guard, s->u.block.n_iter);
    uint32_t n = 0, r;
    for (uint32_t i = s->u.block.n_iter; i-- > 0;) {
        const tn_iter *it = &s->u.block.iter[i];
        if (it->kind == TN_ITER_REDUCE && !span_is(spans_of(&c->spans, it->var), 0))
            g[n++] = (guard){BC_JNZ, bc_expr(c, it->var)};
    }
    for (uint32_t i = 0; i < s->u.block.n_iter; i++)
        if (s->u.block.iter[i].kind == TN_ITER_SPATIAL && (r = in_domain(c, &s->u.block.iter[i])) != 0)
            g[n++] = (guard){BC_JZ, r};
    append_guarded(c, g, n, &code);
}

static void compile_block(bc_compiler *c, const tn_stmt *s)
{
    const tn_expr *mask = s->u.block.mask;
    bind_iters(c, s);
    compile_init(c, s);
    new_stmt(c, s);
    span m = mask ? spans_of(&c->spans, mask) : (span){1, 1, true};
    uint32_t cond = mask ? bc_expr(c, mask) : 0;
    if (span_is(m, 0))
        return;
    open_level(c);
    check_domain(c, s);
    list(c, &s->u.block.body);
    bc_code code = close_level(c);
    if (mask && !span_is(m, 1))
        bc_emit(c, (bc_instr){.op = BC_JZ, .a = cond, .imm = (int64_t)code.n + 1});
    append(c, &code);
}

static uint16_t store_op(tn_dtype t)
{
    if (t.code == TN_FLOAT && t.bits == 32)
        return BC_ST_S;
    if (tn_dtype_is_float(t))
        return t.bits == 64 ? BC_ST_D : BC_ST_X;
    return t.bits == 8    ? BC_ST_8
           : t.bits == 16 ? BC_ST_16
           : t.bits == 32 ? BC_ST_32
           : t.bits == 64 ? BC_ST_64
                          : BC_ST_X;
}

static void store_lanes(bc_compiler *c, const tn_stmt *s, const bc_plan *plan)
{
    const tn_expr *mask = s->u.store.mask;
    bc_access *a = TN_NEW(c->m->arena, bc_access);
    *a = (bc_access){&c->m->mem[plan->buffer],
                     plan->gather,
                     mask != NULL,
                     bc_expr(c, plan->a),
                     mask ? bc_expr(c, mask) : 0,
                     bc_expr(c, s->u.store.value)};
    bc_emit(c, (bc_instr){.op = BC_STV,
                          .n = s->u.store.value->dtype.lanes,
                          .access = a,
                          .site = bc_new_site(c, BC_T_BOUND, NULL, plan->buffer, 0, a->mem->n)});
}

/* [jz mask -> end;] checks; [mark;] store */
static void store_scalar(bc_compiler *c, const tn_stmt *s, const bc_plan *plan)
{
    const bc_mem *mem = &c->m->mem[plan->buffer];
    const tn_expr *mask = s->u.store.mask;
    for (uint32_t i = 0; i < plan->n_check; i++)
        bc_expr(c, plan->check[i].index);
    uint32_t a = plan->a ? bc_expr(c, plan->a) : c->zero, b = plan->b ? bc_expr(c, plan->b) : c->zero;
    uint32_t value = bc_expr(c, s->u.store.value), cond = mask ? bc_expr(c, mask) : 0;
    bc_code *code = &tn_vec_last(&c->level).code;
    size_t jump = code->n;
    if (mask)
        bc_emit(c, (bc_instr){.op = BC_JZ, .a = cond});
    bc_emit_checks(c, plan, NULL);
    bc_instr in = {.op = store_op(mem->dtype),
                   .dst = bc_pack(mem->dtype),
                   .a = a,
                   .b = b,
                   .c = value,
                   .base = bc_base(c, plan)};
    if (mem->shadow) {
        in.shadow = bc_shadow_base(c, plan);
        if (in.op == BC_ST_S) {
            in.op = BC_STW_S;
        } else {
            bc_instr mark = in;
            mark.op = BC_MARK;
            bc_emit(c, mark);
        }
    }
    bc_emit(c, in);
    if (mask)
        code->at[jump].imm = (int64_t)(code->n - jump);
}

static void compile_store(bc_compiler *c, const tn_stmt *s)
{
    const bc_plan *plan = bc_plan_access(c, s->u.store.buffer, s->u.store.n_index, s->u.store.index,
                                         s->u.store.value->dtype.lanes, true);
    if (plan->vector)
        store_lanes(c, s, plan);
    else
        store_scalar(c, s, plan);
}

/* jz cond -> other; then; jmp -> end; other: other; end: */
static void compile_if(bc_compiler *c, const tn_stmt *s)
{
    span k = spans_of(&c->spans, s->u.cond.cond);
    bc_code code[2] = {{0}, {0}};
    uint32_t cond = bc_expr(c, s->u.cond.cond);
    for (int i = 0; i < 2; i++) {
        if (span_is(k, i))
            continue; /* then if cond is always 0, other if always 1 */
        open_level(c);
        list(c, i == 0 ? &s->u.cond.then : &s->u.cond.other);
        code[i] = close_level(c);
    }
    bool both = code[1].n > 0;
    if (code[0].n && !span_is(k, 1))
        bc_emit(c, (bc_instr){.op = BC_JZ, .a = cond, .imm = (int64_t)code[0].n + 1 + both});
    else if (both && !span_is(k, 0))
        bc_emit(c, (bc_instr){.op = BC_JNZ, .a = cond, .imm = (int64_t)code[1].n + 1});
    bool jumps = code[0].n && both;
    append(c, &code[0]);
    if (jumps)
        bc_emit(c, (bc_instr){.op = BC_JMP, .imm = (int64_t)code[1].n + 1});
    append(c, &code[1]);
}

static void compile_let(bc_compiler *c, const tn_stmt *s)
{
    uint32_t reg = bc_expr(c, s->u.let.value);
    span v = spans_of(&c->spans, s->u.let.value);
    bc_bind(c, s->u.let.var, reg, s->u.let.value);
    v.safe = true; /* it has been computed */
    spans_set(&c->spans, s->u.let.var, v);
}

static void compile_stmt(bc_compiler *c, const tn_stmt *s)
{
    new_stmt(c, s);
    switch (s->kind) {
    case TN_S_FOR: compile_for(c, s); break;
    case TN_S_BLOCK: compile_block(c, s); break;
    case TN_S_STORE: compile_store(c, s); break;
    case TN_S_IF: compile_if(c, s); break;
    case TN_S_LET: compile_let(c, s); break;
    case TN_S_BUFFER: bc_emit(c, (bc_instr){.op = BC_RESET, .mem = &c->m->mem[s->u.decl.buffer]}); break;
    case TN_S_PREFETCH: break;
    default:
        if (!span_is(spans_of(&c->spans, s->u.check.cond), 1)) {
            uint32_t cond = bc_expr(c, s->u.check.cond);
            bc_emit(c,
                    (bc_instr){.op = BC_CHECK, .a = cond, .site = bc_new_site(c, BC_T_CHECK, NULL, 0, 0, 0)});
        }
        break;
    }
}

static void list(bc_compiler *c, const tn_body *b)
{
    for (const tn_stmt *s = b->first; s; s = s->next)
        compile_stmt(c, s);
}

static spans spans_for(const bytecode *m)
{
    return (spans){.symbol = m->f->symbol, .value = m->sym, .n_symbol = m->f->n_symbol};
}

bool bc_constant(bytecode *m, const tn_expr *e, int64_t *out)
{
    spans c = spans_for(m);
    span s = spans_of(&c, e);
    spans_deinit(&c);
    *out = s.lo;
    return s.safe && s.lo == s.hi;
}

void bc_compile(bytecode *m)
{
    bc_compiler c = {.m = m, .pool = m->f->pool, .stmt = 1, .spans = spans_for(m)};
    open_level(&c);
    c.zero = bc_new_reg(&c, 1); /* memory of registers starts out zero */
    list(&c, &m->f->body);
    bc_emit(&c, (bc_instr){.op = BC_HALT});
    m->code = close_level(&c);
    m->reg = TN_NEW_N(m->arena, bc_slot, m->n_reg);
    for (size_t i = 0; i < c.preset.n; i++)
        m->reg[c.preset.at[i].reg] = c.preset.at[i].v;
    spans_deinit(&c.spans);
    tn_vec_deinit(&c.level);
    tn_map_deinit(&c.where);
    tn_vec_deinit(&c.value);
    tn_map_deinit(&c.plan);
    tn_vec_deinit(&c.preset);
    tn_vec_deinit(&c.todo);
}
