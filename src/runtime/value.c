/* Values behind handles: tensors, closures, constructors (tuples and list cells too), references, texts; and the blocks
 * of slots of the pool.
 *
 * The pool of an instance gives blocks of 64, 128, ... 65,536 bytes from slabs, four sizes for each power of two;
 * larger ones are allocated alone. A block whose count becomes 0 is free for the next value of its class, a large one
 * for the next of more than half its size. Large blocks never take more than the most that was in use at once: free
 * ones go first. Dropping works off a list, so a chain of any length is freed without recursion. Cycles through
 * references stay until the instance ends, which frees the slabs. */
#include "runtime/value.h"

#include "runtime/error.h"
#include "runtime/family.h"
#include "runtime/guard.h"
#include "runtime/launch.h"
#include "runtime/mem.h"
#include "runtime/tensor.h"

#include <inttypes.h>
#include <string.h>

/* A VIEW's only field is a constructor, of which it has the first `bytes` fields: those behind belong to longer lists
 * that were made of it (tnr_value_append). */
enum { VIEW = 6 };
enum { LINE = 64, N_CLASS = 36, LARGE = N_CLASS, LEAST = 4096, MOST = 1 << 16, MAX_NDIM = 64 };

static tnr_value **fields(tnr_value *v) { return (tnr_value **)(void *)(v + 1); }

static int64_t *extents(tnr_value *v) { return (int64_t *)(void *)(v + 1); }

static size_t data_offset(uint32_t ndim) { return (sizeof(tnr_value) + 8u * ndim + LINE - 1) / LINE * LINE; }

static uint8_t *elements(tnr_value *v) { return (uint8_t *)v + data_offset(v->n); }

/* ---- the pool ---- */

/* Bytes of the blocks of a class: four classes lead from a power of two to the next. */
static size_t block_of(uint32_t class)
{
    return class < 4 ? LINE * (class + 1) : (size_t)(class % 4 + 5) * LINE << (class / 4 - 1);
}

/* The smallest class whose blocks have n bytes; LARGE: none. */
static uint8_t class_of(uint64_t n)
{
    uint64_t line = n > 0 ? (n - 1) / LINE : 0;
    if (n > MOST)
        return LARGE;
    unsigned power = line < 4 ? 0 : 63 - (unsigned)__builtin_clzll(line);
    return (uint8_t)(power ? 4 * (power - 1) + (line >> (power - 2) & 3) : line);
}

/* One more slab, cut into blocks of a class. The first line holds the pointer to the next slab. */
static bool add_slab(tnr_value_pool *pool, uint32_t class)
{
    size_t block = block_of(class), bytes = 8 * block;
    bytes = LINE + (bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes);
    uint8_t *slab = tnr_mem_aligned(bytes);
    if (!slab)
        return false;
    memcpy(slab, &pool->slab, sizeof pool->slab);
    pool->slab = slab;
    pool->slabs += bytes;
    for (size_t at = LINE; at + block <= bytes; at += block) {
        tnr_value *v = (tnr_value *)(void *)(slab + at);
        v->next = pool->free[class];
        pool->free[class] = v;
    }
    return true;
}

static void enlist(tnr_value **list, tnr_value *v)
{
    v->previous = NULL;
    v->next = *list;
    if (v->next)
        v->next->previous = v;
    *list = v;
}

static void delist(tnr_value **list, tnr_value *v)
{
    *(v->previous ? &v->previous->next : list) = v->next;
    if (v->next)
        v->next->previous = v->previous;
}

/* The spare block for n bytes: the smallest of less than twice as many; `any`: the one that is spare for longest. */
static tnr_value *take_spare(tnr_value_pool *pool, uint64_t n, bool any)
{
    tnr_value *best = NULL;
    for (tnr_value *v = pool->spare; v; v = v->next)
        if (any || (v->room >= n && v->room / 2 < n && (!best || v->room < best->room)))
            best = v;
    if (best) {
        delist(&pool->spare, best);
        pool->spares -= best->room;
    }
    return best;
}

