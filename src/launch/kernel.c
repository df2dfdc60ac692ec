/* The program: a slot of bytes for each argument and one for work memory, all symbols late, one BIND a
 * symbol, one CALL. All sizes are numbers, because the symbols' values are known. */
#include "launch/kernel.h"

#include "base/arena.h"
#include "base/guard.h"

struct tn_kernel_runner {
    tn_arena arena;
    uint32_t n_in, n_out;
    int64_t *bytes; /* by argument */
    tn_resource *module, *instance;
};

static void free_instance(tn_resource *r) { tnr_instance_free(r->at); }
static void release_module(tn_resource *r) { tnr_module_release(r->at); }

static int64_t size_of(tn_size s, const int64_t *sym) { return s.fn ? s.fn(sym) : s.value; }

/* Enough for whichever variant runs. */
static int64_t work_bytes(const tn_kernel *k, const int64_t *sym)
{
    int64_t most = 0;
    for (uint32_t v = 0; v < k->n_variant; v++) {
        int64_t n = size_of(k->variant[v].work_bytes, sym);
        most = n > most ? n : most;
    }
    return most;
}

static tn_slot slot_of(tn_kernel_runner *r, const char *name, enum tn_slot_kind kind, int64_t bytes)
{
    tn_size *dim = TN_NEW(&r->arena, tn_size);
    *dim = (tn_size){.value = bytes};
    return (tn_slot){.name = name,
                     .kind = (uint8_t)kind,
                     .code = kDLUInt,
                     .bits = 8,
                     .ndim = 1,
                     .dim = dim,
                     .bytes = *dim,
                     .offset = {.value = kind == TN_SLOT_TEMP ? 0 : -1},
                     .alias = -1};
}

static void make_slots(tn_kernel_runner *r, int64_t work, tn_program_function *f)
{
    uint32_t n = r->n_in + r->n_out;
    tn_slot *slot = TN_NEW_N(&r->arena, tn_slot, n + 1);
    for (uint32_t i = 0; i < n; i++)
        slot[i] = slot_of(r, tn_arena_printf(&r->arena, "%u", i),
                          i < r->n_in ? TN_SLOT_INPUT : TN_SLOT_OUTPUT, r->bytes[i]);
    slot[n] = slot_of(r, "", TN_SLOT_TEMP, work);
    f->slot = slot;
    f->n_slot = n + 1;
    f->arena_bytes = f->work_offset = (tn_size){.value = (work + 63) / 64 * 64};
}

static void make_symbols(tn_kernel_runner *r, uint32_t n, const int64_t *sym, tn_program_function *f)
{
    tn_symbol *symbol = TN_NEW_N(&r->arena, tn_symbol, n);
    tn_size *size = TN_NEW_N(&r->arena, tn_size, n);
    for (uint32_t i = 0; i < n; i++) {
        symbol[i] = (tn_symbol){.name = tn_arena_printf(&r->arena, "s%u", i), .max = INT64_MAX};
        size[i] = (tn_size){.value = sym[i]};
    }
    f->symbol = symbol;
    f->n_symbol = f->n_late = n;
    f->size = size;
    f->n_size = n;
}

static void make_code(tn_kernel_runner *r, const tn_kernel_use *use, tn_program_function *f)
{
    uint32_t n_arg = r->n_in + r->n_out, n = n_arg + f->n_symbol + 1;
    tn_inst *inst = TN_NEW_N(&r->arena, tn_inst, f->n_symbol + 1);
    uint32_t *operand = TN_NEW_N(&r->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        operand[i] = i < n_arg ? i : i - n_arg;
    operand[n - 1] = n_arg;
    for (uint32_t i = 0; i < f->n_symbol; i++)
        inst[i] = (tn_inst){.op = TN_INST_BIND, .a = i, .operand = n_arg + i, .n_operand = 1, .node = ""};
    inst[f->n_symbol] = (tn_inst){.op = TN_INST_CALL,
                                  .a = use->kernel,
                                  .n_operand = n,
                                  .node = use->node ? use->node : use->library->kernel[use->kernel].name};
    f->inst = inst;
    f->n_inst = f->n_symbol + 1;
    f->operand = operand;
    f->n_operand = n;
}

static const tn_library *make_library(tn_kernel_runner *r, const tn_kernel_use *use)
{
    const tn_kernel *k = &use->library->kernel[use->kernel];
    tn_program_function *f = TN_NEW(&r->arena, tn_program_function);
    tn_program *p = TN_NEW(&r->arena, tn_program);
    tn_library *lib = TN_NEW(&r->arena, tn_library);
    f->name = "main";
    make_slots(r, work_bytes(k, use->sym), f);
    make_symbols(r, k->n_sym, use->sym, f);
    make_code(r, use, f);
    *p = (tn_program){.function = f, .n_function = 1};
    *lib = *use->library;
    lib->program = p;
    return lib;
}

tn_kernel_runner *tn_kernel_open(const tn_kernel_use *use, tnr_error *err)
{
    const tn_kernel *k = &use->library->kernel[use->kernel];
    tn_kernel_runner *r = tn_alloc_array(1, sizeof *r);
    tnr_module *module = NULL;
    tnr_instance *x = NULL;
    tn_arena_init(&r->arena);
    r->n_in = k->n_in;
    r->n_out = k->n_out;
    r->bytes = TN_NEW_N(&r->arena, int64_t, k->n_in + k->n_out);
    for (uint32_t i = 0; i < k->n_in + k->n_out; i++)
        r->bytes[i] = (int64_t)use->bytes[i];
    const tnr_parts parts = {.library = make_library(r, use)};
    const tnr_instance_options options = {.threads = use->threads,
                                          .flags = use->check ? TNR_INSTANCE_CHECK : 0};
    r->module = tn_resource_new(release_module);
    r->instance = tn_resource_new(free_instance);
    tnr_status failed = tnr_module_open_parts(&parts, &module, err);
    r->module->at = module;
    failed = failed ? failed : tnr_instance_new(module, &options, &x, err);
    r->instance->at = x;
    if (!failed)
        return r;
    tn_kernel_close(r);
    return NULL;
}

void tn_kernel_close(tn_kernel_runner *r)
{
    if (!r)
        return;
    tn_resource_end(r->instance);
    tn_resource_end(r->module);
    tn_arena_deinit(&r->arena);
    tn_free(r);
}

tnr_status tn_kernel_run(tn_kernel_runner *r, void *const arg[], tnr_error *err)
{
    tnr_status failed = TNR_OK;
    for (uint32_t i = 0; !failed && i < r->n_in + r->n_out; i++) {
        DLTensor t = {.data = arg[i],
                      .device = {kDLCPU, 0},
                      .ndim = 1,
                      .dtype = {kDLUInt, 8, 1},
                      .shape = &r->bytes[i]};
        failed = i < r->n_in ? tnr_set_input_at(r->instance->at, i, &t, err)
                             : tnr_set_output_at(r->instance->at, i - r->n_in, &t, err);
    }
    return failed ? failed : tn_kernel_again(r, err);
}

void tn_kernel_ends(tn_kernel_runner *r, tnr_cancel_fn *ends, void *user)
{
    static const int always = 1;
    tnr_cancel_set(r->instance->at, ends ? &always : NULL, ends, user);
}

tnr_status tn_kernel_again(tn_kernel_runner *r, tnr_error *err) { return tnr_run(r->instance->at, err); }
