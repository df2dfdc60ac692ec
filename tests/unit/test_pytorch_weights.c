/* Files of weights for networks that are named: safetensors and the pickles before PyTorch 1.6, made here. */
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

static void put(tn_buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        tn_buf_char(b, (char)(v >> 8 * i));
}

/* Weights of zeros: "name 1,3,3,3" in lines. */
static tn_buf safetensors(const char *text)
{
    tn_buf head = {0}, file = {0};
    size_t end = 0;
    tn_buf_str(&head, "{\"__metadata__\": {\"format\": \"pt\"}");
    for (char name[64], shape[64]; sscanf(text, "%63s %63s", name, shape) == 2;
         text = strchr(text, '\n') + 1) {
        size_t n = 4, from = end;
        for (const char *s = shape; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
            n *= (size_t)atoi(s);
        end += n;
        tn_buf_printf(&head, ", \"%s\": {\"dtype\": \"F32\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}",
                      name, shape, from, end);
    }
    tn_buf_char(&head, '}');
    put(&file, head.n, 8);
    tn_buf_add(&file, head.at, head.n);
    for (size_t i = 0; i < end; i++)
        tn_buf_char(&file, 0);
    tn_buf_deinit(&head);
    return file;
}

static void read_as(const void *at, size_t n, const char *architecture, const char *const want[])
{
    model m;
    tn_buf said = {0};
    tn_import_options o = {.architecture = architecture};
    model_init(&m);
    tn_status s = tn_import(&m.g, "m", &(tn_file){at, n, 0}, NULL, &o);
    assert_int_equal(s == TN_OK, m.ctx.n_error == 0);
    if (s == TN_OK)
        tn_relay_print(&m.g, &said);
    tn_diag_print_all(&m.ctx, &said);
    for (int i = 0; want[i]; i++)
        if (!strstr(tn_buf_cstr(&said), want[i]))
            fail_msg("\"%s\" is not in:\n%s", want[i], tn_buf_cstr(&said));
    tn_buf_deinit(&said);
    model_deinit(&m);
}

#define WANT(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HEADS "conv4_1.weight 2,1,1,1\nconv4_1.bias 2\nconv4_2.weight 4,1,1,1\nconv4_2.bias 4\n"
#define LAYER(n, in) \
    "conv" n ".weight 1," in ",3,3\nconv" n ".bias 1\nprelu" n ".weight 1\nconv" n ".num_batches_tracked " \
    "1\n"
#define PNET LAYER("1", "3") LAYER("2", "1") LAYER("3", "1") HEADS

static void networks_are_built(void **state)
{
    (void)state;
    tn_buf b = safetensors(PNET);
    read_as(b.at, b.n, "mtcnn_pnet",
            WANT("%x: Tensor[(batch, 3, 224, 224), float32]", "nn.prelu", "nn.softmax", "/* conv1.weight "));
    read_as(b.at, b.n, NULL, WANT("this file holds weights without a graph", "[pytorch-E060]"));
    read_as(b.at, b.n, "lenet",
            WANT("the architecture \"lenet\" is not known; choose from ", "[pytorch-E062]"));
    read_as(b.at, b.n, "vgg11",
            WANT("the file has no weights \"features\", which vgg11 has; name the network that it is for "
                 "[pytorch-E063]"));
    tn_buf_deinit(&b);
    b = safetensors(PNET "conv5.weight 1\n");
    read_as(b.at, b.n, "mtcnn_pnet",
            WANT("mtcnn_pnet has no weights \"conv5.weight\", but the file has", "[pytorch-E064]"));
    tn_buf_deinit(&b);
    b = safetensors(PNET "conv1.weight.more 1\n");
    read_as(b.at, b.n, "mtcnn_pnet",
            WANT("the weights have the name \"conv1.weight.more\" twice", "[pytorch-E066]"));
    tn_buf_deinit(&b);
    read_as("#[version = \"0.0.5\"]\ndef @main(%x: int32) -> int32 { %x }\n", 60, "vgg11",
            WANT("[pytorch-E061]"));
}

static void damage_is_found(void **state)
{
    (void)state;
    tn_buf b = safetensors(PNET);
    read_as(b.at, b.n - 4, "mtcnn_pnet", WANT("data that does not fit its shape", "[pytorch-E065]"));
    memcpy(strstr((char *)b.at + 8, "F32"), "F3x", 3);
    read_as(b.at, b.n, "mtcnn_pnet", WANT("a tensor has no type that is known", "[pytorch-E065]"));
    tn_buf_deinit(&b);
}

/* {"w": a tensor of one float}, then the order of the storages and their data. */
#define PICKLES \
    "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3.\x80\2}." \
    "\x80\2}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n" \
    "X\1\0\0\0000X\3\0\0\0cpuK\1NtQK\0(K\1t(K\1t\x89}tRs.\x80\2]X\1\0\0\0000a.\1\0\0\0\0\0\0\0\0\0\x80?"

static void old_pickles_are_read(void **state)
{
    (void)state;
    const size_t n = sizeof PICKLES - 1;
    /* the tensor is there: another network's name finds that it is not what it wants */
    read_as(PICKLES, n, "alexnet", WANT("the file has no weights \"features\""));
    read_as(PICKLES, n - 1, "alexnet", WANT("it ends inside of a tensor", "[pytorch-E065]"));
    read_as(PICKLES, n - 12, "alexnet", WANT("it ends inside of a tensor"));
    read_as(PICKLES, 40, "alexnet", WANT("[pytorch-E065]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_built),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(old_pickles_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
