/* Conditions. What is known while the model is read is decided then. Otherwise both branches are read, and what they
 * change becomes results of an `if`; a branch that raises, or cannot be read for the shapes given, becomes a check that
 * the run makes. */
#include "frontend/pytorch/flow.h"

#include "op/control/control.h"
#include "op/core/core.h"

#include <string.h>

enum { MAX_SLOTS = 512, MAX_LISTS = 2048 };

/* ---- two values as one ---- */

/* Tensors that branch k changes are what they are at its end; false: what they were before. */
static void at_end(const pt_joining *j, int k, pt_value before[], bool end)
{
    for (size_t i = 0; j->list && i < j->list->n; i++) {
        pt_cell *cell = j->list->at[i].cell;
        if (end)
            before[i] = cell->v;
        pt_put(cell, end ? j->list->at[i].v[k] : before[i]);
    }
}

static tn_value value_in(pt_joining *j, int k, pt_value v)
{
    pt_import *p = j->p;
    tn_region *r = p->im.r;
    p->im.r = j->r[k];
    pt_value *before = TN_NEW_N(&p->im.scratch, pt_value, j->list ? j->list->n : 0);
    at_end(j, k, before, true);
    size_t stale = p->stale.n;
    for (size_t i = 0; i < j->n_stale[k]; i++)
        pt_make_stale(p, j->stale[k][i]);
    p->logging++; /* no view keeps what it is in there */
    tn_value x = pt_cell_value(p, v);
    p->logging--;
    pt_fresh_after(p, stale);
    at_end(j, k, before, false);
    p->im.r = r;
    j->bad = j->bad || !x.def || p->stop;
    return x;
}

void pt_add_slot(pt_joining *j, tn_value a, tn_value b, pt_value *into)
{
    if (j->slots.n >= MAX_SLOTS)
        j->bad = true;
    else
        tn_vec_push(&j->slots, ((pt_slot){{a, b}, into}));
}

static bool alike(tn_value a, tn_value b)
{
    bool list = tn_value_type(a)->kind == TN_T_SEQ;
    if (list || tn_value_type(b)->kind == TN_T_SEQ)
        return tn_value_type(a)->kind == tn_value_type(b)->kind;
    return imp_rank(a) == imp_rank(b) && tn_dtype_eq(imp_type(a)->dtype, imp_type(b)->dtype);
}

static pt_value join(pt_joining *j, pt_value a, pt_value b, int depth);

static pt_value join_tensors(pt_joining *j, pt_value a, pt_value b)
{
    for (size_t i = 0; i < j->tensors.n; i++) {
        pt_tensor *t = j->tensors.at[i];
        if (t->either[0] == a.tensor && t->either[1] == b.tensor)
            return (pt_value){.kind = a.kind, .tensor = t};
    }
    tn_value x = value_in(j, 0, a), y = value_in(j, 1, b);
    if (j->bad || !alike(x, y))
        return (pt_value){.kind = PT_UNKNOWN, .i = j->number};
    pt_value v = pt_tensor_like(j->p, a.tensor->elements != PT_NONE ? a : b, (tn_value){0});
    v.tensor->either[0] = a.tensor;
    v.tensor->either[1] = b.tensor;
    pt_may_be(j->p, v.tensor, a.tensor);
    pt_may_be(j->p, v.tensor, b.tensor);
    tn_vec_push(&j->tensors, v.tensor);
    pt_add_slot(j, x, y, &v.tensor->now.v);
    return v;
}

static pt_value join_numbers(pt_joining *j, pt_value a, pt_value b)
{
    pt_number *n = TN_NEW(&j->p->im.scratch, pt_number);
    pt_value *v = TN_NEW(&j->p->im.scratch, pt_value);
    n->kind = pt_kind_of(a);
    *v = (pt_value){.kind = PT_NUMBER, .number = n};
    tn_value first = value_in(j, 0, a);
    pt_add_slot(j, first, value_in(j, 1, b), v);
    return *v;
}

/* The list that stands for a and b already; NULL: none. */
static pt_list *known_list(pt_joining *j, pt_list *a, pt_list *b)
{
    for (size_t i = 0; i < j->lists.n; i++)
        if (j->lists.at[i].of[0] == a && j->lists.at[i].of[1] == b)
            return j->lists.at[i].v;
    return NULL;
}

