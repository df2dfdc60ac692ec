/* Expressions to instructions. Each distinct expression is computed once where its variables become known: a
 * value that cannot trap and reads no memory goes to the outermost list that knows its operands, all others
 * stay in their statement. Post-order with an explicit stack.
 */
#include "tir/bytecode_compile.h"

#include "base/size.h"

#include <string.h>

/* ---- registers, values ---- */

uint32_t bc_new_reg(bc_compiler *c, uint32_t lanes)
{
    uint32_t r = c->m->n_reg;
    c->m->n_reg += lanes;
    TN_ASSERT(c->m->n_reg >= r);
    return r;
}

uint32_t bc_new_site(bc_compiler *c, enum bc_trap trap, const tn_expr *e, uint32_t buffer, uint32_t dim,
                     int64_t extent)
{
    tn_vec_push(&c->m->site, ((bc_site){(uint8_t)trap, c->at, e, buffer, dim, extent}));
    return (uint32_t)c->m->site.n - 1;
}

void bc_emit(bc_compiler *c, bc_instr in) { tn_vec_push(&tn_vec_last(&c->level).code, in); }

static void put(bc_compiler *c, const tn_expr *e, bc_value v)
{
    uint64_t i;
    if (tn_map_get(&c->where, e->id, &i)) {
        c->value.at[i] = v;
        return;
    }
    tn_map_put(&c->where, e->id, c->value.n);
    tn_vec_push(&c->value, v);
}

static bool valid(const bc_compiler *c, bc_value v)
{
    return (v.stmt == 0 || v.stmt == c->stmt) && v.level < c->level.n &&
           c->level.at[v.level].instance == v.instance;
}

static bool find_value(const bc_compiler *c, const tn_expr *e, bc_value *out)
{
    uint64_t i;
    if (!tn_map_get(&c->where, e->id, &i) || !valid(c, c->value.at[i]))
        return false;
    *out = c->value.at[i];
    return true;
}

static bc_value here(const bc_compiler *c, uint32_t reg, bool local)
{
    uint32_t level = (uint32_t)c->level.n - 1;
    return (bc_value){reg, level, c->level.at[level].instance, local ? c->stmt : 0};
}

void bc_bind(bc_compiler *c, const tn_expr *var, uint32_t reg, const tn_expr *value)
{
    bc_value v = here(c, reg, false);
    if (value) {
        bool found = find_value(c, value, &v);
        TN_ASSERT(found);
        if (v.stmt)
            v = here(c, reg, false);
    }
    put(c, var, v);
}

typedef struct deepest {
    bc_compiler *c;
    uint32_t level;
} deepest;

static bool deepest_var(const tn_expr *e, void *user)
{
    deepest *d = user;
    bc_value v;
    if (e->kind == TN_E_VAR && find_value(d->c, e, &v) && v.level > d->level)
        d->level = v.level;
    return true;
}

uint32_t bc_level_of(bc_compiler *c, const tn_expr *e)
{
    deepest d = {c, 0};
    if (!spans_of(&c->spans, e).safe)
        return (uint32_t)c->level.n - 1;
    tn_each(e, deepest_var, &d);
    return d.level;
}

/* ---- kinds to operations ---- */

typedef struct ops {
    uint8_t i, s, d;
} ops; /* over integers, float32, other floats that are exact in double; 0: none */
/* clang-format off */
static const ops table[TN_E_COUNT] = {
    [TN_E_ADD] = {BC_ADD, BC_ADDS, BC_ADDD}, [TN_E_SUB] = {BC_SUB, BC_SUBS, BC_SUBD},
    [TN_E_MUL] = {BC_MUL, BC_MULS, BC_MULD}, [TN_E_DIV] = {0, BC_DIVS, BC_DIVD},
    [TN_E_FLOORDIV] = {BC_FDIV, 0, 0}, [TN_E_FLOORMOD] = {BC_FMOD, 0, 0},
    [TN_E_TRUNCDIV] = {BC_TDIV, 0, 0}, [TN_E_TRUNCMOD] = {BC_TMOD, 0, 0},
    [TN_E_MIN] = {BC_MIN, BC_MINS, BC_MIND}, [TN_E_MAX] = {BC_MAX, BC_MAXS, BC_MAXD},
    [TN_E_EQ] = {BC_EQ, BC_EQS, BC_EQD}, [TN_E_NE] = {BC_NE, BC_NES, BC_NED},
    [TN_E_LT] = {BC_LT, BC_LTS, BC_LTD}, [TN_E_LE] = {BC_LE, BC_LES, BC_LED},
    [TN_E_AND] = {BC_AND, 0, 0}, [TN_E_OR] = {BC_OR, 0, 0}, [TN_E_NOT] = {BC_NOT, 0, 0},
    [TN_E_BITAND] = {BC_AND, 0, 0}, [TN_E_BITOR] = {BC_OR, 0, 0}, [TN_E_BITXOR] = {BC_XOR, 0, 0},
    [TN_E_SELECT] = {BC_SEL, BC_SEL, BC_SEL}, [TN_E_FMA] = {0, BC_FMAS, 0},
};
/* clang-format on */

