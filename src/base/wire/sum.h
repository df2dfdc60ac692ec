#ifndef TN_BASE_WIRE_SUM_H
#define TN_BASE_WIRE_SUM_H
/* Checksums of packages: SHA-256, which sha256sum(1) checks too. They find damage, not malice: who can change
 * a file can change its checksum. */
#include "base/wire/elf.h"

#include <stdbool.h>

enum tn_sum { TN_SUM_ABSENT, TN_SUM_RIGHT, TN_SUM_WRONG };

/* mod.sum: lines of 64 hexadecimal digits, two blanks and a name. ABSENT: no line has that name. */
enum tn_sum tn_sum_check(const void *list, size_t list_n, const char *name, const void *data, size_t n);
void tn_sum_text(const uint8_t digest[32], char out[65]); /* as hexadecimal digits */

/* A self-contained library has a note of type 3: where the weights lie in the file (u64 offset, u64 bytes),
 * their digest, and the digest of everything else that the loader maps, but for the ELF header, which tools
 * like strip change, and this last digest itself. e is of this file. */
enum { TN_SUM_NOTE = 16 + 32 + 32 };
enum tn_sum tn_sum_check_code(const void *file, size_t n, const tn_elf *e);
enum tn_sum tn_sum_check_weights(const void *file, size_t n, const tn_elf *e);
/* Writes the note's contents, in place. false: the library has no such note, or the weights lie elsewhere. */
bool tn_sum_write(void *file, size_t n, const tn_elf *e, uint64_t weights, uint64_t weights_n);

#endif
