#ifndef TENON_TESTS_AMX_H
#define TENON_TESTS_AMX_H
/* AMX for machines that have none: its instructions are illegal there, and what handles SIGILL does what
 * Intel's manual says of each (volume 2, 2026-03). Linux on x86-64 alone. Every thread has its own tiles. */
#if defined(__x86_64__) && defined(__linux__)
#define AMX_EMULATED 1

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { AMX_TILES = 8, AMX_ROWS = 16, AMX_BYTES = 64 };

typedef struct {
    int rows, bytes; /* 0: not configured */
    uint8_t at[AMX_ROWS][AMX_BYTES];
} amx_tile;
static _Thread_local amx_tile amx_tiles[AMX_TILES];

/* An instruction: VEX prefix of three bytes, opcode, ModRM, SIB, displacement. */
typedef struct {
    int prefix, opcode, mod, reg, rm, vvvv, length; /* prefix: 0 none, 1 66, 2 F3, 3 F2 */
    uint64_t address;                               /* of memory, without the index */
    int64_t stride;                                 /* the index, scaled */
} amx_code;

static inline int64_t amx_register(const ucontext_t *u, int number)
{
    static const int place[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return u->uc_mcontext.gregs[place[number]];
}

static inline bool amx_decode(const ucontext_t *u, amx_code *out)
{
    const uint8_t *first = (const uint8_t *)u->uc_mcontext.gregs[REG_RIP], *p = first;
    *out = (amx_code){0};
    if (p[0] != 0xc4 || (p[1] & 31) != 2 || p[2] & 4)
        return false;
    int x = (~p[1] >> 6 & 1) << 3, b = (~p[1] >> 5 & 1) << 3;
    out->vvvv = ~p[2] >> 3 & 15;
    out->prefix = p[2] & 3;
    out->opcode = p[3];
    out->mod = p[4] >> 6;
    out->reg = p[4] >> 3 & 7;
    out->rm = p[4] & 7;
    p += 5;
    if (out->mod != 3) {
        int base = out->rm | b;
        bool none = out->mod == 0 && out->rm == 5; /* from the next instruction on */
        if (out->rm == 4) {
            int index = (*p >> 3 & 7) | x;
            base = (*p & 7) | b;
            none = out->mod == 0 && (*p & 7) == 5;
            out->stride = index == 4 ? 0 : amx_register(u, index) * (1 << (*p >> 6));
            p++;
        }
        out->address = none ? 0 : (uint64_t)amx_register(u, base);
        int32_t wide = 0;
        if (out->mod == 1)
            out->address += (uint64_t)(int64_t)(int8_t)*p++;
        if (out->mod == 2 || none) {
            memcpy(&wide, p, 4);
            out->address += (uint64_t)(int64_t)wide;
            p += 4;
        }
        if (none && out->rm == 5)
            out->address += (uint64_t)p;
    }
    out->length = (int)(p - first);
    return true;
}

static inline void amx_configure(const uint8_t *shape)
{
    memset(amx_tiles, 0, sizeof amx_tiles);
    for (int i = 0; shape && i < AMX_TILES; i++)
        amx_tiles[i].bytes = shape[16 + 2 * i], amx_tiles[i].rows = shape[48 + i];
}

static inline float amx_real(const uint8_t *at)
{
    uint32_t bits = (uint32_t)(at[0] | at[1] << 8) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

static inline float amx_flushed(float f) { return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f; }

/* sum[m, n] += x[m, k] * w[k, n], each k two bfloat16 or four bytes; `prefix` says which are signed. */
static inline void amx_floats(amx_tile *sum, const amx_tile *x, const amx_tile *w)
{
    for (int m = 0; m < sum->rows; m++)
        for (int n = 0; n < sum->bytes / 4; n++) {
            float part[2] = {0, 0}, all;
            for (int k = 0; k < x->bytes / 4; k++)
                for (int i = 0; i < 2; i++)
                    part[i] = amx_flushed(fmaf(amx_real(&x->at[m][4 * k + 2 * i]),
                                               amx_real(&w->at[k][4 * n + 2 * i]), part[i]));
            memcpy(&all, &sum->at[m][4 * n], 4);
            all = amx_flushed(amx_flushed(all) + amx_flushed(part[0] + part[1]));
            memcpy(&sum->at[m][4 * n], &all, 4);
        }
}

static inline void amx_bytes(amx_tile *sum, const amx_tile *x, const amx_tile *w, int prefix)
{
    bool x_signed = prefix >= 2, w_signed = prefix == 3 || prefix == 1;
    for (int m = 0; m < sum->rows; m++)
        for (int n = 0; n < sum->bytes / 4; n++) {
            uint32_t all;
            memcpy(&all, &sum->at[m][4 * n], 4);
            for (int k = 0; k < x->bytes; k++) {
                uint8_t a = x->at[m][k], b = w->at[k / 4][4 * n + k % 4];
                all += (uint32_t)((x_signed ? (int8_t)a : a) * (w_signed ? (int8_t)b : b));
            }
            memcpy(&sum->at[m][4 * n], &all, 4);
        }
}

static inline bool amx_memory(const amx_code *c)
{
    amx_tile *t = &amx_tiles[c->reg];
    if (c->mod == 3 || c->prefix == 0 || t->rows == 0)
        return false;
    for (int i = 0; i < t->rows; i++) {
        uint8_t *row = (uint8_t *)(c->address + (uint64_t)(c->stride * i));
        if (c->prefix == 2)
            memcpy(row, t->at[i], (size_t)t->bytes);
        else
            memcpy(t->at[i], row, (size_t)t->bytes);
    }
    return true;
}

static inline bool amx_do(const amx_code *c)
{
    amx_tile *t = &amx_tiles[c->reg], *x = &amx_tiles[c->rm], *w = &amx_tiles[c->vvvv & 7];
    bool product = c->mod == 3 && t->rows && x->rows && w->rows;
    switch (c->opcode) {
    case 0x49:
        if (c->mod == 3 && c->prefix == 3)
            memset(t->at, 0, sizeof t->at);
        else if (c->prefix == 0)
            amx_configure(c->mod == 3 ? NULL : (const uint8_t *)c->address);
        return c->prefix == 0 || (c->mod == 3 && c->prefix == 3);
    case 0x4b: return amx_memory(c);
    case 0x5c:
        if (product && c->prefix == 2)
            amx_floats(t, x, w);
        return product && c->prefix == 2;
    case 0x5e:
        if (product)
            amx_bytes(t, x, w, c->prefix);
        return product;
    default: return false;
    }
}

static void amx_illegal(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    amx_code c;
    (void)info;
    if (amx_decode(u, &c) && amx_do(&c)) {
        u->uc_mcontext.gregs[REG_RIP] += c.length;
        return;
    }
    signal(number, SIG_DFL); /* it happens again, and ends the process */
}

static inline void amx_emulate(void)
{
    struct sigaction a = {.sa_sigaction = amx_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    (void)sigaction(SIGILL, &a, NULL);
}
#else
#define AMX_EMULATED 0
static inline void amx_emulate(void) {}
#endif

#endif
