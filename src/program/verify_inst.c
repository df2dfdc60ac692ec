/* What each instruction needs and does: first what its letters in inst.def say of its operands, one by one, then what
 * holds between them. */
#include "program/verify.h"

#include <string.h>

static const tn_slot_ir *slot_at(const verifier *v, uint32_t s) { return &v->f->slot[s]; }

/* ---- letters ---- */

static void need_written(verifier *v, uint32_t s)
{
    if (!verify_has(v, v->slot0 + s))
        verify_fault(v, " is read where it does not hold its value", s);
}

/* A state of fixed size is written like a temporary. One that grows gets rows, or a kernel changes it in place, see
 * call_result(). */
static void need_writable_state(verifier *v, const tn_inst_ir *x, uint32_t s, char letter)
{
    int axis = v->program->state[slot_at(v, s)->alias].axis;
    if (letter != 'w')
        verify_fault(v, " is a state, which a function cannot give", s);
    else if (axis >= 0 && x->op != TN_INST_CALL && (x->op != TN_INST_STORE || axis > 0))
        verify_fault(v, " is a state that grows, which is not written as a whole", s);
}

static void need_writable(verifier *v, const tn_inst_ir *in, uint32_t s, char letter)
{
    const tn_slot_ir *x = slot_at(v, s);
    if (x->kind == TN_SLOT_STATE)
        need_writable_state(v, in, s, letter);
    else if (x->kind != TN_SLOT_TEMP && (x->kind != TN_SLOT_OUTPUT || x->alias >= 0))
        verify_fault(v, " is written, which is an input, a constant or an alias", s);
    else if (x->segment && !verify_has(v, v->segment0 + x->segment - 1))
        verify_fault(v, " is written before its memory is planned", s);
    else if (x->storage == TN_STORAGE_POOL && !verify_has(v, v->memory0 + s))
        verify_fault(v, " is written before it has memory", s);
    else
        verify_bound(v, x->bytes, s);
}

static bool is_slot_letter(char c) { return strchr("sibwxhovup", c) != NULL; }

static void need_storage(verifier *v, uint32_t s, char letter)
{
    bool handle = slot_at(v, s)->storage == TN_STORAGE_HANDLE;
    if (letter == 'p' && slot_at(v, s)->storage == TN_STORAGE_BYTES)
        verify_fault(v, " is planned memory, which nothing allocates or drops", s);
    if (handle && strchr("sibwx", letter))
        verify_fault(v, " is a handle, where bytes are needed", s);
    if (!handle && strchr("ho", letter))
        verify_fault(
            v, " is planned memory, where a handle is needed: what a value can reach outlives the frame", s);
}

static void need_type(verifier *v, uint32_t s, char letter)
{
    const tn_slot_ir *x = slot_at(v, s);
    if (letter == 'i' && (!tn_dtype_is_int(x->dtype) || x->layout))
        verify_fault(v, " holds no integers", s);
    if (letter == 'b' && (!tn_dtype_is_bool(x->dtype) || !tn_is_value(x->bytes, 1)))
        verify_fault(v, " is no bool scalar", s);
    if (letter == 'x' && x->kind != TN_SLOT_STATE)
        verify_fault(v, " is no state", s);
}

/* An operand on its own; false: there is no such thing. */
static bool operand(verifier *v, const tn_inst_ir *x, uint32_t i, char letter)
{
    uint32_t n = x->operand[i];
    if (letter == 'n')
        return true;
    if (n >= (letter == 'y' ? v->f->n_symbol : letter == 'z' ? v->f->n_size : v->f->n_slot)) {
        verify_fault(v, "there is no such operand", VERIFY_NO_SLOT);
        return false;
    }
    if (!v->checks)
        return true;
    if (letter == 'y' && !verify_has(v, n))
        verify_fault(v, "an operand is a symbol that is not bound yet", VERIFY_NO_SLOT);
    if (letter == 'z')
        verify_bound(v, v->f->size[n], VERIFY_NO_SLOT);
    if (!is_slot_letter(letter))
        return true;
    need_storage(v, n, letter);
    need_type(v, n, letter);
    if (strchr("wou", letter))
        need_writable(v, x, n, letter);
    else if (letter != 'p')
        need_written(v, n);
    return true;
}

/* What the field `a` is. */
static bool field(verifier *v, const tn_inst_ir *x, char kind)
{
    const char *what = NULL;
    switch (kind) {
    case 'k': what = x->a >= v->n_kernel ? "there is no such kernel" : NULL; break;
    case 'f': what = x->a >= v->program->n_function ? "there is no such function" : NULL; break;
    case 't': what = x->a >= v->program->n_text ? "there is no such text" : NULL; break;
    case 'g': what = x->a == 0 || x->a > v->f->n_segment ? "there is no such segment" : NULL; break;
    case 'y':
        what = x->a >= v->f->n_symbol || x->a < v->f->n_symbol - v->f->n_late
                   ? "there is no such symbol, or it is an input's"
                   : NULL;
        break;
    default: break;
    }
    if (what)
        verify_fault(v, what, VERIFY_NO_SLOT);
    return !what;
}

