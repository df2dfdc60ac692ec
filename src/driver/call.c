/* Public calls: beginning, ending, and being ended early. */
#include "driver/api.h"

#include <string.h>

/* ---- objects ---- */

/* Nothing of the last call is left. */
static void reset(tenon *t)
{
    if (t->frozen)
        tn_ctx_thaw(&t->frozen->ctx);
    t->frozen = NULL;
    tn_heap_free(&t->heap);
    tn_heap_free(&t->kept);
    memset(&t->build, 0, sizeof t->build);
    t->messages = t->text = t->data = (tn_buf){0};
    t->speechless = false;
    t->diag = NULL;
    tn_ctx_init(&t->ctx);
}

void tn_object_drop(tn_object *o)
{
    if (o->prev)
        o->prev->next = o->next;
    else
        o->session->objects = o->next;
    if (o->next)
        o->next->prev = o->prev;
    tn_heap_free(&o->heap);
    tn_free(o);
}

void tn_object_borrow(tn_object *o, tn_object *lender)
{
    o->lender = lender;
    lender->n_borrower++;
}

void tn_object_free(tn_object *o)
{
    if (!o)
        return;
    reset(o->session); /* results of the last call may be of this object */
    o->freed = true;
    while (o && o->freed && !o->n_borrower) {
        tn_object *lender = o->lender;
        tn_object_drop(o);
        if (lender)
            lender->n_borrower--;
        o = lender;
    }
}

tenon *tenon_new(void)
{
    tenon *t = tn_alloc_apart_try(sizeof *t);
    if (!t)
        return NULL;
    tn_heap_init(&t->heap);
    tn_heap_init(&t->kept);
    tn_ctx_init(&t->ctx);
    return t;
}

void tenon_free(tenon *t)
{
    if (!t)
        return;
    reset(t);
    while (t->objects)
        tn_object_drop(t->objects);
    tn_free(t);
}

/* ---- options ---- */

tn_status tn_report_no_size(tn_ctx *ctx, const char *type)
{
    return tn_error(ctx, "driver-E100", NULL,
                    "a %s does not say how large it is; set its member size to sizeof(%s)", type, type);
}

tn_status tn_options_copy(tn_ctx *ctx, const char *type, void *out, size_t n, const void *given,
                          size_t n_given, size_t least)
{
    if (n_given < least)
        return tn_report_no_size(ctx, type);
    for (size_t i = n; i < n_given; i++)
        if (((const char *)given)[i])
            return tn_error(
                ctx, "driver-E101", NULL,
                "the options are those of a newer version, which tenon %s does not know; link that version",
                TENON_VERSION);
    memcpy(out, given, n_given < n ? n_given : n);
    return TN_OK;
}

tn_status tn_options_read(tn_ctx *ctx, const tenon_options *o, tenon_options *out)
{
    *out = (tenon_options){0};
    if (o)
        TN_TRY(tn_options_copy(ctx, "tenon_options", out, sizeof *out, o, o->size,
                               offsetof(tenon_options, machine_file)));
    out->size = sizeof *out;
    return TN_OK;
}

static tn_limits limits_of(const tenon_options *o)
{
    tenon_options known = {0};
    if (o && o->size >= offsetof(tenon_options, machine_file))
        memcpy(&known, o, o->size < sizeof known ? o->size : sizeof known);
    tn_limits l = {.memory_bytes = known.max_memory > 0 ? (uint64_t)known.max_memory << 20 : 0,
                   .seconds = known.max_seconds > 0 ? known.max_seconds : 0,
                   .nodes = known.max_nodes > 0 ? (uint64_t)known.max_nodes : 0,
                   .cancel = known.cancel};
    const tn_guard *outer = tn_guard_get(); /* a call within a call has no more time than that one */
    double left = outer && outer->heap && outer->heap->deadline > 0 ? outer->heap->deadline - tn_now() : 0;
    if (left != 0 && (l.seconds <= 0 || left < l.seconds))
        l.seconds = left > 1e-9 ? left : 1e-9;
    return l;
}

