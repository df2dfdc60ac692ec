/* Functions of the C library: which version of it a linker takes, the default one of the library that is here. */
#include "driver/elf_linker.h"

#include <string.h>

enum { MAX_IMPORTS = 4096, HIDDEN = 0x8000 }; /* a version that is not the default */

typedef struct { /* tables of a shared object, with their strings */
    tn_bytes whole;
    const Elf64_Sym *symbol;
    uint64_t n_symbol;
    const uint16_t *version; /* of each symbol; NULL: none has one */
    const Elf64_Shdr *names, *versions, *version_names;
} library;

static const Elf64_Shdr *section_of_type(tn_bytes whole, uint32_t type)
{
    const Elf64_Ehdr *h = elf_bytes(whole, 0, sizeof *h);
    const Elf64_Shdr *s = h ? elf_bytes(whole, h->e_shoff, (uint64_t)h->e_shnum * sizeof *s) : NULL;
    for (uint32_t i = 0; s && i < h->e_shnum; i++)
        if (s[i].sh_type == type)
            return elf_bytes(whole, s[i].sh_offset, s[i].sh_size) ? &s[i] : NULL;
    return NULL;
}

static const Elf64_Shdr *linked_section(tn_bytes whole, const Elf64_Shdr *from)
{
    const Elf64_Ehdr *h = elf_bytes(whole, 0, sizeof *h);
    const Elf64_Shdr *s = elf_bytes(whole, h->e_shoff, (uint64_t)h->e_shnum * sizeof *s);
    bool held =
        from->sh_link < h->e_shnum && elf_bytes(whole, s[from->sh_link].sh_offset, s[from->sh_link].sh_size);
    return held ? &s[from->sh_link] : NULL;
}

static const char *text_in(tn_bytes whole, const Elf64_Shdr *names, uint64_t at)
{
    const char *text = (const char *)whole.at + names->sh_offset + at;
    return at < names->sh_size && memchr(text, 0, names->sh_size - at) ? text : "";
}

static bool open_library(tn_bytes whole, library *out)
{
    const Elf64_Shdr *symbols = section_of_type(whole, SHT_DYNSYM);
    const Elf64_Shdr *numbers = section_of_type(whole, SHT_GNU_versym);
    *out = (library){.whole = whole, .versions = section_of_type(whole, SHT_GNU_verdef)};
    out->names = symbols ? linked_section(whole, symbols) : NULL;
    out->version_names = out->versions ? linked_section(whole, out->versions) : NULL;
    if (!out->names || symbols->sh_offset % 8 != 0)
        return false;
    out->symbol = (const Elf64_Sym *)(const void *)(whole.at + symbols->sh_offset);
    out->n_symbol = symbols->sh_size / sizeof(Elf64_Sym);
    if (numbers && out->version_names && numbers->sh_offset % 2 == 0 && numbers->sh_size / 2 >= out->n_symbol)
        out->version = (const uint16_t *)(const void *)(whole.at + numbers->sh_offset);
    return true;
}

/* The name of the version of this number, NULL: there is none. That of the first one is the library's own. */
static const char *version_name(const library *from, uint16_t number)
{
    const tn_bytes all = {from->whole.at + from->versions->sh_offset, from->versions->sh_size};
    uint64_t at = 0;
    Elf64_Verdef d = {0};
    Elf64_Verdaux name;
    for (uint32_t i = 0; i < from->versions->sh_info; i++, at += d.vd_next) {
        const void *p = elf_bytes(all, at, sizeof d);
        if (!p)
            return NULL;
        memcpy(&d, p, sizeof d);
        if (d.vd_ndx != number)
            continue;
        p = elf_bytes(all, at + d.vd_aux, sizeof name);
        memcpy(&name, p ? p : &(Elf64_Verdaux){0}, sizeof name);
        return p ? text_in(from->whole, from->version_names, name.vda_name) : NULL;
    }
    return NULL;
}

static bool look_up(elf_linker *l, const char *name, elf_import *out)
{
    library from;
    *out = (elf_import){.name = name};
    if (!l->job->library.n)
        return strcmp(name, "memcpy") == 0 || strcmp(name, "memset") == 0;
    if (!open_library(l->job->library, &from))
        return false;
    for (uint64_t i = 1; i < from.n_symbol; i++) {
        const Elf64_Sym *s = &from.symbol[i];
        uint16_t number = from.version ? from.version[i] : VER_NDX_GLOBAL;
        if (s->st_shndx == SHN_UNDEF || (number & HIDDEN) ||
            strcmp(text_in(from.whole, from.names, s->st_name), name) != 0)
            continue;
        if (number > VER_NDX_GLOBAL) {
            out->file = version_name(&from, VER_NDX_GLOBAL);
            out->version = version_name(&from, number);
        }
        return number <= VER_NDX_GLOBAL || (out->file && out->version);
    }
    return false;
}

int elf_import_of(elf_linker *l, const char *name)
{
    elf_import made;
    for (size_t i = 0; i < l->import.n; i++)
        if (strcmp(l->import.at[i].name, name) == 0)
            return (int)i;
    if (l->import.n == MAX_IMPORTS || !look_up(l, name, &made))
        return -1;
    tn_vec_push(&l->import, made);
    return (int)l->import.n - 1;
}
