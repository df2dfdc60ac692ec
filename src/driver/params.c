/* Named tensors in the format users know (docs/abi.md). In mod.params uint8 filler entries `__pad<n>` stand
 * between them, so that the data of every tensor starts at a multiple of 64 bytes of the blob. */
#include "driver/driver.h"
#include "tenon/runtime.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t list_magic = 0xF7E58D4F05049CB7u, tensor_magic = 0xDD5E40F096B4A13Fu;

static void name(tn_buf *out, const char *s)
{
    tn_buf_u64le(out, strlen(s));
    tn_buf_str(out, s);
}

static size_t header_bytes(int ndim) { return 8 + 8 + 4 + 4 + 4 + 4 + 8 * (size_t)ndim + 8; }

static void header(tn_buf *out, tn_dtype t, int ndim, const int64_t dim[], uint64_t bytes)
{
    tn_buf_u64le(out, tensor_magic);
    tn_buf_u64le(out, 0);
    tn_buf_u32le(out, 1); /* CPU */
    tn_buf_u32le(out, 0);
    tn_buf_u32le(out, (uint32_t)ndim);
    tn_buf_char(out, (char)t.code);
    tn_buf_char(out, (char)t.bits);
    tn_buf_char(out, 1);
    tn_buf_char(out, 0);
    for (int d = 0; d < ndim; d++)
        tn_buf_u64le(out, (uint64_t)dim[d]);
    tn_buf_u64le(out, bytes);
}

/* Physical extents: what lies in memory, layout applied. */
static int physical_dims(const tn_node *c, int64_t out[64])
{
    const tn_type *t = c->type[0];
    const tn_expr *dim[64];
    tn_arena a;
    tn_pool p;
    tn_ctx ctx;
    int n = tn_layout_naxis(t->layout, t->n);
    tn_ctx_init(&ctx);
    tn_arena_init(&a);
    tn_pool_init(&p, &ctx, &a, NULL);
    tn_layout_dims(&p, t->layout, t->n, t->dim, dim);
    for (int d = 0; d < n; d++)
        out[d] = tn_simplify(&p, NULL, dim[d])->u.i;
    tn_arena_deinit(&a);
    tn_ctx_deinit(&ctx);
    return n;
}

static void drain(tn_buf *from, tn_sink *to)
{
    tn_sink_add(to, from->at, from->n);
    tn_buf_clear(from);
}

/* A filler, so that the data behind the header of `ndim` dimensions is aligned. */
static void add_filler(tn_buf *b, uint64_t at, int ndim)
{
    size_t fill = (64 - (at + header_bytes(1) + header_bytes(ndim)) % 64) % 64;
    header(b, TN_U8, 1, (int64_t[]){(int64_t)fill}, fill);
    tn_buf_fill(b, 0, fill);
}

void tn_params_write(uint32_t n, const char *const names[], const tn_node *const constant[], bool aligned,
                     tn_sink *out)
{
    const uint64_t start = out->n, count = (aligned ? 2 : 1) * (uint64_t)n;
    tn_buf b = {0};
    tn_buf_u64le(&b, list_magic);
    tn_buf_u64le(&b, 0);
    tn_buf_u64le(&b, count);
    for (uint32_t i = 0; i < n; i++) {
        char pad[24];
        snprintf(pad, sizeof pad, "__pad%u", (unsigned)i);
        if (aligned)
            name(&b, pad);
        name(&b, names[i]);
    }
    tn_buf_u64le(&b, count);
    drain(&b, out);
    for (uint32_t i = 0; i < n; i++) {
        int64_t dim[64];
        int ndim = physical_dims(constant[i], dim);
        if (aligned)
            add_filler(&b, out->n - start, ndim);
        header(&b, constant[i]->type[0]->dtype, ndim, dim, constant[i]->blob->n);
        drain(&b, out);
        tn_sink_add(out, constant[i]->blob->at, constant[i]->blob->n);
    }
    tn_buf_deinit(&b);
}

static void free_params(tn_resource *r) { tnr_params_free(r->at); }

tn_status tn_params_open(tn_build *b, const char *path, const void *data, size_t n)
{
    tnr_params *params;
    tnr_error err;
    b->params = tn_resource_new(free_params);
    if (tnr_params_open(data, n, &params, &err))
        return tn_error(b->ctx, "driver-E033", &(tn_loc){.file = path},
                        "the constants of %s cannot be read: %s; dump the text again", b->model, err.message);
    b->params->at = params;
    return TN_OK;
}

tn_status tn_params_read(tn_build *b, const char *path)
{
    if (access(path, F_OK) != 0)
        return TN_OK;
    TN_TRY(tn_file_map(b->ctx, path, &b->params_file));
    return tn_params_open(b, path, b->params_file.at, b->params_file.n);
}

tn_status tn_params_constants(tn_build *b, const tn_blob *const **out, size_t *out_n)
{
    tnr_error err;
    uint32_t n = b->params ? tnr_params_count(b->params->at) : 0;
    const tn_blob **list = TN_NEW_N(&b->arena, const tn_blob *, n);
    for (*out_n = 0; *out_n < n; ++*out_n) {
        DLTensor view;
        uint64_t bytes;
        if (tnr_params_find(b->params->at, tn_arena_printf(&b->arena, "relay.Constant.%zu", *out_n), &view,
                            &err) ||
            tnr_tensor_bytes(view.dtype, view.ndim, view.shape, &bytes, &err))
            break;
        tn_blob *blob = TN_NEW(&b->arena, tn_blob);
        *blob = (tn_blob){.at = view.data, .n = (size_t)bytes};
        list[*out_n] = blob;
    }
    *out = *out_n ? list : NULL; /* else they may be in the text itself */
    return TN_OK;
}

size_t tn_params_named(tn_build *b, const tn_relay_param **out)
{
    const uint32_t n = b->params ? tnr_params_count(b->params->at) : 0;
    tn_relay_param *list = TN_NEW_N(&b->arena, tn_relay_param, n);
    size_t n_named = 0;
    for (uint32_t i = 0; i < n; i++) {
        tnr_error err;
        DLTensor v;
        const char *name;
        uint64_t bytes;
        if (tnr_params_at(b->params->at, i, &name, &v, &err) || strncmp(name, "relay.Constant.", 15) == 0 ||
            tnr_tensor_bytes(v.dtype, v.ndim, v.shape, &bytes, &err))
            continue;
        tn_blob *blob = TN_NEW(&b->arena, tn_blob);
        *blob = (tn_blob){.at = v.data, .n = (size_t)bytes};
        const tn_dtype t = {v.dtype.code, v.dtype.bits, 1};
        list[n_named++] =
            (tn_relay_param){name, t.code == TN_UINT && t.bits == 1 ? TN_BOOL1 : t, v.ndim, v.shape, blob};
    }
    *out = list;
    return n_named;
}
