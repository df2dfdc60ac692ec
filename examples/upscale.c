/* Enlarges a picture three times with a compiled super-resolution network: the whole of what a program needs
 * to run a package.
 *
 *     upscale super_resolution.tar in.bmp out.bmp
 *
 * The network (examples/models/super_resolution.onnx, input [n, 1, 224, 224]) sees brightness alone; colour is enlarged
 * by linear interpolation, as its authors do. Pictures are 24-bit BMP, 224 x 224 in, 672 x 672 out.
 */
#include "tenon/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IN = 224, OUT = 672, HEAD = 54 };

typedef struct {
    float y[OUT * OUT], cb[OUT * OUT], cr[OUT * OUT];
} planes; /* the first n*n of each, row by row */

static uint32_t u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Brightness and colour (ITU-R BT.601, full range) of a 24-bit picture, scaled to [0, 1]. */
static int read_bmp(const char *path, planes *out)
{
    static uint8_t data[HEAD + 65536 + IN * IN * 3];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(data, 1, sizeof data, f) : 0;
    if (f)
        fclose(f);
    if (n < HEAD || memcmp(data, "BM", 2) != 0 || u32(data + 18) != IN || u32(data + 22) != IN ||
        data[28] != 24)
        return fprintf(stderr, "%s: not a 224 x 224 picture in 24-bit BMP\n", path), 1;
    size_t start = u32(data + 10);
    if (start > n || n - start < IN * IN * 3)
        return fprintf(stderr, "%s: cut short\n", path), 1;
    for (int i = 0; i < IN * IN; i++) {
        const uint8_t *p =
            data + start + (size_t)((IN - 1 - i / IN) * IN + i % IN) * 3; /* rows stand bottom up */
        float b = p[0] / 255.0f, g = p[1] / 255.0f, r = p[2] / 255.0f;
        out->y[i] = 0.299f * r + 0.587f * g + 0.114f * b;
        out->cb[i] = (b - out->y[i]) * 0.564f;
        out->cr[i] = (r - out->y[i]) * 0.713f;
    }
    return 0;
}

static void enlarge(const float *in, float *out)
{
    for (int i = 0; i < OUT * OUT; i++) {
        float v = ((float)(i / OUT) + 0.5f) / 3 - 0.5f, u = ((float)(i % OUT) + 0.5f) / 3 - 0.5f;
        v = v < 0 ? 0 : v > IN - 1 ? IN - 1 : v;
        u = u < 0 ? 0 : u > IN - 1 ? IN - 1 : u;
        int y = (int)v, x = (int)u, down = y < IN - 1 ? IN : 0, right = x < IN - 1;
        const float *p = in + y * IN + x;
        float a = p[0] + (u - (float)x) * (p[right] - p[0]),
              b = p[down] + (u - (float)x) * (p[down + right] - p[down]);
        out[i] = a + (v - (float)y) * (b - a);
    }
}

static uint8_t byte(float v) { return v <= 0 ? 0 : v >= 1 ? 255 : (uint8_t)(v * 255 + 0.5f); }

static int write_bmp(const char *path, const planes *p)
{
    static uint8_t data[HEAD + OUT * OUT * 3];
    const uint32_t field[] = {sizeof data, 0, HEAD, 40, OUT, OUT, 1 | 24 << 16, 0, OUT * OUT * 3};
    memcpy(data, "BM", 2);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        for (int k = 0; k < 4; k++)
            data[2 + 4 * i + (size_t)k] = (uint8_t)(field[i] >> 8 * k);
    for (int i = 0; i < OUT * OUT; i++) {
        uint8_t *q = data + HEAD + (size_t)((OUT - 1 - i / OUT) * OUT + i % OUT) * 3;
        float b = p->y[i] + p->cb[i] / 0.564f, r = p->y[i] + p->cr[i] / 0.713f;
        q[0] = byte(b);
        q[1] = byte((p->y[i] - 0.299f * r - 0.114f * b) / 0.587f);
        q[2] = byte(r);
    }
    FILE *f = fopen(path, "wb");
    int ok = f && fwrite(data, 1, sizeof data, f) == sizeof data;
    if ((f && fclose(f)) || !ok)
        return fprintf(stderr, "%s: cannot be written\n", path), 1;
    return 0;
}

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Runs the network ten times, after one run that sets everything up; says the best time and the exact memory. */
static int run(const char *package, planes *small, planes *large)
{
    tnr_module *module = NULL;
    tnr_instance *instance = NULL;
    tnr_error err;
    uint64_t peak = 0;
    int64_t in_shape[] = {1, 1, IN, IN}, out_shape[] = {1, 1, OUT, OUT};
    DLTensor x = {
        .data = small->y, .device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}, .shape = in_shape};
    DLTensor y = {
        .data = large->y, .device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}, .shape = out_shape};
    double best = 1e9;
    int bad = tnr_module_open(package, NULL, &module, &err) ||
              tnr_instance_new(module, NULL, &instance, &err) || tnr_set_input_at(instance, 0, &x, &err) ||
              tnr_set_output_at(instance, 0, &y, &err);
    for (int i = 0; i < 11 && !bad; i++) {
        double start = milliseconds();
        bad = tnr_run(instance, &err);
        start = milliseconds() - start;
        best = i && start < best ? start : best;
    }
    bad = bad || tnr_peak_bytes(instance, &peak, &err);
    if (bad)
        fprintf(stderr, "%s\n", err.message);
    else
        printf("  time        %.1f ms on %d threads (best of 10)\n  peak memory %.1f MB, exact and planned "
               "at compile time\n",
               best, (int)tnr_threads_get(), (double)peak / 1e6);
    tnr_instance_free(instance);
    tnr_module_release(module);
    return bad;
}

int main(int argc, char **argv)
{
    planes *small = calloc(1, sizeof *small), *large = calloc(1, sizeof *large);
    int bad = 1;
    if (argc != 4)
        fprintf(stderr, "usage: upscale PACKAGE IN.bmp OUT.bmp\n");
    else if (small && large && !read_bmp(argv[2], small) && !run(argv[1], small, large)) {
        enlarge(small->cb, large->cb);
        enlarge(small->cr, large->cr);
        bad = write_bmp(argv[3], large);
    }
    free(small);
    free(large);
    return bad;
}
