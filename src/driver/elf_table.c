/* What the loader reads beside code and data: names, symbols, versions, the dynamic section, segments; and what tools
 * read: symbols of all functions, sections. */
#include "driver/elf_linker.h"

#include <string.h>

/* ---- names and versions, known before the layout ---- */

static uint32_t add_name(elf_linker *l, const char *name)
{
    uint32_t at = (uint32_t)l->names.n;
    tn_buf_add(&l->names, name, strlen(name) + 1);
    return at;
}

static bool same_library(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static size_t library_of(elf_linker *l, const char *file)
{
    size_t i = 0;
    while (i < l->library.n && !same_library(l->library.at[i], file))
        i++;
    if (i == l->library.n) {
        tn_vec_push(&l->library, file);
        tn_vec_push(&l->library_at, add_name(l, file));
    }
    return i;
}

/* The hash of the System V ABI, figure 5-13. */
static uint32_t hash_of(const char *name)
{
    uint32_t h = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        h = (h << 4) + *c;
        h = (h ^ ((h & 0xf0000000u) >> 24)) & 0x0fffffffu;
    }
    return h;
}

/* The first import with the same version. */
static size_t like(const elf_linker *l, size_t i)
{
    size_t k = 0;
    while (!same_library(l->import.at[k].file, l->import.at[i].file) ||
           strcmp(l->import.at[k].version, l->import.at[i].version) != 0)
        k++;
    return k;
}

/* The versions of one library: .gnu.version_r. */
static void add_needs(elf_linker *l, size_t library, uint16_t *last)
{
    size_t head = l->needs.n;
    Elf64_Verneed need = {.vn_version = 1, .vn_file = l->library_at.at[library], .vn_aux = sizeof need};
    tn_buf_add(&l->needs, &need, sizeof need);
    for (size_t i = 0; i < l->import.n; i++) {
        const elf_import *m = &l->import.at[i];
        if (!same_library(m->file, l->library.at[library]))
            continue;
        size_t k = like(l, i);
        if (k < i) {
            l->version.at[i] = l->version.at[k];
            continue;
        }
        Elf64_Vernaux v = {.vna_hash = hash_of(m->version),
                           .vna_other = l->version.at[i] = ++*last,
                           .vna_name = add_name(l, m->version),
                           .vna_next = sizeof v};
        tn_buf_add(&l->needs, &v, sizeof v);
        need.vn_cnt++;
    }
    const uint32_t none = 0;
    memcpy(l->needs.at + l->needs.n - sizeof none, &none, sizeof none); /* vna_next of the last one */
    need.vn_next = library + 1 < l->library.n ? (uint32_t)(l->needs.n - head) : 0;
    memcpy(l->needs.at + head, &need, sizeof need);
}

void elf_table_names(elf_linker *l)
{
    uint16_t last = VER_NDX_GLOBAL;
    tn_buf_char(&l->names, 0);
    for (size_t i = 0; i < l->import.n; i++) {
        tn_vec_push(&l->name_at, add_name(l, l->import.at[i].name));
        tn_vec_push(&l->version, (uint16_t)VER_NDX_GLOBAL);
        if (l->import.at[i].file)
            library_of(l, l->import.at[i].file);
    }
    for (size_t i = 0; i < l->exported.n; i++)
        tn_vec_push(&l->name_at, add_name(l, l->exported.at[i].name));
    for (size_t i = 0; i < l->library.n; i++)
        add_needs(l, i, &last);
}

static uint64_t n_symbol(const elf_linker *l)
{
    return 1 + l->import.n + l->exported.n;
} /* the first is none */

void elf_table_place(elf_linker *l)
{
    uint64_t *end = &l->end[ELF_READ], symbols = n_symbol(l);
    *end = sizeof(Elf64_Ehdr) + ELF_SEGMENTS * sizeof(Elf64_Phdr);
    l->hash = elf_take(end, 4 * (3 + symbols), 8);
    l->dynsym = elf_take(end, symbols * sizeof(Elf64_Sym), 8);
    l->dynstr = elf_take(end, l->names.n, 1);
    if (l->needs.n) {
        l->versym = elf_take(end, 2 * symbols, 2);
        l->verneed = elf_take(end, l->needs.n, 8);
    }
    l->rela = elf_take(end, (l->n_dynamic + l->import.n) * sizeof(Elf64_Rela), 8);
}

/* ---- sections, for tools ---- */

