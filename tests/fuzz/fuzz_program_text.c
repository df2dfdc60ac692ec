/* Program text: any bytes. What is read prints, reads back and prints the same; what the verifier accepts runs on the
 * runtime with kernels that do no harm, twice. Seven of eight mutations are those of mutate.h. */
#include "program/mutate.h"
#include "program/run.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned int seed)
{
    return seed % 8 ? mutate_text((char *)data, n, most, seed) : LLVMFuzzerMutate(data, n, most);
}

static void print(text_program *t, tn_buf *out)
{
    tn_program_print(&t->pool, &t->program, t->n_kernel, t->kernel, out);
}

/* What was printed reads back and prints the same. */
static void read_again(const tn_buf *first)
{
    text_program t;
    tn_buf second = {0};
    text_open(&t, "again", first->at, first->n);
    print(&t, &second);
    if (second.n != first->n || memcmp(second.at, first->at, first->n) != 0) {
        fprintf(stderr, "first:\n%s\nsecond:\n%s\n", first->at, tn_buf_cstr(&second));
        abort();
    }
    tn_buf_deinit(&second);
    text_close(&t);
}

/* Inputs are small numbers, symbolic extents 3. */
static void run(text_program *t)
{
    static int64_t memory[1 << 13];
    tnr_error err;
    for (uint32_t i = 0; i < tnr_input_count(t->module); i++) {
        tnr_tensor_info info;
        int64_t shape[64];
        uint64_t bytes;
        if (tnr_input_info(t->module, i, &info, &err))
            return;
        if (info.dtype.code == kDLOpaqueHandle) {
            if (text_give_value(t, i, &err))
                return;
            continue;
        }
        for (int32_t d = 0; d < info.ndim; d++)
            shape[d] = info.shape[d] < 0 ? 3 : info.shape[d];
        DLTensor x = {
            .data = memory, .device = {kDLCPU, 0}, .ndim = info.ndim, .dtype = info.dtype, .shape = shape};
        if (tnr_tensor_bytes(x.dtype, x.ndim, shape, &bytes, &err) || bytes > sizeof memory ||
            tnr_set_input_at(t->instance, i, &x, &err))
            return;
    }
    for (int k = 0; k < 2; k++) {
        t->steps = 0;
        if (tnr_run(t->instance, &err))
            return;
    }
}

/* What the verifier accepts, the loader does. */
static void load(text_program *t)
{
    tnr_error err;
    if (text_load(t, true, &err)) {
        run(t);
    } else if (err.code == TNR_E_FORMAT && !t->too_many) {
        fprintf(stderr, "the verifier accepts what the loader refuses: %s\n", err.message);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    text_program t;
    tn_buf first = {0};
    bool right = text_open(&t, "fuzz", (const char *)data, n);
    if (!right && t.ctx.n_error == 0)
        abort();
    if (right) {
        print(&t, &first);
        read_again(&first);
        load(&t);
    }
    tn_buf_deinit(&first);
    text_close(&t);
    return right ? 0 : -1; /* the corpus has programs that the verifier accepts */
}
