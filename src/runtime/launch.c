/* Kernel launch: the first variant whose guard holds; its phase list once per step; each phase's tasks on the
 * pool. */
#include "runtime/launch.h"

#include "runtime/error.h"
#include "runtime/pool.h"

#include <inttypes.h>
#include <string.h>

static const tn_host host = {.version = TENON_ABI_VERSION};

struct phase_run {
    tn_phase_fn *run;
    const tn_call *call;
    uint8_t *scratch;
    uint64_t stride;
    uint32_t step, tasks;
    const tnr_call_site *site;
    tnr_error *err; /* of the caller's thread: member 0 */
};

enum { CANCELLED = INT32_MIN }; /* no kernel's status */

static int32_t run_task(void *context, uint32_t task, uint32_t member)
{
    const struct phase_run *p = context;
    if (member == 0 && tnr_cancel_look(p->site->cancel, p->site->position, p->err))
        return CANCELLED;
    return p->run(p->call, p->step, task, p->scratch ? p->scratch + member * p->stride : NULL);
}

/* In a debug run: what depends on another task, or on what it left in the scratch memory, comes out wrong. */
static int32_t check_task(void *context, uint32_t task, uint32_t member)
{
    const struct phase_run *p = context;
    if (p->scratch)
        memset(p->scratch, 0xff, (size_t)p->stride);
    return run_task(context, p->tasks - 1 - task, member);
}

int64_t tnr_variant_find(const tn_kernel *kernel, const int64_t *sym)
{
    for (uint32_t v = 0; v < kernel->n_variant; v++)
        if (tnr_size_get(kernel->variant[v].guard, sym) != 0)
            return v;
    return -1;
}

static tnr_status phase_failed(const tnr_call_site *s, int32_t status, tnr_error *err)
{
    const tn_kernel *k = s->kernel;
    if (status == CANCELLED)
        return TNR_E_CANCEL;
    if (status > 0 && (uint32_t)status <= k->n_check)
        return tnr_fail(err, TNR_E_CHECK, s->position, "%.400s: %.400s", s->node, k->check[status - 1]);
    return tnr_fail(err, TNR_E_FORMAT, s->position,
                    "%.400s: kernel %.400s returned status %" PRId32 ", which it does not define", s->node,
                    k->name, status);
}

static tnr_status corrupt(const tnr_call_site *s, const char *what, int64_t value, tnr_error *err)
{
    return tnr_fail(err, TNR_E_FORMAT, s->position, "%.400s: kernel %.400s asks for %" PRId64 " %s", s->node,
                    s->kernel->name, value, what);
}

tnr_status tnr_launch(const tnr_call_site *s, uint32_t *out_variant, tnr_error *err)
{
    int64_t index = tnr_variant_find(s->kernel, s->sym);
    if (index < 0)
        return tnr_fail(err, TNR_E_FORMAT, s->position,
                        "%.400s: kernel %.400s has no variant for these dimensions", s->node,
                        s->kernel->name);
    const tn_variant *v = &s->kernel->variant[index];
    int64_t steps = tnr_size_get(v->steps, s->sym), work = tnr_size_get(v->work_bytes, s->sym);
    if (steps < 0 || steps > UINT32_MAX)
        return corrupt(s, "steps", steps, err);
    if (work < 0 || (uint64_t)work > s->work_room)
        return corrupt(s, "bytes of work memory, more than planned", work, err);
    tn_call call = {
        .arg = s->arg, .sym = s->sym, .work = work ? s->work : NULL, .host = &host, .user = s->user};
    struct phase_run run = {.call = &call,
                            .scratch = v->scratch_bytes ? s->scratch : NULL,
                            .stride = s->scratch_stride,
                            .site = s,
                            .err = err};
    for (int64_t step = 0; step < steps; step++) {
        run.step = (uint32_t)step;
        for (uint64_t p = 0; p < v->n_phase; p++) {
            int64_t tasks = tnr_size_get(v->phase[p].tasks, s->sym);
            if (tasks < 0 || tasks > UINT32_MAX)
                return corrupt(s, "tasks", tasks, err);
            run.run = v->phase[p].run;
            run.tasks = (uint32_t)tasks;
            int32_t status =
                tnr_pool_run(run.tasks, s->check ? 1 : s->threads, s->check ? check_task : run_task, &run);
            if (status)
                return phase_failed(s, status, err);
        }
    }
    *out_variant = (uint32_t)index;
    return TNR_OK;
}
