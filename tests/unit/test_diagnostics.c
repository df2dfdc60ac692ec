/* Diagnostics that only the C interface reaches: what the command line, a reader or type inference finds before. */
#include "codegen_unit.h"
#include "op/core/core.h"
#include "op/op.h"
#include "relay/relay.h"
#include "tenon/tenon.h"
#include "transform/pass.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

typedef struct module {
    fixture x;
    tn_graph g;
} module;

static void module_init(module *m, const char *text)
{
    fixture_init(&m->x);
    tn_graph_init(&m->g, &m->x.ctx, &m->x.arena, &m->x.pool);
    if (tn_relay_parse(&m->g, "t.relay", text, strlen(text), NULL) != TN_OK)
        fail_msg("%s\n%s", text, diags(&m->x));
}

static void module_deinit(module *m)
{
    tn_graph_deinit(&m->g);
    fixture_deinit(&m->x);
}

/* ---- operators ---- */

static tn_node *node(module *m, const tn_op *op, int nin, const tn_value in[], const void *attr)
{
    static const tn_loc loc = {.file = "t.relay", .line = 7, .col = 3};
    return tn_node_new(&m->g, tn_graph_function(&m->g, "main")->body, NULL, op, nin, in, 1, attr, &loc);
}

static void refuse(module *m, tn_node *n, const char *what)
{
    assert_int_equal(tn_infer_node(&m->g, n), TN_FAIL);
    assert_diag(&m->x, what);
    tn_diag_clear(&m->x.ctx);
}

static void operators(void **state)
{
    (void)state;
    module m;
    module_init(&m, "def @main(%x: float32) { %x }");
    const tn_value x = tn_val(tn_graph_function(&m.g, "main")->body->param[0]);
    refuse(&m, node(&m, &tn_op_tuple_get, 1, &x, &(tn_tuple_get_attr){0}),
           "t.relay:7:3: error: tuple_get: the operand must be a tuple, but is float32 [op-E013]");
    tn_value pair = tn_val(node(&m, &tn_op_tuple, 2, (tn_value[]){x, x}, NULL));
    assert_int_equal(tn_infer_node(&m.g, pair.def), TN_OK);
    refuse(&m, node(&m, &tn_op_tuple_get, 1, &pair, &(tn_tuple_get_attr){2}),
           "t.relay:7:3: error: tuple_get: field 2 of (float32, float32) does not exist [op-E013]");
    refuse(&m, node(&m, &tn_op_constant, 0, NULL, NULL),
           "t.relay:7:3: error: constant: its type was not given [op-E016]");
    tn_value untyped = tn_val(node(&m, &tn_op_tuple, 1, &x, NULL));
    refuse(&m, node(&m, &tn_op_tuple, 1, &untyped, NULL), "is not known [op-E016]");
    tn_te te;
    tn_te_init(&te, &m.x.ctx, &m.x.arena, &m.x.pool, "f");
    assert_int_equal(tn_define_node(&te, &m.g, pair.def, NULL, NULL), TN_FAIL);
    assert_diag(&m.x, "tuple: it has no tensor expression; expand it into simpler operators first [op-E017]");
    module_deinit(&m);
}

/* ---- the Relay interpreter, on modules that no verifier has seen ---- */

static void unverified(void **state)
{
    (void)state;
    float x[6] = {0};
    tn_tensor_value in =
                        {.dtype = TN_F32, .ndim = 2, .dim = {3, 2}, .at = x, .n = sizeof x, .borrowed = true},
                    out;
    module m;
    module_init(&m,
                "def @main(%x: Tensor[(n, 2), float32]) { %f = fn (%y: Tensor[(n, 2), float32]) { exp(%y) }; "
                "exp(%f(%x)) }");
    for (tn_node *n = tn_graph_function(&m.g, "main")->body->first; n; n = n->next)
        if (n->op == &tn_op_call)
            n->type[0] = tn_type_tensor_i(&m.x.pool, TN_F32, 2, (int64_t[]){3, 3});
    assert_int_equal(tn_relay_run(&m.g, 1, &in, 1, &out, NULL, NULL), TN_FAIL);
    assert_diag(&m.x, "error: an operand of exp does not have the size of its type [relay-E209]");
    module_deinit(&m);
}

/* ---- code generators ---- */

/* A function as lowering would leave it, but for what it computes. */
static tn_unit raw(fixture *x, const char *body, tn_flat *flat, tn_kernel_ir *kernel)
{
    static char text[512];
    snprintf(text, sizeof text,
             "phase @f(x: f32[8]) -> (y: f32[8]) {\n  parallel for i < 8:\n    y[i] = %s\n}\n", body);
    *flat = (tn_flat){.func = read_func(x, text), .scratch_bytes = 64, .work_bytes = tn_idx(&x->pool, 0)};
    *kernel =
        (tn_kernel_ir){.name = "f", .source = "", .n_in = 1, .n_out = 1, .n_variant = 1, .variant = flat};
    return (tn_unit){.ctx = &x->ctx,
                     .name = "default",
                     .producer = "tenon test",
                     .target = "llvm",
                     .n_kernel = 1,
                     .kernel = kernel};
}

