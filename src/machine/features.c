/* Lists of features, "+avx2,-fma", CPU names as short forms of such lists, and what features need.
 *
 * The tables hold every feature that is detected (base/cpu.c), each with those it cannot be without: LLVM's own
 * implications (X86.td, AArch64Features.td, ARMFeatures.td, RISCVFeatures.td of LLVM 19), so the features recorded in
 * a package are those that LLVM compiles for. */
#include "base/words.h"
#include "machine/machine.h"

#include <string.h>

typedef struct feature {
    const char *name, *needs; /* directly, blanks between */
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

/* clang-format off */
static const feature x86[] = {
    { "cmov",            "" },
    { "cx8",             "" },
    { "mmx",             "" },
    { "fxsr",            "" },
    { "sse",             "" },
    { "sse2",            "sse" },
    { "sse3",            "sse2" },
    { "ssse3",           "sse3" },
    { "sse4.1",          "ssse3" },
    { "sse4.2",          "sse4.1" },
    { "popcnt",          "" },
    { "cx16",            "cx8" },
    { "sahf",            "" },
    { "movbe",           "" },
    { "lzcnt",           "" },
    { "prfchw",          "" },
    { "rdrnd",           "" },
    { "rdseed",          "" },
    { "adx",             "" },
    { "clflushopt",      "" },
    { "clwb",            "" },
    { "bmi",             "" },
    { "bmi2",            "" },
    { "aes",             "sse2" },
    { "sha",             "sse2" },
    { "pclmul",          "sse2" },
    { "gfni",            "sse2" },
    { "avx",             "sse4.2" },
    { "fma",             "avx" },
    { "f16c",            "avx" },
    { "avx2",            "avx" },
    { "vaes",            "avx2 aes" },
    { "vpclmulqdq",      "avx pclmul" },
    { "avxvnni",         "avx2" },
    { "avxifma",         "avx2" },
    { "avxvnniint8",     "avx2" },
    { "avxvnniint16",    "avx2" },
    { "avxneconvert",    "avx2" },
    { "avx512f",         "avx2 f16c fma" },
    { "avx512cd",        "avx512f" },
    { "avx512dq",        "avx512f" },
    { "avx512bw",        "avx512f" },
    { "avx512vl",        "avx512f" },
    { "avx512ifma",      "avx512f" },
    { "avx512vnni",      "avx512f" },
    { "avx512vpopcntdq", "avx512f" },
    { "avx512vbmi",      "avx512bw" },
    { "avx512vbmi2",     "avx512bw" },
    { "avx512bitalg",    "avx512bw" },
    { "avx512bf16",      "avx512bw" },
    { "avx512fp16",      "avx512bw avx512vl avx512dq" },
    { "amx-tile",        "" },
    { "amx-int8",        "amx-tile" },
    { "amx-bf16",        "amx-tile" },
    { "amx-fp16",        "amx-tile" },
    { "amx-complex",     "amx-tile" },
};
static const feature aarch64[] = {
    { "fp-armv8",        "" },
    { "neon",            "fp-armv8" },
    { "aes",             "neon" },
    { "sha2",            "neon" },
    { "sha3",            "sha2" },
    { "crc",             "" },
    { "lse",             "" },
    { "rdm",             "neon" },
    { "dotprod",         "neon" },
    { "fullfp16",        "fp-armv8" },
    { "fp16fml",         "fullfp16 neon" },
    { "bf16",            "neon" },
    { "i8mm",            "neon" },
    { "sve",             "fullfp16" },
    { "sve2",            "sve" },
};
static const feature arm[] = {
    { "vfp2",            "" },
    { "d32",             "" },
    { "fp16",            "" },
    { "vfp3",            "vfp2 d32" },
    { "vfp4",            "vfp3 fp16" },
    { "neon",            "vfp3" },
    { "fp-armv8",        "vfp4" },
    { "crc",             "" },
    { "hwdiv-arm",       "" },
    { "dotprod",         "neon" },
    { "fullfp16",        "fp-armv8" },
};
static const feature riscv[] = {
    { "m",               "" },
    { "a",               "" },
    { "f",               "" },
    { "d",               "f" },
    { "c",               "" },
    { "v",               "d" },
    { "zba",             "" },
    { "zbb",             "" },
    { "zbs",             "" },
    { "zfhmin",          "f" },
    { "zfh",             "zfhmin" },
    { "zvfh",            "v zfhmin" },
};
/* clang-format on */
enum { ROWS = sizeof x86 / sizeof *x86 }; /* x86 has the longest table */

/* Architectures by how triples begin, the first that fits; base: what all their machines have (of riscv: those that
 * run Linux). */
#define TABLE(rows) rows, sizeof rows / sizeof *rows
static const struct arch {
    const char *begins, *name;
    const feature *row;
    size_t n;
    const char *base;
} archs[] = {
    {"x86_64", "x86", TABLE(x86), "cmov cx8 mmx fxsr sse sse2"},
    {"i386", "x86", TABLE(x86), ""},
    {"i486", "x86", TABLE(x86), ""},
    {"i586", "x86", TABLE(x86), ""},
    {"i686", "x86", TABLE(x86), ""},
    {"aarch64", "AArch64", TABLE(aarch64), "fp-armv8 neon"},
    {"arm64", "AArch64", TABLE(aarch64), "fp-armv8 neon"},
    {"arm", "Arm", TABLE(arm), ""},
    {"thumb", "Arm", TABLE(arm), ""},
    {"riscv", "RISC-V", TABLE(riscv), "m a f d c"},
    {"", NULL, NULL, 0, ""},
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

/* The next feature of a list, which moves on; NULL at its end. */
static const feature *next_need(const struct arch *a, const char **at)
{
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, " ");
    const feature *f = n ? find_feature(a, *at, n) : NULL;
    *at += n;
    return f;
}

static bool implies(const struct arch *a, const char *name, const char *other)
{
    if (strcmp(name, other) == 0)
        return true;
    const feature *f = find_feature(a, name, strlen(name)), *need;
    const char *at = f ? f->needs : "";
    while ((need = next_need(a, &at)))
        if (implies(a, need->name, other))
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
    const feature *f = find_feature(s->arch, name, strlen(name)), *need;
    const char *at = f ? f->needs : "";
    while ((need = next_need(s->arch, &at)))
        add(s, need->name);
}

static void add_words(names *s, const char *at)
{
    const feature *f;
    while ((f = next_need(s->arch, &at)))
        add(s, f->name);
}

static void add_base(names *s) { add_words(s, s->arch->base); }

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
    const char *name = tn_intern_n(ctx, word + 1, n - 1), *at = s->arch->base;
    /* what a machine lists may be dropped */
    if (!find_feature(s->arch, name, n - 1) && (plus || !tn_words_hold(s->at, s->n, name)))
        return unknown(ctx, s->arch, name, n - 1);
    for (const feature *f; !plus && (f = next_need(s->arch, &at));) {
        if (implies(s->arch, f->name, name)) {
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

void tn_machine_of_triple(tn_ctx *ctx, const char *triple, tn_machine *out)
{
    *out = (tn_machine){.triple = triple, .cores = 1};
    names s = names_new(ctx, out, 0);
    add_base(&s);
    out->feature = s.at;
    out->n_feature = s.n;
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
