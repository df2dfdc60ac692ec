/* The verifier: each row breaks a sound module in one way and names what must be reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "op/control/control.h"
#include "op/nn/nn.h"
#include "op/tensor/tensor.h"
#include "test_relay.h"

static const char text[] =
    "def @main(%x: Tensor[(n, 64), float32], %y: Tensor[(n, 64), float32]) {\n"
    "  %0 = exp(%x) /* first */;\n"
    "  %1 = fn (%p: Tensor[(n, 64), float32], %w: Tensor[(256, 64), float32, NK32n], Primitive=1) {\n"
    "    %2 = nn.dense(%p, %w, units=256);\n"
    "    nn.relu(%2)\n"
    "  };\n"
    "  %3 = %1(%0, meta[relay.Constant][0] /* w (256, 64) in NK32n */);\n"
    "  %4 = reshape(%3, newshape=[n, 16, 16]);\n"
    "  (%4, %y)\n"
    "}\n"
    "def @other(%z: bool) { %z }\n";

/* The k-th node of op in the body of @main, or in its closure if there is none. */
static tn_node *find(module *m, const tn_op *op)
{
    for (tn_node *n = m->g.func->body->first; n; n = n->next) {
        if (n->op == op)
            return n;
        for (tn_node *i = n->nregion ? n->region[0]->first : NULL; i; i = i->next)
            if (i->op == op && op != &tn_op_var)
                return i;
    }
    return NULL;
}

static const tn_type *f32(module *m, int n, const int64_t dim[], const char *layout)
{
    const tn_layout *l = NULL;
    assert_int_equal(layout ? tn_layout_parse(&m->ctx, layout, NULL, &l) : TN_OK, TN_OK);
    return tn_type_relayout(&m->pool, tn_type_tensor_i(&m->pool, TN_F32, n, dim), l);
}

static void number_taken(module *m) { find(m, &tn_op_exp)->id = find(m, &tn_op_reshape)->id; }
static void number_large(module *m) { find(m, &tn_op_exp)->id = 9999; }
static void wrong_owner(module *m) { find(m, &tn_op_exp)->owner = find(m, &tn_op_fn)->region[0]; }
static void broken_list(module *m) { find(m, &tn_op_reshape)->prev = NULL; }
static void broken_end(module *m) { m->g.func->body->last = m->g.func->body->first; }
static void wrong_holder(module *m) { find(m, &tn_op_fn)->region[0]->holder = NULL; }
static void late_param(module *m) { find(m, &tn_op_exp)->op = &tn_op_var; }
static void fewer_params(module *m) { m->g.func->body->n_param--; }
static void swapped_params(module *m) { m->g.func->body->param[0] = m->g.func->body->param[1]; }
static void too_many_inputs(module *m) { find(m, &tn_op_reshape)->op = &tn_op_add; }
static void absent_input(module *m) { tn_use_set(&m->g, &find(m, &tn_op_exp)->in[0], (tn_value){0}); }
static void no_region(module *m) { find(m, &tn_op_fn)->nregion = 0; }
static void no_attributes(module *m) { find(m, &tn_op_reshape)->attr = NULL; }
static void use_before(module *m)
{
    tn_use_set(&m->g, &find(m, &tn_op_exp)->in[0], tn_val(find(m, &tn_op_reshape)));
}
static void use_of_inner(module *m)
{
    tn_use_set(&m->g, &find(m, &tn_op_reshape)->in[0], tn_val(find(m, &tn_op_nn_dense)));
}
static void use_of_other(module *m)
{
    tn_use_set(&m->g, &find(m, &tn_op_exp)->in[0], tn_val(m->g.func->next->body->param[0]));
}
static void use_of_no_output(module *m) { find(m, &tn_op_exp)->in[0].out = 3; }
static void absent_result(module *m) { tn_use_set(&m->g, &m->g.func->body->result[0], (tn_value){0}); }
static void use_unlisted(module *m) { m->g.func->body->param[1]->users[0] = NULL; }
static void use_misplaced(module *m)
{
    tn_use *u = m->g.func->body->param[1]->users[0];
    u->prev = u;
}
static void list_cycle(module *m)
{
    tn_use *u = m->g.func->body->param[0]->users[0];
    u->next = u;
}
static void type_missing(module *m) { find(m, &tn_op_exp)->type[0] = NULL; }
static void type_other(module *m) { find(m, &tn_op_reshape)->type[0] = f32(m, 2, (int64_t[]){4, 4}, NULL); }
static void layout_argument(module *m)
{
    find(m, &tn_op_constant)->type[0] = f32(m, 2, (int64_t[]){256, 64}, NULL);
}
static void layout_result(module *m)
{
    tn_node *c = find(m, &tn_op_call);
    const tn_layout *l;
    assert_int_equal(tn_layout_parse(&m->ctx, "NC16c", NULL, &l), TN_OK);
    c->type[0] = tn_type_relayout(&m->pool, c->type[0], l);
}
static void layout_inside(module *m)
{
    tn_node *c = find(m, &tn_op_nn_dense);
    const tn_layout *l;
    assert_int_equal(tn_layout_parse(&m->ctx, "NC16c", NULL, &l), TN_OK);
    c->type[0] = tn_type_relayout(&m->pool, c->type[0], l);
}
static void layout_parameter(module *m)
{
    tn_node *c = m->g.func->body->param[1];
    const tn_layout *l;
    assert_int_equal(tn_layout_parse(&m->ctx, "NC16c", NULL, &l), TN_OK);
    c->type[0] = tn_type_relayout(&m->pool, c->type[0], l);
}
static void layout_returned(module *m)
{
    tn_node *c = find(m, &tn_op_reshape);
    const tn_layout *l;
    assert_int_equal(tn_layout_parse(&m->ctx, "NAB16a", NULL, &l), TN_OK);
    c->type[0] = tn_type_relayout(&m->pool, c->type[0], l);
}
static void constant_size(module *m)
{
    void *at;
    find(m, &tn_op_constant)->blob = tn_graph_blob(&m->g, 12, &at);
}
static void constant_symbolic(module *m)
{
    find(m, &tn_op_constant)->type[0] = m->g.func->body->param[0]->type[0];
}
static void no_such_state(module *m) { tn_vec_push(&m->g.state, ((tn_graph_state){.param = 7})); }
static void same_name(module *m) { m->g.func->next->name = "main"; }
static void deep(module *m)
{
    tn_region *r = m->g.func->body;
    for (int i = 0; i < 200; i++) {
        tn_fn_attr attr = {0};
        tn_node *n = tn_node_new(&m->g, r, NULL, &tn_op_fn, 0, NULL, 1, &attr, NULL);
        r = tn_region_new(&m->g, n);
        tn_region_set_results(&m->g, r, 0, NULL);
    }
}

