/* Spectrograms and cepstra. The tables are worked out in float64: windows, the matrix from frequencies to bands
 * (triangles in the mel scale, [bands, frequencies]) and that of the cosine transform. */
#include "frontend/import/audio.h"

#include "frontend/import/fourier.h"
#include "frontend/import/layers.h"
#include "op/signal/signal.h"

#include <math.h>

enum { MOST_SAMPLES = 1 << 20, MOST_BANDS = 1 << 14 };

static tn_value table(imp_node *c, int n, const int64_t dim[], const float *at)
{
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, n, dim, at, NULL));
}

/* ---- spectrogram ---- */

static tn_value hann(imp_node *c, int64_t n)
{
    const int64_t dim[] = {n, 1};
    float *at = TN_NEW_N(c->arena, float, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        at[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)n));
    return table(c, 2, dim, at);
}

/* Samples whose number only the run knows, with zeros behind where they are so few that there would be less than no
 * windows: there are none then. */
static tn_value with_room(imp_node *c, tn_value samples, const imp_spectrogram *s)
{
    int64_t known;
    if (c->bad || tn_is_int(imp_type(samples)->dim[0], &known) || s->window <= s->stride)
        return samples;
    const tn_expr *none = tn_idx(c->pool, 0), *least = tn_idx(c->pool, s->window - s->stride),
                  *missing = tn_max(c->pool, tn_sub(c->pool, least, imp_type(samples)->dim[0]), none);
    missing = imp_simplify(c, missing);
    if (tn_is_value(missing, 0))
        return samples;
    const tn_expr *const width[] = {none, missing, none, none};
    tn_pad_attr a = {.pad_width = tn_dims_make(c->arena, 4, width),
                     .pad_mode = tn_intern(c->g->ctx, "constant")};
    return imp_call1(c, &tn_op_nn_pad, &a, samples);
}

tn_value imp_make_spectrogram(imp_node *c, tn_value samples, const imp_spectrogram *s)
{
    static const int64_t turn[] = {1, 0};
    int64_t have = s->window, length = 1;
    if (!c->bad && (s->window < 2 || s->stride < 1 || s->window > MOST_SAMPLES || s->stride > MOST_SAMPLES))
        imp_refuse(c, IMP_BAD_VALUE, "windows of %lld samples in steps of %lld are not supported",
                   (long long)s->window, (long long)s->stride);
    if (!c->bad &&
        (imp_rank(samples) != 2 || (tn_is_int(imp_type(samples)->dim[0], &have) && have < s->window)))
        imp_refuse(c, IMP_OPERANDS, "data %s must be [samples, channels], with one window at least",
                   imp_type_text(c, imp_type(samples)));
    if (c->bad)
        return samples;
    samples = with_room(c, samples, s);
    while (length < s->window)
        length *= 2;
    tn_frame_attr a = {tn_make_dims(c->g, 1, &s->window), tn_make_dims(c->g, 1, &s->stride)};
    tn_value x = imp_unsqueeze(c, imp_transpose(c, imp_cast(c, samples, TN_F32), 2, turn), 2);
    tn_value window = hann(c, s->window);
    x = imp_binary(c, &tn_op_multiply, imp_call1(c, &tn_op_frame, &a, x), window);
    x = imp_fourier_last(c, x, length, false, true);
    x = imp_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, x), 3);
    return s->squared ? x : imp_unary(c, &tn_op_sqrt, x);
}

/* ---- bands ---- */

static double mel(double hertz) { return 1127 * log1p(hertz / 700); }

/* Each frequency from the first above `lower` on to `upper` lies between the centres of two bands, and is shared.
 * false: `upper` is above what there is. */
static bool fill_bands(const imp_mfcc *m, int64_t n, float *at)
{
    double each = 0.5 * m->rate / (double)(n - 1), low = mel(m->lower),
           step = (mel(m->upper) - low) / (double)(m->bands + 1);
    int64_t first = (int64_t)(1.5 + m->lower / each), last = (int64_t)(m->upper / each), band = 0;
    for (int64_t i = first; i <= last && last < n; i++) {
        double pitch = mel((double)i * each);
        while (band < m->bands && low + step * (double)(band + 1) < pitch)
            band++;
        double share = (low + step * (double)(band + 1) - pitch) / step; /* of the band below */
        if (band > 0)
            at[(band - 1) * n + i] = (float)share;
        if (band < m->bands)
            at[band * n + i] = (float)(1 - share);
    }
    return last < n;
}

static tn_value bands(imp_node *c, const imp_mfcc *m, int64_t n)
{
    const int64_t dim[] = {m->bands, n};
    float *at = TN_NEW_N(c->arena, float, (size_t)(m->bands * n));
    for (int64_t i = 0; i < m->bands * n; i++)
        at[i] = 0;
    if (!fill_bands(m, n, at))
        imp_refuse(c, IMP_BAD_VALUE, "the %lld frequencies of %g samples a second end below %g Hz",
                   (long long)n, m->rate, m->upper);
    return c->bad ? (tn_value){0} : table(c, 2, dim, at);
}

static tn_value cosines(imp_node *c, const imp_mfcc *m)
{
    const int64_t dim[] = {m->coefficients, m->bands};
    float *at = TN_NEW_N(c->arena, float, (size_t)(m->coefficients * m->bands));
    double norm = sqrt(2.0 / (double)m->bands), turn = M_PI / (double)m->bands;
    for (int64_t i = 0; i < m->coefficients; i++)
        for (int64_t j = 0; j < m->bands; j++)
            at[i * m->bands + j] = (float)(norm * cos((double)i * turn * ((double)j + 0.5)));
    return table(c, 2, dim, at);
}

tn_value imp_make_mfcc(imp_node *c, tn_value squares, const imp_mfcc *m)
{
    int64_t n = 0;
    if (!c->bad &&
        (imp_rank(squares) != 3 || !tn_is_int(imp_type(squares)->dim[2], &n) || n < 2 || n > MOST_SAMPLES))
        imp_refuse(c, IMP_OPERANDS, "data %s must be [channels, windows, frequencies]",
                   imp_type_text(c, imp_type(squares)));
    bool good = m->rate > 0 && m->lower >= 0 && m->upper > m->lower && m->rate < 1e9 && m->upper < 1e9 &&
                m->bands >= 1 && m->bands <= MOST_BANDS && m->coefficients >= 1 &&
                m->coefficients <= m->bands;
    if (!c->bad && !good)
        imp_refuse(
            c, IMP_BAD_VALUE,
            "%lld coefficients of %lld bands from %g to %g Hz, of %g samples a second, are not supported",
            (long long)m->coefficients, (long long)m->bands, m->lower, m->upper, m->rate);
    if (c->bad)
        return squares;
    tn_value b = bands(c, m, n), x = imp_unary(c, &tn_op_sqrt, imp_cast(c, squares, TN_F32));
    x = imp_layer_dense(c, x, b, (tn_value){0});
    x = imp_unary(c, &tn_op_log, imp_with(c, &tn_op_maximum, x, 1e-12));
    return imp_layer_dense(c, x, cosines(c, m), (tn_value){0});
}
