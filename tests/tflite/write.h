#ifndef TENON_TESTS_TFLITE_WRITE_H
#define TENON_TESTS_TFLITE_WRITE_H
/* TFLite models from lines of text:
 *
 *     tensor NAME TYPE DIMS [scale=S] [zero=Z] [axis=N] [data=1,2,...] [variable] [sparse]
 *                                   TYPE: float32, int8, ...; DIMS: 1,4,-1 or scalar; S: one or several, with commas
 *     op NAME[:VERSION] [OPTION=NUMBER[,NUMBER...]] : OPERANDS -> RESULTS [| INTERMEDIATES]    names, - for none
 *     custom NAME[:VERSION] [NUMBER...] : OPERANDS -> RESULTS  its options: 32-bit integers
 *     custom NAME[:VERSION] [OPTION=VALUE...] : OPERANDS -> RESULTS    ... or a map: 3, 0.5, [1,2,3], text
 *     in NAMES
 *     out NAMES
 *     about NAME AUTHOR             metadata of the model, in the first graph
 *     graph                         what follows is the next graph
 *     signature KEY GRAPH NAME=TENSOR... -> NAME=TENSOR...    after its graph
 *
 * Offsets of a FlatBuffer point forwards, so a table is written before what it names, and its offsets are set later. */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TFL_MAX = 64 };

typedef struct tfl_text_tensor {
    char name[40], type[12], dims[64], scale[128], zero[64], data[512];
    int axis;
    bool variable;
} tfl_text_tensor;

typedef struct tfl_text_op {
    char name[40], options[24][96], in[TFL_MAX][40], out[TFL_MAX][40], inner[8][40];
    int version, n_option, n_in, n_out, n_inner;
    bool custom;
} tfl_text_op;

typedef struct tfl_text_graph {
    tfl_text_tensor tensor[TFL_MAX];
    tfl_text_op op[TFL_MAX];
    int in[TFL_MAX], out[TFL_MAX], n_tensor, n_op, n_in, n_out;
    char signature[40], map[TFL_MAX][96]; /* inputs, then outputs: NAME=TENSOR */
    int n_map[2];
    char about[2][40]; /* the model's name and author; empty: no metadata */
} tfl_text_graph;

/* ---- bytes ---- */

static inline void tfl_put(tn_buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        tn_buf_char(b, (char)(v >> (8 * i)));
}

static inline void tfl_set(tn_buf *b, size_t at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        b->at[at + (size_t)i] = (char)(v >> (8 * i));
}

/* What is written next is what the offset at `at` names. */
static inline void tfl_here(tn_buf *b, size_t at)
{
    while (b->n % 8)
        tn_buf_char(b, 0);
    tfl_set(b, at, b->n - at, 4);
}

/* A table whose fields take eight bytes each, none of them set yet; the offset at `hole` names it. */
static inline size_t tfl_table(tn_buf *b, size_t hole, uint32_t slots)
{
    while (b->n % 8)
        tn_buf_char(b, 0);
    size_t vtable = b->n;
    tfl_put(b, 4 + 2 * slots, 2);
    tfl_put(b, 4 + 8 * slots, 2);
    for (uint32_t i = 0; i < slots; i++)
        tfl_put(b, 0, 2);
    while (b->n % 8 != 4)
        tn_buf_char(b, 0);
    size_t at = b->n;
    if (hole != SIZE_MAX)
        tfl_set(b, hole, at - hole, 4);
    tfl_put(b, at - vtable, 4);
    for (uint32_t i = 0; i < slots; i++)
        tfl_put(b, 0, 8);
    return at;
}

/* Field `slot` of the table is there; its place. */
static inline size_t tfl_field(tn_buf *b, size_t table, uint32_t slot)
{
    size_t vtable = table - (uint8_t)b->at[table] - ((size_t)(uint8_t)b->at[table + 1] << 8);
    tfl_set(b, vtable + 4 + 2 * slot, 4 + 8 * slot, 2);
    return table + 4 + 8 * slot;
}

static inline void tfl_number(tn_buf *b, size_t table, uint32_t slot, int64_t v)
{
    tfl_set(b, tfl_field(b, table, slot), (uint64_t)v, 8);
}

static inline void tfl_real_number(tn_buf *b, size_t table, uint32_t slot, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    tfl_set(b, tfl_field(b, table, slot), bits, 4);
}

