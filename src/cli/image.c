/* tenon image: a picture becomes a model's input, and a model's output a picture. */
#include "cli/image.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "tenon/dlpack.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// clang-format off
const tn_flag tn_image_flags[] = {
    TN_ROW_TEXT("output", 'o', "PATH", NULL, "file to write: an array (.npz) or a picture (.png, .jpg, .bmp)"),
    TN_ROW_TEXT("name", 0, "NAME", NULL,
                "name of the array, the model's input or output (default: input; for an .npz, its only one)"),
    TN_ROW_TEXT("size", 0, "N|WxH", NULL, "size in pixels, width x height (default: the picture's own)"),
    TN_ROW_CHOICE("fit", 0, "cover|contain|stretch", "cover",
                  "how to fit a picture of another shape: cut its edges off, add borders, or distort it"),
    TN_ROW_TEXT("crop", 0, "SHARE", "1", "keep this share of the picture's middle, such as 0.875"),
    TN_ROW_CHOICE("resize", 0, "nearest|box|bilinear|bicubic|lanczos", "bilinear", "filter for resampling"),
    TN_ROW_CHOICE("color", 0, "rgb|bgr|gray", "rgb", "channels of the array, in order"),
    TN_ROW_CHOICE("layout", 0, "NCHW|NHWC|CHW|HWC", NULL,
                  "dimensions of the array (default: NCHW; for an .npz, told from its shape)"),
    TN_ROW_CHOICE("dtype", 0, "float32|float16|uint8|int8", "float32", "type of the array's elements"),
    TN_ROW_TEXT("scale", 0, "X", NULL, "value = (pixel * scale - mean) / std (default: 1/255; 1 for whole numbers)"),
    TN_ROW_TEXT("mean", 0, "A[,B,C]", "0", "one number, or one for each channel in the array's order"),
    TN_ROW_TEXT("std", 0, "A[,B,C]", "1", "one number, or one for each channel"),
    TN_ROW_TEXT("background", 0, "0..255", "255", "grey behind transparent pixels and in borders"),
    TN_ROW_TEXT("color-of", 0, "PICTURE", NULL,
                "take the colour from this picture, and only the brightness from the operand"),
    TN_ROW(REPEAT, "beside", 0, "PICTURE", NULL, "put this picture to the left of the result; may be repeated", 0, 0),
    {0},
};
// clang-format on

enum { MAX_FILE = 1 << 30 };

typedef struct {
    const tn_args *args;
    tn_pixels pixels;
    uint32_t width, height; /* 0: the picture's own */
    double crop;
    float background;
    enum tn_filter filter;
} job;

/* ---- flags ---- */

static int choice(const tn_args *a, const char *flag, const char *const names[])
{
    const char *text = tn_args_text(a, flag);
    int i = 0;
    while (text && names[i] && strcmp(names[i], text) != 0)
        i++;
    return i;
}

/* A number, or a fraction such as 1/255. */
static bool read_number(const char *text, char **end, double *out)
{
    *out = strtod(text, end);
    if (*end == text)
        return false;
    if (**end == '/') {
        const char *below = *end + 1;
        double by = strtod(below, end);
        if (*end == below)
            return false;
        *out /= by;
    }
    return isfinite(*out);
}

static int read_one(const job *j, const char *flag, double low, double high, double *out)
{
    const char *text = tn_args_text(j->args, flag);
    char *end;
    if (text && (!read_number(text, &end, out) || *end || *out < low || *out > high))
        return tn_usage_error(j->args->command, "--%s %s: a number from %g to %g is needed", flag, text, low,
                              high);
    return TN_EXIT_OK;
}

static int read_three(const job *j, const char *flag, double out[3])
{
    const char *text = tn_args_text(j->args, flag);
    char *at = (char *)(uintptr_t)text;
    int n = 0;
    for (bool more = true; more && n < 3; n++) {
        if (!read_number(at, &at, &out[n]))
            break;
        more = *at == ',';
        at += more;
    }
    if (*at || (n != 1 && n != 3))
        return tn_usage_error(j->args->command,
                              "--%s %s: one number or three are needed, such as 0.485,0.456,0.406", flag,
                              text);
    for (; n < 3; n++)
        out[n] = out[0];
    return TN_EXIT_OK;
}

