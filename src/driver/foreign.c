/* Code for another machine than the one at hand: what it takes to link it, and whether a linked library is for the
 * machine that was asked for. Architectures are known by how triples begin, ELF files by e_machine. */
#include "base/wire/elf.h"
#include "driver/driver.h"

#include <elf.h>
#include <string.h>

/* The first row that begins the triple. */
static const struct { const char *arch; uint16_t machine; } known[] = {
    {"x86_64", EM_X86_64},    {"amd64", EM_X86_64},      {"i386", EM_386},        {"i486", EM_386},
    {"i586", EM_386},         {"i686", EM_386},          {"aarch64", EM_AARCH64}, {"arm64", EM_AARCH64},
    {"arm", EM_ARM},          {"thumb", EM_ARM},         {"riscv", EM_RISCV},     {"loongarch", EM_LOONGARCH},
    {"powerpc64", EM_PPC64},  {"ppc64", EM_PPC64},       {"powerpc", EM_PPC},     {"ppc", EM_PPC},
    {"s390x", EM_S390},       {"mips", EM_MIPS},         {"sparcv9", EM_SPARCV9}, {"sparc64", EM_SPARCV9},
    {"sparc", EM_SPARC},      {"m68k", EM_68K},          {"hexagon", EM_QDSP6},   {"avr", EM_AVR},
};
enum { KNOWN = sizeof known / sizeof *known };

/* EM_NONE: unknown. */
static uint16_t machine_of(const char *triple)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strncmp(triple, known[i].arch, strlen(known[i].arch)) == 0)
            return known[i].machine;
    return EM_NONE;
}

static const char *arch_of(uint16_t machine)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (known[i].machine == machine)
            return known[i].arch;
    return "an unknown machine";
}

bool tn_target_is_foreign(const char *triple)
{
    static const char *const system[] = {"-windows", "-darwin", "-macos", "-apple"};
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (strstr(triple, system[i]))
            return true;
    return machine_of(triple) != tn_elf_machine() || machine_of(triple) == EM_NONE;
}

tn_status tn_target_check_tools(tn_build *b, const char *output)
{
    const char *triple = b->target.triple;
    bool is_c = b->target.kind == TN_TARGET_C;
    if (!triple || b->opt.cross_compiler || (is_c && tn_bundle_form_of(output) == TN_BUNDLE_C))
        return TN_OK;
    if (!tn_target_is_foreign(triple) || (!is_c && machine_of(triple) == EM_NONE))
        return TN_OK; /* what LLVM does not know it names itself */
    return tn_error(b->ctx, "driver-E023", NULL,
                    "%s is another machine than this one, whose own %s cannot make %s for it; give --cross-compiler, "
                    "such as aarch64-linux-gnu-gcc%s",
                    triple, is_c ? "cc" : "ld", output, is_c ? ", or write C text with -o model.c" : "");
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
