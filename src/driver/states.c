/* States: those of the model, and those that the options ask for. "h=hn" makes the input h a state, in which each run
 * stores the output hn. Which pair of an input and an output that is; what each has in the program is
 * program_state.c's. */
#include "base/words.h"
#include "driver/driver.h"

#include <string.h>

enum { MOST_DIMS = 8 }; /* of a tensor that the API describes */

int64_t tn_state_of_input(const tn_build *b, uint32_t input)
{
    for (uint32_t i = 0; i < b->n_state; i++)
        if (b->state[i].param == input)
            return i;
    return -1;
}

bool tn_is_state_result(const tn_build *b, uint32_t output)
{
    for (uint32_t i = 0; i < b->n_state; i++)
        if (b->state[i].result == output)
            return true;
    return false;
}

/* ---- names ---- */

typedef struct name_list {
    uint32_t n;
    const char *const *name;
} name_list;

static int64_t find(const name_list *l, const char *s, size_t n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strlen(l->name[i]) == n && memcmp(l->name[i], s, n) == 0)
            return i;
    return -1;
}

/* ", did you mean h?" or all names there are. */
static const char *advice(tn_build *b, const name_list *l, const char *s, size_t n)
{
    tn_nearest near = {.word = s, .n = n};
    tn_buf text = {0};
    for (uint32_t i = 0; i < l->n; i++)
        tn_nearest_offer(&near, l->name[i]);
    if (near.best)
        return tn_arena_printf(&b->arena, "did you mean %s?", near.best);
    for (uint32_t i = 0; i < l->n; i++)
        tn_buf_printf(&text, "%s%s", i ? ", " : "they are ", l->name[i]);
    const char *all = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return all;
}

static tn_status unknown(tn_build *b, const char *state, const char *what, const name_list *l, const char *s,
                         size_t n)
{
    return tn_error(b->ctx, "driver-E111", NULL, "state %s: the model has no %s %.*s; %s", state, what,
                    (int)n, s, advice(b, l, s, n));
}

/* A name may have a = itself: the first one counts that leaves an input before it. */
static tn_status find_pair(tn_build *b, const char *text, const name_list *in, const name_list *out,
                           tn_graph_state *pair)
{
    const char *equals = strchr(text, '='), *first = equals;
    if (!equals)
        return tn_error(
            b->ctx, "driver-E112", NULL,
            "state %s: write INPUT=OUTPUT, an input of the model and the output that the next run "
            "is to have in its place",
            text);
    while (equals && find(in, text, (size_t)(equals - text)) < 0)
        equals = strchr(equals + 1, '=');
    if (!equals)
        return unknown(b, text, "input", in, text, (size_t)(first - text));
    int64_t i = find(in, text, (size_t)(equals - text)), o = find(out, equals + 1, strlen(equals + 1));
    if (o < 0)
        return unknown(b, text, "output", out, equals + 1, strlen(equals + 1));
    *pair = (tn_graph_state){.param = (uint32_t)i, .result = (uint32_t)o};
    return TN_OK;
}

/* ---- types ---- */

static const char *type_text(tn_build *b, const tn_type *t)
{
    tn_buf text = {0};
    tn_type_print(t, &text);
    const char *s = tn_arena_strdup(&b->arena, tn_buf_cstr(&text));
    tn_buf_deinit(&text);
    return s;
}

static bool is_fixed(const tn_type *t)
{
    int64_t n;
    for (int d = 0; d < t->n; d++)
        if (!tn_is_int(t->dim[d], &n))
            return false;
    return true;
}

const tn_node *tn_state_first(tn_build *b, const tn_graph_state *s)
{
    const tn_function *f = s->first ? tn_graph_function(&b->graph, s->first) : NULL;
    return f ? f->body->result[0].def : NULL;
}

/* The function of the first contents gives one constant of the state's type. */
static tn_status check_first(tn_build *b, const tn_graph_state *s, const tn_node *param)
{
    const tn_function *f = s->first ? tn_graph_function(&b->graph, s->first) : NULL;
    const tn_node *c = f && f->body->n_result == 1 && !f->body->n_param ? f->body->result[0].def : NULL;
    if (!s->first || (c && tn_op_is(c, &tn_op_constant) && tn_type_eq(c->type[0], param->type[0])))
        return TN_OK;
    return tn_error(b->ctx, "driver-E185", param->loc,
                    "state %s: @%s is no function without parameters whose result is a constant of type %s",
                    param->name, s->first, type_text(b, param->type[0]));
}

tn_status tn_state_check(tn_build *b, const tn_graph_state *s, bool last)
{
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    const tn_node *param = r->param[s->param];
    const tn_type *in = param->type[0],
                  *out = tn_value_type((tn_value){r->result[s->result].def, r->result[s->result].out});
    const char *name = b->output_name[s->result];
    bool tensors = in && in->kind == TN_T_TENSOR && out && out->kind == TN_T_TENSOR;
    if (tensors && in->n > MOST_DIMS)
        return tn_error(b->ctx, "driver-E114", param->loc,
                        "input %s cannot be a state: it has more than %d dimensions", param->name, MOST_DIMS);
    if (tensors && !is_fixed(in))
        return tn_error(b->ctx, "driver-E098", param->loc,
                        "input %s is %s and cannot be a state: its size is not fixed; give its shape "
                        "(--input-shapes)",
                        param->name, type_text(b, in));
    bool same = tensors && in->n == out->n && tn_dtype_eq(in->dtype, out->dtype);
    for (int d = 0; same && d < in->n; d++)
        same = in->dim[d] == out->dim[d] || (!last && out->dim[d]->kind != TN_E_INT);
    if (same)
        return check_first(b, s, param);
    return tn_error(b->ctx, "driver-E097", param->loc,
                    "input %s cannot be a state that output %s is stored in: the input is %s, the output %s; "
                    "both must have one type and shape",
                    param->name, name, in ? type_text(b, in) : "unknown",
                    out ? type_text(b, out) : "unknown");
}

tn_status tn_states_find(tn_build *b)
{
    const tn_graph *g = &b->graph;
    const tn_region *r = tn_graph_function(&b->graph, "main")->body;
    const char **in = TN_NEW_N(&b->arena, const char *, r->n_param);
    name_list inputs = {r->n_param, in}, outputs = {r->n_result, b->output_name};
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_param; i++)
        in[i] = r->param[i]->name;
    while (b->opt.states && b->opt.states[n])
        n++;
    b->state = TN_NEW_N(&b->arena, tn_graph_state, g->state.n + n);
    for (b->n_state = 0; b->n_state < g->state.n; b->n_state++) {
        b->state[b->n_state] = g->state.at[b->n_state];
        TN_TRY(tn_state_check(b, &b->state[b->n_state], false));
    }
    for (uint32_t i = 0; i < n; i++) {
        tn_graph_state p = {0};
        TN_TRY(find_pair(b, b->opt.states[i], &inputs, &outputs, &p));
        if (tn_state_of_input(b, p.param) >= 0)
            return tn_error(b->ctx, "driver-E113", NULL, "state %s: input %s is a state already",
                            b->opt.states[i], in[p.param]);
        TN_TRY(tn_state_check(b, &p, false));
        b->state[b->n_state++] = p;
    }
    return TN_OK;
}
