#ifndef TENON_TESTS_HOST_RUN_H
#define TENON_TESTS_HOST_RUN_H
/* Calls one host function in a program made for it. Operands and results are text, separated by ';':
 *
 *     int64[2] 1 2          a tensor; elements that are not given are 0
 *     string[2] 'a' 'it''s' a tensor of strings
 *     #1(int64[] 3)         a constructor's value: tag, fields
 *     json {...}            attributes: the rest of the text
 */
#include "runtime/family.h"
#include "runtime/maker.h"
#include "tenon/host.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_OPERANDS = 8, HOST_ELEMENTS = 4096, HOST_TEXT = 1 << 16 };

static const tnr_family *const host_families[]
    __attribute__((used)) = {&tnr_family_value, &tnr_family_host}; /* nothing else links them */

static const struct {
    const char *name;
    DLDataType type;
} host_types[] = {
    {"string", {kDLOpaqueHandle, 0, 0}}, {"int64", {kDLInt, 64, 1}},      {"int32", {kDLInt, 32, 1}},
    {"uint8", {kDLUInt, 8, 1}},          {"bool", {kDLBool, 8, 1}},       {"float32", {kDLFloat, 32, 1}},
    {"float64", {kDLFloat, 64, 1}},      {"int8", {kDLInt, 8, 1}},        {"uint64", {kDLUInt, 64, 1}},
    {"int16", {kDLInt, 16, 1}},          {"uint16", {kDLUInt, 16, 1}},    {"uint32", {kDLUInt, 32, 1}},
    {"float16", {kDLFloat, 16, 1}},      {"bfloat16", {kDLBfloat, 16, 1}}};

typedef struct host_runner {
    maker m;
    tnr_module *module;
    tnr_instance *instance;
    tnr_error err;
    char out[HOST_TEXT];
    size_t n;
} host_runner;

/* ---- values from text ---- */

static tnr_value *host_tensor(host_runner *r, DLDataType type, int32_t ndim, int64_t *shape, void *data)
{
    tnr_value *v = NULL;
    tnr_value_info info = {
        .kind = TNR_VALUE_TENSOR,
        .tensor = {.data = data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = shape}};
    return tnr_value_new(r->instance, &info, &v, &r->err) ? NULL : v;
}

static tnr_value *host_fields(host_runner *r, uint32_t tag, uint32_t n, tnr_value **field)
{
    tnr_value *v = NULL;
    tnr_value_info info = {.kind = TNR_VALUE_CONSTRUCTOR, .tag = tag, .n_field = n, .field = field};
    if (tnr_value_new(r->instance, &info, &v, &r->err))
        v = NULL;
    for (uint32_t i = 0; i < n; i++)
        tnr_value_release(field[i]);
    return v;
}

static tnr_value *host_strings(host_runner *r, int32_t ndim, int64_t *shape, int64_t count, const char **at)
{
    static int64_t offset[HOST_ELEMENTS + 1];
    static char bytes[HOST_TEXT];
    int64_t n = 0, rank = ndim, all = count + 1;
    for (int64_t i = 0; i < count; i++, offset[i] = n) {
        *at += strspn(*at, " ");
        for (*at += **at == '\''; **at && (**at != '\'' || (*at)[1] == '\''); (*at)++) {
            *at += **at == '\'';
            bytes[n++] = **at;
        }
        *at += **at == '\'';
    }
    tnr_value_info text = {.kind = TNR_VALUE_TEXT, .text = bytes, .text_n = (size_t)n};
    tnr_value *field[3] = {host_tensor(r, (DLDataType){kDLInt, 64, 1}, 1, &rank, shape),
                           host_tensor(r, (DLDataType){kDLInt, 64, 1}, 1, &all, offset), NULL};
    return tnr_value_new(r->instance, &text, &field[2], &r->err) ? NULL : host_fields(r, 0, 3, field);
}

