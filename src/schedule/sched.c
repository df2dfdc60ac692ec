/* Schedule engine: the value table and the one entry point through which every step both acts and is recorded.
 *
 * Invariant: replaying s->step on a fresh clone of the original function gives s->func again. A step checks all its
 * conditions before it edits anything, so a refusal leaves function, values and trace as they were.
 */
#include "schedule/sched_impl.h"

#include "base/vec.h"

#include <string.h>

const char *const tn_verdict_texts[] = {
    [TN_DONE] = "done",
    [TN_REJECT_ARITY] = "wrong number of loops or arguments",
    [TN_REJECT_NAME] = "no such block, buffer, value or scope",
    [TN_REJECT_LOOP] = "the loop is gone, already bound, or not where the step needs it",
    [TN_REJECT_FACTOR] = "a factor is not positive, or does not divide the extent",
    [TN_REJECT_NEST] = "the loops are not one perfect nest",
    [TN_REJECT_DEPEND] = "it would change the order of dependent iterations",
    [TN_REJECT_REDUCE] = "reduction and spatial axes are mixed up",
    [TN_REJECT_REGION] = "the region is not constant, not affine, or not covered",
    [TN_REJECT_SCOPE] = "illegal memory scope",
    [TN_REJECT_MASK] = "a mask cannot be handled",
    [TN_REJECT_UNIT] = "the loops are no call of that unit",
    [TN_REJECT_PICK] = "a value that is no candidate of its pick",
    [TN_REJECT_POSTPROC] = "a postprocessor leaves it out, or does a step that is refused",
    [TN_REJECT_DECISION] = "no decision of that sampling step, or no sampling step at all",
    [TN_REJECT_PRAGMA] = "there is no such pragma; there is auto_unroll_max_step",
    [TN_REJECT_AXIS] =
        "this target has no such axis; `parallel` makes tasks of a loop, and `vectorize` lanes",
    [TN_REJECT_TEMPLATE] = "the template, or the rule of sketches, makes no kernel of these choices, or one "
                           "that computes something "
                           "else",
    [TN_REJECT_TEXT] = "the trace text does not parse",
};

const tn_step_info tn_steps[TN_STEP_COUNT] = {
#define STEP(name, nin, narg, nout, random, doc) {#name, nin, narg, nout, random, doc},
#include "schedule/sched.def"
#undef STEP
};

static tn_step_fn *const run[TN_STEP_COUNT] = {
#define STEP(name, nin, narg, nout, random, doc) tn_do_##name,
#include "schedule/sched.def"
#undef STEP
};

void tn_sched_init(tn_sched *s, const tn_func *f, tn_arena *arena, tn_pool *pool)
{
    memset(s, 0, sizeof *s);
    s->arena = arena;
    s->func = tn_func_clone(f, arena, pool);
}

/* Doubles an arena array; the old one stays behind in the arena. */
static void *grown(tn_arena *a, const void *at, uint32_t n, uint32_t *cap, size_t size)
{
    *cap = *cap ? *cap * 2 : 16;
    void *p = tn_arena_array(a, *cap, size, 8);
    if (n)
        memcpy(p, at, n * size);
    return p;
}

tn_stmt *tn_sched_loop(const tn_sched *s, tn_ref v)
{
    tn_stmt *l = v < s->n_value ? s->loop[v] : NULL;
    return l && l->u.loop.kind == TN_LOOP_TENSOR ? NULL : l; /* a call of a unit stays as it is */
}

void tn_sched_consume(tn_sched *s, const tn_stmt *loop)
{
    for (uint32_t v = 0; v < s->n_value; v++)
        if (s->loop[v] == loop)
            s->loop[v] = NULL;
}

const char *tn_sched_var_name(tn_sched *s, const tn_expr *var) { return s->func->var[var->u.i].name; }

static bool name_taken(const tn_sched *s, const char *name)
{
    for (uint32_t v = 0; v < s->n_value; v++)
        if (strcmp(s->value_name[v], name) == 0)
            return true;
    return false;
}

