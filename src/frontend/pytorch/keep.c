/* What a model keeps from one run to the next: attributes that its code sets, tensors of the file that it changes.
 *
 * The code is read as it runs first, with the values of the file. What it leaves has a form: numbers, None and texts
 * are what they are, tensors are values of a type. Such a form is what another run begins with, so the code is read
 * again from there, until no run leaves a form that is not known. A number that differs where all else is alike becomes
 * a value of the run. Tensors and such numbers are states of the package. Where there are several forms, another state
 * says with which one the next run begins, and the run chooses between the readings. */
#include "frontend/pytorch/pytorch.h"

#include "op/core/core.h"

#include <string.h>

enum {
    MAX_FORMS = 8,
    MAX_SLOTS = 256,
    MAX_PASSES = 32,
    MAX_DEPTH = 16,
    MAX_PARTS = 1 << 16,
    MAX_LISTS = 1024,
    MAX_CHOICES = 64
};

typedef struct slot { /* a part of a form that is a value of the run */
    const char *path;
    const tn_type *type;
    enum pt_kind kind;  /* TENSOR, INT, FLOAT, BOOL */
    pt_tensor *file;    /* a tensor of the file that changes in place; NULL: any */
    pt_value now;       /* what it is in the run that was read: of form 0 that of the file */
    size_t state;       /* which one of the package; SIZE_MAX: none */
    tn_value begins;    /* in the runs that are read */
    pt_tensor *current; /* in the run that is read now */
    bool shared;        /* another tensor is of the same memory */
} slot;

typedef struct form {
    pt_value *at; /* for each thing that is kept; UNKNOWN: a slot, by number */
    slot slot[MAX_SLOTS];
    size_t n_slot;
    pt_list lists; /* lists and dicts that are parts of it */
    bool entered;  /* a run leaves it */
} form;

typedef struct state { /* of the package */
    const char *path, *name;
    const tn_type *type;
    const tn_blob *first;
    tn_value begins;
    pt_value same; /* a tensor of that value */
    size_t form;   /* the last one of which a slot has it */
} state;

typedef struct keeper {
    pt_import *p;
    pt_value (*body)(pt_import *p, void *user);
    void *user;
    form *form[MAX_FORMS];
    size_t n_form, reading; /* the form that a run begins with */
    bool probing, changed;
    size_t parts; /* of the form that is described */
    tn_vec(state) states;
    tn_value phase; /* which form a run begins with */
} keeper;

/* ---- parts ---- */

/* An object that the run made. */
static bool is_made(pt_value v) { return v.kind == PT_OBJECT && v.object->made; }

static size_t n_parts(pt_value v) { return pt_has_parts(v) ? v.list->n : is_made(v) ? v.object->n : 0; }

static pt_value *part(pt_value v, size_t i) { return is_made(v) ? &v.object->at[i].cell.v : &v.list->at[i]; }

static const char *part_path(keeper *w, const char *path, pt_value v, size_t i)
{
    tn_arena *a = &w->p->im.scratch;
    return is_made(v) ? tn_arena_printf(a, "%s.%s", path, imp_text(&w->p->im, v.object->at[i].name))
                      : tn_arena_printf(a, "%s.%zu", path, i);
}

/* Are they of one kind, with as many parts of the same names? */
static bool same_parts(pt_value a, pt_value b)
{
    bool is = a.kind == b.kind && is_made(a) == is_made(b) && n_parts(a) == n_parts(b);
    if (is && is_made(a))
        is = imp_same(a.object->type, b.object->type);
    for (size_t i = 0; is && is_made(a) && i < a.object->n; i++)
        is = imp_same(a.object->at[i].name, b.object->at[i].name);
    return is;
}

