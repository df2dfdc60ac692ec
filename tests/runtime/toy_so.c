/* The toy library as a shared object, as test_runtime_package builds it: cc -shared -fPIC [-DTOY_...].
 *   TOY_STATIC   the static program        TOY_FEATURE="name"  needs that CPU feature
 *   TOY_NEWER    made for a newer ABI      TOY_VERSION=n       its record says version n
 *   TOY_FOREIGN  has no query symbol       TOY_IMPORT=fault    its kernels are functions of modules */
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

#ifdef TOY_IMPORT
enum fault { NONE, KIND, NAME, MODULE, FUNCTION, ARGUMENTS, OVERLAP, ITSELF, CIRCLE, MANY };

/* Without code of its own; kernel k is of module 1 or 2. */
static void import_kernels(tn_library *l, enum fault fault)
{
    static tn_module module[10] = {{"mod.so", "library", NULL, 0, NULL, 0, 0},
                                   {"mod.1.library", "library", NULL, 0, NULL, 0, 0},
                                   {"mod.2.library_with_a_long_name", "library", NULL, 0, NULL, 0, 0}};
    static tn_kernel kernel[3];
    static const uint32_t import[] = {0, 1, 2};
    static const tn_overlap overlap = {0, 0, TN_OVERLAP_MAY};
    for (uint32_t k = 0; k < 3; k++) {
        kernel[k] = l->kernel[k];
        kernel[k].function = kernel[k].name;
        kernel[k].module = 1 + k % 2;
        kernel[k].variant = NULL;
        kernel[k].check = NULL;
        kernel[k].n_variant = kernel[k].n_check = 0;
    }
    module[2].import = &import[1]; /* mod.1.library */
    module[2].n_import = 1;
    l->n_module = fault == MANY ? 10 : 3;
    for (uint32_t i = 3; i < 10; i++)
        module[i] = (tn_module){"mod.3.library", "library", "", 0, NULL, 0, 0};
    module[2].kind = fault == KIND ? "cuda" : "library";
    module[1].name = fault == NAME ? NULL : module[1].name;
    module[1].import = &import[fault == ITSELF ? 1 : 2];
    module[1].n_import = fault == ITSELF || fault == CIRCLE;
    kernel[1].module += fault == MODULE;
    kernel[1].function = fault == FUNCTION ? "nothing" : kernel[1].function;
    kernel[1].n_in += fault == ARGUMENTS;
    kernel[1].n_overlap = fault == OVERLAP;
    kernel[1].overlap = &overlap;
    l->module = module;
    l->kernel = kernel;
}
#endif

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
#ifdef TOY_IMPORT
    import_kernels(&library, TOY_IMPORT);
#endif
#ifdef TOY_NEWER
    return max_version > TENON_ABI_VERSION ? &library : NULL;
#else
    (void)max_version;
    return &library;
#endif
}
