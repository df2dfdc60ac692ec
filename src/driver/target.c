/* The target of a build: what its text says (target/), and the name of the module. */
#include "driver/driver.h"

#include <string.h>

/* The module's name is part of C identifiers: of kernels, of functions and structs of a generated header. */
static tn_status check_module_name(tn_build *b)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    enum { MOST = 100, DIGITS = 10 };
    const char *s = b->opt.module_name;
    size_t n = s ? strspn(s, letters) : 1;
    if (!s || (n && !s[n] && n <= MOST && !memchr(letters + sizeof letters - 1 - DIGITS, s[0], DIGITS)))
        return TN_OK;
    return tn_error(b->ctx, "driver-E059", NULL,
                    "--module-name \"%.100s\": a name must consist of letters, digits and _, must not begin "
                    "with a digit, and can have at most %d characters, because C functions carry it",
                    s, MOST);
}

tn_status tn_target_parse(tn_build *b)
{
    TN_TRY(check_module_name(b));
    TN_TRY(tn_target_read(b->ctx, b->opt.target, b->opt.machine_file, &b->target, &b->machine));
    b->feature = TN_NEW_N(&b->arena, const char *, b->machine.n_feature);
    b->n_feature = (uint32_t)tn_machine_code_features(&b->machine, b->feature);
    return TN_OK;
}
