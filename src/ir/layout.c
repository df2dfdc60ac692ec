/* Layouts: reading, interning, and the map from logical to physical.
 *
 * Axis a of dimension d with factor f and stride s (the product of d's factors right of a; for the outermost
 * axis, of all) holds index / s % f, or index / s for the outermost. This is injective on logical cells.
 */
#include "ir/layout.h"

#include "ir/lex.h"

#include <string.h>

typedef struct draft {
    tn_ctx *ctx;
    const tn_loc *loc;
    const char *whole; /* the text, for messages */
    char letter[TN_LAYOUT_MAX_DIMS + 1];
    int ndim, naxis;
    tn_layout_axis axis[TN_LAYOUT_MAX_AXES];
    char axis_letter[TN_LAYOUT_MAX_AXES]; /* as written: lower case with a factor */
    bool filled;
    double fill;
} draft;

static tn_status refuse(draft *d, const char *why)
{
    return tn_error(d->ctx, "ir-E010", d->loc, "layout \"%.80s\": %s", d->whole, why);
}

static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

/* Adds the capitals of [s, end) to the logical dimensions; false if one comes twice. */
static bool add_dims(draft *d, const char *s, const char *end)
{
    for (; s < end; s++) {
        if (!is_capital(*s))
            continue;
        if (memchr(d->letter, *s, (size_t)d->ndim))
            return false;
        d->letter[d->ndim++] = *s;
    }
    return true;
}

static tn_status add_axis(draft *d, char c, uint32_t factor)
{
    char capital = (char)(c >= 'a' ? c - 'a' + 'A' : c);
    const char *at = memchr(d->letter, capital, (size_t)d->ndim);
    if (!at)
        return refuse(
            d, "every small letter needs its capital among the axes and, if there is a colon, before it");
    if (d->naxis == TN_LAYOUT_MAX_AXES)
        return refuse(d, "it has more than 64 axes");
    d->axis[d->naxis] = (tn_layout_axis){(uint8_t)(at - d->letter), factor};
    d->axis_letter[d->naxis++] = c;
    return TN_OK;
}

/* Reads "NCHW16c" up to `end`. */
static tn_status read_axes(draft *d, const char *s, const char *end)
{
    uint64_t product[TN_LAYOUT_MAX_DIMS];
    int outer[TN_LAYOUT_MAX_DIMS] = {0};
    for (int i = 0; i < d->ndim; i++)
        product[i] = 1;
    while (s < end) {
        uint32_t factor = 0;
        bool number = false;
        for (; s < end && *s >= '0' && *s <= '9'; s++, number = true)
            factor = factor > TN_LAYOUT_MAX_FACTOR ? factor : factor * 10 + (uint32_t)(*s - '0');
        if (s == end || (number ? *s < 'a' || *s > 'z' : !is_capital(*s)))
            return refuse(d, "write a capital for each dimension and a number with a small letter for each "
                             "factor, as in NCHW16c");
        if (number && (factor == 0 || factor > TN_LAYOUT_MAX_FACTOR))
            return refuse(d, "a factor must be from 1 to 2^24");
        TN_TRY(add_axis(d, *s++, factor));
        uint8_t dim = d->axis[d->naxis - 1].dim;
        outer[dim] += !number;
        product[dim] *= number ? factor : 1;
        if (product[dim] > TN_LAYOUT_MAX_FACTOR)
            return refuse(d, "the factors of a dimension multiply to more than 2^24");
    }
    for (int i = 0; i < d->ndim; i++)
        if (outer[i] != 1)
            return refuse(d, "each dimension needs its capital exactly once among the axes");
    return TN_OK;
}

