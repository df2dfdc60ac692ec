/* machine: the files of tests/machines, printing that reads back, refusals by name, detection from a made-up /sys. */
#include "base/cpu.h"
#include "base/thread.h"
#include "machine/machine.h"
#include "machine/measure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void equal(const tn_machine *a, const tn_machine *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->triple, b->triple);
    assert_int_equal(a->n_feature, b->n_feature);
    for (size_t i = 0; i < a->n_feature; i++)
        assert_string_equal(a->feature[i], b->feature[i]);
    size_t from = offsetof(tn_machine, cores);
    assert_memory_equal((const char *)a + from, (const char *)b + from, sizeof *a - from);
}

static void load(tn_ctx *c, const char *name, tn_machine *out)
{
    const char *root = getenv("TENON_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/machines/%s.json", root ? root : ".", name);
    if (tn_machine_read(c, path, out) != TN_OK)
        fail_msg("%s: %s", path, c->diag[0].message);
}

static void test_machines(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t bits, regs, cores;
        int fma, avx512;
        double peak, int8;
        uint64_t l1, l2, l3;
    } row[] = {
        {"avx512", 512, 32, 2, 1, 1, 176, 704, 48 << 10, 2 << 20, 260 << 20},
        {"amx", 512, 32, 2, 1, 1, 216, 0.9 * 2048 * 3.4, 48 << 10, 2 << 20, 480 << 20},
        {"i8mm", 128, 32, 4, 1, 0, 41.6, 0.9 * 128 * 2.6, 64 << 10, 1 << 20, 32 << 20},
        {"avx2", 256, 16, 4, 1, 0, 96, 128, 32 << 10, 256 << 10, 8 << 20}, /* 8 lanes * 2 ports * 2 * 3 GHz */
        {"generic", 128, 16, 1, 0, 0, 16, 16, 32 << 10, 256 << 10, 0},     /* 4 lanes * 2 * 2 GHz */
    };
    tn_ctx c;
    tn_ctx_init(&c);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_machine m, back;
        load(&c, row[i].name, &m);
        assert_int_equal(m.vector_bits, row[i].bits);
        assert_int_equal(m.n_vector_regs, row[i].regs);
        assert_int_equal(m.cores, row[i].cores);
        assert_int_equal(tn_machine_can(&m, TN_CAN_FMA), row[i].fma);
        assert_int_equal(tn_machine_has(&m, "avx512f"), row[i].avx512);
        assert_int_equal(tn_machine_has(&m, "amx-tile"), strcmp(row[i].name, "amx") == 0);
        assert_true(m.peak_gflops == row[i].peak);
        assert_true(m.int8_gops == row[i].int8);
        assert_int_equal(m.bf16_gflops > 0, tn_machine_has(&m, "amx-bf16"));
        assert_true(m.l1_bytes == row[i].l1 && m.l2_bytes == row[i].l2 && m.l3_bytes == row[i].l3);
        assert_true(m.l1_gb_s > m.l2_gb_s && m.l2_gb_s > m.l3_gb_s && m.l3_gb_s > m.mem_gb_s &&
                    m.mem_gb_s > 0);
        tn_buf b = {0};
        tn_machine_print(&m, &b);
        assert_int_equal(tn_machine_parse(&c, "printed", b.at, b.n, &back), TN_OK);
        equal(&m, &back);
        tn_buf_deinit(&b);
    }
    assert_int_equal(c.n_diag, 0);
    tn_ctx_deinit(&c);
}

