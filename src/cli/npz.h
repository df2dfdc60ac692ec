#ifndef TN_CLI_NPZ_H
#define TN_CLI_NPZ_H
/* NumPy's .npz: a zip of .npy files. Read stored and deflated, written stored and with the same bytes each
 * time. All errors are printed, naming the file and the array. */
#include "base/wire/npy.h"

#include <stdbool.h>

typedef struct tn_npz tn_npz; /* an archive opened for reading */

typedef struct tn_array {
    char *name; /* heap */
    tn_npy type;
    void *data;    /* heap, 64-aligned, type.data_bytes (at least 1); NULL: not read */
    bool borrowed; /* the data are another's */
} tn_array;
void tn_array_drop(tn_array *a); /* frees the data, if they are the array's own */

/* Opens the archive and reads the headers of all its arrays; the data come with tn_npz_read, once it is known
 * that they are wanted. Both return an enum tn_exit; free(NULL) does nothing. */
int tn_npz_open(const char *path, tn_npz **out);
int tn_npz_open_any(const char *path,
                    tn_npz **out); /* also with arrays of texts, which tn_npz_open refuses */
int tn_npz_count(const tn_npz *z);
const tn_array *tn_npz_at(const tn_npz *z, int i);
int tn_npz_read(tn_npz *z, int i, void **out_data); /* heap, 64-aligned, the caller's */
void tn_npz_free(tn_npz *z);

/* Writes arrays under their names, each as it is given: nothing of it is kept. The file is there whole or not at all:
 * close returns `status`, or what became of it where that is TN_EXIT_OK. Close whatever create returned. */
typedef struct tn_npz_out tn_npz_out;
int tn_npz_create(const char *path, tn_npz_out **out);
int tn_npz_add(tn_npz_out *z, const tn_array *a);
int tn_npz_close(tn_npz_out *z, int status);

/* 64-aligned heap memory of at least one byte, or NULL. */
void *tn_array_alloc(size_t n);

#endif
