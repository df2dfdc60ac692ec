/* Layout, relocations, the file. Generated code and the runtime need little: positions of code that are relative,
 * addresses in data, functions of the C library. What a real linker does beyond that (merging of strings, TLS, other
 * kinds of relocations) does not occur; an object that needs it is refused (driver-E120). O(size + n log n symbols). */
#include "driver/elf_linker.h"

#include <string.h>

/* ---- layout ---- */

uint64_t elf_take(uint64_t *end, uint64_t n, uint64_t align)
{
    align = align ? align : 1;
    uint64_t at = (*end + align - 1) & ~(align - 1);
    *end = at + n;
    return at;
}

static uint64_t next_page(uint64_t at) { return (at + TN_ELF_PAGE - 1) & ~(uint64_t)(TN_ELF_PAGE - 1); }

/* Notes after the rest, so that they follow each other. */
static void place_sections(elf_linker *l, enum elf_part part, bool notes)
{
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; k < l->object.at[i].n_section; k++) {
            elf_section *s = &l->object.at[i].section[k];
            if (s->live && s->part == part && (s->head->sh_type == SHT_NOTE) == notes)
                s->address = elf_take(&l->end[part], s->head->sh_size, s->head->sh_addralign);
        }
}

static void place_part(elf_linker *l, enum elf_part part)
{
    place_sections(l, part, false);
    place_sections(l, part, true);
}

static void begin_part(elf_linker *l, enum elf_part part)
{
    l->end[part] = l->begin[part] = next_page(l->end[part - 1]);
}

static void layout(elf_linker *l)
{
    elf_table_names(l);
    elf_table_place(l);
    place_part(l, ELF_READ);
    begin_part(l, ELF_EXECUTE);
    l->jumps = elf_take(&l->end[ELF_EXECUTE], TN_ELF_JUMP * (uint64_t)l->import.n, 16);
    place_part(l, ELF_EXECUTE);
    begin_part(l, ELF_RELRO);
    place_part(l, ELF_RELRO);
    l->dynamic_section = elf_take(&l->end[ELF_RELRO], elf_table_dynamic_bytes(l), 8);
    l->table = elf_take(&l->end[ELF_RELRO], 8 * (uint64_t)(l->import.n + l->entry.n), 8);
    begin_part(l, ELF_WRITE);
    place_part(l, ELF_WRITE);
    if (l->end[ELF_WRITE] == l->begin[ELF_WRITE])
        l->end[ELF_WRITE] = l->begin[ELF_WRITE] = l->end[ELF_RELRO]; /* nothing fills the page */
    begin_part(l, ELF_WEIGHTS);
    place_part(l, ELF_WEIGHTS);
}

/* ---- relocations: once to count and find imports, once to write ---- */

static tn_status each(elf_linker *l, elf_visit_fn *visit)
{
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; k < l->object.at[i].n_section; k++)
            if (l->object.at[i].section[k].live)
                TN_TRY(elf_each_in(l, &l->object.at[i].section[k], visit));
    return TN_OK;
}

static uint32_t type_of(const elf_relocation *x) { return (uint32_t)ELF64_R_TYPE(x->r->r_info); }

static bool reads_table(const elf_relocation *x)
{
    uint32_t t = type_of(x);
    return t == R_X86_64_GOTPCREL || t == R_X86_64_GOTPCRELX || t == R_X86_64_REX_GOTPCRELX;
}

/* The place in the table of addresses of what is not imported; its number if there is none yet. */
static size_t entry_of(const elf_linker *l, const elf_relocation *x)
{
    size_t i = 0;
    while (i < l->entry.n && (l->entry.at[i].in != x->in || (x->in && l->entry.at[i].symbol != x->symbol)))
        i++;
    return i;
}

static tn_status count(elf_linker *l, elf_relocation *x)
{
    if (x->name && elf_import_of(l, x->name) < 0)
        return elf_refuse(l, tn_arena_printf(&l->arena, "it needs %.100s", x->name));
    l->n_dynamic += type_of(x) == R_X86_64_64 && (x->in || x->name);
    if (!reads_table(x) || x->name || entry_of(l, x) < l->entry.n)
        return TN_OK;
    tn_vec_push(&l->entry, ((elf_entry){x->in, x->symbol}));
    l->n_dynamic += x->in != NULL;
    return TN_OK;
}

static uint64_t address_of(const elf_section *in, const Elf64_Sym *symbol)
{
    return in ? in->address + symbol->st_value : 0;
}

static tn_status put_relative(elf_linker *l, const elf_relocation *x, uint64_t where)
{
    int import = x->name ? elf_import_of(l, x->name) : -1;
    uint64_t value = address_of(x->in, x->symbol);
    if (reads_table(x))
        value = l->table + 8 * (import < 0 ? l->import.n + entry_of(l, x) : (uint64_t)import);
    else if (type_of(x) != R_X86_64_PC32 && type_of(x) != R_X86_64_PLT32)
        return elf_refuse(l, tn_arena_printf(&l->arena, "relocations of type %u are unknown", type_of(x)));
    else if (import >= 0)
        value = l->jumps + TN_ELF_JUMP * (uint64_t)import;
    int64_t distance = (int64_t)(value + (uint64_t)x->r->r_addend - where);
    int32_t low = (int32_t)distance;
    memcpy(l->out + where, &low, sizeof low);
    return low == distance ? TN_OK : elf_refuse(l, "it is larger than 2 GiB");
}

