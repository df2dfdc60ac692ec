/* Text of expressions. What is printed parses back (expr_parse.c) to the same pointer.
 *
 * Constants other than index and bool carry a suffix with their dtype, so the text needs no context. Parentheses appear
 * only where precedence asks for them. An explicit stack holds what is still to be printed, so depth is
 * bounded by memory only. Shared operands are repeated, unless the names have an alias for them.
 */
#include "ir/expr.h"

#include "base/vec.h"

#include <math.h>

/* Binding strength; the parser has the same ladder. */
enum { P_ANY, P_OR, P_AND, P_COMPARE, P_ADD, P_MUL, P_PRIMARY };

typedef struct infix {
    const char *text;
    int prec;
} infix;

/* Pieces still to be printed, last first: an expression in a context of strength prec, else text, else a number. */
typedef struct piece {
    const tn_expr *e;
    int prec;
    const char *text;
    uint32_t number;
} piece;

typedef struct printer {
    tn_vec(piece) todo;
    const tn_names *names;
    tn_buf *out;
} printer;

static infix infix_of(const tn_expr *e)
{
    bool spaced = !tn_dtype_is_index(e->dtype);
    switch (e->kind) {
    case TN_E_OR: return (infix){" or ", P_OR};
    case TN_E_AND: return (infix){" and ", P_AND};
    case TN_E_EQ: return (infix){" == ", P_COMPARE};
    case TN_E_NE: return (infix){" != ", P_COMPARE};
    case TN_E_LT: return (infix){" < ", P_COMPARE};
    case TN_E_LE: return (infix){" <= ", P_COMPARE};
    case TN_E_ADD: return (infix){" + ", P_ADD};
    case TN_E_SUB: return (infix){" - ", P_ADD};
    case TN_E_MUL: return (infix){spaced ? " * " : "*", P_MUL};
    case TN_E_DIV:
    case TN_E_FLOORDIV: return (infix){spaced ? " / " : "/", P_MUL};
    case TN_E_FLOORMOD: return (infix){spaced ? " % " : "%", P_MUL};
    default: return (infix){NULL, P_PRIMARY};
    }
}

static void push_text(printer *pr, const char *text) { tn_vec_push(&pr->todo, ((piece){.text = text})); }

static void push_number(printer *pr, uint32_t n) { tn_vec_push(&pr->todo, ((piece){.number = n})); }

static void push_expr(printer *pr, const tn_expr *e, int prec)
{
    tn_vec_push(&pr->todo, ((piece){.e = e, .prec = prec}));
}

/* "a, b, c" and what follows it. */
static void push_list(printer *pr, int n, const tn_expr *const e[], const char *end)
{
    push_text(pr, end);
    for (int i = n - 1; i >= 0; i--) {
        push_expr(pr, e[i], P_ANY);
        if (i > 0)
            push_text(pr, ", ");
    }
}

static void print_int(const tn_expr *e, tn_buf *out)
{
    if (tn_dtype_is_bool(e->dtype)) {
        tn_buf_str(out, e->u.i ? "true" : "false");
        return;
    }
    if (e->u.i == INT64_MIN ||
        (e->dtype.code == TN_UINT && e->u.i < 0)) /* beyond what decimal literals hold */
        tn_buf_printf(out, "0x%llx", (unsigned long long)e->u.i);
    else
        tn_buf_printf(out, "%lld", (long long)e->u.i);
    if (!tn_dtype_is_index(e->dtype))
        tn_dtype_print(e->dtype, true, out);
}

static void print_float(const tn_expr *e, tn_buf *out)
{
    if (!isfinite(e->u.f)) {
        tn_dtype_print(e->dtype, true, out);
        tn_buf_str(out, e->u.f > 0 ? "(inf)" : e->u.f < 0 ? "(-inf)" : "(nan)");
        return;
    }
    tn_buf_real(out, e->u.f, e->dtype.bits < 64);
    if (tn_dtype_eq(e->dtype, TN_F32))
        tn_buf_char(out, 'f');
    else
        tn_dtype_print(e->dtype, true, out);
}

static void print_var(printer *pr, uint32_t number)
{
    if (pr->names)
        tn_buf_str(pr->out, pr->names->var(pr->names->user, number));
    else
        tn_buf_printf(pr->out, "v%u", number);
}

static void print_load(printer *pr, const tn_expr *e)
{
    int n = (int)e->u.load.n_index;
    const tn_expr *mask = tn_load_mask(e);
    if (mask) {
        tn_buf_char(pr->out, '(');
        push_text(pr, ")");
        push_expr(pr, tn_load_other(e), P_ANY);
        push_text(pr, " else ");
        push_expr(pr, mask, P_ANY);
        push_text(pr, " mask ");
    }
    if (pr->names)
        tn_buf_str(pr->out, pr->names->buffer(pr->names->user, e->u.load.buffer));
    else
        tn_buf_printf(pr->out, "b%u", e->u.load.buffer);
    tn_buf_char(pr->out, '[');
    if (e->dtype.lanes > 1 && (n == 0 || e->src[0]->dtype.lanes == 1)) { /* contiguous lanes */
        push_text(pr, "]");
        push_number(pr, e->dtype.lanes);
        push_list(pr, n, e->src, n > 0 ? " : " : ": ");
    } else {
        push_list(pr, n, e->src, "]");
    }
}

