#ifndef TENON_TESTS_TENSORFLOW_WRITE_H
#define TENON_TESTS_TENSORFLOW_WRITE_H
/* Writes tiny TensorFlow graphs from lines of text, so that a test is a table of texts:
 *
 *   x = Placeholder() dtype=float32 shape=<?,3>
 *   y = Relu(x:0, ^z) T=float32
 *   c = Const() dtype=int32 value=int32<2>{1,2}        tensor_content; `value=int32<2>[1]` the list of values
 *   function f(a float32, b int32) -> r=y:out:0, s=b   the lines up to `end` are its nodes
 *   signature serving_default in k=x:0 out r=y:0       makes it a SavedModel, with this signature
 *   meta                                               makes it a MetaGraphDef
 *
 * Attributes: 1 is an integer, 1.5 a float, true, "text", float32 a type, <2,?> a shape (<*>: of unknown rank), [..] a
 * list of these, @f a function, $T an attribute of the function around. No blanks in them. */
#include "base/buf.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline void put_varint(tn_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        tn_buf_char(b, (char)(v | 0x80));
    tn_buf_char(b, (char)v);
}

static inline void put_int(tn_buf *b, unsigned field, int64_t v)
{
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)v);
}

static inline void put_float(tn_buf *b, unsigned field, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    put_varint(b, field << 3 | 5);
    tn_buf_u32le(b, bits);
}

static inline void put_bytes(tn_buf *b, unsigned field, const void *at, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    tn_buf_add(b, at, n);
}

/* Moves a message into another one. */
static inline void put_msg(tn_buf *b, unsigned field, tn_buf *msg)
{
    put_bytes(b, field, msg->n ? msg->at : "", msg->n);
    tn_buf_deinit(msg);
    *msg = (tn_buf){0};
}

static inline int type_number(const char *s, size_t n)
{
    static const struct {
        const char *name;
        int number, bytes;
    } types[] = {{"float32", 1, 4},   {"float64", 2, 8}, {"int32", 3, 4},     {"uint8", 4, 1},
                 {"int16", 5, 2},     {"int8", 6, 1},    {"string", 7, 0},    {"complex64", 8, 8},
                 {"int64", 9, 8},     {"bool", 10, 1},   {"bfloat16", 14, 2}, {"float16", 19, 2},
                 {"resource", 20, 0}, {"variant", 21, 0}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == n && memcmp(types[i].name, s, n) == 0)
            return types[i].number;
    return 0;
}

static inline const char *put_shape(tn_buf *b, unsigned field, const char *at)
{
    tn_buf shape = {0};
    if (*++at == '*') {
        put_int(&shape, 3, 1);
        at++;
    }
    while (*at != '>') {
        tn_buf dim = {0};
        char *end = (char *)at + 1;
        put_int(&dim, 1, *at == '?' ? -1 : strtoll(at, &end, 10));
        put_msg(&shape, 2, &dim);
        at = *end == ',' ? end + 1 : end;
    }
    put_msg(b, field, &shape);
    return at + 1;
}

static inline void put_element(tn_buf *b, int type, const char *at, char **end)
{
    double f = strtod(at, end);
    float s = (float)f;
    int32_t i = (int32_t)f;
    int64_t l = (int64_t)f;
    if (type == 1 || type == 8)
        tn_buf_add(b, &s, 4);
    else if (type == 2)
        tn_buf_add(b, &f, 8);
    else if (type == 3)
        tn_buf_add(b, &i, 4);
    else if (type == 9)
        tn_buf_add(b, &l, 8);
    else
        tn_buf_char(b, (char)i);
}

/* float32<2>{1,2}; a complex number is two of them */
static inline void put_tensor(tn_buf *b, const char *at, const char *stop)
{
    static const unsigned list[] = {[1] = 5, [2] = 6, [3] = 7, [4] = 7, [6] = 7, [9] = 10, [10] = 11};
    tn_buf t = {0}, data = {0};
    const char *shape = memchr(at, '<', (size_t)(stop - at));
    int type = type_number(at, (size_t)(shape - at));
    put_int(&t, 1, type);
    at = put_shape(&t, 2, shape);
    for (bool content = *at++ == '{'; *at != '}' && *at != ']';) {
        char *end;
        if (content)
            put_element(&data, type, at, &end);
        else if (type == 7) {
            end = strpbrk(at, ",]");
            put_bytes(&t, 8, at, (size_t)(end - at));
        } else if (type == 1 || type == 8)
            put_float(&t, type == 1 ? 5 : 9, strtof(at, &end));
        else
            put_int(&t, list[type], strtoll(at, &end, 10));
        at = *end == ',' ? end + 1 : end;
    }
    if (data.n)
        put_msg(&t, 4, &data);
    put_msg(b, 8, &t);
}

/* One value of an attribute, or of a list of them. */
static inline void put_value(tn_buf *b, const char *at, const char *stop)
{
    size_t n = (size_t)(stop - at);
    int type = type_number(at, n);
    if (*at == '"')
        put_bytes(b, 2, at + 1, n - 2);
    else if (*at == '<')
        (void)put_shape(b, 7, at);
    else if (*at == '@') {
        tn_buf f = {0};
        put_bytes(&f, 1, at + 1, n - 1);
        put_msg(b, 10, &f);
    } else if (*at == '$')
        put_bytes(b, 9, at + 1, n - 1);
    else if (type)
        put_int(b, 6, type);
    else if (n == 4 && memcmp(at, "true", 4) == 0)
        put_int(b, 5, 1);
    else if (n == 5 && memcmp(at, "false", 5) == 0)
        put_int(b, 5, 0);
    else if (memchr(at, '<', n))
        put_tensor(b, at, stop);
    else if (memchr(at, '.', n))
        put_float(b, 4, strtof(at, NULL));
    else
        put_int(b, 3, strtoll(at, NULL, 10));
}

