/* Kinds of files: magic numbers first, then the formats that need a closer look (zip, tar, ELF, JSON, protobuf, text),
 * then names. Each row says what to do with such a file. Folders are told by what lies in them. */
#include "frontend/file_kind.h"

#include "base/utf8.h"
#include "base/wire/pb.h"
#include "base/wire/tar.h"
#include "frontend/frontend.h"
#include "frontend/import/look.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

// clang-format off
#define EXPORT_TORCH "export it from PyTorch: torch.onnx.export(model, example_inputs, \"model.onnx\")"
#define EXPORT_ONEFLOW \
    "their graphs (model.mlir) are not read: export the model to ONNX with " \
    "oneflow_onnx.oneflow2onnx.util.export_onnx_model(graph)"
#define UNPACK "unpack it and give the file inside"
#define IMAGE "`tenon image` turns it into an input: tenon image PICTURE -o in.npz"
#define AGAIN "download or export it again"
#define NO_GRAPH "it holds weights without a graph: export the model to ONNX with the framework that it comes from"


static const struct { const char *magic; uint8_t n, at; tn_file_kind kind; } magics[] = {
#define MAGIC(bytes, offset, role, what, advice) {bytes, sizeof bytes - 1, offset, {TN_FILE_KIND_##role, what, advice}},
#include "frontend/file_kind.def"
};

enum {
#define KIND(name, role, what, advice) name,
#include "frontend/file_kind.def"
    N_KIND
};

static const tn_file_kind kinds[N_KIND] = {
#define KIND(name, role, what, advice) {TN_FILE_KIND_##role, what, advice},
#include "frontend/file_kind.def"
};

static const struct { const char *suffix; int kind; } suffixes[] = { /* content says nothing, or not enough */
    {".pb", GRAPH_DEF}, {".pdmodel", PADDLE},
};
// clang-format on

static bool begins(const uint8_t *at, size_t n, const char *text)
{
    return look_begins((tn_bytes){at, n}, text);
}

static bool holds(const uint8_t *at, size_t n, const char *text)
{
    return look_holds((tn_bytes){at, n}, text);
}

static bool ends(const char *name, size_t n, const char *suffix)
{
    size_t k = strlen(suffix);
    return n >= k && strncasecmp(name + n - k, suffix, k) == 0;
}

/* ---- archives ---- */

static uint32_t u16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

static uint32_t u32(const uint8_t *at) { return u16(at) | u16(at + 2) << 16; }

/* The names in the directory at a zip archive's end, which the last 64 KiB must point to. */
static int kind_of_zip(const uint8_t *at, size_t n)
{
    enum { END_BYTES = 22, ENTRY_BYTES = 46, COMMENT = 65535, LOOKED_AT = 4096 };
    static const struct {
        const char *suffix;
        int kind;
    } rows[] = {{".npy", NPZ}, {"archive_format", TORCH_EXPORT}, {"data.pkl", TORCH_WEIGHTS}};
    size_t end = n < END_BYTES ? 0 : n - END_BYTES, least = end > COMMENT ? end - COMMENT : 0;
    while (end > least && !begins(at + end, n - end, "PK\5\6"))
        end--;
    if (n < END_BYTES || !begins(at + end, n - end, "PK\5\6"))
        return TRUNCATED_ZIP;
    int kind = ZIP;
    size_t pos = u32(at + end + 16);
    for (int i = 0; i < LOOKED_AT && pos + ENTRY_BYTES <= end && begins(at + pos, end - pos, "PK\1\2"); i++) {
        const char *name = (const char *)at + pos + ENTRY_BYTES;
        size_t k = u16(at + pos + 28), next = pos + ENTRY_BYTES + k + u16(at + pos + 30) + u16(at + pos + 32);
        if (pos + ENTRY_BYTES + k > end)
            break;
        for (size_t r = 0; r < sizeof rows / sizeof *rows && (kind == ZIP || kind == TORCH_WEIGHTS); r++)
            kind = ends(name, k, rows[r].suffix) ? rows[r].kind : kind;
        pos = next;
    }
    return kind;
}

static int kind_of_tar(const uint8_t *at, size_t n)
{
    tn_tar t = tn_tar_open(at, n);
    tn_tar_entry e;
    int kind = TAR;
    while (tn_tar_next(&t, &e)) {
        if (ends(e.name, e.name_n, "mod.so"))
            return PACKAGE;
        if (ends(e.name, e.name_n, "metadata.json"))
            kind = MLF;
        if (kind == TAR && ends(e.name, e.name_n, ".onnx"))
            kind = TAR_OF_ONNX;
    }
    return kind;
}