/* A block of n bytes of its own; NULL: out of memory. Few blocks are spare, as few values live at once. */
static tnr_value *take_large(tnr_value_pool *pool, uint64_t n)
{
    tnr_value *v = take_spare(pool, n, false);
    if (!v) {
        uint64_t most = pool->used + n;
        most = most > pool->most ? most : pool->most;
        while (pool->spares > 0 && pool->used + pool->spares + n > most)
            tnr_mem_free(take_spare(pool, 0, true));
        v = n < SIZE_MAX / 2 ? tnr_mem_aligned((size_t)n) : NULL;
        if (!v)
            return NULL;
        v->room = n;
        pool->most = most;
    }
    pool->used += v->room;
    return v;
}

/* A block of at least n bytes with count 1; NULL: out of memory. */
static tnr_value *take(tnr_value_pool *pool, uint8_t kind, uint64_t n)
{
    uint8_t class = class_of(n);
    tnr_value *v = NULL;
    class = class < LARGE ? class : LARGE;
    if (class < LARGE) {
        if (!pool->free[class] && !add_slab(pool, class))
            return NULL;
        v = pool->free[class];
        pool->free[class] = v->next;
    } else {
        v = take_large(pool, n);
        if (!v)
            return NULL;
    }
    /* each by itself: filling all of it with zeros first takes longer than the rest of a RENEW */
    v->count = 1;
    v->kind = kind;
    v->class = class;
    v->code = v->bits = 0;
    v->tag = v->n = 0;
    v->bytes = 0;
    v->room = class < LARGE ? 0 : v->room;
    v->pool = pool;
    if (class == LARGE)
        enlist(&pool->large, v);
    return v;
}

static void release(tnr_value *v)
{
    tnr_value_pool *pool = v->pool;
    if (v->class < N_CLASS) {
        v->next = pool->free[v->class];
        pool->free[v->class] = v;
        return;
    }
    delist(&pool->large, v);
    enlist(&pool->spare, v);
    pool->used -= v->room;
    pool->spares += v->room;
}

/* One reference less. A value that nothing refers to gives up its fields from the last to the first; while it has some,
 * it waits in a list, whose link is in the place of the field it gave up last. */
static void drop(tnr_value *v)
{
    tnr_value *todo = NULL;
    if (!v || --v->count > 0)
        return;
    if (v->kind == TNR_VALUE_TENSOR) {
        release(v);
        return;
    }
    for (;;) {
        bool holds = v->kind == TNR_VALUE_CLOSURE || v->kind == TNR_VALUE_CONSTRUCTOR ||
                     v->kind == TNR_VALUE_REFERENCE || v->kind == VIEW;
        uint32_t n = holds ? v->n : 0;
        tnr_value *last = n ? fields(v)[n - 1] : NULL;
        if (n > 1) { /* its other fields are seen later */
            v->n = n - 1;
            fields(v)[n - 1] = todo;
            todo = v;
        } else {
            release(v);
        }
        v = last && --last->count == 0 ? last : NULL;
        if (!v) {
            v = todo;
            if (!v)
                return;
            todo = fields(v)[v->n];
        }
    }
}

/* The slot holds v, whose count is the slot's; what it held is dropped. */
static void put(tnr_frame *f, uint32_t slot, tnr_value *v)
{
    tnr_value *old = f->value[slot];
    f->value[slot] = v;
    f->held = true;
    drop(old);
}

static tnr_value *share(tnr_value *v)
{
    v->count++;
    return v;
}

void tnr_value_pass(tnr_frame *to, uint32_t to_slot, const tnr_frame *from, uint32_t from_slot)
{
    put(to, to_slot, share(from->value[from_slot]));
}

void tnr_value_put(tnr_frame *f, uint32_t slot, tnr_value *v) { put(f, slot, v); }

void tnr_values_drop(tnr_frame *f)
{
    for (uint32_t i = 0; f->held && i < f->code->function->n_slot; i++)
        if (f->value[i])
            put(f, i, NULL);
    f->held = false;
}

static bool is_handle(const tnr_frame *f, uint32_t slot)
{
    return f->code->function->slot[slot].storage == TN_STORAGE_HANDLE;
}

