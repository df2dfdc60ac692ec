/* frontend/import by a second format: a few operators as lines of text. What the interface needs of a format is here in
 * full: a reader, converters in a table, ids of diagnostics.
 *
 *     input x batch 4             a float32 input; a dimension is a number, a name, or ? (not told)
 *     ints shape 0 2 2            a constant list of int64
 *     op relu 1 y <- x k=2        operator (- : not named), version, results, `<-`, operands (-) and attributes
 *     output y
 */
#include "frontend/import/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

enum { MAX_WORDS = 16 };

/* ---- converters ---- */

static void unary(imp_node *c) { imp_out(c, 0, imp_call1(c, c->row->relay, NULL, imp_in(c, 0))); }

static void binary(imp_node *c)
{
    imp_out(c, 0, imp_call2(c, c->row->relay, NULL, imp_in(c, 0), imp_in(c, 1)));
}

/* The factor is an attribute before version 3. */
static void scale(imp_node *c)
{
    tn_value x = imp_in(c, 0),
             k = c->version < 3 ? imp_const(c, TN_F32, (double)imp_attr_int(c, "k", 1)) : imp_in(c, 1);
    imp_out(c, 0, imp_call2(c, &tn_op_multiply, NULL, x, k));
}

static void reshape(imp_node *c)
{
    tn_value x = imp_in(c, 0), shape = imp_in(c, 1);
    if (imp_dynamic_reshape(c, x, shape, false))
        return;
    tn_reshape_attr a = {imp_host_in(c, shape, "the shape"), false};
    imp_out(c, 0, imp_reshape_to(c, x, &a));
}

/* Reports from where the operator is not known. */
static void lost(imp_node *c)
{
    c->bad = true;
    (void)imp_error(c->im, IMP_BAD_TENSOR, NULL, "it is lost");
    (void)imp_error(c->im, IMP_BAD_TENSOR, &(tn_loc){.file = "other", .node = "inner", .op = "it"},
                    "it is, too");
}

static void shape(imp_node *c) { imp_out(c, 0, imp_shape_of(c, imp_in(c, 0))); }

// clang-format off
static const imp_row rows[] = {
    {"relu",    1, 0, 1, 1, unary,   &tn_op_nn_relu},
    {"add",     1, 0, 2, 1, binary,  &tn_op_add},
    {"scale",   1, 2, 1, 1, scale,   NULL},
    {"scale",   3, 0, 2, 1, scale,   NULL},
    {"reshape", 2, 0, 2, 1, reshape, NULL},
    {"shape",   1, 0, 1, 1, shape,   NULL},
    {"lost",    1, 0, 1, 1, lost,    NULL},
    {0},
};
static const imp_table tables[] = {{NULL, rows}, {0}};
static const imp_format toy = {
    .version = "version", .tables = tables,
    .id = {
        [IMP_NO_OUTPUTS] = "toy-E001", [IMP_UNKNOWN_OPERATOR] = "toy-E002", [IMP_OTHER_VERSION] = "toy-E003",
        [IMP_ATTR_TYPE] = "toy-E004", [IMP_ATTR_UNKNOWN] = "toy-E005", [IMP_UNKNOWN_NAME] = "toy-E006",
        [IMP_NAME_TWICE] = "toy-E007", [IMP_NO_TENSOR] = "toy-E008", [IMP_OPERANDS] = "toy-E009",
        [IMP_NO_INPUT] = "toy-E010", [IMP_BAD_TENSOR] = "toy-E011",
        [IMP_TOO_LARGE] = "toy-E012", [IMP_UNSUPPORTED_RESULT] = "toy-E013",
    },
};
// clang-format on

/* ---- the reader ---- */

static tn_bytes bytes(const char *s) { return (tn_bytes){(const uint8_t *)s, strlen(s)}; }

static tn_status read_input(imp_model *im, int n, char *const word[])
{
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    imp_dim dim[MAX_WORDS];
    imp_input in = {
        .name = bytes(word[0]), .dtype = TN_F32, .has_shape = true, .n = (size_t)n - 1, .dim = dim};
    for (int i = 1; i < n; i++) {
        char *end;
        int64_t extent = strtoll(word[i], &end, 10);
        dim[i - 1] = *end ? (imp_dim){-1, bytes(word[i])} : (imp_dim){.extent = extent};
    }
    TN_TRY(imp_check_shapes(im, 1, &in));
    TN_TRY(imp_define(im, in.name, (imp_value){.state = IMP_BAD}, loc));
    return imp_add_input(im, &in, loc);
}

