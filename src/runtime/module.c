/* Modules: package -> library, parameters, programs; checked once, then shared by all instances. */
#include "runtime/module.h"

#include "runtime/error.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>

const char *tnr_version(void) { return TENON_VERSION; }

/* ---- descriptions of inputs and outputs ---- */

/* Name of the symbol a dimension is, found by trying values (abi.h names symbols where they are bound only):
 * it is symbol s if it equals s at three points of its range and does not move with the others. Else "?".
 * sym: scratch. */
static const char *dimension_symbol(const tn_program_function *p, tn_size d, int64_t *sym)
{
    for (uint32_t s = 0; s < p->n_symbol; s++)
        sym[s] = p->symbol[s].min;
    int64_t base = d.fn(sym);
    const char *name = NULL;
    for (uint32_t s = 0; s < p->n_symbol; s++) {
        int64_t min = p->symbol[s].min, max = p->symbol[s].max;
        int64_t point[2] = {min < max ? min + 1 : min, max - min > 65521 ? min + 65521 : max};
        bool moves = false, equal = base == min;
        for (int i = 0; i < 2; i++) {
            sym[s] = point[i];
            int64_t v = d.fn(sym);
            moves = moves || v != base;
            equal = equal && v == point[i];
        }
        sym[s] = min;
        if (moves && (!equal || name))
            return "?";
        if (moves)
            name = p->symbol[s].name;
    }
    return name ? name : "?";
}

static void describe(const tn_program_function *p, const tn_slot *s, int64_t *shape, const char **symbol,
                     int64_t *sym, tnr_tensor_info *out)
{
    for (uint32_t d = 0; d < s->ndim; d++) {
        int32_t bind = s->kind == TN_SLOT_INPUT && s->bind ? s->bind[d] : -1;
        bool fixed = bind < 0 && !s->dim[d].fn;
        shape[d] = fixed ? s->dim[d].value : -1;
        symbol[d] = fixed ? NULL : bind >= 0 ? p->symbol[bind].name : dimension_symbol(p, s->dim[d], sym);
    }
    *out = (tnr_tensor_info){s->name, tnr_slot_dtype(s), (int32_t)s->ndim, shape, symbol};
}

static tnr_status describe_all(tnr_module *m, tnr_error *err)
{
    const tnr_function *x = m->described->code;
    const tn_program_function *p = x->function;
    size_t n_dim = 0, n = (size_t)x->n_input + x->n_output;
    for (uint32_t i = 0; i < x->n_input; i++)
        n_dim += p->slot[x->input[i]].ndim;
    for (uint32_t i = 0; i < x->n_output; i++)
        n_dim += p->slot[x->output[i]].ndim;
    m->info = tnr_mem_new(n, sizeof *m->info);
    m->info_shape = tnr_mem_new(n_dim + p->n_symbol, sizeof *m->info_shape);
    m->info_symbol = tnr_mem_new(n_dim, sizeof *m->info_symbol);
    if (!m->info || !m->info_shape || !m->info_symbol)
        return tnr_fail_memory(err, n * sizeof *m->info + n_dim * 16);
    for (size_t i = 0, at = 0; i < n; i++) {
        const tn_slot *s = &p->slot[i < x->n_input ? x->input[i] : x->output[i - x->n_input]];
        describe(p, s, m->info_shape + at, m->info_symbol + at, m->info_shape + n_dim, &m->info[i]);
        at += s->ndim;
    }
    return TNR_OK;
}

/* ---- both executors of a module have the same inputs and outputs ---- */

static bool same_tensor(const tn_slot *a, const tn_slot *b)
{
    if (a->ndim != b->ndim || !tnr_dtype_same(tnr_slot_dtype(a), tnr_slot_dtype(b)))
        return false;
    for (uint32_t d = 0; d < a->ndim; d++)
        if (a->dim[d].fn || b->dim[d].fn || a->dim[d].value != b->dim[d].value)
            return false;
    return true;
}

/* Put the graph's inputs into the program's order (by name) and compare all. The search begins at i: order is
 * usually equal. */
static tnr_status align_executors(tnr_module *m, tnr_error *err)
{
    const tnr_function *a = m->exe[TNR_EXECUTOR_AOT].code;
    tnr_function *g = m->exe[TNR_EXECUTOR_GRAPH].code;
    const tn_slot *as = a->function->slot, *gs = g->function->slot;
    if (a->n_input != g->n_input || a->n_output != g->n_output)
        return tnr_fail(err, TNR_E_FORMAT, 0,
                        "mod.json has %" PRIu32 " inputs and %" PRIu32
                        " outputs, but mod.so's program has %" PRIu32 " and %" PRIu32,
                        g->n_input, g->n_output, a->n_input, a->n_output);
    for (uint32_t i = 0; i < a->n_input; i++) {
        uint32_t j = i;
        while (j < g->n_input && strcmp(as[a->input[i]].name, gs[g->input[j]].name) != 0)
            j++;
        if (j == g->n_input || !same_tensor(&as[a->input[i]], &gs[g->input[j]]))
            return tnr_fail(err, TNR_E_FORMAT, 0,
                            "input \"%.400s\" of mod.so's program is missing or differs in mod.json",
                            as[a->input[i]].name);
        uint32_t t = g->input[i];
        g->input[i] = g->input[j];
        g->input[j] = t;
    }
    for (uint32_t i = 0; i < a->n_output; i++)
        if (!same_tensor(&as[a->output[i]], &gs[g->output[i]]))
            return tnr_fail(err, TNR_E_FORMAT, 0, "output \"%.400s\" of mod.so's program differs in mod.json",
                            as[a->output[i]].name);
    return TNR_OK;
}