static void host_put(DLDataType t, char *to, double v, long long i)
{
    if (t.code == kDLFloat && t.bits == 64)
        *(double *)(void *)to = v;
    else if (t.code == kDLFloat && t.bits == 32)
        *(float *)(void *)to = (float)v;
    else
        memcpy(to, &i, t.bits / 8u); /* 16-bit floats: their bits */
}

static tnr_value *host_value(host_runner *r, const char **at);

static tnr_value *host_constructor(host_runner *r, const char **at)
{
    tnr_value *field[HOST_OPERANDS];
    uint32_t n = 0, tag = (uint32_t)strtoul(*at + 1, (char **)(uintptr_t)at, 10);
    for (*at += **at == '('; **at && **at != ')'; n++) {
        field[n] = host_value(r, at);
        *at += strspn(*at, " ;");
    }
    *at += **at == ')';
    return host_fields(r, tag, n, field);
}

static tnr_value *host_value(host_runner *r, const char **at)
{
    static int64_t data[HOST_ELEMENTS];
    int64_t shape[16], count = 1;
    int32_t ndim = 0;
    size_t i = 0;
    *at += strspn(*at, " ");
    if (**at == '#')
        return host_constructor(r, at);
    while (strncmp(*at, host_types[i].name, strlen(host_types[i].name)) ||
           (*at)[strlen(host_types[i].name)] != '[')
        i++;
    for (*at += strlen(host_types[i].name) + 1; **at != ']'; *at += **at == ',') {
        shape[ndim] = strtoll(*at, (char **)(uintptr_t)at, 10);
        count *= shape[ndim++];
    }
    ++*at;
    DLDataType t = host_types[i].type;
    if (t.code == kDLOpaqueHandle)
        return host_strings(r, ndim, shape, count, at);
    memset(data, 0, sizeof data);
    for (int64_t k = 0; k < count; k++) {
        char *end;
        double v = strtod(*at, &end);
        if (end == *at)
            break;
        host_put(t, (char *)data + k * (t.bits / 8), v, strtoll(*at, NULL, 10));
        *at = end;
    }
    return host_tensor(r, t, ndim, shape, data);
}

/* ---- values as text ---- */

__attribute__((format(printf, 2, 3))) static void host_say(host_runner *r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    r->n += (size_t)vsnprintf(r->out + r->n, sizeof r->out - r->n, format, list);
    va_end(list);
}

static int64_t host_shape(host_runner *r, const char *name, int64_t ndim, const int64_t *shape)
{
    int64_t count = 1;
    host_say(r, "%s[", name);
    for (int64_t d = 0; d < ndim; d++) {
        host_say(r, d ? ",%lld" : "%lld", (long long)shape[d]);
        count *= shape[d];
    }
    host_say(r, "]");
    return count;
}

static void host_show_tensor(host_runner *r, const DLTensor *t)
{
    size_t i = 0;
    while (host_types[i].type.code != t->dtype.code || host_types[i].type.bits != t->dtype.bits)
        i++;
    int64_t n = host_shape(r, host_types[i].name, t->ndim, t->shape);
    for (int64_t k = 0; k < n; k++) {
        const void *at = (const char *)t->data + k * (t->dtype.bits / 8);
        int64_t v = 0;
        memcpy(&v, at, t->dtype.bits / 8u);
        int unused = 64 - t->dtype.bits;
        if (t->dtype.code == kDLInt)
            v = (int64_t)((uint64_t)v << unused) >> unused;
        if (t->dtype.code == kDLFloat && t->dtype.bits >= 32)
            host_say(r, " %.9g", t->dtype.bits == 64 ? *(const double *)at : (double)*(const float *)at);
        else
            host_say(r, " %lld", (long long)v);
    }
}