#define HEAD "{\"name\": \"a\", \"triple\": \"x86_64\", \"features\": [], \"cores\": 1, "
#define MID "\"vector_registers\": 16, \"fma_ports\": 1, \"clock_ghz\": 2, \"l1_bytes\": 1, \"l2_bytes\": 2, "
#define FULL HEAD "\"vector_bits\": 128, " MID "\"l3_bytes\": 3"

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } row[] = {
        {"{\n  \"name\": x}", "f.json:2:11: error: not valid JSON: expected a value [machine-E001]\n"},
        {"", "f.json:1:1: error: not valid JSON: the text ends instead of a value [machine-E001]\n"},
        {"[]", "f.json: error: a machine description must be a JSON object [machine-E001]\n"},
        {FULL ", \"l1_byte\": 3}",
         "f.json: error: unknown member \"l1_byte\"; remove it, or correct its name [machine-E002]\n"},
        {HEAD "\"vector_bits\": 128, " MID "\"l1_gb_s\": 1}",
         "f.json: error: member \"l3_bytes\" is missing; add it [machine-E003]\n"},
        {HEAD "\"vector_bits\": 100, " MID "\"l3_bytes\": 3}",
         "f.json: error: member \"vector_bits\" must be a power of two [machine-E004]\n"},
        {HEAD "\"vector_bits\": 16, " MID "\"l3_bytes\": 3}",
         "f.json: error: member \"vector_bits\" must be from 32 to 16384 [machine-E004]\n"},
        {HEAD "\"vector_bits\": 128.0, " MID "\"l3_bytes\": 3}",
         "f.json: error: member \"vector_bits\" must be an integer [machine-E004]\n"},
        {HEAD "\"vector_bits\": \"128\", " MID "\"l3_bytes\": 3}",
         "f.json: error: member \"vector_bits\" must be an integer [machine-E004]\n"},
        {HEAD "\"vector_bits\": 128, " MID "\"l3_bytes\": -1}",
         "f.json: error: member \"l3_bytes\" must be from 0 to 1.1259e+15 [machine-E004]\n"},
        {FULL ", \"peak_gflops\": 0}",
         "f.json: error: member \"peak_gflops\" must be from 1e-06 to 1e+09 [machine-E004]\n"},
        {FULL ", \"peak_gflops\": null}",
         "f.json: error: member \"peak_gflops\" must be a number [machine-E004]\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_ctx_init(&c);
        tn_machine m;
        assert_int_equal(tn_machine_parse(&c, "f.json", row[i].text, strlen(row[i].text), &m), TN_FAIL);
        tn_buf b = {0};
        tn_diag_print_all(&c, &b);
        assert_string_equal(tn_buf_cstr(&b), row[i].line);
        tn_buf_deinit(&b);
        tn_ctx_deinit(&c);
    }
    tn_ctx c;
    tn_ctx_init(&c);
    tn_machine m;
    static const char many[] =
        "{\"name\": \"\\u0007\", \"features\": [\"AVX\"], \"clock_ghz\": 1e9, \"gpu\": 1}";
    assert_int_equal(tn_machine_parse(&c, "f.json", many, sizeof many - 1, &m), TN_FAIL);
    assert_int_equal(c.n_error, 4 + 8); /* everything at once: four wrong, eight missing */
    tn_diag_clear(&c);
    assert_int_equal(tn_machine_read(&c, "no/such.json", &m), TN_FAIL);
    assert_string_equal(c.diag[0].id, "base-E001");
    tn_ctx_deinit(&c);
}

