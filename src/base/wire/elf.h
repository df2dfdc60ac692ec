#ifndef TN_BASE_WIRE_ELF_H
#define TN_BASE_WIRE_ELF_H
/* ELF shared objects (System V ABI, ch. 4 and 5), as far as one must look before the loader does: a cut or foreign file
 * must not reach dlopen, which trusts what it maps. No allocation, nothing is run. */
#include <stddef.h>
#include <stdint.h>

typedef struct tn_elf {
    const uint8_t *note; /* data of the note "Tenon" of type 1, or NULL */
    size_t note_n;
    /* the note of type 2: the function a self-contained library is opened by, not terminated; or NULL */
    const char *entry;
    size_t entry_n;
    const uint8_t *sum; /* data of the note of type 3, TN_SUM_NOTE bytes (sum.h); or NULL */
    uint16_t machine;   /* e_machine: 62 x86-64, 183 AArch64, ... */
} tn_elf;

/* NULL: a little-endian 64-bit shared object whose tables and segments lie within the n bytes; else why not. */
const char *tn_elf_read(const void *data, size_t n, tn_elf *out);
/* The first line of the note "Tenon" of type 1 says, after this, the version of the kernels' ABI as a decimal
 * number. */
#define TN_ELF_ABI ", kernel ABI "
/* NULL: kernels of an ABI version from oldest to newest, or a library without the note, which the loaded code
 * will tell; else why it is not for this tenon, and what to do. */
const char *tn_elf_refuse(const tn_elf *e, uint32_t oldest, uint32_t newest, char text[200]);
/* NULL: that version of the ABI is from oldest to newest; else the same. */
const char *tn_elf_refuse_abi(uint64_t abi, uint32_t oldest, uint32_t newest, char text[200]);
uint16_t tn_elf_machine(void); /* e_machine of this process */

#endif
