/* ONNX (import.h). A part of what has nodes can be cut out, whatever the nodes are. */
#include "frontend/part.h"
#include "fuzz/import.h"

static void cut(const tn_file *f)
{
    tn_ctx ctx;
    tn_arena a;
    tn_part_graph g;
    tn_buf out = {0};
    tn_ctx_init(&ctx);
    tn_arena_init(&a);
    if (tn_part_read(&ctx, "fuzz.onnx", f, &a, &g) == TN_OK && g.n_output) {
        const tn_part_value in = {.name = g.n_node && g.node->n_in ? g.node->in[0] : "x", .dtype = TN_F32};
        const tn_part part = {.n_input = f->n % 3 > 0, .n_output = 1, .input = &in, .output = g.output};
        (void)!tn_part_write(&ctx, "fuzz.onnx", f, &part, &out);
    }
    tn_buf_deinit(&out);
    tn_arena_deinit(&a);
    tn_ctx_deinit(&ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_file f = {data, n, 0};
    fuzz_import(tn_import_onnx, "fuzz.onnx", data, n);
    cut(&f);
    return 0;
}
