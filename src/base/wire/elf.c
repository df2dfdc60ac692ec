/* Looking into ELF files; every offset is checked against the file's size before it is used. */
#include "base/wire/elf.h"
#include "base/wire/sum.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const uint8_t *at;
    size_t n;
} span;

static bool within(span f, uint64_t offset, uint64_t bytes) { return offset <= f.n && bytes <= f.n - offset; }

/* Notes of one segment: name and data are padded to 4 bytes. */
static void find_note(span f, const Elf64_Phdr *p, tn_elf *out)
{
    uint64_t at = p->p_offset, end = p->p_offset + p->p_filesz;
    Elf64_Nhdr h;
    while (end - at >= sizeof h) {
        memcpy(&h, f.at + at, sizeof h);
        uint64_t name = at + sizeof h, data = name + ((uint64_t)h.n_namesz + 3) / 4 * 4,
                 next = data + ((uint64_t)h.n_descsz + 3) / 4 * 4;
        if (next > end)
            return;
        bool ours = h.n_namesz == 6 && memcmp(f.at + name, "Tenon", 6) == 0;
        if (ours && h.n_type == 1) {
            out->note = f.at + data;
            out->note_n = h.n_descsz;
        } else if (ours && h.n_type == 2) {
            out->entry = (const char *)f.at + data;
            out->entry_n = h.n_descsz;
        } else if (ours && h.n_type == 3 && h.n_descsz == TN_SUM_NOTE) {
            out->sum = f.at + data;
        }
        at = next;
    }
}

static const char *read_segments(span f, const Elf64_Ehdr *e, tn_elf *out)
{
    bool loads = false, dynamic = false;
    for (uint32_t i = 0; i < e->e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, f.at + e->e_phoff + (uint64_t)i * sizeof p, sizeof p);
        if (p.p_type != PT_NULL && !within(f, p.p_offset, p.p_filesz))
            return "it is cut short: a segment lies beyond its end";
        if (p.p_type == PT_LOAD && (p.p_memsz < p.p_filesz || p.p_vaddr + p.p_memsz < p.p_vaddr))
            return "a segment's sizes contradict each other";
        loads |= p.p_type == PT_LOAD;
        dynamic |= p.p_type == PT_DYNAMIC;
        if (p.p_type == PT_NOTE)
            find_note(f, &p, out);
    }
    return loads && dynamic ? NULL : "it has no loadable segment";
}

const char *tn_elf_read(const void *data, size_t n, tn_elf *out)
{
    span f = {data, n};
    Elf64_Ehdr e;
    *out = (tn_elf){0};
    if (n < sizeof e || memcmp(data, ELFMAG, SELFMAG) != 0)
        return "it is no ELF file";
    memcpy(&e, data, sizeof e);
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB)
        return "it is not for a 64-bit little-endian machine";
    if (e.e_type != ET_DYN)
        return "it is not a shared object";
    out->machine = e.e_machine;
    if (e.e_phentsize != sizeof(Elf64_Phdr) ||
        !within(f, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr)))
        return "it is cut short: its program headers lie beyond its end";
    if (e.e_shoff && !within(f, e.e_shoff, (uint64_t)e.e_shnum * e.e_shentsize))
        return "it is cut short: its section headers lie beyond its end";
    return read_segments(f, &e, out);
}

/* The number behind TN_ELF_ABI in the note's first line; false: there is none. */
static bool stated_abi(const tn_elf *e, uint64_t *out)
{
    const uint8_t *line = memchr(e->note, '\n', e->note_n), *at;
    size_t n = line ? (size_t)(line - e->note) : e->note_n, mark = sizeof TN_ELF_ABI - 1, i = 0;
    while (i + mark < n && memcmp(e->note + i, TN_ELF_ABI, mark) != 0)
        i++;
    at = e->note + i + mark;
    *out = 0;
    for (; i + mark < n && *at >= '0' && *at <= '9'; i++, at++) {
        *out = *out > UINT32_MAX ? *out : *out * 10 + (uint64_t)(*at - '0');
        if (i + mark + 1 == n)
            return true;
    }
    return false;
}

const char *tn_elf_refuse_abi(uint64_t abi, uint32_t oldest, uint32_t newest, char text[200])
{
    if (abi >= oldest && abi <= newest)
        return NULL;
    snprintf(
        text, 200,
        abi < oldest
            ? "an older version of Tenon made it for kernel ABI %llu, which this version no longer reads; "
              "compile the model again"
            : "a newer version of Tenon made it: its kernels use ABI version %llu, but this version "
              "supports up to %u; update Tenon or compile the model again",
        (unsigned long long)abi, (unsigned)newest);
    return text;
}

const char *tn_elf_refuse(const tn_elf *e, uint32_t oldest, uint32_t newest, char text[200])
{
    uint64_t abi;
    if (!e->note)
        return NULL;
    return stated_abi(e, &abi) ? tn_elf_refuse_abi(abi, oldest, newest, text)
                               : "an older version of Tenon made it, without an ABI version for its kernels; "
                                 "compile the model again";
}

uint16_t tn_elf_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#elif defined(__riscv)
    return EM_RISCV;
#else
    return EM_NONE; /* any is let through; the loader says no */
#endif
}