/* Another one of that kind, without its parts. */
static pt_value without_parts(keeper *w, pt_value v)
{
    tn_arena *a = &w->p->im.scratch;
    if (!is_made(v))
        return pt_make(a, v.kind, v.list->n, NULL);
    pt_object *o = TN_NEW(a, pt_object);
    o->type = v.object->type;
    o->made = o->restored = true;
    for (size_t i = 0; i < v.object->n; i++)
        (void)pt_attr_add(a, o, v.object->at[i].name);
    return (pt_value){.kind = PT_OBJECT, .object = o};
}

/* ---- what is kept ---- */

void pt_keep(pt_import *p, pt_cell *cell, pt_tensor *tensor, const char *name)
{
    for (size_t i = 0; i < p->kept.n; i++)
        if (p->kept.at[i].cell == cell)
            return;
    tn_vec_push(&p->kept, ((pt_kept){cell, tensor, tn_intern(p->im.g->ctx, name)}));
}

/* Is the list a part of v? A list may be in several others, and even in itself: after `left` parts the answer is yes,
 * and what is kept then is refused as too large. */
static bool holds(pt_value v, const pt_list *list, int depth, size_t *left)
{
    if (!pt_has_parts(v))
        return false;
    bool is = v.list == list || *left == 0;
    for (size_t i = 0; i < v.list->n && !is && depth < MAX_DEPTH; i++) {
        *left -= *left > 0;
        is = holds(pt_at(v, i), list, depth + 1, left);
    }
    return is;
}

static bool keep_list(pt_import *p, pt_object *o, const pt_list *list, int depth)
{
    bool any = false;
    for (size_t i = 0; i < o->n; i++) {
        pt_cell *c = &o->at[i].cell;
        size_t left = MAX_PARTS;
        bool is = holds(c->v, list, 0, &left);
        if (is)
            pt_keep(p, c, NULL,
                    tn_arena_printf(&p->im.scratch, "%s%s%s", o->path ? o->path : "",
                                    o->path && *o->path ? "." : "", imp_text(&p->im, o->at[i].name)));
        else if (c->v.kind == PT_OBJECT && depth < MAX_DEPTH)
            is = keep_list(p, c->v.object, list, depth + 1);
        any = any || is;
    }
    return any;
}

bool pt_keep_list(pt_import *p, const pt_list *list)
{
    return p->self.kind == PT_OBJECT && keep_list(p, p->self.object, list, 0);
}

/* ---- tensors of one memory ---- */

/* Is what v shows, or may show, a part of the memory of t? */
static bool shows(pt_value v, const pt_tensor *t, int depth, size_t *left)
{
    if (depth > MAX_DEPTH || !*left)
        return true;
    --*left;
    if (pt_has_parts(v)) {
        bool any = false;
        for (size_t i = 0; i < v.list->n && !any; i++)
            any = shows(pt_at(v, i), t, depth + 1, left);
        return any;
    }
    if (is_made(v)) {
        bool any = false;
        for (size_t i = 0; i < v.object->n && !any; i++)
            any = shows(v.object->at[i].cell.v, t, depth + 1, left);
        return any;
    }
    if (v.kind != PT_TENSOR)
        return false;
    const pt_tensor *root = v.tensor;
    while (root->base)
        root = root->base;
    bool any = root == t;
    for (int i = 0; i < 2 && root->either[i] && !any; i++)
        any = shows((pt_value){.kind = PT_TENSOR, .tensor = root->either[i]}, t, depth + 1, left);
    return any;
}

static bool is_kept_cell(const pt_import *p, const pt_cell *c)
{
    for (size_t i = 0; i < p->kept.n; i++)
        if (p->kept.at[i].cell == c)
            return true;
    return false;
}

static bool is_kept(const pt_import *p, const pt_tensor *t)
{
    for (size_t i = 0; i < p->kept.n; i++)
        if (p->kept.at[i].tensor == t)
            return true;
    return false;
}

