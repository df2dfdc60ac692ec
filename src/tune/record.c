/* Records of searches: their lines, and the best of each workload. */
#include "tune/record.h"

#include "base/wire/json.h"
#include "tune/database.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tn_record_machine(const tn_machine *m, tn_arena *arena)
{
    size_t n = strcspn(m->triple, "-");
    const char *text = tn_arena_printf(arena, "%.*s l1=%" PRIu64 " l2=%" PRIu64, (int)n, m->triple,
                                       m->l1_bytes, m->l2_bytes);
    for (size_t i = 0; i < m->n_feature; i++)
        text = tn_arena_printf(arena, "%s %s", text, m->feature[i]);
    return text;
}

/* ---- lines ---- */

static void print_text(tn_buf *out, const char *key, const char *value)
{
    tn_buf_printf(out, ", \"%s\": ", key);
    tn_buf_json(out, value);
}

static void print_number(tn_buf *out, const char *key, double value)
{
    tn_buf_printf(out, ", \"%s\": ", key);
    tn_buf_real(out, value, 0);
}

void tn_record_print(const tn_record *r, tn_buf *out)
{
    tn_buf_printf(out, "{\"tenon\": %d, \"workload\": \"%016" PRIx64 "\"", TN_RECORD_FORMAT, r->workload);
    print_text(out, "machine", r->machine);
    print_number(out, "threads", r->threads);
    print_number(out, "seconds", r->seconds);
    print_number(out, "default", r->built_in);
    print_number(out, "operations", r->operations);
    print_number(out, "trials", r->trials);
    print_text(out, "name", r->name);
    print_text(out, "generator", r->generator);
    print_number(out, "version", r->version);
    print_text(out, "picks", r->picks);
    print_text(out, "trace", r->trace);
    if (r->sizes) {
        tn_buf_printf(out, ", \"form\": \"%016" PRIx64 "\"", r->form);
        print_text(out, "sizes", r->sizes);
    }
    if (r->function)
        print_text(out, "function", r->function);
    tn_buf_str(out, "}\n");
}

static const char plain_begin[] = "{\"tenon\": ";

void tn_record_print_line(const tn_record *r, tn_buf *out)
{
    const size_t k = sizeof plain_begin - 1;
    if (!r->line || strncmp(r->line, plain_begin, k) != 0 || strpbrk(r->line, "\r\n")) {
        tn_record_print(r, out);
        return;
    }
    tn_buf_str(out, r->line);
    tn_buf_char(out, '\n');
}

/* Behind a string that begins here. */
static const char *string_end(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return at + (*at == '"');
}

/* The end of an object, which its brace closes; *out_key: its key "function" with the comma before it, or NULL. */
static const char *object_end(const char *at, const char **out_key)
{
    static const char key[] = ", \"function\": \"";
    int depth = 0;
    *out_key = NULL;
    do {
        if (depth == 1 && strncmp(at, key, sizeof key - 1) == 0)
            *out_key = at;
        depth += (*at == '{') - (*at == '}');
        at = *at == '"' ? string_end(at) : at + 1;
    } while (*at && !(depth == 1 && *at == '}'));
    return at;
}

const char *tn_record_line_with(const tn_record *r, const char *function, tn_arena *arena)
{
    const char *begin = strstr(r->line, plain_begin), *key;
    tn_buf out = {0};
    if (!begin)
        return r->line;
    const char *end = object_end(begin, &key);
    const char *cut = key ? key : end, *after = key ? string_end(strchr(key, ':') + 2) : end;
    tn_buf_add(&out, r->line, (size_t)(cut - r->line));
    tn_buf_add(&out, after, (size_t)(end - after));
    print_text(&out, "function", function);
    tn_buf_str(&out, end);
    const char *line = tn_arena_strdup(arena, tn_buf_cstr(&out));
    tn_buf_deinit(&out);
    return line;
}

bool tn_record_is_text(const char *s, size_t n, bool lines)
{
    bool text = true;
    for (size_t i = 0; i < n && text; i++) {
        unsigned char c = (unsigned char)s[i];
        text = (c >= ' ' && c != 127) || (lines && (c == '\n' || c == '\t'));
    }
    return text;
}

/* NULL: there is no such text. */
static const char *text_of(const tn_json *line, const char *key, bool lines, tn_arena *arena)
{
    const tn_json *v = tn_json_find(line, key);
    bool text = tn_json_is(v, TN_JSON_STRING) && tn_record_is_text(v->u.s, v->n, lines);
    return text ? tn_arena_strndup(arena, v->u.s, v->n) : NULL;
}

