/* The interpreter's inner loop. Order of evaluation is that of the code; nothing here knows TIR.
 *
 * float32 arithmetic runs in float, index and integer arithmetic in 64 bits; whatever has no operation of its
 * own goes through tn_eval_op, which defines it. Memory is read and written by memcpy: user memory may be
 * misaligned.
 */
#include "tir/bytecode.h"

#include "base/size.h"

#include <math.h>
#include <string.h>

static int64_t bits_of(float s)
{
    int32_t i;
    memcpy(&i, &s, sizeof i);
    return i;
}

static float of_bits(int64_t i)
{
    float s;
    int32_t narrow = (int32_t)(uint32_t)(uint64_t)i;
    memcpy(&s, &narrow, sizeof s);
    return s;
}

/* A division may be computed early, where its divisor is not yet known to be good; its result is not used then. */
static int64_t floordiv(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : tn_floordiv(a, b); }

static int64_t floormod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : tn_floormod(a, b); }

static int64_t truncdiv(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a / b; }

static int64_t truncmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

static bool is_single(tn_dtype t) { return t.code == TN_FLOAT && t.bits == 32; }

static tn_scalar to_scalar(tn_dtype t, bc_slot v)
{
    if (!is_single(t))
        return (tn_scalar){.i = v.i};
    return v.s == v.s ? (tn_scalar){.f = (double)v.s} : tn_scalar_read(t, &v.s);
}

static bc_slot of_scalar(tn_dtype t, tn_scalar v)
{
    bc_slot s = {.i = v.i};
    if (is_single(t)) {
        s.i = 0;
        tn_scalar_write(t, &s.s, v);
    }
    return s;
}

/* One element from memory. */
static bc_slot read_one(tn_dtype t, const uint8_t *at)
{
    bc_slot s = {0};
    if (is_single(t))
        memcpy(&s.s, at, sizeof s.s);
    else
        s = of_scalar(t, tn_scalar_read(t, at));
    return s;
}

static void write_one(tn_dtype t, uint8_t *at, bc_slot v)
{
    if (is_single(t))
        memcpy(at, &v.s, sizeof v.s);
    else
        tn_scalar_write(t, at, to_scalar(t, v));
}

static bool eval(const bc_eval *e, uint16_t lanes, bc_slot *dst, const bc_slot *const src[3])
{
    tn_dtype t = tn_dtype_lanes(e->t, 1), in_t = tn_dtype_lanes(e->in, 1),
             others = tn_dtype_lanes(e->others, 1);
    for (uint16_t l = 0; l < lanes; l++) {
        tn_scalar in[3], out;
        for (int i = 0; i < e->n; i++)
            in[i] = to_scalar(i ? others : in_t, src[i][l]);
        if (!tn_eval_op(e->k, t, e->u, in_t, e->n, in, &out))
            return false;
        dst[l] = of_scalar(t, out);
    }
    return true;
}

/* Bitcast between vectors of different lanes: through memory, little end first. */
static void cast_bits(const bc_eval *e, uint16_t lanes, bc_slot *dst, const bc_slot *src)
{
    uint32_t from = tn_dtype_bytes(tn_dtype_lanes(e->in, 1)), to = tn_dtype_bytes(tn_dtype_lanes(e->t, 1));
    uint8_t window[16] = {0};
    uint32_t have = 0, next = 0;
    for (uint16_t l = 0; l < lanes; l++) {
        while (have < to) {
            write_one(tn_dtype_lanes(e->in, 1), window + have, src[next++]);
            have += from;
        }
        dst[l] = read_one(tn_dtype_lanes(e->t, 1), window);
        have -= to;
        memmove(window, window + to, have);
    }
}

static int trap(bytecode *m, const bc_instr *p, int64_t culprit)
{
    m->trapped = p->site;
    m->at = p;
    m->culprit = culprit;
    return -1;
}

/* A trap of one vector access: which kind is told by the neighbour of its site. */
static int trap_access(bytecode *m, const bc_instr *p, uint32_t offset, int64_t culprit)
{
    trap(m, p, culprit);
    m->trapped += offset;
    return -1;
}

static void trap_unwritten(bytecode *m, const bc_instr *p, const uint8_t *shadow)
{
    trap(m, p, shadow - m->mem[m->site.at[p->site].buffer].shadow);
}

/* Lanes behind the end but in the slack read as this: any value is right, so a strange one finds who uses it. */
static bc_slot slack_value(tn_dtype t)
{
    uint8_t bytes[8];
    memset(bytes, 0xA5, sizeof bytes);
    return read_one(t, bytes);
}

/* Lanes in a row of float32, none masked, all written: the common case. False: not that. */
static bool load_row(const bc_access *a, int64_t from, uint16_t lanes, bc_slot *dst)
{
    const bc_mem *mem = a->mem;
    if (a->gather || a->masked || !is_single(mem->dtype) || from < 0 || from > mem->n - lanes ||
        (mem->shadow && memchr(mem->shadow + from, 0, lanes)))
        return false;
    const uint8_t *at = mem->at + (size_t)from * sizeof(float);
    for (uint16_t l = 0; l < lanes; l++)
        memcpy(&dst[l].s, at + l * sizeof(float), sizeof(float));
    return true;
}

