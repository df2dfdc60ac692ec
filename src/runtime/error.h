#ifndef TNR_ERROR_H
#define TNR_ERROR_H
/* Filling a tnr_error. The runtime never unwinds: every failure is a returned code, its text written once,
 * where the trouble is known. */
#include "tenon/runtime.h"

/* Fills *err (NULL: nothing) and returns code. The longest words of a sentence that does not fit (names and paths from
 * files) are cut in their middle, so its end survives; the format bounds each ("%.400s"). Control bytes and bytes that
 * are not UTF-8 are written as \xNN. */
TNR_CHECKED tnr_status tnr_fail(tnr_error *err, int code, uint64_t position, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* An extent that a run finds: "<what><who>: an extent (<name>) is 4, but must be from 1 to 3", unless it is. */
TNR_CHECKED tnr_status tnr_check_extent(const tn_symbol *symbol, int64_t v, const char *what, const char *who,
                                        uint64_t position, tnr_error *err);

/* A public function was given NULL, or an index or an option out of range. */
TNR_CHECKED tnr_status tnr_fail_argument(const char *function, tnr_error *err);
/* TNR_E_ARG unless there is an entry `index` of n, and `out` to write it to. */
TNR_CHECKED tnr_status tnr_check_index(const char *what, uint32_t index, uint32_t n, const void *out,
                                       tnr_error *err);

/* One more name of a list for a message: "a, b, ..." where it has no room for all. */
enum { TNR_LIST_TEXT = 128 };
void tnr_list_add(char list[TNR_LIST_TEXT], const char *name);

TNR_CHECKED tnr_status tnr_fail_not_run(tnr_error *err); /* outputs are asked for too early */

/* The message every failed allocation gets. */
TNR_CHECKED tnr_status tnr_fail_memory(tnr_error *err, uint64_t bytes);

#endif
