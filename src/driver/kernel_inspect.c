/* tenon_kernel_inspect: blocks, loops and buffers of a kernel, as arrays that live until the next such call. */
#include "driver/kernel_api.h"

#include <string.h>

enum { MAX_LOOPS = 64 };

static const char *text_of(tn_arena *a, const tn_expr *e, const tn_names *names)
{
    tn_buf text = {0};
    tn_expr_print(e, names, &text);
    const char *s = tn_arena_strdup(a, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

/* ---- blocks ---- */

typedef struct {
    tn_arena *arena;
    tn_func *f;
    tn_names names;
    tn_vec(tn_stmt *) blocks;
    tn_vec(uint32_t) inner; /* buffers that are declared */
} walk;

static bool find(tn_stmt *s, void *user)
{
    walk *w = user;
    if (s->kind == TN_S_BLOCK)
        tn_vec_push(&w->blocks, s);
    if (s->kind == TN_S_BUFFER)
        tn_vec_push(&w->inner, s->u.decl.buffer);
    return true;
}

static const char *var_name(const walk *w, const tn_expr *var) { return text_of(w->arena, var, &w->names); }

typedef struct {
    const walk *w;
    int64_t own; /* what the block writes */
    uint32_t n;
    const char **name; /* room for all buffers */
} reads;

static bool note_load(const tn_expr *e, void *user)
{
    reads *r = user;
    const char *name = e->kind == TN_E_LOAD ? r->w->f->buffer[e->u.load.buffer].name : NULL;
    bool known = !name || e->u.load.buffer == r->own;
    for (uint32_t i = 0; i < r->n && !known; i++)
        known = r->name[i] == name;
    if (!known)
        r->name[r->n++] = name;
    return true;
}

static const tn_expr *note_loads(const tn_expr *e, void *user)
{
    if (e->has_load)
        tn_each(e, note_load, user);
    return e;
}

static bool note_reads(tn_stmt *s, void *user)
{
    reads *r = user;
    if (s->kind == TN_S_STORE && r->own < 0)
        r->own = s->u.store.buffer;
    tn_stmt_exprs(s, note_loads, r);
    return true;
}

static tenon_block_info see_block(const walk *w, tn_stmt *s)
{
    reads r = {.w = w, .own = -1, .name = TN_NEW_N(w->arena, const char *, w->f->n_buffer)};
    tn_stmt_walk(&s->u.block.body, note_reads, NULL, &r);
    tn_stmt *around[MAX_LOOPS];
    int n = tn_stmt_loops(s, MAX_LOOPS, around);
    uint32_t n_axis = s->u.block.n_iter;
    tenon_loop_info *loop = TN_NEW_N(w->arena, tenon_loop_info, n);
    tenon_axis_info *axis = TN_NEW_N(w->arena, tenon_axis_info, n_axis);
    for (int i = 0; i < n; i++)
        loop[i] = (tenon_loop_info){var_name(w, around[i]->u.loop.var),
                                    text_of(w->arena, around[i]->u.loop.extent, &w->names),
                                    tn_loop_names[around[i]->u.loop.kind]};
    for (uint32_t i = 0; i < n_axis; i++) {
        const tn_iter *it = &s->u.block.iter[i];
        axis[i] = (tenon_axis_info){var_name(w, it->var), text_of(w->arena, it->extent, &w->names),
                                    it->kind == TN_ITER_REDUCE ? 1
                                    : it->kind == TN_ITER_SCAN ? 2
                                                               : 0};
    }
    return (tenon_block_info){
        s->u.block.name, s->u.block.tag ? s->u.block.tag : "", (uint32_t)n, n_axis, loop, axis, r.n, r.name};
}

static void see_blocks(tenon_kernel *k, const walk *w)
{
    tenon_block_info *block = TN_NEW_N(&k->seen, tenon_block_info, w->blocks.n);
    for (size_t i = 0; i < w->blocks.n; i++)
        block[i] = see_block(w, w->blocks.at[i]);
    k->info.n_block = (uint32_t)w->blocks.n;
    k->info.block = block;
}

/* ---- buffers ---- */

static tenon_buffer_info see_buffer(tn_arena *a, const tn_buffer *b)
{
    const char **extent = TN_NEW_N(a, const char *, b->ndim);
    for (int d = 0; d < b->ndim; d++)
        extent[d] = text_of(a, b->dim[d], NULL);
    return (tenon_buffer_info){.name = b->name,
                               .scope = tn_scope_names[b->scope],
                               .kind = b->param < 0 ? TENON_BUFFER_INNER
                                       : b->written ? TENON_BUFFER_OUTPUT
                                                    : TENON_BUFFER_INPUT,
                               .dtype = {b->dtype.code, b->dtype.bits, 1},
                               .ndim = b->ndim,
                               .extent = extent};
}

static void see_buffers(tenon_kernel *k, const walk *w)
{
    const tn_func *f = k->sched.func;
    tenon_buffer_info *all = TN_NEW_N(&k->seen, tenon_buffer_info, f->n_param + w->inner.n);
    for (uint32_t i = 0; i < f->n_param; i++)
        all[k->info.n_buffer++] = see_buffer(&k->seen, &f->buffer[f->param[i]]);
    for (size_t i = 0; i < w->inner.n; i++)
        all[k->info.n_buffer++] = see_buffer(&k->seen, &f->buffer[w->inner.at[i]]);
    k->info.buffer = all;
}

/* ---- names of loops and numbers ---- */

static void see_values(tenon_kernel *k)
{
    const tn_sched *s = &k->sched;
    const char **name = TN_NEW_N(&k->seen, const char *, s->n_value);
    for (uint32_t i = 0; i < s->n_value; i++)
        if ((s->loop[i] || s->number[i] != TN_NO_NUMBER) && strcmp(s->value_name[i], "_") != 0)
            name[k->info.n_value++] = s->value_name[i];
    k->info.value = name;
}

static tn_status inspect(tn_object *o, void *user)
{
    tenon_kernel *k = (tenon_kernel *)o;
    (void)user;
    if (!k->is_seen)
        tn_arena_init(&k->seen);
    k->is_seen = true;
    tn_arena_reset(&k->seen);
    k->info = (tenon_kernel_info){.name = k->func->name};
    walk w = {.arena = &k->seen, .f = k->sched.func};
    tn_func_names(w.f, &w.names);
    tn_stmt_walk(&w.f->body, find, NULL, &w);
    see_blocks(k, &w);
    see_buffers(k, &w);
    see_values(k);
    tn_vec_deinit(&w.blocks);
    tn_vec_deinit(&w.inner);
    return TN_OK;
}

const tenon_kernel_info *tenon_kernel_inspect(tenon_kernel *k)
{
    bool ok = k && k->func && tn_object_change(&k->object, NULL, inspect, NULL) == 0;
    return ok ? &k->info : NULL;
}
