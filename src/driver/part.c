/* Parts of an ONNX file, for the public API. */
#include "driver/api.h"
#include "frontend/part.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    const char *path;
    tenon_file_info *info;
} inspect_call;

static tn_status inspect(tenon *t, void *user)
{
    inspect_call *c = user;
    tn_arena *a = &t->ctx.arena;
    tn_file file;
    tn_part_graph g;
    TN_TRY(tn_import_map(&t->ctx, c->path, &file));
    TN_TRY(tn_part_read(&t->ctx, c->path, &file, a, &g));
    tenon_node_info *node = TN_NEW_N(a, tenon_node_info, g.n_node);
    for (uint32_t i = 0; i < g.n_node; i++)
        node[i] = (tenon_node_info){.name = g.node[i].name,
                                    .op = g.node[i].op,
                                    .n_in = g.node[i].n_in,
                                    .n_out = g.node[i].n_out,
                                    .n_operand = g.node[i].n_operand,
                                    .in = g.node[i].in,
                                    .out = g.node[i].out};
    c->info = TN_NEW(a, tenon_file_info);
    *c->info = (tenon_file_info){.n_node = g.n_node,
                                 .n_input = g.n_input,
                                 .n_output = g.n_output,
                                 .node = node,
                                 .input = g.input,
                                 .output = g.output};
    tn_file_unmap(&file);
    return TN_OK;
}

int tenon_file_inspect(tenon *t, const char *path, const tenon_file_info **out)
{
    inspect_call c = {.path = path};
    int failed = tn_session_call(t, NULL, inspect, &c);
    *out = failed ? NULL : c.info;
    return failed;
}

typedef struct {
    const char *path;
    const tenon_part *part;
} cut_call;

static tn_status cut(tenon *t, void *user)
{
    const cut_call *c = user;
    tenon_part known = {0}, *p = &known;
    if (c->part->size < offsetof(tenon_part, node))
        return tn_report_no_size(&t->ctx, "tenon_part");
    memcpy(p, c->part, c->part->size < sizeof *p ? c->part->size : sizeof *p);
    tn_part_value *in = TN_NEW_N(&t->ctx.arena, tn_part_value, p->n_input),
                  *type = TN_NEW_N(&t->ctx.arena, tn_part_value, p->output_type ? p->n_output : 0);
    for (uint32_t i = 0; i < p->n_input; i++)
        in[i] = (tn_part_value){.name = p->input[i].name,
                                .dtype = {p->input[i].code, p->input[i].bits, 1},
                                .ndim = p->input[i].ndim,
                                .shape = p->input[i].shape,
                                .data = p->input[i].data,
                                .bytes = p->input[i].bytes};
    for (uint32_t i = 0; p->output_type && i < p->n_output; i++)
        type[i] = (tn_part_value){.dtype = {p->output_type[i].code, p->output_type[i].bits, 1},
                                  .ndim = p->output_type[i].ndim};
    const tn_part part = {.n_input = p->n_input,
                          .n_output = p->n_output,
                          .input = p->input ? in : NULL,
                          .output = p->output,
                          .whole = p->whole != 0,
                          .node = p->node,
                          .body = p->body,
                          .output_type = p->output_type ? type : NULL};
    tn_file file;
    TN_TRY(tn_import_map(&t->ctx, c->path, &file));
    tn_status st = tn_part_write(&t->ctx, c->path, &file, &part, &t->data);
    tn_file_unmap(&file);
    return st;
}

int tenon_file_cut(tenon *t, const char *path, const tenon_part *part, const void **out_data, size_t *out_n)
{
    int failed = tn_session_call(t, NULL, cut, &(cut_call){path, part});
    *out_data = failed ? NULL : t->data.at;
    *out_n = failed ? 0 : t->data.n;
    return failed;
}
