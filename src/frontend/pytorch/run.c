/* Runs of the model: messages, what changes, and the paths of a model that is read several times.
 *
 * A run begins at the first statement. Where a condition splits it, the rest is read in two regions, each by a run of
 * its own that meets the same conditions up to there and knows the outcome of that one; what they give is the result of
 * an `if`, and the first run is over. */
#include "frontend/pytorch/pytorch.h"

#include "op/control/control.h"
#include "op/core/core.h"

#include <stdarg.h>

/* ---- messages ---- */

const tn_loc *pt_place(pt_import *p, const char *op)
{
    const char *where = p->file ? tn_arena_printf(&p->im.scratch, "%s:%d", p->file, p->line) : NULL;
    if (p->loc && p->loc_file == p->file && p->loc_line == p->line && p->loc->op == op)
        return p->loc;
    p->loc = imp_make_loc(&p->im, where ? tn_intern(p->im.g->ctx, where) : NULL,
                          op ? tn_intern(p->im.g->ctx, op) : NULL);
    p->loc_file = p->file;
    p->loc_line = p->line;
    return p->loc;
}

tn_status pt_fail(pt_import *p, const char *id, const char *fmt, ...)
{
    va_list ap;
    if (p->stop)
        return TN_FAIL;
    p->stop = true;
    va_start(ap, fmt);
    tn_status s = tn_vreport(p->im.g->ctx, TN_ERROR, id, pt_place(p, p->loc_op), fmt, ap);
    va_end(ap);
    return s;
}

void pt_stop_if_bad(pt_import *p, imp_node *c) { p->stop = p->stop || c->bad; }

bool pt_enter(pt_import *p)
{
    enum { MAX_STEPS = 20000000 };
    tn_poll();
    if (++p->steps > MAX_STEPS)
        pt_fail(p, "pytorch-E012", "the model runs more than %d expressions and statements", MAX_STEPS);
    else if (p->depth >= PT_MAX_DEPTH)
        pt_fail(p, "pytorch-E012", "expressions, calls or lists are nested more than %d deep", PT_MAX_DEPTH);
    else if (imp_too_much(&p->im, p->loc ? p->loc : pt_place(p, NULL)))
        p->stop = true;
    p->depth += !p->stop;
    return !p->stop;
}

/* ---- what changes ---- */

void pt_put(pt_cell *c, pt_value v)
{
    c->v = v;
    if (v.kind == PT_VALUE) /* of a tensor: views of it must look again */
        ((pt_tensor *)(void *)c)->stamp++;
}

void pt_set(pt_import *p, pt_cell *c, pt_value v)
{
    tn_vec_push(&p->log, ((pt_log){c, c->v}));
    pt_put(c, v);
}

void pt_undo(pt_import *p, size_t mark)
{
    while (p->log.n > mark) {
        pt_log l = tn_vec_pop(&p->log);
        pt_put(l.cell, l.before);
    }
}

bool pt_must_split(const pt_import *p, uint32_t number)
{
    for (size_t i = 0; i < p->splits.n; i++)
        if (p->splits.at[i] == number)
            return true;
    return false;
}

bool pt_usable(pt_import *p, pt_value v)
{
    if (v.kind != PT_UNKNOWN)
        return true;
    if (v.i >= 0 && !p->stop && pt_must_split(p, (uint32_t)v.i)) { /* which was not possible */
        pt_fail(
            p, "pytorch-E014",
            "the branches of a condition that only the run knows leave values of different types or ranks");
    } else if (v.i >= 0 && !p->stop) {
        tn_vec_push(&p->splits, (uint32_t)v.i);
        p->again = p->stop = true;
    }
    return false;
}

/* ---- regions ---- */

tn_region *pt_region_new(pt_import *p)
{
    tn_region *r = tn_region_new(p->im.g, NULL);
    tn_vec_push(&p->im.region, r);
    return r;
}

void pt_discard_regions(pt_import *p, size_t from)
{
    while (p->im.region.n > from) {
        tn_region *r = tn_vec_pop(&p->im.region);
        if (!r->holder)
            tn_region_discard(p->im.g, r);
    }
}