/* Nothing that is written lies over anything else that the instruction reads or writes. */
static void results_apart(verifier *v, const tn_inst_ir *x)
{
    for (uint32_t o = 0; v->checks && o < x->n_operand; o++) {
        if (!strchr("wou", v->letter[o]))
            continue;
        for (uint32_t i = 0; i < x->n_operand; i++)
            if (i != o && is_slot_letter(v->letter[i]) &&
                (x->operand[i] == x->operand[o] || verify_shares(v, x->operand[i], x->operand[o])))
                verify_fault(v, " is a result that lies over another operand", x->operand[o]);
    }
}

static void write_results(verifier *v, const tn_inst_ir *x)
{
    for (uint32_t o = 0; o < x->n_operand; o++)
        if (strchr("wou", v->letter[o]))
            verify_write(v, x->operand[o]);
}

/* ---- calls ---- */

static const tn_expr *argument_bytes(verifier *v, const tn_inst_ir *x, const tn_kernel_signature *k,
                                     uint32_t i)
{
    const tn_expr *e = k->parameter[i].bytes;
    if (e->kind == TN_E_INT || !k->n_symbol)
        return e;
    const tn_expr **from = TN_NEW_N(&v->arena, const tn_expr *, k->n_symbol),
                  **to = TN_NEW_N(&v->arena, const tn_expr *, k->n_symbol);
    for (uint32_t s = 0; s < k->n_symbol; s++) {
        from[s] = tn_sym(v->p, k->symbol[s]);
        to[s] = tn_sym(v->p, v->f->symbol[x->operand[k->n_in + k->n_out + s]].name);
    }
    return tn_subst(v->p, e, (int)k->n_symbol, from, to);
}

static void call_argument(verifier *v, const tn_inst_ir *x, const tn_kernel_signature *k, uint32_t i)
{
    const tn_slot_ir *s = slot_at(v, x->operand[i]);
    if (!tn_dtype_eq(tn_dtype_part(s->dtype), tn_dtype_part(k->parameter[i].dtype)))
        verify_fault(v, " has another type than the kernel's parameter", x->operand[i]);
    if (!verify_equal(v, s->bytes, argument_bytes(v, x, k, i)))
        verify_fault(v, " has another size than the kernel's parameter, and the run does not compare them",
                     x->operand[i]);
}

/* A result lies over an operand only where the kernel was made for that; a state may be both in one pair. */
static void call_result(verifier *v, const tn_inst_ir *x, const tn_kernel_signature *k, uint32_t number)
{
    uint32_t out = x->operand[k->n_in + number];
    bool state = slot_at(v, out)->kind == TN_SLOT_STATE, paired = false;
    for (uint32_t i = 0; i < k->n_in; i++) {
        const tn_overlap *o = tn_kernel_overlap(k, i, number);
        bool must = o && o->kind == TN_OVERLAP_MUST;
        if (must && (x->operand[i] != out || !state))
            verify_fault(v, " is not the state that the kernel changes in place", out);
        paired = paired || must;
        if (must || (state && o && x->operand[i] == out))
            continue;
        if (x->operand[i] == out)
            verify_fault(v, " is operand and result of one call", out);
        else if (verify_shares(v, out, x->operand[i]) && (state || !o))
            verify_fault(v, " is a result that lies over an operand", out);
    }
    if (state && !paired && v->program->state[slot_at(v, out)->alias].axis >= 0)
        verify_fault(v, " is a state that grows, which the kernel does not change in place", out);
    for (uint32_t o = 0; o < number; o++)
        if (x->operand[k->n_in + o] == out || verify_shares(v, out, x->operand[k->n_in + o]))
            verify_fault(v, " is a result that lies over another result", out);
}

static void call_work(verifier *v, const tn_inst_ir *x, uint32_t n_arg, uint32_t work)
{
    for (uint32_t i = 0; v->checks && i < n_arg; i++)
        if (x->operand[i] == work || verify_shares(v, work, x->operand[i]))
            verify_fault(v, " is work memory that lies over an operand", work);
    if (slot_at(v, work)->kind != TN_SLOT_TEMP)
        verify_fault(v, " is work memory, but no temporary", work);
    verify_write(v, work);
    verify_drop(v, v->slot0 + work);
}

