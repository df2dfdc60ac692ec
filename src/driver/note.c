/* What a compiled library says of itself in its ELF note: lines of text, so that `verify` (or readelf) shows
 * what is inside without running any of it. */
#include "base/wire/elf.h"
#include "driver/driver.h"

#include <string.h>

enum { LONGEST = 160 }; /* of a name or value as it is shown */

/* One line of at most LONGEST bytes, in whole characters. */
static void shown(const char *text, tn_buf *o)
{
    size_t n = strlen(text), k = n > LONGEST ? LONGEST : n;
    while (k > 0 && k < n && ((unsigned char)text[k] & 0xC0) == 0x80)
        k--;
    for (size_t i = 0; i < k; i++)
        tn_buf_char(o, (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
    if (k < n)
        tn_buf_printf(o, "... (%zu bytes)", n);
}

static void list(tn_build *b, enum tn_slot_kind kind, const char *what, tn_buf *o)
{
    for (uint32_t i = 0; i < b->main->n_slot; i++) {
        const tn_slot_ir *s = &b->main->slot[i];
        if (s->kind != kind)
            continue;
        tn_buf_printf(o, "%-13s", what);
        shown(s->name, o);
        tn_buf_str(o, ": ");
        if (s->storage == TN_STORAGE_HANDLE) {
            tn_buf_str(o, "a value\n"); /* the model's texts have its type */
            continue;
        }
        tn_dtype_print(s->dtype, false, o);
        tn_buf_str(o, " [");
        for (int d = 0; d < s->ndim; d++) {
            tn_buf_str(o, d ? ", " : "");
            tn_expr_print(s->dim[d], NULL, o);
        }
        tn_buf_str(o, "]\n");
    }
}

/* Symbols that are limited, or that kernels have variants for. */
static void list_sizes(tn_build *b, tn_buf *o)
{
    for (uint32_t i = 0; i + b->main->n_late < b->main->n_symbol; i++) {
        const tn_symbol_info *s = tn_graph_find_symbol(&b->graph, b->main->symbol[i].name);
        if (!s || (!s->point.n && s->max == INT32_MAX))
            continue;
        tn_buf_printf(o, "%-13s%s:", "sizes", s->name);
        if (s->max != INT32_MAX)
            tn_buf_printf(o, " %lld to %lld%s", (long long)s->min, (long long)s->max, s->point.n ? ";" : "");
        for (uint32_t k = 0; k < s->point.n; k++)
            tn_buf_printf(o, "%s%lld", k ? ", " : " kernels of their own for ", (long long)s->point.at[k]);
        tn_buf_char(o, '\n');
    }
}

static void metadata(const tn_graph *g, tn_buf *o)
{
    for (size_t i = 0; i < g->metadata.n; i++) {
        tn_buf_str(o, "model        ");
        shown(g->metadata.at[i].key, o);
        tn_buf_str(o, ": ");
        shown(g->metadata.at[i].value, o);
        tn_buf_char(o, '\n');
    }
}

const char *tn_note_make(tn_build *b)
{
    tn_buf o = {0};
    tn_buf_printf(&o, "made by      tenon " TENON_VERSION TN_ELF_ABI "%u\n", TENON_ABI_VERSION);
    tn_buf_printf(&o, "target       %s\n", b->target.text);
    tn_buf_str(&o, "CPU features ");
    for (uint32_t i = 0; i < b->n_feature; i++)
        tn_buf_printf(&o, "%s%s", i ? ", " : "", b->feature[i]);
    tn_buf_str(&o, b->n_feature ? "\n" : "any\n");
    metadata(&b->graph, &o);
    list(b, TN_SLOT_INPUT, "input", &o);
    list(b, TN_SLOT_OUTPUT, "output", &o);
    list(b, TN_SLOT_STATE, "state", &o);
    list_sizes(b, &o);
    tn_buf_printf(&o, "kernels      %u\npeak memory  ", (unsigned)b->groups.n);
    tn_expr_print(b->peak, NULL, &o);
    tn_buf_str(&o, " bytes\n");
    const char *text = tn_arena_strndup(&b->arena, o.at, o.n);
    tn_buf_deinit(&o);
    return text;
}
