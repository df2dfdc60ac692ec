/* The reader of programs as text (docs/program.md); print.c is the writer. One token of look-ahead. Slots and
 * symbols are declared before they are used; functions, labels and what an output is a copy of may follow,
 * and are looked up at the end. A number in the place of a name is taken as it is: the verifier says whether
 * there is such a thing. */
#include "program/parse.h"

#include <ctype.h>
#include <string.h>

/* ---- names ---- */

static const tn_expr *scope_name(void *user, const char *name)
{
    program_parser *ps = user;
    uint64_t i;
    name = tn_intern(ps->ctx, name);
    return tn_map_get(&ps->symbol, tn_map_key(name), &i) ? tn_sym(ps->pool, name) : NULL;
}

tn_status program_declare(program_parser *ps, tn_map *in, const char *name, uint64_t number)
{
    uint64_t other;
    if (tn_map_get(in, tn_map_key(name), &other) || (in == &ps->symbol && tn_lex_reserved(name)))
        return tn_lex_fail(&ps->lex, "program-E002", "`%s` already means something here; choose another name",
                           name);
    tn_map_put(in, tn_map_key(name), number);
    return TN_OK;
}

tn_status program_u32(program_parser *ps, uint32_t *out)
{
    int64_t v = 0;
    TN_TRY(tn_lex_int(&ps->lex, 0, UINT32_MAX, &v));
    *out = (uint32_t)v;
    return TN_OK;
}

/* The current word, interned; NULL if it is none. */
static const char *word(program_parser *ps)
{
    return ps->lex.tok == TN_TOK_IDENT ? tn_intern_n(ps->ctx, ps->lex.text, ps->lex.n) : NULL;
}

tn_status program_known(program_parser *ps, const tn_map *in, const char *what, uint32_t *out)
{
    uint64_t v;
    const char *name = word(ps);
    if (ps->lex.tok == TN_TOK_INT)
        return program_u32(ps, out);
    if (!name || !tn_map_get(in, tn_map_key(name), &v))
        return tn_lex_fail(&ps->lex, "program-E001", "there is no %s `%.*s`; declare it before its use", what,
                           (int)(ps->lex.n < 60 ? ps->lex.n : 60), ps->lex.text);
    *out = (uint32_t)v;
    tn_lex_next(&ps->lex);
    return TN_OK;
}

/* ---- sizes and types ---- */

static bool is_integer(const tn_expr *e, void *user)
{
    bool *all = user;
    *all = *all && (tn_dtype_is_index(e->dtype) || tn_dtype_is_bool(e->dtype)) && e->dtype.lanes == 1;
    return *all;
}

tn_status program_size(program_parser *ps, const tn_expr **out)
{
    bool all = true;
    TN_TRY(tn_expr_parse(&ps->lex, ps->pool, &ps->scope, TN_IDX, out));
    tn_each(*out, is_integer, &all);
    if (!all || !tn_dtype_is_index((*out)->dtype))
        return tn_lex_fail(&ps->lex, "program-E003", "a size is computed from symbols and integers alone");
    const tn_expr *plain = tn_simplify(ps->pool, NULL, *out);
    *out = plain->kind == TN_E_INT ? plain : *out; /* 1*2: a program without symbols computes no sizes */
    return TN_OK;
}

static tn_status dtype(program_parser *ps, tn_dtype *out)
{
    if (ps->lex.tok != TN_TOK_IDENT || !tn_dtype_parse(ps->lex.text, ps->lex.n, out) || out->lanes != 1 ||
        tn_dtype_is_index(*out))
        return tn_lex_expected(&ps->lex, "a type such as float32");
    tn_lex_next(&ps->lex);
    return TN_OK;
}

static tn_status dims(program_parser *ps, tn_slot_ir *s)
{
    enum { MAX_DIMS = 64 };
    const tn_expr *dim[MAX_DIMS];
    TN_TRY(tn_lex_expect(&ps->lex, "["));
    while (!tn_lex_accept(&ps->lex, "]")) {
        if (s->ndim == MAX_DIMS)
            return tn_lex_fail(&ps->lex, "program-E003", "a shape has at most 64 dimensions");
        TN_TRY(program_size(ps, &dim[s->ndim++]));
        if (!tn_lex_is(&ps->lex, "]"))
            TN_TRY(tn_lex_expect(&ps->lex, ","));
    }
    s->dim = tn_arena_copy(ps->arena, s->ndim ? (const void *)dim : "", s->ndim * sizeof *dim, 8);
    return TN_OK;
}

