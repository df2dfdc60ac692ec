/* What this build is and which machine it sees, as text for people and as a machine description. */
#include "base/cpu.h"
#include "driver/driver.h"

#ifndef TENON_COMMIT
#define TENON_COMMIT "unknown"
#endif

typedef struct rate {
    const char *name;
    double value;
    const char *unit, *from;
} rate;

static void llvm_line(tn_buf *out)
{
    const tn_llvm_api *api;
    unsigned v[3];
    if (tn_llvm_open(NULL, &api) != TN_OK) {
        tn_buf_str(out, "LLVM        not installed\n");
        return;
    }
    api->llvm_version(v);
    tn_buf_printf(out, "LLVM        %u.%u.%u\n", v[0], v[1], v[2]);
}

static void bytes_text(tn_buf *out, uint64_t bytes)
{
    bool mebi = bytes >= 1 << 20 && bytes % (1 << 20) == 0;
    if (!bytes)
        tn_buf_str(out, "none");
    else
        tn_buf_printf(out, "%llu %s", (unsigned long long)(mebi ? bytes >> 20 : bytes >> 10),
                      mebi ? "MiB" : "KiB");
}

static void caches_line(const tn_machine *m, tn_buf *out)
{
    const uint64_t level[] = {m->l1_bytes, m->l2_bytes, m->l3_bytes};
    tn_buf_str(out, "caches      ");
    for (int i = 0; i < 3; i++) {
        tn_buf_printf(out, "%sL%d ", i ? ", " : "", i + 1);
        bytes_text(out, level[i]);
    }
    tn_buf_str(out, " (sysfs, else cpuid)\n");
}

static void machine_lines(const tn_machine *m, tn_buf *out)
{
    static const char formula[] = "from the features and the clock";
    const char *rates = m->rates_from ? m->rates_from : formula,
               *clock = m->clock_from ? m->clock_from : "assumed";
    bool tiles = tn_machine_can(m, TN_CAN_TILES);
    const rate row[] = {
        {"clock", m->clock_ghz, "GHz", clock},
        {"float32", m->peak_gflops, "GFLOP/s a core", rates},
        {"int8", m->int8_gops, "Gop/s a core", tiles ? formula : rates},
        {"bfloat16", m->bf16_gflops, "GFLOP/s a core", tiles ? formula : rates},
        {"L1", m->l1_gb_s, "GB/s a core", formula},
        {"L2", m->l2_gb_s, "GB/s a core", formula},
        {"L3", m->l3_gb_s, "GB/s a core", formula},
        {"memory", m->mem_gb_s, "GB/s a core", formula},
    };
    tn_buf_printf(out, "cores       %u (sysfs and the process's affinity)\n", m->cores);
    tn_buf_printf(
        out, "vectors     %u bits, %u registers, tiles for %u multiply-adds a cycle (from the features)\n",
        m->vector_bits, m->n_vector_regs, m->fma_ports);
    caches_line(m, out);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].value > 0)
            tn_buf_printf(out, "%-11s %.4g %s (%s)\n", row[i].name, row[i].value, row[i].unit, row[i].from);
}

tn_status tn_about(tn_ctx *ctx, tn_buf *out_text, tn_buf *out_machine)
{
    tn_machine m;
    char cpu[TN_CPU_NAME_BYTES];
    TN_TRY(tn_machine_detect(ctx, &m));
    tn_cpu_name(cpu);
    tn_buf_printf(out_text, "commit      %s\n", TENON_COMMIT);
    llvm_line(out_text);
    tn_buf_printf(out_text, "CPU         %s\ntriple      %s\nfeatures   ", *cpu ? cpu : "unknown", m.triple);
    for (size_t i = 0; i < m.n_feature; i++)
        tn_buf_printf(out_text, "%s%s", i && i % 10 == 0 ? "\n            " : " ", m.feature[i]);
    tn_buf_str(out_text, "\n");
    machine_lines(&m, out_text);
    tn_machine_print(&m, out_machine);
    return TN_OK;
}
