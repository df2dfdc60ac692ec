#ifndef TN_SCHEDULE_RULES_REST_H
#define TN_SCHEDULE_RULES_REST_H
#include "schedule/rules/derive.h"

/* Schedules what a rule of a user's left as it was, where the pick `rest` says so, its default. Where a step
 * is refused, nothing is done. Private to schedule/rules/. */
tn_verdict rule_rest(tn_sched *s, const tn_machine *m);

#endif