static inline void tfl_name(tn_buf *b, size_t table, uint32_t slot, const char *s)
{
    tfl_here(b, tfl_field(b, table, slot));
    tfl_put(b, strlen(s), 4);
    tn_buf_str(b, s);
    tn_buf_char(b, 0);
}

static inline void tfl_copy(char *to, size_t room, const char *from, size_t n)
{
    if (n >= room)
        abort();
    memcpy(to, from, n);
    to[n] = 0;
}

/* Numbers between commas, as elements of `bytes` bytes; 'f': float32. */
static inline int tfl_elements(tn_buf *b, const char *text, int bytes, bool real)
{
    int n = 0;
    for (char *end; *text; text = *end ? end + 1 : end, n++) {
        float f = strtof(text, &end);
        uint32_t bits;
        memcpy(&bits, &f, 4);
        tfl_put(b, real ? bits : (uint64_t)strtoll(text, NULL, 10), bytes);
        if (end == text)
            abort();
    }
    return n;
}

static inline void tfl_numbers(tn_buf *b, size_t table, uint32_t slot, const char *text, int bytes, bool real)
{
    tfl_here(b, tfl_field(b, table, slot));
    size_t at = b->n;
    tfl_put(b, 0, 4);
    tfl_set(b, at, (uint64_t)tfl_elements(b, text, bytes, real), 4);
}

static inline void tfl_indices(tn_buf *b, size_t table, uint32_t slot, int n, const int v[])
{
    tfl_here(b, tfl_field(b, table, slot));
    tfl_put(b, (uint64_t)n, 4);
    for (int i = 0; i < n; i++)
        tfl_put(b, (uint64_t)(int64_t)v[i], 4);
}

/* A vector of n offsets, to be set later; the place of the first. */
static inline size_t tfl_offsets(tn_buf *b, size_t table, uint32_t slot, int n)
{
    tfl_here(b, tfl_field(b, table, slot));
    tfl_put(b, (uint64_t)n, 4);
    size_t at = b->n;
    for (int i = 0; i < n; i++)
        tfl_put(b, 0, 4);
    return at;
}

/* ---- tables of the schema ---- */