static const struct row {
    const char *name, *id;
    void (*harm)(module *m);
} rows[] = {
#define ROW(id, f) {#f, id, f}
    ROW("relay-E252", no_such_state),     ROW("relay-E101", number_taken),
    ROW("relay-E101", number_large),      ROW("relay-E101", wrong_owner),
    ROW("relay-E101", broken_list),       ROW("relay-E101", broken_end),
    ROW("relay-E101", wrong_holder),      ROW("relay-E102", late_param),
    ROW("relay-E102", fewer_params),      ROW("relay-E102", swapped_params),
    ROW("relay-E103", too_many_inputs),   ROW("relay-E103", absent_input),
    ROW("relay-E103", no_region),         ROW("relay-E104", use_before),
    ROW("relay-E104", use_of_inner),      ROW("relay-E104", use_of_other),
    ROW("relay-E104", use_of_no_output),  ROW("relay-E104", absent_result),
    ROW("relay-E105", use_unlisted),      ROW("relay-E105", use_misplaced),
    ROW("relay-E105", list_cycle),        ROW("relay-E106", type_missing),
    ROW("relay-E106", type_other),        ROW("relay-E107", deep),
    ROW("relay-E108", layout_argument),   ROW("relay-E108", layout_result),
    ROW("relay-E108", layout_inside),     ROW("relay-E108", layout_parameter),
    ROW("relay-E108", layout_returned),   ROW("relay-E109", constant_size),
    ROW("relay-E109", constant_symbolic), ROW("relay-E110", same_name),
    ROW("relay-E111", no_attributes),
#undef ROW
};

static void test_broken(void **state)
{
    (void)state;
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        module m;
        module_read(&m, text);
        assert_int_equal(m.g.symbol[0].min, 1);
        rows[i].harm(&m);
        tn_status first = tn_relay_verify(&m.g), again = tn_relay_verify(&m.g);
        bool found = false;
        for (size_t k = 0; k < m.ctx.n_diag; k++)
            found = found || !strcmp(m.ctx.diag[k].id, rows[i].id);
        if (first == TN_OK || again == TN_OK || !found) {
            print_error("%s: want %s, got %d %d\n%s", rows[i].name, rows[i].id, first, again,
                        module_diag(&m));
            n_wrong++;
        }
        module_close(&m);
    }
    assert_int_equal(n_wrong, 0);
}

/* A match that a pass left without a clause, or with other parameters, or over a value that is none of a data type. */
static void test_match(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        module m;
        module_read(
            &m, "def @main(%x: float32) {\n  %0 = match (Cons(%x, Nil)) { Cons(%a, _) => %a, Nil => %x };\n"
                "  %0\n}\n");
        tn_node *n = find(&m, &tn_op_match);
        if (i == 1)
            n->nregion = 1;
        if (i == 2)
            n->region[0]->param[0]->type[0] = tn_type_tensor(&m.pool, TN_I32, 0, NULL, NULL);
        if (i == 3)
            tn_use_set(&m.g, &n->in[0], tn_val(m.g.func->body->param[0]));
        assert_int_equal(tn_relay_verify(&m.g), i ? TN_FAIL : TN_OK);
        assert_true(!i || strstr(module_diag(&m), "[op-E072]"));
        module_close(&m);
    }
}

/* Verifying leaves a sound graph as it is. */
static void test_sound(void **state)
{
    (void)state;
    module m;
    module_read(&m, text);
    tn_buf before = {0};
    tn_relay_print(&m.g, &before);
    const tn_node *r = find(&m, &tn_op_reshape);
    const tn_type *type = r->type[0];
    const void *attr = r->attr;
    assert_int_equal(tn_relay_verify(&m.g), TN_OK);
    assert_ptr_equal(r->type[0], type);
    assert_ptr_equal(r->attr, attr);
    assert_string_equal(module_print(&m), tn_buf_cstr(&before));
    tn_buf_deinit(&before);
    module_close(&m);
}

/* A report names the model node. */
static void test_source(void **state)
{
    (void)state;
    module m;
    module_read(&m, text);
    type_missing(&m);
    assert_int_equal(tn_relay_verify(&m.g), TN_FAIL);
    assert_non_null(
        strstr(module_diag(&m), "t.relay:2:8: node first: error: the type is missing (exp, number "));
    module_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_broken), cmocka_unit_test(test_match),
                                       cmocka_unit_test(test_sound), cmocka_unit_test(test_source)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