/* floordiv(a + (b-1), b) with b > 1: a, and *out_b; else NULL. */
static const tn_expr *as_ceildiv(const tn_expr *e, const tn_expr **out_b)
{
    int64_t b, round;
    if (e->kind != TN_E_FLOORDIV || e->src[0]->kind != TN_E_ADD || !tn_is_int(e->src[1], &b) || b < 2)
        return NULL;
    if (!tn_is_int(e->src[0]->src[1], &round) || round != b - 1)
        return NULL;
    *out_b = e->src[1];
    return e->src[0]->src[0];
}

static void print_call(printer *pr, const char *name, const tn_expr *e)
{
    tn_buf_str(pr->out, name);
    tn_buf_char(pr->out, '(');
    push_list(pr, e->nsrc, e->src, ")");
}

/* Lanes in a row as `from:count`, evenly spaced ones as `from:count:step`, others one by one. */
static void push_lanes(printer *pr, const char *lanes, int n)
{
    struct {
        int from, count, step;
    } run[TN_MAX_SHUFFLED];
    int k = 0;
    for (int i = 0; i < n; k++) {
        int step = i + 1 < n ? (uint8_t)lanes[i + 1] - (uint8_t)lanes[i] : -1, count = 1;
        while (step >= 0 && i + count < n &&
               (uint8_t)lanes[i + count] - (uint8_t)lanes[i + count - 1] == step)
            count++;
        count = count > 2 || count == n ? count : 1;
        run[k].from = (uint8_t)lanes[i] - 1;
        run[k].count = count;
        run[k].step = step;
        i += count;
    }
    while (k-- > 0) {
        if (run[k].count > 1 && run[k].step != 1) {
            push_number(pr, (uint32_t)run[k].step);
            push_text(pr, ":");
        }
        if (run[k].count > 1) {
            push_number(pr, (uint32_t)run[k].count);
            push_text(pr, ":");
        }
        push_number(pr, (uint32_t)run[k].from);
        push_text(pr, ", ");
    }
}

static void print_primary(printer *pr, const tn_expr *e)
{
    switch (e->kind) {
    case TN_E_INT: print_int(e, pr->out); break;
    case TN_E_FLOAT: print_float(e, pr->out); break;
    case TN_E_SYM: tn_buf_str(pr->out, e->u.s); break;
    case TN_E_VAR: print_var(pr, (uint32_t)e->u.i); break;
    case TN_E_LOAD: print_load(pr, e); break;
    case TN_E_CALL: print_call(pr, tn_intrins[e->u.call.id].name, e); break;
    case TN_E_CAST:
    case TN_E_BITCAST:
        if (e->kind == TN_E_BITCAST)
            tn_buf_str(pr->out, "bitcast(");
        tn_dtype_print(e->dtype, true, pr->out);
        tn_buf_str(pr->out, e->kind == TN_E_CAST ? "(" : ", ");
        push_list(pr, 1, e->src, ")");
        break;
    case TN_E_RAMP:
    case TN_E_SPLAT:
        tn_buf_printf(pr->out, "%s(", tn_eks[e->kind].name);
        push_text(pr, ")");
        push_number(pr, e->dtype.lanes);
        push_list(pr, e->nsrc, e->src, ", ");
        break;
    case TN_E_SHUFFLE:
        tn_buf_str(pr->out, "shuffle(");
        push_text(pr, ")");
        push_lanes(pr, e->u.lanes, e->dtype.lanes);
        push_list(pr, e->nsrc, e->src, "");
        break;
    default: print_call(pr, tn_eks[e->kind].name, e); break;
    }
}

static void print_expr(printer *pr, const tn_expr *e, int prec)
{
    const tn_expr *b, *a = as_ceildiv(e, &b);
    infix in = infix_of(e);
    uint32_t number;
    if (pr->names && pr->names->alias && pr->names->alias(pr->names->user, e, &number)) {
        tn_buf_printf(pr->out, "%%%u", number);
        return;
    }
    if (a) {
        tn_buf_str(pr->out, "ceildiv(");
        push_list(pr, 2, (const tn_expr *const[]){a, b}, ")");
        return;
    }
    if (!in.text) {
        print_primary(pr, e);
        return;
    }
    if (in.prec < prec) {
        tn_buf_char(pr->out, '(');
        push_text(pr, ")");
    }
    push_expr(pr, e->src[1], in.prec + 1);
    push_text(pr, in.text);
    push_expr(pr, e->src[0], in.prec == P_COMPARE ? in.prec + 1 : in.prec); /* comparisons do not chain */
}

/* Prints at least `most` bytes, or all. */
static void print(const tn_expr *e, const tn_names *names, tn_buf *out, size_t most)
{
    printer pr = {.names = names, .out = out};
    size_t from = out->n;
    push_expr(&pr, e, P_ANY);
    while (pr.todo.n > 0 && out->n - from < most) {
        piece it = tn_vec_pop(&pr.todo);
        if (it.e)
            print_expr(&pr, it.e, it.prec);
        else if (it.text)
            tn_buf_str(out, it.text);
        else
            tn_buf_printf(out, "%u", it.number);
    }
    if (pr.todo.n > 0)
        tn_buf_str(out, "...");
    tn_vec_deinit(&pr.todo);
}

void tn_expr_print(const tn_expr *e, const tn_names *names, tn_buf *out) { print(e, names, out, SIZE_MAX); }

void tn_expr_print_brief(const tn_expr *e, const tn_names *names, tn_buf *out) { print(e, names, out, 160); }