static inline int tfl_type_of(const char *name, int *out_bytes)
{
    static const struct {
        const char *name;
        int type, bytes;
    } rows[] = {{"float32", 0, 4},   {"float16", 1, 2},  {"int32", 2, 4}, {"uint8", 3, 1},
                {"int64", 4, 8},     {"string", 5, 1},   {"bool", 6, 1},  {"int16", 7, 2},
                {"int8", 9, 1},      {"float64", 10, 8}, {"int4", 17, 1}, {"complex64", 8, 8},
                {"resource", 13, 4}, {"variant", 14, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out_bytes = rows[i].bytes;
            return rows[i].type;
        }
    abort();
}

static inline void tfl_write_tensor(tn_buf *b, size_t hole, const tfl_text_tensor *t, int buffer)
{
    int bytes, type = tfl_type_of(t->type, &bytes);
    size_t at = tfl_table(b, hole, 9);
    tfl_number(b, at, 1, type);
    tfl_number(b, at, 2, buffer);
    tfl_number(b, at, 5, t->variable);
    tfl_number(b, at, 8, 1);
    char dims[64], *p = dims;
    for (const char *s = t->dims; *s; s++) /* where the extent is open, the shape says 1 */
        if (s[0] == '-' && s[1] == '1')
            continue;
        else
            *p++ = *s;
    *p = 0;
    if (strcmp(t->dims, "scalar") != 0) {
        tfl_numbers(b, at, 0, dims, 4, false);
        tfl_numbers(b, at, 7, t->dims, 4, false);
    }
    tfl_name(b, at, 3, t->name);
    if (!t->scale[0])
        return;
    size_t q = tfl_table(b, tfl_field(b, at, 4), 7);
    tfl_number(b, q, 6, t->axis);
    tfl_numbers(b, q, 2, t->scale, 4, true);
    tfl_numbers(b, q, 3, t->zero[0] ? t->zero : "0", 8, false);
}

static inline int tfl_find(const tfl_text_graph *g, const char *name)
{
    for (int i = 0; i < g->n_tensor; i++)
        if (strcmp(g->tensor[i].name, name) == 0)
            return i;
    return strcmp(name, "-") == 0 ? -1 : 9999;
}

static inline void tfl_write_options(tn_buf *b, size_t op, const tfl_text_op *o)
{
    static const struct {
        int set, member, slot;
        const char *kind, *name;
    } rows[] = {
#define OPTION(set, member, slot, kind, name) {set, member, slot, #kind, name},
#include "frontend/tflite/options.def"
    };
    static const struct {
        const char *op;
        int member, set; /* set 0: BuiltinOptions, 2: BuiltinOptions2 */
    } members[] = {{"CONV_2D", 1, 0},
                   {"DEPTHWISE_CONV_2D", 2, 0},
                   {"AVERAGE_POOL_2D", 5, 0},
                   {"MAX_POOL_2D", 5, 0},
                   {"SOFTMAX", 9, 0},
                   {"CONCATENATION", 10, 0},
                   {"ADD", 11, 0},
                   {"RESHAPE", 17, 0},
                   {"MEAN", 27, 0},
                   {"FULLY_CONNECTED", 8, 0},
                   {"GATHER", 23, 0},
                   {"SQUEEZE", 30, 0},
                   {"MUL", 21, 0},
                   {"WHILE", 93, 0},
                   {"IF", 92, 0},
                   {"RELU", 12, 0},
                   {"STRIDED_SLICE", 32, 0},
                   {"RESIZE_BILINEAR", 15, 0},
                   {"RNN", 7, 0},
                   {"CALL_ONCE", 103, 0},
                   {"VAR_HANDLE", 111, 0},
                   {"HASHTABLE", 107, 0},
                   {"STABLEHLO_SLICE", 3, 2},
                   {"STABLEHLO_REDUCE", 6, 2},
                   {"STABLEHLO_CASE", 23, 2},
                   {"STABLEHLO_COMPOSITE", 21, 2}};
    int member = 0, set = 1;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i].op, o->name) == 0) {
            member = members[i].member;
            set = members[i].set ? 2 : 1;
        }
    if (!o->n_option)
        return;
    tfl_number(b, op, set == 1 ? 3 : 11, member);
    size_t t = tfl_table(b, tfl_field(b, op, set == 1 ? 4 : 12), 12);
    for (int k = 0; k < o->n_option; k++) {
        const char *value = strchr(o->options[k], '=');
        int slot = 11; /* of no option of these operators: a field that nobody knows */
        const char *kind = "I32";
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (rows[i].set == set && rows[i].member == member &&
                strlen(rows[i].name) == (size_t)(value - o->options[k]) &&
                strncmp(rows[i].name, o->options[k], strlen(rows[i].name)) == 0) {
                slot = rows[i].slot;
                kind = rows[i].kind;
            }
        if (strncmp(kind, "LIST", 4) == 0)
            tfl_numbers(b, t, (uint32_t)slot, value + 1, strcmp(kind, "LIST_I64") == 0 ? 8 : 4, false);
        else if (strcmp(kind, "TEXT") == 0)
            tfl_name(b, t, (uint32_t)slot, value + 1);
        else if (strcmp(kind, "F32") == 0)
            tfl_real_number(b, t, (uint32_t)slot, strtof(value + 1, NULL));
        else
            tfl_number(b, t, (uint32_t)slot, strtoll(value + 1, NULL, 10));
    }
}

/* A FlexBuffer: a map all of whose widths are four bytes. */
static inline void tfl_put_map(tn_buf *b, const tfl_text_op *o)
{
    size_t key[8], value[8], at;
    int type[8];
    for (int i = 0; i < o->n_option; i++) {
        const char *v = strchr(o->options[i], '=') + 1;
        key[i] = b->n;
        for (const char *s = o->options[i]; s < v - 1; s++)
            tn_buf_char(b, *s);
        tn_buf_char(b, 0);
        bool list = *v == '[', number = list || *v == '-' || (*v >= '0' && *v <= '9');
        type[i] = list ? 11 : !number ? 5 : strchr(v, '.') ? 3 : 1;
        value[i] = b->n + 4;
        if (list || !number) {
            tfl_put(b, 0, 4);
            char text[96];
            tfl_copy(text, sizeof text, v + list, strcspn(v + list, "]"));
            if (!list)
                tn_buf_str(b, text);
            int n = list ? tfl_elements(b, text, 4, false) : (int)strlen(text);
            tfl_set(b, value[i] - 4, (uint64_t)n, 4);
        }
    }
    tfl_put(b, (uint64_t)o->n_option, 4);
    size_t keys = b->n;
    for (int i = 0; i < o->n_option; i++)
        tfl_put(b, b->n - key[i], 4);
    tfl_put(b, b->n - keys, 4);
    tfl_put(b, 4, 4);
    tfl_put(b, (uint64_t)o->n_option, 4);
    at = b->n;
    for (int i = 0; i < o->n_option; i++)
        if (type[i] == 11 || type[i] == 5)
            tfl_put(b, b->n - value[i], 4);
        else
            (void)tfl_elements(b, strchr(o->options[i], '=') + 1, 4, type[i] == 3);
    for (int i = 0; i < o->n_option; i++)
        tn_buf_char(b, (char)(type[i] << 2 | 2));
    tfl_put(b, b->n - at, 4);
    tn_buf_char(b, 9 << 2 | 2);
    tn_buf_char(b, 4);
}

