#ifndef TN_DRIVER_TEMPLATE_H
#define TN_DRIVER_TEMPLATE_H
/* What functions of the user choose while they make a schedule: templates, rules of sketches. */
#include "driver/kernel_api.h"
#include "driver/tuning.h"

struct tenon_config {
    tn_object object; /* first */
    tn_arena arena;
    tn_sched asked; /* no more than its picks */
    tn_picks given;
    uint64_t workload; /* of the kernel that was made; */
    const char *trace; /* its steps; NULL: none was made */
    tn_buf func, text; /* func: the kernel before its steps, of the first point of a search */
    bool wants_func;
};

/* Choices of a search. NULL: out of memory. */
tenon_config *tn_config_new(tenon *t, const tn_picks *given);
/* What was chosen, in the memory of s, which has no `given` from then on. */
void tn_config_copy(const tenon_config *c, tn_sched *s);

#endif
