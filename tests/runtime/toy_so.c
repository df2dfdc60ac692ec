/* The toy library as a shared object, as test_runtime_package builds it: cc -shared -fPIC [-DTOY_...].
 *   TOY_STATIC   the static program        TOY_FEATURE="name"  needs that CPU feature
 *   TOY_NEWER    made for a newer ABI      TOY_VERSION=n       its record says version n
 *   TOY_FOREIGN  has no query symbol */
#include "toy.h"

#ifdef TOY_FEATURE
static const char *const feature[] = {TOY_FEATURE};
#endif
#ifndef TOY_VERSION
#define TOY_VERSION TENON_ABI_VERSION
#endif

#ifdef TOY_FOREIGN
#define tenon_library_query some_other_symbol
#endif
tn_library_query_fn tenon_library_query;

const tn_library *tenon_library_query(uint32_t max_version)
{
    static tn_library library;
#ifdef TOY_STATIC
    library = toy_static;
    (void)toy_symbolic;
#else
    library = toy_symbolic;
    (void)toy_static;
#endif
    library.version = TOY_VERSION;
#ifdef TOY_FEATURE
    library.feature = feature;
    library.n_feature = 1;
#endif
#ifdef TOY_NEWER
    return max_version > TENON_ABI_VERSION ? &library : NULL;
#else
    (void)max_version;
    return &library;
#endif
}