/* ---- diagnostics ---- */

static void publish(tenon *t)
{
    static const enum tenon_severity severity[] = {
        [TN_NOTE] = TENON_NOTE, [TN_WARNING] = TENON_WARNING, [TN_ERROR] = TENON_ERROR};
    tn_ctx *c = &t->ctx;
    tenon_diagnostic *all = TN_NEW_N(&c->arena, tenon_diagnostic, c->n_diag);
    tn_diag_print_all(c, &t->messages);
    for (size_t i = 0; i < c->n_diag; i++) {
        const tn_diag *d = &c->diag[i];
        size_t n = d->n_text;
        all[i] = (tenon_diagnostic){.id = d->id,
                                    .severity = severity[d->severity],
                                    .file = d->loc.file,
                                    .line = d->loc.line,
                                    .col = d->loc.col,
                                    .node = d->loc.node,
                                    .op = d->loc.op,
                                    .text = tn_arena_strndup(&c->arena, d->message, n),
                                    .hint = strlen(d->message) > n + 2 ? d->message + n + 2 : NULL};
    }
    t->diag = all;
}

typedef struct told {
    tenon *t;
    const tn_ctx *ctx;       /* whose reports */
    const tn_raised *raised; /* and why the call was ended; NULL: it was not */
} told;

/* The reports of another context become the session's. */
static void tell(void *user)
{
    const told *x = user;
    tn_ctx ctx;
    tn_ctx_init(&ctx);
    for (size_t i = 0; i < x->ctx->n_diag; i++)
        tn_diag_copy(&ctx, &x->ctx->diag[i]);
    if (x->raised)
        (void)tn_report_raised(&ctx, x->raised);
    x->t->ctx = ctx;
    publish(x->t);
}

static void tell_in(tn_heap *h, tenon *t, const tn_ctx *ctx, const tn_raised *raised)
{
    t->messages = t->text = t->data = (tn_buf){0};
    t->speechless = tn_protect(h, tell, &(told){t, ctx, raised}).kind != TN_RAISED_NOTHING;
    if (t->speechless)
        tn_ctx_init(&t->ctx);
}

void *tn_object_new(tenon *t, size_t bytes)
{
    tn_object *o = tn_alloc_apart_try(bytes);
    if (!o) {
        reset(t);
        tell_in(&t->kept, t, &t->ctx, &(tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = bytes});
        return NULL;
    }
    o->session = t;
    o->next = t->objects;
    if (o->next)
        o->next->prev = o;
    t->objects = o;
    tn_heap_init(&o->heap);
    tn_ctx_init(&o->ctx);
    return o;
}

const char *tenon_messages(const tenon *t)
{
    return t->speechless ? "error: there is not enough memory, not even for messages [base-E004]\n"
                         : tn_buf_cstr(&t->messages);
}

size_t tenon_diagnostic_count(const tenon *t) { return t->speechless ? 1 : t->diag ? t->ctx.n_diag : 0; }

const tenon_diagnostic *tenon_diagnostic_get(const tenon *t, size_t i)
{
    static const tenon_diagnostic exhausted = {.text = "there is not enough memory, not even for messages",
                                               .severity = TENON_ERROR,
                                               .id = "base-E004"};
    if (i >= tenon_diagnostic_count(t))
        return NULL;
    return t->speechless ? &exhausted : &t->diag[i];
}

void tn_session_fail(tenon *t, bool (*fail)(void *user), void *user)
{
    t->fail = fail;
    t->fail_user = user;
}

/* ---- calls that look ---- */

typedef struct call {
    tenon *t;
    tn_object *x;    /* that is looked at; NULL: none */
    tenon_module *m; /* the same, if a copy of it is wanted */
    const tenon_options *o;
    tn_session_fn *fn;
    void *user;
    bool failed;
} call;

static tn_status say_dead(tenon *t, void *user)
{
    (void)user;
    return tn_error(&t->ctx, "driver-E103", NULL,
                    "this is of no use, since a call that was changing it was ended early; make it again");
}