void tnr_values_begin(tnr_instance *inst)
{
    tnr_frame *f = &inst->main;
    const tnr_function *x = f->code;
    tnr_values_drop(f);
    for (uint32_t i = 0; i < x->n_output; i++)
        if (is_handle(f, x->output[i])) {
            drop(inst->output[i].at);
            inst->output[i].at = NULL;
        }
    for (uint32_t i = 0; i < x->n_input; i++)
        if (is_handle(f, x->input[i]) && f->input[i].set)
            put(f, x->input[i], share(f->input[i].data));
}

tnr_status tnr_values_end(tnr_instance *inst, tnr_error *err)
{
    tnr_frame *f = &inst->main;
    const tnr_function *x = f->code;
    tnr_status status = TNR_OK;
    for (uint32_t i = 0; !status && i < x->n_output; i++) {
        const tn_slot *s = &x->function->slot[x->output[i]];
        tnr_value *v = f->value[s->alias >= 0 ? (uint32_t)s->alias : x->output[i]];
        if (s->storage == TN_STORAGE_HANDLE && v)
            inst->output[i].at = share(v);
        else if (s->storage == TN_STORAGE_HANDLE)
            status =
                tnr_fail(err, TNR_E_CHECK, 0, "output \"%.400s\" is not written by the program", s->name);
    }
    tnr_values_drop(f);
    return status;
}

/* ---- making ---- */

static tnr_value *new_value(tnr_value_pool *pool, uint8_t kind, uint64_t n, tnr_error *err)
{
    tnr_value *v = take(pool, kind, sizeof *v + n);
    if (!v)
        (void)!tnr_fail_memory(err, n);
    return v;
}

static tnr_value *new_tensor(tnr_value_pool *pool, const DLTensor *t, const void *data, uint64_t bytes,
                             tnr_error *err)
{
    uint32_t n = (uint32_t)t->ndim;
    tnr_value *v = new_value(pool, TNR_VALUE_TENSOR, data_offset(n) - sizeof *v + bytes, err);
    if (!v)
        return NULL;
    v->code = t->dtype.code;
    v->bits = t->dtype.bits;
    v->n = n;
    v->bytes = bytes;
    if (n > 0)
        memcpy(extents(v), t->shape, n * sizeof *t->shape);
    if (bytes > 0)
        memcpy(elements(v), data, (size_t)bytes);
    return v;
}

static tnr_value *new_text(tnr_value_pool *pool, const char *text, size_t n, tnr_error *err)
{
    tnr_value *v = new_value(pool, TNR_VALUE_TEXT, (uint64_t)n + 1, err);
    if (!v)
        return NULL;
    v->bytes = n;
    memcpy(v + 1, text, n);
    ((char *)(v + 1))[n] = '\0';
    return v;
}

/* Its n fields are to be set. */
static tnr_value *new_holder(tnr_value_pool *pool, uint8_t kind, uint32_t tag, uint32_t n, tnr_error *err)
{
    tnr_value *v = new_value(pool, kind, 8 * (uint64_t)n, err);
    if (v) {
        v->n = n;
        v->tag = tag;
    }
    return v;
}

/* ---- instructions ---- */

typedef struct site { /* of the instruction that runs */
    tnr_frame *f;
    const tn_inst *in;
    const uint32_t *op;
    tnr_error *err;
} site;

static tnr_status bad(const site *s, const char *what)
{
    return tnr_fail(s->err, TNR_E_CHECK, s->f->at - 1, "%.400s: %s", s->in->node, what);
}

/* The value of operand i if it is of that kind; else NULL, and it is reported. kind 0: any. */
static tnr_value *get(const site *s, uint32_t i, uint32_t kind, tnr_status *status)
{
    static const char what[][12] = {"tensor", "closure", "constructor", "reference", "text"};
    tnr_value *v = s->f->value[s->op[i]];
    if (v && (kind == 0 || v->kind == kind))
        return v;
    *status = v ? tnr_fail(s->err, TNR_E_CHECK, s->f->at - 1, "%.400s: a %s is expected", s->in->node,
                           what[kind - TNR_VALUE_TENSOR])
                : bad(s, "a handle is read before it is written");
    return NULL;
}

