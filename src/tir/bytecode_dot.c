/* One idiom of innermost loops runs without the machine: acc[..] = acc[..] + x[..] * w[..], each offset a
 * constant plus the loop variable times a constant. It is where networks spend their time.
 *
 * The loop's first iteration runs as usual. At its end BC_DOT does all further ones, each exactly as its
 * instructions would, in order; where one would trap, or the initial value is due again, it stops and leaves
 * the rest to the instructions.
 */
#include "tir/bytecode_compile.h"

#include <math.h>
#include <string.h>

enum { MAX_BODY = 20, MAX_GUARD = 8 };

/* Element at base + (a + b) * size; a and b are invariant, the loop variable, or that times an invariant register. */
typedef struct operand {
    uint16_t op;
    uint32_t a, b;
    int64_t stride_a, stride_b;
    uintptr_t base, shadow;
} operand;
enum { FIXED = 0, COUNTS = -1 }; /* strides: none, 1, else the register that holds it (register 0 is the 0) */

struct bc_dot {
    operand acc, x, w;
    uint32_t var, n;
    bool real, fused;
    uint32_t n_mask, n_init;
    uint32_t mask[MAX_GUARD]; /* nothing happens where one is 0 */
    uint32_t init[MAX_GUARD]; /* the initial value is due where all are 0 */
};

typedef struct match {
    struct bc_dot *dot;
    const bc_instr *at; /* what follows the guards */
    size_t n;
    uint32_t used; /* bit by instruction: accounted for */
} match;

static bool loads(uint16_t op)
{
    return op == BC_LD_S || op == BC_LDW_S || op == BC_LD_I8 || op == BC_LD_U8 || op == BC_LD_I16 ||
           op == BC_LD_U16 || op == BC_LD_I32;
}

/* The instruction that makes reg, or NULL: it is made outside. */
static const bc_instr *maker(const match *m, uint32_t reg)
{
    for (size_t i = 0; i < m->n; i++) {
        uint16_t op = m->at[i].op;
        bool makes =
            loads(op) || op == BC_MUL || op == BC_ADD || op == BC_SEXT || op == BC_MACS || op == BC_FMAS;
        if (makes && m->at[i].dst == reg)
            return &m->at[i];
    }
    return NULL;
}

static void use(match *m, const bc_instr *p) { m->used |= UINT32_C(1) << (p - m->at); }

static bool stride_of(match *m, uint32_t reg, int64_t *out)
{
    const bc_instr *p = maker(m, reg);
    *out = reg == m->dot->var ? COUNTS : FIXED;
    if (!p)
        return true;
    if (p->op != BC_MUL || (p->a != m->dot->var && p->b != m->dot->var))
        return false;
    *out = p->a == m->dot->var ? p->b : p->a;
    use(m, p);
    return *out != m->dot->var && !maker(m, (uint32_t)*out);
}

/* The load that makes reg. */
static bool load_of(match *m, uint32_t reg, operand *out)
{
    const bc_instr *p = maker(m, reg);
    if (!p || !loads(p->op))
        return false;
    use(m, p);
    *out = (operand){p->op, p->a, p->b, FIXED, FIXED, p->base, p->op == BC_LDW_S ? p->shadow : 0};
    return stride_of(m, p->a, &out->stride_a) && stride_of(m, p->b, &out->stride_b);
}

static bool same_place(const bc_instr *p, const operand *o) { return p->a == o->a && p->b == o->b; }

/* Shadow checks of integer loads are instructions of their own. */
static void find_shadow(match *m, operand *o)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].op == BC_WRITTEN && same_place(&m->at[i], o) && m->at[i].base == o->base) {
            o->shadow = m->at[i].shadow;
            use(m, &m->at[i]);
        }
}

static bool match_real(match *m, uint32_t value)
{
    struct bc_dot *d = m->dot;
    const bc_instr *mac = maker(m, value);
    if (!mac || (mac->op != BC_MACS && mac->op != BC_FMAS))
        return false;
    use(m, mac);
    d->real = true;
    d->fused = mac->op == BC_FMAS; /* fma(a, b, c) adds its third operand, MACS its first */
    return load_of(m, d->fused ? mac->c : mac->a, &d->acc) && load_of(m, d->fused ? mac->a : mac->b, &d->x) &&
           load_of(m, d->fused ? mac->b : mac->c, &d->w);
}

