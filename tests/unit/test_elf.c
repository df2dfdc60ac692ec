/* Reading ELF headers: a shared object is accepted, every cut of it and every damaged table is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/wire/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Elf64_Ehdr e;
    Elf64_Phdr p[3];
    struct {
        Elf64_Nhdr h;
        char name[8], text[8];
    } note;
} file;

static file sound(void)
{
    file f = {.e = {.e_type = ET_DYN,
                    .e_machine = 62,
                    .e_phoff = offsetof(file, p),
                    .e_phnum = 3,
                    .e_phentsize = sizeof(Elf64_Phdr)},
              .p = {{.p_type = PT_LOAD, .p_filesz = sizeof f, .p_memsz = sizeof f},
                    {.p_type = PT_DYNAMIC},
                    {.p_type = PT_NOTE, .p_offset = offsetof(file, note), .p_filesz = sizeof f.note}},
              .note = {{6, 5, 1}, "Tenon", "hello"}};
    memcpy(f.e.e_ident, ELFMAG, SELFMAG);
    f.e.e_ident[EI_CLASS] = ELFCLASS64;
    f.e.e_ident[EI_DATA] = ELFDATA2LSB;
    return f;
}

static void a_sound_file_is_read(void **state)
{
    (void)state;
    file f = sound();
    tn_elf out;
    assert_null(tn_elf_read(&f, sizeof f, &out));
    assert_int_equal(out.machine, 62);
    assert_int_equal(out.note_n, 5);
    assert_memory_equal(out.note, "hello", 5);
    assert_null(out.entry);
    f.note.h.n_type = 2; /* the other kind: how a library is opened */
    assert_null(tn_elf_read(&f, sizeof f, &out));
    assert_null(out.note);
    assert_int_equal(out.entry_n, 5);
    assert_memory_equal(out.entry, "hello", 5);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    file f = sound();
    tn_elf out;
    for (size_t n = 0; n < sizeof f; n++) {
        uint8_t *copy = malloc(n ? n : 1); /* so that a sanitizer sees a read beyond it */
        memcpy(copy, &f, n);
        assert_non_null(tn_elf_read(copy, n, &out));
        free(copy);
    }
}

static void damage_is_refused(void **state)
{
    (void)state;
    tn_elf out;
    file f = sound();
    f.e.e_type = ET_EXEC;
    assert_string_equal(tn_elf_read(&f, sizeof f, &out), "it is not a shared object");
    f = sound();
    f.e.e_ident[EI_CLASS] = ELFCLASS32;
    assert_non_null(tn_elf_read(&f, sizeof f, &out));
    f = sound();
    f.e.e_phoff = UINT64_MAX - 8;
    assert_non_null(tn_elf_read(&f, sizeof f, &out));
    f = sound();
    f.p[0].p_filesz = UINT64_MAX;
    assert_non_null(tn_elf_read(&f, sizeof f, &out));
    f = sound();
    f.p[0].p_memsz = 1;
    assert_non_null(tn_elf_read(&f, sizeof f, &out));
    f = sound();
    f.p[0].p_type = PT_NULL;
    assert_string_equal(tn_elf_read(&f, sizeof f, &out), "it has no loadable segment");
    f = sound();
    f.note.h.n_descsz = UINT32_MAX; /* a note that does not fit is no note */
    assert_null(tn_elf_read(&f, sizeof f, &out));
    assert_null(out.note);
}

static void versions(void **state)
{
    static const struct {
        const char *note, *says;
    } row[] = {
        {"made by tenon 0.1.0, kernel ABI 3\ntarget llvm\n", NULL},
        {"made by tenon 0.1.0, kernel ABI 2", NULL},
        {"made by tenon 0.1.0, kernel ABI 1",
         "an older version of Tenon made it for kernel ABI 1, which this version no longer reads; compile"},
        {"made by tenon 9.0.0, kernel ABI 4\n",
         "ABI version 4, but this version supports up to 3; update Tenon"},
        {"x, kernel ABI 99999999999999999999\n", "a newer version of Tenon made it"},
        {"made by tenon 0.1.0\ntarget, kernel ABI 3\n", "an older version of Tenon made it"},
        {"x, kernel ABI \n", "an older version of Tenon made it"},
        {"x, kernel ABI 3x\n", "an older version of Tenon made it"},
        {"", "an older version of Tenon made it"},
    };
    char text[200];
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_elf e = {.note = (const uint8_t *)row[i].note, .note_n = strlen(row[i].note)};
        const char *why = tn_elf_refuse(&e, 2, 3, text);
        assert_true(row[i].says ? why && strstr(why, row[i].says) : !why);
    }
    assert_null(tn_elf_refuse(&(tn_elf){0}, 2, 3, text)); /* no note: the loaded code will tell */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
        cmocka_unit_test(a_sound_file_is_read),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
