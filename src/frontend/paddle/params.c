/* Files of parameters: tensors one after the other, in the order of their variables' names, or a file each. A tensor is
 * a version, the levels of its sequences, and a description in Protocol Buffers before its elements. */
#include "frontend/paddle/paddle.h"

#include <string.h>

static bool take(tn_bytes file, size_t *at, size_t n, const uint8_t **out)
{
    if (n > file.n - *at)
        return false;
    *out = file.at + *at;
    *at += n;
    return true;
}

static bool number(tn_bytes file, size_t *at, int bytes, uint64_t *out)
{
    const uint8_t *b;
    *out = 0;
    if (!take(file, at, (size_t)bytes, &b))
        return false;
    for (int i = bytes; i-- > 0;)
        *out = *out << 8 | b[i];
    return true;
}

/* What is before the description; NULL, or what is wrong. */
static const char *skip_head(tn_bytes file, size_t *at)
{
    uint64_t version, levels, bytes;
    const uint8_t *skipped;
    if (!number(file, at, 4, &version) || !number(file, at, 8, &levels))
        return "the file ends within a tensor";
    if (version != 0)
        return "it is no file of parameters, or of a version that is not known";
    for (uint64_t i = 0; i < levels; i++)
        if (!number(file, at, 8, &bytes) || bytes > SIZE_MAX || !take(file, at, (size_t)bytes, &skipped))
            return "the file ends within a tensor";
    return number(file, at, 4, &version) && version == 0 ? NULL : "the version of a tensor is not known";
}

static const char *read_description(pd_import *p, tn_bytes file, size_t *at, pd_tensor_desc *out)
{
    uint64_t n;
    const uint8_t *text;
    const char *where;
    if (!number(file, at, 4, &n) || n > 1 << 16 || !take(file, at, (size_t)n, &text))
        return "the file ends within a tensor";
    return tn_pb_read(&p->im.scratch, &pd_tensor_desc_msg, text, (size_t)n, NULL, out, &where);
}

bool pd_read_tensor(pd_import *p, tn_bytes file, const char *file_name, const char *name, size_t *at,
                    pd_tensor *out)
{
    imp_model *im = &p->im;
    pd_tensor_desc d = {0};
    size_t count, bytes;
    const tn_loc loc = {.file = file_name};
    const char *why = skip_head(file, at);
    why = why ? why : read_description(p, file, at, &d);
    if (!why && !pd_dtype_by_number(d.data_type, &out->dtype))
        why = "its elements have a type that is not supported";
    if (!why) {
        if (!imp_measure(im, name, d.dims.n, d.dims.at, out->dtype, &loc, &count, &bytes))
            return false;
        out->n = (uint32_t)d.dims.n;
        out->dim = d.dims.at;
        out->data.n = bytes;
        if (take(file, at, bytes, &out->data.at))
            return true;
        why = "the file ends within its elements";
    }
    return tn_error(im->g->ctx, "paddle-E003", &loc, "parameter \"%s\" cannot be read: %s%s", name, why,
                    imp_again(why)) == TN_OK;
}