static bool match_whole(match *m, uint32_t value)
{
    struct bc_dot *d = m->dot;
    const bc_instr *add = maker(m, value);
    if (add && add->op == BC_SEXT) { /* to 32 bits, as the store does */
        use(m, add);
        add = maker(m, add->a);
    }
    if (!add || add->op != BC_ADD)
        return false;
    use(m, add);
    const bc_instr *mul = maker(m, add->a), *other = maker(m, add->b);
    uint32_t acc = add->b;
    if (other && other->op == BC_MUL) {
        mul = other;
        acc = add->a;
    }
    if (!mul || mul->op != BC_MUL || !load_of(m, acc, &d->acc) || d->acc.op != BC_LD_I32)
        return false;
    use(m, mul);
    if (!load_of(m, mul->a, &d->x) || !load_of(m, mul->b, &d->w))
        return false;
    find_shadow(m, &d->acc);
    find_shadow(m, &d->x);
    find_shadow(m, &d->w);
    return true;
}

static bool match_store(match *m)
{
    const bc_instr *st = &m->at[m->n - 1], *mark = m->n > 1 && m->at[m->n - 2].op == BC_MARK ? st - 1 : NULL;
    struct bc_dot *d = m->dot;
    bool ok = st->op == BC_ST_S || st->op == BC_STW_S ? match_real(m, st->c)
                                                      : st->op == BC_ST_32 && match_whole(m, st->c);
    if (!ok || !same_place(st, &d->acc) || st->base != d->acc.base)
        return false;
    use(m, st);
    if (mark)
        use(m, mark);
    return m->used == (UINT32_C(1) << m->n) - 1;
}

/* The guards in front: jumps to the end of the body, jumps over an initial value, checks that the first
 * iteration did. */
static size_t match_guards(struct bc_dot *d, const bc_code *code, bool *ok)
{
    size_t i = 0;
    for (; i < code->n; i++) {
        const bc_instr *p = &code->at[i];
        size_t to = i + (size_t)p->imm;
        if (p->op == BC_JZ && to == code->n && d->n_mask < MAX_GUARD && p->a != d->var) {
            d->mask[d->n_mask++] = p->a;
        } else if (p->op == BC_JNZ && !d->n_init) {
            for (; code->at[i].op == BC_JNZ && i + (size_t)code->at[i].imm == to && d->n_init < MAX_GUARD;
                 i++)
                d->init[d->n_init++] = code->at[i].a;
            i = to - 1;
        } else if (p->op != BC_BOUND && p->op != BC_BOUNDR) {
            break;
        } else if (p->a == d->var || (p->op == BC_BOUNDR && p->b == d->var)) {
            *ok = false;
        }
    }
    return i;
}

/* Do the guards read only what is made outside the body? */
static bool guards_invariant(const bc_code *code, size_t n_guard, const struct bc_dot *d, const match *m)
{
    for (size_t i = 0; i < n_guard; i++) {
        const bc_instr *p = &code->at[i];
        if ((p->op == BC_BOUND || p->op == BC_BOUNDR) &&
            (maker(m, p->a) || (p->op == BC_BOUNDR && maker(m, p->b))))
            return false;
    }
    for (uint32_t i = 0; i < d->n_init; i++)
        if (d->init[i] != d->var && maker(m, d->init[i]))
            return false;
    return true;
}

const struct bc_dot *bc_dot_match(bc_compiler *c, const bc_code *code, uint32_t var, uint32_t n)
{
    struct bc_dot d = {.var = var, .n = n};
    bool ok = true;
    size_t guards = match_guards(&d, code, &ok);
    if (!ok || guards >= code->n || code->n - guards > MAX_BODY)
        return NULL;
    match m = {&d, code->at + guards, code->n - guards, 0};
    if (!match_store(&m) || !guards_invariant(code, guards, &d, &m))
        return NULL;
    return tn_arena_copy(c->m->arena, &d, sizeof d, 16);
}

/* ---- running ---- */

typedef struct cursor {
    uintptr_t at, shadow;
    uintptr_t step, shadow_step;
} cursor;

static int64_t stride_value(const bc_slot *reg, int64_t stride)
{
    return stride == FIXED ? 0 : stride == COUNTS ? 1 : reg[stride].i;
}

/* Where o is at iteration v. */
static cursor start(const operand *o, const bc_slot *reg, int64_t v, size_t size)
{
    uint64_t step = 0, at = 0;
    const uint32_t r[2] = {o->a, o->b};
    const int64_t s[2] = {o->stride_a, o->stride_b};
    for (int i = 0; i < 2; i++) {
        uint64_t stride = (uint64_t)stride_value(reg, s[i]);
        at += s[i] == FIXED ? (uint64_t)reg[r[i]].i : (uint64_t)v * stride;
        step += stride;
    }
    return (cursor){o->base + at * size, o->shadow ? o->shadow + at : 0, step * size, step};
}

