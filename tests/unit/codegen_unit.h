#ifndef TN_TESTS_CODEGEN_UNIT_H
#define TN_TESTS_CODEGEN_UNIT_H
/* What the tests of code generators share: functions to agree on (equal/<name>.tir), scheduled, as one unit;
 * running a compiler.
 *
 * A file begins with comments: the first says what it is about, others are directives:
 *
 *   // types: i8 u8                 $T in the function stands for each of them
 *   // symbols: 1 5 | 7 2           values of the symbols, in order; a bar separates rows
 *   // below: 50                    integer inputs are in [0, 50)
 *   // tolerance: 1e-6              relative, against the unscheduled function; otherwise equal
 *   // special: yes                 float inputs contain NaN, infinities, zeros of both signs, denormals
 *   // fails: yes                   a check fails; its text is compared
 *   // lanes: 16                    each block's loop is cut into vectors, masked
 *   // schedule:                    a trace, in the comments that follow
 */
#include "base/file.h"
#include "codegen/codegen.h"
#include "schedule/schedule.h"
#include "target/target.h"
#include "tir_fixture.h"

#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;
enum { MAX_CASES = 200, MAX_ROWS = 4, MAX_SYMBOLS = 4 };

typedef struct equal_case {
    const char *name, *text, *trace; /* trace: "" none */
    int64_t sym[MAX_ROWS][MAX_SYMBOLS], below;
    int n_row, lanes;
    double tol;
    bool special, fails;
} equal_case;

typedef struct case_list {
    tn_arena arena;
    int n;
    equal_case at[MAX_CASES];
} case_list;

/* ---- reading the files ---- */

static inline void read_symbols(equal_case *c, const char *at)
{
    int k = 0;
    c->n_row = 1;
    while (*at && *at != '\n') {
        char *end;
        if (*at == '|') {
            c->n_row++;
            k = 0;
            at++;
            continue;
        }
        int64_t v = strtoll(at, &end, 10);
        if (end == at) {
            at++;
            continue;
        }
        assert_true(k < MAX_SYMBOLS && c->n_row <= MAX_ROWS);
        c->sym[c->n_row - 1][k++] = v;
        at = end;
    }
}

/* A directive's value if the line is one, else NULL. */
static inline const char *directive(const char *line, const char *key)
{
    size_t n = strlen(key);
    return strncmp(line, key, n) == 0 && line[n] == ':' ? line + n + 1 + strspn(line + n + 1, " ") : NULL;
}

static inline void read_header(equal_case *c, const char *text, tn_buf *trace, const char **types)
{
    bool steps = false;
    for (; strncmp(text, "//", 2) == 0; text += strcspn(text, "\n") + 1) {
        const char *line = text + 2 + strspn(text + 2, " "), *v;
        if (steps) {
            tn_buf_add(trace, line, strcspn(line, "\n") + 1);
            continue;
        }
        steps = directive(line, "schedule") != NULL;
        if ((v = directive(line, "symbols")) != NULL)
            read_symbols(c, v);
        if ((v = directive(line, "below")) != NULL)
            c->below = strtoll(v, NULL, 10);
        if ((v = directive(line, "tolerance")) != NULL)
            c->tol = strtod(v, NULL);
        if ((v = directive(line, "lanes")) != NULL)
            c->lanes = atoi(v);
        if ((v = directive(line, "types")) != NULL)
            *types = v;
        c->special |= directive(line, "special") != NULL;
        c->fails |= directive(line, "fails") != NULL;
    }
}

static inline const char *with_type(tn_arena *a, const char *text, const char *type, size_t n)
{
    tn_buf b = {0};
    for (; *text; text++) {
        if (strncmp(text, "$T", 2) == 0) {
            tn_buf_add(&b, type, n);
            text++;
        } else {
            tn_buf_char(&b, *text);
        }
    }
    const char *s = tn_arena_strdup(a, tn_buf_cstr(&b));
    tn_buf_deinit(&b);
    return s;
}

static inline void add_case(case_list *l, equal_case c, const char *type, size_t n)
{
    c.text = with_type(&l->arena, c.text, type, n);
    const char *name = strchr(c.text, '@') + 1;
    c.name = tn_arena_strndup(&l->arena, name, strcspn(name, "("));
    assert_true(l->n < MAX_CASES);
    l->at[l->n++] = c;
}

static inline void read_file(case_list *l, tn_ctx *ctx, const char *path)
{
    tn_file file;
    tn_buf trace = {0};
    equal_case c = {.n_row = 1};
    const char *types = NULL;
    assert_int_equal(tn_file_map(ctx, path, &file), TN_OK);
    c.text = tn_arena_strndup(&l->arena, (const char *)file.at, file.n);
    tn_file_unmap(&file);
    read_header(&c, c.text, &trace, &types);
    c.trace = tn_arena_strdup(&l->arena, tn_buf_cstr(&trace));
    tn_buf_deinit(&trace);
    if (!types)
        add_case(l, c, "", 0);
    for (; types && *types != '\n'; types += strspn(types, " ")) {
        size_t n = strcspn(types, " \n");
        add_case(l, c, types, n);
        types += n;
    }
}

