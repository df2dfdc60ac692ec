#ifndef TN_DRIVER_ELF_LINK_H
#define TN_DRIVER_ELF_LINK_H
#include "base/ctx.h"

/* Are these objects for x86-64? */
bool tn_elf_link_can(uint32_t n, const tn_buf code[]);
/* Objects of the LLVM code generator as a shared object, added to *out_so, without any program's help. driver-E120. */
TN_WARN_UNUSED tn_status tn_elf_link(tn_ctx *ctx, uint32_t n, const tn_buf code[], tn_buf *out_so);

#endif