static tn_status read_ints(imp_model *im, int n, char *const word[])
{
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    int64_t dim = n - 1, *at = TN_NEW_N(im->g->arena, int64_t, (size_t)n);
    size_t count, size;
    for (int i = 1; i < n; i++)
        at[i - 1] = strtoll(word[i], NULL, 10);
    if (!imp_measure(im, word[0], 1, &dim, TN_I64, loc, &count, &size))
        return TN_FAIL;
    const tn_blob *data = imp_blob(im, (tn_bytes){(const uint8_t *)at, size}, TN_I64);
    return imp_define(im, bytes(word[0]),
                      (imp_value){.v = tn_val(imp_constant(im, TN_I64, 1, &dim, data, word[0]))}, loc);
}

static void read_operator(imp_model *im, int n, char *const word[])
{
    imp_attr attr[MAX_WORDS];
    tn_bytes out[MAX_WORDS], in[MAX_WORDS];
    imp_node node = {.version = strtoll(word[1], NULL, 10), .in_name = in, .out_name = out, .attr = attr};
    int i = 2;
    for (; i < n && strcmp(word[i], "<-") != 0; i++)
        out[node.n_out++] = bytes(word[i]);
    for (i++; i < n; i++) {
        char *equals = strchr(word[i], '=');
        if (equals)
            attr[node.n_attr++] = (imp_attr){.name = {(const uint8_t *)word[i], (size_t)(equals - word[i])},
                                             .kind = IMP_A_INT,
                                             .i = strtoll(equals + 1, NULL, 10)};
        else
            in[node.n_in++] = bytes(word[i][0] == '-' ? "" : word[i]);
    }
    const char *op = word[0][0] == '-' ? "" : word[0];
    node.loc = imp_make_loc(im, tn_intern(im->g->ctx, word[2]), tn_intern(im->g->ctx, op));
    node.row = imp_row_of(im, (tn_bytes){0}, bytes(op), node.version, node.loc, true);
    imp_convert(im, &node);
}

/* state NAME FIRST, then the value that a run leaves: keep NAME VALUE */
static tn_status read_state(imp_model *im, int n, char *const word[])
{
    const tn_loc *loc = imp_make_loc(im, NULL, NULL);
    const tn_expr *dim[] = {tn_idx(im->g->pool, 4), tn_sym(im->g->pool, "n")};
    float *first = tn_arena_alloc(im->g->arena, 4 * sizeof *first, 64);
    for (int i = 0; i < 4; i++)
        first[i] = 1.5f;
    bool zeros = strcmp(word[1], "0") == 0, unknown = strcmp(word[1], "?") == 0;
    (void)n;
    tn_value v = imp_state(im, word[0], tn_type_tensor(im->g->pool, TN_F32, 1 + unknown, dim, NULL),
                           zeros ? NULL : tn_graph_blob_ref(im->g, first, 4 * sizeof *first), loc);
    return imp_define(im, bytes(word[0]), (imp_value){.v = v, .state = v.def ? IMP_OK : IMP_BAD}, loc);
}

static tn_status keep(imp_model *im, char *const word[])
{
    return imp_set_state(im, word[0], imp_lookup(im, bytes(word[1]))->v, imp_make_loc(im, NULL, NULL));
}

static tn_status read_line(imp_model *im, char *line)
{
    char *word[MAX_WORDS + 1], *rest = line;
    int n = 0;
    while (n < MAX_WORDS && (word[n] = strtok_r(n ? NULL : line, " ", &rest)) != NULL)
        n++;
    if (strcmp(word[0], "input") == 0)
        return read_input(im, n - 1, word + 1);
    if (strcmp(word[0], "ints") == 0)
        return read_ints(im, n - 1, word + 1);
    if (strcmp(word[0], "state") == 0)
        return read_state(im, n - 1, word + 1);
    if (strcmp(word[0], "keep") == 0)
        return keep(im, word + 1);
    if (strcmp(word[0], "op") == 0) {
        read_operator(im, n - 1, word + 1);
        return TN_OK;
    }
    tn_bytes name = n > 1 ? bytes(word[1]) : (tn_bytes){0};
    return imp_set_results(im, (size_t)n - 1, &name);
}

static tn_status import_toy(tn_graph *g, const char *text, const tn_import_options *o)
{
    imp_model im;
    tn_status s = TN_OK;
    imp_open(&im, &toy, g, "m.toy", &(tn_file){(const uint8_t *)text, strlen(text), 0}, o);
    imp_start(&im);
    for (char *line = tn_arena_strdup(g->arena, text), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = 0;
        if (read_line(&im, line) != TN_OK)
            s = TN_FAIL;
    }
    imp_close(&im);
    return s;
}

/* ---- cases ---- */