static void derivation(void **state)
{
    (void)state;
    static const struct {
        const char *triple, *feature[4];
        uint32_t bits, regs, ports;
        int fma;
    } row[] = {
        {"x86_64-unknown-linux-gnu", {"avx512f", "avx512fp16"}, 512, 32, 2, 1},
        {"x86_64-unknown-linux-gnu", {"avx512f"}, 512, 32, 2, 1},
        {"x86_64-unknown-linux-gnu", {"avx512f", "avx512bf16"}, 512, 32, 2, 1},
        {"x86_64-unknown-linux-gnu", {"avx512f", "avx512bf16", "vaes"}, 512, 32, 1, 1}, /* Zen 4 */
        {"x86_64-unknown-linux-gnu", {"avx512f", "avx512bf16", "vaes", "avxvnni"}, 512, 32, 2, 1},
        {"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma"}, 256, 16, 2, 1},
        {"x86_64-unknown-linux-gnu", {NULL}, 128, 16, 1, 0},
        {"i686-unknown-linux-gnu", {"sse2"}, 128, 8, 1, 0},
        {"aarch64-unknown-linux-gnu", {"neon"}, 128, 32, 2, 1},
        {"armv7-unknown-linux-gnueabihf", {"neon", "vfp4"}, 128, 16, 1, 1},
        {"thumbv7em-none-eabi", {NULL}, 32, 16, 1, 0},
        {"riscv64-unknown-linux-gnu", {"d", "v"}, 128, 32, 1, 1},
        {"wasm32-unknown-unknown", {"simd128"}, 128, 16, 1, 0},
        {"pdp11", {NULL}, 32, 16, 1, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_machine m = {.triple = row[i].triple, .feature = row[i].feature};
        while (m.n_feature < 4 && row[i].feature[m.n_feature])
            m.n_feature++;
        tn_machine_derive(&m);
        assert_int_equal(m.vector_bits, row[i].bits);
        assert_int_equal(m.n_vector_regs, row[i].regs);
        assert_int_equal(m.fma_ports, row[i].ports);
        assert_int_equal(tn_machine_can(&m, TN_CAN_FMA), row[i].fma);
        assert_true(m.peak_gflops == row[i].bits / 32.0 * row[i].ports * 2 * 2);
        assert_true(m.l1_gb_s > m.l2_gb_s && m.l2_gb_s > m.l3_gb_s && m.l3_gb_s > m.mem_gb_s &&
                    m.mem_gb_s > 0);
        assert_string_equal(m.name, m.triple);
        tn_machine again = m;
        tn_machine_derive(&again);
        equal(&m, &again); /* nothing that is set changes */
    }
    static const char *const amx[] = {"avx512f", "avx512fp16", "amx-tile", "amx-int8", "amx-bf16"};
    tn_machine m = {.triple = "x86_64", .feature = amx, .n_feature = 5, .clock_ghz = 3};
    tn_machine_derive(&m);
    assert_true(fabs(m.bf16_gflops - 2764.8) < 1e-6 && fabs(m.int8_gops - 5529.6) < 1e-6);
}