static inline void tfl_write_op(tn_buf *b, size_t hole, const tfl_text_graph *g, const tfl_text_op *o,
                                int code)
{
    int index[TFL_MAX];
    size_t at = tfl_table(b, hole, 13);
    tfl_number(b, at, 0, code);
    for (int i = 0; i < o->n_in; i++)
        index[i] = tfl_find(g, o->in[i]);
    tfl_indices(b, at, 1, o->n_in, index);
    for (int i = 0; i < o->n_out; i++)
        index[i] = tfl_find(g, o->out[i]);
    tfl_indices(b, at, 2, o->n_out, index);
    for (int i = 0; i < o->n_inner; i++)
        index[i] = tfl_find(g, o->inner[i]);
    if (o->n_inner)
        tfl_indices(b, at, 8, o->n_inner, index);
    if (!o->custom) {
        tfl_write_options(b, at, o);
        return;
    }
    tfl_here(b, tfl_field(b, at, 5));
    size_t bytes = b->n;
    tfl_put(b, 4 * (uint64_t)o->n_option, 4);
    if (o->n_option && strchr(o->options[0], '=')) {
        tfl_put_map(b, o);
        tfl_set(b, bytes, b->n - bytes - 4, 4);
        return;
    }
    for (int i = 0; i < o->n_option; i++)
        tfl_put(b, (uint64_t)atoi(o->options[i]), 4);
}

