/* JPEG through libjpeg. Its warnings about damaged data are errors here: what it guesses for lost parts is no picture
 * to compute with. The number of scans is bounded, since a small progressive file can ask for thousands of
 * full passes. */
#include "picture/picture.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum { MAX_SCANS = 100, QUALITY = 95 };

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char *why; /* TN_PICTURE_WHY bytes */
} errors;

static void stop(j_common_ptr j)
{
    errors *e = (errors *)j->err;
    char text[JMSG_LENGTH_MAX];
    e->base.format_message(j, text);
    tn_picture_fail(e->why, "damaged JPEG: %.150s", text);
    longjmp(e->back, 1);
}

static void warn(j_common_ptr j, int level)
{
    const int code = j->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM)
        stop(j);
}

static void watch(j_common_ptr j)
{
    errors *e = (errors *)j->err;
    if (((j_decompress_ptr)j)->input_scan_number > MAX_SCANS) {
        tn_picture_fail(e->why, "damaged JPEG: more than %d scans", MAX_SCANS);
        longjmp(e->back, 1);
    }
}

static struct jpeg_error_mgr *catch_errors(errors *e)
{
    jpeg_std_error(&e->base);
    e->base.error_exit = stop;
    e->base.emit_message = warn;
    return &e->base;
}

static uint8_t find_orientation(const struct jpeg_decompress_struct *j)
{
    for (jpeg_saved_marker_ptr m = j->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && memcmp(m->data, "Exif\0\0", 6) == 0)
            return tn_exif_orientation(m->data + 6, m->data_length - 6);
    return 0;
}

/* Photoshop's CMYK has its values inverted, and says so by an Adobe marker. */
static void from_cmyk(uint8_t *row, uint32_t width, const uint8_t *in, int inverted)
{
    for (uint32_t x = 0; x < width; x++)
        for (int k = 0; k < 3; k++) {
            int ink = in[4 * x + (unsigned)k], black = in[4 * x + 3];
            if (!inverted)
                ink = 255 - ink, black = 255 - black;
            row[3 * x + (unsigned)k] = (uint8_t)((ink * black + 127) / 255);
        }
}

/* Everything that may jump out: what it allocates hangs on *j, *out and *row. */
static int decode(struct jpeg_decompress_struct *j, const void *at, size_t n, tn_picture *out, uint8_t **row,
                  char *why)
{
    jpeg_mem_src(j, at, n);
    jpeg_save_markers(j, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(j, TRUE);
    const int cmyk = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
    out->width = j->image_width;
    out->height = j->image_height;
    out->channels = j->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    out->bits = 8;
    out->orientation = find_orientation(j);
    if (tn_picture_alloc(out, why))
        return 1;
    j->out_color_space = cmyk ? JCS_CMYK : out->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    j->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(j);
    if (cmyk && !(*row = malloc((size_t)out->width * 4)))
        return tn_picture_fail(why, TN_PICTURE_NO_MEMORY);
    while (j->output_scanline < out->height) {
        uint8_t *to = (uint8_t *)out->at + (size_t)j->output_scanline * out->width * out->channels;
        jpeg_read_scanlines(j, cmyk ? row : &to, 1);
        if (cmyk)
            from_cmyk(to, out->width, *row, j->saw_Adobe_marker);
    }
    jpeg_finish_decompress(j);
    return 0;
}

int tn_picture_jpeg(const void *at, size_t n, tn_picture *out, char why[TN_PICTURE_WHY])
{
    struct jpeg_decompress_struct j = {0};
    struct jpeg_progress_mgr progress = {.progress_monitor = watch};
    errors e = {.why = why};
    uint8_t **row = calloc(1, sizeof *row);
    volatile int failed = 1; /* survives a jump */
    if (!row)
        return tn_picture_fail(why, TN_PICTURE_NO_MEMORY);
    j.err = catch_errors(&e);
    if (setjmp(e.back) == 0) {
        jpeg_create_decompress(&j);
        j.progress = &progress;
        failed = decode(&j, at, n, out, row, why);
    } else {
        failed = 1;
    }
    jpeg_destroy_decompress(&j);
    free(*row);
    free(row);
    return failed;
}

/* ---- writing ---- */

static void encode(struct jpeg_compress_struct *j, const tn_canvas *c, uint8_t *row)
{
    j->image_width = c->width;
    j->image_height = c->height;
    j->input_components = 3;
    j->in_color_space = JCS_RGB;
    jpeg_set_defaults(j);
    jpeg_set_quality(j, QUALITY, TRUE);
    j->optimize_coding = TRUE;
    jpeg_start_compress(j, TRUE);
    for (uint32_t y = 0; y < c->height; y++) {
        tn_canvas_row(c, y, row);
        jpeg_write_scanlines(j, &row, 1);
    }
    jpeg_finish_compress(j);
}

int tn_picture_to_jpeg(const tn_canvas *c, uint8_t **out, size_t *out_n)
{
    struct jpeg_compress_struct j = {0};
    char why[TN_PICTURE_WHY];
    errors e = {.why = why};
    unsigned long *n = calloc(1, sizeof *n);
    uint8_t *row = malloc((size_t)c->width * 3);
    volatile int failed = 1; /* survives a jump */
    *out = NULL;
    j.err = catch_errors(&e);
    if (n && row && setjmp(e.back) == 0) {
        jpeg_create_compress(&j);
        jpeg_mem_dest(&j, out, n);
        encode(&j, c, row);
        *out_n = *n;
        failed = 0;
    }
    jpeg_destroy_compress(&j);
    free(row);
    free(n);
    return failed;
}
