/* ONNX Runtime as a side of a comparison: python3 runs it, where it has the package. The model, the inputs and the
 * outputs are files of a temporary folder. */
#include "base/process.h"
#include "cli/compare.h"
#include "cli/feed.h"
#include "cli/output.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Outputs are written by their numbers, and their names beside them: an archive cannot hold every name. */
static const char script[] =
    "import os, sys\n"
    "model, folder, work, optimise, quiet = sys.argv[1:6]\n"
    "os.environ['TMPDIR'] = work\n" /* what it leaves there is removed with the folder */
    "try:\n"
    "    import numpy as np, onnxruntime as ort\n"
    "except ImportError as e:\n"
    "    sys.exit(f'python3 has no ONNX Runtime: {e}')\n"
    "options = ort.SessionOptions()\n"
    "options.log_severity_level = 3\n"
    "if optimise == '0':\n"
    "    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL\n"
    "options.add_session_config_entry('session.model_external_initializers_file_folder_path', folder)\n"
    "try:\n"
    "    data = open(model, 'rb').read()\n"
    "    session = ort.InferenceSession(data, options, providers=['CPUExecutionProvider'])\n"
    "    given = np.load(os.path.join(work, 'in.npz'))\n"
    "    names = open(os.path.join(work, 'in.txt')).read().split('\\n')\n"
    "    feed = {n: given[f'v{i}'] for i, n in enumerate(names) if n in {x.name for x in "
    "session.get_inputs()}}\n"
    "    out = session.run(None, feed)\n"
    "except Exception as e:\n"
    "    sys.exit(1 if quiet == '1' else f'ONNX Runtime: {e}')\n"
    "keep = [(x.name, v) for x, v in zip(session.get_outputs(), out)\n"
    "        if isinstance(v, np.ndarray) and v.dtype.kind in 'fiub']\n"
    "np.savez(os.path.join(work, 'out.npz'), **{f'v{i}': v for i, (_, v) in enumerate(keep)})\n"
    "open(os.path.join(work, 'out.txt'), 'w').write('\\n'.join(n for n, _ in keep))\n";

typedef struct runner {
    char folder[3800], path[4096];
} runner;

static const char *file(runner *r, const char *name)
{
    snprintf(r->path, sizeof r->path, "%s/%s", r->folder, name);
    return r->path;
}

static int write_inputs(runner *r, const tn_values *in)
{
    tn_npz_out *z;
    char *names = NULL, number[24];
    size_t n = 0;
    FILE *to = open_memstream(&names, &n);
    int status = tn_npz_create(file(r, "in.npz"), &z);
    if (!to)
        status = tn_error_print("out of memory");
    for (uint32_t i = 0; i < in->n && status == TN_EXIT_OK; i++) {
        DLTensor t = tn_array_view(&in->array[i]);
        tn_array a = {0};
        snprintf(number, sizeof number, "v%u", (unsigned)i);
        status = tn_array_of(number, &t, &a);
        if (status == TN_EXIT_OK)
            status = tn_npz_add(z, &a);
        tn_array_drop(&a);
        fprintf(to, "%s%s", i ? "\n" : "", in->array[i].name);
    }
    if (to)
        fclose(to);
    status = tn_npz_close(z, status);
    if (status == TN_EXIT_OK)
        status = tn_output_write(file(r, "in.txt"), names, n);
    free(names);
    return status;
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");
    if (f && getdelim(&text, &room, 0, f) < 0) {
        free(text);
        text = strdup("");
    }
    if (f)
        fclose(f);
    return text;
}

static int read_outputs(runner *r, tn_values *out)
{
    tn_npz *z = NULL;
    char *names = read_text(file(r, "out.txt")), *at = names;
    int status = names ? tn_npz_open(file(r, "out.npz"), &z) : tn_error_print("ONNX Runtime left no outputs");
    for (int i = 0; status == TN_EXIT_OK && i < tn_npz_count(z); i++) {
        tn_array a = *tn_npz_at(z, i);
        char *name = strsep(&at, "\n");
        status = tn_npz_read(z, i, &a.data);
        DLTensor t = tn_array_view(&a);
        if (status == TN_EXIT_OK)
            status = tn_values_add(out, name ? name : a.name, &t, a.type.data_bytes);
        free(a.data);
    }
    tn_npz_free(z);
    free(names);
    return status;
}

/* The folder of the model, where its external data are. */
static void folder_of(const char *path, char *folder, size_t room)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, room, "%.*s", (int)(slash - path) + 1, path);
    else
        snprintf(folder, room, ".");
}

static int run(runner *r, const char *path, const tn_side_model *model, bool optimise, bool quiet)
{
    char folder[4096], copy[sizeof r->path];
    int code = 0;
    folder_of(path, folder, sizeof folder);
    snprintf(copy, sizeof copy, "%s", file(r, "model.onnx"));
    int status = model ? tn_output_write(copy, model->at, model->n) : TN_EXIT_OK;
    if (status != TN_EXIT_OK)
        return status;
    const char *const argv[] = {
        "python3",         "-c", script, model ? copy : path, folder, r->folder, optimise ? "1" : "0",
        quiet ? "1" : "0", NULL};
    int err = tn_process_run(argv, NULL, &code);
    if (err)
        return tn_error_print("cannot run python3, which is to run ONNX Runtime: %s", strerror(err));
    return code ? TN_EXIT_ERROR : TN_EXIT_OK;
}

static void remove_files(runner *r)
{
    DIR *d = opendir(r->folder);
    for (struct dirent *e; d && (e = readdir(d));)
        unlink(file(r, e->d_name));
    if (d)
        closedir(d);
    rmdir(r->folder);
}

int tn_onnxruntime_run(const char *path, const tn_side_model *model, bool optimise, const tn_values *in,
                       bool quiet, tn_values *out)
{
    runner r = {0};
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(r.folder, sizeof r.folder, "%s/tenon-ort-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n >= (int)sizeof r.folder || !mkdtemp(r.folder))
        return tn_error_print("cannot make a temporary folder in %s", tmp ? tmp : "/tmp");
    int status = write_inputs(&r, in);
    if (status == TN_EXIT_OK)
        status = run(&r, path, model, optimise, quiet);
    if (status == TN_EXIT_OK)
        status = read_outputs(&r, out);
    remove_files(&r);
    return status;
}