static void not_lowered(void **state)
{
    (void)state;
    fixture x;
    tn_flat flat;
    tn_kernel_ir kernel;
    tn_buf out = {0};
    const tn_llvm_api *llvm;
    fixture_init(&x);
    tn_unit u = raw(&x, "exp(x[i])", &flat, &kernel);
    assert_int_equal(tn_emit_c(&u, &out), TN_FAIL);
    assert_diag(&x, "error: f: exp of this type has no form in C; lower the function first [codegen-E003]");
    if (tn_llvm_open(&x.ctx, &llvm) != TN_OK)
        fail_msg("%s", diags(&x));
    assert_int_equal(llvm->emit(&u, NULL, TN_LLVM_LL, &out), TN_FAIL);
    assert_diag(&x,
                "error: f: exp of this type has no form in LLVM; lower the function first [codegen-E004]");
    tn_buf_deinit(&out);
    fixture_deinit(&x);
}

/* The linker exports this one to the code generator (cmake/tests.cmake), instead of LLVM's. */
__attribute__((visibility("default"))) void *LLVMOrcLLJITLookup(void *jit, uint64_t *at, const char *name);

static int find_llvm(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    if (!strstr(info->dlpi_name, "/libLLVM"))
        return 0;
    *(void **)out = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

static bool linking_is_fatal;

void *LLVMOrcLLJITLookup(void *jit, uint64_t *at, const char *name)
{
    void *llvm = NULL;
    dl_iterate_phdr(find_llvm, &llvm);
    assert_non_null(llvm);
    void *(*lookup)(void *, uint64_t *, const char *);
    void (*end)(const char *, bool); /* llvm::report_fatal_error(const char *, bool) */
    *(void **)&lookup = dlsym(llvm, "LLVMOrcLLJITLookup");
    *(void **)&end = dlsym(llvm, "_ZN4llvm18report_fatal_errorEPKcb");
    if (linking_is_fatal)
        end("the linker is tired", false);
    return lookup(jit, at, name);
}

static void fail_to_link(fixture *x, const tn_llvm_api *llvm, const tn_unit *u)
{
    const tn_library *library;
    tn_jit *jit;
    for (int i = 0; i < 2; i++) {
        tn_diag_clear(&x->ctx);
        linking_is_fatal = true;
        assert_int_equal(llvm->jit(u, NULL, &jit, &library), TN_FAIL);
        assert_diag(x, "default: this process cannot run its code: the linker is tired [codegen-E010]");
        linking_is_fatal = false;
        assert_int_equal(llvm->jit(u, NULL, &jit, &library), TN_OK);
        assert_int_equal(library->n_kernel, 1);
        llvm->jit_free(jit);
    }
}

static void fail_in_llvm(void *user)
{
    (void)user;
    fixture x;
    tn_flat flat;
    tn_kernel_ir kernel;
    const tn_llvm_api *llvm;
    tn_buf before = {0}, out = {0};
    fixture_init(&x);
    tn_unit u = raw(&x, "x[i]", &flat, &kernel);
    if (tn_llvm_open(&x.ctx, &llvm) != TN_OK)
        fail_msg("%s", diags(&x));
    assert_int_equal(llvm->emit(&u, NULL, TN_LLVM_OBJECT, &before), TN_OK);
    const tn_code_options o = {.triple = "x86_64-linux-gnu", .features = "-64bit"};
    for (int i = 0; i < 2; i++) {
        tn_diag_clear(&x.ctx);
        assert_int_equal(llvm->emit(&u, &o, TN_LLVM_OBJECT, &out), TN_FAIL);
        assert_diag(&x,
                    "default: LLVM cannot generate code: 64-bit code requested on a subtarget that doesn't "
                    "support it!; please report it [codegen-E014]");
    }
    tn_buf_clear(&out);
    assert_int_equal(llvm->emit(&u, NULL, TN_LLVM_OBJECT, &out), TN_OK);
    assert_int_equal(out.n, before.n);
    assert_memory_equal(out.at, before.at, out.n);
    fail_to_link(&x, llvm, &u);
    tn_buf_deinit(&before);
    tn_buf_deinit(&out);
    fixture_deinit(&x);
}

/* Fatal errors of LLVM, which end a process, are errors; and from then on it works in child processes. LLVM does
 * not get back what the ended thread held of its own, so a process of its own runs this: none looks for leaks in it. */
static void fatal_errors_of_llvm(void **state)
{
    tn_heap heap;
    int status = -1;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        tn_heap_init(&heap);
        assert_int_equal(tn_protect(&heap, fail_in_llvm, NULL).kind, TN_RAISED_NOTHING);
        tn_heap_free(&heap);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Code of another machine can be made, but not run here. */
static void foreign_code(void **state)
{
    (void)state;
    fixture x;
    tn_flat flat;
    tn_kernel_ir kernel;
    const tn_llvm_api *llvm;
    const tn_library *library;
    tn_jit *jit;
    fixture_init(&x);
    tn_unit u = raw(&x, "x[i]", &flat, &kernel);
    if (tn_llvm_open(&x.ctx, &llvm) != TN_OK)
        fail_msg("%s", diags(&x));
    tn_code_options o = {.triple = "riscv32-unknown-elf"};
    assert_int_equal(llvm->jit(&u, &o, &jit, &library), TN_FAIL);
    assert_diag(&x,
                "default: this process cannot run its code: the code is for another machine [codegen-E010]");
    fixture_deinit(&x);
}

/* ---- what the command line looks at before ---- */

static void expect(int failed, const tenon *t, const char *what)
{
    if (!failed || !strstr(tenon_messages(t), what))
        fail_msg("no `%s` in %s", what, tenon_messages(t));
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

static void names(void **state)
{
    (void)state;
    char model[64];
    const char *text;
    tenon *t = tenon_new();
    tenon_options o = {
        .size = sizeof(tenon_options), .mixed_precision = 1, .mixed_precision_calculation_type = "float8"};
    snprintf(model, sizeof model, "./names_%d.relay", (int)getpid());
    write_text(model, "def @main(%x: Tensor[(n, 2), float32]) { exp(%x) }\n");
    tenon_module *m = tenon_module_read(t, model, NULL);
    expect(tenon_module_dump(m, NULL, "hex", &text, NULL, NULL), t,
           "unknown stage hex; use relay, relay-fused, tir, schedule, space, tir-scheduled, flat, program, "
           "c, ll, asm "
           "or memory [driver-E030]");
    expect(tenon_module_dump(m, &o, "tir", &text, NULL, NULL), t,
           "float8: float16, bfloat16 or float32 is expected [driver-E063]");
    o.mixed_precision_calculation_type = "bfloat16";
    o.mixed_precision_acc_type = "float16";
    expect(tenon_module_dump(m, &o, "tir", &text, NULL, NULL), t,
           "float16: sums are of the type in which operators compute, or float32 [driver-E210]");
    o = (tenon_options){.size = sizeof(tenon_options), .memory = "arena"};
    expect(tenon_module_dump(m, &o, "tir", &text, NULL, NULL), t,
           "--memory arena: plan or pool is expected [driver-E170]");
    tenon_free(t);
    unlink(model);
}

static tenon_tensor tensor(const char *name, int bits, int64_t rows, int64_t columns, void *data)
{
    return (tenon_tensor){.name = name,
                          .code = 2,
                          .bits = (uint8_t)bits,
                          .ndim = 2,
                          .shape = {rows, columns},
                          .data = data,
                          .bytes = (size_t)(rows * columns * bits / 8)};
}

static void inputs(void **state)
{
    (void)state;
    char model[64];
    double data[64] = {0};
    int n_out;
    const tenon_tensor *out;
    tenon *t = tenon_new();
    snprintf(model, sizeof model, "./inputs_%d.relay", (int)getpid());
    write_text(model,
               "def @main(%x: Tensor[(n, 4), float32]) {\n"
               "  squeeze(nn.max_pool2d(expand_dims(%x, axis=0, num_newaxis=2), pool_size=[3, 1]))\n}\n");
    tenon_module *m = tenon_module_read(t, model, NULL);
    tenon_tensor good = tensor("x", 32, 3, 4, data), other = tensor("y", 32, 3, 4, data),
                 wide = tensor("x", 64, 3, 4, data), flat = tensor("x", 32, 3, 5, data),
                 few = tensor("x", 32, 1, 4, data);
    expect(tenon_interpret(m, NULL, "flat", 1, &other, &n_out, &out), t,
           "error: input x is missing; give it a value [driver-E043]");
    expect(tenon_interpret(m, NULL, "flat", 1, &wide, &n_out, &out), t,
           "error: input x must be Tensor[(n, 4), float32], but has 2 dimensions of float64 [driver-E042]");
    expect(tenon_interpret(m, NULL, "flat", 1, &flat, &n_out, &out), t,
           "error: input x: dimension 1 is 5, but the model needs 4 [driver-E044]");
    expect(tenon_interpret(m, NULL, "ll", 1, &good, &n_out, &out), t,
           "stage ll cannot be interpreted; use relay, tir, tir-scheduled or flat [driver-E045]");
    expect(tenon_interpret(m, NULL, "flat", 1, &few, &n_out, &out), t,
           "error: an input is too small for tvmgen_default_fused_nn_max_pool2d: dimension 0 of its result "
           "would be -1, but must be at least 0 [driver-E046]");
    assert_int_equal(tenon_interpret(m, NULL, "flat", 1, &good, &n_out, &out), 0);
    tenon_free(t);
    unlink(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),    cmocka_unit_test(unverified),           cmocka_unit_test(not_lowered),
        cmocka_unit_test(foreign_code), cmocka_unit_test(fatal_errors_of_llvm), cmocka_unit_test(names),
        cmocka_unit_test(inputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
