/* Where archives of torch.export have a program's graph, signature and weights.
 *
 * torch 2.8 and newer: models/model.json, whose weights are files of the archive that a table describes. Before that:
 * serialized_exported_program.json, beside it archives of torch.save with the weights. torch 2.1 writes all members of
 * a union, which are null but for one, and the signature as tables of names; later versions write the member that there
 * is, and a list of inputs and outputs. */
#include "frontend/pytorch/export.h"

#include <string.h>

tn_status pt_damaged_program(pt_import *p, const char *why)
{
    return tn_error(p->im.g->ctx, "pytorch-E019", imp_make_loc(&p->im, NULL, NULL),
                    "its program cannot be read: %s; export it with a newer torch, or the file is damaged",
                    why);
}

/* ---- JSON ---- */

tn_bytes pt_json_text(const tn_json *v)
{
    return tn_json_is(v, TN_JSON_STRING) ? (tn_bytes){(const uint8_t *)v->u.s, v->n} : (tn_bytes){0};
}

const tn_json *pt_json_member(const tn_json *v, tn_bytes *key)
{
    *key = (tn_bytes){0};
    if (!tn_json_is(v, TN_JSON_OBJECT) || v->n < 1)
        return NULL;
    size_t i = 0;
    while (i + 1 < v->n && tn_json_is(&v->u.at[2 * i + 1], TN_JSON_NULL))
        i++;
    *key = pt_json_text(&v->u.at[2 * i]);
    return &v->u.at[2 * i + 1];
}

/* Python writes numbers that JSON does not have: as texts they can be read. */
static tn_bytes with_quotes(pt_import *p, tn_bytes s)
{
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    tn_buf b = {0};
    bool inside = false;
    for (size_t i = 0; i < s.n; i++) {
        size_t k = 0;
        for (size_t w = 0; !inside && w < sizeof words / sizeof *words && !k; w++) {
            size_t n = strlen(words[w]);
            k = s.n - i >= n && memcmp(s.at + i, words[w], n) == 0 ? n : 0;
        }
        if (k) {
            tn_buf_printf(&b, "\"%.*s\"", (int)k, (const char *)s.at + i);
            i += k - 1;
            continue;
        }
        if (inside && s.at[i] == '\\' && i + 1 < s.n)
            tn_buf_char(&b, (char)s.at[i++]);
        else if (s.at[i] == '"')
            inside = !inside;
        tn_buf_char(&b, (char)s.at[i]);
    }
    s = (tn_bytes){tn_arena_copy(&p->im.scratch, tn_buf_cstr(&b), b.n + 1, 1), b.n};
    tn_buf_deinit(&b);
    return s;
}

static tn_status read_json(pt_import *p, const char *name, bool python, tn_json_doc *out)
{
    const imp_zip_entry *e = imp_zip_find(&p->zip, tn_arena_printf(&p->im.scratch, "%s%s", p->root, name));
    tn_bytes text;
    *out = (tn_json_doc){0};
    const char *why =
        e ? imp_zip_read(&p->im.scratch, &p->zip, e, &text) : "a file of the archive is missing";
    if (why)
        return pt_damaged_program(p, why);
    if (python)
        text = with_quotes(p, text);
    else /* names outlive the document */
        text.at = tn_arena_copy(&p->im.scratch, text.at, text.n, 1);
    *out = tn_json_read((const char *)text.at, text.n);
    return out->error ? pt_damaged_program(p, out->error) : TN_OK;
}

/* ---- weights that a table describes ---- */

static bool sizes(const tn_json *v, int64_t *out)
{
    for (size_t i = 0; i < pt_json_count(v); i++) {
        tn_bytes kind;
        const tn_json *e = pt_json_member(&v->u.at[i], &kind);
        if (!tn_json_is(e, TN_JSON_INT))
            return false;
        out[i] = e->u.i;
    }
    return true;
}

static bool stored_type(int64_t code, pt_storage *s)
{
    s->complex = pt_complex_of(code, &s->dtype);
    return s->complex || pt_dtype_of(code, &s->dtype);
}

