/* MelSpectrogram: how loud bands of frequencies are, window by window. Tables are worked out in float64. */
#include "frontend/import/fourier.h"
#include "frontend/import/layers.h"
#include "frontend/keras/rows.h"
#include "op/signal/signal.h"

#include <math.h>
#include <string.h>

enum { MOST_SAMPLES = 1 << 16, MOST_BANDS = 1 << 12 };

typedef struct melody {
    int64_t fft, window, step; /* samples */
    int64_t bands, rate;
    double lower, upper; /* Hz */
} melody;

static bool read_melody(imp_node *c, melody *m)
{
    *m = (melody){.fft = keras_int(c, "fft_length", 2048),
                  .step = keras_int(c, "sequence_stride", 512),
                  .bands = keras_int(c, "num_mel_bins", 128),
                  .rate = keras_int(c, "sampling_rate", 16000),
                  .lower = keras_real(c, "min_freq", 20)};
    m->window = keras_int(c, "sequence_length", m->fft);
    m->upper = keras_real(c, "max_freq", (double)(m->rate / 2));
    bool fine = m->fft >= 2 && m->fft <= MOST_SAMPLES && m->window >= 1 && m->window <= m->fft &&
                m->step >= 1 && m->step <= MOST_SAMPLES && m->bands >= 1 && m->bands <= MOST_BANDS &&
                m->rate >= 2 && m->rate <= INT32_MAX && m->lower >= 0 && m->upper > m->lower &&
                m->upper < 1e9;
    if (!fine && !c->bad)
        imp_refuse(
            c, IMP_BAD_VALUE,
            "windows of %lld samples in steps of %lld, and %lld bands from %g to %g Hz, are not supported",
            (long long)m->fft, (long long)m->step, (long long)m->bands, m->lower, m->upper);
    return !c->bad;
}

static tn_value table(imp_node *c, int n, const int64_t dim[], const float *at)
{
    return tn_val(tn_make_constant(c->g, c->im->r, NULL, TN_F32, n, dim, at, NULL));
}

/* In the middle of the samples that are transformed, [samples, 1]; without one all of these count alike. */
static tn_value window(imp_node *c, const melody *m)
{
    const char *how = keras_text(c, "window", "");
    const double mean = strcmp(how, "hann") == 0 ? 0.5 : strcmp(how, "hamming") == 0 ? 0.54 : 1;
    const int64_t dim[] = {m->fft, 1}, n = *how ? m->window : m->fft, before = (m->fft - n) / 2;
    float *at = TN_NEW_N(c->arena, float, (size_t)m->fft);
    if (*how && mean == 1)
        imp_refuse(c, IMP_BAD_VALUE, "window \"%s\" is not supported, only hann and hamming are", how);
    for (int64_t i = 0; i < m->fft; i++)
        at[i] = 0;
    for (int64_t i = 0; i < n; i++)
        at[before + i] = (float)(mean - (1 - mean) * cos(2 * M_PI * (double)i / (double)n));
    return table(c, 2, dim, at);
}

/* Samples [n, samples] to magnitudes [n, windows, frequencies]; the ends are mirrored. */
static tn_value magnitudes(imp_node *c, tn_value x, const melody *m)
{
    const int64_t half = m->fft / 2, width[] = {0, 0, half, half};
    const tn_pad_attr mirror = {.pad_width = tn_make_dims(c->g, 4, width),
                                .pad_mode = tn_intern(c->g->ctx, "reflect")};
    const tn_frame_attr frames = {tn_make_dims(c->g, 1, &m->fft), tn_make_dims(c->g, 1, &m->step)};
    tn_value w = window(c, m);
    x = imp_unsqueeze(c, imp_call1(c, &tn_op_nn_pad, &mirror, x), 2);
    x = imp_binary(c, &tn_op_multiply, imp_call1(c, &tn_op_frame, &frames, x), w);
    x = imp_fourier_last(c, x, m->fft, false, true);
    return imp_unary(c, &tn_op_sqrt, imp_reduce(c, &tn_op_sum, imp_binary(c, &tn_op_multiply, x, x), 3));
}

static double mel(double hertz) { return 1127 * log(1 + hertz / 700); }

/* Triangles in the mel scale, each from the middle of the band below to that of the one above: [bands,
 * frequencies]. The constant one does not count. */
static tn_value bands(imp_node *c, const melody *m)
{
    const int64_t n = m->fft / 2 + 1, dim[] = {m->bands, n};
    const double low = mel(m->lower), step = (mel(m->upper) - low) / (double)(m->bands + 1);
    float *at = TN_NEW_N(c->arena, float, (size_t)(m->bands * n));
    for (int64_t b = 0; b < m->bands; b++)
        for (int64_t i = 0; i < n; i++) {
            double pitch = mel((double)i * (double)m->rate / 2 / (double)(n - 1)),
                   from = low + step * (double)b;
            double share = fmin((pitch - from) / step, (from + 2 * step - pitch) / step);
            at[b * n + i] = i > 0 && share > 0 ? (float)share : 0;
        }
    return table(c, 2, dim, at);
}

/* Against a reference, and not more than top_db below the loudest of all. */
static tn_value decibels(imp_node *c, tn_value x)
{
    static const int64_t all[] = {0, 1, 2};
    const double least = keras_real(c, "min_power", 1e-10), top = keras_real(c, "top_db", 80);
    const double reference = fmax(fabs(keras_real(c, "ref_power", 1)), least);
    x = imp_unary(c, &tn_op_log, imp_with(c, &tn_op_maximum, x, least));
    x = imp_with(c, &tn_op_multiply, x, 10 / log(10));
    x = imp_with(c, &tn_op_subtract, x, 10 * log10(reference));
    tn_value floor = imp_with(c, &tn_op_subtract, keras_reduce(c, &tn_op_max, x, 3, all, true), top);
    return imp_binary(c, &tn_op_maximum, x, floor);
}

static void mel_spectrogram(imp_node *c)
{
    static const int64_t turn[] = {0, 2, 1};
    const double power = keras_real(c, "mag_exp", 2);
    const bool logarithms = keras_bool(c, "power_to_db", true);
    tn_value given = keras_in(c, 0), x = given;
    melody m;
    if (!c->bad && imp_rank(x) != 2)
        imp_refuse(c, IMP_OPERANDS, "data %s must be [batch, samples]", imp_type_text(c, imp_type(x)));
    if (c->bad || !read_melody(c, &m))
        return;
    x = magnitudes(c, imp_cast(c, x, TN_F32), &m);
    x = power == 1   ? x
        : power == 2 ? imp_binary(c, &tn_op_multiply, x, x)
                     : imp_with(c, &tn_op_power, x, power);
    x = imp_layer_dense(c, x, bands(c, &m), (tn_value){0});
    if (logarithms)
        x = decibels(c, x);
    keras_ignore(c, "min_power");
    keras_ignore(c, "top_db");
    keras_ignore(c, "ref_power");
    x = imp_transpose(c, x, 3, turn);
    keras_out(c, c->bad ? x : imp_cast(c, x, imp_type(given)->dtype));
}

// clang-format off
const keras_row keras_rows_audio[] = {
    LAYER("MelSpectrogram", mel_spectrogram, NULL, NULL, KERAS_DROPS_MASK, NULL),
    END_OF_ROWS,
};
// clang-format on
