/* Objects, and what of them is linked. Every offset that is read is checked against the size of what it is read from:
 * the kernel cache is a file.
 *
 * Members of the archive are taken as a linker takes them: because an undefined symbol that is not weak names something
 * that they define. Of those, the sections are linked that something linked refers to. */
#include "driver/elf_linker.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MEMBERS = 4096 };

tn_status elf_refuse(elf_linker *l, const char *what)
{
    return tn_error(
        l->ctx, "driver-E120", NULL,
        "the generated code cannot be linked: %s; remove the kernel cache, or link with --cross-compiler cc",
        what);
}

const void *elf_bytes(tn_bytes whole, uint64_t at, uint64_t n)
{
    return at <= whole.n && n <= whole.n - at ? whole.at + at : NULL;
}

const char *elf_name_of(const elf_object *o, uint32_t at)
{
    return at < o->n_names && memchr(o->names + at, 0, o->n_names - at) ? o->names + at : "";
}

elf_section *elf_section_of(const elf_object *o, const Elf64_Sym *s)
{
    bool inside = s->st_shndx != SHN_UNDEF && s->st_shndx < o->n_section;
    return inside && o->section[s->st_shndx].part != ELF_LEFT_OUT ? &o->section[s->st_shndx] : NULL;
}

/* ---- reading ---- */

static bool begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

static enum elf_part part_of(const Elf64_Shdr *s, const char *name)
{
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_X86_64_UNWIND || strcmp(name, ".eh_frame") == 0)
        return ELF_LEFT_OUT;
    if (s->sh_flags & SHF_EXECINSTR)
        return ELF_EXECUTE;
    if (s->sh_flags & SHF_WRITE)
        return begins(name, ".data.rel.ro") ? ELF_RELRO : ELF_WRITE;
    return begins(name, ".rodata.tenon_weights") || begins(name, ".lrodata") ? ELF_WEIGHTS : ELF_READ;
}

static bool read_symbols(elf_object *o, const Elf64_Shdr *s)
{
    if (s->sh_link >= o->n_section || s->sh_size / sizeof(Elf64_Sym) > UINT32_MAX)
        return false;
    const Elf64_Shdr *names = o->section[s->sh_link].head;
    o->n_symbol = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
    o->symbol = elf_bytes(elf_whole(o), s->sh_offset, s->sh_size);
    o->names = elf_bytes(elf_whole(o), names->sh_offset, names->sh_size);
    o->n_names = names->sh_size;
    return o->symbol && o->names && s->sh_offset % 8 == 0;
}

/* The names of sections tell parts of the same flags apart; one that is damaged is none. */
static const char *section_name(const elf_object *o, const Elf64_Ehdr *h, const Elf64_Shdr *all, uint32_t i)
{
    const Elf64_Shdr *s = h->e_shstrndx < h->e_shnum ? &all[h->e_shstrndx] : NULL;
    const char *names = s ? elf_bytes(elf_whole(o), s->sh_offset, s->sh_size) : NULL;
    uint32_t at = all[i].sh_name;
    return names && at < s->sh_size && memchr(names + at, 0, s->sh_size - at) ? names + at : "";
}

static bool section_is_sound(const elf_object *o, const Elf64_Shdr *s)
{
    bool held = s->sh_type == SHT_NOBITS || elf_bytes(elf_whole(o), s->sh_offset, s->sh_size);
    return held && s->sh_addralign <= TN_ELF_PAGE && (s->sh_addralign & (s->sh_addralign - 1)) == 0 &&
           (s->sh_type != SHT_NOBITS || s->sh_size <= 1 << 20) && !(s->sh_flags & (SHF_TLS | SHF_COMPRESSED));
}

static bool read_relocations(elf_object *o, const Elf64_Shdr *s)
{
    if (s->sh_info >= o->n_section || s->sh_offset % 8 != 0 || o->section[s->sh_info].relocations)
        return false;
    o->section[s->sh_info].relocations = s;
    return true;
}

static tn_status read_sections(elf_linker *l, elf_object *o, const Elf64_Ehdr *h, const Elf64_Shdr *s)
{
    o->n_section = h->e_shnum;
    o->section = TN_NEW_N(&l->arena, elf_section, o->n_section);
    for (uint32_t i = 0; i < o->n_section; i++) {
        if (!section_is_sound(o, &s[i]))
            return elf_refuse(l, "a section of an object is damaged");
        o->section[i] =
            (elf_section){.head = &s[i], .object = o, .part = part_of(&s[i], section_name(o, h, s, i))};
        if (o->section[i].part != ELF_LEFT_OUT && o->section[i].part != ELF_WEIGHTS &&
            s[i].sh_size > UINT32_MAX)
            return elf_refuse(l, "a section of an object is larger than 4 GiB");
    }
    for (uint32_t i = 0; i < o->n_section; i++) {
        if (s[i].sh_type == SHT_SYMTAB && !read_symbols(o, &s[i]))
            return elf_refuse(l, "the symbols of an object are damaged");
        if (s[i].sh_type == SHT_RELA && !read_relocations(o, &s[i]))
            return elf_refuse(l, "the relocations of an object are damaged");
    }
    return TN_OK;
}

