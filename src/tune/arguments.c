/* Memory for calls of one kernel outside of a program. */
#include "tune/arguments.h"

#include "base/size.h"
#include "ir/eval.h"

#include <math.h>
#include <string.h>

/* Is the cell of this physical index inside the logical shape? */
static bool is_inside(const tn_argument *t, const int64_t at[])
{
    const tn_layout *l = t->buffer->layout;
    int64_t index[TN_LAYOUT_MAX_DIMS] = {0}, stride[TN_LAYOUT_MAX_DIMS];
    for (int d = 0; d < TN_LAYOUT_MAX_DIMS; d++)
        stride[d] = 1;
    for (int a = t->n - 1; l && a >= 0; a--) {
        index[l->axis[a].dim] += at[a] * stride[l->axis[a].dim];
        stride[l->axis[a].dim] *= l->axis[a].factor ? l->axis[a].factor : 1;
    }
    for (int d = 0; l && d < l->ndim; d++)
        if (index[d] >= t->logical[d])
            return false;
    return true;
}

/* The physical index of the next element. */
static void step(const tn_argument *t, int64_t at[])
{
    for (int a = t->n - 1; a >= 0 && ++at[a] == t->dim[a]; a--)
        at[a] = 0;
}

static tn_scalar random_scalar(tn_dtype t, tn_rng *rng)
{
    if (tn_dtype_is_float(t))
        return (tn_scalar){.f = tn_rng_unit(rng) - 0.5};
    bool byte = t.bits == 8 && !tn_dtype_is_bool(t); /* quantised values; larger integers may be indices */
    return (tn_scalar){.i = (int64_t)tn_rng_below(rng, byte ? 128 : 2)};
}

static void fill(tn_argument *t, tn_rng *rng)
{
    const tn_layout *l = t->buffer->layout;
    tn_dtype type = t->buffer->dtype;
    tn_scalar pad = {.i = 0};
    bool filled = l && l->fill == TN_FILL_VALUE;
    if (filled && tn_dtype_is_float(type))
        pad.f = l->fill_value;
    else if (filled)
        pad.i = (int64_t)l->fill_value;
    int64_t at[TN_LAYOUT_MAX_AXES] = {0};
    for (size_t i = 0; i < t->count; i++) {
        tn_scalar v = random_scalar(type, rng);
        tn_scalar_write(type, t->at + i * tn_dtype_bytes(type), filled && !is_inside(t, at) ? pad : v);
        step(t, at);
    }
}

static unsigned char *room_for(const tn_argument *a)
{
    size_t cells = a->count + a->buffer->slack, bytes;
    return tn_size_mul(cells, tn_dtype_bytes(a->buffer->dtype), &bytes) ? tn_alloc_huge_try(bytes) : NULL;
}

/* Without memory. */
static bool measure(tn_argument *a, const tn_func *f, const tn_buffer *b, const int64_t sym[])
{
    const tn_expr *dim[TN_LAYOUT_MAX_AXES];
    *a = (tn_argument){.buffer = b, .n = tn_layout_naxis(b->layout, b->ndim), .count = 1};
    tn_layout_dims(f->pool, b->layout, b->ndim, b->dim, dim);
    for (int d = 0; d < b->ndim; d++)
        if (!tn_func_value(f, b->dim[d], sym, &a->logical[d]))
            return false;
    for (int d = 0; d < a->n; d++)
        if (!tn_func_value(f, dim[d], sym, &a->dim[d]) || a->dim[d] < 0 ||
            !tn_size_mul(a->count, (size_t)a->dim[d], &a->count))
            return false;
    return tn_size_mul(a->count, tn_dtype_bytes(b->dtype), &a->bytes);
}

bool tn_argument_init(tn_argument *a, const tn_func *f, uint32_t i, const int64_t sym[], tn_rng *rng)
{
    if (!measure(a, f, &f->buffer[f->param[i]], sym))
        return false;
    a->at = room_for(a);
    if (a->at && !a->buffer->written)
        fill(a, rng);
    return a->at != NULL;
}

/* How far each index of dimension d takes an element: an axis belongs to one dimension, so places are sums of these. */
static size_t *distances(const tn_argument *a, int d)
{
    const tn_layout *l = a->buffer->layout;
    size_t *far = tn_alloc_array((size_t)a->logical[d], sizeof *far);
    for (int64_t i = 0; i < a->logical[d]; i++) {
        int64_t left = i;
        size_t apart = 1;
        for (int k = a->n - 1; k >= 0; k--) {
            int64_t factor = l && l->axis[k].factor ? l->axis[k].factor : a->dim[k];
            if ((l ? l->axis[k].dim : k) == d) {
                far[i] += (size_t)(left % factor) * apart;
                left /= factor;
            }
            apart *= (size_t)a->dim[k];
        }
    }
    return far;
}