/* Operands from, from + 1, ... as the fields of a new value, which slot `to` holds. */
static tnr_status make(const site *s, uint8_t kind, uint32_t from, uint32_t n, uint32_t to)
{
    tnr_status status = TNR_OK;
    for (uint32_t i = 0; i < n; i++)
        if (!get(s, from + i, 0, &status))
            return status;
    tnr_value *v = new_holder(s->f->instance->pool, kind, s->in->a, n, s->err);
    if (!v)
        return TNR_E_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        fields(v)[i] = share(s->f->value[s->op[from + i]]);
    put(s->f, to, v);
    return TNR_OK;
}

static tnr_status box(const site *s)
{
    const tn_slot *from = &s->f->code->function->slot[s->op[0]];
    uint64_t bytes = s->f->bytes[s->op[0]], dense;
    int64_t shape[MAX_NDIM];
    DLTensor t = {.ndim = from->ndim, .dtype = tnr_slot_dtype(from), .shape = shape};
    for (uint32_t d = 0; d < from->ndim; d++)
        shape[d] = tnr_size_get(from->dim[d], s->f->sym);
    if (tnr_tensor_bytes(t.dtype, t.ndim, shape, &dense, NULL) || dense != bytes)
        return bad(s, "a tensor that is not dense becomes a value");
    tnr_value *v = new_tensor(s->f->instance->pool, &t, s->f->ptr[s->op[0]], bytes, s->err);
    if (!v)
        return TNR_E_MEMORY;
    put(s->f, s->op[1], v);
    return TNR_OK;
}

static tnr_status unbox(const site *s)
{
    const tn_slot *to = &s->f->code->function->slot[s->op[1]];
    tnr_status status = TNR_OK;
    tnr_value *v = get(s, 0, TNR_VALUE_TENSOR, &status);
    if (!v)
        return status;
    bool same = v->n == to->ndim && tnr_dtype_same((DLDataType){v->code, v->bits, 1}, tnr_slot_dtype(to)) &&
                v->bytes == s->f->bytes[s->op[1]];
    for (uint32_t d = 0; same && d < v->n; d++)
        same = extents(v)[d] == tnr_size_get(to->dim[d], s->f->sym);
    if (!same)
        return bad(s, "a tensor has another type or shape than the slot it is copied to");
    if (v->bytes > 0)
        memcpy(s->f->ptr[s->op[1]], elements(v), (size_t)v->bytes);
    return TNR_OK;
}

static tnr_status bind_shape(const site *s)
{
    tnr_status status = TNR_OK;
    tnr_value *v = get(s, 0, TNR_VALUE_TENSOR, &status);
    if (!v)
        return status;
    int64_t n = s->op[1] < v->n ? extents(v)[s->op[1]] : -1;
    status =
        tnr_check_extent(&s->f->code->function->symbol[s->in->a], n, "", s->in->node, s->f->at - 1, s->err);
    if (!status)
        s->f->sym[s->in->a] = n;
    return status;
}

/* The closure's function gets the arguments, then what was captured. */
static tnr_status apply(const site *s)
{
    tnr_status status = TNR_OK;
    tnr_value *v = get(s, 0, TNR_VALUE_CLOSURE, &status);
    tnr_frame *f = NULL;
    for (uint32_t i = 0; v && i < s->in->a; i++)
        if (!get(s, 1 + i, 0, &status))
            return status;
    if (!v)
        return status;
    const tnr_function *code = &s->f->instance->exe->code[v->tag];
    if (code->n_input != s->in->a + v->n || code->n_output != s->in->n_operand - 1 - s->in->a)
        return bad(s, "a closure gets other numbers of arguments and results than its function has");
    status = tnr_frame_take(s->f->instance, code, &f, s->err);
    if (status)
        return status;
    for (uint32_t i = 0; i < code->n_input; i++) {
        tnr_value *x = i < s->in->a ? s->f->value[s->op[1 + i]] : fields(v)[i - s->in->a];
        f->input[i] = (tnr_given){.shape = f->input[i].shape, .set = true};
        put(f, code->input[i], share(x));
    }
    f->give = s->op + 1 + s->in->a;
    f->caller = s->f;
    return tnr_frame_begin(f, s->err);
}