static tn_status no_program(call *c)
{
    const tn_loc loc = {.file = c->m->build.model};
    if (c->m->tir)
        return tn_error(&c->t->ctx, "driver-E102", &loc,
                        "this is a module of TIR functions; a program is made of Relay");
    return tn_error(&c->t->ctx, "relay-E200", &loc,
                    "there is no function @main; call the function to run so");
}

static tn_status look(call *c)
{
    tenon *t = c->t;
    tenon_options known;
    if (c->x && c->x->dead)
        return say_dead(t, NULL);
    if (c->x)
        tn_ctx_child_init(&t->ctx, &c->x->ctx);
    TN_TRY(tn_options_read(&t->ctx, c->o, &known));
    if (!c->m)
        tn_build_init(&t->build, &t->ctx, &known);
    else if (c->m->tir || !tn_graph_function(&c->m->build.graph, "main"))
        return no_program(c);
    else
        tn_build_init_from(&t->build, &c->m->build, &t->ctx, &known);
    return c->fn(t, c->user);
}

static void run(void *user)
{
    call *c = user;
    tn_status st = look(c);
    c->failed = st != TN_OK || c->t->ctx.n_error > 0;
    publish(c->t);
}

static int look_at(call c)
{
    tenon *t = c.t;
    const tn_limits limits = limits_of(c.o);
    reset(t);
    if (c.x && !c.x->dead) {
        tn_ctx_freeze(&c.x->ctx);
        t->frozen = c.x;
    }
    tn_heap_limit(&t->heap, &limits);
    t->heap.fail = t->fail;
    t->heap.fail_user = t->fail_user;
    tn_raised raised = tn_protect(&t->heap, run, &c);
    t->heap.fail = NULL;
    if (!raised.kind)
        return c.failed;
    tell_in(&t->kept, t, &t->ctx, &raised);
    memset(&t->build, 0, sizeof t->build);
    tn_heap_free(&t->heap);
    return 1;
}

int tn_session_call(tenon *t, const tenon_options *o, tn_session_fn *fn, void *user)
{
    return look_at((call){.t = t, .o = o, .fn = fn, .user = user});
}

int tn_module_call(tenon_module *m, const tenon_options *o, tn_session_fn *fn, void *user)
{
    tenon *t = m ? m->object.session : NULL;
    return m ? look_at((call){.t = t, .x = &m->object, .m = m, .o = o, .fn = fn, .user = user}) : 1;
}

int tn_object_call(tn_object *x, const tenon_options *o, tn_session_fn *fn, void *user)
{
    return x ? look_at((call){.t = x->session, .x = x, .o = o, .fn = fn, .user = user}) : 1;
}

/* ---- calls that change ---- */

typedef struct change {
    tn_object *x;
    tn_object_fn *fn;
    void *user;
    bool failed;
} change;

static void run_change(void *user)
{
    change *c = user;
    tn_diag_clear(&c->x->ctx);
    c->failed = c->fn(c->x, c->user) != TN_OK || c->x->ctx.n_error > 0;
}

int tn_object_change(tn_object *x, const tenon_options *o, tn_object_fn *fn, void *user)
{
    if (!x)
        return 1;
    tenon *t = x->session;
    change c = {.x = x, .fn = fn, .user = user};
    const tn_limits limits = limits_of(o);
    if (x->dead)
        return tn_session_call(t, NULL, say_dead, NULL);
    reset(t);
    tn_heap_limit(&x->heap, &limits);
    x->heap.fail = t->fail;
    x->heap.fail_user = t->fail_user;
    tn_raised raised = tn_protect(&x->heap, run_change, &c);
    x->heap.fail = NULL;
    tell_in(&t->kept, t, &x->ctx, raised.kind ? &raised : NULL);
    if (!raised.kind)
        return c.failed || t->speechless;
    tn_heap_end(&x->heap); /* its memory stays: the user has handles in it */
    x->dead = true;
    return 1;
}
