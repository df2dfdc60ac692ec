/* Objects of the LLVM code generator for x86-64 as mod.so, in memory: packages are made where there is no linker.
 *
 * Generated code needs little: its symbols are hidden but for one, it calls memcpy and memset alone, and its data refer
 * to each other by addresses. So the shared object has three segments, in which offsets in the file are addresses:
 *
 *     read      headers, dynamic symbols and relocations, .rodata, notes
 *     execute   .text, one jump for each function that is imported
 *     write     .data.rel.ro (read-only once it is relocated), .dynamic, addresses of imported functions
 *
 * then, not loaded, names of functions for debuggers and profilers. What a real linker does beyond that (merging of
 * strings, versions, TLS, other kinds of relocations) does not occur; an object that needs it is refused (driver-E120).
 * Every offset that is read from an object is checked against its size: the kernel cache is a file.
 * O(size + n log n symbols). */
#include "driver/elf_link.h"

#include "base/vec.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, IMPORTS = 8, JUMP_BYTES = 16 };
enum part { READ, EXECUTE, WRITE, N_PART, LEFT_OUT };

typedef struct {
    const Elf64_Shdr *head;
    enum part part;
    uint64_t address;
} section;

typedef struct {
    const uint8_t *at;
    size_t n;
    section *section;
    uint32_t n_section, n_symbol;
    const Elf64_Sym *symbol;
    const char *names;
    size_t n_names;
} object;

typedef struct {
    const char *name;
    uint64_t address;
    const Elf64_Sym *symbol;
} definition;

typedef struct {
    tn_ctx *ctx;
    tn_arena arena;
    object *object;
    uint32_t n_object, n_import;
    const char *import[IMPORTS];
    tn_vec(definition) defined; /* in order of their names */
    tn_vec(Elf64_Rela) dynamic; /* relocations that are left to the loader */
    uint64_t end[N_PART], begin[N_PART];
    uint64_t n_dynamic; /* their number, known before their contents */
    const definition *exported;
    uint64_t dynsym, dynstr, hash, rela, jumps, table, dynamic_section;
    uint32_t n_dynstr;
    tn_buf names; /* .dynstr */
    char *out;
} linker;

static tn_status refuse(linker *l, const char *what)
{
    return tn_error(
        l->ctx, "driver-E120", NULL,
        "the generated code cannot be linked: %s; remove the kernel cache, or link with --cross-compiler cc",
        what);
}

static const void *bytes(const object *o, uint64_t at, uint64_t n)
{
    return at <= o->n && n <= o->n - at ? o->at + at : NULL;
}

static const char *name_of(const object *o, uint32_t at)
{
    return at < o->n_names && memchr(o->names + at, 0, o->n_names - at) ? o->names + at : "";
}

/* ---- reading ---- */

static enum part part_of(const Elf64_Shdr *s)
{
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_X86_64_UNWIND)
        return LEFT_OUT;
    return s->sh_flags & SHF_EXECINSTR ? EXECUTE : s->sh_flags & SHF_WRITE ? WRITE : READ;
}

static bool read_symbols(object *o, const Elf64_Shdr *s)
{
    if (s->sh_link >= o->n_section || s->sh_size / sizeof(Elf64_Sym) > UINT32_MAX)
        return false;
    const Elf64_Shdr *names = o->section[s->sh_link].head;
    o->n_symbol = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
    o->symbol = bytes(o, s->sh_offset, s->sh_size);
    o->names = bytes(o, names->sh_offset, names->sh_size);
    o->n_names = names->sh_size;
    return o->symbol && o->names && s->sh_offset % 8 == 0;
}

