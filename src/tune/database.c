/* The pair of files of MetaSchedule: their lines. */
#include "tune/database.h"

#include "tir/tir.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static void free_document(tn_resource *r) { tn_json_free(&(tn_json_doc){.memory = r->at}); }

tn_json_doc tn_database_json(const char *text, size_t n, tn_resource **out)
{
    *out = tn_resource_new(free_document);
    tn_json_doc doc = tn_json_read(text, n);
    (*out)->at = doc.memory;
    if (doc.error && strcmp(doc.error, TN_JSON_NO_MEMORY) == 0)
        tn_raise((tn_raised){.kind = TN_RAISED_OUT_OF_MEMORY, .amount = n});
    return doc;
}

/* ---- steps ---- */

/* The end of the word that begins at `at`; a quoted one may have blanks. */
static const char *word_end(const char *at, const char *end)
{
    bool quoted = false;
    for (; at < end && (quoted || !isspace((unsigned char)*at)); at++)
        quoted ^= *at == '"';
    return at;
}

static bool is_number(const char *word, size_t n)
{
    size_t sign = n > 0 && word[0] == '-', k = sign;
    while (k < n && isdigit((unsigned char)word[k]))
        k++;
    return k == n && k > sign && n < 18 && (word[sign] != '0' || n == 1);
}