static inline int tfl_code_of(const char *name)
{
    static const struct {
        int number;
        const char *name;
    } rows[] = {
#define OPERATOR(n, text) {n, text},
#include "frontend/tflite/operators.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].number;
    return 250;
}

/* ---- reading the text ---- */

static inline bool tfl_key(const char *word, const char *key, char *to, size_t room)
{
    size_t n = strlen(key);
    bool is = strncmp(word, key, n) == 0 && word[n] == '=';
    if (is)
        tfl_copy(to, room, word + n + 1, strlen(word + n + 1));
    return is;
}

static inline void tfl_read_tensor(tfl_text_graph *g, int n, char *const word[])
{
    tfl_text_tensor *t = &g->tensor[g->n_tensor++];
    char axis[8] = "0";
    memset(t, 0, sizeof *t);
    tfl_copy(t->name, sizeof t->name, word[1], strlen(word[1]));
    tfl_copy(t->type, sizeof t->type, word[2], strlen(word[2]));
    tfl_copy(t->dims, sizeof t->dims, word[3], strlen(word[3]));
    for (int i = 4; i < n; i++) {
        t->variable = t->variable || strcmp(word[i], "variable") == 0;
        (void)(tfl_key(word[i], "scale", t->scale, sizeof t->scale) ||
               tfl_key(word[i], "zero", t->zero, sizeof t->zero) ||
               tfl_key(word[i], "axis", axis, sizeof axis) ||
               tfl_key(word[i], "data", t->data, sizeof t->data));
    }
    t->axis = atoi(axis);
}

static inline void tfl_read_op(tfl_text_graph *g, int n, char *const word[])
{
    tfl_text_op *o = &g->op[g->n_op++];
    int part = 0;
    memset(o, 0, sizeof *o);
    const char *colon = strchr(word[1], ':');
    o->custom = word[0][0] == 'c';
    o->version = colon ? atoi(colon + 1) : 1;
    tfl_copy(o->name, sizeof o->name, word[1], colon ? (size_t)(colon - word[1]) : strlen(word[1]));
    for (int i = 2; i < n; i++)
        if (strcmp(word[i], ":") == 0 || strcmp(word[i], "->") == 0 || strcmp(word[i], "|") == 0)
            part++;
        else if (part == 0)
            tfl_copy(o->options[o->n_option++], 96, word[i], strlen(word[i]));
        else if (part == 1)
            tfl_copy(o->in[o->n_in++], 40, word[i], strlen(word[i]));
        else if (part == 2)
            tfl_copy(o->out[o->n_out++], 40, word[i], strlen(word[i]));
        else
            tfl_copy(o->inner[o->n_inner++], 40, word[i], strlen(word[i]));
}

static inline void tfl_read_signature(tfl_text_graph *g, int n, char *const word[])
{
    int side = 0;
    tfl_copy(g->signature, sizeof g->signature, word[1], strlen(word[1]));
    for (int i = 3; i < n; i++)
        if (strcmp(word[i], "->") == 0)
            side = 1;
        else
            tfl_copy(g->map[g->n_map[0] + g->n_map[side] * side], 96, word[i], strlen(word[i])),
                g->n_map[side]++;
}

static inline int tfl_read_text(const char *text, tfl_text_graph graph[])
{
    tfl_text_graph *g = graph;
    char *copy = strdup(text), *rest = copy;
    memset(g, 0, sizeof *g);
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        char *word[2 * TFL_MAX], *left = line;
        int n = 0;
        while (n < 2 * TFL_MAX && (word[n] = strtok_r(left, " ", &left)) != NULL)
            n++;
        if (n == 0)
            continue;
        if (strcmp(word[0], "tensor") == 0)
            tfl_read_tensor(g, n, word);
        else if (strcmp(word[0], "op") == 0 || strcmp(word[0], "custom") == 0)
            tfl_read_op(g, n, word);
        else if (strcmp(word[0], "about") == 0)
            for (int i = 0; i < 2; i++)
                tfl_copy(g->about[i], sizeof g->about[i], word[i + 1], strlen(word[i + 1]));
        else if (strcmp(word[0], "signature") == 0)
            tfl_read_signature(g, n, word);
        else if (strcmp(word[0], "graph") == 0)
            memset(++g, 0, sizeof *g);
        for (int i = 1; i < n && strcmp(word[0], "in") == 0; i++)
            g->in[g->n_in++] = tfl_find(g, word[i]);
        for (int i = 1; i < n && strcmp(word[0], "out") == 0; i++)
            g->out[g->n_out++] = tfl_find(g, word[i]);
    }
    free(copy);
    return (int)(g - graph) + 1;
}

/* Each operator has a code of its own, each tensor a buffer, after the empty one. */
static inline void tfl_write_graph(tn_buf *b, size_t hole, const tfl_text_graph *g, int *code, int *buffer)
{
    size_t at = tfl_table(b, hole, 5), list = tfl_offsets(b, at, 0, g->n_tensor);
    for (int i = 0; i < g->n_tensor; i++, ++*buffer)
        tfl_write_tensor(b, list + 4 * (size_t)i, &g->tensor[i], g->tensor[i].data[0] ? *buffer : 0);
    tfl_indices(b, at, 1, g->n_in, g->in);
    tfl_indices(b, at, 2, g->n_out, g->out);
    list = tfl_offsets(b, at, 3, g->n_op);
    for (int i = 0; i < g->n_op; i++)
        tfl_write_op(b, list + 4 * (size_t)i, g, &g->op[i], (*code)++);
}

static inline void tfl_write_codes(tn_buf *b, size_t root, int n_graph, const tfl_text_graph graph[])
{
    int n = 0;
    for (int i = 0; i < n_graph; i++)
        n += graph[i].n_op;
    size_t list = tfl_offsets(b, root, 1, n);
    for (int i = 0; i < n_graph; i++)
        for (int k = 0; k < graph[i].n_op; k++, list += 4) {
            const tfl_text_op *o = &graph[i].op[k];
            size_t c = tfl_table(b, list, 4);
            tfl_number(b, c, 3, o->custom ? 32 : tfl_code_of(o->name));
            tfl_number(b, c, 2, o->version);
            if (o->custom)
                tfl_name(b, c, 1, o->name);
        }
}