static tn_status read_object(linker *l, object *o)
{
    const Elf64_Ehdr *h = bytes(o, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_type != ET_REL || h->e_machine != EM_X86_64 ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 != 0)
        return refuse(l, "an object is damaged");
    const Elf64_Shdr *s = bytes(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof *s);
    if (!s)
        return refuse(l, "an object is cut short");
    o->n_section = h->e_shnum;
    o->section = TN_NEW_N(&l->arena, section, o->n_section);
    for (uint32_t i = 0; i < o->n_section; i++)
        o->section[i] = (section){.head = &s[i], .part = part_of(&s[i])};
    for (uint32_t i = 0; i < o->n_section; i++) {
        bool held = s[i].sh_type == SHT_NOBITS || bytes(o, s[i].sh_offset, s[i].sh_size);
        if (s[i].sh_type == SHT_NOBITS && s[i].sh_size && part_of(&s[i]) != LEFT_OUT)
            return refuse(l, "it has memory that begins as zeros");
        if (!held || s[i].sh_addralign > PAGE || (s[i].sh_addralign & (s[i].sh_addralign - 1)) ||
            s[i].sh_size > UINT32_MAX || (s[i].sh_flags & (SHF_TLS | SHF_COMPRESSED)))
            return refuse(l, "a section of an object is damaged");
        if (s[i].sh_type == SHT_SYMTAB && !read_symbols(o, &s[i]))
            return refuse(l, "the symbols of an object are damaged");
    }
    return TN_OK;
}

/* ---- layout ---- */

static uint64_t take(uint64_t *end, uint64_t n, uint64_t align)
{
    align = align ? align : 1;
    uint64_t at = (*end + align - 1) & ~(align - 1);
    *end = at + n;
    return at;
}

static void place_part(linker *l, enum part part)
{
    for (uint32_t i = 0; i < l->n_object; i++)
        for (uint32_t k = 0; k < l->object[i].n_section; k++) {
            section *s = &l->object[i].section[k];
            if (s->part == part)
                s->address = take(&l->end[part], s->head->sh_size, s->head->sh_addralign);
        }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const definition *)a)->name, ((const definition *)b)->name);
}

static bool is_global(const Elf64_Sym *s) { return ELF64_ST_BIND(s->st_info) != STB_LOCAL; }

static bool is_placed(const object *o, const Elf64_Sym *s)
{
    return s->st_shndx != SHN_UNDEF && s->st_shndx < o->n_section && o->section[s->st_shndx].part != LEFT_OUT;
}

/* Addresses are known later; names and imports now. */
static tn_status collect(linker *l)
{
    for (uint32_t i = 0; i < l->n_object; i++)
        for (uint32_t k = 0; k < l->object[i].n_symbol; k++) {
            const object *o = &l->object[i];
            const Elf64_Sym *s = &o->symbol[k];
            if (is_global(s) && is_placed(o, s))
                tn_vec_push(&l->defined, ((definition){name_of(o, s->st_name), 0, s}));
        }
    qsort(l->defined.at, l->defined.n, sizeof *l->defined.at, by_name);
    for (size_t i = 1; i < l->defined.n; i++)
        if (strcmp(l->defined.at[i - 1].name, l->defined.at[i].name) == 0)
            return refuse(l, "two objects define the same symbol");
    for (size_t i = 0; i < l->defined.n; i++)
        if (ELF64_ST_VISIBILITY(l->defined.at[i].symbol->st_other) == STV_DEFAULT) {
            if (l->exported)
                return refuse(l, "two symbols are exported");
            l->exported = &l->defined.at[i];
        }
    return l->exported ? TN_OK : refuse(l, "nothing is exported");
}

static definition *find(linker *l, const char *name)
{
    definition key = {.name = name};
    return l->defined.n ? bsearch(&key, l->defined.at, l->defined.n, sizeof key, by_name) : NULL;
}

/* The number of an import, made if need be; -1: there are too many, or no function of that name is to be had. */
static int import_of(linker *l, const char *name)
{
    for (uint32_t i = 0; i < l->n_import; i++)
        if (strcmp(l->import[i], name) == 0)
            return (int)i;
    if ((strcmp(name, "memcpy") != 0 && strcmp(name, "memset") != 0) || l->n_import == IMPORTS)
        return -1;
    l->import[l->n_import] = name;
    return (int)l->n_import++;
}