/* ---- kernels ---- */

static tn_status parameters(program_parser *ps, parameter_list *to, uint32_t *out_n)
{
    TN_TRY(tn_lex_expect(&ps->lex, "("));
    for (*out_n = 0; !tn_lex_accept(&ps->lex, ")"); ++*out_n) {
        tn_kernel_parameter p = {0};
        if (*out_n)
            TN_TRY(tn_lex_expect(&ps->lex, ","));
        TN_TRY(dtype(ps, &p.dtype));
        TN_TRY(program_size(ps, &p.bytes));
        tn_vec_push(to, p);
    }
    return TN_OK;
}

/* "may 0 over 1": output 0 may lie over input 1. */
static tn_status overlaps(program_parser *ps, tn_kernel_signature *k)
{
    tn_vec(tn_overlap) pairs = {0};
    tn_status st = TN_OK;
    while (st == TN_OK && (tn_lex_is(&ps->lex, "may") || tn_lex_is(&ps->lex, "must"))) {
        int64_t in = 0, out = 0;
        uint32_t kind = tn_lex_is(&ps->lex, "must") ? TN_OVERLAP_MUST : TN_OVERLAP_MAY;
        tn_lex_next(&ps->lex);
        st = tn_lex_int(&ps->lex, 0, (int64_t)k->n_out - 1, &out);
        st = st == TN_OK ? tn_lex_expect(&ps->lex, "over") : st;
        st = st == TN_OK ? tn_lex_int(&ps->lex, 0, (int64_t)k->n_in - 1, &in) : st;
        tn_vec_push(&pairs, ((tn_overlap){(uint16_t)in, (uint16_t)out, kind}));
    }
    k->n_overlap = (uint32_t)pairs.n;
    k->overlap =
        tn_arena_copy(ps->arena, pairs.n ? (const void *)pairs.at : "", pairs.n * sizeof *pairs.at, 8);
    tn_vec_deinit(&pairs);
    return st;
}

static tn_status kernel_symbols(program_parser *ps, tn_kernel_signature *k)
{
    tn_vec(const char *) names = {0};
    tn_status st = TN_OK;
    tn_map_clear(&ps->symbol);
    if (tn_lex_accept(&ps->lex, "["))
        do {
            const char *name = tn_lex_ident(&ps->lex);
            st = name ? program_declare(ps, &ps->symbol, name, names.n) : TN_FAIL;
            tn_vec_push(&names, name);
        } while (st == TN_OK && tn_lex_accept(&ps->lex, ","));
    k->n_symbol = (uint32_t)names.n;
    k->symbol =
        tn_arena_copy(ps->arena, names.n ? (const void *)names.at : "", names.n * sizeof *names.at, 8);
    tn_vec_deinit(&names);
    return st == TN_OK && k->n_symbol ? tn_lex_expect(&ps->lex, "]") : st;
}

static tn_status kernel(program_parser *ps)
{
    tn_kernel_signature k = {.name = tn_lex_ident(&ps->lex)};
    parameter_list p = {0};
    if (!k.name)
        return TN_FAIL;
    TN_TRY(program_declare(ps, &ps->kernel, k.name, ps->kernels.n));
    TN_TRY(kernel_symbols(ps, &k));
    tn_status st = parameters(ps, &p, &k.n_in);
    st = st == TN_OK ? tn_lex_expect(&ps->lex, "->") : st;
    st = st == TN_OK ? parameters(ps, &p, &k.n_out) : st;
    k.parameter = tn_arena_copy(ps->arena, p.n ? (const void *)p.at : "", p.n * sizeof *p.at, 8);
    tn_vec_deinit(&p);
    st = st == TN_OK ? overlaps(ps, &k) : st;
    tn_vec_push(&ps->kernels, k);
    return st;
}

/* ---- states ---- */

