/* Rule irregular: blocks whose bodies are lists of statements (sorting, suppression of boxes, scatters): their spatial
 * iterations in tasks, those of which all take the same steps as lanes (irregular_lanes.c), and those of blocks inside,
 * which hold stores alone, in vectors. Blocks beside them that only store are scheduled as rule elementwise does. */
#include "schedule/rules/derive.h"

enum { TASK_STATEMENTS = 16384 /* long against handing a task out */, MANY = 1 << 24, FEW = 4 };

/* ---- what an iteration does ---- */

/* Statements that the list runs, about; MANY: not known, or more. */
static int64_t count_statements(const tn_body *b, int depth)
{
    int64_t sum = 0, turns;
    for (const tn_stmt *s = b->first; s && sum < MANY && depth < 64; s = s->next) {
        tn_body *inner[2];
        int64_t all = 1;
        int n = tn_stmt_bodies((tn_stmt *)(uintptr_t)s, inner); /* only looks */
        for (int i = 0; i < n; i++)
            all += count_statements(inner[i], depth + 1);
        if (s->kind == TN_S_FOR)
            all = !tn_is_int(s->u.loop.extent, &turns) || turns > MANY / all ? MANY
                  : turns < 1                                                ? 1
                                                                             : turns * all;
        sum += all;
    }
    return sum < MANY ? sum : MANY;
}

/* Does it hold more than stores? */
static bool is_list(const tn_stmt *block) { return tn_block_target(block) < 0; }

typedef struct {
    tn_stmt *at[RULE_MAX_BLOCKS];
    int n;
    bool odd; /* too many, or one that is no perfect nest of spatial iterations */
} outer;

/* Blocks that stand in no other. Around their own loops may be others, whose turns run in order. */
static void look_for_blocks(outer *o, tn_body *body, int depth)
{
    for (tn_stmt *s = body->first; s && !o->odd; s = s->next)
        if (s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_SERIAL && depth < TN_MAX_LOOPS)
            look_for_blocks(o, &s->u.loop.body, depth + 1);
        else if (s->kind == TN_S_BLOCK && o->n < RULE_MAX_BLOCKS && !rule_reduces(s) && tn_own_loops(s))
            o->at[o->n++] = s;
        else
            o->odd |= s->kind == TN_S_FOR || s->kind == TN_S_BLOCK || (depth && s->kind != TN_S_LET);
}

/* Their number; -1: there are odd ones. */
static int outer_blocks(const tn_func *f, tn_stmt *out[RULE_MAX_BLOCKS])
{
    outer o = {0};
    look_for_blocks(&o, (tn_body *)(uintptr_t)&f->body, 0); /* only looks */
    for (int i = 0; i < o.n; i++)
        out[i] = o.at[i];
    return o.odd ? -1 : o.n;
}

bool rule_irregular_matches(const tn_func *f, const tn_machine *m)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = outer_blocks(f, b);
    bool found = false;
    (void)m;
    for (int i = 0; i < n; i++) {
        found |= is_list(b[i]);
        if (!is_list(b[i]) && !rule_plain_nest(b[i]))
            return false;
    }
    return found;
}

/* ---- steps ---- */

static int64_t pick_chunk(derive *d, const tn_stmt *block, const char *name)
{
    int64_t total = 1, each = count_statements(&block->u.block.body, 0),
            chunk = TASK_STATEMENTS / (each ? each : 1);
    for (uint32_t i = 0; i < block->u.block.n_iter && total < MANY; i++) {
        int64_t extent = rule_extent(block->u.block.iter[i].extent);
        total = extent < 0 || extent > MANY / total ? MANY : total * (extent ? extent : 1);
    }
    chunk = chunk > total ? total : chunk;
    while (chunk & (chunk - 1)) /* a power of two: quotients of it are cheap */
        chunk &= chunk - 1;
    chunk = chunk < 1 ? 1 : chunk;
    return dv_pick_power(d, name, "task_turns", chunk, 1, total < TASK_STATEMENTS ? total : TASK_STATEMENTS);
}

static void cut_into_tasks(derive *d, const char *name, const char *prefix)
{
    const tn_stmt *block = tn_func_block(d->s->func, name);
    const char *loop[TN_MAX_LOOPS], *all = "";
    int n = (int)block->u.block.n_iter, steps = tn_sched_n_loops(d->s, name) - n;
    if (n == 0)
        return;
    int64_t chunk = pick_chunk(d, block, name);
    for (int i = 0; i < n; i++) {
        loop[i] = dv_text(d, "%si%d", prefix, i);
        all = dv_text(d, "%s %s", all, loop[i]);
    }
    if (steps)
        loop[0] = dv_text(d, "%s%s", dv_blanks(d, steps), loop[0]);
    dv_loops(d, name, loop, n);
    dv_do(d, "%s%s = fuse%s", prefix, chunk > 1 ? "each" : "task", all);
    if (chunk > 1)
        dv_do(d, "%stask %sturn = split %seach %lld tail=mask", prefix, prefix, prefix, (long long)chunk);
    dv_do(d, "parallel %stask", prefix);
}