#define SECTIONS(ROW) \
    ROW(NONE, "") \
    ROW(HASH, ".hash") \
    ROW(DYNSYM, ".dynsym") \
    ROW(DYNSTR, ".dynstr") \
    ROW(VERSYM, ".gnu.version") \
    ROW(VERNEED, ".gnu.version_r") \
    ROW(RELA, ".rela.dyn") \
    ROW(RODATA, ".rodata") \
    ROW(NOTE, ".note.tenon") \
    ROW(TEXT, ".text") \
    ROW(RELRO, ".data.rel.ro") \
    ROW(DYNAMIC, ".dynamic") \
    ROW(GOT, ".got") \
    ROW(DATA, ".data") \
    ROW(WEIGHTS, ".rodata.tenon_weights") \
    ROW(SYMTAB, ".symtab") \
    ROW(STRTAB, ".strtab") \
    ROW(SHSTRTAB, ".shstrtab")
enum {
#define ROW(name, text) S_##name,
    SECTIONS(ROW)
#undef ROW
        N_SECTION
};

static uint16_t section_at(const elf_linker *l, uint64_t address)
{
    static const uint16_t of[ELF_PARTS] = {S_RODATA, S_TEXT, S_RELRO, S_DATA, S_WEIGHTS};
    int part = ELF_PARTS - 1;
    while (part > 0 && address < l->begin[part])
        part--;
    return of[part];
}

/* ---- contents ---- */

/* One bucket: a chain over all symbols, the last one first. */
static void put_symbols(elf_linker *l)
{
    uint32_t n = (uint32_t)n_symbol(l), *hash = (uint32_t *)(void *)(l->out + l->hash);
    Elf64_Sym *symbol = (Elf64_Sym *)(void *)(l->out + l->dynsym);
    hash[0] = 1;
    hash[1] = n;
    hash[2] = n - 1;
    for (uint32_t i = 1; i < n; i++) {
        symbol[i] =
            (Elf64_Sym){.st_name = l->name_at.at[i - 1], .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
        hash[3 + i] = i - 1;
        if (i <= l->import.n)
            continue;
        const elf_definition *d = &l->exported.at[i - 1 - l->import.n];
        symbol[i].st_value = elf_section_of(d->object, d->symbol)->address + d->symbol->st_value;
        symbol[i].st_size = d->symbol->st_size;
        symbol[i].st_shndx = section_at(l, symbol[i].st_value);
    }
    memcpy(l->out + l->dynstr, l->names.at, l->names.n);
}

static void put_versions(elf_linker *l)
{
    uint16_t *version = (uint16_t *)(void *)(l->out + l->versym);
    for (uint64_t i = 1; i < n_symbol(l); i++)
        version[i] = i <= l->import.n ? l->version.at[i - 1] : VER_NDX_GLOBAL;
    memcpy(l->out + l->verneed, l->needs.at, l->needs.n);
}

enum { DYNAMIC_MOST = 16 }; /* beside the needed libraries */

/* Their number; they go to `out` if that is given. */
static uint64_t make_dynamic(const elf_linker *l, Elf64_Dyn *out)
{
    Elf64_Dyn d[DYNAMIC_MOST];
    uint64_t n = 0, k = l->library.n;
#define ENTRY(tag, value) \
    d[n++] = (Elf64_Dyn) \
    { \
        tag, { value } \
    }
    ENTRY(DT_HASH, l->hash);
    ENTRY(DT_STRTAB, l->dynstr);
    ENTRY(DT_SYMTAB, l->dynsym);
    ENTRY(DT_STRSZ, l->names.n);
    ENTRY(DT_SYMENT, sizeof(Elf64_Sym));
    ENTRY(DT_RELA, l->rela);
    ENTRY(DT_RELASZ, l->dynamic.n * sizeof(Elf64_Rela));
    ENTRY(DT_RELAENT, sizeof(Elf64_Rela));
    if (l->needs.n) {
        ENTRY(DT_VERSYM, l->versym);
        ENTRY(DT_VERNEED, l->verneed);
        ENTRY(DT_VERNEEDNUM, l->library.n);
    }
    if (l->job->stays) {
        ENTRY(DT_FLAGS, DF_BIND_NOW);
        ENTRY(DT_FLAGS_1, DF_1_NOW | DF_1_NODELETE);
    }
    ENTRY(DT_NULL, 0);
#undef ENTRY
    for (uint64_t i = 0; out && i < k; i++)
        out[i] = (Elf64_Dyn){DT_NEEDED, {l->library_at.at[i]}};
    if (out)
        memcpy(out + k, d, n * sizeof *d);
    return k + n;
}

uint64_t elf_table_dynamic_bytes(const elf_linker *l) { return make_dynamic(l, NULL) * sizeof(Elf64_Dyn); }

void elf_table_write(elf_linker *l)
{
    put_symbols(l);
    if (l->needs.n)
        put_versions(l);
    make_dynamic(l, (Elf64_Dyn *)(void *)(l->out + l->dynamic_section));
    if (l->dynamic.n)
        memcpy(l->out + l->rela, l->dynamic.at, l->dynamic.n * sizeof(Elf64_Rela));
}

/* ---- segments ---- */

/* The notes of all objects, which lie together. */
static void find_notes(const elf_linker *l, uint64_t *out_at, uint64_t *out_n)
{
    *out_at = *out_n = 0;
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; k < l->object.at[i].n_section; k++) {
            const elf_section *s = &l->object.at[i].section[k];
            if (!s->live || s->part != ELF_READ || s->head->sh_type != SHT_NOTE || !s->head->sh_size)
                continue;
            *out_at = *out_n ? *out_at : s->address;
            *out_n = s->address + s->head->sh_size - *out_at;
        }
}

