#ifndef TNR_ERROR_H
#define TNR_ERROR_H
/* Filling a tnr_error. The runtime never unwinds: every failure is a returned code, its text written once,
 * where the trouble is known. */
#include "tenon/runtime.h"

/* Fill *err (NULL: nothing) and return code. Names in the text are cut by the caller's format ("%.60s") so
 * that
 * the end of the sentence survives; a character cut in half is dropped and control bytes become '?'. */
TNR_CHECKED tnr_status tnr_fail(tnr_error *err, int code, uint64_t position, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The message every failed allocation gets. */
TNR_CHECKED tnr_status tnr_fail_memory(tnr_error *err, uint64_t bytes);

#endif
