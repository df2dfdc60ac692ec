#ifndef TENON_TESTS_RUNTIME_TOY_MODEL_H
#define TENON_TESTS_RUNTIME_TOY_MODEL_H
/* What the toy library must compute, and the handling of its tensors in tests. */
#include "tenon/runtime.h"

#include "runtime/blob.h"

enum { TOY_MAX_N = 64 };
#ifndef TOY_STATIC_N
#define TOY_STATIC_N 6 /* toy.h has the same */
#endif

typedef struct toy_io {
    int64_t n;
    float x[TOY_MAX_N * 8], y[TOY_MAX_N * 8];
    int32_t idx[1];
    uint8_t flag;
    float sum[TOY_MAX_N * 8], rows[TOY_MAX_N], picked; /* expected */
    int64_t matrix[2], one[1];
} toy_io;

/* Inputs from a seed and the expected results, computed in the kernels' order of operations. */
static inline void toy_fill(toy_io *io, int64_t n, uint32_t seed)
{
    io->n = io->matrix[0] = n;
    io->matrix[1] = 8;
    io->one[0] = 1;
    io->flag = 1;
    io->idx[0] = (int32_t)(seed % (uint32_t)n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < 8; j++) {
            seed = seed * 1664525u + 1013904223u;
            io->x[i * 8 + j] = (float)(seed >> 8) / 16777216.0f - 0.5f;
            seed = seed * 1664525u + 1013904223u;
            io->y[i * 8 + j] = (float)(seed >> 8) / 16777216.0f - 0.5f;
        }
        float rows = 0;
        for (int64_t j = 0; j < 8; j++) {
            float t = io->x[i * 8 + j];
            for (int k = 0; k < 3; k++)
                t = (t + io->y[i * 8 + j]) * blob_p0[j];
            io->sum[i * 8 + j] = t;
        }
        for (int k = 0; k < 3; k++)
            for (int64_t j = 0; j < 8; j++)
                rows += io->sum[i * 8 + j];
        io->rows[i] = rows;
    }
    io->picked = io->rows[io->idx[0]];
}

static inline DLTensor toy_tensor(void *data, uint8_t code, uint8_t bits, int32_t ndim, int64_t *shape)
{
    return (DLTensor){
        .data = data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = {code, bits, 1}, .shape = shape};
}

/* Set all inputs; `flag` where the model has it. */
static inline tnr_status toy_set(tnr_instance *inst, toy_io *io, tnr_error *err)
{
    DLTensor x = toy_tensor(io->x, kDLFloat, 32, 2, io->matrix),
             y = toy_tensor(io->y, kDLFloat, 32, 2, io->matrix);
    DLTensor idx = toy_tensor(io->idx, kDLInt, 32, 1, io->one),
             flag = toy_tensor(&io->flag, kDLBool, 8, 0, NULL);
    tnr_status status = tnr_set_input(inst, "x", &x, err);
    if (!status)
        status = tnr_set_input(inst, "y", &y, err);
    if (!status)
        status = tnr_set_input(inst, "idx", &idx, err);
    if (!status && tnr_input_find(tnr_instance_module(inst), "flag") >= 0)
        status = tnr_set_input(inst, "flag", &flag, err);
    return status;
}

/* Output i of the last run has this shape and these bytes; which names it for a message. NULL: all right. */
static inline const char *toy_output_differs(tnr_instance *inst, uint32_t i, int32_t ndim,
                                             const int64_t *shape, const void *data, size_t bytes)
{
    DLTensor v;
    if (tnr_get_output_at(inst, i, &v, NULL))
        return "no output";
    if (v.ndim != ndim || v.strides || v.byte_offset)
        return "rank or strides";
    for (int32_t d = 0; d < ndim; d++)
        if (v.shape[d] != shape[d])
            return "shape";
    return memcmp(v.data, data, bytes) ? "bytes" : NULL;
}

/* All five outputs of the last run are as expected, bit for bit. NULL, or what differs. */
static inline const char *toy_differs(tnr_instance *inst, const toy_io *io)
{
    size_t bytes = (size_t)io->n * 32;
    const char *d;
    if ((d = toy_output_differs(inst, 0, 2, io->matrix, io->sum, bytes)) ||
        (d = toy_output_differs(inst, 1, 1, (int64_t[]){io->n * 8}, io->sum, bytes)) ||
        (d = toy_output_differs(inst, 2, 1, (int64_t[]){io->n}, io->rows, (size_t)io->n * 4)) ||
        (d = toy_output_differs(inst, 3, 1, (int64_t[]){1}, &io->picked, 4)) ||
        (d = toy_output_differs(inst, 4, 2, io->matrix, io->x, bytes)))
        return d;
    return NULL;
}

#endif
