/* Rule jam: reductions over what lists of statements find, such as walks down the trees of an ensemble. A list waits
 * most of its time, because a turn of its loop reads where the turn before it said. So some run side by side, statement
 * by statement: those of neighbouring rows, or of neighbouring terms of the reduction where there are few rows.
 *
 *   tasks of rows: terms: the task's rows, some at once: their lists, then what the reduction makes of them
 *
 * A list reads the same for all rows of a term, which so comes from memory once for a task. What lists read besides, if
 * blocks compute it, is made once for the rows of a task, or where it is read if that is seldom or takes too much
 * memory. */
#include "schedule/rules/derive.h"

/* About what a turn of a list takes, in cycles: until the next one knows where to load from, and of a core's time. */
enum { WAIT = 20, ISSUE = 3 };
enum {
    MAX_BESIDE = 32,
    TASK_ROWS = 128,   /* read a term's memory once: more of them gain little */
    TASK_LISTS = 2048, /* long against handing a task out */
    ASKS = 32,         /* elements that a list reads of what feeds it, about */
    SMALL_CACHE = 1 << 18,
    FEW = 4 /* vectors */
};

typedef struct {
    const tn_stmt *sum, *list, *feeder[RULE_MAX_BLOCKS];
    int n_feeder, row, term; /* iterations of sum that index what the list finds */
    int row_of_list;         /* the list's own iteration of rows */
    int64_t rows, terms;     /* extents; -1: not known */
} lists;

/* ---- what the rule is for ---- */

static bool holds_loop(const tn_stmt *list)
{
    bool found = false;
    for (const tn_stmt *s = list->u.block.body.first; s; s = s->next)
        found |= s->kind == TN_S_FOR && s->u.loop.kind == TN_LOOP_SERIAL;
    return found;
}

typedef struct {
    lists *x;
    uint32_t buffer;
    bool fits;
} finding;

/* The sum's iteration that an index is; of an axis of one element, whose index is 0, one of that kind and extent. */
static int iteration_of(const tn_stmt *sum, const tn_expr *index, bool reduces)
{
    int i = tn_own_iteration(sum, index);
    for (uint32_t k = 0; k < sum->u.block.n_iter && i < 0 && tn_is_value(index, 0); k++)
        if ((sum->u.block.iter[k].kind == TN_ITER_REDUCE) == reduces &&
            tn_is_value(sum->u.block.iter[k].extent, 1))
            i = (int)k;
    return i >= 0 && (sum->u.block.iter[i].kind == TN_ITER_REDUCE) == reduces ? i : -1;
}

/* What the list finds is read by a row and a term, the one it has for each. */
static void look_at_finding(const tn_expr *load, void *user)
{
    finding *w = user;
    lists *x = w->x;
    if (load->u.load.buffer != w->buffer)
        return;
    int row[2], term[2];
    for (int d = 0; d < 2 && load->u.load.n_index == 2; d++) {
        row[d] = iteration_of(x->sum, load->src[d], false);
        term[d] = iteration_of(x->sum, load->src[1 - d], true);
    }
    w->fits = w->fits && load->u.load.n_index == 2 && !tn_load_mask(load);
    x->row_of_list = w->fits && row[0] >= 0 && term[0] >= 0 ? 0 : 1;
    x->row = w->fits ? row[x->row_of_list] : -1;
    x->term = w->fits ? term[x->row_of_list] : -1;
}

/* The list's own iterations index what it finds, in order. */
static bool is_finder(tn_stmt *b)
{
    const tn_stmt *found = tn_block_result(b);
    const tn_iter *it = b->u.block.iter;
    tn_stmt *top;
    return found && b->u.block.n_iter == 2 && tn_plain_nest(b, &top) == TN_DONE && rule_n_spatial(b) == 2 &&
           !b->u.block.mask && holds_loop(b) && found->u.store.n_index == 2 &&
           found->u.store.index[0] == it[0].var && found->u.store.index[1] == it[1].var;
}

