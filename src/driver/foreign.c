/* Code for another machine than the one at hand: what it takes to link it, and whether a linked library is for the
 * machine that was asked for. */
#include "driver/driver.h"

#include <elf.h>
#include <string.h>

tn_status tn_target_check_tools(tn_build *b, const char *output)
{
    const char *triple = b->target.triple, *why = triple ? tn_triple_obstacle(triple) : NULL;
    bool is_text = b->target.row->generator->gives_text;
    if (why)
        return tn_error(
            b->ctx, "driver-E081", NULL,
            "target %s is not supported: it is %s, and Tenon compiles for Linux on 64-bit little-endian "
            "machines (x86_64, aarch64, riscv64, loongarch64, powerpc64le); to see the kernels alone, use "
            "`tenon dump --stage c`",
            triple, why);
    if (!triple || b->opt.cross_compiler || (is_text && tn_bundle_form_of(output) == TN_BUNDLE_C))
        return TN_OK;
    if (!tn_triple_is_foreign(triple))
        return TN_OK;
    return tn_error(b->ctx, "driver-E023", NULL,
                    "%s is not this machine, and the %s here cannot make %s for it; give --cross-compiler, "
                    "such as %s-linux-gnu-gcc%s",
                    triple, is_text ? "cc" : "ld", output, tn_triple_arch_of(tn_triple_machine(triple)),
                    is_text ? ", or write C text with -o model.c" : "");
}

tn_status tn_target_check_library(tn_build *b, const tn_buf *so)
{
    uint16_t want = tn_triple_machine(b->machine.triple), got = EM_NONE;
    const unsigned char *at = (const unsigned char *)so->at;
    if (so->n >= 20 && memcmp(at, ELFMAG, SELFMAG) == 0)
        got = (uint16_t)(at[EI_DATA] == ELFDATA2MSB ? at[18] << 8 | at[19] : at[19] << 8 | at[18]);
    if (want == EM_NONE || got == want)
        return TN_OK;
    return tn_error(b->ctx, "driver-E024", NULL,
                    "%s made mod.so for %s (ELF machine %u), but the target is %s; name its compiler with "
                    "--cross-compiler, or that machine with -mtriple",
                    b->opt.cross_compiler ? b->opt.cross_compiler : "the linker", tn_triple_arch_of(got),
                    (unsigned)got, b->machine.triple);
}