/* v stands for a and b. It is a copy, so none of them may change, unless the branches made a and b and v is all that
 * there is of them. */
static void choose_list(pt_joining *j, pt_list *a, pt_list *b, pt_list *v)
{
    pt_list *of[2] = {a, b};
    j->bad = j->bad || j->lists.n >= MAX_LISTS;
    for (int k = 0; k < 2; k++) {
        v->chosen = v->chosen || of[k]->chosen || of[k]->owner != j->r[k];
        for (size_t i = 0; i < j->lists.n; i++)
            if (j->lists.at[i].of[k] == of[k])
                v->chosen = j->lists.at[i].v->chosen = true;
    }
    a->chosen = b->chosen = true;
    tn_vec_push(&j->lists, ((pt_joined_list){{a, b}, v}));
}

/* Lists of different lengths become lists of the run where the run cannot split, so that both have one form. */
static void make_late(pt_joining *j, pt_value a, pt_value b)
{
    pt_value first = a.kind == PT_LIST ? a : b, other = a.kind == PT_LIST ? b : a;
    bool lists = first.kind == PT_LIST && (other.kind == PT_LIST || other.kind == PT_LATE_LIST);
    if (lists && j->list && pt_must_split(j->p, j->number) && pt_make_late(j->p, first.list))
        j->bad = true;
}

/* What is uninitialized in branch k, where the other branch has `like`. */
static pt_value stand_in(pt_joining *j, int k, pt_value like)
{
    tn_region *r = j->p->im.r;
    j->p->im.r = j->r[k];
    pt_value v = pt_stand_in(j->p, like, j->r[!k]);
    j->p->im.r = r;
    j->bad = j->bad || j->p->stop;
    return v;
}

/* Both must be of one form; else what they are is UNKNOWN. */
static pt_value join(pt_joining *j, pt_value a, pt_value b, int depth)
{
    if (a.kind == PT_UNINITIALIZED && b.kind != PT_UNINITIALIZED)
        a = stand_in(j, 0, b);
    else if (b.kind == PT_UNINITIALIZED && a.kind != PT_UNINITIALIZED)
        b = stand_in(j, 1, a);
    if (pt_same(a, b))
        return a;
    if (pt_is_number(a) && pt_is_number(b) && pt_kind_of(a) == pt_kind_of(b))
        return join_numbers(j, a, b);
    if (a.kind == b.kind && pt_has_tensor(a))
        return join_tensors(j, a, b);
    if (a.kind != b.kind || !pt_has_parts(a) || a.list->n != b.list->n || depth > 16) {
        make_late(j, a, b);
        return (pt_value){.kind = PT_UNKNOWN, .i = j->number};
    }
    pt_list *known = known_list(j, a.list, b.list);
    if (known)
        return (pt_value){.kind = a.kind, .list = known};
    if (!pt_enter(j->p))
        return pt_bad();
    pt_value v = pt_make(&j->p->im.scratch, a.kind, a.list->n, NULL);
    v.list->owner = j->p->im.r;
    choose_list(j, a.list, b.list, v.list);
    for (size_t i = 0; i < a.list->n && !j->bad; i++)
        v.list->at[i] = join(j, pt_at(a, i), pt_at(b, i), depth + 1);
    pt_leave(j->p);
    return v;
}

static void fill(pt_joining *j, tn_node *n, uint32_t first)
{
    for (size_t i = 0; i < j->slots.n; i++) {
        tn_value v = tn_unboxed(j->p->im.g, (tn_value){n, first + (uint32_t)i});
        if (j->slots.at[i].into->kind == PT_NUMBER)
            j->slots.at[i].into->number->v = v;
        else
            *j->slots.at[i].into = (pt_value){.kind = PT_VALUE, .value = v};
    }
}

