/* Code for another machine than the one at hand: whether Tenon can make it, what it takes to link it, and whether a
 * linked library is for the machine that was asked for. Architectures are known by how triples begin, systems by the
 * other parts of a triple, ELF files by e_machine. */
#include "base/wire/elf.h"
#include "driver/driver.h"

#include <elf.h>
#include <string.h>

/* The runtime and the tables of a library are for 64-bit little-endian machines. */
enum kind { GOOD, BITS_32, BIG_ENDIAN };
static const char *const kind_name[] = {"", "a 32-bit machine", "a big-endian machine"};

/* The first row that begins the triple's first part. */
static const struct arch {
    const char *begins;
    uint16_t machine;
    enum kind kind;
} known[] = {
    {"x86_64", EM_X86_64, GOOD},
    {"amd64", EM_X86_64, GOOD},
    {"i386", EM_386, BITS_32},
    {"i486", EM_386, BITS_32},
    {"i586", EM_386, BITS_32},
    {"i686", EM_386, BITS_32},
    {"aarch64_be", EM_AARCH64, BIG_ENDIAN},
    {"aarch64_32", EM_AARCH64, BITS_32},
    {"aarch64", EM_AARCH64, GOOD},
    {"arm64_32", EM_AARCH64, BITS_32},
    {"arm64", EM_AARCH64, GOOD},
    {"arm", EM_ARM, BITS_32},
    {"thumb", EM_ARM, BITS_32},
    {"riscv64", EM_RISCV, GOOD},
    {"riscv32", EM_RISCV, BITS_32},
    {"loongarch64", EM_LOONGARCH, GOOD},
    {"loongarch32", EM_LOONGARCH, BITS_32},
    {"powerpc64le", EM_PPC64, GOOD},
    {"ppc64le", EM_PPC64, GOOD},
    {"powerpc64", EM_PPC64, BIG_ENDIAN},
    {"ppc64", EM_PPC64, BIG_ENDIAN},
    {"powerpc", EM_PPC, BITS_32},
    {"ppc", EM_PPC, BITS_32},
    {"s390x", EM_S390, BIG_ENDIAN},
    {"mips64el", EM_MIPS, GOOD},
    {"mipsisa64r6el", EM_MIPS, GOOD},
    {"mips64", EM_MIPS, BIG_ENDIAN},
    {"mips", EM_MIPS, BITS_32},
    {"sparcv9", EM_SPARCV9, BIG_ENDIAN},
    {"sparc64", EM_SPARCV9, BIG_ENDIAN},
    {"sparc", EM_SPARC, BITS_32},
    {"m68k", EM_68K, BITS_32},
    {"hexagon", EM_QDSP6, BITS_32},
    {"avr", EM_AVR, BITS_32},
};
enum { KNOWN = sizeof known / sizeof *known };

/* How a part of a triple after the first begins, and which system that is; NULL: Linux, or what goes with it. */
static const struct {
    const char *begins, *system;
} systems[] = {
    {"windows", "Windows"},
    {"mingw", "Windows"},
    {"win32", "Windows"},
    {"cygwin", "Windows"},
    {"coff", "Windows"},
    {"uefi", "UEFI"},
    {"darwin", "macOS"},
    {"macho", "macOS"},
    {"macos", "macOS"},
    {"ios", "iOS"},
    {"tvos", "tvOS"},
    {"watchos", "watchOS"},
    {"xros", "visionOS"},
    {"visionos", "visionOS"},
    {"wasi", "WebAssembly"},
    {"emscripten", "WebAssembly"},
    {"none", "bare metal"},
    {"elf", "bare metal"},
    {"eabi", "bare metal"},
    {"gnux32", "a 32-bit ABI"},
    {"gnu_ilp32", "a 32-bit ABI"},
    {"gnuabin32", "a 32-bit ABI"},
    {"muslx32", "a 32-bit ABI"},
    {"linux", NULL},
    {"unknown", NULL},
    {"pc", NULL},
    {"gnu", NULL},
    {"musl", NULL},
};

static const struct arch *arch_find(const char *triple)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strncmp(triple, known[i].begins, strlen(known[i].begins)) == 0)
            return &known[i];
    return NULL;
}

