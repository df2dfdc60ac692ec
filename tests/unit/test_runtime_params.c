/* mod.params: what it holds, where it lies, and every way of being damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include "base/utf8.h"
#include "tenon/runtime.h"

#include "runtime/blob.h"
#include "runtime/tensor.h"

static void check_toy(const tnr_params *p)
{
    DLTensor t;
    const char *name;
    assert_int_equal(tnr_params_count(p), 3);
    assert_int_equal(tnr_params_at(p, 0, &name, &t, NULL), TNR_OK);
    assert_string_equal(name, "p0");
    assert_int_equal(t.ndim, 1);
    assert_int_equal(t.shape[0], 8);
    assert_int_equal(t.dtype.code, kDLFloat);
    assert_int_equal(t.dtype.bits, 32);
    assert_int_equal((uintptr_t)t.data % 64, 0);
    assert_memory_equal(t.data, blob_p0, sizeof blob_p0);
    assert_int_equal(tnr_params_find(p, "unused", &t, NULL), TNR_OK);
    assert_int_equal(t.ndim, 2);
    assert_int_equal(t.shape[1], 3);
    assert_int_equal((uintptr_t)t.data % 64, 0);
    assert_memory_equal(t.data, "abc", 3);
    assert_int_equal(tnr_params_find(p, "p1", &t, NULL), TNR_OK);
    assert_memory_equal(t.data, blob_p1, sizeof blob_p1);
}

static void aligned_tensors_are_used_in_place(void **state)
{
    (void)state;
    blob b = blob_toy_params(1);
    tnr_params *p;
    DLTensor t;
    assert_int_equal(tnr_params_open(b.at, b.n, &p, NULL), TNR_OK);
    check_toy(p);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(tnr_params_at(p, i, NULL, &t, NULL), TNR_OK);
        assert_true((uint8_t *)t.data > b.at && (uint8_t *)t.data < b.at + b.n);
    }
    tnr_params_free(p);
    free(b.at);
}

static void misaligned_tensors_are_copied(void **state)
{
    (void)state;
    blob b = blob_toy_params(0);
    uint8_t *shifted = malloc(b.n + 1); /* at an odd address too */
    tnr_params *p;
    memcpy(shifted + 1, b.at, b.n);
    assert_int_equal(tnr_params_open(shifted + 1, b.n, &p, NULL), TNR_OK);
    check_toy(p);
    tnr_params_free(p);
    free(shifted);
    free(b.at);
}

static void fillers_and_names_like_them(void **state)
{
    (void)state;
    const blob_tensor t[] = {
        {"__pad0", 1, 8, 1, {3}, "abc", 3}, {"__pad", 1, 8, 1, {1}, "a", 1},
        {"__pad1x", 1, 8, 1, {1}, "a", 1},  {"__pad2", 0, 8, 1, {1}, "a", 1},
        {"__pad0", 1, 8, 1, {0}, "", 0},    {"", 1, 8, 0, {0}, "a", 1},
    };
    blob b = blob_params(t, 6);
    tnr_params *p;
    tnr_error err;
    const char *name;
    DLTensor v;
    assert_int_equal(tnr_params_open(b.at, b.n, &p, &err), TNR_OK);
    assert_int_equal(tnr_params_count(p), 4); /* the two true fillers are gone, though they share a name */
    static const char *const expected[] = {"__pad", "__pad1x", "__pad2", ""};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(tnr_params_at(p, i, &name, &v, NULL), TNR_OK);
        assert_string_equal(name, expected[i]);
    }
    assert_int_equal(tnr_params_find(p, "__pad0", &v, &err), TNR_E_NAME);
    assert_string_equal(err.message, "no parameter is called \"__pad0\"");
    assert_int_equal(tnr_params_at(p, 4, &name, &v, &err), TNR_E_ARG);
    assert_string_equal(err.message, "no parameter 4: there are 4");
    tnr_params_free(p);
    free(b.at);
    b = blob_params(NULL, 0);
    assert_int_equal(tnr_params_open(b.at, b.n, &p, &err), TNR_OK);
    assert_int_equal(tnr_params_count(p), 0);
    tnr_params_free(p);
    free(b.at);
}

static void many_names_are_found(void **state)
{
    (void)state;
    enum { N = 1000 };
    static char name[N][8];
    static blob_tensor t[N];
    tnr_params *p;
    DLTensor v;
    for (int i = 0; i < N; i++) { /* neither sorted nor reversed */
        snprintf(name[i], sizeof name[i], "w%d", i * 617 % N);
        t[i] = (blob_tensor){name[i], 0, 32, 0, {0}, NULL, 4};
    }
    static int32_t value[N];
    for (int i = 0; i < N; i++) {
        value[i] = i * 617 % N;
        t[i].data = &value[i];
    }
    blob b = blob_params(t, N);
    assert_int_equal(tnr_params_open(b.at, b.n, &p, NULL), TNR_OK);
    for (int i = 0; i < N; i++) {
        char key[8];
        snprintf(key, sizeof key, "w%d", i);
        assert_int_equal(tnr_params_find(p, key, &v, NULL), TNR_OK);
        assert_int_equal(*(int32_t *)v.data, i);
    }
    assert_int_equal(tnr_params_find(p, "w1000", &v, NULL), TNR_E_NAME);
    tnr_params_free(p);
    free(b.at);
}

