/* Sampling steps: a choice is drawn, and the trace records what was drawn, so that it replays to the same schedule.
 *
 *     a b = sample_perfect_tile i decision=4x16      a = 4, b = 16: numbers, which later steps may use
 *     v = sample_categorical 1 2 4 8 decision=2      v = 4
 *     l = sample_compute_location "out" decision=0   the first loop that `reverse_compute_at "out" l` accepts
 *
 * Without a decision one is drawn: from `seed=` if it is given, and from the number of the step. tn_trace_mutate draws
 * one of them again.
 */
#include "schedule/sched_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { MAX_PARTS = 16, MAX_WAYS = 64 };

static tn_rng generator(const tn_sched *s, const tn_step *t)
{
    const tn_arg *seed = tn_step_key(t, "seed");
    tn_rng r = {(seed && !seed->s ? (uint64_t)seed->i : 0) * 1000003 + s->n_step + 1};
    (void)tn_rng_next(&r); /* seeds that are near to each other */
    return r;
}

/* No more than `plain` arguments without a key, and keys that are known. */
static bool known_keys(const tn_step *t, int plain, const char *own)
{
    bool known = true;
    for (int i = 0; i < t->narg; i++) {
        const char *key = t->arg[i].key;
        known &= key || plain-- > 0;
        known &= !key || strcmp(key, "decision") == 0 || (strcmp(key, "seed") == 0 && !t->arg[i].s) ||
                 (own && strcmp(key, own) == 0);
    }
    return known;
}

/* The step with the decision instead of the seed. */
static void decide(tn_sched *s, tn_step *t, const char *text)
{
    tn_arg *arg = TN_NEW_N(s->arena, tn_arg, t->narg + 1u);
    uint16_t n = 0;
    for (int i = 0; i < t->narg; i++)
        if (!t->arg[i].key || (strcmp(t->arg[i].key, "seed") != 0 && strcmp(t->arg[i].key, "decision") != 0))
            arg[n++] = t->arg[i];
    char *end;
    int64_t number = strtoll(text, &end, 10);
    arg[n++] = *end ? (tn_arg){.key = "decision", .s = text} : (tn_arg){.key = "decision", .i = number};
    t->arg = arg;
    t->narg = n;
}

/* ---- tiles ---- */

/* "4x16": n positive numbers whose product is `whole`. */
static bool read_parts(const tn_arg *decision, int n, int64_t whole, int64_t out[])
{
    int64_t product = 1;
    const char *at = decision->s;
    for (int i = 0; i < n; i++) {
        char *end;
        out[i] = decision->s ? strtoll(at, &end, 10) : decision->i;
        if (out[i] < 1 || out[i] > whole || (product *= out[i]) > whole)
            return false;
        if (decision->s && (end == at || *end != (i + 1 < n ? 'x' : 0)))
            return false;
        at = decision->s ? end + 1 : NULL;
    }
    return product == whole && (decision->s != NULL) == (n > 1);
}

/* A divisor of `whole` that is at most `most`: each with the same chance. */
static int64_t some_divisor(tn_rng *r, int64_t whole, int64_t most)
{
    int64_t taken = 1, n = 0;
    for (int64_t k = 1; k <= whole && k <= most; k++)
        if (whole % k == 0 && tn_rng_below(r, (uint64_t)++n) == 0)
            taken = k;
    return taken;
}

