/* PyTorch -> Relay: which kind of file it is, and what it gives. */
#include "frontend/pytorch/pytorch.h"

#include <string.h>

const imp_format pt_format = {
    .version = "version",
    .tables = (const imp_table[]){{0}},
    .id =
        {
            [IMP_NO_OUTPUTS] = "pytorch-E016",    [IMP_UNKNOWN_OPERATOR] = "pytorch-E004",
            [IMP_OTHER_VERSION] = "pytorch-E004", [IMP_ATTR_TYPE] = "pytorch-E006",
            [IMP_ATTR_MISSING] = "pytorch-E006",  [IMP_ATTR_UNKNOWN] = "pytorch-E006",
            [IMP_BAD_VALUE] = "pytorch-E006",     [IMP_BAD_TENSOR] = "pytorch-E007",
            [IMP_BAD_FILE] = "pytorch-E007",      [IMP_UNKNOWN_NAME] = "pytorch-E003",
            [IMP_NAME_TWICE] = "pytorch-E003",    [IMP_NO_TENSOR] = "pytorch-E008",
            [IMP_NOT_CONSTANT] = "pytorch-E009",  [IMP_OPERANDS] = "pytorch-E005",
            [IMP_NO_INPUT] = "pytorch-E010",      [IMP_OTHER_RANK] = "pytorch-E010",
            [IMP_BAD_SIZES] = "pytorch-E010",     [IMP_UNSUPPORTED_RESULT] = "pytorch-E016",
            [IMP_MEMORY] = "pytorch-E011",        [IMP_TOO_LARGE] = "pytorch-E008",
            [IMP_SYMBOLS] = "pytorch-E008",       [IMP_ERRORS] = "pytorch-E017",
        },
};

/* ---- results ---- */

typedef struct results {
    tn_vec(tn_bytes) name;
    tn_status status;
} results;

static void add_result(pt_import *p, results *r, pt_value v, const char *name)
{
    imp_node *c = pt_ctx(p);
    tn_bytes text = pt_words(tn_arena_strdup(&p->im.scratch, name)).text;
    tn_value x = v.kind == PT_COMPLEX     ? pt_joined(c, v)
                 : v.kind == PT_LATE_LIST ? pt_tensor_value(p, v.tensor)
                 : v.kind == PT_TENSOR || v.kind == PT_NUMBER || v.kind == PT_INT || v.kind == PT_FLOAT ||
                         v.kind == PT_BOOL
                     ? pt_as_tensor(c, v)
                     : (tn_value){0};
    if (!x.def || c->bad) {
        if (!pt_is_bad(v) && !p->stop)
            (void)imp_error(&p->im, IMP_UNSUPPORTED_RESULT, imp_make_loc(&p->im, NULL, NULL),
                            "output \"%s\" is %s, but outputs must be tensors or numbers", name,
                            pt_kind_name(v.kind));
        r->status = TN_FAIL;
        return;
    }
    if (imp_define(&p->im, text, (imp_value){.v = x}, c->loc) != TN_OK)
        r->status = TN_FAIL;
    tn_vec_push(&r->name, text);
}

/* Tensors of tuples, lists and dicts one after the other. */
static void flatten(pt_import *p, results *r, pt_value v, const char *name, bool outermost, int depth)
{
    size_t n = v.kind == PT_OBJECT ? v.object->n : pt_has_parts(v) ? v.list->n : 0;
    if (!pt_usable(p, v) || depth > 16 || v.kind == PT_NONE) {
        if (v.kind != PT_NONE)
            r->status = TN_FAIL;
        return;
    }
    if (v.kind == PT_DICT) {
        for (size_t i = 0; i + 1 < n; i += 2) {
            const char *key = pt_at(v, i).kind == PT_TEXT ? imp_text(&p->im, pt_at(v, i).text)
                                                          : tn_arena_printf(&p->im.scratch, "%zu", i / 2);
            flatten(p, r, pt_at(v, i + 1),
                    outermost ? key : tn_arena_printf(&p->im.scratch, "%s.%s", name, key), false, depth + 1);
        }
    } else if (v.kind == PT_OBJECT) {
        for (size_t i = 0; i < n; i++)
            flatten(p, r, v.object->at[i].cell.v, imp_text(&p->im, v.object->at[i].name), false, depth + 1);
    } else if (pt_is_sequence(v)) {
        for (size_t i = 0; i < n; i++)
            flatten(p, r, pt_at(v, i),
                    tn_arena_printf(&p->im.scratch, outermost ? "%s%zu" : "%s.%zu", name, i), false,
                    depth + 1);
    } else {
        add_result(p, r, v, name);
    }
}

tn_status pt_give_results(pt_import *p, pt_value result, pt_value more)
{
    results r = {.status = TN_OK};
    if (p->kept.n && !p->settled)
        return tn_error(
            p->im.g->ctx, "pytorch-E020", imp_make_loc(&p->im, NULL, NULL),
            "the model changes its attribute %s, which cannot be kept from one run to the next: take it "
            "as an input and return its new value",
            p->kept.at[0].name);
    flatten(p, &r, result, "output", true, 0);
    flatten(p, &r, more, "", true, 0);
    tn_status s = r.status == TN_OK ? imp_set_results(&p->im, r.name.n, r.name.at) : TN_FAIL;
    tn_vec_deinit(&r.name);
    return s;
}