static bool is_u64(tn_dtype t) { return t.code == TN_UINT && t.bits == 64; }

static bool whole(tn_dtype t) { return tn_dtype_is_int(t) || tn_dtype_is_index(t) || tn_dtype_is_bool(t); }

static bool is_f32(tn_dtype t) { return t.code == TN_FLOAT && t.bits == 32; }

static bool compares(enum tn_ek k) { return k == TN_E_EQ || k == TN_E_NE || k == TN_E_LT || k == TN_E_LE; }

/* The operation for e, or 0: tn_eval_op. Arithmetic of small floats is rounded, so it has none. */
static uint8_t op_for(const tn_expr *e)
{
    enum tn_ek k = e->kind;
    tn_dtype t = e->src[k == TN_E_SELECT ? 1 : 0]->dtype;
    if (k == TN_E_CALL)
        return e->u.call.id == TN_F_sqrt && is_f32(t) ? BC_SQRTS : 0;
    if (k == TN_E_SELECT)
        return BC_SEL;
    if (is_f32(t))
        return table[k].s;
    if (!whole(t)) {
        bool exact = t.bits == 64 || compares(k) || k == TN_E_MIN || k == TN_E_MAX;
        return exact ? table[k].d : 0;
    }
    bool order = k == TN_E_LT || k == TN_E_LE || k == TN_E_MIN || k == TN_E_MAX;
    return is_u64(t) && order ? 0 : table[k].i;
}

/* ---- one expression ---- */

typedef struct place {
    bc_code *code;
    uint32_t lanes;
} place; /* where e's instructions go */

static uint32_t emit_to(bc_compiler *c, place o, bc_instr in)
{
    in.n = (uint16_t)o.lanes;
    in.dst = bc_new_reg(c, o.lanes);
    tn_vec_push(o.code, in);
    return in.dst;
}

/* A lane-wise operation; its vector form is the next one in the enum. */
static uint32_t lanewise(bc_compiler *c, place o, uint32_t op, uint32_t a, uint32_t b, uint32_t third,
                         int64_t imm)
{
    return emit_to(c, o,
                   (bc_instr){.op = (uint16_t)(op + (o.lanes > 1)), .a = a, .b = b, .c = third, .imm = imm});
}

/* Integer r brought back into t. */
static uint32_t wrapped(bc_compiler *c, place o, tn_dtype t, uint32_t r)
{
    if (t.bits >= 64 || !tn_dtype_is_int(t))
        return r;
    if (t.code == TN_UINT)
        return lanewise(c, o, BC_ANDI, r, 0, 0, (INT64_C(1) << t.bits) - 1);
    return lanewise(c, o, BC_SEXT, r, 0, 0, INT64_C(1) << (t.bits - 1));
}

