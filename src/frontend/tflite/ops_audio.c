/* Custom operators for sound. Their options are maps, as flex.c reads them. */
#include "frontend/tflite/tflite.h"

#include "frontend/import/audio.h"

static void spectrogram(imp_node *c)
{
    imp_spectrogram s = {imp_attr_int(c, "window_size", 0), imp_attr_int(c, "stride", 0),
                         imp_attr_int(c, "magnitude_squared", 0) != 0};
    imp_out(c, 0, imp_make_spectrogram(c, tfl_real(c, 0), &s));
}

static void mfcc(imp_node *c)
{
    imp_mfcc m = {.rate = (double)imp_int_in(c, imp_in(c, 1), "the sample rate"),
                  .upper = imp_attr_float(c, "upper_frequency_limit", 0),
                  .lower = imp_attr_float(c, "lower_frequency_limit", 0),
                  .bands = imp_attr_int(c, "filterbank_channel_count", 0),
                  .coefficients = imp_attr_int(c, "dct_coefficient_count", 0)};
    imp_out(c, 0, imp_make_mfcc(c, tfl_real(c, 0), &m));
}

// clang-format off
const imp_row tfl_rows_audio[] = {
    {"AudioSpectrogram", 1, 0, 1, 1, spectrogram, NULL},
    {"Mfcc",             1, 0, 2, 1, mfcc,        NULL},
    {0},
};
// clang-format on