/* A FlatBuffer of its own: the name in slot 0, the author in slot 4. */
static inline void tfl_write_about(tn_buf *b, size_t table, const tfl_text_graph *g)
{
    tn_buf inner = {0};
    tfl_put(&inner, 0, 4);
    tn_buf_str(&inner, "M001");
    size_t root = tfl_table(&inner, 0, 7);
    tfl_name(&inner, root, 0, g->about[0]);
    tfl_name(&inner, root, 4, g->about[1]);
    tfl_here(b, tfl_field(b, table, 0));
    tfl_put(b, inner.n, 4);
    for (size_t i = 0; i < inner.n; i++)
        tn_buf_char(b, inner.at[i]);
    tn_buf_deinit(&inner);
}

static inline void tfl_write_metadata(tn_buf *b, size_t root, int buffer)
{
    size_t list = tfl_offsets(b, root, 6, 1), t = tfl_table(b, list, 2);
    tfl_number(b, t, 1, buffer);
    tfl_name(b, t, 0, "TFLITE_METADATA");
}

static inline void tfl_write_buffers(tn_buf *b, size_t root, int n_graph, const tfl_text_graph graph[])
{
    int n = 1, bytes;
    for (int i = 0; i < n_graph; i++)
        n += graph[i].n_tensor;
    bool about = graph[0].about[0][0] != 0;
    size_t list = tfl_offsets(b, root, 4, n + about);
    if (about) {
        tfl_write_about(b, tfl_table(b, list + 4 * (size_t)n, 3), &graph[0]);
        tfl_write_metadata(b, root, n);
    }
    (void)tfl_table(b, list, 3);
    for (int i = 0; i < n_graph; i++)
        for (int k = 0; k < graph[i].n_tensor; k++) {
            const tfl_text_tensor *t = &graph[i].tensor[k];
            size_t table = tfl_table(b, list += 4, 3);
            int type = tfl_type_of(t->type, &bytes);
            if (!t->data[0])
                continue;
            tfl_here(b, tfl_field(b, table, 0));
            size_t at = b->n;
            tfl_put(b, 0, 4);
            int count = tfl_elements(b, t->data, bytes, type == 0);
            tfl_set(b, at, (uint64_t)(count * bytes), 4);
        }
}

static inline void tfl_write_maps(tn_buf *b, size_t signature, const tfl_text_graph *g, int side)
{
    size_t list = tfl_offsets(b, signature, (uint32_t)side, g->n_map[side]);
    for (int i = 0; i < g->n_map[side]; i++, list += 4) {
        const char *map = g->map[i + side * g->n_map[0]], *is = strchr(map, '=');
        char name[96];
        tfl_copy(name, sizeof name, map, (size_t)(is - map));
        size_t t = tfl_table(b, list, 2);
        tfl_number(b, t, 1, tfl_find(g, is + 1));
        tfl_name(b, t, 0, name);
    }
}

static inline void tfl_write_signatures(tn_buf *b, size_t root, int n, const tfl_text_graph graph[])
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += graph[i].signature[0] != 0;
    size_t list = tfl_offsets(b, root, 7, count);
    for (int i = 0; i < n; i++) {
        if (!graph[i].signature[0])
            continue;
        size_t t = tfl_table(b, list, 5);
        list += 4;
        tfl_number(b, t, 4, i);
        tfl_name(b, t, 2, graph[i].signature);
        for (int side = 0; side < 2; side++)
            tfl_write_maps(b, t, &graph[i], side);
    }
}

static inline tn_buf tfl_write(const char *text)
{
    tn_buf b = {0};
    tfl_text_graph *graph = malloc(4 * sizeof *graph);
    int n = tfl_read_text(text, graph), code = 0, buffer = 1;
    tfl_put(&b, 0, 4);
    tn_buf_str(&b, "TFL3");
    size_t root = tfl_table(&b, 0, 8);
    tfl_number(&b, root, 0, 3);
    tfl_write_codes(&b, root, n, graph);
    size_t list = tfl_offsets(&b, root, 2, n);
    for (int i = 0; i < n; i++)
        tfl_write_graph(&b, list + 4 * (size_t)i, &graph[i], &code, &buffer);
    tfl_write_buffers(&b, root, n, graph);
    tfl_write_signatures(&b, root, n, graph);
    tfl_put(&b, 0, 8);
    free(graph);
    return b;
}

#endif
