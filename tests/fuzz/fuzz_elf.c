/* ELF headers: any bytes. What is accepted has its note inside the file. The input begins with a sound
 * header, so that the fuzzer gets behind the magic. */
#include "base/wire/sum.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void look(const uint8_t *data, size_t n)
{
    tn_elf e;
    if (tn_elf_read(data, n, &e) == NULL && e.note &&
        (e.note < data || e.note_n > n || e.note > data + n - e.note_n))
        abort();
    if (tn_elf_read(data, n, &e) == NULL)
        (void)(tn_sum_check_code(data, n, &e) + tn_sum_check_weights(data, n, &e));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Elf64_Ehdr h = {.e_type = ET_DYN, .e_phoff = sizeof h, .e_phentsize = sizeof(Elf64_Phdr)};
    uint8_t *copy = malloc(n + sizeof h);
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_phnum = (Elf64_Half)(n / sizeof(Elf64_Phdr));
    look(data, n);
    memcpy(copy, &h, sizeof h);
    if (n)
        memcpy(copy + sizeof h, data, n);
    look(copy, n + sizeof h);
    free(copy);
    return 0;
}