/* What a run made that is read again; constants stay, which the file's tensors know. */
static void remove_after(pt_import *p, tn_region *r, const tn_node *mark)
{
    for (tn_node *n = r->last, *before; n && n != mark; n = before) {
        before = n->prev;
        if (!tn_op_is(n, &tn_op_constant) && !tn_op_is(n, &tn_op_var))
            tn_node_remove(p->im.g, n);
    }
}

pt_mark pt_mark_of(const pt_import *p)
{
    return (pt_mark){p->im.r->last, p->im.region.n, p->im.g->ctx->n_diag};
}

void pt_unsay(pt_import *p, size_t n_diag)
{
    tn_diag_rewind(p->im.g->ctx, n_diag);
    tn_strmap_deinit(&p->reported);
    p->reported = (tn_strmap){0};
}

void pt_forget(pt_import *p, pt_mark mark)
{
    pt_undo(p, 0);
    pt_fresh_after(p, 0);
    pt_discard_regions(p, mark.regions);
    remove_after(p, p->im.r, mark.last);
    pt_unsay(p, mark.diagnostics);
    p->stop = p->finished = p->again = false;
    p->raised = NULL;
}

/* ---- runs ---- */

static bool changed(const pt_import *p, const pt_cell *c)
{
    for (size_t i = 0; i < p->log.n; i++)
        if (p->log.at[i].cell == c)
            return true;
    return false;
}

/* A result that stays what it is when the changes of the run are undone. */
static pt_value lasting(pt_import *p, pt_value v, int depth)
{
    if (pt_has_tensor(v)) {
        tn_value x = pt_tensor_value(p, v.tensor); /* which looks whether it can be used */
        return v.tensor->base || changed(p, &v.tensor->now) ? pt_tensor_like(p, v, x) : v;
    }
    if (!pt_has_parts(v) || depth > 16)
        return v;
    pt_value list = pt_make(&p->im.scratch, v.kind, v.list->n, NULL);
    for (size_t i = 0; i < v.list->n; i++)
        list.list->at[i] = lasting(p, pt_at(v, i), depth + 1);
    return list;
}

/* Parts of the result that branches have left without a common form split the run, too. */
static void check_result(pt_import *p, pt_value v, int depth)
{
    bool list = pt_has_parts(v);
    (void)pt_usable(p, v);
    if (!list || depth >= 16 || !pt_enter(p))
        return;
    for (size_t i = 0; i < v.list->n; i++)
        check_result(p, pt_at(v, i), depth + 1);
    pt_leave(p);
}

bool pt_run(pt_import *p, const char **why)
{
    tn_region *r = p->im.r;
    size_t regions = p->im.region.n, mark = p->log.n, stale = p->stale.n;
    const tn_node *last = r->last;
    uint32_t path = p->n_path;
    *why = NULL;
    for (;;) {
        p->n_condition = p->n_passed = 0;
        p->again = p->stop = p->finished = false;
        p->raised = NULL;
        p->calls = p->depth = 0;
        p->logging = 0;
        if (p->n_run++ >= PT_MAX_RUNS)
            return pt_fail(p, "pytorch-E014",
                           "the model has too many conditions that only the run knows, and whose "
                           "branches have nothing in common; give the inputs fixed shapes") == TN_OK;
        pt_value v = p->body(p, p->user);
        if (!p->finished) {
            check_result(p, v, 0);
            p->result = p->stop ? v : lasting(p, v, 0);
        }
        if (!p->again)
            break;
        pt_undo(p, mark);
        pt_fresh_after(p, stale);
        p->im.r = r;
        pt_discard_regions(p, regions);
        remove_after(p, r, last);
        p->n_path = path;
    }
    p->im.r = r;
    *why = p->raised;
    return !p->raised && (!p->stop || p->finished);
}

tn_status pt_read(pt_import *p, pt_value (*body)(pt_import *p, void *user), void *user, pt_value *out)
{
    const char *why;
    size_t errors = p->im.g->ctx->n_error;
    p->body = body;
    p->user = user;
    bool done = pt_run(p, &why);
    *out = p->result;
    if (!done && why)
        return imp_error(&p->im, IMP_BAD_VALUE, pt_place(p, "raise"),
                         "for inputs of these shapes and types the model raises: %s", why);
    return done && p->im.g->ctx->n_error == errors ? TN_OK : TN_FAIL;
}
