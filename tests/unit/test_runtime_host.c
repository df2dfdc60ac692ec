/* Functions of the host (host.c), and values that main takes and gives (value.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above, as cmocka wants it */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "runtime/damage.h"
#include "runtime/family.h"
#include "runtime/host.h"

static const tnr_family *const needed[]
    __attribute__((used)) = {&tnr_family_value, &tnr_family_host}; /* nothing else here links them */
static tnr_error err;
static float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};

typedef struct behaviour { /* of the functions below */
    int fail;              /* what they return */
    const char *says;
    bool no_result, surplus; /* a value too few; one for the tensor too */
    tnr_value *foreign;      /* given instead of one of the instance's */
    float factor;
    int calls;
} behaviour;

static tnr_value *text_value(tnr_instance *inst, const char *text)
{
    tnr_value *v = NULL;
    tnr_value_info info = {.kind = TNR_VALUE_TEXT, .text = text, .text_n = strlen(text)};
    if (tnr_value_new(inst, &info, &v, &err))
        fail_msg("%s", err.message);
    return v;
}

static void expect_text(const tnr_value *v, const char *text)
{
    tnr_value_info info;
    tnr_value_get(v, &info);
    assert_int_equal(info.kind, TNR_VALUE_TEXT);
    assert_string_equal(info.text, text);
    assert_int_equal(info.text_n, strlen(text));
}

static tnr_status scale(void *user, const tnr_host_call *c, tnr_error *e)
{
    behaviour *b = user;
    uint32_t y = c->n_in;
    b->calls++;
    assert_string_equal(c->name, "scale");
    assert_string_equal(c->node, "node");
    assert_int_equal(c->tensor[0].shape[0], c->tensor[y].shape[0]);
    for (int64_t i = 0; i < c->tensor[0].shape[0]; i++)
        ((float *)c->tensor[y].data)[i] = b->factor * ((const float *)c->tensor[0].data)[i];
    if (c->n_out == 2) {
        expect_text(c->value[1], "three");
        assert_int_equal(c->tensor[1].dtype.code, kDLOpaqueHandle);
        assert_null(c->tensor[1].data);
        assert_true(!c->value[0] && !c->value[y] && !c->value[y + 1]);
        if (b->foreign)
            tnr_value_retain(b->foreign);
        c->value[y] = b->surplus ? text_value(c->instance, "surplus") : NULL;
        c->value[y + 1] = b->no_result ? NULL : b->foreign ? b->foreign : text_value(c->instance, "result");
    }
    if (b->says)
        snprintf(e->message, sizeof e->message, "%s", b->says);
    return b->fail;
}

/* A pair of a tensor and a text. */
static tnr_status label(void *user, const tnr_host_call *c, tnr_error *e)
{
    (void)user;
    tnr_value *field[2] = {NULL, text_value(c->instance, "")};
    tnr_value_info t = {.kind = TNR_VALUE_TENSOR,
                        .tensor = {.data = x,
                                   .device = {kDLCPU, 0},
                                   .ndim = 1,
                                   .dtype = {kDLFloat, 32, 1},
                                   .shape = (int64_t[]){2}}};
    assert_int_equal(tnr_value_new(c->instance, &t, &field[0], e), TNR_OK);
    tnr_value_info pair = {.kind = TNR_VALUE_CONSTRUCTOR, .tag = 7, .n_field = 2, .field = field};
    tnr_status status = tnr_value_new(c->instance, &pair, &c->value[0], e);
    tnr_value_release(field[0]);
    tnr_value_release(field[1]);
    return status;
}

static tnr_instance *instance(tnr_module *module, uintptr_t flags)
{
    int64_t n = MAKER_N;
    DLTensor t = maker_floats(x, &n);
    tnr_instance *inst = NULL;
    if (tnr_instance_new(module, &(tnr_instance_options){.flags = flags}, &inst, &err) ||
        tnr_set_input(inst, "x", &t, &err))
        fail_msg("%s", err.message);
    return inst;
}