static uint32_t evaluated(bc_compiler *c, place o, const tn_expr *e, const uint32_t reg[3])
{
    bc_eval *v = TN_NEW(c->m->arena, bc_eval);
    tn_dtype in = e->src[0]->dtype, others = e->src[e->nsrc - 1]->dtype;
    *v = (bc_eval){e->kind, e->dtype, in, others, e->u, e->nsrc, in.lanes};
    uint32_t op = e->kind == TN_E_BITCAST && v->in_lanes != e->dtype.lanes ? BC_BITS
                  : e->kind == TN_E_RAMP                                   ? BC_RAMP
                  : e->kind == TN_E_SHUFFLE                                ? BC_SHUFFLE
                                                                           : BC_EVAL;
    if (op == BC_RAMP)
        v->t = tn_dtype_lanes(e->dtype, 1);
    return emit_to(c, o,
                   (bc_instr){.op = (uint16_t)op,
                              .a = reg[0],
                              .b = reg[1],
                              .c = reg[2],
                              .eval = v,
                              .site = bc_new_site(c, BC_T_UNDEFINED, e, 0, 0, 0)});
}

/* Sum, difference, product of integers: wraps, or traps for an index, unless its span says it cannot. */
static uint32_t int_sum(bc_compiler *c, place o, const tn_expr *e, const uint32_t in[3], span s)
{
    span all = span_limits(e->dtype);
    bool fits = s.lo > all.lo || s.hi < all.hi;
    if (tn_dtype_is_index(e->dtype) && !s.safe) {
        if (o.lanes > 1)
            return evaluated(c, o, e, in);
        uint16_t op = e->kind == TN_E_ADD ? BC_ADDC : e->kind == TN_E_SUB ? BC_SUBC : BC_MULC;
        return emit_to(
            c, o,
            (bc_instr){.op = op, .a = in[0], .b = in[1], .site = bc_new_site(c, BC_T_UNDEFINED, e, 0, 0, 0)});
    }
    uint32_t r = lanewise(c, o, table[e->kind].i, in[0], in[1], 0, 0);
    return fits ? r : wrapped(c, o, e->dtype, r);
}

static int power_of_two(span s)
{
    return s.lo == s.hi && s.lo > 0 && (s.lo & (s.lo - 1)) == 0 ? __builtin_ctzll((unsigned long long)s.lo)
                                                                : -1;
}

static uint32_t int_quotient(bc_compiler *c, place o, const tn_expr *e, const uint32_t in[3])
{
    span a = spans_of(&c->spans, e->src[0]), b = spans_of(&c->spans, e->src[1]);
    bool floors = e->kind == TN_E_FLOORDIV || e->kind == TN_E_FLOORMOD || a.lo >= 0;
    bool divides = e->kind == TN_E_FLOORDIV || e->kind == TN_E_TRUNCDIV;
    int shift = power_of_two(b);
    if (is_u64(e->dtype) || (b.lo <= 0 && b.hi >= 0) || (b.lo <= -1 && b.hi >= -1))
        return evaluated(c, o, e, in);
    if (floors && shift >= 0)
        return lanewise(c, o, divides ? BC_SHRI : BC_ANDI, in[0], 0, 0, divides ? shift : b.lo - 1);
    return lanewise(c, o, table[e->kind].i, in[0], in[1], 0, 0);
}

static uint32_t int_shift(bc_compiler *c, place o, const tn_expr *e, const uint32_t in[3])
{
    span by = spans_of(&c->spans, e->src[1]);
    if (by.lo != by.hi || by.lo < 0 || by.lo >= e->dtype.bits || (e->kind == TN_E_SHR && is_u64(e->dtype)))
        return evaluated(c, o, e, in);
    if (e->kind == TN_E_SHR)
        return lanewise(c, o, BC_SHRI, in[0], 0, 0, by.lo);
    return wrapped(c, o, e->dtype, lanewise(c, o, BC_SHLI, in[0], 0, 0, by.lo));
}

static uint32_t converted(bc_compiler *c, place o, const tn_expr *e, const uint32_t in[3])
{
    tn_dtype from = e->src[0]->dtype, t = e->dtype;
    span s = spans_of(&c->spans, e->src[0]), r = spans_of(&c->spans, e);
    if (whole(from) && whole(t)) {
        bool keeps = tn_dtype_is_bool(from) || (t.bits == 64 && !(is_u64(from) && tn_dtype_is_index(t))) ||
                     (r.lo == s.lo && r.hi == s.hi && !is_u64(from));
        if (tn_dtype_is_bool(t) && !tn_dtype_is_bool(from))
            return evaluated(c, o, e, in);
        return keeps                                  ? in[0]
               : is_u64(from) && tn_dtype_is_index(t) ? evaluated(c, o, e, in)
                                                      : wrapped(c, o, t, in[0]);
    }
    if (whole(from) && !is_u64(from) && t.code == TN_FLOAT && t.bits >= 32)
        return lanewise(c, o, t.bits == 32 ? BC_ITOS : BC_ITOD, in[0], 0, 0, 0);
    return evaluated(c, o, e, in);
}