/* Reads "{fill=0}" at s. */
static tn_status read_options(draft *d, const char *s)
{
    static const char prefix[] = "{fill=";
    size_t n = strlen(prefix), len = strlen(s);
    if (strncmp(s, prefix, n) != 0 || len < n + 2 || s[len - 1] != '}' ||
        strspn(s + n, "0123456789+-.einf") != len - n - 1)
        return refuse(d, "the only option is a fill, as in NCHW16c{fill=0}");
    d->filled = true;
    return tn_text_real(s + n, len - n - 1, false, &d->fill)
               ? TN_OK
               : refuse(d, "the fill must be a number, inf or -inf");
}

static tn_status read_text(draft *d, const char *text)
{
    const char *brace = strchr(text, '{'), *end = brace ? brace : text + strlen(text),
               *colon = memchr(text, ':', (size_t)(end - text));
    const char *axes = colon ? colon + 1 : text;
    for (const char *s = text; colon && s < colon; s++)
        if (!is_capital(*s))
            return refuse(d, "only capitals stand before the colon");
    if (!add_dims(d, text, colon ? colon : end))
        return refuse(d, "a dimension is named twice");
    if (d->ndim == 0)
        return refuse(d, "it names no dimension; write one capital for each, as in NCHW16c");
    TN_TRY(read_axes(d, axes, end));
    return brace ? read_options(d, brace) : TN_OK;
}

/* ---- interning ---- */

static bool is_identity(const draft *d)
{
    bool same = d->naxis == d->ndim;
    for (int i = 0; i < d->naxis && same; i++)
        same = d->axis[i].dim == i;
    return same;
}

/* Only factors leave cells outside the logical shape. */
static bool pads(const draft *d) { return d->naxis > d->ndim; }

static void print_text(const draft *d, tn_buf *out)
{
    int seen = 0;
    bool ordered = true;
    for (int i = 0; i < d->naxis; i++)
        if (d->axis[i].factor == 0)
            ordered &= d->axis[i].dim == seen++;
    if (!ordered)
        tn_buf_printf(out, "%s:", d->letter);
    for (int i = 0; i < d->naxis; i++) {
        if (d->axis[i].factor > 0)
            tn_buf_printf(out, "%u", d->axis[i].factor);
        tn_buf_char(out, d->axis_letter[i]);
    }
    if (d->filled) {
        tn_buf_str(out, "{fill=");
        tn_buf_real(out, d->fill, 0);
        tn_buf_char(out, '}');
    }
}

/* As strings (base/ctx.c): a child's own first. Layouts of values are made before there are children; those of a
 * kernel's inner buffers may be its child's. */
static bool find_layout(const tn_ctx *ctx, const tn_buf *key, uint64_t *out)
{
    for (; ctx; ctx = ctx->parent)
        if (tn_strmap_get(&ctx->layouts, key->at, key->n, out))
            return true;
    return false;
}

static const tn_layout *intern(const draft *d)
{
    tn_buf key = {0}, text = {0};
    uint64_t found, fill = 0;
    memcpy(&fill, &d->fill, sizeof fill);
    tn_buf_u32le(&key, (uint32_t)d->ndim << 1 | d->filled);
    tn_buf_u64le(&key, fill);
    for (int i = 0; i < d->naxis; i++)
        tn_buf_u32le(&key, d->axis[i].factor << 5 | d->axis[i].dim);
    if (!find_layout(d->ctx, &key, &found)) {
        TN_ASSERT(!d->ctx->frozen);
        tn_layout *l = TN_NEW(&d->ctx->arena, tn_layout);
        l->ndim = (uint8_t)d->ndim;
        l->naxis = (uint8_t)d->naxis;
        l->fill = d->filled ? TN_FILL_VALUE : TN_FILL_ANY;
        l->fill_value = d->fill;
        l->axis = tn_arena_copy(&d->ctx->arena, d->axis, (size_t)d->naxis * sizeof *d->axis,
                                _Alignof(tn_layout_axis));
        print_text(d, &text);
        l->text = tn_intern_n(d->ctx, text.at, text.n);
        found = tn_map_key(l);
        tn_strmap_put(&d->ctx->layouts, tn_arena_copy(&d->ctx->arena, key.at, key.n, 1), key.n, found);
    }
    tn_buf_deinit(&key);
    tn_buf_deinit(&text);
    return (const tn_layout *)(uintptr_t)found;
}

