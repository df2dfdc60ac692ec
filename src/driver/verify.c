/* Looking into a package without running any of it: the archive's entries, then the note of its library. */
#include "base/wire/elf.h"
#include "base/wire/tar.h"
#include "driver/driver.h"

#include <string.h>

/* The note comes from a file that is not trusted: control characters are not passed on. */
static void print_note(const tn_elf *e, tn_buf *out)
{
    if (!e->note)
        tn_buf_str(out, "it does not say what is inside (made by an older tenon)\n");
    for (size_t i = 0; i < e->note_n; i++) {
        uint8_t c = e->note[i];
        tn_buf_char(out, c == '\n' || (c >= 32 && c != 127) ? (char)c : '?');
    }
}

static tn_status look(tn_build *b, const char *file, const char *part, const void *at, size_t n, tn_buf *out)
{
    tn_elf e;
    char text[200];
    const char *why = tn_elf_read(at, n, &e);
    if (why)
        return tn_error(b->ctx, "driver-E052", &(tn_loc){.file = file},
                        "%s is damaged: %s; compile the model again", part, why);
    why = tn_elf_refuse(&e, TENON_ABI_VERSION, text);
    if (why)
        return tn_error(b->ctx, "driver-E064", &(tn_loc){.file = file}, "%s cannot be run: %s", part, why);
    print_note(&e, out);
    return TN_OK;
}

static tn_status look_at_tar(tn_build *b, const char *file, tn_buf *out)
{
    tn_tar_entry e, so = {0};
    tn_tar tar = tn_tar_open(b->file.at, b->file.n);
    bool params = false;
    while (tn_tar_next(&tar, &e)) {
        tn_buf_printf(out, "%-12.*s %zu bytes\n", (int)e.name_n, e.name, e.n);
        if (e.name_n == 6 && memcmp(e.name, "mod.so", 6) == 0)
            so = e;
        params |= e.name_n == 10 && memcmp(e.name, "mod.params", 10) == 0;
    }
    if (tar.error)
        return tn_error(b->ctx, "driver-E050", &(tn_loc){.file = file},
                        "not a package: %s; give the .tar or .so that compile wrote", tar.error);
    if (!so.at || !params)
        return tn_error(b->ctx, "driver-E051", &(tn_loc){.file = file},
                        "not a package: mod.so or mod.params is missing; compile the model again");
    return look(b, file, "mod.so", so.at, so.n, out);
}

tn_status tn_verify(tn_build *b, const char *package, tn_buf *out)
{
    TN_TRY(tn_file_map(b->ctx, package, &b->file));
    if (b->file.n >= 4 && memcmp(b->file.at, "\177ELF", 4) == 0) {
        tn_buf_printf(out, "%-12s %zu bytes, self-contained\n", "library", b->file.n);
        return look(b, package, "the library", b->file.at, b->file.n, out);
    }
    return look_at_tar(b, package, out);
}
