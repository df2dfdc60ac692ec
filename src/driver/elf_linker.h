#ifndef TN_DRIVER_ELF_LINKER_H
#define TN_DRIVER_ELF_LINKER_H
/* What the parts of the linker share: elf_select.c reads objects and chooses what is linked, elf_import.c knows the
 * library that functions are imported from, elf_link.c lays out, relocates and writes, elf_table.c makes the tables
 * for the loader and for tools. */
#include "base/vec.h"
#include "driver/elf_link.h"

#include <elf.h>

enum { TN_ELF_PAGE = 4096, TN_ELF_JUMP = 16, ELF_SEGMENTS = 8 };

/* Segments. Offsets in the file are addresses. */
enum elf_part {
    ELF_READ,    /* headers, dynamic symbols and relocations, .rodata, notes */
    ELF_EXECUTE, /* .text, one jump for each function that is imported */
    ELF_RELRO,   /* .data.rel.ro, .dynamic, table of addresses: read-only once they are relocated */
    ELF_WRITE,   /* .data, .bss */
    ELF_WEIGHTS, /* read-only, large, and nobody is near: written from where they are */
    ELF_PARTS,
    ELF_LEFT_OUT
};

typedef struct elf_section {
    const Elf64_Shdr *head;
    const Elf64_Shdr *relocations; /* NULL: none */
    const struct elf_object *object;
    enum elf_part part;
    bool live; /* linked */
    uint64_t address;
} elf_section;

typedef struct elf_object {
    const uint8_t *at;
    size_t n;
    bool member, taken; /* of the archive; linked if something needs it */
    elf_section *section;
    uint32_t n_section, n_symbol;
    const Elf64_Sym *symbol;
    const char *names;
    size_t n_names;
} elf_object;

typedef struct elf_definition {
    const char *name;
    const elf_object *object;
    const Elf64_Sym *symbol;
} elf_definition;

typedef struct elf_import {
    const char *name, *file, *version; /* file, version NULL: any */
} elf_import;

typedef struct elf_entry { /* of the table of addresses, after those of the imports */
    const elf_section *in; /* NULL: nothing, which is address 0 */
    const Elf64_Sym *symbol;
} elf_entry;

typedef struct elf_linker {
    tn_ctx *ctx;
    const tn_elf_job *job;
    tn_arena arena;
    tn_vec(elf_object) object;
    tn_vec(elf_definition) defined; /* in order of their names */
    tn_vec(elf_section *) reached;  /* whose references are still to be followed */
    tn_vec(elf_import) import;
    tn_vec(const char *) library; /* names of needed shared objects */
    tn_vec(elf_entry) entry;
    tn_vec(elf_definition) exported; /* under the names of the outside */
    tn_vec(Elf64_Rela) dynamic;      /* relocations that are left to the loader */
    uint64_t end[ELF_PARTS], begin[ELF_PARTS];
    uint64_t n_dynamic; /* their number, known before their contents */
    uint64_t dynsym, dynstr, hash, versym, verneed, rela, jumps, table, dynamic_section;
    tn_buf names, needs;                  /* .dynstr, .gnu.version_r */
    tn_vec(uint32_t) name_at, library_at; /* in names: of imports, then of what is exported; of libraries */
    tn_vec(uint16_t) version;             /* of imports */
    char *out;
} elf_linker;

tn_status elf_refuse(elf_linker *l, const char *what);
/* n bytes of an object or a library at an offset; NULL: they are not there. */
const void *elf_bytes(tn_bytes whole, uint64_t at, uint64_t n);
static inline tn_bytes elf_whole(const elf_object *o) { return (tn_bytes){o->at, o->n}; }

/* ---- elf_select.c ---- */
tn_status elf_select(elf_linker *l); /* objects, definitions, sections that are live */
elf_definition *elf_find(elf_linker *l, const char *name);
const char *elf_name_of(const elf_object *o, uint32_t at);
/* The section that a symbol is in; NULL: it is not defined in what may be linked. */
elf_section *elf_section_of(const elf_object *o, const Elf64_Sym *s);
static inline bool elf_is_global(const Elf64_Sym *s) { return ELF64_ST_BIND(s->st_info) != STB_LOCAL; }

typedef struct elf_relocation {
    const elf_section *target;
    const Elf64_Rela *r;
    elf_section *in; /* where the symbol is defined; NULL: imported, or nothing */
    const Elf64_Sym *symbol;
    const char *name; /* of what is imported; NULL: it is nothing, a weak symbol */
} elf_relocation;
typedef tn_status elf_visit_fn(elf_linker *l, elf_relocation *x);
tn_status elf_each_in(elf_linker *l, const elf_section *s,
                      elf_visit_fn *visit); /* relocations of a section */

/* ---- elf_import.c ---- */
/* The number of an import, made if need be; -1: no such function is to be had. */
int elf_import_of(elf_linker *l, const char *name);

/* ---- elf_table.c ---- */
uint64_t elf_take(uint64_t *end, uint64_t n, uint64_t align);
void elf_table_names(elf_linker *l);
void elf_table_place(elf_linker *l); /* at the beginning of READ */
uint64_t elf_table_dynamic_bytes(const elf_linker *l);
void elf_table_write(elf_linker *l);
void elf_table_segments(elf_linker *l);
/* Symbols and sections for tools, which follow the segments from offset `at`; the header is in l->out. */
void elf_table_sections(elf_linker *l, uint64_t at, tn_buf *out);

#endif
