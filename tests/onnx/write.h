#ifndef TENON_TESTS_ONNX_WRITE_H
#define TENON_TESTS_ONNX_WRITE_H
/* Writes tiny ONNX models from lines of text, so that a test is a table of texts:
 *
 *   ir 1                             the version of the format, 8 if none is given; below 3 attributes have no type
 *   opset 9                          domain "" (none given: no opset_import); `opset 1 my` of another domain
 *   input x float n 3 ?              dims: extents, names, ? for an absent one; `input x float *` has no shape
 *   init w float 2 2 = 1 2 3 4       raw data (zeros if none is given), of the types of write_type_of; also
 *                                    `= count`: 0 1 2 ..., `= fill 8`, `= wave`: ((7919 i) mod 127 - 63) / 32;
 *                                    a complex number is two of them
 *   inits w int32 3 = 1 2 3          the typed field instead of raw data
 *   initx w float 2                  data in another file
 *   initr w float 64 3 = 7 0.5       random data: seed, largest magnitude
 *   sequence x                       an input of another type than tensor
 *   output y seq float               a sequence of tensors
 *   sparse w float 2 3 at 0 4 = 1 2  a sparse initializer: which elements are there (numbers, or coordinates one after
 *                                    the other), what they are
 *   node Conv x,w,,b -> y,z name=c0 pads=[1,1,1,1] group=1 alpha=0.5 auto_pad='VALID' value=<float 2 = 1 2>
 *   domain=com.x output y
 *   graph g                          the lines up to `end` are a graph, which later attributes name as body=@g
 *   function my.F x,y -> z attributes=a,b      the lines up to `end` are the function's nodes; an attribute alpha=^a is
 *                                    the function's a
 *
 * Integers are attributes of type INT, numbers with a dot FLOAT, lists INTS, FLOATS or (['a','b']) STRINGS, `?float`
 * the type of a tensor. A list may not hold blanks. */
#include "base/buf.h"
#include "base/rng.h"
#include "ir/eval.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- protobuf ---- */

static inline void pb_varint(tn_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        tn_buf_char(b, (char)(v | 0x80));
    tn_buf_char(b, (char)v);
}

static inline void pb_int(tn_buf *b, unsigned field, int64_t v)
{
    pb_varint(b, field << 3);
    pb_varint(b, (uint64_t)v);
}

static inline void pb_float(tn_buf *b, unsigned field, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    pb_varint(b, field << 3 | 5);
    tn_buf_u32le(b, bits);
}

static inline void pb_bytes(tn_buf *b, unsigned field, const void *at, size_t n)
{
    pb_varint(b, field << 3 | 2);
    pb_varint(b, n);
    if (n)
        tn_buf_add(b, at, n);
}

static inline void pb_text(tn_buf *b, unsigned field, const char *s) { pb_bytes(b, field, s, strlen(s)); }

/* Appends and releases a message. */
static inline void pb_message(tn_buf *b, unsigned field, tn_buf *inner)
{
    pb_bytes(b, field, inner->at, inner->n);
    tn_buf_deinit(inner);
}

/* ---- types ---- */

typedef struct write_type {
    const char *name;
    int number;
    tn_dtype dtype;
    unsigned typed_field;
} write_type;

