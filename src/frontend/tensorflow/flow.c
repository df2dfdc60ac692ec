/* Control flow: calls of functions. */
#include "frontend/tensorflow/tf.h"

#include "op/control/control.h"

/* ---- calls ---- */

static void call(imp_node *c)
{
    static const char *const notes[] = {"config", "config_proto", "executor_type"};
    const tf_func *f = tf_attr_func(c, "f");
    imp_value *in = TN_NEW_N(c->arena, imp_value, c->n_in), *out = TN_NEW_N(c->arena, imp_value, c->n_out);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        imp_attr_ignore(c, notes[i]);
    for (uint32_t i = 0; i < imp_n_in(c); i++)
        in[i] = (imp_value){.v = imp_in(c, i)};
    if (!tf_call(c, f, c->n_in, in, c->n_out, out))
        c->bad = true;
    for (uint32_t i = 0; i < c->n_out && !c->bad; i++)
        imp_out(c, i, out[i].v);
}

// clang-format off
const imp_row tf_rows_flow[] = {
    {"PartitionedCall",         1, 0, -1, -1, call, NULL},
    {"StatefulPartitionedCall", 1, 0, -1, -1, call, NULL},
    {0},
};
// clang-format on
