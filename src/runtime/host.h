#ifndef TNR_HOST_H
#define TNR_HOST_H
/* Functions of the host (host.c, of the family HOST). */
#include "runtime/instance.h"

/* Every name that the program calls has a function. fails TNR_E_NAME */
TNR_CHECKED tnr_status tnr_hosts_ready(const tnr_instance *inst, tnr_error *err);

#endif