static tn_status capacity(program_parser *ps, tn_state *s)
{
    tn_slot_ir shape = {0};
    tn_dtype t = TN_F32;
    tn_map_clear(&ps->symbol);
    TN_TRY(dtype(ps, &t));
    TN_TRY(dims(ps, &shape));
    tn_size *dim = TN_NEW_N(ps->arena, tn_size, shape.ndim);
    for (int d = 0; d < shape.ndim; d++)
        if (!tn_is_int(tn_simplify(ps->pool, NULL, shape.dim[d]), &dim[d].value) || dim[d].value < 0)
            return tn_lex_fail(&ps->lex, "program-E003", "the capacity of a state is numbers");
    const tn_expr *bytes = tn_slot_dense_bytes(ps->pool, t, shape.ndim, shape.dim);
    int64_t n = 0;
    if (!tn_is_int(bytes, &n) || n < 0)
        return tn_lex_fail(&ps->lex, "program-E003", "the state is too large");
    s->code = t.code;
    s->bits = t.bits;
    s->ndim = shape.ndim;
    s->dim = dim;
    s->bytes = (uint64_t)n;
    return TN_OK;
}

static tn_status function_name(program_parser *ps, references *to, uint32_t at, uint32_t *out)
{
    if (ps->lex.tok == TN_TOK_INT)
        return program_u32(ps, out);
    TN_TRY(tn_lex_expect(&ps->lex, "@"));
    reference r = {.at = at, .lex = ps->lex, .name = tn_lex_ident(&ps->lex)};
    tn_vec_push(to, r);
    return r.name ? TN_OK : TN_FAIL;
}

static tn_status growth(program_parser *ps, tn_state *s)
{
    int64_t axis = 0, extent = 0;
    if (!tn_lex_accept(&ps->lex, "grows"))
        return TN_OK;
    TN_TRY(tn_lex_int(&ps->lex, 0, s->ndim - 1, &axis));
    TN_TRY(tn_lex_expect(&ps->lex, "from"));
    TN_TRY(tn_lex_int(&ps->lex, 0, s->dim[axis].value, &extent));
    s->axis = (int16_t)axis;
    s->extent = (uint64_t)extent;
    return TN_OK;
}

static tn_status state(program_parser *ps)
{
    tn_state s = {.name = tn_lex_ident(&ps->lex), .axis = -1, .init = -1};
    uint32_t init = 0;
    if (!s.name)
        return TN_FAIL;
    TN_TRY(program_declare(ps, &ps->state, s.name, ps->states.n));
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    TN_TRY(capacity(ps, &s));
    TN_TRY(growth(ps, &s));
    if (tn_lex_accept(&ps->lex, "initial") && !(s.initial = tn_lex_string(&ps->lex)))
        return TN_FAIL;
    if (tn_lex_accept(&ps->lex, "init")) {
        TN_TRY(function_name(ps, &ps->inits, (uint32_t)ps->states.n, &init));
        s.init = (int32_t)(init & INT32_MAX);
    }
    tn_vec_push(&ps->states, s);
    return TN_OK;
}

/* ---- slots ---- */

/* The name of a slot after its sigil: a word, or "" and the number that it must have. */
static tn_status slot_label(program_parser *ps, tn_slot_ir *s, const char **out_label)
{
    uint32_t number = 0;
    TN_TRY(tn_lex_expect(&ps->lex, "%"));
    *out_label = word(ps);
    s->name = "";
    if (*out_label) {
        s->name = *out_label;
        tn_lex_next(&ps->lex);
        return program_declare(ps, &ps->slot, *out_label, ps->slots.n);
    }
    TN_TRY(program_u32(ps, &number));
    if (number != ps->slots.n)
        return tn_lex_fail(&ps->lex, "program-E004",
                           "this is slot %zu, not %u; number slots from 0 on, or name them", ps->slots.n,
                           number);
    return TN_OK;
}

static tn_status slot_reference(program_parser *ps, uint32_t at, bool over)
{
    tn_slot_ir *s = &ps->slots.at[at];
    uint32_t number = 0;
    TN_TRY(tn_lex_expect(&ps->lex, "%"));
    if (ps->lex.tok == TN_TOK_INT) {
        TN_TRY(program_u32(ps, &number));
        *(over ? &s->over : &s->alias) = number;
        return TN_OK;
    }
    reference r = {.at = at, .over = over, .lex = ps->lex, .name = tn_lex_ident(&ps->lex)};
    tn_vec_push(&ps->slot_names, r);
    return r.name ? TN_OK : TN_FAIL;
}

