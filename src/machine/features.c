/* Lists of features, "+avx2,-fma", CPU names as short forms of such lists, and what features need and are for: the rows
 * of base/features.def, by architecture. Their implications are LLVM's own, so the features recorded in a package are
 * those that LLVM compiles for. */
#include "base/words.h"
#include "machine/machine.h"

#include <string.h>

enum use { BASE, ANY, CODE, TOLD };

typedef struct feature {
    const char *name;
    uint8_t need[3], use; /* numbers: a row's is its place + 1 */
} feature;

/* A row of cpus.def: names that mean the features of the CPU `from` ("": none) and more. */
typedef struct cpu {
    const char *arch, *names, *from, *more;
} cpu;

static const cpu cpus[] = {
#define CPU(arch, names, from, more) {arch, names, from, more},
#include "machine/cpus.def"
#undef CPU
};
enum { CPUS = sizeof cpus / sizeof *cpus };

enum {
    X86_NONE,
#define X86(id, ...) X86_##id,
#include "base/features.def"
    X86_AFTER,
    ARM64_NONE = 0,
#define ARM64(id, ...) ARM64_##id,
#include "base/features.def"
    ARM_NONE = 0,
#define ARM(id, ...) ARM_##id,
#include "base/features.def"
    RISCV_NONE = 0,
#define RISCV(id, ...) RISCV_##id,
#include "base/features.def"
};
enum { ROWS = X86_AFTER - 1 }; /* x86 has the longest table */

static const feature x86[] = {
#define X86(id, name, a, b, c, leaf, reg, bit, save, flag, use) {name, {X86_##a, X86_##b, X86_##c}, use},
#include "base/features.def"
};
static const feature aarch64[] = {
#define ARM64(id, name, a, b, bit, use) {name, {ARM64_##a, ARM64_##b}, use},
#include "base/features.def"
};
static const feature arm[] = {
#define ARM(id, name, a, b, bit, use) {name, {ARM_##a, ARM_##b}, use},
#include "base/features.def"
};
static const feature riscv[] = {
#define RISCV(id, name, a, b, bit, use) {name, {RISCV_##a, RISCV_##b}, use},
#include "base/features.def"
};

/* Architectures by how triples begin, the first that fits; base: its machines have the features for it; named: packages
 * name features that code uses and compilers are told, else whatever is known. */
#define TABLE(rows) rows, sizeof rows / sizeof *rows
static const struct arch {
    const char *begins, *name;
    const feature *row;
    size_t n;
    bool base, named;
} archs[] = {
    {"x86_64", "x86", TABLE(x86), true, true},
    {"i386", "x86", TABLE(x86), false, true},
    {"i486", "x86", TABLE(x86), false, true},
    {"i586", "x86", TABLE(x86), false, true},
    {"i686", "x86", TABLE(x86), false, true},
    {"aarch64", "AArch64", TABLE(aarch64), true, false},
    {"arm64", "AArch64", TABLE(aarch64), true, false},
    {"arm", "Arm", TABLE(arm), false, false},
    {"thumb", "Arm", TABLE(arm), false, false},
    {"riscv", "RISC-V", TABLE(riscv), true, false},
    {"", NULL, NULL, 0, false, false},
};

static const struct arch *arch_of(const tn_machine *m)
{
    const struct arch *a = archs;
    while (strncmp(m->triple, a->begins, strlen(a->begins)) != 0)
        a++;
    return a;
}

static const feature *find_feature(const struct arch *a, const char *name, size_t n)
{
    for (size_t i = 0; i < a->n; i++)
        if (strlen(a->row[i].name) == n && memcmp(a->row[i].name, name, n) == 0)
            return &a->row[i];
    return NULL;
}

/* Number i of what a feature needs directly; NULL: no more. f may be NULL. */
static const feature *need(const struct arch *a, const feature *f, size_t i)
{
    return f && i < sizeof f->need && f->need[i] ? &a->row[f->need[i] - 1] : NULL;
}

static bool implies(const struct arch *a, const char *name, const char *other)
{
    if (strcmp(name, other) == 0)
        return true;
    const feature *f = find_feature(a, name, strlen(name)), *x;
    for (size_t i = 0; (x = need(a, f, i)); i++)
        if (implies(a, x->name, other))
            return true;
    return false;
}

typedef struct names {
    const struct arch *arch;
    const char **at;
    size_t n;
} names;

