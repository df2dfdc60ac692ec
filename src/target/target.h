#ifndef TN_TARGET_TARGET_H
#define TN_TARGET_TARGET_H
/* What can be compiled for. */
#include "lower/lower.h"

/* The loop pipelines (pipelines.c). */
extern const tn_pipeline tn_pipeline_cpu;

#endif
