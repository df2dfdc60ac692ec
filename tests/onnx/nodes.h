#ifndef TENON_TESTS_ONNX_NODES_H
#define TENON_TESTS_ONNX_NODES_H
/* The ONNX project's node tests (tests/onnx/node), and ours (flow_*, edge_*): their names, the lists of those
 * refused, how near is near enough.
 * TENON_NODES=<text> in the environment takes only the tests whose names hold the text and says how each ended.
 * Include cmocka.h and onnx/model.h first. */
#include <dirent.h>

enum { NODES_MAX = 4000, NODES_VALUES = 16 };

typedef struct nodes {
    char *name[NODES_MAX]; /* in order */
    int n;
    const char *unsupported; /* the texts of unsupported.txt and late.txt */
    const char *late;
    bool all; /* no TENON_NODES */
} nodes;

static inline int nodes_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline const char *nodes_text(model *home, const char *path)
{
    tn_file f = model_map(home, source_path(home, path));
    return tn_arena_strndup(&home->arena, (const char *)f.at, f.n);
}

/* Memory is home's; it lives as long. */
static inline nodes *nodes_read(model *home)
{
    nodes *l = tn_arena_alloc(&home->arena, sizeof *l, _Alignof(nodes));
    const char *pick = getenv("TENON_NODES");
    DIR *d = opendir(source_path(home, "tests/onnx/node"));
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || (pick && !strstr(e->d_name, pick)))
            continue;
        assert_true(l->n < NODES_MAX);
        l->name[l->n++] = (char *)(uintptr_t)tn_arena_strdup(&home->arena, e->d_name);
    }
    closedir(d);
    qsort(l->name, (size_t)l->n, sizeof *l->name, nodes_by_name);
    l->unsupported = nodes_text(home, "tests/onnx/unsupported.txt");
    l->late = nodes_text(home, "tests/onnx/late.txt");
    l->all = !pick;
    return l;
}

/* What stands behind the name in a list up to the line's end; "" is not listed. */
static inline const char *nodes_listed(model *m, const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n)
        if ((at == list || at[-1] == '\n') && at[n] == ' ') {
            at += n + strspn(at + n, " ");
            return tn_arena_strndup(&m->arena, at, strcspn(at, "\n"));
        }
    return "";
}

static inline int nodes_count(const char *list)
{
    int n = 0;
    for (const char *at = list; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        n += strncmp(at, "test_", 5) == 0;
    return n;
}

/* input_0.pb, input_1.pb, ... ; their number. */
static inline int nodes_values(model *m, const char *folder, const char *what, tn_tensor_value v[])
{
    int n = 0;
    for (; n < NODES_VALUES; n++) {
        const char *path = tn_arena_printf(&m->arena, "%s/%s_%d.pb", folder, what, n);
        FILE *f = fopen(path, "rb");
        if (!f)
            break;
        fclose(f);
        v[n] = read_pb(m, path);
    }
    return n;
}

/* The node tests' own tolerance is 1e-3, 1e-7; half floats are given a unit in their last place or two,
 * integers none. */
static inline const char *nodes_differ(model *m, const tn_tensor_value *have, const tn_tensor_value *want)
{
    if (!tn_dtype_is_float(want->dtype))
        return differs(m, have, want, 0, 0);
    if (want->dtype.code == TN_BFLOAT)
        return differs(m, have, want, 1.6e-2, 1e-2);
    return want->dtype.bits == 16 ? differs(m, have, want, 2e-3, 1e-3) : differs(m, have, want, 1e-3, 1e-6);
}

#endif
