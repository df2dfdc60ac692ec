/* Parts of schedules: what each pick decides. */
#include "schedule/space.h"

#include <ctype.h>
#include <string.h>

/* clang-format off */
const tn_part_info tn_parts[TN_N_PART] = {
#define PART(id, name, doc) [TN_PART_##id] = {name, doc},
#include "schedule/part.def"
};

static const struct {
    enum tn_part part;
    const char *role;
} roles[] = {
#define ROLE(part, role) {TN_PART_##part, role},
#include "schedule/part.def"
};
/* clang-format on */

enum tn_part tn_pick_part(const char *name)
{
    const char *dot = strrchr(name, '.'), *role = dot ? dot + 1 : name;
    size_t n = strlen(role);
    while (n > 0 && isdigit((unsigned char)role[n - 1])) /* of an axis */
        n--;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if ((roles[i].part != TN_PART_WAY) == (dot != NULL) && strlen(roles[i].role) == n &&
            memcmp(roles[i].role, role, n) == 0)
            return roles[i].part;
    return TN_PART_OWN;
}

enum tn_part tn_part_find(const char *name, size_t n)
{
    int i = 0;
    while (i < TN_N_PART && (strlen(tn_parts[i].name) != n || memcmp(tn_parts[i].name, name, n) != 0))
        i++;
    return (enum tn_part)i;
}
