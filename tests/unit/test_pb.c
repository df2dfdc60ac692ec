/* base/wire/pb: the cursor, and reading by field tables. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/wire/pb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static void cursor_walks(void **state)
{
    (void)state;
    static const uint8_t m[] = {
        0x08, 0x96, 0x01,                                     /* 1: varint 150 */
        0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',  'g',  /* 2: "testing" */
        0x1d, 0x00, 0x00, 0x80, 0x3f,                         /* 3: fixed32 1.0f */
        0x2b, 0x08, 0x01, 0x33, 0x34, 0x2c,                   /* 5: a group holding group 6: stepped over */
        0x21, 0,    0,    0,    0,    0,    0,    0xf8, 0x3f, /* 4: fixed64 1.5 */
        0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 1: -1 */
        0x1a, 0x00,                                                       /* 3: empty */
    };
    tn_pb r = tn_pb_open(m, sizeof m);
    assert_true(tn_pb_next(&r) && r.field == 1 && r.wire == TN_PB_VARINT && tn_pb_int(&r) == 150);
    assert_true(tn_pb_next(&r) && r.field == 2 && tn_pb_is(&r, "testing") && !tn_pb_is(&r, "testin"));
    assert_ptr_equal(r.bytes.at, m + 5);
    assert_true(tn_pb_next(&r) && r.field == 3 && r.wire == TN_PB_I32 && tn_pb_float(&r) == 1.0f);
    assert_true(tn_pb_next(&r) && r.field == 4 && r.wire == TN_PB_I64 && tn_pb_double(&r) == 1.5);
    assert_true(tn_pb_next(&r) && r.field == 1 && tn_pb_int(&r) == -1);
    assert_true(tn_pb_next(&r) && r.field == 3 && r.wire == TN_PB_LEN && r.bytes.n == 0);
    tn_pb sub = tn_pb_sub(&r);
    assert_false(tn_pb_next(&sub));
    assert_null(sub.error);
    assert_false(tn_pb_next(&r));
    assert_null(r.error);
    assert_false(tn_pb_next(&r));
}