/* Does an attribute that is not kept show it? */
static bool held_elsewhere(const pt_import *p, const pt_object *o, const pt_tensor *t, int depth)
{
    bool any = false;
    for (size_t i = 0; i < o->n && !any; i++) {
        const pt_cell *c = &o->at[i].cell;
        size_t left = MAX_PARTS;
        any = c->v.kind == PT_OBJECT ? depth < MAX_DEPTH && held_elsewhere(p, c->v.object, t, depth + 1)
                                     : !is_kept_cell(p, c) && shows(c->v, t, 0, &left);
    }
    return any;
}

/* Notes of each slot whether its memory is that of another tensor that lasts. */
static void note_shared(keeper *w, form *f, slot *s, const pt_tensor *t, int depth)
{
    while (t->base)
        t = t->base;
    for (size_t i = 0; i < f->n_slot; i++) {
        size_t left = MAX_CHOICES;
        if (&f->slot[i] != s && shows(f->slot[i].now, t, 0, &left))
            s->shared = f->slot[i].shared = true;
    }
    if (t->storage && !is_kept(w->p, t) && w->p->self.kind == PT_OBJECT)
        s->shared = s->shared || held_elsewhere(w->p, w->p->self.object, t, 0);
    s->shared = s->shared || (t->either[0] && depth == 6);
    for (int i = 0; i < 2 && t->either[i] && depth < 6; i++)
        note_shared(w, f, s, t->either[i], depth + 1);
}

/* ---- forms ---- */

static tn_status unsettled(keeper *w, const char *name, const char *how)
{
    return pt_fail(
        w->p, "pytorch-E020",
        "the model changes its attribute %s %s, which cannot be kept from one run to the next: take it "
        "as an input and return its new value",
        name, how);
}

static const tn_type *scalar(pt_import *p, enum pt_kind kind)
{
    tn_dtype t = kind == PT_FLOAT ? TN_F64 : kind == PT_INT ? TN_I64 : TN_BOOL1;
    return tn_type_tensor(p->im.g->pool, t, 0, NULL, NULL);
}

static bool is_number(pt_value v) { return v.kind == PT_INT || v.kind == PT_FLOAT || v.kind == PT_BOOL; }

static pt_value add_slot(keeper *w, form *f, slot s)
{
    if (f->n_slot == MAX_SLOTS)
        (void)unsettled(w, s.path, "and more than 256 other parts");
    else
        f->slot[f->n_slot++] = s;
    return (pt_value){.kind = PT_UNKNOWN, .i = (int64_t)f->n_slot - 1};
}

static pt_value describe_tensor(keeper *w, form *f, pt_value v, const char *path)
{
    tn_value x = pt_tensor_value(w->p, v.tensor);
    for (size_t i = 0; i < f->n_slot; i++)
        if (f->slot[i].now.kind == PT_TENSOR && f->slot[i].now.tensor == v.tensor)
            return (pt_value){.kind = PT_UNKNOWN, .i = (int64_t)i};
    for (int d = 0; d < imp_rank(x) && !w->p->stop; d++) {
        int64_t n;
        if (!tn_is_int(imp_type(x)->dim[d], &n))
            (void)unsettled(w, path,
                            "to a tensor whose shape only the run knows (give the inputs fixed shapes, "
                            "--input-shapes)");
    }
    return x.def ? add_slot(w, f,
                            (slot){.path = path,
                                   .type = imp_type(x),
                                   .kind = PT_TENSOR,
                                   .file = is_kept(w->p, v.tensor) ? v.tensor : NULL,
                                   .now = v,
                                   .begins = x})
                 : pt_bad();
}

/* A list or object is part of a form once: what is read from there has one for each part. */
static bool note_list(keeper *w, form *f, pt_value v, const char *path)
{
    for (size_t i = 0; i < f->lists.n; i++)
        if (f->lists.at[i].kind == v.kind && pt_same(f->lists.at[i], v)) {
            (void)unsettled(w, path, "to a list, dict or object that it holds in another place, too");
            return false;
        }
    if (f->lists.n == MAX_LISTS) {
        (void)unsettled(w, path, "to more than 1024 lists");
        return false;
    }
    pt_push(&w->p->im.scratch, &f->lists, v);
    if (v.kind != PT_OBJECT && !v.list->owner)
        (void)pt_keep_list(w->p, v.list);
    return true;
}