static tnr_status field(const site *s)
{
    tnr_status status = TNR_OK;
    tnr_value *v = get(s, 0, TNR_VALUE_CONSTRUCTOR, &status);
    if (v && s->in->a >= v->n)
        return bad(s, "a constructor does not have that field");
    if (v)
        put(s->f, s->op[1], share(fields(v)[s->in->a]));
    return status;
}

static tnr_status refer(const site *s)
{
    tnr_status status = TNR_OK;
    if (s->in->op == TN_INST_REF_NEW)
        return make(s, TNR_VALUE_REFERENCE, 0, 1, s->op[1]);
    tnr_value *v = get(s, 0, TNR_VALUE_REFERENCE, &status);
    if (v && s->in->op == TN_INST_REF_READ) {
        put(s->f, s->op[1], share(fields(v)[0]));
    } else if (v) {
        tnr_value *x = get(s, 1, 0, &status), *old = fields(v)[0];
        if (x) {
            fields(v)[0] = share(x);
            drop(old);
        }
    }
    return status;
}

/* A slot of the pool keeps the block that it has if that is as large. */
static tnr_status alloc(tnr_frame *f, uint32_t slot, tnr_error *err)
{
    bool sized = f->bytes[slot] > 0 && f->code->steady[slot];
    tnr_status status = sized ? TNR_OK : tnr_slot_size(f, slot, err);
    if (status || f->guard)
        return status ? status : tnr_guard_slot(f, slot, err);
    tnr_value *v = f->value[slot];
    if (!v || v->bytes != f->bytes[slot]) {
        put(f, slot, NULL);
        v = new_value(f->instance->pool, TNR_VALUE_TENSOR, LINE - sizeof *v + f->bytes[slot], err);
        if (!v)
            return TNR_E_MEMORY;
        v->bytes = f->bytes[slot];
        f->value[slot] = v;
        f->held = true;
    }
    f->ptr[slot] = elements(v);
    if (f->view)
        tnr_slot_view(f, slot);
    return TNR_OK;
}

static tnr_status text(const site *s)
{
    const char *t = s->f->instance->exe->program->text[s->in->a];
    tnr_value *v = new_text(s->f->instance->pool, t, strlen(t), s->err);
    if (!v)
        return TNR_E_MEMORY;
    put(s->f, s->op[0], v);
    return TNR_OK;
}

static tnr_status run(tnr_frame *f, const tn_inst *in, tnr_error *err)
{
    site s = {f, in, f->code->function->operand + in->operand, err};
    tnr_status status = TNR_OK;
    tnr_value *v;
    switch (in->op) {
    case TN_INST_BOX: return box(&s);
    case TN_INST_UNBOX: return unbox(&s);
    case TN_INST_BIND_SHAPE: return bind_shape(&s);
    case TN_INST_CLOSURE: return make(&s, TNR_VALUE_CLOSURE, 0, in->n_operand - 1, s.op[in->n_operand - 1]);
    case TN_INST_APPLY: return apply(&s);
    case TN_INST_CONSTRUCT:
        return make(&s, TNR_VALUE_CONSTRUCTOR, 0, in->n_operand - 1, s.op[in->n_operand - 1]);
    case TN_INST_FIELD: return field(&s);
    case TN_INST_TEXT: return text(&s);
    case TN_INST_RENEW:
        for (uint32_t i = 0; !status && i < in->n_operand; i++)
            if (i < in->a)
                put(f, s.op[i], NULL);
            else
                status = alloc(f, s.op[i], err);
        return status;
    case TN_INST_MOVE:
        if ((v = get(&s, 0, 0, &status)))
            put(f, s.op[1], share(v));
        return status;
    case TN_INST_JUMP_TAG:
        if ((v = get(&s, 0, TNR_VALUE_CONSTRUCTOR, &status)) && v->tag != s.op[1])
            f->at = in->a;
        return status;
    default: return refer(&s);
    }
}

/* ---- checks, and memory of an instance ---- */

