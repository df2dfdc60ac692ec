#ifndef TENON_TESTS_TEST_RELAY_FORMS_H
#define TENON_TESTS_TEST_RELAY_FORMS_H
/* Operators, attributes and layouts that only TVM's texts have, over %x, a [2, 4] of float32: what a body computes, and
 * what is said where it cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "onnx/model.h"

#include <math.h>

static const float form_x[8] = {1, 2, 3, 4, -5, 6, -7, 8};

typedef struct form_case { /* the first n elements of the result */
    const char *body;
    int n;
    float want[16];
} form_case;

typedef struct form_said {
    const char *body, *want;
} form_said;

static inline tn_status form_read(model *m, const char *body)
{
    char *text = tn_arena_printf(
        &m->arena, "#[version = \"0.0.5\"]\ndef @main(%%x: Tensor[(2, 4), float32]) {\n%s\n}\n", body);
    m->file = (tn_file){(const uint8_t *)text, strlen(text), 0};
    TN_TRY(tn_import(&m->g, "m.relay", &m->file, NULL, NULL));
    return tn_relay_verify(&m->g);
}

static inline void forms_compute(const form_case cases[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        model m;
        tn_tensor_value have, in = {.dtype = TN_F32,
                                    .ndim = 2,
                                    .dim = {2, 4},
                                    .n = sizeof form_x,
                                    .borrowed = true,
                                    .at = (char *)(uintptr_t)form_x};
        model_init(&m);
        if (form_read(&m, cases[i].body) != TN_OK ||
            tn_relay_run(&m.g, 1, &in, 1, &have, tn_eval_interp, NULL) != TN_OK)
            fail_msg("case %zu: %s", i, model_errors(&m));
        if (have.n < (size_t)cases[i].n * sizeof(float))
            fail_msg("case %zu: %zu bytes", i, have.n);
        for (int k = 0; k < cases[i].n; k++)
            if (fabsf(((const float *)have.at)[k] - cases[i].want[k]) > 2e-6f * (1 + fabsf(cases[i].want[k])))
                fail_msg("case %zu (%s), element %d: %g, not %g", i, cases[i].body, k,
                         (double)((const float *)have.at)[k], (double)cases[i].want[k]);
        tn_tensor_value_deinit(&have);
        model_deinit(&m);
    }
}

static inline void forms_say(const form_said texts[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        model m;
        model_init(&m);
        const char *said = form_read(&m, texts[i].body) == TN_OK ? model_text(&m) : model_errors(&m);
        if (!strstr(said, texts[i].want))
            fail_msg("case %zu: no \"%s\" in\n%s", i, texts[i].want, said);
        model_deinit(&m);
    }
}

#endif