static void add(names *s, const char *name)
{
    if (tn_words_hold(s->at, s->n, name))
        return;
    s->at[s->n++] = name;
    const feature *f = find_feature(s->arch, name, strlen(name)), *x;
    for (size_t i = 0; (x = need(s->arch, f, i)); i++)
        add(s, x->name);
}

static void add_words(names *s, const char *at)
{
    const char *word;
    size_t n;
    while (tn_words_next(&at, &word, &n))
        add(s, find_feature(s->arch, word, n)->name);
}

static void add_base(names *s)
{
    for (size_t i = 0; s->arch->base && i < s->arch->n; i++)
        if (s->arch->row[i].use == BASE)
            add(s, s->arch->row[i].name);
}

static const cpu *cpu_find(const struct arch *a, const char *name)
{
    for (size_t i = 0; a->n && i < CPUS; i++)
        if (strcmp(cpus[i].arch, a->name) == 0 && tn_words_find(cpus[i].names, name) >= 0)
            return &cpus[i];
    return NULL;
}

static void add_cpu(names *s, const cpu *c)
{
    for (; c; c = *c->from ? cpu_find(s->arch, c->from) : NULL)
        add_words(s, c->more);
}

static void drop(names *s, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!implies(s->arch, s->at[i], name))
            s->at[kept++] = s->at[i];
    s->n = kept;
}

static tn_status unknown_cpu(tn_ctx *ctx, const struct arch *a, const char *name)
{
    tn_nearest near = {.word = name, .n = strlen(name)};
    tn_buf all = {0};
    for (size_t i = 0; a->n && i < CPUS; i++) {
        const char *at = cpus[i].names, *word;
        size_t n;
        while (strcmp(cpus[i].arch, a->name) == 0 && tn_words_next(&at, &word, &n)) {
            const char *known = tn_intern_n(ctx, word, n);
            tn_nearest_offer(&near, known);
            tn_buf_printf(&all, " %s", known);
        }
    }
    tn_status st = tn_error(ctx, "machine-E009", NULL,
                            "-mcpu: unknown %s CPU \"%.60s\"%s%s%s Known CPUs: native generic%s", a->name,
                            name, near.best ? "; did you mean " : "", near.best ? near.best : "",
                            near.best ? "?" : ".", tn_buf_cstr(&all));
    tn_buf_deinit(&all);
    return st;
}

static tn_status unknown(tn_ctx *ctx, const struct arch *a, const char *name, size_t n)
{
    int shown = (int)(n < 60 ? n : 60);
    if (!a->n) {
        return tn_error(ctx, "machine-E008", NULL,
                        "-mattr: no features of this architecture are known; remove \"%.*s\"", shown, name);
    }
    tn_nearest near = {.word = name, .n = n};
    for (size_t i = 0; i < a->n; i++)
        tn_nearest_offer(&near, a->row[i].name);
    return tn_error(ctx, "machine-E005", NULL, "-mattr: unknown %s feature \"%.*s\"%s%s%s", a->name, shown,
                    name, near.best ? "; did you mean " : "; use LLVM's names", near.best ? near.best : "",
                    near.best ? "?" : "");
}

/* One word of the list, with its sign. */
static tn_status apply(tn_ctx *ctx, names *s, const char *word, size_t n)
{
    if (n < 2 || (*word != '+' && *word != '-')) {
        return tn_error(ctx, "machine-E006", NULL,
                        "-mattr: \"%.*s\" is neither +FEATURE nor -FEATURE; write +avx2,+fma or -avx512f",
                        (int)(n < 60 ? n : 60), word);
    }
    bool plus = *word == '+';
    const char *name = tn_intern_n(ctx, word + 1, n - 1);
    /* what a machine lists may be dropped */
    if (!find_feature(s->arch, name, n - 1) && (plus || !tn_words_hold(s->at, s->n, name)))
        return unknown(ctx, s->arch, name, n - 1);
    for (size_t i = 0; !plus && s->arch->base && i < s->arch->n; i++) {
        if (s->arch->row[i].use == BASE && implies(s->arch, s->arch->row[i].name, name)) {
            return tn_error(ctx, "machine-E007", NULL,
                            "-mattr: every %s machine has %s; it cannot be removed",
                            strcmp(s->arch->begins, "x86_64") == 0 ? "x86-64" : s->arch->name, name);
        }
    }
    if (plus)
        add(s, name);
    else
        drop(s, name);
    return TN_OK;
}