tn_verdict tn_do_sample_perfect_tile(tn_sched *s, tn_step *t)
{
    const tn_arg *most = tn_step_key(t, "max"), *decision = tn_step_key(t, "decision");
    int64_t part[MAX_PARTS], whole, limit = most ? most->i : INT64_MAX;
    int n = t->nout;
    if (n < 2 || n > MAX_PARTS)
        return TN_REJECT_ARITY;
    if (!known_keys(t, 0, "max") || (most && most->s))
        return TN_REJECT_NAME;
    if (!tn_is_int(tn_sched_loop(s, t->in[0])->u.loop.extent, &whole) || whole < 1 || whole > (1 << 24))
        return TN_REJECT_LOOP;
    if (decision && (!read_parts(decision, n, whole, part) || part[n - 1] > limit))
        return TN_REJECT_DECISION;
    if (!decision) {
        tn_rng r = generator(s, t);
        int64_t rest = whole;
        for (int i = n - 1; i > 0; i--) {
            part[i] = some_divisor(&r, rest, i == n - 1 ? limit : rest);
            rest /= part[i];
        }
        part[0] = rest;
    }
    if (limit < 1)
        return TN_REJECT_FACTOR;
    const char *text = "";
    for (int i = 0; i < n; i++) {
        text = tn_arena_printf(s->arena, "%s%s%lld", text, i ? "x" : "", (long long)part[i]);
        t->out[i] = tn_sched_number(s, t, i, part[i]);
    }
    decide(s, t, text);
    return TN_DONE;
}

/* ---- one of several ---- */

/* "3,1,1": a weight each. */
static bool read_weights(const char *at, int n, uint64_t out[], uint64_t *out_sum)
{
    *out_sum = 0;
    for (int i = 0; i < n; i++) {
        char *end;
        int64_t w = strtoll(at, &end, 10);
        if (end == at || w < 0 || w > (1 << 24) || *end != (i + 1 < n ? ',' : 0))
            return false;
        *out_sum += out[i] = (uint64_t)w;
        at = end + 1;
    }
    return *out_sum > 0;
}

tn_verdict tn_do_sample_categorical(tn_sched *s, tn_step *t)
{
    const tn_arg *decision = tn_step_key(t, "decision"), *weights = tn_step_key(t, "weights");
    uint64_t weight[MAX_WAYS], sum = 0;
    int64_t value[MAX_WAYS], taken = 0;
    int n = 0;
    if (!known_keys(t, MAX_WAYS, "weights"))
        return TN_REJECT_NAME;
    for (int i = 0; i < t->narg; i++) {
        if (t->arg[i].key)
            continue;
        if (t->arg[i].s || n == MAX_WAYS)
            return TN_REJECT_ARITY;
        weight[n] = 1;
        value[n++] = t->arg[i].i;
        sum++;
    }
    if (n == 0 || (weights && (!weights->s || !read_weights(weights->s, n, weight, &sum))))
        return TN_REJECT_ARITY;
    if (decision && (decision->s || decision->i < 0 || decision->i >= n))
        return TN_REJECT_DECISION;
    if (decision) {
        taken = decision->i;
    } else {
        tn_rng r = generator(s, t);
        uint64_t at = tn_rng_below(&r, sum);
        while (at >= weight[taken])
            at -= weight[taken++];
    }
    t->out[0] = tn_sched_number(s, t, 0, value[taken]);
    decide(s, t, tn_arena_printf(s->arena, "%d", (int)taken));
    return TN_DONE;
}

/* ---- a place ---- */

typedef struct {
    tn_stmt *at[MAX_WAYS];
    int n;
} loops;

static bool note_loop(tn_stmt *x, void *user)
{
    loops *l = user;
    if (x->kind == TN_S_FOR && l->n < MAX_WAYS)
        l->at[l->n++] = x;
    return x->kind != TN_S_BLOCK;
}

/* Would the block move under the loop? Tried on a copy. */
static bool goes_under(tn_sched *s, const char *block, tn_stmt *loop)
{
    tn_sched trial;
    tn_step name = {0};
    tn_ref l, none;
    tn_sched_fork(s, &trial);
    /* a loop of the copy has the place in the copy that it has here */
    loops here = {.n = 0}, there = {.n = 0};
    tn_stmt_walk(&s->func->body, note_loop, NULL, &here);
    tn_stmt_walk(&trial.func->body, note_loop, NULL, &there);
    for (int i = 0; i < here.n; i++)
        if (here.at[i] == loop)
            loop = there.at[i];
    l = tn_sched_value(&trial, &name, 0, loop);
    if (!tn_sched_loop(&trial, l))
        return false;
    tn_step t = {.nin = 1, .in = &l, .narg = 1, .arg = &(tn_arg){.s = block}, .out = &none};
    return tn_do_reverse_compute_at(&trial, &t) == TN_DONE;
}