static bool written(const cursor *c) { return !c->shadow || *(const uint8_t *)c->shadow; }

static void advance(cursor *c)
{
    c->at += c->step;
    if (c->shadow)
        c->shadow += c->shadow_step;
}

static float real(const cursor *c)
{
    float s;
    memcpy(&s, (const void *)c->at, sizeof s);
    return s;
}

static void put_real(const cursor *c, float s) { memcpy((void *)c->at, &s, sizeof s); }

/* Do n elements from c on avoid the 4 bytes at p? */
static bool apart(const cursor *c, int64_t n, uintptr_t p)
{
    uintptr_t first = c->at, last = c->at + c->step * (uintptr_t)(n - 1);
    uintptr_t lo = first < last ? first : last, hi = first < last ? last : first;
    return p + 4 <= lo || hi + 4 <= p;
}

/* The sum stays in a register where nobody else can see its memory meanwhile. */
static int64_t sum_real(const struct bc_dot *d, cursor acc, cursor x, cursor w, int64_t v, int64_t n)
{
    float s = real(&acc);
    for (; v < n && written(&x) && written(&w); v++) {
        s = d->fused ? fmaf(real(&x), real(&w), s) : s + real(&x) * real(&w);
        advance(&x);
        advance(&w);
    }
    put_real(&acc, s);
    return v;
}

static int64_t run_real(const struct bc_dot *d, cursor acc, cursor x, cursor w, int64_t v, int64_t n)
{
    if (acc.step == 0 && written(&acc) && apart(&x, n - v, acc.at) && apart(&w, n - v, acc.at))
        return sum_real(d, acc, x, w, v, n);
    for (; v < n && written(&acc) && written(&x) && written(&w); v++) {
        float s = real(&acc), a = real(&x), b = real(&w);
        put_real(&acc, d->fused ? fmaf(a, b, s) : s + a * b);
        advance(&acc);
        advance(&x);
        advance(&w);
    }
    return v;
}

static int64_t whole(const cursor *c, uint16_t op)
{
    switch (op) {
    case BC_LD_I8: return *(const int8_t *)c->at;
    case BC_LD_U8: return *(const uint8_t *)c->at;
    case BC_LD_I16: {
        int16_t v;
        memcpy(&v, (const void *)c->at, sizeof v);
        return v;
    }
    case BC_LD_U16: {
        uint16_t v;
        memcpy(&v, (const void *)c->at, sizeof v);
        return v;
    }
    default: {
        int32_t v;
        memcpy(&v, (const void *)c->at, sizeof v);
        return v;
    }
    }
}

static int64_t run_whole(const struct bc_dot *d, cursor acc, cursor x, cursor w, int64_t v, int64_t n)
{
    for (; v < n && written(&acc) && written(&x) && written(&w); v++) {
        uint64_t s =
            (uint64_t)whole(&acc, BC_LD_I32) + (uint64_t)whole(&x, d->x.op) * (uint64_t)whole(&w, d->w.op);
        uint32_t low = (uint32_t)s; /* what wrapping would keep is all that is stored */
        memcpy((void *)acc.at, &low, sizeof low);
        advance(&acc);
        advance(&x);
        advance(&w);
    }
    return v;
}

static size_t size_of(const operand *o)
{
    return o->op == BC_LD_I8 || o->op == BC_LD_U8 ? 1 : o->op == BC_LD_I16 || o->op == BC_LD_U16 ? 2 : 4;
}

int64_t bc_dot_run(const struct bc_dot *d, const bc_slot *reg, int64_t v)
{
    int64_t n = reg[d->n].i;
    bool due = d->n_init > 0;
    if (v >= n)
        return v;
    for (uint32_t i = 0; i < d->n_init; i++)
        due = due && d->init[i] != d->var && !reg[d->init[i]].i;
    if (due) /* mask or not */
        return v;
    for (uint32_t i = 0; i < d->n_mask; i++)
        if (!reg[d->mask[i]].i)
            return n;
    cursor acc = start(&d->acc, reg, v, 4), x = start(&d->x, reg, v, size_of(&d->x)),
           w = start(&d->w, reg, v, size_of(&d->w));
    return d->real ? run_real(d, acc, x, w, v, n) : run_whole(d, acc, x, w, v, n);
}