static int read_size(job *j)
{
    const char *text = tn_args_text(j->args, "size");
    unsigned w = 0, h = 0;
    char end;
    if (!text)
        return TN_EXIT_OK;
    int n = sscanf(text, "%5ux%5u%c", &w, &h, &end);
    if (n == 1 && sscanf(text, "%5u%c", &w, &end) == 1)
        h = w, n = 2;
    if (n != 2 || *text == '-' || w < 1 || h < 1 || w > TN_PICTURE_SIDE || h > TN_PICTURE_SIDE)
        return tn_usage_error(j->args->command,
                              "--size %s: pixels are needed, as in 224 or 640x480 (width x height)", text);
    j->width = w;
    j->height = h;
    return TN_EXIT_OK;
}

static int read_flags(job *j)
{
    static const char *const filters[] = {"nearest", "box", "bilinear", "bicubic", "lanczos", NULL};
    static const char *const colors[] = {"rgb", "bgr", "gray", NULL};
    static const char *const layouts[] = {"NCHW", "NHWC", "CHW", "HWC", NULL};
    static const char *const types[] = {"float32", "float16", "uint8", "int8", NULL};
    static const uint8_t code[] = {kDLFloat, kDLFloat, kDLUInt, kDLInt}, bits[] = {32, 16, 8, 8};
    const tn_args *a = j->args;
    tn_pixels *p = &j->pixels;
    double background = 255;
    int layout = choice(a, "layout", layouts), type = choice(a, "dtype", types);
    j->filter = (enum tn_filter)choice(a, "resize", filters);
    j->crop = 1;
    *p = (tn_pixels){.colors = (enum tn_colors)choice(a, "color", colors),
                     .last = layout % 2,
                     .batch = layout < 2,
                     .guess = !tn_args_text(a, "layout"),
                     .code = code[type],
                     .bits = bits[type]};
    int status = read_size(j);
    if (status == TN_EXIT_OK)
        status = read_one(j, "crop", 0.01, 1, &j->crop);
    if (status == TN_EXIT_OK)
        status = read_one(j, "scale", 1e-9, 1e9, &p->scale);
    if (status == TN_EXIT_OK)
        status = read_one(j, "background", 0, 255, &background);
    if (status == TN_EXIT_OK)
        status = read_three(j, "mean", p->mean);
    if (status == TN_EXIT_OK)
        status = read_three(j, "std", p->std);
    for (int k = 0; k < 3 && status == TN_EXIT_OK; k++)
        if (p->std[k] == 0)
            status =
                tn_usage_error(a->command, "--std %s: nothing can be divided by 0", tn_args_text(a, "std"));
    j->background = (float)background;
    return status;
}

/* ---- reading ---- */

/* All of a file, up to MAX_FILE. */
static int read_all(FILE *f, const char *path, size_t room, uint8_t **out, size_t *out_n)
{
    uint8_t *at = malloc(room);
    size_t n = 0, k = 1;
    while (at && k && n < MAX_FILE) {
        n += k = fread(at + n, 1, room - n, f);
        if (n < room)
            continue;
        uint8_t *more = realloc(at, room *= 2);
        if (!more)
            free(at);
        at = more;
    }
    if (!at)
        return tn_error_print("%s: out of memory", path);
    *out = at;
    *out_n = n;
    if (ferror(f))
        return tn_error_print("%s: cannot read the file: %s", path, strerror(errno));
    return n < MAX_FILE ? TN_EXIT_OK : tn_error_print("%s: too large for a picture", path);
}

static int slurp(const char *path, uint8_t **out, size_t *out_n)
{
    struct stat st = {0};
    FILE *f = fopen(path, "rb");
    *out = NULL;
    *out_n = 0;
    if (!f)
        return tn_error_print("%s: cannot read the file: %s", path, strerror(errno));
    fstat(fileno(f), &st);
    size_t room = S_ISREG(st.st_mode) && st.st_size < MAX_FILE ? (size_t)st.st_size + 1 : 1 << 20;
    int status = read_all(f, path, room, out, out_n);
    fclose(f);
    return status;
}