static bool is_sum(tn_stmt *b)
{
    int n = 0;
    for (uint32_t i = 0; i < b->u.block.n_iter; i++)
        n += b->u.block.iter[i].kind == TN_ITER_REDUCE;
    return n == 1 && rule_plain_nest(b) && !b->u.block.mask && b->u.block.init.first &&
           tn_update_operand(b) >= 0;
}

/* Does the block make what it stores row by row? */
static bool is_feeder(const tn_stmt *b)
{
    const tn_stmt *store = tn_body_only(&b->u.block.body);
    return store && store->u.store.n_index > 0 && b->u.block.n_iter > 0 &&
           tn_own_iteration(b, store->u.store.index[0]) == 0;
}

static bool find_lists(const tn_func *f, lists *x)
{
    tn_stmt *b[RULE_MAX_BLOCKS];
    int n = rule_blocks(f, b);
    *x = (lists){.row = -1, .term = -1};
    for (int i = 0; i < n; i++) {
        bool list = tn_block_target(b[i]) < 0;
        if (list && (x->list || x->sum || !is_finder(b[i])))
            return false;
        if (rule_reduces(b[i]) && (x->sum || !x->list || !is_sum(b[i])))
            return false;
        bool feeds = !list && !x->list;
        if (!list && (!rule_plain_nest(b[i]) || (feeds && !is_feeder(b[i]))))
            return false;
        if (list)
            x->list = b[i];
        else if (rule_reduces(b[i]))
            x->sum = b[i];
        else if (feeds)
            x->feeder[x->n_feeder++] = b[i];
    }
    if (!x->sum)
        return false;
    finding w = {x, tn_block_result(x->list)->u.store.buffer, true};
    rule_loads(x->sum, look_at_finding, &w);
    if (!w.fits || x->row < 0 || x->term < 0)
        return false;
    x->rows = rule_extent(x->sum->u.block.iter[x->row].extent);
    x->terms = rule_extent(x->sum->u.block.iter[x->term].extent);
    return true;
}

bool rule_jam_matches(const tn_func *f, const tn_machine *m)
{
    lists x;
    (void)m;
    return find_lists(f, &x);
}

/* ---- choices ---- */

typedef struct {
    bool by_rows;
    int64_t beside, task_rows, lanes; /* beside: lists that run side by side */
    int along;                        /* iteration of the sum that lanes are of; -1: none */
    bool copies[RULE_MAX_BLOCKS];     /* by feeder: is it made for the rows of a task? */
} choice;

static int64_t groups(int64_t n, int64_t each) { return (n + each - 1) / each; }

/* Cycles of a turn of all lists, of which so many run side by side; the last ones may be fewer. */
static int64_t cycles(int64_t all, int64_t others, int64_t beside)
{
    return others * groups(all, beside) * (beside * ISSUE > WAIT ? beside * ISSUE : WAIT);
}

/* While one waits, the core is busy with the others; -1: not known how many there are. */
static int64_t enough(int64_t all)
{
    int64_t n = 1;
    while (n * ISSUE < WAIT)
        n *= 2;
    return all > 0 && all < n ? all : n;
}

/* So many of a number of lists (-1: not known) run side by side: the first, or a power of two. */
static int64_t pick_beside(derive *d, const char *name, const char *role, int64_t first, int64_t all)
{
    int64_t candidate[MAX_CANDIDATES] = {first};
    int n = 1;
    for (int64_t k = 1; k <= MAX_BESIDE; k *= 2)
        if (all < 0 || k <= all)
            n = dv_add_candidate(n, candidate, k);
    return dv_pick(d, name, role, n, candidate);
}

/* Does the number of turns depend on the term? */
static bool is_uneven(const lists *x)
{
    const tn_expr *term = x->list->u.block.iter[1 - x->row_of_list].var;
    bool uses = false;
    for (const tn_stmt *s = x->list->u.block.body.first; s; s = s->next)
        uses |= s->kind == TN_S_FOR && tn_uses(s->u.loop.extent, term);
    return uses;
}