/* ---- damage ---- */

static void every_prefix_is_an_error(void **state)
{
    (void)state;
    for (int aligned = 0; aligned < 2; aligned++) {
        blob b = blob_toy_params(aligned);
        for (size_t n = 0; n < b.n; n++) {
            uint8_t *exact = malloc(n ? n : 1); /* so that a read past the end is seen */
            tnr_params *p = NULL;
            tnr_error err = {0};
            memcpy(exact, b.at, n);
            assert_int_equal(tnr_params_open(exact, n, &p, &err), TNR_E_FORMAT);
            assert_null(p);
            assert_int_equal(err.code, TNR_E_FORMAT);
            assert_true(err.position <= n);
            free(exact);
        }
        free(b.at);
    }
}

static void every_flipped_bit_is_survived(void **state)
{
    (void)state;
    blob b = blob_toy_params(0);
    int errors = 0;
    for (size_t i = 0; i < b.n * 8; i++) {
        uint8_t *exact = malloc(b.n);
        tnr_params *p;
        memcpy(exact, b.at, b.n);
        exact[i / 8] ^= (uint8_t)(1 << i % 8);
        if (tnr_params_open(exact, b.n, &p, NULL) == TNR_OK)
            tnr_params_free(p);
        else
            errors++;
        free(exact);
    }
    assert_true(errors > 1000); /* all but names, data, device ids and harmless type changes */
    free(b.at);
}

static void damage_has_words(void **state)
{
    (void)state;
    /* offsets in a blob of one tensor "w" of float32[2]: names end at 33, tensor at 41 */
    const struct {
        size_t at;
        int bytes;
        uint64_t value;
        const char *message;
    } row[] = {
        {0, 8, 1, "mod.params is damaged: not a parameter list (wrong magic number) at byte 0"},
        {8, 8, 1, "mod.params is damaged: reserved word is not 0 at byte 8"},
        {16, 8, UINT64_MAX, "mod.params is damaged: more tensors than bytes for them at byte 16"},
        {24, 8, UINT64_MAX, "mod.params is cut short: it has 105 bytes, but more are needed at byte 32"},
        {32, 1, 0, "mod.params is damaged: a name with a zero byte at byte 24"},
        {33, 8, 2, "mod.params is damaged: number of tensors differs from number of names at byte 33"},
        {41, 8, 0, "mod.params is damaged: not a tensor (wrong magic number) at byte 41"},
        {49, 8, 1, "mod.params is damaged: reserved word is not 0 at byte 49"},
        {57, 4, 2, "mod.params is damaged: a tensor that is not on the CPU at byte 57"},
        {65, 4, 65, "mod.params is damaged: more than 64 dimensions at byte 65"},
        {65, 4, UINT32_MAX, "mod.params is damaged: more than 64 dimensions at byte 65"},
        {69, 1, 3, "mod.params is damaged: an element type that is not allowed for parameters at byte 69"},
        {71, 2, 4, "mod.params is damaged: an element type that is not allowed for parameters at byte 69"},
        {73, 8, 3, "mod.params is damaged: byte count that does not fit the shape at byte 81"},
        {73, 8, UINT64_MAX, "mod.params is damaged: byte count that does not fit the shape at byte 81"},
        {73, 8, (uint64_t)1 << 62,
         "mod.params is damaged: byte count that does not fit the shape at byte 81"},
        {81, 8, 12, "mod.params is damaged: byte count that does not fit the shape at byte 81"},
    };
    const blob_tensor one = {"w", 2, 32, 1, {2}, blob_p0, 8}, twice[] = {one, one};
    tnr_params *p = NULL;
    tnr_error err;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = blob_params(&one, 1);
        assert_int_equal(b.n, 97);
        blob_put(&b, "12345678", 8); /* something behind */
        for (int k = 0; k < row[i].bytes; k++)
            b.at[row[i].at + (size_t)k] = (uint8_t)(row[i].value >> (8 * k));
        assert_int_equal(tnr_params_open(b.at, b.n, &p, &err), TNR_E_FORMAT);
        assert_string_equal(err.message, row[i].message);
        free(b.at);
    }
    blob b = blob_params(&one, 1);
    blob_put(&b, "!", 1);
    assert_int_equal(tnr_params_open(b.at, b.n, &p, &err), TNR_E_FORMAT);
    assert_string_equal(err.message, "mod.params is damaged: bytes after the last tensor at byte 97");
    assert_int_equal(err.position, 97);
    free(b.at);
    b = blob_params(twice, 2);
    assert_int_equal(tnr_params_open(b.at, b.n, &p, &err), TNR_E_FORMAT);
    assert_string_equal(err.message, "mod.params is damaged: two tensors are called \"w\"");
    free(b.at);
    assert_int_equal(tnr_params_open(NULL, 0, &p, NULL), TNR_E_ARG);
    tnr_params_free(NULL);
}

