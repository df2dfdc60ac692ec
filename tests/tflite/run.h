#ifndef TENON_TESTS_TFLITE_RUN_H
#define TENON_TESTS_TFLITE_RUN_H
/* Models from text (write.h), read and run; after cmocka.h. */
#include "onnx/model.h"
#include "tflite/write.h"

#define ARGS "in x\nout y\n"

static inline tn_status import_text(model *m, const char *text, tn_buf *bytes, const tn_import_options *o)
{
    *bytes = tfl_write(text);
    tn_file f = {(const uint8_t *)bytes->at, bytes->n, 0};
    model_init(m);
    return model_import(m, "model.tflite", &f, o);
}

/* Runs the model on x and gives the first n elements of y as float64; how many it has. */
static inline int64_t run_text(const char *text, const void *x, size_t bytes, int n, double y[])
{
    model m;
    tn_buf file;
    tn_tensor_value in = {0}, out;
    if (import_text(&m, text, &file, NULL) != TN_OK)
        fail_msg("%s\n%s", text, model_errors(&m));
    const tn_type *t = m.g.func->body->param[0]->type[0];
    in.dtype = t->dtype;
    in.ndim = t->n;
    for (int i = 0; i < t->n; i++)
        (void)tn_is_int(t->dim[i], &in.dim[i]);
    in.at = tn_arena_alloc(&m.arena, bytes, 8);
    memcpy(in.at, x, bytes);
    in.n = bytes;
    in.borrowed = true;
    if (tn_relay_run(&m.g, 1, &in, 1, &out, tn_eval_interp, NULL) != TN_OK)
        fail_msg("%s\n%s", text, model_errors(&m));
    for (int i = 0; i < n; i++) {
        tn_scalar s = tn_scalar_read(out.dtype, (const char *)out.at + (size_t)i * tn_dtype_bytes(out.dtype));
        y[i] = tn_dtype_is_float(out.dtype) ? s.f : (double)s.i;
    }
    int64_t all = (int64_t)(out.n / tn_dtype_bytes(out.dtype));
    tn_tensor_value_deinit(&out);
    model_deinit(&m);
    tn_buf_deinit(&file);
    return all;
}

static inline void expect(const char *text, const void *x, size_t bytes, int n, const double want[])
{
    double have[16];
    int64_t all = run_text(text, x, bytes, n, have);
    if (all != n)
        fail_msg("%s\n%d elements, not %d", text, (int)all, n);
    for (int i = 0; i < n; i++)
        if (fabs(have[i] - want[i]) > 1e-6)
            fail_msg("%s\nelement %d is %g, not %g", text, i, have[i], want[i]);
}

#endif