static int kind_of_elf(const uint8_t *at, size_t n)
{
    enum { TYPE = 16, RELOCATABLE = 1, SHARED = 3 }; /* e_type, little-endian */
    uint32_t type = n > TYPE + 1 ? u16(at + TYPE) : 0;
    return type == RELOCATABLE ? OBJECT : type == SHARED ? PACKAGE_SO : PROGRAM;
}

/* ---- protobuf ---- */

/* Field numbers tell the messages apart: ModelProto of ONNX has at most 26, SavedModel is a version and graphs,
 * GraphDef a list of nodes that begin with two names, TensorProto sizes and a type. */
static int kind_of_protobuf(const char *path, const uint8_t *at, size_t n)
{
    tn_pb r = tn_pb_open(at, n);
    uint32_t seen = 0, most = 0, fields = 0;
    bool node = false;
    for (; fields < 64 && tn_pb_next(&r); fields++) {
        if (r.field == 1 && r.wire == TN_PB_LEN && !node) {
            tn_pb sub = tn_pb_sub(&r);
            node = tn_pb_next(&sub) && sub.field == 1 && sub.wire == TN_PB_LEN && tn_pb_next(&sub) &&
                   sub.field == 2 && sub.wire == TN_PB_LEN;
        }
        most = r.field > most ? r.field : most;
        seen |= r.field < 16 && r.wire < 3 ? 1u << (r.field + (r.wire == TN_PB_LEN ? 16 : 0)) : 0;
    }
    enum { NUMBER = 1, TEXT_AT = 16 };
    const uint32_t version = NUMBER << 1, graphs = 1u << (TEXT_AT + 2), type = NUMBER << 2;
    if (!fields || (r.error && fields < 2))
        return -1;
    if (!r.error && seen == (version | graphs) && most == 2)
        return SAVED_MODEL;
    if (!r.error && (seen & type) && ends(path, strlen(path), ".pb") && most <= 15)
        return TENSOR;
    if (node)
        return GRAPH_DEF;
    return r.error && (seen & version) && ends(path, strlen(path), ".onnx") && at[0] == 8 ? TRUNCATED_ONNX
                                                                                          : -1;
}

/* ---- text ---- */

static int kind_of_json(const uint8_t *at, size_t n)
{
    size_t head = n < 1 << 20 ? n : 1 << 20;
    if (holds(at, head, "\"arg_nodes\""))
        return holds(at, head, "\"node_row_ptr\"") && holds(at, head, "tvm_op") ? TVM_GRAPH : JSON;
    return holds(at, head, "\"modelTopology\"") ? TFJS : JSON;
}

static bool is_text(const uint8_t *at, size_t n)
{
    char head[260];
    size_t k = n < 256 ? n : 256;
    memcpy(head, at, k);
    memset(head + k, 0, 4);
    for (size_t i = 0; i < k;) {
        size_t step = strchr("\n\r\t\f", head[i]) && head[i] ? 1 : tn_utf8_shown(head + i);
        if (!step && k - i > 3)
            return false;
        i += step ? step : 4;
    }
    return k > 0;
}

static int kind_of_text(const uint8_t *at, size_t n)
{
    size_t head = n < 4096 ? n : 4096, skip = begins(at, n, "\xef\xbb\xbf") ? 3 : 0;
    while (skip < n && strchr(" \t\r\n", at[skip]) && at[skip])
        skip++;
    const char *text = (const char *)at + skip;
    size_t left = n - skip;
    if ((left >= 14 && strncasecmp(text, "<!doctype html", 14) == 0) ||
        (left >= 5 && strncasecmp(text, "<html", 5) == 0))
        return HTML;
    if (left && *text == '<')
        return holds(at, head, "<html") ? HTML : holds(at, head, "<net ") ? OPENVINO : XML;
    if (left && *text == '{')
        return kind_of_json(at, n);
    return TEXT;
}

/* ---- all of them ---- */

static bool is_safetensors(const uint8_t *at, size_t n)
{
    return n > 10 && at[8] == '{' && at[9] == '"' && u32(at + 4) == 0 && u32(at) < n;
}

static int kind_by_content(const char *path, const uint8_t *at, size_t n)
{
    if (n == 0)
        return EMPTY;
    if (begins(at, n, "PK\3\4") || begins(at, n, "PK\5\6"))
        return kind_of_zip(at, n);
    if (n > 262 && memcmp(at + 257, "ustar", 5) == 0)
        return kind_of_tar(at, n);
    if (begins(at, n, "\177ELF"))
        return kind_of_elf(at, n);
    if (n > 26 && begins(at, n, "BM") && u32(at + 6) == 0)
        return BITMAP;
    if (is_safetensors(at, n))
        return SAFETENSORS;
    return is_text(at, n) ? kind_of_text(at, n) : kind_of_protobuf(path, at, n);
}

