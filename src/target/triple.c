/* Triples: whether Tenon can make code for a machine and a system, and which ELF files are theirs.
 * Architectures are known by how triples begin, systems by the other parts of a triple. */
#include "base/wire/elf.h"
#include "target/target.h"

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

uint16_t tn_triple_machine(const char *triple)
{
    const struct arch *a = arch_find(triple);
    return a ? a->machine : EM_NONE;
}

const char *tn_triple_arch_of(uint16_t machine)
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

const char *tn_triple_obstacle(const char *triple)
{
    const struct arch *a = arch_find(triple);
    const char *system = foreign_system(triple);
    if (begins(triple, "wasm"))
        return "WebAssembly";
    if (!a)
        return "an unknown machine";
    return system ? system : a->kind == GOOD ? NULL : kind_name[a->kind];
}

bool tn_triple_is_foreign(const char *triple)
{
    return tn_triple_obstacle(triple) || tn_triple_machine(triple) != tn_elf_machine();
}