/* ---- opening ---- */

static tnr_status open_params(tnr_module *m, tnr_span params, tnr_error *err)
{
    static const uint8_t empty[32] = {0xB7, 0x9C, 0x04, 0x05,
                                      0x4F, 0x8D, 0xE5, 0xF7}; /* magic, then zeros: no tensors */
    if (!params.at)
        params = (tnr_span){empty, sizeof empty};
    return tnr_params_open(params.at, params.n, &m->params, err);
}

static tnr_status open_programs(tnr_module *m, tnr_span json, tnr_error *err)
{
    tnr_status status = TNR_OK;
    if (m->library->program) {
        status = tnr_exe_init(&m->exe[TNR_EXECUTOR_AOT], m->library, m->library->program, m->params, err);
        m->has[TNR_EXECUTOR_AOT] = !status;
    }
    if (!status && json.at) {
        status = tnr_graph_read(json.at, json.n, m->library, m->params, &m->graph, err);
        if (!status)
            status = tnr_exe_init(&m->exe[TNR_EXECUTOR_GRAPH], m->library, tnr_graph_program(m->graph),
                                  m->params, err);
        tnr_function *g = m->exe[TNR_EXECUTOR_GRAPH].code;
        if (!status && g->n_output > 0) /* from the order of slots to that of heads */
            memcpy(g->output, tnr_graph_heads(m->graph), g->n_output * sizeof *g->output);
        m->has[TNR_EXECUTOR_GRAPH] = !status;
    }
    if (status)
        return status;
    if (!m->has[TNR_EXECUTOR_AOT] && !m->has[TNR_EXECUTOR_GRAPH])
        return tnr_fail(err, TNR_E_FORMAT, 0,
                        "the package contains only kernels: it has neither mod.json nor a program in mod.so");
    if (m->has[TNR_EXECUTOR_AOT] && m->has[TNR_EXECUTOR_GRAPH])
        status = align_executors(m, err);
    m->described = &m->exe[m->has[TNR_EXECUTOR_AOT] ? TNR_EXECUTOR_AOT : TNR_EXECUTOR_GRAPH];
    return status ? status : describe_all(m, err);
}

tnr_status tnr_module_check(tnr_module *m, tnr_span json, tnr_span params, tnr_error *err)
{
    tnr_status status = tnr_library_check(m->library, err);
    if (!status)
        status = open_params(m, params, err);
    return status ? status : open_programs(m, json, err);
}

tnr_module *tnr_module_new(tnr_error *err)
{
    tnr_module *m = tnr_mem_new(1, sizeof *m);
    if (!m) {
        (void)!tnr_fail_memory(err, sizeof *m);
        return NULL;
    }
    atomic_init(&m->references, 1);
    for (int i = 0; i <= TNR_MAX_MODULE; i++)
        m->object[i].fd = -1;
    return m;
}

tnr_status tnr_module_finish(tnr_module *m, tnr_status status, tnr_module **out_module)
{
    if (status)
        tnr_module_release(m);
    else
        *out_module = m;
    return status;
}

tnr_status tnr_module_open_parts(const tnr_parts *parts, tnr_module **out_module, tnr_error *err)
{
    if (!parts || !parts->library || !out_module)
        return tnr_fail_argument("tnr_module_open_parts", err);
    tnr_module *m = tnr_module_new(err);
    if (!m)
        return TNR_E_MEMORY;
    m->library = parts->library;
    m->user = parts->user;
    tnr_status status = tnr_library_permit(m->library, err);
    if (!status)
        status = tnr_module_check(m, (tnr_span){parts->json, parts->json_n},
                                  (tnr_span){parts->params, parts->params_n}, err);
    return tnr_module_finish(m, status, out_module);
}

void tnr_module_retain(tnr_module *module)
{
    atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
}

void tnr_module_release(tnr_module *module)
{
    if (!module || atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < TNR_N_EXECUTOR; i++)
        tnr_exe_deinit(&module->exe[i]);
    tnr_mem_free(module->host);
    tnr_mem_free(module->info);
    tnr_mem_free(module->info_shape);
    tnr_mem_free(module->info_symbol);
    tnr_graph_free(module->graph);
    tnr_params_free(module->params);
    tnr_mem_free(module->merged);
    for (int i = 0; i <= TNR_MAX_MODULE; i++)
        tnr_library_close(&module->object[i]);
    tnr_package_close(&module->package);
    tnr_mem_free(module);
}