/* A closure's function takes and gives handles alone. */
static const char *check(const tnr_exe *exe, const tnr_function *code, const tn_inst *in)
{
    for (uint32_t i = in->a; in->op == TN_INST_RENEW && i < in->n_operand; i++)
        if (code->function->slot[code->function->operand[in->operand + i]].storage != TN_STORAGE_POOL)
            return "memory for a handle at";
    if (in->op != TN_INST_CLOSURE)
        return NULL;
    const tnr_function *to = &exe->code[in->a];
    if (in->n_operand - 1 > to->n_input)
        return "a closure captures more values than its function has inputs at";
    for (uint32_t i = 0; i < to->n_input + to->n_output; i++) {
        uint32_t slot = i < to->n_input ? to->input[i] : to->output[i - to->n_input];
        if (to->function->slot[slot].storage != TN_STORAGE_HANDLE)
            return "a closure of a function whose inputs and outputs are not handles at";
    }
    return NULL;
}

static tnr_status open_values(tnr_instance *inst, tnr_error *err)
{
    inst->pool = tnr_mem_new(1, sizeof *inst->pool);
    return inst->pool ? TNR_OK : tnr_fail_memory(err, sizeof *inst->pool);
}

static void close_values(tnr_instance *inst)
{
    tnr_value_pool *pool = inst->pool;
    for (int spare = 0; pool && spare < 2; spare++)
        for (tnr_value *v = spare ? pool->spare : pool->large, *next; v; v = next) {
            next = v->next;
            tnr_mem_free(v);
        }
    for (void *slab = pool ? pool->slab : NULL, *next; slab; slab = next) {
        memcpy(&next, slab, sizeof next);
        tnr_mem_free(slab);
    }
    tnr_mem_free(pool);
}

const tnr_family tnr_family_value = {.check = check, .run = run, .open = open_values, .close = close_values};

/* ---- for the caller ---- */

void tnr_value_get(const tnr_value *value, tnr_value_info *out_info)
{
    tnr_value *v = (tnr_value *)(uintptr_t)value; /* what it points to is read-only to the caller */
    tnr_value_info *o = out_info;
    *o = (tnr_value_info){.kind = v->kind};
    if (v->kind == TNR_VALUE_TENSOR) {
        o->tensor = (DLTensor){.data = elements(v),
                               .device = {kDLCPU, 0},
                               .ndim = (int32_t)v->n,
                               .dtype = {v->code, v->bits, 1},
                               .shape = extents(v)};
    } else if (v->kind == TNR_VALUE_TEXT) {
        o->text = (const char *)(v + 1);
        o->text_n = (size_t)v->bytes;
    } else if (v->kind == VIEW) {
        *o = (tnr_value_info){.kind = TNR_VALUE_CONSTRUCTOR,
                              .tag = v->tag,
                              .n_field = (uint32_t)v->bytes,
                              .field = fields(fields(v)[0])};
    } else if (v->kind != TNR_VALUE_CLOSURE) {
        o->tag = v->tag;
        o->n_field = v->n;
        o->field = fields(v);
    }
}

static tnr_value *new_constructor(tnr_value_pool *pool, const tnr_value_info *info, tnr_error *err)
{
    tnr_value *v = new_holder(pool, TNR_VALUE_CONSTRUCTOR, info->tag, info->n_field, err);
    for (uint32_t i = 0; v && i < info->n_field; i++)
        fields(v)[i] = share(info->field[i]);
    return v;
}

static bool can_make(const tnr_value_pool *pool, const tnr_value_info *info)
{
    bool ok = info->kind == TNR_VALUE_TENSOR ||
              (info->kind == TNR_VALUE_TEXT && (info->text || !info->text_n)) ||
              (info->kind == TNR_VALUE_CONSTRUCTOR && (info->field || !info->n_field));
    for (uint32_t i = 0; ok && info->kind == TNR_VALUE_CONSTRUCTOR && i < info->n_field; i++)
        ok = info->field[i] && info->field[i]->pool == pool;
    return ok;
}