static void cursor_refuses(void **state)
{
    (void)state;
    const struct {
        const uint8_t *m;
        size_t n;
        const char *error;
    } row[] = {
        {BYTES(0x08), "the message ends inside a number"},
        {BYTES(0x80), "the message ends inside a number"},
        {BYTES(0x08, 0x80), "the message ends inside a number"},
        {BYTES(0x0d, 1, 2, 3), "the message ends inside a number"},
        {BYTES(0x09, 1, 2, 3, 4, 5, 6, 7), "the message ends inside a number"},
        {BYTES(0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2), "a number has more than 64 bits"},
        {BYTES(0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0), "a number has more than 64 bits"},
        {BYTES(0x0a, 2, 'x'), "a field is longer than its message"},
        {BYTES(0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1), "a field is longer than its message"},
        {BYTES(0x00, 0x00), "a field number is out of range"},
        {BYTES(0x88, 0x80, 0x80, 0x80, 0x10, 0), "a field number is out of range"},
        {BYTES(0x0e, 0), "unknown wire type"},
        {BYTES(0x0f, 0), "unknown wire type"},
        {BYTES(0x0c), "a group ends without a beginning"},
        {BYTES(0x0b, 0x14), "a group ends without a beginning"},
        {BYTES(0x0b, 0x08, 0x01), "the message ends inside a number"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t *copy = malloc(row[i].n);
        memcpy(copy, row[i].m, row[i].n);
        tn_pb r = tn_pb_open(copy, row[i].n);
        while (tn_pb_next(&r)) {}
        assert_string_equal(r.error, row[i].error);
        assert_false(tn_pb_next(&r));
        free(copy);
    }
    uint8_t groups[33];
    memset(groups, 0x0b, sizeof groups);
    tn_pb r = tn_pb_open(groups, sizeof groups);
    assert_false(tn_pb_next(&r));
    assert_string_equal(r.error, "groups are nested too deeply");
    r = tn_pb_open(NULL, 0);
    assert_false(tn_pb_next(&r));
    assert_null(r.error);
}

typedef struct tree {
    int64_t i;
    float f;
    double d;
    tn_bytes s;
    struct tree *one;
    tn_pb_array ints, floats, doubles, texts, kids;
} tree;

static const tn_pb_msg tree_msg;
static const tn_pb_field tree_field[] = {
    {1, TN_PB_T_INT, 0, offsetof(tree, i), NULL, "i"},
    {2, TN_PB_T_FLOAT, 0, offsetof(tree, f), NULL, "f"},
    {3, TN_PB_T_DOUBLE, 0, offsetof(tree, d), NULL, "d"},
    {4, TN_PB_T_BYTES, 0, offsetof(tree, s), NULL, "s"},
    {5, TN_PB_T_MSG, 0, offsetof(tree, one), &tree_msg, "one"},
    {6, TN_PB_T_INT, 1, offsetof(tree, ints), NULL, "ints"},
    {7, TN_PB_T_FLOAT, 1, offsetof(tree, floats), NULL, "floats"},
    {8, TN_PB_T_DOUBLE, 1, offsetof(tree, doubles), NULL, NULL},
    {9, TN_PB_T_BYTES, 1, offsetof(tree, texts), NULL, "texts"},
    {10, TN_PB_T_MSG, 1, offsetof(tree, kids), &tree_msg, "kids"},
};
static const tn_pb_msg tree_msg = {"Tree", sizeof(tree), sizeof tree_field / sizeof *tree_field, tree_field};

static void put(tn_buf *b, unsigned field, unsigned wire, const char *bytes, size_t n)
{
    tn_buf_char(b, (char)(field << 3 | wire));
    if (wire == 2) {
        assert_true(n < 128);
        tn_buf_char(b, (char)n);
    }
    tn_buf_add(b, bytes, n);
}

static void table_fills(void **state)
{
    (void)state;
    tn_buf b = {0};
    put(&b, 6, 0, "\x05", 1);
    put(&b, 6, 2, "\x06\x96\x01\x07", 4); /* packed and unpacked mixed */
    put(&b, 6, 1, "\x08\0\0\0\0\0\0\0", 8);
    put(&b, 6, 5, "\xff\xff\xff\xff", 4);
    put(&b, 7, 2, "\0\0\x80\x3f\0\0\0\x40", 8);
    put(&b, 7, 5, "\0\0\x40\x40", 4);
    put(&b, 7, 2, "", 0);
    put(&b, 8, 2, "\0\0\0\0\0\0\xf8\x3f", 8);
    put(&b, 8, 1, "\0\0\0\0\0\0\x04\x40", 8);
    put(&b, 1, 0, "\x01", 1);
    put(&b, 1, 0, "\x02", 1); /* the last wins */
    put(&b, 2, 5, "\0\0\0\x3f", 4);
    put(&b, 3, 1, "\0\0\0\0\0\0\xe0\x3f", 8);
    put(&b, 4, 2, "hello", 5);
    put(&b, 9, 2, "", 0);
    put(&b, 9, 2, "xy", 2);
    put(&b, 10, 2, "\x08\x01", 2);
    put(&b, 10, 2, "\x08\x02\x52\x02\x08\x03", 6);
    put(&b, 15, 2, "unknown", 7);
    tn_arena a;
    tn_arena_init(&a);
    tree t = {0};
    const char *path;
    assert_null(tn_pb_read(&a, &tree_msg, b.at, b.n, NULL, &t, &path));
    assert_int_equal(t.i, 2);
    assert_true(t.f == 0.5f && t.d == 0.5);
    assert_memory_equal(t.s.at, "hello", 5);
    assert_true((const char *)t.s.at > b.at && (const char *)t.s.at < b.at + b.n);
    static const int64_t ints[] = {5, 6, 150, 7, 8, -1};
    assert_int_equal(t.ints.n, 6);
    assert_memory_equal(t.ints.at, ints, sizeof ints);
    static const float floats[] = {1, 2, 3};
    assert_int_equal(t.floats.n, 3);
    assert_memory_equal(t.floats.at, floats, sizeof floats);
    static const double doubles[] = {1.5, 2.5};
    assert_int_equal(t.doubles.n, 2);
    assert_memory_equal(t.doubles.at, doubles, sizeof doubles);
    assert_int_equal(t.texts.n, 2);
    assert_int_equal(((tn_bytes *)t.texts.at)[1].n, 2);
    const tree *kid = t.kids.at;
    assert_int_equal(t.kids.n, 2);
    assert_true(kid[0].i == 1 && kid[1].i == 2 && kid[1].kids.n == 1 && ((tree *)kid[1].kids.at)->i == 3);
    assert_null(t.one);
    tn_arena_deinit(&a);
    tn_buf_deinit(&b);
}

/* A singular message in three pieces is one message: scalars of the last, repeated fields of all, inner ones merged. */
static void singular_messages_merge(void **state)
{
    (void)state;
    tn_buf b = {0};
    put(&b, 5, 2, "\x08\x01\x30\x0a\x2a\x02\x30\x01", 8);
    put(&b, 5, 2, "", 0);
    put(&b, 5, 2, "\x08\x02\x30\x0b\x2a\x02\x30\x02", 8);
    tn_arena a;
    tn_arena_init(&a);
    tree t = {0};
    const char *path;
    assert_null(tn_pb_read(&a, &tree_msg, b.at, b.n, NULL, &t, &path));
    assert_non_null(t.one);
    assert_int_equal(t.one->i, 2);
    assert_int_equal(t.one->ints.n, 2);
    assert_int_equal(((int64_t *)t.one->ints.at)[0], 10);
    assert_int_equal(((int64_t *)t.one->ints.at)[1], 11);
    assert_non_null(t.one->one);
    assert_int_equal(t.one->one->ints.n, 2);
    tn_arena_deinit(&a);
    tn_buf_deinit(&b);
}

static void table_refuses(void **state)
{
    (void)state;
    const struct {
        const uint8_t *m;
        size_t n;
        const char *error, *path;
    } row[] = {
        {BYTES(0x0a, 0), "a field has the wrong wire type", "Tree.i"},
        {BYTES(0x22, 0, 0x20, 0), "a field has the wrong wire type", "Tree.s"},
        {BYTES(0x15, 0, 0), "the message ends inside a number", "Tree"},
        {BYTES(0x3a, 3, 0, 0, 0), "a packed field ends inside an element", "Tree.floats"},
        {BYTES(0x42, 4, 0, 0, 0, 0), "a packed field ends inside an element", "Tree.8"},
        {BYTES(0x32, 2, 1, 0x80), "a packed field ends inside an element", "Tree.ints"},
        {BYTES(0x32, 11, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1),
         "a number has more than 64 bits", "Tree.ints"},
        {BYTES(0x52, 4, 0x2a, 2, 0x10, 1), "a field has the wrong wire type", "Tree.kids[0].one.f"},
        {BYTES(0x52, 0, 0x52, 1, 0x08), "the message ends inside a number", "Tree.kids[1]"},
        /* neither of the pieces of a message is a part of the other's field */
        {BYTES(0x2a, 1, 0x08, 0x2a, 1, 0x05), "the message ends inside a number", "Tree.one"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_arena a;
        tn_arena_init(&a);
        tree t = {0};
        const char *path;
        assert_string_equal(tn_pb_read(&a, &tree_msg, row[i].m, row[i].n, NULL, &t, &path), row[i].error);
        assert_string_equal(path, row[i].path);
        tn_arena_deinit(&a);
    }
}

static void empty_packed_field(void **state)
{
    (void)state;
    tn_arena a;
    tn_arena_init(&a);
    tree t = {0};
    const char *path;
    assert_null(tn_pb_read(&a, &tree_msg, "\x3a\0\x32\0", 4, NULL, &t, &path));
    assert_int_equal(t.floats.n + t.ints.n, 0);
    tn_arena_deinit(&a);
}

static void depth_and_memory_are_bounded(void **state)
{
    (void)state;
    tn_buf b = {0}, outer = {0};
    for (int i = 0; i < 20; i++) { /* 20 messages inside the first */
        tn_buf_clear(&outer);
        put(&outer, 5, 2, tn_buf_cstr(&b), b.n);
        tn_buf_clear(&b);
        tn_buf_add(&b, outer.at, outer.n);
    }
    static const struct {
        tn_pb_limits l;
        const char *error;
    } row[] = {
        {{21, 1 << 20}, NULL},
        {{20, 1 << 20}, "messages are nested too deeply"},
        {{0, 1 << 20}, "messages are nested too deeply"},
        {{1000, 20 * sizeof(tree)}, NULL},
        {{1000, 20 * sizeof(tree) - 1}, "the message needs more memory than it may take"},
        {{1000, 0}, "the message needs more memory than it may take"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_arena a;
        tn_arena_init(&a);
        tree t = {0};
        const char *path;
        const char *error = tn_pb_read(&a, &tree_msg, b.at, b.n, &row[i].l, &t, &path);
        assert_int_equal(error != NULL, row[i].error != NULL);
        if (error) {
            assert_string_equal(error, row[i].error);
            assert_int_equal(strncmp(path, "Tree", 4), 0);
        } else {
            assert_int_equal(a.used_bytes, 20 * sizeof(tree));
        }
        tn_arena_deinit(&a);
    }
    tn_buf_deinit(&b);
    tn_buf_deinit(&outer);
}

/* A small file must not make a large tree: a million empty messages of 120 bytes each. */
static void amplification_is_bounded(void **state)
{
    (void)state;
    tn_buf b = {0};
    for (int i = 0; i < 1000000; i++)
        tn_buf_add(&b, "\x52\0", 2);
    tn_arena a;
    tn_arena_init(&a);
    tree t = {0};
    const char *path;
    const char *error = tn_pb_read(&a, &tree_msg, b.at, b.n, NULL, &t, &path);
    assert_string_equal(error, "the message needs more memory than it may take");
    assert_string_equal(path, "Tree.kids");
    assert_true(a.used_bytes < 1000);
    tn_arena_deinit(&a);
    tn_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_walks),
        cmocka_unit_test(cursor_refuses),
        cmocka_unit_test(table_fills),
        cmocka_unit_test(singular_messages_merge),
        cmocka_unit_test(table_refuses),
        cmocka_unit_test(empty_packed_field),
        cmocka_unit_test(depth_and_memory_are_bounded),
        cmocka_unit_test(amplification_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
