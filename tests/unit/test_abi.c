/* include/tenon/inst.def against docs/abi.md: the page has a row for each instruction, with the same words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "tenon/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_page(void)
{
    char path[1024];
    const char *root = getenv("TENON_SOURCE_DIR");
    assert_non_null(root);
    snprintf(path, sizeof path, "%s/docs/abi.md", root);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static void the_page_has_every_instruction(void **state)
{
    static const struct {
        const char *name, *family, *a, *operands, *doc;
        int number;
    } row[] = {
#define INST(name, number, family, a, operands, doc) {#name, #family, a, operands, doc, number},
#include "tenon/inst.def"
#undef INST
    };
    char *page = read_page(), want[512];
    (void)state;
    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        assert_int_equal(row[i].number, i); /* numbers are dense: tables are indexed by them */
        snprintf(want, sizeof want, "\n| %s | %d | %s | %s | `%s` | %s |\n", row[i].name, row[i].number,
                 row[i].family, row[i].a, row[i].operands, row[i].doc);
        if (!strstr(page, want))
            fail_msg("docs/abi.md lacks the row%s", want);
    }
    assert_int_equal(TN_INST_COUNT, sizeof row / sizeof *row);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_every_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
