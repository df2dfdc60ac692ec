#ifndef TN_DRIVER_SKETCH_RULES_H
#define TN_DRIVER_SKETCH_RULES_H
/* Rules of sketches and postprocessors that a user's functions are (tenon/tune.h). */
#include "driver/tuning.h"

/* The session of their kernels, made before the call and freed after it; NULL where the options have none. */
tenon *tn_rules_session(const tenon_tune_options *o);
/* Where the options have some, points are made with them from here on, with kernels of that session. driver-E187, E188,
 * E191. */
TN_WARN_UNUSED tn_status tn_rules_take(tn_tuning *t, tenon *session);
/* Says which of them make no schedule of any of the chosen tasks that they apply to: driver-W004. */
void tn_rules_try(tn_tuning *t);
/* After a search: says of which tasks nothing was tried, as postprocessors left it out: driver-W005. */
void tn_rules_tell(tn_tuning *t);

#endif