static const struct {
    const char *text, *want[3]; /* all are in the module's text or in what is reported */
} cases[] = {
    {"input x batch 4\nop relu 1 y <- x\noutput y\n", {"%x: Tensor[(batch, 4), float32]", "nn.relu(%x)"}},
    {"input x ? 4\nop scale 2 y <- x k=3\noutput y\n", {"%x: Tensor[(d0, 4), float32]", "multiply(%x, 3f)"}},
    {"input x 2\ninput k 1\nop scale 99 y <- x k\noutput y\n", {"multiply(%x, %k)"}},
    /* the elements of a shape are known although the batch is a symbol */
    {"input x n 4\ninput y n 2 2\nop shape 1 s <- y\nop reshape 2 z <- x s\noutput z\n",
     {"newshape=[n, 2, 2]", "Tensor[(n, 2, 2), float32]"}},
    {"input x n 4\nints s 0 2 2\nop reshape 2 z <- x s\noutput z\n", {"newshape=[n, 2, 2]"}},
    /* everything is reported at once, each thing once */
    {"input x 2\nop rely 1 a <- x\nop scale 2 b <- x j=1\nop relu 1 c <- nobody\nop add 1 d <- a b\noutput "
     "d\n",
     {"node a (rely): error: operator rely (version 1) is not supported; did the exporter mean relu? "
      "[toy-E002]",
      "node b (scale): error: attribute j is not supported for version 2",
      "operand \"nobody\" is not an input"}},
    {"input x 2\nop reshape 1 a <- x x\nop add 1 b <- x -\nop relu 1 x <- x\noutput q\n",
     {"does not exist in version 1, only from 2 on; the model is damaged [toy-E003]",
      "node b (add): error: operand 1 is missing; the model is damaged [toy-E009]",
      "two values are called \"x\"; the model is damaged [toy-E007]"}},
    /* what is said while an operator is converted is about that one */
    {"input x 2\nop lost 1 a <- x\noutput a\n",
     {"m.toy: node a (lost): error: it is lost [toy-E011]", "other: node inner (it): error: it is, too"}},
    {"input x 2\nop - 1 a <- x\noutput a\n",
     {"m.toy: node a: error: the node does not name its operator; the model is damaged [toy-E002]"}},
    /* what is kept from run to run: a parameter and a result of its own, and a function of its first contents */
    {"input x 4\nop relu 1 h <- x\nstate h2 0\nop add 1 y <- h h2\nkeep h2 y\noutput y\n",
     {"#[outputs = [\"y\", \"h2\"]]\n#[state = [\"h2\", \"h2\"]]\n", "%h2: Tensor[(4), float32] /* state */)",
      "(%1, %1)"}},
    {"input x 4\nstate y 1.5\nop add 1 z <- x y\noutput z\n",
     {"#[state = [\"y\", \"y\", \"state0\"]]", "(%0, %y)", "def @state0() -> Tensor[(4), float32]"}},
    {"input x 4\nstate h ?\noutput x\n",
     {"the model keeps \"h\" of type Tensor[(4, n), float32] from run to run, whose size is not known; give "
      "the "
      "shapes of the inputs (--input-shapes) [toy-E012]"}},
    {"input x 2\nstate h 0\nkeep h x\noutput x\n",
     {"\"h\", which the model keeps from run to run, changes from Tensor[(4), float32] to Tensor[(2), "
      "float32] "
      "[toy-E013]"}},
    {"input x 2\noutput\n", {"the model has no outputs [toy-E001]"}},
};

static void models_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model m;
        tn_buf said = {0};
        model_init(&m);
        if (import_toy(&m.g, cases[i].text, NULL) == TN_OK && !m.ctx.n_error) {
            assert_int_equal(tn_relay_verify(&m.g), TN_OK);
            tn_relay_print(&m.g, &said);
        }
        tn_diag_print_all(&m.ctx, &said);
        for (int k = 0; k < 3 && cases[i].want[k]; k++)
            if (!strstr(tn_buf_cstr(&said), cases[i].want[k]))
                fail_msg("case %zu: no \"%s\" in\n%s", i, cases[i].want[k], tn_buf_cstr(&said));
        tn_buf_deinit(&said);
        model_deinit(&m);
    }
}

static void shapes_are_given(void **state)
{
    static const int64_t dim[] = {7, 4};
    tn_import_options o = {.shape = (const tn_input_shape[]){{.name = "x", .ndim = 2, .dim = dim}},
                           .n_shape = 1};
    tn_buf said = {0};
    model m;
    (void)state;
    model_init(&m);
    assert_int_equal(import_toy(&m.g, "input x batch 4\nop relu 1 y <- x\noutput y\n", &o), TN_OK);
    tn_relay_print(&m.g, &said);
    assert_non_null(strstr(tn_buf_cstr(&said), "%x: Tensor[(7, 4), float32]"));
    model_deinit(&m);
    model_init(&m);
    assert_int_equal(import_toy(&m.g, "input z 4\noutput z\n", &o), TN_FAIL);
    assert_non_null(
        strstr(model_errors(&m),
               "the model has no input \"x\"; give the shape of an input that it has: z [toy-E010]"));
    tn_buf_deinit(&said);
    model_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_read), cmocka_unit_test(shapes_are_given)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
