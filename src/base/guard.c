/* Guards and resources. See guard.h for what unwinding does and does not. */
#include "base/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __GLIBC__ /* a shared object that is opened late finds room for the few bytes */
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local tn_guard *current;

static tn_guard **(*_Atomic elsewhere)(void); /* in a shared object */

tn_guard **tn_guard_place(void)
{
    tn_guard **(*place)(void) = atomic_load_explicit(&elsewhere, memory_order_relaxed);
    return place ? place() : &current;
}

void tn_guard_share(tn_guard **(*place)(void))
{
    atomic_store_explicit(&elsewhere, place, memory_order_relaxed);
}

tn_guard *tn_guard_get(void) { return *tn_guard_place(); }

double tn_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

tn_raised tn_protect(tn_heap *heap, void (*fn)(void *user), void *user)
{
    tn_guard **place = tn_guard_place(), g = {.outer = *place, .heap = heap, .user = user};
    if (!heap || (g.outer && g.outer->heap == heap)) {
        g.heap = g.outer ? g.outer->heap : NULL;
        g.shard = g.outer ? g.outer->shard : NULL;
    } else {
        g.shard = &heap->shard[atomic_fetch_add(&heap->n_guard, 1) % TN_SHARDS];
    }
    *place = &g;
    if (_setjmp(g.jump) == 0)
        fn(user);
    *tn_guard_place() = g.outer;
    return g.raised;
}

/* Nobody stands ready to catch it: a test of internals, or a debugger was asked for. */
_Noreturn static void end_process(const tn_raised *r)
{
    if (r->kind == TN_RAISED_BROKEN)
        fprintf(stderr, "tenon: %s:%d: internal error: %s does not hold\n", r->file, r->line, r->text);
    else
        fprintf(stderr, "tenon: out of memory (%llu bytes)\n", (unsigned long long)r->amount);
    abort();
}

_Noreturn void tn_raise(tn_raised r)
{
    tn_guard *g = tn_guard_get();
    if (!g || (r.kind == TN_RAISED_BROKEN && getenv("TENON_ABORT")))
        end_process(&r);
    g->raised = r;
    _longjmp(g->jump, 1);
}

void tn_poll(void)
{
    tn_guard *g = tn_guard_get();
    tn_heap *h = g ? g->heap : NULL;
    if (!h)
        return;
    if (h->limits.cancel && __atomic_load_n(h->limits.cancel, __ATOMIC_RELAXED))
        tn_raise((tn_raised){.kind = TN_RAISED_CANCEL});
    if (h->deadline > 0 && g->n_poll++ % 64 == 0 && tn_now() > h->deadline)
        tn_raise((tn_raised){.kind = TN_RAISED_SECONDS, .amount = (uint64_t)(h->limits.seconds * 1e3)});
}

void tn_poll_now(void)
{
    tn_guard *g = tn_guard_get();
    if (g)
        g->n_poll = 0;
    tn_poll();
}

void tn_check_nodes(uint64_t n)
{
    const tn_guard *g = tn_guard_get();
    const tn_heap *h = g ? g->heap : NULL;
    if (h && h->limits.nodes && n > h->limits.nodes)
        tn_raise((tn_raised){.kind = TN_RAISED_NODES, .amount = h->limits.nodes});
}

/* ---- resources ---- */

tn_resource *tn_resource_new(void (*release)(tn_resource *r))
{
    tn_resource *r = tn_alloc_array(1, sizeof *r);
    const tn_guard *g = tn_guard_get();
    tn_heap *h = g ? g->heap : NULL;
    r->heap = h;
    r->release = release;
    if (!h)
        return r;
    tn_shard_lock(&h->shard[0]);
    r->next = h->resources;
    if (r->next)
        r->next->prev = r;
    h->resources = r;
    tn_shard_unlock(&h->shard[0]);
    return r;
}

static void unlist(tn_resource *r)
{
    tn_heap *h = r->heap;
    if (!h)
        return;
    tn_shard_lock(&h->shard[0]);
    if (r->next)
        r->next->prev = r->prev;
    *(r->prev ? &r->prev->next : &h->resources) = r->next;
    tn_shard_unlock(&h->shard[0]);
    r->heap = NULL;
}

void tn_resource_drop(tn_resource *r)
{
    if (r)
        unlist(r);
    tn_free(r);
}

void tn_resource_keep(tn_resource *r)
{
    unlist(r);
    tn_disown(r);
}

void tn_resource_end(tn_resource *r)
{
    if (r && r->at)
        r->release(r);
    tn_resource_drop(r);
}
