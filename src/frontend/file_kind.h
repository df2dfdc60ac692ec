#ifndef TN_FRONTEND_FILE_KIND_H
#define TN_FRONTEND_FILE_KIND_H
/* What a file is that somebody gave where a model, a package or an archive of arrays belongs: told by its content, or
 * by its name where content does not tell. Bytes are looked at, never trusted or run. */
#include "base/buf.h"

#include <stdbool.h>

enum tn_file_kind_role {
    TN_FILE_KIND_OTHER,   /* of no use here as it is */
    TN_FILE_KIND_FOREIGN, /* a model or weights in a format that cannot be read */
    TN_FILE_KIND_MODEL,   /* a model that can be read */
    TN_FILE_KIND_PACKAGE,
    TN_FILE_KIND_ARRAYS, /* an .npz archive */
    TN_FILE_KIND_ARRAY,  /* an .npy file */
    TN_FILE_KIND_PICTURE,
    TN_FILE_KIND_TEXT,
};

typedef struct tn_file_kind { /* texts live for ever */
    enum tn_file_kind_role role;
    const char *what;   /* "a GGUF file (llama.cpp)" */
    const char *advice; /* how to get a model from it, or what else it is good for */
} tn_file_kind;

/* NULL: nothing is known about it. */
const tn_file_kind *tn_file_kind_of(const char *path, const uint8_t *at, size_t n);

const tn_file_kind *tn_file_kind_of_folder(const char *path); /* never NULL */

/* What such a file is not: "a model", or "a model that can be read". */
const char *tn_file_kind_wanted(const tn_file_kind *k);

/* Writes "PATH is a Git LFS pointer, not a package; run ..." to *out. false, and nothing is written: the file may be
 * what is wanted (TN_FILE_KIND_MODEL, _PACKAGE or _ARRAYS), cannot be opened, or nothing is known about it. */
bool tn_file_kind_explain(const char *path, enum tn_file_kind_role wanted, tn_buf *out);

#endif