/* A list of one text as the input l. */
static void set_list(tnr_instance *inst)
{
    tnr_value *cell, *text = text_value(inst, "first");
    tnr_value_info info = {.kind = TNR_VALUE_CONSTRUCTOR, .tag = 1, .n_field = 1, .field = &text};
    assert_int_equal(tnr_value_new(inst, &info, &cell, &err), TNR_OK);
    tnr_value_release(text);
    assert_int_equal(tnr_set_input_value(inst, 1, cell, &err), TNR_OK);
    tnr_value_release(cell);
}

static tnr_value *output(tnr_instance *inst, uint32_t i)
{
    tnr_value *v = NULL;
    if (tnr_get_output_value(inst, i, &v, &err))
        fail_msg("%s", err.message);
    return v;
}

static void functions_take_and_give_tensors_and_values(void **state)
{
    static maker m;
    behaviour b = {.factor = 3}, own = {.factor = 5};
    (void)state;
    make_host(&m);
    tnr_module *module = open_maker(&m);
    assert_int_equal(tnr_host_register(module, "scale", scale, &b, &err), TNR_OK);
    assert_int_equal(tnr_host_register(module, "label", label, NULL, &err), TNR_OK);
    assert_int_equal(tnr_host_register(module, "nobody calls it", label, NULL, &err), TNR_OK);
    for (uintptr_t checked = 0; checked < 2; checked++) {
        tnr_instance *inst = instance(module, checked), *other = instance(module, 0);
        tnr_value *kept = NULL;
        tnr_value_info info, field;
        DLTensor y;
        set_list(inst);
        set_list(inst); /* in the place of the first */
        assert_int_equal(tnr_instance_host_register(inst, "scale", scale, &own, &err), TNR_OK);
        for (int run = 0; run < 3; run++) {
            if (tnr_run(inst, &err))
                fail_msg("%s", err.message);
            assert_int_equal(tnr_get_output(inst, "y", &y, &err), TNR_OK);
            for (int i = 0; i < MAKER_N; i++)
                assert_true(((float *)y.data)[i] == 5 * x[i]);
            expect_text(output(inst, 1), "result");
            expect_text(output(inst, 3), "first");
            tnr_value_get(output(inst, 2), &info);
            assert_true(info.kind == TNR_VALUE_CONSTRUCTOR && info.tag == 7 && info.n_field == 2);
            tnr_value_get(info.field[0], &field);
            assert_true(field.kind == TNR_VALUE_TENSOR && field.tensor.ndim == 1 &&
                        field.tensor.shape[0] == 2);
            assert_memory_equal(field.tensor.data, x, 8);
            if (run == 0)
                tnr_value_retain(kept = output(inst, 1));
        }
        expect_text(kept, "result"); /* of the first run */
        tnr_value_release(kept);
        set_list(other);
        assert_int_equal(tnr_run(other, &err), TNR_OK);
        tnr_instance_free(other);
        tnr_instance_free(inst);
    }
    assert_int_equal(own.calls, 6);
    assert_int_equal(b.calls, 2);
    tnr_module_release(module);
}

typedef struct counter { /* what the function below keeps */
    tnr_host_kept head;
    int runs, *freed;
    tnr_value *text;
} counter;

static void free_counter(tnr_host_kept *head)
{
    counter *k = (counter *)(void *)head;
    expect_text(k->text, "kept");
    tnr_value_release(k->text);
    ++*k->freed;
    free(k);
}

/* user: how many were freed */
static tnr_status counted(void *user, const tnr_host_call *c, tnr_error *e)
{
    static behaviour b = {.factor = 1};
    counter *k = (counter *)(void *)*c->kept;
    for (uint32_t i = 0; i < c->n_in; i++)
        assert_int_equal(c->constant[i], 0);
    if (!k) {
        k = malloc(sizeof *k);
        assert_non_null(k);
        *k = (counter){{free_counter}, 0, user, text_value(c->instance, "kept")};
        *c->kept = &k->head;
    }
    k->runs++;
    return strcmp(c->name, "label") ? scale(&b, c, e) : label(NULL, c, e);
}