static tn_status read_object(elf_linker *l, elf_object *o)
{
    const Elf64_Ehdr *h = elf_bytes(elf_whole(o), 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_type != ET_REL || h->e_machine != EM_X86_64 ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 != 0)
        return elf_refuse(l, "an object is damaged");
    const Elf64_Shdr *s = elf_bytes(elf_whole(o), h->e_shoff, (uint64_t)h->e_shnum * sizeof *s);
    return s ? read_sections(l, o, h, s) : elf_refuse(l, "an object is cut short");
}

/* Members lie at even offsets; objects want eight, so each is copied. */
static const void *aligned(elf_linker *l, const uint8_t *at, size_t n)
{
    uint64_t *copy = TN_NEW_N(&l->arena, uint64_t, n / 8 + 1);
    memcpy(copy, at, n);
    return copy;
}

static tn_status read_archive(elf_linker *l, tn_bytes a)
{
    static const char mark[] = "!<arch>\n";
    struct header { /* of a member: text, filled up with blanks */
        char name[16], other[32], size[10], end[2];
    };
    if (a.n < 8 || memcmp(a.at, mark, 8) != 0)
        return elf_refuse(l, "the runtime's archive is damaged");
    for (uint64_t at = 8; at + sizeof(struct header) <= a.n;) {
        struct header h;
        memcpy(&h, a.at + at, sizeof h);
        at += sizeof h;
        uint64_t n = strtoull((char[11]){h.size[0], h.size[1], h.size[2], h.size[3], h.size[4], h.size[5],
                                         h.size[6], h.size[7], h.size[8], h.size[9]},
                              NULL, 10);
        const uint8_t *data = elf_bytes(a, at, n);
        if (!data || memcmp(h.end, "`\n", 2) != 0 || l->object.n > MAX_MEMBERS)
            return elf_refuse(l, "the runtime's archive is damaged");
        if (h.name[0] != '/' || (h.name[1] >= '0' && h.name[1] <= '9')) /* neither symbols nor long names */
            tn_vec_push(&l->object, ((elf_object){.at = aligned(l, data, n), .n = n, .member = true}));
        at += n + n % 2;
    }
    return TN_OK;
}

/* ---- definitions ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const elf_definition *)a)->name, ((const elf_definition *)b)->name);
}

elf_definition *elf_find(elf_linker *l, const char *name)
{
    elf_definition key = {.name = name};
    return l->defined.n ? bsearch(&key, l->defined.at, l->defined.n, sizeof key, by_name) : NULL;
}

static tn_status collect(elf_linker *l)
{
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; k < l->object.at[i].n_symbol; k++) {
            const elf_object *o = &l->object.at[i];
            const Elf64_Sym *s = &o->symbol[k];
            if (elf_is_global(s) && elf_section_of(o, s))
                tn_vec_push(&l->defined, ((elf_definition){elf_name_of(o, s->st_name), o, s}));
        }
    qsort(l->defined.at, l->defined.n, sizeof *l->defined.at, by_name);
    for (size_t i = 1; i < l->defined.n; i++)
        if (strcmp(l->defined.at[i - 1].name, l->defined.at[i].name) == 0)
            return elf_refuse(l, "two objects define the same symbol");
    return TN_OK;
}

static tn_status choose_exported(elf_linker *l)
{
    const tn_elf_job *job = l->job;
    for (uint32_t i = 0; i < job->n_export; i++) {
        const elf_definition *d = elf_find(l, job->exported[i].name);
        if (!d)
            return elf_refuse(l, tn_arena_printf(&l->arena, "nothing defines %s", job->exported[i].name));
        tn_vec_push(&l->exported, ((elf_definition){job->exported[i].as, d->object, d->symbol}));
    }
    for (size_t i = 0; job->n_export == 0 && i < l->defined.n; i++)
        if (ELF64_ST_VISIBILITY(l->defined.at[i].symbol->st_other) == STV_DEFAULT)
            tn_vec_push(&l->exported, l->defined.at[i]);
    if (job->n_export == 0 && l->exported.n > 1)
        return elf_refuse(l, "two symbols are exported");
    return l->exported.n ? TN_OK : elf_refuse(l, "nothing is exported");
}

/* ---- relocations ---- */

