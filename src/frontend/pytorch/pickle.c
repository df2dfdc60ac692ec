/* Pickles (protocols 0 to 5) by a machine that executes nothing. It knows the few names that PyTorch writes into its
 * files; a call of any other name becomes an object without a class, which only fails where it is used. Stack, memo,
 * depth and the number of values are bounded. */
#include "frontend/pytorch/value.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STACK = 1 << 22, MAX_MEMO = 1 << 24, MAX_MARKS = 1 << 16, MAX_TEXT = 1 << 28 };

typedef struct machine {
    pt_pickle *p;
    tn_arena *arena;
    tn_vec(pt_value) stack;
    tn_vec(pt_value) memo; /* UNSET: not given */
    tn_vec(size_t) mark;   /* sizes of the stack */
    const char *trouble;
    bool done;
} machine;

static void fail(machine *m, const char *why)
{
    if (!m->trouble)
        m->trouble = why;
}

/* ---- bytes ---- */

static const uint8_t *take(machine *m, uint64_t n)
{
    static const uint8_t zeros[8];
    size_t left = m->p->data.n - m->p->at;
    if (n > left) {
        fail(m, "a pickle is cut short");
        m->p->at = m->p->data.n;
        return zeros;
    }
    const uint8_t *at = m->p->data.at + m->p->at;
    m->p->at += (size_t)n;
    return at;
}