static bool store_row(const bc_access *a, int64_t from, uint16_t lanes, const bc_slot *src)
{
    const bc_mem *mem = a->mem;
    if (a->gather || a->masked || !is_single(mem->dtype) || from < 0 || from > mem->n - lanes)
        return false;
    uint8_t *at = mem->at + (size_t)from * sizeof(float);
    for (uint16_t l = 0; l < lanes; l++)
        memcpy(at + l * sizeof(float), &src[l].s, sizeof(float));
    if (mem->shadow)
        memset(mem->shadow + from, 1, lanes);
    return true;
}

static int load_vector(bytecode *m, const bc_instr *p, bc_slot *reg)
{
    const bc_access *a = p->access;
    const bc_mem *mem = a->mem;
    size_t size = tn_dtype_bytes(mem->dtype);
    int64_t from = reg[a->index].i;
    if (load_row(a, from, p->n, reg + p->dst))
        return 0;
    for (uint16_t l = 0; l < p->n; l++) {
        int64_t i = a->gather ? reg[a->index + l].i : (int64_t)((uint64_t)from + l);
        if (a->masked && !reg[a->mask + l].i) {
            reg[p->dst + l] = reg[a->value + l];
            continue;
        }
        if (i < 0 || i >= mem->readable)
            return trap_access(m, p, 0, i);
        if (i >= mem->n) {
            reg[p->dst + l] = slack_value(mem->dtype);
            continue;
        }
        if (mem->shadow && !mem->shadow[i])
            return trap_access(m, p, 1, i);
        reg[p->dst + l] = read_one(mem->dtype, mem->at + (size_t)i * size);
    }
    return 0;
}

static int store_vector(bytecode *m, const bc_instr *p, const bc_slot *reg)
{
    const bc_access *a = p->access;
    const bc_mem *mem = a->mem;
    size_t size = tn_dtype_bytes(mem->dtype);
    int64_t from = reg[a->index].i;
    if (store_row(a, from, p->n, reg + a->value))
        return 0;
    for (uint16_t l = 0; l < p->n; l++) {
        int64_t i = a->gather ? reg[a->index + l].i : (int64_t)((uint64_t)from + l);
        if (a->masked && !reg[a->mask + l].i)
            continue;
        if (i < 0 || i >= mem->n)
            return trap_access(m, p, 0, i);
        if (mem->shadow)
            mem->shadow[i] = 1;
        write_one(mem->dtype, mem->at + (size_t)i * size, reg[a->value + l]);
    }
    return 0;
}

/* Operations too rare or too long for the switch below. Negative: trapped. */
static int rare(bytecode *m, const bc_instr *p, bc_slot *reg)
{
    const bc_slot *src[3] = {reg + p->a, reg + p->b, reg + p->c};
    switch (p->op) {
    case BC_EVAL: return eval(p->eval, p->n, reg + p->dst, src) ? 0 : trap(m, p, 0);
    case BC_BITS: cast_bits(p->eval, p->n, reg + p->dst, src[0]); return 0;
    case BC_SPLAT:
        for (uint16_t l = 0; l < p->n; l++)
            reg[p->dst + l] = *src[0];
        return 0;
    case BC_SHUFFLE:
        for (uint16_t l = 0; l < p->n; l++) {
            uint16_t at = (uint16_t)((uint8_t)p->eval->u.lanes[l] - 1), n = p->eval->in_lanes;
            reg[p->dst + l] = at < n ? src[0][at] : src[1][at - n];
        }
        return 0;
    case BC_RAMP: {
        tn_scalar in[2] = {{.i = src[0]->i}, {0}};
        for (uint16_t l = 0; l < p->n; l++) {
            tn_scalar step[2] = {{.i = l}, {.i = src[1]->i}};
            if (!tn_eval_op(TN_E_MUL, p->eval->t, p->eval->u, p->eval->t, 2, step, &in[1]) ||
                !tn_eval_op(TN_E_ADD, p->eval->t, p->eval->u, p->eval->t, 2, in, &step[0]))
                return trap(m, p, 0);
            reg[p->dst + l].i = step[0].i;
        }
        return 0;
    }
    case BC_RESET: memset(p->mem->shadow, 0, (size_t)p->mem->n); return 0;
    case BC_LDV: return load_vector(m, p, reg);
    case BC_STV: return store_vector(m, p, reg);
    default: TN_ASSERT(0); return -1;
    }
}

/* The scalar dtype in a spare register field. */
static tn_dtype unpack(uint32_t bits) { return TN_DT((uint8_t)(bits >> 8), (uint8_t)bits); }

