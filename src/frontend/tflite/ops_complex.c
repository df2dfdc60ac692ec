/* RFFT2D and what takes its results apart. A complex number is two of float32 here, in a last dimension that the model
 * does not know of, so complex tensors are results and operands of these operators alone. */
#include "frontend/import/fourier.h"
#include "frontend/tflite/tflite.h"

enum { MAX_LENGTH = 1 << 20 };

static void rfft2d(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    tn_ints n = imp_ints_in(c, imp_in(c, 1), "fft_length");
    int r = imp_rank(x);
    int64_t perm[IMP_MAX_RANK];
    if (c->bad || r < 2 || r >= IMP_MAX_RANK || n.n != 2 || n.at[0] < 1 || n.at[1] < 1 ||
        n.at[0] > MAX_LENGTH || n.at[1] > MAX_LENGTH) {
        imp_refuse(c, IMP_BAD_VALUE,
                   "fft_length must be two numbers in [1, 2^20], for data of 2 to 7 dimensions");
        return;
    }
    for (int i = 0; i <= r; i++) /* rows and columns change places, the parts stay last */
        perm[i] = i == r - 2 ? r - 1 : i == r - 1 ? r - 2 : i;
    tn_value y = imp_fourier_last(c, imp_unsqueeze(c, x, r), n.at[1], false, true);
    y = c->bad ? y : imp_fourier_last(c, imp_transpose(c, y, r + 1, perm), n.at[0], false, false);
    imp_out(c, 0, imp_transpose(c, y, r + 1, perm));
}

static tn_value part(imp_node *c, tn_value x, int64_t i)
{
    int last = imp_rank(x) - 1;
    return imp_squeeze(c, imp_slice(c, x, last, i, i + 1), last);
}

static bool is_complex(imp_node *c)
{
    const tfl_tensor *x = tfl_in(c, 0);
    if (!c->bad && (!x || x->type != TFL_COMPLEX64))
        imp_refuse(c, IMP_BAD_TENSOR, "its operand is not of complex numbers; the model is damaged");
    return !c->bad;
}

static void real(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    if (is_complex(c))
        imp_out(c, 0, part(c, x, c->row->op[0] == 'I'));
}

static void magnitude(imp_node *c)
{
    tn_value x = imp_in(c, 0);
    if (!is_complex(c))
        return;
    tn_value square = imp_binary(c, &tn_op_multiply, x, x);
    imp_out(c, 0, imp_unary(c, &tn_op_sqrt, imp_reduce(c, &tn_op_sum, square, imp_rank(x) - 1)));
}

// clang-format off
const imp_row tfl_rows_complex[] = {
    {"RFFT2D",      1, 0, 2, 1, rfft2d,    NULL},
    {"REAL",        1, 0, 1, 1, real,      NULL},
    {"IMAG",        1, 0, 1, 1, real,      NULL},
    {"COMPLEX_ABS", 1, 0, 1, 1, magnitude, NULL},
    {0},
};
// clang-format on