/* Cycles of a turn of all lists of so many rows, lists of one row's terms beside each other. Where some end before
 * others, the core waits more. */
static int64_t cycles_by_terms(const lists *x, int64_t rows)
{
    int64_t n = cycles(x->terms, rows, enough(x->terms));
    return is_uneven(x) ? n * 5 / 4 : n;
}

/* Rows whose lists run side by side; 1: those of one row's terms do. */
static int64_t pick_rows(derive *d, const lists *x)
{
    int64_t n = enough(x->rows);
    if (x->rows > 0 && x->terms > 0 && cycles_by_terms(x, x->rows) < cycles(x->rows, x->terms, n))
        n = 1;
    return pick_beside(d, x->sum->u.block.name, "rows", n, x->rows);
}

bool rule_jam_rows(derive *d, rule_rows *out)
{
    lists x;
    if (!find_lists(d->s->func, &x) || x.rows >= 0 || x.terms < 0)
        return false;
    int64_t many = enough(-1);
    out->block = x.sum->u.block.name;
    out->rows = x.sum->u.block.iter[x.row].extent;
    out->many = (int)many;
    out->efficiency[many] = (double)many / (double)cycles(many, x.terms, many);
    out->efficiency[1] = 1 / (double)cycles_by_terms(&x, 1);
    return true;
}

/* Bytes that a feeder has for a row; -1: not known. */
static int64_t row_bytes(const tn_func *f, const tn_stmt *feeder, int64_t *out_elements)
{
    const tn_stmt *store = feeder->u.block.body.first;
    int64_t n = 1, extent;
    for (uint32_t d = 1; d < store->u.store.n_index; d++) {
        if (!tn_is_int(f->buffer[store->u.store.buffer].dim[d], &extent) || extent > (1 << 20) / n)
            return -1;
        n *= extent;
    }
    *out_elements = n;
    return n * (int64_t)tn_dtype_bytes(f->buffer[store->u.store.buffer].dtype);
}

static void pick_copies(derive *d, const lists *x, choice *c, int64_t *out_bytes)
{
    int64_t cache = d->m->l2_bytes ? (int64_t)d->m->l2_bytes : SMALL_CACHE;
    *out_bytes = 0;
    for (int i = 0; i < x->n_feeder; i++) {
        int64_t elements = 0, bytes = row_bytes(d->s->func, x->feeder[i], &elements),
                each = c->by_rows ? c->beside : 1;
        bool fits = bytes >= 0 && (*out_bytes + bytes) * each <= cache / 4;
        bool often = x->terms < 0 || elements <= ASKS * x->terms;
        c->copies[i] = !dv_pick_flag(d, x->feeder[i]->u.block.name, "inline", !(fits && often));
        *out_bytes += c->copies[i] && bytes > 0 ? bytes : 0;
    }
}

static int64_t pick_task_rows(derive *d, const lists *x, const choice *c, int64_t bytes)
{
    int64_t least = c->by_rows ? c->beside : 1, n = least, most = TASK_ROWS * 8,
            cache = d->m->l2_bytes ? (int64_t)d->m->l2_bytes : SMALL_CACHE,
            wanted =
                x->rows >= 0 || c->by_rows ? TASK_ROWS : enough(-1); /* terms: where there are few rows */
    while (n < wanted && (x->rows < 0 || n < x->rows) && 2 * n * bytes <= cache / 4)
        n *= 2;
    while (x->rows > 0 && n / 2 >= least && groups(x->rows, n) < (int64_t)d->m->cores &&
           (x->terms < 0 || n / 2 * x->terms >= TASK_LISTS))
        n /= 2;
    while (x->rows > 0 && most / 2 >= x->rows) /* others have none to take */
        most /= 2;
    return dv_pick_power(d, x->sum->u.block.name, "task_rows", n, least, n > most ? n : most);
}