static names names_new(tn_ctx *ctx, const tn_machine *m, size_t more)
{
    const struct arch *a = arch_of(m);
    return (names){a, TN_NEW_N(&ctx->arena, const char *, m->n_feature + more + ROWS), 0};
}

void tn_machine_without(tn_ctx *ctx, enum tn_ability ability, tn_machine *m)
{
    static const struct {
        enum tn_ability ability;
        const char *arch, *feature;
    } given[] = {
#define GIVEN(id, arch, feature) {TN_CAN_##id, arch, feature},
#include "machine/abilities.def"
    };
    if (!tn_machine_can(m, ability))
        return;
    names s = names_new(ctx, m, 0);
    for (size_t i = 0; i < m->n_feature; i++)
        s.at[s.n++] = m->feature[i];
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].ability == ability && tn_machine_given(m, given[i].arch, given[i].feature))
            drop(&s, given[i].feature);
    m->feature = s.at;
    m->n_feature = s.n;
    m->int8_gops = m->bf16_gflops = 0;
    tn_machine_derive(m);
}

void tn_machine_of_triple(tn_ctx *ctx, const char *triple, tn_machine *out)
{
    *out = (tn_machine){.triple = triple, .cores = 1};
    names s = names_new(ctx, out, 0);
    add_base(&s);
    out->feature = s.at;
    out->n_feature = s.n;
}

const char *tn_machine_arch(const tn_machine *m)
{
    const char *name = arch_of(m)->name;
    return name ? name : "";
}

size_t tn_machine_code_features(const tn_machine *m, const char **out)
{
    const struct arch *a = arch_of(m);
    size_t n = 0;
    for (size_t i = 0; !a->named && i < m->n_feature; i++)
        if (tn_machine_knows(m, m->feature[i]))
            out[n++] = m->feature[i];
    for (size_t i = 0; a->named && i < a->n; i++)
        if (a->row[i].use >= CODE && tn_machine_has(m, a->row[i].name))
            out[n++] = a->row[i].name;
    return n;
}

bool tn_machine_has_flags(const tn_machine *m) { return arch_of(m)->named; }

bool tn_feature_is_told(const char *name)
{
    for (const struct arch *a = archs; a->n; a++) {
        const feature *f = find_feature(a, name, strlen(name));
        if (f && f->use == TOLD)
            return true;
    }
    return false;
}

bool tn_machine_knows(const tn_machine *m, const char *name)
{
    return find_feature(arch_of(m), name, strlen(name)) != NULL;
}

/* Where a list begins: with what every machine of the triple has and the CPU's features, or with m's features. */
static tn_status begin(tn_ctx *ctx, const char *name, bool plus, const tn_machine *m, names *s)
{
    if (name || plus) {
        add_base(s);
    } else {
        memcpy(s->at, m->feature, m->n_feature * sizeof *m->feature);
        s->n = m->n_feature;
    }
    if (!name || strcmp(name, "generic") == 0)
        return TN_OK;
    const cpu *c = cpu_find(s->arch, name);
    if (!s->arch->n) {
        return tn_error(ctx, "machine-E010", NULL,
                        "-mcpu: no CPUs of this architecture are known; remove \"%.60s\"", name);
    }
    if (!c)
        return unknown_cpu(ctx, s->arch, name);
    add_cpu(s, c);
    return TN_OK;
}

tn_status tn_machine_attributes(tn_ctx *ctx, const char *cpu_name, const char *list, tn_machine *m)
{
    bool plus = *list == '+' || strstr(list, ",+");
    names s = names_new(ctx, m, strlen(list));
    TN_TRY(begin(ctx, cpu_name, plus, m, &s));
    while (*list) {
        size_t n = strcspn(list, ",");
        if (n)
            TN_TRY(apply(ctx, &s, list, n));
        list += n + (list[n] == ',');
    }
    m->feature = s.at;
    m->n_feature = s.n;
    m->name = cpu_name ? cpu_name : plus ? NULL : m->name;
    m->vector_bits = m->n_vector_regs = m->fma_ports = 0;
    m->l1_gb_s = m->l2_gb_s = m->l3_gb_s = m->mem_gb_s = m->peak_gflops = m->int8_gops = m->bf16_gflops = 0;
    m->rates_from = NULL;
    return TN_OK;
}
