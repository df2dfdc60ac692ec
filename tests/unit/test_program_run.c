/* Programs as text, run: each line "# run name: values; ... -> name: values; ..." of a text in tests/program is one run
 * of one instance, or "-> fails" and words of the error. Extents follow from the number of values. "# other ..." is a
 * run of a second instance; "# reset" gives the states of the first their first contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "program/run.h"

#include <dirent.h>
#include <stdio.h>

enum { MOST_VALUES = 256, MOST_INPUTS = 8, LINE = 400 };

typedef struct {
    char name[64];
    double value[MOST_VALUES];
    int n;
} values;

/* "name: 1 2 3" at *at, up to the `;` or the end; false: no more. */
static bool read_values(const char **at, values *out)
{
    int used = 0;
    out->n = 0;
    if (sscanf(*at, " %63[^:;>\n]:%n", out->name, &used) != 1 || !used)
        return false;
    *at += used;
    for (char *end; out->n < MOST_VALUES; *at = end, out->n++) {
        out->value[out->n] = strtod(*at, &end);
        if (end == *at)
            break;
    }
    *at += strspn(*at, " ;");
    return true;
}

/* The shape of input i with so many values: symbolic extents are what is left. */
static void give(text_program *t, const values *v, void *memory)
{
    tnr_tensor_info info;
    tnr_error err;
    int64_t i = tnr_input_find(t->module, v->name), shape[8], all = 1;
    assert_true(i >= 0);
    assert_int_equal(tnr_input_info(t->module, (uint32_t)i, &info, &err), 0);
    for (int32_t d = 0; d < info.ndim; d++)
        all *= info.shape[d] < 0 ? 1 : info.shape[d];
    for (int32_t d = 0; d < info.ndim; d++)
        shape[d] = info.shape[d] < 0 ? v->n / all : info.shape[d];
    tn_dtype e = {info.dtype.code, info.dtype.bits, 1};
    for (int k = 0; k < v->n; k++)
        tn_scalar_write(e, (char *)memory + k * tn_dtype_bytes(e),
                        tn_dtype_is_float(e) ? (tn_scalar){.f = v->value[k]}
                                             : (tn_scalar){.i = (int64_t)v->value[k]});
    DLTensor x = {
        .data = memory, .device = {kDLCPU, 0}, .ndim = info.ndim, .dtype = info.dtype, .shape = shape};
    if (tnr_set_input_at(t->instance, (uint32_t)i, &x, &err))
        fail_msg("%s: %s", v->name, err.message);
}

static void compare(text_program *t, const values *want)
{
    DLTensor y;
    tnr_error err;
    uint64_t bytes;
    int64_t o = tnr_output_find(t->module, want->name);
    assert_true(o >= 0);
    assert_int_equal(tnr_get_output_at(t->instance, (uint32_t)o, &y, &err), 0);
    assert_int_equal(tnr_tensor_bytes(y.dtype, y.ndim, y.shape, &bytes, &err), 0);
    tn_dtype e = {y.dtype.code, y.dtype.bits, 1};
    assert_int_equal(bytes / tn_dtype_bytes(e), want->n);
    for (int k = 0; k < want->n; k++) {
        tn_scalar v = tn_scalar_read(e, (const char *)y.data + k * tn_dtype_bytes(e));
        double have = tn_dtype_is_float(e) ? v.f : (double)v.i;
        if (have != want->value[k])
            fail_msg("%s[%d] is %g, not %g", want->name, k, have, want->value[k]);
    }
}

static void run_line(text_program *t, const char *line)
{
    static int64_t memory[MOST_INPUTS][MOST_VALUES];
    values v;
    tnr_error err;
    tnr_tensor_info info;
    for (uint32_t i = 0; i < tnr_input_count(t->module); i++)
        if (!tnr_input_info(t->module, i, &info, &err) && info.dtype.code == kDLOpaqueHandle &&
            text_give_value(t, i, &err))
            fail_msg("%s", err.message);
    for (int i = 0; strncmp(line, "->", 2) != 0 && read_values(&line, &v); i++) {
        assert_true(i < MOST_INPUTS);
        give(t, &v, memory[i]);
    }
    assert_int_equal(strncmp(line, "-> ", 3), 0);
    line += 3;
    t->steps = 0;
    if (strncmp(line, "fails ", 6) == 0) {
        assert_int_not_equal(tnr_run(t->instance, &err), 0);
        if (!strstr(err.message, line + 6))
            fail_msg("%s", err.message);
        return;
    }
    if (tnr_run(t->instance, &err))
        fail_msg("%s", err.message);
    while (read_values(&line, &v))
        compare(t, &v);
}

/* A line of the text; other: the second instance, made when it is first needed. */
static void do_line(text_program *t, tnr_instance **other, const char *line)
{
    tnr_instance *first = t->instance;
    tnr_error err;
    if (strncmp(line, "# run ", 6) == 0)
        run_line(t, line + 6);
    if (strcmp(line, "# reset") == 0)
        assert_int_equal(tnr_state_reset(t->instance, &err), 0);
    if (strncmp(line, "# other ", 8) != 0)
        return;
    if (!*other)
        assert_int_equal(tnr_instance_new(t->module, NULL, other, &err), 0);
    t->instance = *other;
    run_line(t, line + 8);
    t->instance = first;
}

static void run_file(const char *path)
{
    tnr_instance *other = NULL;
    tn_ctx ctx;
    tn_file f;
    text_program t;
    tnr_error err;
    tn_ctx_init(&ctx);
    assert_int_equal(tn_file_map(&ctx, path, &f), TN_OK);
    const char *text = (const char *)f.at, *end = text + f.n;
    if (!text_open(&t, path, text, f.n))
        fail_msg("%s: %s", path, t.ctx.diag[0].message);
    if (!text_load(&t, false, &err))
        fail_msg("%s: %s", path, err.message);
    for (const char *at = text; at < end;) {
        char line[LINE];
        const char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next + 1 : end;
        snprintf(line, sizeof line, "%.*s", (int)(next - at) - 1, at);
        do_line(&t, &other, line);
        at = next;
    }
    tnr_instance_free(other);
    text_close(&t);
    tn_file_unmap(&f);
    tn_ctx_deinit(&ctx);
}

static void programs_compute_what_they_say(void **state)
{
    char folder[512], path[800];
    int n = 0;
    (void)state;
    snprintf(folder, sizeof folder, "%s/tests/program", getenv("TENON_SOURCE_DIR"));
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strstr(e->d_name, ".program")) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            run_file(path);
            n++;
        }
    closedir(d);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_compute_what_they_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