static pt_value describe(keeper *w, form *f, pt_value v, const char *path, int depth)
{
    pt_import *p = w->p;
    if (v.kind == PT_UNSET) /* an attribute without a value */
        return v;
    if (p->stop || !pt_usable(p, v)) {
        p->stop = true; /* what made it has said why */
        return pt_bad();
    }
    if (++w->parts > MAX_PARTS || depth > MAX_DEPTH) {
        (void)unsettled(w, path, "to a list that is too large, or nested too deep");
        return pt_bad();
    }
    if (v.kind == PT_NUMBER) {
        pt_value known = pt_convert(p, v.number->kind, v);
        if (known.kind != PT_NUMBER)
            return known;
        return add_slot(
            w, f, (slot){.path = path, .type = scalar(p, v.number->kind), .kind = v.number->kind, .now = v});
    }
    if (v.kind == PT_TENSOR)
        return describe_tensor(w, f, v, path);
    if (v.kind == PT_LATE_LIST)
        (void)unsettled(w, path, "to a list whose length only the run knows");
    if (!pt_has_parts(v) && !is_made(v))
        return v;
    if ((v.kind == PT_LIST || v.kind == PT_DICT || is_made(v)) && !note_list(w, f, v, path))
        return pt_bad();
    pt_value all = without_parts(w, v);
    for (size_t i = 0; i < n_parts(v) && !p->stop; i++)
        *part(all, i) = describe(w, f, *part(v, i), part_path(w, path, v, i), depth + 1);
    return all;
}

/* What is there now. It may find more that must be kept: then it is not complete. */
static form *current_form(keeper *w)
{
    pt_import *p = w->p;
    form *f = TN_NEW(&p->im.scratch, form);
    size_t n = p->kept.n;
    f->at = TN_NEW_N(&p->im.scratch, pt_value, n);
    w->parts = 0;
    for (size_t i = 0; i < n && p->kept.n == n && !p->stop; i++) {
        pt_kept k = p->kept.at[i];
        f->at[i] = describe(w, f, k.tensor ? (pt_value){.kind = PT_TENSOR, .tensor = k.tensor} : k.cell->v,
                            k.name, 0);
    }
    for (size_t i = 0; i < f->n_slot && !p->stop; i++)
        if (f->slot[i].kind == PT_TENSOR)
            note_shared(w, f, &f->slot[i], f->slot[i].now.tensor, 0);
    return f;
}

/* ---- two forms ---- */

enum fit { DIFFERENT, WIDER, SAME };

typedef struct matching {
    const form *to, *from;
    pt_value got[MAX_SLOTS];              /* for each slot of `to` */
    int pair[MAX_SLOTS], back[MAX_SLOTS]; /* slots of the other; -1: none yet */
} matching;

static enum fit fit_slot(matching *m, int64_t k, pt_value b)
{
    const slot *a = &m->to->slot[k];
    const slot *s = b.kind == PT_UNKNOWN && b.i >= 0 ? &m->from->slot[b.i] : NULL;
    if (a->kind != PT_TENSOR) {
        m->got[k] = s ? s->now : b;
        return (s ? s->kind : b.kind) == a->kind ? SAME : DIFFERENT;
    }
    if (!s || s->kind != PT_TENSOR || !tn_type_eq(s->type, a->type) || s->file != a->file ||
        (m->pair[k] >= 0 && m->pair[k] != b.i) || (m->back[b.i] >= 0 && m->back[b.i] != k))
        return DIFFERENT;
    m->pair[k] = (int)b.i;
    m->back[b.i] = (int)k;
    m->got[k] = (pt_value){.kind = PT_VALUE, .value = s->begins};
    return SAME;
}

