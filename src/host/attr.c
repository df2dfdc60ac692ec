/* Attributes of a call: members of a JSON object. */
#include "host/host.h"

static const tn_json *find(const tnh_call *h, const char *name)
{
    const tn_json *v = tn_json_find(h->attr, name);
    return tn_json_is(v, TN_JSON_NULL) ? NULL : v;
}

int64_t tnh_attr_int(const tnh_call *h, const char *name, int64_t absent)
{
    const tn_json *v = find(h, name);
    if (tn_json_is(v, TN_JSON_BOOL))
        return v->u.b;
    return tn_json_is(v, TN_JSON_INT) ? v->u.i : absent;
}

bool tnh_attr_is(const tnh_call *h, const char *name, const char *text)
{
    return tn_json_is_text(find(h, name), text);
}

tnh_text tnh_attr_text(const tnh_call *h, const char *name)
{
    const tn_json *v = find(h, name);
    return tn_json_is(v, TN_JSON_STRING) ? (tnh_text){v->u.s, v->n} : (tnh_text){"", 0};
}

int64_t *tnh_attr_ints(tnh_call *h, const char *name, int64_t *out_n)
{
    const tn_json *v = find(h, name);
    uint32_t n = tn_json_is(v, TN_JSON_ARRAY) ? v->n : 0;
    int64_t *at = tnh_new(h, n, sizeof *at);
    for (uint32_t i = 0; at && i < n; i++)
        at[i] = v->u.at[i].kind == TN_JSON_INT ? v->u.at[i].u.i : 0;
    *out_n = n;
    return at;
}

double *tnh_attr_reals(tnh_call *h, const char *name, int64_t *out_n)
{
    const tn_json *v = find(h, name);
    uint32_t n = tn_json_is(v, TN_JSON_ARRAY) ? v->n : 0;
    double *at = tnh_new(h, n, sizeof *at);
    for (uint32_t i = 0; at && i < n; i++) {
        const tn_json *e = &v->u.at[i];
        at[i] = e->kind == TN_JSON_INT ? (double)e->u.i : e->kind == TN_JSON_REAL ? e->u.r : 0;
    }
    *out_n = n;
    return at;
}