static tn_status slot_binds(program_parser *ps, tn_slot_ir *s)
{
    int32_t *bind = TN_NEW_N(ps->arena, int32_t, s->ndim);
    s->bind = bind;
    if (!tn_lex_accept(&ps->lex, "binds"))
        return TN_OK;
    TN_TRY(tn_lex_expect(&ps->lex, "["));
    for (int d = 0; d < s->ndim; d++) {
        uint32_t symbol = UINT32_MAX;
        if (d)
            TN_TRY(tn_lex_expect(&ps->lex, ","));
        if (!tn_lex_accept(&ps->lex, "-"))
            TN_TRY(program_known(ps, &ps->symbol, "symbol", &symbol));
        bind[d] = (int32_t)symbol;
    }
    return tn_lex_expect(&ps->lex, "]");
}

static tn_status slot_place(program_parser *ps, tn_slot_ir *s)
{
    if (tn_lex_accept(&ps->lex, "layout")) {
        const char *text = tn_lex_string(&ps->lex);
        if (!text)
            return TN_FAIL;
        TN_TRY(tn_layout_parse(ps->ctx, text, NULL, &s->layout));
        if (s->layout && s->layout->ndim != s->ndim)
            return tn_lex_fail(&ps->lex, "program-E003", "the layout has another number of dimensions");
    }
    s->bytes = tn_slot_dense_bytes(ps->pool, s->dtype, s->ndim, s->dim);
    if (tn_lex_accept(&ps->lex, "bytes"))
        TN_TRY(program_size(ps, &s->bytes));
    if (tn_lex_accept(&ps->lex, "pooled"))
        s->storage = TN_STORAGE_POOL;
    if (tn_lex_accept(&ps->lex, "at"))
        TN_TRY(program_size(ps, &s->offset));
    if (!tn_lex_accept(&ps->lex, "in"))
        return TN_OK;
    TN_TRY(tn_lex_expect(&ps->lex, "segment"));
    return program_u32(ps, &s->segment);
}

static tn_status slot_type(program_parser *ps, tn_slot_ir *s)
{
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    if (tn_lex_accept(&ps->lex, "handle")) {
        s->storage = TN_STORAGE_HANDLE;
        s->bytes = tn_idx(ps->pool, 0);
        s->dtype = TN_U8;
        return TN_OK;
    }
    TN_TRY(dtype(ps, &s->dtype));
    TN_TRY(dims(ps, s));
    return slot_place(ps, s);
}

static tn_status slot(program_parser *ps, enum tn_slot_kind kind)
{
    tn_slot_ir s = {.kind = (uint8_t)kind, .alias = -1, .over = -1};
    const char *label;
    uint32_t state = 0, at = (uint32_t)ps->slots.n;
    TN_TRY(slot_label(ps, &s, &label));
    if (ps->lex.tok == TN_TOK_STRING && !(s.name = tn_lex_string(&ps->lex)))
        return TN_FAIL;
    if (kind == TN_SLOT_STATE) {
        TN_TRY(tn_lex_expect(&ps->lex, "of"));
        TN_TRY(program_known(ps, &ps->state, "state", &state));
        s.alias = state;
    }
    TN_TRY(slot_type(ps, &s));
    if (kind == TN_SLOT_INPUT) {
        bool usual = !tn_lex_is(&ps->lex, "binds");
        TN_TRY(slot_binds(ps, &s));
        tn_vec_push(&ps->slots, s);
        tn_program_function_ir f = {.n_slot = at + 1,
                                    .slot = ps->slots.at,
                                    .symbol = ps->symbols.at,
                                    .n_symbol = (uint32_t)ps->symbols.n,
                                    .n_late = ps->f.n_late};
        if (usual)
            tn_program_default_binds(&f, at, (int32_t *)s.bind);
        return TN_OK;
    }
    tn_vec_push(&ps->slots, s);
    if (tn_lex_accept(&ps->lex, "copy")) {
        TN_TRY(tn_lex_expect(&ps->lex, "of"));
        TN_TRY(slot_reference(ps, at, false));
    }
    return tn_lex_accept(&ps->lex, "over") ? slot_reference(ps, at, true) : TN_OK;
}

/* ---- functions ---- */

static tn_status symbol(program_parser *ps, bool late)
{
    tn_symbol s = {.name = tn_lex_ident(&ps->lex)};
    if (!s.name)
        return TN_FAIL;
    if (!late && ps->f.n_late)
        return tn_lex_fail(&ps->lex, "program-E004", "symbols that inputs bind stand before late ones");
    TN_TRY(program_declare(ps, &ps->symbol, s.name, ps->symbols.n));
    TN_TRY(tn_lex_expect(&ps->lex, "in"));
    TN_TRY(tn_lex_expect(&ps->lex, "["));
    TN_TRY(tn_lex_int(&ps->lex, 0, INT64_MAX, &s.min));
    TN_TRY(tn_lex_expect(&ps->lex, ","));
    TN_TRY(tn_lex_int(&ps->lex, s.min, INT64_MAX, &s.max));
    ps->f.n_late += late;
    tn_vec_push(&ps->symbols, s);
    return tn_lex_expect(&ps->lex, "]");
}