static tn_ref new_value(tn_sched *s, const char *base, tn_stmt *loop, int64_t number)
{
    if (s->n_value == s->cap_value) {
        uint32_t cap = s->cap_value;
        s->loop = grown(s->arena, s->loop, s->n_value, &cap, sizeof *s->loop);
        cap = s->cap_value;
        s->number = grown(s->arena, s->number, s->n_value, &cap, sizeof *s->number);
        cap = s->cap_value;
        s->value_name = grown(s->arena, s->value_name, s->n_value, &cap, sizeof *s->value_name);
        s->cap_value = cap;
    }
    const char *name = base;
    for (int i = 2; strcmp(base, "_") != 0 && name_taken(s, name); i++)
        name = tn_arena_printf(s->arena, "%s_%d", base, i);
    s->loop[s->n_value] = loop;
    s->number[s->n_value] = number;
    s->value_name[s->n_value] = name;
    return (tn_ref)s->n_value++;
}

tn_ref tn_sched_value(tn_sched *s, const tn_step *t, int k, tn_stmt *loop)
{
    const char *base = t->out_name ? t->out_name[k] : tn_sched_var_name(s, loop->u.loop.var);
    tn_ref v = new_value(s, base, loop, TN_NO_NUMBER);
    if (strcmp(s->value_name[v], "_") != 0) /* trace and function call a loop alike */
        tn_func_name_var(s->func, loop->u.loop.var, s->value_name[v]);
    return v;
}

tn_ref tn_sched_number(tn_sched *s, const tn_step *t, int k, int64_t number)
{
    return new_value(s, t->out_name ? t->out_name[k] : "v", NULL, number);
}

/* ---- a copy to try steps on ---- */

typedef struct {
    tn_vec(tn_stmt *) at;
} loop_list;

static bool list_loop(tn_stmt *x, void *user)
{
    loop_list *l = user;
    if (x->kind == TN_S_FOR)
        tn_vec_push(&l->at, x);
    return true;
}

void tn_sched_fork(const tn_sched *s, tn_sched *out)
{
    loop_list here = {0}, there = {0};
    *out = *s;
    out->func = tn_func_clone(s->func, s->arena, s->func->pool);
    out->cap_value = s->n_value; /* what is added goes elsewhere */
    out->loop = TN_NEW_N(s->arena, tn_stmt *, s->n_value);
    tn_stmt_walk(&s->func->body, list_loop, NULL, &here);
    tn_stmt_walk(&out->func->body, list_loop, NULL, &there);
    for (size_t i = 0; i < here.at.n; i++)
        for (uint32_t v = 0; v < s->n_value; v++)
            if (s->loop[v] == here.at.at[i])
                out->loop[v] = there.at.at[i];
    tn_vec_deinit(&here.at);
    tn_vec_deinit(&there.at);
}

const tn_arg *tn_step_key(const tn_step *t, const char *key)
{
    for (int i = 0; i < t->narg; i++)
        if (t->arg[i].key && strcmp(t->arg[i].key, key) == 0)
            return &t->arg[i];
    return NULL;
}

static tn_verdict check_arity(const tn_sched *s, const tn_step *t)
{
    if (t->kind >= TN_STEP_COUNT)
        return TN_REJECT_NAME;
    const tn_step_info *k = &tn_steps[t->kind];
    if ((k->nin >= 0 && k->nin != t->nin) || (k->nin == -1 && t->nin == 0))
        return TN_REJECT_ARITY;
    if ((k->narg >= 0 && k->narg != t->narg) || (k->nout >= 0 && k->nout != t->nout))
        return TN_REJECT_ARITY;
    if (s->n_value + t->nout + 4u > UINT16_MAX)
        return TN_REJECT_ARITY;
    for (int i = 0; i < t->nin; i++) {
        if (!tn_sched_loop(s, t->in[i]))
            return TN_REJECT_LOOP;
        for (int j = 0; j < i; j++)
            if (t->in[i] == t->in[j])
                return TN_REJECT_LOOP;
    }
    for (int i = 0; i < t->narg; i++) {
        const tn_arg *a = &t->arg[i];
        if (a->value && (a->value > s->n_value || s->number[a->value - 1] == TN_NO_NUMBER ||
                         s->number[a->value - 1] != a->i))
            return TN_REJECT_NAME;
    }
    return TN_DONE;
}