static inline void put_attr(tn_buf *node, const char *at, const char *stop)
{
    const char *eq = memchr(at, '=', (size_t)(stop - at));
    tn_buf entry = {0}, value = {0}, list = {0};
    put_bytes(&entry, 1, at, (size_t)(eq - at));
    if (eq[1] == '[') {
        for (const char *s = eq + 2, *end; *s != ']'; s = *end == ',' ? end + 1 : end) {
            end = *s == '<' ? strchr(s, '>') + 1 : strpbrk(s, ",]");
            if (*s == '@') { /* of a list, functions have another number */
                tn_buf f = {0};
                put_bytes(&f, 1, s + 1, (size_t)(end - s - 1));
                put_msg(&list, 9, &f);
                continue;
            }
            put_value(&list, s, end);
        }
        put_msg(&value, 1, &list);
    } else {
        put_value(&value, eq + 1, stop);
    }
    put_msg(&entry, 2, &value);
    put_msg(node, 5, &entry);
}

/* x = Op(a, b) k=v */
static inline void put_node(tn_buf *graph, unsigned field, const char *line)
{
    tn_buf n = {0};
    const char *eq = strstr(line, " = "), *open = strchr(eq, '(');
    put_bytes(&n, 1, line, (size_t)(eq - line));
    put_bytes(&n, 2, eq + 3, (size_t)(open - eq - 3));
    const char *at = open + 1;
    for (size_t k; *at != ')'; at += k + strspn(at + k, ", ")) {
        k = strcspn(at, ",)");
        put_bytes(&n, 3, at, k);
    }
    for (at++; *(at += strspn(at, " "));) {
        const char *stop = at + strcspn(at, " ");
        put_attr(&n, at, stop);
        at = stop;
    }
    put_msg(graph, field, &n);
}

/* f(a float32, b int32) -> r=y:out:0 */
static inline tn_buf begin_function(const char *line)
{
    tn_buf f = {0}, op = {0}, rets = {0};
    const char *at = strchr(line, '(');
    put_bytes(&op, 1, line, (size_t)(at - line));
    for (at++; *at != ')';) {
        tn_buf arg = {0};
        size_t k = strcspn(at, " "), m = strcspn(at + k + 1, ",)");
        put_bytes(&arg, 1, at, k);
        put_int(&arg, 3, type_number(at + k + 1, m));
        put_msg(&op, 2, &arg);
        at += k + 1 + m;
        at += strspn(at, ", ");
    }
    for (at = strstr(at, "->") + 2, at += *at == ' '; *at;) {
        tn_buf arg = {0}, ret = {0};
        size_t k = strcspn(at, "="), m = strcspn(at + k + 1, ",");
        put_bytes(&arg, 1, at, k);
        put_msg(&op, 3, &arg);
        put_bytes(&ret, 1, at, k);
        put_bytes(&ret, 2, at + k + 1, m);
        put_msg(&rets, 4, &ret);
        at += k + 1 + m;
        at += strspn(at, ", ");
    }
    put_msg(&f, 1, &op);
    tn_buf_add(&f, rets.at, rets.n);
    tn_buf_deinit(&rets);
    return f;
}

/* serving_default in k=x:0 out r=y:0 */
static inline void put_signature(tn_buf *meta, const char *line)
{
    tn_buf entry = {0}, s = {0};
    size_t n = strcspn(line, " ");
    unsigned field = 1;
    put_bytes(&entry, 1, line, n);
    for (const char *at = line + n; *(at += strspn(at, " "));) {
        size_t k = strcspn(at, " "), eq = strcspn(at, "=");
        if (eq >= k) {
            field = strncmp(at, "out", 3) == 0 ? 2 : 1;
        } else {
            tn_buf port = {0}, info = {0};
            put_bytes(&port, 1, at, eq);
            put_bytes(&info, 1, at + eq + 1, k - eq - 1);
            put_msg(&port, 2, &info);
            put_msg(&s, field, &port);
        }
        at += k;
    }
    put_msg(&entry, 2, &s);
    put_msg(meta, 5, &entry);
}

static inline tn_buf write_graph(char *text)
{
    tn_buf graph = {0}, library = {0}, fn = {0}, meta = {0}, saved = {0}, more = {0};
    bool in_function = false, is_saved = false, is_meta = false;
    for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text)) {
        if (strncmp(line, "function ", 9) == 0) {
            fn = begin_function(line + 9);
            in_function = true;
        } else if (strcmp(line, "end") == 0) {
            put_msg(&library, 1, &fn);
            in_function = false;
        } else if (strncmp(line, "signature ", 10) == 0) {
            put_signature(&more, line + 10);
            is_saved = true;
        } else if (strcmp(line, "meta") == 0) {
            is_meta = true;
        } else {
            put_node(in_function ? &fn : &graph, in_function ? 3 : 1, line);
        }
    }
    if (library.n)
        put_msg(&graph, 2, &library);
    if (!is_saved && !is_meta)
        return graph;
    put_msg(&meta, 2, &graph);
    tn_buf_add(&meta, more.n ? more.at : "", more.n);
    tn_buf_deinit(&more);
    if (is_meta)
        return meta;
    put_int(&saved, 1, 1);
    put_msg(&saved, 2, &meta);
    return saved;
}

#endif