typedef struct copying {
    const unsigned char *from;
    unsigned char *to;
    int ndim;
    const int64_t *extent;
    size_t size;
    size_t *far[2][TN_LAYOUT_MAX_DIMS]; /* of what is read, of what is written */
} copying;

/* Depth: the number of dimensions. */
static void copy_from(const copying *c, int d, size_t from, size_t to)
{
    for (int64_t i = 0; d < c->ndim && i < c->extent[d]; i++)
        if (d + 1 < c->ndim)
            copy_from(c, d + 1, from + c->far[0][d][i], to + c->far[1][d][i]);
        else
            memcpy(c->to + (to + c->far[1][d][i]) * c->size, c->from + (from + c->far[0][d][i]) * c->size,
                   c->size);
}

bool tn_argument_as(const tn_argument *a, const tn_func *f, uint32_t i, const int64_t sym[], tn_argument *out)
{
    tn_buffer given = f->buffer[f->param[i]];
    tn_argument from; /* a, of the dimensions that the schedule has left */
    given.layout = given.given;
    if (!measure(out, f, &f->buffer[f->param[i]], sym) || !measure(&from, f, &given, sym) ||
        from.bytes != a->bytes)
        return false;
    out->at = room_for(out);
    if (!out->at)
        return false;
    memset(out->at, 0, out->bytes);
    copying c = {a->at, out->at, given.ndim, from.logical, tn_dtype_bytes(given.dtype), {{NULL}}};
    for (int d = 0; d < given.ndim; d++) {
        c.far[0][d] = distances(&from, d);
        c.far[1][d] = distances(out, d);
    }
    copy_from(&c, 0, 0, 0);
    for (int d = 0; d < given.ndim; d++) {
        tn_free(c.far[0][d]);
        tn_free(c.far[1][d]);
    }
    return true;
}

bool tn_argument_dense(tn_argument *a, const tn_buffer *b, int n, const int64_t dim[], tn_rng *rng)
{
    *a = (tn_argument){.buffer = b, .n = n, .count = 1};
    for (int d = 0; d < n; d++) {
        a->dim[d] = dim[d];
        if (dim[d] < 0 || !tn_size_mul(a->count, (size_t)dim[d], &a->count))
            return false;
    }
    if (!tn_size_mul(a->count, tn_dtype_bytes(b->dtype), &a->bytes))
        return false;
    a->at = room_for(a);
    if (a->at && rng)
        fill(a, rng);
    return a->at != NULL;
}

void tn_argument_deinit(tn_argument *a)
{
    tn_free(a->at);
    a->at = NULL;
}

unsigned char *tn_argument_copy(const tn_argument *a)
{
    unsigned char *copy = room_for(a);
    if (copy)
        memcpy(copy, a->at, a->bytes);
    return copy;
}

tn_difference tn_argument_compare(const tn_argument *a, const unsigned char *expected)
{
    tn_difference r = {0, 0};
    tn_dtype type = a->buffer->dtype;
    int64_t at[TN_LAYOUT_MAX_AXES] = {0};
    for (size_t i = 0; i < a->count; i++) {
        size_t byte = i * tn_dtype_bytes(type);
        tn_scalar v = tn_scalar_read(type, a->at + byte), w = tn_scalar_read(type, expected + byte);
        double x = tn_dtype_is_float(type) ? v.f : (double)v.i,
               y = tn_dtype_is_float(type) ? w.f : (double)w.i;
        bool same = x == y || (isnan(x) && isnan(y)), inside = is_inside(a, at);
        if (inside && !same)
            r.worst = fmax(r.worst, isfinite(x - y) ? fabs(x - y) : INFINITY);
        if (inside && isfinite(y))
            r.largest = fmax(r.largest, fabs(y));
        step(a, at);
    }
    return r;
}

bool tn_argument_agrees(const tn_argument *a, tn_difference d)
{
    tn_dtype t = a->buffer->dtype;
    if (!tn_dtype_is_float(t))
        return d.worst == 0;
    double share = t.bits >= 64 ? 1e-12 : t.bits >= 32 ? 1e-4 : 2e-2;
    return d.worst <= share * fmax(d.largest, 1e-3);
}