tn_verdict tn_do_sample_compute_location(tn_sched *s, tn_step *t)
{
    const tn_arg *decision = tn_step_key(t, "decision");
    const char *block = t->narg == 0 || t->arg[0].key ? NULL : t->arg[0].s;
    loops all = {.n = 0};
    int n = 0;
    if (!block || !tn_func_block(s->func, block) || !known_keys(t, 1, NULL))
        return TN_REJECT_NAME;
    tn_stmt_walk(&s->func->body, note_loop, NULL, &all);
    for (int i = 0; i < all.n; i++)
        if (goes_under(s, block, all.at[i]))
            all.at[n++] = all.at[i];
    if (n == 0)
        return TN_REJECT_LOOP;
    if (decision && (decision->s || decision->i < 0 || decision->i >= n))
        return TN_REJECT_DECISION;
    tn_rng r = generator(s, t);
    int taken = decision ? (int)decision->i : (int)tn_rng_below(&r, (uint64_t)n);
    t->out[0] = tn_sched_value(s, t, 0, all.at[taken]);
    decide(s, t, tn_arena_printf(s->arena, "%d", taken));
    return TN_DONE;
}

/* ---- mutation ---- */

static bool is_sampled(const tn_step *t) { return tn_step_key(t, "decision") != NULL; }

static bool same_decision(const tn_step *a, const tn_step *b)
{
    const tn_arg *x = tn_step_key(a, "decision"), *y = tn_step_key(b, "decision");
    return x->s && y->s ? strcmp(x->s, y->s) == 0 : x->s == y->s && x->i == y->i;
}

/* Step `at` of s again, in `out`; drawn from a seed if that is not 0. */
static tn_verdict do_again(const tn_sched *s, uint32_t at, int64_t seed, tn_sched *out)
{
    tn_step t = s->step[at];
    tn_arg *arg = TN_NEW_N(out->arena, tn_arg, t.narg + 1u);
    const char **name = TN_NEW_N(out->arena, const char *, t.nout);
    for (int i = 0; i < t.narg; i++) {
        arg[i] = t.arg[i];
        if (seed && arg[i].key && strcmp(arg[i].key, "decision") == 0)
            arg[i] = (tn_arg){.key = "seed", .i = seed};
        if (arg[i].value) /* as it is now */
            arg[i].i = out->number[arg[i].value - 1];
    }
    for (int i = 0; i < t.nout; i++)
        name[i] = s->value_name[t.out[i]];
    t.arg = arg;
    t.out = TN_NEW_N(out->arena, tn_ref, t.nout);
    t.out_name = name;
    return tn_sched_do(out, &t);
}

tn_verdict tn_trace_mutate(const tn_sched *s, const tn_func *f, tn_rng *r, tn_arena *arena, tn_pool *pool,
                           tn_sched *out)
{
    enum { TRIES = 16 };
    uint32_t n = 0, at = 0;
    tn_verdict v = TN_DONE;
    for (uint32_t i = 0; i < s->n_step; i++)
        if (is_sampled(&s->step[i]) && tn_rng_below(r, ++n) == 0)
            at = i;
    if (n == 0)
        return TN_REJECT_DECISION;
    for (int k = 0; k < TRIES; k++) {
        tn_sched_init(out, f, arena, pool);
        v = TN_DONE;
        for (uint32_t i = 0; i <= at && v == TN_DONE; i++)
            v = do_again(s, i, i == at ? 1 + (int64_t)tn_rng_below(r, 1 << 30) : 0, out);
        if (v != TN_DONE || !same_decision(&s->step[at], &out->step[at]))
            break;
    }
    for (uint32_t i = at + 1; i < s->n_step && v == TN_DONE; i++)
        v = do_again(s, i, 0, out);
    return v;
}