/* By architecture and features: what a machine can do, and what of it packages name. */
static void abilities(void **state)
{
    (void)state;
    enum {
        FMA = 1 << TN_CAN_FMA,
        HALF = 1 << TN_CAN_HALF,
        ROUND = 1 << TN_CAN_ROUND,
        TILES = 1 << TN_CAN_TILES
    };
    static const struct {
        const char *triple, *cpu, *list;
        unsigned can, bytes;
        bool flags;
        const char *code; /* in the order of packages */
    } row[] = {
        {"x86_64-linux-gnu", "generic", "", 0, 16, true, ""},
        {"x86_64-linux-gnu", "nehalem", "", ROUND, 16, true, "sse3 ssse3 sse4.1 sse4.2"},
        {"x86_64-linux-gnu", "haswell", "", FMA | HALF | ROUND, 32, true,
         "sse3 ssse3 sse4.1 sse4.2 avx avx2 fma f16c bmi bmi2"},
        {"x86_64-linux-gnu", NULL, "+avxvnni", ROUND, 32, true, "sse3 ssse3 sse4.1 sse4.2 avx avx2 avxvnni"},
        {"x86_64-linux-gnu", NULL, "+avx512vnni,+amx-int8", FMA | HALF | ROUND | TILES, 64, true,
         "sse3 ssse3 sse4.1 sse4.2 avx avx2 fma f16c avx512f avx512vnni amx-tile amx-int8"},
        {"i686-linux-gnu", NULL, "+sse2", 0, 16, true, ""},
        {"aarch64-linux-gnu", "generic", "", FMA | HALF | ROUND, 16, false, "fp-armv8 neon"},
        {"aarch64-linux-gnu", NULL, "+i8mm", FMA | HALF | ROUND | TILES, 16, false, "fp-armv8 neon i8mm"},
        {"arm64-linux-gnu", NULL, "+dotprod", FMA | HALF | ROUND, 16, false, "fp-armv8 neon dotprod"},
        {"armv7-linux-gnueabihf", NULL, "+neon", ROUND, 16, false, "neon vfp3 vfp2 d32"},
        {"thumbv7em-none-eabi", NULL, "+vfp4", FMA | ROUND, 16, false, "vfp4 vfp3 vfp2 d32 fp16"},
        {"riscv64-linux-gnu", "generic", "", FMA | ROUND, 16, false, "m a f d c"},
        {"loongarch64-linux-gnu", NULL, "", ROUND, 16, false, ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_machine m;
        tn_ctx_init(&c);
        tn_machine_of_triple(&c, row[i].triple, &m);
        assert_int_equal(tn_machine_attributes(&c, row[i].cpu, row[i].list, &m), TN_OK);
        for (int a = 0; a < TN_N_ABILITIES; a++)
            if (tn_machine_can(&m, (enum tn_ability)a) != (row[i].can >> a & 1))
                fail_msg("row %zu: ability %d", i, a);
        const char *code[TN_CPU_FEATURES];
        size_t n = tn_machine_code_features(&m, code);
        tn_buf text = {0};
        for (size_t k = 0; k < n; k++)
            tn_buf_printf(&text, "%s%s", k ? " " : "", code[k]);
        assert_string_equal(tn_buf_cstr(&text), row[i].code);
        assert_int_equal(tn_features_vector_bytes(n, code), row[i].bytes);
        assert_int_equal(tn_machine_has_flags(&m), row[i].flags);
        tn_machine_derive(&m);
        double lanes = m.int8_gops;
        assert_int_equal(tn_machine_tiles(&m, 1).ops_a_cycle > 0, row[i].can & TILES ? 1 : 0);
        tn_machine_without(&c, TN_CAN_TILES, &m);
        assert_false(tn_machine_can(&m, TN_CAN_TILES) || tn_machine_has(&m, "amx-int8") ||
                     tn_machine_has(&m, "i8mm"));
        assert_true(row[i].can & TILES ? m.int8_gops < lanes : m.int8_gops >= lanes);
        tn_buf_deinit(&text);
        tn_ctx_deinit(&c);
    }
    assert_true(tn_feature_is_told("fma") && !tn_feature_is_told("bmi2") && !tn_feature_is_told("neon"));
}

static void detection_here(void **state)
{
    (void)state;
    tn_ctx c;
    tn_ctx_init(&c);
    tn_machine m, again, back;
    assert_int_equal(tn_machine_detect(&c, &m), TN_OK);
    assert_int_equal(tn_machine_detect(&c, &again), TN_OK);
    equal(&m, &again);
    assert_in_range(m.cores, 1, tn_cpu_count());
    assert_in_range(m.l1_bytes, 4096, 1 << 20);
    assert_true(m.l2_bytes == 0 || m.l2_bytes >= m.l1_bytes);
    assert_true(m.clock_ghz >= 0.1 && m.clock_ghz < 20);
    for (size_t i = 0; i < m.n_feature; i++)
        assert_true(tn_cpu_has(m.feature[i]));
#if defined(__x86_64__)
    assert_int_equal(m.vector_bits, tn_cpu_has("avx512f") ? 512 : tn_cpu_has("avx") ? 256 : 128);
#endif
    tn_buf b = {0};
    tn_machine_print(&m, &b);
    assert_int_equal(tn_machine_parse(&c, "printed", b.at, b.n, &back), TN_OK);
    equal(&m, &back);
    tn_buf_deinit(&b);
    tn_ctx_deinit(&c);
}

/* Two threads a core, a second level shared by two cores: cores and caches are counted for one core. */
static void detection_from_sysfs(void **state)
{
    (void)state;
    char dir[] = "tn-sys-XXXXXX", command[4096];
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p proc sys/devices/system/cpu && cd sys/devices/system/cpu && "
             "for c in 0 1 2 3 4 5 6 7; do mkdir -p cpu$c/topology; echo 0-63 > "
             "cpu$c/topology/thread_siblings_list; done && "
             "mkdir -p cpu0/cpufreq && echo 2149000 > cpu0/cpufreq/base_frequency && "
             "add() { mkdir -p cpu0/cache/index$1; cd cpu0/cache/index$1; echo $2 > level; echo $3 > type; "
             "echo $4 > size; "
             "echo $5 > shared_cpu_list; cd ../../..; } && "
             "add 0 1 Instruction 64K 0-63 && add 1 1 Data 40K 0-63 && add 2 2 Unified 4M 0-127 && add 3 3 "
             "Unified 32768K 0-255",
             dir);
    assert_int_equal(system(command), 0);
    tn_ctx c;
    tn_ctx_init(&c);
    tn_machine m;
    assert_int_equal(tn_machine_detect_at(&c, dir, &m), TN_OK);
    assert_int_equal(m.l1_bytes, 40 << 10);
    assert_int_equal(m.l2_bytes, 2 << 20);
    assert_int_equal(m.l3_bytes, 32 << 20);
    assert_true(m.clock_ghz == 2.1);
    assert_true(m.cores == 1 || tn_cpu_count() > 8); /* all CPUs here are threads of one core there */
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(tn_machine_detect_at(&c, "/no/such", &m), TN_OK);
    assert_true(m.l1_bytes >= 4096 && m.clock_ghz > 0 && m.cores >= 1);
    tn_ctx_deinit(&c);
}