static uint32_t bit_cast(bc_compiler *c, place o, const tn_expr *e, const uint32_t in[3])
{
    tn_dtype from = e->src[0]->dtype, t = e->dtype;
    if (is_f32(from) && tn_dtype_is_int(t) && t.bits == 32) {
        uint32_t r = lanewise(c, o, BC_BITSS, in[0], 0, 0, 0);
        return t.code == TN_UINT ? wrapped(c, o, t, r) : r;
    }
    if (is_f32(t) && tn_dtype_is_int(from) && from.bits == 32)
        return lanewise(c, o, BC_SBITS, in[0], 0, 0, 0);
    return evaluated(c, o, e, in);
}

/* ---- memory ---- */

uintptr_t bc_base(const bc_compiler *c, const bc_plan *plan)
{
    const bc_mem *mem = &c->m->mem[plan->buffer];
    return (uintptr_t)mem->at + (uintptr_t)plan->shift * tn_dtype_bytes(mem->dtype);
}

uintptr_t bc_shadow_base(const bc_compiler *c, const bc_plan *plan)
{
    return (uintptr_t)c->m->mem[plan->buffer].shadow + (uintptr_t)plan->shift;
}

static uint16_t load_op(tn_dtype t)
{
    static const uint16_t by_size[2][4] = {{BC_LD_I8, BC_LD_I16, BC_LD_I32, BC_LD_I64},
                                           {BC_LD_U8, BC_LD_U16, BC_LD_U32, BC_LD_I64}};
    if (is_f32(t))
        return BC_LD_S;
    if (tn_dtype_is_float(t))
        return t.bits == 64 ? BC_LD_D : BC_LD_X;
    if (tn_dtype_is_bool(t))
        return BC_LD_B;
    if (tn_dtype_is_int(t) && (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64))
        return by_size[t.code == TN_UINT][t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3];
    return BC_LD_X;
}

uint32_t bc_emit_checks(bc_compiler *c, const bc_plan *plan, const tn_expr *load)
{
    for (uint32_t i = 0; i < plan->n_check; i++) {
        const bc_check *k = &plan->check[i];
        bc_value v = {0};
        bool found = find_value(c, k->index, &v);
        TN_ASSERT(found);
        bc_emit(c, (bc_instr){.op = BC_BOUND,
                              .a = v.reg,
                              .imm = k->extent,
                              .site = bc_new_site(c, BC_T_BOUND, load, plan->buffer, k->dim, k->extent)});
    }
    return plan->n_check;
}

static uint32_t reg_of(const bc_compiler *c, const tn_expr *e)
{
    bc_value v = {.reg = c->zero};
    if (e) {
        bool found = find_value(c, e, &v);
        TN_ASSERT(found);
    }
    return v.reg;
}

static uint32_t load_lanes(bc_compiler *c, const tn_expr *e, const bc_plan *plan)
{
    const tn_expr *mask = tn_load_mask(e);
    bc_access *a = TN_NEW(c->m->arena, bc_access);
    *a = (bc_access){&c->m->mem[plan->buffer],
                     plan->gather,
                     mask != NULL,
                     reg_of(c, plan->a),
                     mask ? reg_of(c, mask) : 0,
                     mask ? reg_of(c, tn_load_other(e)) : 0};
    uint32_t site = bc_new_site(c, BC_T_BOUND, e, plan->buffer, 0, a->mem->readable),
             dst = bc_new_reg(c, e->dtype.lanes);
    bc_new_site(c, BC_T_UNWRITTEN, e, plan->buffer, 0, 0);
    bc_emit(c, (bc_instr){.op = BC_LDV, .n = e->dtype.lanes, .dst = dst, .access = a, .site = site});
    return dst;
}

