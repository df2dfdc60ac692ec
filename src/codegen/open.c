/* Opens the LLVM code generator, a shared object that only commands which need it ever load. */
#include "codegen/codegen.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the file this code is in: a program, or a shared object that a program uses. */
static void own_folder(char out[4096])
{
    static const char here = 0;
    Dl_info self;
    ssize_t n = readlink("/proc/self/exe", out, 4095);
    out[n > 0 ? n : 0] = 0;
    if (dladdr(&here, &self) && self.dli_fname && strstr(self.dli_fname, ".so") &&
        strlen(self.dli_fname) < 4096)
        memcpy(out, self.dli_fname, strlen(self.dli_fname) + 1);
    char *slash = strrchr(out, '/');
    *(slash ? slash : out) = 0;
}

void tn_library_folder(tn_buf *out)
{
    const char *dir = getenv("TENON_LIBDIR");
    char own[4096];
    if (dir && *dir) {
        tn_buf_str(out, dir);
        return;
    }
    own_folder(own);
    tn_buf_printf(out, "%s/../lib/tenon", own);
}

tn_status tn_llvm_open(tn_ctx *ctx, const tn_llvm_api **out)
{
    tn_buf path = {0};
    tn_library_folder(&path);
    tn_buf_str(&path, "/libtenon-llvm.so");
    void *lib = dlopen(tn_buf_cstr(&path), RTLD_NOW | RTLD_LOCAL);
    tn_llvm_get *get = NULL;
    tn_status st = TN_OK;
    if (lib)
        *(void **)&get = dlsym(lib, "tenon_llvm");
    if (!get && !ctx)
        st = TN_FAIL;
    else if (!get)
        st = tn_error(ctx, "codegen-E001", NULL,
                      "the LLVM code generator could not be opened: %s; install LLVM 19 or use --target c",
                      dlerror());
    else if ((*out = get(tn_guard_place))->version != TN_LLVM_INTERFACE)
        st = !ctx ? TN_FAIL
                  : tn_error(ctx, "codegen-E013", NULL,
                             "%s belongs to another build of Tenon; set TENON_LIBDIR to the folder of this "
                             "build, or unset it",
                             tn_buf_cstr(&path));
    tn_buf_deinit(&path);
    return st;
}