/* A list of features on a machine of avx512 class: what it makes of them, and of the vectors. */
static void attributes(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *list, *has, *lacks, *error;
        uint32_t bits;
    } row[] = {
        {"avx512", "+avx2,+fma", "sse4.2 avx avx2 fma sse2 cx8", "avx512f avx512vl avx512vnni f16c bmi", NULL,
         256},
        {"generic", "+avx512vnni", "avx512f avx2 fma f16c sse4.1", "avx512bw avx512vl", NULL, 512},
        {"avx512", "-avx512f", "avx2 fma f16c popcnt", "avx512f avx512bw avx512cd avx512vl avx512vnni", NULL,
         256},
        {"avx512", "-avx", "sse4.2 popcnt", "avx avx2 fma f16c avx512f", NULL, 128},
        {"avx512", "+avx512bw,-avx2,+fma", "fma avx sse3", "avx2 avx512f avx512bw", NULL, 256},
        {"avx512", "+sse4.1", "sse4.1 ssse3", "sse4.2 avx popcnt", NULL, 128},
        {"avx512", "-popcnt,", "avx512vl", "popcnt", NULL, 512},
        {"avx512", "", "avx512vl popcnt", "amx-tile", NULL, 512},
        {"avx512", "+nosuch", NULL, NULL, "machine-E005", 0},
        {"avx512", "-sse42", NULL, NULL, "machine-E005", 0},
        {"avx512", "+avx2,fma", NULL, NULL, "machine-E006", 0},
        {"avx512", "+", NULL, NULL, "machine-E006", 0},
        {"avx512", "-sse2", NULL, NULL, "machine-E007", 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_machine m;
        tn_ctx_init(&c);
        load(&c, row[i].machine, &m);
        tn_status st = tn_machine_attributes(&c, NULL, row[i].list, &m);
        if (row[i].error) {
            assert_int_equal(st, TN_FAIL);
            assert_string_equal(c.diag[0].id, row[i].error);
            tn_ctx_deinit(&c);
            continue;
        }
        assert_int_equal(st, TN_OK);
        tn_machine_derive(&m);
        const char *const list[] = {row[i].lacks, row[i].has};
        for (int has = 0; has < 2; has++) {
            char text[200], *rest = text;
            snprintf(text, sizeof text, "%s", list[has]);
            for (char *name; (name = strtok_r(rest, " ", &rest));)
                if (tn_machine_has(&m, name) != has)
                    fail_msg("%s: %s is %sthere", row[i].list, name, has ? "not " : "");
        }
        assert_int_equal(m.vector_bits, row[i].bits);
        assert_int_equal(m.n_vector_regs, row[i].bits == 512 ? 32 : 16);
        assert_true(m.l1_gb_s == m.vector_bits / 8.0 * m.clock_ghz && m.cores >= 1);
        tn_ctx_deinit(&c);
    }
    tn_ctx c;
    tn_ctx_init(&c);
    tn_machine m = {.triple = "x86_64-linux-gnu"};
    assert_int_equal(tn_machine_attributes(&c, NULL, "+avx512vnii", &m), TN_FAIL);
    assert_non_null(strstr(c.diag[0].message, "did you mean avx512vnni?"));
    tn_ctx_deinit(&c);
}

