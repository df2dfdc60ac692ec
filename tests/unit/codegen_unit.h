#ifndef TN_TESTS_CODEGEN_UNIT_H
#define TN_TESTS_CODEGEN_UNIT_H
/* What the tests of code generators share: the cases scheduled, as one unit; running a compiler. */
#include "codegen/codegen.h"
#include "codegen_cases.h"
#include "schedule/schedule.h"
#include "tir_fixture.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

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
    tn_sched_init(s, f, &x->arena, &x->pool);
    tn_verdict v = c->trace ? tn_trace_replay(s, c->trace, strlen(c->trace), &line) : TN_DONE;
    if (v != TN_DONE)
        fail_msg("%s: step %u of the schedule is refused: %s\n%s", c->name, line, tn_verdict_texts[v], printed(x, s->func));
    check_form(x, c, "its schedule", s->func);
    return s->func;
}

/* One kernel a case, in order. */
static inline tn_unit unit_of(fixture *x, const tn_machine *m, const tn_flat flat[], tn_kernel_ir kernel[])
{
    for (int i = 0; i < N_CASES; i++) {
        const tn_func *f = flat[i].func;
        uint32_t n_out = 0;
        for (uint32_t p = 0; p < f->n_param; p++)
            n_out += f->buffer[f->param[p]].written;
        kernel[i] = (tn_kernel_ir){.name = cases[i].name, .source = "", .n_in = f->n_param - n_out, .n_out = n_out, .n_variant = 1, .variant = &flat[i]};
    }
    return (tn_unit){.ctx = &x->ctx, .name = "default", .producer = "tenon test", .target = m->triple, .feature = m->feature,
                     .n_feature = (uint32_t)m->n_feature, .n_kernel = N_CASES, .kernel = kernel};
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
