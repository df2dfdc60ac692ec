/* Operators of TorchScript whose operands do not have the dimensions or values that they read: what is said of them. */
#include "pytorch/archive.h"

#define PLAIN "\x80\2c__torch__\nM\n)\x81}(X\1\0\0\0wK\1ub."
#define FORWARD "class M(Module):\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
#define SCALAR "    s = torch.sum(x)\n"
#define ROW "    v = torch.select(x, 0, 0)\n"

static const struct {
    const char *code, *want;
} cases[] = {
    {FORWARD "    return torch.gather(x, 0, torch.zeros([2], dtype=4))\n",
     "the positions Tensor[(2), int64] must have as many dimensions as Tensor[(2, 3), float32]"},
    {FORWARD "    return torch.take_along_dim(x, torch.zeros([2], dtype=4), 0)\n",
     "the positions Tensor[(2), int64] must have as many dimensions as Tensor[(2, 3), float32]"},
    {FORWARD SCALAR "    return torch.take_along_dim(s, torch.zeros([2], dtype=4), 0)\n",
     "the positions Tensor[(2), int64] must have as many dimensions as float32"},
    {FORWARD SCALAR "    return torch.cross_entropy_loss(x, x, s)\n",
     "the weights of the classes are float32, but must be a list"},
    {FORWARD ROW "    return torch.scaled_dot_product_attention(v, v, v, None, 0., True)\n",
     "must have two dimensions or more [pytorch-E005]"},
    {FORWARD ROW "    k = torch.zeros([2, 4, 2, 3])\n"
                 "    return torch.scaled_dot_product_attention(v, k, k, None, 0., False, enable_gqa=True)\n",
     "batches of Tensor[(4, 4, 2), float32] and Tensor[(8, 2, 3), float32] differ"},
    {FORWARD SCALAR "    return torch.repeat_interleave(s, 2, 0)\n", "-> Tensor[(2), float32]"},
    {FORWARD "    return torch.diagonal(torch.zeros([1, 1, 1, 1, 1, 1, 1, 1]), 0, 1, 1)\n",
     "the dimensions of a diagonal are both 1"},
    {FORWARD SCALAR "    return torch.conv1d(x, s, None, [1], \"same\")\n",
     "convolutions and pools over -2 dimensions are not supported"},
    {FORWARD ROW "    return torch.max_pool2d(v, [2, 2], [2, 2], [0, 0], [1, 1], True)\n",
     "data Tensor[(3), float32] does not have the dimensions of a pool over 2"},
    {FORWARD ROW "    return torch.adaptive_avg_pool2d(v, [2, 2])\n",
     "data Tensor[(3), float32] does not have the dimensions of a pool over 2"},
    {FORWARD SCALAR "    return torch.group_norm(x, 1, s, s)\n",
     "the numbers of the channels are float32, but must be a list"},
    {FORWARD "    return torch.layer_norm(x, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1])\n",
     "10 dimensions are normalised of 2"},
    {FORWARD SCALAR "    return torch.split(s, [1, 1], 0)\n", "float32 has no dimension to split"},
    {FORWARD SCALAR "    h = torch.zeros([1, 1, 2])\n"
                    "    y, h1, c1 = torch.lstm(torch.zeros([1, 2, 3]), [h, torch.zeros([1, 1, 4])], "
                    "[torch.zeros([16, 3]), torch.zeros([16, 2]), s], False, 1, 0., False, False, True)\n"
                    "    return y\n",
     "the weights of a recurrent layer must be matrices of known width"},
    {FORWARD "    return torch.tensordot(x, x, [0], [])\n",
     "1 axes of the first operand are summed with 0 of the second [pytorch-E006]"},
    {FORWARD "    return torch.index_put(x, 3, x)\n",
     "the indices are an int, but must be a list of tensors"},
    {FORWARD "    return torch._unsafe_index_put(x, [], x)\n", "the list of indices has no tensors"},
    {FORWARD "    return torch.tril_indices(-3, -1, 2)\n",
     "positions in a matrix of -3 rows and -1 columns are not supported"},
    {FORWARD "    return torch.triu_indices(4294967296, 4294967296)\n",
     "positions in a matrix of 4294967296 rows and 4294967296 columns are not supported"},
    {FORWARD "    return torch.channel_shuffle(x, -1)\n",
     "there are -1 groups of channels, but must be at least 1"},
    {FORWARD ROW "    return torch.channel_shuffle(v, 1)\n",
     "the data has 1 dimensions, but must have 2 to 7"},
    {FORWARD "    return torch.linspace(0., 2, -2)\n", "-2 steps are not supported, but 0 to 16777216"},
    {FORWARD "    return torch.unflatten(x, 0, [1, 1, 1, 1, 1, 1, 1, 2])\n",
     "a tensor of 9 dimensions is not supported, but of at most 8"},
    {FORWARD "    return torch.meshgrid([x, x, x, x, x, x, x, x, x])[0]\n",
     "a grid of 9 dimensions is not supported, but at most 8"},
    {FORWARD SCALAR "    return torch.linear(s, x)\n", "the data must have dimensions, but is a number"},
    {FORWARD "    return torch.chain_matmul([])\n", "the list has no matrices"},
    {FORWARD "    return torch.linalg_multi_dot([])\n", "the list has no matrices"},
    {FORWARD "    return torch.repeat_interleave(x, -2, 1)\n", "elements cannot be repeated -2 times"},
    {FORWARD "    return torch.repeat_interleave(torch.zeros([1, 1, 1, 1, 1, 1, 1, 1]), 2, 1)\n",
     "repeating elements of 8 dimensions is not supported, but of at most 7"},
    {FORWARD SCALAR "    return torch.select(s, 0, 0)\n",
     "a tensor without dimensions has no parts to select"},
    {FORWARD "    return torch.tril_indices(4611686018427387904, 0)\n",
     "positions in a matrix of 4611686018427387904 rows and 0 columns are not supported"},
    {FORWARD "    return torch.narrow(x, 0, 9223372036854775807, 1)\n",
     "1 elements from position 9223372036854775807 on are not supported"},
    {FORWARD "    return torch.diag_embed(x, 9223372036854775807)\n",
     "a diagonal that is 9223372036854775807 beside the main one is not supported"},
    {FORWARD "    return torch.hardshrink(torch.zeros([2], dtype=4), 1.)\n",
     "operand 0 must be a float tensor, but is int64"},
};

static void ranks_are_checked(void **state)
{
    static const int64_t shape[] = {2, 3};
    static const tn_input_shape given = {.name = "x", .ndim = 2, .dim = shape};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_buf said = {0};
        archive a = {0};
        add(&a, "m/data.pkl", PLAIN, sizeof PLAIN - 1);
        add(&a, "m/code/__torch__.py", cases[i].code, strlen(cases[i].code));
        add(&a, "m/constants.pkl", "\x80\2).", 4);
        finish(&a);
        read_into(&said, &a.file, &given);
        expect(tn_buf_cstr(&said), cases[i].want);
        tn_buf_deinit(&said);
        tn_buf_deinit(&a.file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
