/* The model as an object for any 64-bit little-endian machine: the tn_bundle by which the runtime finds kernels and
 * weights, the weights, and the notes of a library. No assembler is needed. */
#include "driver/elf_model.h"

#include "base/wire/sum.h"
#include "tenon/abi.h"

#include <elf.h>
#include <string.h>

enum {
    S_NONE,
    S_DATA,
    S_RELA,
    S_WEIGHTS,
    S_SUM,
    S_ENTRY,
    S_STACK,
    S_SYMTAB,
    S_STRTAB,
    S_SHSTRTAB,
    N_SECTION
};
enum { Y_NONE, Y_WEIGHTS, Y_QUERY, Y_MODEL, N_SYMBOL };
enum { BUNDLE = 32 }; /* bytes of a tn_bundle */

/* The relocation that is a 64-bit address, by machine. */
static uint32_t address_type(uint16_t machine)
{
    static const struct {
        uint16_t machine;
        uint32_t type;
    } row[] = {{EM_X86_64, R_X86_64_64},   {EM_AARCH64, R_AARCH64_ABS64}, {EM_RISCV, R_RISCV_64},
               {EM_LOONGARCH, R_LARCH_64}, {EM_PPC64, R_PPC64_ADDR64},    {EM_MIPS, R_MIPS_64}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].machine == machine)
            return row[i].type;
    return 0;
}

/* MIPS has the symbol first, then up to three types, the first one last. */
static Elf64_Rela address(const Elf64_Ehdr *h, uint64_t where, uint64_t symbol)
{
    uint64_t type = address_type(h->e_machine);
    return (Elf64_Rela){.r_offset = where,
                        .r_info = h->e_machine == EM_MIPS ? type << 56 | symbol : ELF64_R_INFO(symbol, type)};
}

static void note(tn_buf *out, uint32_t type, const void *data, uint32_t n)
{
    const Elf64_Nhdr h = {.n_namesz = 6, .n_descsz = n, .n_type = type};
    tn_buf_add(out, &h, sizeof h);
    tn_buf_add(out, "Tenon\0\0", 8);
    tn_buf_add(out, data, n);
    tn_buf_fill(out, 0, -out->n % 4);
}

typedef struct {
    tn_buf out; /* beside the weights, which stand after `before` bytes of it */
    uint64_t before, weights_n;
    Elf64_Shdr section[N_SECTION];
} object;

/* Bytes from n on are section i. */
static void end_section(object *o, int i, uint32_t type, uint64_t flags, uint64_t from, uint64_t align)
{
    o->section[i] = (Elf64_Shdr){.sh_type = type,
                                 .sh_flags = flags,
                                 .sh_offset = from + o->weights_n,
                                 .sh_size = o->out.n - from,
                                 .sh_addralign = align};
}

static void align(object *o) { tn_buf_fill(&o->out, 0, -(o->out.n + o->weights_n) % 8); }

static void put_weights(object *o, const tn_elf_model *m)
{
    o->before = TN_ELF_MODEL_WEIGHTS;
    tn_buf_fill(&o->out, 0, o->before - o->out.n);
    bool apart = m->large && ((const Elf64_Ehdr *)(const void *)m->code.at)->e_machine == EM_X86_64;
    end_section(o, S_WEIGHTS, SHT_PROGBITS, SHF_ALLOC | (apart ? 0x10000000u : 0), o->before,
                TN_ELF_MODEL_WEIGHTS);
    o->section[S_WEIGHTS].sh_size = o->weights_n = m->bytes;
}

static void put_bundle(object *o, const Elf64_Ehdr *h, const tn_elf_model *m)
{
    const uint64_t bundle[BUNDLE / 8] = {0, 0, m->bytes, 0}; /* query, weights, bytes, state */
    const Elf64_Rela r[] = {address(h, 0, Y_QUERY), address(h, 8, Y_WEIGHTS)};
    align(o);
    uint64_t at = o->out.n;
    tn_buf_add(&o->out, bundle, sizeof bundle);
    end_section(o, S_DATA, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, at, 8);
    at = o->out.n;
    tn_buf_add(&o->out, r, sizeof r);
    end_section(o, S_RELA, SHT_RELA, SHF_INFO_LINK, at, 8);
    o->section[S_RELA].sh_link = S_SYMTAB;
    o->section[S_RELA].sh_info = S_DATA;
    o->section[S_RELA].sh_entsize = sizeof *r;
}

