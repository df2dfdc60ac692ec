#ifndef TNR_STATE_H
#define TNR_STATE_H
/* States of an instance (state.c, of the family STATE). */
#include "runtime/instance.h"

/* Every state has contents: those that have none yet get their first ones. Not within a run. */
TNR_CHECKED tnr_status tnr_states_ready(tnr_instance *inst, tnr_error *err);

#endif
