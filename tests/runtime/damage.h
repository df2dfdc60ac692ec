#ifndef TENON_TESTS_RUNTIME_DAMAGE_H
#define TENON_TESTS_RUNTIME_DAMAGE_H
/* Opening what maker.h makes: whole, and damaged in ways that the loader must find. Include cmocka.h first. */
#include "runtime/maker.h"

static inline tnr_module *open_maker(const maker *m)
{
    tnr_module *module = NULL;
    tnr_error err;
    if (tnr_module_open_parts(&(tnr_parts){.library = &m->library}, &module, &err))
        fail_msg("%s", err.message);
    return module;
}

typedef void maker_change(maker *m);

/* Each of n damages, done to what make() makes, is TNR_E_FORMAT. */
static inline void each_damage_is_found(maker_change *make, size_t n, maker_change *const damage[])
{
    static maker m;
    tnr_error err;
    for (size_t i = 0; i < n; i++) {
        tnr_module *module = NULL;
        make(&m);
        damage[i](&m);
        if (tnr_module_open_parts(&(tnr_parts){.library = &m.library}, &module, &err) != TNR_E_FORMAT)
            fail_msg("damage %zu was not found", i);
        assert_null(module);
    }
}

#endif