/* EM_NONE: unknown. */
static uint16_t machine_of(const char *triple)
{
    const struct arch *a = arch_find(triple);
    return a ? a->machine : EM_NONE;
}

static const char *arch_of(uint16_t machine)
{
    const struct arch *best = NULL;
    for (size_t i = 0; i < KNOWN; i++)
        if (known[i].machine == machine && (!best || known[i].kind < best->kind))
            best = &known[i];
    return best ? best->begins : "an unknown machine";
}

static bool begins(const char *part, const char *word) { return strncmp(part, word, strlen(word)) == 0; }

/* The system that a part of a triple names, NULL: Linux. `other`: it names a system even if no row knows it. */
static const char *system_of(const char *part, bool other)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (begins(part, systems[i].begins))
            return systems[i].system;
    return other ? "another system" : NULL;
}

/* The first part that names a system other than Linux: arch-system[-abi] or arch-maker-system[-abi]. */
static const char *foreign_system(const char *triple)
{
    const char *part = strchr(triple, '-');
    bool is_linux = false, apple = false;
    for (int i = 1; part; i++, part = strchr(part, '-')) {
        bool last = !strchr(++part, '-'), maker = i == 1 && !last;
        const char *system = system_of(part, !is_linux && !maker && i <= 2);
        apple = apple || begins(part, "apple");
        is_linux = is_linux || begins(part, "linux");
        if (system && !(maker && begins(part, "none")) && !begins(part, "apple"))
            return system;
    }
    return apple ? "macOS" : NULL;
}

/* Why Tenon cannot make code for it; NULL: it can. */
static const char *obstacle(const char *triple)
{
    const struct arch *a = arch_find(triple);
    const char *system = foreign_system(triple);
    if (begins(triple, "wasm"))
        return "WebAssembly";
    if (!a)
        return "an unknown machine";
    return system ? system : a->kind == GOOD ? NULL : kind_name[a->kind];
}

bool tn_target_is_foreign(const char *triple)
{
    return obstacle(triple) || machine_of(triple) != tn_elf_machine();
}

tn_status tn_target_check_tools(tn_build *b, const char *output)
{
    const char *triple = b->target.triple, *why = triple ? obstacle(triple) : NULL;
    bool is_c = b->target.kind == TN_TARGET_C;
    if (why)
        return tn_error(
            b->ctx, "driver-E081", NULL,
            "target %s is not supported: it is %s, and Tenon compiles for Linux on 64-bit little-endian "
            "machines (x86_64, aarch64, riscv64, loongarch64, powerpc64le); to see the kernels alone, use "
            "`tenon dump --stage c`",
            triple, why);
    if (!triple || b->opt.cross_compiler || (is_c && tn_bundle_form_of(output) == TN_BUNDLE_C))
        return TN_OK;
    if (!tn_target_is_foreign(triple))
        return TN_OK;
    return tn_error(b->ctx, "driver-E023", NULL,
                    "%s is not this machine, and the %s here cannot make %s for it; give --cross-compiler, "
                    "such as %s-linux-gnu-gcc%s",
                    triple, is_c ? "cc" : "ld", output, arch_of(machine_of(triple)),
                    is_c ? ", or write C text with -o model.c" : "");
}

tn_status tn_target_check_library(tn_build *b, const tn_buf *so)
{
    uint16_t want = machine_of(b->machine.triple), got = EM_NONE;
    const unsigned char *at = (const unsigned char *)so->at;
    if (so->n >= 20 && memcmp(at, ELFMAG, SELFMAG) == 0)
        got = (uint16_t)(at[EI_DATA] == ELFDATA2MSB ? at[18] << 8 | at[19] : at[19] << 8 | at[18]);
    if (want == EM_NONE || got == want)
        return TN_OK;
    return tn_error(b->ctx, "driver-E024", NULL,
                    "%s made mod.so for %s (ELF machine %u), but the target is %s; name its compiler with "
                    "--cross-compiler, or that machine with -mtriple",
                    b->opt.cross_compiler ? b->opt.cross_compiler : "the linker", arch_of(got), (unsigned)got,
                    b->machine.triple);
}