static int read_picture(const char *path, tn_picture *out)
{
    char why[TN_PICTURE_WHY];
    uint8_t *at;
    size_t n;
    int status = slurp(path, &at, &n);
    if (status == TN_EXIT_OK && tn_picture_decode(at, n, out, why))
        status = tn_error_print("%s: %s", path, why);
    free(at);
    return status;
}

/* The part of the picture that is seen, and where: `cover` shows the largest part of the target's shape, `contain` all
 * of it in the middle of the target, `stretch` all of it in all of the target. */
static void choose_window(const job *j, const tn_picture *p, const tn_canvas *to, tn_window *w, tn_place *at)
{
    const char *fit = tn_args_text(j->args, "fit");
    w->width = p->width * j->crop;
    w->height = p->height * j->crop;
    *at = (tn_place){0, 0, to->width, to->height};
    double across = w->width / to->width, down = w->height / to->height; /* source pixels of a target pixel */
    if (strcmp(fit, "cover") == 0) {
        w->width = to->width * fmin(across, down);
        w->height = to->height * fmin(across, down);
    } else if (strcmp(fit, "contain") == 0) {
        at->width = (uint32_t)fmax(1, nearbyint(w->width / fmax(across, down)));
        at->height = (uint32_t)fmax(1, nearbyint(w->height / fmax(across, down)));
        at->x = (to->width - at->width) / 2;
        at->y = (to->height - at->height) / 2;
    }
    w->x = (p->width - w->width) / 2;
    w->y = (p->height - w->height) / 2;
}

/* width 0: the picture's own size */
static int load(const job *j, const char *path, uint32_t width, uint32_t height, tn_canvas *out)
{
    tn_picture p;
    tn_window w;
    tn_place at;
    int status = read_picture(path, &p);
    if (status != TN_EXIT_OK)
        return status;
    if (!width) {
        width = (uint32_t)fmax(1, nearbyint(p.width * j->crop));
        height = (uint32_t)fmax(1, nearbyint(p.height * j->crop));
    }
    bool failed = tn_canvas_alloc(out, width, height) != 0;
    for (size_t i = 0; i < 3 * (size_t)width * height && !failed; i++)
        out->rgb[i] = j->background;
    if (!failed) {
        choose_window(j, &p, out, &w, &at);
        failed = tn_resample(&p, w, j->filter, j->background, at, out) != 0;
    }
    tn_picture_deinit(&p);
    return failed ? tn_error_print("%s: out of memory, or more than %d million pixels", path,
                                   TN_PICTURE_PIXELS / 1000000)
                  : TN_EXIT_OK;
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcasecmp(path + n - k, end) == 0;
}

/* ---- changes ---- */

/* Brightness of c with the colour of another picture. */
static int take_color(const job *j, const char *path, tn_canvas *c)
{
    tn_canvas other = {0};
    int status = load(j, path, c->width, c->height, &other);
    for (size_t i = 0; i < (size_t)c->width * c->height && status == TN_EXIT_OK; i++) {
        float *pixel = c->rgb + 3 * i, *from = other.rgb + 3 * i;
        float change = tn_luma(pixel) - tn_luma(from);
        for (int k = 0; k < 3; k++)
            pixel[k] = from[k] + change;
    }
    free(other.rgb);
    return status;
}

