/* Opens the LLVM code generator, a shared object that only commands which need it ever load. */
#include "codegen/codegen.h"

#include "base/folder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tn_library_folder(tn_buf *out)
{
    char at[TN_FOLDER_BYTES];
    tn_folder_find(at);
    tn_buf_str(out, at);
}

static void find_llvm(tn_buf *out)
{
    tn_library_folder(out);
    tn_buf_str(out, "/libtenon-llvm.so");
}

/* Another LLVM that the whole process sees (TensorFlow's) would answer in the place of ours. */
static void *load_llvm(const char *path)
{
    bool foreign = dlsym(RTLD_DEFAULT, "LLVMContextCreate") != NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | (foreign ? RTLD_DEEPBIND : 0));
}

/* ---- opening it early ---- */

typedef struct {
    pthread_t thread;
    tn_buf path;
} early;

static void *load_early(void *user)
{
    early *e = user;
    return load_llvm(e->path.at);
}

static void await_early(tn_resource *r)
{
    early *e = r->at;
    pthread_join(e->thread, NULL);
}

/* Signals are for the threads that were there. */
static bool start(early *e)
{
    sigset_t all, was;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    bool ok = pthread_create(&e->thread, NULL, load_early, e) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return ok;
}

tn_resource *tn_llvm_open_early(void)
{
    tn_resource *r = tn_resource_new(await_early);
    early *e = tn_alloc_array(1, sizeof *e);
    find_llvm(&e->path);
    (void)tn_buf_cstr(&e->path);
    if (start(e))
        r->at = e;
    return r;
}

tn_status tn_llvm_open(tn_ctx *ctx, const tn_llvm_api **out)
{
    tn_buf path = {0};
    find_llvm(&path);
    void *lib = load_llvm(tn_buf_cstr(&path));
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
