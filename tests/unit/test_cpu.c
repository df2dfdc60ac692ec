/* base/cpu: against the compiler's own detection, /proc/cpuinfo's flags and what the features imply. */
#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void names_and_bits_agree(void **state)
{
    (void)state;
    const char *name[TN_CPU_FEATURES];
    tn_cpu_set all = {~(uint64_t)0}, none = {0}, here = tn_cpu_detect();
    size_t n_all = tn_cpu_set_names(all, name, TN_CPU_FEATURES);
    assert_in_range(n_all, 0, TN_CPU_FEATURES);
    for (size_t i = 0; i < n_all; i++) {
        assert_true(tn_cpu_set_has(all, name[i]));
        assert_false(tn_cpu_set_has(none, name[i]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(name[i], name[k]);
    }
    assert_int_equal(tn_cpu_set_names(none, name, 0), 0);
    size_t n = tn_cpu_set_names(here, name, TN_CPU_FEATURES);
    for (size_t i = 0; i < n; i++)
        assert_true(tn_cpu_has(name[i]));
    assert_false(tn_cpu_has("no-such-feature"));
    assert_true(tn_cpu_permit("no-such-feature")); /* whoever asks has found that it is there */
    assert_false(tn_cpu_has(""));
}

static void implications(void **state)
{
    (void)state;
    static const char *const row[][2] = {
        {"avx2", "avx"},
        {"fma", "avx"},
        {"f16c", "avx"},
        {"avx512f", "avx2"},
        {"avx512bw", "avx512f"},
        {"avx512vnni", "avx512f"},
        {"avx512fp16", "avx512bw"},
        {"amx-int8", "amx-tile"},
        {"amx-bf16", "amx-tile"},
        {"avx", "sse4.2"},
        {"sse4.2", "sse4.1"},
        {"sse4.1", "ssse3"},
    };
    tn_cpu_set s = tn_cpu_detect();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_true(!tn_cpu_set_has(s, row[i][0]) || tn_cpu_set_has(s, row[i][1]));
#if defined(__x86_64__)
    assert_true(tn_cpu_set_has(s, "sse2")); /* part of the ABI */
#elif defined(__aarch64__)
    assert_true(tn_cpu_set_has(s, "neon"));
#endif
    assert_true(!tn_cpu_permit("amx-tile") || tn_cpu_set_has(s, "amx-tile"));
}

#if defined(__x86_64__)
/* Whether /proc/cpuinfo lists the flag; true where there is no /proc. */
static bool kernel_lists(const char *name)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    static char line[16384];
    char flag[32];
    if (!f)
        return true;
    while (fgets(line, sizeof line - 1, f) && strncmp(line, "flags", 5) != 0) {}
    fclose(f);
    line[strcspn(line, "\n")] = ' ';
    snprintf(flag, sizeof flag, " %s ", name);
    return strstr(line, flag) != NULL;
}

/* The compiler does not ask the kernel: it may report a feature that the kernel switched off, never the reverse. */
static void agrees_with_the_compiler(void **state)
{
    (void)state;
    tn_cpu_set s = tn_cpu_detect();
    __builtin_cpu_init();
#define SAME(name, flag) \
    if (tn_cpu_set_has(s, name) != !!__builtin_cpu_supports(name)) \
    assert_false(tn_cpu_set_has(s, name) || kernel_lists(flag))
    SAME("sse3", "pni");
    SAME("ssse3", "ssse3");
    SAME("sse4.1", "sse4_1");
    SAME("sse4.2", "sse4_2");
    SAME("popcnt", "popcnt");
    SAME("aes", "aes");
    SAME("avx", "avx");
    SAME("fma", "fma");
    SAME("bmi", "bmi1");
    SAME("bmi2", "bmi2");
    SAME("avx2", "avx2");
    SAME("avx512f", "avx512f");
    SAME("avx512vl", "avx512vl");
    SAME("avx512bw", "avx512bw");
    SAME("avx512dq", "avx512dq");
    SAME("avx512cd", "avx512cd");
    SAME("avx512vbmi", "avx512vbmi");
    SAME("avx512ifma", "avx512ifma");
    SAME("avx512vnni", "avx512_vnni");
    SAME("avx512bitalg", "avx512_bitalg");
    SAME("avx512vpopcntdq", "avx512_vpopcntdq");
    SAME("gfni", "gfni");
    SAME("vpclmulqdq", "vpclmulqdq");
#undef SAME
}

/* What generated code uses is what the kernel lists, too. Other features may differ: the kernel masks rdseed on some
 * CPUs, and does not know every new one. */
static void agrees_with_the_kernel(void **state)
{
    (void)state;
    static const char *const row[][2] = {
#define X86(id, name, a, b, c, leaf, reg, bit, save, flag, ...) {name, flag},
#include "base/features.def"
    };
    tn_cpu_set s = tn_cpu_detect();
    if (access("/proc/cpuinfo", R_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (*row[i][1] && tn_cpu_set_has(s, row[i][0]) != kernel_lists(row[i][1]))
            fail_msg("%s: cpuid and /proc/cpuinfo differ", row[i][0]);
}

/* A kernel that switched features off: what it does not list goes, with all that needs it. */
static void the_kernel_switches_off(void **state)
{
    (void)state;
#define SSE "fpu sse sse2 pni ssse3 sse4_1 sse4_2"
#define AVX " avx f16c fma avx2 bmi1 bmi2"
#define AVX512 " avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni"
#define AMX " amx_bf16 amx_tile amx_int8"
    static const struct {
        const char *cpuinfo, *has, *lacks;
    } row[] = {
        {"processor\t: 0\nflags\t\t: " SSE AVX AVX512 AMX "\n",
         "avx512f avx512vnni avx512fp16 avxvnni amx-int8 rdseed vaes",
         ""}, /* rdseed is not listed and not used */
        {"processor\t: 0\nflags\t\t: " SSE AVX "\nbugs\t\t: avx512f\nflags\t\t: " SSE AVX AVX512 "\n",
         "avx2 fma f16c avxvnni",
         "avx512f avx512vl avx512vnni avx512bf16 avx512fp16 amx-tile amx-bf16 amx-fp16"},
        {"\nflags\t\t: " SSE AVX " avx512f avx512dq avx512cd avx512vl avx512_vnni\n",
         "avx512f avx512vnni avx512ifma", "avx512bw avx512bf16 avx512vbmi2 avx512fp16"},
        {"\nflags\t\t: " SSE AVX AVX512 " amx_tile amx_bf16\n", "amx-tile amx-bf16", "amx-int8"},
        {"\nflags\t\t: " SSE " f16c fma avx2" AVX512 "\n", "sse4.2",
         "avx avx2 fma f16c avx512f avxvnni vaes"},
        {"\nflags\t\t: fpu sse2\n", "sse2 popcnt", "sse3 ssse3 sse4.2 avx avx512f"},
        {"", "avx512f amx-tile", ""},
        {"\nflags\t\t: fpu sse2 pni", "avx512f amx-tile", ""},    /* cut off in mid-line */
        {"\nFeatures\t: fp asimd\n", "avx512f amx-tile", ""},     /* another architecture */
        {"\nflags\t\t: \nbugs\t: fpu\n", "avx512f amx-tile", ""}, /* nothing is listed */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_cpu_set s = tn_cpu_set_listed((tn_cpu_set){~(uint64_t)0}, row[i].cpuinfo);
        const char *const list[] = {row[i].lacks, row[i].has};
        for (int has = 0; has < 2; has++) {
            char text[200], *rest = text;
            snprintf(text, sizeof text, "%s", list[has]);
            for (char *name; (name = strtok_r(rest, " ", &rest));)
                if (tn_cpu_set_has(s, name) != has)
                    fail_msg("row %zu: %s is %sthere", i, name, has ? "not " : "");
        }
    }
}

static void caches_are_plausible(void **state)
{
    (void)state;
    uint64_t l1 = tn_cpu_cache_bytes(1), l2 = tn_cpu_cache_bytes(2);
    assert_true(l1 == 0 || (l1 >= 4096 && l1 <= 1 << 20));
    assert_true(l2 == 0 || l2 >= l1);
    assert_int_equal(tn_cpu_cache_bytes(0), 0);
    assert_in_range(tn_cpu_base_mhz(), 0, 10000);
}

static void memory_is_evicted(void **state)
{
    (void)state;
    char at[1000];
    memset(at, 7, sizeof at);
    assert_true(tn_cpu_evict(at + 3, 900)); /* what it holds stays */
    for (size_t i = 0; i < sizeof at; i++)
        assert_int_equal(at[i], 7);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_bits_agree),     cmocka_unit_test(implications),
#if defined(__x86_64__)
        cmocka_unit_test(agrees_with_the_compiler), cmocka_unit_test(agrees_with_the_kernel),
        cmocka_unit_test(the_kernel_switches_off),  cmocka_unit_test(caches_are_plausible),
        cmocka_unit_test(memory_is_evicted),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