static int runs_of(const tnr_instance *inst, uint32_t at)
{
    const counter *k = (const counter *)(const void *)inst->hosts->kept[at];
    return k ? k->runs : 0;
}

/* Each call of each instance has its own thing, until the instance goes or has another function under the name. */
static void functions_keep_things(void **state)
{
    static maker m;
    int freed[2] = {0, 0};
    (void)state;
    make_host(&m);
    tnr_module *module = open_maker(&m);
    assert_int_equal(tnr_host_register(module, "scale", counted, &freed[0], &err), TNR_OK);
    assert_int_equal(tnr_host_register(module, "label", counted, &freed[1], &err), TNR_OK);
    tnr_instance *inst[2] = {instance(module, 0), instance(module, 0)};
    for (int i = 0; i < 2; i++) {
        set_list(inst[i]);
        for (int run = 0; run < 2 + i; run++)
            if (tnr_run(inst[i], &err))
                fail_msg("%s", err.message);
        for (uint32_t at = 0; at < m.program.function->n_inst; at++)
            assert_int_equal(runs_of(inst[i], at), at == 1 || at == 2 ? 2 + i : 0);
    }
    assert_int_equal(tnr_instance_host_register(inst[0], "label", label, NULL, &err), TNR_OK);
    assert_true(freed[0] == 0 && freed[1] == 1);
    assert_true(runs_of(inst[0], 1) == 2 && runs_of(inst[0], 2) == 0 && runs_of(inst[1], 2) == 3);
    assert_int_equal(tnr_run(inst[0], &err), TNR_OK);
    assert_int_equal(runs_of(inst[0], 1), 3);
    tnr_instance_free(inst[0]);
    assert_true(freed[0] == 1 && freed[1] == 1);
    tnr_instance_free(inst[1]);
    assert_true(freed[0] == 2 && freed[1] == 2);
    tnr_module_release(module);
}

static void sizes_of_the_run_are_seen(void **state)
{
    static maker m;
    behaviour b = {.factor = 2};
    DLTensor z;
    (void)state;
    make_host_symbolic(&m);
    tnr_module *module = open_maker(&m);
    assert_int_equal(tnr_host_register(module, "scale", scale, &b, &err), TNR_OK);
    tnr_instance *inst = instance(module, 0);
    for (int64_t n = 8; n > 0; n -= 3) {
        DLTensor t = maker_floats(x, &n);
        assert_int_equal(tnr_set_input(inst, "x", &t, &err), TNR_OK);
        assert_int_equal(tnr_run(inst, &err), TNR_OK);
        assert_int_equal(tnr_get_output(inst, "z", &z, &err), TNR_OK);
        assert_int_equal(z.shape[0], n);
        assert_true(((float *)z.data)[n - 1] == 2 * x[n - 1]);
    }
    tnr_instance_free(inst);
    tnr_module_release(module);
}