static void put_notes(object *o, const tn_elf_model *m)
{
    static const char room[TN_SUM_NOTE];
    uint64_t at = o->out.n;
    if (m->entry)
        note(&o->out, 3, room, sizeof room);
    end_section(o, S_SUM, SHT_NOTE, SHF_ALLOC, at, 4);
    at = o->out.n;
    if (m->entry)
        note(&o->out, 2, m->entry, (uint32_t)strlen(m->entry));
    end_section(o, S_ENTRY, SHT_NOTE, SHF_ALLOC, at, 4);
    end_section(o, S_STACK, SHT_PROGBITS, 0, o->out.n, 1);
}

static void put_symbols(object *o)
{
    static const char names[] = "\0" TENON_QUERY_SYMBOL "\0tenon_bundle_model";
    const unsigned char global = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    const Elf64_Sym symbol[N_SYMBOL] = {
        [Y_WEIGHTS] = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = S_WEIGHTS},
        [Y_QUERY] = {.st_name = 1, .st_info = global},
        [Y_MODEL] = {.st_name = 1 + sizeof TENON_QUERY_SYMBOL,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                     .st_shndx = S_DATA,
                     .st_size = BUNDLE}};
    align(o);
    uint64_t at = o->out.n;
    tn_buf_add(&o->out, symbol, sizeof symbol);
    end_section(o, S_SYMTAB, SHT_SYMTAB, 0, at, 8);
    o->section[S_SYMTAB].sh_link = S_STRTAB;
    o->section[S_SYMTAB].sh_info = Y_QUERY; /* the first that is global */
    o->section[S_SYMTAB].sh_entsize = sizeof *symbol;
    at = o->out.n;
    tn_buf_add(&o->out, names, sizeof names);
    end_section(o, S_STRTAB, SHT_STRTAB, 0, at, 1);
}

static void put_headers(object *o, Elf64_Ehdr *h, bool large)
{
    const char *const name[N_SECTION] = {"",
                                         ".data",
                                         ".rela.data",
                                         large ? ".lrodata.tenon_weights" : ".rodata.tenon_weights",
                                         ".note.tenon.sum",
                                         ".note.tenon.entry",
                                         ".note.GNU-stack",
                                         ".symtab",
                                         ".strtab",
                                         ".shstrtab"};
    uint64_t at = o->out.n;
    for (int i = 0; i < N_SECTION; i++)
        tn_buf_add(&o->out, name[i], strlen(name[i]) + 1);
    end_section(o, S_SHSTRTAB, SHT_STRTAB, 0, at, 1);
    for (int i = 1; i < N_SECTION; i++)
        o->section[i].sh_name = o->section[i - 1].sh_name + (uint32_t)strlen(name[i - 1]) + 1;
    align(o);
    *h = (Elf64_Ehdr){.e_type = ET_REL,
                      .e_machine = h->e_machine,
                      .e_version = EV_CURRENT,
                      .e_flags = h->e_flags,
                      .e_shoff = o->out.n + o->weights_n,
                      .e_ehsize = sizeof *h,
                      .e_shentsize = sizeof *o->section,
                      .e_shnum = N_SECTION,
                      .e_shstrndx = S_SHSTRTAB};
    memcpy(h->e_ident, (const char[]){0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, 7);
    memcpy(o->out.at, h, sizeof *h);
    tn_buf_add(&o->out, o->section, sizeof o->section);
}

tn_status tn_elf_model_write(tn_ctx *ctx, const tn_elf_model *m, tn_sink *out)
{
    Elf64_Ehdr h = {0};
    if (m->code.n >= sizeof h)
        memcpy(&h, m->code.at, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        !address_type(h.e_machine))
        return tn_error(
            ctx, "driver-E121", NULL,
            "the kernels are an object for a machine (ELF machine %u) that self-contained libraries "
            "are not made for; write a .tar",
            (unsigned)h.e_machine);
    object o = {0};
    tn_buf_fill(&o.out, 0, sizeof h);
    put_weights(&o, m);
    put_bundle(&o, &h, m);
    put_notes(&o, m);
    put_symbols(&o);
    put_headers(&o, &h, m->large && h.e_machine == EM_X86_64);
    tn_sink_add(out, o.out.at, o.before);
    m->write(m->user, out);
    tn_sink_add(out, o.out.at + o.before, o.out.n - o.before);
    tn_buf_deinit(&o.out);
    return TN_OK;
}