/* NULL: the branches' results have no common type. */
static tn_node *if_node(pt_joining *j, tn_value condition)
{
    pt_import *p = j->p;
    tn_graph *g = p->im.g;
    int n = (int)j->slots.n;
    tn_value *v = TN_NEW_N(&p->im.scratch, tn_value, (size_t)n);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n; i++)
            v[i] = j->slots.at[i].v[k];
        tn_region_set_results(g, j->r[k], n, v);
    }
    size_t diagnostics = g->ctx->n_diag;
    tn_if_attr attr = {{0}};
    tn_node *node = tn_node_new(g, p->im.r, NULL, &tn_op_if, 1, &condition, n, &attr, pt_place(p, "if"));
    tn_node_hold(g, node, 2, j->r);
    if (tn_infer_node(g, node) == TN_OK)
        return node;
    tn_diag_rewind(g->ctx, diagnostics);
    tn_node_remove(g, node);
    return NULL;
}

/* ---- branches ---- */

typedef struct branch {
    tn_region *r;
    bool ok;
    const char *why;
    tn_diag *diag; /* of a branch that cannot be read */
    size_t n_diag;
    pt_tensor **stale; /* that a change in it makes so */
    size_t n_stale;
} branch;

static pt_change *change_of(pt_changes *list, pt_cell *cell, pt_value before)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].cell == cell)
            return &list->at[i];
    tn_vec_push(list, ((pt_change){cell, {before, before}}));
    return &tn_vec_last(list);
}

/* A tensor that was made since, when `born` tensors were there, is known to nobody outside, and stays as it is. */
static void keep_born(pt_import *p, size_t mark, uint32_t born)
{
    size_t n = mark;
    for (size_t i = mark; i < p->log.n; i++) {
        const pt_log *l = &p->log.at[i];
        if (l->before.kind != PT_VALUE || ((const pt_tensor *)(const void *)l->cell)->born <= born)
            p->log.at[n++] = *l;
    }
    p->log.n = n;
}

/* What the run has changed since `mark`, when `born` tensors were there, undone. */
void pt_collect(pt_import *p, size_t mark, uint32_t born, int k, pt_changes *list)
{
    size_t n = list->n;
    keep_born(p, mark, born);
    for (size_t i = p->log.n; i-- > mark;) { /* the oldest entry has what was before */
        pt_change *c = change_of(list, p->log.at[i].cell, p->log.at[i].before);
        if (k == 0 || (size_t)(c - list->at) >= n)
            c->v[0] = c->v[1] = p->log.at[i].before;
    }
    for (size_t i = mark; i < p->log.n; i++)
        change_of(list, p->log.at[i].cell, pt_none())->v[k] = p->log.at[i].cell->v;
    pt_undo(p, mark);
}

/* What was reported of a branch is kept back; it may never be run. */
static void keep_errors(pt_import *p, branch *b, size_t from)
{
    tn_ctx *ctx = p->im.g->ctx;
    b->n_diag = ctx->n_diag - from;
    if (b->n_diag)
        b->diag = tn_arena_copy(&p->im.scratch, ctx->diag + from, b->n_diag * sizeof *b->diag, 8);
    for (size_t i = 0; i < b->n_diag && !b->why; i++)
        if (b->diag[i].severity == TN_ERROR)
            b->why = b->diag[i].message;
    pt_unsay(p, from); /* operators that are not known may be met where they are needed */
}

static void report_again(pt_import *p, const branch *b)
{
    for (size_t i = 0; i < b->n_diag; i++)
        (void)tn_report(p->im.g->ctx, b->diag[i].severity, b->diag[i].id, &b->diag[i].loc, "%s",
                        b->diag[i].message);
}

static void read_branch(pt_import *p, branch *b, pt_branch *code, void *user, int k, pt_changes *list)
{
    tn_region *outer = p->im.r;
    size_t mark = p->log.n, diagnostics = p->im.g->ctx->n_diag, errors = p->im.g->ctx->n_error;
    uint32_t born = p->n_tensor;
    size_t stale = p->stale.n;
    b->r = p->im.r = pt_region_new(p);
    p->logging++;
    if (code)
        code(p, user);
    p->logging--;
    p->im.r = outer;
    b->ok = !p->stop && !p->raised && p->im.g->ctx->n_error == errors;
    b->why = p->raised;
    if (p->again || p->finished)
        return;
    pt_collect(p, mark, born, k, list);
    b->n_stale = p->stale.n - stale;
    if (b->n_stale)
        b->stale = tn_arena_copy(&p->im.scratch, p->stale.at + stale, b->n_stale * sizeof *b->stale, 8);
    pt_fresh_after(p, stale);
    if (!b->ok)
        keep_errors(p, b, diagnostics);
    p->stop = false;
    p->raised = NULL;
}