static void what_is_not_registered_is_listed(void **state)
{
    static maker m;
    behaviour b = {.factor = 1};
    (void)state;
    make_host(&m);
    tnr_module *module = open_maker(&m);
    tnr_instance *inst = instance(module, 0);
    set_list(inst);
    assert_int_equal(tnr_run(inst, &err), TNR_E_NAME);
    assert_string_equal(err.message,
                        "the model calls host functions that nobody has registered: scale, label; "
                        "register them with tnr_host_register");
    assert_int_equal(tnr_host_register(module, "scale", scale, &b, &err), TNR_OK); /* too late for inst */
    assert_int_equal(tnr_run(inst, &err), TNR_E_NAME);
    assert_int_equal(tnr_instance_host_register(inst, "scale", scale, &b, &err), TNR_OK);
    assert_int_equal(tnr_instance_host_register(inst, "label", label, &b, &err), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_int_equal(tnr_instance_host_register(inst, "label", NULL, NULL, &err), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_E_NAME);
    assert_string_equal(err.message,
                        "the model calls host functions that nobody has registered: label; register "
                        "them with tnr_host_register");
    assert_int_equal(tnr_host_register(module, NULL, scale, NULL, &err), TNR_E_ARG);
    assert_int_equal(tnr_host_register(NULL, "scale", scale, NULL, &err), TNR_E_ARG);
    assert_int_equal(tnr_instance_host_register(NULL, "scale", scale, NULL, &err), TNR_E_ARG);
    tnr_instance_free(inst);
    tnr_module_release(module);
}

static void failures_end_the_run(void **state)
{
    static maker m;
    behaviour row[] = {{.fail = 77, .says = "the disk is full"},
                       {.fail = TNR_E_MEMORY, .says = "no memory"},
                       {.fail = -1},
                       {.no_result = true},
                       {.surplus = true},
                       {.foreign = (tnr_value *)1}};
    static const struct {
        int code;
        const char *says;
    } want[] = {
        {TNR_E_CHECK, "node: the disk is full"},
        {TNR_E_MEMORY, "node: no memory"},
        {TNR_E_CHECK, "node: host function \"scale\" failed"},
        {TNR_E_CHECK, "node: host function \"scale\" gave no value of the instance, or one too many"},
        {TNR_E_CHECK, "node: host function \"scale\" gave no value of the instance, or one too many"},
        {TNR_E_CHECK, "node: host function \"scale\" gave no value of the instance, or one too many"}};
    (void)state;
    make_host(&m);
    tnr_module *module = open_maker(&m);
    tnr_instance *other = instance(module, 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tnr_instance *inst = instance(module, 0);
        tnr_value *v;
        set_list(inst);
        if (row[i].foreign)
            row[i].foreign = text_value(other, "foreign");
        assert_int_equal(tnr_instance_host_register(inst, "scale", scale, &row[i], &err), TNR_OK);
        assert_int_equal(tnr_instance_host_register(inst, "label", label, NULL, &err), TNR_OK);
        for (int run = 0; run < 2; run++) {
            assert_int_equal(tnr_run(inst, &err), want[i].code);
            assert_string_equal(err.message, want[i].says);
            assert_int_equal(err.position, 1);
        }
        assert_int_equal(tnr_get_output_value(inst, 1, &v, &err), TNR_E_STATE);
        tnr_instance_free(inst);
    }
    tnr_instance_free(other);
    tnr_module_release(module);
}

static void values_and_tensors_are_told_apart(void **state)
{
    static maker m;
    behaviour b = {.factor = 1};
    tnr_tensor_info info;
    tnr_value *v;
    DLTensor t;
    char text[24];
    (void)state;
    make_host(&m);
    tnr_module *module = open_maker(&m);
    tnr_instance *inst = instance(module, 0), *other = instance(module, 0);
    assert_int_equal(tnr_input_info(module, 1, &info, &err), TNR_OK);
    assert_true(info.dtype.code == kDLOpaqueHandle && info.ndim == 0);
    assert_string_equal(tnr_dtype_print(info.dtype, text, sizeof text), "handle");
    int64_t n = MAKER_N;
    t = maker_floats(x, &n);
    assert_int_equal(tnr_set_input(inst, "l", &t, &err), TNR_E_DTYPE);
    assert_string_equal(err.message, "input \"l\" is a value, not a tensor; use tnr_set_input_value and "
                                     "tnr_get_output_value");
    t.dtype = info.dtype;
    assert_int_equal(tnr_set_input(inst, "l", &t, &err), TNR_E_DTYPE);
    assert_int_equal(tnr_set_output(inst, "s", &t, &err), TNR_E_DTYPE);
    v = text_value(inst, "t");
    assert_int_equal(tnr_set_input_value(inst, 0, v, &err), TNR_E_DTYPE);
    assert_string_equal(err.message, "input \"x\" is a tensor, which tnr_set_input sets");
    assert_int_equal(tnr_set_input_value(inst, 2, v, &err), TNR_E_ARG);
    assert_int_equal(tnr_set_input_value(inst, 1, NULL, &err), TNR_E_ARG);
    assert_int_equal(tnr_set_input_value(other, 1, v, &err), TNR_E_ARG);
    tnr_value_info pair = {.kind = TNR_VALUE_CONSTRUCTOR, .n_field = 1, .field = &v};
    tnr_value *made;
    assert_int_equal(tnr_value_new(other, &pair, &made, &err), TNR_E_ARG);
    assert_int_equal(tnr_value_new(inst, &(tnr_value_info){.kind = TNR_VALUE_CLOSURE}, &made, &err),
                     TNR_E_ARG);
    assert_int_equal(tnr_value_new(inst, &(tnr_value_info){0}, &made, &err), TNR_E_ARG);
    tnr_value_release(v);
    assert_int_equal(tnr_run(inst, &err), TNR_E_NAME);
    assert_int_equal(tnr_instance_host_register(inst, "scale", scale, &b, &err), TNR_OK);
    assert_int_equal(tnr_instance_host_register(inst, "label", label, NULL, &err), TNR_OK);
    assert_int_equal(tnr_run(inst, &err), TNR_E_STATE);
    assert_string_equal(err.message, "input \"l\" is not set");
    set_list(inst);
    assert_int_equal(tnr_get_output_value(inst, 1, &v, &err), TNR_E_STATE);
    assert_int_equal(tnr_run(inst, &err), TNR_OK);
    assert_int_equal(tnr_get_output_value(inst, 0, &v, &err), TNR_E_DTYPE);
    assert_int_equal(tnr_get_output_value(inst, 4, &v, &err), TNR_E_ARG);
    assert_int_equal(tnr_get_output(inst, "s", &t, &err), TNR_E_DTYPE);
    tnr_profile_event e;
    int done = 0;
    assert_int_equal(tnr_debug_begin(inst, &err), TNR_OK);
    while (!done)
        assert_int_equal(tnr_debug_step(inst, &e, &done, &err), TNR_OK);
    expect_text(output(inst, 1), "result");
    assert_int_equal(tnr_debug_value(inst, "s", &t, &err), TNR_E_DTYPE);
    tnr_memory memory;
    assert_int_equal(tnr_memory_get(inst, &memory, &err), TNR_OK);
    tnr_instance_free(inst);
    tnr_instance_free(other);
    tnr_module_release(module);
}

#define CHANGE(name, ...) \
    static void name(maker *m) { __VA_ARGS__; }
CHANGE(text_range, m->program.n_text = 2)
CHANGE(too_many_inputs, m->f[0].operand[1] = 6)
CHANGE(no_number, m->f[0].inst[1].n_operand = 0)
CHANGE(result_is_input, m->f[0].operand[5] = 0)
CHANGE(result_is_argument, m->f[0].operand[2] = m->f[0].operand[5])
CHANGE(slot_range, m->f[0].operand[2] = 99)

static void damage_is_found(void **state)
{
    static void (*const damage[])(maker *) = {text_range,      too_many_inputs,    no_number,
                                              result_is_input, result_is_argument, slot_range};
    (void)state;
    each_damage_is_found(make_host, sizeof damage / sizeof *damage, damage);
}

CHANGE(unwritten_output, m->f[0].inst[3].op = TN_INST_MOVE; m->f[0].operand[m->f[0].inst[3].operand] = 1;
       m->f[0].operand[m->f[0].inst[3].operand + 1] = 6)

static void an_output_that_nobody_writes_is_an_error(void **state)
{
    static maker m;
    behaviour b = {.factor = 1};
    (void)state;
    make_host(&m);
    unwritten_output(&m);
    tnr_module *module = open_maker(&m);
    assert_int_equal(tnr_host_register(module, "scale", scale, &b, &err), TNR_OK);
    assert_int_equal(tnr_host_register(module, "label", label, NULL, &err), TNR_OK);
    tnr_instance *inst = instance(module, 0);
    set_list(inst);
    assert_int_equal(tnr_run(inst, &err), TNR_E_CHECK);
    assert_string_equal(err.message, "output \"first\" is not written by the program");
    tnr_instance_free(inst);
    tnr_module_release(module);
}

/* A list of the texts, which must be its fields. */
static void expect_list(const tnr_value *list, uint32_t n, const char *const text[])
{
    tnr_value_info info;
    tnr_value_get(list, &info);
    assert_int_equal(info.kind, TNR_VALUE_CONSTRUCTOR);
    assert_int_equal(info.tag, 3);
    assert_int_equal(info.n_field, n);
    for (uint32_t i = 0; i < n; i++)
        expect_text(info.field[i], text[i]);
}

static tnr_value *append(tnr_instance *inst, const tnr_value *list, const char *text)
{
    tnr_value *v = text_value(inst, text), *made = NULL;
    if (tnr_value_append(inst, list, v, &made, &err))
        fail_msg("%s", err.message);
    tnr_value_release(v);
    return made;
}

/* Lists that grow from the same one do not see each other's ends; the shorter may go first, or last. */
static void lists_are_appended_to(void **state)
{
    static maker m;
    static const char *const abd[] = {"a", "b", "d"}, *const abcx[] = {"a", "b", "c", "x"};
    (void)state;
    make_host(&m);
    tnr_module *module = open_maker(&m);
    tnr_instance *inst = instance(module, 0), *other = instance(module, 0);
    tnr_value *empty, *list[5], *wrong, *text = text_value(inst, "text");
    assert_int_equal(
        tnr_value_new(inst, &(tnr_value_info){.kind = TNR_VALUE_CONSTRUCTOR, .tag = 3}, &empty, &err),
        TNR_OK);
    list[0] = append(inst, empty, "a");
    list[1] = append(inst, list[0], "b");
    list[2] = append(inst, list[1], "c");
    list[3] = append(inst, list[1], "d");
    list[4] = append(inst, list[2], "x");
    expect_list(empty, 0, NULL);
    expect_list(list[1], 2, abd);
    expect_list(list[3], 3, abd);
    expect_list(list[4], 4, abcx);
    tnr_value_release(list[2]);
    tnr_value_release(list[1]);
    expect_list(list[4], 4, abcx);
    tnr_value_release(list[4]);
    expect_list(list[0], 1, abd);
    tnr_value *long_one = append(inst, list[0], "b");
    for (int i = 0; i < 20000; i++) { /* past the largest block of the slabs */
        tnr_value *next = append(inst, long_one, i % 2 ? "odd" : "even");
        tnr_value_release(long_one);
        long_one = next;
    }
    tnr_value_info info;
    tnr_value_get(long_one, &info);
    assert_int_equal(info.n_field, 20002);
    expect_text(info.field[1], "b");
    expect_text(info.field[20001], "odd");
    tnr_value *foreign = text_value(other, "foreign");
    assert_int_equal(tnr_value_append(inst, text, text, &wrong, &err), TNR_E_ARG);
    assert_int_equal(tnr_value_append(inst, list[0], foreign, &wrong, &err), TNR_E_ARG);
    assert_int_equal(tnr_value_append(other, list[0], foreign, &wrong, &err), TNR_E_ARG);
    assert_int_equal(tnr_value_append(inst, NULL, text, &wrong, &err), TNR_E_ARG);
    tnr_value *const left[] = {foreign, long_one, list[0], list[3], empty, text};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        tnr_value_release(left[i]);
    tnr_instance_free(other);
    tnr_instance_free(inst);
    tnr_module_release(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_take_and_give_tensors_and_values),
        cmocka_unit_test(lists_are_appended_to),
        cmocka_unit_test(functions_keep_things),
        cmocka_unit_test(sizes_of_the_run_are_seen),
        cmocka_unit_test(what_is_not_registered_is_listed),
        cmocka_unit_test(failures_end_the_run),
        cmocka_unit_test(values_and_tensors_are_told_apart),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(an_output_that_nobody_writes_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
