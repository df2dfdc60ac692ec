/* Context: interner, diagnostics and children. Reports are stored in order; a hash of (severity, id, place, text) finds
 * a repeat in O(1), so a model with very many equal faults costs linear time. */
#include "base/ctx.h"

#include "base/vec.h"

#include <stdio.h>
#include <string.h>

void tn_ctx_init(tn_ctx *ctx)
{
    *ctx = (tn_ctx){0};
    tn_arena_init(&ctx->arena);
}

void tn_ctx_deinit(tn_ctx *ctx)
{
    tn_strmap_deinit(&ctx->strings);
    tn_strmap_deinit(&ctx->layouts);
    tn_map_deinit(&ctx->seen);
    tn_free(ctx->diag);
    tn_arena_deinit(&ctx->arena);
    *ctx = (tn_ctx){0};
}

/* ---- children ---- */

void tn_ctx_child_init(tn_ctx *child, const tn_ctx *parent)
{
    TN_ASSERT(parent->frozen);
    tn_ctx_init(child);
    child->parent = parent;
}

void tn_ctx_freeze(tn_ctx *ctx)
{
    TN_ASSERT(!ctx->frozen);
    ctx->frozen = true;
}

void tn_ctx_thaw(tn_ctx *ctx)
{
    TN_ASSERT(ctx->frozen);
    ctx->frozen = false;
}

void tn_ctx_join(tn_ctx *parent, tn_ctx *child)
{
    TN_ASSERT(child->parent == parent);
    for (size_t i = 0; i < child->n_diag; i++)
        tn_diag_copy(parent, &child->diag[i]);
    tn_diag_clear(child);
}

/* ---- strings ---- */

/* A child's own come first, so that they stay what they are when the parent, thawed, learns the same ones. */
const char *tn_intern_n(tn_ctx *ctx, const char *s, size_t n)
{
    uint64_t found;
    if (!s)
        return NULL;
    for (const tn_ctx *c = ctx; c; c = c->parent)
        if (tn_strmap_get(&c->strings, s, n, &found))
            return (const char *)(uintptr_t)found;
    TN_ASSERT(!ctx->frozen);
    const char *copy = tn_arena_strndup(&ctx->arena, s, n);
    tn_strmap_put(&ctx->strings, copy, n, tn_map_key(copy));
    return copy;
}

const char *tn_intern(tn_ctx *ctx, const char *s) { return s ? tn_intern_n(ctx, s, strlen(s)) : NULL; }

/* ---- reports ---- */

/* Strings of a tn_diag are interned, so pointers stand for their text. */
static uint64_t diag_hash(const tn_diag *d)
{
    uint64_t h = tn_hash_u64((uint64_t)d->severity, tn_map_key(d->id));
    h = tn_hash_u64(h, tn_map_key(d->message));
    h = tn_hash_u64(h, tn_map_key(d->loc.file));
    h = tn_hash_u64(h, tn_map_key(d->loc.node));
    h = tn_hash_u64(h, tn_map_key(d->loc.op));
    return tn_hash_u64(h, (uint64_t)d->loc.line << 32 | d->loc.col);
}

static bool diag_equal(const tn_diag *a, const tn_diag *b)
{
    return a->severity == b->severity && a->id == b->id && a->message == b->message &&
           a->loc.file == b->loc.file && a->loc.node == b->loc.node && a->loc.op == b->loc.op &&
           a->loc.line == b->loc.line && a->loc.col == b->loc.col;
}

static void record(tn_ctx *ctx, const tn_diag *d)
{
    TN_ASSERT(!ctx->frozen);
    uint64_t h = diag_hash(d), at;
    if (tn_map_get(&ctx->seen, h, &at) && at < ctx->n_diag && diag_equal(&ctx->diag[at], d))
        return;
    if (ctx->n_diag == ctx->cap_diag)
        ctx->diag = tn_vec_grow(ctx->diag, ctx->n_diag, 1, &ctx->cap_diag, sizeof *ctx->diag);
    tn_map_put(&ctx->seen, h, ctx->n_diag);
    ctx->diag[ctx->n_diag++] = *d;
    ctx->n_error += d->severity == TN_ERROR;
}

