#ifndef TENON_TESTS_ONNX_CASES_H
#define TENON_TESTS_ONNX_CASES_H
/* Files of small models and the texts that they give. A case is a line `# what`, a model as the format's write.h has
 * it, `=>`, and the expected text; `---` ends it. With TENON_GOLDEN=1 the files are rewritten: review the diff.
 * Include cmocka.h first. */
#include "onnx/model.h"

typedef struct case_shapes { /* import options */
    tn_input_shape shape[4];
    int64_t dim[4][8];
    char name[4][32];
    size_t n;
} case_shapes;

/* Takes the lines `shape NAME DIM...` out of a model. */
static inline void case_take_shapes(char *text, case_shapes *o)
{
    for (char *at; (at = strstr(text, "\nshape ")) != NULL;) {
        char *end = strchr(at + 1, '\n'), *word = at + 7;
        size_t n = strcspn(word, " \n");
        tn_input_shape *s = &o->shape[o->n];
        memcpy(o->name[o->n], word, n);
        *s = (tn_input_shape){.name = o->name[o->n], .dim = o->dim[o->n]};
        for (word += n; *word == ' ';)
            o->dim[o->n][s->ndim++] = strtoll(word, &word, 10);
        o->n++;
        if (end)
            memmove(at, end, strlen(end) + 1);
        else
            *at = 0;
    }
}

/* The text that a model gives, in the arena of m, which is open. */
typedef const char *case_fn(model *m, char *text);

static inline int case_run_all(const char *file, case_fn *run, tn_buf *rewritten)
{
    model home;
    model_init(&home);
    int wrong = 0, n = 0;
    tn_file f = model_map(&home, source_path(&home, file));
    for (char *at = tn_arena_strndup(&home.arena, (const char *)f.at, f.n), *next; at && *at;
         at = next, n++) {
        char *end = strstr(at, "\n---\n"), *arrow = strstr(at, "\n=>\n");
        assert_non_null(end);
        assert_true(arrow && arrow < end);
        *arrow = end[1] = 0;
        next = end + 5;
        char *body = strchr(at, '\n');
        const char *want = arrow + 4 < end ? arrow + 4 : "";
        tn_buf_printf(rewritten, "%s\n=>\n", at);
        model m;
        model_init(&m);
        const char *have = run(&m, tn_arena_strdup(&m.arena, body));
        tn_buf_printf(rewritten, "%s---\n", have);
        if (strcmp(have, want) != 0) {
            print_error("%s: %.*s\n--- expected\n%s--- is\n%s", file, (int)(body - at), at, want, have);
            wrong++;
        }
        model_deinit(&m);
    }
    assert_true(n > 10);
    model_deinit(&home);
    return wrong;
}

static inline void case_check_file(const char *file, case_fn *run)
{
    tn_buf rewritten = {0};
    int wrong = case_run_all(file, run, &rewritten);
    const char *root = getenv("TENON_SOURCE_DIR"), *golden = getenv("TENON_GOLDEN");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", file);
    FILE *f = golden && wrong ? fopen(path, "wb") : NULL;
    if (f) {
        fwrite(rewritten.at, 1, rewritten.n, f);
        fclose(f);
    }
    tn_buf_deinit(&rewritten);
    assert_int_equal(wrong, 0);
}

#endif
