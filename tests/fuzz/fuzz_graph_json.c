/* mod.json over the toy library's kernels: any bytes. What is accepted is a program that passed the program checks, so
 * it makes an instance and knows its memory. It is not run: kernels trust the shapes they were compiled for. */
#include "tenon/runtime.h"

#include "../runtime/toy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* mod.params with p0, float32 [8] */
static const uint8_t params[] = {
    0xB7, 0x9C, 0x04, 0x05, 0x4F, 0x8D, 0xE5, 0xF7, 0,  0, 0, 0,   0,   0, 0, 0, 1, 0, 0, 0,  0,
    0,    0,    0,    2,    0,    0,    0,    0,    0,  0, 0, 'p', '0', 1, 0, 0, 0, 0, 0, 0,  0,
    0x3F, 0xA1, 0xB4, 0x96, 0xF0, 0x40, 0x5E, 0xDD, 0,  0, 0, 0,   0,   0, 0, 0, 1, 0, 0, 0,  0,
    0,    0,    0,    1,    0,    0,    0,    2,    32, 1, 0, 8,   0,   0, 0, 0, 0, 0, 0, 32, 0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,  0, 0, 0,   0,   0, 0, 0, 0, 0, 0, 0,  0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,  0, 0, 0,   0,   0, 0, 0, 0,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_library library = toy_static;
    tnr_module *m;
    tnr_instance *inst;
    tnr_memory memory;
    tnr_error err = {0};
    (void)toy_symbolic;
    library.program = NULL;
    tnr_parts parts = {.library = &library,
                       .json = n ? (const char *)data : "",
                       .json_n = n,
                       .params = params,
                       .params_n = sizeof params};
    if (tnr_module_open_parts(&parts, &m, &err)) {
        require(err.code == TNR_E_FORMAT && err.message[0]);
        return 0;
    }
    require(tnr_instance_new(m, &(tnr_instance_options){.executor = TNR_EXECUTOR_GRAPH}, &inst, &err) ==
            TNR_OK);
    require(tnr_memory_get(inst, &memory, &err) == TNR_OK);
    for (uint32_t i = 0; i < tnr_input_count(m); i++) {
        tnr_tensor_info info;
        require(tnr_input_info(m, i, &info, NULL) == TNR_OK && tnr_input_find(m, info.name) == (int64_t)i);
    }
    tnr_instance_free(inst);
    tnr_module_release(m);
    return 0;
}
