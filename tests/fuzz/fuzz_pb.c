/* Protocol Buffers: any bytes, read by the cursor and by a table that names every type and itself. What is accepted
 * stays within its memory limit, every slice can be read, and the singular scalar is what the cursor saw last. */
#include "base/arena.h"
#include "base/wire/pb.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

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
enum { DEPTH = 40, MEMORY = 1 << 20 };

static void require(int holds)
{
    if (!holds)
        abort();
}

static uint64_t touched;

static void touch(tn_bytes b)
{
    for (size_t i = 0; i < b.n; i++)
        touched += b.at[i];
}

static void walk(const tree *t, unsigned depth)
{
    require(depth < DEPTH);
    touch(t->s);
    const tn_bytes *text = t->texts.at;
    for (size_t i = 0; i < t->texts.n; i++)
        touch(text[i]);
    touch((tn_bytes){t->ints.at, t->ints.n * sizeof(int64_t)});
    touch((tn_bytes){t->floats.at, t->floats.n * sizeof(float)});
    touch((tn_bytes){t->doubles.at, t->doubles.n * sizeof(double)});
    const tree *kid = t->kids.at;
    for (size_t i = 0; i < t->kids.n; i++)
        walk(&kid[i], depth + 1);
    if (t->one)
        walk(t->one, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int64_t last = 0;
    size_t ints = 0;
    tn_pb c = tn_pb_open(data, n);
    while (tn_pb_next(&c)) {
        require(c.at >= data && c.at <= data + n);
        if (c.wire == TN_PB_LEN)
            require(c.bytes.at >= data && c.bytes.n <= n && c.bytes.at + c.bytes.n == c.at);
        last = c.field == 1 ? (c.wire == TN_PB_I32 ? (int32_t)(uint32_t)c.value : tn_pb_int(&c)) : last;
        ints += c.field == 6 && c.wire != TN_PB_LEN;
    }
    tn_arena a;
    tn_arena_init(&a);
    tree t = {0};
    const char *path;
    tn_pb_limits limits = {DEPTH, MEMORY};
    const char *error = tn_pb_read(&a, &tree_msg, data, n, &limits, &t, &path);
    if (error) {
        require(path && path[0] == 'T');
    } else {
        require(!c.error);
        require(a.used_bytes <= MEMORY + 64 * n + 64); /* empty requests take a byte each */
        require(t.i == last && t.ints.n >= ints);
        walk(&t, 0);
    }
    tn_arena_deinit(&a);
    return 0;
}
