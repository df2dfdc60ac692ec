#ifndef TNR_GUARD_H
#define TNR_GUARD_H
/* Debug runs (TNR_INSTANCE_CHECK): each input, output and temporary has memory of its own between two guards, filled
 * anew for each run, and after each instruction all guards are looked at. Works for every program, since it takes the
 * place of the memory plan: only work memory that a program keeps at its arena's end stays where it is. */
#include "runtime/instance.h"

enum { TNR_GUARD_BYTES = 256 }; /* on each side; multiple of 64 */

TNR_CHECKED tnr_status tnr_guard_new(tnr_frame *frame, tnr_error *err);
void tnr_guard_free(tnr_frame *frame);

/* The slots of a segment, and for segment 0 the inputs, get their memory: frame->ptr says where. */
TNR_CHECKED tnr_status tnr_guard_place(tnr_frame *frame, uint32_t segment, tnr_error *err);

/* One slot, whose bytes are known. */
TNR_CHECKED tnr_status tnr_guard_slot(tnr_frame *frame, uint32_t slot, tnr_error *err);

/* After instruction `at`: is every guard as it was?   fails TNR_E_CHECK: names node, kernel and slot */
TNR_CHECKED tnr_status tnr_guard_look(const tnr_frame *frame, uint32_t at, tnr_error *err);

#endif