/* Only one branch can be run: the run checks that it is that one, and goes on with it. */
static void only(pt_import *p, tn_value condition, bool outcome, const branch *failed, pt_branch *code,
                 void *user)
{
    imp_node *c = pt_ctx(p);
    const char *why = failed->why && *failed->why ? failed->why : "the model raises an exception";
    if (failed->n_diag)
        (void)tn_report(
            p->im.g->ctx, TN_WARNING, "pytorch-W001", pt_place(p, "if"),
            "its %s branch cannot be computed for the given shapes; a run that takes it will fail: %s",
            outcome ? "else" : "then", why);
    imp_demand(c, imp_cast(c, condition, TN_I64), outcome, why);
    pt_stop_if_bad(p, c);
    if (!p->stop && code)
        code(p, user);
}

bool pt_has_checks(const tn_region *r)
{
    bool any = false;
    for (const tn_node *n = r->first; n && !any; n = n->next) {
        any = tn_has_effect(n);
        for (int i = 0; i < n->nregion && !any; i++) /* depth: bounded by pt_enter */
            any = pt_has_checks(n->region[i]);
    }
    return any;
}

/* Branches that change nothing but hold checks give a 0, which must be one: so they stay. */
static void keep_checks(pt_joining *j, pt_value *zero)
{
    pt_import *p = j->p;
    tn_region *outer = p->im.r;
    tn_value v[2];
    for (int k = 0; k < 2; k++) {
        p->im.r = j->r[k];
        v[k] = imp_i64(pt_ctx(p), 0);
    }
    p->im.r = outer;
    *zero = (pt_value){.kind = PT_VALUE};
    pt_add_slot(j, v[0], v[1], zero);
}

/* false: no `if` holds the branches, which give nothing in common. */
static bool merge(pt_import *p, tn_value condition, branch b[2], pt_changes *list, uint32_t number)
{
    pt_joining j = {.p = p,
                    .r = {b[0].r, b[1].r},
                    .number = number,
                    .list = list,
                    .stale = {b[0].stale, b[1].stale},
                    .n_stale = {b[0].n_stale, b[1].n_stale}};
    size_t n = list->n;
    pt_value *v = TN_NEW_N(&p->im.scratch, pt_value, n);
    for (size_t i = 0; i < n && !j.bad; i++) {
        pt_change *c = &list->at[i];
        v[i] = join(&j, c->v[0], c->v[1], 0);
        if (c->v[0].kind == PT_VALUE && c->v[1].kind == PT_VALUE && !pt_same(c->v[0], c->v[1])) {
            bool fit = alike(c->v[0].value, c->v[1].value);
            v[i] = (pt_value){.kind = PT_VALUE};
            if (fit)
                pt_add_slot(&j, c->v[0].value, c->v[1].value, &v[i]);
            else
                j.bad = true;
        }
    }
    pt_value zero = pt_none();
    if (!j.bad && !j.slots.n && (pt_has_checks(b[0].r) || pt_has_checks(b[1].r)))
        keep_checks(&j, &zero);
    tn_node *node = j.bad ? NULL : j.slots.n ? if_node(&j, condition) : NULL;
    if (node)
        fill(&j, node, 0);
    if (node && zero.kind == PT_VALUE)
        imp_demand(pt_ctx(p), zero.value, 0, "a check of a branch has failed");
    if (!node && (j.bad || j.slots.n) && !p->again) {
        p->stop = false;
        (void)pt_usable(p, (pt_value){.kind = PT_UNKNOWN, .i = number});
    }
    for (size_t i = 0; i < n && !p->stop; i++)
        pt_set(p, list->at[i].cell, v[i]);
    tn_vec_deinit(&j.slots);
    tn_vec_deinit(&j.tensors);
    tn_vec_deinit(&j.lists);
    return node != NULL;
}