static inline int only_tir(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return dot && strcmp(dot, ".tir") == 0;
}

/* All files of tests/unit/equal, by name. */
static inline void cases_init(case_list *l)
{
    const char *root = getenv("TENON_SOURCE_DIR");
    char path[4096];
    struct dirent **e;
    tn_ctx ctx;
    memset(l, 0, sizeof *l);
    tn_ctx_init(&ctx);
    tn_arena_init(&l->arena);
    snprintf(path, sizeof path, "%s/tests/unit/equal", root ? root : "../..");
    int n = scandir(path, &e, only_tir, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/tests/unit/equal/%s", root ? root : "../..", e[i]->d_name);
        read_file(l, &ctx, path);
        free(e[i]);
    }
    free(e);
    tn_ctx_deinit(&ctx);
}

static inline void cases_deinit(case_list *l) { tn_arena_deinit(&l->arena); }

/* ---- one unit of them ---- */

typedef struct block_names {
    tn_buf *out;
    int lanes, n;
} block_names;

static inline bool cut_block(tn_stmt *s, void *user)
{
    block_names *b = user;
    if (s->kind == TN_S_BLOCK) {
        int k = b->n++;
        tn_buf_printf(b->out,
                      "i%d = loops \"%s\"\no%d v%d = split i%d %d tail=mask\nvectorize v%d\nparallel o%d\n",
                      k, s->u.block.name, k, k, k, b->lanes, k, k);
    }
    return true;
}

/* Print, parse, print gives the same text; the verifier agrees. */
static inline void check_form(fixture *x, const equal_case *c, const char *who, const tn_func *f)
{
    tn_buf first = {0}, second = {0};
    tn_func *again = NULL;
    size_t n;
    if (tn_func_verify(f) != TN_OK)
        fail_msg("%s after %s: %s\n%s", c->name, who, diags(x), printed(x, f));
    tn_func_print(f, &first);
    if (tn_func_parse(&x->ctx, &x->arena, &x->pool, "printed", first.at, first.n, &again, 1, &n) != TN_OK)
        fail_msg("%s after %s does not read back: %s\n%s", c->name, who, diags(x), first.at);
    tn_func_print(again, &second);
    if (strcmp(first.at, second.at) != 0)
        fail_msg("%s after %s prints differently once read back:\n%s\n%s", c->name, who, first.at, second.at);
    tn_buf_deinit(&first);
    tn_buf_deinit(&second);
}

static inline tn_func *scheduled(fixture *x, const equal_case *c, const tn_func *f)
{
    tn_sched *s = TN_NEW(&x->arena, tn_sched);
    uint32_t line = 0;
    tn_buf trace = {0};
    tn_buf_str(&trace, c->trace);
    tn_sched_init(s, f, &x->arena, &x->pool);
    if (c->lanes)
        tn_stmt_walk(&s->func->body, cut_block, NULL, &(block_names){&trace, c->lanes, 0});
    tn_verdict v = tn_trace_replay(s, tn_buf_cstr(&trace), trace.n, &line);
    tn_buf_deinit(&trace);
    if (v != TN_DONE)
        fail_msg("%s: step %u of the schedule is refused: %s\n%s", c->name, line, tn_verdict_texts[v],
                 printed(x, s->func));
    check_form(x, c, "its schedule", s->func);
    return s->func;
}

/* One kernel a case, in order. */
static inline tn_unit unit_of(fixture *x, const case_list *l, const tn_machine *m, const tn_flat flat[],
                              tn_kernel_ir kernel[])
{
    for (int i = 0; i < l->n; i++) {
        const tn_func *f = flat[i].func;
        uint32_t n_out = 0;
        for (uint32_t p = 0; p < f->n_param; p++)
            n_out += f->buffer[f->param[p]].written;
        kernel[i] = (tn_kernel_ir){.name = l->at[i].name,
                                   .source = "",
                                   .n_in = f->n_param - n_out,
                                   .n_out = n_out,
                                   .n_variant = 1,
                                   .variant = &flat[i]};
    }
    const char **feature = TN_NEW_N(&x->arena, const char *, m->n_feature + 1);
    return (tn_unit){.ctx = &x->ctx,
                     .name = "default",
                     .producer = "tenon test",
                     .target = m->triple,
                     .feature = feature,
                     .n_feature = (uint32_t)tn_machine_code_features(m, feature),
                     .n_kernel = (uint32_t)l->n,
                     .kernel = kernel};
}

/* Exit status; -1: it did not start or was killed. */
static inline int run_command(const char *const argv[])
{
    pid_t pid;
    int status = -1;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
        return -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
