/* Forms that a converter makes (forms.h), and the tables of all rows. */
#include "frontend/tvm/forms.h"

/* What a converter says is wrong with an operator is of one kind here: the text calls it so. */
#define ID "tvm-E002"
static const imp_format format = {
    .id = {[IMP_ATTR_TYPE] = ID,
           [IMP_ATTR_MISSING] = ID,
           [IMP_ATTR_UNKNOWN] = ID,
           [IMP_BAD_VALUE] = ID,
           [IMP_BAD_TENSOR] = ID,
           [IMP_NOT_CONSTANT] = ID,
           [IMP_OPERANDS] = ID,
           [IMP_MEMORY] = ID,
           [IMP_TOO_LARGE] = ID,
           [IMP_SYMBOLS] = ID,
           [IMP_ERRORS] = ID},
};

/* Results that are used have extents with names. */
static tn_value results(form_call *f, imp_node *c)
{
    tn_value *v = TN_NEW_N(&f->p->scratch, tn_value, c->n_out);
    if (c->bad && !f->bad)
        f->p->n_error++; /* which was said */
    f->bad = f->bad || c->bad;
    for (uint32_t i = 0; i < c->n_out; i++) {
        v[i] = f->bad ? (tn_value){0} : tn_unboxed(c->g, c->out[i]);
        TN_ASSERT(f->bad || v[i].def);
    }
    return f->bad || !c->n_out ? (tn_value){0}
           : c->n_out == 1     ? v[0]
                               : form_several(f, (uint32_t)c->n_out, v);
}

/* What the converters' kit can take. false: reported. */
static bool operands_fit(form_call *f)
{
    for (uint32_t i = 0; i < f->n && !f->bad; i++) {
        const tn_type *t = f->in[i].def ? tn_value_type(f->in[i]) : NULL;
        if (t && (t->kind != TN_T_TENSOR || t->n > IMP_MAX_RANK))
            (void)form_refuse(f, "needs tensors of at most 8 dimensions");
    }
    return !f->bad;
}

tn_value tvm_make(form_call *f, uint32_t n_out, tvm_converter *convert, const void *user)
{
    parser *p = f->p;
    const tn_file text = {.at = (const uint8_t *)p->text, .n = (size_t)(p->text_end - p->text)};
    tn_bytes *name = TN_NEW_N(&p->scratch, tn_bytes, f->n + n_out);
    imp_model im;
    if (!operands_fit(f))
        return (tn_value){0};
    for (uint32_t i = 0; i < f->n + n_out; i++)
        name[i] = i >= f->n || f->in[i].def ? (tn_bytes){(const uint8_t *)"_", 1} : (tn_bytes){0};
    imp_open(&im, &format, p->g, p->file, &text, NULL);
    im.r = p->scope->region;
    im.memory_start = imp_memory(&im);
    im.had_errors = p->g->ctx->n_error;
    imp_node c = {.loc = parse_loc(p, f->line, f->col, f->name),
                  .n_in = f->n,
                  .n_out = n_out,
                  .in_name = name,
                  .out_name = name + f->n,
                  .im = &im,
                  .g = p->g,
                  .pool = p->g->pool,
                  .arena = p->g->arena,
                  .origin = user,
                  .given = f->in,
                  .out = TN_NEW_N(&p->scratch, tn_value, n_out ? n_out : 1)};
    for (uint32_t i = 0; i < n_out; i++)
        c.out[i] = (tn_value){0};
    convert(&c, f);
    if (c.bad)
        imp_discard_regions(&c, 0);
    tn_value v = results(f, &c);
    imp_close(&im);
    return v;
}

const form *const tn_relay_more_forms[] = {tvm_forms_dynamic,
                                           tvm_forms_tensor,
                                           tvm_forms_window,
                                           tvm_forms_sparse,
                                           tvm_forms_vision,
                                           tvm_forms_boxes,
                                           NULL};