typedef struct {
    const tn_func *f;
    const tn_expr *var;
    bool all;
} contiguous;

static void look_at_load(const tn_expr *load, void *user)
{
    contiguous *w = user;
    int inner = rule_innermost_dim(&w->f->buffer[load->u.load.buffer]);
    for (int d = 0; d < (int)load->u.load.n_index && w->all; d++)
        w->all =
            !tn_uses(load->src[d], w->var) || (d == inner && rule_steps_by_one(w->f, load->src[d], w->var));
}

/* The sum's iteration along which its elements, and what it reads for them, lie beside each other; -1: none. */
static int along(const tn_func *f, const lists *x)
{
    const tn_stmt *store = x->sum->u.block.body.first;
    int inner = rule_innermost_dim(rule_target(f, x->sum)),
        i = tn_own_iteration(x->sum, store->u.store.index[inner]);
    contiguous w = {f, i < 0 ? NULL : x->sum->u.block.iter[i].var, true};
    if (i < 0 || i == x->row)
        return -1;
    rule_loads(x->sum, look_at_load, &w);
    return w.all ? i : -1;
}

/* Of few vectors, one with a mask costs more than some shorter ones without. */
static int64_t pick_lanes(derive *d, const lists *x, int64_t extent)
{
    int64_t most = rule_lanes(d->m, rule_target(d->s->func, x->sum)->dtype), n = most;
    while (n > 1 && extent > 0 && extent % n != 0)
        n /= 2;
    if (n == 1 && extent > 1)
        n = extent >= FEW * most || most == 1 ? most : 2;
    return dv_pick_power(d, x->sum->u.block.name, "lanes", n, 1, most);
}

static choice choose(derive *d, const lists *x, int64_t *out_bytes)
{
    choice c = {.beside = pick_rows(d, x)};
    c.by_rows = c.beside > 1;
    if (!c.by_rows)
        c.beside = pick_beside(d, x->sum->u.block.name, "terms", enough(x->terms), x->terms);
    pick_copies(d, x, &c, out_bytes);
    c.task_rows = pick_task_rows(d, x, &c, *out_bytes);
    c.along = along(d->s->func, x);
    c.lanes = c.along < 0 ? 1 : pick_lanes(d, x, rule_extent(x->sum->u.block.iter[c.along].extent));
    return c;
}

/* ---- steps ---- */

/* Names the loops of the sum and puts them into order: rows and terms as the choice says, then the others. */
static void order_loops(derive *d, const lists *x, const choice *c)
{
    const tn_stmt *b = x->sum;
    const char *loop[TN_MAX_LOOPS], *others = "";
    long long beside = c->beside, rows = c->task_rows / (c->by_rows ? c->beside : 1);
    for (int i = 0; i < (int)b->u.block.n_iter; i++) {
        loop[i] = i == x->row ? "row" : i == x->term ? "term" : dv_text(d, "c%d", i);
        if (i != x->row && i != x->term)
            others = dv_text(d, "%s %s", others, loop[i]);
    }
    dv_loops(d, b->u.block.name, loop, (int)b->u.block.n_iter);
    if (c->by_rows) {
        dv_do(d, "task r beside = split row %lld %lld%s", rows, beside, dv_tail(x->rows, c->task_rows));
        dv_do(d, "reorder task term r beside%s", others);
    } else {
        dv_do(d, "task r = split row %lld%s", rows, dv_tail(x->rows, c->task_rows));
        dv_do(d, "terms beside = split term %lld%s", beside, dv_tail(x->terms, c->beside));
        dv_do(d, "reorder task terms r beside%s", others);
    }
}