/* ---- relocations: once to count and find imports, once to write ---- */

typedef struct {
    const object *o;
    const section *target;
    const Elf64_Rela *r;
    const Elf64_Sym *symbol;
    int import; /* -1: defined here */
    uint64_t s; /* the symbol's address */
} relocation;

static tn_status resolve(linker *l, relocation *x)
{
    uint32_t at = (uint32_t)ELF64_R_SYM(x->r->r_info);
    if (at >= x->o->n_symbol || x->r->r_offset > x->target->head->sh_size ||
        x->target->head->sh_size - x->r->r_offset < 4 || x->target->head->sh_type == SHT_NOBITS)
        return refuse(l, "a relocation is damaged");
    x->symbol = &x->o->symbol[at];
    x->import = -1;
    if (is_placed(x->o, x->symbol)) {
        x->s = x->o->section[x->symbol->st_shndx].address + x->symbol->st_value;
        return TN_OK;
    }
    const char *name = name_of(x->o, x->symbol->st_name);
    const definition *d = x->symbol->st_shndx == SHN_UNDEF ? find(l, name) : NULL;
    if (d) {
        x->s = d->address;
        return TN_OK;
    }
    x->import = x->symbol->st_shndx == SHN_UNDEF ? import_of(l, name) : -1;
    return x->import >= 0 ? TN_OK
                          : refuse(l, tn_arena_printf(&l->arena, "it needs %.100s",
                                                      *name ? name : "an absolute symbol"));
}

static tn_status count(linker *l, relocation *x)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(x->r->r_info);
    l->n_dynamic += type == R_X86_64_64;
    return TN_OK;
}

static tn_status put_relative(linker *l, const relocation *x, uint64_t where)
{
    uint64_t value = x->import < 0 ? x->s : l->jumps + JUMP_BYTES * (uint64_t)x->import;
    uint32_t type = (uint32_t)ELF64_R_TYPE(x->r->r_info);
    if (type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX) {
        if (x->import < 0)
            return refuse(l, "it reads an address from a table");
        value = l->table + 8 * (uint64_t)x->import;
    } else if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) {
        return refuse(l, tn_arena_printf(&l->arena, "relocations of type %u are unknown", type));
    }
    int64_t distance = (int64_t)(value + (uint64_t)x->r->r_addend - where);
    int32_t low = (int32_t)distance;
    memcpy(l->out + where, &low, sizeof low);
    return low == distance ? TN_OK : refuse(l, "it is larger than 2 GiB");
}

static tn_status put(linker *l, relocation *x)
{
    uint64_t where = x->target->address + x->r->r_offset;
    if (ELF64_R_TYPE(x->r->r_info) != R_X86_64_64)
        return put_relative(l, x, where);
    if (x->target->part != WRITE || x->target->head->sh_size - x->r->r_offset < 8)
        return refuse(l, "an address is in read-only memory");
    uint64_t value = x->s + (uint64_t)x->r->r_addend;
    Elf64_Rela left = {where, ELF64_R_INFO(0, R_X86_64_RELATIVE), (int64_t)value};
    if (x->import >= 0)
        left = (Elf64_Rela){where, ELF64_R_INFO((uint64_t)x->import + 1, R_X86_64_64), x->r->r_addend};
    else
        memcpy(l->out + where, &value, sizeof value);
    tn_vec_push(&l->dynamic, left);
    return TN_OK;
}

typedef tn_status visit_fn(linker *l, relocation *x);

