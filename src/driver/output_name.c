/* Names of outputs that promise what is not made. Any other one without a form of its own is a package. */
#include "driver/api.h"

#include <string.h>
#include <strings.h>

const char *tenon_output_advice(const char *output)
{
    static const struct {
        const char *suffix, *why;
    } rows[] = {
        {".exe", "tenon does not make programs; model.a or model.o can be linked into one"},
        {".dll", "Windows libraries are not supported; model.so is one for Linux"},
        {".lib", "Windows libraries are not supported; model.a is one for Linux"},
        {".dylib", "macOS libraries are not supported; model.so is one for Linux"},
        {".wasm", "WebAssembly is not supported; model.c, for the target c, is C source"},
        {".zip", "a package is an uncompressed tar; name it model.tar"},
        {".gz", "a package is an uncompressed tar; name it model.tar"},
        {".tgz", "a package is an uncompressed tar; name it model.tar"},
        {".h", "the header is written beside model.so, .o, .a or .c"},
        {".onnx", "that is the name of a model; a package is model.tar"},
        {".relay", "that is the name of a model; a package is model.tar"},
        {".npz", "that is the name of an archive of arrays; a package is model.tar"},
    };
    size_t n = strlen(output);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t k = strlen(rows[i].suffix);
        if (n >= k && strcasecmp(output + n - k, rows[i].suffix) == 0)
            return rows[i].why;
    }
    return NULL;
}