tn_status tn_layout_parse(tn_ctx *ctx, const char *text, const tn_loc *loc, const tn_layout **out)
{
    draft d = {.ctx = ctx, .loc = loc, .whole = text};
    *out = NULL;
    TN_TRY(read_text(&d, text));
    if (!pads(&d)) {
        d.filled = false;
        d.fill = 0;
    }
    if (!is_identity(&d))
        *out = intern(&d);
    return TN_OK;
}

const tn_layout *tn_layout_without(tn_ctx *ctx, const tn_layout *l, uint64_t drop)
{
    draft d = {.ctx = ctx, .whole = l->text};
    int number[TN_LAYOUT_MAX_DIMS], ndim = 0, naxis = 0;
    tn_status s = read_text(&d, l->text);
    TN_ASSERT(s == TN_OK);
    for (int i = 0; i < d.ndim; i++) {
        number[i] = ndim;
        if (!(drop >> i & 1))
            d.letter[ndim++] = d.letter[i];
    }
    for (int i = 0; i < d.naxis; i++) {
        tn_layout_axis a = d.axis[i];
        if (drop >> a.dim & 1) {
            TN_ASSERT(a.factor == 0);
            continue;
        }
        d.axis_letter[naxis] = d.axis_letter[i];
        d.axis[naxis++] = (tn_layout_axis){(uint8_t)number[a.dim], a.factor};
    }
    d.letter[ndim] = 0;
    d.ndim = ndim;
    d.naxis = naxis;
    return is_identity(&d) ? NULL : intern(&d);
}

/* ---- the map ---- */

/* Product of the factors that axis a strides over. */
static int64_t stride(const tn_layout *l, int a)
{
    int64_t s = 1;
    for (int i = l->axis[a].factor == 0 ? 0 : a + 1; i < l->naxis; i++)
        if (l->axis[i].dim == l->axis[a].dim && l->axis[i].factor > 0)
            s *= l->axis[i].factor;
    return s;
}

void tn_layout_dims(tn_pool *p, const tn_layout *l, int ndim, const tn_expr *const dim[],
                    const tn_expr **out_dim)
{
    TN_ASSERT(!l || l->ndim == ndim);
    for (int a = 0; a < tn_layout_naxis(l, ndim); a++)
        if (!l)
            out_dim[a] = dim[a];
        else if (l->axis[a].factor > 0)
            out_dim[a] = tn_idx(p, l->axis[a].factor);
        else
            out_dim[a] = tn_ceildiv(p, dim[l->axis[a].dim], stride(l, a));
}

void tn_layout_index(tn_pool *p, const tn_layout *l, int ndim, const tn_expr *const index[],
                     const tn_expr **out_index)
{
    TN_ASSERT(!l || l->ndim == ndim);
    for (int a = 0; a < tn_layout_naxis(l, ndim); a++) {
        if (!l) {
            out_index[a] = index[a];
            continue;
        }
        const tn_expr *i = index[l->axis[a].dim], *e = tn_fdiv(p, i, tn_int(p, i->dtype, stride(l, a)));
        out_index[a] = l->axis[a].factor > 0 ? tn_fmod(p, e, tn_int(p, i->dtype, l->axis[a].factor)) : e;
    }
}

const tn_expr *tn_layout_readable(tn_pool *p, const tn_layout *l, int d, const tn_expr *extent)
{
    int64_t block = 1;
    for (int a = 0; l && l->fill == TN_FILL_VALUE && a < l->naxis; a++)
        if (l->axis[a].dim == d && l->axis[a].factor > 0)
            block *= l->axis[a].factor;
    return block == 1 ? extent : tn_mul(p, tn_ceildiv(p, extent, block), tn_idx(p, block));
}