static void call(verifier *v, const tn_inst_ir *x)
{
    const tn_kernel_signature *k = &v->kernel[x->a];
    uint32_t n_arg = k->n_in + k->n_out, n_sym = k->n_symbol;
    for (uint32_t i = 0; v->checks && i < n_arg; i++)
        call_argument(v, x, k, i);
    for (uint32_t o = 0; v->checks && o < k->n_out; o++)
        call_result(v, x, k, o);
    if (x->n_operand > n_arg + n_sym)
        call_work(v, x, n_arg, x->operand[n_arg + n_sym]);
    for (uint32_t o = k->n_in; o < n_arg; o++)
        verify_write(v, x->operand[o]);
}

/* An operand of INVOKE and the slot of the callee that it is. */
static void invoke_operand(verifier *v, uint32_t s, const tn_slot_ir *to)
{
    const tn_slot_ir *from = slot_at(v, s);
    bool same = verify_same_kind(from, to) && from->ndim == to->ndim;
    for (int d = 0; same && d < to->ndim; d++)
        same = from->dim[d]->kind != TN_E_INT || to->dim[d]->kind != TN_E_INT || from->dim[d] == to->dim[d];
    if (from->kind == TN_SLOT_STATE)
        verify_fault(v, " is a state, of which a function has its own slot", s);
    else if ((from->storage == TN_STORAGE_HANDLE) != (to->storage == TN_STORAGE_HANDLE))
        verify_fault(v,
                     from->storage == TN_STORAGE_HANDLE
                         ? " is a handle, but the function takes bytes there"
                         : " is planned memory, but the function takes a handle there",
                     s);
    else if (!same)
        verify_fault(v, " has another type or shape than the function's", s);
}

static void invoke(verifier *v, const tn_inst_ir *x)
{
    const tn_program_function_ir *f = &v->program->function[x->a];
    uint32_t in = 0, out = tn_program_slots(f, TN_SLOT_INPUT);
    for (uint32_t i = 0; v->checks && i < f->n_slot; i++)
        if (f->slot[i].kind <= TN_SLOT_OUTPUT)
            invoke_operand(v, x->operand[f->slot[i].kind == TN_SLOT_INPUT ? in++ : out++], &f->slot[i]);
}

/* A closure is called with handles and gives handles; it has values for the last inputs of its function. */
static void closure(verifier *v, const tn_inst_ir *x)
{
    const tn_program_function_ir *f = &v->program->function[x->a];
    if (x->n_operand - 1 > tn_program_slots(f, TN_SLOT_INPUT))
        verify_fault(v, "a closure has more values than its function has inputs", VERIFY_NO_SLOT);
    for (uint32_t i = 0; i < f->n_slot; i++)
        if (f->slot[i].kind <= TN_SLOT_OUTPUT && f->slot[i].storage != TN_STORAGE_HANDLE)
            verify_fault(v, "a closure is made of a function that takes or gives planned memory",
                         VERIFY_NO_SLOT);
}

/* ---- the others ---- */

static void copy(verifier *v, const tn_inst_ir *x)
{
    const tn_slot_ir *from = slot_at(v, x->operand[0]), *to = slot_at(v, x->operand[1]);
    int64_t a, b;
    if (!verify_same_kind(from, to))
        verify_fault(v, " gets a copy of a value of another type or layout", x->operand[1]);
    if (tn_is_int(from->bytes, &a) && tn_is_int(to->bytes, &b) && a != b) /* others are compared in the run */
        verify_fault(v, " gets a copy of another size", x->operand[1]);
}

/* A row has the bytes of `to` without its first dimension. Its own dimensions may be others: a reshape shares
 * the slot of its operand, and where it has symbols, the run has checked the number of elements. The run sees to the
 * row's number. */
static void store(verifier *v, const tn_inst_ir *x)
{
    const tn_slot_ir *from = slot_at(v, x->operand[0]), *to = slot_at(v, x->operand[1]);
    int64_t a, b;
    if (!verify_same_kind(from, to) || to->layout || to->ndim == 0) {
        verify_fault(v, " gets a row of another type or layout", x->operand[1]);
        return;
    }
    const tn_expr *row = tn_idx(v->p, tn_dtype_bytes(to->dtype));
    for (int d = 1; d < to->ndim; d++)
        row = tn_mul(v->p, row, to->dim[d]);
    if (v->checks && tn_is_int(tn_simplify(v->p, NULL, row), &a) && tn_is_int(from->bytes, &b) && a != b)
        verify_fault(v, " gets a row of another size", x->operand[1]);
}

/* Values and functions of the host know neither layouts nor the extent of a state that grows: they would see all of its
 * capacity. */
static void plain(verifier *v, const tn_inst_ir *x)
{
    for (uint32_t i = 0; i < x->n_operand; i++) {
        const tn_slot_ir *s = is_slot_letter(v->letter[i]) ? slot_at(v, x->operand[i]) : NULL;
        if (s && s->layout)
            verify_fault(v, " has a layout, which neither values nor functions of the host have",
                         x->operand[i]);
        if (s && s->kind == TN_SLOT_STATE && v->program->state[s->alias].axis >= 0)
            verify_fault(
                v, " is a state that grows, of which neither values nor functions of the host see the extent",
                x->operand[i]);
    }
}

