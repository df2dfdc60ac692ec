#ifndef TENON_TESTS_RUNTIME_HOST_H
#define TENON_TESTS_RUNTIME_HOST_H
/* Programs that call functions of the host, and whose main takes and gives values. */
#include "runtime/maker.h"

/* y, s = host "scale"(x, text "three", l); t = host "label"(): s and t are values, and so is the input l. `first` is
 * the first field of l. */
static inline void make_host(maker *m)
{
    static const char *const text[] = {"three", "scale", "label"};
    *m = (maker){0};
    uint32_t x = put_floats(m, 0, TN_SLOT_INPUT, "x"), l = put_handle(m, 0, TN_SLOT_INPUT, "l"),
             y = put_floats(m, 0, TN_SLOT_OUTPUT, "y"), s = put_handle(m, 0, TN_SLOT_OUTPUT, "s"),
             t = put_handle(m, 0, TN_SLOT_OUTPUT, "t"), first = put_handle(m, 0, TN_SLOT_OUTPUT, "first"),
             h = put_handle(m, 0, TN_SLOT_TEMP, "");
    put_inst(m, 0, TN_INST_TEXT, 0, 1, h);
    put_inst(m, 0, TN_INST_CALL_HOST, 1, 6, 3, x, h, l, y, s);
    put_inst(m, 0, TN_INST_CALL_HOST, 2, 2, 0, t);
    put_inst(m, 0, TN_INST_FIELD, 0, 2, l, first);
    finish_maker(m, 1, 0);
    m->program.text = text;
    m->program.n_text = 3;
}

/* A function that main calls calls the host, with an extent that only the run knows: z[n] = host "scale"(x[n]). */
static inline void make_host_symbolic(maker *m)
{
    static const char *const text[] = {"scale"};
    *m = (maker){0};
    uint32_t x = put_symbolic(m, 0, TN_SLOT_INPUT, "x"), z = put_symbolic(m, 0, TN_SLOT_OUTPUT, "z");
    m->f[0].slot[z].offset.value = -1;
    m->f[0].symbol[0] = (tn_symbol){"n", 1, 8};
    put_inst(m, 0, TN_INST_CALL_HOST, 0, 3, 1, x, z);
    finish_maker(m, 1, 1);
    m->program.text = text;
    m->program.n_text = 1;
}

/* A function for any name: zeros and empty texts. */
static inline tnr_status host_any(void *user, const tnr_host_call *c, tnr_error *err)
{
    (void)user;
    for (uint32_t i = c->n_in; i < c->n_in + c->n_out; i++) {
        const DLTensor *t = &c->tensor[i];
        uint64_t bytes = 0;
        tnr_status status =
            t->dtype.code != kDLOpaqueHandle
                ? tnr_tensor_bytes(t->dtype, t->ndim, t->shape, &bytes, err)
                : tnr_value_new(c->instance, &(tnr_value_info){.kind = TNR_VALUE_TEXT}, &c->value[i], err);
        if (status)
            return status;
        memset(t->data ? t->data : &bytes, 0, (size_t)bytes);
    }
    return TNR_OK;
}

/* The input l of make_host: a list of one empty text. */
static inline tnr_status host_set_list(tnr_instance *inst, uint32_t input, tnr_error *err)
{
    tnr_value *text = NULL, *cell = NULL;
    tnr_value_info list = {.kind = TNR_VALUE_CONSTRUCTOR, .tag = 1, .n_field = 1, .field = &text};
    tnr_status status = tnr_value_new(inst, &(tnr_value_info){.kind = TNR_VALUE_TEXT}, &text, err);
    if (!status)
        status = tnr_value_new(inst, &list, &cell, err);
    if (!status)
        status = tnr_set_input_value(inst, input, cell, err);
    tnr_value_release(cell);
    tnr_value_release(text);
    return status;
}

#endif
