/* string.regex_full_match (texts, attribute pattern): which of them the pattern matches from beginning to end. */
#include "host/regex.h"

tnr_status tnh_string_regex_full_match(tnh_call *h)
{
    tnh_texts x;
    void *out;
    tnr_status status = tnh_texts_in(h, 0, &x);
    if (status)
        return status;
    tnh_regex *r = tnh_regex_new(h, tnh_attr_text(h, "pattern"));
    status = r ? tnh_tensor_out(h, 0, TNH_BOOL, x.ndim, x.shape, &out) : TNR_E_ARG;
    for (int64_t i = 0; i < x.n && !status; i++)
        ((uint8_t *)out)[i] = tnh_regex_matches(r, tnh_text_at(&x, i));
    return status;
}
