/* Looking into a package without running any of it: the archive's entries, then the note of its library. */
#include "base/wire/sum.h"
#include "base/wire/tar.h"
#include "driver/driver.h"

#include <string.h>

/* The note comes from a file that is not trusted: control characters are not passed on. */
static void print_note(const tn_elf *e, tn_buf *out)
{
    if (!e->note)
        tn_buf_str(out, "it does not describe its contents (made by an older version of Tenon)\n");
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
    why = tn_elf_refuse(&e, TENON_ABI_OLDEST, TENON_ABI_VERSION, text);
    if (why)
        return tn_error(b->ctx, "driver-E064", &(tn_loc){.file = file}, "%s cannot be run: %s", part, why);
    print_note(&e, out);
    return TN_OK;
}

static tn_status damaged(tn_build *b, const char *file, const char *part)
{
    return tn_error(
        b->ctx, "driver-E091", &(tn_loc){.file = file},
        "damaged: %s does not match its checksum; copy the package again or compile the model again", part);
}

static void say_checked(bool summed, tn_buf *out)
{
    tn_buf_printf(out, "%-12s %s\n", "checksums",
                  summed ? "SHA-256, all right" : "none: damage cannot be found (made by an older tenon)");
}

/* Every file of the archive against mod.sum, whose text may be absent. */
static tn_status check_tar(tn_build *b, const char *file, const tn_tar_entry *sum, tn_buf *out)
{
    tn_tar_entry e;
    tn_tar tar = tn_tar_open(b->file.at, b->file.n);
    while (sum->at && tn_tar_next(&tar, &e)) {
        const char *name = tn_intern_n(b->ctx, e.name, e.name_n);
        if (e.at == sum->at)
            continue;
        if (tn_sum_check(sum->at, sum->n, name, e.at, e.n) != TN_SUM_RIGHT)
            return damaged(b, file, name);
    }
    say_checked(sum->at != NULL, out);
    return TN_OK;
}

static tn_status check_library(tn_build *b, const char *file, tn_buf *out)
{
    tn_elf e;
    if (tn_elf_read(b->file.at, b->file.n, &e))
        return TN_OK; /* to be reported by who looks at it */
    if (tn_sum_check_code(b->file.at, b->file.n, &e) == TN_SUM_WRONG)
        return damaged(b, file, "the library");
    if (tn_sum_check_weights(b->file.at, b->file.n, &e) == TN_SUM_WRONG)
        return damaged(b, file, "the data of the weights");
    say_checked(e.sum != NULL, out);
    return TN_OK;
}

static tn_status look_at_tar(tn_build *b, const char *file, tn_buf *out)
{
    tn_tar_entry e, so = {0}, sum = {0};
    tn_tar tar = tn_tar_open(b->file.at, b->file.n);
    bool params = false;
    while (tn_tar_next(&tar, &e)) {
        tn_buf_printf(out, "%-12.*s %zu bytes\n", (int)e.name_n, e.name, e.n);
        if (e.name_n == 6 && memcmp(e.name, "mod.so", 6) == 0)
            so = e;
        if (e.name_n == 7 && memcmp(e.name, "mod.sum", 7) == 0)
            sum = e;
        params |= e.name_n == 10 && memcmp(e.name, "mod.params", 10) == 0;
    }
    if (tar.error)
        return tn_error(b->ctx, "driver-E050", &(tn_loc){.file = file},
                        "not a package: %s; give the .tar or .so that compile wrote", tar.error);
    if (!so.at || !params)
        return tn_error(b->ctx, "driver-E051", &(tn_loc){.file = file},
                        "not a package: mod.so or mod.params is missing; give the .tar that compile wrote");
    TN_TRY(look(b, file, "mod.so", so.at, so.n, out)); /* for whom it is says more than that it was changed */
    return check_tar(b, file, &sum, out);
}

tn_status tn_verify(tn_build *b, const char *package, tn_buf *out)
{
    TN_TRY(tn_file_map(b->ctx, package, &b->file));
    if (b->file.n >= 4 && memcmp(b->file.at, "\177ELF", 4) == 0) {
        tn_buf_printf(out, "%-12s %zu bytes, self-contained\n", "library", b->file.n);
        TN_TRY(look(b, package, "the library", b->file.at, b->file.n, out));
        return check_library(b, package, out);
    }
    return look_at_tar(b, package, out);
}
