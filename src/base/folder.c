/* The folder of the file this code is in: a program, or a shared object that a program uses. */
#include "base/folder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void own_folder(char out[TN_FOLDER_BYTES])
{
    static const char here = 0;
    Dl_info self;
    ssize_t n = readlink("/proc/self/exe", out, TN_FOLDER_BYTES - 1);
    out[n > 0 ? n : 0] = 0;
    if (dladdr(&here, &self) && self.dli_fname && strstr(self.dli_fname, ".so") &&
        strlen(self.dli_fname) < TN_FOLDER_BYTES)
        memcpy(out, self.dli_fname, strlen(self.dli_fname) + 1);
    char *slash = strrchr(out, '/');
    *(slash ? slash : out) = 0;
}

void tn_folder_find(char out[TN_FOLDER_BYTES])
{
    const char *given = getenv("TENON_LIBDIR");
    char own[TN_FOLDER_BYTES];
    own_folder(own);
    if (given && *given)
        (void)snprintf(out, TN_FOLDER_BYTES, "%s", given);
    else
        (void)snprintf(out, TN_FOLDER_BYTES, "%.4000s/../lib/tenon", own);
}
