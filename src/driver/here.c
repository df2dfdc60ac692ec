/* Building into this process: the unit's code by the target's generator, on the runtime. What a module borrows, code
 * and weights, belongs to an object of the session. */
#include "driver/api.h"
#include "tenon/host.h"

#include <string.h>

struct tn_here {
    tn_object object; /* first */
    void *params;
    tn_resource *code;
};

tn_here *tn_here_new(tenon *t) { return tn_object_new(t, sizeof(tn_here)); }

typedef struct room {
    tn_here *x;
    const tn_generator *generator;
    size_t bytes; /* of the weights */
} room;

/* In the object's heap. */
static void make_room(void *user)
{
    const room *r = user;
    r->x->code = tn_resource_new(r->generator->here_free);
    r->x->params = tn_alloc_aligned(r->bytes);
}

/* In pieces, because the call may be to end. */
static void copy(char *to, const tn_buf *from)
{
    enum { PIECE = 4 << 20 };
    for (size_t at = 0; at < from->n; at += PIECE) {
        tn_poll_now();
        memcpy(to + at, from->at + at, from->n - at < PIECE ? from->n - at : PIECE);
    }
}

tn_status tn_here_make(tn_build *b, const void *params, size_t n, void **out_code, tnr_module **out)
{
    const tn_generator *g = b->target.row->generator;
    tn_code_cache cache;
    const tn_code_options options = tn_code_begin(b, &cache);
    const tn_library *library;
    tnr_module *module = NULL;
    tnr_error err;
    double start = tn_now();
    TN_TRY(g->here(&b->unit, &options, out_code, &library));
    b->seconds.codegen = tn_now() - start;
    const tnr_parts parts = {.library = library, .params = params, .params_n = n};
    if (!tnr_module_open_parts(&parts, &module, &err) && !tnr_host_register_all(module, &err)) {
        *out = module;
        return TN_OK;
    }
    tnr_module_release(module);
    return tn_error(b->ctx, "driver-E073", NULL, "%s", err.message);
}

tn_status tn_here_open(tenon *t, tn_here *x, tnr_module **out)
{
    tn_build *b = &t->build;
    const tn_generator *g = b->target.row->generator;
    if (!g->here)
        return tn_error(b->ctx, "driver-E104", NULL,
                        "target %s makes no code in this process; use target llvm", b->target.text);
    tn_params_make(b, &(tn_sink){.buf = &t->data});
    tn_raised raised = tn_protect(&x->object.heap, make_room, &(room){x, g, t->data.n});
    if (raised.kind)
        tn_raise(raised);
    copy(x->params, &t->data);
    return tn_here_make(b, x->params, t->data.n, &x->code->at, out);
}

int tn_here_end(tn_here *x, int failed)
{
    if (failed && x)
        tn_object_drop((tn_object *)x);
    return failed;
}

typedef struct {
    tn_here *x;
    tnr_module **out;
    tenon_report *report;
} here_call;

static tn_status build_here(tenon *t, void *user)
{
    const here_call *c = user;
    TN_TRY(tn_report_check(t, c->report));
    TN_TRY(tn_target_parse(&t->build));
    TN_TRY(tn_stage_kernels_for_code(&t->build));
    TN_TRY(tn_here_open(t, c->x, c->out));
    tn_passes_report(&t->build);
    if (c->report)
        tn_report_fill(t, 0, c->report);
    return TN_OK;
}

int tenon_build_here(tenon_module *m, const tenon_options *o, tnr_module **out_module, tenon_report *report)
{
    tn_here *x = m ? tn_here_new(m->object.session) : NULL;
    *out_module = NULL;
    return tn_here_end(x, !x || tn_module_call(m, o, build_here, &(here_call){x, out_module, report}));
}