tn_verdict tn_sched_do(tn_sched *s, tn_step *t)
{
    tn_verdict v = check_arity(s, t);
    if (v == TN_DONE)
        v = run[t->kind](s, t);
    if (v != TN_DONE)
        return v;
    if (s->n_step == s->cap_step)
        s->step = grown(s->arena, s->step, s->n_step, &s->cap_step, sizeof *s->step);
    tn_step *kept = &s->step[s->n_step++];
    *kept = *t;
    kept->in = tn_arena_copy(s->arena, t->in, t->nin * sizeof *t->in, 2);
    kept->out = tn_arena_copy(s->arena, t->out, t->nout * sizeof *t->out, 2);
    kept->out_name = NULL;
    tn_arg *arg = tn_arena_copy(s->arena, t->arg, t->narg * sizeof *t->arg, 8);
    for (int i = 0; i < t->narg; i++) {
        arg[i].key = arg[i].key ? tn_arena_strdup(s->arena, arg[i].key) : NULL;
        arg[i].s = arg[i].s ? tn_arena_strdup(s->arena, arg[i].s) : NULL;
    }
    kept->arg = arg;
    return TN_DONE;
}

/* ---- typed wrappers ---- */

int tn_sched_n_loops(const tn_sched *s, const char *block)
{
    tn_stmt *b = tn_func_block(s->func, block), *loop[TN_MAX_LOOPS];
    return b ? tn_stmt_loops(b, TN_MAX_LOOPS, loop) : -1;
}

tn_verdict tn_sched_loops(tn_sched *s, const char *block, uint16_t n, tn_ref out[])
{
    tn_step t = {.kind = TN_STEP_loops, .narg = 1, .arg = &(tn_arg){.s = block}, .nout = n, .out = out};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_split(tn_sched *s, tn_ref loop, int n_factor, const int64_t factor[], int tail,
                          tn_ref out[])
{
    tn_arg arg[10] = {0};
    if (n_factor < 1 || n_factor > 8)
        return TN_REJECT_ARITY;
    for (int i = 0; i < n_factor; i++)
        arg[i].i = factor[i];
    static const char *const text[] = {"guard", "mask", "exact"};
    arg[n_factor] = (tn_arg){.key = "tail", .s = text[tail]};
    tn_step t = {.kind = TN_STEP_split,
                 .nin = 1,
                 .in = &loop,
                 .narg = (uint16_t)(n_factor + (tail != TN_TAIL_GUARD)),
                 .arg = arg,
                 .nout = (uint16_t)(n_factor + 1),
                 .out = out};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_fuse(tn_sched *s, int n, const tn_ref loop[], tn_ref *out)
{
    tn_step t = {.kind = TN_STEP_fuse, .nin = (uint16_t)n, .in = loop, .nout = 1, .out = out};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_reorder(tn_sched *s, int n, const tn_ref loop[])
{
    tn_step t = {.kind = TN_STEP_reorder, .nin = (uint16_t)n, .in = loop};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_mark(tn_sched *s, enum tn_step_kind kind, int n, const tn_ref loop[])
{
    tn_step t = {.kind = (uint8_t)kind, .nin = (uint16_t)n, .in = loop};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_peel(tn_sched *s, tn_ref loop, int64_t first, int64_t last, tn_ref out[3])
{
    tn_arg arg[2] = {{.i = first}, {.i = last}};
    tn_step t = {.kind = TN_STEP_peel, .nin = 1, .in = &loop, .narg = 2, .arg = arg, .nout = 3, .out = out};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_block(tn_sched *s, enum tn_step_kind kind, const char *block, const char *arg)
{
    tn_arg a[2] = {{.s = block}, {.s = arg}};
    tn_step t = {.kind = (uint8_t)kind, .narg = arg ? 2 : 1, .arg = a};
    return tn_sched_do(s, &t);
}

tn_verdict tn_sched_cache_write(tn_sched *s, const char *block, const char *scope)
{
    return tn_sched_block(s, TN_STEP_cache_write, block, scope);
}

tn_verdict tn_sched_at(tn_sched *s, enum tn_step_kind kind, const char *block, tn_ref loop)
{
    tn_step t = {.kind = (uint8_t)kind, .nin = 1, .in = &loop, .narg = 1, .arg = &(tn_arg){.s = block}};
    return tn_sched_do(s, &t);
}