static tn_status put(elf_linker *l, elf_relocation *x)
{
    uint64_t where = x->target->address + x->r->r_offset;
    if (x->target->part == ELF_WEIGHTS)
        return elf_refuse(l, "weights are relocated");
    if (type_of(x) != R_X86_64_64)
        return put_relative(l, x, where);
    if ((x->target->part != ELF_RELRO && x->target->part != ELF_WRITE) ||
        x->target->head->sh_size - x->r->r_offset < 8)
        return elf_refuse(l, "an address is in read-only memory");
    if (!x->in && !x->name)
        return TN_OK;
    uint64_t value = address_of(x->in, x->symbol) + (uint64_t)x->r->r_addend;
    Elf64_Rela left = {where, ELF64_R_INFO(0, R_X86_64_RELATIVE), (int64_t)value};
    if (x->name)
        left = (Elf64_Rela){where, ELF64_R_INFO((uint64_t)elf_import_of(l, x->name) + 1, R_X86_64_64),
                            x->r->r_addend};
    else
        memcpy(l->out + where, &value, sizeof value);
    tn_vec_push(&l->dynamic, left);
    return TN_OK;
}

/* ---- writing ---- */

static void copy_sections(elf_linker *l)
{
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; k < l->object.at[i].n_section; k++) {
            const elf_section *s = &l->object.at[i].section[k];
            if (s->live && s->part != ELF_WEIGHTS && s->head->sh_type != SHT_NOBITS)
                memcpy(l->out + s->address, s->object->at + s->head->sh_offset, s->head->sh_size);
        }
}

/* jmp *table[i](%rip), and the loader puts the function's address into the table. */
static void put_imports(elf_linker *l)
{
    for (size_t i = 0; i < l->import.n; i++) {
        uint64_t at = l->jumps + TN_ELF_JUMP * (uint64_t)i, slot = l->table + 8 * (uint64_t)i;
        int32_t distance = (int32_t)(slot - (at + 6));
        memcpy(l->out + at, "\xff\x25", 2);
        memcpy(l->out + at + 2, &distance, 4);
        memset(l->out + at + 6, 0xcc, TN_ELF_JUMP - 6);
        tn_vec_push(&l->dynamic, ((Elf64_Rela){slot, ELF64_R_INFO((uint64_t)i + 1, R_X86_64_GLOB_DAT), 0}));
    }
}

static void put_entries(elf_linker *l)
{
    for (size_t i = 0; i < l->entry.n; i++) {
        uint64_t slot = l->table + 8 * (uint64_t)(l->import.n + i);
        uint64_t value = address_of(l->entry.at[i].in, l->entry.at[i].symbol);
        memcpy(l->out + slot, &value, sizeof value);
        if (l->entry.at[i].in)
            tn_vec_push(&l->dynamic,
                        ((Elf64_Rela){slot, ELF64_R_INFO(0, R_X86_64_RELATIVE), (int64_t)value}));
    }
}

/* What is large goes from where it is to the file. */
static void write_weights(elf_linker *l, tn_sink *out, uint64_t *at)
{
    static const char zeros[TN_ELF_PAGE];
    for (size_t i = 0; i < l->object.n; i++)
        for (uint32_t k = 0; k < l->object.at[i].n_section; k++) {
            const elf_section *s = &l->object.at[i].section[k];
            if (!s->live || s->part != ELF_WEIGHTS || !s->head->sh_size)
                continue;
            tn_sink_add(out, zeros, s->address - *at); /* less than a page */
            tn_sink_add(out, s->object->at + s->head->sh_offset, s->head->sh_size);
            *at = s->address + s->head->sh_size;
        }
}

static tn_status write_all(elf_linker *l, tn_sink *out)
{
    tn_buf image = {0}, rest = {0};
    uint64_t at = l->end[ELF_WRITE], end = l->end[ELF_WEIGHTS];
    bool weights = end > l->begin[ELF_WEIGHTS];
    tn_buf_fill(&image, 0, at);
    l->out = image.at;
    copy_sections(l);
    tn_status st = each(l, put);
    if (st == TN_OK) {
        put_imports(l);
        put_entries(l);
        elf_table_write(l);
        elf_table_segments(l);
        elf_table_sections(l, weights ? end : at, &rest);
        tn_sink_add(out, image.at, image.n);
        if (weights)
            write_weights(l, out, &at);
        tn_sink_add(out, rest.at, rest.n);
    }
    tn_buf_deinit(&image);
    tn_buf_deinit(&rest);
    return st;
}

static tn_status link_all(elf_linker *l, tn_sink *out)
{
    TN_TRY(elf_select(l));
    TN_TRY(each(l, count));
    layout(l);
    return write_all(l, out);
}

tn_status tn_elf_link(tn_ctx *ctx, const tn_elf_job *job, tn_sink *out)
{
    elf_linker l = {.ctx = ctx, .job = job};
    tn_status st = link_all(&l, out);
    tn_vec_deinit(&l.object);
    tn_vec_deinit(&l.defined);
    tn_vec_deinit(&l.reached);
    tn_vec_deinit(&l.import);
    tn_vec_deinit(&l.library);
    tn_vec_deinit(&l.entry);
    tn_vec_deinit(&l.exported);
    tn_vec_deinit(&l.dynamic);
    tn_vec_deinit(&l.name_at);
    tn_vec_deinit(&l.library_at);
    tn_vec_deinit(&l.version);
    tn_buf_deinit(&l.names);
    tn_buf_deinit(&l.needs);
    tn_arena_deinit(&l.arena);
    return st;
}

bool tn_elf_link_can(tn_bytes object)
{
    const Elf64_Ehdr *h = elf_bytes(object, 0, sizeof *h);
    return h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_machine == EM_X86_64;
}