/* -1: there is no such number, or it is below 0. */
static double number_of(const tn_json *line, const char *key)
{
    const tn_json *v = tn_json_find(line, key);
    double x = tn_json_is(v, TN_JSON_INT) ? (double)v->u.i : tn_json_is(v, TN_JSON_REAL) ? v->u.r : -1;
    return x >= 0 ? x : -1;
}

static bool count_of(const tn_json *line, const char *key, uint32_t *out)
{
    double x = number_of(line, key);
    *out = x >= 0 && x <= UINT32_MAX ? (uint32_t)x : 0;
    return x >= 0 && x <= UINT32_MAX && (double)*out == x;
}

static bool workload_of(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *out = strtoull(text, &end, 16);
    return true;
}

/* What older lines have not got. */
static bool read_form(const tn_json *line, tn_arena *arena, tn_record *r)
{
    const char *form = text_of(line, "form", false, arena);
    r->sizes = text_of(line, "sizes", false, arena);
    bool sound = r->sizes && strspn(r->sizes, "0123456789 ") == strlen(r->sizes);
    return !form && !tn_json_find(line, "sizes") ? true : sound && workload_of(form, &r->form);
}

static bool read_function(const tn_json *line, tn_arena *arena, tn_record *r)
{
    r->function = text_of(line, "function", true, arena);
    return r->function || !tn_json_find(line, "function");
}

static const char *read_record(const tn_json *line, tn_arena *arena, tn_record *r)
{
    *r = (tn_record){.machine = text_of(line, "machine", false, arena),
                     .name = text_of(line, "name", false, arena),
                     .generator = text_of(line, "generator", false, arena),
                     .picks = text_of(line, "picks", true, arena),
                     .trace = text_of(line, "trace", true, arena),
                     .seconds = number_of(line, "seconds"),
                     .built_in = number_of(line, "default"),
                     .operations = number_of(line, "operations")};
    if (!workload_of(text_of(line, "workload", false, arena), &r->workload))
        return "\"workload\" is not a text of 16 hexadecimal digits";
    if (!r->machine || !r->name || !r->generator || !r->picks || !r->trace)
        return "one of the texts machine, name, generator, picks and trace is missing, or has control "
               "characters";
    if (!(r->seconds > 0) || r->built_in < 0 || r->operations < 0)
        return "one of the numbers seconds, default and operations is missing or below 0";
    if (!read_form(line, arena, r))
        return "\"form\" is not a text of 16 hexadecimal digits, or \"sizes\" not one of whole numbers";
    if (!read_function(line, arena, r))
        return "\"function\" is not a text, or has control characters";
    return count_of(line, "threads", &r->threads) && count_of(line, "trials", &r->trials) &&
                   count_of(line, "version", &r->version)
               ? NULL
               : "one of the whole numbers threads, trials and version is missing";
}

/* ---- the best ---- */

static uint64_t key_of(uint64_t workload, const char *machine, uint32_t threads)
{
    return tn_hash_u64(tn_hash_bytes(machine, strlen(machine), workload), threads);
}

static void keep_best(tn_records *r, uint64_t key, size_t at)
{
    uint64_t known;
    if (!tn_map_get(&r->best, key, &known) || r->all.at[at].seconds < r->all.at[known].seconds)
        tn_map_put(&r->best, key, at);
}

void tn_records_init(tn_records *r)
{
    *r = (tn_records){0};
    tn_arena_init(&r->arena);
}

void tn_records_deinit(tn_records *r)
{
    tn_vec_deinit(&r->all);
    tn_vec_deinit(&r->later);
    tn_vec_deinit(&r->workloads);
    tn_vec_deinit(&r->tvm);
    tn_map_deinit(&r->tvm_at);
    tn_map_deinit(&r->best);
    tn_arena_deinit(&r->arena);
}

static void add(tn_records *r, const tn_record *x)
{
    tn_vec_push(&r->all, *x);
    keep_best(r, key_of(x->workload, x->machine, x->threads), r->all.n - 1);
    keep_best(r, key_of(x->workload, x->machine, 0), r->all.n - 1);
}

void tn_records_add(tn_records *r, const tn_record *x)
{
    tn_record copy = *x;
    const char **const text[] = {&copy.machine, &copy.name, &copy.generator, &copy.picks, &copy.trace};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        *text[i] = tn_arena_strdup(&r->arena, *text[i]);
    copy.line = copy.file = NULL;
    copy.sizes = copy.sizes ? tn_arena_strdup(&r->arena, copy.sizes) : NULL;
    copy.function = copy.function ? tn_arena_strdup(&r->arena, copy.function) : NULL;
    copy.parameters = copy.parameters ? tn_arena_strdup(&r->arena, copy.parameters) : NULL;
    add(r, &copy);
}