/* A tensor over the bytes of an entry of the archive. NONE: it is not described so. */
static pt_value weight(pt_import *p, const char *folder, const tn_json *spec)
{
    const tn_json *meta = tn_json_find(spec, "tensor_meta"), *dtype = tn_json_find(meta, "dtype"),
                  *dims = tn_json_find(meta, "sizes"), *strides = tn_json_find(meta, "strides");
    tn_bytes path = pt_json_text(tn_json_find(spec, "path_name")), kind;
    const tn_json *offset = pt_json_member(tn_json_find(meta, "storage_offset"), &kind);
    const char *name =
        tn_arena_printf(&p->im.scratch, "%s%s%.*s", p->root, folder, (int)(path.n > 256 ? 256 : path.n),
                        path.n ? (const char *)path.at : "");
    const imp_zip_entry *e = imp_zip_find(&p->zip, name);
    pt_storage *s = TN_NEW(&p->im.scratch, pt_storage);
    pt_tensor *t = TN_NEW(&p->im.scratch, pt_tensor);
    size_t n = pt_json_count(dims);
    int64_t *at = TN_NEW_N(&p->im.scratch, int64_t, 2 * n + 1);
    if (!e || n > PT_MAX_RANK || pt_json_count(strides) != n || !tn_json_is(dtype, TN_JSON_INT) ||
        !stored_type(pt_json_type(dtype->u.i), s) || !sizes(dims, at) || !sizes(strides, at + n) ||
        !tn_json_is(offset, TN_JSON_INT) || imp_zip_read(&p->im.scratch, &p->zip, e, &s->data))
        return pt_none();
    s->has_data = true;
    s->key = path;
    *t = (pt_tensor){.storage = s, .offset = offset->u.i, .n = (int)n, .dim = at, .stride = at + n};
    return s->complex ? pt_complex_stored(&p->im.scratch, t) : (pt_value){.kind = PT_TENSOR, .tensor = t};
}

static void put(pt_program *g, tn_bytes name, pt_value v)
{
    const char *text = imp_text(&g->p->im, name);
    pt_value *at = TN_NEW(&g->p->im.scratch, pt_value);
    *at = v;
    for (size_t i = 0; i < pt_tensors_in(v); i++) {
        pt_tensor *t = pt_tensor_at(v, i);
        t->name = t->name ? t->name : pt_part_name(&g->p->im.scratch, v, i, text);
    }
    tn_strmap_put(&g->weights, text, strlen(text), (uint64_t)(uintptr_t)at);
}

static tn_status described_weights(pt_program *g, const char *folder, const char *file)
{
    pt_import *p = g->p;
    tn_json_doc doc;
    tn_status s = read_json(p, tn_arena_printf(&p->im.scratch, "%s%s", folder, file), false, &doc);
    const tn_json *config = tn_json_find(doc.root, "config");
    for (size_t i = 0; s == TN_OK && tn_json_is(config, TN_JSON_OBJECT) && i < config->n; i++) {
        pt_value v = weight(p, folder, &config->u.at[2 * i + 1]);
        if (v.kind != PT_NONE) /* else it is said where it is used */
            put(g, pt_json_text(&config->u.at[2 * i]), v);
    }
    tn_json_free(&doc);
    return s;
}

/* ---- weights that torch.save has written ---- */

/* A dict of tensors in an archive within the archive. There may be none. */
static tn_status saved_weights(pt_program *g, const char *name)
{
    pt_import *p = g->p;
    const imp_zip_entry *e = NULL;
    tn_bytes file;
    pt_value all = pt_none();
    for (int i = 0; i < 2 && !e; i++) /* torch 2.1 and 2.2 call it JSON */
        e = imp_zip_find(&p->zip,
                         tn_arena_printf(&p->im.scratch, "%s%s%s", p->root, name, i ? ".json" : ".pt"));
    const char *why = e ? imp_zip_read(&p->im.scratch, &p->zip, e, &file) : NULL;
    if (why)
        return pt_damaged_program(p, why);
    if (!e || !file.n)
        return TN_OK;
    imp_zip outer = p->zip;
    const char *root = p->root;
    tn_status s = pt_open_archive(p, file, "data.pkl");
    if (s == TN_OK && !p->root)
        s = pt_damaged_program(p, "its weights are no archive of torch.save");
    if (s == TN_OK)
        s = pt_unpickle_entry(p, "data.pkl", "data/", &all);
    imp_zip_close(&p->zip);
    p->zip = outer;
    p->root = root;
    for (size_t i = 0; s == TN_OK && all.kind == PT_DICT && i + 1 < all.list->n; i += 2)
        if (pt_at(all, i).kind == PT_TEXT && pt_is_tensor(pt_at(all, i + 1)))
            put(g, pt_at(all, i).text, pt_at(all, i + 1));
    return s;
}

/* ---- signatures ---- */

static pt_specs specs_new(pt_import *p, size_t n)
{
    return (pt_specs){0, TN_NEW_N(&p->im.scratch, pt_spec, n + 1)};
}