static enum fit fit(matching *m, pt_value a, pt_value b)
{
    if (pt_is_bad(a) || pt_is_bad(b)) /* what made it has said why */
        return DIFFERENT;
    if (a.kind == PT_UNKNOWN)
        return fit_slot(m, a.i, b);
    if (is_number(a)) {
        bool late = b.kind == PT_UNKNOWN;
        enum pt_kind kind = late ? m->from->slot[b.i].kind : b.kind;
        return kind != a.kind ? DIFFERENT : !late && pt_same(a, b) ? SAME : WIDER;
    }
    if (!pt_has_parts(a) && !is_made(a))
        return a.kind == b.kind && pt_same(a, b) ? SAME : DIFFERENT;
    enum fit all = same_parts(a, b) ? SAME : DIFFERENT;
    for (size_t i = 0; all != DIFFERENT && i < n_parts(a); i++) {
        enum fit one = fit(m, *part(a, i), *part(b, i));
        all = one < all ? one : all;
    }
    return all;
}

static enum fit fit_all(matching *m, const keeper *w, const form *to, const form *from)
{
    enum fit all = SAME;
    *m = (matching){.to = to, .from = from};
    memset(m->pair, -1, sizeof m->pair);
    memset(m->back, -1, sizeof m->back);
    for (size_t i = 0; i < w->p->kept.n && all != DIFFERENT; i++) {
        enum fit one = fit(m, to->at[i], from->at[i]);
        all = one < all ? one : all;
    }
    return all;
}

/* Numbers of f in which the other differs become slots. */
static void widen(keeper *w, form *f, pt_value *a, pt_value b, const char *path)
{
    if (is_number(*a)) {
        if (b.kind == PT_UNKNOWN || !pt_same(*a, b))
            *a = add_slot(w, f,
                          (slot){.path = path, .type = scalar(w->p, a->kind), .kind = a->kind, .now = *a});
        return;
    }
    for (size_t i = 0; i < n_parts(*a); i++)
        widen(w, f, part(*a, i), *part(b, i), part_path(w, path, *a, i));
}

/* ---- reading from a form ---- */

static pt_value build(keeper *w, form *f, pt_value v)
{
    pt_import *p = w->p;
    if (v.kind == PT_UNKNOWN) {
        slot *s = &f->slot[v.i];
        if (s->kind == PT_TENSOR)
            return (pt_value){.kind = PT_TENSOR, .tensor = s->current};
        return f == w->form[0] && !f->entered ? s->now : pt_number_of(p, s->kind, s->begins);
    }
    if (!pt_has_parts(v) && !is_made(v))
        return v;
    pt_value all = without_parts(w, v);
    if (!is_made(v))
        all.list->owner = p->im.r;
    for (size_t i = 0; i < n_parts(v); i++)
        *part(all, i) = build(w, f, *part(v, i));
    return all;
}

/* The first form is that of the file as long as no run leaves it. */
static void begin(keeper *w, form *f)
{
    pt_import *p = w->p;
    bool first = f == w->form[0] && !f->entered;
    for (size_t i = 0; i < f->n_slot; i++) {
        slot *s = &f->slot[i];
        if (s->kind != PT_TENSOR)
            continue;
        s->current = first ? s->now.tensor : s->file ? s->file : pt_tensor_new(p, s->begins).tensor;
        s->current->shared = s->shared && !first ? s->path : NULL;
        if (s->file && !first) {
            pt_set(p, &s->file->now, (pt_value){.kind = PT_VALUE, .value = s->begins});
            s->file->stamp++;
        }
    }
    for (size_t i = 0; i < p->kept.n; i++)
        if (!p->kept.at[i].tensor)
            pt_set(p, p->kept.at[i].cell, build(w, f, f->at[i]));
}

