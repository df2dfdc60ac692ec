/* mod.json: the graph of kernel calls in the format users know, for the graph executor. Only where every dimension is a
 * number. Shapes are physical, as kernels see them; memory is that of the program's plan. */
#include "base/map.h"
#include "program/program.h"

static bool is_static(const tn_program_ir *program)
{
    const tn_program_function_ir *p = program->function;
    bool calls = program->n_function == 1 && !program->n_state;
    for (uint32_t i = 0; i < p->n_inst; i++)
        calls = calls && p->inst[i].op == TN_INST_CALL;
    for (uint32_t i = 0; i < p->n_slot; i++)
        calls = calls && p->slot[i].storage == TN_STORAGE_BYTES;
    return calls && p->n_symbol == 0;
}

static void write_shape(tn_pool *p, const tn_slot_ir *s, tn_buf *o)
{
    const tn_expr *dim[64];
    int n = tn_layout_naxis(s->layout, s->ndim);
    tn_layout_dims(p, s->layout, s->ndim, s->dim, dim);
    tn_buf_char(o, '[');
    for (int d = 0; d < n; d++)
        tn_buf_printf(o, "%s%lld", d ? ", " : "", (long long)tn_simplify(p, NULL, dim[d])->u.i);
    tn_buf_char(o, ']');
}

typedef struct {
    tn_pool *pool;
    tn_arena *arena;
    const tn_program_function_ir *program;
    struct {
        uint32_t node, out;
    } *entry_of;    /* of slots */
    tn_map storage; /* from the offset of temporaries to their storage number */
    uint32_t n, n_entry;
    uint64_t n_storage;
    tn_buf nodes, shapes, types, stores, offsets, args, rows;
} writer;

/* The storage number of a slot, for readers that know of no offsets: inputs, constants and outputs have their own;
 * temporaries that the memory plan puts at one offset, of which no two live at once unless one is computed over the
 * other, share theirs. */
static uint64_t number_storage(writer *w, const tn_slot_ir *s)
{
    uint64_t number = w->n_storage;
    if (s->kind == TN_SLOT_TEMP) {
        if (tn_map_get(&w->storage, (uint64_t)s->offset->u.i, &number))
            return number;
        tn_map_put(&w->storage, (uint64_t)s->offset->u.i, number);
    }
    w->n_storage++;
    return number;
}

/* Output `out` of the node being written. */
static void add_entry(writer *w, uint32_t slot, uint32_t out)
{
    const tn_slot_ir *s = &w->program->slot[slot];
    const char *sep = w->n_entry ? ", " : "";
    tn_buf_str(&w->shapes, sep);
    tn_buf_str(&w->types, sep);
    write_shape(w->pool, s, &w->shapes);
    tn_buf_char(&w->types, '"');
    tn_dtype_print(s->dtype, false, &w->types);
    tn_buf_char(&w->types, '"');
    tn_buf_printf(&w->stores, "%s%llu", sep, (unsigned long long)number_storage(w, s));
    tn_buf_printf(&w->offsets, "%s%lld", sep, s->kind == TN_SLOT_TEMP ? (long long)s->offset->u.i : -1);
    w->entry_of[slot].node = w->n;
    w->entry_of[slot].out = out;
    w->n_entry++;
}

static void end_node(writer *w)
{
    w->n++;
    tn_buf_printf(&w->rows, ", %u", w->n_entry);
}

static void write_entry(const writer *w, uint32_t slot, tn_buf *o)
{
    tn_buf_printf(o, "[%u, %u, 0]", w->entry_of[slot].node, w->entry_of[slot].out);
}

static void null_node(writer *w, uint32_t slot)
{
    tn_buf_printf(&w->nodes, "%s\n    {\"op\": \"null\", \"name\": ", w->n ? "," : "");
    tn_buf_json(&w->nodes, w->program->slot[slot].name);
    tn_buf_str(&w->nodes, ", \"inputs\": []}");
    tn_buf_printf(&w->args, "%s%u", w->args.n ? ", " : "", w->n);
    add_entry(w, slot, 0);
    end_node(w);
}

