/* --profile: calls of equal kernels on equal shapes as one row, the longest first, then the sum and the whole
 * run. Bytes are those of all arguments, of all calls of the row; Nodes those of its first call. */
#include "cli/feed.h"
#include "cli/report.h"
#include "cli/terminal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *name, *shapes, *nodes; /* heap */
    uint64_t ns, bytes;
    uint32_t count;
    tnr_operations operations; /* of all calls */
} row;

struct tn_profile {
    row *rows;
    size_t n, room;
    bool failed; /* out of memory: the table would lack rows */
};

enum { NODES = 60 /* characters of a list of nodes */ };
enum { NAME, DURATION, PERCENT, DEVICE, COUNT, SPEED, PEAK, SHAPES, BYTES, NODES_AT, N_COLUMN };
typedef struct {
    char *cell[N_COLUMN];
} line; /* cells are heap texts */

tn_profile *tn_profile_new(void) { return calloc(1, sizeof(tn_profile)); }

void tn_profile_free(tn_profile *p)
{
    for (size_t i = 0; p && i < p->n; i++) {
        free(p->rows[i].name);
        free(p->rows[i].shapes);
        free(p->rows[i].nodes);
    }
    if (p)
        free(p->rows);
    free(p);
}

static char *shapes_text(const tnr_profile_event *e)
{
    char *all = NULL, one[512];
    size_t n = 0;
    FILE *to = open_memstream(&all, &n);
    for (uint32_t i = 0; to && i < e->n_in + e->n_out; i++)
        fprintf(to, "%s%s", i ? ", " : "",
                tn_tensor_text(e->arg[i].dtype, e->arg[i].ndim, e->arg[i].shape, one));
    if (to)
        fclose(to);
    return all;
}

static uint64_t bytes_of(const tnr_profile_event *e)
{
    uint64_t sum = 0, one;
    for (uint32_t i = 0; i < e->n_in + e->n_out; i++)
        if (!tnr_tensor_bytes(e->arg[i].dtype, e->arg[i].ndim, e->arg[i].shape, &one, NULL))
            sum += one;
    return sum;
}

static void add_operations(tnr_operations *sum, tnr_operations o)
{
    sum->floats += o.floats;
    sum->bfloat16 += o.bfloat16;
    sum->integers += o.integers;
}

static bool add_row(tn_profile *p, const tnr_profile_event *e, char *shapes)
{
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 64;
        row *more = realloc(p->rows, room * sizeof *more);
        if (!more)
            return false;
        p->rows = more;
        p->room = room;
    }
    row r = {strdup(e->kernel), shapes, strdup(e->node), e->nanoseconds, bytes_of(e), 1, e->operations};
    if (!r.name || !r.nodes) {
        free(r.name);
        free(r.nodes);
        return false;
    }
    if (strlen(r.nodes) > NODES)
        memcpy(r.nodes + NODES - 3, "...", 4);
    p->rows[p->n++] = r;
    return true;
}

void tn_profile_add(void *user, const tnr_profile_event *e)
{
    tn_profile *p = user;
    char *shapes = shapes_text(e);
    for (size_t i = 0; shapes && i < p->n; i++) {
        if (strcmp(p->rows[i].name, e->kernel) == 0 && strcmp(p->rows[i].shapes, shapes) == 0) {
            p->rows[i].ns += e->nanoseconds;
            p->rows[i].bytes += bytes_of(e);
            p->rows[i].count++;
            add_operations(&p->rows[i].operations, e->operations);
            free(shapes);
            return;
        }
    }
    if (!shapes || !add_row(p, e, shapes)) {
        free(shapes);
        p->failed = true;
    }
}

/* ---- the table ---- */

/* "1,234.56": two decimals, thousands apart. */
static char *amount(double v)
{
    char digits[48], *text = malloc(64);
    int n = snprintf(digits, sizeof digits, "%.2f", v), k = 0;
    for (int i = 0; i < n && text; i++) {
        if (i && i < n - 3 && (n - 3 - i) % 3 == 0)
            text[k++] = ',';
        text[k++] = digits[i];
    }
    if (text)
        text[k] = 0;
    return text;
}

static char *whole(uint64_t v)
{
    char *text = malloc(24);
    if (text)
        snprintf(text, 24, "%llu", (unsigned long long)v);
    return text;
}

/* 10^9 operations/s; the share of the time in which the cores would have done them at best. "-": no arithmetic, or
 * none that is known. */
static void add_speed(line *l, const tnr_operations *o, uint64_t ns, const tn_profile_run *run)
{
    const tenon_rates *r = &run->rates;
    double n = (double)o->floats + (double)o->bfloat16 + (double)o->integers, least = 0;
    if (r->float32 > 0) {
        uint32_t cores = (uint32_t)run->threads < r->cores ? (uint32_t)run->threads : r->cores;
        least = ((double)o->floats / r->float32 + (double)o->bfloat16 / r->bfloat16 +
                 (double)o->integers / r->int8) /
                cores;
    }
    l->cell[SPEED] = n > 0 && ns ? amount(n / (double)ns) : strdup("-");
    l->cell[PEAK] = least > 0 && ns ? amount(100 * least / (double)ns) : strdup("-");
}