static void host_show(host_runner *r, const tnr_value *v)
{
    tnr_value_info info, field[3] = {{0}};
    tnr_value_get(v, &info);
    for (uint32_t i = 0; i < info.n_field && i < 3; i++)
        tnr_value_get(info.field[i], &field[i]);
    if (info.kind == TNR_VALUE_TENSOR) {
        host_show_tensor(r, &info.tensor);
    } else if (info.n_field == 3 && field[2].kind == TNR_VALUE_TEXT) {
        const int64_t *offset = field[1].tensor.data;
        int64_t n = host_shape(r, "string", field[0].tensor.shape[0], field[0].tensor.data);
        for (int64_t k = 0; k < n; k++)
            host_say(r, " '%.*s'", (int)(offset[k + 1] - offset[k]), field[2].text + offset[k]);
    } else {
        host_say(r, "#%u(", info.tag);
        for (uint32_t i = 0; i < info.n_field; i++) {
            host_say(r, i ? "; " : "");
            host_show(r, info.field[i]);
        }
        host_say(r, ")");
    }
}

/* ---- the run ---- */

static bool host_open(host_runner *r, const char *const name[1], uint32_t n_in, uint32_t n_out)
{
    static const char *const operand[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    r->m = (maker){0};
    maker_function *f = &r->m.f[0];
    for (uint32_t i = 0; i < n_in + n_out; i++)
        put_handle(&r->m, 0, i < n_in ? TN_SLOT_INPUT : TN_SLOT_OUTPUT, operand[i]);
    f->inst[0] = (tn_inst){TN_INST_CALL_HOST, 0, 0, n_in + n_out + 1, "node"};
    f->operand[0] = n_in;
    for (uint32_t i = 0; i < n_in + n_out; i++)
        f->operand[i + 1] = i;
    f->n_inst = 1;
    f->n_operand = n_in + n_out + 1;
    finish_maker(&r->m, 1, 0);
    r->m.program.text = name;
    r->m.program.n_text = 1;
    return !tnr_module_open_parts(&(tnr_parts){.library = &r->m.library}, &r->module, &r->err) &&
           !tnr_host_register_all(r->module, &r->err) &&
           !tnr_instance_new(r->module, NULL, &r->instance, &r->err);
}

static bool host_give(host_runner *r, uint32_t n_in, const char *operands)
{
    bool ok = true;
    for (uint32_t i = 0; i < n_in && ok; i++) {
        tnr_value *v;
        operands += strspn(operands, " ;");
        int64_t n = (int64_t)strlen(operands) - 5;
        if (strncmp(operands, "json ", 5) == 0)
            v = host_tensor(r, (DLDataType){kDLUInt, 8, 1}, 1, &n, (void *)(uintptr_t)(operands + 5));
        else
            v = host_value(r, &operands);
        ok = v && !tnr_set_input_value(r->instance, i, v, &r->err);
        tnr_value_release(v);
    }
    return ok;
}

/* The results, or "fails: " and the message. The text is valid until the next call. */
static inline const char *host_call(const char *name, uint32_t n_in, const char *operands, uint32_t n_out)
{
    static host_runner r;
    const char *const names[1] = {name};
    r = (host_runner){0};
    if (!host_open(&r, names, n_in, n_out) || !host_give(&r, n_in, operands) || tnr_run(r.instance, &r.err))
        host_say(&r, "fails: %s", r.err.message);
    for (uint32_t o = 0; o < n_out && !*r.err.message; o++) {
        tnr_value *v;
        if (!tnr_get_output_value(r.instance, o, &v, &r.err)) {
            host_say(&r, o ? "; " : "");
            host_show(&r, v);
        }
    }
    tnr_instance_free(r.instance);
    tnr_module_release(r.module);
    return r.out;
}

/* A call of one result, and what it gives. */
typedef struct host_row {
    const char *name;
    uint32_t n_in;
    const char *operands, *results;
} host_row;

static inline void host_expect(size_t n, const host_row *rows)
{
    for (size_t i = 0; i < n; i++) {
        const char *have = host_call(rows[i].name, rows[i].n_in, rows[i].operands, 1);
        if (strcmp(have, rows[i].results) != 0)
            fail_msg("%s(%s)\ngives %s\n  not %s", rows[i].name, rows[i].operands, have, rows[i].results);
    }
}
#define EXPECT(rows) host_expect(sizeof(rows) / sizeof *(rows), rows)

#endif