/* slot: of the inputs, then of the outputs. work: the slot of its work memory; NULL: it needs none. */
static void op_node(writer *w, const char *func, const uint32_t *slot, uint32_t n_in, uint32_t n_out,
                    const tn_slot_ir *work)
{
    tn_buf *o = &w->nodes;
    tn_buf_printf(o, "%s\n    {\"op\": \"tvm_op\", \"name\": ", w->n ? "," : "");
    tn_buf_json(o, tn_arena_printf(w->arena, "%s_%u", func, w->n));
    tn_buf_str(o, ", \"attrs\": {\"func_name\": ");
    tn_buf_json(o, func);
    tn_buf_printf(o, ", \"num_inputs\": \"%u\", \"num_outputs\": \"%u\", \"flatten_data\": \"0\"", n_in,
                  n_out);
    if (work)
        tn_buf_printf(o, ", \"work_offset\": \"%lld\"", (long long)work->offset->u.i);
    tn_buf_str(o, "}, \"inputs\": [");
    for (uint32_t k = 0; k < n_in; k++) {
        tn_buf_str(o, k ? ", " : "");
        write_entry(w, slot[k], o);
    }
    tn_buf_str(o, "]}");
    for (uint32_t k = 0; k < n_out; k++)
        add_entry(w, slot[n_in + k], k);
    end_node(w);
}

static void heads(writer *w, tn_buf *o)
{
    const tn_program_function_ir *p = w->program;
    bool first = true;
    tn_buf_str(o, "  \"heads\": [");
    for (uint32_t i = 0; i < p->n_slot; i++) {
        if (p->slot[i].kind != TN_SLOT_OUTPUT)
            continue;
        tn_buf_str(o, first ? "" : ", ");
        write_entry(w, i, o);
        first = false;
    }
    tn_buf_str(o, "],\n");
}

bool tn_program_json(tn_pool *pool, tn_arena *arena, const tn_program_ir *program,
                     const tn_kernel_signature *kernel, tn_buf *out)
{
    const tn_program_function_ir *p = program->function;
    if (!is_static(program))
        return false;
    writer w = {.pool = pool, .arena = arena, .program = p};
    w.entry_of = tn_arena_alloc(arena, p->n_slot * sizeof *w.entry_of, _Alignof(uint32_t));
    tn_buf_str(&w.rows, "0");
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].kind == TN_SLOT_INPUT || p->slot[i].kind == TN_SLOT_CONST)
            null_node(&w, i);
    for (uint32_t i = 0; i < p->n_inst; i++) {
        const tn_inst_ir *x = &p->inst[i];
        const tn_kernel_signature *k = &kernel[x->a];
        uint32_t n = k->n_in + k->n_out;
        const tn_slot_ir *work = x->n_operand > n ? &p->slot[x->operand[n]] : NULL;
        op_node(&w, k->name, x->operand, k->n_in, k->n_out, work);
    }
    for (uint32_t i = 0; i < p->n_slot; i++)
        if (p->slot[i].kind == TN_SLOT_OUTPUT && p->slot[i].alias >= 0)
            op_node(&w, "__copy", (const uint32_t[]){(uint32_t)p->slot[i].alias, i}, 1, 1, NULL);
    tn_buf_printf(out, "{\n  \"nodes\": [%s\n  ],\n  \"arg_nodes\": [%s],\n", tn_buf_cstr(&w.nodes),
                  tn_buf_cstr(&w.args));
    heads(&w, out);
    tn_buf_printf(out,
                  "  \"attrs\": {\n    \"shape\": [\"list_shape\", [%s]],\n    \"storage_id\": "
                  "[\"list_int\", [%s]],\n    \"storage_offset\": [\"list_int\", [%s]],\n    \"dltype\": "
                  "[\"list_str\", [%s]]\n  },\n  \"node_row_ptr\": [%s]\n}\n",
                  tn_buf_cstr(&w.shapes), tn_buf_cstr(&w.stores), tn_buf_cstr(&w.offsets),
                  tn_buf_cstr(&w.types), tn_buf_cstr(&w.rows));
    tn_map_deinit(&w.storage);
    tn_buf_deinit(&w.nodes);
    tn_buf_deinit(&w.shapes);
    tn_buf_deinit(&w.types);
    tn_buf_deinit(&w.stores);
    tn_buf_deinit(&w.offsets);
    tn_buf_deinit(&w.args);
    tn_buf_deinit(&w.rows);
    return true;
}
