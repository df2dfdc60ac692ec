/* base/wire/hdf5: files of both generations, which h5py wrote (the seeds of fuzz_hdf5), and damage. In each
 * file a/b has f4 = 0 1 .. 5 as [2, 3], big = 0 1 2 3 (big-endian float64), half = 0 1 2 (float16), i8 = -2
 * .. 2, text = "x" "yz"; old.h5 and new.h5 have twelve scalars d0 .. d11 = 0 .. 11 and attributes k0 .. k9,
 * the others three datasets of 0 1 .. 34 as [7, 5] in chunks. */
#include "base/file.h"
#include "base/wire/hdf5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

typedef struct opened {
    tn_ctx ctx;
    tn_arena arena;
    tn_file file;
    tn_hdf5 h;
} opened;

static bool unpack(tn_bytes from, void *to, size_t n)
{
    uLongf got = n;
    return uncompress(to, &got, from.at, from.n) == Z_OK && got == n;
}

static void open_seed(opened *o, const char *name)
{
    char path[512];
    const char *root = getenv("TENON_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/fuzz_hdf5/%s", root ? root : ".", name);
    tn_ctx_init(&o->ctx);
    tn_arena_init(&o->arena);
    assert_int_equal(tn_file_map(&o->ctx, path, &o->file), TN_OK);
    assert_true(tn_hdf5_open(&o->h, &o->arena, o->file.at, o->file.n));
    o->h.inflate = unpack;
}

static void close_seed(opened *o)
{
    tn_hdf5_close(&o->h);
    tn_file_unmap(&o->file);
    tn_arena_deinit(&o->arena);
    tn_ctx_deinit(&o->ctx);
}

static tn_bytes bytes(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

static uint64_t at(opened *o, const char *path) { return tn_hdf5_find(&o->h, o->h.root, bytes(path)); }

static void *read_all(opened *o, const char *path, tn_hdf5_array *a)
{
    assert_true(tn_hdf5_dataset(&o->h, at(o, path), a));
    void *to = tn_arena_alloc(&o->arena, a->count * a->type.bytes, 16);
    assert_true(tn_hdf5_read(&o->h, at(o, path), a, to));
    return to;
}

static const char *const seeds[] = {"old.h5", "new.h5", "old_chunks.h5", "new_chunks.h5"};

static void numbers_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        opened o;
        tn_hdf5_array a;
        open_seed(&o, seeds[i]);
        const float *f = read_all(&o, "a/b/f4", &a);
        assert_int_equal(a.type.kind, TN_HDF5_FLOAT);
        assert_int_equal(a.ndim, 2);
        assert_int_equal(a.dim[1], 3);
        assert_non_null(a.data.at); /* where it lies, not copied */
        assert_memory_equal(a.data.at, f, 24);
        for (int k = 0; k < 6; k++)
            assert_true(f[k] == (float)k);
        const double *big = read_all(&o, "/a/b//big", &a);
        assert_null(a.data.at);
        for (int k = 0; k < 4; k++)
            assert_true(big[k] == k);
        const uint16_t *half = read_all(&o, "a/b/half", &a);
        assert_int_equal(half[1], 0x3c00);
        const int64_t *i8 = read_all(&o, "a/b/i8", &a);
        assert_int_equal(i8[0], -2);
        assert_int_equal(a.type.kind, TN_HDF5_INT);
        assert_int_equal(at(&o, "a/b/none"), 0);
        assert_int_equal(at(&o, "a/f4"), 0);
        assert_false(tn_hdf5_dataset(&o.h, at(&o, "a"), &a)); /* a group */
        assert_null(o.h.error);
        close_seed(&o);
    }
}

static void check_text(opened *o, const tn_hdf5_array *a, size_t i, const char *want)
{
    tn_bytes text = tn_hdf5_text(&o->h, a, i);
    assert_int_equal(text.n, strlen(want));
    assert_memory_equal(text.at, want, text.n);
}