/* "[12, [", as TVM writes it without the blank, or the beginning of that: of the pair of MetaSchedule. */
static bool is_cut_pair(const char *line, size_t n)
{
    size_t i = 1;
    while (i < n && line[i] >= '0' && line[i] <= '9')
        i++;
    bool is = n > 0 && line[0] == '[' && (i >= n || line[i] == ',');
    i += 1 + (i + 1 < n && line[i + 1] == ' ');
    return is && (i >= n || line[i] == '[');
}

/* A line whose writer was ended: no JSON, but the beginning of a record or of a log's line. */
static bool is_cut(const char *line, size_t n)
{
    static const char *const first_key[] = {plain_begin, "{\"input\": ", "{\"i\": "};
    bool any = is_cut_pair(line, n);
    for (size_t i = 0; i < sizeof first_key / sizeof *first_key && !any; i++) {
        size_t k = strlen(first_key[i]);
        any = memcmp(line, first_key[i], n < k ? n : k) == 0;
    }
    return any;
}

/* A line of AutoTVM's logs, of AutoScheduler's, or of MetaSchedule's. */
static bool is_of_log(const tn_json *line)
{
    return tn_json_find(line, "input") || tn_json_find(line, "i") || tn_json_is(line, TN_JSON_ARRAY);
}

/* Those of a workload in this text, the first of which has that number. */
static tn_tvm_lines *tvm_lines(tn_records *r, uint32_t workload, uint32_t number)
{
    const uint64_t key = (uint64_t)r->n_text << 32 | workload;
    uint64_t at;
    if (!tn_map_get(&r->tvm_at, key, &at)) {
        at = r->tvm.n;
        tn_vec_push(&r->tvm, ((tn_tvm_lines){.path = r->path, .workload = workload, .line = number}));
        tn_map_put(&r->tvm_at, key, at);
    }
    return &r->tvm.at[at];
}

/* NULL, or what is damaged in a line of TVM. */
static const char *take_tvm(tn_records *r, const tn_json *root, uint32_t number)
{
    const uint32_t workload = tn_tvm_line_workload(root);
    tn_tvm_lines *x = tvm_lines(r, workload, number);
    const char *wrong = workload == TN_NO_WORKLOAD ? NULL : tn_tvm_line_read(root, &r->arena, x);
    x->n += !wrong;
    if (!wrong && r->n_foreign++ == 0)
        r->foreign = number;
    return wrong;
}

/* A log's line without a record: a trial of Tenon's that was no gain, or one of TVM. */
static const char *pass_over(tn_records *r, const tn_json *root, const char *line, size_t n, uint32_t number)
{
    const tn_json *by = tn_json_find(root, "tvm_version");
    static const char own[] = "tenon ";
    const size_t k = sizeof own - 1;
    bool is_own = tn_json_is(by, TN_JSON_STRING) && by->n >= k && memcmp(by->u.s, own, k) == 0;
    const char *wrong = is_own ? NULL : take_tvm(r, root, number);
    if (!wrong)
        tn_vec_push(&r->later, tn_arena_strndup(&r->arena, line, n));
    return wrong;
}

/* What was added right behind a line that is cut short, as `cat` does. */
static const char *behind_cut(const char *line, size_t n)
{
    const size_t k = sizeof plain_begin - 1;
    for (size_t i = n > k ? n - k : 0; i > 0; i--)
        if (memcmp(line + i, plain_begin, k) == 0)
            return line + i;
    return NULL;
}

const char *tn_records_parse_line(tn_records *r, const char *line, size_t n, const char *machine,
                                  uint32_t number)
{
    tn_resource *held;
    tn_json_doc doc = tn_database_json(line, n, &held);
    uint32_t format = 0;
    tn_record x;
    const char *wrong = NULL;
    const bool is_log = doc.root && is_of_log(doc.root);
    const tn_json *record = !is_log                               ? doc.root
                            : tn_json_is(doc.root, TN_JSON_ARRAY) ? tn_database_find_record(doc.root)
                                                                  : tn_json_find(doc.root, "record");
    const char *next = doc.root ? NULL : behind_cut(line, n);
    if (next && is_cut(line, n))
        wrong = tn_records_parse_line(r, next, n - (size_t)(next - line), machine, number);
    else if (!doc.root)
        wrong = is_cut(line, n) ? NULL : doc.error;
    else if (is_log && !record)
        wrong = pass_over(r, doc.root, line, n, number);
    else if (!count_of(record, "tenon", &format) || format == 0)
        wrong = "it is no record of Tenon: \"tenon\" is missing";
    else if (format != TN_RECORD_FORMAT)
        tn_vec_push(&r->later, tn_arena_strndup(&r->arena, line, n));
    else if (!(wrong = read_record(record, &r->arena, &x)) &&
             !(wrong = tn_database_complete(r, doc.root, &x)) &&
             (!machine || strcmp(machine, x.machine) == 0)) {
        x.line = tn_arena_strndup(&r->arena, line, n);
        add(r, &x);
    }
    tn_resource_end(held);
    return wrong;
}

