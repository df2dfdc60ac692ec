/* Files of tuning records: any bytes. What is read prints, also as the pair of files of MetaSchedule, and reads back as
 * it was; of one machine there are those of that machine; the record that is found for a workload is the fastest. Tile
 * sizes of TVM's lines are of whole loops, and find those of a convolution, or those of a sum, or do not. */
#include "schedule/space.h"
#include "tune/database.h"
#include "tune/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

static uint32_t lines_of(const char *text, size_t n)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static void print_all(const tn_records *r, tn_buf *out)
{
    for (size_t i = 0; i < r->all.n; i++)
        tn_record_print(&r->all.at[i], out);
}

static void read_back(const tn_records *r)
{
    tn_buf text = {0}, again = {0};
    tn_records back;
    uint32_t line;
    tn_records_init(&back);
    print_all(r, &text);
    require(!tn_records_parse(&back, tn_buf_cstr(&text), text.n, NULL, &line));
    print_all(&back, &again);
    require(text.n == again.n && strcmp(tn_buf_cstr(&text), tn_buf_cstr(&again)) == 0);
    tn_records_deinit(&back);
    tn_buf_deinit(&text);
    tn_buf_deinit(&again);
}

/* As the pair, with the text as the function of every workload. */
static void read_back_pair(const tn_records *r, const char *module)
{
    tn_buf workloads = {0}, lines = {0};
    tn_records back;
    uint32_t line;
    tn_buf_str(&workloads, "[\"12\n"); /* which somebody's end cut short, as the next one */
    if (r->all.n)
        tn_buf_printf(&workloads, "[\"%" PRIu64 "\", \"func\n", r->all.at[0].workload);
    for (size_t i = 0; i < r->all.n; i++) {
        bool known;
        tn_record x = r->all.at[i];
        x.function = module;
        uint32_t at = tn_database_find_workload(workloads.at, workloads.n, &x, &known);
        if (!known)
            tn_database_print_workload(&x, &workloads);
        tn_database_print_record(&x, at, &lines);
    }
    tn_records_init(&back);
    tn_database_parse_workloads(&back, workloads.at, workloads.n);
    require(!tn_records_parse(&back, tn_buf_cstr(&lines), lines.n, NULL, &line));
    require(back.all.n == r->all.n && back.n_foreign == 0);
    for (size_t i = 0; i < r->all.n; i++) {
        const tn_record *a = &r->all.at[i], *b = &back.all.at[i];
        require(a->workload == b->workload && strcmp(a->trace, b->trace) == 0);
        require(b->function && strcmp(b->function, module) == 0);
        require(a->parameters ? b->parameters && strcmp(a->parameters, b->parameters) == 0 : !b->parameters);
    }
    tn_records_deinit(&back);
    tn_buf_deinit(&workloads);
    tn_buf_deinit(&lines);
}

static void find_all(const tn_records *r)
{
    for (size_t i = 0; i < r->all.n; i++) {
        const tn_record *x = &r->all.at[i];
        const tn_record *best = tn_records_find(r, x->workload, x->machine, x->threads);
        require(best && best->workload == x->workload && best->seconds <= x->seconds);
        require(strcmp(best->machine, x->machine) == 0 && (best->threads == x->threads || !x->threads));
        require(tn_records_find(r, x->workload, x->machine, 0) != NULL && tn_records_has(r, x));
    }
}

/* Reading those of one machine gives what a reader of all has of it. */
static void read_one_machine(const tn_records *r, const char *text, size_t n)
{
    const char *machine = r->all.n ? r->all.at[0].machine : "";
    tn_records one;
    uint32_t line;
    size_t same = 0;
    tn_records_init(&one);
    (void)tn_records_parse(&one, text, n, machine, &line);
    for (size_t i = 0; i < one.all.n; i++)
        require(strcmp(one.all.at[i].machine, machine) == 0);
    for (size_t i = 0; i < r->all.n; i++)
        same += strcmp(r->all.at[i].machine, machine) == 0;
    require(one.all.n == same ||
            (one.all.n < same && memchr(text, '\\', n))); /* machines with escapes are another's */
    tn_records_deinit(&one);
}

static const tn_tiled_loops convolution = {
    .n_spatial = 4,
    .n = 7,
    .extent = {-1, 64, 14, 14, 32, 3, 3},
    .lanes_axis = 1,
    .rows = 1 << 0 | 1 << 2 | 1 << 3,
    .lanes = 16,
    .n_sum = 1,
    .sum = {
        {.terms = 65536, .lanes_axis = 1, .lanes = 16, .n_operand = 1, .operand = {{"float32", 8 * 65536}}}}};

static void read_tilings(const tn_tvm_lines *x)
{
    tn_arena arena;
    tn_arena_init(&arena);
    require(x->n_tiling <= TN_MOST_TILINGS && (x->n > 0 || !x->n_tiling));
    for (uint32_t i = 0; i < x->n_tiling; i++) {
        const tn_tiling *t = &x->tiling[i];
        tn_tiling_fit fit;
        require(t->n > 0 && t->n <= TN_TILING_AXES);
        require(t->parts >= 0 && (!t->parts || t->n == 1));
        for (uint32_t k = 0; k < t->n; k++) {
            int64_t part = t->parts ? t->parts : t->axis[k].inner;
            require(t->axis[k].extent > 0 && part > 0 && t->axis[k].extent % part == 0);
        }
        bool fits = tn_tiling_fits(&convolution, t, &arena, &fit);
        for (uint32_t k = 0; fits && k < fit.n; k++)
            require(fit.wish[k].number >= 0);
    }
    tn_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data;
    tn_records r;
    uint32_t line = 0;
    tn_records_init(&r);
    const char *why = tn_records_parse(&r, text, n, NULL, &line);
    require(!why || (*why && line >= 1 && line <= lines_of(text, n)));
    for (size_t i = 0; i < r.tvm.n; i++)
        read_tilings(&r.tvm.at[i]);
    read_back(&r);
    read_back_pair(&r, "func @f() {\n  \"a\" # %s\n}\n");
    tn_database_parse_workloads(&r, text, n);
    find_all(&r);
    read_one_machine(&r, text, n);
    tn_records_deinit(&r);
    return 0;
}