static uint64_t number(machine *m, int bytes)
{
    const uint8_t *at = take(m, (uint64_t)bytes);
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static tn_bytes text(machine *m, uint64_t n)
{
    const uint8_t *at = n > MAX_TEXT ? NULL : take(m, n);
    if (!at)
        fail(m, "a text of a pickle is too long");
    return m->trouble ? (tn_bytes){0} : (tn_bytes){at, (size_t)n};
}

static tn_bytes line(machine *m)
{
    const uint8_t *from = m->p->data.at + m->p->at;
    const uint8_t *end = memchr(from, '\n', m->p->data.n - m->p->at);
    if (!end) {
        fail(m, "a pickle is cut short");
        return (tn_bytes){0};
    }
    m->p->at += (size_t)(end - from) + 1;
    return (tn_bytes){from, (size_t)(end - from)};
}

/* ---- stack ---- */

static void push(machine *m, pt_value v)
{
    if (m->stack.n >= MAX_STACK || m->p->budget == 0) {
        fail(m, "a pickle has too many values");
        return;
    }
    m->p->budget--;
    tn_vec_push(&m->stack, v);
}

static pt_value pop(machine *m)
{
    size_t least = m->mark.n ? m->mark.at[m->mark.n - 1] : 0;
    if (m->stack.n <= least) {
        fail(m, "a pickle takes a value that is not there");
        return pt_none();
    }
    return m->stack.at[--m->stack.n];
}

static pt_value *top(machine *m)
{
    static pt_value nothing;
    if (m->stack.n)
        return &m->stack.at[m->stack.n - 1];
    fail(m, "a pickle takes a value that is not there");
    return &nothing;
}

static pt_value container(machine *m, enum pt_kind kind, size_t n, const pt_value at[])
{
    pt_value v = pt_make(m->arena, kind, n, at);
    v.list->of_file = true;
    return v;
}

/* Everything above the last mark, in order. */
static pt_value pop_marked(machine *m, enum pt_kind kind)
{
    if (!m->mark.n) {
        fail(m, "a pickle takes a mark that is not there");
        return container(m, kind, 0, NULL);
    }
    size_t from = tn_vec_pop(&m->mark);
    const pt_value *above = m->stack.n > from ? m->stack.at + from : NULL; /* there may be no stack yet */
    pt_value v = container(m, kind, m->stack.n - from, above);
    m->stack.n = from;
    return v;
}

static void push_tuple(machine *m, int n)
{
    pt_value at[3];
    for (int i = n - 1; i >= 0; i--)
        at[i] = pop(m);
    push(m, container(m, PT_TUPLE, (size_t)n, at));
}

static void remember(machine *m, uint64_t at)
{
    if (at >= MAX_MEMO || at > m->memo.n + 65536) {
        fail(m, "a pickle remembers too many values");
        return;
    }
    while (m->memo.n <= at)
        tn_vec_push(&m->memo, ((pt_value){.kind = PT_UNSET}));
    m->memo.at[at] = *top(m);
}

static void recall(machine *m, uint64_t at)
{
    if (at >= m->memo.n || m->memo.at[at].kind == PT_UNSET)
        fail(m, "a pickle recalls a value that it did not remember");
    else
        push(m, m->memo.at[at]);
}

/* ---- numbers as text ---- */

static int64_t integer_text(machine *m, tn_bytes s)
{
    char b[32] = "", *end;
    size_t n = s.n && s.at[s.n - 1] == 'L' ? s.n - 1 : s.n;
    if (n == 0 || n >= sizeof b) {
        fail(m, "an integer of a pickle is not valid");
        return 0;
    }
    memcpy(b, s.at, n);
    int64_t v = strtoll(b, &end, 10);
    if (*end)
        fail(m, "an integer of a pickle is not valid");
    return v;
}

/* Little-endian two's complement; what does not fit 64 bits becomes their lowest, as random seeds may. */
static int64_t long_bytes(machine *m, uint64_t n)
{
    tn_bytes s = text(m, n);
    uint64_t v = 0;
    for (size_t i = s.n < 8 ? s.n : 8; i-- > 0;)
        v = v << 8 | s.at[i];
    if (s.n && s.n < 8 && s.at[s.n - 1] & 0x80)
        v |= ~UINT64_C(0) << (8 * s.n);
    return (int64_t)v;
}

static double big_endian_double(machine *m)
{
    const uint8_t *at = take(m, 8);
    uint64_t v = 0;
    double f;
    for (int i = 0; i < 8; i++)
        v = v << 8 | at[i];
    memcpy(&f, &v, sizeof f);
    return f;
}

/* 'a text' with its quotes; escapes stay as they are. */
static tn_bytes quoted(machine *m)
{
    tn_bytes s = line(m);
    if (s.n < 2 || s.at[0] != s.at[s.n - 1]) {
        fail(m, "a text of a pickle has no quotes");
        return (tn_bytes){0};
    }
    return (tn_bytes){s.at + 1, s.n - 2};
}

/* ---- names, calls ---- */

static pt_value global(machine *m, tn_bytes module, tn_bytes name)
{
    const char *s =
        tn_arena_printf(m->arena, "%.*s.%.*s", (int)(module.n > 512 ? 512 : module.n),
                        (const char *)module.at, (int)(name.n > 512 ? 512 : name.n), (const char *)name.at);
    return (pt_value){.kind = PT_GLOBAL, .text = {(const uint8_t *)s, strlen(s)}};
}

static pt_value object(machine *m, tn_bytes type)
{
    pt_object *o = TN_NEW(m->arena, pt_object);
    o->type = type;
    return (pt_value){.kind = PT_OBJECT, .object = o};
}

bool pt_storage_dtype(tn_bytes name, pt_storage *out)
{
    enum { PLAIN, STEPS, PAIRS };
    static const struct {
        const char *name;
        tn_dtype t;
        int of;
    } rows[] = {{"ComplexFloatStorage", {TN_FLOAT, 32, 1}, PAIRS},
                {"ComplexDoubleStorage", {TN_FLOAT, 64, 1}, PAIRS},
                {"ComplexHalfStorage", {TN_FLOAT, 16, 1}, PAIRS},
                {"FloatStorage", {TN_FLOAT, 32, 1}, PLAIN},
                {"DoubleStorage", {TN_FLOAT, 64, 1}, PLAIN},
                {"HalfStorage", {TN_FLOAT, 16, 1}, PLAIN},
                {"BFloat16Storage", {TN_BFLOAT, 16, 1}, PLAIN},
                {"LongStorage", {TN_INT, 64, 1}, PLAIN},
                {"IntStorage", {TN_INT, 32, 1}, PLAIN},
                {"ShortStorage", {TN_INT, 16, 1}, PLAIN},
                {"CharStorage", {TN_INT, 8, 1}, PLAIN},
                {"ByteStorage", {TN_UINT, 8, 1}, PLAIN},
                {"BoolStorage", {TN_UINT, 1, 1}, PLAIN},
                {"UntypedStorage", {TN_UINT, 8, 1}, PLAIN},
                {"QInt8Storage", {TN_INT, 8, 1}, STEPS},
                {"QUInt8Storage", {TN_UINT, 8, 1}, STEPS},
                {"QInt32Storage", {TN_INT, 32, 1}, STEPS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t k = strlen(rows[i].name);
        if (name.n > k && name.at[name.n - k - 1] == '.' &&
            memcmp(name.at + name.n - k, rows[i].name, k) == 0) {
            out->dtype = strcmp(rows[i].name, "BoolStorage") == 0 ? TN_BOOL1 : rows[i].t;
            out->quantised = rows[i].of == STEPS;
            out->complex = rows[i].of == PAIRS;
            return true;
        }
    }
    return false;
}

/* ("storage", type, key, location, elements[, view]) */
static pt_value storage(machine *m, pt_value id)
{
    uint64_t at;
    if (id.kind == PT_TEXT)
        return id;
    if (id.kind != PT_TUPLE || id.list->n < 5 || !pt_is_text(pt_at(id, 0), "storage") ||
        pt_at(id, 1).kind != PT_GLOBAL || pt_at(id, 2).kind != PT_TEXT) {
        fail(m, "a pickle refers to something else than a storage of a tensor");
        return pt_none();
    }
    tn_bytes key = pt_at(id, 2).text;
    if (tn_strmap_get(m->p->storages, (const char *)key.at, key.n, &at))
        return (pt_value){.kind = PT_STORAGE, .storage = (pt_storage *)(uintptr_t)at};
    pt_storage *s = TN_NEW(m->arena, pt_storage);
    s->key = key;
    if (!pt_storage_dtype(pt_at(id, 1).text, s))
        fail(m, "a tensor has elements of a type that is not supported");
    tn_strmap_put(m->p->storages, (const char *)key.at, key.n, (uint64_t)(uintptr_t)s);
    return (pt_value){.kind = PT_STORAGE, .storage = s};
}

static bool whole_numbers(pt_value v, int64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (pt_at(v, i).kind != PT_INT)
            return false;
        out[i] = pt_at(v, i).i;
    }
    return true;
}

/* The tensor, or the one that was read of the same memory: changes of one are changes of the other. */
static pt_tensor *once(pt_tensor *t)
{
    pt_tensor *o = t->storage->last;
    size_t bytes = (size_t)t->n * sizeof *t->dim;
    for (int k = 0; o && k < 1000; o = o->before, k++)
        if (o->offset == t->offset && o->n == t->n && !o->quantised && !t->quantised &&
            memcmp(o->dim, t->dim, bytes) == 0 && memcmp(o->stride, t->stride, bytes) == 0)
            return o;
    t->before = t->storage->last;
    return t->storage->last = t;
}

static pt_value complex_tensor(machine *m, const pt_tensor *t)
{
    pt_value z = pt_complex_stored(m->arena, t);
    if (z.kind == PT_NONE)
        fail(m, "a tensor of complex numbers lies outside of its storage");
    for (size_t i = 0; z.kind == PT_COMPLEX && i < 2; i++)
        z.list->at[i].tensor = once(z.list->at[i].tensor);
    return z;
}

/* (storage, offset, size, stride, ...); _rebuild_qtensor has the quantiser next. */
static pt_value tensor(machine *m, pt_value a, bool quantised)
{
    pt_value size = pt_at(a, 2), stride = pt_at(a, 3);
    pt_tensor *t = TN_NEW(m->arena, pt_tensor);
    if (pt_at(a, 0).kind != PT_STORAGE || pt_at(a, 1).kind != PT_INT || !pt_is_sequence(size) ||
        !pt_is_sequence(stride) || size.list->n != stride.list->n || size.list->n > PT_MAX_RANK) {
        fail(m, "a tensor is not described as PyTorch does");
        return pt_none();
    }
    size_t n = size.list->n;
    int64_t *dim = TN_NEW_N(m->arena, int64_t, 2 * n + 1);
    t->storage = pt_at(a, 0).storage;
    t->offset = pt_at(a, 1).i;
    t->n = (int)n;
    t->dim = dim;
    t->stride = dim + n;
    t->quantised = quantised;
    t->steps = pt_at(a, 4);
    if (!whole_numbers(size, dim, n) || !whole_numbers(stride, dim + n, n))
        fail(m, "a tensor is not described as PyTorch does");
    return t->storage->complex ? complex_tensor(m, t) : (pt_value){.kind = PT_TENSOR, .tensor = once(t)};
}

static bool ends_with(tn_bytes s, const char *end)
{
    size_t k = strlen(end);
    return s.n >= k && memcmp(s.at + s.n - k, end, k) == 0;
}

/* What calling the name gives. */
static pt_value call(machine *m, pt_value f, pt_value args)
{
    tn_bytes name = f.kind == PT_GLOBAL ? f.text : (tn_bytes){0};
    size_t n = args.kind == PT_TUPLE ? args.list->n : 0;
    if (f.kind != PT_GLOBAL || args.kind != PT_TUPLE) {
        pt_value o = object(m, name); /* TorchScript has the value of an Enum without a tuple */
        o.object->state = args;
        return o;
    }
    if ((imp_is(name, "torch._utils._rebuild_tensor_v2") || imp_is(name, "torch._utils._rebuild_tensor")) &&
        n >= 4)
        return tensor(m, args, false);
    if (imp_is(name, "torch._utils._rebuild_qtensor") && n >= 5)
        return tensor(m, args, true);
    if (n >= 1 &&
        (ends_with(name, "._rebuild_parameter") || ends_with(name, "._rebuild_parameter_with_state") ||
         imp_is(name, "torch.jit._pickle.restore_type_tag") ||
         (imp_is(name, "torch.Size") || ends_with(name, "._pickle.build_intlist") ||
          ends_with(name, "._pickle.build_doublelist") || ends_with(name, "._pickle.build_boollist") ||
          ends_with(name, "._pickle.build_tensorlist"))))
        return pt_at(args, 0);
    if (imp_is(name, "torch._tensor._rebuild_from_type_v2") && n >= 3 && pt_at(args, 2).kind == PT_TUPLE &&
        pt_at(args, 0).kind == PT_GLOBAL && !imp_same(pt_at(args, 0).text, name))
        return call(m, pt_at(args, 0), pt_at(args, 2));
    if (imp_is(name, "collections.OrderedDict") || imp_is(name, "collections.defaultdict"))
        return container(m, PT_DICT, 0, NULL);
    if ((imp_is(name, "builtins.complex") || imp_is(name, "__builtin__.complex")) && n == 2 &&
        pt_at(args, 0).kind == PT_FLOAT && pt_at(args, 1).kind == PT_FLOAT)
        return pt_complex_number(m->arena, pt_at(args, 0).f, pt_at(args, 1).f);
    if (imp_is(name, "torch.device") && n >= 1)
        return pt_at(args, 0);
    pt_value o = object(m, name);
    o.object->state = args;
    return o;
}

/* ---- containers ---- */

static void append(machine *m, pt_value *list, size_t n, const pt_value at[])
{
    for (size_t i = 0; i < n; i++)
        if (list->kind == PT_LIST)
            pt_push(m->arena, list->list, at[i]);
        else if (list->kind != PT_OBJECT)
            fail(m, "a pickle appends to something else than a list");
}

static void set_items(machine *m, pt_value *dict, size_t n, const pt_value at[])
{
    if (n % 2 || (dict->kind != PT_DICT && dict->kind != PT_OBJECT))
        fail(m, "a pickle sets an item of something else than a dict");
    for (size_t i = 0; i < n && dict->kind == PT_DICT && !m->trouble; i++)
        pt_push(m->arena, dict->list, at[i]);
}

/* The state of an object: a dict are its attributes. A dict of weights has _metadata. */
static void build(machine *m, pt_value *to, pt_value state)
{
    if (to->kind != PT_OBJECT)
        return;
    to->object->state = state;
    for (size_t i = 0; state.kind == PT_DICT && i + 1 < state.list->n; i += 2)
        if (pt_at(state, i).kind == PT_TEXT)
            pt_attr_add(m->arena, to->object, pt_at(state, i).text)->v = pt_at(state, i + 1);
}

/* ---- the machine ---- */

/* Constants and texts. */
static bool step_constant(machine *m, uint8_t op)
{
    tn_bytes s;
    switch (op) {
    case 'N': push(m, pt_none()); return true;
    case 0x88: push(m, pt_bool(true)); return true;
    case 0x89: push(m, pt_bool(false)); return true;
    case 'I':
        s = line(m);
        push(m, imp_is(s, "01")   ? pt_bool(true)
                : imp_is(s, "00") ? pt_bool(false)
                                  : pt_int(integer_text(m, s)));
        return true;
    case 'L': push(m, pt_int(integer_text(m, line(m)))); return true;
    case 'J': push(m, pt_int((int32_t)number(m, 4))); return true;
    case 'K': push(m, pt_int((int64_t)number(m, 1))); return true;
    case 'M': push(m, pt_int((int64_t)number(m, 2))); return true;
    case 0x8a: push(m, pt_int(long_bytes(m, number(m, 1)))); return true;
    case 0x8b: push(m, pt_int(long_bytes(m, number(m, 4)))); return true;
    case 'F':
        s = line(m);
        push(m, pt_float(strtod(tn_arena_strndup(m->arena, (const char *)s.at, s.n), NULL)));
        return true;
    case 'G': push(m, pt_float(big_endian_double(m))); return true;
    case 'S': push(m, pt_text(quoted(m))); return true;
    case 'V': push(m, pt_text(line(m))); return true;
    case 'T':
    case 'X':
    case 'B': push(m, pt_text(text(m, number(m, 4)))); return true;
    case 'U':
    case 'C':
    case 0x8c: push(m, pt_text(text(m, number(m, 1)))); return true;
    case 0x8d:
    case 0x8e: push(m, pt_text(text(m, number(m, 8)))); return true;
    default: return false;
    }
}

static bool step_container(machine *m, uint8_t op)
{
    pt_value v, k;
    switch (op) {
    case '}': push(m, container(m, PT_DICT, 0, NULL)); return true;
    case ']':
    case 0x8f: push(m, container(m, PT_LIST, 0, NULL)); return true;
    case ')': push(m, container(m, PT_TUPLE, 0, NULL)); return true;
    case 't': push(m, pop_marked(m, PT_TUPLE)); return true;
    case 'l':
    case 0x91: push(m, pop_marked(m, PT_LIST)); return true;
    case 'd':
        v = pop_marked(m, PT_DICT);
        if (v.list->n % 2)
            fail(m, "a dict of a pickle has a key without a value");
        push(m, v);
        return true;
    case 0x85:
    case 0x86:
    case 0x87: push_tuple(m, op - 0x84); return true;
    case 'a':
        v = pop(m);
        append(m, top(m), 1, &v);
        return true;
    case 'e':
    case 0x90:
        v = pop_marked(m, PT_LIST);
        append(m, top(m), v.list->n, v.list->at);
        return true;
    case 's':
        v = pop(m);
        k = pop(m);
        set_items(m, top(m), 2, (pt_value[]){k, v});
        return true;
    case 'u':
        v = pop_marked(m, PT_LIST);
        set_items(m, top(m), v.list->n, v.list->at);
        return true;
    default: return false;
    }
}

static bool step_object(machine *m, uint8_t op)
{
    pt_value v, f;
    tn_bytes s;
    switch (op) {
    case 'c':
        s = line(m);
        push(m, global(m, s, line(m)));
        return true;
    case 0x93:
        v = pop(m);
        f = pop(m);
        if (v.kind != PT_TEXT || f.kind != PT_TEXT)
            fail(m, "a name of a pickle is no text");
        else
            push(m, global(m, f.text, v.text));
        return true;
    case 'R':
        v = pop(m);
        push(m, call(m, pop(m), v));
        return true;
    case 0x92:
        (void)pop(m);
        /* fall through */
    case 0x81:
        v = pop(m);
        f = pop(m);
        push(m, imp_is(f.kind == PT_GLOBAL ? f.text : (tn_bytes){0}, "collections.OrderedDict")
                    ? container(m, PT_DICT, 0, NULL)
                    : object(m, f.kind == PT_GLOBAL ? f.text : (tn_bytes){0}));
        if (f.kind == PT_GLOBAL && m->stack.n && top(m)->kind == PT_OBJECT)
            top(m)->object->state = v;
        return true;
    case 'b':
        v = pop(m);
        build(m, top(m), v);
        return true;
    case 'Q': push(m, storage(m, pop(m))); return true;
    case 'P': push(m, pt_text(line(m))); return true;
    default: return false;
    }
}

static bool step_stack(machine *m, uint8_t op)
{
    switch (op) {
    case 0x80:
        if (number(m, 1) > 5)
            fail(m, "a pickle is of a protocol newer than 5");
        return true;
    case 0x95: (void)take(m, 8); return true;
    case '(':
        if (m->mark.n >= MAX_MARKS)
            fail(m, "a pickle is nested too deep");
        else
            tn_vec_push(&m->mark, m->stack.n);
        return true;
    case '0': (void)pop(m); return true;
    case '1': (void)pop_marked(m, PT_LIST); return true;
    case '2': push(m, *top(m)); return true;
    case 'p': remember(m, (uint64_t)integer_text(m, line(m))); return true;
    case 'q': remember(m, number(m, 1)); return true;
    case 'r': remember(m, number(m, 4)); return true;
    case 0x94: remember(m, m->memo.n); return true;
    case 'g': recall(m, (uint64_t)integer_text(m, line(m))); return true;
    case 'h': recall(m, number(m, 1)); return true;
    case 'j': recall(m, number(m, 4)); return true;
    case '.': m->done = true; return true;
    default: return false;
    }
}

const char *pt_unpickle(pt_pickle *p, pt_value *out)
{
    machine m = {.p = p, .arena = p->arena};
    while (!m.done && !m.trouble) {
        uint8_t op = *take(&m, 1);
        if (m.trouble)
            break;
        if (!step_constant(&m, op) && !step_container(&m, op) && !step_object(&m, op) && !step_stack(&m, op))
            fail(&m, tn_arena_printf(p->arena, "a pickle has the opcode 0x%02x, which is not allowed", op));
        tn_poll();
    }
    *out = m.trouble ? pt_none() : pop(&m);
    tn_vec_deinit(&m.stack);
    tn_vec_deinit(&m.memo);
    tn_vec_deinit(&m.mark);
    return m.trouble;
}