static void record(keeper *w, form *end)
{
    matching *m = TN_NEW(&w->p->im.scratch, matching);
    form *to = NULL;
    enum fit best = DIFFERENT;
    for (size_t i = 0; i < w->n_form && best != SAME; i++) {
        enum fit is = fit_all(m, w, w->form[i], end);
        if (is > best) {
            best = is;
            to = w->form[i];
        }
    }
    if (to)
        (void)fit_all(m, w, to, end);
    for (size_t i = 0; to && i < to->n_slot; i++)
        if (m->pair[i] >= 0 && end->slot[m->pair[i]].shared && !to->slot[i].shared)
            to->slot[i].shared = w->changed = true;
    for (size_t i = 0; best == WIDER && i < w->p->kept.n; i++)
        widen(w, to, &to->at[i], end->at[i], w->p->kept.at[i].name);
    if (!to && w->n_form < MAX_FORMS)
        w->form[w->n_form++] = to = end;
    w->changed = w->changed || best != SAME || (to && !to->entered);
    if (to)
        to->entered = true;
    else
        for (size_t i = 0; i < w->p->kept.n; i++)
            if (fit(m, w->form[MAX_FORMS - 1]->at[i], end->at[i]) == DIFFERENT) {
                (void)unsettled(w, w->p->kept.at[i].name,
                                "to something of another kind or shape in each run");
                return;
            }
}

/* What the run gives: its result, the number of the form that it leaves, the states. */
static pt_value left(keeper *w, pt_value result, const form *end)
{
    pt_import *p = w->p;
    matching *m = TN_NEW(&p->im.scratch, matching);
    size_t k = 0;
    pt_value all = pt_make(&p->im.scratch, PT_TUPLE, 2 + w->states.n, NULL);
    while (k < w->n_form && fit_all(m, w, w->form[k], end) != SAME)
        k++;
    if (k == w->n_form) {
        (void)unsettled(w, p->kept.at[0].name, "in another way in each run");
        return pt_bad();
    }
    all.list->at[0] = result;
    all.list->at[1] = pt_int((int64_t)k);
    for (size_t i = 0; i < w->states.n; i++)
        all.list->at[2 + i] = w->states.at[i].same;
    for (size_t i = 0; i < w->form[k]->n_slot; i++) {
        tn_value v = m->got[i].kind == PT_VALUE ? m->got[i].value : pt_number_value(p, m->got[i]);
        if (w->form[k]->slot[i].state < w->states.n)
            all.list->at[2 + w->form[k]->slot[i].state] = pt_tensor_new(p, v);
    }
    return all;
}

static pt_value run(pt_import *p, void *user)
{
    keeper *w = user;
    begin(w, w->form[w->reading]);
    pt_value v = w->body(p, w->user);
    if (p->stop || p->raised || p->finished)
        return v;
    size_t kept = p->kept.n;
    form *end = current_form(w);
    p->stop = p->stop || p->kept.n != kept;
    if (p->stop)
        return pt_bad();
    if (!w->probing)
        return left(w, v, end);
    record(w, end);
    return v;
}

/* Reads the code from form k where the import is. */
static pt_value read_form(keeper *w, size_t k)
{
    pt_import *p = w->p;
    const char *why;
    w->reading = k;
    p->body = run;
    p->user = w;
    p->splits.n = 0;
    p->n_path = p->n_run = 0;
    bool done = pt_run(p, &why);
    pt_value v = done ? p->result : pt_bad();
    if (!done && why)
        (void)imp_error(&p->im, IMP_BAD_VALUE, pt_place(p, "raise"),
                        "in run %zu, for inputs of these shapes and types, the model raises: %s", k + 1, why);
    pt_undo(p, 0);
    pt_fresh_after(p, 0);
    p->stop = !done;
    p->finished = false;
    return v;
}

/* ---- all forms ---- */