/* ---- blocks inside ---- */

static bool is_inner(const tn_stmt *s)
{
    for (s = tn_stmt_parent(s); s; s = tn_stmt_parent(s))
        if (s->kind == TN_S_BLOCK)
            return true;
    return false;
}

typedef struct {
    const tn_func *f;
    bool plain;     /* values and stores alone */
    bool registers; /* whose indices must be constant */
    uint32_t values;
    tn_dtype narrowest;
} stores;

static bool is_register(const tn_func *f, uint32_t buffer)
{
    return f->buffer[buffer].scope == TN_SCOPE_REGISTER;
}

static void look_at(stores *w, const tn_stmt *s)
{
    if (s->kind == TN_S_STORE) {
        tn_dtype t = w->f->buffer[s->u.store.buffer].dtype;
        w->narrowest = !w->narrowest.bits || t.bits < w->narrowest.bits ? t : w->narrowest;
        w->registers |= is_register(w->f, s->u.store.buffer);
    }
    w->values += s->kind == TN_S_LET;
    w->plain &= s->kind == TN_S_STORE || s->kind == TN_S_LET;
}

static void look_at_load(const tn_expr *load, void *user)
{
    stores *w = user;
    w->registers |= is_register(w->f, load->u.load.buffer);
}

/* Lanes for the iterations of a block; 1: none. *unrolled: the vectors need constant indices. */
static int64_t lanes_of(const derive *d, const tn_stmt *block, bool *unrolled)
{
    stores w = {.f = d->s->func, .plain = block->u.block.n_iter == 1};
    for (const tn_stmt *s = block->u.block.body.first; s; s = s->next)
        look_at(&w, s);
    rule_loads(block, look_at_load, &w);
    int64_t extent = w.plain ? rule_extent(block->u.block.iter[0].extent) : 0, lanes = 1;
    if (!w.plain || !w.narrowest.bits)
        return 1;
    lanes = rule_lanes(d->m, w.narrowest);
    bool whole = extent > 1 && extent <= 64 && (extent & (extent - 1)) == 0;
    if (rule_reduces(block)) /* a tree is cheaper once than for each vector */
        return whole ? extent : 1;
    bool held = w.registers || w.values * (uint64_t)(extent / lanes) <= d->m->n_vector_regs;
    if (whole && extent <= FEW * lanes && held)
        return extent; /* lowering cuts it: registers that hold it need no loop */
    *unrolled = whole && w.registers;
    if (*unrolled)
        return FEW * lanes;
    while (extent >= 0 && lanes > 1 && lanes / 2 >= extent)
        lanes /= 2;
    /* of few vectors, one with a mask costs more than twice as many without */
    bool masked = lanes > 2 && extent >= 0 && extent < FEW * lanes && extent % lanes != 0;
    return masked && extent % (lanes / 2) == 0 ? lanes / 2 : lanes;
}

static void make_vectors(derive *d, const tn_stmt *block, const char *prefix)
{
    const char *name = block->u.block.name, *loops = "";
    bool unrolled = false;
    int64_t lanes = lanes_of(d, block, &unrolled), extent;
    if (lanes < 2)
        return;
    extent = rule_extent(block->u.block.iter[0].extent);
    for (int n = tn_sched_n_loops(d->s, name); n > 1; n--)
        loops = dv_text(d, "%s_ ", loops);
    dv_do(d, "%s%s = loops \"%s\"", loops, prefix, name);
    if (extent != lanes)
        dv_do(d, "%so %sv = split %s %lld%s", prefix, prefix, prefix, (long long)lanes,
              dv_tail(extent, lanes));
    if (unrolled)
        dv_do(d, "unroll %so", prefix);
    (void)dv_try(d, "vectorize %s%s", prefix, extent != lanes ? "v" : "");
}

tn_verdict rule_irregular(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    tn_stmt *b[RULE_MAX_BLOCKS];
    const char *name[RULE_MAX_BLOCKS];
    bool list[RULE_MAX_BLOCKS];
    int n = outer_blocks(s->func, b);
    for (int i = 0; i < n; i++) {
        name[i] = b[i]->u.block.name;
        list[i] = is_list(b[i]);
    }
    dv_comment(&d, "rule irregular: iterations in tasks of about %d statements", TASK_STATEMENTS);
    for (int i = 0; i < n && dv_ok(&d); i++) {
        const char *prefix = i ? dv_text(&d, "n%d_", i) : "";
        if (list[i]) {
            rule_list_lanes(&d, name[i], prefix);
            cut_into_tasks(&d, name[i], prefix);
        } else {
            (void)rule_elementwise_nest(&d, name[i], prefix);
        }
    }
    n = rule_blocks(s->func, b);
    for (int i = 0; i < n && dv_ok(&d); i++)
        if (is_inner(b[i]))
            make_vectors(&d, b[i], dv_text(&d, "x%d", i));
    return d.v;
}
