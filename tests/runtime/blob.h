#ifndef TENON_TESTS_RUNTIME_BLOB_H
#define TENON_TESTS_RUNTIME_BLOB_H
/* Writers for what the runtime reads, byte by byte and apart from the code under test: mod.params, tar,
 * mod.json. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct blob {
    uint8_t *at; /* 64-byte aligned */
    size_t n, room;
} blob;

static inline void blob_put(blob *b, const void *data, size_t n)
{
    if (b->n + n > b->room) {
        size_t room = (2 * (b->n + n) + 4095) / 4096 * 4096;
        uint8_t *at = aligned_alloc(4096, room);
        if (!at)
            abort();
        if (b->n)
            memcpy(at, b->at, b->n);
        free(b->at);
        b->at = at;
        b->room = room;
    }
    if (n)
        memcpy(b->at + b->n, data, n);
    b->n += n;
}

static inline void blob_int(blob *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        blob_put(b, &(uint8_t){(uint8_t)(v >> (8 * i))}, 1);
}

typedef struct blob_tensor {
    const char *name;
    uint8_t code, bits;
    int ndim;
    int64_t shape[4];
    const void *data;
    size_t bytes;
} blob_tensor;

static inline void blob_params_names(blob *b, const blob_tensor *t, size_t n)
{
    blob_int(b, 0xF7E58D4F05049CB7u, 8);
    blob_int(b, 0, 8);
    blob_int(b, n, 8);
    for (size_t i = 0; i < n; i++) {
        blob_int(b, strlen(t[i].name), 8);
        blob_put(b, t[i].name, strlen(t[i].name));
    }
    blob_int(b, n, 8);
}

static inline void blob_tensor_put(blob *b, const blob_tensor *t)
{
    blob_int(b, 0xDD5E40F096B4A13Fu, 8);
    blob_int(b, 0, 8);
    blob_int(b, 1, 4);
    blob_int(b, 0, 4);
    blob_int(b, (uint64_t)t->ndim, 4);
    blob_int(b, t->code, 1);
    blob_int(b, t->bits, 1);
    blob_int(b, 1, 2);
    for (int d = 0; d < t->ndim; d++)
        blob_int(b, (uint64_t)t->shape[d], 8);
    blob_int(b, t->bytes, 8);
    blob_put(b, t->data, t->bytes);
}

/* A blob as TVM writes it: tensors wherever they come to lie. */
static inline blob blob_params(const blob_tensor *t, size_t n)
{
    blob b = {0};
    blob_params_names(&b, t, n);
    for (size_t i = 0; i < n; i++)
        blob_tensor_put(&b, &t[i]);
    return b;
}

/* A blob with a filler before each tensor, so that each starts at a multiple of 64 bytes of the blob. */
static inline blob blob_params_aligned(const blob_tensor *t, size_t n)
{
    static const uint8_t zero[64];
    blob_tensor all[16];
    char pad[8][16];
    for (size_t i = 0; i < n; i++) {
        snprintf(pad[i], sizeof pad[i], "__pad%zu", i);
        all[2 * i] = (blob_tensor){pad[i], 1, 8, 1, {0}, zero, 0};
        all[2 * i + 1] = t[i];
    }
    blob b = {0};
    blob_params_names(&b, all, 2 * n);
    for (size_t i = 0; i < n; i++) {
        size_t head = 32 + 8 + 8, next = b.n + head + 32 + 8 * (size_t)t[i].ndim + 8,
               fill = (64 - next % 64) % 64;
        all[2 * i].shape[0] = (int64_t)fill;
        all[2 * i].bytes = fill;
        blob_tensor_put(&b, &all[2 * i]);
        blob_tensor_put(&b, &all[2 * i + 1]);
    }
    return b;
}