/* Lists on machines of which only the triple is known: all that they have then, or the error. */
static void attributes_of_triples(void **state)
{
    static const struct {
        const char *triple, *list, *has;
    } row[] = {
        {"x86_64-linux-gnu", "+sse3", "cmov cx8 mmx fxsr sse sse2 sse3"},
        {"i686-linux-gnu", "+sse2", "sse2 sse"},
        {"aarch64-linux-gnu", "", "fp-armv8 neon"},
        {"aarch64-linux-gnu", "+sve2,+dotprod", "fp-armv8 neon sve2 sve fullfp16 dotprod"},
        {"aarch64-linux-gnu", "+sve2,-fullfp16", "fp-armv8 neon"},
        {"arm64-apple-ios", "+crc", "fp-armv8 neon crc"},
        {"armv7-linux-gnueabihf", "+neon", "neon vfp3 vfp2 d32"},
        {"thumbv7-none-eabi", "+vfp4,-d32", "vfp2 fp16"},
        {"riscv64-linux-gnu", "", "m a f d c"},
        {"riscv64-linux-gnu", "+v,+zfh", "m a f d c v zfh zfhmin"},
        {"aarch64-linux-gnu", "-neon", "machine-E007 every AArch64 machine has neon"},
        {"aarch64-linux-gnu", "-fp-armv8", "machine-E007 every AArch64 machine has fp-armv8"},
        {"riscv64-linux-gnu", "-f", "machine-E007 every RISC-V machine has f"},
        {"aarch64-linux-gnu", "+avx2", "machine-E005 unknown AArch64 feature \"avx2\"; use LLVM's names"},
        {"aarch64-linux-gnu", "+svee2", "machine-E005 unknown AArch64 feature \"svee2\"; did you mean sve2?"},
        {"armv7-linux-gnueabihf", "+sve", "machine-E005 unknown Arm feature \"sve\""},
        {"riscv64-linux-gnu", "+neon", "machine-E005 unknown RISC-V feature \"neon\""},
        {"powerpc64le-linux-gnu", "+vsx", "machine-E008 no features of this architecture are known"},
        {"powerpc64le-linux-gnu", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_machine m;
        char text[400] = "";
        tn_ctx_init(&c);
        tn_machine_of_triple(&c, row[i].triple, &m);
        if (tn_machine_attributes(&c, NULL, row[i].list, &m) != TN_OK) {
            assert_int_equal(strncmp(row[i].has, c.diag[0].id, 12), 0);
            if (!strstr(c.diag[0].message, row[i].has + 13))
                fail_msg("%s %s: %s", row[i].triple, row[i].list, c.diag[0].message);
            tn_ctx_deinit(&c);
            continue;
        }
        for (size_t k = 0; k < m.n_feature; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? " " : "", m.feature[k]);
        assert_string_equal(text, row[i].has);
        tn_ctx_deinit(&c);
    }
}

/* What CPU names stand for, as clang -march and -mcpu say. */
static void cpu_names(void **state)
{
    static const struct {
        const char *triple, *cpu, *list, *has, *lacks;
    } row[] = {
        {"x86_64-linux-gnu", "skylake-avx512", "",
         "sse2 avx2 fma f16c avx512f avx512bw avx512cd avx512dq avx512vl aes", "avx512vnni amx-tile"},
        {"x86_64-linux-gnu", "skx", "", "avx512vl", "avx512vnni"},
        {"x86_64-linux-gnu", "skylake", "", "avx2 fma bmi2", "avx512f"},
        {"x86_64-linux-gnu", "tigerlake", "", "avx512vnni avx512vbmi2", "avx512bf16"},
        {"x86_64-linux-gnu", "broadwell", "", "avx2 fma adx", "avx512f clflushopt"},
        {"x86_64-linux-gnu", "cascadelake", "", "avx512vnni", "avx512bf16 amx-int8"},
        {"x86_64-linux-gnu", "icelake-server", "", "avx512vnni avx512vbmi gfni", "avx512bf16"},
        {"x86_64-linux-gnu", "sapphirerapids", "", "amx-tile amx-int8 amx-bf16 avx512fp16 avxvnni",
         "amx-fp16"},
        {"x86_64-linux-gnu", "core-avx2", "", "avx2 fma", "adx"},
        {"x86_64-linux-gnu", "haswell", "", "avx2 fma", "adx"},
        {"x86_64-linux-gnu", "znver1", "", "avx2 fma sha", "avx512f vaes"},
        {"x86_64-linux-gnu", "znver4", "", "avx512vnni avx512bf16", "avxvnni avx512fp16"},
        {"x86_64-linux-gnu", "znver5", "", "avx512vnni avx512bf16 avxvnni", "avx512fp16 amx-tile"},
        {"x86_64-linux-gnu", "x86-64", "", "sse2", "sse3"},
        {"x86_64-linux-gnu", "x86-64-v2", "", "sse4.2 popcnt", "avx"},
        {"x86_64-linux-gnu", "x86-64-v3", "", "avx2 fma bmi2 movbe", "avx512f"},
        {"x86_64-linux-gnu", "x86-64-v4", "", "avx512f avx512vl avx512bw", "avx512vnni"},
        {"x86_64-linux-gnu", "generic", "", "sse2", "sse3"},
        {"x86_64-linux-gnu", "skylake", "+avx512vnni", "avx512f avx512vnni clflushopt", "avx512bw"},
        {"x86_64-linux-gnu", "znver4", "-avx512f", "avx2 vaes", "avx512f avx512vnni"},
        {"aarch64-linux-gnu", "cortex-a72", "", "neon fp-armv8 aes crc", "dotprod lse"},
        {"aarch64-linux-gnu", "neoverse-n1", "", "dotprod fullfp16 lse", "sve i8mm"},
        {"aarch64-linux-gnu", "apple-m1", "", "dotprod fullfp16 fp16fml sha3", "i8mm"},
        {"aarch64-linux-gnu", "neoverse-v2", "+aes", "sve2 i8mm bf16 aes", "sha3"},
        {"armv7-linux-gnueabihf", "cortex-a9", "", "neon vfp3 fp16", "vfp4"},
        {"riscv64-linux-gnu", "sifive-u74", "", "m a f d c", "v"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_ctx c;
        tn_machine m;
        tn_ctx_init(&c);
        tn_machine_of_triple(&c, row[i].triple, &m);
        assert_int_equal(tn_machine_attributes(&c, row[i].cpu, row[i].list, &m), TN_OK);
        const char *const list[] = {row[i].lacks, row[i].has};
        for (int has = 0; has < 2; has++) {
            char text[200], *rest = text;
            snprintf(text, sizeof text, "%s", list[has]);
            for (char *name; (name = strtok_r(rest, " ", &rest));)
                if (tn_machine_has(&m, name) != has || !tn_machine_knows(&m, name))
                    fail_msg("%s: %s is %sthere", row[i].cpu, name, has ? "not " : "");
        }
        assert_string_equal(m.name, row[i].cpu);
        tn_ctx_deinit(&c);
    }
    static const struct {
        const char *triple, *cpu, *id, *text;
    } wrong[] = {
        {"x86_64-linux-gnu", "skylakx", "machine-E009",
         "unknown x86 CPU \"skylakx\"; did you mean skylake? Known CPUs:"},
        {"x86_64-linux-gnu", "cortex-a72", "machine-E009", " znver5"},
        {"x86_64-linux-gnu", "", "machine-E009", "unknown x86 CPU \"\""},
        {"aarch64-linux-gnu", "apple-m11", "machine-E009", "did you mean apple-a11?"},
        {"powerpc64le-linux-gnu", "power9", "machine-E010", "no CPUs of this architecture"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_ctx c;
        tn_machine m;
        tn_ctx_init(&c);
        tn_machine_of_triple(&c, wrong[i].triple, &m);
        assert_int_equal(tn_machine_attributes(&c, wrong[i].cpu, "", &m), TN_FAIL);
        assert_string_equal(c.diag[0].id, wrong[i].id);
        if (!strstr(c.diag[0].message, wrong[i].text))
            fail_msg("%s: %s", wrong[i].cpu, c.diag[0].message);
        tn_ctx_deinit(&c);
    }
}

/* Every feature that this build can detect may be asked for. */
static void attributes_of_detection(void **state)
{
    (void)state;
    const char *name[TN_CPU_FEATURES];
    size_t n = tn_cpu_set_names((tn_cpu_set){UINT64_MAX}, name, TN_CPU_FEATURES);
    tn_ctx c;
    tn_ctx_init(&c);
    for (size_t i = 0; i < n; i++) {
        tn_machine m = {.triple = "x86_64-linux-gnu"};
        char list[64];
        snprintf(list, sizeof list, "+%s", name[i]);
#if defined(__x86_64__)
        if (tn_machine_attributes(&c, NULL, list, &m) != TN_OK || !tn_machine_has(&m, name[i]))
            fail_msg("%s", list);
#endif
    }
    tn_ctx_deinit(&c);
}

/* Rates that were measured: sound, kept, and measured again where what is kept is damaged. */
static void measured_rates(void **state)
{
    (void)state;
    tn_rates a, b, c;
    char dir[] = "tn-rates-XXXXXX", cwd[3000], path[4096], command[8192];
    const char *old = getenv("XDG_CACHE_HOME");
    char *saved = old ? strdup(old) : NULL;
    if (!tn_rates_measure(&a)) {
        free(saved);
        skip();
    }
    assert_true(a.clock_ghz > 0.05 && a.clock_ghz < 20 && a.fma_gflops >= 0);
    assert_non_null(mkdtemp(dir));
    assert_non_null(getcwd(cwd, sizeof cwd));
    snprintf(path, sizeof path, "%s/%s", cwd, dir);
    setenv("XDG_CACHE_HOME", path, 1);
    assert_true(tn_rates_get(&a) && tn_rates_get(&b));
    assert_memory_equal(&a, &b, sizeof a); /* the second is the file's */
    static const char *const damage[] = {
        "printf x | dd of=$f bs=1 seek=20 conv=notrunc 2>/dev/null",
        ": >$f",
        "printf x >>$f",
        "rm $f; mkdir $f",
        "rm -r %s/tenon; : >%s/tenon", /* the folder cannot be made */
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        snprintf(command, sizeof command, "f=$(ls -d %s/tenon/rates-*); ", path);
        size_t n = strlen(command);
        snprintf(command + n, sizeof command - n, damage[i], path, path);
        assert_int_equal(system(command), 0);
        assert_true(tn_rates_get(&c) && c.clock_ghz > 0.05);
    }
    snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
    assert_int_equal(saved ? setenv("XDG_CACHE_HOME", saved, 1) : unsetenv("XDG_CACHE_HOME"), 0);
    free(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),
        cmocka_unit_test(refusals),
        cmocka_unit_test(derivation),
        cmocka_unit_test(abilities),
        cmocka_unit_test(detection_here),
        cmocka_unit_test(detection_from_sysfs),
        cmocka_unit_test(attributes),
        cmocka_unit_test(attributes_of_detection),
        cmocka_unit_test(attributes_of_triples),
        cmocka_unit_test(cpu_names),
        cmocka_unit_test(measured_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
