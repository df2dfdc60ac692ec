#ifndef TN_FRONTEND_IMPORT_AUDIO_H
#define TN_FRONTEND_IMPORT_AUDIO_H
/* Spectra of sound, as TensorFlow and TFLite compute them. */
#include "frontend/import/convert.h"

typedef struct imp_spectrogram {
    int64_t window, stride;
    bool squared; /* |z|^2, not |z| */
} imp_spectrogram;

typedef struct imp_mfcc {
    double rate;         /* samples a second */
    double lower, upper; /* Hz */
    int64_t bands, coefficients;
} imp_mfcc;

/* Samples [n, channels] to [channels, windows, frequencies]: Hann windows, with zeros up to a power of two. */
tn_value imp_make_spectrogram(imp_node *c, tn_value samples, const imp_spectrogram *s);
/* Squared magnitudes [channels, windows, frequencies] to the cosine transform of the logarithms of their bands, which
 * are as wide as HTK makes them. */
tn_value imp_make_mfcc(imp_node *c, tn_value squares, const imp_mfcc *m);

#endif