/* ---- the file ---- */

/* The folder that all names of the archive begin with, by one that is always there. */
static const char *find_root(pt_import *p, const char *name)
{
    size_t k = strlen(name);
    for (size_t i = 0; i < p->zip.n; i++) {
        tn_bytes s = p->zip.entry[i].name;
        if (s.n >= k && memcmp(s.at + s.n - k, name, k) == 0 && (s.n == k || s.at[s.n - k - 1] == '/') &&
            !memchr(s.at, '/', s.n - k ? s.n - k - 1 : 0))
            return tn_arena_strndup(&p->im.scratch, (const char *)s.at, s.n - k);
    }
    return NULL;
}

static tn_status check_byte_order(pt_import *p)
{
    const imp_zip_entry *e = imp_zip_find(&p->zip, tn_arena_printf(&p->im.scratch, "%sbyteorder", p->root));
    if (!e || e->deflated || e->bytes != 3 || memcmp(e->data.at, "big", 3) != 0)
        return TN_OK;
    return tn_error(p->im.g->ctx, "pytorch-E018", imp_make_loc(&p->im, NULL, NULL),
                    "its numbers are big-endian; save it on a little-endian machine");
}

/* TorchScript, a program of torch.export, files of weights (.pth, safetensors). */
bool tn_sniff_pytorch(const uint8_t *at, size_t n)
{
    return imp_zip_holds(at, n, "/data.pkl") || imp_zip_holds(at, n, "/" PT_MODEL_JSON) ||
           imp_zip_holds(at, n, PT_PROGRAM_JSON) || pt_is_pickle((tn_bytes){at, n}) ||
           pt_is_safetensors((tn_bytes){at, n});
}

static tn_status own_code(pt_import *p)
{
    return !p->im.options || !p->im.options->architecture
               ? TN_OK
               : tn_error(
                     p->im.g->ctx, "pytorch-E061", imp_make_loc(&p->im, NULL, NULL),
                     "--architecture is for files of weights, but this model has a graph of its own; leave "
                     "the option out");
}

tn_status pt_open_archive(pt_import *p, tn_bytes file, const char *name)
{
    const char *why = imp_zip_open(&p->im.scratch, file, &p->zip);
    if (why)
        return tn_error(p->im.g->ctx, "pytorch-E001", imp_make_loc(&p->im, NULL, NULL),
                        "this is no PyTorch file, or it is damaged: %s%s", why, imp_again(why));
    p->root = find_root(p, name);
    return p->root ? check_byte_order(p) : TN_OK;
}

static tn_status import_file(pt_import *p)
{
    if (pt_is_pickle(p->im.whole) || pt_is_safetensors(p->im.whole))
        return pt_import_weights(p);
    TN_TRY(pt_open_archive(p, p->im.whole, "data.pkl"));
    if (p->root && !find_root(p, "constants.pkl"))
        return pt_import_weights(p);
    if (p->root) {
        TN_TRY(own_code(p));
        return pt_import_script(p);
    }
    p->root = find_root(p, PT_MODEL_JSON);
    p->root = p->root ? p->root : find_root(p, PT_PROGRAM_JSON);
    if (p->root) {
        TN_TRY(check_byte_order(p));
        TN_TRY(own_code(p));
        return pt_import_export(p);
    }
    return tn_error(p->im.g->ctx, "pytorch-E001", imp_make_loc(&p->im, NULL, NULL),
                    "the archive holds neither a TorchScript model, nor an exported program, nor weights");
}

static tn_status import_once(pt_import *p, tn_graph *g, const char *path, const tn_file *file,
                             const tn_import_options *o)
{
    imp_open(&p->im, &pt_format, g, path, file, o);
    imp_start(&p->im);
    tn_status s = import_file(p);
    imp_zip_close(&p->zip);
    tn_strmap_deinit(&p->storages);
    tn_strmap_deinit(&p->sources);
    tn_strmap_deinit(&p->reported);
    tn_vec_deinit(&p->log);
    tn_vec_deinit(&p->stale);
    tn_vec_deinit(&p->splits);
    tn_vec_deinit(&p->late);
    tn_vec_deinit(&p->kept);
    if (s == TN_OK && g->ctx->n_error > p->im.had_errors)
        s = TN_FAIL;
    imp_close(&p->im);
    return s;
}

/* Code may use an input as floats cannot be used. Then the file is read once more, with that input as integers. */
tn_status tn_import_pytorch(tn_graph *g, const char *path, const tn_file *file, const tn_import_options *o)
{
    pt_import *p = tn_alloc(sizeof *p);
    size_t n_diag = g->ctx->n_diag, known;
    tn_status s;
    *p = (pt_import){0};
    for (;;) {
        known = p->meant.n;
        s = import_once(p, g, path, file, o);
        if (!p->mistaken || p->meant.n == known)
            break;
        pt_import next = {.meant = p->meant};
        *p = next;
        tn_diag_rewind(g->ctx, n_diag);
        tn_import_clear(g);
    }
    tn_vec_deinit(&p->meant);
    tn_free(p);
    return s;
}
