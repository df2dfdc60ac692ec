/* The verifier: what only a builder can get wrong. Faults that text can express are golden files
 * (tests/golden/tir). */
#include "tir_fixture.h"

static tn_func *small(fixture *x)
{
    return read_func(x, "func @f(x: f32[n]) -> (out: f32[n]) {\n"
                        "  symbols n in [1, 64]\n"
                        "  for i < n:\n"
                        "    block b(j: spatial = i):\n"
                        "      let t: index = j + 1\n"
                        "      out[j] = x[j]\n"
                        "  for k < n:\n"
                        "    block c(k: spatial):\n"
                        "      out[k] = 1\n"
                        "}\n");
}

static tn_stmt *block_of(tn_func *f, const char *name) { return tn_func_block(f, name); }

static void broken_link(tn_func *f) { block_of(f, "b")->u.block.body.last->prev = NULL; }
static void wrong_list(tn_func *f) { f->body.last->list = &f->body.first->u.loop.body; }
static void unknown_kind(tn_func *f) { f->body.last->kind = 77; }
static void no_value(tn_func *f) { block_of(f, "c")->u.block.body.first->u.store.value = NULL; }
static void bad_stage(tn_func *f) { f->stage = TN_STAGE_FLAT; }
static void equal_buffers(tn_func *f) { f->buffer[1].name = f->buffer[0].name; }
static void bad_buffer_name(tn_func *f) { f->buffer[1].name = "a b"; }
static void no_such_buffer(tn_func *f) { block_of(f, "c")->u.block.body.first->u.store.buffer = 9; }
static void vector_buffer(tn_func *f) { f->buffer[0].dtype.lanes = 4; }
static void index_buffer(tn_func *f) { f->buffer[0].dtype = TN_IDX; }
static void local_param(tn_func *f) { f->buffer[0].scope = TN_SCOPE_LOCAL; }
static void forgetful_param(tn_func *f) { f->buffer[0].param = 1; }
static void output_first(tn_func *f)
{
    f->buffer[0].written = true;
    f->buffer[1].written = false;
}
static void filled_output(tn_func *f)
{
    tn_buffer *b = &f->buffer[f->param[f->n_param - 1]];
    TN_ASSERT(b->ndim == 1 && tn_layout_parse(f->ctx, "N4n{fill=0}", NULL, &b->layout) == TN_OK);
}
static void declared_param(tn_func *f) { tn_body_append(&f->body, tn_stmt_decl(f, 0)); }
static void variable_escapes(tn_func *f)
{
    tn_stmt *c = block_of(f, "c");
    c->u.block.body.first->u.store.index[0] = f->body.first->u.loop.var;
}
static void iteration_escapes(tn_func *f) { tn_body_move(&f->body, NULL, &block_of(f, "c")->u.block.body); }
static void let_escapes(tn_func *f)
{
    const tn_expr *t = block_of(f, "b")->u.block.body.first->u.let.var;
    block_of(f, "c")->u.block.mask = tn_lt(f->pool, t, tn_idx(f->pool, 3));
}
static void no_such_variable(tn_func *f)
{
    block_of(f, "c")->u.block.body.first->u.store.index[0] = tn_var(f->pool, TN_IDX, 99);
}
static void other_type(tn_func *f)
{
    const tn_expr *k = f->body.last->u.loop.var;
    block_of(f, "c")->u.block.body.first->u.store.value = tn_var(f->pool, TN_F32, (uint32_t)k->u.i);
}
static void defined_twice(tn_func *f) { block_of(f, "c")->u.block.iter[0].var = f->body.last->u.loop.var; }
static void unknown_symbol(tn_func *f) { f->body.last->u.loop.extent = tn_sym(f->pool, "m"); }
static void empty_range(tn_func *f) { f->symbol[0].max = 0; }
static void reserved_symbol(tn_func *f) { f->symbol[0].name = "for"; }
static void float_extent(tn_func *f) { f->body.last->u.loop.extent = tn_flt(f->pool, TN_F32, 3); }
static void float_variable(tn_func *f) { f->body.last->u.loop.var = tn_func_add_var(f, "q", TN_F32); }
static void float_mask(tn_func *f) { block_of(f, "c")->u.block.mask = tn_flt(f->pool, TN_F32, 1); }
static void bad_iter_kind(tn_func *f) { block_of(f, "c")->u.block.iter[0].kind = 5; }
static void equal_blocks(tn_func *f) { block_of(f, "c")->u.block.name = "b"; }
static void bad_block_name(tn_func *f) { block_of(f, "c")->u.block.name = "let"; }
static void let_of_other_type(tn_func *f)
{
    block_of(f, "b")->u.block.body.first->u.let.value = tn_flt(f->pool, TN_F32, 1);
}
static void parallel_in_loop(tn_func *f)
{
    bad_stage(f);
    tn_stmt *outer = tn_stmt_for(f, tn_func_add_var(f, "o", TN_IDX), tn_idx(f->pool, 2), TN_LOOP_SERIAL);
    tn_stmt *in = f->body.last;
    tn_stmt_remove(in);
    in->u.loop.kind = TN_LOOP_PARALLEL;
    tn_body_append(&f->body, outer);
    tn_body_append(&outer->u.loop.body, in);
}
static void too_deep(tn_func *f)
{
    tn_body *to = &f->body;
    for (int i = 0; i < 100000; i++) {
        tn_stmt *s = tn_stmt_if(f, tn_bool(f->pool, true));
        tn_body_append(to, s);
        to = &s->u.cond.then;
    }
}
static void global_in_task(tn_func *f)
{
    f->body.last->u.loop.kind = TN_LOOP_PARALLEL;
    uint32_t b = tn_func_add_buffer(f, &(tn_buffer){.name = "w", .dtype = TN_F32, .param = -1});
    tn_body_insert(&f->body.last->u.loop.body, f->body.last->u.loop.body.first, tn_stmt_decl(f, b));
}
static void symbolic_register(tn_func *f)
{
    const tn_expr *n = tn_sym(f->pool, "n");
    uint32_t b = tn_func_add_buffer(
        f, &(tn_buffer){
               .name = "r", .dtype = TN_F32, .ndim = 1, .dim = &n, .param = -1, .scope = TN_SCOPE_REGISTER});
    tn_body_append(&f->body, tn_stmt_decl(f, b));
}

