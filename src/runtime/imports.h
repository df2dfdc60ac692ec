#ifndef TNR_IMPORTS_H
#define TNR_IMPORTS_H
/* Code beside mod.so that its library names (tn_library.module); docs/abi.md, section 3. */
#include "runtime/module.h"

/* Opens the modules of a library that was just opened from a package, and puts one in its place that has the modules'
 * functions as kernels and names no module.
 * fails TNR_E_FORMAT, and as tnr_library_open does */
TNR_CHECKED tnr_status tnr_imports_open(tnr_module *m, bool temp_file, tnr_error *err);

#endif