static uint64_t has(const elf_linker *l, enum elf_part part) { return l->end[part] - l->begin[part]; }

void elf_table_segments(elf_linker *l)
{
    uint64_t notes, n_notes, relro = l->begin[ELF_RELRO], dynamic = elf_table_dynamic_bytes(l);
    uint64_t read_only = (has(l, ELF_RELRO) + TN_ELF_PAGE - 1) & ~(uint64_t)(TN_ELF_PAGE - 1);
    uint64_t written = l->end[ELF_WRITE] - relro, in_memory = written > read_only ? written : read_only;
    find_notes(l, &notes, &n_notes);
#define SEGMENT(type, flags, at, in_file, in_memory, align) \
    {type, flags, at, at, at, in_file, in_memory, align}
#define PART(flags, part) SEGMENT(PT_LOAD, flags, l->begin[part], has(l, part), has(l, part), TN_ELF_PAGE)
    const Elf64_Phdr p[ELF_SEGMENTS] = {
        PART(PF_R, ELF_READ),
        PART(PF_R | PF_X, ELF_EXECUTE),
        SEGMENT(PT_LOAD, PF_R | PF_W, relro, written, in_memory, TN_ELF_PAGE),
        SEGMENT(PT_DYNAMIC, PF_R | PF_W, l->dynamic_section, dynamic, dynamic, 8),
        SEGMENT(PT_NOTE, PF_R, notes, n_notes, n_notes, 4),
        SEGMENT(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16),
        SEGMENT(PT_GNU_RELRO, PF_R, relro, written < read_only ? written : read_only, read_only, 1),
        PART(PF_R, ELF_WEIGHTS)};
#undef PART
#undef SEGMENT
    memcpy(l->out + sizeof(Elf64_Ehdr), p, sizeof p);
}

/* ---- symbols of all functions, and heads of sections ---- */

/* All named symbols, as local ones. */
static void add_symtab(const elf_linker *l, tn_buf *symbols, tn_buf *names)
{
    tn_buf_fill(symbols, 0, sizeof(Elf64_Sym));
    tn_buf_char(names, 0);
    for (size_t i = 0; i < l->defined.n; i++) {
        const elf_definition *d = &l->defined.at[i];
        const elf_section *in = elf_section_of(d->object, d->symbol);
        if (!in->live)
            continue;
        Elf64_Sym s = {.st_name = (uint32_t)names->n,
                       .st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(d->symbol->st_info)),
                       .st_shndx = section_at(l, in->address),
                       .st_value = in->address + d->symbol->st_value,
                       .st_size = d->symbol->st_size};
        tn_buf_add(symbols, &s, sizeof s);
        tn_buf_add(names, d->name, strlen(d->name) + 1);
    }
}

static void head(Elf64_Shdr *s, uint32_t type, uint64_t flags, uint64_t at, uint64_t n, uint64_t entry)
{
    *s = (Elf64_Shdr){.sh_type = n ? type : SHT_NULL,
                      .sh_flags = flags,
                      .sh_addr = flags & SHF_ALLOC ? at : 0,
                      .sh_offset = at,
                      .sh_size = n,
                      .sh_addralign = entry > 8 ? 8
                                      : entry   ? entry
                                                : 1,
                      .sh_entsize = entry > 1 ? entry : 0};
}

