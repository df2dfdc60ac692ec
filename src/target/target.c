/* The rows of targets. */
#include "target/target.h"

#include <string.h>

tn_target_machine tn_target_machine_cpu;

const tn_target_row tn_target_rows[TN_N_TARGETS] = {
#define TARGET(id, name, options, machine, generator, pipeline, doc) \
    {name, options, tn_target_machine_##machine, &tn_generator_##generator, &tn_pipeline_##pipeline, doc},
#include "target/targets.def"
#undef TARGET
};

const tn_target_row *tn_target_find(const char *name, size_t n)
{
    for (size_t i = 0; i < TN_N_TARGETS; i++)
        if (strlen(tn_target_rows[i].name) == n && memcmp(tn_target_rows[i].name, name, n) == 0)
            return &tn_target_rows[i];
    return NULL;
}

const tn_target_row *tn_target_of_text(const char *text)
{
    text += strspn(text, " \t");
    return tn_target_find(text, strcspn(text, " \t"));
}
