/* ConvertLayout: values of chosen operators (convolutions) get the physical layout a user asks for.
 *
 * Tensor expressions are logical here, so "NHWC" says how values lie in memory, not what their dimensions are: the
 * operators are asked for that layout through their layout rule, relayouts are put where a value has another, and what
 * follows a converted value keeps its layout if it can. AlterOpLayout, which comes later, leaves such values as they
 * are. Nothing happens unless a layout is asked for; "NCHW" is what imported models have.
 */
#include "transform/alter.h"

#include <string.h>

typedef struct { const char *data, *kernel; } pair;

/* Entry i of a list of words ("NHWC" or "NHWC:HWIO"); the last one stands for all that follow. */
static pair read_pair(tn_ctx *ctx, const char *list, int i)
{
    const char *s = list;
    for (; i > 0 && s[strcspn(s, " ")]; i--)
        s += strcspn(s, " ") + 1;
    size_t n = strcspn(s, " "), d = strcspn(s, " :");
    return (pair){tn_intern_n(ctx, s, d), d < n ? tn_intern_n(ctx, s + d + 1, n - d - 1) : "default"};
}

static bool one_of(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = words; s && (s = strstr(s, word)); s += n)
        if ((s == words || s[-1] == ' ') && (s[n] == 0 || s[n] == ' '))
            return true;
    return false;
}

/* Place of the operator in the user's list: 0 if there is none; -1: it is not in it. */
static int place(const char *list, const char *name)
{
    size_t n = strlen(name);
    int i = 0;
    for (const char *s = list; s && *s; i++) {
        size_t k = strcspn(s, " ");
        if (k == n && memcmp(s, name, n) == 0)
            return i;
        s += k + (s[k] == ' ');
    }
    return list ? -1 : 0;
}

static tn_status check(tn_pass *p)
{
    const tn_pass_options *o = p->options;
    int n = 0, i = 0;
    for (const char *s = o->desired_layout_ops; s && *s; n++) {
        size_t k = strcspn(s, " ");
        const tn_op *op = tn_ops_find(tn_intern_n(p->ctx, s, k));
        if (!op || !op->layouts)
            return tn_error(p->ctx, "driver-E066", NULL, "--desired-layout-ops: %.*s %s", (int)k, s,
                            op ? "has no layout to convert" : "is no operator");
        s += k + (s[k] == ' ');
    }
    for (const char *s = o->desired_layout; s && *s; i++) {
        size_t k = strcspn(s, " ");
        pair w = read_pair(p->ctx, s, 0);
        if (!one_of("NCHW NHWC", w.data) || !one_of("default OIHW HWIO OHWI HWOI", w.kernel))
            return tn_error(p->ctx, "driver-E067", NULL,
                            "--desired-layout %.*s: NCHW or NHWC is expected, and behind a colon OIHW, HWIO, "
                            "OHWI or HWOI",
                            (int)k, s);
        s += k + (s[k] == ' ');
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
    int i = n->op->layouts ? place(p->options->desired_layout_ops, n->op->name) : -1;
    if (i >= 0) {
        pair want = read_pair(p->ctx, p->options->desired_layout, p->options->desired_layout_ops ? i : 0);
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
    return tn_alter_layouts(p, g, ask);
}