/* In the order of addresses, none over another, as strip(1) wants them; without symtab, strtab and shstrtab. */
static void make_heads(const elf_linker *l, Elf64_Shdr s[N_SECTION])
{
    const uint64_t r = SHF_ALLOC, w = SHF_ALLOC | SHF_WRITE, symbols = n_symbol(l);
    uint64_t notes, n_notes, rodata = l->rela + l->dynamic.n * sizeof(Elf64_Rela);
    find_notes(l, &notes, &n_notes);
    head(&s[S_DYNSYM], SHT_DYNSYM, r, l->dynsym, symbols * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
    head(&s[S_DYNSTR], SHT_STRTAB, r, l->dynstr, l->names.n, 0);
    head(&s[S_HASH], SHT_HASH, r, l->hash, 4 * (3 + symbols), 4);
    head(&s[S_VERSYM], SHT_GNU_versym, r, l->versym, l->needs.n ? 2 * symbols : 0, 2);
    head(&s[S_VERNEED], SHT_GNU_verneed, r, l->verneed, l->needs.n, 0);
    head(&s[S_RELA], SHT_RELA, r, l->rela, l->dynamic.n * sizeof(Elf64_Rela), sizeof(Elf64_Rela));
    head(&s[S_RODATA], SHT_PROGBITS, r, rodata, (n_notes ? notes : l->end[ELF_READ]) - rodata, 0);
    head(&s[S_NOTE], SHT_NOTE, r, notes, n_notes, 0);
    head(&s[S_TEXT], SHT_PROGBITS, r | SHF_EXECINSTR, l->begin[ELF_EXECUTE], has(l, ELF_EXECUTE), 0);
    head(&s[S_RELRO], SHT_PROGBITS, w, l->begin[ELF_RELRO], l->dynamic_section - l->begin[ELF_RELRO], 0);
    head(&s[S_DYNAMIC], SHT_DYNAMIC, w, l->dynamic_section, elf_table_dynamic_bytes(l), sizeof(Elf64_Dyn));
    head(&s[S_GOT], SHT_PROGBITS, w, l->table, l->end[ELF_RELRO] - l->table, 8);
    head(&s[S_DATA], SHT_PROGBITS, w, l->begin[ELF_WRITE], has(l, ELF_WRITE), 0);
    head(&s[S_WEIGHTS], SHT_PROGBITS, r, l->begin[ELF_WEIGHTS], has(l, ELF_WEIGHTS), 0);
    s[S_NOTE].sh_addralign = 4;
    s[S_DYNSYM].sh_link = s[S_VERNEED].sh_link = s[S_DYNAMIC].sh_link = S_DYNSTR;
    s[S_HASH].sh_link = s[S_RELA].sh_link = s[S_VERSYM].sh_link = S_DYNSYM;
    s[S_DYNSYM].sh_info = 1;
    s[S_VERNEED].sh_info = (uint32_t)l->library.n;
}

void elf_table_sections(elf_linker *l, uint64_t at, tn_buf *out)
{
    static const char *const name[] = {
#define ROW(name, text) text,
        SECTIONS(ROW)
#undef ROW
    };
    tn_buf names = {0};
    Elf64_Shdr s[N_SECTION] = {{0}};
    make_heads(l, s);
    uint64_t symtab = (at + 7) & ~(uint64_t)7;
    tn_buf_fill(out, 0, symtab - at);
    uint64_t pad = out->n;
    add_symtab(l, out, &names);
    head(&s[S_SYMTAB], SHT_SYMTAB, 0, symtab, out->n - pad, sizeof(Elf64_Sym));
    s[S_SYMTAB].sh_link = S_STRTAB;
    s[S_SYMTAB].sh_info = (uint32_t)(s[S_SYMTAB].sh_size / sizeof(Elf64_Sym));
    head(&s[S_STRTAB], SHT_STRTAB, 0, at + out->n, names.n, 0);
    tn_buf_add(out, names.at, names.n);
    tn_buf_clear(&names);
    for (int i = 0; i < N_SECTION; i++)
        tn_buf_add(&names, name[i], strlen(name[i]) + 1);
    head(&s[S_SHSTRTAB], SHT_STRTAB, 0, at + out->n, names.n, 0);
    for (int i = 1; i < N_SECTION; i++)
        s[i].sh_name = s[i - 1].sh_name + (uint32_t)strlen(name[i - 1]) + 1;
    tn_buf_add(out, names.at, names.n);
    tn_buf_fill(out, 0, -(at + out->n) % 8);
    const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_version = EV_CURRENT,
                          .e_phoff = sizeof h,
                          .e_shoff = at + out->n,
                          .e_ehsize = sizeof h,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_phnum = has(l, ELF_WEIGHTS) ? ELF_SEGMENTS : ELF_SEGMENTS - 1,
                          .e_shentsize = sizeof *s,
                          .e_shnum = N_SECTION,
                          .e_shstrndx = S_SHSTRTAB};
    memcpy(l->out, &h, sizeof h);
    tn_buf_add(out, s, sizeof s);
    tn_buf_deinit(&names);
}
