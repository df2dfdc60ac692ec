/* Files given where another kind belongs. */
#include "cli/cli.h"

bool tn_file_refuse(const char *path, enum tenon_wanted wanted)
{
    const char *text = NULL;
    tenon *t = tenon_new();
    if (t && tenon_explain_file(t, path, wanted, &text) == 0 && text)
        tn_error_print("%s", text);
    bool refused = text != NULL;
    tenon_free(t);
    return refused;
}
