/* ONNX (import.h). A part of what has nodes can be cut out, whatever the nodes are. */
#include "frontend/part.h"
#include "fuzz/import.h"

/* Graphs inside nodes, with as many inputs as a Loop of its operands has. */
static void cut_body(tn_ctx *ctx, const tn_file *f, const tn_part_node *n)
{
    static const char *const bodies[] = {"body", "then_branch", "else_branch"};
    tn_part_value in[4];
    for (int i = 0; i < 4; i++)
        in[i] = (tn_part_value){.name = n->in[n->n_in - 1], .dtype = TN_F32};
    for (int k = 0; k < 3; k++) {
        tn_buf out = {0};
        const tn_part part = {.n_input = 4, .input = in, .node = n->out[0], .body = bodies[k]};
        (void)!tn_part_write(ctx, "fuzz.onnx", f, &part, &out);
        tn_buf_deinit(&out);
    }
}

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
    for (uint32_t i = 0; i < g.n_node; i++)
        if (g.node[i].n_in > g.node[i].n_operand && g.node[i].n_out)
            cut_body(&ctx, f, &g.node[i]);
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