/* share: whether the row has a share of the whole run */
static line make_line(const row *r, const tn_profile_run *run, bool share, const char *device)
{
    line l = {
        {[NAME] = strdup(r->name),
         [DURATION] = amount((double)r->ns / 1e3),
         [PERCENT] = share && run->total ? amount(100.0 * (double)r->ns / (double)run->total) : strdup(""),
         [DEVICE] = strdup(device),
         [COUNT] = r->count ? whole(r->count) : strdup(""),
         [SHAPES] = strdup(r->shapes),
         [BYTES] = r->bytes ? whole(r->bytes) : strdup(""),
         [NODES_AT] = strdup(r->nodes)}};
    add_speed(&l, &r->operations, r->ns, run);
    return l;
}

/* A cell in `width` columns; what does not fit loses its middle. */
static void print_cell(const char *text, int width, bool left)
{
    int n = (int)strlen(text), to = n - (width - 3) / 2, from = width - 3 - (n - to);
    if (n > width && width > 8) {
        while (from > 0 && (text[from] & 0xC0) == 0x80)
            from--; /* not within a character */
        while (text[to] && (text[to] & 0xC0) == 0x80)
            to++;
        printf("%.*s...%s", from, text, text + to);
    } else {
        printf(left ? "%-*s" : "%*s", width, text);
    }
}

/* Width 0: the column is left out. */
static void print_line(const line *l, const int width[N_COLUMN])
{
    bool first = true;
    for (int c = 0; c < N_COLUMN; c++) {
        if (!width[c])
            continue;
        printf("%s", first ? "" : "  ");
        print_cell(l->cell[c] ? l->cell[c] : "", width[c], first);
        first = false;
    }
    printf("\n");
}

static int total_width(const int width[N_COLUMN])
{
    int sum = -2;
    for (int c = 0; c < N_COLUMN; c++)
        sum += width[c] ? width[c] + 2 : 0;
    return sum;
}

/* Leaves columns out, then shortens names, until a line has at most `most` characters. */
static void fit(int width[N_COLUMN], int most)
{
    enum { LEAST_NODES = 16, LEAST_NAME = 18 };
    static const int out[] = {DEVICE, SHAPES, BYTES}, last[] = {SPEED, PEAK};
    for (size_t i = 0; i < sizeof out / sizeof *out && total_width(width) > most; i++)
        width[out[i]] = 0;
    int over = total_width(width) - most,
        spare = width[NAME] > 2 * LEAST_NAME ? width[NAME] - 2 * LEAST_NAME : 0;
    if (over > 0) {
        int cut = over < spare ? over : spare;
        width[NAME] -= cut;
        over -= cut;
    }
    if (over > 0) {
        width[NODES_AT] = width[NODES_AT] - over >= LEAST_NODES ? width[NODES_AT] - over : 0;
        over = total_width(width) - most;
    }
    if (over > 0)
        width[NAME] = width[NAME] - over > LEAST_NAME ? width[NAME] - over : LEAST_NAME;
    for (size_t i = 0; i < sizeof last / sizeof *last && total_width(width) > most; i++)
        width[last[i]] = 0;
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->shapes, y->shapes);
}

/* Heading, one line a row, a rule, the sum, what is between the kernels, the whole. */
static void make_table(const tn_profile *p, const tn_profile_run *run, line *at)
{
    static const char *const head[] = {"Name",    "Duration (us)", "Percent",         "Device", "Count",
                                       "GFLOP/s", "% of Peak",     "Argument Shapes", "Bytes",  "Nodes"};
    row sum = {.name = (char[]){"Sum"}, .shapes = (char[]){""}, .nodes = (char[]){""}};
    for (int c = 0; c < N_COLUMN; c++)
        at->cell[c] = strdup(head[c]);
    at++;
    for (size_t i = 0; i < p->n; i++) {
        const row *r = &p->rows[i];
        *at++ = make_line(r, run, true, "cpu0");
        sum.ns += r->ns;
        sum.count += r->count;
        sum.bytes += r->bytes;
        add_operations(&sum.operations, r->operations);
    }
    for (int c = 0; c < N_COLUMN; c++)
        at->cell[c] = strdup(c ? "" : "----------");
    at++;
    *at++ = make_line(&sum, run, true, "");
    row between = sum, whole_run = sum;
    between.name = (char[]){"Launching"};
    between.ns = run->total > sum.ns ? run->total - sum.ns : 0;
    between.count = 0;
    between.bytes = whole_run.bytes = 0;
    between.operations = (tnr_operations){0};
    *at++ = make_line(&between, run, true, "");
    whole_run.name = (char[]){"Total"};
    whole_run.ns = run->total;
    whole_run.count = 1;
    *at = make_line(&whole_run, run, false, "cpu0");
}

int tn_profile_print(tn_profile *p, const tn_profile_run *run)
{
    size_t n = p->n + 5;
    int width[N_COLUMN] = {0};
    line *table = p->failed ? NULL : calloc(n, sizeof *table);
    if (!table)
        return 1;
    if (p->n)
        qsort(p->rows, p->n, sizeof *p->rows, by_time);
    make_table(p, run, table);
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < N_COLUMN; c++) {
            int len = table[i].cell[c] ? (int)strlen(table[i].cell[c]) : 0;
            width[c] = len > width[c] ? len : width[c];
        }
    int most = run->wide ? 0 : tn_terminal_width(stdout, 0);
    if (most)
        fit(width, most);
    for (size_t i = 0; i < n; i++) {
        print_line(&table[i], width);
        for (int c = 0; c < N_COLUMN; c++)
            free(table[i].cell[c]);
    }
    free(table);
    printf("\nConfiguration\n-------------\nNumber of threads: %d\nExecutor: %s\n", run->threads,
           run->executor);
    return 0;
}