static enum pt_role role_of(tn_bytes kind)
{
    static const struct {
        const char *kind;
        enum pt_role role;
    } rows[] = {{"parameter", PT_ROLE_WEIGHT},
                {"buffer", PT_ROLE_WEIGHT},
                {"tensor_constant", PT_ROLE_WEIGHT},
                {"buffer_mutation", PT_ROLE_WEIGHT},
                {"parameter_mutation", PT_ROLE_WEIGHT},
                {"user_input", PT_ROLE_USER},
                {"user_output", PT_ROLE_USER},
                {"loss_output", PT_ROLE_USER},
                {"user_input_mutation", PT_ROLE_CHANGED_INPUT},
                {"custom_obj", PT_ROLE_OBJECT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (imp_is(kind, rows[i].kind))
            return rows[i].role;
    return PT_ROLE_OTHER;
}

/* [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}, {"user_input": {"arg": {"as_tensor": ...}}}] */
static pt_specs listed(pt_import *p, const tn_json *list)
{
    static const char *const keys[] = {"parameter_name", "buffer_name", "tensor_constant_name",
                                       "user_input_name"};
    pt_specs all = specs_new(p, pt_json_count(list));
    for (size_t i = 0; i < pt_json_count(list); i++) {
        pt_spec *s = &all.at[all.n++];
        const tn_json *of = pt_json_member(&list->u.at[i], &s->kind);
        s->role = role_of(s->kind);
        s->arg = tn_json_find(of, "arg");
        s->name = pt_json_text(tn_json_find(s->arg, "name"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys && !s->of.n; k++)
            s->of = pt_json_text(tn_json_find(of, keys[k]));
        if (s->role == PT_ROLE_OBJECT)
            s->of = pt_json_text(tn_json_find(s->arg, "class_fqn"));
    }
    return all;
}

/* torch 2.1: what it is stands in tables of names; {"arg0_1": "weight"}. */
static bool in_table(const tn_json *table, tn_bytes name, tn_bytes *of)
{
    for (size_t i = 0; tn_json_is(table, TN_JSON_OBJECT) && i < table->n; i++)
        if (imp_same(pt_json_text(&table->u.at[2 * i]), name)) {
            *of = pt_json_text(&table->u.at[2 * i + 1]);
            return true;
        }
    return false;
}

/* `list`: the graph's inputs or outputs. */
static pt_specs tabled(pt_import *p, const tn_json *list, const tn_json *weights, const tn_json *others)
{
    pt_specs all = specs_new(p, pt_json_count(list));
    for (size_t i = 0; i < pt_json_count(list); i++) {
        pt_spec *s = &all.at[all.n++];
        s->arg = &list->u.at[i];
        s->name = pt_json_text(tn_json_find(pt_json_member(s->arg, &s->kind), "name"));
        bool weight = s->name.n && (in_table(weights, s->name, &s->of) || in_table(others, s->name, &s->of));
        s->role = weight ? PT_ROLE_WEIGHT : PT_ROLE_USER;
    }
    return all;
}

static void read_signature(pt_program *g, const tn_json *s)
{
    const tn_json *in = tn_json_find(s, "input_specs");
    if (in) {
        g->in = listed(g->p, in);
        g->out = listed(g->p, tn_json_find(s, "output_specs"));
        return;
    }
    g->in = tabled(g->p, tn_json_find(g->graph, "inputs"), tn_json_find(s, "inputs_to_parameters"),
                   tn_json_find(s, "inputs_to_buffers"));
    g->out = tabled(g->p, tn_json_find(g->graph, "outputs"), tn_json_find(s, "buffers_to_mutate"), NULL);
}

tn_status pt_open_program(pt_program *g, tn_json_doc *doc)
{
    pt_import *p = g->p;
    bool newer = imp_zip_find(&p->zip, tn_arena_printf(&p->im.scratch, "%s%s", p->root, PT_MODEL_JSON));
    TN_TRY(read_json(p, newer ? PT_MODEL_JSON : PT_PROGRAM_JSON, !newer, doc));
    const tn_json *module = tn_json_find(doc->root, "graph_module"),
                  *signature = tn_json_find(module, "signature");
    g->graph = tn_json_find(module, "graph");
    if (!g->graph || !signature)
        return pt_damaged_program(p, "it has no graph");
    read_signature(g, signature);
    TN_TRY(newer ? described_weights(g, "data/weights/", "model_weights_config.json")
                 : saved_weights(g, "serialized_state_dict"));
    return newer ? described_weights(g, "data/constants/", "model_constants_config.json")
                 : saved_weights(g, "serialized_constants");
}