/* The code from form k, in a region that is not kept. */
static void probe(keeper *w, size_t k)
{
    pt_import *p = w->p;
    tn_region *outer = p->im.r;
    size_t regions = p->im.region.n, kept = p->kept.n, diagnostics = p->im.g->ctx->n_diag;
    form *f = w->form[k];
    tn_region *r = p->im.r = pt_region_new(p);
    for (size_t i = 0; i < f->n_slot; i++)
        f->slot[i].begins = tn_val(tn_region_add_param(p->im.g, r, f->slot[i].path, f->slot[i].type));
    (void)read_form(w, k);
    p->im.r = outer;
    pt_discard_regions(p, regions);
    if (!p->stop || p->kept.n != kept) { /* what is said here will be said of the reading that counts */
        pt_unsay(p, diagnostics);
        p->stop = false;
    }
}

/* false: it does not settle, or what is kept has become more. */
static bool settle(keeper *w)
{
    pt_import *p = w->p;
    size_t kept = p->kept.n;
    w->n_form = 0;
    w->form[w->n_form++] = current_form(w);
    if (p->kept.n != kept)
        return false;
    w->changed = true;
    for (int pass = 0; w->changed && pass < MAX_PASSES && !p->stop; pass++) {
        w->changed = false;
        for (size_t k = 0; k < w->n_form && !p->stop && p->kept.n == kept; k++)
            probe(w, k);
        if (p->kept.n != kept)
            return false;
    }
    if (w->changed && !p->stop)
        (void)unsettled(w, p->kept.at[0].name, "in another way in each run");
    return !p->stop;
}

/* ---- states of the package ---- */

static const tn_blob *first_of(keeper *w, const slot *s)
{
    pt_import *p = w->p;
    if (s->kind == PT_TENSOR)
        return pt_tensor_value(p, s->now.tensor).def->blob;
    uint8_t *at = tn_arena_alloc(p->im.g->arena, 8, 8);
    memcpy(at,
           s->kind == PT_BOOL  ? (const void *)&s->now.b
           : s->kind == PT_INT ? (const void *)&s->now.i
                               : &s->now.f,
           s->kind == PT_BOOL ? 1 : 8);
    return imp_blob(&p->im, (tn_bytes){at, s->kind == PT_BOOL ? 1 : 8}, s->type->dtype);
}

static const char *free_name(keeper *w, const char *path)
{
    const char *name = path;
    for (int k = 2;; k++) {
        bool taken = false;
        for (size_t i = 0; i < w->states.n; i++)
            taken = taken || strcmp(w->states.at[i].name, name) == 0;
        if (!taken)
            return name;
        name = tn_arena_printf(w->p->im.g->arena, "%s_%d", path, k);
    }
}

/* A tensor without elements needs no state. */
static bool is_empty(keeper *w, slot *s)
{
    int64_t dim[IMP_MAX_RANK], count = 1;
    for (int d = 0; d < s->type->n && d < IMP_MAX_RANK; d++) {
        (void)tn_is_int(s->type->dim[d], &dim[d]);
        count = dim[d] ? count : 0;
    }
    if (count)
        return false;
    const tn_blob *none = imp_blob(&w->p->im, (tn_bytes){(const uint8_t *)"", 0}, s->type->dtype);
    s->state = SIZE_MAX;
    s->begins = tn_val(imp_constant(&w->p->im, s->type->dtype, (size_t)s->type->n, dim, none, s->path));
    return true;
}

static void add_state(keeper *w, slot *s, size_t number)
{
    if (is_empty(w, s))
        return;
    for (s->state = 0; s->state < w->states.n; s->state++) {
        state *other = &w->states.at[s->state];
        if (other->form != number && tn_type_eq(other->type, s->type) && strcmp(other->path, s->path) == 0) {
            other->form = number;
            return;
        }
    }
    state new = {.path = s->path,
                 .name = free_name(w, tn_arena_strdup(w->p->im.g->arena, s->path)),
                 .type = s->type,
                 .first = number == 0 ? first_of(w, s) : NULL,
                 .form = number};
    tn_vec_push(&w->states, new);
}