static inline void blob_tar_file(blob *b, const char *name, const void *data, size_t n)
{
    char h[512] = {0};
    snprintf(h, 100, "%s", name);
    memcpy(h + 100, "0000644\0000000000\0000000000\0", 24);
    snprintf(h + 124, 12, "%011zo", n);
    memcpy(h + 136, "00000000000", 12);
    memset(h + 148, ' ', 8);
    h[156] = '0';
    memcpy(h + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
    blob_put(b, h, 512);
    blob_put(b, data, n);
    blob_put(b, (char[512]){0}, (512 - n % 512) % 512);
}

static inline void blob_tar_end(blob *b) { blob_put(b, (char[1024]){0}, 1024); }

/* The toy library's constants: p0 = 1, 1.25, ... and p1 = 77; "unused" is there to be ignored. */
static const float blob_p0[8] = {1, 1.25f, 1.5f, 1.75f, 2, 2.25f, 2.5f, 2.75f};
static const float blob_p1[1] = {77};
static const blob_tensor blob_toy_tensors[] = {
    {"p0", 2, 32, 1, {8}, blob_p0, sizeof blob_p0},
    {"p1", 2, 32, 1, {1}, blob_p1, sizeof blob_p1},
    {"unused", 0, 8, 2, {1, 3}, "abc", 3},
};

static inline blob blob_toy_params(int aligned)
{
    return aligned ? blob_params_aligned(blob_toy_tensors, 3) : blob_params(blob_toy_tensors, 3);
}

#define BLOB_OP(name, func, n_in, inputs) \
    "{\"op\":\"tvm_op\",\"name\":\"" name "\",\"attrs\":{\"func_name\":\"" func "\",\"num_inputs\":\"" n_in \
    "\",\"num_outputs\":\"1\",\"flatten_data\":\"0\",\"hash\":\"1234\"},\"inputs\":" inputs "}"

/* The static toy program as mod.json. Entries: x y p0 idx t1 t2 sum flat rows rows2 picked. */
/* clang-format off */
static const char blob_toy_json[] =
    "{\"nodes\":[{\"op\":\"null\",\"name\":\"x\",\"inputs\":[]},"
    "{\"op\":\"null\",\"name\":\"y\",\"inputs\":[]},"
    "{\"op\":\"null\",\"name\":\"p0\",\"inputs\":[]},{\"op\":\"null\",\"name\":\"idx\",\"inputs\":[]},"
    BLOB_OP("a0", "tvmgen_default_fused_add_multiply", "3", "[[0,0,0],[1,0,0],[2,0,0]]") ","
    BLOB_OP("a1", "tvmgen_default_fused_add_multiply", "3", "[[4,0,0],[1,0,0],[2,0,0]]") ","
    BLOB_OP("a2", "tvmgen_default_fused_add_multiply", "3", "[[5,0,0],[1,0],[2,0]]") ","
    BLOB_OP("reshape_nop", "__nop", "1", "[[6,0,0]]") ","
    BLOB_OP("s", "tvmgen_default_fused_sum", "1", "[[6,0,0]]") ","
    BLOB_OP("c", "__copy", "1", "[[8,0,0]]") ","
    BLOB_OP("g", "tvmgen_default_fused_take", "2", "[[9,0,0],[3,0,0]]") "],"
    "\"arg_nodes\":[0,1,2,3],\"heads\":[[6,0,0],[7,0,0],[8,0,0],[10,0,0],[0,0,0]],"
    "\"attrs\":{\"dltype\":[\"list_str\",[\"float32\",\"float32\","
    "\"float32\",\"int32\",\"float32\",\"float32\","
    "\"float32\",\"float32\",\"float32\",\"float32\",\"float32\"]],"
    "\"shape\":[\"list_shape\",[[6,8],[6,8],[8],[1],[6,8],[6,8],[6,8],[48],[6],[6],[1]]],"
    "\"device_index\":[\"list_int\",[1,1,1,1,1,1,1,1,1,1,1]],"
    "\"storage_id\":[\"list_int\",[0,1,2,3,4,5,4,4,6,5,7]]},"
    "\"node_row_ptr\":[0,1,2,3,4,5,6,7,8,9,10,11]}";
/* clang-format on */

#endif
