#ifndef TN_BASE_CPU_H
#define TN_BASE_CPU_H
/* Features of the CPU this process runs on, by LLVM's names ("avx512f", "amx-tile", "sse4.2", "neon").
 *
 * A feature counts only if the operating system saves its registers (XCR0). A feature that generated code uses counts
 * only if the kernel lists it, too: clearcpuid=avx512f and errata switch features off that cpuid still reports.
 * Nothing is allocated. Detection runs cpuid, which a hypervisor may trap (microseconds), and reads /proc/cpuinfo:
 * detect once, then ask the set. CPU models are never named.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_cpu_set {
    uint64_t bits;
} tn_cpu_set; /* bit i: row i of features.def */

tn_cpu_set tn_cpu_detect(void);
/* Whether the set holds the feature; false for names that this build does not know. */
bool tn_cpu_set_has(tn_cpu_set set, const char *feature);
/* Names the set's features in the table's order into out_name (room entries, static texts); returns how many there
 * are. TN_CPU_FEATURES is always room enough. */
enum { TN_CPU_FEATURES = 64 };
size_t tn_cpu_set_names(tn_cpu_set set, const char **out_name, size_t room);
bool tn_cpu_has(const char *feature); /* detects, then asks */
/* The set without what the kernel switched off: `cpuinfo` is the text of /proc/cpuinfo; its first line of flags counts.
 * A feature that generated code uses and that is not listed goes, and all that need it. A text without a whole
 * line of flags changes nothing. */
tn_cpu_set tn_cpu_set_listed(tn_cpu_set set, const char *cpuinfo);

/* Linux lets a process use AMX tiles only after it asked once; threads inherit the leave. Called for each feature of a
 * package before its first kernel runs. False: the system does not allow what the feature needs. */
bool tn_cpu_permit(const char *feature);

/* Takes memory out of all caches of data. false: this CPU has no instruction for it that a process may use. */
bool tn_cpu_evict(const void *at, size_t n);

/* Bytes of the data or unified cache of a level (1, 2, 3) from cpuid; 0: unknown. */
uint64_t tn_cpu_cache_bytes(unsigned level);
/* What the CPU calls itself, for people; "" where it does not say. */
enum { TN_CPU_NAME_BYTES = 49 };
void tn_cpu_name(char out[TN_CPU_NAME_BYTES]);
/* A number that machines with different CPUs, or under different hypervisors, do not share. */
uint64_t tn_cpu_identity(void);
/* Base clock in MHz from cpuid; 0: unknown. */
unsigned tn_cpu_base_mhz(void);

#endif
