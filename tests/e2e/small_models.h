#ifndef TESTS_E2E_SMALL_MODELS_H
#define TESTS_E2E_SMALL_MODELS_H
/* Five models that are compiled in milliseconds, one of each kind. */
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name, *text; /* text NULL: an ONNX file below TENON_SOURCE_DIR */
} models[] = {
    {"a convolution", "def @main(%x: Tensor[(1, 8, 9, 9), float32]) {\n"
                      "  %0 = arange(0, 37, count=[576]);\n"
                      "  %1 = reshape(cast(%0, dtype=\"float32\"), newshape=[8, 8, 3, 3]);\n"
                      "  nn.relu(nn.conv2d(%x, %1, padding=[1, 1]))\n}\n"},
    {"bytes", "def @main(%x: Tensor[(1, 3, 11, 11), uint8]) {\n"
              "  %0 = arange(0, 37, count=[1800]);\n"
              "  %1 = reshape(cast(%0, dtype=\"int8\"), newshape=[24, 3, 5, 5]);\n"
              "  %2 = nn.conv2d(%x, %1, padding=[1, 1], out_dtype=\"int32\");\n"
              "  cast(round(cast(%2, dtype=\"float32\") * 0.01f), dtype=\"uint8\")\n}\n"},
    {"symbols", "#[version = \"0.0.5\"]\n"
                "#[symbols = \"past in [0, 16]\"]\n"
                "def @main(%q: Tensor[(2, s, 4), float32], %past: Tensor[(2, past, 4), float32],\n"
                "          %k: Tensor[(2, s, 4), float32]) {\n"
                "  %0 = concatenate((%past, %k), axis=1);\n"
                "  %1 = transpose(%0, axes=[0, 2, 1]);\n"
                "  nn.softmax(nn.batch_matmul(%q, %1), axis=2)\n}\n"},
    {"control flow", "def @main(%x: Tensor[(2, 8), float32], %t: Tensor[(), int64], %c: Tensor[(), bool]) {\n"
                     "  %0 = loop(%t, True, %x)(%i: int64, %v: Tensor[(2, 8), float32]) {\n"
                     "    %1 = tanh(%v);\n    (True, %1)\n  };\n"
                     "  %2 = if (%c) {\n    nn.relu(%0)\n  } else {\n    sigmoid(%0)\n  };\n  %2\n}\n"},
    {"tests/golden/inputs/dense.onnx", NULL},
};
enum { MODELS = sizeof models / sizeof *models };

/* The model as a file, in `folder` if it is a text here. */
static const char *model_path(const char *folder, int i)
{
    static char path[4096];
    if (!models[i].text) {
        snprintf(path, sizeof path, "%s/%s", getenv("TENON_SOURCE_DIR"), models[i].name);
        return path;
    }
    snprintf(path, sizeof path, "%s/model.relay", folder);
    FILE *f = fopen(path, "w");
    int bad = !f || fputs(models[i].text, f) < 0;
    if (!f || fclose(f) || bad)
        abort();
    return path;
}

#endif