/* The feeder's rows, of which a task may have fewer than others; vectors along its last axis. */
static void feed_task(derive *d, const tn_stmt *feeder, const char *prefix)
{
    const char *name = feeder->u.block.name, *names = "";
    int n = (int)feeder->u.block.n_iter;
    int64_t lanes = rule_lanes(d->m, rule_target(d->s->func, feeder)->dtype),
            extent = rule_extent(feeder->u.block.iter[n - 1].extent);
    dv_do(d, "compute_at \"%s\" task", name);
    for (int i = 0; i < n; i++)
        names = dv_text(d, "%s%s%s%d", names, i ? " " : "", prefix, i);
    dv_last_loops(d, name, names, n);
    if (n < 2)
        return;
    dv_do(d, "blockize %s1", prefix);
    if (extent <= lanes) {
        (void)dv_try(d, "vectorize %s%d", prefix, n - 1);
        return;
    }
    dv_do(d, "%so %sv = split %s%d %lld%s", prefix, prefix, prefix, n - 1, (long long)lanes,
          dv_tail(extent, lanes));
    if (dv_try(d, "vectorize %sv", prefix) && extent <= 2 * FEW * lanes)
        dv_do(d, "unroll %so", prefix); /* what is beyond an edge is known of each vector */
}

static void run_beside(derive *d, const lists *x, const choice *c)
{
    const char *list = x->list->u.block.name;
    bool last = c->by_rows == (x->row_of_list == 1); /* is what runs side by side the list's inner loop? */
    dv_do(d, "set_scope \"%s\" register", list);
    dv_last_loops(d, list, last ? "_ l" : "l other", 2);
    if (!last)
        dv_do(d, "reorder other l");
    dv_do(d, "jam l");
    dv_do(d, "blockize beside");
    dv_do(d, "unroll beside");
    int64_t extent = c->lanes > 1 ? rule_extent(x->sum->u.block.iter[c->along].extent) : 1;
    if (c->lanes > 1 && extent != c->lanes)
        dv_do(d, "_ lane = split c%d %lld%s", c->along, (long long)c->lanes, dv_tail(extent, c->lanes));
    if (c->lanes > 1)
        dv_do(d, "vectorize %s", extent != c->lanes ? "lane" : dv_text(d, "c%d", c->along));
}

/* Where the sums of a task begin, it may have fewer rows than others. */
static void begin_sums(derive *d, const char *sum)
{
    const char *init = dv_text(d, "%s.init", sum);
    int n = dv_ok(d) ? tn_sched_n_loops(d->s, init) : 0;
    if (n < 3)
        return;
    dv_last_loops(d, init, dv_text(d, "z %s", dv_blanks(d, n - 3)), n - 2);
    dv_do(d, "blockize z");
}

tn_verdict rule_jam(tn_sched *s, const tn_machine *m)
{
    derive d = {s, m, TN_DONE};
    lists x;
    int64_t bytes;
    if (!find_lists(s->func, &x))
        return TN_REJECT_NEST;
    const char *sum = x.sum->u.block.name, *list = x.list->u.block.name;
    choice c = choose(&d, &x, &bytes);
    dv_comment(&d, "rule jam: %lld lists of %s side by side, tasks of %lld rows", (long long)c.beside,
               c.by_rows ? "rows" : "terms", (long long)c.task_rows);
    for (int i = 0; i < x.n_feeder; i++)
        if (!c.copies[i])
            dv_do(&d, "compute_inline \"%s\"", x.feeder[i]->u.block.name);
    epilogue e = rule_epilogue(&d, sum);
    order_loops(&d, &x, &c);
    dv_do(&d, "compute_at \"%s\" r", list);
    for (int i = x.n_feeder - 1; i >= 0; i--)
        if (c.copies[i])
            feed_task(&d, x.feeder[i], dv_text(&d, "f%d_", i));
    dv_do(&d, "decompose_reduction \"%s\" term%s", sum, c.by_rows ? "" : "s");
    for (int i = 0; i < e.n; i++)
        dv_do(&d, "reverse_compute_at \"%s\" task", e.block[i]);
    dv_do(&d, "set_scope \"%s\" local", sum);
    run_beside(&d, &x, &c);
    begin_sums(&d, sum);
    dv_do(&d, "parallel task");
    return d.v;
}
