/* Data of tensors in files beside the model. A model may come from anybody, so it names files of its own folder only:
 * no absolute path, no `..`, nothing that a symbolic link leads outside. Files are mapped and live as long as the
 * module; offset and length are checked against the file before anything is read. */
#include "frontend/import/import.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const tn_blob *imp_refuse_file(imp_model *im, const tn_loc *loc, const char *name, const char *fmt,
                               const char *what)
{
    char *why = tn_arena_printf(&im->scratch, fmt, what);
    (void)imp_error(im, IMP_BAD_FILE, loc, "tensor \"%s\" keeps its data in another file, but %s",
                    name ? name : "", why);
    return NULL;
}

/* ---- paths ---- */

/* Why a location is not one beside the model; NULL: it is. */
static const char *bad_location(const char *s)
{
    if (!*s)
        return "the file is not named";
    if (*s == '/' || strchr(s, '\\') || (s[0] && s[1] == ':'))
        return "\"%s\" is not a path beside the model";
    for (const char *at = s; *at; at += strcspn(at, "/"), at += *at == '/')
        if (strcspn(at, "/") == 2 && at[0] == '.' && at[1] == '.')
            return "\"%s\" is outside the model's folder";
    return NULL;
}

/* The file that a location means, in scratch; NULL: *out_why. */
static const char *find_file(imp_model *im, const char *location, const char **out_why)
{
    const char *slash = strrchr(im->file, '/');
    const char *folder =
        slash ? tn_arena_strndup(&im->scratch, im->file, (size_t)(slash - im->file) + (slash == im->file))
              : ".";
    char root_room[PATH_MAX], path_room[PATH_MAX];
    char *root = realpath(folder, root_room);
    char *path = root ? realpath(tn_arena_printf(&im->scratch, "%s/%s", root, location), path_room) : NULL;
    size_t n = root ? strlen(root) : 0;
    const char *found = NULL;
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        *out_why = "there is no file \"%s\" beside the model; put it there";
    else if (strncmp(path, root, n) != 0 || (path[n] != '/' && n > 1))
        *out_why = "\"%s\" is a link to a place outside the model's folder";
    else
        found = tn_arena_strdup(&im->scratch, path);
    return found;
}

static void unmap(tn_blob *b) { tn_file_unmap(b->user); }

/* Maps a file for as long as the module lives; NULL: reported. */
static const tn_file *map_file(imp_model *im, const char *path)
{
    tn_file *f = TN_NEW(im->g->arena, tn_file);
    if (tn_file_map(im->g->ctx, path, f) != TN_OK)
        return NULL;
    tn_blob *b = tn_graph_blob_ref(im->g, f->at, f->n);
    b->release = unmap;
    b->user = f;
    tn_vec_push(&im->g->blob, b);
    return f;
}

const tn_file *imp_open_file(imp_model *im, const char *location, const char **out_why)
{
    *out_why = bad_location(location);
    for (size_t i = 0; i < im->data.n && !*out_why; i++)
        if (strcmp(im->data.at[i].location, location) == 0)
            return im->data.at[i].file;
    const char *path = *out_why ? NULL : find_file(im, location, out_why);
    imp_data_file d = {location, NULL};
    if (!path)
        return NULL;
    d.file = map_file(im, path);
    tn_vec_push(&im->data, d);
    return d.file;
}

/* ---- data ---- */

const tn_blob *imp_external_data(imp_model *im, const imp_external *e, size_t bytes, const char *name,
                                 const tn_loc *loc)
{
    const char *why;
    const tn_file *f = imp_open_file(im, e->location, &why);
    if (!f)
        return why ? imp_refuse_file(im, loc, name, why, e->location) : NULL;
    if (e->length != bytes)
        return imp_refuse_file(im, loc, name, "%s",
                               tn_arena_printf(&im->scratch,
                                               "its dimensions need %zu bytes, but %llu are given", bytes,
                                               (unsigned long long)e->length));
    if (e->offset > f->n || e->length > f->n - e->offset)
        return imp_refuse_file(
            im, loc, name, "%s",
            tn_arena_printf(&im->scratch, "bytes %llu to %llu of \"%s\" do not exist: it has %zu",
                            (unsigned long long)e->offset, (unsigned long long)(e->offset + e->length),
                            e->location, f->n));
    return tn_graph_blob_ref(im->g, f->at + e->offset, bytes);
}