/* What its name says, where its content says nothing (kind -1) or not enough. */
static const tn_file_kind *kind_by_name(const char *path, int kind)
{
    const tn_format *model = tn_format_guess(path, NULL);
    if (model && (kind < 0 || model->text))
        return &model->kind;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends(path, strlen(path), suffixes[i].suffix))
            return &kinds[suffixes[i].kind];
    return kind < 0 ? NULL : &kinds[kind];
}

/* oneflow.save pickles a dict whose first key is this. */
static bool is_oneflow(const uint8_t *at, size_t n)
{
    static const char key[] = "__oneflow__";
    return n > 64 && at[0] == 0x80 && memmem(at, 64, key, sizeof key - 1);
}

const tn_file_kind *tn_file_kind_of(const char *path, const uint8_t *at, size_t n)
{
    const tn_format *model = n ? tn_format_sniff(at, n) : NULL;
    if (model)
        return &model->kind;
    if (is_oneflow(at, n))
        return &kinds[ONEFLOW];
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (n >= (size_t)magics[i].at + magics[i].n &&
            memcmp(at + magics[i].at, magics[i].magic, magics[i].n) == 0)
            return &magics[i].kind;
    int kind = kind_by_content(path, at, n);
    return kind < 0 || kind == TEXT || kind == JSON ? kind_by_name(path, kind) : &kinds[kind];
}

static bool has(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    return (size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path && stat(path, &st) == 0;
}

const tn_file_kind *tn_file_kind_of_folder(const char *path)
{
    static const struct {
        const char *name;
        int kind;
    } rows[] = {{"mod.so", FOLDER_PACKAGE},
                {"pickled_data", ONEFLOW},
                {"snapshot_done", ONEFLOW},
                {"model.mlir", ONEFLOW_GRAPH}};
    for (size_t i = 0; i < tn_n_formats; i++)
        for (const char *const *f = tn_formats[i].inside; f && *f; f++)
            if (has(path, *f))
                return &tn_formats[i].kind;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has(path, rows[i].name))
            return &kinds[rows[i].kind];
    return &kinds[FOLDER];
}

/* What to do where another role is wanted than the file has. */
static void advise(const tn_file_kind *k, const char *path, enum tn_file_kind_role wanted, tn_buf *out)
{
    static const char arrays[] = "write one with numpy.savez(\"in.npz\", NAME=array)";
    if (wanted == TN_FILE_KIND_PACKAGE && k->role == TN_FILE_KIND_MODEL)
        tn_buf_printf(out, "compile it first: tenon compile %s -o model.tar", path);
    else if (wanted == TN_FILE_KIND_PACKAGE && k->role == TN_FILE_KIND_TEXT)
        tn_buf_str(out, "`tenon compile` makes a package of a model");
    else if (wanted == TN_FILE_KIND_ARRAYS && k->role != TN_FILE_KIND_ARRAY &&
             k->role != TN_FILE_KIND_PICTURE && k->role != TN_FILE_KIND_OTHER)
        tn_buf_str(out, arrays);
    else
        tn_buf_str(out, k->advice);
}

const char *tn_file_kind_wanted(const tn_file_kind *k)
{
    return k->role == TN_FILE_KIND_FOREIGN ? "a model that can be read" : "a model";
}

bool tn_file_kind_explain(const char *path, enum tn_file_kind_role wanted, tn_buf *out)
{
    static const char *const name[] = {
        [TN_FILE_KIND_PACKAGE] = "a package", [TN_FILE_KIND_ARRAYS] = "an .npz archive of arrays"};
    struct stat st;
    tn_ctx ctx;
    tn_file f = {0};
    const tn_file_kind *k = NULL;
    tn_ctx_init(&ctx);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        k = tn_file_kind_of_folder(path);
    else if (tn_file_map(&ctx, path, &f) == TN_OK)
        k = tn_file_kind_of(path, f.at, f.n);
    bool known = k && k->role != wanted &&
                 !(wanted == TN_FILE_KIND_ARRAYS && k == &kinds[ZIP]); /* an archive of none */
    if (known) {
        tn_buf_printf(out, "%s is %s, not %s; ", path, k->what,
                      wanted == TN_FILE_KIND_MODEL ? tn_file_kind_wanted(k) : name[wanted]);
        advise(k, path, wanted, out);
    }
    tn_file_unmap(&f);
    tn_ctx_deinit(&ctx);
    return known;
}