static void faults_of_builders(void **state)
{
    (void)state;
    static const struct {
        void (*break_it)(tn_func *f);
        const char *id;
    } row[] = {
        {broken_link, "tir-E101"},     {wrong_list, "tir-E101"},        {unknown_kind, "tir-E101"},
        {no_value, "tir-E101"},        {too_deep, "tir-E101"},          {bad_stage, "tir-E102"},
        {equal_buffers, "tir-E103"},   {bad_buffer_name, "tir-E103"},   {no_such_buffer, "tir-E103"},
        {vector_buffer, "tir-E103"},   {index_buffer, "tir-E103"},      {local_param, "tir-E103"},
        {forgetful_param, "tir-E103"}, {output_first, "tir-E103"},      {filled_output, "tir-E103"},
        {declared_param, "tir-E105"},  {variable_escapes, "tir-E111"},  {iteration_escapes, "tir-E111"},
        {let_escapes, "tir-E111"},     {no_such_variable, "tir-E111"},  {other_type, "tir-E111"},
        {defined_twice, "tir-E112"},   {unknown_symbol, "tir-E113"},    {empty_range, "tir-E113"},
        {reserved_symbol, "tir-E113"}, {float_extent, "tir-E114"},      {float_variable, "tir-E114"},
        {float_mask, "tir-E109"},      {bad_iter_kind, "tir-E118"},     {equal_blocks, "tir-E119"},
        {bad_block_name, "tir-E119"},  {let_of_other_type, "tir-E122"}, {parallel_in_loop, "tir-E115"},
        {global_in_task, "tir-E117"},  {symbolic_register, "tir-E116"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        fixture_init(&x);
        tn_func *f = small(&x);
        if (tn_func_verify(f) != TN_OK)
            fail_msg("%s", diags(&x));
        row[i].break_it(f);
        if (tn_func_verify(f) == TN_OK)
            fail_msg("row %d, %s, passed", (int)i, row[i].id);
        if (!strstr(diags(&x), row[i].id))
            fail_msg("row %d: no %s in %s", (int)i, row[i].id, diags(&x));
        fixture_deinit(&x);
    }
}

/* Faults are reported together, each once, and not without end. */
static void faults_are_limited(void **state)
{
    (void)state;
    fixture x;
    fixture_init(&x);
    tn_func *f = read_func(&x, "func @f() -> (x: f32[4]) {\n  pass\n}\n");
    for (int i = 0; i < 1000; i++)
        tn_body_append(&f->body, tn_stmt_store(f, 0, 1, (const tn_expr *[]){tn_idx(&x.pool, i)},
                                               tn_flt(&x.pool, TN_F32, 0), NULL));
    assert_int_equal(tn_func_verify(f), TN_FAIL);
    assert_in_range(x.ctx.n_error, 2, 20);
    fixture_deinit(&x);
}

/* An invalid function still prints. */
static void what_is_invalid_prints(void **state)
{
    (void)state;
    static void (*const row[])(tn_func *f) = {variable_escapes, no_such_variable, no_such_buffer,
                                              unknown_symbol,   defined_twice,    too_deep};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        fixture x;
        fixture_init(&x);
        tn_func *f = small(&x);
        row[i](f);
        assert_non_null(strstr(printed(&x, f), "func @f("));
        fixture_deinit(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_builders),
        cmocka_unit_test(faults_are_limited),
        cmocka_unit_test(what_is_invalid_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