static tn_status each_in(linker *l, const object *o, const Elf64_Shdr *s, visit_fn *visit)
{
    const Elf64_Rela *all = bytes(o, s->sh_offset, s->sh_size);
    if (s->sh_info >= o->n_section || s->sh_offset % 8 != 0)
        return refuse(l, "the relocations of an object are damaged");
    relocation x = {.o = o, .target = &o->section[s->sh_info]};
    for (uint64_t i = 0; x.target->part != LEFT_OUT && i < s->sh_size / sizeof *all; i++) {
        x.r = &all[i];
        TN_TRY(resolve(l, &x));
        TN_TRY(visit(l, &x));
    }
    return TN_OK;
}

static tn_status each(linker *l, visit_fn *visit)
{
    for (uint32_t i = 0; i < l->n_object; i++)
        for (uint32_t k = 0; k < l->object[i].n_section; k++) {
            const Elf64_Shdr *s = l->object[i].section[k].head;
            if (s->sh_type == SHT_RELA)
                TN_TRY(each_in(l, &l->object[i], s, visit));
        }
    return TN_OK;
}

/* ---- writing ---- */

enum { N_SEGMENT = 7, N_DYNAMIC = 9 };

static void layout(linker *l)
{
    uint64_t symbols = l->n_import + 2,
             *end = l->end; /* the first one is none; then imports; then what is exported */
    tn_buf_char(&l->names, 0);
    for (uint32_t i = 0; i < l->n_import; i++)
        tn_buf_add(&l->names, l->import[i], strlen(l->import[i]) + 1);
    tn_buf_add(&l->names, l->exported->name, strlen(l->exported->name) + 1);
    end[READ] = sizeof(Elf64_Ehdr) + N_SEGMENT * sizeof(Elf64_Phdr);
    l->hash = take(&end[READ], 4 * (3 + symbols), 8);
    l->dynsym = take(&end[READ], symbols * sizeof(Elf64_Sym), 8);
    l->dynstr = take(&end[READ], l->names.n, 1);
    l->rela = take(&end[READ], (l->n_dynamic + l->n_import) * sizeof(Elf64_Rela), 8);
    place_part(l, READ);
    end[EXECUTE] = l->begin[EXECUTE] = (end[READ] + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    l->jumps = take(&end[EXECUTE], JUMP_BYTES * (uint64_t)l->n_import, 16);
    place_part(l, EXECUTE);
    end[WRITE] = l->begin[WRITE] = (end[EXECUTE] + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    place_part(l, WRITE);
    l->dynamic_section = take(&end[WRITE], N_DYNAMIC * sizeof(Elf64_Dyn), 8);
    l->table = take(&end[WRITE], 8 * (uint64_t)l->n_import, 8);
}

/* Symbols get their addresses. */
static void settle(linker *l)
{
    for (uint32_t i = 0; i < l->n_object; i++)
        for (uint32_t k = 0; k < l->object[i].n_symbol; k++) {
            const object *o = &l->object[i];
            const Elf64_Sym *s = &o->symbol[k];
            if (is_global(s) && is_placed(o, s))
                find(l, name_of(o, s->st_name))->address = o->section[s->st_shndx].address + s->st_value;
        }
}

static void copy_sections(linker *l)
{
    for (uint32_t i = 0; i < l->n_object; i++)
        for (uint32_t k = 0; k < l->object[i].n_section; k++) {
            const section *s = &l->object[i].section[k];
            if (s->part != LEFT_OUT && s->head->sh_type != SHT_NOBITS)
                memcpy(l->out + s->address, l->object[i].at + s->head->sh_offset, s->head->sh_size);
        }
}

/* jmp *table[i](%rip), and the loader puts the function's address into the table. */
static void put_imports(linker *l)
{
    for (uint32_t i = 0; i < l->n_import; i++) {
        uint64_t at = l->jumps + JUMP_BYTES * (uint64_t)i, slot = l->table + 8 * (uint64_t)i;
        int32_t distance = (int32_t)(slot - (at + 6));
        memcpy(l->out + at, "\xff\x25", 2);
        memcpy(l->out + at + 2, &distance, 4);
        memset(l->out + at + 6, 0xcc, JUMP_BYTES - 6);
        tn_vec_push(&l->dynamic, ((Elf64_Rela){slot, ELF64_R_INFO((uint64_t)i + 1, R_X86_64_GLOB_DAT), 0}));
    }
}

/* One bucket: a chain over all symbols, the exported one first. */
static void put_symbols(linker *l)
{
    uint32_t n = l->n_import + 2, *hash = (uint32_t *)(void *)(l->out + l->hash), name = 1;
    Elf64_Sym *symbol = (Elf64_Sym *)(void *)(l->out + l->dynsym);
    hash[0] = 1;
    hash[1] = n;
    hash[2] = n - 1;
    for (uint32_t i = 1; i < n; i++) {
        const char *text = i <= l->n_import ? l->import[i - 1] : l->exported->name;
        symbol[i] = (Elf64_Sym){.st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
        hash[3 + i] = i - 1;
        name += (uint32_t)strlen(text) + 1;
    }
    symbol[n - 1].st_value = l->exported->address;
    symbol[n - 1].st_size = l->exported->symbol->st_size;
    symbol[n - 1].st_shndx = 1; /* any section but none */
    memcpy(l->out + l->dynstr, l->names.at, l->names.n);
}

static void put_dynamic(linker *l)
{
    const Elf64_Dyn d[N_DYNAMIC] = {{DT_HASH, {l->hash}},
                                    {DT_STRTAB, {l->dynstr}},
                                    {DT_SYMTAB, {l->dynsym}},
                                    {DT_STRSZ, {l->names.n}},
                                    {DT_SYMENT, {sizeof(Elf64_Sym)}},
                                    {DT_RELA, {l->rela}},
                                    {DT_RELASZ, {l->dynamic.n * sizeof(Elf64_Rela)}},
                                    {DT_RELAENT, {sizeof(Elf64_Rela)}},
                                    {DT_NULL, {0}}};
    memcpy(l->out + l->dynamic_section, d, sizeof d);
    if (l->dynamic.n)
        memcpy(l->out + l->rela, l->dynamic.at, l->dynamic.n * sizeof(Elf64_Rela));
}

/* The notes of all objects, which follow each other: code has one object with notes. */
static void find_notes(const linker *l, uint64_t *out_at, uint64_t *out_n)
{
    *out_at = *out_n = 0;
    for (uint32_t i = 0; i < l->n_object; i++)
        for (uint32_t k = 0; k < l->object[i].n_section; k++) {
            const section *s = &l->object[i].section[k];
            if (s->part != READ || s->head->sh_type != SHT_NOTE || !s->head->sh_size)
                continue;
            *out_at = *out_n ? *out_at : s->address;
            *out_n = s->address + s->head->sh_size - *out_at;
        }
}

static void put_segments(linker *l)
{
    uint64_t notes, n_notes, whole = (l->end[WRITE] - l->begin[WRITE] + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    find_notes(l, &notes, &n_notes);
#define SEGMENT(type, flags, at, in_file, in_memory, align) \
    {type, flags, at, at, at, in_file, in_memory, align}
    const Elf64_Phdr p[N_SEGMENT] = {
        SEGMENT(PT_LOAD, PF_R, 0, l->end[READ], l->end[READ], PAGE),
        SEGMENT(PT_LOAD, PF_R | PF_X, l->begin[EXECUTE], l->end[EXECUTE] - l->begin[EXECUTE],
                l->end[EXECUTE] - l->begin[EXECUTE], PAGE),
        SEGMENT(PT_LOAD, PF_R | PF_W, l->begin[WRITE], l->end[WRITE] - l->begin[WRITE], whole, PAGE),
        SEGMENT(PT_DYNAMIC, PF_R | PF_W, l->dynamic_section, N_DYNAMIC * sizeof(Elf64_Dyn),
                N_DYNAMIC * sizeof(Elf64_Dyn), 8),
        SEGMENT(PT_NOTE, PF_R, notes, n_notes, n_notes, 4),
        SEGMENT(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16),
        SEGMENT(PT_GNU_RELRO, PF_R, l->begin[WRITE], l->end[WRITE] - l->begin[WRITE], whole, 1)};
#undef SEGMENT
    memcpy(l->out + sizeof(Elf64_Ehdr), p, sizeof p);
}

/* ---- sections, for tools ---- */

enum {
    S_NONE,
    S_DYNSYM,
    S_DYNSTR,
    S_HASH,
    S_RELA,
    S_RODATA,
    S_NOTE,
    S_TEXT,
    S_DATA,
    S_DYNAMIC,
    S_SYMTAB,
    S_STRTAB,
    S_SHSTRTAB,
    N_SECTION
};

static uint16_t section_at(const linker *l, uint64_t address)
{
    return address >= l->begin[WRITE] ? S_DATA : address >= l->begin[EXECUTE] ? S_TEXT : S_RODATA;
}

/* All named symbols, as local ones. */
static void add_symtab(linker *l, tn_buf *symbols, tn_buf *names)
{
    tn_buf_fill(symbols, 0, sizeof(Elf64_Sym));
    tn_buf_char(names, 0);
    for (size_t i = 0; i < l->defined.n; i++) {
        const definition *d = &l->defined.at[i];
        Elf64_Sym s = {.st_name = (uint32_t)names->n,
                       .st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(d->symbol->st_info)),
                       .st_shndx = section_at(l, d->address),
                       .st_value = d->address,
                       .st_size = d->symbol->st_size};
        tn_buf_add(symbols, &s, sizeof s);
        tn_buf_add(names, d->name, strlen(d->name) + 1);
    }
}

static void put_headers(linker *l, uint64_t symtab, uint64_t n_symtab, uint64_t n_strtab, tn_buf *out)
{
    static const char names[] =
        "\0.dynsym\0.dynstr\0.hash\0.rela.dyn\0.rodata\0.note.tenon\0.text\0.data.rel.ro\0.dynamic\0"
        ".symtab\0.strtab\0.shstrtab";
    uint64_t notes, n_notes, data = l->rela + l->dynamic.n * sizeof(Elf64_Rela), symbols = l->n_import + 2;
    find_notes(l, &notes, &n_notes);
    const uint64_t a = SHF_ALLOC, at = symtab + n_symtab + n_strtab;
    Elf64_Shdr s[N_SECTION] = {[S_DYNSYM] = {0, SHT_DYNSYM, a, l->dynsym, 0, symbols * sizeof(Elf64_Sym),
                                             S_DYNSTR, 1, 8, sizeof(Elf64_Sym)},
                               [S_DYNSTR] = {0, SHT_STRTAB, a, l->dynstr, 0, l->names.n, 0, 0, 1, 0},
                               [S_HASH] = {0, SHT_HASH, a, l->hash, 0, 4 * (3 + symbols), S_DYNSYM, 0, 8, 4},
                               [S_RELA] = {0, SHT_RELA, a, l->rela, 0, l->dynamic.n * sizeof(Elf64_Rela),
                                           S_DYNSYM, 0, 8, sizeof(Elf64_Rela)},
                               [S_RODATA] = {0, SHT_PROGBITS, a, data, 0, l->end[READ] - data, 0, 0, 1, 0},
                               [S_NOTE] = {0, SHT_NOTE, a, notes, 0, n_notes, 0, 0, 4, 0},
                               [S_TEXT] = {0, SHT_PROGBITS, a | SHF_EXECINSTR, l->begin[EXECUTE], 0,
                                           l->end[EXECUTE] - l->begin[EXECUTE], 0, 0, 16, 0},
                               [S_DATA] = {0, SHT_PROGBITS, a | SHF_WRITE, l->begin[WRITE], 0,
                                           l->end[WRITE] - l->begin[WRITE], 0, 0, 16, 0},
                               [S_DYNAMIC] = {0, SHT_DYNAMIC, a | SHF_WRITE, l->dynamic_section, 0,
                                              N_DYNAMIC * sizeof(Elf64_Dyn), S_DYNSTR, 0, 8,
                                              sizeof(Elf64_Dyn)},
                               [S_SYMTAB] = {0, SHT_SYMTAB, 0, symtab, 0, n_symtab, S_STRTAB,
                                             (uint32_t)(n_symtab / sizeof(Elf64_Sym)), 8, sizeof(Elf64_Sym)},
                               [S_STRTAB] = {0, SHT_STRTAB, 0, symtab + n_symtab, 0, n_strtab, 0, 0, 1, 0},
                               [S_SHSTRTAB] = {0, SHT_STRTAB, 0, at, 0, sizeof names, 0, 0, 1, 0}};
    uint32_t name = 0;
    for (uint32_t i = 0; i < N_SECTION; name += (uint32_t)strlen(names + name) + 1, i++) {
        s[i].sh_name = name;
        s[i].sh_offset = s[i].sh_addr;
        s[i].sh_addr = s[i].sh_flags & SHF_ALLOC ? s[i].sh_addr : 0;
    }
    tn_buf_add(out, names, sizeof names);
    tn_buf_fill(out, 0, -out->n % 8);
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_type = ET_DYN,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT,
                    .e_phoff = sizeof h,
                    .e_shoff = out->n,
                    .e_ehsize = sizeof h,
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = N_SEGMENT,
                    .e_shentsize = sizeof *s,
                    .e_shnum = N_SECTION,
                    .e_shstrndx = S_SHSTRTAB};
    memcpy(out->at, &h, sizeof h);
    tn_buf_add(out, s, sizeof s);
}

static tn_status write_all(linker *l, tn_buf *out)
{
    tn_buf symbols = {0}, names = {0};
    tn_buf_fill(out, 0, l->end[WRITE]);
    l->out = out->at;
    settle(l);
    copy_sections(l);
    TN_TRY(each(l, put));
    put_imports(l);
    put_symbols(l);
    put_dynamic(l);
    put_segments(l);
    add_symtab(l, &symbols, &names);
    tn_buf_fill(out, 0, -out->n % 8);
    uint64_t at = out->n;
    tn_buf_add(out, symbols.at, symbols.n);
    tn_buf_add(out, names.at, names.n);
    put_headers(l, at, symbols.n, names.n, out);
    tn_buf_deinit(&symbols);
    tn_buf_deinit(&names);
    return TN_OK;
}

static tn_status link_all(linker *l, tn_buf *out)
{
    for (uint32_t i = 0; i < l->n_object; i++)
        TN_TRY(read_object(l, &l->object[i]));
    TN_TRY(collect(l));
    TN_TRY(each(l, count));
    layout(l);
    return write_all(l, out);
}

tn_status tn_elf_link(tn_ctx *ctx, uint32_t n, const tn_buf code[], tn_buf *out_so)
{
    linker l = {.ctx = ctx, .n_object = n};
    l.object = TN_NEW_N(&l.arena, object, n);
    for (uint32_t i = 0; i < n; i++)
        l.object[i] = (object){.at = (const uint8_t *)code[i].at, .n = code[i].n};
    tn_status st = link_all(&l, out_so);
    tn_vec_deinit(&l.defined);
    tn_vec_deinit(&l.dynamic);
    tn_buf_deinit(&l.names);
    tn_arena_deinit(&l.arena);
    return st;
}

bool tn_elf_link_can(uint32_t n, const tn_buf code[])
{
    const Elf64_Ehdr *h = n && code[0].n >= sizeof *h ? (const Elf64_Ehdr *)(const void *)code[0].at : NULL;
    return h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_machine == EM_X86_64;
}