#define A reg[p->a]
#define B reg[p->b]
#define C reg[p->c]
#define OFFSET ((uintptr_t)A.i + (uintptr_t)B.i) /* modulo 2^64: the base may lie before the buffer */
#define AT(size) ((void *)(p->base + OFFSET * (size)))
#define SHADOW ((uint8_t *)(p->shadow + OFFSET))
#define SIZE(t) tn_dtype_bytes(t)
#define LOAD(T, field) \
    { \
        T v_; \
        memcpy(&v_, AT(sizeof v_), sizeof v_); \
        reg[p->dst].field = v_; \
        p++; \
        continue; \
    }
#define STORE(T, value) \
    { \
        T v_ = (value); \
        memcpy(AT(sizeof v_), &v_, sizeof v_); \
        p++; \
        continue; \
    }

enum { POLL_EVERY = 1 << 14 }; /* loops end early if the call is to end */

/* clang-format off */
bool bc_run(bytecode *m)
{
    bc_slot *const reg = m->reg;
    const bc_instr *p = m->code.at;
    uint32_t to_poll = POLL_EVERY;
    for (;;) {
        switch ((enum bc_op)p->op) {
#define BC(name, field, value) case BC_##name: reg[p->dst].field = (value); p++; continue;
#include "tir/bytecode_ops.def"
#undef BC
#undef A
#undef B
#undef C
#define A reg[p->a + l]
#define B reg[p->b + l]
#define C reg[p->c + l]
#define BC(name, field, value) \
        case BC_##name##_V: for (uint32_t l = 0; l < p->n; l++) reg[p->dst + l].field = (value); p++; continue;
#include "tir/bytecode_ops.def"
#undef BC
#undef A
#undef B
#undef C
#define A reg[p->a]
#define B reg[p->b]
#define C reg[p->c]
        case BC_HALT: return true;
        case BC_JMP: p += p->imm; continue;
        case BC_JZ: p += A.i ? 1 : p->imm; continue;
        case BC_JNZ: p += A.i ? p->imm : 1; continue;
        case BC_LOOP: reg[p->dst].i = 0; p += A.i > 0 ? 1 : p->imm; continue;
        case BC_NEXT:
            if (--to_poll == 0) { to_poll = POLL_EVERY; tn_poll_now(); }
            p += ++reg[p->dst].i < A.i ? p->imm : 1; continue;
        case BC_DOT: reg[p->dst].i = bc_dot_run(p->dot, reg, reg[p->dst].i + 1) - 1; p++; continue;
        case BC_ADDC: if (!tn_i64_add(A.i, B.i, &reg[p->dst].i)) { trap(m, p, 0); return false; } p++; continue;
        case BC_SUBC: if (!tn_i64_sub(A.i, B.i, &reg[p->dst].i)) { trap(m, p, 0); return false; } p++; continue;
        case BC_MULC: if (!tn_i64_mul(A.i, B.i, &reg[p->dst].i)) { trap(m, p, 0); return false; } p++; continue;
        case BC_CHECK: if (!A.i) { trap(m, p, 0); return false; } p++; continue;
        case BC_BOUND: if ((uint64_t)A.i >= (uint64_t)p->imm) { trap(m, p, A.i); return false; } p++; continue;
        case BC_BOUNDR: if (A.i < 0 || A.i >= B.i) { trap(m, p, A.i); return false; } p++; continue;
        case BC_LDW_S: if (!*SHADOW) { trap_unwritten(m, p, SHADOW); return false; } LOAD(float, s)
        case BC_LD_S: LOAD(float, s)
        case BC_LD_D: LOAD(double, d)
        case BC_LD_I8: LOAD(int8_t, i)
        case BC_LD_U8: LOAD(uint8_t, i)
        case BC_LD_B: reg[p->dst].i = *(uint8_t *)AT(1) != 0; p++; continue;
        case BC_LD_I16: LOAD(int16_t, i)
        case BC_LD_U16: LOAD(uint16_t, i)
        case BC_LD_I32: LOAD(int32_t, i)
        case BC_LD_U32: LOAD(uint32_t, i)
        case BC_LD_I64: LOAD(int64_t, i)
        case BC_LD_X: reg[p->dst] = read_one(unpack(p->c), AT(SIZE(unpack(p->c)))); p++; continue;
        case BC_WRITTEN: if (!*SHADOW) { trap_unwritten(m, p, SHADOW); return false; } p++; continue;
        case BC_MARK: *SHADOW = 1; p++; continue;
        case BC_STW_S: *SHADOW = 1; STORE(float, C.s)
        case BC_ST_S: STORE(float, C.s)
        case BC_ST_D: STORE(double, C.d)
        case BC_ST_8: STORE(uint8_t, (uint8_t)C.i)
        case BC_ST_16: STORE(uint16_t, (uint16_t)C.i)
        case BC_ST_32: STORE(uint32_t, (uint32_t)C.i)
        case BC_ST_64: STORE(int64_t, C.i)
        case BC_ST_X: write_one(unpack(p->dst), AT(SIZE(unpack(p->dst))), C); p++; continue;
        default:
            if (rare(m, p, reg) < 0)
                return false;
            p++;
            continue;
        }
    }
}
/* clang-format on */