static void texts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        opened o;
        tn_hdf5_array a;
        open_seed(&o, seeds[i]);
        assert_true(tn_hdf5_attribute(&o.h, o.h.root, "title", &a));
        assert_int_equal(a.type.kind, TN_HDF5_LONG_TEXT);
        check_text(&o, &a, 0, "two words");
        assert_true(tn_hdf5_attribute(&o.h, o.h.root, "names", &a));
        assert_int_equal(a.count, 2);
        check_text(&o, &a, 0, "conv");
        check_text(&o, &a, 1, "dense_1");
        assert_false(tn_hdf5_attribute(&o.h, o.h.root, "nam", &a));
        assert_true(tn_hdf5_dataset(&o.h, at(&o, "a/b/text"), &a));
        check_text(&o, &a, 1, "yz");
        assert_null(o.h.error);
        (void)tn_hdf5_text(&o.h, &a, 2);
        assert_non_null(o.h.error);
        close_seed(&o);
    }
}

static void large_groups_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        opened o;
        tn_hdf5_array a;
        char path[32];
        open_seed(&o, seeds[i]);
        assert_int_equal(tn_hdf5_links(&o.h, at(&o, "a/b"))->n, 17);
        for (int k = 0; k < 12; k++) {
            snprintf(path, sizeof path, "a/b/d%d", k);
            const float *f = read_all(&o, path, &a);
            assert_int_equal(a.ndim, 0);
            assert_true(*f == (float)k);
            snprintf(path, sizeof path, "k%d", k);
            assert_int_equal(tn_hdf5_attribute(&o.h, o.h.root, path, &a), k < 10);
            if (k < 10)
                assert_int_equal(a.data.at[0], k);
        }
        assert_null(o.h.error);
        close_seed(&o);
    }
}

static void chunks_are_read(void **state)
{
    static const char *const names[] = {"a/b/chunks", "a/b/packed", "a/b/one"};
    (void)state;
    for (size_t i = 2; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            opened o;
            tn_hdf5_array a;
            open_seed(&o, seeds[i]);
            const float *f = read_all(&o, names[k], &a);
            assert_int_equal(a.count, 35);
            for (int j = 0; j < 35; j++)
                assert_true(f[j] == (float)j);
            close_seed(&o);
        }
}

static void unpacking_may_be_left_out(void **state)
{
    (void)state;
    opened o;
    tn_hdf5_array a;
    open_seed(&o, "new_chunks.h5");
    o.h.inflate = NULL;
    assert_true(tn_hdf5_dataset(&o.h, at(&o, "a/b/packed"), &a));
    float to[35];
    assert_false(tn_hdf5_read(&o.h, at(&o, "a/b/packed"), &a, to));
    assert_string_equal(o.h.error, "a chunk of a dataset cannot be unpacked");
    close_seed(&o);
}

/* Everything there is, as far as it can be read. */
static void visit(tn_hdf5 *h, tn_arena *scratch, uint64_t object, int depth)
{
    tn_hdf5_array a;
    bool found = tn_hdf5_dataset(h, object, &a);
    if (found && a.count * a.type.bytes < 100000)
        (void)tn_hdf5_read(h, object, &a, tn_arena_alloc(scratch, a.count * a.type.bytes, 16));
    const tn_strmap *links = found || depth > 4 ? NULL : tn_hdf5_links(h, object);
    for (size_t i = 0; links && i < links->n && !h->error; i++)
        visit(h, scratch, links->entry[i].value, depth + 1);
}

static void damage_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        opened o;
        open_seed(&o, seeds[i]);
        uint8_t *copy = test_malloc(o.file.n);
        for (size_t k = 0; k < o.file.n; k += 7) {
            tn_hdf5 h;
            tn_hdf5_array a;
            tn_arena scratch;
            tn_arena_init(&scratch);
            memcpy(copy, o.file.at, o.file.n);
            copy[k] ^= (uint8_t)(k % 3 ? 0xff : 1);
            size_t n = k % 5 ? o.file.n : k; /* or cut short */
            if (tn_hdf5_open(&h, &scratch, copy, n)) {
                h.inflate = unpack;
                (void)tn_hdf5_attribute(&h, h.root, "k9", &a);
                visit(&h, &scratch, h.root, 0);
            }
            tn_hdf5_close(&h);
            tn_arena_deinit(&scratch);
        }
        test_free(copy);
        close_seed(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read),          cmocka_unit_test(texts_are_read),
        cmocka_unit_test(large_groups_are_read),     cmocka_unit_test(chunks_are_read),
        cmocka_unit_test(unpacking_may_be_left_out), cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
