/* HDF5: any bytes. All that can be reached is read, within limits of depth; texts and data lie inside the file. */
#include "base/wire/hdf5.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { DEEPEST = 6, LARGEST = 1 << 20, MOST = 2000 };

static int budget;

static bool unpack(tn_bytes from, void *to, size_t n)
{
    uLongf got = n;
    return uncompress(to, &got, from.at, from.n) == Z_OK && got == n;
}

static void require(int holds)
{
    if (!holds)
        abort();
}

static void look(tn_hdf5 *h, const tn_hdf5_array *a)
{
    const uint8_t *end = h->at + h->n;
    require(!a->data.at || (a->data.at >= h->at && a->data.n <= (size_t)(end - a->data.at)));
    for (size_t i = 0; i < a->count && i < 4 && a->data.at && a->type.kind >= TN_HDF5_TEXT; i++) {
        tn_bytes t = tn_hdf5_text(h, a, i);
        require(!t.at || (t.at >= h->at && t.n <= (size_t)(end - t.at)));
    }
}

static void visit(tn_hdf5 *h, uint64_t object, int depth)
{
    tn_hdf5_array a;
    if (depth > DEEPEST || h->error || budget-- <= 0)
        return;
    bool found = tn_hdf5_dataset(h, object, &a);
    if (found)
        look(h, &a);
    if (found && a.count <= LARGEST / 8 && a.count * a.type.bytes <= LARGEST) {
        void *to = malloc(a.count * a.type.bytes + 1);
        (void)tn_hdf5_read(h, object, &a, to);
        free(to);
    }
    if (tn_hdf5_attribute(h, object, "names", &a) || tn_hdf5_attribute(h, object, "k9", &a))
        look(h, &a);
    const tn_strmap *links = found ? NULL : tn_hdf5_links(h, object);
    for (size_t i = 0; links && i < links->n; i++)
        visit(h, links->entry[i].value, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_arena arena;
    tn_hdf5 h;
    tn_arena_init(&arena);
    budget = MOST;
    if (tn_hdf5_open(&h, &arena, data, n)) {
        h.inflate = unpack;
        visit(&h, h.root, 0);
    }
    tn_hdf5_close(&h);
    tn_arena_deinit(&arena);
    return 0;
}
