#ifndef TN_CLI_STATES_H
#define TN_CLI_STATES_H
/* States of an instance and an archive of them, each under its name. Errors are printed; both return an enum
 * tn_exit. */
#include "tenon/runtime.h"

/* All states get their first contents, then those that the archive has what it says. path NULL, or no such
 * file: none. */
int tn_states_begin(tnr_instance *instance, const char *path);
int tn_states_save(tnr_instance *instance, const char *path);

#endif