static tn_loc intern_loc(tn_ctx *ctx, const tn_loc *l)
{
    return (tn_loc){.file = tn_intern(ctx, l->file),
                    .node = tn_intern(ctx, l->node),
                    .op = tn_intern(ctx, l->op),
                    .line = l->line,
                    .col = l->col};
}

/* Bytes that the format gives up to its first "; ", which texts put in by it may have, too. */
static size_t text_bytes(const char *fmt, va_list ap, size_t all)
{
    const char *end = strstr(fmt, "; ");
    tn_buf format = {0};
    if (!end)
        return all;
    tn_buf_add(&format, fmt, (size_t)(end - fmt));
    int n = vsnprintf(NULL, 0, tn_buf_cstr(&format), ap);
    tn_buf_deinit(&format);
    return n < 0 ? all : (size_t)n;
}

tn_status tn_vreport(tn_ctx *ctx, enum tn_severity s, const char *id, const tn_loc *loc, const char *fmt,
                     va_list ap)
{
    tn_buf text = {0};
    va_list again;
    va_copy(again, ap);
    tn_buf_vprintf(&text, fmt, ap);
    tn_diag d = {.severity = s,
                 .id = tn_intern(ctx, id),
                 .message = tn_intern_n(ctx, tn_buf_cstr(&text), text.n),
                 .n_text = text_bytes(fmt, again, text.n)};
    va_end(again);
    tn_buf_deinit(&text);
    if (loc)
        d.loc = intern_loc(ctx, loc);
    record(ctx, &d);
    return s == TN_ERROR ? TN_FAIL : TN_OK;
}

void tn_diag_copy(tn_ctx *ctx, const tn_diag *d)
{
    tn_diag copy = *d;
    copy.id = tn_intern(ctx, d->id);
    copy.message = tn_intern(ctx, d->message);
    copy.loc = intern_loc(ctx, &d->loc);
    record(ctx, &copy);
}

tn_status tn_report(tn_ctx *ctx, enum tn_severity s, const char *id, const tn_loc *loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tn_status status = tn_vreport(ctx, s, id, loc, fmt, ap);
    va_end(ap);
    return status;
}

static const char *const severities[] = {[TN_NOTE] = "note", [TN_WARNING] = "warning", [TN_ERROR] = "error"};

static void print_file(const tn_loc *loc, tn_buf *out)
{
    if (!loc->file)
        return;
    tn_buf_shown(out, loc->file);
    if (loc->line)
        tn_buf_printf(out, ":%u:%u", (unsigned)loc->line, (unsigned)loc->col);
    tn_buf_str(out, ": ");
}

static void print_node(const tn_loc *loc, tn_buf *out)
{
    tn_buf_shown(out, loc->node && *loc->node ? loc->node : "(unnamed)");
    if (!loc->op || !*loc->op)
        return;
    tn_buf_str(out, " (");
    tn_buf_shown(out, loc->op);
    tn_buf_char(out, ')');
}

static void print_id(const char *id, tn_buf *out)
{
    if (id)
        tn_buf_printf(out, " [%s]", id);
    tn_buf_char(out, '\n');
}

void tn_diag_print(const tn_diag *d, tn_buf *out)
{
    print_file(&d->loc, out);
    if (d->loc.node || d->loc.op) {
        tn_buf_str(out, "node ");
        print_node(&d->loc, out);
        tn_buf_str(out, ": ");
    }
    tn_buf_printf(out, "%s: ", severities[d->severity]);
    tn_buf_shown(out, d->message);
    print_id(d->id, out);
}

/* Is the same said of two nodes of one file? Pointers stand for texts, as above. */
static bool same_reason(const tn_diag *a, const tn_diag *b)
{
    return a->loc.node && b->loc.node && !a->loc.line && !b->loc.line && a->severity == b->severity &&
           a->loc.file == b->loc.file && a->id == b->id && a->message == b->message;
}

static bool was_said(const tn_ctx *ctx, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_reason(&ctx->diag[j], &ctx->diag[i]))
            return true;
    return false;
}

