/* string.translate (texts; attributes from, to, remove): texts whose bytes in `from` became those at the same place of
 * `to`, without those that are in `remove` then. All are ASCII, so UTF-8 stays what it is. */
#include "host/host.h"

#include <string.h>

tnr_status tnh_string_translate(tnh_call *h)
{
    tnh_texts x;
    tnh_maker m;
    char becomes[256];
    bool removed[256] = {false};
    tnh_text from = tnh_attr_text(h, "from"), to = tnh_attr_text(h, "to"),
             remove = tnh_attr_text(h, "remove");
    if (from.n != to.n)
        return tnh_fail(h, TNR_E_ARG, "%s takes as many bytes in \"to\" as in \"from\"", h->c->name);
    for (int i = 0; i < 256; i++)
        becomes[i] = (char)i;
    for (size_t i = 0; i < from.n; i++)
        becomes[(uint8_t)from.at[i]] = to.at[i];
    for (size_t i = 0; i < remove.n; i++)
        removed[(uint8_t)remove.at[i]] = true;
    tnr_status status = tnh_texts_in(h, 0, &x);
    status = status ? status : tnh_maker_begin(h, &m, x.ndim, x.shape);
    for (int64_t i = 0; i < x.n && !status; i++) {
        tnh_text t = tnh_text_at(&x, i);
        for (size_t k = 0; k < t.n && !status; k++) {
            const char *c = &becomes[(uint8_t)t.at[k]];
            if (!removed[(uint8_t)*c])
                status = tnh_maker_put(h, &m, (tnh_text){c, 1});
        }
        status = status ? status : tnh_maker_next(h, &m);
    }
    return status ? status : tnh_maker_out(h, &m, 0);
}