static void both(pt_import *p, tn_value condition, uint32_t number, pt_branch *code[2], void *user)
{
    branch b[2] = {{0}};
    pt_changes list = {0};
    size_t regions = p->im.region.n;
    for (int k = 0; k < 2 && !p->again && !p->finished; k++)
        read_branch(p, &b[k], code[k], user, k, &list);
    if (p->again || p->finished) {
        tn_vec_deinit(&list);
        return;
    }
    if (b[0].ok && b[1].ok) {
        if (!merge(p, condition, b, &list, number))
            pt_discard_regions(p, regions);
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < b[k].n_stale; i++)
                pt_make_stale(p, b[k].stale[i]);
    } else {
        pt_discard_regions(p, regions);
        if (!b[0].ok && !b[1].ok) {
            report_again(p, &b[0]);
            p->stop = b[0].n_diag > 0;
            p->raised = p->stop ? NULL : b[0].why;
            if (!p->stop && b[1].n_diag) {
                report_again(p, &b[1]);
                p->stop = true;
            }
        } else {
            int k = b[0].ok ? 0 : 1;
            only(p, condition, k == 0, &b[!k], code[k], user);
        }
    }
    tn_vec_deinit(&list);
}

/* ---- splits ---- */

/* A condition that compares an int of the model's inputs with a number says what that is, so it splits the run. */
static bool compares_input(pt_import *p, tn_value condition, pt_path *out)
{
    const tn_node *n = condition.def;
    tn_dims d;
    bool equal = n && tn_op_is(n, &tn_op_equal);
    if (!n || (!equal && !tn_op_is(n, &tn_op_not_equal)))
        return false;
    for (int k = 0; k < 2; k++) {
        tn_value x = tn_in(n, k), y = tn_in(n, 1 - k);
        if (!tn_op_is(x.def, &tn_op_var) || x.def->owner->holder || !imp_host(pt_ctx(p), y, &d) || d.n != 1 ||
            !tn_is_int(d.at[0], &out->with) || tn_dtype_is_float(imp_type(x)->dtype))
            continue;
        out->subject = x;
        out->equal = equal;
        return true;
    }
    return false;
}

/* The rest of the run in a region of its own, where the condition has that outcome. */
static void read_path(pt_import *p, pt_path path, bool outcome, branch *b, pt_value *v)
{
    tn_region *outer = p->im.r;
    size_t mark = p->log.n, stale = p->stale.n, diagnostics = p->im.g->ctx->n_diag,
           errors = p->im.g->ctx->n_error;
    uint32_t n_path = p->n_path, n_passed = p->n_passed, n_condition = p->n_condition;
    int logging = p->logging, calls = p->calls;
    const char *file = p->file;
    int line = p->line;
    path.outcome = outcome;
    path.equal = path.equal == outcome;
    p->path[p->n_path++] = path;
    b->r = p->im.r = pt_region_new(p);
    b->ok = pt_run(p, &b->why) && p->im.g->ctx->n_error == errors;
    *v = p->result;
    pt_undo(p, mark);
    pt_fresh_after(p, stale);
    if (!b->ok)
        keep_errors(p, b, diagnostics);
    p->im.r = outer;
    p->n_path = n_path;
    p->n_passed = n_passed;
    p->n_condition = n_condition;
    p->logging = logging;
    p->calls = calls;
    p->file = file;
    p->line = line;
    p->stop = p->finished = p->again = false;
    p->raised = NULL;
}

static bool is_joined(pt_value v, int depth)
{
    bool is = v.kind != PT_UNKNOWN;
    for (size_t i = 0; pt_has_parts(v) && is && depth < 16 && i < v.list->n; i++)
        is = is_joined(pt_at(v, i), depth + 1);
    return is;
}

