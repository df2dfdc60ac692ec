/* ConvertLayout: values of chosen operators (convolutions) get the physical layout a user asks for.
 *
 * Tensor expressions are logical here, so "NHWC" says how values lie in memory, not what their dimensions are: the
 * operators are asked for that layout through their layout rule, relayouts are put where a value has another, and what
 * follows a converted value keeps its layout if it can. AlterOpLayout, which comes later, leaves such values as they
 * are. Nothing happens unless a layout is asked for; "NCHW" is what imported models have.
 */
#include "base/words.h"
#include "transform/alter.h"

#include <string.h>

typedef struct {
    const char *data, *kernel;
} pair;

static pair split_pair(tn_ctx *ctx, const char *s, size_t n)
{
    const char *colon = memchr(s, ':', n);
    size_t d = colon ? (size_t)(colon - s) : n;
    return (pair){tn_intern_n(ctx, s, d), colon ? tn_intern_n(ctx, colon + 1, n - d - 1) : "default"};
}

/* Entry i of a list of words ("NHWC" or "NHWC:HWIO"); the last one stands for all that follow. */
static pair read_pair(tn_ctx *ctx, const char *list, int i)
{
    const char *w = "", *next;
    size_t n = 0, k;
    for (; i >= 0 && tn_words_next(&list, &next, &k); i--) {
        w = next;
        n = k;
    }
    return split_pair(ctx, w, n);
}

static tn_status check(tn_pass *p)
{
    const tn_pass_options *o = p->options;
    const char *word, *at = o->desired_layout_ops;
    size_t k;
    int n = 0, i = 0;
    for (; tn_words_next(&at, &word, &k); n++) {
        const tn_op *op = tn_ops_find(tn_intern_n(p->ctx, word, k));
        if (!op || !op->layouts)
            return tn_error(p->ctx, "driver-E066", NULL, "--desired-layout-ops: %.*s %s", (int)k, word,
                            op ? "has no layout to convert" : "is no operator");
    }
    for (at = o->desired_layout; tn_words_next(&at, &word, &k); i++) {
        pair w = split_pair(p->ctx, word, k);
        if (tn_words_find("NCHW NHWC", w.data) < 0 ||
            tn_words_find("default OIHW HWIO OHWI HWOI", w.kernel) < 0)
            return tn_error(p->ctx, "driver-E067", NULL,
                            "--desired-layout %.*s: expected NCHW or NHWC, optionally followed by a colon "
                            "and OIHW, HWIO, OHWI or HWOI",
                            (int)k, word);
    }
    if (o->desired_layout_ops && i > 1 && i != n)
        return tn_error(
            p->ctx, "driver-E068", NULL,
            "--desired-layout names %d layouts for %d operators; give one for all, or one for each", i, n);
    return TN_OK;
}

/* The question to one node; false: it stays as it is. */
static bool ask(const tn_pass *p, const tn_node *n, tn_layout_query *q)
{
    const char *ops = p->options->desired_layout_ops;
    int i = !n->op->layouts ? -1 : ops ? tn_words_find(ops, n->op->name) : 0;
    if (i >= 0) {
        pair want = read_pair(p->ctx, p->options->desired_layout, i);
        q->desired = want.data;
        q->desired_kernel = want.kernel;
        return strcmp(want.data, "NCHW") != 0;
    }
    return q->in[0] != NULL && !n->op->layouts;
}

tn_status tn_pass_ConvertLayout(tn_pass *p, tn_graph *g)
{
    if (!p->options || !p->options->desired_layout)
        return TN_OK;
    TN_TRY(check(p));
    return tn_alter_layouts(p, g, ask, false);
}
