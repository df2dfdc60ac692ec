/* Tensors: sizes, and the checks on what a caller hands in. */
#include "runtime/tensor.h"

#include "base/size.h"
#include "runtime/device.h"
#include "runtime/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

tnr_status tnr_tensor_bytes(DLDataType dtype, int32_t ndim, const int64_t *shape, uint64_t *out_bytes,
                            tnr_error *err)
{
    if (dtype.bits == 0 || dtype.lanes == 0)
        return tnr_fail(err, TNR_E_DTYPE, 0, "element type has %u bits and %u lanes", dtype.bits,
                        dtype.lanes);
    int64_t bytes = ((int64_t)dtype.bits * dtype.lanes + 7) / 8; /* an element takes whole bytes */
    bool empty = false, large = false; /* empty, even where the other extents would overflow */
    for (int32_t d = 0; d < ndim; d++) {
        if (shape[d] < 0)
            return tnr_fail(err, TNR_E_SHAPE, 0, "dimension %d is %" PRId64, d, shape[d]);
        empty |= shape[d] == 0;
        large |= !tn_i64_mul(bytes, shape[d], &bytes);
    }
    *out_bytes = empty ? 0 : (uint64_t)bytes;
    if (!empty && (large || (uint64_t)bytes > SIZE_MAX))
        return tnr_fail(err, TNR_E_SHAPE, 0, "tensor is too large for this machine");
    return TNR_OK;
}

const char *tnr_shape_print(int32_t ndim, const int64_t *shape, const char *const *symbol,
                            char text[TNR_SHAPE_TEXT])
{
    size_t at = 1;
    text[0] = '[';
    for (int32_t d = 0; d < ndim; d++) {
        char one[40];
        int n = symbol && symbol[d] ? snprintf(one, sizeof one, "%s%.30s", d ? ", " : "", symbol[d])
                                    : snprintf(one, sizeof one, "%s%" PRId64, d ? ", " : "", shape[d]);
        if (at + (size_t)n + sizeof ", ...]" > TNR_SHAPE_TEXT) {
            memcpy(text + at, ", ...", 5);
            at += 5;
            break;
        }
        memcpy(text + at, one, (size_t)n);
        at += (size_t)n;
    }
    text[at] = ']';
    text[at + 1] = '\0';
    return text;
}

/* Row-major without gaps; the stride of an extent of 1 says nothing, and an empty tensor has no elements to
 * place. */
static bool dense(const DLTensor *t)
{
    int64_t expected = 1;
    for (int32_t d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0)
            return true;
    for (int32_t d = t->ndim; t->strides && d-- > 0;) {
        if (t->shape[d] != 1 && t->strides[d] != expected)
            return false;
        if (!tn_i64_mul(expected, t->shape[d], &expected))
            return false;
    }
    return true;
}

tnr_status tnr_tensor_data(const DLTensor *t, const char *what, const char *name, void **out_data,
                           uint64_t *out_bytes, tnr_error *err)
{
    uint64_t bytes;
    if (t->ndim < 0 || (t->ndim > 0 && !t->shape))
        return tnr_fail(err, TNR_E_SHAPE, 0, "%s \"%.400s\" has no shape", what, name);
    if (!tnr_device_works_on(&tnr_devices[TNR_HOST], t->device.device_type))
        return tnr_fail(err, TNR_E_LAYOUT, 0,
                        "%s \"%.400s\" is on device type %d; copy it to the CPU (1) first", what, name,
                        (int)t->device.device_type);
    tnr_status status = tnr_tensor_bytes(t->dtype, t->ndim, t->shape, &bytes, err);
    if (status)
        return status;
    if (!dense(t)) {
        char shape[TNR_SHAPE_TEXT], strides[TNR_SHAPE_TEXT];
        return tnr_fail(err, TNR_E_LAYOUT, 0,
                        "%s \"%.400s\" is strided: strides %.400s, shape %.400s; make it dense, "
                        "row-major first",
                        what, name, tnr_shape_print(t->ndim, t->strides, NULL, strides),
                        tnr_shape_print(t->ndim, t->shape, NULL, shape));
    }
    if (!t->data && bytes > 0)
        return tnr_fail(err, TNR_E_LAYOUT, 0, "%s \"%.400s\" has no data", what, name);
    uintptr_t address = (uintptr_t)t->data + (uintptr_t)t->byte_offset;
    uintptr_t align = t->dtype.bits >= 64 ? 8 : (t->dtype.bits + 7u) / 8u;
    if (bytes > 0 && address % align != 0)
        return tnr_fail(err, TNR_E_LAYOUT, 0,
                        "%s \"%.400s\" is misaligned: its data must start at a multiple of %u bytes", what,
                        name, (unsigned)align);
    *out_data = (void *)address;
    *out_bytes = bytes;
    return TNR_OK;
}