tnr_status tnr_value_new(tnr_instance *instance, const tnr_value_info *info, tnr_value **out_value,
                         tnr_error *err)
{
    tnr_value_pool *pool = instance ? instance->pool : NULL;
    void *data;
    uint64_t bytes;
    tnr_value *v;
    if (!pool || !info || !out_value || !can_make(pool, info))
        return tnr_fail_argument("tnr_value_new", err);
    if (info->kind == TNR_VALUE_TENSOR) {
        tnr_status status = tnr_tensor_data(&info->tensor, "value", "", &data, &bytes, err);
        if (!status && info->tensor.ndim > MAX_NDIM)
            status = tnr_fail(err, TNR_E_SHAPE, 0, "a value has more than 64 dimensions");
        if (status)
            return status;
        v = new_tensor(pool, &info->tensor, data, bytes, err);
    } else if (info->kind == TNR_VALUE_TEXT) {
        v = new_text(pool, info->text ? info->text : "", info->text_n, err);
    } else {
        v = new_constructor(pool, info, err);
    }
    if (!v)
        return TNR_E_MEMORY;
    *out_value = v;
    return TNR_OK;
}

/* A constructor of these fields, with room for as many more. */
static tnr_value *with_room(tnr_value_pool *pool, const tnr_value_info *info, tnr_error *err)
{
    tnr_value *v = new_holder(pool, TNR_VALUE_CONSTRUCTOR, info->tag, 2 * info->n_field + 4, err);
    if (v)
        v->n = info->n_field;
    for (uint32_t i = 0; v && i < info->n_field; i++)
        fields(v)[i] = share(info->field[i]);
    return v;
}

/* The last field goes where the list's own end, if no other list has grown there. */
tnr_status tnr_value_append(tnr_instance *instance, const tnr_value *list, tnr_value *last,
                            tnr_value **out_value, tnr_error *err)
{
    tnr_value_pool *pool = instance ? instance->pool : NULL;
    tnr_value_info info = {0};
    if (list)
        tnr_value_get(list, &info);
    if (!pool || !last || !out_value || info.kind != TNR_VALUE_CONSTRUCTOR || list->pool != pool ||
        last->pool != pool || info.n_field > UINT32_MAX / 4)
        return tnr_fail_argument("tnr_value_append", err);
    tnr_value *view = new_holder(pool, VIEW, info.tag, 1, err), *all = NULL;
    if (!view)
        return TNR_E_MEMORY;
    if (list->kind == VIEW) {
        all = fields((tnr_value *)(uintptr_t)list)[0];
        uint64_t room = all->class < LARGE ? block_of(all->class) : all->room;
        bool fits = all->n == info.n_field && sizeof *all + 8 * ((uint64_t)all->n + 1) <= room;
        all = fits ? share(all) : NULL;
    }
    all = all ? all : with_room(pool, &info, err);
    if (!all) {
        release(view);
        return TNR_E_MEMORY;
    }
    fields(all)[all->n++] = share(last);
    fields(view)[0] = all;
    view->bytes = all->n;
    *out_value = view;
    return TNR_OK;
}

void tnr_value_retain(tnr_value *value) { (void)share(value); }

void tnr_value_release(tnr_value *value) { drop(value); }

tnr_status tnr_set_input_value(tnr_instance *instance, uint32_t index, tnr_value *value, tnr_error *err)
{
    if (!instance || !value || index >= instance->exe->code->n_input || value->pool != instance->pool)
        return tnr_fail_argument("tnr_set_input_value", err);
    tnr_given *to = &instance->main.input[index];
    if (!is_handle(&instance->main, instance->exe->code->input[index]))
        return tnr_fail(err, TNR_E_DTYPE, 0, "input \"%.400s\" is a tensor, which tnr_set_input sets",
                        tnr_module_input(instance->module, index)->name);
    instance->stepping = false;
    (void)share(value);
    drop(to->data);
    to->data = value;
    to->set = true;
    return TNR_OK;
}

tnr_status tnr_get_output_value(tnr_instance *instance, uint32_t index, tnr_value **out_value, tnr_error *err)
{
    if (!instance || !out_value || index >= instance->exe->code->n_output)
        return tnr_fail_argument("tnr_get_output_value", err);
    if (!is_handle(&instance->main, instance->exe->code->output[index]))
        return tnr_fail(err, TNR_E_DTYPE, 0, "output \"%.400s\" is a tensor, which tnr_get_output gets",
                        tnr_module_output(instance->module, index)->name);
    if (!instance->ran)
        return tnr_fail_not_run(err);
    *out_value = instance->output[index].at;
    return TNR_OK;
}
