#ifndef TN_BASE_CTX_H
#define TN_BASE_CTX_H
/* Context, status and diagnostics.
 *
 * A tn_ctx outlives everything made with it and is the only home of shared state: string interner,
 * diagnostics. Two contexts may be used in two threads; one context belongs to one thread at a time, but for
 * children (below). tn_status says *that* something failed, the diagnostic in the ctx says what, where, why. Three
 * families of failure, never mixed: user errors (diagnostic + status), refused schedule steps (tn_verdict, schedule/),
 * broken invariants (TN_ASSERT: raises, base/guard.h).
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/guard.h"
#include "base/map.h"

#include <stdbool.h>

typedef int tn_status; /* TN_OK or TN_FAIL; the reason is in ctx->diag */
#define TN_OK 0
#define TN_FAIL 1
#define TN_WARN_UNUSED __attribute__((warn_unused_result))
#define TN_TRY(call) \
    do { \
        tn_status tn_s_ = (call); \
        if (tn_s_ != TN_OK) \
            return tn_s_; \
    } while (0)

enum tn_severity { TN_NOTE, TN_WARNING, TN_ERROR };

/* Where a thing came from. Any field may be NULL or 0. Interned per ctx: pointers live as long as it. */
typedef struct tn_loc {
    const char *file;   /* model or text file */
    const char *node;   /* model node, e.g. "Gemm_0"; text files: NULL */
    const char *op;     /* operator as the model names it, e.g. "Gemm" */
    uint32_t line, col; /* 1-based, text files only */
} tn_loc;

typedef struct tn_diag {
    enum tn_severity severity;
    const char *id; /* stable, never reused, e.g. "onnx-E012" */
    tn_loc loc;
    const char *message; /* one sentence: the trouble and, behind "; ", what to do */
    size_t n_text;       /* bytes of the trouble; all of them: nothing else is said */
} tn_diag;

typedef struct tn_ctx {
    tn_arena arena; /* interned strings, locations, diagnostics */
    tn_strmap strings;
    tn_strmap layouts; /* ir/layout: structure -> its one tn_layout, in arena */
    tn_diag *diag;     /* in order of report */
    size_t n_diag, cap_diag;
    size_t n_error;              /* reports with TN_ERROR */
    tn_map seen;                 /* hash of a report -> its number + 1: repeats are dropped */
    const struct tn_ctx *parent; /* of a child; else NULL */
    bool frozen;                 /* nothing may be added: children in other threads look things up */
} tn_ctx;

void tn_ctx_init(tn_ctx *ctx);
void tn_ctx_deinit(tn_ctx *ctx);

/* A child is for work of its own thread, or for work that may be thrown away: what it adds goes into its own arena,
 * interner, tables and reports; what its parent has it finds there, by the same pointer. While children are at work
 * the parent is frozen: adding to it, or to a pool of its, fails an assertion. The parent outlives its children. */
void tn_ctx_child_init(tn_ctx *child, const tn_ctx *parent); /* the parent is frozen */
void tn_ctx_freeze(tn_ctx *ctx);
void tn_ctx_thaw(
    tn_ctx *ctx); /* when no thread works in a child; those that are kept stay usable in this thread */
/* Moves the child's reports to the end of the parent's, which is not frozen. */
void tn_ctx_join(tn_ctx *parent, tn_ctx *child);

/* Interned copy: equal strings get equal pointers. NULL gives NULL. */
const char *tn_intern(tn_ctx *ctx, const char *s);
const char *tn_intern_n(tn_ctx *ctx, const char *s, size_t n);

/* Records a diagnostic (loc may be NULL) and returns TN_FAIL for errors, TN_OK otherwise. The same text
 * at the same place is recorded once. */
tn_status tn_report(tn_ctx *ctx, enum tn_severity s, const char *id, const tn_loc *loc, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
tn_status tn_vreport(tn_ctx *ctx, enum tn_severity s, const char *id, const tn_loc *loc, const char *fmt,
                     va_list ap) __attribute__((format(printf, 5, 0)));
#define tn_error(ctx, id, loc, ...) tn_report((ctx), TN_ERROR, (id), (loc), __VA_ARGS__)

/* One line: "model.onnx: node Gemm_0 (Gemm): error: message [onnx-E012]" or "f.relay:3:7: error: ...". */
void tn_diag_print(const tn_diag *d, tn_buf *out);
/* Nodes of which the same is said share a second line: "model.onnx: error: for the same reason: a (Gemm), b (Gemm)". */
void tn_diag_print_all(const tn_ctx *ctx, tn_buf *out);
void tn_diag_copy(tn_ctx *ctx, const tn_diag *d); /* records a report of another context */
/* Errors from the one of that index on that do not say what to do say this, also behind a cause or a list ("...; the
 * model is damaged", "...; A and B are known"). */
void tn_diag_advise(tn_ctx *ctx, size_t from, const char *advice);
/* Reports from the one of that index on that name no node are about this one. */
void tn_diag_place(tn_ctx *ctx, size_t from, const tn_loc *node);
void tn_diag_clear(tn_ctx *ctx);
/* Takes back all reports from number `n` on (what was tried in vain). */
void tn_diag_rewind(tn_ctx *ctx, size_t n);

/* What ended a call early, as an error: base-E004 ... base-E009. */
tn_status tn_report_raised(tn_ctx *ctx, const tn_raised *r);

_Noreturn void tn_assert_failed(const char *expr, const char *file, int line);
#define TN_ASSERT(e) ((e) ? (void)0 : tn_assert_failed(#e, __FILE__, __LINE__))

#endif