static void print_word(const char *word, size_t n, tn_buf *out)
{
    tn_buf text = {0};
    if (is_number(word, n)) {
        tn_buf_add(out, word, n);
        return;
    }
    tn_buf_add(&text, word, n);
    tn_buf_json(out, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

static void print_list(const char *at, const char *end, tn_buf *out)
{
    const char *separator = "[";
    tn_buf_str(out, skip_blanks(at, end) == end ? separator : "");
    for (at = skip_blanks(at, end); at < end; at = skip_blanks(at, end)) {
        const char *stop = word_end(at, end);
        tn_buf_str(out, separator);
        print_word(at, (size_t)(stop - at), out);
        separator = ", ";
        at = stop;
    }
    tn_buf_char(out, ']');
}

/* Where a comment begins, or the line's end. */
static const char *code_end(const char *at, const char *end)
{
    bool quoted = false;
    for (; at < end && (quoted || *at != '#'); at++)
        quoted ^= *at == '"';
    return at;
}

/* `io ii = split i 8`: results stand before a lone `=`. NULL: there are none. */
static const char *equals_of(const char *at, const char *end)
{
    while (at < end && *at != '=' && *at != '"')
        at++;
    bool lone = at < end && *at == '=' && at + 1 < end && isspace((unsigned char)at[1]);
    return lone ? at : NULL;
}

static void print_step(const char *at, const char *end, tn_buf *out)
{
    const char *equals = equals_of(at, end), *name = skip_blanks(equals ? equals + 1 : at, end),
               *name_end = word_end(name, end);
    tn_buf_char(out, '[');
    print_word(name, (size_t)(name_end - name), out);
    tn_buf_str(out, ", ");
    print_list(name_end, end, out);
    tn_buf_str(out, ", [], ");
    print_list(at, equals ? equals : at, out);
    tn_buf_char(out, ']');
}

static void print_steps(const char *trace, tn_buf *out)
{
    const char *separator = "";
    tn_buf_str(out, "[[");
    for (const char *at = trace; *at;) {
        const char *line_end = at + strcspn(at, "\n"), *end = code_end(at, line_end);
        if (skip_blanks(at, end) < end) {
            tn_buf_str(out, separator);
            print_step(at, end, out);
            separator = ", ";
        }
        at = line_end + (*line_end == '\n');
    }
    tn_buf_str(out, "], []]");
}

/* ---- lines ---- */

static void print_beginning(const tn_record *r, tn_buf *out)
{
    tn_buf_printf(out, "[\"%" PRIu64 "\", ", r->workload);
}

void tn_database_print_workload(const tn_record *r, tn_buf *out)
{
    print_beginning(r, out);
    if (r->function)
        tn_buf_json(out, r->function);
    else
        tn_buf_str(out, "null");
    tn_buf_str(out, "]\n");
}

void tn_database_print_record(const tn_record *r, uint32_t workload, tn_buf *out)
{
    tn_buf_printf(out, "[%" PRIu32 ", [", workload);
    print_steps(r->trace, out);
    tn_buf_str(out, ", [");
    tn_buf_real(out, r->seconds, 0);
    tn_buf_str(out, "], {\"kind\": \"llvm\", \"keys\": [\"cpu\"], \"tag\": \"\", \"record\": ");
    tn_record plain = *r; /* the function stands with the workload */
    plain.function = NULL;
    tn_record_print(&plain, out);
    out->n--; /* its end */
    tn_buf_printf(out, "}, %s]]\n", r->parameters ? r->parameters : "null");
}

void tn_database_print_parameters(const tn_func *f, const int64_t sym[], tn_buf *out)
{
    tn_buf_char(out, '[');
    for (uint32_t i = 0; i < f->n_param; i++) {
        const tn_buffer *b = &f->buffer[f->param[i]];
        tn_buf_str(out, i ? ", [\"TENSOR\", \"" : "[\"TENSOR\", \"");
        tn_dtype_print(b->dtype, false, out);
        tn_buf_str(out, "\", [");
        for (int d = 0; d < b->ndim; d++) {
            int64_t extent = -1;
            (void)!tn_func_value(f, b->dim[d], sym, &extent);
            tn_buf_printf(out, "%s%" PRId64, d ? ", " : "", extent);
        }
        tn_buf_str(out, "]]");
    }
    tn_buf_char(out, ']');
}

/* ---- workloads ---- */

static bool read_hash(const tn_json *v, uint64_t *out)
{
    *out = 0;
    bool number = tn_json_is(v, TN_JSON_STRING) && v->n > 0 && v->n <= 20;
    for (uint32_t i = 0; number && i < v->n; i++) {
        number = isdigit((unsigned char)v->u.s[i]);
        *out = *out * 10 + (uint64_t)(v->u.s[i] - '0');
    }
    return number;
}

/* Is the line whole, of this workload, and with the record's function, if it has one? A line that a kill cut short
 * may begin as a whole one does. */
static bool is_workload(const char *line, size_t n, const tn_record *r)
{
    tn_resource *held;
    tn_json_doc doc = tn_database_json(line, n, &held);
    uint64_t number;
    bool is = tn_json_is(doc.root, TN_JSON_ARRAY) && doc.root->n == 2 &&
              read_hash(&doc.root->u.at[0], &number) && number == r->workload;
    if (is && r->function) {
        const tn_json *module = &doc.root->u.at[1];
        is = tn_json_is(module, TN_JSON_STRING) && module->n == strlen(r->function) &&
             memcmp(module->u.s, r->function, module->n) == 0;
    }
    tn_resource_end(held);
    return is;
}

uint32_t tn_database_find_workload(const char *text, size_t n, const tn_record *r, bool *out_known)
{
    tn_buf begin = {0};
    uint32_t line = 0;
    bool known = false;
    print_beginning(r, &begin);
    for (size_t i = 0; i < n && !known;) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t k = end ? (size_t)(end - text) - i : n - i;
        known = k >= begin.n && memcmp(text + i, begin.at, begin.n) == 0 && is_workload(text + i, k, r);
        line += !known;
        i += k + 1;
    }
    tn_buf_deinit(&begin);
    *out_known = known;
    return line;
}

static tn_record_workload read_workload(const char *line, size_t n, tn_arena *arena)
{
    tn_record_workload w = {0};
    tn_resource *held;
    tn_json_doc doc = tn_database_json(line, n, &held);
    if (tn_json_is(doc.root, TN_JSON_ARRAY) && doc.root->n == 2 && read_hash(&doc.root->u.at[0], &w.number)) {
        const tn_json *module = &doc.root->u.at[1];
        w.is_sound = true;
        w.module = tn_json_is(module, TN_JSON_STRING) && tn_record_is_text(module->u.s, module->n, true)
                       ? tn_arena_strndup(arena, module->u.s, module->n)
                       : NULL;
    }
    tn_resource_end(held);
    return w;
}

void tn_database_parse_workloads(tn_records *r, const char *text, size_t n)
{
    r->workloads.n = 0;
    r->has_workloads = true;
    for (size_t i = 0; i < n;) {
        const char *end = memchr(text + i, '\n', n - i);
        size_t k = end ? (size_t)(end - text) - i : n - i;
        tn_vec_push(&r->workloads, read_workload(text + i, k, &r->arena));
        i += k + 1;
    }
}

/* ---- records ---- */

static const tn_json *element(const tn_json *list, uint32_t n, uint32_t i)
{
    return tn_json_is(list, TN_JSON_ARRAY) && list->n == n ? &list->u.at[i] : NULL;
}

const tn_json *tn_database_find_record(const tn_json *line)
{
    const tn_json *target = element(element(line, 2, 1), 4, 2);
    return target ? tn_json_find(target, "record") : NULL;
}

static void print_value(const tn_json *v, tn_buf *out, tn_arena *arena)
{
    if (tn_json_is(v, TN_JSON_INT)) {
        tn_buf_printf(out, "%" PRId64, v->u.i);
    } else if (tn_json_is(v, TN_JSON_STRING)) {
        tn_buf_json(out, tn_arena_strndup(arena, v->u.s, v->n));
    } else if (tn_json_is(v, TN_JSON_ARRAY)) { /* no deeper than TN_JSON_DEPTH */
        tn_buf_char(out, '[');
        for (uint32_t i = 0; i < v->n; i++) {
            tn_buf_str(out, i ? ", " : "");
            print_value(&v->u.at[i], out, arena);
        }
        tn_buf_char(out, ']');
    } else {
        tn_buf_str(out, "null");
    }
}

static const char *parameters_of(const tn_json *line, tn_arena *arena)
{
    const tn_json *all = element(element(line, 2, 1), 4, 3);
    tn_buf text = {0};
    if (!tn_json_is(all, TN_JSON_ARRAY))
        return NULL;
    print_value(all, &text, arena);
    const char *s = tn_arena_strdup(arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

const char *tn_database_complete(tn_records *r, const tn_json *line, tn_record *x)
{
    const tn_json *number = element(line, 2, 0);
    if (!number)
        return NULL;
    x->parameters = parameters_of(line, &r->arena);
    if (!r->has_workloads)
        return NULL;
    bool sound = tn_json_is(number, TN_JSON_INT) && number->u.i >= 0 && number->u.i < (int64_t)r->workloads.n;
    const tn_record_workload *w = sound ? &r->workloads.at[number->u.i] : NULL;
    if (!w || !w->is_sound || w->number != x->workload)
        return "the line of " TN_DATABASE_WORKLOADS " that it names is another workload, or is not there";
    x->function = x->function ? x->function : w->module;
    return NULL;
}
