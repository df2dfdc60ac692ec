/* Runs a package on the inputs of a file and writes the outputs to another: for emulators of other machines.
 *
 *     foreign PACKAGE IN OUT
 *
 * IN holds the number of sets of inputs, and of each set its tensors in the model's order. OUT holds of each
 * set 0 and its outputs, or the bytes of a message and the message. A list of tensors is its length and the
 * tensors; a tensor is code and bits of its type (dlpack.h), the number of its dimensions, these, and its
 * elements. Numbers are of 64 bits, in the machines' own order, which is little-endian. */
#include "tenon/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static FILE *in, *out;

static void fail(const char *what)
{
    fprintf(stderr, "foreign: %s\n", what);
    exit(2);
}

static int64_t get(void)
{
    int64_t n;
    if (fread(&n, sizeof n, 1, in) != 1)
        fail("the inputs end early");
    return n;
}

static void put(int64_t n) { fwrite(&n, sizeof n, 1, out); }

static size_t bytes_of(const DLTensor *t)
{
    size_t n = (t->dtype.bits + 7u) / 8;
    for (int i = 0; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return n;
}

static void read_tensor(DLTensor *t)
{
    *t = (DLTensor){.device = {kDLCPU, 0}};
    t->dtype.code = (uint8_t)get();
    t->dtype.bits = (uint8_t)get();
    t->dtype.lanes = 1;
    t->ndim = (int32_t)get();
    t->shape = calloc((size_t)t->ndim + 1, sizeof *t->shape);
    for (int i = 0; i < t->ndim; i++)
        t->shape[i] = get();
    size_t n = bytes_of(t);
    t->data = aligned_alloc(64, (n + 127) / 64 * 64);
    if (n && fread(t->data, n, 1, in) != 1)
        fail("the inputs end early");
}

static void write_tensor(const DLTensor *t)
{
    put(t->dtype.code);
    put(t->dtype.bits);
    put(t->ndim);
    for (int i = 0; i < t->ndim; i++)
        put(t->shape[i]);
    size_t n = bytes_of(t);
    if (n && fwrite((char *)t->data + t->byte_offset, n, 1, out) != 1)
        fail("the outputs cannot be written");
}

static void refuse(const tnr_error *e)
{
    put((int64_t)strlen(e->message));
    fwrite(e->message, strlen(e->message), 1, out);
}

/* The tensors stay until the next set. */
static void run_set(tnr_instance *x, uint32_t n_out)
{
    static DLTensor given[MOST], result[MOST];
    tnr_error e = {0};
    int64_t n = get();
    int failed = 0;
    if (n > MOST || n_out > MOST)
        fail("there are too many tensors");
    for (int64_t i = 0; i < n; i++) {
        read_tensor(&given[i]);
        failed = failed || tnr_set_input_at(x, (uint32_t)i, &given[i], &e);
    }
    failed = failed || tnr_run(x, &e);
    for (uint32_t i = 0; i < n_out && !failed; i++)
        failed = tnr_get_output_at(x, i, &result[i], &e);
    if (failed) {
        refuse(&e);
        return;
    }
    put(0);
    put(n_out);
    for (uint32_t i = 0; i < n_out; i++)
        write_tensor(&result[i]);
}

int main(int argc, char **argv)
{
    tnr_error e = {0};
    tnr_module *m;
    tnr_instance *x;
    const tnr_instance_options one = {.threads = 1};
    if (argc != 4 || !(in = fopen(argv[2], "rb")) || !(out = fopen(argv[3], "wb")))
        fail("give PACKAGE IN OUT");
    if (tnr_module_open(argv[1], NULL, &m, &e) || tnr_instance_new(m, &one, &x, &e))
        fail(e.message);
    for (int64_t n = get(); n > 0; n--)
        run_set(x, tnr_output_count(m));
    return fclose(out) != 0;
}
