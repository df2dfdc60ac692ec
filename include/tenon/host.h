#ifndef TENON_HOST_H
#define TENON_HOST_H
/* Tenon's host functions: what a model needs beside kernels, such as operators over text. A model that has
 * such operators calls functions whose names begin with "string.", "seq." and the like. The command,
 * libtenon.so and the Python package register them for each model that they run. A C program that opens
 * packages itself links libtenon_host and makes one call:
 *
 *     if (tnr_module_open("model.tar", NULL, &module, &err) || tnr_host_register_all(module, &err))
 *         fprintf(stderr, "%s\n", err.message);
 *
 * Texts, sequences, optional values and maps are values of include/tenon/runtime.h:
 *
 *   texts      CONSTRUCTOR, tag 0, three fields: shape (TENSOR, int64, [rank]), offsets (TENSOR, int64, [n + 1])
 *              and bytes (TEXT, UTF-8). Element i is the bytes from offset i to offset i + 1; offset 0 is 0.
 *   sequence   CONSTRUCTOR, tag 0, one field per element
 *   optional   CONSTRUCTOR; tag 0 and no field: absent; tag 1 and one field: present
 *   map        CONSTRUCTOR, tag 0, two fields: keys (TENSOR, int64, [n], or n texts) and values (n elements)
 *
 * The conventions of include/tenon/runtime.h hold. */
#include "tenon/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Register all host functions with a module, before its instances are made, or with one instance. A function that is
 * registered later under one of their names replaces it.
 *   fails  TNR_E_ARG, TNR_E_MEMORY, TNR_E_STATE (the instance is running) */
TNR_CHECKED tnr_status tnr_host_register_all(tnr_module *module, tnr_error *err);
TNR_CHECKED tnr_status tnr_instance_host_register_all(tnr_instance *instance, tnr_error *err);

#ifdef __cplusplus
}
#endif
#endif