static tn_status resolve(elf_linker *l, const elf_object *o, elf_relocation *x)
{
    uint32_t at = (uint32_t)ELF64_R_SYM(x->r->r_info);
    if (at >= o->n_symbol || x->r->r_offset > x->target->head->sh_size ||
        x->target->head->sh_size - x->r->r_offset < 4 || x->target->head->sh_type == SHT_NOBITS)
        return elf_refuse(l, "a relocation is damaged");
    x->symbol = &o->symbol[at];
    x->in = elf_section_of(o, x->symbol);
    x->name = NULL;
    if (x->in)
        return TN_OK;
    if (x->symbol->st_shndx != SHN_UNDEF)
        return elf_refuse(l, "it needs an absolute symbol");
    const char *name = elf_name_of(o, x->symbol->st_name);
    const elf_definition *d = elf_find(l, name);
    if (d && d->object->taken) {
        x->symbol = d->symbol;
        x->in = elf_section_of(d->object, d->symbol);
    } else if (ELF64_ST_BIND(x->symbol->st_info) != STB_WEAK) {
        x->name = name;
    }
    return TN_OK;
}

tn_status elf_each_in(elf_linker *l, const elf_section *s, elf_visit_fn *visit)
{
    const Elf64_Shdr *r = s->relocations;
    const Elf64_Rela *all = r ? elf_bytes(elf_whole(s->object), r->sh_offset, r->sh_size) : NULL;
    elf_relocation x = {.target = s};
    for (uint64_t i = 0; all && i < r->sh_size / sizeof *all; i++) {
        x.r = &all[i];
        TN_TRY(resolve(l, s->object, &x));
        TN_TRY(visit(l, &x));
    }
    return TN_OK;
}

/* ---- choice ---- */

static void take_member(elf_linker *l, const char *name)
{
    const elf_definition *d = elf_find(l, name);
    if (d)
        l->object.at[d->object - l->object.at].taken = true;
}

static size_t count_taken(const elf_linker *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->object.n; i++)
        n += l->object.at[i].taken;
    return n;
}

static void take_needed(elf_linker *l)
{
    for (uint32_t i = 0; i < l->job->n_root; i++)
        take_member(l, l->job->root[i]);
    for (size_t i = 0; i < l->exported.n; i++)
        l->object.at[l->exported.at[i].object - l->object.at].taken = true;
    for (size_t had = 0; had != count_taken(l);) {
        had = count_taken(l);
        for (size_t i = 0; i < l->object.n; i++)
            for (uint32_t k = 0; l->object.at[i].taken && k < l->object.at[i].n_symbol; k++) {
                const Elf64_Sym *s = &l->object.at[i].symbol[k];
                if (s->st_shndx == SHN_UNDEF && ELF64_ST_BIND(s->st_info) == STB_GLOBAL)
                    take_member(l, elf_name_of(&l->object.at[i], s->st_name));
            }
    }
}

static void reach(elf_linker *l, elf_section *s)
{
    if (!s->live)
        tn_vec_push(&l->reached, s);
    s->live = true;
}

static tn_status follow(elf_linker *l, elf_relocation *x)
{
    if (x->in)
        reach(l, x->in);
    return TN_OK;
}

/* All of the objects, what is exported and needed, and what these refer to. */
static tn_status mark(elf_linker *l)
{
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; !l->object.at[i].member && k < l->object.at[i].n_section; k++)
            if (l->object.at[i].section[k].part != ELF_LEFT_OUT)
                reach(l, &l->object.at[i].section[k]);
    for (size_t i = 0; i < l->exported.n; i++)
        reach(l, elf_section_of(l->exported.at[i].object, l->exported.at[i].symbol));
    for (uint32_t i = 0; i < l->job->n_root; i++) {
        const elf_definition *d = elf_find(l, l->job->root[i]);
        if (!d)
            return elf_refuse(l, tn_arena_printf(&l->arena, "nothing defines %s", l->job->root[i]));
        reach(l, elf_section_of(d->object, d->symbol));
    }
    while (l->reached.n)
        TN_TRY(elf_each_in(l, l->reached.at[--l->reached.n], follow));
    return TN_OK;
}

tn_status elf_select(elf_linker *l)
{
    for (uint32_t i = 0; i < l->job->n_object; i++) {
        const tn_bytes *o = &l->job->object[i];
        tn_vec_push(&l->object, ((elf_object){.at = o->at, .n = o->n, .taken = true}));
    }
    if (l->job->archive.n)
        TN_TRY(read_archive(l, l->job->archive));
    for (size_t i = 0; i < l->object.n; i++) /* their places are settled */
        TN_TRY(read_object(l, &l->object.at[i]));
    TN_TRY(collect(l));
    TN_TRY(choose_exported(l));
    take_needed(l);
    return mark(l);
}
