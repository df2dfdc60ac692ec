/* base/cpu: against the compiler's own detection, /proc/cpuinfo's flags and what the features imply. */
#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(name[i], name[k]);
        }
    }
    assert_int_equal(tn_cpu_set_names(none, name, 0), 0);
    size_t n = tn_cpu_set_names(here, name, TN_CPU_FEATURES);
    for (size_t i = 0; i < n; i++) {
        assert_true(tn_cpu_has(name[i]));
    }
    assert_false(tn_cpu_has("no-such-feature"));
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
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_true(!tn_cpu_set_has(s, row[i][0]) || tn_cpu_set_has(s, row[i][1]));
    }
#if defined(__x86_64__)
    assert_true(tn_cpu_set_has(s, "sse2")); /* part of the ABI */
#elif defined(__aarch64__)
    assert_true(tn_cpu_set_has(s, "neon"));
#endif
    assert_true(!tn_cpu_permit_tiles() || tn_cpu_set_has(s, "amx-tile"));
}

#if defined(__x86_64__)
static void agrees_with_the_compiler(void **state)
{
    (void)state;
    tn_cpu_set s = tn_cpu_detect();
    __builtin_cpu_init();
#define SAME(name) assert_int_equal(tn_cpu_set_has(s, name), !!__builtin_cpu_supports(name))
    SAME("sse3");
    SAME("ssse3");
    SAME("sse4.1");
    SAME("sse4.2");
    SAME("popcnt");
    SAME("aes");
    SAME("avx");
    SAME("fma");
    SAME("bmi");
    SAME("bmi2");
    SAME("avx2");
    SAME("avx512f");
    SAME("avx512vl");
    SAME("avx512bw");
    SAME("avx512dq");
    SAME("avx512cd");
    SAME("avx512vbmi");
    SAME("avx512ifma");
    SAME("avx512vnni");
    SAME("avx512bitalg");
    SAME("avx512vpopcntdq");
    SAME("gfni");
    SAME("vpclmulqdq");
#undef SAME
}

/* Linux lists a flag if the CPU has it and the kernel enabled it: the same question, asked elsewhere. */
static void agrees_with_the_kernel(void **state)
{
    (void)state;
    static const char *const row[][2] = {
        {"avx512fp16", "avx512_fp16"},
        {"avx512bf16", "avx512_bf16"},
        {"amx-tile", "amx_tile"},
        {"amx-int8", "amx_int8"},
        {"amx-bf16", "amx_bf16"},
        {"avxvnni", "avx_vnni"},
        {"f16c", "f16c"},
        {"movbe", "movbe"},
        {"lzcnt", "abm"},
        {"sha", "sha_ni"},
        {"vaes", "vaes"},
        {"pclmul", "pclmulqdq"},
        {"cx16", "cx16"},
        {"sahf", "lahf_lm"},
        {"adx", "adx"},
        {"rdrnd", "rdrand"},
        {"avx512vbmi2", "avx512_vbmi2"},
        {"prfchw", "3dnowprefetch"},
        {"rdseed", "rdseed"},
        {"clwb", "clwb"},
    };
    FILE *f = fopen("/proc/cpuinfo", "r");
    static char line[16384];
    if (!f) {
        skip();
    }
    while (fgets(line, sizeof line - 1, f) && strncmp(line, "flags", 5) != 0) {}
    fclose(f);
    line[strcspn(line, "\n")] = ' ';
    tn_cpu_set s = tn_cpu_detect();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char flag[32];
        snprintf(flag, sizeof flag, " %s ", row[i][1]);
        if (tn_cpu_set_has(s, row[i][0]) != (strstr(line, flag) != NULL)) {
            fail_msg("%s: cpuid and /proc/cpuinfo differ", row[i][0]);
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
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_bits_agree),
        cmocka_unit_test(implications),
#if defined(__x86_64__)
        cmocka_unit_test(agrees_with_the_compiler),
        cmocka_unit_test(agrees_with_the_kernel),
        cmocka_unit_test(caches_are_plausible),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
