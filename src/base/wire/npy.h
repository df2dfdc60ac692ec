#ifndef TN_BASE_WIRE_NPY_H
#define TN_BASE_WIRE_NPY_H
/* The header of NumPy's .npy format, versions 1 to 3: little endian, plain numbers and texts. Nothing is allocated. */
#include <stddef.h>
#include <stdint.h>

enum { TN_NPY_DIMS = 32, TN_NPY_HEADER_MAX = 1 << 16 };

enum tn_npy_code { /* DLPack's numbers; BYTES: elements that NumPy has no type for, such as those of ml_dtypes */
                   TN_NPY_INT,
                   TN_NPY_UINT,
                   TN_NPY_FLOAT,
                   TN_NPY_BYTES,
                   TN_NPY_COMPLEX = 5,
                   TN_NPY_BOOL,
                   TN_NPY_TEXT = 200
};

typedef struct tn_npy {
    uint8_t code,
        bits; /* float 16, 32, 64; int and uint 8 to 64; complex 64, 128; bool 8; bytes 8, 16; text 32 */
    uint32_t chars;       /* of a text: code points of 4 bytes, at least 1, filled up with 0 */
    uint8_t column_major; /* Fortran order: the first index runs fastest */
    int32_t ndim;
    int64_t shape[TN_NPY_DIMS]; /* 0 or more each */
    size_t header_bytes;        /* where the data start */
    size_t data_bytes;          /* product of the shape times the element's size; fits in size_t */
} tn_npy;

/* Bytes of the whole header, from its first 12 (or fewer, where the file ends): at most TN_NPY_HEADER_MAX. 0:
 * not readable, *out_why says why in words that go behind a colon. */
size_t tn_npy_header_bytes(const void *at, size_t n, const char **out_why);

/* Reads the header that lies in at[0..n). Returns 0, or 1 with *out_why as above (it may point into `text`,
 * which has room for a message made up from the header). */
int tn_npy_parse(const void *at, size_t n, tn_npy *out, char text[128], const char **out_why);

size_t tn_npy_element_bytes(const tn_npy *npy);

/* Puts the elements of a column-major array into row-major order; in and out do not overlap. */
void tn_npy_row_major(const tn_npy *npy, const void *in, void *out);

/* Writes the header of npy's code, bits and shape, version 1, a multiple of 64 bytes; returns its length, at
 * most 1024. Element types that NumPy lacks are the caller's fault. */
size_t tn_npy_print(const tn_npy *npy, char out[1024]);

#endif