static tn_status arena(program_parser *ps)
{
    TN_TRY(program_size(ps, &ps->f.arena_bytes));
    ps->f.work_offset = ps->f.arena_bytes;
    return tn_lex_accept(&ps->lex, "work") ? program_size(ps, &ps->f.work_offset) : TN_OK;
}

static tn_status segment(program_parser *ps)
{
    uint32_t number = 0;
    const tn_expr *bytes;
    TN_TRY(program_u32(ps, &number));
    if (number != ps->segments.n + 1)
        return tn_lex_fail(&ps->lex, "program-E004", "this is segment %zu, not %u", ps->segments.n + 1,
                           number);
    TN_TRY(tn_lex_expect(&ps->lex, ":"));
    TN_TRY(program_size(ps, &bytes));
    tn_vec_push(&ps->segments, bytes);
    return TN_OK;
}

/* A declaration, if the current word begins one. */
static tn_status declaration(program_parser *ps, bool *out_any)
{
    static const char *const kinds[] = {"input", "output", "const", "temp", "state"};
    tn_lexer *l = &ps->lex;
    *out_any = true;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (tn_lex_accept(l, kinds[k]))
            return slot(ps, (enum tn_slot_kind)k);
    if (tn_lex_is(l, "symbol") || tn_lex_is(l, "late")) {
        bool late = tn_lex_is(l, "late");
        tn_lex_next(l);
        return symbol(ps, late);
    }
    if (tn_lex_accept(l, "arena"))
        return arena(ps);
    if (tn_lex_accept(l, "segment"))
        return segment(ps);
    *out_any = false;
    return TN_OK;
}

static void begin(program_parser *ps)
{
    ps->f = (tn_program_function_ir){.arena_bytes = tn_idx(ps->pool, 0), .work_offset = tn_idx(ps->pool, 0)};
    tn_vec_clear(&ps->slots);
    tn_vec_clear(&ps->insts);
    tn_vec_clear(&ps->symbols);
    tn_vec_clear(&ps->sizes);
    tn_vec_clear(&ps->segments);
    tn_vec_clear(&ps->jumps);
    tn_vec_clear(&ps->slot_names);
    tn_map_clear(&ps->slot);
    tn_map_clear(&ps->label);
    tn_map_clear(&ps->symbol);
    tn_map_clear(&ps->size);
}

static tn_status resolve_slots(program_parser *ps)
{
    for (size_t i = 0; i < ps->slot_names.n; i++) {
        const reference *r = &ps->slot_names.at[i];
        uint64_t slot_number;
        if (!tn_map_get(&ps->slot, tn_map_key(r->name), &slot_number))
            return program_unknown(ps, r, "slot");
        tn_slot_ir *s = &ps->slots.at[r->at];
        *(r->over ? &s->over : &s->alias) = (int64_t)slot_number;
    }
    return TN_OK;
}

tn_status program_unknown(program_parser *ps, const reference *r, const char *what)
{
    ps->lex = r->lex;
    return tn_lex_fail(&ps->lex, "program-E001", "there is no %s `%s`", what, r->name);
}

#define KEEP(list) \
    tn_arena_copy(ps->arena, (list).n ? (const void *)(list).at : "", (list).n * sizeof *(list).at, 8)

static void end(program_parser *ps)
{
    ps->f.n_slot = (uint32_t)ps->slots.n;
    ps->f.slot = KEEP(ps->slots);
    ps->f.n_symbol = (uint32_t)ps->symbols.n;
    ps->f.symbol = KEEP(ps->symbols);
    ps->f.n_inst = (uint32_t)ps->insts.n;
    ps->f.inst = KEEP(ps->insts);
    ps->f.n_size = (uint32_t)ps->sizes.n;
    ps->f.size = KEEP(ps->sizes);
    ps->f.n_segment = (uint32_t)ps->segments.n;
    ps->f.segment_bytes = KEEP(ps->segments);
    tn_vec_push(&ps->functions, ps->f);
}

