/* Lists of features, "+avx2,-fma", and what x86 features need.
 *
 * The table holds every x86 feature that is detected (base/cpu.c), each with those it cannot be without: LLVM's own
 * implications (X86.td of LLVM 19), so the features recorded in a package are those that LLVM compiles for. Other
 * architectures have no table: names are taken as they stand. */
#include "machine/machine.h"

#include <string.h>

typedef struct feature {
    const char *name, *needs; /* directly, blanks between */
} feature;

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
/* clang-format on */
enum { ROWS = sizeof x86 / sizeof *x86, NAME_MAX_BYTES = 24 };

static const char *const x86_64_base[] = {"cmov", "cx8", "mmx", "fxsr", "sse", "sse2"};
enum { BASE = sizeof x86_64_base / sizeof *x86_64_base };

static bool is_x86_64(const tn_machine *m) { return strncmp(m->triple, "x86_64", 6) == 0; }

static bool is_x86(const tn_machine *m)
{
    const char *t = m->triple;
    return is_x86_64(m) || (t[0] == 'i' && t[1] >= '3' && t[1] <= '6' && strncmp(t + 2, "86", 2) == 0);
}

static const feature *find(const char *name, size_t n)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(x86[i].name) == n && memcmp(x86[i].name, name, n) == 0) {
            return &x86[i];
        }
    }
    return NULL;
}

/* The next feature that is needed, and the rest of the list; NULL at its end. */
static const feature *next_need(const char **at)
{
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, " ");
    const feature *f = n ? find(*at, n) : NULL;
    *at += n;
    return f;
}

static bool implies(const char *name, const char *other)
{
    if (strcmp(name, other) == 0) {
        return true;
    }
    const feature *f = find(name, strlen(name)), *need;
    const char *at = f ? f->needs : "";
    while ((need = next_need(&at))) {
        if (implies(need->name, other)) {
            return true;
        }
    }
    return false;
}

typedef struct names {
    const char **at;
    size_t n;
} names;

static bool lists(const names *s, const char *name)
{
    size_t i = 0;
    while (i < s->n && strcmp(s->at[i], name) != 0) {
        i++;
    }
    return i < s->n;
}

static void add(names *s, const char *name)
{
    if (lists(s, name)) {
        return;
    }
    s->at[s->n++] = name;
    const feature *f = find(name, strlen(name)), *need;
    const char *at = f ? f->needs : "";
    while ((need = next_need(&at))) {
        add(s, need->name);
    }
}

static void drop(names *s, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!implies(s->at[i], name)) {
            s->at[kept++] = s->at[i];
        }
    }
    s->n = kept;
}

/* Levenshtein's distance to a known name, row by row. */
static size_t distance(const char *a, size_t n, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1], m = strlen(b);
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]), least = row[j] + 1;
            diagonal = row[j];
            least = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            row[j] = replaced < least ? replaced : least;
        }
    }
    return row[m];
}

static tn_status unknown(tn_ctx *ctx, const char *name, size_t n)
{
    const char *best = x86[0].name;
    for (size_t i = 1; i < ROWS; i++) {
        if (distance(name, n, x86[i].name) < distance(name, n, best)) {
            best = x86[i].name;
        }
    }
    return tn_error(ctx, "machine-E005", NULL, "-mattr: there is no x86 feature \"%.*s\"; the nearest known one is %s",
                    (int)(n < 60 ? n : 60), name, best);
}

/* One word of the list, with its sign. */
static tn_status apply(tn_ctx *ctx, const tn_machine *m, names *s, const char *word, size_t n)
{
    if (n < 2 || (*word != '+' && *word != '-')) {
        return tn_error(ctx, "machine-E006", NULL,
                        "-mattr: \"%.*s\" is neither +FEATURE nor -FEATURE; write +avx2,+fma or -avx512f",
                        (int)(n < 60 ? n : 60), word);
    }
    bool plus = *word == '+';
    const char *name = tn_intern_n(ctx, word + 1, n - 1);
    if (is_x86(m) && !find(name, n - 1) && (plus || !lists(s, name))) { /* what a machine lists may be dropped */
        return unknown(ctx, name, n - 1);
    }
    for (size_t i = 0; !plus && is_x86_64(m) && i < BASE; i++) {
        if (strcmp(x86_64_base[i], name) == 0) {
            return tn_error(ctx, "machine-E007", NULL, "-mattr: every x86-64 machine has %s; it cannot be dropped",
                            name);
        }
    }
    if (plus) {
        add(s, name);
    } else {
        drop(s, name);
    }
    return TN_OK;
}

tn_status tn_machine_attributes(tn_ctx *ctx, const char *list, tn_machine *m)
{
    bool plus = *list == '+' || strstr(list, ",+");
    names s = {TN_NEW_N(&ctx->arena, const char *, m->n_feature + strlen(list) + ROWS + BASE), 0};
    for (size_t i = 0; plus && is_x86_64(m) && i < BASE; i++) {
        add(&s, x86_64_base[i]);
    }
    for (size_t i = 0; !plus && i < m->n_feature; i++) {
        s.at[s.n++] = m->feature[i];
    }
    while (*list) {
        size_t n = strcspn(list, ",");
        if (n) {
            TN_TRY(apply(ctx, m, &s, list, n));
        }
        list += n + (list[n] == ',');
    }
    m->feature = s.at;
    m->n_feature = s.n;
    m->name = plus ? NULL : m->name;
    m->vector_bits = m->n_vector_regs = m->fma_ports = 0;
    m->l1_gb_s = m->l2_gb_s = m->l3_gb_s = m->mem_gb_s = m->peak_gflops = 0;
    return TN_OK;
}