/* [jz mask -> other;] checks; load [; jmp; other: mov] */
static uint32_t load_scalar(bc_compiler *c, const tn_expr *e, const bc_plan *plan)
{
    const bc_mem *mem = &c->m->mem[plan->buffer];
    const tn_expr *mask = tn_load_mask(e);
    uint32_t dst = bc_new_reg(c, 1), a = reg_of(c, plan->a), b = reg_of(c, plan->b);
    size_t jump = tn_vec_last(&c->level).code.n;
    if (mask)
        bc_emit(c, (bc_instr){.op = BC_JZ, .a = reg_of(c, mask)});
    bc_emit_checks(c, plan, e);
    bc_instr in = {.op = load_op(mem->dtype),
                   .dst = dst,
                   .a = a,
                   .b = b,
                   .c = bc_pack(mem->dtype),
                   .base = bc_base(c, plan)};
    if (mem->shadow) {
        in.site = bc_new_site(c, BC_T_UNWRITTEN, e, plan->buffer, 0, 0);
        in.shadow = bc_shadow_base(c, plan);
        if (in.op == BC_LD_S) {
            in.op = BC_LDW_S;
        } else {
            bc_instr check = in;
            check.op = BC_WRITTEN;
            bc_emit(c, check);
        }
    }
    bc_emit(c, in);
    if (mask) {
        bc_code *code = &tn_vec_last(&c->level).code;
        bc_emit(c, (bc_instr){.op = BC_JMP, .imm = 2});
        code->at[jump].imm = (int64_t)(code->n - jump);
        bc_emit(c, (bc_instr){.op = BC_MOV, .dst = dst, .a = reg_of(c, tn_load_other(e))});
    }
    return dst;
}

/* ---- demand ---- */

static const bc_plan *plan_of(bc_compiler *c, const tn_expr *e)
{
    uint64_t at;
    if (tn_map_get(&c->plan, e->id, &at))
        return (const bc_plan *)(uintptr_t)at;
    const bc_plan *plan =
        bc_plan_access(c, e->u.load.buffer, e->u.load.n_index, e->src, e->dtype.lanes, false);
    tn_map_put(&c->plan, e->id, tn_map_key(plan));
    return plan;
}

static const tn_expr *constant_of(bc_compiler *c, const tn_expr *e)
{
    const tn_expr *one = e->kind == TN_E_SPLAT ? e->src[0] : e;
    if (one->kind == TN_E_INT || one->kind == TN_E_FLOAT)
        return one;
    if (e->kind == TN_E_VAR || e->dtype.lanes != 1 || !whole(e->dtype))
        return NULL;
    span s = spans_of(&c->spans, e);
    return s.safe && s.lo == s.hi ? tn_int(c->pool, e->dtype, s.lo) : NULL;
}

/* x + y*z of float32, in either order, unless the product is there already: MACS. */
static bool as_mac(const bc_compiler *c, const tn_expr *e, const tn_expr *out[3])
{
    bc_value v;
    if (e->kind != TN_E_ADD || !is_f32(e->dtype))
        return false;
    for (int i = 1; i >= 0; i--) {
        const tn_expr *mul = e->src[i];
        if (mul->kind == TN_E_MUL && !find_value(c, mul, &v)) {
            out[0] = e->src[1 - i];
            out[1] = mul->src[0];
            out[2] = mul->src[1];
            return true;
        }
    }
    return false;
}

/* The expressions that e's instructions read. */
static int needs(bc_compiler *c, const tn_expr *e, const tn_expr *out[64])
{
    int n = 0;
    if (constant_of(c, e))
        return 0;
    if (e->kind == TN_E_LOAD) {
        const bc_plan *plan = plan_of(c, e);
        if (plan->a)
            out[n++] = plan->a;
        if (plan->b)
            out[n++] = plan->b;
        for (uint32_t i = 0; i < plan->n_check; i++)
            out[n++] = plan->check[i].index;
        if (tn_load_mask(e)) {
            out[n++] = tn_load_mask(e);
            out[n++] = tn_load_other(e);
        }
        return n;
    }
    if (as_mac(c, e, out))
        return 3;
    for (; n < e->nsrc; n++)
        out[n] = e->src[n];
    return n;
}

