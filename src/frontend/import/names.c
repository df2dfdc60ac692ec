/* Names and scopes. A name stands for one value in its scope, or for the last one where they are variables. */
#include "frontend/import/import.h"

#include <string.h>

const char *imp_again(const char *why) { return strchr(why, ';') ? "" : "; download or export it again"; }

tn_status imp_define(imp_model *im, tn_bytes name, imp_value v, const tn_loc *loc)
{
    uint64_t at = IMP_NO_VALUE;
    if (!tn_strmap_get(&im->names, (const char *)name.at, name.n, &at))
        at = IMP_NO_VALUE;
    if (at != IMP_NO_VALUE && at >= im->scope && !im->format->reassigns)
        return imp_error(im, IMP_NAME_TWICE, loc, "two values are called \"%s\"; the model is damaged",
                         imp_text(im, name));
    tn_vec_push(&im->undo, ((imp_undo){name, at}));
    tn_strmap_put(&im->names, (const char *)name.at, name.n, im->value.n);
    tn_vec_push(&im->value, v);
    return TN_OK;
}

const imp_value *imp_lookup(const imp_model *im, tn_bytes name)
{
    uint64_t at;
    bool known = tn_strmap_get(&im->names, (const char *)name.at, name.n, &at) && at != IMP_NO_VALUE;
    return known ? &im->value.at[at] : NULL;
}

imp_scope imp_enter(imp_model *im, bool isolated)
{
    imp_scope outside = {isolated, im->names, im->undo.n, im->scope};
    if (isolated)
        im->names = (tn_strmap){0};
    im->scope = im->value.n;
    im->depth++;
    return outside;
}

void imp_leave(imp_model *im, const imp_scope *outside)
{
    if (outside->isolated) {
        tn_strmap_deinit(&im->names);
        im->names = outside->names;
        im->undo.n = outside->undo;
    }
    while (im->undo.n > outside->undo) {
        imp_undo u = tn_vec_pop(&im->undo);
        tn_strmap_put(&im->names, (const char *)u.name.at, u.name.n, u.at);
    }
    im->scope = outside->scope;
    im->depth--;
}
