/* Spectra of sound. */
#include "frontend/tensorflow/tf.h"

#include "frontend/import/audio.h"

static void spectrogram(imp_node *c)
{
    imp_spectrogram s = {imp_attr_int(c, "window_size", 0), imp_attr_int(c, "stride", 0),
                         imp_attr_int(c, "magnitude_squared", 0) != 0};
    imp_out(c, 0, imp_make_spectrogram(c, imp_in(c, 0), &s));
}

static void mfcc(imp_node *c)
{
    imp_mfcc m = {.rate = (double)imp_int_in(c, imp_in(c, 1), "the sample rate"),
                  .upper = imp_attr_float(c, "upper_frequency_limit", 4000),
                  .lower = imp_attr_float(c, "lower_frequency_limit", 20),
                  .bands = imp_attr_int(c, "filterbank_channel_count", 40),
                  .coefficients = imp_attr_int(c, "dct_coefficient_count", 13)};
    imp_out(c, 0, imp_make_mfcc(c, imp_in(c, 0), &m));
}

// clang-format off
const imp_row tf_rows_audio[] = {
    {"AudioSpectrogram", 1, 0, 1, 1, spectrogram, NULL},
    {"Mfcc",             1, 0, 2, 1, mfcc,        NULL},
    {0},
};
// clang-format on