/* Puts another picture, as high as c, to the left of it, with a gap between. */
static int put_beside(const job *j, const char *path, tn_canvas *c)
{
    tn_canvas left = {0}, both = {0};
    tn_picture p;
    const uint32_t gap = 8;
    int status = read_picture(path, &p);
    if (status != TN_EXIT_OK)
        return status;
    uint32_t width = (uint32_t)fmax(1, nearbyint((double)p.width * c->height / p.height));
    tn_picture_deinit(&p);
    if (width > TN_PICTURE_SIDE || c->width + gap + width > TN_PICTURE_SIDE ||
        tn_canvas_alloc(&both, width + gap + c->width, c->height))
        return tn_error_print("%s: the pictures together are too large", path);
    job plain = {.args = j->args, .crop = 1, .background = j->background, .filter = j->filter};
    status = load(&plain, path, width, c->height, &left);
    for (uint32_t y = 0; y < c->height && status == TN_EXIT_OK; y++) {
        float *row = both.rgb + 3 * (size_t)y * both.width;
        memcpy(row, left.rgb + 3 * (size_t)y * width, 3 * (size_t)width * sizeof *row);
        for (uint32_t x = 0; x < 3 * gap; x++)
            row[3 * width + x] = 255;
        memcpy(row + 3 * (size_t)(width + gap), c->rgb + 3 * (size_t)y * c->width,
               3 * (size_t)c->width * sizeof *row);
    }
    free(left.rgb);
    free(status == TN_EXIT_OK ? c->rgb : both.rgb);
    if (status == TN_EXIT_OK)
        *c = both;
    return status;
}

/* ---- writing ---- */

static int write_array(const job *j, const tn_canvas *c, const char *path)
{
    const char *name = tn_args_text(j->args, "name");
    tn_npz_out *z = NULL;
    tn_array a = {0};
    int status = tn_image_to_array(c, &j->pixels, name ? name : "input", &a);
    if (status == TN_EXIT_OK) {
        status = tn_npz_create(path, &z);
        if (status == TN_EXIT_OK)
            status = tn_npz_add(z, &a);
        status = tn_npz_close(z, status);
    }
    tn_array_drop(&a);
    return status;
}

static int write_picture(const tn_canvas *c, const char *path)
{
    uint8_t *at = NULL;
    size_t n = 0;
    int failed = ends_with(path, ".png")   ? tn_picture_to_png(c, &at, &n)
                 : ends_with(path, ".bmp") ? tn_picture_to_bmp(c, &at, &n)
                                           : tn_picture_to_jpeg(c, &at, &n);
    int status = failed ? tn_error_print("%s: the picture cannot be written in this format", path)
                        : tn_output_write(path, at, n);
    free(at);
    return status;
}

static int convert(const job *j, const char *output, tn_canvas *c)
{
    const tn_args *a = j->args;
    bool from_array = ends_with(a->operand, ".npz"), to_array = ends_with(output, ".npz");
    if (from_array && to_array)
        return tn_error_print("both %s and %s are arrays; one has to be a picture", a->operand, output);
    if (from_array && j->width)
        return tn_usage_error(a->command, "--size has no meaning for an array, whose size is its shape");
    int status = from_array ? tn_image_from_npz(a->operand, tn_args_text(a, "name"), &j->pixels, c)
                            : load(j, a->operand, j->width, j->height, c);
    if (status == TN_EXIT_OK && tn_args_text(a, "color-of"))
        status = take_color(j, tn_args_text(a, "color-of"), c);
    for (int i = tn_args_count(a, "beside"); i > 0 && status == TN_EXIT_OK; i--)
        status = put_beside(j, tn_args_at(a, "beside", i - 1), c);
    if (status == TN_EXIT_OK)
        status = to_array ? write_array(j, c, output) : write_picture(c, output);
    return status;
}

int tn_image_command(const tn_args *args)
{
    static const char *const kinds[] = {".npz", ".png", ".jpg", ".jpeg", ".bmp"};
    const char *output = tn_args_text(args, "output");
    bool known = false;
    job j = {.args = args};
    tn_canvas c = {0};
    if (!output)
        return tn_usage_error(args->command, "--output is missing");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= ends_with(output, kinds[i]);
    if (!known)
        return tn_usage_error(args->command, "--output %s: the name has to end in .npz, .png, .jpg or .bmp",
                              output);
    int status = read_flags(&j);
    tn_cleanup_begin(false);
    if (status == TN_EXIT_OK)
        status = convert(&j, output, &c);
    tn_cleanup_end();
    free(c.rgb);
    return status;
}
