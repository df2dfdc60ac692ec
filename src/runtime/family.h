#ifndef TNR_FAMILY_H
#define TNR_FAMILY_H
/* Families of instructions (tenon/inst.def). All but FLAT are objects of their own: the executor refers to
 * them weakly, so a self-contained library has those that its program needs, which driver/bundle.c names to
 * the linker. A program that needs a family that is not there is refused when it is opened. */
#include "runtime/instance.h"

enum tnr_family_id {
    TNR_FAMILY_FLAT,
    TNR_FAMILY_FRAME,
    TNR_FAMILY_HOST,
    TNR_FAMILY_STATE,
    TNR_FAMILY_VALUE,
    TNR_N_FAMILY
};

typedef struct tnr_family {
    /* What operand letters do not say of instruction `at`: NULL if it is sound, else what is wrong. */
    const char *(*check)(const tnr_exe *exe, const tnr_function *code, const tn_inst *in);
    /* Runs the instruction of the frame; frame->at is the next one. */
    tnr_status (*run)(tnr_frame *frame, const tn_inst *in, tnr_error *err);
    tnr_status (*open)(tnr_instance *instance, tnr_error *err); /* NULL: nothing. A new instance */
    void (*close)(tnr_instance *instance);                      /* NULL: nothing. Harmless if open failed */
} tnr_family;

extern const tnr_family tnr_family_frame, tnr_family_host, tnr_family_state, tnr_family_value;

uint32_t tnr_family_of(uint32_t op);
/* By enum tnr_family_id; NULL: not linked, and FLAT. */
const tnr_family *tnr_family_get(uint32_t id);

#endif