/* Told without reading the whole line; the text of a machine needs no escapes. */
static bool is_of_another(const char *line, size_t n, const char *machine)
{
    static const char key[] = "\"machine\": \"";
    return memmem(line, n, key, sizeof key - 1) && !memmem(line, n, machine, strlen(machine));
}

const char *tn_records_parse(tn_records *r, const char *text, size_t n, const char *machine,
                             uint32_t *out_line)
{
    const char *first = NULL;
    uint32_t line = 1;
    r->n_foreign = r->foreign = 0;
    r->n_text++;
    for (size_t i = 0; i < n; line++) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t k = end ? (size_t)(end - text) - i : n - i;
        bool other = machine && is_of_another(text + i, k, machine);
        const char *wrong = k && !other ? tn_records_parse_line(r, text + i, k, machine, line) : NULL;
        if (wrong && !first) {
            first = wrong;
            *out_line = line;
        }
        i += k + 1;
    }
    return first;
}

bool tn_records_has(const tn_records *r, const tn_record *x)
{
    for (size_t i = 0; i < r->all.n; i++) {
        const tn_record *a = &r->all.at[i];
        if (a->workload == x->workload && a->threads == x->threads && strcmp(a->machine, x->machine) == 0 &&
            strcmp(a->trace, x->trace) == 0 &&
            (*x->trace || (strcmp(a->generator, x->generator) == 0 && strcmp(a->picks, x->picks) == 0)))
            return true;
    }
    return false;
}

const tn_record *tn_records_find(const tn_records *r, uint64_t workload, const char *machine,
                                 uint32_t threads)
{
    uint64_t at;
    return tn_map_get(&r->best, key_of(workload, machine, threads), &at) ? &r->all.at[at] : NULL;
}

/* Is x tried before y? */
static bool is_before(const tn_record *x, const tn_record *y)
{
    const bool one_x = x->threads == 1, one_y = y->threads == 1;
    if (one_x != one_y)
        return one_x;
    return x->seconds < y->seconds || (x->seconds == y->seconds && x < y);
}

const tn_record *tn_records_next(const tn_records *r, const tn_record *x)
{
    const tn_record *next = NULL;
    for (size_t i = 0; i < r->all.n; i++) {
        const tn_record *y = &r->all.at[i];
        bool of_it = y->workload == x->workload && strcmp(y->machine, x->machine) == 0;
        if (of_it && is_before(x, y) && (!next || is_before(y, next)))
            next = y;
    }
    return next;
}

/* ---- of other machines and sizes ---- */

/* How many times a is b or b is a, as a sum of logarithms over all sizes; HUGE_VAL: these are not as many. */
static double distance_of(const char *a, const char *b)
{
    double sum = 0;
    while (*a && *b) {
        char *after_a, *after_b;
        double x = strtod(a, &after_a), y = strtod(b, &after_b);
        sum += fabs(log2((x + 1) / (y + 1)));
        a = after_a;
        b = after_b;
    }
    return *a || *b ? HUGE_VAL : sum;
}

/* HUGE_VAL: it is of no use. Another machine is as far as one size that is four times as large. */
static double remoteness(const tn_records *r, const tn_record *x, const tn_record *like)
{
    bool same = x->workload == like->workload, here = strcmp(x->machine, like->machine) == 0;
    if (strcmp(x->generator, like->generator) != 0 || (same && here && x->threads == like->threads) ||
        tn_records_find(r, x->workload, x->machine, x->threads) != x)
        return HUGE_VAL;
    double far = same ? 0 : HUGE_VAL;
    if (!same && x->sizes && like->sizes && x->form == like->form)
        far = distance_of(x->sizes, like->sizes);
    return far + (here ? 0 : 2) + (x->threads == like->threads ? 0 : 1);
}

uint32_t tn_records_near(const tn_records *r, const tn_record *like, uint32_t most, const tn_record *out[])
{
    uint32_t n = 0;
    for (bool more = true; n < most && more;) {
        double nearest = HUGE_VAL;
        out[n] = NULL;
        for (size_t i = 0; i < r->all.n; i++) {
            const tn_record *x = &r->all.at[i];
            double far = remoteness(r, x, like);
            for (uint32_t k = 0; k < n && far < nearest; k++)
                far = strcmp(out[k]->picks, x->picks) == 0 ? HUGE_VAL : far;
            if (far < nearest) {
                nearest = far;
                out[n] = x;
            }
        }
        more = out[n] != NULL;
        n += more;
    }
    return n;
}