static tn_status function(program_parser *ps)
{
    begin(ps);
    TN_TRY(tn_lex_expect(&ps->lex, "@"));
    ps->f.name = tn_lex_ident(&ps->lex);
    if (!ps->f.name)
        return TN_FAIL;
    TN_TRY(program_declare(ps, &ps->function, ps->f.name, ps->functions.n));
    TN_TRY(tn_lex_expect(&ps->lex, "{"));
    for (bool any = true; any;)
        TN_TRY(declaration(ps, &any));
    TN_TRY(resolve_slots(ps));
    while (!tn_lex_accept(&ps->lex, "}"))
        TN_TRY(program_parse_inst(ps));
    TN_TRY(program_resolve_jumps(ps));
    end(ps);
    return TN_OK;
}

/* ---- the whole ---- */

static tn_status resolve_functions(program_parser *ps)
{
    uint64_t number;
    for (size_t i = 0; i < ps->inits.n; i++) {
        if (!tn_map_get(&ps->function, tn_map_key(ps->inits.at[i].name), &number))
            return program_unknown(ps, &ps->inits.at[i], "function");
        ps->states.at[ps->inits.at[i].at].init = (int32_t)number;
    }
    for (size_t i = 0; i < ps->calls.n; i++) {
        const reference *r = &ps->calls.at[i];
        if (!tn_map_get(&ps->function, tn_map_key(r->name), &number))
            return program_unknown(ps, r, "function");
        ((tn_inst_ir *)ps->functions.at[r->function].inst)[r->at].a = (uint32_t)number;
    }
    return TN_OK;
}

static tn_status parse(program_parser *ps, tn_program_ir *out)
{
    if (tn_lex_accept(&ps->lex, "depth"))
        TN_TRY(program_u32(ps, &out->depth));
    while (tn_lex_accept(&ps->lex, "kernel"))
        TN_TRY(kernel(ps));
    while (tn_lex_accept(&ps->lex, "state"))
        TN_TRY(state(ps));
    do {
        TN_TRY(tn_lex_expect(&ps->lex, "fn"));
        TN_TRY(function(ps));
    } while (ps->lex.tok != TN_TOK_END);
    TN_TRY(ps->lex.failed ? TN_FAIL : TN_OK);
    TN_TRY(resolve_functions(ps));
    out->n_function = (uint32_t)ps->functions.n;
    out->function = KEEP(ps->functions);
    out->n_state = (uint32_t)ps->states.n;
    out->state = KEEP(ps->states);
    out->n_text = (uint32_t)ps->texts.n;
    out->text = KEEP(ps->texts);
    return program_check_arrows(ps, out);
}

static void deinit(program_parser *ps)
{
    tn_map *const maps[] = {&ps->kernel, &ps->state, &ps->function, &ps->text,
                            &ps->slot,   &ps->label, &ps->symbol,   &ps->size};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        tn_map_deinit(maps[i]);
    tn_vec_deinit(&ps->kernels);
    tn_vec_deinit(&ps->states);
    tn_vec_deinit(&ps->functions);
    tn_vec_deinit(&ps->texts);
    tn_vec_deinit(&ps->inits);
    tn_vec_deinit(&ps->slots);
    tn_vec_deinit(&ps->insts);
    tn_vec_deinit(&ps->symbols);
    tn_vec_deinit(&ps->sizes);
    tn_vec_deinit(&ps->segments);
    tn_vec_deinit(&ps->operands);
    tn_vec_deinit(&ps->jumps);
    tn_vec_deinit(&ps->slot_names);
    tn_vec_deinit(&ps->calls);
    tn_vec_deinit(&ps->arrows);
}

tn_status tn_program_parse(tn_ctx *ctx, tn_pool *p, tn_arena *arena_of, const char *file, const char *text,
                           size_t n, tn_program_ir *out, uint32_t *out_n_kernel,
                           const tn_kernel_signature **out_kernel)
{
    program_parser parser = {.ctx = ctx, .pool = p, .arena = arena_of}, *ps = &parser;
    ps->scope = (tn_scope_fns){.name = scope_name, .user = ps};
    *out = (tn_program_ir){0};
    tn_lex_init(&ps->lex, ctx, file, text, n, false);
    tn_status st = parse(ps, out);
    *out_n_kernel = (uint32_t)ps->kernels.n;
    *out_kernel = KEEP(ps->kernels);
    deinit(ps);
    return st;
}
