/* Opens the LLVM code generator, a shared object that only commands which need it ever load. */
#include "codegen/codegen.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* <folder of this program or library>/../lib/tenon/libtenon-llvm.so, or $TENON_LIBDIR. */
static void library_path(tn_buf *out)
{
    const char *dir = getenv("TENON_LIBDIR");
    if (dir && *dir) {
        tn_buf_printf(out, "%s/libtenon-llvm.so", dir);
        return;
    }
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    tn_buf_printf(out, "%s/../lib/tenon/libtenon-llvm.so", self);
}

tn_status tn_llvm_open(tn_ctx *ctx, const tn_llvm_api **out)
{
    tn_buf path = {0};
    library_path(&path);
    void *lib = dlopen(tn_buf_cstr(&path), RTLD_NOW | RTLD_LOCAL);
    const tn_llvm_api *(*get)(void) = NULL;
    tn_status st = TN_OK;
    if (lib)
        *(void **)&get = dlsym(lib, "tenon_llvm");
    if (!get && !ctx)
        st = TN_FAIL;
    else if (!get)
        st = tn_error(ctx, "codegen-E001", NULL,
                      "the LLVM code generator could not be opened: %s; install LLVM 19 or use --target c",
                      dlerror());
    else
        *out = get();
    tn_buf_deinit(&path);
    return st;
}