/* Both outcomes are read to the end of the model. */
static void split(pt_import *p, tn_value condition, pt_path path, pt_branch *code[2], void *user)
{
    branch b[2] = {{0}};
    pt_value v[2];
    size_t regions = p->im.region.n;
    /* the run itself is undone for the runs within, and goes on afterwards only where one of them fails */
    tn_vec(pt_log) now = {0};
    for (size_t i = 0; i < p->log.n; i++)
        tn_vec_push(&now, ((pt_log){p->log.at[i].cell, p->log.at[i].cell->v}));
    tn_vec(pt_log) had = {0};
    for (size_t i = 0; i < p->log.n; i++)
        tn_vec_push(&had, p->log.at[i]);
    pt_undo(p, 0);
    tn_vec(pt_tensor *) stale = {0};
    for (size_t i = 0; i < p->stale.n; i++)
        tn_vec_push(&stale, p->stale.at[i]);
    pt_fresh_after(p, 0);
    for (int k = 0; k < 2; k++)
        read_path(p, path, k == 0, &b[k], &v[k]);
    if (b[0].ok && b[1].ok) {
        pt_joining j = {.p = p, .r = {b[0].r, b[1].r}, .number = path.number};
        p->result = join(&j, v[0], v[1], 0);
        tn_node *node = j.bad || !j.slots.n || !is_joined(p->result, 0) ? NULL : if_node(&j, condition);
        if (node)
            fill(&j, node, 0);
        else
            pt_fail(p, "pytorch-E014",
                    "the branches of a condition that only the run knows give results of different "
                    "types");
        p->finished = node != NULL;
        p->stop = true;
        tn_vec_deinit(&j.slots);
        tn_vec_deinit(&j.tensors);
        tn_vec_deinit(&j.lists);
    } else {
        pt_discard_regions(p, regions);
        for (size_t i = 0; i < had.n; i++) {
            tn_vec_push(&p->log, had.at[i]);
            now.at[i].cell->v = now.at[i].before;
        }
        for (size_t i = 0; i < stale.n; i++)
            pt_make_stale(p, stale.at[i]);
        if (!b[0].ok && !b[1].ok) {
            report_again(p, &b[0]);
            p->stop = b[0].n_diag > 0;
            p->raised = p->stop ? NULL : b[0].why;
        } else {
            int k = b[0].ok ? 0 : 1;
            path.outcome = k == 0;
            path.equal = path.equal == path.outcome;
            p->path[p->n_path++] = path;
            p->n_passed = p->n_path;
            only(p, condition, k == 0, &b[!k], code[k], user);
        }
    }
    tn_vec_deinit(&now);
    tn_vec_deinit(&had);
    tn_vec_deinit(&stale);
}

pt_value pt_fork(pt_import *p, tn_value condition, pt_value (*read)(pt_import *p, void *user, bool outcome),
                 void *user)
{
    pt_joining j = {.p = p, .number = UINT32_MAX};
    tn_region *outer = p->im.r;
    pt_value v[2] = {pt_bad(), pt_bad()}, all;
    for (int k = 0; k < 2 && !p->stop; k++) {
        j.r[k] = p->im.r = pt_region_new(p);
        v[k] = read(p, user, k == 0);
        p->im.r = outer;
    }
    if (p->stop)
        return pt_bad();
    all = join(&j, v[0], v[1], 0);
    tn_node *node = j.bad || !j.slots.n || !is_joined(all, 0) ? NULL : if_node(&j, condition);
    if (node)
        fill(&j, node, 0);
    else
        pt_fail(p, "pytorch-E014",
                "the first run and the later ones, which begin with what it leaves, give results of "
                "different types");
    tn_vec_deinit(&j.slots);
    tn_vec_deinit(&j.tensors);
    tn_vec_deinit(&j.lists);
    return node ? all : pt_bad();
}

void pt_if(pt_import *p, pt_value condition, pt_branch *then, pt_branch *orelse, void *user)
{
    pt_branch *code[2] = {then, orelse};
    if (p->stop || p->raised || !pt_usable(p, condition))
        return;
    if (condition.kind == PT_BOOL) {
        if (code[!condition.b])
            code[!condition.b](p, user);
        return;
    }
    if (condition.kind != PT_NUMBER) {
        pt_fail(p, "pytorch-E013", "a condition is %s", pt_kind_name(condition.kind));
        return;
    }
    pt_path path = {.number = p->n_condition++};
    for (uint32_t i = 0; i < p->n_path; i++)
        if (p->path[i].number == path.number) { /* known on this path */
            p->n_passed = i + 1;
            if (code[!p->path[i].outcome])
                code[!p->path[i].outcome](p, user);
            return;
        }
    bool input = compares_input(p, condition.number->v, &path);
    if ((input || pt_must_split(p, path.number)) && !p->logging && p->n_path < PT_MAX_PATH)
        split(p, condition.number->v, path, code, user);
    else
        both(p, condition.number->v, path.number, code, user);
}