static inline const write_type *write_type_of(const char *name)
{
    static const write_type all[] = {
        {"float", 1, {TN_FLOAT, 32, 1}, 4},
        {"uint8", 2, {TN_UINT, 8, 1}, 5},
        {"int8", 3, {TN_INT, 8, 1}, 5},
        {"uint16", 4, {TN_UINT, 16, 1}, 5},
        {"int16", 5, {TN_INT, 16, 1}, 5},
        {"int32", 6, {TN_INT, 32, 1}, 5},
        {"int64", 7, {TN_INT, 64, 1}, 7},
        {"string", 8, {TN_INT, 8, 1}, 6},
        {"bool", 9, {TN_BOOL, 8, 1}, 5},
        {"float16", 10, {TN_FLOAT, 16, 1}, 5},
        {"double", 11, {TN_FLOAT, 64, 1}, 10},
        {"uint32", 12, {TN_UINT, 32, 1}, 11},
        {"uint64", 13, {TN_UINT, 64, 1}, 11},
        {"bfloat16", 16, {TN_BFLOAT, 16, 1}, 5},
        {"complex64", 14, {TN_COMPLEX, 64, 1}, 4},
        {"uint4", 21, {TN_UINT, 4, 1}, 5},
        {"int4", 22, {TN_INT, 4, 1}, 5},
        {"float4", 23, {TN_FLOAT4_E2M1FN, 4, 1}, 5},
        {"int2", 26, {TN_INT, 2, 1}, 5},
        {"float8", 17, {TN_FLOAT8_E4M3FN, 8, 1}, 5},
        {"complex128", 15, {TN_COMPLEX, 128, 1}, 10},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

/* ---- lines ---- */

enum { WORDS_TEXT = 1 << 18, WORDS_MAX = 1 << 13 };

typedef struct words {
    char text[WORDS_TEXT];
    char *at[WORDS_MAX];
    int n;
} words;

/* Splits at blanks, but not inside < >. */
static inline void split_words(words *w, const char *line, size_t n)
{
    bool in_word = false, angle = false;
    w->n = 0;
    assert(n < WORDS_TEXT);
    memcpy(w->text, line, n);
    w->text[n] = 0;
    for (char *p = w->text; *p; p++) {
        angle = *p == '<' || (angle && *p != '>');
        if (*p == ' ' && !angle) {
            *p = 0;
            in_word = false;
        } else if (!in_word) {
            assert(w->n < WORDS_MAX);
            w->at[w->n++] = p;
            in_word = true;
        }
    }
}

/* ---- elements ---- */

typedef struct write_elements { /* what stands behind `=` */
    tn_dtype dtype;
    char *const *word;
    size_t n;
    enum { WRITE_WORDS, WRITE_COUNT, WRITE_FILL, WRITE_WAVE } form;
} write_elements;

/* `count`: the product of the extents. Complex numbers are their parts, one after the other. */
static inline write_elements write_elements_of(tn_dtype dtype, size_t count, int n, char *const word[])
{
    bool pairs = tn_dtype_is_complex(dtype);
    write_elements e = {pairs ? tn_dtype_part(dtype) : dtype, word, pairs ? 2 * count : count, WRITE_WORDS};
    if (n == 1 && strcmp(word[0], "count") == 0)
        e.form = WRITE_COUNT;
    else if (n == 1 && strcmp(word[0], "wave") == 0)
        e.form = WRITE_WAVE;
    else if (n == 2 && strcmp(word[0], "fill") == 0)
        e.form = WRITE_FILL;
    else
        e.n = (size_t)n;
    return e;
}

static inline tn_scalar write_element(const write_elements *e, size_t i)
{
    const char *word = e->word[e->form == WRITE_WORDS ? i : 1];
    tn_scalar v = {0};
    if (!tn_dtype_is_float(e->dtype)) {
        v.i = e->form == WRITE_COUNT ? (int64_t)i
              : word[0] == '-'       ? strtoll(word, NULL, 10)
                                     : (int64_t)strtoull(word, NULL, 10);
        return v;
    }
    v.f = e->form == WRITE_COUNT  ? (double)i
          : e->form == WRITE_WAVE ? (double)((int)((i * 7919) % 127) - 63) / 32
                                  : strtod(word, NULL);
    return tn_eval_cast(TN_F64, e->dtype, v);
}

/* Numbers of less than 8 bits share bytes; floats of 8 bits are their bits. */
static inline bool write_bytes(tn_buf *out, const write_elements *e)
{
    uint32_t byte = 0, bits = e->dtype.bits, each = 8u / bits;
    if (bits > 8 || (bits == 8 && !tn_dtype_is_float(e->dtype)))
        return false;
    for (size_t i = 0; i < e->n; i++) {
        unsigned char element;
        tn_scalar_write(e->dtype, &element, write_element(e, i));
        byte |= (uint32_t)element << (bits * (i % each));
        if (i % each == each - 1 || i == e->n - 1) {
            tn_buf_char(out, (char)byte);
            byte = 0;
        }
    }
    return true;
}

static inline void write_typed_element(tn_buf *packed, const write_type *type, tn_scalar v)
{
    float f = (float)v.f;
    if (type->typed_field == 4)
        tn_buf_add(packed, &f, 4);
    else if (type->typed_field == 10)
        tn_buf_add(packed, &v.f, 8);
    else if (tn_dtype_is_float(type->dtype)) {
        uint16_t half;
        tn_scalar_write(type->dtype, &half, v);
        pb_varint(packed, half);
    } else
        pb_varint(packed, (uint64_t)v.i);
}

static inline void write_typed(tn_buf *t, const write_type *type, const write_elements *e)
{
    tn_buf packed = {0}, bytes = {0};
    if (write_bytes(&bytes, e))
        for (size_t i = 0; i < bytes.n; i++)
            pb_varint(&packed, (unsigned char)bytes.at[i]);
    else
        for (size_t i = 0; i < e->n; i++)
            write_typed_element(&packed, type, write_element(e, i));
    tn_buf_deinit(&bytes);
    pb_message(t, type->typed_field, &packed);
}

static inline void write_raw(tn_buf *t, const write_elements *e)
{
    tn_buf raw = {0};
    size_t n = write_bytes(&raw, e) ? 0 : e->n;
    for (size_t i = 0; i < n; i++) {
        char element[8];
        tn_scalar_write(e->dtype, element, write_element(e, i));
        tn_buf_add(&raw, element, tn_dtype_bytes(e->dtype));
    }
    pb_message(t, 9, &raw);
}

/* TensorProto from words "float 64 3 = 7 0.5": uniform in [-0.5, 0.5). */
static inline void write_random(tn_buf *t, const char *name, int n, char *const word[])
{
    tn_buf raw = {0};
    size_t count = 1;
    int i = 1;
    for (; i + 2 < n && strcmp(word[i], "=") != 0; i++) {
        pb_int(t, 1, strtoll(word[i], NULL, 10));
        count *= (size_t)strtoll(word[i], NULL, 10);
    }
    tn_rng r = {strtoull(word[i + 1], NULL, 10)};
    double scale = strtod(word[i + 2], NULL);
    for (; count; count--) {
        float f = (float)((2 * tn_rng_unit(&r) - 1) * scale);
        tn_buf_add(&raw, &f, 4);
    }
    pb_int(t, 2, 1);
    pb_text(t, 8, name);
    pb_message(t, 9, &raw);
}

/* TensorProto from words "float 2 2 = 1 2 3 4". */
static inline void write_tensor(tn_buf *t, const char *name, bool typed, int n, char *const word[])
{
    const write_type *type = write_type_of(word[0]);
    size_t count = 1;
    int i = 1;
    for (; i < n && strcmp(word[i], "=") != 0; i++) {
        pb_int(t, 1, strtoll(word[i], NULL, 10));
        count *= (size_t)strtoll(word[i], NULL, 10);
    }
    pb_int(t, 2, type->number);
    if (name)
        pb_text(t, 8, name);
    if (i == n) {
        tn_buf zeros = {0};
        tn_buf_fill(&zeros, 0, count * tn_dtype_bytes(type->dtype));
        pb_message(t, 9, &zeros);
        return;
    }
    i++;
    write_elements e = write_elements_of(type->dtype, count, n - i, word + i);
    if (typed)
        write_typed(t, type, &e);
    else
        write_raw(t, &e);
}

/* TypeProto.Tensor from words "float n 3", "float *", "float". */
static inline tn_buf write_tensor_type(int n, char *const word[])
{
    tn_buf tensor = {0}, shape = {0};
    pb_int(&tensor, 1, write_type_of(word[0])->number);
    if (n > 1 && strcmp(word[1], "*") == 0)
        return tensor;
    for (int i = 1; i < n; i++) {
        tn_buf dim = {0};
        char first = word[i][0];
        if ((first >= '0' && first <= '9') || first == '-')
            pb_int(&dim, 1, strtoll(word[i], NULL, 10));
        else if (first != '?')
            pb_text(&dim, 2, word[i]);
        pb_message(&shape, 1, &dim);
    }
    pb_message(&tensor, 2, &shape);
    return tensor;
}

static inline void write_value_info(tn_buf *g, unsigned field, const words *w)
{
    tn_buf info = {0}, type = {0}, inner = {0}, tensor;
    bool sequence = w->n > 3 && strcmp(w->at[2], "seq") == 0;
    pb_text(&info, 1, w->at[1]);
    if (w->n > 2) {
        tensor = write_tensor_type(w->n - 2 - sequence, w->at + 2 + sequence);
        if (sequence) {
            pb_message(&inner, 1, &tensor);
            tensor = (tn_buf){0};
            pb_message(&tensor, 1, &inner);
        }
        pb_message(&type, sequence ? 4 : 1, &tensor);
        pb_message(&info, 2, &type);
    }
    pb_message(g, field, &info);
}

/* "['a','b']" */
static inline int write_texts(tn_buf *a, const char *at)
{
    for (at++; *at == '\''; at += *at == ',') {
        size_t n = strcspn(at + 1, "'");
        pb_bytes(a, 9, at + 1, n);
        at += n + 2;
    }
    return 8;
}

/* The type of the list. */
static inline int write_list(tn_buf *a, const char *at)
{
    bool real = strchr(at, '.') != NULL;
    for (at++; *at && *at != ']'; at += *at == ',') {
        char *end;
        if (real)
            pb_float(a, 7, strtof(at, &end));
        else
            pb_int(a, 8, strtoll(at, &end, 10));
        at = end;
    }
    return real ? 6 : 7;
}

typedef struct write_graphs { /* named so far, and how attributes are written */
    tn_buf at[8];
    char name[8][16];
    int n;
    bool untyped;
} write_graphs;

static inline void write_type_number(tn_buf *a, const write_graphs *o, int type)
{
    if (!o->untyped)
        pb_int(a, 20, type);
}

static inline void write_graph_attr(tn_buf *a, const write_graphs *o, const char *name)
{
    for (int i = 0; i < o->n; i++)
        if (strcmp(o->name[i], name) == 0)
            pb_bytes(a, 6, o->at[i].at, o->at[i].n);
    write_type_number(a, o, 5);
}

static inline void write_attr(tn_buf *node, const write_graphs *o, const char *name, char *value)
{
    tn_buf a = {0}, tensor = {0};
    words *w = malloc(sizeof *w);
    pb_text(&a, 1, name);
    if (value[0] == '[') {
        write_type_number(&a, o, value[1] == '\'' ? write_texts(&a, value) : write_list(&a, value));
    } else if (value[0] == '\'') {
        pb_bytes(&a, 4, value + 1, strlen(value) - 2);
        write_type_number(&a, o, 3);
    } else if (value[0] == '<') {
        split_words(w, value + 1, strlen(value) - 2);
        write_tensor(&tensor, NULL, false, w->n, w->at);
        pb_message(&a, 5, &tensor);
        write_type_number(&a, o, 4);
    } else if (value[0] == '@') {
        write_graph_attr(&a, o, value + 1);
    } else if (value[0] == '^') {
        pb_text(&a, 21, value + 1);
        write_type_number(&a, o, 1);
    } else if (value[0] == '?') {
        char *type[] = {value + 1};
        tn_buf inner = write_tensor_type(1, type);
        pb_message(&tensor, 1, &inner);
        pb_message(&a, 14, &tensor);
        write_type_number(&a, o, 13);
    } else if (strchr(value, '.')) {
        pb_float(&a, 2, strtof(value, NULL));
        write_type_number(&a, o, 1);
    } else {
        pb_int(&a, 3, strtoll(value, NULL, 10));
        write_type_number(&a, o, 2);
    }
    free(w);
    pb_message(node, 5, &a);
}

/* "x,,b" -> three entries of `field`. */
static inline void write_names(tn_buf *node, unsigned field, const char *names)
{
    for (;;) {
        size_t n = strcspn(names, ",");
        pb_bytes(node, field, names, n);
        if (!names[n])
            break;
        names += n + 1;
    }
}

static inline void write_node(tn_buf *g, unsigned field, const write_graphs *o, const words *w)
{
    tn_buf node = {0};
    int i = 2;
    if (strcmp(w->at[i], "->") != 0)
        write_names(&node, 1, w->at[i++]);
    write_names(&node, 2, w->at[i + 1]);
    pb_text(&node, 4, w->at[1]);
    for (i += 2; i < w->n; i++) {
        char *value = strchr(w->at[i], '=');
        *value++ = 0;
        if (strcmp(w->at[i], "name") == 0)
            pb_text(&node, 3, value);
        else if (strcmp(w->at[i], "domain") == 0)
            pb_text(&node, 7, value);
        else
            write_attr(&node, o, w->at[i], value);
    }
    pb_message(g, field, &node);
}

/* "w float 2 3 at 0 4 = 1 2" */
static inline void write_sparse(tn_buf *s, const char *name, int n, char *const word[])
{
    tn_buf data = {0}, at = {0};
    int begin = 1, mid = 1;
    while (begin < n && strcmp(word[begin], "at") != 0)
        pb_int(s, 3, strtoll(word[begin++], NULL, 10));
    while (mid < n && strcmp(word[mid], "=") != 0)
        mid++;
    int rank = begin - 1, n_values = n - mid - 1, n_at = mid - begin - 1;
    char *head[64], count[24], both[2][24];
    assert(mid < n && n_values < 60);
    snprintf(count, sizeof count, "%d", n_values);
    head[0] = word[0];
    head[1] = count;
    memcpy(head + 2, word + mid, (size_t)(n - mid) * sizeof *head);
    write_tensor(&data, name, false, n - mid + 2, head);
    snprintf(both[0], sizeof both[0], "%d", n_at == n_values ? n_at : n_at / rank);
    snprintf(both[1], sizeof both[1], "%d", rank);
    int k = 0;
    char type[] = "int64", equals[] = "=";
    head[k++] = type;
    head[k++] = both[0];
    if (n_at != n_values)
        head[k++] = both[1];
    head[k++] = equals;
    memcpy(head + k, word + begin + 1, (size_t)n_at * sizeof *head);
    write_tensor(&at, NULL, false, k + n_at, head);
    pb_message(s, 1, &data);
    pb_message(s, 2, &at);
}

/* A line that stands in a graph. */
static inline void write_graph_line(tn_buf *graph, const write_graphs *o, const words *w)
{
    tn_buf t = {0};
    if (strncmp(w->at[0], "init", 4) == 0) {
        if (w->at[0][4] == 'r')
            write_random(&t, w->at[1], w->n - 2, w->at + 2);
        else
            write_tensor(&t, w->at[1], w->at[0][4] == 's', w->n - 2, w->at + 2);
        if (w->at[0][4] == 'x')
            pb_int(&t, 14, 1);
        pb_message(graph, 5, &t);
    } else if (strcmp(w->at[0], "sequence") == 0) {
        tn_buf type = {0};
        pb_text(&t, 1, w->at[1]);
        pb_text(&type, 4, "");
        pb_message(&t, 2, &type);
        pb_message(graph, 11, &t);
    } else if (strcmp(w->at[0], "sparse") == 0) {
        write_sparse(&t, w->at[1], w->n - 2, w->at + 2);
        pb_message(graph, 15, &t);
    } else if (strcmp(w->at[0], "node") == 0) {
        write_node(graph, 1, o, w);
    } else {
        write_value_info(graph, w->at[0][0] == 'i' ? 11 : 12, w);
    }
}

/* "function my.F x,y -> z attributes=a,b": FunctionProto without nodes, for which there are the opsets of the model. */
static inline void write_function(tn_buf *f, const words *w, const tn_buf *opsets)
{
    char *dot = strchr(w->at[1], '.');
    *dot = 0;
    pb_text(f, 1, dot + 1);
    write_names(f, 4, w->at[2]);
    write_names(f, 5, w->at[4]);
    if (w->n > 5)
        write_names(f, 6, strchr(w->at[5], '=') + 1);
    pb_text(f, 10, w->at[1]);
    tn_buf_add(f, opsets->at, opsets->n);
}

typedef struct write_state {
    tn_buf whole, main;
    tn_buf opsets;   /* as functions have them */
    tn_buf function; /* that is open, if in_function */
    bool in_function;
    tn_buf *graph; /* that is open */
    write_graphs graphs;
} write_state;

static inline void write_opset(write_state *s, const words *w)
{
    tn_buf t = {0};
    if (w->n > 2)
        pb_text(&t, 1, w->at[2]);
    pb_int(&t, 2, strtoll(w->at[1], NULL, 10));
    pb_bytes(&s->opsets, 9, t.at, t.n);
    pb_message(&s->whole, 8, &t);
}

static inline void write_end(write_state *s)
{
    if (s->in_function)
        pb_message(&s->whole, 25, &s->function);
    s->function = (tn_buf){0};
    s->in_function = false;
    s->graph = &s->main;
}

static inline void write_line(write_state *s, const words *w)
{
    write_graphs *o = &s->graphs;
    if (strcmp(w->at[0], "opset") == 0) {
        write_opset(s, w);
    } else if (strcmp(w->at[0], "ir") == 0) {
        pb_int(&s->whole, 1, strtoll(w->at[1], NULL, 10)); /* the last one counts */
        o->untyped = strtoll(w->at[1], NULL, 10) < 3;
    } else if (strcmp(w->at[0], "graph") == 0) {
        assert((size_t)o->n < sizeof o->at / sizeof *o->at && strlen(w->at[1]) < sizeof *o->name);
        memcpy(o->name[o->n], w->at[1], strlen(w->at[1]) + 1);
        s->graph = &o->at[o->n++];
    } else if (strcmp(w->at[0], "function") == 0) {
        write_function(&s->function, w, &s->opsets);
        s->in_function = true;
    } else if (strcmp(w->at[0], "end") == 0) {
        write_end(s);
    } else if (s->in_function) {
        write_node(&s->function, 7, o, w);
    } else {
        write_graph_line(s->graph, o, w);
    }
}

/* The bytes of a model; the caller's to deinit. */
static inline tn_buf write_model(const char *text)
{
    write_state s = {0};
    words *w = malloc(sizeof *w);
    s.graph = &s.main;
    pb_int(&s.whole, 1, 8);
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        split_words(w, text, n);
        if (w->n)
            write_line(&s, w);
    }
    free(w);
    for (int i = 0; i < s.graphs.n; i++)
        tn_buf_deinit(&s.graphs.at[i]);
    tn_buf_deinit(&s.opsets);
    pb_message(&s.whole, 7, &s.main);
    return s.whole;
}

#endif
