/* Relay: texts, with the constants of their metadata, and modules that TVM saved as JSON, which are written as text and
 * read as such. */
#include "frontend/import/look.h"
#include "frontend/tvm/saved.h"
#include "relay/relay.h"

static const imp_format format = {
    .id = {[IMP_BAD_TENSOR] = "tvm-E001"},
};

static bool is_saved(tn_bytes text)
{
    enum { LOOKED_AT = 1 << 16 };
    tn_bytes head = look_head(look_past_blanks(text), LOOKED_AT);
    return look_begins(head, "{") && look_holds(head, "\"nodes\"") && look_holds(head, "\"type_key\"");
}

bool tn_sniff_relay(const uint8_t *at, size_t n)
{
    tn_bytes text = look_past_blanks((tn_bytes){at, n});
    bool types = look_begins(text, "type ") && memmem(text.at, text.n, "def @", 5);
    return look_begins(text, "#[version") || look_begins(text, "def @") || types || is_saved(text);
}

static tn_status import_saved(imp_model *im, tn_bytes json)
{
    tvm_saved s;
    tn_buf text = {0};
    const tn_blob *const *constant = NULL;
    size_t n = 0;
    const char *why = tvm_open(im, json, &s);
    why = why ? why : tvm_write_text(&s, &text, &constant, &n);
    tvm_close(&s);
    const size_t length = text.n, said = im->g->ctx->n_diag;
    char *copy = why ? NULL : tn_arena_strndup(im->g->arena, text.at, text.n);
    tn_buf_deinit(&text);
    if (why)
        return tn_error(im->g->ctx, "tvm-E001", imp_make_loc(im, NULL, NULL),
                        "this module saved by TVM cannot be read: %s%s", why, imp_again(why));
    tn_status status = tn_relay_parse(
        im->g, im->file, copy, length,
        &(tn_relay_metadata){.constant = constant, .n_constant = n, .forms = tn_relay_more_forms});
    tn_diag_advise(im->g->ctx, said, "save the module again, or report this if TVM reads the file");
    return status;
}

static tn_status import_text(imp_model *im, tn_bytes text, const tn_import_options *o)
{
    tn_relay_metadata meta = {.forms = tn_relay_more_forms};
    if (o) {
        meta.constant = o->constant;
        meta.n_constant = o->n_constant;
        meta.param = o->param;
        meta.n_param = o->n_param;
    }
    tvm_saved saved;
    if (tvm_open_metadata(im, text, &saved)) {
        meta.attributes = tvm_metadata_attributes;
        meta.user = &saved;
        if (!meta.constant)
            meta.constant = tvm_read_constants(&saved, &meta.n_constant);
    }
    tn_status s = tn_relay_parse(im->g, im->file, (const char *)text.at, text.n, &meta);
    tvm_close(&saved);
    return s;
}

tn_status tn_import_relay(tn_graph *g, const char *path, const tn_file *file, const tn_import_options *o)
{
    imp_model im = {0};
    tn_bytes whole = {file->at, file->n};
    const char *option = !o             ? NULL
                         : o->n_shape   ? "--input-shapes"
                         : o->n_output  ? "--outputs"
                         : o->signature ? "--signature"
                                        : NULL;
    if (option)
        return tn_error(g->ctx, "frontend-E003", &(tn_loc){.file = path},
                        "%s does not apply to Relay text; change the text", option);
    imp_open(&im, &format, g, path, file, o);
    tn_status s = is_saved(whole) ? import_saved(&im, whole) : import_text(&im, whole, o);
    imp_close(&im);
    return s;
}