static bool declare_states(keeper *w)
{
    pt_import *p = w->p;
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    for (size_t k = 0; k < w->n_form; k++)
        for (size_t i = 0; i < w->form[k]->n_slot && (k || w->form[0]->entered); i++)
            add_state(w, &w->form[k]->slot[i], k);
    for (size_t i = 0; i < w->states.n; i++) {
        state *s = &w->states.at[i];
        s->begins = imp_state(&p->im, s->name, s->type, s->first, loc);
        if (!s->begins.def)
            return false;
        s->same = pt_tensor_new(p, s->begins);
    }
    for (size_t k = 0; k < w->n_form; k++)
        for (size_t i = 0; i < w->form[k]->n_slot && (k || w->form[0]->entered); i++)
            if (w->form[k]->slot[i].state != SIZE_MAX)
                w->form[k]->slot[i].begins = w->states.at[w->form[k]->slot[i].state].begins;
    for (size_t i = 0; i < w->form[0]->n_slot && !w->form[0]->entered; i++)
        w->form[0]->slot[i].state = SIZE_MAX;
    if (w->n_form > 1) {
        w->phase = imp_state(&p->im, free_name(w, "form"), scalar(p, PT_INT), NULL, loc);
        return w->phase.def != NULL;
    }
    return true;
}

/* The readings from form k on, chosen by the state. */
static pt_value choose(pt_import *p, void *user, bool then)
{
    keeper *w = user;
    size_t k = w->reading + (then ? 0 : 1);
    if (then || k + 1 == w->n_form)
        return read_form(w, k);
    imp_node *c = pt_ctx(p);
    w->reading = k;
    tn_value is = imp_binary(c, &tn_op_equal, w->phase, imp_i64(c, (int64_t)k));
    return pt_fork(p, is, choose, w);
}

static tn_status set_states(keeper *w, pt_value all)
{
    pt_import *p = w->p;
    const tn_loc *loc = imp_make_loc(&p->im, NULL, NULL);
    for (size_t i = 0; i < w->states.n; i++) {
        tn_value v = pt_as_tensor(pt_ctx(p), pt_at(all, 2 + i));
        if (!v.def)
            return unsettled(w, w->states.at[i].path, "to what has no common type in all branches");
        TN_TRY(imp_set_state(&p->im, w->states.at[i].name, v, loc));
    }
    if (w->n_form < 2)
        return TN_OK;
    tn_value v = pt_number_value(p, pt_at(all, 1));
    const char *name = "form";
    for (size_t i = 0; i < p->im.kept.n; i++)
        if (tn_value_eq(p->im.kept.at[i].begins, w->phase))
            name = p->im.kept.at[i].name;
    return imp_set_state(&p->im, name, v, loc);
}

static tn_status read_kept(pt_import *p, pt_value (*body)(pt_import *p, void *user), void *user,
                           pt_value *out)
{
    keeper w = {.p = p, .body = body, .user = user, .probing = true};
    size_t errors = p->im.g->ctx->n_error;
    tn_status s = TN_FAIL;
    bool settled = false;
    for (int i = 0; i < MAX_PASSES && !settled && !p->stop; i++)
        settled = settle(&w);
    w.probing = false;
    p->settled = settled;
    if (settled && declare_states(&w)) {
        w.reading = (size_t)0 - 1;
        pt_value all = choose(p, &w, false);
        s = p->stop || !pt_is_sequence(all) ? TN_FAIL : set_states(&w, all);
        *out = s == TN_OK ? pt_at(all, 0) : pt_bad();
    }
    tn_vec_deinit(&w.states);
    return s == TN_OK && p->im.g->ctx->n_error == errors ? TN_OK : TN_FAIL;
}

tn_status pt_read_with_states(pt_import *p, pt_value (*body)(pt_import *p, void *user), void *user,
                              pt_value *out)
{
    pt_mark start = pt_mark_of(p);
    tn_status s = pt_read(p, body, user, out);
    if (!p->kept.n)
        return s;
    pt_forget(p, start);
    return read_kept(p, body, user, out);
}