/* The nodes that follow, of which the same is said, in one line. */
static void print_others(const tn_ctx *ctx, size_t i, tn_buf *out)
{
    const tn_diag *d = &ctx->diag[i];
    size_t n = 0;
    for (size_t j = i + 1; j < ctx->n_diag; j++) {
        if (!same_reason(d, &ctx->diag[j]))
            continue;
        if (n++ == 0) {
            print_file(&d->loc, out);
            tn_buf_printf(out, "%s: for the same reason: ", severities[d->severity]);
        } else {
            tn_buf_str(out, ", ");
        }
        print_node(&ctx->diag[j].loc, out);
    }
    if (n)
        print_id(d->id, out);
}

/* There are at most some hundred. */
void tn_diag_print_all(const tn_ctx *ctx, tn_buf *out)
{
    for (size_t i = 0; i < ctx->n_diag; i++) {
        if (was_said(ctx, i))
            continue;
        tn_diag_print(&ctx->diag[i], out);
        print_others(ctx, i, out);
    }
}

/* Does the text end with a reason, which is not what to do? */
static bool ends_with_reason(const char *text)
{
    static const char *const word[] = {" damaged", " known", " supported", " expected", " allowed"};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (n > strlen(word[i]) && strcmp(text + n - strlen(word[i]), word[i]) == 0)
            return true;
    return false;
}

void tn_diag_advise(tn_ctx *ctx, size_t from, const char *advice)
{
    for (size_t i = from; i < ctx->n_diag; i++) {
        tn_diag *d = &ctx->diag[i];
        bool more = strstr(d->message, "; ");
        if (d->severity != TN_ERROR || (more && !ends_with_reason(d->message)))
            continue;
        tn_buf text = {0};
        tn_buf_printf(&text, "%s%s %s", d->message, more ? ":" : ";", advice);
        d->message = tn_intern_n(ctx, tn_buf_cstr(&text), text.n);
        tn_buf_deinit(&text);
    }
}

void tn_diag_place(tn_ctx *ctx, size_t from, const tn_loc *node)
{
    for (size_t i = from; i < ctx->n_diag; i++) {
        tn_loc *l = &ctx->diag[i].loc;
        if (l->node || l->op || l->line)
            continue;
        l->file = l->file ? l->file : tn_intern(ctx, node->file);
        l->node = tn_intern(ctx, node->node);
        l->op = tn_intern(ctx, node->op);
    }
}

void tn_diag_clear(tn_ctx *ctx)
{
    ctx->n_diag = ctx->n_error = 0;
    tn_map_clear(&ctx->seen);
}

void tn_diag_rewind(tn_ctx *ctx, size_t n)
{
    while (ctx->n_diag > n)
        ctx->n_error -= ctx->diag[--ctx->n_diag].severity == TN_ERROR;
}

/* What is said when memory is short is short. */
tn_status tn_report_raised(tn_ctx *ctx, const tn_raised *r)
{
    unsigned long long n = r->amount;
    switch (r->kind) {
    case TN_RAISED_NOTHING: return TN_OK;
    case TN_RAISED_OUT_OF_MEMORY:
        return tn_error(ctx, "base-E004", NULL, "there is not enough memory: %llu more bytes were needed", n);
    case TN_RAISED_MEMORY:
        return tn_error(ctx, "base-E005", NULL, "the limit of memory, %llu MiB, is reached; allow more",
                        n >> 20);
    case TN_RAISED_SECONDS:
        return tn_error(ctx, "base-E006", NULL, "the limit of time, %g seconds, is reached; allow more",
                        1e-3 * (double)n);
    case TN_RAISED_NODES:
        return tn_error(ctx, "base-E007", NULL,
                        "the model needs more than %llu nodes, which is the limit; allow more", n);
    case TN_RAISED_CANCEL: return tn_error(ctx, "base-E008", NULL, "cancelled");
    case TN_RAISED_BROKEN: break;
    }
    return tn_error(ctx, "base-E009", NULL, "internal error: %s:%d: %s does not hold; please report it",
                    r->file, r->line, r->text);
}

_Noreturn void tn_assert_failed(const char *expr, const char *file, int line)
{
    tn_raise((tn_raised){.kind = TN_RAISED_BROKEN, .text = expr, .file = file, .line = line});
}