static uint32_t constant_reg(bc_compiler *c, const tn_expr *k, uint32_t lanes)
{
    bc_slot v = {.i = 0};
    if (k->kind == TN_E_INT)
        v.i = k->u.i;
    else if (is_f32(k->dtype))
        v.s = (float)k->u.f;
    else
        v.d = k->u.f;
    uint32_t r = bc_new_reg(c, lanes);
    for (uint32_t l = 0; l < lanes; l++)
        tn_vec_push(&c->preset, ((bc_preset){r + l, v}));
    return r;
}

/* Instructions of e, whose needs are there, into o. */
static uint32_t instructions(bc_compiler *c, const tn_expr *e, place o)
{
    const tn_expr *mac[3];
    uint32_t in[3] = {0};
    span s = spans_of(&c->spans, e);
    if (as_mac(c, e, mac)) /* the product is used nowhere else so far */
        return lanewise(c, o, BC_MACS, reg_of(c, mac[0]), reg_of(c, mac[1]), reg_of(c, mac[2]), 0);
    for (int i = 0; i < e->nsrc; i++)
        in[i] = reg_of(c, e->src[i]);
    switch (e->kind) {
    case TN_E_ADD:
    case TN_E_SUB:
    case TN_E_MUL:
        if (whole(e->dtype))
            return int_sum(c, o, e, in, s);
        break;
    case TN_E_FLOORDIV:
    case TN_E_FLOORMOD:
    case TN_E_TRUNCDIV:
    case TN_E_TRUNCMOD: return int_quotient(c, o, e, in);
    case TN_E_SHL:
    case TN_E_SHR: return int_shift(c, o, e, in);
    case TN_E_CAST: return converted(c, o, e, in);
    case TN_E_BITCAST: return bit_cast(c, o, e, in);
    case TN_E_SPLAT: return emit_to(c, o, (bc_instr){.op = BC_SPLAT, .a = in[0]});
    case TN_E_RAMP:
    case TN_E_SHUFFLE: return evaluated(c, o, e, in);
    default: break;
    }
    uint8_t op = op_for(e);
    return op ? lanewise(c, o, op, in[0], in[1], in[2], 0) : evaluated(c, o, e, in);
}

static void produce(bc_compiler *c, const tn_expr *e, int n, const tn_expr *const need[])
{
    const tn_expr *k = constant_of(c, e);
    bc_value v = {0, 0, c->level.at[0].instance, 0}, in;
    if (k) {
        v.reg = constant_reg(c, k, e->dtype.lanes);
        put(c, e, v);
        return;
    }
    if (e->kind == TN_E_LOAD) {
        const bc_plan *plan = plan_of(c, e);
        put(c, e, here(c, plan->vector ? load_lanes(c, e, plan) : load_scalar(c, e, plan), true));
        return;
    }
    bool local = !spans_of(&c->spans, e).safe;
    for (int i = 0; i < n; i++) {
        bool found = find_value(c, need[i], &in);
        TN_ASSERT(found);
        local = local || in.stmt;
        v.level = in.level > v.level ? in.level : v.level;
    }
    if (local)
        v = here(c, 0, true);
    v.instance = c->level.at[v.level].instance;
    v.reg = instructions(c, e, (place){&c->level.at[v.level].code, e->dtype.lanes});
    put(c, e, v);
}

uint32_t bc_expr(bc_compiler *c, const tn_expr *root)
{
    size_t base = c->todo.n;
    bc_value v;
    tn_vec_push(&c->todo, root);
    while (c->todo.n > base) {
        const tn_expr *e = tn_vec_last(&c->todo), *need[64];
        bool missing = false;
        if (find_value(c, e, &v)) {
            c->todo.n--;
            continue;
        }
        TN_ASSERT(e->kind != TN_E_VAR); /* the verifier saw to it */
        int n = needs(c, e, need);
        for (int i = n - 1; i >= 0; i--)
            if (!find_value(c, need[i], &v)) {
                tn_vec_push(&c->todo, need[i]);
                missing = true;
            }
        if (missing)
            continue;
        produce(c, e, n, need);
        c->todo.n--;
    }
    bool found = find_value(c, root, &v);
    TN_ASSERT(found);
    return v.reg;
}