/* ---- asking ---- */

const char *tnr_module_producer(const tnr_module *module) { return module->library->producer; }

const char *tnr_module_target(const tnr_module *module) { return module->library->target; }

uint64_t tnr_module_constant_bytes(const tnr_module *module) { return module->described->constant_bytes; }

int tnr_module_has_executor(const tnr_module *module, int executor)
{
    return executor >= 0 && executor < TNR_N_EXECUTOR && module->has[executor];
}

const tnr_params *tnr_module_params(const tnr_module *module) { return module->params; }

uint32_t tnr_input_count(const tnr_module *module) { return module->described->code->n_input; }

uint32_t tnr_output_count(const tnr_module *module) { return module->described->code->n_output; }

const tnr_tensor_info *tnr_module_input(const tnr_module *module, uint32_t index)
{
    return &module->info[index];
}

const tnr_tensor_info *tnr_module_output(const tnr_module *module, uint32_t index)
{
    return &module->info[module->described->code->n_input + index];
}

tnr_status tnr_input_info(const tnr_module *module, uint32_t index, tnr_tensor_info *out_info, tnr_error *err)
{
    tnr_status status = tnr_check_index("input", index, tnr_input_count(module), out_info, err);
    if (!status)
        *out_info = *tnr_module_input(module, index);
    return status;
}

tnr_status tnr_output_info(const tnr_module *module, uint32_t index, tnr_tensor_info *out_info,
                           tnr_error *err)
{
    tnr_status status = tnr_check_index("output", index, tnr_output_count(module), out_info, err);
    if (!status)
        *out_info = *tnr_module_output(module, index);
    return status;
}

int64_t tnr_input_find(const tnr_module *module, const char *name)
{
    for (uint32_t i = 0; name && i < module->described->code->n_input; i++)
        if (strcmp(tnr_module_input(module, i)->name, name) == 0)
            return i;
    return -1;
}

/* N of "output_N", as printf writes it; -1: it is something else. */
static int64_t numbered_output(const char *name)
{
    int64_t n = 0;
    if (strncmp(name, "output_", 7) != 0 || !name[7] || (name[7] == '0' && name[8]))
        return -1;
    for (const char *digit = name + 7; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || n > UINT32_MAX)
            return -1;
        n = 10 * n + (*digit - '0');
    }
    return n;
}

int64_t tnr_output_find(const tnr_module *module, const char *name)
{
    for (uint32_t i = 0; name && i < module->described->code->n_output; i++)
        if (strcmp(tnr_module_output(module, i)->name, name) == 0)
            return i;
    int64_t n = name ? numbered_output(name) : -1;
    return n < module->described->code->n_output ? n : -1;
}

uint32_t tnr_metadata_count(const tnr_module *module) { return module->library->n_metadata; }

tnr_status tnr_metadata_at(const tnr_module *module, uint32_t index, const char **out_key,
                           const char **out_value, tnr_error *err)
{
    const tn_library *l = module->library;
    tnr_status status = tnr_check_index("metadata", index, l->n_metadata, out_value ? out_key : NULL, err);
    if (status)
        return status;
    *out_key = l->metadata[2 * index];
    *out_value = l->metadata[2 * index + 1];
    return TNR_OK;
}

const char *tnr_metadata(const tnr_module *module, const char *key)
{
    const tn_library *l = module->library;
    for (uint32_t i = 0; key && i < l->n_metadata; i++)
        if (strcmp(l->metadata[2 * i], key) == 0)
            return l->metadata[2 * i + 1];
    return NULL;
}

uint32_t tnr_symbol_count(const tnr_module *module)
{
    return module->described->code->function->n_symbol - module->described->code->function->n_late;
}

tnr_status tnr_symbol_info_get(const tnr_module *module, uint32_t index, tnr_symbol_info *out_info,
                               tnr_error *err)
{
    const tn_program_function *p = module->described->code->function;
    tnr_status status = tnr_check_index("symbol", index, tnr_symbol_count(module), out_info, err);
    if (status)
        return status;
    *out_info = (tnr_symbol_info){p->symbol[index].name, p->symbol[index].min, p->symbol[index].max};
    return TNR_OK;
}

tnr_status tnr_fail_name(const tnr_module *module, bool input, const char *name, tnr_error *err)
{
    const char *what = input ? "input" : "output";
    char list[TNR_LIST_TEXT] = "";
    uint32_t n = input ? module->described->code->n_input : module->described->code->n_output;
    for (uint32_t i = 0; i < n; i++)
        tnr_list_add(list, (input ? tnr_module_input(module, i) : tnr_module_output(module, i))->name);
    return tnr_fail(err, TNR_E_NAME, 0, "no %s is called \"%.400s\"; %ss are: %s", what,
                    name ? name : "(null)", what, n ? list : "none");
}
