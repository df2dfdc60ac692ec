/* Operators of a model: finding their rows, converting one of them. */
#include "frontend/import/convert.h"

#include "base/words.h"

#include <string.h>

/* ---- rows ---- */

/* The row of an operator at a version; NULL: *out_other is a row of another version, or NULL. */
static const imp_row *find_row(const imp_format *f, tn_bytes domain, tn_bytes op, int64_t version,
                               const imp_row **out_other)
{
    *out_other = NULL;
    for (const imp_table *t = f->tables; t->rows; t++) {
        for (const imp_row *r = imp_is(domain, t->domain ? t->domain : "") ? t->rows : NULL; r && r->op;
             r++) {
            if (!imp_is(op, r->op))
                continue;
            if (version >= r->since && (!r->until || version <= r->until))
                return r;
            *out_other = r;
        }
    }
    return NULL;
}

/* A name like one of ours is a slip of whoever wrote the model. */
static const char *advice_for(imp_model *im, const char *op)
{
    tn_nearest s = {.word = op, .n = strlen(op)};
    for (const imp_table *t = im->format->tables; t->rows; t++)
        for (const imp_row *r = t->domain ? NULL : t->rows; r && r->op; r++)
            tn_nearest_offer(&s, r->op);
    return s.best ? tn_arena_printf(&im->scratch, "did the exporter mean %s?", s.best)
                  : "replace it by supported ones or export the model without it";
}

/* " (opset 9)"; nothing where a format's operators have no versions. */
static const char *version_text(imp_model *im, int64_t version)
{
    const char *word = im->format->version;
    return word ? tn_arena_printf(&im->scratch, " (%s %lld)", word, (long long)version) : "";
}

static void report_version(imp_model *im, const imp_row *other, int64_t version, const tn_loc *loc)
{
    const char *word = im->format->version;
    if (other->until)
        (void)imp_error(im, IMP_OTHER_VERSION, loc,
                        "operator %s does not exist in %s %lld, only from %d to %d; the model is damaged",
                        loc->op, word, (long long)version, other->since, other->until);
    else
        (void)imp_error(im, IMP_OTHER_VERSION, loc,
                        "operator %s does not exist in %s %lld, only from %d on; the model is damaged",
                        loc->op, word, (long long)version, other->since);
}

const imp_row *imp_row_of(imp_model *im, tn_bytes domain, tn_bytes op, int64_t version, const tn_loc *loc,
                          bool report)
{
    const imp_row *other, *row = find_row(im->format, domain, op, version, &other);
    if (row || !report)
        return row;
    if (!op.n)
        (void)imp_error(im, IMP_UNKNOWN_OPERATOR, loc,
                        "the node does not name its operator; the model is damaged");
    else if (other && im->format->version)
        report_version(im, other, version, loc);
    else if (domain.n)
        (void)imp_error(im, IMP_UNKNOWN_OPERATOR, loc,
                        "operator %s of domain %s is not supported; export the model with standard operators",
                        loc->op, imp_text(im, domain));
    else
        (void)imp_error(im, IMP_UNKNOWN_OPERATOR, loc, "operator %s%s is not supported; %s", loc->op,
                        version_text(im, version), advice_for(im, loc->op));
    return NULL;
}

/* ---- regions ---- */

tn_region *imp_region_new(imp_node *c)
{
    tn_region *r = tn_region_new(c->g, NULL);
    tn_vec_push(&c->im->region, r);
    return r;
}

void imp_discard_regions(imp_node *c, size_t from)
{
    while (c->im->region.n > from) {
        tn_region *r = tn_vec_pop(&c->im->region);
        if (!r->holder)
            tn_region_discard(c->g, r);
    }
}

/* ---- converting ---- */

/* false: an operand is unknown (reported) or its maker failed. */
static bool operands_ready(imp_model *im, const imp_node *n)
{
    const tn_bytes *in = n->in_name;
    bool ready = true;
    for (size_t i = 0; i < n->n_in; i++) {
        const imp_value *v = in[i].n ? imp_lookup(im, in[i]) : NULL;
        if (in[i].n && !v)
            (void)imp_error(im, IMP_UNKNOWN_NAME, n->loc,
                            "operand \"%s\" is not an input, an initializer or a result of an earlier node; "
                            "the nodes are out of order or form a cycle, or the model is damaged",
                            imp_text(im, in[i]));
        else if (v && v->state == IMP_UNUSABLE)
            (void)imp_error(im, IMP_UNSUPPORTED_RESULT, n->loc,
                            "operand \"%s\" is output %u of node %s (%s), which is not supported",
                            imp_text(im, in[i]), (unsigned)v->output, v->loc->node, v->loc->op);
        ready = ready && (!in[i].n || (v && v->state == IMP_OK));
    }
    return ready;
}

static void refuse_attribute(imp_node *c, const char *name)
{
    const char *version = c->im->format->version;
    if (version)
        imp_refuse(
            c, IMP_ATTR_UNKNOWN,
            "attribute %s is not supported for %s %lld; remove it, or export the model with another %s", name,
            version, (long long)c->version, version);
    else
        imp_refuse(c, IMP_ATTR_UNKNOWN, "attribute %s of %s is not supported; remove it", name, c->loc->op);
}

/* Anything in the operator that its row or converter does not know. */
static void check_rest(imp_node *c)
{
    for (size_t i = 0; i < c->n_attr && !c->bad; i++)
        if (i >= 64 || !(c->asked >> i & 1))
            refuse_attribute(c, imp_text(c->im, c->attr[i].name));
    for (uint32_t i = (uint32_t)c->row->max_in; c->row->max_in >= 0 && i < imp_n_in(c) && !c->bad; i++)
        if (imp_has(c, i))
            imp_refuse(c, IMP_OPERANDS,
                       "operand %u is given, but the operator takes %d; the model is damaged", (unsigned)i,
                       c->row->max_in);
}

void imp_end(imp_node *c)
{
    const tn_bytes *name = c->out_name;
    for (size_t i = 0; i < c->n_out; i++) {
        imp_value v = {
            .v = c->bad ? c->out[i]
                        : tn_unboxed(c->g, c->out[i]), /* extents that converters ask for have names */
            .state = c->bad ? IMP_BAD : IMP_OK,
            .loc = c->loc,
            .output = (uint32_t)i};
        if (!name[i].n)
            continue;
        if (!c->bad && !v.v.def)
            v.state = IMP_UNUSABLE;
        (void)imp_define(c->im, name[i], v, c->loc);
    }
}

bool imp_begin(imp_model *im, imp_node *c)
{
    c->im = im;
    c->g = im->g;
    c->pool = im->g->pool;
    c->arena = im->g->arena;
    c->out = TN_NEW_N(&im->scratch, tn_value, c->n_out ? c->n_out : 1);
    c->bad = !operands_ready(im, c);
    return !c->bad;
}

void imp_convert(imp_model *im, imp_node *c)
{
    const size_t said = im->g->ctx->n_diag;
    if (!imp_begin(im, c) || !c->row) {
        c->bad = true;
    } else {
        if (im->format->check)
            im->format->check(c);
        if (!c->bad)
            (im->format->convert ? im->format->convert : c->row->convert)(c);
        check_rest(c);
        TN_ASSERT(!c->bad || im->g->ctx->n_error > 0); /* who refuses says why */
    }
    imp_end(c);
    tn_diag_place(im->g->ctx, said, c->loc);
}