static void grows(verifier *v, const tn_inst_ir *x)
{
    const tn_slot_ir *s = slot_at(v, x->operand[0]);
    if (s->kind == TN_SLOT_STATE && v->program->state[s->alias].axis < 0)
        verify_fault(v, " is a state that does not grow", x->operand[0]);
}

/* What was known of sizes with the symbol is known no longer. */
static void bind(verifier *v, uint32_t s)
{
    const tn_expr *symbol = tn_sym(v->p, v->f->symbol[s].name);
    for (size_t i = 0; i < v->depends[s].n; i++) {
        uint32_t slot = v->depends[s].at[i], segment = slot_at(v, slot)->segment;
        verify_drop(v, v->slot0 + slot);
        verify_drop(v, v->memory0 + slot);
        if (segment)
            verify_drop(v, v->segment0 + segment - 1);
    }
    for (uint32_t i = 0; i < v->f->n_size; i++)
        if (verify_has(v, v->size0 + i) && tn_uses(v->f->size[i], symbol))
            verify_drop(v, v->size0 + i);
    verify_add(v, s);
}

static void plan(verifier *v, uint32_t segment)
{
    verify_bound(v, v->f->segment_bytes[segment - 1], VERIFY_NO_SLOT);
    for (uint32_t i = 0; i < v->f->n_slot; i++) {
        if (slot_at(v, i)->segment != segment)
            continue;
        verify_bound(v, slot_at(v, i)->bytes, i);
        for (int d = 0; d < slot_at(v, i)->ndim; d++)
            verify_bound(v, slot_at(v, i)->dim[d], i);
        verify_drop(v, v->slot0 + i);
    }
    verify_add(v, v->segment0 + segment - 1);
}

static void allocate(verifier *v, uint32_t s)
{
    const tn_slot_ir *x = slot_at(v, s);
    if (x->storage != TN_STORAGE_POOL)
        verify_fault(v, " is a handle, which has no size", s);
    verify_bound(v, x->bytes, s);
    for (int d = 0; d < x->ndim; d++)
        verify_bound(v, x->dim[d], s);
    verify_drop(v, v->slot0 + s);
    verify_add(v, v->memory0 + s);
}

static void drop(verifier *v, uint32_t s)
{
    verify_drop(v, v->slot0 + s);
    verify_drop(v, v->memory0 + s);
}

static void effect(verifier *v, const tn_inst_ir *x)
{
    switch (x->op) {
    case TN_INST_CALL: call(v, x); return;
    case TN_INST_COPY: copy(v, x); break;
    case TN_INST_STORE:
        store(v, x);
        results_apart(v, x);
        break;
    case TN_INST_SET:
        if (!tn_is_value(slot_at(v, x->operand[0])->bytes, 8) ||
            !tn_dtype_eq(slot_at(v, x->operand[0])->dtype, TN_I64))
            verify_fault(v, " is no int64", x->operand[0]);
        break;
    case TN_INST_INVOKE:
        invoke(v, x);
        results_apart(v, x);
        break;
    case TN_INST_CALL_HOST:
        plain(v, x);
        results_apart(v, x);
        break;
    case TN_INST_BOX:
    case TN_INST_UNBOX: plain(v, x); break;
    case TN_INST_CLOSURE: closure(v, x); break;
    case TN_INST_BIND_STATE:
    case TN_INST_GROW: grows(v, x); break;
    case TN_INST_PLAN: plan(v, x->a); break;
    case TN_INST_RENEW:
        for (uint32_t i = 0; i < x->n_operand; i++)
            (i < x->a ? drop : allocate)(v, x->operand[i]);
        return;
    default: break;
    }
    write_results(v, x);
    if (tn_inst_info_get(x->op)->a == 'y')
        bind(v, x->a);
}

bool verify_inst(verifier *v, const tn_inst_ir *x)
{
    const tn_inst_info *info = tn_inst_info_get(x->op);
    if (!info) {
        verify_fault(v, "there is no such instruction", VERIFY_NO_SLOT);
        return false;
    }
    if (!field(v, x, info->a))
        return false;
    if (!tn_inst_letters(v->program, v->n_kernel, v->kernel, x, v->letter)) {
        verify_fault(v, "the number of operands is not what the instruction takes", VERIFY_NO_SLOT);
        return false;
    }
    for (uint32_t i = 0; i < x->n_operand; i++)
        if (!operand(v, x, i, v->letter[i]))
            return false;
    if (!v->failed)
        effect(v, x);
    return true;
}