/* Long names are cut in their middle, at a character's boundary; what the message says of them stays. */
static void messages_hold_whole_characters_only(void **state)
{
    (void)state;
    blob b = blob_toy_params(1);
    tnr_params *p;
    tnr_error err;
    DLTensor v;
    char name[256] = "a\x1b[31m\xff\n";
    assert_int_equal(tnr_params_open(b.at, b.n, &p, NULL), TNR_OK);
    assert_int_equal(tnr_params_find(p, name, &v, &err), TNR_E_NAME);
    assert_string_equal(err.message, "no parameter is called \"a\\x1b[31m\\xff\\x0a\"");
    for (size_t n = 60; n < 80; n++) { /* one byte more in front moves where characters end */
        memset(name, 'b', n);
        for (size_t at = n; at < 250; at += 3)
            memcpy(name + at, at < 247 ? "\xe4\xb8\xad" : "xyz", 4);
        assert_int_equal(tnr_params_find(p, name, &v, &err), TNR_E_NAME);
        assert_non_null(strstr(err.message, "no parameter is called \"bbbb"));
        assert_non_null(strstr(err.message, "\xe2\x80\xa6"));
        assert_true(strlen(err.message) > 245 && strlen(err.message) < sizeof err.message);
        for (const char *at = err.message; *at; at += tn_utf8_shown(at))
            assert_true(tn_utf8_shown(at) > 0);
    }
    tnr_params_free(p);
    free(b.at);
}

/* ---- types and sizes ---- */

static void dtypes_print(void **state)
{
    (void)state;
    const struct {
        DLDataType t;
        const char *text;
    } row[] = {
        {{kDLFloat, 32, 1}, "float32"},
        {{kDLInt, 8, 4}, "int8x4"},
        {{kDLUInt, 1, 1}, "bool"},
        {{kDLBool, 8, 1}, "bool"},
        {{kDLBfloat, 16, 1}, "bfloat16"},
        {{kDLUInt, 64, 1}, "uint64"},
        {{kDLInt, 4, 1}, "int4"},
        {{kDLComplex, 64, 1}, "complex64"},
        {{99, 8, 1}, "unknown8"},
        {{kDLFloat8_e4m3fn, 8, 1}, "float8_e4m3fn"},
        {{kDLFloat4_e2m1fn, 4, 2}, "float4_e2m1fnx2"},
    };
    char text[24];
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        assert_string_equal(tnr_dtype_print(row[i].t, text, sizeof text), row[i].text);
    assert_string_equal(tnr_dtype_print(row[0].t, text, 4), "flo");
    for (uint8_t code = kDLFloat8_e3m4; code <= kDLFloat4_e2m1fn; code++) {
        DLDataType t = {code, code < kDLFloat6_e2m3fn ? 8 : code < kDLFloat4_e2m1fn ? 6 : 4, 1}, back = {0};
        tnr_dtype_print(t, text, sizeof text);
        assert_true(tnr_dtype_parse(text, strlen(text), &back) && tnr_dtype_same(t, back));
        assert_false(tnr_dtype_parse(text, strlen(text) - 1, &back) && tnr_dtype_same(t, back));
    }
}

static void tensor_bytes(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 5}, empty[] = {INT64_MAX, INT64_MAX, 0}, huge[] = {INT64_MAX / 2, 3},
                  minus[] = {2, -1};
    uint64_t n = 0;
    tnr_error err;
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLFloat, 32, 1}, 2, shape, &n, NULL), TNR_OK);
    assert_int_equal(n, 60);
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLInt, 4, 1}, 2, shape, &n, NULL), TNR_OK);
    assert_int_equal(n, 15); /* so is what has fewer bits */
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLUInt, 1, 1}, 2, shape, &n, NULL), TNR_OK);
    assert_int_equal(n, 15); /* bool is a byte */
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLInt, 8, 4}, 0, NULL, &n, NULL), TNR_OK);
    assert_int_equal(n, 4);
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLInt, 8, 1}, 3, empty, &n, NULL), TNR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLInt, 8, 1}, 2, huge, &n, &err), TNR_E_SHAPE);
    assert_string_equal(err.message, "tensor is too large for this machine");
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLInt, 8, 1}, 2, minus, &n, &err), TNR_E_SHAPE);
    assert_string_equal(err.message, "dimension 1 is -1");
    assert_int_equal(tnr_tensor_bytes((DLDataType){kDLInt, 0, 1}, 2, shape, &n, &err), TNR_E_DTYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_tensors_are_used_in_place),
        cmocka_unit_test(misaligned_tensors_are_copied),
        cmocka_unit_test(fillers_and_names_like_them),
        cmocka_unit_test(many_names_are_found),
        cmocka_unit_test(every_prefix_is_an_error),
        cmocka_unit_test(every_flipped_bit_is_survived),
        cmocka_unit_test(damage_has_words),
        cmocka_unit_test(messages_hold_whole_characters_only),
        cmocka_unit_test(dtypes_print),
        cmocka_unit_test(tensor_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
